//! INPUT: `Own -> Rep`.
//!
//! **Functionality.** In shard r, from a value v that P_r knows, a replicated sharing of v.
//!
//! | party in shard r | holds after | from |
//! |---|---|---|
//! | P_r | (x_r, x_{r+1}) | x_r = F_{r-1,r}; x_{r+1} = v - x_r, sent to P_{r+1} |
//! | P_{r+1} | (x_{r+1}, x_{r+2}) | the message; x_{r+2} = 0 |
//! | P_{r+2} | (x_{r+2}, x_r) | x_{r+2} = 0; F_{r-1,r}, as r - 1 = r + 2 |
//!
//! **Cost.** One round; k bits per element of the shard by its owner, so a third of k bits per
//! element by each party.
//!
//! **Source.** Input sharing with one pseudorandom share as in Araki et al., CCS 2016.
//!
//! **View.** P_{r+1} sees v - F_{r-1,r}, uniform since it does not hold that stream; the others see
//! nothing. The simulator draws the word.
//!
//! **Leakage.** None. The zero component is public, so the sharing is not fresh: it must not be
//! opened component by component (no instruction does).

use super::{Context, Incoming, Message, assemble, part};
use crate::share::{Rep, next, prev};
use slvr_circuit::Dom;
use slvr_circuit::Lanes;
use slvr_ring::Data;

/// v - x_r of this party's shard, to P_{i+1}.
pub fn message(cx: Context<'_>, v: &Data, lanes: Lanes) -> Message {
    let mask = cx.prev(v.dom(), &lanes.stream(cx.me()));
    let mut hidden = v.clone();
    hidden.sub_assign(&mask);
    Message { to_next: Some(hidden), kept: vec![mask], ..Message::default() }
}

/// The shares of all shards.
pub fn finish(cx: Context<'_>, sent: Message, got: Incoming, dom: Dom, lanes: Lanes) -> Rep {
    let me = cx.me();
    let zero = |r: usize| Data::zeros(dom, lanes.len(r));
    let (before, after) = (prev(me), next(me));
    let first =
        assemble(&part(sent.kept.into_iter().next()), &part(got.from_prev), &zero(after), me);
    let masks = cx.next(dom, &lanes.stream(after));
    let second = assemble(&part(sent.to_next), &zero(before), &masks, me);
    Rep::new(first, second)
}
