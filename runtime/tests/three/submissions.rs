//! Clients that give nothing, deal inconsistent shares, or submit what is out of range.

use crate::build::{Builder, words};
use slvr_circuit::Dom;
use slvr_circuit::{Check, Circuit, Encoding, From, Hold, Input, Op, Type, ValueId};
use slvr_ring::Data;
use slvr_runtime::clear;
use slvr_runtime::link::memory::{Mesh, mesh};
use slvr_runtime::party::session::{Options, Report, run_local, run_outcome};
use slvr_runtime::party::{Doors, Held, Invalid, Party, Replaced, RunError, Why};
use slvr_runtime::share::deal::{Part, Upload};
use slvr_runtime::share::encode::{Encoded, Inputs, RawTensor};
use slvr_runtime::share::{PairSeeds, Prss, Rep, RunId, Seed};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const CLIENTS: u64 = 4;

/// Each of four clients gives a vector of three words and a bit; the vectors are revealed, and the
/// product of two, so that inconsistent copies meet. The bit is opened as if it were a check.
fn circuit() -> Circuit {
    let mut b = Builder::new();
    let ring = Dom::Ring(64);
    let x = b.secret(64, &[1, CLIENTS, 3], &[0; 12]);
    let ok = b.secret(64, &[1, CLIENTS], &[0; 4]);
    let x = b.op(Op::Reshape(x, vec![CLIENTS, 3]), Hold::Rep, ring, &[CLIENTS, 3]);
    let square = b.same(Op::Mul(x, x), Hold::Add3);
    b.reveal(x, 16, 1.0);
    b.reveal_words(square, 32, 1.0);
    let ok = b.op(Op::Reshape(ok, vec![CLIENTS]), Hold::Rep, ring, &[CLIENTS]);
    let opened = b.round(Op::Open(ok), Hold::Public);
    let op = Op::ToBits { x: opened, lo: 0, w: 1 };
    let bits = b.op(op, Hold::Public, Dom::Bits(1), &[CLIENTS]);
    let (mut c, _) = b.finish();
    c.parties[0].size = CLIENTS;
    let input = |name: &str, encoding, shape: &[u64], value| Input {
        name: name.into(),
        from: From::Each(0),
        encoding,
        shape: shape.to_vec(),
        fields: vec![],
        value: ValueId(value),
    };
    let fixed = Encoding::Fixed { frac: 16, lo: -8.0, hi: 8.0, shift: 0, norm: f64::INFINITY };
    c.inputs =
        vec![input("x", fixed, &[3], 0), input("ok", Encoding::Int { lo: 0, hi: 2 }, &[], 1)];
    c.types[0] = Type::new(Hold::Rep, ring, [CLIENTS, 3]);
    c.types[1] = Type::new(Hold::Rep, ring, [CLIENTS]);
    c.checks = vec![Check { set: 0, value: bits }];
    c
}

fn files() -> Inputs {
    let client = |i: u64| {
        let x = vec![i as f64 + 1.0, -0.5, 8.0];
        BTreeMap::from([
            ("x".to_string(), RawTensor::reals([3], x)),
            ("ok".to_string(), RawTensor::integers([], vec![1])),
        ])
    };
    Inputs { public: BTreeMap::new(), sets: vec![(0..CLIENTS).map(client).collect()] }
}

fn seeded() -> Options<'static> {
    Options { doors: Doors::new().any_openings(), seed: Some(3), ..Options::default() }
}

/// What is revealed when these clients count as zeros.
fn expect(report: &Report, out: &[u64]) {
    let rows = (0..CLIENTS).map(|i| match out.contains(&i) {
        true => [0.0; 3],
        false => [i as f64 + 1.0, -0.5, 8.0],
    });
    let want: Vec<f64> = rows.flatten().collect();
    assert_eq!(report.outputs[0].values, want);
    let squares: Vec<f64> = want.iter().map(|x| x * x).collect();
    assert_eq!(report.outputs[1].values, squares);
}

