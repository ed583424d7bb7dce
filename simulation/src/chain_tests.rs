//! [`super::chain`]: what it refuses, how it starts, and that images do not know of each other. Its values and gradients are
//! compared with those of graphs beside these ([`super::general`]).

use super::error::NetError;
use super::kernels::LANES;
use super::net::{Net, Workspace};
use super::random::{Purpose, Random};
use super::testing::{digits_net, model, program, random_chain};
use slvr_compiler::types::Body;
use slvr_compiler::types::layer::Layer;
use slvr_compiler::types::model::{Model, StepKind};

#[test]
fn random_models_have_every_kind_of_step() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let text = random_chain(&mut Random::new(seed, Purpose::Caller, [0, 0]));
        seen.extend(model("Net", &text).steps.iter().map(|step| {
            let text = match &step.kind {
                StepKind::Layer { layer, .. } => format!("{layer:?}"),
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
    let Err(refused) = Net::new(&program.models[0]) else { panic!("no layer of the compiler") };
    assert!(matches!(refused, NetError::Untrained { .. }), "{refused}");
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
    let model = digits_net();
    assert_eq!(model.len, 3658);
    let net = Net::new(&model).unwrap();
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
    let norm = Net::new(&self::model("Norm", text)).unwrap().init(7);
    assert_eq!(norm, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(weights, net.init(7));
    assert_ne!(weights, net.init(8));
}

#[test]
fn the_first_of_equal_outputs_is_predicted() {
    let text = "model Three(x: fix[2]) -> fix[3] { fc: linear[2, 3]; x |> fc }";
    let net = Net::new(&model("Three", text)).unwrap();
    let predict = |bias: [f32; 3]| {
        let weights = [&[0.0; 6][..], &bias].concat();
        net.predict(&weights, &[0.0, 0.0], &mut Workspace::default())
    };
    assert_eq!(predict([1.0, 2.0, 2.0]), [1]);
    assert_eq!(predict([0.0, 0.0, 0.0]), [0]);
}

#[test]
fn models_that_contradict_themselves_are_refused() {
    let good = digits_net();
    let refuse = |change: &dyn Fn(&mut Model)| {
        let mut model = good.clone();
        change(&mut model);
        Net::new(&model).unwrap_err()
    };
    let step = |error| match error {
        NetError::Step { step, .. } => step,
        other => panic!("{other:?}"),
    };
    assert_eq!(step(refuse(&|m| m.steps[1].shape[0] = 9)), 1);
    assert_eq!(step(refuse(&|m| m.params[0].shape[2] = 2)), 1);
    assert_eq!(step(refuse(&|m| m.params[2].offset = u64::MAX)), 4);
    let plain = |layer, x| StepKind::Layer { layer, x, params: Vec::new() };
    assert_eq!(step(refuse(&|m| m.steps[2].kind = plain(Layer::Relu, 2))), 2);
    assert_eq!(step(refuse(&|m| m.steps[2].kind = plain(Layer::Relu, 99))), 2);
    let pool = Layer::AvgPool { k: 2, stride: 0 };
    assert_eq!(step(refuse(&|m| m.steps[3].kind = plain(pool.clone(), 2))), 3);
    assert_eq!(step(refuse(&|m| m.steps[0].shape = vec![1, 8, u64::MAX])), 0);
    assert_eq!(step(refuse(&|m| m.len = 10)), 1);
    assert_eq!(refuse(&|m| m.steps.clear()), NetError::Ends);
    assert_eq!(refuse(&|m| m.steps.truncate(3)), NetError::Ends);
}

/// A model whose expressions have no derivative here is refused with a message that says what is trained.
#[test]
fn models_that_compute_expressions_are_refused() {
    let mut model = digits_net();
    let body = Body { lets: Vec::new(), values: Vec::new() };
    model.steps[2].kind = StepKind::Compute { operands: Vec::new(), body };
    "act".clone_into(&mut model.steps[2].name);
    let refused = Net::new(&model).unwrap_err();
    assert_eq!(refused, NetError::Untrained { step: 2, name: "act".into() });
    assert!(refused.to_string().contains("cannot be trained here"), "{refused}");
    let mut model = digits_net();
    if let StepKind::Layer { layer: Layer::Conv2d { pad_w, .. }, .. } = &mut model.steps[1].kind {
        *pad_w = 3;
    }
    let refused = Net::new(&model).unwrap_err();
    assert!(matches!(refused, NetError::Untrained { step: 1, .. }), "{refused}");
}
