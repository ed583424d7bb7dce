//! The reference against values computed by hand or by other loops.

use super::{EvalError, EvalInputs, Tensor, Trace, Value, trace};
use crate::syntax::embedded;
use crate::types::check::tests::{program, try_check};
use crate::types::layer::Layer;
use crate::types::{Conv, Program};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn named(all: &[(&str, Tensor)]) -> BTreeMap<String, Tensor> {
    all.iter().map(|(n, t)| ((*n).to_owned(), t.clone())).collect()
}

/// The next k members after each, round and round.
fn neighbours(&crate::types::Lots { n, k, .. }: &crate::types::Lots) -> Vec<Vec<u64>> {
    (0..n).map(|i| (1..=k).map(|d| (i + d) % n).collect()).collect()
}

fn run(p: &Program, public: &[(&str, Tensor)], clients: Vec<BTreeMap<String, Tensor>>) -> Trace {
    let inputs = EvalInputs { public: named(public), sets: vec![clients], ..Default::default() };
    trace(p, &inputs, &neighbours).unwrap_or_else(|e| panic!("{e}"))
}

/// A program of one public vector x and the library.
fn of_vector(exprs: &str, x: &[f64]) -> Trace {
    let text = format!(
        "use std::{{argmax, clamp, cosine, cross_entropy, dot, first_argmax, first_argmin, inf_norm,
            lower_median, max, mean, median, min, norm, rank, recip, relu, select, sigmoid, smallest,
            softmax, sort, sum, top_k, trimmed_mean, variance}};
        predicate P[n]() {{ parties S; input x: public fix[n]; {exprs} reveal x to S as x; }}"
    );
    let p = program(&text, &format!("n={}", x.len()));
    run(&p, &[("x", Tensor::vector(x.to_vec()))], Vec::new())
}

fn data<'t>(t: &'t Trace, name: &str) -> &'t [f64] {
    &t.get(name).unwrap_or_else(|| panic!("no {name}")).data
}

