//! No numbers. There is no word for what is none, so a client can only give something else: the lab makes it 0, as it does of
//! training that diverged.

use super::Attack;

pub(super) const ATTACK: Attack = Attack {
    name: "nan",
    about: "no number in any coordinate: encoded as 0",
    source: "",
    updates: Some(|k| k.all(vec![f32::NAN; k.global.len()])),
    ..Attack::NONE
};
