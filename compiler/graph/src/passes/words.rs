//! Bits become integers before they are copied, masked or complemented.
//!
//! Before: any graph without scales. After: an [`Op::ToInt`] reads no layout operation that copies,
//! no complement, and no combination with a constant: those are linear on integers and cost
//! nothing there, while turning a bit into a word takes two rounds and 3 k bits.
//!
//! ```text
//! %2 = gather %1 [..] ; %3 = and %2 (const) ; %4 = to_int %3
//!   ->   %2 = to_int %1 ; %3 = gather %2 [..] ; %4 = mul %3 (const)
//! ```

use super::promise::{Kept, none};
use crate::graph::{Graph, NodeId, Op, Table};
use slvr_language::types::Elem;

pub(super) fn run(graph: &Graph) -> Graph {
    graph.replace(|new, id, args| {
        (*graph.op(id) == Op::ToInt).then(|| to_int(new, args[0], graph.node(id).site))
    })
}

pub(super) fn after(g: &Graph) -> Kept {
    none(g, "turns bits into integers after what is linear on integers", |id| {
        if *g.op(id) != Op::ToInt {
            return false;
        }
        let bits = g.arg(id, 0);
        let args = g.args(bits);
        let table = |&a: &NodeId| matches!(g.op(a), Op::Const(..));
        match g.op(bits) {
            Op::Const(..) | Op::Not => true,
            Op::And | Op::Xor => args.iter().any(table),
            op => op.is_layout() && g.elements(args[0]) <= g.elements(bits),
        }
    })
}

fn to_int(g: &mut Graph, bits: NodeId, site: u32) -> NodeId {
    let rank = g.shape(bits).len();
    let op = g.op(bits).clone();
    let constant = |g: &Graph, id: NodeId| match g.op(id) {
        Op::Const(t, ..) => Some(t.clone()),
        _ => None,
    };
    match op {
        Op::Const(t, ..) => g.add(Op::Const(t, Elem::Int, None), &[], site),
        Op::Not => {
            let x = g.arg(bits, 0);
            let x = to_int(g, x, site);
            let one = g.add_number(rank, 1.0, Elem::Int, site);
            g.add(Op::Sub, &[one, x], site)
        }
        Op::And | Op::Xor => {
            let (a, b) = (g.arg(bits, 0), g.arg(bits, 1));
            let (x, t) = match (constant(g, a), constant(g, b)) {
                (_, Some(t)) => (a, t),
                (Some(t), _) => (b, t),
                _ => return g.add(Op::ToInt, &[bits], site),
            };
            let x = to_int(g, x, site);
            let int = |g: &mut Graph, t: Table| g.add(Op::Const(t, Elem::Int, None), &[], site);
            if op == Op::And {
                let t = int(g, t);
                return g.add(Op::Mul, &[x, t], site);
            }
            // x xor c = (1 - 2 c) x + c
            let sign = Table {
                shape: t.shape.clone(),
                data: t.data.iter().map(|c| 1.0 - 2.0 * c).collect(),
            };
            let (sign, c) = (int(g, sign), int(g, t));
            let x = g.add(Op::Mul, &[x, sign], site);
            g.add(Op::Add, &[x, c], site)
        }
        op if op.is_layout() && g.elements(g.arg(bits, 0)) <= g.elements(bits) => {
            let mut args = g.args(bits).to_vec();
            args[0] = to_int(g, args[0], site);
            g.add(op, &args, site)
        }
        _ => g.add(Op::ToInt, &[bits], site),
    }
}
