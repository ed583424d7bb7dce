//! Fixed-point scales, and truncations where they are needed.
//!
//! Before: any graph without scales. After: every number has its fraction bits; an [`Op::Scale`] is
//! by an integer; an [`Op::Relu`] is an [`Op::Gate`].
//!
//! A product of two numbers with f fraction bits has 2 f. It is truncated back *late*: sums, biases, residuals,
//! comparisons and signs take it as it is, so a sum of products is truncated once, a comparison not at all, and the
//! sign of a ReLU is taken from the untruncated value, beside the truncation. Only what is there for a maximum or
//! minimum to choose from is truncated before: what is compared and what is chosen are then shorter, and most truncated
//! values fit words of half the length. A product with bits keeps the scale of its other factor, so that it is
//! truncated after it is summed. A truncation moves below whatever only copies or masks, and below a choice among
//! copies: each value is truncated once, and what was equal still is. All that only as long as the value cannot grow
//! too large for a word with so many fraction bits ([`crate::analysis::magnitudes`]). Division by a power of two raises
//! the fraction bits and moves nothing; the next truncation is longer by as much. Other constants are folded as an odd
//! integer times a power of two, with at most 16 significant bits. An integer times an integer stays as it is, however
//! many bits the two have: what a program counts, compares for equality and indexes by is never rounded. Times another
//! constant it becomes a fraction first, so an [`Op::Scale`] of an integer is always exact.
//!
//! ```text
//! %3 = conv2d %1 %2 ; %5 = add %3 %4 ; %6 = relu %5
//!   ->   %4' = shift %4 16 ; %5 = add %3 %4' ; %7 = trunc %5 16 ; %6 = gate %7 %5
//! ```

use super::chosen::Chosen;
use super::inverse;
use super::precision::Precision;
use super::promise::{Kept, none};
use super::scaling::{FINE_LIMIT, FRACTION, Level, ROOM, Scales, Want, beyond, room_for};
use crate::analysis::behind::behind;
use crate::analysis::guard::Entries;
use crate::analysis::magnitudes::Magnitudes;
use crate::graph::{Class, Function, Graph, NodeId, Op, Output, ScaleRule, Table, Type};
use slvr_language::types::Elem;
use std::collections::{BTreeMap, BTreeSet};

/// A factor of a product has at most this many where no precision is wanted; more are truncated first.
const MOST_FACTOR: u32 = 24;
/// No untruncated value has more.
const LIMIT: u32 = 40;

/// Values of which precision is wanted have more fraction bits before they are multiplied, up to this level.
pub(super) fn run(graph: &Graph, level: &Level) -> Graph {
    let precision = Precision::of(graph, level);
    let mut source = graph.clone();
    source.frac = Some(FRACTION);
    for (input, frac) in source.inputs.iter_mut().zip(&precision.inputs) {
        input.frac = *frac;
    }
    let mut truncated = BTreeMap::new();
    let sizes = &Magnitudes::new(Entries::Declared);
    let chosen = &Chosen::of(graph);
    let mut factors = BTreeSet::new();
    let mut new = source.rewrite(|new, id, args| {
        let (site, want) = (graph.node(id).site, precision.of_value(graph, id));
        let (truncated, factors) = (&mut truncated, &mut factors);
        let (part, fine) = (precision.part(id), precision.bits(id));
        let short = precision.is_rounded(id);
        let g = new;
        let mut s = Scales { g, truncated, sizes, chosen, site, want, fine, short, part, factors };
        let cut = |s: &mut Scales<'_>, (i, &a): (usize, &NodeId)| {
            if let Some(frac) = precision.cut(graph, id, i) {
                s.at_most_to(a, frac)
            } else if precision.is_compared(graph, id, i) && !chosen.by(graph, id) {
                // As many as there would be if all factors had the same.
                s.at_most_to(a, 2 * FRACTION)
            } else {
                a
            }
        };
        let args: Vec<NodeId> = args.iter().enumerate().map(|a| cut(&mut s, a)).collect();
        let made = s.fitting(graph, id, &args);
        if precision.is_factor(id) {
            s.factors.insert(made);
        }
        made
    });
    for i in 0..new.outputs.len() {
        let Output { node, site, .. } = new.outputs[i];
        let want = precision.of_value(graph, graph.outputs[i].node);
        let (truncated, factors) = (&mut truncated, &mut factors);
        let (part, fine, short) = (None, precision.fine, false);
        let g = &mut new;
        let mut s = Scales { g, truncated, sizes, chosen, site, want, fine, short, part, factors };
        let state = s.g.outputs[i].state.map(|input| s.g.input_frac(&s.g.inputs[input as usize]));
        let node = match (s.g.ty(node).elem, state) {
            (Elem::Bit, Some(_)) => node,
            // As it is read in the next round.
            (_, Some(frac)) => {
                let node = s.at_most_to(node, frac);
                s.raise(node, frac)
            }
            (Elem::Bit, None) => s.g.add(Op::ToInt, &[node], site),
            // A quotient and a reciprocal of a root are rounded by themselves.
            _ if s.is_fine() && is_quotient(s.g, node) => node,
            _ => s.at_most(node, MOST_FACTOR),
        };
        new.outputs[i].node = node;
    }
    new
}

