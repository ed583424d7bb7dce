//! What would help a program in which a value fits no ring: narrower ranges of one input.
//!
//! A range is advised only if the program compiles with it, by the same steps; and only if it still has many
//! values that words tell apart.

use crate::analysis::guard::{self, Long};
use crate::analysis::interval::size;
use crate::analysis::ranges::Basis;
use crate::analysis::stated::StatedErrors;
use crate::graph::Graph;
use crate::passes::{self, saturation};
use crate::types::Elem;

/// A range is halved so often at most.
const HALVINGS: u32 = 30;
/// An advised range reaches so many units of the last place at least.
const UNITS: f64 = 256.0;

/// How a program is compiled.
pub(super) struct How<'a> {
    /// The ways to enforce ranges that are tried.
    pub ways: &'a [Option<Long>],
    /// Bits of the largest ring.
    pub most: u32,
    /// The errors of the protocols.
    pub stated: &'a StatedErrors,
}

/// A narrower range of one input with which every value fits; `graph` is the graph as it is built.
pub(super) fn narrower(graph: &Graph, how: &How<'_>) -> Option<String> {
    (0..graph.inputs.len()).find_map(|i| {
        let input = &graph.inputs[i];
        if input.elem != Elem::Fix {
            return None;
        }
        let with = |halvings: u32| {
            let part = f64::from(halvings).exp2();
            (input.range.0 / part, input.range.1 / part)
        };
        let unit = (-f64::from(passes::FRACTION)).exp2();
        let fits = |halvings: u32| {
            let mut graph = graph.clone();
            graph.inputs[i].range = with(halvings);
            size(graph.inputs[i].range) >= UNITS * unit && compiles(&graph, how)
        };
        // A range that is half as wide fits where a wider one does.
        let enough = (0..=HALVINGS).rev().find(|&n| size(with(n)) >= UNITS * unit)?;
        let (mut low, mut high) = (0, enough);
        if !fits(high) {
            return None;
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            if fits(middle) { high = middle } else { low = middle }
        }
        let (lo, hi) = with(high);
        Some(format!("declare `{}` in {lo}..{hi}: then every value fits", input.name))
    })
}

/// Whether a graph's values fit in one of the ways to enforce its ranges.
fn compiles(graph: &Graph, how: &How<'_>) -> bool {
    let optimised = passes::run(graph, |_, _| {});
    let basis = Basis::new(&optimised, how.stated);
    how.ways.iter().any(|&long| {
        let guards = guard::guards(&optimised, long);
        saturation::fit(&basis, &guards, how.most).is_ok()
    })
}
