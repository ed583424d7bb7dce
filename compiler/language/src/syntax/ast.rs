//! The abstract syntax: what the grammar builds, before any name means anything.
//!
//! Every node carries the [`Span`] it was read from. Equality of trees ignores spans, because
//! [`Span`]s compare equal whatever they hold; tests need that (`parse(print(x)) == x`).

pub use crate::source::{FileId, Span};
use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    pub name: String,
    pub span: Span,
}

impl Ident {
    /// As it stands in a source.
    pub fn written(&self) -> Cow<'_, str> {
        super::token::written(&self.name)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The comment block right above it, without the slashes; empty if there is none.
    pub doc: String,
    pub kind: ItemKind,
    pub span: Span,
}

impl Item {
    /// The name it defines; `None` for a `use`.
    pub fn name(&self) -> Option<&Ident> {
        match &self.kind {
            ItemKind::Use(_) => None,
            ItemKind::Const { name, .. } => Some(name),
            ItemKind::Fn(f) => Some(&f.name),
            ItemKind::Block(b) => Some(&b.name),
            ItemKind::Predicate(p) => Some(&p.name),
        }
    }

    pub fn sizes(&self) -> &[Size] {
        match &self.kind {
            ItemKind::Use(_) | ItemKind::Const { .. } => &[],
            ItemKind::Fn(f) => &f.sizes,
            ItemKind::Block(b) => &b.sizes,
            ItemKind::Predicate(p) => &p.sizes,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `use std::{mean, sum};`
    Use(UseTree),
    /// `const N = 3;`
    Const {
        name: Ident,
        value: Expr,
    },
    /// `fn f[n](x: fix[n]) -> fix { .. }`, or `extern fn` without a body.
    Fn(Function),
    /// `block` or `model`.
    Block(Box<Block>),
    Predicate(Predicate),
}

/// Path of a `use`.
#[derive(Clone, Debug, PartialEq)]
pub enum UseTree {
    /// A last name: `sum`.
    Name(Ident),
    /// `{mean, sum}`.
    Group(Vec<Ident>),
    /// `std::..`.
    Path(Ident, Box<UseTree>),
}

impl UseTree {
    /// The last names: what is imported.
    pub fn names(&self) -> &[Ident] {
        match self {
            UseTree::Name(name) => std::slice::from_ref(name),
            UseTree::Group(names) => names,
            UseTree::Path(_, rest) => rest.names(),
        }
    }
}

/// A size parameter, in brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    pub name: Ident,
    /// `M: model`.
    pub is_model: bool,
    pub default: Option<Expr>,
}

/// A run-time parameter, in parentheses.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub name: Ident,
    /// Type; only the inputs of a block may leave it out.
    pub ty: Option<Type>,
    pub default: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: Ident,
    pub sizes: Vec<Size>,
    pub params: Vec<Param>,
    pub result: Type,
    /// Body; `None` for an `extern fn`.
    pub body: Option<Body>,
}

/// `require COND, "why";`
#[derive(Clone, Debug, PartialEq)]
pub struct Require {
    pub cond: Expr,
    /// Reason, without quotes and escapes.
    pub why: Option<String>,
    pub span: Span,
}

/// What a demand bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demanded {
    Error,
    Failure,
    Cut,
    Epsilon,
}

impl Demanded {
    /// What a word at the left of a demand says.
    pub fn named(word: &str) -> Option<Demanded> {
        Some(match word {
            "error" => Demanded::Error,
            "failure" => Demanded::Failure,
            "cut" => Demanded::Cut,
            "epsilon" => Demanded::Epsilon,
            _ => return None,
        })
    }
}

/// A requirement that is a demand on the certificate: `error(x) <= 2^-8`.
pub struct Demand<'a> {
    pub of: Demanded,
    /// The word that says so, and where it stands.
    pub word: (&'a str, Span),
    pub args: &'a [Expr],
    /// What is compared with the bound.
    pub left: &'a Expr,
    pub op: BinaryOp,
    pub bound: &'a Expr,
}

