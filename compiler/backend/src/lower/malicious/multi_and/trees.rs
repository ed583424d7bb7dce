//! Trees of products of several bits at once: how many become one on each level, by what that takes in time.

use crate::cost::{FROZEN_BIT_PRICE, NetProfile, Tuning};
use crate::lower::common::words::even;
use crate::lower::{Emit, Family};
use slvr_circuit::multi_and::MultiAnd;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Most nodes that become one at once: of more, there are more sums to prove than rounds are worth.
pub(in super::super) const MOST: u32 = 5;

/// Most levels of a tree of carries: one more than [`NODES`] take in pairs.
const LEVELS: usize = 7;

/// Seconds of so many products of two bits and their reshares, of each element, on some levels.
fn reshare_time(levels: u32, products: u32, elements: u64) -> f64 {
    let tuning = NetProfile::lan().tuning();
    let columns = 2.0 * f64::from(products) * elements as f64;
    tuning.time(f64::from(levels), 3.0 * f64::from(products), elements) + columns * FROZEN_BIT_PRICE
}

/// Ways to choose k of n.
fn choose(n: u32, k: u32) -> u32 {
    (0..k).fold(1, |c, i| c * n.saturating_sub(i) / (i + 1))
}

/// Seconds, of each element, of a level of a carry tree: bits, and columns of what the owner and the other two prove.
fn price(sizes: &[u32], tuning: Tuning) -> Option<f64> {
    let most = sizes.iter().copied().max().filter(|s| (2..=MOST).contains(s))?;
    let outputs = 2 * sizes.len() as u32 - 1;
    let dealt = MultiAnd::Carry(sizes.to_vec()).mask_products();
    // Of the largest group the terms of each size, without the one that is multiplied by nothing.
    let terms = |t: u32| choose(most - 1, t) + choose(most, t) - 1;
    let columns = outputs * (1..=most).map(terms).sum::<u32>() + dealt;
    // Two of three parties exchange, and each party deals for a third.
    let columns = f64::from(columns) * 2.0 / 3.0;
    Some(tuning.time(0.0, f64::from(dealt + 2 * outputs), 1) + columns * FROZEN_BIT_PRICE)
}

/// Most nodes of a carry tree: one for every second bit of the longest words.
const NODES: usize = 64;

/// Of so many levels, the least time of each element from each number of nodes, and how many nodes the next level has.
type Trees = Vec<Vec<Option<(f64, u32)>>>;

/// Carry trees of up to [`NODES`] nodes.
fn trees(tuning: Tuning) -> Rc<Trees> {
    thread_local! {
        /// All comparisons of a program ask for the same ones.
        static KNOWN: RefCell<BTreeMap<[u64; 2], Rc<Trees>>> = const { RefCell::new(BTreeMap::new()) };
    }
    let key = [tuning.latency, tuning.bandwidth].map(f64::to_bits);
    if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).cloned()) {
        return known;
    }
    let mut best: Trees = vec![vec![None; NODES + 1]];
    best[0][1] = Some((0.0, 1));
    for l in 0..LEVELS {
        let step = |n: u32| {
            let ways = (1..n).filter_map(|groups| {
                let (rest, _) = best[l][groups as usize]?;
                Some((price(&even(n, groups), tuning)? + rest, groups))
            });
            ways.min_by(|a, b| a.0.total_cmp(&b.0))
        };
        best.push((0..=NODES as u32).map(step).collect());
    }
    let best = Rc::new(best);
    KNOWN.with_borrow_mut(|known| known.insert(key, best.clone()));
    best
}

/// Levels of the tree of so many nodes that takes least time for so many elements, and the time.
fn quickest(trees: &Trees, nodes: u32, elements: u64, tuning: Tuning) -> (usize, f64) {
    let time = |l: usize| match trees[l][nodes as usize] {
        Some((each, _)) => tuning.time(l as f64, 0.0, 0) + each * elements as f64,
        None => f64::INFINITY,
    };
    let all = (0..=LEVELS).map(|l| (l, time(l)));
    all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::INFINITY))
}

