//! Types of what stands in a document.

use super::document::Document;
use super::names::DefKind;
use super::position::Lines;
use super::problem::{Place, Problem, Where};
use super::typed::{Predicate, Typed, key};
use crate::cost::{self, LineRow};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::rounding::upward;
use crate::pipeline;
use crate::report::certificate::Certificate;
use crate::source::{Loader, Sources};
use crate::syntax::ast::{Block, FileId, Ident, ItemKind, Span};
use crate::syntax::{embedded, embedded::Embedded};
use crate::types::model::Model;
use crate::types::{self, Checked, Options, Program, Stmt};
use std::collections::BTreeMap;

/// Most predicates and models of a file that are typed.
const MOST: usize = 8;

/// Longer texts are parsed, not typed, while they are written.
const MAX_TEXT: usize = 1 << 18;

/// A message of a check, as an editor shows it.
fn problem(d: &Document, sources: &Sources, file: FileId, found: &Diagnostic) -> Problem {
    d.problem_in(found, |span| {
        if span.file == file {
            let inside = (span.start as usize) < d.text.len().max(1);
            return inside.then(|| Place { file: Where::Here, range: d.range(span) });
        }
        let name = sources.name(span.file);
        let lists = [embedded::STD, embedded::MODELS];
        let (name, text) = lists.into_iter().flatten().find(|(n, _)| *n == name)?;
        let range = Lines::new(text).range(text, span);
        Some(Place { file: Where::Library(name), range })
    })
}

/// Appended to the text of a file so that one of its models is typed.
const MODEL_CHECK: &str = "\npredicate Check_[M_: model]() {
    parties Client_;
    parties Server_;
    input weights_: secret weights M_ in 0..1 from Client_;
    reveal weights_ to Server_ as weights_;
}\n";

impl Document {
    /// Types what is in the file for the smallest sizes that fit, and compiles it.
    pub fn check(&self) -> Typed {
        let mut typed = self.types(&[], &mut Embedded);
        for predicate in typed.predicates.clone() {
            let compiled = pipeline::compile(&predicate.program, &predicate.sources);
            match &compiled {
                Ok(c) => {
                    typed.compiled(self, &predicate, &c.warnings);
                    let places = cost::places(&predicate.program, &c.optimised, &predicate.sources);
                    let total = cost::Cost::of(&c.circuit);
                    let rows = cost::rows_by_line(&total, &places, &self.text);
                    typed.certify(&predicate, &Certificate::of(c, &places), &rows);
                }
                Err(refused) => typed.compiled(self, &predicate, refused),
            }
        }
        typed
    }

    /// Types what is in the file with what is bound of the names of each predicate; other sizes are the smallest that
    /// fit.
    pub fn types(&self, bindings: &[(String, String)], loader: &mut dyn Loader) -> Typed {
        if self.has_syntax_errors() || self.library || self.text.len() > MAX_TEXT {
            return Typed::default();
        }
        check(self, bindings, loader)
    }
}

fn check(document: &Document, given: &[(String, String)], loader: &mut dyn Loader) -> Typed {
    let mut typed = Typed::default();
    let mut predicates = Vec::new();
    let mut models = Vec::new();
    for item in &document.tree.items {
        match &item.kind {
            ItemKind::Predicate(p) => predicates.push(p),
            ItemKind::Block(b) if b.is_model && b.sizes.iter().all(|s| s.default.is_some()) => {
                models.push(b.name.name.clone());
            }
            _ => {}
        }
    }
    // Without a predicate, names are still resolved.
    let bare = predicates.is_empty();
    let one = |p: String| Options { predicate: Some(p), defaults: true, ..Options::default() };
    for predicate in predicates.into_iter().take(MOST) {
        let sizes = predicate.sizes.iter().map(|s| &s.name.name);
        let names: Vec<&String> =
            sizes.chain(predicate.params.iter().map(|p| &p.name.name)).collect();
        let mut bindings: Vec<(String, String)> = Vec::new();
        for (name, value) in given.iter().filter(|(name, _)| names.contains(&name)) {
            if bindings.iter().all(|(n, _)| n != name) {
                bindings.push((name.clone(), value.clone()));
            }
        }
        let options = Options { bindings, ..one(predicate.name.name.clone()) };
        typed.add(document, &document.text, &options, loader);
    }
    let with_check = format!("{}{MODEL_CHECK}", document.text);
    for model in models.into_iter().take(MOST) {
        let bindings = vec![("M_".to_owned(), model)];
        let options = Options { bindings, ..one("Check_".to_owned()) };
        typed.add(document, &with_check, &options, loader);
    }
    if bare {
        typed.add(document, &document.text, &Options::default(), loader);
    }
    typed.problems.extend(document.misgiven().iter().map(|d| document.problem(d)));
    typed.problems.sort_by_key(|p| p.range);
    typed
}

