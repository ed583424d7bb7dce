//! Forged scores, shares and shifts, and the rule that fills inputs.

use super::fast::{Forged, forge};
use super::fill::{self, FillError, ModelShape, Role};
use super::shift::{Scenario, Shift, shifted};
use super::world::{Setting, Split, World};
use crate::idx;
use crate::net::Net;
use crate::partition::Partition;
use crate::testing::digits_net;
use crate::train::Sgd;
use slvr_compiler::graph::{Graph, build};
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::types::{self, Elem};
use std::collections::BTreeMap;

#[test]
fn extreme_scores_are_those_of_the_definition() {
    let malicious = [true, false, false];
    let committees = [vec![1, 2], vec![0, 2], vec![1, 0]];
    let forged = Forged { malicious: &malicious, committees: &committees, samples: 10 };
    let mut scores = [0.25; 6];
    forge(&mut scores, &forged, Elem::Fix);
    assert_eq!(scores, [0.25, 0.25, -1.0, 0.25, 0.25, -1.0]);
    // Gains of a loss may be larger than 1.
    let mut scores = [0.25, -20.0, 0.25, 0.25, 0.25, 0.25];
    forge(&mut scores, &forged, Elem::Fix);
    assert_eq!(scores, [0.25, -20.0, -20.0, 0.25, 0.25, -20.0]);
    let committees = [vec![0, 2], vec![1, 2], vec![1, 2]];
    let forged = Forged { committees: &committees, ..forged };
    let mut scores = [0.0; 6];
    forge(&mut scores, &forged, Elem::Int);
    assert_eq!(scores, [10.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

pub(super) fn setting() -> Setting {
    Setting {
        clients: 10,
        part: 1.0,
        malicious: 2,
        alpha: 0.5,
        partition: Partition::default(),
        samples: 40,
        validation: 5,
        public: 50,
        test: 100,
        pretrain: 0,
        rounds: 6,
        sgd: Sgd { rate: 0.1, momentum: 0.0, batch: 10, epochs: 1 },
        shift: None,
        seed: 3,
    }
}

pub(super) fn digits() -> Split {
    let all = idx::digits().expect("digits");
    let (test, train): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|i| i % 5 == 0);
    Split { train: all.select(&train), test: all.select(&test) }
}

#[test]
fn clients_evolve_and_join_as_the_scenarios_say() {
    let net = digits_net();
    let shift = |scenario| Some(Shift { scenario, every: 2 });
    let evolving = Setting { shift: shift(Scenario::Evolving), ..setting() };
    let world = World::new(net.clone(), &digits(), evolving).expect("a world");
    let still = World::new(net.clone(), &digits(), setting()).expect("a world");
    let moved =
        |round: usize| (0..10).filter(|i| world.data(*i, round) != still.data(*i, round)).count();
    assert_eq!([0, 1, 2, 3, 4, 5].map(moved), [0, 0, 2, 2, 4, 4]);
    assert_eq!([0, 5].map(|r| world.tests(r).len()), [1, 2]);
    let joining = Setting { shift: shift(Scenario::Joining), ..setting() };
    let world = World::new(net, &digits(), joining).expect("a world");
    assert_eq!([0, 1, 2, 3, 4, 5].map(|r| world.clients(r)), [10, 10, 12, 12, 14, 14]);
    assert!((0..14).all(|i| !world.data(i, 5).is_empty()));
    assert!(world.malicious.iter().all(|i| *i < 10));
    // Labels stay, images change, and all stay grey values.
    let (before, after) = (digits().test, shifted(&digits().test, 1, 0));
    assert_eq!(before.labels(), after.labels());
    assert!(
        before.images() != after.images() && after.images().iter().all(|x| (0.0..=1.0).contains(x))
    );
}

pub(super) fn graph(text: &str) -> Graph {
    graph_with(text, &[("M", "DigitsNet"), ("m", "4")])
}

pub(super) fn graph_with(text: &str, sizes: &[(&str, &str)]) -> Graph {
    let mut sources = Sources::new();
    let id = sources.add("test.slvr", text);
    let bindings = sizes.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = types::Options { bindings, predicate: None, defaults: true };
    let mut none = |_: &str| Err(LoadError::NotFound);
    let checked = types::check(&mut sources, id, &options, &mut none);
    let checked = checked.unwrap_or_else(|e| panic!("{text}: {e:?}"));
    build::build(&checked.program, &sources).expect("a graph")
}

pub(super) fn shape() -> ModelShape {
    ModelShape { len: 3658, input: vec![1, 8, 8], tensors: vec![0..72, 72..80] }
}

#[test]
fn inputs_are_known_by_giver_type_and_size_and_public_weights_by_name() {
    let of = |public: &str| {
        format!(
            "use std::{{sum}};\npredicate P[M: model, m, b = 3]() {{ parties Client[m]; parties Server;\n\
             input {public}: public weights M;\n\
             input mine: secret weights M in -8..8 from each Client;\n\
             input x: secret fix[b, ..M.shape] in 0..1 from each Client;\n\
             input y: secret int[b] in 0..M.classes from each Client;\n\
             input n: secret int in 0..100 from each Client;\n\
             reveal sum(mine) + {public} to Server as a; }}"
        )
    };
    let none = BTreeMap::new();
    let roles = fill::roles(&graph(&of("guide")), &shape(), &none).expect("roles");
    assert_eq!(roles, [Role::Reference, Role::Update, Role::Images, Role::Labels, Role::Count]);
    let unknown =
        fill::roles(&graph(&of("compass")), &shape(), &none).expect_err("no name that says so");
    let FillError::Unknown { name, .. } = &unknown else { panic!("{unknown}") };
    assert!(name == "compass" && unknown.to_string().contains("--fill compass=ROLE"), "{unknown}");
    let named = [("compass".to_string(), Role::Last)].into();
    assert_eq!(
        fill::roles(&graph(&of("compass")), &shape(), &named).expect("roles")[0],
        Role::Last
    );
    let wrong = [("mine".to_string(), Role::Global)].into();
    let wrong = fill::roles(&graph(&of("guide")), &shape(), &wrong).expect_err("clients give it");
    assert!(matches!(wrong, FillError::Misfit { .. }), "{wrong}");
}

#[test]
fn what_a_server_gives_in_secret_is_the_servers_and_lists_that_may_mean_anything_are_asked_for() {
    let text = |more: &str| {
        format!(
            "use std::{{sum}};\npredicate P[M: model, m, b = 3]() {{ parties Client[m]; parties Server; parties Auditor;\n\
             input mine: secret weights M in -8..8 from each Client;\n\
             input x: secret fix[b, ..M.shape] in 0..1 from each Server;\n\
             input y: secret int[b] in 0..M.classes from each Server;\n\
             input z: secret fix[b, ..M.shape] in 0..1 from each Auditor;\n{more}\
             reveal sum(mine) to Server as a; }}"
        )
    };
    let none = BTreeMap::new();
    let graph_of = graph(&text(""));
    let roles = fill::roles(&graph_of, &shape(), &none).expect("roles");
    assert_eq!(roles, [Role::Update, Role::PublicImages, Role::PublicLabels, Role::PublicImages]);
    let public = digits().train.select(&(0..50).collect::<Vec<_>>());
    let other = digits().test.select(&(0..5).collect::<Vec<_>>());
    let updates = vec![vec![0.0; 3658]; 4];
    let (validation, zeros) = (vec![other; 4], vec![0.0; 3658]);
    let round = fill::Round {
        index: 0,
        seed: 1,
        global: &zeros,
        updates: &updates,
        validation: &validation,
        counts: &[5; 4],
        reference: &[],
        last: &zeros,
        public: &public,
    };
    let filled = fill::fill(&graph_of, &roles, &shape(), &round);
    let at = |i: usize| public.image(i).iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    assert_eq!(filled.flat[1][..64], at(3), "the server's are the public set's");
    assert_eq!(filled.flat[2][0], f64::from(public.labels()[3]));
    assert_eq!(filled.flat[3][..64], at(6), "and the auditor's are others");
    let group = "input group: public int[m] in 0..3;\n";
    let unknown = fill::roles(&graph(&text(group)), &shape(), &none).expect_err("not labels");
    assert!(unknown.to_string().contains("--fill group=ROLE"), "{unknown}");
}

/// Checks of the gallery that the rule fills only if it is told more.
const MORE: &[&str] = &[
    "gallery/auc.slvr",
    "gallery/backdoor_trigger.slvr",
    "gallery/lora.slvr",
    "gallery/regression_mse.slvr",
    "gallery/top_k_per_group.slvr",
];

#[test]
fn every_predicate_that_comes_with_the_compiler_can_be_filled() {
    let embedded = slvr_compiler::syntax::embedded::PREDICATES.iter();
    let mut refused = Vec::new();
    for (name, text) in embedded.chain(slvr_compiler::syntax::embedded::GALLERY) {
        if text.contains("[d, m") {
            continue;
        }
        let mut sources = Sources::new();
        let id = sources.add(*name, *text);
        let bindings = vec![("M".to_string(), "DigitsNet".to_string())];
        let options = types::Options { bindings, predicate: None, defaults: true };
        let mut none = |_: &str| Err(LoadError::NotFound);
        // Those whose sizes do not follow from a model alone are given them.
        let Ok(checked) = types::check(&mut sources, id, &options, &mut none) else {
            refused.push(*name);
            continue;
        };
        let graph = build::build(&checked.program, &sources).expect("a graph");
        let model = checked.program.models.first().expect("a model");
        let net = Net::of(&checked.program, &sources).expect("a chain");
        let roles = fill::roles(&graph, &fill::model_shape(&net, model), &BTreeMap::new());
        if let Err(e) = roles {
            assert!(!e.to_string().is_empty());
            refused.push(*name);
        }
    }
    assert_eq!(refused, MORE);
}
