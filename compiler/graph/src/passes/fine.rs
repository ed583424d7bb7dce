//! Scales of products, quotients and roots of which precision is wanted ([`super::precision`]).
//!
//! They keep the fraction bits that a word holds, by the declared ranges ([`super::scaling`] has the limits):
//!
//! - A **product** stays untruncated where it fits. Where it does not, a result that is small beside its operands
//!   (a squared norm) is truncated by as few bits as it takes; else the factor with fewer entries is.
//! - A **root** of y with 2 s + 16 fraction bits is 2^-s times the root of y 2^(2 s), which has 16: the protocol
//!   is the one for 16 fraction bits, and the result has s more.
//! - A **reciprocal of a root** has as many more as the root takes off. Of an operand that is not known to be positive by
//!   enough units it is taken in two steps.
//! - A **reciprocal** of more than 18 fraction bits is the quotient of 1.
//! - A **cosine** is cut at 1 on both sides: its quotient is anything where a norm is rounded to 0.
//! - A **quotient** of x and y is that of x 2^s and y 2^s. The dividend's fraction bits are the quotient's; a
//!   divisor that may be large takes as many bits off, so the dividend gets them before. The end of quotients, 2^31,
//!   stays within a word.

use super::inverse::Part;
use super::scaling::{FINE_LIMIT, FRACTION, ROOM, Scales, beyond, room_for};
use crate::analysis::cuts::is_at_one;
use crate::graph::{Function, Graph, NodeId, Op, ScaleRule, Table};
use slvr_language::types::Elem;

/// The fewest fraction bits to which one factor alone is truncated.
const FEWEST: u32 = 20;
/// A product is small beside its operands if they have so many times as many entries.
const SMALL: u64 = 16;
/// Fraction bits of a quotient: with its end, 2^31, a word of 61 bits.
const QUOTIENT: u32 = 28;
/// Fraction bits for which there is a protocol of reciprocals alone: 60 less two and twice as many are at least 20.
const RECIP: u32 = 18;
/// Bits that a dividend gets for the rounding of the quotient.
const ROUNDING: u32 = 4;
/// What is at least so many units stays positive, and keeps its size, however its parts are rounded.
const UNITS: f64 = 64.0;
/// Bits of a truncated factor on its way to a comparison, without its sign: a word of 32 bits has room for a carry.
const SHORT: f64 = 28.0;
/// Raw dividends, divisors and operands of roots are below this.
const OPERAND: f64 = 2.1e18;
/// Bits of the product of a dividend and a reciprocal.
const PRODUCT: u32 = 123;
/// Bits that a reciprocal has more than its divisor.
const RECIPROCAL: u32 = 21;
/// Dividends of which both sides of a quotient are scaled are below this: 2^8 below the end of quotients, for what is
/// enforced of long vectors is more than their declared range.
const END: f64 = (1u64 << 23) as f64;
/// Of what fits 64 bits in no way.
const WIDE: f64 = (1u128 << 116) as f64;

