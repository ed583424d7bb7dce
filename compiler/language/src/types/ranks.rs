//! Ranks as programs write them: sums of comparisons with all earlier and with all later entries.
//!
//! ```text
//! sum(x[j] >= x[i] for j in 0..i) + sum(x[j] > x[i] for j in i + 1..n)
//! ```
//!
//! Written out, the ranks of n entries are n (n - 1) comparisons. Who recognises them sorts instead.

use super::{BinOp, Domain, Expr, ExprKind, Index, IndexOp, Intrinsic, VarId};

/// Which entries come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    Smallest,
    Largest,
}

/// The rank of one entry: how many come before it, of equal ones those with a smaller index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Of which vector.
    pub values: VarId,
    /// The loop variable that is the index of the entry.
    pub own: VarId,
    /// Which entries come first.
    pub first: First,
    /// How many entries are compared.
    pub n: i64,
}

impl Rank {
    /// What a sum of two counts is the rank of.
    pub fn of(a: &Expr, b: &Expr) -> Option<Rank> {
        let (a, b) = (Count::of(a)?, Count::of(b)?);
        of(&a, &b).or_else(|| of(&b, &a))
    }
}

fn of(earlier: &Count, later: &Count) -> Option<Rank> {
    let (values, own) = (earlier.values, earlier.own);
    let first = match (earlier.op, later.op) {
        (BinOp::Le, BinOp::Lt) => First::Smallest,
        (BinOp::Ge, BinOp::Gt) => First::Largest,
        _ => return None,
    };
    let next = Index::Binary(IndexOp::Add, Box::new(Index::Var(own)), Box::new(Index::Const(1)));
    let &Index::Const(n) = later.to else { return None };
    let all = later.values == values
        && later.own == own
        && *earlier.from == Index::Const(0)
        && *earlier.to == Index::Var(own)
        && *later.from == next;
    all.then_some(Rank { values, own, first, n })
}

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
