//! Answers about whole predicates, about half of them, and about anything.

use super::*;
use crate::diagnostic::Severity;
use crate::source::FileId;
use crate::syntax::embedded;
use proptest::prelude::*;

const TEXT: &str = "\
// What it is.
use std::{lower_median, norm, sum};

// The long ones.
fn long[n](x: fix[n]) -> bit {
    norm(x) > 1
}

model Net(x: fix[1, 4, 4]) -> fix[2] {
    conv: conv2d[1, 3, kernel = 3];
    fc:   linear[12, 2];

    x |> conv |> relu |> flatten |> fc
}

predicate P[m](lambda: fix = 1.5) {
    require m > 2;
    require error(size) <= 2^-3;
    parties Client[m];
    parties Server;

    // An update; é𝒳 are letters.
    input update: secret weights Net in -8..8 from each Client;
    input label: secret int in 0..Net.classes from each Client;

    let size = [norm(update[i]) for i in Client];
    let keep = [size[i] < lambda * lower_median(size) for i in Client];

    reveal sum(keep[i] * label[i] for i in Client) to Server as total;
}
";

/// The place of the nth occurrence of a text, and so many characters further.
fn place(text: &str, what: &str, nth: usize, further: usize) -> Position {
    let (at, _) = text.match_indices(what).nth(nth).unwrap_or_else(|| panic!("no {what}"));
    Lines::new(text).position(text, at + further)
}

fn hovered(what: &str, nth: usize) -> String {
    hover("p.slvr", TEXT, place(TEXT, what, nth, 0)).map_or(String::new(), |h| h.text)
}

/// The text that a definition points at.
fn defined(text: &str, at: Position) -> Option<(Where, String)> {
    let place = definition("p.slvr", text, at)?;
    let source = match place.file {
        Where::Here => text,
        Where::Library(name) => embedded::get(name).expect("a file of the library"),
    };
    let lines = Lines::new(source);
    let (start, end) =
        (lines.offset(source, place.range.start), lines.offset(source, place.range.end));
    let line = source[start..].lines().next().unwrap_or("");
    assert!(end > start);
    Some((place.file, line.to_owned()))
}

#[test]
fn the_text_is_right() {
    let problems = diagnostics("p.slvr", TEXT);
    assert!(problems.iter().all(|p| p.severity == Severity::Warning), "{problems:#?}");
}

#[test]
fn hovers() {
    let all = [
        ("long", 1),
        ("norm", 1),
        ("x)", 0),
        ("conv", 0),
        ("conv2d", 0),
        ("fc", 0),
        ("Net", 1),
        ("Net", 0),
        ("classes", 0),
        ("m]", 0),
        ("lambda", 1),
        ("size", 0),
        ("size[", 0),
        ("keep", 0),
        ("update", 2),
        ("label", 0),
        ("Client", 0),
        ("i]", 0),
        ("total", 0),
        ("error", 0),
        ("sum(", 0),
    ];
    let shown = all.map(|(what, nth)| format!("--- {what} {nth}\n{}\n", hovered(what, nth)));
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("hovers", shown.join("\n"));
    });
    assert_eq!(hovered("predicate", 0), "", "keywords say nothing");
    assert_eq!(hovered("// What", 0), "");
}

#[test]
fn definitions() {
    let find = |what, nth| defined(TEXT, place(TEXT, what, nth, 1));
    let here = |line: &str| Some((Where::Here, line.to_owned()));
    assert_eq!(find("long", 1), here("long[n](x: fix[n]) -> bit {"));
    assert_eq!(find("update", 2), here("update: secret weights Net in -8..8 from each Client;"));
    assert_eq!(find("size)", 0), here("size = [norm(update[i]) for i in Client];"));
    assert_eq!(find("size[", 0), here("size = [norm(update[i]) for i in Client];"));
    assert_eq!(find("lambda *", 0), here("lambda: fix = 1.5) {"));
    assert_eq!(find("Net.", 0), here("Net(x: fix[1, 4, 4]) -> fix[2] {"));
    assert_eq!(find("fc\n", 0), here("fc:   linear[12, 2];"));
    assert_eq!(find("conv2d", 0), None, "a name of the compiler");
    let (file, line) = find("lower_median", 1).expect("the library");
    assert_eq!(file, Where::Library("std/stats.slvr"));
    assert!(line.starts_with("lower_median[n]"), "{line}");
    // The same name in the import.
    assert_eq!(find("lower_median", 0), find("lower_median", 1));
}

