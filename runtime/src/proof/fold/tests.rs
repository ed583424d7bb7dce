//! The folding among three in one place: true statements pass, false ones with the stated probability.

use super::*;
use crate::proof::algebra::{OverBits, OverWords, grid_base, of_elements};
use crate::proof::chunk::Chunk;
use slvr_circuit::proof::{FirstFold, Kind, folds};

/// Variables of the first fold, and its blocks.
const VARIABLES: u32 = 4;
const BASE: usize = 1 << VARIABLES;

/// Chunks of a function.
struct Made<F>(F);

impl<B: Copy + Default + 'static, F: Fn(usize) -> Chunk<'static, B> + Sync> Chunks<B> for Made<F> {
    fn terms(&self, chunk: usize) -> usize {
        self.make(chunk).terms()
    }
    fn make(&self, chunk: usize) -> Chunk<'_, B> {
        (self.0)(chunk)
    }
}

/// Of a polynomial in several variables the product over all of them of its values at 0, at 1 and at high.
fn on_grid<A: Algebra>(variables: u32, values: [A::E; 3]) -> Vec<A::E> {
    (0..variables).fold(vec![A::one()], |all, _| {
        all.iter().flat_map(|a| values.each_ref().map(|v| A::mul(a, v))).collect()
    })
}

/// The values on the grid, by their definition, of elements whose first factors have coefficients.
fn grid_of<A: Algebra<V = Vec<<A as Algebra>::E>>>(
    c: &[u64],
    u: A::V,
    v: &A::V,
    m: u32,
) -> Vec<A::E> {
    let blocks = 1usize << m;
    let n = u.len() / blocks;
    let weighed: Vec<A::E> = u.chunks(n.max(1)).flat_map(|b| A::weigh(b.to_vec(), c)).collect();
    let minus = |a: &[A::E], b: &[A::E]| a.iter().zip(b).map(|(a, b)| A::sub(a, b)).collect();
    // Each variable makes three parts of two.
    let all = |x: Vec<A::E>| {
        (0..m).fold(vec![x], |parts: Vec<Vec<A::E>>, _| {
            let three = |x: &Vec<A::E>| {
                let (low, high) = x.split_at(x.len() / 2);
                [low.to_vec(), high.to_vec(), minus(high, low)]
            };
            parts.iter().flat_map(three).collect()
        })
    };
    let dot = |(u, v): (&Vec<A::E>, &Vec<A::E>)| {
        u.iter().zip(v).fold(A::zero(), |s, (u, v)| A::add(&s, &A::mul(u, v)))
    };
    all(weighed).iter().zip(&all(v.clone())).map(dot).collect()
}

/// Over a field of 2^8 elements, in which the probability of a lie can be counted. A base element is the lowest
/// eight bits of a word.
struct Tiny;

fn times(mut a: u8, mut b: u8) -> u8 {
    let mut out = 0;
    while b > 0 {
        out ^= if b & 1 == 1 { a } else { 0 };
        a = a << 1 ^ if a >> 7 == 1 { 0x1b } else { 0 };
        b >>= 1;
    }
    out
}

fn low_bits(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| (0..8).map(move |j| (w >> j & 1) as u8)).collect()
}

impl Tiny {
    fn all_pairs(u: &[u8], v: &[u8], blocks: usize) -> Vec<u8> {
        let n = u.len() / blocks;
        let dot = |a: usize, b: usize| (0..n).fold(0, |s, t| s ^ times(u[a * n + t], v[b * n + t]));
        (0..blocks * blocks).map(|i| dot(i / blocks, i % blocks)).collect()
    }
}

impl Algebra for Tiny {
    // Only its name is asked for, and interpolation, which Tiny does by itself.
    const KIND: Kind = Kind::Bits;
    const SPREAD: usize = 8;
    type E = u8;
    type V = Vec<u8>;
    type Grid = (u32, Vec<u8>);
    type Base = u64;

