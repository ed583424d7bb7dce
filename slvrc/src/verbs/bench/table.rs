//! The lines as Markdown and as JSON.

use super::measure::{Known, Line, Outcome, Plan, Ran, median};
use super::network::Floor;
use super::peers::Origin;
use super::rows::SAMPLES;
use serde_json::{Value, json};
use slvr_compiler::cost::busiest_party;
use slvr_ring::machine::Machine;
use std::fmt::Write;

#[derive(Clone, Copy)]
pub struct Style {
    /// Memory of a party.
    pub memory: bool,
    /// Whether a row is against a malicious party, so that the semi-honest build runs beside it.
    pub malicious: bool,
    /// How many workers of each party run beside.
    pub workers: usize,
}

impl Style {
    /// Heads of the columns about the build beside. The ratios against a malicious party are ours over semi-honest.
    fn columns(self) -> &'static [&'static str] {
        match self.malicious {
            false => &[],
            true => &[
                "semi-honest, s",
                "times semi-honest: s",
                "MB by all",
                "MB of values",
                "rounds more than semi-honest",
            ],
        }
    }
}

/// A row's build against a malicious party over its semi-honest one: bytes of all, most memory, and the rounds that it
/// takes more.
fn dearer(known: &Known, beside: &Known) -> (f64, f64, i64) {
    let sent = |k: &Known| k.bytes.iter().sum::<u64>() as f64;
    let held = |k: &Known| busiest_party(k.peak) as f64;
    let more = known.rounds as i64 - beside.rounds as i64;
    (sent(known) / sent(beside), held(known) / held(beside), more)
}

/// Three digits that count.
fn three(x: f64) -> String {
    let digits = match x.abs() {
        0.0 => 0,
        x if x < 0.0995 => (2.0 - x.log10().floor()) as usize,
        x if x < 0.995 => 3,
        x if x < 9.95 => 2,
        x if x < 99.5 => 1,
        _ => 0,
    };
    format!("{x:.digits$}")
}

fn megabytes(bytes: u64) -> String {
    three(bytes as f64 / 1e6)
}

/// What stands above the lines.
pub fn head(machine: &Machine, plan: Plan, style: Style) -> String {
    let runs = match plan.repeats {
        0 => "nothing runs".to_string(),
        1 => "one run of each row".into(),
        n => format!("median of {n} runs"),
    };
    let mut out = format!(
        "This machine: {} cores, {:.1} billion 64-bit multiply-adds per second in one, {:.1} us from \
         thread to thread; all cores move {:.1} GB of memory and draw {:.1} GB of masks in a second. {runs}; {SAMPLES} samples of each committee member. Paper and MP-SPDZ were \
         measured elsewhere, MP-SPDZ on a similar machine.\n\n",
        machine.cores,
        machine.macs_per_s / 1e9,
        machine.handover_s * 1e6,
        machine.memory_bytes_per_s / 1e9,
        machine.random_bytes_per_s / 1e9,
    );
    let mut columns =
        vec!["row", "network", "rounds", "MB sent by a party (most)", "MB sent by all"];
    if style.memory {
        columns.push("MB of values in a party (most)");
    }
    columns.extend([
        "s",
        "floor, s",
        "times the floor",
        "floor with masks and memory, s",
        "times it",
    ]);
    columns.extend(style.columns());
    let with = format!("with {} workers, s", style.workers);
    if style.workers > 0 {
        columns.extend([with.as_str(), "times without"]);
    }
    columns.extend(["MP-SPDZ, s", "MP-SPDZ, MB by all", "paper, s"]);
    let _ = writeln!(out, "| {} |", columns.join(" | "));
    let _ = writeln!(out, "|{}", "---|".repeat(columns.len()));
    out
}

pub fn line(line: &Line, style: Style) -> String {
    let none = || "-".to_string();
    let number = |x: Option<f64>| x.map_or_else(none, three);
    let known = line.known.as_ref();
    let of = |f: fn(&Known) -> String| known.map_or_else(none, f);
    let mut cells = vec![
        line.row.name(),
        line.net.name.clone(),
        of(|k| k.rounds.to_string()),
        of(|k| megabytes(busiest_party(k.bytes))),
        of(|k| megabytes(k.bytes.iter().sum())),
    ];
    if style.memory {
        cells.push(of(|k| megabytes(busiest_party(k.peak))));
    }
    let floors = [Floor::seconds, Floor::whole].map(|of| known.map(|k| of(&k.floor)));
    let (ran, seconds) = match &line.outcome {
        Outcome::Ran(ran) => (Some(ran), three(ran.median())),
        // Whatever the compiler says must not end a cell.
        Outcome::Skipped(why) => {
            let estimate = known.map(|k| format!(" (estimate: {})", three(k.estimate)));
            let why = why.replace('|', "\\|").replace('\n', " ");
            (None, format!("{why}{}", estimate.unwrap_or_default()))
        }
    };
    cells.push(seconds);
    for floor in floors {
        let times = ran.zip(floor).map(|(r, f)| r.median() / f);
        cells.extend([number(floor), number(times.filter(|x| x.is_finite()))]);
    }
    if style.malicious {
        let other = ran.filter(|r| !r.beside.is_empty());
        let said = ran.and_then(|r| r.no_beside.clone());
        cells.push(match (other, said) {
            (None, Some(why)) => why.replace('|', "\\|").replace('\n', " "),
            (other, _) => number(other.map(|r| median(&r.beside))),
        });
        let more = known.zip(line.beside.as_ref()).map(|(k, b)| dearer(k, b));
        cells.push(number(other.map(Ran::times)));
        cells.push(number(more.map(|m| m.0)));
        cells.push(number(more.map(|m| m.1)));
        cells.push(more.map_or_else(none, |m| m.2.to_string()));
    }
    if style.workers > 0 {
        let with = ran.filter(|r| !r.with_workers.is_empty());
        cells.push(number(with.map(|r| median(&r.with_workers))));
        cells.push(number(with.map(Ran::times_with_workers)));
    }
    let figure = |origin| line.row.figures().find(|f| f.origin == origin);
    let seconds = |origin| figure(origin).and_then(|f| f.seconds_on(&line.net.name));
    cells.push(number(seconds(Origin::MpSpdz)));
    cells.push(number(figure(Origin::MpSpdz).and_then(|f| f.megabytes[1])));
    cells.push(number(seconds(Origin::Paper)));
    format!("| {} |\n", cells.join(" | "))
}

