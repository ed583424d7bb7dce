//! Products: elementwise, matrix, convolution, and of bits.
//!
//! Secret times secret is a local product, additive among the three, and one reshare later (MUL,
//! DOT, MATMUL, CONV, AND of Araki et al. 2016): 1 round, k bits per entry of the *result* and
//! party. Public times anything is local.

use super::{Held, Lowering, additive, full};
use crate::graph::NodeId;
use slvr_circuit::{Conv, Op as C};

impl Lowering<'_> {
    fn bilinear(&mut self, id: NodeId, op: C) -> Held {
        let product = self.emit.add(op);
        let both = [0, 1].map(|i| self.secret(self.graph.arg(id, i)));
        if both == [true; 2] { additive(product) } else { full(product) }
    }

    /// Elementwise; on bits an and.
    pub(super) fn product(&mut self, id: NodeId) -> Held {
        let (x, y) = (self.operand_of(id, 0), self.operand_of(id, 1));
        self.bilinear(id, C::Mul(x, y))
    }

    pub(super) fn matmul(&mut self, id: NodeId, trans_b: bool) -> Held {
        let (x, y) = (self.operand_of(id, 0), self.operand_of(id, 1));
        self.bilinear(id, C::MatMul { a: x, b: y, trans_b })
    }

    pub(super) fn conv2d(&mut self, id: NodeId, stride: u64, pad: u64) -> Held {
        let (x, w) = (self.operand_of(id, 0), self.operand_of(id, 1));
        self.bilinear(id, C::Conv2d { x, w, conv: Conv { stride, pad } })
    }

    /// a + b or a - b: added before the reshare where one of them is a product.
    pub(super) fn sum(&mut self, id: NodeId, a: NodeId, b: NodeId) -> Held {
        let minus = *self.graph.op(id) == crate::graph::Op::Sub;
        let op = |x, y| if minus { C::Sub(x, y) } else { C::Add(x, y) };
        // The result must not be larger than the product it is added to: a reshare costs by size.
        let k = self.rings.of(id);
        let fits = |l: &mut Self, n: NodeId| {
            if l.graph.elements(id) <= l.graph.elements(n) { l.pending(n, k) } else { None }
        };
        let (pa, pb) = if a == b { (None, None) } else { (fits(self, a), fits(self, b)) };
        match (pa, pb) {
            (Some(x), Some(y)) => additive(self.emit.add(op(x, y))),
            (Some(x), None) => {
                let y = self.at(b, k);
                additive(self.emit.add(op(x, y)))
            }
            (None, Some(y)) => {
                let x = self.at(a, k);
                additive(self.emit.add(op(x, y)))
            }
            (None, None) => {
                let (x, y) = (self.at(a, k), self.at(b, k));
                full(self.emit.add(op(x, y)))
            }
        }
    }
}
