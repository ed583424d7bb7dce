//! Intervals of all values of a graph with scales, from the ranges that are enforced on its inputs.
//!
//! Of every node three bounds are known: an interval that holds every raw ring element of its value
//! (raw = real times 2^frac), a bound on the Euclidean norm of each slice along axis 0, which is the axis
//! of clients, and one on the norm of all elements. A sum of products is bounded by the better of "terms times the largest
//! product" and Cauchy and Schwarz; a norm never grows when elements are only moved. Bounds are f64
//! rounded outwards.
//!
//! The intervals hold for every input that passes the checks among the parties ([`super::guard`]),
//! whoever gave it.

use crate::analysis::interval::{
    self, above, below, enlarged, hull, meet, negated, outward, product, scaled, size,
};
use crate::analysis::means::Means;
use crate::analysis::order::{Orders, Versions};
use crate::analysis::slices::Slice;
use crate::analysis::softmax::{self, Softmax};
use crate::analysis::stated::StatedErrors;
use crate::analysis::view::View;
use crate::graph::{Graph, NodeId, Op};
use slvr_language::types::Elem;
use std::rc::Rc;

pub use crate::analysis::guard::Bound;
pub use crate::analysis::interval::{Interval, signed_bits};

mod function;
mod mean;
mod normalised;
mod product;
mod ranked;
mod select;
pub(in crate::analysis) mod shares;

/// Bounds of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// Interval of each node's raw elements, by index.
    pub raw: Vec<Interval>,
    /// Bound of the norm of each slice along axis 0, raw.
    pub norm: Vec<f64>,
    /// Bound of the norm of all elements, raw.
    pub total: Vec<f64>,
}

/// What intervals are found by that does not depend on the ranges of inputs: for finding them several times
/// for one graph.
pub struct Basis<'a> {
    view: View<'a>,
    versions: Versions,
    orders: Rc<Orders>,
    means: Means,
    /// Upper ends of what is below its own maximum, in real units.
    tops: Vec<Option<f64>>,
}

impl<'a> Basis<'a> {
    /// Of a graph with scales; `stated` says how far the results of functions may be off.
    pub fn new(graph: &'a Graph, stated: &'a StatedErrors) -> Basis<'a> {
        Basis::with(graph, stated, Versions::default())
    }

    /// Of a version of the graph with other scales or cuts, with the same errors: what is known of the graph is not
    /// found again where they are alike.
    pub fn version<'b>(&self, graph: &'b Graph) -> Basis<'b>
    where
        'a: 'b,
    {
        Basis::with(graph, self.view.stated, self.versions.clone())
    }

    fn with(graph: &'a Graph, stated: &'a StatedErrors, versions: Versions) -> Basis<'a> {
        Basis {
            view: View::new(graph, stated),
            orders: versions.orders(graph),
            versions,
            means: Means::default(),
            tops: softmax::tops(graph),
        }
    }

    pub fn graph(&self) -> &'a Graph {
        self.view.g
    }
}

impl Ranges {
    /// Of a graph with scales; `inputs` says what is enforced on each declared input, `stated` how far the
    /// results of functions may be off.
    pub fn of(graph: &Graph, inputs: &[Bound], stated: &StatedErrors) -> Ranges {
        Ranges::on(&Basis::new(graph, stated), inputs)
    }

    pub fn on(basis: &Basis<'_>, inputs: &[Bound]) -> Ranges {
        let Basis { view, orders, means, tops, .. } = basis;
        let mut all = Ranges::default();
        let graph = view.g;
        for id in graph.ids() {
            let bound = if graph.ty(id).elem == Elem::Bit {
                loose((0.0, 1.0), f64::INFINITY)
            } else {
                Rule { view, orders, means, id, all: &all }.bound(inputs)
            };
            let mut bound = settle(bound, graph.shape(id));
            if let Some(top) = tops[id.index()] {
                let most = (top * power(graph.frac_of(id))).ceil() + 1.0;
                bound.range.1 = bound.range.1.min(most.max(bound.range.0));
            }
            all.raw.push(bound.range);
            all.norm.push(bound.norm);
            all.total.push(bound.total);
        }
        all
    }

