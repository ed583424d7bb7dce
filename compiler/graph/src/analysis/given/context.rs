//! What all rules ask: whose values they bound, the graph, its inputs, how truncations round, and what floating point
//! is off by.

use super::deviation::{Deviation, Running};
use super::masks::{Rounding, roundings};
use crate::analysis::guard::Guard;
use crate::analysis::view::{View, times};
use crate::graph::NodeId;
use crate::graph::eval::{self, Coin, EvalError, Inputs};
use std::sync::Arc;

/// A unit of the last place of floating point, for the program's value and for the one that is computed here.
const FLOAT: f64 = 2.0 * f64::EPSILON;

/// Whose values rules bound. Both are compared with the graph's own value, which has rounded factors and nothing else
/// that rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// A run's: it rounds everything else.
    Run,
    /// The program's: it has the factors as they are written.
    Program,
}

pub(super) struct Context<'a> {
    pub whose: Whose,
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
        let roundings = roundings(view.g);
        Context { whose: Whose::Run, view, guards, roundings, inputs, coin, quantile }
    }

    /// For the program, of which `view` is in real numbers.
    pub fn of_program(view: &'a View<'a>, inputs: &'a Inputs, coin: Coin<'a>) -> Context<'a> {
        let (whose, guards, quantile) = (Whose::Program, &[], 0.0);
        Context { whose, view, guards, roundings: Vec::new(), inputs, coin, quantile }
    }

    /// An operation applied to other numbers than its operands.
    pub fn apply(&self, id: NodeId, given: &[&Arc<Vec<f64>>]) -> Result<Arc<Vec<f64>>, EvalError> {
        eval::node(self.view.g, id, given, self.inputs, self.coin)
    }

    /// A value with what is said of it, the smaller bound of each entry.
    pub fn made(&self, value: Arc<Vec<f64>>, off: Deviation) -> Running {
        Running::made(value, off, self.quantile)
    }

    /// How far a factor of a scale may be from the one that is used: a run has the graph's, the program's is the one
    /// that is written.
    pub fn factor(&self, id: NodeId, c: f64) -> f64 {
        if self.whose == Whose::Run { 0.0 } else { self.view.factor_written(id, c) }
    }

    /// What floating point may be off by at an entry, after `terms` roundings of numbers whose sizes add up to `size`:
    /// nothing, if all of them are multiples of a unit that it holds, as integers are, and what a run has `exactly`.
    /// What the program has exactly is off by what is counted of the run already.
    pub fn float(&self, id: NodeId, exactly: bool, size: f64, terms: u64) -> f64 {
        let held = size / self.view.ulp(id) < 53f64.exp2();
        if self.whose == Whose::Program && exactly {
            return 0.0;
        }
        if held && (exactly || self.view.whole(id)) {
            return 0.0;
        }
        times(size, FLOAT * terms as f64)
    }
}
