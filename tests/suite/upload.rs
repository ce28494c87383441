//! What leaves by other ways than a push is read too: files, packages, bundles, mails.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tyran::command::plan::{Content, GitContext, PackageRequest, RevisionRequest, State, UploadRequest, WrittenFile};
use tyran::payload::{Fault, ItemKind, Payload, upload};
use tyran::world::{Caution, World};

use crate::support::payload::{everything, file_paths, oids};
use crate::support::{Repo, Sandbox, shown};

fn words(words: &[&str]) -> Vec<Option<OsString>> {
    words.iter().map(|word| (*word != "?").then(|| OsString::from(word))).collect()
}

fn world(sandbox: &Sandbox, dir: &Path) -> World {
    World::new(sandbox.env().into_iter().collect(), dir.to_owned(), Caution::ByHand)
}

fn request(dir: &Path) -> UploadRequest {
    UploadRequest {
        tool: "a test".into(),
        dir: dir.to_owned(),
        files: Vec::new(),
        texts: Vec::new(),
        written: Vec::new(),
        package: None,
        revisions: None,
        local_only: false,
    }
}

fn package(sandbox: &Sandbox, dir: &Path, client: &str, args: &[&str]) -> Result<Payload, Fault> {
    let package = Some(PackageRequest { client: client.to_owned(), args: words(args), state: State::AsNow });
    upload::payload(&world(sandbox, dir), &UploadRequest { package, ..request(dir) })
}

fn revisions(repo: &Repo<'_>, verb: &str, args: &[&str]) -> Payload {
    let world = world(repo.sandbox, &repo.dir);
    let git = GitContext { dir: repo.dir.clone(), env: world.env.clone(), globals: Vec::new() };
    let revisions = Some(RevisionRequest { git, verb: verb.into(), args: words(args) });
    upload::payload(&world, &UploadRequest { revisions, ..request(&repo.dir) }).unwrap()
}