    pub fn bound(&self, id: NodeId) -> Bound {
        let i = id.index();
        Bound { range: self.raw[i], norm: self.norm[i], total: self.total[i] }
    }

    /// Interval of a node, in real units.
    pub fn real(&self, graph: &Graph, id: NodeId) -> Interval {
        scaled(self.raw[id.index()], graph.ulp(id))
    }

    /// How far the sides of a comparison may be apart, or the entries of which the largest is looked for, in real
    /// units.
    pub fn spread(&self, graph: &Graph, id: NodeId) -> f64 {
        let args = graph.args(id);
        let ((lo, hi), other) = match graph.op(id) {
            Op::Lt | Op::Eq => (self.real(graph, args[0]), self.real(graph, args[1])),
            _ => (self.real(graph, args[0]), self.real(graph, args[0])),
        };
        (hi - other.0).max(other.1 - lo)
    }

    /// Bits of a two's complement word that holds every raw element of a node.
    pub fn bits(&self, id: NodeId) -> u32 {
        signed_bits(self.raw[id.index()])
    }

    /// Bits that hold the difference of every element of a node and either end of -most..most: also of elements that
    /// are all far inside.
    pub fn beside_ends(&self, id: NodeId, most: f64) -> u32 {
        let (lo, hi) = self.raw[id.index()];
        signed_bits(outward((lo - most, hi + most))).max(self.bits(id) + 1)
    }

    /// Bits that hold every difference of two nodes' elements.
    pub fn difference_bits(&self, a: NodeId, b: NodeId) -> u32 {
        let (a, b) = (self.raw[a.index()], self.raw[b.index()]);
        signed_bits(outward((a.0 - b.1, a.1 - b.0)))
    }
}

/// Elements of a slice along axis 0.
fn slice(shape: &[u64]) -> f64 {
    shape.iter().skip(1).map(|&d| d as f64).product()
}

/// How many slices there are along axis 0.
fn slices(shape: &[u64]) -> u64 {
    shape.first().copied().unwrap_or(1)
}

/// With nothing known of the norm of all elements beyond that of slices.
fn loose(range: Interval, norm: f64) -> Bound {
    Bound { range, norm, total: f64::INFINITY }
}

/// Interval and norms bound each other.
fn settle(b: Bound, shape: &[u64]) -> Bound {
    let (lo, hi) = outward(b.range);
    let largest = size((lo, hi));
    let known = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
    let norm = known(b.norm.min(enlarged(largest * slice(shape).sqrt())));
    let total = known(b.total.min(enlarged(norm * (slices(shape) as f64).sqrt())));
    let norm = norm.min(total);
    Bound { range: (lo.max(below(-norm)).min(hi), hi.min(above(norm)).max(lo)), norm, total }
}

struct Rule<'a> {
    view: &'a View<'a>,
    orders: &'a Orders,
    means: &'a Means,
    id: NodeId,
    all: &'a Ranges,
}

