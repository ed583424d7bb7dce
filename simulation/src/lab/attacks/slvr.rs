//! The paper's adaptive attack on SLVR: u' = u - lambda s, with the largest lambda whose model is among the better half on the
//! malicious clients' own data.
//!
//! Source: the paper's appendix, "Adaptive Attack to SLVR": lambda is sampled from 1e-5 to 1e-1, and accepted if the accuracy of
//! w - lambda s on the malicious clients' data D' is in the top 50 % of the accuracies of all benign models. Here u is the mean of
//! what the malicious would have sent, D' at most [`SAMPLES`] samples of each, and [`STEPS`] values of lambda are tried from
//! the largest, in geometric steps. A check that gets no labels scores a model by the mean of its largest softmax, so that is
//! compared instead of the accuracy. The check also bounds lengths, which the paper's attack does not look at. An update beyond
//! the bound would be dropped, so lengths are kept below the bound that the malicious estimate from their own: that is the
//! stronger attack. Of a check whose parameters are not known, the malicious ask it which of the accepted values does the most
//! harm.

use super::super::knowledge::Knowledge;
use super::super::vectors::{norm, plus};
use crate::loss::confidence;
use crate::net::Workspace;
use crate::train::hits;

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
    let mut tried = lambdas().map(|lambda| plus(&u, -lambda, &s)).filter(fits);
    let found = match k.ask {
        None => tried.next(),
        // Of those that the search accepts, what the check itself lets through.
        Some(ask) => {
            let before = ask(&u).unwrap_or(f64::NEG_INFINITY);
            let harm = tried.filter_map(|update| Some((ask(&update)?, update)));
            let most = harm.max_by(|a, b| a.0.total_cmp(&b.0));
            most.filter(|(harm, _)| *harm > before).map(|(_, update)| update)
        }
    };
    k.all(found.unwrap_or(u))
}
