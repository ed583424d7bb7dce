//! The arithmetic of family T1 for [`common::elementary`](crate::lower::common::elementary).
//!
//! | function, 16 fraction bits, operands of 47 bits | rounds | bits in all |
//! |---|---|---|
//! | `recip` | 34 | 8545 |
//! | `divide` | 47 | 20489 |
//! | `sqrt`, `recip_sqrt` | 34 | 8979 |
//! | `log` | 31 | 8691 |
//!
//! One round less for the third and fourth if the operand cannot be negative, two for the first. Position and carry
//! cost ceil(log2) of the number of bits each, and a product of 128 bits four rounds more.

use super::saturation::Ends;
use super::{bits, comparison, truncation};
use crate::lower::Emit;
use crate::lower::common::elementary::{
    Among, Arithmetic, FRAC, K, Operand, Position, Scale, Sign, Smooth,
};
use crate::lower::common::words::word;
use slvr_circuit::{Op, ValueId};

/// Fraction bits of the coefficients of a series: its polynomials have those of u.
const COEFFICIENT: u32 = 26;

/// Replicated values, or public ones.
pub struct Replicated<'a>(pub &'a mut Emit);

impl Arithmetic for Replicated<'_> {
    type Value = ValueId;

    const UNIT: u32 = K;
    const SUM: u32 = FRAC + COEFFICIENT;

    fn linear(&mut self, x: ValueId, op: impl Fn(ValueId) -> Op) -> ValueId {
        self.0.add(op(x))
    }

    fn offset(&mut self, x: ValueId, by: u128) -> ValueId {
        self.0.add(Op::Offset(x, by))
    }

    fn sum(&mut self, x: ValueId, y: ValueId) -> ValueId {
        self.0.add(Op::Add(x, y))
    }

    fn multiply(&mut self, x: ValueId, y: ValueId) -> ValueId {
        self.0.multiply(x, y)
    }

    fn truncate(&mut self, x: ValueId, by: u32, ring: u32) -> ValueId {
        let x = truncation::truncate(self.0, x, by);
        self.convert(x, ring)
    }

    fn convert(&mut self, x: ValueId, ring: u32) -> ValueId {
        truncation::convert(self.0, x, ring)
    }

    fn cut(&mut self, x: ValueId, end: u32, bits: u32) -> ValueId {
        let ends = Ends::of(self.0, x, f64::from(end).exp2(), bits + 1);
        let x = truncation::at_most(self.0, x, K);
        ends.cut(self.0, x, end)
    }

    fn negative(&mut self, x: ValueId, bits: u32) -> ValueId {
        comparison::negative(self.0, x, bits)
    }

    fn plane(&mut self, x: ValueId, i: u32) -> ValueId {
        self.0.planes(x, i, 1, 1)
    }

    fn stack(&mut self, all: Vec<ValueId>) -> ValueId {
        self.0.stack(all)
    }

    fn weighted(&mut self, bits: ValueId, weights: &[u128], ring: u32) -> ValueId {
        bits::weighted(self.0, bits, weights, ring)
    }

    fn position(&mut self, y: &Operand<ValueId>, among: Among) -> Position<ValueId> {
        let Among { lo, hi, top, sign } = among;
        let e = &mut *self.0;
        let all = bits::of_word(e, y.value, if y.not_negative { top } else { top + 1 });
        let mut magnitude = e.planes(all, lo, 1, top - lo);
        let mut size = y.value;
        let mut signed = None;
        let mut negative = None;
        if !y.not_negative {
            let minus = e.planes(all, top, 1, 1);
            if sign == Sign::Cut {
                let keep = e.add(Op::Not(minus));
                magnitude = e.multiply(magnitude, keep);
            } else {
                // The complement of y is |y| - 1: its top bit is that of |y| unless |y| is a power of
                // two, and then u is 1.
                let mask = e.stack(vec![minus; (top - lo) as usize]);
                magnitude = e.add(Op::Add(magnitude, mask));
                let twice = bits::weighted(e, minus, &[word(-2.0, K)], K);
                let factor = e.add(Op::Offset(twice, 1));
                size = e.multiply(y.value, factor);
                signed = Some(factor);
                negative = Some(minus);
            }
        }
        let hot = bits::one_hot(e, magnitude);
        let (known, none) = (e.planes(hot, 0, 1, hi - lo), e.planes(hot, top - lo, 1, 1));
        let hot = match negative {
            None => e.stack(vec![known, none]),
            // No bit is set of the complement of -2^lo, and none of 0.
            Some(minus) if y.least == 0 => {
                let low = e.multiply(none, minus);
                let none = e.add(Op::Add(none, low));
                e.stack(vec![known, none, low])
            }
            Some(_) => {
                let zero = e.add(Op::Add(none, none));
                e.stack(vec![known, zero, none])
            }
        };
        Position { hot, size, signed }
    }

    fn smooth(&mut self, u: ValueId, f: &Smooth, more: Option<ValueId>, to: Scale) -> ValueId {
        let e = &mut *self.0;
        let word = |x: f64| word(x.round(), K);
        let w = e.add(Op::Scale(u, 4));
        let w = e.add(Op::Offset(w, word(-3.0 * f64::from(FRAC).exp2())));
        // t[k - 1] is T_k.
        let mut t = vec![w];
        for k in 2..f.series.len() {
            let (a, b) = (t[k / 2 - 1], t[k.div_ceil(2) - 1]);
            let product = e.multiply(a, b);
            let twice = truncation::truncate(e, product, FRAC - 1);
            t.push(if k % 2 == 0 {
                e.add(Op::Offset(twice, word(-f64::from(FRAC).exp2())))
            } else {
                e.add(Op::Sub(twice, w))
            });
        }
        let unit = f64::from(COEFFICIENT).exp2();
        let mut sum = more;
        for (&t, c) in t.iter().zip(&f.series[1..]) {
            let term = e.add(Op::Scale(t, word(c * unit)));
            sum = Some(match sum {
                None => term,
                Some(s) => e.add(Op::Add(s, term)),
            });
        }
        let constant = word(f.series[0] * f64::from(Self::SUM).exp2());
        let sum = e.add(Op::Offset(sum.unwrap_or(w), constant));
        self.truncate(sum, Self::SUM - to.frac, to.ring)
    }
}
