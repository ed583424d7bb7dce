//! Attacks that no mean survives, as the demo shows them: a sign flip that outweighs nine others, and noise that drowns what they
//! learn. Validation labels are flipped, too. And what would be if nobody attacked: the malicious client is left out.

use super::super::vectors::{mean, times};
use super::label_flip::flipped;
use super::{Attack, Insight, Validation};

const LIE: Option<Validation> = Some(|k, _, own| flipped(own, k.net.classes()));

/// u' = -15 u.
pub const SIGN_FLIP: Attack = Attack {
    name: "amplified-sign-flip",
    about: "they flip the sign of the update and amplify it",
    updates: Some(|k| k.own.iter().map(|u| times(u, -15.0)).collect()),
    validation: LIE,
    ..Attack::NONE
};

/// u' = u + N(0, 16) in every coordinate.
pub const NOISE: Attack = Attack {
    name: "amplified-noise",
    about: "they send random noise",
    updates: Some(|k| {
        let mut random = k.random(100);
        let mut noisy = |x: &f32| x + (4.0 * random.normal()) as f32;
        k.own.iter().map(|u| u.iter().map(&mut noisy).collect()).collect()
    }),
    validation: LIE,
    ..Attack::NONE
};

/// The malicious send the mean of the honest: the mean of all is that of the honest then, the ideal that no rule can know.
pub const ABSENT: Attack = Attack {
    name: "absent",
    about: "they are as if they were not there",
    insight: Insight::Updates,
    updates: Some(|k| k.all(mean(k.honest))),
    ..Attack::NONE
};
