//! Models among three parties: every layer in a small model of its own, the library's models, and
//! models of other files. Logits are held against floating point, over random weights and images.
//!
//! The two largest runs print their time and memory; see them with `--nocapture`.

use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::accuracy::he_weights;
use slvr_tests::agree::{close, hold};
use slvr_tests::long::{is_full, part};
use slvr_tests::{Case, bindings, compile, compile_files, predicate, random_inputs};

/// Logits of `b` images. WEIGHTS and IMAGE say who gives them.
const LOGITS: &str = "
predicate Logits[M: model, b]() {
    parties Owner;
    parties Server;

    input net:   WEIGHTS;
    input image: IMAGE;

    reveal [M(net, image[s]) for s in b] to Server as logits;
}
";

/// Who gives weights and images.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    BothSecret,
    WeightsPublic,
    ImagesPublic,
}

fn logits(given: Given) -> String {
    let weights = match given {
        Given::WeightsPublic => "public weights M",
        _ => "secret weights M in -8..8 from Owner",
    };
    let image = match given {
        Given::ImagesPublic => "public fix[b, ..M.shape] in -1..1",
        _ => "secret fix[b, ..M.shape] in -1..1 from Owner",
    };
    LOGITS.replace("WEIGHTS", weights).replace("IMAGE", image)
}

/// Random images, and weights of the case's only model in place of input `name`.
fn inputs(case: &Case, name: &str, seed: u64) -> Inputs {
    let mut inputs = random_inputs(case.circuit(), seed, 1.0);
    let givers = inputs.sets.iter_mut().flatten().chain([&mut inputs.public]);
    for (member, tensors) in givers.enumerate() {
        if let Some(RawData::F64(v)) = tensors.get_mut(name).map(|t| &mut t.data) {
            *v = he_weights(&case.program.models[0], seed.wrapping_mul(1000) + member as u64);
        }
    }
    inputs
}

/// Runs a model's logits on random inputs; the largest relative error.
fn logits_agree(title: &str, text: &str, model: &str, b: u64, given: Given, seeds: u64) -> f64 {
    let b = b.to_string();
    let case = compile(&(text.to_string() + &logits(given)), &[("M", model), ("b", &b)]);
    println!("{title}, {given:?}: seeds 0 to {}, {} rounds", seeds - 1, case.circuit().rounds());
    let (mut worst, mut telling) = (0.0f64, 0);
    for seed in 0..seeds {
        let inputs = inputs(&case, "net", seed);
        let floating = case.floating(&inputs, &[]);
        let report = case.parties(&inputs, seed);
        let found: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
        let error = close(&found, &floating);
        worst = worst.max(error.unwrap_or_else(|e| panic!("{title}, {given:?}, seed {seed}: {e}")));
        telling += u64::from(floating.iter().flatten().any(|x| *x != 0.0));
    }
    assert!(telling * 2 > seeds, "{title}: logits other than zeros in {telling} of {seeds} runs");
    println!("{title}, {given:?}: worst relative error {worst:.2e}");
    worst
}

/// A model `Net`, with the blocks before it, under all three choices of secrecy.
fn layer(title: &str, text: &str) {
    logits_agree(title, text, "Net", 3, Given::BothSecret, part(3, 8));
    logits_agree(title, text, "Net", 3, Given::WeightsPublic, part(2, 4));
    logits_agree(title, text, "Net", 3, Given::ImagesPublic, part(2, 4));
}

macro_rules! layers {
    ($($name:ident: $text:expr;)*) => {
        $(
            #[test]
            fn $name() {
                layer(stringify!($name), $text);
            }
        )*
    };
}

