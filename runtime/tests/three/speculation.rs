//! Layers that are computed before it is known whose inputs count, and once more if a client fails.

use crate::operations::{check_steps, check_traffic};
use crate::views::{LIMIT, chi_squared};
use slvr_circuit::Dom;
use slvr_circuit::traffic::Traffic;
use slvr_circuit::verify::{VerifyError, verify};
use slvr_circuit::{Circuit, Hold, Op, Type, ValueId, text};
use slvr_runtime::clear;
use slvr_runtime::link::memory::Memory;
use slvr_runtime::link::tap::sending;
use slvr_runtime::link::{Kind, Link, LinkError, Peer};
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{Options, Report, run_outcome};
use slvr_runtime::party::{Direction, RunError, Why};
use slvr_runtime::protocol::REPEATED;
use slvr_runtime::share::encode::{Encoded, Inputs, RawTensor};
use std::collections::BTreeMap;
use std::time::Duration;

/// Three clients with 64 words and a bit each: the sum over masked and exchanged copies of x^4 of those whose
/// bit is 1. The bit is known after three ands; R = 1, L = 3.
pub const HEAD: &str = r#"circuit "speculative"
party "Client" 3
party "Server" 1
input %0 "x" from 0 int(-128, 128) [64] : A8[3,64]
input %1 "good" from 0 int(0, 2) [] : B1[3]
output 0 "y" to 1 [3,64] ring 8 frac 0 factor 1.0 divisor 1.0
check 0 %9
site 0 "all" line 0
layer 0:
  %2 = mul %1 %1 : add3.B1[3] @0
  %10 = mul %0 %0 : add3.A8[3,64] @0
  exchange:
  %3 = reshare %2 : B1[3] @0
  %11 = reshare %10 : A8[3,64] @0
  drop %2 %10
layer 1:
  %4 = mul %3 %1 : add3.B1[3] @0
  %12 = admitted 0 members 3 : pub.B1[3] @0
  %13 = from_bits %12 8 : pub.A8[3] @0
  %14 = reshape %13 [3,1] : pub.A8[3,1] @0
  %15 = mul %11 %14 : A8[3,64] @0
  %16 = mul %15 %15 : add3.A8[3,64] @0
  exchange:
  %5 = reshare %4 : B1[3] @0
  %17 = reshare %16 : A8[3,64] @0
  drop %4 %12 %13 %14 %15 %16
layer 2:
  %6 = mul %5 %3 : add3.B1[3] @0
  %18 = as_add2 %17 : add2.A8[3,64] @0
  %19 = mask 0 A8 [3,64] groups 0 : mask.A8[3,64] @0
  %20 = own %17 : own.A8[3,64] @0
  exchange:
  %7 = reshare %6 : B1[3] @0
  %21 = open_masked %18 %19 : dup.A8[3,64] @0
"#;

const END: &str = r#"  %22 = deal %20 : add2.A8[3,64] @0
  %23 = deal_mask %20 : mask.A8[3,64] @0
  %24 = reshare_two %18 : A8[3,64] @0
  %25 = input %20 : A8[3,64] @0
  drop %6 %18 %20
layer 3:
  %26 = as_add3 %7 : add3.B1[3] @0
  exchange:
  %9 = open_sum %26 : pub.B1[3] @0
  drop %26
layer 4:
  %8 = join %19 %21 : A8[3,64] @0
  %27 = add %8 %24 : A8[3,64] @0
  %28 = as_add3 %27 : add3.A8[3,64] @0
  exchange:
  open_to %28 output 0 @0
  drop %0 %1 %3 %5 %7 %8 %9 %11 %17 %19 %21 %22 %23 %24 %25 %27 %28
"#;

fn written() -> String {
    format!("{HEAD}{END}")
}

pub fn circuit() -> Circuit {
    text::parse(&written()).unwrap()
}

/// Inputs with these bits.
pub fn inputs(circuit: &Circuit, good: [bool; 3]) -> Encoded {
    let client = |i: usize| {
        let x = (0..64).map(|j| (7 * i as i64 + j) % 256 - 128).collect();
        BTreeMap::from([
            ("x".to_string(), RawTensor::integers([64], x)),
            ("good".to_string(), RawTensor::integers([], vec![good[i].into()])),
        ])
    };
    let sets = vec![vec![client(0), client(1), client(2)]];
    Encoded::new(circuit, &Inputs { public: BTreeMap::new(), sets }).unwrap()
}

fn run(good: [bool; 3], seed: u64) -> (Circuit, Report) {
    let circuit = circuit();
    let options = Options { seed: Some(seed), record: true, ..Options::default() };
    let outcome = run_outcome(&circuit, inputs(&circuit, good), &options).unwrap();
    let report = outcome.report(&circuit).unwrap();
    (circuit, report)
}

