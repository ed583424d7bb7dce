//! Tables of what there is: passes, interactions, instructions, crates.

use super::super::{read, root};
use slvr_circuit::interaction::{COINS, Sends, To};
use slvr_circuit::{Hold, INTERACTIVE};
use slvr_compiler::passes;
use std::fmt::Write;

pub fn passes_of_the_graph() -> String {
    let mut out = String::from("| pass | what it does |\n|---|---|\n");
    for pass in passes::pipeline() {
        let _ = writeln!(out, "| `{}` | {} |", pass.name, pass.what);
    }
    out
}

/// Who sends what in one round, from the table that parties and compiler use.
pub fn interactions() -> String {
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
        let k = if row.from.is_empty() { COINS.bits().to_string() } else { "k".to_string() };
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

/// The crates of the workspace, in the order of their dependencies.
pub fn crates() -> String {
    let members = [
        "circuit",
        "ring",
        "allocator",
        "runtime",
        "predicates",
        "compiler/language",
        "compiler/graph",
        "compiler/backend",
        "compiler",
        "simulation",
        "node",
        "slvr",
        "slvrc",
        "python",
        "tests",
    ];
    let workspace = read(&root().join("Cargo.toml"));
    let listed = workspace.lines().find_map(|l| l.strip_prefix("members = ")).expect("members");
    let listed: Vec<String> = serde_json::from_str(listed).expect("a list");
    assert_eq!(listed.len(), members.len(), "a member is not in the table");
    let mut out = String::from("| folder | crate | what it is | uses |\n|---|---|---|---|\n");
    for folder in members {
        assert!(listed.iter().any(|l| l == folder), "{folder} is no member");
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
            .filter(|l| l.starts_with("slvr"))
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
