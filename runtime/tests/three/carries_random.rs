//! Random circuits in which carries of p + q are told, found and skipped ([`crate::carries_make`]). In every one that is admitted
//! honest parties compute what they do without proofs, at the predicted cost, and every altered frame is noticed. That no
//! statement is missing is tested beside the statements, in the crate's `proof::exact`: a party that does not keep to its words proves other
//! polynomials than its verifiers hold, and is noticed whatever the statements are.
//!
//! `SLVR_SEED` and `SLVR_CARRIES` say from which seed on, and how many.

use crate::agreement::{admitted, agrees, notices_every_frame, setting};
use crate::carries_make::random;
use crate::draws::Random;
use crate::tampering::{How, Rule, Truth, bent, ended_well, sent};
use slvr_circuit::proof::barriers;
use slvr_circuit::traffic::Traffic;
use slvr_circuit::verify::{Openings, infer, verify_with};
use slvr_circuit::{Circuit, Op, ValueId};
use slvr_runtime::link::Kind;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn honest_runs_agree() {
    let (first, n) = (setting("SLVR_SEED", 0), setting("SLVR_CARRIES", 20));
    let (mut count, mut told, mut found, mut steps, mut early) = (0, 0, 0, [0; 2], 0);
    let mut bad = Vec::new();
    for (seed, circuit, encoded) in admitted(first..first + n, random) {
        count += 1;
        let run = || agrees(&circuit, &encoded, seed, &format!("seed {seed}"));
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            bad.push(seed);
        }
        for b in barriers(&circuit).unwrap() {
            early += u32::from(b.early && b.carries.values().any(|c| !c.told.is_empty()));
            for c in b.carries.values() {
                told += c.told.len();
                found += c.found.len();
                let [one, two] = c.counts();
                steps = [steps[0] + one, steps[1] + two];
            }
        }
    }
    println!("{count} of {n}: {told} told, {found} found, steps {steps:?}, {early} early");
    assert!(bad.is_empty(), "seeds {bad:?}");
    assert!(count * 3 > n, "{count} of {n}");
    assert!(n < 20 || told > 100 && found > 60 && steps[1] > 50 && early > 1);
}

/// Also frames of proofs: whatever a prover says of its carries.
#[test]
fn altered_frames_are_noticed() {
    let (first, n) = (setting("SLVR_SEED", 10_000), setting("SLVR_CARRIES", 4));
    let (mut flips, mut proofs) = (0, 0);
    for (seed, circuit, encoded) in admitted(first..first + n, random) {
        let mut dice = Random::of_seed(seed);
        let what = format!("seed {seed}");
        flips += notices_every_frame(&circuit, &encoded, &what, &mut |bits| dice.below(bits));
        let truth = Truth::of(&circuit, &encoded, 1);
        for (party, frames) in sent(&circuit, &encoded).iter().enumerate() {
            for (n, (h, _)) in frames.iter().enumerate() {
                if h.kind != Kind::Proof || h.len == 0 || (h.part > 0 && dice.below(4) > 0) {
                    continue;
                }
                proofs += 1;
                let rule = Rule { party, frame: Some((n, How::Flip, dice.below(8 * h.len))) };
                let (outcome, log) = bent(&circuit, &encoded, rule, None, 1);
                assert!(!truth.is_missed(&outcome, party), "{what}: {rule:?} of {h}");
                assert!(outcome.receivers[0].1.is_err(), "{what}: {rule:?} of {h} was not noticed");
                ended_well(&circuit, &outcome, &log, party, &rule);
            }
        }
    }
    println!("{flips} flips, and {proofs} of proofs");
    assert!(flips > 10 && proofs > 10, "{flips} {proofs}");
}

