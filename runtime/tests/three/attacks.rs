//! Attacks that know what they alter: each is stopped, and each succeeds where nothing is proven. And all errors that
//! there are in small circuits.

use crate::agreement::is_full;
use crate::build::Builder;
use crate::proofs::every_claim;
use crate::tampering::{How, Rule, Truth, bent, ended_well, sent};
use slvr_circuit::plan::{frames, plan};
use slvr_circuit::proof::{Lengths, barriers};
use slvr_circuit::{Circuit, Dom, Op, Security, ValueId};
use slvr_runtime::link::{Kind, Peer};
use slvr_runtime::share::encode::Encoded;

/// Where a party's part of an instruction's message is: the number of the frame, and the byte in it.
fn place(
    circuit: &Circuit,
    encoded: &Encoded,
    party: usize,
    which: &dyn Fn(&Circuit, &Op) -> bool,
) -> Option<(usize, usize)> {
    let all = &sent(circuit, encoded)[party];
    for (l, (layer, plan)) in circuit.layers.iter().zip(plan(circuit)).enumerate() {
        let found = layer.exchange.iter().position(|i| which(circuit, &i.op));
        let Some(exchange) = found else { continue };
        let peers = [Peer::Party((party + 1) % 3), Peer::Party((party + 2) % 3), Peer::Receiver(1)];
        for to in peers {
            for (part, frame) in frames(circuit, layer, &plan.order, party, to).iter().enumerate() {
                let mut at = 0;
                for &(j, bytes) in &frame.parts {
                    if j == exchange {
                        let number = all.iter().position(|(h, peer)| {
                            let here = (h.kind, h.layer, h.part);
                            here == (Kind::Layer, l as u32, part as u32) && *peer == to
                        });
                        return number.map(|n| (n, at));
                    }
                    at += bytes;
                }
            }
        }
        return None;
    }
    None
}

/// An attack on a message.
struct Attack {
    what: &'static str,
    /// The first instruction of this kind.
    on: fn(&Circuit, &Op) -> bool,
    /// Byte of its part, mask, and how many bytes.
    at: usize,
    mask: u8,
    count: usize,
}

const MESSAGES: [Attack; 3] = [
    Attack {
        what: "a flipped admission",
        on: |_, op| matches!(op, Op::Open(_)),
        at: 0,
        mask: 1,
        count: 1,
    },
    Attack {
        what: "a biased coin",
        on: |_, op| matches!(op, Op::Coin),
        at: 3,
        mask: 0x55,
        count: 1,
    },
    Attack {
        what: "other words to the receiver than the parties hold",
        on: |_, op| matches!(op, Op::OpenTo { .. }),
        at: 0,
        mask: 0x10,
        count: 3,
    },
];

#[test]
fn altered_openings_and_coins_are_stopped_and_succeed_where_nothing_is_proven() {
    let (circuit, encoded) = every_claim(64, 20, 3);
    let plain = Circuit { security: Security::SemiHonest, ..circuit.clone() };
    for (circuit, stops) in [(&circuit, true), (&plain, false)] {
        let truth = Truth::of(circuit, &encoded, 1);
        for Attack { what, on, at, mask, count } in MESSAGES {
            for party in 0..3 {
                let (frame, from) = place(circuit, &encoded, party, &on).unwrap();
                let how = How::Exactly { at: from + at, mask, count, step: 1 };
                let rule = Rule { party, frame: Some((frame, how, 0)) };
                let (outcome, log) = bent(circuit, &encoded, rule, None, 1);
                assert_eq!(truth.is_missed(&outcome, party), !stops, "party {party}: {what}");
                if stops {
                    assert!(outcome.receivers[0].1.is_err(), "party {party}: {what}");
                    ended_well(circuit, &outcome, &log, party, &rule);
                }
            }
        }
    }
}

/// What a party computes in place of an instruction, and sends, keeps and proves.
type Instead = fn(&Circuit, &Op) -> Option<Op>;

