//! A little is enough: in every coordinate as far from the mean as honest updates that support it lie.
//!
//! Source: Baruch, Baruch, Goldberg, "A Little Is Enough: Circumventing Defenses For Distributed Learning", NeurIPS 2019,
//! Algorithm 3: u' = mu - z sigma, with mu and sigma of what the malicious would have sent. z is the largest z with
//! Phi(z) < (m - n - s) / (m - n), where n of m are malicious and s = floor(m / 2 + 1) - n honest ones are needed beside
//! them for a majority. The parameter `z`, if it is not 0, stands in its place.

use super::super::knowledge::Knowledge;
use super::super::vectors::{deviation, plus};
use super::Attack;

pub(super) const ATTACK: Attack = Attack {
    name: "alie",
    about: "a little is enough: `z` standard deviations from the mean; of 0, as many as a majority hides",
    source: "Baruch et al. 2019",
    params: &[("z", 0.0)],
    updates: Some(updates),
    ..Attack::NONE
};

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let z = match k.value("z") {
        0.0 => hidden(k.clients, k.malicious()),
        z => z,
    };
    k.all(plus(&k.estimate(), -z, &deviation(k.seen)))
}

/// z of the source for n of m.
fn hidden(m: usize, n: usize) -> f64 {
    let honest = (m - n) as f64;
    let supporters = (m / 2 + 1).saturating_sub(n) as f64;
    quantile(((honest - supporters) / honest).clamp(0.5, 0.999))
}

/// The quantile of a normal distribution, by halving; Phi by Simpson's rule from 0, where p is at least 1 / 2.
fn quantile(p: f64) -> f64 {
    const STEPS: usize = 200;
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let phi = |z: f64| {
        let h = z / STEPS as f64;
        let inner = (1..STEPS).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * density(i as f64 * h));
        0.5 + h / 3.0 * (density(0.0) + inner.sum::<f64>() + density(z))
    };
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if phi(middle) < p { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (p, z) in
            [(0.5, 0.0), (0.75, 0.674_489_75), (0.975, 1.959_963_98), (0.999, 3.090_232_31)]
        {
            assert!((quantile(p) - z).abs() < 1e-6, "{p}");
        }
    }

    #[test]
    fn every_coordinate_is_z_deviations_below_the_mean() {
        // Of 50 with 24 malicious, 2 are needed: the example of the source's section 3.
        assert!((hidden(50, 24) - quantile(24.0 / 26.0)).abs() < 1e-9);
        let scene = Scene::new(4, &[]);
        let sent = &scene.sent(&ATTACK)[0];
        for j in [0, 7, 79] {
            let of: Vec<f64> = scene.own.iter().map(|o| f64::from(o[j])).collect();
            let mean = of.iter().sum::<f64>() / 4.0;
            let sigma = (of.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
            let expected = mean - hidden(10, 4) * sigma;
            assert!((f64::from(sent[j]) - expected).abs() < 1e-6);
        }
    }
}
