//! MASK: `-> Mask`, and what a [`Mask`](slvr_circuit::Hold::Mask) value is at each party.
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

use super::{Context, join_parts, places};
use crate::share::{Rep, next, prev};
use slvr_circuit::Dom;
use slvr_circuit::Lanes;
use slvr_ring::Data;
use std::ops::Range;

/// This party's words of a fresh mask.
pub fn fresh(cx: Context<'_>, dom: Dom, lanes: Lanes) -> Rep {
    let (me, s) = (cx.me(), cx.mask());
    // As r + 1 of shard i - 1 the word is shared with party i - 1; as r + 2 of shard i + 1 with i + 1.
    let parts = |other| ordered(me, other).map(|r| lanes.stream(r));
    Rep::new(
        cx.prss.parts_with_prev(s, dom, parts(prev(me))),
        cx.prss.parts_with_next(s, dom, parts(next(me))),
    )
}

/// Two shards in the order of their indices.
fn ordered(a: usize, b: usize) -> [usize; 2] {
    [a.min(b), a.max(b)]
}

/// From the words of the own shard and of the other one: first words of shards i and i - 1, second words
/// of shards i and i + 1.
pub(crate) fn make(me: usize, first: [&Data; 2], second: [&Data; 2]) -> Rep {
    let joined = |[own, of_other]: [&Data; 2], other: usize| match me < other {
        true => Data::concat(&[own, of_other]),
        false => Data::concat(&[of_other, own]),
    };
    Rep::new(joined(first, prev(me)), joined(second, next(me)))
}

/// The part a of a replicated value.
pub fn of(x: &Rep, lanes: Lanes, me: usize) -> Rep {
    let s = lanes.ranges();
    let part = |x: &Data, other: usize| {
        let [a, b] = ordered(me, other).map(|r| s[r].clone());
        Data::join(&[(x, a), (x, b)])
    };
    Rep::new(part(&x.first, prev(me)), part(&x.second, next(me)))
}

/// Where the words of a mask lie: of the own shard y_r in the first words and y_{r+1} in the second; of
/// shard i - 1 y_{r+1}, in the first words; of shard i + 1 y_r, in the second.
pub struct Places {
    /// y_r of the own shard, in the first words.
    pub own_first: Range<usize>,
    /// y_{r+1} of the own shard, in the second words.
    pub own_second: Range<usize>,
    /// Of shard i - 1, in the first words.
    pub before: Range<usize>,
    /// Of shard i + 1, in the second words.
    pub after: Range<usize>,
}

impl Places {
    /// For a party and the mask's shards.
    pub fn new(lanes: Lanes, me: usize) -> Self {
        let [own_first, before] = places(lanes, me, prev(me));
        let [own_second, after] = places(lanes, me, next(me));
        Places { own_first, own_second, before, after }
    }
}

/// a of the own shard.
pub fn own(mask: &Rep, lanes: Lanes, me: usize) -> Data {
    let at = Places::new(lanes, me);
    let mut a = mask.first.slice(at.own_first);
    a.add_part(&mask.second, at.own_second);
    a
}

/// y_{r+1} of shard i - 1 and y_r of shard i + 1, as a value that is additive between two.
pub fn others(mask: &Rep, lanes: Lanes, me: usize) -> Data {
    let at = Places::new(lanes, me);
    join_parts((&mask.first, at.before), (&mask.second, at.after), me)
}
