//! Accuracy over rounds as one SVG file that needs nothing else, light and dark: a panel for each attack, a line for each
//! predicate, and around it a band of one standard deviation over seeds. Lines that lie on each other are told apart by their
//! dashes.

use super::results::{Done, Results, spread};
use super::table::labels;
use slvr::svg::{Anchor, begin, escape, line, text};
use std::fmt::Write;

/// Sizes in pixels: of a panel's plot, of one that is alone, of what is around it, and of the legend's rows.
const PLOT: (f64, f64) = (250.0, 150.0);
const ALONE: (f64, f64) = (520.0, 260.0);
const LEFT: f64 = 42.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 34.0;
const RIGHT: f64 = 14.0;
const LEGEND: f64 = 22.0;
const COLUMNS: usize = 3;

/// A narrow estimate of the pixels that a letter takes in a legend.
const LETTER: f64 = 7.0;

/// Colours that people with any colour vision tell apart (Okabe and Ito), with dashes that begin again after
/// three, so that no pair of both repeats.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"];
const DASHES: [&str; 3] = ["", " stroke-dasharray=\"7 3\"", " stroke-dasharray=\"2 2.5\""];

const STYLE: &str = "\
.label { font-weight: 600; }
.shift { stroke: #59636f; stroke-dasharray: 3 3; }
.line { fill: none; stroke-width: 1.8; }
.band { stroke: none; fill-opacity: 0.18; }
";

/// The chart; `shifts` are rounds with a dotted line before them.
pub fn svg(results: &Results, title: &str, shifts: &[usize]) -> String {
    let any = |a: &&String| results.predicates.iter().any(|p| !results.of(p, a).is_empty());
    let panels: Vec<&String> = results.attacks.iter().filter(any).collect();
    let columns = COLUMNS.min(panels.len().max(1));
    let rows = panels.len().div_ceil(columns);
    let plot = if panels.len() > 1 { PLOT } else { ALONE };
    let (cell_w, cell_h) = (LEFT + plot.0 + RIGHT, ABOVE + plot.1 + BELOW);
    let width = cell_w * columns as f64;
    // As many names beside each other as fit, if they are not overlong.
    let names: Vec<String> = labels(results);
    let longest = names.iter().map(|n| n.chars().count()).max().unwrap_or(0) as f64;
    let entry = (44.0 + LETTER * longest).clamp(120.0, width - 12.0);
    let beside = (((width - 12.0) / entry) as usize).clamp(1, COLUMNS);
    let entry = (width - 12.0) / beside as f64;
    let letters = ((entry - 40.0) / LETTER) as usize;
    let top = 40.0 + LEGEND * names.len().div_ceil(beside) as f64;
    let height = top + cell_h * rows as f64;
    let mut out = begin((width, height), title, title, [STYLE, ""]);
    for (i, name) in names.iter().enumerate() {
        let x = 12.0 + entry * (i % beside) as f64;
        let y = 50.0 + LEGEND * (i / beside) as f64;
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\" class=\"line\" {}/>",
            x + 24.0,
            stroke(i)
        );
        text(&mut out, "name", Anchor::Start, (x + 32.0, y + 4.0), &cut(name, letters));
    }
    for (i, attack) in panels.iter().enumerate() {
        let at = (cell_w * (i % columns) as f64, top + cell_h * (i / columns) as f64);
        panel(&mut out, results, attack, (at, plot), shifts);
    }
    out + "</svg>\n"
}

/// The rounds before which data shift, where they do so every so many rounds.
pub fn shifts(every: usize, rounds: usize) -> Vec<usize> {
    (every.max(1)..rounds).step_by(every.max(1)).collect()
}

/// The end of a name that is too long, which tells more than its beginning.
fn cut(name: &str, letters: usize) -> String {
    let count = name.chars().count();
    match count > letters {
        true => format!("…{}", name.chars().skip(count + 1 - letters.max(2)).collect::<String>()),
        false => name.to_string(),
    }
}

fn stroke(i: usize) -> String {
    format!("stroke=\"{}\"{}", COLOURS[i % COLOURS.len()], DASHES[i % DASHES.len()])
}

