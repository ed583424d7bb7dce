//! What min-max and min-sum share: u' = mean + gamma p, with the largest gamma that a condition allows.
//!
//! Source: Shejwalkar, Houmansadr, "Manipulating the Byzantine: Optimizing Model Poisoning Attacks and Defenses for Federated
//! Learning", NDSS 2021, section IV and Algorithm 1, without knowledge of the others: mean and distances are those of what
//! the malicious would have sent. p is the inverse unit vector of the mean; with two malicious or more, of the inverse standard
//! deviations, which the source finds to be the strongest, if that is not 0.

use super::super::knowledge::Knowledge;
use super::super::vectors::{deviation, norm, plus, times};

/// Gamma begins here and is found up to the precision, as in the source.
const START: f64 = 10.0;
const PRECISION: f64 = 1e-5;

pub(super) fn farthest(k: &Knowledge<'_>, allowed: impl Fn(&[f32]) -> bool) -> Vec<Vec<f32>> {
    let mean = k.estimate();
    let spread = deviation(k.seen);
    let p = match norm(&spread) {
        length if length > 0.0 => times(&spread, -1.0),
        _ => times(&mean, -1.0 / norm(&mean).max(f64::MIN_POSITIVE)),
    };
    let (mut gamma, mut step, mut found) = (START, START, 0.0);
    while step > PRECISION {
        step /= 2.0;
        if allowed(&plus(&mean, gamma, &p)) {
            found = gamma;
            gamma += step;
        } else {
            gamma -= step;
        }
    }
    k.all(plus(&mean, found, &p))
}