impl Rule<'_> {
    fn of(&self, n: NodeId) -> Bound {
        self.all.bound(n)
    }

    /// The norm of an operand's slice once it is repeated to the size of the result's.
    fn repeated(&self, n: NodeId) -> f64 {
        let ratio = slice(self.view.g.shape(self.id)) / slice(self.view.g.shape(n)).max(1.0);
        self.of(n).norm * ratio.max(1.0).sqrt()
    }

    /// Of all elements of an operand that is not repeated; infinite of one that is.
    fn unrepeated(&self, n: NodeId) -> f64 {
        let same = self.view.g.elements(n) == self.view.g.elements(self.id);
        if same { self.of(n).total } else { f64::INFINITY }
    }

    fn bound(&self, inputs: &[Bound]) -> Bound {
        let g = self.view.g;
        let args = g.args(self.id);
        let only = |range: Interval| loose(range, f64::INFINITY);
        match g.op(self.id) {
            Op::Input(i) => inputs[*i as usize],
            Op::Const(t, _, frac) => {
                // Ties go to the even integer.
                let unit = f64::from(frac.unwrap_or(0)).exp2();
                let ends = t.data.iter().map(|x| (x * unit).round_ties_even());
                let lo = ends.clone().fold(f64::MAX, f64::min);
                only((lo, ends.fold(f64::MIN, f64::max)))
            }
            Op::Draw(lots) => only((0.0, lots.n as f64 - 1.0)),
            Op::Places(_) => only((0.0, g.shape(args[0]).last().copied().unwrap_or(0) as f64)),
            Op::Noise { noise, .. } => {
                let most = noise.sampler().bound as f64;
                only((-most, most))
            }
            Op::Pairs { table, n } => {
                let (lo, hi) = table.range(*n);
                only((lo as f64, hi as f64))
            }
            Op::ToInt | Op::OneHot(_) => only((0.0, 1.0)),
            Op::ArgMax => {
                let n = g.shape(args[0]).last().copied().unwrap_or(1);
                only((0.0, n as f64 - 1.0))
            }
            Op::Add | Op::Sub => self.added(args[0], args[1]),
            Op::Neg => self.times(args[0], -1.0),
            Op::Scale(c) => self.times(args[0], *c),
            Op::Shift(by) => self.times(args[0], f64::from(*by).exp2()),
            Op::Mul => self.elementwise(args[0], args[1]),
            Op::MatMul { .. } => self.matrices(args[0], args[1]),
            Op::Conv2d(conv) => self.convolved(conv, args[0], args[1]),
            Op::Sum(axes) => self.summed(axes, args[0]),
            Op::Max(_) | Op::Min(_) | Op::Sort | Op::MaxPool { .. } => only(self.of(args[0]).range),
            Op::SortSum { lo, hi } => only(scaled(self.of(args[0]).range, (hi - lo) as f64)),
            // One of the two next integers.
            Op::Trunc(by) => {
                let (a, unit) = (self.of(args[0]), f64::from(*by).exp2());
                let range = ((a.range.0 / unit).floor(), (a.range.1 / unit).ceil());
                let root = |n: f64| n.sqrt();
                let norm = a.norm / unit + root(slice(g.shape(self.id)));
                Bound { range, norm, total: a.total / unit + root(g.elements(self.id) as f64) }
            }
            Op::Select => {
                let range = select::chosen(g, &self.all.raw, self.id);
                loose(range, self.repeated(args[1]) + self.repeated(args[2]))
            }
            Op::Gate => {
                let v = self.of(args[0]);
                let low = if g.gates_itself(self.id) { 0.0 } else { v.range.0.min(0.0) };
                Bound { range: (low, v.range.1.max(0.0)), ..v }
            }
            Op::Saturate(top) => {
                let a = self.of(args[0]);
                let most = (f64::from(*top) + f64::from(self.view.g.frac_of(self.id))).exp2();
                let range = (a.range.0.clamp(-most, most), a.range.1.clamp(-most, most));
                Bound { range, ..a }
            }
            Op::Relu => {
                let a = self.of(args[0]);
                Bound { range: (0.0, a.range.1.max(0.0)), ..a }
            }
            Op::Abs => {
                let a = self.of(args[0]);
                Bound { range: (0.0, size(a.range)), ..a }
            }
            Op::Function(f) => only(self.function(*f, args[0])),
            Op::Div => only(self.quotient(args[0], args[1])),
            Op::DivPow2(_)
            | Op::MulPow2(_)
            | Op::Transpose(_)
            | Op::Slice { .. }
            | Op::Reshape(_) => self.moved(args[0]),
            Op::Broadcast(_) => loose(self.of(args[0]).range, self.repeated(args[0])),
            Op::Gather { axis, batch } => self.gathered((*axis, *batch), args[0], args[1]),
            Op::Concat(axis) => self.joined(*axis),
            Op::Lt | Op::Eq | Op::Not | Op::And | Op::Xor | Op::ArgMaxIs => only((0.0, 1.0)),
        }
    }

    /// x + y or x - y.
    fn added(&self, x: NodeId, y: NodeId) -> Bound {
        let (a, mut b) = (self.of(x).range, self.of(y).range);
        let minus = *self.view.g.op(self.id) == Op::Sub;
        if minus {
            b = negated(b);
        }
        let norm = self.repeated(x) + self.repeated(y);
        let total = self.unrepeated(x) + self.unrepeated(y);
        let mut range = interval::sum(a, b);
        // x - max(x, 0) = min(x, 0).
        let relu = minus.then(|| self.view.relu_of(y, x));
        if let Some(off) = relu.flatten() {
            range = meet(range, (a.0.min(0.0) - off, a.1.min(0.0) + off));
        }
        Bound { range, norm, total }
    }

    fn summed(&self, axes: &[u64], x: NodeId) -> Bound {
        let (a, terms) = (self.of(x), self.view.g.terms(self.id) as f64);
        let norm = if axes.contains(&0) { a.total } else { a.norm };
        let root = terms.sqrt();
        let mut range = scaled(a.range, terms);
        // Intervals leave a unit for rounding and one for what is cut.
        if let Some(softmax) = Softmax::of(self.view.g, self.id, false) {
            let least = softmax.least(self.view, 2.0);
            range.0 = range.0.max(power(self.view.g.frac_of(self.id)) * least);
        }
        self.ranked(Bound { range, norm: norm * root, total: a.total * root })
    }

    /// Entries as they are, in other places: some of them or all.
    fn moved(&self, x: NodeId) -> Bound {
        let a = self.of(x);
        let norm = if self.keeps_slices(self.id, x) { a.norm } else { a.total };
        let part = Slice::of(self.view.g, self.id)
            .and_then(|part| part.interval(true, |x| self.of(x).range));
        Bound { range: part.map_or(a.range, |part| meet(a.range, part)), norm, ..a }
    }

    fn gathered(&self, (axis, batch): (u64, u64), x: NodeId, index: NodeId) -> Bound {
        let index = self.view.g.shape(index);
        let copies: u64 = index.iter().skip(1).product();
        let copies = if axis > 0 && batch == 0 { copies * slices(index) } else { copies };
        let a = self.of(x);
        loose(a.range, a.norm * (copies as f64).sqrt())
    }

    fn joined(&self, axis: u64) -> Bound {
        let args = self.view.g.args(self.id);
        let mut range = self.of(args[0]).range;
        let mut norm = 0.0f64;
        for &x in args {
            let b = self.of(x);
            range = hull(range, b.range);
            norm = if axis == 0 { norm.max(b.norm) } else { norm.hypot(b.norm) };
        }
        loose(range, norm)
    }

    fn times(&self, x: NodeId, c: f64) -> Bound {
        let a = self.of(x);
        let by = c.abs();
        Bound { range: product(a.range, (c, c)), norm: a.norm * by, total: a.total * by }
    }

    /// Whether each slice of a moved value is part of one slice of the operand.
    fn keeps_slices(&self, id: NodeId, x: NodeId) -> bool {
        let (old, new) = (slices(self.view.g.shape(x)), slices(self.view.g.shape(id)));
        if let Op::Transpose(perm) = self.view.g.op(id) {
            return perm.first().is_none_or(|&p| p == 0);
        }
        !matches!(self.view.g.op(id), Op::Reshape(_)) || (old > 0 && new % old == 0)
    }
}

