//! What every value depends on: which clients' inputs, how many of them in one entry, whether
//! linearly, whether behind a secret factor.
//!
//! One pass over the graph as built from the source. An entry of a value depends on the members that
//! its positions on *client axes* name, on members named by constants (`update[0]`), and on further
//! ones that are only counted. The count is an upper bound: what is reported as one client is one.

mod layout;
mod selection;

use crate::graph::{Graph, NodeId, Op};
use crate::syntax::ast::Secrecy;
use crate::types::Elem;
use layout::{concat, gather, reshape, slice};
use selection::{compare, enough};
use std::collections::BTreeSet;

/// Positions k on an axis that stand for member `start + step * k` of a party set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Members {
    set: u32,
    start: u64,
    step: u64,
}

/// Axes that together say which one member an entry depends on.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    axes: BTreeSet<usize>,
    /// How, if it is one axis and that is known.
    members: Option<Members>,
}

/// How a value follows from secret inputs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// Not at all.
    Free,
    /// Linearly, with public coefficients, up to a public addend.
    Linear,
    /// A linear value times a secret factor.
    Masked(Mask),
    /// Otherwise.
    Other,
}

/// A secret factor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mask {
    /// It is a bit, not a weight.
    pub bit: bool,
    /// It multiplies each client's input before any sum over clients.
    pub each: bool,
    /// How many of the clients' bits can be 1, if that is known.
    pub ones: Option<Ones>,
}

/// How many bits of a selection are 1: none, or from `least` to `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ones {
    /// At most this many.
    pub most: u64,
    /// If any, at least this many.
    pub least: u64,
}

/// Whether entries were put in order across clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    No,
    /// Entries of one client each, ascending along this axis, as this node has them.
    Sorted(usize, NodeId),
    /// The one at this place: the value of one client.
    One(u64, NodeId),
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flow {
    /// How.
    pub form: Form,
    /// Secret inputs, by index.
    pub inputs: BTreeSet<u32>,
    groups: Vec<Group>,
    fixed: BTreeSet<(u32, u64)>,
    extra: u64,
    /// One unknown member was picked out.
    picked: bool,
    order: Order,
    /// Bits, or bits as numbers.
    pub bits: bool,
    /// A count of comparisons of each client with the others.
    tally: bool,
    ones: Option<Ones>,
    /// Divided by a secret, after a sum over clients.
    pub divided: bool,
    /// Entries of the value.
    size: u64,
}

impl Flow {
    fn free() -> Flow {
        Flow {
            form: Form::Free,
            inputs: BTreeSet::new(),
            groups: Vec::new(),
            fixed: BTreeSet::new(),
            extra: 0,
            picked: false,
            order: Order::No,
            bits: false,
            tally: false,
            ones: None,
            divided: false,
            size: 1,
        }
    }

    /// Clients that one entry depends on, at most.
    pub fn clients(&self) -> u64 {
        ((self.groups.len() + self.fixed.len()) as u64).saturating_add(self.extra)
    }

    /// The one member (party set and number) that all entries depend on, if it is known.
    pub fn member(&self) -> Option<(u32, u64)> {
        if self.clients() == 1 { self.fixed.first().copied() } else { None }
    }

    /// Whether entries of different clients stand side by side, or one client is picked out.
    pub fn per_client(&self) -> bool {
        !self.groups.is_empty() || !self.fixed.is_empty() || self.picked
    }

    /// Whether each entry is one client's, chosen by order.
    pub fn one_by_order(&self) -> bool {
        matches!(self.order, Order::One(..))
    }

    pub fn is_free(&self) -> bool {
        self.form == Form::Free
    }

    fn plain(&mut self) {
        (self.order, self.tally, self.ones) = (Order::No, false, None);
    }

    /// Depends on secrets, in no way that is followed further.
    fn other(mut self) -> Flow {
        self.plain();
        self.bits = false;
        if !self.is_free() {
            self.form = Form::Other;
        }
        self
    }

    /// Whether positions on an axis tell clients apart.
    fn on(&self, axis: usize) -> bool {
        self.groups.iter().any(|g| g.axes.contains(&axis))
    }

