//! Local instructions on what one party holds.
//!
//! What is linear applies to each component; `Rep * Rep` leaves an `Add3` word; a public operand of
//! an addition is added by one party (component x_0 of `Rep`, P_0 of `Add3`, P_{r+1} of `Add2`) and
//! by all holders of an `Own` or `Dup` value.

use super::registers::Registers;
use crate::clear::plain::{self, Arg};
use crate::protocol::committee::drawn;
use crate::protocol::{Context, assemble, complement, join, join_parts, mask, random};
use crate::share::{Held, Rep, next, prev};
use slvr_circuit::{Circuit, Hold, Lanes, Op, Shape, SplitPart, ValueId, lead};
use slvr_circuit::{Dom, low_mask};
use slvr_ring::kernels::{self, Row};
use slvr_ring::layout::{self, IndexOutOfRange};
use slvr_ring::{Data, Planes, carry};
use std::ops::Range;
use std::sync::Arc;

/// A part of a tensor.
type Part<'a> = (&'a Data, Range<usize>);

/// The result of a local instruction at a party.
pub(super) fn eval(
    circuit: &Circuit,
    context: Context<'_>,
    regs: &Registers,
    op: &Op,
    out: ValueId,
) -> Result<Held, IndexOutOfRange> {
    let cx = Cx { circuit, me: context.me(), regs, out };
    Ok(match op {
        Op::Add(a, b) | Op::Sub(a, b) => cx.sum(op, *a, *b)?,
        Op::Mul(a, b) | Op::MatMul { a, b, .. } | Op::Conv2d { x: a, w: b, .. } => {
            cx.product(op, *a, *b)?
        }
        Op::Offset(x, c) => cx.offset(*x, *c),
        Op::Not(x) => cx.offset(*x, low_mask(circuit.ty(*x).bits())),
        Op::Reshape(x, _) => regs.get(*x).clone(),
        Op::Own(x) | Op::OwnOf(x, _) => Held::one(cx.own(*x)),
        Op::Dup(x) | Op::DupOf(x, _) => Held::one(cx.dup(regs.rep(*x))),
        Op::AsAdd2(x) | Op::AsAdd2Of(x, _) => Held::one(cx.as_add2(*x)),
        Op::AsAdd3(x) => match regs.get(*x) {
            Held::Rep(x) => Held::One(x.first.clone()),
            Held::One(_) => Held::one(cx.as_add3(*x)),
        },
        Op::Trivial(x) => Held::Rep(cx.trivial(*x)),
        Op::MaskOf(x, _) => Held::Rep(mask::of(regs.rep(*x), cx.lanes(out), cx.me)),
        Op::Join { mask, dup } => Held::Rep(cx.join(*mask, *dup)),
        Op::Mask { dom, .. } => Held::Rep(mask::fresh(context, *dom, cx.lanes(out))),
        Op::Random { dom, .. } => Held::Rep(random::fresh(context, *dom, cx.lanes(out).n)),
        Op::Pick { table, index, blocks } => {
            let (table, index) = (cx.planes(*table), cx.planes(*index));
            Held::one(Data::Bits(carry::pick(table, index, blocks, &cx.one(out))))
        }
        Op::Propagate { table, index, blocks, skip } => {
            let (table, index) = (cx.planes(*table), cx.planes(*index));
            Held::one(Data::Bits(carry::propagate(table, index, blocks, *skip, &cx.one(out))))
        }
        Op::AndMany { open, mask, products, nodes, gates } => {
            let [open, mask, products] = [open, mask, products].map(|&v| cx.planes(v));
            let nodes = nodes.map(|v| cx.planes(v));
            Held::one(Data::Bits(carry::and_many(open, mask, products, nodes, gates, &cx.one(out))))
        }
        Op::Committee { coin, .. } | Op::Draw { coin, .. } => {
            Held::one(drawn(op, regs.one(*coin).get_u128(0)))
        }
        Op::Project { x, coin, tests, part: SplitPart::Whole } => cx.project(*x, *coin, *tests)?,
        Op::Project { x, coin, tests, part } => cx.project_part(*x, *coin, *tests, *part),
        op => cx.linear(op)?,
    })
}

struct Cx<'a> {
    circuit: &'a Circuit,
    me: usize,
    regs: &'a Registers,
    out: ValueId,
}

impl<'a> Cx<'a> {
    fn hold(&self, v: ValueId) -> Hold {
        self.circuit.ty(v).hold
    }

