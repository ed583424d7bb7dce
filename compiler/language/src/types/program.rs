//! The typed program: sizes bound, names resolved, shapes and secrecy known.
//!
//! It is monomorphic: every function and model appears once per choice of its size arguments and
//! argument types, so every size below is a number. Comprehensions are still comprehensions; the
//! graph builder turns them into batch axes.

use super::expr::{Body, Expr, SetId, Ty, VarId};
use super::model::Model;
use crate::noise::Noise;
use crate::syntax::ast::Span;
use slvr_circuit::Lots;

/// A tensor of a program has at most this many dimensions, and a value of its graph as many with the loops
/// around it: a circuit's have two more, for what protocols add.
pub const MAX_RANK: usize = 10;

/// A predicate with everything it needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub name: String,
    /// Sizes, models and parameters as bound, in declaration order, as text.
    pub sizes: Vec<(String, String)>,
    /// Party sets in declaration order.
    pub parties: Vec<PartySet>,
    pub models: Vec<Model>,
    /// Function instances; a callee stands before its callers.
    pub functions: Vec<Function>,
    /// Every variable of the predicate and of all function instances.
    pub vars: Vec<Var>,
    /// Statements of the predicate in order.
    pub body: Vec<Stmt>,
    /// Demands on the certificate.
    pub demands: Vec<Demand>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartySet {
    pub name: String,
    pub size: u64,
    /// The size of the predicate that is this number, if the declaration names one: binding another number to it makes
    /// the same check for another number of members.
    pub named: Option<String>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    pub name: String,
    /// Type. A loop variable is a public `int` scalar.
    pub ty: Ty,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    /// Parameters; those of a tuple one after another.
    pub params: Vec<VarId>,
    /// Definitions and results: several for a tuple.
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// An input. With `from: Some(set)` the variable's first dimension ranges over that set.
    Input {
        var: VarId,
        /// Smallest and largest allowed value, both included (for `int in a..b`: b - 1).
        range: (f64, f64),
        /// The set whose members each give one; `None` if public.
        from: Option<SetId>,
    },
    Let {
        var: VarId,
        value: Expr,
    },
    /// Definitions of the parts of a tuple.
    Tuple {
        /// The variables; as many as the body has values.
        vars: Vec<VarId>,
        body: Body,
        /// Where the value stands.
        span: Span,
    },
    /// What the parties keep shares of from round to round.
    State {
        var: VarId,
        /// Smallest and largest value, both included: what is stored beyond becomes the nearer end.
        range: (f64, f64),
        /// Every entry before the first round.
        start: f64,
    },
    /// What a state is in the next round.
    Store {
        /// The variable of the state.
        state: VarId,
        /// Its value in the next round, before it is kept in the state's range.
        value: Expr,
        span: Span,
    },
    Sample {
        /// The variable: public integers, in as many rows as are drawn.
        var: VarId,
        lots: Lots,
    },
    /// Noise that nobody knows: each entry by itself.
    Noise {
        var: VarId,
        noise: Noise,
        /// Its place among all noises of the program.
        number: u32,
    },
    Reveal {
        value: Expr,
        /// The receiver. Of a set of several members each gets an entry of the first dimension.
        to: SetId,
        /// Its name after `as`.
        name: String,
        span: Span,
    },
}

/// A demand on the certificate (`require failure <= 2^-40`).
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    pub what: Bounded,
    /// By how much, from above, but for a cut.
    pub bound: f64,
    pub span: Span,
}

/// What a demand bounds.
#[derive(Clone, Debug, PartialEq)]
pub enum Bounded {
    /// The probability that anything in the run is wrong by more than its stated error.
    Failure,
    /// The absolute error of a named value.
    Error(VarId),
    /// From below: where values of deep networks may be cut, in the program as it is stated. It accepts such cuts.
    Cut,
    /// What noise lets through of a client in so many rounds, at a delta.
    Epsilon {
        /// Between 0 and 1.
        delta: f64,
        /// At least 1.
        rounds: u64,
    },
}
