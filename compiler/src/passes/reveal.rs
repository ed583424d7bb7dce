//! The receiver divides.
//!
//! Before: any graph without scales. After: no revealed node is a [`Op::Scale`] by a public constant
//! (other than 0); the receiver multiplies after opening. The undivided value follows from the
//! revealed one, so nothing more is learnt.
//!
//! ```text
//! %2 = scale 0.1 %1 ; reveal %2   ->   reveal %1 / 10
//! ```

use crate::graph::{Graph, Op};

pub(super) fn run(graph: &Graph) -> Graph {
    let mut new = graph.clone();
    for i in 0..new.outputs.len() {
        loop {
            let node = new.outputs[i].node;
            match *new.op(node) {
                Op::Scale(c) if c != 0.0 && c.is_finite() => {
                    let divisor = new.outputs[i].divisor / c;
                    // 1 / (1 / 9.0) is not always 9.0.
                    let whole = divisor.round();
                    let near = (divisor - whole).abs() <= 1e-12 * whole.abs();
                    new.outputs[i].divisor = if near { whole } else { divisor };
                    new.outputs[i].node = new.arg(node, 0);
                }
                _ => break,
            }
        }
    }
    new
}
