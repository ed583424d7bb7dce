//! Largest, smallest and sorted bits are bits: in every place where a bit is read, secret and public.

use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_runtime::share::encode::RawTensor;
use slvr_tests::agree::{close, hold};
use slvr_tests::{compile_with, random_inputs};

/// What is revealed of five bits `b`, beside numbers `k`, and what it is.
type Row = (&'static str, fn(&[f64], &[f64]) -> Vec<f64>);

fn any(b: &[f64]) -> f64 {
    b.iter().copied().fold(0.0, f64::max)
}

fn all(b: &[f64]) -> f64 {
    b.iter().copied().fold(1.0, f64::min)
}

fn sorted(b: &[f64]) -> Vec<f64> {
    let mut sorted = b.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Of bits, whether those that are 1 have more than half of the weight.
fn heavier(b: &[f64], k: &[f64]) -> f64 {
    let of = |bit: f64| b.iter().zip(k).filter(|(b, _)| **b == bit).map(|(_, k)| k).sum::<f64>();
    f64::from(of(1.0) > of(0.0))
}

const ROWS: &[Row] = &[
    ("[max(b) && !b[i] for i in Client]", |b, _| b.iter().map(|x| any(b) * (1.0 - x)).collect()),
    ("[max(b) == b[i] for i in Client]", |b, _| {
        b.iter().map(|x| f64::from(*x == any(b))).collect()
    }),
    ("[min(b) != b[i] for i in Client]", |b, _| {
        b.iter().map(|x| f64::from(*x != all(b))).collect()
    }),
    ("select(max(b), k, [0 for i in Client])", |b, k| k.iter().map(|k| k * any(b)).collect()),
    ("select(min(b), max(b), !min(b))", |b, _| vec![if all(b) == 1.0 { any(b) } else { 1.0 }]),
    ("concat(b, sort(b))", |b, _| [b.to_vec(), sorted(b)].concat()),
    ("[max([b[i], max(b)]) for i in Client]", |b, _| vec![any(b); 5]),
    ("[min([b[i], max(b)]) for i in Client]", |b, _| b.to_vec()),
    ("iterate a = false for j in Client { max([a, b[j]]) }", |b, _| vec![any(b)]),
    ("iterate a = true for j in Client { min([a, b[j]]) && max([b[j], a]) }", |b, _| vec![all(b)]),
    ("[max(b[j] for j in Client if j != i) for i in Client]", |b, _| {
        (0..5).map(|i| any(&[&b[..i], &b[i + 1..]].concat())).collect()
    }),
    // Of fewer for some than for others.
    ("[min(b[j] for j in Client if j <= i) || b[i] for i in Client]", |b, _| {
        (0..5).map(|i| all(&b[..=i]).max(b[i])).collect()
    }),
    ("max([b[i], !b[i]] for i in Client)", |b, _| vec![any(b), 1.0 - all(b)]),
    ("[lower_median(b) || min(b), smallest[2](b)[1] && max(b)]", |b, _| {
        vec![sorted(b)[2].max(all(b)), sorted(b)[1]]
    }),
    ("[weighted_median(b, k) && b[i] for i in Client]", |b, k| {
        b.iter().map(|x| heavier(b, k) * x).collect()
    }),
    // Read as numbers.
    ("sum(k) * max(b) + sum(sort(b)) - trimmed_mean[1, 1](b)", |b, k| {
        let (ones, middle) = (b.iter().sum::<f64>(), &sorted(b)[1..4]);
        vec![k.iter().sum::<f64>() * any(b) + ones - middle.iter().sum::<f64>() / 3.0]
    }),
    ("max([true])", |_, _| vec![1.0]),
    ("[max([b[i]]) && sort([b[i]])[0] for i in Client]", |b, _| b.to_vec()),
];

fn numbers(tensor: &RawTensor) -> Vec<f64> {
    tensor.data.to_f64()
}

fn program(input: &str) -> String {
    let mut text = format!(
        "use std::{{concat, lower_median, max, min, select, smallest, sort, sum, trimmed_mean, weighted_median}};\n\n\
         predicate Bits[m]() {{\n    parties Client[m];\n    parties Server;\n    {input}\n    \
         input k: secret int in 1..9 from each Client;\n    \
         state seen: secret bit = 0;\n    store max(b) && !seen as seen;\n    reveal seen to Server as seen;\n"
    );
    for (n, (value, _)) in ROWS.iter().enumerate() {
        text += &format!("    let r{n} = {value};\n    reveal r{n} to Server as r{n};\n");
    }
    text + "}\n"
}

#[test]
fn extrema_and_sorts_of_bits_are_bits() {
    let inputs = [
        "input b: secret bit from each Client;",
        "input b: public bit[m];",
        "input b: public bit from each Client;",
    ];
    let families = [Options::default().target, Target::SemiHonest(Family::T1)];
    for (input, target) in inputs.iter().flat_map(|i| families.map(|f| (i, f))) {
        let options = Options { target, ..Options::default() };
        let case = compile_with(&program(input), &[("m", "5")], options);
        for seed in 0..4 {
            let inputs = random_inputs(case.circuit(), seed, 1.0);
            let of_each = |name: &str| -> Vec<f64> {
                inputs.sets[0]
                    .iter()
                    .flat_map(|member| member.get(name).map_or(Vec::new(), numbers))
                    .collect()
            };
            let mut b: Vec<f64> = inputs.public.get("b").map_or_else(|| of_each("b"), numbers);
            // Of whether they take part: everybody does.
            if b.is_empty() {
                b = vec![1.0; 5];
            }
            let k = of_each("k");
            let outputs = case.floating(&inputs, &[]);
            for ((value, wanted), found) in ROWS.iter().zip(&outputs[1..]) {
                let wanted = wanted(&b, &k);
                let near = found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-9);
                assert!(
                    near && found.len() == wanted.len(),
                    "{value} of {b:?} and {k:?}: {found:?}, not {wanted:?}"
                );
            }
            let exact = case.graph_exact(&inputs, &[]);
            close(&exact, &outputs).unwrap_or_else(|why| panic!("{input}: {why}"));
            assert_eq!(exact, case.circuit_clear(&inputs, &[], seed), "{input}");
            hold(input, &case, &inputs, seed);
        }
    }
}
