//! The lower bound of Theorem 1: the search of [`super::probe`] while malicious committee members forge scores as in
//! [`super::extreme`].
//!
//! Source: the paper's Theorem 1. Under forged scores some update of the malicious reaches whatever any update and any validation
//! samples reach, so what a search finds there is the strongest attack that is known of a check of scores. The check that
//! the search asks has forged scores, too. What `extreme` and `extreme-bold` would send is among the candidates, and so
//! is no change: the theorem allows the malicious to stay away.

use super::super::knowledge::Knowledge;
use super::{Attack, Insight, Needs, extreme_bold, probe, slvr};

pub(super) const ATTACK: Attack = Attack {
    name: "extreme-search",
    about: "forged scores, and the update that `probe` finds while the check has them",
    source: "the paper's Theorem 1",
    insight: Insight::Answers,
    needs: Some(Needs::Scores),
    updates: Some(updates),
    forges_scores: true,
    ..Attack::NONE
};

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let candidates = [slvr::updates(k), extreme_bold::updates(k)];
    let nothing = vec![0.0; k.global.len()];
    let candidates = candidates.into_iter().filter_map(|sent| sent.into_iter().next());
    probe::search(k, candidates.chain([nothing]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::super::{Chosen, extreme};
    use super::*;
    use crate::lab::vectors::dot;

    #[test]
    fn it_finds_what_does_at_least_the_harm_of_the_attacks_that_forge_scores() {
        let scene = Scene::new(2, &[("lambda", 1.5)]);
        let s = scene.direction();
        let harm = |u: &[f32]| -dot(u, &s);
        let sent = |attack: &Attack| -> f64 {
            let ask = |u: &[f32]| Some(harm(u).min(20.0));
            scene.with(|k| {
                let k = Knowledge { ask: Some(&ask), ..*k };
                harm(&Chosen::of(attack).sent(&k).expect("updates")[0]).min(20.0)
            })
        };
        assert!(sent(&ATTACK) >= sent(&extreme::ATTACK));
        assert!(sent(&ATTACK) >= sent(&extreme_bold::ATTACK));
    }
}