    fn zero() -> u8 {
        0
    }
    fn one() -> u8 {
        1
    }
    fn add(a: &u8, b: &u8) -> u8 {
        a ^ b
    }
    fn sub(a: &u8, b: &u8) -> u8 {
        a ^ b
    }
    fn mul(a: &u8, b: &u8) -> u8 {
        times(*a, *b)
    }
    fn inverse(a: &u8) -> u8 {
        (0..254).fold(1, |x, _| times(x, *a))
    }
    fn point(i: u64) -> u8 {
        i as u8
    }
    fn draw(draw: &mut Draw) -> u8 {
        draw.word() as u8
    }
    fn draw_point(draw: &mut Draw, from: usize) -> u8 {
        loop {
            let x = draw.word() as u8;
            if usize::from(x) >= from {
                return x;
            }
        }
    }
    fn put(x: &u8, out: &mut Vec<u8>) {
        out.push(*x);
    }
    fn get(bytes: &[u8]) -> Option<u8> {
        bytes.first().copied()
    }
    of_elements!();
    fn cross(u: &Self::V, v: &Self::V, blocks: usize) -> Vec<Self::E> {
        Self::all_pairs(u, v, blocks)
    }
    fn fold(v: &Vec<u8>, c: &[u8]) -> Vec<u8> {
        let n = v.len() / c.len();
        (0..n)
            .map(|t| c.iter().enumerate().fold(0, |s, (b, c)| s ^ times(*c, v[b * n + t])))
            .collect()
    }
    fn grid(variables: u32) -> Self::Grid {
        (variables, vec![0; 3usize.pow(variables)])
    }
    fn add_grid(to: &mut Self::Grid, c: &[u64], terms: &[[&[&[u64]]; 2]]) {
        for [u, v] in terms.iter().map(|t| t.map(|x| low_bits(&x.concat()))) {
            let more = grid_of::<Self>(c, u, &v, to.0);
            to.1.iter_mut().zip(&more).for_each(|(s, x)| *s ^= x);
        }
    }
    fn join_grids(to: &mut Self::Grid, from: &Self::Grid) {
        to.1.iter_mut().zip(&from.1).for_each(|(s, x)| *s ^= x);
    }
    fn on_grid(grid: &Self::Grid) -> Vec<u8> {
        grid.1.clone()
    }
    fn fold_base(blocks: &[&[u64]], c: &[u8]) -> Vec<u8> {
        Self::fold(&low_bits(&blocks.concat()), c)
    }
    fn weigh(v: Vec<u8>, c: &[u64]) -> Vec<u8> {
        let one = |(i, x): (usize, &u8)| times(times(*x, c[i / 8] as u8), 1 << (i % 8));
        v.iter().enumerate().map(one).collect()
    }
    fn sum_base(c: &[u64], words: &[u64], blocks: usize) -> Vec<u8> {
        let block = |b: usize| {
            let words = &words[b * c.len()..(b + 1) * c.len()];
            words.iter().zip(c).fold(0, |s, (w, c)| s ^ times(*w as u8, *c as u8))
        };
        (0..blocks).map(block).collect()
    }
}

/// Statements u v = s1 + s2 as the prover has them, and as each verifier has.
struct Sample {
    terms: [Vec<u64>; 2],
    sums: [Vec<u64>; 2],
}

fn sample(
    n: usize,
    draw: &mut Draw,
    product: fn(u64, u64) -> u64,
    minus: fn(u64, u64) -> u64,
) -> Sample {
    let (u, v, s1) = (draw.words(n), draw.words(n), draw.words(n));
    let s2 = (0..n).map(|i| minus(product(u[i], v[i]), s1[i])).collect();
    Sample { terms: [u, v], sums: [s1, s2] }
}

/// How the prover lies about its first polynomial: the two coins of a variable at which it gets away with it.
type Lie = [u64; 2];

