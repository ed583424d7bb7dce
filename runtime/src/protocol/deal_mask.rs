//! DEAL_MASK: `Own -> Mask`.
//!
//! **Functionality.** In shard r, from a value v that P_r knows, words y_r + y_{r+1} = v: P_{r+1} learns
//! y_{r+1}, P_{r+2} learns y_r.
//!
//! | party in shard r | holds after | from |
//! |---|---|---|
//! | P_r | (v - rho, rho) | rho = F_{r,r+1}; sends v - rho to P_{r+2} |
//! | P_{r+1} | rho | F_{r,r+1} |
//! | P_{r+2} | v - rho | the message |
//!
//! **Cost, source, view, leakage.** As [`deal`](super::deal), of which this is the form in which the
//! owner keeps the words.

use super::{Context, Incoming, Message, mask, part};
use crate::share::{Rep, prev};
use slvr_circuit::Dom;
use slvr_circuit::Lanes;
use slvr_ring::Data;

/// v - rho of this party's shard, to P_{i-1} = P_{i+2}.
pub fn message(cx: Context<'_>, v: &Data, lanes: Lanes) -> Message {
    let rho = cx.next(v.dom(), &lanes.stream(cx.me()));
    let mut hidden = v.clone();
    hidden.sub_assign(&rho);
    Message { to_prev: Some(hidden), kept: vec![rho], ..Message::default() }
}

/// This party's words.
pub fn finish(cx: Context<'_>, sent: Message, got: Incoming, dom: Dom, lanes: Lanes) -> Rep {
    let me = cx.me();
    let before = cx.prev(dom, &lanes.stream(prev(me)));
    let (hidden, rho) = (part(sent.to_prev), part(sent.kept.into_iter().next()));
    mask::make(me, [&hidden, &before], [&rho, &part(got.from_next)])
}
