//! Inputs: found, shaped and in range, or an error that says whose is not.

use super::EvalError;
use super::value::{Tensor, Value};
use crate::noise::Words;
use crate::syntax::ast::Secrecy;
use crate::types::{Elem, Program, SetId, Ty, VarId};
use std::collections::BTreeMap;

/// Inputs of one evaluation. A `weights M` input `w` is either one flat vector under `w`, or a tensor
/// for each parameter under `w.conv1.weight` and so on.
#[derive(Clone, Debug, Default)]
pub struct EvalInputs {
    /// Public inputs by name.
    pub public: BTreeMap<String, Tensor>,
    /// For each party set in order of declaration, the inputs of each member. A set that gives none
    /// may be left out or empty.
    pub sets: Vec<Vec<BTreeMap<String, Tensor>>>,
    /// States that an earlier round has left, by name; the others begin.
    pub states: BTreeMap<String, Tensor>,
    /// What noise is made of.
    pub noise: Words,
}

impl EvalInputs {
    /// Checks that each set that gives inputs has as many members as declared.
    pub(super) fn count_members(&self, program: &Program) -> Result<(), EvalError> {
        for (i, members) in self.sets.iter().enumerate() {
            let set =
                program.parties.get(i).ok_or(EvalError::Malformed("more sets than declared"))?;
            if !members.is_empty() && members.len() as u64 != set.size {
                return Err(EvalError::Members {
                    set: set.name.clone(),
                    found: members.len(),
                    expected: set.size,
                });
            }
        }
        Ok(())
    }

    /// What a state is before this round.
    pub(super) fn state(
        &self,
        program: &Program,
        var: VarId,
        range: (f64, f64),
        start: f64,
    ) -> Result<Value, EvalError> {
        let var =
            program.vars.get(var.0 as usize).ok_or(EvalError::Malformed("no such variable"))?;
        let shape = var.ty.shape();
        if !self.states.contains_key(&var.name) {
            let len = shape.iter().product::<u64>() as usize;
            return Ok(Value::new(shape, vec![start; len]));
        }
        let kept = Giver { who: "the round before".to_owned(), given: &self.states };
        let plain = Ty { record: None, ..var.ty.clone() };
        let data = kept.read(program, &var.name, &plain, &shape, range)?;
        Ok(Value::new(shape, data))
    }

    /// The value of an input variable.
    pub(super) fn read(
        &self,
        program: &Program,
        var: VarId,
        range: (f64, f64),
        from: Option<SetId>,
    ) -> Result<Value, EvalError> {
        let var =
            program.vars.get(var.0 as usize).ok_or(EvalError::Malformed("no such variable"))?;
        let Some(set) = from else {
            let one = Giver { who: "the public inputs".to_owned(), given: &self.public };
            let data = one.read(program, &var.name, &var.ty, &var.ty.shape(), range)?;
            return Ok(Value::new(var.ty.shape(), data));
        };
        if var.ty.secrecy == Secrecy::Public {
            // Who takes part; without word of it all do.
            let shape = var.ty.shape();
            let all = vec![1.0; shape.iter().product::<u64>() as usize];
            let given = self.public.get(&var.name);
            return Ok(Value::new(shape, given.map_or(all, |t| t.data.clone())));
        }
        let party =
            program.parties.get(set.0 as usize).ok_or(EvalError::Malformed("no such party set"))?;
        let members = self.sets.get(set.0 as usize).map_or(&[][..], Vec::as_slice);
        if members.len() as u64 != party.size {
            return Err(EvalError::Members {
                set: party.name.clone(),
                found: members.len(),
                expected: party.size,
            });
        }
        let shape = var.ty.shape();
        let own = shape.get(1..).ok_or(EvalError::Malformed("an input without its set"))?;
        let mut data = Vec::new();
        for (i, given) in members.iter().enumerate() {
            let one = Giver { who: format!("{} {i}", party.name), given };
            data.extend(one.read(program, &var.name, &var.ty, own, range)?);
        }
        Ok(Value::new(shape, data))
    }
}

struct Giver<'a> {
    who: String,
    given: &'a BTreeMap<String, Tensor>,
}

impl Giver<'_> {
    fn read(
        &self,
        program: &Program,
        name: &str,
        ty: &Ty,
        shape: &[u64],
        range: (f64, f64),
    ) -> Result<Vec<f64>, EvalError> {
        let model = ty.record.and_then(|m| program.models.get(m.0 as usize));
        let data = match (model, self.given.get(name)) {
            (Some(model), None) => {
                let mut data = Vec::new();
                for p in &model.params {
                    let field = format!("{name}.{}", p.name);
                    data.extend_from_slice(&self.tensor(&field, &p.shape)?.data);
                }
                data
            }
            _ => self.tensor(name, shape)?.data.clone(),
        };
        let wrong = |x: f64| {
            if x.is_nan() {
                Some("NaN")
            } else if x < range.0 || x > range.1 {
                Some("out of range")
            } else if ty.elem != Elem::Fix && x.fract() != 0.0 {
                Some("not a whole number")
            } else {
                None
            }
        };
        match data.iter().enumerate().find_map(|(i, &x)| wrong(x).map(|why| (i, why))) {
            None => Ok(data),
            Some((at, why)) => {
                Err(EvalError::Value { who: self.who.clone(), name: name.to_owned(), at, why })
            }
        }
    }

    fn tensor(&self, name: &str, shape: &[u64]) -> Result<&Tensor, EvalError> {
        let tensor = self
            .given
            .get(name)
            .ok_or_else(|| EvalError::Missing { who: self.who.clone(), name: name.to_owned() })?;
        let len = shape.iter().product::<u64>();
        if tensor.shape != shape || tensor.data.len() as u64 != len {
            return Err(EvalError::Shape {
                who: self.who.clone(),
                name: name.to_owned(),
                found: tensor.shape.clone(),
                expected: shape.to_vec(),
            });
        }
        Ok(tensor)
    }
}
