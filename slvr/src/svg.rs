//! What all charts share: text that is safe in HTML and SVG, the beginning of a file that needs nothing else, and the
//! shapes that they are drawn of. Places are in pixels.

use std::fmt::Write;

/// Text inside HTML and SVG.
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

/// Colours of text and grid; a chart's own classes come after them.
const LIGHT: &str = "\
svg { color-scheme: light dark; background: #ffffff; }
text { font: 12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; fill: #59636f; }
.title { font-size: 16px; font-weight: 650; fill: #1a1f27; }
.label { fill: #1a1f27; }
.grid { stroke: #dfe3e8; }
";
const DARK: &str = "\
  svg { background: #12161b; }
  text { fill: #9aa5b1; }
  .title, .label { fill: #e7eaee; }
  .grid { stroke: #313943; }
";

/// How a chart begins: its size in pixels, what it is called, the heading that is drawn, and the styles of its own
/// classes, light and dark.
pub fn begin(
    (width, height): (f64, f64),
    title: &str,
    heading: &str,
    [light, dark]: [&str; 2],
) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\">\n<title>{}</title>\n<style>\n{LIGHT}{light}@media (prefers-color-scheme: dark) {{\n{DARK}{dark}}}\n</style>\n\
         <text class=\"title\" x=\"12\" y=\"24\">{}</text>\n",
        escape(title),
        escape(heading)
    )
}

/// Which part of a text is at its place.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Draws a text of a class.
pub fn text(out: &mut String, class: &str, anchor: Anchor, (x, y): (f64, f64), text: &str) {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let text = escape(text);
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

/// Draws a line of a class from one place to another.
pub fn line(out: &mut String, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(
        out,
        "<line class=\"{class}\" x1=\"{x1:.1}\" x2=\"{x2:.1}\" y1=\"{y1:.1}\" y2=\"{y2:.1}\"/>"
    );
}
