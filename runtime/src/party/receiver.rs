//! The receiver's side: adds the three words of what is revealed to it.

use super::error::{Phase, RunError};
use super::guard::vouchers;
use super::hello::Hello;
use super::openings;
use crate::link::{Header, Kind, Link, LinkError, Peer};
use crate::share::reveal::Revealed;
use crate::share::{RunId, next};
use slvr_circuit::proof::{proofs, under_way};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::verify::{Openings, VerifyError, verify_with};
use slvr_circuit::{Circuit, plan};
use slvr_ring::Data;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A receiver, ready to run.
pub struct Receiver<'a> {
    /// What the parties evaluate.
    pub circuit: &'a Circuit,
    /// Which party set this is (index in the circuit).
    pub set: usize,
    /// The channels from the three parties.
    pub link: &'a mut dyn Link,
    /// The run's public name.
    pub run: RunId,
    /// What the parties wait for a message; a receiver waits as long for each layer that passes.
    pub deadline: Duration,
}

/// The party sets that receive outputs.
pub fn receiving(circuit: &Circuit) -> Vec<usize> {
    let sets: BTreeSet<usize> = circuit.outputs.iter().map(|o| o.to as usize).collect();
    sets.into_iter().collect()
}

/// Receives what is revealed to a party set, in the order of the circuit's outputs.
///
/// # Errors
///
/// Whatever goes wrong with a message of a party. Nothing is returned unless all three parties
/// have finished the run without an error and know it of one another.
pub fn receive(r: Receiver<'_>) -> Result<Vec<Revealed>, RunError> {
    let Receiver { circuit, set, link, run, deadline } = r;
    // A receiver sends nothing.
    verify_with(circuit, Openings::Any)?;
    let mut recv = |phase, from, header, layers: u32| {
        let peer = Peer::Party(from);
        let wait = deadline.saturating_mul(layers);
        let got = link.recv(peer, header, wait);
        got.map_err(|problem: LinkError| RunError::Link { phase, proof: None, peer, problem })
    };

    let mut first: Option<Hello> = None;
    for i in 0..3 {
        let header = Header::new(Kind::Hello, 0, Hello::bytes(circuit));
        let theirs = recv(Phase::Handshake, i, header, 1)?;
        // A receiver need not have the public inputs: it takes their hash from the first party and
        // checks that the others agree.
        let mine = *first.get_or_insert_with(|| Hello::with_public_of(&theirs, circuit, run));
        let mismatch = |what| RunError::Mismatch { peer: Peer::Party(i), what };
        mine.compare(&theirs).map_err(mismatch)?;
    }

    let guarded = circuit.security.is_malicious();
    let proofs = if guarded { proofs(circuit).map_err(VerifyError::from)? } else { Vec::new() };
    let under_way = under_way(circuit, &proofs, |_| 1);
    // For each proof that is under way a party may wait as long as for the layer.
    let waits = |l: usize, again: bool| {
        let [before, within] = under_way.get(l).copied().unwrap_or_default();
        let here = proofs.iter().find(|p| p.barrier.layer as usize == l);
        let rounds = here.map_or(0, |p| p.waits[usize::from(again)] as u64);
        u32::try_from(rounds.saturating_mul(before).saturating_add(within)).unwrap_or(u32::MAX)
    };
    let members = plan::members(circuit, set);
    let mut words = openings::zeros(circuit, set);
    let mut waited = 0;
    let speculation = Speculation::of(circuit);
    for (l, told) in (0u32..).zip(openings::layers(circuit, set)) {
        waited += 1;
        if let Some(s) = speculation.as_ref().filter(|p| p.last + 1 == l as usize) {
            // The parties may have gone back.
            waited += (s.last + 1 - s.first) as u32;
            waited += (s.first..=s.last).map(|l| waits(l, true)).sum::<u32>();
        }
        waited += waits(l as usize, false);
        let phase = Phase::Layer(l);
        // By output the component that each party sent.
        let mut components: BTreeMap<u32, Vec<Data>> = BTreeMap::new();
        for (i, messages) in told.messages.iter().enumerate() {
            let malformed = || RunError::Malformed { phase, peer: Peer::Party(i) };
            for message in messages {
                let body = recv(phase, i, message.header, waited)?;
                for (output, word) in message.words(&body).ok_or_else(malformed)? {
                    words.get_mut(&output).ok_or_else(malformed)?.add_assign(&word);
                    if guarded {
                        components.entry(output).or_default().push(word);
                    }
                }
            }
        }
        // The party before vouches for what each party sent. Nothing is taken unless both copies agree.
        for (output, header) in told.vouchers {
            for by in 0..3 {
                let hashes = recv(phase, by, header, waited)?;
                let (op, from) = ("open_to", next(by));
                let sent = components.get(&output).and_then(|sent| sent.get(from));
                if sent.is_none_or(|x| hashes != vouchers(x, members)) {
                    return Err(RunError::Voucher { phase, op, from, by });
                }
            }
        }
        if told.messages.iter().any(|messages| !messages.is_empty()) {
            waited = 0;
        }
    }
    for i in 0..3 {
        recv(Phase::Closing, i, Header::new(Kind::Agreed, 0, 0), waited + 2)?;
    }
    let revealed = |(output, x)| Some(Revealed::new(circuit.outputs.get(output as usize)?, x));
    Ok(words.into_iter().filter_map(revealed).collect())
}