/// Loops, tuples and tensors: names within a step are those of the step.
#[test]
fn names_of_loops_are_known() {
    let text = "\
use std::{max, sum};

fn both(x: fix) -> (fix, fix) { (x, 2 * x) }

predicate P[M: model, m]() {
    parties Client[m];
    parties Server;
    input w: secret weights M in -8..8 from each Client;

    let (low, high) = both(0.5);
    let (p, q) = iterate (p = 0, q: fix in 0..9 = low) for step in 3 {
        let next = p + q + step;
        (next, q)
    };

    reveal p + high + sum(max(w[i].fc1.bias) for i in Client) + M.tensors to Server as p;
}
";
    let problems = diagnostics("p.slvr", text);
    assert!(problems.iter().all(|p| p.severity == Severity::Warning), "{problems:#?}");
    let find = |what, nth| defined(text, place(text, what, nth, 0)).map(|(_, line)| line);
    let of = |line: &str| Some(line.to_owned());
    assert_eq!(find("p + q", 0), of("p = 0, q: fix in 0..9 = low) for step in 3 {"));
    assert_eq!(
        find("p + high", 0),
        of("p, q) = iterate (p = 0, q: fix in 0..9 = low) for step in 3 {")
    );
    assert_eq!(find("high +", 0), of("high) = both(0.5);"));
    assert_eq!(find("step;", 0), of("step in 3 {"));
    assert_eq!(find("next, q", 0), of("next = p + q + step;"));
    assert_eq!(find("low)", 0), of("low, high) = both(0.5);"));
    let shown = |what, nth| hover("p.slvr", text, place(text, what, nth, 0)).expect("a hover").text;
    assert!(shown("p = 0", 0).contains("iterate p: public fix"), "{}", shown("p = 0", 0));
    assert!(shown("tensors", 0).contains("M.tensors"), "{}", shown("tensors", 0));
}

/// Whatever functions have the names of their words.
#[test]
fn demands_are_not_about_functions() {
    let text = "\
fn epsilon(x: fix) -> fix { x }
fn error(x: fix) -> fix { x }
fn failure(x: fix) -> fix { x }

predicate P[m]() {
    require failure <= 2^-20;
    require error(total) <= 2^-3;
    require epsilon(0.00001) <= 8;
    parties Client[m];
    parties Server;
    input x: secret fix in -8..8 from each Client;
    let total = sum(epsilon(failure(error(x[i]))) for i in Client);
    reveal total to Server as result;
}
";
    let d = Document::new("p.slvr", text);
    for name in ["epsilon", "error", "failure"] {
        let used = d.usages(place(text, name, 0, 0));
        let lines: Vec<u32> = used.iter().map(|u| u.range.start.line).collect();
        let own = text.lines().position(|l| l.starts_with(&format!("fn {name}"))).expect("it");
        assert_eq!(lines, [own as u32, 11], "{name}");
    }
    let demanded = d.usages(place(text, "total", 0, 0));
    assert_eq!(demanded.len(), 3, "demanded, defined and revealed");
}

#[test]
fn half_a_statement_leaves_the_rest() {
    let text = TEXT.replace("    reveal sum(", "    let x = norm(upd\n    reveal sum(");
    let problems = diagnostics("p.slvr", &text);
    assert!(!problems.is_empty() && problems.iter().all(|p| p.code == "E0002"), "{problems:#?}");
    let found = defined(&text, place(&text, "lower_median(size)", 0, 0));
    assert!(matches!(found, Some((Where::Library(_), _))), "{found:?}");
    let shown = hover("p.slvr", &text, place(&text, "update: ", 0, 0)).expect("an input");
    assert!(shown.text.contains("input update: secret weights Net in -8..8"), "{}", shown.text);
    assert!(shown.text.contains("An update"), "{}", shown.text);
}

