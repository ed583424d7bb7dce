//! The table of operations: of each its class, its name, how many operands it has, which elements and
//! scales its result has, and when the parties talk to compute it.
//!
//! Passes and analyses ask for these facts, and name operations only where each has a rule of its own (intervals, errors,
//! derivatives, leaks). A row is
//!
//! ```text
//! pattern = prototype => name, class, operands, element, scale, talk;
//! ```
//!
//! The rows make up one match without a default, so the compiler finds an operation that has no row;
//! and a row has a prototype, so the list of all operations ([`Op::all`]) is complete, and with it
//! the names that the parser knows.

use super::data::{Op, Table};
use slvr_language::noise::{Law, Noise as Distribution};
use slvr_language::types::function::Function;
use slvr_language::types::{Conv, Elem, Lots, PairTable};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What kind of operation it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Reads no node: an input, a table, public coins.
    Leaf,
    /// Entry by entry, on aligned operands.
    Pointwise,
    /// A function that protocols approximate, entry by entry: elementary functions and quotients.
    Function,
    /// The same number with other fraction bits, entry by entry; or a power of two times it.
    Rescale,
    /// Linear in each of two operands, and summed over axes that they share.
    Bilinear,
    /// Makes one entry of several: of an axis, or of a window.
    Reduction,
    /// Works along an axis that stays, or that is new.
    Axis,
    /// Moves entries of its first operand without computing on them.
    Layout,
    /// Puts operands one after another.
    Concat,
}

/// Elements of the result, and which the operands may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElemRule {
    /// That of an input of the interface.
    Input(u32),
    Is(Elem),
    /// Numbers; an `Int` if all are.
    Number,
    /// Numbers to a `Fix`.
    Real,
    /// Numbers to a bit.
    Test,
    Bit,
    /// Bits to an `Int`.
    Count,
    /// The first operand, a number, to an `Int`.
    Place,
    /// A bit, and two numbers or two bits: one of the two.
    Choice,
    /// Bits, or numbers.
    Alike,
    /// As the first operand.
    First,
}

/// Scale of the result, and which the operands may have. Bits never have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleRule {
    /// That of an input of the interface.
    Input(u32),
    Is(Option<u32>),
    /// This one, once scales are known.
    Grid(u32),
    /// An integer: no fraction bits.
    Whole,
    /// As the first operand.
    First,
    /// Operands have the same.
    Equal,
    /// The second and the third operand have the same.
    Choice,
    /// The sum of those of the two operands.
    Product,
    /// Fewer than the operand.
    Less(u32),
    /// More than the operand.
    More(u32),
}

/// When the parties talk to compute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Never: it is linear in shares, or moves them.
    Never,
    /// If an operand is secret.
    OneSecret,
    /// If two operands are secret.
    TwoSecrets,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Name in the text form and in messages.
    pub name: &'static str,
    pub class: Class,
    /// Number of operands; `None` if any number from 1 on.
    pub operands: Option<usize>,
    pub elem: ElemRule,
    pub scale: ScaleRule,
    /// When the parties talk.
    pub talk: Talk,
}

macro_rules! operations {
    ($($pattern:pat = $prototype:expr =>
        $name:expr, $class:ident, $operands:expr, $elem:expr, $scale:expr, $talk:ident;)*) => {
        impl Op {
            /// What the table says of it.
            pub fn facts(&self) -> Facts {
                use Op::*;
                match self {
                    $($pattern => Facts {
                        name: $name,
                        class: Class::$class,
                        operands: $operands,
                        elem: $elem,
                        scale: $scale,
                        talk: Talk::$talk,
                    },)*
                }
            }

            /// One of each row, with some attributes.
            fn prototypes() -> Vec<Op> {
                use Op::*;
                vec![$($prototype),*]
            }
        }
    };
}

/// No attributes to speak of.
fn empty() -> Table {
    Table { shape: Vec::new(), data: Default::default() }
}

/// Some noise of a law.
fn noise_of(law: Law) -> Op {
    let noise = Distribution { law, scale: 1.0, frac: 16 };
    Op::Noise { noise, number: 0, shape: Vec::new() }
}

