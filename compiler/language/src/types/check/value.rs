//! What an expression is to the checker: known at compile time, or a typed expression.

use super::scope::Scope;
use super::world::ItemId;
use crate::syntax::ast::{Block, FileId, Ident, Secrecy, Span};
use crate::types::layer;
use crate::types::model::ParamId;
use crate::types::number::Number;
use crate::types::{
    BinOp, Body, Cond, Definition, Dim, Domain, Elem, Expr, ExprKind, Index, ModelId, PartySet,
    SetId, Ty, UnOp, VarId,
};
use std::collections::BTreeMap;
use std::rc::Rc;

/// An error that is already among the diagnostics. Code that receives it reports nothing further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reported;

/// The result of a check.
pub(super) type R<T> = Result<T, Reported>;

/// Smallest and largest of some integers.
pub(super) type Between = (i64, i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SizeVal {
    Int(i64),
    /// A number of which a division rounded, as an argument: where it is put, it is an [`Self::Int`] or refused.
    Rounded(i64),
    /// A real number, by its bits: of a size whose default is one.
    Real(u64),
    Model(ModelId),
}

/// A bracketed argument after evaluation: its name, if written, value and place.
pub(super) type SizeArg = (Option<Ident>, SizeVal, Span);

/// An integer known at compile time up to loop variables.
#[derive(Clone, Debug)]
pub(super) struct IntVal {
    pub index: Index,
    /// The party set whose member it is. Only the variable of a loop over that set has one; a result of
    /// arithmetic has none.
    pub set: Option<SetId>,
    /// A member of a sampled committee, known only at run time.
    pub sampled: bool,
    /// A division in its computation may have rounded. Such a value is not converted to a real number
    /// without a message, because its author may have meant the exact quotient.
    pub rounded: bool,
    /// The model whose tensor number this is. Only the variable of a loop over the tensors of a model has one.
    pub tensor: Option<ModelId>,
}

impl IntVal {
    pub fn new(value: i64) -> IntVal {
        IntVal::of(Index::Const(value))
    }

    pub fn of(index: Index) -> IntVal {
        IntVal { index, set: None, sampled: false, rounded: false, tensor: None }
    }
}

/// A sample statement, as a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleVal {
    pub var: VarId,
    /// Members drawn.
    pub count: u64,
    /// From which set.
    pub of: SetId,
    /// For each member of which set, if of one.
    pub each: Option<SetId>,
}

/// A layer with its sizes, not yet part of a model.
#[derive(Clone, Debug)]
pub(super) struct LayerSpec {
    pub kind: SpecKind,
    pub span: Span,
}

