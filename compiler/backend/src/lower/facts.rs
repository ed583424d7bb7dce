//! What is known of a graph before it is lowered, and questions about nodes that choosing and lowering both
//! ask.

use super::common::elementary::Operand;
use super::target::Family;
use slvr_graph::analysis::ranges::Ranges;
use slvr_graph::analysis::rings::{self, Rings, size_bits};
use slvr_graph::analysis::signs;
use slvr_graph::graph::{Graph, NodeId};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;

/// A graph with scales, and what is proven and chosen of its values.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    pub graph: &'a Graph,
    pub ranges: &'a Ranges,
    pub rings: &'a Rings,
    /// T1 if all nodes are of it. Of T2, each node is of either.
    pub family: Family,
}

impl Facts<'_> {
    /// Whether a value is secret.
    pub fn is_secret(&self, id: NodeId) -> bool {
        self.graph.ty(id).secrecy == Secrecy::Secret
    }

    /// Whether a value is made of bits.
    pub fn is_bit(&self, id: NodeId) -> bool {
        self.graph.ty(id).elem == Elem::Bit
    }

    /// Bits of an element in the ring of the value: 1 for a bit.
    pub fn ring(&self, id: NodeId) -> u32 {
        if self.is_bit(id) { 1 } else { self.rings.of(id) }
    }

    /// The ring in which a node reads its operand number `i`.
    pub fn operand_ring(&self, id: NodeId, i: usize) -> u32 {
        self.rings.operand(self.graph, self.ranges, id, i)
    }

    /// Bits that hold the difference of a comparison's operands.
    pub fn difference_bits(&self, id: NodeId) -> u32 {
        let (a, b) = (self.graph.arg(id, 0), self.graph.arg(id, 1));
        self.rings.fixed().unwrap_or_else(|| self.ranges.difference_bits(a, b))
    }

    /// A number, with what is proven of it.
    pub fn operand<W>(&self, id: NodeId, value: W) -> Operand<W> {
        let (lo, hi) = self.ranges.raw[id.index()];
        // The smallest size: f64 holds an integer that is no larger.
        let least = lo.max(-hi).max(0.0) as u64;
        Operand {
            value,
            frac: self.graph.frac_of(id),
            // Of both signs: -2^bits would be its own negative.
            bits: size_bits((lo, hi)),
            least,
            not_negative: lo >= 0.0 || signs::not_negative(self.graph, id),
            vanishes: false,
        }
    }

    /// As [`rings::compared`].
    pub fn compared(&self, gate: NodeId) -> Option<(NodeId, u32)> {
        rings::compared(self.graph, self.ranges, gate)
    }

    /// As [`rings::cheaper_sign`].
    pub fn cheaper_sign(&self, value: NodeId, condition: NodeId) -> NodeId {
        rings::cheaper_sign(self.graph, value, condition)
    }
}
