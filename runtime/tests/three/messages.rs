//! The bytes of all messages, pinned: where they change, nodes of both versions must refuse each other.

use crate::dealer_proofs::dealer_claims;
use crate::parted::parted_claims;
use crate::proofs::{every_claim, options};
use slvr_circuit::{Circuit, Security};
use slvr_runtime::link::memory::Memory;
use slvr_runtime::link::tap::sending;
use slvr_runtime::link::{Header, Link, Peer};
use slvr_runtime::party::MESSAGES;
use slvr_runtime::party::session::{Options, run_outcome};
use slvr_runtime::share::encode::Encoded;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

/// What each party sent to whom, by headers.
type Log = Arc<Mutex<BTreeMap<(usize, Peer, Header), Vec<u8>>>>;

/// A hash of all frames of a run with a fixed seed, of which there are so many.
fn frames(circuit: &Circuit, encoded: &Encoded) -> (usize, String) {
    let log = Log::default();
    let wrap = |me: usize, inner: Memory| -> Box<dyn Link> {
        let log = log.clone();
        sending(inner, move |(to, header, body)| {
            log.lock().unwrap().insert((me, to, header), body.clone());
            vec![(to, header, body)]
        })
    };
    let options = Options { doors: options(7).doors.wrap(&wrap), ..options(7) };
    let outcome = run_outcome(circuit, encoded.clone(), &options).unwrap();
    outcome.report(circuit).unwrap_or_else(|e| panic!("{e}"));
    let mut hash = blake3::Hasher::new();
    let log = log.lock().unwrap();
    for (frame, body) in log.iter() {
        hash.update(format!("{frame:?} {}\n", body.len()).as_bytes()).update(body);
    }
    (log.len(), hash.finalize().to_hex()[..16].to_string())
}

/// Whoever changes this snapshot raises [`MESSAGES`], so that parties of both versions say so and do not blame each other.
#[test]
fn messages_are_those_of_their_version() {
    let mut out = format!("version {MESSAGES}\n");
    let circuits = [(8, 70), (64, 1500), (128, 70)].map(|(k, n)| every_claim(k, n, 11));
    let names = ["8 bits", "64 bits", "128 bits", "dealer", "products of matrices"];
    let more = [dealer_claims(64, 300, 11), parted_claims(64, 11)];
    for (name, (circuit, encoded)) in names.iter().zip(circuits.into_iter().chain(more)) {
        let open = Circuit { security: Security::SemiHonest, ..circuit.clone() };
        for circuit in [open, circuit] {
            let (n, hash) = frames(&circuit, &encoded);
            writeln!(out, "{name}, {:?}: {n} frames, {hash}", circuit.security).unwrap();
        }
    }
    insta::assert_snapshot!(out);
}
