//! What a party keeps of a run for the next one: its shares of the states that a circuit declares, sealed.
//!
//! A run of round t takes in what round t - 1 has left and gives out what round t + 1 needs. The seal says which
//! circuit, and so which predicate, sizes and parameters, wrote the shares, for which party, after how many rounds and
//! in which run. So shares of another predicate, of another party, of an earlier round or of another history are
//! refused. Whether a round has been run already is for the caller to know: it names the round that it is about to
//! run ([`Kept::check_round`]). Restoring the files of all three parties *and* naming an earlier round runs that round
//! again; the parties cannot tell.
//!
//! Before a run the parties compare rounds and runs, and digests of the component that each two of them hold
//! ([`crate::party`]): shares that do not belong together are found before anything is computed.

use super::{Rep, RunId};
use sha2::{Digest, Sha256};
use slvr_circuit::{Circuit, From, artifact};
use slvr_ring::Data;
use std::fmt;
use thiserror::Error;

/// What a file of states begins with.
const MAGIC: &[u8; 8] = b"SLVRSTA1";

/// Bytes before the shares: magic, circuit, party, rounds, run.
const HEAD: usize = 8 + 32 + 1 + 8 + 16;

/// Why kept shares are not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StateError {
    /// The bytes are no kept shares, or were changed.
    #[error("not a file of states, or a damaged one")]
    Damaged,
    /// Another circuit wrote them.
    #[error(
        "the state was kept by another circuit: a state belongs to one predicate with its sizes, parameters and options"
    )]
    Circuit,
    /// They are another party's.
    #[error("these are the shares of party {found}, not of party {wanted}")]
    Party {
        /// Whose they are.
        found: usize,
        /// Whose they should be.
        wanted: usize,
    },
    /// The round has been run.
    #[error(
        "round {round} has been run: the state is that after round {rounds}, and the next round is {}",
        rounds + 1
    )]
    Replay {
        /// The round to be run.
        round: u64,
        /// Rounds that the state has seen.
        rounds: u64,
    },
    /// Rounds in between are missing.
    #[error(
        "round {round} needs the state after round {}, and there is that after round {rounds}",
        round - 1
    )]
    Gap {
        /// The round to be run.
        round: u64,
        /// Rounds that the state has seen.
        rounds: u64,
    },
}

/// A party's shares of all states of a circuit.
#[derive(Clone, PartialEq, Eq)]
pub struct Kept {
    circuit: [u8; 32],
    party: u8,
    rounds: u64,
    run: [u8; 16],
    /// In the order of the circuit's inputs.
    shares: Vec<[Data; 2]>,
}

impl Kept {
    /// What party `me` holds before the first round: what the circuit declares, known to all.
    pub fn start(circuit: &Circuit, me: usize) -> Kept {
        let begins = circuit.states().map(|(_, input)| {
            let ty = circuit.ty(input.value);
            let word = match input.from {
                From::State(word) => word,
                From::Public | From::Each(_) | From::Present(_) => 0,
            };
            let mut begins = Data::zeros(ty.dom, ty.elements() as usize);
            begins.offset(word as i128 as u128 & slvr_circuit::low_mask(ty.bits()));
            begins
        });
        let begins: Vec<Data> = begins.collect();
        Kept::known(circuit, me, &begins)
    }

    /// What party `me` holds of states that all know, such as those of a simulation, in the order of the circuit's states.
    pub fn known(circuit: &Circuit, me: usize, values: &[Data]) -> Kept {
        let shares = values.iter().map(|value| {
            let zeros = || Data::zeros(value.dom(), value.len());
            // All of it is component 0.
            match me {
                0 => [value.clone(), zeros()],
                2 => [zeros(), value.clone()],
                _ => [zeros(), zeros()],
            }
        });
        let shares = shares.collect();
        Kept { circuit: artifact::hash(circuit), party: me as u8, rounds: 0, run: [0; 16], shares }
    }

    /// What a run of the round after `before` leaves.
    pub(crate) fn after(before: &Kept, run: RunId, shares: Vec<[Data; 2]>) -> Kept {
        Kept { rounds: before.rounds.saturating_add(1), run: run.0, shares, ..before.clone() }
    }

    /// Rounds that it has seen.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Whose shares they are.
    pub fn party(&self) -> usize {
        self.party.into()
    }

