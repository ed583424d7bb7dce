//! Validation samples that speak for the poison: the strongest that a client of a real run can do to the scores it gives.
//!
//! Source: the paper's remark that an attacker may "craft validation sets to boost scores for malicious clients while lowering
//! those of benign ones". Images are the client's own. Each is labelled as the poisoned model labels it, and of its share those
//! come first where the global model says something else: there the poisoned model gains a hit, and an honest one, which is
//! close to the global one, does not.

use super::super::knowledge::Knowledge;
use super::super::vectors::plus;
use super::{Attack, Insight, Needs, slvr};
use crate::data::Dataset;
use crate::net::Workspace;

pub(super) const ATTACK: Attack = Attack {
    name: "crafted",
    about: "as `slvr`, with validation samples chosen and labelled so that they speak for it",
    source: "the paper, after Definition 1",
    insight: Insight::Scores,
    needs: Some(Needs::Validation),
    updates: Some(slvr::updates),
    validation: Some(samples),
    ..Attack::NONE
};

fn samples(k: &Knowledge<'_>, update: &[f32], own: &Dataset) -> Dataset {
    // Of everything that the malicious have, so that there are enough on which the two differ.
    let poisoned = plus(k.global, 1.0, update);
    let mut space = Workspace::default();
    let (mut images, mut labels, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for data in k.data {
        let before = k.net.predict(k.global, data.images(), &mut space);
        let after = k.net.predict(&poisoned, data.images(), &mut space);
        for i in (0..data.len()).filter(|i| before[*i] != after[*i]) {
            if labels.len() < own.len() {
                images.extend_from_slice(data.image(i));
                labels.push(after[i] as u8);
            }
        }
        rest.extend((0..data.len()).map(|i| (data.image(i), after[i] as u8)));
    }
    for (image, label) in rest.into_iter().take(own.len() - labels.len()) {
        images.extend_from_slice(image);
        labels.push(label);
    }
    Dataset::new(own.shape().to_vec(), images, labels)
        .ok()
        .filter(|d| d.len() == own.len())
        .unwrap_or_else(|| own.clone())
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;
    use crate::train::hits;

    #[test]
    fn validation_samples_speak_for_the_poison() {
        let scene = Scene::new(2, &[("lambda", 1.5)]);
        let own = scene.data.select(&(0..10).collect::<Vec<_>>());
        let poison: Vec<f32> = scene.own[0].iter().map(|u| -3.0 * u).collect();
        let crafted = scene.validation(&ATTACK, &poison, &own);
        let right = |w: &[f32]| hits(&scene.net, w, crafted.images(), crafted.labels());
        let poisoned = plus(&scene.global, 1.0, &poison);
        assert_eq!((crafted.len(), right(&poisoned)), (10, 10), "the poisoned model is right");
        assert!(right(&scene.global) < 10, "the global model is not");
    }
}
