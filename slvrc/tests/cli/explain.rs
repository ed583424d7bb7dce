//! `slvrc explain`: text, JSON and HTML, from a program and from an artifact.

use crate::folder::{ACCURACY, Place};
use serde_json::{Value, json};

fn sum(list: &Value, key: &str) -> u64 {
    let rows = list.as_array().expect("rows");
    let numbers = |r: &Value| match &r[key] {
        Value::Array(by_party) => by_party.iter().filter_map(Value::as_u64).sum(),
        one => one.as_u64().unwrap_or(0),
    };
    rows.iter().map(numbers).sum()
}

#[test]
fn json_says_everything() {
    let place = Place::new();
    let report = place.slvrc(&format!("explain {ACCURACY} --json")).ok();
    let build = place.slvrc(&format!("build {ACCURACY} -o a.slvrb --json")).ok();
    for key in ["predicate", "rounds", "predicted_bytes_sent"] {
        assert_eq!(report[key], build[key], "{key}");
    }
    let bytes: u64 = sum(&json!([report]), "predicted_bytes_sent");
    for rows in ["lines", "steps"] {
        assert_eq!(sum(&report[rows], "bytes_sent"), bytes, "{rows}");
        assert_eq!(json!(sum(&report[rows], "critical")), report["rounds"], "{rows}");
    }
    assert_eq!(json!(sum(&report["layers"], "rounds")), report["rounds"]);
    let names: Vec<&Value> =
        report["times"].as_array().expect("times").iter().map(|t| &t["net"]["name"]).collect();
    assert_eq!(names, ["loopback", "lan", "wan"]);
    assert_eq!(report["warnings"][0]["kind"], "masked_sum");
    assert_eq!(report["warnings"][0]["level"], "note");
    assert_eq!(report["leaks"][0]["name"], "aggregate");
    // The bytes of a line are those of the source's line.
    let first = &report["lines"][0];
    let line = first["line"].as_u64().expect("a line") as usize;
    let source =
        slvr_compiler::syntax::embedded::PREDICATES.iter().find(|(n, _)| n.starts_with("slvr_acc"));
    let text = source.expect("the predicate").1.lines().nth(line - 1);
    assert_eq!(first["text"].as_str(), text);

    // An artifact has no source: the same numbers by statement, no lines and no warnings.
    let artifact = place.slvrc("explain a.slvrb --json").ok();
    for key in ["rounds", "predicted_bytes_sent", "predicted_peak_memory_bytes", "times"] {
        assert_eq!(artifact[key], report[key], "{key}");
    }
    assert_eq!(sum(&artifact["lines"], "bytes_sent"), bytes);
    assert_eq!(artifact["warnings"], json!([]));
    assert_eq!(artifact["leaks"][0]["name"], "aggregate");

    assert_eq!(place.slvrc("explain E0007 --json").ok()["code"], "E0007");
    let unknown = place.slvrc("explain E9999 --json");
    assert_eq!((unknown.status, &unknown.json()["ok"]), (1, &json!(false)));
}

/// What workers compute and what stays with the party add up to the whole, and blocks are ranges of their own.
#[test]
fn workers_and_the_party_share_what_there_is() {
    let place = Place::new();
    let program = "slvr_accuracy M=DigitsNet m=40 c=2 b=10";
    let how = "--memory 12MiB --no-speculation --workers 2";
    let report = place.slvrc(&format!("explain {program} {how} --json")).ok();
    let workers = &report["workers"];
    let all: Vec<u64> = (0..3)
        .map(|me| {
            let of = |x: &Value| x["bytes"][me].as_u64().expect("bytes");
            let each = workers["workers"].as_array().expect("workers").iter().map(of);
            of(&workers["party"]) + each.sum::<u64>()
        })
        .collect();
    assert_eq!(json!(all), report["predicted_bytes_sent"]);
    let ranges = workers["ranges"].as_array().expect("ranges");
    assert!(ranges.len() >= 3 && ranges.iter().all(|r| r["stage"] == 0), "{ranges:?}");
    for (n, range) in ranges.iter().enumerate() {
        assert_eq!(range["worker"], json!(n % 2));
    }
    for time in workers["times"].as_array().expect("times") {
        let of = |key: &str| time[key].as_f64().expect("seconds");
        assert!(of("seconds") < of("seconds_without"), "{time}");
    }
    let text = place.slvrc(&format!("explain {program} {how}"));
    assert!(text.stdout.contains("workers: 2 of each party"), "{}", text.stdout);
    // Without a question nothing is said.
    assert_eq!(place.slvrc(&format!("explain {ACCURACY} --json")).ok()["workers"], Value::Null);
    let refused = place.slvrc(&format!("explain {ACCURACY} --security malicious --workers 2"));
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("has no ranges for workers"), "{}", refused.stderr);
}

