//! How much a value changes if one client's inputs count as zeros.
//!
//! The values are the words of a run: bounds hold for what the parties compute, roundings included. A truncation
//! draws a coin that depends on nothing; for each coin it is a rounding, so two values are at most one unit further
//! apart after it than before, and what is said holds for whoever knows the coin.
//!
//! A value hangs on one client in one of three ways: not at all; row by row, where row i is made of what client i
//! gave; or as a whole that changes by a bounded length. All else is unbounded, and says why.
//!
//! | file | what lives there |
//! |---|---|
//! | `reach` | the three ways, and lengths |
//! | `product` | rules of products |
//!
//! Each rule is an inequality between norms. The tests hold all of them against pairs of runs.

mod product;
mod reach;
#[cfg(test)]
mod tests;

use super::clip::Words;
use crate::analysis::behind::keeps_entries;
use crate::graph::{Giver, Graph, NodeId, Op};
pub use reach::Obstacle;
pub(super) use reach::Reach;
use reach::{Length, Rows, Why};
use slvr_language::types::Elem;

/// Finds how each value hangs on a client, from the first node to the last.
pub(super) struct Sensitivity<'a> {
    pub words: Words<'a>,
    pub reach: Vec<Reach>,
}

impl<'a> Sensitivity<'a> {
    pub fn new(words: Words<'a>) -> Sensitivity<'a> {
        Sensitivity { words, reach: Vec::new() }
    }

    fn g(&self) -> &'a Graph {
        self.words.graph
    }

    pub fn of(&self, id: NodeId) -> &Reach {
        &self.reach[id.index()]
    }

    fn largest(&self, id: NodeId) -> f64 {
        if self.g().ty(id).elem == Elem::Bit {
            return 1.0;
        }
        let (lo, hi) = self.words.ranges.raw[id.index()];
        hi.max(-lo)
    }

    fn row_entries(&self, id: NodeId, axis: usize) -> f64 {
        let rows = self.g().shape(id).get(axis).copied().unwrap_or(1).max(1);
        (self.g().elements(id) / rows) as f64
    }

    /// How long a row is at most, by what is known of the whole value and of its slices.
    fn enforced(&self, id: NodeId, axis: usize) -> f64 {
        if self.g().ty(id).elem == Elem::Bit {
            return f64::INFINITY;
        }
        let ranges = self.words.ranges;
        let slice = if axis == 0 { ranges.norm[id.index()] } else { f64::INFINITY };
        slice.min(ranges.total[id.index()])
    }

    /// Rows of which nothing is known but their range and their norm.
    fn ranged(&self, id: NodeId, of: Rows) -> Rows {
        let entries = self.row_entries(id, of.axis);
        let (lo, hi) = match self.g().ty(id).elem {
            Elem::Bit => (0.0, 1.0),
            _ => self.words.ranges.raw[id.index()],
        };
        let size = if of.zero { hi.max(-lo) } else { hi - lo };
        // Rows that are not zeros without the client's inputs are as long then, too.
        let rows = if of.zero { 1.0 } else { 2.0 };
        let norm = self.enforced(id, of.axis).min(self.carried(id, of));
        let l2 = rows * norm;
        let length = Length::of(entries, size).least(Length::euclidean(l2), entries);
        Rows { length, norm, ..of }
    }

    /// The norm of rows whose entries were only moved.
    fn carried(&self, id: NodeId, of: Rows) -> f64 {
        if keeps_entries(self.g().op(id)) { of.norm } else { f64::INFINITY }
    }

    /// Rows with a bound of their own.
    fn rows(&self, id: NodeId, of: Rows) -> Reach {
        let ranged = self.ranged(id, of);
        let entries = self.row_entries(id, of.axis);
        Reach::Rows(Rows { length: of.length.least(ranged.length, entries), ..ranged })
    }

    /// How long a row is at most, not only how much it changes.
    fn norm(&self, id: NodeId, rows: &Rows) -> Length {
        let entries = self.row_entries(id, rows.axis);
        let enforced = Length::euclidean(rows.norm);
        let ranged = Length::of(entries, self.largest(id)).least(enforced, entries);
        if rows.zero { rows.length.least(ranged, entries) } else { ranged }
    }

