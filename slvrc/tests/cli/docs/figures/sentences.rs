//! Sentences with figures, as they are computed.

use super::super::{book, read, root};
use super::build::{Built, build, predicate};
use super::macros::{self, MACROS, families};
use slvr_circuit::traffic::Traffic;
use slvr_compiler::analysis::stated::Stated;
use slvr_compiler::analysis::{guard, projection};
use slvr_compiler::cost::{MACS_PER_S, MEMORY_BYTES_PER_S, NetProfile, PRG_BYTES_PER_S};
use slvr_compiler::graph::domain;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::passes;
use slvr_compiler::pipeline::Options;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A page, and a sentence in it.
type Claim = (&'static str, String);

/// Takes a sentence.
type Say<'a> = &'a mut dyn FnMut(&'static str, String);

/// Pages and what they must say, with figures as they are computed.
pub fn claims() -> &'static [Claim] {
    static ALL: OnceLock<Vec<Claim>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = Vec::new();
        let mut say = |page: &'static str, text: String| all.push((page, text));
        let lenet = predicate("slvr_accuracy", "M=LeNet5 m=10 c=1 b=10", Options::default());
        clients(&mut say);
        enforcement(&mut say);
        cuts(&mut say, &lenet);
        networks(&mut say);
        whole_rounds(&mut say, &lenet);
        protocols(&mut say);
        ends(&mut say);
        tutorial(&mut say);
        all
    })
}

/// Rounds by the number of clients.
fn clients(say: Say<'_>) {
    let digits = |m: u32| {
        predicate("slvr_accuracy", &format!("M=DigitsNet m={m} c=1 b=10"), Options::default())
    };
    let (ten, forty) = (digits(10), digits(40));
    let rounds_of = |b: &Built| b.traffic().rounds;

    let (few, many) = (rounds_of(&ten), rounds_of(&forty));
    say("README.md", format!("takes {few} rounds for 10 clients and {many} for 40"));
}

/// How inputs are held to their ranges.
fn enforcement(say: Say<'_>) {
    let weights = |inputs: u32| {
        let text = "use std::{sum};\n\npredicate W[M: model, m]() {\n    parties Client[m];\n    \
                    parties Server;\n    input w: secret weights M in -8..8 from each Client;\n    \
                    reveal sum(w[i] for i in Client) / m to Server as out;\n}\n";
        // 252 - 1 inputs of two classes make 256 weights.
        let built =
            build(text, &format!("M=Mlp[{inputs},hidden=1,classes=2] m=10"), Options::default());
        let of = &built.compiled;
        let norm = guard::norm_limit(&of.optimised.inputs[0]).expect("weights have a norm");
        (matches!(of.guards[0], guard::Guard::Within(..)), norm)
    };
    assert!(weights(251).0 && !weights(252).0, "256 weights are compared, 257 are not");
    assert_eq!(weights(2000).1, 256.0, "the norm of -8..8");
    assert_eq!(weights(1018).1, 8.0 * 1023f64.sqrt());
    assert_eq!(guard::Long::ALL.len(), 3);
    let plan = |clients, gamma| {
        let (s, h) = (guard::SOUNDNESS_BITS, guard::HONEST_BITS);
        let norm = 256.0 * 65536.0;
        let plan = projection::plan(norm, 61_706, clients, s, h, gamma);
        (plan.tests, plan.proven_norm / norm, plan.proven_element() / norm, s.max(h))
    };
    let ((n4, wide, element, s), (n25, tight, _, _)) = (plan(10, 4.0), plan(10, 2.5));
    let (_, thousand, _, _) = plan(1000, 4.0);
    say(
        "README.md",
        format!(
            "3 times their range, its end rounded up to a power of two (so less than 6 times), without a \
             bound on their norm, or to {tight:.0} to {thousand:.0} times their declared norm"
        ),
    );
    say(
        "security.md",
        format!("{n4} random inner products, or {n25}, are tested to be short (for ten clients)"),
    );
    say(
        "security.md",
        format!(
            "a Euclidean norm of about {wide:.0} times the declared one, or {tight:.0} times, and no \
             element beyond about {element:.0} times it"
        ),
    );
    say("security.md", format!("| 1 - 2^-{s}, over all clients |"));
    say(
        "security.md",
        format!("{wide:.0} times with ten clients, {thousand:.0} times with a thousand"),
    );
    say("security.md", format!("fails its projections with probability at most 2^-{s}"));

    say(
        "protocols.md",
        format!("N = {n4} for 10 clients and make that 2^-{s}").replace(" and", ""),
    );
    say(
        "protocols.md",
        format!(
            "about {wide:.0} nu. With gamma = 2.5 the norm is at most {tight:.0} nu, for N = {n25}."
        ),
    );
}

