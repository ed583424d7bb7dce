//! Sums of products of many bits in one round, of replicated bits whose part a its owner knows ahead: against a
//! malicious party (`masked_exchange`).
//!
//! A bit is l + m, l known to its owner and m to the other two. A product of bits is the sum, over all sets of them, of
//! the product of the l in the set and of the m outside of it. The owner inputs the products of two l and more, each of
//! which is one that it has input, times one l. So its statements are products of two bits. The other two multiply by
//! what they know and exchange the sum. What is multiplied by nothing is added as it was input.
//!
//! | macro | rounds | bits in all |
//! |---|---|---|
//! | [`products`] | 1 | 1 for each product of two l or more, 2 for each result |
//! | [`carry`] | levels | those of its levels |
//!
//! **Simulation.** `input` and `reshare_two`, each uniform to its receiver. **Source.** ABY2.0 (USENIX Security 2021);
//! products of masks one by one, for proofs: derived for this project.

mod trees;

use super::{plus, shared};
use crate::cost::{BLOCK_ENTRY_PRICE, FROZEN_BIT_PRICE, Tuning};
use crate::lower::Emit;
use slvr_circuit::tables::thermometer_planes;
use slvr_circuit::{Hold, Op, ValueId};
use std::collections::{BTreeMap, BTreeSet};
pub use trees::tree_time;
pub(super) use trees::{MOST, levels_but_last};
use trees::{levels, product_tree};

/// Planes that are multiplied, ascending.
pub(super) type Set = Vec<u32>;

/// Rows that become planes, to be multiplied several at once.
pub const MOST_PLANES: u32 = 64;

/// For which network bits are multiplied so, if they are: replicated ones of which owners know parts ahead.
pub fn tuning(e: &Emit, x: ValueId) -> Option<Tuning> {
    e.target.masked().filter(|_| e.ty(x).hold == Hold::Rep)
}

/// Each result is the sum of products of planes of x, every product of at least two of them.
pub fn products(e: &mut Emit, x: ValueId, results: &[Vec<Set>]) -> ValueId {
    let dealt = subsets(results.iter().flatten(), 2);
    let (own, dup) = (e.add(Op::Own(x)), e.add(Op::Dup(x)));
    let parts = multiplied(e, own, &dealt);
    let parts: Vec<ValueId> = parts.into_iter().map(|own| e.add(Op::Input(own))).collect();
    let known = Subsets::new(e, dup, results);
    // Of each result the sets of l, by size, with the products of m that each is multiplied by.
    let mut sum: Option<ValueId> = None;
    let mut terms: Vec<BTreeMap<Set, Vec<Set>>> = results.iter().map(|r| terms(r)).collect();
    let whole = alone(e, &parts, &dealt, &mut terms);
    let largest = terms.iter().flat_map(|t| t.keys()).map(Vec::len).max().unwrap_or(0);
    for size in 1..=largest {
        let of = |t: &BTreeMap<Set, Vec<Set>>| -> Vec<(Set, Vec<Set>)> {
            let some = t.iter().filter(|(s, _)| s.len() == size);
            some.map(|(s, by)| (s.clone(), by.clone())).collect()
        };
        let columns: Vec<_> = terms.iter().map(of).collect();
        for i in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let at = |set: &Set| match size {
                1 => set[0],
                _ => place(&dealt[size - 2], set),
            };
            let from = if size == 1 { x } else { parts[size - 2] };
            // Where there are fewer terms, any plane times 0.
            let planes = columns.iter().map(|c| c.get(i).map_or(0, |(set, _)| at(set)));
            let term = e.select(from, planes.collect());
            let term = if size == 1 { e.add(Op::MaskOf(term, 0)) } else { term };
            let term = e.add(Op::AsAdd2(term));
            let by: Vec<&[Set]> =
                columns.iter().map(|c| c.get(i).map_or(&[][..], |(_, by)| by)).collect();
            let factor = known.sums(e, &by);
            let term = e.add(Op::Mul(term, factor));
            sum = plus(e, sum, term);
        }
    }
    let all: Vec<&[Set]> = results.iter().map(Vec::as_slice).collect();
    let rest = known.sums(e, &all);
    let all = shared(e, sum, rest);
    whole.into_iter().fold(all, |all, x| e.add(Op::Add(x, all)))
}

/// Takes the sets of l that are multiplied by nothing else out of the terms, and adds what the owner has input of them:
/// a summand for each size.
fn alone(
    e: &mut Emit,
    parts: &[ValueId],
    dealt: &[Vec<Set>],
    terms: &mut [BTreeMap<Set, Vec<Set>>],
) -> Vec<ValueId> {
    let mut out = Vec::new();
    for (&part, sets) in parts.iter().zip(dealt) {
        // The plane after the last one is 0.
        let none = sets.len() as u32;
        let mut take = |of: &mut BTreeMap<Set, Vec<Set>>| {
            let found =
                sets.iter().find(|set| of.get(*set).is_some_and(|by| *by == [Set::new()]))?;
            of.remove(found);
            Some(place(sets, found))
        };
        loop {
            let planes: Vec<Option<u32>> = terms.iter_mut().map(&mut take).collect();
            if planes.iter().all(Option::is_none) {
                break;
            }
            let from = match planes.iter().all(Option::is_some) {
                true => part,
                false => {
                    let zero = e.zero_plane(part);
                    e.stack(vec![part, zero])
                }
            };
            let planes = planes.into_iter().map(|p| p.unwrap_or(none)).collect();
            out.push(e.select(from, planes));
        }
    }
    out
}

