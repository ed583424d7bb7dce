//! Reciprocals of roots: what normalisations multiply by.
//!
//! 1 / sqrt(v + eps) is wanted relative to its own size, however small v is and however large: beside an eps of 1e-5 a
//! unit of 2^-16 is most of the sum, and beside a variance of 1e4 it is a part of the reciprocal that shows. All of it
//! is computed once for a channel or a vector, so bits cost little:
//!
//! ```text
//! %2 = sqrt %1 ; %3 = reshape %2 ; %4 = recip %3   ->   %2' = recip_sqrt %1 ; %4 = reshape %2'
//! ```
//!
//! Before: any graph without scales. After: no reciprocal is of a root, moved or not; it is [`Function::RecipSqrt`],
//! which costs what a root alone does, unless scales leave too little of the operand ([`super::fine`]). A quotient by a
//! root stays one: what clips and cosines are known by has it. Then scales are chosen:
//!
//! - an **input** that is a variance has [`VARIANCE`] fraction bits, if it is short: whatever else is made of it takes
//!   it with as many as it would have otherwise;
//! - the **sum** with eps has [`SUM`] fraction bits, or more for a smaller eps, as far as a word holds them;
//! - the **reciprocal of the root** is taken of them as they are ([`super::fine`]), and has as many;
//! - what is **multiplied** by it, and what that makes, is truncated to [`ROOT_FACTOR`] fraction bits before it is a factor.

use super::promise::{Kept, none};
use crate::analysis::behind::{behind, path};
use crate::graph::{Function, Graph, NodeId, Op};
use std::collections::BTreeSet;

/// Fraction bits of an input that is a variance: beside an eps of 1e-5 half a unit is a part of 2^-11.
const VARIANCE: u32 = 26;
/// Bits of such an input without its sign.
const WORD: u32 = 46;
/// Fraction bits of a variance with its eps.
const SUM: u32 = 28;
/// Fraction bits of a factor that is a product with a reciprocal of a root, or multiplied by it.
pub(super) const ROOT_FACTOR: u32 = 20;
/// An eps has so many significant bits.
const SIGNIFICANT: f64 = 11.0;

pub(super) fn run(graph: &Graph) -> Graph {
    graph.replace(|new, id, args| match graph.op(id) {
        Op::Function(Function::Recip) => inverse_root(new, args[0]),
        _ => None,
    })
}

pub(super) fn after(g: &Graph) -> Kept {
    none(g, "is a reciprocal of a root", |id| {
        *g.op(id) == Op::Function(Function::Recip)
            && *g.op(behind(g, g.arg(id, 0), Op::is_layout)) == Op::Function(Function::Sqrt)
    })
}

/// The reciprocal of a root behind moves of its entries, moved as it is.
fn inverse_root(g: &mut Graph, id: NodeId) -> Option<NodeId> {
    let moves: Vec<NodeId> = path(g, id).take_while(|&id| g.op(id).is_layout()).collect();
    let root = behind(g, id, Op::is_layout);
    if *g.op(root) != Op::Function(Function::Sqrt) {
        return None;
    }
    let mut moved = g.add(Op::Function(Function::RecipSqrt), &[g.arg(root, 0)], g.node(root).site);
    for id in moves.into_iter().rev() {
        let args = [&[moved], &g.args(id)[1..]].concat();
        let node = g.node(id).clone();
        moved = g.add(node.op, &args, node.site);
    }
    Some(moved)
}

/// What a node is to a reciprocal of a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A variance is linear in it, or it is one.
    Variance,
    /// The sum of a variance and a constant, with so many fraction bits.
    Sum(u32),
    Reciprocal,
    /// A difference that is multiplied by it.
    Centred,
    /// A product with it.
    Product,
}

/// By node of a graph without scales.
pub(super) struct Inverse {
    parts: Vec<Option<Part>>,
    /// Inputs that variances are linear in.
    pub inputs: BTreeSet<u32>,
}

impl Inverse {
    pub fn of(g: &Graph) -> Inverse {
        let mut parts = vec![None; g.len()];
        let source = |id: NodeId| behind(g, id, Op::is_layout);
        for id in g.ids() {
            match g.op(id) {
                Op::Function(Function::RecipSqrt) => {
                    parts[id.index()] = Some(Part::Reciprocal);
                    let sum = source(g.arg(id, 0));
                    parts[sum.index()] = smallest(g, sum).map(Part::Sum).or(parts[sum.index()]);
                }
                Op::Mul => {
                    let factors = [0, 1].map(|i| source(g.arg(id, i)));
                    let of = |a: &NodeId| {
                        matches!(parts[a.index()], Some(Part::Reciprocal | Part::Product))
                    };
                    if factors.iter().any(of) {
                        parts[id.index()] = Some(Part::Product);
                        let centred = |a: &NodeId| matches!(g.op(*a), Op::Sub | Op::Scale(_));
                        for a in factors.into_iter().filter(centred) {
                            parts[a.index()].get_or_insert(Part::Centred);
                        }
                    }
                }
                _ => {}
            }
        }
        let inputs = variances(g, &mut parts);
        Inverse { parts, inputs }
    }

    /// What a node is.
    pub fn part(&self, id: NodeId) -> Option<Part> {
        self.parts[id.index()]
    }

    /// Whether a node takes its operand as a variance, or hands it on.
    pub fn is_of_variance(&self, id: NodeId) -> bool {
        matches!(self.part(id), Some(Part::Variance | Part::Sum(_) | Part::Reciprocal))
    }

    /// The fraction bits of an input that is a variance, of which no value is larger than this.
    pub fn bits(size: f64) -> u32 {
        let whole = size.log2().ceil().max(0.0);
        if whole < f64::from(WORD) { (WORD - whole as u32).min(VARIANCE) } else { 0 }
    }
}

/// Marks what variances are linear in; the inputs among it.
fn variances(g: &Graph, parts: &mut [Option<Part>]) -> BTreeSet<u32> {
    let mut inputs = BTreeSet::new();
    let mut found = vec![false; g.len()];
    for id in g.ids().rev() {
        match parts[id.index()] {
            Some(Part::Sum(_) | Part::Reciprocal) => {}
            None if found[id.index()] => match g.op(id) {
                Op::Input(i) => {
                    inputs.insert(*i);
                    parts[id.index()] = Some(Part::Variance);
                    continue;
                }
                Op::Relu | Op::Add | Op::Sub => parts[id.index()] = Some(Part::Variance),
                op if op.is_layout() => parts[id.index()] = Some(Part::Variance),
                _ => continue,
            },
            _ => continue,
        }
        g.args(id).iter().copied().for_each(|a| found[a.index()] = true);
    }
    inputs
}

/// Of a sum with a constant: the fraction bits that the constant wants.
fn smallest(g: &Graph, sum: NodeId) -> Option<u32> {
    if *g.op(sum) != Op::Add {
        return None;
    }
    let constant = |a: NodeId| match g.op(behind(g, a, Op::is_layout)) {
        Op::Const(table, ..) => Some(table),
        _ => None,
    };
    let tables = g.args(sum).iter().copied().filter_map(constant);
    let sizes = tables.flat_map(|t| t.data.iter().map(|x| x.abs()).filter(|x| *x > 0.0));
    let least = sizes.reduce(f64::min)?;
    let wanted = (SIGNIFICANT - least.log2()).ceil().max(0.0);
    // A root has half of what there are more.
    Some(SUM.max(wanted as u32).next_multiple_of(2))
}