impl Require {
    /// `failure`, `cut` and `epsilon(..)` are words of a demand unless something local is called so, and `error(x)`
    /// always is, whatever functions there are.
    pub fn demand(&self, is_local: impl Fn(&str) -> bool) -> Option<Demand<'_>> {
        use BinaryOp::{Ge, Gt, Le, Lt};
        let ExprKind::Binary(op @ (Le | Lt | Ge | Gt), left, bound) = &self.cond.kind else {
            return None;
        };
        let (head, args) = match &left.kind {
            ExprKind::Call(f, args) => (f, Some(args.as_slice())),
            _ => (left, None),
        };
        let ExprKind::Name(word) = &head.kind else { return None };
        let of = Demanded::named(word)?;
        let is_demand = match of {
            Demanded::Error => args.is_some(),
            Demanded::Failure | Demanded::Cut => args.is_none() && !is_local(word),
            Demanded::Epsilon => !is_local(word),
        };
        if !is_demand {
            return None;
        }
        let (word, args) = ((word.as_str(), head.span), args.unwrap_or_default());
        Some(Demand { of, word, args, left, op: *op, bound })
    }
}

/// Requirements, `let`s and a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// What is required of sizes, before anything else; the steps of a loop require nothing. In a block they stand
    /// before its layers.
    pub requires: Vec<Require>,
    pub lets: Vec<Let>,
    pub value: Expr,
}

/// `let name = value;` or `let (a, b) = value;`; also a layer or parameter of a block, `name: value;`.
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// The name, or those of the parts of a tuple.
    pub names: Vec<Ident>,
    pub value: Expr,
}

impl Let {
    /// What is defined: `name` or `(a, b)`.
    pub fn pattern(&self) -> String {
        let names: Vec<Cow<'_, str>> = self.names.iter().map(Ident::written).collect();
        match names.as_slice() {
            [one] => one.to_string(),
            all => format!("({})", all.join(", ")),
        }
    }

    /// From the first name to the end of the value.
    pub fn span(&self) -> Span {
        self.names.first().map_or(self.value.span, |n| n.span.to(self.value.span))
    }
}

/// A `block` or a `model`.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// `model` rather than `block`.
    pub is_model: bool,
    pub name: Ident,
    pub sizes: Vec<Size>,
    /// Its inputs; of a model exactly one.
    pub params: Vec<Param>,
    /// Result type; models have one.
    pub result: Option<Type>,
    /// Named layers and parameters, in order.
    pub layers: Vec<Let>,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    pub name: Ident,
    pub sizes: Vec<Size>,
    pub params: Vec<Param>,
    pub body: Vec<Stmt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// The comment block right above it, without the slashes.
    pub doc: String,
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    Require(Require),
    /// `parties Client[m];`
    Parties {
        name: Ident,
        /// Size; 1 without brackets.
        size: Option<Expr>,
    },
    /// `input x: secret fix[d] in -8..8 from each Client;`
    Input {
        name: Ident,
        ty: Type,
        range: Option<Expr>,
        from: Option<Giver>,
    },
    Let(Let),
    /// `state history: secret fix[m, d] in -8..8 = 0;`
    State {
        name: Ident,
        ty: Type,
        /// The range that it is kept in.
        range: Option<Expr>,
        /// What every entry is before the first round.
        start: Expr,
    },
    /// `store EXPR as history;`
    Store {
        value: Expr,
        name: Ident,
    },
    /// `sample committee[k] of Client for each Client;`, `sample coordinates[rounds, k] of d;`
    Sample {
        name: Ident,
        /// How often is drawn, if more than once; last how many at a time.
        counts: Vec<Expr>,
        /// From which set, or below which number.
        of: Expr,
        /// For each member of which set, if of one.
        each: Option<Ident>,
    },
    /// `sample noise: fix[n] from gaussian(sigma);`
    Noise {
        name: Ident,
        ty: Type,
        law: Ident,
        scale: Expr,
    },
    /// `reveal EXPR to PARTY as NAME;`, `reveal x[i] to Client[i] as mine;`
    Reveal {
        value: Expr,
        to: Ident,
        /// The name of a member of the receiving set, in the value: each member gets one.
        member: Option<Ident>,
        name: Ident,
    },
    /// What error recovery skipped; a diagnostic says why.
    Error,
}

/// `from each Client`.
#[derive(Clone, Debug, PartialEq)]
pub struct Giver {
    /// One tensor from each member.
    pub each: bool,
    pub set: Ident,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Secrecy {
    /// Known to everybody.
    Public,
    /// Known to nobody but the giver.
    Secret,
}

impl Secrecy {
    pub fn word(self) -> &'static str {
        match self {
            Secrecy::Public => "public",
            Secrecy::Secret => "secret",
        }
    }
}

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// Secrecy, if written.
    pub secrecy: Option<Secrecy>,
    pub kind: TypeKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `fix[b, ..M.shape]`: element name and dimensions.
    Tensor {
        /// `fix`, `int`, `bit`, or an unknown name.
        base: Ident,
        /// Dimensions; empty for a scalar.
        dims: Vec<Dim>,
    },
    /// `weights M`, or `weights M[n]`: a list of them.
    Weights {
        model: Ident,
        /// Dimensions of a list; empty for one.
        dims: Vec<Dim>,
    },
    /// `(weights M, fix)`: at least two.
    Tuple(Vec<Type>),
}

