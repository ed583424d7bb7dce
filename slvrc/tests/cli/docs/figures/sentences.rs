//! Sentences with rounds, megabytes or seconds, as they are computed. Others are not held: tables have what they say.

use super::super::{book, read, root};
use super::build::predicate;
use slvr_compiler::cost::NetProfile;
use slvr_compiler::pipeline::Options;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Pages and what they must say, with figures as they are computed.
pub fn claims() -> &'static [(&'static str, String)] {
    static ALL: OnceLock<[(&str, String); 3]> = OnceLock::new();
    let rounds = |model: &str, m: u32| {
        let sizes = format!("M={model} m={m} c=1 b=10");
        predicate("slvr_accuracy", &sizes, Options::default()).traffic().rounds
    };
    let net = |p: NetProfile| {
        let (b, unit) = match p.bandwidth_bits_per_s / 1e6 {
            b if b >= 1000.0 => (b / 1000.0, "Gbit/s"),
            b => (b, "Mbit/s"),
        };
        format!("({b} {unit}, {} ms round trip)", p.rtt_s * 1e3)
    };
    ALL.get_or_init(|| {
        let (few, many) = (rounds("DigitsNet", 10), rounds("DigitsNet", 40));
        let lenet = rounds("LeNet5", 10);
        let (lan, wan) = (net(NetProfile::lan()), net(NetProfile::wan()));
        [
            ("README.md", format!("takes {few} rounds for 10 clients and {many} for 40")),
            ("README.md", format!("LAN {lan} and WAN {wan}")),
            (
                "costs.md",
                format!("`slvr_accuracy` with LeNet-5 and ten clients has {lenet} rounds"),
            ),
        ]
    })
}

/// Text with all white space as single spaces.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn sentences_with_figures() {
    let mut pages = book();
    pages.insert("README.md".into(), root().join("README.md"));
    let pages: BTreeMap<String, String> =
        pages.into_iter().map(|(name, path)| (name, flat(&read(&path)))).collect();
    let wrong: Vec<String> = claims()
        .iter()
        .filter(|(page, text)| !pages.get(*page).is_some_and(|p| p.contains(&flat(text))))
        .map(|(page, text)| format!("{page} does not say: {text}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a word is a number, as `1,000` or `0.5`.
fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',')
}

/// Figures with units in prose stand in sentences that are computed, and seconds that were measured on the
/// performance page.
#[test]
fn no_figure_without_a_test() {
    let mut pages = book();
    pages.insert("README.md".into(), root().join("README.md"));
    let mut wrong = String::new();
    for (name, path) in pages {
        let mut text = String::new();
        let (mut code, mut table) = (false, false);
        for line in read(&path).lines() {
            code ^= line.trim_start().starts_with("```");
            table |= line.starts_with("<!-- table");
            if !code && !table && !line.starts_with('|') {
                text += &format!("{line} ");
            }
            table &= !line.starts_with("<!-- end -->");
        }
        let mut text = flat(&text);
        for (_, claim) in claims().iter().filter(|(page, _)| *page == name) {
            text = text.replace(&flat(claim), " ");
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        for pair in words.windows(2) {
            let [number, unit] = pair else { continue };
            let unit = unit.trim_end_matches(|c: char| !c.is_alphanumeric());
            let counted = matches!(unit, "rounds" | "MB" | "kB");
            let timed = matches!(unit, "s" | "ms" | "us" | "seconds") && name != "performance.md";
            if is_number(number) && (counted || timed) {
                wrong += &format!("{name}: no test holds `{number} {unit}`\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
