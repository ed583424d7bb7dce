//! The receiver divides.
//!
//! Before: any graph without scales. After: no revealed node is a [`Op::Scale`] by a public constant
//! (other than 0); the receiver multiplies or divides after opening. The undivided value follows from the
//! revealed one, so nothing more is learnt.
//!
//! ```text
//! %2 = scale 0.1 %1 ; reveal %2   ->   reveal %1 / 10
//! ```

use super::promise::Kept;
use crate::graph::{Graph, Op, Output};

pub(super) fn run(graph: &Graph) -> Graph {
    let mut new = graph.clone();
    for i in 0..new.outputs.len() {
        // Nobody receives what is kept.
        while new.outputs[i].state.is_none() {
            let node = new.outputs[i].node;
            match *new.op(node) {
                Op::Scale(c) if c != 0.0 && c.is_finite() => {
                    let Some(after) = divided(&new.outputs[i], c) else { break };
                    let output = &mut new.outputs[i];
                    (output.factor, output.divisor) = after;
                    new.outputs[i].node = new.arg(node, 0);
                }
                _ => break,
            }
        }
    }
    new
}

/// What the receiver multiplies and divides by after it took on a factor; `None` if that would be too
/// large or too small.
fn divided(output: &Output, c: f64) -> Option<(f64, f64)> {
    let (mut factor, mut divisor) = (output.factor, output.divisor);
    // A scale by 1 / n came from a division by n: divide again, so that floating point rounds as the
    // source does.
    let n = (1.0 / c).round();
    if n != 0.0 && 1.0 / n == c {
        divisor *= n
    } else {
        factor *= c
    }
    [factor, divisor].iter().all(|x| x.is_normal()).then_some((factor, divisor))
}

pub(super) fn after(g: &Graph) -> Kept {
    let left = |o: &&Output| match *g.op(o.node) {
        Op::Scale(c) => c != 0.0 && c.is_finite() && divided(o, c).is_some(),
        _ => false,
    };
    match g.outputs.iter().filter(|o| o.state.is_none()).find(left) {
        None => Ok(()),
        Some(o) => Err(format!("%{} = scale: output {} opens it", o.node.index(), o.name)),
    }
}