/// Files of a payload below `dir`, whether told from there or whole.
fn below(payload: &Payload, dir: &Path, top: &Path) -> BTreeSet<String> {
    file_paths(payload)
        .into_iter()
        .map(|path| {
            let whole = if path.starts_with('/') { PathBuf::from(path) } else { top.join(path) };
            whole.strip_prefix(dir).unwrap().to_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn named_files_and_texts_are_read_whole_with_their_ids() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("docs/plan.md", "inside\n");
    fs::write(sandbox.path("asset.bin"), "outside\n").unwrap();
    let files = vec![repo.dir.join("docs/plan.md"), sandbox.path("asset.bin")];
    let texts = vec!["a title".into(), "a body".into()];
    let payload =
        upload::payload(&world(&sandbox, &repo.dir), &UploadRequest { files, texts, ..request(&repo.dir) }).unwrap();
    let text = everything(&payload);
    for part in ["inside", "outside", "a title", "a body"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(payload.exact);
    let paths = file_paths(&payload);
    assert!(paths.contains("docs/plan.md"), "told from the repository's top: {paths:?}");
    assert!(oids(&payload).contains(&repo.git(&["hash-object", "../asset.bin"])));
    assert_eq!(payload.sides_of(0).count(), 1);
    assert_eq!(payload.sides_of(1).count(), 0);
}

#[test]
fn file_that_is_not_there_is_unseen() {
    let sandbox = Sandbox::new();
    let files = vec![sandbox.path("later")];
    let dir = sandbox.path("home");
    let payload = upload::payload(&world(&sandbox, &dir), &UploadRequest { files, ..request(&dir) }).unwrap();
    assert!(payload.unseen[0].as_str().contains("later") && !payload.exact);
}

#[test]
fn images_are_a_fault_of_their_own() {
    let sandbox = Sandbox::new();
    let fault = package(&sandbox, &sandbox.path("home"), "docker", &["push", "example/image"]).unwrap_err();
    assert!(matches!(fault, Fault::Image(_)));
    let refusal = tyran::verdict::Refusal::from(fault).to_string();
    assert!(refusal.contains("unmodelled") && refusal.contains("image"), "{refusal}");
}

/// npm 11.19 packs what is in the directory that it is started in, whatever `--prefix` says.
#[test]
fn clients_that_go_to_another_directory_send_what_is_there() {
    let sandbox = Sandbox::new();
    let top = sandbox.path("project");
    for (folder, text) in [("", "of the top"), ("sub", "of the sub")] {
        let folder = top.join(folder);
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::write(folder.join("package.json"), r#"{"name": "x", "version": "1.0.0"}"#).unwrap();
        fs::write(folder.join("Cargo.toml"), "[package]\nname = \"x\"\nversion = \"1.0.0\"\n").unwrap();
        fs::write(folder.join("src/lib.rs"), format!("// {text}\n")).unwrap();
    }
    for (client, args, both) in [
        ("pnpm", &["-C", "sub", "publish"][..], false),
        ("pnpm", &["--dir=sub", "publish"], false),
        ("yarn", &["--cwd", "sub", "publish"], false),
        ("cargo", &["-C", "sub", "publish"], false),
        ("npm", &["--prefix", "sub", "publish"], true),
    ] {
        let text = everything(&package(&sandbox, &top, client, args).unwrap());
        assert!(text.contains("of the sub"), "{client} {args:?}");
        assert_eq!(text.contains("of the top"), both, "{client} {args:?}");
    }
}

fn have(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: no {program} here");
    }
    there
}

/// What npm itself would pack.
fn npm_lists(sandbox: &Sandbox, dir: &Path) -> BTreeSet<String> {
    let output = sandbox
        .command("npm")
        .current_dir(dir)
        .args(["pack", "--dry-run", "--json", "--offline", "--ignore-scripts"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = match &listed {
        serde_json::Value::Array(packages) => &packages[0],
        other => other.as_object().unwrap().values().next().unwrap(),
    };
    first["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

/// A package folder with something for every rule.
fn npm_package(sandbox: &Sandbox, manifest: &str, extra: &[(&str, &str)]) -> PathBuf {
    let dir = sandbox.path("package");
    let mut files = vec![
        ("package.json", manifest),
        ("README.md", "r\n"),
        ("LICENSE", "l\n"),
        ("Readme.old~", "r\n"),
        ("index.js", "i\n"),
        ("lib/a.js", "a\n"),
        ("lib/deep/b.ts", "b\n"),
        ("lib/.npmignore", "*.log\n"),
        ("lib/x.log", "x\n"),
        ("test/t.js", "t\n"),
        ("bin/run", "b\n"),
        (".env", "e\n"),
        (".npmrc", "n\n"),
        ("lib/.npmrc", "n\n"),
        ("package-lock.json", "{}\n"),
        ("yarn.lock", "y\n"),
        ("x.orig", "o\n"),
        ("._mac", "m\n"),
        (".DS_Store", "d\n"),
        ("node_modules/dep/package.json", "{\"name\":\"dep\",\"version\":\"1.0.0\"}"),
        ("node_modules/dep/d.js", "d\n"),
        (".git/config", "g\n"),
        ("CVS/f", "c\n"),
        ("docs/guide.md", "d\n"),
    ];
    files.extend(extra);
    for (path, bytes) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    symlink("../home", dir.join("link")).unwrap();
    dir
}

#[test]
fn npm_packs_what_it_says_itself() {
    if !have("npm") {
        return;
    }
    let manifest = |more: &str| format!("{{\"name\":\"p\",\"version\":\"1.0.0\"{more}}}");
    let cases: Vec<(String, Vec<(&str, &str)>)> = vec![
        (manifest(""), vec![]),
        (manifest(""), vec![(".gitignore", "test\n*.md\n!docs/guide.md\n")]),
        (manifest(""), vec![(".gitignore", "lib/deep/\n/bin\n"), (".npmignore", "docs/**\n.env\n")]),
        (manifest(",\"files\":[\"lib\"]"), vec![(".npmignore", "lib\n")]),
        (manifest(",\"files\":[\"lib/**/*.ts\",\"!lib/deep\"]"), vec![]),
        (manifest(",\"files\":[\"/lib/*\",\"test/t.js\"],\"main\":\"./index.js\""), vec![]),
        (manifest(",\"files\":[],\"bin\":\"bin/run\""), vec![]),
        (manifest(",\"files\":[\"lib\"],\"bin\":{\"r\":\"./bin/run\"},\"main\":\"index\""), vec![]),
        (manifest(",\"files\":[\"*.js\"]"), vec![]),
        (manifest(",\"files\":[\"./docs/\",\".env\"]"), vec![]),
        (manifest(",\"bundleDependencies\":[\"dep\"],\"dependencies\":{\"dep\":\"1.0.0\"}"), vec![]),
        (manifest(",\"files\":[\"**/*.js\"]"), vec![("lib/.gitignore", "a.js\n")]),
        (manifest(",\"bin\":\"lib/deep/x.ts\""), vec![(".npmignore", "/lib\n"), ("lib/deep/x.ts", "x\n")]),
        (manifest(",\"bin\":{\"r\":\"./docs/guide.md\"}"), vec![(".gitignore", "/docs\n")]),
        (manifest(""), vec![(".npmignore", "./lib\n")]),
        (manifest(",\"files\":[],\"directories\":{\"bin\":\"docs\"}"), vec![]),
        (manifest(",\"files\":[],\"directories\":{\"bin\":\"nowhere\"}"), vec![]),
    ];
    for (manifest, extra) in cases {
        let sandbox = Sandbox::new();
        let dir = npm_package(&sandbox, &manifest, &extra);
        let ours = below(&package(&sandbox, &dir, "npm", &["publish"]).unwrap(), &dir, &dir);
        let theirs = npm_lists(&sandbox, &dir);
        assert!(theirs.is_subset(&ours), "{manifest} {extra:?}: missed {:?}", theirs.difference(&ours));
        // `main` is taken however it is spelled, which npm does not do.
        let surplus: Vec<_> = ours.difference(&theirs).filter(|name| *name != "index.js").collect();
        assert!(surplus.is_empty(), "{manifest} {extra:?}: surplus {surplus:?}");
    }
}

#[test]
fn yarn_and_bun_leave_out_less_than_npm() {
    for (manifest, ignored, taken) in [
        ("", "*.js\n", "LOUD.JS"),
        ("", "*.{log,js}\n", "index.js"),
        ("", "", ".npmrc"),
        ("", "", "x.orig"),
        ("", "./lib\n", "lib/a.js"),
        (",\"files\":[],\"module\":\"./test/t.js\"", "", "test/t.js"),
        (",\"files\":[],\"main\":\"lib\"", "", "lib/deep/b.ts"),
        (",\"files\":[],\"publishConfig\":{\"exports\":{\".\":[\"./docs/guide.md\"]}}", "", "docs/guide.md"),
        (",\"files\":[\"!test/**\",\"lib\"]", "", "docs/guide.md"),
        (",\"files\":[\"!test/**\",\"lib\"]", "", "test/t.js"),
        (",\"files\":[\"lib/**\"]", "", "lib/x.log"),
        (",\"files\":[\"*.md\"]", "!/docs\n", "docs/guide.md"),
    ] {
        let sandbox = Sandbox::new();
        let manifest = format!("{{\"name\":\"p\",\"version\":\"1.0.0\"{manifest}}}");
        let dir = npm_package(&sandbox, &manifest, &[("LOUD.JS", "l\n"), (".npmignore", ignored)]);
        for client in ["yarn", "bun"] {
            let ours = below(&package(&sandbox, &dir, client, &["publish"]).unwrap(), &dir, &dir);
            assert!(ours.contains(taken), "{client} {manifest} {ignored:?}: {taken} is not in {ours:?}");
        }
    }
}

#[test]
fn pnpm_packs_the_entry_points_that_it_publishes() {
    let sandbox = Sandbox::new();
    let config = "\"publishConfig\":{\"main\":\"lib/a.js\",\"bin\":\"bin/run\"}";
    let manifest = format!("{{\"name\":\"p\",\"version\":\"1.0.0\",\"files\":[],{config}}}");
    let dir = npm_package(&sandbox, &manifest, &[]);
    let ours = below(&package(&sandbox, &dir, "pnpm", &["publish"]).unwrap(), &dir, &dir);
    assert!(ours.contains("lib/a.js") && ours.contains("bin/run"), "{ours:?}");
}

#[test]
fn npm_takes_what_only_git_ignores_elsewhere() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("package.json", "{\"name\":\"p\",\"version\":\"1.0.0\",\"main\":\"index.js\"}");
    repo.write(".git/info/exclude", ".env-deploy\n").write(".env-deploy", "deploy\n");
    let payload = package(&sandbox, &repo.dir, "npm", &["publish"]).unwrap();
    assert!(file_paths(&payload).contains(".env-deploy"));
}

#[test]
fn npm_names_a_folder_a_tarball_or_workspaces() {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("w");
    for (path, bytes) in [
        ("package.json", "{\"name\":\"w\",\"version\":\"1.0.0\",\"workspaces\":[\"a\",\"b\"],\"files\":[]}"),
        ("a/package.json", "{\"name\":\"a\",\"version\":\"1.0.0\"}"),
        ("a/one", "1\n"),
        (
            "b/package.json",
            "{\"name\":\"b\",\"version\":\"1.0.0\",\"scripts\":{\"prepare\":\"make\"},\"files\":[\"out\"]}",
        ),
        ("b/two", "2\n"),
        ("p.tgz", "archive\n"),
    ] {
        fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        fs::write(dir.join(path), bytes).unwrap();
    }
    let names = |client: &str, args: &[&str]| below(&package(&sandbox, &dir, client, args).unwrap(), &dir, &dir);
    assert_eq!(names("npm", &["publish", "./a"]), ["a/one", "a/package.json"].map(str::to_owned).into());
    assert_eq!(names("npm", &["publish", "p.tgz"]), ["p.tgz".to_owned()].into());
    assert!(names("npm", &["publish", "-w", "a"]).contains("a/one"));
    assert!(names("pnpm", &["-r", "publish"]).is_superset(&["a/one", "b/two"].map(str::to_owned).into()));
    assert!(names("npm", &["publish", "?"]).contains("a/one"));
    assert!(names("npm", &["publish", "./b"]).contains("b/two"), "inputs of scripts that run first");
}

#[test]
fn cargo_packs_what_it_says_itself() {
    if !have("cargo") {
        return;
    }
    for (manifest, git) in [
        ("", true),
        ("exclude = ['tests/*', '*.log']\n", true),
        ("include = ['src/**/*.rs', '/data', '!data/b']\n", true),
        ("license-file = 'COPYING'\nexclude = ['COPYING', 'README.md', 'nested']\n", true),
        ("", false),
        ("include = ['/src']\nreadme = 'docs/READ.md'\n", false),
        ("include = ['**', '!/target']\n", true),
        ("exclude = ['docs']\n# untracked\n", true),
    ] {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("r");
        repo.write("Cargo.toml", format!("[package]\nname = 'p'\nversion = '0.1.0'\nedition = '2021'\n{manifest}"))
            .write("src/lib.rs", "")
            .write("src/inner/mod.rs", "")
            .write("data/a", "a\n")
            .write("data/b", "b\n")
            .write("tests/t.rs", "")
            .write("README.md", "r\n")
            .write("COPYING", "c\n")
            .write("docs/READ.md", "r\n")
            .write("x.log", "x\n")
            .write(".hidden", "h\n")
            .write(".gitignore", "/target\nignored\n")
            .write("ignored", "i\n")
            .write("target/debug/out", "o\n")
            .write("nested/Cargo.toml", "[package]\nname = 'n'\nversion = '0.1.0'\n")
            .write("nested/src/lib.rs", "");
        let outside = sandbox.path("outside");
        fs::create_dir_all(outside.join("deep")).unwrap();
        fs::write(outside.join("deep/key.txt"), "k\n").unwrap();
        fs::write(outside.join("one.txt"), "o\n").unwrap();
        symlink("../../outside", repo.dir.join("src/folder")).unwrap();
        symlink("../../outside/one.txt", repo.dir.join("data/link")).unwrap();
        // Round and round.
        symlink("..", outside.join("deep/up")).unwrap();
        if manifest.contains("untracked") {
            repo.commit("docs/READ.md", "only this\n");
            repo.git(&["rm", "-q", "-r", "--cached", "."]);
            repo.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        } else if git {
            repo.git(&["add", "-A"]);
            repo.git(&["commit", "-q", "-m", "x"]);
            repo.write("untracked", "u\n");
        } else {
            fs::remove_dir_all(repo.dir.join(".git")).unwrap();
        }
        let mut command = Command::new("cargo");
        command.current_dir(&repo.dir).args(["package", "--list", "--allow-dirty", "--offline"]);
        let output = command.env_remove("CARGO_TARGET_DIR").output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        let made = ["Cargo.toml.orig", ".cargo_vcs_info.json", "Cargo.lock"];
        let listed = String::from_utf8(output.stdout).unwrap();
        let theirs: BTreeSet<String> = listed.lines().filter(|line| !made.contains(line)).map(str::to_owned).collect();
        let ours = below(&package(&sandbox, &repo.dir, "cargo", &["publish"]).unwrap(), &repo.dir, &repo.dir);
        assert!(theirs.is_subset(&ours), "{manifest:?}: missed {:?}", theirs.difference(&ours));
        let surplus: BTreeSet<&str> =
            ours.difference(&theirs).map(String::as_str).filter(|name| !made.contains(name)).collect();
        assert!(surplus.is_subset(&[".hidden", "ignored", ".gitignore"].into()), "{manifest:?}: surplus {surplus:?}");
    }
}

#[test]
fn cargo_packs_the_readme_of_its_workspace() {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("w");
    for (path, bytes) in [
        (
            "Cargo.toml",
            "[workspace]\nmembers = ['m']\n[workspace.package]\nreadme = 'TOP.md'\nlicense-file = 'docs/L'\n",
        ),
        ("TOP.md", "top\n"),
        ("docs/L", "licence\n"),
        ("other", "other\n"),
        (
            "m/Cargo.toml",
            "[package]\nname = 'm'\nversion = '0.1.0'\nreadme.workspace = true\nlicense-file.workspace = true\n",
        ),
        ("m/src/lib.rs", ""),
    ] {
        fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        fs::write(dir.join(path), bytes).unwrap();
    }
    let ours = below(&package(&sandbox, &dir.join("m"), "cargo", &["publish"]).unwrap(), &dir, &dir);
    assert_eq!(ours, ["TOP.md", "docs/L", "m/Cargo.toml", "m/src/lib.rs"].map(str::to_owned).into());
}

#[test]
fn python_builds_take_what_their_backend_takes() {
    let sandbox = Sandbox::new();
    let names = |project: &str, extra: &[(&str, &str)]| {
        let repo = sandbox.repo(&format!("p{}", fs::read_dir(sandbox.path(".")).unwrap().count()));
        repo.write("pyproject.toml", project).write("p/__init__.py", "p\n").write(".gitignore", "local*\n.env\n");
        for (path, bytes) in extra {
            repo.write(path, bytes);
        }
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "-m", "x"]);
        for path in [".env", "p/local.py", "p/local.json", "local.txt", ".idea/local.xml"] {
            repo.write(path, "l\n");
        }
        let taken = file_paths(&package(&sandbox, &repo.dir, "flit", &["publish"]).unwrap());
        assert!(taken.contains("p/__init__.py"), "{taken:?}");
        [".env", "p/local.py", "p/local.json", "local.txt", ".idea/local.xml"]
            .into_iter()
            .filter(|path| taken.contains(*path))
            .collect::<Vec<_>>()
    };
    let backend =
        |name: &str, more: &str| format!("[build-system]\nrequires = ['x']\nbuild-backend = '{name}'\n{more}");
    assert!(names(&backend("hatchling.build", ""), &[]).is_empty());
    assert!(names(&backend("poetry.core.masonry.api", "[tool.poetry]\npackages = [{include='p'}]"), &[]).is_empty());
    for name in ["pdm.backend", "flit_core.buildapi", "uv_build", "maturin"] {
        assert_eq!(names(&backend(name, ""), &[]), ["p/local.py", "p/local.json"], "{name}");
    }
    assert_eq!(names("", &[]), ["p/local.py"]);
    let all = [".env", "p/local.py", "p/local.json", "local.txt", ".idea/local.xml"];
    assert_eq!(names("", &[("setup.py", "import setuptools\n")]), all);
    assert_eq!(names(&backend("hatchling.build", "[tool.hatch.build]\nartifacts = ['*.json']"), &[]), all);
    assert_eq!(names(&backend("mesonpy", ""), &[]), all);
    assert_eq!(names(&backend("uv_build", "backend-path = ['.']"), &[]), all);
}

#[test]
fn what_the_line_copies_or_builds_before_is_taken() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.write("pyproject.toml", "[build-system]\nrequires = ['x']\nbuild-backend = 'hatchling.build'\n")
        .write("p/__init__.py", "p\n")
        .write("dist/p-1.whl", "an older one\n")
        .write(".gitignore", "dist\n");
    let outside = sandbox.path("outside.txt");
    fs::write(&outside, "o\n").unwrap();
    let copied = WrittenFile::certainly(repo.dir.join("p/copy.txt"), Content::CopyOf(outside.clone()));
    let package = Some(PackageRequest { client: "uv".into(), args: words(&["publish"]), state: State::ContentChanged });
    let asked = UploadRequest { package, written: vec![copied], ..request(&repo.dir) };
    let taken = file_paths(&upload::payload(&world(&sandbox, &repo.dir), &asked).unwrap());
    assert!(taken.contains("p/__init__.py") && taken.contains(outside.to_str().unwrap()), "{taken:?}");
}

#[test]
fn bundled_dependency_of_a_workspace_is_found_further_up() {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("w");
    for (path, bytes) in [
        ("package.json", "{\"name\":\"w\",\"version\":\"1.0.0\",\"workspaces\":[\"a\",\"b\"]}"),
        (
            "a/package.json",
            "{\"name\":\"a\",\"version\":\"1.0.0\",\"dependencies\":{\"b\":\"1\"},\"bundleDependencies\":[\"b\"]}",
        ),
        ("b/package.json", "{\"name\":\"b\",\"version\":\"1.0.0\",\"dependencies\":{\"c\":\"1\"}}"),
        ("b/of-b.js", "b\n"),
        ("b/node_modules/c/package.json", "{\"name\":\"c\",\"version\":\"1.0.0\"}"),
        ("b/node_modules/c/of-c.js", "c\n"),
    ] {
        fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        fs::write(dir.join(path), bytes).unwrap();
    }
    fs::create_dir_all(dir.join("node_modules")).unwrap();
    symlink("../b", dir.join("node_modules/b")).unwrap();
    let taken = below(&package(&sandbox, &dir.join("a"), "npm", &["publish"]).unwrap(), &dir, &dir);
    for name in ["of-b.js", "of-c.js"] {
        assert!(taken.iter().any(|path| path.ends_with(name)), "{name}: {taken:?}");
    }
}

#[test]
fn python_clients_send_distributions_or_what_they_build_from() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.write("pyproject.toml", "[project]\nname = 'p'\n")
        .write("p/__init__.py", "p\n")
        .write(".gitignore", "dist\n.env\n");
    repo.write("dist/p-1.whl", "wheel\n").write("dist/note.txt", "n\n").write(".env", "e\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "x"]);
    let names = |client: &str, args: &[&str]| file_paths(&package(&sandbox, &repo.dir, client, args).unwrap());
    assert_eq!(names("uv", &["publish"]), ["dist/p-1.whl".to_owned()].into());
    let built = names("poetry", &["publish", "--build"]);
    assert!(built.contains("dist/p-1.whl") && built.contains("p/__init__.py") && !built.contains(".env"), "{built:?}");
    repo.write("MANIFEST.in", "include .env\n");
    assert!(names("flit", &["publish"]).contains(".env"));
    let files = vec![repo.dir.join("dist/p-1.whl")];
    let package =
        Some(PackageRequest { client: "twine".into(), args: words(&["upload", "dist/p-1.whl"]), state: State::AsNow });
    let named = UploadRequest { files, package, ..request(&repo.dir) };
    let payload = upload::payload(&world(&sandbox, &repo.dir), &named).unwrap();
    assert_eq!(file_paths(&payload), ["dist/p-1.whl".to_owned()].into());
}

#[test]
fn client_that_is_not_known_takes_every_input() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.write("pom.xml", "<project/>\n")
        .write("src/Main.java", "m\n")
        .write(".gitignore", "target\n")
        .write("target/x", "x\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "x"]);
    let payload = package(&sandbox, &repo.dir, "mvn", &["deploy"]).unwrap();
    assert_eq!(file_paths(&payload), [".gitignore", "pom.xml", "src/Main.java"].map(str::to_owned).into());
    assert!(!payload.exact);
}

/// A repository whose main is on origin, with two commits more on a topic branch.
fn topic(sandbox: &Sandbox) -> Repo<'_> {
    let repo = sandbox.repo("r");
    repo.commit("a", "one\nremoved line\nthree\n");
    repo.commit("b", "published\n");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.commit("a", "one\nthree\n");
    repo.commit("c", "added\n");
    repo.git(&["config", "branch.topic.description", "described\n\nat length"]);
    repo
}

#[test]
fn bundle_holds_no_object_that_is_not_listed() {
    for args in [
        &["main..topic"][..],
        &["--all"],
        &["topic", "^main"],
        &["topic", "--not", "main"],
        &["-2", "topic"],
        &["--branches"],
        &["?"],
    ] {
        let sandbox = Sandbox::new();
        let repo = topic(&sandbox);
        let payload = revisions(&repo, "bundle", &[&["create", "../out.bundle"], args].concat());
        let known: Vec<&str> = args.iter().map(|word| if *word == "?" { "--all" } else { word }).collect();
        repo.git(&[&["bundle", "create", "-q", "../out.bundle"], &known[..]].concat());
        sandbox.git("", &["clone", "-q", "--bare", "r.git", "other.git"]);
        let before: BTreeSet<String> = objects(&sandbox.path("other.git"), &sandbox);
        sandbox.git("other.git", &["bundle", "unbundle", "../out.bundle"]);
        let after = objects(&sandbox.path("other.git"), &sandbox);
        let new: BTreeSet<String> = after.difference(&before).cloned().collect();
        assert!(!new.is_empty());
        assert!(new.is_subset(&oids(&payload)), "{args:?}");
    }
}

fn objects(dir: &Path, sandbox: &Sandbox) -> BTreeSet<String> {
    let listed = sandbox.git(dir, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn archive_takes_the_whole_tree_and_the_commits_text() {
    let sandbox = Sandbox::new();
    let repo = topic(&sandbox);
    fs::write(sandbox.path("extra"), "extra file\n").unwrap();
    let text = everything(&revisions(&repo, "archive", &["-o", "../out.tar", "--add-file=../extra", "HEAD"]));
    for part in ["published", "added", "change", "extra file"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("removed line"), "history is no part of an archive");
}

#[test]
fn every_line_of_a_patch_is_in_the_payload() {
    for args in [
        &["main"][..],
        &["-1"],
        &["-2", "topic"],
        &["main..topic"],
        &["--cover-letter", "--cover-from-description=auto", "main"],
        &["--root", "topic"],
    ] {
        let sandbox = Sandbox::new();
        let repo = topic(&sandbox);
        let text = everything(&revisions(&repo, "format-patch", args));
        let patch = repo.git(&[&["format-patch", "--stdout"], args].concat());
        assert!(patch.lines().any(|line| line.starts_with('+')), "{patch}");
        for line in patch
            .lines()
            .filter(|line| line.starts_with(['+', '-', ' ']) && !line.starts_with("+++") && !line.starts_with("---"))
        {
            let line = &line[1..];
            let is_summary = line.contains('|') || line.contains("changed") || line.contains("mode ");
            assert!(
                is_summary || line.trim().is_empty() || line == "- " || line == "-" || text.contains(line.trim()),
                "{args:?}: {line:?}"
            );
        }
        assert!(text.contains("described"), "a branch's description can be in a cover letter");
    }
}

#[test]
fn mail_request_and_export_are_read() {
    let sandbox = Sandbox::new();
    let repo = topic(&sandbox);
    repo.git(&["notes", "add", "-m", "a note"]);
    fs::write(sandbox.path("0001.patch"), "a patch file\n").unwrap();
    assert!(everything(&revisions(&repo, "send-email", &["../0001.patch"])).contains("a patch file"));
    assert!(everything(&revisions(&repo, "send-email", &["-1", "--notes"])).contains("a note"));
    let text = everything(&revisions(&repo, "request-pull", &["main", "../r.git", "topic"]));
    assert!(text.contains("described") && text.contains("change"));
    let export = revisions(&repo, "fast-export", &["topic"]);
    assert!(everything(&export).contains("removed line"));
    let dcommit = revisions(&repo, "svn dcommit", &["dcommit"]);
    assert!(everything(&dcommit).contains("added") && !everything(&dcommit).contains("published"));
}

#[test]
fn revisions_of_no_repository_are_a_fault() {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("home");
    let world = world(&sandbox, &dir);
    let git = GitContext { dir: dir.clone(), env: world.env.clone(), globals: Vec::new() };
    let revisions = Some(RevisionRequest { git, verb: "bundle".into(), args: words(&["create", "x", "--all"]) });
    let fault = upload::payload(&world, &UploadRequest { revisions, ..request(&dir) }).unwrap_err();
    assert!(matches!(fault, Fault::Repository(_)));
}

#[test]
fn files_of_uploads_are_files() {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("home");
    fs::write(dir.join("f"), "f\n").unwrap();
    let payload =
        upload::payload(&world(&sandbox, &dir), &UploadRequest { files: vec![dir.join("f")], ..request(&dir) })
            .unwrap();
    assert!(
        payload.parts.iter().flat_map(|part| &part.items).all(|item| item.kind == ItemKind::File && item.oid.is_some())
    );
}

#[test]
fn file_that_changes_after_it_was_listed_is_not_read_under_its_old_id() {
    let sandbox = Sandbox::new();
    let dir = sandbox.path("home");
    for size in [4, 9 << 20] {
        fs::write(dir.join("f"), vec![b'a'; size]).unwrap();
        let payload =
            upload::payload(&world(&sandbox, &dir), &UploadRequest { files: vec![dir.join("f")], ..request(&dir) })
                .unwrap();
        fs::write(dir.join("f"), vec![b'b'; size]).unwrap();
        let part = &payload.parts[0];
        let read = part.source.reader().unwrap().read(&part.items[0], &mut |content| match content {
            tyran::payload::Content::Whole(_) => Ok(()),
            tyran::payload::Content::Stream(stream) => match stream.read_to_end(&mut Vec::new()) {
                Ok(_) => Ok(()),
                Err(error) => Err(Fault::Plumbing(error.to_string().into())),
            },
        });
        assert!(read.is_err(), "{size}");
    }
}
