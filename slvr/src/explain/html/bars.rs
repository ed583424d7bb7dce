//! A bar for each row, with an axis in units.

use crate::svg::escape;
use std::fmt::Write;

pub struct Bar {
    /// Stands before the label: a line number.
    pub mark: String,
    pub label: String,
    /// Its parts, by class of colour.
    pub parts: Vec<(&'static str, f64)>,
    /// Its length for people.
    pub value: String,
    /// Shown by the pointer.
    pub hint: String,
}

/// Ticks from 0: a step of 1, 2 or 5 times a power of ten, three to six of them, the last not below
/// `max`.
pub fn ticks(max: f64) -> Vec<f64> {
    if max <= 0.0 || !max.is_finite() {
        return vec![0.0, 1.0];
    }
    let raw = max / 5.0;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * power).find(|s| *s >= raw * 0.999);
    let step = step.unwrap_or(power * 10.0);
    let count = (max / step).ceil().max(1.0) as u64;
    // Rounded to the step's digits: 0.1 + 0.2 is not 0.3.
    let digits = (1.0 - step.log10().floor()).max(0.0) as i32;
    let unit = 10f64.powi(digits.min(15));
    (0..=count).map(|i| (i as f64 * step * unit).round() / unit).collect()
}

/// The chart; `axis` is the title of its axis, with the unit.
pub fn bars(out: &mut String, rows: &[Bar], axis: &str) {
    if rows.is_empty() {
        out.push_str("<p class=\"soft\">Nothing.</p>\n");
        return;
    }
    let total = |b: &Bar| b.parts.iter().map(|p| p.1).sum::<f64>();
    let ticks = ticks(rows.iter().map(total).fold(0.0, f64::max));
    let top = ticks.last().copied().unwrap_or(1.0);
    let per_cent = |x: f64| x / top * 100.0;
    out.push_str("<div class=\"bars\">\n");
    for row in rows {
        let mark = if row.mark.is_empty() {
            String::new()
        } else {
            format!("<i>{}</i>", escape(&row.mark))
        };
        let label = escape(&row.label);
        let _ = write!(
            out,
            "<div class=\"label\" title=\"{label}\">{mark}<code>{label}</code></div><div class=\"plot\">\
             <svg role=\"img\" aria-label=\"{}\"><title>{}</title>",
            escape(&row.value),
            escape(&row.hint)
        );
        for t in &ticks {
            let x = per_cent(*t);
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"-5\" y2=\"21\"/>"
            );
        }
        let mut x = 0.0;
        for (class, length) in row.parts.iter().filter(|p| p.1 > 0.0) {
            // A sliver at least, where there is something.
            let width = per_cent(*length).max(0.15);
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{x:.3}%\" y=\"1\" width=\"{width:.3}%\" height=\"14\" rx=\"1.5\"/>"
            );
            x += width;
        }
        let _ = writeln!(out, "</svg></div><div class=\"value\">{}</div>", escape(&row.value));
    }
    out.push_str("<div class=\"axis\">");
    for t in &ticks {
        let _ = write!(out, "<span style=\"left:{:.2}%\">{t}</span>", per_cent(*t));
    }
    let _ = writeln!(out, "<em>{}</em></div>\n</div>", escape(axis));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_top() {
        assert_eq!(ticks(91.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(0.34), [0.0, 0.1, 0.2, 0.3, 0.4]);
        assert_eq!(ticks(1.0), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(0.0), [0.0, 1.0]);
        for max in [1e-7, 0.03, 3.0, 17.2, 999.0, 1e12] {
            let t = ticks(max);
            assert!((3..=6).contains(&(t.len() - 1)), "{max}: {t:?}");
            assert!(t.last().is_some_and(|x| *x >= max * 0.999), "{max}: {t:?}");
        }
    }
}