impl Typed {
    /// Adds what one check of a text finds; the text is the document's with something behind it.
    fn add(&mut self, document: &Document, text: &str, options: &Options, loader: &mut dyn Loader) {
        let mut sources = Sources::new();
        let file = sources.add(&document.name, text);
        let places = document.given.iter().rev();
        let places = places.filter_map(|w| Some((w.name.name.clone(), w.value.as_ref()?.span)));
        let places: BTreeMap<String, Span> = places.collect();
        let found = match types::check_given(&mut sources, file, options, &places, loader) {
            Ok(Checked { program, warnings, chosen }) => {
                self.learn(document, file, &program);
                if text.len() == document.text.len() {
                    let sources = sources.clone();
                    self.predicates.push(Predicate { program, sources, file, chosen });
                }
                warnings
            }
            Err(errors) => errors,
        };
        self.say(document, &sources, file, &found);
    }

    /// Adds messages about a document.
    fn say(&mut self, document: &Document, sources: &Sources, file: FileId, found: &[Diagnostic]) {
        for diagnostic in found {
            let problem = problem(document, sources, file, diagnostic);
            let known = |p: &Problem| p.range == problem.range && p.code == problem.code;
            if !self.problems.iter().any(known) {
                self.problems.push(problem);
            }
        }
    }

    /// Adds what is said of a predicate of a document when it is compiled.
    pub fn compiled(&mut self, document: &Document, of: &Predicate, said: &[Diagnostic]) {
        self.say(document, &of.sources, of.file, said);
        self.problems.sort_by_key(|p| p.range);
    }

    /// Notes what is known of each statement's line of a predicate before it runs: the interval and the error of its
    /// values, and what it costs.
    pub fn certify(&mut self, of: &Predicate, known: &Certificate, rows: &[LineRow]) {
        let Predicate { program, sources, file, .. } = of;
        let file = *file;
        if cost::home(program) != Some(file) {
            return;
        }
        let text = sources.text(file);
        for stmt in &program.body {
            let of_file = stmt.defines().iter().filter_map(|v| program.vars.get(v.0 as usize));
            for var in of_file.filter(|v| v.span.file == file) {
                let before = text.get(..var.span.start as usize).unwrap_or("");
                let line = before.matches('\n').count() as u32 + 1;
                let facts = self.facts.entry(key(var.span)).or_default();
                if let Some(l) = known.lines.iter().find(|l| l.line == line) {
                    let (lo, hi) = l.range;
                    facts.proven = Some(format!(
                        "values proven in {lo:.4} to {hi:.4} ({} bits), off by at most {} for all inputs, \
                         and {} by rounding them",
                        l.bits,
                        upward(l.proven),
                        upward(l.rounding_inputs)
                    ));
                }
                if let Some(r) = rows.iter().find(|r| r.line == line && r.rounds > 0) {
                    let bytes = cost::mean_party(r.bytes);
                    let waits = r.critical;
                    facts.cost = Some(format!(
                        "{bytes} bytes by each party in {} rounds, {waits} of them waited for",
                        r.rounds
                    ));
                }
            }
        }
    }