fn panel(
    out: &mut String,
    results: &Results,
    attack: &str,
    ((x0, y0), plot): ((f64, f64), (f64, f64)),
    shifts: &[usize],
) {
    let longest = |p: &String| {
        results.of(p, attack).iter().map(|d| d.curve.accuracy.len()).max().unwrap_or(0)
    };
    let rounds = results.predicates.iter().map(longest).max().unwrap_or(0).max(2);
    let (left, top) = (x0 + LEFT, y0 + ABOVE);
    let x = |round: usize| left + plot.0 * round as f64 / (rounds - 1) as f64;
    let y = |accuracy: f64| top + plot.1 * (1.0 - accuracy.clamp(0.0, 1.0));
    text(out, "label", Anchor::Start, (left, top - 9.0), attack);
    for percent in [0, 25, 50, 75, 100] {
        let at = y(f64::from(percent) / 100.0);
        line(out, "grid", (left, at), (left + plot.0, at));
        text(out, "", Anchor::End, (left - 6.0, at + 4.0), &percent.to_string());
    }
    for round in [0, rounds / 2, rounds - 1] {
        let word = if round == 0 { "round " } else { "" };
        let number = format!("{word}{}", round + 1);
        text(out, "", Anchor::Middle, (x(round), top + plot.1 + 16.0), &number);
    }
    for &shift in shifts.iter().filter(|s| **s < rounds) {
        line(out, "shift", (x(shift), top), (x(shift), top + plot.1));
    }
    for (i, predicate) in results.predicates.iter().enumerate() {
        let done: Vec<&Done> = results.of(predicate, attack);
        let points: Vec<(f64, f64)> = (0..rounds)
            .map_while(|r| {
                spread(
                    &done
                        .iter()
                        .filter_map(|d| d.curve.accuracy.get(r).copied())
                        .collect::<Vec<_>>(),
                )
            })
            .collect();
        if points.is_empty() {
            continue;
        }
        let place = |(r, a): (usize, f64)| format!("{:.1},{:.1}", x(r), y(a));
        let upper = points.iter().enumerate().map(|(r, (m, sd))| place((r, m + sd)));
        let lower = points.iter().enumerate().rev().map(|(r, (m, sd))| place((r, m - sd)));
        let band: Vec<String> = upper.chain(lower).collect();
        let curve: Vec<String> =
            points.iter().enumerate().map(|(r, (m, _))| place((r, *m))).collect();
        if done.len() > 1 {
            let colour = COLOURS[i % COLOURS.len()];
            let _ = writeln!(
                out,
                "<polygon class=\"band\" fill=\"{colour}\" points=\"{}\"/>",
                band.join(" ")
            );
        }
        let end = 100.0 * points.last().map_or(0.0, |p| p.0);
        let _ = writeln!(
            out,
            "<polyline class=\"line\" {} points=\"{}\"><title>{}, {}: {end:.1} % at the end</title></polyline>",
            stroke(i),
            curve.join(" "),
            escape(&labels(results)[i]),
            escape(attack)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::lab::results::key;
    use slvr_simulation::lab::federation::Curve;

    #[test]
    fn charts_are_xml_and_lines_stay_in_their_panels() {
        let mut results = Results { seeds: vec![0, 1], ..Results::default() };
        results.predicates = vec!["a<b.slvr".into(), "krum".into()];
        results.attacks = vec!["none".into(), "noise".into(), "extreme".into()];
        for (i, predicate) in results.predicates.clone().iter().enumerate() {
            for (j, attack) in ["none", "noise"].iter().enumerate() {
                for seed in [0, 1] {
                    let accuracy = vec![0.1, 0.5 + 0.1 * (i + j) as f64, 1.0 - seed as f64];
                    let curve = Curve { accuracy, ..Curve::default() };
                    let done = Done { curve, ..Done::default() };
                    results.cells.insert(key(predicate, attack, seed), done);
                }
            }
        }
        let svg = svg(&results, "a & b", &[1]);
        let parsed = roxmltree::Document::parse(&svg).expect("XML");
        let box_of: Vec<f64> = parsed
            .root_element()
            .attribute("viewBox")
            .expect("a view box")
            .split(' ')
            .map(|x| x.parse().expect("a number"))
            .collect();
        let lines: Vec<_> = parsed.descendants().filter(|n| n.has_tag_name("polyline")).collect();
        assert_eq!(lines.len(), 4, "two predicates in two panels that have results");
        let dashes =
            |n: &roxmltree::Node<'_, '_>| n.attribute("stroke-dasharray").map(String::from);
        assert_ne!(dashes(&lines[0]), dashes(&lines[1]), "one shows where it lies under the other");
        for line in lines {
            for point in line.attribute("points").expect("points").split(' ') {
                let (x, y) = point.split_once(',').expect("a point");
                let (x, y): (f64, f64) = (x.parse().expect("x"), y.parse().expect("y"));
                assert!(x > 0.0 && x < box_of[2] && y > 0.0 && y < box_of[3], "{point}");
            }
        }
    }
    #[test]
    fn names_of_a_legend_do_not_overlap() {
        for (count, length, attacks) in [(6, 17, 1), (6, 17, 6), (9, 60, 1), (9, 200, 3), (1, 1, 2)]
        {
            let mut results = Results { seeds: vec![0], ..Results::default() };
            results.predicates = (0..count).map(|i| format!("{i}{}", "x".repeat(length))).collect();
            results.attacks = (0..attacks).map(|i| format!("attack{i}")).collect();
            for attack in &results.attacks {
                let curve = Curve { accuracy: vec![0.5, 0.6], ..Curve::default() };
                let done = Done { curve, ..Done::default() };
                results.cells.insert(key(&results.predicates[0], attack, 0), done);
            }
            let svg = svg(&results, "title", &[]);
            let parsed = roxmltree::Document::parse(&svg).expect("XML");
            let number = |n: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
                n.attribute(name).and_then(|x| x.parse().ok()).expect("a number")
            };
            let width = number(&parsed.root_element(), "width");
            let names: Vec<(f64, f64, f64)> = parsed
                .descendants()
                .filter(|n| n.attribute("class") == Some("name"))
                .map(|n| {
                    let letters = n.text().expect("a name").chars().count() as f64;
                    (number(&n, "y"), number(&n, "x"), number(&n, "x") + LETTER * letters)
                })
                .collect();
            assert_eq!(names.len(), count);
            for (i, (y, start, end)) in names.iter().enumerate() {
                assert!(*end <= width, "{count} names of {length} letters");
                let apart =
                    |(y2, start2, end2): &(f64, f64, f64)| y != y2 || end < start2 || end2 < start;
                assert!(names.iter().enumerate().all(|(j, other)| i == j || apart(other)));
            }
        }
    }
}
