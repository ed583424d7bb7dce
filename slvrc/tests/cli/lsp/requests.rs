//! Names, symbols, signatures, words, folds, selections and actions over the protocol.

use super::client::Client;
use serde_json::{Value, json};

const URI: &str = "file:///home/me/middle.slvr";

const TEXT: &str = "\
use std::{lower_median, norm};

// Whether it is short.
// A second line.
fn short[n](x: fix[n], bound: fix) -> bit {
    norm(x) < bound
}

predicate Middle[m, d]() {
    parties Client[m];
    parties Server;

    input update: secret fix[d] in -8..8 from each Client;

    let size = [norm(update[i]) for i in Client];
    let keep = [short(update[i], 2) for i in Client];

    reveal lower_median(size) to Server as middle;
    reveal keep to Server as keep;
}
";

fn of(uri: &str) -> Value {
    json!({ "textDocument": { "uri": uri } })
}

/// The text after the edits of one file.
fn edited(text: &str, edits: &Value) -> String {
    let list = edits.as_array().cloned().unwrap_or_default();
    let offset = |at: &Value| {
        let line = at["line"].as_u64().expect("a line") as usize;
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        start + at["character"].as_u64().expect("a unit") as usize
    };
    let mut places: Vec<(usize, usize, &str)> = list
        .iter()
        .map(|e| {
            let (start, end) = (&e["range"]["start"], &e["range"]["end"]);
            (offset(start), offset(end), e["newText"].as_str().expect("a text"))
        })
        .collect();
    places.sort_unstable();
    let mut out = text.to_owned();
    for (start, end, new) in places.into_iter().rev() {
        out.replace_range(start..end, new);
    }
    out
}

#[test]
fn names_are_found_and_renamed() {
    let mut client = Client::start();
    client.open(URI, TEXT);
    let places = client.at("textDocument/references", URI, TEXT, "update[i]", 0);
    assert_eq!(places.as_array().map(Vec::len), Some(3), "{places}");
    let places = client.at("textDocument/references", URI, TEXT, "norm(x)", 0);
    assert_eq!(places.as_array().map(Vec::len), Some(3), "{places}");
    let places = client.at("textDocument/documentHighlight", URI, TEXT, "size)", 0);
    let kinds: Vec<&Value> =
        places.as_array().expect("a list").iter().map(|p| &p["kind"]).collect();
    assert_eq!(kinds, [3, 2]);

    let at = json!({ "line": 5, "character": 5 });
    let params = json!({ "textDocument": { "uri": URI }, "position": at });
    let refused = client.answer("textDocument/prepareRename", params);
    let said = refused["error"]["message"].as_str().expect("an error");
    assert_eq!(said, "`norm` cannot be renamed: it belongs to the library");
    let place = client.at("textDocument/prepareRename", URI, TEXT, "short(", 0);
    assert_eq!(place["start"], json!({ "line": 15, "character": 16 }));
    let mut rename = |line: u32, character: u32, name: &str| {
        let at = json!({ "line": line, "character": character });
        let params = json!({ "textDocument": { "uri": URI }, "position": at, "newName": name });
        client.answer("textDocument/rename", params)
    };
    let renamed = rename(12, 12, "moved");
    let text = edited(TEXT, &renamed["result"]["changes"][URI]);
    assert_eq!(text, TEXT.replace("update", "moved"));
    assert_eq!(renamed["error"], Value::Null, "{renamed}");
    let renamed = rename(15, 17, "small");
    let text = edited(TEXT, &renamed["result"]["changes"][URI]);
    assert_eq!(text, TEXT.replace("short[", "small[").replace("short(", "small("));
    // The last one is imported: its calls would be of the input.
    for (name, why) in
        [("let", "is no name"), ("1x", "is no name"), ("keep", "line 16"), ("norm", "line 1")]
    {
        let refused = rename(12, 12, name);
        let said = refused["error"]["message"].as_str().expect("an error");
        assert!(said.contains(why), "{name}: {said}");
    }
    // What else calls it so, outside of the file.
    let told = client.told("window/showMessage");
    assert!(told["message"].as_str().is_some_and(|m| m.contains("files of inputs")), "{told}");
    client.shutdown();
}

