//! Circuits that compute before it is known whose inputs count: the same outputs as without, honest and
//! failing clients alike, in fewer rounds.

use slvr_circuit::proof::{self, barriers};
use slvr_circuit::speculation::{Speculation, gated};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, Encoding, Instr, Op};
use slvr_compiler::cost::NetProfile;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline;
use slvr_compiler::schedule::Checks;
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_runtime::party::session::{self, Options, Report, run_outcome};
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::long::{is_full, one_of};
use slvr_tests::{Case, compile_with, distance, predicate, random_inputs, sizes};

fn compile(name: &str, sizes: &[(&str, &str)], how: pipeline::Options) -> [Case; 2] {
    [true, false].map(|speculate| {
        compile_with(predicate(name), sizes, pipeline::Options { speculate, ..how })
    })
}

pub(crate) fn families() -> [pipeline::Options; 2] {
    let default = pipeline::Options::default();
    [default, pipeline::Options { target: Target::SemiHonest(Family::T1), ..default }]
}

/// Against a malicious party, by turns in both families.
fn malicious(n: usize) -> pipeline::Options {
    let wan = Family::T2(NetProfile::wan().tuning());
    let target = Target::Malicious([Family::T1, wan][n % 2]);
    pipeline::Options { target, ..pipeline::Options::default() }
}

/// The same with both placements of the checks, each in the other family.
pub(crate) fn placements(n: usize) -> [pipeline::Options; 2] {
    let with = |n, checks| pipeline::Options { checks: Some(checks), ..malicious(n) };
    [with(n, Checks::Last), with(n + 1, Checks::AtOnce)]
}

/// The proofs that are about something, by the layers before which they stand.
fn proofs(circuit: &Circuit) -> Vec<usize> {
    let all = barriers(circuit).expect("it is proven");
    let some = all.iter().filter(|b| !b.statements.is_empty());
    some.map(|b| b.layer as usize).collect()
}

/// Whether the checks are opened in the last layer before the outputs, and only one proof is given, before them.
fn is_last(circuit: &Circuit) -> bool {
    let opening = circuit.layers.len() - 2;
    let last = Speculation::of(circuit).is_some_and(|part| part.last == opening);
    last && proofs(circuit) == [opening]
}

pub(crate) fn run(case: &Case, inputs: &Inputs, seed: u64) -> Report {
    let encoded = session::encode_unchecked(case.circuit(), inputs).expect("encodes");
    let options = Options { seed: Some(seed), ..Options::default() };
    let outcome = run_outcome(case.circuit(), encoded, &options).expect("set up");
    outcome.report(case.circuit()).unwrap_or_else(|e| panic!("seed {seed}: {e}"))
}

/// How far a run is from the program, for which members that were replaced give zeros.
pub(crate) fn from_program(case: &Case, inputs: &Inputs, report: &Report) -> f64 {
    let mut inputs = inputs.clone();
    for replaced in &report.replaced {
        let given = &mut inputs.sets[replaced.set as usize][replaced.member as usize];
        for tensor in given.values_mut() {
            match &mut tensor.data {
                RawData::F64(v) => v.fill(0.0),
                RawData::F32(v) => v.fill(0.0),
                RawData::I64(v) => v.fill(0),
            }
        }
    }
    distance(&values(report), &case.floating(&inputs, &report.coins))
}

pub(crate) fn values(report: &Report) -> Vec<Vec<f64>> {
    report.outputs.iter().map(|o| o.values.clone()).collect()
}

/// A member's inputs of real numbers far out of range.
pub(crate) fn spoil(circuit: &Circuit, inputs: &mut Inputs, member: usize) {
    for input in circuit.inputs.iter().filter(|i| matches!(i.encoding, Encoding::Fixed { .. })) {
        let tensor = inputs.sets[0][member].get_mut(&input.name);
        if let Some(RawData::F64(v)) = tensor.map(|t| &mut t.data) {
            v.iter_mut().for_each(|x| *x = 20_000.0);
        }
    }
}

/// Bytes of the products with outcomes of checks, which a run shares with what they are products of if all
/// clients pass.
fn copies(circuit: &Circuit) -> u64 {
    let gated = gated(circuit).into_iter().zip(&circuit.types).filter(|(g, _)| g.is_some());
    gated.map(|(_, ty)| 2 * ty.elements() * u64::from(ty.bits().div_ceil(8))).sum()
}

