//! Inputs: dealt as their guard wants it, checked, and replaced by zeros where a client fails.
//!
//! All checks of a party set run side by side; one public bit per member says whether all of its
//! inputs passed ([`slvr_circuit::Check`]), and every input is multiplied by it, locally.
//! Nothing else about a rejected input is opened. The bit is read by [`C::Admitted`], so that what
//! follows need not wait for it ([`crate::schedule::speculative`]).

use super::dealer::Pair;
use super::{Lowering, enforce, word};
use crate::analysis::guard::{self, Guard};
use crate::cost::Tuning;
use crate::graph::{Input, Op};
use crate::types::Elem;
use slvr_circuit::{Check, Dom, Encoding, Op as C, ValueId};

impl Lowering<'_> {
    /// Deals every input, and checks those of each party set.
    pub(super) fn deal(&mut self, guards: &[Guard]) {
        let g = self.graph;
        // The node of each input: its ring is the one that is asked for.
        let mut nodes = vec![None; g.inputs.len()];
        for id in g.ids() {
            if let Op::Input(i) = *g.op(id) {
                nodes[i as usize] = Some(id);
            }
        }
        let sites: Vec<u32> = nodes.iter().map(|n| n.map_or(0, |id| g.node(id).site)).collect();
        let mut dealt = Vec::new();
        for (i, (input, guard)) in g.inputs.iter().zip(guards).enumerate() {
            self.emit.site = sites[i];
            dealt.push(self.dealt_value(input, guard));
        }
        // By party set: the inputs, and bits that say which members' are good.
        let sets: Vec<u32> = (0..g.parties.len() as u32).collect();
        let mut coin = None;
        for set in sets {
            let mut valid = Vec::new();
            let mut pairs = Vec::new();
            for (i, (input, guard)) in g.inputs.iter().zip(guards).enumerate() {
                if input.from != Some(set) {
                    continue;
                }
                self.emit.site = sites[i];
                let k = nodes[i].map_or(64, |id| self.rings.of(id)).max(8);
                let size = g.parties[set as usize].1;
                if let Some(tuning) = self.tuning
                    && let Some((value, good)) =
                        self.checked_by_dealer(dealt[i], guard, k, size, &mut coin, tuning)
                {
                    self.dealt[i] = Some(value);
                    pairs.push(good);
                    continue;
                }
                let (value, good) = self.checked(dealt[i], input, guard, k, &mut coin);
                self.dealt[i] = Some(value);
                valid.extend(good);
            }
            let size = g.parties[set as usize].1;
            let admitted = if let Some(tuning) = self.tuning.filter(|_| !pairs.is_empty()) {
                enforce::dealer::admit(&mut self.emit, pairs, tuning)
            } else if valid.is_empty() {
                continue;
            } else {
                let columns: Vec<ValueId> = valid
                    .into_iter()
                    .map(|v| self.emit.add(C::Reshape(v, vec![size, 1])))
                    .collect();
                let all = match columns[..] {
                    [one] => one,
                    _ => self.emit.add(C::Concat { xs: columns, axis: 1 }),
                };
                let all = enforce::and_all(&mut self.emit, all);
                enforce::admit(&mut self.emit, all)
            };
            let check = self.checks.len() as u32;
            self.checks.push(Check { set, value: admitted });
            let admitted = self.emit.add(C::Admitted { check, members: size });
            for (i, input) in g.inputs.iter().enumerate() {
                if let (true, Some(x)) = (input.from == Some(set), self.dealt[i]) {
                    self.emit.site = sites[i];
                    let kept = enforce::gate(&mut self.emit, x, admitted);
                    // Where zeros are no value of the input, the nearest one.
                    let row = match guards[i] {
                        Guard::OneHot => {
                            let classes = input.one_hot.unwrap_or(1);
                            Some((0..classes).map(|c| u128::from(c == 0)).collect())
                        }
                        Guard::Within(lo, _) if lo > 0 => Some(vec![lo as u128]),
                        Guard::Within(_, hi) if hi < 0 => Some(vec![hi as i128 as u128]),
                        _ => None,
                    };
                    let e = &mut self.emit;
                    self.dealt[i] = Some(match row {
                        Some(row) => enforce::stand_in(e, kept, admitted, row),
                        None => kept,
                    });
                }
            }
        }
        for (i, input) in g.inputs.iter().enumerate() {
            if input.from.is_none() {
                self.emit.site = sites[i];
                let own = self.emit.ty(dealt[i]).bits();
                let k = nodes[i].map_or(own, |id| self.rings.of(id));
                let word = input.elem != Elem::Bit;
                let x = if word {
                    super::truncation::convert(&mut self.emit, dealt[i], k)
                } else {
                    dealt[i]
                };
                self.dealt[i] = Some(x);
            }
        }
    }

    /// The value as it is dealt.
    fn dealt_value(&mut self, input: &Input, guard: &Guard) -> ValueId {
        let frac = self.graph.frac.unwrap_or(0);
        let (dom, shift) = match guard {
            Guard::Bit | Guard::OneHot => (Dom::Bits(1), 0),
            Guard::Lift { shift } => (Dom::Ring(32), *shift),
            _ if input.elem == Elem::Bit => (Dom::Bits(1), 0),
            _ => (Dom::Ring(64), 0),
        };
        let mut shape: Vec<u64> =
            input.from.map(|s| self.graph.parties[s as usize].1).into_iter().collect();
        shape.extend(&input.shape);
        shape.extend(input.one_hot);
        let value = self.emit.input(input.from.is_some(), dom, shape);
        let encoding = match (input.one_hot, input.elem) {
            (Some(classes), _) => Encoding::OneHot { classes },
            (None, Elem::Fix) => {
                let norm = guard::norm_limit(input).unwrap_or(f64::INFINITY);
                Encoding::Fixed { frac, lo: input.range.0, hi: input.range.1, shift, norm }
            }
            (None, _) => Encoding::Int {
                lo: input.range.0 as i64,
                hi: (input.range.1 as i64).saturating_add(1),
            },
        };
        self.inputs.push(slvr_circuit::Input {
            name: input.name.clone(),
            from: input.from.map_or(slvr_circuit::From::Public, slvr_circuit::From::Each),
            encoding,
            shape: input.shape.clone(),
            fields: super::fields(&input.fields),
            value,
        });
        value
    }

    /// As [`Lowering::checked`], for the guards that test, in the dealer-style family.
    fn checked_by_dealer(
        &mut self,
        x: ValueId,
        guard: &Guard,
        k: u32,
        size: u64,
        coin: &mut Option<ValueId>,
        tuning: Tuning,
    ) -> Option<(ValueId, Pair)> {
        let e = &mut self.emit;
        let groups = if size >= 3 { size as u32 } else { 1 };
        match guard {
            Guard::OneHot => {
                let (words, good) = enforce::dealer::one_hot_words(e, x, k, groups, tuning);
                Some((super::truncation::convert(e, words, k), good))
            }
            Guard::Within(lo, hi) => {
                let range = (word(*lo as f64, 64), word(*hi as f64, 64));
                let good = enforce::dealer::in_range(e, x, range, groups, tuning);
                Some((super::truncation::convert(e, x, k), good))
            }
            Guard::Project(plan) => {
                let coin = *coin.get_or_insert_with(|| e.coin());
                let tests = (plan.tests, plan.threshold);
                let good = enforce::dealer::short(e, x, coin, tests, groups, tuning);
                Some((super::truncation::convert(e, x, k), good))
            }
            _ => None,
        }
    }

    /// The value to compute with, in a ring of k bits, and for each member whether it is good.
    fn checked(
        &mut self,
        x: ValueId,
        input: &Input,
        guard: &Guard,
        k: u32,
        coin: &mut Option<ValueId>,
    ) -> (ValueId, Option<ValueId>) {
        let e = &mut self.emit;
        match guard {
            Guard::Bit => (x, None),
            Guard::OneHot => {
                let (words, good) = enforce::one_hot_words(e, x, k);
                (super::truncation::convert(e, words, k), Some(good))
            }
            Guard::Within(lo, hi) => {
                let good = enforce::in_range(e, x, word(*lo as f64, 64), word(*hi as f64, 64));
                (super::truncation::convert(e, x, k), Some(good))
            }
            Guard::Project(plan) => {
                let coin = *coin.get_or_insert_with(|| e.coin());
                let good = enforce::short(e, x, coin, plan.tests, plan.threshold);
                (super::truncation::convert(e, x, k), Some(good))
            }
            Guard::Lift { shift } => (enforce::lift(e, x, *shift, k), None),
            Guard::Public | Guard::Trusted if input.elem == Elem::Bit => (x, None),
            Guard::Public | Guard::Trusted => (super::truncation::convert(e, x, k), None),
        }
    }
}
