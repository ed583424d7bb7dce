//! The verifier: what every graph satisfies, before and after every pass.
//!
//! 1. **Order.** The operands of a node have smaller ids than the node.
//! 2. **Types.** Every node has the type that [`infer`](infer::infer) gives; in particular the number
//!    of its operands is right and shapes and scales fit.
//! 3. **Sites.** The site of every node and output exists.
//! 4. **Inputs.** Names are unique; the giving party set exists; the range is an interval of numbers;
//!    the fields of a record fill its last axis exactly; a bit has a range within 0..1; a one-hot
//!    input is a plain `int` whose range lies within 0 .. classes - 1.
//! 5. **Outputs.** Names are unique; the node and the receiving party set exist; factor and divisor are a
//!    number other than 0; the fields of a record fill the last axis exactly.
//! 6. **Scales.** Either the graph has fraction bits and every number (`fix` or `int`) has a scale,
//!    or none has. Bits never have one, also not in [`Op::Const`]. Scales are below 64 bits, so
//!    truncations and shifts are, too.
//! 7. **Constants.** Entries are finite; those of `bit` are 0 or 1, those of `int` integers; with a
//!    scale they fit 64 bits.
//! 8. **Indices.** The index of a gather is a public `int` of scale 0, and a constant one is in range.
//! 9. **Labels.** The operand of [`Op::OneHot`] is an `int` (if constant, within 0 .. classes), and so
//!    is the second one of [`Op::ArgMaxIs`].
//! 10. **Attributes.** A stride is at least 1; a committee has fewer drawn than others; the axis that
//!     `max`, `min`, `argmax`, `argmax_is` reduce is not empty; a factor is finite, and once scales are
//!     known it is an integer below 2^63.

use super::op::need;
use super::text::type_text;
use super::{Giver, Graph, Node, NodeId, Op, Type, infer, ranks};
use slvr_language::noise::Noise;
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;
use std::collections::BTreeSet;

#[cfg(test)]
mod tests;

