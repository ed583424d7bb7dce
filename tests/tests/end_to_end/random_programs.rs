//! Random well-typed programs: floating point, the graph after every pass, the circuit and three
//! parties agree to the last bit; every stage reads back from its text.
//!
//! `SLVR_COUNT=100000 cargo test --release -p slvr-tests --test end_to_end random_programs_of_every -- --nocapture` is
//! the long run. It begins at the program of number `SLVR_SEED`. From the number follow the program, its inputs and the
//! way in which it is compiled; a failing test prints it.

use slvr_circuit::proof::barriers;
use slvr_circuit::ranges::ranges;
use slvr_circuit::speculation::Speculation;
use slvr_circuit::text as circuit_text;
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, Op};
use slvr_compiler::cost::{self, NetProfile, Tuning};
use slvr_compiler::graph::text as graph_text;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::{Fine, Options};
use slvr_compiler::schedule::Loads;
use slvr_runtime::clear::Evaluator;
use slvr_runtime::party::session::{self, Report};
use slvr_runtime::share::encode::Inputs;
use slvr_tests::generate::program;
use slvr_tests::long::{self, Seen, caught, choices, shrunk};
use slvr_tests::{Case, Left, Random, Round, coarse_inputs, compile_with};

/// What is said of a program that has no proof.
const UNPROVEN: &str = "not against a malicious party yet";

fn agree(choices: &[u8], seed: u64, how: Options) {
    let generated = program(choices);
    let (text, bindings) = (&generated.text, generated.sizes());
    let why =
        |stage: &str| format!("{stage}\ninput seed {seed}, sizes {bindings:?}, {how:?}\n{text}");

    let mut case = compile_with(text, &bindings, how);
    // Where there are states, a second round reads what the first has stored.
    let rounds = 1 + u64::from(case.circuit().states().next().is_some());
    for number in 1..=rounds {
        let of_round = |stage: &str| why(&format!("round {number}, {stage}"));
        round(&mut case, seed ^ (number - 1) << 40, number == rounds, &of_round);
    }
    let printed = circuit_text::print(case.circuit());
    let read = circuit_text::parse(&printed).unwrap_or_else(|e| panic!("{e}: {}", why("circuit")));
    assert_eq!(&read, case.circuit(), "{}", why("circuit text"));

    let file = slvr_compiler::syntax::ast::FileId::default();
    let (tree, _) = slvr_compiler::syntax::parse(file, text);
    let (again, wrong) = slvr_compiler::syntax::parse(file, &slvr_compiler::syntax::print(&tree));
    assert!(wrong.is_empty(), "{}", why("printed program"));
    assert_eq!(tree, again, "{}", why("printed program"));
    let once =
        slvr_compiler::syntax::format(file, text).unwrap_or_else(|_| panic!("{}", why("format")));
    let twice =
        slvr_compiler::syntax::format(file, &once).unwrap_or_else(|_| panic!("{}", why("format")));
    assert_eq!(once, twice, "{}", why("format"));
}