    /// Notes what a typed program says of the definitions in a document.
    fn learn(&mut self, document: &Document, file: FileId, program: &Program) {
        let sizes: Vec<String> = program
            .sizes
            .iter()
            .filter(|(name, _)| name != "M_")
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let sizes = sizes.join(" ");
        for var in program.vars.iter().filter(|v| v.span.file == file) {
            let facts = self.facts.entry(key(var.span)).or_default();
            let ty = program.ty_text(&var.ty);
            if !facts.types.contains(&ty) {
                facts.types.push(ty);
                facts.sizes.clone_from(&sizes);
            }
        }
        for stmt in &program.body {
            if let Stmt::Input { var, range: (lo, hi), .. }
            | Stmt::State { var, range: (lo, hi), .. } = stmt
                && let Some(var) = program.vars.get(var.0 as usize)
                && lo.is_finite()
            {
                let facts = self.facts.entry(key(var.span)).or_default();
                facts.range = Some(format!("{lo} to {hi}"));
            }
        }
        for set in program.parties.iter().filter(|s| s.span.file == file) {
            let members =
                if set.size == 1 { "1 member".into() } else { format!("{} members", set.size) };
            self.note(key(set.span), members, &sizes);
        }
        let sized = document.names.defs.iter().filter(|d| d.kind == DefKind::Size);
        for def in sized {
            // Sizes of the predicate, not those of functions of the same name.
            let of_predicate = document.tree.items.iter().any(|i| {
                matches!(&i.kind, ItemKind::Predicate(p) if p.name.name == program.name)
                    && i.span.range().contains(&(def.at.start as usize))
            });
            if let Some((_, value)) =
                program.sizes.iter().find(|(n, _)| of_predicate && *n == def.name)
            {
                self.note(key(def.at), format!("checked with {}={value}", def.name), "");
            }
        }
        self.models(document, file, program);
    }

    /// Notes shapes and weights of the models of a document, and of their layers.
    fn models(&mut self, document: &Document, file: FileId, program: &Program) {
        for model in &program.models {
            // Its input stands where the model's parameter does.
            let input = &program.vars[model.x.0 as usize];
            if input.span.file != file {
                continue;
            }
            let blocks = document.tree.items.iter().filter_map(|i| match &i.kind {
                ItemKind::Block(b) if b.is_model => Some(b),
                _ => None,
            });
            let reads =
                |b: &Block| b.params.iter().any(|p| p.name.span.range() == input.span.range());
            for block in blocks.filter(|b| reads(b)) {
                let (from, to, len) = (&model.input, &model.output, model.len);
                let text = format!("{from:?} to {to:?}, {len} weights");
                self.note(key(block.name.span), text, "");
                for name in block.layers.iter().flat_map(|l| &l.names) {
                    self.layer(program, model, name);
                }
            }
        }
    }

    /// Notes the parameters and the result of a layer, which may be a block of several.
    fn layer(&mut self, program: &Program, model: &Model, layer: &Ident) {
        const MOST: usize = 8;
        let own = |name: &str| {
            let rest = name.strip_prefix(&layer.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let vars =
            model.body.lets.iter().flat_map(|d| &d.vars).map(|v| &program.vars[v.0 as usize]);
        if let Some(result) = vars.rev().find(|v| own(&v.name)) {
            self.note(key(layer.span), format!("result {:?}", result.ty.shape()), "");
        }
        for p in model.params.iter().filter(|p| own(&p.name)).take(MOST) {
            self.note(key(layer.span), format!("`{}` {:?}", p.name, p.shape), "");
        }
    }

    fn note(&mut self, at: (u32, u32), text: String, sizes: &str) {
        let facts = self.facts.entry(at).or_default();
        if !facts.notes.contains(&text) {
            facts.notes.push(text);
            facts.sizes = sizes.to_owned();
        }
    }
}
