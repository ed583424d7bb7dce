//! Fang et al. against Krum: all malicious send u' = -lambda s, with the largest lambda for which Krum selects it.
//!
//! Source: Fang, Cao, Jia, Gong, USENIX Security 2020, section 3.3, with full knowledge: the malicious are told the updates of
//! the honest, and compute Krum's scores themselves. A score is the sum of the m - f - 2 smallest squared distances to others.
//! From what the malicious would have sent alone, the scores of unlike clients cannot be estimated: an update made so was
//! passed over by Krum in most rounds. lambda is halved from the end of the range until a crafted update has the smallest
//! score or lambda is below 1e-5, as in the source. Then the place between the last two is searched by halving.
//!
//! A single update that is no longer than the honest ones may never be selected on that line, because none is at distance 0
//! from it. So the line from the mean of the honest, u' = mean - lambda s, is searched too, and what is further against the
//! direction is sent.

use super::super::knowledge::{INSIDE, Knowledge};
use super::super::vectors::{distance_sq, dot, mean, plus};
use super::{Attack, Insight};
use rayon::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "fang-krum",
    about: "against the direction of training, as far as Krum selects",
    source: "Fang et al. 2020",
    insight: Insight::Updates,
    against: "distances of updates from each other",
    updates: Some(updates),
    ..Attack::NONE
};

/// The smallest lambda that is tried.
const LEAST: f64 = 1e-5;

/// How often the place where Krum stops to select is halved.
const HALVINGS: usize = 12;

/// What Krum's scores are made of where all malicious send the same update.
struct Scores {
    /// How many distances a score sums.
    near: usize,
    /// How many send the crafted update.
    copies: usize,
    /// Squared distances of each honest update to the other honest ones, in ascending order.
    apart: Vec<Vec<f64>>,
}

impl Scores {
    fn new(k: &Knowledge<'_>) -> Scores {
        let f = k.param("f").unwrap_or(k.malicious() as f64).max(0.0);
        let apart = k.honest.par_iter().enumerate().map(|(i, u)| {
            let others = k.honest.iter().enumerate().filter(|(j, _)| *j != i);
            let mut squares: Vec<f64> = others.map(|(_, v)| distance_sq(u, v)).collect();
            squares.sort_by(f64::total_cmp);
            squares
        });
        Scores {
            near: ((k.clients as f64 - f - 2.0).max(1.0) as usize).min(k.clients.max(2) - 1),
            copies: k.malicious(),
            apart: apart.collect(),
        }
    }

    /// Whether Krum selects an update at these squared distances from the honest, by more than rounding can turn.
    fn select(&self, away: &[f64]) -> bool {
        let honest = self.apart.iter().zip(away).map(|(apart, away)| {
            let nearer = apart.partition_point(|d| d < away);
            let copies = self.near.saturating_sub(nearer).min(self.copies);
            apart.iter().take(self.near - copies).sum::<f64>() + copies as f64 * away
        });
        let least = honest.fold(f64::INFINITY, f64::min);
        let mut away = away.to_vec();
        away.sort_by(f64::total_cmp);
        let honest = self.near.saturating_sub(self.copies.saturating_sub(1));
        away.iter().take(honest).sum::<f64>() < INSIDE * least
    }

    /// The largest lambda for which Krum selects base - lambda s, none if it is too small.
    fn reach(&self, k: &Knowledge<'_>, base: &[f32], s: &[f32]) -> Option<f64> {
        let ss = dot(s, s);
        let from = |u: &&[f32]| {
            let off = plus(u, -1.0, base);
            (dot(&off, &off), dot(&off, s))
        };
        let honest: Vec<(f64, f64)> = k.honest.iter().map(from).collect();
        let select = |lambda: f64| {
            let to = |(uu, us): &(f64, f64)| uu + 2.0 * lambda * us + lambda * lambda * ss;
            self.select(&honest.iter().map(to).collect::<Vec<_>>())
        };
        let mut lambda = k.end();
        while !select(lambda) {
            lambda /= 2.0;
            if lambda < LEAST {
                return None;
            }
        }
        let mut beyond = (2.0 * lambda).min(k.end());
        for _ in 0..HALVINGS {
            let middle = 0.5 * (lambda + beyond);
            *(if select(middle) { &mut lambda } else { &mut beyond }) = middle;
        }
        Some(lambda)
    }
}

pub(super) fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let (s, scores) = (k.direction(), Scores::new(k));
    let bases =
        [vec![0.0; s.len()], if k.honest.is_empty() { k.estimate() } else { mean(k.honest) }];
    let found = bases.iter().filter_map(|base| {
        let sent = plus(base, -scores.reach(k, base, &s)?, &s);
        Some((dot(&sent, &s), sent))
    });
    let found = found.min_by(|a, b| a.0.total_cmp(&b.0));
    k.all(found.map_or_else(|| plus(&bases[0], -LEAST, &s), |(_, sent)| sent))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;
    use crate::lab::vectors::norm;

    /// Krum by its definition: who has the smallest sum of the m - f - 2 smallest squared distances to others.
    fn krum(updates: &[&Vec<f32>], f: usize) -> usize {
        let score = |i: usize| {
            let others = (0..updates.len()).filter(|j| *j != i);
            let mut squares: Vec<f64> =
                others.map(|j| distance_sq(updates[i], updates[j])).collect();
            squares.sort_by(f64::total_cmp);
            squares[..updates.len() - f - 2].iter().sum::<f64>()
        };
        (0..updates.len()).min_by(|a, b| score(*a).total_cmp(&score(*b))).expect("updates")
    }

    #[test]
    fn the_krum_attacker_is_selected_by_krum_however_unlike_the_honest_are() {
        // Whether the check assumes as many malicious clients as there are, fewer or more.
        for (malicious, f) in [(1, 1), (2, 2), (3, 3), (1, 3), (3, 1)] {
            // One alone has no second at distance 0: among updates that are far apart it may not be selected at all.
            let apart: &[f32] = if malicious == 1 { &[0.0, 1.0] } else { &[0.0, 1.0, 10.0] };
            for unlike in apart {
                let mut scene = Scene::new(malicious, &[("f", f as f64)]);
                for (i, u) in scene.honest.iter_mut().enumerate() {
                    // From nearly equal to far apart.
                    u.iter_mut().for_each(|x| *x *= 1.0 + *unlike * i as f32);
                }
                let sent = scene.sent(&ATTACK);
                let chosen = |sent: &[Vec<f32>]| {
                    let all: Vec<&Vec<f32>> = sent.iter().chain(&scene.honest).collect();
                    krum(&all, f)
                };
                assert!(
                    chosen(&sent) < malicious,
                    "{malicious} {f} {unlike}: an honest one is selected"
                );
                let s = scene.direction();
                let against = dot(&sent[0], &s);
                assert!(scene.honest.iter().all(|u| against < dot(u, &s)));
                // As far as it selects.
                let mut further = sent;
                let more = (0.03 * norm(&further[0]) / norm(&s)) as f32;
                for u in &mut further {
                    u.iter_mut().zip(&s).for_each(|(x, s)| *x -= more * s);
                }
                assert!(
                    chosen(&further) >= malicious,
                    "{malicious} {f} {unlike}: further is selected too"
                );
            }
        }
    }
}