    /// The dependence of an entry on clients, together with that of an aligned operand.
    fn with_clients(&mut self, b: &Flow) {
        for group in &b.groups {
            if group.members.is_none() || !self.groups.contains(group) {
                self.groups.push(group.clone());
            }
        }
        self.fixed.extend(&b.fixed);
        self.extra = self.extra.max(b.extra);
        self.picked |= b.picked;
    }

    /// An axis of size `len` is summed, or becomes part of what every entry depends on.
    fn absorb(&mut self, axis: usize, len: u64) {
        let mut more = 0u64;
        self.groups.retain_mut(|g| {
            let had = g.axes.remove(&axis);
            if had {
                g.members = None;
                more = more.saturating_add(if g.axes.is_empty() { len } else { len - 1 });
            }
            !g.axes.is_empty()
        });
        self.extra = self.extra.saturating_add(more);
    }

    /// Renumbers axes; one without a new number becomes part of what every entry depends on.
    fn moved(&mut self, to: impl Fn(usize) -> Option<usize>) {
        let lost: BTreeSet<usize> = self.groups.iter().flat_map(|g| g.axes.clone()).collect();
        for axis in lost.into_iter().filter(|&a| to(a).is_none()) {
            self.absorb(axis, u64::MAX);
        }
        for g in &mut self.groups {
            g.axes = g.axes.iter().filter_map(|&a| to(a)).collect();
        }
        if let Order::Sorted(axis, node) = self.order {
            self.order = to(axis).map_or(Order::No, |a| Order::Sorted(a, node));
        }
    }
}

/// The flows of all nodes.
pub(super) fn flows(graph: &Graph) -> Vec<Flow> {
    let mut out: Vec<Flow> = Vec::with_capacity(graph.len());
    for id in graph.ids() {
        let args = graph.args(id);
        let of: Vec<&Flow> = args.iter().map(|a| &out[a.index()]).collect();
        let mut flow = flow(graph, id, &args, &of);
        let members: u64 = graph.parties.iter().map(|p| p.1).sum();
        flow.extra = flow.extra.min(members);
        if flow.is_free() || graph.ty(id).secrecy == Secrecy::Public {
            flow = Flow::free();
        }
        flow.size = graph.elements(id);
        out.push(flow);
    }
    out
}

