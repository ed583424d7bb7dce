//! OPEN_MASKED: `Add2, Mask -> Dup`.
//!
//! **Functionality.** In shard r, from t_1 of P_{r+1} and t_2 of P_{r+2}, and a mask a = y_r + y_{r+1}, both
//! learn t_1 + t_2 - a.
//!
//! | party in shard r | before | message | after |
//! |---|---|---|---|
//! | P_r | nothing | none | nothing |
//! | P_{r+1} | t_1, y_{r+1} | m_1 = t_1 - y_{r+1} to P_{r+2} | m_1 + m_2 |
//! | P_{r+2} | t_2, y_r | m_2 = t_2 - y_r to P_{r+1} | m_1 + m_2 |
//!
//! P_r learned a before ([`mask`](super::mask)) and neither sends nor receives, so all that it deals
//! for later rounds can run ahead: this is what makes the rounds of a dealer-style protocol those of its
//! other two parties.
//!
//! **Cost.** One round; k bits per element of the shard by each of the two.
//!
//! **Source.** The online phase of ASTRA (Chaudhari, Choudhury, Patra, Suresh, CCSW 2019).
//!
//! **View.** P_{r+1} sees m_2 = t_2 - y_r, and does not hold y_r, which is uniform and masks nothing else
//! (the verifier admits a mask in one `open_masked` only) and on which t_2 does not depend (`verify::masks` of the
//! circuit crate): the simulator draws it. P_{r+2} sees m_1 likewise.
//!
//! **Leakage.** None: t - a is uniform to both, given all they hold.

use super::mask::Places;
use super::{Context, Incoming, Message, join, part, pieces};
use crate::share::Rep;
use slvr_circuit::Lanes;
use slvr_ring::Data;

/// In shard i - 1 (as r + 1) m_1, to P_{i+1}; in shard i + 1 (as r + 2) m_2, to P_{i-1}.
pub fn message(cx: Context<'_>, t: &Data, a: &Rep, lanes: Lanes) -> Message {
    let me = cx.me();
    let (mut m1, mut m2) = pieces(t, lanes, me);
    let at = Places::new(lanes, me);
    m1.sub_part(&a.first, at.before);
    m2.sub_part(&a.second, at.after);
    Message { to_next: Some(m1), to_prev: Some(m2), ..Message::default() }
}

/// t - a in the two shards that this party does not own.
pub fn finish(cx: Context<'_>, sent: Message, got: Incoming) -> Data {
    let (mut sum1, mut sum2) = (part(sent.to_next), part(sent.to_prev));
    sum1.add_assign(&part(got.from_next));
    sum2.add_assign(&part(got.from_prev));
    join(&sum1, &sum2, cx.me())
}
