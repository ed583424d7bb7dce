//! Checks a file for one choice of sizes, or for the smallest sizes that fit.

use super::checker::{Checker, add};
use super::value::{Env, no_span};
use super::world::World;
use super::{bind, imports, names};
use crate::diagnostic::{Code, Diagnostic, Severity, codes, near::did_you_mean};
use crate::source::{Loader, Sources};
use crate::syntax::ast::{Expr, ExprKind, FileId, ItemKind, Predicate, Span};
use crate::syntax::{self, MAX_DIAGNOSTICS};
use crate::types::Program;
use std::collections::BTreeMap;

/// What to check and with which sizes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// NAME=VALUE: sizes, models and run parameters, in any order.
    pub bindings: Vec<(String, String)>,
    /// Which predicate of the file, if it has several.
    pub predicate: Option<String>,
    /// Give sizes without a value the smallest ones (from 1) for which the program is right, models
    /// the library's `DigitsNet`, and run parameters 1. Otherwise a size without a value is an error.
    pub defaults: bool,
}

/// A program that is right.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The program; [`Program::sizes`] says for which sizes.
    pub program: Program,
    /// Warnings: code that is allowed but is probably a mistake.
    pub warnings: Vec<Diagnostic>,
    /// Some sizes had no value and were chosen.
    pub chosen: bool,
}

/// Checks a predicate of a file.
///
/// `file` is an id of `sources`; files of the library and of models that bindings name are added to
/// `sources`, so that messages can point into them. `loader` reads the latter.
///
/// # Errors
///
/// Everything wrong with the file, in order of place; warnings among it. With
/// [`Options::defaults`], for the sizes that come nearest to a right program.
pub fn check(
    sources: &mut Sources,
    file: FileId,
    options: &Options,
    loader: &mut dyn Loader,
) -> Result<Checked, Vec<Diagnostic>> {
    check_given(sources, file, options, &BTreeMap::new(), loader)
}

/// The same of bindings that stand at places of a file, by name; of what is not among them the command line says it.
///
/// # Errors
///
/// As [`check`].
pub fn check_given(
    sources: &mut Sources,
    file: FileId,
    options: &Options,
    places: &BTreeMap<String, Span>,
    loader: &mut dyn Loader,
) -> Result<Checked, Vec<Diagnostic>> {
    let session = Session::new(sources, file, options, places, loader)?;
    let chosen = options.defaults && !session.missing(&options.bindings).is_empty();
    if !chosen {
        let outcome = session.run(sources, &options.bindings, true);
        return session.finish(outcome, false);
    }
    let (sizes, mut outcome) = session.smallest(sources, &options.bindings);
    let sizes: Vec<String> = sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
    for d in &mut outcome.1 {
        if d.severity == Severity::Error && SIZED.contains(&d.code) {
            let text = format!("sizes were not given; this is for {}", sizes.join(" "));
            d.hints.push(text.into());
        }
    }
    session.finish(outcome, true)
}

/// A parsed file with its surroundings, to be checked with one choice of sizes or several.
struct Session {
    world: World,
    loaded: bind::Loaded,
    module: usize,
    predicate: Predicate,
    /// Problems that do not depend on sizes.
    diags: Vec<Diagnostic>,
    file: FileId,
    places: BTreeMap<String, Span>,
}

/// The program, unless there are errors, and all diagnostics.
type Outcome = (Option<Program>, Vec<Diagnostic>);

/// Codes of errors that may disappear with other sizes.
const SIZED: &[Code] =
    &[codes::INDEX, codes::REQUIRE, codes::COMMITTEE, codes::CONST_EVAL, codes::SIZE];

/// NAME=VALUE.
type Bindings = Vec<(String, String)>;

/// How many choices of sizes are tried before giving up.
const MAX_TRIES: usize = 256;

/// Sizes tried go from 1 to this, and if none fits, to the numbers that the predicate names.
const MAX_TRIED: i64 = 9;

