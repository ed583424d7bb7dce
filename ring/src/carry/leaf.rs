//! The lowest level of a comparison: blocks of bits, of which one number's become a thermometer code and
//! the other's choose an entry of it.

use super::{CLEAR, Strips, V, Work, ZEROS, halve, jobs, merge, merge_in, places};
use crate::Planes;
use crate::plane_writer::PlaneWriter;
use crate::simd::versions;
use slvr_circuit::tables::thermometer_planes;

/// `[n >= v]` for v = 1 .. 2^b of every block of b planes, 1 to [`MAX_BLOCK`](slvr_circuit::tables::MAX_BLOCK) each.
pub fn thermometer(x: &Planes, blocks: &[u32]) -> Planes {
    Planes::written(thermometer_planes(blocks), x.len(), |writers| {
        let work = x.stride() * writers.len();
        let mut writers = writers.iter_mut();
        let items: Vec<_> = places(blocks)
            .into_iter()
            .map(|(at, b)| (at, b, writers.by_ref().take((1 << b) - 1).collect::<Vec<_>>()))
            .collect();
        let x = Strips::of(x);
        jobs(work, items, |(from, b, mut writers)| codes(&x, from, b, &mut writers));
    })
}

versions! {
    /// The code of the block of b planes from `from` on.
    fn codes<[] []>(x: &Strips<'_>, from: usize, b: usize, writers: &mut [&mut PlaneWriter<'_>]) {
        let mut all = vec![CLEAR; (1 << b) - 1];
        for at in x.starts() {
            // Entry v - 1 is [n >= v] for the bits so far; one bit more doubles the length.
            let mut n = 0;
            for j in from..from + b {
                let bit = x.get(j, at);
                let (low, high) = all.split_at_mut(n);
                for (Work(low), Work(high)) in low.iter_mut().zip(&mut high[1..]) {
                    merge(high, low, low, bit, |c, _, bit| bit & c);
                    merge_in(low, bit, bit, |c, bit, _| bit | c);
                }
                high[0].0 = *bit;
                n = 2 * n + 1;
            }
            for (writer, c) in writers.iter_mut().zip(&all) {
                writer.put(&c.0);
            }
        }
    }
}

/// Where a block's code and the bits that choose are.
#[derive(Clone, Copy)]
struct Block {
    /// Its first plane of the index.
    from: usize,
    /// Its planes.
    b: usize,
    /// The first plane of its code.
    first: usize,
}

/// All blocks, with codes from plane `skip` of the table on.
fn blocks_of(blocks: &[u32], skip: usize) -> impl Iterator<Item = Block> {
    let mut next = skip;
    places(blocks).into_iter().map(move |(from, b)| {
        let first = next;
        next += (1 << b) - 1;
        Block { from, b, first }
    })
}

/// Generate and propagate bits of every block, from shares of thermometer codes of the one number and
/// the bits of the other.
pub fn pick(table: &Planes, index: &Planes, blocks: &[u32], one: &Planes) -> Planes {
    Planes::written((2 * blocks.len() as u32).saturating_sub(1), index.len(), |writers| {
        let (generate, propagate) = writers.split_at_mut(blocks.len().min(writers.len()));
        // The first block propagates nothing that anybody needs.
        let propagate = std::iter::once(None).chain(propagate.iter_mut().map(Some));
        let generate = generate.iter_mut().map(Some);
        let items = blocks_of(blocks, 0).zip(generate).zip(propagate);
        let items: Vec<_> = items.map(|((block, g), p)| (block, g, p)).collect();
        choose_all(items, table, index, one);
    })
}

/// Propagate bits of every block, of a table of which `skip` planes are of no interest.
pub fn propagate(
    table: &Planes,
    index: &Planes,
    blocks: &[u32],
    skip: u32,
    one: &Planes,
) -> Planes {
    Planes::written(blocks.len() as u32, index.len(), |writers| {
        let items = blocks_of(blocks, skip as usize).zip(writers);
        let items: Vec<_> = items.map(|(block, p)| (block, None, Some(p))).collect();
        choose_all(items, table, index, one);
    })
}

/// A block, and where its generate and its propagate bits go.
type Item<'a, 'b> = (Block, Option<&'a mut PlaneWriter<'b>>, Option<&'a mut PlaneWriter<'b>>);

fn choose_all(items: Vec<Item<'_, '_>>, table: &Planes, index: &Planes, one: &Planes) {
    let work = table.words().len();
    let (table, index, one) = (Strips::of(table), Strips::of(index), Strips::of(one));
    jobs(work, items, |(block, generate, propagate)| {
        choose(&table, &index, &one, block, generate, propagate);
    });
}

versions! {
    /// Of one block whether it carries, and whether it propagates.
    fn choose<[] []>(
        table: &Strips<'_>,
        index: &Strips<'_>,
        one: &Strips<'_>,
        block: Block,
        generate: Option<&mut PlaneWriter<'_>>,
        propagate: Option<&mut PlaneWriter<'_>>,
    ) {
        let Block { from, b, first } = block;
        let (mut generate, mut propagate) = (generate, propagate);
        let n = 1 << b;
        let mut work = vec![CLEAR; n / 2];
        for at in index.starts() {
            // Entry j is [number >= 2^b - j]: nothing is at least 2^b, everything at least 0.
            let entry = |j: usize| match j {
                0 => &ZEROS,
                j if j < n => table.get(first + n - 1 - j, at),
                _ => one.get(0, at),
            };
            let bit = |j: usize| index.get(from + j, at);
            entry_at(&entry, &bit, b, &mut work);
            let carry = work[0];
            if let Some(writer) = &mut generate {
                writer.put(&carry.0);
            }
            if let Some(writer) = &mut propagate {
                entry_at(&|j| entry(j + 1), &bit, b, &mut work);
                work[0].0.iter_mut().zip(&carry.0).for_each(|(next, carry)| *next ^= carry);
                writer.put(&work[0].0);
            }
        }
    }
}

/// Of 2^b entries the one at the number of b bits, left in front of `work`, which has half as many.
#[inline(always)]
fn entry_at<'a>(
    entry: &impl Fn(usize) -> &'a V,
    bit: &impl Fn(usize) -> &'a V,
    b: usize,
    work: &mut [Work],
) {
    let choose = |low: u64, high: u64, bit: u64| low ^ (bit & (low ^ high));
    for j in 0..b {
        if j > 0 {
            halve(work, work.len() >> j, bit(j), choose);
            continue;
        }
        for (i, to) in work.iter_mut().enumerate() {
            merge(&mut to.0, entry(2 * i), entry(2 * i + 1), bit(0), choose);
        }
    }
}
