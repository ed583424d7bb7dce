//! Every message of the checker: programs in `fail/` with what the compiler says of them, side by
//! side in one snapshot each; programs in `pass/`, of which it says nothing.
//!
//! A program's first comment says what it tests. A line `// args: m=10 M=LeNet5` binds sizes as the
//! command line does; without it the smallest sizes that fit are chosen. The file's name begins with
//! a code that must be among the messages.

use slvr_compiler::diagnostic::{Diagnostic, Severity, fix, render};
use slvr_compiler::source::FileId;
use slvr_compiler::syntax::{LoadError, Sources, embedded};
use slvr_compiler::types::{Checked, Options, check};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Codes of `types` and `syntax`: each is shown by at least one program in `fail/`.
const COVERED: &[u16] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    29, 31, 32, 35, 36,
];

fn programs(folder: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut all: Vec<PathBuf> = fs::read_dir(&dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|p| p.extension().is_some_and(|e| e == "slvr"))
        .collect();
    all.sort();
    all
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned())
}

fn options(text: &str) -> Options {
    let args = text.lines().find_map(|l| l.strip_prefix("// args:"));
    let bindings = args
        .unwrap_or("")
        .split_whitespace()
        .filter_map(|b| b.split_once('='))
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect();
    Options { bindings, predicate: None, defaults: args.is_none() }
}

/// What the checker says, in which texts, and whether it accepts the program.
fn said(name: &str, text: &str) -> (Vec<Diagnostic>, Sources, bool) {
    let mut sources = Sources::new();
    let file = sources.add(name, text);
    let mut no_files = |_: &str| Err(LoadError::NotFound);
    let (found, accepted) = match check(&mut sources, file, &options(text), &mut no_files) {
        Ok(Checked { warnings, .. }) => (warnings, true),
        Err(errors) => (errors, false),
    };
    (found, sources, accepted)
}

/// The same rendered, and the codes of it.
fn messages(name: &str, text: &str) -> (String, Vec<u16>, bool) {
    let (found, sources, accepted) = said(name, text);
    if !accepted {
        assert!(found.iter().any(|d| d.severity == Severity::Error), "{name}: rejected silently");
    }
    let codes = found.iter().map(|d| d.code.0).collect();
    (render::render(&found, &sources, false), codes, accepted)
}

#[test]
fn fail() {
    let programs = programs("fail");
    assert!(programs.len() >= 30, "only {} programs", programs.len());
    let mut seen = BTreeSet::new();
    let mut wrong = String::new();
    for path in programs {
        let name = stem(&path);
        let text = fs::read_to_string(&path).expect("a readable program");
        let (message, codes, _) = messages(&format!("{name}.slvr"), &text);
        assert!(!codes.is_empty(), "{name}: nothing is wrong with it");
        if let Some(code) = name.get(1..5).and_then(|c| c.parse::<u16>().ok())
            && !codes.contains(&code)
        {
            wrong += &format!("{name} says {codes:?}, not {code}\n");
        }
        seen.extend(codes);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../fail/snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, format!("{text}\n-----\n{message}")));
    }
    assert!(wrong.is_empty(), "{wrong}");
    let missing: Vec<u16> = COVERED.iter().copied().filter(|c| !seen.contains(c)).collect();
    assert!(missing.is_empty(), "no program in fail/ shows {missing:?}");
}

/// Each hint with edits, done alone, leaves a program of which the message is not said any more; all at once, as often as
/// there are any, they come to an end.
#[test]
fn hints_with_edits_do_away_with_their_messages() {
    let mut done = 0;
    for path in programs("fail") {
        let name = stem(&path);
        let text = fs::read_to_string(&path).expect("a readable program");
        let (found, sources, _) = said(&name, &text);
        let file = sources.find(&name).unwrap_or(FileId(0));
        for d in &found {
            let same = |all: &[Diagnostic]| {
                all.iter().filter(|o| o.code == d.code && o.title == d.title).count()
            };
            for (what, edits) in d.fixes(file) {
                let (fixed, _) = fix::apply(&text, [edits]);
                let after = said(&name, &fixed).0;
                assert!(same(&after) < same(&found), "{name}: {what}\n{}\n{fixed}", d.title);
                done += 1;
            }
        }
        let mut all = text;
        for round in 0.. {
            assert!(round < 16, "{name} is fixed for ever:\n{all}");
            let (found, sources, _) = said(&name, &all);
            let file = sources.find(&name).unwrap_or(FileId(0));
            let first = found.iter().filter_map(|d| d.fixes(file).next());
            let (fixed, count) = fix::apply(&all, first.map(|(_, edits)| edits));
            if count == 0 {
                break;
            }
            all = fixed;
        }
    }
    println!("{done} hints with edits");
    assert!(done > 30, "only {done}");
}

#[test]
fn pass() {
    let programs = programs("pass");
    assert!(programs.len() >= 8, "only {} programs", programs.len());
    for path in programs {
        let name = stem(&path);
        let text = fs::read_to_string(&path).expect("a readable program");
        let (message, codes, accepted) = messages(&format!("{name}.slvr"), &text);
        assert!(accepted && codes.is_empty(), "{name}:\n{message}");
    }
}

#[test]
fn every_predicate_checks_without_bindings() {
    assert!(embedded::PREDICATES.len() >= 6);
    for (name, text) in embedded::PREDICATES {
        let (message, codes, accepted) = messages(name, text);
        assert!(accepted && codes.is_empty(), "{name}:\n{message}");
    }
}
