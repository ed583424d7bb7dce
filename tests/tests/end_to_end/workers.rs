//! Ranges of layers on workers: the same outputs, messages and coins as without, at the predicted bytes and memory.
//!
//! `SLVR_EFFORT=full` runs LeNet-5 with one, two and four workers; every day two are enough.

use slvr_circuit::ranges::{Division, ranges};
use slvr_circuit::{Dom, ValueId, artifact};
use slvr_compiler::cost::{NetProfile, workers};
use slvr_compiler::pipeline::Options as How;
use slvr_ring::Data;
use slvr_runtime::link::Link;
use slvr_runtime::link::memory::mesh;
use slvr_runtime::link::shaped::Line;
use slvr_runtime::party::session::{Options, Report, run_local};
use slvr_runtime::party::{Direction, Given, Held, Party};
use slvr_runtime::share::encode::Inputs;
use slvr_runtime::share::{PairSeeds, Prss, Rep, RunId, Seed};
use slvr_tests::{Case, compile_with, predicate, random_inputs};
use std::time::Duration;

/// A case that waits for the checks of inputs.
fn case(name: &str, sizes: &[(&str, &str)], memory: Option<u64>) -> Case {
    compile_with(predicate(name), sizes, How { memory, speculate: false, ..How::default() })
}

fn run(case: &Case, inputs: &Inputs, workers: usize, record: bool) -> Report {
    let options = Options { seed: Some(3), workers, record, ..Options::default() };
    run_local(case.circuit(), inputs, &options).unwrap_or_else(|e| panic!("{workers} workers: {e}"))
}

/// A part of a message: layer, instruction, whether it was sent, the peer, bytes.
type Part = (u32, u64, bool, String, Vec<u8>);

/// Every part of a message that each party sent or received, in order.
fn said(report: &mut Report) -> Vec<Vec<Part>> {
    let recorded = report.recorded.take().expect("a recorded run");
    let each = recorded.map(|r| {
        let one = |m: slvr_runtime::party::Recorded| {
            (m.layer, m.instr, m.direction == Direction::Sent, m.peer.to_string(), m.bytes)
        };
        let mut all: Vec<_> = r.messages.into_iter().map(one).collect();
        all.sort_unstable();
        all
    });
    each.into()
}

/// Runs a case with each of these numbers of workers and without. How many ranges it has.
fn same(case: &Case, counts: &[usize], record: bool) -> usize {
    let inputs = random_inputs(case.circuit(), 5, 0.3);
    let mut alone = run(case, &inputs, 0, record);
    let words = |r: &Report| r.outputs.iter().map(|o| o.words.clone()).collect::<Vec<_>>();
    let messages = record.then(|| said(&mut alone));
    let hash = artifact::hash(case.circuit());
    for &count in counts {
        let mut with = run(case, &inputs, count, record);
        assert_eq!(artifact::hash(case.circuit()), hash);
        assert!(words(&with) == words(&alone), "{count} workers: the same words");
        assert_eq!((&with.coins, &with.admitted), (&alone.coins, &alone.admitted));
        assert_eq!((with.rounds, with.bytes_sent), (alone.rounds, alone.bytes_sent));
        // What a party with its workers sees is what it sees without, to the bit, and so is its view uniform.
        assert!(record.then(|| said(&mut with)) == messages, "{count} workers: the same messages");
        let cost = workers(case.circuit(), count, &[&NetProfile::lan()]).remove(0);
        assert_eq!(with.peak_memory, cost.party.memory, "{count} workers: memory of the parties");
        for me in 0..3 {
            let mut counted = with.workers_memory[me].clone();
            let mut predicted: Vec<u64> = cost.ranges.iter().map(|r| r.memory[me]).collect();
            counted.sort_unstable();
            predicted.sort_unstable();
            assert_eq!(counted, predicted, "{count} workers: memory of those of party {me}");
            let of_workers = cost.workers.iter().map(|w| w.bytes[me]).sum::<u64>();
            assert_eq!(with.bytes_sent[me], cost.party.bytes[me] + of_workers);
        }
    }
    ranges(case.circuit()).len()
}

#[test]
fn blocks_of_digits_net_run_on_workers() {
    let sizes = [("M", "DigitsNet"), ("m", "40"), ("c", "2"), ("b", "10")];
    let found = same(&case("slvr_accuracy", &sizes, Some(12 << 20)), &[1, 2, 4], true);
    assert!(found >= 3, "{found} ranges");
}

#[test]
fn blocks_of_lenet_run_on_workers() {
    let sizes = [("M", "LeNet5"), ("m", "16"), ("c", "2"), ("b", "10")];
    let counts: &[usize] = if slvr_tests::long::is_full() { &[1, 2, 4] } else { &[2] };
    let found = same(&case("slvr_accuracy", &sizes, Some(60 << 20)), counts, false);
    assert_eq!(found, 3);
}

/// A check without blocks, whose inputs are loaded in parts: the parties do most of it themselves.
#[test]
fn norm_bounds_run_with_workers() {
    for (model, m, memory) in [("DigitsNet", "40", 4 << 20), ("LeNet5", "16", 16 << 20)] {
        let sizes = [("M", model), ("m", m)];
        same(&case("norm_bound", &sizes, None), &[1, 2, 4], true);
        same(&case("norm_bound", &sizes, Some(memory)), &[2], true);
    }
}

