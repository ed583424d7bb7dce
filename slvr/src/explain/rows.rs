//! What text and HTML show alike: columns of figures, and the certificate as sentences.

use crate::units::{bytes, count, error, per_party, range, taken};
use slvr_compiler::cost::{LineRow, mean_party};
use slvr_compiler::diagnostic::rounding::at_most;
use slvr_compiler::passes::FRACTION;
use slvr_compiler::pipeline::privacy;
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::report::precision::PrecisionRow;
use std::iter;

/// A column of figures.
pub struct Column {
    pub name: &'static str,
    /// Its characters in text.
    pub width: usize,
    pub what: &'static str,
}

const COLUMNS: [Column; 7] = [
    Column { name: "rounds", width: 6, what: "Rounds in which it sends" },
    Column { name: "waits", width: 5, what: "Rounds of the longest chain that wait for it" },
    Column { name: "bytes", width: 8, what: "Sent by one party, mean" },
    Column { name: "MACs", width: 8, what: "Multiply-accumulates of one party, mean" },
    Column { name: "memory", width: 8, what: "Bytes of its values when a party holds most" },
    Column { name: "range", width: 16, what: "Smallest and largest value" },
    Column { name: "error", width: 8, what: "Bound on the absolute error" },
];

/// The columns; the last two only of what is certified.
pub fn columns(certified: bool) -> &'static [Column] {
    if certified { &COLUMNS } else { &COLUMNS[..5] }
}

/// Whether any row has a range or an error.
pub fn certified(rows: &[LineRow]) -> bool {
    rows.iter().any(|r| r.range.is_some() || r.error.is_some())
}

/// What is nothing is left blank, so that what is something stands out.
pub fn some(n: u64, text: String) -> String {
    if n == 0 { String::new() } else { text }
}

/// The figures of a row, by column.
pub fn figures(row: &LineRow) -> [String; 7] {
    let macs = mean_party(row.macs);
    [
        some(row.rounds as u64, row.rounds.to_string()),
        some(row.critical as u64, row.critical.to_string()),
        some(mean_party(row.bytes), per_party(row.bytes)),
        some(macs, count(macs, "")),
        some(row.memory, bytes(row.memory)),
        row.range.clone().unwrap_or_default(),
        row.error.map_or(String::new(), error),
    ]
}

/// A row of the certificate: what it is about (nothing if that is what the row before is about), and its lines.
pub type Proven = (&'static str, Vec<String>);

/// What is proven, for all inputs.
pub fn certificate(c: &Certificate) -> Vec<Proven> {
    let mut rows = vec![("failure", failure(c))];
    rows.extend(c.inputs.iter().map(|i| {
        let (declared, enforced) = (range(i.declared), range(i.enforced));
        let of_range = format!("{} in {declared}: {}; enforced {enforced}", i.name, i.how);
        let of_norm = i.norm.map(|n| {
            let enforced = i.enforced_norm.map_or_else(
                || "the parties do not enforce it".to_string(),
                |e| format!("the parties enforce {}", at_most(e, 0)),
            );
            let n = at_most(n, 0);
            format!("a client's own software keeps its Euclidean norm to at most {n}; {enforced}")
        });
        ("input", iter::once(of_range).chain(of_norm).collect())
    }));
    for e in &c.error {
        let (name, within) = (&e.name, range(e.range));
        let lines = match e.says_nothing() {
            true => vec![
                format!(
                    "{name} in {within}; of its error nothing is proven for all inputs: narrower ranges may give a"
                ),
                "bound, and `slvrc certify` proves one for inputs at hand".into(),
            ],
            false => vec![
                format!(
                    "{name} in {within}, off by at most {}, proven for all inputs as they are encoded",
                    error(e.proven)
                ),
                format!("rounding the inputs changes it by at most {}", error(e.rounding_inputs)),
            ],
        };
        rows.push((e.kind(), lines));
    }
    if c.error.iter().any(|e| e.state) {
        let lines = [
            "errors are those of one round, from the states as they are kept; what rounding has made of states",
            "may grow from round to round, and no figure here counts it",
        ];
        rows.push(("states", lines.map(str::to_owned).to_vec()));
    }
    rows.extend(c.precision.iter().map(|PrecisionRow { line, step, fraction, added, bits }| {
        let step = if step.is_empty() { String::new() } else { format!(" {step}") };
        let row = format!(
            "line {line}:{step} has {fraction} fraction bits, {added} more than others; {bits} bits in all"
        );
        ("precision", vec![row])
    }));
    rows.extend(c.kept.iter().map(|k| {
        (
            "precision",
            vec![format!("{} has {FRACTION} fraction bits, as others: {}", k.input, k.why)],
        )
    }));
    rows.extend(c.privacy.iter().map(|p| ("noise", privacy::lines(p))));
    let rings = c.rings.iter().map(|(k, n)| format!("{} words of {k} bits", count(*n, "")));
    rows.push(("rings", vec![rings.collect::<Vec<_>>().join(", ")]));
    cuts(c, &mut rows);
    decisions(c, &mut rows);
    rows
}

fn failure(c: &Certificate) -> Vec<String> {
    let all = match c.failure_log2 {
        Some(p) => format!("at most 2^{}, proven", at_most(p, 1)),
        None => "nothing can fail".to_string(),
    };
    let terms = c.failure.terms.iter().map(|t| format!("2^{}: {}", at_most(t.log2, 1), t.what));
    iter::once(all).chain(terms).collect()
}

/// Where values are cut that do not fit.
fn cuts(c: &Certificate, rows: &mut Vec<Proven>) {
    rows.extend(c.saturates_at.map(|top| {
        let half = top / 2.0;
        let row = format!(
            "results of relu at {top}, products with a reciprocal at {half}, where values do not fit"
        );
        ("saturates", vec![row])
    }));
    let of_line = |line: u32, what: String| vec![format!("line {line}: {what}")];
    rows.extend(c.assumed.iter().map(|cut| ("cut", of_line(cut.line, taken(cut)))));
    if !c.assumed.is_empty() {
        let row = "errors and decisions are stated for inputs whose values stay within these cuts";
        rows.push(("", vec![row.into()]));
    }
    rows.extend(
        c.saturations
            .iter()
            .map(|a| ("saturates", of_line(a.line, format!("{} {}", a.function, a.said())))),
    );
}

fn decisions(c: &Certificate, rows: &mut Vec<Proven>) {
    let unproven = c.unproven();
    if let Some(widest) = c.widest() {
        let lines = vec![
            format!(
                "{} comparisons; as in the program unless both sides are within {} of one another,",
                c.decisions.len() - unproven,
                error(widest.margin)
            ),
            format!("the most in line {}, proven for all inputs as they are encoded", widest.line),
            format!(
                "rounding the inputs may decide otherwise where they are within {}",
                error(c.widest_rounding())
            ),
        ];
        rows.push(("decisions", lines));
    }
    if unproven > 0 {
        let lines = vec![
            format!(
                "{unproven} comparisons of which nothing is proven for all inputs: `slvrc certify` says which fall as in"
            ),
            "the program for inputs at hand".into(),
        ];
        rows.push(("decisions", lines));
    }
    if !c.decisions.is_empty() {
        let row = "the errors of reveals above are those where no decision falls otherwise";
        rows.push(("", vec![row.into()]));
    }
}
