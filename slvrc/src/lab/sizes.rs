//! Which sizes of a predicate follow from the options of the lab. They are read from the text, before anything is checked: what
//! a program is right for is not known without its sizes.
//!
//! - The model, however it is called, is what is trained.
//! - The clients are the set that gives weights, or one whose size is `m`; the size of that set is --clients.
//! - What a client gives of its samples is as long as --validation says: the first size of `fix[b, ..M.shape]` and of `int[b]`.
//! - By their names, where they have no value of their own: `b` is --validation, too, `c`, `f` and `drop` are the number of
//!   malicious clients, `k` is all others, `d` is the length of the model.
//!
//! Parameters in parentheses keep their values. What has no value then is asked for.

use crate::fail::{Rejected, Usage, misuse};
use slvr::{Build, program};
use slvr_compiler::source::Sources;
use slvr_compiler::syntax;
use slvr_compiler::syntax::ast::{
    Dim, Expr, ExprKind, ItemKind, Predicate, StmtKind, Type, TypeKind,
};
use slvr_simulation::lab::attacks::Attack;
use std::path::Path;

/// A predicate as it is written.
pub struct Declared {
    pub text: String,
    /// Attacks that its header names: `Attack: fang-krum`. They call its parameters as it does.
    pub attacks: Vec<&'static Attack>,
    predicate: Predicate,
}

/// The file of a predicate as it is named in the lab, and what is bound behind it, `@NAME=VALUE` each. A path may hold an @ itself:
/// what is a file is not taken apart, and neither is what has a folder or an ending behind its last @.
pub fn parts(named: &str) -> (&str, Vec<&str>) {
    let (mut file, mut own) = (named, Vec::new());
    while !Path::new(file).is_file() {
        let Some((before, last)) = file.rsplit_once('@') else { break };
        if !last.contains('=') && last.contains(['/', '.']) {
            break;
        }
        file = before;
        own.insert(0, last);
    }
    (file, own)
}

/// Predicates in a list with commas. A path may hold a comma itself: of what begins at a piece the longest that is a file is one.
pub fn listed(list: &str) -> Vec<String> {
    let pieces: Vec<&str> = list.split(',').collect();
    let (mut all, mut from) = (Vec::new(), 0);
    while from < pieces.len() {
        let is_file = |to: &usize| {
            let named = pieces[from..*to].join(",");
            let (file, own) = parts(&named);
            Path::new(file).is_file() && !own.iter().any(|binding| binding.contains(','))
        };
        let to = (from + 2..=pieces.len()).rev().find(is_file).unwrap_or(from + 1);
        all.push(pieces[from..to].join(","));
        from = to;
    }
    all
}

/// NAME=VALUE of the command line.
pub fn given<'a>(texts: impl Iterator<Item = &'a String>) -> anyhow::Result<Vec<(String, String)>> {
    let mut given: Vec<(String, String)> = Vec::new();
    for text in texts {
        let (name, value) = match text.split_once('=') {
            Some((n, v)) if !n.trim().is_empty() => (n.trim(), v.trim()),
            _ => {
                misuse!("`{text}` is not NAME=VALUE, as in `lambda=1.5`");
            }
        };
        if given.iter().any(|(n, _)| n == name) {
            misuse!("`{text}`: `{name}` is bound twice");
        }
        given.push((name.to_string(), value.to_string()));
    }
    Ok(given)
}

/// What an option of the lab says.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Model,
    Clients,
    Samples,
    Corrupt,
    Rest,
    Length,
}

impl Of {
    /// What to say instead of a binding, if the lab alone may say it.
    fn option(self) -> Option<&'static str> {
        match self {
            Of::Model => Some("--model"),
            Of::Clients => Some("--clients"),
            Of::Samples => Some("--validation"),
            Of::Corrupt | Of::Rest | Of::Length => None,
        }
    }
}

