//! Text as HTML, and the legend of a chart.

use std::fmt::Write;

/// Text inside HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

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
