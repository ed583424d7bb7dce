//! Ranks as programs write them ([`Rank`]).
//!
//! Written out, the two comprehensions are tables of all pairs. Of many entries they are built as ranks at once.

use super::builder::{Builder, IndexValue, Val};
use crate::graph::ranks;
use slvr_language::syntax::ast::Span;
use slvr_language::types::{Expr, MAX_RANK, Rank};

impl Builder<'_> {
    /// A sum of two counts as ranks, if it is that of many entries.
    pub(super) fn ranks(&mut self, a: &Expr, b: &Expr, span: Span) -> Option<Val> {
        let rank = Rank::of(a, b)?;
        let v = self.values.get(&rank.values)?.clone();
        let &[n] = &self.own(&v)[..] else { return None };
        // Each entry beside all others takes an axis more.
        if rank.n != n as i64 || self.graph.shape(v.node).len() >= MAX_RANK {
            return None;
        }
        // The rank of each entry, along the axis of i: which becomes the last one, and so has to be the youngest.
        let &IndexValue::Affine { axis: Some(axis), step: 1, offset: 0 } =
            self.indices.get(&rank.own)?
        else {
            return None;
        };
        let told = ranks::by_rule(n) && ranks::rankable(self.graph.shape(v.node));
        let all = told && self.size(axis) == n;
        if !all || v.axes.iter().any(|a| *a >= axis) {
            return None;
        }
        let v = self.as_number(v);
        self.at(span);
        let node = ranks::ranks(&mut self.graph, v.node, rank.first, self.site);
        let axes = v.axes.iter().copied().chain([axis]).collect();
        Some(Val { node, axes })
    }
}
