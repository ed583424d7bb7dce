//! Figures in the README and in the book that follow from the code: each is computed here, so that none can
//! contradict the code or another page.
//!
//! - [`table`]: tables between `<!-- table NAME -->` and `<!-- end -->`, beside those of `tables`.
//! - [`claims`]: sentences with figures. A page must contain each of its sentences, as it is computed.
//! - Rounds, megabytes and seconds that stand in prose outside of these sentences are refused, so that a new
//!   figure comes with what computes it. Seconds that were measured stand in one page only.
//!
//! Rounds and bytes of large programs are read from the table of pinned artifacts, which a test of its own
//! compares with what the compiler makes. `SLVR_ALL_ARTIFACTS=1` also compiles deep models.

#[path = "../../../../tests/benches/protocols/macros.rs"]
#[allow(dead_code, reason = "the bench also runs them and checks results")]
mod macros;

use super::{book, read, root};
use macros::{MACROS, families, rounds};
use slvr_circuit::interaction::{COIN_BITS, Sends, To};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Hold, INTERACTIVE};
use slvr_compiler::analysis::{guard, projection};
use slvr_compiler::cost::{
    Cost, LineRow, MACS_PER_S, MEMORY_BYTES_PER_S, NetProfile, PRG_BYTES_PER_S, most, places,
    rows_by_line,
};
use slvr_compiler::lower::Protocols;
use slvr_compiler::passes;
use slvr_compiler::pipeline::{self, Compiled, Options};
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::syntax::{Sources, embedded};
use slvr_compiler::types::{self, Program};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// A table by its name; `old` is what the page contains. `None` if it is not one of these.
pub fn table(name: &str, old: &str) -> Option<String> {
    Some(match name {
        "passes" => passes_of_the_graph(),
        "interactions" => interactions(),
        "instructions" => instructions(),
        "macros" => protocol_macros(),
        "functions" => functions(),
        "checks" => checks(),
        "certificates" => certificates(old),
        "measured" => measured(),
        "predictions" => predictions(old),
        "crates" => crates(),
        _ => return None,
    })
}

// ---- what is compiled ------------------------------------------------------------------------------------

/// A program at some sizes, compiled.
struct Built {
    program: Program,
    sources: Sources,
    compiled: Compiled,
}

impl Built {
    fn traffic(&self) -> Traffic {
        Traffic::of(&self.compiled.circuit)
    }

    /// Megabytes that a party sends, the mean of the three.
    fn megabytes(&self) -> f64 {
        self.traffic().bytes.iter().sum::<u64>() as f64 / 3e6
    }

    fn certificate(&self) -> Certificate {
        let c = &self.compiled;
        Certificate::of(c, &places(&self.program, &c.optimised, &self.sources))
    }
}

fn build(text: &str, sizes: &str, options: Options) -> Built {
    let mut sources = Sources::new();
    let file = sources.add("figure.slvr", text);
    let pair = |s: &str| s.split_once('=').map(|(n, v)| (n.to_string(), v.to_string()));
    let bindings = sizes.split_whitespace().filter_map(pair).collect();
    let of = types::Options { bindings, ..types::Options::default() };
    let checked = types::check(&mut sources, file, &of, &mut embedded::Embedded);
    let program = checked.unwrap_or_else(|d| panic!("{d:?}\n{text}")).program;
    let compiled = pipeline::compile_with(&program, &sources, options, |_, _| {});
    Built { compiled: compiled.unwrap_or_else(|d| panic!("{d:?}\n{text}")), program, sources }
}

/// A predicate that comes with the compiler.
fn predicate(name: &str, sizes: &str, options: Options) -> Built {
    let text = embedded::get(&format!("{name}.slvr"));
    build(text.unwrap_or_else(|| panic!("no predicate {name}")), sizes, options)
}

/// The first file of this name below a folder.
fn find(folder: &Path, name: &str) -> Option<std::path::PathBuf> {
    let entries: Vec<_> =
        std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|e| e.path()).collect();
    let here = entries.iter().find(|p| p.file_name().is_some_and(|n| n == name)).cloned();
    here.or_else(|| entries.iter().filter(|p| p.is_dir()).find_map(|p| find(p, name)))
}

