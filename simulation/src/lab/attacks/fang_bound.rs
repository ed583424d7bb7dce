//! Fang et al. against a bound on the length: u' = -s (tau - epsilon) / sqrt d, of length just below tau.
//!
//! Source: the framework of Fang, Cao, Jia, Gong, USENIX Security 2020, with the paper's closed form (appendix, "Adaptive Attack
//! to Norm bound"); s is estimated from what the malicious would have sent (partial knowledge). tau is lambda times the
//! length of the server's update where the check has one. Otherwise it is lambda times the median of all lengths, which
//! the paper's baseline tells every client. A bound on the largest coordinate (parameter `bound`) is reached in every
//! coordinate. Where each tensor has a bound of its own, twice the length of that tensor of the server's update, every tensor is
//! just below its bound.

use super::super::knowledge::{INSIDE, Knowledge};
use super::super::vectors::{norm, times};
use super::{Attack, Insight};

pub(super) const ATTACK: Attack = Attack {
    name: "fang-bound",
    about: "against the direction of training, just inside a norm bound, by a closed form in its parameters",
    source: "Fang et al. 2020, the paper's appendix",
    insight: Insight::Threshold,
    against: "the length of an update",
    updates: Some(updates),
    ..Attack::NONE
};

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let s = k.direction();
    if let Some(bound) = k.param("bound") {
        return k.all(times(&s, -bound * INSIDE));
    }
    if let (Some(tensors), Some(reference)) = (k.bounded, k.reference) {
        let mut update = s;
        for tensor in tensors {
            let (part, tau) = (&mut update[tensor.clone()], 2.0 * norm(&reference[tensor.clone()]));
            let length = norm(part);
            let by = if length > 0.0 { -tau * INSIDE / length } else { 0.0 };
            part.copy_from_slice(&times(part, by));
        }
        return k.all(update);
    }
    let lambda = k.param("lambda").unwrap_or(1.0);
    let tau = match k.reference {
        Some(reference) => lambda * norm(reference),
        None => k.median_bound(lambda),
    };
    // sqrt d, if no entry of s is 0.
    let length = norm(&s);
    k.all(times(&s, if length > 0.0 { -tau * INSIDE / length } else { 0.0 }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;
    use crate::lab::vectors::signs;

    #[test]
    fn the_norm_bound_attacker_stays_just_inside_the_bound_and_goes_against_the_direction() {
        let mut scene = Scene::new(2, &[("lambda", 1.5)]);
        let s = scene.direction();
        let check = |sent: &[Vec<f32>], tau: f64| {
            for u in sent {
                assert!(norm(u) < tau && norm(u) > 0.99 * tau, "{} of {tau}", norm(u));
                assert!(signs(u).iter().zip(&s).all(|(u, s)| *u == -s));
            }
        };
        // Against the public bound.
        let tau = 1.5 * norm(scene.reference.as_ref().expect("a reference"));
        check(&scene.sent(&ATTACK), tau);
        // Against the median of all that are sent, itself included.
        scene.reference = None;
        let sent = scene.sent(&ATTACK);
        let mut sizes: Vec<f64> = scene.honest.iter().chain(&sent).map(|u| norm(u)).collect();
        sizes.sort_by(f64::total_cmp);
        check(&sent, 1.5 * sizes[4]);
        // Against a bound on the largest coordinate.
        scene.params = [("bound".to_string(), 0.5)].into();
        let largest = |sent: &[f32]| sent.iter().map(|x| x.abs()).fold(0.0, f32::max);
        let found = largest(&scene.sent(&ATTACK)[0]);
        assert!(found < 0.5 && found > 0.49, "{found}");
        // Against a bound for each tensor.
        let mut scene = Scene::new(2, &[]);
        scene.bounded = Some(vec![0..72, 72..80]);
        let reference = scene.reference.clone().expect("a reference");
        let sent = &scene.sent(&ATTACK)[0];
        for tensor in [0..72, 72..80] {
            let tau = 2.0 * norm(&reference[tensor.clone()]);
            let length = norm(&sent[tensor.clone()]);
            assert!(length < tau && length > 0.99 * tau, "{length} of {tau}");
        }
    }

    #[test]
    fn a_bound_below_the_median_is_met_from_below() {
        let mut scene = Scene::new(2, &[("lambda", 0.9)]);
        scene.reference = None;
        let sent = scene.sent(&ATTACK);
        let mut sizes: Vec<f64> = scene.honest.iter().chain(&sent).map(|u| norm(u)).collect();
        sizes.sort_by(f64::total_cmp);
        let tau = 0.9 * sizes[4];
        assert!(norm(&sent[0]) < tau && norm(&sent[0]) > 0.99 * tau, "{} of {tau}", norm(&sent[0]));
    }
}
