//! For tests: statements of inputs as the verifiers see them, against what they should say. Of random barriers, with right and with
//! wrong words, all are true if and only if every input is right, whatever carries a prover may tell.
//!
//! `SLVR_SEED` and `SLVR_EXACT` say from which seed on, and how many.

#[path = "../../../tests/three/build.rs"]
#[allow(dead_code, unused_imports)]
mod build;
#[path = "../../../tests/three/carries_make.rs"]
mod carries_make;
#[path = "../../../tests/three/draws.rs"]
mod draws;

use super::{Role, View, shard};
use crate::share::{Held, Rep, next, prev};
use draws::Random;
use slvr_circuit::proof::{Barrier, Bits, Claim, Cut, Item, Kind, Own, Statement, barriers, items};
use slvr_circuit::{Circuit, Dom, ValueId};
use slvr_ring::{Data, Planes, Word};
use std::collections::{BTreeMap, BTreeSet, HashMap};

type Parts = BTreeMap<ValueId, [Data; 2]>;

/// One element of bits or of a word.
type Element = Vec<bool>;

fn bit(d: &Data, j: usize, i: usize) -> bool {
    match d {
        Data::Bits(p) => p.get(j, i),
        Data::Ring(_) => d.get_u128(i) >> j & 1 == 1,
    }
}

fn draw(dom: Dom, n: usize, dice: &mut Random) -> Data {
    match dom {
        Dom::Ring(_) => {
            let mut word = || (0..8).fold(0u128, |s, _| s << 16 | u128::from(dice.below(1 << 16)));
            let all: Vec<u128> = (0..n).map(|_| word()).collect();
            Data::from_u128s(dom, &all)
        }
        Dom::Bits(w) => {
            let mut p = Planes::zeros(w, n);
            for j in 0..w as usize {
                (0..n).for_each(|i| p.set(j, i, dice.below(2) == 1));
            }
            Data::Bits(p)
        }
    }
}

/// Bits of a word p + q, with one carry more or less into some bit of one element, and what follows from it.
fn word_bits(k: u32, p: u128, q: u128, wrong: Option<u32>) -> Element {
    let mut carry = false;
    let mut out = Vec::new();
    for j in 0..k {
        if wrong == Some(j) {
            carry = !carry;
        }
        let (p, q) = (p >> j & 1 == 1, q >> j & 1 == 1);
        out.push(p ^ q ^ carry);
        carry = p & q | p & carry | q & carry;
    }
    out.push(if wrong == Some(k) { !carry } else { carry });
    out
}

struct Case<'a> {
    circuit: &'a Circuit,
    barrier: &'a Barrier,
    prover: usize,
    parts: Parts,
    /// A word, the element of the prover's shard and the carry that is wrong.
    wrong: Option<(Cut, usize, u32)>,
}