/// Rounds and bytes in all, by program, sizes and way of building, as pinned.
fn pinned() -> BTreeMap<String, (usize, u64)> {
    let mut all = BTreeMap::new();
    for file in ["predicates.snap", "bench_programs.snap", "deep_models.snap"] {
        let path = find(&root().join("tests"), file).unwrap_or_else(|| panic!("no {file}"));
        for line in read(&path).lines() {
            let parts: Vec<&str> = line.split(" | ").collect();
            let [what, way, cost, _] = parts[..] else { continue };
            let mut numbers = cost.split(|c: char| !c.is_ascii_digit()).filter(|s| !s.is_empty());
            let mut number =
                || numbers.next().and_then(|n| n.parse::<u64>().ok()).expect("a figure");
            all.insert(format!("{what} | {way}"), (number() as usize, number()));
        }
    }
    all
}

/// Rounds and megabytes in all of a whole round of ten clients, from the pinned artifacts.
fn whole_round(model: &str, way: &str) -> (usize, f64) {
    let key = format!("slvr_accuracy M={model} m=10 c=1 b=10 | {way}");
    let (rounds, bytes) = pinned().remove(&key).unwrap_or_else(|| panic!("no `{key}` is pinned"));
    (rounds, bytes as f64 / 1e6)
}

// ---- tables ----------------------------------------------------------------------------------------------

fn passes_of_the_graph() -> String {
    let mut out = String::from("| pass | what it does |\n|---|---|\n");
    for pass in passes::PIPELINE {
        let _ = writeln!(out, "| `{}` | {} |", pass.name, pass.what);
    }
    out
}

/// Who sends what in one round, from the table that parties and compiler use.
fn interactions() -> String {
    let held = |hold: &Hold| match hold {
        Hold::Public => "public",
        Hold::Rep => "replicated",
        Hold::Add3 => "`add3`",
        Hold::Own => "`own`",
        Hold::Dup => "`dup`",
        Hold::Add2 => "`add2`",
        Hold::Mask => "`mask`",
    };
    let mut out =
        String::from("| instruction | from, to | who sends | bits |\n|---|---|---|---|\n");
    for (name, row) in INTERACTIVE {
        let from: Vec<&str> = row.from.iter().map(held).collect();
        let from = if from.is_empty() { "nothing".to_string() } else { from.join(" and ") };
        let to = row.to.as_ref().map_or("a receiver", held);
        let k = if row.from.is_empty() { COIN_BITS.to_string() } else { "k".to_string() };
        let (who, bits) = match row.sends {
            Sends::All([To::Next]) => ("each party to the next one", format!("{k} by each")),
            Sends::All([To::Prev]) => ("each party to the previous one", format!("{k} by each")),
            Sends::All([To::Receiver]) => ("each party to the receiver", format!("{k} by each")),
            Sends::All([_, _]) => ("each party to both others", format!("2 {k} by each")),
            Sends::Owner(To::Next) => ("the owner to the next party", format!("{k} by the owner")),
            Sends::Owner(To::Prev) => {
                ("the owner to the previous party", format!("{k} by the owner"))
            }
            Sends::Others => ("the other two to each other", format!("{k} by each")),
            other => panic!("{name}: {other:?}"),
        };
        let _ = writeln!(out, "| `{name}` | {from} to {to} | {who} | {bits} |");
    }
    out
}

