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
use ranked::{Between, note};
pub(in crate::analysis) use ranked::{Ranked, Weights};
use reader::{Reader, Refused};

/// Rows that are computed differently are looked at one by one up to so many comparisons: 256 rows of 32 entries, or
/// one of 512.
const COMPARISONS: u64 = 1 << 18;
/// Longer rows are not looked at: each entry is compared with all others, so one of this length has 2^20 comparisons.
/// Ranks of longer ones are known by their structure ([`ruled`]).
const LONGEST: u64 = 1 << 10;
/// So often lanes are cut: each cut is along an axis of an operand, of which there are a few between a mask and its
/// comparisons.
const CUTS: usize = 16;

/// What the ranks are of that a mask goes by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RanksOf {
    /// The values that it multiplies.
    Values,
    /// Anything, one number for each entry.
    Anything,
}

impl RanksOf {
    fn fits(self, view: &View<'_>, mask: NodeId, values: NodeId) -> bool {
        let other = match self {
            RanksOf::Values => !view.whole(values),
            RanksOf::Anything => !matches!(view.op(mask), Op::Const(..)),
        };
        view.whole(mask) && other
    }
}

/// A sum of products of a mask and of values, where the mask goes by the ranks of the values.
pub(in crate::analysis) fn of_values(view: &View<'_>, id: NodeId) -> Option<Ranked> {
    sum(view, id, RanksOf::Values)
}

/// A sum of products of a mask and of values, where the mask goes by the ranks of anything.
fn of_any(view: &View<'_>, id: NodeId) -> Option<Ranked> {
    sum(view, id, RanksOf::Anything)
}

/// Either factor may be the mask. Ranks that are told by rules are known without looking at entries.
fn sum(view: &View<'_>, id: NodeId, of: RanksOf) -> Option<Ranked> {
    let product = match view.op(id) {
        Op::MatMul { .. } => id,
        Op::Sum(_) if *view.op(view.args(id)[0]) == Op::Mul => view.args(id)[0],
        _ => return None,
    };
    let &[a, b] = view.args(product) else { return None };
    let mut ruled = [(a, b), (b, a)].into_iter().filter(|m| of.fits(view, m.0, m.1));
    if let Some(found) = ruled.find_map(|m| ruled::sum(view, id, m, of)) {
        return Some(found);
    }
    let Products { sizes, factors: [a, b] } = Products::of(view.g, id, LONGEST)?;
    let mut listed = [(&a, &b), (&b, &a)].into_iter().filter(|m| of.fits(view, m.0.node, m.1.node));
    listed.find_map(|(mask, values)| rows(view, &sizes, mask, values, of))
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
        let outer: Vec<usize> = (0..axis).filter(|&d| shape[d] > 1).collect();
        let sizes: Vec<u64> = outer.iter().map(|&d| shape[d]).collect();
        let row = Factor {
            node: id,
            places: (0..shape[axis]).map(|k| k * own[axis]).collect(),
            distances: outer.iter().map(|&d| own[d]).collect(),
        };
        let numbers = || (0..shape[axis]).map(|r| r as f64);
        let all = |Weights { weights: w, .. }: &Weights| {
            w.iter().copied().eq(numbers()) || w.iter().rev().copied().eq(numbers())
        };
        rows(view, &sizes, &row, &row, RanksOf::Anything)
            .is_some_and(|found| found.rows.iter().all(all))
    }
}

/// Whether rows of so many entries are looked at.
fn looked_at(n: u64) -> bool {
    (1..=LONGEST).contains(&n)
}

/// What each row of a mask is by the ranks of its entries.
fn rows(
    view: &View<'_>,
    sizes: &[u64],
    mask: &Factor,
    values: &Factor,
    of: RanksOf,
) -> Option<Ranked> {
    let n = mask.places.len() as u64;
    type Row = (Weights, Between);
    let read = |sizes: &[u64], moved: &[Vec<u64>; 2], from: [u64; 2]| -> Result<Row, Refused> {
        let reader = Reader::new(view, sizes, mask.places.len());
        let places = |f: &Factor, moved: &Vec<u64>, from: u64| -> Vec<_> {
            f.places.iter().map(|p| reader.place(f.node, p + from, moved.clone())).collect()
        };
        let masks = places(mask, &moved[0], from[0]);
        match of {
            RanksOf::Values => reader.by_rank(&masks, &places(values, &moved[1], from[1])),
            RanksOf::Anything => reader.by_some_rank(&masks),
        }
    };
    let ranked = |rows, between| Ranked { values: values.node, rows, between };
    // All at once.
    let mut lanes = sizes.to_vec();
    let mut moved = [mask.distances.clone(), values.distances.clone()];
    for _ in 0..CUTS {
        match read(&lanes, &moved, [0; 2]) {
            Ok((weights, between)) => return Some(ranked(vec![weights], vec![between])),
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
        let (weights, own) = read(&[], &[Vec::new(), Vec::new()], from).ok()?;
        note(&mut between, own);
        note(&mut kinds, weights);
    }
    Some(ranked(kinds, between))
}
