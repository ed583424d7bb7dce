//! Circuits against a malicious party: every predicate of the library has a proof for everything that its parties send,
//! and computes the same, at the cost that is predicted. What has no proof is refused.

mod bent;
mod selective;
mod tables;
mod tampering;

// Thousands of small runs are mostly small tensors that come and go.
use slvr_allocator as _;

use slvr_circuit::proof::barriers;
use slvr_circuit::speculation::Speculation;
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, Instr, Op, Security};
use slvr_compiler::analysis::failure::Failure;
use slvr_compiler::cost::{
    Cost, Kind, LineRow, NetProfile, peak_memory, places, proof_work, rows_by_line,
    rows_by_statement, rows_by_step,
};
use slvr_compiler::diagnostic::{Diagnostic, codes};
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_runtime::party::session::Report;
use slvr_tests::long::one_of;
use slvr_tests::{Case, attempt, compile_with, distance, predicate, random_inputs, sizes};

fn malicious() -> Options {
    Options { target: Target::Malicious(Family::T1), ..Options::default() }
}

/// Family T2, where rounds cost enough for it to be taken.
fn dealer() -> Target {
    Target::Malicious(Family::T2(NetProfile::wan().tuning()))
}

/// Why a predicate is refused, if it is.
fn refusal(text: &str, sizes: &[(&str, &str)], how: Options) -> Option<Vec<Diagnostic>> {
    let refused = attempt(text, sizes, how).err()?.said;
    for d in &refused {
        assert!(!d.title.contains("breaks a rule"), "{}", d.title);
    }
    Some(refused)
}

#[test]
fn what_has_no_proof_is_refused() {
    // Nothing proves what a party keeps, in either family.
    let kept = "predicate P[m]() {
    parties Client[m];
    parties Server;
    input x: secret fix[4] in -1..1 from each Client;
    state total: secret fix[4] in -8..8 = 0;
    let all = 0.5 * total + sum(x[i] for i in Client);
    store all as total;
    reveal all to Server as result;
}";
    let kept = format!("use std::sum;\n{kept}");
    for target in [Target::Malicious(Family::T1), dealer()] {
        let why = refusal(&kept, &[("m", "3")], Options { target, ..malicious() });
        let why = why.unwrap_or_default();
        assert!(why.iter().all(|d| d.code == codes::UNPROVEN) && !why.is_empty(), "{why:?}");
    }
}

/// A quotient of public numbers is cut where it may be too large, and nothing of that is a part of an owner.
#[test]
fn a_quotient_of_public_numbers_is_built() {
    let text = "predicate P[m]() {
    parties Client[m];
    parties Server;
    input x: secret fix in -2..2 from each Client;
    input u: public fix in -1048576..1048576;
    input t: public fix in 0..4;
    reveal [x[i] * (u / t) for i in Client] to Server as result;
}";
    for target in [Target::Malicious(Family::T1), dealer()] {
        let why = refusal(text, &[("m", "3")], Options { target, ..malicious() });
        assert!(why.is_none(), "{why:?}");
    }
}

/// The bytes that a refused budget names as enough.
fn enough(why: &[Diagnostic]) -> u64 {
    let why: String = why.iter().map(|d| d.title.as_str()).collect();
    let named = why.split_once("with the vectors of its proofs, take at most ");
    let named = named.and_then(|(_, rest)| rest.split_once("; ")?.1.split_once(" is enough"));
    let (number, unit) = named.and_then(|n| n.0.split_once(' ')).unwrap_or_else(|| panic!("{why}"));
    let scale = match unit {
        "MB" => 1e6,
        "kB" => 1e3,
        _ => 1.0,
    };
    (scale * number.parse::<f64>().unwrap()).round() as u64
}

