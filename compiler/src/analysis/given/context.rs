//! What all rules ask of a run: its graph, its inputs, how its truncations round, and what floating point is off by.

use super::deviation::{Deviation, Running};
use super::masks::{Rounding, roundings};
use crate::analysis::guard::Guard;
use crate::analysis::view::{View, times};
use crate::graph::eval::{self, Coin, EvalError, Inputs};
use crate::graph::{NodeId, Op};
use std::sync::Arc;

/// A unit of the last place of floating point, for the program's value and for the one that is computed here.
const FLOAT: f64 = 2.0 * f64::EPSILON;
/// What 16 significant bits leave of a constant factor.
const FACTOR: f64 = 1.0 / 65536.0;

pub(super) struct Context<'a> {
    pub view: &'a View<'a>,
    /// How inputs are enforced.
    pub guards: &'a [Guard],
    /// By index of the node.
    pub roundings: Vec<Rounding>,
    inputs: &'a Inputs,
    coin: Coin<'a>,
    quantile: f64,
}

impl<'a> Context<'a> {
    pub fn new(
        view: &'a View<'a>,
        guards: &'a [Guard],
        (inputs, coin): (&'a Inputs, Coin<'a>),
        quantile: f64,
    ) -> Context<'a> {
        Context { view, guards, roundings: roundings(view.g), inputs, coin, quantile }
    }

    /// An operation applied to other numbers than its operands.
    pub fn apply(&self, id: NodeId, given: &[&Arc<Vec<f64>>]) -> Result<Arc<Vec<f64>>, EvalError> {
        eval::node(self.view.g, id, given, self.inputs, self.coin)
    }

    /// A value with what is said of it, the smaller bound of each entry.
    pub fn made(&self, value: Arc<Vec<f64>>, off: Deviation) -> Running {
        Running::made(value, off, self.quantile)
    }

    /// What a factor of a scale may differ from the program's: it has 16 significant bits. As in
    /// [`crate::analysis::errors`], a factor of an integer that stays one is exact.
    pub fn factor(&self, id: NodeId, c: f64) -> f64 {
        let view = self.view;
        let halved = || view.g.users(id).iter().any(|&u| matches!(view.op(u), Op::DivPow2(_)));
        let exact = c == 0.0 || (view.whole(id) && c.abs() < 32768.0 && !halved());
        if exact { 0.0 } else { c.abs() * FACTOR }
    }

    /// What floating point may be off by at an entry, after `terms` roundings of numbers whose sizes add up to `size`:
    /// nothing, if all of them are multiples of a unit that it holds, as integers are, and what a run has `exactly`.
    pub fn float(&self, id: NodeId, exactly: bool, size: f64, terms: u64) -> f64 {
        let held = size / self.view.ulp(id) < 53f64.exp2();
        if held && (exactly || self.view.whole(id)) {
            return 0.0;
        }
        times(size, FLOAT * terms as f64)
    }
}
