//! What an editor is told of comments of sizes, of files beside the text, of bugs, and after a shutdown.

use super::client::Client;
use serde_json::{Value, json};

const URI: &str = "file:///home/me/norms.slvr";

const TEXT: &str = "\
use std::{norm};

predicate Norms[M: model, m](most: fix = 1) {
    parties Client[m];
    parties Server;

    input w: secret weights M in -1..1 from each Client;

    reveal [norm(flat(w[i])) < most for i in Client] to Server as short;
}
";

fn codes(found: &[Value]) -> Vec<&str> {
    found.iter().map(|d| d["code"].as_str().expect("a code")).collect()
}

/// Each mistake stands on its word, with what was meant as an edit; what is right of the comment counts.
#[test]
fn mistakes_in_the_comment_of_sizes_are_shown_there() {
    let mut client = Client::start();
    let head = "// slvr: M=DigitsNet moost=3 mm=3 net=lam m=3 m=4 most\n";
    let text = format!("{head}{TEXT}").replace("use std::{norm};", "use std::{flat, norm};");
    client.open(URI, &text);
    let found = client.settled(URI, 1);
    let here = |d: &&Value| d["range"]["start"]["line"] == 0;
    let place = |d: &Value| {
        let at = |end: &str| d["range"][end]["character"].as_u64().expect("a unit") as usize;
        head[at("start")..at("end")].to_owned()
    };
    let said: Vec<(String, bool)> = found
        .iter()
        .filter(here)
        .map(|d| (place(d), d["message"].as_str().is_some_and(|m| m.contains("command line"))))
        .collect();
    let words = ["moost", "mm", "lam", "m=4", "most"].map(|w| (w.to_owned(), false));
    assert_eq!(said, words, "{found:#?}");
    assert!(found.iter().filter(here).all(|d| d["code"] == "E0031" && d["severity"] == 2));
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 60 } });
    let params = json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [], "only": ["quickfix"] } });
    let actions = client.request("textDocument/codeAction", params);
    let edits: Vec<&str> = actions
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|a| a["edit"]["changes"][URI][0]["newText"].as_str())
        .collect();
    assert_eq!(edits, ["most", "lan", ""]);
    let lens = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": URI } }));
    let title = lens[0]["command"]["title"].as_str().expect("a title");
    assert!(title.contains("(M=DigitsNet m=3"), "{title}");

    // Of values.
    for (version, (word, value)) in
        (2..).zip([("M", "DigitNet"), ("m", "few"), ("most", "1e400"), ("M", "none.slvr:Net")])
    {
        let text = text.replace(head, &format!("// slvr: {word}={value}\n"));
        client.change(URI, version, &text);
        let found = client.settled(URI, version);
        let at = 9 + word.len() + 1;
        let first = found.first().unwrap_or_else(|| panic!("nothing of {word}={value}"));
        assert_eq!(first["range"]["start"], json!({ "line": 0, "character": at }), "{first}");
        assert_eq!(first["range"]["end"]["character"], at + value.len(), "{first}");
    }
    client.shutdown();
}

/// A model's file is written by another program, or in another window.
#[test]
fn what_depends_on_a_file_is_looked_at_when_that_is_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let uri = |name: &str| format!("file://{}", folder.path().join(name).display());
    let model = "model Net(x: fix[4]) -> fix[2] {\n    fc: linear[4, 2];\n\n    x |> fc\n}\n";
    let write = |text: &str| std::fs::write(folder.path().join("net.slvr"), text).expect("a file");
    let mut client = Client::start();
    let watched = client.told("client/registerCapability");
    assert_eq!(watched["registrations"][0]["method"], "workspace/didChangeWatchedFiles");
    let text = format!("// slvr: M=net.slvr m=2\n{TEXT}")
        .replace("use std::{norm};", "use std::{flat, norm};");
    client.open(&uri("norms.slvr"), &text);
    assert_eq!(codes(&client.settled(&uri("norms.slvr"), 1)), ["E0031"], "no such file yet");
    write(model);
    let changed = json!({ "changes": [{ "uri": uri("net.slvr"), "type": 1 }] });
    client.notify("workspace/didChangeWatchedFiles", changed);
    let found = client.settled(&uri("norms.slvr"), 1);
    assert!(found.iter().all(|d| d["severity"] != 1), "{found:?}");
    write(&model.replace("[4, 2]", "[5, 2]"));
    let saved = json!({ "textDocument": { "uri": uri("net.slvr") } });
    client.notify("textDocument/didSave", saved.clone());
    let found = client.settled(&uri("norms.slvr"), 1);
    assert_eq!(codes(&found), ["E0009"], "{found:?}");
    write(model);
    client.notify("textDocument/didSave", saved);
    let found = client.settled(&uri("norms.slvr"), 1);
    assert!(found.iter().all(|d| d["severity"] != 1), "{found:?}");
    client.shutdown();
}

