//! Sums of values that a mask chooses by rank: largest entries, medians, sums of the smallest.
//!
//! The passes spell order statistics out as comparisons of pairs, masks of ranks and masked sums. What makes
//! them continuous (for errors) and bounds them (for intervals) is that the mask's entries depend on ranks
//! only, and ranks are a permutation. This holds of all rows of a masked sum or nothing is said: rows are held
//! at once along lanes ([`super::lanes`]), or one by one if they are few.
//!
//! May not live here: what follows for errors ([`super::errors`]) and intervals ([`super::ranges`]).

mod memo;
mod ranked;
mod reader;
mod ruled;
#[cfg(test)]
mod tests;

use super::lanes::{Uneven, strides};
use super::layout::digits;
use super::products::{Factor, Products};
use super::stated::StatedErrors;
use super::view::View;
use crate::graph::ranks::Ranks;
use crate::graph::{Graph, NodeId, Op};
pub(in crate::analysis) use memo::{Orders, Versions};
use ranked::note;
pub(in crate::analysis) use ranked::{Ranked, Weights};
use reader::{ByRank, Reader, Refused};

/// Rows that are computed differently are looked at one by one up to so many comparisons: 256 rows of 32 entries, or
/// one of 512.
const COMPARISONS: u64 = 1 << 18;
/// Longer rows are not looked at: each entry is compared with all others, so one of this length has 2^20 comparisons.
/// Ranks of longer ones are known by their structure ([`ruled`]).
const LONGEST: u64 = 1 << 10;
/// So often lanes are cut: each cut is along an axis of an operand, of which there are a few between a mask and its
/// comparisons.
const CUTS: usize = 16;

/// A sum of products of a mask and of values, where the mask goes by the ranks of the values.
pub(in crate::analysis) fn of_values(view: &View<'_>, id: NodeId) -> Option<Ranked> {
    sum(view, id, |mask, values| view.whole(mask) && !view.whole(values), true)
}

/// A sum of products of a mask and of values, where the mask goes by the ranks of anything.
fn of_any(view: &View<'_>, id: NodeId) -> Option<Ranked> {
    let mask = |x: NodeId| view.whole(x) && !matches!(view.op(x), Op::Const(..));
    sum(view, id, |x, _| mask(x), false)
}

/// Which values of a graph are ranks.
pub struct Rankings<'a>(View<'a>);

