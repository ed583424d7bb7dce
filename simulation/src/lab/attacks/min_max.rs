//! Min-max: the largest distance of u' from an honest update is at most the largest distance of two honest updates.
//!
//! Source: Shejwalkar, Houmansadr, NDSS 2021, equation 7, with what [`super::spread`] says. One malicious client alone has no
//! distances to compare with: as if others were orthogonal to its own and as long.

use super::super::knowledge::Knowledge;
use super::super::vectors::{distance_sq, dot};
use super::Attack;
use super::spread::farthest;

pub(super) const ATTACK: Attack = Attack {
    name: "min-max",
    about: "as far from the mean as two honest updates are from each other",
    source: "Shejwalkar and Houmansadr 2021",
    updates: Some(updates),
    ..Attack::NONE
};

pub(super) fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let largest = |u: &[f32]| k.seen.iter().map(|v| distance_sq(u, v)).fold(0.0, f64::max);
    let apart = match k.seen {
        [one] => 2.0 * dot(one, one),
        seen => seen.iter().map(|u| largest(u)).fold(0.0, f64::max),
    };
    farthest(k, |u| largest(u) <= apart)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;

    #[test]
    fn the_largest_distance_is_that_of_two_honest_updates() {
        let scene = Scene::new(4, &[]);
        let largest = |u: &[f32]| scene.own.iter().map(|v| distance_sq(u, v)).fold(0.0, f64::max);
        let found = largest(&scene.sent(&ATTACK)[0]);
        let most = scene.own.iter().map(|u| largest(u)).fold(0.0, f64::max);
        assert!(found <= most && found > 0.999 * most, "{found} of {most}");
    }
}
