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
#[path = "src/scan/embedded/factor.rs"]
mod factor;
#[path = "build/hosts.rs"]
mod hosts;
#[path = "src/scan/embedded/shape.rs"]
mod shape;
#[path = "src/scan/embedded/shaped.rs"]
mod shaped;
#[path = "src/text.rs"]
mod text;
#[path = "src/scan/embedded/translate.rs"]
mod translate;
#[path = "build/writer.rs"]
mod writer;

use std::path::Path;
use std::{env, fs};

/// In the order in which the engine's `rules.rs` reads them.
const FILES: &[&str] = &[
    "default", "cloud", "azure", "code", "ai", "chat", "pay", "ops", "saas", "more", "keys", "urls", "files", "generic",
];

fn main() {
    println!("cargo::rerun-if-changed=rules");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    for module in ["alphabet", "class", "config", "factor", "shape", "shaped", "translate"] {
        println!("cargo::rerun-if-changed=src/scan/embedded/{module}.rs");
    }
    println!("cargo::rerun-if-changed=src/text.rs");
    println!("cargo::rerun-if-changed=src/host/hosts.toml");
    let text: String = FILES.iter().map(|name| fs::read_to_string(format!("rules/{name}.toml")).unwrap()).collect();
    let origin = config::Origin::Text("rules".to_owned());
    let mut parts = config::parts(&text, &origin, config::Mode::Strict).unwrap_or_else(|fault| panic!("{fault}"));
    for rule in &mut parts.rules {
        shaped::take_shape(rule).unwrap_or_else(|fault| panic!("{}: {}; {}", rule.id, fault.what, fault.remedy));
        let lower: Vec<String> = rule.keywords.iter().map(|keyword| keyword.to_lowercase()).collect();
        if !rule.regex.is_empty() {
            let tree = translate::parse(&rule.regex).unwrap_or_else(|fault| panic!("{}: {fault}", rule.id));
            rule.prepared = factor::prepare(&tree.node, &lower);
        }
    }
    let folder = env::var_os("OUT_DIR").unwrap();
    fs::write(Path::new(&folder).join("rules.bin"), writer::write(&parts)).unwrap();
    let table = fs::read_to_string("src/host/hosts.toml").unwrap();
    fs::write(Path::new(&folder).join("hosts.rs"), hosts::write(&table)).unwrap();
}
