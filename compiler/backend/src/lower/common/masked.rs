//! The masked value x = a + b: part a is known to one party, the dealer, and part b to the other two.
//!
//! It is the masked value of ASTRA and ABY2.0 with a = -mask. A [`Split`] has both parts; what a local step
//! leaves of a product is a [`Pair`]: part a, and the rest as words of the other two that they have not
//! exchanged. [`settle`] makes a split of a pair in one exchange between these two. A replicated value is a
//! split without a message ([`split`]), and a split is replicated again with one message of the dealer
//! ahead ([`join`]).
//!
//! Lives here: these two types, the steps between them, and linear operations. May not: products,
//! comparisons and other macros, which belong to a family.

use crate::lower::Emit;
use crate::lower::common::words::sum_of;
use slvr_circuit::{Op, ValueId};

/// x = a + b.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// a, `Own`.
    pub own: ValueId,
    /// b, `Dup`.
    pub dup: ValueId,
    /// a as shares of the other two, `Mask`, if it is shared.
    pub mask: Option<ValueId>,
}

/// x = a + t.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// a, `Own`; none for 0.
    pub own: Option<ValueId>,
    /// t, `Add2`.
    pub add2: ValueId,
}

/// The split of a replicated value, cut between `groups` groups.
pub fn split(e: &mut Emit, x: ValueId, groups: u32) -> Split {
    // What is not read of it is pruned before scheduling.
    let mask = e.add(Op::MaskOf(x, groups));
    let (own, dup) = (e.add(Op::OwnOf(x, groups)), e.add(Op::DupOf(x, groups)));
    Split { own, dup, mask: Some(mask) }
}

/// Part a as a mask: dealt, if it is not shared.
pub fn mask(e: &mut Emit, x: &Split) -> ValueId {
    match x.mask {
        Some(mask) => mask,
        None => e.add(Op::DealMask(x.own)),
    }
}

/// Part a as words of the other two.
pub fn shares(e: &mut Emit, x: &Split) -> ValueId {
    let mask = mask(e, x);
    e.add(Op::AsAdd2(mask))
}

/// A replicated value.
pub fn join(e: &mut Emit, x: &Split) -> ValueId {
    let mask = mask(e, x);
    e.add(Op::Join { mask, dup: x.dup })
}

/// A split as a pair.
pub fn unsettled(e: &mut Emit, x: &Split) -> Pair {
    Pair { own: Some(x.own), add2: e.add(Op::AsAdd2(x.dup)) }
}

/// One exchange.
pub fn settle(e: &mut Emit, x: Pair) -> Split {
    let mask = mask_like(e, x.add2);
    let dup = e.add(Op::OpenMasked { x: x.add2, mask });
    let own = e.add(Op::Own(mask));
    match x.own {
        None => Split { own, dup, mask: Some(mask) },
        Some(a) => Split { own: e.add(Op::Add(a, own)), dup, mask: None },
    }
}

/// A fresh mask for an exchange of `x`.
fn mask_like(e: &mut Emit, x: ValueId) -> ValueId {
    let ty = e.ty(x).clone();
    e.fresh_mask(ty.dom, ty.shape, ty.groups)
}

/// The same linear operation on both parts of a split, and on the shares of a if there are any.
pub fn linear(e: &mut Emit, x: &Split, op: impl Fn(ValueId) -> Op) -> Split {
    let mask = x.mask.map(|m| e.add(op(m)));
    Split { own: e.add(op(x.own)), dup: e.add(op(x.dup)), mask }
}

/// What is made of both parts of some splits in the same way.
pub fn both(mut of: impl FnMut(fn(&Split) -> ValueId) -> ValueId) -> Split {
    Split { own: of(|x| x.own), dup: of(|x| x.dup), mask: None }
}

/// What is made of both parts of a pair in the same way.
pub fn each_of_pair(x: Pair, mut of: impl FnMut(ValueId) -> ValueId) -> Pair {
    Pair { own: x.own.map(&mut of), add2: of(x.add2) }
}

/// The same linear operation on both parts of a pair.
pub fn linear_of_pair(e: &mut Emit, x: Pair, op: impl Fn(ValueId) -> Op) -> Pair {
    each_of_pair(x, |v| e.add(op(v)))
}

/// x + y or x - y.
pub fn sum(e: &mut Emit, x: &Split, y: &Split, minus: bool) -> Split {
    let op = |a, b| if minus { Op::Sub(a, b) } else { Op::Add(a, b) };
    let mask = match (x.mask, y.mask) {
        (Some(a), Some(b)) => Some(e.add(op(a, b))),
        _ => None,
    };
    Split { own: e.add(op(x.own, y.own)), dup: e.add(op(x.dup, y.dup)), mask }
}

/// The sum of two pairs.
pub fn sum_of_pairs(e: &mut Emit, x: Pair, y: Pair) -> Pair {
    Pair { own: sum_of(e, x.own, y.own, false), add2: e.add(Op::Add(x.add2, y.add2)) }
}

/// Complement: of part b.
pub fn not(e: &mut Emit, x: Pair) -> Pair {
    Pair { own: x.own, add2: e.add(Op::Not(x.add2)) }
}

/// Size-1 axes repeated.
pub fn broadcast(e: &mut Emit, x: &Split, shape: &[u64]) -> Split {
    if e.ty(x.own).shape == shape {
        return *x;
    }
    linear(e, x, |v| Op::Broadcast(v, shape.to_vec()))
}

/// Bits `[.., c]` as c planes of `[.., 1]`.
pub fn to_planes(e: &mut Emit, x: &Split) -> Split {
    linear(e, x, Op::ToPlanes)
}

/// The sum of a pair as words of the three, as an opening to a receiver takes it.
pub fn as_add3(e: &mut Emit, x: Pair) -> ValueId {
    let rest = e.add(Op::AsAdd3(x.add2));
    match x.own {
        None => rest,
        Some(own) => {
            let own = e.add(Op::AsAdd3(own));
            e.add(Op::Add(own, rest))
        }
    }
}
