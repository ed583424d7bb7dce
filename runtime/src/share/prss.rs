//! Pairwise pseudorandom secret sharing: words that two parties derive without talking.
//!
//! P_i shares one seed with P_{i+1} and one with P_{i-1} (Cramer, Damgård, Ishai, TCC 2005; in this
//! form Araki et al., CCS 2016, section 2.2). F_{i,j} below is the stream of the seed that P_i and
//! P_j share.

use super::{Prg, Purpose, RunId, Seed, Stream};
use slvr_circuit::Dom;
use slvr_ring::Data;
use std::ops::Range;

/// The two seeds of a party.
#[derive(Clone, Debug)]
pub struct PairSeeds {
    /// Shared with P_{i+1}.
    pub next: Seed,
    /// Shared with P_{i-1}.
    pub prev: Seed,
}

impl PairSeeds {
    /// What the three parties hold when `seeds[i]` is shared by P_i and P_{i+1}.
    pub fn of_all(seeds: &[Seed; 3]) -> [PairSeeds; 3] {
        [0, 1, 2].map(|i| PairSeeds { next: seeds[i].clone(), prev: seeds[super::prev(i)].clone() })
    }
}

/// The pairwise randomness of one party in one run.
#[derive(Debug)]
pub struct Prss {
    me: usize,
    next: Prg,
    prev: Prg,
}

impl Prss {
    /// For party `me`.
    ///
    /// # Panics
    ///
    /// Unless `me` is 0, 1 or 2.
    pub fn new(me: usize, seeds: &PairSeeds, run: RunId) -> Self {
        assert!(me < 3, "there are three parties");
        Prss { me, next: Prg::new(&seeds.next, run), prev: Prg::new(&seeds.prev, run) }
    }

    /// For party `me`, with words that are given in place of those that it would draw with P_{i+1} and with P_{i-1}.
    ///
    /// # Panics
    ///
    /// Unless `me` is 0, 1 or 2.
    #[cfg(feature = "doors")]
    pub fn of_words(me: usize, [next, prev]: [std::sync::Arc<dyn super::Words>; 2]) -> Self {
        assert!(me < 3, "there are three parties");
        Prss { me, next: Prg::of_words(next), prev: Prg::of_words(prev) }
    }

    pub fn me(&self) -> usize {
        self.me
    }

    /// Elements start .. start + n of the stream that P_{i+1} also derives.
    pub fn with_next(&self, s: Stream, dom: Dom, start: usize, n: usize) -> Data {
        self.next.draw(s, dom, start, n)
    }

    /// Elements start .. start + n of the stream that P_{i-1} also derives.
    pub fn with_prev(&self, s: Stream, dom: Dom, start: usize, n: usize) -> Data {
        self.prev.draw(s, dom, start, n)
    }

    /// Some of the first n elements of a stream that were drawn with P_{i+1}, once more ([`Prg::again`]).
    pub fn again_with_next(&self, s: Stream, dom: Dom, n: usize, range: Range<usize>) -> Data {
        self.next.again(s, dom, n, range)
    }

    /// The same with P_{i-1}.
    pub fn again_with_prev(&self, s: Stream, dom: Dom, n: usize, range: Range<usize>) -> Data {
        self.prev.again(s, dom, n, range)
    }

    /// Ranges of the stream that P_{i+1} also derives, one after another.
    pub fn parts_with_next(&self, s: Stream, dom: Dom, parts: [Range<usize>; 2]) -> Data {
        self.next.draw_parts(s, dom, parts)
    }

    /// Ranges of the stream that P_{i-1} also derives, one after another.
    pub fn parts_with_prev(&self, s: Stream, dom: Dom, parts: [Range<usize>; 2]) -> Data {
        self.prev.draw_parts(s, dom, parts)
    }

    /// A key that P_{i+1} also derives.
    pub fn key_with_next(&self, s: Stream) -> [u8; 32] {
        self.next.bytes(s)
    }

    /// A key that P_{i-1} also derives.
    pub fn key_with_prev(&self, s: Stream) -> [u8; 32] {
        self.prev.bytes(s)
    }

    /// alpha_i = F_{i,i+1} - F_{i-1,i} (xor on bits) for n elements: alpha_0 + alpha_1 + alpha_2 =
    /// 0, and to any one party the other two words are uniform but for their sum.
    pub fn zero(&self, instr: u64, dom: Dom, n: usize) -> Data {
        let s = Stream::new(instr, Purpose::Zero);
        let mut alpha = self.with_next(s, dom, 0, n);
        alpha.sub_assign(&self.with_prev(s, dom, 0, n));
        alpha
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::{next, sum};

    fn parties() -> [Prss; 3] {
        let seeds = [1u8, 2, 3].map(|b| Seed::new([b; 16]));
        let pairs = PairSeeds::of_all(&seeds);
        [0, 1, 2].map(|i| Prss::new(i, &pairs[i], RunId([7; 16])))
    }

    #[test]
    fn neighbours_derive_the_same_words() {
        let p = parties();
        let s = Stream::new(5, Purpose::Mask);
        for i in 0..3 {
            let mine = p[i].with_next(s, Dom::Ring(32), 64, 100);
            assert_eq!(mine, p[next(i)].with_prev(s, Dom::Ring(32), 64, 100));
        }
    }

    #[test]
    fn zero_shares_cancel() {
        for dom in [Dom::Ring(8), Dom::Ring(64), Dom::Ring(128), Dom::Bits(1), Dom::Bits(13)] {
            let p = parties();
            let [a, b, c] = [0, 1, 2].map(|i| p[i].zero(3, dom, 130));
            assert_ne!(a, Data::zeros(dom, 130));
            assert_ne!(a, b);
            assert_eq!(sum([&a, &b, &c]), Data::zeros(dom, 130));
        }
    }
}
