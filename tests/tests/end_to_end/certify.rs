//! What is certified for given inputs: on trained models nearly all decisions, and never one that a run decides
//! otherwise.

use slvr_compiler::cost::places;
use slvr_compiler::graph::build;
use slvr_compiler::graph::eval::Inputs;
use slvr_compiler::report::given::{OnInputs, Share};
use slvr_simulation::data::Dataset;
use slvr_simulation::idx;
use slvr_simulation::lab::attacks::{Attack, Chosen, amplified};
use slvr_simulation::lab::fast::Fast;
use slvr_simulation::lab::federation::Cell;
use slvr_simulation::lab::fill::{self, Role};
use slvr_simulation::lab::knowledge::Knows;
use slvr_simulation::lab::reading::Reading;
use slvr_simulation::lab::rule::{Answers, Declared, Rule, Step};
use slvr_simulation::lab::world::{Setting, Split, World};
use slvr_simulation::net::Net;
use slvr_simulation::partition::Partition;
use slvr_simulation::train::Sgd;
use slvr_tests::accuracy::images;
use slvr_tests::{Case, committees, compile, predicate};
use std::collections::BTreeMap;

/// Goes on with the mean of the honest, and keeps the inputs of the last round.
struct Honest<'a> {
    fast: &'a Fast,
    roles: &'a [Role],
    reading: &'a Reading,
    last: Inputs,
}

impl Rule for Honest<'_> {
    type Error = &'static str;

    fn declare(&mut self, _clients: usize) -> Result<(), &'static str> {
        Ok(())
    }

    fn declared(&self) -> Declared<'_> {
        Declared { graph: self.fast.graph(), roles: self.roles, reading: self.reading }
    }

    fn ask<'a>(&'a self, _: &Step<'a>) -> Result<Answers<'a, &'static str>, &'static str> {
        Err("nobody asks")
    }

    fn reveal(&mut self, step: &Step<'_>) -> Result<Vec<(String, Vec<f64>)>, &'static str> {
        self.last = step.filled.inputs.clone();
        let at = self.roles.iter().position(|r| *r == Role::Update).ok_or("no update")?;
        let all = &step.filled.flat[at];
        let clients = all.chunks_exact(all.len() / step.malicious.len()).zip(step.malicious);
        let honest: Vec<&[f64]> = clients.filter(|(_, m)| !**m).map(|(u, _)| u).collect();
        let mean = |k: usize| honest.iter().map(|u| u[k]).sum::<f64>() / honest.len() as f64;
        Ok(vec![(self.reading.aggregate.clone(), (0..honest[0].len()).map(mean).collect())])
    }
}

/// The inputs of the last round, and who is honest. Only the honest are followed from round to round.
fn last_round(case: &Case, data: &Split, attack: &Attack, setting: Setting) -> (Inputs, Vec<bool>) {
    let model = &case.program.models[0];
    let net = Net::of(&case.program, &case.sources).expect("a chain");
    let graph = build::build(&case.program, &case.sources).expect("a graph");
    let shape = fill::model_shape(&net, model);
    let roles = fill::roles(&graph, &shape, &BTreeMap::new()).expect("roles");
    let reading = Reading::said(&graph, &shape, "aggregate").expect("an aggregate");
    let fast = Fast::new(graph, Some(0)).expect("a tape");
    let world = World::new(net, data, setting).expect("a world");
    let none = BTreeMap::new();
    let (attack, knows) = (&Chosen::of(attack), Knows::default());
    let cell = Cell { world: &world, model: &shape, attack, knows, params: &none };
    let last = Inputs::default();
    let mut rule = Honest { fast: &fast, roles: &roles, reading: &reading, last };
    let curve = cell.run(&mut rule, |_, _| ()).expect("rounds");
    println!("accuracies: {:.3?}", curve.accuracy);
    (rule.last, (0..world.setting.clients).map(|i| !world.is_malicious(i)).collect())
}

fn on_inputs(case: &Case, inputs: &Inputs, coins: &[u128]) -> OnInputs {
    let places = places(&case.program, &case.compiled.optimised, &case.sources);
    let draw = committees(coins);
    OnInputs::of(&case.compiled, &places, inputs, &draw).expect("inputs that fit")
}

/// The argmax decisions of honest clients' models.
fn of_honest(found: &OnInputs, honest: &[bool]) -> Share {
    let mut share = Share::default();
    for line in &found.certificate.lines {
        println!(
            "line {} {}: {:?}, least {:?}, {:?}",
            line.line, line.step, line.of, line.least_ratio, line.members
        );
        if line.step.contains("hits") {
            assert_eq!(line.members.len(), honest.len(), "a row for each client");
            for (of, _) in line.members.iter().zip(honest).filter(|(_, h)| **h) {
                share.certified += of.certified;
                share.decisions += of.decisions;
            }
        }
    }
    println!(
        "{:?}\n{:?}\n{:?}",
        found.certificate.histogram, found.certificate.keep, found.certificate.reveals
    );
    share
}

/// A fifth is for testing.
fn split(data: &Dataset) -> Split {
    let (test, train): (Vec<usize>, Vec<usize>) = (0..data.len()).partition(|i| i % 5 == 0);
    Split { train: data.select(&train), test: data.select(&test) }
}

/// That of the demo.
fn setting() -> Setting {
    Setting {
        clients: 10,
        part: 1.0,
        malicious: 1,
        alpha: 1.0,
        partition: Partition::default(),
        samples: usize::MAX,
        validation: 10,
        public: 100,
        test: usize::MAX,
        pretrain: 0,
        rounds: 8,
        sgd: Sgd { rate: 0.1, momentum: 0.7, batch: 8, epochs: 5 },
        shift: None,
        seed: 0,
    }
}

#[test]
fn the_digits_demo_is_certified() {
    let sizes = [("M", "DigitsNet"), ("m", "10"), ("c", "1"), ("b", "10")];
    let case = compile(predicate("slvr_accuracy"), &sizes);
    let data = split(&idx::digits().expect("embedded"));
    for attack in [&amplified::SIGN_FLIP, &amplified::NOISE] {
        let (inputs, honest) = last_round(&case, &data, attack, setting());
        let found = on_inputs(&case, &inputs, &[7]);
        let share = of_honest(&found, &honest);
        println!("{}: {share:?} of honest clients", attack.name);
        assert!(share.decisions > 0 && share.share() >= 0.95, "{}: {share:?}", attack.name);
    }
}

#[test]
fn lenet_on_mnist_is_certified() {
    let Some(data) = images("mnist/train") else {
        eprintln!("skipped: no MNIST; set SLVR_DATA to a folder that has mnist/*.gz");
        return;
    };
    let sizes = [("M", "LeNet5"), ("m", "4"), ("c", "1"), ("b", "10")];
    let case = compile(predicate("slvr_accuracy"), &sizes);
    // As many images as give a useful model in seconds.
    let data = split(&data.select(&(0..4000).collect::<Vec<_>>()));
    let sgd = Sgd { rate: 0.05, momentum: 0.9, batch: 32, epochs: 3 };
    let setting = Setting { clients: 4, rounds: 3, sgd, ..setting() };
    let (inputs, honest) = last_round(&case, &data, &amplified::SIGN_FLIP, setting);
    let found = on_inputs(&case, &inputs, &[7]);
    let share = of_honest(&found, &honest);
    println!("{share:?} of honest clients");
    assert!(share.decisions > 0 && share.share() >= 0.90, "{share:?}");
}
