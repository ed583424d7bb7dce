//! [`super`]: what it refuses, how it starts, and that images do not know of each other. Its values and gradients are
//! compared with those of graphs beside these ([`crate::general`]).

use crate::kernels::LANES;
use crate::net::{Net, Workspace};
use crate::random::{Purpose, Random};
use crate::testing::{digits_net, net, program, random_chain};
use slvr_compiler::types::{ExprKind, Source};

#[test]
fn random_models_have_every_kind_of_step() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let text = random_chain(&mut Random::new(seed, Purpose::Caller, [0, 0]));
        let (program, _) = program("Net", &text);
        seen.extend(program.models[0].body.lets.iter().map(|definition| {
            let text = match &definition.source {
                Source::Value(e) => match &e.kind {
                    ExprKind::Layer(layer, _) => format!("{layer:?}"),
                    other => format!("{other:?}"),
                },
                other => format!("{other:?}"),
            };
            text.split([' ', '(']).next().unwrap_or_default().to_owned()
        }));
    }
    assert_eq!(seen.len(), 11, "{seen:?}");
}

/// The shortcuts of ResNet-20 have no weights: its layers are all that is computed.
#[test]
fn a_model_whose_expressions_only_place_is_a_chain() {
    let (program, sources) = program("ResNet20[2,8]", "");
    let net = Net::of(&program, &sources).expect("a chain");
    assert!(net.is_chain());
}

/// What is given a name inside a block is a layer or a sum as any other.
#[test]
fn a_model_with_definitions_is_a_chain() {
    let text = "block Half(x) { fc: linear[4, 4]; let y = x |> fc; let z = y |> relu; z + y }
        model Net(x: fix[4]) -> fix[3] {
            half: Half; last: linear[4, 3];
            let y = (x |> half) + x;
            y |> relu |> last
        }";
    assert!(net("Net", text).is_chain());
}

/// Images are computed side by side, and none of them knows of the others, however many there are.
#[test]
fn an_image_gives_the_same_in_a_batch_of_any_size() {
    for seed in 0..4 {
        let mut random = Random::new(seed, Purpose::Caller, [2, 0]);
        let (program, sources) = program("Net", &random_chain(&mut random));
        let net = Net::of(&program, &sources).unwrap();
        assert!(net.is_chain());
        let weights: Vec<f32> = net.init(seed).iter().map(|w| w + 0.1).collect();
        let (size, most) = (net.input_len(), 2 * LANES + 3);
        let images: Vec<f32> = (0..most * size).map(|_| random.normal() as f32).collect();
        let labels: Vec<u8> = (0..most).map(|_| random.below(net.classes()) as u8).collect();
        let mut space = Workspace::default();
        let alone: Vec<f32> =
            images.chunks(size).flat_map(|x| net.logits(&weights, x, &mut space)).collect();
        let mut each: Vec<Vec<f32>> = Vec::new();
        for (x, label) in images.chunks(size).zip(&labels) {
            let mut gradient = vec![0.0; weights.len()];
            net.gradient(&weights, (x, &[*label]), 1, &mut gradient, &mut space);
            each.push(gradient);
        }
        for n in [1, 2, LANES - 1, LANES, LANES + 1, 2 * LANES, most] {
            let got = net.logits(&weights, &images[..n * size], &mut space);
            assert_eq!(got, alone[..n * net.classes()], "{n} images, seed {seed}");
            let mut gradient = vec![0.0; weights.len()];
            let batch = (&images[..n * size], &labels[..n]);
            net.gradient(&weights, batch, n, &mut gradient, &mut space);
            for (i, g) in gradient.iter().enumerate() {
                let mean = each[..n].iter().map(|one| f64::from(one[i])).sum::<f64>() / n as f64;
                let off = (f64::from(*g) - mean).abs();
                assert!(off <= 1e-4 * (1.0 + mean.abs()), "{n} images, seed {seed}, weight {i}");
            }
        }
    }
}

#[test]
fn initial_weights_are_kaiming_uniform() {
    let (program, sources) = program("DigitsNet", "");
    let model = &program.models[0];
    assert_eq!(model.len, 3658);
    let net = Net::of(&program, &sources).unwrap();
    let weights = net.init(7);
    for (pair, fan_in) in model.params.chunks(2).zip([9, 72, 64, 32]) {
        let part = |i: usize| {
            let len = pair[i].shape.iter().product::<u64>() as usize;
            &weights[pair[i].offset as usize..][..len]
        };
        let (weight, bias) = (part(0), part(1));
        let bound = (6.0 / f64::from(fan_in)).sqrt();
        assert!(weight.iter().all(|w| f64::from(w.abs()) <= bound));
        // The variance of a uniform on ±a is a² / 3.
        let power = weight.iter().map(|w| f64::from(w * w)).sum::<f64>() / weight.len() as f64;
        assert!((power / (bound * bound / 3.0) - 1.0).abs() < 0.3, "fan-in {fan_in}");
        assert!(bias.iter().all(|b| *b == 0.0));
    }
    let text =
        "model Norm(x: fix[2, 3, 3]) -> fix[2] { n: batch_norm[2]; x |> n |> global_avg_pool }";
    let norm = self::net("Norm", text).init(7);
    assert_eq!(norm, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(weights, net.init(7));
    assert_ne!(weights, net.init(8));
}

#[test]
fn the_first_of_equal_outputs_is_predicted() {
    let text = "model Three(x: fix[2]) -> fix[3] { fc: linear[2, 3]; x |> fc }";
    let net = net("Three", text);
    let predict = |bias: [f32; 3]| {
        let weights = [&[0.0; 6][..], &bias].concat();
        net.predict(&weights, &[0.0, 0.0], &mut Workspace::default())
    };
    assert_eq!(predict([1.0, 2.0, 2.0]), [1]);
    assert_eq!(predict([0.0, 0.0, 0.0]), [0]);
}

/// What is computed otherwise has its derivative from the graph.
#[test]
fn models_of_other_layers_and_expressions_are_no_chains() {
    assert!(digits_net().is_chain());
    for step in ["x |> tanh", "x * x", "x + [1 for i in 4]", "x + w"] {
        let text = format!(
            "block step(x) {{ w: param[4]; let y = {step}; y }}
            model Net(x: fix[4]) -> fix[3] {{ step: step; last: linear[4, 3]; x |> step |> last }}"
        );
        assert!(!net("Net", &text).is_chain(), "{step}");
    }
}
