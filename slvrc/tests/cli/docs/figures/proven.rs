//! What security against a malicious party takes: rounds, bytes and memory of the circuits of the performance page.

use super::build::predicate;
use slvr_circuit::{Circuit, Security};
use slvr_compiler::cost::{NetProfile, peak_memory};
use slvr_compiler::lower::Protocols;
use slvr_compiler::pipeline::Options;
use std::fmt::Write;

const SEMI_HONEST: Security = Security::SemiHonest;
const PROVEN: Security = Security::Malicious;

/// The committee of one client on LeNet-5.
fn committee(protocols: Protocols, security: Security) -> Circuit {
    let how = Options { protocols, security, ..Options::default() };
    predicate("bench/accuracy", "M=LeNet5 c=1 b=10", how).compiled.circuit
}

fn dealer(net: NetProfile) -> Protocols {
    Protocols::Dealer(net.tuning())
}

/// Rounds, MB sent by all, and MB of values in a party.
fn sizes(circuit: &Circuit) -> [String; 3] {
    let traffic = slvr_circuit::traffic::Traffic::of(circuit);
    let mb = traffic.bytes.iter().sum::<u64>() as f64 / 1e6;
    let held = peak_memory(circuit).into_iter().max().unwrap_or(0) as f64 / 1e6;
    let held = if held < 100.0 { format!("{held:.1}") } else { format!("{held:.0}") };
    [traffic.rounds.to_string(), format!("{mb:.1}"), held]
}

/// Circuits of one committee, of both families.
pub fn circuits() -> String {
    let mut out = String::from(
        "| circuit | rounds | MB sent by all | MB of values in a party |\n|---|---|---|---|\n",
    );
    let (here, lan, wan) = (NetProfile::loopback(), NetProfile::lan(), NetProfile::wan());
    let t1 = Protocols::Symmetric;
    let rows = [
        ("semi-honest, T1", t1, SEMI_HONEST),
        ("malicious, T1", t1, PROVEN),
        ("semi-honest, T2, built for loopback", dealer(here), SEMI_HONEST),
        ("semi-honest, T2, built for LAN", dealer(lan.clone()), SEMI_HONEST),
        ("malicious, T2, built for LAN", dealer(lan), PROVEN),
        ("semi-honest, T2, built for WAN", dealer(wan.clone()), SEMI_HONEST),
        ("malicious, T2, built for WAN", dealer(wan), PROVEN),
    ];
    for (name, protocols, security) in rows {
        let [rounds, mb, held] = sizes(&committee(protocols, security));
        let _ = writeln!(out, "| {name} | {rounds} | {mb} | {held} |");
    }
    out
}