/// Which invariant is broken, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// Invariant 1.
    #[error("%{node}: operand %{operand} does not precede it")]
    Order { node: usize, operand: usize },
    /// Invariants 2, 3 and 6 to 10, of a node.
    #[error("%{node} = {op}: {why}")]
    Node { node: usize, op: &'static str, why: String },
    /// Invariant 4.
    #[error("input {input} ({name}): {why}")]
    Input { input: usize, name: String, why: &'static str },
    /// Invariants 3 and 5, of an output.
    #[error("output {output} ({name}): {why}")]
    Output { output: usize, name: String, why: &'static str },
}

/// Checks all invariants of the module docs; the first violation in node order is the error.
pub fn verify(graph: &Graph) -> Result<(), VerifyError> {
    // Inputs first: the typing rule of `input` reads the party sets.
    inputs(graph)?;
    for id in graph.ids() {
        node(graph, id)?;
    }
    outputs(graph)
}

fn inputs(graph: &Graph) -> Result<(), VerifyError> {
    let mut names = BTreeSet::new();
    for (i, input) in graph.inputs.iter().enumerate() {
        let check = |ok: bool, why: &'static str| match ok {
            true => Ok(()),
            false => Err(VerifyError::Input { input: i, name: input.name.clone(), why }),
        };
        let (lo, hi) = input.range;
        check(names.insert(&input.name), "another input has this name")?;
        check(
            input.from.set().is_none_or(|set| (set as usize) < graph.parties.len()),
            "the party set that gives it does not exist",
        )?;
        check(lo <= hi, "its range is empty or not a number")?;
        check(fields_fill(&input.fields, &input.shape), "its fields do not fill its last axis")?;
        check(
            input.elem != Elem::Bit || (0.0..=1.0).contains(&lo) && (0.0..=1.0).contains(&hi),
            "the range of a bit lies within 0..1",
        )?;
        if let Some(classes) = input.one_hot {
            check(input.elem == Elem::Int, "only an int is one-hot")?;
            check(input.fields.is_empty(), "a one-hot input has no fields")?;
            check(
                classes > 0 && lo >= 0.0 && hi <= (classes - 1) as f64,
                "its range does not lie within its classes",
            )?;
        }
    }
    Ok(())
}

/// Whether fields, if there are any, fill the last axis of a shape exactly.
fn fields_fill(fields: &[(String, Vec<u64>)], shape: &[u64]) -> bool {
    let size = |dims: &[u64]| dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    let total = fields.iter().try_fold(0u64, |n, (_, dims)| n.checked_add(size(dims)?));
    fields.is_empty() || (total.is_some() && shape.last().copied() == total)
}

fn outputs(graph: &Graph) -> Result<(), VerifyError> {
    let mut names = BTreeSet::new();
    for (i, output) in graph.outputs.iter().enumerate() {
        let check = |ok: bool, why: &'static str| match ok {
            true => Ok(()),
            false => Err(VerifyError::Output { output: i, name: output.name.clone(), why }),
        };
        // A state may have the name of a reveal.
        let own = (output.state, &output.name);
        check(names.insert(own), "another output has this name")?;
        check(output.node.index() < graph.len(), "its node does not exist")?;
        match output.state {
            None => {
                let members = graph.parties.get(output.to as usize).map(|p| p.1);
                check(members.is_some(), "its receiver does not exist")?;
                // Whether there is an entry for each member is a rule of circuits: an analysis reveals to anybody.
            }
            Some(i) => {
                let input = graph.inputs.get(i as usize);
                let same = input.is_some_and(|input| {
                    matches!(input.from, Giver::State(_))
                        && (input.elem == Elem::Bit) == (graph.ty(output.node).elem == Elem::Bit)
                        && input.shape == graph.shape(output.node)
                });
                check(same, "it is not shaped as its state")?;
            }
        }
        check((output.site as usize) < graph.sites.len(), "its site does not exist")?;
        check(
            [output.factor, output.divisor].iter().all(|x| x.is_finite() && *x != 0.0),
            "its factor or divisor is not a number other than 0",
        )?;
        check(
            fields_fill(&output.fields, graph.shape(output.node)),
            "its fields do not fill its last axis",
        )?;
    }
    Ok(())
}

fn node(graph: &Graph, id: NodeId) -> Result<(), VerifyError> {
    if let Some(late) = graph.args(id).iter().find(|&&a| a >= id) {
        return Err(VerifyError::Order { node: id.index(), operand: late.index() });
    }
    let op = graph.op(id).name();
    well_formed(graph, id).map_err(|why| VerifyError::Node { node: id.index(), op, why })
}

fn well_formed(graph: &Graph, id: NodeId) -> Result<(), String> {
    let (Node { op, ty, site }, args) = (graph.node(id), graph.args(id));
    constant(op)?;
    let types: Vec<&Type> = args.iter().map(|&a| graph.ty(a)).collect();
    let inferred = infer::infer(graph, op, &types)?;
    need(inferred == *ty, || {
        format!("has type {}, but gives {}", type_text(ty), type_text(&inferred))
    })?;
    need((*site as usize) < graph.sites.len(), || format!("there is no site {site}"))?;
    let wrong = scale(graph, op, ty).or_else(|| label(graph, op, args));
    if let Some(why) = wrong.or_else(|| attribute(graph, op, &types)) {
        return Err(why.into());
    }
    match op {
        Op::Gather { axis, .. } => {
            index_in_range(graph, args[1], graph.shape(args[0])[*axis as usize])
        }
        _ => Ok(()),
    }
}

fn scale(graph: &Graph, op: &Op, ty: &Type) -> Option<&'static str> {
    match (op, ty.elem) {
        (Op::Const(_, Elem::Bit, Some(_)), _) => return Some("a bit has no scale"),
        (_, Elem::Bit) => {}
        _ if ty.frac.is_some() && graph.frac.is_none() => {
            return Some("a scale in a graph without fraction bits");
        }
        _ if ty.frac.is_none() && graph.frac.is_some() => {
            return Some("a number without a scale in a graph with fraction bits");
        }
        _ => {}
    }
    (ty.frac >= Some(64)).then_some("the scale is 64 bits or more")
}

