//! The quotient K of lifted statements by 2^64, and its shares.

use super::Binary;
use crate::proof::algebra::Draw;
use crate::proof::chunk::{Blocks, Chunks};
use crate::proof::coefficients::Coefficients;
use slvr_circuit::proof::{LIFT, LIFT_WORDS};
use slvr_ring::galois::{DEGREE, Element, sum_words};
use slvr_ring::{Run, threads};

/// A share of the quotient: the coefficients, each in words, the lowest first, and the last one with a sign.
pub type Share = Vec<[u64; LIFT_WORDS]>;

/// What is added up of one block: for each place of the coefficients a number.
type Sums = [i128; DEGREE];

/// The coefficients of the quotient, as the prover finds them: of its two components, and of what one verifier adds.
pub fn quotient(
    c: &Coefficients<Binary>,
    [a, b]: [&dyn Chunks<u64>; 2],
    sums: &dyn Chunks<u64>,
) -> Vec<i128> {
    // Of the blocks, and of the inner products.
    let new = || (vec![[0i128; DEGREE]; c.blocks.len()], [0i128; DEGREE]);
    let parts = threads::workers(c.chunks(), &new, &|(blocks, dots): &mut (Vec<Sums>, Sums), i| {
        let known = sums.make(i);
        let bits = 64 - known.scale();
        let Some(known) = known.into_sum() else { return };
        let chunks = [a, b].map(|chunks| (chunks.terms(i) > 0).then(|| chunks.make(i)));
        let cut = if c.dot(i).is_some() { 1 } else { c.blocks.len() };
        let terms = chunks
            .each_ref()
            .map(|chunk| chunk.iter().flat_map(|chunk| chunk.runs(cut)).collect::<Vec<_>>());
        let terms = terms.each_ref().map(|x| x.iter().map(Blocks::runs).collect::<Vec<_>>());
        match c.dot(i) {
            Some(dot) => {
                // One statement, of all products.
                let mut all = Product::default();
                let mut words = [(); 2].map(|()| vec![0; COLUMNS]);
                for (u, v) in terms[0].iter().zip(&terms[1]) {
                    let n = u[0].len();
                    for from in (0..n).step_by(COLUMNS) {
                        let [x, y] = words.each_mut().map(|x| &mut x[..COLUMNS.min(n - from)]);
                        u[0].widen(from, x);
                        v[0].widen(from, y);
                        all = x.iter().zip(&*y).fold(all, |s, (u, v)| plus(s, *u, *v));
                    }
                }
                let e = over(all, bits, known.first().copied().unwrap_or(0));
                let c = c.dots[dot].1;
                let places = dots.iter_mut().enumerate();
                places.for_each(|(j, sum)| *sum += i128::from(c >> j & 1) * e);
            }
            None => add_quotients(blocks, &c.elements[i], &terms, (&known, bits)),
        }
    });
    let mut out = vec![0; LIFT];
    for (blocks, dots) in &parts {
        let of_dots = std::iter::once((&1, dots));
        for (factor, sums) in c.blocks.iter().zip(blocks).chain(of_dots) {
            for i in (0..DEGREE).filter(|i| factor >> i & 1 == 1) {
                out[i..].iter_mut().zip(sums).for_each(|(o, s)| *o += s);
            }
        }
    }
    out
}

/// A sum of products: its low word, and how many times 2^64 is in it.
type Product = (u64, u128);

/// The sum and one product more.
#[inline]
fn plus((low, high): Product, u: u64, v: u64) -> Product {
    let product = u128::from(u) * u128::from(v);
    let (low, carry) = low.overflowing_add(product as u64);
    (low, high + (product >> 64) + u128::from(carry))
}

/// The quotient by a power of two of a sum of products less what both verifiers add, of which one is known.
fn over((low, high): Product, bits: u32, known: u64) -> i128 {
    // Together they are what is below the power, or the power more.
    let rest = low & u64::MAX >> (64 - bits);
    let quotient = high << (64 - bits) | u128::from(low.checked_shr(bits).unwrap_or(0));
    quotient as i128 - i128::from(known > rest)
}

