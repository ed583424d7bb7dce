//! Whether consecutive bits of a + b generate and propagate a carry, and whether they are all zero, by the nodes of
//! [`Trees`](super::carry_trees::Trees).
//!
//! The dealer sends thermometer codes of its bits, and the others, who know the bits of b, choose entries of them. A
//! gate joins the nodes of one level. A node (g, p) over a table T of the bits below it becomes g + p g' and p p',
//! where g' and p' are entries of T. So the others need entries of p T: with p = m + l, where m is opened and l is the
//! dealer's, this is m T + l T, and l T is dealt as T is. Beyond both ends of T is what is no entry: 0, and 1, of
//! which p T has p.

use super::carry_trees::Node;
use super::gates::level;
use crate::lower::Emit;
use crate::lower::common::masked::{Pair, settle};
use slvr_circuit::multi_and::MultiAnd;
use slvr_circuit::tables::thermometer_planes;
use slvr_circuit::{Op, ValueId};
use std::ops::Range;

/// The bits of both parts, lowest first.
pub struct Parts {
    pub own: ValueId,
    pub dup: ValueId,
    /// Of the other question, whether all bits are zero, those of part b less 1, and the bits below, of which it is not
    /// asked.
    pub less: Option<(ValueId, u32)>,
}

/// A plane of a value.
pub type Plane = (ValueId, u32);

/// What is known of some bits, as words of the other two.
#[derive(Clone, Copy)]
pub struct Carried {
    pub generate: Plane,
    /// Not of the lowest bits of all.
    pub propagate: Option<Plane>,
    /// Where it is asked.
    pub zero: Option<Plane>,
}

/// These planes, one after the other.
pub fn gather(e: &mut Emit, planes: impl IntoIterator<Item = Plane>) -> ValueId {
    let mut runs: Vec<(ValueId, Vec<u32>)> = Vec::new();
    for (value, plane) in planes {
        match runs.last_mut() {
            Some((last, run)) if *last == value => run.push(plane),
            _ => runs.push((value, vec![plane])),
        }
    }
    let runs = runs.into_iter().map(|(value, run)| e.select(value, run)).collect();
    e.stack(runs)
}

enum Step {
    Leaf,
    /// Of the nodes at these places.
    Joined(Vec<usize>),
    /// Over a table, the node at this place.
    Over(usize),
}

struct Item {
    step: Step,
    level: u32,
    /// Of a leaf, or of the table below.
    bits: Range<u32>,
    tested: bool,
}

/// Appends the nodes of a tree of the bits from `from` on, each after those that it is made of.
fn flatten(node: &Node, from: u32, edge: u32, items: &mut Vec<Item>) -> usize {
    let (step, bits) = match node {
        Node::Leaf(bits) => (Step::Leaf, from..from + bits),
        Node::Joined(nodes) => {
            let mut at = from;
            let mut place = |node: &Node| {
                at += node.width();
                flatten(node, at - node.width(), edge, items)
            };
            (Step::Joined(nodes.iter().map(&mut place).collect()), from..at)
        }
        Node::Over(node, bits) => {
            let upper = flatten(node, from + bits, edge, items);
            (Step::Over(upper), from..from + bits)
        }
    };
    items.push(Item { step, level: node.levels(), bits, tested: from >= edge });
    items.len() - 1
}

