//! The certificate, the listing, the steps, who learns what, the warnings.

use super::markup::{prose, sentence};
use crate::explain::Report;
use crate::explain::rows::{self, Column, certified, columns, figures, some};
use crate::svg::escape;
use crate::units::share;
use slvr_compiler::cost::LineRow;
use slvr_compiler::report::leaks::{Learned, Level};
use std::fmt::Write;

/// Rows of the table of steps.
const STEPS: usize = 40;

fn cells(row: &LineRow, certified: bool) -> String {
    let shown = columns(certified).iter().zip(figures(row));
    shown.map(|(_, cell)| format!("<td>{}</td>", escape(&cell))).collect()
}

fn heading(certified: bool) -> String {
    let one = |c: &Column| format!("<th title=\"{}\">{}</th>", c.what, c.name);
    columns(certified).iter().map(one).collect()
}

/// What is proven, for all inputs.
pub fn certificate(out: &mut String, r: &Report) {
    let Some(c) = &r.certificate else { return };
    out.push_str("<section>\n<h2>Certificate</h2>\n<div class=\"scroll\"><table class=\"rows\">\n");
    for (kind, lines) in rows::certificate(c) {
        let lines: Vec<String> = lines.iter().map(|line| prose(line)).collect();
        let lines = lines.join("<br>");
        let _ = writeln!(
            out,
            "<tr><td class=\"left\">{kind}</td><td class=\"left wrap\">{lines}</td></tr>"
        );
    }
    out.push_str("</table></div>\n</section>\n");
}

/// The source with what each line costs.
pub fn listing(out: &mut String, r: &Report) {
    if r.source.is_empty() {
        return;
    }
    let certified = certified(&r.lines);
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

/// The most expensive steps.
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
