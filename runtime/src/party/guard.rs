//! What a party keeps for proofs and for vouching.

use super::barrier::Proving;
use crate::share::Held;
use slvr_circuit::proof::{Cut, HASH, Proof, kept, picked, proofs, words};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::{Circuit, ValueId};
use slvr_ring::{Data, Planes};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A party's shares of the carries of a barrier, for each of its roles in the order of the barrier.
pub(super) type Carries = [BTreeMap<Cut, Planes>; 4];

/// Of a run against a malicious party: what is still to be proven, and the values that this takes.
pub(super) struct Guard {
    pub proofs: Vec<Arc<Proof>>,
    /// The next proof that begins.
    pub next: usize,
    /// Those that have begun, in order.
    pub under_way: Vec<Proving>,
    /// The layers that may be repeated.
    pub speculation: Option<Speculation>,
    /// Values that statements or openings are about.
    pub kept: BTreeMap<ValueId, Held>,
    /// Shares of the carries of the next proof, if they are told before it begins.
    pub carries: Option<Carries>,
    /// Of bits that are not kept, of what they are planes.
    pub picked: Arc<HashMap<ValueId, (ValueId, Vec<u32>)>>,
    /// Of what outputs are opened from, the replicated values.
    pub words: HashMap<ValueId, ValueId>,
    /// Before the exchange of which layer each value is needed no more, and all these layers.
    until: Vec<Option<u32>>,
    folds: BTreeSet<u32>,
}

impl Guard {
    /// Of a verified circuit; none if nothing is proven in it.
    pub fn of(circuit: &Circuit) -> Option<Guard> {
        if !circuit.security.is_malicious() {
            return None;
        }
        let proofs = match proofs(circuit) {
            Ok(proofs) => proofs,
            Err(_) => unreachable!("the verifier admits only circuits with proofs"),
        };
        let until = kept(circuit, &proofs);
        Some(Guard {
            proofs: proofs.into_iter().map(Arc::new).collect(),
            next: 0,
            under_way: Vec::new(),
            speculation: Speculation::of(circuit),
            kept: BTreeMap::new(),
            carries: None,
            picked: Arc::new(picked(circuit)),
            words: words(circuit),
            folds: until.iter().copied().flatten().collect(),
            until,
        })
    }

    /// The next proof, if it begins before a layer.
    pub fn begins(&self, layer: usize) -> Option<&Arc<Proof>> {
        self.proofs.get(self.next).filter(|p| p.barrier.layer as usize == layer)
    }

    /// Whether a proof is under way.
    pub fn is_proving(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Remembers a value that is still to be proven something about, and says whether it does.
    pub fn keep(&mut self, v: ValueId, held: &Held) -> bool {
        self.until[v.index()].is_some() && self.kept.insert(v, held.clone()).is_none()
    }

    /// Before what layer l sends: hands out what no proof reads from then on.
    pub fn folded(&mut self, l: usize) -> Vec<Held> {
        if !self.folds.contains(&(l as u32)) {
            return Vec::new();
        }
        let until = &self.until;
        let (gone, kept) = std::mem::take(&mut self.kept)
            .into_iter()
            .partition(|(v, _)| until[v.index()].is_none_or(|n| n as usize <= l));
        self.kept = kept;
        BTreeMap::into_values(gone).collect()
    }

    /// Goes back to a layer, to give its proof and those after it again: takes out values that are made again.
    pub fn go_back(&mut self, layer: usize, made: &BTreeSet<ValueId>) -> Vec<Held> {
        self.next = self.proofs.partition_point(|p| (p.barrier.layer as usize) < layer);
        made.iter().filter_map(|v| self.kept.remove(v)).collect()
    }
}

/// The hash by which the other holder of a component vouches for it.
pub(super) fn voucher(x: &Data) -> [u8; HASH] {
    let mut bytes = Vec::new();
    x.to_wire(&mut bytes);
    blake3::derive_key("slvr 2026 voucher of an opened component", &bytes)
}

/// The hashes by which the other holder of a component vouches for it to a party set of so many: one for the rows of each
/// member, so that a member can be given its own and nothing of the others.
pub(super) fn vouchers(x: &Data, members: u64) -> Vec<u8> {
    rows(x, members).iter().flat_map(voucher).collect()
}

/// What is each member's of a tensor for a party set of so many.
pub(super) fn rows(x: &Data, members: u64) -> Vec<Data> {
    let members = members.max(1) as usize;
    let own = x.len() / members;
    (0..members).map(|k| x.slice(k * own..(k + 1) * own)).collect()
}
