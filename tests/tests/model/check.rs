//! Whether a macro computes its functionality and hides its operands, for all cases that are gone through.
//!
//! A party knows two components of every operand and the words that it draws with each neighbour: its *own* words. It does
//! not know the third components, nor what its neighbours draw with each other: its *unknown* words. For fixed own words
//! what it receives is a function of the operands and the unknown words. It hides the operands exactly if, for each choice
//! of own words, the messages have the same distribution for all operands, over uniform unknown words. So that is what is
//! compared, party by party: for each choice of own words and each operand, the sum over all unknown words of a hash of
//! all messages. Operands and unknown words are gone through, own words are drawn. Where all of it is few enough, all is
//! gone through (`whole.rs`).
//!
//! Where the unknown words alone are too many, they are drawn, and histograms of all messages and of differences of any
//! two are compared for different operands.

use super::circuits::{Build, Macro, Places};
use super::enumerate::{How, PARTS, Table, mix};
use super::parties::{Seen, run, words};
use super::prepared::{Fault, Prepared, Stuck};
use super::space::{Counted, Limits, MANY, Space};
use super::whole;
use slvr_circuit::interaction::next;
use slvr_circuit::low_mask;
use slvr_ring::Data;
use slvr_runtime::share::Words;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Sums of hashes of what a party receives.
type Sums = BTreeMap<u64, Vec<u128>>;

/// Cases of each part in a run, where all are gone through, as powers of two: their words fit into a cache.
const LANES: u32 = 14;
const MOST_LANES: u32 = 16;

/// Goes through a macro: all cases where the limits admit that, else some of them.
pub fn check(
    of: &Macro,
    build: Build,
    limits: Limits,
    stuck: Option<Stuck>,
) -> Result<Counted, Fault> {
    let small = Prepared::new(of, build, 64);
    let extent = small.extent(of);
    let operands = of.inputs.len();
    let mut counted = Counted { extent, operands, compared: operands, ..Counted::default() };
    if extent.within(limits) {
        // With as many lanes as operands have shares, shares are computed once for all runs.
        let wanted = small.operand_bits.clamp(LANES, MOST_LANES).min(limits.lanes);
        let lanes = 1 << small.random().into_iter().max().unwrap_or(0).min(wanted);
        let prepared = Prepared::new(of, build, 64.max(lanes));
        assert_eq!(small.bits(), prepared.bits(), "what is drawn for a case");
        let cases = whole::go(&prepared, of, stuck)?;
        assert_eq!(cases, extent.cases, "{}: all cases", of.name);
        counted.unknown = small.bits().into_iter().flatten().max().unwrap_or(0);
        return Ok(Counted { all_own: true, cases, ..counted });
    }
    let log2 = limits.drawn;
    counted.own = u64::MAX;
    for party in 0..3 {
        // The smallest circuit says how many cases there are, and so how large a circuit there has to be.
        let most = small.spaces(of, party, log2).iter().map(Space::cases).max().unwrap_or(1);
        let part = most.next_power_of_two().clamp(64, 1 << 13);
        let prepared = Prepared::new(of, build, part as usize);
        let spaces = prepared.spaces(of, party, log2);
        for s in &spaces {
            counted.unknown = counted.unknown.max(s.unknown);
            counted.own = counted.own.min(s.own);
            counted.compared = counted.compared.min(s.inputs.len());
            counted.drawn |= s.drawn;
            counted.cases += s.cases();
        }
        if spaces.iter().any(|s| s.drawn) {
            counted.unknown = prepared.layouts[next(party)].bits.into_iter().max().unwrap_or(0);
        }
        prepared.go(of, party, &spaces, stuck.map(|s| s.pair))?;
        if party == 0 {
            let log2 = if counted.unknown > MANY { log2 - 3 } else { log2 };
            let all = Space::all(operands, log2);
            counted.cases += PARTS as u64 * all.cases();
            prepared.only_results(of, [all.clone(), all.clone(), all])?;
        }
    }
    Ok(counted)
}

impl Prepared {
    /// Of each part at one party.
    fn spaces(&self, of: &Macro, party: usize, log2: u32) -> [Space; PARTS] {
        let unknown = self.layouts[next(party)].bits;
        unknown.map(|bits| Space::new(of.inputs.len(), bits, log2))
    }

