//! The paper's adaptive attack on SLVR: u' = u - lambda s, with the largest lambda whose model is among the better half on the
//! malicious clients' own data.
//!
//! Source: the paper's appendix, "Adaptive Attack to SLVR": lambda is sampled from 1e-5 to 1e-1, and accepted if the accuracy of
//! w - lambda s on the malicious clients' data D' is in the top 50 % of the accuracies of all benign models. Here u is the mean of
//! what the malicious would have sent, D' at most [`SAMPLES`] samples of each, and [`STEPS`] values of lambda are tried from
//! the largest, in geometric steps. A check that gets no labels scores a model by the mean of its largest softmax, so that is
//! compared instead of the accuracy. The check also bounds lengths, which the paper's attack does not look at. An update beyond
//! the bound would be dropped, so lengths are kept below the bound that the malicious estimate from their own: that is the
//! stronger attack.

use super::super::knowledge::Knowledge;
use super::super::vectors::{norm, plus};
use super::{Attack, Insight};
use crate::loss::confidence;
use crate::net::Workspace;
use crate::train::hits;

pub(super) const ATTACK: Attack = Attack {
    name: "slvr",
    about: "the largest step whose model is, on the attackers' own data, no worse than the median benign model",
    source: "the paper's appendix",
    insight: Insight::Scores,
    against: "scores on validation samples",
    updates: Some(updates),
    ..Attack::NONE
};

/// Values of lambda that are tried.
const STEPS: usize = 17;

/// Samples of each malicious client that a model is tried on.
const SAMPLES: usize = 50;

/// How much of the estimated bound is used.
const SHARE: f64 = 0.9;

/// The values of lambda, largest first.
pub(super) fn lambdas() -> impl Iterator<Item = f64> {
    (0..STEPS).map(|i| 10f64.powf(-1.0 - 4.0 * i as f64 / (STEPS - 1) as f64))
}

/// How the check would score global + update on samples of the malicious clients.
fn score(k: &Knowledge<'_>, update: &[f32]) -> f64 {
    let weights = plus(k.global, 1.0, update);
    let (mut score, mut all, mut space) = (0.0, 0, Workspace::default());
    for data in k.data {
        let n = data.len().min(SAMPLES);
        let images = &data.images()[..n * data.sample_size()];
        score += match k.labelled {
            true => hits(k.net, &weights, images, &data.labels()[..n]) as f64,
            false => confidence(&k.net.logits(&weights, images, &mut space), k.net.classes()),
        };
        all += n;
    }
    score / all.max(1) as f64
}

/// What the better half of these scores reaches.
fn better_half(scores: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = scores.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

pub(super) fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let (u, s) = (k.estimate(), k.direction());
    let least = better_half(k.honest.iter().map(|u| score(k, u)));
    let longest = SHARE * k.own_bound(k.param("lambda").unwrap_or(f64::INFINITY));
    let fits = |update: &Vec<f32>| {
        (longest.is_nan() || norm(update) < longest) && score(k, update) >= least
    };
    let found = lambdas().map(|lambda| plus(&u, -lambda, &s)).find(fits);
    k.all(found.unwrap_or(u))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;

    #[test]
    fn the_slvr_attacker_is_inside_its_bound_and_no_worse_than_the_median_on_its_data() {
        let scene = Scene::new(2, &[("lambda", 1.5)]);
        let hits = |u: &[f32]| {
            let weights: Vec<f32> = scene.global.iter().zip(u).map(|(g, u)| g + u).collect();
            let n = 50 * scene.data.sample_size();
            crate::train::hits(
                &scene.net,
                &weights,
                &scene.data.images()[..n],
                &scene.data.labels()[..50],
            )
        };
        let mut benign: Vec<usize> = scene.honest.iter().map(|u| hits(u)).collect();
        benign.sort_unstable();
        let mean: Vec<f32> = scene.with(|k| k.estimate());
        let sent = &scene.sent(&ATTACK)[0];
        let off: Vec<f32> = sent.iter().zip(&mean).map(|(u, m)| m - u).collect();
        if norm(&off) > 0.0 {
            assert!(hits(sent) >= benign[benign.len() / 2], "not among the better half");
            // Against the direction by one lambda in every coordinate.
            let s = scene.direction();
            let lambda = f64::from(off[0] * s[0]);
            assert!((1e-5..=0.11).contains(&lambda), "{lambda}");
            assert!(off.iter().zip(&s).all(|(o, s)| (f64::from(o * s) - lambda).abs() < 1e-4));
        }
        let bound = 1.5 * scene.own.iter().map(|u| norm(u)).fold(f64::INFINITY, f64::min);
        assert!(norm(sent) < bound);
    }

    #[test]
    fn without_labels_the_search_asks_how_sure_a_model_is() {
        let mut scene = Scene::new(2, &[("lambda", 1000.0)]);
        scene.labelled = false;
        let sure = |u: &[f32]| {
            let weights: Vec<f32> = scene.global.iter().zip(u).map(|(g, u)| g + u).collect();
            let images = &scene.data.images()[..50 * scene.data.sample_size()];
            let logits = scene.net.logits(&weights, images, &mut crate::net::Workspace::default());
            let row = |z: &[f32]| {
                let all: f64 = z.iter().map(|z| f64::from(*z).exp()).sum();
                z.iter().map(|z| f64::from(*z).exp() / all).fold(0.0, f64::max)
            };
            logits.chunks_exact(10).map(row).sum::<f64>()
        };
        let mut benign: Vec<f64> = scene.honest.iter().map(|u| sure(u)).collect();
        benign.sort_by(f64::total_cmp);
        let sent = &scene.sent(&ATTACK)[0];
        let own = scene.with(|k| k.estimate());
        assert!(*sent == own || sure(sent) >= benign[4] - 1e-6, "{} of {benign:?}", sure(sent));
    }
}
