//! Truth tables that the dealer deals and the other two look up.

use super::masked::{Pair, Split};
use crate::cost::Tuning;
use crate::lower::Emit;
use slvr_circuit::Op;

/// A function of the n bits of planes whose part b is known, as a bit or as a word of Z_2^k: the dealer deals
/// its table at a xor v for all v.
pub fn lookup(e: &mut Emit, x: &Split, table: &[bool], words: Option<u32>) -> Pair {
    let data = table.iter().map(|&v| u128::from(v)).collect();
    let ring = words.unwrap_or(1);
    let table = e.constant(words.is_none(), ring, &[table.len() as u64], data);
    let own = e.add(Op::Table { x: x.own, table });
    let dealt = e.add(Op::Deal(own));
    Pair { own: None, add2: e.add(Op::Entry { table: dealt, index: x.dup }) }
}

/// All of the planes' bits as a table: 1 where every bit is.
pub(crate) fn all_ones(n: u32) -> Vec<bool> {
    (0..1usize << n).map(|v| v + 1 == 1 << n).collect()
}

/// Whether dealing a table costs less time than the rounds that it saves.
pub(crate) fn pays(bits: u64, elements: u64, rounds: f64, tuning: Tuning) -> bool {
    tuning.time(0.0, bits as f64, elements) <= tuning.time(rounds, 0.0, elements)
}
