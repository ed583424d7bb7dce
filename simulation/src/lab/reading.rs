//! What the reveals of a predicate mean for the global model: which of them is the aggregate, and whether it is a sum.
//!
//! The aggregate is the first reveal that is as long as the model. It is added as it is. Two things are otherwise, and both are
//! seen in what the predicate computes, whatever its names are:
//!
//! - Integers are the signs of a vote. They move every weight by [`SIGN_STEP`].
//! - A sum that somebody still has to divide comes with its divisor. So the lab gives all clients the same update v, and
//!   looks for a revealed number t with which the vector is t v. It does so for a short and for a longer v: a mean beside a
//!   number that says something else, as how many updates are long, is not divided.

use super::fast::{Drawn, Fast, lots};
use super::fill::{self, FillError, ModelShape, Role};
use crate::data::Dataset;
use crate::random::{Purpose, Random};
use crate::reverse::TapeError;
use slvr_compiler::graph::Graph;
use slvr_compiler::noise::Words;
use slvr_compiler::types::Elem;
use std::fmt;

/// How far a vote on signs moves a weight.
pub const SIGN_STEP: f64 = 0.01;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// As it is.
    Plain,
    Divided(String),
    /// As signs, each a step of [`SIGN_STEP`].
    Signs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The reveal that is applied to the global model.
    pub aggregate: String,
    pub how: How,
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.aggregate;
        match &self.how {
            How::Plain => write!(f, "`{name}`"),
            How::Divided(by) => write!(f, "`{name}` divided by `{by}`"),
            How::Signs => write!(f, "`{name}`, as signs of {SIGN_STEP} each"),
        }
    }
}

/// What all clients would send, in turn: parts of the end of the range.
const SCALES: [f64; 2] = [0.001, 0.1];

/// How close t v is.
const CLOSE: f64 = 1e-6;

impl Reading {
    /// By the rule of the module. `sample` stands for the samples that clients and the server give.
    pub fn of(
        fast: &Fast,
        roles: &[Role],
        model: &ModelShape,
        sample: &Dataset,
    ) -> Result<Reading, FillError> {
        let graph = fast.graph();
        let (aggregate, elem) = first(graph, model.len)?;
        if elem != Elem::Fix {
            return Ok(Reading { aggregate, how: How::Signs });
        }
        let numbers: Vec<&str> =
            revealed(graph).filter(|(_, len)| *len == 1).map(|(n, _)| n).collect();
        // The probe may fail where inputs have nothing to do with each other; then nothing is known to be a divisor.
        let found = match numbers.is_empty() {
            true => None,
            false => divisor(fast, roles, model, sample, (&aggregate, &numbers)).unwrap_or(None),
        };
        Ok(Reading { aggregate, how: found.map_or(How::Plain, How::Divided) })
    }

    /// As a caller says it: `NAME`, or `NAME/DIVISOR`.
    pub fn said(graph: &Graph, model: &ModelShape, text: &str) -> Result<Reading, FillError> {
        let (name, by) = text.split_once('/').map_or((text, None), |(n, by)| (n, Some(by)));
        let all = || revealed(graph).map(|(n, _)| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let wrong = |what: String| FillError::Aggregate { what, all: all() };
        let len = |of: &str| revealed(graph).find(|(n, _)| *n == of).map(|(_, len)| len);
        match len(name) {
            Some(found) if found == model.len => {}
            Some(_) => {
                return Err(wrong(format!("`{name}` has not {} entries, as the model", model.len)));
            }
            None => return Err(wrong(format!("there is no reveal `{name}`"))),
        }
        let how = match by {
            Some(by) if len(by) == Some(1) => How::Divided(by.to_string()),
            Some(by) => {
                return Err(wrong(format!("there is no revealed number `{by}` to divide by")));
            }
            None if elem_of(graph, name) != Some(Elem::Fix) => How::Signs,
            None => How::Plain,
        };
        Ok(Reading { aggregate: name.to_string(), how })
    }

    /// The change of the global model. A divisor of 0 stands for nobody who counts, and changes nothing.
    pub fn change(&self, outputs: &[(String, Vec<f64>)], len: usize) -> Option<Vec<f32>> {
        let of = |name: &str| outputs.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_slice());
        let sum = of(&self.aggregate).filter(|v| v.len() == len)?;
        let by = match &self.how {
            How::Plain => 1.0,
            How::Signs => SIGN_STEP,
            How::Divided(by) => match of(by)? {
                [0.0] => 0.0,
                [total] => 1.0 / total,
                _ => return None,
            },
        };
        // How many have voted for a sign is not how far a weight moves.
        let of = |x: &f64| if self.how == How::Signs && *x != 0.0 { x.signum() } else { *x };
        Some(sum.iter().map(|x| (of(x) * by) as f32).collect())
    }
}

