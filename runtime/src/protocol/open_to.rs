//! OPEN_TO: `Add3 ->` a receiver outside the three parties.
//!
//! **Functionality.** The receiver learns z = z_0 + z_1 + z_2; nobody else learns anything.
//!
//! | party | before | message | after |
//! |---|---|---|---|
//! | P_i | z_i | w_i = z_i + alpha_i to the receiver | nothing |
//! | receiver | | | z = w_0 + w_1 + w_2 |
//!
//! alpha_i as in [`reshare`](super::reshare). A sum of products that is only revealed is never
//! reshared: its local words are opened as they are, masked.
//!
//! **Cost.** One round; k bits per element by each party.
//!
//! **Source.** The opening of additive shares, masked as by [`reshare`](super::reshare).
//!
//! **View.** The parties receive nothing. The receiver sees three words that are uniform but for
//! their sum z, since alpha is a fresh sharing of zero: the simulator draws two and computes the
//! third from the output. Without alpha the words would be functions of the inputs' shares.
//!
//! **Leakage.** z, to the receiver.

use super::{Context, Message};
use slvr_ring::Data;

/// w_i, to the receiver.
pub fn message(cx: Context<'_>, z: &Data) -> Message {
    let mut w = cx.prss.zero(cx.instr, z.dom(), z.len());
    w.add_assign(z);
    Message { to_receiver: Some(w), ..Message::default() }
}
