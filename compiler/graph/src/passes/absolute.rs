//! Of a value that is its own negative in another place, one absolute value is computed.
//!
//! Before: any graph without scales, extrema not yet spelled out. After: no [`Op::Abs`] computes an entry twice, nor
//! one of a value and one of its negative. [`super::redundancy`] does so later with whatever the parties talk for.

use super::promise::Kept;
use super::redundancy::{once, rewritten, single};
use crate::graph::{Graph, Op};

pub(super) fn run(graph: &Graph) -> Graph {
    rewritten(graph, |new, numbers, op, args, site| match op {
        Op::Abs => once(new, numbers, op, args, site),
        _ => None,
    })
}

pub(super) fn after(g: &Graph) -> Kept {
    single(g, |id| *g.op(id) == Op::Abs)
}
