//! The value of every operation. It is what the compiler's evaluation makes of it
//! ([`operation`](slvr_compiler::graph::eval::operation())), but for what is given, and for the three that training
//! spends its time on: sums, products of matrices and convolutions go through sums in lanes and `matrixmultiply` here.

use super::product;
use super::walk::{View, sum};
use crate::number::Number;
use slvr_compiler::graph::Op;
use slvr_compiler::graph::eval::{Coin, NoValue, Scales, operation};

/// The last axis, and the sizes of the last two.
pub(super) fn last(shape: &[usize]) -> usize {
    shape.last().copied().unwrap_or(1)
}

pub(super) fn plane(shape: &[usize]) -> [usize; 2] {
    [shape[shape.len() - 2], shape[shape.len() - 1]]
}

/// The value of an operation that is no input, of those of its operands, in the shape `to`.
pub(super) fn value<T: Number>(
    op: &Op,
    args: &[View<'_, T>],
    to: &[usize],
    coin: Coin<'_>,
) -> Result<Vec<T>, NoValue> {
    Ok(match op {
        Op::Draw(lots) => coin(lots).into_iter().flatten().map(|j| T::of(j as f64)).collect(),
        // Whoever has noise puts it in as a change ([`super::Given::change`]).
        Op::Noise { .. } => vec![T::ZERO; to.iter().product()],

        Op::Sum(axes) => sum(args[0], axes, T::ZERO),
        Op::MatMul { trans_b } => product::matmul(args[0], args[1], to, *trans_b),
        Op::Conv2d(conv) => {
            let sizes = product::Sizes::new(args[0].1, args[1].1, to, *conv);
            product::conv2d(args[0].0, args[1].0, sizes, to.iter().product())
        }
        _ => return operation(op, args, to, Scales::default()),
    })
}
