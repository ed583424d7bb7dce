//! What there is to do for each operation of a graph: the only match over operations in lowering, and
//! exhaustive.
//!
//! Choosing ([`super::choose`]) and both families ([`super::family`]) ask for the task, so that a new
//! operation is sorted here once. A new elementary function needs no entry here, only one in each family's
//! table of functions.

use super::common::words::word;
use slvr_circuit::{Conv, Op as C, ValueId};
use slvr_graph::graph::{Function as Elementary, Graph, NodeId, Op, Table};
use slvr_language::noise::Noise;
use slvr_language::types::{Elem, Lots, PairTable};

#[derive(Clone, Copy, Debug)]
pub enum Task<'a> {
    /// Input number i, which is dealt before the first node.
    Input(u32),
    /// A public table of an element type, with its scale.
    Constant(&'a Table, Elem, Option<u32>),
    /// Public coins.
    Draw(Lots),
    /// Where a public index has each number below this one.
    Places(u64),
    /// Noise that nobody knows, and its number.
    Noise(Noise, u32),
    /// A table of pairs, by its rule.
    Pairs(PairTable, u64),
    /// One after another along an axis.
    Concat(u64),
    /// A linear operation of the first operand.
    Linear(Linear<'a>),
    /// The same raw words with more fraction bits.
    Rescale,
    /// A sum of two operands.
    Sum(Sum),
    /// A product of two operands.
    Product(Product),
    /// Complement of bits.
    Not,
    /// Division by 2^by, rounded.
    Truncation(u32),
    /// A comparison of two numbers.
    Comparison(Comparison),
    BitsToWords,
    /// v where s >= 0, else 0.
    Gate,
    /// A value cut at -2^top and 2^top.
    Saturation(u32),
    /// One word or the other.
    Selection,
    /// Whether the argmax is the label.
    ArgMaxIs,
    /// A function of one number, or a quotient.
    Function(Function),
}

/// A linear operation.
#[derive(Clone, Copy, Debug)]
pub enum Linear<'a> {
    /// -x.
    Neg,
    /// c x.
    Scale(f64),
    /// Over these axes.
    Sum(&'a [u64]),
    /// To this shape.
    Reshape(&'a [u64]),
    /// By this permutation.
    Transpose(&'a [u64]),
    /// Of an axis.
    Slice {
        axis: u64,
        /// First index.
        start: u64,
        len: u64,
        /// Distance.
        step: u64,
    },
    /// To this shape.
    Broadcast(&'a [u64]),
    /// By the node's second operand, which is public.
    Gather {
        /// Indexed axis.
        axis: u64,
        /// Shared leading axes.
        batch: u64,
    },
}

impl Linear<'_> {
    /// Whether the second operand is an index.
    pub fn has_index(&self) -> bool {
        matches!(self, Linear::Gather { .. })
    }

    /// The instruction, on words of Z_2^k. `index` is read if [`Linear::has_index`].
    pub fn instruction(&self, x: ValueId, index: ValueId, k: u32) -> C {
        match *self {
            Linear::Neg => C::Neg(x),
            Linear::Scale(c) => C::Scale(x, word(c, k)),
            Linear::Sum(axes) => C::Sum { x, axes: axes.to_vec() },
            Linear::Reshape(to) => C::Reshape(x, to.to_vec()),
            Linear::Transpose(perm) => C::Transpose(x, perm.to_vec()),
            Linear::Slice { axis, start, len, step } => C::Slice { x, axis, start, len, step },
            Linear::Broadcast(to) => C::Broadcast(x, to.to_vec()),
            Linear::Gather { axis, batch } => C::Gather { x, index, axis, batch },
        }
    }
}

/// A sum of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a + b, of bits.
    Xor,
}

impl Sum {
    pub fn instruction(self, a: ValueId, b: ValueId) -> C {
        match self {
            Sum::Add | Sum::Xor => C::Add(a, b),
            Sum::Sub => C::Sub(a, b),
        }
    }
}

/// A bilinear operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// Entry by entry; of bits an and.
    Elementwise,
    /// Of matrices.
    MatMul {
        /// Whether the last two axes of the second operand are exchanged.
        trans_b: bool,
    },
    /// Of images and kernels.
    Conv2d(Conv),
}

impl Product {
    pub fn instruction(self, a: ValueId, b: ValueId) -> C {
        match self {
            Product::Elementwise => C::Mul(a, b),
            Product::MatMul { trans_b } => C::MatMul { a, b, trans_b },
            Product::Conv2d(conv) => C::Conv2d { x: a, w: b, conv },
        }
    }
}

/// A test of the difference of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Whether it is negative.
    Less,
    /// Whether it is zero.
    Equal,
}