layers! {
    conv_stride: "
        model Net(x: fix[2, 7, 7]) -> fix[27] {
            conv: conv2d[2, 3, kernel = 3, stride = 2];
            x |> conv |> flatten
        }";
    conv_stride_leaves_a_rest: "
        model Net(x: fix[1, 8, 6]) -> fix[12] {
            conv: conv2d[1, 2, kernel = 3, stride = 2];
            x |> conv |> flatten
        }";
    conv_pad: "
        model Net(x: fix[1, 4, 4]) -> fix[72] {
            conv: conv2d[1, 2, kernel = 3, pad = 2];
            x |> conv |> flatten
        }";
    conv_pad_and_stride: "
        model Net(x: fix[3, 6, 6]) -> fix[18] {
            conv: conv2d[3, 2, kernel = 5, stride = 2, pad = 2];
            x |> conv |> flatten
        }";
    conv_stride_beyond_the_kernel: "
        model Net(x: fix[1, 7, 7]) -> fix[9] {
            conv: conv2d[1, 1, kernel = 2, stride = 3, pad = 1];
            x |> conv |> flatten
        }";
    conv_without_bias: "
        model Net(x: fix[2, 5, 5]) -> fix[27] {
            conv: conv2d[2, 3, kernel = 3, bias = 0];
            x |> conv |> flatten
        }";
    conv_of_one_pixel: "
        model Net(x: fix[4, 2, 3]) -> fix[12] {
            conv: conv2d[4, 2, kernel = 1];
            x |> conv |> flatten
        }";
    conv_of_the_whole_image: "
        model Net(x: fix[2, 3, 3]) -> fix[4] {
            conv: conv2d[2, 4, kernel = 3];
            x |> conv |> flatten
        }";
    conv_depthwise: "
        model Net(x: fix[3, 5, 4]) -> fix[120] {
            conv: conv2d[3, 6, kernel = 3, pad = 1, groups = 3];
            x |> conv |> flatten
        }";
    conv_dilated: "
        model Net(x: fix[2, 8, 7]) -> fix[48] {
            conv: conv2d[2, 3, kernel = 3, stride = 2, pad = 2, dilation = 2];
            x |> conv |> flatten
        }";
    separable_convs: "
        block Separable[cin, cout, dilation](x) {
            depth: conv2d[cin, cin, kernel = 3, pad = dilation, dilation = dilation, groups = cin, bias = 0];
            point: conv2d[cin, cout, kernel = 1, groups = 2, bias = 0];
            norm:  batch_norm[cout];
            x |> depth |> point |> norm |> relu
        }
        model Net(x: fix[2, 6, 6]) -> fix[3] {
            near: Separable[2, 4, 1];
            far:  Separable[4, 4, 2];
            head: linear[4, 3];
            x |> near |> far |> global_avg_pool |> head
        }";
    linear_only: "
        model Net(x: fix[6]) -> fix[4] {
            fc: linear[6, 4];
            x |> fc
        }";
    linear_without_bias: "
        model Net(x: fix[6]) -> fix[3] {
            fc1: linear[6, 5, bias = 0];
            fc2: linear[5, 3, bias = 0];
            x |> fc1 |> relu |> fc2
        }";
    linear_of_one: "
        model Net(x: fix[1]) -> fix[1] {
            fc: linear[1, 1];
            x |> fc
        }";
    no_layers: "
        model Net(x: fix[2, 3]) -> fix[6] {
            fc: linear[6, 6];
            x |> flatten |> identity |> fc |> identity
        }";
    relu_of_the_input: "
        model Net(x: fix[5]) -> fix[3] {
            fc: linear[5, 3];
            x |> relu |> fc |> relu
        }";
    batch_norm_of_the_input: "
        model Net(x: fix[3, 2, 2]) -> fix[12] {
            norm: batch_norm[3];
            x |> norm |> flatten
        }";
    batch_norm_after_conv: "
        model Net(x: fix[2, 5, 5]) -> fix[27] {
            conv: conv2d[2, 3, kernel = 3, bias = 0];
            norm: batch_norm[3, eps = 0.001];
            x |> conv |> norm |> relu |> flatten
        }";
    batch_norm_before_relu_and_conv: "
        model Net(x: fix[2, 5, 5]) -> fix[27] {
            norm: batch_norm[2];
            conv: conv2d[2, 3, kernel = 3];
            x |> norm |> relu |> conv |> flatten
        }";
    batch_norm_of_a_vector: "
        model Net(x: fix[4]) -> fix[3] {
            fc1:  linear[4, 5];
            norm: batch_norm[5];
            fc2:  linear[5, 3];
            x |> fc1 |> norm |> relu |> fc2
        }";
    avg_pool_tiles: "
        model Net(x: fix[2, 4, 6]) -> fix[5] {
            fc: linear[12, 5];
            x |> avg_pool[2] |> flatten |> fc
        }";
    avg_pool_with_overlap: "
        model Net(x: fix[2, 5, 7]) -> fix[12] {
            conv: conv2d[2, 2, kernel = 1];
            x |> conv |> avg_pool[3, stride = 2] |> flatten
        }";
    avg_pool_leaves_a_rest: "
        model Net(x: fix[1, 5, 5]) -> fix[8] {
            conv: conv2d[1, 2, kernel = 1];
            x |> conv |> relu |> avg_pool[2] |> flatten
        }";
    max_pool_tiles: "
        model Net(x: fix[2, 4, 4]) -> fix[8] {
            conv: conv2d[2, 2, kernel = 3, pad = 1];
            x |> conv |> relu |> max_pool[2] |> flatten
        }";
    max_pool_before_relu: "
        model Net(x: fix[2, 4, 4]) -> fix[8] {
            conv: conv2d[2, 2, kernel = 3, pad = 1];
            x |> conv |> max_pool[2] |> relu |> flatten
        }";
    max_pool_with_overlap: "
        model Net(x: fix[2, 5, 7]) -> fix[12] {
            conv: conv2d[2, 2, kernel = 1];
            x |> conv |> max_pool[3, stride = 2] |> flatten
        }";
    max_pool_step_by_step: "
        model Net(x: fix[1, 4, 4]) -> fix[9] {
            fc: linear[9, 9];
            x |> max_pool[2, stride = 1] |> flatten |> fc
        }";
    max_pool_with_gaps: "
        model Net(x: fix[1, 7, 7]) -> fix[4] {
            conv: conv2d[1, 1, kernel = 1];
            x |> conv |> max_pool[2, stride = 4] |> flatten
        }";
    max_pool_of_the_whole_image: "
        model Net(x: fix[3, 3, 3]) -> fix[3] {
            conv: conv2d[3, 3, kernel = 1];
            x |> conv |> max_pool[3] |> flatten
        }";
    global_avg_pool: "
        model Net(x: fix[2, 3, 5]) -> fix[4] {
            conv: conv2d[2, 4, kernel = 3, pad = 1];
            x |> conv |> relu |> global_avg_pool
        }";
    residual_with_identity: "
        model Net(x: fix[2, 4, 4]) -> fix[3] {
            a:  conv2d[2, 2, kernel = 3, pad = 1];
            b:  conv2d[2, 2, kernel = 3, pad = 1];
            fc: linear[32, 3];
            (x |> a |> relu |> b) + x |> relu |> flatten |> fc
        }";
    residual_with_projection: "
        model Net(x: fix[2, 4, 4]) -> fix[3] {
            a:    conv2d[2, 4, kernel = 3, stride = 2, pad = 1];
            skip: conv2d[2, 4, kernel = 1, stride = 2, bias = 0];
            fc:   linear[4, 3];
            (x |> a |> relu) + (x |> skip) |> relu |> global_avg_pool |> fc
        }";
    residual_of_a_value_with_itself: "
        model Net(x: fix[4]) -> fix[4] {
            fc: linear[4, 4];
            (x |> fc) + (x |> relu) + x
        }";
    blocks_in_blocks: "
        block ConvBn[cin, cout, kernel = 3, stride = 1](x) {
            conv: conv2d[cin, cout, kernel, stride, pad = kernel / 2, bias = 0];
            norm: batch_norm[cout];
            x |> conv |> norm
        }
        block Basic[cin, cout, stride](x) {
            first:  ConvBn[cin, cout, stride = stride];
            second: ConvBn[cout, cout];
            skip:   if stride == 1 && cin == cout { identity } else { ConvBn[cin, cout, 1, stride] };
            (x |> first |> relu |> second) + (x |> skip) |> relu
        }
        block Stage[cin, cout, stride](x) {
            down: Basic[cin, cout, stride];
            keep: Basic[cout, cout, 1];
            x |> down |> keep
        }
        model Net(x: fix[1, 6, 6]) -> fix[3] {
            stem:   ConvBn[1, 2];
            stage1: Stage[2, 2, 1];
            stage2: Stage[2, 3, 2];
            head:   linear[3, 3];
            x |> stem |> relu |> stage1 |> stage2 |> global_avg_pool |> head
        }";
    expressions: "
        model Net(x: fix[2, 6]) -> fix[3] {
            conv: conv1d[2, 4, kernel = 3, pad = 1];
            norm: layer_norm[6];
            gain: param[4];
            fcs:  [linear[6, 6] for k in 2];
            head: linear[24, 3];
            let y = x |> conv |> norm |> gelu |> fcs;
            [y[c] * gain[c] for c in 4] |> flatten |> head
        }";
    expressions_between_layers: "
        block Gated[n](x) {
            fc:   linear[n, n];
            gate: linear[n, n];
            bias: param;
            (x |> fc) * sigmoid(x |> gate) + bias
        }
        model Net(x: fix[1, 3, 4]) -> fix[3] {
            conv:  conv2d[1, 2, kernel = 2, kernel_w = 3, pad_w = 1];
            gated: Gated[4];
            fc:    linear[16, 3];
            (x |> conv |> leaky_relu |> gated) + (x |> conv) |> elu |> flatten |> fc |> log_softmax
        }";
    only_parameters: "
        model Net(x: fix[3]) -> fix[2] {
            table: param[2, 3];
            shift: param[2];
            let y = times(table, softmax(x));
            if 2 > 1 { y * shift + tanh(shift) } else { y }
        }";
    steps_and_attention: "
        model Net(x: fix[3, 2]) -> fix[2] {
            rnn:  gru[2, 2];
            attn: multihead_attention[2, 2];
            let h = x |> rnn;
            attn(h, x, h)[2]
        }";
    many_layers: "
        model Net(x: fix[6]) -> fix[4] {
            a: linear[6, 7];
            b: linear[7, 8];
            c: linear[8, 7];
            d: linear[7, 4];
            x |> a |> relu |> b |> relu |> c |> relu |> d
        }";
}

