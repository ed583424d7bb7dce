//! What a predicate costs, proves and leaks, beside its lines: what `slvrc explain` prints, for the sizes at hand.

use super::library;
use super::protocol::{Diagnostic, INFORMATION, Position, Range, WARNING};
use slvr::build::Build;
use slvr::explain::{Report, beside};
use slvr::program::{self, Checked, Loaded, Source};
use slvr::{files, units};
use slvr_compiler::cost::NetProfile;
use slvr_compiler::diagnostic::Diagnostic as Diagnosis;
use slvr_compiler::ide::{Document, Predicate, Typed};
use slvr_compiler::pipeline;
use slvr_compiler::report::leaks::{Level, What};
use slvr_compiler::source::{FileId, LoadError, Loader};
use slvr_compiler::syntax::embedded::Embedded;
use slvr_compiler::syntax::{self, MAX_SOURCE};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is known of the predicates of a text.
pub struct Costs {
    pub of: Arc<Document>,
    /// By line, from 0: what stands beside it, and what its columns mean.
    pub lines: Vec<(u32, String, String)>,
    pub lenses: Vec<Lens>,
    pub leaks: Vec<Diagnostic>,
}

/// What stands above a predicate.
pub struct Lens {
    /// The line of its name, from 0.
    pub line: u32,
    pub predicate: String,
    /// What it costs, and who learns what.
    pub title: String,
}

/// For which sizes and which network a text is looked at: a comment in it says so, or else the editor.
pub struct Sizes {
    /// What is bound of the names of predicates.
    pub bindings: Vec<(String, String)>,
    /// The network whose protocols are taken.
    pub net: Option<NetProfile>,
}

impl Sizes {
    /// Those of a text; `usual` are the editor's.
    pub fn of(document: &Document, usual: &str) -> Sizes {
        let usual = match document.given.is_empty() {
            true => syntax::given(FileId(0), &format!("{} {usual}", syntax::SIZES)),
            false => document.given.clone(),
        };
        let words = usual.into_iter().filter_map(|w| Some((w.name.name, w.value?.name)));
        let mut bindings: Vec<(String, String)> = words.collect();
        let net = bindings.iter().find(|(n, _)| n == "net").and_then(|(_, v)| NetProfile::named(v));
        bindings.retain(|(n, _)| n != "net");
        Sizes { bindings, net }
    }
}

/// Reads models that stand in files beside the text.
pub struct SiblingFiles {
    folder: PathBuf,
    /// Names of the files that were asked for, whether they are there or not.
    pub read: Vec<OsString>,
}

impl SiblingFiles {
    /// Of a text with this URI.
    pub fn of(uri: &str) -> SiblingFiles {
        let path = library::path(uri).unwrap_or_default();
        let folder = path.parent().map(PathBuf::from).unwrap_or_default();
        SiblingFiles { folder, read: Vec::new() }
    }
}

impl Loader for SiblingFiles {
    fn load(&mut self, path: &str) -> Result<String, LoadError> {
        let path_of = self.folder.join(path);
        self.read.extend(path_of.file_name().map(OsString::from));
        files::read_text(&path_of, MAX_SOURCE as u64).or_else(|_| Embedded.load(path))
    }
}

/// A text changed while it was looked at.
pub struct Cancelled;

/// Asks whether somebody has typed.
#[derive(Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn check(&self) {
        if self.is_set() {
            // Nothing is wrong: no message is printed, and whoever called catches it.
            std::panic::resume_unwind(Box::new(Cancelled));
        }
    }
}

/// The report of a predicate with what else is said of it, or why there is none.
fn report(
    of: &Predicate,
    sizes: &Sizes,
    cancel: &Cancel,
) -> Result<(Report, Vec<Diagnosis>), Vec<Diagnosis>> {
    let build =
        Build { file: of.sources.name(of.file).into(), net: sizes.net.clone(), ..Build::default() };
    let how = build.how();
    let see = |_: &_, _: &_| cancel.check();
    cancel.check();
    let compiled = pipeline::compile_encoded(&of.program, &of.sources, how, None, see)?;
    cancel.check();
    let warnings = compiled.warnings.clone();
    let source = Source::new(checked(of, how), compiled);
    let nets = vec![NetProfile::lan(), NetProfile::wan()];
    Ok((Report::of(&build, Loaded::Source(Box::new(source)), nets), warnings))
}

/// Where sizes were chosen, the predicate for those that `slvrc check` tries besides: with a single member all is a leak.
fn larger(of: &Predicate, sizes: &Sizes) -> Option<Predicate> {
    if !of.chosen {
        return None;
    }
    let file = of.sources.name(of.file).to_owned();
    let predicate = Some(of.program.name.clone());
    let build = Build { file, predicate, bindings: sizes.bindings.clone(), ..Build::default() };
    let build = build.frozen(&of.sources);
    let found = program::larger(&build, &checked(of, build.how())).ok()??;
    let file = found.sources.find(&build.file)?;
    Some(Predicate { program: found.program, sources: found.sources, file, chosen: true })
}

