//! Precision follows the values: every predicate on updates of norm 1e-4 up to the declared limit, against the
//! program in floating point, in the 2-norm of the whole aggregate.
//!
//! A run whose decisions fall as in floating point is within 2^-8 of it, and one whose decisions fall otherwise has
//! a comparison within its stated margin, also among three parties. So that this says something, most runs are of the
//! first kind.
//!
//! `SLVR_COUNT=1000 cargo test --release -p slvr-tests --test end_to_end precision -- --nocapture` is the long run;
//! it prints a table. A failing test prints the predicate, the norm and the seed.

use slvr_compiler::analysis::errors::{Errors, errors, input_errors};
use slvr_compiler::cost::Cost;
use slvr_compiler::graph::eval;
use slvr_compiler::pipeline::{Fine, Options};
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_compiler::types::Elem;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::agree::TOLERANCE;
use slvr_tests::{
    Case, Random, committees, compile, compile_with, graph_inputs, margins, predicate,
    random_inputs, sizes,
};

/// Norms of updates; the last stands for the declared limit.
const NORMS: [f64; 6] = [1e-4, 1e-3, 1e-2, 0.1, 1.0, f64::INFINITY];

fn runs() -> u64 {
    slvr_tests::long::count(4)
}

/// A vector of a given norm, or with every entry at an end of the range.
fn stretch(tensor: &mut RawTensor, norm: f64, random: &mut Random) {
    let RawData::F64(v) = &mut tensor.data else { return };
    if norm.is_infinite() {
        // At an end for one in three.
        let end = 8.0 * random.between(0.7, 1.15).min(1.0);
        v.iter_mut().for_each(|x| *x = if *x < 0.0 { -end } else { end });
        return;
    }
    let norm = norm * random.between(0.8, 1.2);
    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    v.iter_mut().for_each(|x| *x = (*x * norm / length).clamp(-8.0, 8.0));
}

/// Inputs with updates, and the vectors that they are compared with, of a norm.
fn inputs(case: &Case, norm: f64, seed: u64) -> Inputs {
    let mut inputs = random_inputs(case.circuit(), seed, 1.0);
    let mut random = Random::new(!seed);
    // Honest updates point the same way, more or less.
    let towards = inputs.public.get("guide").or(inputs.public.get("centre")).cloned();
    for name in ["guide", "centre"] {
        if let Some(tensor) = inputs.public.get_mut(name) {
            stretch(tensor, norm, &mut random);
        }
    }
    if let Some(RawData::F64(v)) = inputs.public.get_mut("global").map(|t| &mut t.data) {
        v.iter_mut().for_each(|x| *x /= 8.0);
    }
    for tensors in inputs.sets.iter_mut().flatten() {
        let Some(tensor) = tensors.get_mut("update") else { continue };
        if let (RawData::F64(v), Some(RawData::F64(to))) =
            (&mut tensor.data, towards.as_ref().map(|t| &t.data))
        {
            v.iter_mut().zip(to).for_each(|(x, to)| *x += to);
        }
        stretch(tensor, norm, &mut random);
    }
    inputs
}

/// The difference of all reals that are revealed, relative to their size; `None` if they are 0 in the program.
fn relative(case: &Case, found: &[Vec<f64>], wanted: &[Vec<f64>]) -> Option<f64> {
    let fix = |i: &usize| {
        let graph = &case.compiled.graph;
        graph.ty(graph.outputs[*i].node).elem == Elem::Fix
    };
    let (mut off, mut size) = (0.0, 0.0);
    for i in (0..wanted.len()).filter(fix) {
        for (x, y) in found[i].iter().zip(&wanted[i]) {
            off += (x - y).powi(2);
            size += y.powi(2);
        }
    }
    (size > 0.0).then(|| (off / size).sqrt())
}

/// What one predicate does at one norm.
#[derive(Default)]
struct Tally {
    /// Runs that decide as floating point does and reveal something.
    telling: u64,
    /// Runs that reveal nothing.
    nothing: u64,
    /// Runs with a decision that falls otherwise.
    otherwise: u64,
    worst: f64,
    /// What is wrong with runs.
    wrong: Vec<String>,
}

struct Held<'a> {
    name: &'a str,
    case: &'a Case,
    errors: Errors,
}

