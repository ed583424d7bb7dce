//! The reference: a program evaluated in floating point (f64), loop by loop as it is written, but for
//! ranks, which are sorted for (`ranks`).
//!
//! It knows nothing of batching, rings, scales or shares: the other representations are tested against it. It shares with
//! them which sums are ranks ([`super::Rank`]), the values of functions and quotients ([`super::domain`]), and the sampler
//! of noise; these are tested by themselves. Of equal entries `argmax` takes the first; `sort` is
//! ascending. Functions and quotients have a value for every operand ([`super::domain`]), the same as in a
//! circuit; [`Arithmetic::Ieee`] gives infinities and NaN instead. Nothing aborts.
//!
//! Lives here: [`eval()`], [`trace`], [`placement`], the input and output types. May not: anything exact or fast.

mod expr;
mod input;
mod model;
mod placement;
mod ranks;
mod value;

#[cfg(test)]
mod tests;

use super::{Lots, Program, Stmt, VarId};
use crate::noise::{Noise, Words};
use ranks::Ranked;
use std::collections::BTreeMap;

pub use input::EvalInputs;
pub use placement::{Placed, Placement, placement};
pub use value::Tensor;
use value::Value;

/// Why a program was not evaluated. No message shows a value of an input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// An input is not there.
    #[error("{who} gives no `{name}`")]
    Missing {
        /// `Client 3`, or `the public inputs`.
        who: String,
        /// Name of the input, or of one of its tensors.
        name: String,
    },
    /// An input has another shape than declared.
    #[error("`{name}` of {who} has shape {found:?}, expected {expected:?}")]
    Shape { who: String, name: String, found: Vec<u64>, expected: Vec<u64> },
    /// An input has an entry that its declaration does not allow.
    #[error("`{name}` of {who}: entry {at} is {why}")]
    Value {
        who: String,
        name: String,
        /// Position in the flat tensor.
        at: usize,
        /// `out of range`, `not a whole number` or `NaN`.
        why: &'static str,
    },
    /// A party set has another number of members than declared.
    #[error("{found} members of {set} give inputs, expected {expected}")]
    Members {
        set: String,
        /// How many give inputs.
        found: usize,
        expected: u64,
    },
    /// The coins gave something else than was asked for.
    #[error("the coins drew no valid numbers for `{0}`")]
    Draw(String),
    /// The program was not made by the checker.
    #[error("malformed program: {0}")]
    Malformed(&'static str),
}

/// Public coins: rows of distinct numbers.
pub type Draw<'a> = &'a dyn Fn(&Lots) -> Vec<Vec<u64>>;

/// What a quotient or a function is where the real one has no value or no word holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// As in a circuit: every operand has a value ([`super::domain`]).
    #[default]
    Total,
    /// As in IEEE 754: infinities and NaN.
    Ieee,
}

/// What an evaluation found.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub reveals: Vec<(String, Tensor)>,
    /// Named values of the predicate (`let`, `sample`) in order.
    pub lets: Vec<(String, Tensor)>,
    /// What each state is in the next round, in order of declaration.
    pub states: Vec<(String, Tensor)>,
}

impl Trace {
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.lets.iter().chain(&self.reveals).find(|(n, _)| n == name).map(|(_, t)| t)
    }
}

/// Evaluates a program; the reveals in order.
///
/// # Errors
///
/// Inputs that are missing or do not fit their declaration, or coins that draw no committees.
pub fn eval(
    program: &Program,
    inputs: &EvalInputs,
    draw: Draw<'_>,
) -> Result<Vec<(String, Tensor)>, EvalError> {
    trace(program, inputs, draw).map(|t| t.reveals)
}

/// As [`eval()`], with every named value of the predicate.
///
/// # Errors
///
/// As [`eval()`].
pub fn trace(program: &Program, inputs: &EvalInputs, draw: Draw<'_>) -> Result<Trace, EvalError> {
    trace_with(program, inputs, draw, Arithmetic::Total)
}

