//! Parts of configuration files, made into rules.
//!
//! Promise: what is extended, merged, attached and refused is gitleaks' (facts of version 8.30.1): at
//! most two files deep, the extending rule wins where it says something, tags, keywords and allowlists
//! add up, its `required` and `skipReport` are lost. In [`Mode::Strict`] what gitleaks drops in silence
//! is refused: no rules at all, two rules of one id, an allowlist of an extended file that names its
//! rules, rules to disable which do not exist.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::allowlist::{Allowlist, Stopwords, Target};
use super::compiled::Compiled;
use super::config::{self, AllowlistParts, ContextParts, Mode, Origin, OwnParts, RuleParts, RulesFault};
use super::context::Context;
use super::glob::Glob;
use super::pattern::Pattern;
use super::rules::{BUILTIN, BUILTIN_DIGEST, CharacterKind, Demands, Outcome, Required, Rule, RuleSet, Rules};
use super::shaped;
use super::translate::PatternFault;
use super::verify;
use crate::scan::{Confidence, Severity};
use crate::text::SafeText;

/// How many files deep an extension is followed; what is deeper is passed over.
const DEEPEST: usize = 2;

/// Reads a text and all that it extends.
pub(super) fn rule_set(text: Cow<'static, str>, origin: &Origin, mode: Mode) -> Result<RuleSet, RulesFault> {
    let mut merger = Merger::new(mode);
    let file = merger.file(text, origin, 0)?;
    merger.finish(file, origin)
}

/// tyran's own rules as the build script left them, each to be read when it is asked for.
pub(super) fn builtin() -> Result<RuleSet, RulesFault> {
    let compiled = Compiled::read(BUILTIN).ok_or_else(damaged)?;
    let merger = Merger::new(Mode::Strict);
    let lists = compiled.allowlists.iter().cloned();
    let allowlists = lists.map(|list| merger.allowlist(list, &Origin::Builtin).map(Arc::new));
    let allowlists = allowlists.collect::<Result<_, _>>()?;
    let unread = std::iter::repeat_with(OnceLock::new).take(compiled.len()).collect();
    Ok(RuleSet {
        rules: Rules::Compiled(compiled, unread),
        allowlists,
        mode: Mode::Strict,
        sources: vec![Cow::Borrowed(BUILTIN)],
        digest: OnceLock::from(BUILTIN_DIGEST.to_owned()),
        warnings: Vec::new(),
    })
}

/// One of tyran's own rules.
pub(super) fn compiled_rule(compiled: &Compiled, place: usize) -> Result<Rule, RulesFault> {
    let parts = compiled.rule(place).ok_or_else(damaged)?;
    Merger::new(Mode::Strict).rule(parts, &Origin::Builtin).map(|draft| draft.rule)
}

/// One allowlist of a configuration.
pub(super) fn allowlist(parts: AllowlistParts, origin: &Origin) -> Result<Allowlist, RulesFault> {
    Merger::new(Mode::Compat).allowlist(parts, origin)
}

fn damaged() -> RulesFault {
    fault(&Origin::Builtin, None, "are damaged".to_owned(), "build the program again")
}

/// One file with everything that it extends.
struct File {
    rules: Vec<Draft>,
    allowlists: Vec<Arc<Allowlist>>,
    /// Allowlists for the rules they name, not attached yet.
    targeted: Vec<(usize, Vec<String>, Arc<Allowlist>)>,
}

/// A rule and where it stands.
struct Draft {
    rule: Rule,
    line: usize,
    /// Set in the text, not by default.
    says_severity: bool,
    says_confidence: bool,
}

struct Merger {
    mode: Mode,
    warnings: Vec<String>,
    sources: Vec<Cow<'static, [u8]>>,
    with_builtin: bool,
}

fn fault(origin: &Origin, line: Option<usize>, what: String, remedy: &str) -> RulesFault {
    RulesFault { origin: origin.to_string(), line, what, remedy: remedy.to_owned() }
}

