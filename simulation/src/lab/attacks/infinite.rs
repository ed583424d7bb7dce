//! Infinity in every coordinate. What a client encodes is a word of its ring, so the largest that reaches a check is the end of
//! the declared range, and that is what the lab gives it.

use super::Attack;

pub(super) const ATTACK: Attack = Attack {
    name: "inf",
    about: "infinity in every coordinate: the end of the declared range",
    source: "Blanchard et al. 2017",
    updates: Some(|k| k.all(vec![f32::INFINITY; k.global.len()])),
    ..Attack::NONE
};
