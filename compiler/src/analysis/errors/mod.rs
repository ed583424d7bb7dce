//! How far a run may be from the program in real numbers.
//!
//! The error of a value is the absolute difference, in real units, between what a run of the circuit
//! holds and what the program has in real numbers on the same real inputs. Two numbers are given for
//! it. The **proven** one is never exceeded: every rule below is an inequality between the errors of
//! operands, their intervals, and the error that [`crate::lower`] states for the macro. The
//! **estimated** one is six standard deviations when inputs are spread over their ranges and
//! roundings are independent (`spread`).
//!
//! | operation | proven error |
//! |---|---|
//! | input | half a unit of 2^-16 for a `fix`, one and a half if it is lifted; 0 for an `int` or `bit` |
//! | constant | its own rounding |
//! | sum, difference | sum of the operands' |
//! | scale by a constant | that times the operand's, and what 16 significant bits leave of the constant |
//! | product a b | abs a times b's, plus abs b times a's; times the number of terms of a sum of products |
//! | truncation | one unit in the last place, half a one of public values |
//! | elementary function | the slope on the interval times the operand's, and that of its macro |
//! | comparison, index of a largest entry | 0, if it decides as the program does: a [`Decision`] |
//! | largest entry, order statistic, choice of the larger, relu, absolute value | the operands', however the comparison comes out (`choice`) |
//!
//! Beside decisions, one thing is taken for granted: operands of functions are, in the program, where
//! the functions are what they say ([`domain`](crate::graph::domain)), and values that are cut are
//! within their cut ([`Errors::assumed`]).
//!
//! Lives here: the interface; in files of their own `proven` (the rules), `function` (slopes of
//! elementary functions), `choice` (which comparisons only choose between near values), `literal`
//! (what a mask says of the order of entries), `linear` (linear forms), `spread` (estimates). May
//! not: intervals ([`super::ranges`]), diagnostics ([`super::demands`]).

mod choice;
mod function;
mod linear;
mod literal;
mod proven;
mod spread;
#[cfg(test)]
mod tests;

use super::guard::Guard;
use super::ranges::Interval;
use crate::graph::{Graph, Input, NodeId, Op};
use crate::types::Elem;
use proven::Cause;

/// A comparison that a circuit may decide otherwise than the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The comparison, equality, argmax or label test.
    pub node: NodeId,
    /// Index into [`Graph::sites`].
    pub site: u32,
    /// If the two sides are further apart than this, in real units, it is decided as in the program.
    pub margin: f64,
    /// The same, estimated.
    pub estimated: f64,
}

/// Where most of an error comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dominant {
    /// The operation whose rounding it is.
    pub source: NodeId,
    /// How far it is off by itself, in real units: its rounding, or all of its range.
    pub rounding: f64,
    /// The operation on the way that enlarges it most, and how many times, if any does.
    pub amplifier: Option<(NodeId, f64)>,
}

/// Error bounds of all nodes of a graph, in real units.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// Never exceeded, as long as every decision falls as in the program. By index of the node.
    pub proven: Vec<f64>,
    /// Six standard deviations; never more than what is proven.
    pub estimated: Vec<f64>,
    /// Comparisons of inexact values on which revealed values depend otherwise than by choosing the
    /// larger one, in the order of nodes.
    pub decisions: Vec<Decision>,
    /// Functions whose operand is taken to be in their domain, and cuts whose operand is taken to be
    /// within them, because its interval does not say so.
    pub assumed: Vec<NodeId>,
    causes: Vec<Cause>,
}

/// Errors of a graph with scales, from the smallest and largest raw value of every node (raw = real
/// times 2^frac) by index.
pub fn errors(graph: &Graph, raw: &[Interval]) -> Errors {
    errors_with(graph, raw, &[])
}