const DEALINGS: [(&str, Instead); 5] = [
    ("products that are off by 2^63", |_, op| match op {
        Op::Scale(x, 3) => Some(Op::Scale(*x, 3 + (1 << 63))),
        _ => None,
    }),
    ("thermometer codes with several steps", |_, op| match op {
        Op::Thermometer { x, .. } => {
            Some(Op::SelectPlanes(*x, vec![0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 6, 4, 5, 6, 4]))
        }
        _ => None,
    }),
    ("a high part that takes its carries from elsewhere", |_, op| match op {
        Op::Shr(x, 5) => Some(Op::Offset(*x, 1)),
        _ => None,
    }),
    ("a bit that is 2 as a word", |c, op| match op {
        // The owner's complement of its top bit, of which it also inputs a product.
        Op::FromBits(..) => {
            let own = slvr_circuit::Hold::Own;
            let twice = |v: &u32| {
                let ty = c.ty(ValueId(*v));
                (ty.hold, ty.dom) == (own, Dom::Ring(64))
            };
            (0..c.types.len() as u32).find(twice).map(|v| Op::Scale(ValueId(v), 2))
        }
        _ => None,
    }),
    ("own bits of another place", |_, op| match op {
        Op::ToBits { x, lo: 3, w } => Some(Op::ToBits { x: *x, lo: 2, w: *w }),
        _ => None,
    }),
];

/// Wrong words that the party itself computes with, so that they are consistent.
#[test]
fn wrong_dealings_are_stopped_and_succeed_where_nothing_is_proven() {
    let (circuit, encoded) = every_claim(64, 70, 3);
    let plain = Circuit { security: Security::SemiHonest, ..circuit.clone() };
    for (what, instead) in DEALINGS {
        let mut other = circuit.clone();
        let mut all = other.layers.iter_mut().flat_map(|l| &mut l.local);
        let found = all.find_map(|i| Some((instead(&circuit, &i.op)?, i)));
        let Some((op, instr)) = found else { panic!("{what}: no such instruction") };
        instr.op = op;
        other.layers.iter_mut().for_each(|l| l.drop.clear());
        let without = Circuit { security: Security::SemiHonest, ..other.clone() };
        let mut missed = 0;
        for party in 0..2 {
            let rule = Rule { party, frame: None };
            let truth = Truth::of(&circuit, &encoded, 1);
            let (outcome, log) = bent(&circuit, &encoded, rule, Some(&other), 1);
            assert!(!truth.is_missed(&outcome, party), "party {party}: {what}");
            assert!(outcome.receivers[0].1.is_err(), "party {party}: {what}");
            ended_well(&circuit, &outcome, &log, party, &rule);
            let truth = Truth::of(&plain, &encoded, 1);
            let (outcome, _) = bent(&plain, &encoded, rule, Some(&without), 1);
            missed += usize::from(truth.is_missed(&outcome, party));
        }
        assert!(missed > 0, "{what}");
    }
}