/// What family T1 computes by approximation: an elementary function, or a quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Of one number.
    Elementary(Elementary),
    /// x / y.
    Div,
}

/// The task of a node.
pub fn task(graph: &Graph, id: NodeId) -> Task<'_> {
    match graph.op(id) {
        Op::Input(i) => Task::Input(*i),
        Op::Const(table, elem, frac) => Task::Constant(table, *elem, *frac),
        Op::Draw(lots) => Task::Draw(*lots),
        Op::Places(n) => Task::Places(*n),
        Op::Noise { noise, number, .. } => Task::Noise(*noise, *number),
        Op::Pairs { table, n } => Task::Pairs(*table, *n),
        Op::Concat(axis) => Task::Concat(*axis),
        Op::Neg => Task::Linear(Linear::Neg),
        Op::Scale(c) => Task::Linear(Linear::Scale(*c)),
        Op::Shift(by) => Task::Linear(Linear::Scale(f64::from(*by).exp2())),
        Op::Sum(axes) => Task::Linear(Linear::Sum(axes)),
        Op::Reshape(to) => Task::Linear(Linear::Reshape(to)),
        Op::Transpose(perm) => Task::Linear(Linear::Transpose(perm)),
        Op::Slice { axis, start, len, step } => {
            let (axis, start, len, step) = (*axis, *start, *len, *step);
            Task::Linear(Linear::Slice { axis, start, len, step })
        }
        Op::Broadcast(to) => Task::Linear(Linear::Broadcast(to)),
        Op::Gather { axis, batch } => Task::Linear(Linear::Gather { axis: *axis, batch: *batch }),
        Op::DivPow2(_) | Op::MulPow2(_) => Task::Rescale,
        Op::Add => Task::Sum(Sum::Add),
        Op::Sub => Task::Sum(Sum::Sub),
        Op::Xor => Task::Sum(Sum::Xor),
        Op::Mul | Op::And => Task::Product(Product::Elementwise),
        Op::MatMul { trans_b } => Task::Product(Product::MatMul { trans_b: *trans_b }),
        Op::Conv2d(conv) => Task::Product(Product::Conv2d(*conv)),
        Op::Not => Task::Not,
        Op::Trunc(by) => Task::Truncation(*by),
        Op::Lt => Task::Comparison(Comparison::Less),
        Op::Eq => Task::Comparison(Comparison::Equal),
        Op::ToInt => Task::BitsToWords,
        Op::Gate => Task::Gate,
        Op::Saturate(top) => Task::Saturation(*top),
        Op::Select if graph.ty(id).elem != Elem::Bit => Task::Selection,
        Op::ArgMaxIs => Task::ArgMaxIs,
        Op::Function(f) => Task::Function(Function::Elementary(*f)),
        Op::Div => Task::Function(Function::Div),
        Op::Select
        | Op::Relu
        | Op::Abs
        | Op::Max(_)
        | Op::Min(_)
        | Op::ArgMax
        | Op::Sort
        | Op::SortSum { .. }
        | Op::OneHot(_)
        | Op::MaxPool { .. } => unreachable!("passes replace `{}`", graph.op(id).name()),
    }
}
