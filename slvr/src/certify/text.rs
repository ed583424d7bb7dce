//! The report as text.

use super::report::{Report, not_attacking};
use crate::units::{bound, error};
use slvr_compiler::diagnostic::rounding::at_most;
use slvr_compiler::report::given::{GivenLine, KeepRow, Share};
use std::fmt::Write;

/// Rows of one kind that are shown.
const SHOWN: usize = 12;

/// Everything, statement by statement.
pub fn page(r: &Report<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} {}\n", r.circuit.name, bound(&r.circuit.sizes));
    inputs(&mut out, r);
    let log2 = at_most(r.failure.log2(), 1);
    let _ = writeln!(out, "  failure       at most 2^{log2}, proven");
    for t in &r.failure.terms {
        let _ = writeln!(out, "                2^{}: {}", at_most(t.log2, 1), t.what);
    }
    all_inputs(&mut out, r);
    these_inputs(&mut out, r);
    measured(&mut out, r);
    out
}

fn inputs(out: &mut String, r: &Report<'_>) {
    let sets: Vec<String> = r
        .circuit
        .parties
        .iter()
        .enumerate()
        .filter(|(s, _)| {
            let gives = slvr_circuit::From::Each(*s as u32);
            r.circuit.inputs.iter().any(|i| i.from == gives)
        })
        .map(|(_, p)| format!("{} {}", p.size, p.name))
        .collect();
    let _ = writeln!(out, "  inputs        {}: {}", r.dir, sets.join(", "));
    match &r.about {
        Some(about) => {
            if !about.data.is_empty() {
                let _ = writeln!(out, "                {}", about.data);
            }
            for a in &about.attacks {
                let _ = writeln!(out, "                {} {} attacks: {}", a.of, a.member, a.what);
            }
        }
        None => out.push_str(
            "                the folder does not say where they are from, or who attacks\n",
        ),
    }
}

fn all_inputs(out: &mut String, r: &Report<'_>) {
    out.push_str("\nproven for all inputs, as they are encoded\n");
    for e in &r.certificate.error {
        if e.says_nothing() {
            let _ =
                writeln!(out, "  {:<13} of the error of {} nothing is proven", e.kind(), e.name);
            continue;
        }
        let _ = writeln!(
            out,
            "  {:<13} {} is off by at most {} if no decision is within its margin\n\
             \x20               rounding the inputs changes it by at most {}",
            e.kind(),
            e.name,
            number(e.proven),
            number(e.rounding_inputs)
        );
    }
    if let Some(widest) = r.certificate.widest() {
        let _ = writeln!(
            out,
            "  decisions     the largest margin is {}, in line {}",
            number(widest.margin),
            widest.line
        );
    }
    let unproven = r.certificate.unproven();
    if unproven > 0 {
        let _ = writeln!(out, "  decisions     of {unproven} comparisons nothing is proven");
    }
}

/// An error for people.
fn number(x: f64) -> String {
    match x {
        x if x.is_finite() => error(x),
        _ => "any number".into(),
    }
}

fn part(share: Share) -> String {
    // Rounded down: 100 % is all.
    let percent = (share.share() * 1000.0).floor() / 10.0;
    format!("{} of {} ({percent:.1} %)", share.certified, share.decisions)
}

fn these_inputs(out: &mut String, r: &Report<'_>) {
    let p = &r.proven;
    let _ = writeln!(
        out,
        "\nproven for these inputs, as they are encoded, except with probability 2^{}",
        at_most(p.failure_log2, 0)
    );
    if p.total.decisions == 0 {
        out.push_str("  decisions     none of inexact values\n");
    } else {
        let _ = writeln!(
            out,
            "  decisions     {} certified: every run takes them as the program does",
            part(p.total)
        );
    }
    for line in &p.lines {
        let least = match line.least_ratio {
            Some(least) => format!("the smallest gap is {least:.2} of its bound"),
            None => "nothing is off".to_string(),
        };
        let _ = writeln!(
            out,
            "                line {}, {}: {}; {least}",
            line.line,
            line.step,
            part(line.of)
        );
        honest(out, r, line);
    }
    if p.total.decisions > 0 {
        out.push_str(
            "  gap / bound   how far the sides are apart, in bounds of how far a run may be off\n",
        );
        for b in p.histogram.iter().filter(|b| b.decisions > 0) {
            let range = match b.to {
                Some(to) if b.from == 0.0 => format!("below {to}"),
                Some(to) => format!("{} to {to}", b.from),
                None => format!("{} and more", b.from),
            };
            let most = p.histogram.iter().map(|b| b.decisions).max().unwrap_or(1).max(1);
            let bar = (b.decisions * 40).div_ceil(most) as usize;
            let _ =
                writeln!(out, "                {range:>13} {:>8} {}", b.decisions, "#".repeat(bar));
        }
    }
    for row in &p.keep {
        keep(out, row);
    }
    for e in &p.reveals {
        let off = number(e.off);
        let _ = writeln!(
            out,
            "  reveal        {} is off by at most {off}, whatever is decided",
            e.name
        );
    }
}

/// The share of members that do not attack, where the inputs say who does.
fn honest(out: &mut String, r: &Report<'_>, line: &GivenLine) {
    let Some(share) = not_attacking(r, line) else { return };
    let _ = writeln!(out, "                  of members that do not attack: {}", part(share));
}

fn keep(out: &mut String, row: &KeepRow) {
    let of = row.of.as_ref().map_or(String::new(), |of| format!(" of {of}"));
    let _ = writeln!(
        out,
        "  keep          {} of {} bits{of} certain (line {}, {})",
        row.certain, row.bits, row.line, row.step
    );
    for bit in row.uncertain.iter().take(SHOWN) {
        let who = match &row.of {
            Some(of) => format!("{of} {}", bit.index),
            None => format!("bit {}", bit.index),
        };
        let depends = match bit.depends_on {
            Some(1) => "depends on 1 decision that is not certified".to_string(),
            Some(n) => format!("depends on {n} decisions that are not certified"),
            None => "depends on decisions that are not certified".to_string(),
        };
        let program = u8::from(bit.program);
        let _ = writeln!(out, "                {who}: {program} in the program, {depends}");
    }
    if row.uncertain.len() > SHOWN {
        let _ = writeln!(out, "                and {} more", row.uncertain.len() - SHOWN);
    }
}

fn measured(out: &mut String, r: &Report<'_>) {
    let _ = writeln!(out, "\nmeasured on {}, in one evaluation in the circuit's arithmetic", r.dir);
    match &r.measured {
        Some(m) => {
            let _ = writeln!(
                out,
                "  decisions     {} of {} agree with floating point on the encoded inputs\n\
                 \x20               between {:.3} % and {:.3} % with a confidence of {} % (Clopper and Pearson)",
                m.seen,
                m.of,
                (m.low * 1e5).floor() / 1e3,
                (m.high * 1e5).ceil() / 1e3,
                m.confidence * 100.0
            );
        }
        None => out.push_str("  decisions     none of inexact values\n"),
    }
}
