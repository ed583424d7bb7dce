//! Functions of few bits: whatever boolean function each element of a node is of bits of earlier nodes, as
//! one table.
//!
//! A rank is a sum of comparisons of pairs, a selection compares it with a constant, and the outcome is
//! combined with other bits and made a word. Step by step that takes a conversion, a comparison, a product
//! and a conversion. But each element is a function of few bits, and all elements are the same
//! function of different bits. Its truth table can be dealt ([`slvr_circuit::Op::Table`]) and
//! looked up in no round.
//!
//! Lives here: finding the function, on graphs only ([`Functions::bits`]). [`Lowering::table_of`] lowers it. May not
//! live here: arithmetic on words that are not counts of bits.

use super::dealer::{self, Pair, Split};
use super::{Lowering, split::FEW};
use crate::graph::eval::layout;
use crate::graph::{Graph, NodeId, Op, Table};
use crate::syntax::ast::Secrecy;
use crate::types::Elem;
use slvr_circuit::{Op as C, ValueId};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Most nodes that are looked through for one function.
const MOST_NODES: usize = 64;

/// A bit of another node, or its complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Literal {
    /// The node.
    pub node: NodeId,
    /// Its element, row-major.
    pub at: usize,
    /// Complement.
    pub flip: bool,
}

/// A function of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Its arguments.
    pub of: Vec<Literal>,
    /// Its value where argument i is bit i of the index.
    pub table: Vec<bool>,
}

impl Function {
    fn literal(node: NodeId, at: usize) -> Function {
        Function { of: vec![Literal { node, at, flip: false }], table: vec![false, true] }
    }

    fn constant(value: bool) -> Function {
        Function { of: Vec::new(), table: vec![value] }
    }

    fn not(&self) -> Function {
        match self.of[..] {
            // Complements of arguments stay arguments, so that elements with and without share a table.
            [one] if self.table == [false, true] => {
                let of = vec![Literal { flip: !one.flip, ..one }];
                Function { of, table: self.table.clone() }
            }
            _ => Function { of: self.of.clone(), table: self.table.iter().map(|v| !v).collect() },
        }
    }

    /// A function of two functions' values.
    fn with(&self, other: &Function, f: impl Fn(bool, bool) -> bool) -> Function {
        let of = [&self.of[..], &other.of[..]].concat();
        let pairs = other.table.iter().flat_map(|&b| self.table.iter().map(move |&a| (a, b)));
        Function { of, table: pairs.map(|(a, b)| f(a, b)).collect() }
    }
}

/// c plus a weighted sum of bits.
#[derive(Clone, Debug, Default, PartialEq)]
struct Count {
    constant: i64,
    terms: Vec<(Literal, i64)>,
}

impl Count {
    fn plus(&self, other: &Count, sign: i64) -> Option<Count> {
        let mut terms = self.terms.clone();
        for &(l, w) in &other.terms {
            terms.push((l, w.checked_mul(sign)?));
        }
        let constant = self.constant.checked_add(other.constant.checked_mul(sign)?)?;
        (terms.len() <= MOST_BITS).then_some(Count { constant, terms })
    }

    fn times(&self, by: i64) -> Option<Count> {
        let mut terms = self.terms.clone();
        for (_, w) in &mut terms {
            *w = w.checked_mul(by)?;
        }
        terms.retain(|(_, w)| *w != 0);
        Some(Count { constant: self.constant.checked_mul(by)?, terms })
    }

    /// Whether a condition holds of it. Weights become positive and ascending, so that elements that differ
    /// in complements and in order only share a table.
    fn holds(&self, condition: impl Fn(i64) -> bool) -> Option<Function> {
        let mut constant = self.constant;
        let mut terms = Vec::with_capacity(self.terms.len());
        for &(l, w) in &self.terms {
            // w b = w + |w| (1 - b) for w < 0.
            if w < 0 {
                constant = constant.checked_add(w)?;
            }
            let flip = l.flip != (w < 0);
            terms.push((Literal { flip, ..l }, w.checked_abs()?));
        }
        terms.sort_by_key(|(_, w)| *w);
        let mut table = vec![constant];
        for (_, w) in &terms {
            let more: Option<Vec<i64>> = table.iter().map(|v| v.checked_add(*w)).collect();
            table.extend(more?);
        }
        let of = terms.into_iter().map(|(l, _)| l).collect();
        Some(Function { of, table: table.into_iter().map(condition).collect() })
    }
}