/// What is to be known of each of these nodes, of all bits, lowest first.
pub fn known(e: &mut Emit, parts: &Parts, nodes: &[&Node]) -> Vec<Carried> {
    let edge = parts.less.map_or(u32::MAX, |(_, edge)| edge);
    let (mut items, mut from, mut roots) = (Vec::new(), 0, Vec::new());
    for node in nodes {
        roots.push(flatten(node, from, edge, &mut items));
        from += node.width();
    }
    let mut known: Vec<Option<Carried>> = vec![None; items.len()];
    let of = |known: &[Option<Carried>], at: usize| known[at].expect("items below are known");
    for step in 0..=nodes.iter().map(|n| n.levels()).max().unwrap_or(0) {
        let here = || (0..items.len()).filter(|&at| items[at].level == step);
        let leaves: Vec<usize> =
            here().filter(|&at| matches!(items[at].step, Step::Leaf)).collect();
        let bits: Vec<_> = leaves.iter().map(|&at| items[at].bits.clone()).collect();
        if !bits.is_empty() {
            for (at, of) in leaves.into_iter().zip(chosen(e, parts, &bits)) {
                known[at] = Some(of);
            }
        }
        let (mut places, mut groups) = (Vec::new(), Vec::new());
        for at in here() {
            if let Step::Joined(nodes) = &items[at].step {
                places.push(at);
                groups.push(nodes.iter().map(|&n| of(&known, n)).collect());
            }
        }
        for (at, of) in places.into_iter().zip(joined(e, &groups)) {
            known[at] = Some(of);
        }
        for tested in [false, true] {
            let (mut places, mut uppers, mut bits) = (Vec::new(), Vec::new(), Vec::new());
            for at in here().filter(|&at| items[at].tested == tested) {
                if let Step::Over(upper) = items[at].step {
                    places.push(at);
                    uppers.push(of(&known, upper));
                    bits.push(items[at].bits.clone());
                }
            }
            for (at, of) in places.into_iter().zip(over(e, parts, &uppers, &bits)) {
                known[at] = Some(of);
            }
        }
    }
    roots.into_iter().map(|at| of(&known, at)).collect()
}

/// The planes of these blocks of a value that begins at bit `edge`, and the sizes of the blocks.
fn blocks(e: &mut Emit, x: ValueId, edge: u32, bits: &[Range<u32>]) -> (ValueId, Vec<u32>) {
    let planes = bits.iter().flat_map(|b| b.start - edge..b.end - edge).collect();
    (e.select(x, planes), bits.iter().map(|b| b.end - b.start).collect())
}

/// What a table says of these blocks, of which the lowest bits of all are the first.
pub fn chosen(e: &mut Emit, parts: &Parts, bits: &[Range<u32>]) -> Vec<Carried> {
    let (own, sizes) = blocks(e, parts.own, 0, bits);
    let (index, _) = blocks(e, parts.dup, 0, bits);
    let code = e.add(Op::Thermometer { x: own, blocks: sizes.clone() });
    let table = e.add(Op::Deal(code));
    let pick = e.add(Op::Pick { table, index, blocks: sizes.clone() });
    let n = sizes.len() as u32;
    let known = (0..n).map(|i| Carried {
        generate: (pick, i),
        propagate: i.checked_sub(1).map(|i| (pick, n + i)),
        zero: None,
    });
    let mut known: Vec<Carried> = known.collect();
    if let Some((less, edge)) = parts.less {
        let first = bits.iter().position(|b| b.start >= edge).unwrap_or(bits.len());
        let skip = thermometer_planes(&sizes[..first]);
        let (index, blocks) = blocks(e, less, edge, &bits[first..]);
        let zero = e.add(Op::Propagate { table, index, blocks, skip });
        known[first..].iter_mut().zip(0..).for_each(|(known, i)| known.zero = Some((zero, i)));
    }
    known
}

/// Nodes that become one, for each group: in one level.
fn joined(e: &mut Emit, groups: &[Vec<Carried>]) -> Vec<Carried> {
    let Some(first) = groups.first().and_then(|group| group.first()) else { return Vec::new() };
    let all = || groups.iter().flatten();
    // The lowest group of a gate propagates nothing: where all do, it is a node that passes.
    let below = first.propagate.is_some().then_some(first.generate);
    let generate = below.into_iter().chain(all().map(|node| node.generate));
    let nodes = gather(e, generate.chain(all().filter_map(|node| node.propagate)));
    let below = u32::from(below.is_some());
    let sizes = groups.iter().map(|group| group.len() as u32);
    let sizes: Vec<u32> = std::iter::repeat_n(1, below as usize).chain(sizes).collect();
    let n = sizes.len() as u32;
    let carry = level(e, nodes, MultiAnd::Carry(sizes));
    let known = (below..n).map(|i| Carried {
        generate: (carry, i),
        propagate: i.checked_sub(1).map(|i| (carry, n + i)),
        zero: None,
    });
    let mut known: Vec<Carried> = known.collect();
    let tested: Vec<usize> = (0..groups.len()).filter(|&g| groups[g][0].zero.is_some()).collect();
    if !tested.is_empty() {
        let tests = tested.iter().flat_map(|&g| &groups[g]).filter_map(|node| node.zero);
        let tests = gather(e, tests);
        let sizes = tested.iter().map(|&g| groups[g].len() as u32).collect();
        let zero = level(e, tests, MultiAnd::And(sizes));
        tested.into_iter().zip(0..).for_each(|(g, i)| known[g].zero = Some((zero, i)));
    }
    known
}

