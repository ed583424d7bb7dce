//! On which side of 0 and of a power of two a value lies, from one comparison: against a malicious party, where its
//! owner knows its part ahead (`masked_exchange`).
//!
//! As in family T2 ([`crate::lower::t2::saturation`]): with x = a + b on w bits and the edge 2^e, let c be the carry of
//! the low e bits, (G, P) whether the bits above, without the top one, generate and propagate a carry, and E whether a
//! and b - 2^e propagate one in all of these, which they do where a + b is 0 there. Then
//!
//! ```text
//! inside = E + (E + P) c,    large = 1 + top_a + top_b + G + E + E c
//! ```
//!
//! Both are the last level of a carry tree over the low blocks, with (E, E + P) or (G + E, E) for its top node.
//!
//! **Functionality.** On any sharing of x with x and x - 2^e in w bits, whether 0 <= x < 2^e and whether 2^e <= x,
//! exactly.
//!
//! **Simulation.** `input` and `reshare_two`, each uniform to its receiver.

use super::comparison::{coded, leaves, multiplied};
use super::multi_and::{MOST, Set, level, levels_but_last, products};
use crate::lower::Emit;
use crate::lower::common::words::even;
use slvr_circuit::low_mask;
use slvr_circuit::tables::thermometer_planes;
use slvr_circuit::{Op, ValueId};

/// Whether a value is inside and whether it is large, of its parts in words of at least w bits; none where there is no
/// low or no high part, or where the high one is long.
pub fn locate(e: &mut Emit, (a, b): (ValueId, ValueId), w: u32, edge: u32) -> Option<[ValueId; 2]> {
    let tuning = e.target.masked()?;
    let n = w.checked_sub(1)?;
    let high = n.checked_sub(edge).filter(|h| *h > 0)?;
    let high = even(high, high.div_ceil(3));
    let m = high.len() as u32;
    if edge == 0 || m > MOST {
        return None;
    }
    let (ring, elements) = (e.ty(a).bits(), e.ty(a).elements());
    let low = leaves(e, edge, elements, true);
    let k = low.len() as u32;
    let bits = |e: &mut Emit, x, lo, w| e.add(Op::ToBits { x, lo, w });
    let (top_a, top_b) = (bits(e, a, n, 1), bits(e, b, n, 1));
    let (top_a, top_b) = (e.add(Op::Input(top_a)), e.add(Op::Trivial(top_b)));
    let top = e.add(Op::Add(top_a, top_b));

    let below = e.add(Op::Offset(b, (1u128 << edge).wrapping_neg() & low_mask(ring)));
    let (a, index, less) = (bits(e, a, 0, n), bits(e, b, 0, n), bits(e, below, edge, n - edge));
    let blocks = [&low[..], &high].concat();
    let code = coded(e, a, &blocks);
    let picked = multiplied(e, code, index, &blocks, true);
    let above = (thermometer_planes(&low)..thermometer_planes(&blocks)).collect();
    let above = e.select(code, above);
    let tests = multiplied(e, above, less, &high, false);

    // Of node i, of all, the generate bit is plane i, and the propagate bit this one.
    let all = k + m;
    let propagate = |i: u32| all + i - 1;
    let top_generate = e.planes(picked, all - 1, 1, 1);
    let (generate, propagates, zero) = if m == 1 {
        (top_generate, e.planes(picked, propagate(k), 1, 1), tests)
    } else {
        let x = e.stack(vec![picked, tests]);
        let of = |i: u32| [i].into_iter().chain((i + 1..all).map(propagate)).collect::<Set>();
        let generates = (k..all - 1).map(of).collect();
        let found = [
            generates,
            vec![(k..all).map(propagate).collect()],
            vec![(2 * all - 1..2 * all - 1 + m).collect()],
        ];
        let found = products(e, x, &found);
        let [g, p, zero] = [0, 1, 2].map(|i| e.planes(found, i, 1, 1));
        (e.add(Op::Add(top_generate, g)), p, zero)
    };

    let mut carry = (e.planes(picked, 0, 1, k), (k > 1).then(|| e.planes(picked, all, 1, k - 1)));
    let mut left = k;
    for sizes in levels_but_last(k, elements, tuning) {
        carry = level(e, carry, &sizes);
        left = sizes.len() as u32;
    }
    let either = e.add(Op::Add(zero, propagates));
    let nodes = [Some(carry.0), carry.1, Some(either), Some(zero)];
    let nodes = e.stack(nodes.into_iter().flatten().collect());
    let with = |by: u32| -> Vec<Set> {
        let of = |i: u32| [i].into_iter().chain(left + i..2 * left - 1).chain([by]).collect();
        (0..left).map(of).collect()
    };
    let found = products(e, nodes, &[with(2 * left - 1), with(2 * left)]);
    let [first, second] = [0, 1].map(|i| e.planes(found, i, 1, 1));
    let inside = e.add(Op::Add(zero, first));
    let rest = e.add(Op::Add(zero, second));
    let small = [top, generate].into_iter().fold(rest, |sum, x| e.add(Op::Add(sum, x)));
    Some([inside, e.add(Op::Not(small))])
}
