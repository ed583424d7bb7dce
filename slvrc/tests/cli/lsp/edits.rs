//! Random edits of many files: the server survives, answers, and ends up with what `slvrc check` says.

use super::client::Client;
use crate::folder::setting;
use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use slvr_compiler::syntax::embedded;
use std::process::Command;
use std::time::{Duration, Instant};

/// What is typed in.
const WORDS: [&str; 14] =
    ["x", "(", ")", ";", "let y = 1;", "norm(", "]", " ", "\n", "0", "é𝒳", "input ", "}", "// "];

struct File {
    uri: String,
    text: String,
    version: i64,
}

impl File {
    /// A change of a range, which this side does with its own count of lines and units.
    fn edit(&mut self, client: &mut Client, rng: &mut ChaCha12Rng) {
        let mut below = |n: usize| (rng.next_u64() % n.max(1) as u64) as usize;
        let places: Vec<usize> =
            self.text.char_indices().map(|(i, _)| i).chain([self.text.len()]).collect();
        let first = below(places.len());
        let last = (first + if below(2) == 0 { 0 } else { below(6) }).min(places.len() - 1);
        let new = WORDS[below(WORDS.len())];
        let at = |byte: usize| {
            let line = self.text[..byte].matches('\n').count();
            let start = self.text[..byte].rfind('\n').map_or(0, |i| i + 1);
            json!({ "line": line, "character": self.text[start..byte].encode_utf16().count() })
        };
        let range = json!({ "start": at(places[first]), "end": at(places[last]) });
        self.text.replace_range(places[first]..places[last], new);
        self.send(client, json!([{ "range": range, "text": new }]));
    }

    fn send(&mut self, client: &mut Client, changes: Value) {
        self.version += 1;
        let document = json!({ "uri": self.uri, "version": self.version });
        let params = json!({ "textDocument": document, "contentChanges": changes });
        client.notify("textDocument/didChange", params);
    }
}

/// Codes and first places of what `slvrc check` says; of several predicates, of each. Nothing if it says more than an editor does:
/// of larger sizes.
pub fn checked(text: &str) -> Option<Vec<(String, u64)>> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.slvr");
    std::fs::write(&path, text).expect("a file");
    let check = |predicate: Option<&str>| -> Value {
        let mut check = Command::new(env!("CARGO_BIN_EXE_slvrc"));
        check.args(["check", "--json"]).arg(&path);
        check.args(predicate.iter().flat_map(|p| ["--predicate", p]));
        let out = check.output().expect("slvrc starts");
        serde_json::from_slice(&out.stdout).expect("one object")
    };
    let one = check(None);
    let several = one["diagnostics"][0]["title"] == "the file has several predicates";
    let names = text.lines().filter_map(|l| l.strip_prefix("predicate ")?.split(['[', '(']).next());
    let all = match several {
        true => names.map(|name| check(Some(name))).collect(),
        false => vec![one],
    };
    let larger = |said: &Value| said["error"].as_str().is_some_and(|e| e.contains("it is ok with"));
    if all.iter().any(larger) {
        return None;
    }
    let said =
        all.iter().flat_map(|said| said["diagnostics"].as_array().cloned().unwrap_or_default());
    let found: Vec<Value> = said.collect();
    // An editor shows what is about a file of the library at the top.
    let here = |l: &&Value| l["file"].as_str().is_some_and(|f| f.ends_with("a.slvr"));
    let one = |d: &Value| {
        let first = d["labels"].as_array().and_then(|all| all.iter().find(here));
        let line = first.and_then(|l| l["line"].as_u64()).unwrap_or(1);
        (d["code"].as_str().unwrap_or("").to_owned(), line)
    };
    let mut all: Vec<_> = found.iter().map(one).collect();
    all.sort();
    all.dedup();
    Some(all)
}

/// A file of several predicates, of which one is wrong.
#[test]
fn of_several_predicates_each_is_checked() {
    let one = |name: &str, x: &str| {
        format!(
            "predicate {name}[m]() {{\n    parties Client[m];\n    parties Server;\n    input x: secret fix in -1..1 from each Client;\n\
             \x20   reveal sum({x}) to Server as y;\n}}\n\n"
        )
    };
    let text = ["use std::{sum};\n\n".to_owned(), one("First", "x"), one("Second", "z")].concat();
    let uri = "file:///home/me/two.slvr";
    let mut client = Client::start();
    client.open(uri, &text);
    let found = client.settled(uri, 1);
    let found: Vec<(String, u64)> = found
        .iter()
        .map(|d| {
            (
                d["code"].as_str().expect("a code").to_owned(),
                d["range"]["start"]["line"].as_u64().expect("a line") + 1,
            )
        })
        .collect();
    assert_eq!(Some(found), checked(&text));
    client.shutdown();
}

