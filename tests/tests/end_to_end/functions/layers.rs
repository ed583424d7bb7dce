//! Softmax, losses, pooling and normalisation.

use super::{ULP, encoded, hold, numbers};
use slvr_compiler::graph::domain;
use slvr_tests::{Random, compile};

/// Softmax, its largest entry, cross entropy and sigmoid.
#[test]
fn softmax_and_losses() {
    const ROWS: usize = 60;
    const N: usize = 10;
    let body = |x: &str, name: &str| {
        format!(
            "    reveal [max(softmax({x}[i])) for i in k] to Server as largest_{name};
    reveal [softmax({x}[i]) for i in k] to Server as all_{name};
    reveal [cross_entropy({x}[i], label[i]) for i in k] to Server as loss_{name};
    reveal [sigmoid({x}[i][0]) for i in k] to Server as sigmoid_{name};
"
        )
    };
    let text = format!(
        "use std::{{cross_entropy, max, sigmoid, softmax}};
predicate S[k, n]() {{
    parties Client;
    parties Server;
    input s: secret fix[k, n] in -40..40 from Client;
    input label: secret int[k] in 0..10 from Client;
    input p: public fix[k, n] in -2000000000..2000000000;
{}{}}}
",
        body("s", "s"),
        body("p", "p")
    );
    let case = compile(&text, &[("n", &N.to_string()), ("k", &ROWS.to_string())]);
    let mut random = Random::new(31);
    println!("seed 31");
    let z: Vec<f64> = (0..ROWS * N)
        .map(|i| match i / N {
            0 => 2.5,
            1 => f64::from(i as u32 % 2) * ULP,
            2 => f64::from(i as u32 % 10) * -4.0,
            r if r % 2 == 0 => random.between(-3.0, 3.0).floor(),
            _ => random.between(-15.0, 15.0),
        })
        .collect();
    let z = encoded(&z);
    let label: Vec<f64> = (0..ROWS).map(|i| f64::from(i as u32 % 10)).collect();
    let (mut largest, mut all, mut loss, mut sigmoid) = (vec![], vec![], vec![], vec![]);
    for (row, &label) in z.chunks(N).zip(&label) {
        let max = row.iter().copied().fold(f64::MIN, f64::max);
        let e: Vec<f64> = row.iter().map(|x| (x - max).exp()).collect();
        let sum: f64 = e.iter().sum();
        // Ten exponentials, each within 1.5 units and half a unit where it is cut.
        let off = 2.0 * ULP * N as f64;
        largest.push((1.0 / sum, 1.1 * ULP + off / (sum * sum)));
        all.extend(e.iter().map(|e| (e / sum, 4.0 * ULP + off * e / (sum * sum))));
        let nll = sum.ln() + max - row[label as usize];
        loss.push((nll, 2.0 * ULP + off / sum));
        let odds = domain::exp(-row[0]);
        sigmoid.push((1.0 / (1.0 + odds), 3.0 * ULP));
    }
    let one = [largest, all, loss, sigmoid];
    let given: [(&str, &[f64]); 3] = [("s", &z), ("p", &z), ("label", &label)];
    hold(&case, &given, &[one.clone(), one].concat());
    let count = |name: &str| {
        let g = &case.compiled.optimised;
        g.ids().filter(|&id| g.op(id).name() == name).count()
    };
    assert_eq!(count("recip"), 2, "the largest softmax is a reciprocal");
    assert_eq!((count("exp"), count("exp_non_positive")), (2, 2), "sigmoid, softmax");
}

/// Windows that overlap or not, before and after a relu, of few and of many images.
#[test]
fn pooling() {
    let text = "
model Pool(x: fix[1, 6, 6]) -> fix[8] {
    conv: conv2d[1, 2, kernel = 1];

    x |> conv |> relu |> max_pool[3, stride = 2] |> flatten
}
model Plain(x: fix[1, 6, 6]) -> fix[18] {
    conv: conv2d[1, 2, kernel = 1];

    x |> conv |> max_pool[2] |> flatten
}
predicate P[n]() {
    parties Client;
    parties Server;
    input net: public weights Pool;
    input other: secret weights Plain in -2..2 from Client;
    input image: secret fix[n, 1, 6, 6] in -8..8 from Client;
    reveal [Pool(net, image[i]) for i in n] to Server as pooled;
    reveal [Plain(other, image[i]) for i in n] to Server as plain;
}
";
    let weights = [0.75, -1.25, 0.5, -0.125];
    for n in [4, 120] {
        let case = compile(text, &[("n", &n.to_string())]);
        let image = numbers(51, n * 36, &[1.0, 1.0, -1.0, 0.0], |r| r.between(-8.0, 8.0).floor());
        let (mut pooled, mut plain) = (Vec::new(), Vec::new());
        for x in image.chunks(36) {
            for c in 0..2 {
                let y: Vec<f64> = x.iter().map(|x| weights[c] * x + weights[2 + c]).collect();
                let window = |k: usize, stride: usize, side: usize| {
                    let y = &y;
                    let corner =
                        (0..side * side).map(move |w| (w / side * stride, w % side * stride));
                    corner.map(move |(r, c)| {
                        let all = (0..k * k).map(|i| y[(r + i / k) * 6 + c + i % k]);
                        all.fold(f64::MIN, f64::max)
                    })
                };
                pooled.extend(window(3, 2, 2).map(|m| (m.max(0.0), ULP)));
                plain.extend(window(2, 2, 3).map(|m| (m, ULP)));
            }
        }
        hold(&case, &[("net", &weights), ("other", &weights), ("image", &image)], &[pooled, plain]);
        // The relu is after the pooling: on a quarter of the values or less.
        let g = &case.compiled.optimised;
        let gate = g.ids().find(|&id| g.op(id).name() == "gate").expect("a relu");
        assert_eq!(g.elements(gate), n as u64 * 8);
    }
}

/// Normalisation by a secret and by a public variance: the reciprocal of a root.
#[test]
fn batch_norm() {
    let text = "
model Norm(x: fix[2, 2, 2]) -> fix[8] {
    norm: batch_norm[2];

    x |> norm |> flatten
}
predicate B[n]() {
    parties Client;
    parties Server;
    input net: public weights Norm;
    input own: secret weights Norm in -8..8 from Client;
    input image: secret fix[n, 2, 2, 2] in -8..8 from Client;
    reveal [Norm(net, image[i]) for i in n] to Server as a;
    reveal [Norm(own, image[i]) for i in n] to Server as b;
}
";
    let case = compile(text, &[("n", "40")]);
    // weight, bias, running_mean, running_var.
    let net = encoded(&[1.5, -0.75, 0.25, 1.0, 0.5, -1.0, 0.8, 3.0]);
    let image = numbers(61, 320, &[], |r| r.between(-8.0, 8.0));
    let one: Vec<(f64, f64)> = (image.iter().enumerate())
        .map(|(i, x)| {
            let c = i / 4 % 2;
            let y = (x - net[4 + c]) / (net[6 + c] + 1e-5).sqrt() * net[c] + net[2 + c];
            (y, 64.0 * ULP)
        })
        .collect();
    let given: [(&str, &[f64]); 3] = [("net", &net), ("own", &net), ("image", &image)];
    hold(&case, &given, &[one.clone(), one]);
}
