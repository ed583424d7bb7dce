//! Erases what is left of a round that has ended.

use super::states;
use crate::clock::now;
use crate::node::Node;
use crate::state::{Phase, Round, RoundKey, Step};
use crate::store::Left;
use crate::wire::RunName;

/// Erases what nobody needs any more of a round that has ended: the submissions and the state before of one that was
/// released, the words of one that was aborted. What cannot be erased is noted, and tried again now and then.
pub(crate) fn tidy(node: &Node, key: &RoundKey) {
    let Some(round) = node.round(key) else { return };
    let done = match round.phase {
        Phase::Released => node
            .store
            .erase_parts(key)
            .map_err(|e| e.to_string())
            .and_then(|()| states::settle(node, &round)),
        // It may be run again at this moment, and then what is there is of another attempt.
        Phase::Aborted => node.with_round(key, |now| match now.is_some_and(Round::ended) {
            true => node.store.erase_outcome(key).map_err(|e| e.to_string()),
            false => Ok(()),
        }),
        _ => return,
    };
    if let Err(why) = &done {
        tracing::error!(round = %key, why, "what is left of a round could not be erased: it is tried again");
    }
    node.tidied(key, done.is_ok());
}

/// Erases what is left of rounds that ended longer ago than is configured. A round whose state another one will continue
/// stays whole.
pub(crate) fn forget_old(node: &Node) {
    let Some(days) = node.config.limits.keep_days else { return };
    let before = now().saturating_sub(days.saturating_mul(24 * 3600));
    for round in node.rounds() {
        let key = &round.spec.key;
        let old = round.times[2].is_some_and(|ended| ended < before);
        if !round.ended() || round.erased || !old || node.store.has(key, Left::State) {
            continue;
        }
        match node.forget(&round) {
            Ok(()) => tracing::info!(round = %key, days, "what was left of an old round is erased"),
            Err(why) => {
                tracing::error!(round = %key, %why, "what is left of an old round cannot be erased: it is tried again");
                return;
            }
        }
    }
}

/// All have computed: this node serves its words, and forgets the submissions.
pub(super) fn release_here(node: &Node, name: &RunName) -> Result<(), String> {
    node.step(&name.key, Step::Release(name.attempt))?;
    node.step(&name.key, Step::Done)?;
    tidy(node, &name.key);
    Ok(())
}