/// Whether V2 accepts. The coefficients are drawn from `seed`, the coins too.
fn run<A: Algebra<Base = u64>>(s: &Sample, seed: u8, lie: Option<Lie>) -> bool {
    run_in::<A>(s, seed, lie, VARIABLES)
}

/// The same with so many variables of the first fold.
fn run_in<A: Algebra<Base = u64>>(s: &Sample, seed: u8, lie: Option<Lie>, variables: u32) -> bool {
    let [v1, v2] = ends_in::<A>(s, seed, lie, None, false, variables);
    accepts::<A>(v2, v1)
}

/// What the verifiers end with, with random blocks of their own if they are given. `after`: what V2 hears is drawn, and
/// what V1 knows is the rest, in place of the reverse.
fn ends<A: Algebra<Base = u64>>(
    s: &Sample,
    seed: u8,
    hidden: Option<[A::E; 2]>,
    after: bool,
) -> [(A::E, A::E); 2] {
    ends_in::<A>(s, seed, None, hidden, after, VARIABLES)
}

fn ends_in<A: Algebra<Base = u64>>(
    s: &Sample,
    seed: u8,
    lie: Option<Lie>,
    hidden: Option<[A::E; 2]>,
    after: bool,
    variables: u32,
) -> [(A::E, A::E); 2] {
    let n = s.sums[0].len();
    let elements = n.div_ceil(1 << variables) * A::SPREAD;
    let blocks = folds(A::KIND, elements);
    let shape = Folds { variables, first: FirstFold::Words, elements, blocks };
    // Of two instructions.
    let chunk = |i: usize, sum: bool| {
        let part = |range: std::ops::Range<usize>| {
            let sum = sum.then(|| s.sums[i][range.clone()].to_vec());
            Chunk::new(range.len(), vec![s.terms[i][range].to_vec().into()], sum)
        };
        Chunk::joined(vec![part(0..n / 3), part(n / 3..n)])
    };
    let side = |i: usize, sum: bool| {
        let mut draw = Draw::new(&[seed; 32], "slvr test coefficients");
        let drawn = coefficients::<A>(&shape, &[n], &mut draw);
        let chunks = Made(|_: usize| chunk(i, true));
        let sums: Option<&dyn Chunks<u64>> = if sum { Some(&chunks) } else { None };
        Side::<A>::new(&shape, sums, (A::zeros(0), A::zero()), i == 0, drawn)
    };
    let (first, second) = (Made(|_: usize| chunk(0, false)), Made(|_: usize| chunk(1, false)));
    let (mut u, mut v, mut v1, mut v2) =
        (side(0, false), side(1, false), side(0, true), side(1, true));
    let mut coins = Draw::new(&[seed; 32], "slvr test coins");
    let drawn = [A::draw(&mut coins), A::draw(&mut coins)];
    let hide = hidden.unwrap_or(drawn);
    let mut step = 0;
    while !u.is_done() {
        for (side, x) in [(&mut u, 0), (&mut v1, 0), (&mut v, 1), (&mut v2, 1)] {
            side.hide(&hide[x]);
        }
        let mut q = polynomial(&u, &v, [&first, &second]);
        let coin = u.coin(&mut coins);
        if let Some(roots) = lie.filter(|_| step == 0) {
            // What is wrong with the sum as it is, and a polynomial with these roots in each variable that mends it.
            let pad = |mut x: Vec<u64>| {
                x.resize(n.next_multiple_of(shape.cut()), 0);
                x
            };
            let [a, b] = s.terms.clone().map(pad);
            let zero = grid_base::<A>(&u.coefficients.elements[0], &a, &b, variables)[0];
            let honest = sum_of_corners(&u, std::iter::once(zero).chain(q.iter().copied()));
            let wrong = A::sub(&A::add(&v1.sum, &v2.sum), &honest);
            let [x, y] = roots.map(A::point);
            let at = |i: u64| A::mul(&A::sub(&A::point(i), &x), &A::sub(&A::point(i), &y));
            let lie = on_grid::<A>(variables, [at(0), at(1), A::one()]);
            let scale = A::mul(&wrong, &A::inverse(&sum_of_corners(&u, lie.iter().copied())));
            q.iter_mut().zip(&lie[1..]).for_each(|(q, x)| *q = A::add(q, &A::mul(&scale, x)));
        }
        let share: Vec<A::E> = q.iter().map(|_| A::draw(&mut coins)).collect();
        let rest = q.iter().zip(&share).map(|(q, s)| A::sub(q, s)).collect();
        u.fold(&coin, None, &first);
        v.fold(&coin, None, &second);
        let (share, rest) = if after { (rest, share) } else { (share, rest) };
        v1.fold(&coin, Some(share), &first);
        v2.fold(&coin, Some(rest), &second);
        step += 1;
    }
    [v1.end(), v2.end()]
}