/// The factor 2^frac.
fn unit(frac: u32) -> f64 {
    2f64.powi(frac.min(1023) as i32)
}

fn constant(op: &Op) -> Result<(), String> {
    let Op::Const(table, elem, frac) = op else { return Ok(()) };
    for (entry, &x) in table.data.iter().enumerate() {
        let why = match elem {
            _ if !x.is_finite() => "not a number",
            Elem::Bit if x != 0.0 && x != 1.0 => "not a bit",
            Elem::Int if x.fract() != 0.0 => "not an integer",
            // The word is signed.
            _ if frac.is_some_and(|f| (x * unit(f)).abs() >= unit(63)) => "beyond 64 bits",
            _ => continue,
        };
        return Err(format!("entry {entry} is {why}"));
    }
    Ok(())
}

fn index_in_range(graph: &Graph, index: NodeId, size: u64) -> Result<(), String> {
    let ty = graph.ty(index);
    let whole = ty.elem == Elem::Int && ty.frac.is_none_or(|f| f == 0);
    need(whole && ty.secrecy == Secrecy::Public, || {
        format!("its index is {}, not a public int of scale 0", type_text(ty))
    })?;
    match graph.op(index) {
        Op::Const(table, ..) if !table.is_empty() => {
            let beyond = table.data.iter().find(|&&x| x < 0.0 || x >= size as f64);
            beyond.map_or(Ok(()), |x| Err(format!("index {x} of an axis of size {size}")))
        }
        Op::Pairs { table, n } => {
            let (lo, hi) = table.range(*n);
            need(lo >= 0 && (hi as u64) < size, || {
                format!("indices {lo} to {hi} of an axis of size {size}")
            })
        }
        _ => Ok(()),
    }
}

fn label(graph: &Graph, op: &Op, args: &[NodeId]) -> Option<&'static str> {
    match op {
        Op::ArgMaxIs => (graph.ty(args[1]).elem != Elem::Int).then_some("the label is not one-hot"),
        Op::OneHot(classes) => {
            if graph.ty(args[0]).elem != Elem::Int {
                return Some("the label is not an int");
            }
            let Op::Const(table, ..) = graph.op(args[0]) else { return None };
            let beyond = table.data.iter().any(|&x| x < 0.0 || x >= *classes as f64);
            beyond.then_some("a label beyond the classes")
        }
        _ => None,
    }
}

fn attribute(graph: &Graph, op: &Op, types: &[&Type]) -> Option<&'static str> {
    let empty = |axis: usize| types[0].shape.get(axis) == Some(&0);
    let wrong = match op {
        Op::Conv2d(conv) => return conv.problem(1 << 32),
        Op::Pairs { n, .. } if !(2..=ranks::MOST).contains(n) => "pairs are of 2 to 2^24 members",
        Op::Draw(lots) if lots.k > lots.n || lots.others && lots.k >= lots.n => {
            "more drawn than there are others"
        }
        Op::Places(_) if types[0].secrecy != Secrecy::Public => "an index is public",
        Op::Noise { noise, .. } if Noise::new(noise.law, noise.scale) != Ok(*noise) => {
            "noise has the grid that follows from its scale"
        }
        Op::Max(axis) | Op::Min(axis) if empty(*axis as usize) => "an empty axis has no largest",
        Op::ArgMax | Op::ArgMaxIs if types[0].shape.last() == Some(&0) => {
            "an empty axis has no largest"
        }
        Op::Scale(c) if !c.is_finite() => "the factor is not a number",
        Op::Scale(c) if graph.frac.is_some() && (c.fract() != 0.0 || c.abs() >= unit(63)) => {
            "with scales a factor is an integer below 2^63"
        }
        _ => return None,
    };
    Some(wrong)
}