/// A client whose inputs are out of range is found before a range begins, and speculation goes back before it, too.
#[test]
fn a_client_out_of_range_changes_nothing_else() {
    let sizes = [("M", "DigitsNet"), ("m", "8"), ("c", "2"), ("b", "4")];
    for speculate in [false, true] {
        let how = How { speculate, ..How::default() };
        let case = compile_with(predicate("slvr_accuracy"), &sizes, how);
        let mut inputs = random_inputs(case.circuit(), 5, 0.3);
        for tensor in inputs.sets[0][2].values_mut() {
            if let slvr_runtime::share::encode::RawData::F64(x) = &mut tensor.data {
                x.iter_mut().for_each(|x| *x = 1e6);
            }
        }
        let with = |workers| {
            let options =
                Options { seed: Some(3), workers, submit_unchecked: true, ..Options::default() };
            run_local(case.circuit(), &inputs, &options).expect("a run")
        };
        let (alone, two) = (with(0), with(2));
        assert!(alone.admitted.iter().any(|(_, bits)| bits.contains(&false)), "one is found");
        let words = |r: &Report| r.outputs.iter().map(|o| o.words.clone()).collect::<Vec<_>>();
        assert!(words(&two) == words(&alone));
        assert_eq!((two.rounds, two.bytes_sent), (alone.rounds, alone.bytes_sent));
    }
}

/// Seconds of a run over lines of a WAN, one for each worker, without workers and with two, beside what is predicted.
#[test]
#[ignore = "prints times, which other work on the machine makes longer"]
fn times_of_workers() {
    let sizes = [("M", "LeNet5"), ("m", "16"), ("c", "2"), ("b", "10")];
    let case = case("slvr_accuracy", &sizes, Some(60 << 20));
    let inputs = random_inputs(case.circuit(), 5, 0.3);
    let wan = Line { bits_per_s: 2e8, latency: Duration::from_millis(10) };
    let cost = workers(case.circuit(), 2, &[&NetProfile::wan()]).remove(0);
    let time = |workers| {
        let options = Options { seed: Some(3), workers, shape: Some(wan), ..Options::default() };
        run_local(case.circuit(), &inputs, &options).expect("a run").seconds
    };
    let (alone, two) = (time(0), time(2));
    println!(
        "WAN: {alone:.2} s without workers, {two:.2} s with two, ratio {:.2}; predicted {:.2} s, {:.2} s, ratio {:.2}",
        two / alone,
        cost.seconds_alone,
        cost.seconds,
        cost.seconds / cost.seconds_alone
    );
}

/// A worker takes nothing but what its range reads, in the lengths of this party, and a peer in another range or run ends it.
#[test]
fn what_does_not_fit_a_range_is_refused() {
    let sizes = [("M", "DigitsNet"), ("m", "8"), ("c", "1"), ("b", "2")];
    let case = case("slvr_accuracy", &sizes, None);
    let division = Division::of(case.circuit());
    let range = division.ranges.first().expect("a range");
    let zeros = |me: usize| -> Vec<(ValueId, Held)> {
        let held = |v: &ValueId| {
            let ty = case.circuit().ty(*v);
            let mut parts = ty.stored(me).into_iter().map(|n| Data::zeros(ty.dom, n as usize));
            match (parts.next(), parts.next()) {
                (Some(a), Some(b)) => (*v, Held::Rep(Rep::new(a, b))),
                (a, _) => (*v, Held::one(a.expect("a part"))),
            }
        };
        range.reads.iter().map(held).collect()
    };
    let of =
        |me: usize, run: u8, range: usize, reads: Vec<(ValueId, Held)>, link: &mut dyn Link| {
            let seeds = [1, 2, 3].map(|n| Seed::new([n; 16]));
            let run = RunId([run; 16]);
            let prss = Prss::new(me, &PairSeeds::of_all(&seeds)[me], run);
            let party = Party::new(case.circuit(), prss, link, run, Duration::from_secs(20));
            party.run_range(&division, Given { range, reads, replaced: Vec::new() })
        };
    let alone = |range, reads| {
        let [mut link, ..] = mesh(&[]).parties;
        of(0, 7, range, reads, &mut link).expect_err("it does not fit").to_string()
    };
    let mut short = zeros(0);
    short.pop();
    let mut others = zeros(0);
    let place = others.iter_mut().find(|(_, held)| matches!(held, Held::One(_)));
    place.expect("a value with one part").1 = Held::one(Data::zeros(Dom::Ring(8), 1));
    for (number, reads) in [(0, short), (0, others), (division.ranges.len(), zeros(0))] {
        let said = alone(number, reads);
        assert!(said.contains("setup of a party"), "range {number}: {said}");
    }
    // Party 2's worker is in another run: it or one of the others sees it first.
    let ended = std::thread::scope(|scope| {
        let links = mesh(&[]).parties.into_iter().enumerate();
        let started: Vec<_> = links
            .map(|(me, mut link)| {
                let run = if me == 2 { 8 } else { 7 };
                let (of, zeros) = (&of, &zeros);
                scope.spawn(move || of(me, run, 0, zeros(me), &mut link).map(|_| ()))
            })
            .collect();
        started.into_iter().map(|t| t.join().expect("no panic")).collect::<Vec<_>>()
    });
    let said: Vec<String> =
        ended.into_iter().map(|e| e.expect_err("another run").to_string()).collect();
    assert!(said.iter().any(|e| e.contains("has another run")), "{said:?}");
}