/// Variants of the circuit's operations with their documentation, and their names as text.
fn variants() -> Vec<((String, String), String)> {
    let text = read(&root().join("circuit/src/op.rs"));
    let (_, body) = text.split_once("pub enum Op {").expect("the operations");
    let (body, _) = body.split_once("\n}\n").expect("an end");
    let names = read(&root().join("circuit/src/forms.rs"));
    let (_, names) = names.split_once("\nforms! {").expect("the table of operations");
    let mut out = Vec::new();
    let mut about = String::new();
    for line in body.lines() {
        if let Some(more) = line.strip_prefix("    /// ") {
            about += &format!("{more} ");
        } else if line.starts_with("    ")
            && line.as_bytes().get(4).is_some_and(u8::is_ascii_uppercase)
        {
            let end = line[4..].find(|c: char| !c.is_alphanumeric()).map_or(line.len(), |e| e + 4);
            let variant = line[4..end].to_string();
            let row = names.lines().filter_map(|l| l.trim().strip_prefix('"')?.split_once("\" "));
            let named = |(_, op): &(&str, &str)| {
                op.strip_prefix(variant.as_str())
                    .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            };
            let name = row.into_iter().find(named).map_or("", |(name, _)| name).to_string();
            out.push(((variant, std::mem::take(&mut about)), name));
        } else if !line.trim_start().starts_with("///") {
            about.clear();
        }
    }
    out
}

/// All instructions: the first sentence of what is said of each.
fn instructions() -> String {
    let mut out = String::from("| instruction | what it is |\n|---|---|\n");
    for ((variant, about), name) in variants() {
        assert!(!name.is_empty(), "{variant} has no name");
        let mut about = about.replace("[`", "`").replace("`]", "`").replace('|', "\\|");
        while let Some((before, rest)) = about.split_once("](") {
            // The target of a link means nothing in the book.
            let (_, behind) = rest.split_once(')').expect("an end");
            about = format!("{before}{behind}");
        }
        let end = about.match_indices(". ").map(|(i, _)| i + 1).find(|&i| i > 12);
        let _ = writeln!(out, "| `{name}` | {} |", about[..end.unwrap_or(about.len())].trim());
    }
    out
}

/// Each macro alone, as the bench of protocols measures them.
fn protocol_macros() -> String {
    const N: u64 = 1_000_000;
    let mut out = String::from(
        "| macro | family | rounds | bits per element, all parties |\n|---|---|---|---|\n",
    );
    for of in &MACROS {
        for (label, family) in families(of) {
            let (circuit, _) = macros::circuit(of, N, family, N as u32);
            let bytes: u64 = Traffic::of(&circuit).bytes.iter().sum();
            let bits = (bytes * 8) as f64 / N as f64;
            let _ = writeln!(out, "| {} | {label} | {} | {bits:.0} |", of.name, rounds(&circuit));
        }
    }
    out
}

/// Rounds before the reveal, and bits in all for each element, the reveal aside, of one statement over
/// vectors x and y in T1 on 64-bit words.
fn symmetric(value: &str) -> (usize, f64) {
    const N: u64 = 3 << 20;
    let text = format!(
        "use std::{{abs, exp, log, max, norm, recip, relu, sqrt}};\n\npredicate Line[n]() {{\n    \
         parties Client;\n    parties Server;\n    input x: secret fix[n] in -8..8 from Client;\n    \
         input y: secret fix[n] in -8..8 from Client;\n    reveal {value} to Server as out;\n}}\n"
    );
    let options = Options {
        enforce: false,
        ring: Some(64),
        protocols: Protocols::Symmetric,
        ..Options::default()
    };
    let t = build(&text, &format!("n={N}"), options).traffic();
    let bytes: u64 = t.bytes.iter().zip(&t.revealed).map(|(all, r)| all - r).sum();
    (t.rounds - 1, bytes as f64 * 8.0 / N as f64)
}

fn functions() -> String {
    let rows = [
        ("exp(x + 0 * y)", "e^x"),
        ("recip(x + 0 * y)", "1 / x"),
        ("x / y", "x / y"),
        ("sqrt(x + 0 * y)", "sqrt x"),
        ("log(x + 0 * y)", "ln x"),
        ("abs(x + 0 * y)", "abs x"),
    ];
    let mut out =
        String::from("| function | rounds | bits per element, all parties |\n|---|---|---|\n");
    for (value, name) in rows {
        let (rounds, bits) = symmetric(value);
        let _ = writeln!(out, "| {name} | {rounds} | {bits:.0} |");
    }
    out
}

