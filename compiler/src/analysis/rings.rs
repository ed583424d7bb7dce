//! Which ring each value is computed in: the smallest that holds it.
//!
//! A value that fits k bits may be computed modulo 2^k whatever its operands' size: narrowing a share
//! is local and exact. The other way, from a smaller ring to a larger one, takes the exact lift (2
//! rounds, [`crate::lower::t1::truncation::lift`]). So up to 64 bits a value is made in the largest ring that anybody
//! asks for; to 128 bits, only sums and layouts of inputs, constants and bits are.
//!
//! Counts take 8, 16 or 32 bits, reals 32, 64 or 128.

use crate::analysis::ranges::{Ranges, signed_bits};
use crate::graph::{Graph, NodeId, Op};
use crate::syntax::ast::Secrecy;
use crate::types::Elem;

/// The rings of a graph's values.
pub struct Rings {
    of: Vec<u32>,
    /// All values of 64 bits, whatever they need.
    fixed: Option<u32>,
}

/// Smallest ring width for a number of bits.
fn ring(bits: u32, least: u32) -> u32 {
    [8, 16, 32, 64, 128].into_iter().find(|&k| k >= bits && k >= least).unwrap_or(128)
}

/// Bits of a ring in which a value is truncated by `by` bits: the protocol takes -2^(k-2) <= x <= 2^(k-2) -
/// 2^by.
fn truncated(ranges: &Ranges, x: NodeId, by: u32) -> u32 {
    let (lo, hi) = ranges.raw[x.index()];
    signed_bits((lo, hi + f64::from(by).exp2())) + 1
}

/// Fraction bits of a reciprocal that make quotients exact enough, for a dividend and a divisor of so many bits
/// and so many fraction bits of the divisor ([`crate::lower::t1::elementary`]).
pub fn quotient_scale(dividend: u32, frac: u32, divisor: u32) -> u32 {
    (divisor + 21).min(dividend + frac)
}

/// Bits of the largest product of a dividend and a reciprocal, beyond what words of 128 bits hold.
fn excess(graph: &Graph, ranges: &Ranges, [x, y]: [NodeId; 2]) -> u32 {
    let frac = graph.ty(y).frac.unwrap_or(0);
    let (dividend, divisor) = (ranges.bits(x) - 1, ranges.bits(y) - 1);
    let (lo, hi) = ranges.raw[y.index()];
    let lowest = lo.max(-hi).max(1.0).log2().floor() as u32;
    let ratio = dividend.saturating_sub(lowest);
    (ratio + quotient_scale(dividend, frac, divisor.min(dividend + frac + 1))).saturating_sub(125)
}

impl Rings {
    /// Chooses; with `fixed` every value has that many bits. In family T2 (`dealer`) values that fit 32
    /// bits stay there until a product wants more: a lift takes one round and costs less than what is
    /// saved, all the more if values are pooled first.
    pub fn new(graph: &Graph, ranges: &Ranges, fixed: Option<u32>, dealer: bool) -> Rings {
        let mut rings = Rings { of: vec![fixed.unwrap_or(0); graph.len()], fixed };
        if fixed.is_some() {
            return rings;
        }
        let mut free: Vec<bool> = Vec::with_capacity(graph.len());
        for id in graph.ids() {
            let args = graph.args(id);
            let ok = |a: &NodeId| free[a.index()] || graph.ty(*a).elem == Elem::Bit;
            free.push(match graph.op(id) {
                Op::Input(_) | Op::Const(..) | Op::ToInt => true,
                _ if graph.ty(id).secrecy == Secrecy::Public => true,
                Op::Add
                | Op::Sub
                | Op::Neg
                | Op::Scale(_)
                | Op::Shift(_)
                | Op::DivPow2(_)
                | Op::MulPow2(_)
                | Op::Sum(_)
                | Op::Reshape(_)
                | Op::Transpose(_)
                | Op::Slice { .. }
                | Op::Broadcast(_)
                | Op::Concat(_) => args.iter().all(ok),
                Op::Gather { .. } => ok(&args[0]),
                _ => false,
            });
        }
        let mut asked = vec![0; graph.len()];
        for id in graph.ids().rev() {
            let elem = graph.ty(id).elem;
            if elem != Elem::Bit {
                let own = ring(ranges.bits(id), if elem == Elem::Int { 8 } else { 32 });
                // A lift from below 64 bits would cost two rounds: the operands are there in 64. And it takes
                // a value that leaves the ring's top bit unused.
                let lifts = dealer && ranges.bits(id) < own;
                let most = match free[id.index()] {
                    true => 128,
                    false if lifts && graph.ty(id).secrecy == Secrecy::Secret => own,
                    false => 64,
                };
                rings.of[id.index()] = own.max(asked[id.index()].min(most));
            }
            for (i, &a) in graph.args(id).iter().enumerate() {
                let k = rings.operand(graph, ranges, id, i);
                asked[a.index()] = asked[a.index()].max(k);
            }
        }
        rings
    }