/// Against a malicious party most rounds and bytes may be those of a proof. They stand at a line that opens something, and the
/// rounds that lines wait for are those of a run.
#[test]
fn rounds_and_bytes_of_proofs_stand_where_something_is_opened() {
    let place = Place::new();
    // The last input has no check.
    let text = "\
use std::sum;
predicate First[m]() {
    parties Client[m];
    parties Server;
    input x: secret fix[3] in -8..8 from each Client;
    input b: secret bit from each Client;
    reveal sum(b[i] * x[i] for i in Client) to Server as total;
}
";
    place.write("first.slvr", text);
    for program in ["first.slvr m=3", ACCURACY] {
        let how = format!("{program} --security malicious");
        let report = place.slvrc(&format!("explain {how} --json")).ok();
        let bytes: u64 = sum(&json!([report]), "predicted_bytes_sent");
        for rows in ["lines", "steps"] {
            assert_eq!(sum(&report[rows], "bytes_sent"), bytes, "{rows}");
            assert_eq!(json!(sum(&report[rows], "critical")), report["rounds"], "{rows}");
        }
        let layers = report["layers"].as_array().expect("layers");
        let proofs: Vec<&Value> =
            layers.iter().map(|l| &l["proof"]).filter(|p| !p.is_null()).collect();
        let seconds: f64 = proofs.iter().filter_map(|p| p["seconds"].as_f64()).sum();
        let predicted = &report["times"][0]["seconds"];
        assert!(seconds > 0.0 && predicted["compute"].as_f64() > Some(seconds), "{predicted}");
        // The bits of checks are opened where an input is checked, and outputs where they are revealed.
        let lines: Vec<u64> = proofs.iter().filter_map(|p| p["waits_for_line"].as_u64()).collect();
        if program != ACCURACY {
            assert!(lines.iter().all(|l| [5, 7].contains(l)) && !lines.is_empty(), "{lines:?}");
        }
        // The text has every round once, in order.
        let shown = place.slvrc(&format!("explain {how}")).stdout;
        assert!(shown.contains(" with the vectors of its proofs\n"), "{shown}");
        assert!(proofs.iter().all(|p| p["memory_bytes"].as_u64() > Some(0)), "{proofs:?}");
        let rounds = shown.split("by the line they wait for\n").nth(1).expect("rounds");
        let (mut next, mut numbers) = (1, 0);
        for row in rounds.lines().skip(1).take_while(|l| !l.is_empty()) {
            let mut cells = row.split_whitespace();
            let (which, number) = (cells.next().expect("which"), cells.next().expect("how many"));
            let (first, last) = which.split_once('-').unwrap_or((which, which));
            assert_eq!(first.parse::<u64>().expect("a round"), next, "{rounds}");
            next = last.parse::<u64>().expect("a round") + 1;
            numbers += number.parse::<u64>().expect("a number");
        }
        assert_eq!(
            (json!(next - 1), json!(numbers)),
            (report["rounds"].clone(), report["rounds"].clone())
        );
    }
    let page = place.slvrc("explain first.slvr m=3 --security malicious --html p.html");
    assert_eq!(page.status, 0, "{}", page.stderr);
    let page = std::fs::read_to_string(place.path("p.html")).expect("the page");
    assert!(page.contains("proofs") && !page.contains("NaN"));
}

/// The totals of proofs in the JSON are those of the layers.
#[test]
fn proofs_are_added_up() {
    let place = Place::new();
    let report = place.slvrc(&format!("explain {ACCURACY} --security malicious --json")).ok();
    let proofs = &report["proofs"];
    let found = proofs["rounds"].as_u64().expect("a number");
    assert!((5..12).contains(&found), "{found} rounds");
    let layers = report["layers"].as_array().expect("layers").iter();
    let each = layers.filter_map(|l| l["proof"]["rounds"].as_u64());
    assert_eq!(each.sum::<u64>(), found);
    let (with, without) = (&proofs["peak_memory_bytes"], &report["predicted_peak_memory_bytes"]);
    let most = without.as_array().expect("three").iter().filter_map(Value::as_u64).max();
    assert!(with.as_u64() >= most, "{with} and {without}");
    let report = place.slvrc(&format!("explain {ACCURACY} --json")).ok();
    assert_eq!(report["proofs"], Value::Null);
}

