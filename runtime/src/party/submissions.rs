//! Which clients' inputs are used: what the parties settle after the handshake and before layer 0.
//!
//! **Functionality.** For every client that gives secret inputs: if a party received nothing of it
//! ([`Why::Missing`]), or something unreadable, or if the two copies of one of its components differ
//! ([`Why::Inconsistent`]), zeros stand in for all its inputs at all three parties, and all three know
//! it.
//!
//! A client that deals by two seeds and one explicit part, relayed by semi-honest parties
//! ([`crate::share::deal`]), cannot deal inconsistently. A client that uploads to each party apart can:
//! then two parties would compute with different copies, and what comes out is neither's.
//!
//! | step | P_i sends to P_{i+1} | P_i sends to P_{i-1} |
//! |---|---|---|
//! | 1 | for each client a state and a digest of x_{i+1} | a state and a digest of x_i |
//! | 2 | for each client its verdict | the same |
//!
//! As an upload comes in, before the run, each component is hashed as it came ([`Received`]): a seed, or
//! the packed elements. Which of the two it is follows from the component's number, and elements have one
//! packing, so two parties that expand to different components have received different bytes. What they
//! exchange is the first 16 bytes of BLAKE3 of the client and that hash, keyed. The key is drawn
//! from the seed that exactly these two parties share, so for the third, should it see a digest, it is
//! pseudorandom: it cannot test guesses of an input of few possible values. The two parties
//! of a digest hold the component that it is of: an equal digest tells them nothing, and a
//! different one concerns a client that cheated. Different components have different hashes (BLAKE3 is
//! collision resistant, 128 bits), and different hashes equal digests with probability 2^-128, as the
//! client does not know the key.
//!
//! A party that runs on shares which it was handed without uploads hashes them, packed, in the run; all
//! three must have got a client's inputs in the same way.
//!
//! **Cost.** Two messages of 17 bytes and 1 byte per client to each other party; they are part of the
//! set-up, as the handshake is, and are not counted among the layers' rounds and bytes. Work in the run is
//! the same for inputs of every size; hashing as uploads come in is linear in the uploads.
//!
//! **Leakage.** To all parties, which clients are replaced and why: it is in the report.

use super::engine::Engine;
use super::error::{Phase, RunError};
use super::uploads::{Received, Replaced, Why};
use crate::link::{Header, Kind, Peer};
use crate::share::deal::{Layout, layout};
use crate::share::{Held, Purpose, Rep, Stream, next, prev};
use slvr_circuit::{Circuit, From};
use slvr_ring::{Data, threads};

/// Bytes of a state and a digest.
const ENTRY: usize = 17;

type Client = (u32, u64);

/// The clients that give secret inputs, in order.
fn clients(circuit: &Circuit) -> Vec<Client> {
    let sets = circuit.parties.iter().zip(0u32..);
    let giving = sets.filter(|(_, s)| circuit.inputs.iter().any(|i| i.from == From::Each(*s)));
    giving.flat_map(|(set, s)| (0..set.size).map(move |i| (s, i))).collect()
}

fn encode(why: Option<Why>) -> u8 {
    match why {
        None => 0,
        Some(Why::Missing) => 1,
        Some(_) => 2,
    }
}

fn decode(byte: u8) -> Option<Option<Why>> {
    match byte {
        0 => Some(None),
        1 => Some(Some(Why::Missing)),
        2 => Some(Some(Why::Inconsistent)),
        _ => None,
    }
}

