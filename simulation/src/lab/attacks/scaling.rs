//! Scaling: an update trained on flipped labels, times m / (number of malicious), so that their mean replaces the global
//! model by theirs if nothing bounds the length.
//!
//! Source: model replacement of Bagdasaryan, Veit, Hua, Estrin, Shmatikov, "How To Backdoor Federated Learning", AISTATS
//! 2020, equation 3, here with flipped labels instead of a backdoor.

use super::super::knowledge::Knowledge;
use super::super::vectors::times;
use super::{Attack, label_flip};

pub(super) const ATTACK: Attack = Attack {
    name: "scaling",
    about: "they train on labels L - 1 - l, and amplify the update until it replaces the mean",
    source: "Bagdasaryan et al. 2020",
    against: "nothing",
    training: label_flip::ATTACK.training,
    updates: Some(updates),
    ..Attack::NONE
};

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let factor = k.clients as f64 / k.malicious().max(1) as f64;
    k.own.iter().map(|u| times(u, factor)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;
    use crate::lab::vectors::norm;

    #[test]
    fn two_of_ten_replace_the_mean_of_ten() {
        let scene = Scene::new(2, &[]);
        let factor = norm(&scene.sent(&ATTACK)[0]) / norm(&scene.own[0]);
        assert!((factor - 5.0).abs() < 1e-3, "{factor}");
    }
}
