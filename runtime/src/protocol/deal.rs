//! DEAL: `Own -> Add2`.
//!
//! **Functionality.** In shard r, from a value v that P_r knows, an additive sharing of v between
//! P_{r+1} and P_{r+2}.
//!
//! | party in shard r | holds after | from |
//! |---|---|---|
//! | P_r | nothing | sends v - rho to P_{r+2} |
//! | P_{r+1} | rho | rho = F_{r,r+1} |
//! | P_{r+2} | v - rho | the message |
//!
//! **Cost.** One round, at any time before the result is used; k bits per element of the shard by
//! its owner. The message depends on nothing that P_{r+1} and P_{r+2} do, so it can run ahead.
//!
//! **Source.** The dealer's message of ASTRA (Chaudhari, Choudhury, Patra, Suresh, CCSW 2019) with an
//! input-dependent dealer.
//!
//! **View.** P_{r+2} sees v - F_{r,r+1}, uniform since it does not hold that stream; the others see
//! nothing. The simulator draws the word.
//!
//! **Leakage.** None.

use super::{Context, Incoming, Message, join, part};
use crate::share::prev;
use slvr_circuit::Dom;
use slvr_circuit::Lanes;
use slvr_ring::Data;

/// v - rho of this party's shard, to P_{i-1} = P_{i+2}.
pub fn message(cx: Context<'_>, v: &Data, lanes: Lanes) -> Message {
    let mut hidden = cx.next(v.dom(), &lanes.stream(cx.me()));
    hidden.sub_from(v);
    Message { to_prev: Some(hidden), ..Message::default() }
}

/// This party's words in the two shards it does not own: rho in shard i - 1, the message in i + 1.
pub fn finish(cx: Context<'_>, got: Incoming, dom: Dom, lanes: Lanes) -> Data {
    let rho = cx.prev(dom, &lanes.stream(prev(cx.me())));
    join(&rho, &part(got.from_next), cx.me())
}
