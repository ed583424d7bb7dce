//! The rule of each operation, by kind.

use super::context::{Context, Whose};
use super::deviation::{Noise, Running};
use super::masks::Rounding;
use super::{decide, linear, point};
use crate::analysis::guard::{Guard, UPLOAD};
use crate::analysis::order;
use crate::analysis::view::off_grid;
use crate::graph::eval::EvalError;
use crate::graph::{NodeId, Op, Table};
use std::sync::Arc;

impl Context<'_> {
    /// A node's value, from those of its operands.
    pub fn value(&self, id: NodeId, given: &[&Running]) -> Result<Arc<Vec<f64>>, EvalError> {
        let values: Vec<&Arc<Vec<f64>>> = given.iter().map(|x| &x.value).collect();
        self.apply(id, &values)
    }

    /// A node of this value, from its operands. `all` has what else is still alive.
    pub fn node(
        &self,
        id: NodeId,
        value: Arc<Vec<f64>>,
        given: &[&Running],
        all: &[Option<Running>],
    ) -> Result<Running, EvalError> {
        let exact = given.iter().all(|x| x.off.is_none());
        let op = self.view.op(id);
        // Only factors are others in the program.
        if self.whose == Whose::Program && exact && !matches!(op, Op::Scale(_)) {
            return Ok(Running::exact(value));
        }
        let found = match op {
            Op::Input(i) => self.input(id, *i, value),
            Op::Draw(_) | Op::Pairs { .. } | Op::Places(_) | Op::Noise { .. } => {
                Running::exact(value)
            }
            Op::Const(table, _, frac) => self.constant(value, table, frac.unwrap_or(0)),

            Op::Add
            | Op::Sub
            | Op::Neg
            | Op::Scale(_)
            | Op::DivPow2(_)
            | Op::MulPow2(_)
            | Op::Mul
            | Op::MatMul { .. }
            | Op::Conv2d { .. }
            | Op::Sum(_) => {
                let found = linear::arithmetic(self, id, given, value)?;
                self.by_rank(id, found, all)
            }
            Op::Reshape(_)
            | Op::Transpose(_)
            | Op::Slice { .. }
            | Op::Concat(_)
            | Op::Broadcast(_)
            | Op::Gather { .. }
            | Op::Shift(_) => linear::moved(self, id, given, value)?,
            // The program rounds nothing, and cuts nothing so that it fits.
            Op::Trunc(_) | Op::Saturate(_) if self.whose == Whose::Program => {
                Running { value, off: given[0].off.clone() }
            }
            Op::Trunc(_) => self.truncation(id, given[0], value),

            Op::ToInt | Op::Not => Running { value, off: given[0].off.clone() },
            Op::Relu => point::relu(self, given[0], value),
            Op::Abs => point::abs(self, given[0], value),
            Op::Saturate(top) => point::saturate(self, given[0], value, f64::from(*top).exp2()),
            Op::Gate => point::gate(self, given, value),
            Op::Function(f) => point::function(self, id, *f, given[0], value),
            Op::Div => point::quotient(self, id, given, value),

            // From here on nothing rounds.
            _ if exact => Running::exact(value),
            Op::Lt | Op::Eq => decide::comparison(self, id, given, value),
            Op::And | Op::Xor => decide::bits(self, id, given, value),
            Op::Select => decide::select(self, id, given, value)?,
            Op::ArgMax | Op::ArgMaxIs => decide::largest(self, id, given, value),
            Op::OneHot(classes) => decide::one_hot(given[0], value, *classes as usize),
            Op::Max(_) | Op::Min(_) | Op::Sort | Op::SortSum { .. } | Op::MaxPool { .. } => {
                decide::ordered(self, id, given[0], value)?
            }
        };
        Ok(if self.view.whole(id) { found.whole() } else { found })
    }

    /// Inputs are encoded already. What is lifted at the very end of its small ring may be a unit less.
    fn input(&self, id: NodeId, i: u32, value: Arc<Vec<f64>>) -> Running {
        let Some(Guard::Lift { shift }) = self.guards.get(i as usize) else {
            return Running::exact(value);
        };
        let ulp = self.view.ulp(id);
        let most = (f64::from(UPLOAD - 2 - shift).exp2() - 1.0) * ulp;
        let off = value.iter().map(|x| if x.abs() > most { ulp } else { 0.0 }).collect();
        Running::within(value, off)
    }

    /// The circuit's constants are rounded to their scale.
    fn constant(&self, value: Arc<Vec<f64>>, table: &Table, frac: u32) -> Running {
        let worst = (0..table.len()).map(|i| off_grid(table.at(i), frac)).collect();
        Running::within(value, worst)
    }

    fn truncation(&self, id: NodeId, x: &Running, value: Arc<Vec<f64>>) -> Running {
        let ulp = self.view.ulp(id);
        let rounding = self.roundings[id.index()];
        let most = self.view.truncation(id);
        // What is on the grid stays as it is.
        let own = |i: usize| {
            let there = x.bound(i) == 0.0 && (x.value[i] / ulp).fract() == 0.0;
            if there { 0.0 } else { most }
        };
        let n = value.len();
        let mut off = x.deviation();
        if rounding == Rounding::Martingale {
            let noise = off.noise.get_or_insert_with(|| Noise::rest(off.worst.clone()));
            // Of two values that are a unit apart, with mean 0: the variance proxy is at most a quarter.
            for i in (0..n).filter(|&i| own(i) > 0.0) {
                noise.fresh[i] += 0.25 * ulp * ulp;
            }
        } else if let Some(noise) = &mut off.noise {
            noise.rest.iter_mut().enumerate().for_each(|(i, r)| *r += own(i));
        }
        for i in 0..n {
            off.worst[i] = off.worst[i].min(x.bound(i)) + own(i);
        }
        self.made(value, off)
    }

    /// Sums of values by their rank are no further off than the values, whichever order a run finds.
    fn by_rank(&self, id: NodeId, found: Running, all: &[Option<Running>]) -> Running {
        if found.off.is_none() || !matches!(self.view.op(id), Op::Sum(_) | Op::MatMul { .. }) {
            return found;
        }
        let Some(ranked) = order::of_values(self.view, id) else { return found };
        let Some(values) = &all[ranked.values.index()] else { return found };
        let most = values.bounds().iter().copied().fold(0.0, f64::max);
        let limit = ranked.entries() * (most + ranked.slack(self.view));
        let Some(mut off) = found.off else { return found };
        off.worst.iter_mut().for_each(|x| *x = x.min(limit));
        self.made(found.value, off)
    }
}
