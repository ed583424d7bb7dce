//! What callers are shown of tasks and rounds, as JSON.

use crate::clock::now_ms;
use crate::config::Enrolled;
use crate::locks::read_lock;
use crate::node::Node;
use crate::redaction::redacted;
use crate::round::kept;
use crate::state::{Agreement, Failure, Phase, Retry, Round, Spec};
use crate::submission::part_bytes;
use crate::tasks::{GivingSet, Known};
use serde_json::{Value, json};
use slvr_circuit::{Circuit, Dom, From, Input};
use slvr_runtime::share::deal::layout;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The tasks that a node may run, and what they take.
pub(super) fn tasks(node: &Node) -> Value {
    node.all_tasks().iter().map(|known| task(node, known)).collect()
}

/// A task, and what it takes.
pub(super) fn task(node: &Node, known: &Known) -> Value {
    let (name, full) = (&known.task.name, &known.full);
    let without = known.without().into_iter();
    let without: Vec<Value> = without
        .map(|(first, last, why)| json!({ "first": first, "last": last, "why": why }))
        .collect();
    json!({
        "task": name, "predicate": full.circuit.name, "circuit": full.hash, "clients": full.clients,
        "minimum": known.task.minimum, "without": without, "security": full.circuit.security.name(),
        "part_bytes": part_bytes(&full.circuit, full.set, node.me()),
        "inputs": inputs(&full.circuit, full.set), "public": public_inputs(&full.circuit),
        "others": full.others.iter().map(|GivingSet { set, name, size }| json!({
            "set": name, "members": size, "part_bytes": part_bytes(&full.circuit, *set, node.me()),
            "inputs": inputs(&full.circuit, *set),
        })).collect::<Vec<_>>(),
    })
}

/// What this node has of what the opening of a task's next round says. It shows its clock, too.
pub(super) fn terms(node: &Node, task: &str) -> Option<Value> {
    let known = node.task(task)?;
    let full = &known.full;
    let (released, _) = node.history(task);
    let roll = read_lock(&node.roll).hash();
    Some(json!({
        "node": node.me(), "clock_ms": now_ms(), "circuit": full.hash, "clients": full.clients,
        "minimum": known.task.minimum, "roll": roll, "after": released.filter(|_| full.states),
    }))
}

/// Who is enrolled here: names, party sets and keys, as the hash of the roll has them.
pub(super) fn enrolled(node: &Node) -> Value {
    let roll = read_lock(&node.roll);
    roll.clients.values().map(|c| json!({ "name": c.name, "set": c.set, "key": c.key })).collect()
}

/// What a member of a party set gives, for whoever deals it without reading the artifact.
fn inputs(circuit: &Circuit, set: usize) -> Vec<Value> {
    let all = layout(circuit, set).into_iter();
    all.filter_map(|(j, dom, n)| {
        Some(input(j as usize, circuit.inputs.get(j as usize)?, dom, n as u64))
    })
    .collect()
}

/// The inputs that a coordinator gives, by the numbers under which it sends them.
fn public_inputs(circuit: &Circuit) -> Vec<Value> {
    let all = circuit.inputs.iter().enumerate().filter(|(_, i)| i.from == From::Public);
    let one = |(j, i): (usize, &Input)| {
        let ty = circuit.ty(i.value);
        input(j, i, ty.dom, ty.elements())
    };
    all.map(one).collect()
}

fn input(index: usize, input: &Input, dom: Dom, elements: u64) -> Value {
    let fields: Vec<Value> =
        input.fields.iter().map(|f| json!({ "name": f.name, "shape": f.shape })).collect();
    json!({
        "index": index, "name": input.name, "elements": elements, "bits": dom.bits(),
        "planes": matches!(dom, Dom::Bits(_)), "shape": input.shape, "fields": fields,
        "encoding": input.encoding,
    })
}

/// A round as a whole. If the database does not give it, what memory has of it.
fn whole(node: &Node, round: &Arc<Round>) -> Arc<Round> {
    match node.record(&round.spec.key) {
        Ok(found) => found.unwrap_or_else(|| round.clone()),
        Err(why) => {
            tracing::error!(round = %round.spec.key, %why, "its record cannot be read");
            round.clone()
        }
    }
}