operations! {
    Input(i) = Input(0) => "input", Leaf, Some(0), ElemRule::Input(*i), ScaleRule::Input(*i), Never;
    Const(_, elem, frac) = Const(empty(), Elem::Fix, None)
        => "const", Leaf, Some(0), ElemRule::Is(*elem), ScaleRule::Is(*frac), Never;
    Draw(lots) = Draw(Lots::committees(2, 1))
        => if lots.others { "committee" } else { "draw" }, Leaf, Some(0), ElemRule::Is(Elem::Int), ScaleRule::Whole, Never;

    Pairs { table, .. } = Pairs { table: PairTable::Later, n: 2 } => match table {
        PairTable::Later => "pairs_later",
        PairTable::Earlier => "pairs_earlier",
        PairTable::Number => "pairs_number",
        PairTable::Order => "pairs_order",
        PairTable::Other => "pairs_other",
    }, Leaf, Some(0), ElemRule::Is(Elem::Int), ScaleRule::Whole, Never;

    // Not the places of entries of a value: of numbers in a public index.
    Places(_) = Places(1) => "places", Axis, Some(1), ElemRule::Place, ScaleRule::Whole, Never;
    Noise { noise, .. } = noise_of(Law::Gaussian)
        => noise.law.name(), Leaf, Some(0), ElemRule::Is(Elem::Fix), ScaleRule::Grid(noise.frac), OneSecret;

    Add = Add => "add", Pointwise, Some(2), ElemRule::Number, ScaleRule::Equal, Never;
    Sub = Sub => "sub", Pointwise, Some(2), ElemRule::Number, ScaleRule::Equal, Never;
    Mul = Mul => "mul", Pointwise, Some(2), ElemRule::Number, ScaleRule::Product, TwoSecrets;
    Div = Div => "div", Function, Some(2), ElemRule::Real, ScaleRule::First, OneSecret;
    Neg = Neg => "neg", Pointwise, Some(1), ElemRule::Number, ScaleRule::First, Never;
    // An integer times a factor that is none is no integer.
    Scale(c) = Scale(1.0)
        => "scale", Pointwise, Some(1),
           if c.fract() == 0.0 { ElemRule::Number } else { ElemRule::Real },
           ScaleRule::First, Never;
    Lt = Lt => "lt", Pointwise, Some(2), ElemRule::Test, ScaleRule::Equal, OneSecret;
    Eq = Eq => "eq", Pointwise, Some(2), ElemRule::Test, ScaleRule::Equal, OneSecret;
    Not = Not => "not", Pointwise, Some(1), ElemRule::Bit, ScaleRule::First, Never;
    And = And => "and", Pointwise, Some(2), ElemRule::Bit, ScaleRule::First, TwoSecrets;
    Xor = Xor => "xor", Pointwise, Some(2), ElemRule::Bit, ScaleRule::First, Never;
    ToInt = ToInt => "to_int", Pointwise, Some(1), ElemRule::Count, ScaleRule::Whole, OneSecret;
    Select = Select
        => "select", Pointwise, Some(3), ElemRule::Choice, ScaleRule::Choice, OneSecret;
    Relu = Relu => "relu", Pointwise, Some(1), ElemRule::Number, ScaleRule::First, OneSecret;
    Gate = Gate => "gate", Pointwise, Some(2), ElemRule::Number, ScaleRule::First, OneSecret;
    Saturate(_) = Saturate(1)
        => "saturate", Pointwise, Some(1), ElemRule::Number, ScaleRule::First, OneSecret;
    Abs = Abs => "abs", Pointwise, Some(1), ElemRule::Number, ScaleRule::First, OneSecret;
    Function(f) = Function(slvr_language::types::function::Function::Exp)
        => f.facts().name, Function, Some(1), ElemRule::Real, ScaleRule::First, OneSecret;

    Sum(_) = Sum(vec![]) => "sum", Reduction, Some(1), ElemRule::Number, ScaleRule::First, Never;
    Max(_) = Max(0) => "max", Reduction, Some(1), ElemRule::Number, ScaleRule::First, OneSecret;
    Min(_) = Min(0) => "min", Reduction, Some(1), ElemRule::Number, ScaleRule::First, OneSecret;
    ArgMax = ArgMax => "argmax", Reduction, Some(1), ElemRule::Place, ScaleRule::Whole, OneSecret;
    Sort = Sort => "sort", Axis, Some(1), ElemRule::Number, ScaleRule::First, OneSecret;
    SortSum { .. } = SortSum { lo: 0, hi: 1 }
        => "sort_sum", Reduction, Some(1), ElemRule::Number, ScaleRule::First, OneSecret;
    OneHot(_) = OneHot(1) => "one_hot", Axis, Some(1), ElemRule::Place, ScaleRule::Whole, OneSecret;
    ArgMaxIs = ArgMaxIs
        => "argmax_is", Reduction, Some(2), ElemRule::Test, ScaleRule::First, OneSecret;
    MaxPool { .. } = MaxPool { k: 1, stride: 1 }
        => "max_pool", Reduction, Some(1), ElemRule::Number, ScaleRule::First, OneSecret;

    MatMul { .. } = MatMul { trans_b: false }
        => "matmul", Bilinear, Some(2), ElemRule::Number, ScaleRule::Product, TwoSecrets;
    Conv2d(_) = Conv2d(Conv::PLAIN)
        => "conv2d", Bilinear, Some(2), ElemRule::Number, ScaleRule::Product, TwoSecrets;

    Reshape(_) = Reshape(vec![])
        => "reshape", Layout, Some(1), ElemRule::First, ScaleRule::First, Never;
    Transpose(_) = Transpose(vec![])
        => "transpose", Layout, Some(1), ElemRule::First, ScaleRule::First, Never;
    Slice { .. } = Slice { axis: 0, start: 0, len: 1, step: 1 }
        => "slice", Layout, Some(1), ElemRule::First, ScaleRule::First, Never;
    Broadcast(_) = Broadcast(vec![])
        => "broadcast", Layout, Some(1), ElemRule::First, ScaleRule::First, Never;
    Gather { .. } = Gather { axis: 0, batch: 0 }
        => "gather", Layout, Some(2), ElemRule::First, ScaleRule::First, Never;
    Concat(_) = Concat(0) => "concat", Concat, None, ElemRule::Alike, ScaleRule::Equal, Never;

    Trunc(by) = Trunc(0)
        => "trunc", Rescale, Some(1), ElemRule::Real, ScaleRule::Less(*by), OneSecret;
    Shift(by) = Shift(0)
        => "shift", Rescale, Some(1), ElemRule::Real, ScaleRule::More(*by), Never;
    DivPow2(by) = DivPow2(0)
        => "div_pow2", Rescale, Some(1), ElemRule::Real, ScaleRule::More(*by), Never;
    MulPow2(by) = MulPow2(0)
        => "mul_pow2", Rescale, Some(1), ElemRule::Real, ScaleRule::Less(*by), Never;
}

