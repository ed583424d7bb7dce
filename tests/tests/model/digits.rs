//! The words of two parties in a run over consecutive cases of a complete space: digits of the numbers of the cases.

use super::circuits::Made;
use super::enumerate::{Layout, Name, PARTS};
use slvr_circuit::{Dom, low_mask};
use slvr_ring::{Data, Planes, Words as Ring};
use slvr_runtime::share::{Stream, Words};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// What two parties draw.
pub struct Pair {
    made: Arc<Made>,
    pub layout: Arc<Layout>,
    /// The first bit of their words in the number of a case of each part.
    pub begin: [u32; PARTS],
    /// Bits of such a number.
    random: [u32; PARTS],
    /// By stream and first position.
    elements: Mutex<BTreeMap<(Name, usize, usize), Arc<Elements>>>,
}

/// Elements of a stream that are drawn at once.
struct Elements {
    /// What of each comes from the number of its case within a run.
    low: Vec<u32>,
    case: Vec<u32>,
    /// Ends of runs of elements whose words are at the same place of the numbers, with the part and that place.
    places: Vec<(usize, usize, u32)>,
}

impl Pair {
    pub fn new(
        made: Arc<Made>,
        layout: Arc<Layout>,
        begin: [u32; PARTS],
        random: [u32; PARTS],
    ) -> Pair {
        Pair { made, layout, begin, random, elements: Mutex::default() }
    }

    fn elements(&self, stream: Stream, dom: Dom, range: Range<usize>) -> Arc<Elements> {
        let name = (stream.index, stream.purpose as u8);
        let mut all = self.elements.lock().unwrap();
        let found = all.entry((name, range.start, range.end));
        found.or_insert_with(|| Arc::new(self.find(name, dom, range))).clone()
    }

    fn find(&self, name: Name, dom: Dom, range: Range<usize>) -> Elements {
        let places = self.made.places(name.0);
        let lanes = self.made.cases / PARTS;
        let mut out = Elements { low: vec![], case: vec![], places: vec![] };
        for (i, position) in range.enumerate() {
            let (case, within) = places.of(position);
            let part = case / lanes;
            let Some(bit) = self.layout.bit(name, within, part) else {
                panic!("{name:?} was not drawn at {position}")
            };
            let at = self.begin[part] + bit;
            let lane = (case % lanes) as u64 & low_mask(self.random[part]) as u64;
            out.low.push((lane >> at & low_mask(dom.bits()) as u64) as u32);
            out.case.push(case as u32);
            match out.places.last_mut() {
                Some(last) if (last.1, last.2) == (part, at) => last.0 = i + 1,
                _ => out.places.push((i + 1, part, at)),
            }
        }
        out
    }
}

/// What two parties draw in a run.
pub struct Chunk {
    pub pair: Arc<Pair>,
    /// Of each part the number of the first case.
    pub bases: [u64; PARTS],
    /// In this case, or in all, every word is 0.
    pub stuck: Option<Option<u32>>,
}

impl Words for Chunk {
    fn words(&self, stream: Stream, dom: Dom, range: Range<usize>) -> Data {
        if self.stuck == Some(None) {
            return Data::zeros(dom, range.len());
        }
        assert!(dom.bits() <= 32, "words of {} bits", dom.bits());
        let elements = self.pair.elements(stream, dom, range);
        let mask = low_mask(dom.bits()) as u64;
        let mut words = Vec::with_capacity(elements.low.len());
        let mut from = 0;
        for &(to, part, at) in &elements.places {
            let high = (self.bases[part] >> at & mask) as u32;
            words.extend(elements.low[from..to].iter().map(|low| low | high));
            from = to;
        }
        if let Some(Some(stuck)) = self.stuck {
            let these = words.iter_mut().zip(&elements.case).filter(|(_, case)| **case == stuck);
            these.for_each(|(w, _)| *w = 0);
        }
        match dom {
            Dom::Ring(8) => Data::Ring(Ring::W8(words.into_iter().map(|w| w as u8).collect())),
            Dom::Ring(_) => {
                Data::from_u128s(dom, &words.into_iter().map(u128::from).collect::<Vec<_>>())
            }
            Dom::Bits(w) => Data::Bits(Planes::slice_words(&words, 0, w)),
        }
    }
}
