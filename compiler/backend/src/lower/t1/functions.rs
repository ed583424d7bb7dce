//! The functions of family T1, one entry for each.

use super::elementary::{self, Operand};
use super::exponential;
use crate::lower::Emit;
use crate::lower::task::Function;
use slvr_circuit::ValueId;
use slvr_graph::graph::Function as Elementary;

/// Ring of operands and results, in bits.
pub const RING: u32 = 64;

/// Rounds, and bits of an element, of a reciprocal ([`elementary::recip`]) of 1/16 to 16.
pub const RECIP_COST: (f64, f64) = (27.0, 4346.0);

/// Rounds, and bits of an element, of a hyperbolic tangent ([`exponential::tanh`]).
pub const TANH_COST: (f64, f64) = (21.0, 5415.0);

/// A function of its operands, in [`RING`].
pub fn emit(e: &mut Emit, function: Function, operands: &[Operand]) -> ValueId {
    let x = operands[0];
    match function {
        Function::Elementary(Elementary::Exp) => exponential::any(e, x.value, x.frac),
        Function::Elementary(Elementary::ExpNonPositive) => {
            exponential::non_positive(e, x.value, x.frac)
        }
        Function::Elementary(Elementary::Recip) => elementary::recip(e, x),
        Function::Elementary(Elementary::Sqrt) => elementary::sqrt(e, x),
        Function::Elementary(Elementary::Log) => elementary::log(e, x),
        Function::Elementary(Elementary::Tanh) => exponential::tanh(e, x.value, x.frac, x.bits),
        Function::Div => elementary::divide(e, x, operands[1]),
    }
}
