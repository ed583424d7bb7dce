//! Roots and scale factors move towards their users and cancel in comparisons.
//!
//! Before: any graph without scales. After: no sum and no negation reads an [`Op::Scale`]. A layout operation or a
//! single order statistic that read a root or a factor reads what is behind it, unless it is a largest root that is
//! subtracted from the roots ([`rising::centres`]); of several behind one another it passes one. A comparison of two
//! roots compares their squares; a positive factor common to both sides of a comparison is gone.
//!
//! Exact in real numbers: sqrt is increasing on [0, inf), and the root of what is negative is 0, which no root is
//! below. So of two roots the left operand is compared with the right one, or 0 if it is negative.
//!
//! ```text
//! %3 = sqrt %1 ; %4 = sqrt %2 ; %5 = scale 1.5 %4 ; %6 = lt %3 %5
//!   ->   %5 = scale 2.25 %2 ; %6 = lt %1 %5
//! ```

use super::promise::{Kept, none};
use super::rising;
use crate::analysis::magnitudes::Magnitudes;
use crate::graph::{Function, Graph, Node, NodeId, Op};
use slvr_language::types::Elem;
use slvr_language::types::number::{product, quotient, square};

pub(super) fn run(graph: &Graph) -> Graph {
    let (sizes, centres) = (rising::sizes(), rising::centres(graph));
    graph.replace(|new, id, args| {
        let node = graph.node(id);
        // What keeps a value in a range compares the value itself.
        let kept = node.op == Op::Lt && graph.site(id).compares_ends();
        let rooted = centres.contains(&id) && *new.op(args[0]) == Op::Function(Function::Sqrt);
        if kept || rooted { None } else { rewrite(new, &sizes, node, args) }
    })
}

pub(super) fn after(g: &Graph) -> Kept {
    none(g, "reads a factor that could be taken after it", |id| {
        let linear = matches!(g.op(id), Op::Sum(_) | Op::Neg);
        linear && matches!(g.op(g.arg(id, 0)), Op::Scale(_))
    })
}

fn rewrite(g: &mut Graph, sizes: &Magnitudes, of: &Node, args: &[NodeId]) -> Option<NodeId> {
    let (op, site) = (&of.op, of.site);
    let first = *args.first()?;
    let float = g.op(first).clone();
    let rises = || rising::never_falls(g, first);
    let mut moved = args.to_vec();
    let passes = match (op, &float) {
        (Op::Scale(c), Op::Scale(d)) => {
            let x = g.arg(first, 0);
            return Some(g.add(Op::Scale(product(*c, *d)?), &[x], site));
        }
        (Op::Lt, _) => return compare(g, sizes, [args[0], args[1]], site),
        (op, Op::Function(Function::Sqrt)) => op.is_layout() || is_entry(op) && rises(),
        (op, Op::Scale(_)) if op.is_layout() => true,
        (Op::Sum(_) | Op::Neg, Op::Scale(_)) => true,
        (Op::Add | Op::Sub, Op::Scale(_)) if *g.op(args[1]) == float => {
            moved[1] = g.arg(args[1], 0);
            true
        }
        (op, Op::Scale(_)) => (is_entry(op) || keeps_factors(op)) && rises(),
        _ => false,
    };
    passes.then(|| {
        moved[0] = g.arg(first, 0);
        let y = g.add(op.clone(), &moved, site);
        g.add(float, &[y], site)
    })
}

/// Whether a positive factor of the operand is one of the result: of sums by order, and of 0.
fn keeps_factors(op: &Op) -> bool {
    matches!(op, Op::SortSum { .. } | Op::Relu)
}

/// Whether each entry of the result is one of the operand's, by its order.
fn is_entry(op: &Op) -> bool {
    match op {
        Op::SortSum { lo, hi } => hi - lo == 1,
        Op::Sort | Op::Max(_) | Op::Min(_) => true,
        _ => false,
    }
}

/// A root against a constant: squares where the constant is positive. A root is not below a
/// constant that is not positive, and above one that is negative.
fn with_bound(g: &mut Graph, a: NodeId, b: NodeId, site: u32) -> Option<NodeId> {
    let (root, limit, below) = match (g.constant(a), g.constant(b)) {
        (None, Some(c)) => (side(g, a), c, true),
        (Some(c), None) => (side(g, b), c, false),
        _ => return None,
    };
    if !root.root || root.factor <= 0.0 {
        return None;
    }
    let shape = crate::graph::infer::align(g.shape(a), g.shape(b)).ok()?;
    if below && limit <= 0.0 || !below && limit < 0.0 {
        return Some(g.add_table(shape, vec![f64::from(!below)], Elem::Bit, site));
    }
    let own = g.shape(if below { b } else { a }).to_vec();
    let square = square(quotient(limit, root.factor)?)?;
    let square = g.add_table(own, vec![square], Elem::Fix, site);
    let (x, y) = if below { (root.x, square) } else { (square, root.x) };
    let site = g.rescaled_site(site, root.factor, true);
    Some(g.add(Op::Lt, &[x, y], site))
}

/// One side of a comparison as factor * x, or factor * sqrt(x).
struct Side {
    factor: f64,
    root: bool,
    x: NodeId,
}

fn side(g: &Graph, mut id: NodeId) -> Side {
    let mut factor = 1.0;
    if let Op::Scale(c) = g.op(id) {
        factor = *c;
        id = g.arg(id, 0);
    }
    let root = *g.op(id) == Op::Function(Function::Sqrt);
    Side { factor, root, x: if root { g.arg(id, 0) } else { id } }
}

fn compare(g: &mut Graph, sizes: &Magnitudes, [a, b]: [NodeId; 2], site: u32) -> Option<NodeId> {
    if let Some(done) = with_bound(g, a, b, site) {
        return Some(done);
    }
    let (a, b) = (side(g, a), side(g, b));
    if a.root != b.root || a.factor <= 0.0 || b.factor <= 0.0 {
        return None;
    }
    if !a.root && (a.factor != b.factor || a.factor == 1.0) {
        return None;
    }
    // Of two that are negative neither root is below the other.
    let x = if a.root { rising::cut(g, sizes, Function::Sqrt, a.x, site)? } else { a.x };
    let a = Side { x, ..a };
    // The larger factor stays, divided by the smaller: it is at least one, so a fixed-point
    // constant keeps its relative precision.
    let ratio = |x: f64, y: f64| {
        let ratio = quotient(x, y)?;
        if a.root { square(ratio) } else { Some(ratio) }
    };
    let (up, down) = (ratio(b.factor, a.factor)?, ratio(a.factor, b.factor)?);
    let site = g.rescaled_site(site, a.factor.min(b.factor), a.root);
    let (x, y) = if up == 1.0 {
        (a.x, b.x)
    } else if up > 1.0 {
        (a.x, g.add(Op::Scale(up), &[b.x], site))
    } else {
        (g.add(Op::Scale(down), &[a.x], site), b.x)
    };
    Some(g.add(Op::Lt, &[x, y], site))
}