/// No larger size is tried: checking walks over all members.
const MOST_TRIED: i64 = 1000;

/// The model that is used where no model was given.
const DEFAULT_MODEL: &str = "DigitsNet";

impl Session {
    fn new(
        sources: &mut Sources,
        file: FileId,
        options: &Options,
        places: &BTreeMap<String, Span>,
        loader: &mut dyn Loader,
    ) -> Result<Session, Vec<Diagnostic>> {
        let text = sources.text(file).to_owned();
        let (tree, mut diags) = syntax::parse(file, &text);
        if diags.iter().any(|d| d.severity == Severity::Error) {
            return Err(diags);
        }
        let mut world = World::new(sources, &mut diags);
        let module = world.add_file(&text, tree, &mut diags);
        names::resolve(&world, module, &mut diags);
        let predicate = match choose(&world, module, options.predicate.as_deref(), file) {
            Ok(predicate) => predicate,
            Err(error) => {
                diags.push(*error);
                return Err(sorted(diags));
            }
        };
        let bindings = (options.bindings.as_slice(), places);
        let loaded = bind::load(&mut world, sources, bindings, &predicate, loader, &mut diags);
        let places = places.clone();
        Ok(Session { world, loaded, module, predicate, diags, file, places })
    }

    /// Checks with these bindings; `suggest` looks for sizes to propose if some are missing.
    fn run(&self, sources: &Sources, bindings: &[(String, String)], suggest: bool) -> Outcome {
        let p = &self.predicate;
        let mut checker = Checker::new(&self.world, sources, &self.places);
        checker.unknown_bindings(p, bindings);
        let wrong_names = !checker.diags.is_empty();
        let missing = self.missing(bindings);
        let command = (suggest && !missing.is_empty() && !wrong_names)
            .then(|| self.command(sources, bindings));
        let mut env = Env::new(self.module);
        let bound = checker.bind(&mut env, p, bindings, &self.loaded, command.as_deref());
        if bound.is_err() && !missing.is_empty() {
            return (None, checker.diags);
        }
        let body = checker.body(&mut env, p);
        let right = checker.diags.iter().all(|d| d.severity == Severity::Warning);
        match (bound, body) {
            (Ok(sizes), Ok((body, demands))) if right => {
                checker.unused(&body);
                // Of a wrong import there is enough to say.
                let named = self.diags.iter().all(|d| d.severity == Severity::Warning);
                let unused = named.then(|| imports::unused(sources, self.file));
                unused.into_iter().flatten().for_each(|warning| checker.warn(warning));
                let program = Program {
                    name: p.name.name.clone(),
                    sizes,
                    parties: checker.parties,
                    models: checker.models,
                    functions: checker.functions,
                    vars: checker.vars,
                    body,
                    demands,
                };
                (Some(program), checker.diags)
            }
            _ => (None, checker.diags),
        }
    }

    /// The command line that binds everything, with sizes that work if any are found.
    fn command(&self, sources: &Sources, bindings: &[(String, String)]) -> String {
        let (found, _) = self.smallest(sources, bindings);
        let mut words = vec!["slvrc check".to_owned(), sources.name(self.file).to_owned()];
        for size in &self.predicate.sizes {
            let name = &size.name.name;
            if let Some((_, value)) = found.iter().find(|(n, _)| n == name) {
                words.push(format!("{name}={value}"));
            }
        }
        for param in &self.predicate.params {
            let name = &param.name.name;
            match found.iter().find(|(n, _)| n == name) {
                Some((_, value)) => words.push(format!("{name}={value}")),
                None if param.default.is_none() => words.push(format!("{name}=1")),
                None => {}
            }
        }
        words.join(" ")
    }