    fn shape(&self, v: ValueId) -> &'a [u64] {
        &self.circuit.ty(v).shape
    }

    fn lanes(&self, v: ValueId) -> Lanes {
        self.circuit.ty(v).lanes()
    }

    /// Bits of a value that is not replicated.
    fn planes(&self, v: ValueId) -> &'a Planes {
        match &**self.regs.one(v) {
            Data::Bits(p) => p,
            Data::Ring(_) => unreachable!("the verifier checks domains"),
        }
    }

    /// The shards that this party stores of a value held so, or of its first or second words.
    fn shards(&self, hold: Hold, second: bool) -> Vec<usize> {
        let (before, after) = (prev(self.me), next(self.me));
        match hold {
            Hold::Own => vec![self.me],
            Hold::Dup | Hold::Add2 => vec![before, after],
            Hold::Mask => vec![self.me, if second { after } else { before }],
            Hold::Public | Hold::Rep | Hold::Add3 => vec![0, 1, 2],
        }
    }

    /// The shape of what this party stores of a tensor of `shape` in these shards: where they are cut
    /// between groups, some rows of its leading axis; elsewhere a flat part.
    fn stored(&self, shape: &[u64], lanes: Lanes, shards: &[usize]) -> Shape {
        if lanes.groups == 0 {
            return vec![shards.iter().map(|&r| lanes.len(r) as u64).sum()];
        }
        let held: u64 = shards.iter().map(|&r| u64::from(lanes.groups_in(r))).sum();
        let mut out = shape.to_vec();
        // By groups and not by elements, of which there are none if another axis is empty.
        if let Some(d) = out.get_mut(lead(shape)) {
            *d = *d / u64::from(lanes.groups) * held;
        }
        out
    }

    /// Whether this party stores nothing of the result, which is held in shards: then there is nothing
    /// to compute, and the operands' shapes need not go together.
    fn stores_nothing(&self, second: bool) -> bool {
        let (hold, lanes) = (self.hold(self.out), self.lanes(self.out));
        hold.is_sharded() && self.shards(hold, second).iter().all(|&r| lanes.len(r) == 0)
    }

    fn nothing(&self) -> Data {
        Data::zeros(self.circuit.ty(self.out).dom, 0)
    }

    /// An operand's component as an argument.
    fn arg(&self, v: ValueId, second: bool) -> (&'a Data, Shape) {
        let x = self.regs.get(v).component(second);
        let hold = self.hold(v);
        match hold.is_sharded() {
            true => (x, self.stored(self.shape(v), self.lanes(v), &self.shards(hold, second))),
            false => (x, self.shape(v).to_vec()),
        }
    }

    /// The result of which each component is given; nothing where this party stores nothing of it.
    fn components(
        &self,
        of: impl Fn(bool) -> Result<Data, IndexOutOfRange>,
    ) -> Result<Held, IndexOutOfRange> {
        let component = |second: bool| {
            if self.stores_nothing(second) { Ok(self.nothing()) } else { of(second) }
        };
        let first = component(false)?;
        match self.hold(self.out) {
            Hold::Rep | Hold::Mask => Ok(Held::Rep(Rep::new(first, component(true)?))),
            _ => Ok(Held::one(first)),
        }
    }

    /// An operation that applies to each component (or stored part) alone; public operands take
    /// part in each.
    fn linear(&self, op: &Op) -> Result<Held, IndexOutOfRange> {
        let operands = op.operands();
        self.components(|second| {
            let args: Vec<(&Data, Shape)> = operands.iter().map(|&v| self.arg(v, second)).collect();
            let args: Vec<Arg<'_>> = args.iter().map(|(x, s)| (*x, s.as_slice())).collect();
            match op {
                Op::Broadcast(x, to) if self.hold(self.out).is_sharded() => {
                    let shards = self.shards(self.hold(self.out), second);
                    let to = self.stored(to, self.lanes(self.out), &shards);
                    plain::eval(&Op::Broadcast(*x, to), &args)
                }
                _ => plain::eval(op, &args),
            }
        })
    }

    /// a + b and a - b.
    fn sum(&self, op: &Op, a: ValueId, b: ValueId) -> Result<Held, IndexOutOfRange> {
        let hold = self.hold(self.out);
        self.components(|second| {
            let (x, sx) = self.addend(a, hold, second);
            let (y, sy) = self.addend(b, hold, second);
            Ok(match op {
                Op::Sub(..) => layout::sub(&x, &sx, &y, &sy).0,
                _ => layout::add(&x, &sx, &y, &sy).0,
            })
        })
    }

    /// What this party adds for operand `v` of a sum held as `hold`: its first or second component, and
    /// its shape.
    fn addend(&self, v: ValueId, hold: Hold, second: bool) -> (Arc<Data>, Shape) {
        let (data, shape) = self.arg(v, second);
        let whole = || self.regs.get(v).component(second).clone();
        match (self.hold(v), hold) {
            (Hold::Dup, Hold::Add2) => (Arc::new(self.by_one(data, self.lanes(v))), shape),
            (Hold::Public, Hold::Rep) if self.has_x0(second) => (whole(), shape),
            (Hold::Public, Hold::Add3) if self.me == 0 => (whole(), shape),
            (Hold::Public, Hold::Rep | Hold::Add3) => {
                (Arc::new(Data::zeros(data.dom(), data.len())), shape)
            }
            (Hold::Public, Hold::Add2) => {
                // Repeated to the whole result, because only one of the two adds it.
                let (part, shape) = self.part(v, hold, false);
                let lanes = self.lanes(self.out);
                let to = self.stored(self.shape(self.out), lanes, &self.shards(hold, false));
                let part = layout::broadcast(&part, &shape, &to);
                (Arc::new(self.by_one(&part, lanes)), to)
            }
            (Hold::Public, Hold::Own | Hold::Dup) => self.part(v, hold, false),
            _ => (whole(), shape),
        }
    }

    /// Whether this party's first (second) component is x_0.
    fn has_x0(&self, second: bool) -> bool {
        self.me == if second { 2 } else { 0 }
    }

    /// Of a stored part that r + 1 and r + 2 both know: the words where this party is r + 1, zeros where
    /// it is r + 2.
    fn by_one(&self, x: &Data, lanes: Lanes) -> Data {
        let (before, after) = complement(lanes, self.me);
        join(&x.slice(before), &Data::zeros(x.dom(), after.len()), self.me)
    }

    /// The constant 1 for each element of a value that is additive between two: shares of it.
    fn one(&self, v: ValueId) -> Planes {
        let lanes = self.lanes(v);
        let mut ones = Data::zeros(Dom::Bits(1), lanes.n - lanes.len(self.me));
        ones.offset(1);
        match self.by_one(&ones, lanes) {
            Data::Bits(p) => p,
            Data::Ring(_) => unreachable!("bits stay bits"),
        }
    }

    /// What this party would store of a public tensor that is held as `hold`, cut as the result: its first
    /// or second component, and its shape. What is repeated along the shards stays whole.
    fn part(&self, v: ValueId, hold: Hold, second: bool) -> (Arc<Data>, Shape) {
        let (x, shape) = (self.regs.one(v), self.shape(v));
        let out = self.circuit.ty(self.out);
        let repeated = match out.groups {
            0 => x.len() == 1 && out.elements() != 1,
            _ => shape.get(out.lead()) == Some(&1) && out.shape.get(out.lead()) != Some(&1),
        };
        if repeated && out.groups == 0 {
            return (x.clone(), vec![1]);
        }
        if repeated {
            return (x.clone(), shape.to_vec());
        }
        let lanes = Lanes { n: x.len(), groups: out.groups };
        let s = lanes.ranges();
        let mut shards = self.shards(hold, second);
        shards.sort_unstable();
        let parts: Vec<Data> = shards.iter().map(|&r| x.slice(s[r].clone())).collect();
        let part = Data::concat(&parts.iter().collect::<Vec<_>>());
        (Arc::new(part), self.stored(shape, lanes, &shards))
    }

    /// a * b, matrix product, convolution.
    fn product(&self, op: &Op, a: ValueId, b: ValueId) -> Result<Held, IndexOutOfRange> {
        if let (Hold::Rep, Hold::Rep) = (self.hold(a), self.hold(b)) {
            let (x, y) = (self.regs.rep(a), self.regs.rep(b));
            return Ok(Held::one(self.cross(op, (x, self.shape(a)), (y, self.shape(b)))));
        }
        let hold = self.hold(self.out);
        if !hold.is_sharded() {
            return self.linear(op);
        }
        self.components(|second| {
            // A public operand of a matrix product or convolution is one for all shards.
            let factor = |v: ValueId| match self.hold(v) {
                Hold::Public if matches!(op, Op::Mul(..)) => self.part(v, hold, second),
                Hold::Public => (self.regs.one(v).clone(), self.shape(v).to_vec()),
                _ => (self.regs.get(v).component(second).clone(), self.arg(v, second).1),
            };
            let ((x, sx), (y, sy)) = (factor(a), factor(b));
            Ok(plain::product(op, (&x, &sx), (&y, &sy)))
        })
    }

    /// z_i of the product of two replicated tensors: x_i (y_i + y_{i+1}) + x_{i+1} y_i, or the same
    /// with the roles of x and y exchanged, whichever adds up the smaller tensor.
    fn cross(&self, op: &Op, (x, sx): (&Rep, &[u64]), (y, sy): (&Rep, &[u64])) -> Data {
        let itself = Arc::ptr_eq(&x.first, &y.first) && Arc::ptr_eq(&x.second, &y.second);
        if let (Op::MatMul { trans_b: true, .. }, &[rows, 1, _], true) =
            (op, sx, itself && sx == sy)
        {
            // x_i y_{i+1} and x_{i+1} y_i are the same: one pass over both, and nothing on the side.
            let (a, b) = (plain::words(&x.first), plain::words(&x.second));
            return Data::Ring(kernels::squares(a, b, rows as usize));
        }
        let both = |r: &Rep| {
            let mut sum = (*r.first).clone();
            sum.add_assign(&r.second);
            sum
        };
        if y.first.bytes() <= x.first.bytes() {
            let mut z = plain::product(op, (&x.first, sx), (&both(y), sy));
            plain::product_acc(op, &mut z, (&x.second, sx), (&y.first, sy));
            z
        } else {
            let mut z = plain::product(op, (&both(x), sx), (&y.first, sy));
            plain::product_acc(op, &mut z, (&x.first, sx), (&y.second, sy));
            z
        }
    }

    /// Of both components at once, where they are of one shape: the signs are expanded once.
    fn project(&self, x: ValueId, coin: ValueId, tests: u64) -> Result<Held, IndexOutOfRange> {
        let coin = self.regs.one(coin).get_u128(0);
        match self.regs.get(x) {
            Held::Rep(r) if self.hold(x) == Hold::Rep => {
                let shape = self.shape(x);
                let [first, second] = plain::project([&r.first, &r.second], shape, coin, tests);
                Ok(Held::Rep(Rep::new(first, second)))
            }
            _ => self.components(|second| {
                let (part, shape) = self.arg(x, second);
                let [sums] = plain::project([part], &shape, coin, tests);
                Ok(sums)
            }),
        }
    }

    /// Of one part of the split of a replicated value, whose rows this party has whole: a is summed on the
    /// fly, of b each row is in one component.
    fn project_part(&self, x: ValueId, coin: ValueId, tests: u64, part: SplitPart) -> Held {
        let coin = self.regs.one(coin).get_u128(0);
        let (rep, dom) = (self.regs.rep(x), self.circuit.ty(x).dom);
        let d = self.shape(x).get(1).map_or(0, |&d| d as usize);
        let shards = self.lanes(self.out).ranges();
        let (first, second) = (plain::words(&rep.first), plain::words(&rep.second));
        let mut held = self.shards(self.hold(self.out), false);
        held.sort_unstable();
        let mut rows = Vec::new();
        for r in held {
            let (x, plus) = match part {
                SplitPart::Own(_) => (first, Some(second)),
                _ if r == next(self.me) => (first, None),
                _ => (second, None),
            };
            // The shard of the result is whole rows of `tests` sums.
            let of = |at: usize| at / tests.max(1) as usize;
            let all = of(shards[r].start)..of(shards[r].end);
            rows.extend(all.map(|i| Row { x, plus, range: i * d..(i + 1) * d }));
        }
        Held::one(plain::project_rows(&rows, dom, coin, tests))
    }

    /// a + c for a constant c (xor on bits).
    fn offset(&self, v: ValueId, c: u128) -> Held {
        let plus = |x: &Data| {
            let mut x = x.clone();
            x.offset(c);
            Arc::new(x)
        };
        match (self.regs.get(v), self.hold(v)) {
            (Held::Rep(x), _) => {
                let mut x = x.clone();
                if self.has_x0(false) {
                    x.first = plus(&x.first);
                }
                if self.has_x0(true) {
                    x.second = plus(&x.second);
                }
                Held::Rep(x)
            }
            (Held::One(x), Hold::Add3) if self.me != 0 => Held::One(x.clone()),
            (Held::One(x), Hold::Add2) => {
                let (before, after) = complement(self.lanes(v), self.me);
                Held::one(join(&plus(&x.slice(before)), &x.slice(after), self.me))
            }
            (Held::One(x), _) => Held::One(plus(x)),
        }
    }

    /// a = x_r + x_{r+1} in this party's shard.
    fn own(&self, v: ValueId) -> Data {
        let lanes = self.lanes(self.out);
        if self.hold(v) == Hold::Add3 {
            return self.regs.one(v).slice(lanes.ranges()[self.me].clone());
        }
        let x = self.regs.rep(v);
        if self.hold(v) == Hold::Mask {
            return mask::own(x, lanes, self.me);
        }
        let shard = lanes.ranges()[self.me].clone();
        let mut a = x.first.slice(shard.clone());
        a.add_part(&x.second, shard);
        a
    }

    /// b = x_{r+2} in the other shards: the second component where this party is r + 1, the first
    /// where it is r + 2.
    fn dup(&self, x: &Rep) -> Data {
        let s = self.lanes(self.out).ranges();
        let one = (&*x.second, s[prev(self.me)].clone());
        join_parts(one, (&*x.first, s[next(self.me)].clone()), self.me)
    }

    /// Of a replicated value x_{r+1} where this party is r + 1, x_{r+2} + x_r where it is r + 2; of a mask
    /// y_{r+1} and y_r.
    fn as_add2(&self, v: ValueId) -> Data {
        let lanes = self.lanes(self.out);
        if self.hold(v) == Hold::Dup {
            return self.by_one(self.regs.one(v), lanes);
        }
        let s = lanes.ranges();
        let (one, two) = (s[prev(self.me)].clone(), s[next(self.me)].clone());
        if self.hold(v) == Hold::Add3 {
            let x: &Data = self.regs.one(v);
            return join_parts((x, one), (x, two), self.me);
        }
        let x = self.regs.rep(v);
        if self.hold(v) == Hold::Mask {
            return mask::others(x, lanes, self.me);
        }
        let mut sum = x.first.slice(two.clone());
        sum.add_part(&x.second, two);
        join_parts((&*x.first, one), (&sum, 0..sum.len()), self.me)
    }

    /// What this party stores of a value, and zeros elsewhere.
    fn as_add3(&self, v: ValueId) -> Data {
        let (x, lanes) = (self.regs.one(v), self.lanes(v));
        let zero = |r: usize| Data::zeros(x.dom(), lanes.len(r));
        if self.hold(v) == Hold::Own {
            let others = [zero(prev(self.me)), zero(next(self.me))];
            return assemble(x, &others[0], &others[1], self.me);
        }
        let (before, after) = complement(lanes, self.me);
        assemble(&zero(self.me), &x.slice(before), &x.slice(after), self.me)
    }

    /// The components from the two parts of the split: x_{r+2} is the part b.
    fn join(&self, a: ValueId, b: ValueId) -> Rep {
        let (lanes, me) = (self.lanes(a), self.me);
        let (mask, dup) = (self.regs.rep(a), self.regs.one(b));
        let at = mask::Places::new(lanes, me);
        let (one, two) = complement(lanes, me);
        let place = |own: Part<'_>, before: Part<'_>, after: Part<'_>| {
            let mut parts = [own.clone(), own.clone(), own];
            parts[prev(me)] = before;
            parts[next(me)] = after;
            Data::join(&parts)
        };
        Rep::new(
            place((&*mask.first, at.own_first), (&*mask.first, at.before), (dup, two)),
            place((&*mask.second, at.own_second), (dup, one), (&*mask.second, at.after)),
        )
    }

    /// x_{r+2} = d, the other components 0: (0, 0) in this party's own shard, (0, d) where it is
    /// r + 1, (d, 0) where it is r + 2.
    ///
    /// A public value is x_0, the other components 0.
    fn trivial(&self, v: ValueId) -> Rep {
        let lanes = self.lanes(v);
        let d = self.regs.one(v);
        if self.circuit.ty(v).hold == Hold::Public {
            let component =
                |i: usize| if i == 0 { Data::clone(d) } else { Data::zeros(d.dom(), lanes.n) };
            return Rep::new(component(self.me), component(next(self.me)));
        }
        let most = [0, 1, 2].map(|r| lanes.len(r)).into_iter().max().unwrap_or(0);
        let zeros = Data::zeros(d.dom(), most);
        let (one, two) = complement(lanes, self.me);
        let place = |part: Range<usize>, shard: usize| {
            let mut parts = [0, 1, 2].map(|r| (&zeros, 0..lanes.len(r)));
            parts[shard] = (d, part);
            Data::join(&parts)
        };
        Rep::new(place(two, next(self.me)), place(one, prev(self.me)))
    }
}