/// The sets of which products are made, by size from `least` on: all subsets of these.
fn subsets<'a>(of: impl Iterator<Item = &'a Set>, least: usize) -> Vec<Vec<Set>> {
    let mut found: BTreeSet<Set> = BTreeSet::new();
    for set in of {
        found.extend((1..1u32 << set.len()).map(|mask| chosen(set, mask)));
    }
    let largest = found.iter().map(Vec::len).max().unwrap_or(0);
    let of_size = |n: usize| found.iter().filter(|s| s.len() == n).cloned().collect();
    (least..=largest).map(of_size).collect()
}

/// The members of a set that are marked.
fn chosen(set: &Set, mask: u32) -> Set {
    (0..).zip(set).filter(|(i, _)| mask >> i & 1 == 1).map(|(_, &p)| p).collect()
}

/// Where a set stands.
fn place(sets: &[Set], set: &Set) -> u32 {
    sets.binary_search(set).unwrap_or_else(|_| unreachable!("all subsets are there")) as u32
}

/// Of a sum of products each set of l, and the sets of m that it is multiplied by, those that stand twice left out.
fn terms(products: &[Set]) -> BTreeMap<Set, Vec<Set>> {
    let mut out: BTreeMap<Set, Vec<Set>> = BTreeMap::new();
    for set in products {
        for mask in 1..1u32 << set.len() {
            let by = out.entry(chosen(set, mask)).or_default();
            let rest = chosen(set, !mask);
            match by.iter().position(|x| *x == rest) {
                Some(at) => drop(by.remove(at)),
                None => by.push(rest),
            }
        }
    }
    out
}

/// Products of planes, those of each size from those of one less; sizes from 2 on.
fn multiplied(e: &mut Emit, x: ValueId, sets: &[Vec<Set>]) -> Vec<ValueId> {
    let mut out: Vec<ValueId> = Vec::new();
    for (i, of_size) in sets.iter().enumerate() {
        let first = |set: &Set| set[..set.len() - 1].to_vec();
        let left = match out.last() {
            Some(&smaller) => {
                let at = |set: &Set| place(&sets[i - 1], &first(set));
                e.select(smaller, of_size.iter().map(at).collect())
            }
            None => e.select(x, of_size.iter().map(|set| set[0]).collect()),
        };
        let right = e.select(x, of_size.iter().map(|set| set[set.len() - 1]).collect());
        out.push(e.add(Op::Mul(left, right)));
    }
    out
}

/// Products of the planes that two parties know.
struct Subsets {
    sets: Vec<Vec<Set>>,
    /// The planes, products of two and more of them, 0 and 1.
    all: ValueId,
    starts: Vec<u32>,
}

impl Subsets {
    fn new(e: &mut Emit, dup: ValueId, results: &[Vec<Set>]) -> Subsets {
        let sets = subsets(results.iter().flatten(), 2);
        let mut all = vec![dup];
        all.extend(multiplied(e, dup, &sets));
        let zero = e.zero_plane(dup);
        all.extend([zero, e.add(Op::Not(zero))]);
        let mut starts = vec![0];
        for &x in &all {
            starts.push(starts[starts.len() - 1] + e.ty(x).bits());
        }
        Subsets { sets, all: e.stack(all), starts }
    }

    /// For each result a sum of products; the product of nothing is 1.
    fn sums(&self, e: &mut Emit, of: &[&[Set]]) -> ValueId {
        let zero = self.starts[self.starts.len() - 3];
        let at = |set: &Set| match set.len() {
            0 => zero + 1,
            1 => set[0],
            n => self.starts[n - 1] + place(&self.sets[n - 2], set),
        };
        let count = of.iter().map(|sets| sets.len()).max().unwrap_or(0).max(1);
        let mut sum: Option<ValueId> = None;
        for i in 0..count {
            let planes = of.iter().map(|sets| sets.get(i).map_or(zero, at)).collect();
            let x = e.select(self.all, planes);
            sum = plus(e, sum, x);
        }
        sum.unwrap_or_else(|| unreachable!("at least one"))
    }
}

/// Columns for each plane of a code: what its owner says, products of the code, and an exchange with the other two, and
/// what making and multiplying it takes besides.
const COLUMNS: f64 = 8.0;

/// Seconds of a code in such blocks, of each element, of each of which two bits are exchanged.
pub(super) fn code_time(blocks: &[u32], elements: u64, e: &Emit) -> f64 {
    let planes = thermometer_planes(blocks);
    let bits = f64::from(planes + 2 * 2 * blocks.len() as u32);
    let columns = f64::from(planes) * COLUMNS * elements as f64;
    let entries = f64::from(thermometer_planes(&blocks[..1]));
    e.target.family().tuning().time(0.0, bits, elements)
        + columns * FROZEN_BIT_PRICE
        + entries * BLOCK_ENTRY_PRICE
}

