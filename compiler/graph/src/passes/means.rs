//! Divisors of weighted means lose their bits before they are added up.
//!
//! `sum(b[i] * u[i]) / sum(b)` is within the values u only as long as the dividend is made of the words that the
//! divisor adds up ([`crate::analysis::means`]): of a divisor that is truncated to 0 the quotient may be any. So where
//! the divisor is to have fewer bits the weights are truncated, and both sums are made of what is left.

use super::scaling::Scales;
use crate::analysis::guard::Entries;
use crate::analysis::means::Means;
use crate::analysis::signs::not_negative_of;
use crate::graph::{NodeId, Op, ScaleRule};
use std::collections::{BTreeMap, BTreeSet};

impl Scales<'_> {
    /// Dividend and divisor of a weighted mean, where the divisor has at most so many fraction bits; none if it has no
    /// more, or if this is no mean.
    pub(super) fn reweighted(
        &mut self,
        x: NodeId,
        y: NodeId,
        frac: u32,
    ) -> Option<(NodeId, NodeId)> {
        if self.frac(y) <= frac {
            return None;
        }
        // Both sums are rounded, whatever the signs of the weights are.
        let positive = |id| not_negative_of(self.g, id, Entries::Declared);
        let mean = Means::default().quotient(self.g, x, y, positive)?;
        if mean.divisor_off > 0.0 {
            return None;
        }
        // What is averaged stays as it is.
        let mut new: BTreeMap<NodeId, NodeId> = mean.values.iter().map(|&u| (u, u)).collect();
        for &weight in &mean.weights {
            new.insert(weight, self.at_most_to(weight, frac));
        }
        self.replay([x, y], &mean.weights, &mut new);
        let [x, y] = [x, y].map(|id| new.get(&id).copied().unwrap_or(id));
        Some((x, self.at_most_to(y, frac)))
    }

    /// Adds what two values are made of once more, where some nodes are new. Truncations and changes of scale behind
    /// these are left out.
    fn replay(
        &mut self,
        ends: [NodeId; 2],
        changed: &[NodeId],
        new: &mut BTreeMap<NodeId, NodeId>,
    ) {
        let first = changed.iter().min().copied();
        let mut behind = BTreeSet::from(ends);
        let mut open = ends.to_vec();
        while let Some(id) = open.pop().filter(|_| first.is_some()) {
            let is_open = |a: &NodeId| Some(*a) > first && !new.contains_key(a);
            let args = self.g.args(id);
            open.extend(args.iter().copied().filter(|a| is_open(a) && behind.insert(*a)));
        }
        for id in behind {
            let old = self.g.args(id);
            let mut args: Vec<NodeId> =
                old.iter().map(|a| new.get(a).copied().unwrap_or(*a)).collect();
            if args == old || new.contains_key(&id) {
                continue;
            }
            let node = match self.g.op(id).clone() {
                Op::Trunc(_) | Op::Shift(_) => args[0],
                op => {
                    if op.facts().scale == ScaleRule::Equal {
                        args = self.same(&args);
                    }
                    self.add(op, &args)
                }
            };
            new.insert(id, node);
        }
    }
}