    /// The shares as replicated values, in the order of the circuit's states.
    pub(crate) fn shares(&self) -> impl Iterator<Item = Rep> + '_ {
        self.shares.iter().map(|[first, second]| Rep::new(first.clone(), second.clone()))
    }

    /// Whether this is what a round needs, counted from 1.
    ///
    /// # Errors
    ///
    /// A round that has been run, or one that is not the next.
    pub fn check_round(&self, round: u64) -> Result<(), StateError> {
        let rounds = self.rounds;
        match round.checked_sub(1) {
            Some(before) if before == rounds => Ok(()),
            Some(before) if before > rounds => Err(StateError::Gap { round, rounds }),
            _ => Err(StateError::Replay { round, rounds }),
        }
    }

    /// Whether these are a party's shares of a circuit's states.
    ///
    /// # Errors
    ///
    /// Another circuit's, or another party's.
    pub fn check_owner(&self, circuit: &Circuit, me: usize) -> Result<(), StateError> {
        if self.circuit != artifact::hash(circuit) {
            return Err(StateError::Circuit);
        }
        if self.party() != me {
            return Err(StateError::Party { found: self.party(), wanted: me });
        }
        let fits = |x: &Data, (_, input): (usize, &slvr_circuit::Input)| {
            let ty = circuit.ty(input.value);
            x.dom() == ty.dom && x.len() as u64 == ty.elements()
        };
        let all = self.shares.len() == circuit.states().count()
            && self.shares.iter().zip(circuit.states()).all(|(s, i)| s.iter().all(|x| fits(x, i)));
        if all { Ok(()) } else { Err(StateError::Damaged) }
    }

    /// What parties compare in the open: rounds and run.
    pub(crate) fn history(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.rounds.to_le_bytes());
        hash.update(self.run);
        hash.finalize().into()
    }

    /// A digest of the first or the second component, for the party that holds it too.
    pub(crate) fn digest(&self, second: bool, run: RunId) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(run.0);
        let mut bytes = zeroize::Zeroizing::new(Vec::new());
        for shares in &self.shares {
            bytes.clear();
            shares[usize::from(second)].to_wire(&mut bytes);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(&bytes);
        }
        hash.finalize().into()
    }

    /// As bytes of a file. They are secret: with those of another party they say what the state is.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.circuit);
        out.push(self.party);
        out.extend_from_slice(&self.rounds.to_le_bytes());
        out.extend_from_slice(&self.run);
        for x in self.shares.iter().flatten() {
            x.to_wire(&mut out);
        }
        let seal: [u8; 32] = Sha256::digest(&out).into();
        out.extend_from_slice(&seal);
        out
    }

    /// Reads what [`Kept::to_bytes`] wrote, for party `me` of a circuit.
    ///
    /// # Errors
    ///
    /// Bytes that are not that, or belong elsewhere.
    pub fn from_bytes(circuit: &Circuit, me: usize, bytes: &[u8]) -> Result<Kept, StateError> {
        let damaged = || StateError::Damaged;
        let (body, seal) = bytes
            .len()
            .checked_sub(32)
            .and_then(|at| bytes.split_at_checked(at))
            .ok_or_else(damaged)?;
        let found: [u8; 32] = Sha256::digest(body).into();
        if found != seal || !body.starts_with(MAGIC) || body.len() < HEAD {
            return Err(StateError::Damaged);
        }
        let part = |at: usize, n: usize| body.get(at..at + n).unwrap_or(&[]);
        let mut kept = Kept {
            circuit: part(8, 32).try_into().map_err(|_| damaged())?,
            party: body.get(40).copied().ok_or_else(damaged)?,
            rounds: u64::from_le_bytes(part(41, 8).try_into().map_err(|_| damaged())?),
            run: part(49, 16).try_into().map_err(|_| damaged())?,
            shares: Vec::new(),
        };
        if kept.circuit != artifact::hash(circuit) {
            return Err(StateError::Circuit);
        }
        let mut rest = body.get(HEAD..).unwrap_or(&[]);
        for (_, input) in circuit.states() {
            let ty = circuit.ty(input.value);
            let n = ty.elements() as usize;
            let mut next = || {
                let (x, tail) = rest.split_at_checked(slvr_circuit::wire_len(ty.dom, n))?;
                rest = tail;
                Data::from_wire(ty.dom, n, x)
            };
            let both = next().zip(next());
            let (first, second) = both.ok_or_else(damaged)?;
            kept.shares.push([first, second]);
        }
        if !rest.is_empty() {
            return Err(StateError::Damaged);
        }
        kept.check_owner(circuit, me)?;
        Ok(kept)
    }
}

impl fmt::Debug for Kept {
    /// Without shares.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept(party {}, after round {})", self.party, self.rounds)
    }
}
