//! Lifting and folding among three in one place: true statements pass, whatever their words are, and false ones do not.

use super::super::chunk::{Chunk, Column};
use super::*;
use proptest::prelude::*;
use slvr_circuit::proof::{FirstFold, Kind, folds};
use slvr_ring::{Word, with_width};
use std::borrow::Cow;

/// Statements of chunks, and long inner products behind them.
#[derive(Clone, Debug)]
struct Statements {
    /// Of each chunk and each side all u, or all v, of each term.
    terms: Vec<[Vec<Vec<u64>>; 2]>,
    /// s1 and s2.
    sums: Vec<[Vec<u64>; 2]>,
    /// Whether the prover knows s1 of a chunk, and not s2.
    first: Vec<bool>,
    /// Over how many bits a chunk is.
    bits: Vec<u32>,
    /// How many of the chunks are inner products.
    dots: usize,
}

/// The chunks of one side.
struct One<'a>(&'a Statements, usize, bool);

impl Chunks<u64> for One<'_> {
    fn terms(&self, chunk: usize) -> usize {
        if self.2 { 0 } else { self.0.terms[chunk][0].len() }
    }
    fn make(&self, chunk: usize) -> Chunk<'_> {
        self.chunk(chunk)
    }
}

impl One<'_> {
    fn chunk(&self, chunk: usize) -> Chunk<'static> {
        let One(s, side, sums) = self;
        let (terms, all) = (&s.terms[chunk][*side], &s.sums[chunk][*side]);
        // A chunk that is an inner product has one sum, and as many statements as products.
        let n = terms.first().map_or(all.len(), Vec::len);
        let bits = s.bits[chunk];
        if *sums {
            return Chunk::new(n, Vec::new(), Some(all.clone())).over(bits);
        }
        // Words of as few bits as they have, or wider ones.
        let narrow = |x: &Vec<u64>| with_width!(bits, T => T::wrap(x.iter().map(|x| T::from_u64(*x)).collect()));
        let column = |(i, x): (usize, &Vec<u64>)| match i % 2 {
            0 => Column::of_words(Cow::Owned(narrow(x)), 0..n),
            _ => x.clone().into(),
        };
        Chunk::new(n, terms.iter().enumerate().map(column).collect(), None).over(bits)
    }
}

/// What the prover finds of the sums.
struct Known<'a>(&'a Statements);

impl Chunks<u64> for Known<'_> {
    fn terms(&self, _: usize) -> usize {
        0
    }
    fn make(&self, chunk: usize) -> Chunk<'_> {
        One(self.0, if self.0.first[chunk] { 0 } else { 1 }, true).chunk(chunk)
    }
}

impl Statements {
    /// Of chunks with so many terms and statements, and of inner products of so many, true.
    fn new(chunks: &[(usize, usize)], dots: &[usize], mut word: impl FnMut() -> u64) -> Statements {
        let mut out = Statements {
            terms: vec![],
            sums: vec![],
            first: vec![],
            bits: vec![],
            dots: dots.len(),
        };
        let all =
            chunks.iter().map(|(t, n)| (*t, *n, false)).chain(dots.iter().map(|n| (2, *n, true)));
        for (terms, n, dot) in all {
            let mut of = || (0..terms).map(|_| (0..n).map(|_| word()).collect()).collect();
            let both: [Vec<Vec<u64>>; 2] = [of(), of()];
            let product = |i: usize| {
                let all = both[0].iter().zip(&both[1]);
                all.fold(0u64, |s, (u, v)| s.wrapping_add(u[i].wrapping_mul(v[i])))
            };
            let mut values: Vec<u64> = (0..n).map(product).collect();
            if dot {
                values = vec![values.iter().fold(0, |s, x| s.wrapping_add(*x))];
            }
            let s1: Vec<u64> = values.iter().map(|_| word()).collect();
            let s2 = values.iter().zip(&s1).map(|(x, s)| x.wrapping_sub(*s)).collect();
            out.terms.push(both);
            out.sums.push([s1, s2]);
            out.first.push(word() & 1 == 1);
            out.bits.push([8, 16, 32, 64][word() as usize % 4]);
        }
        out
    }

    /// The lengths of the vectors.
    fn folds(&self, variables: u32) -> Folds {
        let each = |[u, _]: &[Vec<Vec<u64>>; 2]| {
            u.len() * u.first().map_or(0, Vec::len).div_ceil(1 << variables)
        };
        let elements = self.terms.iter().map(each).sum();
        let blocks = folds(Kind::Words, elements);
        Folds { variables, first: FirstFold::Lifted, elements, blocks }
    }

    fn coefficients(&self, folds: &Folds, seed: u8) -> Arc<Coefficients<Binary>> {
        let chunks = self.terms.len() - self.dots;
        let len = |i: usize| self.terms[i][0].first().map_or(self.sums[i][0].len(), Vec::len);
        let counts: Vec<usize> = (0..chunks).map(len).collect();
        let dots: Vec<usize> = (chunks..self.terms.len()).map(len).collect();
        let mut draw = Draw::new(&[seed; 32], "slvr test coefficients");
        super::coefficients(folds, [&counts, &dots], &mut draw)
    }
}