impl LayerSpec {
    /// Whether it is a parameter or a list of them, which the block itself has, and no layer.
    pub fn is_param(&self) -> bool {
        match &self.kind {
            SpecKind::Param(_) => true,
            SpecKind::List(all) => !all.is_empty() && all.iter().all(|(_, one)| one.is_param()),
            SpecKind::Builtin(_) | SpecKind::Block(..) | SpecKind::Function(..) => false,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum SpecKind {
    /// A layer of the compiler.
    Builtin(layer::Layer),
    Block(ItemId, Vec<SizeVal>),
    /// A parameter of this shape.
    Param(Vec<u64>),
    /// A function, which has no parameters.
    Function(ItemId, Vec<SizeArg>),
    /// Several, one applied after the other, with their numbers.
    List(Vec<(i64, LayerSpec)>),
}

/// A layer of a model: its parameters are allocated.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// Dotted name; empty for one without parameters that is written where it is used.
    pub name: String,
    pub kind: SpecKind,
    pub span: Span,
    /// Its own parameters, in declaration order.
    pub params: Vec<ParamId>,
    /// Layers of a block by local name, those of a list by number.
    pub inner: Vec<(String, Rc<Layer>)>,
}

impl Layer {
    /// The layer of a block or list with this name.
    pub fn named(&self, name: &str) -> Option<&Rc<Layer>> {
        self.inner.iter().find(|(n, _)| n == name).map(|(_, layer)| layer)
    }

    /// Whether it is a parameter, and no layer.
    pub fn is_param(&self) -> bool {
        matches!(self.kind, SpecKind::Param(_))
    }

    /// Whether it is a list of parameters.
    pub fn is_params(&self) -> bool {
        let list = matches!(self.kind, SpecKind::List(_)) && !self.inner.is_empty();
        list && self.inner.iter().all(|(_, one)| one.is_param())
    }

    /// Whether it has such parameters, its own or those of what is in it.
    pub fn has_weights(&self, such: &impl Fn(ParamId) -> bool) -> bool {
        let own = self.params.iter().any(|p| such(*p));
        own || self.inner.iter().any(|(_, layer)| layer.has_weights(such))
    }
}

/// A block or model with its sizes.
#[derive(Clone, Copy)]
pub(super) struct Instance<'b> {
    pub id: ItemId,
    pub block: &'b Block,
    pub sizes: &'b [SizeVal],
}

/// What is known of a model that is being built, while its expressions are checked.
#[derive(Debug, Default)]
pub(super) struct Making {
    /// Layers applied so far.
    pub applications: usize,
    /// Variables that stand for parameters.
    pub params: BTreeMap<ParamId, VarId>,
}

/// The value of an expression.
#[derive(Clone, Debug)]
pub(super) enum Val {
    /// An integer known at compile time up to loop variables.
    Int(IntVal),
    /// A real number known at compile time, exactly.
    Real(Box<Number>),
    /// A truth value known at compile time.
    Bool(bool),
    Cond(Cond),
    /// `M.shape`.
    Shape(Vec<u64>),
    Model(ModelId),
    Set(SetId),
    Sample(SampleVal),
    /// `committee[i]`.
    Members(SampleVal, Index),
    /// `a..b`.
    Range(Index, Index),
    /// A function, block or constant by name.
    Item(ItemId),
    /// The same with bracketed arguments.
    Sized(ItemId, Vec<SizeArg>),
    /// A layer that a block declares.
    Layer(Rc<Layer>),
    /// `weights M`, which is applied to what weights are made of.
    Weights(ModelId),
    /// `(a, b)`.
    Tuple(Vec<Val>),
    /// Known at run time.
    Expr(Expr),
    /// The beginning of a parameter's dotted name: `w.conv1`.
    Fields(Expr, String),
    /// An expression with an error, reported before.
    Poison,
}

impl Val {
    /// A number known at compile time.
    pub fn int(value: i64) -> Val {
        Val::Int(IntVal::new(value))
    }

    /// What it is, with an article, for messages.
    pub fn describe(&self) -> &'static str {
        match self {
            Val::Int(_) | Val::Real(_) => "a number",
            Val::Bool(_) | Val::Cond(_) => "a condition",
            Val::Shape(_) => "a shape",
            Val::Model(_) => "a model",
            Val::Set(_) => "a party set",
            Val::Sample(_) => "a sample",
            Val::Members(..) => "a sampled committee",
            Val::Range(..) => "a range",
            Val::Item(_) | Val::Sized(..) => "a function",
            Val::Layer(_) => "a layer",
            Val::Weights(_) => "a type",
            Val::Tuple(_) => "a tuple",
            Val::Expr(_) => "a value",
            Val::Fields(..) => "a layer of a model",
            Val::Poison => "an error",
        }
    }

    /// What a label says of it.
    pub fn this_is(&self) -> String {
        format!("this is {}", self.describe())
    }
}

/// A loop variable that encloses the expression at hand.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub var: VarId,
    pub domain: Domain,
    /// Number of values if the domain is a party set or a committee of one: 0 .. this.
    pub members: u64,
    /// Which of them count.
    pub cond: Option<Cond>,
    /// Steps of an `iterate`, one after the other: each is known at build.
    pub steps: bool,
}

/// A scope: names in order of definition, the latest last.
#[derive(Clone, Debug)]
pub(super) struct Env {
    /// Whose items are visible.
    pub module: usize,
    pub names: Scope<Val>,
    /// Enclosing loops, outermost first.
    pub loops: Vec<Loop>,
    /// The scope of a block: layers, and all names of `std`, are known.
    pub block: bool,
}

impl Env {
    /// An empty scope in a module.
    pub fn new(module: usize) -> Env {
        Env { module, names: Scope::default(), loops: Vec::new(), block: false }
    }