/// What is named as enough is, and it is not twice what is.
#[test]
fn a_budget_that_is_named_as_enough_is() {
    let text = "use std::argmax;
model Small(x: fix[2, 1, 1]) -> fix[3] { c: conv2d[2, 3, 1]; x |> c |> relu |> flatten }
predicate P[m]() {
    parties Client[m];
    parties Server;
    input w: secret weights Small in -1..1 from each Client;
    input v: secret fix[2, 1, 1] in -1..1 from each Client;
    reveal [argmax(Small(w[i], v[i])) for i in Client] to Server as classes;
}";
    for target in [Target::Malicious(Family::T1), dealer()] {
        let with = |bytes| {
            let how = Options { target, memory: Some(bytes), ..malicious() };
            refusal(text, &[("m", "2")], how)
        };
        let enough = enough(&with(1000).unwrap());
        assert!(with(enough).is_none(), "{enough} bytes");
        assert!(with(enough / 2).is_some(), "half of {enough} bytes");
    }
}

/// What a family's circuits are made of.
fn messages(circuit: &Circuit, which: impl Fn(&Op) -> bool) -> usize {
    circuit.layers.iter().flat_map(|l| &l.exchange).filter(|i| which(&i.op)).count()
}

#[test]
fn all_predicates_compute_the_same_at_the_predicted_cost() {
    all_predicates(Target::Malicious(Family::T1));
}

/// What family T2 opens under masks has its statements in every predicate, and takes fewer rounds than family T1.
#[test]
fn all_predicates_compute_the_same_in_family_t2() {
    all_predicates(dealer());
}

/// Rounds that are waited for and bytes add up to those of the whole, and a proof counts for a line that opens something.
fn adds_up(name: &str, text: &str, case: &Case, cost: &Cost) {
    let circuit = case.circuit();
    let places = places(&case.program, &case.compiled.optimised, &case.sources);
    let by_line = rows_by_line(cost, &places, text);
    let by_step = rows_by_step(circuit, cost, &places);
    for rows in [&by_line, &by_step, &rows_by_statement(circuit, cost)] {
        assert_eq!(rows.iter().map(|r| r.critical).sum::<usize>(), cost.rounds, "{name}");
        let sent = |r: &LineRow| r.bytes.iter().sum::<u64>();
        assert_eq!(rows.iter().map(sent).sum::<u64>(), cost.bytes.iter().sum::<u64>(), "{name}");
        assert_eq!(rows.iter().map(|r| r.instructions).sum::<usize>(), circuit.instructions());
        assert!(rows.iter().all(|r| r.critical <= cost.rounds && r.rounds <= cost.rounds));
    }
    assert!(by_line.iter().all(|r| r.line > 0), "{name}: {by_line:?}");
    let kinds: u64 = cost.layers.iter().flat_map(|l| l.kinds).sum();
    assert_eq!(kinds, cost.bytes.iter().sum::<u64>(), "{name}: {:?}", Kind::ALL);
    let proofs: Vec<_> = cost.layers.iter().filter_map(|l| l.proof.as_ref()).collect();
    assert!(!proofs.is_empty() && proofs.iter().all(|p| p.rounds > 0 && p.seconds > 0.0), "{name}");
    for (layer, of) in circuit.layers.iter().zip(&cost.layers) {
        let Some(proof) = &of.proof else { continue };
        let mut opened =
            layer.exchange.iter().filter(|i| matches!(i.op, Op::Open(_) | Op::OpenTo { .. }));
        assert!(opened.any(|i| i.site == proof.site), "{name}: {proof:?}");
    }
    // What proofs compute is in the predicted time.
    let seconds: f64 = proofs.iter().map(|p| p.seconds).sum();
    let predicted = cost.seconds(&NetProfile::loopback());
    assert!((predicted.proofs - seconds).abs() < 1e-12 && predicted.compute > seconds, "{name}");
    assert!((seconds - proof_work(circuit)).abs() < 1e-9, "{name}");
}

