//! A heat map over the part of malicious clients and alpha, of several results that differ in nothing else: a panel for each
//! predicate, and in each place the accuracy under the worst attack.

use super::results::{ALPHA, CLIENTS, MALICIOUS, Results};
use super::table::{labels, plain};
use slvr::svg::{Anchor, begin, escape, text};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Sizes in pixels: of a place, of what is left of and above a panel, between panels, and above all.
const PLACE: (f64, f64) = (64.0, 34.0);
const LEFT: f64 = 76.0;
const ABOVE: f64 = 40.0;
const BELOW: f64 = 38.0;
const TOP: f64 = 40.0;
const COLUMNS: usize = 2;

const LIGHT: &str = "\
.place { fill: #0072b2; }
.figure { fill: #1a1f27; font-weight: 600; }
";
const DARK: &str = "  .place { fill: #56b4e9; }\n  .figure { fill: #e7eaee; }\n";

fn number(results: &Results, label: &str) -> Option<f64> {
    results.number(label).filter(|x: &f64| x.is_finite())
}

/// The part of malicious clients, in percent, and alpha.
fn place(results: &Results) -> Option<(f64, f64)> {
    let part = 100.0 * number(results, MALICIOUS)? / number(results, CLIENTS)?;
    Some((part, number(results, ALPHA)?))
}

/// Values in ascending order, each once.
fn axis(values: impl Iterator<Item = f64>) -> Vec<f64> {
    // All are above 0, or 0, so that their bits are in their order.
    let bits: BTreeSet<u64> = values.map(f64::to_bits).collect();
    bits.into_iter().map(f64::from_bits).collect()
}

/// The map; `None` of results that differ in something else, or in one place alone.
pub fn svg(all: &[Results]) -> Option<String> {
    let first = all.first()?;
    let rest = |r: &Results| {
        let mut setting = r.setting.clone();
        // These may differ.
        [MALICIOUS, ALPHA].iter().for_each(|name| drop(setting.remove(*name)));
        (setting, r.predicates.clone(), r.attacks.clone())
    };
    let places: Vec<(f64, f64)> = all.iter().map(place).collect::<Option<_>>()?;
    let parts = axis(places.iter().map(|p| p.0));
    let alphas = axis(places.iter().map(|p| p.1));
    if parts.len() * alphas.len() < 2 || all.iter().any(|r| rest(r) != rest(first)) {
        return None;
    }
    let names = labels(first);
    let panel =
        (LEFT + PLACE.0 * parts.len() as f64 + 20.0, ABOVE + PLACE.1 * alphas.len() as f64 + BELOW);
    let columns = COLUMNS.min(names.len());
    let width = (panel.0 * columns as f64).max(420.0);
    let height = TOP + panel.1 * names.len().div_ceil(columns) as f64;
    let title = "Test accuracy (%) under the worst attack, by alpha and malicious clients";
    let mut out = begin((width, height), title, title, [LIGHT, DARK]);
    for (i, (predicate, name)) in first.predicates.iter().zip(&names).enumerate() {
        let left = panel.0 * (i % columns) as f64 + LEFT;
        let top = TOP + panel.1 * (i / columns) as f64 + ABOVE;
        text(&mut out, "label", Anchor::Start, (left, top - 12.0), &plain(name));
        for (row, alpha) in alphas.iter().rev().enumerate() {
            let y = top + PLACE.1 * (row as f64 + 0.5) + 4.0;
            text(&mut out, "", Anchor::End, (left - 8.0, y), &format!("alpha {alpha}"));
        }
        for (column, part) in parts.iter().enumerate() {
            let x = left + PLACE.0 * (column as f64 + 0.5);
            let y = top + PLACE.1 * alphas.len() as f64 + 18.0;
            text(&mut out, "", Anchor::Middle, (x, y), &format!("{part:.0} %"));
        }
        for (results, (part, alpha)) in all.iter().zip(&places) {
            let column = parts.iter().position(|p| p == part)? as f64;
            let row = alphas.iter().rev().position(|a| a == alpha)? as f64;
            let Some((attack, done)) = results.worst(predicate) else { continue };
            let Some((mean, _)) = results.last(&done) else { continue };
            let (x, y) = (left + PLACE.0 * column, top + PLACE.1 * row);
            let _ = writeln!(
                out,
                "<rect class=\"place\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill-opacity=\"{:.2}\"><title>{}</title></rect>",
                x + 1.0,
                y + 1.0,
                PLACE.0 - 2.0,
                PLACE.1 - 2.0,
                // Half at most, so that a figure can be read on it.
                0.04 + 0.5 * mean.clamp(0.0, 1.0),
                escape(attack)
            );
            let middle = (x + PLACE.0 / 2.0, y + PLACE.1 / 2.0 + 4.0);
            text(&mut out, "figure", Anchor::Middle, middle, &format!("{:.0}", 100.0 * mean));
        }
    }
    Some(out + "</svg>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::lab::results::{Done, key};
    use slvr_simulation::lab::federation::Curve;

    #[test]
    fn every_result_has_its_place_and_others_have_no_map() {
        let result = |malicious: &str, alpha: &str, accuracy: f64| {
            let setting = [("clients", "10"), (MALICIOUS, malicious), (ALPHA, alpha)];
            let mut results = Results {
                setting: setting.map(|(n, v)| (n.to_string(), v.to_string())).into(),
                predicates: vec!["a<b".into(), "krum".into()],
                attacks: vec!["none".into(), "noise".into(), "inf".into()],
                seeds: vec![0],
                ..Results::default()
            };
            for predicate in results.predicates.clone() {
                for (attack, by) in [("none", 1.0), ("noise", 0.9), ("inf", 0.5)] {
                    let curve = Curve { accuracy: vec![by * accuracy], ..Curve::default() };
                    let done = Done { curve, ..Done::default() };
                    results.cells.insert(key(&predicate, attack, 0), done);
                }
            }
            results
        };
        let all = [result("1", "0.1", 0.4), result("2", "0.1", 0.2), result("1", "1", 0.8)];
        let svg_of_all = svg(&all).expect("a map");
        let parsed = roxmltree::Document::parse(&svg_of_all).expect("XML");
        let figures = parsed.descendants().filter(|n| n.attribute("class") == Some("figure"));
        let figures: Vec<&str> = figures.filter_map(|n| n.text()).collect();
        assert_eq!(figures, ["20", "10", "40", "20", "10", "40"]);
        assert!(svg(&all[..1]).is_none(), "one place is no map");
        let mut other = result("1", "5", 0.5);
        other.setting.insert("rounds".into(), "7".into());
        assert!(svg(&[result("1", "1", 0.5), other]).is_none());
    }
}
