//! Vectors that are cut to a length: u times what is at most C over the norm of u, and u over what is at least the norm
//! of u over C.
//!
//! No interval says how long u min(1, C / norm u) is: one of the factor is 0 .. 1, and one of u is as long as u may
//! be. It is found by what is computed: the factor is at most a quotient, the quotient's divisor is at least a root,
//! and what the root is taken of is the sum of squares of the same u, up to factors. Of u / max(1, norm u / C) the
//! divisor is that of u itself. What the parties compute is off by what is stated of quotients, roots and truncations,
//! and all of it is added to the length.

use crate::analysis::layout::behind;
use crate::analysis::ranges::Ranges;
use crate::analysis::stated::StatedErrors;
use crate::graph::{Function, Graph, NodeId, Op};

/// What lengths are found by: the words of a run.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// The graph that is lowered.
    pub graph: &'a Graph,
    pub ranges: &'a Ranges,
    /// How far the protocols may be off.
    pub stated: &'a StatedErrors,
}

/// A value that another one is bounded by: so many times its own, and so much more.
#[derive(Clone, Copy, Debug)]
struct Found {
    node: NodeId,
    scale: f64,
    slack: f64,
}

/// What a divisor is at least: `slope` times the norm of a vector, less what grows no faster than a number.
#[derive(Clone, Copy, Debug)]
struct AtLeast {
    /// The vector: a row for each client.
    of: NodeId,
    slope: f64,
    /// What the root is off by, relatively and in real units of the divisor.
    relative: f64,
    rounded: f64,
    /// What the vector under the root is off by, times `slope`.
    moved: f64,
    /// What the square is off by, over twice the root of its factor and of the divisor's.
    square: f64,
}

impl AtLeast {
    /// What the divisor is at least where the vector has this norm or a larger one; 0 where nothing is known.
    fn at(&self, norm: f64) -> f64 {
        let clear = self.slope * norm - self.moved;
        if clear <= 0.0 {
            return 0.0;
        }
        let below = clear * (1.0 - self.relative) - self.square / clear - self.rounded;
        // Roundings that take half of it are no roundings.
        if below > self.slope * norm / 2.0 { below } else { 0.0 }
    }
}

