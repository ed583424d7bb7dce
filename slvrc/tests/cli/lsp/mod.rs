//! `slvrc lsp` as an editor meets it: a process, messages over its standard input and output.

mod client;
mod costs;
mod edits;
mod files;
mod requests;

use client::{Client, PATIENCE};
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};

const URI: &str = "file:///home/me/middle.slvr";

const TEXT: &str = "\
use std::{lower_median, norm};

predicate Middle[m, d]() {
    parties Client[m];
    parties Server;

    // How far clients moved.
    input update: secret fix[d] in -8..8 from each Client;

    let size = [norm(update[i]) for i in Client];

    reveal lower_median(size) to Server as middle;
}
";

#[test]
fn a_day_in_an_editor() {
    let mut client = Client::start();
    client.open(URI, TEXT);
    assert_eq!(client.diagnostics(1), [] as [Value; 0]);

    let hover = client.at("textDocument/hover", URI, TEXT, "update[i]", 0);
    let said = hover["contents"]["value"].as_str().expect("Markdown");
    assert_eq!(hover["contents"]["kind"], "markdown");
    for part in
        ["input update: secret fix[d] in -8..8", "How far", "secret fix[Client, 1]", "-8 to 8"]
    {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert_eq!(hover["range"]["start"], json!({ "line": 9, "character": 21 }));
    let hover = client.at("textDocument/hover", URI, TEXT, "size)", 0);
    assert!(hover["contents"]["value"].as_str().is_some_and(|s| s.contains("secret fix[Client]")));
    let hover = client.at("textDocument/hover", URI, TEXT, "lower_median(", 0);
    let said = hover["contents"]["value"].as_str().expect("Markdown");
    assert!(said.contains("fn lower_median[n](x: fix[n]) -> fix"), "{said}");
    assert!(said.contains("lower of the two middle entries"), "{said}");
    let nothing = client.at("textDocument/hover", URI, TEXT, "predicate", 0);
    assert_eq!(nothing, Value::Null);

    let place = client.at("textDocument/definition", URI, TEXT, "update[i]", 0);
    assert_eq!(place["uri"], URI);
    assert_eq!(place["range"]["start"], json!({ "line": 7, "character": 10 }));
    // Into the library: a file that an editor can open.
    let place = client.at("textDocument/definition", URI, TEXT, "lower_median(", 0);
    let path = place["uri"].as_str().and_then(|u| u.strip_prefix("file://")).expect("a file");
    assert!(path.ends_with("/std/stats.slvr"), "{path}");
    let library = std::fs::read_to_string(path).expect("it is there");
    let line = place["range"]["start"]["line"].as_u64().expect("a line") as usize;
    assert!(library.lines().nth(line).is_some_and(|l| l.starts_with("fn lower_median")));
    assert!(path.starts_with(&client.cache.path().display().to_string()), "{path}");

    // Half a statement: an error at once, and everything else still answers.
    let half = TEXT.replace("    reveal", "    let far = norm(upd\n    reveal");
    client.change(URI, 2, &half);
    let found = client.diagnostics(2);
    assert!(found.iter().any(|d| d["code"] == "E0002" && d["severity"] == 1), "{found:?}");
    let hover = client.at("textDocument/hover", URI, &half, "update[i]", 0);
    assert!(hover["contents"]["value"].as_str().is_some_and(|s| s.contains("input update")));

    // Whole again: the error goes away, and types are checked.
    let wrong = TEXT.replace("norm(update[i])", "norm(updat[i])");
    client.change(URI, 3, &wrong);
    let mut found = client.diagnostics(3);
    if found.is_empty() {
        // Syntax errors are taken back before types are known.
        found = client.diagnostics(3);
    }
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["code"], "E0004");
    assert_eq!(found[0]["source"], "slvrc");
    assert_eq!(found[0]["range"]["start"], json!({ "line": 9, "character": 21 }));
    assert_eq!(found[0]["range"]["end"], json!({ "line": 9, "character": 26 }));
    assert!(found[0]["message"].as_str().is_some_and(|m| m.contains("did you mean `update`?")));

    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    let gone = client.at("textDocument/hover", URI, TEXT, "update[i]", 0);
    assert_eq!(gone, Value::Null);
    client.shutdown();
}

