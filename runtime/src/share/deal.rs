//! How a client shares its inputs among the three parties.
//!
//! x = x0 + x1 + x2 where x0 and x1 are the streams of two fresh 16-byte seeds and x2 = x - x0 - x1
//! is explicit:
//!
//! | party | holds | receives |
//! |---|---|---|
//! | P0 | (x0, x1) | seed0, seed1 |
//! | P1 | (x1, x2) | seed1 and x2 |
//! | P2 | (x2, x0) | x2 and seed0 |
//!
//! The client sends seed0 and seed1 to P0 and x2 to P1, which relay seed1, seed0 and x2 to whom they
//! belong: 32 bytes and k bits per element leave the client. Any seeds and any x2 are a consistent
//! sharing of *some* x, so with semi-honest parties a client cannot deal inconsistent shares. Where a
//! client uploads to each party apart, the parties compare before the first layer
//! ([`crate::party::Replaced`]).
//!
//! One pair of seeds serves all inputs of a client in a run; input number j of the circuit draws
//! from stream j.

use super::{Prg, Purpose, RunId, Seed, Stream, next};
use slvr_circuit::upload::explicit_bytes;
pub use slvr_circuit::upload::{Layout, layout, upload_bytes};
use slvr_circuit::{Dom, wire_len};
use slvr_ring::Data;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// What the parties receive of a client does not fit the circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DealError {
    /// The explicit part has another length.
    #[error("the explicit share has {found} bytes, the circuit's inputs take {expected}")]
    Length {
        /// Bytes that the circuit's inputs take.
        expected: usize,
        /// Bytes that came.
        found: usize,
    },
    /// The explicit part is not the packing of elements (bits beyond the last element are set).
    #[error("the explicit share is not a packing of elements")]
    Malformed,
    /// Two explicit parts, or none where the party's index wants one.
    #[error("party {0} expects seeds where it got an explicit share, or the reverse")]
    Parts(usize),
}

/// All inputs of one client, shared.
#[derive(Clone)]
pub struct Dealt {
    /// Expands to x0.
    pub seed0: Seed,
    /// Expands to x1.
    pub seed1: Seed,
    /// x2 of every input, packed one after another.
    pub explicit: Arc<Vec<u8>>,
}

impl fmt::Debug for Dealt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dealt<{} bytes>", self.explicit.len())
    }
}

/// One component as it travels.
#[derive(Clone)]
pub enum Part {
    /// Expands to the component.
    Seed(Seed),
    /// The component of every input, packed one after another.
    Explicit(Arc<Vec<u8>>),
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Seed(_) => f.write_str("Seed(hidden)"),
            Part::Explicit(bytes) => write!(f, "Explicit<{} bytes>", bytes.len()),
        }
    }
}

/// What P_i gets of a client: its two components.
#[derive(Clone, Debug)]
pub struct Upload {
    /// x_i.
    pub first: Part,
    /// x_{i+1}.
    pub second: Part,
}

impl Dealt {
    /// Shares encoded inputs, given as (index of the input in the circuit, elements). The seeds
    /// must be fresh.
    pub fn new(seed0: Seed, seed1: Seed, run: RunId, inputs: Vec<(u64, Data)>) -> Self {
        let (g0, g1) = (Prg::new(&seed0, run), Prg::new(&seed1, run));
        let bytes = inputs.iter().map(|(_, x)| wire_len(x.dom(), x.len())).sum();
        let mut explicit = Vec::with_capacity(bytes);
        for (index, mut x) in inputs {
            let s = Stream::new(index, Purpose::Deal);
            g0.subtract(s, &mut x);
            g1.subtract(s, &mut x);
            x.to_wire(&mut explicit);
        }
        Dealt { seed0, seed1, explicit: Arc::new(explicit) }
    }

    /// What each party gets in the end, whoever relays it.
    pub fn uploads(&self) -> [Upload; 3] {
        let part = |i: usize| match i {
            0 => Part::Seed(self.seed0.clone()),
            1 => Part::Seed(self.seed1.clone()),
            _ => Part::Explicit(self.explicit.clone()),
        };
        [0, 1, 2].map(|i| Upload { first: part(i), second: part(next(i)) })
    }

    /// Bytes that leave the client.
    pub fn upload_bytes(&self) -> u64 {
        32 + self.explicit.len() as u64
    }
}

