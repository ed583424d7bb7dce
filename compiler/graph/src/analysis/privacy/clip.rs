//! Vectors that are cut to a length: u times what is at most C over the norm of u, and u over what is at least the norm
//! of u over C.
//!
//! No interval says how long u min(1, C / norm u) is: one of the factor is 0 .. 1, and one of u is as long as u may
//! be. It is found by what is computed: the factor is at most a quotient, the quotient's divisor is at least a root,
//! and what the root is taken of is the sum of squares of the same u, up to factors. Of u / max(1, norm u / C) the
//! divisor is that of u itself. What the parties compute is off by what is stated of quotients, roots and truncations,
//! and all of it is added to the length.

use crate::analysis::behind::{behind, path, unshifted};
use crate::analysis::ranges::Ranges;
use crate::analysis::stated::StatedErrors;
use crate::graph::{Function, Graph, NodeId, Op};

/// Nodes that are looked at for one bound: both sides of a choice are tried, and either may be a choice again. A limit
/// that is written out takes about ten.
const STEPS: u32 = 256;

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
    pub(super) fn clipped(&self, factor: NodeId, vector: NodeId, most: f64) -> Option<f64> {
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
        let through = |op: &Op| match op {
            Op::Reshape(_) => true,
            Op::Transpose(_) => transposed,
            op => factor(op).is_some(),
        };
        let node = behind(g, id, through);
        let found = Found { node, scale: 1.0, slack: 0.0 };
        let on_way: Vec<NodeId> = path(g, id).take_while(|x| *x != node).collect();
        on_way.into_iter().rev().fold(found, |of, x| self.multiplied(x, of))
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
        let mut steps = STEPS;
        self.side(id, (above, false), None, goal, &mut steps)
    }

    /// `above` says from which side the value at hand is to be bounded, `negated` whether it is the negative of the one
    /// that was asked for. `part` is the part of an axis that is read of it, and so many `steps` are left.
    fn side(
        &self,
        id: NodeId,
        (above, negated): (bool, bool),
        part: Option<(u64, u64)>,
        goal: &dyn Fn(&Op) -> bool,
        steps: &mut u32,
    ) -> Option<Found> {
        *steps = steps.checked_sub(1)?;
        let g = self.graph;
        let op = g.op(id);
        if goal(op) && part.is_none() {
            return (!negated).then_some(Found { node: id, scale: 1.0, slack: 0.0 });
        }
        let at = |i: usize| g.arg(id, i);
        let mut same = |x: NodeId| self.side(x, (above, negated), part, goal, steps);
        match op {
            Op::Reshape(_) | Op::Transpose(_) if part.is_none() => same(at(0)),
            Op::Slice { axis, start, len: 1, .. } if part.is_none() => {
                self.side(at(0), (above, negated), Some((*axis, *start)), goal, steps)
            }
            Op::Concat(axis) => {
                let (along, mut place) = part.filter(|p| p.0 == *axis)?;
                for &x in g.args(id) {
                    let len = g.shape(x)[*axis as usize];
                    if place < len {
                        let rest = (len > 1).then_some((along, place));
                        return self.side(x, (above, negated), rest, goal, steps);
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
                Some(self.multiplied(id, self.side(at(0), sides, part, goal, steps)?))
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
        let u = unshifted(g, x);
        let of = self.multiple(u, false);
        let rows = g.shape(u).first()?;
        let same = [x, y, of.node].iter().all(|&x| g.shape(x).first() == Some(rows));
        (by_row && same && unshifted(g, y) == u).then_some((found, of))
    }
}

/// The number that an operation multiplies its operand by, if it does no more than this and round.
fn factor(op: &Op) -> Option<f64> {
    op.factor().filter(|by| *by != 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ranges::Bound;
    use crate::analysis::stated::TESTED;
    use crate::graph::eval::testing::{random_inputs, successors};
    use crate::graph::{eval, text};

    /// What is found in a graph of a vector, %0, and a number, %1, of each of three clients.
    fn with<T>(body: &str, find: impl Fn(&Words<'_>, NodeId) -> T) -> T {
        let last = body.lines().count() + 1;
        let text = format!(
            "graph T\nparties Client[3]\nparties Server[1]\nfrac 16\n\
             input 0 x : secret fix[4] in -8..8 from each Client\n\
             input 1 y : secret fix in 0..1 from each Client\nsite 0 \"x\" line 1\n\
             %0 = input 0 : secret fix.16[3,4] @0\n%1 = input 1 : secret fix.16[3] @0\n\
             {body}reveal %{last} to Server as z @0\n"
        );
        let graph = text::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        let all = |range| Bound { range, norm: f64::INFINITY, total: f64::INFINITY };
        let inputs = [all((-524_288.0, 524_288.0)), all((0.0, 65_536.0))];
        let ranges = Ranges::of(&graph, &inputs, &TESTED);
        find(&Words { graph: &graph, ranges: &ranges, stated: &TESTED }, NodeId(last as u32))
    }

    /// Both sides of a choice may be made of the same value, any number of times.
    #[test]
    fn choices_among_choices_are_given_up() {
        let step = |k: u32| {
            let (old, at) = (if k == 0 { 1 } else { 4 * k + 1 }, 4 * k + 2);
            format!(
                "%{at} = div_pow2 %{old} by=1 : secret fix.17[3] @0\n\
                 %{} = trunc %{at} by=1 : secret fix.16[3] @0\n\
                 %{} = lt %{old} %{} : secret bit[3] @0\n\
                 %{} = select %{} %{old} %{} : secret fix.16[3] @0\n",
                at + 1,
                at + 2,
                at + 1,
                at + 3,
                at + 2,
                at + 1
            )
        };
        let body: String = (0..60).map(step).collect();
        assert_eq!(with(&body, |words, factor| words.clipped(factor, NodeId(0), 8.0)), None);
    }

    #[test]
    fn long_chains_of_factors() {
        let chain = |shape: &str, from: u32| -> String {
            let line = |at: u32| {
                let old = if at == 2 { from } else { at - 1 };
                format!("%{at} = neg %{old} : secret fix.16[{shape}] @0\n")
            };
            (2..60_002).map(line).collect()
        };
        assert_eq!(with(&chain("3", 1), |words, x| words.clipped(x, NodeId(0), 8.0)), None);
        let found = with(&chain("3,4", 0), |words, x| words.multiple(x, true));
        assert_eq!((found.node, found.scale, found.slack), (NodeId(0), 1.0, 0.0));
    }

    /// u min(1, 2 / norm u) and u / max(1, norm u / 2): the bound is that of the rows of runs, and no more than a few
    /// roundings above 2.
    #[test]
    fn rows_are_no_longer_than_is_said() {
        let norm = "%2 = reshape %0 : secret fix.16[3,1,4] @0\n\
            %3 = matmul %2 %2 trans_b : secret fix.32[3,1,1] @0\n%4 = reshape %3 : secret fix.32[3] @0\n\
            %5 = trunc %4 by=16 : secret fix.16[3] @0\n%6 = sqrt %5 : secret fix.16[3] @0\n\
            %7 = const 1 : public fix.16[3] @0\n";
        let factor = "%8 = const 2 : public fix.16[3] @0\n%9 = div %8 %6 : secret fix.16[3] @0\n\
            %10 = lt %9 %7 : secret bit[3] @0\n%11 = select %10 %9 %7 : secret fix.16[3] @0\n\
            %12 = reshape %11 : secret fix.16[3,1] @0\n%13 = mul %12 %0 : secret fix.32[3,4] @0\n";
        let divisor = "%8 = div_pow2 %6 by=1 : secret fix.17[3] @0\n%9 = trunc %8 by=1 : secret fix.16[3] @0\n\
            %10 = lt %9 %7 : secret bit[3] @0\n%11 = select %10 %7 %9 : secret fix.16[3] @0\n\
            %12 = reshape %11 : secret fix.16[3,1] @0\n%13 = div %0 %12 : secret fix.16[3,4] @0\n";
        let longest = |graph: &Graph| {
            let lengths = (0..50).flat_map(|seed| {
                let run = eval::exact(graph, &random_inputs(graph, seed), &successors, true);
                let rows = run.expect("a run").values[13].clone().expect("values are kept");
                let unit = graph.ulp(NodeId(13));
                let square =
                    |row: &[i64]| row.iter().map(|&x| (x as f64 * unit).powi(2)).sum::<f64>();
                rows.chunks(4).map(|row| square(row).sqrt()).collect::<Vec<f64>>()
            });
            lengths.fold(0.0, f64::max)
        };
        let cut = with(&format!("{norm}{factor}"), |words, _| {
            (words.clipped(NodeId(12), NodeId(0), 16.0).expect("a length"), longest(words.graph))
        });
        let divided = with(&format!("{norm}{divisor}"), |words, quotient| {
            (words.divided(quotient).expect("a length").0, longest(words.graph))
        });
        for (said, longest) in [cut, divided] {
            assert!(longest <= said && (1.99..2.01).contains(&longest), "{longest} {said}");
            assert!((2.0..2.02).contains(&said), "{said}");
        }
    }
}