/// The operands whose elements an operation moves.
fn movable(g: &Graph, id: NodeId) -> Vec<NodeId> {
    let args = g.args(id);
    match g.op(id) {
        Op::Concat(_) => args.to_vec(),
        _ => args.iter().take(1).copied().collect(),
    }
}

/// All entries of a table: one may stand for all.
fn entries(table: &Table) -> impl Iterator<Item = f64> {
    let n = table.shape.iter().product::<u64>() as usize;
    let one = table.data.len() == 1;
    (0..n).filter_map(move |i| table.data.get(if one { 0 } else { i }).copied())
}

/// The functions that nodes' elements are.
pub(super) struct Functions<'a> {
    graph: &'a Graph,
    bits: BTreeMap<NodeId, Option<Rc<Vec<Function>>>>,
    counts: BTreeMap<NodeId, Option<Rc<Vec<Count>>>>,
}

impl<'a> Functions<'a> {
    /// Of the nodes of a graph with scales.
    pub(super) fn new(graph: &'a Graph) -> Functions<'a> {
        Functions { graph, bits: BTreeMap::new(), counts: BTreeMap::new() }
    }

    /// What each element of a secret bit is of bits before it; of itself, if nothing better is found.
    /// `None` for large nodes.
    pub(super) fn bits(&mut self, id: NodeId) -> Option<Rc<Vec<Function>>> {
        if self.bits.len() + self.counts.len() > MOST_NODES {
            (self.bits, self.counts) = (BTreeMap::new(), BTreeMap::new());
        }
        if self.graph.elements(id) > FEW || self.graph.ty(id).elem != Elem::Bit {
            return None;
        }
        if let Some(known) = self.bits.get(&id) {
            return known.clone();
        }
        let found = match (self.graph.op(id), self.graph.ty(id).secrecy) {
            (Op::Const(table, ..), _) => {
                Some(entries(table).map(|v| Function::constant(v != 0.0)).collect())
            }
            (_, Secrecy::Public) => None,
            _ => {
                let literals =
                    || (0..self.graph.elements(id) as usize).map(|i| Function::literal(id, i));
                let literals: Vec<Function> = literals().collect();
                let small = |f: &Vec<Function>| f.iter().all(|f| f.of.len() <= MOST_BITS);
                Some(self.bits_of(id).filter(small).unwrap_or(literals))
            }
        };
        let found = found.map(Rc::new);
        self.bits.insert(id, found.clone());
        found
    }

    fn shape(&self, id: NodeId) -> Vec<usize> {
        self.graph.shape(id).iter().map(|&n| n as usize).collect()
    }

    fn bits_of(&mut self, id: NodeId) -> Option<Vec<Function>> {
        let args = self.graph.args(id).to_vec();
        match self.graph.op(id) {
            Op::Not => Some(self.bits(args[0])?.iter().map(Function::not).collect()),
            Op::Xor | Op::And => {
                let xor = *self.graph.op(id) == Op::Xor;
                let (a, b) = (self.bits(args[0])?, self.bits(args[1])?);
                let to = self.shape(id);
                // Indices, since functions are not `Copy`.
                let [ia, ib] = [(args[0], a.len()), (args[1], b.len())].map(|(x, n)| {
                    let all: Vec<usize> = (0..n).collect();
                    layout::broadcast(&all, &self.shape(x), &to)
                });
                let most = |f: &[Function]| f.iter().map(|f| f.of.len()).max().unwrap_or(0);
                let (ma, mb) = (most(&a), most(&b));
                // Of too many bits, the operand of more is taken as one.
                let take = |f: &[Function], i: usize, x: NodeId, whole: bool| match whole {
                    true => f[i].clone(),
                    false => Function::literal(x, i),
                };
                let fits = ma + mb <= MOST_BITS;
                let both = ia.iter().zip(&ib).map(|(&i, &j)| {
                    let a = take(&a, i, args[0], fits || ma <= mb);
                    let b = take(&b, j, args[1], fits || ma > mb);
                    match (&a.of[..], &a.table[..], &b.of[..], &b.table[..]) {
                        (.., [], [c]) if xor => {
                            if *c {
                                a.not()
                            } else {
                                a
                            }
                        }
                        ([], [c], ..) if xor => {
                            if *c {
                                b.not()
                            } else {
                                b
                            }
                        }
                        (.., [], [c]) => {
                            if *c {
                                a
                            } else {
                                Function::constant(false)
                            }
                        }
                        ([], [c], ..) => {
                            if *c {
                                b
                            } else {
                                Function::constant(false)
                            }
                        }
                        _ if xor => a.with(&b, |a, b| a != b),
                        _ => a.with(&b, |a, b| a && b),
                    }
                });
                Some(both.collect())
            }
            Op::Lt | Op::Eq => {
                let lt = *self.graph.op(id) == Op::Lt;
                let (a, b) = (self.counts(args[0])?, self.counts(args[1])?);
                let to = self.shape(id);
                let [ia, ib] = [(args[0], a.len()), (args[1], b.len())].map(|(x, n)| {
                    let all: Vec<usize> = (0..n).collect();
                    layout::broadcast(&all, &self.shape(x), &to)
                });
                let each = ia.iter().zip(&ib).map(|(&i, &j)| {
                    let d = a[i].plus(&b[j], -1)?;
                    d.holds(|v| if lt { v < 0 } else { v == 0 })
                });
                each.collect()
            }
            _ => {
                let moved = self.moved(id)?;
                let all: Option<Vec<_>> =
                    movable(self.graph, id).iter().map(|&x| self.bits(x)).collect();
                let all: Vec<&Function> = all.iter().flatten().flat_map(|f| f.iter()).collect();
                moved.into_iter().map(|i| all.get(i).map(|&f| f.clone())).collect()
            }
        }
    }

    /// The weighted sums that a small integer's elements are.
    fn counts(&mut self, id: NodeId) -> Option<Rc<Vec<Count>>> {
        let ty = self.graph.ty(id);
        if self.graph.elements(id) > FEW || ty.elem != Elem::Int {
            return None;
        }
        if let Some(known) = self.counts.get(&id) {
            return known.clone();
        }
        let found = self.counts_of(id).map(Rc::new);
        self.counts.insert(id, found.clone());
        found
    }

    fn counts_of(&mut self, id: NodeId) -> Option<Vec<Count>> {
        let args = self.graph.args(id).to_vec();
        let op = self.graph.op(id);
        match op {
            Op::Const(table, ..) => {
                let whole = |v: f64| {
                    let small = v.fract() == 0.0 && v.abs() < f64::from(i32::MAX);
                    small.then(|| Count { constant: v as i64, terms: Vec::new() })
                };
                entries(table).map(whole).collect()
            }
            Op::ToInt => {
                let bits = self.bits(args[0])?;
                let term = |f: &Function| match f.of[..] {
                    [l] if f.table == [false, true] => {
                        Some(Count { constant: 0, terms: vec![(l, 1)] })
                    }
                    _ => None,
                };
                bits.iter().map(term).collect()
            }
            Op::Neg => self.counts(args[0])?.iter().map(|c| c.times(-1)).collect(),
            Op::Scale(by) if by.fract() == 0.0 && by.abs() < f64::from(i32::MAX) => {
                self.counts(args[0])?.iter().map(|c| c.times(*by as i64)).collect()
            }
            Op::Add | Op::Sub | Op::Mul => {
                let (a, b) = (self.counts(args[0])?, self.counts(args[1])?);
                let to = self.shape(id);
                let [ia, ib] = [(args[0], a.len()), (args[1], b.len())].map(|(x, n)| {
                    let all: Vec<usize> = (0..n).collect();
                    layout::broadcast(&all, &self.shape(x), &to)
                });
                let each = ia.iter().zip(&ib).map(|(&i, &j)| {
                    let (a, b) = (&a[i], &b[j]);
                    match op {
                        Op::Add => a.plus(b, 1),
                        Op::Sub => a.plus(b, -1),
                        _ if a.terms.is_empty() => b.times(a.constant),
                        _ if b.terms.is_empty() => a.times(b.constant),
                        _ => None,
                    }
                });
                each.collect()
            }
            Op::Sum(axes) => {
                let from = self.counts(args[0])?;
                let mut kept = self.shape(args[0]);
                axes.iter().for_each(|&axis| kept[axis as usize] = 1);
                let all: Vec<usize> = (0..kept.iter().product()).collect();
                let to = layout::broadcast(&all, &kept, &self.shape(args[0]));
                let mut sums = vec![Count::default(); all.len()];
                for (i, c) in to.into_iter().zip(from.iter()) {
                    sums[i] = sums[i].plus(c, 1)?;
                }
                Some(sums)
            }
            _ => {
                let moved = self.moved(id)?;
                let all: Option<Vec<_>> =
                    movable(self.graph, id).iter().map(|&x| self.counts(x)).collect();
                let all: Vec<&Count> = all.iter().flatten().flat_map(|c| c.iter()).collect();
                moved.into_iter().map(|i| all.get(i).map(|&c| c.clone())).collect()
            }
        }
    }

    /// Of an operation that only moves elements of its operands (of the first, if others are indices): which
    /// element is where, counted through all operands.
    fn moved(&self, id: NodeId) -> Option<Vec<usize>> {
        let args = self.graph.args(id);
        let x = *args.first()?;
        if let Op::Concat(axis) = self.graph.op(id) {
            let axis = *axis as usize;
            let mut start = 0;
            let parts: Vec<(Vec<usize>, usize)> = (args.iter())
                .map(|&x| {
                    let n = self.graph.elements(x) as usize;
                    start += n;
                    ((start - n..start).collect(), self.shape(x)[axis..].iter().product())
                })
                .collect();
            let parts: Vec<(&[usize], usize)> = parts.iter().map(|(x, n)| (&x[..], *n)).collect();
            return Some(layout::concat(&parts, self.shape(id)[..axis].iter().product()));
        }
        let all: Vec<usize> = (0..self.graph.elements(x) as usize).collect();
        let shape = self.shape(x);
        match self.graph.op(id) {
            Op::Reshape(_) => Some(all),
            Op::Transpose(p) => Some(layout::transpose(&all, &shape, p)),
            Op::Slice { axis, start, len, step } => {
                let along = (*start as usize, *len as usize, *step as usize);
                Some(layout::slice(&all, &shape, *axis as usize, along))
            }
            Op::Broadcast(_) => Some(layout::broadcast(&all, &shape, &self.shape(id))),
            Op::Gather { axis, batch } => {
                let index = *args.get(1)?;
                let Op::Const(table, ..) = self.graph.op(index) else { return None };
                let at: Vec<usize> = entries(table).map(|i| i as usize).collect();
                let index = (&at[..], &self.shape(index)[..]);
                layout::gather((&all, &shape), index, *axis as usize, *batch as usize)
            }
            _ => None,
        }
    }
}

pub(super) use super::common::lookup::{MOST_BITS, all_ones, pays};

impl Lowering<'_> {
    /// A secret bit by one table of bits, or of words of Z_2^k, if that is faster than what it is made of.
    pub(super) fn table_of(&mut self, id: NodeId, words: Option<u32>) -> Option<Pair> {
        let tuning = self.tuning?;
        let functions = self.functions.bits(id)?;
        let first = functions.first()?;
        let n = first.of.len();
        // Of one bit there is nothing to save; of two, one conversion.
        let deep = first.of.iter().any(|l| l.node != id) && n >= 2;
        let saves = match (self.graph.op(id), words) {
            (Op::Lt | Op::Eq, _) => 2.0,
            (_, Some(_)) => 1.0,
            // A product of given bits takes no more rounds than a table of them.
            (Op::And | Op::Xor | Op::Not, None) => {
                let args = self.graph.args(id).to_vec();
                let given = |f: &Function| f.of.len() <= 1;
                let simple = args.iter().all(|&x| match self.functions.bits(x) {
                    Some(f) => f.iter().all(given),
                    None => true,
                });
                if simple { 0.0 } else { 1.0 }
            }
            _ => 0.0,
        };
        // What has several dealers gets one when the value is there, a round later than it might.
        let late = |l: &Literal| self.groups(l.node).is_some_and(|g| g > 1);
        let saves = if first.of.iter().any(late) { saves - 1.0 } else { saves };
        let bits = u64::from(words.unwrap_or(1)) << n;
        let same = functions.iter().all(|f| f.table == first.table);
        let secret = first.of.iter().all(|l| self.secret(l.node));
        if !deep || !same || !secret || !pays(bits, functions.len() as u64, saves, tuning) {
            return None;
        }

        let table = first.table.clone();
        let literals: Vec<Literal> = functions.iter().flat_map(|f| f.of.iter().copied()).collect();
        let planes = self.gathered(&literals, n)?;
        let shape = self.graph.shape(id).to_vec();
        let e = &mut self.emit;
        let entry = dealer::lookup(e, &planes, &table, words);
        Some(Pair { own: None, add2: e.add(C::Reshape(entry.add2, shape)) })
    }