/// Shares a member's encoded inputs among three parties of this process, as [`Dealt`] and [`Upload::expand`] do among
/// others: x_i goes to the member's place in the first components of P_i, by index of the input.
pub(crate) fn deal_to(
    [p0, p1, p2]: [&mut BTreeMap<u64, Data>; 3],
    member: usize,
    seeds: &[Seed; 2],
    run: RunId,
    inputs: Vec<(u64, Data)>,
) {
    let [g0, g1] = seeds.each_ref().map(|seed| Prg::new(seed, run));
    for (index, mut x) in inputs {
        let components = (p0.get_mut(&index), p1.get_mut(&index), p2.get_mut(&index));
        let (Some(x0), Some(x1), Some(x2)) = components else { continue };
        let (n, s) = (x.len(), Stream::new(index, Purpose::Deal));
        let at = member * n;
        for (g, of) in [(&g0, x0), (&g1, x1)] {
            g.draw_to(s, n, of, at);
            x.sub_part(of, at..at + n);
        }
        x2.put(at, &x);
    }
}

/// A party's first and its second component of inputs with all members' elements, each by index of the input.
pub type Components = [BTreeMap<u64, Data>; 2];

impl Upload {
    /// Expands what party `me` got of a member to its place in `into`. Inputs of `layout` that have no tensor there are only
    /// held to their form.
    ///
    /// # Errors
    ///
    /// Parts that do not fit; then the member's place may hold anything.
    pub fn expand(
        &self,
        me: usize,
        run: RunId,
        layout: &Layout,
        member: usize,
        into: &mut Components,
    ) -> Result<(), DealError> {
        let explicit = |i: usize| i == 2;
        for (part, i) in [(&self.first, me), (&self.second, next(me))] {
            if matches!(part, Part::Explicit(_)) != explicit(i) {
                return Err(DealError::Parts(me));
            }
        }
        let [first, second] = into;
        component(&self.first, run, layout, member, first)?;
        component(&self.second, run, layout, member, second)
    }
}

