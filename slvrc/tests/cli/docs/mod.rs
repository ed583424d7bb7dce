//! The book and the README do what they say.
//!
//! - `pages`: the code blocks of a Markdown file, and running them: programs are written to a folder
//!   of the page's own and checked, commands are run there, and their output is compared.
//! - `tables`: tables of costs that pages contain, computed from the compiler.
//! - `figures`: all other figures that follow from the code.
//!
//! With `SLVR_BLESS=1` in the environment, outputs and tables that differ are replaced in the pages
//! instead: `SLVR_BLESS=1 cargo test -p slvrc --test cli docs`, then read the diff. Pages that `slvrc doc`
//! makes are written by it.

mod figures;
mod pages;
mod tables;

use pages::Page;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn blessing() -> bool {
    std::env::var_os("SLVR_BLESS").is_some_and(|v| v != "0")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The pages of the book by file name.
fn book() -> BTreeMap<String, PathBuf> {
    let all = fs::read_dir(root().join("docs/src")).expect("the book");
    all.map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "md"))
        .map(|p| (p.file_name().expect("a name").to_string_lossy().into_owned(), p))
        .collect()
}

/// A page that `slvrc doc` makes: its name, and what makes it.
type Generated = (&'static str, fn() -> String);

/// Pages that `slvrc doc` makes: their blocks are signatures.
fn generated() -> [Generated; 4] {
    use slvr_compiler::ide::doc;
    [
        ("std.md", doc::std_page),
        ("models.md", doc::models_page),
        ("predicates.md", doc::predicates_page),
        ("grammar.md", doc::grammar::page),
    ]
}

/// What a new text of a page calls for: nothing, writing it, or a complaint.
fn settle(path: &Path, old: &str, new: &str, wrong: &mut String) {
    if old == new {
    } else if blessing() {
        fs::write(path, new).expect("a page can be written");
    } else {
        *wrong += &format!("{} differs from what its blocks give now\n", path.display());
    }
}

/// How many programs, commands and tables a page has: a block whose first line is spelt otherwise is not looked at.
const BLOCKS: [(&str, [usize; 3]); 13] = [
    ("architecture.md", [0, 0, 1]),
    ("certify.md", [0, 2, 0]),
    ("compiler.md", [0, 0, 1]),
    ("costs.md", [0, 0, 3]),
    ("lab.md", [0, 0, 1]),
    ("language.md", [2, 0, 1]),
    ("leaks.md", [1, 0, 0]),
    ("noise.md", [0, 0, 2]),
    ("performance.md", [0, 0, 1]),
    ("pinning.md", [1, 4, 0]),
    ("protocols.md", [0, 0, 1]),
    ("report.md", [1, 1, 0]),
    ("tutorial.md", [1, 8, 0]),
];

#[test]
fn programs_commands_and_tables_of_the_book() {
    let pages = book().into_iter().filter(|(name, _)| generated().iter().all(|(g, _)| g != name));
    // A command uses one core for the most part, and no page needs another: some are run at a time.
    let (pages, done) = (Mutex::new(pages), Mutex::new(BTreeMap::new()));
    let next = || pages.lock().expect("no panic").next();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some((name, path)) = next() {
                    let old = read(&path);
                    let mut page = Page::run(&name, &old, &|_| None);
                    let mut tables = 0;
                    let new = tables::filled(&page.text, &mut tables);
                    settle(&path, &old, &new, &mut page.wrong);
                    done.lock().expect("no panic").insert(name, (page, tables));
                }
            });
        }
    });
    let done = done.into_inner().expect("no panic");
    let wrong: String = done.values().map(|(page, _)| page.wrong.as_str()).collect();
    let counts = done
        .iter()
        .map(|(name, (page, tables))| (name.as_str(), [page.programs, page.commands, *tables]));
    let counts: Vec<_> = counts.filter(|(_, counts)| *counts != [0; 3]).collect();
    assert!(wrong.is_empty(), "{wrong}\n(SLVR_BLESS=1 replaces outputs and tables)");
    assert_eq!(counts, BLOCKS, "blocks that are not looked at hold nothing");
}

