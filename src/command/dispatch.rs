//! From a command's program to its meaning: git, a forge's client, a package manager, a file tool, or
//! none that is known.
//!
//! Promise: every command gets exactly one meaning, chosen by what its name resolves to; a name that is
//! not known, a program that nobody can read, and one that runs what it is given are never taken for
//! harmless. What each meaning is, is the other modules' to say.

use std::ffi::OsStr;

use bstr::{BStr, BString, ByteSlice};

use super::identity::{Identity, is_of_the_system, is_same_program};
use super::meaning::{Changes, Meaning, Scene, inert};
use super::plan::{GitContext, Plan};
use super::programs::{self, Class};
use super::simple::{
    Certainty, Code, Dir, Effect, EnvChange, Exit, Nested, Program, ShellState, SimpleCommand, UnknownValue, Value,
    Verbs,
};
use super::{bypass, carried, files, forge, git, git_globals, packages, startup, tamper, vcs};
use crate::text::SafeText;

impl Verbs for Meaning {
    fn knows(&self, name: &BStr) -> bool {
        programs::knows(name)
    }

    fn is_harmless(&self, name: &BStr) -> bool {
        matches!(programs::class(name), Class::Inert | Class::Writes | Class::Files)
    }

    fn simple(&mut self, command: &SimpleCommand<'_>, shell: &dyn ShellState, plan: &mut Plan) -> Effect {
        let mut scene = Scene { command, shell, plan };
        preloaded(&mut scene);
        match self.identity(&scene) {
            Identity::Absent => absent(&mut scene),
            Identity::Unknown => self.unknown_program(&mut scene),
            Identity::File => self.opaque_program(&mut scene),
            Identity::OtherGit(name) => {
                let shown = SafeText::quoted(&name, 60);
                scene.opaque(shown);
                git::command(self, &mut scene, name.as_bstr())
            }
            Identity::Named(name) => self.named(&mut scene, name.as_bstr()),
        }
    }

    fn write(&mut self, path: &Value, dir: &Dir, bytes: Option<&[u8]>, shell: &dyn ShellState, plan: &mut Plan) {
        tamper::of_write(self, path, dir, bytes, shell, plan);
    }
}

/// Code that the line makes the loader put into every program.
fn preloaded(scene: &mut Scene<'_, '_>) {
    const LOADED: &[&str] = &["LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"];
    let changes = scene.command.env.changes();
    let named = LOADED.iter().find(|name| match changes.get(OsStr::new(name)) {
        Some(EnvChange::Set(value)) => !value.is_empty(),
        Some(EnvChange::Unknown(_)) => true,
        Some(EnvChange::Unset) | None => false,
    });
    if let Some(name) = named {
        scene.opaque(*name);
    }
}

/// A name for which there is no program: an alias of the person's shell, or nothing.
fn absent(scene: &mut Scene<'_, '_>) -> Effect {
    let Some(name) = scene.command.words.first().and_then(Value::known) else { return inert() };
    match startup::find(scene, name) {
        Some(startup::Meant::Alias(text)) => {
            let text = BString::from([text.as_slice(), b" \"$@\""].concat());
            let code = Code::Shell { text: Value::Known(text), args: scene.command.words.clone() };
            let because = "an alias of the person's shell".into();
            let nested = Nested { code, dir: None, env: Vec::new(), certainty: Certainty::Maybe, because };
            Effect { run: vec![nested], ..inert() }
        }
        Some(startup::Meant::Function(Some(definition))) => {
            let call = [definition.as_slice(), b"\n", name.as_bytes(), b" \"$@\""].concat();
            let code = Code::Shell { text: Value::Known(call.into()), args: scene.command.words.clone() };
            let because = "a function of the person's shell".into();
            let nested = Nested { code, dir: None, env: Vec::new(), certainty: Certainty::Maybe, because };
            Effect { run: vec![nested], ..inert() }
        }
        Some(startup::Meant::Function(None)) => {
            let shown = SafeText::quoted(name, 60);
            scene.opaque(shown);
            Effect { changes_files: true, ..inert() }
        }
        None if scene.shell.world().shell_lives_on => {
            let shown = SafeText::quoted(name, 60);
            scene.opaque(SafeText::new(&format!("{shown}, which an earlier command may have defined,")));
            Effect { changes_files: true, ..inert() }
        }
        None => {
            // What is not on our PATH may be on the one of the tool's own shell.
            if !carried::commands(scene, name).is_empty() {
                let shown = SafeText::quoted(name, 60);
                scene.opaque(shown);
            }
            Effect { exit: Exit::Failure, ..inert() }
        }
    }
}

