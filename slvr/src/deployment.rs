//! Calls of clients and of the coordinator to the three nodes of a deployment.

use crate::error::{Error, Result};
use crate::notes::{Note, Notes};
use serde_json::Value;
use slvr_circuit::{Circuit, artifact};
use slvr_node::client::{CallError, Caller};
use slvr_node::codes::Code;
use slvr_node::config::{CallerConfig, is_open_to_others};
use slvr_node::hex::Hex;
use slvr_node::submission::{Signer, Submission, pack_public, set_named};
use slvr_runtime::share::encode::{RawTensor, encode_public};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Tensors by the names of inputs.
pub type Tensors = BTreeMap<String, RawTensor>;

/// Whoever calls nodes with a file of configuration, as `slvrc keys` makes it.
///
/// # Errors
///
/// [`Error::Input`] of a file that cannot be used.
pub fn caller(config: &Path, notes: Notes<'_>) -> Result<Caller> {
    let read = CallerConfig::read(config).map_err(|e| Error::Input(e.to_string()))?;
    let secrets = [Some(config), read.key.as_deref()].into_iter().flatten();
    for secret in secrets.filter(|p| is_open_to_others(p)) {
        notes(Note::Note(&format!(
            "{}: others than its owner may read this secret: chmod 600",
            secret.display()
        )));
    }
    let used = |e: CallError| Error::Input(format!("{}: cannot be used: {e}", config.display()));
    Caller::new(read).map_err(used)
}

/// What a client holds the opening of a round against; nothing where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    /// Hash of the circuit for all clients.
    pub circuit: Option<[u8; 32]>,
    /// Hash of what it was given outside of the nodes: others of the round were given the same.
    pub context: Option<[u8; 32]>,
}

/// A client's submission that is made and not sent yet.
pub struct Made {
    /// The circuit of the round for all its clients.
    pub circuit: Circuit,
    pub submission: Submission,
}

/// Makes a client's submission to a round, from tensors that `read` gives for the circuit and a number of the party
/// set. `expected` is what the client has made up its mind to submit to.
///
/// # Errors
///
/// [`Error::Call`], also of a round with another context than is expected; [`Error::Input`] of tensors that are not as
/// declared, and of another circuit.
pub fn prepare(
    caller: &Caller,
    (task, round): (&str, u64),
    expected: Expected,
    until: Instant,
    read: impl FnOnce(&Circuit, usize) -> Result<Tensors>,
) -> Result<Made> {
    let secret = caller.config().secret.as_ref();
    let secret = secret.ok_or_else(|| {
        Error::Input("the configuration has no `secret`: is it a client's?".into())
    })?;
    let signer = Signer::new(&secret.0).map_err(|e| Error::Input(e.to_string()))?;
    // A node that is not there yet is waited for from the first request on.
    let opening = caller.patiently(until, || caller.opening(task, round))?;
    let circuit = caller.patiently(until, || caller.circuit_of(&opening))?;
    if let Some(expected) = expected.circuit.filter(|hash| *hash != artifact::hash(&circuit)) {
        return Err(Error::Input(format!(
            "{task}/{round} has the circuit {}, and {} is expected",
            opening.circuit,
            Hex(expected)
        )));
    }
    if expected.context.is_some_and(|context| opening.context != Some(Hex(context))) {
        let why = "was opened for clients who were given something else than this one";
        return Err(CallError::Disagree(format!("{task}/{round} {why}")).into());
    }
    let input = |e: slvr_node::submission::SubmissionError| Error::Input(e.to_string());
    let set = set_named(&circuit, caller.config().set.as_deref()).map_err(input)?;
    let tensors = read(&circuit, set)?;
    let name = caller.config().name.clone();
    let submission = Submission::of_set(
        &signer,
        (task, round, &name),
        (&circuit, set),
        (opening.circuit, opening.digest()),
        &tensors,
    );
    Ok(Made { submission: submission.map_err(input)?, circuit })
}

/// Sends a submission to the three nodes, and returns their receipts.
///
/// # Errors
///
/// [`Error::Call`] where it is not on all three nodes; [`Error::Aborted`] where it is, and does not count.
pub fn send(
    caller: &Caller,
    (task, round): (&str, u64),
    submission: &Submission,
    patience: Duration,
    progress: &dyn Fn(usize, u64, u64),
) -> Result<[Value; 3]> {
    let receipts = caller.submit(submission, patience, progress)?;
    if let Some(why) = receipts.iter().find_map(|r| r["aborted"].as_str()) {
        let erased = receipts.iter().any(|r| r["erased"] == true);
        let then = match erased {
            true => "its submissions have been erased: submit to another round",
            false if caller.is_short(task, round) => {
                "fewer have submitted than have to count, so it cannot be run again: submit to another round"
            }
            false => "it is kept, and counts if the coordinator runs the round again",
        };
        let (name, id) = (&caller.config().name, submission.manifest.submission);
        return Err(Error::Aborted(format!(
            "{name}: submission {id} is on all three nodes, but {task}/{round} was aborted ({why}); {then}"
        )));
    }
    Ok(receipts)
}

