//! Confidence intervals of a share, from how often something was seen.

use serde::Serialize;

/// A share that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// So often it was seen.
    pub seen: u64,
    /// Of so many.
    pub of: u64,
    /// Confidence of the interval.
    pub confidence: f64,
    pub low: f64,
    pub high: f64,
}

impl Measured {
    /// The interval of Clopper and Pearson (1934): whatever the true share of independent draws is, the interval that
    /// is computed from them contains it with at least this confidence. Nothing seen of nothing says nothing: 0 to 1.
    pub fn clopper_pearson(seen: u64, of: u64, confidence: f64) -> Measured {
        let seen = seen.min(of);
        let tail = (1.0 - confidence) / 2.0;
        // The smallest share for which so many or more are seen with this probability, and the largest for which so few
        // or fewer are.
        let low = match seen {
            0 => 0.0,
            _ => share_with(|p| at_least(seen, of, p), tail),
        };
        let high = match of - seen {
            0 => 1.0,
            missed => 1.0 - share_with(|p| at_least(missed, of, p), tail),
        };
        Measured { seen, of, confidence, low, high }
    }
}

/// The share at which a probability that grows with it reaches `wanted`.
fn share_with(probability: impl Fn(f64) -> f64, wanted: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if probability(middle) < wanted { low = middle } else { high = middle }
    }
    low
}

/// P(X >= k) of n draws of probability p.
fn at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if p <= 0.0 || k > n {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    // From the term that is nearest to the mean outwards, on the side without the mean.
    if (k as f64) > n as f64 * p {
        outwards(k, n, p)
    } else {
        1.0 - outwards(n - k + 1, n, 1.0 - p)
    }
}

/// P(X >= k) for k above the mean: terms only get smaller.
fn outwards(k: u64, n: u64, p: f64) -> f64 {
    if k > n {
        return 0.0;
    }
    let log = log_choose(n, k) + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p();
    let (mut term, mut sum) = (1.0, 1.0);
    for j in k..n {
        term *= (n - j) as f64 / (j + 1) as f64 * p / (1.0 - p);
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    (log + sum.ln()).exp().min(1.0)
}

/// Below this ln n! is added up; Stirling's series for larger n is as exact as floating point.
const FEW: u64 = 128;

/// ln of n over k.
fn log_choose(n: u64, k: u64) -> f64 {
    let k = k.min(n - k);
    if k < FEW {
        return (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum();
    }
    // The rest of the series, after the terms that are put together below.
    let rest = |n: f64| 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3));
    let (n, k, l) = (n as f64, k as f64, (n - k) as f64);
    let main = k * (n / k).ln() + l * (n / l).ln();
    main + 0.5 * (n / (std::f64::consts::TAU * k * l)).ln() + rest(n) - rest(k) - rest(l)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() < 5e-7
    }

    /// Stirling's series, where it begins, and far beyond.
    #[test]
    fn binomial_coefficients() {
        for n in [2 * FEW, 1000, 100_000] {
            for k in [FEW, n / 3, n / 2] {
                let k = k.clamp(FEW, n / 2);
                let sum: f64 = (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum();
                assert!((log_choose(n, k) - sum).abs() < 1e-12 * sum, "{n} over {k}");
            }
        }
        // No longer than that of few.
        let m = Measured::clopper_pearson(1 << 40, 1 << 41, 0.95);
        assert!(m.low < 0.5 && 0.5 < m.high && m.high - m.low < 1e-5, "{m:?}");
    }

    /// Figures of tables of the interval, and what has a closed form.
    #[test]
    fn known_intervals() {
        let of = |seen, of, confidence| {
            let m = Measured::clopper_pearson(seen, of, confidence);
            (m.low, m.high)
        };
        // All of n: the lower end is (alpha / 2)^(1 / n).
        for n in [1u64, 10, 1000, 100_000] {
            let (low, high) = of(n, n, 0.99);
            assert!(near(low, 0.005f64.powf(1.0 / n as f64)) && high == 1.0, "{n}: {low}");
            let (none, upper) = of(0, n, 0.99);
            assert!(none == 0.0 && near(upper, 1.0 - low), "{n}: {upper}");
        }
        // 81 of 263, 95 %.
        let (low, high) = of(81, 263, 0.95);
        assert!((low - 0.2527).abs() < 1e-4 && (high - 0.3676).abs() < 1e-4, "{low} {high}");
        // 5 of 10, 95 %: 0.1871 to 0.8129.
        let (low, high) = of(5, 10, 0.95);
        assert!((low - 0.1871).abs() < 1e-4 && (high - 0.8129).abs() < 1e-4, "{low} {high}");
        assert_eq!(of(0, 0, 0.95), (0.0, 1.0));
    }

    /// At its ends the binomial tails are what they are said to be, also for many draws.
    #[test]
    fn ends_have_their_tails() {
        for (seen, n) in [(3, 7), (90, 100), (999, 1000), (49_990, 50_000), (1, 2_000)] {
            let m = Measured::clopper_pearson(seen, n, 0.95);
            let (low, high) = (at_least(seen, n, m.low), 1.0 - at_least(seen + 1, n, m.high));
            assert!(near(low, 0.025) && near(high, 0.025), "{seen} of {n}: {low} {high}");
            assert!(m.low < seen as f64 / n as f64 && m.high > seen as f64 / n as f64);
        }
    }

    /// The interval contains the true share at least as often as it says: all outcomes, weighted.
    #[test]
    fn coverage_is_at_least_the_confidence() {
        let n = 25;
        for p in [0.02, 0.3, 0.5, 0.9, 0.99] {
            let covers = |k: u64| {
                let m = Measured::clopper_pearson(k, n, 0.9);
                (m.low <= p && p <= m.high) as u64 as f64
            };
            let weight = |k: u64| at_least(k, n, p) - at_least(k + 1, n, p);
            let all: f64 = (0..=n).map(|k| weight(k) * covers(k)).sum();
            assert!(all >= 0.9 - 1e-9, "{p}: {all}");
        }
    }
}