/// Nodes over tables for the bits below them: in one level.
fn over(e: &mut Emit, parts: &Parts, uppers: &[Carried], bits: &[Range<u32>]) -> Vec<Carried> {
    let Some(first) = bits.first() else { return Vec::new() };
    let (own, sizes) = blocks(e, parts.own, 0, bits);
    let (index, _) = blocks(e, parts.dup, 0, bits);
    let code = e.add(Op::Thermometer { x: own, blocks: sizes.clone() });
    let table = e.add(Op::Deal(code));
    let factors = gather(e, uppers.iter().filter_map(|node| node.propagate));
    let scaled = scaled(e, (code, table), factors, &sizes);
    let pick = e.add(Op::Pick { table: scaled, index, blocks: sizes.clone() });
    let n = sizes.len() as u32;
    let above = gather(e, uppers.iter().map(|node| node.generate));
    let below = e.select(pick, (0..n).collect());
    let generate = e.add(Op::Add(above, below));
    // `Pick` leaves out the first.
    let start = e.select(scaled, (0..thermometer_planes(&sizes[..1])).collect());
    let (at, alone) = blocks(e, parts.dup, 0, std::slice::from_ref(first));
    let start = e.add(Op::Propagate { table: start, index: at, blocks: alone, skip: 0 });
    let rest = (n > 1).then(|| e.select(pick, (n..2 * n - 1).collect()));
    let propagate = e.stack(std::iter::once(start).chain(rest).collect());
    let propagate = with_end(e, propagate, factors, index, &sizes);
    let zero = parts.less.filter(|_| uppers[0].zero.is_some()).map(|(less, edge)| {
        let factors = gather(e, uppers.iter().filter_map(|node| node.zero));
        let scaled = self::scaled(e, (code, table), factors, &sizes);
        let (index, sizes) = blocks(e, less, edge, bits);
        let zero = Op::Propagate { table: scaled, index, blocks: sizes.clone(), skip: 0 };
        let zero = e.add(zero);
        with_end(e, zero, factors, index, &sizes)
    });
    let known = |i| Carried {
        generate: (generate, i),
        propagate: Some((propagate, i)),
        zero: zero.map(|zero| (zero, i)),
    };
    (0..n).map(known).collect()
}

/// The entries of each block's table times the block's factor, as words.
fn scaled(
    e: &mut Emit,
    (code, table): (ValueId, ValueId),
    factors: ValueId,
    sizes: &[u32],
) -> ValueId {
    let x = settle(e, Pair { own: None, add2: factors });
    let entries = |(&size, i): (&u32, u32)| std::iter::repeat_n(i, (1 << size) - 1);
    let entries: Vec<u32> = sizes.iter().zip(0..).flat_map(entries).collect();
    let (own, dup) = (e.select(x.own, entries.clone()), e.select(x.dup, entries));
    let own = e.add(Op::Mul(code, own));
    let own = e.add(Op::Deal(own));
    let dup = e.add(Op::Mul(table, dup));
    e.add(Op::Add(own, dup))
}

/// Propagate bits as `Pick` takes them of entries with factors: where the other number is ones, it took 1 for what is
/// beyond the table, which is the factor.
fn with_end(
    e: &mut Emit,
    propagate: ValueId,
    factors: ValueId,
    index: ValueId,
    sizes: &[u32],
) -> ValueId {
    let code = e.add(Op::Thermometer { x: index, blocks: sizes.to_vec() });
    let mut end = 0;
    let last = sizes.iter().map(|&size| {
        end += (1 << size) - 1;
        end - 1
    });
    let last = last.collect();
    let ones = e.select(code, last);
    let other = e.add(Op::Not(factors));
    let more = e.add(Op::Mul(other, ones));
    e.add(Op::Add(propagate, more))
}