/// Seconds of a tree of ands of so many replicated bits of each element, or of carries of so many nodes.
pub fn tree_time(e: &Emit, nodes: u32, elements: u64, carries: bool) -> f64 {
    let levels = nodes.next_power_of_two().ilog2();
    match (e.target.family(), carries) {
        (Family::T1, true) => reshare_time(levels, 2 * (nodes - 1) - levels, elements),
        (Family::T1, false) => reshare_time(levels, nodes - 1, elements),
        (Family::T2(tuning), true) => quickest(&trees(tuning), nodes, elements, tuning).1,
        (Family::T2(tuning), false) => product_tree(nodes, elements, tuning).1,
    }
}

/// Groups of nodes of each level of a carry tree, of which a tree of so many elements takes least time.
pub(super) fn levels(nodes: u32, elements: u64, tuning: Tuning) -> Vec<Vec<u32>> {
    let best = trees(tuning);
    let (mut l, _) = quickest(&best, nodes, elements, tuning);
    let mut n = nodes;
    let mut out = Vec::new();
    while let Some((_, groups)) = best[l][n as usize].filter(|_| l > 0) {
        out.push(even(n, groups));
        (n, l) = (groups, l - 1);
    }
    out
}

/// Levels of a carry tree that leave fewer than [`MOST`] nodes, for a last level that joins these with one more.
pub(in super::super) fn levels_but_last(
    nodes: u32,
    elements: u64,
    tuning: Tuning,
) -> Vec<Vec<u32>> {
    let mut all = levels(nodes, elements, tuning);
    let left = all.pop().map_or(1, |last| last.iter().sum::<u32>());
    if left >= MOST {
        all.push(even(left, 2));
    }
    all
}

/// Groups of planes of each level of a product of so many, at most `fan` in one.
fn groups(mut planes: u32, fan: u32) -> Vec<Vec<u32>> {
    let mut out = Vec::new();
    while planes > 1 {
        let sizes = even(planes, planes.div_ceil(fan));
        planes = sizes.len() as u32;
        out.push(sizes);
    }
    out
}

/// Groups of planes of each level of a product of so many, of which it takes least time, and the time.
pub(super) fn product_tree(planes: u32, elements: u64, tuning: Tuning) -> (Vec<Vec<u32>>, f64) {
    let time = |levels: &Vec<Vec<u32>>| {
        let bits = |sizes: &Vec<u32>| {
            u64::from(MultiAnd::And(sizes.clone()).mask_products()) + 2 * sizes.len() as u64
        };
        tuning.time(levels.len() as f64, levels.iter().map(bits).sum::<u64>() as f64, elements)
    };
    let ways = (2..=MOST).map(|fan| groups(planes, fan)).map(|levels| {
        let time = time(&levels);
        (levels, time)
    });
    ways.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trees end in one node, and where a round costs little they take the fewest bits.
    #[test]
    fn levels_end_in_one_node() {
        for nodes in 1..=40 {
            for net in [NetProfile::loopback(), NetProfile::lan(), NetProfile::wan()] {
                for elements in [1, 1 << 20] {
                    let all = levels(nodes, elements, net.tuning());
                    let mut left = nodes;
                    for sizes in &all {
                        assert_eq!(sizes.iter().sum::<u32>(), left);
                        assert!(sizes.iter().all(|s| (1..=MOST).contains(s)));
                        left = sizes.len() as u32;
                    }
                    assert_eq!(left, 1, "{nodes} nodes, {elements} elements");
                }
            }
        }
        let few = levels(16, 1, NetProfile::wan().tuning());
        assert_eq!(few.len(), 2, "{few:?}");
        let many = levels(16, 1 << 24, NetProfile::lan().tuning());
        assert!(many.len() > 2, "{many:?}");
    }
}