#[test]
fn library_models() {
    logits_agree("DigitsNet", "", "DigitsNet", 2, Given::BothSecret, 4);
    logits_agree("Mlp", "", "Mlp", 2, Given::BothSecret, 4);
    logits_agree("Mlp of sizes", "", "Mlp[20, classes = 3]", 2, Given::BothSecret, 4);
    logits_agree("LeNet5", "", "LeNet5", 2, Given::BothSecret, 1);
}

/// LeNet-5 with maxima, as most programs that carry its name have it.
#[test]
fn lenet_with_max_pool() {
    let text = "
        model MaxLeNet(x: fix[1, 28, 28]) -> fix[10] {
            conv1: conv2d[1, 6, kernel = 5, pad = 2];
            conv2: conv2d[6, 16, kernel = 5];
            fc1:   linear[16 * 5 * 5, 120];
            fc2:   linear[120, 84];
            fc3:   linear[84, 10];

            x |> conv1 |> relu |> max_pool[2]
              |> conv2 |> relu |> max_pool[2]
              |> flatten
              |> fc1 |> relu
              |> fc2 |> relu
              |> fc3
        }";
    for given in [Given::BothSecret, Given::WeightsPublic] {
        logits_agree("MaxLeNet", text, "MaxLeNet", 2, given, 2);
    }
}

