//! Quotients whose divisor is made of the dividend.
//!
//! A share of a sum of values that are not negative is at most 1, in words as in real numbers: the sum of words is
//! exact. The terms are the entries of a tensor, or they are written out, as in `x / (1 + x)`. The same holds of a
//! quotient whose divisor is the larger of something and the dividend, as a cap leaves it. Nothing is said of a divisor
//! that was rounded afterwards.

use crate::analysis::interval::Interval;
use crate::analysis::layout::rescaled;
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
    let positive = |id: NodeId| raw[id.index()].0 >= 0.0;
    (positive(x) && at_most_one(view, x, y, &positive)).then_some((0.0, 1.0))
}

/// Whether y is at least x wherever no entry of x is negative. `positive` says of a value whether none of its entries
/// is negative.
pub(in crate::analysis) fn at_most_one(
    view: &View<'_>,
    x: NodeId,
    y: NodeId,
    positive: &dyn Fn(NodeId) -> bool,
) -> bool {
    is_share(view.g, x, y) || larger(view, x, y) || term(view, x, y, positive)
}

/// Terms of a sum that is written out are followed so deep, each time for every term.
const DEPTH: u32 = 8;

/// Whether y is a sum of x and of terms that are not negative, entry by entry.
fn term(view: &View<'_>, x: NodeId, y: NodeId, positive: &dyn Fn(NodeId) -> bool) -> bool {
    let (mut terms, mut open) = (Vec::new(), vec![(y, 0, 0)]);
    while let Some((id, doubled, depth)) = open.pop() {
        let (id, more) = origin(view, id, false);
        let doubled = doubled + more;
        // Of fewer entries, one term is added to several.
        let whole = view.g.elements(id) == view.g.elements(y);
        match added(view, id) {
            Some(parts) if whole && depth < DEPTH => {
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
        && terms.iter().all(|&(id, ..)| id == of.0 || positive(id))
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
    let entries = |id: NodeId| view.g.elements(id);
    found.less.into_iter().any(|side| {
        // One entry is the same wherever it stands; of several, the order must have stayed.
        [true, false].into_iter().any(|moved| {
            let ((x, by), (side, of)) = (origin(view, x, moved), origin(view, side, moved));
            let placed = if moved { entries(x) == 1 } else { entries(x) == entries(y) };
            placed && x == side && by == of + doubled
        })
    })
}

/// Where a value comes from, and the power of two that it is multiplied by: back through exact changes of scale and
/// through layouts that keep the order of entries; if it may have `moved`, through copies, too.
fn origin(view: &View<'_>, id: NodeId, moved: bool) -> (NodeId, i64) {
    let through = |op: &Op| matches!(op, Op::Reshape(_)) || moved && matches!(op, Op::Broadcast(_));
    let (id, doubled) = rescaled(view.g, id, through);
    let part = match view.op(id) {
        Op::Slice { axis, start, len: 1, .. } => column(view, view.args(id)[0], (*axis, *start)),
        _ => None,
    };
    let Some(part) = part else { return (id, doubled) };
    let (id, more) = origin(view, part, moved);
    (id, doubled + more)
}

/// What stands in a column of width 1 of a concatenation of such columns.
pub(in crate::analysis) fn column(
    view: &View<'_>,
    joined: NodeId,
    (axis, start): (u64, u64),
) -> Option<NodeId> {
    let parts = view.args(joined);
    let narrow = parts.iter().all(|p| view.shape(*p).get(axis as usize) == Some(&1));
    (*view.op(joined) == Op::Concat(axis) && narrow).then(|| parts.get(start as usize).copied())?
}
