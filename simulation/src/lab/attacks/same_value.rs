//! The same number in every coordinate.
//!
//! Source: Li, Xu, Chen, Giannakis, Ling, "RSA: Byzantine-Robust Stochastic Aggregation Methods for Distributed Learning from
//! Heterogeneous Datasets", AAAI 2019, section 5.

use super::Attack;

pub(super) const ATTACK: Attack = Attack {
    name: "same-value",
    about: "`value` in every coordinate",
    source: "Li et al. 2019",
    params: &[("value", 1.0)],
    updates: Some(|k| k.all(vec![k.value("value") as f32; k.global.len()])),
    ..Attack::NONE
};

#[cfg(test)]
mod tests {
    use super::super::Chosen;
    use super::super::testing::Scene;

    #[test]
    fn every_coordinate_is_the_value() {
        let scene = Scene::new(2, &[]);
        for (name, value) in [("same-value", 1.0), ("same-value@value=-0.25", -0.25)] {
            let attack = Chosen::parse(name).expect("an attack");
            let sent = scene.with(|k| attack.sent(k)).expect("updates");
            assert!(sent.len() == 2 && sent.iter().flatten().all(|x| *x == value), "{name}");
        }
    }
}
