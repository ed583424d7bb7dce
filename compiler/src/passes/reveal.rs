//! The receiver divides.
//!
//! Before: any graph without scales. After: no revealed node is a [`Op::Scale`] by a public constant
//! (other than 0); the receiver multiplies or divides after opening. The undivided value follows from the
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
                    let output = &mut new.outputs[i];
                    let (mut factor, mut divisor) = (output.factor, output.divisor);
                    // A scale by 1 / n came from a division by n: divide again, so that floating
                    // point rounds as the source does.
                    let n = (1.0 / c).round();
                    if n != 0.0 && 1.0 / n == c {
                        divisor *= n
                    } else {
                        factor *= c
                    }
                    if ![factor, divisor].iter().all(|x| x.is_normal()) {
                        break;
                    }
                    (output.factor, output.divisor) = (factor, divisor);
                    new.outputs[i].node = new.arg(node, 0);
                }
                _ => break,
            }
        }
    }
    new
}
