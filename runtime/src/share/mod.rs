//! Replicated secret sharing among three parties: shares, pairwise randomness, inputs.
//!
//! Lives here: [`Rep`] (what a party holds of a shared tensor), [`Held`] (of any value), [`Seed`], [`Prg`] and [`Prss`]
//! (randomness that two parties derive without talking), [`deal`] (how a client shares its inputs),
//! [`encode`] (numbers to ring elements), [`elements`] (numbers as files hold them), [`state`] (what a party keeps for the next round), [`reconstruct`]. May not: the circuit's instructions, links.
//!
//! x = x0 + x1 + x2 over a ring (xor over bits); P_i holds (x_i, x_{i+1}), so any one party sees two
//! uniform words and any two reconstruct (Ito, Saito, Nishizeki 1987; Araki et al., CCS 2016).
//! Indices of parties and components are mod 3: [`next`] and [`prev`].

pub mod deal;
pub mod elements;
pub mod encode;
mod held;
mod prg;
mod prss;
pub mod reveal;
pub mod state;

pub use held::Held;
pub use prg::{Prg, Purpose, RunId, Seed, Stream, Words};
pub use prss::{PairSeeds, Prss};
pub use slvr_circuit::interaction::{next, prev};

use slvr_ring::Data;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// What P_i holds of a replicated tensor: (x_i, x_{i+1}). The components are shared pointers, since
/// many instructions (a reshape, a trivial sharing) only pass one on.
#[derive(Clone)]
pub struct Rep {
    /// x_i.
    pub first: Arc<Data>,
    /// x_{i+1}.
    pub second: Arc<Data>,
}

impl Rep {
    /// From (x_i, x_{i+1}).
    pub fn new(first: Data, second: Data) -> Self {
        Rep { first: Arc::new(first), second: Arc::new(second) }
    }
}

impl fmt::Debug for Rep {
    /// Length only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rep<{} elements>", self.first.len())
    }
}

/// The copies of a component that two parties hold differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("parties {} and {component} hold different copies of component {component}", prev(*.component))]
pub struct Inconsistent {
    pub component: usize,
}

/// The tensor that three replicated shares stand for. Checks that the two copies of every
/// component agree; for tests.
pub fn reconstruct(shares: [&Rep; 3]) -> Result<Data, Inconsistent> {
    for component in 0..3 {
        if *shares[component].first != *shares[prev(component)].second {
            return Err(Inconsistent { component });
        }
    }
    Ok(sum([&shares[0].first, &shares[1].first, &shares[2].first]))
}

/// x0 + x1 + x2 (xor on bits), of equal domain and length.
pub fn sum([x0, x1, x2]: [&Data; 3]) -> Data {
    let mut out = x0.clone();
    out.add_assign(x1);
    out.add_assign(x2);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_circuit::Dom;

    #[test]
    fn reconstruct_checks_the_copies() {
        let part = |x: u128| Arc::new(Data::from_u128s(Dom::Ring(8), &[x]));
        let rep = |a: u128, b: u128| Rep { first: part(a), second: part(b) };
        let good = [rep(1, 200), rep(200, 100), rep(100, 1)];
        let x = reconstruct([&good[0], &good[1], &good[2]]).unwrap();
        assert_eq!(x.to_u128s(), [(1 + 200 + 100) % 256]);
        let bad = rep(201, 100);
        let e = reconstruct([&good[0], &bad, &good[2]]).unwrap_err();
        assert_eq!(e, Inconsistent { component: 1 });
        assert_eq!(e.to_string(), "parties 0 and 1 hold different copies of component 1");
    }

    #[test]
    fn debug_hides_shares() {
        let x = Data::from_u128s(Dom::Ring(64), &[123_456_789]);
        let shown = format!("{:?}", Rep::new(x.clone(), x));
        assert_eq!(shown, "Rep<1 elements>");
    }
}
