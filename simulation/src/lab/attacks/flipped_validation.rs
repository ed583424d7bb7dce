//! Flipped validation: training on flipped labels, and the samples that a malicious client gives for validation have such
//! labels, too, which speaks against all honest updates.
//!
//! Source: the paper's remark that an attacker may "craft validation sets".

use super::label_flip::{self, flipped};
use super::{Attack, Needs};

pub(super) const ATTACK: Attack = Attack {
    name: "flipped-validation",
    about: "flipped labels in training and in validation",
    source: "the paper, after Definition 1",
    needs: Some(Needs::Validation),
    training: label_flip::ATTACK.training,
    validation: Some(|k, _, own| flipped(own, k.net.classes())),
    ..Attack::NONE
};

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;

    #[test]
    fn validation_samples_speak_against_others() {
        let scene = Scene::new(2, &[("lambda", 1.5)]);
        let own = scene.data.select(&(0..10).collect::<Vec<_>>());
        let flipped = scene.validation(&ATTACK, &scene.own[0], &own);
        assert!(flipped.labels().iter().zip(own.labels()).all(|(f, l)| *f == 9 - l));
    }
}