/// A dimension as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Dim {
    Size(Expr),
    /// `..M.shape`: all sizes of a list.
    Splice(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// Kinds of expressions. Parentheses leave no node; the printer puts them where needed.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Name(String),
    /// `std::sum`.
    Path(Ident, Ident),
    Int(i64),
    /// A decimal; the text as written, so that printing keeps it.
    Real(String),
    /// `true` or `false`.
    Bit(bool),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `(a, b)`: at least two.
    Tuple(Vec<Expr>),
    /// `weights M`, applied to what weights are made of.
    Weights(Ident),
    /// `iterate v = start for t in n { next }`.
    Iterate(Box<Iterate>),
    /// `[e for i in S if c]`.
    Comp(Box<Expr>, Vec<Gen>),
    /// `if c { a } else { b }`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `f(a, b)`; also a model or layer applied to weights and images.
    Call(Box<Expr>, Vec<Expr>),
    /// `f(e for i in S)`.
    CallGen(Box<Expr>, Box<Expr>, Vec<Gen>),
    /// `a[i, j]`, `f[n]`, `conv2d[1, 6, kernel = 5]`.
    At(Box<Expr>, Vec<Arg>),
    /// `a.b`.
    Field(Box<Expr>, Ident),
    /// `a.0`: a part of a tuple.
    Part(Box<Expr>, i64),
    /// `-a`, `!a`.
    Unary(UnaryOp, Box<Expr>),
    /// `a + b` and the like.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// What error recovery skipped.
    Error,
}

/// A loop that carries values from step to step.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterate {
    /// What is carried; at least one.
    pub carried: Vec<Carried>,
    /// The steps; at least one generator.
    pub gens: Vec<Gen>,
    /// One step: its result is what the next one begins with.
    pub body: Body,
}

/// A carried value: `v: fix[n] in -8..8 = start`.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    pub name: Ident,
    pub ty: Option<Type>,
    /// The range that it is kept in, if written.
    pub range: Option<Expr>,
    /// Value before the first step.
    pub start: Expr,
}

/// One generator of a comprehension: `for v in domain if cond`.
#[derive(Clone, Debug, PartialEq)]
pub struct Gen {
    pub var: Ident,
    pub domain: Expr,
    /// Compile-time condition.
    pub cond: Option<Expr>,
}

/// A bracketed argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// `kernel =`.
    pub name: Option<Ident>,
    pub value: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    Neg,
    Not,
}

/// Infix operators, from loosest to tightest binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    Pipe,
    Or,
    And,
    Eq,
    Ne,
    Le,
    Ge,
    Lt,
    Gt,
    Range,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
}

impl BinaryOp {
    /// Operators between operands that are expressions, from the tightest to the loosest.
    pub const INFIX: &[BinaryOp] = {
        use BinaryOp::*;
        &[Mul, Div, Rem, Add, Sub, Range, Eq, Ne, Le, Ge, Lt, Gt, And, Or, Pipe]
    };

    /// Whether `a o b o c` is `(a o b) o c`, rather than an error as of comparisons and ranges.
    pub fn chains(self) -> bool {
        !matches!(self.level(), 3 | 4)
    }

    /// Its text, and how strongly it binds: the larger, the tighter.
    fn row(self) -> (&'static str, u8) {
        use BinaryOp::*;
        match self {
            Pipe => ("|>", 0),
            Or => ("||", 1),
            And => ("&&", 2),
            Eq => ("==", 3),
            Ne => ("!=", 3),
            Le => ("<=", 3),
            Ge => (">=", 3),
            Lt => ("<", 3),
            Gt => (">", 3),
            Range => ("..", 4),
            Add => ("+", 5),
            Sub => ("-", 5),
            Mul => ("*", 6),
            Div => ("/", 6),
            Rem => ("%", 6),
            Pow => ("^", 9),
        }
    }

    pub fn symbol(self) -> &'static str {
        self.row().0
    }

    pub fn level(self) -> u8 {
        self.row().1
    }
}