fn component(
    part: &Part,
    run: RunId,
    layout: &Layout,
    member: usize,
    into: &mut BTreeMap<u64, Data>,
) -> Result<(), DealError> {
    let bytes = match part {
        Part::Seed(seed) => {
            let g = Prg::new(seed, run);
            for &(index, _, n) in layout {
                if let Some(into) = into.get_mut(&index) {
                    g.draw_to(Stream::new(index, Purpose::Deal), n, into, member * n);
                }
            }
            return Ok(());
        }
        Part::Explicit(bytes) => bytes,
    };
    let (expected, found) = (explicit_bytes(layout), bytes.len());
    if expected != found {
        return Err(DealError::Length { expected, found });
    }
    let mut rest = bytes.as_slice();
    for &(index, dom, n) in layout {
        let len = wire_len(dom, n);
        let (head, tail) = rest.split_at_checked(len).ok_or(DealError::Malformed)?;
        let packed = match (into.get_mut(&index), dom) {
            (Some(into), _) => into.put_wire(member * n, n, head),
            // Any bytes are words.
            (None, Dom::Ring(_)) => Some(()),
            (None, Dom::Bits(_)) => Data::from_wire(dom, n, head).map(drop),
        };
        packed.ok_or(DealError::Malformed)?;
        rest = tail;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::{Rep, reconstruct};
    use slvr_circuit::Dom;

    const RUN: RunId = RunId([1; 16]);

    fn dealt() -> (Vec<Data>, Layout, Dealt) {
        let xs = vec![
            Data::from_u128s(Dom::Ring(64), &[1, 2, u64::MAX as u128]),
            Data::from_u128s(Dom::Ring(16), &(0..100).collect::<Vec<_>>()),
            Data::from_u128s(Dom::Bits(3), &[7, 0, 5, 2, 1]),
        ];
        let layout = xs.iter().zip([0, 2, 5]).map(|(x, j)| (j, x.dom(), x.len())).collect();
        let given: Vec<_> = [0, 2, 5].into_iter().zip(xs.clone()).collect();
        let dealt = Dealt::new(Seed::new([3; 16]), Seed::new([4; 16]), RUN, given);
        (xs, layout, dealt)
    }

    /// What a party makes of the upload of one member of two.
    fn expand(
        upload: &Upload,
        me: usize,
        layout: &Layout,
        member: usize,
    ) -> Result<Vec<Rep>, DealError> {
        let zeros = |&(j, dom, n): &(u64, Dom, usize)| (j, Data::zeros(dom, 2 * n));
        let mut all: Components = [(); 2].map(|()| layout.iter().map(zeros).collect());
        upload.expand(me, RUN, layout, member, &mut all)?;
        let part = |&(j, dom, n): &(u64, Dom, usize)| {
            let [a, b] = all.each_ref().map(|of| &of[&j]);
            let other = (1 - member) * n..(2 - member) * n;
            assert!(a.slice(other) == Data::zeros(dom, n), "the other member's place");
            let own = member * n..(member + 1) * n;
            Rep::new(a.slice(own.clone()), b.slice(own))
        };
        Ok(layout.iter().map(part).collect())
    }

    #[test]
    fn parties_expand_to_consistent_shares() {
        let (xs, layout, dealt) = dealt();
        assert_eq!(dealt.upload_bytes(), 32 + 3 * 8 + 100 * 2 + 2);
        assert_eq!(upload_bytes(&layout), dealt.upload_bytes());
        let uploads = dealt.uploads();
        for member in [0, 1] {
            let shares = [0, 1, 2].map(|i| expand(&uploads[i], i, &layout, member).unwrap());
            for (j, x) in xs.iter().enumerate() {
                let got = reconstruct([&shares[0][j], &shares[1][j], &shares[2][j]]).unwrap();
                assert_eq!(got, *x);
            }
        }
    }

    /// Whoever deals draws a stream chunk by chunk.
    #[test]
    fn what_is_longer_than_a_chunk_is_one_stream() {
        let mut x = Data::zeros(Dom::Ring(16), (1 << 17) + 67);
        x.offset(7);
        let layout = vec![(0, x.dom(), x.len())];
        let given = vec![(0, x.clone())];
        let dealt = Dealt::new(Seed::new([3; 16]), Seed::new([4; 16]), RUN, given);
        let uploads = dealt.uploads();
        let [a, b, c] = [0, 1, 2].map(|i| expand(&uploads[i], i, &layout, 0).unwrap().remove(0));
        assert_eq!(reconstruct([&a, &b, &c]).unwrap(), x);
    }

    #[test]
    fn parties_of_one_process_get_the_components_of_others() {
        let (xs, layout, dealt) = dealt();
        let zeros = |&(j, dom, n): &(u64, Dom, usize)| (j, Data::zeros(dom, 2 * n));
        let mut firsts = [(); 3].map(|()| layout.iter().map(zeros).collect::<BTreeMap<_, _>>());
        let given: Vec<_> = [0, 2, 5].into_iter().zip(xs).collect();
        let seeds = [dealt.seed0.clone(), dealt.seed1.clone()];
        deal_to(firsts.each_mut(), 1, &seeds, RUN, given);
        for (i, upload) in dealt.uploads().iter().enumerate() {
            let expanded = expand(upload, i, &layout, 1).unwrap();
            for (&(j, dom, n), want) in layout.iter().zip(expanded) {
                assert!(firsts[i][&j].slice(n..2 * n) == *want.first);
                assert!(firsts[i][&j].slice(0..n) == Data::zeros(dom, n), "the other member's");
            }
        }
    }

    #[test]
    fn wrong_lengths_and_parts_are_refused() {
        let (_, layout, mut dealt) = dealt();
        let parts = expand(&dealt.uploads()[0], 1, &layout, 0).unwrap_err();
        assert_eq!(parts, DealError::Parts(1));
        Arc::make_mut(&mut dealt.explicit).push(0);
        let uploads = dealt.uploads();
        assert!(expand(&uploads[0], 0, &layout, 0).is_ok());
        for i in [1, 2] {
            let e = expand(&uploads[i], i, &layout, 1).unwrap_err();
            assert_eq!(e, DealError::Length { expected: 226, found: 227 });
        }
    }

    #[test]
    fn debug_hides_seeds_and_shares() {
        let (_, _, dealt) = dealt();
        let shown = format!("{dealt:?} {:?} {:?}", dealt.uploads(), dealt.seed0);
        assert!(shown.contains("Explicit<226 bytes>"), "{shown}");
        assert!(!shown.contains("3, 3"), "{shown}");
    }
}