/// As [`trace`], in an arithmetic.
///
/// # Errors
///
/// As [`eval()`].
pub fn trace_with(
    program: &Program,
    inputs: &EvalInputs,
    draw: Draw<'_>,
    arithmetic: Arithmetic,
) -> Result<Trace, EvalError> {
    let mut machine = Machine::new(program, arithmetic);
    let mut out = Trace { reveals: Vec::new(), lets: Vec::new(), states: Vec::new() };
    let mut ranges = BTreeMap::new();
    inputs.count_members(program)?;
    for stmt in &program.body {
        match stmt {
            Stmt::Input { var, range, from } => {
                let value = inputs.read(program, *var, *range, *from)?;
                machine.set(*var, value)?;
            }
            Stmt::State { var, range, start } => {
                let value = inputs.state(program, *var, *range, *start)?;
                ranges.insert(*var, *range);
                machine.set(*var, value)?;
            }
            Stmt::Store { state, value, .. } => {
                let value = machine.expr(value)?.within(ranges.get(state).copied());
                out.states.push((machine.name(*state), value.tensor()));
            }
            Stmt::Let { var, value } => {
                let fixed = machine.fixed(value);
                let value = machine.expr(value)?;
                out.lets.push((machine.name(*var), value.tensor()));
                machine.define(*var, value, fixed)?;
            }
            Stmt::Tuple { vars, body, .. } => {
                for (var, value) in vars.iter().zip(machine.body(body)?) {
                    out.lets.push((machine.name(*var), value.tensor()));
                    machine.set(*var, value)?;
                }
            }
            Stmt::Sample { var, lots } => {
                let value = machine.sample(*var, lots, draw)?;
                out.lets.push((machine.name(*var), value.tensor()));
                machine.set(*var, value)?;
            }
            Stmt::Noise { var, noise, number } => {
                let value = machine.noise(*var, noise, *number, &inputs.noise)?;
                out.lets.push((machine.name(*var), value.tensor()));
                machine.set(*var, value)?;
            }
            Stmt::Reveal { value, name, .. } => {
                let value = machine.expr(value)?;
                out.reveals.push((name.clone(), value.tensor()));
            }
        }
    }
    Ok(out)
}

struct Machine<'p> {
    program: &'p Program,
    /// Division and functions as in IEEE 754.
    ieee: bool,
    /// By variable. Functions do not recurse, so a variable has one value at a time.
    values: Vec<Option<Value>>,
    /// Whether this value is the same whatever is given.
    fixed: Vec<bool>,
    /// Values of loop variables.
    indices: Vec<i64>,
    ranked: Ranked,
}

impl<'p> Machine<'p> {
    fn new(program: &'p Program, arithmetic: Arithmetic) -> Machine<'p> {
        Machine {
            program,
            ieee: arithmetic == Arithmetic::Ieee,
            values: vec![None; program.vars.len()],
            fixed: vec![false; program.vars.len()],
            indices: vec![0; program.vars.len()],
            ranked: Ranked::default(),
        }
    }

    fn name(&self, var: VarId) -> String {
        self.program.vars.get(var.0 as usize).map_or_else(String::new, |v| v.name.clone())
    }

    /// Gives a variable a value that depends on what is given.
    fn set(&mut self, var: VarId, value: Value) -> Result<(), EvalError> {
        self.define(var, value, false)
    }

    fn define(&mut self, var: VarId, value: Value, fixed: bool) -> Result<(), EvalError> {
        let at = var.0 as usize;
        let (Some(slot), Some(is_fixed)) = (self.values.get_mut(at), self.fixed.get_mut(at)) else {
            return Err(EvalError::Malformed("no such variable"));
        };
        (*slot, *is_fixed) = (Some(value), fixed);
        Ok(())
    }

    fn noise(
        &self,
        var: VarId,
        noise: &Noise,
        number: u32,
        words: &Words,
    ) -> Result<Value, EvalError> {
        let var = self.program.vars.get(var.0 as usize);
        let shape = var.ok_or(EvalError::Malformed("no such variable"))?.ty.shape();
        let n = shape.iter().product::<u64>() as usize;
        Ok(Value::new(shape, noise.values(n, &|i| words.word(number, i))))
    }

    fn sample(&self, var: VarId, lots: &Lots, draw: Draw<'_>) -> Result<Value, EvalError> {
        let drawn = draw(lots);
        if !lots.fit(&drawn) {
            return Err(EvalError::Draw(self.name(var)));
        }
        let shape = self.program.vars.get(var.0 as usize).map(|v| v.ty.shape());
        let shape = shape.ok_or(EvalError::Malformed("no such variable"))?;
        let data = drawn.into_iter().flatten().map(|j| j as f64).collect();
        Ok(Value::new(shape, data))
    }
}
