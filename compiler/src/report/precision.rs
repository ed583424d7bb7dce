//! Which values have more fraction bits than others.

use super::certificate::in_other_units;
use crate::graph::{Function, NodeId, Op};
use crate::passes::FRACTION;
use crate::pipeline::{Compiled, Fine};
use crate::types::Elem;
use serde::Serialize;
use std::collections::BTreeMap;

/// Values of one step that have more than [`FRACTION`] fraction bits after they were rounded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrecisionRow {
    pub line: u32,
    pub step: String,
    /// The most fraction bits.
    pub fraction: u32,
    /// How many these are more than others have.
    pub added: u32,
    /// Bits of the largest value with its sign: what is compared, truncated or opened.
    pub bits: u32,
}

/// An input that has no more fraction bits than others although what is revealed is made of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeptRow {
    pub input: String,
    pub why: String,
}

/// Of a compiled predicate.
pub(super) fn kept(c: &Compiled) -> Vec<KeptRow> {
    let how = |i: usize| {
        let elements: u64 = c.optimised.inputs[i].shape.iter().product();
        match c.fine {
            Fine::All => "no words hold what is computed of more".to_string(),
            _ => format!(
                "more would cost all its {elements} entries; `--fine` takes what words hold"
            ),
        }
    };
    let row = |i: usize, why: String| KeptRow { input: c.optimised.inputs[i].name.clone(), why };
    let variance = |&i: &usize| {
        let why = "variances below 0.004 in it are rounded by so much that what is divided by their roots is off by more \
                   than 2^-10";
        row(i, format!("{why}; {}", how(i)))
    };
    let variances = c.variances.iter().map(variance);
    c.kept.iter().map(|&i| row(i, how(i))).chain(variances).collect()
}

/// Of a compiled predicate, by line.
pub(super) fn rows(c: &Compiled, line_of: &dyn Fn(u32) -> u32) -> Vec<PrecisionRow> {
    let g = &c.optimised;
    // Products have more until they are truncated.
    let rounded = |id: NodeId| match g.op(id) {
        Op::Input(_) | Op::Trunc(_) | Op::Div => true,
        Op::Function(_) => !in_other_units(g, id),
        Op::DivPow2(_) => *g.op(g.arg(id, 0)) == Op::Function(Function::Sqrt),
        Op::MulPow2(_) => *g.op(g.arg(id, 0)) == Op::Function(Function::RecipSqrt),
        _ => false,
    };
    let fine = |id: &NodeId| {
        let ty = g.ty(*id);
        ty.elem == Elem::Fix && ty.frac > Some(FRACTION) && rounded(*id)
    };
    let mut rows: BTreeMap<(u32, &str), (u32, u32)> = BTreeMap::new();
    for id in g.ids().filter(fine) {
        let site = g.site(id);
        let row = rows.entry((line_of(g.node(id).site), &site.name)).or_default();
        row.0 = row.0.max(g.frac_of(id));
        row.1 = row.1.max(c.ranges.bits(id));
    }
    let row = |((line, step), (fraction, bits)): ((u32, &str), (u32, u32))| PrecisionRow {
        line,
        step: step.to_string(),
        fraction,
        added: fraction - FRACTION,
        bits,
    };
    rows.into_iter().map(row).collect()
}
