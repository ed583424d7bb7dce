//! The listing, the steps, who learns what, the warnings.

use super::markup::{prose, sentence};
use crate::explain::Report;
use crate::svg::escape;
use crate::units::{bytes, count, error, per_party, range, share, taken};
use slvr_compiler::cost::{LineRow, mean};
use slvr_compiler::report::leaks::{Learned, Level};
use std::fmt::Write;

/// Rows of the table of steps.
const STEPS: usize = 40;

fn some(n: u64, text: String) -> String {
    if n == 0 { String::new() } else { text }
}

fn cells(row: &LineRow, certified: bool) -> String {
    let mut out = format!(
        "<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
        some(row.rounds as u64, row.rounds.to_string()),
        some(row.critical as u64, row.critical.to_string()),
        some(mean(row.bytes), per_party(row.bytes)),
        some(mean(row.macs), count(mean(row.macs), "")),
        some(row.memory, bytes(row.memory)),
    );
    if certified {
        let range = row.range.as_deref().map_or(String::new(), escape);
        let error = row.error.map_or(String::new(), error);
        let _ = write!(out, "<td>{range}</td><td>{error}</td>");
    }
    out
}

fn heading(certified: bool) -> String {
    let mut out: String = [
        ("rounds", "Rounds in which it sends"),
        ("waits", "Rounds of the longest chain that wait for it"),
        ("bytes", "Sent by one party, mean"),
        ("MACs", "Multiply-accumulates of one party, mean"),
        ("memory", "Bytes of its values when a party holds most"),
    ]
    .map(|(name, hint)| format!("<th title=\"{hint}\">{name}</th>"))
    .concat();
    if certified {
        out.push_str("<th>range</th><th title=\"Bound on the absolute error\">error</th>");
    }
    out
}

/// What is proven, for all inputs.
pub fn certificate(out: &mut String, r: &Report) {
    let Some(c) = &r.certificate else { return };
    let failure = match c.failure_log2 {
        Some(p) => format!("at most 2<sup>{p:.1}</sup> (proven)"),
        None => "0, because nothing here can fail".to_string(),
    };
    let _ = writeln!(
        out,
        "<section>\n<h2>Certificate</h2>\n<p>Probability that anything is wrong by more than its stated \
         error: {failure}.</p>\n<div class=\"scroll\"><table class=\"listing\"><tr><th class=\"left\">input\
         </th><th>declared</th><th>enforced</th><th>norm, kept by the client's software</th><th>enforced</th><th class=\"left\">how</th></tr>"
    );
    let norm = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.0}"));
    for i in &c.inputs {
        let _ = writeln!(
            out,
            "<tr><td class=\"left\"><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td class=\"left\">{}</td></tr>",
            escape(&i.name),
            range(i.declared),
            range(i.enforced),
            norm(i.norm),
            norm(i.norm.and(i.enforced_norm)),
            escape(&i.how)
        );
    }
    out.push_str(
        "</table></div>\n<div class=\"scroll\"><table class=\"listing\"><tr><th class=\"left\">reveal</th>\
         <th>range</th><th>error, proven for all inputs</th><th>by rounding inputs</th></tr>\n",
    );
    for e in &c.error {
        let (own, rounding) = match e.says_nothing() {
            true => ("nothing: see <code>slvrc certify</code>".to_string(), String::new()),
            false => (error(e.proven), error(e.rounding_inputs)),
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"left\"><code>{}</code>{}</td><td>{}</td><td>{own}</td><td>{rounding}</td></tr>",
            escape(&e.name),
            if e.state { ", a state" } else { "" },
            range(e.range)
        );
    }
    out.push_str("</table></div>\n<ul>\n");
    let rings: Vec<String> =
        c.rings.iter().map(|(k, n)| format!("{} words of {k} bits", count(*n, ""))).collect();
    let _ = writeln!(out, "<li>Rings: {}.</li>", rings.join(", "));
    if let Some(top) = c.saturates_at {
        let half = top / 2.0;
        let _ = writeln!(
            out,
            "<li>Where values do not fit, results of <code>relu</code> saturate at {top}, products with a reciprocal at {half}.</li>"
        );
    }
    for cut in &c.assumed {
        let _ = writeln!(out, "<li>Line {}: {}.</li>", cut.line, escape(&taken(cut)));
    }
    if !c.assumed.is_empty() {
        let _ = writeln!(
            out,
            "<li>Errors and decisions are stated for inputs whose values stay within these cuts.</li>"
        );
    }
    for a in &c.saturations {
        let _ = writeln!(
            out,
            "<li>Line {}: <code>{}</code> {}.</li>",
            a.line,
            escape(&a.function),
            escape(&a.said())
        );
    }
    if let Some(widest) = c.widest() {
        let _ = writeln!(
            out,
            "<li>{} comparisons decide as the program does on the encoded inputs unless both sides are within \
             {} of one another (proven for all inputs). Rounding the inputs may decide them otherwise within \
             {}. The errors of reveals above are those where no decision falls otherwise.</li>",
            c.decisions.len() - c.unproven(),
            error(widest.margin),
            error(c.widest_rounding())
        );
    }
    if c.unproven() > 0 {
        let _ = writeln!(
            out,
            "<li>Of {} comparisons nothing is proven for all inputs: <code>slvrc certify</code> says which fall as in the \
             program for inputs at hand.</li>",
            c.unproven()
        );
    }
    out.push_str("</ul>\n</section>\n");
}

