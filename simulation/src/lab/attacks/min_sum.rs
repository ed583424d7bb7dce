//! Min-sum: the sum of squared distances of u' from the honest updates is at most that of some honest update.
//!
//! Source: Shejwalkar, Houmansadr, NDSS 2021, equation 8, with what [`super::spread`] says.

use super::Attack;
use super::spread::farthest;

pub(super) const ATTACK: Attack = Attack {
    name: "min-sum",
    about: "the same with sums of squared distances",
    source: "Shejwalkar and Houmansadr 2021",
    updates: Some(|k| farthest(k, |distances| distances.sum())),
    ..Attack::NONE
};
