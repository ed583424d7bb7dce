//! Sign flip: u' = -u.
//!
//! Source: Damaskinos, El Mhamdi, Guerraoui, Patra, Taziki, "Asynchronous Byzantine Machine Learning (the case of SGD)", ICML
//! 2018, as the paper has it: without amplification.

use super::super::knowledge::Knowledge;
use super::super::vectors::times;
use super::Attack;

pub(super) const ATTACK: Attack = Attack {
    name: "sign-flip",
    about: "they send the opposite",
    source: "Damaskinos et al. 2018",
    updates: Some(updates),
    ..Attack::NONE
};

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    k.own.iter().map(|u| times(u, -1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;

    #[test]
    fn a_flipped_update_is_the_opposite() {
        let scene = Scene::new(2, &[]);
        for (sent, own) in scene.sent(&ATTACK).iter().zip(&scene.own) {
            assert!(sent.iter().zip(own).all(|(s, o)| *s == -o));
        }
    }
}