/// What anybody who may ask is told of a round.
pub(super) fn status(node: &Node, round: &Arc<Round>) -> Value {
    let round = whole(node, round);
    let spec = &round.spec;
    // What cannot be read is no number.
    let complete = node.store.count_of(&spec.key).inspect_err(
        |why| tracing::error!(round = %spec.key, %why, "its submissions cannot be counted"),
    );
    let complete = complete.ok();
    let expected = node.task_of(spec).map_or(spec.clients, |k| k.full.expected());
    json!({
        "node": node.me(), "task": spec.key.task, "round": spec.key.round, "phase": round.phase,
        "opening": spec.digest(), "circuit": spec.circuit, "clients": spec.clients, "minimum": spec.minimum,
        "deadline": spec.deadline, "clock_ms": now_ms(), "grace": spec.grace, "complete": complete, "expected": expected, "attempt": round.attempt,
        "permits": round.permits,
        "accepted": round.agreement.as_ref().map(|a| a.accepted.len()),
        "failures": failures(&round), "aborted": round.aborted.as_deref().map(redacted), "run": node.status.of(&spec.key),
        "damaged": node.store.damaged_of(&spec.key), "waits": node.status.waiting(&spec.key).as_deref().map(redacted),
    })
}

/// Attempts that came to nothing, and why.
fn failures(round: &Round) -> Vec<Value> {
    let one = |f: &Failure| json!({ "attempt": f.attempt, "why": redacted(&f.why) });
    round.failures.iter().map(one).collect()
}

/// When a round was run again, and why it had been aborted.
fn retries(round: &Round) -> Vec<Value> {
    let one =
        |r: &Retry| json!({ "attempt": r.attempt, "aborted": redacted(&r.aborted), "at": r.at });
    round.retries.iter().map(one).collect()
}

/// Which client each member of the circuit's set of clients is; nothing where nobody is.
fn members(agreement: &Agreement) -> Vec<Option<&str>> {
    let one = |k: u64| agreement.member(k as usize).map(|e| e.client.as_str());
    (0..agreement.clients).map(one).collect()
}

/// Who was enrolled when the round was opened and might have given something in it, and of whom no node has a whole submission. It
/// follows from the opening and from what was agreed, so all nodes say the same.
fn missing(node: &Node, spec: &Spec, agreement: &Agreement) -> Option<Vec<String>> {
    let known = node.task_of(spec)?;
    let roll = node.store.roll(&spec.roll).inspect_err(
        |why| tracing::error!(round = %spec.key, %why, "who was enrolled cannot be read"),
    );
    let counted = agreement.accepted.iter().chain(&agreement.others).map(|e| &e.client);
    let named: BTreeSet<&String> =
        counted.chain(agreement.excluded.iter().map(|x| &x.client)).collect();
    let gives = |c: &&Enrolled| known.full.set_of(c.set.as_deref()).is_some();
    let all: BTreeSet<String> = roll.ok()??.iter().filter(gives).map(|c| c.name.clone()).collect();
    Some(all.into_iter().filter(|c| !named.contains(c)).collect())
}

/// Everything that is known of a round, for the coordinator.
pub(super) fn report(node: &Node, round: &Arc<Round>) -> Value {
    let round = whole(node, round);
    let spec = &round.spec;
    let agreement = round.agreement.as_ref();
    let accepted = agreement.map(|a| {
        a.accepted
            .iter()
            .map(|e| json!({ "client": e.client, "submission": e.submission }))
            .collect::<Vec<_>>()
    });
    let others = agreement.map(|a| {
        let one = |e: &crate::state::Entry| json!({ "client": e.client, "set": e.set, "submission": e.submission });
        a.others.iter().map(one).collect::<Vec<_>>()
    });
    let security = node.task_of(spec).map(|k| k.full.circuit.security.name());
    // Of a round that was aborted: what speaks against running it again, as far as this node knows.
    let no_retry = (round.phase == Phase::Aborted).then(|| kept(node, &spec.key).err());
    json!({
        "node": node.me(), "task": spec.key.task, "round": spec.key.round, "phase": round.phase,
        "minimum": spec.minimum, "clients": spec.clients, "security": security, "opening": spec,
        "circuit": agreement.map_or(spec.circuit, |a| a.circuit),
        "circuit_clients": agreement.map_or(spec.clients, |a| a.clients),
        "accepted": accepted, "members": agreement.map(members), "others": others, "excluded": agreement.map(|a| &a.excluded),
        "missing": agreement.and_then(|a| missing(node, spec, a)),
        "continues": spec.after, "outcome": round.outcome, "failures": failures(&round), "aborted": round.aborted.as_deref().map(redacted),
        "may_retry": no_retry.as_ref().map(Option::is_none), "no_retry": no_retry.flatten().map(|why| redacted(&why.to_string()).into_owned()),
        "retries": retries(&round), "erased": round.erased, "opened": round.times[0], "closed": round.times[1], "ended": round.times[2],
    })
}