/// The paper's check with that model: scores and norms of three clients.
#[test]
fn accuracy_of_lenet_with_max_pool() {
    let files = [(
        "lenet.slvr",
        "
        model MaxLeNet(x: fix[1, 28, 28]) -> fix[10] {
            conv1: conv2d[1, 6, kernel = 5, pad = 2];
            conv2: conv2d[6, 16, kernel = 5];
            fc:    linear[16 * 5 * 5, 10];

            x |> conv1 |> max_pool[2] |> relu |> conv2 |> max_pool[2] |> relu |> flatten |> fc
        }",
    )];
    let sizes = [("M", "lenet.slvr:MaxLeNet"), ("m", "4"), ("c", "1"), ("b", "1")];
    let case = compile_files(predicate("slvr_accuracy"), &sizes, &files);
    for seed in 0..2 {
        assert!(hold("max pool", &case, &small_updates(&case, 0.1, seed), seed), "seed {seed}");
    }
}

/// A global model as trained ones are, and updates that are a part of that size.
fn small_updates(case: &Case, part: f64, seed: u64) -> Inputs {
    let mut all = inputs(case, "global", seed);
    let updates = inputs(case, "update", seed);
    for (to, from) in all.sets.iter_mut().flatten().zip(updates.sets.iter().flatten()) {
        if let (Some(to), Some(from)) = (to.get_mut("update"), from.get("update"))
            && let (RawData::F64(to), RawData::F64(from)) = (&mut to.data, &from.data)
        {
            to.iter_mut().zip(from).for_each(|(x, y)| *x = y * part);
        }
    }
    all
}