impl Meaning {
    fn named(&mut self, scene: &mut Scene<'_, '_>, name: &BStr) -> Effect {
        let args = scene.command.words.get(1..).unwrap_or_default();
        tamper::of_hook_manager(scene, name, args);
        match programs::class(name) {
            Class::Git => {
                self.note_other_git(scene, name);
                git::command(self, scene, name)
            }
            Class::Forge => forge::command(self, scene, name, args),
            Class::Package => {
                let mut effect = packages::command(self, scene, name, args);
                effect.run.extend(self.among_words(scene, name));
                effect
            }
            Class::Vcs => vcs::command(self, scene, name, args),
            Class::Tyran => tamper::tyran(scene, args),
            Class::Files => {
                self.incoming.copies(scene, name, args);
                self.brings(scene, name, args);
                self.speaks(scene);
                files::command(self, scene, name, args)
            }
            Class::Inert | Class::Writes => {
                self.brings(scene, name, args);
                if programs::class(name) == Class::Writes {
                    self.incoming.copies(scene, name, args);
                    if name == "patch" {
                        self.patched(scene, args);
                    }
                    tamper::of_words(scene);
                }
                let mut run = self.helpers(scene, name);
                run.extend(self.among_words(scene, name));
                Effect { run, changes_files: programs::class(name) == Class::Writes, ..inert() }
            }
            Class::Other => self.opaque_program(scene),
        }
    }

    /// What a program without a meaning of its own may run of what it is given.
    fn among_words(&mut self, scene: &mut Scene<'_, '_>, name: &BStr) -> Vec<Nested> {
        if carried::is_release_task(scene, name) {
            let shown = SafeText::quoted(name, 60);
            scene.opaque(shown);
        }
        carried::commands(scene, name)
    }

    /// Programs that the line names in a variable for another program to start.
    fn helpers(&mut self, scene: &mut Scene<'_, '_>, name: &BStr) -> Vec<Nested> {
        let mut nested = Vec::new();
        for (variable, change) in scene.command.env.changes() {
            let Some(variable) = variable.to_str() else { continue };
            if !programs::starts(name, variable) {
                continue;
            }
            let text = match change {
                EnvChange::Set(text) => {
                    Value::Known(BString::from(text.as_encoded_bytes().trim_start_with(|c| c == '|')))
                }
                EnvChange::Unset => continue,
                EnvChange::Unknown(why) => Value::Unknown(UnknownValue {
                    between: BString::default(),
                    why: why.clone(),
                    span: scene.command.span.clone(),
                    prefix: BString::default(),
                    suffix: BString::default(),
                    many: false,
                }),
            };
            nested.push(Nested {
                code: Code::Shell { text, args: Vec::new() },
                dir: None,
                env: Vec::new(),
                certainty: Certainty::Maybe,
                because: SafeText::quoted(variable.as_bytes(), 40),
            });
        }
        nested.retain(|nested| self.is_new(nested));
        nested
    }

    /// The git along the command's own PATH must be the one that was recorded.
    fn note_other_git(&self, scene: &mut Scene<'_, '_>, name: &BStr) {
        if name != "git" || scene.command.program != Program::ByName {
            return;
        }
        let world = scene.shell.world();
        let found = world.on_path(name.to_os_str_lossy().as_ref());
        if let (Some(found), Some(recorded)) = (found, world.git_program())
            && found != recorded
            && !is_same_program(recorded, &found.canonicalize().unwrap_or(found.clone()))
            && !is_of_the_system(&found)
        {
            scene.opaque(SafeText::quoted(found.as_os_str().as_encoded_bytes(), 120));
        }
    }

    fn opaque_program(&mut self, scene: &mut Scene<'_, '_>) -> Effect {
        bypass::of_opaque(scene);
        tamper::of_words(scene);
        let name = scene
            .command
            .words
            .first()
            .and_then(Value::known)
            .map_or_else(|| SafeText::from("a program"), |name| SafeText::quoted(name, 60));
        scene.opaque(name);
        Effect { changes_files: true, ..inert() }
    }

    /// A command whose name is not known. Words that follow may be those of git, so everything of the
    /// repository here is taken; a repository elsewhere is what the net answers for.
    fn unknown_program(&mut self, scene: &mut Scene<'_, '_>) -> Effect {
        bypass::of_opaque(scene);
        let why = match scene.command.words.first() {
            Some(Value::Unknown(value)) => value.why.clone(),
            Some(Value::Known(name)) => SafeText::quoted(name, 60),
            None => "a program".into(),
        };
        match &scene.command.dir {
            Dir::Known(dir) => {
                let git = GitContext { dir: dir.clone(), env: scene.command.env.known(), globals: Vec::new() };
                if git_globals::find(&git).is_some() || self.may_be_made(scene) {
                    self.widest(scene, git, format!("the program is not known: {why}"));
                }
                scene.opaque(why);
            }
            Dir::Unknown(_) => scene.unknown(why),
        }
        self.changes(Changes::Everything);
        Effect { changes_files: true, ..inert() }
    }
}