    /// The rule of a node whose operands are known.
    pub fn rule(&self, id: NodeId) -> Reach {
        let g = self.g();
        let args = g.args(id);
        let of: Vec<&Reach> = args.iter().map(|&a| self.of(a)).collect();
        if let Some(unbounded) = of.iter().find(|r| matches!(r, Reach::Unbounded(_))) {
            return (*unbounded).clone();
        }
        let op = g.op(id);
        if let Op::Input(i) = op {
            return self.input(id, *i);
        }
        if of.iter().all(|r| **r == Reach::Free) {
            return Reach::Free;
        }
        let why = |text| self.refused(id, &of, text);
        match op {
            Op::Scale(c) => self.scaled(id, of[0], c.abs()),
            Op::Shift(by) => self.scaled(id, of[0], f64::from(*by).exp2()),
            Op::Trunc(by) => self.truncated(id, of[0], f64::from(*by).exp2()),
            Op::Add | Op::Sub => self.sum(id, args, &of),
            Op::Mul => self.product(id, args, &of),
            Op::MatMul { trans_b } => self.matmul(id, args, &of, *trans_b),
            Op::Sum(axes) => self.summed(id, args[0], of[0], axes),
            // No two values are further apart afterwards.
            Op::Neg | Op::DivPow2(_) | Op::MulPow2(_) => self.scaled(id, of[0], 1.0),
            Op::Relu | Op::Abs | Op::Saturate(_) | Op::ToInt => self.scaled(id, of[0], 1.0),
            op if op.is_pointwise() => self.pointwise(id, args, &of),
            Op::Reshape(to) => self.reshaped(id, args[0], of[0], to),
            Op::Transpose(perm) => match of[0] {
                Reach::Rows(r) => {
                    let axis = perm.iter().position(|&p| p as usize == r.axis);
                    axis.map_or_else(
                        || why(Obstacle::Combines),
                        |axis| self.rows(id, Rows { axis, ..*r }),
                    )
                }
                other => other.clone(),
            },
            Op::Broadcast(_) => self.widened(id, args[0], of[0]),
            Op::Slice { axis, .. } => match of[0] {
                Reach::Rows(r) if r.axis == *axis as usize => Reach::Whole(r.length),
                Reach::Rows(r) => self.rows(id, *r),
                other => other.clone(),
            },
            Op::Concat(axis) => self.concat(id, &of, *axis as usize),
            Op::Gather { .. } if *of[1] == Reach::Free => self.gathered(args[1], of[0]),
            Op::Gather { .. } => why(Obstacle::Selects),
            // The axis disappears.
            Op::Max(axis) | Op::Min(axis) => {
                let gone = *axis as usize;
                let kept = |axis| (axis != gone).then(|| axis - usize::from(gone < axis));
                self.by_client(id, &of, Obstacle::Selects, kept)
            }
            Op::OneHot(_) => self.by_client(id, &of, Obstacle::Selects, Some),
            Op::ArgMax | Op::Sort | Op::SortSum { .. } | Op::ArgMaxIs => {
                let last = g.shape(args[0]).len().wrapping_sub(1);
                self.by_client(id, &of, Obstacle::Selects, |axis| (axis != last).then_some(axis))
            }
            // The first axis is a batch, of images and of kernels.
            Op::Conv2d(_) => {
                self.by_client(id, &of, Obstacle::Combines, |axis| (axis == 0).then_some(axis))
            }
            // Windows are along the last two axes.
            Op::MaxPool { .. } => {
                let outer = g.shape(id).len() - 2;
                self.by_client(id, &of, Obstacle::Selects, |axis| (axis < outer).then_some(axis))
            }
            // Where a number stands says nothing of how far numbers are apart.
            _ => why(Obstacle::Selects),
        }
    }

    /// Nothing is known of what is computed of these operands: because of `obstacle`, unless several clients contribute to
    /// one of them already.
    fn refused(&self, id: NodeId, of: &[&Reach], obstacle: Obstacle) -> Reach {
        let whole = of.iter().any(|r| matches!(r, Reach::Whole(_)));
        Reach::Unbounded(Why {
            node: id,
            obstacle: if whole { Obstacle::Before } else { obstacle },
        })
    }

    fn input(&self, id: NodeId, i: u32) -> Reach {
        let g = self.g();
        let giver = g.inputs.get(i as usize).map(|i| i.from);
        if let Some(Giver::State(_)) = giver {
            return Reach::Unbounded(Why { node: id, obstacle: Obstacle::Kept });
        }
        let set = giver.and_then(Giver::set);
        let members = set.and_then(|s| g.parties.get(s as usize)).map_or(1, |p| p.1);
        match set.filter(|_| members > 1) {
            Some(set) => {
                // Of an excluded client a label counts as class 0, and a number as the nearest to 0 in its range.
                let zero = g.inputs.get(i as usize).is_some_and(|input| {
                    input.one_hot.is_none() && input.range.0 <= 0.0 && input.range.1 >= 0.0
                });
                let norm = f64::INFINITY;
                self.rows(id, Rows { set, axis: 0, zero, length: Length::UNKNOWN, norm })
            }
            None => Reach::Free,
        }
    }

