//! The receiver's side: adds the three words of what is revealed to it.

use super::error::{Phase, RunError};
use super::exchange::headers;
use super::guard::vouchers;
use super::hello::Hello;
use crate::link::{Header, Kind, Link, LinkError, Peer};
use crate::share::reveal::Revealed;
use crate::share::{RunId, next};
use slvr_circuit::plan;
use slvr_circuit::proof::{Barrier, HASH, Shape, barriers};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::verify::{Openings, VerifyError, verify_with};
use slvr_circuit::{Circuit, Op};
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
    let proofs = if guarded { barriers(circuit).map_err(VerifyError::from)? } else { Vec::new() };
    let rounds = |barrier: &Barrier| Shape::of(circuit, barrier).rounds() as u32;
    let mut words: Vec<Option<Data>> = vec![None; circuit.outputs.len()];
    let mut waited = 0;
    let part = Speculation::of(circuit);
    for ((l, layer), plan) in (0u32..).zip(&circuit.layers).zip(plan::plan(circuit)) {
        waited += 1;
        if let Some(part) = part.as_ref().filter(|p| p.last + 1 == l as usize) {
            // The parties may have gone back.
            waited += (part.last + 1 - part.first) as u32;
            waited +=
                proofs.iter().filter(|b| b.layer as usize == part.last).map(rounds).sum::<u32>();
        }
        waited += proofs.iter().filter(|b| b.layer == l).map(rounds).sum::<u32>();
        let phase = Phase::Layer(l);
        let mut heard = false;
        // By instruction the component that each party sent.
        let mut components: BTreeMap<usize, Vec<Data>> = BTreeMap::new();
        for i in 0..3 {
            let peer = Peer::Party(i);
            let malformed = || RunError::Malformed { phase, peer };
            let frames = plan::frames(circuit, layer, &plan.order, i, Peer::Receiver(set));
            for (header, frame) in headers(l, &frames).into_iter().zip(&frames) {
                heard = true;
                let body = recv(phase, i, header, waited)?;
                let mut rest = body.as_slice();
                for &(j, bytes) in &frame.parts {
                    let (bytes, tail) = rest.split_at_checked(bytes).ok_or_else(malformed)?;
                    rest = tail;
                    let op = layer.exchange.get(j).map(|instr| &instr.op);
                    let Some(Op::OpenTo { x, output }) = op else { continue };
                    let ty = circuit.ty(*x);
                    let word = Data::from_wire(ty.dom, ty.elements() as usize, bytes)
                        .ok_or_else(malformed)?;
                    if guarded {
                        components.entry(j).or_default().push(word.clone());
                    }
                    match words.get_mut(*output as usize) {
                        Some(Some(sum)) => sum.add_assign(&word),
                        Some(none) => *none = Some(word),
                        None => return Err(malformed()),
                    }
                }
            }
        }
        // The party before vouches for what each party sent. Nothing is taken unless both copies agree.
        for (j, sent) in components {
            let op = layer.exchange.get(j).map_or("open_to", |i| i.op.name());
            for by in 0..3 {
                let members = plan::members(circuit, set);
                let bytes = HASH.saturating_mul(members as usize);
                let header = Header { part: j as u32, ..Header::new(Kind::Vouch, l, bytes) };
                let hashes = recv(phase, by, header, waited)?;
                let from = next(by);
                if sent.get(from).is_none_or(|x| hashes != vouchers(x, members)) {
                    return Err(RunError::Voucher { phase, op, from, by });
                }
            }
        }
        if heard {
            waited = 0;
        }
    }
    // Nothing travels of what has no elements.
    for instr in circuit.layers.iter().flat_map(|l| &l.exchange) {
        if let Op::OpenTo { x, output } = &instr.op
            && plan::receiver(circuit, &instr.op) == set
            && let Some(none @ None) = words.get_mut(*output as usize)
        {
            *none = Some(Data::zeros(circuit.ty(*x).dom, 0));
        }
    }
    for i in 0..3 {
        recv(Phase::Closing, i, Header::new(Kind::Agreed, 0, 0), waited + 2)?;
    }
    let revealed = words.into_iter().zip(&circuit.outputs);
    Ok(revealed.filter_map(|(x, o)| Some(Revealed::new(o, x?))).collect())
}