    /// Completes bindings with the smallest sizes for which the program is right; with what comes
    /// nearest if none is.
    fn smallest(&self, sources: &Sources, bindings: &[(String, String)]) -> (Bindings, Outcome) {
        let p = &self.predicate;
        let mut fixed = bindings.to_vec();
        let mut open = Vec::new();
        for name in self.missing(bindings) {
            match p.sizes.iter().find(|s| s.name.name == name) {
                Some(size) if !size.is_model => open.push(name),
                Some(_) => fixed.push((name, DEFAULT_MODEL.to_owned())),
                None => fixed.push((name, "1".to_owned())),
            }
        }
        let mut best: Option<((usize, usize), Bindings, Outcome)> = None;
        let small = ascending(open.len()).take(MAX_TRIES);
        // A requirement or an index may name a size that is larger.
        let large = named_numbers(p);
        let large = std::iter::once_with(|| tuples_of(&large, open.len())).flatten();
        for choice in small.chain(large.take(MAX_TRIES)) {
            let mut all = fixed.clone();
            all.extend(open.iter().cloned().zip(choice.iter().map(i64::to_string)));
            let outcome = self.run(sources, &all, false);
            let errors = || outcome.1.iter().filter(|d| d.severity == Severity::Error);
            // What a requirement excludes is no candidate as long as there are others.
            let excluded = errors().filter(|d| d.code == codes::REQUIRE).count();
            let score = (excluded, errors().count());
            if best.as_ref().is_none_or(|(least, ..)| score < *least) {
                best = Some((score, all, outcome));
            }
            if score == (0, 0) {
                break;
            }
        }
        best.map(|(_, all, outcome)| (all, outcome)).unwrap_or_default()
    }

