//! Verbs: exit statuses, one JSON object with `--json`, and that they agree with one another.

use crate::folder::{ACCURACY, Place, accuracy};
use insta::assert_snapshot;
use serde_json::{Value, json};
use slvr_circuit::text;
use slvr_compiler::passes::pipeline;
use slvr_compiler::syntax::ast::FileId;
use std::fs;

/// A place with inputs for [`ACCURACY`] in `in`.
fn with_inputs() -> Place {
    let place = Place::new();
    accuracy(5).write(&place.path("in"));
    place
}

/// A program that says `wieght`, on line 6.
const MISSPELT: &str = "\
use std::{sum};

predicate Weighted[m]() {
    parties Client[m];
    input weight: secret fix in 0..1 from each Client;
    let all = sum(wieght[i] for i in Client);
    parties Server;
    reveal all to Server as all;
}
";

/// Values of one output of `eval --json`, by name.
fn values(report: &Value, name: &str) -> Vec<f64> {
    let outputs = report["outputs"].as_array().expect("outputs");
    let found = outputs.iter().find(|o| o["name"] == name).expect("the output");
    let values = found["values"].as_array().expect("values");
    values.iter().map(|v| v.as_f64().expect("a number")).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// The aggregate of a run of [`ACCURACY`] as `eval` has it: fields one after another.
fn aggregate(place: &Place, dir: &str) -> Vec<f64> {
    let file = place.tensors(&format!("{dir}/Server.safetensors"));
    let fields = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"];
    let all: Vec<f64> =
        fields.iter().flat_map(|f| file[&format!("aggregate.{f}")].clone()).collect();
    assert_eq!(file.len(), fields.len());
    assert!(all.iter().any(|x| *x != 0.0), "an aggregate of nothing");
    all
}

// ---- exit statuses -------------------------------------------------------------------------

#[test]
fn done() {
    let place = Place::new();
    for args in ["--version", "--help", "help run", "check --help", "check slvr_accuracy"] {
        let done = place.slvrc(args);
        assert_eq!(done.status, 0, "{args}: {}", done.stderr);
        assert!(!done.stdout.is_empty(), "{args}");
    }
}

#[test]
fn usage() {
    let place = with_inputs();
    place.slvrc(&format!("build {ACCURACY} -o a.slvrb --json")).ok();
    let run = format!("run {ACCURACY} --inputs in");
    let eval = format!("eval {ACCURACY} --inputs in");
    for args in [
        "",
        "compile slvr_accuracy",
        "check",
        "check slvr_accuracy m",
        "check slvr_accuracy =3",
        "check slvr_accuracy --json m",
        "check a.slvrb",
        "check slvr_accuracy --stage ast",
        "print slvr_accuracy --stage tokens",
        "print slvr_accuracy --after nonsense",
        "print slvr_accuracy --stage circuit --after build",
        "print slvr_accuracy --stage ast --dot",
        "print a.slvrb",
        "build slvr_accuracy",
        "run slvr_accuracy",
        "run a.slvrb m=4 --inputs in",
        "run a.slvrb --predicate SlvrAccuracy --inputs in",
        &format!("{run} --seed seven"),
        &format!("{run} --deadline -1"),
        &format!("{eval} --seed 1 --coins 0"),
        &format!("{eval} --coins 0,1"),
        &format!("{eval} --coins xyz"),
    ] {
        let done = place.slvrc(args);
        assert_eq!(done.status, 2, "{args}: {}{}", done.stdout, done.stderr);
        if !args.contains("--json") {
            assert_eq!(done.stdout, "", "{args}");
            assert!(!done.stderr.is_empty(), "{args}");
        }
    }
    let said = |args: &str| place.slvrc(args).stderr;
    assert_snapshot!(said("check slvr_accuracy m"), @"error: `m` is not NAME=VALUE, as in `m=10`");
    let unknown = said("print slvr_accuracy --after pears");
    assert!(unknown.starts_with("error: no pass `pears`; there are build, "), "{unknown}");
    assert!(pipeline().all(|p| unknown.contains(p.name)), "{unknown}");
    assert_snapshot!(said("run a.slvrb m=4 --inputs in"), @"error: a compiled circuit is one predicate with its sizes bound: drop NAME=VALUE, --predicate, --ring, --trust-inputs, --memory, --no-speculation, --fine, --clients and --protocols");
    assert_snapshot!(said("check a.slvrb"), @"error: a.slvrb is a compiled circuit; this verb takes a program, a .slvr file");
    assert_snapshot!(said(&format!("{eval} --coins 0,1")).lines().last().unwrap(), @"error: --coins: this circuit draws 1, 2 given");
}

/// A run in which messages come too late is aborted; nothing is revealed or written.
#[test]
fn aborted() {
    let place = with_inputs();
    // A message takes longer than a party waits.
    place.write("far.toml", "bandwidth_mbit = 100\nrtt_ms = 4000\n");
    let done = place.slvrc(&format!(
        "run {ACCURACY} --inputs in --outputs out --net far.toml --shape --deadline 1 --json"
    ));
    assert_eq!(done.status, 3, "{}", done.stderr);
    let error = done.json();
    assert_eq!(error["ok"], false);
    assert!(error["error"].as_str().is_some_and(|e| e.contains("party")), "{error}");
    assert!(!place.path("out").exists());
}

// ---- programs ------------------------------------------------------------------------------

/// A size that the program names is found, however many smaller numbers it names.
#[test]
fn check_tries_every_number_that_the_program_names() {
    let place = Place::new();
    let entries: Vec<String> = (10..31).map(|i| format!("a[{i}]")).collect();
    let text = format!(
        "use std::top_k;
predicate P[m]() {{
    parties Client[m];
    parties Server;
    input a: public int[40] in 0..9;
    input k: secret int in 0..9 from each Client;
    reveal top_k[33](k) to Server as first;
    reveal {} to Server as second;
}}
",
        entries.join(" + ")
    );
    place.write("p.slvr", text);
    let found = place.slvrc("check p.slvr --json").ok();
    assert_eq!(found["sizes"]["m"], "33", "{found}");
}

#[test]
fn check_chooses_sizes() {
    let place = Place::new();
    let all = place.slvrc("check slvr_accuracy --json").ok();
    assert_eq!(all["predicate"], "SlvrAccuracy");
    assert_eq!(all["sizes_chosen"], true);
    for size in ["M", "m", "c", "b", "lambda"] {
        assert!(all["sizes"][size].is_string(), "{size}: {all}");
    }
    let some = place.slvrc("check slvr_accuracy m=12 c=2 --json").ok();
    assert_eq!((&some["sizes"]["m"], &some["sizes"]["c"]), (&json!("12"), &json!("2")));
    let every = place.slvrc(&format!("check {ACCURACY} --json")).ok();
    assert_eq!(every["sizes_chosen"], false);
}

/// What runs must say how large it is.
#[test]
fn sizes_are_not_chosen_for_a_run() {
    let place = with_inputs();
    for verb in ["run slvr_accuracy m=4 --inputs in", "build slvr_accuracy m=4 -o a.slvrb"] {
        let done = place.slvrc(&format!("{verb} --json"));
        assert_eq!(done.status, 1, "{verb}");
        assert_eq!(done.json()["diagnostics"][0]["code"], "E0008", "{verb}");
    }
}

#[test]
fn a_program_that_is_wrong() {
    let place = with_inputs();
    place.write("bad.slvr", MISSPELT);
    for verb in [
        "check bad.slvr m=2",
        "print bad.slvr m=2",
        "print bad.slvr m=2 --stage circuit",
        "build bad.slvr m=2 -o bad.slvrb",
        "eval bad.slvr m=2 --inputs in",
        "run bad.slvr m=2 --inputs in",
    ] {
        let done = place.slvrc(&format!("{verb} --json"));
        assert_eq!(done.status, 1, "{verb}");
        let all = done.json();
        assert_eq!(all["ok"], false, "{verb}");
        let first = &all["diagnostics"][0];
        let at = ["code", "severity", "file", "line", "column"].map(|key| first[key].clone());
        assert_eq!(json!(at), json!(["E0004", "error", "bad.slvr", 6, 19]), "{verb}: {first}");

        let done = place.slvrc(verb);
        assert_eq!((done.status, done.stdout.as_str()), (1, ""), "{verb}");
        assert!(done.stderr.contains("bad.slvr:6:19"), "{verb}: {}", done.stderr);
    }
    assert!(!place.path("bad.slvrb").exists());
}

#[test]
fn a_program_that_is_not_there() {
    let place = Place::new();
    let done = place.slvrc("check slvr_acuracy");
    assert_eq!((done.status, done.stdout.as_str()), (1, ""));
    assert_snapshot!(done.stderr, @"error: slvr_acuracy: no such file, and no predicate of that name comes with slvrc; did you mean `slvr_accuracy`?");
    place.write("binary.slvr", [0xff, 0xfe, 0]);
    let done = place.slvrc("check binary.slvr");
    assert_eq!((done.status, done.stdout.as_str()), (1, ""));
    assert_snapshot!(done.stderr, @"error: binary.slvr: cannot be read: it is UTF-16 text: save it as UTF-8");
}

// ---- print ---------------------------------------------------------------------------------

#[test]
fn print_reads_back() {
    let place = Place::new();
    let printed = |options: &str| {
        let done = place.slvrc(&format!("print {ACCURACY} {options}"));
        assert_eq!(done.status, 0, "{options}: {}", done.stderr);
        done.stdout
    };
    let ast = printed("--stage ast");
    let (file, diagnostics) = slvr_compiler::syntax::parse(FileId(0), &ast);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(slvr_compiler::syntax::print(&file), ast);

    let json = place.slvrc(&format!("print {ACCURACY} --stage ast --json")).ok();
    assert_eq!(json["text"], ast.as_str());

    let circuit = printed("--stage circuit");
    let read = text::parse(&circuit).expect("circuit text");
    assert_eq!(text::print(&read), circuit);

    let passes = pipeline().map(|p| format!("--after {}", p.name));
    let mut graphs = Vec::new();
    for options in passes.chain(["--after build".into(), "--stage graph".into()]) {
        let graph = printed(&options);
        let read =
            slvr_compiler::graph::text::parse(&graph).unwrap_or_else(|e| panic!("{options}: {e}"));
        assert_eq!(slvr_compiler::graph::text::print(&read), graph, "{options}");
        graphs.push(graph);
    }
    let n = graphs.len();
    assert_eq!(graphs[n - 3], graphs[n - 1], "the graph is the one after the last pass");
    assert_ne!(graphs[n - 2], graphs[n - 1]);
    let dot = printed("--dot");
    assert!(dot.starts_with("digraph {") && dot.trim_end().ends_with('}'));
}

// ---- build ---------------------------------------------------------------------------------

#[test]
fn same_source_same_bytes() {
    let place = Place::new();
    let reports =
        ["a", "b"].map(|f| place.slvrc(&format!("build {ACCURACY} -o {f}.slvrb --json")).ok());
    let bytes = place.read("a.slvrb");
    assert_eq!(bytes, place.read("b.slvrb"));
    assert_eq!(reports[0]["circuit_hash"], reports[1]["circuit_hash"]);
    assert_eq!(reports[0]["bytes"], bytes.len());
    let done = place.slvrc(&format!("build {ACCURACY} -o c.slvrb"));
    assert_eq!(done.status, 0);
    assert!(done.stdout.contains(reports[0]["circuit_hash"].as_str().unwrap()), "{}", done.stdout);
}

#[test]
fn a_compiled_circuit_runs_as_its_source() {
    let place = with_inputs();
    place.slvrc(&format!("build {ACCURACY} -o a.slvrb --json")).ok();
    let source =
        place.slvrc(&format!("run {ACCURACY} --inputs in --outputs s --seed 3 --json")).ok();
    let compiled = place.slvrc("run a.slvrb --inputs in --outputs c --seed 3 --json").ok();
    assert_eq!(place.read("s/Server.safetensors"), place.read("c/Server.safetensors"));
    for key in ["predicate", "sizes", "circuit_hash", "rounds", "bytes_sent", "coins", "outputs"] {
        assert_eq!(source[key], compiled[key], "{key}");
    }
    let exact = place.slvrc("eval a.slvrb --inputs in --seed 3 --json").ok();
    assert_eq!(exact["arithmetic"], "ring arithmetic");
    assert!(distance(&values(&exact, "aggregate"), &aggregate(&place, "c")) < 1e-3);
}

#[test]
fn a_damaged_circuit() {
    let place = with_inputs();
    place.slvrc(&format!("build {ACCURACY} -o a.slvrb --json")).ok();
    let good = place.read("a.slvrb");
    let said = |bytes: &[u8]| {
        place.write("a.slvrb", bytes);
        let json = place.slvrc("run a.slvrb --inputs in --outputs out --json");
        assert_eq!(json.status, 1);
        assert_eq!(json.json()["ok"], false);
        let done = place.slvrc("run a.slvrb --inputs in --outputs out");
        assert_eq!((done.status, done.stdout.as_str()), (1, ""));
        assert!(!place.path("out").exists());
        done.stderr.replace(&good.len().to_string(), "ALL")
    };
    assert_snapshot!(said(b"predicate P() {}"), @"error: a.slvrb: not a .slvrb file; make it again with `slvrc build`");
    assert_snapshot!(said(b""), @"error: a.slvrb: not a .slvrb file; make it again with `slvrc build`");
    assert_snapshot!(said(&good[..1000]), @"error: a.slvrb: the file should have ALL bytes and has 1000; make it again with `slvrc build`");
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert_snapshot!(said(&flipped), @"error: a.slvrb: the hash does not match the content; make it again with `slvrc build`");
    let mut newer = good.clone();
    newer[8] += 3;
    assert_snapshot!(said(&newer), @"error: a.slvrb: version 9 of the format; this program reads versions 6 and 7; make it again with `slvrc build`");
    let as_text = String::from_utf8_lossy(&good).replace("\r\n", "\n");
    assert_snapshot!(said(as_text.as_bytes()), @"error: a.slvrb: not a .slvrb file; make it again with `slvrc build`");
}

// ---- run and eval --------------------------------------------------------------------------

/// Everything that the contract of `run --json` has.
#[test]
fn report_of_a_run() {
    let place = with_inputs();
    let report = place.slvrc(&format!("run {ACCURACY} --inputs in --json")).ok();
    for key in [
        "predicate",
        "sizes",
        "circuit_hash",
        "security",
        "net",
        "rounds",
        "predicted_rounds",
        "bytes_sent",
        "predicted_bytes_sent",
        "seconds",
        "peak_memory_bytes",
        "certificate",
        "leaks",
        "outputs",
    ] {
        assert!(report.get(key).is_some_and(|v| !v.is_null()), "{key}: {report}");
    }
    assert_eq!(report["predicate"], "SlvrAccuracy");
    assert_eq!(report["sizes"]["m"], "4");
    assert_eq!(report["circuit_hash"].as_str().unwrap().len(), 64);
    assert_eq!(report["rounds"], report["predicted_rounds"]);
    assert_eq!(report["bytes_sent"], report["predicted_bytes_sent"]);
    let three = |key: &str| {
        let all: Vec<u64> =
            report[key].as_array().unwrap().iter().map(|b| b.as_u64().unwrap()).collect();
        assert_eq!(all.len(), 3, "{key}");
        assert!(all.iter().all(|&b| b > 0), "{key}: {all:?}");
    };
    three("bytes_sent");
    three("peak_memory_bytes");
    assert!(report["seconds"].as_f64().unwrap() > 0.0);
    let certificate = report["certificate"].as_object().unwrap();
    assert!(certificate.contains_key("failure_log2") && certificate.contains_key("error"));
    assert_eq!(report["outputs"], json!([{ "name": "aggregate", "shape": [27] }]));
    assert_eq!(report["leaks"].as_array().unwrap().len(), 1);

    let build = place.slvrc(&format!("build {ACCURACY} -o a.slvrb --json")).ok();
    for key in ["circuit_hash", "rounds", "predicted_bytes_sent"] {
        assert_eq!(build[key], report[key], "{key}");
    }
}

/// With the coins that a run drew, floating point and ring arithmetic select the same clients.
#[test]
fn eval_with_the_coins_of_a_run() {
    let place = with_inputs();
    let report = place.slvrc(&format!("run {ACCURACY} --inputs in --outputs out --json")).ok();
    let coins: Vec<&str> =
        report["coins"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    assert!(!coins.is_empty());
    let run = aggregate(&place, "out");
    for (exact, arithmetic) in [("", "floating point"), ("--exact", "ring arithmetic")] {
        let coins = coins.join(",");
        let eval = place
            .slvrc(&format!(
                "eval {ACCURACY} --inputs in --outputs clear --coins {coins} {exact} --json"
            ))
            .ok();
        assert_eq!(eval["arithmetic"], arithmetic);
        assert_eq!(eval["coins"], report["coins"]);
        let clear = aggregate(&place, "clear");
        assert!(distance(&clear, &values(&eval, "aggregate")) < 1e-12);
        let d = distance(&run, &clear);
        assert!(d < 1e-3, "{arithmetic}: {d}");
    }
}

#[test]
fn a_seed_repeats_a_run() {
    let place = with_inputs();
    let run = |dir: &str, seed: u64| {
        let args = format!("run {ACCURACY} --inputs in --outputs {dir} --seed {seed} --json");
        let done = place.slvrc(&args);
        assert!(done.stderr.contains("predictable"), "{}", done.stderr);
        (done.ok()["coins"].clone(), place.read(&format!("{dir}/Server.safetensors")))
    };
    let (a, b) = (run("a", 7), run("b", 7));
    assert_eq!(a, b);
    assert_ne!(a.0, run("c", 8).0);
    let run = aggregate(&place, "a");
    for exact in ["", "--exact"] {
        let eval =
            place.slvrc(&format!("eval {ACCURACY} --inputs in --seed 7 {exact} --json")).ok();
        assert_eq!(eval["coins"], a.0);
        assert!(distance(&run, &values(&eval, "aggregate")) < 1e-3, "{exact}");
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let place = with_inputs();
    place.write("taken", "a file");
    let said = |args: &str| {
        let done = place.slvrc(args);
        assert_eq!((done.status, done.stdout.as_str()), (1, ""), "{args}");
        assert_eq!(place.slvrc(&format!("{args} --json")).json()["ok"], false);
        done.stderr.lines().last().unwrap_or_default().to_string()
    };
    assert_snapshot!(said(&format!("run {ACCURACY} --inputs in --outputs taken")), @"error: taken: outputs cannot be written there: taken is not a directory");
    assert_snapshot!(said(&format!("run {ACCURACY} --inputs in --outputs taken/out")), @"error: taken/out: outputs cannot be written there: taken is not a directory");
    assert_snapshot!(said(&format!("eval {ACCURACY} --inputs in --outputs taken/out")), @"error: taken/out: outputs cannot be written there: taken is not a directory");
    assert_snapshot!(said(&format!("build {ACCURACY} -o nowhere/a.slvrb")), @"error: nowhere/a.slvrb: cannot be written: there is no such folder");
    assert_eq!(fs::read(place.path("taken")).unwrap(), b"a file");
    // What is read is not written over.
    let text =
        "predicate P() { parties Server; input x: public fix in 0..1; reveal x to Server as y; }";
    place.write("own.slvr", text);
    assert_snapshot!(said("build own.slvr -o own.slvr"), @"error: own.slvr: this is what is read: it would be written over");
    assert_snapshot!(said("explain own.slvr --html ./own.slvr"), @"error: ./own.slvr: this is what is read: it would be written over");
    assert_eq!(fs::read(place.path("own.slvr")).unwrap(), text.as_bytes());
}

#[test]
fn demo_as_json_and_its_inputs() {
    let place = Place::new();
    let report = place.slvrc("demo --rounds 1 --clients 4 --write-inputs last --json").ok();
    let attacks = report["attacks"].as_array().expect("attacks");
    assert_eq!(attacks.len(), 2);
    for run in attacks.iter().flat_map(|a| a["runs"].as_array().expect("runs")) {
        assert_eq!(run["rounds"], run["predicted_rounds"]);
        assert_eq!(run["bytes_sent"], run["predicted_bytes_sent"]);
        assert_eq!(run["circuit_hash"], report["circuit_hash"]);
    }
    let again =
        place.slvrc("eval slvr_accuracy M=DigitsNet m=4 c=1 b=10 --inputs last --json").ok();
    assert_eq!(again["outputs"][0]["shape"], json!([3658]));
}

#[test]
fn the_demo_replaces_inputs_that_it_wrote_and_nothing_else() {
    let place = Place::new();
    let args = "demo secure_aggregation --rounds 1 --clients 4 --write-inputs last";
    fs::create_dir_all(place.path("last/Client")).expect("a folder");
    place.write("last/Client/7.safetensors", "of a demo of more clients");
    place.slvrc(&format!("{args} --json")).ok();
    let names = || {
        let all = fs::read_dir(place.path("last/Client")).expect("a folder").flatten();
        let mut names: Vec<String> =
            all.map(|f| f.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let four: Vec<String> = (0..4).map(|i| format!("{i}.safetensors")).collect();
    assert_eq!(names(), four);
    for own in ["notes.txt", "03.safetensors", "model.safetensors", "old/0.safetensors"] {
        let path = format!("last/Client/{own}");
        let folder = place.path(&path).parent().map(fs::create_dir_all);
        folder.expect("it is in one").expect("a folder");
        place.write(&path, "mine");
        let done = place.slvrc(args);
        assert_eq!((done.status, done.stdout.as_str()), (2, ""), "{own}");
        assert!(done.stderr.contains("the demo did not write it"), "{}", done.stderr);
        assert_eq!(fs::read(place.path(&path)).expect("still there"), b"mine");
        assert_eq!(names().len(), 5, "{own}");
        let first = place.path("last/Client").join(own.split('/').next().unwrap_or(own));
        let removed =
            if first.is_dir() { fs::remove_dir_all(first) } else { fs::remove_file(first) };
        removed.expect("removes");
    }
    place.slvrc(&format!("{args} --json")).ok();
    assert_eq!(names(), four);
}

/// Both say so, and each run is as predicted, memory included.
#[test]
fn demo_against_a_malicious_party() {
    let place = Place::new();
    let args = "demo secure_aggregation --rounds 1 --clients 4 --json";
    let plain = place.slvrc(args).ok();
    let report = place.slvrc(&format!("{args} --security malicious")).ok();
    assert_eq!(
        (&plain["security"], &report["security"]),
        (&json!("semi-honest"), &json!("malicious"))
    );
    assert!(report["rounds"].as_u64() > plain["rounds"].as_u64(), "{report}");
    let attacks = report["attacks"].as_array().expect("attacks");
    for run in attacks.iter().flat_map(|a| a["runs"].as_array().expect("runs")) {
        assert_eq!(run["security"], "malicious");
        assert_eq!(run["rounds"], run["predicted_rounds"]);
        assert_eq!(run["bytes_sent"], run["predicted_bytes_sent"]);
    }
}

/// Where messages take longer there are fewer rounds of more bytes; `lan` is meant where none is named.
#[test]
fn protocols_for_a_network() {
    let place = Place::new();
    place.write("as_lan.toml", "bandwidth_mbit = 1000\nrtt_ms = 1\n");
    let build = |net: &str| {
        let args = "slvr_accuracy M=DigitsNet m=10 c=1 b=10 -o x.slvrb --json";
        let report = place.slvrc(&format!("build {args} {net}")).ok();
        let bytes = report["predicted_bytes_sent"].as_array().expect("bytes").iter();
        let bytes: u64 = bytes.map(|b| b.as_u64().expect("a number")).sum();
        (report["circuit_hash"].clone(), report["rounds"].as_u64().expect("rounds"), bytes)
    };
    let all = ["loopback", "lan", "wan"].map(|net| build(&format!("--net {net}")));
    assert!(all.is_sorted_by(|a, b| a.1 >= b.1 && a.2 < b.2), "{all:?}");
    assert!(all[0].1 > all[2].1, "{all:?}");
    assert_eq!(build(""), all[1]);
    assert_eq!(build("--net as_lan.toml"), all[1]);
    assert_eq!(place.slvrc("build slvr_accuracy M=DigitsNet --net moon -o y.slvrb").status, 2);
    // Of an artifact the protocols are chosen already; its time can be asked for on any network.
    let times = place.slvrc("explain x.slvrb --net wan --json").ok();
    assert_eq!(times["rounds"], all[1].1);
    assert_eq!(times["protocols_for"], Value::Null);
    assert_eq!(times["times"][0]["net"]["name"], "wan");
    let source = place.slvrc("explain slvr_accuracy M=DigitsNet m=10 c=1 b=10 --net wan --json");
    assert_eq!(source.ok()["protocols_for"], "wan");
}

/// The committees, too: of four others each has three.
#[test]
fn demo_prints_the_same_again() {
    let place = Place::new();
    let drawn = |args: &str| {
        let report = place.slvrc(&format!("demo --rounds 1 --clients 5 --json {args}")).ok();
        let attacks = report["attacks"].as_array().expect("attacks").clone();
        let of = |a: &Value| (a["accuracy"].clone(), a["runs"][0]["coins"].clone());
        attacks.iter().map(of).collect::<Vec<_>>()
    };
    let first = drawn("");
    assert!(first.iter().all(|(_, coins)| coins.as_array().is_some_and(|c| !c.is_empty())));
    assert_eq!(first, drawn(""));
    assert_ne!(first, drawn("--seed 1"));
}

/// Sizes beyond what fits memory are a diagnostic, not a crash.
#[test]
fn sizes_beyond_memory() {
    let place = Place::new();
    let done = place.slvrc("build slvr_accuracy M=DigitsNet m=1000000 c=1 b=10 -o x.slvrb --json");
    assert_eq!(done.status, 1, "{}", done.stderr);
    assert_eq!(done.json()["diagnostics"][0]["code"], "E0026");
}