fn all_predicates(target: Target) {
    // Every day one of the families has all of them.
    let step = if target == Target::Malicious(Family::T1) { 1 } else { one_of(2) };
    for (file, text) in PREDICATES.iter().step_by(step) {
        let name = file.trim_end_matches(".slvr");
        let (sizes, spread) = sizes(name);
        let dealer = target != Target::Malicious(Family::T1);
        let how = Options { target, ..malicious() };
        assert!(refusal(text, &sizes, how).is_none(), "{name}");
        let case = compile_with(text, &sizes, how);
        let circuit = case.circuit();
        assert_eq!(circuit.security, Security::Malicious);
        let masked = messages(circuit, |op| matches!(op, Op::OpenMasked { .. }));
        if dealer {
            let other = compile_with(text, &sizes, malicious());
            let rounds = [circuit, other.circuit()].map(|c| Traffic::of(c).rounds);
            let bytes =
                [circuit, other.circuit()].map(|c| Traffic::of(c).bytes.iter().sum::<u64>());
            println!("{name}: {masked} opened under masks, {rounds:?} rounds, {bytes:?} bytes");
            // Without an exchange whose result a party deals again there is nothing to know ahead.
            assert!(masked > 0 && rounds[0] < rounds[1], "{name}");
        } else {
            assert_eq!(masked, 0, "{name}");
        }
        let instrs = circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange));
        for i in instrs {
            // What is dealt to two parties is input instead, so that its sender holds what the two hold of it.
            let unproven = matches!(i.op, Op::Deal(_));
            assert!(!unproven, "{name}: {:?}", i.op);
        }
        let last = barriers(circuit).unwrap().last().map(|b| b.layer as usize);
        assert!(last.is_some_and(|l| l + 1 == circuit.layers.len()), "{name}: outputs come last");
        let seed = 7;
        let inputs = random_inputs(circuit, seed, spread);
        let report = case.parties(&inputs, seed);
        let found: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
        let target = Target::SemiHonest(Family::T1);
        let plain = compile_with(predicate(name), &sizes, Options { target, ..Options::default() });
        // Committees are the same for the same coins.
        let want = plain.graph_exact(&inputs, &report.coins);
        let units = distance(&found, &want);
        // Scores go through exponentials, whose roundings differ.
        let most = if name == "slvr_confidence" || name == "validation_loss" { 0.1 } else { 0.01 };
        assert!(units < most, "{name}, seed {seed}: {units} apart");
        let (traffic, cost) = (Traffic::of(circuit), Cost::of(circuit));
        assert_eq!(report.rounds, traffic.rounds, "{name}");
        assert_eq!(report.bytes_sent, traffic.bytes, "{name}");
        assert_eq!((cost.rounds, cost.bytes), (traffic.rounds, traffic.bytes), "{name}");
        // What is kept for proofs is predicted and counted, too.
        assert_eq!(report.peak_memory, cost.peak_memory, "{name}");
        let unguarded = Circuit { security: Security::SemiHonest, ..circuit.clone() };
        assert!(
            peak_memory(&unguarded).iter().zip(cost.peak_memory).all(|(a, b)| *a < b),
            "{name}"
        );
        adds_up(name, text, &case, &cost);
        let layers = cost.layers.iter().map(|l| l.bytes.iter().sum::<u64>()).sum::<u64>();
        let steps = cost.instrs.iter().map(|i| i.bytes.iter().sum::<u64>()).sum::<u64>();
        assert_eq!((layers, steps), (traffic.bytes.iter().sum(), traffic.bytes.iter().sum()));
        // The proofs' error is counted, and is within the bound.
        let certificate = Certificate::of(&case.compiled, &vec![0; circuit.sites.len()]);
        let log2 = certificate.failure_log2.unwrap_or(0.0);
        assert!(log2 < -40.0, "{name}: 2^{log2}");
        let term = |t: &&slvr_compiler::analysis::failure::Term| t.what.contains("proof");
        let proof = certificate.failure.terms.iter().find(term).map_or(0.0, |t| t.log2);
        assert!(proof < -45.0, "{name}: 2^{proof}");
    }
}