/// Elements of a block whose quotients are added up at a time.
const COLUMNS: usize = 2048;
/// Terms of a statement below which its quotient, less than 2^80 then, has two parts, of 40 bits and of the rest, so that
/// sums of them are words; one if words have up to 32 bits, as it is less than 2^48 then. Of more terms it has three, two of
/// which have 32 bits.
const FEW: usize = 1 << 16;

/// The blocks of each term.
type Terms<'a> = Vec<Vec<Run<'a>>>;

/// Adds for each block the quotients of its statements times their coefficients.
fn add_quotients(
    blocks: &mut [Sums],
    c: &[Binary],
    terms: &[Terms<'_>; 2],
    (known, width): (&[u64], u32),
) {
    let (bits, parts) = match terms[0].len() < FEW {
        true if width <= 32 => (64, 1),
        true => (40, 2),
        false => (32, 3),
    };
    let n = c.len();
    let mut words = [(); 2].map(|()| vec![0; COLUMNS]);
    let mut sums = vec![Product::default(); COLUMNS];
    for from in (0..n).step_by(COLUMNS) {
        let c = &c[from..n.min(from + COLUMNS)];
        // A row for each part of each block.
        let mut rows = vec![0u64; parts * blocks.len() * c.len()];
        for b in 0..blocks.len() {
            let start = b * n + from;
            let Some(known) = known.get(start..) else { break };
            let some = known.len().min(c.len());
            let sums = &mut sums[..some];
            sums.fill(Product::default());
            for (u, v) in terms[0].iter().zip(&terms[1]) {
                let [x, y] = words.each_mut().map(|x| &mut x[..some]);
                u[b].widen(from, x);
                v[b].widen(from, y);
                let both = x.iter().zip(&*y);
                sums.iter_mut().zip(both).for_each(|(s, (u, v))| *s = plus(*s, *u, *v));
            }
            for (t, (sum, known)) in sums.iter().zip(known).enumerate() {
                let mut e = over(*sum, width, *known);
                for j in 0..parts {
                    // The last one has its sign.
                    let last = j + 1 == parts;
                    rows[(b * parts + j) * c.len() + t] =
                        if last { e as u64 } else { (e & ((1 << bits) - 1)) as u64 };
                    e >>= bits;
                }
            }
        }
        let found: Vec<Element> = sum_words(c, &rows, parts * blocks.len());
        for (i, found) in found.iter().enumerate() {
            let (sums, j) = (&mut blocks[i / parts], i % parts);
            for (sum, x) in sums.iter_mut().zip(found) {
                let x = if j + 1 == parts { i128::from(*x as i64) } else { i128::from(*x) };
                *sum += x << (bits * j as u32);
            }
        }
    }
}

/// V1's share of a quotient, from a stream: numbers below 2^191.
pub fn drawn(draw: &mut Draw) -> Share {
    let number = |_| {
        let mut words = [(); LIFT_WORDS].map(|()| draw.word());
        words.iter_mut().last().iter_mut().for_each(|top| **top >>= 1);
        words
    };
    (0..LIFT).map(number).collect()
}

/// V2's share of a quotient, from V1's.
pub fn rest(quotient: &[i128], share: &Share) -> Share {
    let less = |(k, share): (&i128, &[u64; LIFT_WORDS])| {
        // With its sign.
        let words = [*k as u64, (k >> 64) as u64, (k >> 127) as u64];
        let mut borrow = false;
        let mut i = 0;
        words.map(|word| {
            let (less, first) = word.overflowing_sub(share[i]);
            let (less, second) = less.overflowing_sub(borrow.into());
            (borrow, i) = (first || second, i + 1);
            less
        })
    };
    quotient.iter().zip(share).map(less).collect()
}
