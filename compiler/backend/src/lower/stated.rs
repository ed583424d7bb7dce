//! What the protocols state of their errors.
//!
//! This table is what certificates take for granted ([`slvr_graph::analysis::errors`]). Tests of the
//! protocols hold measured errors against them. A change of a protocol that makes an error larger changes
//! the table, and with it every certificate.

use slvr_graph::analysis::stated::{Function, Stated, StatedErrors, by_function};

/// An error of so many units in the last place, and of a power of two relative to the result.
const fn stated(units: f64, relative: f64) -> Stated {
    Stated { units, relative }
}

/// 2^-n.
const fn part(n: u32) -> f64 {
    1.0 / (1u64 << n) as f64
}

/// The errors of both families. Those of T1 are of [`super::t1::truncation`], [`super::t1::exponential`] and
/// [`super::common::elementary`]. What family T2 computes differently (truncation, exponentials of operands that are at
/// most 0, functions by tables) is no further off.
pub const STATED: StatedErrors = StatedErrors {
    truncation: 1.0,
    div: stated(2.0, part(19)),
    functions: by_function([
        (Function::Exp, stated(1.5, part(30))),
        (Function::ExpNonPositive, stated(1.5, 0.0)),
        (Function::Recip, stated(1.0, part(20))),
        (Function::Sqrt, stated(1.5, part(21))),
        (Function::RecipSqrt, stated(1.5, part(20))),
        (Function::Log, stated(1.5, 0.0)),
        (Function::Tanh, stated(1.5, 0.0)),
    ]),
};

const _: () = assert!(STATED.within_most());
