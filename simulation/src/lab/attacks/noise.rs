//! Additive noise: u' = u + N(0, sigma^2) in every coordinate.
//!
//! Source: Li, Xu, Chen, Giannakis, Ling, "RSA: Byzantine-Robust Stochastic Aggregation Methods for Distributed Learning from
//! Heterogeneous Datasets", AAAI 2019, as the paper cites it. The paper does not give sigma; 0.1 makes an update of LeNet-5
//! tens of times as long as an honest one.

use super::super::knowledge::Knowledge;
use super::Attack;

pub(super) const ATTACK: Attack = Attack {
    name: "noise",
    about: "they add Gaussian noise of deviation `sigma` to every coordinate",
    source: "Li et al. 2019",
    params: &[("sigma", 0.1)],
    updates: Some(updates),
    ..Attack::NONE
};

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let (sigma, mut random) = (k.value("sigma"), k.random(1));
    let mut noisy = |x: &f32| x + (sigma * random.normal()) as f32;
    k.own.iter().map(|u| u.iter().map(&mut noisy).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;
    use crate::lab::vectors::distance_sq;

    #[test]
    fn noise_has_its_size() {
        let scene = Scene::new(2, &[]);
        for (sent, own) in scene.sent(&ATTACK).iter().zip(&scene.own) {
            let deviation = (distance_sq(sent, own) / own.len() as f64).sqrt();
            assert!((deviation - 0.1).abs() < 0.01, "{deviation}");
        }
    }
}