/// Whether the verifiers accept what an honest prover says, but for what `lie` adds to a step of its message.
fn accepted(
    s: &Statements,
    variables: u32,
    seed: u8,
    lie: &dyn Fn(usize, &Prime, &mut [u64]),
) -> bool {
    let folds = s.folds(variables);
    let c = s.coefficients(&folds, seed);
    let new = |weighs| Side::new(&folds, weighs, c.clone());
    let (mut u, mut v, mut v1, mut v2) = (new(true), new(false), new(true), new(false));
    let [a, b] = [0, 1].map(|side| One(s, side, false));
    let seeded = |step: usize, what: &str| Draw::new(&[seed ^ step as u8; 32], what);
    // Lifting.
    let k = quotient(&c, [&a, &b], &Known(s));
    let k1 = drawn(&mut seeded(0, "slvr test share"));
    let mut k2 = rest(&k, &k1);
    let mut any = seeded(0, "slvr test prime");
    lie(0, &Prime::draw(|| any.word()), k2.as_flattened_mut());
    let coin = || seeded(0, "slvr test coin");
    for side in [&mut u, &mut v] {
        let found = side.lifted(&mut coin(), None);
        side.begin(found);
    }
    let found = v1.lifted(&mut coin(), Some((&One(s, 0, true), &k1)));
    v1.begin(found);
    let found = v2.lifted(&mut coin(), Some((&One(s, 1, true), &k2)));
    v2.begin(found);
    let mut step = 1;
    while !u.is_done() {
        for (side, x) in [(&mut u, 0), (&mut v1, 0), (&mut v, 1), (&mut v2, 1)] {
            side.hide(&mut Draw::new(&[x; 32], "slvr test hidden"));
        }
        let p = *u.prime();
        let q = polynomial(&u, &v, [&a, &b]);
        assert_eq!(q.len(), u.sent());
        let mut mine = seeded(step, "slvr test share");
        let share: Vec<u64> = q.iter().map(|_| p.element(|| mine.word())).collect();
        let mut rest: Vec<u64> = q.iter().zip(&share).map(|(q, s)| p.sub(*q, *s)).collect();
        lie(step, &p, &mut rest);
        let coin = u.coin(&mut seeded(step, "slvr test coin"));
        u.fold(&coin, None, &a);
        v.fold(&coin, None, &b);
        v1.fold(&coin, Some(share), &a);
        v2.fold(&coin, Some(rest), &b);
        step += 1;
    }
    // What the verifiers end with is what the prover does.
    assert_eq!((v1.end().0, v2.end().0), (u.end().0, v.end().0));
    accepts(v2.prime(), v2.end(), v1.end())
}

fn honest(_: usize, _: &Prime, _: &mut [u64]) {}

/// Words of a seed, of which many are the largest and the smallest ones.
fn words(seed: u64) -> impl FnMut() -> u64 {
    let mut draw = Draw::new(&[seed as u8; 32], "slvr test words");
    move || {
        let x = draw.word();
        match x % 8 {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << 63,
            3 => x >> 40,
            _ => draw.word(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn true_statements_pass_and_false_ones_do_not(
        seed: u8,
        variables in 2u32..5,
        chunks in prop::collection::vec((0usize..5, 1usize..90), 1..4),
        dots in prop::collection::vec(1usize..200, 0..3),
        place: prop::sample::Index,
        bit in 0u32..64,
    ) {
        let mut s = Statements::new(&chunks, &dots, words(seed.into()));
        prop_assert!(accepted(&s, variables, seed, &honest));
        // One bit of one sum, which is modulo a power of two only where it is the highest one.
        let i = place.index(s.sums.len());
        let t = place.index(s.sums[i][0].len());
        s.sums[i][usize::from(bit % 2 == 0)][t] ^= 1 << (bit % s.bits[i]);
        prop_assert!(!accepted(&s, variables, seed, &honest));
    }

    /// Whatever step it is, and whichever of its words.
    #[test]
    fn what_is_added_to_a_message_is_noticed(seed: u8, step in 0usize..4, place: prop::sample::Index, by in 1u64..) {
        let s = Statements::new(&[(2, 300), (1, 70)], &[120], words(seed.into()));
        let steps = s.folds(2).steps();
        let lie = |at: usize, p: &Prime, all: &mut [u64]| {
            if at != step.min(steps - 1) {
                return;
            }
            let i = place.index(all.len());
            all[i] = if at == 0 { all[i].wrapping_add(by) } else { p.add(all[i], 1 + by % (p.modulus() - 1)) };
        };
        prop_assert!(!accepted(&s, 2, seed, &lie));
    }
}

/// Where nothing is multiplied there is a random element all the same.
#[test]
fn what_is_left_of_no_products_is_hidden() {
    let s = Statements::new(&[(0, 70)], &[], words(5));
    assert!(accepted(&s, 3, 5, &honest));
    let folds = s.folds(3);
    let c = s.coefficients(&folds, 5);
    let mut u = Side::new(&folds, true, c);
    let found = u.lifted(&mut Draw::new(&[1; 32], "slvr test coin"), None);
    u.begin(found);
    while !u.is_done() {
        u.hide(&mut Draw::new(&[2; 32], "slvr test hidden"));
        let coin = u.coin(&mut Draw::new(&[3; 32], "slvr test coin"));
        u.fold(&coin, None, &One(&s, 0, false));
    }
    assert_ne!(u.end().0, 0);
}

/// Vectors that take several folds after the first one, and are shared among threads.
#[test]
fn long_vectors_take_more_folds() {
    for (seed, n) in [(1, 3_000), (2, 70_000)] {
        let s = Statements::new(&[(3, n), (1, n / 2)], &[n], words(seed));
        let folds = s.folds(3);
        assert!(folds.blocks.len() == 2, "{:?}", folds.blocks);
        assert!(accepted(&s, 3, seed as u8, &honest), "{n}");
        let lie = |at: usize, p: &Prime, all: &mut [u64]| {
            if at == 2 {
                all[0] = p.add(all[0], 1);
            }
        };
        assert!(!accepted(&s, 3, seed as u8, &lie), "{n}");
    }
}
