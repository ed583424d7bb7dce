//! The instructions of graph operations that have one of their own.

use super::common::words::word;
use slvr_circuit::{Op as C, ValueId};
use slvr_graph::graph::Op;

/// Whether an operation is linear in its first operand, and has no other one or an index.
pub fn is_linear(op: &Op) -> bool {
    op.is_layout() || matches!(op, Op::Neg | Op::Scale(_) | Op::Shift(_) | Op::Sum(_))
}

/// The instruction of a linear operation, a sum or a product, on words of Z_2^k or on bits. `y` is the second
/// operand, if there is one.
pub fn instruction(op: &Op, x: ValueId, y: impl Into<Option<ValueId>>, k: u32) -> C {
    let y = y.into();
    let y = || y.unwrap_or_else(|| unreachable!("`{}` has two operands", op.name()));
    match *op {
        Op::Neg => C::Neg(x),
        Op::Scale(c) => C::Scale(x, word(c, k)),
        Op::Shift(by) => C::Scale(x, word(f64::from(by).exp2(), k)),
        Op::Sum(ref axes) => C::Sum { x, axes: axes.clone() },
        Op::Reshape(ref to) => C::Reshape(x, to.clone()),
        Op::Transpose(ref perm) => C::Transpose(x, perm.clone()),
        Op::Slice { axis, start, len, step } => C::Slice { x, axis, start, len, step },
        Op::Broadcast(ref to) => C::Broadcast(x, to.clone()),
        Op::Gather { axis, batch } => C::Gather { x, index: y(), axis, batch },
        Op::Add | Op::Xor => C::Add(x, y()),
        Op::Sub => C::Sub(x, y()),
        Op::Mul | Op::And => C::Mul(x, y()),
        Op::MatMul { trans_b } => C::MatMul { a: x, b: y(), trans_b },
        Op::Conv2d(conv) => C::Conv2d { x, w: y(), conv },
        _ => unreachable!("`{}` has a protocol", op.name()),
    }
}
