//! What is certified for given inputs: on trained models nearly all decisions, and never one that a run decides
//! otherwise.

use slvr_compiler::cost::places;
use slvr_compiler::report::given::{OnInputs, Share};
use slvr_runtime::share::encode::{Inputs, RawTensor};
use slvr_simulation::data::Dataset;
use slvr_simulation::federated::{Config, Poison, Simulation};
use slvr_simulation::idx;
use slvr_simulation::train::Sgd;
use slvr_tests::accuracy::images;
use slvr_tests::{Case, committees, compile, graph_inputs, predicate};
use std::collections::BTreeMap;

/// What clients and server of a round give.
struct Given<'a> {
    global: &'a [f32],
    updates: &'a [Vec<f32>],
    images: &'a [Vec<f32>],
    labels: &'a [Vec<u8>],
}

fn inputs(round: &Given<'_>, image: &[usize]) -> Inputs {
    let reals = |x: &[f32]| x.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
    let weights = round.global.len() as u64;
    let member = |i: usize| {
        let b = round.labels[i].len() as u64;
        let mut shape = vec![b];
        shape.extend(image.iter().map(|&d| d as u64));
        let labels = round.labels[i].iter().map(|&l| i64::from(l)).collect();
        BTreeMap::from([
            ("update".into(), RawTensor::reals([weights], reals(&round.updates[i]))),
            ("image".into(), RawTensor::reals(shape, reals(&round.images[i]))),
            ("label".into(), RawTensor::integers([b], labels)),
        ])
    };
    let global = RawTensor::reals([weights], reals(round.global));
    Inputs {
        public: BTreeMap::from([("global".into(), global)]),
        sets: vec![(0..round.updates.len()).map(member).collect(), Vec::new()],
    }
}

/// The inputs of the last round, and who is honest. Only the honest are followed from round to round.
fn last_round(case: &Case, data: &Dataset, config: Config) -> (Inputs, Vec<bool>) {
    let model = &case.program.models[0];
    let (rounds, clients) = (config.rounds, config.clients);
    let simulation = Simulation::new(model, data, config).expect("a simulation");
    let honest: Vec<bool> = (0..clients).map(|i| !simulation.poisoners().contains(&i)).collect();
    let mut global = simulation.start().weights().to_vec();
    for index in 0..rounds {
        let updates = simulation.updates(&global, index);
        if index + 1 == rounds {
            let (images, labels) = simulation.validation(index);
            println!("accuracy before the last round: {:.3}", simulation.accuracy(&global));
            let given =
                Given { global: &global, updates: &updates, images: &images, labels: &labels };
            return (inputs(&given, data.shape()), honest);
        }
        let count = honest.iter().filter(|h| **h).count() as f32;
        for (update, _) in updates.iter().zip(&honest).filter(|(_, h)| **h) {
            global.iter_mut().zip(update).for_each(|(g, u)| *g += u / count);
        }
    }
    unreachable!("at least one round")
}

fn on_inputs(case: &Case, inputs: &Inputs, coins: &[u128]) -> OnInputs {
    let places = places(&case.program, &case.compiled.optimised, &case.sources);
    let draw = committees(coins);
    OnInputs::of(&case.compiled, &places, &graph_inputs(inputs), &draw).expect("inputs that fit")
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

#[test]
fn the_digits_demo_is_certified() {
    let sizes = [("M", "DigitsNet"), ("m", "10"), ("c", "1"), ("b", "10")];
    let case = compile(predicate("slvr_accuracy"), &sizes);
    let data = idx::digits().expect("embedded");
    for poison in [Poison::SIGN_FLIP, Poison::NOISE] {
        let (inputs, honest) = last_round(&case, &data, Config { poison, ..Config::default() });
        let found = on_inputs(&case, &inputs, &[7]);
        let share = of_honest(&found, &honest);
        println!("{poison:?}: {share:?} of honest clients");
        assert!(share.decisions > 0 && share.share() >= 0.95, "{poison:?}: {share:?}");
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
    let data = data.select(&(0..4000).collect::<Vec<_>>());
    let config = Config {
        clients: 4,
        rounds: 3,
        sgd: Sgd { rate: 0.05, momentum: 0.9, batch: 32, epochs: 3 },
        ..Config::default()
    };
    let (inputs, honest) = last_round(&case, &data, config);
    let found = on_inputs(&case, &inputs, &[7]);
    let share = of_honest(&found, &honest);
    println!("{share:?} of honest clients");
    assert!(share.decisions > 0 && share.share() >= 0.90, "{share:?}");
}
