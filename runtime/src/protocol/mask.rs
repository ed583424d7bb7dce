//! MASK: `-> Mask`, and what a [`Mask`](crate::circuit::Hold::Mask) value is at each party.
//!
//! **Functionality.** In shard r a fresh uniform a = y_r + y_{r+1}: P_r learns both words, P_{r+1} learns
//! y_{r+1}, P_{r+2} learns y_r.
//!
//! | party in shard r | holds after | from |
//! |---|---|---|
//! | P_r | (y_r, y_{r+1}) | F_{r+2,r}, F_{r,r+1} |
//! | P_{r+1} | y_{r+1} | F_{r,r+1} |
//! | P_{r+2} | y_r | F_{r+2,r} |
//!
//! A party stores its first words (y_i, of shards i and i - 1) and its second words (y_{i+1}, of shards i
//! and i + 1), each in the order of the shards: the components of a replicated value in which the part b
//! is 0 and not stored.
//!
//! **Cost.** None: local. Two pseudorandom words in the own shard, one in each other.
//!
//! **Source.** The masks of ASTRA (Chaudhari, Choudhury, Patra, Suresh, CCSW 2019), section 3.
//!
//! **View.** Nothing is sent. To P_{r+1} and P_{r+2} the word that each does not hold is uniform.
//!
//! **Leakage.** None.

use super::{Context, in_order, places};
use crate::circuit::Lanes;
use crate::ring::{Data, Dom};
use crate::share::{Rep, next, prev};

/// This party's words of a fresh mask.
pub fn fresh(cx: Context<'_>, dom: Dom, lanes: Lanes) -> Rep {
    let me = cx.me();
    let first = |r: usize| cx.prev(dom, &lanes.stream(r));
    let second = |r: usize| cx.next(dom, &lanes.stream(r));
    // As r + 1 of shard i - 1 the word is shared with party i - 1; as r + 2 of shard i + 1 with i + 1.
    make(me, [&first(me), &first(prev(me))], [&second(me), &second(next(me))])
}

/// From the words of the own shard and of the other one: first words of shards i and i - 1, second words
/// of shards i and i + 1.
pub(crate) fn make(me: usize, first: [&Data; 2], second: [&Data; 2]) -> Rep {
    Rep::new(
        in_order((me, first[0]), (prev(me), first[1])),
        in_order((me, second[0]), (next(me), second[1])),
    )
}

/// The part a of a replicated value.
pub fn of(x: &Rep, lanes: Lanes, me: usize) -> Rep {
    let s = lanes.ranges();
    let first = |r: usize| x.first.slice(s[r].clone());
    let second = |r: usize| x.second.slice(s[r].clone());
    make(me, [&first(me), &first(prev(me))], [&second(me), &second(next(me))])
}

/// The words of a mask, taken apart: of the own shard y_r and y_{r+1}; y_{r+1} of shard i - 1; y_r of shard
/// i + 1.
pub fn parts(mask: &Rep, lanes: Lanes, me: usize) -> [Data; 4] {
    let [own, other] = places(lanes, me, prev(me));
    let (y0, before) = (mask.first.slice(own), mask.first.slice(other));
    let [own, other] = places(lanes, me, next(me));
    let (y1, after) = (mask.second.slice(own), mask.second.slice(other));
    [y0, y1, before, after]
}
