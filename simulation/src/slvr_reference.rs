//! The accuracy check of SLVR (`predicates/slvr_accuracy.slvr`) in plain floating point, written
//! from the paper's formulas and independent of the compiler: for tests of the simulation.

use super::federated::Round;
use super::net::Net;
use super::random::{Purpose, Random};
use super::train::hits;
use rayon::prelude::*;

/// Which clients count, and the aggregate.
pub(super) struct Outcome {
    pub keep: Vec<bool>,
    pub aggregate: Vec<f32>,
}

/// The check for at most c poisoners, lambda = 1.5.
pub(super) fn slvr(net: &Net, round: &Round<'_>, c: usize, seed: u64) -> Outcome {
    let m = round.updates.len();
    let square = |u: &Vec<f32>| u.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    let size: Vec<f64> = round.updates.iter().map(square).collect();
    let mut sorted = size.clone();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[(m - 1) / 2];

    let right =
        |weights: &[f32], j: usize| hits(net, weights, &round.images[j], &round.labels[j]) as f64;
    let before: Vec<f64> = (0..m).map(|j| right(round.global, j)).collect();
    let score: Vec<f64> = (0..m)
        .into_par_iter()
        .map(|i| {
            let key = [round.index as u64, i as u64];
            // 2c + 1 others, uniformly.
            let committee = Random::new(seed, Purpose::Caller, key).choose(2 * c + 1, m - 1);
            let after: Vec<f32> =
                round.global.iter().zip(&round.updates[i]).map(|(g, u)| g + u).collect();
            let mut gains: Vec<f64> = committee
                .iter()
                .map(|&j| if j < i { j } else { j + 1 })
                .map(|j| right(&after, j) - before[j])
                .collect();
            gains.sort_by(f64::total_cmp);
            let kept = &gains[c / 2..gains.len() - (c - c / 2)];
            kept.iter().sum::<f64>() / kept.len() as f64
        })
        .collect();

    let rank = |i: usize| {
        (0..m).filter(|&j| score[j] > score[i] || (score[j] == score[i] && j < i)).count()
    };
    let keep: Vec<bool> = (0..m).map(|i| size[i] < 1.5 * median && rank(i) < m - c).collect();
    let mut sum = vec![0.0f64; net.weights()];
    for (update, _) in round.updates.iter().zip(&keep).filter(|(_, keep)| **keep) {
        sum.iter_mut().zip(update).for_each(|(s, u)| *s += f64::from(*u));
    }
    let aggregate = sum.iter().map(|s| (s / (m - c) as f64) as f32).collect();
    Outcome { keep, aggregate }
}
