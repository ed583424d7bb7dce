//! Text as HTML, and the legend of a chart.

use crate::svg::escape;
use std::fmt::Write;

/// Text in which names stand between backquotes.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        let part = escape(part);
        out.push_str(&if i % 2 == 1 { format!("<code>{part}</code>") } else { part });
    }
    out
}

/// Prose as a sentence of its own.
pub fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first: String = rest.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    format!("{}.", prose(&format!("{first}{}", rest.as_str())))
}

/// A legend of classes of colours.
pub fn legend(entries: &[(&str, &str)]) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for (class, label) in entries {
        let _ = write!(
            out,
            "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"10\" height=\"10\" rx=\"2\"/></svg>{}</li>",
            escape(label)
        );
    }
    out.push_str("</ul>\n");
    out
}
