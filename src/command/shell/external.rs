//! Programs: looked up as the command would, unwrapped, read where they are scripts, else handed over
//! to the meaning of commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use super::arguments::base_name;
use super::capture::Printed;
use super::command::Call;
use super::disk::{FileText, View};
use super::flow::after_subshell;
use super::state::{Arguments, Dirs, Shell, known};
use super::{Ends, Walk};
use crate::command::plan::Content as FileContent;
use crate::command::scripts;
use crate::command::simple::{
    Certainty, Code, Dir, Effect, EnvChange, Exit, FileSeen, Nested, Program, SimpleCommand, Stdin, Value, to_os_string,
};
use crate::command::wrappers::{self, Fed, Unwrapped, Wrapped, Written};
use crate::text::SafeText;

/// Most entries of directories, deepest nesting, and most repositories that `find -execdir` is followed into.
const MAX_ENTERED: usize = 4096;
const MAX_DEPTH_ENTERED: usize = 16;
const MAX_REPOSITORIES_ENTERED: usize = 8;

/// How many bytes at the beginning of a file tell a script from a binary.
const HEAD_BYTES: usize = 512;

impl Walk<'_, '_> {
    pub(in crate::command) fn external(&mut self, mut call: Call, shell: Shell) -> Ends {
        if let Some(path) = call.name().and_then(|name| shell.hashed.get(name)).cloned()
            && let Some(name) = call.words.first_mut()
        {
            *name = path;
        }
        let Some(name) = call.name().map(BStr::to_owned) else { return self.program_unknown(&call, shell) };
        if prints_settings(name.as_bstr(), call.arguments()) {
            // What it prints sets variables and defines functions of its own name; nothing of it runs git.
            return Ends::success(shell);
        }
        match self.resolve(name.as_bstr(), &shell) {
            Program::ByName => {
                if let Some((path, text)) = self.put_before(name.as_bstr()) {
                    self.switches(&text);
                    if name == "git" {
                        // It may do more than it is called for, and leave out what is called for as well.
                        let (call, inside) = (call.with_words(call.words.clone()), shell.clone());
                        self.perhaps(|walk| drop(walk.file(&path, call, inside)));
                    }
                }
                self.named(base_name(name.as_bstr()), call, shell)
            }
            Program::File(path) => self.file(&path, call, shell),
            Program::Absent => self.absent(name.as_bstr(), call, shell),
            Program::Unknown => {
                let base = base_name(name.as_bstr());
                if self.is_familiar(base) {
                    self.opaque("programs on a PATH that is not known", &shell);
                    return self.named(base, call, shell);
                }
                self.hand_over(&call, Program::Unknown, &shell)
            }
        }
    }

    /// A name that is not known: it may be any program.
    pub(in crate::command) fn program_unknown(&mut self, call: &Call, shell: Shell) -> Ends {
        self.hand_over(call, Program::Unknown, &shell)
    }

    /// Notes the files that a program writes because its arguments say so.
    fn note_written(&mut self, base: &BStr, call: &Call, shell: &Shell) {
        let Written { files, edited, taken, made_of, folders, made } = wrappers::written(base, call.arguments());
        if self.uncertain == 0 && self.probing == 0 && !shell.dead {
            for folder in made.iter().filter_map(Value::known) {
                if let Some(path) = self.absolute(folder, shell) {
                    self.disk.make_folder(super::builtin_dir::cleaned(&path));
                }
            }
        }
        for file in &files {
            match file {
                Value::Known(_) => self.write_file(file, false, None, shell),
                Value::Unknown(_) => self.write_within(file, shell),
            }
        }
        for (to, from) in &made_of {
            self.write_copy(to, from, shell);
        }
        let exactly = if edited.is_empty() { None } else { self.edited_exactly(base, call, shell) };
        match exactly {
            Some(files) => {
                for (file, text) in files {
                    self.write_file(&Value::Known(file), false, Some(text), shell);
                }
            }
            None => edited.iter().for_each(|file| self.edit_file(file, shell)),
        }
        if !edited.is_empty() && !self.is_probing() {
            // What goes into them stands in the words, or in files that these name or paste in.
            let words: Vec<&[u8]> =
                call.arguments().iter().filter_map(|word| word.known().map(|word| &**word)).collect();
            self.disk.put_in.texts.push(words.join(&b" "[..]));
            let named =
                taken.iter().filter_map(|file| self.absolute(file.known()?, shell)).filter(|path| path.is_file());
            let before =
                edited.iter().filter_map(|file| self.absolute(file.known()?, shell)).filter(|path| path.is_file());
            let files: Vec<PathBuf> = named.chain(before).chain(self.pasted.iter().cloned()).collect();
            self.disk.put_in.files.extend(files);
        }
        // What `find` removes is told by its tests.
        let is_told = matches!(base.as_bytes(), b"find" | b"gfind");
        for folder in &folders {
            if is_told { self.write_within(folder, shell) } else { self.write_into(folder, shell) }
        }
    }

