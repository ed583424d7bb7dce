//! What strangers and slips give: devices and pipes in place of files, texts that speak to the terminal, command
//! lines that are wrong. Reads are bounded, outputs are whole or not there, and `--json` prints one object.

use crate::folder::{Folder, Place, f32s};
use crate::ports;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn slvrc(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slvrc"));
    command.args(args).output().expect("slvrc runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn path(dir: &Path, name: &str) -> String {
    dir.join(name).display().to_string()
}

const TOTAL: &str = "use std::{sum};\npredicate Total[m]() { parties Client[m]; parties Server; \
                     input x: secret fix in 0..1 from each Client; reveal sum(x) to Server as y; }\n";

/// Standard output is one object with `ok`, and nothing else.
fn object(args: &[&str]) -> (Value, Option<i32>) {
    let done = slvrc(args);
    let text = String::from_utf8(done.stdout.clone()).expect("text");
    assert_eq!(text.trim_end().lines().count(), 1, "{args:?}: {text}{}", stderr(&done));
    let value: Value =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args:?}: {e}: {text}"));
    assert!(value.get("ok").is_some_and(Value::is_boolean), "{args:?}: {value}");
    (value, done.status.code())
}

/// The verbs, as the help lists them.
fn verbs() -> Vec<String> {
    let help = slvrc(&["--help"]).stdout;
    let help = String::from_utf8(help).expect("text");
    let (_, list) = help.split_once("Commands:\n").expect("a list of verbs");
    let lines = list.lines().take_while(|line| !line.is_empty());
    // What goes on in a second line is further right.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_string).collect()
}

/// For every verb, where it works and where it does not. Verbs that want a deployment are in `deployment`, too.
#[test]
fn json_is_one_object_with_ok_whatever_happens() {
    let place = Place::new();
    place.write("good.slvr", TOTAL);
    place.write("bad.slvr", "predicate P(");
    let mut folder = Folder::default();
    for i in 0..3 {
        folder.put(&format!("Client/{i}"), "x", f32s(&[], &[0.5]));
    }
    folder.write(&place.path("in"));
    let keys = format!("keys try --clients 2 --port {}", ports::row());
    let lab = "lab secure_aggregation --attacks none --clients 4 --rounds 1 --epochs 1 --seeds 1 --out lab";
    let right = [
        "check good.slvr m=3",
        "print good.slvr m=3 --stage graph",
        "build good.slvr m=3 -o good.slvrb",
        "eval good.slvr m=3 --inputs in",
        "certify good.slvr m=3 --inputs in",
        "run good.slvr m=3 --inputs in",
        "explain good.slvr m=3",
        "explain E0035",
        "doc grammar",
        "completions bash",
        "fmt good.slvr",
        "demo --rounds 1 --clients 4",
        "bench --models DigitsNet --m 5 --repeats 1 --rows norm",
        lab,
        "lab --from lab --page page.md",
        &keys,
        "keys try --workers 1",
        "node --config try/node-0/node.toml --check",
        "worker --config try/node-0/worker-0/worker.toml --check",
    ];
    // These run until they are stopped.
    let refused = [
        "node --config try/node-0/node.toml",
        "worker --config try/node-0/worker-0/worker.toml",
        "cluster try",
        "lsp",
    ];
    let wrong = [
        ("", 2),
        ("nonsense", 2),
        ("check", 2),
        ("check good.slvr --nonsense", 2),
        ("check good.slvr m", 2),
        ("check good.slvr --ring 7", 2),
        ("check bad.slvr", 1),
        ("check no/such/file.slvr", 1),
        ("explain E0034", 1),
        ("run good.slvr m=3 --inputs no/such/folder", 1),
        ("run good.slvr m=3", 2),
        ("eval good.slvr m=3 --inputs no/such/folder", 1),
        ("certify good.slvr m=3 --inputs no/such/folder", 1),
        ("print good.slvr m=3 --stage graph --after nothing", 2),
        ("build good.slvr m=3 -o no/such/folder/x.slvrb", 1),
        ("fmt --check bad.slvr", 1),
        ("doc no/such/file.slvr", 1),
        ("completions nonsense", 2),
        ("demo nothing", 1),
        ("bench --rows nothing", 2),
        ("lab --rounds 0", 2),
        ("lab --from nothing --page other.md", 1),
        ("keys try", 1),
        ("keys try --rotate 3", 2),
        ("node --config nothing --check", 1),
        ("worker --config nothing --check", 1),
        ("submit --config nothing krum 1 --inputs in/Client/0.safetensors", 1),
        ("fetch --config nothing krum 1 --output x.safetensors", 1),
        ("round --config nothing watch krum 1", 1),
    ];
    let wrong = wrong.into_iter().chain(refused.map(|args| (args, 2)));
    let right = right.map(|args| (args, 0)).into_iter();
    let all: Vec<(&str, i32)> = right.chain(wrong).collect();
    for (args, status) in &all {
        // Before the verb and behind it. What has worked would find its own files the second time.
        for line in
            [format!("--json {args}"), format!("{args} --json")].iter().skip((*status == 0).into())
        {
            let done = place.slvrc(line);
            let value = done.json();
            assert_eq!(
                (&value["ok"], done.status),
                (&(*status == 0).into(), *status),
                "{line}: {value}"
            );
        }
    }
    for verb in verbs() {
        let of = |good: bool| {
            let rows = all.iter().filter(|(_, status)| (*status == 0) == good);
            rows.filter(|(args, _)| args.split(' ').next() == Some(&verb)).count()
        };
        let nodes = ["submit", "fetch", "round", "cluster", "lsp"].contains(&verb.as_str());
        assert!(of(false) > 0 && (of(true) > 0 || nodes), "{verb} has no row");
    }
}

