//! What is left of a round that has ended is erased, once someone says so who may.
//!
//! Whoever erases something at three nodes asks each of them first whether it would (`?check=true`): what one of them refuses, or
//! cannot be asked, is erased at none.

use super::body::Inbound;
use super::keep::store;
use super::reply::{Body, Refused, no_round, object, refused};
use crate::codes::Code;
use crate::node::Node;
use crate::state::{Round, RoundKey, Step};
use crate::store::{Left, StoreError};
use hyper::{Request, Response};
use serde_json::json;

/// Whether it is only asked.
pub(super) fn only_asks(request: &Request<Inbound>) -> Result<bool, Refused> {
    match request.uri().query() {
        None | Some("check=false") => Ok(false),
        Some("check=true") => Ok(true),
        Some(_) => refused(400, Code::Query, "?check=true is all that can be asked"),
    }
}

/// A round of which something may be erased.
fn ended(node: &Node, key: &RoundKey) -> Result<(), Refused> {
    match node.round(key) {
        None => no_round(key),
        Some(round) if !round.ended() => {
            refused(409, Code::Phase, format!("the round is {}", round.phase))
        }
        Some(_) => Ok(()),
    }
}

/// Erases what a coordinator names of a round: `words`, `submissions` or `reveals`.
pub(super) fn erase(
    node: &Node,
    key: &RoundKey,
    what: &str,
    only_asks: bool,
) -> Result<Response<Body>, Refused> {
    ended(node, key)?;
    match what {
        _ if only_asks => stored(Ok(())),
        "words" => stored(node.store.erase(key, Left::Result)),
        "reveals" => stored(node.store.erase_reveals(key)),
        _ => {
            if let Err(e) = node.advance(key, Step::Drop) {
                return refused(409, Code::Phase, e.to_string());
            }
            // It may be run again at this moment.
            let ended = |now: Option<&Round>| now.is_none_or(Round::ended);
            match node.with_round(key, |now| ended(now).then(|| node.store.erase_parts(key))) {
                Some(done) => stored(done),
                None => refused(409, Code::Phase, "the round is run again"),
            }
        }
    }
}

/// Erases what a round reveals to a member of a party set.
pub(super) fn erase_own(
    node: &Node,
    key: &RoundKey,
    client: &str,
    only_asks: bool,
) -> Result<Response<Body>, Refused> {
    ended(node, key)?;
    stored(if only_asks { Ok(()) } else { node.store.erase(key, Left::Reveal(client)) })
}

/// The answer to what the store was asked to do.
pub(super) fn stored(done: Result<(), StoreError>) -> Result<Response<Body>, Refused> {
    store(done).map(|()| object(200, &json!({ "ok": true })))
}