/// The first reason of two.
fn first(a: Option<Why>, b: Option<Why>) -> Option<Why> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Engine<'_> {
    /// Settles whose inputs are used, and puts zeros in place of the others'.
    pub(super) fn settle(&mut self, inputs: Vec<Held>) -> Result<Vec<Held>, RunError> {
        self.phase = Phase::Inputs;
        let clients = clients(self.party.circuit);
        let own: Vec<Option<Why>> =
            clients.iter().map(|c| self.party.uploads.unusable.get(c).copied()).collect();
        // Against a malicious party there is no run without the comparison.
        let unchecked = self.party.uploads.unchecked && self.guard.is_none();
        let verdicts = match clients.is_empty() || unchecked {
            true => own,
            false => self.compare(&inputs, &clients, own)?,
        };
        let replaced = clients.iter().zip(&verdicts);
        self.replaced = replaced
            .filter_map(|(&(set, member), why)| Some(Replaced { set, member, why: (*why)? }))
            .collect();
        Ok(self.without_replaced(inputs))
    }

    /// Both steps of the comparison; the verdicts that all parties have in the end.
    fn compare(
        &mut self,
        inputs: &[Held],
        clients: &[Client],
        own: Vec<Option<Why>>,
    ) -> Result<Vec<Option<Why>>, RunError> {
        let (after, before) = (Peer::Party(next(self.me)), Peer::Party(prev(self.me)));
        let digests = self.digests(inputs, clients, &own);
        let body = |pick: fn(&[[u8; 16]; 2]) -> &[u8; 16]| -> Vec<u8> {
            let entry = |(state, d): (&Option<Why>, &[[u8; 16]; 2])| {
                std::iter::once(encode(*state)).chain(*pick(d)).collect::<Vec<u8>>()
            };
            own.iter().zip(&digests).flat_map(entry).collect()
        };
        // The first component is also P_{i-1}'s, the second P_{i+1}'s.
        let mine = [(before, body(|d| &d[0])), (after, body(|d| &d[1]))];
        let header = |step, len| Header::new(Kind::Inputs, step, len);
        for (peer, body) in &mine {
            self.send(*peer, header(0, body.len()), body.clone())?;
        }
        let mut verdicts = own;
        for (peer, body) in mine {
            let theirs = self.recv(peer, header(0, body.len()))?;
            let entries = theirs.chunks_exact(ENTRY).zip(body.chunks_exact(ENTRY));
            for (n, (verdict, (theirs, mine))) in verdicts.iter_mut().zip(entries).enumerate() {
                let state = self.state(peer, theirs[0])?;
                let usable = theirs[0] == 0 && mine[0] == 0;
                self.agree(
                    peer,
                    clients,
                    n,
                    theirs[0] == mine[0] && (theirs[0] != 0 || theirs[1..] == mine[1..]),
                )?;
                let differ = (usable && theirs[1..] != mine[1..]).then_some(Why::Inconsistent);
                *verdict = first(*verdict, first(state, differ));
            }
        }
        let body: Vec<u8> = verdicts.iter().copied().map(encode).collect();
        for peer in [after, before] {
            self.send(peer, header(1, body.len()), body.clone())?;
        }
        for peer in [after, before] {
            let theirs = self.recv(peer, header(1, body.len()))?;
            for (n, (verdict, &byte)) in verdicts.iter_mut().zip(&theirs).enumerate() {
                self.agree(peer, clients, n, byte == body[n])?;
                *verdict = first(*verdict, self.state(peer, byte)?);
            }
        }
        Ok(verdicts)
    }

    /// Against a malicious party a client is replaced only if all three have nothing of it. Otherwise one of them could
    /// leave out a client that is honest.
    fn agree(&self, peer: Peer, clients: &[Client], n: usize, same: bool) -> Result<(), RunError> {
        match (same || self.guard.is_none(), clients.get(n)) {
            (false, Some(&(set, member))) => {
                Err(RunError::Client { phase: self.phase, peer, set, member })
            }
            _ => Ok(()),
        }
    }

    fn state(&self, peer: Peer, byte: u8) -> Result<Option<Why>, RunError> {
        decode(byte).ok_or(RunError::Malformed { phase: self.phase, peer })
    }

    /// For each client the digests of both components; zeros where there is nothing to compare.
    fn digests(
        &self,
        inputs: &[Held],
        clients: &[Client],
        own: &[Option<Why>],
    ) -> Vec<[[u8; 16]; 2]> {
        let stream = Stream::new(0, Purpose::Digest);
        let keys = [self.party.prss.key_with_prev(stream), self.party.prss.key_with_next(stream)];
        let circuit = self.party.circuit;
        let layouts: Vec<_> = (0..circuit.parties.len()).map(|s| layout(circuit, s)).collect();
        let uploaded = &self.party.uploads.received;
        let one = |(client, why): (&Client, &Option<Why>)| {
            if why.is_some() {
                return [[0; 16]; 2];
            }
            let (set, member) = (client.0, client.1 as usize);
            let received = match (uploaded.get(client), layouts.get(set as usize)) {
                (Some(received), _) => received.clone(),
                (None, layout) => {
                    let none = Layout::new();
                    Received::of_shares(inputs, layout.unwrap_or(&none), member)
                }
            };
            let digest = |i: usize| {
                let mut hash = blake3::Hasher::new_keyed(&keys[i]);
                hash.update(&set.to_le_bytes()).update(&client.1.to_le_bytes());
                let all = *hash.update(received.component(i)).finalize().as_bytes();
                std::array::from_fn(|i| all[i])
            };
            [digest(0), digest(1)]
        };
        threads::map(clients.iter().zip(own), &one)
    }

    fn without_replaced(&self, mut inputs: Vec<Held>) -> Vec<Held> {
        let circuit = self.party.circuit;
        for (held, input) in inputs.iter_mut().zip(&circuit.inputs) {
            let (Held::Rep(x), From::Each(set)) = (&*held, input.from) else { continue };
            let out: Vec<u64> =
                self.replaced.iter().filter(|r| r.set == set).map(|r| r.member).collect();
            if out.is_empty() {
                continue;
            }
            let members = circuit.parties.get(set as usize).map_or(1, |p| p.size.max(1));
            let zeroed = |x: &Data| {
                let n = x.len() / members as usize;
                let part = |i: u64| match out.binary_search(&i) {
                    Ok(_) => Data::zeros(x.dom(), n),
                    Err(_) => x.slice(i as usize * n..(i as usize + 1) * n),
                };
                let parts: Vec<Data> = (0..members).map(part).collect();
                Data::concat(&parts.iter().collect::<Vec<_>>())
            };
            *held = Held::Rep(Rep::new(zeroed(&x.first), zeroed(&x.second)));
        }
        inputs
    }

    /// All clients whose inputs were replaced, those that a check rejected included.
    pub(super) fn all_replaced(&self) -> Vec<Replaced> {
        let mut all = self.replaced.clone();
        for (set, admitted) in &self.admitted {
            for (member, _) in (0u64..).zip(admitted).filter(|(_, good)| !**good) {
                // Zeros may be outside a range, too: the first reason counts.
                if !self.replaced.iter().any(|r| (r.set, r.member) == (*set, member)) {
                    all.push(Replaced { set: *set, member, why: Why::OutOfRange });
                }
            }
        }
        all.sort_unstable();
        all
    }
}
