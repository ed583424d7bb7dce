//! Against checks of the cosine with a reference g: the update that moves the aggregate the most against the direction of
//! training s, of all that count.
//!
//! Source: the adaptive attack of Cao, Fang, Liu, Gong, "FLTrust", NDSS 2021, section V, which the paper follows, under partial
//! knowledge. They search with zeroth-order steps. The objective depends only on how an update lies to g and to s, and the
//! best one lies in their plane: u' = r (cos(t) g + sin(t) n), where n is the part of -s that is orthogonal to g, both of
//! length one. So the angle t is searched on a grid: with a threshold (parameter `tau`) all angles whose cosine is at least
//! tau, and otherwise weighted by relu(cos t), as FLTrust weighs. r is the largest length of what the malicious would have
//! sent.
//!
//! A check of angles alone bounds no length. `cosine-long` has the same angle, and is as long as the declared range of a
//! coordinate allows. Of a check whose parameters are not known, the angle is found by asking it ([`super::probe`]). FLTrust gives every update the length of the reference, so there it is the same attack.

use super::super::knowledge::{INSIDE, Knowledge};
use super::super::vectors::{dot, norm, plus, times};
use super::probe::angle;

/// Angles that are tried.
const STEPS: usize = 1000;

/// As long as an honest update.
pub(super) fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let r = k.own.iter().map(|u| norm(u)).fold(0.0, f64::max);
    unit(k).map_or_else(|| k.own.to_vec(), |u| k.all(times(&u, r)))
}

/// As long as the range of a coordinate allows.
pub(super) fn long(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let Some(u) = unit(k) else { return k.own.to_vec() };
    let largest = u.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
    let end = k.range.1.min(-k.range.0);
    k.all(times(&u, INSIDE * f64::from(end) / f64::from(largest.max(f32::MIN_POSITIVE))))
}

/// The direction of the attack, of length one.
fn unit(k: &Knowledge<'_>) -> Option<Vec<f32>> {
    let (g, n) = k.plane()?;
    let at = |t: f64| plus(&times(&g, t.cos()), t.sin(), &n);
    if let Some(ask) = k.ask {
        let r = k.own.iter().map(|u| norm(u)).fold(0.0, f64::max);
        let found = angle(ask, |t| times(&at(t), r))?;
        return Some(times(&found, 1.0 / norm(&found).max(f64::MIN_POSITIVE)));
    }
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