fn replaced(list: &[(u64, Why)]) -> Vec<Replaced> {
    list.iter().map(|&(member, why)| Replaced { set: 0, member, why }).collect()
}

#[test]
fn honest_clients_are_used() {
    let report = run_local(&circuit(), &files(), &seeded()).unwrap();
    expect(&report, &[]);
    assert_eq!(report.replaced, []);
    assert_eq!(report.admitted, [(0, vec![true; 4])]);
}

#[test]
fn a_missing_client_counts_as_zeros() {
    let (circuit, mut inputs) = (circuit(), files());
    inputs.sets[0][2].clear();
    let report = run_local(&circuit, &inputs, &seeded()).unwrap();
    expect(&report, &[2]);
    assert_eq!(report.replaced, replaced(&[(2, Why::Missing)]));
    // Its zeros are no good inputs either; the first reason counts.
    assert_eq!(report.admitted, [(0, vec![true, true, false, true])]);
    assert_eq!(report.upload_bytes, [vec![64, 64, 0, 64], vec![]]);
    let encoded = Encoded::new(&circuit, &inputs).unwrap();
    let plain = clear::evaluate(&circuit, encoded.values(&circuit), &Default::default()).unwrap();
    assert!(plain.outputs == report.outputs);
    assert_eq!(plain.admitted, report.admitted);
}

#[test]
fn some_client_must_give_something() {
    let (circuit, mut inputs) = (circuit(), files());
    inputs.sets[0].iter_mut().for_each(|m| m.clear());
    let e = run_local(&circuit, &inputs, &seeded()).unwrap_err();
    assert_eq!(
        e.to_string(),
        "Client: tensor `x`: inputs of 0 members were given, the circuit expects 4"
    );
    // A part of the tensors is a mistake, not an absence.
    let mut inputs = files();
    inputs.sets[0][1].remove("ok");
    let e = run_local(&circuit, &inputs, &seeded()).unwrap_err();
    assert_eq!(e.to_string(), "Client 1: tensor `ok`: missing");
}

#[test]
fn a_check_names_who_failed_it() {
    let (circuit, mut inputs) = (circuit(), files());
    inputs.sets[0][0].insert("ok".into(), RawTensor::integers([], vec![0]));
    inputs.sets[0][3].clear();
    let report = run_local(&circuit, &inputs, &seeded()).unwrap();
    let want = [(0, Why::OutOfRange), (3, Why::Missing)];
    assert_eq!(report.replaced, replaced(&want));
}

/// A run that is to end says of all clients at once what is wrong with them, and nothing is revealed.
#[test]
fn a_run_may_end_at_the_verdicts() {
    let (circuit, mut inputs) = (circuit(), files());
    let options = Options { invalid: Invalid::Stop, ..seeded() };
    let honest = run_local(&circuit, &inputs, &options).unwrap();
    assert_eq!(honest.outputs, run_local(&circuit, &inputs, &seeded()).unwrap().outputs);
    inputs.sets[0][0].insert("ok".into(), RawTensor::integers([], vec![0]));
    inputs.sets[0][3].clear();
    let want = replaced(&[(0, Why::OutOfRange), (3, Why::Missing)]);
    let encoded = Encoded::new(&circuit, &inputs).unwrap();
    let outcome = run_outcome(&circuit, encoded, &options).unwrap();
    for party in &outcome.parties {
        assert!(matches!(party, Err(RunError::Invalid(all)) if *all == want), "{party:?}");
    }
    assert!(outcome.receivers.iter().all(|(_, r)| r.is_err()), "nothing is revealed");
    let error = outcome.report(&circuit).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the inputs of these clients cannot be used: client 0 of party set 0 (out of range), client 3 of party set 0 (missing)"
    );
}