/// One round of a case, of inputs of its own. What it stores is left for the next one. Every pass is looked at in the last.
fn round(case: &mut Case, seed: u64, last: bool, why: &dyn Fn(&str) -> String) {
    let inputs = coarse_inputs(case.circuit(), seed);
    let report = case.parties_with_noise(&inputs, seed);
    let parties: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
    let coins = &report.coins;

    let floating = case.floating_round(&inputs, coins);
    let before = case.graph_round(&case.compiled.graph, &inputs, coins);
    assert_eq!(floating, before, "{}", why("program, graph"));
    if last {
        after_every_pass(case, &inputs, coins, &before, why);
    }
    assert_eq!(before, case.exact_round(&inputs, coins), "{}", why("graph in ring arithmetic"));
    let (revealed, words) = case.evaluated_round(&case.evaluator(), &inputs, coins, seed);
    let clear = Round { outputs: revealed, states: case.numbers(&words) };
    assert_eq!(before, clear, "{}", why("circuit in the clear"));
    assert_eq!(before.outputs, parties, "{}", why("three parties"));

    if let Some(parts) = Loads::of(case.circuit()).in_parts(2) {
        match Evaluator::new(&parts) {
            Ok(parts) => {
                let clear = case.evaluated_round(&parts, &inputs, coins, seed);
                assert_eq!(clear, (before.outputs.clone(), words.clone()), "{}", why("in parts"));
            }
            // Some proofs are about the whole of what is in parts.
            Err(e) => assert!(parts.security.is_malicious(), "{e}: {}", why("in parts")),
        }
    }

    if !ranges(case.circuit()).is_empty() {
        on_workers(case, &inputs, seed, &report, why);
    }
    let traffic = Traffic::of(case.circuit());
    assert_eq!(
        (report.rounds, report.bytes_sent),
        (traffic.rounds, traffic.bytes),
        "{}",
        why("cost")
    );
    assert_eq!(report.peak_memory, cost::peak_memory(case.circuit()), "{}", why("memory"));
    case.left = Left { plain: before.states, words, kept: report.kept };
}

/// With workers a run has the same words, rounds and bytes, and takes the memory that is predicted.
fn on_workers(
    case: &Case,
    inputs: &Inputs,
    seed: u64,
    alone: &Report,
    why: &dyn Fn(&str) -> String,
) {
    let state = case.left.kept.as_ref();
    let options = session::Options { seed: Some(seed), state, workers: 2, ..Default::default() };
    let with = session::run_local(case.circuit(), inputs, &options);
    let with = with.unwrap_or_else(|e| panic!("{e}: {}", why("workers")));
    let words = |r: &Report| r.outputs.iter().map(|o| o.words.clone()).collect::<Vec<_>>();
    assert!(words(&with) == words(alone), "{}", why("words with workers"));
    let traffic = |r: &Report| (r.rounds, r.bytes_sent, r.coins.clone());
    assert_eq!(traffic(&with), traffic(alone), "{}", why("cost with workers"));
    let cost = cost::workers(case.circuit(), 2, &[&NetProfile::lan()]).remove(0);
    assert_eq!(with.peak_memory, cost.party.memory, "{}", why("memory with workers"));
    for me in 0..3 {
        let mut counted = with.workers_memory[me].clone();
        let mut predicted: Vec<u64> = cost.ranges.iter().map(|r| r.memory[me]).collect();
        counted.sort_unstable();
        predicted.sort_unstable();
        assert_eq!(counted, predicted, "{}", why("memory of workers"));
    }
}

/// The graph after every pass has the same values, and reads back from its text.
fn after_every_pass(
    case: &Case,
    inputs: &Inputs,
    coins: &[u128],
    before: &Round,
    why: &dyn Fn(&str) -> String,
) {
    let mut last = graph_text::print(&case.compiled.graph);
    slvr_compiler::passes::run(&case.compiled.graph, |pass, graph| {
        slvr_compiler::graph::verify::verify(graph)
            .unwrap_or_else(|e| panic!("{e}: {}", why(pass.name)));
        let printed = graph_text::print(graph);
        // Most passes find nothing to do in a small program, and leave the graph that was seen before.
        if printed == last {
            return;
        }
        let after = case.graph_round(graph, inputs, coins);
        assert_eq!(*before, after, "{}", why(pass.name));
        let read =
            graph_text::parse(&printed).unwrap_or_else(|e| panic!("{e}: {}", why(pass.name)));
        assert_eq!(graph_text::print(&read), printed, "{}", why(pass.name));
        last = printed;
    })
    .expect("no constant is lost");
}

fn tuned(latency: f64, bandwidth: f64) -> Target {
    Target::SemiHonest(Family::T2(Tuning { latency, bandwidth }))
}