/// Every check that comes with the compiler.
fn checks() -> String {
    let rows = [
        ("secure_aggregation", "M=DigitsNet m=10"),
        ("weighted_aggregation", "M=DigitsNet m=10"),
        ("norm_bound_public", "M=DigitsNet m=10"),
        ("norm_bound", "M=DigitsNet m=10"),
        ("krum", "M=DigitsNet m=10 f=1"),
        ("multi_krum", "M=DigitsNet m=10 f=1 k=5"),
        ("cosine_similarity", "M=DigitsNet m=10"),
        ("norm_ball", "M=DigitsNet m=10"),
        ("fltrust", "M=DigitsNet m=10"),
        ("linf_bound", "M=DigitsNet m=10"),
        ("coordinate_trimmed_mean", "d=1000 m=10 c=1"),
        ("coordinate_median", "d=1000 m=10"),
        ("validation_loss", "M=DigitsNet m=10 c=1 b=10"),
        ("slvr_confidence", "M=DigitsNet m=10 c=1 b=10"),
        ("slvr_accuracy", "M=DigitsNet m=10 c=1 b=10"),
    ];
    let all = embedded::PREDICATES.iter().map(|(f, _)| f.trim_end_matches(".slvr"));
    all.for_each(|f| assert!(rows.iter().any(|(n, _)| *n == f), "{f} is not in the table"));
    let mut out = String::from(
        "| check | sizes | rounds | MB sent per party | instructions | rounds, inputs trusted | MB |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (name, sizes) in rows {
        let [held, trusted] = [true, false]
            .map(|enforce| predicate(name, sizes, Options { enforce, ..Options::default() }));
        let _ = writeln!(
            out,
            "| `{name}` | {sizes} | {} | {:.3} | {} | {} | {:.3} |",
            held.traffic().rounds,
            held.megabytes(),
            held.compiled.circuit.instructions(),
            trusted.traffic().rounds,
            trusted.megabytes(),
        );
    }
    out
}

