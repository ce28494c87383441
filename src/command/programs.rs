//! Programs by name: what kind of meaning each has.
//!
//! Promise: a program that is called inert here publishes nothing through git, a forge or a package
//! registry by itself. Build tools and test runners are: they run the project's own code, which the
//! net answers for (known gap 1). Interpreters and shells are the walk's. Whatever is in no table is
//! opaque.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::{BStr, ByteSlice};

/// What kind of meaning a program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// git, or one of its dashed programs.
    Git,
    /// A client of a forge.
    Forge,
    /// A package manager or registry client.
    Package,
    /// Another tool that commits or pushes.
    Vcs,
    /// tyran itself.
    Tyran,
    /// A program that writes, moves or removes the files it is given.
    Files,
    /// A program that publishes nothing and changes no file of interest.
    Inert,
    /// The same, but it may write files.
    Writes,
    /// None of these.
    Other,
}

/// Whether a name has a meaning, so that no file needs to be looked up for it.
pub fn knows(name: &BStr) -> bool {
    class(name) != Class::Other
}

/// What kind of meaning a name has.
pub fn class(name: &BStr) -> Class {
    let Ok(name) = name.to_str() else { return Class::Other };
    let name = name.strip_suffix(".exe").unwrap_or(name);
    if let Some(class) = listed(name) {
        return class;
    }
    match name {
        "git" => Class::Git,
        "tyran" => Class::Tyran,
        _ => match name.strip_prefix("git-") {
            Some(verb) if super::git_table::is_known(verb) => Class::Git,
            _ => Class::Other,
        },
    }
}

/// Whether a program starts what a variable names, when the line sets that variable for it.
pub fn starts(program: &BStr, variable: &str) -> bool {
    let Ok(program) = program.to_str() else { return false };
    match variable {
        "LESSOPEN" | "LESSCLOSE" => matches!(program, "less" | "zless" | "man" | "info"),
        "PAGER" | "MANPAGER" | "BROWSER" => {
            matches!(program, "man" | "apropos" | "psql" | "mysql" | "systemctl" | "journalctl" | "aws" | "bat")
        }
        "EDITOR" | "VISUAL" => {
            matches!(program, "less" | "psql" | "mysql" | "systemctl" | "kubectl" | "vipe" | "crontab")
        }
        _ => false,
    }
}

/// All tables; where a name stands in two, the first counts.
const TABLES: &[(&str, Class)] = &[
    (FORGES, Class::Forge),
    (PACKAGES, Class::Package),
    (VCS, Class::Vcs),
    (FILES, Class::Files),
    (INERT, Class::Inert),
    (WRITES, Class::Writes),
];

/// How many names are looked for in a text before a table of its words pays: most lines have few.
const LOOKED_FOR: usize = 16;

/// Words of a text, found by looking through it as long as few are asked for.
pub(super) struct Names {
    text: &'static str,
    asked: AtomicUsize,
    table: OnceLock<HashSet<&'static str>>,
}

impl Names {
    pub(super) const fn new(text: &'static str) -> Self {
        Self { text, asked: AtomicUsize::new(0), table: OnceLock::new() }
    }

    /// Whether a name is one of the words.
    pub(super) fn contains(&self, name: &BStr) -> bool {
        let Ok(name) = name.to_str() else { return false };
        if self.asked.fetch_add(1, Ordering::Relaxed) < LOOKED_FOR {
            return stands_in(self.text, name);
        }
        self.table.get_or_init(|| self.text.split_ascii_whitespace().collect()).contains(name)
    }
}

/// All names, for a text with many commands.
static TABLE: OnceLock<HashMap<&str, Class>> = OnceLock::new();

fn listed(name: &str) -> Option<Class> {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    if ASKED.fetch_add(1, Ordering::Relaxed) < LOOKED_FOR {
        return TABLES.iter().find(|(names, _)| stands_in(names, name)).map(|(_, class)| *class);
    }
    let table = TABLE.get_or_init(|| {
        let mut table = HashMap::new();
        for (names, class) in TABLES {
            for name in names.split_ascii_whitespace() {
                table.entry(name).or_insert(*class);
            }
        }
        table
    });
    table.get(name).copied()
}

/// Whether a name is one of a text's words.
fn stands_in(names: &str, name: &str) -> bool {
    let is_edge = |at: Option<&u8>| at.is_none_or(u8::is_ascii_whitespace);
    let bytes = names.as_bytes();
    !name.is_empty()
        && !name.bytes().any(|byte| byte.is_ascii_whitespace())
        && bytes.find_iter(name).any(|at| {
            is_edge(at.checked_sub(1).and_then(|before| bytes.get(before))) && is_edge(bytes.get(at + name.len()))
        })
}

const FORGES: &str = "gh glab hub tea fj berg";

const PACKAGES: &str = "npm pnpm yarn bun npx pnpx bunx cargo rustup twine uv poetry pdm hatch flit gem docker podman buildah skopeo helm oras \
    lerna nx changeset semantic-release release-it np vsce ovsx mvn gradle dotnet nuget composer mix hex deno jsr \
    crane nerdctl conan pod rebar3 stack cabal luarocks clojars lein sbt goreleaser maturin setuptools flutter dart \
    uvx pipx mkdocs mike quarto gh-pages ghp-import release-please knope psr standard-version commit-and-tag-version bump2version \
    bumpversion bump-my-version cz commitizen";

