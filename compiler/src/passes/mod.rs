//! Rewrites of the graph: one file per pass, each opening with what holds before and after it.
//!
//! The pipeline is data ([`PIPELINE`]): one can print, time, skip or verify between any two passes.
//! A pass is a pure function from graph to graph. What may not live here: protocols, rounds.

mod argmax;
pub mod blocks;
mod contract;
mod cse;
mod factors;
mod fold;
mod functions;
mod members;
mod monotone;
mod order;
mod pairs;
pub mod partial_products;
mod redundancy;
mod reveal;
pub mod saturation;
mod scales;
mod slice_pushdown;
mod slices;
#[cfg(test)]
mod tests;
mod value_numbering;
mod words;

pub(crate) use cse::dead_code;

use crate::graph::Graph;
use functions::{bounds, extremum, softmax, sorted};

/// A named pass.
pub struct Pass {
    /// Its name, as `--after` takes it.
    pub name: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    /// The rewrite.
    pub run: fn(&Graph) -> Graph,
}

/// The pipeline, in order.
pub const PIPELINE: &[Pass] = &[
    Pass { name: "fold", what: "constants are computed, identities removed", run: fold::run },
    Pass { name: "cse", what: "equal nodes become one, dead ones go", run: cse::run },
    Pass {
        name: "absolute",
        what: "of a value and its negative one absolute value is computed",
        run: redundancy::absolute,
    },
    Pass {
        name: "softmax",
        what: "maxima move through increasing functions: the largest softmax",
        run: softmax::run,
    },
    Pass {
        name: "bounds",
        what: "comparisons with quotients and maxima become products and comparisons",
        run: bounds::run,
    },
    Pass { name: "argmax", what: "argmax(z) == label becomes one test", run: argmax::run },
    Pass {
        name: "monotone",
        what: "roots and scale factors move to where they cancel",
        run: monotone::run,
    },
    Pass { name: "order", what: "slices of sorts become ranks", run: order::run },
    Pass {
        name: "monotone-again",
        what: "factors of what is ranked cancel too",
        run: monotone::run,
    },
    Pass { name: "sorted", what: "whole sorts become ranks", run: sorted::run },
    Pass {
        name: "extremum",
        what: "largest entries become comparisons and selections",
        run: extremum::run,
    },
    Pass { name: "pairs", what: "each pair is compared once", run: pairs::run },
    Pass { name: "words", what: "bits become integers before they are copied", run: words::run },
    Pass { name: "contract", what: "sums of products become matrix products", run: contract::run },
    Pass {
        name: "members",
        what: "functions of a sampled member are computed once per member",
        run: members::run,
    },
    Pass {
        name: "redundancy",
        what: "entries that are equal by construction are computed once",
        run: redundancy::run,
    },
    Pass { name: "factors", what: "factors of channels move into the weights", run: factors::run },
    Pass { name: "reveal", what: "the receiver divides", run: reveal::run },
    Pass { name: "fold-again", what: "as fold", run: fold::run },
    Pass { name: "cse-again", what: "as cse", run: cse::run },
    Pass { name: "scales", what: "fixed-point scales, truncations", run: scales::run },
    Pass { name: "slices", what: "what is read in slices is computed in slices", run: slices::run },
    Pass { name: "cse-last", what: "as cse", run: cse::run },
];

/// Runs the pipeline; `see` gets every pass with the graph after it.
pub fn run(graph: &Graph, mut see: impl FnMut(&Pass, &Graph)) -> Graph {
    let mut graph = graph.clone();
    for pass in PIPELINE {
        graph = (pass.run)(&graph);
        see(pass, &graph);
    }
    graph
}
