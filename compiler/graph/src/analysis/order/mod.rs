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

use super::lanes::{Uneven, strides};
use super::layout::{digits, flat, summed};
use super::stated::StatedErrors;
use super::view::View;
use crate::graph::infer::align;
use crate::graph::ranks::Ranks;
use crate::graph::{Graph, NodeId, Op};
pub(in crate::analysis) use memo::{Orders, Versions};
use ranked::note;
pub(in crate::analysis) use ranked::{Ranked, Weights};
use reader::{ByRank, Reader, Refused};

/// Rows that are computed differently are looked at one by one up to so many comparisons.
const COMPARISONS: u64 = 1 << 18;
/// Longer rows are not looked at.
const LONGEST: u64 = 1 << 10;
/// So often lanes are cut.
const CUTS: usize = 16;

/// A factor of a sum of products: the entries of it that take part in the first row, and how far they move
/// along each axis of the result.
struct Factor {
    node: NodeId,
    places: Vec<u64>,
    distances: Vec<u64>,
}

/// A sum of products.
struct Products {
    /// Axes of the result of more than one entry.
    sizes: Vec<u64>,
    factors: [Factor; 2],
}

/// A sum of products of a mask and of values, where the mask goes by the ranks of the values.
pub(in crate::analysis) fn of_values(view: &View<'_>, id: NodeId) -> Option<Ranked> {
    sum(view, id, |mask, values| view.whole(mask) && !view.whole(values), true)
}

/// The same where the mask goes by the ranks of anything.
fn of_any(view: &View<'_>, id: NodeId) -> Option<Ranked> {
    let mask = |x: NodeId| view.whole(x) && !matches!(view.op(x), Op::Const(..));
    sum(view, id, |x, _| mask(x), false)
}

/// Whether the entries of a node along its last axis of several are ranks: each number from 0 on once, whatever is equal.
pub fn is_ranking(g: &Graph, id: NodeId) -> bool {
    if Ranks::of(g, id).is_some() {
        return true;
    }
    let shape = g.shape(id);
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
    let view = View::of_reals(g, &StatedErrors::NONE);
    let numbers = || (0..shape[axis]).map(|r| r as f64);
    let all = |Weights { weights: w, .. }: &Weights| {
        w.iter().copied().eq(numbers()) || w.iter().rev().copied().eq(numbers())
    };
    held(&view, &sizes, &row, &row, false).is_some_and(|found| found.rows.iter().all(all))
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
    let Products { sizes, factors: [a, b] } = products(view, id)?;
    let found = |mask: &Factor, values: &Factor| {
        fits(mask.node, values.node).then(|| held(view, &sizes, mask, values, own)).flatten()
    };
    found(&a, &b).or_else(|| found(&b, &a))
}

/// The same of a mask whose ranks are told by rules.
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

/// The factors of a matrix product, or of the sum of a product. Of long rows, such as all weights of a model, there are
/// none: to list their places takes longer than all else that is found of them.
fn products(view: &View<'_>, id: NodeId) -> Option<Products> {
    let to = view.shape(id);
    let wide: Vec<usize> = (0..to.len()).filter(|&d| to[d] != 1).collect();
    let sizes = wide.iter().map(|&d| to[d]).collect();
    let kept = |distances: &[u64]| wide.iter().map(|&d| distances[d]).collect::<Vec<u64>>();
    let stride = |shape: &[u64], axis: usize| match shape[axis] {
        1 => 0,
        _ => shape[axis + 1..].iter().product(),
    };
    if to.contains(&0) {
        return None;
    }
    match view.op(id) {
        Op::MatMul { trans_b } => {
            let &[a, b] = view.args(id) else { return None };
            let (sa, sb) = (view.shape(a), view.shape(b));
            let n = *sa.get(2).filter(|n| looked_at(**n))?;
            let column = if *trans_b { 1 } else { 2 };
            let along = if *trans_b { 2 } else { 1 };
            let left = Factor {
                node: a,
                places: (0..n).collect(),
                distances: kept(&[stride(sa, 0), stride(sa, 1), 0]),
            };
            let right = Factor {
                node: b,
                places: (0..n).map(|k| k * sb[along + 1..].iter().product::<u64>()).collect(),
                distances: kept(&[stride(sb, 0), 0, stride(sb, column)]),
            };
            Some(Products { sizes, factors: [left, right] })
        }
        Op::Sum(axes) => {
            let product = view.args(id)[0];
            let (Op::Mul, &[a, b]) = (view.op(product), view.args(product)) else { return None };
            let shape = align(view.shape(a), view.shape(b)).ok()?;
            let (over, rest): (Vec<usize>, Vec<usize>) =
                (0..shape.len()).partition(|d| axes.contains(&(*d as u64)));
            if !looked_at(over.iter().map(|&d| shape[d]).product()) {
                return None;
            }
            let places = summed(&shape, axes, 0);
            let factor = |node: NodeId| {
                let own = view.shape(node);
                let all: Vec<u64> = rest.iter().map(|&d| stride(own, d)).collect();
                let place = |&p: &u64| flat(own, &digits(&shape, p));
                let places = places.iter().map(place).collect();
                Factor { node, places, distances: kept(&all) }
            };
            Some(Products { sizes, factors: [factor(a), factor(b)] })
        }
        _ => None,
    }
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
        let from = |f: &Factor| at.iter().zip(&f.distances).map(|(x, d)| x * d).sum();
        let found = read(&[], &[Vec::new(), Vec::new()], [from(mask), from(values)]).ok()?;
        note(&mut between, found.between.clone());
        note(&mut kinds, row(found));
    }
    Some(ranked(kinds, between))
}
