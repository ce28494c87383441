//! What one shell process knows at one point of its line: directory, variables, functions, options.
//!
//! Promise: where two ways lead to the same point ([`Shell::merge`]), only what both agree on stays
//! known; directories and functions keep every alternative. Copies are cheap: maps are shared until
//! one of them changes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use super::capture::MadeOf;
use crate::command::ast::Command;
use crate::command::lex::Dialect;
use crate::command::parse::Aliases;
use crate::command::simple::{Dir, Env, EnvChange, Stdin, UnknownValue, Value, to_os_string};
use crate::text::SafeText;
use crate::world::{Input, World};

/// Most directories that are followed at once; more are "not known".
const MAX_DIRS: usize = 8;

/// How many variables that stand for others are followed.
const MAX_REFERENCES: usize = 8;

/// One shell process.
#[derive(Clone)]
pub struct Shell {
    pub dirs: Dirs,
    pub stack: Rc<Vec<Dirs>>,
    pub variables: Rc<BTreeMap<BString, Variable>>,
    /// Whether the environment of the world is not inherited (`env -i`).
    pub cleared: bool,
    pub arguments: Rc<Arguments>,
    pub functions: Rc<BTreeMap<BString, Vec<Rc<Function>>>>,
    /// Names of functions that may not be defined after all, since a branch alone defines them.
    pub unsure_functions: Rc<BTreeSet<BString>>,
    pub aliases: Aliases,
    /// Whether a branch alone has changed aliases, or whether they hold.
    pub unsure_aliases: bool,
    pub options: Options,
    pub traps: Rc<Vec<(BString, Value)>>,
    /// Open descriptors that the line opened, 0 among them.
    pub descriptors: Rc<BTreeMap<u32, Stdin>>,
    /// What the bytes come from that a pipe brings, where they are not known themselves.
    pub piped: Option<Rc<MadeOf>>,
    /// `hash -p`: names whose program is fixed.
    pub hashed: Rc<BTreeMap<BString, Value>>,
    /// `enable -n`.
    pub disabled: Rc<BTreeSet<BString>>,
    /// Variables that the running function has made local, with what they were outside.
    pub locals: Rc<Vec<(BString, Option<Variable>)>>,
    pub in_function: bool,
    /// Whether this point is not reached because of `return`.
    pub returned: bool,
    /// Whether this point is never reached, as far as exits are known. It is walked all the same.
    pub dead: bool,
    pub dialect: Dialect,
}

/// The directories where a shell may be; all absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    pub known: Rc<Vec<PathBuf>>,
    pub unknown: Option<SafeText>,
}

/// A shell variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub value: Content,
    pub exported: bool,
    pub lowercase: bool,
    pub uppercase: bool,
    pub nameref: bool,
}

/// What a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Not set.
    Unset,
    /// A string; its value may be unknown.
    Scalar(Value),
    /// Elements by key, in order; keys of indexed arrays are numbers.
    Array(Vec<(BString, Value)>),
    /// An array of which nothing is known.
    UnknownArray(SafeText),
}

/// `$0` and the positional parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    pub zero: Value,
    pub rest: Vec<Value>,
}

/// A function as it was defined.
pub struct Function {
    pub body: Rc<Command>,
    pub exported: std::cell::Cell<bool>,
    /// Whether the text given defines it.
    pub in_given_text: bool,
}

/// Options that change what is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub expand_aliases: bool,
    pub extglob: bool,
    pub null_glob: bool,
    pub dot_glob: bool,
    pub no_glob: bool,
    pub errexit: bool,
    pub all_export: bool,
    pub auto_cd: bool,
    pub auto_pushd: bool,
    pub cdable_vars: bool,
    /// zsh: unquoted values are split.
    pub word_split: bool,
    /// zsh: arrays count from nought, and stand for their first element.
    pub ksh_arrays: bool,
    pub posix: bool,
    pub keyword: bool,
}