impl Held<'_> {
    /// The same among three parties. Their coins are others.
    fn among_parties(&self, inputs: &Inputs, seed: u64, tally: &mut Tally) {
        let report = self.case.parties(inputs, seed);
        let found: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
        let wanted = self.case.floating(inputs, &report.coins);
        if let Some(error) = relative(self.case, &found, &wanted).filter(|e| *e > TOLERANCE) {
            // A decision that fell otherwise has another sum of updates: as far off as they are from each other.
            tally.otherwise += 1;
            if error < 16.0 * TOLERANCE || self.clear(inputs, &report.coins) {
                tally.wrong.push(format!(
                    "{}, seed {seed}, among parties: off by {error}, with no decision within its margin",
                    self.name
                ));
            }
        }
    }

    /// Whether no decision of these inputs is within its margin.
    fn clear(&self, inputs: &Inputs, coins: &[u128]) -> bool {
        let (graph, draw) = (&self.case.compiled.optimised, committees(coins));
        let real = eval::real(graph, &graph_inputs(inputs), &draw, true).expect("it has values");
        let real = real.values.iter().map(|v| v.as_ref().map_or(Vec::new(), |v| v.to_vec()));
        margins::clear(graph, &real.collect::<Vec<_>>(), &self.errors.decisions)
    }

    fn new<'a>(name: &'a str, case: &'a Case) -> Held<'a> {
        let c = &case.compiled;
        let given = input_errors(&c.optimised, &c.guards);
        let errors = errors(&c.optimised, &c.ranges.raw, &given, &c.stated);
        Held { name, case, errors }
    }

    fn run(&self, norm: f64, seed: u64, tally: &mut Tally) {
        let graph = &self.case.compiled.optimised;
        let inputs = inputs(self.case, norm, seed);
        let coins = [u128::from(seed) << 64 | 7, u128::from(seed) << 64 | 11];
        let wanted = self.case.floating(&inputs, &coins);
        let given = graph_inputs(&inputs);
        let real = eval::real(graph, &given, &committees(&coins), true).expect("it has values");
        let exact =
            eval::exact_wide(graph, &given, &committees(&coins), true).expect("it has words");
        let bits = |id: &slvr_compiler::graph::NodeId| {
            let (a, b) = (&real.values[id.index()], &exact.values[id.index()]);
            let both = a.iter().flat_map(|a| a.iter()).zip(b.iter().flat_map(|b| b.iter()));
            both.clone().all(|(x, y)| *x == *y as f64)
        };
        let decisions = || self.errors.decisions.iter().map(|d| d.node);
        let same = decisions().filter(|&id| graph.ty(id).elem == Elem::Bit).all(|id| bits(&id));
        if !same {
            if self.clear(&inputs, &coins) {
                tally.wrong.push(format!(
                    "{}, norm {norm}, seed {seed}: decides otherwise beyond its margins",
                    self.name
                ));
            }
            tally.otherwise += 1;
            return;
        }
        let exact: Vec<Vec<f64>> = exact.outputs.into_iter().map(|(_, _, v)| v).collect();
        let Some(error) = relative(self.case, &exact, &wanted) else {
            tally.nothing += 1;
            return;
        };
        tally.telling += 1;
        tally.worst = tally.worst.max(error);
        if error > TOLERANCE {
            tally.wrong.push(format!(
                "{}, norm {norm}, seed {seed}: off by {error} of the aggregate",
                self.name
            ));
        }
        let clear = self.case.circuit_clear(&inputs, &coins, seed);
        let error = relative(self.case, &clear, &wanted).unwrap_or_default();
        tally.worst = tally.worst.max(if error <= TOLERANCE { error } else { 0.0 });
        if seed == 0 && norm == NORMS[0] {
            self.among_parties(&inputs, seed, tally);
        }
        // Truncations of a run round at random, and so may decide otherwise than exact words.
        if error > TOLERANCE {
            tally.otherwise += 1;
            if self.clear(&inputs, &coins) {
                tally.wrong.push(format!(
                    "{}, norm {norm}, seed {seed}: a circuit is off by {error} beyond its margins",
                    self.name
                ));
            }
        }
    }
}

/// Rounds, and bytes that a party sends.
fn cost(case: &Case) -> (usize, u64) {
    let cost = Cost::of(case.circuit());
    (cost.rounds, cost.bytes.iter().sum::<u64>() / 3)
}

fn with(fine: Fine) -> Options {
    Options { fine, ..Options::default() }
}

