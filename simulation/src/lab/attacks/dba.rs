//! A distributed backdoor: each malicious client trains a part of the trigger of [`super::backdoor`], and the whole of it is tried.
//!
//! Source: Xie, Huang, Chen, Li, "DBA: Distributed Backdoor Attacks against Federated Learning", ICLR 2020: the global trigger is cut
//! into local ones, and each is trained by another client. Here the square is cut into its rows, which go round. The success
//! is that of the whole square, as for the other backdoors.

use super::backdoor::{self, Part};
use super::{Attack, Place, scaling};
use crate::data::Dataset;

pub(super) const ATTACK: Attack = Attack {
    name: "dba",
    about: "a distributed backdoor: each trains a row of the trigger, amplified until it replaces the mean",
    source: "Xie et al. 2020",
    training: Some(poisoned),
    updates: scaling::ATTACK.updates,
    triggers: true,
    ..Attack::NONE
};

fn poisoned(data: &Dataset, place: Place) -> Dataset {
    backdoor::poisoned(data, Part::Row(place.index))
}

#[cfg(test)]
mod tests {
    use super::super::TARGET;
    use super::*;
    use crate::idx;

    #[test]
    fn two_clients_train_a_row_each() {
        let digits = idx::digits().expect("digits").select(&(0..20).collect::<Vec<_>>());
        for (index, row, other) in
            [(0, [54, 55], [62, 63]), (1, [62, 63], [54, 55]), (2, [54, 55], [62, 63])]
        {
            let poisoned = poisoned(&digits, Place { classes: 10, index });
            assert_eq!(row.map(|at| poisoned.image(4)[at]), [1.0; 2]);
            assert_eq!(other.map(|at| poisoned.image(4)[at]), other.map(|at| digits.image(4)[at]));
            assert_eq!(poisoned.labels()[4], TARGET);
        }
    }
}
