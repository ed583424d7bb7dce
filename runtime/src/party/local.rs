//! Local instructions on what one party holds.
//!
//! What is linear applies to each component; `Rep * Rep` leaves an `Add3` word; a public operand of
//! an addition is added by one party (component x_0 of `Rep`, P_0 of `Add3`, P_{r+1} of `Add2`) and
//! by all holders of an `Own` or `Dup` value.

use super::registers::{Held, Registers};
use crate::circuit::{Circuit, Hold, Op, Shape, ValueId, shards};
use crate::clear::plain::{self, Arg};
use crate::protocol::committee::committee;
use crate::protocol::{complement, join};
use crate::ring::layout::{self, IndexOutOfRange};
use crate::ring::{Data, Dom, low_mask};
use crate::share::{Rep, next, prev};
use std::sync::Arc;

/// The result of a local instruction at party `me`.
pub(super) fn eval(
    circuit: &Circuit,
    me: usize,
    regs: &Registers,
    op: &Op,
) -> Result<Held, IndexOutOfRange> {
    let cx = Cx { circuit, me, regs };
    Ok(match op {
        Op::Add(a, b) | Op::Sub(a, b) => cx.sum(op, *a, *b),
        Op::Mul(a, b) | Op::MatMul { a, b, .. } | Op::Conv2d { x: a, w: b, .. } => {
            cx.product(op, *a, *b)?
        }
        Op::Offset(x, c) => cx.offset(*x, *c),
        Op::Not(x) => cx.offset(*x, low_mask(circuit.ty(*x).bits())),
        Op::Reshape(x, _) => regs.get(*x).clone(),
        Op::Own(x) => Held::one(cx.own(regs.rep(*x))),
        Op::Dup(x) => Held::one(cx.dup(regs.rep(*x))),
        Op::AsAdd2(x) => Held::one(cx.as_add2(regs.rep(*x))),
        Op::AsAdd3(x) => Held::One(regs.rep(*x).first.clone()),
        Op::Trivial(x) => Held::Rep(cx.trivial(*x)),
        Op::Committee { coin, n, k } => {
            let drawn = committee(regs.one(*coin).get_u128(0), *n, *k);
            let words: Vec<u128> = drawn.into_iter().map(u128::from).collect();
            Held::one(Data::from_u128s(Dom::Ring(32), &words))
        }
        Op::Project { x, coin, tests } => cx.project(*x, *coin, *tests),
        op => cx.linear(op)?,
    })
}

struct Cx<'a> {
    circuit: &'a Circuit,
    me: usize,
    regs: &'a Registers,
}

impl<'a> Cx<'a> {
    fn hold(&self, v: ValueId) -> Hold {
        self.circuit.ty(v).hold
    }

