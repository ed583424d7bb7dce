//! What a round reveals, put together from the words of the three nodes.

use super::{CallError, Caller, round_path};
use crate::hex::hex;
use crate::state::Phase;
use crate::submission::giving;
use crate::words::{Words, words};
use hyper::Method;
use serde::Deserialize;
use serde_json::Value;
use slvr_circuit::{Circuit, artifact};
use slvr_runtime::link::{Header, Link, LinkError, Peer};
use slvr_runtime::party::{Receiver, receive, receiving};
use slvr_runtime::share::reveal::Revealed;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

impl Caller {
    /// What a round reveals to the coordinator, put together from the words of all three nodes, with the circuit that they
    /// ran.
    ///
    /// # Errors
    ///
    /// A round that is not released at all nodes; words that do not fit together.
    pub fn collect(&self, task: &str, round: u64) -> Result<Collected, CallError> {
        let reports = self.all(|node| self.report(node, task, round))?;
        for (node, report) in reports.iter().enumerate() {
            self.is_released((task, round, node), report)?;
        }
        // What the nodes say of the round is held against what a coordinator has signed.
        let opening = self.opening(task, round)?;
        let report = agreed((task, round), reports)?;
        if report["opening"] != serde_json::json!(opening) {
            return Err(CallError::Disagree(format!(
                "the report of {task}/{round} names another opening than the nodes show"
            )));
        }
        let path = round_path(task, round, "/words");
        let mut all: Vec<Words> = Vec::new();
        let mut run = None;
        for node in 0..3 {
            let most = artifact::MAX_PAYLOAD as usize;
            let (_, bytes) = self.call(node, &Method::GET, &path, &[], &[], most)?;
            let read = words(&bytes).ok_or_else(|| {
                CallError::Disagree(format!("node {node}: its words make no sense"))
            })?;
            if *run.get_or_insert(read.0) != read.0 {
                return Err(CallError::Disagree(format!(
                    "node {node} has words of another attempt than node 0"
                )));
            }
            all.push(read.1);
        }
        let circuit = self.artifact(0, &round_path(task, round, "/artifact"))?;
        if report["circuit"].as_str() != Some(&hex(&artifact::hash(&circuit))) {
            return Err(CallError::Disagree("node 0 sends another circuit than was run".into()));
        }
        let run = run.ok_or_else(|| CallError::Disagree("no words".into()))?;
        if report["outcome"]["run"].as_str() != Some(&hex(&run.0)) {
            return Err(CallError::Disagree("the words are not of the run in the report".into()));
        }
        // What is for members of sets that give inputs, they fetch themselves.
        let enrolled = giving(&circuit);
        let sets = receiving(&circuit).into_iter().filter(|s| !enrolled.contains(s));
        let mut revealed = Vec::new();
        for set in sets {
            let of = |words: &Words| {
                words
                    .iter()
                    .filter(|w| w.0 as usize == set)
                    .map(|(_, h, b)| (*h, b.clone()))
                    .collect()
            };
            let mut link = Replay(all.iter().map(of).collect());
            let deadline = Duration::from_secs(1);
            revealed.extend(receive(Receiver {
                circuit: &circuit,
                set,
                link: &mut link,
                run,
                deadline,
            })?);
        }
        Revealed::sort(&circuit, &mut revealed);
        Ok(Collected { report, circuit, revealed })
    }

    /// What all three nodes say of a round: who counts and why others do not, which circuit, which run. What is a node's own
    /// in it (times, bytes, failures that it saw) is node 0's.
    ///
    /// # Errors
    ///
    /// A node that does not answer, or says something else than node 0.
    pub fn agreed_report(&self, task: &str, round: u64) -> Result<Value, CallError> {
        agreed((task, round), self.all(|node| self.report(node, task, round))?)
    }

