//! What min-max and min-sum share: u' = mean + gamma p, with the largest gamma with which u' is as close to the honest
//! updates as one of them.
//!
//! Source: Shejwalkar, Houmansadr, "Manipulating the Byzantine: Optimizing Model Poisoning Attacks and Defenses for Federated
//! Learning", NDSS 2021, section IV and Algorithm 1, without knowledge of the others: mean and distances are those of what
//! the malicious would have sent. p is the inverse unit vector of the mean; with two malicious or more, of the inverse standard
//! deviations, which the source finds to be the strongest, if that is not 0. One malicious client alone has no distances
//! to compare with: as if others were orthogonal to its own and as long.

use super::super::knowledge::Knowledge;
use super::super::vectors::{deviation, distance_sq, dot, norm, plus, times};

/// Gamma begins here and is found up to the precision, as in the source.
const START: f64 = 10.0;
const PRECISION: f64 = 1e-5;

/// `fold` makes one number of an update's squared distances from the honest ones.
pub(super) fn farthest(
    k: &Knowledge<'_>,
    fold: fn(&mut dyn Iterator<Item = f64>) -> f64,
) -> Vec<Vec<f32>> {
    let distance = |u: &[f32]| fold(&mut k.seen.iter().map(|v| distance_sq(u, v)));
    let most = match k.seen {
        [one] => 2.0 * dot(one, one),
        seen => seen.iter().map(|u| distance(u)).fold(0.0, f64::max),
    };
    let mean = k.estimate();
    let spread = deviation(k.seen);
    let p = match norm(&spread) {
        length if length > 0.0 => times(&spread, -1.0),
        _ => times(&mean, -1.0 / norm(&mean).max(f64::MIN_POSITIVE)),
    };
    let (mut gamma, mut step, mut found) = (START, START, 0.0);
    while step > PRECISION {
        step /= 2.0;
        if distance(&plus(&mean, gamma, &p)) <= most {
            found = gamma;
            gamma += step;
        } else {
            gamma -= step;
        }
    }
    k.all(plus(&mean, found, &p))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::super::{min_max, min_sum};
    use super::*;

    #[test]
    fn the_distance_is_that_of_an_honest_update() {
        let scene = Scene::new(4, &[]);
        let apart = |u: &[f32]| scene.own.iter().map(|v| distance_sq(u, v)).collect::<Vec<f64>>();
        let largest = |u: &[f32]| apart(u).into_iter().fold(0.0, f64::max);
        let sum = |u: &[f32]| apart(u).iter().sum::<f64>();
        let [largest, sum] = [&largest as &dyn Fn(&[f32]) -> f64, &sum];
        for (attack, distance) in [(min_max::ATTACK, largest), (min_sum::ATTACK, sum)] {
            let found = distance(&scene.sent(&attack)[0]);
            let most = scene.own.iter().map(|u| distance(u)).fold(0.0, f64::max);
            assert!(found <= most && found > 0.999 * most, "{}: {found} of {most}", attack.name);
        }
    }
}
