//! From what one run lets through to epsilon and delta of several.
//!
//! Losses are kept as Rényi divergences, which add up over runs and over the noises of one run, also where what a later
//! one computes follows from what an earlier one revealed (Mironov, CSF 2017).
//!
//! - The discrete Gaussian: rho = D^2 / (2 sigma^2) for an L2 sensitivity of D, and alpha rho at every order alpha
//!   (Canonne, Kamath and Steinke, NeurIPS 2020, Theorem 4 and its version for vectors).
//! - The discrete Laplace distribution for an L1 sensitivity of k units: exactly, for a single entry that changes by
//!   k. The exponential of the divergence times alpha - 1 is a sum of two exponentials in k with positive weights, so
//!   the divergence is convex in k and 0 at 0: no change of several entries that add up to k has a larger one.
//! - To epsilon and delta at every order: Proposition 12 of Canonne, Kamath and Steinke, the best of all orders.
//!   This is the conversion of Google's `dp-accounting` and of Opacus.
//!
//! A sampler is off by a statistical distance, and a run may go wrong with a small probability. If a mechanism is
//! (epsilon, delta)-private, one at distance t from it is (epsilon, delta + (1 + e^epsilon) t)-private. What this
//! takes is taken off the delta that is asked for before the conversion.

use serde::Serialize;

/// What one run lets through.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Loss {
    /// Of all Gaussian noises together: D^2 / (2 sigma^2).
    pub rho: f64,
    /// Of each Laplace noise its scale and the L1 sensitivity, in units of the grid.
    pub laplace: Vec<(f64, f64)>,
    /// The statistical distance of all noise from its law, and the probability that anything else goes wrong.
    pub distance: f64,
}

/// Orders at which divergences are converted: alpha - 1 from 2^-10 to 2^20.
const ORDERS: (i32, i32) = (-10, 20);
/// Orders tried in each octave.
const STEPS: i32 = 16;

impl Loss {
    /// The Rényi divergence of order alpha > 1.
    fn divergence(&self, alpha: f64) -> f64 {
        let laplace = self.laplace.iter().map(|&(b, k)| laplace(b, k, alpha));
        alpha * self.rho + laplace.sum::<f64>()
    }

    /// The pure epsilon of a run, if all its noise is Laplace noise.
    pub fn pure(&self) -> Option<f64> {
        (self.rho == 0.0).then(|| self.laplace.iter().map(|(b, k)| k / b).sum())
    }

    /// Epsilon of so many runs at a delta; `None` if the distance alone is more than the delta allows.
    pub fn epsilon(&self, rounds: u64, delta: f64) -> Option<f64> {
        let distance = self.distance * rounds as f64;
        let mut left = delta;
        let mut epsilon = 0.0;
        // Epsilon grows with what the distance takes off, and what it takes off with epsilon.
        for _ in 0..64 {
            epsilon = self.of_law(rounds, left)?;
            let next = delta - (1.0 + epsilon.exp()) * distance;
            if next >= left {
                return Some(epsilon);
            }
            // A little less than needed, so that this ends.
            left = next - (left - next) * 1e-3;
            if left.is_nan() || left <= 0.0 {
                return None;
            }
        }
        (left + (1.0 + epsilon.exp()) * distance <= delta).then_some(epsilon)
    }

    /// The same of noise that is exactly of its law.
    pub fn of_law(&self, rounds: u64, delta: f64) -> Option<f64> {
        let rounds = rounds as f64;
        let at = |alpha: f64| {
            let beyond = alpha - 1.0;
            let cost = (delta.ln() + alpha.ln()) / beyond;
            rounds * self.divergence(alpha) + (-1.0 / alpha).ln_1p() - cost
        };
        let first = ORDERS.0 * STEPS;
        let orders =
            (first..=ORDERS.1 * STEPS).map(|i| 1.0 + (f64::from(i) / f64::from(STEPS)).exp2());
        let best = orders.min_by(|a, b| at(*a).total_cmp(&at(*b)))?;
        // The best order is between its neighbours: thirds of the interval.
        let ratio = (1.0 / f64::from(STEPS)).exp2();
        let (mut lo, mut hi) = (1.0 + (best - 1.0) / ratio, 1.0 + (best - 1.0) * ratio);
        for _ in 0..60 {
            let (a, b) = (lo + (hi - lo) / 3.0, hi - (hi - lo) / 3.0);
            if at(a) < at(b) { hi = b } else { lo = a }
        }
        let epsilon = at(best).min(at((lo + hi) / 2.0)).max(0.0);
        let pure = self.pure().map_or(f64::INFINITY, |p| p * rounds);
        let epsilon = epsilon.min(pure);
        epsilon.is_finite().then_some(epsilon)
    }
}

