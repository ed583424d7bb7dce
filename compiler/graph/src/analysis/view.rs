//! A graph with what all rules ask of it, and products of errors.

use crate::analysis::layout::Layout;
use crate::analysis::stated::StatedErrors;
use crate::graph::{Graph, NodeId, Op};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;

/// A graph with what is asked of it often, and the errors that its protocols state.
pub(in crate::analysis) struct View<'a> {
    pub g: &'a Graph,
    pub stated: &'a StatedErrors,
    /// Whether nothing rounds: constants are those of the program, too.
    pub reals: bool,
    layouts: Vec<Option<Layout<'a>>>,
}

impl<'a> View<'a> {
    pub fn new(g: &'a Graph, stated: &'a StatedErrors) -> View<'a> {
        let layouts = g.ids().map(|id| Layout::of(g, id)).collect();
        View { g, stated, reals: false, layouts }
    }

    /// The graph in real numbers.
    pub fn of_reals(g: &'a Graph, nothing: &'a StatedErrors) -> View<'a> {
        View { reals: true, ..View::new(g, nothing) }
    }

    /// How far the entries of a constant are from those that a circuit has.
    pub fn table_rounding(&self, data: &[f64], frac: u32) -> f64 {
        let most = || data.iter().map(|&x| off_grid(x, frac)).fold(0.0, f64::max);
        if self.reals { 0.0 } else { most() }
    }

    /// How far the factor of a scale may be from the one that the program has: that of an integer is exact, others
    /// have 16 significant bits.
    pub fn factor_rounding(&self, id: NodeId, c: f64) -> f64 {
        if self.reals { 0.0 } else { self.factor_written(id, c) }
    }

    /// How far the factor that a graph with scales has may be from the one that is written.
    pub fn factor_written(&self, id: NodeId, c: f64) -> f64 {
        if self.whole(id) { 0.0 } else { c.abs() * 2f64.powi(-16) }
    }

    /// Where entries of a node come from that are only moved.
    pub fn layout(&self, id: NodeId) -> Option<&Layout<'a>> {
        self.layouts[id.index()].as_ref()
    }

    pub fn args(&self, id: NodeId) -> &'a [NodeId] {
        self.g.args(id)
    }

    pub fn op(&self, id: NodeId) -> &Op {
        self.g.op(id)
    }

    pub fn shape(&self, id: NodeId) -> &[u64] {
        self.g.shape(id)
    }

    /// One unit in the last place, in real units.
    pub fn ulp(&self, id: NodeId) -> f64 {
        self.g.ulp(id)
    }

    /// How far a truncated value may be from its operand.
    pub fn truncation(&self, id: NodeId) -> f64 {
        match self.g.ty(id).secrecy {
            _ if self.reals => 0.0,
            Secrecy::Secret => self.stated.truncation * self.ulp(id),
            Secrecy::Public => self.ulp(id) / 2.0,
        }
    }

    /// Whether a value is max(x, 0) to within so many units of x. None, if it is something else. The sign may be that
    /// of what x was truncated from: where that is negative, x is at most 0. And x may be what was truncated.
    pub fn relu_of(&self, id: NodeId, x: NodeId) -> Option<f64> {
        let is_cut = |part: NodeId, of: NodeId, by: u32| {
            *self.op(part) == Op::Trunc(by) && self.args(part)[0] == of
        };
        match (self.op(id), self.args(id)) {
            (Op::Relu, &[of]) => (of == x).then_some(0.0),
            (Op::Gate, &[of, sign]) if of == x => {
                let cut = matches!(self.op(x), Op::Trunc(_)) && self.args(x)[0] == sign;
                (sign == x || cut).then_some(0.0)
            }
            (Op::Shift(by), &[gate]) => match (self.op(gate), self.args(gate)) {
                (Op::Gate, &[part, sign]) if sign == x && is_cut(part, x, *by) => {
                    Some(f64::from(*by).exp2())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// An integer or bit that no rounding touches, by its type.
    pub fn whole(&self, id: NodeId) -> bool {
        self.g.ty(id).elem != Elem::Fix
    }
}

/// The product, where an error of 0 stays 0 times anything.
pub(in crate::analysis) fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// How far a circuit's constant of so many fraction bits is from the number.
pub(in crate::analysis) fn off_grid(x: f64, frac: u32) -> f64 {
    let unit = f64::from(frac).exp2();
    (x * unit - (x * unit).round()).abs() / unit
}
