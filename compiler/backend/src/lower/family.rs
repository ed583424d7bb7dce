//! What lowering asks of a family of protocols: one function for each task, and one for each check of inputs.
//!
//! [`super::t1::T1`] and [`super::t2::T2`] implement it. A function leaves the value in the form that the
//! plan names, as forms of the node.

use super::emit::Emit;
use super::form::{Forms, Values};
use super::task::{Comparison, Function, Linear, Product, Sum};
use slvr_circuit::ValueId;
use slvr_graph::graph::NodeId;

/// The protocols of a family.
pub trait Protocols {
    /// A secret bit for each client, before it is opened.
    type Good;

    /// A linear operation of the first operand.
    fn linear(&self, l: &mut Values<'_>, id: NodeId, how: Linear<'_>) -> Forms;
    /// The same raw words with more fraction bits.
    fn rescale(&self, l: &mut Values<'_>, id: NodeId) -> Forms;
    /// A sum of two operands.
    fn sum(&self, l: &mut Values<'_>, id: NodeId, how: Sum) -> Forms;
    /// A product of two operands.
    fn product(&self, l: &mut Values<'_>, id: NodeId, how: Product) -> Forms;
    /// Complement of bits.
    fn not(&self, l: &mut Values<'_>, id: NodeId) -> Forms;
    /// Division by 2^by, rounded.
    fn truncation(&self, l: &mut Values<'_>, id: NodeId, by: u32) -> Forms;
    /// A comparison of two numbers.
    fn comparison(&self, l: &mut Values<'_>, id: NodeId, how: Comparison) -> Forms;
    fn bits_to_words(&self, l: &mut Values<'_>, id: NodeId) -> Forms;
    /// v where s >= 0, else 0.
    fn gate(&self, l: &mut Values<'_>, id: NodeId) -> Forms;
    /// A value cut at -2^top and 2^top; with a gate that only this reads, the gate, too.
    fn saturation(&self, l: &mut Values<'_>, id: NodeId, top: u32) -> Forms;
    /// One word or the other.
    fn selection(&self, l: &mut Values<'_>, id: NodeId) -> Forms;
    /// Whether the argmax is the label.
    fn argmax_is(&self, l: &mut Values<'_>, id: NodeId) -> Forms;
    /// A function of one number, or a quotient.
    fn function(&self, l: &mut Values<'_>, id: NodeId, function: Function) -> Forms;

    /// The words of one-hot rows, and whether each client's rows are one-hot.
    fn one_hot_words(&self, e: &mut Emit, bits: ValueId, k: u32) -> (ValueId, Self::Good);
    /// Whether each client's words are in a range.
    fn in_range(&self, e: &mut Emit, x: ValueId, range: (u128, u128)) -> Self::Good;
    /// Whether random inner products of each client's words are short: so many tests, and their bound.
    fn short(&self, e: &mut Emit, x: ValueId, coin: ValueId, tests: (u64, u128)) -> Self::Good;
    /// Opens, for each of so many clients, whether all its bits are good.
    fn admit(&self, e: &mut Emit, good: Vec<Self::Good>, clients: u64) -> ValueId;
}