const VCS: &str = "jj sl gt gs git-town git-machete git-branchless git-spice spr av ghstack arc repo hg svn bzr p4 fossil darcs pijul \
    gitbutler but gitui lazygit tig gitk git-gui stg topgit josh-proxy";

/// Programs of which each operand may be a file that is written or removed.
const FILES: &str =
    "cp mv rm ln tee touch truncate install rsync scp dd unlink rmdir mkdir shred chmod chown chattr setfacl chgrp";

/// Programs that read, print or wait.
const INERT: &str = "
    ls cat head tail wc sort uniq cut tr paste join comm column fold fmt nl tac rev expand unexpand pr
    grep egrep fgrep rg ag ack ugrep zgrep zcat bzcat xzcat zstdcat
    less more most bat batcat delta diff-so-fancy difft diff diff3 sdiff cmp colordiff vimdiff icdiff
    file stat du df tree eza exa lsd fd fdfind locate plocate which whereis whatis apropos man info tldr realpath
    readlink basename dirname pathchk mktemp
    date cal sleep seq shuf factor bc dc expr numfmt units tty who w whoami id groups users last uptime uname arch
    hostname hostnamectl nproc free vmstat iostat mpstat top htop btop ps pgrep pidof pstree lsof fuser kill pkill
    killall lscpu lsblk lsusb lspci lsmod dmesg journalctl sysctl getconf locale localectl timedatectl ulimit
    printenv true false yes echo printf test [ :
    md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum md5 xxd hexdump od strings base64
    base32 basenc envsubst
    jq yq fx gron jless xmllint xpath csvtool mlr xsv qsv dasel htmlq pup
    ping ping6 traceroute tracepath dig nslookup host ip ifconfig ss netstat route arp nmcli
    tput clear reset stty tset infocmp toe script dircolors
    nm objdump readelf size ldd addr2line c++filt otool lipo
    shellcheck shfmt hadolint yamllint jsonlint markdownlint vale codespell typos actionlint
    cloc tokei scc loc hyperfine time perf strace ltrace valgrind
    rustfmt clippy-driver gofmt goimports black isort ruff flake8 pylint mypy pyright autopep8 yapf bandit
    eslint prettier tsc stylelint biome oxlint standard xo
    clang-format clang-tidy cppcheck cpplint astyle uncrustify
    pytest nosetests tox nox coverage jest vitest mocha ava jasmine karma cypress playwright rspec minitest phpunit
    tsgo ocaml ctest ts-jest vue-tsc svelte-check knip depcheck madge size-limit bundlesize typedoc jsdoc c8 nyc tap
    pylint pyflakes pydocstyle bandit safety pip-audit pip-compile pip-sync towncrier sphinx-apidoc ipdb pytest-watch
    phpstan psalm pint php-cs-fixer phpcs phpcbf paratest rubocop brakeman reek minitest cucumber golangci-lint staticcheck
    gotestsum ginkgo mockgen cargo-nextest swiftlint swiftformat ktlint detekt checkstyle spotless dart_format
    ssh-keygen ssh-add ssh-agent gpg gpg2 gpgconf gpg-agent openssl age keytool
    logger wall write mesg notify-send osascript say pbcopy pbpaste xclip xsel wl-copy wl-paste open xdg-open
    systemctl service launchctl loginctl
    apt apt-get apt-cache dpkg dpkg-query rpm yum dnf brew port pacman apk zypper snap flatpak nix nix-env pip pip3
    conda mamba micromamba rbenv pyenv nvm fnm volta asdf mise sdk bundle bundler easy_install
    kubectl kubectx kubens k9s kustomize minikube kind terraform tofu terragrunt ansible ansible-playbook vagrant
    packer aws gcloud gsutil az doctl heroku flyctl fly vercel netlify wrangler firebase cf adb fastboot docker-compose
    psql mysql sqlite3 mongosh redis-cli pg_dump mysqldump
    dvc
    gitleaks trufflehog detect-secrets kingfisher betterleaks talisman git-secrets ggshield semgrep trivy grype syft
    vim vi nvim nano emacs emacsclient ed ex code subl atom micro helix hx kak pico joe ne mate idea
    pre-commit lefthook husky lint-staged commitlint overcommit
    pkg-config ssh-keyscan colcrt mountpoint update-alternatives strip setfattr getfattr lsattr sysctl
    tox nox gradlew moon act mage waf earthly dagger tilt skaffold changie towncrier
    figlet cowsay lolcat fortune neofetch fastfetch screenfetch
    git-lfs-transfer tmux-mem-cpu-load
";

/// Programs that publish nothing and write files whose names are not read here.
const WRITES: &str = "
    tar zip unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 7z 7za rar unrar cpio pax ar
    gcc g++ cc c++ clang clang++ ld rustc javac kotlinc scalac go swiftc ghc ocamlc nasm yasm
    cmake meson ninja bazel buck buck2 pants scons xcodebuild msbuild ant
    patch ed split csplit sponge iconv dos2unix unix2dos recode rename mmv
    convert magick ffmpeg pandoc dot plantuml mermaid mmdc pdflatex xelatex latexmk sphinx-build jekyll hugo
    vite webpack rollup esbuild parcel babel swc sass tailwindcss postcss next nuxt astro storybook
    curl wget aria2c http https xh
    protoc flatc swagger openapi-generator autoconf automake autoreconf libtoolize configure gettext msgfmt
    ctags etags cscope gtags
    mkfifo mknod fallocate mount umount losetup
    cookiecutter yo degit
";
