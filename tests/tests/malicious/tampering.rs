//! A compiled program of family T2 in which one party deviates: in any frame that it sends, or in what it deals and
//! computes, and proves that. No wrong output, admission or coin is accepted. Where nothing is proven, the same deviations
//! succeed.

use super::bent::{Change, Log};
use super::{dealer, malicious, messages};
use slvr_circuit::proof::{Claim, Own, barriers};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::verify::{Openings, verify_with};
use slvr_circuit::{Circuit, Hold, Op, Security, ValueId};
use slvr_compiler::pipeline;
use slvr_compiler::schedule::Checks;
use slvr_runtime::link::{Header, Kind};
use slvr_runtime::party::session::{Outcome, encode, encode_unchecked};
use slvr_runtime::share::encode::{Encoded, RawData};
use slvr_runtime::share::reveal::Revealed;
use slvr_tests::long::{is_full, one_of, part};
use slvr_tests::{compile_with, random_inputs};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Products, truncations, signs, injections, comparisons of sums and checks of ranges; every party deals in some of them.
const SMALL: &str = "use std::{relu, sum};

predicate Small[m]() {
    parties Client[m];
    parties Server;

    input x: secret fix[30] in -1000..1000 from each Client;
    input w: secret fix[30] in -1000..1000 from each Client;

    let y = [relu(x[i] * w[i]) * w[i] for i in Client];
    let few = [sum(y[i]) < 1 for i in Client];

    reveal sum(few[i] * y[i] for i in Client) to Server as total;
}
";

/// A frame by its number among those of its party, and what happens to it.
type Rule = Option<(usize, fn(&mut [u8], u64), u64)>;

/// A run in which a party deviates.
fn bent(
    circuit: &Circuit,
    encoded: &Encoded,
    party: usize,
    rule: Rule,
    instead: Option<&Circuit>,
) -> (Outcome, Log) {
    let change = rule.map(|(frame, change, pick)| -> Change {
        Arc::new(move |number, _, body| {
            if number == frame {
                change(body, pick);
            }
        })
    });
    super::bent::bent(circuit, encoded, party, change, instead, 1)
}

/// What an honest run ends with.
type Truth = (Vec<Revealed>, Vec<(u32, Vec<bool>)>);

fn truth(circuit: &Circuit, encoded: &Encoded) -> (Truth, Log) {
    let (outcome, log) = bent(circuit, encoded, 3, None, None);
    let outputs = outcome.receivers[0].1.as_ref().expect("an honest run").clone();
    ((outputs, outcome.parties[0].as_ref().expect("an honest run").admitted.clone()), log)
}

/// Whether an honest party or the receiver takes something that is not right.
fn is_missed((outputs, admitted): &Truth, outcome: &Outcome, deviant: usize) -> bool {
    let honest = outcome.parties.iter().enumerate().filter(|(i, _)| *i != deviant);
    let wrong = honest.filter_map(|(_, r)| r.as_ref().ok()).any(|r| r.admitted != *admitted);
    wrong || outcome.receivers[0].1.as_ref().is_ok_and(|found| found != outputs)
}

/// The circuit; with `waits` one that waits for the bits of its checks.
fn compiled(waits: bool) -> Circuit {
    placed(waits, None)
}

/// The same with the checks of inputs in one of their places.
fn placed(waits: bool, checks: Option<Checks>) -> Circuit {
    let how = pipeline::Options { target: dealer(), speculate: !waits, checks, ..malicious() };
    compile_with(SMALL, &[("m", "2")], how).circuit().clone()
}

fn sample() -> (Circuit, Circuit, Encoded) {
    let circuit = compiled(false);
    let encoded = encode(&circuit, &random_inputs(&circuit, 3, 1.0)).expect("in range");
    let bare = Circuit { security: Security::SemiHonest, ..circuit.clone() };
    (circuit, bare, encoded)
}

fn flip(body: &mut [u8], pick: u64) {
    let n = body.len().max(1);
    if let Some(byte) = body.get_mut(pick as usize / 8 % n) {
        *byte ^= 1 << (pick % 8);
    }
}

fn overwrite(body: &mut [u8], pick: u64) {
    body.iter_mut().for_each(|x| *x ^= pick as u8 | 1);
}

/// The circuit has what the other tests are about: each kind of statement of family T2.
#[test]
fn the_sample_has_the_messages_of_the_family() {
    let (circuit, _, _) = sample();
    assert!(messages(&circuit, |op| matches!(op, Op::OpenMasked { .. })) > 5);
    let mut found = BTreeSet::new();
    for s in barriers(&circuit).unwrap().iter().flat_map(|b| &b.statements) {
        found.insert(match &s.claim {
            Claim::Products { .. } => "product",
            Claim::Exchange { .. } => "exchange",
            Claim::Input(Own::And(..)) => "product of bits",
            Claim::Input(Own::Times { .. }) => "product of parts",
            Claim::Input(Own::High { .. }) => "high part",
            Claim::Input(Own::Word(_)) => "word of a bit",
            Claim::Input(Own::Bits(_)) => "bits",
            Claim::Input(Own::Thermometer(..)) => "code",
            Claim::MatMul { .. } | Claim::Conv { .. } => "product of matrices",
        });
    }
    let kinds = ["exchange", "product of bits", "product of parts", "high part", "word of a bit"];
    for kind in kinds.into_iter().chain(["bits", "code"]) {
        assert!(found.contains(kind), "{kind} is not in {found:?}");
    }
}