#[test]
fn problems_have_places_codes_and_hints() {
    let text = TEXT.replace("lower_median(size)", "lower_median(siz)");
    let problems = diagnostics("p.slvr", &text);
    let unknown: Vec<_> = problems.iter().filter(|p| p.code == "E0004").collect();
    let [one] = unknown[..] else { panic!("{problems:#?}") };
    assert_eq!(one.range.start, place(&text, "siz)", 0, 0));
    assert_eq!(one.range.end, place(&text, "siz)", 0, 3));
    assert!(one.message.contains("did you mean `size`?"), "{}", one.message);

    // An error inside a library function is shown at its call, which points into the library.
    let text = TEXT
        .replace("lower_median(size)", "trimmed_mean[m, 0](size)")
        .replace("lower_median,", "trimmed_mean,");
    let problems = diagnostics("p.slvr", &text);
    let into_std = |p: &&Problem| {
        p.related.iter().any(|(place, _)| place.file == Where::Library("std/stats.slvr"))
    };
    let found = problems.iter().find(into_std).unwrap_or_else(|| panic!("{problems:#?}"));
    assert_eq!(found.range.start, place(&text, "trimmed_mean[", 0, 0));
}

/// Problems behind letters that take two units, and places in such lines.
#[test]
fn places_count_utf16_units() {
    let text = "// 𝒳\nconst A = /* */ 1;".replace("/* */ ", "");
    assert_eq!(
        diagnostics("a.slvr", &text).iter().map(|p| p.code.as_str()).collect::<Vec<_>>(),
        ["E0029"]
    );
    let text = "const A = 1; // 𝒳𝒳\nconst 𝒳 = 1;";
    let problems = diagnostics("a.slvr", text);
    let range = problems.first().expect("an error").range;
    assert_eq!(range.start, Position { line: 1, character: 6 });
    assert_eq!(range.end, Position { line: 1, character: 8 });
}

#[test]
fn files_without_a_predicate_are_libraries() {
    for text in ["fn twice(x: fix) -> fix {\n    2 * x\n}\n", ""] {
        let found = diagnostics("a.slvr", text);
        assert_eq!(found.iter().map(|p| p.code.as_str()).collect::<Vec<_>>(), ["E0029"]);
    }
    // Those of `std` are no programs at all.
    for (name, text) in [embedded::STD, embedded::MODELS].into_iter().flatten() {
        let found = diagnostics(&format!("file:///home/me/{name}"), text);
        let models = embedded::MODELS.iter().any(|(n, _)| n == name);
        let wanted: &[&str] = if models { &["E0029"] } else { &[] };
        assert_eq!(found.iter().map(|p| p.code.as_str()).collect::<Vec<_>>(), wanted, "{name}");
    }
    // A file of functions is resolved all the same, and its models are typed.
    let wrong = diagnostics("a.slvr", "fn twice(x: fix) -> fix {\n    2 * y\n}\n");
    assert_eq!(wrong.iter().map(|p| p.code.as_str()).collect::<Vec<_>>(), ["E0029", "E0004"]);
    let model = "model Net(x: fix[4]) -> fix[2] {\n    fc: linear[5, 2];\n\n    x |> fc\n}\n";
    let wrong = diagnostics("a.slvr", model);
    assert_eq!(wrong.iter().map(|p| p.code.as_str()).collect::<Vec<_>>(), ["E0029", "E0009"]);
    assert_eq!(wrong[1].range.start.line, 3, "{wrong:#?}");
}

#[test]
fn library_files_see_each_other() {
    let text = embedded::get("std/classify.slvr").expect("a file");
    let at = place(text, "exp(x", 0, 0);
    let found = definition("/cache/std/classify.slvr", text, at).expect("a definition");
    assert_eq!(found.file, Where::Library("std/arith.slvr"));
    let shown = hover("/cache/std/classify.slvr", text, at).expect("a hover");
    assert!(shown.text.contains("extern fn exp(x: fix) -> fix"), "{}", shown.text);
}

