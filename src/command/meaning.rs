//! What simple commands mean, one after another: what they publish and what they leave behind.
//!
//! Promise: every command that the walk hands over adds to the plan all that it would publish, what
//! it switches off and what it tampers with; and what it changes for later commands of the same line
//! (refs, configuration, staged files, copies of programs) is remembered, so that a later publish is
//! planned for the state that it would find. How the line is read is [`super::simple`]'s other side.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::branch_moves::BranchMoves;
use super::git_config::{self, Config, Overlay};
use super::git_globals::{self, Setting};
use super::git_started;
use super::incoming::{self, Incoming};
use super::message;
use super::plan::{
    Bypass, CommitRequest, CommitVerb, Content, GitContext, Opaque, Plan, Publish, RevisionRequest, StagingStep, State,
    Unknown, UploadRequest, WidestRequest,
};
use super::shell::builtin_dir::cleaned;
use super::simple::{Certainty, Code, Effect, Nested, ShellState, SimpleCommand, Stdin, Value, to_os_string};
use crate::text::SafeText;

/// The meaning of commands, with what the line has changed so far.
#[derive(Debug, Default)]
pub struct Meaning {
    /// Settings that the line has made.
    pub(super) overlay: Overlay,
    /// Those that decide what staging takes, as options of git.
    pub(super) settings_of_staging: Vec<OsString>,
    /// Whether refs, or configuration, are still as now for a push.
    pub(super) refs: Changed,
    /// Whether refs of here may be others than now.
    refs_moved: bool,
    /// Whether index and files are still as now for a commit, apart from the steps.
    files: Changed,
    /// Staging commands so far, each with the repository it works on.
    steps: Vec<(Option<PathBuf>, StagingStep)>,
    /// The last commit that hooks of the repository may have changed, and how many steps stood before it.
    hooked: Option<(usize, GitContext, CommitVerb, Arguments)>,
    /// Where the current branch will stand.
    pub(super) branch: BranchMoves,
    /// Whether the line makes a repository.
    made: bool,
    /// Whether another commit of here is checked out, and nobody can say which.
    pub(super) head_moved: bool,
    /// Branches that the line checks out, in its order.
    pub(super) checked_out: Vec<CheckedOut>,
    /// Copies of and links to programs that the line has made.
    pub(super) copies: BTreeMap<PathBuf, PathBuf>,
    /// Files whose text is in objects that the line makes and a later push would send.
    pub(super) carried: Vec<PathBuf>,
    /// Words of commands that may become names, links or settings which a later publish takes.
    spoken: Vec<Vec<u8>>,
    configs: Vec<(GitContext, Config)>,
    /// Refs that the line makes for what is checked out now: a push may name them.
    pub(super) made_refs: Vec<MadeRef>,
    /// Repositories of this machine that the line clones: what they hold may go on from the clone.
    pub(super) cloned: Vec<PathBuf>,
    /// What the line makes or brings in beside its commits.
    pub(super) incoming: Incoming,
    /// What prints the message of a commit of the line, where that is known only once it runs.
    pub(super) unread_message: Option<SafeText>,
    /// Code that git has been seen to start, so that code which starts itself comes to an end.
    started: BTreeSet<String>,
}

/// A ref that does not exist yet and will stand for what is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MadeRef {
    /// `refs/heads/` or `refs/tags/`.
    pub folder: &'static str,
    /// The name below it.
    pub name: BString,
}

/// A branch that the line checks out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckedOut {
    /// Its full name.
    pub(super) branch: BString,
    /// The list joined by `&&` in which that happens; 0 where it is not certain.
    pub(super) chain: u64,
}

/// How much of a state may have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Changed {
    /// Nothing.
    #[default]
    Nothing,
    /// Contents: refs, index, files.
    Content,
    /// Configuration, remotes, the repository itself.
    Anything,
}

impl Changed {
    pub(super) fn state(self) -> State {
        match self {
            Self::Nothing => State::AsNow,
            Self::Content => State::ContentChanged,
            Self::Anything => State::Changed,
        }
    }

    /// A state after this as well.
    pub(super) fn at_least(self, state: State) -> State {
        match (self, state) {
            (Self::Anything, _) | (_, State::Changed) => State::Changed,
            (Self::Content, _) | (_, State::ContentChanged) => State::ContentChanged,
            (Self::Nothing, state @ (State::AsNow | State::Elsewhere)) => state,
        }
    }
}

