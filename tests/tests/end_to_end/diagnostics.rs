//! Every message of the checker: programs in `fail/` with what the compiler says of them, side by
//! side in one snapshot each; programs in `pass/`, of which it says nothing.
//!
//! A program's first comment says what it tests. A line `// args: m=10 M=LeNet5` binds sizes as the
//! command line does; without it the smallest sizes that fit are chosen. The file's name begins with
//! a code that must be among the messages.

use slvr_compiler::diagnostic::{Diagnostic, Edit, Severity, codes, render};
use slvr_compiler::ide::{Document, Lines, Where};
use slvr_compiler::source::{FileId, LoadError, Sources};
use slvr_compiler::syntax::embedded;
use slvr_compiler::syntax::fixes::{apply, fixes};
use slvr_compiler::syntax::lexer::lex;
use slvr_compiler::types::{Checked, Options, check};
use slvr_tests::bindings;
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
    let all = bindings(args.unwrap_or(""));
    let bindings = all.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
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
            for (what, edits) in fixes(d, file, &text) {
                let (fixed, _) = apply(&text, [edits.as_slice()]);
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
            let first = found.iter().filter_map(|d| fixes(d, file, &all).into_iter().next());
            let edits: Vec<_> = first.map(|(_, edits)| edits).collect();
            let (fixed, count) = apply(&all, edits.iter().map(Vec::as_slice));
            if count == 0 {
                break;
            }
            all = fixed;
        }
    }
    println!("{done} hints with edits");
    assert!(done > 30, "only {done}");
}

/// What a program's hints would make of it: of each that has edits its code, its title, what it says and the text with it done,
/// with the edits.
type Fixed = (u16, String, String, String, Vec<Edit>);

fn fixed(name: &str, text: &str) -> Vec<Fixed> {
    let (found, sources, _) = said(name, text);
    let file = sources.find(name).unwrap_or(FileId(0));
    let of = |d: &Diagnostic| {
        let all = fixes(d, file, text).into_iter();
        let one = |(what, edits): (&str, Vec<Edit>)| {
            let (done, _) = apply(text, [edits.as_slice()]);
            (d.code.0, d.title.clone(), what.to_owned(), done, edits)
        };
        all.map(one).collect::<Vec<_>>()
    };
    found.iter().flat_map(of).collect()
}

/// Names of the library that edits put into a text, each with whether it means the library's thing there.
fn written(done: &str, edits: &[Edit]) -> Vec<(String, bool)> {
    let document = Document::new("fixed.slvr", done);
    let lines = Lines::new(done);
    let mut out = Vec::new();
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|e| e.at.start);
    let mut moved = 0i64;
    for edit in sorted {
        let base = (i64::from(edit.at.start) + moved) as usize;
        moved += edit.text.len() as i64 - edit.at.range().len() as i64;
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let mut rest = edit.text.as_str();
        while let Some(start) = rest.find(word) {
            let end = rest[start..].find(|c| !word(c)).map_or(rest.len(), |i| start + i);
            let name = &rest[start..end];
            let at = base + edit.text.len() - rest.len() + start;
            let place = document.definition(lines.position(done, at));
            if is_std(name) {
                let library = place.is_some_and(|p| matches!(p.file, Where::Library(_)));
                out.push((name.to_owned(), library));
            }
            rest = &rest[end..];
        }
    }
    out
}

fn is_std(name: &str) -> bool {
    let head = [format!("fn {name}["), format!("fn {name}(")];
    embedded::STD.iter().any(|(_, text)| head.iter().any(|h| text.contains(h)))
}

/// A name that a hint writes and that means the library's thing means it in every other program, too: where the file has an item
/// of that name, and where the item at hand has a parameter, a size or a value of it.
#[test]
fn names_that_hints_write_mean_the_library() {
    let mut seen = 0;
    for path in programs("fail") {
        let name = stem(&path);
        let text = fs::read_to_string(&path).expect("a readable program");
        let plain = fixed(&name, &text);
        for (code, _, what, done, edits) in &plain {
            for (word, library) in written(done, edits) {
                if !library {
                    continue;
                }
                let own = [
                    format!("{text}\nfn {word}(x: fix) -> fix {{ x }}\n"),
                    format!("{text}\nconst {word} = 1;\n"),
                    format!(
                        "{text}\npredicate {word}() {{ parties Own; input x_: public fix; reveal x_ to Own as x_; }}\n"
                    ),
                    text.replacen(
                        "    parties Server;\n",
                        &format!("    parties Server;\n    let {word} = 1;\n"),
                        1,
                    ),
                    text.replacen("[m", &format!("[{word} = 2, m"), 1),
                ];
                // A name that is imported and defined is an error, of which it is said enough.
                let twice = |m: &str| said(&name, m).0.iter().any(|d| d.code == codes::DUPLICATE);
                for mutant in own.iter().filter(|m| **m != text && !twice(m)) {
                    for (c, _, w, done, edits) in fixed(&name, mutant) {
                        if c != *code || w != *what {
                            continue;
                        }
                        let all = written(&done, &edits);
                        let wrong = all.iter().find(|(n, library)| *n == word && !library);
                        assert_eq!(wrong, None, "{name}: {what}\n{done}");
                        seen += 1;
                    }
                }
            }
        }
    }
    println!("{seen} names");
    assert!(seen > 20, "only {seen}");
}

