//! What a coordinator signs: the opening of a round, and orders to close or abort it before its time.
//!
//! Whoever opens a round decides of it what no node decides: its circuit, its public inputs, its minimum, its deadline, who
//! may submit, which round it continues, and what clients were given outside of the nodes. So the coordinator signs all
//! that and gives it to each node itself. A node knows no round whose opening no coordinator of its configuration has signed, clients sign the opening's hash with what
//! they submit, and the agreement has it. An order names the opening, so that it is of no use for another round, and how often each
//! node was told that the round is run again, so that it is of no use after that. A node may pass it on.

use crate::hex::{Hash, Hex};
use crate::state::{Mandate, Order, Round, Signature, Spec};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::fmt;
use zeroize::Zeroizing;

impl Spec {
    /// What is signed: everything but the signature, the task with its length.
    pub fn statement(&self) -> Vec<u8> {
        let mut out = b"slvr opening 1\0".to_vec();
        out.extend((self.key.task.len() as u64).to_le_bytes());
        out.extend(self.key.task.as_bytes());
        out.extend(self.key.round.to_le_bytes());
        out.extend(self.circuit.0);
        out.extend(self.public.0);
        out.extend(self.roll.0);
        for number in [self.clients, self.minimum, self.deadline, self.grace] {
            out.extend(number.to_le_bytes());
        }
        // Rounds end below 2^53: there is room for no round.
        out.extend(self.after.map_or(u64::MAX, |round| round).to_le_bytes());
        // All before it has one length, so nothing else ends like it.
        out.extend(self.context.iter().flat_map(|context| context.0));
        out
    }

    /// What clients sign, what nodes agree upon and what everybody compares.
    pub fn digest(&self) -> Hash {
        Hex(*blake3::hash(&self.statement()).as_bytes())
    }

    /// Whether one of these coordinators has signed it.
    pub fn is_signed(&self, coordinators: &[Hex<32>]) -> bool {
        verify(&self.signed, coordinators, &self.statement())
    }

    /// Whether one of these coordinators has ordered that of the round.
    pub fn is_ordered(&self, order: Order, by: &Mandate, coordinators: &[Hex<32>]) -> bool {
        verify(&by.signed, coordinators, &ordered(&self.digest(), order, by.permits))
    }
}

impl Round {
    /// Whether that is ordered of the round as node `me` has it: by one of these coordinators, and not before the round was last
    /// run again.
    pub fn is_ordered(&self, order: Order, by: &Mandate, (me, known): (usize, &[Hex<32>])) -> bool {
        by.permits.get(me) == Some(&self.permits) && self.spec.is_ordered(order, by, known)
    }
}

fn verify(by: &Signature, coordinators: &[Hex<32>], statement: &[u8]) -> bool {
    let key = UnparsedPublicKey::new(&ED25519, by.coordinator.0);
    coordinators.contains(&by.coordinator) && key.verify(statement, &by.signature.0).is_ok()
}

fn ordered(opening: &Hash, order: Order, permits: [u32; 3]) -> Vec<u8> {
    let what: &[u8] = match order {
        Order::Close => b"slvr order 2 close\0",
        Order::Abort => b"slvr order 2 abort\0",
    };
    let permits: Vec<u8> = permits.iter().flat_map(|n| n.to_le_bytes()).collect();
    [what, &opening.0, &permits].concat()
}

/// A coordinator's signing key.
pub struct Seal(Ed25519KeyPair);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({}, secret hidden)", self.public())
    }
}

impl Seal {
    /// Of a coordinator's secret; nothing if the system refuses the key.
    pub fn new(secret: &[u8; 32]) -> Option<Seal> {
        let seed = blake3::derive_key("slvr 1 signing key of a coordinator", secret);
        Ed25519KeyPair::from_seed_unchecked(&*Zeroizing::new(seed)).ok().map(Seal)
    }

    pub fn public(&self) -> Hex<32> {
        let mut key = [0; 32];
        key.copy_from_slice(self.0.public_key().as_ref());
        Hex(key)
    }

    fn sign(&self, statement: &[u8]) -> Signature {
        let mut signature = Hex([0; 64]);
        signature.0.copy_from_slice(self.0.sign(statement).as_ref());
        Signature { coordinator: self.public(), signature }
    }

    pub fn open(&self, mut spec: Spec) -> Spec {
        spec.signed = self.sign(&spec.statement());
        spec
    }

    /// Signs an order for nodes that have been told so often that the round is run again.
    pub fn order(&self, opening: &Hash, order: Order, permits: [u32; 3]) -> Mandate {
        Mandate { signed: self.sign(&ordered(opening, order, permits)), permits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::round;

    /// Whoever has the signature of one opening has none of another, and none of an order.
    #[test]
    fn an_opening_is_signed_as_a_whole_and_orders_are_of_one_opening() {
        let (seal, other) =
            (Seal::new(&[1; 32]).expect("a key"), Seal::new(&[2; 32]).expect("a key"));
        let signed = seal.open(round(1).spec);
        let known = [other.public(), seal.public()];
        assert!(signed.is_signed(&known));
        assert!(!signed.is_signed(&[other.public()]) && !signed.is_signed(&[]));
        let changes: [fn(&mut Spec); 13] = [
            |s| s.key.task = "u".into(),
            |s| s.key.round += 1,
            |s| s.circuit.0[0] ^= 1,
            |s| s.public.0[31] ^= 1,
            |s| s.roll.0[7] ^= 1,
            |s| s.clients += 1,
            |s| s.minimum -= 1,
            |s| s.deadline += 1,
            |s| s.grace += 1,
            |s| s.after = Some(0),
            |s| s.context = Some(Hex([0; 32])),
            |s| s.signed.signature.0[0] ^= 1,
            |s| s.signed.coordinator = Seal::new(&[2; 32]).expect("a key").public(),
        ];
        let close = seal.order(&signed.digest(), Order::Close, [0, 1, 2]);
        assert!(signed.is_ordered(Order::Close, &close, &known));
        assert!(!signed.is_ordered(Order::Abort, &close, &known));
        let as_order = Mandate { signed: signed.signed, permits: [0, 1, 2] };
        assert!(!signed.is_ordered(Order::Close, &as_order, &known));
        // It is of the rounds that the nodes had when it was signed, whatever somebody makes of its numbers.
        for permits in [[0, 1, 3], [1, 1, 2], [0; 3]] {
            let altered = Mandate { permits, ..close };
            assert!(!signed.is_ordered(Order::Close, &altered, &known), "{permits:?}");
        }
        let mut at = Round::new(signed.clone(), 0);
        for (permits, by) in [(0, 0), (1, 1), (2, 2), (3, 3)] {
            at.permits = permits;
            for me in 0..3 {
                assert_eq!(at.is_ordered(Order::Close, &close, (me, &known)), me == by);
            }
        }
        for (i, change) in changes.iter().enumerate() {
            let mut altered = signed.clone();
            change(&mut altered);
            assert!(!altered.is_signed(&known), "change {i}");
            // The last two change the signature and not what is signed.
            assert_eq!(altered.is_ordered(Order::Close, &close, &known), i >= 11, "change {i}");
        }
    }
}
