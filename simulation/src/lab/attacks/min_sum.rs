//! Min-sum: the sum of squared distances of u' from the honest updates is at most that of some honest update.
//!
//! Source: Shejwalkar, Houmansadr, NDSS 2021, equation 8, with what [`super::spread`] says. One malicious client alone: as for
//! min-max.

use super::super::knowledge::Knowledge;
use super::super::vectors::{distance_sq, dot};
use super::Attack;
use super::spread::farthest;

pub(super) const ATTACK: Attack = Attack {
    name: "min-sum",
    about: "the same with sums of squared distances",
    source: "Shejwalkar and Houmansadr 2021",
    updates: Some(updates),
    ..Attack::NONE
};

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let sum = |u: &[f32]| k.seen.iter().map(|v| distance_sq(u, v)).sum::<f64>();
    let most = match k.seen {
        [one] => 2.0 * dot(one, one),
        seen => seen.iter().map(|u| sum(u)).fold(0.0, f64::max),
    };
    farthest(k, |u| sum(u) <= most)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;

    #[test]
    fn the_sum_of_distances_is_that_of_an_honest_update() {
        let scene = Scene::new(4, &[]);
        let sum = |u: &[f32]| scene.own.iter().map(|v| distance_sq(u, v)).sum::<f64>();
        let found = sum(&scene.sent(&ATTACK)[0]);
        let most = scene.own.iter().map(|u| sum(u)).fold(0.0, f64::max);
        assert!(found <= most && found > 0.999 * most, "{found} of {most}");
    }
}
