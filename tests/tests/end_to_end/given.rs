//! What is proven for given inputs holds: random programs of everything that rounds, on random inputs and on inputs at
//! the ends of their ranges, with several splits of every value. The circuit reveals **every node** in the clear, and
//! each entry is held against its bound. No decision that is certified may fall otherwise than in the program, and no
//! bit that is in doubt may be without a decision in doubt.
//!
//! `SLVR_COUNT=10000 cargo test --release -p slvr-tests --test end_to_end given` is a long run. It begins at the program of
//! number `SLVR_SEED`, and a failing test prints the number of its program.

use super::intervals::{self, choices, compiled};
use slvr_circuit::Encoding;
use slvr_compiler::analysis::errors::{encoded_errors, errors, rounding_inputs};
use slvr_compiler::analysis::given::{Running, verdicts};
use slvr_compiler::graph::eval;
use slvr_compiler::graph::{Graph, NodeId, Op};
use slvr_compiler::pipeline::{self, Options};
use slvr_compiler::report::given::{OnInputs, bounds};
use slvr_compiler::syntax::ast::Secrecy;
use slvr_compiler::types::Elem;
use slvr_runtime::clear;
use slvr_runtime::party::session;
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::agree::{Ends, ends};
use slvr_tests::generate::Generated;
use slvr_tests::long::{part, setting as number};
use slvr_tests::{Case, committees, compile_with, graph_inputs, inexact, margins, random_inputs};
use std::collections::BTreeMap;

/// Splits of each value that are tried.
const SPLITS: u64 = 3;

#[derive(Default)]
struct Tally {
    programs: u64,
    refused: u64,
    entries: u64,
    /// Entries that are off at all.
    off: u64,
    /// The largest part of its bound that any entry is off by.
    worst: f64,
    decisions: u64,
    certified: u64,
    /// Decisions that fall otherwise in some run.
    flipped: u64,
    unexplained: u64,
    /// Entries beyond their bounds, and certified decisions that fall otherwise.
    wrong: u64,
    /// Nodes that have noise beside the worst case, and entries for which it is the sharper bound.
    noisy: u64,
    sharper: u64,
}

/// One of the ways to compile; for one in four with 16 fraction bits for every value.
fn how(i: u64) -> Options {
    let [fine, coarse] = intervals::ways(i);
    if i.is_multiple_of(4) { coarse } else { fine }
}

/// Nodes that can be revealed.
fn secrets(g: &Graph) -> Vec<NodeId> {
    let read = |id: NodeId| !g.users(id).is_empty() || g.outputs.iter().any(|o| o.node == id);
    let odd =
        |id: NodeId| matches!(g.op(id), Op::Input(i) if g.inputs[*i as usize].one_hot.is_some());
    g.ids().filter(|&id| g.ty(id).secrecy == Secrecy::Secret && read(id) && !odd(id)).collect()
}

/// Values of nodes in the circuit, for one split of every value.
fn in_circuit(
    case: &Case,
    how: Options,
    nodes: &[NodeId],
    inputs: &Inputs,
    coins: &[u128],
) -> Result<Vec<BTreeMap<NodeId, Vec<f64>>>, String> {
    let circuit = pipeline::probed(&case.compiled, how, nodes);
    let circuit = circuit.map_err(|d| format!("no circuit that reveals all nodes: {d:?}"))?;
    let encoded = session::encode(&circuit, inputs).map_err(|e| e.to_string())?;
    // What is stored is opened to nobody.
    let own = case.compiled.optimised.outputs.iter().filter(|o| o.state.is_none()).count();
    let run = |seed| {
        let random = case.noise.of_circuit(&circuit);
        let options = clear::Options { seed, coins, random: &random, trace: false };
        let done = clear::evaluate(&circuit, encoded.values(&circuit), &options);
        let outputs = done.map_err(|e| e.to_string())?.outputs.into_iter().skip(own);
        Ok(nodes.iter().copied().zip(outputs.map(|o| o.values)).collect())
    };
    (0..SPLITS).map(run).collect()
}

