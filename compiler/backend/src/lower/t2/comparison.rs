//! The sign of a masked value, and whether it is zero.
//!
//! | macro, w bits | rounds of the two | bits of the dealer | bits of each other |
//! |---|---|---|---|
//! | [`negative`] | levels of the node of [`fastest`] | [`Node::bits`], the first | [`Node::bits`], the second |
//! | [`zero`] | levels of [`gates::all_planes`] of w bits, less 1 | its products and w | its opened bits |
//!
//! Results are pairs. **Functionality.** Exact on any sharing.

use super::carry::{Parts, gather, known};
use super::carry_trees::{Node, Role, Trees};
use super::gates;
use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::common::masked::{Pair, Split};
use slvr_circuit::{Op, ValueId};

/// For the carry of n bits, the node of fewest bits with at most so many levels; `None` if there is none.
pub(crate) fn with_levels(n: u32, most: u32) -> Option<Node> {
    let trees = Trees::of(n);
    trees.total(Role::Lowest, n, 1, most)?;
    Some(trees.node(Role::Lowest, n, most))
}

/// For the carry of n bits, at most 127, the node that takes least time for so many elements.
pub fn fastest(n: u32, elements: u64, tuning: Tuning) -> Node {
    let trees = Trees::of(n);
    let best = trees.fastest(|most| {
        let bits = trees.total(Role::Lowest, n, 1, most)?;
        Some(tuning.time(most.into(), bits as f64, elements))
    });
    // A gate joins ten nodes, so there is always one of two levels.
    best.and_then(|(_, most)| with_levels(n, most)).unwrap_or_else(|| unreachable!("{n} bits"))
}

/// The sign of x as a bit: 1 where x < 0, for |x| < 2^(w-1).
///
/// The top bit of a + b is the two top bits and the carry into them (`carry.rs`).
pub fn negative(e: &mut Emit, x: &Split, w: u32, tuning: Tuning) -> Pair {
    if w == 1 {
        let (own, dup) = (sign_bit(e, x.own, 1), sign_bit(e, x.dup, 1));
        return Pair { own: Some(own), add2: e.add(Op::AsAdd2(dup)) };
    }
    let node = fastest(w - 1, e.ty(x.own).elements(), tuning);
    by_node(e, x, &node)
}

/// The same, with the carry of a node: of the bits below the top one.
pub fn by_node(e: &mut Emit, x: &Split, node: &Node) -> Pair {
    let w = node.width() + 1;
    let (own, dup) = (sign_bit(e, x.own, w), sign_bit(e, x.dup, w));
    let low = |e: &mut Emit, x| e.add(Op::ToBits { x, lo: 0, w: w - 1 });
    let parts = Parts { own: low(e, x.own), dup: low(e, x.dup), less: None };
    let carry = known(e, &parts, &[node]).into_iter().map(|known| known.generate);
    let carry = gather(e, carry);
    Pair { own: Some(own), add2: e.add(Op::Add(carry, dup)) }
}

/// Bit w - 1 of a part.
fn sign_bit(e: &mut Emit, x: ValueId, w: u32) -> ValueId {
    e.add(Op::ToBits { x, lo: w - 1, w: 1 })
}

/// 1 where x = 0, for |x| < 2^(w-1): a and -b are equal bit by bit.
pub fn zero(e: &mut Emit, x: &Split, w: u32, tuning: Tuning) -> Pair {
    let own = e.add(Op::ToBits { x: x.own, lo: 0, w });
    let b = e.add(Op::Neg(x.dup));
    let b = e.add(Op::ToBits { x: b, lo: 0, w });
    let dup = e.add(Op::Not(b));
    gates::all_planes(e, &Split { own, dup, mask: None }, tuning)
}
