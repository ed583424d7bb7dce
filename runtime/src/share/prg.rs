//! Pseudorandom streams, behind one type so that the cipher can be changed in one place.

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use slvr_circuit::Dom;
use slvr_ring::{Data, Planes, Word, each_word, threads, with_width};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use zeroize::Zeroize;

/// 16 secret bytes from which streams are derived. Never printed; wiped when dropped. Serialised for nobody but the
/// peer that shares it. It has a place of its own: what is moved leaves its bytes behind where it was.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed(Box<[u8; 16]>);

impl Seed {
    /// From bytes that nobody else knows.
    pub fn new(bytes: [u8; 16]) -> Self {
        Seed(Box::new(bytes))
    }

    /// From the operating system.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut seed = Seed::new([0; 16]);
        getrandom::fill(&mut *seed.0)?;
        Ok(seed)
    }

    /// The bytes, to be sent to the one peer that shares the seed.
    pub fn expose(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(hidden)")
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Public name of a run: randomness of two runs with the same seeds is unrelated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunId(pub [u8; 16]);

/// What a stream of an instruction is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// A share of zero.
    Zero = 1,
    /// A share or a mask that two parties derive.
    Mask = 2,
    Coin = 3,
    /// A component of a client's input; [`Stream::index`] is the input's.
    Deal = 4,
    /// Drawn from public coins: committees, and other rows of distinct numbers.
    Sample = 5,
    /// The split that the clear evaluation uses in place of the parties' shares.
    Split = 6,
    /// Everything that a run with a fixed seed derives from it.
    Setup = 7,
    /// Drawn from public coins: lazy signs of random inner products.
    Signs = 8,
    /// Keys the digests by which two parties compare what a client dealt.
    Digest = 9,
    /// Coins and shares of proofs.
    Proof = 10,
}

/// Names a stream of a generator: one per instruction and purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Index of the instruction in the circuit (or of the input), below 2^56.
    pub index: u64,
    /// What it is for.
    pub purpose: Purpose,
}

impl Stream {
    /// The stream of an instruction for a purpose.
    pub fn new(index: u64, purpose: Purpose) -> Self {
        Stream { index, purpose }
    }

    fn nonce(self) -> u64 {
        self.index << 8 | self.purpose as u64
    }
}

/// Bytes that are generated at a time by one thread.
const CHUNK: usize = 1 << 16;

/// Words that stand in for those of a generator: for tests that go through all values of a party's randomness. There is no
/// seed behind them, and so nothing secret.
pub trait Words: Send + Sync {
    /// Elements `range` of a stream.
    fn words(&self, stream: Stream, dom: Dom, range: Range<usize>) -> Data;
}

/// A pseudorandom function from (stream, position) to words, keyed by a seed and a run: ChaCha12
/// under the key SHA-256(domain, seed, run), the stream as the nonce, the position as the counter.
///
/// Streams are addressed by element position, so parties that hold different shards of a tensor
/// draw only what they need, in any order. In builds with debug assertions a second draw of any
/// position panics: a mask that is used twice is not a mask.
pub struct Prg {
    /// In a place of its own, as a seed.
    key: Box<[u8; 32]>,
    given: Option<Arc<dyn Words>>,
    #[cfg(debug_assertions)]
    drawn: std::sync::Mutex<std::collections::BTreeMap<u64, Vec<std::ops::Range<usize>>>>,
}

impl Prg {
    /// The generator of a seed in a run.
    pub fn new(seed: &Seed, run: RunId) -> Self {
        let mut prg = Prg {
            key: Box::new([0; 32]),
            given: None,
            #[cfg(debug_assertions)]
            drawn: Default::default(),
        };
        Sha256::new()
            .chain_update(b"slvr prg 1\0")
            .chain_update(seed.expose())
            .chain_update(run.0)
            .finalize_into((&mut *prg.key).into());
        prg
    }

