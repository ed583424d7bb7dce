//! The field of 2^64 elements: polynomials over GF(2) modulo X^64 + X^4 + X^3 + X + 1, bit j of a word the
//! coefficient of X^j. Addition is xor.

use super::grid::{in_shares, load, points};
use super::simd::{Clmul, FACTORS, Matrix, Products, reduce, summed};
use super::threads;
use std::ops::Range;

pub fn mul(a: u64, b: u64) -> u64 {
    reduce(Clmul::best().product(a, b))
}

/// The sum of the products a_i b_i.
///
/// # Panics
///
/// On vectors of different lengths.
pub fn dot(a: &[u64], b: &[u64]) -> u64 {
    reduce(Clmul::best().dot(a, b))
}

/// Entry a blocks + b is the inner product of block a of u and block b of v.
///
/// # Panics
///
/// If the vectors are not of one length, or this is no multiple of the number of blocks.
pub fn cross(u: &[u64], v: &[u64], blocks: usize) -> Vec<u64> {
    let n = u.len() / blocks;
    assert!(u.len() == v.len() && n * blocks == u.len(), "blocks of one length");
    let level = Clmul::best();
    let mut sums = vec![0u128; blocks * blocks];
    // Parts of blocks that stay in the cache while all pairs of them pass.
    for at in (0..n).step_by(PART) {
        let of = |b: usize| b * n + at..b * n + n.min(at + PART);
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum ^= level.dot(&u[of(i / blocks)], &v[of(i % blocks)]);
        }
    }
    sums.into_iter().map(reduce).collect()
}

/// The values at the points of a [grid](super::galois::Grid) of the inner products of vectors of words of 64 bits, in
/// 2^m blocks, with n coefficients c: bit l of word i of each block has the coefficient c_i X^l. Added up over several
/// vectors.
#[derive(Clone, Debug)]
pub struct Grid {
    variables: u32,
    sums: Vec<Products>,
}

/// Adds the inner products of columns in 2^m blocks, N columns at a time.
fn add_columns<const N: usize>(
    sums: &mut [Products],
    blocks: usize,
    (c, columns): (&[u64], Range<usize>),
    terms: &[[&[&[u64]]; 2]],
) {
    if columns.is_empty() {
        return;
    }
    let level = Clmul::best();
    // Of the vectors of two terms, and room for their differences.
    let mut rows: [_; 8] = std::array::from_fn(|_| vec![[0; N]; blocks]);
    let [a0, b0, a1, b1, sa0, sb0, sa1, sb1] = &mut rows;
    for at in columns.clone().step_by(N) {
        let some = at..columns.end.min(at + N);
        // What stands behind the last column takes coefficients 0.
        let mut factors = [0; N];
        factors[..some.len()].copy_from_slice(&c[some.clone()]);
        for two in terms.chunks(2) {
            for (rows, x) in [&mut *a0, b0, a1, b1].into_iter().zip(two.iter().flatten()) {
                load(rows, x.iter().copied(), &some);
            }
            match two {
                [_, _] => {
                    let scratch = [&mut *sa0, sb0, sa1, sb1];
                    level.add_grid(sums, &factors, [&*a0, b0, a1, b1], scratch.map(|x| &mut x[..]));
                }
                _ => level.add_grid(sums, &factors, [&*a0, b0], [&mut *sa0, sb0]),
            }
        }
    }
}

/// Columns that are worked on at a time: their rows and the sums of all points stay in the second cache.
const WIDE: usize = 16;

/// Fewer of them: chunks of few statements have blocks of few words.
const NARROW: usize = 8;

impl Grid {
    /// Of vectors of 2^m blocks, m at least 2.
    pub fn new(variables: u32) -> Grid {
        Grid { variables, sums: vec![[0; 8]; points(variables)] }
    }