#[test]
fn formatting_edits_what_is_untidy() {
    let mut client = Client::start();
    let text = TEXT.replace("let size = [", "let  size=[");
    client.open(URI, &text);
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let document = json!({ "uri": URI });
    let params = json!({ "textDocument": document, "options": options });
    let edits = client.request("textDocument/formatting", params.clone());
    let [edit] = edits.as_array().expect("edits").as_slice() else { panic!("{edits}") };
    assert_eq!(edit["newText"], "    let size = [norm(update[i]) for i in Client];\n");
    assert_eq!(edit["range"]["start"], json!({ "line": 9, "character": 0 }));
    assert_eq!(edit["range"]["end"], json!({ "line": 10, "character": 0 }));
    client.change(URI, 2, TEXT);
    assert_eq!(client.request("textDocument/formatting", params.clone()), json!([]));
    client.change(URI, 3, "predicate (");
    assert_eq!(client.request("textDocument/formatting", params), json!([]));
    client.shutdown();
}

#[test]
fn places_count_utf16_units() {
    let mut client = Client::start();
    client.open(URI, "// 𝒳\nconst A = 1; const 𝒳 = 2;\n");
    let found = client.diagnostics(1);
    assert_eq!(found[0]["code"], "E0001", "{found:?}");
    assert_eq!(found[0]["range"]["start"], json!({ "line": 1, "character": 19 }));
    assert_eq!(found[0]["range"]["end"], json!({ "line": 1, "character": 21 }));
    client.shutdown();
}

/// Every prefix of a program, as if somebody typed it, without waiting for answers.
#[test]
fn typing_is_followed() {
    let mut client = Client::start();
    client.open(URI, "");
    let ends: Vec<usize> = (0..=TEXT.len()).filter(|i| TEXT.is_char_boundary(*i)).collect();
    for (version, end) in ends.iter().enumerate() {
        client.change(URI, version as i64 + 2, &TEXT[..*end]);
        if version % 50 == 0 {
            client.at("textDocument/hover", URI, TEXT, "norm", 0);
        }
    }
    let last = ends.len() as i64 + 1;
    // Whatever came before, the last word is about the last text, and nothing is wrong with it.
    let begun = Instant::now();
    while !client.diagnostics(last).is_empty() {
        assert!(begun.elapsed() < PATIENCE);
    }
    let hover = client.at("textDocument/hover", URI, TEXT, "size)", 0);
    assert!(hover["contents"]["value"].as_str().is_some_and(|s| s.contains("let size")));
    client.shutdown();
}

/// A text whose types take very long does not hold up those that come after it.
#[test]
fn endless_texts_are_given_up() {
    let mut client = Client::start();
    let sums = "sum(sum(size[i] for a in 0..k + l if a * k < l * n) for i in Client \
                for k in 0..5000 for l in 0..5000 for n in 0..5000)";
    let endless = TEXT.replace("lower_median(size)", sums).replace("lower_median", "sum");
    client.open(URI, &endless);
    let hover = client.at("textDocument/hover", URI, &endless, "update[i]", 0);
    assert_ne!(hover, Value::Null);
    // Somebody types on.
    let begun = Instant::now();
    for version in 2.. {
        assert!(begun.elapsed() < PATIENCE, "no types of the later text");
        client.change(URI, version, TEXT);
        thread::sleep(Duration::from_millis(100));
        let hover = client.at("textDocument/hover", URI, TEXT, "size)", 0);
        if hover["contents"]["value"].as_str().is_some_and(|s| s.contains("secret fix[Client]")) {
            break;
        }
    }
    client.shutdown();
}

