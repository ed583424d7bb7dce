//! Which truncations round as bounded martingale differences.
//!
//! Both families truncate x = a + b to ceil((x - r) / 2^f), r = a mod 2^f (`docs/src/protocols.md`, "What a rounding
//! hands out"). If r is uniform given all that determines x and given all other roundings that come before it, the
//! rounding error has mean 0 given these and takes one of two values that are one unit apart.
//!
//! The word a is fresh where x is a product of secrets: T1 reshares it with new randomness, T2 opens it under a
//! new mask, and both leave a uniform given x and everything that was drawn for anything else. Adding a value with
//! masks of its own, taking the negative, and moving entries without repeating one keep it so. So a truncation is a
//! [`Rounding::Martingale`] if its operand is such a product, up to these steps, and if
//!
//! - it is the first one of this product: two that share r are not independent;
//! - no other rounding that comes before it computes with the product's own shares: the operand could depend on r
//!   by way of its error. (What such a rounding reaches by a product of secrets or by a bit has new masks.)
//!
//! All other truncations of secrets are [`Rounding::Any`]: of inputs, of products with public numbers (whose masks
//! are those of the inputs), of values that were rounded before.

use crate::graph::{Graph, NodeId, Op};
use crate::syntax::ast::Secrecy;
use crate::types::Elem;
use std::collections::HashMap;

/// What is known of how a node rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// It does not truncate.
    None,
    /// To the nearest: public values.
    Nearest,
    /// Up or down, with mean 0 given all that came before, independently of other entries.
    Martingale,
    /// Up or down.
    Any,
}

/// By index of the node.
pub fn roundings(g: &Graph) -> Vec<Rounding> {
    let secret = |id: NodeId| g.ty(id).secrecy == Secrecy::Secret;
    let copies = copies(g);
    let mut claimed = vec![false; g.len()];
    let mut of = |id: NodeId| match g.op(id) {
        Op::Trunc(_) if !secret(id) => Rounding::Nearest,
        Op::Trunc(_) => match product(g, g.arg(id, 0)) {
            Some(root) if !copies[root.index()] && first(g, root, id) => {
                let taken = std::mem::replace(&mut claimed[root.index()], true);
                if taken { Rounding::Any } else { Rounding::Martingale }
            }
            _ => Rounding::Any,
        },
        op if rounds(op) => Rounding::Any,
        _ => Rounding::None,
    };
    g.ids().map(&mut of).collect()
}

/// Whether an operation rounds with the shares of its operands.
fn rounds(op: &Op) -> bool {
    matches!(op, Op::Trunc(_) | Op::Function(_) | Op::Div)
}

/// A product of two secrets.
fn masked_anew(g: &Graph, id: NodeId) -> bool {
    let product = matches!(g.op(id), Op::Mul | Op::MatMul { .. } | Op::Conv2d { .. });
    product && g.args(id).iter().all(|&a| g.ty(a).secrecy == Secrecy::Secret)
}

/// The product whose masks are those of a value, entry by entry, or summed up over disjoint sets of entries.
fn product(g: &Graph, mut id: NodeId) -> Option<NodeId> {
    loop {
        if masked_anew(g, id) {
            return Some(id);
        }
        let args = g.args(id);
        id = match g.op(id) {
            Op::Neg
            // The same words, read at another scale.
            | Op::DivPow2(_)
            | Op::Reshape(_)
            | Op::Transpose(_)
            | Op::Slice { .. }
            | Op::Sum(_) => args[0],
            Op::Add | Op::Sub => {
                // Of two products either would do, if it is repeated nowhere.
                let whole = |&a: &NodeId| g.elements(a) == g.elements(id) && product(g, a).is_some();
                args.into_iter().find(|a| whole(a))?
            }
            _ => return None,
        };
    }
}

/// Whether no rounding before `own` is reached from a product's own shares.
fn first(g: &Graph, root: NodeId, own: NodeId) -> bool {
    let mut seen = vec![false; g.len()];
    let mut open = vec![root];
    while let Some(x) = open.pop() {
        for user in g.users(x).into_iter().filter(|u| *u < own) {
            if masked_anew(g, user) || g.ty(user).elem == Elem::Bit {
                continue;
            }
            if rounds(g.op(user)) {
                return false;
            }
            if !std::mem::replace(&mut seen[user.index()], true) {
                open.push(user);
            }
        }
    }
    true
}

/// Nodes that another one equals: the circuit has one value for both, and so one mask.
fn copies(g: &Graph) -> Vec<bool> {
    let mut numbers: HashMap<(String, Vec<usize>), usize> = HashMap::new();
    let mut number = vec![0; g.len()];
    let mut count = vec![0u32; g.len()];
    for id in g.ids() {
        let of: Vec<usize> = g.args(id).iter().map(|a| number[a.index()]).collect();
        let n = *numbers.entry((format!("{:?}", g.op(id)), of)).or_insert(id.index());
        number[id.index()] = n;
        count[n] += 1;
    }
    number.into_iter().map(|n| count[n] > 1).collect()
}