fn flow(g: &Graph, id: NodeId, args: &[NodeId], of: &[&Flow]) -> Flow {
    let shape = |n: NodeId| g.shape(n);
    let rank = |n: NodeId| g.shape(n).len();
    let first = || of.first().map_or_else(Flow::free, |f| (*f).clone());
    match g.op(id) {
        Op::Input(i) => input(g, *i),
        Op::Const(..) | Op::Committee { .. } => Flow::free(),
        Op::Add | Op::Sub => add(of[0], of[1]),
        Op::Mul => mul(of[0], of[1]),
        Op::And => {
            let mut f = mul(of[0], of[1]).other();
            f.bits = true;
            let most = of.iter().filter_map(|f| f.ones).map(|o| o.most).min();
            let least = enough(g, args[0], args[1]).or_else(|| enough(g, args[1], args[0]));
            if most.is_some() || least.is_some() {
                let (most, least) = (most.unwrap_or(u64::MAX), least.unwrap_or(0));
                f.ones = Some(Ones { most, least });
            }
            f
        }
        Op::Div => div(of[0], of[1]),
        Op::Neg | Op::Scale(_) | Op::Trunc(_) | Op::Shift(_) | Op::DivPow2(_) => {
            let mut f = first();
            (f.bits, f.tally, f.ones) = (false, false, None);
            f
        }
        Op::ToInt => Flow { bits: true, ..first() },
        Op::Not => Flow { bits: true, ones: None, ..first() },
        Op::Lt | Op::Eq => compare(g, id, args, of),
        Op::Xor => Flow { bits: true, ..add(of[0], of[1]).other() },
        Op::Select => select(of),
        Op::Gate => add(of[0], of[1]).other(),
        Op::Sum(axes) => sum(g, args[0], axes, of[0]),
        Op::Max(axis) => reduce(shape(args[0]), *axis as usize, of[0], Some((u64::MAX, id))),
        Op::Min(axis) => reduce(shape(args[0]), *axis as usize, of[0], Some((0, id))),
        Op::ArgMax => reduce(shape(args[0]), rank(args[0]) - 1, of[0], None),
        Op::Sort => sort(shape(args[0]), of[0], id),
        Op::SortSum { lo, hi } => {
            let last = rank(args[0]) - 1;
            reduce(shape(args[0]), last, of[0], (hi - lo == 1).then_some((*lo, id)))
        }
        Op::ArgMaxIs => {
            let last = rank(args[0]) - 1;
            let f = reduce(shape(args[0]), last, &add(of[0], of[1]).other(), None);
            Flow { bits: true, ..f }
        }
        Op::OneHot(_) => Flow { bits: true, ..first().other() },
        Op::MatMul { trans_b } => {
            let mut a = of[0].clone();
            let mut b = of[1].clone();
            a.absorb(2, shape(args[0])[2]);
            let (inner, outer) = if *trans_b { (2, 1) } else { (1, 2) };
            b.absorb(inner, shape(args[1])[inner]);
            b.moved(|axis| Some(if axis == outer { 2 } else { axis }));
            product(&a, &b)
        }
        Op::Conv2d { .. } => {
            let (mut x, mut w) = (of[0].clone(), of[1].clone());
            x.moved(|axis| (axis < 2).then_some(axis));
            w.moved(|axis| [Some(0), Some(2)].get(axis).copied().flatten());
            product(&x, &w)
        }
        Op::MaxPool { .. } => {
            let mut f = first().other();
            let spatial = rank(args[0]) - 2;
            f.moved(|axis| (axis < spatial).then_some(axis));
            f
        }
        Op::Reshape(to) => reshape(shape(args[0]), to, of[0]),
        Op::Transpose(perm) => {
            let mut f = first();
            f.moved(|axis| perm.iter().position(|&p| p as usize == axis));
            f
        }
        Op::Slice { axis, start, len, step } => slice(of[0], *axis as usize, *start, *len, *step),
        Op::Concat(axis) => concat(of, *axis as usize),
        Op::Broadcast(_) => first(),
        Op::Gather { axis, batch } => {
            let mut f = first();
            let (axis, indexed) = (*axis as usize, rank(args[1]) - *batch as usize);
            gather(&mut f, axis, indexed);
            f
        }
        // Relu, Exp, Recip and whatever else is computed entry by entry.
        _ => {
            let mut all = first();
            of.iter().skip(1).for_each(|b| all = add(&all, b));
            all.other()
        }
    }
}

fn input(g: &Graph, index: u32) -> Flow {
    let mut f = Flow::free();
    let Some(input) = g.inputs.get(index as usize) else { return f };
    let Some(set) = input.from else { return f };
    f.form = Form::Linear;
    f.bits = input.elem == Elem::Bit;
    f.inputs.insert(index);
    if g.parties.get(set as usize).is_some_and(|p| p.1 == 1) {
        f.fixed.insert((set, 0));
    } else {
        let members = Some(Members { set, start: 0, step: 1 });
        f.groups.push(Group { axes: [0].into(), members });
    }
    f
}

fn add(a: &Flow, b: &Flow) -> Flow {
    let form = match (&a.form, &b.form) {
        (Form::Free, f) | (f, Form::Free) => f.clone(),
        (Form::Other, _) | (_, Form::Other) => Form::Other,
        (m @ Form::Masked(_), _) | (_, m @ Form::Masked(_)) => m.clone(),
        _ => Form::Linear,
    };
    let tally = (a.tally || a.is_free()) && (b.tally || b.is_free());
    let mut f = a.clone();
    f.with_clients(b);
    f.inputs.extend(&b.inputs);
    f.plain();
    // The middle of an odd number: the same entry twice.
    let order = if a.order == b.order && a.one_by_order() { a.order } else { Order::No };
    Flow { form, tally, order, bits: false, divided: a.divided || b.divided, ..f }
}

fn mul(a: &Flow, b: &Flow) -> Flow {
    match (a.is_free(), b.is_free()) {
        // A public factor may be a mask of positions: bits stay bits, and at most as many are 1.
        (true, _) => Flow { order: Order::No, tally: false, ..b.clone() },
        (_, true) => Flow { order: Order::No, tally: false, ..a.clone() },
        _ => product(a, b),
    }
}