/// The Rényi divergence of two-sided geometric distributions that are k apart, with p = e^(-1 / b).
fn laplace(b: f64, k: f64, alpha: f64) -> f64 {
    let (t, beyond) = (1.0 / b, alpha - 1.0);
    // 1 - p and 1 - r, with r = p^(2 alpha - 1).
    let (one_p, one_r) = (-(-t).exp_m1(), -(-t * (2.0 * alpha - 1.0)).exp_m1());
    // p^alpha over p^-beyond between the two centres, and outside.
    let near = 1.0 / one_p + (1.0 - one_r) / one_r;
    let far = (one_r - one_p) / (one_p * one_r);
    let norm = (one_p / (2.0 - one_p)).ln();
    let (x, y) = (near.ln() + beyond * k * t, far.ln() - alpha * k * t);
    let sum = x.max(y) + (-(x - y).abs()).exp().ln_1p();
    ((norm + sum) / beyond).max(0.0).min(k * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaussian(multiplier: f64) -> Loss {
        Loss { rho: 0.5 / (multiplier * multiplier), ..Loss::default() }
    }

    /// By summing over all values, as far as floats have them.
    #[test]
    fn divergences_of_laplace_noise_are_those_of_its_probabilities() {
        for (b, k, alpha) in [(3.0, 2.0, 2.0), (10.0, 7.0, 1.5), (2.5, 4.0, 5.0), (6.0, 1.0, 1.01)]
        {
            let p = (-1.0f64 / b).exp();
            let weight = (1.0 - p) / (1.0 + p);
            let at = |x: f64| weight * (-x.abs() / b).exp();
            let sum: f64 = (-3000..3000)
                .map(|x| at(f64::from(x)).powf(alpha) * at(f64::from(x) - k).powf(1.0 - alpha))
                .filter(|x| x.is_finite())
                .sum();
            let found = laplace(b, k, alpha);
            assert!((found - sum.ln() / (alpha - 1.0)).abs() < 1e-6, "{b} {k} {alpha}: {found}");
        }
    }

    /// Figures of `dp_accounting` 0.6 (Google, its RDP accountant) and of Opacus 1.6 (equal to them), for orders
    /// 1 + 2^(i / 16); of Laplace noise of `dp_accounting` alone, which takes it as continuous.
    #[test]
    fn epsilons_are_those_of_google_and_opacus() {
        let cases = [
            (1.0, 1, 1e-5, 4.728969179570656),
            (7.0, 100, 1e-5, 7.163343790390393),
            (2.0, 10, 1e-6, 8.847614515836275),
            (4.0, 1000, 1e-5, 67.42246430434439),
            (20.0, 1000, 1e-7, 9.54812106855091),
        ];
        for (z, rounds, delta, wanted) in cases {
            let found = gaussian(z).epsilon(rounds, delta).expect("an epsilon");
            // Orders are taken more finely here.
            assert!(found <= wanted + 1e-12 && found > wanted * (1.0 - 1e-3), "{z}: {found}");
        }
        let cases = [
            (1.0, 1, 1e-5, 0.9999800011254464),
            (10.0, 100, 1e-5, 4.532882333811574),
            (5.0, 10, 1e-6, 1.998980684784898),
            (50.0, 1000, 1e-5, 2.7977660292512194),
        ];
        for (b, rounds, delta, wanted) in cases {
            // So many units that the discrete distribution is as the continuous one.
            let units = 2f64.powi(20);
            let loss = Loss { laplace: vec![(b * units, units)], ..Loss::default() };
            let found = loss.epsilon(rounds, delta).expect("an epsilon");
            assert!((found / wanted - 1.0).abs() < 1e-3, "{b}: {found}");
            assert!(found <= rounds as f64 / b);
        }
    }

    #[test]
    fn distances_are_taken_off_delta() {
        let loss = Loss { distance: 1e-9, ..gaussian(4.0) };
        let (with, without) = (loss.epsilon(10, 1e-5), gaussian(4.0).epsilon(10, 1e-5));
        let (with, without) = (with.expect("an epsilon"), without.expect("an epsilon"));
        assert!(with > without, "{with} {without}");
        // What is left of delta after the distance allows this epsilon, and not much less.
        let left = 1e-5 - (1.0 + with.exp()) * 1e-8;
        let least = gaussian(4.0).epsilon(10, left).expect("an epsilon");
        assert!(with >= least && with < least * 1.01, "{with} {least}");
        assert_eq!(Loss { distance: 1e-6, ..gaussian(4.0) }.epsilon(10, 1e-5), None);
    }
}
