//! What figures are computed from: programs compiled here, and the pinned artifacts.

use super::super::{read, root};
use slvr_circuit::traffic::Traffic;
use slvr_compiler::cost::places;
use slvr_compiler::pipeline::{self, Compiled, Options};
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::source::Sources;
use slvr_compiler::syntax::embedded;
use slvr_compiler::types::{self, Program};
use std::collections::BTreeMap;
use std::path::Path;

/// A program at some sizes, compiled.
pub struct Built {
    pub program: Program,
    pub sources: Sources,
    pub compiled: Compiled,
}

impl Built {
    pub fn traffic(&self) -> Traffic {
        Traffic::of(&self.compiled.circuit)
    }

    /// Megabytes that a party sends, the mean of the three.
    pub fn megabytes(&self) -> f64 {
        self.traffic().bytes.iter().sum::<u64>() as f64 / 3e6
    }

    pub fn certificate(&self) -> Certificate {
        let c = &self.compiled;
        Certificate::of(c, &places(&self.program, &c.optimised, &self.sources))
    }
}

pub fn build(text: &str, sizes: &str, options: Options) -> Built {
    let mut sources = Sources::new();
    let file = sources.add("figure.slvr", text);
    let pair = |s: &str| s.split_once('=').map(|(n, v)| (n.to_string(), v.to_string()));
    let bindings = sizes.split_whitespace().filter_map(pair).collect();
    let of = types::Options { bindings, ..types::Options::default() };
    let checked = types::check(&mut sources, file, &of, &mut embedded::Embedded);
    let program = checked.unwrap_or_else(|d| panic!("{d:?}\n{text}")).program;
    let compiled = pipeline::compile_with(&program, &sources, options, |_, _| {});
    Built { compiled: compiled.unwrap_or_else(|d| panic!("{d:?}\n{text}")), program, sources }
}

/// A predicate that comes with the compiler.
pub fn predicate(name: &str, sizes: &str, options: Options) -> Built {
    let text = embedded::get(&format!("{name}.slvr"));
    build(text.unwrap_or_else(|| panic!("no predicate {name}")), sizes, options)
}

/// The first file of this name below a folder.
fn find(folder: &Path, name: &str) -> Option<std::path::PathBuf> {
    let entries: Vec<_> =
        std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|e| e.path()).collect();
    let here = entries.iter().find(|p| p.file_name().is_some_and(|n| n == name)).cloned();
    here.or_else(|| entries.iter().filter(|p| p.is_dir()).find_map(|p| find(p, name)))
}

/// Rounds and bytes in all, by program, sizes and way of building, as pinned.
pub fn pinned() -> BTreeMap<String, (usize, u64)> {
    let mut all = BTreeMap::new();
    for file in ["predicates.snap", "bench_programs.snap", "deep_models.snap"] {
        let path = find(&root().join("tests"), file).unwrap_or_else(|| panic!("no {file}"));
        for line in read(&path).lines() {
            let parts: Vec<&str> = line.split(" | ").collect();
            let [what, way, cost, _] = parts[..] else { continue };
            let mut numbers = cost.split(|c: char| !c.is_ascii_digit()).filter(|s| !s.is_empty());
            let mut number =
                || numbers.next().and_then(|n| n.parse::<u64>().ok()).expect("a figure");
            all.insert(format!("{what} | {way}"), (number() as usize, number()));
        }
    }
    all
}
