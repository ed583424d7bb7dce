//! Bytes of each round as stacked bars, and below them which line each round waits for.

use super::bars::ticks;
use super::markup::legend;
use crate::explain::{Report, Rounds};
use crate::svg::{Anchor, escape, line, text};
use crate::units::{bytes, bytes_unit};
use slvr_compiler::cost::Kind;
use std::fmt::Write;
use std::iter;

const LEFT: f64 = 56.0;
const TOP: f64 = 12.0;
const HEIGHT: f64 = 190.0;
const BAND: f64 = 24.0;

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Products => "products",
        Kind::Gates => "gates",
        Kind::Split => "split",
        Kind::Opened => "opened",
        Kind::Proofs => "proofs",
    }
}

/// Width of a round, in px: few rounds get wide bars, many scroll.
fn step(rounds: usize) -> f64 {
    (940.0 / rounds.max(1) as f64).clamp(5.0, 46.0)
}

pub fn section(out: &mut String, r: &Report) {
    // Of a proof each round has the mean of its rounds.
    let bars = |r: Rounds| iter::repeat_n(r.kinds.map(|b| b / r.count as u64), r.count);
    let rounds: Vec<_> = Rounds::all(&r.cost).into_iter().flat_map(bars).collect();
    out.push_str(
        "<section>\n<h2>Timeline</h2>\n<p class=\"soft\">Bytes of each round, sent by one party (mean), by \
         what they are for. Below: the line of the source that the rounds wait for.</p>\n",
    );
    let is_proven = r.circuit.security.is_malicious();
    let sent = Kind::ALL.iter().filter(|k| **k != Kind::Proofs || is_proven);
    let kinds: Vec<(&str, &str)> = sent.map(|k| (class(*k), k.label())).collect();
    out.push_str(&legend(&kinds));
    let step = step(rounds.len());
    let width = LEFT + step * rounds.len() as f64 + 20.0;
    let height = TOP + HEIGHT + 20.0 + BAND + 24.0;
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><svg width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\" aria-label=\"Bytes sent in each round\">"
    );
    let most = rounds.iter().map(|kinds| kinds.iter().sum::<u64>()).max().unwrap_or(0) as f64 / 3.0;
    let (unit, name) = bytes_unit(most);
    let ticks = ticks(most / unit);
    let top = ticks.last().copied().unwrap_or(1.0);
    let y = |x: f64| TOP + HEIGHT * (1.0 - x / top);
    for t in &ticks {
        let at = y(*t);
        line(out, "grid", (LEFT, at), (width - 20.0, at));
        text(out, "", Anchor::End, (LEFT - 6.0, at + 4.0), &t.to_string());
    }
    let middle = TOP + HEIGHT / 2.0;
    let _ = writeln!(
        out,
        "<text x=\"14\" y=\"{middle:.0}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {middle:.0})\">{name}</text>"
    );
    let gap = if step > 8.0 { 1.5 } else { 0.8 };
    for (i, kinds) in rounds.iter().enumerate() {
        let x = LEFT + step * i as f64 + gap / 2.0;
        let sum = kinds.iter().sum::<u64>() / 3;
        let _ = write!(out, "<g><title>round {}: {}</title>", i + 1, bytes(sum));
        let mut from = 0.0;
        for (kind, sent) in Kind::ALL.iter().zip(*kinds).filter(|(_, b)| *b > 0) {
            let length = sent as f64 / 3.0 / unit;
            let high = (HEIGHT * length / top).max(0.6);
            let _ = write!(
                out,
                "<rect class=\"{}\" x=\"{x:.1}\" y=\"{:.2}\" width=\"{:.1}\" height=\"{high:.2}\"/>",
                class(*kind),
                TOP + HEIGHT - from - high,
                step - gap
            );
            from += high;
        }
        out.push_str("</g>\n");
    }
    let base = TOP + HEIGHT;
    let end = LEFT + step * rounds.len() as f64;
    line(out, "frame", (LEFT, base), (end, base));
    // Numbers of rounds, as many as fit.
    let every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
        .into_iter()
        .find(|n| *n as f64 * step >= 28.0)
        .unwrap_or(2000);
    for n in (1..=rounds.len()).filter(|n| n % every == 0 || *n == 1) {
        let x = LEFT + step * (n as f64 - 0.5);
        text(out, "", Anchor::Middle, (x, base + 15.0), &n.to_string());
    }
    let band = base + 22.0;
    for p in r.phases() {
        let x = LEFT + step * (p.first as f64 - 1.0);
        let wide = step * (p.last + 1 - p.first) as f64;
        let label = if p.line > 0 { format!("line {}", p.line) } else { p.name.clone() };
        let _ = write!(
            out,
            "<g><title>rounds {} to {}: {}, {}</title><rect class=\"phase\" x=\"{x:.1}\" y=\"{band:.0}\" width=\"{wide:.1}\" height=\"{BAND}\"/>",
            p.first,
            p.last,
            escape(&label),
            escape(&p.name)
        );
        let short = if p.line > 0 { p.line.to_string() } else { p.name.clone() };
        // About 7 px to a character.
        let fits = |text: &str| text.chars().count() as f64 * 7.0 + 6.0 <= wide;
        if let Some(label) = [label, short].into_iter().find(|t| fits(t)) {
            text(out, "phase-text", Anchor::Middle, (x + wide / 2.0, band + 16.0), &label);
        }
        out.push_str("</g>\n");
    }
    text(out, "", Anchor::Start, (LEFT, band + BAND + 16.0), "round");
    out.push_str("</svg></div>\n</section>\n");
}