/// What is formatted on standard input is in the object, and not before it.
#[test]
fn a_formatted_text_is_in_the_object() {
    let place = Place::new();
    place.write("good.slvr", TOTAL.replace("    ", " "));
    let input = fs::File::open(place.path("good.slvr")).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_slvrc"));
    let done = command.args(["fmt", "-", "--json"]).stdin(input).output().expect("slvrc runs");
    let value: Value = serde_json::from_slice(&done.stdout).expect("one object");
    place.slvrc("fmt good.slvr").ok_text();
    assert_eq!(value["formatted"], String::from_utf8(place.read("good.slvr")).expect("text"));
}

/// Before the verb has printed its object and after it.
#[test]
fn json_is_one_object_when_slvrc_panics_too() {
    // Builds for release take no part in tests of themselves.
    if !cfg!(debug_assertions) {
        return;
    }
    for (place, ok) in [("before", false), ("after", true)] {
        for verb in [&["explain", "E0035"][..], &["doc", "grammar"], &["completions", "bash"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_slvrc"));
            let done = command.args(verb).arg("--json").env("SLVR_PANIC", place).output();
            let done = done.expect("slvrc runs");
            assert_eq!(done.status.code(), Some(101), "{}", stderr(&done));
            assert!(stderr(&done).contains("a test asked for it"), "{}", stderr(&done));
            let text = String::from_utf8(done.stdout).expect("text");
            assert_eq!(text.lines().count(), 1, "{text}");
            let value: Value = serde_json::from_str(&text).expect("an object");
            assert_eq!(value["ok"], ok, "{value}");
            if !ok {
                assert_eq!(value["error"], "a bug of slvrc: a test asked for it");
            }
        }
    }
}

#[test]
fn help_is_help_with_json_too() {
    let done = slvrc(&["--json", "--help"]);
    assert_eq!(done.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&done.stdout).contains("Usage"));
}

/// A device has no end, and a pipe may never have a beginning.
#[cfg(unix)]
#[test]
fn devices_and_pipes_are_not_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let (good, pipe) = (path(dir.path(), "good.slvr"), path(dir.path(), "pipe.slvr"));
    fs::write(&good, TOTAL).expect("writes");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let inputs = dir.path().join("inputs/Client");
    fs::create_dir_all(&inputs).expect("makes");
    for member in 0..3 {
        let to = inputs.join(format!("{member}.safetensors"));
        std::os::unix::fs::symlink("/dev/zero", to).expect("links");
    }
    let inputs = path(dir.path(), "inputs");
    let artifact = path(dir.path(), "x.slvrb");
    std::os::unix::fs::symlink("/dev/zero", &artifact).expect("links");
    let all: &[&[&str]] = &[
        &["check", "/dev/zero"],
        &["check", &pipe],
        &["fmt", &pipe],
        &["doc", &pipe],
        &["explain", &artifact],
        &["check", &good, "m=3", "--net", "/dev/zero"],
        &["eval", &good, "m=3", "--inputs", &inputs],
        &["run", &good, "m=3", "--inputs", &inputs],
    ];
    for args in all {
        let done = slvrc(args);
        assert_eq!(done.status.code(), Some(1), "{args:?}: {}", stderr(&done));
        assert!(stderr(&done).contains("a pipe or a device"), "{args:?}: {}", stderr(&done));
    }
}