/// What the values on the grid say of the sum.
fn sum_of_corners<A: Algebra>(side: &Side<A>, q: impl Iterator<Item = A::E>) -> A::E {
    let q: Vec<A::E> = q.collect();
    let all = side.folds.corners().into_iter().zip(&side.coefficients.blocks);
    all.fold(A::zero(), |s, (i, b)| A::add(&s, &A::mul(b, &q[i])))
}

fn and(a: u64, b: u64) -> u64 {
    a & b
}

fn xor(a: u64, b: u64) -> u64 {
    a ^ b
}

#[test]
fn true_statements_pass_and_single_errors_do_not() {
    for n in [1, 3, 16, 17, 300, 5000] {
        let mut draw = Draw::new(&[n as u8; 32], "slvr test");
        let mut words = sample(n, &mut draw, u64::wrapping_mul, u64::wrapping_sub);
        assert!(run::<OverWords<u64>>(&words, 1, None), "{n} words");
        let mut bits = sample(n, &mut draw, and, xor);
        assert!(run::<OverBits>(&bits, 1, None), "{n} words of bits");
        for place in [0, n / 2, n - 1] {
            // The highest bit has the least to say modulo 2^64.
            for bit in [0, 63] {
                words.sums[1][place] ^= 1 << bit;
                bits.sums[0][place] ^= 1 << bit;
                assert!(!run::<OverWords<u64>>(&words, 2, None), "{n} words, {place}, bit {bit}");
                assert!(!run::<OverBits>(&bits, 2, None), "{n} words of bits, {place}, bit {bit}");
                words.sums[1][place] ^= 1 << bit;
                bits.sums[0][place] ^= 1 << bit;
            }
        }
    }
}

/// The same with other numbers of blocks.
#[test]
fn single_errors_are_found_in_as_many_blocks_as_there_are() {
    for (n, variables) in [(1, 2), (40, 3), (300, 6), (5000, 7), (700, 8)] {
        let mut draw = Draw::new(&[n as u8; 32], "slvr test");
        let mut words = sample(n, &mut draw, u64::wrapping_mul, u64::wrapping_sub);
        let mut bits = sample(n, &mut draw, and, xor);
        let all = |words: &Sample, bits: &Sample| {
            [
                run_in::<OverWords<u64>>(words, 1, None, variables),
                run_in::<OverBits>(bits, 1, None, variables),
            ]
        };
        assert_eq!(all(&words, &bits), [true; 2], "{n} statements, {variables} variables");
        for place in [0, n / 2, n - 1] {
            for bit in [0, 63] {
                words.sums[1][place] ^= 1 << bit;
                bits.sums[0][place] ^= 1 << bit;
                assert_eq!(all(&words, &bits), [false; 2], "{n}, {variables}: {place}, bit {bit}");
                words.sums[1][place] ^= 1 << bit;
                bits.sums[0][place] ^= 1 << bit;
            }
        }
    }
}