/// What a command changes for later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changes {
    /// What is checked out; branches stay, and what happens to index and files is a step.
    Head,
    /// Branches, tags, the current branch.
    Refs,
    /// Those, and index or work tree in a way that no step describes.
    RefsAndFiles,
    /// Configuration or remotes.
    Configuration,
    /// A repository that was not there.
    Repository,
    /// Another repository than the one of here, which may be what a push leads to.
    Elsewhere,
    /// Everything.
    Everything,
}

/// The words of a push; `None` is one or more that are not known.
pub(super) type Arguments = Vec<Option<OsString>>;

/// One command and where its meaning goes.
pub(super) struct Scene<'a, 'w> {
    pub command: &'a SimpleCommand<'w>,
    pub shell: &'a dyn ShellState,
    pub plan: &'a mut Plan,
}

impl Scene<'_, '_> {
    /// Whether a ref of this full name is there now.
    pub(super) fn has_ref(&self, git: &GitContext, name: &[u8]) -> bool {
        let args = ["show-ref".into(), "--verify".into(), "-q".into(), "--".into(), to_os_string(name)];
        self.shell.world().git(git, args).run().is_ok_and(|done| done.status.success())
    }

    /// Its directory.
    pub fn dir(&self) -> Option<&Path> {
        self.command.dir.known()
    }

    /// A path of the line, made absolute; `None` when it is not known.
    pub fn path(&self, value: &BStr) -> Option<PathBuf> {
        let path = to_os_string(value);
        if Path::new(&path).is_absolute() { Some(path.into()) } else { Some(self.dir()?.join(path)) }
    }

    /// Notes what cannot be known and is not bounded.
    pub fn unknown(&mut self, what: impl Into<SafeText>) {
        self.plan.unknown.push(Unknown { what: what.into(), span: self.command.span.clone(), is_limit: false });
    }

    /// Notes what switches a control off.
    pub fn bypass(&mut self, what: impl Into<SafeText>, instead: impl Into<SafeText>) {
        let bypass = Bypass { what: what.into(), instead: instead.into() };
        if !self.plan.bypass.iter().any(|known| known.what == bypass.what) {
            self.plan.bypass.push(bypass);
        }
    }

    /// Notes what tampers with a control.
    pub fn tamper(&mut self, what: impl Into<SafeText>, instead: impl Into<SafeText>) {
        let tamper = Bypass { what: what.into(), instead: instead.into() };
        if !self.plan.tamper.iter().any(|known| known.what == tamper.what) {
            self.plan.tamper.push(tamper);
        }
    }

    /// Notes a program that cannot be read.
    pub fn opaque(&mut self, program: impl Into<SafeText>) {
        self.plan.opaque.push(Opaque {
            program: program.into(),
            dir: self.dir().unwrap_or(&self.shell.world().cwd).to_owned(),
            env: self.command.env.known(),
        });
    }

    /// Notes bytes that a publish takes and that are there only once the line runs.
    pub fn later(&mut self, what: impl Into<SafeText>) {
        let what = what.into();
        if !self.plan.later.contains(&what) {
            self.plan.later.push(what);
        }
    }

    /// Notes files whose text the publishing command pastes in, and what it reads.
    pub fn pasted(&mut self, more: &[PathBuf]) {
        match &self.command.stdin {
            Stdin::Text(text) if !text.is_empty() && !self.plan.inputs.contains(text) => {
                self.plan.inputs.push(text.clone());
            }
            Stdin::File(path) if path.is_file() && !self.plan.pasted.contains(path) => {
                self.plan.pasted.push(path.clone())
            }
            Stdin::Text(_)
            | Stdin::File(_)
            | Stdin::Empty
            | Stdin::Inherited
            | Stdin::Names { .. }
            | Stdin::Unknown(_) => {}
        }
        for path in self.command.pasted.iter().chain(more) {
            if !self.plan.pasted.contains(path) {
                self.plan.pasted.push(path.clone());
            }
        }
    }
}

/// What a command that does nothing of interest does.
pub(super) fn inert() -> Effect {
    Effect::default()
}

/// The words of the plan for words of the line.
pub(super) fn arguments(values: &[Value]) -> Vec<Option<OsString>> {
    values.iter().map(Value::to_argument).collect()
}