    /// A program with a meaning of its own.
    fn named(&mut self, base: &BStr, call: Call, shell: Shell) -> Ends {
        self.note_written(base, &call, &shell);
        if let Some(ends) = self.computed(base, &call, &shell).or_else(|| self.unpacked(base, &call, &shell)) {
            return ends;
        }
        if let Some(unwrapped) = wrappers::unwrap(base, call.arguments(), &self.input_for_wrapper(base, &shell)) {
            let controls = self.controls_found(base, &call, &shell);
            if let (Unwrapped::Nothing, Some(prefix)) = (&unwrapped, wrappers::found_below(base, call.arguments())) {
                let prefix = controls.into_iter().next().unwrap_or(prefix);
                self.print(Printed::Names(prefix, "names that find prints".into()), &shell);
                return Ends::Same(shell);
            }
            return self.unwrapped(unwrapped, &call, shell);
        }
        if let Some(ends) = self.shell_program(base, &call, &shell) {
            return ends;
        }
        if let Some(ends) = self.tool(base, &call, &shell) {
            return ends;
        }
        if let Some(ends) = self.runner(base, &call, &shell) {
            return ends;
        }
        if let Some(ends) = self.made_of_files(base, &call, &shell) {
            return ends;
        }
        self.hand_over(&call, Program::ByName, &shell)
    }

