//! The tools around the language: `slvrc fmt`, `explain`, `doc`, `completions`.

use slvr_circuit::Security;
use slvr_compiler::diagnostic::explain::{args, explain};
use slvr_compiler::diagnostic::{Code, codes, render};
use slvr_compiler::ide::doc::examples;
use slvr_compiler::lower::Target;
use slvr_compiler::pipeline;
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::syntax;
use slvr_compiler::syntax::ast::FileId;
use slvr_compiler::types::{self, Checked, Options};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn slvrc(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slvrc"));
    command.args(args).output().expect("slvrc runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every `.slvr` file below `predicates/`.
fn predicates() -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![root().join("predicates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "slvr") {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

#[test]
fn predicates_are_formatted() {
    let all = predicates();
    assert!(all.len() >= 15, "only {} files", all.len());
    for path in all {
        let text = fs::read_to_string(&path).expect("a readable file");
        let formatted = syntax::format(FileId(0), &text).expect("parses");
        assert_eq!(formatted, text, "{}", path.display());
    }
}

#[test]
fn fmt_formats_in_place() {
    let dir = tempfile::tempdir().expect("a folder");
    let (messy, clean) = (dir.path().join("messy.slvr"), dir.path().join("clean.slvr"));
    let (messy_name, clean_name) = (messy.display().to_string(), clean.display().to_string());
    fs::write(&messy, "fn f(x:fix)->fix{x+1} // one\nuse   std::{sum};").expect("writes");
    fs::write(&clean, "use std::{sum};\n").expect("writes");

    let checked = slvrc(&["fmt", "--check", &messy_name, &clean_name]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(stderr(&checked).contains("messy.slvr"), "{}", stderr(&checked));
    assert!(!stderr(&checked).contains("clean.slvr"), "{}", stderr(&checked));
    assert!(fs::read_to_string(&messy).expect("reads").starts_with("fn f(x:fix)"));

    assert_eq!(slvrc(&["fmt", &messy_name, &clean_name]).status.code(), Some(0));
    let want = "fn f(x: fix) -> fix {\n    x + 1\n} // one\n\nuse std::{sum};\n";
    assert_eq!(fs::read_to_string(&messy).expect("reads"), want);
    assert_eq!(slvrc(&["fmt", "--check", &messy_name, &clean_name]).status.code(), Some(0));
    let names: Vec<_> = fs::read_dir(dir.path()).expect("a folder").collect();
    assert_eq!(names.len(), 2, "nothing is left behind: {names:?}");
}

#[test]
fn fmt_leaves_what_does_not_parse() {
    let dir = tempfile::tempdir().expect("a folder");
    let (broken, messy) = (dir.path().join("broken.slvr"), dir.path().join("messy.slvr"));
    fs::write(&broken, "fn f(").expect("writes");
    fs::write(&messy, "const A=1;").expect("writes");
    let done = slvrc(&["fmt", &broken.display().to_string(), &messy.display().to_string()]);
    assert_eq!(done.status.code(), Some(1));
    assert!(stderr(&done).contains("E0002"), "{}", stderr(&done));
    assert_eq!(fs::read_to_string(&broken).expect("reads"), "fn f(");
    assert_eq!(fs::read_to_string(&messy).expect("reads"), "const A = 1;\n");
}

/// Layouts that mean something to their author stay; what is merely untidy does not.
#[test]
fn fmt_keeps_alignment_by_hand() {
    let format = |text: &str| syntax::format(FileId(0), text).expect("parses");
    let kept = "\
fn f[n](x: fix[n]) -> fix {
    let gain = [[hits(x[i], x[j])
                 for j in n] for i in n];
    sum(gain[0])
}
";
    assert_eq!(format(kept), kept);
    // What is broken by hand moves along with where it begins.
    let moved = format(&kept.replace("let gain = [[", "let gain=[["));
    assert_eq!(moved, kept.replace("                 for", "                   for"));
    // Left of its statement, or longer than a line, it is broken anew.
    let left = kept.replace("                 for", "for");
    let flat = kept.replace("\n                 for", " for");
    assert_eq!(format(&left), flat);
    let long = kept.replace("x[j])\n", &format!("{})\n", ["x[j]"; 20].join(" + ")));
    let broken = format(&long);
    assert!(broken.lines().all(|l| l.len() <= 100), "{broken}");
    assert_eq!(format(&broken), broken);
    let untidy = "const A = [1,2,\n  3];\nconst B = [1,\n2];\nconst C = (1 +\n    2);\n";
    assert_eq!(format(untidy), "const A = [1, 2, 3];\nconst B = [1, 2];\nconst C = 1 + 2;\n");
}

#[test]
fn completions_name_the_verbs() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = slvrc(&["completions", shell]);
        assert_eq!(done.status.code(), Some(0), "{shell}");
        for verb in ["fmt", "explain", "completions"] {
            assert!(stdout(&done).contains(verb), "{shell}: {verb}");
        }
    }
}

/// What the compiler says of a program of an explanation: codes and text.
fn messages(text: &str, build: Option<Security>) -> (Vec<Code>, String) {
    let mut sources = Sources::new();
    let file = sources.add("example.slvr", text);
    let bindings = args(text);
    let defaults = bindings.is_none();
    let options = Options { bindings: bindings.unwrap_or_default(), predicate: None, defaults };
    let mut none = |_: &str| Err(LoadError::NotFound);
    let found = match types::check(&mut sources, file, &options, &mut none) {
        Ok(Checked { program, mut warnings, .. }) => {
            if let Some(security) = build {
                let target = Target::new(security, Target::default().family());
                let options = pipeline::Options { target, ..pipeline::Options::default() };
                match pipeline::compile_with(&program, &sources, options, |_, _| {}) {
                    Ok(compiled) => warnings.extend(compiled.warnings),
                    Err(refused) => warnings.extend(refused),
                }
            }
            warnings
        }
        Err(errors) => errors,
    };
    let codes = found.iter().map(|d| d.code).collect();
    (codes, render::render(&found, &sources, false))
}

#[test]
fn every_code_is_explained() {
    let mut wrong = String::new();
    for &(code, title) in codes::ALL {
        let e = explain(code).unwrap_or_else(|| panic!("{code} has no explanation"));
        assert_eq!((e.code, e.title), (code, title));
        assert!(!e.rule.is_empty(), "{code}");
        let examples = e.examples;
        assert!(!examples.why.is_empty(), "{code}");
        let (found, text) = messages(examples.mistake, examples.build);
        if found.is_empty() || found.iter().any(|c| *c != code) {
            wrong += &format!("the mistake of {code}: {found:?}\n{text}\n");
        }
        let (found, text) = messages(examples.mended, examples.build);
        if !found.is_empty() {
            wrong += &format!("{code}, mended: {found:?}\n{text}\n");
        }
        for program in [examples.mistake, examples.mended] {
            match syntax::format(FileId(0), program) {
                Ok(formatted) if formatted != program => {
                    wrong += &format!("{code} is not formatted:\n{formatted}\n");
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn doc_writes_pages() {
    let dir = tempfile::tempdir().expect("a folder");
    let name = dir.path().display().to_string();
    assert_eq!(slvrc(&["doc", "-o", &name]).status.code(), Some(0));
    let page = |name: &str| fs::read_to_string(dir.path().join(name)).expect("a page");
    assert!(page("std.md").starts_with("# The standard library"));
    assert!(page("models.md").contains("## `LeNet5`"));
    assert!(page("predicates.md").contains("\n## krum\n\n`Krum[M: model, m, f]()`\n"));

    let file = dir.path().join("own.slvr");
    fs::write(&file, "// Mine.\n\n// Twice as much.\nfn twice(x: fix) -> fix {\n    2 * x\n}\n")
        .expect("writes");
    let shown = slvrc(&["doc", &file.display().to_string()]);
    let want = "# own\n\nMine.\n\n```slvr\nfn twice(x: fix) -> fix\n```\n\nTwice as much.\n";
    assert_eq!(stdout(&shown), want);
    assert_eq!(slvrc(&["doc", "nothing-of-this-name"]).status.code(), Some(1));
}

/// The grammar for editors knows every keyword and every layer, and no word that is none.
#[test]
fn editors_know_the_keywords_and_layers() {
    let folder = root().join("docs/editor");
    let json = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).expect("a file of the extension");
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let grammar = json("syntaxes/slvr.tmLanguage.json");
    let mut words = Vec::new();
    for pattern in grammar["repository"]["keywords"]["patterns"].as_array().expect("patterns") {
        let pattern = pattern["match"].as_str().expect("an expression");
        let list = pattern.strip_prefix("\\b(").and_then(|p| p.strip_suffix(")\\b"));
        words.extend(list.expect("a list of words").split('|').map(str::to_owned));
    }
    words.sort();
    assert_eq!(words, slvr_compiler::syntax::KEYWORDS);

    let layers = grammar["repository"]["layers"]["patterns"][0]["match"].as_str();
    let layers = layers.and_then(|p| p.strip_prefix("\\b(?:")?.strip_suffix(")\\b"));
    let mut known: Vec<&str> = layers.expect("a list of layers").split('|').collect();
    let mut all: Vec<&str> = examples::layers().map(|l| l.name).chain(["param"]).collect();
    known.sort_unstable();
    all.sort_unstable();
    assert_eq!(known, all, "layers that the grammar for editors knows");

    let package = json("package.json");
    assert_eq!(package["contributes"]["languages"][0]["extensions"][0], ".slvr");
    assert_eq!(package["contributes"]["grammars"][0]["scopeName"], grammar["scopeName"]);
    for path in [
        &package["contributes"]["languages"][0]["configuration"],
        &package["contributes"]["grammars"][0]["path"],
        &package["main"],
    ] {
        let path = path.as_str().expect("a path");
        assert!(folder.join(path).is_file(), "{path}");
    }
    json("language-configuration.json");
}

/// A file as `slvrc check --fix` leaves it, and what `slvrc check` says of it then.
fn fixed(text: &str) -> (String, Output) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.slvr");
    fs::write(&path, text).expect("a file");
    let file = path.display().to_string();
    let first = slvrc(&["check", "--fix", &file]);
    assert!(stderr(&first).contains(" fixed\n"), "{}", stderr(&first));
    (fs::read_to_string(&path).expect("a file"), slvrc(&["check", "--json", &file]))
}

#[test]
fn check_fix_does_what_hints_say() {
    let head = "predicate P[m]() {\n    parties Client[m];\n    parties Server;\n\n    input x: ";
    let rest = "    reveal sum(x) to Server as y;\n}\n";
    let wrong = format!("{head}fix in -8..8 from each Clien;\n{rest}");
    let (text, after) = fixed(&wrong);
    let right = format!("use std::{{sum}};\n\n{head}secret fix in -8..8 from each Client;\n{rest}");
    assert_eq!(text, right);
    assert!(after.status.success(), "{}", stdout(&after));

    // What the compiler finds behind the types: a range with which every value fits, and a cut.
    let wide = format!(
        "use std::{{norm, sum}};\n\n{head}secret fix in -1000..1000 from each Client;\n\n    \
         let z = [norm([x[i]^3, x[i]]) for i in Client];\n{rest}"
    );
    let wide = wide.replace("sum(x)", "sum(z)");
    let (text, after) = fixed(&wide);
    assert!(!text.contains("-1000..1000") && after.status.success(), "{text}\n{}", stdout(&after));
    let cut = syntax::embedded::GALLERY.iter().find(|(name, _)| name.contains("backdoor_trigger"));
    let (text, after) = fixed(cut.expect("a file").1);
    assert!(text.contains("{\n    require cut >= "), "{text}");
    assert!(!stdout(&after).contains("E0028"), "{}", stdout(&after));

    let none = slvrc(&["check", "--fix", "krum"]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
}
