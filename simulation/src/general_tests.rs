//! [`super::general`]: its gradients against finite differences of its own loss, and against the fast passes.

use super::data::Dataset;
use super::fill::slot;
use super::idx;
use super::net::{BATCH, Net, Workspace};
use super::random::{Purpose, Random};
use super::reverse::{Given, Tape};
use super::testing::{program, random_chain};
use super::train::{Sgd, accuracy, train};
use slvr_compiler::graph::build;
use std::sync::Arc;

/// Random samples of a model.
fn samples(net: &Net, n: usize) -> Dataset {
    let mut random = Random::new(1, Purpose::Caller, [3, 0]);
    let images = (0..n * net.input_len()).map(|_| random.uniform() as f32).collect();
    let labels = (0..n).map(|_| random.below(net.classes()) as u8).collect();
    Dataset::new(net.input().to_vec(), images, labels).expect("samples")
}

#[test]
fn both_ways_give_one_gradient() {
    let seed = std::env::var("SLVR_SEED").map_or(1, |s| s.parse().expect("a number"));
    let mut random = Random::new(seed, Purpose::Caller, [5, 0]);
    let named = ["DigitsNet", "LeNet5", "Mlp", "ResNet20[2,8]"].map(|model| (model, String::new()));
    let made = (0..60).map(|_| ("Net", random_chain(&mut random))).collect::<Vec<_>>();
    for (model, text) in named.into_iter().chain(made) {
        let (program, sources) = program(model, &text);
        let fast = Net::of(&program, &sources).expect("a chain");
        let slow = Net::general(&program, &sources).expect("a graph");
        assert!(fast.is_chain() && !slow.is_chain());
        // More than a batch of the graph, and no multiple of it.
        let data = samples(&fast, 19);
        let mut weights: Vec<f32> =
            fast.init(5).iter().map(|w| w + 0.1 * random.normal() as f32).collect();
        for param in program.models[0].params.iter().filter(|p| p.name.ends_with("running_var")) {
            let at = slot(&program.models[0], param).expect("a parameter");
            weights[at].iter_mut().for_each(|w| *w = 0.5 + random.uniform() as f32);
        }
        let (mut one, mut two) = (vec![0.0; weights.len()], vec![0.0; weights.len()]);
        let batch = (data.images(), data.labels());
        let mut space = Workspace::default();
        let a = fast.gradient(&weights, batch, data.len(), &mut one, &mut space);
        let b = slow.gradient(&weights, batch, data.len(), &mut two, &mut space);
        assert!((a - b).abs() < 1e-4 * (1.0 + a.abs()), "{model}: losses {a} and {b}");
        let length = |x: &[f32]| x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        let whole = length(&one);
        let off: Vec<f32> = one.iter().zip(&two).map(|(a, b)| a - b).collect();
        let off = length(&off);
        assert!(off < 1e-4 * whole, "seed {seed}, {model}: {off} of {whole}\n{text}");
        for param in &program.models[0].params {
            let at = slot(&program.models[0], param).expect("a parameter");
            let (one, two) = (&one[at.clone()], &two[at]);
            let off: Vec<f32> = one.iter().zip(two).map(|(a, b)| a - b).collect();
            let (off, most) = (length(&off), 1e-3 * length(one) + 1e-6 * whole);
            assert!(off <= most, "seed {seed}, {model}, {}: {off}, not {most}\n{text}", param.name);
            if param.name.contains("running_") {
                assert_eq!(length(one), 0.0, "running statistics are constants");
            }
        }
        let (p, q) = (
            fast.predict(&weights, data.images(), &mut space),
            slow.predict(&weights, data.images(), &mut space),
        );
        assert_eq!(p, q, "{model}");
    }
}

/// Also where training diverges.
#[test]
fn both_ways_keep_what_is_not_a_number() {
    let text = "model Net(x: fix[2]) -> fix[2] {
        fc: linear[2, 2]; last: linear[2, 2]; x |> fc |> relu |> last }";
    let (program, sources) = program("Net", text);
    let [fast, slow] = [Net::of, Net::general].map(|of| of(&program, &sources).expect("a model"));
    let mut space = Workspace::default();
    for hidden in [f32::NAN, -1.0, 1.0] {
        let mut weights = vec![1.0; fast.weights()];
        let bias = slot(&program.models[0], &program.models[0].params[1]).expect("a bias");
        weights[bias].fill(hidden);
        let [fast, slow] =
            [&fast, &slow].map(|net| net.logits(&weights, &[0.25, -0.25], &mut space));
        assert_eq!(fast.iter().all(|x| x.is_nan()), hidden.is_nan(), "{hidden}: {fast:?}");
        assert!(
            slow.iter().zip(&fast).all(|(a, b)| a == b || hidden.is_nan() && a.is_nan()),
            "{slow:?}"
        );
    }
}

