//! What callers ask nodes for.

use super::{AGAIN, CallError, Caller, PIECE, SHORT, round_path, together};
use crate::codes::Code;
use crate::hex::{Hash, Hex};
use crate::state::{RoundKey, Spec};
use crate::submission::Submission;
use hyper::Method;
use serde_json::{Value, json};
use slvr_circuit::{Circuit, artifact};
use std::thread;
use std::time::{Duration, Instant};

impl Caller {
    /// Where a round stands at a node.
    ///
    /// # Errors
    ///
    /// No answer; no such round.
    pub fn status(&self, node: usize, task: &str, round: u64) -> Result<Value, CallError> {
        self.json(node, &Method::GET, &round_path(task, round, ""), &[])
    }

    /// Where a round stands at each node, asked at the same time.
    pub fn statuses(&self, task: &str, round: u64) -> [Result<Value, CallError>; 3] {
        self.each(|node| self.status(node, task, round))
    }

    /// Whether a node has fewer submissions to a round than have to count: such a round is never run again. A node that cannot be asked
    /// says nothing.
    pub fn is_short(&self, task: &str, round: u64) -> bool {
        let few = |s: &Value| Some(s["complete"].as_u64()? < s["minimum"].as_u64()?);
        self.statuses(task, round).iter().flatten().any(|s| few(s) == Some(true))
    }

    /// The last rounds of a task at a node, a hundred at most.
    ///
    /// # Errors
    ///
    /// No answer.
    pub fn rounds(&self, node: usize, task: &str) -> Result<Value, CallError> {
        self.json(node, &Method::GET, &format!("/v1/tasks/{task}/rounds"), &[])
    }

    /// Everything that a node knows of a round.
    ///
    /// # Errors
    ///
    /// No answer; no such round.
    pub fn report(&self, node: usize, task: &str, round: u64) -> Result<Value, CallError> {
        self.json(node, &Method::GET, &round_path(task, round, "/report"), &[])
    }

    /// The circuit of a task: as node 0 has it, if the other two have the same.
    ///
    /// # Errors
    ///
    /// No answer; nodes that have different circuits.
    pub fn circuit(&self, task: &str) -> Result<(Circuit, Hash), CallError> {
        let of = |node: usize| -> Result<String, CallError> {
            let all = self.json(node, &Method::GET, "/v1/tasks", &[])?;
            let found = all.as_array().into_iter().flatten().find(|t| t["task"] == task);
            let hash = found.and_then(|t| t["circuit"].as_str()).map(str::to_string);
            hash.ok_or_else(|| CallError::Disagree(format!("node {node} knows no task `{task}`")))
        };
        let hashes = self.all(of)?;
        if let Some(other) = (1..3).find(|&i| hashes[i] != hashes[0]) {
            return Err(CallError::Disagree(format!(
                "nodes 0 and {other} have different circuits for `{task}`"
            )));
        }
        let circuit = self.artifact(0, &format!("/v1/tasks/{task}/artifact"))?;
        let hash = Hex(artifact::hash(&circuit));
        match hash.to_string() == hashes[0] {
            true => Ok((circuit, hash)),
            false => {
                Err(CallError::Disagree("node 0 sends another circuit than the nodes name".into()))
            }
        }
    }

    /// The circuit that a round was opened with: the one whose hash is in its opening, whatever the task is by now.
    ///
    /// # Errors
    ///
    /// No answer; a node that has another circuit by now.
    pub fn circuit_of(&self, opening: &Spec) -> Result<Circuit, CallError> {
        let RoundKey { task, round } = &opening.key;
        let path = round_path(task, *round, "/circuit");
        let circuit = self.artifact(0, &path)?;
        match artifact::hash(&circuit) == opening.circuit.0 {
            true => Ok(circuit),
            false => Err(CallError::Disagree(
                "node 0 sends another circuit than the opening of the round names".into(),
            )),
        }
    }

    pub(super) fn artifact(&self, node: usize, path: &str) -> Result<Circuit, CallError> {
        let most = artifact::MAX_PAYLOAD as usize + (1 << 10);
        let (_, bytes) = self.call(node, &Method::GET, path, &[], &[], most)?;
        artifact::read(&bytes)
            .map_err(|e| CallError::Disagree(format!("node {node}: its artifact: {e}")))
    }

    /// Sends a submission to all three nodes, and goes on where it was if a connection breaks. `progress` is told of
    /// each node the bytes that it has and the bytes of its part.
    ///
    /// # Errors
    ///
    /// A node that says no; a node that cannot be reached before `patience` is over. What each node says, once all have been
    /// asked.
    pub fn submit(
        &self,
        submission: &Submission,
        patience: Duration,
        progress: &dyn Fn(usize, u64, u64),
    ) -> Result<[Value; 3], CallError> {
        let until = Instant::now() + patience;
        let _patience = self.patient_until(until);
        let mut said = [0, 1, 2].map(|node| self.submit_to(node, submission, progress));
        let mut told = String::new();
        loop {
            let no = |r: &Result<Value, CallError>| r.as_ref().is_err_and(|e| !e.passes());
            let Some(e) = said.iter().find_map(|r| r.as_ref().err()) else { break };
            // Waiting for one node is of no use if another one has said no.
            if said.iter().any(no) || Instant::now() + AGAIN >= until {
                return Err(CallError::Submission(said.into()));
            }
            self.tell_again(&mut told, e, until);
            thread::sleep(AGAIN);
            for (node, one) in said.iter_mut().enumerate().filter(|(_, r)| r.is_err()) {
                *one = self.submit_to(node, submission, progress);
            }
        }
        together(said)
    }

