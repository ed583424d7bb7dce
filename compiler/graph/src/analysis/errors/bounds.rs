//! Error bounds of a graph's nodes, and where they come from.

use super::value::Cause;
use super::view::times;
use crate::analysis::order::Ranked;
use crate::graph::{Graph, NodeId};
use std::collections::BTreeMap;

/// A comparison that a circuit may decide otherwise than the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The comparison, equality, argmax or label test.
    pub node: NodeId,
    /// Index into [`Graph::sites`].
    pub site: u32,
    /// If the two sides are further apart than this, in real units, it is decided as in the program.
    pub margin: f64,
    /// The margin in the units of the source, where passes compare something else: squares in place of roots, or
    /// values without a common factor.
    pub source: f64,
}

/// Where most of an error comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dominant {
    /// The operation whose rounding it is.
    pub source: NodeId,
    /// How far it is off by itself, in real units: its rounding, or all of its range.
    pub rounding: f64,
    /// The operation on the way that enlarges it most, and how many times, if any does.
    pub amplifier: Option<(NodeId, f64)>,
}

/// Error bounds of all nodes of a graph, in real units.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// Never exceeded, as long as every decision falls as in the program, and every cut in `assumed` is as high as the
    /// program's value. By index of the node. Of a cut that only steady functions read
    /// ([`is_harmless`](crate::analysis::cuts::is_harmless)) it holds where the program's value is within the cut.
    pub proven: Vec<f64>,
    /// Comparisons of inexact values on which revealed values depend otherwise than by choosing the
    /// larger one, in the order of nodes.
    pub decisions: Vec<Decision>,
    /// Whether an output depends on a node's value, and not only on which of near values it chooses: the
    /// proven error is of these nodes. By index.
    pub depended_on: Vec<bool>,
    /// Cuts whose operand is taken to be within them in the program, because its interval does not say so
    /// ([`cuts`](crate::analysis::cuts)).
    pub assumed: Vec<NodeId>,
    pub(super) causes: Vec<Cause>,
    /// Sums of values by their rank, which are found once.
    pub(super) ranked: BTreeMap<NodeId, Ranked>,
}

impl Errors {
    /// Error of what the receiver of output number `i` gets; 0 if there is no such output.
    pub fn output(&self, graph: &Graph, i: usize) -> f64 {
        let Some(output) = graph.outputs.get(i) else { return 0.0 };
        let factor = (output.factor / output.divisor).abs();
        times(self.proven[output.node.index()], factor)
    }

    /// Where most of a node's proven error comes from; `None` if it has none.
    pub fn dominant(&self, node: NodeId) -> Option<Dominant> {
        let mut at = node;
        let mut amplifier: Option<(NodeId, f64)> = None;
        if self.proven[at.index()] == 0.0 {
            return None;
        }
        loop {
            let cause = &self.causes[at.index()];
            let largest = cause.parts.iter().fold(None, |best: Option<(NodeId, f64)>, &(n, e)| {
                if best.is_none_or(|(_, most)| e > most) { Some((n, e)) } else { best }
            });
            let Some((from, part)) = largest.filter(|&(_, e)| e > cause.own) else {
                return Some(Dominant { source: at, rounding: cause.own, amplifier });
            };
            let gain = part / self.proven[from.index()];
            if gain > amplifier.map_or(2.0, |(_, most)| most) {
                amplifier = Some((at, gain));
            }
            at = from;
        }
    }
}
