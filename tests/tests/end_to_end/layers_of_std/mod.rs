//! Layers of `std` against their formulas in PyTorch's documentation, written out as plain loops: in floating point on random
//! weights and inputs, and among three parties.

mod images;
mod sequences;
mod small;

use slvr_compiler::types::model::Model;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::agree::hold;
use slvr_tests::{Random, compile};
use std::collections::BTreeMap;

const CHECK: &str = "
predicate Outputs() {
    parties Owner;
    parties Server;

    input net: secret weights Net in -2..2 from Owner;
    input x:   secret fix[..Net.shape] in -2..2 from Owner;

    reveal Net(net, x) to Server as outputs;
}
";

/// Random inputs that each formula is held against.
const INPUTS: u64 = 20;

/// Weights by name, with their shapes, and an input.
struct Given<'a> {
    model: &'a Model,
    weights: &'a [f64],
    x: &'a [f64],
}

impl Given<'_> {
    fn weight(&self, name: &str) -> &[f64] {
        let all = &self.model.params;
        let p = all.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no `{name}`"));
        &self.weights[p.offset as usize..][..p.shape.iter().product::<u64>() as usize]
    }
}

/// Holds a model `Net` against its formula.
fn check(net: &str, formula: impl Fn(&Given<'_>) -> Vec<f64>) {
    let case = compile(&format!("{net}\n{CHECK}"), &[]);
    let model = &case.program.models[0];
    for seed in 0..INPUTS {
        let mut random = Random::new(seed);
        let weights: Vec<f64> = (0..model.len).map(|_| random.between(-1.0, 1.0)).collect();
        let len = model.input.iter().product::<u64>();
        let x: Vec<f64> = (0..len).map(|_| random.between(-2.0, 2.0)).collect();
        let tensor = |name: &str, data: &[f64]| {
            let input = case.circuit().inputs.iter().find(|i| i.name == name).expect("an input");
            let data = RawData::F64(data.to_vec());
            (name.to_owned(), RawTensor { shape: input.shape.clone(), data })
        };
        let owner = BTreeMap::from([tensor("net", &weights), tensor("x", &x)]);
        let inputs = Inputs { public: BTreeMap::new(), sets: vec![vec![owner], vec![]] };
        let found = case.floating(&inputs, &[]).remove(0);
        let wanted = formula(&Given { model, weights: &weights, x: &x });
        assert_eq!(found.len(), wanted.len(), "{net}");
        let off = found.iter().zip(&wanted).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(off <= 1e-4, "seed {seed}: off by {off}: {found:?}, not {wanted:?}, of {net}");
        if seed == 0 {
            assert!(hold(net, &case, &inputs, seed), "only zeros: {net}");
        }
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A matrix, row after row, times a vector.
fn times(matrix: &[f64], v: &[f64]) -> Vec<f64> {
    matrix.chunks(v.len()).map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum()).collect()
}

fn plus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// Entries with mean 0 and variance 1.
fn even(x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
    x.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect()
}

#[test]
fn normalisations() {
    let net = "model Net(x: fix[3, 4]) -> fix[3, 4] { norm: layer_norm[4]; x |> norm }";
    check(net, |g| {
        let affine = |row: &[f64]| {
            let scaled: Vec<f64> =
                even(row).iter().zip(g.weight("norm.weight")).map(|(a, b)| a * b).collect();
            plus(&scaled, g.weight("norm.bias"))
        };
        g.x.chunks(4).flat_map(affine).collect()
    });
    let net = "model Net(x: fix[4, 2, 3]) -> fix[4, 2, 3] { norm: group_norm[2, 4]; x |> norm }";
    check(net, |g| {
        let y: Vec<f64> = g.x.chunks(12).flat_map(even).collect();
        let (scale, shift) = (g.weight("norm.weight"), g.weight("norm.bias"));
        y.iter().enumerate().map(|(i, y)| y * scale[i / 6] + shift[i / 6]).collect()
    });
    let net = "model Net(x: fix[5]) -> fix[5] { norm: rms_norm[5]; x |> norm }";
    check(net, |g| {
        let mean = g.x.iter().map(|x| x * x).sum::<f64>() / 5.0;
        let weight = g.weight("norm.weight");
        g.x.iter().zip(weight).map(|(x, w)| x / (mean + 1e-5).sqrt() * w).collect()
    });
}

#[test]
fn convolutions_of_sequences() {
    for (stride, pad, dilation, groups) in [(1, 0, 1, 1), (2, 2, 1, 2), (1, 1, 2, 1)] {
        let out = (6 + 2 * pad - dilation * 2 - 1) / stride + 1;
        let net = format!(
            "model Net(x: fix[2, 6]) -> fix[4, {out}] {{
                conv: conv1d[2, 4, kernel = 3, stride = {stride}, pad = {pad}, dilation = {dilation}, groups = {groups}];
                x |> conv
            }}"
        );
        check(&net, |g| {
            let depth = 2 / groups;
            let (weight, bias) = (g.weight("conv.weight"), g.weight("conv.bias"));
            let mut y = Vec::new();
            for (o, t) in (0..4).flat_map(|o| (0..out).map(move |t| (o, t))) {
                let mut sum = bias[o];
                for (i, k) in (0..depth).flat_map(|i| (0..3).map(move |k| (i, k))) {
                    let at =
                        usize::checked_sub(t * stride + k * dilation, pad).filter(|at| *at < 6);
                    let channel = o / (4 / groups) * depth + i;
                    sum += at
                        .map_or(0.0, |at| weight[(o * depth + i) * 3 + k] * g.x[channel * 6 + at]);
                }
                y.push(sum);
            }
            y
        });
    }
}