#[test]
fn files_that_are_too_long_are_not_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let (good, long) = (path(dir.path(), "good.slvr"), path(dir.path(), "long.slvr"));
    fs::write(&good, TOTAL).expect("writes");
    // A hole: it takes no room on the disk.
    fs::File::create(&long).and_then(|f| f.set_len(1 << 40)).expect("makes");
    let inputs = dir.path().join("inputs/Client");
    fs::create_dir_all(&inputs).expect("makes");
    for member in 0..3 {
        let file = fs::File::create(inputs.join(format!("{member}.safetensors"))).expect("makes");
        file.set_len(1 << 40).expect("makes");
    }
    let inputs = path(dir.path(), "inputs");
    for args in [&["check", &long][..], &["run", &good, "m=3", "--inputs", &inputs]] {
        let done = slvrc(args);
        assert_eq!(done.status.code(), Some(1), "{args:?}");
        assert!(stderr(&done).contains("at most"), "{args:?}: {}", stderr(&done));
    }
}

#[test]
fn outputs_that_cannot_be_written_are_noticed_before_and_nothing_is_left() {
    let dir = tempfile::tempdir().expect("a folder");
    let good = path(dir.path(), "good.slvr");
    fs::write(&good, TOTAL).expect("writes");
    let (taken, page) = (path(dir.path(), "taken.slvrb"), path(dir.path(), "page"));
    fs::create_dir(&taken).expect("makes");
    fs::create_dir(&page).expect("makes");
    for args in [
        &["build", &good, "m=3", "-o", &taken][..],
        &["explain", &good, "m=3", "--html", &page],
        &["build", &good, "m=3", "-o", &path(dir.path(), "none/x.slvrb")],
    ] {
        let done = slvrc(args);
        assert_eq!(done.status.code(), Some(1), "{args:?}");
        assert!(stderr(&done).contains("cannot be written"), "{args:?}: {}", stderr(&done));
    }
    // A folder of the name of an output: said before the inputs are read, so before any run.
    let outputs = path(dir.path(), "outputs");
    fs::create_dir_all(dir.path().join("outputs/Server.safetensors")).expect("makes");
    let inputs = dir.path().join("inputs/Client");
    fs::create_dir_all(&inputs).expect("makes");
    let done = slvrc(&[
        "run",
        &good,
        "m=3",
        "--inputs",
        &path(dir.path(), "inputs"),
        "--outputs",
        &outputs,
    ]);
    assert_eq!(done.status.code(), Some(1));
    assert!(stderr(&done).contains("it is a directory"), "{}", stderr(&done));
    let mut left: Vec<_> = fs::read_dir(dir.path()).expect("a folder").flatten().collect();
    left.retain(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"));
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn control_characters_of_a_source_do_not_reach_the_terminal() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = path(dir.path(), "evil\u{1b}[31m.slvr");
    let text = "predicate P[m]() { require m > 5, \"\u{1b}[2J\u{9b}31m\u{202e}\"; \u{7}\u{8} parties \
                Server; let \u{1b}]0;title\u{7} = 1;\r let b = c; }\n";
    for text in [text, &text.replace(['\u{7}', '\u{8}', '\u{1b}'], "")] {
        fs::write(&file, text).expect("writes");
        for args in [&["check", &file, "m=3"][..], &["check", &file, "m=\u{1b}[31m"]] {
            let done = slvrc(args);
            assert_eq!(done.status.code(), Some(1), "{args:?}");
            let said = stderr(&done);
            let raw = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{202e}';
            assert!(!said.contains(raw), "{args:?}: {said:?}");
        }
    }
}

/// What a long line holds is not printed as often as it has mistakes.
#[test]
fn messages_are_short_however_long_the_lines() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = path(dir.path(), "long.slvr");
    let names: Vec<String> = (0..4000).map(|i| format!("u{i}")).collect();
    let text = TOTAL.replace("reveal", &format!("let a = [{}]; reveal", names.join(", ")));
    fs::write(&file, text).expect("writes");
    let done = slvrc(&["check", &file, "m=3"]);
    assert_eq!(done.status.code(), Some(1));
    let said = stderr(&done);
    assert!(said.len() < 64 << 10, "{} bytes", said.len());
    assert!(said.contains("3980 more errors follow"), "{said}");
}

