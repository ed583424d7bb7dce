//! Quotients by 0, roots and logarithms of what is not positive, and exponentials that are cut: a run decides and computes there
//! what the program says (`slvr_compiler::types::domain`), whatever a pass makes of it.

use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_runtime::share::encode::RawData;
use slvr_tests::{coarse_inputs, compile_with, distance};

/// Expressions of three numbers x, y and z each, and of one more, c.
const REVEALS: [&str; 29] = [
    "[[1 / (x[i] - x[j]) for j in 3] for i in 3]",
    "[[(x[i] - x[j]) / (y[i] - y[j]) for j in 3] for i in 3]",
    "median([(x[i] - x[j]) / (y[i] - y[j]) for i in 3 for j in 3])",
    "[x[i] / (y[i] - z[i]) + x[i] / (z[i] - y[i]) for i in 3]",
    "argmax(x / norm(z))",
    "argmax(exp(x))",
    "argmax(exp(8 * x))",
    "argmax(log(x))",
    "argmax(sqrt(x))",
    "argmax(softmax(8 * x))",
    "[x[i] / abs(z[i]) < y[i] / abs(z[i]) for i in 3]",
    "[x[i] / abs(z[i]) < y[i] / abs(y[i]) for i in 3]",
    "[x[i] / (z[i]^2 + 0.7) <= y[i] / (z[i]^2 + 0.7) for i in 3]",
    "[x[i] / abs(z[i]) >= -1 / abs(z[i]) for i in 3]",
    "[0.25 / abs(c) < x[i] / abs(y[i]) for i in 3]",
    "[x[i] / abs(z[i]) < 10000000000 for i in 3]",
    "[x[i] / abs(z[i]) > -10000000000 for i in 3]",
    "[x[i] / abs(z[i]) < 0.5 for i in 3]",
    "[x[i] / abs(z[i]) > y[i] for i in 3]",
    "[1 / x[i]^2 < c * 1000000000 for i in 3]",
    "[sqrt(x[i]) < sqrt(y[i]) for i in 3]",
    "[2 * sqrt(x[i]) < sqrt(y[i]) for i in 3]",
    "[sqrt(x[i]) < 0.5 for i in 3]",
    "[sqrt(x[i]^2) < sqrt(y[i]) for i in 3]",
    "rank(sqrt(x))",
    "top_k[1](sqrt(x))",
    "median(sqrt(x))",
    "[softmax(x)[i] >= softmax(x)[i] for i in 3]",
    "[softmax(x)[i] < y[j] / abs(z[j]) for i in 3 for j in 3]",
];

/// x, y, z and c: with ties, zeros and ends.
const INPUTS: [[&[f64]; 4]; 7] = [
    [&[1.0, 1.0, 2.0], &[1.0, 1.0, 1.0], &[0.0, 0.0, 0.0], &[0.0]],
    [&[1.0, 2.0, 4.0], &[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0], &[0.5]],
    [&[-2.0, -1.0, -4.0], &[-1.0, -4.0, 0.0], &[0.0, 0.0, 0.0], &[0.0]],
    [&[-1.0, -2.0, 2.0], &[-2.0, -1.0, -4.0], &[0.0, 0.0, 2.0], &[3.0]],
    [&[0.0, 0.0, -1.0], &[0.0, -1.0, 0.0], &[0.0, 0.0, 0.0], &[4.0]],
    [&[-4.0, -3.5, -4.0], &[0.0, 0.0, 0.0], &[1.0, 0.0, -1.0], &[0.0]],
    [&[3.0, 3.5, 4.0], &[0.5, 4.0, 3.0], &[-1.0, 0.0, 1.0], &[1.0]],
];

#[test]
fn what_saturates_is_decided_as_the_program_says() {
    let mut wrong = Vec::new();
    for reveal in REVEALS {
        let text = format!(
            "use std::{{abs, argmax, exp, log, median, norm, rank, softmax, sqrt, top_k}};
predicate Corner() {{
    parties Server;
    input x: secret fix[3] in -4..4 from Server;
    input y: secret fix[3] in -4..4 from Server;
    input z: secret fix[3] in -4..4 from Server;
    input c: secret fix in -4..4 from Server;
    reveal {reveal} to Server as r;
}}
"
        );
        for target in [Options::default().target, Target::SemiHonest(Family::T1)] {
            let case = compile_with(&text, &[], Options { target, ..Options::default() });
            for values in INPUTS {
                let mut inputs = coarse_inputs(case.circuit(), 1);
                for (name, value) in ["x", "y", "z", "c"].into_iter().zip(values) {
                    if let Some(tensor) = inputs.sets[0][0].get_mut(name) {
                        tensor.data = RawData::F64(value.to_vec());
                    }
                }
                let want = case.floating(&inputs, &[]);
                let found = case.circuit_clear(&inputs, &[], 7);
                // Quotients by 0 are 2^31.
                let size = want.iter().flatten().fold(1.0, |m: f64, x| m.max(x.abs()));
                let off = distance(&want, &found);
                if off > 1e-3 * size.max(10.0) {
                    wrong.push(format!("{reveal} of {values:?}: {want:?}, and not {found:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