#[test]
fn every_predicate_computes_the_same() {
    let (mut failed, mut last) = (0, [0; 2]);
    let tried = PREDICATES.len() / one_of(3);
    for (n, (file, _)) in PREDICATES.iter().enumerate().step_by(one_of(3)) {
        let name = file.trim_end_matches(".slvr");
        let (sizes, spread) = sizes(name);
        // Every day takes one family and one placement of each predicate, by turns each of them.
        let [family, placement] = [families()[n % 2], placements(n)[n / 2 % 2]];
        let all = [families(), placements(n)].concat();
        for how in if is_full() { all } else { vec![family, placement] } {
            let [ahead, waiting] = compile(name, &sizes, how);
            let rounds = |case: &Case| Traffic::of(case.circuit()).rounds;
            let (few, many) = (rounds(&ahead), rounds(&waiting));
            let part = Speculation::of(ahead.circuit());
            assert!(Speculation::of(waiting.circuit()).is_none(), "{name}");
            assert!(few < many || part.is_none() && few == many, "{name}: {few} of {many} rounds");
            if part.is_some() && matches!(how.target, Target::Malicious(_)) {
                last[usize::from(is_last(ahead.circuit()))] += 1;
            }
            let honest = random_inputs(ahead.circuit(), 3, spread);
            let mut spoiled = honest.clone();
            spoil(ahead.circuit(), &mut spoiled, 1);
            for inputs in [&honest, &spoiled] {
                let [one, other] = [&ahead, &waiting].map(|case| run(case, inputs, 7));
                assert_eq!(one.replaced, other.replaced, "{name}");
                // Coins follow the numbering of instructions: each run is held against the program on its own.
                let d = match one.coins == other.coins {
                    true => distance(&values(&one), &values(&other)),
                    false => [(&ahead, &one), (&waiting, &other)]
                        .map(|(case, report)| from_program(case, inputs, report))
                        .into_iter()
                        .fold(0.0, f64::max),
                };
                assert!(d < 1e-3, "{name}: {d} apart");
                for (case, report) in [(&ahead, &one), (&waiting, &other)] {
                    let t = Traffic::of_run(case.circuit(), &report.admitted);
                    assert_eq!((report.rounds, report.bytes_sent), (t.rounds, t.bytes), "{name}");
                    let peak = slvr_compiler::cost::peak_memory(case.circuit());
                    // What was under way when layer R began is there already when it begins again.
                    let more = [0, 1, 2].map(|i| report.peak_memory[i] - peak[i]);
                    let repeated = t.rounds > rounds(case);
                    // And what bits of checks are multiplied with is copied once they are not all ones.
                    let copies = copies(case.circuit());
                    let little = (0..3).all(|i| repeated && more[i] <= peak[i] / 100 + copies);
                    assert!(more == [0; 3] || little, "{name}: {more:?} bytes more");
                }
                if part.as_ref().is_some_and(|p| p.repeats(&one.admitted)) {
                    failed += 1;
                    assert!(one.rounds > few && one.rounds <= 2 * few, "{name}: {}", one.rounds);
                }
            }
        }
    }
    println!("{failed} runs with a repetition; {last:?} circuits with early and with last checks");
    assert!(2 * failed > tried, "{failed} runs with a repetition");
    assert!(last.iter().all(|n| 4 * n > tried), "{last:?}");
}

/// The same coins, seeds and values: the evaluation in the clear goes back as the parties do.
#[test]
fn the_clear_evaluation_goes_back_too() {
    for how in [pipeline::Options::default(), placements(0)[0], placements(0)[1]] {
        let (sizes, spread) = sizes("slvr_accuracy");
        let [case, _] = compile("slvr_accuracy", &sizes, how);
        let circuit = case.circuit();
        let part = Speculation::of(circuit).expect("speculates");
        let mut inputs = random_inputs(circuit, 5, spread);
        spoil(circuit, &mut inputs, 2);
        let report = run(&case, &inputs, 9);
        assert!(part.repeats(&report.admitted));
        let encoded = session::encode_unchecked(circuit, &inputs).expect("encodes");
        let options = slvr_runtime::clear::Options { coins: &report.coins, ..Default::default() };
        let plain = slvr_runtime::clear::evaluate(circuit, encoded.values(circuit), &options);
        let plain = plain.expect("evaluates");
        assert_eq!(plain.admitted, report.admitted);
        let plain: Vec<Vec<f64>> = plain.outputs.iter().map(|o| o.values.clone()).collect();
        assert!(distance(&plain, &values(&report)) < 1e-3);
    }
}