/// A product of two secrets, or a contraction of secrets and public values.
fn product(a: &Flow, b: &Flow) -> Flow {
    let mut inputs = a.inputs.clone();
    inputs.extend(&b.inputs);
    let mut f = match (&a.form, &b.form) {
        (Form::Free, _) => b.clone(),
        (_, Form::Free) => a.clone(),
        // A bit masks; otherwise what does not follow linearly weighs what does. Of two linear
        // factors the smaller one is the weight.
        (Form::Linear, Form::Linear) if !a.bits && b.bits => masked(b, a),
        (Form::Linear, Form::Linear) if a.bits && !b.bits => masked(a, b),
        (Form::Linear, Form::Linear) if a.inputs != b.inputs => {
            if a.size <= b.size {
                masked(a, b)
            } else {
                masked(b, a)
            }
        }
        (Form::Linear | Form::Masked(_), Form::Other) => masked(b, a),
        (Form::Other, Form::Linear | Form::Masked(_)) => masked(a, b),
        _ => {
            let mut f = a.clone();
            f.with_clients(b);
            f.other()
        }
    };
    f.plain();
    Flow { inputs, bits: a.bits && b.bits, divided: a.divided || b.divided, ..f }
}

/// `payload` times the secret `factor`. Which clients' values an entry holds is a matter of the
/// payload alone.
fn masked(factor: &Flow, payload: &Flow) -> Flow {
    let each = payload.clients() <= 1;
    // What was weighed before and is gated now is gated.
    let ones = match &payload.form {
        Form::Masked(m) => m.ones.or(factor.ones),
        _ => factor.ones,
    };
    let mut f = payload.clone();
    f.form = Form::Masked(Mask { bit: factor.bits, each, ones: if each { ones } else { None } });
    f.plain();
    f
}

fn div(a: &Flow, b: &Flow) -> Flow {
    let mut f = a.clone();
    f.plain();
    f.bits = false;
    if b.is_free() {
        return f;
    }
    f.inputs.extend(&b.inputs);
    match a.form {
        Form::Linear | Form::Masked(_) if a.clients() >= 2 => f.divided = true,
        Form::Linear | Form::Masked(_) => f = masked(&Flow { bits: false, ..b.clone() }, &f),
        Form::Free | Form::Other => {
            f.with_clients(b);
            f.form = Form::Other;
        }
    }
    f
}

fn select(of: &[&Flow]) -> Flow {
    let (c, a, b) = (of[0], of[1], of[2]);
    let mut both = add(a, b);
    both.bits = a.bits && b.bits;
    if c.is_free() {
        return both;
    }
    both.inputs.extend(&c.inputs);
    match both.form {
        Form::Free | Form::Other => {
            both.with_clients(c);
            both.form = Form::Other;
            both
        }
        Form::Linear | Form::Masked(_) => masked(c, &both),
    }
}

fn sum(g: &Graph, of: NodeId, axes: &[u64], a: &Flow) -> Flow {
    let mut f = a.clone();
    f.plain();
    let before = f.groups.len();
    for &axis in axes {
        f.absorb(axis as usize, g.shape(of)[axis as usize]);
    }
    // A count over clients of bits that belong to another client each.
    f.tally = a.bits && f.groups.len() < before && !f.groups.is_empty();
    f.bits = false;
    f.moved(|axis| Some(axis - axes.iter().filter(|&&x| (x as usize) < axis).count()));
    f
}

/// A nonlinear reduction along an axis, which disappears; it may pick an entry: which, and where.
fn reduce(shape: &[u64], axis: usize, a: &Flow, picks: Option<(u64, NodeId)>) -> Flow {
    let one = a.form == Form::Linear && a.clients() == 1 && a.on(axis);
    let mut f = a.clone().other();
    f.absorb(axis, shape[axis]);
    f.moved(|x| Some(if x > axis { x - 1 } else { x }));
    if let (true, Some((place, node))) = (one, picks) {
        f.order = Order::One(place, node);
    }
    f
}

fn sort(shape: &[u64], a: &Flow, node: NodeId) -> Flow {
    let last = shape.len() - 1;
    let across = a.form == Form::Linear && a.clients() == 1 && a.on(last);
    let mut f = a.clone().other();
    f.absorb(last, shape[last]);
    if across {
        f.order = Order::Sorted(last, node);
    }
    f
}
