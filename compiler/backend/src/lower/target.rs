//! What a circuit is made for. Nothing else in lowering says which adversary there is, or which family of protocols is
//! taken.

use crate::cost::{NetProfile, Tuning};
use slvr_circuit::Security;

/// A family of protocols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    /// Symmetric: values are replicated, and all three parties do the same. Public values, too.
    T1,
    /// Dealer-style, for a network: of each value one party knows one part, and the other two the other part.
    T2(Tuning),
}

impl Family {
    /// What protocols are chosen by: where the family knows no network, a local one.
    pub fn tuning(self) -> Tuning {
        match self {
            Family::T1 => NetProfile::lan().tuning(),
            Family::T2(tuning) => tuning,
        }
    }
}

/// What one of the three parties may do, and the family of protocols that is taken against it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// It follows the protocol.
    SemiHonest(Family),
    /// It does whatever it likes. Every message has a statement that its sender can prove ([`super::malicious`]).
    Malicious(Family),
}

impl Default for Target {
    /// Semi-honest parties in a local network.
    fn default() -> Target {
        Target::SemiHonest(Family::T2(NetProfile::lan().tuning()))
    }
}

impl Target {
    /// Of an adversary and a family.
    pub fn new(security: Security, family: Family) -> Target {
        match security {
            Security::SemiHonest => Target::SemiHonest(family),
            Security::Malicious => Target::Malicious(family),
        }
    }

    pub fn family(self) -> Family {
        let (Target::SemiHonest(family) | Target::Malicious(family)) = self;
        family
    }

    /// The network for which owners know parts of what is exchanged before it is ([`super::malicious`]), if they do.
    pub fn masked(self) -> Option<Tuning> {
        match self {
            Target::Malicious(Family::T2(tuning)) => Some(tuning),
            _ => None,
        }
    }

    /// The family that nodes are lowered by: against a malicious party T2 is made of the macros of T1.
    pub fn lowered_by(self) -> Family {
        match self {
            Target::SemiHonest(family) => family,
            Target::Malicious(_) => Family::T1,
        }
    }
}