#[test]
fn formatting_is_one_small_edit() {
    assert_eq!(format("const A = 1;\n"), None);
    assert_eq!(format("const A = ;\n"), None, "syntax errors");
    let text = "const A = 1;\nconst   B=2;\nconst C = 3;\n";
    let edit = format(text).expect("an edit");
    assert_eq!((edit.range.start.line, edit.range.end.line), (1, 2));
    assert_eq!(edit.text, "const B = 2;\n");
    for text in ["const A=1;", "\n\nconst A = 1;\n\n\n", "const A = 1;", "const A=1;const B=2;"] {
        assert_eq!(apply(text), crate::syntax::format(FileId(0), text).expect("parses"));
    }
}

/// A text with its formatting edit applied.
fn apply(text: &str) -> String {
    let Some(edit) = format(text) else { return text.to_owned() };
    let lines = Lines::new(text);
    let mut new = text.to_owned();
    let range = lines.offset(text, edit.range.start)..lines.offset(text, edit.range.end);
    new.replace_range(range, &edit.text);
    new
}

/// What every text must bear.
fn robust(text: &str) -> Result<(), TestCaseError> {
    let document = Document::new("x.slvr", text);
    let typed = document.check();
    for p in document.problems(Some(&typed)) {
        prop_assert!(p.range.start <= p.range.end, "{:?}", p);
    }
    let lines = Lines::new(text);
    for at in (0..text.len()).step_by(7) {
        let at = lines.position(text, at);
        document.hover(at, Some(&typed));
        document.definition(at);
    }
    if let Ok(formatted) = crate::syntax::format(FileId(0), text) {
        prop_assert_eq!(apply(text), formatted);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        robust(&text)?;
    }

    #[test]
    fn any_prefix_is_survived(
        file in prop::sample::select(embedded::PREDICATES.iter().map(|f| f.1).collect::<Vec<_>>()),
        at in any::<prop::sample::Index>(),
        rest in prop_oneof![Just(true), Just(false)],
    ) {
        let mut end = at.index(file.len() + 1);
        while !file.is_char_boundary(end) {
            end -= 1;
        }
        // A prefix, and the whole with a hole of some length.
        let hole = file[end..].char_indices().nth(9).map_or(file.len(), |(i, _)| end + i);
        let text = if rest { format!("{}{}", &file[..end], &file[hole..]) } else { file[..end].into() };
        robust(&text)?;
    }
}

/// Labels that are offered where `|` stands in a text.
fn offered(text: &str) -> Vec<String> {
    let (before, after) = text.split_once('|').expect("a place");
    let whole = format!("{before}{after}");
    let at = Lines::new(&whole).position(&whole, before.len());
    Document::new("a.slvr", &whole).complete(at).into_iter().map(|c| c.label).collect()
}

/// Whether all of these are offered, and none of those.
#[track_caller]
fn offers(text: &str, some: &[&str], none: &[&str]) {
    let found = offered(text);
    for word in some {
        assert!(found.iter().any(|f| f == word), "{word} is not among {found:?}");
    }
    for word in none {
        assert!(!found.iter().any(|f| f == word), "{word} is among {found:?}");
    }
}

#[test]
fn completion_of_words_where_items_and_statements_begin() {
    offers("|", &["predicate", "model", "use", "fn"], &["let", "input", "norm"]);
    offers("fn f(x: fix) -> fix { x }\npre|", &["predicate"], &["model"]);
    let head = "predicate P[m](bound: fix = 1) { parties Client[m];\n";
    offers(
        &format!("{head} |"),
        &["input", "state", "store", "sample", "reveal"],
        &["norm", "model"],
    );
    offers(&format!("{head} st|"), &["state", "store"], &["sample"]);
    offers(&format!("{head} let |"), &[], &["norm", "m"]);
    offers(&format!("{head} input x: |"), &["secret", "fix", "weights"], &["norm", "input"]);
    offers(
        &format!("{head} input x: secret fix in -1..1 from each |"),
        &["Client"],
        &["m", "norm"],
    );
    offers(&format!("{head} sample z: fix[3] from |"), &["gaussian", "laplace"], &["Client", "m"]);
    offers(&format!("{head} sample z: fix[3] from g|"), &["gaussian"], &["laplace"]);
    offers(&format!("{head} let x = iterate |"), &[], &["norm", "m"]);
}