    /// The scope of a block, still without names.
    pub fn of_block(module: usize) -> Env {
        Env { block: true, ..Env::new(module) }
    }

    /// The latest definition of a local name.
    pub fn get(&self, name: &str) -> Option<&Val> {
        self.names.latest(name)
    }

    pub fn set(&mut self, name: &str, val: Val) {
        self.names.push(name, val);
    }
}

pub(super) fn typed(kind: ExprKind, ty: Ty, span: Span) -> Expr {
    Expr { kind, ty, span }
}

/// A value with the definitions that it needs.
pub(super) fn in_place(lets: Vec<Definition>, value: Expr) -> Expr {
    if lets.is_empty() {
        return value;
    }
    let (ty, span) = (value.ty.clone(), value.span);
    typed(ExprKind::Let(Box::new(Body { lets, values: vec![value] })), ty, span)
}

/// A public scalar known at build.
pub(super) fn constant(value: f64, elem: Elem, span: Span) -> Expr {
    typed(ExprKind::Const(value), Ty::scalar(elem, Secrecy::Public), span)
}

/// A condition on loop variables as a public bit.
pub(super) fn cond_expr(cond: &Cond, span: Span) -> Expr {
    let bit = |kind| typed(kind, Ty::scalar(Elem::Bit, Secrecy::Public), span);
    let of = |op, a, b| bit(ExprKind::Binary(op, Box::new(a), Box::new(b)));
    match cond {
        Cond::Compare(op, a, b) => of(*op, index_expr(a, span), index_expr(b, span)),
        Cond::Not(a) => bit(ExprKind::Unary(UnOp::Not, Box::new(cond_expr(a, span)))),
        Cond::And(a, b) => of(BinOp::And, cond_expr(a, span), cond_expr(b, span)),
        Cond::Or(a, b) => of(BinOp::Or, cond_expr(a, span), cond_expr(b, span)),
    }
}

/// An index as a public integer value.
pub(super) fn index_expr(index: &Index, span: Span) -> Expr {
    match index {
        Index::Const(c) => constant(*c as f64, Elem::Int, span),
        other => {
            typed(ExprKind::Index(other.clone()), Ty::scalar(Elem::Int, Secrecy::Public), span)
        }
    }
}

/// Whether a value of element `from` may stand where `to` is wanted: bits count as integers,
/// integers as real numbers.
pub(super) fn fits(from: Elem, to: Elem) -> bool {
    from >= to
}

/// The element that both fit: of two the first in the order of [`Elem`].
pub(super) fn join_elem(a: Elem, b: Elem) -> Elem {
    a.min(b)
}

/// A type as the language writes it, without secrecy: `fix[Client, 10]`, `weights LeNet5[Client]`.
pub(crate) fn ty_text(
    parties: &[PartySet],
    model_name: &dyn Fn(ModelId) -> String,
    ty: &Ty,
) -> String {
    let mut dims = ty.dims.as_slice();
    let mut text = match ty.record {
        Some(model) => {
            dims = &dims[..dims.len().saturating_sub(1)];
            let weights = format!("weights {}", model_name(model));
            match ty.elem {
                Elem::Fix => weights,
                elem => format!("{} {weights}", elem.name()),
            }
        }
        None => ty.elem.name().to_owned(),
    };
    if !dims.is_empty() {
        text.push_str(&dims_text(parties, dims));
    }
    text
}

/// Dimensions: `[Client, 10]`.
pub(crate) fn dims_text(parties: &[PartySet], dims: &[Dim]) -> String {
    let one = |d: &Dim| match d.set.and_then(|s| parties.get(s.0 as usize)) {
        Some(set) => set.name.clone(),
        None if d.ragged() => format!("up to {}", d.size),
        None => d.size.to_string(),
    };
    format!("[{}]", dims.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// A shape: `[1, 28, 28]`.
pub(super) fn shape_text(shape: &[u64]) -> String {
    format!("[{}]", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}

/// `1 entry`, `3 entries`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

/// The beginning of a place that begins with a word.
pub(super) fn first_word(at: Span, word: &str) -> Span {
    Span { end: at.start + word.len() as u32, ..at }
}

/// The beginning of a file, for what the command line says.
pub(super) fn no_span(file: FileId) -> Span {
    Span { file, start: 0, end: 0 }
}