    /// Hooks that a `find` with a test of names comes to; where it removes or changes what it finds, that is
    /// looked at as tampering.
    fn controls_found(&mut self, base: &BStr, call: &Call, shell: &Shell) -> Vec<BString> {
        let Some(search) = wrappers::search_for_names(base, call.arguments()) else { return Vec::new() };
        let mut found = Vec::new();
        for start in &search.starts {
            for folder in ["", ".git/hooks", "hooks", ".husky", ".githooks"] {
                let shown = if folder.is_empty() { start.clone() } else { BString::from(format!("{start}/{folder}")) };
                let Some(path) = self.absolute(shown.as_bstr(), shell) else { continue };
                // Of the start itself, only what lies in it directly.
                for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
                    let name = entry.file_name();
                    let is_hook = crate::net::names::role(&name.to_string_lossy()).is_some();
                    if is_hook && search.names.iter().any(|pattern| pattern.is_match(&name)) {
                        found.push(BString::from([shown.as_slice(), b"/", name.as_encoded_bytes()].concat()));
                    }
                }
            }
        }
        if search.changes {
            for path in &found {
                self.look_at_write(&Value::Known(path.clone()), shell);
            }
        }
        found
    }

    /// What `xargs` and its kin read, as far as it is known.
    fn input_for_wrapper(&mut self, base: &BStr, shell: &Shell) -> Fed {
        if !wrappers::reads_input(base) {
            return Fed::default();
        }
        let stdin = shell.stdin();
        let pasted = self.pasted.len();
        let text = self.stdin_text(&stdin).ok();
        self.pasted.truncate(pasted);
        let prefix = if let Stdin::Names { prefix, .. } = stdin { prefix } else { BString::default() };
        Fed { text, prefix }
    }

    /// Runs what a wrapper runs.
    fn unwrapped(&mut self, unwrapped: Unwrapped, call: &Call, shell: Shell) -> Ends {
        match unwrapped {
            Unwrapped::Nothing => self.printing("a program", shell),
            Unwrapped::Opaque(why) => {
                self.opaque(why, &shell);
                self.printing("a program", shell)
            }
            Unwrapped::Commands(commands) => {
                let mut last = Ends::Same(shell.clone());
                let several = commands.len() > 1;
                for wrapped in commands {
                    let ends = self.wrapped(wrapped, call, shell.clone());
                    last = if several { Ends::Same(shell.clone()) } else { ends };
                }
                last
            }
        }
    }

    fn wrapped(&mut self, wrapped: Wrapped, call: &Call, shell: Shell) -> Ends {
        let mut inside = shell.clone();
        if wrapped.clears_environment {
            inside.cleared = true;
            let variables = Rc::make_mut(&mut inside.variables);
            variables.retain(|_, variable| !variable.exported);
        }
        if let Some(user) = &wrapped.user {
            self.become_user(user, &mut inside);
        }
        inside.apply_env(&wrapped.env);
        match &wrapped.dir {
            Some(Value::Known(dir)) => {
                let arguments = [known("--"), Value::Known(dir.clone())];
                let (success, _) = self.change_directory(&arguments, inside).split();
                inside = success;
                inside.dead = shell.dead;
            }
            Some(Value::Unknown(value)) => {
                // Only git and what may run it asks which repository it is.
                let first = wrapped.words.first().and_then(Value::known).map(base_name);
                let asks = wrapped.name == "find" && !first.is_some_and(|name| self.verbs.is_harmless(name));
                let entered = self.absolute(value.prefix.as_bstr(), &inside).filter(|_| asks);
                inside.dirs = match entered.and_then(|start| self.folders_entered(&super::builtin_dir::cleaned(&start)))
                {
                    Some(folders) => Dirs { known: Rc::new(folders), unknown: None },
                    None => Dirs::unknown(value.why.clone()),
                };
            }
            None => {}
        }
        if let Some(stdin) = wrapped.stdin {
            inside.set_descriptor(0, stdin);
        }
        self.wrappers.push(wrapped.name);
        let certain = wrapped.certainty == Certainty::Always;
        let inner = Call { programs_only: true, no_builtins: true, ..call.with_words(wrapped.words) };
        let run = |walk: &mut Self| match wrapped.code {
            Some(Value::Known(text)) => {
                let mut process = inside.new_process(crate::command::lex::Dialect::Bash);
                process.options.expand_aliases = true;
                let (success_dead, failure_dead) = walk.run_process(&text, process);
                Ends::of(Shell { dead: success_dead, ..inside.clone() }, Shell { dead: failure_dead, ..inside.clone() })
            }
            Some(Value::Unknown(value)) => {
                walk.run_partly(&value, &inside);
                walk.opaque(format!("a shell that runs text that is not known: {}", value.why), &inside);
                Ends::Same(inside)
            }
            None => walk.run_if_any(inner, inside),
        };
        let ends = if certain { run(self) } else { self.perhaps(run) };
        self.wrappers.pop();
        let (success, failure) = ends.split();
        if certain { after_subshell(shell, &success, &failure) } else { Ends::Same(shell) }
    }

    /// Where `find START -execdir` may run git to any effect: in the repositories below the start, or in
    /// the one that the start lies in. `None` when there are too many to follow, or they may change.
    fn folders_entered(&self, start: &Path) -> Option<Vec<PathBuf>> {
        if self.disk.changes_below(start) {
            return None;
        }
        let mut repositories = vec![start.to_owned()];
        let mut waiting = vec![(start.to_owned(), 0)];
        let mut looked_at = 0;
        while let Some((folder, depth)) = waiting.pop() {
            for entry in std::fs::read_dir(&folder).ok()?.flatten() {
                looked_at += 1;
                if looked_at > MAX_ENTERED || depth > MAX_DEPTH_ENTERED {
                    return None;
                }
                let path = entry.path();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let is_marked = entry.file_name() == ".git";
                if is_marked || is_folder && path.join("HEAD").is_file() && path.join("objects").is_dir() {
                    let top = if is_marked { folder.clone() } else { path };
                    if !repositories.contains(&top) {
                        repositories.push(top);
                    }
                } else if is_folder {
                    waiting.push((path, depth + 1));
                }
            }
        }
        (repositories.len() <= MAX_REPOSITORIES_ENTERED).then_some(repositories)
    }

    /// The environment of another user: their home, and of git's variables whatever `sudo` is set to keep.
    fn become_user(&self, user: &Value, shell: &mut Shell) {
        let home = user.known().and_then(|name| crate::world::home_of(name.to_str().ok()?));
        if home.is_some() && home == shell.env_text(self.world, "HOME").map(|home| PathBuf::from(to_os_string(home))) {
            return;
        }
        let env = shell.env(self.world).known();
        let names =
            env.keys().filter(|name| name.as_encoded_bytes().starts_with(b"GIT_") || *name == "XDG_CONFIG_HOME");
        let mut changes: Vec<(OsString, EnvChange)> =
            names.map(|name| (name.clone(), EnvChange::Unknown("what another user's command sees".into()))).collect();
        let home = home.map_or_else(
            || EnvChange::Unknown("the home of another user".into()),
            |home| EnvChange::Set(home.into_os_string()),
        );
        changes.push(("HOME".into(), home));
        shell.apply_env(&changes);
    }

    /// A program that is a file of its own: a script is read and walked.
    fn file(&mut self, path: &Path, call: Call, shell: Shell) -> Ends {
        let script = match self.disk.seen(path) {
            FileSeen::Written(bytes) => Some(bytes),
            FileSeen::Changed(_) => None,
            FileSeen::AsOnDisk if is_binary(path) => None,
            FileSeen::AsOnDisk => match self.disk.text(path) {
                FileText::Known(bytes) => Some(bytes),
                FileText::Absent | FileText::Unknown(_) => None,
            },
        };
        match script.map(|text| (scripts::interpreter(&text), text)) {
            Some((scripts::Interpreter::Shell(dialect), text)) => {
                let mut inside = shell.new_process(dialect);
                inside.options.posix = true;
                let zero = super::nested::script_name(path);
                inside.arguments = Rc::new(Arguments { zero, rest: call.arguments().to_vec() });
                let inside = self.shell_starts(inside, false, false);
                let (success_dead, failure_dead) = self.run_process(&text, inside);
                let success = Shell { dead: shell.dead || success_dead, ..shell.clone() };
                let failure = Shell { dead: shell.dead || failure_dead, ..shell };
                Ends::of(success, failure)
            }
            Some((scripts::Interpreter::Other(words), _)) => {
                // `#!/usr/bin/env -S program …`: the interpreter with the file as its operand.
                let mut inner: Vec<Value> = words.into_iter().map(Value::Known).collect();
                inner.push(super::nested::script_name(path));
                inner.extend_from_slice(call.arguments());
                let inner = Call { programs_only: true, no_builtins: true, ..call.with_words(inner) };
                self.run(inner, shell)
            }
            Some((scripts::Interpreter::Binary, _)) | None => {
                self.hand_over(&call, Program::File(path.to_owned()), &shell)
            }
        }
    }

    /// There is no such program: functions that stand in for it are called.
    fn absent(&mut self, name: &BStr, call: Call, shell: Shell) -> Ends {
        for handler in ["command_not_found_handle", "command_not_found_handler"] {
            if let Some(functions) = self.function_named(BStr::new(handler), &shell) {
                return self.call(&functions, call.words.clone(), call.span, shell);
            }
        }
        if let Some(extension) = name.rfind_byte(b'.')
            && let Some(value) =
                shell.aliases.get([b"\n", name.get(extension..).unwrap_or_default()].concat().as_bstr())
        {
            // zsh's suffix alias: a file name as a command runs the alias with it.
            let text = [value.as_slice(), b" ", name.as_bytes()].concat();
            return self.run_text(&text, shell);
        }
        if shell.options.auto_cd || shell.dialect == crate::command::lex::Dialect::Zsh {
            let (entered, _) =
                self.change_directory(&[known("--"), Value::Known(name.to_owned())], shell.clone()).split();
            if !entered.dead && shell.options.auto_cd {
                // Only a shell that a person types into enters it.
                return Ends::Same(entered.merge(shell));
            }
        }
        self.hand_over(&call, Program::Absent, &shell)
    }

    /// Gives the command to the meaning of commands, once for each directory it may run in.
    pub(in crate::command) fn hand_over(&mut self, call: &Call, program: Program, shell: &Shell) -> Ends {
        if self.probing > 0 {
            self.print(Printed::Unknown("output".into()), shell);
            return Ends::Same(shell.clone());
        }
        let dirs = shell.dirs.each();
        let several = dirs.len() > 1;
        let mut exit = None;
        let mut outputs = Vec::new();
        for dir in dirs {
            let certainty = if several { Certainty::Maybe } else { self.certainty(shell) };
            let command = SimpleCommand {
                words: call.words.clone(),
                program: program.clone(),
                redirections: call.redirections.clone(),
                stdin: shell.stdin(),
                input_made_of: shell
                    .input_made_of()
                    .map(|made| FileContent::MadeOf { text: made.text.clone(), files: made.files.clone() }),
                span: self.place(call.span),
                dir: dir.clone(),
                env: shell.env(self.world),
                certainty,
                chain: self.chain,
                pasted: self.pasted.clone(),
                wrappers: self.wrappers.clone(),
            };
            let view = View { world: self.world, disk: &self.disk };
            let effect = self.verbs.simple(&command, &view, &mut self.plan);
            exit = match exit {
                None => Some(effect.exit),
                Some(known) if known == effect.exit => Some(known),
                Some(_) => Some(Exit::Unknown),
            };
            outputs.push(effect.output.clone());
            self.take_effect(effect, dir, shell);
        }
        if self.is_captured() {
            match outputs.pop() {
                Some(Some(output)) if !several => self.print(Printed::Text(output), shell),
                // A file of its own may be anything, whatever its name.
                _ if matches!(program, Program::File(_) | Program::Unknown) => {
                    self.print(Printed::Unknown("output of a program of the line's own".into()), shell);
                }
                _ => match self.made_by_git(call, shell) {
                    Some(made) => self.print_made(made, output_of(call), shell),
                    None => self.print(Printed::Unknown(output_of(call)), shell),
                },
            }
        }
        Ends::exiting(exit.unwrap_or_default(), shell.clone())
    }

    fn take_effect(&mut self, effect: Effect, dir: Dir, shell: &Shell) {
        for (path, content) in effect.writes {
            let content = match content {
                FileContent::Appended(bytes) => self.disk.appended(&path, bytes),
                other @ (FileContent::Bytes(_)
                | FileContent::CopyOf(_)
                | FileContent::MadeOf { .. }
                | FileContent::Unknown
                | FileContent::Gone) => other,
            };
            self.disk.write(path, content, self.uncertain == 0 && !shell.dead);
        }
        for nested in effect.run_as_now {
            self.run_nested(nested, &dir, shell);
        }
        self.disk.anything |= effect.changes_files;
        for nested in effect.run {
            self.run_nested(nested, &dir, shell);
        }
    }

    /// Code that a command runs in turn.
    fn run_nested(&mut self, nested: Nested, dir: &Dir, shell: &Shell) {
        let mut inside = shell.new_process(crate::command::lex::Dialect::Bash);
        inside.options.posix = true;
        inside.options.expand_aliases = true;
        inside.dirs = match nested.dir.as_ref().unwrap_or(dir) {
            Dir::Known(path) => Dirs::one(path.clone()),
            Dir::Unknown(why) => Dirs::unknown(why.clone()),
        };
        let env: Vec<(OsString, EnvChange)> = nested.env;
        inside.apply_env(&env);
        let certain = nested.certainty == Certainty::Always;
        let because = nested.because;
        let run = |walk: &mut Self| match nested.code {
            Code::Shell { text: Value::Known(text), args } => {
                let (zero, rest) = match args.split_first() {
                    Some((zero, rest)) => (zero.clone(), rest.to_vec()),
                    None => (known("sh"), Vec::new()),
                };
                inside.arguments = Rc::new(Arguments { zero, rest });
                walk.run_process(&text, inside);
            }
            Code::Shell { text: Value::Unknown(value), .. } => {
                walk.run_partly(&value, &inside);
                walk.opaque(format!("{because} runs text that is not known: {}", value.why), &inside);
            }
            Code::Argv(words) => {
                let call = Call {
                    words,
                    redirections: Vec::new(),
                    span: walk.span.unwrap_or(walk.here),
                    programs_only: true,
                    no_builtins: true,
                };
                drop(walk.run_if_any(call, inside));
            }
        };
        if certain { run(self) } else { self.perhaps(run) }
    }
}

