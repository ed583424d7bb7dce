//! The report as one JSON object.

use super::report::{Proofs, Report};
use crate::clients::Clients;
use crate::report::{hex, openings, sizes};
use serde_json::{Value, json};
use slvr_circuit::artifact;
use slvr_compiler::cost::{self, Kind};

/// One line of JSON.
pub fn object(r: &Report) -> String {
    let cost = &r.cost;
    let upload: serde_json::Map<String, Value> = (r.circuit.parties.iter().zip(&cost.upload))
        .filter(|(_, bytes)| **bytes > 0)
        .map(|(p, bytes)| (p.name.clone(), json!(bytes)))
        .collect();
    let layers: Vec<Value> = (cost.layers.iter().enumerate())
        .map(|(i, l)| {
            let kinds: serde_json::Map<String, Value> = (Kind::ALL.iter().zip(l.kinds))
                .map(|(k, bytes)| {
                    let name = serde_json::to_value(k).ok();
                    let name = name.as_ref().and_then(Value::as_str).unwrap_or("?").to_string();
                    (name, json!(bytes))
                })
                .collect();
            let waits = r.critical(i);
            let proof = l.proof.as_ref().map(|p| {
                let (line, step) = r.place(p.site);
                json!({
                    "rounds": p.rounds, "bytes_sent": p.bytes, "seconds": p.seconds,
                    "memory_bytes": p.memory, "waits_for_line": line, "waits_for_step": step,
                })
            });
            json!({
                "layer": i, "rounds": l.rounds, "bytes_sent": l.bytes, "bytes_by_kind": kinds,
                "busiest_bytes": l.busiest, "macs": l.macs, "peak_memory_bytes": l.peak_memory,
                "waits_for_line": waits.map(|w| w.0), "waits_for_step": waits.map(|w| w.1), "proof": proof,
            })
        })
        .collect();
    let proven = r.proofs().map(|Proofs { rounds, sent, memory }| {
        json!({
            "family": r.family(), "rounds": rounds, "bytes_sent": sent, "peak_memory_bytes": memory,
        })
    });
    let times: Vec<Value> = r
        .times
        .iter()
        .map(|(net, t)| json!({ "net": net, "seconds": t, "estimate": true }))
        .collect();
    let all = json!({
        "ok": true,
        "predicate": r.circuit.name,
        "sizes": sizes(&r.circuit.sizes),
        "circuit_hash": hex(&artifact::hash(&r.circuit)),
        "workers": super::workers::to_json(r),
        "clients": r.clients.as_ref().map(Clients::to_json),
        "security": r.circuit.security.name(),
        "proofs": proven,
        "rounds": cost.rounds,
        "predicted_rounds": cost.rounds,
        "predicted_bytes_sent": cost.bytes,
        "macs": cost.macs,
        "predicted_peak_memory_bytes": cost.peak_memory,
        "memory_if_a_client_fails_bytes": cost::memory_at_most(&r.circuit),
        "upload_bytes": upload,
        "time_model": {
            "macs_per_s": cost::MACS_PER_S,
            "memory_bytes_per_s": cost::MEMORY_BYTES_PER_S,
            "packed_bytes_per_s": cost::PACKED_BYTES_PER_S,
            "random_bytes_per_s": cost::PRG_BYTES_PER_S,
        },
        "protocols_for": r.chosen_for,
        "times": times,
        "lines": r.lines,
        "steps": r.steps,
        "layers": layers,
        "certificate": r.certificate,
        "leaks": r.leaks.learned,
        "openings": openings(&r.circuit),
        "warnings": r.leaks.warnings,
    });
    format!("{all}\n")
}
