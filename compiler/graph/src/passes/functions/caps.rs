//! Capped quotients: the cap moves to the divisor.
//!
//! Before: any graph without scales. After: no quotient of two values that are known not to be negative is read by
//! a minimum of it and one positive constant.
//!
//! This is how updates are clipped: `u * min(tau / norm(u), 1)`. As it stands, the quotient of a short update is as
//! large as numbers get, and so is its error, before the minimum takes 1 for it. The divisor's floor says the same, and
//! the quotient never exceeds the cap. Exact in real numbers: where y >= x / c the quotient is at most c, where y < x /
//! c it is more, and the new one is x / (x / c). Of a divisor that is 0, too: x / 0 is beyond any cap, and 0 / 0, which
//! is 0, stays 0 / 0.
//!
//! Only where the dividend is known: another one may be as small as a unit, and divisor and dividend may be rounded
//! apart from each other afterwards, so that their quotient is above the cap again.
//!
//! The floor of a root is one of what it is taken of: so the root is never taken near 0, where it is steep.
//!
//! ```text
//! %3 = div %1 %2 ; %4 = min of %3 and c   ->   %4 = max of %2 and (%1 scaled by 1 / c) ; %3 = div %1 %4
//! ```

use super::super::promise::{Kept, none};
use crate::analysis::behind::unshaped;
use crate::analysis::signs::not_negative;
use crate::graph::{Function, Graph, NodeId, Op};
use slvr_language::types::Elem;

/// What a quotient by zero saturates at is beyond all caps up to here.
const LARGEST: f64 = 65536.0;

/// Floors that are known are at least this.
const LEAST: f64 = 1.0 / 256.0;
/// Floors of roots from here on are moved: smaller ones have squares of few bits.
const SMALLEST: f64 = 1.0 / 32.0;

/// A quotient that is capped: its dividend, its divisor, its shape and the cap.
struct Capped {
    dividend: f64,
    divisor: NodeId,
    shape: Vec<u64>,
    cap: f64,
}

pub(crate) fn run(graph: &Graph) -> Graph {
    graph.replace(|new, id, args| {
        let Op::Min(axis) = *graph.op(id) else { return None };
        let (found, site) = (capped(new, args[0], axis)?, graph.node(id).site);
        let quotient = floored(new, &found, site);
        Some(new.add_reshape(quotient, graph.shape(id).to_vec(), site))
    })
}

pub(crate) fn after(g: &Graph) -> Kept {
    none(g, "caps a quotient of what is not negative", |id| match g.op(id) {
        Op::Min(axis) => capped(g, g.arg(id, 0), *axis).is_some(),
        _ => false,
    })
}

/// The capped quotient, if these are one and its cap along the axis.
fn capped(g: &Graph, pair: NodeId, axis: u64) -> Option<Capped> {
    if *g.op(pair) != Op::Concat(axis) || g.shape(pair)[axis as usize] != 2 {
        return None;
    }
    let &[a, b] = g.args(pair) else { return None };
    let (quotient, cap) = match (g.constant(a), g.constant(b)) {
        (None, Some(cap)) => (a, cap),
        (Some(cap), None) => (b, cap),
        _ => return None,
    };
    let id = unshaped(g, quotient);
    let (dividend, divisor) = match (g.op(id), g.args(id)) {
        (Op::Div, &[x, y]) => (g.constant(x)?, y),
        (Op::Function(Function::Recip), &[y]) => (1.0, y),
        _ => return None,
    };
    // In a run the floor is rounded: one of few units would not hold the cap.
    let held = dividend == 0.0 || dividend / cap >= LEAST;
    let signs = not_negative(g, divisor) && dividend >= 0.0;
    let shape = g.shape(id).to_vec();
    let capped = signs && held && cap > 0.0 && cap <= LARGEST;
    capped.then_some(Capped { dividend, divisor, shape, cap })
}

/// x / max(y, x / cap).
fn floored(g: &mut Graph, of: &Capped, site: u32) -> NodeId {
    let splat = |g: &mut Graph, value| g.add_number(of.shape.len(), value, Elem::Fix, site);
    let dividend = splat(g, of.dividend);
    let root = Op::Function(Function::Sqrt);
    let floor = of.dividend / of.cap;
    let divisor = if floor >= SMALLEST && *g.op(of.divisor) == root {
        let least = splat(g, floor * floor);
        let larger = largest(g, g.arg(of.divisor, 0), least, &of.shape, site);
        g.add(root, &[larger], site)
    } else {
        let least = splat(g, floor);
        largest(g, of.divisor, least, &of.shape, site)
    };
    g.add(Op::Div, &[dividend, divisor], site)
}

/// The larger of two values at each place of a shape.
fn largest(g: &mut Graph, x: NodeId, y: NodeId, shape: &[u64], site: u32) -> NodeId {
    let count: u64 = shape.iter().product();
    let columns = [x, y].map(|x| {
        let all = g.add_broadcast(x, shape, site);
        g.add_reshape(all, vec![count, 1], site)
    });
    let both = g.add(Op::Concat(1), &columns, site);
    let larger = g.add(Op::Max(1), &[both], site);
    g.add_reshape(larger, shape.to_vec(), site)
}