/// More bits are for what is revealed of reals: decisions have margins, and pay nothing.
#[test]
fn what_reveals_only_bits_has_the_same_circuit() {
    let text = "use std::{cosine, lower_median, norm};\npredicate B[n, m]() {\n    parties Client[m];\n    \
                parties Server;\n    input u: secret fix[n] in -8..8 from each Client;\n    \
                input g: public fix[n] in -8..8;\n    let size = [norm(u[i]) for i in Client];\n    \
                reveal [size[i] <= 1.5 * lower_median(size) && cosine(u[i], g) > 0.1 for i in Client] to \
                Server as keep;\n}\n";
    let sizes = [("n", "20"), ("m", "5")];
    let [coarse, fine] = [Fine::Nothing, Fine::All].map(|f| compile_with(text, &sizes, with(f)));
    assert!(coarse.circuit() == fine.circuit());
    assert!(fine.compiled.kept.is_empty());
}

/// Long vectors that a network reads have 16 bits unless that is asked for, and the certificate names them.
#[test]
fn long_vectors_of_networks_pay_only_if_they_are_asked_to() {
    let sizes = [("M", "DigitsNet"), ("m", "4"), ("c", "1"), ("b", "1")];
    let case = |fine| compile_with(predicate("slvr_accuracy"), &sizes, with(fine));
    let (coarse, short, all) = (case(Fine::Nothing), case(Fine::Short), case(Fine::All));
    assert_eq!(cost(&coarse), cost(&short));
    let frac = |case: &Case| {
        let inputs = &case.compiled.optimised.inputs;
        inputs.iter().find(|i| i.name == "update").and_then(|i| i.frac)
    };
    assert_eq!((frac(&short), short.compiled.kept.len()), (None, 1));
    assert!(frac(&all) > Some(16) && all.compiled.kept.is_empty(), "{:?}", frac(&all));
    println!("DigitsNet: {:?}, with --fine {:?}", cost(&short), cost(&all));
}

/// `--fine` takes nothing from any input.
#[test]
fn what_is_asked_for_long_vectors_takes_nothing_from_others() {
    let text = |network: &str| {
        format!(
            "use std::{{argmax, norm, sum}};\npredicate P[M: model, m]() {{\n    parties Client[m];\n    parties Server;\n    \
             input update: secret weights M in -8..8 from each Client;\n    input s: secret fix in 0..1 from each Client;\n    \
             input x: public fix[..M.shape];\n    let keep = [{network} for i in Client];\n    \
             reveal sum(keep[i] * update[i] for i in Client) to Server as u;\n    \
             reveal sum(s[i] for i in Client) to Server as t;\n}}\n"
        )
    };
    let sizes = [("M", "DigitsNet"), ("m", "3")];
    let networks =
        ["argmax(M(update[i], x)) == 3", "norm(update[i]) < 3", "s[i] * s[i] * s[i] < 0.1"];
    for network in networks {
        let case = |fine| compile_with(&text(network), &sizes, with(fine));
        let (short, all) = (case(Fine::Short), case(Fine::All));
        let inputs = |case: &Case| {
            let inputs = &case.compiled.optimised.inputs;
            inputs.iter().map(|i| i.frac).collect::<Vec<_>>()
        };
        let (own, fine) = (inputs(&short), inputs(&all));
        assert!(
            own.iter().zip(&fine).all(|(own, fine)| fine >= own),
            "{network}: {own:?} {fine:?}"
        );
    }
}

fn name_of(norm: f64) -> String {
    if norm.is_infinite() { "limit".into() } else { format!("{norm:e}") }
}