/// Against a malicious party the checks are opened last where that saves a proof: what is measured has one proof, and takes
/// fewer rounds than with early checks. Both give the outputs of semi-honest parties, and a client that fails makes the parties
/// compute all up to the outputs once more.
#[test]
fn one_proof_is_enough() {
    let norm: &[(&str, &str)] = &[("M", "DigitsNet"), ("m", "10")];
    let accuracy: &[(&str, &str)] = &[("M", "DigitsNet"), ("m", "5"), ("c", "1"), ("b", "2")];
    for (name, sizes, dealer) in [
        ("norm_bound", norm, true),
        ("slvr_accuracy", accuracy, false),
        ("norm_bound", norm, false),
        ("slvr_accuracy", accuracy, true),
    ]
    .into_iter()
    .take(4 / one_of(2))
    {
        let with = |checks| {
            let how = pipeline::Options { checks, ..malicious(usize::from(dealer)) };
            compile_with(predicate(name), sizes, how)
        };
        let [case, early] = [None, Some(Checks::AtOnce)].map(with);
        let rounds = [&case, &early].map(|case| Traffic::of(case.circuit()).rounds);
        println!("{name}, dealer {dealer}: {rounds:?} rounds");
        assert!(is_last(case.circuit()), "{name}: {:?}", proofs(case.circuit()));
        assert_eq!(proofs(early.circuit()).len(), 2, "{name}");
        assert!(rounds[0] < rounds[1], "{name}: {rounds:?} rounds");
        let plain = compile_with(predicate(name), sizes, families()[1]);
        let mut inputs = random_inputs(case.circuit(), 3, 0.1);
        for spoils in [false, true] {
            if spoils {
                spoil(case.circuit(), &mut inputs, 1);
            }
            let [last, early, plain] = [&case, &early, &plain].map(|case| {
                let report = run(case, &inputs, 7);
                assert!(from_program(case, &inputs, &report) < 1e-3, "{name}, spoilt: {spoils}");
                report
            });
            assert_eq!(last.replaced, plain.replaced, "{name}");
            assert_eq!(early.replaced, plain.replaced, "{name}");
            assert_eq!(last.replaced.len(), usize::from(spoils), "{name}");
            let part = Speculation::of(case.circuit()).expect("it does not wait");
            let again = part.repeats(&last.admitted);
            assert_eq!(again, spoils, "{name}");
            let traffic = match again {
                true => Traffic::repeated(case.circuit()),
                false => Traffic::of(case.circuit()),
            };
            assert_eq!((last.rounds, last.bytes_sent), (traffic.rounds, traffic.bytes), "{name}");
        }
    }
}

/// A proof that goes on beside layers may begin in layers that are repeated, and be under way in others: the outputs are
/// those of the program, and rounds and bytes those that are predicted.
#[test]
fn proofs_go_on_beside_layers_that_are_repeated() {
    let sizes = [("M", "DigitsNet"), ("m", "5"), ("c", "1"), ("b", "2")];
    let (mut beside, mut repeated) = (0, 0);
    for how in placements(0).into_iter().chain(placements(1)).take(4 / one_of(2)) {
        let [mut case, _] = compile("slvr_accuracy", &sizes, how);
        let whole = case.circuit().clone();
        let part = Speculation::of(&whole).expect("speculates");
        let honest = random_inputs(&whole, 3, 0.1);
        let mut spoiled = honest.clone();
        spoil(&whole, &mut spoiled, 1);
        let layers = part.first..=part.last;
        for layer in layers.step_by((part.last - part.first).div_ceil(8 / one_of(4))) {
            let mut circuit = whole.clone();
            let begin = Instr { out: None, op: Op::BeginProof, site: 0 };
            circuit.layers[layer].local.insert(0, begin);
            let all = proof::proofs(&circuit).expect("it is proven");
            beside += all.iter().filter(|p| !p.barrier.waits && p.ends > p.barrier.layer).count();
            case.compiled.circuit = circuit;
            for inputs in [&honest, &spoiled] {
                let report = run(&case, inputs, 7);
                let d = from_program(&case, inputs, &report);
                assert!(d < 1e-3, "{how:?}, layer {layer}: {d} apart");
                repeated += usize::from(part.repeats(&report.admitted));
                let t = Traffic::of_run(case.circuit(), &report.admitted);
                let found = (report.rounds, report.bytes_sent);
                assert_eq!(found, (t.rounds, t.bytes), "{how:?}, layer {layer}");
            }
        }
    }
    println!("{beside} proofs beside layers, {repeated} runs with a repetition");
    assert!(beside > 1 && repeated > 1, "{beside} proofs, {repeated} repetitions");
}

