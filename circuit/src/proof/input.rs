//! What an owner inputs: the function of replicated values that it is.

use crate::ValueId;
use std::ops::Range;

/// What an owner inputs, as a function of replicated values of which it knows two components. p and q are the
/// first and the second one, and a = p + q is its part of the split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Own {
    Bits(Bits),
    /// The thermometer code T of a number in blocks of bits: bit j of a block is the sum of all T_v with v a
    /// multiple of 2^j, and T_(h+v) = T_h (T_v + T_h + T_(h+v)) for each power h of two and v below it, first
    /// of the whole code and then of the code of the lower bits that T_v + T_h + T_(h+v) is.
    Thermometer(Bits, Vec<u32>),
    /// One bit as a word: b1 + b2 - 2 b1 b2.
    Word(Bits),
    /// The part a of x without its lowest bits, as an integer: (p >> shift) + (q >> shift) + c_shift -
    /// 2^(k - shift) c_k, with c_j the carry of p + q into bit j.
    High {
        /// The replicated value, of k bits.
        x: ValueId,
        /// How many bits are dropped.
        shift: u32,
        /// Whether the result has bits that c_k reaches.
        wraps: bool,
    },
    /// A bit of one number and a bit of another, of each pair: u1 p + u1 q + u2 p + u2 q.
    And(Bits, Bits),
    /// The product of the parts a of two replicated values u and x over words (of u, all of it where the owner inputs
    /// it by itself): u1 p + u1 q + u2 p + u2 q.
    Times {
        /// One value.
        u: ValueId,
        /// The replicated value.
        x: ValueId,
    },
}

/// Bits of an owner, each the xor of a bit of V1 and a bit of V2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bits {
    /// The part a of replicated bits.
    Part(ValueId),
    /// Bits lo .. lo + w of the part a of a replicated word: p_j + q_j + c_j.
    OfWord {
        /// The replicated value.
        x: ValueId,
        /// First bit.
        lo: u32,
        /// Number of bits.
        w: u32,
    },
    /// Complements.
    Not(Box<Bits>),
    /// Some planes.
    Select(Box<Bits>, Vec<u32>),
}

impl Own {
    /// Products of each element, of what is input as words.
    pub fn terms(&self) -> usize {
        match self {
            Own::Bits(_) | Own::Thermometer(..) => 0,
            Own::Word(_) => 1,
            Own::High { shift, wraps, .. } => usize::from(*shift > 0) + usize::from(*wraps),
            Own::And(..) | Own::Times { .. } => 2,
        }
    }
}

impl Bits {
    /// The replicated words of whose parts it reads bits, with these.
    pub fn carries(&self, each: &mut dyn FnMut(ValueId, Range<u32>)) {
        match self {
            Bits::Part(_) => {}
            Bits::OfWord { x, lo, w } => each(*x, *lo..lo + w),
            Bits::Not(b) | Bits::Select(b, _) => b.carries(each),
        }
    }

    /// The replicated values that it reads.
    pub fn values(&self, each: &mut dyn FnMut(ValueId)) {
        match self {
            Bits::Part(x) | Bits::OfWord { x, .. } => each(*x),
            Bits::Not(b) | Bits::Select(b, _) => b.values(each),
        }
    }
}

/// Of the thermometer codes of blocks the planes T_h, those of T_v and those of T_(h+v) of each product
/// ([`Own::Thermometer`]): a code of a block stands at its first plane, T_1 first. Each is a sum of planes.
pub fn steps(blocks: &[u32]) -> Vec<[Vec<u32>; 3]> {
    let sum = |parts: [&Vec<u32>; 3]| {
        let mut all: Vec<u32> = parts.into_iter().flatten().copied().collect();
        all.sort_unstable();
        // What stands twice adds up to 0.
        all.chunk_by(|a, b| a == b).filter(|c| c.len() % 2 == 1).map(|c| c[0]).collect::<Vec<_>>()
    };
    let mut out = Vec::new();
    let mut first = 0;
    for &b in blocks {
        let all = (1u32 << b) - 1;
        let mut code: Vec<Vec<u32>> = (0..all).map(|i| vec![first + i]).collect();
        for j in (1..b).rev() {
            let h = 1usize << j;
            let top = code[h - 1].clone();
            let mut lower = Vec::new();
            for v in 1..h {
                let next = sum([&code[v - 1], &top, &code[h + v - 1]]);
                out.push([top.clone(), next.clone(), code[h + v - 1].clone()]);
                lower.push(next);
            }
            code = lower;
        }
        first += all;
    }
    out
}

/// The planes of thermometer codes whose sum is a bit of the number, for each bit of each block.
pub fn code_bits(blocks: &[u32]) -> Vec<Vec<u32>> {
    let mut first = 0;
    let mut out = Vec::new();
    for &b in blocks {
        let all = (1u32 << b) - 1;
        out.extend(
            (0..b)
                .map(|j| (1..=all).filter(|v| v % (1 << j) == 0).map(|v| first + v - 1).collect()),
        );
        first += all;
    }
    out
}
