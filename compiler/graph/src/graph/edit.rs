//! Adding nodes whose types follow from the typing rule, and rewriting a graph node by node.

use super::data::{Graph, NodeId, Output, Type};
use super::infer;
use super::op::Op;

impl Graph {
    /// Adds a node whose type follows from its operation and operands. Panics when it does not
    /// type-check: builders and passes only make well-typed nodes.
    pub fn add(&mut self, op: Op, args: &[NodeId], site: u32) -> NodeId {
        let types: Vec<&Type> = args.iter().map(|&a| self.ty(a)).collect();
        match infer::infer(self, &op, &types) {
            Ok(ty) => self.add_typed(op, ty, args, site),
            Err(why) => panic!("ill-typed node {} {types:?}: {why}", op.name()),
        }
    }

    /// A new graph, made by walking this one in order: `f` gets the new graph, the old node's id and
    /// the new ids of its operands, and says which new node stands for the old one.
    pub fn rewrite(&self, mut f: impl FnMut(&mut Graph, NodeId, &[NodeId]) -> NodeId) -> Graph {
        let mut new = self.empty_like();
        let mut map: Vec<NodeId> = Vec::with_capacity(self.len());
        for id in self.ids() {
            let args: Vec<NodeId> = self.args(id).iter().map(|a| map[a.index()]).collect();
            let to = f(&mut new, id, &args);
            map.push(to);
        }
        new.outputs = self
            .outputs
            .iter()
            .map(|o| Output { node: map[o.node.index()], ..o.clone() })
            .collect();
        new
    }

    /// The node unchanged: what a pass does with what it does not rewrite. The type is inferred
    /// anew, because an operand may have been rewritten.
    pub fn keep(&mut self, old: &Graph, id: NodeId, args: &[NodeId]) -> NodeId {
        let node = old.node(id);
        self.add(node.op.clone(), args, node.site)
    }
}
