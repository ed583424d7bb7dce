//! What a round reveals to one member of a party set, put together from what the three nodes tell it.

use super::{CallError, Caller, round_path};
use crate::words::Revealing;
use hyper::Method;
use slvr_circuit::{Output, artifact};
use slvr_runtime::party::members::{Piece, join};
use slvr_runtime::share::reveal::Revealed;

/// What a member gets.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Which member of which set it is, and of which circuit.
    pub of: Revealing,
    /// What is revealed to it, and how it is declared.
    pub outputs: Vec<(Output, Revealed)>,
}

impl Caller {
    /// What a round reveals to this caller, which nobody else gets: no node knows it, and the coordinator is told nothing
    /// of it.
    ///
    /// # Errors
    ///
    /// A round that is not released at all nodes, or reveals nothing to this caller; nodes that do not say the same.
    pub fn fetch(&self, task: &str, round: u64) -> Result<Fetched, CallError> {
        let path = round_path(task, round, "/reveals");
        let of = |node: usize| -> Result<Revealing, CallError> {
            let most = artifact::MAX_PAYLOAD as usize;
            let (_, bytes) = self.call(node, &Method::GET, &path, &[], &[], most)?;
            let told: Revealing = serde_json::from_slice(&bytes).map_err(|_| odd(node))?;
            // Otherwise three nodes could agree on something else that this caller was told before.
            let asked = (told.task.as_str(), told.round) == (task, round);
            if asked { Ok(told) } else { Err(odd(node)) }
        };
        put_together(self.all(of)?)
    }

    /// Has all nodes erase what a round reveals to this caller.
    ///
    /// # Errors
    ///
    /// A node that says no or cannot be reached.
    pub fn forget(&self, task: &str, round: u64) -> Result<(), CallError> {
        self.erase(task, round, &["reveals"]).map(drop)
    }
}

fn odd(node: usize) -> CallError {
    CallError::Disagree(format!("node {node}: what it tells makes no sense"))
}

/// Puts together what the three nodes tell.
fn put_together(told: [Revealing; 3]) -> Result<Fetched, CallError> {
    let about = |t: &Revealing| Revealing { outputs: Vec::new(), ..t.clone() };
    for (node, other) in told.iter().enumerate() {
        if about(other) != about(&told[0]) || other.outputs.len() != told[0].outputs.len() {
            return Err(CallError::Disagree(format!(
                "nodes 0 and {node} do not tell of the same run, or not of the same member"
            )));
        }
    }
    let mut outputs = Vec::new();
    for i in 0..told[0].outputs.len() {
        let piece = |node: usize| -> Result<Piece, CallError> {
            told[node].outputs.get(i).and_then(|w| w.piece()).ok_or_else(|| odd(node))
        };
        let [a, b, c] = [piece(0)?, piece(1)?, piece(2)?];
        let whole = join([&a, &b, &c]);
        let whole = whole.map_err(|e| CallError::Disagree(format!("the result: {e}")))?;
        outputs.push((a.output, whole));
    }
    Ok(Fetched { of: about(&told[0]), outputs })
}
