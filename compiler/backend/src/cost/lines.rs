//! Costs gathered by line of the source, by step, by statement.

use super::count::{Cost, Kind, add};
use super::places::line_of;
use serde::Serialize;
use slvr_circuit::Circuit;
use std::collections::{BTreeMap, BTreeSet};

/// What a line (or a step) of a program costs. Arrays of three are by party.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LineRow {
    /// Line of the predicate's file, from 1; 0 if unknown.
    pub line: u32,
    /// The line's text; of a step its name.
    pub text: String,
    /// Rounds in which it sends something. Lines share rounds: these do not add up. A proof counts for the line whose
    /// opening waits for it, here, in `critical` and in `bytes`.
    pub rounds: usize,
    /// Rounds of the longest chain that wait for it: these add up to the rounds of a run.
    pub critical: usize,
    #[serde(rename = "bytes_sent")]
    pub bytes: [u64; 3],
    /// Multiply-accumulates.
    pub macs: [u64; 3],
    /// Bytes of its values when a party holds most, at that party.
    #[serde(rename = "memory_at_peak")]
    pub memory: u64,
    /// Instructions, local ones included, without proofs.
    pub instructions: usize,
    /// What is proven of the line's value, if anything is: its range, for people.
    pub range: Option<String>,
    /// Bound on the absolute error of the line's value, if one is proven.
    pub error: Option<f64>,
}

/// Rows by a key of sites, in the order of the keys.
fn grouped<K: Ord>(cost: &Cost, key: impl Fn(u32) -> (K, LineRow)) -> Vec<LineRow> {
    let mut rows: BTreeMap<K, (LineRow, BTreeSet<usize>)> = BTreeMap::new();
    for i in &cost.instrs {
        let (key, empty) = key(i.site);
        let (row, rounds) = rows.entry(key).or_insert_with(|| (empty, BTreeSet::new()));
        add(&mut row.bytes, i.bytes);
        add(&mut row.macs, i.macs);
        match i.kind {
            // Its rounds are those of no layer.
            Some(Kind::Proofs) => {}
            Some(_) => {
                rounds.insert(i.layer);
                row.instructions += 1;
            }
            None => row.instructions += 1,
        }
    }
    for layer in &cost.layers {
        if let Some(site) = layer.critical {
            rows.entry(key(site).0).or_default().0.critical += 1;
        }
        // All that is sent in these rounds is the proof.
        if let Some(proof) = &layer.proof {
            let row = &mut rows.entry(key(proof.site).0).or_default().0;
            row.critical += proof.rounds;
            row.rounds += proof.rounds;
        }
    }
    // The site of a tensor is that of an instruction.
    for (site, &held) in cost.peak_by_site.iter().enumerate().filter(|(_, h)| **h > 0) {
        rows.entry(key(site as u32).0).or_default().0.memory += held;
    }
    let rows = rows.into_values();
    rows.map(|(row, rounds)| LineRow { rounds: row.rounds + rounds.len(), ..row }).collect()
}

/// By line, ascending: lines that have instructions. `places` says which line a site belongs to
/// ([`super::places`]); `text` is the file.
pub fn rows_by_line(cost: &Cost, places: &[u32], text: &str) -> Vec<LineRow> {
    let lines: Vec<&str> = text.lines().collect();
    grouped(cost, |site| {
        let line = line_of(places, site);
        let at = (line as usize).checked_sub(1).and_then(|l| lines.get(l));
        let text = at.map_or("", |t| t.trim_end()).to_string();
        (line, LineRow { line, text, ..LineRow::default() })
    })
}

/// By step and line, the most expensive first (by bytes of all parties, then by name).
pub fn rows_by_step(circuit: &Circuit, cost: &Cost, places: &[u32]) -> Vec<LineRow> {
    let mut rows = grouped(cost, |site| {
        let name = circuit.sites.get(site as usize).map_or("", |s| &s.name);
        let line = line_of(places, site);
        ((name, line), LineRow { line, text: name.to_string(), ..LineRow::default() })
    });
    most_expensive_first(&mut rows);
    rows
}

/// By statement of the predicate (the first part of a step's name), in the order of the circuit: what
/// can be said of an artifact, which comes without its source.
pub fn rows_by_statement(circuit: &Circuit, cost: &Cost) -> Vec<LineRow> {
    let name = |site: u32| {
        let name = circuit.sites.get(site as usize).map_or("", |s| s.name.as_str());
        name.split('/').next().unwrap_or("")
    };
    let mut first: BTreeMap<&str, u32> = BTreeMap::new();
    for site in 0..circuit.sites.len() as u32 {
        first.entry(name(site)).or_insert(site);
    }
    grouped(cost, |site| {
        let name = name(site);
        let row = LineRow { text: name.to_string(), ..LineRow::default() };
        (first.get(name).copied().unwrap_or(site), row)
    })
}

/// Sorts by bytes of all parties, then multiply-accumulates, most first; ties keep their order.
pub fn most_expensive_first(rows: &mut [LineRow]) {
    let weight = |r: &LineRow| (r.bytes.iter().sum::<u64>(), r.macs.iter().sum::<u64>());
    rows.sort_by_key(|r| std::cmp::Reverse(weight(r)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::places;
    use crate::pipeline;
    use slvr_language::source::{LoadError, Sources};
    use slvr_language::syntax::embedded::PREDICATES;
    use slvr_language::types;

    #[test]
    fn rows_add_up_to_the_whole() {
        let (_, text) = PREDICATES.iter().find(|(n, _)| n.starts_with("slvr_acc")).expect("one");
        let mut sources = Sources::new();
        let file = sources.add("a.slvr", *text);
        let bound = [("M", "DigitsNet"), ("m", "5"), ("c", "1"), ("b", "2")];
        let bindings = bound.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let options = types::Options { bindings, ..Default::default() };
        let mut none = |_: &str| Err(LoadError::NotFound);
        let checked = types::check(&mut sources, file, &options, &mut none).expect("types");
        let all = pipeline::compile(&checked.program, &sources).expect("compiles");
        let (circuit, cost) = (&all.circuit, Cost::of(&all.circuit));
        let places = places(&checked.program, &all.optimised, &sources);
        for rows in [
            rows_by_line(&cost, &places, text),
            rows_by_step(circuit, &cost, &places),
            rows_by_statement(circuit, &cost),
        ] {
            let sum = |f: fn(&LineRow) -> [u64; 3]| {
                rows.iter().fold([0; 3], |mut all, r| {
                    add(&mut all, f(r));
                    all
                })
            };
            assert_eq!((sum(|r| r.bytes), sum(|r| r.macs)), (cost.bytes, cost.macs));
            assert_eq!(rows.iter().map(|r| r.critical).sum::<usize>(), cost.rounds);
            assert_eq!(rows.iter().map(|r| r.instructions).sum::<usize>(), circuit.instructions());
            let held: u64 = rows.iter().map(|r| r.memory).sum();
            assert_eq!(held, *cost.peak_memory.iter().max().expect("three"));
        }
        // All of the models' work belongs to the line of the user's file that applies them.
        let rows = rows_by_line(&cost, &places, text);
        let most = rows.iter().max_by_key(|r| r.macs).expect("rows");
        assert!(most.text.contains("argmax(M(w, image[s]))"), "{most:?}");
        assert!(rows.iter().all(|r| r.line > 0), "{rows:?}");
    }
}
