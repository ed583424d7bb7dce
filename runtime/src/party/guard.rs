//! What a party keeps for proofs and for vouching.

use crate::share::Held;
use slvr_circuit::proof::{Barrier, Cut, HASH, Lengths, barriers, kept, picked, words};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::{Circuit, ValueId};
use slvr_ring::{Data, Planes};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A party's shares of the carries of a barrier, for each of its roles in the order of the barrier.
pub(super) type Carries = [BTreeMap<Cut, Planes>; 4];

/// Of a run against a malicious party: what is still to be proven, and the values that this takes.
pub(super) struct Guard {
    pub barriers: Vec<Arc<(Barrier, Lengths)>>,
    /// The next barrier.
    pub next: usize,
    /// The layers that may be repeated. What is proven before the last of them is kept until it is known whether they are.
    pub speculation: Option<Speculation>,
    /// Values that statements or openings are about.
    pub kept: BTreeMap<ValueId, Held>,
    /// Shares of the carries of the next barrier, if they are told.
    pub carries: Option<Carries>,
    /// Of bits that are not kept, of what they are planes.
    pub picked: Arc<HashMap<ValueId, (ValueId, Vec<u32>)>>,
    /// Of what outputs are opened from, the replicated values.
    pub words: HashMap<ValueId, ValueId>,
    /// After which barrier a value is needed no more.
    last: BTreeMap<ValueId, usize>,
}

impl Guard {
    /// Of a verified circuit; none if nothing is proven in it.
    pub fn of(circuit: &Circuit) -> Option<Guard> {
        if !circuit.security.is_malicious() {
            return None;
        }
        let barriers = match barriers(circuit) {
            Ok(barriers) => barriers,
            Err(_) => unreachable!("the verifier admits only circuits with proofs"),
        };
        let last = kept(circuit, &barriers);
        let shaped = barriers.into_iter().map(|b| {
            let lengths = Lengths::of(circuit, &b);
            Arc::new((b, lengths))
        });
        let barriers = shaped.collect();
        Some(Guard {
            barriers,
            next: 0,
            speculation: Speculation::of(circuit),
            kept: BTreeMap::new(),
            carries: None,
            picked: Arc::new(picked(circuit)),
            words: words(circuit),
            last,
        })
    }

    /// Remembers a value that is still to be proven something about, and says whether it does.
    pub fn keep(&mut self, v: ValueId, held: &Held) -> bool {
        self.last.contains_key(&v) && self.kept.insert(v, held.clone()).is_none()
    }

    /// Takes out values that are made again.
    pub fn forget(&mut self, made: &BTreeSet<ValueId>) -> Vec<Held> {
        made.iter().filter_map(|v| self.kept.remove(v)).collect()
    }

    /// After the barrier before layer l, if that is the next one: hands out what no later one needs.
    pub fn passed(&mut self, l: usize) -> Vec<Held> {
        let done = self.next;
        if self.barriers.get(done).is_none_or(|next| next.0.layer as usize != l) {
            return Vec::new();
        }
        self.next += 1;
        let last = &self.last;
        let (gone, kept) = std::mem::take(&mut self.kept)
            .into_iter()
            .partition(|(v, _)| last.get(v).is_none_or(|&n| n <= done));
        self.kept = kept;
        BTreeMap::into_values(gone).collect()
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