/// Two models and blocks of a file of its own.
const NETS: &str = "
    block Half[n](x) {
        fc: linear[n, n / 2];
        x |> fc |> relu
    }
    model Plain[inputs = 5, classes = 3](x: fix[inputs]) -> fix[classes] {
        fc: linear[inputs, classes];
        x |> fc
    }
    model Halves[n](x: fix[n]) -> fix[3] {
        first:  Half[n];
        second: Half[n / 2];
        head:   linear[n / 4, 3];
        x |> first |> second |> head
    }";

/// Every predicate that takes a model takes one of another file.
#[test]
fn predicates_take_models_of_other_files() {
    let files = [("nets/own.slvr", NETS)];
    for (name, rest) in [
        ("slvr_accuracy", "m=4 c=1 b=2"),
        ("slvr_confidence", "m=4 c=1 b=2"),
        ("validation_loss", "m=4 c=1 b=2"),
        ("krum", "m=5 f=1"),
        ("norm_bound", "m=4"),
        ("cosine_similarity", "m=4"),
        ("fltrust", "m=4"),
        ("secure_aggregation", "m=3"),
    ] {
        for model in [
            "nets/own.slvr:Plain",
            "nets/own.slvr:Plain[4, classes = 2]",
            "nets/own.slvr:Halves[8]",
        ] {
            let mut sizes = vec![("M", model)];
            sizes.extend(bindings(rest));
            let case = compile_files(predicate(name), &sizes, &files);
            let title = format!("{name} {sizes:?}");
            for seed in 0..part(2, 5) {
                println!("{title}: seed {seed}");
                hold(&title, &case, &random_inputs(case.circuit(), seed, 0.1), seed);
            }
        }
    }
}

/// A model of expressions applied to the weights of each client on the images of others: its expressions have the axes of
/// clients, of committees and of samples, as layers have.
#[test]
fn expressions_of_many_clients() {
    let files = [(
        "own.slvr",
        "
        block Wide[n](x) {
            fc:   linear[n, n];
            norm: layer_norm[n];
            gain: param[n];
            let y = x |> fc |> norm;
            [x[j] + gain[j] * y[n - 1 - j] for j in n]
        }
        model Own(x: fix[1, 2, 2]) -> fix[3] {
            conv: conv2d[1, 2, kernel = 1];
            wide: [Wide[8] for k in 2];
            head: linear[8, 3];
            bias: param[3];
            (x |> conv |> silu |> flatten |> wide |> head) + 2 * tanh(bias)
        }",
    )];
    for (name, sizes) in [
        ("slvr_accuracy", vec![("m", "4"), ("c", "1"), ("b", "2")]),
        ("validation_loss", vec![("m", "4"), ("c", "2"), ("b", "2")]),
    ] {
        let sizes = [vec![("M", "own.slvr:Own")], sizes].concat();
        let case = compile_files(predicate(name), &sizes, &files);
        let mut telling = 0;
        for seed in 0..4 {
            let inputs = small_updates(&case, 0.1, seed);
            telling += u64::from(hold(name, &case, &inputs, seed));
        }
        assert!(telling > 0, "{name}: only zeros");
    }
}

/// The same model from a file and from the library gives the same circuit.
#[test]
fn where_a_model_comes_from_does_not_matter() {
    let text = slvr_compiler::syntax::embedded::get("models/mlp.slvr").expect("a library model");
    let rest = [("m", "4"), ("c", "1"), ("b", "2")];
    let circuit = |model: &'static str| {
        let sizes = [&[("M", model)][..], &rest].concat();
        let case = compile_files(predicate("slvr_accuracy"), &sizes, &[("own.slvr", text)]);
        let mut circuit = case.circuit().clone();
        // Sizes are shown as they were written, sites with their file.
        circuit.sizes.clear();
        circuit.sites.clear();
        circuit
    };
    assert!(circuit("Mlp[6, 4, 3]") == circuit("own.slvr:Mlp[6, 4, 3]"));
}

/// The score of the paper's check for two clients, each on the other's image.
const GAINS: &str = "
use std::{argmax, sum};

