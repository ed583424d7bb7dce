//! Products: elementwise, matrix, convolution, and of bits.
//!
//! Secret times secret is a local product, additive among the three, and one reshare later (MUL,
//! DOT, MATMUL, CONV, AND of Araki et al. 2016): 1 round, k bits per entry of the *result* and
//! party. Public times anything is local.

use super::{Held, Lowering, additive, full};
use crate::graph::NodeId;
use slvr_runtime::circuit::Op as C;

impl Lowering<'_> {
    fn bilinear(&mut self, a: NodeId, b: NodeId, op: C) -> Held {
        let product = self.emit.add(op);
        if self.secret(a) && self.secret(b) { additive(product) } else { full(product) }
    }

    /// Elementwise; on bits an and.
    pub(super) fn product(&mut self, a: NodeId, b: NodeId) -> Held {
        let (x, y) = (self.full(a), self.full(b));
        self.bilinear(a, b, C::Mul(x, y))
    }

    pub(super) fn matmul(&mut self, a: NodeId, b: NodeId, trans_b: bool) -> Held {
        let (x, y) = (self.full(a), self.full(b));
        self.bilinear(a, b, C::MatMul { a: x, b: y, trans_b })
    }

    pub(super) fn conv2d(&mut self, x: NodeId, w: NodeId, stride: u64, pad: u64) -> Held {
        let (xv, wv) = (self.full(x), self.full(w));
        self.bilinear(x, w, C::Conv2d { x: xv, w: wv, stride, pad })
    }

    /// a + b or a - b: added before the reshare where one of them is a product.
    pub(super) fn sum(&mut self, id: NodeId, a: NodeId, b: NodeId) -> Held {
        let minus = *self.graph.op(id) == crate::graph::Op::Sub;
        let op = |x, y| if minus { C::Sub(x, y) } else { C::Add(x, y) };
        // The result must not be larger than the product it is added to: a reshare costs by size.
        let fits = |l: &Self, n: NodeId| {
            l.pending(n).filter(|_| l.graph.elements(id) <= l.graph.elements(n))
        };
        let (pa, pb) = if a == b { (None, None) } else { (fits(self, a), fits(self, b)) };
        match (pa, pb) {
            (Some(x), Some(y)) => additive(self.emit.add(op(x, y))),
            (Some(x), None) => {
                let y = self.full(b);
                additive(self.emit.add(op(x, y)))
            }
            (None, Some(y)) => {
                let x = self.full(a);
                additive(self.emit.add(op(x, y)))
            }
            (None, None) => {
                let (x, y) = (self.full(a), self.full(b));
                full(self.emit.add(op(x, y)))
            }
        }
    }
}
