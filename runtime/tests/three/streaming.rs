//! A layer's message in several frames: the order of frames is part of what a peer must keep to.

use crate::build::{Builder, words};
use slvr_circuit::plan::{FRAME, frames, plan};
use slvr_circuit::{Circuit, Hold, Op};
use slvr_runtime::clear;
use slvr_runtime::link::memory::Memory;
use slvr_runtime::link::shaped::Line;
use slvr_runtime::link::tap::sending;
use slvr_runtime::link::{Kind, Link, Peer};
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{Options, run_outcome};
use slvr_runtime::party::{Phase, RunError};
use slvr_runtime::share::encode::Encoded;
use std::time::Duration;

/// Three large products in one layer, of which the second is needed first.
fn circuit() -> (Circuit, Encoded) {
    let mut b = Builder::new();
    let n = (FRAME / 8 + 5) as u64;
    let xs: Vec<_> = (0..3).map(|i| b.secret(64, &[1, n], &words(i, n as usize))).collect();
    let zs: Vec<_> = xs.iter().map(|&x| b.same(Op::Mul(x, x), Hold::Add3)).collect();
    let ys: Vec<_> = zs.iter().map(|&z| b.same(Op::Reshare(z), Hold::Rep)).collect();
    b.next_layer();
    let sum = b.same(Op::Add(ys[1], ys[0]), Hold::Rep);
    let sum = b.same(Op::Add(sum, ys[2]), Hold::Rep);
    let product = b.same(Op::Mul(sum, sum), Hold::Add3);
    let product = b.round(Op::Reshare(product), Hold::Rep);
    b.reveal(product, 0, 1.0);
    b.finish()
}

/// Exchanges two frames of layer 0 on their way from party 1 to party 0.
fn swapped(inner: Memory) -> Box<dyn Link> {
    let mut held = None;
    sending(inner, move |frame| {
        let (to, header, _) = &frame;
        let hit = *to == Peer::Party(0) && header.kind == Kind::Layer;
        if hit && (header.layer, header.part) == (0, 1) {
            held = Some(frame);
            return vec![];
        }
        let late = if hit { held.take() } else { None };
        [frame].into_iter().chain(late).collect()
    })
}

#[test]
fn a_large_part_is_a_frame_of_its_own() {
    let (circuit, _) = circuit();
    let plan = plan(&circuit);
    let sent = frames(&circuit, &circuit.layers[0], &plan[0].order, 1, Peer::Party(0));
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|f| f.parts.len() == 1 && f.len == FRAME + 40));
}

#[test]
fn the_result_is_that_of_the_clear() {
    let (circuit, encoded) = circuit();
    let plain = clear::evaluate(&circuit, encoded.values(&circuit), &Default::default()).unwrap();
    let line = Line { bits_per_s: 1e9, latency: Duration::from_millis(1) };
    for shape in [None, Some(line)] {
        let options = Options { seed: Some(1), shape, ..Options::default() };
        let outcome = run_outcome(&circuit, encoded.clone(), &options).unwrap();
        let seconds = outcome.seconds;
        let report = outcome.report(&circuit).unwrap();
        assert!(report.outputs == plain.outputs);
        // Four frames of 64 KiB one after another, two layers and the last word.
        let least = if shape.is_some() { 4.0 * 8.0 * FRAME as f64 / 1e9 + 3e-3 } else { 0.0 };
        assert!(seconds >= least);
    }
}

#[test]
fn frames_in_another_order_stop_everybody() {
    let (circuit, encoded) = circuit();
    let wrap = |party, inner: Memory| -> Box<dyn Link> {
        match party {
            1 => swapped(inner),
            _ => Box::new(inner),
        }
    };
    let options = Options { doors: Doors::new().wrap(&wrap), seed: Some(1), ..Options::default() };
    let outcome = run_outcome(&circuit, encoded, &options).unwrap();
    let Err(RunError::Link { phase, peer, problem, .. }) = &outcome.parties[0] else {
        panic!("{:?}", outcome.parties[0])
    };
    assert_eq!((*phase, *peer), (Phase::Layer(0), Peer::Party(1)));
    let shown = problem.to_string();
    assert!(shown.starts_with("part 2 of the message of layer 0"), "{shown}");
    assert!(outcome.parties.iter().all(Result::is_err));
    assert!(outcome.receivers.iter().all(|(_, r)| r.is_err()));
}
