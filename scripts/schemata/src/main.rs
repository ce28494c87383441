//! Writes a file with all of its mutants in it, each asleep until it is chosen.
//!
//!     schemata FIRST FILE OUT MAP [ID...]
//!
//! `FIRST` is the number of the first mutant; those whose numbers follow are left out, since they do not
//! compile. `OUT` gets the file, `MAP` one line per mutant: number, line, first and last byte of it in
//! `OUT`, and what it does, with tabs between. A mutant asks `crate::mutant::on(NUMBER)`.
//!
//! What a mutant is, no other changes: text is only put around what is there, so that any of them can
//! stand in the same expression. A `const fn` cannot ask anything, and is left alone, as is what macros
//! are given.

use std::collections::HashSet;
use std::{env, fs, process};

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Pat, ReturnType, Signature, Stmt, Type, UnOp};

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let [first, file, out, map, left_out @ ..] = args.as_slice() else {
        eprintln!("schemata FIRST FILE OUT MAP [ID...]");
        process::exit(2);
    };
    let text = fs::read_to_string(file).expect("the file can be read");
    let tree = syn::parse_file(&text).expect("the file is Rust");
    let mut mutants = Mutants {
        text: &text,
        lines: std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect(),
        next: first.parse().expect("a number"),
        left_out: left_out.iter().map(|id| id.parse().expect("a number")).collect(),
        edits: Vec::new(),
        found: Vec::new(),
        inside: String::new(),
        asleep: false,
    };
    mutants.visit_file(&tree);
    let (written, places) = mutants.written();
    fs::write(out, written).expect("the file can be written");
    let lines: String = mutants
        .found
        .iter()
        .map(|found| {
            let (start, end) = (place(&places, found.start), place(&places, found.end));
            format!("{}\t{}\t{start}\t{end}\t{}: {}\n", found.id, found.line, found.inside, found.what)
        })
        .collect();
    fs::write(map, lines).expect("the map can be written");
    println!("{}", mutants.next);
}

/// Where a byte of the old text is in the new one: (old, new) pairs, in order.
fn place(places: &[(usize, usize)], at: usize) -> usize {
    let before = places.partition_point(|(old, _)| *old <= at).checked_sub(1).and_then(|index| places.get(index));
    before.map_or(at, |(old, new)| new + (at - old))
}

/// A text that is put in, or in the place of another.
struct Edit {
    at: usize,
    /// How much is taken away behind it.
    away: usize,
    text: String,
    /// What ends an expression comes before what begins the next; of two that begin at one place the
    /// longer comes first, of two that end the shorter.
    order: (bool, i64),
}

struct Found {
    id: u32,
    line: usize,
    start: usize,
    end: usize,
    inside: String,
    what: String,
}

struct Mutants<'t> {
    text: &'t str,
    lines: Vec<usize>,
    next: u32,
    left_out: HashSet<u32>,
    edits: Vec<Edit>,
    found: Vec<Found>,
    inside: String,
    /// In a `const fn`, a `const` or a test.
    asleep: bool,
}