/// Errors in two blocks pass as rarely as is stated, although they are the same and at the same place of their blocks: as
/// often as coefficients miss them, or coins are roots.
#[test]
fn coefficients_of_blocks_miss_errors_as_rarely_as_is_stated() {
    let mut draw = Draw::new(&[11; 32], "slvr test");
    let n = BASE * 2;
    let bits = sample(n, &mut draw, and, xor);
    let words = sample(n, &mut draw, u64::wrapping_mul, u64::wrapping_sub);
    let (mut missed_bits, mut missed_words, mut tried) = (0, 0, 0);
    for seed in 0..=255u8 {
        let (mut b, mut w) = (words_of(&bits), words_of(&words));
        // With equal coefficients of blocks they would cancel.
        let error = draw.word() & 255 | 1;
        for place in [0, 2] {
            b.sums[0][place] ^= error;
            w.sums[0][place] = w.sums[0][place].wrapping_add(128);
        }
        tried += 1;
        missed_bits += usize::from(run::<Tiny>(&b, seed, None));
        missed_words += usize::from(run::<TinyWords>(&w, seed, None));
    }
    // The coins in which the folds have roots.
    let last = folds(Kind::Bits, 2 * Tiny::SPREAD)[0];
    let roots = f64::from(2 * VARIABLES) + (2 * last) as f64;
    let bound = |missed: f64, points: f64| {
        let rate = missed / points + roots / (points - last as f64);
        rate + 4.0 * (rate / tried as f64).sqrt()
    };
    let rate = |n: usize| n as f64 / tried as f64;
    assert!(rate(missed_bits) <= bound(2.0, 256.0), "{missed_bits} of {tried} over bits");
    assert!(rate(missed_words) <= bound(2.0, 64.0), "{missed_words} of {tried} over words");
}

fn words_of(s: &Sample) -> Sample {
    Sample { terms: s.terms.clone(), sums: s.sums.clone() }
}

/// For all random blocks at once: the one element that V1 sends to V2 takes each value equally often, whatever the
/// statements are, and so do those that V2 multiplies it with. Without the block it would say something.
#[test]
fn what_one_verifier_tells_the_other_is_uniform() {
    let mut draw = Draw::new(&[4; 32], "slvr test");
    for seed in 0..4 {
        for gates in [sample(3, &mut draw, and, xor), sample(40, &mut draw, and, xor)] {
            let mut seen = [[0; 256]; 2];
            for x in 0..=255 {
                let [(u, s1), (v, s2)] = ends::<Tiny>(&gates, seed, Some([x, times(x, 3)]), false);
                assert!(accepts::<Tiny>((v, s2), (u, s1)));
                seen[0][usize::from(u)] += 1;
                seen[1][usize::from(v)] += 1;
            }
            assert_eq!(seen, [[1; 256]; 2], "seed {seed}");
        }
    }
}

/// V2 knows v, s2, the block that hides v, what it hears of the polynomials, and the coins. For fixed ones of these, the
/// end that V1 tells it takes the same values for all u and s1, each as often: it learns nothing of them.
#[test]
fn what_the_verifier_hears_is_the_same_for_all_that_it_does_not_hold() {
    let mut draw = Draw::new(&[6; 32], "slvr test");
    for (n, seed) in [(3, 0), (3, 1), (17, 2), (40, 3)] {
        let one = sample(n, &mut draw, and, xor);
        let mut other = one.sums[1].clone();
        let u = draw.words(n);
        for (i, s) in other.iter_mut().enumerate() {
            *s ^= u[i] & one.terms[1][i];
        }
        // v and s2 are those of `one`.
        let other = Sample { terms: [u, one.terms[1].clone()], sums: [other, one.sums[1].clone()] };
        let seen = |of: &Sample| {
            let mut all: Vec<(u8, u8)> = (0..=255)
                .map(|x| {
                    let [v1, v2] = ends::<Tiny>(of, seed, Some([x, 77]), true);
                    assert!(accepts::<Tiny>(v2, v1));
                    v1
                })
                .collect();
            all.sort_unstable();
            all
        };
        assert!(one.terms[0] != other.terms[0]);
        assert_eq!(seen(&one), seen(&other), "{n} statements, seed {seed}");
    }
}

