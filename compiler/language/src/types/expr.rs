//! Typed expressions and what they are made of: types, definitions, loops, indices.

use super::intrinsic::Intrinsic;
use super::layer::Layer;
use crate::syntax::ast::{Secrecy, Span};

/// Index of a variable (input, `let`, loop variable, sample, function parameter) in
/// [`Program::vars`](super::Program::vars).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarId(pub u32);

/// Index of a party set in [`Program::parties`](super::Program::parties).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub u32);

/// Index of a function instance in [`Program::functions`](super::Program::functions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FnId(pub u32);

/// Index of a model instance in [`Program::models`](super::Program::models).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId(pub u32);

/// What an element is. In this order: where one is wanted, a later one will do, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Elem {
    /// A real number, in fixed point.
    Fix,
    Int,
    Bit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim {
    /// Its size; for an uneven one the largest over all enclosing loop variables.
    pub size: u64,
    /// The party set whose members index it, if it is nominal.
    pub set: Option<SetId>,
    /// The smallest over all enclosing loop variables. It is less than the size (`for j in 0..i`) only in
    /// the argument of a reduction.
    pub fewest: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ty {
    pub elem: Elem,
    /// Dimensions, outermost first; none for a scalar. For a record the last one is the flat
    /// parameter vector.
    pub dims: Vec<Dim>,
    pub secrecy: Secrecy,
    /// `weights M`: the last dimension is all parameters of this model, one after another.
    pub record: Option<ModelId>,
}

/// Definitions in order, and what is made of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    pub lets: Vec<Definition>,
    /// Results: one, or the parts of a tuple.
    pub values: Vec<Expr>,
}

/// Variables that are defined together.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The variables; as many as the source has values.
    pub vars: Vec<VarId>,
    pub source: Source,
}

impl Definition {
    /// One variable and its value.
    pub fn value(var: VarId, value: Expr) -> Definition {
        Definition { vars: vec![var], source: Source::Value(value) }
    }
}

/// Where the values of variables come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    Value(Expr),
    /// The results of a function that gives a tuple.
    Call(FnId, Vec<Expr>),
    /// What a loop ends with.
    Iterate(Box<Iterate>),
}

/// A loop that carries values from step to step.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterate {
    /// The steps: one for each choice of the loop variables, the last generator fastest. Bounds and conditions
    /// depend on nothing but variables of steps, so every step is known at build.
    pub gens: Vec<Gen>,
    pub carried: Vec<Carried>,
    /// One step. Its values are what the next step begins with.
    pub body: Body,
    pub span: Span,
}

/// A value that a loop carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// Its name within a step.
    pub var: VarId,
    /// Its value before the first step.
    pub start: Expr,
    /// Values outside of this range, both ends included, become the nearer end, before every step and at the end.
    pub range: Option<(f64, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Ty,
    pub span: Span,
}

/// Kinds of typed expressions. Binary operations act entry by entry; the operands have the same
/// dimensions, or one is a scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number known at build.
    Const(f64),
    /// An integer known at build up to loop variables, used as a value.
    Index(Index),
    Var(VarId),
    /// `-a` or `!a`.
    Unary(UnOp, Box<Expr>),
    /// `a + b` and the like.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    Call(FnId, Vec<Expr>),
    /// A model applied to weights (a record) and one input of the model's shape.
    Apply(ModelId, Box<Expr>, Box<Expr>),
    Intrinsic(Intrinsic, Vec<Expr>),
    /// A layer of the compiler applied to a value, which comes first, with its parameters, in their order.
    Layer(Layer, Vec<Expr>),
    /// `[a, b]`: a new first dimension.
    List(Vec<Expr>),
    /// A comprehension: a new first dimension with one entry per choice of the loop variables,
    /// the last generator fastest.
    Comp(Vec<Gen>, Box<Expr>),
    /// `a[i, j]`: the leading dimensions of a at these indices.
    At(Box<Expr>, Vec<Index>),
    /// `a[j]` for a public integer j that is known at run time: an entry of the leading dimension of a. It is proven
    /// to be one.
    Pick(Box<Expr>, Box<Expr>),
    /// A field of a record: parameters `offset ..` as a tensor; its shape is in the type.
    Field(Box<Expr>, u64),
    /// A record of the tensors of its model, in order.
    Record(Vec<Expr>),
    /// The one value of a body, in place.
    Let(Box<Body>),
}