    /// One that gives these words in place of its own, wherever it is asked for elements of a domain.
    #[cfg(feature = "doors")]
    pub fn of_words(words: Arc<dyn Words>) -> Self {
        let mut prg = Prg::new(&Seed::new([0; 16]), RunId([0; 16]));
        prg.given = Some(words);
        prg
    }

    /// n uniform elements of `dom`, the elements start .. start + n of the stream. Over bits, and
    /// whenever parts of a stream are drawn separately, `start` must be a multiple of 64, and only
    /// the last part may have a length that is not.
    pub fn draw(&self, stream: Stream, dom: Dom, start: usize, n: usize) -> Data {
        if n == 0 {
            return Data::zeros(dom, 0);
        }
        debug_assert!(start.is_multiple_of(64), "streams are cut at multiples of 64 elements");
        self.record(stream, start, n);
        if let Some(given) = &self.given {
            return given.words(stream, dom, start..start + n);
        }
        let (Dom::Ring(k) | Dom::Bits(k)) = dom;
        // 64 elements of k bits are 8 k bytes, whatever the layout.
        let at = start / 64 * 8 * k as usize;
        match dom {
            Dom::Ring(k) => {
                Data::Ring(with_width!(k, T => T::wrap(self.words::<T>(stream, at, n))))
            }
            Dom::Bits(w) => {
                let words = self.words(stream, at, w as usize * n.div_ceil(64));
                match Planes::from_words(w, n, words) {
                    Some(planes) => Data::Bits(planes),
                    None => unreachable!("w ceil(n / 64) words were drawn"),
                }
            }
        }
    }

    /// The first n elements of a stream as [`Prg::draw`] gives them, to the places of `out` from `at` on.
    /// Words go there directly.
    pub fn draw_to(&self, stream: Stream, n: usize, out: &mut Data, at: usize) {
        if n == 0 {
            return;
        }
        if self.given.is_some() {
            return out.put(at, &self.draw(stream, out.dom(), 0, n));
        }
        match out {
            Data::Ring(words) => {
                self.record(stream, 0, n);
                each_word!(words, v => self.fill(stream, 0, &mut v[at..at + n]));
            }
            Data::Bits(_) => out.put(at, &self.draw(stream, out.dom(), 0, n)),
        }
    }

    /// Subtracts the first elements of a stream (xor on bits), as many as there are, a chunk at a time: no memory is taken
    /// for the stream.
    pub fn subtract(&self, stream: Stream, from: &mut Data) {
        match from {
            Data::Ring(words) if self.given.is_none() => {
                self.record(stream, 0, words.len());
                each_word!(words, v => self.subtract_words(stream, v));
            }
            _ => from.sub_assign(&self.draw(stream, from.dom(), 0, from.len())),
        }
    }

    fn subtract_words<T: Word>(&self, stream: Stream, from: &mut [T]) {
        let part = CHUNK / (T::BITS as usize / 8);
        threads::each(from.chunks_mut(part).enumerate(), &|(i, words)| {
            let mut drawn = vec![T::ZERO; words.len()];
            self.fill(stream, i * CHUNK, &mut drawn);
            words.iter_mut().zip(drawn).for_each(|(x, d)| *x = x.wsub(d));
        });
    }

    /// Several ranges of a stream, each as [`Prg::draw`] draws it, one after another.
    pub fn draw_parts(&self, stream: Stream, dom: Dom, parts: [Range<usize>; 2]) -> Data {
        let [a, b] = parts;
        if self.given.is_some() {
            let [a, b] = [a, b].map(|r| self.draw(stream, dom, r.start, r.len()));
            return Data::concat(&[&a, &b]);
        }
        if a.is_empty() || b.is_empty() {
            let one = if a.is_empty() { b } else { a };
            return self.draw(stream, dom, one.start, one.len());
        }
        match dom {
            Dom::Ring(k) => {
                for r in [&a, &b] {
                    debug_assert!(r.start.is_multiple_of(64), "streams are cut at multiples of 64");
                    self.record(stream, r.start, r.len());
                }
                let size = k as usize / 8;
                Data::Ring(with_width!(k, T => {
                    let mut out = vec![T::ZERO; a.len() + b.len()];
                    let (first, second) = out.split_at_mut(a.len());
                    self.fill(stream, a.start * size, first);
                    self.fill(stream, b.start * size, second);
                    T::wrap(out)
                }))
            }
            Dom::Bits(_) => {
                let [a, b] = [a, b].map(|r| self.draw(stream, dom, r.start, r.len()));
                Data::concat(&[&a, &b])
            }
        }
    }

