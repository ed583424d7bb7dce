//! SIGNS: lazy signs from public coins, for random inner products; a local and public operation.
//!
//! chi is -1, 0, 1 with probabilities 1/4, 1/2, 1/4: the difference of two bits, b - c. For test t
//! and the block of columns 8 i .. 8 i + 8 the generator (ChaCha12 keyed by the coins) gives two
//! bytes. The low half of the first holds b of the block's first four columns, the high half their
//! c; the second byte the same of the other four. So sums over four columns are found by
//! looking up two entries of a table ([`slvr_ring::kernels::project`]).
//!
//! Everybody who knows the coins (the parties, an auditor, the clear evaluation) finds the same signs.

use crate::share::{Prg, Purpose, RunId, Seed, Stream};

/// The signs of all tests and columns.
#[derive(Debug)]
pub struct Signs {
    prg: Prg,
    tests: usize,
}

impl Signs {
    /// From coins, for a number of tests.
    pub fn new(coin: u128, tests: u64) -> Self {
        let prg = Prg::new(&Seed::new(coin.to_le_bytes()), RunId([0; 16]));
        Signs { prg, tests: tests as usize }
    }

    /// The bytes of blocks from `block` (an even number) on: 2 tests bytes for each.
    pub fn fill(&self, block: usize, out: &mut [u8]) {
        self.prg.public_bytes(Stream::new(0, Purpose::Signs), block * 2 * self.tests, out);
    }

    /// All signs of `columns` columns, `[tests, columns]`, row-major. For tests and simulations.
    pub fn matrix(&self, columns: usize) -> Vec<i8> {
        let mut bytes = vec![0; columns.div_ceil(8) * 2 * self.tests];
        self.fill(0, &mut bytes);
        let bit = |test: usize, column: usize, minus: usize| {
            let (block, half) = (column / 8, column % 8 / 4);
            let byte = bytes[(block * self.tests + test) * 2 + half];
            (byte >> (4 * minus + column % 4) & 1) as i8
        };
        let all = (0..self.tests).flat_map(|t| (0..columns).map(move |j| (t, j)));
        all.map(|(t, j)| bit(t, j, 0) - bit(t, j, 1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frequencies, and products of signs of neighbouring columns and tests; fixed coins, so this
    /// cannot flake. The statistics are within 4 standard deviations.
    #[test]
    fn signs_are_lazy_and_uncorrelated() {
        let (tests, columns) = (67, 4001);
        let chi = Signs::new(12345, tests).matrix(columns);
        let n = chi.len() as f64;
        let count = |x: i8| chi.iter().filter(|&&c| c == x).count() as f64;
        let deviates = |found: f64, p: f64| (found - n * p).abs() / (n * p * (1.0 - p)).sqrt();
        assert!(deviates(count(0), 0.5) < 4.0, "{} zeros of {n}", count(0));
        assert!(deviates(count(1), 0.25) < 4.0, "{} of {n} are 1", count(1));
        assert!(deviates(count(-1), 0.25) < 4.0, "{} of {n} are -1", count(-1));
        // A product of two independent lazy signs has mean 0 and variance 1/4.
        for lag in [1, 3, 4, 8, columns, 2 * columns, columns + 1] {
            let pairs = chi.iter().zip(&chi[lag..]);
            let sum: f64 = pairs.map(|(&a, &b)| f64::from(a * b)).sum();
            assert!(sum.abs() < 4.0 * (n / 4.0).sqrt(), "lag {lag}: {sum}");
        }
    }

    #[test]
    fn coins_decide() {
        let one = Signs::new(1, 5).matrix(100);
        assert_eq!(one, Signs::new(1, 5).matrix(100));
        assert_ne!(one, Signs::new(2, 5).matrix(100));
        // Blocks from the middle on are the same blocks.
        let mut all = [0; 40];
        let mut tail = [0; 20];
        let signs = Signs::new(1, 5);
        signs.fill(0, &mut all);
        signs.fill(2, &mut tail);
        assert_eq!(all[20..], tail);
    }
}

#[cfg(test)]
mod kernel_tests {
    //! The projection kernels against their definition.

    use super::*;
    use slvr_ring::kernels::{Row, project, project_rows};
    use slvr_ring::{Word, Words, each_word};

    fn sample(k: u32, n: usize, seed: u64) -> Words {
        let mut s = seed | 1;
        let xs: Vec<u128> = (0..n)
            .map(|_| {
                s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                u128::from(s ^ s >> 31) << 64 | u128::from(s.rotate_left(32))
            })
            .collect();
        Words::from_u128s(k, &xs)
    }

    /// Against the definition, over every width, with rows and columns that fill no block.
    #[test]
    fn projections() {
        // Rows that fall to each number side by side, columns beyond one part, and more rows than share
        // signs.
        for (k, m, d, tests) in [
            (64, 1, 1, 1),
            (64, 3, 7, 2),
            (64, 5, 513, 9),
            (8, 2, 40, 5),
            (16, 11, 100, 3),
            (32, 4, 1030, 6),
            (128, 6, 70, 4),
            (64, 33, 90, 2),
            (64, 2, 20_000, 3),
            (64, 2, 0, 3),
            (64, 0, 5, 3),
        ] {
            let (x, y) = (sample(k, m * d, 1), sample(k, m * d, 2));
            let signs = Signs::new(99, tests as u64);
            let chi = signs.matrix(d);
            let fill = |block: usize, out: &mut [u8]| signs.fill(block, out);
            let got = project([&x, &y], m, tests, &fill);
            for (got, x) in got.iter().zip([&x, &y]) {
                let mut want = Vec::new();
                for i in 0..m {
                    for t in 0..tests {
                        let terms = (0..d).map(|j| match chi[t * d + j] {
                            0 => 0,
                            1 => x.get(i * d + j),
                            _ => x.get(i * d + j).wrapping_neg(),
                        });
                        want.push(terms.fold(0u128, u128::wrapping_add));
                    }
                }
                assert!(*got == Words::from_u128s(k, &want), "{k} bits, {m} x {d}, {tests} tests");
            }
        }
    }

    /// Rows that are sums of two tensors' rows, some of them in any order, are as the sums projected.
    #[test]
    fn projections_of_sums() {
        for (k, m, d, tests) in [(64, 5, 70, 9), (8, 3, 1, 2), (128, 11, 513, 3), (16, 2, 0, 1)] {
            let (x, y) = (sample(k, m * d, 1), sample(k, m * d, 2));
            let both = each_word!(&x, x => {
                let y: &[_] = Word::of(&y).unwrap();
                Word::wrap(x.iter().zip(y).map(|(a, b)| a.wadd(*b)).collect())
            });
            let signs = Signs::new(7, tests as u64);
            let fill = |block: usize, out: &mut [u8]| signs.fill(block, out);
            let [want] = project([&both], m, tests, &fill);
            let [plain] = project([&x], m, tests, &fill);
            let rows: Vec<Row<'_>> = (0..m)
                .rev()
                .map(|i| Row { x: &x, plus: (i % 2 == 0).then_some(&y), range: i * d..(i + 1) * d })
                .collect();
            let got = project_rows(&rows, k, tests, &fill);
            for (at, i) in (0..m).rev().enumerate() {
                for t in 0..tests {
                    let from = if i % 2 == 0 { &want } else { &plain };
                    assert_eq!(
                        got.get(at * tests + t),
                        from.get(i * tests + t),
                        "{k} bits, row {i}"
                    );
                }
            }
        }
    }
}