impl Case<'_> {
    fn all_bits(&self, x: Cut, at: usize) -> Element {
        let [p, q] = &self.parts[&x.x];
        let i = shard(self.circuit, x, self.prover).start + at;
        let k = self.circuit.ty(x.x).bits();
        let wrong = self.wrong.filter(|w| (w.0, w.1) == (x, at)).map(|w| w.2);
        word_bits(k, p.get_u128(i), q.get_u128(i), wrong)
    }

    fn bits(&self, s: &Statement, b: &Bits, at: usize) -> Element {
        match b {
            Bits::Part(x) => {
                let i = shard(self.circuit, s.cut(*x), self.prover).start + at;
                let [p, q] = &self.parts[x];
                let w = self.circuit.ty(*x).bits() as usize;
                (0..w).map(|j| bit(p, j, i) ^ bit(q, j, i)).collect()
            }
            Bits::OfWord { x, lo, w } => {
                self.all_bits(s.cut(*x), at)[*lo as usize..(*lo + *w) as usize].to_vec()
            }
            Bits::Not(b) => self.bits(s, b, at).into_iter().map(|x| !x).collect(),
            Bits::Select(b, some) => {
                let all = self.bits(s, b, at);
                some.iter().map(|&j| all[j as usize]).collect()
            }
        }
    }

    /// What an owner inputs, as bits of the result.
    fn said(&self, s: &Statement, own: &Own, at: usize) -> Element {
        let k = self.circuit.ty(s.out).bits();
        let number = |x: u128| (0..k).map(|j| x >> j & 1 == 1).collect();
        let whole = |x: ValueId| {
            let bits = self.all_bits(s.cut(x), at);
            (0..bits.len() - 1).filter(|&j| bits[j]).fold(0u128, |s, j| s | 1 << j)
        };
        match own {
            Own::Bits(b) => self.bits(s, b, at),
            Own::Word(b) => number(self.bits(s, b, at)[0].into()),
            Own::Thermometer(b, blocks) => {
                let all = self.bits(s, b, at);
                let (mut first, mut out) = (0, Vec::new());
                for &w in blocks {
                    let n = (0..w as usize).filter(|&j| all[first + j]).fold(0, |s, j| s | 1 << j);
                    out.extend((1..1 << w).map(|v| n >= v));
                    first += w as usize;
                }
                out
            }
            Own::High { x, shift, .. } => number(whole(*x) >> shift),
            Own::And(u, x) => {
                let (u, x) = (self.bits(s, u, at), self.bits(s, x, at));
                u.into_iter().zip(x).map(|(u, x)| u & x).collect()
            }
            Own::Times { u, x } => number(whole(*u).wrapping_mul(whole(*x))),
        }
    }

    fn len(&self, s: &Statement) -> usize {
        shard(self.circuit, s.cut(s.out), self.prover).len()
    }

    /// Inputs it in place of what is there.
    fn input(&mut self, s: &Statement, dice: &mut Random) {
        let Claim::Input(own) = &s.claim else { return };
        let (ty, range) = (self.circuit.ty(s.out), shard(self.circuit, s.cut(s.out), self.prover));
        let n = ty.elements() as usize;
        let one = draw(ty.dom, n, dice);
        let mut two = draw(ty.dom, n, dice);
        for at in 0..range.len() {
            let said = self.said(s, own, at);
            let i = range.start + at;
            match &mut two {
                Data::Bits(p) => {
                    assert_eq!(said.len() as u32, p.width());
                    said.iter().enumerate().for_each(|(j, x)| p.set(j, i, x ^ bit(&one, j, i)));
                }
                Data::Ring(_) => {
                    let x =
                        said.iter().enumerate().fold(0u128, |s, (j, x)| s | u128::from(*x) << j);
                    let less = x.wrapping_sub(one.get_u128(i));
                    two.put(i, &Data::from_u128s(ty.dom, &[less]));
                }
            }
        }
        self.parts.insert(s.out, [one, two]);
    }

    /// Whether all that is input is right.
    fn right(&self) -> bool {
        self.barrier.statements.iter().all(|s| {
            let Claim::Input(own) = &s.claim else { return true };
            let start = shard(self.circuit, s.cut(s.out), self.prover).start;
            let [p, q] = &self.parts[&s.out];
            (0..self.len(s)).all(|at| {
                let (said, i) = (self.said(s, own, at), start + at);
                match self.circuit.ty(s.out).dom {
                    Dom::Bits(_) => {
                        said.iter().enumerate().all(|(j, x)| *x == bit(p, j, i) ^ bit(q, j, i))
                    }
                    Dom::Ring(k) => {
                        let x = said
                            .iter()
                            .enumerate()
                            .fold(0u128, |s, (j, x)| s | u128::from(*x) << j);
                        let low = u128::MAX >> (128 - k);
                        p.get_u128(i).wrapping_add(q.get_u128(i)) & low == x & low
                    }
                }
            })
        })
    }

    fn held(&self, me: usize, dice: &mut Random) -> BTreeMap<ValueId, Held> {
        let of = |(&v, [p, q]): (&ValueId, &[Data; 2])| {
            let junk = draw(p.dom(), p.len(), dice);
            let rep = if me == self.prover {
                Rep::new(p.clone(), q.clone())
            } else if me == prev(self.prover) {
                Rep::new(junk, p.clone())
            } else {
                Rep::new(q.clone(), junk)
            };
            (v, Held::Rep(rep))
        };
        self.parts.iter().map(of).collect()
    }

    /// Whether all statements are true, with the carries that make those about steps true, if they are told.
    fn holds(&self, dice: &mut Random) -> bool {
        let roles = [(prev(self.prover), Role::Before), (next(self.prover), Role::After)];
        let held = roles.map(|(me, _)| self.held(me, dice));
        let none = |_: u64, _: Dom, _: usize, _: std::ops::Range<usize>| -> Data { unreachable!() };
        // One share of what is told is random, the other one zero at first.
        let mut told = [(); 2].map(|()| BTreeMap::new());
        for (&x, of) in &self.barrier.carries {
            let n = shard(self.circuit, x, self.prover).len();
            let Data::Bits(one) = draw(Dom::Bits(of.told.len().max(1) as u32), n, dice) else {
                unreachable!()
            };
            told[0].insert(x, one);
            told[1].insert(x, Planes::zeros(of.told.len().max(1) as u32, n));
        }
        let now = told.clone();
        let picked = HashMap::new();
        let view = |side: usize, sums: bool, carries| View {
            circuit: self.circuit,
            me: roles[side].0,
            role: roles[side].1,
            sums,
            held: &held[side],
            picked: &picked,
            carries,
            stream: &none,
        };
        let [one, two] = {
            let [a, b] = &now;
            let [one, two] = [
                view(0, false, a).all_carries(self.barrier),
                view(1, false, b).all_carries(self.barrier),
            ];
            [one, two]
        };
        for (&x, of) in &self.barrier.carries {
            let [p, q] = &self.parts[&x.x];
            let range = shard(self.circuit, x, self.prover);
            for at in 0..range.len() {
                let (p, q) = (p.get_u128(range.start + at), q.get_u128(range.start + at));
                let mut all = vec![false; of.last() as usize + 1];
                for (from, to) in of.steps() {
                    let carry = (from..to).fold(all[from as usize], |c, j| {
                        let (p, q) = (p >> j & 1 == 1, q >> j & 1 == 1);
                        p & q | p & c | q & c
                    });
                    let found = one[&x].get(to as usize - 1, at) ^ two[&x].get(to as usize - 1, at);
                    all[to as usize] = if of.found.contains(&to) { found } else { carry };
                    if let Ok(place) = of.told.binary_search(&to) {
                        let share = told[0][&x].get(place, at);
                        told[1].get_mut(&x).unwrap().set(place, at, share ^ carry);
                    }
                }
            }
        }
        let all = [0, 1].map(|side| view(side, false, &told[side]).all_carries(self.barrier));
        let ours = |item: &Item<'_>| match item {
            Item::Claim(s) => matches!(s.claim, Claim::Input(_)),
            Item::Carries(..) | Item::Pairs(..) | Item::Steps(..) => true,
            _ => false,
        };
        let mut good = true;
        for kind in Kind::ALL {
            for item in items(self.circuit, self.barrier, kind).iter().filter(|i| ours(i)) {
                let size = item.size(self.circuit, view(0, false, &all[0]).prover());
                good &= match kind {
                    Kind::Bits => {
                        let [u, v] =
                            [0, 1].map(|i| view(i, false, &all[i]).over_bits(item).columns());
                        let [s, t] = [0, 1]
                            .map(|i| view(i, true, &all[i]).over_bits(item).into_sum().unwrap());
                        assert_eq!(size, (u.len(), s.len()));
                        assert!(
                            u.iter().chain(&v).all(|c| c.len() == s.len()) && s.len() == t.len()
                        );
                        (0..s.len()).all(|i| {
                            let sum = u.iter().zip(&v).fold(0, |all, (u, v)| all ^ u[i] & v[i]);
                            sum == s[i] ^ t[i]
                        })
                    }
                    Kind::Wide => words::<u128>(
                        [0, 1].map(|i| side(item, |sums| view(i, sums, &all[i]))),
                        size,
                    ),
                    _ => words::<u64>(
                        [0, 1].map(|i| side(item, |sums| view(i, sums, &all[i]))),
                        size,
                    ),
                };
            }
        }
        good
    }
}