impl<'a> Rankings<'a> {
    /// Of this graph, for any number of questions.
    pub fn new(g: &'a Graph) -> Rankings<'a> {
        Rankings(View::of_reals(g, &StatedErrors::NONE))
    }

    /// Whether the entries of a node along its last axis of several are ranks: each number from 0 on once, whatever is
    /// equal.
    pub fn has(&self, id: NodeId) -> bool {
        let view = &self.0;
        if Ranks::of(view.g, id).is_some() {
            return true;
        }
        let shape = view.shape(id);
        let Some(axis) = shape.iter().rposition(|n| *n > 1).filter(|&d| looked_at(shape[d])) else {
            return false;
        };
        let own = strides(shape);
        let rows: Vec<usize> = (0..axis).filter(|&d| shape[d] > 1).collect();
        let sizes: Vec<u64> = rows.iter().map(|&d| shape[d]).collect();
        let row = Factor {
            node: id,
            places: (0..shape[axis]).map(|k| k * own[axis]).collect(),
            distances: rows.iter().map(|&d| own[d]).collect(),
        };
        let numbers = || (0..shape[axis]).map(|r| r as f64);
        let all = |Weights { weights: w, .. }: &Weights| {
            w.iter().copied().eq(numbers()) || w.iter().rev().copied().eq(numbers())
        };
        held(view, &sizes, &row, &row, false).is_some_and(|found| found.rows.iter().all(all))
    }
}

fn sum(
    view: &View<'_>,
    id: NodeId,
    fits: impl Fn(NodeId, NodeId) -> bool,
    own: bool,
) -> Option<Ranked> {
    if let Some(found) = of_rules(view, id, &fits, own) {
        return Some(found);
    }
    // A product by itself has no rows of ranks.
    let is_sum = matches!(view.op(id), Op::MatMul { .. } | Op::Sum(_));
    let found = is_sum.then(|| Products::of(view.g, id, LONGEST))?;
    let Products { sizes, factors: [a, b] } = found?;
    let found = |mask: &Factor, values: &Factor| {
        fits(mask.node, values.node).then(|| held(view, &sizes, mask, values, own)).flatten()
    };
    found(&a, &b).or_else(|| found(&b, &a))
}

/// A sum of products of a mask and of values, where the ranks that the mask goes by are told by rules.
fn of_rules(
    view: &View<'_>,
    id: NodeId,
    fits: impl Fn(NodeId, NodeId) -> bool,
    own: bool,
) -> Option<Ranked> {
    let product = match view.op(id) {
        Op::MatMul { .. } => id,
        Op::Sum(_) => view.args(id)[0],
        _ => return None,
    };
    let &[a, b] = view.args(product) else { return None };
    let found =
        |mask, values| fits(mask, values).then(|| ruled::held(view, id, mask, values, own))?;
    found(a, b).or_else(|| found(b, a))
}

/// Whether rows of so many entries are looked at.
fn looked_at(n: u64) -> bool {
    (1..=LONGEST).contains(&n)
}

/// Holds all rows of a mask against the ranks of the values, or of anything.
fn held(
    view: &View<'_>,
    sizes: &[u64],
    mask: &Factor,
    values: &Factor,
    own: bool,
) -> Option<Ranked> {
    let n = mask.places.len() as u64;
    let read = |sizes: &[u64], moved: &[Vec<u64>; 2], from: [u64; 2]| -> Result<ByRank, Refused> {
        let reader = Reader::new(view, sizes, mask.places.len());
        let places = |f: &Factor, moved: &Vec<u64>, from: u64| -> Vec<_> {
            f.places.iter().map(|p| reader.place(f.node, p + from, moved.clone())).collect()
        };
        let masks = places(mask, &moved[0], from[0]);
        match own {
            true => reader.by_rank(&masks, &places(values, &moved[1], from[1])),
            false => reader.by_some_rank(&masks),
        }
    };
    let row = |found: ByRank| Weights {
        weights: found.weights.iter().map(|&w| w as f64).collect(),
        nodes: if own { found.nodes } else { Vec::new() },
    };
    let ranked = |rows, between| Ranked { values: values.node, rows, between };
    // All at once.
    let mut lanes = sizes.to_vec();
    let mut moved = [mask.distances.clone(), values.distances.clone()];
    for _ in 0..CUTS {
        match read(&lanes, &moved, [0; 2]) {
            Ok(found) => {
                let between = vec![found.between.clone()];
                return Some(ranked(vec![row(found)], between));
            }
            Err(Refused::No) => return None,
            Err(Refused::Lanes(Uneven::Different)) => break,
            Err(Refused::Lanes(Uneven::Split { lane, inner })) => {
                lanes[lane] /= inner;
                lanes.insert(lane + 1, inner);
                for distances in &mut moved {
                    let step = distances[lane];
                    distances[lane] *= inner;
                    distances.insert(lane + 1, step);
                }
            }
        }
    }
    // One by one.
    let rows: u64 = sizes.iter().product();
    if rows.saturating_mul(n * n) > COMPARISONS {
        return None;
    }
    let (mut kinds, mut between) = (Vec::new(), Vec::new());
    for number in 0..rows {
        let at = digits(sizes, number);
        let from = [mask.moved(&at), values.moved(&at)];
        let found = read(&[], &[Vec::new(), Vec::new()], from).ok()?;
        note(&mut between, found.between.clone());
        note(&mut kinds, row(found));
    }
    Some(ranked(kinds, between))
}
