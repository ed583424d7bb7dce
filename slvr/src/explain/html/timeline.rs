//! Bytes of each round as stacked bars, and below them which line each round waits for.

use super::bars::ticks;
use super::markup::legend;
use crate::explain::{Phase, Report, Rounds};
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

/// Rounds as columns of one width, and bytes as heights.
struct Scale {
    /// Width of a round.
    step: f64,
    rounds: usize,
    /// Bytes of the unit, and of the highest line in units.
    unit: f64,
    top: f64,
}

impl Scale {
    /// Where a round begins, from 1.
    fn x(&self, round: usize) -> f64 {
        LEFT + self.step * (round as f64 - 1.0)
    }

    fn end(&self) -> f64 {
        self.x(self.rounds + 1)
    }

    /// Height of what the three parties send.
    fn height(&self, bytes: u64) -> f64 {
        HEIGHT * (bytes as f64 / 3.0 / self.unit) / self.top
    }
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
    let most = rounds.iter().map(|kinds| kinds.iter().sum::<u64>()).max().unwrap_or(0) as f64 / 3.0;
    let (unit, name) = bytes_unit(most);
    let ticks = ticks(most / unit);
    let top = ticks.last().copied().unwrap_or(1.0);
    let scale = Scale { step: step(rounds.len()), rounds: rounds.len(), unit, top };
    let width = scale.end() + 20.0;
    let height = TOP + HEIGHT + 20.0 + BAND + 24.0;
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><svg width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\" aria-label=\"Bytes sent in each round\">"
    );
    for t in &ticks {
        let at = TOP + HEIGHT * (1.0 - t / top);
        line(out, "grid", (LEFT, at), (width - 20.0, at));
        text(out, "", Anchor::End, (LEFT - 6.0, at + 4.0), &t.to_string());
    }
    let middle = TOP + HEIGHT / 2.0;
    let _ = writeln!(
        out,
        "<text x=\"14\" y=\"{middle:.0}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {middle:.0})\">{name}</text>"
    );
    for (round, kinds) in (1..).zip(&rounds) {
        bar(out, &scale, round, kinds);
    }
    let base = TOP + HEIGHT;
    line(out, "frame", (LEFT, base), (scale.end(), base));
    numbers(out, &scale, base + 15.0);
    let band = base + 22.0;
    for p in r.phases() {
        phase(out, &scale, band, &p);
    }
    text(out, "", Anchor::Start, (LEFT, band + BAND + 16.0), "round");
    out.push_str("</svg></div>\n</section>\n");
}

/// What is sent in a round, by kind from below.
fn bar(out: &mut String, scale: &Scale, round: usize, kinds: &[u64]) {
    let gap = if scale.step > 8.0 { 1.5 } else { 0.8 };
    let sum = kinds.iter().sum::<u64>() / 3;
    let _ = write!(out, "<g><title>round {round}: {}</title>", bytes(sum));
    let mut from = 0.0;
    for (kind, sent) in Kind::ALL.iter().zip(kinds).filter(|(_, b)| **b > 0) {
        let high = scale.height(*sent).max(0.6);
        let _ = write!(
            out,
            "<rect class=\"{}\" x=\"{:.1}\" y=\"{:.2}\" width=\"{:.1}\" height=\"{high:.2}\"/>",
            class(*kind),
            scale.x(round) + gap / 2.0,
            TOP + HEIGHT - from - high,
            scale.step - gap
        );
        from += high;
    }
    out.push_str("</g>\n");
}

/// Numbers of rounds, as many as fit.
fn numbers(out: &mut String, scale: &Scale, y: f64) {
    let every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
        .into_iter()
        .find(|n| *n as f64 * scale.step >= 28.0)
        .unwrap_or(2000);
    for n in (1..=scale.rounds).filter(|n| n % every == 0 || *n == 1) {
        text(out, "", Anchor::Middle, (scale.x(n) + scale.step / 2.0, y), &n.to_string());
    }
}

/// The rounds that wait for one line.
fn phase(out: &mut String, scale: &Scale, band: f64, p: &Phase) {
    let x = scale.x(p.first);
    let wide = scale.x(p.last + 1) - x;
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