impl Words<'_> {
    /// How long the rows of a product of a factor for each client with the client's vector are at most, in real
    /// units. No vector is longer than `most`.
    pub(super) fn cut(&self, factor: NodeId, vector: NodeId, most: f64) -> Option<f64> {
        let g = self.graph;
        let quotient = self.bounded(factor, true, &|op| *op == Op::Div)?;
        let (dividend, divisor) = (g.arg(quotient.node, 0), g.arg(quotient.node, 1));
        let (of, least) = self.over(vector, divisor)?;
        let rows = g.shape(least.of).first().copied()?;
        if [factor, quotient.node].iter().any(|&n| g.elements(n) != rows) {
            return None;
        }
        let (limit, whole) = (self.ranges.real(g, dividend).1, self.ranges.real(g, factor));
        let limit = limit * quotient.scale;
        // Where the ideal quotient is the most that the factor may be.
        let norm = limit / least.slope / whole.1;
        let below = least.at(norm);
        if !(norm > 0.0 && below > 0.0) {
            return None;
        }
        // Shorter ones are multiplied by no more than the factor's range allows, longer ones by the quotient.
        let div = self.stated.div;
        let units = quotient.scale * div.units * self.graph.ulp(quotient.node) + quotient.slack;
        let length = of.scale * norm + of.slack;
        let long = limit * (1.0 + div.relative) * length / below + units * most;
        let short = whole.1.max(-whole.0) * length;
        // The quotient bounds the factor from above only: below 0 nothing but its range does.
        let negative = (-whole.0).max(0.0) * most;
        Some(long.max(short).max(negative) * (1.0 + 1e-9))
    }

    /// How long the rows of a quotient of a client's vector and a number for each client are at most, and the row of a
    /// vector of zeros, in real units.
    pub(super) fn divided(&self, quotient: NodeId) -> Option<(f64, f64)> {
        let g = self.graph;
        let (vector, divisor) = (g.arg(quotient, 0), g.arg(quotient, 1));
        let (of, least) = self.over(vector, divisor)?;
        let lowest = self.ranges.real(g, divisor).0;
        // Where the norm begins to count in the divisor.
        let norm = lowest / least.slope;
        let below = least.at(norm);
        if !(norm > 0.0 && below > 0.0) {
            return None;
        }
        let div = self.stated.div;
        let entries = g.elements(quotient) / g.shape(least.of).first().copied()?.max(1);
        let units = div.units * self.graph.ulp(quotient) * (entries as f64).sqrt();
        let over = |length: f64| length / below.min(lowest) * (1.0 + div.relative) + units;
        let room = 1.0 + 1e-9;
        Some((over(of.scale * norm + of.slack) * room, over(of.slack) * room))
    }

    /// What a vector is of the one whose norm a divisor of it is at least, row by row, and that divisor.
    fn over(&self, vector: NodeId, divisor: NodeId) -> Option<(Found, AtLeast)> {
        let g = self.graph;
        let least = self.at_least(divisor)?;
        let mut of = self.multiple(vector, true);
        let rows = g.shape(least.of).first().copied()?;
        if of.node != least.of || g.elements(divisor) != rows {
            return None;
        }
        of.slack *= ((g.elements(vector) / rows.max(1)) as f64).sqrt();
        Some((of, least))
    }

    /// The norm that a divisor for each client is at least a part of.
    fn at_least(&self, divisor: NodeId) -> Option<AtLeast> {
        let g = self.graph;
        let root = self.bounded(divisor, false, &|op| *op == Op::Function(Function::Sqrt))?;
        let (square, of) = self.squared(g.arg(root.node, 0))?;
        let rows = g.shape(of.node).first().copied()?;
        if g.elements(root.node) != rows {
            return None;
        }
        let entries = (g.elements(of.node) / rows.max(1)) as f64;
        let (sqrt, half) = (self.stated.of(Function::Sqrt), square.scale.sqrt());
        let scale = root.scale * half;
        Some(AtLeast {
            of: of.node,
            slope: scale * of.scale,
            relative: sqrt.relative,
            rounded: root.scale * sqrt.units * self.graph.ulp(root.node) + root.slack,
            moved: scale * of.slack * entries.sqrt(),
            // The root of a^2 - s is at least a - s / a.
            square: root.scale * root.scale * square.slack,
        })
    }

    /// What a vector is so many times of, up to so much of each entry: without what scales, rounds and moves entries.
    fn multiple(&self, id: NodeId, transposed: bool) -> Found {
        let g = self.graph;
        let inner = || self.multiple(g.arg(id, 0), transposed);
        match g.op(id) {
            Op::Transpose(_) if transposed => inner(),
            Op::Reshape(_) => inner(),
            op => match factor(op) {
                Some(_) => self.multiplied(id, inner()),
                None => Found { node: id, scale: 1.0, slack: 0.0 },
            },
        }
    }

    /// What a node that only multiplies its operand and rounds is of what the operand is.
    fn multiplied(&self, id: NodeId, of: Found) -> Found {
        let op = self.graph.op(id);
        let by = factor(op).map_or(1.0, f64::abs);
        let rounded = if let Op::Trunc(_) = op { self.graph.ulp(id) } else { 0.0 };
        Found { scale: of.scale * by, slack: of.slack * by + rounded, ..of }
    }

    /// A value that bounds another one, from above or from below.
    fn bounded(&self, id: NodeId, above: bool, goal: &dyn Fn(&Op) -> bool) -> Option<Found> {
        self.side(id, (above, false), None, goal)
    }

    /// `above` says from which side the value at hand is to be bounded, `negated` whether it is the negative of the one
    /// that was asked for. `part` is the part of an axis that is read of it.
    fn side(
        &self,
        id: NodeId,
        (above, negated): (bool, bool),
        part: Option<(u64, u64)>,
        goal: &dyn Fn(&Op) -> bool,
    ) -> Option<Found> {
        let g = self.graph;
        let op = g.op(id);
        if goal(op) && part.is_none() {
            return (!negated).then_some(Found { node: id, scale: 1.0, slack: 0.0 });
        }
        let at = |i: usize| g.arg(id, i);
        let same = |x: NodeId| self.side(x, (above, negated), part, goal);
        match op {
            Op::Reshape(_) | Op::Transpose(_) if part.is_none() => same(at(0)),
            Op::Slice { axis, start, len: 1, .. } if part.is_none() => {
                self.side(at(0), (above, negated), Some((*axis, *start)), goal)
            }
            Op::Concat(axis) => {
                let (along, mut place) = part.filter(|p| p.0 == *axis)?;
                for &x in g.args(id) {
                    let len = g.shape(x)[*axis as usize];
                    if place < len {
                        let rest = (len > 1).then_some((along, place));
                        return self.side(x, (above, negated), rest, goal);
                    }
                    place -= len;
                }
                None
            }
            // At least the operand, or at most where the operand is not negative: a quotient of norms.
            Op::Relu if !above => same(at(0)),
            Op::Gate if !above && g.gates_itself(id) => same(at(0)),
            Op::Saturate(_) if above => same(at(0)),
            // The smaller of two is at most either, the larger one at least.
            Op::Select => {
                let found = g.selection(id)?;
                let fits = if above { found.is_smaller() } else { found.is_larger() };
                if fits { same(found.then).or_else(|| same(found.other)) } else { None }
            }
            _ => {
                let turned = factor(op)? < 0.0;
                let sides = (above != turned, negated != turned);
                Some(self.multiplied(id, self.side(at(0), sides, part, goal)?))
            }
        }
    }

    /// What a root is taken of, as at least the sum of squares of the rows of a vector, and what that vector is of the
    /// one without factors and roundings.
    fn squared(&self, id: NodeId) -> Option<(Found, Found)> {
        let g = self.graph;
        let sum = |op: &Op| matches!(op, Op::MatMul { trans_b: true } | Op::Sum(_));
        let found = self.bounded(id, false, &sum)?;
        let args = g.args(found.node);
        // Whether all of a row is summed, and nothing else.
        let ((x, y), by_row) = match g.op(found.node) {
            Op::MatMul { .. } => {
                let alone = |&x: &NodeId| matches!(g.shape(x), [_, 1, _]);
                ((args[0], args[1]), args.iter().all(alone))
            }
            Op::Sum(axes) if *g.op(args[0]) == Op::Mul => {
                let product = args[0];
                let all = axes.iter().copied().eq(1..g.shape(product).len() as u64);
                ((g.arg(product, 0), g.arg(product, 1)), all)
            }
            _ => return None,
        };
        let entries = |x| behind(g, x, |op| matches!(op, Op::Reshape(_) | Op::Shift(_)));
        let u = entries(x);
        let of = self.multiple(u, false);
        let rows = g.shape(u).first()?;
        let same = [x, y, of.node].iter().all(|&x| g.shape(x).first() == Some(rows));
        (by_row && same && entries(y) == u).then_some((found, of))
    }
}

/// The number that an operation multiplies its operand by, if it does no more than this and round.
fn factor(op: &Op) -> Option<f64> {
    op.factor().filter(|by| *by != 0.0)
}