/// Whoever knows the coefficients before it sends its words can choose errors that cancel; with coefficients that are
/// drawn afterwards the same errors are found. So the coin must come after the words.
#[test]
fn coefficients_that_are_guessed_let_errors_pass() {
    let mut draw = Draw::new(&[8; 32], "slvr test");
    // Several statements to a block.
    let gates = sample(3 * BASE, &mut draw, and, xor);
    let with = |error: u64| {
        let mut sums = gates.sums.clone();
        (0..3).for_each(|i| sums[0][i] ^= error >> (8 * i) & 255);
        Sample { terms: gates.terms.clone(), sums }
    };
    let errors = (1..1u64 << 24).step_by(7919).take(2000);
    let passing: Vec<u64> = errors.filter(|&e| run::<Tiny>(&with(e), 1, None)).collect();
    // One in 256: the coins of the folds are no roots, or all would pass.
    assert!((3..40).contains(&passing.len()), "{} of 2000 errors cancel", passing.len());
    for &e in passing.iter().take(5) {
        let fresh = (2..=255u8).filter(|&seed| run::<Tiny>(&with(e), seed, None)).count();
        // One in 256, and where coins are roots: 8 of 256 in the first fold, 24 of 231 in the last.
        assert!(fresh < 80, "{fresh} of 254 fresh coins accept");
    }
}

/// Over a Galois ring of degree 6 over Z_2^8, with 64 exceptional points.
struct TinyWords;

const DEGREE: usize = 6;

impl TinyWords {
    /// Modulo X^6 + X + 1.
    fn product(a: &[u8; DEGREE], b: &[u8; DEGREE]) -> [u8; DEGREE] {
        let mut wide = [0u8; 2 * DEGREE];
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                wide[i + j] = wide[i + j].wrapping_add(a.wrapping_mul(*b));
            }
        }
        for i in (DEGREE..2 * DEGREE).rev() {
            let top = std::mem::take(&mut wide[i]);
            wide[i - DEGREE] = wide[i - DEGREE].wrapping_sub(top);
            wide[i - DEGREE + 1] = wide[i - DEGREE + 1].wrapping_sub(top);
        }
        std::array::from_fn(|i| wide[i])
    }

    fn word(x: u64) -> [u8; DEGREE] {
        std::array::from_fn(|i| if i == 0 { x as u8 } else { 0 })
    }
}

impl TinyWords {
    fn all_pairs(u: &[[u8; DEGREE]], v: &[[u8; DEGREE]], blocks: usize) -> Vec<[u8; DEGREE]> {
        let n = u.len() / blocks;
        let dot = |a: usize, b: usize| {
            let terms = (0..n).map(|t| Self::product(&u[a * n + t], &v[b * n + t]));
            terms.fold(Self::zero(), |s, x| Self::add(&s, &x))
        };
        (0..blocks * blocks).map(|i| dot(i / blocks, i % blocks)).collect()
    }
}

impl Algebra for TinyWords {
    // Its name tells interpolations apart.
    const KIND: Kind = Kind::Wide;
    const SPREAD: usize = 1;
    type E = [u8; DEGREE];
    type V = Vec<[u8; DEGREE]>;
    type Grid = (u32, Vec<[u8; DEGREE]>);
    type Base = u64;

