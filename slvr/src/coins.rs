//! Public coins for evaluations in the clear, and what is drawn by them.

use crate::error::{Result, Usage};
use slvr_circuit::{Circuit, Lots, Op};
use slvr_runtime::party::session;
use slvr_runtime::protocol::committee::lots;
use std::cell::RefCell;

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

/// What coins draw, in the order in which it is asked for: samples draw theirs in the order of the
/// program, as the circuit's instructions do.
pub fn committees(coins: &[u128]) -> impl Fn(&Lots) -> Vec<Vec<u64>> + '_ {
    let rest = RefCell::new(coins.iter());
    move |drawn| {
        let coin = rest.borrow_mut().next().copied().unwrap_or(0);
        let rows = lots(coin, drawn);
        let rows = rows.chunks(drawn.k.max(1) as usize);
        rows.map(|c| c.iter().map(|&x| u64::from(x)).collect()).collect()
    }
}