/// 2^n.
fn power(n: u32) -> f64 {
    f64::from(n).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stated::TESTED;

    /// Parts of a long vector, cut out of it along its only axis, are no longer than it is; and a sum with a
    /// short public vector no longer than the two.
    #[test]
    fn norms_follow_fields_and_sums() {
        let text = "graph T\nparties Client[1]\nparties Server[1]\nfrac 16\n\
            input 0 x : secret fix[1000] in -8..8 from each Client\n\
            input 1 y : public fix[40,10] in -8..8\nsite 0 \"x\" line 1\n\
            %0 = input 0 : secret fix.16[1,1000] @0\n\
            %1 = input 1 : public fix.16[40,10] @0\n\
            %2 = reshape %0 : secret fix.16[1000] @0\n\
            %3 = slice %2 axis=0 start=100 len=400 : secret fix.16[400] @0\n\
            %4 = reshape %3 : secret fix.16[40,10] @0\n\
            %5 = add %4 %1 : secret fix.16[40,10] @0\n\
            %6 = reshape %5 : secret fix.16[1,40,10] @0\n\
            %7 = const 1 : public fix.0[1,10,1] @0\n\
            %8 = matmul %6 %7 : secret fix.16[1,40,1] @0\n\
            reveal %8 to Server as y @0\n";
        let graph = crate::graph::text::parse(text).expect("a graph");
        let free = f64::INFINITY;
        let x = Bound { range: (-1e6, 1e6), norm: 1000.0, total: free };
        let y = Bound { range: (-2.0, 2.0), norm: free, total: free };
        let r = Ranges::of(&graph, &[x, y], &TESTED);
        assert!((1000.0..1001.0).contains(&r.total[4]), "{}", r.total[4]);
        // Ten elements of the sum: 1000 + 2 sqrt(10), and all of them: 1000 + 2 sqrt(400).
        assert!((1040.0..1041.0).contains(&r.total[5]), "{}", r.total[5]);
        let most = (1000.0 + 2.0 * 10f64.sqrt()) * 10f64.sqrt();
        assert!((most..most + 2.0).contains(&r.raw[8].1), "{} {most}", r.raw[8].1);
    }

    /// A vector of norm 100: its inner product with itself is between 0 and the norm's square, however
    /// many entries there are; a sum over entries is bounded by Cauchy and Schwarz.
    #[test]
    fn norms_bound_inner_products() {
        let text = "graph T\nparties Client[2]\nparties Server[1]\nfrac 16\n\
            input 0 x : secret fix[1000] in -8..8 from each Client\nsite 0 \"x\" line 1\n\
            %0 = input 0 : secret fix.16[2,1000] @0\n\
            %1 = reshape %0 : secret fix.16[2,1,1000] @0\n\
            %2 = matmul %1 %1 trans_b : secret fix.32[2,1,1] @0\n\
            %3 = sum %0 axes=[1] : secret fix.16[2] @0\n\
            %4 = slice %0 axis=1 start=0 len=10 : secret fix.16[2,10] @0\n\
            %5 = trunc %2 by=16 : secret fix.16[2,1,1] @0\n\
            reveal %5 to Server as y @0\n";
        let graph = crate::graph::text::parse(text).expect("a graph");
        let x = Bound { range: (-1e6, 1e6), norm: 100.0, total: f64::INFINITY };
        let r = Ranges::of(&graph, &[x], &TESTED);
        assert_eq!(r.raw[0], (-100.0, 100.0), "no entry is longer than the vector");
        let (lo, hi) = r.raw[2];
        assert!(lo == 0.0 && (10_000.0..10_002.0).contains(&hi), "{lo} {hi}");
        assert!((100.0..101.0).contains(&r.norm[4]), "{}", r.norm[4]);
        // At most 100 times the root of 1000.
        assert_eq!(r.raw[3], (-3163.0, 3163.0));
        assert_eq!(r.raw[5].0, 0.0);
    }
}