/// Every frame of every party, altered.
#[test]
fn no_altered_frame_is_accepted() {
    let (circuit, _, encoded) = sample();
    let (right, log) = truth(&circuit, &encoded);
    let (mut all, mut stopped, mut succeeded, mut plain) = (0, 0, 0, 0);
    for party in 0..3 {
        let mine: Vec<Header> =
            log.iter().filter(|(me, _)| *me == party).map(|(_, h)| *h).collect();
        for (frame, header) in mine.iter().enumerate() {
            let told = !matches!(header.kind, Kind::Done | Kind::Agreed | Kind::Abort);
            // Every day a third of the frames of each party.
            if !told || !is_full() && frame % 3 != party {
                continue;
            }
            let seed = (frame as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let change: fn(&mut [u8], u64) =
                if (frame + party) % 2 == 0 { flip } else { overwrite };
            let (outcome, _) = bent(&circuit, &encoded, party, Some((frame, change, seed)), None);
            assert!(
                !is_missed(&right, &outcome, party),
                "frame {frame} of party {party}, {header:?}, was not noticed"
            );
            all += 1;
            stopped += usize::from(outcome.receivers[0].1.is_err());
        }
    }
    assert!(stopped * 10 >= all * 9, "{stopped} of {all} runs were stopped");
    // The same in what a semi-honest run sends. One that waits does not go back because of an altered bit.
    let bare = Circuit { security: Security::SemiHonest, ..compiled(true) };
    let (right, log) = truth(&bare, &encoded);
    for party in 0..3 {
        let mine = log.iter().filter(|(me, _)| *me == party).enumerate();
        let mine = mine.filter(|(_, (_, h))| h.kind == Kind::Layer);
        for (frame, (_, header)) in mine.step_by(one_of(3)) {
            let (outcome, _) = bent(&bare, &encoded, party, Some((frame, overwrite, 7)), None);
            plain += 1;
            succeeded += usize::from(is_missed(&right, &outcome, party));
            assert!(header.len > 0);
        }
    }
    assert!(succeeded * 2 > plain, "{succeeded} of {plain} succeed where nothing is proven");
}

/// The second client is out of range, so that layers are repeated: of every party some frames of both attempts, altered. With
/// the last checks one proof is about everything that is sent until then, in each attempt.
#[test]
fn no_altered_frame_of_a_run_that_repeats_is_accepted() {
    for checks in [Checks::AtOnce, Checks::Last] {
        let circuit = placed(false, Some(checks));
        let part = Speculation::of(&circuit).expect("it does not wait");
        let mut inputs = random_inputs(&circuit, 3, 1.0);
        for tensor in inputs.sets[0][1].values_mut() {
            if let RawData::F64(v) = &mut tensor.data {
                v[7] = 20_000.0;
            }
        }
        let encoded = encode_unchecked(&circuit, &inputs).expect("encodes");
        let (right, log) = truth(&circuit, &encoded);
        assert!(part.repeats(&right.1), "{checks:?}: {:?}", right.1);
        let plain = Circuit { security: Security::SemiHonest, ..circuit.clone() };
        let (unproven, _) = truth(&plain, &encoded);
        assert!(right == unproven, "{checks:?}: the outputs of semi-honest parties");
        let (mut tried, mut stopped, mut again) = (0, 0, 0);
        for party in 0..3 {
            let mine: Vec<Header> =
                log.iter().filter(|(me, _)| *me == party).map(|(_, h)| *h).collect();
            for (frame, header) in mine.iter().enumerate() {
                let told = matches!(header.kind, Kind::Layer | Kind::Proof | Kind::Vouch);
                if !told || (frame + party) % (if is_full() { 5 } else { 9 }) != 0 {
                    continue;
                }
                let seed = (frame as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
                let change: fn(&mut [u8], u64) = if frame % 2 == 0 { flip } else { overwrite };
                let (outcome, _) =
                    bent(&circuit, &encoded, party, Some((frame, change, seed)), None);
                let what = format!("{checks:?}: frame {frame} of party {party}, {header:?}");
                assert!(!is_missed(&right, &outcome, party), "{what}, was not noticed");
                tried += 1;
                again += usize::from(header.layer & Header::REPEATED != 0);
                stopped += usize::from(outcome.receivers[0].1.is_err());
            }
        }
        println!("{checks:?}: {stopped} of {tried} runs were stopped, {again} frames sent again");
        assert!(3 * again > tried, "{checks:?}: {again} of {tried} frames are of repeated layers");
        // With early checks, what is proven after the first attempt is sent again before that.
        assert!(stopped == tried || checks == Checks::AtOnce && 2 * stopped > tried, "{stopped}");
    }
}

/// About so many circuits in which one thing that an owner computes, or one exchange of two parties, is another.
fn mutants(circuit: &Circuit, tried: usize) -> Vec<(String, Circuit)> {
    let mut places = Vec::new();
    for (l, layer) in circuit.layers.iter().enumerate() {
        for (i, instr) in layer.local.iter().enumerate() {
            let Some(made) = instr.out else { continue };
            if !matches!(circuit.ty(made).hold, Hold::Own | Hold::Add2 | Hold::Dup) {
                continue;
            }
            let mut ops = match &instr.op {
                Op::Mul(a, b) => vec![Op::Mul(*a, *a), Op::Mul(*b, *b)],
                Op::Add(a, b) => vec![Op::Add(*a, *a), Op::Add(*b, *b)],
                Op::Shr(x, n) => vec![Op::Shr(*x, n + 1)],
                Op::ToBits { x, lo, w } if *lo > 0 => {
                    vec![Op::ToBits { x: *x, lo: lo - 1, w: *w }]
                }
                Op::Planes { x, start, step, count } if *start > 0 => {
                    vec![Op::Planes { x: *x, start: start - 1, step: *step, count: *count }]
                }
                Op::SelectPlanes(x, planes) if planes.len() > 1 => {
                    vec![Op::SelectPlanes(*x, planes.iter().rev().copied().collect())]
                }
                Op::Thermometer { x, .. } => {
                    let (w, planes) = (circuit.ty(*x).bits(), circuit.ty(made).bits());
                    vec![Op::SelectPlanes(*x, (0..planes).map(|i| i % w).collect())]
                }
                _ => vec![],
            };
            let alike = |v: ValueId| {
                let mut all = (0..v.0).rev().map(ValueId);
                all.find(|o| circuit.ty(*o) == circuit.ty(v))
            };
            let v = instr.op.operands().into_iter().next();
            if let Some((v, other)) = v.and_then(|v| Some((v, alike(v)?))) {
                ops.push(instr.op.map(|x| if x == v { other } else { x }));
            }
            let others = ops.into_iter().filter(|op| *op != instr.op);
            places.extend(others.map(|op| (l, i, op)));
        }
    }
    let step = (places.len() / tried).max(1);
    // Of each few the first one that a party could run.
    let first = |some: &[(usize, usize, Op)]| {
        some.iter().find_map(|(l, i, op)| {
            let mut c = circuit.clone();
            let was = std::mem::replace(&mut c.layers[*l].local[*i].op, op.clone());
            // The party keeps whatever it wants.
            c.layers.iter_mut().for_each(|l| l.drop.clear());
            let what = format!("layer {l}, {op:?} instead of {was:?}");
            verify_with(&c, Openings::Any).is_ok().then_some((what, c))
        })
    };
    places.chunks(step).filter_map(first).collect()
}

/// A party that deals or exchanges something else, consistently, and proves what it has computed.
#[test]
fn no_proof_of_something_else_is_accepted() {
    let (circuit, _, encoded) = sample();
    no_other_is_accepted(&circuit, &encoded, part(40, 75) as usize);
}

/// About so many circuits of what a party could compute instead are stopped, and do harm where nothing is proven. One whose circuit only has another name is accepted.
pub(super) fn no_other_is_accepted(circuit: &Circuit, encoded: &Encoded, tried: usize) {
    let bare = Circuit { security: Security::SemiHonest, ..circuit.clone() };
    let (right, _) = truth(circuit, encoded);
    let (plain, _) = truth(&bare, encoded);
    let all = mutants(circuit, tried);
    assert!(all.len() >= tried / 2, "{} other circuits", all.len());
    let (mut stopped, mut succeeded) = (0, 0);
    for (i, (what, other)) in all.iter().enumerate() {
        let party = i % 3;
        let (outcome, _) = bent(circuit, encoded, party, None, Some(other));
        assert!(!is_missed(&right, &outcome, party), "party {party}: {what}");
        stopped += usize::from(outcome.receivers[0].1.is_err());
        let other = Circuit { security: Security::SemiHonest, ..other.clone() };
        let (outcome, _) = bent(&bare, encoded, party, None, Some(&other));
        succeeded += usize::from(is_missed(&plain, &outcome, party));
    }
    let other = Circuit { name: "Other".into(), ..circuit.clone() };
    let (outcome, _) = bent(circuit, encoded, 1, None, Some(&other));
    let report = outcome.report(circuit);
    assert!(report.is_ok(), "{:?}", report.err());
    println!("{} other circuits, {stopped} stopped, {succeeded} succeed unproven", all.len());
    assert!(succeeded > all.len() / 4, "{succeeded} of {} succeed unproven", all.len());
    assert!(stopped >= succeeded, "{stopped} stopped, {succeeded} succeed unproven");
}
