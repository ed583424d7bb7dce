//! Inner product manipulation: u' = -epsilon times the mean, so that the aggregate points away from it.
//!
//! Source: Xie, Koyejo, Gupta, "Fall of Empires: Breaking Byzantine-tolerant SGD by Inner Product Manipulation", UAI 2020,
//! section 4, with the mean of what the malicious would have sent. A small epsilon hides among short updates, a large one
//! outweighs the mean: the source has both.

use super::super::knowledge::Knowledge;
use super::super::vectors::times;
use super::Attack;

pub(super) const ATTACK: Attack = Attack {
    name: "ipm",
    about: "`epsilon` times the mean, backwards",
    source: "Xie et al. 2020",
    params: &[("epsilon", 0.5)],
    updates: Some(updates),
    ..Attack::NONE
};

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    k.all(times(&k.estimate(), -k.value("epsilon")))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;

    #[test]
    fn the_mean_is_turned_around_and_shortened() {
        let scene = Scene::new(2, &[]);
        let sent = &scene.sent(&ATTACK)[0];
        for ((sent, a), b) in sent.iter().zip(&scene.own[0]).zip(&scene.own[1]) {
            assert!((sent + 0.25 * (a + b)).abs() < 1e-7);
        }
    }
}
