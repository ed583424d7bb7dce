//! Rewrites of the graph: one file per pass, each opening with what holds before and after it.
//!
//! The pipeline is data ([`PIPELINE`]): one can print, time, skip or verify between any two passes.
//! A pass is a pure function from graph to graph, and states what holds after it as a function that
//! debug builds and tests call ([`Pass::check`]). A pass asks for the class and the facts of an
//! operation ([`crate::graph::Op::facts`]); it names operations only to rewrite them, and leaves all
//! others as they are. What may not live here: protocols, rounds.

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

/// A named pass.
pub struct Pass {
    /// Its name, as `--after` takes it.
    pub name: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    pub run: fn(&Graph) -> Graph,
    /// What holds after it, whatever graph it was given that satisfies what it needs.
    pub after: fn(&Graph) -> Kept,
}

/// The pass by which scales are known.
const SCALES: &str = "scales";

/// The pipeline, in order.
pub const PIPELINE: &[Pass] = &[
    Pass {
        name: "fold",
        what: "constants are computed, identities removed",
        run: fold::run,
        after: fold::after,
    },
    Pass {
        name: "cse",
        what: "equal nodes become one, dead ones go",
        run: cse::run,
        after: cse::after,
    },
    Pass {
        name: "absolute",
        what: "of a value and its negative one absolute value is computed",
        run: redundancy::absolute,
        after: redundancy::after_absolute,
    },
    Pass {
        name: "softmax",
        what: "maxima move through increasing functions: the largest softmax",
        run: softmax::run,
        after: softmax::after,
    },
    Pass {
        name: "bounds",
        what: "comparisons with quotients and maxima become products and comparisons",
        run: bounds::run,
        after: bounds::after,
    },
    Pass {
        name: "caps",
        what: "the cap of a quotient becomes a floor of its divisor",
        run: caps::run,
        after: caps::after,
    },
    Pass {
        name: "argmax",
        what: "argmax(z) == label becomes one test",
        run: argmax::run,
        after: argmax::after,
    },
    Pass {
        name: "monotone",
        what: "roots and scale factors move to where they cancel",
        run: monotone::run,
        after: monotone::after,
    },
    Pass {
        name: "order",
        what: "slices of sorts become ranks",
        run: order::run,
        after: order::after,
    },
    Pass {
        name: "monotone-again",
        what: "factors of what is ranked cancel too",
        run: monotone::run,
        after: monotone::after,
    },
    Pass {
        name: "sorted",
        what: "whole sorts become ranks",
        run: sorted::run,
        after: sorted::after,
    },
    Pass {
        name: "extremum",
        what: "largest entries become comparisons and selections",
        run: extremum::run,
        after: extremum::after,
    },
    Pass {
        name: "pairs",
        what: "each pair is compared once",
        run: pairs::run,
        after: pairs::after,
    },
    Pass {
        name: "words",
        what: "bits become integers before they are copied",
        run: words::run,
        after: words::after,
    },
    Pass {
        name: "contract",
        what: "sums of products become matrix products",
        run: contract::run,
        after: contract::after,
    },
    Pass {
        name: "members",
        what: "functions of a sampled member are computed once per member",
        run: members::run,
        after: members::after,
    },
    Pass {
        name: "redundancy",
        what: "entries that are equal by construction are computed once",
        run: redundancy::run,
        after: redundancy::after,
    },
    Pass {
        name: "factors",
        what: "factors of channels move into the weights",
        run: factors::run,
        after: factors::after,
    },
    Pass { name: "reveal", what: "the receiver divides", run: reveal::run, after: reveal::after },
    Pass {
        name: "unit",
        what: "cosines and entries of unit vectors are cut at 1",
        run: unit::run,
        after: unit::after,
    },
    Pass { name: "fold-again", what: "as fold", run: fold::run, after: fold::after },
    Pass { name: "cse-again", what: "as cse", run: cse::run, after: cse::after },
    Pass {
        name: SCALES,
        what: "fixed-point scales, truncations",
        run: scales::run,
        after: scales::after,
    },
    Pass {
        name: "slices",
        what: "what is read in slices is computed in slices",
        run: slices::run,
        after: slices::after,
    },
    Pass { name: "cse-last", what: "as cse", run: cse::run, after: cse::after },
];

impl Pass {
    /// Whether a graph is one that this pass may have made: the verifier accepts it, and it keeps
    /// what the pass promises. The error names the pass and the node.
    pub fn check(&self, graph: &Graph) -> Kept {
        let verified = verify(graph).map_err(|why| why.to_string());
        let kept = verified.and_then(|()| (self.after)(graph));
        kept.map_err(|why| format!("after the pass `{}`: {why}", self.name))
    }
}

/// Runs the pipeline on a graph of which [`run_checked`] was asked before; on another one it panics where
/// that refuses.
pub fn run(graph: &Graph, see: impl FnMut(&Pass, &Graph)) -> Graph {
    match run_checked(graph, see) {
        Ok(graph) => graph,
        Err(error) => panic!("{}: {}", error.code, error.title),
    }
}

/// Runs the pipeline, with [`FRACTION`] fraction bits for every value; `see` gets every pass with the graph after it. Debug builds check every pass
/// ([`Pass::check`]) and stop at the first that breaks its promise, which is a bug of the compiler.
///
/// # Errors
///
/// A constant that the run would lose.
pub fn run_checked(
    graph: &Graph,
    mut see: impl FnMut(&Pass, &Graph),
) -> Result<Graph, Box<Diagnostic>> {
    let graph = unscaled(graph, &mut see)?;
    scaled(&graph, &Level::COARSE, see)
}

/// The first passes: those before scales are known.
///
/// # Errors
///
/// As [`run_checked`].
pub fn unscaled(graph: &Graph, see: impl FnMut(&Pass, &Graph)) -> Result<Graph, Box<Diagnostic>> {
    let passes = PIPELINE.iter().take_while(|pass| pass.name != SCALES);
    run_some(graph, passes, |pass, graph| (pass.run)(graph), see)
}

/// The passes from scales on, on what [`unscaled`] made. Values of which precision is wanted have fraction bits up to a
/// level (`precision`).
///
/// # Errors
///
/// As [`run_checked`].
pub fn scaled(
    graph: &Graph,
    level: &Level,
    see: impl FnMut(&Pass, &Graph),
) -> Result<Graph, Box<Diagnostic>> {
    let passes = PIPELINE.iter().skip_while(|pass| pass.name != SCALES);
    let run = |pass: &Pass, graph: &Graph| match pass.name {
        SCALES => scales::run_at(graph, level),
        _ => (pass.run)(graph),
    };
    run_some(graph, passes, run, see)
}

fn run_some(
    graph: &Graph,
    passes: impl Iterator<Item = &'static Pass>,
    run: impl Fn(&Pass, &Graph) -> Graph,
    mut see: impl FnMut(&Pass, &Graph),
) -> Result<Graph, Box<Diagnostic>> {
    let mut graph = graph.clone();
    for pass in passes {
        graph = run(pass, &graph);
        if pass.name == SCALES {
            constants::check(&graph)?;
        }
        if cfg!(debug_assertions)
            && let Err(why) = pass.check(&graph)
        {
            panic!("{why}");
        }
        see(pass, &graph);
    }
    Ok(graph)
}
