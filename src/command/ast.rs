//! The tree of a command line, as bash's grammar has it.
//!
//! Promise: every command, substitution and redirection of the text is a node; nothing that bash
//! could run is left as text, except texts that some command takes as code (`eval`, `bash -c`, traps).
//! Depth is bounded by the reader ([`super::lex::MAX_DEPTH`]), so walking and dropping a tree is safe.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use bstr::BString;

/// Where something stands, in bytes of the text that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// As a range, for the plan.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A sequence of commands up to the end of its line or construct.
#[derive(Debug, Default)]
pub struct List {
    /// In order.
    pub items: Vec<AndOr>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub struct AndOr {
    /// The first.
    pub first: Pipeline,
    /// The others, each with what joins it to those before.
    pub rest: Vec<(Joint, Pipeline)>,
    /// Whether it ends in `&` (zsh: `&|`, `&!`).
    pub background: bool,
}

/// What joins two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// `&&`.
    And,
    /// `||`.
    Or,
}

/// Commands joined by `|` and `|&`; never empty, except for a bare `!` or `time`.
#[derive(Debug)]
pub struct Pipeline {
    /// Whether an odd number of `!` stands before it.
    pub negated: bool,
    /// The commands.
    pub commands: Vec<Command>,
}

/// One command with its redirections.
#[derive(Debug)]
pub struct Command {
    /// What it is.
    pub kind: CommandKind,
    /// Its redirections in order.
    pub redirects: Vec<Redirect>,
    /// Where it stands.
    pub span: Span,
}

/// Kinds of commands.
#[derive(Debug)]
pub enum CommandKind {
    /// Assignments and words.
    Simple(Simple),
    /// `{ … }`.
    Group(List),
    /// `( … )`.
    Subshell(List),
    /// `if`: conditions with their bodies, and `else`.
    If {
        /// `if` and each `elif`.
        arms: Vec<(List, List)>,
        /// `else`.
        otherwise: Option<List>,
    },
    /// `while`, `until`.
    While {
        /// Whether it is `until`.
        until: bool,
        /// Its condition.
        condition: List,
        /// Its body.
        body: List,
    },
    /// `for NAME in …`, `select`, zsh's `foreach`.
    For {
        /// The variables (zsh allows several).
        names: Vec<BString>,
        /// What it goes over; `None` is `"$@"`.
        words: Option<Vec<Word>>,
        /// Its body.
        body: List,
        /// Whether it is `select`, whose choice comes from its input.
        select: bool,
    },
    /// `for ((…;…;…))`; zsh's `repeat N`.
    ForArithmetic {
        /// The three expressions.
        header: Vec<Part>,
        /// Its body.
        body: List,
    },
    /// `case`.
    Case {
        /// What is compared.
        subject: Word,
        /// Its arms.
        arms: Vec<Arm>,
    },
    /// `(( … ))`.
    Arithmetic(Vec<Part>),
    /// `[[ … ]]`, its words and operators in order.
    Condition(Vec<Word>),
    /// A function's definition.
    Function {
        /// Its names (zsh allows several), as written.
        names: Vec<BString>,
        /// Its body, a compound command.
        body: Rc<Command>,
    },
    /// `coproc`.
    Coprocess {
        /// Its name, when one is given.
        name: Option<BString>,
        /// What runs.
        body: Box<Command>,
    },
    /// zsh's `() { … } ARGUMENTS`: a function without a name, called at once.
    Anonymous {
        /// Its body.
        body: Rc<Command>,
        /// What it is called with.
        arguments: Vec<Word>,
    },
    /// zsh's `{ … } always { … }`.
    Always {
        /// What is tried.
        body: List,
        /// What runs then.
        finally: List,
    },
}

/// A simple command.
#[derive(Debug, Default)]
pub struct Simple {
    /// The assignments before the first word; each has a [`Word::head`].
    pub assignments: Vec<Word>,
    /// The words; arguments of `export` and its kin may have a [`Word::head`].
    pub words: Vec<Word>,
}

/// One arm of a `case`.
#[derive(Debug)]
pub struct Arm {
    /// Its patterns.
    pub patterns: Vec<Word>,
    /// Its body, perhaps empty.
    pub body: List,
    /// What its end does.
    pub end: ArmEnd,
}

/// How an arm of a `case` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmEnd {
    /// `;;`.
    Break,
    /// `;&`.
    FallThrough,
    /// `;;&`.
    GoOn,
}

/// One word before expansion.
#[derive(Clone, Debug, Default)]
pub struct Word {
    /// Its parts; of an assignment, those of the value.
    pub parts: Vec<Part>,
    /// When it is an assignment: what is assigned to.
    pub head: Option<Box<Head>>,
    /// Where it stands.
    pub span: Span,
}

