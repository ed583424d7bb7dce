//! COIN: public coins, one word of Z_2^128.
//!
//! **Functionality.** All three parties learn a uniform word.
//!
//! | party | holds | message | after |
//! |---|---|---|---|
//! | P_i | (c_i, c_{i+1}) = (F_{i-1,i}, F_{i,i+1}) | c_i to P_{i+1} | c_0 + c_1 + c_2 |
//!
//! **Cost.** One round; 16 bytes by each party.
//!
//! **Source.** Araki et al., CCS 2016: correlated randomness as a sharing of a random value, opened.
//!
//! **View.** P_i sees c_{i-1} = F_{i-2,i-1}, a stream of the other two: uniform, and it makes the
//! coins uniform given everything P_i knew before. The simulator computes it from the output.
//!
//! **Leakage.** The coins, to all parties. They are drawn after the inputs were shared, so an input
//! cannot depend on them.

use super::{Context, Incoming, Message, part};
use crate::share::{Purpose, Stream};
use slvr_circuit::interaction::COINS;
use slvr_ring::Data;

/// c_i, to P_{i+1}. Keeps c_i + c_{i+1}.
pub fn message(cx: Context<'_>) -> Message {
    let (s, dom) = (Stream::new(cx.instr, Purpose::Coin), COINS);
    let mine = cx.prss.with_prev(s, dom, 0, 1);
    let mut both = cx.prss.with_next(s, dom, 0, 1);
    both.add_assign(&mine);
    Message { to_next: Some(mine), kept: vec![both], ..Message::default() }
}

/// The coins.
pub fn finish(sent: Message, got: Incoming) -> Data {
    let mut coin = part(sent.kept.into_iter().next());
    coin.add_assign(&part(got.from_prev));
    coin
}
