//! Weights as values: in parameters, results, tuples and reveals; entry by entry; tensor by tensor.

use super::vectors::norm;
use slvr_compiler::types::eval::Tensor;
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::agree::hold;
use slvr_tests::{Case, compile, random_inputs};

/// The tensors of `Mlp[4, 3, 2]`: name and entries.
const TENSORS: [(&str, usize); 4] =
    [("fc1.weight", 12), ("fc1.bias", 3), ("fc2.weight", 6), ("fc2.bias", 2)];

fn compiled(items: &str, body: &str) -> Case {
    let text = format!(
        "use std::{{abs, clamp, flat, lower_median, max, min, norm, relu, select, sigmoid, sum, tanh}};\n\n{items}\n\
         predicate Weights[M: model, m]() {{\n    parties Client[m];\n    parties Server;\n\
         \x20   input u: secret weights M in -2..2 from each Client;\n\
         \x20   input bound: public fix[M.tensors] in 0..4;\n{body}\n}}\n"
    );
    compile(&text, &[("m", "3"), ("M", "Mlp[4, 3, 2]")])
}

/// The weights that each client gives.
fn given(inputs: &Inputs) -> Vec<Vec<f64>> {
    let of = |data: &RawData| data.to_f64();
    inputs.sets[0].iter().map(|member| of(&member["u"].data)).collect()
}

/// Runs a program and holds its outputs against what is made of the clients' weights and the public bounds.
fn holds(case: &Case, wanted: impl Fn(&[Vec<f64>], &[f64]) -> Vec<Vec<f64>>) {
    for seed in 0..20 {
        let inputs = random_inputs(case.circuit(), seed, 1.0);
        let bound = match inputs.public.get("bound").map(|t| &t.data) {
            Some(RawData::F64(v)) => v.clone(),
            _ => Vec::new(),
        };
        let floating = case.floating(&inputs, &[]);
        let wanted = wanted(&given(&inputs), &bound);
        assert_eq!(floating.len(), wanted.len());
        for (k, (found, wanted)) in floating.iter().zip(&wanted).enumerate() {
            assert_eq!(found.len(), wanted.len(), "output {k}");
            let close = found.iter().zip(wanted).all(|(x, y)| (x - y).abs() < 1e-9);
            assert!(close, "output {k}, seed {seed}: {found:?}, not {wanted:?}");
        }
        if seed < 3 {
            assert!(hold("weights", case, &inputs, seed), "only zeros");
        }
    }
}

fn each(a: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
    a.iter().map(|&x| f(x)).collect()
}

fn both(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect()
}

/// The parts of weights that are its tensors.
fn tensors(w: &[f64]) -> Vec<&[f64]> {
    let mut rest = w;
    let mut out = Vec::new();
    for (_, len) in TENSORS {
        let (one, more) = rest.split_at(len);
        out.push(one);
        rest = more;
    }
    out
}

#[test]
fn lists_and_tuples_of_weights_are_parameters_and_results() {
    let items = "\
fn mean[M: model, n](u: weights M[n]) -> weights M { sum(u) / n }
fn halves[M: model](w: weights M) -> (weights M, weights M[2]) { (w / 2, [w, -w]) }
fn second[M: model, n](all: (fix, weights M[n])) -> weights M { all.0 * all.1[1] }
";
    let body = "\
    let centre = mean(u);
    let (half, pair) = halves(centre);
    let off = [u[i] - centre for i in Client];
    reveal half to Server as half;
    reveal pair to Server as pair;
    reveal second((2, off)) to Server as second;
    reveal (centre, sum(norm(off[i]) for i in Client)) to Server as both;";
    holds(&compiled(items, body), |u, _| {
        let n = u.len() as f64;
        let centre: Vec<f64> = (0..23).map(|j| u.iter().map(|w| w[j]).sum::<f64>() / n).collect();
        let off: Vec<Vec<f64>> = u.iter().map(|w| both(w, &centre, |x, y| x - y)).collect();
        vec![
            each(&centre, |x| x / 2.0),
            [centre.clone(), each(&centre, |x| -x)].concat(),
            each(&off[1], |x| 2.0 * x),
            centre,
            vec![off.iter().map(|w| norm(w)).sum()],
        ]
    });
}

#[test]
fn functions_and_comparisons_work_on_weights_entry_by_entry() {
    let body = "\
    let (a, b) = (sum(u), max(u));
    let small = abs(a) < b;
    let kept = select(small, a, 0);
    reveal small to Server as small;
    reveal kept to Server as kept;
    reveal a * b + 1 to Server as product;
    reveal relu(a) - tanh(b) to Server as functions;
    reveal sigmoid(b) to Server as sigmoid;
    reveal clamp(a, -1, b) to Server as clamped;
    reveal select(a > 0 && !(b > 1), 1, -1) to Server as signs;
    reveal kept.fc2.bias to Server as field;
    reveal sum(small) to Server as count;
    reveal 1 / (abs(a) + 1) to Server as quotient;";
    holds(&compiled("", body), |u, _| {
        let a: Vec<f64> = (0..23).map(|j| u.iter().map(|w| w[j]).sum()).collect();
        let b: Vec<f64> =
            (0..23).map(|j| u.iter().map(|w| w[j]).fold(f64::MIN, f64::max)).collect();
        let bit = |c: bool| f64::from(u8::from(c));
        let small = both(&a, &b, |x, y| bit(x.abs() < y));
        let kept = both(&a, &small, |x, c| x * c);
        vec![
            small.clone(),
            kept.clone(),
            both(&a, &b, |x, y| x * y + 1.0),
            both(&a, &b, |x, y| x.max(0.0) - y.tanh()),
            each(&b, |x| 1.0 / (1.0 + (-x).exp())),
            both(&a, &b, |x, y| x.max(-1.0).min(y)),
            both(&a, &b, |x, y| 2.0 * bit(x > 0.0 && y <= 1.0) - 1.0),
            kept[21..].to_vec(),
            vec![small.iter().sum()],
            each(&a, |x| 1.0 / (x.abs() + 1.0)),
        ]
    });
}