/// What does not fit with the last checks has early ones if these fit, and waits if they do not.
#[test]
fn last_checks_take_no_more_than_the_budget() {
    let sizes = [("M", "DigitsNet"), ("m", "5"), ("c", "1"), ("b", "2")];
    let with = |checks, memory| {
        let how = pipeline::Options { checks, memory, ..malicious(0) };
        compile_with(predicate("slvr_accuracy"), &sizes, how)
    };
    let peak =
        |c: &Case| slvr_compiler::cost::peak_memory(c.circuit()).into_iter().max().unwrap_or(0);
    let [last, early] = [Checks::Last, Checks::AtOnce].map(|checks| with(Some(checks), None));
    assert!(peak(&last) > peak(&early), "the example shows nothing");
    let built = |tenths: u64| {
        let budget = peak(&last) * tenths / 10;
        let case = with(None, Some(budget));
        assert!(peak(&case) <= budget);
        match case.circuit() {
            c if c == last.circuit() => 2,
            c if c == early.circuit() => 1,
            c => {
                assert!(Speculation::of(c).is_none(), "it waits");
                0
            }
        }
    };
    // The vectors of proofs count, too.
    let tenths = if is_full() { (8..44).step_by(2).collect() } else { vec![8, 14, 20, 32] };
    let all: Vec<usize> = tenths.into_iter().map(built).collect();
    println!("{all:?}");
    assert!(all.is_sorted() && [0, 1, 2].iter().all(|n| all.contains(n)), "{all:?}");
}

/// A budget that a circuit keeps only if it waits: it waits, and takes no blocks.
#[test]
fn memory_is_not_spent_on_rounds() {
    let sizes = [("M", "DigitsNet"), ("m", "6"), ("c", "1"), ("b", "4")];
    let peak =
        |c: &Case| slvr_compiler::cost::peak_memory(c.circuit()).into_iter().max().unwrap_or(0);
    let [ahead, waiting] = compile("slvr_accuracy", &sizes, pipeline::Options::default());
    assert!(peak(&ahead) > peak(&waiting), "the example shows nothing");
    for (budget, like) in [(peak(&ahead), &ahead), (peak(&waiting), &waiting)] {
        let how = pipeline::Options { memory: Some(budget), ..pipeline::Options::default() };
        let case = compile_with(predicate("slvr_accuracy"), &sizes, how);
        assert!(case.circuit() == like.circuit());
    }
}

/// An input that nothing reads is checked too, and its check waits for nobody's: the program builds with every
/// family of protocols, and parties agree with the program.
#[test]
fn an_input_that_nothing_reads_is_checked() {
    let text = "use std::{abs};\npredicate T() {\n    parties A;\n    parties S;\n    \
                input x: secret fix in -1..1 from A;\n    input z: secret fix in -3..3 from S;\n    \
                reveal abs(x) to S as o;\n}\n";
    for target in [pipeline::Options::default().target, Target::SemiHonest(Family::T1)] {
        let how = pipeline::Options { target, ..pipeline::Options::default() };
        let case = compile_with(text, &[], how);
        for seed in 0..4 {
            let mut inputs = random_inputs(case.circuit(), seed, 1.0);
            if seed > 1 {
                spoil(case.circuit(), &mut inputs, 0);
            }
            let report = run(&case, &inputs, seed);
            let checks = case.circuit().checks.len();
            assert_eq!(report.admitted.len(), checks, "seed {seed}: each set is checked");
        }
    }
}
