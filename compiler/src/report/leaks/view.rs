//! What a receiver sees: the graph with what it does not know, and names of what is in it.

use super::combinations::Member;
use super::flow::{self, Flow};
use super::rounds;
use super::warnings::Named;
use crate::graph::{Graph, Key, NodeId, Op};
use std::collections::{BTreeSet, HashMap};

/// What a receiver sees.
pub(super) struct View {
    /// The set that it is, or is a member of.
    pub set: u32,
    /// Which member, of a set of several.
    member: Option<u64>,
    /// The graph, in which it is a set of its own.
    pub graph: Graph,
    pub to: u32,
    /// How every value follows from what it does not know.
    pub flows: Vec<Flow>,
}

impl View {
    fn of(graph: Graph, set: u32, (member, to): (Option<u64>, u32)) -> View {
        let graph = merged(&graph);
        let flows = flow::flows(&graph, &flow::known(&graph, to));
        View { set, member, graph, to, flows }
    }

    pub fn flow(&self, node: NodeId) -> &Flow {
        &self.flows[node.index()]
    }

    /// The operands of a node that the receiver does not know.
    pub fn secret_args(&self, node: NodeId) -> Vec<NodeId> {
        let args = self.graph.args(node).iter().copied();
        args.filter(|&a| !self.flow(a).is_free()).collect()
    }

    /// What output number i is.
    pub fn output(&self, i: usize) -> NodeId {
        self.graph.outputs[i].node
    }

    /// Members of party sets by their numbers in the program, with names for people. In the graph those behind the
    /// receiver have moved up.
    pub fn named(&self, members: impl IntoIterator<Item = Member>) -> Named {
        let named = |(set, member): Member| {
            let name = self.graph.parties.get(set as usize).map_or("?", |p| p.0.as_str());
            let moved = set == self.set && self.member.is_some_and(|own| own <= member);
            let member = member + u64::from(moved);
            ((set, member), format!("{name} {member}"))
        };
        members.into_iter().map(named).collect()
    }

    /// Names of inputs, for people.
    pub fn inputs(&self, inputs: &BTreeSet<u32>) -> String {
        let names = inputs.iter().filter_map(|&i| self.graph.inputs.get(i as usize));
        let quoted: Vec<String> = names.map(|i| format!("`{}`", i.name)).collect();
        quoted.join(", ")
    }

    /// The client that a value depends on alone.
    pub fn one_client(&self, f: &Flow) -> String {
        self.named(f.member_at(&[])).into_values().next().unwrap_or("one client".into())
    }

    /// Members of the sets that give a value's inputs.
    pub fn members(&self, f: &Flow) -> u64 {
        let inputs = f.inputs.iter().filter_map(|&i| self.graph.inputs.get(i as usize));
        let sets: BTreeSet<u32> = inputs.filter_map(|i| i.from.set()).collect();
        sets.iter().filter_map(|&s| self.graph.parties.get(s as usize)).map(|p| p.1).sum()
    }

    /// Clients that an entry depends on: no more than there are in the sets that give its inputs.
    pub fn clients(&self, f: &Flow) -> u64 {
        f.clients().min(self.members(f))
    }
}

/// The graph in which what is computed twice in the same way is one node. Coins of two samples stay apart.
fn merged(graph: &Graph) -> Graph {
    let mut known: HashMap<(Key, Vec<NodeId>), NodeId> = HashMap::new();
    graph.rewrite(|new, id, args| match graph.op(id) {
        Op::Draw(_) => new.keep(graph, id, args),
        op => {
            let key = (op.key(), args.to_vec());
            *known.entry(key).or_insert_with(|| new.keep(graph, id, args))
        }
    })
}

/// Members of a set that are looked at one by one, and numbers that each of them gets, at most.
const MEMBERS: u64 = 8;
const NUMBERS: u64 = 64;

/// What each receiver sees of a graph without states. Of a set of several members these are the last and the first, and others if what each gets
/// is small: where a program treats members apart, as in sums over all before the receiver, some other may learn more.
pub(super) fn views(graph: &Graph) -> Vec<View> {
    let receivers: BTreeSet<u32> = graph.outputs.iter().map(|o| o.to).collect();
    let mut out = Vec::new();
    for set in receivers {
        let members = graph.parties.get(set as usize).map_or(1, |p| p.1);
        if members <= 1 {
            out.push(View::of(graph.clone(), set, (None, set)));
            continue;
        }
        let to_each = graph.outputs.iter().filter(|o| o.to == set);
        let numbers: u64 = to_each.map(|o| graph.elements(o.node)).sum();
        let between: Vec<u64> = if numbers > NUMBERS * members {
            Vec::new()
        } else if members <= MEMBERS {
            (1..members - 1).collect()
        } else {
            vec![1, members / 2, members - 2]
        };
        for member in [members - 1, 0].into_iter().chain(between) {
            let own = graph.parties.len() as u32;
            out.push(View::of(rounds::seen_by(graph, set, member), set, (Some(member), own)));
        }
    }
    out
}