/// What a run takes if a client fails a check is the least budget for which the same circuit is built.
#[test]
fn a_budget_is_about_runs_in_which_a_client_fails() {
    let place = Place::new();
    for how in ["", " --security malicious"] {
        let explain = |memory: &str| {
            let of = "norm_bound.slvr M=DigitsNet m=8";
            place.slvrc(&format!("explain {of}{how} {memory} --json")).ok()
        };
        let without = explain("");
        let most = without["memory_if_a_client_fails_bytes"].as_u64().expect("a number");
        let passing = without["predicted_peak_memory_bytes"].as_array().expect("three");
        assert!(passing.iter().all(|n| n.as_u64() < Some(most)), "{passing:?} of {most}");
        let hash = |memory: u64| explain(&format!("--memory {memory}"))["circuit_hash"].clone();
        assert_eq!(hash(most), without["circuit_hash"], "{how}");
        assert_ne!(hash(most - 1), without["circuit_hash"], "{how}");
    }
}

/// What an option, and not the program, has brought about, the hint says.
#[test]
fn hints_name_the_option_that_a_refusal_is_about() {
    let place = Place::new();
    let text = "predicate P() {
    parties A;
    parties Server;
    input a: secret fix[3, 4] in -1..1 from A;
    input b: secret fix[4, 3] in -1..1 from A;
    require failure <= 2^-60;
    reveal [[sum(a[i][k] * b[k][j] for k in 4) for j in 3] for i in 3] to Server as c;
}";
    place.write("p.slvr", format!("use std::sum;\n{text}"));
    place.write(
        "q.slvr",
        format!("use std::sum;\n{}", text.replace("    require failure <= 2^-60;\n", "")),
    );
    let said = |args: &str| place.slvrc(args).stderr;
    assert!(said("check p.slvr --security malicious").contains("`--security semi-honest`"));
    let ring = said("check q.slvr --security malicious --ring 128");
    assert!(ring.contains("E0040") && ring.contains("without it, words of 64 bits"), "{ring}");
}

/// No useful bound of the error of a mean is proven whose weights may all be near 0, nor of a cosine of what may be short; of the
/// weighted sum one is.
#[test]
fn a_bound_wider_than_the_range_is_said_to_say_nothing() {
    let place = Place::new();
    let explained = |value: &str| {
        let text = format!(
            "use std::{{cosine, exp, mean, sum}};\npredicate P() {{\n    parties Client[3];\n    parties Server;\n    \
             input x: secret fix in 0..1000 from each Client;\n    input y: secret fix in -4..4 from each Client;\n    \
             let a = [(x[i] <= mean(x)) * exp(-x[i]) for i in Client];\n    \
             reveal {value} to Server as y;\n}}\n"
        );
        place.write("w.slvr", text);
        let done = place.slvrc("explain w.slvr");
        assert_eq!(done.status, 0, "{}", done.stderr);
        done.stdout.contains("of its error nothing is proven for all inputs")
    };
    assert!(explained("sum(a[i] / sum(a) * y[i] for i in Client)"));
    assert!(!explained("sum(a[i] * y[i] for i in Client)"));
    assert!(explained("sum(cosine([x[i], y[i]], [y[i], x[i]]) for i in Client)"));
}

#[test]
fn a_network_of_one_s_own() {
    let place = Place::new();
    let times = |net: &str| {
        let all =
            place.slvrc(&format!("explain {ACCURACY} --json --net {net}")).ok()["times"].clone();
        assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
        all[0].clone()
    };
    place.write("like_wan.toml", "# as wan\nbandwidth_mbit = 200\nrtt_ms = 20\n");
    let (wan, own) = (times("wan"), times("like_wan.toml"));
    assert_eq!(wan["seconds"], own["seconds"]);
    assert_eq!(own["net"]["name"], "like_wan");
    assert!(wan["seconds"]["total"].as_f64() > times("lan")["seconds"]["total"].as_f64());

    place.write("bad.toml", "bandwidth_mbit = 200\nrtt = 20\n");
    let bad = place.slvrc(&format!("explain {ACCURACY} --net bad.toml"));
    assert_eq!(bad.status, 1);
    assert!(bad.stderr.contains("bad.toml") && bad.stderr.contains("line 2: unknown key `rtt`"));
    assert_eq!(place.slvrc(&format!("explain {ACCURACY} --net none.toml")).status, 1);
    assert_eq!(place.slvrc(&format!("explain {ACCURACY} --net wlan")).status, 2);
}

