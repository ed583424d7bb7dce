//! Truncation: x / 2^f, within one unit in the last place, always.
//!
//! **Functionality.** x in Z_2^64 with |x| < 2^62 - 2^f; the result is one of the two integers next to
//! x / 2^f, and x / 2^f itself if that is an integer. The mean is exactly x / 2^f. No failure
//! probability.
//!
//! **Protocol** (derived for this project, docs/src/protocols.md "Exact truncation"). x = a + b with
//! a known to one party and b to the other two. Let b' = b + 2^62 + 2^f - 1, so that a + b' mod 2^64
//! is s = x + 2^62 + 2^f - 1 in [0, 2^63). Then the sum of the integers a and b' exceeds 2^64 exactly
//! when not both top bits are 0: wrap = 1 - (not msb a)(not msb b'). So
//!
//! ```text
//! (a >> f) + (b' >> f) - 2^(64-f) wrap - 2^(62-f)  =  ceil(x / 2^f) - c,   c = carry out of the low
//!                                                     f bits of a + b'
//! ```
//!
//! If 2^f divides x, the low bits of s are all ones, which no sum with a carry can have: c = 0. If
//! not, c = 1 with probability ceil(x / 2^f) - x / 2^f over the uniform a: rounding is unbiased.
//! The product of the two top bits is needed only modulo 2^f, because it is multiplied by 2^(64-f).
//!
//! **Cost.** 2 rounds; 64 bits (input of a >> f) + k' (deal) by the party that knows a, k' by each of
//! the other two (exchange), k' the ring of at least f bits: 112 bits in all for f = 16.
//!
//! **Simulation.** Every message is one of `input`, `deal`, `reshare_two`, each uniform to its receiver;
//! nothing is opened.

use super::Emit;
use slvr_circuit::low_mask;
use slvr_circuit::{Op, ValueId};

/// Smallest ring width that holds `bits` bits.
pub fn ring_for(bits: u32) -> u32 {
    [8, 16, 32, 64, 128].into_iter().find(|&k| k >= bits).unwrap_or(128)
}

/// A replicated value truncated by `f` bits, 0 < f < 62.
pub fn exact(e: &mut Emit, x: ValueId, f: u32) -> ValueId {
    let k = e.ty(x).bits();
    let small = ring_for(f);
    let a = e.add(Op::Own(x));
    let b = e.add(Op::Dup(x));
    let b = e.add(Op::Offset(b, (1 << (k - 2)) + (1 << f) - 1));

    let high = e.add(Op::Shr(a, f));
    let high_a = e.add(Op::Input(high));
    let high = e.add(Op::Shr(b, f));
    let high_b = e.add(Op::Trivial(high));

    let u = not_top(e, a, k, small);
    let v = not_top(e, b, k, small);
    let u = e.add(Op::Deal(u));
    let both = e.add(Op::Mul(u, v));
    let both = e.add(Op::ReshareTwo(both));
    // 2^(k-f) (both - 1): raising to k bits multiplies by 2^(k-small).
    let both = e.add(Op::Raise(both, k));
    let both = if small > f { e.add(Op::Scale(both, 1 << (small - f))) } else { both };

    let sum = e.add(Op::Add(high_a, high_b));
    let sum = e.add(Op::Add(sum, both));
    let constant = 0u128.wrapping_sub(1 << (k - f)).wrapping_sub(1 << (k - 2 - f)) & low_mask(k);
    e.add(Op::Offset(sum, constant))
}

/// What one party and what the other two know of the result of [`exact`], right modulo 2^(k-f): what is above
/// needs the wrap, and two rounds. Local.
pub fn low(e: &mut Emit, x: ValueId, f: u32) -> (ValueId, ValueId) {
    let k = e.ty(x).bits();
    let (a, b) = (e.add(Op::Own(x)), e.add(Op::Dup(x)));
    let b = e.add(Op::Offset(b, (1 << (k - 2)) + (1 << f) - 1));
    let (a, b) = (e.add(Op::Shr(a, f)), e.add(Op::Shr(b, f)));
    let minus = 0u128.wrapping_sub(1 << (k - 2 - f)) & low_mask(k);
    (a, e.add(Op::Offset(b, minus)))
}