/// Whether a value is a quotient, or the reciprocal of a root, moved or not.
fn is_quotient(g: &Graph, id: NodeId) -> bool {
    let id = behind(g, id, |op| op.is_layout() || matches!(op, Op::MulPow2(_)));
    matches!(g.op(id), Op::Div | Op::Function(Function::RecipSqrt))
}

/// What holds after it, beside the verifier's rule that every number has a scale.
pub(super) fn after(g: &Graph) -> Kept {
    if g.frac.is_none() {
        return Err("the graph has no scales".into());
    }
    none(g, "has no meaning on scaled numbers", |id| match g.op(id) {
        Op::Relu => true,
        Op::Scale(c) => c.fract() != 0.0,
        _ => false,
    })?;
    none(g, "adds noise to what is on a finer grid than the noise", |id| unprotected(g, id))
}

/// The fraction bits of noise, of a node that is nothing else.
fn grid(g: &Graph, id: NodeId) -> Option<u32> {
    match g.op(behind(g, id, Op::is_layout)) {
        Op::Noise { noise, .. } => Some(noise.frac),
        _ => None,
    }
}

/// Whether noise was raised to a finer grid to be added to what is no noise: bits below the grid of the noise would be
/// those of the other operand.
fn unprotected(g: &Graph, id: NodeId) -> bool {
    if !matches!(g.op(id), Op::Add | Op::Sub) {
        return false;
    }
    let raised = |op: &Op| op.is_layout() || matches!(op, Op::Shift(_));
    let of_noise = |a: &NodeId| grid(g, behind(g, *a, raised)).is_some();
    let args = g.args(id);
    let noises = args.iter().filter(|a| of_noise(a)).count();
    noises == 1 && args.iter().any(|&a| of_noise(&a) && grid(g, a).is_none())
}