    /// Rows of their own client, of which only the range is known.
    fn local(&self, id: NodeId, rows: Rows, axis: usize) -> Reach {
        Reach::Rows(self.ranged(id, Rows { axis, zero: false, ..rows }))
    }

    /// What is computed of each client's rows by themselves. `kept` has the axis of the result that an axis of rows
    /// becomes, if rows of different clients along it do not meet.
    fn by_client(
        &self,
        id: NodeId,
        of: &[&Reach],
        obstacle: Obstacle,
        kept: impl Fn(usize) -> Option<usize>,
    ) -> Reach {
        let all: Option<Vec<Reach>> = of
            .iter()
            .map(|r| match r {
                Reach::Rows(r) => kept(r.axis).map(|axis| self.local(id, *r, axis)),
                Reach::Free => Some(Reach::Free),
                Reach::Whole(_) | Reach::Unbounded(_) => None,
            })
            .collect();
        all.and_then(|all| self.alike(&all)).unwrap_or_else(|| self.refused(id, of, obstacle))
    }

    /// All are rows of the same clients, or free: the rows.
    fn alike(&self, all: &[Reach]) -> Option<Reach> {
        let mut found: Option<&Reach> = None;
        for reach in all {
            match (reach, found) {
                (Reach::Free, _) => {}
                (Reach::Rows(_), None) => found = Some(reach),
                (Reach::Rows(a), Some(Reach::Rows(b))) if a.set == b.set && a.axis == b.axis => {}
                _ => return None,
            }
        }
        found.cloned()
    }

    fn scaled(&self, id: NodeId, of: &Reach, by: f64) -> Reach {
        match of {
            Reach::Rows(r) => self.rows(id, Rows { length: r.length.times(by), ..*r }),
            Reach::Whole(l) => Reach::Whole(l.times(by)),
            other => other.clone(),
        }
    }

    /// After a truncation two words are at most a unit further apart; zero stays zero.
    fn truncated(&self, id: NodeId, of: &Reach, by: f64) -> Reach {
        let unit = |entries: f64| Length::of(entries, 1.0);
        match of {
            Reach::Rows(r) => {
                let more = unit(self.row_entries(id, r.axis));
                self.rows(id, Rows { length: r.length.times(1.0 / by).plus(more), ..*r })
            }
            Reach::Whole(l) => {
                let more = unit(self.g().elements(id) as f64);
                Reach::Whole(l.times(1.0 / by).plus(more))
            }
            other => other.clone(),
        }
    }

    /// An operand as often as it is read for a result of the node's shape.
    fn widened(&self, id: NodeId, arg: NodeId, of: &Reach) -> Reach {
        let times = self.g().elements(id) as f64 / self.g().elements(arg).max(1) as f64;
        match of {
            Reach::Rows(r) => {
                let (length, norm) = (r.length.repeated(times), r.norm * times.sqrt());
                Reach::Rows(Rows { length, norm, ..*r })
            }
            Reach::Whole(l) => Reach::Whole(l.repeated(times)),
            other => other.clone(),
        }
    }

    fn sum(&self, id: NodeId, args: &[NodeId], of: &[&Reach]) -> Reach {
        let [a, b] = [0, 1].map(|i| self.widened(id, args[i], of[i]));
        match (a, b) {
            (Reach::Rows(a), Reach::Rows(b)) if a.set == b.set && a.axis == b.axis => {
                let (zero, length) = (a.zero && b.zero, a.length.plus(b.length));
                self.rows(id, Rows { zero, length, ..a })
            }
            (Reach::Rows(r), Reach::Free) | (Reach::Free, Reach::Rows(r)) => {
                self.rows(id, Rows { zero: false, ..r })
            }
            (Reach::Free, other) | (other, Reach::Free) => other,
            // Of clients of one set, or of several: one of them changes.
            (
                Reach::Rows(Rows { length: a, .. }) | Reach::Whole(a),
                Reach::Rows(Rows { length: b, .. }) | Reach::Whole(b),
            ) => Reach::Whole(a.plus(b)),
            (Reach::Unbounded(why), _) | (_, Reach::Unbounded(why)) => Reach::Unbounded(why),
        }
    }