/// The explicit component, with one byte changed.
fn damaged(part: &Part) -> Part {
    match part {
        Part::Explicit(bytes) => {
            let mut bytes = bytes.clone();
            Arc::make_mut(&mut bytes)[17] ^= 4;
            Part::Explicit(bytes)
        }
        Part::Seed(_) => Part::Seed(Seed::new([99; 16])),
    }
}

/// Every way in which the two copies of a component can differ.
#[test]
fn an_inconsistent_client_counts_as_zeros() {
    let circuit = circuit();
    for party in 0..3 {
        for second in [false, true] {
            let tamper = |set: usize, member: usize, uploads: &mut [Upload; 3]| {
                assert_eq!(set, 0);
                if member == 1 {
                    let part =
                        if second { &mut uploads[party].second } else { &mut uploads[party].first };
                    *part = damaged(part);
                }
            };
            let options = Options { doors: seeded().doors.tamper(&tamper), ..seeded() };
            let report = run_local(&circuit, &files(), &options).unwrap();
            expect(&report, &[1]);
            assert_eq!(report.replaced, replaced(&[(1, Why::Inconsistent)]));
            // These bytes are set-up: the layers are as without.
            let honest = run_local(&circuit, &files(), &seeded()).unwrap();
            assert_eq!(report.bytes_sent, honest.bytes_sent);

            // Without the comparison the run ends with garbage: in the product both copies are used.
            // (And where the check's bit is opened from different copies, the parties disagree.)
            let options = Options { doors: options.doors.compare(false), ..options };
            let without = Circuit { checks: vec![], ..circuit.clone() };
            let report = run_local(&without, &files(), &options).unwrap();
            assert_eq!(report.replaced, []);
            let bad = &report.outputs[1].values[3..6];
            assert_ne!(bad, [4.0, 0.25, 64.0]);
            assert_ne!(bad, [0.0; 3]);
            let good: Vec<f64> = report.outputs[1].values.iter().skip(6).copied().collect();
            assert_eq!(good, [9.0, 0.25, 64.0, 16.0, 0.25, 64.0], "the others are right");
        }
    }
}

