//! The least that a keyword scan can cost: the bytes through one automaton of a configuration's keywords.
//!
//! `keyword_floor CONFIG < FILE`, `keyword_floor CONFIG --directory DIR`, and `keyword_floor CONFIG --git-dir DIR
//! TIP... [^BOUNDARY...]`, which lists, inflates and re-hashes every object first. For `scripts/bench-engine`.
#![allow(missing_docs)]

use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use aho_corasick::automaton::Automaton;
use aho_corasick::{Anchored, MatchKind, dfa::DFA};

use tyran::command::plan::GitContext;
use tyran::payload::objects::ObjectStore;
use tyran::payload::{Content, Fault, ObjectId};
use tyran::world::{Caution, World};

/// What is read at once.
const STEP: usize = 256 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args: VecDeque<String> = std::env::args().skip(1).collect();
    let config = args.pop_front().ok_or("name a configuration")?;
    let floor = Floor::of(&fs::read_to_string(config)?)?;
    let hits = match args.pop_front().as_deref() {
        None => floor.read(&mut std::io::stdin().lock())?,
        Some("--directory") => floor.directory(Path::new(&args.pop_front().ok_or("name a directory")?))?,
        Some("--git-dir") => floor.objects(&args.pop_front().ok_or("name a git directory")?, &args)?,
        Some(other) => return Err(format!("unknown: {other}").into()),
    };
    println!("{hits}");
    Ok(())
}

struct Floor {
    automaton: DFA,
}

impl Floor {
    fn of(config: &str) -> Result<Self, Box<dyn Error>> {
        let config: toml::Table = config.parse()?;
        let rules = config.get("rules").and_then(toml::Value::as_array).ok_or("no rules")?;
        let words = rules.iter().filter_map(|rule| rule.get("keywords")?.as_array()).flatten();
        let words: BTreeSet<&str> = words.filter_map(toml::Value::as_str).collect();
        let mut builder = DFA::builder();
        builder.ascii_case_insensitive(true).match_kind(MatchKind::Standard);
        Ok(Self { automaton: builder.build(words)? })
    }

    /// How many places of a text end a keyword, walked byte by byte.
    fn hits(&self, text: &[u8]) -> Result<usize, Box<dyn Error>> {
        let mut state = self.automaton.start_state(Anchored::No)?;
        let mut hits = 0;
        for &byte in text {
            state = self.automaton.next_state(Anchored::No, state, byte);
            hits += usize::from(self.automaton.is_special(state) && self.automaton.is_match(state));
        }
        Ok(hits)
    }

    fn read(&self, source: &mut dyn Read) -> Result<usize, Box<dyn Error>> {
        let (mut buffer, mut hits) = (vec![0; STEP], 0);
        loop {
            let read = source.read(&mut buffer)?;
            match buffer.get(..read).filter(|text| !text.is_empty()) {
                Some(text) => hits += self.hits(text)?,
                None => return Ok(hits),
            }
        }
    }

    fn directory(&self, directory: &Path) -> Result<usize, Box<dyn Error>> {
        let mut hits = 0;
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                hits += self.directory(&entry.path())?;
            } else if kind.is_file() {
                hits += self.hits(&fs::read(entry.path())?)?;
            }
        }
        Ok(hits)
    }

    fn objects(&self, git_dir: &str, revisions: &VecDeque<String>) -> Result<usize, Box<dyn Error>> {
        let world = World::of_process(Caution::ByHand)?;
        let dir: PathBuf = world.cwd.join(git_dir);
        let globals = vec!["--git-dir".into(), dir.clone().into_os_string()];
        let store = ObjectStore::open(&world, &GitContext { dir, env: world.env.clone(), globals })?;
        let (mut tips, mut boundary) = (Vec::new(), Vec::new());
        for revision in revisions {
            match revision.strip_prefix('^') {
                Some(hex) => boundary.push(ObjectId::from_hex(hex.as_bytes())?),
                None => tips.push(ObjectId::from_hex(revision.as_bytes())?),
            }
        }
        let part = store.part(store.reachable(&tips, &boundary)?);
        let mut reader = part.source.reader()?;
        let mut hits = 0;
        for item in &part.items {
            let fault = |error: Box<dyn Error>| Fault::Plumbing(error.to_string().into());
            reader.read(item, &mut |content| {
                hits += match content {
                    Content::Whole(text) => self.hits(text),
                    Content::Stream(stream) => self.read(stream),
                }
                .map_err(fault)?;
                Ok(())
            })?;
        }
        Ok(hits)
    }
}