/// What a verifier multiplies, and what it adds.
fn side<'a, B: Word>(item: &Item<'_>, view: impl Fn(bool) -> View<'a>) -> (Vec<Vec<B>>, Vec<B>) {
    let of = |view: &View<'_>| {
        let made = view.over_words::<B>(item).raised(view.first());
        (made.columns(), made.into_sum())
    };
    (of(&view(false)).0, of(&view(true)).1.unwrap())
}

fn words<B: Word>(sides: [(Vec<Vec<B>>, Vec<B>); 2], size: (usize, usize)) -> bool {
    let [(u, s), (v, t)] = sides;
    assert_eq!(size, (u.len(), s.len()));
    (0..s.len()).all(|i| {
        let sum = u.iter().zip(&v).fold(B::default(), |all, (u, v)| all.wadd(u[i].wmul(v[i])));
        sum == s[i].wadd(t[i])
    })
}

/// Statements in an order in which what is input of an owner's value stands before what is read of that.
fn ordered(barrier: &Barrier) -> Vec<&Statement> {
    let mut left: Vec<&Statement> =
        barrier.statements.iter().filter(|s| matches!(s.claim, Claim::Input(_))).collect();
    let mut out = Vec::new();
    while !left.is_empty() {
        let open: BTreeSet<ValueId> = left.iter().map(|s| s.out).collect();
        let (ready, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(|s| {
            let mut waits = false;
            s.claim.values(&mut |v| waits |= open.contains(&v));
            !waits
        });
        assert!(!ready.is_empty(), "statements about each other");
        out.extend(ready);
        left = rest;
    }
    out
}

#[test]
fn statements_are_true_if_and_only_if_inputs_are_right() {
    let env =
        |name: &str, or: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or);
    let (first, n) = (env("SLVR_SEED", 0), env("SLVR_EXACT", 120));
    let (mut wrong, mut chains, mut found, mut told) = (0, 0, 0, 0);
    for seed in first..first + n {
        let (circuit, _) = carries_make::random(seed);
        let Ok(all) = barriers(&circuit) else { continue };
        let mut dice = Random::of_seed(seed + 77);
        for barrier in &all {
            let order = ordered(barrier);
            if order.is_empty() {
                continue;
            }
            for of in barrier.carries.values() {
                found += of.found.len();
                told += of.told.len();
            }
            for prover in 0..3 {
                let parts = Parts::new();
                let mut case = Case { circuit: &circuit, barrier, prover, parts, wrong: None };
                let mut values = BTreeSet::new();
                for s in &order {
                    s.claim.values(&mut |v| {
                        values.insert(v);
                    });
                }
                for v in values {
                    let ty = circuit.ty(v);
                    let parts = [0, 1].map(|_| draw(ty.dom, ty.elements() as usize, &mut dice));
                    case.parts.insert(v, parts);
                }
                order.iter().for_each(|s| case.input(s, &mut dice));
                let what = format!("seed {seed}, layer {}, prover {prover}", barrier.layer);
                assert!(case.right());
                assert!(case.holds(&mut dice), "{what}: right inputs");
                // Wrong carries from one on, and all that follows from them.
                let cuts: Vec<Cut> = barrier
                    .carries
                    .keys()
                    .copied()
                    .filter(|&x| !shard(&circuit, x, prover).is_empty())
                    .collect();
                for _ in 0..6 {
                    if cuts.is_empty() {
                        break;
                    }
                    let x = dice.pick(&cuts);
                    let len = shard(&circuit, x, prover).len();
                    let (at, bit) = (
                        dice.below(len as u64) as usize,
                        1 + dice.below(u64::from(circuit.ty(x.x).bits())) as u32,
                    );
                    case.wrong = Some((x, at, bit));
                    order.iter().for_each(|s| case.input(s, &mut dice));
                    case.wrong = None;
                    let right = case.right();
                    chains += usize::from(!right);
                    assert_eq!(
                        case.holds(&mut dice),
                        right,
                        "{what}: carry {bit} of {x:?}, element {at}"
                    );
                }
                order.iter().for_each(|s| case.input(s, &mut dice));
                // Single bits of what one verifier holds of an input.
                let some: Vec<&Statement> =
                    order.iter().copied().filter(|s| case.len(s) > 0).collect();
                for _ in 0..6 {
                    if some.is_empty() {
                        break;
                    }
                    let s = dice.pick(&some);
                    let before = case.parts[&s.out].clone();
                    let range = shard(&circuit, s.cut(s.out), prover);
                    let i = range.start + dice.below(case.len(s) as u64) as usize;
                    for _ in 0..1 + dice.below(4) {
                        let j = dice.below(u64::from(circuit.ty(s.out).bits())) as usize;
                        let side = dice.below(2) as usize;
                        let part = &mut case.parts.get_mut(&s.out).unwrap()[side];
                        match part {
                            Data::Bits(p) => {
                                let x = p.get(j, i);
                                p.set(j, i, !x);
                            }
                            Data::Ring(_) => {
                                let x = part.get_u128(i) ^ 1 << j;
                                let dom = part.dom();
                                part.put(i, &Data::from_u128s(dom, &[x]));
                            }
                        }
                    }
                    let right = case.right();
                    wrong += usize::from(!right);
                    assert_eq!(case.holds(&mut dice), right, "{what}: altered {s:?}");
                    case.parts.insert(s.out, before);
                }
            }
        }
    }
    println!("{wrong} wrong bits, {chains} wrong chains, {found} found, {told} told");
    assert!(n < 120 || wrong > 600 && chains > 200 && found > 500 && told > 300);
}