/// How a round is opened.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Seconds until no more submissions begin.
    pub seconds: u64,
    /// Seconds after that for those that have begun.
    pub grace: u64,
    /// How many clients have to be accepted; the task's minimum without it.
    pub minimum: Option<u64>,
    /// Hash of what clients were given outside of the nodes, which they compare with what they got.
    pub context: Option<[u8; 32]>,
}

/// Opens a round on all three nodes, with public inputs that `read` gives for the circuit. Returns it with the circuit
/// and what node 0 says of the round.
///
/// # Errors
///
/// [`Error::Call`]; [`Error::Input`] of public inputs that are not as declared, and of a round that was opened before
/// and has gone on.
pub fn open(
    caller: &Caller,
    (task, round): (&str, u64),
    terms: Terms,
    until: Instant,
    read: impl FnOnce(&Circuit) -> Result<Tensors>,
) -> Result<(Circuit, Value)> {
    let (circuit, _) = caller.patiently(until, || caller.circuit(task))?;
    let public = encode_public(&circuit, &read(&circuit)?);
    let packed = pack_public(&public.map_err(|e| Error::Input(e.to_string()))?);
    let Terms { seconds, grace, minimum, context } = terms;
    let how = (seconds, grace, minimum);
    let open = || caller.open_for(context.map(Hex), (task, round), how, &packed);
    let status = caller.patiently(until, open)?;
    // Asked for again, a round is as it was: it may have gone on.
    if status["phase"] != "open" {
        let phase = status["phase"].as_str().unwrap_or("?");
        return Err(Error::Input(format!(
            "{task}/{round} was opened before and is {phase}: a new round has a new number"
        )));
    }
    Ok((circuit, status))
}

/// Where a round stands at the three nodes.
#[derive(Debug)]
pub struct Standing {
    /// What each of them says.
    pub nodes: [std::result::Result<Value, CallError>; 3],
}

impl Standing {
    /// The phase of the round: as node 0 has it, which leads. If that has lost the round, it has ended once it has at all
    /// nodes that know it. Empty where it cannot be said, as while node 0 does not answer.
    pub fn phase(&self) -> &str {
        fn phase(status: &Value) -> &str {
            status["phase"].as_str().unwrap_or("?")
        }
        match &self.nodes[0] {
            Ok(status) => phase(status),
            Err(e) if e.is_unknown_round() => {
                let mut others = self.nodes[1..].iter().filter_map(|s| match s {
                    Ok(status) => Some(phase(status)),
                    Err(e) => (!e.is_unknown_round()).then_some("?"),
                });
                let first = others.next().unwrap_or("");
                if others.all(|p| p == first) { first } else { "" }
            }
            Err(_) => "",
        }
    }

    /// Whether the round has ended, with a result or without one.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase(), "released" | "aborted")
    }
}

/// Asks the nodes where a round stands.
///
/// # Errors
///
/// [`Error::Call`] of a round that node 0 does not know, unless another node shows it: node 0 leads, so it is open nowhere,
/// but it may have lost its data. Whatever else a node says is in the result.
pub fn standing(caller: &Caller, (task, round): (&str, u64)) -> Result<Standing> {
    let nodes = caller.statuses(task, round);
    let (status, code) = match &nodes[0] {
        Err(CallError::Refused { status, code: code @ (Code::Round | Code::Path), .. })
            if nodes.iter().all(std::result::Result::is_err) =>
        {
            (*status, code.clone())
        }
        _ => return Ok(Standing { nodes }),
    };
    let rounds = caller.rounds(0, task).unwrap_or_default();
    let known: Vec<String> =
        rounds.as_array().into_iter().flatten().map(|r| r["round"].to_string()).collect();
    let known = match known.is_empty() {
        true => format!("it knows no round of `{task}`"),
        false => format!("it knows the rounds {} of `{task}`", known.join(", ")),
    };
    let message =
        format!("node 0 knows no round {task}/{round}: {known}; a round has to be opened first");
    Err(CallError::Refused { node: 0, status, code, message }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_round_that_node_0_has_lost_ends_with_the_others() {
        let at = |phase: &str| Ok(json!({ "phase": phase }));
        let away = || Err(CallError::Early("away".into()));
        let unknown = || {
            let (code, message) = (Code::Round, "there is no round t/1".into());
            Err(CallError::Refused { node: 0, status: 404, code, message })
        };
        for (nodes, phase, ended) in [
            ([at("open"), at("aborted"), at("aborted")], "open", false),
            ([at("released"), at("computed"), away()], "released", true),
            ([away(), at("aborted"), at("aborted")], "", false),
            ([unknown(), at("aborted"), at("aborted")], "aborted", true),
            ([unknown(), at("aborted"), unknown()], "aborted", true),
            ([unknown(), at("aborted"), at("closed")], "", false),
            ([unknown(), at("aborted"), away()], "", false),
            ([unknown(), unknown(), unknown()], "", false),
        ] {
            let standing = Standing { nodes };
            assert_eq!((standing.phase(), standing.has_ended()), (phase, ended), "{standing:?}");
        }
    }
}
