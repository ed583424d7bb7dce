//! Whatever goes wrong with a message, every party stops with an error that names the layer and the
//! peer, and nobody gets an output.

use crate::build::{Builder, words};
use crate::fault::{Fault, FaultKind, Faulty};
use slvr_circuit::{Circuit, Hold, Op};
use slvr_runtime::link::memory::Memory;
use slvr_runtime::link::{Link, LinkError, Peer};
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{Options, Outcome, run_outcome};
use slvr_runtime::party::{Phase, RunError};
use slvr_runtime::share::encode::Encoded;
use std::time::Duration;

const DEADLINE: Duration = Duration::from_millis(250);
const KINDS: [FaultKind; 9] = [
    FaultKind::Drop,
    FaultKind::Truncate,
    FaultKind::CutBody,
    FaultKind::Lengthen,
    FaultKind::Delay(Duration::from_millis(800)),
    FaultKind::Duplicate,
    FaultKind::Reorder,
    FaultKind::WrongLayer,
    FaultKind::Close,
];

/// Five layers in which everybody sends to everybody, and one that reveals.
fn circuit() -> (Circuit, Encoded) {
    let mut b = Builder::new();
    let mut x = b.secret(64, &[1, 192], &words(1, 192));
    for _ in 0..5 {
        let t = b.same(Op::AsAdd2(x), Hold::Add2);
        x = b.round(Op::ReshareTwo(t), Hold::Rep);
    }
    b.reveal(x, 0, 1.0);
    b.finish()
}

fn run(deadline: Duration, faults: &[Fault]) -> Outcome {
    let (circuit, encoded) = circuit();
    let wrap =
        |party, link: Memory| -> Box<dyn Link> { Box::new(Faulty::new(party, link, faults)) };
    let options =
        Options { doors: Doors::new().wrap(&wrap), seed: Some(1), deadline, ..Options::default() };
    run_outcome(&circuit, encoded, &options).unwrap()
}

#[test]
fn without_a_fault_everybody_finishes() {
    let outcome = run(Duration::from_secs(60), &[]);
    assert!(outcome.parties.iter().all(|p| p.is_ok()));
    assert!(outcome.receivers.iter().all(|(_, r)| r.is_ok()));
}

fn check(party: usize, layer: Option<u32>, to: usize, kind: FaultKind) {
    let fault = Fault { party, layer, to: Peer::Party(to), kind };
    let outcome = run(DEADLINE, &[fault]);
    for (i, result) in outcome.parties.iter().enumerate() {
        let e = result.as_ref().expect_err("a party went on");
        let RunError::Link { peer, .. } = e else { panic!("{fault:?}, party {i}: {e}") };
        assert_ne!(*peer, Peer::Party(i));
        let shown = e.to_string();
        let place = ["layer", "handshake", "end of the run"].iter().any(|p| shown.contains(p));
        assert!(place && shown.contains("party"), "{shown}");
    }
    for (_, r) in &outcome.receivers {
        assert!(r.is_err(), "{fault:?}: an output in spite of the fault");
    }
    // The victim blames the right message.
    let Err(RunError::Link { phase, peer, problem, .. }) = &outcome.parties[to] else {
        unreachable!()
    };
    if kind == FaultKind::Close || matches!(problem, LinkError::Aborted) {
        return;
    }
    assert_eq!(*peer, Peer::Party(party), "{fault:?}: {problem}");
    let late = matches!(kind, FaultKind::Duplicate);
    match layer {
        Some(l) if late => assert!(*phase > Phase::Layer(l), "{fault:?}: {phase}"),
        Some(l) => assert_eq!(*phase, Phase::Layer(l), "{fault:?}: {problem}"),
        None if late => assert!(*phase > Phase::Handshake, "{fault:?}: {phase}"),
        None => assert_eq!(*phase, Phase::Handshake, "{fault:?}: {problem}"),
    }
    let fits = match kind {
        FaultKind::Drop | FaultKind::Reorder => {
            matches!(problem, LinkError::Late(_) | LinkError::Unexpected { .. })
        }
        FaultKind::Delay(_) => matches!(problem, LinkError::Late(_)),
        FaultKind::Truncate | FaultKind::CutBody | FaultKind::Lengthen => {
            matches!(problem, LinkError::Length { .. })
        }
        FaultKind::Duplicate | FaultKind::WrongLayer => {
            matches!(problem, LinkError::Unexpected { .. })
        }
        FaultKind::Close => true,
    };
    assert!(fits, "{fault:?}: {problem}");
}

#[test]
fn every_fault_stops_everybody() {
    for kind in KINDS {
        check(1, Some(2), 2, kind);
        check(2, Some(0), 1, kind);
        check(0, Some(4), 2, kind);
    }
}

#[test]
fn faults_in_the_handshake_stop_everybody() {
    for kind in KINDS {
        check(0, None, 1, kind);
    }
}

#[test]
fn a_fault_towards_the_receiver_leaves_no_output() {
    for kind in KINDS {
        let fault = Fault { party: 2, layer: Some(5), to: Peer::Receiver(1), kind };
        let outcome = run(DEADLINE, &[fault]);
        // Late is not an error for a receiver, which waits for the whole run.
        let patient = matches!(kind, FaultKind::Delay(_));
        for (_, r) in &outcome.receivers {
            assert!(r.is_err() || patient, "{fault:?}");
        }
        let (circuit, _) = circuit();
        assert!(outcome.report(&circuit).is_err() || patient, "{fault:?}");
    }
}

#[test]
fn the_cause_is_reported_rather_than_its_echo() {
    let fault = Fault { party: 1, layer: Some(3), to: Peer::Party(0), kind: FaultKind::Truncate };
    let (circuit, _) = circuit();
    let e = run(DEADLINE, &[fault]).report(&circuit).unwrap_err();
    assert_eq!(
        e.to_string(),
        "layer 3, party 1: a message of 511 bytes arrived where 512 were expected"
    );
}
