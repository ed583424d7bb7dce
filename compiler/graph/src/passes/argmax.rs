//! `argmax(z) == label`: the label's logit against the others; no index is ever formed.
//!
//! Before: any graph. After: where one side of an equality is an [`Op::ArgMax`] and the other an
//! input that is only compared in this way, the input is dealt as a one-hot vector and the equality
//! is an [`Op::ArgMaxIs`].
//!
//! ```text
//! %2 = argmax %1 ; %4 = gather %3 %9 ; %5 = eq %2 %4
//!   ->   %4 = gather %3' %9 ; %5 = argmax_is %1 %4        (%3' is %3 dealt one-hot)
//! ```

use super::promise::{Kept, none};
use crate::analysis::behind::behind;
use crate::graph::{Graph, NodeId, Op};

pub(super) fn run(graph: &Graph) -> Graph {
    // Inputs that are compared with an argmax, through layout operations only, and used for nothing else.
    let mut classes: Vec<Result<Option<u64>, ()>> = vec![Ok(None); graph.inputs.len()];
    for id in graph.ids() {
        let Op::Input(i) = *graph.op(id) else { continue };
        let found = only_labels(graph, id).map(Some).ok_or(());
        classes[i as usize] = classes[i as usize].and(found);
    }
    // The interface changes first: `rewrite` copies it into the new graph.
    let mut source = graph.clone();
    for (input, classes) in source.inputs.iter_mut().zip(classes) {
        let Ok(Some(c)) = classes else { continue };
        // Labels are 0 .. c exactly when the declared range says so.
        if input.range == (0.0, c as f64 - 1.0) && input.from.set().is_some() {
            input.one_hot = Some(c);
        }
    }
    let hot: Vec<bool> = source.inputs.iter().map(|i| i.one_hot.is_some()).collect();
    source.rewrite(|new, id, args| {
        let node = graph.node(id);
        let is_hot = |g: &Graph, n: NodeId| root(g, n).is_some_and(|i| hot[i as usize]);
        match &node.op {
            Op::Eq => {
                let (a, b) = match (new.op(args[0]), new.op(args[1])) {
                    (Op::ArgMax, _) if is_hot(new, args[1]) => (args[0], args[1]),
                    (_, Op::ArgMax) if is_hot(new, args[0]) => (args[1], args[0]),
                    _ => return new.keep(graph, id, args),
                };
                let z = new.arg(a, 0);
                let logits = new.shape(z).to_vec();
                let label = new.add_broadcast(b, &logits, node.site);
                new.add(Op::ArgMaxIs, &[z, label], node.site)
            }
            op if op.is_layout() && is_hot(new, args[0]) => {
                // One more axis, last, that the operation leaves alone.
                let classes = *new.shape(args[0]).last().unwrap_or(&1);
                let rank = new.shape(args[0]).len() as u64 - 1;
                let mut op = op.clone();
                match &mut op {
                    Op::Reshape(to) | Op::Broadcast(to) => to.push(classes),
                    Op::Transpose(perm) => perm.push(rank),
                    _ => {}
                }
                new.add(op, args, node.site)
            }
            _ => new.keep(graph, id, args),
        }
    })
}

pub(super) fn after(g: &Graph) -> Kept {
    let hot = |id: NodeId| root(g, id).is_some_and(|i| g.inputs[i as usize].one_hot.is_some());
    none(g, "compares a one-hot label as a number", |id| {
        *g.op(id) == Op::Eq && g.args(id).iter().copied().any(hot)
    })
}

/// The input that a chain of layout operations starts from.
fn root(g: &Graph, id: NodeId) -> Option<u32> {
    match g.op(behind(g, id, Op::is_layout)) {
        Op::Input(i) => Some(*i),
        _ => None,
    }
}

/// The number of classes if every use of a node ends, through layout operations, in an equality
/// with an argmax over that many entries.
fn only_labels(g: &Graph, id: NodeId) -> Option<u64> {
    let mut classes = None;
    for &user in g.users(id) {
        let found = match g.op(user) {
            Op::Eq => {
                let other = g.args(user).iter().copied().find(|&a| a != id)?;
                if *g.op(other) != Op::ArgMax {
                    return None;
                }
                *g.shape(g.arg(other, 0)).last()?
            }
            op if op.is_layout() && g.arg(user, 0) == id => only_labels(g, user)?,
            _ => return None,
        };
        if classes.is_some_and(|c| c != found) {
            return None;
        }
        classes = Some(found);
    }
    classes
}