/// The error of each input as its guard has it dealt: rounded to the nearest, and rounded again if it
/// is lifted from a small ring.
pub fn input_errors(graph: &Graph, guards: &[Guard]) -> Vec<f64> {
    let unit = |frac: u32| (-f64::from(frac)).exp2();
    let frac = graph.frac.unwrap_or(0);
    let one = |(input, guard): (&Input, &Guard)| match (input.elem, guard) {
        (Elem::Int | Elem::Bit, _) => 0.0,
        // One unit less at the end of the range.
        (Elem::Fix, Guard::Lift { .. }) => unit(frac),
        (Elem::Fix, _) => unit(frac) / 2.0,
    };
    graph.inputs.iter().zip(guards).map(one).collect()
}

/// Like [`errors`]; `inputs` has the error of each input ([`input_errors`]). Half a unit is taken
/// where there is none.
pub fn errors_with(graph: &Graph, raw: &[Interval], inputs: &[f64]) -> Errors {
    let view = View::new(graph);
    let choices = choice::find(&view);
    let proven = proven::run(&view, raw, inputs, &choices);
    let estimated = spread::run(&view, raw, &choices, &proven);
    let mut all = Errors {
        proven: proven.errors,
        estimated,
        decisions: Vec::new(),
        assumed: proven.assumed,
        causes: proven.causes,
    };
    all.decisions = choice::decisions(&view, &choices, &all);
    all
}

impl Errors {
    /// Proven and estimated error of what the receiver of output number `i` gets. (0, 0) if there is
    /// no such output.
    pub fn output(&self, graph: &Graph, i: usize) -> (f64, f64) {
        let Some(output) = graph.outputs.get(i) else { return (0.0, 0.0) };
        let factor = (output.factor / output.divisor).abs();
        let at = output.node.index();
        (times(self.proven[at], factor), times(self.estimated[at], factor))
    }

    /// Where most of a node's proven error comes from; `None` if it has none.
    pub fn dominant(&self, node: NodeId) -> Option<Dominant> {
        let mut at = node;
        let mut amplifier: Option<(NodeId, f64)> = None;
        if self.proven[at.index()] == 0.0 {
            return None;
        }
        loop {
            let cause = &self.causes[at.index()];
            let largest = cause.parts.iter().fold(None, |best: Option<(NodeId, f64)>, &(n, e)| {
                if best.is_none_or(|(_, most)| e > most) { Some((n, e)) } else { best }
            });
            let Some((from, part)) = largest.filter(|&(_, e)| e > cause.own) else {
                return Some(Dominant { source: at, rounding: cause.own, amplifier });
            };
            let gain = part / self.proven[from.index()];
            if gain > amplifier.map_or(2.0, |(_, most)| most) {
                amplifier = Some((at, gain));
            }
            at = from;
        }
    }
}

/// A graph with what is asked of it often.
struct View<'a> {
    g: &'a Graph,
    args: Vec<Vec<NodeId>>,
}

impl View<'_> {
    fn new(g: &Graph) -> View<'_> {
        View { g, args: g.ids().map(|id| g.args(id)).collect() }
    }

    fn args(&self, id: NodeId) -> &[NodeId] {
        &self.args[id.index()]
    }

    fn op(&self, id: NodeId) -> &Op {
        self.g.op(id)
    }

    fn shape(&self, id: NodeId) -> &[u64] {
        self.g.shape(id)
    }

    /// One unit in the last place, in real units.
    fn ulp(&self, id: NodeId) -> f64 {
        (-f64::from(self.g.ty(id).frac.unwrap_or(0))).exp2()
    }

    /// How far a truncated value may be from its operand.
    fn truncation(&self, id: NodeId) -> f64 {
        match self.g.ty(id).secrecy {
            crate::syntax::ast::Secrecy::Secret => self.ulp(id),
            crate::syntax::ast::Secrecy::Public => self.ulp(id) / 2.0,
        }
    }

    /// An integer or bit that no rounding touches, by its type.
    fn whole(&self, id: NodeId) -> bool {
        self.g.ty(id).elem != Elem::Fix
    }
}

/// The product, where an error of 0 stays 0 times anything.
fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// How far the entries of a constant are from those that a circuit has.
fn table_rounding(data: &[f64], frac: u32) -> f64 {
    let unit = f64::from(frac).exp2();
    data.iter().map(|x| (x * unit - (x * unit).round()).abs() / unit).fold(0.0, f64::max)
}