    /// Names of sizes and run parameters without value and default.
    fn missing(&self, bindings: &[(String, String)]) -> Vec<String> {
        let Predicate { sizes, params, .. } = &self.predicate;
        let sizes = sizes.iter().filter(|s| s.default.is_none()).map(|s| &s.name.name);
        let params = params.iter().filter(|p| p.default.is_none()).map(|p| &p.name.name);
        let mut names: Vec<String> = Vec::new();
        for name in sizes.chain(params).filter(|n| !bindings.iter().any(|(b, _)| b == *n)) {
            // A name given to two sizes is an error of its own.
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn finish(&self, outcome: Outcome, chosen: bool) -> Result<Checked, Vec<Diagnostic>> {
        let (program, found) = outcome;
        let mut diags = self.diags.clone();
        for d in found {
            add(&mut diags, d);
        }
        let diags = sorted(diags);
        match program {
            Some(program) if diags.iter().all(|d| d.severity == Severity::Warning) => {
                Ok(Checked { program, warnings: diags, chosen })
            }
            _ => Err(diags),
        }
    }
}

/// Sizes beyond [`MAX_TRIED`] that a predicate names: each number in it, and the next.
fn named_numbers(p: &Predicate) -> Vec<i64> {
    let mut rest: Vec<&Expr> = p.body.iter().flat_map(|s| s.kind.exprs()).collect();
    let mut found = std::collections::BTreeSet::new();
    while let Some(e) = rest.pop() {
        if let ExprKind::Int(i) = e.kind {
            found.extend([i, i.saturating_add(1)]);
        }
        rest.extend(e.children());
    }
    found.into_iter().filter(|n| (MAX_TRIED + 1..=MOST_TRIED).contains(n)).collect()
}

/// Most tuples that are listed.
const MOST_TUPLES: usize = 1 << 15;

/// Tuples in which one of these numbers is, and else a small one, by ascending sum. For more than four sizes there are
/// too many, and none is tried.
fn tuples_of(large: &[i64], n: usize) -> Vec<Vec<i64>> {
    if large.is_empty() || n > 4 {
        return Vec::new();
    }
    let each = (MOST_TUPLES as f64).powf(1.0 / n as f64) as usize;
    let values: Vec<i64> = [1, 2, 3].iter().chain(large).copied().take(each).collect();
    let mut all = vec![Vec::new()];
    for _ in 0..n {
        all = all
            .iter()
            .flat_map(|t: &Vec<i64>| values.iter().map(move |v| [t.as_slice(), &[*v]].concat()))
            .collect();
    }
    all.retain(|t| t.iter().any(|v| *v > MAX_TRIED));
    all.sort_by_key(|t| t.iter().sum::<i64>());
    all
}

/// Tuples of numbers from 1 to [`MAX_TRIED`], by ascending sum, then in lexical order.
fn ascending(n: usize) -> impl Iterator<Item = Vec<i64>> {
    fn tuples(n: usize, sum: i64) -> Vec<Vec<i64>> {
        if n == 0 {
            return if sum == 0 { vec![Vec::new()] } else { Vec::new() };
        }
        let mut out = Vec::new();
        for first in 1..=MAX_TRIED.min(sum - (n as i64 - 1)) {
            for mut rest in tuples(n - 1, sum - first) {
                rest.insert(0, first);
                out.push(rest);
            }
        }
        out
    }
    (n as i64..=n as i64 * MAX_TRIED).flat_map(move |sum| tuples(n, sum))
}

/// The predicate asked for, or the only one.
fn choose(
    world: &World,
    module: usize,
    wanted: Option<&str>,
    file: FileId,
) -> Result<Predicate, Box<Diagnostic>> {
    let own = world.modules[module].own.iter().map(|id| &world.items[id.0].item.kind);
    let all = own.filter_map(|kind| match kind {
        ItemKind::Predicate(p) => Some(p),
        _ => None,
    });
    let all: Vec<&Predicate> = all.collect();
    let names: Vec<&str> = all.iter().map(|p| p.name.name.as_str()).collect();
    let Some(first) = all.first() else {
        return Err(Box::new(
            codes::NO_PREDICATE
                .error("the file has no predicate")
                .label(no_span(file), "nothing to run in this file")
                .hint("a check is a `predicate Name[sizes](parameters) { .. }`"),
        ));
    };
    let Some(wanted) = wanted else {
        // That they have one name was said before; any of them does to go on.
        if names.iter().all(|n| *n == names[0]) {
            return Ok(Predicate::clone(first));
        }
        let mut error = codes::NO_PREDICATE
            .error("the file has several predicates")
            .label(first.name.span, "one");
        for p in &all[1..] {
            error = error.label(p.name.span, "another");
        }
        let mut different = names.clone();
        different.sort_unstable();
        different.dedup();
        return Err(Box::new(
            error.hint(match different.len() < names.len() {
                true => "two have one name: rename one of them, then say which with `--predicate`"
                    .to_owned(),
                false => format!("say which: `--predicate {}`", names.join("` or `--predicate ")),
            }),
        ));
    };
    match all.iter().find(|p| p.name.name == wanted) {
        Some(p) => Ok(Predicate::clone(p)),
        None => Err(Box::new(
            codes::NO_PREDICATE
                .error(format!("the file has no predicate `{wanted}`"))
                .label(first.name.span, "has this one")
                .hint(match did_you_mean(wanted, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it has {}", names.join(", ")),
                }),
        )),
    }
}

/// In order of place, errors and warnings mixed, at most [`MAX_DIAGNOSTICS`] of each.
fn sorted(mut diags: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diags.sort_by_key(|d| d.labels.first().map(|(s, _)| (s.file, s.start, d.code)));
    let is_error = |d: &Diagnostic| d.severity == Severity::Error;
    let errors = diags.iter().filter(|d| is_error(d)).count();
    let mut shown = [0usize; 2];
    diags.retain(|d| {
        let shown = &mut shown[usize::from(is_error(d))];
        *shown += 1;
        *shown <= MAX_DIAGNOSTICS
    });
    if errors > MAX_DIAGNOSTICS
        && let Some(last) = diags.iter_mut().rfind(|d| is_error(d))
    {
        last.hints.push(format!("{} more errors follow", errors - MAX_DIAGNOSTICS).into());
    }
    diags
}