/// The carry of all nodes, from the generate bits of each and the propagate bits of all but the lowest.
pub fn carry(
    e: &mut Emit,
    mut g: ValueId,
    mut p: Option<ValueId>,
    nodes: u32,
    tuning: Tuning,
) -> ValueId {
    let elements = e.ty(g).elements();
    for sizes in levels(nodes, elements, tuning) {
        (g, p) = level(e, (g, p), &sizes);
    }
    g
}

/// One level of a carry tree.
pub(super) fn level(
    e: &mut Emit,
    (g, p): (ValueId, Option<ValueId>),
    sizes: &[u32],
) -> (ValueId, Option<ValueId>) {
    let Some(prop) = p else { return (g, p) };
    let n = sizes.iter().sum::<u32>();
    let all = e.stack(vec![g, prop]);
    let propagate = |node: u32| n + node - 1;
    let (mut tops, mut generates, mut propagates) = (Vec::new(), Vec::new(), Vec::new());
    let mut first = 0;
    for &s in sizes {
        let top = first + s - 1;
        tops.push(top);
        let of = |k: u32| [k].into_iter().chain((k + 1..=top).map(propagate)).collect::<Set>();
        generates.push((first..top).map(of).collect::<Vec<_>>());
        if first > 0 {
            propagates.push((first..=top).map(propagate).collect::<Set>());
        }
        first += s;
    }
    let top = e.select(g, tops);
    let (lifted, next) = with_all_of(e, all, generates, &propagates);
    (e.add(Op::Add(top, lifted)), next)
}

/// Some sums of products, and the product of each of some sets, in one exchange.
fn with_all_of(
    e: &mut Emit,
    x: ValueId,
    mut sums: Vec<Vec<Set>>,
    sets: &[Set],
) -> (ValueId, Option<ValueId>) {
    let count = sums.len() as u32;
    let (many, one): (Vec<&Set>, Vec<&Set>) = sets.iter().partition(|set| set.len() > 1);
    sums.extend(many.iter().map(|set| vec![(*set).clone()]));
    let found = products(e, x, &sums);
    let first = e.planes(found, 0, 1, count);
    if sets.is_empty() {
        return (first, None);
    }
    // What is a set of one plane is that plane.
    let alone = one.iter().map(|set| set[0]).collect::<Vec<_>>();
    let (stacked, base) = match alone.is_empty() {
        true => (found, 0),
        false => {
            let base = alone.len() as u32;
            let alone = e.select(x, alone);
            (e.stack(vec![alone, found]), base)
        }
    };
    let (mut singles, mut others) = (0.., base + count..);
    let next = |set: &Set| if set.len() > 1 { others.next() } else { singles.next() };
    let planes = sets.iter().filter_map(next).collect();
    (first, Some(e.select(stacked, planes)))
}

/// And of all rows of bits, where that takes fewer rounds than a tree of ands.
pub fn rows(e: &mut Emit, bits: ValueId, tuning: Tuning) -> Option<ValueId> {
    let [rows, columns] = e.ty(bits).shape[..] else { return None };
    // Nobody knows parts of the rows ahead, so that the first level takes a round more.
    let levels = |rows| product_tree(rows, columns, tuning).0.len() as u32 + 1;
    let few =
        rows <= u64::from(MOST_PLANES) && levels(rows as u32) < rows.next_power_of_two().ilog2();
    few.then(|| {
        let row = |start| Op::Slice { x: bits, axis: 0, start, len: 1, step: 1 };
        let planes = (0..rows).map(|start| e.add(row(start))).collect();
        let planes = e.stack(planes);
        all_planes(e, planes, tuning)
    })
}

/// And of all planes of a value.
pub fn all_planes(e: &mut Emit, mut x: ValueId, tuning: Tuning) -> ValueId {
    for sizes in product_tree(e.ty(x).bits(), e.ty(x).elements(), tuning).0 {
        let mut first = 0;
        let mut sets: Vec<Set> = Vec::new();
        for s in sizes {
            sets.push((first..first + s).collect());
            first += s;
        }
        let (many, alone): (Vec<Set>, Vec<Set>) = sets.into_iter().partition(|set| set.len() > 1);
        let found = products(e, x, &many.into_iter().map(|set| vec![set]).collect::<Vec<_>>());
        let mut parts = vec![found];
        if !alone.is_empty() {
            parts.push(e.select(x, alone.into_iter().flatten().collect()));
        }
        x = e.stack(parts);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two products have in common is added once.
    #[test]
    fn a_set_that_stands_twice_is_no_term() {
        let found = terms(&[vec![0, 1], vec![1, 2]]);
        assert_eq!(found[&vec![1]], [vec![0], vec![2]]);
        assert_eq!(found[&vec![0, 1]], [Vec::<u32>::new()]);
    }
}