    fn zero() -> Self::E {
        [0; DEGREE]
    }
    fn one() -> Self::E {
        Self::word(1)
    }
    fn add(a: &Self::E, b: &Self::E) -> Self::E {
        std::array::from_fn(|i| a[i].wrapping_add(b[i]))
    }
    fn sub(a: &Self::E, b: &Self::E) -> Self::E {
        std::array::from_fn(|i| a[i].wrapping_sub(b[i]))
    }
    fn mul(a: &Self::E, b: &Self::E) -> Self::E {
        Self::product(a, b)
    }
    fn inverse(a: &Self::E) -> Self::E {
        // Right modulo 2, where the group of units has 63 elements, and then modulo 4, 16 and 256.
        let mut y = (0..62).fold(Self::one(), |y, _| Self::product(&y, a));
        for _ in 0..3 {
            let two = Self::word(2);
            y = Self::product(&y, &Self::sub(&two, &Self::product(a, &y)));
        }
        y
    }
    fn point(i: u64) -> Self::E {
        std::array::from_fn(|j| (i >> j & 1) as u8)
    }
    fn draw(draw: &mut Draw) -> Self::E {
        let word = draw.word();
        std::array::from_fn(|i| (word >> (8 * i)) as u8)
    }
    fn draw_point(draw: &mut Draw, from: usize) -> Self::E {
        loop {
            let x = draw.word() >> 58;
            if x >= from as u64 {
                return Self::point(x);
            }
        }
    }
    fn put(x: &Self::E, out: &mut Vec<u8>) {
        out.extend_from_slice(x);
    }
    fn get(bytes: &[u8]) -> Option<Self::E> {
        bytes.try_into().ok()
    }
    of_elements!();
    fn cross(u: &Self::V, v: &Self::V, blocks: usize) -> Vec<Self::E> {
        Self::all_pairs(u, v, blocks)
    }
    fn fold(v: &Self::V, c: &[Self::E]) -> Self::V {
        let n = v.len() / c.len();
        let sum = |t: usize| {
            let terms = c.iter().enumerate().map(|(b, c)| Self::product(c, &v[b * n + t]));
            terms.fold(Self::zero(), |s, x| Self::add(&s, &x))
        };
        (0..n).map(sum).collect()
    }
    fn grid(variables: u32) -> Self::Grid {
        (variables, vec![Self::zero(); 3usize.pow(variables)])
    }
    fn add_grid(to: &mut Self::Grid, c: &[u64], terms: &[[&[&[u64]]; 2]]) {
        let all = |w: &[&[u64]]| w.concat().into_iter().map(Self::word).collect::<Self::V>();
        for [u, v] in terms {
            let more = grid_of::<Self>(c, all(u), &all(v), to.0);
            to.1.iter_mut().zip(&more).for_each(|(s, x)| *s = Self::add(s, x));
        }
    }
    fn join_grids(to: &mut Self::Grid, from: &Self::Grid) {
        to.1.iter_mut().zip(&from.1).for_each(|(s, x)| *s = Self::add(s, x));
    }
    fn on_grid(grid: &Self::Grid) -> Vec<Self::E> {
        grid.1.clone()
    }
    fn fold_base(blocks: &[&[u64]], c: &[Self::E]) -> Self::V {
        Self::fold(&blocks.concat().into_iter().map(Self::word).collect(), c)
    }
    fn weigh(v: Self::V, c: &[u64]) -> Self::V {
        v.iter().zip(c).map(|(x, c)| Self::product(x, &Self::point(*c))).collect()
    }
    fn sum_base(c: &[u64], words: &[u64], blocks: usize) -> Vec<Self::E> {
        let block = |b: usize| {
            let words = &words[b * c.len()..(b + 1) * c.len()];
            let terms = words.iter().zip(c);
            let terms = terms.map(|(w, c)| Self::product(&Self::word(*w), &Self::point(*c)));
            terms.fold(Self::zero(), |s, x| Self::add(&s, &x))
        };
        (0..blocks).map(block).collect()
    }
}