/// An integer known at build, up to loop variables. Only the bare variable of a generator over a
/// sampled committee is known at run time; it occurs as `Var` only.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    Const(i64),
    Var(VarId),
    /// Arithmetic; division and remainder round towards minus infinity.
    Binary(IndexOp, Box<Index>, Box<Index>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl IndexOp {
    /// `a op b`; `None` for a division by zero and for what 64 bits do not hold.
    pub fn apply(self, a: i64, b: i64) -> Option<i64> {
        match self {
            IndexOp::Add => a.checked_add(b),
            IndexOp::Sub => a.checked_sub(b),
            IndexOp::Mul => a.checked_mul(b),
            IndexOp::Div => {
                a.checked_div(b).map(|q| if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
            }
            IndexOp::Rem => {
                a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
            }
        }
    }
}

/// A condition on indices, known at build up to loop variables.
#[derive(Clone, Debug, PartialEq)]
pub enum Cond {
    Compare(BinOp, Index, Index),
    Not(Box<Cond>),
    And(Box<Cond>, Box<Cond>),
    Or(Box<Cond>, Box<Cond>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Gen {
    pub var: VarId,
    pub domain: Domain,
    /// Which of them count.
    pub cond: Option<Cond>,
}

/// What a loop variable ranges over.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// The members of a party set, 0 .. size.
    Set(SetId),
    /// lo .. hi, hi excluded.
    Range(Index, Index),
    /// A sampled committee: row `at` of a [`Stmt::Sample`](super::Stmt::Sample) variable.
    Sampled {
        sample: VarId,
        at: Index,
        /// How many members it has.
        count: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnOp {
    Neg,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

impl Elem {
    /// As the language writes it.
    pub fn name(self) -> &'static str {
        match self {
            Elem::Fix => "fix",
            Elem::Int => "int",
            Elem::Bit => "bit",
        }
    }

    pub fn named(name: &str) -> Option<Elem> {
        [Elem::Fix, Elem::Int, Elem::Bit].into_iter().find(|e| e.name() == name)
    }
}

impl BinOp {
    /// What a comparison says of two values; false for other operations.
    pub fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            BinOp::Eq => a == b,
            BinOp::Ne => a != b,
            BinOp::Lt => a < b,
            BinOp::Le => a <= b,
            BinOp::Gt => a > b,
            BinOp::Ge => a >= b,
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::And | BinOp::Or => false,
        }
    }
}

impl Dim {
    pub fn plain(size: u64) -> Dim {
        Dim { size, set: None, fewest: size }
    }

    /// With an entry for each member of a party set.
    pub fn of_set(set: SetId, size: u64) -> Dim {
        Dim { set: Some(set), ..Dim::plain(size) }
    }

    /// Whether the number of entries depends on an enclosing loop variable.
    pub fn ragged(self) -> bool {
        self.fewest != self.size
    }
}

impl Ty {
    pub fn scalar(elem: Elem, secrecy: Secrecy) -> Ty {
        Ty { elem, dims: Vec::new(), secrecy, record: None }
    }

    /// A tensor of plain dimensions.
    pub fn tensor(elem: Elem, shape: impl IntoIterator<Item = u64>, secrecy: Secrecy) -> Ty {
        let dims = shape.into_iter().map(Dim::plain).collect();
        Ty { elem, dims, secrecy, record: None }
    }

    /// The same entries in plain dimensions.
    pub fn shaped(&self, shape: impl IntoIterator<Item = u64>) -> Ty {
        Ty::tensor(self.elem, shape, self.secrecy)
    }

    /// Whether a value of another type has this shape. Weights are tensors, too.
    pub fn is_shape_of(&self, other: &Ty) -> bool {
        self.shape() == other.shape() && (self.record.is_none() || self.record == other.record)
    }

    /// What so many indices leave of it.
    pub fn entry(&self, indices: usize) -> Ty {
        let dims = self.dims[indices..].to_vec();
        let record = self.record.filter(|_| !dims.is_empty());
        Ty { dims, record, ..*self }
    }

    /// Sizes of the dimensions.
    pub fn shape(&self) -> Vec<u64> {
        self.dims.iter().map(|d| d.size).collect()
    }
}