    /// The ring of a node's value.
    pub fn of(&self, id: NodeId) -> u32 {
        self.of[id.index()]
    }

    /// The ring of all values, if it is not chosen for each.
    pub fn fixed(&self) -> Option<u32> {
        self.fixed
    }

    /// The ring in which a node reads its operand number `i`.
    pub fn operand(&self, graph: &Graph, ranges: &Ranges, id: NodeId, i: usize) -> u32 {
        if let Some(k) = self.fixed {
            return k;
        }
        match working(graph, ranges, id, i) {
            Working::Result => self.of(id),
            Working::Own => self.of(graph.args(id)[i]),
            Working::Bits { bits, least } => ring(bits, least),
            Working::Word { .. } => 64,
        }
    }

    /// Bits that a node's operands need in their ring, where that is more than the operands have.
    pub fn needed(graph: &Graph, ranges: &Ranges, id: NodeId) -> u32 {
        match working(graph, ranges, id, 0) {
            Working::Result | Working::Own => 0,
            Working::Bits { bits, .. } | Working::Word { bits } => bits,
        }
    }
}

/// Where a node works on an operand.
enum Working {
    /// In the ring of the result.
    Result,
    /// In the operand's own ring.
    Own,
    /// In the smallest ring of so many bits, and of at least `least`.
    Bits { bits: u32, least: u32 },
    /// In words of 64 bits. If `bits` is not 0, that many are needed.
    Word { bits: u32 },
}

fn working(graph: &Graph, ranges: &Ranges, id: NodeId, i: usize) -> Working {
    let args = graph.args(id);
    let bits = |bits, least| Working::Bits { bits, least };
    match graph.op(id) {
        Op::Trunc(by) => bits(truncated(ranges, args[0], *by), 32),
        Op::Lt | Op::Eq => bits(ranges.difference_bits(args[0], args[1]), 8),
        // z_y - z_j - 1 at least.
        Op::ArgMaxIs => bits(ranges.difference_bits(args[0], args[0]) + 1, 32),
        Op::Gate if i == 1 => bits(ranges.bits(args[1]), 8),
        Op::Saturate(_) => bits(ranges.bits(args[0]) + 1, 32),
        // No more than the values have.
        Op::Function(_) => Working::Word { bits: 0 },
        // Of 61 bits and a sign.
        Op::Div => match excess(graph, ranges, [args[0], args[1]]) {
            0 => Working::Word { bits: 0 },
            n => Working::Word { bits: 62 + n },
        },
        Op::Gather { .. } if i == 1 => Working::Own,
        Op::Input(_)
        | Op::Const(..)
        | Op::Committee { .. }
        | Op::Pairs { .. }
        | Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Neg
        | Op::Scale(_)
        | Op::Not
        | Op::And
        | Op::Xor
        | Op::ToInt
        | Op::Select
        | Op::Relu
        | Op::Gate
        | Op::Abs
        | Op::Sum(_)
        | Op::Max(_)
        | Op::Min(_)
        | Op::ArgMax
        | Op::Sort
        | Op::SortSum { .. }
        | Op::OneHot(_)
        | Op::MatMul { .. }
        | Op::Conv2d { .. }
        | Op::MaxPool { .. }
        | Op::Reshape(_)
        | Op::Transpose(_)
        | Op::Slice { .. }
        | Op::Concat(_)
        | Op::Broadcast(_)
        | Op::Gather { .. }
        | Op::Shift(_)
        | Op::DivPow2(_)
        | Op::MulPow2(_) => Working::Result,
    }
}
