//! Trees of ands and of carries, of replicated bits: every level is one product and one reshare.
//!
//! | macro | rounds | bits in all |
//! |---|---|---|
//! | `and_rows`, `all_planes` of n bits | ceil(log2 n) | 3 (n - 1) |
//! | `carry` of n nodes | ceil(log2 n) | 3 (2 n - 2 - ceil(log2 n)) |

use crate::lower::Emit;
use crate::lower::malicious::multi_and;
use slvr_circuit::{Op, ValueId};

/// The carry of all nodes, from the generate bits of each and the propagate bits of all but the lowest.
pub(crate) fn carry(
    e: &mut Emit,
    mut g: ValueId,
    mut p: Option<ValueId>,
    mut nodes: u32,
) -> ValueId {
    if let Some(tuning) = multi_and::tuning(e, g) {
        return multi_and::carry(e, g, p, nodes, tuning);
    }
    while let Some(prop) = p {
        let pairs = nodes / 2;
        let g_low = e.planes(g, 0, 2, pairs);
        let g_high = e.planes(g, 1, 2, pairs);
        let p_high = e.planes(prop, 0, 2, pairs);
        // Pair j joins nodes 2j and 2j + 1; plane i of `prop` belongs to node i + 1.
        let (left, right) = if pairs > 1 {
            let p_high_rest = e.planes(prop, 2, 2, pairs - 1);
            let p_low_rest = e.planes(prop, 1, 2, pairs - 1);
            (e.stack(vec![p_high, p_high_rest]), e.stack(vec![g_low, p_low_rest]))
        } else {
            (p_high, g_low)
        };
        let products = e.multiply(left, right);
        let lifted = e.planes(products, 0, 1, pairs);
        let mut next_g = vec![e.add(Op::Add(g_high, lifted))];
        let mut next_p = Vec::new();
        if pairs > 1 {
            next_p.push(e.planes(products, pairs, 1, pairs - 1));
        }
        if nodes % 2 == 1 {
            // The odd node at the top goes on as it is.
            next_g.push(e.planes(g, nodes - 1, 1, 1));
            next_p.push(e.planes(prop, nodes - 2, 1, 1));
        }
        g = e.stack(next_g);
        nodes = nodes.div_ceil(2);
        p = if next_p.is_empty() { None } else { Some(e.stack(next_p)) };
    }
    g
}

/// And of all planes of a value.
pub(crate) fn all_planes(e: &mut Emit, mut x: ValueId) -> ValueId {
    if let Some(tuning) = multi_and::tuning(e, x) {
        return multi_and::all_planes(e, x, tuning);
    }
    loop {
        let w = e.ty(x).bits();
        if w == 1 {
            return x;
        }
        let half = w / 2;
        let (low, high) = (e.planes(x, 0, 1, half), e.planes(x, half, 1, half));
        let both = e.multiply(low, high);
        x = if w % 2 == 1 {
            let last = e.planes(x, w - 1, 1, 1);
            e.stack(vec![both, last])
        } else {
            both
        };
    }
}

/// And of all n rows: bits `[n, m]` -> `[1, m]`, a tree of ceil(log2 n) rounds. Rows come first, so that
/// halves of the tree are contiguous.
pub(crate) fn and_rows(e: &mut Emit, mut bits: ValueId) -> ValueId {
    let mut left = e.ty(bits).shape[0];
    if let Some(all) =
        multi_and::tuning(e, bits).and_then(|tuning| multi_and::rows(e, bits, tuning))
    {
        return all;
    }
    while left > 1 {
        let half = left / 2;
        let part =
            |e: &mut Emit, start, len| e.add(Op::Slice { x: bits, axis: 0, start, len, step: 1 });
        let (low, high) = (part(e, 0, half), part(e, half, half));
        let rest = (left % 2 == 1).then(|| part(e, left - 1, 1));
        let both = e.multiply(low, high);
        bits = match rest {
            Some(rest) => e.add(Op::Concat { xs: vec![both, rest], axis: 0 }),
            None => both,
        };
        left = left.div_ceil(2);
    }
    bits
}
