//! Blocks of a comparison ([`crate::lower::t1::comparison`]) whose codes have statements: the owner inputs the code of each
//! block, and what the others would pick is a sum of products of the code and what they know, in one `reshare_two`. Blocks
//! are as large as takes least time, up to 8 bits.
//!
//! **Simulation.** `input` and `reshare_two`, each uniform to its receiver.

use super::multi_and::{code_time, tree_time};
use super::{plus, shared};
use crate::lower::Emit;
use crate::lower::common::words::even;
use crate::lower::t1::comparison::blocks_of_at_most;
use slvr_circuit::tables::{MAX_BLOCK, thermometer_planes};
use slvr_circuit::{Op, ValueId};

/// As the function of the same name among semi-honest parties.
pub fn compared(e: &mut Emit, a: ValueId, index: ValueId, carries: bool) -> (ValueId, u32) {
    let blocks = leaves(e, e.ty(a).bits(), e.ty(a).elements(), carries);
    let code = coded(e, a, &blocks);
    (multiplied(e, code, index, &blocks, carries), blocks.len() as u32)
}

/// Blocks of n bits: as many as of 3 bits, or fewer where these take less time with the tree after them. Smaller ones would
/// have fewer columns to prove, but take more rounds and bits.
pub fn leaves(e: &Emit, n: u32, elements: u64, carries: bool) -> Vec<u32> {
    let ways = (n.div_ceil(MAX_BLOCK)..=blocks_of_at_most(n, 3)).map(|count| even(n, count));
    let time = |blocks: &Vec<u32>| {
        code_time(blocks, elements, e) + tree_time(e, blocks.len() as u32, elements, carries)
    };
    ways.min_by(|a, b| time(a).total_cmp(&time(b))).unwrap_or_else(|| vec![n])
}

/// The code of an owner's bits, as it inputs it.
pub fn coded(e: &mut Emit, a: ValueId, blocks: &[u32]) -> ValueId {
    let code = e.add(Op::Thermometer { x: a, blocks: blocks.to_vec() });
    e.add(Op::Input(code))
}

/// As [`Op::Pick`], or without `generate` [`Op::Propagate`], with replicated bits: what the owner has input is its code T, and
/// the other two multiply it by what they know, in one `reshare_two`. With n the other number and S its code, a block
/// generates a carry where T at 2^b - n is set, and propagates one where this and T at 2^b - 1 - n differ; [n = j] is
/// S_j + S_(j+1).
pub fn multiplied(
    e: &mut Emit,
    table: ValueId,
    index: ValueId,
    blocks: &[u32],
    generate: bool,
) -> ValueId {
    let other = e.add(Op::Thermometer { x: index, blocks: blocks.to_vec() });
    let zero = e.zero_plane(other);
    let one = e.add(Op::Not(zero));
    let all = e.stack(vec![other, zero, one]);
    let (zero, one) = (thermometer_planes(blocks), thermometer_planes(blocks) + 1);
    // For each plane of the result its block's first plane and size, and whether it is a generate.
    let mut from = 0;
    let mut starts = Vec::new();
    for &b in blocks {
        starts.push((from, 1u32 << b));
        from += (1 << b) - 1;
    }
    let generates = starts.iter().filter(|_| generate).map(|&(at, size)| (at, size, true));
    let propagates = starts.iter().skip(usize::from(generate)).map(|&(at, size)| (at, size, false));
    let planes: Vec<(u32, u32, bool)> = generates.chain(propagates).collect();
    let s = |at: u32, size: u32, j: u32| match j {
        0 => one,
        j if j == size => zero,
        j => at + j - 1,
    };
    let known = |e: &mut Emit, of: &dyn Fn(u32, u32, bool) -> [u32; 2]| {
        let sides =
            [0, 1].map(|i| planes.iter().map(|&(at, size, g)| of(at, size, g)[i]).collect());
        let [left, right] = sides.map(|planes| e.select(all, planes));
        e.add(Op::Add(left, right))
    };
    let largest = blocks.iter().max().map_or(0, |b| 1u32 << b);
    let mut sum: Option<ValueId> = None;
    for v in 1..largest {
        // A smaller block has no such entry.
        let entries = planes.iter().map(|&(at, size, _)| if v < size { at + v - 1 } else { at });
        let entry = e.select(table, entries.collect());
        let factor = known(e, &|at, size, generate| {
            if v >= size {
                return [zero, zero];
            }
            let near = if generate { size - v } else { size - 1 - v };
            [s(at, size, near), s(at, size, size - v + 1)]
        });
        let entry = e.add(Op::AsAdd2(entry));
        let product = e.add(Op::Mul(entry, factor));
        sum = plus(e, sum, product);
    }
    let rest = known(e, &|at, size, generate| {
        if generate { [zero, zero] } else { [s(at, size, size - 1), zero] }
    });
    shared(e, sum, rest)
}