/// The families of protocols: the dealer-style one for fewest rounds, that for fewest bits, and T1.
fn families() -> [Options; 3] {
    let with = |target| Options { target, ..Options::default() };
    let fewest = [tuned(0.01, 1e12), tuned(0.0, 1e6)];
    [with(fewest[0]), with(fewest[1]), with(Target::SemiHonest(Family::T1))]
}

/// Networks that family T2 chooses its protocols for: fewest rounds, fewest bits, and between.
const NETWORKS: [(f64, f64); 4] = [(0.01, 1e12), (0.0, 1e6), (0.0005, 1e9), (0.03, 1e8)];

/// A way to compile a program: family, network, fraction bits, speculation.
fn way(seed: u64) -> Options {
    let mut random = Random::new(seed ^ 0x7761_7973);
    let mut below = |n: usize| (random.unit() * n as f64) as usize;
    let target = match below(8) {
        0..=3 => {
            let (latency, bandwidth) = NETWORKS[below(NETWORKS.len())];
            tuned(latency, bandwidth)
        }
        _ => Target::SemiHonest(Family::T1),
    };
    let fine = [Fine::Short, Fine::Short, Fine::Nothing, Fine::All][below(4)];
    Options { target, fine, speculate: below(4) > 0, ..Options::default() }
}

/// One program of a number, compiled in some way, on inputs of the same number.
fn one(seed: u64, how: Options) -> Result<(), String> {
    agree(&choices(seed, 0, 160), seed, how);
    Ok(())
}

/// The smallest program that a failing one shrinks to.
fn smaller(seed: u64, how: Options) -> String {
    let fails = |c: &[u8]| {
        caught(|| {
            agree(c, seed, how);
            Ok(())
        })
    };
    let least = shrunk(&choices(seed, 0, 160), |c| fails(c).is_err());
    let why = fails(&least).err().unwrap_or_else(|| "it holds if it is tried again".into());
    format!("choices {least:?}\n{why}")
}

/// Programs of a family, each of another number than those of the others.
fn agree_in(which: usize, count: u64) {
    let first = 1_000_000_000 * (1 + which as u64);
    let how = families()[which];
    let what = format!("program of family {which}");
    long::run(&what, first..first + count, |seed| one(seed, how), |seed| smaller(seed, how));
}

#[test]
fn random_programs_agree_at_every_stage() {
    agree_in(0, long::part(16, 111));
}

#[test]
fn random_programs_of_fewest_bits_agree() {
    agree_in(1, long::part(12, 40));
}

#[test]
fn random_programs_of_family_t1_agree() {
    agree_in(2, long::part(16, 99));
}

/// Of the programs of a family some have ranges, so that they run on workers, too.
#[test]
fn some_random_programs_have_ranges() {
    let how = families()[0];
    let first = 1_000_000_000;
    let has = |seed: u64| {
        let generated = program(&choices(seed, 0, 160));
        let (text, bindings) = (&generated.text, generated.sizes());
        !ranges(compile_with(text, &bindings, how).circuit()).is_empty()
    };
    let count = (first..first + 24).filter(|&seed| has(seed)).count();
    println!("{count} of 24");
    assert!(count >= 3, "{count} of 24 have ranges");
}

/// Family, network, fraction bits and speculation are drawn for each; the long run.
#[test]
fn random_programs_of_every_way_agree() {
    let numbers = long::slice_of(16, 60);
    let many = numbers.end - numbers.start >= 1000;
    let mut seen = Seen::default();
    let case = |seed| {
        let how = way(seed);
        seen.add(&(how.target, how.fine, how.speculate));
        one(seed, how)
    };
    long::run("program", numbers, case, |seed| smaller(seed, way(seed)));
    println!("{seen}");
    // Four networks, and T1, each of three fraction bits and two ways to begin.
    assert!(!many || seen.kinds() == 30, "all ways are drawn: {seen}");
}