    /// Elements `range` of the first n of a stream that were drawn at once, once more: a proof is about what was drawn, and
    /// masks nothing with it. The range begins at a multiple of 64, if it is not empty.
    pub fn again(&self, stream: Stream, dom: Dom, n: usize, range: Range<usize>) -> Data {
        if range.is_empty() {
            return Data::zeros(dom, 0);
        }
        if let Some(given) = &self.given {
            return given.words(stream, dom, 0..n).slice(range);
        }
        debug_assert!(range.start.is_multiple_of(64) && range.end <= n, "a part of what was drawn");
        let len = range.len();
        match dom {
            Dom::Ring(k) => {
                let at = range.start * k as usize / 8;
                Data::Ring(with_width!(k, T => T::wrap(self.words::<T>(stream, at, len))))
            }
            Dom::Bits(w) => {
                let (all, each) = (n.div_ceil(64), len.div_ceil(64));
                let mut words = vec![0u64; w as usize * each];
                // Whole planes stand behind one another.
                if each == all {
                    self.fill(stream, 0, &mut words);
                } else {
                    let planes = words.chunks_mut(each.max(1)).enumerate();
                    let at = |j: usize| (j * all + range.start / 64) * 8;
                    planes.for_each(|(j, plane)| self.fill(stream, at(j), plane));
                }
                match Planes::from_words(w, len, words) {
                    Some(planes) => Data::Bits(planes),
                    None => unreachable!("w ceil(n / 64) words were drawn"),
                }
            }
        }
    }

    /// n words from byte `at` of the stream on.
    fn words<T: Word>(&self, stream: Stream, at: usize, n: usize) -> Vec<T> {
        let mut out = vec![T::ZERO; n];
        self.fill(stream, at, &mut out);
        out
    }

    /// Words from byte `at` of the stream on.
    fn fill<T: Word>(&self, stream: Stream, at: usize, out: &mut [T]) {
        let part = CHUNK / (T::BITS as usize / 8);
        let some = |(i, words): (usize, &mut [T])| {
            self.with(stream, at + i * CHUNK, |rng| {
                T::fill_le(words, |bytes| rng.fill_bytes(bytes));
            });
        };
        if out.len() <= part {
            some((0, out));
        } else {
            threads::each(out.chunks_mut(part).enumerate(), &some);
        }
    }

    /// Uniform bytes of a stream from its start; for setup and for public sampling.
    pub fn bytes<const N: usize>(&self, stream: Stream) -> [u8; N] {
        self.record(stream, 0, N);
        let mut out = [0; N];
        self.with(stream, 0, |rng| rng.fill_bytes(&mut out));
        out
    }

    /// A generator over a stream from its start, for a number of draws that is not known before.
    pub(crate) fn rng(&self, stream: Stream) -> impl Rng + use<> {
        self.record(stream, 0, usize::MAX);
        self.at(stream, 0)
    }

    /// Bytes of a stream from byte `at` on, a multiple of 4. For what public coins expand to, which may be drawn again,
    /// unlike a mask; and to measure how fast masks are drawn.
    pub fn public_bytes(&self, stream: Stream, at: usize, out: &mut [u8]) {
        self.at(stream, at).fill_bytes(out);
    }

    /// Uses the generator from byte `byte` of a stream on, and wipes it: it holds the key, and words that are left.
    fn with(&self, stream: Stream, byte: usize, each: impl FnOnce(&mut ChaCha12Rng)) {
        let mut rng = self.at(stream, byte);
        each(&mut rng);
        rng = ChaCha12Rng::from_seed([0; 32]);
        // Whether anybody reads it is not for the optimiser to say.
        std::hint::black_box(&mut rng);
    }