#[test]
fn a_page_that_needs_nothing_else() {
    let place = Place::new();
    // A name that would be markup.
    let own = "\
predicate Own[m]() {
    parties Client[m];
    parties Server;
    input x: secret fix in 0..1 from each Client;
    // <b>&\"
    let low = [x[i] < 0.5 for i in Client];
    reveal [low[i] && x[i] > 0.2 for i in Client] to Server as low;
}
";
    place.write("own.slvr", own);
    let shown = place.slvrc("explain own.slvr m=4 --html own.html");
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    assert!(shown.stdout.ends_with("written: own.html\n"), "{}", shown.stdout);
    let page = std::fs::read_to_string(place.path("own.html")).expect("the page");
    for part in [
        "<!DOCTYPE html>",
        "<svg",
        "prefers-color-scheme: dark",
        "Note: ",
        "&lt;b&gt;&amp;&quot;",
        "</html>\n",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for foreign in ["<script", "http:", "https:", "url(", "@import", "src=", "<b>&", "NaN", "inf%"]
    {
        assert!(!page.contains(foreign), "{foreign}");
    }
    // Every element that is opened is closed.
    for tag in ["div", "section", "table", "tr", "td", "svg", "g", "span", "code", "ul", "li"] {
        let opened =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }

    place.slvrc("build own.slvr m=4 -o own.slvrb --json").ok();
    let done = place.slvrc("explain own.slvrb --html artifact.html --json");
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(place.path("artifact.html").exists());
    assert_eq!(place.slvrc("explain own.slvr m=4 --html no/such/folder.html").status, 1);
}

/// The number between two texts.
fn between(text: &str, before: &str, after: &str) -> f64 {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before:?} in\n{text}")).1;
    let number = rest.split_once(after).unwrap_or_else(|| panic!("no {after:?} in\n{rest}")).0;
    number.trim().parse().unwrap_or_else(|e| panic!("{number}: {e}"))
}

/// Comparisons of roots are made of squares. What is printed is about the roots: inputs that are rounded to the same
/// number have roots that are further apart than their squares are, and no two that are further apart than is printed.
#[test]
fn printed_margins_of_roots_are_those_of_roots() {
    let place = Place::new();
    let unit = (-24f64).exp2();
    let roots = "use std::sqrt;\npredicate Roots() {\n    parties Client[2];\n    parties Server;\n    \
                 input x: secret fix in 0..8 from each Client;\n    \
                 input y: secret fix in 0..8 from each Client;\n    \
                 reveal [sqrt(x[i]) < sqrt(y[i]) for i in Client] to Server as less;\n    \
                 reveal [sqrt(x[i]) + sqrt(y[i]) for i in Client] to Server as both;\n}\n";
    let norms = "use std::{lower_median, norm, sum};\npredicate Norms(lambda: fix = 1.5) {\n    parties Client[3];\n    \
                 parties Server;\n    input x: secret fix[4] in -0.01..0.01 from each Client;\n    \
                 let size = [norm(x[i]) for i in Client];\n    \
                 reveal [size[i] < lambda * lower_median(size) for i in Client] to Server as keep;\n    \
                 reveal sum(x) to Server as total;\n}\n";
    // Two numbers that are rounded to 0; a vector of four such entries beside one of zeros, 1.5 times.
    let (number, vector) = ((0.49 * unit).sqrt(), 1.5 * (4.0 * (0.49 * unit).powi(2)).sqrt());
    for (name, text, least, most) in
        [("roots", roots, number, 2.0 * unit.sqrt()), ("norms", norms, vector, 20.0 * unit.sqrt())]
    {
        place.write(&format!("{name}.slvr"), text);
        let done = place.slvrc(&format!("explain {name}.slvr"));
        assert_eq!(done.status, 0, "{name}: {}", done.stderr);
        let printed = between(&done.stdout, "may decide otherwise where they are within", "\n");
        assert!(least <= printed && printed <= most, "{name}: {least} {printed} {most}");
        // The margin of a run on encoded inputs is of the same kind.
        let run = between(&done.stdout, "unless both sides are within", "of one");
        println!("{name}: {run} {printed}");
        let json = place.slvrc(&format!("explain {name}.slvr --json")).ok();
        let rows = json["certificate"]["decisions"].as_array().expect("decisions");
        let largest = |key: &str| rows.iter().filter_map(|r| r[key].as_f64()).fold(0.0, f64::max);
        for (text, exact) in [(printed, largest("rounding_inputs")), (run, largest("margin"))] {
            assert!(exact <= text && text <= 1.11 * exact, "{name}: {text} is printed of {exact}");
        }
    }
}