fn hits[M: model, b](w: weights M, image: fix[b, ..M.shape], label: int[b]) -> int {
    sum(argmax(M(w, image[s])) == label[s] for s in b)
}

predicate Gains[M: model, m, b]() {
    parties Client[m];
    parties Server;

    input global: public weights M;
    input update: secret weights M in -8..8        from each Client;
    input image:  secret fix[b, ..M.shape] in 0..1 from each Client;
    input label:  secret int[b] in 0..M.classes    from each Client;

    sample committee[1] of Client for each Client;

    let before = [hits(global, image[j], label[j]) for j in Client];
    let gain   = [sum(hits(global + update[i], image[j], label[j]) - before[j]
                      for j in committee[i]) for i in Client];

    reveal gain to Server as gain;
    reveal sum(update[i].head.weight for i in Client) to Server as head;
}
";

#[test]
#[ignore = "a minute; `resnet18_logits` runs the network with `SLVR_EFFORT=full`"]
fn resnet18_gains() {
    let case = compile(GAINS, &[("M", "ResNet18"), ("m", "2"), ("b", "1")]);
    let inputs = small_updates(&case, 0.05, 0);
    assert!(hold("ResNet-18, gains", &case, &inputs, 0));
}

/// One image through ResNet-18, weights and image secret. Every day three parties run ResNet-20, in `reference`.
#[test]
fn resnet18_logits() {
    if !is_full() {
        println!(
            "skipped: set SLVR_EFFORT=full for a network of ten million weights among three parties"
        );
        return;
    }
    let case = compile(&logits(Given::BothSecret), &[("M", "ResNet18"), ("b", "1")]);
    let inputs = inputs(&case, "net", 1);
    let floating = case.floating(&inputs, &[]);
    let report = case.parties(&inputs, 1);
    let found: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
    let error = close(&found, &floating).unwrap_or_else(|e| panic!("{e}"));
    let cut = case.compiled.cut.map_or_else(|| "no cut".into(), |c| format!("cut at 2^{}", c.top));
    println!(
        "ResNet-18: {} rounds, {cut}, {:.1} s, {} MB per party, relative error {error:.1e}",
        report.rounds,
        report.seconds,
        report.peak_memory[0] >> 20
    );
}

/// Lists of weights of any depth, and a list beside plain weights: what is revealed is one tensor, as it is in floating
/// point, and only plain weights are cut into fields.
#[test]
fn lists_of_weights_are_revealed() {
    let program = "
use std::sum;

model Tiny(x: fix[3]) -> fix[2] {
    fc: linear[3, 2];

    x |> fc
}

predicate Lists[m]() {
    parties Client[m];
    parties Server;

    input update: secret weights Tiny in -1..1 from each Client;

    reveal [sum((q + 1) * update[i] for i in Client) for q in 2] to Server as moments;
    reveal [[(q + 1) * update[i] for i in Client] for q in 2] to Server as all;
    reveal sum(update[i] for i in Client) to Server as aggregate;
}
";
    let case = compile(program, &[("m", "4")]);
    let of = |name: &str| {
        let output = case.circuit().outputs.iter().find(|o| o.name == name);
        let output = output.unwrap_or_else(|| panic!("{name}"));
        (output.shape.clone(), output.fields.len())
    };
    assert_eq!(of("moments"), (vec![2, 8], 0));
    assert_eq!(of("all"), (vec![2, 4, 8], 0));
    assert_eq!(of("aggregate"), (vec![8], 2));
    let inputs = slvr_tests::random_inputs(case.circuit(), 3, 0.4);
    assert!(hold("lists of weights", &case, &inputs, 3));
}

/// A comparison of images is numbers, 0 and 1, to a model.
#[test]
fn bits_are_a_models_input() {
    let program = "
predicate Bits[M: model, m]() {
    parties Client[m];
    parties Server;

    input update: secret weights M in -1..1         from each Client;
    input image:  secret fix[..M.shape] in 0..1     from each Client;

    reveal [M(update[i], image[i] > 0.5) for i in Client] to Server as logits;
}
";
    let case = compile(program, &[("M", "Mlp[6, 4, 3]"), ("m", "2")]);
    for seed in 0..4 {
        let inputs = slvr_tests::random_inputs(case.circuit(), seed, 1.0);
        assert!(hold("bits", &case, &inputs, seed));
    }
}