    fn shape(&self, v: ValueId) -> &'a [u64] {
        &self.circuit.ty(v).shape
    }

    fn elements(&self, v: ValueId) -> usize {
        self.circuit.ty(v).elements() as usize
    }

    /// An operation that applies to each component (or stored part) alone; public operands take
    /// part in each.
    fn linear(&self, op: &Op) -> Result<Held, IndexOutOfRange> {
        let operands = op.operands();
        let component = |pick: fn(&Rep) -> &Arc<Data>| {
            let args: Vec<Arg<'_>> = operands
                .iter()
                .map(|&v| match self.regs.get(v) {
                    Held::One(x) => (&**x, self.shape(v)),
                    Held::Rep(x) => (&**pick(x), self.shape(v)),
                })
                .collect();
            plain::eval(op, &args)
        };
        let first = component(|x| &x.first)?;
        if !operands.iter().any(|&v| self.hold(v) == Hold::Rep) {
            return Ok(Held::one(first));
        }
        Ok(Held::Rep(Rep::new(first, component(|x| &x.second)?)))
    }

    /// a + b and a - b.
    fn sum(&self, op: &Op, a: ValueId, b: ValueId) -> Held {
        // The holder of the result; the other operand is brought into its form.
        let (hold, n) = match (self.hold(a), self.hold(b)) {
            (Hold::Public, h) => (h, self.elements(b)),
            (h @ (Hold::Add3 | Hold::Add2), _) | (h, Hold::Public) => (h, self.elements(a)),
            (_, h) => (h, self.elements(b)),
        };
        let component = |second: bool| {
            let x = self.addend(a, hold, n, second);
            let y = self.addend(b, hold, n, second);
            let (sx, sy) = self.shapes(hold, (a, &x), (b, &y));
            match op {
                Op::Sub(..) => layout::sub(&x, &sx, &y, &sy).0,
                _ => layout::add(&x, &sx, &y, &sy).0,
            }
        };
        match hold {
            Hold::Rep => Held::Rep(Rep::new(component(false), component(true))),
            _ => Held::one(component(false)),
        }
    }

    /// What this party adds for operand `v` of a sum of n elements held as `hold`: its first or
    /// second component.
    fn addend(&self, v: ValueId, hold: Hold, n: usize, second: bool) -> Arc<Data> {
        let x = match self.regs.get(v) {
            Held::Rep(x) if second => return x.second.clone(),
            Held::Rep(x) => return x.first.clone(),
            Held::One(x) => x,
        };
        match (self.hold(v), hold) {
            (Hold::Dup, Hold::Add2) => Arc::new(self.by_one(x, n)),
            (Hold::Public, Hold::Rep) if self.has_x0(second) => x.clone(),
            (Hold::Public, Hold::Add3) if self.me == 0 => x.clone(),
            (Hold::Public, Hold::Rep | Hold::Add3) => Arc::new(Data::zeros(x.dom(), x.len())),
            (Hold::Public, Hold::Add2) => {
                let stored = n - shards(n)[self.me].len();
                let part = self.part(x, hold, n);
                let all = layout::broadcast(&part, &[part.len() as u64], &[stored as u64]);
                Arc::new(self.by_one(&all, n))
            }
            (Hold::Public, Hold::Own | Hold::Dup) => self.part(x, hold, n),
            _ => x.clone(),
        }
    }

    /// Shapes under which two addends or factors are aligned: their own, or one flat axis where
    /// this party stores a part of the tensor.
    fn shapes(&self, hold: Hold, a: (ValueId, &Data), b: (ValueId, &Data)) -> (Shape, Shape) {
        if matches!(hold, Hold::Own | Hold::Dup | Hold::Add2) {
            (vec![a.1.len() as u64], vec![b.1.len() as u64])
        } else {
            (self.shape(a.0).to_vec(), self.shape(b.0).to_vec())
        }
    }

    /// Whether this party's first (second) component is x_0.
    fn has_x0(&self, second: bool) -> bool {
        self.me == if second { 2 } else { 0 }
    }

    /// Of a stored part that r + 1 and r + 2 both know (n elements in all shards): the words where
    /// this party is r + 1, zeros where it is r + 2.
    fn by_one(&self, x: &Data, n: usize) -> Data {
        let (before, after) = complement(n, self.me);
        join(&x.slice(before), &Data::zeros(x.dom(), after.len()), self.me)
    }

    /// What this party would store of a public tensor that is held as `hold`, of n elements. A
    /// scalar stays one: it is repeated by alignment.
    fn part(&self, x: &Arc<Data>, hold: Hold, n: usize) -> Arc<Data> {
        let s = shards(n);
        match hold {
            _ if x.len() == 1 => x.clone(),
            Hold::Own => Arc::new(x.slice(s[self.me].clone())),
            Hold::Dup | Hold::Add2 => {
                let (before, after) = (&s[prev(self.me)], &s[next(self.me)]);
                Arc::new(join(&x.slice(before.clone()), &x.slice(after.clone()), self.me))
            }
            Hold::Public | Hold::Rep | Hold::Add3 => x.clone(),
        }
    }

    /// a * b, matrix product, convolution.
    fn product(&self, op: &Op, a: ValueId, b: ValueId) -> Result<Held, IndexOutOfRange> {
        if let (Held::Rep(x), Held::Rep(y)) = (self.regs.get(a), self.regs.get(b)) {
            return Ok(Held::one(self.cross(op, (x, self.shape(a)), (y, self.shape(b)))));
        }
        let (ha, hb) = (self.hold(a), self.hold(b));
        let split = [ha, hb].into_iter().find(|h| matches!(h, Hold::Own | Hold::Dup | Hold::Add2));
        let Some(hold) = split else {
            return self.linear(op);
        };
        let n = self.elements(if ha == Hold::Public { b } else { a });
        let factor = |v: ValueId, h: Hold| {
            let x = self.regs.one(v);
            if h == Hold::Public { self.part(x, hold, n) } else { x.clone() }
        };
        let (x, y) = (factor(a, ha), factor(b, hb));
        let (sx, sy) = self.shapes(hold, (a, &x), (b, &y));
        Ok(Held::one(layout::mul(&x, &sx, &y, &sy).0))
    }

    /// z_i of the product of two replicated tensors: x_i (y_i + y_{i+1}) + x_{i+1} y_i, or the same
    /// with the roles of x and y exchanged, whichever adds up the smaller tensor.
    fn cross(&self, op: &Op, (x, sx): (&Rep, &[u64]), (y, sy): (&Rep, &[u64])) -> Data {
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

    /// Of both components at once: the signs are expanded once.
    fn project(&self, x: ValueId, coin: ValueId, tests: u64) -> Held {
        let (shape, coin) = (self.shape(x), self.regs.one(coin).get_u128(0));
        match self.regs.get(x) {
            Held::One(x) => {
                let [sums] = plain::project([x], shape, coin, tests);
                Held::one(sums)
            }
            Held::Rep(x) => {
                let [first, second] = plain::project([&x.first, &x.second], shape, coin, tests);
                Held::Rep(Rep::new(first, second))
            }
        }
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
                let (before, after) = complement(self.elements(v), self.me);
                Held::one(join(&plus(&x.slice(before)), &x.slice(after), self.me))
            }
            (Held::One(x), _) => Held::One(plus(x)),
        }
    }

    /// a = x_r + x_{r+1} in this party's shard.
    fn own(&self, x: &Rep) -> Data {
        let shard = shards(x.first.len())[self.me].clone();
        let mut a = x.first.slice(shard.clone());
        a.add_assign(&x.second.slice(shard));
        a
    }

    /// b = x_{r+2} in the other shards: the second component where this party is r + 1, the first
    /// where it is r + 2.
    fn dup(&self, x: &Rep) -> Data {
        let s = shards(x.first.len());
        let one = x.second.slice(s[prev(self.me)].clone());
        join(&one, &x.first.slice(s[next(self.me)].clone()), self.me)
    }

    /// x_{r+1} where this party is r + 1, x_{r+2} + x_r where it is r + 2.
    fn as_add2(&self, x: &Rep) -> Data {
        let s = shards(x.first.len());
        let one = x.first.slice(s[prev(self.me)].clone());
        let mut two = x.first.slice(s[next(self.me)].clone());
        two.add_assign(&x.second.slice(s[next(self.me)].clone()));
        join(&one, &two, self.me)
    }

    /// x_{r+2} = d, the other components 0: (0, 0) in this party's own shard, (0, d) where it is
    /// r + 1, (d, 0) where it is r + 2.
    ///
    /// A public value is x_0, the other components 0.
    fn trivial(&self, v: ValueId) -> Rep {
        let n = self.elements(v);
        let d = self.regs.one(v);
        if self.circuit.ty(v).hold == Hold::Public {
            let component =
                |i: usize| if i == 0 { Data::clone(d) } else { Data::zeros(d.dom(), n) };
            return Rep::new(component(self.me), component(next(self.me)));
        }
        let s = shards(n);
        let zero = |r: usize| Data::zeros(d.dom(), s[r].len());
        let (one, two) = complement(n, self.me);
        let place = |part: Data, shard: usize| {
            let mut parts = [0, 1, 2].map(zero);
            parts[shard] = part;
            Data::concat(&[&parts[0], &parts[1], &parts[2]])
        };
        Rep::new(place(d.slice(two), next(self.me)), place(d.slice(one), prev(self.me)))
    }
}