/// Three gates over Z_2^8, each with every error that there is, and the best lie about the first polynomial: it is accepted
/// where a coin is one of its roots, and without a lie only where coefficients or later coins allow it.
#[test]
fn every_error_over_words_passes_as_rarely_as_is_stated() {
    const SEEDS: u8 = 24;
    let mut draw = Draw::new(&[10; 32], "slvr test");
    // Two roots in each variable.
    let stated = 1.0 - (1.0 - 2.0 / 64.0f64).powi(VARIABLES as i32);
    assert!(stated <= f64::from(2 * VARIABLES) / 64.0, "what the bound has");
    let more = 2.0 / 64.0 + 4.0 / 62.0;
    let gates = sample(3, &mut draw, u64::wrapping_mul, u64::wrapping_sub);
    let (mut lied, mut honest, mut tried) = (0, 0, 0);
    for gate in 0..3 {
        for error in 1..=255u64 {
            let mut sums = gates.sums.clone();
            sums[0][gate] = sums[0][gate].wrapping_add(error);
            let wrong = Sample { terms: gates.terms.clone(), sums };
            for seed in 0..SEEDS {
                let first = 2 + (u64::from(seed) + error) % 60;
                let lie = [first, first + 1];
                tried += 1;
                lied += usize::from(run::<TinyWords>(&wrong, seed, Some(lie)));
                honest += usize::from(run::<TinyWords>(&wrong, seed, None));
            }
        }
    }
    let rate = |n: usize| n as f64 / tried as f64;
    // Coins are the same for all errors of a seed, so the seeds are what is counted.
    let spread = 4.0 * (stated * (1.0 - stated) / f64::from(SEEDS)).sqrt();
    assert!(rate(lied) <= stated + more + spread, "{} with a lie, stated {stated}", rate(lied));
    assert!(rate(lied) >= stated - more - spread, "{} with a lie, stated {stated}", rate(lied));
    // Without a lie the claim is off at one point, and the polynomial differs by what is 0 at the others.
    assert!(rate(honest) <= stated + more, "{} without a lie", rate(honest));
    for seed in 0..SEEDS {
        assert!(run::<TinyWords>(&gates, seed, None), "a true statement, seed {seed}");
    }
}

/// Three gates over bits, all seven ways in which the words that a party sends can be wrong, and the best lie that
/// there is about the first polynomial: it is accepted where the coin is one of its roots, so as often as is stated,
/// and hardly ever without the lie's roots.
#[test]
fn every_error_passes_as_rarely_as_is_stated() {
    let mut draw = Draw::new(&[9; 32], "slvr test");
    let last = folds(Kind::Bits, Tiny::SPREAD)[0];
    // Two roots in each variable.
    let stated = 1.0 - (1.0 - 2.0 / 256.0f64).powi(VARIABLES as i32);
    assert!(stated <= f64::from(2 * VARIABLES) / 256.0, "what the bound has");
    // Coefficients that miss the error, and the later coins, in which an honest polynomial has roots too.
    let more = 2.0 / 256.0 + 2.0 * last as f64 / (256 - last - 1) as f64;
    for error in 1..8u64 {
        let mut gates = sample(3, &mut draw, and, xor);
        (0..3).filter(|i| error >> i & 1 == 1).for_each(|i| gates.sums[0][i] ^= 1);
        let mut accepted = 0;
        let mut tried = 0;
        for seed in 0..=255u8 {
            // Other roots each time; the coin is drawn after them.
            let first = 2 + u64::from(seed) % 253;
            tried += 1;
            accepted += usize::from(run::<Tiny>(&gates, seed, Some([first, first + 1])));
        }
        let rate = accepted as f64 / tried as f64;
        let spread = 4.0 * (stated * (1.0 - stated) / tried as f64).sqrt();
        assert!(rate <= stated + more + spread, "error {error}: {rate}, stated {stated} + {more}");
        assert!(rate >= stated - spread, "error {error}: {rate}, a lie has {stated}");
    }
}
