//! SIGNS: lazy signs from public coins, for random inner products; a local and public operation.
//!
//! chi is -1, 0, 1 with probabilities 1/4, 1/2, 1/4: the difference of two bits, b - c. For test t
//! and the block of columns 8 i .. 8 i + 8 the generator (ChaCha12 keyed by the coins) gives two
//! bytes. The low half of the first holds b of the block's first four columns, the high half their
//! c; the second byte the same of the other four. So sums over four columns are found by
//! looking up two entries of a table ([`crate::ring::kernels::project`]).
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
