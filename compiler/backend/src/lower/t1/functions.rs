//! The functions of family T1, one entry for each.

use super::elementary::Replicated;
use super::exponential;
use crate::lower::Emit;
use crate::lower::common::elementary::{self, K, Operand};
use slvr_circuit::ValueId;
use slvr_graph::graph::Function;

/// A function of one number, in words of [`K`] bits.
pub fn emit(e: &mut Emit, function: Function, x: Operand<ValueId>) -> ValueId {
    match function {
        Function::Exp => exponential::any(e, x.value, x.frac),
        Function::ExpNonPositive => exponential::non_positive(e, x.value, x.frac),
        Function::Tanh => exponential::tanh(e, x.value, x.frac, x.bits),
        Function::Recip | Function::Sqrt | Function::RecipSqrt | Function::Log => {
            elementary::function(&mut Replicated(e), function, &x, K)
                .unwrap_or_else(|| unreachable!("by normalisation"))
        }
    }
}