/// What is known of whole rounds before they run. Rows of deep models stay as they are unless these are asked
/// for.
fn certificates(old: &str) -> String {
    let mut out = String::from(
        "| model | m | rounds | MB sent per party | GB in a party | ring widths, % of words | saturates at | \
         error of the aggregate: proven, estimated | failure | LAN, s | WAN, s |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let deep = std::env::var_os("SLVR_ALL_ARTIFACTS").is_some();
    for model in ["LeNet5", "ResNet18"] {
        for m in [10, 20, 50, 100] {
            if model == "ResNet18" && !deep {
                let head = format!("| {model} | {m} |");
                let row = old.lines().find(|l| l.starts_with(&head));
                row.iter().for_each(|row| _ = writeln!(out, "{row}"));
                continue;
            }
            let sizes = format!("M={model} m={m} c=1 b=10");
            let built = predicate("slvr_accuracy", &sizes, Options::default());
            let (known, cost) = (built.certificate(), Cost::of(&built.compiled.circuit));
            let all: u64 = known.rings.values().sum();
            let share = |n: u64| 100.0 * n as f64 / all as f64;
            let rings: Vec<String> = known
                .rings
                .iter()
                .filter(|(_, n)| share(**n) >= 0.5)
                .map(|(k, n)| format!("{k}: {:.0}", share(*n)))
                .collect();
            let _ = writeln!(
                out,
                "| {model} | {m} | {} | {:.0} | {:.2} | {} | {} | {:.1e}, {:.1e} | {} | {:.1} | {:.1} |",
                cost.rounds,
                built.megabytes(),
                most(cost.peak_memory) as f64 / 1e9,
                rings.join(", "),
                known.saturates_at.map_or("-".into(), |x| x.to_string()),
                known.error[0].proven,
                known.error[0].estimated,
                known.failure_log2.map_or("0".into(), |p| format!("2^{p:.1}")),
                cost.seconds(&NetProfile::lan()).total,
                cost.seconds(&NetProfile::wan()).total,
            );
        }
    }
    out
}

/// Rows of the measured tables, by row and network.
fn measurements() -> BTreeMap<(String, String), Vec<String>> {
    let page = read(&root().join("docs/src/performance.md"));
    let cells = |l: &str| l.split('|').map(|c| c.trim().to_string()).collect::<Vec<_>>();
    let rows = page.lines().filter(|l| l.starts_with('|')).map(cells).filter(|c| c.len() > 8);
    let networks = ["loopback", "lan", "wan"];
    let rows = rows.filter(|c| networks.contains(&c[2].as_str()));
    rows.map(|c| ((c[1].clone(), c[2].clone()), c[3..].to_vec())).collect()
}

/// The README's selection of the measured rows.
fn measured() -> String {
    let rows = [
        (
            "LeNet-5 (max pooling), one client's accuracy score: 60 inferences",
            "client-accuracy-both-secret/LeNet5Max",
        ),
        (
            "LeNet-5 (max pooling), one client's confidence score: 30 inferences",
            "client-confidence/LeNet5Max",
        ),
        ("LeNet-5, norm bound", "norm/LeNet5"),
        ("top-k of ten scores", "top-k"),
        ("**LeNet-5, a whole round: 400 inferences**", "round-accuracy/LeNet5"),
        ("**LeNet-5 (max pooling), a whole round**", "round-accuracy/LeNet5Max"),
        (
            "ResNet-18, one client's accuracy score: 60 inferences",
            "client-accuracy-both-secret/ResNet18",
        ),
        ("ResNet-18, norm bound", "norm/ResNet18"),
        ("ResNet-18, a whole round: 400 inferences", "round-accuracy/ResNet18"),
    ];
    let all = measurements();
    let mut out = String::from(
        "| ten clients, compiled for and run on: loopback / LAN / WAN | rounds | MB sent by all | s | \
         MP-SPDZ, s |\n|---|---|---|---|---|\n",
    );
    for (about, row) in rows {
        let cell = |i: usize| {
            let on = ["loopback", "lan", "wan"];
            let of = |n: &str| {
                let row = all.get(&(format!("{row}/m=10"), n.to_string()));
                row.map_or("-", |r: &Vec<String>| r[i].as_str()).to_string()
            };
            let cells = on.map(of);
            match &cells {
                [a, b, c] if a == b && b == c => a.clone(),
                [a, b, c] if b == "-" && c == "-" => format!("{a}, loopback"),
                _ => cells.join(" / "),
            }
        };
        let _ =
            writeln!(out, "| {about} | {} | {} | {} | {} |", cell(0), cell(2), cell(3), cell(6));
    }
    out
}

// ---- sentences -------------------------------------------------------------------------------------------

/// A page, and a sentence in it.
type Claim = (&'static str, String);

/// Pages and what they must say, with figures as they are computed.
fn claims() -> &'static [Claim] {
    static ALL: OnceLock<Vec<Claim>> = OnceLock::new();
    ALL.get_or_init(computed_claims)
}

fn computed_claims() -> Vec<Claim> {
    let mut all = Vec::new();
    let mut say = |page: &'static str, text: String| all.push((page, text));
    let options = Options::default();
    let digits =
        |m: u32| predicate("slvr_accuracy", &format!("M=DigitsNet m={m} c=1 b=10"), options);
    let (ten, forty) = (digits(10), digits(40));
    let rounds_of = |b: &Built| b.traffic().rounds;

    let (few, many) = (rounds_of(&ten), rounds_of(&forty));
    say("README.md", format!("takes {few} rounds for 10 clients and {many} for 40"));
    say("introduction.md", format!("takes {few} rounds for 10 clients and {many} for 40"));

    // Enforcement.
    let weights = |inputs: u32| {
        let text = "use std::{sum};\n\npredicate W[M: model, m]() {\n    parties Client[m];\n    \
                    parties Server;\n    input w: secret weights M in -8..8 from each Client;\n    \
                    reveal sum(w[i] for i in Client) / m to Server as out;\n}\n";
        // 252 - 1 inputs of two classes make 256 weights.
        let built = build(text, &format!("M=Mlp[{inputs},hidden=1,classes=2] m=10"), options);
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
        format!("3 times their range, or to {tight:.0} to {thousand:.0} times their declared norm"),
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
        format!(
            "There are three routes for long vectors of weights: projections with {n4} tests, projections \
             with {n25} tests, and the upload in 32 bits."
        ),
    );
    say(
        "security.md",
        format!("{wide:.0} times with ten clients, {thousand:.0} times with a thousand"),
    );
    say("security.md", format!("fails its projections with probability at most 2^-{s}"));
    say(
        "security.md",
        format!(
            "up to {wide:.0} times longer than declared, or {thousand:.0} times with a thousand"
        ),
    );
    say("security.md", format!("passes the projections with probability 2^-{s}"));

    // Cuts.
    let (least, largest) = (passes::saturation::TOPS.min(), passes::saturation::TOPS.max());
    let (least, largest) = (least.unwrap_or(0), largest.unwrap_or(0));
    let lenet = predicate("slvr_accuracy", "M=LeNet5 m=10 c=1 b=10", options);
    let cut = lenet.certificate().saturates_at.expect("LeNet-5 is cut");
    let deep = row_of("performance.md", "| ResNet18 | 10 | ")[7].clone();
    say("security.md", format!("the largest power of two from 2^{least} to 2^{largest} for which"));
    say("security.md", format!("The cut of LeNet-5 is {cut} and the cut of ResNet-18 is {deep}."));
    say(
        "README.md",
        format!("cuts activations of ResNet-18 at {deep} and those of LeNet-5 at {cut}."),
    );

    // Networks.
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

    // The performance page.
    let lenet_rounds = lenet.traffic().rounds;
    say(
        "performance.md",
        format!("LAN has {lan} and {lan_rtt} round trip, WAN has {wan} and {wan_rtt}."),
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
    let waits = |line: &str| -> usize {
        let text = embedded::get("slvr_accuracy.slvr").unwrap_or_default();
        let places = places(&lenet.program, &lenet.compiled.optimised, &lenet.sources);
        let cost = Cost::of(&lenet.compiled.circuit);
        let rows = rows_by_line(&cost, &places, text);
        let of =
            |r: &&LineRow| text.lines().nth(r.line as usize - 1).is_some_and(|l| l.contains(line));
        rows.iter().filter(of).map(|r| r.critical).sum()
    };
    let (scores, best, rest) = (
        waits("trimmed_mean[") + waits("let gain"),
        waits("let best"),
        waits("let keep") + waits("reveal "),
    );
    say(
        "performance.md",
        format!(
            "It takes {lenet_rounds} rounds on a LAN: {} wait for inferences, {scores} for gains and trimmed \
             means, {best} for the ranking, and {rest} for the verdicts and the masked sum.",
            lenet_rounds - scores - best - rest,
        ),
    );

    // The tutorial counts what its own commands print.
    let tutorial = read(&root().join("docs/src/tutorial.md"));
    let line = |head: &str| tutorial.lines().find_map(|l| l.strip_prefix(head)).unwrap_or_default();
    let words =
        ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];
    let kept = line("  kept [] = ").parse::<f64>().unwrap_or_default();
    say("tutorial.md", format!("{} of ten updates are kept.", words[kept as usize]));
    let out: Vec<String> = line("\"values\":[")
        .split(',')
        .take(9)
        .enumerate()
        .filter(|(_, v)| *v == "0.0")
        .map(|(i, _)| i.to_string())
        .collect();
    if let [first @ .., last] = &out[..] {
        say("tutorial.md", format!("Clients {} and {last} are honest", first.join(", ")));
    }

    // The families.
    let ((rounds_t1, mb_t1), (rounds_t2, mb_t2)) =
        (whole_round("LeNet5", "t1"), whole_round("LeNet5", "t2 lan"));
    say(
        "decisions.md",
        format!(
            "a LeNet-5 round takes {rounds_t1} rounds and {mb_t1:.0} MB in T1, and {rounds_t2} rounds and \
             {mb_t2:.0} MB in T2"
        ),
    );
    say(
        "costs.md",
        format!("`slvr_accuracy` with LeNet-5 and ten clients has {lenet_rounds} rounds"),
    );

    // Protocols.
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
    let in_t1_rounds = |name: &str| -> usize {
        let of = MACROS.iter().find(|m| m.name == name).expect("a macro");
        let all = families(of);
        let (_, family) = all.iter().find(|(label, _)| label == "T1").expect("T1");
        macros::circuit(of, 1_000_000, *family, 1_000_000).0.rounds()
    };
    let compare = in_t1("comparison, 64 bits");
    say("protocols.md", format!("3 per gate: {} for w = 64 | exact |", compare["T1"]));
    say("protocols.md", format!("n = w - 1: {} for w = 64 | exact |", compare["T1, simple"]));
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
    say("decisions.md", format!("costs {} bits each (in T1)", range.1));
    // Of ten classes, w = 4.
    assert_eq!((one_hot.0, one_hot.1), (4, 10 * 24 + (1 << 4) + 1), "the one-hot check");
    let (both, two) = macros::bits_of_saturation(43, 22);
    say(
        "protocols.md",
        format!("{both} bits. Two comparisons of one table would take {two} bits."),
    );
    say("decisions.md", format!("{both} bits instead of {two}"));
    let exp = symmetric("exp(x + 0 * y)").0;
    say("protocols.md", format!("and gate the result: {exp} rounds in all in T1."));
    let word = in_t1_rounds("bit to word");
    say("protocols.md", format!("The bits become words in {word} rounds."));
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

    // Speculation.
    let waiting = Options { speculate: false, ..options };
    let waiting = predicate("slvr_accuracy", "M=LeNet5 m=10 c=1 b=10", waiting);
    let memory = |b: &Built| most(Cost::of(&b.compiled.circuit).peak_memory) as f64 / 1e6;
    say(
        "decisions.md",
        format!(
            "SLVR with LeNet-5 and ten clients takes {lenet_rounds} rounds instead of {}",
            waiting.traffic().rounds
        ),
    );
    say(
        "decisions.md",
        format!("({:.0} MB instead of {:.0} MB there)", memory(&lenet), memory(&waiting)),
    );
    all
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

/// Predicted beside measured seconds. Rows of deep models stay as they are unless these are asked for.
fn predictions(old: &str) -> String {
    const MEMORY: u64 = 4800 << 20;
    let rows = [
        ("round-accuracy/LeNet5", "slvr_accuracy", "M=LeNet5 m=10 c=1 b=10"),
        ("norm/LeNet5", "bench/norm", "M=LeNet5 m=10"),
        ("client-accuracy/LeNet5", "bench/accuracy", "M=LeNet5 c=1 b=10"),
        ("client-accuracy-both-secret/ResNet18", "bench/accuracy_secret", "M=ResNet18 c=1 b=10"),
        ("norm/ResNet18", "bench/norm", "M=ResNet18 m=10"),
        ("round-accuracy/ResNet18", "slvr_accuracy", "M=ResNet18 m=10 c=1 b=10"),
    ];
    let deep = std::env::var_os("SLVR_ALL_ARTIFACTS").is_some();
    let all = measurements();
    let mut out =
        String::from("| row | network | predicted, s | measured, s |\n|---|---|---|---|\n");
    for (row, name, sizes) in rows {
        for net in NetProfile::all() {
            let Some(measured) = all.get(&(format!("{row}/m=10"), net.name.clone())) else {
                continue;
            };
            let head = format!("| {row} | {} |", net.name);
            if row.contains("ResNet18") && !deep {
                let row = old.lines().find(|l| l.starts_with(&head));
                row.iter().for_each(|row| _ = writeln!(out, "{row}"));
                continue;
            }
            let protocols = Protocols::Dealer(net.tuning());
            let memory = Some(MEMORY);
            let built = predicate(name, sizes, Options { protocols, memory, ..Options::default() });
            let predicted = Cost::of(&built.compiled.circuit).seconds(&net).total;
            let _ = writeln!(out, "{head} {predicted:.2} | {} |", measured[3]);
        }
    }
    out
}

/// Rounds and megabytes of the measured rows are those of the pinned artifacts. `SLVR_ALL_ARTIFACTS=1` compares all
/// rows with what the bench predicts, which takes longer.
#[test]
fn measured_rows() {
    let measured = measurements();
    let programs = [
        ("norm", "bench/norm M={M} m=10"),
        ("client-accuracy-both-secret", "bench/accuracy_secret M={M} c=1 b=10"),
        ("client-accuracy", "bench/accuracy M={M} c=1 b=10"),
        ("client-confidence", "bench/confidence M={M} c=1 b=10"),
        ("round-accuracy", "slvr_accuracy M={M} m=10 c=1 b=10"),
        ("round-confidence", "slvr_confidence M={M} m=10 c=1 b=10"),
        ("top-k", "bench/top_k m=10 c=1"),
    ];
    let pinned = pinned();
    let mut count = 0;
    for ((row, net), cells) in &measured {
        let mut parts = row.split('/');
        let (job, model) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let model = if model == "LeNet5Max" { "lenet5_max.slvr:LeNet5Max" } else { model };
        let program = programs.iter().find(|(name, _)| *name == job).expect("a program").1;
        let key = format!("{} | t2 {net}", program.replace("{M}", model));
        // Of deep models loopback is not pinned, of LeNet-5 with max pooling only the LAN is.
        let Some((rounds, bytes)) = pinned.get(&key) else { continue };
        assert_eq!(cells[0], rounds.to_string(), "rounds of {row} on {net}");
        let (said, mb) = (cells[2].parse::<f64>().expect("a number"), *bytes as f64 / 1e6);
        assert!((said - mb).abs() <= 0.006 * mb, "MB of {row} on {net}: {said}, not {mb}");
        count += 1;
    }
    assert!(count >= 28, "only {count} rows are pinned");
    if std::env::var_os("SLVR_ALL_ARTIFACTS").is_none() {
        return;
    }
    let page = read(&root().join("docs/src/performance.md"));
    let mut bench = Command::new(env!("CARGO_BIN_EXE_slvrc"));
    bench.args(["bench", "--repeats", "0", "--m", "10"]);
    let done = bench.output().expect("the bench");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut found = 0;
    for line in String::from_utf8_lossy(&done.stdout).lines().filter(|l| l.contains("/m=10")) {
        let cells: Vec<&str> = line.split(" | ").take(5).collect();
        let (named, all) = (cells[..2].join(" | "), cells.join(" | "));
        if page.contains(&format!("\n{named} |")) {
            assert!(page.contains(&format!("\n{all} |")), "performance.md, not: {all}");
            found += 1;
        }
    }
    assert_eq!(found, measured.len(), "rows of the page");
}

/// Rounds and bits of the measured macros are those of their circuits.
#[test]
fn measured_macros() {
    let page = read(&root().join("docs/src/performance.md"));
    for row in protocol_macros().lines().skip(2) {
        assert!(page.contains(&format!("\n{row}")), "performance.md has no row {row}");
    }
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

/// The crates of the workspace, in the order of their dependencies.
fn crates() -> String {
    let members =
        ["circuit", "ring", "runtime", "predicates", "compiler", "simulation", "slvrc", "tests"];
    let workspace = read(&root().join("Cargo.toml"));
    let mut out = String::from("| folder | crate | what it is | uses |\n|---|---|---|---|\n");
    for folder in members {
        assert!(workspace.contains(&format!("\"{folder}\"")), "{folder} is no member");
        let text = read(&root().join(folder).join("Cargo.toml"));
        let field = |key: &str| {
            let of = |text: &str| {
                let line = text.lines().find_map(|l| l.strip_prefix(&format!("{key} = \"")))?;
                line.strip_suffix('"').map(str::to_string)
            };
            of(&text).or_else(|| of(&workspace)).unwrap_or_default()
        };
        let (_, uses) = text.split_once("\n[dependencies]\n").unwrap_or_default();
        let uses = uses.split("\n[").next().unwrap_or_default().lines();
        let uses: Vec<String> = uses
            .filter(|l| l.starts_with("slvr-"))
            .filter_map(|l| l.split(['.', ' ', '=']).next())
            .map(|name| format!("`{name}`"))
            .collect();
        let uses = if uses.is_empty() { "–".to_string() } else { uses.join(", ") };
        let _ = writeln!(
            out,
            "| `{folder}/` | `{}` | {} | {uses} |",
            field("name"),
            field("description")
        );
    }
    out
}
