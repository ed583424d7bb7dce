//! Quotients whose divisor is made of the dividend.
//!
//! A share of a sum of values that are not negative is at most 1, in words as in real numbers: the sum of words is
//! exact. The terms are the entries of a tensor, or they are written out, as in `x / (1 + x)`. The same holds of a
//! quotient whose divisor is the larger of something and the dividend, as a cap leaves it. Nothing is said of a divisor
//! that was rounded afterwards.

use crate::analysis::behind::rescaled;
use crate::analysis::interval::Interval;
use crate::analysis::slices::Slice;
use crate::analysis::view::View;
use crate::analysis::zeros::is_share;
use crate::graph::{NodeId, Op, Selection};

/// An interval of the exact quotient of a run's words.
pub(super) fn quotient(
    view: &View<'_>,
    raw: &[Interval],
    x: NodeId,
    y: NodeId,
) -> Option<Interval> {
    let not_negative = |id: NodeId| raw[id.index()].0 >= 0.0;
    (not_negative(x) && at_most_one(view, x, y, &not_negative)).then_some((0.0, 1.0))
}

/// Whether y is at least x wherever no entry of x is negative. `not_negative` says of a value whether none of its entries
/// is negative.
pub(in crate::analysis) fn at_most_one(
    view: &View<'_>,
    x: NodeId,
    y: NodeId,
    not_negative: &dyn Fn(NodeId) -> bool,
) -> bool {
    is_share(view.g, x, y) || larger(view, x, y) || term(view, x, y, not_negative)
}

/// Sums that are written out are followed so deep.
const DEPTH: u32 = 8;
/// And of so many terms: one for each member of a large set.
const TERMS: usize = 1 << 12;

/// Whether y is a sum of x and of terms that are not negative, entry by entry.
fn term(view: &View<'_>, x: NodeId, y: NodeId, not_negative: &dyn Fn(NodeId) -> bool) -> bool {
    let (mut terms, mut open) = (Vec::new(), vec![(y, 0, 0)]);
    while let Some((id, doubled, depth)) = open.pop() {
        let (id, more) = origin(view, id, false);
        let doubled = doubled + more;
        // Of fewer entries, one term is added to several.
        let whole = view.g.elements(id) == view.g.elements(y);
        match added(view, id) {
            Some(parts) if whole && depth < DEPTH => {
                if terms.len() + open.len() + parts.len() > TERMS {
                    return false;
                }
                open.extend(parts.into_iter().map(|part| (part, doubled, depth + 1)));
            }
            _ => terms.push((id, doubled, whole)),
        }
    }
    let of = origin(view, x, false);
    let is_dividend = |&(id, doubled, whole): &(NodeId, i64, bool)| {
        whole && (id, doubled) == of && view.shape(x) == view.shape(y)
    };
    terms.len() > 1
        && terms.iter().any(is_dividend)
        && terms.iter().all(|&(id, ..)| id == of.0 || not_negative(id))
}

/// The terms of a sum of two values, or of the columns of a list.
fn added(view: &View<'_>, id: NodeId) -> Option<Vec<NodeId>> {
    match view.op(id) {
        Op::Add => Some(view.args(id).to_vec()),
        Op::Sum(axes) => {
            let &[axis] = axes.as_slice() else { return None };
            let parts = view.args(view.args(id)[0]);
            let is_list = *view.op(view.args(id)[0]) == Op::Concat(axis);
            let narrow = parts.iter().all(|p| view.shape(*p).get(axis as usize) == Some(&1));
            (is_list && narrow).then(|| parts.to_vec())
        }
        _ => None,
    }
}

/// Whether y is the larger of something and x, entry by entry.
fn larger(view: &View<'_>, x: NodeId, y: NodeId) -> bool {
    let (chosen, doubled) = origin(view, y, false);
    let Some(found) = view.g.selection(chosen).filter(Selection::is_larger) else { return false };
    // One entry is the same wherever it stands; several are in their places where nothing is repeated, neither for the
    // choice nor for the quotient.
    let one = view.g.elements(x) == 1;
    let in_place = |side: NodeId| {
        view.shape(x) == view.shape(y) && view.g.elements(x) == view.g.elements(side)
    };
    found.less.into_iter().any(|side| {
        [true, false].into_iter().any(|moved| {
            let ((from, by), (chosen, of)) = (origin(view, x, moved), origin(view, side, moved));
            let placed = if moved { one } else { in_place(side) };
            placed && from == chosen && by == of + doubled
        })
    })
}