/// The source with what each line costs.
pub fn listing(out: &mut String, r: &Report) {
    if r.source.is_empty() {
        return;
    }
    let certified = r.lines.iter().any(|l| l.range.is_some() || l.error.is_some());
    let _ = writeln!(
        out,
        "<section>\n<h2>Line by line</h2>\n<p class=\"soft\">What stands in the library counts for the line \
         that calls it. Waits add up to the rounds of a run; rounds are shared.</p>\n\
         <div class=\"scroll\"><table class=\"listing\"><tr>{}<th></th><th class=\"left\">{}</th></tr>",
        heading(certified),
        escape(&r.file)
    );
    let blank = cells(&LineRow::default(), certified);
    for (n, text) in r.source.lines().enumerate().map(|(i, t)| (i as u32 + 1, t)) {
        let row = r.lines.iter().find(|l| l.line == n);
        let class = row.map_or("", |_| " class=\"cost\"");
        let cells = row.map_or_else(|| blank.clone(), |row| cells(row, certified));
        let _ = writeln!(
            out,
            "<tr{class}>{cells}<td class=\"no\">{n}</td><td class=\"left\"><pre>{}</pre></td></tr>",
            escape(text)
        );
    }
    out.push_str("</table></div>\n</section>\n");
}

/// The dearest steps.
pub fn steps(out: &mut String, r: &Report) {
    let all: u64 = r.cost.bytes.iter().sum();
    let _ = writeln!(
        out,
        "<section>\n<h2>Steps by bytes</h2>\n<p class=\"soft\">A step is named by the definitions and calls \
         it is inside.</p>\n<div class=\"scroll\"><table class=\"rows\"><tr><th class=\"left\">step</th>\
         <th>line</th><th>share</th>{}</tr>",
        heading(false)
    );
    for row in r.steps.iter().take(STEPS) {
        let _ = writeln!(
            out,
            "<tr><td class=\"left\"><code>{}</code></td><td>{}</td><td>{}</td>{}</tr>",
            escape(&row.text),
            some(u64::from(row.line), row.line.to_string()),
            share(row.bytes.iter().sum(), all),
            cells(row, false)
        );
    }
    out.push_str("</table></div>\n");
    if let Some(rest) = r.steps.get(STEPS..).filter(|rest| !rest.is_empty()) {
        let sum = rest.iter().flat_map(|s| s.bytes).sum();
        let _ = writeln!(
            out,
            "<p class=\"soft\">And {} more, {} of the bytes.</p>",
            rest.len(),
            share(sum, all)
        );
    }
    out.push_str("</section>\n");
}

pub fn learned(out: &mut String, r: &Report) {
    out.push_str(
        "<section>\n<h2>Who learns what</h2>\n<p class=\"soft\">Everything; all else stays shared.</p>\n\
         <div class=\"scroll\"><table class=\"rows\"><tr><th class=\"left\">who</th><th class=\"left\">what</th>\
         <th class=\"left\">shape</th><th>line</th><th class=\"left\">that is</th></tr>\n",
    );
    let shape = |l: &Learned| {
        if l.shape.is_empty() { String::new() } else { format!("{:?}", l.shape) }
    };
    for l in &r.leaks.learned {
        let expression = match l.expression.as_str() {
            "" => String::new(),
            e => format!("<br><code>{}</code>", escape(e)),
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"left\">{}</td><td class=\"left\"><code>{}</code></td><td class=\"left\">{}</td>\
             <td>{}</td><td class=\"left wrap\">{}{expression}</td></tr>",
            escape(&l.to),
            escape(&l.name),
            shape(l),
            some(u64::from(l.line), l.line.to_string()),
            prose(&l.text)
        );
    }
    out.push_str("</table></div>\n</section>\n");
}

/// Warnings and notes, if there are any.
pub fn warnings(out: &mut String, r: &Report) {
    for w in &r.leaks.warnings {
        let line = if w.line > 0 { format!(", line {}", w.line) } else { String::new() };
        let level = match w.level {
            Level::Warning => "Warning",
            Level::Note => "Note",
        };
        let _ = writeln!(
            out,
            "<div class=\"warning\" role=\"note\"><h3>{level}: {}</h3><p><code>{}</code>{line}</p>\
             <p><b>Why.</b> {}</p><p><b>What to do.</b> {}</p></div>",
            escape(w.kind.title()),
            escape(&w.reveals.join(", ")),
            sentence(&w.why),
            sentence(&w.help)
        );
    }
}