/// Bounds made so many times as large; what is then exceeded.
fn hold(
    case: &Case,
    how: Options,
    inputs: &Inputs,
    coins: &[u128],
    scale: f64,
    tally: &mut Tally,
) -> Result<(), String> {
    let g = &case.compiled.optimised;
    let nodes = secrets(g);
    let runs = in_circuit(case, how, &nodes, inputs, coins)?;
    let mut wrong = None;
    let mut see = |id: NodeId, x: &Running, given: &[&Running]| {
        let noise = x.off.as_ref().and_then(|off| off.noise.as_ref().map(|_| off));
        if let Some(off) = noise {
            tally.noisy += 1;
            tally.sharper += off.bound.iter().zip(&off.worst).filter(|(b, w)| b < w).count() as u64;
        }
        let decided = verdicts(g, id, given);
        for values in runs.iter().filter_map(|r| r.get(&id)) {
            for (i, (c, v)) in values.iter().zip(x.value.iter()).enumerate() {
                let (off, bound) = ((c - v).abs(), x.bound(i) * scale);
                tally.entries += 1;
                tally.off += u64::from(off > 0.0);
                if off > 0.0 && x.bound(i).is_finite() {
                    tally.worst = tally.worst.max(off / x.bound(i));
                }
                if off > bound {
                    tally.wrong += 1;
                    let node = format!("%{} = {:?} in `{}`", id.index(), g.op(id), g.site(id).name);
                    wrong.get_or_insert(format!(
                        "{node}: {c} for {v}, entry {i} off {off}, bound {bound}"
                    ));
                }
                if let Some(verdict) = decided.get(i).filter(|_| g.ty(id).elem == Elem::Bit) {
                    tally.flipped += u64::from(c != v);
                    if verdict.certified && c != v {
                        wrong.get_or_insert(format!("%{} is certified and flips", id.index()));
                    }
                }
            }
        }
    };
    let draw = committees(coins);
    bounds(&case.compiled, &graph_inputs(inputs), &draw, &mut see).map_err(|e| e.to_string())?;
    let draw = committees(coins);
    let found = OnInputs::of(&case.compiled, &[], &graph_inputs(inputs), &draw);
    let found = found.map_err(|e| e.to_string())?;
    tally.decisions += found.certificate.total.decisions;
    tally.certified += found.certificate.total.certified;
    for row in &found.certificate.keep {
        let nothing = |b: &&slvr_compiler::report::given::KeepBit| b.depends_on == Some(0);
        if let Some(bit) = row.uncertain.iter().find(nothing) {
            tally.unexplained += 1;
            println!("{} bit {} is in doubt without a decision", row.step, bit.index);
        }
    }
    wrong.map_or(Ok(()), Err)
}

/// As a client encodes them.
fn rounded(case: &Case, mut inputs: Inputs) -> Inputs {
    for input in &case.circuit().inputs {
        let Encoding::Fixed { frac, .. } = input.encoding else { continue };
        let unit = f64::from(frac).exp2();
        let members = inputs.sets.iter_mut().flatten();
        for tensor in members.chain([&mut inputs.public]).filter_map(|m| m.get_mut(&input.name)) {
            if let RawData::F64(v) = &mut tensor.data {
                v.iter_mut().for_each(|x| *x = (*x * unit).round_ties_even() / unit);
            }
        }
    }
    inputs
}

