//! OPEN: `Rep -> Public`.
//!
//! **Functionality.** All three parties learn x.
//!
//! | party | before | message | after |
//! |---|---|---|---|
//! | P_i | (x_i, x_{i+1}) | x_i to P_{i+1} | x = x_i + x_{i+1} + x_{i-1} |
//!
//! **Cost.** One round; k bits per element by each party.
//!
//! **Source.** Araki et al., CCS 2016, section 2.2 (reconstruction).
//!
//! **View.** P_i sees x_{i-1} = x - x_i - x_{i+1}, which follows from its own share and the output.
//!
//! **Leakage.** x, to all parties: only for protocol steps whose opened value is stated and argued
//! to be harmless where the compiler emits them.

use super::{Incoming, Message, part};
use crate::share::Rep;
use slvr_ring::Data;

/// x_i, to P_{i+1}.
pub fn message(x: &Rep) -> Message {
    Message { to_next: Some((*x.first).clone()), ..Message::default() }
}

/// x.
pub fn finish(x: &Rep, got: Incoming) -> Data {
    let mut out = part(got.from_prev);
    out.add_assign(&x.first);
    out.add_assign(&x.second);
    out
}