/// `SLVR_COUNT` edits of 40 files, from `SLVR_SEED` on.
#[test]
fn random_edits_end_with_what_check_says() {
    let (count, seed) = (setting("SLVR_COUNT", 120), setting("SLVR_SEED", 1));
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    // The gallery first: its programs differ more.
    let all = embedded::GALLERY.iter().chain(embedded::PREDICATES);
    let most = if count > 1000 { 40 } else { 6 };
    let mut client = Client::start();
    let mut files: Vec<File> = Vec::new();
    for (name, text) in all.take(most) {
        let uri = format!("file:///home/me/{name}");
        client.open(&uri, text);
        files.push(File { uri, text: (*text).to_owned(), version: 1 });
    }
    let mut slowest = Duration::ZERO;
    let mut sizes = Vec::new();
    for i in 0..count {
        let which = (rng.next_u64() % files.len() as u64) as usize;
        let file = &mut files[which];
        file.edit(&mut client, &mut rng);
        // Now and then everything is taken back, so that there is something to compile.
        if i % 5 == 4 {
            let (_, text) =
                embedded::GALLERY.iter().chain(embedded::PREDICATES).nth(which).expect("a file");
            file.text = (*text).to_owned();
            let whole = json!([{ "text": text }]);
            file.send(&mut client, whole);
        }
        let begun = Instant::now();
        let at = json!({ "line": i % 30, "character": 6 });
        let params = json!({ "textDocument": { "uri": file.uri }, "position": at });
        let method = ["hover", "definition", "completion", "references", "signatureHelp"];
        client.request(&format!("textDocument/{}", method[i as usize % method.len()]), params);
        for of in ["documentSymbol", "semanticTokens/full", "foldingRange", "codeLens"] {
            let params = json!({ "textDocument": { "uri": file.uri } });
            client.request(&format!("textDocument/{of}"), params);
        }
        slowest = slowest.max(begun.elapsed());
        if i % (count / 10).max(1) == 0 {
            sizes.extend(client.memory());
        }
    }
    let mut compared = 0;
    for file in &mut files {
        let wanted = checked(&file.text);
        // The last word of the last text: a change that changes nothing.
        file.version += 1;
        let document = json!({ "uri": file.uri, "version": file.version });
        let params = json!({ "textDocument": document, "contentChanges": [{ "text": file.text }] });
        client.notify("textDocument/didChange", params);
        let Some(wanted) = wanted else { continue };
        let found = client.settled(&file.uri, file.version);
        let one = |d: &Value| {
            let line = d["range"]["start"]["line"].as_u64().expect("a line") + 1;
            (d["code"].as_str().expect("a code").to_owned(), line)
        };
        let mut found: Vec<_> = found.iter().map(one).filter(|(code, _)| code != "leak").collect();
        found.sort();
        found.dedup();
        assert_eq!(found, wanted, "seed {seed}: {}\n{}", file.uri, file.text);
        compared += 1;
    }
    println!(
        "{count} edits of {} files, seed {seed}: slowest five answers {slowest:.1?}; memory in kB {sizes:?}; \
         {compared} files compared",
        files.len()
    );
    client.shutdown();
}

/// Milliseconds that the threads of the server with these names have worked.
#[cfg(target_os = "linux")]
fn worked(client: &Client, names: &[&str]) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", client.child.id())).expect("tasks");
    let of = |path: std::path::PathBuf| {
        let name = std::fs::read_to_string(path.join("comm")).ok()?;
        let stat = std::fs::read_to_string(path.join("schedstat")).ok()?;
        let known = names.contains(&name.trim());
        stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).filter(|_| known)
    };
    tasks.filter_map(|t| of(t.ok()?.path())).sum::<f64>() / 1e6
}

/// Milliseconds that processes which have ended have worked for this one, in steps of ten.
#[cfg(target_os = "linux")]
fn children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0);
    10.0 * (ticks(13) + ticks(14))
}

