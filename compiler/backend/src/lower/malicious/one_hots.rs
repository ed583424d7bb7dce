//! Tables that are read at a position of which one party knows a part and the other two know the rest, where every
//! message has a proof (`statements`).
//!
//! Among semi-honest parties the owner deals its table, turned by its part of the position
//! ([`crate::lower::common::lookup`]), and nobody checks it. Here it says its part a itself, in a form of which there
//! is a statement: as a thermometer code, whose bit v is [a >= v], and, where the entries are words, with each of these
//! bits as a word, too. Two neighbours of the code differ by an entry of the one-hot of a. With F_v what the table says
//! at a = v, which the other two know for every v, the entry is
//!
//! F_0 + sum over v from 1 on of [a >= v] (F_v - F_(v-1)).
//!
//! | macro | rounds | bits in all, n bits of the position, entries of k bits |
//! |---|---|---|
//! | [`entry`] | 2, the first of them with what is known ahead | 2^n - 1 (the code), and (2^n - 1) k where entries are words, twice that with a factor; 2 k (`reshare_two`) |
//!
//! **Simulation.** Every message is an `input` or a `reshare_two`, uniform to its receiver; nothing is opened.
//! **Statements.** A code is monotone (`Own::Thermometer`), each of its bits is the word that says it (`Own::Word`), a
//! factor's part is multiplied by that word (`Own::Times`). **Source.** One-hots of a masked position are
//! folklore; through codes, because a one-hot over bits has no sound statement of degree two: derived for this project.

use super::plus;
use crate::cost::{TABLE_ENTRY_PRICE, WORD_PRICE};
use crate::lower::Emit;
use slvr_circuit::tables::MAX_BLOCK;
use slvr_circuit::{Op, ValueId};
use slvr_graph::analysis::truth_tables::MOST_BITS;

/// Whether a table of 2^bits entries of k bits, read once for each element and maybe times a factor, takes less time
/// than a round. Where no network is known, on a local one.
pub fn pays(e: &Emit, bits: u64, elements: u64, k: u32, times: bool) -> bool {
    if !(2..=u64::from(MAX_BLOCK).min(MOST_BITS as u64)).contains(&bits) {
        return false;
    }
    let tuning = e.target.family().tuning();
    let entries = f64::from(1u32 << bits) * if times { 2.0 } else { 1.0 };
    let proven = entries * (TABLE_ENTRY_PRICE + elements as f64 * WORD_PRICE);
    tuning.time(0.0, f64::from(k + 1) * entries, elements) + proven <= tuning.time(1.0, 0.0, 0)
}

/// The entry of a table of bits at each element's position: `own` xor `dup` where these are n planes, their sum modulo
/// 2^n where they are words. As a bit or as a word of Z_2^k, and of words times a replicated word y, if there is one.
pub fn entry(
    e: &mut Emit,
    (own, dup): (ValueId, ValueId),
    table: &[bool],
    word: Option<u32>,
    times: Option<ValueId>,
) -> ValueId {
    let n = table.len().trailing_zeros();
    let is_sum = !e.ty(own).dom.is_bits();
    let bits = |e: &mut Emit, x| if is_sum { e.add(Op::ToBits { x, lo: 0, w: n }) } else { x };
    let (own, dup) = (bits(e, own), bits(e, dup));
    let code = e.add(Op::Thermometer { x: own, blocks: vec![n] });
    let said = e.add(Op::Input(code));
    let known = entries(e, dup, table, is_sum);
    let mut sum: Option<ValueId> = None;
    let mut join = |e: &mut Emit, x, by| {
        let x = e.add(Op::AsAdd2(x));
        let term = e.add(Op::Mul(x, by));
        sum = plus(e, sum, term);
    };
    let Some(k) = word else {
        for (v, pair) in (0..).zip(known.windows(2)) {
            let by = e.add(Op::Add(pair[1], pair[0]));
            let bit = e.planes(said, v, 1, 1);
            join(e, bit, by);
        }
        return shared(e, sum, Some(known[0]));
    };
    let known: Vec<ValueId> = known.into_iter().map(|f| e.add(Op::FromBits(f, k))).collect();
    let parts = times.map(|y| (y, e.add(Op::Own(y)), e.add(Op::Dup(y))));
    for (v, pair) in (0..).zip(known.windows(2)) {
        let by = e.add(Op::Sub(pair[1], pair[0]));
        let bit = e.planes(code, v, 1, 1);
        let bit = e.add(Op::FromBits(bit, k));
        let word = e.add(Op::Input(bit));
        match parts {
            None => join(e, word, by),
            Some((_, a, b)) => {
                let times_a = e.add(Op::Mul(bit, a));
                let times_a = e.add(Op::Input(times_a));
                join(e, times_a, by);
                let by = e.add(Op::Mul(by, b));
                join(e, word, by);
            }
        }
    }
    match parts {
        None => shared(e, sum, Some(known[0])),
        Some((y, ..)) => {
            join(e, y, known[0]);
            shared(e, sum, None)
        }
    }
}

/// What two parties exchange, and what they know besides, as a replicated value.
fn shared(e: &mut Emit, sum: Option<ValueId>, rest: Option<ValueId>) -> ValueId {
    let sum = sum.map(|sum| e.add(Op::ReshareTwo(sum)));
    let rest = rest.map(|rest| e.add(Op::Trivial(rest)));
    let all = rest.map_or(sum, |rest| plus(e, sum, rest));
    all.unwrap_or_else(|| unreachable!("a table has an entry"))
}

/// The table's bits at v + d modulo 2^n, or at v xor d, for every v, with d the n planes that two parties know. With
/// S_j = [d >= j] that is its bit at d = 0, and S_j for every j at which it changes.
fn entries(e: &mut Emit, d: ValueId, table: &[bool], is_sum: bool) -> Vec<ValueId> {
    let size = table.len();
    let at = |v: usize, d: usize| table[if is_sum { (v + d) % size } else { v ^ d }];
    let code = e.add(Op::Thermometer { x: d, blocks: vec![size.trailing_zeros()] });
    let zero = e.zero_plane(code);
    let one = e.add(Op::Not(zero));
    // Plane 0 is 1, plane j is S_j.
    let all = e.stack(vec![one, code]);
    let row = |v: usize| {
        let mut row = vec![0u32; size.div_ceil(32)];
        for j in 0..size {
            let before = j > 0 && at(v, j - 1);
            row[j / 32] |= u32::from(at(v, j) != before) << (j % 32);
        }
        row
    };
    let rows = (0..size).flat_map(row).collect();
    let found = e.add(Op::Xors { x: all, rows });
    (0..size as u32).map(|v| e.planes(found, v, 1, 1)).collect()
}
