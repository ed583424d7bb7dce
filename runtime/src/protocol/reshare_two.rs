//! RESHARE_TWO: `Add2 -> Rep`.
//!
//! **Functionality.** In shard r, from t_1 of P_{r+1} and t_2 of P_{r+2}, a replicated sharing of
//! y = t_1 + t_2.
//!
//! | party in shard r | before | message | after |
//! |---|---|---|---|
//! | P_r | nothing | none | (y_r, y_{r+1}) = (F_{r+2,r}, F_{r,r+1}) |
//! | P_{r+1} | t_1 | m_1 = t_1 - y_{r+1} to P_{r+2} | (y_{r+1}, m_1 + m_2) |
//! | P_{r+2} | t_2 | m_2 = t_2 - y_r to P_{r+1} | (m_1 + m_2, y_r) |
//!
//! y_{r+2} = m_1 + m_2 = y - y_r - y_{r+1}.
//!
//! **Cost.** One round; k bits per element of the shard by each of the two, so two thirds of k bits
//! per element by each party. P_r neither sends nor receives.
//!
//! **Source.** Derived for this project from the online phase of ASTRA (CCSW 2019) and Trio, with a
//! semi-honest P_r that only supplies masks.
//!
//! **View.** P_{r+1} sees m_2 = t_2 - F_{r+2,r}, P_{r+2} sees m_1 = t_1 - F_{r,r+1}: each is masked
//! by a stream of the *other* party with P_r, so uniform. From the output share y_{r+2} and its own
//! message the simulator computes the other's as y_{r+2} - m, with the same distribution.
//!
//! **Leakage.** None.

use super::{Context, Incoming, Message, assemble, part, pieces};
use crate::share::{Rep, next, prev};
use slvr_circuit::Dom;
use slvr_circuit::Lanes;
use slvr_ring::Data;

/// In shard i - 1 (as r + 1) t_1 - F_{i-1,i}, to P_{i+1}; in shard i + 1 (as r + 2) t_2 - F_{i,i+1},
/// to P_{i-1}. Keeps the two masks.
pub fn message(cx: Context<'_>, t: &Data, lanes: Lanes) -> Message {
    let (me, dom) = (cx.me(), t.dom());
    let (mut m1, mut m2) = pieces(t, lanes, me);
    let masks = [cx.prev(dom, &lanes.stream(prev(me))), cx.next(dom, &lanes.stream(next(me)))];
    m1.sub_assign(&masks[0]);
    m2.sub_assign(&masks[1]);
    Message { to_next: Some(m1), to_prev: Some(m2), kept: masks.into(), ..Message::default() }
}

/// The shares of all shards.
pub fn finish(cx: Context<'_>, sent: Message, got: Incoming, dom: Dom, lanes: Lanes) -> Rep {
    let me = cx.me();
    let mut masks = sent.kept.into_iter();
    let (mask1, mask2) = (part(masks.next()), part(masks.next()));
    // y_{r+2} where this party is r + 1, and where it is r + 2.
    let (mut sum1, mut sum2) = (part(sent.to_next), part(sent.to_prev));
    sum1.add_assign(&part(got.from_next));
    sum2.add_assign(&part(got.from_prev));
    let own = &lanes.stream(me);
    let first = assemble(&cx.prev(dom, own), &mask1, &sum2, me);
    let second = assemble(&cx.next(dom, own), &sum1, &mask2, me);
    Rep::new(first, second)
}
