//! Reading inputs: shapes and entries are checked, labels become one-hot.

use super::data::{EvalError, Inputs, Tensors};
use super::word::Word;
use crate::graph::{Giver, Graph, Input};
use slvr_language::types::Elem;

/// The value of an input: what its giver, or each in turn, gives.
pub(super) fn load<W: Word>(
    graph: &Graph,
    input: &Input,
    inputs: &Inputs,
) -> Result<Vec<W>, EvalError> {
    let mut out = Vec::new();
    let (given, of, without) = match input.from {
        Giver::Each(set) => {
            members(graph, input, (inputs, set), &mut out)?;
            return Ok(out);
        }
        Giver::Public => (&inputs.public, "(public)", None),
        // Without word of it all are there.
        Giver::Present(_) => (&inputs.public, "(presence)", Some(1.0)),
        Giver::State(start) => (&inputs.states, "(state)", Some(start)),
    };
    let without = without.filter(|_| !given.contains_key(&input.name)).map(|x| {
        let entries = vec![x; input.shape.iter().product::<u64>() as usize];
        Tensors::from([(input.name.clone(), entries)])
    });
    one(graph, input, without.as_ref().unwrap_or(given), of, &mut out)?;
    Ok(out)
}

fn members<W: Word>(
    graph: &Graph,
    input: &Input,
    (inputs, set): (&Inputs, u32),
    out: &mut Vec<W>,
) -> Result<(), EvalError> {
    let (name, size) = &graph.parties[set as usize];
    let members = inputs.sets.get(set as usize).map_or(&[][..], Vec::as_slice);
    if members.len() as u64 != *size {
        let (set, found) = (name.clone(), members.len());
        return Err(EvalError::Members { set, expected: *size, found });
    }
    for (i, member) in members.iter().enumerate() {
        one(graph, input, member, &format!("of {name} {i}"), out)?;
    }
    Ok(())
}

fn one<W: Word>(
    graph: &Graph,
    input: &Input,
    given: &Tensors,
    of: &str,
    out: &mut Vec<W>,
) -> Result<(), EvalError> {
    let (name, of) = (|| input.name.clone(), || of.to_string());
    let data =
        given.get(&input.name).ok_or_else(|| EvalError::Missing { name: name(), of: of() })?;
    let expected = input.shape.iter().product();
    if data.len() as u64 != expected {
        let found = data.len();
        return Err(EvalError::Length { name: name(), of: of(), expected, found });
    }
    let refuse =
        |entry, why: &str| EvalError::Entry { name: name(), of: of(), entry, why: why.to_string() };
    let beyond = |entry| refuse(entry, &format!("beyond {} bits", W::BITS));
    let frac = graph.input_frac(input);
    out.reserve(data.len() * input.one_hot.unwrap_or(1) as usize);
    for (entry, &x) in data.iter().enumerate() {
        match input.elem {
            _ if !x.is_finite() => return Err(refuse(entry, "not a number")),
            Elem::Int if x.fract() != 0.0 => return Err(refuse(entry, "not an integer")),
            Elem::Bit if x != 0.0 && x != 1.0 => return Err(refuse(entry, "not a bit")),
            _ => {}
        }
        match input.one_hot {
            None => out.push(W::encode(x, frac).ok_or_else(|| beyond(entry))?),
            Some(classes) if x < 0.0 || x >= classes as f64 => {
                return Err(refuse(entry, "not one of the classes"));
            }
            Some(classes) => out.extend((0..classes).map(|c| W::bit(c == x as u64))),
        }
    }
    Ok(())
}
