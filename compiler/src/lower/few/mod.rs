//! Lowering of bits that are functions of few earlier bits: by one table of each, dealt and looked up.
//!
//! A rank is a sum of comparisons of pairs, a selection compares it with a constant, and the outcome is
//! combined with other bits and made a word. Step by step that takes a conversion, a comparison, a product
//! and a conversion. But each element is a function of few bits, and all elements are the same
//! function of different bits ([`crate::analysis::truth_tables`]). Its truth table can be dealt
//! ([`slvr_circuit::Op::Table`]) and looked up in no round.
//!
//! May not live here: finding the function.

use super::Lowering;
use super::dealer::{self, Pair, Split};
use crate::analysis::truth_tables::{Function, Literal};
use crate::cost::Tuning;
use crate::graph::{NodeId, Op};
use slvr_circuit::{Op as C, ValueId};
use std::collections::BTreeMap;

/// Whether dealing a table costs less time than the rounds that it saves.
pub(super) fn pays(bits: u64, elements: u64, rounds: f64, tuning: Tuning) -> bool {
    tuning.time(0.0, bits as f64, elements) <= tuning.time(rounds, 0.0, elements)
}

/// All of the planes' bits as a table: 1 where every bit is.
pub(super) fn all_ones(n: u32) -> Vec<bool> {
    (0..1usize << n).map(|v| v + 1 == 1 << n).collect()
}

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