/// Where a value comes from, and the power of two that it is multiplied by: back through exact changes of scale and
/// through layouts that keep the order of entries; if it may have `moved`, through copies, too.
fn origin(view: &View<'_>, mut id: NodeId, moved: bool) -> (NodeId, i64) {
    let through = |op: &Op| matches!(op, Op::Reshape(_)) || moved && matches!(op, Op::Broadcast(_));
    let mut doubled = 0;
    loop {
        let (from, by) = rescaled(view.g, id, through);
        doubled += by;
        match Slice::of(view.g, from).and_then(|part| part.whole(view.g, from)) {
            Some(part) => id = part,
            None => return (from, doubled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ranges::{Bound, Ranges};
    use crate::analysis::stated::TESTED;
    use crate::graph::eval::testing::{random_inputs, successors};
    use crate::graph::{Graph, eval, text};
    use rand_chacha::ChaCha12Rng;
    use rand_core::{Rng, SeedableRng};

    /// Absolute values of three numbers, as columns, rows, squares and one number; what is made of two of these; and
    /// quotients of all of it. Either side of a quotient may be repeated.
    fn quotients(seed: u64) -> Graph {
        let text = "graph T\nparties Client[1]\nparties Server[1]\nfrac 8\n\
            input 0 x : secret fix[3] in -8..8 from each Client\nsite 0 \"x\" line 1\n\
            %0 = input 0 : secret fix.8[1,3] @0\nreveal %0 to Server as y @0\n";
        let mut g = text::parse(text).expect("a graph");
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let mut below = |n: usize| rng.next_u64() as usize % n;
        let row = g.add(Op::Abs, &[NodeId(0)], 0);
        let column = g.add(Op::Reshape(vec![3, 1]), &[row], 0);
        let mut all = vec![row, column];
        for x in [row, column] {
            all.push(g.add(Op::Broadcast(vec![3, 3]), &[x], 0));
        }
        all.push(g.add(Op::Slice { axis: 1, start: 1, len: 1, step: 1 }, &[row], 0));
        for _ in 0..12 {
            let [a, b] = [all[below(all.len())], all[below(all.len())]];
            let made = match below(4) {
                0 => g.add(Op::Add, &[a, b], 0),
                1 => {
                    let less = g.add(Op::Lt, &[a, b], 0);
                    g.add(Op::Select, &[less, b, a], 0)
                }
                2 => {
                    let (axis, mut kept) = (below(2), g.shape(a).to_vec());
                    kept[axis] = 1;
                    let sum = g.add(Op::Sum(vec![axis as u64]), &[a], 0);
                    g.add(Op::Reshape(kept), &[sum], 0)
                }
                _ => {
                    g.add(Op::Div, &[a, b], 0);
                    continue;
                }
            };
            all.push(made);
            let part = [a, b][below(2)];
            g.add(Op::Div, &[part, made], 0);
        }
        g
    }

    #[test]
    fn quotients_are_within_their_intervals() {
        let mut at_most_one = 0;
        for seed in 0..1000 {
            let g = quotients(seed);
            let x = Bound { range: (-2048.0, 2048.0), norm: f64::INFINITY, total: f64::INFINITY };
            let raw = Ranges::of(&g, &[x], &TESTED).raw;
            let run = eval::exact(&g, &random_inputs(&g, seed), &successors, true).expect("a run");
            for id in g.ids().filter(|&id| *g.op(id) == Op::Div) {
                let (lo, hi) = raw[id.index()];
                at_most_one += u32::from(hi < 512.0);
                for v in run.values[id.index()].as_ref().expect("values are kept").iter() {
                    let inside = (lo..=hi).contains(&(*v as f64));
                    assert!(inside, "graph {seed}, {id:?}: {v} is not in {lo}..{hi}");
                }
            }
        }
        assert!(at_most_one > 1000, "{at_most_one}");
    }

    /// A sum of ten columns, each of which is such a sum of the columns before.
    #[test]
    fn wide_sums_are_given_up() {
        let mut g = quotients(0);
        let x = g.ids().find(|&id| g.shape(id) == [3, 1]).expect("a column");
        let mut y = x;
        for _ in 0..8 {
            let columns = g.add(Op::Concat(1), &[y; 10], 0);
            let sum = g.add(Op::Sum(vec![1]), &[columns], 0);
            y = g.add(Op::Reshape(vec![3, 1]), &[sum], 0);
        }
        let view = View::new(&g, &TESTED);
        assert!(!term(&view, x, y, &|_| false));
    }
}
