//! The report as one JSON object.

use super::report::{Report, not_attacking};
use crate::report::sizes;
use serde_json::{Value, json};

/// One line of JSON.
pub fn object(r: &Report<'_>) -> String {
    let honest: Vec<Value> = (r.proven.lines.iter())
        .map(|line| json!({ "line": line.line, "step": line.step, "of": not_attacking(r, line) }))
        .collect();
    let all = json!({
        "ok": true,
        "predicate": r.circuit.name,
        "sizes": sizes(&r.circuit.sizes),
        "inputs": { "directory": r.dir, "about": r.about },
        "failure_log2": r.failure.log2(),
        "failure": r.failure,
        "proven_for_all_inputs": {
            "error": r.certificate.error, "decisions": r.certificate.decisions,
        },
        "proven_for_these_inputs": r.proven,
        "not_attacking": honest,
        "measured": r.measured,
    });
    format!("{all}\n")
}