    /// Whether a node gives away its words of a result.
    fn is_released(
        &self,
        (task, round, node): (&str, u64, usize),
        report: &Value,
    ) -> Result<(), CallError> {
        match report["phase"].as_str().unwrap_or("?") {
            "released" => Ok(()),
            "aborted" => {
                let why = report["aborted"].as_str().unwrap_or("");
                Err(CallError::Aborted(format!(
                    "{task}/{round} was aborted and has no result: {why}"
                )))
            }
            "open" => Err(CallError::Early(format!(
                "{task}/{round} is open at node {node}, and has no result yet: it closes at its deadline, or with `slvrc round close`"
            ))),
            phase => Err(CallError::Early(format!(
                "{task}/{round} is {phase} at node {node}, and has no result yet: `slvrc round watch` waits for its end"
            ))),
        }
    }
}

/// Node 0's report, if the others say the same.
fn agreed((task, round): (&str, u64), reports: [Value; 3]) -> Result<Value, CallError> {
    // What a node has erased it says nothing of, and so nothing else than the others.
    let erased: Vec<usize> = (0..3).filter(|&node| reports[node]["erased"] == true).collect();
    if let Some(whole) = (0..3).find(|node| !erased.is_empty() && !erased.contains(node)) {
        let named: Vec<String> = erased.iter().map(|node| format!("node {node}")).collect();
        return Err(CallError::Disagree(format!(
            "{} erased what was kept of {task}/{round}, since it ended more than `keep_days` ago: \
             there is no result any more; `slvrc round report --node {whole}` prints a report that is whole",
            match &named[..] {
                [one] => format!("{one} has"),
                several => format!("{} have", several.join(" and ")),
            }
        )));
    }
    let [first, others @ ..] = reports;
    for (other, node) in others.iter().zip(1..) {
        if let Some(field) = differs(&first, other) {
            return Err(CallError::Disagree(format!(
                "nodes 0 and {node} do not say the same of `{field}` in the report of {task}/{round}; \
                 compare `slvrc round report --node 0` and `--node {node}`"
            )));
        }
    }
    Ok(first)
}

/// What was collected of a round.
#[derive(Debug)]
pub struct Collected {
    /// What all nodes say of it.
    pub report: Value,
    pub circuit: Circuit,
    pub revealed: Vec<Revealed>,
}

/// What each node says of itself in a report, and in its outcome.
const OWN: [&str; 10] = [
    "node",
    "failures",
    "aborted",
    "opened",
    "closed",
    "ended",
    "may_retry",
    "no_retry",
    "retries",
    "erased",
];
const OWN_OUTCOME: [&str; 5] =
    ["bytes_sent", "peak_memory", "workers", "connect_seconds", "seconds"];

/// The first field in which two nodes' reports differ, beside those that are a node's own.
fn differs(a: &Value, b: &Value) -> Option<String> {
    let fields = |a: &Value, b: &Value| -> BTreeSet<String> {
        [a, b].iter().filter_map(|x| x.as_object()).flat_map(|x| x.keys().cloned()).collect()
    };
    // In a round that has not ended one node is a step behind another: it says nothing yet of what that one knows.
    let goes_on = |x: &Value| Phase::deserialize(&x["phase"]).is_ok_and(|p: Phase| !p.ended());
    let behind = goes_on(a) || goes_on(b);
    let says = |f: &String| !behind || f != "phase" && !a[f].is_null() && !b[f].is_null();
    let shared = fields(a, b)
        .into_iter()
        .filter(|f| !OWN.contains(&f.as_str()) && f != "outcome" && says(f));
    let of_outcome = || {
        // Of a round that was aborted some nodes may have computed what others have not.
        if behind || a["phase"] == "aborted" {
            return None;
        }
        let (a, b) = (&a["outcome"], &b["outcome"]);
        if a.is_object() != b.is_object() {
            return Some("outcome".to_string());
        }
        let all = fields(a, b).into_iter().filter(|f| !OWN_OUTCOME.contains(&f.as_str()));
        all.into_iter().find(|f| a[f] != b[f]).map(|f| format!("outcome.{f}"))
    };
    shared.into_iter().find(|f| a[f] != b[f]).or_else(of_outcome)
}

