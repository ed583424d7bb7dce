//! Products of masked values, of any bilinear operation.
//!
//! **Functionality.** x op y, left as a pair: part a times part a at the dealer, the rest additive between
//! the other two. No error.
//!
//! **Cost.** No round. The dealer sends part a of each operand as shares of the other two, k bits an
//! element, unless they have them already. A [`settle`](crate::lower::common::masked::settle) of the result
//! costs one round and k bits of each of the other two.

use crate::lower::Emit;
use crate::lower::common::masked::{Pair, Split, shares};
use slvr_circuit::{Op, ValueId};

/// A bilinear operation: own times own, and b_x (a_y + b_y) + a_x b_y.
pub fn product(e: &mut Emit, x: &Split, y: &Split, op: impl Fn(ValueId, ValueId) -> Op) -> Pair {
    let own = e.add(op(x.own, y.own));
    let (ax, ay) = (shares(e, x), shares(e, y));
    let small = |e: &Emit, v: ValueId| e.ty(v).elements();
    let (left, right) = if small(e, y.own) <= small(e, x.own) {
        let both = e.add(Op::Add(ay, y.dup));
        (e.add(op(x.dup, both)), e.add(op(ax, y.dup)))
    } else {
        let both = e.add(Op::Add(ax, x.dup));
        (e.add(op(both, y.dup)), e.add(op(x.dup, ay)))
    };
    Pair { own: Some(own), add2: e.add(Op::Add(left, right)) }
}
