//! Lowering: graph operations to protocol macros made of circuit instructions.
//!
//! The only room that knows both. From the bottom:
//!
//! | file | what lives there |
//! |---|---|
//! | `target` | the adversary and the family of protocols |
//! | `emit` | builds instructions |
//! | [`common`] | what the macros of both families are made of |
//! | [`t1`], [`t2`] | the two families of protocols, side by side, in files with the same names |
//! | [`malicious`] | what there is only against a malicious party: macros that differ from T1, and drafts with proofs |
//! | `stated` | the errors that protocols state |
//! | `facts` | what is known of a graph |
//! | `search` | where a search is faster than ranks |
//! | `form`, `groups` | the forms that values are held in, and all conversions; in which groups operations go shard by shard |
//! | `instruction` | operations that are one instruction |
//! | `inputs`, `nodes` | deals and checks inputs; lowers nodes, each by the family that is faster |
//!
//! Numbers are words of Z_2^k, k the smallest that holds them ([`slvr_graph::analysis::rings`]), bits are `B1`.
//!
//! To add a function of one number, add it to `common/elementary.rs` if it is made by the position of its operand's top
//! bit, else an entry to `t1/functions.rs`, and its error to `stated`; `t2/functions.rs` has those of T2 alone. To add a protocol, write a macro in the family's file, and call it in the family's nodes, where
//! its time is less than that of others. `docs/src/architecture.md` lists the files of other rooms.
//!
//! What may not live here: rewrites that the graph can express ([`slvr_graph::passes`]), and layers
//! ([`crate::schedule`]).

pub mod common;
mod emit;
mod facts;
mod form;
mod groups;
mod inputs;
mod instruction;
pub mod malicious;
mod nodes;
mod search;
pub mod stated;
pub mod t1;
pub mod t2;
mod target;
#[cfg(test)]
mod tests;

pub use emit::{Draft, Emit};
pub use target::{Family, Target};

use facts::Facts;
use form::{Given, Values};
use slvr_graph::analysis::guard::Guard;
use slvr_graph::analysis::ranges::Ranges;
use slvr_graph::analysis::rings::{Rings, STORED};
use slvr_graph::graph::{Graph, Op};
use slvr_language::diagnostic::Diagnostic;
use slvr_language::syntax::ast::Secrecy;
use std::collections::BTreeMap;

/// Lowers a graph with scales to instructions without layers.
///
/// `block` is the block of each node ([`slvr_graph::passes::blocks`]).
///
/// # Errors
///
/// A value of more elements than a circuit has, and all entries of a long vector in order.
pub fn lower(
    graph: &Graph,
    block: &[u32],
    ranges: &Ranges,
    rings: &Rings,
    guards: &[Guard],
    target: Target,
) -> Result<Draft, Vec<Diagnostic>> {
    nodes::refuse_sorts(graph)?;
    let facts = Facts { graph, ranges, rings, family: target.lowered_by() };
    let mut emit = Emit::new(target);
    // Before the coins of checks: evaluations in the clear take the first coins for committees.
    let mut coins = BTreeMap::new();
    for id in graph.ids().filter(|&id| matches!(graph.op(id), Op::Draw(_))) {
        emit.site = graph.home(id);
        coins.insert(id, emit.coin());
    }
    let inputs::Dealt { values: dealt, inputs, checks } = inputs::deal(&mut emit, &facts, guards);
    let mut blocks = vec![0; emit.instrs.len()];
    let mut values = Values::new(facts, Given { dealt, coins }, emit);
    nodes::refuse_all_in_order(graph, &values.searches)?;
    for id in graph.ids() {
        values.emit.site = graph.home(id);
        // What reads a refused value would be refused too: say only the first.
        nodes::lower(&mut values, id)?;
        let number = block.get(id.index()).copied().unwrap_or(0);
        blocks.resize(values.emit.instrs.len(), number);
    }
    let mut outputs = Vec::new();
    for o in &graph.outputs {
        values.emit.site = o.site;
        if let Some(input) = o.state {
            let x = values.in_ring(o.node, STORED);
            let public = graph.ty(o.node).secrecy == Secrecy::Public;
            let x = if public { values.emit.share_public(x) } else { x };
            values.emit.keep(x, input);
            continue;
        }
        let x = values.additive(o.node);
        values.emit.open_to(x, outputs.len() as u32);
        outputs.push(slvr_circuit::Output {
            name: o.name.clone(),
            to: o.to,
            shape: graph.shape(o.node).to_vec(),
            ring: rings.of(o.node),
            frac: graph.frac_of(o.node),
            factor: o.factor,
            divisor: o.divisor,
            fields: inputs::fields(&o.fields),
        });
    }
    blocks.resize(values.emit.instrs.len(), 0);
    let mut emit = values.emit;
    emit.forget();
    let mut draft = Draft { emit, blocks, inputs, outputs, checks };
    draft.prune();
    Ok(draft)
}
