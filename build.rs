//! Reads tyran's own rules and the host table once, when the program is built.
//!
//! Promise: `rules.bin` holds what the files of `rules/` say, each rule with its regex, its keywords and
//! the places near which it can match; a file that cannot be read, or a pattern that is not RE2, ends
//! the build. The modules that do it are the engine's own.
#![allow(dead_code, clippy::unwrap_used)]

#[path = "src/scan/embedded/alphabet.rs"]
mod alphabet;
#[path = "src/scan/embedded/class.rs"]
mod class;
#[path = "src/scan/embedded/config.rs"]
mod config;
#[path = "src/scan/embedded/extent.rs"]
mod extent;
#[path = "src/scan/embedded/factor.rs"]
mod factor;
#[path = "src/scan/embedded/glance.rs"]
mod glance;
#[path = "build/hosts.rs"]
mod hosts;
#[path = "src/scan/embedded/layout.rs"]
mod layout;
#[path = "src/scan/embedded/lead.rs"]
mod lead;
#[path = "src/scan/embedded/prefilter.rs"]
mod prefilter;
#[path = "src/scan/embedded/profile.rs"]
mod profile;
#[path = "src/scan/embedded/runs.rs"]
mod runs;
#[path = "src/scan/embedded/shape.rs"]
mod shape;
#[path = "src/scan/embedded/shaped.rs"]
mod shaped;
#[path = "src/scan/embedded/spot.rs"]
mod spot;
#[path = "src/text.rs"]
mod text;
#[path = "src/scan/embedded/translate.rs"]
mod translate;
#[path = "build/writer.rs"]
mod writer;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// In the order in which the engine's `rules.rs` reads them.
const FILES: &[&str] = &[
    "default", "cloud", "azure", "code", "ai", "chat", "pay", "ops", "saas", "more", "keys", "urls", "files",
    "devices", "forms", "services", "kinds", "partners", "generic",
];

/// A match that is as long as this has no bound; as the engine's `pattern` has it.
const UNBOUNDED_SPAN: usize = 1 << 20;

/// Has the program linked whole and loaded at a fixed address, where the C compiler of a GNU Linux can: to find
/// and to bind libraries, and to write the addresses that tables hold, is half of a gate's time for a command that
/// publishes nothing. It also leaves `LD_PRELOAD` and `LD_LIBRARY_PATH` without a say in a gate. The
/// program's own code has no unchecked memory, for which a random address would be a second wall.
///
/// `-C target-feature=+crt-static` would do the same, but only with `--target`, since macros of the build cannot
/// be linked so. Instead the linker finds, by the names under which the compiler asks for libraries, texts that
/// name the archives. `TYRAN_LINK=dynamic` leaves all of it out, for packagers and for analysis with
/// preloaded libraries.
fn link_whole() {
    println!("cargo::rerun-if-env-changed=TYRAN_LINK");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_static = target("FEATURE").split(',').any(|feature| feature == "crt-static");
    let is_native = env::var("HOST").ok() == env::var("TARGET").ok();
    let is_wanted = env::var("TYRAN_LINK").map_or(true, |choice| choice != "dynamic");
    if target("OS") != "linux" || target("ENV") != "gnu" || is_static || !is_native || !is_wanted {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let archive = |name: &str| {
        let asked = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
        let path = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim());
        (path.is_absolute() && path.is_file()).then(|| path.display().to_string())
    };
    let all = ["libc.a", "libm.a", "libgcc.a", "libgcc_eh.a"].map(archive);
    let [Some(c), Some(m), Some(gcc), Some(unwind)] = all else { return };
    let folder = Path::new(&env::var_os("OUT_DIR").unwrap()).join("archives");
    fs::create_dir_all(&folder).unwrap();
    let group = format!("GROUP ( {c} {m} {gcc} {unwind} )\n");
    for name in ["c", "m", "gcc_s", "util", "rt", "pthread", "dl"] {
        fs::write(folder.join(format!("lib{name}.so")), &group).unwrap();
    }
    println!("cargo::rustc-link-arg-bins=-static");
    println!("cargo::rustc-link-arg-bins=-L{}", folder.display());
}

