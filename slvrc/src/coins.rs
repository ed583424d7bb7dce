//! Public coins for evaluations in the clear, and the committees that follow from them.

use crate::fail::Usage;
use slvr_circuit::{Circuit, Op};
use slvr_runtime::party::session;
use slvr_runtime::protocol::committee::committee;
use std::cell::RefCell;

/// The coins of a run as its `--json` report prints them, or those that `run --seed` draws.
pub fn coins(circuit: &Circuit, given: &[String], seed: u64) -> anyhow::Result<Vec<u128>> {
    let layers = circuit.layers.iter();
    let needed = layers.flat_map(|l| &l.exchange).filter(|i| i.op == Op::Coin).count();
    if given.is_empty() {
        return Ok(session::coins(circuit, seed));
    }
    let coins: Result<Vec<u128>, _> =
        given.iter().map(|c| u128::from_str_radix(c.trim(), 16)).collect();
    match coins {
        Ok(coins) if coins.len() == needed => Ok(coins),
        Ok(coins) => {
            let got = coins.len();
            Err(Usage(format!("--coins: this circuit draws {needed}, {got} given")).into())
        }
        Err(e) => Err(Usage(format!("--coins: {e}; 32 hexadecimal digits each")).into()),
    }
}

/// The committees of coins, in the order in which they are asked for: samples draw theirs in the order of the
/// program, as the circuit's instructions do.
pub fn committees(coins: &[u128]) -> impl Fn(u64, u64) -> Vec<Vec<u64>> + '_ {
    let rest = RefCell::new(coins.iter());
    move |n, k| {
        let coin = rest.borrow_mut().next().copied().unwrap_or(0);
        let flat = committee(coin, n, k);
        flat.chunks(k.max(1) as usize).map(|c| c.iter().map(|&x| u64::from(x)).collect()).collect()
    }
}