/// The left side of an assignment.
#[derive(Clone, Debug)]
pub struct Head {
    /// The variable.
    pub name: BString,
    /// Its subscript.
    pub subscript: Option<Vec<Part>>,
    /// Whether it is `+=`.
    pub append: bool,
    /// The elements of `name=( … )`.
    pub array: Option<Vec<Word>>,
}

/// One part of a word.
#[derive(Clone, Debug)]
pub enum Part {
    /// Unquoted text, subject to tilde, brace and file name expansion.
    Literal(BString),
    /// Quoted text: `'…'`, `$'…'`, `\x`.
    Quoted(BString),
    /// `"…"`, `$"…"`.
    DoubleQuoted(Vec<Part>),
    /// `$name`, `${…}`.
    Parameter(Rc<Parameter>),
    /// `$(…)`, `` `…` ``, `${ …; }`.
    Substitution(Rc<Substitution>),
    /// `<(…)`, `>(…)`, zsh's `=(…)`.
    Process(Rc<Process>),
    /// `$((…))`, `$[…]`.
    Arithmetic(Rc<Vec<Part>>),
}

/// A command substitution.
#[derive(Debug)]
pub struct Substitution {
    /// Its lines.
    pub lines: Vec<List>,
    /// Whether a syntax error inside ends it early (only in backquotes, and in here-documents).
    pub broken: bool,
    /// Where it stands.
    pub span: Span,
}

/// A process substitution.
#[derive(Debug)]
pub struct Process {
    /// Whether the command reads what is written to it (`>(…)`).
    pub reads: bool,
    /// Its commands.
    pub list: List,
    /// Where it stands.
    pub span: Span,
}

/// A parameter expansion.
#[derive(Debug)]
pub struct Parameter {
    /// The parameter: a name, a number, or one of `@*#?-$!`; zsh may nest an expansion instead.
    pub name: BString,
    /// Its subscript.
    pub subscript: Option<Vec<Part>>,
    /// `${!name}`.
    pub indirect: bool,
    /// `${#name}`.
    pub length: bool,
    /// What is done to it.
    pub operation: Operation,
    /// The operand's parts.
    pub operand: Vec<Part>,
    /// Where it stands.
    pub span: Span,
}

/// What a parameter expansion does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Nothing: `$name`, `${name}`.
    Plain,
    /// `-`, `:-`.
    Default {
        /// `:-`: also when empty.
        or_empty: bool,
    },
    /// `=`, `:=`.
    Assign {
        /// `:=`.
        or_empty: bool,
    },
    /// `?`, `:?`.
    Error {
        /// `:?`.
        or_empty: bool,
    },
    /// `+`, `:+`.
    Alternative {
        /// `:+`.
        or_empty: bool,
    },
    /// `#`, `##`.
    RemovePrefix {
        /// `##`.
        longest: bool,
    },
    /// `%`, `%%`.
    RemoveSuffix {
        /// `%%`.
        longest: bool,
    },
    /// `/`, `//`, `/#`, `/%`; the operand holds pattern, `/` and replacement.
    Replace,
    /// `:offset`, `:offset:length`.
    Slice,
    /// zsh's `:h`, `:t` …; the operand holds their letters.
    Modify,
    /// `^`, `^^`, `,`, `,,`.
    Case {
        /// To upper case.
        upper: bool,
        /// Every character.
        all: bool,
    },
    /// `@Q`, `@P` …
    Transform(u8),
    /// `${!prefix*}`, `${!prefix@}`.
    Names,
    /// Not a form of bash: an error when it is reached there, perhaps a form of zsh.
    Unmodelled,
}

/// One redirection.
#[derive(Debug)]
pub struct Redirect {
    /// The descriptor, when one is written.
    pub fd: Option<u32>,
    /// `{name}` before the operator.
    pub variable: Option<BString>,
    /// The operator.
    pub operator: RedirectOperator,
    /// What stands after it; of a here-document the delimiter, which is not expanded.
    pub target: Word,
    /// The here-document's body, filled in when its lines are reached.
    pub body: Rc<OnceCell<HereBody>>,
}

/// Redirection operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectOperator {
    /// `<`.
    Read,
    /// `>`, `>|`.
    Write,
    /// `>>`.
    Append,
    /// `&>`, zsh's `>&FILE` too.
    WriteBoth,
    /// `&>>`.
    AppendBoth,
    /// `<>`.
    ReadWrite,
    /// `<&`.
    DuplicateInput,
    /// `>&`.
    DuplicateOutput,
    /// `<<`, `<<-`.
    HereDocument,
    /// `<<<`.
    HereString,
}

/// The body of a here-document.
#[derive(Debug)]
pub struct HereBody {
    /// Its parts, as of a double-quoted text; one [`Part::Quoted`] when its delimiter is quoted.
    pub parts: Vec<Part>,
    /// Whether a substitution in it cannot be read: bash reports that and goes on after it.
    pub broken: bool,
}