/// What the options of the lab say.
pub struct Options<'a> {
    pub model: &'a str,
    pub clients: u64,
    pub samples: u64,
    pub corrupt: u64,
    pub length: usize,
}

/// A name without anything around it.
fn bare(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    }
}

/// The attacks that a comment of a predicate names: `Attack: cosine`, or several with commas, as a sentence of its own. The
/// names end with the line or a full stop.
fn named_attacks(text: &str) -> Result<Vec<&'static Attack>, String> {
    const MARK: &str = "Attack: ";
    let mut found = Vec::new();
    for comment in text.lines().filter_map(|line| line.trim().strip_prefix("//")) {
        let marks = |s: &&str| {
            let word = s.split_once(':').map_or("", |(word, _)| word);
            ["attack", "attacks"].iter().any(|mark| word.eq_ignore_ascii_case(mark))
        };
        for said in comment.split(". ").map(str::trim).filter(marks) {
            let Some(names) = said.strip_prefix(MARK) else {
                return Err(format!(
                    "`{said}` in its comments names no attack: write `{MARK}NAME`"
                ));
            };
            for name in names.trim_end_matches('.').split(',').map(str::trim) {
                found.push(made_for_checks(name)?);
            }
        }
    }
    Ok(found)
}

fn made_for_checks(name: &str) -> Result<&'static Attack, String> {
    let fit = || Attack::ALL.iter().copied().filter(|a| !a.against.is_empty());
    fit().find(|a| a.name == name).ok_or_else(|| {
        let all: Vec<&str> = fit().map(|a| a.name).collect();
        format!("its comments name an attack `{name}`; made for checks are {}", all.join(", "))
    })
}

impl Declared {
    /// Reads a predicate: a file, or the name of one that comes with slvrc; `@NAME=VALUE` behind it is left alone.
    pub fn read(named: &str) -> anyhow::Result<Declared> {
        let file = parts(named).0;
        let text = program::source(&Build::of_file(file))?;
        let mut sources = Sources::new();
        let id = sources.add(file, text.clone());
        let (tree, diagnostics) = syntax::parse(id, &text);
        let found = tree.items.into_iter().find_map(|i| match i.kind {
            ItemKind::Predicate(p) => Some(p),
            _ => None,
        });
        let Some(predicate) = found else {
            if diagnostics.is_empty() {
                misuse!("{file}: declares no predicate");
            }
            return Err(Rejected { diagnostics, sources }.into());
        };
        let attacks = named_attacks(&text).map_err(|why| Usage(format!("{file}: {why}")))?;
        Ok(Declared { text, attacks, predicate })
    }