#[test]
fn strange_requests_are_answered() {
    let mut client = Client::start();
    let answer = client.answer("textDocument/moniker", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let answer = client.answer("textDocument/hover", json!({ "position": "here" }));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let nowhere = json!({
        "textDocument": { "uri": "file:///never/opened.slvr" },
        "position": { "line": 4_000_000_000u32, "character": 4_000_000_000u32 },
    });
    assert_eq!(client.request("textDocument/hover", nowhere.clone()), Value::Null);
    assert_eq!(client.request("textDocument/definition", nowhere), Value::Null);
    client.notify("textDocument/didChange", json!({ "nonsense": true }));
    client.notify("$/setTrace", json!({ "value": "off" }));
    client.open(URI, TEXT);
    assert_eq!(client.diagnostics(1), [] as [Value; 0]);
    client.shutdown();
}

/// What is no JSON, or no message, is answered with the error of the protocol, and the server goes on.
#[test]
fn bad_json_is_answered_and_survived() {
    let mut client = Client::start();
    for (body, code) in
        [("{nonsense", -32700), ("", -32700), ("[1, 2]", -32600), ("{\"id\": {}}", -32600)]
    {
        client.raw(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let answer = client.next_answer("an error");
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(code)),
            "{body}"
        );
    }
    client.raw("Content-Length: 3\r\n\r\n\u{ff}x");
    assert_eq!(client.next_answer("an error")["error"]["code"], json!(-32700));
    client.open(URI, TEXT);
    assert_eq!(client.diagnostics(1), [] as [Value; 0]);
    client.shutdown();
}

/// Nothing is allocated for a message that is longer than any text.
#[test]
fn a_message_of_absurd_length_ends_the_server_at_once() {
    for header in ["Content-Length: 18446744073709551615", "Content-Length: -1", "Content-Type: x"]
    {
        let mut client = Client::start();
        client.raw(&format!("{header}\r\n\r\n{{}}"));
        assert_eq!(client.wait().code(), Some(1), "{header}");
    }
}

#[test]
fn leaving_without_a_word_is_an_error() {
    let mut client = Client::start();
    client.notify("exit", Value::Null);
    assert_eq!(client.wait().code(), Some(1));

    let mut client = Client::start();
    client.stdin = None;
    assert_eq!(client.wait().code(), Some(1), "standard input was closed");
}

#[test]
fn completion_offers_layers_functions_words_and_names() {
    let mut client = Client::start();
    let text = "use std::{norm, sum};\n\npredicate P[m]() {\n    parties Client[m];\n    \
                state history: secret fix in -8..8 = 0;\n    let x = hi\n}\n\n\
                model Net(x: fix[4]) -> fix[2] {\n    fc: la\n}\n";
    client.open(URI, text);
    let labels = |answer: Value| -> Vec<String> {
        let all = answer.as_array().expect("a list").iter();
        all.map(|c| c["label"].as_str().expect("a label").to_owned()).collect()
    };
    let at = |line: u32, character: u32| {
        json!({
            "textDocument": { "uri": URI }, "position": { "line": line, "character": character },
        })
    };
    let names = labels(client.request("textDocument/completion", at(5, 14)));
    assert_eq!(names, ["history", "histogram"]);
    let layers = labels(client.request("textDocument/completion", at(9, 10)));
    assert_eq!(layers, ["layer_norm"]);
    let words = labels(client.request("textDocument/completion", at(4, 6)));
    assert_eq!(words, ["state", "store"]);
}

#[test]
fn without_an_editor_it_says_what_it_is_for() {
    let done = crate::folder::Place::new().slvrc("lsp");
    assert_eq!((done.status, done.stdout.as_str()), (1, ""));
    assert!(
        done.stderr.starts_with("error: standard input ended before an editor said anything"),
        "{}",
        done.stderr
    );
}