#[test]
fn completion_of_names_in_scope_and_functions_of_std() {
    let head = "use std::{norm, sum};\nconst N = 3;\nfn own(x: fix) -> fix { x }\n\
        predicate P[m](bound: fix = 1) { parties Client[m]; parties Server;\n\
        input update: secret fix[3] in -8..8 from each Client;\n\
        state history: secret fix in -8..8 = 0; let (low, high) = (1, 2);\n";
    let names = ["update", "history", "low", "high", "bound", "m", "N", "own", "norm", "Client"];
    offers(&format!("{head} let keep = [|"), &names, &["x", "input"]);
    offers(&format!("{head} let keep = [norm(u|"), &["update"], &["history"]);
    offers(&format!("{head} let keep = [norm(update[i]) for i in C|"), &["Client"], &["m"]);
    offers(&format!("{head} let keep = [update[i] for i in Client]; reveal k|"), &["keep"], &[]);
    offers(&format!("{head} store low as h|"), &["history", "high"], &[]);
    // What another item defines is not known here.
    offers(&format!("{head}}} fn other(a: fix) -> fix {{ |"), &["a", "own"], &["update", "bound"]);
    // What is not imported is written with its path.
    let document = format!("{head} let keep = lower_m");
    let at = Lines::new(&document).position(&document, document.len());
    let found = Document::new("a.slvr", &document).complete(at);
    let one = found.iter().find(|c| c.label == "lower_median").expect("a function of std");
    assert_eq!((one.insert.as_str(), one.kind), ("std::lower_median", CompletionKind::Function));
    assert!(one.detail.contains("fn lower_median[n](x: fix[n]) -> fix") && !one.doc.is_empty());
    let at = Lines::new(&document).position(&document, document.len() - "lower_m".len());
    let found = Document::new("a.slvr", &document).complete(at);
    assert_eq!(found.iter().find(|c| c.label == "norm").expect("imported").insert, "norm");
}

#[test]
fn completion_of_layers_imports_and_fields() {
    let model = "model Net(x: fix[4]) -> fix[2] {\n fc: linear[4, 4];\n";
    offers(
        &format!("{model} next: |"),
        &["linear", "layer_norm", "param", "lstm"],
        &["norm", "let"],
    );
    offers(&format!("{model} |"), &["fc", "x", "relu", "gelu", "let"], &["predicate"]);
    offers(&format!("{model} g|"), &["gelu", "gru"], &["fc"]);
    offers("use std::{norm, |", &["sum", "top_k"], &["norm", "linear"]);
    offers("use |", &["std", "models"], &["norm"]);
    offers("predicate P[M: model]() { require M.|", &["len", "classes", "shape"], &["norm"]);
}

proptest! {
    #[test]
    fn completion_answers_anywhere_in_anything(text in "[a-z:;|{}\\[\\]().,= \n]{0,80}", line in 0u32..5, character in 0u32..90) {
        let document = Document::new("a.slvr", &text);
        document.complete(Position { line, character });
        document.complete(Position { line: 0, character: text.len() as u32 });
    }
}

#[test]
fn hovers_say_what_functions_require() {
    let text = "use std::{top_k};\n\nfn two[n](x: fix[n]) -> bit[n] {\n    require n >= 2, \"there are two\";\n\n\
                \x20   top_k[2](x)\n}\n";
    let said = |what: &str, nth| {
        hover("p.slvr", text, place(text, what, nth, 0)).map_or(String::new(), |h| h.text)
    };
    assert!(
        said("two", 0).contains("Requires:\n\n- `n >= 2`: there are two"),
        "{}",
        said("two", 0)
    );
    assert!(said("top_k", 1).contains("- `k >= 1 && k <= n`: k of n entries"));
}
