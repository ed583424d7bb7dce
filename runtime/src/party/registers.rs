//! What a party holds, by value, and how much memory it takes.

use crate::share::Rep;
use slvr_circuit::ValueId;
use slvr_ring::Data;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a party holds of a value.
#[derive(Clone)]
pub enum Held {
    /// One tensor: a public value, this party's word of an `Add3` value, or its stored shards of an
    /// `Own`, `Dup` or `Add2` value (see [`crate::protocol`]).
    One(Arc<Data>),
    /// Two components.
    Rep(Rep),
}

impl Held {
    /// One tensor.
    pub fn one(x: Data) -> Self {
        Held::One(Arc::new(x))
    }

    /// The components: one or two.
    pub fn parts(&self) -> impl Iterator<Item = &Arc<Data>> {
        let (a, b) = match self {
            Held::One(x) => (x, None),
            Held::Rep(x) => (&x.first, Some(&x.second)),
        };
        std::iter::once(a).chain(b)
    }
}

impl fmt::Debug for Held {
    /// Number of components and elements only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Held::One(x) => write!(f, "One<{} elements>", x.len()),
            Held::Rep(x) => x.fmt(f),
        }
    }
}

/// The register file. Tensors that several values share (a reshape, an unchanged component) count
/// once.
pub(super) struct Registers {
    slots: Vec<Option<Held>>,
    /// How many slots point to a tensor, by its address.
    owners: BTreeMap<usize, usize>,
    live: u64,
    peak: u64,
}

impl Registers {
    pub fn new(values: usize) -> Self {
        Registers { slots: vec![None; values], owners: BTreeMap::new(), live: 0, peak: 0 }
    }

    pub fn get(&self, v: ValueId) -> &Held {
        match &self.slots[v.index()] {
            Some(held) => held,
            None => unreachable!("the verifier admits only values that are defined and alive"),
        }
    }

    /// Of a value that is not replicated.
    pub fn one(&self, v: ValueId) -> &Arc<Data> {
        match self.get(v) {
            Held::One(x) => x,
            Held::Rep(_) => unreachable!("the verifier checks holders"),
        }
    }

    /// Of a replicated value.
    pub fn rep(&self, v: ValueId) -> &Rep {
        match self.get(v) {
            Held::Rep(x) => x,
            Held::One(_) => unreachable!("the verifier checks holders"),
        }
    }

    pub fn set(&mut self, v: ValueId, held: Held) {
        for part in held.parts() {
            let owners = self.owners.entry(address(part)).or_default();
            *owners += 1;
            if *owners == 1 {
                self.live += part.bytes() as u64;
            }
        }
        self.peak = self.peak.max(self.live);
        self.slots[v.index()] = Some(held);
    }

    pub fn drop(&mut self, v: ValueId) {
        let Some(held) = self.slots[v.index()].take() else { return };
        for part in held.parts() {
            let Some(owners) = self.owners.get_mut(&address(part)) else { continue };
            *owners -= 1;
            if *owners == 0 {
                self.owners.remove(&address(part));
                self.live -= part.bytes() as u64;
            }
        }
    }

    pub fn peak(&self) -> u64 {
        self.peak
    }
}

fn address(x: &Arc<Data>) -> usize {
    Arc::as_ptr(x) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_circuit::Dom;

    #[test]
    fn shared_tensors_count_once() {
        let mut r = Registers::new(3);
        let x = Arc::new(Data::zeros(Dom::Ring(64), 10));
        let y = Arc::new(Data::zeros(Dom::Ring(64), 1));
        r.set(ValueId(0), Held::Rep(Rep { first: x.clone(), second: y.clone() }));
        r.set(ValueId(1), Held::One(x.clone()));
        assert_eq!((r.live, r.peak()), (88, 88));
        r.drop(ValueId(0));
        assert_eq!((r.live, r.peak()), (80, 88));
        r.drop(ValueId(1));
        r.drop(ValueId(1));
        assert_eq!((r.live, r.peak()), (0, 88));
        r.set(ValueId(2), Held::Rep(Rep { first: y.clone(), second: y }));
        assert_eq!(r.live, 8);
        r.drop(ValueId(2));
        assert_eq!(r.live, 0);
    }
}
