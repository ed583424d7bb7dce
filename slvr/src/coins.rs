//! Public coins for evaluations in the clear, and what is drawn by them.

use crate::error::{Result, Usage};
use slvr_circuit::{Circuit, Op};
use slvr_runtime::party::session;

/// The coins of a run as its `--json` report prints them, or those that `run --seed` draws.
pub fn coins(circuit: &Circuit, given: &[String], seed: u64) -> Result<Vec<u128>> {
    let layers = circuit.layers.iter();
    let needed = layers.flat_map(|l| &l.exchange).filter(|i| i.op == Op::Coin).count();
    if given.is_empty() {
        return Ok(session::coins(circuit, seed));
    }
    let coins: std::result::Result<Vec<u128>, _> =
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