/// A bug of the compiler is said, on the text and to the user; what was known before stays.
#[test]
fn a_panic_is_told() {
    // Builds for release take no part in tests of themselves.
    if !cfg!(debug_assertions) {
        return;
    }
    for (place, seen) in [("types", 1), ("costs", 2)] {
        let mut client = Client::start_with(&[("SLVR_PANIC", place)]);
        client.open(URI, &TEXT.replace("use std::{norm};", "use std::{flat, norm};"));
        let mut found = Vec::new();
        for _ in 0..seen {
            found = client.diagnostics(1);
        }
        assert_eq!(codes(&found), ["bug"], "{place}: {found:?}");
        assert!(found[0]["message"].as_str().is_some_and(|m| m.contains("a test asked for it")));
        let told = client.told("window/showMessage");
        assert!(told["message"].as_str().is_some_and(|m| m.starts_with("a bug of slvrc")));
        let hover = client.at("textDocument/hover", URI, TEXT, "norm", 0);
        assert_ne!(hover, Value::Null, "{place}: it goes on");
        client.shutdown();
    }
}

#[test]
fn after_a_shutdown_all_is_answered_and_nothing_done() {
    let mut client = Client::start();
    client.open(URI, TEXT);
    let asked = |id: u64, method: &str| {
        let params =
            json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 12 } });
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    };
    // All at once, before an answer is read.
    for id in 1001..1100 {
        client.write(&asked(id, "textDocument/hover"));
    }
    client.write(&asked(1100, "shutdown"));
    client.write(&asked(1101, "textDocument/hover"));
    client.change(URI, 2, "predicate (");
    client.write(&asked(1102, "shutdown"));
    client.notify("exit", Value::Null);
    let mut answers = Vec::new();
    while answers.len() < 102 {
        let message = client.next("an answer");
        if message["id"].as_u64().is_some_and(|id| id > 1000) && message.get("method").is_none() {
            answers.push(message);
        }
    }
    for (id, answer) in (1001u64..).zip(&answers) {
        assert_eq!(answer["id"], id, "{answer}");
        match id {
            1001..1100 => assert!(answer["result"].is_object(), "{answer}"),
            1100 => assert_eq!(answer["result"], Value::Null, "{answer}"),
            _ => assert_eq!(answer["error"]["code"], -32600, "{answer}"),
        }
    }
    assert_eq!(client.wait().code(), Some(0));
}

/// A file that others take models or functions from: it is said, as `slvrc check` says it, and no error.
#[test]
fn a_file_without_a_predicate_says_so() {
    let mut client = Client::start();
    for (version, text) in
        (1..).zip(["", "const A = 1;\n", "fn twice(x: fix) -> fix {\n    2 * x\n}\n"])
    {
        match version {
            1 => client.open(URI, text),
            _ => client.change(URI, version, text),
        }
        let found = client.settled(URI, version);
        assert_eq!(codes(&found), ["E0029"], "{text}");
        assert_eq!(found[0]["severity"], 3);
        assert_eq!(super::edits::checked(text), Some(vec![("E0029".to_owned(), 1)]));
    }
    client.shutdown();
}