/// Programs which print code that sets a shell up, as their manuals have it: `eval "$(direnv hook bash)"`.
fn prints_settings(name: &BStr, arguments: &[Value]) -> bool {
    let first = arguments.first().and_then(Value::known).map_or(b"".as_slice(), |word| word.as_bytes());
    match (name.as_bytes(), first) {
        (b"ssh-agent", b"" | b"-s" | b"-c" | b"-k") => arguments.len() < 2,
        (b"direnv", b"hook" | b"export" | b"stdlib") => true,
        (b"pyenv" | b"rbenv" | b"nodenv" | b"goenv" | b"jenv", b"init" | b"virtualenv-init") => true,
        (b"starship" | b"zoxide" | b"mcfly" | b"atuin", b"init") => true,
        (b"brew", b"shellenv") | (b"fnm", b"env") | (b"mise" | b"rtx", b"activate" | b"env" | b"hook-env") => true,
        (b"conda" | b"mamba" | b"micromamba", b"shell" | b"shell.bash" | b"shell.zsh" | b"shell.posix") => true,
        (b"opam", b"env" | b"config") | (b"luarocks", b"path") | (b"minikube", b"docker-env" | b"podman-env") => true,
        (
            b"gh" | b"kubectl" | b"helm" | b"npm" | b"pip" | b"poetry" | b"op" | b"rustup" | b"uv",
            b"completion" | b"completions",
        ) => true,
        (b"dircolors" | b"lesspipe" | b"register-python-argcomplete" | b"thefuck", _) => true,
        _ => false,
    }
}

