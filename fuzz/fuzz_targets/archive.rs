//! Any bytes as an archive, which may unpack to little.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tyran::payload::{Content, Elsewhere, Item, ItemKind};
use tyran::scan::Engine;
use tyran::scan::embedded::{EmbeddedEngine, Options, RuleSet};

static ENGINE: LazyLock<EmbeddedEngine> = LazyLock::new(|| {
    let options = Options { unpacked_bytes: 1 << 20, ..Options::default() };
    EmbeddedEngine::new(RuleSet::builtin().expect("tyran's own rules"), options).expect("an engine")
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut session) = ENGINE.session() else { return };
    let size = bytes.len() as u64;
    let item = Item { kind: ItemKind::Blob, oid: None, size, path: None, commit: None, elsewhere: Elsewhere::Nowhere };
    let _ = session.scan(&item, 0, Content::Whole(bytes));
});