/// Where activations are cut.
fn cuts(say: Say<'_>, lenet: &Built) {
    let (least, largest) = (passes::saturation::TOPS.min(), passes::saturation::TOPS.max());
    let (least, largest) = (least.unwrap_or(0), largest.unwrap_or(0));
    let cut = lenet.certificate().saturates_at.expect("LeNet-5 is cut");
    let deep = row_of("performance.md", "| ResNet18 | 10 | ")[6].clone();
    say("security.md", format!("the largest power of two from 2^{least} to 2^{largest} for which"));
    say("README.md", format!("are clamped**: at {deep} in ResNet-18 and at {cut} in LeNet-5."));
}

/// Networks, and the rates of the time model.
fn networks(say: Say<'_>) {
    let net = |p: NetProfile| {
        let (b, unit) = match p.bandwidth_bits_per_s / 1e6 {
            b if b >= 1000.0 => (b / 1000.0, "Gbit/s"),
            b => (b, "Mbit/s"),
        };
        (format!("{b} {unit}"), format!("{} ms", p.rtt_s * 1e3))
    };
    let ((lan, lan_rtt), (wan, wan_rtt)) = (net(NetProfile::lan()), net(NetProfile::wan()));
    say(
        "README.md",
        format!("LAN ({lan}, {lan_rtt} round trip) and WAN ({wan}, {wan_rtt} round trip)"),
    );

    let (loopback, loopback_rtt) = net(NetProfile::loopback());
    say(
        "performance.md",
        format!(
            "`loopback` with {loopback} and {loopback_rtt} round trip, `lan` with {lan} and {lan_rtt}, and \
             `wan` with {wan} and {wan_rtt}."
        ),
    );
    say(
        "performance.md",
        format!(
            "Multiply-accumulates count at {} billion per second, bytes that local instructions read and \
             write at {} GB/s, and pseudorandom bytes for masks at {} GB/s.",
            MACS_PER_S / 1e9,
            MEMORY_BYTES_PER_S / 1e9,
            PRG_BYTES_PER_S / 1e9,
        ),
    );
}

/// Whole rounds of LeNet-5.
fn whole_rounds(say: Say<'_>, lenet: &Built) {
    let lenet_rounds = lenet.traffic().rounds;
    say(
        "costs.md",
        format!("`slvr_accuracy` with LeNet-5 and ten clients has {lenet_rounds} rounds"),
    );
}

/// Macros of both families.
fn protocols(say: Say<'_>) {
    let [range, short, one_hot] = macros::checks_of_inputs();
    let in_t1 = |name: &str| {
        let of = MACROS.iter().find(|m| m.name == name).expect("a macro");
        let all = families(of).into_iter();
        let bits = all.map(|(label, family)| {
            let (circuit, _) = macros::circuit(of, 1_000_000, family, 1_000_000);
            (label, Traffic::of(&circuit).bytes.iter().sum::<u64>() * 8 / 1_000_000)
        });
        bits.collect::<BTreeMap<_, _>>()
    };
    let compare = in_t1("comparison, 64 bits");
    say("protocols.md", format!("3 per gate: {} for w = 64 | exact |", compare["T1"]));
    say("protocols.md", format!("the least >= f: {} for f = 16", in_t1("truncation")["T1"]));
    say(
        "protocols.md",
        format!("| {}, and over 2 n bits | {} per element |", range.0 - 1, range.1),
    );
    say(
        "protocols.md",
        format!(
            "| {} with the coin, and over 2 N bits | {} per product |",
            short.0 - 2,
            short.1 / 2
        ),
    );
    // Of ten classes, w = 4.
    assert_eq!((one_hot.0, one_hot.1), (4, 10 * 24 + (1 << 4) + 1), "the one-hot check");
    let (degree, index) = macros::reciprocal_by_pieces(1.0, 10.0);
    say(
        "protocols.md",
        format!("For 1 / x on 1 .. 10 it finds degree {degree} and 2^{index} pieces."),
    );
}

