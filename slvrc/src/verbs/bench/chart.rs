//! Seconds as bars with their floor, as one SVG file that needs nothing else: light and dark.
//!
//! The axis is logarithmic, as rows differ by five orders of magnitude: lengths of bars are compared by
//! the grid, not by eye.

use super::measure::{Line, Outcome};
use super::peers::Origin;
use slvr::svg::{Anchor, begin, escape, line, text};
use std::fmt::Write;

/// Widths in pixels: of the chart, of labels before the bars, and of values after them.
const WIDTH: f64 = 960.0;
const LABELS: f64 = 330.0;
const VALUES: f64 = 90.0;
/// Heights: of a row, of what is above the rows, and of the axis below.
const ROW: f64 = 22.0;
const TOP: f64 = 64.0;
const AXIS: f64 = 48.0;

const STYLE: [&str; 2] = [
    "\
.bar { fill: #0072b2; }
.floor { stroke: #c45a93; stroke-width: 3; }
.peer { fill: #e69f00; stroke: #ffffff; }
",
    "  .bar { fill: #56b4e9; }
  .floor { stroke: #e69ac4; }
  .peer { fill: #f0b840; stroke: #12161b; }
",
];

struct Bar {
    label: String,
    seconds: f64,
    floor: f64,
    peer: Option<f64>,
}

/// The chart of the lines that ran.
pub fn svg(lines: &[Line]) -> String {
    let bars = lines.iter().filter_map(|line| {
        let Outcome::Ran(ran) = &line.outcome else { return None };
        let peer = line.row.figures().find(|f| f.origin == Origin::MpSpdz);
        Some(Bar {
            label: format!("{}, {}", line.row.name(), line.net.name),
            seconds: ran.median(),
            floor: line.known.as_ref()?.floor.seconds(),
            peer: peer.and_then(|f| f.seconds_on(&line.net.name)),
        })
    });
    draw(&bars.collect::<Vec<_>>())
}

/// Powers of ten around all positive values: the exponent of the first and of the last.
fn decades(bars: &[Bar]) -> (i32, i32) {
    let values = bars.iter().flat_map(|b| [Some(b.seconds), Some(b.floor), b.peer]).flatten();
    let (mut lo, mut hi) = (f64::INFINITY, 0.0f64);
    for x in values.filter(|x| *x > 0.0 && x.is_finite()) {
        (lo, hi) = (lo.min(x), hi.max(x));
    }
    if hi == 0.0 {
        return (-3, 0);
    }
    let first = lo.log10().floor() as i32;
    (first, (hi.log10().ceil() as i32).max(first + 1))
}

fn draw(bars: &[Bar]) -> String {
    let height = TOP + ROW * bars.len() as f64 + AXIS;
    let (first, last) = decades(bars);
    let plot = WIDTH - LABELS - VALUES;
    let bottom = height - AXIS;
    let at = |seconds: f64| {
        let decade = (seconds.log10() - f64::from(first)) / f64::from(last - first);
        LABELS + plot * decade.clamp(0.0, 1.0)
    };
    let heading = "Seconds of each row (logarithmic)";
    let mut out = begin((WIDTH, height), "slvrc bench: seconds", heading, STYLE);
    let _ = writeln!(
        out,
        "<rect class=\"bar\" x=\"12\" y=\"38\" width=\"14\" height=\"10\"/><text x=\"32\" y=\"47\">measured here</text>\
         <line class=\"floor\" x1=\"142\" x2=\"142\" y1=\"36\" y2=\"50\"/><text x=\"152\" y=\"47\">floor of this machine and network</text>\
         <circle class=\"peer\" cx=\"372\" cy=\"43\" r=\"5\"/><text x=\"384\" y=\"47\">MP-SPDZ, measured elsewhere</text>"
    );
    for decade in first..=last {
        let x = at(10f64.powi(decade));
        let label = match decade {
            0.. => format!("{}", 10f64.powi(decade)),
            _ => format!("{:.*}", decade.unsigned_abs() as usize, 10f64.powi(decade)),
        };
        line(&mut out, "grid", (x, TOP), (x, bottom));
        text(&mut out, "", Anchor::Middle, (x, bottom + 18.0), &label);
    }
    let middle = LABELS + plot / 2.0;
    text(&mut out, "", Anchor::Middle, (middle, bottom + 38.0), "seconds");
    for (i, bar) in bars.iter().enumerate() {
        let y = TOP + ROW * i as f64;
        let middle = y + ROW / 2.0;
        // A sliver at least, where there is something.
        let width = (at(bar.seconds) - LABELS).max(1.0);
        let peer = bar.peer.map_or_else(String::new, |p| format!("; MP-SPDZ {p} s"));
        let _ = writeln!(
            out,
            "<g><title>{}: {:.4} s, floor {:.4} s{peer}</title>\
             <rect class=\"bar\" x=\"{LABELS}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"2\"/>",
            escape(&bar.label),
            bar.seconds,
            bar.floor,
            y + 4.0,
            ROW - 8.0,
        );
        text(&mut out, "label", Anchor::End, (LABELS - 10.0, middle + 4.0), &bar.label);
        if bar.floor > 0.0 {
            let x = at(bar.floor);
            line(&mut out, "floor", (x, y + 2.0), (x, y + ROW - 2.0));
        }
        if let Some(peer) = bar.peer {
            let x = at(peer);
            let _ =
                writeln!(out, "<circle class=\"peer\" cx=\"{x:.1}\" cy=\"{middle:.1}\" r=\"5\"/>");
        }
        let (end, value) = (WIDTH - VALUES + 12.0, format!("{:.4} s", bar.seconds));
        text(&mut out, "", Anchor::Start, (end, middle + 4.0), &value);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, seconds: f64, floor: f64, peer: Option<f64>) -> Bar {
        Bar { label: label.into(), seconds, floor, peer }
    }

    #[test]
    fn charts_are_xml_whatever_is_in_them() {
        let some = [
            bar("a<b & \"c\"", 0.0123, 0.001, Some(170.0)),
            bar("nothing", 0.0, 0.0, None),
            bar("more", 3.5, 0.7, None),
        ];
        for (bars, floors, peers) in [(&some[..], 2, 1), (&[][..], 0, 0)] {
            let svg = draw(bars);
            let xml = roxmltree::Document::parse(&svg).expect("XML");
            let count = |class: &str| {
                let mut all = xml.root().descendants();
                all.by_ref().filter(|n| n.attribute("class") == Some(class)).count()
            };
            // One of each is the legend's.
            assert_eq!((count("bar"), count("floor")), (bars.len() + 1, floors + 1));
            assert_eq!(count("peer"), peers + 1);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn decades_are_around_all_values() {
        assert_eq!(decades(&[bar("", 0.02, 0.003, Some(1.5))]), (-3, 1));
        assert_eq!(decades(&[bar("", 1.0, 1.0, None)]), (0, 1));
        assert_eq!(decades(&[]), (-3, 0));
    }
}