/// All lines, and what they were measured on.
pub fn to_json(lines: &[Line], machine: &Machine, plan: Plan) -> Value {
    let rows: Vec<Value> = lines.iter().map(|line| one(line, plan)).collect();
    json!({
        "workers": plan.workers,
        "repeats": plan.repeats,
        "seed": plan.seed,
        "security": plan.how.security.name(),
        "machine": {
            "cores": machine.cores,
            "macs_per_s": machine.macs_per_s,
            "handover_s": machine.handover_s,
            "memory_bytes_per_s": machine.memory_bytes_per_s,
            "random_bytes_per_s": machine.random_bytes_per_s,
        },
        "rows": rows,
    })
}

fn one(line: &Line, plan: Plan) -> Value {
    let proven = |r: &&Ran| !r.beside.is_empty();
    let known = line.known.as_ref();
    let (ran, skipped) = match &line.outcome {
        Outcome::Ran(ran) => (Some(ran), None),
        Outcome::Skipped(why) => (None, Some(why)),
    };
    let elsewhere: Vec<Value> = line
        .row
        .figures()
        .map(|f| {
            json!({
                "origin": f.origin.name(),
                "seconds": f.seconds_on(&line.net.name),
                "megabytes_one_party": f.megabytes[0],
                "megabytes_all": f.megabytes[1],
                "rounds": f.rounds,
            })
        })
        .collect();
    json!({
        "name": line.row.name(),
        "job": line.row.job.name(),
        "predicate": line.row.job.file(),
        "model": line.row.model,
        "m": line.row.m,
        "c": line.row.c(),
        "security": line.row.security(plan.how.security).name(),
        "net": line.net,
        "skipped": skipped,
        "rounds": ran.map(|r| r.rounds),
        "predicted_rounds": known.map(|k| k.rounds),
        "bytes_sent": ran.map(|r| r.bytes),
        "predicted_bytes_sent": known.map(|k| k.bytes),
        "macs": known.map(|k| k.macs),
        "peak_memory_bytes": ran.map(|r| r.peak),
        "predicted_peak_memory_bytes": known.map(|k| k.peak),
        "seconds": ran.map(|r| r.median()),
        "runs_seconds": ran.map(|r| &r.seconds),
        "estimated_seconds": known.map(|k| k.estimate),
        "floor_seconds": known.map(|k| json!({
            "network": k.floor.network,
            "arithmetic": k.floor.arithmetic,
            "larger": k.floor.seconds(),
            "random": k.floor.random,
            "memory": k.floor.memory,
            "whole": k.floor.whole(),
        })),
        "times_the_floor": ran.zip(known).map(|(r, k)| r.median() / k.floor.seconds()),
        "times_the_whole_floor": ran.zip(known).map(|(r, k)| r.median() / k.floor.whole()),
        "semi_honest_missing": ran.and_then(|r| r.no_beside.as_ref()),
        "semi_honest": line.beside.as_ref().map(|b| json!({
            "rounds": b.rounds,
            "bytes_sent": b.bytes,
            "peak_memory_bytes": b.peak,
            "seconds": ran.filter(proven).map(|r| median(&r.beside)),
            "runs_seconds": ran.filter(proven).map(|r| &r.beside),
            "times_seconds": ran.filter(proven).map(Ran::times),
            "times_bytes_sent": known.map(|k| dearer(k, b).0),
            "times_memory": known.map(|k| dearer(k, b).1),
            "rounds_more": known.map(|k| dearer(k, b).2),
        })),
        "with_workers": ran.filter(|r| !r.with_workers.is_empty()).map(|r| json!({
            "seconds": median(&r.with_workers),
            "runs_seconds": r.with_workers,
            "times_seconds": r.times_with_workers(),
        })),
        "elsewhere": elsewhere,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        let cases = [(0.0, "0"), (0.000_123_4, "0.000123"), (0.0996, "0.100"), (0.5, "0.500")];
        for (x, text) in
            cases.into_iter().chain([(1.234, "1.23"), (12.34, "12.3"), (1234.5, "1234")])
        {
            assert_eq!(three(x), text);
        }
    }
}
