//! What security against a malicious party takes: rounds, bytes and memory of the circuits of the performance page.

use super::build::{Built, predicate};
use slvr_circuit::proof::{Shape, barriers};
use slvr_circuit::{Circuit, Coins, Security};
use slvr_compiler::cost::{NetProfile, coins, peak_memory};
use slvr_compiler::lower::Protocols;
use slvr_compiler::pipeline::Options;
use std::fmt::Write;

const SEMI_HONEST: Security = Security::SemiHonest;
const PROVEN: Security = Security::Malicious;
const HASHED: Security = Security::MaliciousHashed;

/// The committee of one client on LeNet-5.
fn committee(protocols: Protocols, security: Security, memory: Option<u64>) -> Circuit {
    let how = Options { protocols, security, memory, ..Options::default() };
    of(predicate("bench/accuracy", "M=LeNet5 c=1 b=10", how))
}

fn of(built: Built) -> Circuit {
    built.compiled.circuit
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
        ("malicious, T1, coins from the parties", t1, PROVEN),
        ("malicious, T1, coins from a hash", t1, HASHED),
        ("semi-honest, T2, built for loopback", dealer(here), SEMI_HONEST),
        ("semi-honest, T2, built for LAN", dealer(lan.clone()), SEMI_HONEST),
        ("malicious, T2, built for LAN, coins from the parties", dealer(lan), PROVEN),
        ("semi-honest, T2, built for WAN", dealer(wan.clone()), SEMI_HONEST),
        ("malicious, T2, built for WAN, coins from the parties", dealer(wan.clone()), PROVEN),
        ("malicious, T2, built for WAN, coins from a hash", dealer(wan), HASHED),
    ];
    for (name, protocols, security) in rows {
        let [rounds, mb, held] = sizes(&committee(protocols, security, None));
        let _ = writeln!(out, "| {name} | {rounds} | {mb} | {held} |");
    }
    out
}

/// The same committee with less and less memory, family T1.
pub fn budgets() -> String {
    let mut out = String::from(
        "| `--memory` | MB of values in a party | rounds | of these proofs | MB sent by all |\n|---|---|---|---|---|\n",
    );
    let mut row = |name: &str, circuit: &Circuit| {
        let [rounds, mb, held] = sizes(circuit);
        let all = if circuit.security.is_malicious() { barriers(circuit) } else { Ok(vec![]) };
        let all = all.unwrap_or_else(|why| panic!("{why}"));
        let proofs: usize = all.iter().map(|b| Shape::of(circuit, b).rounds()).sum();
        let _ = writeln!(out, "| {name} | {held} | {rounds} | {proofs} | {mb} |");
    };
    row("semi-honest, T1, without a budget", &committee(Protocols::Symmetric, SEMI_HONEST, None));
    for (name, mib) in
        [("1GiB", 1024), ("60MiB", 60), ("45MiB", 45), ("30MiB", 30), ("25MiB", 25), ("20MiB", 20)]
    {
        let circuit = committee(Protocols::Symmetric, PROVEN, Some(mib << 20));
        row(&format!("`{name}`"), &circuit);
    }
    out
}

/// Rounds of small checks on LAN, with the coins that take less time there.
pub fn families() -> String {
    let mut out =
        String::from("| check, ten clients, LAN | rounds, T1 | rounds, T2 |\n|---|---|---|\n");
    let rows =
        [("norm, LeNet-5", "bench/norm", "M=LeNet5 m=10"), ("top-k", "bench/top_k", "m=10 c=1")];
    let lan = NetProfile::lan();
    for (name, file, at) in rows {
        let rounds = [Protocols::Symmetric, dealer(lan.clone())].map(|protocols| {
            let with = |security| {
                of(predicate(file, at, Options { protocols, security, ..Options::default() }))
            };
            let drawn = with(PROVEN);
            let circuit = if coins(&drawn, &lan) == Coins::Hash { with(HASHED) } else { drawn };
            sizes(&circuit)[0].clone()
        });
        let _ = writeln!(out, "| {name} | {} | {} |", rounds[0], rounds[1]);
    }
    out
}