/// Against a malicious party, in either family: fewer, as each run proves all that is sent. Of these programs the
/// compiler refuses what it has no proof for, and says so.
#[test]
fn random_programs_against_a_malicious_party_agree() {
    let (mut proven, mut refused) = (0, 0);
    let numbers = 5_000_000_000..5_000_000_000 + long::count(6);
    let how = |seed: u64| {
        // Where rounds are dear T2 is taken.
        let families = [Family::T2(NetProfile::wan().tuning()), Family::T1];
        let target = Target::Malicious(families[seed as usize % 2]);
        Options { target, ..Options::default() }
    };
    let held = |seed| {
        let held = caught(|| one(seed, how(seed)));
        if held.as_ref().is_err_and(|why| why.contains(UNPROVEN)) {
            refused += 1;
            return Ok(());
        }
        proven += 1;
        held
    };
    long::run("proven program", numbers, held, |seed| smaller(seed, how(seed)));
    println!("{proven} proven, {refused} refused");
    assert!(proven > refused / 4, "many programs have proofs");
}

/// Within a budget there are more proofs. Of a program's budgets some are too small.
#[test]
fn random_programs_within_budgets_agree() {
    let numbers = 7_000_000_000..7_000_000_000 + long::part(10, 120);
    let (mut fit, mut more, mut too_small) = (0, 0, 0);
    let within = |seed: u64| {
        let generated = program(&choices(seed, 0, 160));
        let (text, bindings) = (&generated.text, generated.sizes());
        let families = [Family::T2(NetProfile::wan().tuning()), Family::T1];
        let target = Target::Malicious(families[seed as usize % 2]);
        let how = Options { target, ..Options::default() };
        let refused = [UNPROVEN, "no circuit was found"];
        let compiled = |how| match caught(|| Ok(compile_with(text, &bindings, how))) {
            Err(why) if refused.iter().any(|r| why.contains(r)) => Ok(None),
            case => case.map(Some),
        };
        let Some(whole) = compiled(how)? else { return Ok(()) };
        let held = cost::memory_at_most;
        for percent in [90, 60] {
            let budget = held(whole.circuit()) * percent / 100;
            let how = Options { memory: Some(budget), ..how };
            let Some(case) = compiled(how)? else {
                too_small += 1;
                continue;
            };
            let circuit = case.circuit();
            if held(circuit) > budget {
                return Err(format!("{} bytes for {how:?}\n{text}", held(circuit)));
            }
            let mut local = circuit.layers.iter().flat_map(|l| &l.local);
            more += usize::from(local.any(|i| matches!(i.op, Op::BeginProof | Op::Prove)));
            fit += 1;
            one(seed, how)?;
        }
        Ok(())
    };
    long::run("program within a budget", numbers, within, |seed| format!("program {seed}"));
    println!("{fit} circuits, {more} with more proofs; {too_small} budgets too small");
    assert!(more > 0, "{fit} circuits, {too_small} budgets too small");
}

/// Whether something waits for the bits of a check, or is computed again if they are not all ones.
fn waits_for_checks(circuit: &Circuit) -> bool {
    let instrs = circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange));
    let mut read = instrs.flat_map(|i| i.op.operands());
    Speculation::of(circuit).is_some() || read.any(|v| circuit.checks.iter().any(|c| c.value == v))
}