/// Complement of the top bit as a word.
fn not_top(e: &mut Emit, x: ValueId, k: u32, ring: u32) -> ValueId {
    let top = e.add(Op::ToBits { x, lo: k - 1, w: 1 });
    let top = e.add(Op::Not(top));
    e.add(Op::FromBits(top, ring))
}

/// A public value truncated by `f` bits, to the nearest. Local.
pub fn public(e: &mut Emit, x: ValueId, f: u32) -> ValueId {
    let k = e.ty(x).bits();
    let lifted = e.add(Op::Offset(x, (1 << (k - 2)) + (1 << (f - 1))));
    let high = e.add(Op::Shr(lifted, f));
    e.add(Op::Offset(high, 0u128.wrapping_sub(1 << (k - 2 - f)) & low_mask(k)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::Emit;
    use slvr_circuit::{Circuit, Dom, Encoding, From, Input, Layer, PartySet};
    use slvr_ring::Data;
    use slvr_runtime::clear;

    /// A circuit that truncates one public-shaped vector, all in the clear.
    fn truncate(xs: &[i64], f: u32, seed: u64) -> Vec<i64> {
        let mut e = Emit::default();
        let n = xs.len() as u64;
        let x = e.input(true, Dom::Ring(64), vec![1, n]);
        let y = exact(&mut e, x, f);
        // One layer per instruction: layers do not matter in the clear.
        let layers = e.instrs.iter().map(|i| {
            let mut layer = Layer::default();
            let to = if i.op.is_interactive() { &mut layer.exchange } else { &mut layer.local };
            to.push(i.clone());
            layer
        });
        let circuit = Circuit {
            name: "T".into(),
            sizes: vec![],
            parties: vec![PartySet { name: "Client".into(), size: 1 }],
            inputs: vec![Input {
                name: "x".into(),
                from: From::Each(0),
                encoding: Encoding::Fixed {
                    frac: 0,
                    lo: -1.0,
                    hi: 1.0,
                    shift: 0,
                    norm: f64::INFINITY,
                },
                shape: vec![n],
                fields: vec![],
                value: x,
            }],
            consts: vec![],
            types: e.types.clone(),
            sites: vec![slvr_circuit::Site { name: "t".into(), line: 0 }],
            layers: layers.collect(),
            outputs: vec![],
            checks: vec![],
        };
        let words: Vec<u128> = xs.iter().map(|&x| u128::from(x as u64)).collect();
        let options = clear::Options { seed, trace: true, ..clear::Options::default() };
        let data = Data::from_u128s(Dom::Ring(64), &words);
        let done = clear::evaluate(&circuit, vec![data], &options).expect("well formed");
        let y = done.trace[y.index()].as_ref().expect("defined");
        y.to_u128s().into_iter().map(|w| w as u64 as i64).collect()
    }

    #[test]
    fn error_is_below_one_unit_and_exact_values_stay_exact() {
        let edge = (1i64 << 62) - (1 << 34);
        for f in [1, 7, 16, 18, 34] {
            let unit = 1i64 << f;
            let mut xs =
                vec![0, 1, -1, unit, -unit, unit - 1, 1 - unit, edge, -edge, 7 * unit, -3 * unit];
            let mut x = 1i64;
            for _ in 0..4000 {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                xs.push(x >> (2 + (x & 31)));
            }
            for seed in 0..4 {
                for (&x, y) in xs.iter().zip(truncate(&xs, f, seed)) {
                    let floor = x >> f;
                    let ceil = floor + i64::from(x & (unit - 1) != 0);
                    assert!(y == floor || y == ceil, "{x} >> {f} gave {y} with seed {seed}");
                }
            }
        }
    }

    #[test]
    fn rounding_is_unbiased() {
        // 3/4 of a unit: up three times in four. 4000 copies, standard deviation 0.007.
        let xs = vec![3 << 14; 4000];
        let ups: i64 = truncate(&xs, 16, 1).iter().sum();
        assert!((2800..3200).contains(&ups), "{ups} of 4000 up");
    }
}