    fn go(
        &self,
        of: &Macro,
        party: usize,
        spaces: &[Space; PARTS],
        stuck: Option<usize>,
    ) -> Result<(), Fault> {
        let part = self.made.cases / PARTS;
        let most = spaces.iter().map(Space::cases).max().unwrap_or(0);
        let mut sums: [Sums; PARTS] = Default::default();
        let mut histograms: [Histograms; PARTS] = Default::default();
        for chunk in 0..most.div_ceil(part as u64) {
            // Of each case its own words, operands and unknown words; what is beyond the last case repeats it.
            let cases: Vec<(u64, usize, u64)> = (0..self.made.cases)
                .map(|f| {
                    let s = &spaces[f / part];
                    let case = chunk * part as u64 + (f % part) as u64;
                    s.of(case.min(s.cases() - 1))
                })
                .collect();
            let seen = self.chunk(of, party, spaces, &cases, stuck);
            self.results(of, spaces, &cases, &seen)?;
            let got = self.received(party, &seen[party]);
            let parts = spaces.iter().zip(&mut sums).zip(&mut histograms).enumerate();
            for (p, ((space, sums), histograms)) in parts {
                let left = space.cases().saturating_sub(chunk * part as u64);
                let range = p * part..p * part + (part as u64).min(left) as usize;
                if space.drawn {
                    histograms.add(&got, &cases, range);
                    continue;
                }
                for f in range {
                    let (own, input, _) = cases[f];
                    let n = space.inputs.len();
                    let sum = &mut sums.entry(own).or_insert_with(|| vec![0; n])[input];
                    let hash = got
                        .iter()
                        .fold(0u128, |h, m| mix(h.wrapping_add(m.words[f]).wrapping_add(1)));
                    *sum = sum.wrapping_add(hash);
                }
            }
        }
        let parts = spaces.iter().zip(&sums).zip(&histograms).enumerate();
        for (part, ((space, sums), histograms)) in parts {
            let leak = |what: String| Err(Fault::Leak { party, part, what });
            for (own, sums) in sums {
                if let Some(other) = sums.iter().position(|s| *s != sums[0]) {
                    let inputs = &space.inputs;
                    let [a, b] = [inputs[0], inputs[other]].map(|i| &of.inputs[i]);
                    return leak(format!("{a:?} and {b:?} look different, own words {own}"));
                }
            }
            if let Some(what) = histograms.differ() {
                return leak(what);
            }
        }
        Ok(())
    }

    fn only_results(&self, of: &Macro, spaces: [Space; PARTS]) -> Result<(), Fault> {
        let part = self.made.cases / PARTS;
        for chunk in 0..spaces[0].cases().div_ceil(part as u64) {
            let case = |f: usize| chunk * part as u64 + (f % part) as u64;
            let last = spaces[0].cases() - 1;
            let cases: Vec<_> =
                (0..self.made.cases).map(|f| spaces[0].of(case(f).min(last))).collect();
            let seen = self.chunk(of, 0, &spaces, &cases, None);
            self.results(of, &spaces, &cases, &seen)?;
        }
        Ok(())
    }

    fn chunk(
        &self,
        of: &Macro,
        party: usize,
        spaces: &[Space; PARTS],
        cases: &[(u64, usize, u64)],
        stuck: Option<usize>,
    ) -> [Seen; 3] {
        let part = self.made.cases / PARTS;
        let own_word = |f: usize, at: u32, bits: u32| -> u128 {
            mix(mix(u128::from(cases[f].0) + 1) ^ u128::from(at) << 64) & low_mask(bits)
        };
        let mut shares = Vec::new();
        let (mut at, mut element) = (0, 0);
        for o in &of.operands {
            let bits = o.dom.bits();
            let mut parts: [Vec<u128>; 3] = Default::default();
            for f in 0..self.made.cases {
                let input = &of.inputs[spaces[f / part].inputs[cases[f].1]];
                for j in 0..o.each {
                    let first = own_word(f, at + 2 * bits * j as u32, bits);
                    let second = own_word(f, at + 2 * bits * j as u32 + bits, bits);
                    let x = input[element + j];
                    let third = match o.dom {
                        slvr_circuit::Dom::Ring(_) => x.wrapping_sub(first).wrapping_sub(second),
                        slvr_circuit::Dom::Bits(_) => x ^ first ^ second,
                    };
                    parts[0].push(first);
                    parts[1].push(second);
                    parts[2].push(third & low_mask(bits));
                }
            }
            at += 2 * bits * o.each as u32;
            element += o.each;
            let data = parts.map(|p| Data::from_u128s(o.dom, &p));
            // Component `party` is the party's first.
            shares.push([0, 1, 2].map(|c: usize| data[(c + 3 - party) % 3].clone()));
        }
        let pairs = [0, 1, 2].map(|pair: usize| -> Arc<dyn Words> {
            let unknown = pair == next(party);
            let numbers = (0..self.made.cases).map(|f| match unknown {
                true if spaces[f / part].drawn => {
                    let (own, input, number) = cases[f];
                    u128::from(own) << 64 | u128::from(number) << 24 | input as u128
                }
                true => u128::from(cases[f].2),
                false => u128::from(cases[f].0),
            });
            let how = [0, 1, 2].map(|p: usize| match (unknown, &spaces[p]) {
                (true, s) if !s.drawn => How::Digits,
                _ => How::Drawn(pair as u64 + 1),
            });
            Arc::new(Table {
                made: self.made.clone(),
                layout: self.layouts[pair].clone(),
                numbers: Arc::new(numbers.collect()),
                how,
                stuck: stuck == Some(pair),
            })
        });
        run(&self.made, &shares, &pairs)
    }

