//! What anybody learns of a run: all of it, as the circuit alone tells.

use super::findings::{LeakReport, Learned, What};
use crate::types::Lots;
use slvr_circuit::openings::{self, Coins};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::{Check, Circuit, From, Input, Output};

/// What a circuit alone tells of its leaks: all that is learned, no warnings. Its openings to the three parties are
/// those of checks, or the verifier refuses it.
pub fn leaks_of_circuit(circuit: &Circuit) -> LeakReport {
    let set = |i: u32| circuit.parties.get(i as usize).map_or(("?", 0), |p| (&*p.name, p.size));
    let learned = |what, to: &str, name: String, text: String| Learned {
        what,
        name,
        to: to.into(),
        shape: Vec::new(),
        line: 0,
        expression: String::new(),
        text,
        span: None,
    };
    let parties = "the three parties";
    let reveal = |o: &Output| {
        let (to, size) = set(o.to);
        let entries = if size > 1 { "one entry to each member, " } else { "" };
        let text = format!("{entries}revealed after the computation, to nobody else");
        let shape = o.shape.clone();
        Learned { shape, ..learned(What::Reveal, to, o.name.clone(), text) }
    };
    let check = |check: &Check| {
        let (who, size) = set(check.set);
        let text = "one bit for each member: whether its inputs are in their declared ranges. The parties \
                    see which members fail. The program is then run for the others; or zeros take the place of \
                    all inputs of such a member, with `--invalid zeros` and where a state keeps its place";
        let name = format!("{who} in range");
        Learned { shape: vec![size], ..learned(What::Check, parties, name, text.into()) }
    };
    let coins = |coins: Coins| {
        let site = circuit.sites.get(coins.site as usize);
        let (step, line) = site.map_or(("?", 0), |s| (s.name.as_str(), s.line));
        // Coins for the tests of ranges are part of what is public about these.
        let (what, tests) = match coins.tests {
            true => (What::Check, ", for random tests of its declared range"),
            false => (What::Coins, ""),
        };
        let of = coins.lots.map_or(String::new(), drawn);
        let text = format!("public coins, drawn once all inputs are in{of}{tests}");
        let shape = coins.lots.map_or(Vec::new(), |lots| vec![lots.rows, lots.k]);
        Learned { shape, line, ..learned(what, parties, step.into(), text) }
    };
    let public = |input: &Input| {
        let text = "a public input: known before the run".into();
        let shape = input.shape.clone();
        Learned { shape, ..learned(What::PublicInput, "everybody", input.name.clone(), text) }
    };
    let mut all: Vec<Learned> = circuit.outputs.iter().map(reveal).collect();
    all.extend(circuit.checks.iter().map(check));
    all.extend(openings::coins(circuit).into_iter().map(coins));
    all.extend(circuit.inputs.iter().filter(|i| i.from == From::Public).map(public));
    let sizes: Vec<String> = circuit.sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let sets: Vec<String> =
        circuit.parties.iter().map(|p| format!("{} {}", p.size, p.name)).collect();
    let text = format!("{}; participants: {}", sizes.join(" "), sets.join(", "));
    all.push(learned(What::Sizes, "everybody", "sizes".into(), text));
    all.push(learned(What::Timing, "everybody", "timing".into(), timing(circuit).into()));
    LeakReport { learned: all, warnings: Vec::new() }
}

/// What is public of a draw, in words.
fn drawn(Lots { n, k, others, .. }: Lots) -> String {
    match (n == k, others) {
        (_, true) => format!(": which {k} others each of {n} members gets is public"),
        (true, false) => format!(": the order in which all {n} stand is public"),
        (false, false) => format!(": which {k} of {n} are drawn is public"),
    }
}

/// What messages depend on, in words.
fn timing(circuit: &Circuit) -> &'static str {
    match Speculation::of(circuit) {
        None => {
            "the number and length of all messages follow from the sizes alone, and so does the \
             arithmetic: no branch depends on a secret (lookups index memory by a party's own words)"
        }
        Some(_) => {
            "the number and length of all messages follow from the sizes and from whether all members \
             are in range (if not, some rounds are repeated), and so does the arithmetic: no other \
             branch depends on a secret (lookups index memory by a party's own words)"
        }
    }
}
