//! What the two families of protocols state of their errors.
//!
//! These tables are what certificates take for granted ([`slvr_graph::analysis::errors`]). Tests of the
//! protocols hold measured errors against them. A change of a protocol that makes an error larger changes
//! the table of its family, and with it every certificate.

use super::{Family, Target};
use slvr_graph::analysis::stated::{Stated, StatedErrors};

/// An error of so many units in the last place, and of a power of two relative to the result.
const fn stated(units: f64, relative: f64) -> Stated {
    Stated { units, relative }
}

/// 2^-n.
const fn part(n: u32) -> f64 {
    1.0 / (1u64 << n) as f64
}

/// The errors of family T1: [`super::t1::truncation`], [`super::t1::exponential`], [`super::t1::elementary`].
pub const SYMMETRIC: StatedErrors = StatedErrors {
    truncation: 1.0,
    exp: stated(1.5, part(30)),
    exp_non_positive: stated(1.5, 0.0),
    recip: stated(1.0, part(20)),
    sqrt: stated(1.5, part(21)),
    log: stated(1.5, 0.0),
    tanh: stated(1.5, 0.0),
    div: stated(2.0, part(19)),
};

/// The errors of family T2: the same as those of family T1. It states the same for what it computes
/// differently (truncation, exponentials of operands that are at most 0, reciprocals and hyperbolic tangents
/// by tables), and takes the other functions from family T1.
pub const DEALER: StatedErrors = SYMMETRIC;

const _: () = assert!(SYMMETRIC.within_most() && DEALER.within_most());

impl Target {
    /// What the protocols state of their errors.
    pub fn stated(self) -> StatedErrors {
        match self.lowered_by() {
            Family::T1 => SYMMETRIC,
            Family::T2(_) => DEALER,
        }
    }
}
