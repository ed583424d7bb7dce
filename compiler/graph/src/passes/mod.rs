//! Rewrites of the graph: one file per pass, each opening with what holds before and after it.
//!
//! The pipeline is data ([`pipeline`]): one can print, time, skip or verify between any two passes.
//! A pass is a pure function from graph to graph, and states what holds after it as a function that
//! debug builds and tests call ([`Pass::check`]). A pass asks for the class and the facts of an
//! operation ([`crate::graph::Op::facts`]); it names operations only to rewrite them, and leaves all
//! others as they are. What may not live here: protocols, rounds.

mod absolute;
mod argmax;
pub mod blocks;
mod chosen;
mod constants;
mod contract;
mod cse;
mod distances;
mod factors;
mod fine;
mod fold;
mod functions;
mod inverse;
mod means;
mod members;
mod monotone;
mod order;
mod pairs;
pub mod partial_products;
mod precision;
mod promise;
mod redundancy;
mod reveal;
mod rising;
mod runs;
pub mod saturation;
mod scales;
mod scaling;
mod slice_pushdown;
mod slices;
#[cfg(test)]
mod tests;
mod unit;
mod value_numbering;
mod words;

pub use constants::rounded as rounded_constants;
pub(crate) use cse::dead_code;
pub use precision::FINEST;
pub use precision::{normalises, rounds_for_comparisons, variances, wanted_inputs};
pub use promise::Kept;
pub use scaling::{FRACTION, Level};
pub use slice_pushdown::entry;

use crate::graph::Graph;
use crate::graph::verify::verify;
use functions::{bounds, caps, extremum, softmax, sorted};
use slvr_language::diagnostic::Diagnostic;

pub struct Pass {
    /// Its name, as `--after` takes it.
    pub name: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    pub run: fn(&Graph) -> Graph,
    /// What holds after it, whatever graph it was given that satisfies what it needs.
    pub after: fn(&Graph) -> Kept,
}

/// One row for each pass: its name, the module that has its `run` and its `after`, and what it does.
macro_rules! passes {
    ($($name:expr, $module:ident, $what:expr;)*) => {
        &[$(Pass { name: $name, what: $what, run: $module::run, after: $module::after }),*]
    };
}

/// The passes before scales are known, in order.
const FRONT: &[Pass] = passes! {
    "fold", fold, "constants are computed, identities removed";
    "cse", cse, "equal nodes become one, dead ones go";
    "absolute", absolute, "of a value and its negative one absolute value is computed";
    "softmax", softmax, "maxima move through increasing functions: the largest softmax";
    "bounds", bounds, "comparisons with quotients and maxima become products and comparisons";
    "caps", caps, "the cap of a quotient becomes a floor of its divisor";
    "argmax", argmax, "argmax(z) == label becomes one test";
    "monotone", monotone, "roots and scale factors move to where they cancel";
    "order", order, "slices of sorts become ranks";
    "monotone-again", monotone, "factors of what is ranked cancel too";
    "sorted", sorted, "whole sorts become ranks";
    "extremum", extremum, "largest entries become comparisons and selections";
    "pairs", pairs, "each pair is compared once";
    "words", words, "bits become integers before they are copied";
    "contract", contract, "sums of products become matrix products";
    "members", members, "functions of a sampled member are computed once per member";
    "redundancy", redundancy, "entries that are equal by construction are computed once";
    "factors", factors, "factors of channels move into the weights";
    "reveal", reveal, "the receiver divides";
    "unit", unit, "cosines and entries of unit vectors are cut at 1";
    "roots", inverse, "the reciprocal of a root is one function";
    "fold-again", fold, "as fold";
    "cse-again", cse, "as cse";
};

/// The pass by which scales are known.
const SCALES: Pass = Pass {
    name: "scales",
    what: "fixed-point scales, truncations",
    run: |graph| scales::run(graph, &Level::COARSE),
    after: scales::after,
};

/// The passes on what has scales, in order.
const BACK: &[Pass] = passes! {
    "slices", slices, "what is read in slices is computed in slices";
    "cse-last", cse, "as cse";
};

/// The pipeline, in order.
pub fn pipeline() -> impl Iterator<Item = &'static Pass> {
    FRONT.iter().chain([&SCALES]).chain(BACK)
}

impl Pass {
    /// Whether a graph is one that this pass may have made: the verifier accepts it, and it keeps
    /// what the pass promises. The error names the pass and the node.
    pub fn check(&self, graph: &Graph) -> Kept {
        let verified = verify(graph).map_err(|why| why.to_string());
        let kept = verified.and_then(|()| (self.after)(graph));
        kept.map_err(|why| format!("after the pass `{}`: {why}", self.name))
    }

    /// Shows the graph after this pass. Debug builds check it ([`Pass::check`]) and stop at the first pass that breaks
    /// its promise, which is a bug of the compiler.
    fn made(&self, graph: Graph, see: &mut impl FnMut(&Pass, &Graph)) -> Graph {
        if cfg!(debug_assertions)
            && let Err(why) = self.check(&graph)
        {
            panic!("{why}");
        }
        see(self, &graph);
        graph
    }
}

/// Runs the pipeline, with [`FRACTION`] fraction bits for every value; `see` gets every pass with the graph after it.
///
/// # Errors
///
/// A constant that the run would lose.
pub fn run(graph: &Graph, mut see: impl FnMut(&Pass, &Graph)) -> Result<Graph, Box<Diagnostic>> {
    scaled(&unscaled(graph, &mut see), &Level::COARSE, see)
}

/// The passes before scales are known.
pub fn unscaled(graph: &Graph, mut see: impl FnMut(&Pass, &Graph)) -> Graph {
    let next = |graph: Graph, pass: &Pass| pass.made((pass.run)(&graph), &mut see);
    FRONT.iter().fold(graph.clone(), next)
}

/// The passes from scales on, on what [`unscaled`] made. Values of which precision is wanted have fraction bits up to a
/// level (`precision`).
///
/// # Errors
///
/// As [`run`].
pub fn scaled(
    graph: &Graph,
    level: &Level,
    mut see: impl FnMut(&Pass, &Graph),
) -> Result<Graph, Box<Diagnostic>> {
    let graph = scales::run(graph, level);
    constants::check(&graph)?;
    let graph = SCALES.made(graph, &mut see);
    Ok(BACK.iter().fold(graph, |graph, pass| pass.made((pass.run)(&graph), &mut see)))
}
