//! Builtins that set variables: `export` and its kin, `unset`, `read`, `mapfile`, `getopts`, `let`.

use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use super::arguments::Options;
use super::builtin::{SplitFirst, from_input, is_readable};
use super::state::{Content, Shell, Variable, unknown};
use super::{Ends, Walk};
use crate::command::lex::word::is_identifier;
use crate::command::simple::Value;

/// What `declare` and its kin do to the variables they name.
#[derive(Clone, Copy, Default)]
struct Attributes {
    export: Option<bool>,
    local: bool,
    lowercase: bool,
    uppercase: bool,
    nameref: bool,
    functions: bool,
    associative: bool,
    prints: bool,
}

impl Walk<'_, '_> {
    pub(in crate::command) fn declare(&mut self, builtin: &BStr, arguments: &[Value], mut shell: Shell) -> Ends {
        let local = matches!(builtin.as_bytes(), b"local" | b"declare" | b"typeset" | b"integer" | b"float");
        let mut attributes = Attributes { local: local && shell.in_function, ..Attributes::default() };
        if builtin == "export" {
            attributes.export = Some(true);
        }
        let mut options_over = false;
        for argument in arguments {
            match argument.known() {
                Some(word) if !options_over && word == "--" => options_over = true,
                Some(word) if !options_over && word.len() > 1 && matches!(word.first(), Some(b'-' | b'+')) => {
                    read_attributes(builtin, word, &mut attributes);
                }
                Some(word) => {
                    let word = word.to_owned();
                    self.declare_known(word.as_bstr(), attributes, &mut shell);
                }
                None => self.declare_unknown(argument, attributes, &mut shell),
            }
        }
        if arguments.is_empty() || attributes.prints {
            return self.printing("variables", shell);
        }
        Ends::success(shell)
    }

