//! What lines cost, as an editor shows it, and as `slvrc explain` prints it.

use super::client::Client;
use crate::folder::is_full;
use serde_json::{Value, json};
use slvr::units;
use slvr_compiler::syntax::embedded;
use std::process::Command;

/// Hints and lenses of a file, once they are there.
fn shown(client: &mut Client, uri: &str, text: &str) -> (Vec<Value>, Vec<Value>) {
    client.open(uri, text);
    client.refreshed();
    let hints = client.request("textDocument/inlayHint", whole(uri));
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
    let list = |v: Value| v.as_array().cloned().unwrap_or_default();
    (list(hints), list(lenses))
}

fn whole(uri: &str) -> Value {
    let range = json!({
        "start": { "line": 0, "character": 0 }, "end": { "line": 100_000, "character": 0 },
    });
    json!({ "textDocument": { "uri": uri }, "range": range })
}

/// What stands behind lines by what `slvrc explain --json` says of them, with the sizes that a lens names.
fn explained(name: &str, title: &str) -> Vec<(u64, String)> {
    let (_, sizes) = title.trim_end_matches(')').rsplit_once('(').expect("sizes");
    let mut explain = Command::new(env!("CARGO_BIN_EXE_slvrc"));
    explain.args(["explain", name, "--json"]).args(sizes.split_whitespace());
    let out = explain.output().expect("slvrc starts");
    let said: Value = serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr)));
    let line = |row: &Value| {
        let number = |key: &str| row[key].as_u64().expect("a number");
        let mut parts = Vec::new();
        if number("critical") > 0 {
            parts.push(format!("waits {}", number("critical")));
        }
        let sent: [u64; 3] = serde_json::from_value(row["bytes_sent"].clone()).expect("three");
        if sent.iter().sum::<u64>() / 3 > 0 {
            parts.push(units::per_party(sent));
        }
        let range = row["range"].as_str();
        let error = row["error"].as_f64().map(units::error);
        match (range, error) {
            (Some(range), Some(error)) => parts.push(format!("{range} ± {error}")),
            (range, error) => parts.extend(range.map(str::to_owned).or(error)),
        }
        (number("line"), parts.join(" · "))
    };
    let rows = said["lines"].as_array().expect("lines").iter().map(line);
    rows.filter(|(line, text)| *line > 0 && !text.is_empty()).collect()
}

/// Some of the predicates that come with the compiler, and all with `SLVR_EFFORT=full`.
#[test]
fn hints_are_what_explain_prints_line_by_line() {
    let full = is_full();
    let some = embedded::GALLERY.iter().step_by(if full { 1 } else { 24 });
    let mut lines = 0;
    let mut client = Client::start();
    for (name, text) in embedded::PREDICATES.iter().step_by(if full { 1 } else { 5 }).chain(some) {
        let uri = format!("file:///home/me/{name}");
        let (hints, lenses) = shown(&mut client, &uri, text);
        let [lens] = lenses.as_slice() else { panic!("{name}: {lenses:?}") };
        let title = lens["command"]["title"].as_str().expect("a title");
        let beside: Vec<(u64, String)> = hints
            .iter()
            .map(|h| {
                let line = h["position"]["line"].as_u64().expect("a line") + 1;
                (line, h["label"].as_str().expect("a label").to_owned())
            })
            .collect();
        let bare = name.trim_end_matches(".slvr");
        assert_eq!(beside, explained(bare, title), "{name}");
        lines += beside.len();
        client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }
    println!("{lines} lines");
    client.shutdown();
}

const URI: &str = "file:///home/me/mean.slvr";

const TEXT: &str = "\
// slvr: m=3 net=wan
use std::{norm, sum};

predicate Kept[m]() {
    parties Client[m];
    parties Server;

    input update: secret fix[4] in -8..8 from each Client;

    let keep = [norm(update[i]) < 4 for i in Client];

    reveal [sum(keep[i] * update[i][j] for i in Client) for j in 4] to Server as kept;
    reveal keep to Server as keep;
}
";

#[test]
fn hints_follow_the_text_and_say_when_they_are_of_an_earlier_one() {
    let mut client = Client::start();
    let (hints, lenses) = shown(&mut client, URI, TEXT);
    let line = |hints: &[Value], at: u64| {
        let found = hints.iter().find(|h| h["position"]["line"] == at);
        found.and_then(|h| h["label"].as_str()).map(str::to_owned)
    };
    let before = line(&hints, 9).expect("what `keep` costs");
    assert!(before.contains("waits") && before.contains('±'), "{before}");
    let title = lenses[0]["command"]["title"].as_str().expect("a title").to_owned();
    for part in ["rounds", "on lan", "on wan", "reveals kept to Server, keep to Server", "(m=3)"] {
        assert!(title.contains(part), "{part} is not in {title}");
    }

    // A line more, and half a statement: what is known moves with its lines, and is marked.
    let half = TEXT.replace("    let keep", "    let half =\n    let keep");
    client.change(URI, 2, &half);
    let hints = client.request("textDocument/inlayHint", whole(URI));
    let hints = hints.as_array().expect("a list");
    assert_eq!(line(hints, 10), Some(format!("~ {before}")));

    // Other sizes cost something else.
    client.change(URI, 3, &TEXT.replace("m=3", "m=6"));
    client.refreshed();
    let hints = client.request("textDocument/inlayHint", whole(URI));
    let after = line(hints.as_array().expect("a list"), 9).expect("what `keep` costs");
    assert!(after != before && !after.starts_with('~'), "{before}, {after}");

    // The page of `slvrc explain --html`.
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": URI } }));
    let command = &lenses[0]["command"];
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    client.request("workspace/executeCommand", params);
    let page = client.told("window/showDocument");
    let path = page["uri"].as_str().and_then(|u| u.strip_prefix("file://")).expect("a file");
    let page = std::fs::read_to_string(path).expect("it is there");
    assert!(page.contains("<html") && page.contains("Kept"), "{}", page.len());
    client.shutdown();
}

#[test]
fn leaks_and_margins_have_severities_and_explanations_of_their_own() {
    let mut client = Client::start();
    let text = TEXT.replace("reveal keep to", "reveal [update[i][0] for i in Client] to");
    client.open(URI, &text);
    client.refreshed();
    let found = client.last_diagnostics(URI);
    let leak = found.iter().find(|d| d["code"] == "leak" && d["severity"] == 2);
    let leak = leak.unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(leak["range"]["start"]["line"], 12);
    assert!(leak["message"].as_str().is_some_and(|m| m.contains("hint: ")), "{leak}");

    client.change(URI, 2, &TEXT.replace("norm(update[i])", "nrom(update[i])"));
    let found = client.diagnostics(2);
    let link = found[0]["codeDescription"]["href"].as_str().expect("a link");
    let path = link.strip_prefix("file://").expect("a file");
    let said = std::fs::read_to_string(path).expect("it is there");
    assert!(path.ends_with("E0004.md") && said.contains("before it is used"), "{said}");
    client.shutdown();
}
