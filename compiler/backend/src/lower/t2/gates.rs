//! Gates of many inputs (ABY2.0), and the trees that they make.
//!
//! A level opens its factors under fresh masks and takes the products of these masks from the dealer, so it
//! costs one round however many inputs its gates have.

use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::common::masked::{Pair, Split, mask, settle, shares, unsettled};
use crate::lower::common::words::even;
use slvr_circuit::multi_and::MultiAnd;
use slvr_circuit::{Op, ValueId};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Bits of the dealer and of each other.
pub(crate) type Bits = (u64, u64);

pub(crate) fn total((dealt, opened): Bits) -> u64 {
    dealt + 2 * opened
}

/// One level of products of shared bits: opens the factors, deals the products of their masks. What is only
/// added, or passes, is neither opened nor masked.
pub(crate) fn level(e: &mut Emit, nodes: ValueId, gates: MultiAnd) -> ValueId {
    let factors = e.select(nodes, gates.factors());
    let x = settle(e, Pair { own: None, add2: factors });
    products(e, &x, gates.is_linear_in_some().then_some(nodes), gates)
}

/// Products of factors of which part b is known, of these nodes.
pub(crate) fn products(
    e: &mut Emit,
    x: &Split,
    nodes: Option<ValueId>,
    gates: MultiAnd,
) -> ValueId {
    let mask = shares(e, x);
    let own = e.add(Op::MaskProducts { x: x.own, gates: gates.clone() });
    let products = e.add(Op::Deal(own));
    e.add(Op::AndMany { open: x.dup, mask, products, nodes, gates })
}

/// Groups of a product of n bits over some levels, of each at most the inputs that a gate may have.
fn and_levels(n: u32, elements: u64, tuning: Tuning) -> Vec<Vec<u32>> {
    let time = |(levels, bits): &(Vec<Vec<u32>>, u64)| {
        tuning.time(levels.len() as f64, *bits as f64, elements)
    };
    let all = (0..=4).filter_map(|most| and_levels_of_fewest_bits(n, most));
    all.min_by(|a, b| time(a).total_cmp(&time(b))).map_or(Vec::new(), |(levels, _)| levels)
}

/// The groups of a product of n bits over at most `most` levels that take the fewest bits, and these.
fn and_levels_of_fewest_bits(n: u32, most: u32) -> Option<(Vec<Vec<u32>>, u64)> {
    type Known = BTreeMap<(u32, u32), Option<(Vec<Vec<u32>>, u64)>>;
    thread_local! {
        /// Every check of a range asks for the same few.
        static KNOWN: RefCell<Known> = const { RefCell::new(BTreeMap::new()) };
    }
    if n <= 1 {
        return Some((Vec::new(), 0));
    }
    if most == 0 {
        return None;
    }
    if let Some(known) = KNOWN.with_borrow(|known| known.get(&(n, most)).cloned()) {
        return known;
    }
    let each = (1..n).filter_map(|groups| {
        let sizes = even(n, groups);
        let gates = MultiAnd::And(sizes.clone());
        if !gates.is_valid() {
            return None;
        }
        let (rest, bits) = and_levels_of_fewest_bits(groups, most - 1)?;
        // What the next level opens, at last the result.
        let opened =
            rest.first().map_or(1, |sizes: &Vec<u32>| MultiAnd::And(sizes.clone()).inputs());
        let bits = bits + u64::from(gates.mask_products()) + 2 * u64::from(opened);
        Some((std::iter::once(sizes).chain(rest).collect::<Vec<_>>(), bits))
    });
    let best = each.min_by_key(|(_, bits)| *bits);
    KNOWN.with_borrow_mut(|known| known.insert((n, most), best.clone()));
    best
}

/// Some planes of a split.
pub(crate) fn part(e: &mut Emit, x: &Split, planes: &[u32]) -> Split {
    Split {
        own: e.select(x.own, planes.to_vec()),
        dup: e.select(x.dup, planes.to_vec()),
        mask: x.mask.map(|mask| e.select(mask, planes.to_vec())),
    }
}

/// And of all planes of bits whose part b is known.
pub fn all_planes(e: &mut Emit, x: &Split, tuning: Tuning) -> Pair {
    let ty = e.ty(x.own).clone();
    let mut levels = and_levels(ty.bits(), ty.elements(), tuning).into_iter();
    let Some(first) = levels.next() else {
        return unsettled(e, x);
    };
    let gates = MultiAnd::And(first);
    let x = Split { mask: Some(mask(e, x)), ..*x };
    let nodes = gates.is_linear_in_some().then(|| {
        let shares = shares(e, &x);
        e.add(Op::Add(shares, x.dup))
    });
    let factors = part(e, &x, &gates.factors());
    let mut add2 = products(e, &factors, nodes, gates);
    for sizes in levels {
        add2 = level(e, add2, MultiAnd::And(sizes));
    }
    Pair { own: None, add2 }
}
