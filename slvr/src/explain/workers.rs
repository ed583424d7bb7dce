//! What workers of each party would compute of a circuit, and what stays with the party.

use super::report::Report;
use crate::error::{Result, refuse};
use crate::units::{bytes, seconds};
use serde_json::{Value, json};
use slvr_circuit::ranges::first;
use slvr_circuit::speculation::Speculation;
use slvr_compiler::cost::{self, Waits, WorkersCost, busiest_party};
use std::fmt::Write;

/// Ranges that are shown; the rest is one row.
const SHOWN: usize = 16;

impl Report {
    /// Says what so many workers of each party, at least one, would compute.
    ///
    /// # Errors
    ///
    /// [`Error::Input`](crate::Error::Input) of a circuit against a malicious party, which workers do not compute.
    pub fn ask_workers(&mut self, count: usize) -> Result<()> {
        if self.circuit.security.is_malicious() {
            refuse!(
                "{}: --workers: a circuit against a malicious party has no ranges for workers, because a party proves at \
                 once all that it has sent: use --security semi-honest, or one larger machine for each party",
                self.file
            );
        }
        let nets: Vec<_> = self.times.iter().map(|(net, _)| net).collect();
        let costs = cost::workers(&self.circuit, count, &nets);
        self.workers = nets.iter().map(|net| net.name.clone()).zip(costs).collect();
        Ok(())
    }
}

/// As text, if it was asked for.
pub fn text(out: &mut String, r: &Report) {
    let Some((_, cost)) = r.workers.first() else { return };
    let count = cost.workers.len();
    let _ =
        writeln!(out, "\nworkers: {count} of each party; range n is for worker n modulo {count}");
    if cost.ranges.is_empty() {
        let _ = writeln!(
            out,
            "  no range of layers leaves little of what it makes: the parties do everything"
        );
        let _ = writeln!(out, "  (blocks of --memory are such ranges)");
    } else {
        ranges(out, cost);
    }
    if let Some(part) = Speculation::of(&r.circuit) {
        let _ = writeln!(
            out,
            "  layers {} to {} may be computed again, and stay with the party (--no-speculation has none)",
            part.first, part.last
        );
    }
    let by = |b: [u64; 3]| b.map(bytes).join(", ");
    let party = &cost.party;
    let _ = writeln!(
        out,
        "  the party     memory {}, sent {}, {} rounds of its own; layers before {} are its own",
        bytes(busiest_party(party.memory)),
        by(party.bytes),
        party.rounds,
        first(&r.circuit)
    );
    for (n, worker) in cost.workers.iter().enumerate() {
        let _ = writeln!(
            out,
            "  worker {n:<6} memory {}, sent {}, {} range{}",
            bytes(busiest_party(worker.memory)),
            by(worker.bytes),
            worker.ranges,
            if worker.ranges == 1 { "" } else { "s" }
        );
    }
    for (net, cost) in &r.workers {
        let _ = writeln!(
            out,
            "  {net:>12}  {} with workers, {} without (estimated); the end waits for {}",
            seconds(cost.seconds),
            seconds(cost.seconds_alone),
            path(cost)
        );
    }
}

fn ranges(out: &mut String, cost: &WorkersCost) {
    let _ = writeln!(
        out,
        "  {:>5}  {:>11}  {:>5}  {:>6}  {:>6}  {:>9}  {:>9}  {:>9}  {:>9}",
        "range", "layers", "stage", "worker", "rounds", "handed", "back", "sent", "memory"
    );
    for (n, range) in cost.ranges.iter().enumerate().take(SHOWN) {
        let layers = format!("{}-{}", range.first_layer, range.last_layer);
        let [reads, writes, sent, memory] =
            [range.reads, range.writes, range.bytes, range.memory].map(|b| bytes(busiest_party(b)));
        let _ = writeln!(
            out,
            "  {n:>5}  {layers:>11}  {:>5}  {:>6}  {:>6}  {reads:>9}  {writes:>9}  {sent:>9}  {memory:>9}",
            range.stage, range.worker, range.rounds
        );
    }
    if let Some(more) = cost.ranges.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        let _ = writeln!(out, "  and {more} more");
    }
}

/// What the end waits for, in a line.
fn path(cost: &WorkersCost) -> String {
    let name = |waits: &Waits| match waits {
        Waits::Party => "the party".to_string(),
        Waits::Range(n) => format!("range {n}"),
    };
    let all: Vec<String> = cost.critical.iter().map(name).collect();
    match all.len() {
        0..=6 => all.join(", "),
        n => format!("{}, {} more, {}", all[..3].join(", "), n - 5, all[n - 2..].join(", ")),
    }
}

/// As JSON: null if it was not asked for.
pub fn to_json(r: &Report) -> Value {
    let Some((_, cost)) = r.workers.first() else { return Value::Null };
    let times = r.workers.iter().map(|(net, cost)| {
        json!({
            "net": net, "seconds": cost.seconds, "seconds_without": cost.seconds_alone,
            "critical": cost.critical, "estimate": true,
        })
    });
    json!({
        "first_layer": first(&r.circuit),
        "party": cost.party,
        "workers": cost.workers,
        "ranges": cost.ranges,
        "times": times.collect::<Vec<_>>(),
    })
}