    /// Sizes and parameters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let sizes = self.predicate.sizes.iter().map(|s| s.name.name.as_str());
        sizes.chain(self.predicate.params.iter().map(|p| p.name.name.as_str()))
    }

    /// Names that have neither a value nor a default.
    pub fn missing(&self, bindings: &[(String, String)]) -> Vec<&str> {
        let sizes = self.predicate.sizes.iter().filter(|s| s.default.is_none());
        let params = self.predicate.params.iter().filter(|p| p.default.is_none());
        let open = sizes.map(|s| &s.name.name).chain(params.map(|p| &p.name.name));
        open.filter(|n| bindings.iter().all(|(b, _)| b != *n)).map(String::as_str).collect()
    }

    /// What the members of a set give.
    fn given_by(&self, set: &str) -> impl Iterator<Item = &Type> {
        self.predicate.body.iter().filter_map(move |s| match &s.kind {
            StmtKind::Input { ty, from: Some(from), .. } if from.set.name == set => Some(ty),
            _ => None,
        })
    }

    /// Party sets with the names of their sizes.
    fn sets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.predicate.body.iter().filter_map(|s| match &s.kind {
            StmtKind::Parties { name, size: Some(size) } => Some((name.name.as_str(), bare(size)?)),
            _ => None,
        })
    }

    /// The set of the clients and the name of its size.
    fn clients(&self) -> Option<(&str, &str)> {
        let weights = |ty: &Type| matches!(ty.kind, TypeKind::Weights { .. });
        let gives = |set: &str| self.given_by(set).any(weights);
        self.sets().find(|(set, _)| gives(set)).or_else(|| self.sets().find(|(_, n)| *n == "m"))
    }

    /// Whether a size is that of what each client gives of its samples.
    fn counts_samples(&self, size: &str) -> bool {
        let Some((clients, m)) = self.clients() else { return false };
        self.given_by(clients).any(|ty| match &ty.kind {
            TypeKind::Tensor { base, dims } => match (base.name.as_str(), dims.as_slice()) {
                ("fix", [Dim::Size(n), Dim::Splice(_)]) | ("int", [Dim::Size(n)]) => {
                    bare(n) == Some(size) && size != m
                }
                _ => false,
            },
            _ => false,
        })
    }

    fn follows(&self, name: &str) -> Option<Of> {
        let size = self.predicate.sizes.iter().find(|s| s.name.name == name)?;
        if size.is_model {
            return Some(Of::Model);
        }
        if self.clients().is_some_and(|(_, m)| m == name) {
            return Some(Of::Clients);
        }
        if self.counts_samples(name) {
            return Some(Of::Samples);
        }
        match name {
            // A default is a choice of whoever wrote it.
            _ if size.default.is_some() => None,
            "b" => Some(Of::Samples),
            "c" | "f" | "drop" => Some(Of::Corrupt),
            "k" => Some(Of::Rest),
            "d" => Some(Of::Length),
            _ => None,
        }
    }

    /// Refuses a binding of what an option says for all predicates.
    pub fn may_bind(&self, binding: &str, name: &str) -> anyhow::Result<()> {
        match self.follows(name).and_then(Of::option) {
            Some(option) => {
                let why =
                    format!("`{binding}`: `{name}` is the same for all predicates; say {option}");
                Err(Usage(why).into())
            }
            None => Ok(()),
        }
    }

    /// All bindings: what is said of it alone, of all predicates, and what the options say; an error where something is left.
    pub fn bindings(
        &self,
        named: &str,
        shared: &[(String, String)],
        options: &Options<'_>,
    ) -> anyhow::Result<Vec<(String, String)>> {
        let mut bindings = Vec::new();
        for own in parts(named).1 {
            let Some((name, value)) = own.split_once('=') else {
                misuse!("`{named}`: behind @ stands NAME=VALUE, as in `slvr_accuracy@lambda=1.5`");
            };
            if !self.names().any(|n| n == name) {
                let all = self.names().collect::<Vec<_>>().join(", ");
                misuse!("`{named}`: there is no `{name}`; it has {all}");
            }
            self.may_bind(named, name)?;
            bindings.push((name.to_string(), value.to_string()));
        }
        for name in self.names() {
            if bindings.iter().any(|(n, _)| n == name) {
                continue;
            }
            if let Some(said) = shared.iter().find(|(n, _)| n == name) {
                bindings.push(said.clone());
                continue;
            }
            let value = match self.follows(name) {
                Some(Of::Model) => options.model.to_string(),
                Some(Of::Clients) => options.clients.to_string(),
                Some(Of::Samples) => options.samples.to_string(),
                Some(Of::Corrupt) => options.corrupt.to_string(),
                Some(Of::Rest) => options.clients.saturating_sub(options.corrupt).to_string(),
                Some(Of::Length) => options.length.to_string(),
                None => continue,
            };
            bindings.push((name.to_string(), value));
        }
        let missing = self.missing(&bindings);
        if let Some(name) = missing.first() {
            let all = missing.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            misuse!(
                "{all} has no value, and no option says it; bind it with {name}=VALUE, or in the lab for this predicate \
                 alone with --predicate {named}@{name}=VALUE",
            );
        }
        Ok(bindings)
    }
}
