//! Intervals of integer values.
//!
//! A value has an interval only where it follows from the way it is computed: a bit is 0 or 1, a
//! sum of n bits is in 0 ..= n, a table is what it is. Inputs have none.

use crate::graph::{Graph, NodeId, Op, domain};
use crate::types::Elem;

/// Smallest and largest raw value, both included.
pub type Interval = (f64, f64);

/// The interval of every node, `None` where nothing is proven.
pub fn integer_ranges(graph: &Graph) -> Vec<Option<Interval>> {
    let mut out: Vec<Option<Interval>> = Vec::with_capacity(graph.len());
    for id in graph.ids() {
        let of = |n: NodeId| out[n.index()];
        let r =
            if graph.ty(id).elem == Elem::Bit { Some((0.0, 1.0)) } else { range(graph, id, of) };
        // Beyond 2^53 the bounds themselves would be rounded.
        out.push(r.filter(|&(lo, hi)| lo > -9e15 && hi < 9e15));
    }
    out
}

fn range(g: &Graph, id: NodeId, of: impl Fn(NodeId) -> Option<Interval>) -> Option<Interval> {
    let args = g.args(id);
    let a = || of(args[0]);
    let product = |(a, b): Interval, (c, d): Interval| -> Interval {
        let all = [a * c, a * d, b * c, b * d];
        (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(f64::MIN, f64::max))
    };
    Some(match g.op(id) {
        Op::Const(t, _, Some(0)) => {
            let lo = t.data.iter().copied().fold(f64::MAX, f64::min);
            let hi = t.data.iter().copied().fold(f64::MIN, f64::max);
            (lo, hi)
        }
        Op::Committee { n, .. } => (0.0, *n as f64 - 1.0),
        Op::ToInt => (0.0, 1.0),
        Op::Add => {
            let (a, b) = (a()?, of(args[1])?);
            (a.0 + b.0, a.1 + b.1)
        }
        Op::Sub => {
            let (a, b) = (a()?, of(args[1])?);
            (a.0 - b.1, a.1 - b.0)
        }
        Op::Neg => {
            let a = a()?;
            (-a.1, -a.0)
        }
        Op::Scale(c) => product(a()?, (*c, *c)),
        Op::Mul => product(a()?, of(args[1])?),
        Op::MatMul { .. } => {
            let terms = *g.shape(args[0]).get(2)? as f64;
            let one = product(a()?, of(args[1])?);
            (one.0 * terms, one.1 * terms)
        }
        Op::Sum(axes) => {
            let terms: f64 = axes.iter().map(|&d| g.shape(args[0])[d as usize] as f64).product();
            let a = a()?;
            (a.0 * terms, a.1 * terms)
        }
        // Saturates; a few units for the rounding of the operand and of the macro.
        Op::ExpNonPositive => (0.0, 2f64.powi(g.ty(id).frac? as i32) + 8.0),
        // At most 2^12, and a unit, if the operand is sure to be in the domain.
        Op::Recip => {
            let frac = g.ty(id).frac? as i32;
            let inside = a()?.1 < 2f64.powi(frac + domain::DIVISOR_TOP as i32);
            inside.then(|| (0.0, 2f64.powi(frac + domain::DIVISOR_LOW as i32) + 1.0))?
        }
        // One of the two next integers.
        Op::Trunc(by) => {
            let (a, unit) = (a()?, 2f64.powi(*by as i32));
            ((a.0 / unit).floor(), (a.1 / unit).ceil())
        }
        Op::Shift(by) => product(a()?, (2f64.powi(*by as i32), 2f64.powi(*by as i32))),
        Op::Select => {
            let (a, b) = (of(args[1])?, of(args[2])?);
            (a.0.min(b.0), a.1.max(b.1))
        }
        Op::Gate => {
            let a = a()?;
            (a.0.min(0.0), a.1.max(0.0))
        }
        Op::Halve(_)
        | Op::Reshape(_)
        | Op::Transpose(_)
        | Op::Slice { .. }
        | Op::Broadcast(_)
        | Op::Gather { .. } => a()?,
        Op::Concat(_) => {
            let mut all = a()?;
            for &x in &args[1..] {
                let r = of(x)?;
                all = (all.0.min(r.0), all.1.max(r.1));
            }
            all
        }
        _ => return None,
    })
}

/// Bits of a two's complement word that holds every value of an interval.
pub fn signed_bits((lo, hi): Interval) -> u32 {
    let fits = |w: u32| lo >= -(2f64.powi(w as i32 - 1)) && hi < 2f64.powi(w as i32 - 1);
    (1..64).find(|&w| fits(w)).unwrap_or(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_tight() {
        assert_eq!(signed_bits((0.0, 0.0)), 1);
        assert_eq!(signed_bits((-1.0, 0.0)), 1);
        assert_eq!(signed_bits((0.0, 1.0)), 2);
        assert_eq!(signed_bits((-8.0, 7.0)), 4);
        assert_eq!(signed_bits((-8.0, 8.0)), 5);
        assert_eq!(signed_bits((-1e15, 1e15)), 51);
    }
}
