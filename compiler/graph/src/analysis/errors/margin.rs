//! Margins in the units of the source.
//!
//! A pass may compare squares in place of roots, and values without a common factor. A margin of what is
//! compared then says little to people who wrote the roots.

/// The margin of the sides of the source, from that of what is compared. `lows` are the smallest values of the
/// compared sides; each step, the last first, takes the root of a side, or not, and multiplies it.
pub(super) fn in_source(margin: f64, lows: &[f64], steps: &[(f64, bool)]) -> f64 {
    let mut lows: Vec<f64> = lows.iter().map(|x| x.max(0.0)).collect();
    let mut margin = margin;
    for (factor, root) in steps.iter().rev() {
        if *root {
            // The smaller root is at least the smallest of all: sqrt(a^2 + margin) - a falls with a.
            let least = lows.iter().copied().reduce(f64::min).unwrap_or(0.0);
            let both = margin / (least.sqrt() + (least + margin).sqrt()).max(f64::MIN_POSITIVE);
            margin = lows.iter().map(|&low| of_roots(margin, low)).fold(both, f64::min);
            lows.iter_mut().for_each(|low| *low = low.sqrt());
        }
        margin *= factor;
        lows.iter_mut().for_each(|low| *low *= factor);
    }
    margin
}

/// How far two roots may be apart whose squares are no further apart than a margin, if one of the squares is at
/// least `low`: b - sqrt(b^2 - margin) falls with b.
fn of_roots(margin: f64, low: f64) -> f64 {
    if low >= margin && low.is_finite() {
        // The same as sqrt(low) - sqrt(low - margin), without cancellation.
        margin / (low.sqrt() + (low - margin).sqrt()).max(f64::MIN_POSITIVE)
    } else {
        margin.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Roots that are further apart than the margin have squares that are further apart than the squares'
    /// margin; and some that are hardly nearer have not.
    #[test]
    fn margins_of_roots_are_safe_and_tight() {
        for margin in [1e-4, 0.01, 1.0, 9.0] {
            for low in [0.0, 0.25, 4.0, 16.0] {
                let source = in_source(margin, &[low, low], &[(1.0, true)]);
                let mut tight = 0f64;
                for i in 0..2000 {
                    let a = f64::sqrt(low) + f64::from(i) / 400.0;
                    // The furthest root whose square is within the margin.
                    let b = (a * a + margin).sqrt();
                    assert!(b - a <= source + 1e-9, "{margin} {low}: {a} {b} {source}");
                    tight = tight.max(b - a);
                }
                assert!(tight >= source * 0.999, "{margin} {low}: {tight} {source}");
                assert_eq!(in_source(margin, &[low], &[(1.5, true)]), 1.5 * source);
            }
        }
        assert_eq!(in_source(0.5, &[1.0, 1.0], &[(3.0, false)]), 1.5);
        assert_eq!(in_source(0.5, &[1.0, 1.0], &[]), 0.5);
        // A root of a root.
        let twice = in_source(1.0, &[16.0], &[(1.0, true), (1.0, true)]);
        assert!(
            (twice - in_source(in_source(1.0, &[16.0], &[(1.0, true)]), &[4.0], &[(1.0, true)]))
                .abs()
                < 1e-12
        );
    }
}
