//! Models for tests.

use super::net::{BATCH, Net, PROGRAM};
use super::random::Random;
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::types::{self, Conv, Program};

/// The program that trains a model by its name: one that comes with the compiler, or one of this text.
pub(super) fn program(model: &str, text: &str) -> (Program, Sources) {
    let mut sources = Sources::new();
    let id = sources.add("train.slvr", format!("{PROGRAM}\n{text}"));
    let bindings = vec![("M".into(), model.to_string()), ("b".into(), BATCH.to_string())];
    let options = types::Options { bindings, predicate: None, defaults: false };
    let mut none = |_: &str| Err(LoadError::NotFound);
    match types::check(&mut sources, id, &options, &mut none) {
        Ok(checked) => (checked.program, sources),
        Err(d) => panic!("{model}: {}\n{text}", d[0].title),
    }
}

/// The same ready to be trained.
pub(super) fn net(model: &str, text: &str) -> Net {
    let (program, sources) = program(model, text);
    Net::of(&program, &sources).expect("a model that is trained")
}

/// A small convolutional network for 8 x 8 grey images: 3,658 weights.
pub(super) fn digits_net() -> Net {
    net("DigitsNet", "")
}

/// The text of a random model `Net` of a few layers on `[2, 6, 7]`; together they have every kind of step.
pub(super) fn random_chain(random: &mut Random) -> String {
    let mut below = |n: usize| random.below(n) as u64;
    let stride = 1 + below(2);
    let (dilation, groups) = (1 + below(2), 1 + below(2));
    let pad = below(2) + dilation - 1;
    // Blocks of channels of every size, and more than one block.
    let channels = if groups == 1 { 1 + below(8) } else { 2 + 2 * below(7) };
    let norm = ["", "|> norm "][below(2) as usize];
    // A residual block, with a 1 x 1 or a depthwise convolution inside.
    let inside = match below(2) {
        0 => "kernel = 1".to_string(),
        _ => format!("kernel = 3, pad = 2, dilation = 2, groups = {channels}"),
    };
    let residual = match below(2) {
        0 => "(x |> inner |> norm) + x",
        _ => "let y = x |> inner; let z = y |> norm; z + x",
    };
    let (k, step) = (1 + below(2), 1 + below(2));
    let pool = ["avg_pool", "max_pool"][below(2) as usize];
    let conv = Conv { stride, pad, dilation, groups };
    let side = |len| (conv.output(len, 3).expect("a kernel that fits") - k) / step + 1;
    let all = channels * side(6) * side(7);
    // Two readers of one step: gradients must add up.
    let (end, inputs) = match below(3) {
        0 => ("global_avg_pool", channels),
        1 => ("flatten", all),
        _ => ("twice |> flatten", all),
    };
    // An expression that only puts entries in places, some of them twice, some nowhere, and numbers beside them.
    let (end, inputs) = match below(2) {
        0 => (end.to_string(), inputs),
        _ => (format!("{end} |> placed"), inputs + 2),
    };
    let [a, b, c] = [0; 3].map(|_| below(2));
    format!(
        "block twice(x) {{ x + x }}
        block placed(x) {{
            let n = x.shape[0];
            concat(concat([0.5], [x[(2 * i) % n] for i in n]), [[x[n - 1 - i] for i in n][0]])
        }}
        block Residual[channels](x) {{
            inner: conv2d[channels, channels, {inside}, bias = {b}];
            norm: batch_norm[channels];
            {residual}
        }}
        model Net(x: fix[2, 6, 7]) -> fix[3] {{
            first: conv2d[2, {channels}, kernel = 3, stride = {stride}, pad = {pad}, dilation = {dilation}, \
                          groups = {groups}, bias = {a}];
            norm: batch_norm[{channels}];
            residual: Residual[{channels}];
            hidden: linear[{inputs}, 4, bias = {c}];
            last: linear[4, 3];
            x |> first {norm}|> relu |> residual |> relu |> {pool}[{k}, {step}] |> {end} |> hidden |> relu |> last
        }}"
    )
}