    fn summed(&self, id: NodeId, arg: NodeId, of: &Reach, axes: &[u64]) -> Reach {
        let shape = self.g().shape(arg);
        let terms = |skip: Option<usize>| {
            let sizes = axes.iter().filter(|&&a| Some(a as usize) != skip);
            sizes.map(|&a| shape[a as usize] as f64).product::<f64>()
        };
        let folded = |l: Length, terms: f64| Length { l2: (l.l2 * terms.sqrt()).min(l.l1), ..l };
        match of {
            Reach::Rows(r) if axes.contains(&(r.axis as u64)) => {
                Reach::Whole(folded(r.length, terms(Some(r.axis))))
            }
            Reach::Rows(r) => {
                let before = axes.iter().filter(|&&a| (a as usize) < r.axis).count();
                let length = folded(r.length, terms(None));
                self.rows(id, Rows { axis: r.axis - before, length, ..*r })
            }
            Reach::Whole(l) => Reach::Whole(folded(*l, terms(None))),
            other => other.clone(),
        }
    }

    /// Entry by entry, of what one client gave.
    fn pointwise(&self, id: NodeId, args: &[NodeId], of: &[&Reach]) -> Reach {
        let all: Vec<Reach> = args.iter().zip(of).map(|(&a, r)| self.widened(id, a, r)).collect();
        let Some(Reach::Rows(first)) = self.alike(&all) else {
            return self.refused(id, of, Obstacle::Combines);
        };
        let rows = |i: usize| match &all[i] {
            Reach::Rows(r) => Some(*r),
            _ => None,
        };
        let zero = |i: usize| rows(i).is_some_and(|r| r.zero);
        let unknown = Length::UNKNOWN;
        match self.g().op(id) {
            Op::And => self.rows(id, Rows { zero: zero(0) || zero(1), length: unknown, ..first }),
            // Entries of it are entries of v, or 0.
            Op::Gate if zero(0) => {
                let length = rows(0).map_or(unknown, |r| r.length);
                self.rows(id, Rows { zero: true, length, ..first })
            }
            // Each entry is one of a or one of b.
            Op::Select if zero(1) && zero(2) => {
                let of = |i| rows(i).map_or(unknown, |r| r.length);
                self.rows(id, Rows { zero: true, length: of(1).beside(of(2)), ..first })
            }
            Op::Div => {
                let length = self.divided(id, zero(0)).unwrap_or(unknown);
                self.rows(id, Rows { zero: false, length, ..first })
            }
            _ => self.local(id, first, first.axis),
        }
    }

    /// How far a client's vector over a number of its own is from the one of inputs that are zeros, in words, if the
    /// number cuts it. Where those make zeros the quotient of zeros is one, too, up to roundings.
    fn divided(&self, id: NodeId, zero: bool) -> Option<Length> {
        let (most, of_zeros) = self.words.divided(id)?;
        let real = if zero { most + of_zeros } else { 2.0 * most };
        Some(Length::euclidean(real / self.g().ulp(id)))
    }

    fn reshaped(&self, id: NodeId, arg: NodeId, of: &Reach, to: &[u64]) -> Reach {
        let Reach::Rows(r) = of else { return of.clone() };
        let shape = self.g().shape(arg);
        let before: u64 = shape[..r.axis].iter().product();
        let fits = |&axis: &usize| {
            to[..axis].iter().product::<u64>() == before && to[axis] == shape[r.axis]
        };
        match (0..to.len()).find(fits) {
            Some(axis) => self.rows(id, Rows { axis, ..*r }),
            // Rows are not along an axis any more, and all together change as before.
            None => Reach::Whole(r.length),
        }
    }

    /// An index that no client changes reads each entry at most as often as it has entries.
    fn gathered(&self, index: NodeId, of: &Reach) -> Reach {
        match of {
            Reach::Rows(Rows { length, .. }) | Reach::Whole(length) => {
                Reach::Whole(length.repeated(self.g().elements(index) as f64))
            }
            other => other.clone(),
        }
    }

    fn concat(&self, id: NodeId, of: &[&Reach], axis: usize) -> Reach {
        let all: Vec<Reach> = of.iter().map(|r| (*r).clone()).collect();
        let lengths = all.iter().filter_map(|r| match r {
            Reach::Rows(Rows { length, .. }) | Reach::Whole(length) => Some(*length),
            _ => None,
        });
        let none = Length { l1: 0.0, l2: 0.0 };
        let length = lengths.fold(none, Length::beside);
        match self.alike(&all) {
            Some(Reach::Rows(r)) if r.axis != axis => {
                let zero = all.iter().all(|r| matches!(r, Reach::Rows(Rows { zero: true, .. })));
                self.rows(id, Rows { zero, length, ..r })
            }
            _ => Reach::Whole(length),
        }
    }
}