impl Scales<'_> {
    /// A value of which precision is wanted, or on the way to the reciprocal of a root, where these have another rule.
    pub(super) fn fine_node(&mut self, old: &Graph, id: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let (part, fine) = (self.part, self.is_fine());
        Some(match old.op(id) {
            op if fine && op.facts().scale == ScaleRule::Product => {
                self.fine_product(op.clone(), [args[0], args[1]])
            }
            Op::Div if fine => self.fine_quotient(args[0], args[1], cut_at_one(old, id)),
            Op::Function(Function::Sqrt) if fine => self.fine_root(args[0]),
            Op::Function(Function::Recip) if fine => self.fine_reciprocal(args[0]),
            Op::Function(Function::RecipSqrt) => self.inverse_root(args[0]),
            Op::Relu if part == Some(Part::Variance) => self.add(Op::Gate, &[args[0], args[0]]),
            Op::Add if self.noise_of(args).is_none() => match part {
                Some(Part::Sum(wanted)) => self.sum_below_root(args, wanted),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// A product that keeps the bits that fit.
    fn fine_product(&mut self, op: Op, args: [NodeId; 2]) -> NodeId {
        let [a, b] = args;
        let (size, frac) = (self.product_size(&op, args), self.frac(a) + self.frac(b));
        let raw = |frac: u32| size * f64::from(frac).exp2();
        let room = match raw(2 * FRACTION) {
            most if most > ROOM => WIDE,
            // What fits a short word stays in one.
            most if self.short && most <= SHORT.exp2() => SHORT.exp2(),
            _ => ROOM,
        };
        let most = beyond(raw(frac), room).max(frac.saturating_sub(FINE_LIMIT));
        if most == 0 {
            return self.add(op, &args);
        }
        let operands = self.g.elements(a) + self.g.elements(b);
        if frac <= FINE_LIMIT && frac >= self.fine + most {
            let whole = self.add(op.clone(), &args);
            if SMALL * self.g.elements(whole) <= operands {
                return self.truncate_to(whole, frac - most);
            }
        }
        let (few, many) = if self.g.elements(a) <= self.g.elements(b) { (a, b) } else { (b, a) };
        let (f, m) = (self.frac(few), self.frac(many));
        let left = (f + m).saturating_sub(most);
        let (f, m) = match self.short {
            true => {
                let f = f.min(self.in_short_word(few));
                (f, if f + m > left { m.min(self.in_short_word(many)) } else { m })
            }
            false => (f, m),
        };
        let most = (f + m).saturating_sub(left);
        // The one with fewer entries loses all, or both lose down to the same.
        let (f, m) = match left / 2 {
            _ if f >= FEWEST + most || most == 0 => (f - most, m),
            each if f <= each => (f, left - f),
            each if m <= each => (left - m, m),
            each => (each, left - each),
        };
        let cut = |s: &mut Self, id: NodeId| {
            let to = if id == few { f } else { m };
            if s.g.ty(id).elem == Elem::Fix { s.at_most_to(id, to.max(FRACTION)) } else { id }
        };
        let args = [cut(self, a), cut(self, b)];
        self.add(op, &args)
    }

    /// Fraction bits with which a value fits a word of 32 bits.
    fn in_short_word(&mut self, id: NodeId) -> u32 {
        let whole = self.sizes.of(self.g, id).log2().ceil();
        (SHORT - whole).clamp(f64::from(FRACTION), f64::from(FINE_LIMIT)) as u32
    }

    /// The largest absolute value of a product.
    fn product_size(&mut self, op: &Op, [a, b]: [NodeId; 2]) -> f64 {
        let terms: u64 = match op {
            Op::MatMul { .. } => self.g.shape(a).iter().skip(2).product(),
            Op::Conv2d(_) => self.g.shape(b).iter().skip(2).product(),
            _ => 1,
        };
        let own = self.sizes.of(self.g, a) * self.sizes.of(self.g, b) * terms as f64;
        self.sizes.normalised(self.g, op, [a, b]).map_or(own, |n| n.min(own))
    }

    /// A value whose raw words functions take.
    fn operand(&mut self, id: NodeId) -> NodeId {
        let most = beyond(self.raw(id), OPERAND);
        self.at_most_to(id, self.frac(id).saturating_sub(most).max(FRACTION))
    }

    /// The same value with at least so many fraction bits, as far as a word holds them.
    fn at_least(&mut self, id: NodeId, frac: u32) -> NodeId {
        let to = frac.min(self.frac(id) + room_for(self.raw(id), OPERAND)).max(FRACTION);
        if self.frac(id) < to { self.raise(id, to) } else { id }
    }

    /// A variance and what is added to it, with the fraction bits that this wants, as far as a word holds them.
    fn sum_below_root(&mut self, args: &[NodeId], wanted: u32) -> NodeId {
        let size = args.iter().map(|&a| self.sizes.of(self.g, a)).sum::<f64>();
        let to = room_for(size, OPERAND).min(wanted).max(FRACTION);
        let to = |s: &mut Self, a: NodeId| {
            let a = s.at_most_to(a, to);
            s.raise(a, to)
        };
        let args = [to(self, args[0]), to(self, args[1])];
        self.add(Op::Add, &args)
    }

    fn fine_root(&mut self, y: NodeId) -> NodeId {
        let y = self.operand(y);
        let root = Op::Function(Function::Sqrt);
        let s = self.frac(y).saturating_sub(FRACTION) / 2;
        if s == 0 {
            let y = self.at_least(y, FRACTION);
            return self.add(root, &[y]);
        }
        let y = self.add(Op::MulPow2(2 * s), &[y]);
        let root = self.add(root, &[y]);
        self.add(Op::DivPow2(s), &[root])
    }

    /// 1 / sqrt y, with as many more fraction bits as the largest root takes off. Of y 2^(2 s), which has 2 s fewer, it is
    /// 2^s times too small, which are s fewer again: so nothing is truncated. What may be 0 in a run, or is too near to it
    /// for its fraction bits, is a root and a reciprocal, which saturate where they do.
    fn inverse_root(&mut self, y: NodeId) -> NodeId {
        let y = self.operand(y);
        let taken = beyond(self.sizes.of(self.g, y), 1.0).div_ceil(2);
        let wanted = (self.fine + taken.max(ROUNDING)).min(QUOTIENT);
        let raised = self.at_least(y, wanted);
        let least = self.sizes.least_sum(self.g, raised);
        if least * f64::from(self.frac(raised)).exp2() < UNITS {
            let root = self.fine_root(y);
            return self.fine_reciprocal(root);
        }
        let root = Op::Function(Function::RecipSqrt);
        match self.frac(raised).saturating_sub(wanted) / 3 {
            0 => self.add(root, &[raised]),
            s => {
                let y = self.add(Op::MulPow2(2 * s), &[raised]);
                let root = self.add(root, &[y]);
                self.add(Op::MulPow2(s), &[root])
            }
        }
    }

    /// x / y; `unit` if all that reads it cuts it at 1.
    fn fine_quotient(&mut self, x: NodeId, y: NodeId, unit: bool) -> NodeId {
        let most = beyond(self.raw(y), OPERAND);
        let least = self.frac(y).saturating_sub(most).max(FRACTION);
        let (x, y) = self.reweighted(x, y, least).unwrap_or((x, y));
        let (x, y) = (self.operand(x), self.operand(y));
        let (x, y) = self.dividable(x, y);
        // A quotient by less than 1 is cut at its end, and one by more is not: it is below the end either way.
        let small = if unit { u32::MAX } else { room_for(self.sizes.of(self.g, x), END) };
        let s = self.frac(x).saturating_sub(QUOTIENT).min(self.frac(y)).min(small);
        let x = self.at_most_to(x, QUOTIENT + s);
        // What the divisor takes off; a count takes off little.
        let taken = match self.g.ty(y).elem {
            Elem::Fix => beyond(self.sizes.of(self.g, y), 1.0).min(QUOTIENT),
            Elem::Int | Elem::Bit => 0,
        };
        let (x, y) = match s {
            0 => (x, y),
            s => (self.add(Op::MulPow2(s), &[x]), self.add(Op::MulPow2(s), &[y])),
        };
        let x = self.at_least(x, (self.fine + taken.max(ROUNDING)).min(QUOTIENT));
        // Near a norm of 0 a run's cosine may be anything; a pass before has cut it at 1.
        self.add(Op::Div, &[x, y])
    }

    /// Operands of which the dividend's product with the reciprocal fits a word of 128 bits: both lose as much.
    fn dividable(&mut self, x: NodeId, y: NodeId) -> (NodeId, NodeId) {
        let bits = |s: &mut Self, id: NodeId| beyond(s.raw(id), 1.0);
        let (dividend, divisor) = (bits(self, x), bits(self, y));
        let reciprocal = (divisor + RECIPROCAL).min(dividend + self.frac(y));
        let each = (dividend + reciprocal).saturating_sub(PRODUCT).div_ceil(2);
        let to = |s: &Self, id: NodeId| match s.frac(id) {
            frac if each > 0 && frac > s.fine => (frac - each.min(frac)).max(s.fine),
            frac => frac,
        };
        let (dividend, divisor) = (to(self, x), to(self, y));
        let (x, y) = self.reweighted(x, y, divisor).unwrap_or((x, y));
        (self.at_most_to(x, dividend), self.at_most_to(y, divisor))
    }

    fn fine_reciprocal(&mut self, y: NodeId) -> NodeId {
        if self.frac(y) <= RECIP {
            let y = self.operand(y);
            let y = self.at_least(y, FRACTION);
            return self.add(Op::Function(Function::Recip), &[y]);
        }
        let ones = Table::splat(1.0, vec![1; self.g.shape(y).len()]);
        let one = self.add(Op::Const(ones, Elem::Fix, Some(FRACTION)), &[]);
        self.fine_quotient(one, y, false)
    }
}

/// Whether all that reads a quotient cuts it at 1.
fn cut_at_one(g: &Graph, id: NodeId) -> bool {
    let users = g.users(id);
    let cuts = |&u: &NodeId| match g.op(u) {
        op if is_at_one(op) => true,
        Op::Relu => cut_at_one(g, u),
        _ => false,
    };
    !g.is_output(id) && !users.is_empty() && users.iter().all(cuts)
}