    /// Adds the inner products of all u and v. They have the same coefficients.
    ///
    /// # Panics
    ///
    /// If the words are not 2^m blocks of as many as there are coefficients.
    pub fn add(&mut self, c: &[u64], terms: &[[&[&[u64]]; 2]]) {
        let (n, blocks) = (c.len(), 1 << self.variables);
        let fits = |x: &&[&[u64]]| x.len() == blocks && x.iter().all(|block| block.len() == n);
        assert!(terms.iter().flatten().all(fits), "blocks of one length");
        let part = |sums: &mut [Products], columns: Range<usize>| {
            // What is left behind all wide rows takes narrow ones, if these are fewer.
            let rest = columns.len() % WIDE;
            let wide = columns.end - if rest > WIDE - NARROW { 0 } else { rest };
            add_columns::<WIDE>(sums, blocks, (c, columns.start..wide), terms);
            add_columns::<NARROW>(sums, blocks, (c, wide..columns.end), terms);
        };
        let add = |to: &mut Products, x: &Products| to.iter_mut().zip(x).for_each(|(s, x)| *s ^= x);
        in_shares(n, &mut self.sums, &[0; 8], &part, &add);
    }

    /// Adds what another one has.
    ///
    /// # Panics
    ///
    /// On another number of variables.
    pub fn join(&mut self, other: &Grid) {
        assert_eq!(self.variables, other.variables, "grids of one size");
        let all = self.sums.iter_mut().zip(&other.sums);
        all.for_each(|(to, x)| to.iter_mut().zip(x).for_each(|(s, x)| *s ^= x));
    }

    /// The values, in the order of the points.
    pub fn elements(&self) -> Vec<u64> {
        self.sums.iter().map(|x| reduce(summed(x))).collect()
    }
}

/// Words of a vector that a thread works on at a time.
const PART: usize = 256;

/// The sum over blocks b of c_b times block b of bits, which are given as words of 64: entry 64 i + l is that of
/// bit l of word i of every block.
///
/// # Panics
///
/// If there are not as many blocks as factors, or they are not of one length.
pub fn fold_bits(c: &[u64], blocks: &[&[u64]]) -> Vec<u64> {
    let n = blocks.first().map_or(0, |block| block.len());
    assert!(blocks.len() == c.len() && blocks.iter().all(|b| b.len() == n), "blocks of one length");
    let mut out = vec![0; n * 64];
    // So many factors stay in the cache while all columns pass.
    for (c, blocks) in c.chunks(FACTORS).zip(blocks.chunks(FACTORS)) {
        let matrix = Matrix::new(c);
        threads::each(out.chunks_mut(64 * PART).enumerate(), &|(part, out)| {
            // Eight columns at a time, which stand in one cache line of each block.
            for (eight, out) in out.chunks_mut(64 * 8).enumerate() {
                let mut columns = [[0; FACTORS]; 8];
                let at = part * PART + 8 * eight;
                let some = out.len() / 64;
                for (b, block) in blocks.iter().enumerate() {
                    let words = &block[at..][..some];
                    columns.iter_mut().zip(words).for_each(|(column, word)| column[b] = *word);
                }
                let (out, _) = out.as_chunks_mut::<64>();
                out.iter_mut().zip(&columns).for_each(|(out, column)| matrix.add(out, column));
            }
        });
    }
    out
}

/// Element 64 i + l times c_i X^l, for each of the n coefficients c.
///
/// # Panics
///
/// If there are not 64 elements for each coefficient.
pub fn weigh(a: &mut [u64], c: &[u64]) {
    assert_eq!(a.len(), 64 * c.len(), "64 elements for each coefficient");
    let level = Clmul::best();
    threads::each(a.chunks_mut(64 * PART).zip(c.chunks(PART)), &|(a, c)| {
        for (a, &c) in a.as_chunks_mut::<64>().0.iter_mut().zip(c) {
            let mut powers = [c; 64];
            for l in 1..64 {
                powers[l] = times_x(powers[l - 1]);
            }
            level.times(a, &powers);
        }
    });
}