/// Edits leave comments and line ends as they are, and no blank line or space where something was: of each program, with lines that
/// end in two characters, and with a comment at the end of each line and in each bracket.
#[test]
fn hints_leave_comments_and_lines_alone() {
    let comments = |text: &str| -> Vec<String> {
        let all = lex(FileId(0), text).comments;
        let mut all: Vec<String> = all.iter().map(|c| c.text.trim_end().to_owned()).collect();
        all.sort();
        all
    };
    let holes = |text: &str| {
        let blank: Vec<bool> = text.lines().map(|l| l.trim().is_empty()).collect();
        let doubled = blank.windows(2).filter(|w| w[0] && w[1]).count();
        let trailing = text.lines().filter(|l| l.ends_with([' ', '\t'])).count();
        (doubled, trailing, usize::from(blank.first() == Some(&true)))
    };
    let mut seen = 0;
    for path in programs("fail") {
        let name = stem(&path);
        let text = fs::read_to_string(&path).expect("a readable program");
        let lf = text.replace("\r\n", "\n");
        let mut noted = String::new();
        for (i, line) in lf.lines().enumerate() {
            noted += &if line.contains("//") {
                format!("{line}\n")
            } else {
                format!("{line} // {i}.\n")
            };
        }
        let bracketed = lf.replace("{ ", "{ // In.\n ").replace(" }", " // Out.\n}");
        for text in [lf.replace('\n', "\r\n"), noted, bracketed, lf] {
            let (before, crlf) = (comments(&text), text.contains("\r\n"));
            for (_, _, what, done, edits) in fixed(&name, &text) {
                let words = |e: &Edit| {
                    lex(FileId(0), &text).comments.iter().any(|c| {
                        c.start < e.at.start as usize && e.at.end as usize <= c.start + c.text.len()
                    })
                };
                if !edits.iter().any(words) {
                    assert_eq!(comments(&done), before, "{name}: {what}\n{done}");
                }
                let bare = done.replace("\r\n", "");
                assert!(!crlf || !bare.contains('\n'), "{name}: {what}\n{done:?}");
                let ((a, b, c), (x, y, z)) = (holes(&text), holes(&done));
                assert!(x <= a && y <= b && z <= c, "{name}: {what}\n{done}");
                seen += 1;
            }
        }
    }
    println!("{seen} edits");
    assert!(seen > 150, "only {seen}");
}

/// Imports are put behind the comment that begins a file, and not between an item and its comment.
#[test]
fn imports_stand_behind_the_comment_of_the_file() {
    let body = "predicate P[m]() {\n    parties Client[m];\n    parties Server;\n    input x: secret fix[2] in -1..1 from each \
                Client;\n    reveal [norm(x[i]) for i in Client] to Server as n;\n}\n";
    let short = "// Whether it is short.\nfn short(x: fix) -> bit { abs(x) < 1 }\n";
    let import = |name: &str| format!("use std::{{{name}}};\n\n");
    for (text, wanted) in [
        (body.to_owned(), import("norm") + body),
        (format!("// What it is.\n{body}"), format!("// What it is.\n{}{body}", import("norm"))),
        (
            format!("// A.\n// B.\n\n// C.\n{body}"),
            format!("// A.\n// B.\n\n{}// C.\n{body}", import("norm")),
        ),
        (short.to_owned(), import("abs") + short),
        (
            format!("// slvr: m=3\n{short}"),
            format!(
                "// slvr: m=3\n// Whether it is short.\n{}fn short(x: fix) -> bit {{ abs(x) < 1 }}\n",
                import("abs")
            ),
        ),
    ] {
        let done = fixed("a.slvr", &text);
        let first = done.iter().find(|(code, ..)| *code == 4).expect("an unknown name");
        assert_eq!(first.3, wanted);
    }
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