/// Every predicate at every norm.
#[test]
fn small_updates_are_as_precise_as_large_ones() {
    let mut wrong = Vec::new();
    for (file, _) in PREDICATES {
        let name = file.trim_end_matches(".slvr");
        let case = compile(predicate(name), &sizes(name).0);
        let coarse = compile_with(predicate(name), &sizes(name).0, with(Fine::Nothing));
        let ((r, b), (rounds, bytes)) = (cost(&coarse), cost(&case));
        let more = 100.0 * (bytes as f64 / b as f64 - 1.0);
        println!("{name:24} {r} -> {rounds} rounds, {b} -> {bytes} bytes ({more:+.1} %)");
        let held = Held::new(name, &case);
        for norm in NORMS {
            let mut tally = Tally::default();
            (0..runs()).for_each(|seed| held.run(norm, seed, &mut tally));
            let Tally { telling, nothing, otherwise, worst, .. } = tally;
            wrong.append(&mut tally.wrong);
            println!(
                "{name:24} {:>6}: {telling} tell, {nothing} reveal nothing, {otherwise} decide \
                 otherwise, off by 2^{:.1}",
                name_of(norm),
                worst.log2()
            );
            // Scores by logarithms and softmaxes have units of 2^-16: those of small updates are ties.
            let scores = ["slvr_confidence", "validation_loss"].contains(&name) && norm < 1e-2;
            if otherwise * 4 > runs() && !scores {
                wrong.push(format!("{name}, norm {norm}: {otherwise} decide otherwise"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Sums that are weighted by counts, at the ends of what both may be: updates of every norm, and counts of nobody, of one
/// sample, of all that there may be, and of anything. The total is exact.
#[test]
fn weighted_sums_are_precise_at_the_ends_of_ranges() {
    let name = "weighted_aggregation";
    let case = compile(predicate(name), &sizes(name).0);
    let most = 65535;
    let counts: [&dyn Fn(usize) -> i64; 5] = [
        &|_| most,
        &|_| 1,
        &|i| if i == 0 { 1 } else { 0 },
        &|i| if i.is_multiple_of(2) { most } else { 1 },
        &|i| 77 * i as i64,
    ];
    let mut random = Random::new(5);
    for (norm, (seed, count)) in
        NORMS.into_iter().flat_map(|norm| (0u64..).zip(&counts).map(move |of| (norm, of)))
    {
        let mut inputs = random_inputs(case.circuit(), seed, 1.0);
        let mut total = 0;
        for (i, tensors) in inputs.sets.iter_mut().flatten().enumerate() {
            let Some(RawData::I64(of)) = tensors.get_mut("count").map(|t| &mut t.data) else {
                continue;
            };
            of[0] = count(i);
            total += of[0];
            stretch(tensors.get_mut("update").expect("an update"), norm, &mut random);
        }
        let wanted = case.floating(&inputs, &[]);
        let report = case.parties(&inputs, seed);
        let parties: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
        for found in [parties, case.circuit_clear(&inputs, &[], seed)] {
            let error = relative(&case, &found, &wanted).expect("something is revealed");
            let at = format!("norm {norm}, counts {seed}");
            assert!(error <= TOLERANCE, "{at}: off by {error}");
            assert_eq!(found[1], [total as f64], "{at}");
        }
    }
}

/// Off by how much the parties are, and the circuit in the clear, in the 2-norm of what is revealed.
fn off(case: &Case, inputs: &Inputs, seed: u64) -> f64 {
    let report = case.parties(inputs, seed);
    let parties: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
    let wanted = case.floating(inputs, &report.coins);
    let clear = case.circuit_clear(inputs, &report.coins, seed);
    let of = |found: &[Vec<f64>]| relative(case, found, &wanted).expect("something is revealed");
    of(&parties).max(of(&clear))
}

/// Clips of differential privacy, which are small: squares of what is clipped have few bits of 16.
#[test]
fn small_clips_are_precise() {
    let text = "
use std::{min, norm, sum};

predicate Clip[m, d](c: fix = 0.01) {
    parties Client[m];
    parties Server;

    input x: secret fix[d] in -1..1 from each Client;

    reveal sum(x[i] * min([1, c / norm(x[i])]) for i in Client) to Server as total;
}
";
    for c in ["0.01", "0.003", "0.001"] {
        let case = compile(text, &[("m", "3"), ("d", "6"), ("c", c)]);
        let clip: f64 = c.parse().expect("a number");
        for (seed, norm) in [(1, 0.3 * clip), (2, 1.2 * clip), (3, 8.0 * clip), (4, 1.0)] {
            let mut inputs = random_inputs(case.circuit(), seed, 1.0);
            let mut random = Random::new(seed);
            for tensor in inputs.sets.iter_mut().flatten().flat_map(|t| t.values_mut()) {
                stretch(tensor, norm, &mut random);
            }
            let error = off(&case, &inputs, seed);
            assert!(error <= TOLERANCE, "clipped at {c}, vectors of {norm}: off by {error}");
        }
    }
}

/// A client with a tiny update beside others of norm 1: FLTrust makes it as long as they are, and its rounding, too.
#[test]
fn a_tiny_update_beside_normal_ones_is_precise() {
    let (sizes, _) = sizes("fltrust");
    let case = compile(predicate("fltrust"), &sizes);
    for seed in 0..8 {
        let mut inputs = inputs(&case, 1.0, seed);
        let tiny = inputs.sets[0][0].get_mut("update").expect("an update");
        let RawData::F64(v) = &mut tiny.data else { panic!("reals") };
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.iter_mut().for_each(|x| *x *= 0.005 / length);
        let error = off(&case, &inputs, seed);
        assert!(error <= TOLERANCE, "seed {seed}: off by {error}");
    }
}