#[test]
fn symbols_are_listed() {
    let mut client = Client::start();
    client.open(URI, TEXT);
    let symbols = client.request("textDocument/documentSymbol", of(URI));
    let names = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        list.map(|s| s["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&symbols), ["short", "Middle"]);
    let inside = ["m", "d", "Client", "Server", "update", "size", "keep", "middle", "keep"];
    assert_eq!(names(&symbols[1]["children"]), inside);
    let found = client.request("workspace/symbol", json!({ "query": "MEDIAN" }));
    assert!(names(&found).contains(&"lower_median".to_owned()), "{found}");
    let place = found.as_array().and_then(|l| l[0]["location"]["uri"].as_str()).expect("a file");
    assert!(place.starts_with("file://"), "{place}");
    assert_eq!(names(&client.request("workspace/symbol", json!({ "query": "short" })))[0], "short");
    client.shutdown();
}

#[test]
fn calls_say_what_their_arguments_are() {
    let mut client = Client::start();
    let text = TEXT.replace("short(update[i], 2)", "short(update[i], ");
    client.open(URI, &text);
    let help = client.at("textDocument/signatureHelp", URI, &text, " for i in Client];", 1);
    assert_eq!(help["signatures"][0]["label"], "fn short[n](x: fix[n], bound: fix) -> bit");
    assert_eq!(help["activeParameter"], 1);
    let params = &help["signatures"][0]["parameters"];
    assert_eq!(params, &json!([{ "label": "x: fix[n]" }, { "label": "bound: fix" }]));
    let help = client.at("textDocument/signatureHelp", URI, &text, "size) to", 0);
    assert!(help["signatures"][0]["label"].as_str().is_some_and(|l| l.contains("lower_median")));
    assert_eq!(client.at("textDocument/signatureHelp", URI, &text, "input", 0), Value::Null);
    client.shutdown();
}

#[test]
fn words_are_coloured_and_lines_fold() {
    let mut client = Client::start();
    client.open(URI, TEXT);
    let data = client.request("textDocument/semanticTokens/full", of(URI));
    let data: Vec<u64> = serde_json::from_value(data["data"].clone()).expect("numbers");
    let (mut line, mut start, mut words) = (0, 0, Vec::new());
    let lines: Vec<&str> = TEXT.lines().collect();
    for t in data.chunks(5) {
        start = if t[0] == 0 { start + t[1] } else { t[1] };
        line += t[0];
        let word = &lines[line as usize][start as usize..(start + t[2]) as usize];
        words.push((word, t[3]));
    }
    for (word, kind) in [("use", 0), ("8", 1), ("// A second line.", 3), ("norm", 4), ("Client", 6)]
    {
        assert!(words.contains(&(word, kind)), "{word} in {words:?}");
    }
    let folds = client.request("textDocument/foldingRange", of(URI));
    let folds: Vec<(u64, u64)> = folds
        .as_array()
        .expect("a list")
        .iter()
        .map(|f| (f["startLine"].as_u64().unwrap_or(0), f["endLine"].as_u64().unwrap_or(0)))
        .collect();
    assert_eq!(folds, [(2, 3), (4, 5), (8, 18)]);
    let at = json!({ "line": 5, "character": 10 });
    let params = json!({ "textDocument": { "uri": URI }, "positions": [at] });
    let mut range = &client.request("textDocument/selectionRange", params)[0];
    let mut lines = Vec::new();
    while range["range"].is_object() {
        let (start, end) = (&range["range"]["start"], &range["range"]["end"]);
        lines.push((start["line"].as_u64().unwrap_or(0), end["line"].as_u64().unwrap_or(0)));
        range = &range["parent"];
    }
    assert!(lines.len() >= 4 && lines.first() == Some(&(5, 5)) && lines.last() == Some(&(0, 20)));
    client.shutdown();
}

#[test]
fn actions_do_what_hints_say() {
    let mut client = Client::start();
    let wrong = TEXT
        .replace("norm(update[i])", "norm(updat[i])")
        .replace("use std::{lower_median, norm};", "use std::{lower_median};");
    client.open(URI, &wrong);
    assert!(client.diagnostics(1).len() >= 2);
    let range = |line: u32| {
        let at = |character: u32| json!({ "line": line, "character": character });
        json!({ "start": at(0), "end": at(60) })
    };
    let params = |line: u32, only: Value| json!({ "textDocument": { "uri": URI }, "range": range(line), "context": { "diagnostics": [], "only": only } });
    let here = client.request("textDocument/codeAction", params(14, json!(["quickfix"])));
    let titles: Vec<&str> =
        here.as_array().expect("a list").iter().filter_map(|a| a["title"].as_str()).collect();
    assert!(titles.contains(&"did you mean `update`?"), "{titles:?}");
    assert!(titles.contains(&"it is in the library: write `use std::{norm};`"), "{titles:?}");
    let all = client.request("textDocument/codeAction", params(0, json!(["source.fixAll"])));
    let text = edited(&wrong, &all[0]["edit"]["changes"][URI]);
    assert_eq!(text, TEXT);
    client.shutdown();
}
