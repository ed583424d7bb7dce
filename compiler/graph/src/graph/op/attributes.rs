//! The attributes of each operation, named once: the printer and the parser of the text form both go
//! through them in this order.

use super::data::{Op, Table};
use slvr_language::types::{Elem, Lots};

/// What goes through the attributes of an operation: a printer shows each, a parser sets each.
pub(crate) trait Visitor {
    /// Why an attribute cannot be read.
    type Error;

    /// A number without a name.
    fn index(&mut self, x: &mut u32) -> Result<(), Self::Error>;
    fn number(&mut self, name: &'static str, x: &mut u64) -> Result<(), Self::Error>;
    /// A number that is left out where it is 1.
    fn number_or_one(&mut self, name: &'static str, x: &mut u64) -> Result<(), Self::Error>;
    /// A number of bits.
    fn bits(&mut self, name: &'static str, x: &mut u32) -> Result<(), Self::Error>;
    fn real(&mut self, name: &'static str, x: &mut f64) -> Result<(), Self::Error>;
    /// Stands there or not.
    fn flag(&mut self, name: &'static str, x: &mut bool) -> Result<(), Self::Error>;
    /// A list of numbers.
    fn numbers(&mut self, name: &'static str, x: &mut Vec<u64>) -> Result<(), Self::Error>;
    /// The shape of the result, which stands in its type.
    fn shape(&mut self, x: &mut Vec<u64>) -> Result<(), Self::Error>;
    /// A table; its shape, element and scale stand in the type.
    fn table(
        &mut self,
        table: &mut Table,
        elem: &mut Elem,
        frac: &mut Option<u32>,
    ) -> Result<(), Self::Error>;
}

impl Op {
    /// Goes through the attributes in the order of the text form.
    pub(crate) fn visit<V: Visitor>(&mut self, v: &mut V) -> Result<(), V::Error> {
        use Op::*;
        match self {
            Input(i) => v.index(i),
            Const(table, elem, frac) => v.table(table, elem, frac),
            // As many rows as members, of others.
            Draw(Lots { rows, n, k, others: true }) => {
                v.number("n", n)?;
                *rows = *n;
                v.number("k", k)
            }
            Draw(Lots { rows, n, k, others: false }) => {
                v.number("rows", rows)?;
                v.number("n", n)?;
                v.number("k", k)
            }
            Places(n) => v.number("n", n),
            Pairs { n, .. } => v.number("n", n),
            Noise { noise, number, shape } => {
                v.bits("number", number)?;
                v.real("scale", &mut noise.scale)?;
                v.bits("grid", &mut noise.frac)?;
                v.shape(shape)
            }
            Scale(c) => v.real("by", c),
            Saturate(top) => v.bits("top", top),
            Sum(axes) => v.numbers("axes", axes),
            Max(axis) | Min(axis) | Concat(axis) => v.number("axis", axis),
            SortSum { lo, hi } => {
                v.number("lo", lo)?;
                v.number("hi", hi)
            }
            OneHot(classes) => v.number("classes", classes),
            MatMul { trans_b } => v.flag("trans_b", trans_b),
            Conv2d(conv) => {
                v.number("stride", &mut conv.stride)?;
                v.number("pad", &mut conv.pad)?;
                v.number_or_one("dilation", &mut conv.dilation)?;
                v.number_or_one("groups", &mut conv.groups)
            }
            MaxPool { k, stride } => {
                v.number("k", k)?;
                v.number("stride", stride)
            }
            Reshape(to) | Broadcast(to) => v.shape(to),
            Transpose(perm) => v.numbers("perm", perm),
            Slice { axis, start, len, step } => {
                v.number("axis", axis)?;
                v.number("start", start)?;
                v.number("len", len)?;
                v.number_or_one("step", step)
            }
            Gather { axis, batch } => {
                v.number("axis", axis)?;
                v.number("batch", batch)
            }
            Trunc(by) | Shift(by) | DivPow2(by) | MulPow2(by) => v.bits("by", by),
            Add | Sub | Mul | Div | Neg | Lt | Eq | Not | And | Xor | ToInt | Select | Relu
            | Gate | Abs | Function(_) | ArgMax | Sort | ArgMaxIs => Ok(()),
        }
    }
}