impl Scales<'_> {
    pub(super) fn frac(&self, id: NodeId) -> u32 {
        self.g.frac_of(id)
    }

    pub(super) fn add(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        self.g.add(op, args, self.site)
    }

    /// Whether the value is one of which precision is wanted.
    pub(super) fn is_fine(&self) -> bool {
        self.want > Want::Coarse
    }

    /// Fraction bits after a truncation.
    fn settled(&self) -> u32 {
        if self.is_fine() { self.fine } else { FRACTION }
    }

    /// A factor of a product has at most this many.
    fn factor(&self) -> u32 {
        if self.is_fine() { FINE_LIMIT } else { MOST_FACTOR }
    }

    /// No untruncated value has more.
    fn limit(&self) -> u32 {
        if self.is_fine() { FINE_LIMIT } else { LIMIT }
    }

    pub(super) fn truncate(&mut self, id: NodeId) -> NodeId {
        self.truncate_to(id, self.settled())
    }

    pub(super) fn truncate_to(&mut self, id: NodeId, frac: u32) -> NodeId {
        let by = self.frac(id).saturating_sub(frac);
        if by == 0 {
            return id;
        }
        if let Some(&t) = self.truncated.get(&(id, frac)) {
            return t;
        }
        let t = match self.copied(id) {
            Some(args) => {
                let mut args = args;
                args[0] = self.truncate_to(args[0], frac);
                let op = self.g.op(id).clone();
                self.add(op, &args)
            }
            None if self.chooses_copies(id) => {
                let bit = self.g.arg(id, 0);
                let [a, b] = [1, 2].map(|i| self.truncate_to(self.g.arg(id, i), frac));
                self.add(Op::Select, &[bit, a, b])
            }
            None => self.add(Op::Trunc(by), &[id]),
        };
        self.truncated.insert((id, frac), t);
        t
    }

    fn is_truncated(&self, id: NodeId) -> bool {
        self.truncated.range((id, 0)..=(id, u32::MAX)).next().is_some()
    }

    /// The operands of what only copies its first operand, or masks it with a table: truncated below,
    /// it is truncated in fewer places.
    fn copied(&self, id: NodeId) -> Option<Vec<NodeId>> {
        let args = self.g.args(id);
        let copies = match self.g.op(id) {
            op if op.is_layout() => true,
            Op::Mul => self.frac(args[1]) == 0 && is_bit_table(self.g, args[1]),
            _ => false,
        };
        (copies && self.g.elements(args[0]) <= self.g.elements(id)).then(|| args.to_vec())
    }

    /// Whether a choice is among copies of fewer entries: each of them is truncated once, so that what is equal before
    /// is equal afterwards, and choices of the same entries in other places share the truncation.
    fn chooses_copies(&self, id: NodeId) -> bool {
        let entries = |i: usize| {
            let mut at = self.g.arg(id, i);
            let mut least = self.g.elements(at);
            while self.copied(at).is_some() {
                at = self.g.arg(at, 0);
                least = least.min(self.g.elements(at));
            }
            least
        };
        *self.g.op(id) == Op::Select && entries(1) + entries(2) < self.g.elements(id)
    }

    /// Whether a value may keep its scale although copies of it would be truncated one by one, or
    /// although it is multiplied by bits.
    fn may_stay(&mut self, id: NodeId) -> bool {
        self.frac(id) <= self.limit() && self.raw(id) <= ROOM && !self.is_truncated(id)
    }

    /// The largest raw value a node can have.
    pub(super) fn raw(&mut self, id: NodeId) -> f64 {
        self.sizes.of(self.g, id) * 2f64.powi(self.frac(id) as i32)
    }

    /// A node; of truncated operands if it could be too large otherwise.
    fn fitting(&mut self, old: &Graph, id: NodeId, args: &[NodeId]) -> NodeId {
        let new = self.node(old, id, args);
        if self.is_fine() {
            return self.fitting_fine(old, id, (args, new));
        }
        let long = |s: &Self, a: NodeId| s.frac(a) > FRACTION && s.g.ty(a).elem != Elem::Bit;
        let raw = self.raw(new);
        if raw <= ROOM || !raw.is_finite() || !args.iter().any(|&a| long(self, a)) {
            return new;
        }
        // A factor beside a reciprocal of a root loses as few bits as it takes.
        let less = |s: &mut Self, a: NodeId| match s.by_root(a) {
            true => s.truncate_to(a, s.frac(a).saturating_sub(beyond(raw, ROOM)).max(FRACTION)),
            false => s.truncate(a),
        };
        let args: Vec<NodeId> =
            args.iter().map(|&a| if long(self, a) { less(self, a) } else { a }).collect();
        self.node(old, id, &args)
    }

    /// The same for a fine value: operands lose as few bits as it takes. Products see to it themselves.
    fn fitting_fine(
        &mut self,
        old: &Graph,
        id: NodeId,
        (args, new): (&[NodeId], NodeId),
    ) -> NodeId {
        let (raw, class) = (self.raw(new), old.op(id).class());
        let itself = matches!(class, Class::Bilinear | Class::Function) || *old.op(id) == Op::Mul;
        if raw <= ROOM || !raw.is_finite() || itself {
            return new;
        }
        let number = |s: &Self, a: NodeId| s.g.ty(a).elem != Elem::Bit;
        let most = args.iter().filter(|&&a| number(self, a)).map(|&a| self.frac(a)).max();
        let to = most.unwrap_or(0).saturating_sub(beyond(raw, ROOM)).max(self.fine);
        let args: Vec<NodeId> = (args.iter())
            .map(|&a| if number(self, a) { self.at_most_to(a, to) } else { a })
            .collect();
        self.node(old, id, &args)
    }

    pub(super) fn at_most_to(&mut self, id: NodeId, frac: u32) -> NodeId {
        if self.frac(id) > frac { self.truncate_to(id, frac) } else { id }
    }

    fn at_most(&mut self, id: NodeId, limit: u32) -> NodeId {
        if self.frac(id) > limit { self.truncate(id) } else { id }
    }

    /// A factor of a product.
    fn as_factor(&mut self, id: NodeId) -> NodeId {
        if self.frac(id) <= MOST_FACTOR {
            return id;
        }
        self.truncate_to(id, if self.by_root(id) { inverse::ROOT_FACTOR } else { self.settled() })
    }

    /// Whether a value is a reciprocal of a root, or a factor of a product with one.
    fn by_root(&self, id: NodeId) -> bool {
        self.factors.contains(&behind(self.g, id, Op::is_layout))
    }

    /// The same value with `frac` fraction bits, at least as many as it has.
    pub(super) fn raise(&mut self, id: NodeId, frac: u32) -> NodeId {
        let by = frac - self.frac(id);
        if by == 0 {
            return id;
        }
        if let Op::Const(table, elem, _) = self.g.op(id).clone() {
            return self.constant(table, elem, frac);
        }
        self.add(Op::Shift(by), &[id])
    }

    fn constant(&mut self, table: Table, elem: Elem, frac: u32) -> NodeId {
        self.add(Op::Const(table, elem, Some(frac)), &[])
    }

    pub(super) fn same(&mut self, ids: &[NodeId]) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = ids.iter().map(|&i| self.at_most(i, self.limit())).collect();
        if self.is_fine() {
            ids = self.held(ids);
        }
        let most = |s: &Self, ids: &[NodeId]| ids.iter().map(|&i| s.frac(i)).max().unwrap_or(0);
        // A constant that no word would hold with so many fraction bits has fewer, and the others with it.
        let unit = f64::from(most(self, &ids)).exp2();
        let large = |s: &Self, id: NodeId| match s.g.op(id) {
            Op::Const(t, ..) => t.data.iter().any(|x| x.abs() * unit > ROOM),
            _ => false,
        };
        if ids.iter().any(|&i| large(self, i)) {
            ids = ids.into_iter().map(|i| self.truncate(i)).collect();
        }
        let most = most(self, &ids);
        ids.into_iter().map(|i| self.raise(i, most)).collect()
    }

    /// Values with no more fraction bits than a word holds of each of them.
    fn held(&mut self, ids: Vec<NodeId>) -> Vec<NodeId> {
        let room = |s: &mut Self, i: NodeId| s.frac(i) + room_for(s.raw(i), ROOM);
        let most = ids.iter().map(|&i| room(self, i)).min().unwrap_or(0).max(self.fine);
        ids.into_iter().map(|i| self.at_most_to(i, most)).collect()
    }

    /// The fraction bits of the noise among two operands, if one of them is noise.
    pub(super) fn noise_of(&self, args: &[NodeId]) -> Option<u32> {
        let grids: Vec<u32> = args.iter().filter_map(|&a| grid(self.g, a)).collect();
        if let [grid] = grids[..] { Some(grid) } else { None }
    }

    /// [`Self::same`], truncated if a factor would be.
    fn short(&mut self, ids: &[NodeId]) -> Vec<NodeId> {
        let ids: Vec<NodeId> = ids.iter().map(|&i| self.at_most(i, self.factor())).collect();
        self.same(&ids)
    }

    fn node(&mut self, old: &Graph, id: NodeId, args: &[NodeId]) -> NodeId {
        let fine = self.fine_node(old, id, args);
        fine.unwrap_or_else(|| self.coarse_node(old, id, args))
    }

    /// A value of which no precision is wanted, and all that is the same for others.
    fn coarse_node(&mut self, old: &Graph, id: NodeId, args: &[NodeId]) -> NodeId {
        let Type { elem, .. } = *old.ty(id);
        let op = old.op(id).clone();
        match op {
            Op::Const(table, Elem::Bit, _) => self.add(Op::Const(table, Elem::Bit, None), &[]),
            Op::Const(table, elem, _) => {
                let frac = if elem == Elem::Int { 0 } else { FRACTION };
                self.constant(table, elem, frac)
            }
            // What is on a finer grid than the noise is rounded to it first: the bits below would not be hidden.
            Op::Add | Op::Sub if self.noise_of(args).is_some() => {
                let grid = self.noise_of(args).unwrap_or(FRACTION);
                let args: Vec<NodeId> = args.iter().map(|&a| self.at_most_to(a, grid)).collect();
                let args: Vec<NodeId> = args.iter().map(|&a| self.raise(a, grid)).collect();
                self.add(op, &args)
            }
            Op::Lt if self.chosen.by(old, id) => {
                let args = self.short(args);
                self.add(op, &args)
            }
            Op::Select if elem != Elem::Bit => {
                let sides = match self.chosen.by(old, old.arg(id, 0)) {
                    true => self.short(&args[1..]),
                    false => self.same(&args[1..]),
                };
                self.add(op, &[args[0], sides[0], sides[1]])
            }
            Op::Mul | Op::MatMul { .. } if self.bits_times(old, id, args) => self.add(op, args),
            Op::Scale(c) => self.scale(args[0], c),
            Op::Relu => {
                let value = self.at_most(args[0], self.factor());
                self.add(Op::Gate, &[value, args[0]])
            }
            // A divisor may keep its scale: counts have few bits.
            Op::Div => {
                let mean = self.reweighted(args[0], args[1], self.settled());
                let (x, y) = mean.unwrap_or((args[0], args[1]));
                let (x, y) = (self.truncate(x), self.truncate(y));
                let frac = self.frac(x).max(FRACTION);
                let x = self.raise(x, frac);
                self.add(op, &[x, y])
            }
            Op::Function(_) => {
                let args: Vec<NodeId> = args
                    .iter()
                    .map(|&a| {
                        // Their protocols are for so many, whatever is wanted of the result.
                        let a = self.truncate_to(a, FRACTION);
                        let frac = self.frac(a).max(FRACTION);
                        self.raise(a, frac)
                    })
                    .collect();
                self.add(op, &args)
            }
            // Copies of what is truncated after all are truncated below ([`Self::truncate`]).
            Op::Broadcast(_) | Op::Gather { .. }
                if elem != Elem::Bit && old.elements(id) > old.elements(old.arg(id, 0)) =>
            {
                let mut args = args.to_vec();
                if !self.may_stay(args[0]) {
                    args[0] = self.at_most(args[0], self.factor());
                }
                self.add(op, &args)
            }
            // All others, as the table of operations says which scales their operands have.
            op => match op.facts().scale {
                ScaleRule::Equal if args.iter().any(|&a| self.g.ty(a).elem != Elem::Bit) => {
                    let args = self.same(args);
                    self.add(op, &args)
                }
                ScaleRule::Product => self.coarse_product(op, args),
                ScaleRule::Input(_)
                | ScaleRule::Is(_)
                | ScaleRule::Grid(_)
                | ScaleRule::Whole
                | ScaleRule::First
                | ScaleRule::Equal
                | ScaleRule::Choice
                | ScaleRule::Less(_)
                | ScaleRule::More(_) => self.add(op, args),
            },
        }
    }

    fn coarse_product(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        let mut factors: Vec<NodeId> = args.iter().map(|&a| self.as_factor(a)).collect();
        let by_root = factors.iter().any(|&a| self.by_root(a));
        let limit = if by_root { FINE_LIMIT } else { LIMIT };
        if self.frac(factors[0]) + self.frac(factors[1]) > limit {
            factors = factors.iter().map(|&a| self.truncate(a)).collect();
        }
        self.add(op, &factors)
    }

    /// Whether a product is of bits and of a number that may keep its scale, and is not larger than
    /// the number.
    fn bits_times(&mut self, old: &Graph, id: NodeId, args: &[NodeId]) -> bool {
        let number = match [args[0], args[1]].map(|a| is_bit(self.g, a)) {
            [true, false] => args[1],
            [false, true] => args[0],
            _ => return false,
        };
        self.frac(number) > MOST_FACTOR
            && old.elements(id) <= self.g.elements(number)
            && self.may_stay(number)
    }

    /// c * x as an odd integer times a power of two; an integer times an integer as it is.
    fn scale(&mut self, x: NodeId, c: f64) -> NodeId {
        let whole = self.g.ty(x).elem != Elem::Fix;
        if c == 0.0 || whole && c.fract() == 0.0 {
            return self.add(Op::Scale(c), &[x]);
        }
        // 16 significant bits: |c| * 2^bits in [2^15, 2^16).
        let bits = 15 - c.abs().log2().floor() as i32;
        let mut odd = (c * 2f64.powi(bits)).round();
        let mut bits = bits;
        // A factor that was rounded to a power of two stays a factor: its error is accounted for there.
        let exact = odd == c * 2f64.powi(bits);
        while odd % 2.0 == 0.0 && (exact || odd.abs() > 2.0) {
            odd /= 2.0;
            bits -= 1;
        }
        if bits < 0 {
            odd *= 2f64.powi(-bits);
            bits = 0;
        }
        // An integer times a factor that was rounded to a whole one is no integer: its type says that it has an error.
        if whole && bits == 0 {
            odd *= 2.0;
            bits = 1;
        }
        let room = self.frac(x) + bits as u32 <= self.limit();
        let x = match (room || odd == 1.0, self.is_fine()) {
            (true, _) => x,
            (false, true) => self.at_most_to(x, (FINE_LIMIT - bits as u32).max(self.fine)),
            (false, false) => self.truncate(x),
        };
        let times = |s: &mut Self, x| if odd == 1.0 { x } else { s.add(Op::Scale(odd), &[x]) };
        let over = |s: &mut Self, x| match bits {
            0 => x,
            bits => s.add(Op::DivPow2(bits as u32), &[x]),
        };
        // The product of a fraction is one, whose factor may be rounded.
        let product = if whole { over(self, x) } else { times(self, x) };
        let raised = if whole { times(self, product) } else { over(self, product) };
        if bits == 0 { raised } else { self.at_most(raised, self.limit()) }
    }
}

/// Whether every entry is 0 or 1, or of a table also -1, and has no fraction bits.
fn is_bit(g: &Graph, id: NodeId) -> bool {
    let args = g.args(id);
    match g.op(id) {
        Op::ToInt | Op::OneHot(_) => true,
        op if op.is_layout() => is_bit(g, args[0]),
        Op::Mul => args.iter().all(|&a| is_bit(g, a)),
        Op::Sub => g.constant(args[0]) == Some(1.0) && matches!(g.op(args[1]), Op::ToInt),
        _ => is_bit_table(g, id),
    }
}

/// Whether every entry is -1, 0 or 1, all of tables, and has no fraction bits.
fn is_bit_table(g: &Graph, id: NodeId) -> bool {
    let args = g.args(id);
    match g.op(id) {
        Op::Const(t, Elem::Int, _) => t.data.iter().all(|x| x.abs() <= 1.0),
        op if op.is_layout() => is_bit_table(g, args[0]),
        Op::Mul => args.iter().all(|&a| is_bit_table(g, a)),
        _ => false,
    }
}