    /// Sends a node its part.
    ///
    /// # Errors
    ///
    /// A node that says no or cannot be reached.
    pub fn submit_to(
        &self,
        node: usize,
        submission: &Submission,
        progress: &dyn Fn(usize, u64, u64),
    ) -> Result<Value, CallError> {
        let m = &submission.manifest;
        // Two parts are the whole input: a part goes only to the node that it is for.
        let there = &self.json(node, &Method::GET, "/v1/health", &[])?["node"];
        if *there != json!(node) {
            return Err(CallError::Config(format!(
                "what the configuration has as node {node} is node {there}: list the nodes in their order, each once"
            )));
        }
        let path = round_path(&m.task, m.round, &format!("/submissions/{}", m.submission));
        let manifest = serde_json::to_vec(m).map_err(|e| CallError::Config(e.to_string()))?;
        let mut state = self.json(node, &Method::POST, &path, &manifest)?;
        let part = submission.part(node);
        loop {
            if state["state"] == "complete" {
                progress(node, part.len() as u64, part.len() as u64);
                return Ok(state);
            }
            let at = state["offset"]
                .as_u64()
                .and_then(|o| usize::try_from(o).ok())
                .unwrap_or(usize::MAX);
            let Some(rest) = part.get(at..).filter(|r| !r.is_empty()) else {
                return Err(CallError::Disagree(format!(
                    "node {node} expects a part of another length"
                )));
            };
            progress(node, at as u64, part.len() as u64);
            let piece = &rest[..rest.len().min(PIECE)];
            let (_, body) = self.call(
                node,
                &Method::PATCH,
                &path,
                &[("upload-offset", at.to_string())],
                piece,
                SHORT,
            )?;
            state = serde_json::from_slice(&body).unwrap_or_default();
        }
    }

    /// Runs a round again that was aborted, from the submissions that are kept. Each node is told, node 0 last. Before that all of
    /// them have to be there, and at node 0 the round has to have ended: what fails for these causes changes nothing at any node.
    ///
    /// # Errors
    ///
    /// What speaks against it at any node; a node that cannot be reached.
    pub fn retry(&self, task: &str, round: u64) -> Result<Value, CallError> {
        let path = round_path(task, round, "/retry");
        let told = |node| self.json(node, &Method::POST, &path, &[]);
        let [first, ..] = self.all(|node| self.status(node, task, round))?;
        if first["phase"] != "aborted" {
            return told(0);
        }
        [1, 2].map(told).into_iter().collect::<Result<Vec<_>, _>>()?;
        told(0)
    }

    /// Why a round cannot be run again, as node 0 says once it has asked the others; nothing if it can.
    ///
    /// # Errors
    ///
    /// A node that cannot be asked.
    pub fn no_retry(&self, task: &str, round: u64) -> Result<Option<String>, CallError> {
        let path = round_path(task, round, "/retry");
        let said = match self.json(0, &Method::GET, &path, &[]) {
            Err(e) if e.is_unknown_round() => {
                return Ok(Some(format!(
                    "node 0 knows no round {task}/{round}, as one that has lost its data: open a new round"
                )));
            }
            said => said?,
        };
        match said["may"].as_bool() {
            Some(true) => Ok(None),
            _ => Ok(Some(said["why"].as_str().unwrap_or("node 0 does not say why").into())),
        }
    }

    /// What can be done with a round that was aborted.
    pub fn again(&self, task: &str, round: u64) -> String {
        match self.no_retry(task, round) {
            Ok(None) => {
                "`slvrc round retry` runs it again from the submissions that are kept".into()
            }
            Ok(Some(why)) => format!("it cannot be run again: {why}"),
            Err(e) => format!("whether it can be run again cannot be said: {e}"),
        }
    }

    /// Erases what all nodes keep of a round that has ended: of `words`, `submissions` and `reveals` what is named. Of `reveals` a
    /// client erases its own. All three are asked first whether they would: if one says no or cannot be reached, nothing is
    /// erased. The result is which nodes know no such round, such as one that has lost its data: there is nothing to erase there.
    ///
    /// # Errors
    ///
    /// A node that says no or cannot be reached; a round that no node knows.
    pub fn erase(&self, task: &str, round: u64, what: &[&str]) -> Result<Vec<usize>, CallError> {
        let ask = |node: usize, check: bool| -> Result<bool, CallError> {
            for what in what {
                let path = round_path(task, round, &format!("/{what}?check={check}"));
                match self.json(node, &Method::DELETE, &path, &[]) {
                    Ok(_) => {}
                    Err(CallError::Refused { code: Code::Round, .. }) => return Ok(false),
                    Err(e) => return Err(e),
                }
            }
            Ok(true)
        };
        let known = self.all(|node| ask(node, true))?;
        if known == [false; 3] {
            return Err(CallError::no_round(0, task, round));
        }
        self.all(|node| if known[node] { ask(node, false) } else { Ok(false) })?;
        Ok((0..3).filter(|&node| !known[node]).collect())
    }

    /// Erases everything that the nodes keep of a round that has ended. Of one that was aborted these are the submissions: there
    /// are no words of a result, which a coordinator needs the right to collect for.
    ///
    /// # Errors
    ///
    /// As for [`Caller::erase`].
    pub fn drop_round(&self, task: &str, round: u64) -> Result<Vec<usize>, CallError> {
        let aborted = |s: &Result<Value, CallError>| match s {
            Ok(shown) => shown["phase"] == "aborted",
            Err(e) => matches!(e, CallError::Refused { code: Code::Round, .. }),
        };
        let all = ["submissions", "reveals", "words"];
        let what = match self.statuses(task, round).iter().all(aborted) {
            true => &all[..2],
            false => &all[..],
        };
        self.erase(task, round, what)
    }
}
