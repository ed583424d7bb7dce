//! Masks that go by ranks which are told by rules: their structure says so, and no entry is looked at.

use super::RanksOf;
use super::ranked::{Between, Ranked, Truncations, Weights};
use crate::analysis::behind::{behind, path};
use crate::analysis::view::View;
use crate::graph::ranks::{First, Ranks};
use crate::graph::{NodeId, Op};

/// A mask as a function of the rank of each entry.
struct ByRank {
    ranks: Ranks,
    /// The node of the ranks.
    node: NodeId,
    /// The mask at each rank.
    at: Vec<f64>,
}

/// The longest way from a mask to its ranks: one of the ranks between two ends takes two comparisons, a conjunction,
/// and a conversion or two.
const STEPS: u32 = 16;

impl ByRank {
    fn map(mut self, f: impl Fn(f64) -> f64) -> ByRank {
        self.at.iter_mut().for_each(|x| *x = f(*x));
        self
    }
}

fn by_rank(view: &View<'_>, id: NodeId, steps: u32) -> Option<ByRank> {
    let steps = steps.checked_sub(1)?;
    if !view.whole(id) {
        return None;
    }
    if let Some(ranks) = Ranks::of(view.g, id) {
        let n = view.shape(id).last().copied()?;
        return Some(ByRank { ranks, node: id, at: (0..n).map(|r| r as f64).collect() });
    }
    let args = view.args(id);
    let first = || by_rank(view, *args.first()?, steps);
    let pair = |f: fn(f64, f64) -> f64| {
        let &[a, b] = args else { return None };
        let own = |x: NodeId| by_rank(view, x, steps);
        match (view.g.constant(a), view.g.constant(b)) {
            (_, Some(c)) => return Some(own(a)?.map(|x| f(x, c))),
            (Some(c), _) => return Some(own(b)?.map(|x| f(c, x))),
            (None, None) => {}
        }
        let (x, y) = (own(a)?, own(b)?);
        let at = x.at.iter().zip(&y.at).map(|(&x, &y)| f(x, y)).collect();
        (x.node == y.node).then_some(ByRank { at, ..x })
    };
    let found = match view.op(id) {
        Op::Reshape(_) | Op::ToInt => first(),
        Op::Not => Some(first()?.map(|x| 1.0 - x)),
        Op::Neg => Some(first()?.map(|x| -x)),
        Op::Scale(c) => Some(first()?.map(|x| c * x)),
        Op::Lt => pair(|x, y| f64::from(x < y)),
        Op::Eq => pair(|x, y| f64::from(x == y)),
        Op::Xor => pair(|x, y| f64::from(x != y)),
        Op::And | Op::Mul => pair(|x, y| x * y),
        Op::Add => pair(|x, y| x + y),
        Op::Sub => pair(|x, y| x - y),
        _ => None,
    }?;
    // Entries keep their places: nothing was repeated.
    (view.g.elements(id) == view.g.elements(found.node)).then_some(found)
}

/// The node that values are moved from without changing their places, but for truncations, and these.
fn untruncated(view: &View<'_>, id: NodeId) -> (NodeId, Truncations) {
    let through = |op: &Op| matches!(op, Op::Trunc(_) | Op::Shift(_) | Op::Reshape(_));
    let all = path(view.g, id).take_while(|&x| through(view.op(x)));
    let truncations = all.filter(|&x| matches!(view.op(x), Op::Trunc(_))).collect();
    (behind(view.g, id, through), truncations)
}

/// A sum of products of a mask and of values along rows of the ranks, one for each entry of the result.
pub(super) fn sum(
    view: &View<'_>,
    id: NodeId,
    (mask, values): (NodeId, NodeId),
    of: RanksOf,
) -> Option<Ranked> {
    let found = by_rank(view, mask, STEPS)?;
    let n = found.at.len() as u64;
    // The sum is over rows of the mask, whole.
    let (shape, rows) = (view.shape(mask), view.g.elements(mask) / n);
    let whole = match view.op(id) {
        Op::MatMul { trans_b } => {
            let (along, across) =
                if mask == view.args(id)[0] || *trans_b { (2, 1) } else { (1, 2) };
            shape.get(along) == Some(&n) && shape.get(across) == Some(&1)
        }
        Op::Sum(axes) => {
            let product = view.shape(view.args(id)[0]);
            let last = shape.iter().rposition(|&d| d != 1)?;
            let alone = |&a: &u64| a as usize == last || product[a as usize] == 1;
            let summed = axes.contains(&(last as u64)) && axes.iter().all(alone);
            shape[last] == n && product.len() == shape.len() && summed
        }
        _ => false,
    };
    if !whole {
        return None;
    }
    let ((summed, late), (compared, early)) =
        (untruncated(view, values), untruncated(view, found.ranks.of));
    // Each row of the result is of one row of the mask and the same row of the values.
    let same = summed == compared && view.g.elements(id) == rows;
    if of == RanksOf::Values && !same {
        return None;
    }
    let mut weights = found.at;
    // By ascending rank.
    if found.ranks.first == First::Largest {
        weights.reverse();
    }
    let (between, nodes) = match of {
        RanksOf::Values => {
            (Between { compared: vec![early], summed: vec![late] }, vec![values; weights.len()])
        }
        RanksOf::Anything => Default::default(),
    };
    Some(Ranked { values, rows: vec![Weights { weights, nodes }], between: vec![between] })
}