/// Whatever its name: only those of a `batch_norm` are left alone.
#[test]
fn a_parameter_of_ones_own_is_trained() {
    let text = "model Net(x: fix[4]) -> fix[3] {\n    fc: linear[4, 3];\n    running_mean: param[3];\n    \
                let y = x |> fc;\n    y - running_mean\n}\n";
    let (program, sources) = program("Net", text);
    let net = Net::of(&program, &sources).expect("a graph");
    assert!(!net.is_chain());
    let data = samples(&net, 5);
    let weights = net.init(5);
    let mut gradient = vec![0.0; weights.len()];
    let batch = (data.images(), data.labels());
    net.gradient(&weights, batch, data.len(), &mut gradient, &mut Workspace::default());
    let model = &program.models[0];
    for param in &model.params {
        let at = slot(model, param).expect("a parameter");
        assert!(gradient[at].iter().any(|g| *g != 0.0), "{} stands still", param.name);
    }
}

/// In f64, where differences have digits left, of every entry of a random sample of weights.
#[test]
fn models_that_compute_have_the_gradient_of_differences() {
    for model in ["NormMlp", "Cnn1d", "VitTiny[8,4,16,2,2]"] {
        let (program, sources) = program(model, "");
        let net = Net::of(&program, &sources).expect("a graph");
        assert!(!net.is_chain(), "{model}");
        let tape = Tape::new(build::build(&program, &sources).expect("a graph")).expect("a tape");
        let mut random = Random::new(2, Purpose::Caller, [4, 0]);
        let count = net.input_len() * BATCH as usize;
        let images = Arc::new((0..count).map(|_| random.normal()).collect::<Vec<f64>>());
        let weights: Vec<f64> =
            net.init(3).iter().map(|w| f64::from(*w) + 0.05 * random.uniform()).collect();
        let node = tape.graph().outputs[0].node;
        let run = |weights: Vec<f64>| {
            let inputs = [Arc::new(weights), Arc::clone(&images)];
            let given = Given { inputs: &inputs, coin: &|_| Vec::new(), change: None };
            tape.forward::<f64>(&given, |_| true).expect("values")
        };
        let values = run(weights.clone());
        let len = values[node.index()].as_ref().expect("an output").len();
        let seed: Vec<f64> = (0..len).map(|_| random.normal()).collect();
        let gradient = tape.backward(&values, (node, seed.clone()), 0);
        let size = gradient.iter().map(|g| g.abs()).fold(0.0, f64::max);
        let loss = |at: usize, by: f64| {
            let mut moved = weights.clone();
            moved[at] += by;
            let values = run(moved);
            let out = values[node.index()].as_ref().expect("an output");
            out.iter().zip(&seed).map(|(y, s)| y * s).sum::<f64>()
        };
        for _ in 0..40 {
            let at = random.below(weights.len());
            let expected = (loss(at, 1e-6) - loss(at, -1e-6)) / 2e-6;
            let found = gradient[at];
            assert!(
                (found - expected).abs() < 1e-5 * size,
                "{model}, weight {at}: {found}, by differences {expected}"
            );
        }
    }
}

#[test]
fn a_model_that_computes_learns_the_digits() {
    let (program, sources) = program("NormMlp", "");
    let net = Net::of(&program, &sources).expect("a graph");
    let digits = idx::digits().expect("digits");
    let flat =
        Dataset::new(vec![64], digits.images().to_vec(), digits.labels().to_vec()).expect("flat");
    let (train_set, test): (Vec<usize>, Vec<usize>) = (0..flat.len()).partition(|i| i % 5 > 0);
    let sgd = Sgd { rate: 0.05, momentum: 0.9, batch: 32, epochs: 5 };
    let weights = train(&net, &flat.select(&train_set), &sgd, 1).expect("trains");
    let reached = accuracy(&net, &weights, &flat.select(&test)).expect("samples");
    assert!(reached > 0.9, "{reached}");
}