impl Meaning {
    /// Nothing changed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers what a command changes for later ones.
    pub(super) fn changes(&mut self, changes: Changes) {
        let (refs, files) = match changes {
            Changes::Refs => (Changed::Content, Changed::Nothing),
            Changes::Head => (Changed::Nothing, Changed::Nothing),
            Changes::Repository => (Changed::Nothing, Changed::Anything),
            Changes::RefsAndFiles => (Changed::Content, Changed::Anything),
            Changes::Configuration => (Changed::Anything, Changed::Nothing),
            Changes::Everything | Changes::Elsewhere => (Changed::Anything, Changed::Anything),
        };
        self.refs = self.refs.max(refs);
        self.files = self.files.max(files);
        self.made |= matches!(changes, Changes::Everything | Changes::Elsewhere | Changes::Repository);
        self.refs_moved |= matches!(changes, Changes::Everything | Changes::Refs | Changes::RefsAndFiles);
        self.head_moved |= changes == Changes::Head;
        if refs == Changed::Anything {
            self.configs.clear();
        }
    }

    /// Remembers what a command's words say, with the files that they paste in: they may become the name of a ref
    /// or file, where a link leads, or an identity.
    pub(super) fn speaks(&mut self, scene: &Scene<'_, '_>) {
        let words: Vec<&[u8]> =
            scene.command.words.iter().skip(1).filter_map(|word| word.known().map(|word| word.as_bytes())).collect();
        self.spoken.push(words.join(&b" "[..]));
        for path in &scene.command.pasted {
            if !self.carried.contains(path) {
                self.carried.push(path.clone());
            }
        }
    }

    /// What an editor of the line is told, and the files that it names, may come into what it edits.
    pub(super) fn types(&mut self, scene: &Scene<'_, '_>, text: &BStr) {
        self.spoken.push(text.to_vec());
        let words = text.fields().map(|word| word.trim_with(|letter| letter == '\'' || letter == '"'));
        for path in words.filter_map(|word| scene.path(word.as_bstr())).filter(|path| path.is_file()) {
            if !self.carried.contains(&path) {
                self.carried.push(path);
            }
        }
    }

    /// What was said so joins what is published.
    pub(super) fn take_spoken(&mut self, scene: &mut Scene<'_, '_>) {
        for text in std::mem::take(&mut self.spoken) {
            if !text.is_empty() && !scene.plan.inputs.contains(&text) {
                scene.plan.inputs.push(text);
            }
        }
    }

    /// Remembers a setting that the line makes.
    pub(super) fn set(&mut self, setting: Setting) {
        self.overlay.set(setting);
        self.configs.clear();
    }

    /// Whether a repository that is not there now may be there when the command runs.
    pub(super) fn may_be_made(&self, scene: &Scene<'_, '_>) -> bool {
        self.made || scene.shell.anything_may_have_changed()
    }

    /// The configuration as the command would see it.
    pub(super) fn config(&mut self, scene: &Scene<'_, '_>, context: &GitContext) -> Config {
        let known = self.configs.iter().find(|(known, _)| known == context).map(|(_, config)| config.clone());
        let mut config = known.unwrap_or_else(|| {
            let config = git_config::list(scene.shell.world(), context, &self.overlay);
            self.configs.push((context.clone(), config.clone()));
            config
        });
        let written: Vec<PathBuf> = scene.shell.written().into_iter().map(|file| file.path).collect();
        config.incomplete |= !written.is_empty() && git_config::reads_any(context, &config, &written);
        config
    }

    /// Whether nothing on the line has changed refs or configuration so far.
    pub(super) fn is_as_now(&self) -> bool {
        self.refs == Changed::Nothing && self.made_refs.is_empty() && !self.moves_head()
    }

    /// Whether another branch may be checked out than now.
    pub(super) fn may_switch(&self) -> bool {
        self.refs != Changed::Nothing || self.moves_head()
    }

    /// Whether refs, or what is checked out, may be others than now, apart from commits on top.
    pub(super) fn has_moved_refs(&self) -> bool {
        self.may_switch() || self.branch.brings()
    }

    /// Whether another branch or commit may be checked out than now.
    pub(super) fn moves_head(&self) -> bool {
        self.head_moved || !self.checked_out.is_empty()
    }

