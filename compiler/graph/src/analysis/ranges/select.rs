//! Intervals of what a comparison chooses: where one side is chosen, the comparison's operands are known to
//! be on one side of each other. The larger of two is at least each of them, an absolute value is not
//! negative, a clamped value is within its bounds.

use crate::analysis::interval::{Interval, above, below, hull, meet, negated, product, sum};
use crate::graph::{Graph, NodeId, Op, Selection};

/// So many operations are followed from a side of a selection to an operand of its comparison.
const STEPS: u32 = 8;

/// The raw interval of a selection, from those of all nodes before it.
pub(super) fn chosen(g: &Graph, raw: &[Interval], id: NodeId) -> Interval {
    let plain = hull(raw[g.arg(id, 1).index()], raw[g.arg(id, 2).index()]);
    let Some(Selection { less: [p, q], then, other }) = g.selection(id) else { return plain };
    let (x, y) = (raw[p.index()], raw[q.index()]);
    // Words are integers.
    let less =
        [(p, meet(x, (f64::NEG_INFINITY, y.1 - 1.0))), (q, meet(y, (x.0 + 1.0, f64::INFINITY)))];
    let not_less = [(p, meet(x, (y.0, f64::INFINITY))), (q, meet(y, (f64::NEG_INFINITY, x.1)))];
    let side = |at: NodeId, known: [(NodeId, Interval); 2]| {
        // What no words satisfy is never chosen.
        if known.iter().any(|(_, (lo, hi))| lo > hi) {
            return None;
        }
        let mut all = Vec::new();
        known.into_iter().for_each(|(n, interval)| note(g, raw, n, interval, &mut all));
        let (lo, hi) = under(g, raw, at, &all, STEPS);
        (lo <= hi).then_some((lo, hi))
    };
    match (side(then, less), side(other, not_less)) {
        (Some(a), Some(b)) => meet(plain, hull(a, b)),
        (Some(one), None) | (None, Some(one)) => meet(plain, one),
        (None, None) => plain,
    }
}

/// Notes what is known of a node, and with it of what it is made of entry by entry.
fn note(
    g: &Graph,
    raw: &[Interval],
    mut id: NodeId,
    mut known: Interval,
    all: &mut Vec<(NodeId, Interval)>,
) {
    for _ in 0..STEPS {
        all.push((id, known));
        let (lo, hi) = known;
        known = match g.op(id) {
            Op::Neg => (-hi, -lo),
            Op::Scale(c) if *c > 0.0 => (below(lo / c), above(hi / c)),
            Op::Scale(c) if *c < 0.0 => (below(hi / c), above(lo / c)),
            Op::Shift(by) => {
                let unit = f64::from(*by).exp2();
                (below(lo / unit), above(hi / unit))
            }
            // One of the two next integers.
            Op::Trunc(by) => {
                let unit = f64::from(*by).exp2();
                ((lo - 1.0) * unit, (hi + 1.0) * unit)
            }
            Op::DivPow2(_) | Op::MulPow2(_) => known,
            _ => return,
        };
        id = g.arg(id, 0);
        known = meet(known, raw[id.index()]);
    }
}

/// The interval of a node that is made entry by entry of nodes of which something is known.
fn under(
    g: &Graph,
    raw: &[Interval],
    id: NodeId,
    known: &[(NodeId, Interval)],
    steps: u32,
) -> Interval {
    let own = raw[id.index()];
    if let Some((_, interval)) = known.iter().find(|(n, _)| *n == id) {
        return meet(own, *interval);
    }
    let Some(steps) = steps.checked_sub(1) else { return own };
    let arg = |i: usize| under(g, raw, g.arg(id, i), known, steps);
    let made = match g.op(id) {
        Op::Neg => negated(arg(0)),
        Op::Scale(c) => product(arg(0), (*c, *c)),
        Op::Shift(by) => {
            let unit = f64::from(*by).exp2();
            product(arg(0), (unit, unit))
        }
        Op::Trunc(by) => {
            let ((lo, hi), unit) = (arg(0), f64::from(*by).exp2());
            ((lo / unit).floor(), (hi / unit).ceil())
        }
        Op::DivPow2(_) | Op::MulPow2(_) => arg(0),
        Op::Add => sum(arg(0), arg(1)),
        Op::Sub => sum(arg(0), negated(arg(1))),
        // One of the two: a value that is kept on both sides is chosen from twice.
        Op::Select => hull(arg(1), arg(2)),
        _ => return own,
    };
    // Ends beyond 2^53 are rounded.
    let wider = |x: f64| if x.abs() < 9e15 { 0.0 } else { x.abs() * 1e-15 };
    meet(own, (made.0 - wider(made.0), made.1 + wider(made.1)))
}
