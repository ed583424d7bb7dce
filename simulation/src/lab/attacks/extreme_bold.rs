//! Forged scores as in [`super::extreme`], and a bolder step, which is not the paper's. With these scores the malicious need fewer
//! honest votes. So nothing is asked of the model on own data, as if a committee could be carried by the malicious in it:
//! u - lambda s is sent, with the largest lambda whose length is just inside the bound, which the malicious are told as in
//! `fang-bound`. Where the check bounds no length, or its parameter lambda bounds none that matters, the declared range of a
//! coordinate is the end. Where committees are not carried, it sends what the check drops.

use super::super::knowledge::{INSIDE, Knowledge};
use super::super::vectors::{norm, plus};
use super::{Attack, Insight, Needs};

pub(super) const ATTACK: Attack = Attack {
    name: "extreme-bold",
    about: "forged scores, and a step just inside the bound on lengths, which they are told, or to the end of the declared range",
    source: "",
    insight: Insight::Threshold,
    needs: Some(Needs::Scores),
    updates: Some(updates),
    forges_scores: true,
    ..Attack::NONE
};

/// Halvings of lambda.
const STEPS: usize = 40;

pub(super) fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let (u, s) = (k.estimate(), k.direction());
    let longest = k.param("lambda").map_or(f64::INFINITY, |lambda| INSIDE * k.median_bound(lambda));
    // The declared range, made smaller around its middle. Halves are exact, and their sum is in range.
    let (lo, hi) = (k.range.0 / 2.0, k.range.1 / 2.0);
    let (middle, far) = (hi + lo, INSIDE as f32 * (hi - lo));
    let (lo, hi) = (middle - far, middle + far);
    let at = |lambda: f64| -> Vec<f32> {
        plus(&u, -lambda, &s).into_iter().map(|x| x.clamp(lo, hi)).collect()
    };
    // Beyond the first value nothing grows any more.
    let most = u.iter().fold(0.0, |most: f64, x| most.max(f64::from(x.abs())));
    let (mut low, mut high) = (0.0, most + f64::from(hi.max(-lo)));
    if norm(&at(high)) < longest {
        return k.all(at(high));
    }
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        if norm(&at(middle)) < longest { low = middle } else { high = middle }
    }
    k.all(at(low))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;

    #[test]
    fn the_bold_attack_is_just_inside_the_bound_or_at_the_end_of_the_range() {
        for lambda in [1.5, 3.0, 20.0] {
            let scene = Scene::new(2, &[("lambda", lambda)]);
            let bound = scene.with(|k| k.median_bound(lambda));
            let length = norm(&scene.sent(&ATTACK)[0]);
            assert!(length < bound && length > 0.99 * bound, "{length} of {bound}");
        }
        for params in [&[][..], &[("lambda", 1e6)]] {
            let scene = Scene::new(2, params);
            let update = &scene.sent(&ATTACK)[0];
            assert!(update.iter().all(|x| x.abs() > 7.9 && x.abs() < 8.0), "the end of the range");
        }
    }

    #[test]
    fn a_range_need_not_be_symmetric_nor_hold_0() {
        let scene = Scene::new(2, &[]);
        for (lo, hi) in [(1.0, 8.0), (-8.0, -1.0), (-0.5, 8.0), (-8.0, 0.0)] {
            let sent = scene.with(|k| updates(&Knowledge { range: (lo, hi), ..*k }));
            for (x, s) in sent[0].iter().zip(scene.direction()) {
                let (end, inwards) = if s > 0.0 { (lo, x - lo) } else { (hi, hi - x) };
                assert!(inwards > 0.0 && inwards < 0.01, "{x} is not just inside {end}");
            }
        }
    }
}
