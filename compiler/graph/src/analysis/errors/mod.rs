//! How far a run may be from the program in real numbers.
//!
//! The error of a value is the absolute difference, in real units, between what a run of the circuit
//! holds and what the program has in real numbers. Its bound is proven for all inputs: every rule below is an
//! inequality between the errors of operands, their intervals, and the error that the protocols state for what they
//! compute ([`StatedErrors`]). What the program's inputs are is said by their errors: with those of
//! [`encoded_errors`] they are the encoded inputs, with those of [`input_errors`] the inputs as they were given. What
//! rounding the inputs changes in the program itself, in real numbers, is [`rounding_inputs`]. Bounds for inputs that
//! are known are in [`super::given`].
//!
//! | operation | proven error |
//! |---|---|
//! | input | 0 for an encoded one; as it was given, half a unit in the last place of a `fix`; one unit if it is lifted |
//! | constant | its own rounding |
//! | sum, difference | sum of the operands' |
//! | scale by a constant | that times the operand's, and what 16 significant bits leave of the constant |
//! | product a b | abs a times b's, plus abs b times a's; times the number of terms of a sum of products |
//! | truncation | what the protocol states ([`StatedErrors`]), half a unit of public values |
//! | elementary function | the slope on the interval times the operand's, and what the protocol states |
//! | comparison, index of a largest entry | 0, if it decides as the program does: a [`Decision`] |
//! | largest entry, order statistic, choice of the larger, relu, absolute value | the operands', however the comparison comes out (`choice`) |
//!
//! Functions and quotients have a value for every operand, the same in the program and in a run
//! ([`domain`](crate::graph::domain)). Beside decisions, one thing is a condition: values of deep networks that
//! are cut are, in the program, within their cut ([`Errors::assumed`]). The certificate lists each, and the compiler
//! warns of them.
//!
//! | file | has |
//! |---|---|
//! | `bounds.rs` | the result: bounds, decisions, where most of an error comes from |
//! | `value.rs` | what a rule says, and what follows from it for a value |
//! | `proven.rs` | the rules of proven errors |
//! | `function.rs` | what elementary functions do to errors |
//! | `choice.rs` | which comparisons only choose between near values |
//! | `linear.rs` | linear forms |
//! | `margin.rs` | margins in the units of the source |
//!
//! May not live here: intervals of values ([`super::ranges`]), diagnostics (`slvr_backend::pipeline`).

mod bounds;
mod choice;
mod function;
mod linear;
mod margin;
mod proven;
#[cfg(test)]
mod tests;
mod value;

pub use bounds::{Decision, Dominant, Errors};

use super::cuts;
use super::guard::Guard;
use super::interval::Interval;
use super::order::Ranked;
use super::stated::StatedErrors;
use super::view::{self, View};
use crate::graph::{Graph, Input, NodeId};
use slvr_language::types::Elem;
use std::collections::BTreeMap;

/// The error of each input as its guard has it dealt: rounded to the nearest, and one unit less at the end of
/// its range if it is lifted from a small ring.
pub fn input_errors(graph: &Graph, guards: &[Guard]) -> Vec<f64> {
    let lifted = encoded_errors(graph, guards);
    lifted
        .into_iter()
        .zip(rounded_errors(graph))
        .map(|(lifted, rounded)| lifted.max(rounded))
        .collect()
}

/// The error of each input that is rounded to the nearest.
pub fn rounded_errors(graph: &Graph) -> Vec<f64> {
    let half = |i: &Input| if i.elem == Elem::Fix { unit(graph, i) / 2.0 } else { 0.0 };
    graph.inputs.iter().map(half).collect()
}

/// One unit in the last place of an input, in real units.
fn unit(graph: &Graph, input: &Input) -> f64 {
    1.0 / graph.input_scale(input)
}

/// The error of each input as its guard has it dealt, if the program has the encoded input: none, but for the unit at
/// the end of a range that is lifted.
pub fn encoded_errors(graph: &Graph, guards: &[Guard]) -> Vec<f64> {
    let one = |(input, guard): (&Input, &Guard)| match (input.elem, guard) {
        (Elem::Fix, Guard::Lift { .. }) => unit(graph, input),
        (Elem::Fix | Elem::Int | Elem::Bit, _) => 0.0,
    };
    graph.inputs.iter().zip(guards).map(one).collect()
}

/// How far the program's values on the encoded inputs are from those on the inputs as they were given, both in real
/// numbers. `raw` and `encoded` are a run's intervals and errors ([`errors`] with [`encoded_errors`]).
pub fn rounding_inputs(graph: &Graph, raw: &[Interval], encoded: &Errors) -> Errors {
    let stated = StatedErrors::NONE;
    let view = View::of_reals(graph, &stated);
    // The program's values on the encoded inputs are where a run's are, up to its error.
    let real = graph.ids().map(|id| {
        let (lo, hi) = raw[id.index()];
        let off = encoded.proven[id.index()] / view.ulp(id);
        (lo - off, hi + off)
    });
    bounded(&view, &real.collect::<Vec<_>>(), &rounded_errors(graph), encoded.ranked.clone())
}

/// Errors of a graph with scales, from the smallest and largest raw value of every node (raw = real
/// times 2^frac) by index. `inputs` has the error of each input, such as [`input_errors`], `stated` what the protocols
/// state of what they compute.
pub fn errors(graph: &Graph, raw: &[Interval], inputs: &[f64], stated: &StatedErrors) -> Errors {
    let view = View::new(graph, stated);
    let ranked = choice::ranked(&view);
    bounded(&view, raw, inputs, ranked)
}

fn bounded(
    view: &View<'_>,
    raw: &[Interval],
    inputs: &[f64],
    ranked: BTreeMap<NodeId, Ranked>,
) -> Errors {
    let choices = choice::find(view, raw, &ranked);
    let proven = proven::run(view, raw, inputs, &choices);
    let mut all = Errors {
        proven: proven.errors,
        decisions: Vec::new(),
        depended_on: Vec::new(),
        assumed: cuts::reached(view.g, raw),
        causes: proven.causes,
        ranked,
    };
    (all.decisions, all.depended_on) = choice::decisions(view, &choices, raw, &all);
    all
}