/// What three parties have said, in order.
struct Replay(Vec<VecDeque<(Header, Vec<u8>)>>);

impl Link for Replay {
    fn send(&mut self, _: Peer, _: Header, _: Vec<u8>) -> Result<(), LinkError> {
        // A receiver sends nothing.
        Err(LinkError::Closed)
    }

    fn recv(&mut self, from: Peer, expected: Header, _: Duration) -> Result<Vec<u8>, LinkError> {
        let queue = match from {
            Peer::Party(party) => self.0.get_mut(party),
            Peer::Receiver(_) => None,
        };
        let (header, body) = queue.and_then(VecDeque::pop_front).ok_or(LinkError::Closed)?;
        header.check(&expected)?;
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_a_nodes_own_must_be_the_same_at_all() {
        let report = json!({
            "node": 0, "task": "t", "round": 1, "phase": "released", "minimum": 2, "clients": 3, "security": "malicious",
            "circuit": "ab", "circuit_clients": 3, "accepted": [{"client": "a"}, {"client": "b"}],
            "members": ["a", "b", null], "others": [], "excluded": [{"client": "c", "why": "missing"}], "continues": null,
            "outcome": {"attempt": 1, "run": "cd", "rounds": 9, "bytes_sent": 10, "peak_memory": 3, "workers": [], "connect_seconds": 0.1,
                "seconds": 0.2},
            "failures": [], "aborted": null, "opened": 1, "closed": 2, "ended": 3, "erased": false,
        });
        assert_eq!(differs(&report, &report), None);
        for field in report.as_object().expect("fields").keys().filter(|f| *f != "outcome") {
            let mut other = report.clone();
            other[field] = json!("something else");
            let own = OWN.contains(&field.as_str());
            assert_eq!(differs(&report, &other), (!own).then(|| field.clone()));
        }
        for field in report["outcome"].as_object().expect("fields").keys() {
            let mut other = report.clone();
            other["outcome"][field] = json!("something else");
            let own = OWN_OUTCOME.contains(&field.as_str());
            assert_eq!(differs(&report, &other), (!own).then(|| format!("outcome.{field}")));
        }
        // One node is a step behind; what both say is compared all the same.
        let mut early = report.clone();
        (early["phase"], early["outcome"], early["accepted"]) =
            (json!("running"), Value::Null, Value::Null);
        assert_eq!(differs(&report, &early), None);
        early["circuit"] = json!("ef");
        assert_eq!(differs(&report, &early).as_deref(), Some("circuit"));
        // Two clients exchanged, one left out, nothing said of the outcome.
        let mut other = report.clone();
        other["members"] = json!(["b", "a", null]);
        assert_eq!(differs(&report, &other).as_deref(), Some("members"));
        let mut other = report.clone();
        other["outcome"] = Value::Null;
        assert_eq!(differs(&report, &other).as_deref(), Some("outcome"));
    }

    /// Old rounds are erased by each node in its own time.
    #[test]
    fn a_node_that_has_erased_the_round_is_named() {
        let of = |erased: [bool; 3]| {
            erased.map(|erased| {
                let accepted = (!erased).then_some(["a"]);
                json!({ "phase": "released", "accepted": accepted, "erased": erased })
            })
        };
        for (erased, said) in [
            ([false, false, true], "node 2 has erased what was kept of t/1"),
            ([true, false, true], "node 0 and node 2 have erased what was kept of t/1"),
        ] {
            let e = agreed(("t", 1), of(erased)).expect_err("one has none").to_string();
            assert!(e.starts_with(said) && e.contains("`keep_days`"), "{e}");
        }
        for all in [[false; 3], [true; 3]] {
            assert!(agreed(("t", 1), of(all)).is_ok());
        }
    }
}
