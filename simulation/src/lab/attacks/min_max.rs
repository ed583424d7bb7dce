//! Min-max: the largest distance of u' from an honest update is at most the largest distance of two honest updates.
//!
//! Source: Shejwalkar, Houmansadr, NDSS 2021, equation 7, with what [`super::spread`] says.

use super::super::knowledge::Knowledge;
use super::Attack;
use super::spread::farthest;

pub(super) const ATTACK: Attack = Attack {
    name: "min-max",
    about: "as far from the mean as two honest updates are from each other",
    source: "Shejwalkar and Houmansadr 2021",
    updates: Some(updates),
    ..Attack::NONE
};

pub(super) fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    farthest(k, |distances| distances.fold(0.0, f64::max))
}
