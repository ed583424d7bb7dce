//! RESHARE: `Add3 -> Rep`.
//!
//! **Functionality.** From words z_0, z_1, z_2 of the three parties, a fresh replicated sharing of
//! z = z_0 + z_1 + z_2.
//!
//! | party | before | message | after |
//! |---|---|---|---|
//! | P_i | z_i | w_i = z_i + alpha_i to P_{i-1} | (w_i, w_{i+1}) |
//!
//! alpha_i = F_{i,i+1} - F_{i-1,i}, so alpha_0 + alpha_1 + alpha_2 = 0.
//!
//! **Cost.** One round; k bits per element by each party.
//!
//! **Source.** Araki, Furukawa, Lindell, Nof, Ohara, CCS 2016, section 2.2 ("MULT gates"): with
//! z_i = x_i y_i + x_i y_{i+1} + x_{i+1} y_i this is their multiplication, in the equivalent sharing
//! x_0 + x_1 + x_2 = x.
//!
//! **View.** P_i sees w_{i+1} = z_{i+1} + F_{i+1,i+2} - F_{i,i+1}. It does not know F_{i+1,i+2}, so
//! the word is uniform and independent of all inputs; the simulator draws it. Given the two words of
//! P_i, the third component w_{i+2} = z - w_i - w_{i+1} is fixed by the output: the sharing is fresh.
//!
//! **Leakage.** None.

use super::{Context, Incoming, Message, part};
use crate::share::Rep;
use slvr_ring::Data;

/// w_i, to P_{i-1}.
pub fn message(cx: Context<'_>, z: &Data) -> Message {
    let mut w = cx.prss.zero(cx.instr, z.dom(), z.len());
    w.add_assign(z);
    Message { to_prev: Some(w), ..Message::default() }
}

/// (w_i, w_{i+1}).
pub fn finish(sent: Message, got: Incoming) -> Rep {
    Rep::new(part(sent.to_prev), part(got.from_next))
}
