//! Randomness that goes through all its values: what two parties would draw from their common seed is a function of the
//! number of the case.

use super::circuits::Made;
use slvr_circuit::{Dom, low_mask};
use slvr_ring::Data;
use slvr_runtime::share::{Stream, Words};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A stream of two parties, by instruction and purpose.
pub type Name = (u64, u8);

/// The ranges that were drawn of a stream.
type Drawn = (Dom, Vec<Range<usize>>);

/// What two parties draw in a run.
#[derive(Default)]
pub struct Log(Mutex<BTreeMap<Name, Drawn>>);

impl Words for Log {
    fn words(&self, stream: Stream, dom: Dom, range: Range<usize>) -> Data {
        let mut all = self.0.lock().unwrap();
        let entry = all.entry((stream.index, stream.purpose as u8)).or_insert((dom, vec![]));
        assert_eq!(entry.0, dom);
        let n = range.len();
        entry.1.push(range);
        Data::zeros(dom, n)
    }
}

/// Cases are in three equal parts, in each of which all draw the same words: in the first shard's part party 0 deals, and
/// so on.
pub const PARTS: usize = 3;

/// For each element of a case the first bit of its word in each part.
type Bits = Vec<[Option<u32>; PARTS]>;

/// For each part the words that two parties draw for a case, with the bit at which each begins in their concatenation.
pub struct Layout {
    /// By stream: domain, and for each element of a case the first bit in each part.
    at: BTreeMap<Name, (Dom, Bits)>,
    /// Bits in all, of each part.
    pub bits: [u32; PARTS],
}

impl Layout {
    pub fn new(made: &Made, log: &Log) -> Layout {
        let mut out = Layout { at: BTreeMap::new(), bits: [0; PARTS] };
        let part = made.cases / PARTS;
        for (&name, (dom, ranges)) in log.0.lock().unwrap().iter() {
            let places = made.places(name.0);
            let mut drawn: BTreeMap<(usize, usize), ()> = BTreeMap::new();
            for position in ranges.iter().cloned().flatten() {
                let (case, within) = places.of(position);
                drawn.insert((within, case / part), ());
            }
            let bits = dom.bits();
            let most = drawn.keys().map(|k| k.0 + 1).max().unwrap_or(0);
            let mut rows = vec![[None; PARTS]; most];
            for &(within, p) in drawn.keys() {
                rows[within][p] = Some(out.bits[p]);
                out.bits[p] += bits;
            }
            out.at.insert(name, (*dom, rows));
        }
        out
    }

    /// The first bit of an element of a case.
    pub fn bit(&self, name: Name, within: usize, part: usize) -> Option<u32> {
        self.at.get(&name)?.1.get(within)?[part]
    }
}

/// How the words of a pair follow from the number of a case.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// They are the bits of a number.
    Digits,
    /// They are drawn, from this seed.
    Drawn(u64),
}

/// What the words of a case come from.
#[derive(Clone, Copy)]
enum Source {
    Number(u128),
    Key(u128),
}

/// The words of two parties in a run.
pub struct Table {
    pub made: Arc<Made>,
    pub layout: Arc<Layout>,
    /// For each case, in the order of the tensor, the number that its words come from.
    pub numbers: Arc<Vec<u128>>,
    pub how: [How; PARTS],
    /// These two parties' words are all 0: to see that the check finds it.
    pub stuck: bool,
}

/// Uniform enough to stand for random words.
pub fn mix(x: u128) -> u128 {
    let once = |x: u128| {
        let x = (x ^ x >> 67).wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
        (x ^ x >> 59).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    };
    let x = once(once(x));
    x ^ x >> 64
}

impl Words for Table {
    fn words(&self, stream: Stream, dom: Dom, range: Range<usize>) -> Data {
        if self.stuck {
            return Data::zeros(dom, range.len());
        }
        let name = (stream.index, stream.purpose as u8);
        let Some((_, rows)) = self.layout.at.get(&name) else { panic!("{stream:?} is new") };
        let places = self.made.places(stream.index);
        let part = self.made.cases / PARTS;
        // Of each element what its words come from, and where they begin.
        let elements: Vec<(Source, u32)> = range
            .map(|position| {
                let (case, within) = places.of(position);
                let number = self.numbers[case];
                let Some(at) = rows[within][case / part] else {
                    panic!("{stream:?} was not drawn at {position}")
                };
                let source = match self.how[case / part] {
                    How::Digits => Source::Number(number),
                    How::Drawn(seed) => Source::Key(mix(number ^ u128::from(seed) << 96)),
                };
                (source, at)
            })
            .collect();
        // A word has room for so many planes.
        let width = dom.bits().min(128);
        let some = |first: u32| -> Vec<u128> {
            let mask = low_mask((dom.bits() - first).min(width));
            let word = |&(source, at): &(Source, u32)| match source {
                Source::Number(number) => number >> at & mask,
                Source::Key(key) => mix(key ^ u128::from(at + first) << 20) & mask,
            };
            elements.iter().map(word).collect()
        };
        if let Dom::Bits(all @ 129..) = dom {
            let parts: Vec<Data> = (0..all)
                .step_by(128)
                .map(|first| Data::from_u128s(Dom::Bits((all - first).min(128)), &some(first)))
                .collect();
            return Data::stack(&parts.iter().collect::<Vec<_>>());
        }
        Data::from_u128s(dom, &some(0))
    }
}
