//! Runs of layers between which least is under way.

use super::{SMALL, size};
use crate::Circuit;
use std::ops::Range;

/// Cuts the layers from `first` on. What a window makes of nothing but what is there before it, without a message, is not
/// under way: others may make it again.
pub(super) fn windows(circuit: &Circuit, first: usize) -> Vec<Range<usize>> {
    let mut last = vec![0; circuit.types.len()];
    for (l, layer) in circuit.layers.iter().enumerate() {
        for instr in layer.local.iter().chain(&layer.exchange) {
            instr.op.values(&mut |v| last[v.index()] = l);
        }
    }
    let mut out = Vec::new();
    let mut start = first;
    while start < circuit.layers.len() {
        let end = end(circuit, start, &last);
        out.push(start..end);
        start = end;
    }
    out
}

/// Where the window that begins at `start` ends; `last` is the last layer in which each value is read.
fn end(circuit: &Circuit, start: usize, last: &[usize]) -> usize {
    let count = circuit.layers.len();
    // What is made from the start on and not to be had otherwise.
    let mut made = vec![false; circuit.types.len()];
    let mut ends = vec![0u64; count];
    let (mut under_way, mut peak) = (0u64, 0u64);
    // The layer after which least was under way, once it was little.
    let mut low: Option<(u64, usize)> = None;
    for (l, layer) in circuit.layers.iter().enumerate().skip(start) {
        under_way = under_way.saturating_sub(ends[l]);
        for instr in layer.local.iter().chain(&layer.exchange) {
            let Some(v) = instr.out else { continue };
            let reads = || instr.op.operands().iter().any(|v| made[v.index()]);
            made[v.index()] = instr.op.is_interactive() || reads();
            if made[v.index()] && last[v.index()] > l {
                let bytes = size(circuit, v);
                under_way = under_way.saturating_add(bytes);
                ends[last[v.index()]] = ends[last[v.index()]].saturating_add(bytes);
            }
        }
        peak = peak.max(under_way);
        match low {
            Some((_, cut)) if under_way > peak / 4 => return cut + 1,
            Some((least, _)) if under_way > least => {}
            _ if under_way <= peak / SMALL => low = Some((under_way, l)),
            _ => {}
        }
    }
    count
}
