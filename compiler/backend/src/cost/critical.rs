//! Which step each round waits for.

use slvr_circuit::{Circuit, ValueId};

/// For each layer with an exchange the site of one interactive instruction: those of a longest chain
/// of dependent ones, walked back from the last layer. Where the chain skips a layer, that layer's
/// first instruction. Counted by site they add up to the rounds of the circuit.
pub fn critical(circuit: &Circuit) -> Vec<Option<u32>> {
    // The interactive instruction that each value waited for last: its layer and position.
    let mut wait: Vec<Option<(usize, usize)>> = vec![None; circuit.types.len()];
    let mut before: Vec<Vec<Option<(usize, usize)>>> = Vec::new();
    for (l, layer) in circuit.layers.iter().enumerate() {
        let latest = |wait: &[Option<(usize, usize)>], operands: Vec<ValueId>| {
            operands.iter().filter_map(|v| wait[v.index()]).max_by_key(|w| w.0)
        };
        for i in &layer.local {
            if let Some(out) = i.out {
                wait[out.index()] = latest(&wait, i.op.operands());
            }
        }
        let chain: Vec<_> = layer.exchange.iter().map(|i| latest(&wait, i.op.operands())).collect();
        for (n, i) in layer.exchange.iter().enumerate() {
            if let Some(out) = i.out {
                wait[out.index()] = Some((l, n));
            }
        }
        before.push(chain);
    }
    let mut out = vec![None; circuit.layers.len()];
    let mut at: Option<(usize, usize)> = None;
    for (l, layer) in circuit.layers.iter().enumerate().rev() {
        if layer.exchange.is_empty() {
            continue;
        }
        let here = at.filter(|a| a.0 == l).map(|a| a.1);
        // Where the chain is not, or has not begun: an instruction that waits for the layer before.
        let n = here.unwrap_or_else(|| {
            let depth = |n: &usize| before[l][*n].map_or(0, |b| b.0 + 1);
            (0..layer.exchange.len()).rev().max_by_key(depth).unwrap_or(0)
        });
        out[l] = Some(layer.exchange[n].site);
        if here.is_some() || at.is_none() {
            at = before[l][n];
        }
    }
    out
}
