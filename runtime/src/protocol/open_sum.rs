//! OPEN_SUM: `Add3 -> Public`.
//!
//! **Functionality.** All three parties learn z = z_0 + z_1 + z_2.
//!
//! | party | before | message | after |
//! |---|---|---|---|
//! | P_i | z_i | w_i = z_i + alpha_i to P_{i+1} and P_{i-1} | z = w_0 + w_1 + w_2 |
//!
//! alpha_i as in [`reshare`](super::reshare).
//!
//! **Cost.** One round; k bits per element by each party to each other: twice an [`open`](super::open), and
//! one round less than a reshare before it.
//!
//! **Source.** The opening of additive shares, as to a receiver ([`open_to`](super::open_to)).
//!
//! **View.** P_i sees w_{i+1} and w_{i+2}, which are uniform but for their sum z - w_i, since alpha is a fresh
//! sharing of zero of which it knows one word: the simulator draws one and computes the other from the
//! output.
//!
//! **Leakage.** z, to all parties.

use super::{Context, Incoming, Message, part};
use slvr_ring::Data;

/// w_i, to both others.
pub fn message(cx: Context<'_>, z: &Data) -> Message {
    let mut w = cx.prss.zero(cx.instr, z.dom(), z.len());
    w.add_assign(z);
    Message { to_next: Some(w.clone()), to_prev: Some(w), ..Message::default() }
}

/// z.
pub fn finish(sent: Message, got: Incoming) -> Data {
    let mut z = part(sent.to_next);
    z.add_assign(&part(got.from_next));
    z.add_assign(&part(got.from_prev));
    z
}
