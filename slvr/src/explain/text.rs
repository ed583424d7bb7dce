//! The report as text.

use super::report::{Proofs, Report};
use super::rows::{self, certified, columns, figures};
use crate::report;
use crate::units::{bound, bytes, count, error, network, per_party, seconds, share};
use slvr_circuit::artifact;
use slvr_circuit::openings::openings;
use slvr_compiler::cost::{LineRow, busiest_party, mean_party, most_expensive_first};
use slvr_compiler::report::certificate::Certificate;
use std::fmt::Write;
use std::path::Path;

/// Lines and steps that are shown; the rest is one row.
const SHOWN: usize = 12;

/// Everything, section by section.
pub fn page(r: &Report, html: Option<&Path>) -> String {
    let mut out = String::new();
    head(&mut out, r);
    times(&mut out, r);
    if r.source.is_empty() {
        table(&mut out, "statements, by bytes", r, &r.lines);
    } else {
        listing(&mut out, r);
        table(&mut out, "lines, by bytes", r, &r.lines);
    }
    table(&mut out, "steps, by bytes", r, &r.steps);
    timeline(&mut out, r);
    super::workers::text(&mut out, r);
    if let Some(c) = &r.certificate {
        certificate(&mut out, c);
    }
    let _ = write!(out, "\n{}", r.leaks.text());
    if r.source.is_empty() {
        opened(&mut out, r);
    }
    if let Some(path) = html {
        let _ = writeln!(out, "\nwritten: {}", path.display());
    }
    out
}

/// Of an artifact: what its instructions open, whatever their names say.
fn opened(out: &mut String, r: &Report) {
    out.push_str("\nwhat is opened, as the instructions have it\n");
    for o in openings(&r.circuit) {
        let (to, what) = (report::learns(&r.circuit, o.to), report::opened(&r.circuit, &o));
        let _ = writeln!(
            out,
            "  layer {:<4}  to {to:<18} {} bits: {what} {:?}",
            o.layer,
            count(o.bits, ""),
            o.shape
        );
    }
}

fn head(out: &mut String, r: &Report) {
    let c = &r.cost;
    let _ = writeln!(out, "{} {}\n", r.circuit.name, bound(&r.circuit.sizes));
    let by_party: Vec<String> = c.bytes.iter().map(|&b| bytes(b)).collect();
    let _ = writeln!(out, "  circuit       {}", report::hex(&artifact::hash(&r.circuit)));
    let _ = writeln!(out, "  rounds        {}", c.rounds);
    for (i, line) in r.clients.iter().flat_map(|n| n.lines()).enumerate() {
        let _ = writeln!(out, "  {:<13} {line}", if i == 0 { "clients" } else { "" });
    }
    let proofs = r.proofs();
    if let Some(Proofs { rounds, sent, .. }) = proofs {
        let _ = writeln!(
            out,
            "  adversary     one malicious party: {rounds} of the rounds and {} of what is sent are proofs; family {}",
            bytes(sent),
            r.family()
        );
    }
    let _ = writeln!(out, "  sent          {} by the three parties", by_party.join(", "));
    for (p, upload) in r.circuit.parties.iter().zip(&c.upload).filter(|(_, u)| **u > 0) {
        let _ = writeln!(out, "  upload        {} by each {}", bytes(*upload), p.name);
    }
    let _ = writeln!(
        out,
        "  arithmetic    {} multiply-accumulates in a party",
        count(busiest_party(c.macs), "")
    );
    for (i, (n, when)) in r.memory().enumerate() {
        let _ = writeln!(out, "  {:<13} {} {when}", if i == 0 { "memory" } else { "" }, bytes(n));
    }
}

fn times(out: &mut String, r: &Report) {
    let chosen = r.chosen_for.as_ref();
    let chosen = chosen.map_or(String::new(), |n| format!(", with the protocols for {n}"));
    let _ = writeln!(
        out,
        "\ntime, estimated{chosen}\n  {:>12}  {:>9}  {:>9}  {:>9}  {:>9}",
        "network", "total", "latency", "transfer", "compute"
    );
    for (net, t) in &r.times {
        let [total, latency, transfer, compute] =
            [t.total, t.latency, t.transfer, t.compute].map(seconds);
        let _ = writeln!(
            out,
            "  {:>12}  {total:>9}  {latency:>9}  {transfer:>9}  {compute:>9}  ({})",
            net.name,
            network(net)
        );
    }
}