/// The circuits of [`crate::speculation_proofs`] with bits, codes and high parts of what is made before, in and after the layers that
/// are repeated: told, found and skipped carries of both attempts.
fn speculative(case: u64) -> Vec<Circuit> {
    let add = |mut c: Circuit, placed: u64| -> Option<Circuit> {
        let mut dice = Random::of_seed(case * 2 + placed);
        let mut owned: Vec<Vec<ValueId>> = Vec::new();
        let last = c.layers.len() as u32 - 2;
        let put = |c: &mut Circuit, l: usize, op: Op| -> Option<ValueId> {
            let ty = infer(&op, &|v| c.ty(v)).ok()??;
            c.types.push(ty);
            let out = ValueId(c.types.len() as u32 - 1);
            let instr = slvr_circuit::Instr { out: Some(out), op, site: 0 };
            let layer = &mut c.layers[l];
            if instr.op.is_interactive() {
                layer.exchange.push(instr)
            } else {
                layer.local.push(instr)
            }
            Some(out)
        };
        // By the layer in which they are there: what is input, what is made before, in and after, and a mask ahead.
        for (x, from) in [(0, 0), (11, 1), (15, 1), (17, 2), (19, 2), (22, 3), (8, 4)] {
            let l = if c.layers.len() == 5 && from == 4 { 3 } else { from };
            let l = l.min(last as usize);
            if c.layers[l].exchange.iter().any(|i| matches!(i.op, Op::Open(_))) {
                continue;
            }
            let own = put(&mut c, l, Op::Own(ValueId(x)))?;
            owned.push(vec![own, ValueId(l as u32)]);
        }
        for some in owned {
            let (own, from) = (some[0], some[1].0 as usize);
            for l in from..c.layers.len() - 1 {
                if c.layers[l].exchange.iter().any(|i| matches!(i.op, Op::Open(_)))
                    || dice.below(3) == 0
                {
                    continue;
                }
                let lo = dice.below(8) as u32;
                let w = 1 + dice.below(u64::from(8 - lo)) as u32;
                let said = match dice.below(4) {
                    0 => put(&mut c, l, Op::Shr(own, 1 + lo.min(6)))?,
                    1 => {
                        let bits = put(&mut c, l, Op::ToBits { x: own, lo, w })?;
                        let bits = put(&mut c, l, Op::Not(bits))?;
                        put(&mut c, l, Op::Thermometer { x: bits, blocks: vec![1; w as usize] })?
                    }
                    2 => {
                        let bits = put(&mut c, l, Op::ToBits { x: own, lo, w: 1 })?;
                        put(&mut c, l, Op::FromBits(bits, 32))?
                    }
                    _ => put(&mut c, l, Op::ToBits { x: own, lo, w })?,
                };
                put(&mut c, l, Op::Input(said))?;
            }
        }
        c.layers.iter_mut().for_each(|l| l.drop.clear());
        // What the repetition reads must be there.
        let all = (0..c.types.len() as u32).map(ValueId).collect();
        c.layers.iter_mut().next_back().unwrap().drop = all;
        match verify_with(&c, Openings::Any) {
            Ok(_) => Some(c),
            Err(_) => None,
        }
    };
    crate::speculation_proofs::placements()
        .into_iter()
        .zip(0..)
        .filter_map(|(c, placed)| add(c, placed))
        .collect()
}

#[test]
fn carries_in_both_attempts() {
    use crate::speculation_proofs::run;
    let (mut count, mut told, mut found, mut early, mut flips) = (0, 0, 0, 0, 0);
    for case in 0..setting("SLVR_CARRIES", 2) {
        for circuit in speculative(case) {
            count += 1;
            for b in barriers(&circuit).unwrap() {
                early += u32::from(b.early && b.carries.values().any(|c| !c.told.is_empty()));
                for c in b.carries.values() {
                    told += c.told.len();
                    found += c.found.len();
                }
            }
            let (outcome, _) = run(&circuit, [true; 3], 1, None);
            let honest = outcome.report(&circuit).unwrap_or_else(|e| panic!("case {case}: {e}"));
            let once = Traffic::of(&circuit);
            assert_eq!((honest.rounds, honest.bytes_sent), (once.rounds, once.bytes));
            for good in [[true, false, true], [false; 3], [false, true, true]] {
                let (outcome, log) = run(&circuit, good, 2, None);
                let report =
                    outcome.report(&circuit).unwrap_or_else(|e| panic!("case {case}: {e}"));
                let all = &honest.outputs[0].values;
                for (n, (got, all)) in report.outputs[0].values.iter().zip(all).enumerate() {
                    assert_eq!(*got, if good[n / 64] { *all } else { 0.0 });
                }
                let twice = Traffic::repeated(&circuit);
                assert_eq!((report.rounds, report.bytes_sent), (twice.rounds, twice.bytes));
                // Some frames of the second attempt.
                let mut dice = Random::of_seed(case);
                let frames: Vec<_> = log.lock().unwrap().keys().copied().collect();
                let repeated = frames.into_iter().filter(|(_, _, h)| {
                    h.len > 0
                        && h.layer & slvr_runtime::link::Header::REPEATED != 0
                        && matches!(h.kind, Kind::Layer | Kind::Proof)
                });
                for frame in repeated.filter(|_| dice.below(12) == 0).take(4) {
                    flips += 1;
                    let (outcome, _) = run(&circuit, good, 2, Some(frame));
                    assert!(outcome.receivers[0].1.is_err(), "case {case}: {frame:?}");
                }
            }
        }
    }
    println!("{count} circuits, {told} told, {found} found, {early} early, {flips} flips");
    assert!(count > 2 && told > 10 && found > 10 && early > 0);
}
