//! What is said of a run: the object of `--json`, and text for people.

use crate::units::{bound, bytes};
use serde_json::{Value, json};
use slvr_circuit::openings::{self, Coins, Learns, Opened, Opening};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, Lots, artifact};
use slvr_compiler::analysis::privacy::Privacy;
use slvr_compiler::pipeline::privacy;
use slvr_compiler::report::certificate::Certificate;
use slvr_runtime::party::session::Report;
use std::path::Path;

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The network of a run whose messages take no time.
pub const IN_MEMORY: &str = "in memory";

/// Sizes, models and parameters by name.
pub fn sizes(of: &[(String, String)]) -> Value {
    of.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
}

/// What the receivers learn: each reveal once.
pub fn leaks(circuit: &Circuit) -> Value {
    circuit
        .outputs
        .iter()
        .map(|o| {
            let to = set_name(circuit, o.to);
            json!({ "name": o.name, "to": to, "shape": o.shape })
        })
        .collect()
}

/// Everything that the circuit opens, to whom and where, whatever it says of itself.
pub fn openings(circuit: &Circuit) -> Value {
    let one = |o: Opening| {
        json!({
            "layer": o.layer, "op": o.op, "to": learns(circuit, o.to), "what": opened(circuit, &o),
            "shape": o.shape, "bits": o.bits,
        })
    };
    openings::openings(circuit).into_iter().map(one).collect()
}

/// Who learns it.
pub fn learns(circuit: &Circuit, to: Learns) -> &str {
    match to {
        Learns::Parties => "the three parties",
        Learns::Receiver(set) => set_name(circuit, set),
    }
}

/// What is opened, in words.
pub fn opened(circuit: &Circuit, o: &Opening) -> String {
    match o.what {
        Opened::Output(i) => circuit.outputs.get(i as usize).map_or("?", |o| &o.name).to_string(),
        Opened::Check(i) => {
            let set = circuit.checks.get(i as usize).map_or("?", |c| set_name(circuit, c.set));
            format!("one bit for each {set}")
        }
        Opened::Other => "something that is no check".to_string(),
    }
}

/// What public coins draw, in words, in the order of the layers: coins are opened, too.
fn drawn(circuit: &Circuit) -> Vec<String> {
    let one = |coins: Coins| {
        let name = circuit.sites.get(coins.site as usize).map_or("?", |s| s.name.as_str());
        match coins.lots {
            Some(Lots { rows, k, .. }) => format!("{name} [{rows}, {k}]"),
            None if coins.tests => format!("random tests of {name}"),
            None => name.to_string(),
        }
    };
    openings::coins(circuit).into_iter().map(one).collect()
}

/// The report as the contract of `--json` has it.
///
/// `net` names the network that the seconds were measured over.
pub fn to_json(circuit: &Circuit, r: &Report, net: &str, known: Option<&Certificate>) -> Value {
    let certificate = known
        .map_or(json!({ "failure_log2": Value::Null, "error": Value::Null }), |c| {
            serde_json::to_value(c).unwrap_or(Value::Null)
        });
    let traffic = Traffic::of(circuit);
    let outputs: Vec<Value> =
        r.outputs.iter().map(|o| json!({ "name": o.name, "shape": o.shape })).collect();
    let replaced: Vec<Value> = r
        .replaced
        .iter()
        .map(|x| {
            let (set, why) = (set_name(circuit, x.set), x.why.to_string());
            json!({ "set": set, "member": x.member, "why": why })
        })
        .collect();
    let coins: Vec<String> = r.coins.iter().map(|c| format!("{c:032x}")).collect();
    json!({
        "ok": true,
        "predicate": circuit.name,
        "sizes": sizes(&circuit.sizes),
        "circuit_hash": hex(&artifact::hash(circuit)),
        "security": circuit.security.name(),
        "net": net,
        "rounds": r.rounds,
        "predicted_rounds": traffic.rounds,
        "bytes_sent": r.bytes_sent,
        "predicted_bytes_sent": traffic.bytes,
        "upload_bytes": r.upload_bytes,
        "seconds": r.seconds,
        "peak_memory_bytes": r.peak_memory,
        "certificate": certificate,
        "leaks": leaks(circuit),
        "openings": openings(circuit),
        "replaced": replaced,
        "outputs": outputs,
        "coins": coins,
    })
}

fn set_name(circuit: &Circuit, set: u32) -> &str {
    circuit.parties.get(set as usize).map_or("?", |p| &p.name)
}

/// The report for people. `outputs` is the folder that they were written to.
pub fn to_text(
    circuit: &Circuit,
    r: &Report,
    excluded: &[(String, u64, String)],
    outputs: Option<&Path>,
    noise: Option<&Privacy>,
) -> String {
    let sent: Vec<String> = r.bytes_sent.iter().map(|&b| bytes(b)).collect();
    let upload = r.upload_bytes.iter().flatten().max().copied().unwrap_or(0);
    let peak = r.peak_memory.iter().max().copied().unwrap_or(0);
    let mut out = format!(
        "{} {}\n  rounds        {}\n  sent          {} by the three parties\n  upload        {} by each client\n  time          {:.3} s\n  memory        {} at most in a party\n",
        circuit.name,
        bound(&circuit.sizes),
        r.rounds,
        sent.join(", "),
        bytes(upload),
        r.seconds,
        bytes(peak),
    );
    for (set, member, why) in excluded {
        out += &format!("  excluded      {set} {member} ({why})\n");
    }
    for x in &r.replaced {
        let set = set_name(circuit, x.set);
        out += &format!("  replaced      {set} {} ({}): zeros\n", x.member, x.why);
    }
    for what in drawn(circuit) {
        out += &format!("  drawn         {what}, by public coins\n");
    }
    let all = openings::openings(circuit);
    for (i, o) in all.iter().enumerate() {
        let end = if i + 1 == all.len() { ", and nothing else" } else { "" };
        let word = if o.to == Learns::Parties { "opened  " } else { "revealed" };
        let (what, to) = (opened(circuit, o), learns(circuit, o.to));
        out += &format!("  {word}      {what} {:?} to {to}{end}\n", o.shape);
    }
    for (i, line) in noise.into_iter().flat_map(privacy::lines).enumerate() {
        out += &format!("  {:<13} {line}\n", if i == 0 { "noise" } else { "" });
    }
    if let Some(dir) = outputs {
        out += &format!("  written to    {}\n", dir.display());
    }
    out
}
