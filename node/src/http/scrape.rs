//! What Prometheus is told: the counts of [`crate::metrics`], and what is looked at when it asks.

use super::health::{disk, unready};
use crate::clock::now;
use crate::metrics::{One, Two};
use crate::node::Node;
use crate::state::Phase;
use crate::wire::PROTOCOL;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

/// The kind of the text: OpenMetrics.
pub(super) const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A number that is looked at.
type Number = Gauge<f64, AtomicU64>;

/// Bytes of memory that this process holds; 0 where the system does not say.
pub(super) fn resident() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let pages = std::fs::read_to_string("/proc/self/statm").ok();
        let pages = pages.and_then(|s| s.split_whitespace().nth(1)?.parse::<u64>().ok());
        pages.unwrap_or(0) * rustix::param::page_size() as u64
    }
    #[cfg(not(target_os = "linux"))]
    0
}

fn number(to: &mut Registry, name: &str, help: &str, value: f64) {
    let gauge = Number::default();
    gauge.set(value);
    to.register(name, help, gauge);
}

/// All metrics of a node.
pub(super) fn metrics(node: &Node) -> String {
    let mut all = Registry::with_prefix("slvr");
    let tasks: Vec<String> = node.all_tasks().iter().map(|k| k.task.name.clone()).collect();
    node.metrics.register(&mut all, &tasks, node.config.worker.len());
    let help = "Callers at the port of nodes that were turned away";
    all.register("peer_callers_refused", help, node.peers.refused.clone());
    number(&mut all, "connections", "Connections of clients", node.metrics.connected() as f64);
    number(&mut all, "resident_bytes", "Memory of the process", resident() as f64);
    if let Some([free, whole]) = disk(&node.config.data) {
        number(&mut all, "disk_free_bytes", "Room on the disk of the folder data", free as f64);
        number(&mut all, "disk_bytes", "Size of the disk of the folder data", whole as f64);
    }
    let ready = unready(node).is_none();
    number(&mut all, "ready", "1 if the node serves clients", ready.into());
    let build: Family<Two, Number> = Family::default();
    let version = env!("CARGO_PKG_VERSION").to_string();
    build.get_or_create(&[("version", version), ("protocol", PROTOCOL.to_string())]).set(1.0);
    all.register("build_info", "Version of the program and of its protocol between nodes", build);
    let heard: Family<One, Number> = Family::default();
    for p in node.peers.others() {
        if let Some(since) = node.peers.heard(p) {
            heard.get_or_create(&[("node", p.to_string())]).set(since.as_secs_f64());
        }
    }
    let offset: Family<One, Number> = Family::default();
    for p in node.peers.others() {
        if let Some(ahead) = node.peers.offset(p) {
            offset.get_or_create(&[("node", p.to_string())]).set(ahead);
        }
    }
    let help = "By how much the other node's clock is ahead of this one's";
    all.register("peer_clock_offset_seconds", help, offset);
    all.register("peer_heard_seconds", "Since the other node was last heard of", heard);
    let (rounds, oldest) = (Family::<Two, Number>::default(), Family::<One, Number>::default());
    let mut count: BTreeMap<(String, Phase), u64> = BTreeMap::new();
    for task in &tasks {
        count.extend(Phase::ALL.map(|p| ((task.clone(), p), 0)));
        oldest.get_or_create(&[("task", task.clone())]).set(0.0);
    }
    for round in node.rounds() {
        let task = &round.spec.key.task;
        *count.entry((task.clone(), round.phase)).or_default() += 1;
        if !round.ended() {
            let age = now().saturating_sub(round.times[0].unwrap_or_else(now)) as f64;
            let most = oldest.get_or_create_owned(&[("task", task.clone())]);
            most.set(most.get().max(age));
        }
    }
    for ((task, phase), n) in count {
        let labels = [("phase", phase.to_string()), ("task", task)];
        rounds.get_or_create(&labels).set(n as f64);
    }
    all.register("rounds", "Rounds by where they stand", rounds);
    let help = "Since the oldest round that has not ended was opened; 0 if there is none";
    all.register("oldest_round_seconds", help, oldest);
    let mut out = String::new();
    // Text goes into a string without an error.
    let _ = encode(&mut out, &all);
    out
}