#[test]
fn who_fails_counts_as_zeros() {
    let (_, honest) = run([true; 3], 1);
    assert_eq!((honest.rounds, honest.replaced.len()), (5, 0));
    for pattern in 0..7u8 {
        let good = [0, 1, 2].map(|i| pattern >> i & 1 == 1);
        let (circuit, report) = run(good, 2);
        assert_eq!(report.admitted, vec![(0, good.to_vec())]);
        assert!(report.replaced.iter().all(|r| r.why == Why::OutOfRange));
        for (n, (got, all)) in
            report.outputs[0].values.iter().zip(&honest.outputs[0].values).enumerate()
        {
            assert_eq!(*got, if good[n / 64] { *all } else { 0.0 });
        }
        assert_eq!(
            report.rounds,
            5 + 2,
            "layers 1 to 3 once more, in the last of which nothing is sent"
        );
        assert!(report.bytes_sent.iter().zip(honest.bytes_sent).all(|(a, b)| *a > b));
        assert_eq!(report.peak_memory, honest.peak_memory);
        check_traffic(&circuit, &report);
        check_steps(&circuit, report.recorded.as_ref().unwrap());
        let values = inputs(&circuit, good).values(&circuit);
        let plain = clear::evaluate(&circuit, values, &Default::default()).unwrap();
        assert!(plain.outputs == report.outputs && plain.admitted == report.admitted);
    }
}

#[test]
fn an_honest_run_goes_through_once() {
    let (circuit, report) = run([true; 3], 3);
    assert_eq!(Traffic::of(&circuit).bytes, report.bytes_sent);
    assert_eq!(Traffic::repeated(&circuit).rounds, 7);
    check_traffic(&circuit, &report);
    check_steps(&circuit, report.recorded.as_ref().unwrap());
    let repeated =
        |r: &slvr_runtime::party::Recorder| r.messages.iter().any(|m| m.instr >= REPEATED);
    assert!(!report.recorded.iter().flatten().any(repeated));
}

/// The inputs of two clients are the same in both attempts: with the masks of the first, so were the
/// messages, and those of the third would differ by what was computed.
#[test]
fn a_repetition_is_masked_anew() {
    let mut histograms: BTreeMap<String, [u64; 256]> = BTreeMap::new();
    for seed in 0..60 {
        let (_, report) = run([true, true, false], 1000 + seed);
        for (i, party) in report.recorded.iter().flatten().enumerate() {
            for first in party.messages.iter().filter(|m| m.instr < REPEATED) {
                let again = |m: &&slvr_runtime::party::Recorded| {
                    (m.instr, m.direction, m.peer)
                        == (first.instr + REPEATED, first.direction, first.peer)
                };
                let Some(second) = party.messages.iter().find(again) else {
                    assert!([0, 3, 4].contains(&first.layer), "{first:?} is not repeated");
                    continue;
                };
                assert_eq!((first.layer, first.op), (second.layer, second.op));
                // Single bits are packed.
                if first.bytes.len() < 64 {
                    continue;
                }
                let key = format!("party {i} {:?} {} {}", first.direction, first.op, first.peer);
                let h = histograms.entry(key).or_insert([0; 256]);
                for (a, b) in first.bytes.iter().zip(&second.bytes) {
                    h[a.wrapping_sub(*b) as usize] += 1;
                }
            }
        }
    }
    for op in ["reshare", "open_masked", "deal", "deal_mask", "reshare_two", "input"] {
        assert!(histograms.keys().any(|k| k.contains(&format!(" {op} "))), "no {op}");
    }
    for (key, h) in &histograms {
        let chi = chi_squared(h);
        assert!(chi < LIMIT, "{key}: chi-squared {chi} of what the attempts differ by");
    }
}

/// Opened bits do not tell which attempt they are from, nor what was assumed: only the bits.
#[test]
fn only_bits_are_opened_before_all_is_known() {
    let (circuit, report) = run([true, false, true], 4);
    for party in report.recorded.iter().flatten() {
        let opened =
            party.messages.iter().filter(|m| matches!(m.op, "open" | "open_sum" | "open_to"));
        let at: Vec<u32> =
            opened.filter(|m| m.direction == Direction::Sent).map(|m| m.layer).collect();
        assert_eq!(at, [3, 3, 4], "once to two parties, then to the receiver");
    }
    assert_eq!(circuit.layers.len(), 5);
}

