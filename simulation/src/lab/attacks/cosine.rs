//! Against checks of the cosine with a reference g: the update that moves the aggregate the most against the direction of
//! training s, of all that count.
//!
//! Source: the adaptive attack of Cao, Fang, Liu, Gong, "FLTrust", NDSS 2021, section V, which the paper follows, under partial
//! knowledge. They search with zeroth-order steps. The objective depends only on how an update lies to g and to s, and the
//! best one lies in their plane: u' = r (cos(t) g + sin(t) n), where n is the part of -s that is orthogonal to g, both of
//! length one. So the angle t is searched on a grid: with a threshold (parameter `tau`) all angles whose cosine is at least
//! tau, and otherwise weighted by relu(cos t), as FLTrust weighs. r is the largest length of what the malicious would have
//! sent.

use super::super::knowledge::{INSIDE, Knowledge};
use super::super::vectors::{dot, norm, plus, times};
use super::{Attack, Insight};

pub(super) const ATTACK: Attack = Attack {
    name: "cosine",
    about: "in the plane spanned by the reference update and the direction of training: if the check has a threshold, the largest angle that still counts; otherwise the angle where step and weight together do most harm",
    source: "Cao et al. 2021",
    insight: Insight::Parameters,
    against: "the angle to a reference update, where lengths are made equal",
    updates: Some(updates),
    ..Attack::NONE
};

/// Angles that are tried.
const STEPS: usize = 1000;

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let r = k.own.iter().map(|u| norm(u)).fold(0.0, f64::max);
    unit(k).map_or_else(|| k.own.to_vec(), |u| k.all(times(&u, r)))
}

/// The direction of the attack, of length one.
pub(super) fn unit(k: &Knowledge<'_>) -> Option<Vec<f32>> {
    let (g, n) = k.plane()?;
    let at = |t: f64| plus(&times(&g, t.cos()), t.sin(), &n);
    let s = k.direction();
    let away = times(&s, -1.0 / norm(&s));
    let (along, across) = (dot(&away, &g), dot(&away, &n));
    let gain = |t: f64| t.cos() * along + t.sin() * across;
    let value = |t: f64| match k.param("tau") {
        // A little more than tau: fixed point may round the cosine.
        Some(tau) if t.cos() < tau + (1.0 - INSIDE) => f64::NEG_INFINITY,
        Some(_) => gain(t),
        None => t.cos().max(0.0) * gain(t),
    };
    let angles = (0..=STEPS).map(|i| std::f64::consts::PI * i as f64 / STEPS as f64);
    let best = angles.fold((0.0, value(0.0)), |best, t| match value(t) {
        v if v > best.1 => (t, v),
        _ => best,
    });
    Some(at(best.0))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;
    use crate::random::{Purpose, Random};

    #[test]
    fn the_cosine_attacker_is_at_the_largest_angle_that_counts() {
        let mut scene = Scene::new(2, &[("tau", 0.3)]);
        let g = scene.reference.clone().expect("a reference");
        let cosine = |u: &[f32]| dot(u, &g) / (norm(u) * norm(&g));
        let u = &scene.sent(&ATTACK)[0];
        assert!(cosine(u) >= 0.3 && cosine(u) < 0.32, "{}", cosine(u));
        // Of all updates at this angle and length none is further against the direction: it lies in the plane.
        let s = scene.direction();
        let along = dot(u, &s);
        let mut random = Random::new(1, Purpose::Caller, [9, 0]);
        for _ in 0..20 {
            let mut other: Vec<f32> = (0..u.len()).map(|_| random.normal() as f32).collect();
            let on_g = dot(&other, &g) / dot(&g, &g);
            other.iter_mut().zip(&g).for_each(|(o, g)| *o -= (on_g as f32) * g);
            let (cos, sin) = (cosine(u), (1.0 - cosine(u).powi(2)).sqrt());
            let (a, b) = (norm(u) * cos / norm(&g), norm(u) * sin / norm(&other));
            let moved = a * dot(&g, &s) + b * dot(&other, &s);
            assert!(moved > along, "{moved} is further than {along}");
        }
        // Weighted by relu(cosine), as FLTrust does: it counts at all.
        scene.params.clear();
        assert!(cosine(&scene.sent(&ATTACK)[0]) > 0.0);
    }
}