/// Values are kept until they are proven. Where they do not fit, there are more proofs: outputs are the same, and what a
/// party holds is what is predicted and fits.
#[test]
fn values_that_do_not_fit_are_proven_earlier() {
    let (_, spread) = sizes("slvr_accuracy");
    let sizes = [("M", "LeNet5"), ("m", "4"), ("c", "1"), ("b", "2")];
    let text = predicate("slvr_accuracy");
    let seed = 11;
    let most = |c: &Circuit| peak_memory(c).into_iter().max().unwrap_or(0);
    let is_placed = |i: &&Instr| matches!(i.op, Op::Prove | Op::BeginProof);
    let placed = |c: &Circuit| c.layers.iter().flat_map(|l| &l.local).filter(is_placed).count();
    let values = |report: &Report| -> Vec<Vec<f64>> {
        report.outputs.iter().map(|o| o.values.clone()).collect()
    };
    let whole = compile_with(text, &sizes, malicious());
    let inputs = random_inputs(whole.circuit(), seed, spread);
    // Without a budget there is one that takes no rounds, and what a party holds is what is predicted.
    assert!(barriers(whole.circuit()).unwrap().iter().any(|b| !b.waits));
    let honest = whole.parties(&inputs, seed);
    let cost = Cost::of(whole.circuit());
    assert_eq!((honest.rounds, honest.bytes_sent), (cost.rounds, cost.bytes));
    assert_eq!(honest.peak_memory, cost.peak_memory);
    let want = values(&honest);
    let dealer = dealer();
    for (target, budget) in [(Target::Malicious(Family::T1), 40 << 20), (dealer, 42 << 20)] {
        let takes = most(whole.circuit());
        assert!(budget < takes, "{budget} of {takes} bytes");
        let memory = Some(budget);
        let case = compile_with(text, &sizes, Options { target, memory, ..malicious() });
        let circuit = case.circuit();
        let masked = messages(circuit, |op| matches!(op, Op::OpenMasked { .. }));
        assert_eq!(masked > 0, target == dealer, "what is proven in parts is what is asked for");
        assert!(most(circuit) <= budget, "{} of {budget} bytes", most(circuit));
        assert!(placed(circuit) > 0);
        let found = case.parties(&inputs, seed);
        // Streams are drawn by the numbers of instructions, so roundings may differ.
        assert!(distance(&values(&found), &want) < 0.01);
        let cost = Cost::of(circuit);
        assert_eq!((found.rounds, found.bytes_sent), (cost.rounds, cost.bytes));
        // A proof that opens nothing stands at some line, too.
        let rows = rows_by_statement(circuit, &cost);
        assert_eq!(rows.iter().map(|r| r.critical).sum::<usize>(), cost.rounds);
        assert_eq!(found.peak_memory, cost.peak_memory);
    }
    // Parties that follow the protocol prove nothing.
    let plain =
        Options { target: Target::SemiHonest(Family::T1), memory: Some(60 << 20), ..malicious() };
    let case = compile_with(text, &sizes, plain);
    assert_eq!(placed(case.circuit()), 0);
    // What fits with no number of proofs is refused, and what is enough is said.
    let why = refusal(text, &sizes, Options { memory: Some(1 << 20), ..malicious() }).unwrap();
    let enough = enough(&why);
    let case = compile_with(text, &sizes, Options { memory: Some(enough), ..malicious() });
    assert!(most(case.circuit()) <= enough, "{why:?}");
}

/// A number that sums are made of again and again is looked at once, so that a program of few lines compiles at once.
#[test]
fn sums_of_sums_are_looked_at_once() {
    let sums = |n: usize| -> String {
        let line = |t: usize| format!("    let a{t} = a{} + a{};\n", t - 1, t - 2);
        (2..n).map(line).collect()
    };
    let text = format!(
        "use std::{{relu, sum}};
predicate Sums[m]() {{
    parties Client[m];
    parties Server;
    input x: secret int in -1..1 from each Client;
    let a0 = sum(x[i] for i in Client);
    let a1 = a0 + 1;
{}    reveal relu(a59) to Server as result;
}}",
        sums(60)
    );
    let plain = Options { target: Target::SemiHonest(Family::T1), ..malicious() };
    for how in [malicious(), Options { target: dealer(), ..malicious() }, plain] {
        compile_with(&text, &[("m", "2")], how);
    }
}

