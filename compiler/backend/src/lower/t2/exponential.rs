//! Exponentials of masked values.
//!
//! | macro | rounds of the two | bits of the dealer | bits of each other | error |
//! |---|---|---|---|---|
//! | [`exp_non_positive`], result not settled | 1, and beside it a sign and its settle | 256 + 2 k, tables of the sign | 128 | 1.5 ulp |
//!
//! k is the ring of the result.
//!
//! **Functionality.** That of [`crate::lower::t1::exponential::non_positive`], but e^x for x between -13.875
//! and -11.875, which is less than half a unit, may be kept or cut.
//!
//! **Protocol.** That of [`crate::lower::t1::exponential`] on the parts of the masked value as they are. In
//! 128-bit words what is left of the product after the truncation is more than the result, so the
//! truncation is local. A value below -13.875 is cut by the sign of the sum of the high bits of both parts,
//! which is the floor, or one less: where the choice falls between -13.875 and -11.875 does not matter.
//!
//! **Simulation.** `deal` and `open_masked` messages only, as all of [`super`].

use super::comparison::negative;
use super::selection::inject;
use super::truncation::truncate;
use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::common::masked::{Pair, Split, not, settle, unsettled};
use crate::lower::t1::exponential;
use slvr_circuit::Op;
use slvr_graph::graph::domain;

/// Moved by so much, so that an x that rounding made a few units positive still is inside.
const MARGIN: f64 = 0.25;

/// Fraction bits of the factors of an exponential.
const SCALE: u32 = 29;

/// e^x for x <= 0 (and rounding errors above), with the fraction bits of x, in Z_2^to. `least` is the
/// smallest raw x; |x| and |least| are below 2^(w-1), with w below the bits of its ring.
pub fn exp_non_positive(
    e: &mut Emit,
    x: &Split,
    (frac, least, w): (u32, f64, u32),
    to: u32,
    tuning: Tuning,
) -> Pair {
    let unit = f64::from(frac).exp2();
    let k = e.ty(x.own).bits();
    let a = e.add(Op::Neg(x.own));
    let b = e.add(Op::Neg(x.dup));
    let b = e.add(Op::Offset(b, (MARGIN * unit) as u128));
    // 2 T must divide the modulus.
    debug_assert!(k > frac + 4);
    let how = exponential::Window { whole: 4, scales: (SCALE, SCALE), ring: 128, frac };
    let [zero, one, for_zero, for_one] = exponential::factors(e, [a, b], frac, MARGIN.exp(), &how);
    let (zero, one) = (e.add(Op::Deal(zero)), e.add(Op::Deal(one)));
    let zero = e.add(Op::Mul(zero, for_zero));
    let one = e.add(Op::Mul(one, for_one));
    let add2 = e.add(Op::Add(zero, one));
    let product = settle(e, Pair { own: None, add2 });
    let value = truncate(e, &product, 2 * SCALE - frac, to).whole;
    // The window is 16 wide.
    if least >= (MARGIN - 15.5) * unit {
        return unsettled(e, &value);
    }
    let s = frac + 1;
    let above = (-domain::EXP_LOW * unit) as u128 + (1 << s);
    let b = e.add(Op::Offset(x.dup, above));
    let high = Split { own: e.add(Op::Shr(x.own, s)), dup: e.add(Op::Shr(b, s)), mask: None };
    let gone = negative(e, &high, w.max(frac + 6) - s, tuning);
    let keep = not(e, gone);
    let keep = settle(e, keep);
    inject(e, &keep, &value)
}