/// Has the functions that the gate runs for every command laid side by side, as `build/hot.ld` lists them: a start
/// then faults in some 60 pages fewer of 160, a fifth of the gate's time for a command that publishes nothing.
/// Whether the linker of this build takes such a list is tried on a program of one line; one that does not lays
/// functions as it likes, and nothing else differs.
fn lay_together() {
    println!("cargo::rerun-if-changed=build/hot.ld");
    let var = |name: &str| env::var(name).unwrap_or_default();
    if var("CARGO_CFG_TARGET_OS") != "linux" || var("HOST") != var("TARGET") || var("PROFILE") != "release" {
        return;
    }
    let argument = format!("-Wl,-T,{}/build/hot.ld", var("CARGO_MANIFEST_DIR"));
    let folder = PathBuf::from(var("OUT_DIR"));
    let (tried, program) = (folder.join("tried.rs"), folder.join("tried"));
    fs::write(&tried, "fn main() {}\n").unwrap();
    let mut compiler = Command::new(var("RUSTC"));
    compiler.args(var("CARGO_ENCODED_RUSTFLAGS").split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg(format!("-Clinker={linker}"));
    }
    compiler.arg(format!("-Clink-arg={argument}")).arg("-o").arg(&program).arg(&tried);
    let links = compiler.output().is_ok_and(|done| done.status.success());
    if links && Command::new(&program).status().is_ok_and(|ended| ended.success()) {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}

fn main() {
    link_whole();
    lay_together();
    println!("cargo::rerun-if-changed=rules");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    for module in [
        "alphabet",
        "class",
        "config",
        "extent",
        "factor",
        "glance",
        "layout",
        "lead",
        "prefilter",
        "profile",
        "runs",
        "shape",
        "shaped",
        "spot",
        "translate",
    ] {
        println!("cargo::rerun-if-changed=src/scan/embedded/{module}.rs");
    }
    println!("cargo::rerun-if-changed=src/text.rs");
    println!("cargo::rerun-if-changed=src/host/hosts.toml");
    let text: String = FILES.iter().map(|name| fs::read_to_string(format!("rules/{name}.toml")).unwrap()).collect();
    let origin = config::Origin::Text("rules".to_owned());
    let mut parts = config::parts(&text, &origin, config::Mode::Strict).unwrap_or_else(|fault| panic!("{fault}"));
    let (mut layout, mut widest, mut spots) = (layout::Builder::default(), 0, Vec::new());
    for rule in &mut parts.rules {
        shaped::take_shape(rule).unwrap_or_else(|fault| panic!("{}: {}; {}", rule.id, fault.what, fault.remedy));
        if rule.own.placeholders.is_none() {
            rule.own.placeholders.clone_from(&parts.placeholders);
        }
        let lower: Vec<String> = rule.keywords.iter().map(|keyword| keyword.to_lowercase()).collect();
        assert!(lower.iter().all(|word| word.is_ascii()), "{}: lower case beyond ASCII is not the engine's", rule.id);
        let tree = (!rule.regex.is_empty())
            .then(|| translate::parse(&rule.regex).unwrap_or_else(|fault| panic!("{}: {fault}", rule.id)));
        if let Some(tree) = &tree {
            rule.prepared = factor::prepare(&tree.node, &lower);
            if rule.prepared.is_none() {
                widest = widest.max(extent::extent(&tree.node).most.filter(|&span| span < UNBOUNDED_SPAN).unwrap_or(0));
            }
        }
        let regex = || tree.as_ref().map(|tree| &tree.node);
        let view = layout::View { keywords: &lower, prepared: rule.prepared.as_ref(), regex: &regex };
        spots.push(tree.as_ref().and_then(|tree| near(&tree.node, &view.words())));
        layout.add(&view).unwrap_or_else(|| panic!("there are too many rules"));
    }
    assert!(parts.allowlists.iter().all(|list| list.target_rules.is_empty()), "write such a list under its rules");
    let folder = env::var_os("OUT_DIR").unwrap();
    let written = writer::write(&parts.allowlists, &parts.rules, &spots, widest, &layout.finish());
    fs::write(Path::new(&folder).join("rules.digest"), digest(&written)).unwrap();
    fs::write(Path::new(&folder).join("rules.bin"), written).unwrap();
    let table = fs::read_to_string("src/host/hosts.toml").unwrap();
    fs::write(Path::new(&folder).join("hosts.rs"), hosts::write(&table)).unwrap();
}

/// What is needed to search near a pattern's texts, where `words` tell all places of these.
fn near(node: &translate::Node, words: &[String]) -> Option<spot::Spots> {
    let factor::Plan::Near(factors) = factor::plan(node, words) else { return None };
    Some(spot::Spots::of(&factors, words)).filter(|spots| spots.sites.is_some())
}

/// The digest of the rules as the engine's `RuleSet::digest` works it out, which would read all of them.
fn digest(rules: &[u8]) -> String {
    use sha2::Digest;
    let mut hasher = sha2::Sha256::new();
    hasher.update(b"strict");
    hasher.update((rules.len() as u64).to_le_bytes());
    hasher.update(rules);
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
