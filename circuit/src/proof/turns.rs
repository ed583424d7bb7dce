//! When the messages of proofs travel.
//!
//! A proof takes so many rounds ([`Lengths::rounds`]), in each of which every party tells something and then hears
//! something. The parties wait for a proof that covers an opening. Any other one may go on *beside* the layers after it:
//! it takes one round of each that has an exchange, sent behind what the layer sends. So it takes no rounds of the run,
//! and what a party computes for it is computed while messages of the layer are under way. Before the next proof that is
//! waited for has ended, each of these has, too: their last rounds are beside its own. So at an opening all that was
//! sent before is proven, as without them.

use super::barriers::{Barrier, barriers};
use super::lengths::Lengths;
use super::unproven::Unproven;
use crate::Circuit;
use crate::speculation::Speculation;

/// A proof of a circuit, and when it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    pub barrier: Barrier,
    pub lengths: Lengths,
    /// Rounds that the run waits before its layer: until it has ended, with all that go on beside layers before it; none
    /// of one that goes on beside layers itself. Then the same where the layer is repeated.
    pub waits: [usize; 2],
    /// The layer before whose exchange it has ended: its own if it is waited for.
    pub ends: u32,
    /// The layer before whose exchange the values that it is about are read for it the last time. After it nothing is
    /// left of them but folded vectors. Not before that of any proof before it.
    pub folded: u32,
}

/// The proofs of a well-formed circuit, in order.
///
/// # Errors
///
/// What [`barriers`] says.
pub fn proofs(circuit: &Circuit) -> Result<Vec<Proof>, Unproven> {
    // Rounds that a proof may have taken before each layer, and after the last one.
    let mut turns = vec![0usize];
    for layer in &circuit.layers {
        turns.push(turns[turns.len() - 1] + usize::from(!layer.exchange.is_empty()));
    }
    let turn = |l: u32| turns.get(l as usize).copied().unwrap_or(0);
    // The first layer before which so many rounds have been taken from a layer on.
    let after =
        |l: u32, rounds: usize| l.max(turns.partition_point(|n| *n < turn(l) + rounds) as u32);

    let mut all: Vec<Proof> = Vec::new();
    for barrier in barriers(circuit)? {
        let lengths = Lengths::of(circuit, &barrier);
        let at = barrier.layer;
        let (waits, ends, folded) = match barrier.waits {
            true => ([lengths.rounds(); 2], at, at),
            false => ([0; 2], after(at, lengths.rounds()), after(at, lengths.rounds_of_values())),
        };
        all.push(Proof { barrier, lengths, waits, ends, folded });
    }
    let part = Speculation::of(circuit);
    let repeats = |l: u32| part.as_ref().is_some_and(|part| part.covers(l as usize));
    // The next layer before which a proof is waited for, and its number.
    let mut next: Option<(u32, usize)> = None;
    for n in (0..all.len()).rev() {
        let (at, waits) = (all[n].barrier.layer, all[n].barrier.waits);
        match next {
            _ if waits => next = Some((at, n)),
            Some((wait, by)) => {
                let left = all[n].lengths.rounds().saturating_sub(turn(wait) - turn(at));
                // What has begun before the layers that are repeated has ended the first time.
                let again = if repeats(at) || !repeats(wait) { left } else { 0 };
                for (waits, left) in all[by].waits.iter_mut().zip([left, again]) {
                    *waits = left.max(*waits);
                }
                all[n].ends = all[n].ends.min(wait);
                all[n].folded = all[n].folded.min(wait);
            }
            None => unreachable!("the last one is waited for"),
        }
    }
    let mut last = 0;
    for proof in &mut all {
        last = last.max(proof.folded);
        proof.folded = last;
    }
    Ok(all)
}

/// What all proofs have that are under way, added up, in each layer: while the parties wait before it, and in it.
pub fn under_way<'p>(
    circuit: &Circuit,
    proofs: impl IntoIterator<Item = &'p Proof>,
    of: impl Fn(&Proof) -> u64,
) -> Vec<[u64; 2]> {
    let mut all = vec![[0u64; 2]; circuit.layers.len()];
    for proof in proofs {
        let (begins, ends) = (proof.barrier.layer as usize, proof.ends as usize);
        for (l, [before, within]) in all.iter_mut().enumerate().take(ends + 1).skip(begins) {
            *before = before.saturating_add(of(proof));
            *within = within.saturating_add(if l < ends { of(proof) } else { 0 });
        }
    }
    all
}

/// Bytes of the vectors that a party holds of all proofs, in each layer: while the parties wait before it, and in it.
pub fn vectors<'p>(
    circuit: &Circuit,
    proofs: impl IntoIterator<Item = &'p Proof>,
) -> Vec<[u64; 2]> {
    under_way(circuit, proofs, |proof| proof.lengths.working())
}

/// Bytes that so many parties in one process take at most for their proofs, beside their values: the vectors of the
/// proofs of each, and what each thread holds. Nothing where nothing is opened.
///
/// # Errors
///
/// What [`barriers`] says.
pub fn memory(circuit: &Circuit, parties: usize, threads: usize) -> Result<u64, Unproven> {
    let proofs = proofs(circuit)?;
    let vectors = vectors(circuit, &proofs).into_iter().flatten().max().unwrap_or(0);
    let of_thread = proofs.iter().map(|p| p.lengths.of_thread()).max().unwrap_or(0);
    let threads = of_thread.saturating_mul(threads as u64);
    Ok(vectors.saturating_mul(parties as u64).saturating_add(threads))
}