fn output_of(call: &Call) -> SafeText {
    let Some(name) = call.name() else { return "output of a program that is not known".into() };
    let verb = call.arguments().iter().filter_map(Value::known).find(|word| !word.starts_with(b"-"));
    let told = |words: &[&str]| {
        call.arguments().iter().filter_map(Value::known).any(|word| words.iter().any(|one| word == *one))
    };
    let of_address = verb.is_some_and(|verb| verb == "remote") && told(&["-v", "--verbose", "get-url", "show"])
        || verb.is_some_and(|verb| verb == "tag") && told(&["-n", "--format", "-v", "--verify"]);
    let of_names = verb
        .is_some_and(|verb| ["diff", "diff-index", "diff-files", "diff-tree"].iter().any(|one| verb == one))
        && told(&["--name-only", "--name-status", "--stat", "--numstat", "--shortstat"])
        && !told(&["-p", "-u", "--patch", "--patch-with-stat", "--patch-with-raw", "-v"]);
    match verb.filter(|_| name == "git") {
        Some(_) if of_names => "output of git's names and numbers".into(),
        // Addresses may hold a token, and messages anything.
        Some(verb) if of_address => SafeText::quoted(format!("what git {verb} tells").as_bytes(), 60),
        Some(verb) => SafeText::quoted(format!("output of git {verb}").as_bytes(), 60),
        None => SafeText::quoted(format!("output of {name}").as_bytes(), 60),
    }
}

fn is_binary(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; HEAD_BYTES];
    match crate::world::open_plain(path).and_then(|mut file| file.read(&mut head)) {
        Ok(length) => head.get(..length).is_none_or(|head| head.contains(&0)),
        Err(_) => true,
    }
}