/// Sizes that no machine has room for are checked in the same time as others, or refused with their code.
#[test]
fn sizes_beyond_all_memory_end_in_a_message() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = path(dir.path(), "big.slvr");
    let text = |reveal: &str| {
        format!(
            "use std::{{sum}};\npredicate A[m, d]() {{ parties Client[m]; parties Server; \
             input x: secret fix[d] in -8..8 from each Client; reveal {reveal} to Server as a; }}\n"
        )
    };
    let whole = "sum(x[i] for i in Client)";
    let each = "sum(sum([x[i][e] < 0.5 for e in d]) for i in Client)";
    for (reveal, m, d) in [
        (whole, "3", "1000000000"),
        (whole, "3", "3000000000"),
        (whole, "100000", "100000"),
        (whole, "2", "4294967297"),
        (each, "3", "1000000000"),
    ] {
        fs::write(&file, text(reveal)).expect("written");
        for how in [&[][..], &["--protocols", "t1"], &["--security", "malicious"]] {
            let sizes = [format!("m={m}"), format!("d={d}")];
            let mut args = vec!["check", &file, &sizes[0], &sizes[1], "--json"];
            args.extend(how);
            let (value, code) = object(&args);
            let fits = d == "1000000000";
            assert_eq!(code, Some(i32::from(!fits)), "{args:?}: {value}");
            let why = value["diagnostics"][0]["code"].as_str();
            assert_eq!(why, (!fits).then_some("E0026"), "{args:?}: {value}");
        }
    }
}

/// Under a limit of addresses the allocation that fails ends with one object, whichever it is.
#[cfg(target_os = "linux")]
#[test]
fn json_is_one_object_without_memory() {
    let dir = tempfile::tempdir().expect("a folder");
    let chain: String = (1..5_000).map(|i| format!("let a{i} = a{} + 1;\n", i - 1)).collect();
    let text = TOTAL.replace("reveal sum(x)", &format!("let a0 = sum(x);\n{chain} reveal a4999"));
    let long = path(dir.path(), "long.slvr");
    fs::write(&long, text).expect("writes");
    let (mut short, mut done) = (0, 0);
    // Each limit stops another allocation.
    for kilobytes in [50_000, 70_000, 90_000, 110_000, 20_000_000] {
        let line = format!("ulimit -v {kilobytes}; exec \"$0\" --json check \"$1\" m=3");
        let mut run = Command::new("sh");
        run.args(["-c", &line, env!("CARGO_BIN_EXE_slvrc"), &long]);
        let run = run.output().expect("a shell");
        let text = String::from_utf8(run.stdout.clone()).expect("text");
        // With hardly any memory the process does not begin.
        if text.is_empty() && kilobytes < 90_000 {
            continue;
        }
        let value: Value = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{kilobytes}: {e}: {text}{}", stderr(&run)));
        assert_eq!(text.lines().count(), 1, "{text}");
        match value["ok"].as_bool().expect("ok") {
            true => done += 1,
            false => {
                assert_eq!(run.status.code(), Some(1), "{value}");
                assert!(value["error"].as_str().is_some_and(|e| e.contains("memory")), "{value}");
                short += 1;
            }
        }
    }
    assert!(short > 0 && done > 0, "{short} without memory, {done} done");
}

/// Threads need memory of their own: where there is none for them, a run says so.
#[cfg(target_os = "linux")]
#[test]
fn without_threads_a_run_says_so_and_does_not_panic() {
    use std::os::unix::process::ExitStatusExt;
    let (mut short, mut done) = (0, 0);
    for kilobytes in [60_000, 80_000, 100_000, 150_000, 20_000_000] {
        let line = format!(
            "ulimit -v {kilobytes}; exec \"$0\" --json lab norm_bound --attacks none --clients 4 --rounds 1 --epochs 1 --seeds 1 \
             --out $1"
        );
        let out = tempfile::tempdir().expect("a folder");
        let mut run = Command::new("sh");
        run.args(["-c", &line, env!("CARGO_BIN_EXE_slvrc")]).arg(out.path().join("lab"));
        let run = run.output().expect("a shell");
        let text = String::from_utf8(run.stdout.clone()).expect("text");
        if text.is_empty() && kilobytes < 80_000 {
            continue;
        }
        // glibc ends a process itself that has no memory left to note what a thread is to drop, about once in 600 runs.
        // No program is asked before; it may be about to end by itself.
        let ended = run.status.signal() == Some(6);
        if ended {
            let said = stderr(&run);
            assert_eq!(
                said.trim_end(),
                "Fatal glibc error: failed to register TLS destructor: out of memory",
                "{kilobytes}"
            );
            if text.is_empty() {
                continue;
            }
        }
        assert!(!stderr(&run).contains("panicked"), "{kilobytes}: {}", stderr(&run));
        let value: Value = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{kilobytes}: {e}: {text}{}", stderr(&run)));
        match value["ok"].as_bool().expect("ok") {
            true => done += 1,
            false => {
                assert!(ended || run.status.code() == Some(1), "{value}");
                let said = value["error"].as_str().expect("a message");
                assert!(said.contains("memory"), "{said}");
                short += 1;
            }
        }
    }
    assert!(short > 0 && done > 0, "{short} without threads, {done} done");
}

