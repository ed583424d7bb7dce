//! All cases of a macro: all operands, all shares of them, and all words that any two parties draw.
//!
//! A case is an operand and a number whose digits are two components of each operand and the words of the three pairs.
//! One run of the parties serves all three views. A view is what a party has of the shares, its own words and what it
//! receives, packed into a number. Its distribution is the same for all operands if the multisets of these numbers are,
//! and so if sums of their hashes are. Such a sum needs no order and no memory, so nothing is kept of a case once it is
//! added.

use super::circuits::{Macro, Places};
use super::digits::{Chunk, Pair};
use super::enumerate::{PARTS, mix};
use super::parties::{Seen, run};
use super::prepared::{Fault, Prepared, Stuck};
use super::view::{KNOWN, View};
use slvr_circuit::interaction::next;
use slvr_circuit::{Dom, low_mask};
use slvr_ring::Data;
use slvr_runtime::share::Words;
use std::sync::Arc;

/// A space has at most so many cases of one operand, as a power of two: own words take so many bits of a view, and
/// components as many again.
const MOST: u32 = KNOWN / 2;

/// Goes through all cases, and says how many these are.
pub fn go(prepared: &Prepared, of: &Macro, stuck: Option<Stuck>) -> Result<u64, Fault> {
    let all = Whole::new(prepared, of, stuck);
    let mut views: [View; 3] = Default::default();
    let mut first: Option<Sums> = None;
    let mut cases = 0;
    for input in 0..of.inputs.len() {
        let mut sums = Sums::default();
        let most = all.random.map(|r| (1u64 << r).div_ceil(all.lanes as u64));
        let mut shares: Option<Shares> = None;
        for chunk in 0..most.into_iter().max().unwrap_or(0) {
            // A part with fewer cases than others repeats its last ones.
            let bases = most.map(|m| chunk.min(m - 1) * all.lanes as u64);
            let known = bases.map(|b| b & low_mask(prepared.operand_bits) as u64);
            if shares.as_ref().is_none_or(|s| s.bases != known) {
                shares = Some(all.shares(input, known));
            }
            let Some(shares) = &shares else { unreachable!("they were just set") };
            let seen = all.run(input, bases, shares);
            all.results(input, &seen)?;
            let counted = (0..PARTS).filter(|&p| chunk < most[p]);
            cases += counted.clone().map(|p| all.count(p) as u64).sum::<u64>();
            for (party, view) in views.iter_mut().enumerate() {
                view.take(&prepared.made, party, &seen[party]);
                for part in counted.clone() {
                    let sum = all.sum(view, party, part, bases[part], &shares.known[party]);
                    let to = &mut sums.0[party][part];
                    *to = to.wrapping_add(sum);
                }
            }
        }
        match &first {
            None => first = Some(sums),
            Some(first) => sums.same(first, [0, input].map(|i| &of.inputs[i][..]))?,
        }
    }
    Ok(cases)
}

/// Of each party and part the sum of the hashes of its views.
#[derive(Default)]
struct Sums([[u128; PARTS]; 3]);

impl Sums {
    fn same(&self, other: &Sums, operands: [&[u128]; 2]) -> Result<(), Fault> {
        for party in 0..3 {
            for part in 0..PARTS {
                if self.0[party][part] != other.0[party][part] {
                    let [a, b] = operands;
                    let what = format!("{a:?} and {b:?} look different, all cases");
                    return Err(Fault::Leak { party, part, what });
                }
            }
        }
        Ok(())
    }
}

/// Components of operands in a run.
struct Shares {
    /// What of the numbers they come from.
    bases: [u64; PARTS],
    /// For each operand its components.
    data: Vec<[Data; 3]>,
    /// For each party and case the components that it knows, one beside the other.
    known: [Vec<u64>; 3],
}

struct Whole<'a> {
    prepared: &'a Prepared,
    of: &'a Macro,
    /// Cases of a part in a run.
    lanes: usize,
    random: [u32; PARTS],
    pairs: [Arc<Pair>; 3],
    stuck: Option<Stuck>,
    /// For each word of the result its case, and where it belongs there.
    sorted: Vec<u32>,
}

