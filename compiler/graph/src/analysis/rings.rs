//! Which ring each value is computed in: the smallest that holds it.
//!
//! A value that fits k bits may be computed modulo 2^k whatever its operands' size: narrowing a share is local and
//! exact. The other way, from a smaller ring to a larger one, takes the exact lift (2 rounds,
//! `slvr_backend::lower::t1::truncation::lift`). So up to 64 bits a value is made in the largest ring that anybody asks
//! for; to 128 bits, only sums and layouts of inputs, constants and bits are.
//!
//! Counts take 8 bits or more, reals 32 or more, each a power of two up to 128.

use crate::analysis::interval::{Interval, hull, negated};
use crate::analysis::ranges::{Ranges, signed_bits};
use crate::graph::{Graph, NodeId, Op, Talk};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;

/// The rings of a graph's values.
pub struct Rings {
    of: Vec<u32>,
    /// The bits of every value, if all have as many.
    fixed: Option<u32>,
}

/// Words of a state between rounds.
pub const STORED: u32 = 64;

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

/// Bits in which a value is compared with both ends at which it is cut.
fn saturated(graph: &Graph, ranges: &Ranges, x: NodeId, top: u32) -> u32 {
    ranges.beside_ends(x, f64::from(top + graph.frac_of(x)).exp2())
}

/// Bits of the largest number that a quotient goes through in words of 128 bits: it is truncated, or cut at both ends.
const QUOTIENT_ROOM: u32 = 124;

/// Bits, without a sign, of every number of an interval and of its negative.
pub fn size_bits((lo, hi): Interval) -> u32 {
    signed_bits(hull((lo, hi), negated((lo, hi)))) - 1
}

/// The lowest position that the top bit of a number of an interval, or of its negative, can have; 0 of 0.
fn lowest_bit((lo, hi): Interval) -> u32 {
    (lo.max(-hi).max(1.0) as u64).ilog2()
}

/// Fraction bits of a reciprocal that make quotients exact enough, for a dividend and a divisor of so many bits
/// and so many fraction bits of the divisor (`slvr_backend::lower::common::elementary`).
pub fn quotient_scale(dividend: u32, frac: u32, divisor: u32) -> u32 {
    (divisor + 21).min(dividend + frac)
}

/// Bits of the largest product of a dividend and a reciprocal, or of the quotient before it is cut, beyond what words
/// of 128 bits hold.
fn excess(graph: &Graph, ranges: &Ranges, [x, y]: [NodeId; 2]) -> u32 {
    let frac = graph.frac_of(y);
    let [dividend, divisor] = [x, y].map(|id| size_bits(ranges.raw[id.index()]));
    let ratio = dividend.saturating_sub(lowest_bit(ranges.raw[y.index()]));
    let scale = quotient_scale(dividend, frac, divisor.min(dividend + frac + 1));
    (ratio + scale.max(frac)).saturating_sub(QUOTIENT_ROOM)
}

/// Whether a gate is lowered together with the [`Op::Saturate`] that alone reads it: that one's edge is 2^(its number).
fn edge(graph: &Graph, gate: NodeId) -> Option<u32> {
    match graph.op(graph.only_user(gate)?) {
        Op::Saturate(top) if *graph.op(gate) == Op::Gate => Some(*top),
        _ => None,
    }
}

/// Of a gate's value and condition the one whose sign is cheaper: the value, if it was truncated from the condition. It
/// has the condition's sign or is 0, so its own sign keeps it wherever the condition's does. It has fewer bits, and they
/// are there as early. An edge is one for both.
pub fn cheaper_sign(graph: &Graph, value: NodeId, condition: NodeId) -> NodeId {
    let truncated = matches!(graph.op(value), Op::Trunc(_)) && graph.arg(value, 0) == condition;
    if truncated { value } else { condition }
}

/// Bits that hold a number and its difference to an edge of 2^top in real units.
pub fn bits_to_edge(graph: &Graph, ranges: &Ranges, x: NodeId, top: u32) -> u32 {
    let edge = f64::from(top + graph.frac_of(x)).exp2();
    let (lo, hi) = ranges.raw[x.index()];
    signed_bits((lo.min(lo - edge), hi.max(hi - edge)))
}

/// Of a gate that nothing but a saturation reads, the number that is compared with 0 and with the edge, and the bits
/// that both comparisons take: these may be more than the number has.
pub fn compared(graph: &Graph, ranges: &Ranges, gate: NodeId) -> Option<(NodeId, u32)> {
    let top = edge(graph, gate)?;
    let x = cheaper_sign(graph, graph.arg(gate, 0), graph.arg(gate, 1));
    Some((x, bits_to_edge(graph, ranges, x, top)))
}

