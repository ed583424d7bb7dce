//! Functions and order statistics, each in a small program: floating point, the graph after every
//! pass, ring arithmetic of graph and circuit, and three parties, with errors within what the macros
//! state. Operands are secret and public, random, at the edges of their domain and beyond.
//!
//! Here are the programs and how they are held; [`elementary`] has functions and quotients, [`orders`] what goes by
//! order, [`layers`] what networks use, [`costs`] rounds and bits.

mod costs;
mod elementary;
mod layers;
mod orders;

use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, From};
use slvr_compiler::analysis::stated::Stated;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::{Case, Random, compile_with};

const ULP: f64 = 1.0 / 65536.0;

/// The macros of family T1 alone, on words of 64 bits.
const MACROS: Options = Options {
    enforce: false,
    ring: Some(64),
    target: Target::SemiHonest(Family::T1),
    memory: None,
    speculate: false,
    checks: None,
    fine: slvr_compiler::pipeline::Fine::Nothing,
};

/// The reals that the ring holds for these.
fn encoded(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| (x / ULP).round_ties_even() * ULP).collect()
}

/// Random numbers, after some given ones; all as the ring holds them.
fn numbers(seed: u64, n: usize, edges: &[f64], draw: impl Fn(&mut Random) -> f64) -> Vec<f64> {
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let rest = n.saturating_sub(edges.len());
    let all: Vec<f64> = edges.iter().copied().chain((0..rest).map(|_| draw(&mut random))).collect();
    encoded(&all)
}

/// A magnitude between 2^lo and 2^hi, all orders alike.
fn spread(random: &mut Random, lo: f64, hi: f64) -> f64 {
    random.between(lo, hi).exp2()
}

/// Every input of a circuit by name; secret ones from the only member of their set.
fn inputs(circuit: &Circuit, given: &[(&str, &[f64])]) -> Inputs {
    let mut all = Inputs {
        public: Default::default(),
        sets: circuit.parties.iter().map(|_| Vec::new()).collect(),
    };
    for input in &circuit.inputs {
        let found = given.iter().find(|(name, _)| *name == input.name);
        let (_, x) = found.unwrap_or_else(|| panic!("no input {}", input.name));
        let real = matches!(input.encoding, slvr_circuit::Encoding::Fixed { .. });
        let data = if real {
            RawData::F64(x.to_vec())
        } else {
            RawData::I64(x.iter().map(|&x| x as i64).collect())
        };
        let tensor = RawTensor { shape: input.shape.clone(), data };
        match input.from {
            From::Public | From::State(_) | From::Present(_) => {
                drop(all.public.insert(input.name.clone(), tensor))
            }
            From::Each(set) => {
                let members = &mut all.sets[set as usize];
                if members.is_empty() {
                    members.push(Default::default());
                }
                members[0].insert(input.name.clone(), tensor);
            }
        }
    }
    all
}

/// Evaluates a program in all ways and holds every output against what is wanted: a value and the
/// error it may have, in the order of the outputs. The graph in floating point must agree with the
/// program after every pass, wherever both have a value.
fn hold(case: &Case, given: &[(&str, &[f64])], want: &[Vec<(f64, f64)>]) {
    let inputs = inputs(case.circuit(), given);
    let floating = case.floating(&inputs, &[]);
    slvr_compiler::passes::run(&case.compiled.graph, |pass, graph| {
        let after = case.graph_real(graph, &inputs, &[]);
        for (a, b) in floating.iter().flatten().zip(after.iter().flatten()) {
            let d = (a - b).abs() / a.abs().max(1.0);
            assert!(!a.is_finite() || d < 1e-9, "after {}: {a} became {b}", pass.name);
        }
    })
    .expect("no constant is lost");
    let check = |what: &str, found: &[Vec<f64>]| {
        assert_eq!(found.len(), want.len(), "outputs");
        let mut worst: f64 = 0.0;
        for (o, (found, want)) in found.iter().zip(want).enumerate() {
            assert_eq!(found.len(), want.len(), "entries of output {o}");
            for (i, (x, (y, bound))) in found.iter().zip(want).enumerate() {
                let d = (x - y).abs();
                assert!(
                    d <= *bound,
                    "{what}, output {o}, entry {i}: {x} for {y}, off {d} > {bound}"
                );
                worst = worst.max(d / bound.max(1e-30));
            }
        }
        println!("{what}: worst error {worst:.2} of the bound");
    };
    check("graph in ring arithmetic", &case.graph_exact(&inputs, &[]));
    for seed in 0..3 {
        check("circuit", &case.circuit_clear(&inputs, &[], seed));
    }
    let report = case.parties(&inputs, 5);
    let parties: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
    check("three parties", &parties);
    let traffic = Traffic::of(case.circuit());
    let counted = (report.rounds, report.bytes_sent);
    assert_eq!(counted, (traffic.rounds, traffic.bytes), "rounds and bytes");
}

/// A program of one secret vector s and one public vector p.
fn program(names: &str, reveals: &str, n: usize) -> Case {
    let text = format!(
        "use std::{{{names}}};\npredicate F[n]() {{\n    parties Client;\n    parties Server;\n    \
         input s: secret fix[n] in -2000000000..2000000000 from Client;\n    \
         input p: public fix[n] in -2000000000..2000000000;\n{reveals}}}\n"
    );
    compile_with(&text, &[("n", &n.to_string())], MACROS)
}

/// One function of a secret and of a public number, within what is stated of its value.
/// What comes before the number may open several parentheses.
fn function(name: &str, x: &[f64], value: impl Fn(f64) -> f64, stated: Stated, rounds: usize) {
    let close = ")".repeat(name.matches('(').count() + 1);
    let reveals = format!(
        "    reveal {name}(s{close} to Server as of_secret;\n    reveal {name}(p{close} to Server as of_public;\n"
    );
    let names: Vec<_> =
        name.split(|c: char| !c.is_alphabetic()).filter(|n| !n.is_empty()).collect();
    let case = program(&names.join(", "), &reveals, x.len());
    let want: Vec<(f64, f64)> =
        x.iter().map(|&x| (value(x), stated.of(value(x) / ULP) * ULP)).collect();
    hold(&case, &[("s", x), ("p", x)], &[want.clone(), want]);
    // The last round opens.
    assert_eq!(case.circuit().rounds(), rounds + 1, "rounds of {name}");
}