impl Dirs {
    pub fn one(path: PathBuf) -> Self {
        Self { known: Rc::new(vec![path]), unknown: None }
    }

    pub fn unknown(why: impl Into<SafeText>) -> Self {
        Self { known: Rc::new(Vec::new()), unknown: Some(why.into()) }
    }

    /// The directory, when there is exactly one.
    pub fn single(&self) -> Option<&Path> {
        match (self.known.as_slice(), &self.unknown) {
            ([only], None) => Some(only),
            _ => None,
        }
    }

    /// Each directory that a command could run in.
    pub fn each(&self) -> Vec<Dir> {
        let known = self.known.iter().cloned().map(Dir::Known);
        known.chain(self.unknown.iter().cloned().map(Dir::Unknown)).collect()
    }

    pub fn merge(&mut self, other: &Self) {
        if self == other {
            return;
        }
        let known = Rc::make_mut(&mut self.known);
        for path in other.known.iter() {
            if !known.contains(path) {
                known.push(path.clone());
            }
        }
        if self.unknown.is_none() {
            self.unknown.clone_from(&other.unknown);
        }
        if known.len() > MAX_DIRS {
            known.truncate(MAX_DIRS);
            self.unknown = Some(SafeText::new("one of many directories"));
        }
    }
}

impl Variable {
    pub fn new(value: Content) -> Self {
        Self { value, exported: false, lowercase: false, uppercase: false, nameref: false }
    }
}

impl Shell {
    /// A shell that the host starts in the world's directory.
    pub fn of_world(world: &World, dialect: Dialect) -> Self {
        let unknown_zero = unknown("$0 of the host's shell", 0..0);
        let input = match world.input {
            Input::Inherited => None,
            Input::Nothing => Some((0, Stdin::Empty)),
            Input::TypedLater => Some((0, Stdin::Unknown("what is typed into it later".into()))),
        };
        Self {
            dirs: Dirs::one(world.cwd.clone()),
            stack: Rc::default(),
            variables: Rc::default(),
            cleared: false,
            arguments: Rc::new(Arguments { zero: unknown_zero, rest: Vec::new() }),
            functions: Rc::default(),
            unsure_functions: Rc::default(),
            aliases: Aliases::default(),
            unsure_aliases: false,
            options: Options { expand_aliases: dialect == Dialect::Zsh, ..Options::default() },
            traps: Rc::default(),
            descriptors: Rc::new(input.into_iter().collect()),
            piped: None,
            hashed: Rc::default(),
            disabled: Rc::default(),
            locals: Rc::default(),
            in_function: false,
            returned: false,
            dead: false,
            dialect,
        }
    }

    /// A new process started from this one: it keeps the directory, the environment and descriptors,
    /// and loses what is not exported.
    pub fn new_process(&self, dialect: Dialect) -> Self {
        let exported =
            |(name, variable): (&BString, &Variable)| variable.exported.then(|| (name.clone(), variable.clone()));
        let functions = self.functions.iter().filter_map(|(name, functions)| {
            let exported: Vec<_> = functions.iter().filter(|function| function.exported.get()).cloned().collect();
            (!exported.is_empty()).then(|| (name.clone(), exported))
        });
        Self {
            dirs: self.dirs.clone(),
            stack: Rc::default(),
            variables: Rc::new(self.variables.iter().filter_map(exported).collect()),
            cleared: self.cleared,
            arguments: Rc::new(Arguments { zero: unknown("$0", 0..0), rest: Vec::new() }),
            functions: Rc::new(functions.collect()),
            unsure_functions: Rc::clone(&self.unsure_functions),
            aliases: Aliases::default(),
            unsure_aliases: false,
            options: Options { expand_aliases: dialect == Dialect::Zsh, ..Options::default() },
            traps: Rc::default(),
            descriptors: Rc::clone(&self.descriptors),
            piped: self.piped.clone(),
            hashed: Rc::default(),
            disabled: Rc::default(),
            locals: Rc::default(),
            in_function: false,
            returned: false,
            dead: self.dead,
            dialect,
        }
    }

