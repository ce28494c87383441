//! Any bytes as a configuration: rules or a fault, and what they find in a text, never a panic or a hang.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tyran::payload::{Content, Elsewhere, Item, ItemKind};
use tyran::scan::Engine;
use tyran::scan::embedded::{EmbeddedEngine, Mode, Options, Origin, RuleSet};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (mode, compat) = if text.len() % 2 == 0 { (Mode::Strict, false) } else { (Mode::Compat, true) };
    let Ok(set) = RuleSet::parse(text, Origin::Text("fuzz".to_owned()), mode) else { return };
    let Ok(engine) = EmbeddedEngine::new(set, Options { compat, ..Options::default() }) else { return };
    let Ok(mut session) = engine.session() else { return };
    let size = bytes.len() as u64;
    let item = Item { kind: ItemKind::Blob, oid: None, size, path: None, commit: None, elsewhere: Elsewhere::Nowhere };
    let _ = session.scan(&item, 0, Content::Whole(bytes));
});