#[test]
fn transposed_convolutions() {
    for (stride, pad, more) in [(1, 0, 0), (2, 1, 1), (3, 2, 0)] {
        let out = |n: usize| (n - 1) * stride + 3 + more - 2 * pad;
        let (h, w) = (out(3), out(2));
        let net = format!(
            "model Net(x: fix[2, 3, 2]) -> fix[3, {h}, {w}] {{
                conv: conv_transpose2d[2, 3, kernel = 3, stride = {stride}, pad = {pad}, output_pad = {more}];
                x |> conv
            }}"
        );
        check(&net, |g| {
            let (weight, bias) = (g.weight("conv.weight"), g.weight("conv.bias"));
            let mut y: Vec<f64> = (0..3 * h * w).map(|i| bias[i / (h * w)]).collect();
            for (i, x) in g.x.iter().enumerate() {
                let (c, row, column) = (i / 6, i / 2 % 3, i % 2);
                for k in 0..27 {
                    let (o, a, b) = (k / 9, k / 3 % 3, k % 3);
                    let at = |n: usize, k: usize| usize::checked_sub(n * stride + k, pad);
                    if let (Some(p), Some(q)) = (at(row, a), at(column, b))
                        && p < h
                        && q < w
                    {
                        y[(o * h + p) * w + q] += x * weight[c * 27 + k];
                    }
                }
            }
            y
        });
    }
}

#[test]
fn rectangular_kernels() {
    let net = "model Net(x: fix[2, 4, 5]) -> fix[3, 1, 3] {
        conv: conv2d[2, 3, kernel = 3, stride = 2, pad = 0, kernel_w = 2, pad_w = 1];
        x |> conv
    }";
    check(net, |g| {
        let (weight, bias) = (g.weight("conv.weight"), g.weight("conv.bias"));
        let mut y = Vec::new();
        for i in 0..3 * 3 {
            let (o, q) = (i / 3, i % 3);
            let mut sum = bias[o];
            for k in 0..12 {
                let (c, a, b) = (k / 6, k / 2 % 3, k % 2);
                let column = usize::checked_sub(2 * q + b, 1).filter(|n| *n < 5);
                sum += column.map_or(0.0, |n| weight[o * 12 + k] * g.x[(c * 4 + a) * 5 + n]);
            }
            y.push(sum);
        }
        y
    });
}