impl<'a> Whole<'a> {
    fn new(prepared: &'a Prepared, of: &'a Macro, stuck: Option<Stuck>) -> Whole<'a> {
        let made = &prepared.made;
        let random = prepared.random();
        assert!(random.iter().all(|&r| r <= MOST), "{}: {random:?} bits", of.name);
        let mut at = [prepared.operand_bits; PARTS];
        let pairs = [0, 1, 2].map(|pair: usize| {
            let layout = prepared.layouts[pair].clone();
            let begin = at;
            for (at, bits) in at.iter_mut().zip(layout.bits) {
                *at += bits;
            }
            Arc::new(Pair::new(made.clone(), layout, begin, random))
        });
        let ty = made.circuit.ty(made.result);
        let places = Places::new(&ty.shape, made.cases);
        let elements = ty.elements() as usize;
        let each = elements / made.cases;
        let sorted = (0..elements).map(|i| {
            let (case, within) = places.of(i);
            (case * each + within) as u32
        });
        let sorted = sorted.collect();
        Whole { prepared, of, lanes: made.cases / PARTS, random, pairs, stuck, sorted }
    }

    /// The number of a case of a run. What is beyond the last case repeats the first.
    fn number(&self, part: usize, base: u64, lane: usize) -> u64 {
        (base | lane as u64) & low_mask(self.random[part]) as u64
    }

    /// Cases of a part that a run has.
    fn count(&self, part: usize) -> usize {
        self.lanes.min(1 << self.random[part])
    }

    fn shares(&self, input: usize, bases: [u64; PARTS]) -> Shares {
        let made = &self.prepared.made;
        let words = &self.of.inputs[input];
        let mut known: [Vec<u64>; 3] = [0; 3].map(|_| vec![0; made.cases]);
        let (mut at, mut element) = (0, 0);
        let mut data = Vec::new();
        for o in &self.of.operands {
            let bits = o.dom.bits();
            let mask = low_mask(bits);
            let mut all: [Vec<u128>; 3] = Default::default();
            for f in 0..made.cases {
                let part = f / self.lanes;
                let number = u128::from(self.number(part, bases[part], f % self.lanes));
                for j in 0..o.each {
                    let from = at + 2 * bits * j as u32;
                    let (a, b) = (number >> from & mask, number >> (from + bits) & mask);
                    let x = words[element + j];
                    let c = match o.dom {
                        Dom::Ring(_) => x.wrapping_sub(a).wrapping_sub(b) & mask,
                        Dom::Bits(_) => x ^ a ^ b,
                    };
                    let these = [a, b, c];
                    for (i, known) in known.iter_mut().enumerate() {
                        let two = these[i] << from | these[next(i)] << (from + bits);
                        known[f] |= two as u64;
                    }
                    for (all, x) in all.iter_mut().zip(these) {
                        all.push(x);
                    }
                }
            }
            at += 2 * bits * o.each as u32;
            element += o.each;
            data.push(all.map(|x| Data::from_u128s(o.dom, &x)));
        }
        Shares { bases, data, known }
    }

    fn run(&self, input: usize, bases: [u64; PARTS], shares: &Shares) -> [Seen; 3] {
        let pairs = [0, 1, 2].map(|i: usize| -> Arc<dyn Words> {
            let stuck = self.stuck.filter(|s| s.pair == i).and_then(|s| match s.only {
                None => Some(None),
                Some(case) => {
                    let lane = case.number.checked_sub(bases[case.part])? as usize;
                    let here = case.input == input && lane < self.lanes;
                    here.then_some(Some((case.part * self.lanes + lane) as u32))
                }
            });
            Arc::new(Chunk { pair: self.pairs[i].clone(), bases, stuck })
        });
        run(&self.prepared.made, &shares.data, &pairs)
    }

    /// Whether every result is right.
    fn results(&self, input: usize, seen: &[Seen; 3]) -> Result<(), Fault> {
        let shares = seen.each_ref().map(|s| s.share.as_deref().expect("a result"));
        let mut sum = shares[0].clone();
        shares[1..].iter().for_each(|other| sum.add_assign(other));
        let mut words = sum.to_u128s();
        let each = words.len() / self.prepared.made.cases;
        if each > 1 {
            let found = words.clone();
            for (&to, w) in self.sorted.iter().zip(found) {
                words[to as usize] = w;
            }
        }
        let operands = &self.of.inputs[input];
        let mut right: &[u128] = &[];
        for result in words.chunks(each) {
            if result == right {
                continue;
            }
            if !(self.of.right)(operands, result) {
                return Err(Fault::Wrong { operands: operands.clone(), result: result.to_vec() });
            }
            right = result;
        }
        Ok(())
    }

    /// The sum of the hashes of a party's views in one part of a run.
    fn sum(&self, view: &View, party: usize, part: usize, base: u64, known: &[u64]) -> u128 {
        let cases = part * self.lanes..part * self.lanes + self.count(part);
        let unknown = &self.pairs[next(party)];
        let bits = unknown.layout.bits[part];
        let own = !((low_mask(bits) as u64) << unknown.begin[part])
            & low_mask(self.random[part]) as u64
            & !(low_mask(self.prepared.operand_bits) as u64);
        let (first, more) = view.rows.split_first().expect("a row");
        let own = known[cases.clone()]
            .iter()
            .zip(base..)
            .map(|(&known, number)| u128::from(number & own) | u128::from(known) << MOST);
        let views =
            first[cases.clone()].iter().zip(own).map(|(row, own)| mix((row | own).wrapping_add(1)));
        if more.is_empty() {
            return views.fold(0, u128::wrapping_add);
        }
        let mut sum = 0u128;
        for (case, mut view) in cases.zip(views) {
            for row in more {
                view = mix(view.wrapping_add(row[case]));
            }
            sum = sum.wrapping_add(view);
        }
        sum
    }
}