    fn declare_known(&mut self, word: &BStr, attributes: Attributes, shell: &mut Shell) {
        if attributes.functions {
            for function in shell.functions.get(word).into_iter().flatten() {
                if attributes.export == Some(true) {
                    function.exported.set(true);
                }
            }
            return;
        }
        self.subscripts_in(word, shell);
        let (target, value) = match word.split_once_str(b"=") {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_bytes(), None),
        };
        let (target, append) = match target.strip_suffix(b"+") {
            Some(target) => (target, true),
            None => (target, false),
        };
        let name = target.split(|byte| *byte == b'[').next().unwrap_or_default();
        if !is_identifier(name) {
            return;
        }
        let name = name.as_bstr();
        if attributes.local {
            shell.make_local(name);
            if value.is_none() {
                // A local without a value hides the one outside.
                shell.set(self.world, name, Content::Unset);
            }
        }
        self.apply_attributes(name, attributes, shell);
        if attributes.associative {
            // Its keys are words, and what is assigned may be pairs: elements are not told apart here.
            return shell.set(self.world, name, Content::UnknownArray("an associative array".into()));
        }
        let Some(value) = value else { return };
        let content = if target.contains(&b'[') {
            Content::UnknownArray("an array element".into())
        } else if append {
            match self.variable_value(name, shell) {
                Value::Known(before) => Content::Scalar(Value::Known([before.as_slice(), value].concat().into())),
                Value::Unknown(before) => Content::Scalar(Value::Unknown(before)),
            }
        } else {
            Content::Scalar(Value::Known(value.into()))
        };
        shell.set(self.world, name, content);
    }

    fn apply_attributes(&mut self, name: &BStr, attributes: Attributes, shell: &mut Shell) {
        let variable: &mut Variable = shell.variable_mut(self.world, name);
        if let Some(export) = attributes.export {
            variable.exported = export;
        }
        variable.lowercase |= attributes.lowercase;
        variable.uppercase |= attributes.uppercase;
        variable.nameref |= attributes.nameref;
    }

    /// `export "$X"`: where the name is known its value is not; else any variable may be set.
    fn declare_unknown(&mut self, argument: &Value, attributes: Attributes, shell: &mut Shell) {
        let Value::Unknown(value) = argument else { return };
        let name = value.prefix.split_once_str(b"=").map(|(name, _)| name.strip_suffix(b"+").unwrap_or(name));
        match name.filter(|name| is_identifier(name)) {
            Some(name) => {
                let name = name.as_bstr();
                if attributes.local {
                    shell.make_local(name);
                }
                self.apply_attributes(name, attributes, shell);
                let mut rest = value.clone();
                rest.prefix = rest.prefix.get(name.len() + 1..).unwrap_or_default().into();
                shell.set(self.world, name, Content::Scalar(Value::Unknown(rest)));
            }
            None => self.opaque("an assignment to variables that are not known", shell),
        }
    }

    pub(in crate::command) fn unset(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let options = Options::read(arguments, b"");
        for operand in options.operands {
            let Some(name) = operand.known() else { continue };
            let name = name.to_owned();
            let name = name.as_bstr();
            self.subscripts_in(name, &mut shell);
            if options.has(b'f') {
                Rc::make_mut(&mut shell.functions).remove(name);
                continue;
            }
            let variable = shell.variable(self.world, name);
            if matches!(variable, Content::Unset) && !options.has(b'v') {
                // Without a variable of that name the function goes.
                Rc::make_mut(&mut shell.functions).remove(name);
            } else if !name.contains(&b'[') {
                let mut gone = Variable::new(Content::Unset);
                gone.exported = false;
                Rc::make_mut(&mut shell.variables).insert(name.to_owned(), gone);
            } else if let Some(array) = name.split_str("[").next() {
                shell.set(self.world, array.as_bstr(), Content::UnknownArray("an array with an element unset".into()));
            }
        }
        Ends::Same(shell)
    }

    /// `read`: its variables are set from the input where that is known, outside of loops.
    pub(in crate::command) fn read(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let options = Options::read(arguments, b"adinNptu");
        let descriptor = match options.value(b'u').and_then(Value::known) {
            Some(fd) => std::str::from_utf8(fd).ok().and_then(|fd| fd.parse().ok()).unwrap_or(0),
            None => 0,
        };
        let stdin = shell.descriptors.get(&descriptor).cloned();
        let text = match &stdin {
            Some(stdin) if is_readable(stdin) && self.uncertain == 0 => self.stdin_text(stdin).ok(),
            _ => None,
        };
        let plain = options.flags.iter().all(|(flag, _)| matches!(flag, b'r' | b'p' | b's' | b'u' | b't'));
        let line = text.as_deref().filter(|_| plain && !options.unknown);
        let line = line.map(|text| text.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec());
        let names: Vec<Value> = match options.value(b'a') {
            Some(array) => vec![array.clone()],
            None => options.operands.to_vec(),
        };
        self.read_into(&names, line.as_deref(), &mut shell);
        if let (Some(crate::command::simple::Stdin::Names { prefix, .. }), [Value::Known(name)]) = (&stdin, &*names) {
            // A name that `find` prints, as far as that is known.
            let value = unknown("a name that is read", 0..0).beginning_with(prefix.clone());
            shell.set(self.world, name.as_bstr(), Content::Scalar(value));
        }
        if let Some(text) = text {
            let rest = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
            let rest = text.get(rest..).unwrap_or_default().to_vec();
            shell.set_descriptor(descriptor, crate::command::simple::Stdin::Text(rest));
        }
        Ends::Same(shell)
    }

    /// Sets the variables that `read` names from one line, or to what is not known.
    pub(in crate::command) fn read_into(&mut self, arguments: &[Value], line: Option<&[u8]>, shell: &mut Shell) {
        let options = Options::read(arguments, b"adinNptu");
        let names: Vec<BString> = options.operands.iter().filter_map(Value::known).map(BStr::to_owned).collect();
        if options.operands.iter().any(|operand| operand.known().is_none()) {
            self.opaque("an assignment to variables that are not known", shell);
        }
        for name in &names {
            self.subscripts_in(name.as_bstr(), shell);
        }
        let names = if names.is_empty() { vec![BString::from("REPLY")] } else { names };
        let separators = match shell.variable(self.world, BStr::new("IFS")) {
            Content::Unset => BString::from(" \t\n"),
            Content::Scalar(Value::Known(text)) => text,
            Content::Scalar(Value::Unknown(_)) | Content::Array(_) | Content::UnknownArray(_) => {
                return self.set_from_input(&names, shell);
            }
        };
        let Some(line) = line else { return self.set_from_input(&names, shell) };
        if line.contains(&b'\\') {
            return self.set_from_input(&names, shell);
        }
        let is_separator = |byte: &u8| separators.contains(byte);
        let mut rest = trimmed(line, &is_separator);
        for (index, name) in names.iter().enumerate() {
            let last = index + 1 == names.len();
            let end = if last { None } else { rest.iter().position(is_separator) };
            let end = end.unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            shell.set(self.world, name.as_bstr(), Content::Scalar(Value::Known(word.into())));
            rest = trimmed(after, &is_separator);
        }
    }

    fn set_from_input(&mut self, names: &[BString], shell: &mut Shell) {
        for name in names {
            let name: &[u8] = name.split(|byte| *byte == b'[').next().unwrap_or_default();
            shell.set(self.world, name.as_bstr(), Content::Scalar(from_input()));
        }
    }

    pub(in crate::command) fn map_file(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let options = Options::read(arguments, b"dnOsuCc");
        if let Some(callback) = options.value(b'C') {
            let inside = shell.clone();
            self.perhaps(|walk| walk.run_value(callback, inside, "a callback of mapfile"));
        }
        let name =
            options.operands.first().and_then(Value::known).map_or_else(|| BString::from("MAPFILE"), BStr::to_owned);
        self.subscripts_in(name.as_bstr(), &mut shell);
        let plain = options.flags.iter().all(|(flag, _)| *flag == b't');
        let stdin = shell.stdin();
        let text = if plain && is_readable(&stdin) { self.stdin_text(&stdin).ok() } else { None };
        let content = match text {
            Some(text) if options.has(b't') && text.len() < 16 * 1024 => {
                let lines = text.strip_suffix(b"\n").unwrap_or(&text).split(|byte| *byte == b'\n');
                let element = |(index, line): (usize, &[u8])| (index.to_string().into(), Value::Known(line.into()));
                Content::Array(lines.enumerate().map(element).collect())
            }
            _ => Content::UnknownArray("lines of input".into()),
        };
        shell.set(self.world, name.as_bstr(), content);
        Ends::Same(shell)
    }

    pub(in crate::command) fn getopts(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let named = arguments.get(1).and_then(Value::known);
        for name in [BStr::new("OPTARG"), BStr::new("OPTIND")].into_iter().chain(named) {
            let value = unknown("an option of the line's arguments", 0..0);
            shell.set(self.world, name, Content::Scalar(value));
        }
        Ends::Same(shell)
    }

    pub(in crate::command) fn let_expressions(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        for expression in arguments.iter().filter_map(Value::known) {
            let expression = expression.to_owned();
            self.evaluate(expression.as_bstr(), &mut shell, 0);
        }
        Ends::Same(shell)
    }
}

fn read_attributes(builtin: &BStr, word: &BStr, attributes: &mut Attributes) {
    let on = word.first() == Some(&b'-');
    for letter in word.iter().skip(1) {
        match letter {
            b'x' => attributes.export = Some(on),
            b'n' if builtin == "export" => attributes.export = Some(false),
            b'n' => attributes.nameref = on,
            b'f' | b'F' => attributes.functions = true,
            b'A' if builtin != "export" && builtin != "readonly" || on => attributes.associative = on,
            b'l' => attributes.lowercase = on,
            b'u' => attributes.uppercase = on,
            b'g' => attributes.local = false,
            b'p' => attributes.prints = true,
            _ => {}
        }
    }
}

fn trimmed<'t>(text: &'t [u8], is_separator: &impl Fn(&u8) -> bool) -> &'t [u8] {
    let is_space = |byte: &u8| is_separator(byte) && byte.is_ascii_whitespace();
    let start = text.iter().position(|byte| !is_space(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    let text = text.get(start..end).unwrap_or_default();
    // One separator that is no blank ends the field before.
    match text.first() {
        Some(first) if is_separator(first) => text.get(1..).unwrap_or_default(),
        _ => text,
    }
}