#[test]
fn pooling_and_upsampling() {
    for (h, w) in [(1, 1), (2, 3), (3, 2)] {
        for (layer, start, join) in [
            ("adaptive_avg_pool", 0.0, (|a, b| a + b) as fn(f64, f64) -> f64),
            ("adaptive_max_pool", f64::NEG_INFINITY, f64::max),
        ] {
            let net = format!(
                "model Net(x: fix[2, 4, 5]) -> fix[2, {h}, {w}] {{
                    same: conv2d[2, 2, kernel = 1];
                    (x |> {layer}[{h}, {w}]) + 0 * (x |> same)[0, 0, 0]
                }}"
            );
            check(&net, |g| {
                let mut y = Vec::new();
                for i in 0..2 * h * w {
                    let (c, p, q) = (i / (h * w), i / w % h, i % w);
                    let rows = p * 4 / h..usize::div_ceil((p + 1) * 4, h);
                    let columns = q * 5 / w..usize::div_ceil((q + 1) * 5, w);
                    let count = (rows.len() * columns.len()) as f64;
                    let all = rows.flat_map(|r| columns.clone().map(move |s| (r, s)));
                    let value = all.fold(start, |v, (r, s)| join(v, g.x[(c * 4 + r) * 5 + s]));
                    y.push(if layer == "adaptive_avg_pool" { value / count } else { value });
                }
                y
            });
        }
    }
    let net = "model Net(x: fix[2, 2, 3]) -> fix[2, 6, 9] {
        same: conv2d[2, 2, kernel = 1];
        x |> same |> upsample[3]
    }";
    check(net, |g| {
        let (weight, bias) = (g.weight("same.weight"), g.weight("same.bias"));
        let at = |i: usize| {
            let (c, p, q) = (i / 54, i / 9 % 6 / 3, i % 9 / 3);
            bias[c] + (0..2).map(|d| weight[2 * c + d] * g.x[(d * 2 + p) * 3 + q]).sum::<f64>()
        };
        (0..108).map(at).collect()
    });
}

#[test]
fn recurrent_layers() {
    let step = |g: &Given<'_>, name: &str, k: usize, x: &[f64], h: &[f64]| {
        let of = |part: &str| g.weight(&format!("{name}.{part}{k}"));
        let given = plus(&times(of("weight_ih_l"), x), of("bias_ih_l"));
        let own = plus(&times(of("weight_hh_l"), h), of("bias_hh_l"));
        (given, own)
    };
    let net = "model Net(x: fix[4, 3]) -> fix[4, 2] { rnn: gru[3, 2, layers = 2]; x |> rnn }";
    check(net, |g| {
        let mut x: Vec<Vec<f64>> = g.x.chunks(3).map(<[f64]>::to_vec).collect();
        for k in 0..2 {
            let mut h = vec![0.0; 2];
            for entry in &mut x {
                let (a, b) = step(g, "rnn", k, entry, &h);
                let gate = |j: usize| sigmoid(a[j] + b[j]);
                h = (0..2)
                    .map(|j| {
                        let new = (a[4 + j] + gate(j) * b[4 + j]).tanh();
                        (1.0 - gate(2 + j)) * new + gate(2 + j) * h[j]
                    })
                    .collect();
                entry.clone_from(&h);
            }
        }
        x.concat()
    });
    // A cell of its own in a loop, and attention over the states.
    let net = "model Net(x: fix[3, 2]) -> fix[2] {
        cell: lstm_cell[2, 2];
        query: param[2];

        let (h, c, states) = iterate (
            h = [0 for j in 2], c = [0 for j in 2], states = [[0 for j in 2] for t in 3]
        ) for t in 3 {
            let (next, kept) = cell(x[t], h, c);
            (next, kept, later(states, next))
        };
        attention([query], states, states)[0]
    }";
    check(net, |g| {
        let (mut h, mut c, mut states) = (vec![0.0; 2], vec![0.0; 2], Vec::new());
        for x in g.x.chunks(2) {
            let gates = plus(
                &plus(&times(g.weight("cell.weight_ih"), x), g.weight("cell.bias_ih")),
                &plus(&times(g.weight("cell.weight_hh"), &h), g.weight("cell.bias_hh")),
            );
            c = (0..2)
                .map(|j| sigmoid(gates[2 + j]) * c[j] + sigmoid(gates[j]) * gates[4 + j].tanh())
                .collect();
            h = (0..2).map(|j| sigmoid(gates[6 + j]) * c[j].tanh()).collect();
            states.push(h.clone());
        }
        let query = g.weight("query");
        let share: Vec<f64> =
            states.iter().map(|s| (times(s, query)[0] / 2f64.sqrt()).exp()).collect();
        let total: f64 = share.iter().sum();
        (0..2).map(|j| states.iter().zip(&share).map(|(s, p)| s[j] * p / total).sum()).collect()
    });
}