/// A deadline of nothing is refused before anybody is late.
#[test]
fn a_deadline_is_at_least_a_second() {
    for seconds in ["0", "-1", "99999999999"] {
        let line = format!("--deadline={seconds}");
        let (value, code) =
            object(&["--json", "run", "secure_aggregation", "--inputs", "x", &line]);
        assert_eq!(code, Some(2), "{value}");
        let error = value["error"].as_str().expect("a message");
        assert!(error.contains("--deadline"), "{error}");
    }
}

/// Divisions by 0 and logarithms of negative numbers, of one number for each client.
const ENDS: &str = "\
use std::{log};

predicate Ends[m]() {
    parties Client[m];
    parties Server;

    input x: secret fix in -1..1 from each Client;
    input y: secret fix in -1..1 from each Client;

    reveal [x[i] / y[i] for i in Client] to Server as quotient;
    reveal [log(x[i]) for i in Client] to Server as log;
}
";

/// `eval` has the values of a circuit where the real numbers have none; with IEEE 754 it says which reveal has none.
#[test]
fn eval_saturates_unless_it_is_asked_for_infinities() {
    let place = Place::new();
    place.write("ends.slvr", ENDS);
    let mut folder = Folder::default();
    for (i, x) in [0.0, 0.5, -0.5].into_iter().enumerate() {
        folder.put(&format!("Client/{i}"), "x", f32s(&[], &[x]));
        folder.put(&format!("Client/{i}"), "y", f32s(&[], &[0.0]));
    }
    folder.write(&place.path("in"));
    let total = place.slvrc("eval ends.slvr m=3 --inputs in");
    assert_eq!(total.status, 0, "{}", total.stderr);
    let wanted = "quotient [3] = 0.000000, 2147483648.000000, -2147483648.000000";
    assert!(total.stdout.contains(wanted), "{}", total.stdout);
    let wanted = "log [3] = -11.783502, -0.693147, -11.783502";
    assert!(total.stdout.contains(wanted), "{}", total.stdout);
    let ieee = place.slvrc("eval ends.slvr m=3 --inputs in --ieee");
    assert_eq!(ieee.status, 1, "{}", ieee.stdout);
    assert!(ieee.stderr.contains("`quotient` is not finite in IEEE 754"), "{}", ieee.stderr);
    let both = place.slvrc("eval ends.slvr m=3 --inputs in --ieee --exact");
    assert_eq!(both.status, 2, "{}", both.stderr);
}

/// What little is sent is told as well: no figure of a run is 0.000 of a larger unit.
#[test]
fn small_figures_of_a_run_are_not_nothing() {
    let place = Place::new();
    place.write("ends.slvr", ENDS);
    let mut folder = Folder::default();
    for i in 0..3 {
        for name in ["x", "y"] {
            folder.put(&format!("Client/{i}"), name, f32s(&[], &[0.5]));
        }
    }
    folder.write(&place.path("in"));
    let done = place.slvrc("run ends.slvr m=3 --inputs in");
    assert_eq!(done.status, 0, "{}", done.stderr);
    let figure = |name: &str| {
        let line = done.stdout.lines().find_map(|l| l.trim_start().strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}: {}", done.stdout)).trim().to_string()
    };
    for name in ["sent", "upload", "memory"] {
        let figure = figure(name);
        assert!(figure.starts_with(|c: char| ('1'..='9').contains(&c)), "{name}: {figure}");
    }
    assert!(figure("upload").contains(" B by each client"), "{}", figure("upload"));
}
