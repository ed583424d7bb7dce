//! Random variates from a seed, for simulations: never for shares or masks.
//!
//! A generator is keyed by (seed, purpose, two indices), so what one client draws in one round
//! does not depend on what others drew before it, nor on threads.

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};

/// What a stream of random numbers is for: streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    Init = 1,
    /// Order of the samples in training.
    Order = 2,
    /// Who gets which samples.
    Split = 3,
    Poisoners = 4,
    /// The noise a poisoner adds.
    Poison = 5,
    Validation = 6,
    Shift = 8,
    /// What the server draws.
    Server = 9,
    /// Who takes part in a round.
    Present = 10,
    /// Order of the samples before the first round.
    Pretrain = 11,
    /// Anything else, such as public coins of a simulated round. Whoever draws chooses the indices. Of the lab these are
    /// [2, 0] for lots, [3, 0] for the direction along which influence is measured, and [0, 2] for the vector that tells
    /// a divisor. Recorded results depend on them.
    Caller = 7,
}

pub struct Random(ChaCha12Rng);

impl Random {
    /// The generator of this key.
    pub fn new(seed: u64, purpose: Purpose, indices: [u64; 2]) -> Self {
        let mut key = [0; 32];
        let words = [seed, purpose as u64, indices[0], indices[1]];
        for (bytes, word) in key.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Random(ChaCha12Rng::from_seed(key))
    }

    /// Uniform on [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on (0, 1]: has a logarithm.
    fn positive(&mut self) -> f64 {
        1.0 - self.uniform()
    }

    /// Uniform on 0 .. n, without bias.
    ///
    /// # Panics
    /// If n is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        // The largest multiple of n that fits; what lies above would favour small results.
        let end = u64::MAX - u64::MAX % n;
        loop {
            let word = self.0.next_u64();
            if word < end {
                return (word % n) as usize;
            }
        }
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.positive().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// `k` distinct numbers of 0 .. n, each set equally likely, in random order; all n if k > n.
    pub fn choose(&mut self, k: usize, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        self.shuffle(&mut all);
        all.truncate(k);
        all
    }

    /// The logarithm of a gamma variate of this shape > 0 and scale 1.
    ///
    /// G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS
    /// 26(3), 2000, for shape + 1; times U^(1/shape) this is a variate for shape (their section
    /// 6). In logarithms, because for small shapes the variate itself underflows.
    pub fn log_gamma(&mut self, shape: f64) -> f64 {
        let d = shape + 1.0 - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.positive().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d.ln() + v.ln() + self.positive().ln() / shape;
            }
        }
    }

    /// A point of the simplex of n entries, symmetric Dirichlet with this concentration > 0.
    pub fn dirichlet(&mut self, alpha: f64, n: usize) -> Vec<f64> {
        let logs: Vec<f64> = (0..n).map(|_| self.log_gamma(alpha)).collect();
        let max = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut point: Vec<f64> = logs.iter().map(|log| (log - max).exp()).collect();
        let sum: f64 = point.iter().sum();
        point.iter_mut().for_each(|p| *p /= sum);
        point
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(index: u64) -> Random {
        Random::new(1, Purpose::Caller, [index, 0])
    }

    fn moments(draws: usize, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let xs: Vec<f64> = (0..draws).map(|_| draw()).collect();
        let mean = xs.iter().sum::<f64>() / draws as f64;
        (mean, xs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws as f64)
    }

    #[test]
    fn keys_separate_streams() {
        let first = |seed, purpose, indices| Random::new(seed, purpose, indices).0.next_u64();
        let words = [
            first(1, Purpose::Init, [0, 0]),
            first(2, Purpose::Init, [0, 0]),
            first(1, Purpose::Order, [0, 0]),
            first(1, Purpose::Init, [1, 0]),
            first(1, Purpose::Init, [0, 1]),
        ];
        for (i, a) in words.iter().enumerate() {
            assert!(words[..i].iter().all(|b| a != b));
        }
        assert_eq!(words[0], first(1, Purpose::Init, [0, 0]));
    }

    #[test]
    fn moments_of_uniform_normal_and_gamma() {
        let n = 40_000;
        let near = |x: f64, y: f64, what| assert!((x - y).abs() < 0.05 * y.max(0.6), "{what}: {x}");
        let mut r = random(0);
        let (mean, var) = moments(n, || r.uniform());
        near(mean, 0.5, "uniform mean");
        near(12.0 * var, 1.0, "uniform variance");
        let (mean, var) = moments(n, || r.normal());
        near(mean, 0.0, "normal mean");
        near(var, 1.0, "normal variance");
        // A gamma variate of scale 1 has mean and variance equal to its shape.
        for shape in [0.4, 1.0, 3.5] {
            let (mean, var) = moments(n, || r.log_gamma(shape).exp());
            near(mean, shape, "gamma mean");
            near(var, shape, "gamma variance");
        }
    }

    #[test]
    fn dirichlet_is_on_the_simplex_and_spreads_with_alpha() {
        let mut r = random(1);
        // Var(p_i) = (1/n)(1 - 1/n) / (n alpha + 1).
        for alpha in [0.001, 0.5, 1.0, 100.0] {
            let (mean, var) = moments(4000, || {
                let p = r.dirichlet(alpha, 10);
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                p[3]
            });
            let expected = 0.09 / (10.0 * alpha + 1.0);
            assert!((mean - 0.1).abs() < 0.02, "mean {mean}");
            assert!((var / expected - 1.0).abs() < 0.2, "variance {var}, expected {expected}");
        }
    }

    #[test]
    fn choose_draws_distinct_members_evenly() {
        let mut r = random(2);
        let mut counts = [0; 6];
        for _ in 0..6000 {
            let mut drawn = r.choose(2, 6);
            assert!(drawn[0] != drawn[1]);
            drawn.iter().for_each(|&i| counts[i] += 1);
            drawn.clear();
        }
        assert!(counts.iter().all(|&c| (1800..2200).contains(&c)), "{counts:?}");
        assert_eq!(r.choose(9, 3).len(), 3);
    }
}