/// Against a malicious party, without a memory budget: all outputs are opened in the last layer, behind one proof, and no
/// other proof is given but one before the bits of checks that something waits for.
#[test]
fn outputs_are_opened_together_behind_one_proof() {
    let (mut seen, mut refused, mut early) = ([0; 3], 0, 0);
    let numbers = 6_000_000_000..6_000_000_000 + long::part(16, 40);
    let placed = |seed: u64| {
        let generated = program(&choices(seed, 0, 160));
        let (text, bindings) = (&generated.text, generated.sizes());
        let families = [Family::T2(NetProfile::wan().tuning()), Family::T1];
        for (speculate, enforce) in [(true, true), (false, true), (false, false)] {
            let how = Options {
                target: Target::Malicious(families[seed as usize % 2]),
                speculate,
                enforce,
                ..Options::default()
            };
            let case = match caught(|| Ok(compile_with(text, &bindings, how))) {
                Err(why) if why.contains(UNPROVEN) => {
                    refused += 1;
                    continue;
                }
                case => case?,
            };
            let circuit = case.circuit();
            let all = barriers(circuit).map_err(|e| e.to_string())?;
            let proofs = all.iter().filter(|b| !b.statements.is_empty()).count();
            let most = 1 + usize::from(waits_for_checks(circuit));
            let outputs: Vec<usize> = (circuit.layers.iter().enumerate())
                .flat_map(|(l, layer)| layer.exchange.iter().map(move |i| (l, &i.op)))
                .filter(|(_, op)| matches!(op, Op::OpenTo { .. }))
                .map(|(l, _)| l)
                .collect();
            let last = circuit.layers.iter().rposition(|layer| !layer.exchange.is_empty());
            if proofs > most || outputs.iter().any(|l| Some(*l) != last) {
                return Err(format!(
                    "{proofs} proofs, outputs in layers {outputs:?}, the last is {last:?}\n{how:?}\n{text}"
                ));
            }
            seen[proofs] += 1;
            early += usize::from(outputs.len() > 1);
        }
        Ok(())
    };
    long::run("proven program", numbers, placed, |seed| format!("program {seed}"));
    println!("{seen:?} circuits by proofs, {early} with several outputs, {refused} refused");
    let few = 10 / long::one_of(5);
    assert!(seen[1] > few && seen[2] > few && early > few, "too few: {seen:?}, {early}");
}

/// Products of bits that are revealed and used again, where no input is checked: one proof is before all of them.
#[test]
fn early_outputs_have_no_proofs_of_their_own() {
    let text = "predicate L[n]() {\n    parties C;\n    parties S;\n    input b: secret bit[n] from C;\n    \
                input c: secret bit[n] from C;\n    reveal b && c to S as both;\n    reveal b to S as mine;\n    \
                reveal b && c && [b[n - 1 - i] for i in n] && [c[n - 1 - i] for i in n] to S as more;\n}\n";
    let target = Target::Malicious(Target::default().family());
    let how = Options { target, ..Options::default() };
    let with = |text: &str| compile_with(text, &[("n", "5")], how);
    let alone: String =
        text.lines().filter(|l| !l.contains("as both") && !l.contains("as mine")).collect();
    let [all, alone] = [with(text), with(&alone)];
    let rounds = |case: &Case| Traffic::of(case.circuit()).rounds;
    // What is not the only output is reshared before it is opened.
    assert!(rounds(&all) <= rounds(&alone) + 1, "{} and {}", rounds(&all), rounds(&alone));
    agree_on(&all);
}

fn agree_on(case: &Case) {
    let inputs = coarse_inputs(case.circuit(), 1);
    let report = case.parties(&inputs, 1);
    let values: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
    assert_eq!(values, case.floating(&inputs, &report.coins));
}

/// The string of no choices, and some that once mattered.
#[test]
fn small_programs_agree() {
    for choices in [&[][..], &[1, 1, 1], &[3, 3, 2, 3, 4, 4, 9, 9, 0]] {
        families().into_iter().for_each(|how| agree(choices, 1, how));
    }
}

/// A product that fills its 32 bits and is truncated: lifted from there it would come out wrong.
#[test]
fn values_that_fill_their_ring_are_not_lifted() {
    let choices = [
        14, 13, 9, 9, 85, 18, 250, 20, 127, 158, 14, 9, 90, 131, 248, 0, 85, 16, 14, 219, 50, 14, 0,
    ];
    for how in families() {
        agree(&choices, 3728479239864250057, how);
    }
}
