//! What the verbs of a deployment share: callers, readable lines of a round.

use crate::fail::{note, say};
use serde_json::Value;
use slvr::deployment;
use slvr_node::client::Caller;
use std::path::Path;

/// Whoever calls nodes with a file of configuration.
pub fn caller(config: &Path) -> slvr::Result<Caller> {
    Ok(deployment::caller(config, &crate::fail::print)?.telling(note))
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