impl Mutants<'_> {
    fn range(&self, span: Span) -> (usize, usize) {
        let byte = |place: proc_macro2::LineColumn| {
            let start = self.lines[place.line - 1];
            let line = &self.text[start..];
            start + line.char_indices().nth(place.column).map_or(line.len(), |(at, _)| at)
        };
        (byte(span.start()), byte(span.end()))
    }

    /// A number for one more mutant; `None` where it is left out.
    fn id(&mut self, span: Span, what: impl Into<String>) -> Option<u32> {
        if self.asleep {
            return None;
        }
        let id = self.next;
        self.next += 1;
        if self.left_out.contains(&id) {
            return None;
        }
        let (start, end) = self.range(span);
        let (inside, what) = (self.inside.clone(), what.into());
        self.found.push(Found { id, line: span.start().line, start, end, inside, what });
        Some(id)
    }

    fn around(&mut self, span: Span, before: String, behind: String) {
        let (start, end) = self.range(span);
        let length = (end - start) as i64;
        self.edits.push(Edit { at: start, away: 0, text: before, order: (true, -length) });
        self.edits.push(Edit { at: end, away: 0, text: behind, order: (false, length) });
    }

    fn instead(&mut self, span: Span, text: String) {
        let (start, end) = self.range(span);
        self.edits.push(Edit { at: start, away: end - start, text, order: (true, i64::MIN) });
    }

    fn written(&mut self) -> (String, Vec<(usize, usize)>) {
        self.edits.sort_by_key(|edit| (edit.at, edit.order));
        let (mut written, mut places, mut at) = (String::new(), Vec::new(), 0);
        for edit in &self.edits {
            written.push_str(&self.text[at..edit.at]);
            written.push_str(&edit.text);
            at = edit.at + edit.away;
            places.push((at, written.len()));
        }
        written.push_str(&self.text[at..]);
        (written, places)
    }

    /// Bodies that give something simple at once.
    fn body(&mut self, signature: &Signature, block: &Block) {
        let values = match &signature.output {
            ReturnType::Default => vec![String::new()],
            ReturnType::Type(_, kind) => values(kind),
        };
        let mut early = String::new();
        for value in values {
            let what = if value.is_empty() { "do nothing".to_owned() } else { format!("give {value}") };
            if let Some(id) = self.id(signature.ident.span(), what) {
                early.push_str(&format!(" if crate::mutant::on({id}) {{ return {value}; }}"));
            }
        }
        if !early.is_empty() {
            let (start, _) = self.range(block.brace_token.span.open());
            self.edits.push(Edit { at: start + 1, away: 0, text: early, order: (true, i64::MIN) });
        }
    }

    fn function(&mut self, signature: &Signature, block: &Block, within: impl FnOnce(&mut Self)) {
        let (outer, asleep) = (self.inside.clone(), self.asleep);
        self.inside =
            if outer.is_empty() { signature.ident.to_string() } else { format!("{outer}::{}", signature.ident) };
        self.asleep |= signature.constness.is_some();
        self.body(signature, block);
        within(self);
        (self.inside, self.asleep) = (outer, asleep);
    }

    fn binary(&mut self, node: &syn::ExprBinary) {
        let (whole, operator) = (node.span(), node.op.span());
        if holds_let(&node.left) || holds_let(&node.right) {
            return;
        }
        let shown = |op: &str| format!("{op} instead of {}", node.op.to_token_stream());
        match node.op {
            BinOp::And(_) | BinOp::Or(_) => {
                let is_and = matches!(node.op, BinOp::And(_));
                if let Some(id) = self.id(whole, shown(if is_and { "||" } else { "&&" })) {
                    let goes_on = if is_and { "!=" } else { "==" };
                    self.around(whole, format!("({{ let l{id}: bool = "), format!(" }} else {{ l{id} }} }})"));
                    self.instead(operator, format!("; if l{id} {goes_on} crate::mutant::on({id}) {{"));
                }
            }
            BinOp::Eq(_) | BinOp::Ne(_) => {
                let other = if matches!(node.op, BinOp::Eq(_)) { "!=" } else { "==" };
                if let Some(id) = self.id(whole, shown(other)) {
                    self.around(whole, format!("(crate::mutant::on({id}) ^ ("), "))".to_owned());
                }
            }
            BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                let own = node.op.to_token_stream().to_string();
                let others: &[&str] = match own.as_str() {
                    "<" => &["<=", ">"],
                    "<=" => &["<", ">"],
                    ">" => &[">=", "<"],
                    _ => &[">", "<"],
                };
                self.chosen(node, &own, others, "&");
            }
            BinOp::Add(_) => self.chosen(node, "+", &["-"], ""),
            BinOp::Sub(_) => self.chosen(node, "-", &["+"], ""),
            BinOp::Mul(_) => self.chosen(node, "*", &["+"], ""),
            _ => {}
        }
    }

    /// An operator of which one of several is chosen; the operands are worked out once.
    fn chosen(&mut self, node: &syn::ExprBinary, own: &str, others: &[&str], by: &str) {
        let (whole, mut choice) = (node.span(), String::new());
        for other in others {
            if let Some(id) = self.id(whole, format!("{other} instead of {own}")) {
                choice.push_str(&format!("if crate::mutant::on({id}) {{ l {other} r }} else "));
            }
        }
        if !choice.is_empty() {
            self.around(whole, format!("(match ({by}("), format!(")) {{ (l, r) => {choice}{{ l {own} r }} }})"));
            self.instead(node.op.span(), format!("), {by}("));
        }
    }

    fn condition(&mut self, condition: &Expr, what: &str) {
        // A comparison or a conjunction is a mutant of its own.
        if holds_let(condition) || matches!(condition, Expr::Binary(_) | Expr::Unary(_)) {
            return;
        }
        if let Some(id) = self.id(condition.span(), format!("the opposite of this {what}")) {
            self.around(condition.span(), format!("(crate::mutant::on({id}) ^ ("), "))".to_owned());
        }
    }
}

fn holds_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => holds_let(&binary.left) || holds_let(&binary.right),
        _ => false,
    }
}