    /// `( … )`: a copy whose traps are its own.
    pub fn subshell(&self) -> Self {
        Self { traps: Rc::default(), ..self.clone() }
    }

    /// Follows both: what is known afterwards is what both know. A dead one counts for nothing beside a
    /// living one.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        match (self.dead, other.dead) {
            (true, false) => return other,
            (false, true) => return self,
            _ => {}
        }
        let mut merged = self;
        merged.dirs.merge(&other.dirs);
        merge_maps(&mut merged.variables, &other.variables, merge_variables);
        if !Rc::ptr_eq(&merged.functions, &other.functions) {
            let unsure = Rc::make_mut(&mut merged.unsure_functions);
            unsure.extend(other.unsure_functions.iter().cloned());
            unsure.extend(merged.functions.keys().filter(|name| !other.functions.contains_key(*name)).cloned());
            unsure.extend(other.functions.keys().filter(|name| !merged.functions.contains_key(*name)).cloned());
            let functions = Rc::make_mut(&mut merged.functions);
            for (name, alternatives) in other.functions.iter() {
                let known = functions.entry(name.clone()).or_default();
                for alternative in alternatives {
                    if !known.iter().any(|function| Rc::ptr_eq(function, alternative)) {
                        known.push(Rc::clone(alternative));
                    }
                }
            }
        }
        merged.unsure_aliases |= other.unsure_aliases || merged.options.expand_aliases != other.options.expand_aliases;
        if !Rc::ptr_eq(&merged.aliases, &other.aliases) && merged.aliases != other.aliases {
            merged.unsure_aliases = true;
            let aliases = Rc::make_mut(&mut merged.aliases);
            aliases.extend(other.aliases.iter().map(|(name, text)| (name.clone(), text.clone())));
        }
        if merged.arguments != other.arguments {
            let why = "positional parameters set in a branch";
            let rest = vec![many(why, 0..0)];
            merged.arguments = Rc::new(Arguments { zero: merged.arguments.zero.clone(), rest });
        }
        if merged.stack != other.stack {
            merged.stack = Rc::new(vec![Dirs::unknown("directory stack changed in a branch")]);
        }
        for trap in other.traps.iter() {
            if !merged.traps.contains(trap) {
                Rc::make_mut(&mut merged.traps).push(trap.clone());
            }
        }
        if merged.descriptors != other.descriptors {
            let mut descriptors = (*merged.descriptors).clone();
            for (fd, content) in other.descriptors.iter() {
                if descriptors.get(fd) != Some(content) {
                    let why = SafeText::new("a descriptor opened in a branch");
                    descriptors.insert(*fd, Stdin::Unknown(why));
                }
            }
            merged.descriptors = Rc::new(descriptors);
            merged.piped = None;
        }
        merged.options.expand_aliases |= other.options.expand_aliases;
        merged.options.errexit &= other.options.errexit;
        merged
    }

    /// The variable that a name stands for: `declare -n` may let it stand for another.
    fn referred(&self, name: &BStr) -> BString {
        let mut name = name.to_owned();
        for _ in 0..MAX_REFERENCES {
            match self.variables.get(&name) {
                Some(Variable { nameref: true, value: Content::Scalar(Value::Known(target)), .. }) => {
                    name.clone_from(target)
                }
                _ => break,
            }
        }
        name
    }

    /// A variable as this shell sees it; `PWD` and the like are the walk's to know.
    pub fn variable(&self, world: &World, name: &BStr) -> Content {
        let name = self.referred(name);
        let name = name.as_bstr();
        if let Some(variable) = self.variables.get(name) {
            return variable.value.clone();
        }
        if self.cleared {
            return Content::Unset;
        }
        match world.env.get(&to_os_string(name)) {
            Some(value) => Content::Scalar(Value::Known(BString::from(value.as_encoded_bytes()))),
            None => Content::Unset,
        }
    }

    /// Sets a variable, its attributes kept.
    pub fn set(&mut self, world: &World, name: &BStr, value: Content) {
        let name = self.referred(name);
        let (name, value) = match name.split_once_str("[") {
            // An element by its name, as `read` and `printf -v` set it.
            Some((array, _)) => (array.as_bstr(), Content::UnknownArray("an array with an element set by name".into())),
            None => (name.as_bstr(), value),
        };
        let inherited = !self.cleared && world.env.contains_key(&to_os_string(name));
        let all_export = self.options.all_export;
        let variables = Rc::make_mut(&mut self.variables);
        let variable = variables
            .entry(name.into())
            .or_insert_with(|| Variable { exported: inherited, ..Variable::new(Content::Unset) });
        variable.exported |= all_export;
        variable.value = match value {
            Content::Scalar(Value::Known(text)) if variable.lowercase => {
                Content::Scalar(Value::Known(text.to_lowercase().into()))
            }
            Content::Scalar(Value::Known(text)) if variable.uppercase => {
                Content::Scalar(Value::Known(text.to_uppercase().into()))
            }
            other @ (Content::Unset | Content::Scalar(_) | Content::Array(_) | Content::UnknownArray(_)) => other,
        };
    }

    /// A variable's record, made when there is none.
    pub fn variable_mut(&mut self, world: &World, name: &BStr) -> &mut Variable {
        if !self.variables.contains_key(name) {
            let value = self.variable(world, name);
            let exported = !matches!(value, Content::Unset);
            let variable = Variable { exported, ..Variable::new(value) };
            Rc::make_mut(&mut self.variables).insert(name.into(), variable);
        }
        Rc::make_mut(&mut self.variables).entry(name.into()).or_insert_with(|| Variable::new(Content::Unset))
    }

    /// The environment that a command started here would see.
    pub fn env<'w>(&self, world: &'w World) -> Env<'w> {
        let mut env = Env::of_world(world);
        if self.cleared {
            env.clear();
        }
        for (name, variable) in self.variables.iter() {
            let change = match &variable.value {
                Content::Unset if self.cleared => continue,
                Content::Unset => EnvChange::Unset,
                _ if !variable.exported => continue,
                Content::Scalar(Value::Known(text)) => EnvChange::Set(to_os_string(text)),
                Content::Scalar(Value::Unknown(value)) => EnvChange::Unknown(value.why.clone()),
                // Arrays are never exported.
                Content::Array(_) | Content::UnknownArray(_) => continue,
            };
            env.change(to_os_string(name), change);
        }
        env
    }

    /// Takes over an environment that a wrapper has changed.
    pub fn apply_env(&mut self, changes: &[(OsString, EnvChange)]) {
        let variables = Rc::make_mut(&mut self.variables);
        for (name, change) in changes {
            let value = match change {
                EnvChange::Set(value) => Content::Scalar(Value::Known(value.as_encoded_bytes().into())),
                EnvChange::Unset => Content::Unset,
                EnvChange::Unknown(why) => Content::Scalar(Value::Unknown(UnknownValue {
                    between: BString::default(),
                    why: why.clone(),
                    span: 0..0,
                    prefix: BString::default(),
                    suffix: BString::default(),
                    many: false,
                })),
            };
            let variable = Variable { exported: true, ..Variable::new(value) };
            variables.insert(BString::from(name.as_encoded_bytes()), variable);
        }
    }

    /// Makes a variable local to the running function.
    pub fn make_local(&mut self, name: &BStr) {
        if self.in_function && !self.locals.iter().any(|(known, _)| known == name) {
            let outside = self.variables.get(name).cloned();
            Rc::make_mut(&mut self.locals).push((name.into(), outside));
        }
    }

    /// Gives local variables back what they were outside.
    pub fn restore_locals(&mut self) {
        let locals = std::mem::take(&mut self.locals);
        let variables = Rc::make_mut(&mut self.variables);
        for (name, outside) in locals.iter() {
            match outside {
                Some(variable) => drop(variables.insert(name.clone(), variable.clone())),
                None => drop(variables.remove(name)),
            }
        }
    }

    /// Standard input as a command started here would read it.
    pub fn stdin(&self) -> Stdin {
        self.descriptors.get(&0).cloned().unwrap_or(Stdin::Inherited)
    }

    pub fn set_descriptor(&mut self, fd: u32, content: Stdin) {
        if fd == 0 {
            self.piped = None;
        }
        Rc::make_mut(&mut self.descriptors).insert(fd, content);
    }

    /// Lets a pipe bring this.
    pub fn reads_pipe(&mut self, content: Stdin, made_of: Option<MadeOf>) {
        self.set_descriptor(0, content);
        self.piped = made_of.map(Rc::new);
    }

    /// What the input comes from, where it is a pipe's and its bytes are not known.
    pub fn input_made_of(&self) -> Option<&MadeOf> {
        self.piped.as_deref().filter(|_| matches!(self.stdin(), Stdin::Unknown(_)))
    }

    /// The value of an environment variable, when it is known and set.
    pub fn env_text(&self, world: &World, name: &str) -> Option<BString> {
        match self.env_seen(world, name) {
            Content::Scalar(Value::Known(text)) => Some(text),
            Content::Scalar(Value::Unknown(_)) | Content::Unset | Content::Array(_) | Content::UnknownArray(_) => None,
        }
    }

    fn env_seen(&self, world: &World, name: &str) -> Content {
        self.variable(world, name.as_bytes().as_bstr())
    }
}

