//! What somebody learns over two rounds of a program with states, and what a member of a receiving set learns: as other
//! graphs, of which the analyses know neither.

use crate::graph::{Giver, Graph, Input, NodeId, Op, Output, Table};
use crate::passes;
use std::collections::BTreeMap;

/// What names of the second round end with.
const NEXT: &str = " of the next round";

/// A name in the program, of one in either round.
pub(super) fn of_any(name: &str) -> &str {
    name.strip_suffix(NEXT).unwrap_or(name)
}

/// Two rounds in a row: the first begins as declared, the second with what the first has kept, and with inputs of its
/// own. A graph without states is as it was. Nothing is known of three rounds and more.
pub(super) fn in_a_row(graph: &Graph) -> Graph {
    if !graph.inputs.iter().any(|i| matches!(i.from, Giver::State(_))) {
        return graph.clone();
    }
    let mut new = graph.empty_like();
    let again = |i: &Input| Input { name: format!("{}{NEXT}", i.name), ..i.clone() };
    new.inputs.extend(graph.inputs.iter().map(again));
    let mut kept: BTreeMap<u32, NodeId> = BTreeMap::new();
    let numbers = graph.ids().filter_map(|id| match graph.op(id) {
        Op::Noise { number, .. } => Some(number + 1),
        _ => None,
    });
    let noises = numbers.max().unwrap_or(0);
    for round in 0..2u32 {
        let mut map: Vec<NodeId> = Vec::with_capacity(graph.len());
        for id in graph.ids() {
            let (op, site) = (graph.op(id), graph.node(id).site);
            let args: Vec<NodeId> = graph.args(id).iter().map(|a| map[a.index()]).collect();
            let to = match *op {
                Op::Input(i) => {
                    let input = &graph.inputs[i as usize];
                    match (input.from, kept.get(&i)) {
                        (Giver::State(_), Some(&kept)) => kept,
                        (Giver::State(start), None) => {
                            let begins = Table::splat(start, input.shape.clone());
                            new.add(Op::Const(begins, input.elem, None), &[], site)
                        }
                        _ => new.add(Op::Input(i + round * graph.inputs.len() as u32), &[], site),
                    }
                }
                // Drawn anew in each round.
                Op::Noise { noise, number, ref shape } => {
                    let number = number + round * noises;
                    new.add(Op::Noise { noise, number, shape: shape.clone() }, &[], site)
                }
                _ => new.keep(graph, id, &args),
            };
            map.push(to);
        }
        for o in &graph.outputs {
            let node = map[o.node.index()];
            match o.state {
                Some(input) => drop(kept.insert(input, node)),
                None => {
                    let next = if round > 0 { NEXT } else { "" };
                    let name = format!("{}{next}", o.name);
                    new.outputs.push(Output { node, name, ..o.clone() });
                }
            }
        }
    }
    new
}

/// The graph, without states, in which one member of a set is a set of its own, the last one, and gets its part of what is revealed to
/// each member. Those behind it move up by one.
pub(super) fn seen_by(graph: &Graph, set: u32, member: u64) -> Graph {
    let mut new = graph.empty_like();
    let own = new.parties.len() as u32;
    let Some((name, size)) = new.parties.get(set as usize).cloned() else { return graph.clone() };
    new.parties.push((format!("{name} {member}"), 1));
    if let Some(others) = new.parties.get_mut(set as usize) {
        others.1 = size - 1;
    }
    // What the member gives itself.
    let first = new.inputs.len() as u32;
    let of_set = |i: &Input| i.from == Giver::Each(set);
    let mut mine: BTreeMap<u32, u32> = BTreeMap::new();
    for (i, input) in (0..).zip(&graph.inputs).filter(|(_, i)| of_set(i)) {
        mine.insert(i, first + mine.len() as u32);
        let name = format!("{} of its own", input.name);
        new.inputs.push(Input { name, from: Giver::Each(own), ..input.clone() });
    }
    let mut map: Vec<NodeId> = Vec::with_capacity(graph.len());
    for id in graph.ids() {
        let site = graph.node(id).site;
        let args: Vec<NodeId> = graph.args(id).iter().map(|a| map[a.index()]).collect();
        let to = match graph.op(id) {
            Op::Input(i) if mine.contains_key(i) => {
                let others = new.add(Op::Input(*i), &[], site);
                let own = new.add(Op::Input(mine[i]), &[], site);
                let part = |new: &mut Graph, start: u64, len: u64| {
                    (len > 0).then(|| {
                        new.add(Op::Slice { axis: 0, start, len, step: 1 }, &[others], site)
                    })
                };
                let before = part(&mut new, 0, member);
                let after = part(&mut new, member, size - 1 - member);
                let parts: Vec<NodeId> = before.into_iter().chain([own]).chain(after).collect();
                new.add(Op::Concat(0), &parts, site)
            }
            _ => new.keep(graph, id, &args),
        };
        map.push(to);
    }
    for o in &graph.outputs {
        let mut node = map[o.node.index()];
        let mut to = o.to;
        if to == set {
            (node, to) = (passes::entry(&mut new, node, member), own);
        }
        new.outputs.push(Output { node, to, ..o.clone() });
    }
    new
}