/// Parties that were handed shares and no uploads compare what they hold.
#[test]
fn shares_without_uploads_are_compared() {
    let circuit = circuit();
    let circuit = &circuit;
    let run = RunId([4; 16]);
    let pairs = PairSeeds::of_all(&[1u8, 2, 3].map(|b| Seed::new([b; 16])));
    // x0 and x1 are what comes, x2 is the difference; party 0 holds a changed x1 of client 2.
    let of = |value: usize, component: u64, changed: bool| {
        let n = circuit.types[value].elements() as usize;
        let mut x: Vec<u128> = words(10 * value as u64 + component, n);
        if changed {
            x[n / 2] ^= 1;
        }
        Data::from_u128s(Dom::Ring(64), &x)
    };
    let held = |me: u64, value: usize| {
        let next = (me + 1) % 3;
        Held::Rep(Rep::new(of(value, me, false), of(value, next, me == 0 && value == 1)))
    };
    let Mesh { parties, receivers } = mesh(&[1]);
    let reports: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .zip(parties)
            .map(|(me, mut link)| {
                let prss = Prss::new(me, &pairs[me], run);
                let held = &held;
                scope.spawn(move || {
                    let party = Party {
                        doors: Doors::new().any_openings(),
                        ..Party::new(circuit, prss, &mut link, run, Duration::from_secs(20))
                    };
                    party
                        .run(vec![held(me as u64, 0), held(me as u64, 1)])
                        .map(|(report, _)| report)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    drop(receivers);
    for report in reports {
        assert_eq!(report.unwrap().replaced[..1], replaced(&[(2, Why::Inconsistent)]));
    }
}

/// A component that a party cannot read: too short, or a seed where an explicit part belongs.
#[test]
fn an_unreadable_upload_counts_as_zeros() {
    let circuit = circuit();
    let seed = |_: &Part| Part::Seed(Seed::new([1; 16]));
    let short = |_: &Part| Part::Explicit(vec![0; 5].into());
    let changes: [&(dyn Fn(&Part) -> Part + Sync); 2] = [&seed, &short];
    for change in changes {
        let tamper = |_: usize, member: usize, uploads: &mut [Upload; 3]| {
            if member == 3 {
                uploads[1].second = change(&uploads[1].second);
            }
        };
        let options = Options { doors: seeded().doors.tamper(&tamper), ..seeded() };
        let report = run_local(&circuit, &files(), &options).unwrap();
        expect(&report, &[3]);
        assert_eq!(report.replaced, replaced(&[(3, Why::Inconsistent)]));
    }
}

/// Inputs of several kinds and sizes, bits included; all clients but one cheat.
#[test]
fn all_inputs_of_a_client_are_compared_and_replaced() {
    let mut b = Builder::new();
    let x = b.secret(16, &[1, 3, 70], &[0; 210]);
    let flags = b.secret(64, &[1, 3, 5], &[0; 15]);
    let _ = (x, flags);
    let (mut c, _) = b.finish();
    c.parties[0].size = 3;
    c.types[0] = Type::new(Hold::Rep, Dom::Ring(16), [3, 70]);
    c.types[1] = Type::new(Hold::Rep, Dom::Bits(1), [3, 5]);
    for (input, shape) in c.inputs.iter_mut().zip([70, 5]) {
        input.shape = vec![shape];
    }
    c.inputs[1].encoding = Encoding::Int { lo: 0, hi: 2 };
    let member = |i: u64| {
        let x = Data::from_u128s(Dom::Ring(16), &words(i + 1, 70));
        vec![(0, x), (1, Data::from_u128s(Dom::Bits(1), &[1; 5]))]
    };
    let encoded = Encoded { sets: vec![(0..3).map(member).collect()], ..Encoded::default() };
    // The last byte holds the bits; a bit of client 0 differs, and a word of client 2.
    let tamper = |_: usize, member: usize, uploads: &mut [Upload; 3]| {
        if let Part::Explicit(bytes) = &mut uploads[1].second {
            match member {
                0 => Arc::make_mut(bytes)[140] ^= 16,
                2 => Arc::make_mut(bytes)[0] ^= 1,
                _ => {}
            }
        }
    };
    let options = Options { doors: seeded().doors.tamper(&tamper), record: true, ..seeded() };
    let outcome = run_outcome(&c, encoded.clone(), &options).unwrap();
    let report = outcome.report(&c).unwrap();
    let want = [(0, Why::Inconsistent), (2, Why::Inconsistent)];
    assert_eq!(report.replaced, replaced(&want));
    let values = crate::operations::values(report.recorded.as_ref().unwrap());
    let mut kept = encoded;
    kept.sets[0][0].clear();
    kept.sets[0][2].clear();
    for (v, want) in kept.values(&c).iter().enumerate() {
        let got = crate::operations::together(&c, &values, ValueId(v as u32));
        assert!(got == *want, "input {v}");
    }
}

#[test]
fn unchecked_submissions_are_words_of_the_ring() {
    let (circuit, mut inputs) = (circuit(), files());
    let x = vec![2f64.powi(47) + 1.0, -9.5, 8.0];
    inputs.sets[0][1].insert("x".into(), RawTensor::reals([3], x));
    let e = run_local(&circuit, &inputs, &seeded()).unwrap_err();
    assert!(matches!(e, RunError::Input(_)), "{e}");
    let options = Options { submit_unchecked: true, ..seeded() };
    let report = run_local(&circuit, &inputs, &options).unwrap();
    assert_eq!(report.outputs[0].values[3..6], [1.0 - 2f64.powi(47), -9.5, 8.0]);
    inputs.sets[0][1].insert("x".into(), RawTensor::reals([3], vec![f64::NAN, 0.0, 0.0]));
    let e = run_local(&circuit, &inputs, &options).unwrap_err();
    assert_eq!(e.to_string(), "Client 1: tensor `x`: the element at [0] is not a finite number");
}