fn check(seed: u64, scale: f64, tally: &mut Tally) -> Result<(), String> {
    let made = inexact::program(&choices(seed));
    let how = how(seed);
    tally.programs += 1;
    let Some(case) = compiled(&made, how, &mut tally.refused)? else { return Ok(()) };
    let coins = [u128::from(seed) << 64 | 7, u128::from(seed) << 64 | 11];
    let all = [
        random_inputs(case.circuit(), seed, 1.0),
        ends(case.circuit(), Ends::High, seed),
        ends(case.circuit(), Ends::Either, seed),
    ];
    for inputs in all {
        hold(&case, how, &inputs, &coins, scale, tally)?;
        // What is revealed, against the program itself on the encoded inputs.
        let encoded = rounded(&case, inputs.clone());
        let draw = committees(&coins);
        let found = OnInputs::of(&case.compiled, &[], &graph_inputs(&encoded), &draw);
        let found = found.map_err(|e| e.to_string())?;
        // Ends of ranges may be rounded outwards, which only the graph does not mind.
        let wanted = case.graph_real(&case.compiled.graph, &encoded, &coins);
        let run = case.circuit_clear(&inputs, &coins, seed);
        let outputs = case.compiled.optimised.outputs.iter().zip(&found.certificate.reveals);
        let known = outputs.filter(|(o, _)| o.state.is_none()).map(|(_, known)| known);
        for ((run, wanted), known) in run.iter().zip(&wanted).zip(known) {
            for (y, x) in run.iter().zip(wanted).filter(|(_, x)| x.is_finite()) {
                if (x - y).abs() > known.off * scale + 1e-9 * (1.0 + x.abs()) {
                    let Generated { text, bindings } = made;
                    let (name, off) = (&known.name, known.off);
                    return Err(format!(
                        "`{name}` is {y} for {x}, bound {off}\n{bindings:?}\n{text}"
                    ));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn bounds_for_given_inputs_hold_at_every_node_of_random_programs() {
    let (count, first) = (part(20, 60), number("SLVR_SEED").unwrap_or(0));
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    for seed in first..first + count {
        if let Err(why) = check(seed, 1.0, &mut tally) {
            println!("program {seed}: {why}");
            failed.push(seed);
        }
        if failed.len() == 8 {
            break;
        }
    }
    let Tally {
        programs,
        refused,
        entries,
        off,
        worst,
        decisions,
        certified,
        flipped,
        noisy,
        sharper,
        unexplained,
        ..
    } = tally;
    println!(
        "{programs} programs, {refused} refused; {off} of {entries} entries are off, the furthest by {worst:.3} of its \
         bound; {certified} of {decisions} decisions certified, {flipped} flips; noise at {noisy} nodes, sharper at \
         {sharper} entries; {unexplained} bits in doubt without a decision"
    );
    assert!(failed.is_empty(), "programs {failed:?} fail");
    assert_eq!(unexplained, 0);
    // A test of nothing holds as well.
    assert!(refused * 2 < programs && off > 1000 && worst > 0.3, "bounds are put to the test");
    assert!(certified * 10 > decisions * 8 && decisions > 50, "most decisions are certified");
}

/// The test above sees bounds that are too small.
#[test]
fn bounds_that_are_too_small_are_caught() {
    let exceeds = |seed: &u64| {
        let mut tally = Tally::default();
        drop(check(*seed, 0.2, &mut tally));
        tally.wrong > 0
    };
    let caught = (0..40u64).filter(exceeds).count();
    println!("{caught} of 40 programs exceed a fifth of their bounds");
    assert!(caught >= 5, "{caught}");
}

/// Long sums of products of secrets, rounded: independent roundings add up to far less than the worst case, and stay
/// within the bound.
#[test]
fn roundings_that_add_up_are_bounded_as_martingales() {
    let text = "use std::sum;\npredicate Long[n]() {\n    parties Client[2];\n    parties Server;\n    \
                input x: secret fix[n] in -8..8 from each Client;\n    \
                input y: secret fix[n] in -8..8 from each Client;\n    \
                let z = [[x[i][j] * y[i][j] for j in n] for i in Client];\n    \
                let u = [[z[i][j] * y[i][j] - 1 for j in n] for i in Client];\n    \
                reveal [sum(u[i][j] * u[i][j] for j in n) for i in Client] to Server as total;\n}\n";
    // With 16 fraction bits every factor is rounded.
    for [_, how] in (0..3).map(intervals::ways) {
        let case = compile_with(text, &[("n", "2000")], how);
        let mut tally = Tally::default();
        for seed in 0..4 {
            let inputs = random_inputs(case.circuit(), seed, 0.5);
            let held = hold(&case, how, &inputs, &[], 1.0, &mut tally);
            assert_eq!(held, Ok(()), "seed {seed}");
        }
        let given = rounded(&case, random_inputs(case.circuit(), 0, 0.5));
        let mut gain = 1.0f64;
        let mut see = |_: NodeId, x: &Running, _: &[&Running]| {
            let off = x.off.iter().flat_map(|off| off.worst.iter().zip(&off.bound));
            gain = off.map(|(worst, bound)| worst / bound).fold(gain, f64::max);
        };
        let none = |_: &slvr_circuit::Lots| Vec::new();
        bounds(&case.compiled, &graph_inputs(&given), &none, &mut see).expect("fits");
        println!("at most {gain:.1} times sharper than the worst case");
        assert!(gain > 3.0, "{gain}");
    }
}

/// The graph's own exact arithmetic keeps to the same bounds.
#[test]
fn exact_evaluation_of_graphs_keeps_to_the_bounds() {
    let mut entries = 0;
    for seed in 0..60u64 {
        let made = inexact::program(&choices(seed));
        let Ok(Some(case)) = compiled(&made, how(seed), &mut 0) else { continue };
        let coins = [u128::from(seed) << 64 | 7, u128::from(seed) << 64 | 11];
        let inputs = graph_inputs(&random_inputs(case.circuit(), seed, 1.0));
        let g = &case.compiled.optimised;
        let draw = committees(&coins);
        let Ok(exact) = eval::exact_wide(g, &inputs, &draw, true) else { continue };
        let draw = committees(&coins);
        let mut see = |id: NodeId, x: &Running, _: &[&Running]| {
            let unit = (-f64::from(g.ty(id).frac.unwrap_or(0))).exp2();
            let words = exact.values[id.index()].as_ref().expect("kept");
            for (i, (w, v)) in words.iter().zip(x.value.iter()).enumerate() {
                let off = (*w as f64 * unit - v).abs();
                assert!(off <= x.bound(i) + 1e-9 * v.abs(), "seed {seed}, %{}: {off}", id.index());
                entries += 1;
            }
        };
        bounds(&case.compiled, &inputs, &draw, &mut see).expect("fits");
    }
    assert!(entries > 1000);
}

/// The two parts of an error that is proven for all inputs: a run is no further from the program on the encoded inputs
/// than one says, and the program on these is no further from the program on the inputs as they were than the other.
#[test]
fn rounding_inputs_is_bounded_on_its_own() {
    let (mut runs, mut roundings, mut off) = (0, 0, 0f64);
    for seed in 0..150u64 {
        let made = inexact::program(&choices(seed));
        let Ok(Some(case)) = compiled(&made, how(seed), &mut 0) else { continue };
        let (c, g) = (&case.compiled, &case.compiled.optimised);
        let own = errors(g, &c.ranges.raw, &encoded_errors(g, &c.guards), &c.stated);
        let rounding = rounding_inputs(g, &c.ranges.raw, &own);
        let coins = [u128::from(seed) << 64 | 7, u128::from(seed) << 64 | 11];
        let given = random_inputs(case.circuit(), seed, 1.0);
        let encoded = graph_inputs(&rounded(&case, given.clone()));
        let real = |inputs: &eval::Inputs| -> Option<Vec<Vec<f64>>> {
            let draw = committees(&coins);
            let found = eval::real(g, inputs, &draw, true).ok()?;
            Some(
                found
                    .values
                    .iter()
                    .map(|v| v.as_ref().map_or(Vec::new(), |v| v.to_vec()))
                    .collect(),
            )
        };
        let draw = committees(&coins);
        let exact = eval::exact_wide(g, &encoded, &draw, true);
        let (Some(before), Some(after), Ok(exact)) =
            (real(&graph_inputs(&given)), real(&encoded), exact)
        else {
            continue;
        };
        if before.iter().chain(&after).flatten().any(|x| !x.is_finite()) || !own.assumed.is_empty()
        {
            continue;
        }
        let value = |id: NodeId| g.ty(id).elem == Elem::Fix;
        let tiny = |x: f64, bound: f64| 1e-9 * (1.0 + x.abs() + bound);
        if margins::clear(g, &after, &own.decisions) {
            runs += 1;
            for id in g.ids().filter(|&id| value(id) && own.depended_on[id.index()]) {
                let unit = (-f64::from(g.ty(id).frac.unwrap_or(0))).exp2();
                let (bound, words) = (own.proven[id.index()], exact.values[id.index()].as_ref());
                for (x, w) in after[id.index()].iter().zip(words.expect("kept").iter()) {
                    let error = (*w as f64 * unit - x).abs();
                    assert!(error <= bound + tiny(*x, bound), "program {seed}, %{}", id.index());
                }
            }
        }
        if margins::clear(g, &after, &rounding.decisions) {
            roundings += 1;
            for id in g.ids().filter(|&id| value(id) && rounding.depended_on[id.index()]) {
                let bound = rounding.proven[id.index()];
                for (x, y) in before[id.index()].iter().zip(&after[id.index()]) {
                    let change = (x - y).abs();
                    assert!(change <= bound + tiny(*x, bound), "program {seed}, %{}", id.index());
                    off = if bound > 0.0 { off.max(change / bound) } else { off };
                }
            }
        }
    }
    println!("{runs} runs, {roundings} roundings of inputs, the furthest by {off:.3} of its bound");
    assert!(runs > 30 && roundings > 30 && off > 0.5);
}