impl Rings {
    /// Chooses; with `fixed` every value has that many bits. In family T2, and against a malicious party (`dealer`),
    /// values that fit 32 bits stay there until a product wants more: a lift takes one round and costs less than what
    /// is saved, all the more if values are pooled first.
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
                op => op.facts().talk == Talk::Never && args.iter().all(ok),
            });
        }
        let mut asked = vec![0; graph.len()];
        // What is kept is stored in words of 64 bits.
        for o in graph.outputs.iter().filter(|o| o.state.is_some()) {
            asked[o.node.index()] = STORED;
        }
        for id in graph.ids().rev() {
            let elem = graph.ty(id).elem;
            if elem != Elem::Bit {
                let least = if elem == Elem::Int { 8 } else { 32 };
                let own = ring(ranges.bits(id), least);
                // A lift takes a value that leaves the ring's top bit unused.
                let own = match asked[id.index()] > 64 && own == 64 {
                    true => ring(ranges.bits(id) + 1, least),
                    false => own,
                };
                // A lift from below 64 bits would cost two rounds: the operands are there in 64.
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
            if let Some((x, bits)) = compared(graph, ranges, id) {
                asked[x.index()] = asked[x.index()].max(ring(bits, 8));
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
            Working::Own => self.of(graph.arg(id, i)),
            Working::Bits { bits, least } => ring(bits, least),
            Working::Word { .. } => 64,
        }
    }

    /// Bits that a node's operands need in their ring, where that is more than the operands have.
    pub fn needed(graph: &Graph, ranges: &Ranges, id: NodeId) -> u32 {
        if let Some((_, bits)) = compared(graph, ranges, id) {
            return bits;
        }
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
    let arg = |i| graph.arg(id, i);
    let bits = |bits, least| Working::Bits { bits, least };
    match graph.op(id) {
        Op::Trunc(by) => bits(truncated(ranges, arg(0), *by), 32),
        Op::Lt | Op::Eq => bits(ranges.difference_bits(arg(0), arg(1)), 8),
        // z_y - z_j - 1 at least.
        Op::ArgMaxIs => bits(ranges.difference_bits(arg(0), arg(0)) + 1, 32),
        Op::Gate if i == 1 => bits(ranges.bits(arg(1)), 8),
        Op::Saturate(top) => bits(saturated(graph, ranges, arg(0), *top), 32),
        // No more than the values have.
        Op::Function(_) => Working::Word { bits: 0 },
        // Of 61 bits and a sign.
        Op::Div => match excess(graph, ranges, [arg(0), arg(1)]) {
            0 => Working::Word { bits: 0 },
            n => Working::Word { bits: 62 + n },
        },
        Op::Gather { .. } if i == 1 => Working::Own,
        Op::Places(_) => bits(ranges.bits(arg(0)).max(ranges.bits(id)), 8),
        _ => Working::Result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ranges::Bound;
    use crate::analysis::stated::TESTED;
    use crate::graph::text::parse;

    /// A lift to a larger ring is exact for values that leave the top bit of their ring unused: whatever the range, no
    /// other value is read in a larger ring than it has.
    #[test]
    fn what_is_lifted_leaves_its_top_bit_unused() {
        let text = "graph T\nparties Client[2]\nparties Server[1]\nfrac 16\n\
            input 0 x : secret fix[3] in -8..8 from each Client\nsite 0 \"x\" line 1\n\
            %0 = input 0 : secret fix.16[2,3] @0\n%1 = mul %0 %0 : secret fix.32[2,3] @0\n\
            %2 = trunc %1 by=16 : secret fix.16[2,3] @0\n\
            %3 = mul %1 %2 : secret fix.48[2,3] @0\n\
            reveal %2 to Server as y @0\nreveal %3 to Server as z @0\n";
        let compares = "graph T\nparties Client[2]\nparties Server[1]\nfrac 16\n\
            input 0 x : secret fix[3] in -8..8 from each Client\nsite 0 \"x\" line 1\n\
            %0 = input 0 : secret fix.16[2,3] @0\n%1 = mul %0 %0 : secret fix.32[2,3] @0\n\
            %2 = trunc %1 by=16 : secret fix.16[2,3] @0\n%3 = gate %2 %1 : secret fix.16[2,3] @0\n\
            %4 = saturate %3 top=6 : secret fix.16[2,3] @0\nreveal %4 to Server as y @0\n";
        let mut lifts = 0;
        let halves = (20..64u32).flat_map(|h| [(h, false), (h, true)]);
        for ((half, dealer), text) in halves.flat_map(|h| [(h, text), (h, compares)]) {
            let graph = parse(text).expect("a graph");
            let most = (f64::from(half) / 2.0).exp2().floor();
            let free = f64::INFINITY;
            let bound = Bound { range: (-most, most), norm: free, total: free };
            let ranges = Ranges::of(&graph, &[bound], &TESTED);
            let rings = Rings::new(&graph, &ranges, None, dealer);
            let reads = graph.ids().flat_map(|id| (0..graph.args(id).len()).map(move |i| (id, i)));
            let reads = reads
                .map(|(id, i)| (graph.arg(id, i), rings.operand(&graph, &ranges, id, i)))
                .filter(|(arg, _)| graph.ty(*arg).elem != Elem::Bit);
            let compared = graph.ids().filter_map(|id| compared(&graph, &ranges, id));
            for (arg, k) in reads.chain(compared.map(|(x, bits)| (x, ring(bits, 8)))) {
                let bits = ranges.bits(arg);
                if k > rings.of(arg) {
                    lifts += 1;
                    assert!(bits < rings.of(arg), "2^{half}: {bits} bits are read in {k}");
                }
            }
        }
        assert!(lifts > 0, "nothing was lifted");
    }
}