    /// Remembers a branch, by its full name, that is checked out; `chain` as [`BranchMoves`] has it, 0 where it is
    /// not certain.
    pub(super) fn checks_out(&mut self, branch: BString, chain: u64) {
        self.checked_out.push(CheckedOut { branch, chain });
    }

    /// Whether refs of here are as now, wherever pushes lead.
    pub(super) fn keeps_refs(&self) -> bool {
        !self.refs_moved && !self.moves_head() && self.made_refs.is_empty() && !self.branch.is_rebasing()
    }

    /// Whether configuration may be another.
    pub(super) fn has_moved_configuration(&self) -> bool {
        self.refs == Changed::Anything
    }

    /// Whether the line makes a repository by git's own means.
    pub(super) fn is_making_repositories(&self) -> bool {
        self.made
    }

    /// Whether code that git starts was not started before on this line.
    pub(super) fn is_new(&mut self, nested: &Nested) -> bool {
        let first = match &nested.code {
            Code::Shell { text, .. } => Some(text),
            Code::Argv(words) => words.first(),
        };
        let code = first.and_then(Value::known).unwrap_or_default();
        self.started.insert(format!("{code:?} {:?}", nested.dir))
    }

    /// Whether the line has made no name that keeps what is checked out now.
    pub(super) fn is_named_by_nothing_new(&self) -> bool {
        self.made_refs.is_empty()
    }

    /// Remembers a new name for what is checked out.
    pub(super) fn made_ref(&mut self, folder: &'static str, name: &BStr) {
        self.made_refs.push(MadeRef { folder, name: name.to_owned() });
    }

    /// Adds a commit, with what the line stages before it.
    pub(super) fn commit(
        &mut self,
        scene: &mut Scene<'_, '_>,
        git: GitContext,
        verb: CommitVerb,
        args: Vec<Option<OsString>>,
    ) {
        self.take_made(scene, &git);
        if self.commit_in_copy(scene, &git) {
            return;
        }
        self.note_unread_message(scene);
        self.take_unbound_clones(scene, &git);
        self.take_put_in(scene);
        let request = self.commit_request(scene, git, verb, args);
        scene.plan.publishes.push(Publish::Commit(request));
    }

    /// What the line brings into files without saying of each what it holds then.
    pub(super) fn take_put_in(&mut self, scene: &mut Scene<'_, '_>) {
        let mut brought = self.take_brought(scene);
        let put_in = scene.shell.put_in();
        brought.extend(put_in.files);
        scene.pasted(&brought);
        self.spoken.extend(put_in.texts);
        self.take_spoken(scene);
    }

    /// Remembers a message that nobody can read yet, for a push after it.
    pub(super) fn note_unread_message(&mut self, scene: &Scene<'_, '_>) {
        if let Some(what) = message::unread(scene) {
            self.unread_message = Some(what);
        }
    }

    /// A commit, as the line has it so far.
    pub(super) fn commit_request(
        &self,
        scene: &Scene<'_, '_>,
        git: GitContext,
        verb: CommitVerb,
        args: Vec<Option<OsString>>,
    ) -> CommitRequest {
        let place = git_globals::find(&git).map(|place| place.git_dir);
        let steps = self.steps.iter().filter(|(of, _)| *of == place).map(|(_, step)| step.clone()).collect();
        let written = scene.shell.written();
        // What a program writes into files before cannot be read yet, and looking further afield would
        // not show it; a program that may stage as well is opaque by itself.
        let state = self.files.state();
        let git = self.staging_as_set(git);
        CommitRequest { git, verb, args, steps, written, state }
    }

    /// A context with the settings of the line that decide what staging takes; those of the command itself come last.
    fn staging_as_set(&self, mut git: GitContext) -> GitContext {
        git.globals.splice(0..0, self.settings_of_staging.iter().cloned());
        git
    }

    /// Remembers a commit whose hooks may stage something that it then takes along.
    pub(super) fn committed_with_hooks(&mut self, git: &GitContext, verb: &str, args: &[Value]) {
        let verb = if verb == "commit" { CommitVerb::Commit } else { CommitVerb::Other(verb.into()) };
        self.hooked = Some((self.steps.len(), git.clone(), verb, arguments(args)));
    }

