//! Slices of concatenations: which parts they have entries of. Of a choice between two values, passes put both side by
//! side and cut them apart again.

use super::behind::path;
use super::interval::{Interval, hull, scaled};
use crate::graph::{Graph, NodeId, Op};

/// So many changes of sign or scale between a slice and a concatenation are looked through.
const STEPS: usize = 8;

/// What a slice along an axis is cut out of.
pub(in crate::analysis) struct Slice {
    /// The parts of a concatenation along this axis that it has entries of, one or more.
    parts: Vec<NodeId>,
    negated: bool,
    /// By so many bits words were shifted since.
    shift: u32,
}

impl Slice {
    /// Of a node that is one, if a concatenation is behind it.
    pub fn of(g: &Graph, id: NodeId) -> Option<Slice> {
        let Op::Slice { axis, start, len, step } = *g.op(id) else { return None };
        let (mut negated, mut shift) = (false, 0);
        for x in path(g, g.arg(id, 0)).take(STEPS) {
            match g.op(x) {
                Op::Neg => negated = !negated,
                Op::Shift(by) => shift += by,
                Op::Concat(along) if *along == axis => {
                    let mut before = 0u64;
                    let has = |part: &NodeId| {
                        // The first entry that is not before this part.
                        let first = before.saturating_sub(start).div_ceil(step.max(1));
                        before += g.shape(*part)[axis as usize];
                        first < len && start + first * step < before
                    };
                    let parts: Vec<NodeId> = g.args(x).iter().copied().filter(has).collect();
                    return (!parts.is_empty()).then_some(Slice { parts, negated, shift });
                }
                _ => return None,
            }
        }
        None
    }

    /// The part that it is, whole and in real numbers.
    pub fn whole(&self, g: &Graph, id: NodeId) -> Option<NodeId> {
        let [part] = self.parts[..] else { return None };
        (!self.negated && g.shape(part) == g.shape(id)).then_some(part)
    }

    /// Its interval from those of its parts: of words, or else of real numbers.
    pub fn interval(&self, of_words: bool, part: impl Fn(NodeId) -> Interval) -> Option<Interval> {
        let size = if of_words { f64::from(self.shift).exp2() } else { 1.0 };
        let by = if self.negated { -size } else { size };
        self.parts.iter().map(|&x| part(x)).reduce(hull).map(|range| scaled(range, by))
    }
}