impl Op {
    /// One of each operation, with some attributes: every name occurs once.
    pub fn all() -> Vec<Op> {
        let each = |op: Op| match op {
            Op::Function(_) => Function::ALL.iter().map(|&f| Op::Function(f)).collect(),
            Op::Draw(lots) => {
                [true, false].into_iter().map(|others| Op::Draw(Lots { others, ..lots })).collect()
            }
            Op::Pairs { n, .. } => {
                PairTable::ALL.iter().map(|&table| Op::Pairs { table, n }).collect()
            }
            Op::Noise { .. } => Law::ALL.map(noise_of).to_vec(),
            op => vec![op],
        };
        Op::prototypes().into_iter().flat_map(each).collect()
    }

    /// The operation of a name, with some attributes.
    pub fn named(name: &str) -> Option<Op> {
        // A text has a name in every line.
        static NAMED: LazyLock<BTreeMap<&'static str, Op>> =
            LazyLock::new(|| Op::all().into_iter().map(|op| (op.name(), op)).collect());
        NAMED.get(name).cloned()
    }

    /// Name in the text form and in messages.
    pub fn name(&self) -> &'static str {
        self.facts().name
    }

    pub fn class(&self) -> Class {
        self.facts().class
    }

    /// Moves elements of its first operand without computing on them.
    pub fn is_layout(&self) -> bool {
        self.class() == Class::Layout
    }

    /// Acts entry by entry on aligned operands.
    pub fn is_pointwise(&self) -> bool {
        matches!(self.class(), Class::Pointwise | Class::Function | Class::Rescale)
    }

    /// The number that it multiplies its operand by, if it does no more than this and round.
    pub fn factor(&self) -> Option<f64> {
        match self {
            Op::Neg => Some(-1.0),
            Op::Scale(c) => Some(*c),
            Op::Trunc(_) | Op::Shift(_) => Some(1.0),
            Op::DivPow2(by) => Some((-f64::from(*by)).exp2()),
            Op::MulPow2(by) => Some(f64::from(*by).exp2()),
            _ => None,
        }
    }

    /// Whether the parties talk to compute it from so many secret operands.
    pub fn talks(&self, secrets: usize) -> bool {
        match self.facts().talk {
            Talk::Never => false,
            Talk::OneSecret => secrets >= 1,
            Talk::TwoSecrets => secrets >= 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A prototype stands in the row of its own operation.
    #[test]
    fn names_are_distinct_and_found() {
        let names: BTreeSet<_> = Op::all().iter().map(Op::name).collect();
        assert_eq!(names.len(), Op::all().len());
        for name in names {
            assert_eq!(Op::named(name).expect("a name of the table").name(), name);
        }
    }
}
