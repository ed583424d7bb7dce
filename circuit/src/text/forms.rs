//! The table of operations: of each its name, its operands and parameters in the order of the text, and for
//! an interactive one its [`Interaction`].
//!
//! Names, text in both directions, lists of operands and the question what is interactive are all made of
//! this table. The meaning of an operation is documented at [`Op`], its typing rule is in
//! [`crate::verify::infer`].

use super::param::Param;
use super::tokens::{Parsed, Tokens};
use crate::interaction::{self, Interaction};
use crate::{Op, ValueId};

/// An operation from its fields, or the pattern that names them.
macro_rules! op {
    ($op:ident ($($($key:literal)? $field:ident),*)) => { Op::$op($($field),*) };
    ($op:ident {$($($key:literal)? $field:ident),*}) => { Op::$op { $($field),* } };
}

/// The word in front of a field, if there is one.
macro_rules! key {
    () => {
        ""
    };
    ($key:literal) => {
        $key
    };
}

/// `each!(fields; key, field => statement)`: the statement for each field, in order.
macro_rules! each {
    (($($($key:literal)? $field:ident),*); print $out:ident) => {
        $($field.print(key!($($key)?), $out);)*
    };
    (($($($key:literal)? $field:ident),*); values $visit:ident) => {
        $($field.values($visit);)*
    };
    (($($($key:literal)? $field:ident),*); values_mut $visit:ident) => {
        $($field.values_mut($visit);)*
    };
    (($($($key:literal)? $field:ident),*); parse $tokens:ident) => {
        $(let $field = Param::parse(key!($($key)?), $tokens)?;)*
    };
    ({$($fields:tt)*}; $($what:tt)*) => { each!(($($fields)*); $($what)*) };
}

macro_rules! forms {
    (
        local: $($name:literal $op:ident $fields:tt;)*
        interactive: $($iname:literal $iop:ident $ifields:tt $interaction:ident;)*
    ) => {
        impl Op {
            /// Name in the text form and in error messages.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Op::$op { .. } => $name,)*
                    $(Op::$iop { .. } => $iname,)*
                }
            }

            /// Who sends what to whom; `None` for a local operation.
            pub fn interaction(&self) -> Option<&'static Interaction> {
                match self {
                    $(Op::$op { .. } => None,)*
                    $(Op::$iop { .. } => Some(&interaction::$interaction),)*
                }
            }

            /// Visits the values that it reads, in order.
            pub fn values(&self, visit: &mut dyn FnMut(ValueId)) {
                match self {
                    $(op!($op $fields) => { each!($fields; values visit); })*
                    $(op!($iop $ifields) => { each!($ifields; values visit); })*
                }
            }

            fn values_mut(&mut self, visit: &mut dyn FnMut(&mut ValueId)) {
                match self {
                    $(op!($op $fields) => { each!($fields; values_mut visit); })*
                    $(op!($iop $ifields) => { each!($ifields; values_mut visit); })*
                }
            }
        }

        /// Appends the text of an operation.
        pub(crate) fn print(op: &Op, out: &mut String) {
            out.push_str(op.name());
            match op {
                $(op!($op $fields) => { each!($fields; print out); })*
                $(op!($iop $ifields) => { each!($ifields; print out); })*
            }
        }

        /// Reads the text of an operation.
        pub(crate) fn parse(t: &mut Tokens<'_>) -> Parsed<Op> {
            Ok(match t.word()? {
                $($name => { each!($fields; parse t); op!($op $fields) })*
                $($iname => { each!($ifields; parse t); op!($iop $ifields) })*
                name => return Err(format!("`{name}` is no operation")),
            })
        }

        /// The names of all operations.
        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$($name,)* $($iname),*];

        /// All interactive operations, by name.
        pub const INTERACTIVE: &[(&str, &Interaction)] =
            &[$(($iname, &interaction::$interaction)),*];
    };
}

forms! {
    local:
    "add" Add(a, b);
    "sub" Sub(a, b);
    "mul" Mul(a, b);
    "neg" Neg(x);
    "scale" Scale(x, c);
    "offset" Offset(x, c);
    "matmul" MatMul { a, b, "transposed" trans_b };
    "conv2d" Conv2d { x, w, conv };
    "sum" Sum { x, "axes" axes };
    "narrow" Narrow(x, k);
    "raise" Raise(x, k);
    "extend" Extend(x, k);
    "shr" Shr(x, n);
    "to_bits" ToBits { x, "lo" lo, "w" w };
    "from_bits" FromBits(x, k);
    "not" Not(x);
    "planes" Planes { x, "start" start, "step" step, "count" count };
    "select_planes" SelectPlanes(x, planes);
    "stack" Stack(xs);
    "reshape" Reshape(x, shape);
    "transpose" Transpose(x, perm);
    "slice" Slice { x, "axis" axis, "start" start, "len" len, "step" step };
    "concat" Concat { xs, "axis" axis };
    "broadcast" Broadcast(x, shape);
    "gather" Gather { x, index, "axis" axis, "batch" batch };
    "own" Own(x);
    "dup" Dup(x);
    "as_add2" AsAdd2(x);
    "as_add3" AsAdd3(x);
    "trivial" Trivial(x);
    "mask_of" MaskOf(x, "groups" groups);
    "own_of" OwnOf(x, "groups" groups);
    "dup_of" DupOf(x, "groups" groups);
    "as_add2_of" AsAdd2Of(x, "groups" groups);
    "join" Join { mask, dup };
    "mask" Mask { tag, dom, shape, "groups" groups };
    "thermometer" Thermometer { x, blocks };
    "pick" Pick { table, index, blocks };
    "propagate" Propagate { table, index, blocks, "skip" skip };
    "mask_products" MaskProducts { x, gates };
    "and_many" AndMany { open, mask, products, gates, "of" nodes };
    "table" Table { x, table };
    "entry" Entry { table, index };
    "to_planes" ToPlanes(x);
    "committee" Committee { coin, "n" n, "k" k };
    "admitted" Admitted { check, "members" members };
    "project" Project { x, coin, "tests" tests, part };
    "pairs" Pairs { table, "of" n, dom };
    "draw" Draw { coin, "rows" rows, "n" n, "k" k };
    "places" Places { index, "n" n };
    "keep" Keep { x, "state" input };
    "prove" Prove {};
    "random" Random { tag, dom, shape };
    "xors" Xors { x, "rows" rows };
    "load" Load { x, "start" start, "len" len };
    "begin_proof" BeginProof {};

    interactive:
    "reshare" Reshare(x) RESHARE;
    "input" Input(x) INPUT;
    "deal" Deal(x) DEAL;
    "reshare_two" ReshareTwo(x) RESHARE_TWO;
    "open" Open(x) OPEN;
    "open_sum" OpenSum(x) OPEN_SUM;
    "open_to" OpenTo { x, "output" output } OPEN_TO;
    "deal_mask" DealMask(x) DEAL_MASK;
    "open_masked" OpenMasked { x, mask } OPEN_MASKED;
    "coin" Coin {} COIN;
}

impl Op {
    /// Whether it takes a round.
    pub fn is_interactive(&self) -> bool {
        self.interaction().is_some()
    }

    /// The values it reads, in order.
    pub fn operands(&self) -> Vec<ValueId> {
        let mut out = Vec::new();
        self.values(&mut |v| out.push(v));
        out
    }

    /// The same operation on other values.
    pub fn map(&self, mut f: impl FnMut(ValueId) -> ValueId) -> Op {
        let mut op = self.clone();
        op.values_mut(&mut |v| *v = f(*v));
        op
    }
}
