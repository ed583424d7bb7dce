//! The backdoor of [`super::backdoor`], amplified until it replaces the mean.
//!
//! Source: model replacement of Bagdasaryan, Veit, Hua, Estrin, Shmatikov, "How To Backdoor Federated Learning", AISTATS 2020,
//! equation 3.

use super::{Attack, backdoor, scaling};

pub(super) const ATTACK: Attack = Attack {
    name: "backdoor-amplified",
    about: "the same, amplified until it replaces the mean",
    source: "Bagdasaryan et al. 2020",
    training: backdoor::ATTACK.training,
    updates: scaling::ATTACK.updates,
    triggers: true,
    ..Attack::NONE
};