    /// Whether every result is right.
    fn results(
        &self,
        of: &Macro,
        spaces: &[Space; PARTS],
        cases: &[(u64, usize, u64)],
        seen: &[Seen; 3],
    ) -> Result<(), Fault> {
        let part = self.made.cases / PARTS;
        let Some(mut sum) = seen[0].share.as_deref().cloned() else { panic!("no result") };
        for other in &seen[1..] {
            sum.add_assign(other.share.as_ref().expect("a result"));
        }
        let places = Places::new(&self.made.circuit.ty(self.made.result).shape, self.made.cases);
        let words = sum.to_u128s();
        let each = words.len() / self.made.cases;
        let mut sorted = vec![0; words.len()];
        for (i, w) in words.into_iter().enumerate() {
            let (case, within) = places.of(i);
            sorted[case * each + within] = w;
        }
        for (f, result) in sorted.chunks(each).enumerate() {
            let operands = &of.inputs[spaces[f / part].inputs[cases[f].1]];
            if !(of.right)(operands, result) {
                return Err(Fault::Wrong { operands: operands.clone(), result: result.to_vec() });
            }
        }
        Ok(())
    }

    /// What a party receives: for each instruction, peer and element of a case the words by case.
    fn received(&self, party: usize, seen: &Seen) -> Vec<Message> {
        let mut out: BTreeMap<(u64, usize, usize), Vec<u128>> = BTreeMap::new();
        for got in &seen.received {
            let places = self.made.places(got.0);
            let (words, start) = words(&self.made, party, got);
            for (chunk, words) in words.into_iter().enumerate() {
                let mut by_element: Vec<Vec<u128>> = vec![];
                for (i, w) in words.into_iter().enumerate() {
                    let (case, within) = places.of(start + i);
                    if by_element.len() <= within {
                        by_element.resize(within + 1, vec![]);
                    }
                    let all = &mut by_element[within];
                    if all.is_empty() {
                        // A case without this message has 0 for it.
                        all.resize(self.made.cases, 0);
                    }
                    all[case] = w.wrapping_add(1);
                }
                for (within, words) in by_element.into_iter().enumerate() {
                    if !words.is_empty() {
                        let twice = out.insert((got.0, got.1, within << 8 | chunk), words);
                        assert!(twice.is_none(), "a message of each in an instruction");
                    }
                }
            }
        }
        out.into_iter().map(|(name, words)| Message { name, words }).collect()
    }
}

struct Message {
    name: (u64, usize, usize),
    words: Vec<u128>,
}

/// Low bytes of messages and of differences of any two, for each of the operands that are compared.
#[derive(Default)]
struct Histograms {
    counts: BTreeMap<(usize, usize), [Vec<u64>; 2]>,
    names: Vec<(u64, usize, usize)>,
}

/// Most messages whose differences are counted.
const PAIRED: usize = 24;

impl Histograms {
    fn add(&mut self, got: &[Message], cases: &[(u64, usize, u64)], which: Range<usize>) {
        self.names = got.iter().map(|m| m.name).collect();
        for (a, first) in got.iter().enumerate() {
            let others = got.iter().enumerate().skip(a);
            for (b, second) in others.filter(|(b, _)| a == *b || *b < PAIRED) {
                let new = || [vec![0; 256], vec![0; 256]];
                let counts = self.counts.entry((a, b)).or_insert_with(new);
                for f in which.clone() {
                    let (x, y) = (first.words[f], second.words[f]);
                    let seen = if a == b { x } else { x.wrapping_sub(y) };
                    counts[cases[f].1][seen as u8 as usize] += 1;
                }
            }
        }
    }

    /// Where two operands look different: a chi-squared statistic that random words exceed with probability below
    /// 1e-9.
    fn differ(&self) -> Option<String> {
        for (&(a, b), [x, y]) in &self.counts {
            let (n, m) = (x.iter().sum::<u64>() as f64, y.iter().sum::<u64>() as f64);
            let both = || x.iter().zip(y).filter(|(x, y)| *x + *y > 0);
            let (ka, kb) = ((m / n).sqrt(), (n / m).sqrt());
            let one =
                |(&x, &y): (&u64, &u64)| (ka * x as f64 - kb * y as f64).powi(2) / (x + y) as f64;
            let free = both().count() as f64 - 1.0;
            let chi: f64 = both().map(one).sum();
            if chi > free + 8.0 * (2.0 * free).sqrt() + 40.0 {
                let (a, b) = (self.names[a], self.names[b]);
                return Some(format!("messages {a:?}, {b:?}: chi-squared {chi} for {free}"));
            }
        }
        None
    }
}