/// Of both families the one that takes less time is built: fewer rounds where they are dear, less to prove where they are
/// not.
#[test]
fn the_faster_family_is_built() {
    let sizes = [("M", "LeNet5"), ("c", "1"), ("b", "10")];
    let text = slvr_compiler::syntax::embedded::get("bench/accuracy.slvr").expect("is embedded");
    let masked = |net: NetProfile| {
        let target = Target::Malicious(Family::T2(net.tuning()));
        let case = compile_with(text, &sizes, Options { target, ..malicious() });
        messages(case.circuit(), |op| matches!(op, Op::OpenMasked { .. }))
    };
    assert_eq!(masked(NetProfile::loopback()), 0);
    assert!(masked(NetProfile::lan()) > 50);
    assert!(masked(NetProfile::wan()) > 50);
}

/// Where the faster family does not fit in memory, however much is proven early, the other one is built if it does.
#[test]
fn the_family_that_fits_is_built() {
    let text = slvr_compiler::syntax::embedded::get("bench/accuracy.slvr").expect("is embedded");
    let with = |target, memory| Options { target, memory, ..malicious() };
    let small = ["2", "4", "6"].map(|b| ("Mlp[9,hidden=4]", b));
    let found = small.into_iter().chain([("DigitsNet", "4")]).any(|(model, b)| {
        let sizes = [("M", model), ("c", "1"), ("b", b)];
        let why =
            refusal(text, &sizes, with(Target::Malicious(Family::T1), Some(1 << 10))).unwrap();
        let budget = enough(&why);
        let masked = |memory| {
            let case = compile_with(text, &sizes, with(dealer(), memory));
            let peak = peak_memory(case.circuit()).into_iter().max().unwrap_or(0);
            assert!(memory.is_none_or(|memory| peak <= memory), "{peak} bytes");
            messages(case.circuit(), |op| matches!(op, Op::OpenMasked { .. }))
        };
        let (free, within) = (masked(None), masked(Some(budget)));
        println!("{model}, {b}: {budget} bytes, {free} and {within} masked");
        free > 0 && within == 0
    });
    assert!(found, "family T2 fits wherever T1 does");
}

/// A proof in layers that may be repeated counts twice. A program that demands less waits for the bits of checks instead.
#[test]
fn what_may_fail_too_often_waits_for_the_checks() {
    let text = |demand: &str| {
        format!(
            "use std::{{relu, sum}};\n\
             predicate Small[m, n]() {{\n{demand}\n\
             parties Client[m];\nparties Server;\n\
             input x: secret fix[n] in -2..2 from each Client;\n\
             let y = [relu(x[i]) * x[i] for i in Client];\n\
             reveal sum(y[i] for i in Client) to Server as total;\n}}"
        )
    };
    let compiled = |text: &str, n: u32, speculate| {
        let n = n.to_string();
        compile_with(text, &[("m", "3"), ("n", &n)], Options { speculate, ..malicious() })
    };
    let log2 = |case: &slvr_tests::Case| {
        Failure::of(&case.compiled.optimised, &case.compiled.guards)
            .with_proofs(case.circuit())
            .log2()
    };
    // A power of two between what may fail in both circuits.
    let plain = text("");
    let between = (1..40).map(|n| 20 * n).find_map(|n| {
        let [early, waiting] = [true, false].map(|s| compiled(&plain, n, s));
        let demand = log2(&early).ceil() - 1.0;
        let fewer = early.circuit().rounds() < waiting.circuit().rounds();
        (fewer && log2(&waiting) <= demand && demand < log2(&early)).then_some((n, demand))
    });
    let (n, demand) = between.expect("a size with such a power of two");
    let case = compiled(&text(&format!("require failure <= 2^{demand};")), n, true);
    assert!(log2(&case) <= demand);
    assert!(Speculation::of(case.circuit()).is_none(), "it waits");
}
