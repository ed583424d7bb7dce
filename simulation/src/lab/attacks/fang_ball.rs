//! Fang et al. against a ball around a reference g: u' = g - s (tau - epsilon) / sqrt d, with tau = lambda |g|, or the parameter
//! `tau` itself where the check has one.
//!
//! Source: the framework of Fang, Cao, Jia, Gong, USENIX Security 2020, with the paper's closed form (appendix, "Adaptive Attack
//! to Norm bound and Norm ball"), whose min(tau - epsilon, (tau - epsilon) / sqrt d) is the second as d is at least 1.

use super::super::knowledge::{INSIDE, Knowledge};
use super::super::vectors::{norm, plus};
use super::{Attack, Insight};

pub(super) const ATTACK: Attack = Attack {
    name: "fang-ball",
    about: "the same, just inside a ball around the reference update",
    source: "Fang et al. 2020, the paper's appendix",
    insight: Insight::Parameters,
    against: "the distance from a reference update",
    updates: Some(updates),
    ..Attack::NONE
};

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let (s, centre) = (k.direction(), k.centre());
    let radius = k.param("tau");
    let tau = radius.unwrap_or_else(|| k.param("lambda").unwrap_or(1.0) * norm(&centre)) * INSIDE;
    let length = norm(&s).max(1.0);
    k.all(plus(&centre, -tau / length, &s))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;
    use crate::lab::vectors::dot;

    #[test]
    fn the_norm_ball_attacker_stays_inside_the_ball() {
        let scene = Scene::new(2, &[("lambda", 0.8)]);
        let centre = scene.reference.as_ref().expect("a reference");
        let tau = 0.8 * norm(centre);
        for u in scene.sent(&ATTACK) {
            let off: Vec<f32> = u.iter().zip(centre).map(|(u, c)| u - c).collect();
            assert!(norm(&off) < tau && norm(&off) > 0.99 * tau, "{} of {tau}", norm(&off));
            assert!(dot(&off, &scene.direction()) < 0.0);
        }
    }
}
