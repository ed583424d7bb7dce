//! Adding nodes whose types follow from the typing rule, and rewriting a graph node by node.

use super::data::{Graph, NodeId, Output, Type};
use super::infer;
use super::op::{Op, Table};
use slvr_language::types::Elem;

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

    /// The same elements in another shape, if it is another.
    pub fn add_reshape(&mut self, x: NodeId, to: Vec<u64>, site: u32) -> NodeId {
        if self.shape(x) == to { x } else { self.add(Op::Reshape(to), &[x], site) }
    }

    /// The elements repeated to a shape, if it is another.
    pub fn add_broadcast(&mut self, x: NodeId, to: &[u64], site: u32) -> NodeId {
        if self.shape(x) == to { x } else { self.add(Op::Broadcast(to.to_vec()), &[x], site) }
    }

    /// A number, for an entry-by-entry operation beside values of this many axes.
    pub fn add_number(&mut self, axes: usize, value: f64, elem: Elem, site: u32) -> NodeId {
        self.add_table(vec![1; axes], vec![value], elem, site)
    }

    /// A table of bits or numbers without a scale.
    pub fn add_table(&mut self, shape: Vec<u64>, data: Vec<f64>, elem: Elem, site: u32) -> NodeId {
        self.add(Op::Const(Table { shape, data: data.into() }, elem, None), &[], site)
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

    /// The same, where `f` says what stands for those nodes that it replaces, and nothing of the others.
    pub fn replace(
        &self,
        mut f: impl FnMut(&mut Graph, NodeId, &[NodeId]) -> Option<NodeId>,
    ) -> Graph {
        self.rewrite(|new, id, args| f(new, id, args).unwrap_or_else(|| new.keep(self, id, args)))
    }

    /// The node unchanged: what a pass does with what it does not rewrite. The type is inferred
    /// anew, because an operand may have been rewritten.
    pub fn keep(&mut self, old: &Graph, id: NodeId, args: &[NodeId]) -> NodeId {
        let node = old.node(id);
        self.add(node.op.clone(), args, node.site)
    }
}