#[test]
fn attention_of_another_sequence() {
    let net = "model Net(x: fix[5, 4]) -> fix[2, 4] {
        attn: multihead_attention[4, 2];
        let query = [x[i] for i in 2];
        let rest  = [x[i + 2] for i in 3];
        attn(query, rest, rest)
    }";
    check(net, |g| {
        let (w, b) = (g.weight("attn.in_proj_weight"), g.weight("attn.in_proj_bias"));
        let project =
            |third: usize, x: &[f64]| plus(&times(&w[16 * third..][..16], x), &b[4 * third..][..4]);
        let mut y = Vec::new();
        for query in g.x[..8].chunks(4) {
            let q = project(0, query);
            let mut row = Vec::new();
            for head in 0..2 {
                let part = |v: &[f64]| v[2 * head..][..2].to_vec();
                let rest: Vec<&[f64]> = g.x[8..].chunks(4).collect();
                let share: Vec<f64> = rest
                    .iter()
                    .map(|x| (times(&part(&project(1, x)), &part(&q))[0] / 2f64.sqrt()).exp())
                    .collect();
                let total: f64 = share.iter().sum();
                for j in 0..2 {
                    let of = |(x, p): (&&[f64], &f64)| part(&project(2, x))[j] * p / total;
                    row.push(rest.iter().zip(&share).map(of).sum());
                }
            }
            let out = times(g.weight("attn.out_proj.weight"), &row);
            y.extend(plus(&out, g.weight("attn.out_proj.bias")));
        }
        y
    });
}

/// Weights that two layers share, a list by its number, a tuple of parameters, and sizes that are real numbers.
#[test]
fn declarations() {
    let net = "block Gate[n, by = 0.5](x, y) { mix: param[n]; by * (x + mix * y) }
    model Net(x: fix[3]) -> fix[3] {
        fcs:  [linear[3, 3], relu];
        last: linear[3, 3, bias = 0];
        pair: [param[k + 1] for k in 2];
        gate: Gate[3, by = 0.25];

        let tied = [dot([last.weight[i, j] for i in 3], x) for j in 3];
        gate(x |> fcs[0] |> fcs[1] |> last, tied) * pair.0[0] + pair.1[1]
    }";
    check(net, |g| {
        let first = plus(&times(g.weight("fcs.0.weight"), g.x), g.weight("fcs.0.bias"));
        let first: Vec<f64> = first.iter().map(|x| x.max(0.0)).collect();
        let last = g.weight("last.weight");
        let y = times(last, &first);
        let tied: Vec<f64> =
            (0..3).map(|j| (0..3).map(|i| last[3 * i + j] * g.x[i]).sum()).collect();
        let mix = g.weight("gate.mix");
        (0..3)
            .map(|j| 0.25 * (y[j] + mix[j] * tied[j]) * g.weight("pair0")[0] + g.weight("pair1")[1])
            .collect()
    });
}