#[test]
fn a_loop_over_the_tensors_of_a_model_has_one_bound_for_each() {
    let body = "\
    let size = [[norm(flat(u[i][t])) for t in M] for i in Client];
    let within = [sum(size[i][t] <= bound[t] for t in M) for i in Client];
    let inside = [weights M(u[i][t] * min([bound[t] / (size[i][t] + 0.5), 1]) for t in M) for i in Client];
    let largest = [max(max(abs(flat(u[i][t]))) for t in M if t != 1) for i in Client];
    let halved = [weights M(u[i][t] / (t + 1) for t in M) for i in Client];
    let bounded = [weights M(clamp(u[i][t], -bound[t], bound[t]) for t in M) for i in Client];
    let marked = [weights M(u[i][t] > bound[t] for t in M) for i in Client];
    reveal within to Server as within;
    reveal sum(inside) to Server as inside;
    reveal largest to Server as largest;
    reveal sum(halved) to Server as halved;
    reveal bounded to Server as bounded;
    reveal sum(marked) to Server as marked;";
    holds(&compiled("", body), |u, bound| {
        let by_tensor = |w: &[f64], f: &dyn Fn(usize, f64) -> f64| -> Vec<f64> {
            let of = |(t, x): (usize, &[f64])| each(x, |x| f(t, x));
            tensors(w).into_iter().enumerate().flat_map(of).collect()
        };
        let add = |all: Vec<Vec<f64>>| {
            all.into_iter().reduce(|a, b| both(&a, &b, |x, y| x + y)).unwrap_or_default()
        };
        let within = |w: &[f64]| {
            let parts = tensors(w);
            parts.iter().zip(bound).filter(|(x, b)| norm(x) <= **b).count() as f64
        };
        let inside = |w: &[f64]| {
            let size: Vec<f64> = tensors(w).iter().map(|x| norm(x)).collect();
            by_tensor(w, &|t, x| x * (bound[t] / (size[t] + 0.5)).min(1.0))
        };
        let largest = |w: &[f64]| {
            let parts = tensors(w);
            let but_one = [parts[0], parts[2], parts[3]].concat();
            but_one.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
        };
        vec![
            u.iter().map(|w| within(w)).collect(),
            add(u.iter().map(|w| inside(w)).collect()),
            u.iter().map(|w| largest(w)).collect(),
            add(u.iter().map(|w| by_tensor(w, &|t, x| x / (t + 1) as f64)).collect()),
            u.iter().flat_map(|w| by_tensor(w, &|t, x| x.max(-bound[t]).min(bound[t]))).collect(),
            add(u
                .iter()
                .map(|w| by_tensor(w, &|t, x| f64::from(u8::from(x > bound[t]))))
                .collect()),
        ]
    });
}

#[test]
fn weights_are_made_of_a_vector_and_of_tensors() {
    let items = "\
model Tiny(x: fix[2]) -> fix[1] {
    out: linear[2, 1];

    x |> out
}
";
    let body = "\
    let middle = weights M([lower_median([u[i][j] for i in Client]) for j in M.len]);
    let tiny = weights Tiny([[1, 2]], [3]);
    let again = weights Tiny(tiny.out.weight * 2, tiny.out.bias);
    let logits = [M(u[i] - middle, [1, -1, 0.5, 2]) for i in Client];
    reveal middle to Server as middle;
    reveal Tiny(again, [sum(logits[i][0] for i in Client), 1]) to Server as applied;
    reveal middle.fc1.bias to Server as bias;";
    let case = compiled(items, body);
    for seed in 0..3 {
        let inputs = random_inputs(case.circuit(), seed, 0.3);
        assert!(hold("weights of a vector", &case, &inputs, seed), "only zeros");
        let floating = case.floating(&inputs, &[]);
        let mut columns = Vec::new();
        for j in 0..23 {
            let mut all: Vec<f64> = given(&inputs).iter().map(|w| w[j]).collect();
            all.sort_by(f64::total_cmp);
            columns.push(all[1]);
        }
        assert_eq!(Tensor::vector(floating[0].clone()), Tensor::vector(columns.clone()));
        assert_eq!(floating[2], columns[12..15]);
    }
}

/// Weights are carried by loops, too.
#[test]
fn weights_go_from_step_to_step() {
    let body = "\
    let v = iterate v: weights M in -2..2 = u_of(u) for t in 3 {
        let near = [(u[i] - v) / max([norm(u[i] - v), 1]) for i in Client];
        v + sum(near) / m
    };
    reveal v to Server as v;
    reveal norm(v) to Server as size;";
    let items = "fn u_of[M: model, n](u: weights M[n]) -> weights M { u[0] }";
    holds(&compiled(items, body), |u, _| {
        let mut v = u[0].clone();
        for _ in 0..3 {
            let mut next = v.clone();
            for w in u {
                let off = both(w, &v, |x, y| x - y);
                let by = norm(&off).max(1.0) * u.len() as f64;
                next = both(&next, &off, |x, y| x + y / by);
            }
            v = each(&next, |x| x.clamp(-2.0, 2.0));
        }
        let size = norm(&v);
        vec![v, vec![size]]
    });
}
