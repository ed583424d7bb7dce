//! Times; bytes and rounds by line and by step.

use super::bars::{Bar, bars};
use super::markup::legend;
use crate::explain::Report;
use crate::svg::escape;
use crate::units::{bytes, bytes_unit, count, network, seconds};
use slvr_compiler::cost::{LineRow, mean_party, most_expensive_first};
use std::fmt::Write;

/// Bars of one chart.
const SHOWN: usize = 12;

fn open(out: &mut String, title: &str, note: &str) {
    let (title, note) = (escape(title), escape(note));
    let _ = writeln!(out, "<section>\n<h2>{title}</h2>\n<p class=\"soft\">{note}</p>");
}

/// Seconds on each network.
pub fn times(out: &mut String, r: &Report) {
    open(out, "Predicted time", "An estimate, by what it goes to.");
    out.push_str(&legend(&[
        ("one", "latency of the rounds"),
        ("gates", "transfer of bytes"),
        ("split", "computation"),
    ]));
    let most = r.times.iter().map(|(_, t)| t.total).fold(0.0, f64::max);
    let (unit, title) = if most < 1.0 { (1e-3, "milliseconds") } else { (1.0, "seconds") };
    let of = |(net, t): &(slvr_compiler::cost::NetProfile, slvr_compiler::cost::Estimate)| {
        let [latency, transfer, compute] = [t.latency, t.transfer, t.compute].map(seconds);
        Bar {
            mark: String::new(),
            label: format!("{}: {}", net.name, network(net)),
            parts: vec![
                ("one", t.latency / unit),
                ("gates", t.transfer / unit),
                ("split", t.compute / unit),
            ],
            value: seconds(t.total),
            hint: format!("latency {latency}, transfer {transfer}, computation {compute}"),
        }
    };
    let rows: Vec<Bar> = r.times.iter().map(of).collect();
    bars(out, &rows, title);
    out.push_str("</section>\n");
}

/// A row's bar; `length` is in the unit of the axis.
fn bar(row: &LineRow, class: &'static str, length: f64, value: String, hint: String) -> Bar {
    Bar {
        mark: if row.line > 0 { row.line.to_string() } else { String::new() },
        label: row.text.trim().to_string(),
        parts: vec![(class, length)],
        value,
        hint,
    }
}

fn sent(out: &mut String, rows: &[LineRow]) {
    let most = rows.iter().map(|r| mean_party(r.bytes)).max().unwrap_or(0);
    let (unit, name) = bytes_unit(most as f64);
    let shown: Vec<Bar> = (rows.iter().filter(|r| mean_party(r.bytes) > 0).take(SHOWN))
        .map(|r| {
            let sent = mean_party(r.bytes);
            let macs = count(mean_party(r.macs), "");
            let hint =
                format!("{} in {} rounds; {macs} multiply-accumulates", bytes(sent), r.rounds);
            bar(r, "one", sent as f64 / unit, bytes(sent), hint)
        })
        .collect();
    bars(out, &shown, &format!("{name} sent by one party"));
    out.push_str("</section>\n");
}

/// Bytes by line and by step, rounds by line.
pub fn rows(out: &mut String, r: &Report) {
    let mut rows = r.lines.clone();
    most_expensive_first(&mut rows);
    let what = if r.source.is_empty() { "statement" } else { "line" };
    open(out, &format!("Bytes by {what}"), "Sent by one party, the mean of the three.");
    sent(out, &rows);
    if !r.source.is_empty() {
        let note = "A step is named by the definitions and calls it is inside.";
        open(out, "Bytes by step", note);
        sent(out, &r.steps);
    }

    rows.sort_by_key(|l| std::cmp::Reverse(l.critical));
    let note = format!(
        "Rounds of the longest chain that wait for the {what}; they add up to {}. A {what} may also \
         send in rounds that wait for another.",
        r.cost.rounds
    );
    open(out, &format!("Rounds by {what}"), &note);
    let shown: Vec<Bar> = (rows.iter().filter(|l| l.critical > 0).take(SHOWN))
        .map(|l| {
            let hint = format!("sends in {} rounds", l.rounds);
            bar(l, "two", l.critical as f64, l.critical.to_string(), hint)
        })
        .collect();
    bars(out, &shown, "rounds");
    out.push_str("</section>\n");
}
