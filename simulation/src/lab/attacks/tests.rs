//! What holds of several attacks: what they send, and how they ask a check.

use super::super::knowledge::Knowledge;
use super::super::offer::clip_all;
use super::super::vectors::{dot, norm};
use super::testing::Scene;
use super::*;
use std::collections::BTreeMap;

/// What sends no finite numbers, because that is what it tries.
const WILD: [&str; 2] = ["inf", "nan"];

#[test]
fn every_attack_has_its_name_and_sends_an_update_for_each_malicious_client() {
    let scene = Scene::new(3, &[("lambda", 1.5), ("f", 3.0), ("tau", 0.0)]);
    for attack in Attack::ALL {
        assert_eq!(Attack::named(attack.name).map(|a| a.about), Some(attack.about));
        let sent = scene.sent(attack);
        assert_eq!(sent.len(), 3, "{}", attack.name);
        let wild = WILD.contains(&attack.name);
        assert_eq!(sent.iter().flatten().all(|x| x.is_finite()), !wild, "{}", attack.name);
        let bits =
            |sent: &[Vec<f32>]| sent.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&sent), bits(&scene.sent(attack)), "{} is the same again", attack.name);
    }
}

#[test]
fn one_malicious_client_alone_sends_something_against_the_direction() {
    let scene = Scene::new(1, &[]);
    for attack in [&min_max::ATTACK, &min_sum::ATTACK, &fang_trim::ATTACK, &fang_krum::ATTACK] {
        let sent = &scene.sent(attack)[0];
        assert!(
            dot(sent, &scene.own[0]) < 0.0 && norm(sent) > 0.1 * norm(&scene.own[0]),
            "{}",
            attack.name
        );
    }
}

/// What an attack sends at a check that nothing is known of but its answers.
fn sent(scene: &Scene, attack: &Attack, ask: &(dyn Fn(&[f32]) -> Option<f64> + Sync)) -> Vec<f32> {
    scene.with(|k| {
        let none = BTreeMap::new();
        let k = Knowledge { params: &none, ask: Some(ask), ..*k };
        Chosen::of(attack).sent(&k).expect("updates").remove(0)
    })
}

/// How far an update goes against the direction of training; less than any that counts where it does not.
fn harm(scene: &Scene, update: &[f32], counts: bool) -> Option<f64> {
    let s = scene.with(|k| k.direction());
    Some(if counts { -dot(update, &s) } else { -1e9 })
}

#[test]
fn the_probe_is_just_inside_a_bound_a_ball_and_an_angle() {
    let scene = Scene::new(2, &[]);
    let probe = |ask: &(dyn Fn(&[f32]) -> Option<f64> + Sync)| sent(&scene, &probe::ATTACK, ask);
    for tau in [0.37, 2.0, 41.0] {
        let length = norm(&probe(&|u| harm(&scene, u, norm(u) < tau)));
        assert!(length < tau && length > 0.97 * tau, "{length} of {tau}");
    }
    let largest = |u: &[f32]| u.iter().map(|x| x.abs()).fold(0.0, f32::max);
    let found = largest(&probe(&|u| harm(&scene, u, largest(u) < 0.3)));
    assert!(found < 0.3 && found > 0.29, "{found}");
    let centre = scene.with(|k| k.centre());
    let off = |u: &[f32]| u.iter().zip(&centre).map(|(u, c)| u - c).collect::<Vec<f32>>();
    let tau = 0.8 * norm(&centre);
    let far = norm(&off(&probe(&|u| harm(&scene, u, norm(&off(u)) < tau))));
    assert!(far < tau && far > 0.9 * tau, "{far} of {tau}");
    let cosine = |u: &[f32]| dot(u, &centre) / norm(u).max(1e-9) / norm(&centre);
    let found = probe(&|u| harm(&scene, u, cosine(u) > 0.2));
    assert!(cosine(&found) > 0.2 && cosine(&found) < 0.8, "{}", cosine(&found));
    // No length is bound, so it is long.
    assert!(norm(&found) > 20.0 * norm(&scene.own[0]));
}

#[test]
fn a_check_that_lets_nothing_through_or_fails_ends_no_attack() {
    let scene = Scene::new(2, &[]);
    for attack in Attack::ALL.iter().filter(|a| !WILD.contains(&a.name)) {
        for update in [sent(&scene, attack, &|_| None), sent(&scene, attack, &|_| Some(1.0))] {
            assert!(update.iter().all(|x| x.is_finite()), "{}", attack.name);
        }
    }
}

/// What `reference/make.py` computes in NumPy from the formulas of the papers.
#[test]
fn attacks_send_what_the_formulas_of_their_papers_say() {
    let rows: BTreeMap<&str, Vec<f32>> = include_str!("reference/values.txt")
        .lines()
        .filter_map(|line| {
            let (name, values) = line.split_once(' ')?;
            Some((name, values.split(' ').map(|x| x.parse().expect("a number")).collect()))
        })
        .collect();
    let updates = |name: &str| rows[name].chunks_exact(12).map(<[f32]>::to_vec).collect();
    let mut scene = Scene::new(2, &[]);
    (scene.own, scene.honest) = (updates("own"), updates("honest"));
    for name in ["alie", "ipm", "mimic", "min-max", "min-sum"] {
        let attack = Attack::named(name).expect("an attack");
        for sent in scene.sent(attack) {
            let worst =
                sent.iter().zip(&rows[name]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(sent.len() == 12 && worst < 2e-5, "{name}: {worst}");
        }
    }
}

#[test]
fn what_is_no_finite_number_is_offered_as_a_bound_or_as_zero() {
    let scene = Scene::new(2, &[]);
    for (name, offered) in [("inf", 1e6), ("nan", 0.0)] {
        let mut sent = scene.sent(Attack::named(name).expect("an attack"));
        clip_all(&mut sent);
        assert!(sent.iter().flatten().all(|x| *x == offered), "{name}");
    }
}

#[test]
fn with_an_amplified_backdoor_the_mean_of_all_is_that_of_the_malicious() {
    let mut scene = Scene::new(2, &[]);
    scene.honest.iter_mut().for_each(|u| u.fill(0.0));
    (scene.own[0], scene.own[1]) = (vec![1.0, -0.5, 0.25], vec![3.0, 0.5, -0.75]);
    let sent = scene.sent(&backdoor_amplified::ATTACK);
    assert_eq!(sent, [vec![5.0, -2.5, 1.25], vec![15.0, 2.5, -3.75]]);
    let mean: Vec<f32> = (0..3).map(|at| sent.iter().map(|u| u[at]).sum::<f32>() / 10.0).collect();
    assert_eq!(mean, [2.0, 0.0, -0.25]);
}