#[test]
fn order_statistics_by_hand() {
    let t = of_vector(
        "let tm = trimmed_mean[1, 2](x); let lm = lower_median(x); let md = median(x);
         let few = smallest[2](x); let s = sort(x);",
        &[5.0, -1.0, 3.0, 8.0, 4.0, 2.0],
    );
    // Sorted: -1 2 3 4 5 8.
    assert_eq!(data(&t, "s"), [-1.0, 2.0, 3.0, 4.0, 5.0, 8.0]);
    assert_eq!(data(&t, "tm"), [3.0], "2, 3 and 4 are left");
    assert_eq!(data(&t, "lm"), [3.0]);
    assert_eq!(data(&t, "md"), [3.5]);
    assert_eq!(data(&t, "few"), [-1.0, 2.0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Ranks are sorted for where a sum is recognised; the same sums, written so that they are not, count. Each is
    /// asked for of two vectors in turn, and in every way to write it.
    #[test]
    fn ranks_are_what_their_sums_count(x in proptest::collection::vec(-3i8..4, 1..30)) {
        let x: Vec<f64> = x.into_iter().map(f64::from).collect();
        let t = of_vector(
            "let y = [x[n - 1 - i] * x[0] for i in n];
             let a = [sum(x[j] <= x[i] for j in 0..i) + sum(x[j] < x[i] for j in i + 1..n)
                 + 100 * (sum(y[i] < y[j] for j in i + 1..n) + sum(y[i] <= y[j] for j in 0..i)) for i in n];
             let b = [sum(x[j] < x[i] for j in n) + sum(x[j] <= x[i] && x[i] <= x[j] for j in 0..i)
                 + 100 * (sum(y[j] > y[i] for j in n) + sum(y[j] <= y[i] && y[i] <= y[j] for j in 0..i)) for i in n];
             let c = [sum(x[i] >= x[j] for j in 0..i) + sum(x[i] > x[j] for j in i + 1..n)
                 + 100 * (sum(y[j] > y[i] for j in i + 1..n) + sum(y[j] >= y[i] for j in 0..i)) for i in n];",
            &x,
        );
        prop_assert_eq!(data(&t, "a"), data(&t, "b"));
        prop_assert_eq!(data(&t, "c"), data(&t, "b"));
    }
}

#[test]
fn ties_go_to_the_earlier_index() {
    let t = of_vector(
        "let r = rank(x); let best = top_k[2](x); let am = argmax(x);
         let hi = first_argmax(x); let lo = first_argmin(x);",
        &[1.0, 7.0, 1.0, 7.0, 3.0],
    );
    assert_eq!(data(&t, "r"), [3.0, 0.0, 4.0, 1.0, 2.0]);
    assert_eq!(data(&t, "best"), [0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!(data(&t, "am"), [1.0]);
    let zeros = of_vector("let r = rank(x);", &[0.0, -0.0, -1.0, 0.0]);
    assert_eq!(data(&zeros, "r"), [0.0, 1.0, 3.0, 2.0], "zeros of both signs are equal");
    assert_eq!(data(&t, "hi"), [0.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(data(&t, "lo"), [1.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn vectors_and_functions_by_hand() {
    let t = of_vector(
        "let n2 = norm(x); let top = inf_norm(x); let c = cosine(x, -x); let v = variance(x);
         let s = softmax(x); let ce = cross_entropy(x, 1); let pos = relu(x);
         let cl = [clamp(x[j], 0, 3.5) for j in n]; let z = recip(sum(x) + 1) + 1 / (x[0] - 3);
         let sg = sigmoid(0); let lo = min(x) - max(x); let sel = select(x > 0, x, 2 * x);",
        &[3.0, -4.0],
    );
    assert_eq!(data(&t, "n2"), [5.0]);
    assert_eq!(data(&t, "top"), [4.0]);
    assert_eq!(data(&t, "c"), [-1.0]);
    assert_eq!(data(&t, "v"), [12.25]);
    let e = (-7.0f64).exp();
    assert!((data(&t, "s")[1] - e / (1.0 + e)).abs() < 1e-15);
    assert!((data(&t, "ce")[0] - ((1.0 + e).ln() + 7.0)).abs() < 1e-12);
    assert_eq!(data(&t, "pos"), [3.0, 0.0]);
    assert_eq!(data(&t, "cl"), [3.0, 0.0]);
    assert_eq!(data(&t, "z"), [2f64.powi(32)], "2^31 twice: 1 / 0");
    assert_eq!(data(&t, "sg"), [0.5]);
    assert_eq!(data(&t, "lo"), [-7.0]);
    assert_eq!(data(&t, "sel"), [3.0, -8.0]);
}

#[test]
fn indices_and_generators() {
    let t = of_vector(
        "let pairs = [x[i] * 10 + x[j] for i in n for j in i + 1..n if (i + j) % 2 == 1];
         let idx = [i * 2 - 1 for i in n]; let eq = [i == 1 for i in n];
         let back = [x[n - 1 - i] for i in n]; let tri = [sum(x[j] for j in 0..i) for i in n];
         let whole = sum(x > 1);",
        &[1.0, 2.0, 3.0],
    );
    assert_eq!(data(&t, "pairs"), [12.0, 23.0]);
    assert_eq!(data(&t, "idx"), [-1.0, 1.0, 3.0]);
    assert_eq!(data(&t, "eq"), [0.0, 1.0, 0.0]);
    assert_eq!(data(&t, "back"), [3.0, 2.0, 1.0]);
    assert_eq!(data(&t, "tri"), [0.0, 1.0, 3.0]);
    assert_eq!(data(&t, "whole"), [2.0]);
}

#[test]
fn a_committee_reads_its_members() {
    let p = program(
        "predicate P[m, k]() {
            parties Client[m];
            parties S;
            input x: secret fix in 0..100 from each Client;
            sample committee[k] of Client for each Client;
            reveal [[x[j] - x[i] for j in committee[i]] for i in Client] to S as gain;
        }",
        "m=4 k=2",
    );
    let clients = [10.0, 20.0, 40.0, 80.0];
    let clients = clients.iter().map(|&v| named(&[("x", Tensor::scalar(v))])).collect();
    let t = run(&p, &[], clients);
    let gain = t.get("gain").expect("revealed");
    assert_eq!(gain.shape, [4, 2]);
    assert_eq!(gain.data, [10.0, 30.0, 20.0, 60.0, 40.0, -30.0, -70.0, -60.0]);
    assert_eq!(data(&t, "committee"), [1.0, 2.0, 2.0, 3.0, 3.0, 0.0, 0.0, 1.0]);
}

#[test]
fn coins_that_draw_no_committee_are_refused() {
    let p = program(
        "predicate P[m]() {
            parties Client[m];
            parties S;
            input x: public fix;
            sample committee[1] of Client for each Client;
            reveal x to S as x;
        }",
        "m=2",
    );
    let inputs = EvalInputs { public: named(&[("x", Tensor::scalar(0.0))]), ..Default::default() };
    for drawn in [vec![vec![0], vec![0]], vec![vec![1]], vec![vec![1], vec![2]]] {
        let found = trace(&p, &inputs, &|_| drawn.clone());
        assert_eq!(found, Err(EvalError::Draw("committee".into())), "{drawn:?}");
    }
    assert!(trace(&p, &inputs, &neighbours).is_ok());
}

#[test]
fn inputs_are_held_to_their_declaration() {
    let p = program(
        "use std::{sum};
        predicate P[m]() {
            parties Client[m];
            parties S;
            input k: secret int[2] in 0..3 from each Client;
            reveal sum(k) to S as total;
        }",
        "m=2",
    );
    let of = |rows: &[&[f64]]| {
        let one = |r: &&[f64]| named(&[("k", Tensor::vector(r.to_vec()))]);
        let inputs =
            EvalInputs { sets: vec![rows.iter().map(one).collect()], ..Default::default() };
        trace(&p, &inputs, &neighbours)
    };
    assert_eq!(of(&[&[0.0, 2.0], &[1.0, 1.0]]).expect("fine").reveals[0].1.data, [1.0, 3.0]);
    let value = |why, at| EvalError::Value { who: "Client 1".into(), name: "k".into(), at, why };
    assert_eq!(of(&[&[0.0, 2.0], &[1.0, 3.0]]), Err(value("out of range", 1)));
    assert_eq!(of(&[&[0.0, 2.0], &[0.5, 1.0]]), Err(value("not a whole number", 0)));
    assert_eq!(of(&[&[0.0, 2.0], &[f64::NAN, 1.0]]), Err(value("NaN", 0)));
    assert!(matches!(of(&[&[0.0, 2.0], &[1.0]]), Err(EvalError::Shape { .. })));
    assert!(matches!(of(&[&[0.0, 2.0]]), Err(EvalError::Members { found: 1, expected: 2, .. })));
    let none = EvalInputs { sets: vec![vec![BTreeMap::new(); 2]], ..Default::default() };
    assert!(matches!(trace(&p, &none, &neighbours), Err(EvalError::Missing { .. })));
}

#[test]
fn weights_come_flat_or_by_field() {
    let p = program(
        "model Net(x: fix[2]) -> fix[1] { fc: linear[2, 1]; x |> fc }
        predicate P() {
            parties S;
            input w: public weights Net;
            input x: public fix[2] in 0..10;
            reveal Net(w, x) to S as y;
            reveal w.fc.bias to S as bias;
        }",
        "",
    );
    let x = ("x", Tensor::vector(vec![10.0, 1.0]));
    let flat = run(&p, &[("w", Tensor::vector(vec![2.0, 3.0, 0.5])), x.clone()], Vec::new());
    assert_eq!(data(&flat, "y"), [23.5]);
    assert_eq!(data(&flat, "bias"), [0.5]);
    let weight = Tensor { shape: vec![1, 2], data: vec![2.0, 3.0] };
    let fields = [("w.fc.weight", weight), ("w.fc.bias", Tensor::vector(vec![0.5])), x];
    assert_eq!(run(&p, &fields, Vec::new()), flat);
}

/// A layer applied to a value, its parameters one after another in `weights`.
fn one_layer(
    of: &Layer,
    (shape, x): (&[u64], &[f64]),
    weights: &[f64],
    output: &[u64],
) -> Result<Vec<f64>, EvalError> {
    let mut rest = weights;
    let mut params = Vec::new();
    for (_, shape) in of.params() {
        let (first, others) = rest.split_at(shape.iter().product::<u64>() as usize);
        params.push(Value::new(shape, first.to_vec()));
        rest = others;
    }
    let x = Value::new(shape.to_vec(), x.to_vec());
    super::model::layer(of, &x, &params, output).map(|y| y.entries().to_vec())
}

proptest! {
    #[test]
    fn conv2d_is_the_sum_over_its_window(
        (cin, cout, kh, kw, h, w) in (1u64..3, 1u64..3, 1u64..4, 1u64..4, 3u64..7, 3u64..7),
        (stride, pad, pad_w, dilation, groups) in (1u64..4, 0u64..3, 0u64..3, 1u64..4, 1u64..4),
        seed in 0u64..1000,
    ) {
        let reach = |k| dilation * (k - 1) + 1;
        prop_assume!(h + 2 * pad >= reach(kh) && w + 2 * pad_w >= reach(kw));
        let oh = (h + 2 * pad - reach(kh)) / stride + 1;
        let ow = (w + 2 * pad_w - reach(kw)) / stride + 1;
        let conv = Conv { stride, pad, dilation, groups };
        // Of one group.
        let (depth, each) = (cin, cout);
        let (cin, cout) = (cin * groups, cout * groups);
        let of = Layer::Conv2d { cin, cout, kernel: [kh, kw], conv, pad_w, bias: true };
        prop_assert_eq!(of.output(&[cin, h, w]), Ok(vec![cout, oh, ow]));
        let noise = |i: u64| ((i * 7919 + seed * 31) % 17) as f64 - 8.0;
        let weights: Vec<f64> = (0..cout * depth * kh * kw + cout).map(noise).collect();
        let x: Vec<f64> = (0..cin * h * w).map(|i| noise(i + 5)).collect();
        let y = one_layer(&of, (&[cin, h, w], &x), &weights, &[cout, oh, ow]).expect("shapes fit");
        let mut at = 0;
        for o in 0..cout {
            for r in 0..oh {
                for c in 0..ow {
                    let mut sum = weights[(cout * depth * kh * kw + o) as usize];
                    for i in 0..depth {
                        for ky in 0..kh {
                            for kx in 0..kw {
                                let row = (r * stride + ky * dilation).checked_sub(pad).filter(|&v| v < h);
                                let col = (c * stride + kx * dilation).checked_sub(pad_w).filter(|&v| v < w);
                                if let (Some(row), Some(col)) = (row, col) {
                                    let at = ((o * depth + i) * kh + ky) * kw + kx;
                                    let i = o / each * depth + i;
                                    sum += weights[at as usize] * x[((i * h + row) * w + col) as usize];
                                }
                            }
                        }
                    }
                    prop_assert_eq!(y[at], sum, "channel {} at {}, {}", o, r, c);
                    at += 1;
                }
            }
        }
        prop_assert_eq!(at, y.len());
    }
}

#[test]
fn batch_norm_and_pools_by_hand() {
    let norm = Layer::BatchNorm { channels: 2, eps: 1.0 };
    let weights = [2.0, 3.0, 0.5, -1.0, 1.0, 4.0, 3.0, 8.0];
    let x = [1.0, 3.0, 4.0, 7.0];
    let y = one_layer(&norm, (&[2, 1, 2], &x), &weights, &[2, 1, 2]).expect("shapes fit");
    assert_eq!(y, [0.5, 2.5, -1.0, 2.0]);

    let image: Vec<f64> = (1..=9).map(f64::from).collect();
    let pool = |of: Layer, out: &[u64]| {
        one_layer(&of, (&[1, 3, 3], &image), &[], out).expect("shapes fit")
    };
    assert_eq!(pool(Layer::AvgPool { k: 2, stride: 1 }, &[1, 2, 2]), [3.0, 4.0, 6.0, 7.0]);
    assert_eq!(pool(Layer::MaxPool { k: 2, stride: 2 }, &[1, 1, 1]), [5.0]);
    assert_eq!(pool(Layer::GlobalAvgPool, &[1]), [5.0]);
    assert!(one_layer(&Layer::Relu, (&[1, 3, 3], &image), &[], &[4]).is_err());
}

/// Every entry of every input is drawn from a small set of exact numbers.
fn inputs_for(p: &Program) -> EvalInputs {
    let mut inputs = EvalInputs { sets: vec![Vec::new(); p.parties.len()], ..Default::default() };
    let mut state = 1u64;
    for s in &p.body {
        let crate::types::Stmt::Input { var, range, from } = s else { continue };
        let v = &p.vars[var.0 as usize];
        let mut draw = |shape: &[u64]| {
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let unit = (state >> 40) as f64 / (1u64 << 24) as f64;
                let (lo, hi) = (range.0.max(-1.0), range.1.min(1.0));
                match v.ty.elem {
                    crate::types::Elem::Fix => (lo + (hi - lo) * unit) * 0.1,
                    _ => (range.0 + (range.1 - range.0 + 1.0) * unit).floor(),
                }
            };
            let data = (0..shape.iter().product::<u64>()).map(|_| next()).collect();
            Tensor { shape: shape.to_vec(), data }
        };
        let shape = v.ty.shape();
        match from {
            None => {
                inputs.public.insert(v.name.clone(), draw(&shape));
            }
            Some(set) => {
                let members = &mut inputs.sets[set.0 as usize];
                members.resize(shape[0] as usize, BTreeMap::new());
                members.iter_mut().for_each(|m| {
                    m.insert(v.name.clone(), draw(&shape[1..]));
                });
            }
        }
    }
    inputs
}

#[test]
fn slvr_accuracy_keeps_the_best_of_the_short() {
    let text = embedded::get("slvr_accuracy.slvr").expect("embedded");
    let p = program(text, "m=10 c=1 b=10 M=LeNet5");
    let t = trace(&p, &inputs_for(&p), &neighbours).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(data(&t, "best").iter().sum::<f64>(), 9.0, "m - c are best");
    for ((keep, small), best) in
        data(&t, "keep").iter().zip(data(&t, "small")).zip(data(&t, "best"))
    {
        assert_eq!(*keep, small * best);
    }
    // The score by another way: the members' hits, sorted, without one at each end as c says.
    let before = data(&t, "before");
    assert!(before.iter().all(|h| (0.0..=10.0).contains(h) && h.fract() == 0.0));
    for (row, score) in data(&t, "gain").chunks(3).zip(data(&t, "score")) {
        let mut row = row.to_vec();
        row.sort_by(f64::total_cmp);
        assert_eq!((row[0] + row[1]) / 2.0, *score);
    }
    assert_eq!(t.reveals[0].1.shape, [61_706]);
}

#[test]
fn every_predicate_evaluates() {
    for (name, text) in embedded::PREDICATES {
        let p = try_check(text, "", true).unwrap_or_else(|e| panic!("{name}: {e}")).program;
        let t = trace(&p, &inputs_for(&p), &neighbours).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(!t.reveals.is_empty());
        let mut revealed = t.reveals.iter();
        for s in &p.body {
            if let crate::types::Stmt::Reveal { value, .. } = s {
                let (_, tensor) = revealed.next().expect("one per reveal");
                assert_eq!(tensor.shape, value.ty.shape(), "{name}");
                assert_eq!(tensor.data.len() as u64, tensor.shape.iter().product::<u64>());
            }
        }
    }
}
