//! The functions of family T1, one entry for each.

use super::elementary::{self, Operand};
use super::exponential;
use crate::lower::Emit;
use slvr_circuit::ValueId;
use slvr_graph::graph::Function;

/// Ring of operands and results, in bits.
pub const RING: u32 = 64;

/// Rounds, and bits of an element, of a reciprocal ([`elementary::recip`]) of 1/16 to 16.
pub const RECIP_COST: (f64, f64) = (27.0, 4346.0);

/// Rounds, and bits of an element, of a hyperbolic tangent ([`exponential::tanh`]).
pub const TANH_COST: (f64, f64) = (21.0, 5415.0);

/// A function of one number, in [`RING`].
pub fn emit(e: &mut Emit, function: Function, x: Operand) -> ValueId {
    match function {
        Function::Exp => exponential::any(e, x.value, x.frac),
        Function::ExpNonPositive => exponential::non_positive(e, x.value, x.frac),
        Function::Recip => elementary::recip(e, x),
        Function::Sqrt => elementary::sqrt(e, x),
        Function::RecipSqrt => elementary::recip_sqrt(e, x),
        Function::Log => elementary::log(e, x),
        Function::Tanh => exponential::tanh(e, x.value, x.frac, x.bits),
    }
}