    /// That commit once more, where something was staged since, and what its hooks put into its message.
    pub(super) fn take_hooked(&mut self, scene: &mut Scene<'_, '_>) {
        let Some((steps, git, verb, args)) = self.hooked.clone() else { return };
        self.take_hooked_message(scene, &git, &verb);
        if self.steps.len() > steps {
            let request = self.commit_request(scene, git, verb, args);
            scene.plan.publishes.push(Publish::Commit(request));
        }
    }

    /// A hook may have written the message that it was given.
    fn take_hooked_message(&mut self, scene: &mut Scene<'_, '_>, git: &GitContext, verb: &CommitVerb) {
        let Some(place) = git_globals::find(git) else { return };
        let verb = match verb {
            CommitVerb::Commit => "commit",
            CommitVerb::Other(verb) => verb.to_str().unwrap_or_default(),
        };
        let message = place.git_dir.join(git_started::message_file(verb));
        let written = scene.shell.written().into_iter().filter(|file| file.path == message);
        for content in written.flat_map(|file| file.contents) {
            if content == Content::Unknown {
                scene.later("a commit's message, which a hook writes");
            }
            incoming::take_content(scene, content);
        }
        if scene.shell.edited().contains(&message) {
            let put_in = scene.shell.put_in();
            scene.pasted(&put_in.files);
            self.spoken.extend(put_in.texts);
            self.take_spoken(scene);
        }
    }

    /// Whether the line stages something before.
    pub(super) fn has_staged(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Remembers a staging command for the next commit.
    pub(super) fn stage(&mut self, scene: &Scene<'_, '_>, git: &GitContext, verb: &str, args: &[Value]) {
        let place = git_globals::find(git).map(|place| place.git_dir);
        let written = scene.shell.written();
        let certain = scene.command.certainty == Certainty::Always;
        let files_may_appear = scene.shell.anything_may_have_changed();
        let step = StagingStep {
            git: self.staging_as_set(git.clone()),
            verb: verb.into(),
            args: arguments(args),
            written,
            certain,
            files_may_appear,
        };
        self.steps.push((place, step));
    }

    /// Adds everything unpublished in a repository.
    pub(super) fn widest(&mut self, scene: &mut Scene<'_, '_>, git: GitContext, because: impl Into<SafeText>) {
        self.take_made(scene, &git);
        let because = because.into();
        scene.plan.publishes.push(Publish::Widest(WidestRequest { git, because }));
    }

    /// Adds revisions that leave another way than by a push.
    pub(super) fn revisions(
        &mut self,
        scene: &mut Scene<'_, '_>,
        git: GitContext,
        verb: &str,
        args: &[Value],
        local_only: bool,
    ) {
        self.take_made(scene, &git);
        // Letters and patches are files as well: as the line leaves them, where it writes them.
        let named: Vec<PathBuf> = args.iter().filter_map(Value::known).filter_map(|word| scene.path(word)).collect();
        let written = scene.shell.written().into_iter().map(|file| file.path);
        let files: Vec<PathBuf> = written.filter(|path| named.contains(path)).collect();
        let revisions = RevisionRequest { git: git.clone(), verb: verb.into(), args: arguments(args) };
        let request = UploadRequest {
            tool: SafeText::new(&format!("git {verb}")),
            dir: git.dir,
            files,
            texts: Vec::new(),
            written: Vec::new(),
            package: None,
            revisions: Some(revisions),
            local_only,
        };
        self.upload(scene, request);
    }

    /// Adds files and texts, the files as the line has left them.
    pub(super) fn upload(&mut self, scene: &mut Scene<'_, '_>, mut request: UploadRequest) {
        scene.pasted(&[]);
        if request.package.is_some() || !request.files.is_empty() {
            self.take_put_in(scene);
        }
        request.files.iter_mut().for_each(|file| *file = cleaned(file));
        let mut written = scene.shell.written();
        written.iter_mut().for_each(|file| file.path = cleaned(&file.path));
        if request.package.is_none() {
            written.retain(|written| request.files.iter().any(|file| written.path.starts_with(file)));
        }
        request.written = written;
        scene.plan.publishes.push(Publish::Upload(request));
    }

    /// Whether files are as now for the next command.
    pub(super) fn files_state(&self) -> State {
        self.files.state()
    }

    /// Remembers that `to` is a copy of, or a link to, the program `from`.
    pub(super) fn copied(&mut self, from: PathBuf, to: PathBuf) {
        let from = self.copies.get(&from).cloned().unwrap_or(from);
        self.copies.insert(to, from);
    }
}