    fn at(&self, stream: Stream, byte: usize) -> ChaCha12Rng {
        let mut rng = ChaCha12Rng::from_seed(*self.key);
        rng.set_stream(stream.nonce());
        rng.set_word_pos(byte as u128 / 4);
        rng
    }

    #[cfg(debug_assertions)]
    fn record(&self, stream: Stream, start: usize, n: usize) {
        let mut drawn = self.drawn.lock().unwrap_or_else(|e| e.into_inner());
        let ranges = drawn.entry(stream.nonce()).or_default();
        let range = start..start.saturating_add(n);
        let reused = ranges.iter().any(|r| r.start < range.end && range.start < r.end);
        assert!(!reused, "randomness reused: {stream:?}, elements {range:?}");
        ranges.push(range);
    }

    #[cfg(not(debug_assertions))]
    fn record(&self, _: Stream, _: usize, _: usize) {}
}

impl fmt::Debug for Prg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prg(hidden)")
    }
}

impl Drop for Prg {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: Stream = Stream { index: 9, purpose: Purpose::Mask };

    fn prg() -> Prg {
        Prg::new(&Seed::new([5; 16]), RunId([6; 16]))
    }

    #[test]
    fn parts_of_a_stream_are_the_stream() {
        for dom in [Dom::Ring(8), Dom::Ring(32), Dom::Ring(128), Dom::Bits(64)] {
            let whole = prg().draw(MASK, dom, 0, 300);
            let g = prg();
            let (b, a) = (g.draw(MASK, dom, 128, 172), g.draw(MASK, dom, 0, 128));
            if let Dom::Ring(_) = dom {
                assert!(Data::concat(&[&a, &b]) == whole);
            }
            for parts in [[128..300, 0..128], [0..64, 192..300], [64..64, 128..300]] {
                let one = |r: &Range<usize>| prg().draw(MASK, dom, r.start, r.len());
                let want = Data::concat(&[&one(&parts[0]), &one(&parts[1])]);
                assert!(prg().draw_parts(MASK, dom, parts) == want);
            }
            let mut place = Data::zeros(dom, 310);
            prg().draw_to(MASK, 300, &mut place, 7);
            assert!(place.slice(7..307) == whole && place.get_u128(6) == 0);
            let again = prg();
            assert!(again.draw(MASK, dom, 0, 128) == a && again.draw(MASK, dom, 128, 172) == b);
        }
    }

    #[test]
    fn long_draws_continue_across_threads() {
        let n = 3 * CHUNK / 8 + 5;
        let long = prg().draw(MASK, Dom::Ring(64), 0, n);
        let tail = prg().draw(MASK, Dom::Ring(64), n - 5 - 64, 69);
        assert!(long.slice(n - 69..n) == tail);
    }

    #[test]
    fn streams_seeds_and_runs_differ() {
        let draw = |seed: u8, run: u8, index: u64, purpose| {
            let g = Prg::new(&Seed::new([seed; 16]), RunId([run; 16]));
            g.draw(Stream::new(index, purpose), Dom::Ring(128), 0, 1).get_u128(0)
        };
        let all = [
            draw(1, 1, 1, Purpose::Mask),
            draw(2, 1, 1, Purpose::Mask),
            draw(1, 2, 1, Purpose::Mask),
            draw(1, 1, 2, Purpose::Mask),
            draw(1, 1, 1, Purpose::Zero),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "randomness reused")]
    fn a_second_draw_panics() {
        let g = prg();
        g.draw(MASK, Dom::Ring(64), 0, 64);
        g.draw(MASK, Dom::Ring(64), 128, 10);
        g.draw(MASK, Dom::Ring(64), 0, 1);
    }

    #[test]
    fn debug_hides_seeds() {
        let seed = Seed::new([77; 16]);
        let shown = format!("{seed:?} {:?}", Prg::new(&seed, RunId([1; 16])));
        assert_eq!(shown, "Seed(hidden) Prg(hidden)");
    }
}