#[test]
fn who_lies_about_bits_is_found() {
    let circuit = circuit();
    // Of a layer as numbered in frames.
    let lied = |layer: u32, good| {
        let wrap = |party: usize, memory: Memory| -> Box<dyn Link> {
            match party {
                0 => sending(memory, move |(to, header, mut body)| {
                    if (header.kind, header.layer, to) == (Kind::Layer, layer, Peer::Party(1)) {
                        body[0] ^= 1;
                    }
                    vec![(to, header, body)]
                }),
                _ => Box::new(memory),
            }
        };
        let deadline = Duration::from_secs(20);
        let options = Options {
            doors: Doors::new().wrap(&wrap),
            seed: Some(5),
            deadline,
            ..Options::default()
        };
        let outcome = run_outcome(&circuit, inputs(&circuit, good), &options).unwrap();
        outcome.report(&circuit).unwrap_err()
    };
    // Party 1 goes back alone.
    let e = lied(3, [true; 3]);
    assert!(matches!(e, RunError::Link { problem: LinkError::Unexpected { .. }, .. }), "{e}");
}

/// Bits of a check that depend on what is drawn in the layers that are repeated: the parties see them once, as they come
/// out the first time, and go on with these.
#[test]
fn a_repetition_opens_nothing_that_is_known() {
    let text = written()
        .replace("  %4 = mul %3 %1", "  %29 = random 0 B1 [3] : B1[3] @0\n  %4 = mul %3 %29")
        .replace("drop %4 %12 %13 %14 %15 %16", "drop %4 %12 %13 %14 %15 %16 %29");
    let circuit = text::parse(&text).unwrap();
    let mut repeated = 0;
    for seed in 0..20 {
        let options = Options { seed: Some(seed), record: true, ..Options::default() };
        let outcome = run_outcome(&circuit, inputs(&circuit, [true; 3]), &options).unwrap();
        let report = outcome.report(&circuit).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        check_traffic(&circuit, &report);
        for party in report.recorded.iter().flatten() {
            let opened = party.messages.iter().filter(|m| m.op == "open_sum");
            assert_eq!(opened.count(), 4, "sent to two, received from two");
        }
        repeated += u32::from(report.admitted[0].1 != [true; 3]);
    }
    assert!(repeated > 10, "{repeated} of 20 runs go back");
}

fn refused(change: impl Fn(&mut Circuit)) -> String {
    let mut c = circuit();
    verify(&c).unwrap();
    change(&mut c);
    match verify(&c) {
        Err(VerifyError::Speculation { why, .. } | VerifyError::BadDrop { why, .. }) => why.into(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_repetition_needs_is_verified() {
    let v = ValueId;
    // An older value that is dropped too early.
    let why = refused(|c| {
        c.layers[2].drop = vec![v(0), v(6), v(18), v(20)];
        c.layers[4].drop.remove(0);
    });
    assert!(why.contains("older"), "{why}");
    // Another reveal, and coins.
    let why = refused(|c| {
        let open = c.layers[4].exchange.remove(0);
        let early = c.layers[4].local.drain(..).collect::<Vec<_>>();
        c.layers[3].local.extend(early);
        c.layers[3].exchange.push(open);
    });
    assert!(why.contains("before it is known"), "{why}");
    let why = refused(|c| {
        let mut instr = c.layers[3].exchange[0].clone();
        (instr.op, instr.out) = (Op::Coin, Some(v(c.types.len() as u32)));
        c.types.push(Type::new(Hold::Public, Dom::Ring(128), []));
        c.layers[2].exchange.push(instr);
    });
    assert!(why.contains("coins"), "{why}");
    // A mask that two attempts would use.
    let why = refused(|c| {
        let mask = c.layers[2].local.remove(2);
        c.layers[0].local.push(mask);
    });
    assert!(why.contains("mask"), "{why}");
    // Bits that depend on the assumption.
    let why = refused(|c| {
        let mut sum = c.layers[3].local[0].clone();
        sum.op = Op::Mul(v(7), v(12));
        c.layers[1].drop.retain(|d| *d != v(12));
        let gated = v(c.types.len() as u32);
        sum.out = Some(gated);
        c.types.push(c.types[7].clone());
        c.layers[3].local.insert(0, sum);
        c.layers[3].local[1].op = Op::AsAdd3(gated);
    });
    assert!(why.contains("assumption"), "{why}");
    // Another number of members; everything known before.
    let why = refused(|c| {
        c.layers[1].local[1].op = Op::Admitted { check: 0, members: 4 };
        for id in [12, 13] {
            c.types[id].shape = vec![4];
        }
        c.types[14].shape = vec![4, 1];
        c.layers[1].local[3].op = Op::Reshape(v(13), vec![4, 1]);
        c.layers[1].local[4].op = Op::Add(v(11), v(11));
    });
    assert!(why.contains("each member"), "{why}");
    let mut c = circuit();
    c.layers[1].local[1].op = Op::Admitted { check: 1, members: 3 };
    assert!(matches!(verify(&c), Err(VerifyError::NoIndex { what: "check", index: 1, .. })));
}