/// Cells below their columns.
fn aligned(cells: &[String], certified: bool) -> String {
    let columns = columns(certified).iter().zip(cells);
    let all: Vec<String> = columns.map(|(c, cell)| format!("{cell:>0$}", c.width)).collect();
    all.join("  ")
}

fn heading(certified: bool) -> String {
    let names: Vec<String> = columns(certified).iter().map(|c| c.name.into()).collect();
    aligned(&names, certified)
}

/// What stands behind a line in an editor: the rounds that wait for it, bytes, range and error as in the listing.
/// Nothing of a line of which there is none of these to say.
pub fn beside(row: &LineRow) -> Option<String> {
    let mut parts = Vec::new();
    if row.critical > 0 {
        parts.push(format!("waits {}", row.critical));
    }
    if mean_party(row.bytes) > 0 {
        parts.push(per_party(row.bytes));
    }
    let range = row.range.as_deref().unwrap_or("");
    match row.error.map(error) {
        Some(error) => parts.push(format!("{range} ± {error}").trim_start().to_owned()),
        None if !range.is_empty() => parts.push(range.to_owned()),
        None => {}
    }
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// The source, with what each line costs beside it.
fn listing(out: &mut String, r: &Report) {
    let certified = certified(&r.lines);
    let _ = writeln!(
        out,
        "\nline by line: rounds in which a line sends, rounds that wait for it (these add up), bytes\n\
         sent and multiply-accumulates of a party (mean), memory at the peak\n\n  {} | {}",
        heading(certified),
        r.file
    );
    let cells = |row: &LineRow| aligned(&figures(row), certified);
    let blank = cells(&LineRow::default());
    for (n, text) in r.source.lines().enumerate().map(|(i, t)| (i as u32 + 1, t)) {
        let row = r.lines.iter().find(|l| l.line == n);
        let cells = row.map_or_else(|| blank.clone(), cells);
        let _ = writeln!(out, "{}", format!("  {cells} | {n:>3} {text}").trim_end());
    }
}

/// The most expensive rows.
fn table(out: &mut String, title: &str, r: &Report, rows: &[LineRow]) {
    let mut rows = rows.to_vec();
    most_expensive_first(&mut rows);
    let all: u64 = r.cost.bytes.iter().sum();
    let _ = writeln!(out, "\n{title}\n  {:>6}  {}  line", "share", heading(false));
    let rest = rows.split_off(rows.len().min(SHOWN));
    for row in &rows {
        let sum = row.bytes.iter().sum();
        let line = if row.line > 0 { row.line.to_string() } else { "-".into() };
        let _ = writeln!(
            out,
            "  {:>6}  {}  {line:>4} {}",
            share(sum, all),
            aligned(&figures(row), false),
            row.text.trim()
        );
    }
    if !rest.is_empty() {
        let sum = rest.iter().flat_map(|r| r.bytes).sum();
        let _ = writeln!(out, "  {:>6}  and {} more", share(sum, all), rest.len());
    }
}

/// What is proven, for all inputs.
fn certificate(out: &mut String, c: &Certificate) {
    out.push_str("\ncertificate\n");
    for (kind, lines) in rows::certificate(c) {
        for (i, line) in lines.iter().enumerate() {
            let _ = writeln!(out, "  {:<13} {line}", if i == 0 { kind } else { "" });
        }
    }
}

/// The rounds, by what they wait for.
fn timeline(out: &mut String, r: &Report) {
    let all: u64 = r.cost.bytes.iter().sum();
    let _ = writeln!(
        out,
        "\nrounds, by the line they wait for\n  {:>9}  {:>6}  {:>8}  {:>6}",
        "rounds", "number", "bytes", "share"
    );
    for p in r.phases() {
        let which =
            if p.first == p.last { p.first.to_string() } else { format!("{}-{}", p.first, p.last) };
        let line = if p.line > 0 { format!("line {}, ", p.line) } else { String::new() };
        let _ = writeln!(
            out,
            "  {which:>9}  {:>6}  {:>8}  {:>6}  {line}{}",
            p.last - p.first + 1,
            bytes(p.bytes / 3),
            share(p.bytes, all),
            p.name
        );
    }
}