/// Simple values of a type; a wrong guess does not compile, and is left out then.
fn values(kind: &Type) -> Vec<String> {
    let default = || vec!["Default::default()".to_owned()];
    let path = match kind {
        Type::Path(path) => path,
        Type::Reference(_) => return vec!["\"\"".to_owned(), "&[]".to_owned()],
        Type::Never(_) => return Vec::new(),
        Type::Tuple(tuple) if tuple.elems.is_empty() => return vec!["()".to_owned()],
        _ => return default(),
    };
    let Some(last) = path.path.segments.last() else { return default() };
    let inner = || match &last.arguments {
        syn::PathArguments::AngleBracketed(angle) => angle.args.iter().find_map(|argument| match argument {
            syn::GenericArgument::Type(kind) => Some(values(kind)),
            _ => None,
        }),
        _ => None,
    };
    match last.ident.to_string().as_str() {
        "bool" => vec!["true".to_owned(), "false".to_owned()],
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => vec!["0".to_owned(), "1".to_owned(), "2".to_owned()],
        "String" => vec!["String::new()".to_owned(), "\"xyzzy\".to_owned()".to_owned()],
        "Option" => std::iter::once("None".to_owned())
            .chain(inner().into_iter().flatten().map(|value| format!("Some({value})")))
            .collect(),
        "Result" => inner().unwrap_or_else(default).into_iter().map(|value| format!("Ok({value})")).collect(),
        // What a gate must not say by mistake.
        "Decision" => vec!["Decision::Pass".to_owned()],
        "Verdict" => vec!["Verdict::Pass(crate::verdict::Clearance::nothing_published())".to_owned()],
        "Answer" => vec![
            "Answer { stdout: String::new(), stderr: String::new(), exit: 0 }".to_owned(),
            "Answer { stdout: String::new(), stderr: String::new(), exit: 2 }".to_owned(),
        ],
        _ => default(),
    }
}

impl<'ast> Visit<'ast> for Mutants<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.function(&node.sig, &node.block, |mutants| visit::visit_item_fn(mutants, node));
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.function(&node.sig, &node.block, |mutants| visit::visit_impl_item_fn(mutants, node));
    }

    fn visit_item_impl(&mut self, node: &'ast syn::ItemImpl) {
        let outer = std::mem::replace(&mut self.inside, node.self_ty.to_token_stream().to_string());
        visit::visit_item_impl(self, node);
        self.inside = outer;
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        self.binary(node);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        if matches!(node.op, UnOp::Not(_))
            && let Some(id) = self.id(node.span(), "without !")
        {
            self.around(node.span(), format!("(crate::mutant::on({id}) ^ ("), "))".to_owned());
        }
        visit::visit_expr_unary(self, node);
    }

    fn visit_expr_if(&mut self, node: &'ast syn::ExprIf) {
        self.condition(&node.cond, "condition");
        visit::visit_expr_if(self, node);
    }

    fn visit_expr_while(&mut self, node: &'ast syn::ExprWhile) {
        self.condition(&node.cond, "condition");
        visit::visit_expr_while(self, node);
    }

    fn visit_expr_match(&mut self, node: &'ast syn::ExprMatch) {
        let takes_the_rest = node.arms.last().is_some_and(|arm| arm.guard.is_none() && matches!(arm.pat, Pat::Wild(_)));
        for arm in &node.arms {
            if let Some((_, guard)) = &arm.guard {
                if !holds_let(guard) {
                    let always = self.id(guard.span(), "a guard that always holds");
                    let never = self.id(guard.span(), "a guard that never holds");
                    let asked =
                        |id: Option<u32>| id.map_or("false".to_owned(), |id| format!("crate::mutant::on({id})"));
                    if always.is_some() || never.is_some() {
                        let before = format!("({} || !{} && (", asked(always), asked(never));
                        self.around(guard.span(), before, "))".to_owned());
                    }
                }
            } else if takes_the_rest
                && !matches!(arm.pat, Pat::Wild(_))
                && let Some(id) = self.id(arm.pat.span(), "without this arm")
            {
                self.around(arm.pat.span(), String::new(), format!(" if !crate::mutant::on({id})"));
            }
        }
        visit::visit_expr_match(self, node);
    }

    fn visit_stmt(&mut self, node: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = node
            && matches!(
                expression,
                Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) | Expr::Try(_) | Expr::Binary(_)
            )
            && let Some(id) = self.id(expression.span(), "without this statement")
        {
            self.around(node.span(), format!("if !crate::mutant::on({id}) {{ "), " }".to_owned());
        }
        visit::visit_stmt(self, node);
    }
}
