//! Small layers: vectors by number, windows of sequences, one step of a GRU, functions of one's own.

use super::{check, plus, sigmoid, times};

#[test]
fn an_embedding_takes_the_vector_of_each_number() {
    let net = "model Net(x: fix[4]) -> fix[4, 2] { table: embedding[3, 2]; x |> table }";
    check(net, |g| {
        // The number that is nearest.
        let row = |x: &f64| x.round().clamp(0.0, 2.0) as usize;
        g.x.iter().flat_map(|x| &g.weight("table.weight")[2 * row(x)..][..2]).copied().collect()
    });
}

#[test]
fn windows_of_sequences_have_their_mean() {
    for (k, stride, out) in [(2, 2, 3), (3, 1, 5), (3, 2, 3)] {
        let net = format!(
            "model Net(x: fix[2, 7]) -> fix[2, {out}] {{
                scale: param[1];
                (x |> avg_pool1d[{k}, stride = {stride}]) * scale[0]
            }}"
        );
        check(&net, |g| {
            let window = |c: usize, t: usize| &g.x[7 * c + stride * t..][..k];
            let mean =
                |i: usize| window(i / out, i % out).iter().sum::<f64>() / k as f64 * g.weights[0];
            (0..2 * out).map(mean).collect()
        });
    }
}

#[test]
fn a_step_of_a_gru_is_its_formula() {
    let net = "model Net(x: fix[5]) -> fix[2] {
        cell: gru_cell[3, 2];
        cell([x[j] for j in 3], [x[j + 3] for j in 2])
    }";
    check(net, |g| {
        let (x, h) = g.x.split_at(3);
        let a = plus(&times(g.weight("cell.weight_ih"), x), g.weight("cell.bias_ih"));
        let b = plus(&times(g.weight("cell.weight_hh"), h), g.weight("cell.bias_hh"));
        let gate = |j: usize| sigmoid(a[j] + b[j]);
        let new = |j: usize| (a[4 + j] + gate(j) * b[4 + j]).tanh();
        (0..2).map(|j| (1.0 - gate(2 + j)) * new(j) + gate(2 + j) * h[j]).collect()
    });
}

/// With and without a size, on vectors and on images.
#[test]
fn functions_of_ones_own_are_activations() {
    let net = "fn bump(x: fix) -> fix { x * sigmoid(1.5 * x) - 0.25 }
    fn steep[by = 0.5](x: fix) -> fix { by * x + relu(x) }
    model Net(x: fix[3]) -> fix[4] {
        fc: linear[3, 4];
        x |> bump |> fc |> steep |> steep[by = 0.25] |> bump
    }";
    let net = format!("use std::{{relu, sigmoid}};\n{net}");
    check(&net, |g| {
        let bump = |x: &f64| x * sigmoid(1.5 * x) - 0.25;
        let x: Vec<f64> = g.x.iter().map(bump).collect();
        let y = plus(&times(g.weight("fc.weight"), &x), g.weight("fc.bias"));
        let steep = |by: f64, y: f64| by * y + y.max(0.0);
        y.iter().map(|y| bump(&steep(0.25, steep(0.5, *y)))).collect()
    });
}