/// A word of which nothing is known.
pub fn unknown(why: impl Into<SafeText>, span: std::ops::Range<usize>) -> Value {
    Value::Unknown(UnknownValue {
        between: BString::default(),
        why: why.into(),
        span,
        prefix: BString::default(),
        suffix: BString::default(),
        many: false,
    })
}

/// Any number of words of which nothing is known.
pub fn many(why: impl Into<SafeText>, span: std::ops::Range<usize>) -> Value {
    Value::Unknown(UnknownValue {
        between: BString::default(),
        why: why.into(),
        span,
        prefix: BString::default(),
        suffix: BString::default(),
        many: true,
    })
}

/// A known word.
pub fn known(text: impl Into<BString>) -> Value {
    Value::Known(text.into())
}

fn merge_maps(
    into: &mut Rc<BTreeMap<BString, Variable>>,
    other: &Rc<BTreeMap<BString, Variable>>,
    merge: impl Fn(Option<&Variable>, Option<&Variable>) -> Option<Variable>,
) {
    if Rc::ptr_eq(into, other) {
        return;
    }
    // Most are the same on both sides: only what differs is made anew.
    let of_other = other.iter().filter(|(name, variable)| into.get(*name) != Some(*variable));
    let of_one = into.iter().filter(|(name, _)| !other.contains_key(*name));
    let differing: Vec<BString> = of_other.chain(of_one).map(|(name, _)| name.clone()).collect();
    if differing.is_empty() {
        return;
    }
    let variables = Rc::make_mut(into);
    for name in differing {
        match merge(variables.get(&name), other.get(&name)) {
            Some(both) => drop(variables.insert(name, both)),
            None => drop(variables.remove(&name)),
        }
    }
}

fn merge_variables(one: Option<&Variable>, other: Option<&Variable>) -> Option<Variable> {
    let any = one.or(other)?;
    if one == other {
        return Some(any.clone());
    }
    let exported = one.is_some_and(|variable| variable.exported) || other.is_some_and(|variable| variable.exported);
    let value = match any.value {
        Content::Array(_) | Content::UnknownArray(_) => Content::UnknownArray("an array set in a branch".into()),
        Content::Unset | Content::Scalar(_) => Content::Scalar(unknown("a variable set in a branch", 0..0)),
    };
    Some(Variable { value, exported, ..any.clone() })
}