/// Prints for every predicate and gallery file how long the processor works from a keystroke to diagnostics and to hints, and
/// for `slvrc build`.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "measures"]
fn work_per_keystroke() {
    let mut client = Client::start();
    let folder = tempfile::tempdir().expect("a folder");
    println!("{:40} {:>11} {:>8} {:>8}", "ms", "diagnostics", "hints", "build");
    let (mut slowest, mut most) = (0.0f64, 0.0f64);
    for (name, text) in embedded::PREDICATES.iter().chain(embedded::GALLERY) {
        let uri = format!("file:///home/me/{name}");
        client.open(&uri, text);
        client.settled(&uri, 1);
        let lens =
            client.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
        let title = lens[0]["command"]["title"].as_str().unwrap_or("()").to_owned();
        let (_, sizes) = title.trim_end_matches(')').rsplit_once('(').expect("sizes");
        // In turns, until builds have worked for so long that a tick of the clock is a hundredth of it.
        let (mut times, mut types, mut hints, mut build) = (0u32, 0.0, 0.0, 0.0);
        while times < 5 || build < 2000.0 {
            times += 1;
            let version = 1 + i64::from(times);
            let before = [&["slvrc", "types"][..], &["costs"]].map(|n| worked(&client, n));
            client.change(&uri, version, &format!("{text}//{}", "x".repeat(version as usize)));
            client.settled(&uri, version);
            let after = [&["slvrc", "types"][..], &["costs"]].map(|n| worked(&client, n));
            types += after[0] - before[0];
            hints += after[0] - before[0] + after[1] - before[1];
            let begun = children();
            let mut program = Command::new(env!("CARGO_BIN_EXE_slvrc"));
            program.args(["build", name.trim_end_matches(".slvr"), "-o"]);
            let out = program.arg(folder.path().join("a.slvrb")).args(sizes.split_whitespace());
            assert!(out.output().expect("slvrc starts").status.success(), "{name}");
            build += children() - begun;
        }
        let [types, hints, build] = [types, hints, build].map(|ms| ms / f64::from(times));
        let ratio = hints / build;
        println!("{name:40} {types:11.1} {hints:8.1} {build:8.1} {ratio:8.2}");
        (slowest, most) = (slowest.max(types), most.max(ratio));
        client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }
    println!(
        "at most {slowest:.1} ms to diagnostics, and to hints {most:.2} times as long as a build"
    );
    client.shutdown();
}

/// Prints how long the processor works for a keystroke in a file of 2,000 lines, of which all are checked.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "measures"]
fn work_in_a_long_file() {
    const TIMES: u32 = 20;
    let functions: String = (0..500)
        .map(|i| format!("// Number {i}.\nfn f{i}[n](x: fix[n]) -> fix {{\n    sum(x) + {i}\n}}\n"))
        .collect();
    let text = format!(
        "use std::{{sum}};\n\n{functions}\npredicate P[m]() {{\n    parties Client[m];\n    parties Server;\n\n    input x: \
         secret fix[4] in -8..8 from each Client;\n\n    reveal [f7(x[i]) for i in Client] to Server as y;\n}}\n"
    );
    let uri = "file:///home/me/long.slvr";
    let mut client = Client::start();
    client.open(uri, &text);
    client.settled(uri, 1);
    let before = [&["slvrc"][..], &["types"], &["costs"]].map(|n| worked(&client, n));
    for version in 2..2 + i64::from(TIMES) {
        let at = json!({ "line": 2, "character": 3 });
        let change = json!({ "range": { "start": at, "end": at }, "text": "x" });
        let document = json!({ "uri": uri, "version": version });
        let params = json!({ "textDocument": document, "contentChanges": [change] });
        client.notify("textDocument/didChange", params);
        let of = json!({ "textDocument": { "uri": uri } });
        client.request("textDocument/semanticTokens/full", of);
        client.settled(uri, version);
    }
    let after = [&["slvrc"][..], &["types"], &["costs"]].map(|n| worked(&client, n));
    let ms = |i: usize| (after[i] - before[i]) / f64::from(TIMES);
    println!(
        "{} lines: {:.1} ms to take a change and colour all words, {:.1} ms to diagnostics, {:.1} ms to hints",
        text.lines().count(),
        ms(0),
        ms(1),
        ms(2)
    );
    client.shutdown();
}
