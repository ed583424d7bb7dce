//! Large inputs in parts: the same words, rounds and bytes as with whole inputs, whatever the program.

use crate::speculation::{families, from_program, placements, run, spoil, values};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::verify::verify;
use slvr_circuit::{Circuit, Instr, Op};
use slvr_compiler::cost::{busiest_party, memory_at_most, peak_memory};
use slvr_compiler::pipeline::Options;
use slvr_compiler::schedule::Loads;
use slvr_compiler::syntax::embedded::{GALLERY, PREDICATES};
use slvr_tests::long::{is_full, one_of};
use slvr_tests::{Case, attempt, distance, predicate, random_inputs, sizes};

/// The case with the circuit in parts.
fn in_parts(case: &Case, count: u64) -> Option<Case> {
    let circuit = Loads::of(case.circuit()).in_parts(count)?;
    let (program, mut compiled) = (case.program.clone(), case.compiled.clone());
    compiled.circuit = circuit;
    Some(Case::new(program, compiled, case.sources.clone()))
}

/// Whether it draws noise, which is another in each run.
fn is_random(instr: &Instr) -> bool {
    matches!(instr.op, Op::Random { .. })
}

/// How often a circuit loads each member of an input, at most.
fn times_loaded(circuit: &Circuit) -> usize {
    let local = circuit.layers.iter().flat_map(|l| &l.local);
    let loads = local.filter_map(|i| match i.op {
        Op::Load { x, start, len } => Some((start..start + len).map(move |m| (x, m))),
        _ => None,
    });
    let mut counts = std::collections::BTreeMap::new();
    loads.flatten().for_each(|member| *counts.entry(member).or_insert(0) += 1);
    counts.into_values().max().unwrap_or(0)
}

/// Runs of three parties with whole inputs and in parts, honest and with a client out of range.
///
/// What they reveal is less than `most` apart: a truncation rounds to either side, by randomness that follows from the
/// numbers of instructions.
fn same(name: &str, whole: &Case, parts: &Case, spread: f64, most: f64) {
    let traffic = |case: &Case| {
        let of = Traffic::of(case.circuit());
        (of.rounds, of.bytes, of.revealed)
    };
    assert_eq!(traffic(whole), traffic(parts), "{name}");
    let honest = random_inputs(whole.circuit(), 3, spread);
    let mut spoiled = honest.clone();
    spoil(whole.circuit(), &mut spoiled, 1);
    for inputs in [&honest, &spoiled] {
        let [one, other] = [whole, parts].map(|case| run(case, inputs, 7));
        assert_eq!(one.replaced, other.replaced, "{name}");
        assert_eq!((one.rounds, one.bytes_sent), (other.rounds, other.bytes_sent), "{name}");
        // Coins follow the numbers of instructions, too.
        let apart = match one.coins == other.coins {
            true => distance(&values(&one), &values(&other)),
            false => from_program(parts, inputs, &other),
        };
        assert!(apart < most, "{name}: {apart} apart");
        if other.replaced.is_empty() {
            assert_eq!(other.peak_memory, peak_memory(parts.circuit()), "{name}");
        }
        // What was under way when layers are repeated is there already.
        let most = memory_at_most(parts.circuit());
        let held = busiest_party(other.peak_memory);
        assert!(held <= most + most / 100, "{name}: {held} bytes of {most}");
    }
}

#[test]
fn every_predicate_reveals_the_same() {
    let mut tried = [0; 2];
    let all = PREDICATES.iter().chain(GALLERY);
    for (n, (file, text)) in all.enumerate().step_by(one_of(3)) {
        let name = file.trim_end_matches(".slvr");
        let (sizes, spread) = sizes(name);
        let hows = [families()[n % 2], placements(n)[n / 2 % 2]];
        for (adversary, how) in hows.into_iter().enumerate() {
            // Those of the gallery have sizes of their own.
            let Ok(whole) = attempt(text, &sizes, how) else { continue };
            if whole.circuit().layers.iter().flat_map(|l| &l.local).any(is_random) {
                continue;
            }
            let count = Loads::of(whole.circuit()).most().min(2 + n as u64 % 3);
            let Some(parts) = in_parts(&whole, count) else { continue };
            if let Err(e) = verify(parts.circuit()) {
                // Some proofs are about the whole of what is in parts.
                assert!(adversary == 1, "{name}: {e}");
                continue;
            }
            same(name, &whole, &parts, spread, 1e-3);
            tried[adversary] += 1;
        }
    }
    println!("{tried:?}");
    let least = [10, 5].map(|all| all / one_of(3));
    assert!(tried[0] >= least[0] && tried[1] >= least[1], "{tried:?}");
}

/// A budget that holds no more than one client's update: no round, no byte and no block more, and what clients gave is
/// read twice. `SLVR_EFFORT=full` also tries a model of 11 million weights, which takes 12 GB.
#[test]
fn a_norm_bound_needs_memory_for_a_client_at_a_time() {
    norm_bound(&[("M", "DigitsNet"), ("m", "12")], &[2, 4, 6]);
    if is_full() {
        norm_bound(&[("M", "ResNet18"), ("m", "10")], &[2]);
    }
}

fn norm_bound(sizes: &[(&str, &str)], divisors: &[u64]) {
    let whole = attempt(predicate("norm_bound"), sizes, Options::default());
    let whole = whole.unwrap_or_else(|e| panic!("{}", e.text()));
    let most = memory_at_most(whole.circuit());
    for divisor in divisors {
        let budget = Options { memory: Some(most / divisor), ..Options::default() };
        let parts = attempt(predicate("norm_bound"), sizes, budget);
        let parts = parts.unwrap_or_else(|e| panic!("{}", e.text()));
        assert!(memory_at_most(parts.circuit()) <= most / divisor);
        assert_eq!(times_loaded(parts.circuit()), 2);
        same("norm_bound", &whole, &parts, 0.01, f64::MIN_POSITIVE);
    }
}