/// Where functions saturate, and what is stated of their errors.
fn ends(say: Say<'_>) {
    let of = Target::SemiHonest(Family::T1).stated();
    assert_eq!(
        of,
        Target::SemiHonest(Family::T2(NetProfile::lan().tuning())).stated(),
        "one table for both families"
    );
    let (low, top) = (domain::EXP_LOW, domain::exp(f64::MAX).log2());
    assert_eq!(domain::exp(low - 1e-9), 0.0);
    let end = domain::recip(0.0).log2();
    let ends = [(1.0, end.exp2()), (-1.0, -end.exp2()), (0.0, 0.0)];
    assert!(ends.iter().all(|&(x, of_zero)| domain::div(x, 0.0) == of_zero), "x / 0");
    assert_eq!(domain::sqrt(-1.0), 0.0);
    let log = domain::log(0.0) / std::f64::consts::LN_2;
    let stated = |s: Stated| match s.relative {
        0.0 => format!("{} |", s.units),
        part => format!("{}, 2^{} |", s.units, part.log2()),
    };
    let exp = of.exp.relative.log2();
    for row in [
        format!(
            "| e^x | {low} <= x <= {top} ln 2 | 0 below, 2^{top} above | {} (2 where it is cut to 0), 2^{exp} |",
            of.exp.units
        ),
        format!("| 1 / x | x != 0 | 2^{end} at 0 | {}", stated(of.recip)),
        format!("| sqrt x | x >= 0 | 0 below | {}", stated(of.sqrt)),
        format!("| ln x | x >= 2^-16 | {log:.0} ln 2 below | {}", stated(of.log)),
        format!("| tanh x | every x | – | {}", stated(of.tanh)),
        format!(
            "| x / y | y != 0, and abs (x / y) <= 2^{end} or abs y >= 1 | 2^{end} with the sign of x / y; x / 0 has \
             the sign of x; 0 / 0 = 0 | {}",
            stated(of.div)
        ),
    ] {
        say("protocols.md", row);
    }
}

/// The tutorial counts what its own commands print.
fn tutorial(say: Say<'_>) {
    let tutorial = read(&root().join("docs/src/tutorial.md"));
    let line = |head: &str| tutorial.lines().find_map(|l| l.strip_prefix(head)).unwrap_or_default();
    let words =
        ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];
    let keep: Vec<&str> = line("  keep [10] = ").split(", ").collect();
    let kept = keep.iter().filter(|bit| **bit == "1").count();
    say("tutorial.md", format!("{} of ten updates are kept", words[kept]));
    // The last one is the attacker.
    let honest = keep.iter().take(9).enumerate();
    let out: Vec<String> =
        honest.filter(|(_, bit)| **bit == "0").map(|(i, _)| i.to_string()).collect();
    if let [first @ .., last] = &out[..] {
        say("tutorial.md", format!("Clients {} and {last} are honest", first.join(", ")));
    }
}

/// The cells of the first row of a page that begins so.
fn row_of(page: &str, head: &str) -> Vec<String> {
    let text = read(&root().join("docs/src").join(page));
    let row = text.lines().find(|l| l.starts_with(head)).unwrap_or_else(|| panic!("no row {head}"));
    row.split('|').map(|c| c.trim().to_string()).collect()
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