fn checked(of: &Predicate, how: pipeline::Options) -> Checked {
    let (program, sources) = (of.program.clone(), of.sources.clone());
    Checked { program, sources, warnings: Vec::new(), chosen: of.chosen, how, clients: None }
}

/// Compiles the predicates of a text; `typed` learns what that says of it. Unwinds with [`Cancelled`] if it is told to.
pub fn costs(document: &Arc<Document>, typed: &mut Typed, sizes: &Sizes, cancel: &Cancel) -> Costs {
    let mut costs = Costs {
        of: Arc::clone(document),
        lines: Vec::new(),
        lenses: Vec::new(),
        leaks: Vec::new(),
    };
    for of in typed.predicates.clone() {
        let of = larger(&of, sizes).unwrap_or(of);
        let (r, warnings) = match report(&of, sizes, cancel) {
            Ok(found) => found,
            Err(refused) => {
                typed.compiled(document, &of, &refused);
                continue;
            }
        };
        cancel.check();
        typed.compiled(document, &of, &warnings);
        if let Some(certificate) = &r.certificate {
            typed.certify(&of, certificate, &r.lines);
        }
        let sizes = units::bound(&r.circuit.sizes);
        for row in r.lines.iter().filter(|row| row.line > 0) {
            if let Some(text) = beside(row) {
                let about = format!(
                    "rounds that wait for this line, bytes that a party sends, range and error of its value, with {sizes}"
                );
                costs.lines.push((row.line - 1, text, about));
            }
        }
        let title = title(&r, &sizes);
        let names = document.symbols();
        if let Some(symbol) = names.iter().find(|s| s.name == of.program.name) {
            let line = symbol.at.start.line;
            costs.lenses.push(Lens { line, predicate: of.program.name.clone(), title });
        }
        costs.leaks.extend(leaks(document, &r));
    }
    costs
}

/// The page of `slvrc explain --html` of a predicate.
pub fn page(typed: &Typed, sizes: &Sizes, predicate: &str) -> Option<String> {
    let of = typed.predicates.iter().find(|p| p.program.name == predicate)?;
    let of = larger(of, sizes).unwrap_or_else(|| of.clone());
    report(&of, sizes, &Cancel::default()).ok().map(|(r, _)| r.to_html())
}

fn title(r: &Report, sizes: &str) -> String {
    let mut parts = vec![
        format!("{} rounds", r.cost.rounds),
        format!("{} sent by a party", units::per_party(r.cost.bytes)),
    ];
    parts.extend(
        r.times.iter().map(|(net, t)| format!("{} on {}", units::seconds(t.total), net.name)),
    );
    let learned = r.leaks.learned.iter().filter(|l| l.what == What::Reveal);
    let learned: Vec<String> = learned.map(|l| format!("{} to {}", l.name, l.to)).collect();
    parts.push(format!("reveals {}", learned.join(", ")));
    format!("{} ({sizes})", parts.join(" · "))
}

/// What reveals may give away, at their lines.
fn leaks<'a>(document: &'a Document, r: &'a Report) -> impl Iterator<Item = Diagnostic> + 'a {
    r.leaks.warnings.iter().map(|w| {
        let line = w.line.saturating_sub(1);
        let text = document.text().lines().nth(line as usize).unwrap_or("");
        let start = (text.len() - text.trim_start().len()) as u32;
        let end = text.encode_utf16().count() as u32;
        let at = |character| Position { line, character };
        let severity = match w.level {
            Level::Warning => WARNING,
            Level::Note => INFORMATION,
        };
        let message = format!("{}\n{}\nhint: {}", w.kind.title(), w.why, w.help);
        let range = Range { start: at(start), end: at(end) };
        Diagnostic::plain(range, severity, "leak", message)
    })
}

impl Costs {
    /// Where a line of its text is in another text, counted from 0: lines that both have at their beginnings and ends are
    /// the same ones.
    pub fn moved<'t>(&'t self, to: &'t Document) -> impl Fn(u32) -> Option<u32> + 't {
        let lines = |d: &'t Document| -> Vec<&'t str> { d.text().lines().collect() };
        let (old, new) = (lines(&self.of), lines(to));
        let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let most = old.len().min(new.len()) - same;
        let tail = old.iter().rev().zip(new.iter().rev()).take(most);
        let tail = tail.take_while(|(a, b)| a == b).count();
        let (old, new) = (old.len(), new.len());
        move |line| match line as usize {
            l if l < same => Some(line),
            l if l < old && l >= old - tail => Some((l + new - old) as u32),
            _ => None,
        }
    }
}