    /// Bits of other nodes, n side by side as planes: `B<n>[rows, 1]`.
    fn gathered(&mut self, literals: &[Literal], n: usize) -> Option<Split> {
        let mut sources: Vec<NodeId> = literals.iter().map(|l| l.node).collect();
        sources.sort();
        sources.dedup();
        let (mut starts, mut all, mut parts) = (BTreeMap::new(), 0, Vec::new());
        for node in sources {
            starts.insert(node, all);
            let elements = self.graph.elements(node);
            all += elements as usize;
            let x = self.split(node, 1);
            let flat = |v| C::Reshape(v, vec![elements]);
            parts.push(Split {
                mask: None,
                ..dealer::linear(&mut self.emit, &Split { mask: None, ..x }, flat)
            });
        }
        let index = literals.iter().map(|l| Some((starts.get(&l.node)? + l.at) as u128));
        let index: Vec<u128> = index.collect::<Option<_>>()?;
        let rows = (literals.len() / n) as u64;
        let shape = [rows, n as u64];
        let e = &mut self.emit;
        let index = e.constant(false, 32, &[literals.len() as u64], index);
        let joined = |e: &mut super::Emit, part: fn(&Split) -> ValueId| {
            let xs: Vec<ValueId> = parts.iter().map(part).collect();
            let flat = match xs[..] {
                [one] => one,
                _ => e.add(C::Concat { xs, axis: 0 }),
            };
            let picked = e.add(C::Gather { x: flat, index, axis: 0, batch: 0 });
            e.add(C::Reshape(picked, shape.to_vec()))
        };
        let (own, mut dup) = (joined(e, |s| s.own), joined(e, |s| s.dup));
        if literals.iter().any(|l| l.flip) {
            let flips = literals.iter().map(|l| u128::from(l.flip)).collect();
            let flips = e.constant(true, 1, &shape, flips);
            dup = e.add(C::Add(dup, flips));
        }
        let bits = Split { own, dup, mask: None };
        Some(dealer::to_planes(e, &bits))
    }
}

#[cfg(test)]
mod tests;
