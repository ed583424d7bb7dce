//! How large a value can get.
//!
//! From the entries of inputs ([`Entries`]) and what is computed of them: a bound on the
//! absolute value in real numbers, infinite where nothing is known. Rounding is left out: who uses a
//! bound leaves room.

use super::behind::{behind, moves_or_rounds};
use super::guard::Entries;
use super::interval::size;
use super::means::{Mean, Means};
use super::norms;
use super::signs::not_negative_of;
use crate::graph::{Function, Graph, NodeId, Op, domain};
use slvr_language::types::Elem;
use std::cell::RefCell;
use std::collections::HashMap;

/// What rounding adds to a quotient by a norm, or by the sum of weights.
const ROUNDED: f64 = 1.125;

/// Bounds of the nodes of a graph, made once each. Nodes never change, so a pass may ask of the graph that it makes,
/// while it is growing.
pub struct Magnitudes {
    entries: Entries,
    known: RefCell<HashMap<NodeId, f64>>,
}

impl Magnitudes {
    /// Of none so far.
    pub fn new(entries: Entries) -> Magnitudes {
        Magnitudes { entries, known: RefCell::default() }
    }

    /// The largest absolute value that an entry of a node can have.
    pub fn of(&self, g: &Graph, id: NodeId) -> f64 {
        let known = |id: NodeId| self.known.borrow().get(&id).copied();
        // Operands first: chains of them are longer than a stack is deep.
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            let before = open.len();
            if known(next).is_none() {
                open.extend(g.args(next).iter().copied().filter(|&a| known(a).is_none()));
            }
            if open.len() > before {
                continue;
            }
            open.pop();
            if known(next).is_none() {
                let bound = self.derive(g, next);
                let bound = if bound.is_nan() { f64::INFINITY } else { bound };
                self.known.borrow_mut().insert(next, bound);
            }
        }
        known(id).unwrap_or(f64::INFINITY)
    }

    fn derive(&self, g: &Graph, id: NodeId) -> f64 {
        let args = g.args(id);
        let arg = |i: usize| self.of(g, args[i]);
        let two = |x: u32| f64::from(x).exp2();
        match g.op(id) {
            Op::Input(i) => size(self.entries.of(g, &g.inputs[*i as usize])),
            Op::Const(t, ..) => t.data.iter().fold(0.0, |m, x| x.abs().max(m)),
            Op::Draw(lots) => lots.n as f64,
            Op::Places(_) => g.shape(args[0]).last().copied().unwrap_or(0) as f64,
            Op::Noise { noise, .. } => noise.bound(),
            Op::Pairs { table, n } => {
                let (lo, hi) = table.range(*n);
                size((lo as f64, hi as f64))
            }
            Op::Add | Op::Sub => arg(0) + arg(1),
            Op::Mul => arg(0) * arg(1),
            op @ Op::MatMul { .. } => {
                let own = arg(0) * arg(1) * g.terms(id) as f64;
                let known = self.normalised(g, op, [args[0], args[1]]);
                let known = known.or_else(|| self.blended(g, id));
                known.map_or(own, |n| n.min(own))
            }
            Op::Conv2d { .. } => arg(0) * arg(1) * g.terms(id) as f64,
            Op::Sum(_) => arg(0) * g.terms(id) as f64,
            Op::SortSum { lo, hi } => arg(0) * (hi - lo) as f64,
            Op::Scale(c) => arg(0) * c.abs(),
            Op::DivPow2(by) => arg(0) / two(*by),
            Op::MulPow2(by) => arg(0) * two(*by),
            Op::Select => arg(1).max(arg(2)),
            Op::Concat(_) => (0..args.len()).map(arg).fold(0.0, f64::max),
            Op::ToInt | Op::OneHot(_) => 1.0,
            Op::Function(Function::RecipSqrt) => {
                (ROUNDED / self.least_sum(g, args[0]).sqrt()).min(domain::QUOTIENT_END)
            }
            Op::Function(f) => (f.facts().magnitude)(arg(0)),
            Op::Div => {
                let end = domain::largest_quotient(arg(0));
                let own = (arg(0) / self.least_root(g, args[1]) * ROUNDED).min(end);
                self.averaged(g, [args[0], args[1]]).map_or(own, |n| n.min(own))
            }
            Op::Saturate(top) => arg(0).min(two(*top)),
            // Nobody asks for an index.
            Op::ArgMax => f64::INFINITY,
            Op::Neg | Op::Relu | Op::Gate | Op::Abs | Op::Trunc(_) | Op::Shift(_) => arg(0),
            Op::Max(_) | Op::Min(_) | Op::Sort | Op::MaxPool { .. } => arg(0),
            op if op.is_layout() => arg(0),
            _ if g.ty(id).elem == Elem::Bit => 1.0,
            _ => f64::INFINITY,
        }
    }

    /// Of a quotient that is a weighted mean by an exact divisor.
    fn averaged(&self, g: &Graph, [x, y]: [NodeId; 2]) -> Option<f64> {
        let not_negative = |id| not_negative_of(g, id, self.entries);
        let mean = Means::default().quotient(g, x, y, not_negative)?;
        self.of_mean(g, &mean)
    }

    /// Of a sum of products with shares.
    fn blended(&self, g: &Graph, id: NodeId) -> Option<f64> {
        let not_negative = |id| not_negative_of(g, id, self.entries);
        let blend = Means::default().blend(g, id, not_negative)?;
        self.of_mean(g, &blend.mean)
    }

    fn of_mean(&self, g: &Graph, mean: &Mean) -> Option<f64> {
        let own = mean.values.map_or(1.0, |values| self.of(g, values));
        let most = own * (mean.power as f64).exp2() * ROUNDED;
        (mean.divisor_off == 0.0).then_some(most)
    }

    /// Of a sum of products with what is divided by its norm ([`norms::normalised`]).
    pub fn normalised(&self, g: &Graph, op: &Op, args: [NodeId; 2]) -> Option<f64> {
        let n = norms::normalised(g, op, args)?;
        let dividend = self.of(g, n.dividend) * (-(n.power as f64)).exp2();
        Some(dividend * n.terms as f64 * ROUNDED)
    }

    /// The least value of a divisor that is the root of a sum with a constant, 0 of any other.
    fn least_root(&self, g: &Graph, mut id: NodeId) -> f64 {
        let mut factor = 1.0;
        loop {
            match g.op(id) {
                op if op.is_layout() => {}
                Op::DivPow2(by) => factor *= (-f64::from(*by)).exp2(),
                Op::Function(Function::Sqrt) => {
                    return factor * self.least_sum(g, g.arg(id, 0)).sqrt();
                }
                _ => return 0.0,
            }
            id = g.arg(id, 0);
        }
    }

    /// The least value of a sum of a constant with what is not negative, and of an input that is positive; 0 of any
    /// other.
    pub fn least_sum(&self, g: &Graph, id: NodeId) -> f64 {
        let (mut least, mut open) = (0.0, vec![(id, 1.0)]);
        while let Some((id, factor)) = open.pop() {
            let args = g.args(id);
            match g.op(id) {
                op if moves_or_rounds(op) => open.push((args[0], factor)),
                Op::MulPow2(by) => open.push((args[0], factor * f64::from(*by).exp2())),
                Op::Const(t, ..) => {
                    let own = t.data.iter().copied().fold(f64::INFINITY, f64::min).max(0.0);
                    least += factor * own;
                }
                Op::Input(i) => {
                    least += factor * self.entries.of(g, &g.inputs[*i as usize]).0.max(0.0)
                }
                Op::Add if args.iter().all(|&a| self.not_negative_rescaled(g, a)) => {
                    open.extend(args.iter().rev().map(|&a| (a, factor)));
                }
                _ => {}
            }
        }
        least
    }

    /// Whether a value is not negative, however it is scaled: also a product of rows with themselves.
    fn not_negative_rescaled(&self, g: &Graph, id: NodeId) -> bool {
        let through =
            |op: &Op| moves_or_rounds(op) || matches!(op, Op::DivPow2(_) | Op::Scale(0.0..));
        let id = behind(g, id, through);
        let args = g.args(id);
        match g.op(id) {
            Op::MatMul { trans_b: true } if args[0] == args[1] && g.shape(args[0])[1] == 1 => true,
            _ => not_negative_of(g, id, self.entries),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::text;

    /// What moves a sum with a constant, or its root, may be done any number of times.
    #[test]
    fn long_chains_are_followed_to_their_end() {
        let mut body = String::from(
            "%1 = const 4 : public fix[1,4] @0\n%2 = mul %0 %0 : secret fix[1,4] @0\n%3 = add %2 %1 : secret fix[1,4] @0\n",
        );
        let moved = |at: u32| format!("%{at} = reshape %{} : secret fix[1,4] @0\n", at - 1);
        body.extend((4..60_004).map(moved));
        body += "%60004 = sqrt %60003 : secret fix[1,4] @0\n";
        body.extend((60_005..120_005).map(moved));
        let text = format!(
            "graph T\nparties Client[1]\nparties Server[1]\n\
             input 0 x : secret fix[4] in -8..8 from each Client\nsite 0 \"x\" line 1\n\
             %0 = input 0 : secret fix[1,4] @0\n{body}reveal %120004 to Server as y @0\n"
        );
        let g = text::parse(&text).expect("a graph");
        let sizes = Magnitudes::new(Entries::Declared);
        assert_eq!(sizes.least_sum(&g, NodeId(60_003)), 4.0);
        assert_eq!(sizes.least_root(&g, NodeId(120_004)), 2.0);
    }
}