/// Carries of p + q that the prover shares wrongly, and proves with. Semi-honest parties have none.
#[test]
fn wrong_carries_are_found() {
    let (circuit, encoded) = every_claim(64, 70, 3);
    let all = barriers(&circuit).unwrap();
    let carries = all.iter().map(|b| Lengths::of(&circuit, b).carries).max().unwrap();
    let truth = Truth::of(&circuit, &encoded, 1);
    let mut tried = 0;
    for (party, all) in sent(&circuit, &encoded).iter().enumerate() {
        // What a prover sends first in a proof, to the party after it.
        let first = all.iter().enumerate().filter(|(_, (h, to))| {
            (h.kind, h.part) == (Kind::Proof, 0) && *to == Peer::Party((party + 1) % 3)
        });
        // The last proof has no carries.
        for (frame, (header, _)) in first.take(1) {
            // The first element's.
            for at in (0..(8 * carries[party]).min(header.len as usize)).step_by(48) {
                let how = How::Exactly { at, mask: 1, count: 1, step: 1 };
                let rule = Rule { party, frame: Some((frame, how, 0)) };
                let (outcome, _) = bent(&circuit, &encoded, rule, None, 1);
                assert!(!truth.is_missed(&outcome, party), "{rule:?}");
                assert!(outcome.receivers[0].1.is_err(), "{rule:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 10, "{tried} carries");
}

/// Three products of words of 8 bits, or of bits, each of its own factors.
fn three_gates(bits: bool) -> (Circuit, Encoded) {
    let mut b = Builder::new();
    let x = b.secret(8, &[1, 3], &[77, 130, 255]);
    let y = b.secret(8, &[1, 3], &[3, 200, 254]);
    let shown = if bits {
        let mut planes = Vec::new();
        for v in [x, y] {
            let (own, dup) = (b.must(Op::Own(v)), b.must(Op::Dup(v)));
            let own = b.must(Op::ToBits { x: own, lo: 1, w: 1 });
            let dup = b.must(Op::ToBits { x: dup, lo: 1, w: 1 });
            planes.push((b.must(Op::Input(own)), b.must(Op::Trivial(dup))));
        }
        b.next_layer();
        let factors: Vec<ValueId> =
            planes.into_iter().map(|(a, d)| b.must(Op::Add(a, d))).collect();
        let both = b.must(Op::Mul(factors[0], factors[1]));
        let both = b.must(Op::Reshare(both));
        b.next_layer();
        let (own, dup) = (b.must(Op::Own(both)), b.must(Op::Dup(both)));
        let (own, dup) = (b.must(Op::FromBits(own, 8)), b.must(Op::FromBits(dup, 8)));
        vec![b.must(Op::Input(own)), b.must(Op::Trivial(dup))]
    } else {
        let z = b.must(Op::Mul(x, y));
        let z = b.must(Op::Reshare(z));
        b.next_layer();
        // Both components of both parties are read.
        let more = b.must(Op::Mul(z, x));
        vec![z, b.must(Op::Reshare(more))]
    };
    b.next_layer();
    b.reveal_reshared(shown);
    let (circuit, encoded) = b.finish();
    (Circuit { security: Security::Malicious, ..circuit }, encoded)
}

/// Every way in which the word of one gate, or the bits of the gates, can be wrong, of each party: none is accepted. Many
/// of them change what semi-honest parties reveal. (`SLVR_EFFORT=full` tries all errors of all gates at all parties.) How often the best lie about a proof passes is counted over small
/// rings, beside the folding.
#[test]
fn every_single_error_of_three_gates_is_rejected() {
    let all = is_full();
    for bits in [false, true] {
        let (circuit, encoded) = three_gates(bits);
        let plain = Circuit { security: Security::SemiHonest, ..circuit.clone() };
        for (circuit, proven) in [(&circuit, true), (&plain, false)] {
            let truth = Truth::of(circuit, &encoded, 1);
            let (mut missed, mut tried) = (0, 0);
            for party in 0..3 {
                let product = |c: &Circuit, op: &Op| matches!(op, Op::Reshare(z) if (c.ty(*z).dom == Dom::Bits(1)) == bits);
                let (frame, from) = place(circuit, &encoded, party, &product).unwrap();
                let errors: Vec<(usize, u8)> = match bits {
                    true => (1..8).map(|mask| (0, mask)).collect(),
                    // Where nothing is proven a few are enough to see that they succeed.
                    false if !proven => (0..3).flat_map(|g| [(g, 1), (g, 0x80)]).collect(),
                    // Some errors of one gate for each party, and single bits of all.
                    false => (0..3)
                        .flat_map(|g| (1..=255u8).map(move |m| (g, m)))
                        .filter(|(g, m)| all || m.is_power_of_two() || *g == party && m % 5 == 0)
                        .collect(),
                };
                for (gate, mask) in errors {
                    let how = How::Exactly { at: from + gate, mask, count: 1, step: 1 };
                    let rule = Rule { party, frame: Some((frame, how, 0)) };
                    let (outcome, _) = bent(circuit, &encoded, rule, None, 1);
                    missed += usize::from(truth.is_missed(&outcome, party));
                    tried += 1;
                    assert_eq!(outcome.receivers[0].1.is_err(), proven, "{rule:?}");
                }
            }
            if proven {
                assert_eq!(missed, 0, "of {tried} errors");
            } else {
                assert!(missed * 4 > tried, "{missed} of {tried} errors succeed unproven");
            }
        }
    }
}