/// The sum over blocks b of c_b times block b.
///
/// # Panics
///
/// If the number of elements is no multiple of the number of factors.
pub fn fold(a: &[u64], c: &[u64]) -> Vec<u64> {
    let n = a.len() / c.len();
    assert_eq!(n * c.len(), a.len(), "blocks of one length");
    let level = Clmul::best();
    let mut out = vec![0; n];
    threads::each(out.chunks_mut(8 * PART).enumerate(), &|(part, out)| {
        let all = c.iter().zip(a.chunks_exact(n));
        let blocks: Vec<_> = all.map(|(c, a)| (*c, &a[part * 8 * PART..][..out.len()])).collect();
        level.add_all(out, &blocks);
    });
    out
}

/// The inverse; of 0 it is 0.
pub fn inverse(a: u64) -> u64 {
    // a^(2^64 - 2), the product of a^2, a^4, ..., a^(2^63).
    let mut power = a;
    let mut out = 1;
    for _ in 1..64 {
        power = mul(power, power);
        out = mul(out, power);
    }
    out
}

pub fn times_x(a: u64) -> u64 {
    a << 1 ^ if a >> 63 == 1 { 0x1b } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut;
    use proptest::prelude::*;

    #[test]
    fn known_products() {
        // X^63 X = X^4 + X^3 + X + 1, and its square is X^8 + X^6 + X^2 + 1.
        assert_eq!(mul(1 << 63, 2), 0x1b);
        assert_eq!(mul(mul(1 << 63, 2), mul(1 << 63, 2)), 0x145);
        // X^127 = X^63 X^64 = X^67 + X^66 + X^64 + X^63.
        assert_eq!(mul(1 << 63, 0x1b), 1 << 63 | 0x1b << 3 ^ 0x1b << 2 ^ 0x1b);
        assert_eq!(times_x(1 << 63), 0x1b);
        assert_eq!(inverse(1), 1);
        assert_eq!(inverse(0), 0);
    }

    /// X^(2^64) = X, and X^(2^32) - X is a unit: a polynomial of degree 64 with both has no factor of
    /// smaller degree.
    #[test]
    fn the_modulus_is_irreducible() {
        let frobenius = |times: u32| (0..times).fold(2, |x, _| mul(x, x));
        assert_eq!(frobenius(64), 2);
        let difference = frobenius(32) ^ 2;
        assert_eq!(mul(difference, inverse(difference)), 1);
    }

    proptest! {
        #[test]
        fn laws_of_a_field(a: u64, b: u64, c: u64) {
            prop_assert_eq!(mul(a, b), mul(b, a));
            prop_assert_eq!(mul(a, mul(b, c)), mul(mul(a, b), c));
            prop_assert_eq!(mul(a, b ^ c), mul(a, b) ^ mul(a, c));
            prop_assert_eq!(mul(a, 1), a);
            prop_assert_eq!(times_x(a), mul(a, 2));
            if a != 0 {
                prop_assert_eq!(mul(a, inverse(a)), 1);
            }
        }

        #[test]
        fn sums_of_products(v in prop::collection::vec(any::<(u64, u64, u64)>(), 0..700)) {
            let of = |f: fn(&(u64, u64, u64)) -> u64| v.iter().map(f).collect::<Vec<_>>();
            let (a, b, c) = (of(|x| x.0), of(|x| x.1), of(|x| x.2));
            let want = v.iter().fold(0, |s, x| s ^ mul(x.0, x.1));
            prop_assert_eq!(dot(&a, &b), want);
            let mut products = a.clone();
            Clmul::best().times(&mut products, &b);
            prop_assert_eq!(products, v.iter().map(|x| mul(x.0, x.1)).collect::<Vec<_>>());
            let factors = &c[..c.len().min(3)];
            if !factors.is_empty() {
                let n = a.len() / factors.len();
                let want: Vec<u64> = (0..n)
                    .map(|i| (0..factors.len()).fold(0, |s, j| s ^ mul(factors[j], a[j * n + i])))
                    .collect();
                prop_assert_eq!(fold(&a[..n * factors.len()], factors), want);
            }
        }

        /// Bits in words against bits as elements: bit l of word i has the coefficient c_i X^l.
        #[test]
        fn bits_are_elements(
            n in 0usize..20, blocks in 1usize..20, seed: u64, wide in any::<bool>(),
        ) {
            // More words than stay in the cache.
            let n = if wide { n + 2 * PART } else { n };
            let blocks = if wide { blocks.min(3) } else { blocks };
            let mut next = crate::testing::words(seed);
            let mut some = |n: usize| (0..n).map(|_| next()).collect::<Vec<_>>();
            let (u, c, x) = (some(n * blocks), some(n), some(blocks));
            let mut folded = fold_bits(&x, &cut(&u, blocks));
            for i in 0..n {
                for l in 0..64 {
                    let bit = |b: usize| u[b * n + i] >> l & 1;
                    let want = (0..blocks).fold(0, |s, b| s ^ (x[b] * bit(b)));
                    prop_assert_eq!(folded[64 * i + l], want);
                }
            }
            let before = folded.clone();
            weigh(&mut folded, &c);
            for i in 0..n {
                let mut power = c[i];
                for l in 0..64 {
                    prop_assert_eq!(folded[64 * i + l], mul(before[64 * i + l], power));
                    power = times_x(power);
                }
            }
        }

        #[test]
        fn pairs_of_blocks(n in 0usize..600, blocks in 1usize..5, seed: u64) {
            let words = |s: u64| -> Vec<u64> {
                let of = |i: u64| mul(s | 1, i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ s);
                (0..(n * blocks) as u64).map(of).collect()
            };
            let (u, v) = (words(seed), words(!seed));
            let block = |b: usize| b * n..(b + 1) * n;
            let want = (0..blocks * blocks).map(|i| dot(&u[block(i / blocks)], &v[block(i % blocks)]));
            prop_assert_eq!(cross(&u, &v, blocks), want.collect::<Vec<_>>());
        }

        /// At every point of the grid, by the definition of its values.
        #[test]
        fn grids_are_values_of_products(n in 0usize..70, variables in 2u32..5, seed: u64, wide in any::<bool>()) {
            // More than one thread takes by itself.
            let (n, blocks) = (if wide { n + 600 } else { n }, 1 << variables);
            let mut next = crate::testing::words(seed);
            let mut some = |n: usize| (0..n).map(|_| next()).collect::<Vec<_>>();
            let terms = [(); 2].map(|()| [some(n * blocks), some(n * blocks)]);
            let c = some(n);
            let mut grid = Grid::new(variables);
            let [first, second] = terms.each_ref().map(|t| t.each_ref().map(|x| cut(x, blocks)));
            grid.add(&c, &[&first, &second].map(|t| t.each_ref().map(Vec::as_slice)));
            for (point, found) in grid.elements().into_iter().enumerate() {
                // The blocks whose sum is the value there.
                let of = |b: usize| (0..variables).all(|j| match point / 3usize.pow(j) % 3 {
                    2 => true,
                    digit => b >> j & 1 == digit,
                });
                let value = |x: &[u64], i: usize| {
                    (0..blocks).filter(|b| of(*b)).fold(0, |s, b| s ^ x[b * n + i])
                };
                let want = terms.iter().fold(0, |s, [u, v]| {
                    (0..n).fold(s, |s, i| s ^ mul(c[i], value(u, i) & value(v, i)))
                });
                prop_assert_eq!(found, want, "point {}", point);
            }
        }

        /// 64 products of bits as one product of words: bit l has the coefficient c X^l.
        #[test]
        fn packed_bits(a: u64, b: u64, c: u64) {
            let mut want = 0;
            let mut power = c;
            for l in 0..64 {
                want ^= if a >> l & b >> l & 1 == 1 { power } else { 0 };
                power = times_x(power);
            }
            let mut grid = Grid::new(2);
            grid.add(&[c], &[[&[&[a], &[0], &[0], &[0]], &[&[b], &[0], &[0], &[0]]]]);
            prop_assert_eq!(grid.elements()[0], want);
        }
    }
}
