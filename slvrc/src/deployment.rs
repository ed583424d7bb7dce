//! What the verbs of a deployment share: circuits of tasks for nodes, callers, readable lines of a round.

use crate::fail::{note, say};
use crate::program;
use crate::target::Target;
use anyhow::Context;
use serde_json::Value;
use slvr_node::client::Caller;
use slvr_node::config::{CallerConfig, Task, is_open_to_others};
use slvr_node::{Compile, Compiled};
use std::path::Path;

/// Compiles tasks of nodes as `slvrc build` compiles programs.
pub struct Compiler;

impl Compile for Compiler {
    fn compile(&self, task: &Task, clients: Option<u64>) -> Result<Compiled, String> {
        let mut bindings = task.bindings.clone();
        if let (Some(n), Some(name)) = (clients, &task.clients) {
            bindings.retain(|b| b.split_once('=').is_none_or(|(left, _)| left.trim() != name));
            bindings.push(format!("{name}={n}"));
        }
        let loaded =
            program::load_circuit(&target(task, bindings)).map_err(|e| match e
                .downcast_ref::<crate::fail::Rejected>()
            {
                Some(rejected) => rejected.to_string(),
                None => format!("{e:#}"),
            })?;
        let circuit = loaded.circuit().clone();
        let proofs = crate::memory::of_proofs(&circuit, 1);
        let memory = slvr_compiler::cost::peak_memory(&circuit).map(|n| n.saturating_add(proofs));
        Ok(Compiled { circuit, memory })
    }
}

/// What is compiled for a task.
pub fn target(task: &Task, bindings: Vec<String>) -> Target {
    Target {
        file: task.program.clone(),
        bindings,
        predicate: None,
        ring: None,
        trust_inputs: false,
        memory: None,
        no_speculation: false,
        fine: false,
        protocols: None,
        security: task.security.clone(),
        proof_coins: None,
        net: task.net.clone(),
        folder: task.folder.clone(),
    }
}

/// Whoever calls nodes with a file of configuration.
pub fn caller(config: &Path) -> anyhow::Result<Caller> {
    let read = CallerConfig::read(config)?;
    let secrets = [Some(config), read.key.as_deref()].into_iter().flatten();
    for secret in secrets.filter(|p| is_open_to_others(p)) {
        note(&format!(
            "{}: others than its owner may read this secret: chmod 600",
            secret.display()
        ));
    }
    let caller = Caller::new(read);
    let caller = caller.with_context(|| format!("{}: cannot be used", config.display()))?;
    Ok(caller.telling(note))
}

/// Where a round stands at a node, in one line.
pub fn line(status: &Value) -> String {
    let mut out = format!(
        "node {}: {}, {} of {} submissions",
        status["node"],
        status["phase"].as_str().unwrap_or("?"),
        status["complete"],
        status["expected"]
    );
    let run = &status["run"];
    if let Some(doing) = run["doing"].as_str() {
        out += &format!(
            ", attempt {}: {doing}, layer {} of {}",
            status["attempt"], run["layer"], run["layers"]
        );
    }
    if let (Some(node), Some(seconds)) = (run["waits_for"].as_u64(), run["seconds"].as_f64()) {
        out += &format!(", waits for node {node} for {seconds:.1} s");
    }
    let damaged: Vec<&str> =
        status["damaged"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !damaged.is_empty() {
        out += &format!(", damaged parts: {} have to submit again", damaged.join(", "));
    }
    if let Some(why) = status["waits"].as_str() {
        out += &format!(", waits: {why}");
    }
    if let Some(why) = status["aborted"].as_str() {
        out += &format!(": {why}");
    }
    out
}

/// Says where a round stands at all nodes.
pub fn say_lines(lines: &[String]) -> anyhow::Result<()> {
    say(&format!("{}\n", lines.join("\n")))
}