fn quoted(name: &str) -> SafeText {
    SafeText::quoted(name.as_bytes(), 60)
}

impl Merger {
    fn new(mode: Mode) -> Self {
        Self { mode, warnings: Vec::new(), sources: Vec::new(), with_builtin: false }
    }

    fn file(&mut self, text: Cow<'static, str>, origin: &Origin, depth: usize) -> Result<File, RulesFault> {
        let parts = config::parts(&text, origin, self.mode)?;
        self.sources.push(match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        });
        self.assemble(parts, origin, depth)
    }

    fn builtin_file(&mut self, depth: usize) -> Result<File, RulesFault> {
        let compiled = Compiled::read(BUILTIN).ok_or_else(damaged)?;
        let rules = (0..compiled.len()).map(|place| compiled.rule(place)).collect::<Option<_>>().ok_or_else(damaged)?;
        self.sources.push(Cow::Borrowed(BUILTIN));
        let parts = config::Parts { rules, allowlists: compiled.allowlists, ..config::Parts::default() };
        self.assemble(parts, &Origin::Builtin, depth)
    }

    fn finish(mut self, mut file: File, origin: &Origin) -> Result<RuleSet, RulesFault> {
        self.attach(&mut file, origin)?;
        for rule in &file.rules {
            check_rule(rule, origin)?;
        }
        if file.rules.is_empty() && self.mode == Mode::Strict {
            return Err(fault(
                origin,
                None,
                "has no rules".to_owned(),
                "add [[rules]], or extend a file that has some",
            ));
        }
        Ok(RuleSet {
            rules: Rules::Read(file.rules.into_iter().map(|draft| draft.rule).collect()),
            allowlists: file.allowlists,
            mode: self.mode,
            sources: self.sources,
            digest: OnceLock::new(),
            warnings: self.warnings,
        })
    }

    fn assemble(&mut self, parts: config::Parts, origin: &Origin, depth: usize) -> Result<File, RulesFault> {
        if let Some(version) = &parts.min_version {
            self.check_version(version, origin)?;
        }
        let mut file =
            File { rules: Vec::with_capacity(parts.rules.len()), allowlists: Vec::new(), targeted: Vec::new() };
        let mut places: HashMap<Arc<str>, usize> = HashMap::with_capacity(parts.rules.len());
        for mut rule in parts.rules {
            let line = rule.line;
            if rule.own.placeholders.is_none() {
                rule.own.placeholders.clone_from(&parts.placeholders);
            }
            let draft = self.rule(rule, origin)?;
            let known = places.insert(Arc::clone(&draft.rule.id), file.rules.len());
            match known.and_then(|place| file.rules.get_mut(place)) {
                Some(_) if self.mode == Mode::Strict => {
                    let what = format!("the id `{}` is there twice", quoted(&draft.rule.id));
                    return Err(fault(origin, Some(line), what, "give each rule an id of its own"));
                }
                Some(other) => {
                    *other = draft;
                    places.extend(known.map(|place| (Arc::clone(&other.rule.id), place)));
                }
                None => file.rules.push(draft),
            }
        }
        self.check_required(&file, origin)?;
        for list in parts.allowlists {
            let (line, targets) = (list.line, list.target_rules.clone());
            let list = Arc::new(self.allowlist(list, origin)?);
            if targets.is_empty() {
                file.allowlists.push(list);
            } else {
                file.targeted.push((line, targets, list));
            }
        }
        if depth < DEEPEST {
            self.extend(&mut file, &parts.extend, origin, depth)?;
        } else if self.mode == Mode::Strict && (parts.extend.use_default || !parts.extend.path.is_empty()) {
            let what = "extends a file although it is the third of a chain".to_owned();
            return Err(fault(origin, Some(parts.extend.line), what, "extend at most two files deep"));
        }
        if depth > 0
            && self.mode == Mode::Strict
            && let Some((line, ..)) = file.targeted.first()
        {
            let what = "an allowlist with targetRules attaches to nothing in a file that is extended".to_owned();
            return Err(fault(origin, Some(*line), what, "write it as [[rules.allowlists]] of its rules"));
        }
        Ok(file)
    }

    fn check_version(&mut self, version: &str, origin: &Origin) -> Result<(), RulesFault> {
        match semantic_version(version) {
            None => Err(fault(
                origin,
                None,
                format!("minVersion `{}` is no version", quoted(version)),
                "write it as v8.25.0",
            )),
            Some(wanted) if wanted > (8, 30, 1) => {
                self.warnings
                    .push(format!("{origin} asks for gitleaks {}; this engine follows 8.30.1", quoted(version)));
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    fn rule(&mut self, mut parts: RuleParts, origin: &Origin) -> Result<Draft, RulesFault> {
        let line = parts.line;
        let at = |what: String, remedy: &str| fault(origin, Some(line), what, remedy);
        shaped::take_shape(&mut parts).map_err(|fault| at(fault.what, fault.remedy))?;
        let regex = self.pattern(parts.regex, line, origin)?;
        let path = self.pattern(parts.path, line, origin)?;
        let mut allowlists = Vec::with_capacity(parts.allowlists.len());
        for list in parts.allowlists {
            allowlists.push(Arc::new(self.allowlist(list, origin)?));
        }
        let mut required = Vec::with_capacity(parts.required.len());
        for one in parts.required {
            if one.id.is_empty() {
                return Err(fault(
                    origin,
                    Some(one.line),
                    "[[rules.required]] has no id".to_owned(),
                    "name a rule of this file",
                ));
            }
            required.push(Required { id: one.id, within_lines: one.within_lines, within_columns: one.within_columns });
        }
        let own = parts.own;
        let severity = own
            .severity
            .as_deref()
            .map(|name| {
                one_of(name, SEVERITIES).ok_or_else(|| {
                    at(format!("severity `{}` is unknown", quoted(name)), "use low, medium, high or critical")
                })
            })
            .transpose()?;
        let confidence = own
            .confidence
            .as_deref()
            .map(|name| {
                one_of(name, CONFIDENCES).ok_or_else(|| {
                    at(format!("confidence `{}` is unknown", quoted(name)), "use note, low, medium or high")
                })
            })
            .transpose()?;
        let secret_group = usize::try_from(parts.secret_group.max(0)).unwrap_or(usize::MAX);
        let demands = demands(&own, &at)?;
        Ok(Draft {
            line,
            says_severity: severity.is_some(),
            says_confidence: confidence.is_some(),
            rule: Rule {
                id: parts.id.into(),
                description: parts.description.into(),
                // Lower case as Go has it; the texts that are compared are made in the same way.
                keywords: parts.keywords.iter().map(|word| lower_text(word)).collect(),
                tags: parts.tags.into(),
                severity: severity.unwrap_or_default(),
                confidence: confidence.unwrap_or_default(),
                url: own.url.map(Into::into),
                remedy: own.remedy.map(Into::into),
                shapes: own.shapes,
                names: own.names,
                general: own.general,
                examples: own.examples,
                counter_examples: own.counter_examples,
                regex,
                path,
                secret_group,
                entropy: parts.entropy,
                skip_report: parts.skip_report,
                required,
                allowlists,
                demands,
                prepared: parts.prepared,
            },
        })
    }

    /// A pattern, read at once so that one which cannot be read is refused now; an empty one is none.
    /// tyran's own rules are tried by its tests, so they are read when they are first used.
    fn pattern(&self, source: String, line: usize, origin: &Origin) -> Result<Option<Pattern>, RulesFault> {
        if source.is_empty() {
            return Ok(None);
        }
        let pattern = Pattern::new(source);
        if *origin != Origin::Builtin {
            pattern.tree().map_err(|error| pattern_fault(&error, line, origin))?;
        }
        Ok(Some(pattern))
    }

    fn allowlist(&self, parts: AllowlistParts, origin: &Origin) -> Result<Allowlist, RulesFault> {
        let line = parts.line;
        let at = |what: String, remedy: &str| fault(origin, Some(line), what, remedy);
        let all_must_hold = match parts.condition.to_uppercase().as_str() {
            "" | "OR" | "||" => false,
            "AND" | "&&" => true,
            _ => return Err(at(format!("condition `{}` is unknown", quoted(&parts.condition)), "use OR or AND")),
        };
        let target = match parts.regex_target.as_str() {
            "" | "secret" => Target::Secret,
            "match" => Target::Match,
            "line" => Target::Line,
            _ => {
                let what = format!("regexTarget `{}` is unknown", quoted(&parts.regex_target));
                return Err(at(what, "use secret, match or line"));
            }
        };
        if parts.commits.is_empty() && parts.paths.is_empty() && parts.regexes.is_empty() && parts.stopwords.is_empty()
        {
            return Err(at("an allowlist allows nothing".to_owned(), "give it commits, paths, regexes or stopwords"));
        }
        Ok(Allowlist {
            all_must_hold,
            commits: parts.commits.iter().map(|commit| lower_text(commit.trim())).collect(),
            paths: self.joined(&parts.paths, line, origin)?,
            target,
            regexes: self.joined(&parts.regexes, line, origin)?,
            stopwords: Stopwords::new(parts.stopwords.iter().map(|word| lower_text(word)).collect()),
        })
    }

    /// Several patterns as one alternation. Each must be readable alone, too.
    fn joined(&self, sources: &[String], line: usize, origin: &Origin) -> Result<Option<Pattern>, RulesFault> {
        if sources.is_empty() {
            return Ok(None);
        }
        if *origin != Origin::Builtin {
            for source in sources {
                Pattern::new(source.as_str()).tree().map_err(|error| pattern_fault(&error, line, origin))?;
            }
        }
        self.pattern(format!("(?:{})", sources.join("|")), line, origin)
    }

    fn check_required(&self, file: &File, origin: &Origin) -> Result<(), RulesFault> {
        for draft in &file.rules {
            for required in &draft.rule.required {
                if !file.rules.iter().any(|other| *other.rule.id == *required.id) {
                    let what = format!(
                        "`{}` requires `{}`, which is not in this file",
                        quoted(&draft.rule.id),
                        quoted(&required.id)
                    );
                    return Err(fault(origin, Some(draft.line), what, "name a rule of the same file"));
                }
            }
        }
        Ok(())
    }

    fn extend(
        &mut self,
        file: &mut File,
        extend: &config::Extend,
        origin: &Origin,
        depth: usize,
    ) -> Result<(), RulesFault> {
        let at = |what: &str, remedy: &str| fault(origin, Some(extend.line), what.to_owned(), remedy);
        let base = match (extend.use_default, extend.path.as_str()) {
            (true, path) if !path.is_empty() => {
                return Err(at("extends both a path and the default", "choose one of them"));
            }
            (true, _) if self.mode == Mode::Compat => {
                return Err(at(
                    "extends gitleaks' default rules, which are no part of tyran",
                    "set extend.path to a copy of gitleaks.toml",
                ));
            }
            (true, _) => {
                self.with_builtin = true;
                self.builtin_file(depth + 1)?
            }
            (false, "") => return Ok(()),
            (false, path) => {
                let text = config::read_file(Path::new(path))?;
                self.file(Cow::Owned(text), &Origin::File(path.into()), depth + 1)?
            }
        };
        for id in &extend.disabled_rules {
            if !base.rules.iter().any(|draft| *draft.rule.id == **id) {
                if self.mode == Mode::Strict && !self.with_builtin {
                    return Err(at(
                        &format!("disables `{}`, which does not exist", quoted(id)),
                        "correct the id or remove it",
                    ));
                }
                self.warnings.push(format!("{origin} disables `{}`, which does not exist", quoted(id)));
            }
        }
        for base_rule in base.rules {
            if extend.disabled_rules.iter().any(|id| **id == *base_rule.rule.id) {
                continue;
            }
            match file.rules.iter().position(|draft| draft.rule.id == base_rule.rule.id) {
                None => file.rules.push(base_rule),
                Some(place) => {
                    let own = file.rules.remove(place);
                    file.rules.insert(place, over(base_rule, own));
                }
            }
        }
        file.allowlists.extend(base.allowlists);
        Ok(())
    }

    /// Attaches the allowlists which name their rules, as only the first file's do.
    fn attach(&mut self, file: &mut File, origin: &Origin) -> Result<(), RulesFault> {
        for (line, targets, list) in std::mem::take(&mut file.targeted) {
            for target in targets {
                match file.rules.iter_mut().find(|draft| *draft.rule.id == *target) {
                    Some(draft) => draft.rule.allowlists.push(Arc::clone(&list)),
                    None if self.with_builtin => {
                        let name = quoted(&target);
                        self.warnings.push(format!("{origin}:{line}: an allowlist for `{name}`, which does not exist"));
                    }
                    None => {
                        let what = format!("targetRules names `{}`, which does not exist", quoted(&target));
                        return Err(fault(origin, Some(line), what, "correct the id or remove it"));
                    }
                }
            }
        }
        Ok(())
    }
}

/// A rule of an extended file under a rule of the same id: what the latter says wins.
fn over(base: Draft, own: Draft) -> Draft {
    let Draft { rule: mut merged, line, .. } = base;
    let rule = own.rule;
    if !rule.description.is_empty() {
        merged.description = rule.description;
    }
    if rule.entropy != 0.0 {
        merged.entropy = rule.entropy;
    }
    if rule.secret_group != 0 {
        merged.secret_group = rule.secret_group;
    }
    // Places that were worked out are those of the pattern and keywords that were there.
    if rule.regex.is_some() || !rule.keywords.is_empty() {
        merged.prepared = None;
    }
    merged.regex = rule.regex.or(merged.regex);
    merged.path = rule.path.or(merged.path);
    merged.tags = merged.tags.iter().chain(rule.tags.iter()).cloned().collect();
    merged.keywords.extend(rule.keywords);
    merged.allowlists.extend(rule.allowlists);
    if own.says_severity {
        merged.severity = rule.severity;
    }
    if own.says_confidence {
        merged.confidence = rule.confidence;
    }
    merged.url = rule.url.or(merged.url);
    merged.remedy = rule.remedy.or(merged.remedy);
    merged.demands.take_over(rule.demands);
    merged.examples.extend(rule.examples);
    merged.counter_examples.extend(rule.counter_examples);
    Draft { rule: merged, line, says_severity: true, says_confidence: true }
}

fn check_rule(draft: &Draft, origin: &Origin) -> Result<(), RulesFault> {
    let rule = &draft.rule;
    let at = |what: String, remedy: &str| Err(fault(origin, Some(draft.line), what, remedy));
    if rule.id.trim().is_empty() {
        return at("a rule has no id".to_owned(), "give it one");
    }
    let Some(regex) = &rule.regex else {
        if rule.path.is_none() {
            return at(format!("`{}` has neither regex nor path", quoted(&rule.id)), "give it one of them");
        }
        return Ok(());
    };
    // tyran's own patterns are not read before they are needed; its tests read them all.
    if rule.secret_group > 0 && *origin != Origin::Builtin {
        let groups = regex.tree().map_err(|error| pattern_fault(&error, draft.line, origin))?.groups;
        if usize::try_from(groups).is_ok_and(|groups| rule.secret_group > groups) {
            let what = format!(
                "secretGroup of `{}` is {}, but its regex has {groups} groups",
                quoted(&rule.id),
                rule.secret_group
            );
            return at(what, "lower it");
        }
    }
    Ok(())
}

fn pattern_fault(error: &PatternFault, line: usize, origin: &Origin) -> RulesFault {
    fault(origin, Some(line), format!("a regex is not RE2: {error}"), "correct it")
}

fn demands(own: &OwnParts, at: &dyn Fn(String, &str) -> RulesFault) -> Result<Demands, RulesFault> {
    let outcome = |name: &Option<String>, key: &str, default: Outcome| match name.as_deref() {
        None => Ok(default),
        Some("keep") if key == "placeholders" => Ok(Outcome::Keep),
        Some("note") => Ok(Outcome::Note),
        Some("drop") => Ok(Outcome::Drop),
        Some(other) => Err(at(format!("{key} `{}` is unknown", quoted(other)), "use note or drop")),
    };
    let checksum = own.checksum.as_deref().map(|name| {
        verify::named(name)
            .ok_or_else(|| at(format!("checksum `{}` is unknown", quoted(name)), "use one of the validators"))
    });
    let requires = own.requires.iter().map(|name| {
        one_of(name, KINDS).ok_or_else(|| {
            at(format!("requires `{}` is unknown", quoted(name)), "use digit, lower, upper, letter or symbol")
        })
    });
    let globs = |globs: &[String]| -> Result<Vec<Glob>, RulesFault> {
        let read = |glob: &String| {
            Glob::new(glob).map_err(|_| at(format!("glob `{}` cannot be read", quoted(glob)), "correct it"))
        };
        globs.iter().map(read).collect()
    };
    let keep_confidence = match own.on_valid.as_deref() {
        None | Some("raise") => false,
        Some("keep") => true,
        Some(other) => return Err(at(format!("on_valid `{}` is unknown", quoted(other)), "use raise or keep")),
    };
    Ok(Demands {
        checksum: checksum.transpose()?,
        on_invalid: outcome(&own.on_invalid, "on_invalid", Outcome::Note)?,
        keep_confidence,
        distinct: usize::try_from(own.distinct).unwrap_or(0),
        requires: requires.collect::<Result<_, _>>()?,
        stopwords: own.stopwords.iter().map(|word| word.to_lowercase()).collect(),
        placeholders: outcome(&own.placeholders, "placeholders", Outcome::Keep)?,
        files: globs(&own.files)?,
        not_files: globs(&own.not_files)?,
        context: own.context.as_ref().map(context),
    })
}

fn context(parts: &ContextParts) -> Context {
    let lower = |words: &[String]| words.iter().map(|word| word.to_lowercase()).collect();
    Context {
        any: lower(&parts.any),
        none: lower(&parts.none),
        lines: usize::try_from(parts.lines).unwrap_or(0),
        path: parts.path,
    }
}

const SEVERITIES: &[(&str, Severity)] =
    &[("low", Severity::Low), ("medium", Severity::Medium), ("high", Severity::High), ("critical", Severity::Critical)];
const CONFIDENCES: &[(&str, Confidence)] =
    &[("note", Confidence::Note), ("low", Confidence::Low), ("medium", Confidence::Medium), ("high", Confidence::High)];
const KINDS: &[(&str, CharacterKind)] = &[
    ("digit", CharacterKind::Digit),
    ("lower", CharacterKind::Lower),
    ("upper", CharacterKind::Upper),
    ("letter", CharacterKind::Letter),
    ("symbol", CharacterKind::Symbol),
];

fn one_of<T: Copy>(name: &str, choices: &[(&str, T)]) -> Option<T> {
    choices.iter().find(|(choice, _)| *choice == name).map(|&(_, value)| value)
}

fn lower_text(text: &str) -> String {
    String::from_utf8_lossy(&super::allowlist::lower(text.as_bytes())).into_owned()
}

/// Major, minor and patch of a version such as `v8.25.0`; what follows is passed over.
fn semantic_version(version: &str) -> Option<(u64, u64, u64)> {
    let plain = version.trim().strip_prefix('v').unwrap_or(version.trim());
    let core = plain.split(['-', '+']).next()?;
    let mut numbers = core.split('.').map(|part| part.parse::<u64>().ok());
    let major = numbers.next()??;
    let rest: Vec<u64> = numbers.collect::<Option<_>>()?;
    Some((major, rest.first().copied().unwrap_or(0), rest.get(1).copied().unwrap_or(0)))
}
