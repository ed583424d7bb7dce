//! Ranks as programs write them: sums of comparisons with all earlier and with all later entries.
//!
//! ```text
//! sum(x[j] >= x[i] for j in 0..i) + sum(x[j] > x[i] for j in i + 1..n)
//! ```
//!
//! Written out, the two comprehensions are tables of all pairs. Of many entries they are built as ranks at once.

use super::builder::{Builder, IndexValue, Result, Val};
use crate::graph::ranks::{self, First};
use crate::syntax::ast::Span;
use crate::types::{BinOp, Domain, Expr, ExprKind, Index, IndexOp, Intrinsic, MAX_RANK, VarId};

/// One of the two sums: `sum(x[j] op x[i] for j in from..to)`.
struct Count<'a> {
    values: VarId,
    /// i.
    own: VarId,
    from: &'a Index,
    to: &'a Index,
    op: BinOp,
}

impl<'a> Count<'a> {
    fn of(e: &'a Expr) -> Option<Count<'a>> {
        let ExprKind::Intrinsic(Intrinsic::Sum, args) = &e.kind else { return None };
        let [list] = &args[..] else { return None };
        let ExprKind::Comp(gens, body) = &list.kind else { return None };
        let [other] = &gens[..] else { return None };
        let (Domain::Range(from, to), None) = (&other.domain, &other.cond) else { return None };
        let ExprKind::Binary(op, left, right) = &body.kind else { return None };
        let ((x, j), (y, i)) = (entry(left)?, entry(right)?);
        // x[i] < x[j] is x[j] > x[i].
        let (op, own) = match (j == other.var, i == other.var) {
            (true, false) => (*op, i),
            (false, true) => (turned(*op)?, j),
            _ => return None,
        };
        (x == y).then_some(Count { values: x, own, from, to, op })
    }
}

/// `x[i]`, by the variables.
fn entry(e: &Expr) -> Option<(VarId, VarId)> {
    let ExprKind::At(base, indices) = &e.kind else { return None };
    match (&base.kind, &indices[..]) {
        (ExprKind::Var(x), [Index::Var(i)]) => Some((*x, *i)),
        _ => None,
    }
}

fn turned(op: BinOp) -> Option<BinOp> {
    match op {
        BinOp::Lt => Some(BinOp::Gt),
        BinOp::Gt => Some(BinOp::Lt),
        BinOp::Le => Some(BinOp::Ge),
        BinOp::Ge => Some(BinOp::Le),
        _ => None,
    }
}

impl Builder<'_> {
    /// A sum of two counts as ranks, if it is that of many entries.
    pub(super) fn ranks(&mut self, a: &Expr, b: &Expr, span: Span) -> Result<Option<Val>> {
        let (Some(a), Some(b)) = (Count::of(a), Count::of(b)) else { return Ok(None) };
        Ok(self.counts(&a, &b, span).or_else(|| self.counts(&b, &a, span)))
    }

    fn counts(&mut self, earlier: &Count, later: &Count, span: Span) -> Option<Val> {
        let (x, own) = (earlier.values, earlier.own);
        let first = match (earlier.op, later.op) {
            (BinOp::Le, BinOp::Lt) => First::Smallest,
            (BinOp::Ge, BinOp::Gt) => First::Largest,
            _ => return None,
        };
        let v = self.values.get(&x)?.clone();
        let &[n] = &self.own(&v)[..] else { return None };
        // Each entry beside all others takes an axis more.
        if self.graph.shape(v.node).len() >= MAX_RANK {
            return None;
        }
        let next =
            Index::Binary(IndexOp::Add, Box::new(Index::Var(own)), Box::new(Index::Const(1)));
        let all = later.values == x
            && later.own == own
            && *earlier.from == Index::Const(0)
            && *earlier.to == Index::Var(own)
            && *later.from == next
            && *later.to == Index::Const(n as i64);
        // The rank of each entry, along the axis of i: which becomes the last one, and so has to be the youngest.
        let &IndexValue::Affine { axis: Some(axis), step: 1, offset: 0 } =
            self.indices.get(&own)?
        else {
            return None;
        };
        if !all || !ranks::by_rule(n) || self.size(axis) != n || v.axes.iter().any(|a| *a >= axis) {
            return None;
        }
        let v = self.as_number(v);
        self.at(span);
        let node = ranks::ranks(&mut self.graph, v.node, first, self.site);
        let axes = v.axes.iter().copied().chain([axis]).collect();
        Some(Val { node, axes })
    }
}
