//! Whole runs on this machine: files in, numbers out.

use crate::build::{Builder, words};
use slvr_circuit::Dom;
use slvr_circuit::{Circuit, Encoding, From, Hold, Input, Op, Type, ValueId};
use slvr_runtime::clear;
use slvr_runtime::party::RunError;
use slvr_runtime::party::session::{Options, run_local, run_outcome};
use slvr_runtime::share::encode::{Encoded, Inputs, RawTensor};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Three clients with a vector each and a label; the sum of vectors and the labels' histogram.
fn sums() -> Circuit {
    let mut b = Builder::new();
    let ring = Dom::Ring(64);
    let x = b.secret(64, &[1, 3, 4], &[0; 12]);
    let hot = b.secret(64, &[1, 3, 5], &[0; 15]);
    let scale = b.public(64, &[1], &[0]);
    let shape =
        |b: &mut Builder, v, s: &[u64]| b.op(Op::Reshape(v, s.to_vec()), Hold::Rep, ring, s);
    let x2 = shape(&mut b, x, &[3, 4]);
    let hot2 = shape(&mut b, hot, &[3, 5]);
    let total = b.op(Op::Sum { x: x2, axes: vec![0] }, Hold::Rep, ring, &[4]);
    let total = b.op(Op::Mul(total, scale), Hold::Rep, ring, &[4]);
    let counts = b.op(Op::Sum { x: hot2, axes: vec![0] }, Hold::Rep, ring, &[5]);
    b.reveal(total, 16, 3.0);
    b.reveal(counts, 0, 1.0);
    let (mut c, _) = b.finish();
    c.parties[0].size = 3;
    let input = |name: &str, from, encoding, shape: &[u64], value| Input {
        name: name.into(),
        from,
        encoding,
        shape: shape.to_vec(),
        fields: vec![],
        value: ValueId(value),
    };
    let fixed = Encoding::Fixed { frac: 16, lo: -8.0, hi: 8.0, shift: 0, norm: f64::INFINITY };
    c.inputs = vec![
        input("update", From::Each(0), fixed, &[4], 0),
        input("label", From::Each(0), Encoding::OneHot { classes: 5 }, &[], 1),
        input("scale", From::Public, Encoding::Int { lo: 0, hi: 10 }, &[1], 2),
    ];
    c.types[0] = Type::new(Hold::Rep, ring, [3, 4]);
    c.types[1] = Type::new(Hold::Rep, ring, [3, 5]);
    c
}

fn files() -> Inputs {
    let client = |i: i64| {
        let update = vec![i as f64, -0.5, 0.25 * i as f64, 8.0];
        BTreeMap::from([
            ("update".to_string(), RawTensor::reals([4], update)),
            ("label".to_string(), RawTensor::integers([], vec![i % 2])),
        ])
    };
    let scale = ("scale".to_string(), RawTensor::integers([1], vec![2]));
    Inputs { public: BTreeMap::from([scale]), sets: vec![vec![client(0), client(1), client(2)]] }
}

#[test]
fn files_in_numbers_out() {
    let circuit = sums();
    let layers = AtomicUsize::new(0);
    let progress = |_, _| {
        layers.fetch_add(1, Ordering::Relaxed);
    };
    // No seed: the operating system's randomness.
    let options = Options { progress: Some(&progress), ..Options::default() };
    let report = run_local(&circuit, &files(), &options).unwrap();
    assert_eq!(report.outputs[0].values, [2.0, -1.0, 0.5, 16.0]);
    assert_eq!(report.outputs[1].values, [2.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(report.rounds, 1);
    assert_eq!(report.bytes_sent, [72; 3]);
    assert_eq!(report.upload_bytes, [vec![32 + 32 + 40; 3], vec![]]);
    assert!(report.peak_memory.iter().all(|&b| b >= 2 * 8 * 27));
    assert_eq!(layers.into_inner(), circuit.layers.len());
    let encoded = Encoded::new(&circuit, &files()).unwrap();
    let plain = clear::evaluate(&circuit, encoded.values(&circuit), &Default::default()).unwrap();
    assert!(plain.outputs == report.outputs);
}

#[test]
fn wrong_files_are_named() {
    let circuit = sums();
    let message = |change: &dyn Fn(&mut Inputs)| {
        let mut inputs = files();
        change(&mut inputs);
        let e = run_local(&circuit, &inputs, &Options::default()).unwrap_err();
        assert!(matches!(e, RunError::Input(_)));
        e.to_string()
    };
    let missing = message(&|i| drop(i.sets[0][1].remove("label")));
    assert_eq!(missing, "Client 1: tensor `label`: missing");
    let public = message(&|i| i.public.clear());
    assert_eq!(public, "public: tensor `scale`: missing");
    let fewer = message(&|i| drop(i.sets[0].pop()));
    assert_eq!(
        fewer,
        "Client: tensor `update`: inputs of 2 members were given, the circuit expects 3"
    );
    let large = message(&|i| {
        i.sets[0][2].insert("update".into(), RawTensor::reals([4], vec![0.0, 0.0, 0.0, 8.5]));
    });
    assert_eq!(
        large,
        "Client 2: tensor `update`: the element at [3] is outside the allowed range -8..8"
    );
}

#[test]
fn a_seed_fixes_the_run() {
    let run = |seed| {
        let mut b = Builder::new();
        let x = b.secret(64, &[1, 100], &words(3, 100));
        let z = b.op(Op::Mul(x, x), Hold::Add3, Dom::Ring(64), &[1, 100]);
        b.round(Op::Reshare(z), Hold::Rep);
        let (circuit, encoded) = b.finish();
        let options = Options { seed, record: true, ..Options::default() };
        let outcome = run_outcome(&circuit, encoded, &options).unwrap();
        let [a, ..] = outcome.recorded.unwrap();
        a.messages
    };
    assert!(run(Some(1)) == run(Some(1)));
    assert!(run(Some(1)) != run(Some(2)));
    assert!(run(None) != run(None));
}

#[test]
fn a_public_index_out_of_range_stops_the_run() {
    let mut b = Builder::new();
    let x = b.secret(64, &[1, 4], &words(3, 4));
    let index = b.public(32, &[2], &[0, 4]);
    let op = Op::Gather { x, index, axis: 1, batch: 0 };
    let y = b.op(op, Hold::Rep, Dom::Ring(64), &[1, 2]);
    b.reveal(y, 0, 1.0);
    let (circuit, encoded) = b.finish();
    let options = Options { seed: Some(1), ..Options::default() };
    let e = run_outcome(&circuit, encoded, &options).unwrap().report(&circuit).unwrap_err();
    assert_eq!(e.to_string(), "layer 0: index 4 is out of range for an axis of size 4");
}
