//! Which file of the workspace imports which: rooms import only rooms below them, crates depend only on crates
//! below them, and no files import each other in a circle.
//!
//! | file | does |
//! |---|---|
//! | `modules.rs` | reads the modules of a crate: what they contain and which paths they name |
//! | `resolve.rs` | finds the file that a path leads to, and so the arrows between files |
//! | `rules.rs` | circles, and arrows that go up |
//! | `fake.rs` | tests of these on a small crate that breaks every rule |
//!
//! A `pub use` is no arrow: a parent may pass on what its children define. Code under `#[cfg(test)]` is not
//! read: a test may import anything.

mod fake;
mod modules;
mod resolve;
mod rules;

use modules::Workspace;
use std::path::{Path, PathBuf};

/// The crates, and those that each may depend on (outside its tests).
const CRATES: [(&str, &[&str]); 8] = [
    ("circuit", &[]),
    ("predicates", &[]),
    ("ring", &["circuit"]),
    ("runtime", &["circuit", "ring"]),
    ("node", &["circuit", "ring", "runtime"]),
    ("compiler", &["circuit", "predicates"]),
    ("simulation", &["circuit", "predicates", "compiler"]),
    ("slvrc", &["circuit", "predicates", "ring", "runtime", "node", "compiler", "simulation"]),
];

/// The rooms of crates that have them, from the bottom to the top.
const ROOMS: [(&str, &[&str]); 4] = [
    (
        "compiler",
        &[
            "source",
            "diagnostic",
            "noise",
            "syntax",
            "types",
            "graph",
            "analysis",
            "passes",
            "cost",
            "lower",
            "schedule",
            "pipeline",
            "report",
            "ide",
        ],
    ),
    (
        "node",
        &[
            "basics",
            "told",
            "state",
            "opening",
            "config",
            "submission",
            "tasks",
            "keys",
            "vault",
            "store",
            "ledger",
            "wire",
            "trust",
            "peers",
            "board",
            "metrics",
            "node",
            "round",
            "http",
            "service",
            "check",
            "client",
        ],
    ),
    ("runtime", &["share", "link", "protocol", "proof", "clear", "party"]),
    (
        "slvrc",
        &[
            "fail",
            "svg",
            "net",
            "memory",
            "clients",
            "target",
            "interface",
            "checked",
            "numbers",
            "program",
            "state",
            "tensors",
            "about",
            "coins",
            "cohort",
            "kept",
            "processes",
            "parties",
            "deployment",
            "through",
            "units",
            "report",
            "verbs",
        ],
    ),
];

fn top() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("tests/ is a folder of the workspace").to_path_buf()
}

/// The root file of a crate, in its folder of that name.
fn root(krate: &str) -> PathBuf {
    let src = top().join(krate).join("src");
    let library = src.join("lib.rs");
    if library.exists() { library } else { src.join("main.rs") }
}

/// The crate's name in Rust: of a library it begins with `slvr_`.
fn name(krate: &str) -> String {
    if krate == "slvrc" { krate.to_string() } else { format!("slvr_{krate}") }
}

#[test]
fn files_form_no_circle_and_rooms_import_only_rooms_below() {
    let mut workspace = Workspace::default();
    for (krate, _) in CRATES {
        workspace.read(&name(krate), &root(krate));
    }
    let arrows = workspace.arrows();
    let mut wrong = Vec::new();
    for (krate, rooms) in ROOMS {
        wrong.extend(rules::upward(&top().join(krate).join("src"), rooms, &arrows));
    }
    wrong.extend(rules::circles(&arrows).iter().map(|c| rules::describe(c, &arrows)));
    let wrong = wrong.join("\n").replace(&format!("{}/", top().display()), "");
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn crates_depend_only_on_crates_below() {
    let manifest = |krate: &str| {
        let path = top().join(krate).join("Cargo.toml");
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    for (krate, allowed) in CRATES {
        for used in rules::dependencies(&manifest(krate)) {
            let Some(used) = used.strip_prefix("slvr-") else { continue };
            assert!(allowed.contains(&used), "{krate} depends on {used}");
        }
    }
}