/// Reveals and their lengths; states are none.
fn revealed(graph: &Graph) -> impl Iterator<Item = (&str, usize)> {
    let all = graph.outputs.iter().filter(|o| o.state.is_none());
    all.map(|o| (o.name.as_str(), graph.elements(o.node) as usize))
}

fn elem_of(graph: &Graph, name: &str) -> Option<Elem> {
    let output = graph.outputs.iter().find(|o| o.state.is_none() && o.name == name);
    output.map(|o| graph.ty(o.node).elem)
}

fn first(graph: &Graph, len: usize) -> Result<(String, Elem), FillError> {
    let (name, _) =
        revealed(graph).find(|(_, n)| *n == len).ok_or(FillError::NoAggregate { len })?;
    Ok((name.to_string(), elem_of(graph, name).unwrap_or(Elem::Fix)))
}

/// The revealed number with which the vector is that number times what all clients send alike.
fn divisor(
    fast: &Fast,
    roles: &[Role],
    model: &ModelShape,
    sample: &Dataset,
    (vector, numbers): (&str, &[&str]),
) -> Result<Option<String>, TapeError> {
    let graph = fast.graph();
    let members = graph.parties.iter().map(|(_, members)| *members as usize).max().unwrap_or(1);
    let (_, end) = fill::update_range(graph, roles);
    let mut random = Random::new(0, Purpose::Caller, [0, 2]);
    let unit: Vec<f64> = (0..model.len).map(|_| 2.0 * random.uniform() - 1.0).collect();
    let mut left: Vec<(&str, bool)> = numbers.iter().map(|n| (*n, false)).collect();
    for (turn, scale) in SCALES.into_iter().enumerate() {
        let by = scale * f64::from(end.min(8.0));
        let v: Vec<f32> = unit.iter().map(|x| (x * by) as f32).collect();
        let zeros = vec![0.0; model.len];
        let counts: Vec<usize> = (0..members).map(|i| 3 + 4 * turn + i % 3).collect();
        let offered = fill::Round {
            index: turn,
            seed: 0,
            global: &zeros,
            updates: &vec![v.clone(); members],
            validation: &vec![sample.clone(); members],
            counts: &counts,
            reference: &v,
            last: &v,
            public: sample,
        };
        let flat = fill::fill(graph, roles, model, &offered).flat;
        // What was sent is what was filled: ranges cut.
        let sent = graph.inputs.iter().zip(roles).position(|(_, role)| *role == Role::Update);
        let sent: Vec<f64> = sent.map_or_else(Vec::new, |i| flat[i][..model.len].to_vec());
        let drawn = Drawn { coin: &lots(0), noise: &Words::of(0), forged: None };
        let found = fast.evaluate(&flat, &drawn, None)?.values;
        let of = |name: &str| found.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_slice());
        let Some(vector) = of(vector) else { return Ok(None) };
        left.retain_mut(|(name, telling)| {
            let Some([t]) = of(name) else { return false };
            let most = sent.iter().map(|x| (t * x).abs()).fold(0.0, f64::max);
            *telling |= (t.abs() - 1.0).abs() > CLOSE && *t != 0.0;
            let near = |(a, x): (&f64, &f64)| (a - t * x).abs() <= CLOSE * most + 1e-12;
            vector.iter().zip(&sent).all(near)
        });
    }
    Ok(left.into_iter().find(|(_, telling)| *telling).map(|(name, _)| name.to_string()))
}