/// The README's only program is the one that its command runs.
#[test]
fn programs_and_commands_of_the_readme() {
    let path = root().join("README.md");
    let old = read(&path);
    let mut tables = 0;
    let file =
        |text: &str| text.contains("predicate NormBound").then_some("predicates/norm_bound.slvr");
    let page = Page::run("README.md", &old, &file);
    let mut wrong = page.wrong;
    settle(&path, &old, &tables::filled(&page.text, &mut tables), &mut wrong);
    assert!(wrong.is_empty(), "{wrong}\n(SLVR_BLESS=1 replaces outputs and tables)");
    assert_eq!([page.programs, page.commands, tables], [1, 3, 1], "as for the pages of the book");
}

#[test]
fn generated_pages_are_up_to_date() {
    for (name, page) in generated() {
        let found = read(&root().join("docs/src").join(name));
        let stem = name.trim_end_matches(".md");
        assert!(found == page(), "{name} is not what `slvrc doc {stem} -o docs/src` writes");
    }
}

/// Anchors of the headings of a page, as the book makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut code = false;
    let headings = text.lines().filter(|l| {
        code ^= l.starts_with("```");
        !code && l.starts_with('#')
    });
    let name = |l: &str| {
        let of = l.trim_start_matches('#').trim().chars();
        let of = of.filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
        of.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    headings.map(name).collect()
}

/// Every page is in the table of contents, and every relative link leads to a file and to a heading in it.
#[test]
fn pages_are_linked() {
    let mut wrong = String::new();
    let summary = read(&root().join("docs/src/SUMMARY.md"));
    let mut all = book();
    for name in all.keys().filter(|n| *n != "SUMMARY.md") {
        if !summary.contains(&format!("]({name})")) {
            wrong += &format!("{name} is not in SUMMARY.md\n");
        }
    }
    all.insert("../../README.md".into(), root().join("README.md"));
    for (name, path) in all {
        let text = read(&path);
        let folder = path.parent().expect("a folder");
        let prose: String = text.split('`').step_by(2).collect();
        for link in prose.split("](").skip(1).filter_map(|l| l.split(')').next()) {
            let file = link.split('#').next().unwrap_or("");
            let here =
                !file.is_empty() && !file.contains("://") && !file.contains(char::is_whitespace);
            if here && !folder.join(file).exists() {
                wrong += &format!("{name}: no {link}\n");
            }
            let Some((file, anchor)) = link.split_once('#').filter(|_| !link.contains("://"))
            else {
                continue;
            };
            let to = if file.is_empty() { path.clone() } else { folder.join(file) };
            let page = to.extension().is_some_and(|e| e == "md") && to.exists();
            if page && !anchors(&read(&to)).contains(&anchor.to_string()) {
                wrong += &format!("{name}: no heading {link}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Files of Rust that the book names are there: `passes/mod.rs` is the end of some file's path.
#[test]
fn files_named_in_the_book_exist() {
    fn below(folder: &Path, all: &mut String) {
        for entry in fs::read_dir(folder).expect("a folder").filter_map(Result::ok) {
            let path = entry.path();
            match path.is_dir() {
                true if entry.file_name() == "target" => {}
                true => below(&path, all),
                false => *all += &format!("{}\n", path.display()),
            }
        }
    }
    let mut all = String::new();
    for folder in
        ["circuit", "ring", "runtime", "compiler", "simulation", "node", "slvr", "slvrc", "tests"]
    {
        below(&root().join(folder), &mut all);
    }
    let mut wrong = String::new();
    for (name, path) in book() {
        let text = read(&path);
        for file in text.split('`').skip(1).step_by(2).filter(|s| s.ends_with(".rs")) {
            if !file.contains(char::is_whitespace) && !all.contains(&format!("/{file}\n")) {
                wrong += &format!("{name}: no file {file}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The table of rooms on the page of the architecture has the modules of the compiler's crates, each once.
#[test]
fn rooms_of_the_compiler_are_those_of_the_page() {
    let folders = ["compiler/language", "compiler/graph", "compiler/backend", "compiler"];
    let text = folders.map(|folder| read(&root().join(folder).join("src/lib.rs"))).concat();
    let mut modules: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let page = read(&root().join("docs/src/architecture.md"));
    let (_, rows) = page.split_once("\n| room | ").expect("the table of rooms");
    let mut rooms: Vec<&str> =
        rows.lines().skip(2).map_while(|l| l.strip_prefix("| `")?.split('`').next()).collect();
    modules.sort_unstable();
    rooms.sort_unstable();
    assert_eq!(rooms, modules);
}
