//! Which nodes choose: what somebody else's input, or everybody's, can make come out either way.

use super::data::Scalars;
use crate::graph::{Function, Graph, NodeId, Op};
use crate::report::leaks::flow::Flow;
use crate::types::Elem;
use std::collections::{BTreeMap, BTreeSet};

/// Bits that one condition is made of.
const CHOICES: usize = 8;

/// The nodes that choose: conditions by which values of several clients are taken or left, and what is cut at a bound
/// after a sum over clients. What is cut of each client's own value, or counts for one client only, is a check of this
/// client.
pub(in super::super) fn choosing(g: &Graph, flows: &[Flow], scalars: &Scalars) -> Vec<NodeId> {
    let used: BTreeSet<NodeId> = scalars.all.iter().filter(|s| !s.opaque).map(|s| s.node).collect();
    let flow = |id: NodeId| &flows[id.index()];
    let bits = |id| bits(g, flows, id);
    let mut out = BTreeSet::new();
    let mut payloads: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for &id in &used {
        let arg = |i| g.arg(id, i);
        match g.op(id) {
            Op::Select => {
                for bit in bits(arg(0)) {
                    payloads.entry(bit).or_default().extend([arg(1), arg(2)]);
                }
            }
            Op::Mul | Op::MatMul { .. } => {
                for (bit, by) in [(arg(0), arg(1)), (arg(1), arg(0))] {
                    for bit in bits(bit) {
                        payloads.entry(bit).or_default().push(by);
                    }
                }
            }
            Op::Relu
            | Op::Gate
            | Op::Max(_)
            | Op::Min(_)
            | Op::Abs
            | Op::Function(Function::Exp | Function::Tanh | Function::Sqrt | Function::Log)
                if several(flow(id)) =>
            {
                out.insert(id);
            }
            _ => {}
        }
    }
    let mut own: BTreeMap<u32, BTreeMap<u64, Vec<NodeId>>> = BTreeMap::new();
    for (bit, of) in payloads {
        let secret = || of.iter().map(|&id| flow(id)).filter(|f| !f.is_free());
        let apart = || {
            let members: BTreeSet<_> = secret().map(Flow::member).collect();
            members.len() > 1 || secret().any(|f| f.clients() > 1 || f.side_by_side())
        };
        let global = !flow(bit).is_free() && !flow(bit).side_by_side();
        if !(global && apart()) {
            continue;
        }
        match flow(bit).member() {
            Some((set, member)) => {
                own.entry(set).or_default().entry(member).or_default().push(bit);
            }
            None => drop(out.insert(bit)),
        }
    }
    // Bits of one client after the other are a loop over clients: who is the last to be taken is a matter of order.
    for members in own.into_values().filter(|members| members.len() == 1) {
        out.extend(members.into_values().flatten());
    }
    out.into_iter().collect()
}

/// Whether a value is of several clients, and has no entry for each.
fn several(f: &Flow) -> bool {
    f.clients() > 1 && !f.side_by_side()
}

/// The bits that a condition, a bit as a number, or a choice among public numbers is made of; none if it is not made of
/// bits.
fn bits(g: &Graph, flows: &[Flow], id: NodeId) -> Vec<NodeId> {
    let (mut open, mut out) = (vec![id], BTreeSet::new());
    while let Some(id) = open.pop() {
        let public = |i| flows[g.arg(id, i).index()].is_free();
        match g.op(id) {
            _ if flows[id.index()].is_free() => {}
            Op::Concat(_) => open.extend(g.args(id)),
            op if op.is_layout() => open.push(g.arg(id, 0)),
            Op::Not | Op::ToInt | Op::Neg | Op::Scale(_) | Op::Shift(_) => open.push(g.arg(id, 0)),
            Op::Add | Op::Sub | Op::Mul | Op::And | Op::Xor => open.extend(g.args(id)),
            Op::Select if public(1) && public(2) => open.push(g.arg(id, 0)),
            _ if g.ty(id).elem == Elem::Bit => drop(out.insert(id)),
            _ => return Vec::new(),
        }
        if open.len() + out.len() > CHOICES {
            return if g.ty(id).elem == Elem::Bit { vec![id] } else { Vec::new() };
        }
    }
    out.into_iter().collect()
}
