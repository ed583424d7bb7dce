//! Diagnostics as text for people and as JSON for tools.

use super::plain::{excerpt, message, plain};
use super::{Diagnostic, Severity};
use crate::source::{FileId, Sources, Span, floor_boundary};
use codespan_reporting::diagnostic::{Diagnostic as Report, Label};
use codespan_reporting::files::SimpleFiles;
use codespan_reporting::term::{self, Config, StylesWriter, termcolor};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ops::Range;

/// Most places that one message points at.
const MAX_LABELS: usize = 12;

/// All diagnostics, one after another, each with the source lines it points at, then a line that
/// counts the errors if there are several. With `color`, ANSI escapes are in the text.
///
/// Never fails: a span that points outside its file is moved into it.
pub fn render(diagnostics: &[Diagnostic], sources: &Sources, color: bool) -> String {
    let mut all: Files<'_> = SimpleFiles::new();
    for id in (0..sources.len() as u32).map(FileId) {
        all.add(plain(sources.name(id)), plain(sources.text(id)));
    }
    if sources.is_empty() {
        all.add("".into(), "".into());
    }
    let config = Config::default();
    let mut out = Vec::new();
    for diagnostic in diagnostics {
        let (report, cut) = report(diagnostic, sources);
        let files = cut.as_ref().unwrap_or(&all);
        let result = if color {
            let styles = term::Styles::default();
            let mut writer = termcolor::Ansi::new(&mut out);
            let mut writer = StylesWriter::new(&mut writer, &styles);
            term::emit_to_write_style(&mut writer, &config, files, &report)
        } else {
            term::emit_to_io_write(&mut out, &config, files, &report)
        };
        if result.is_err() {
            // Cannot happen, because `report` moves every span into its file; the bare title is the fallback.
            out.extend(format!("error[{}]: {}\n", diagnostic.code, diagnostic.title).into_bytes());
        }
    }
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    if errors > 1 {
        out.extend(format!("{errors} errors\n").into_bytes());
    }
    String::from_utf8_lossy(&out).into_owned()
}

type Files<'a> = SimpleFiles<Cow<'a, str>, Cow<'a, str>>;

/// The report, and if it points at long lines, excerpts of the files in the place of all.
fn report<'a>(diagnostic: &Diagnostic, sources: &'a Sources) -> (Report<usize>, Option<Files<'a>>) {
    let report = match diagnostic.severity {
        Severity::Error => Report::error(),
        Severity::Warning => Report::warning(),
    };
    let shown = diagnostic.labels.iter().take(MAX_LABELS);
    let mut places: Vec<(usize, Range<usize>)> =
        shown.clone().map(|(span, _)| clamp(*span, sources)).collect();
    let cut = excerpts(&mut places, sources);
    let labels =
        places.into_iter().zip(shown).enumerate().map(|(i, ((file, range), (_, text)))| {
            let label =
                if i == 0 { Label::primary(file, range) } else { Label::secondary(file, range) };
            label.with_message(message(text))
        });
    let report = report
        .with_code(diagnostic.code.to_string())
        .with_message(message(&diagnostic.title))
        .with_labels(labels.collect())
        .with_notes(said(diagnostic).map(|h| format!("hint: {}", message(h))).collect());
    (report, cut)
}

/// What the hints say.
fn said(diagnostic: &Diagnostic) -> impl Iterator<Item = &str> {
    diagnostic.hints.iter().map(|h| h.text.as_str()).filter(|text| !text.is_empty())
}

/// All files with long lines cut around these places, which are moved along; `None` if no line is long.
fn excerpts<'a>(places: &mut [(usize, Range<usize>)], sources: &'a Sources) -> Option<Files<'a>> {
    let mut files: Files<'a> = SimpleFiles::new();
    let mut any = false;
    for file in 0..sources.len() {
        let (name, text) =
            (plain(sources.name(FileId(file as u32))), plain(sources.text(FileId(file as u32))));
        let mut of_file: Vec<&mut Range<usize>> =
            places.iter_mut().filter(|(f, _)| *f == file).map(|(_, range)| range).collect();
        let ranges: Vec<Range<usize>> = of_file.iter().map(|r| Range::clone(r)).collect();
        match excerpt(&text, &ranges) {
            Some(found) => {
                any = true;
                for (to, place) in of_file.iter_mut().zip(found.places) {
                    **to = place;
                }
                files.add(name, found.text.into());
            }
            None => {
                files.add(name, text);
            }
        }
    }
    any.then_some(files)
}

/// A span as file index and byte range that lie within the file, on character boundaries.
fn clamp(span: Span, sources: &Sources) -> (usize, std::ops::Range<usize>) {
    let file = if (span.file.0 as usize) < sources.len() { span.file } else { FileId(0) };
    let text = sources.text(file);
    let inside = |at: u32| floor_boundary(text, at as usize);
    let start = inside(span.start);
    (file.0 as usize, start..inside(span.end).max(start))
}

/// A diagnostic as one JSON object:
///
/// ```text
/// {"severity": "error", "code": "E0004", "title": .., "file": .., "line": 3, "column": 9,
///  "labels": [{"file": .., "line": 3, "column": 9, "end_line": 3, "end_column": 12, "text": ..}],
///  "hints": [..]}
/// ```
///
/// Lines and columns count from 1, columns in characters; `file`, `line` and `column` are those of
/// the first label, or null if there is none.
pub fn to_json(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let label = |(span, text): &(Span, String)| {
        let (line, column) = sources.line_col(*span);
        let (end_line, end_column) = sources.line_col(Span { start: span.end, ..*span });
        json!({
            "file": sources.name(span.file), "line": line, "column": column,
            "end_line": end_line, "end_column": end_column, "text": text,
        })
    };
    let labels: Vec<Value> = diagnostic.labels.iter().map(label).collect();
    let first = |key: &str| labels.first().and_then(|l| l.get(key)).cloned().unwrap_or(Value::Null);
    json!({
        "severity": match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "code": diagnostic.code.to_string(),
        "title": diagnostic.title,
        "file": first("file"), "line": first("line"), "column": first("column"),
        "labels": labels,
        "hints": said(diagnostic).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::codes;

    fn sample() -> (Vec<Diagnostic>, Sources) {
        let mut sources = Sources::new();
        let file = sources.add("check.slvr", "let a = b;\nlet é = a;\n");
        let at = |start, end| Span { file, start, end };
        let first = codes::UNKNOWN_NAME
            .error("`b` is not defined")
            .label(at(8, 9), "no such name")
            .label(at(4, 5), "needed for `a`")
            .hint("did you mean `a`?");
        let second = codes::UNUSED.warning("`é` is unused").label(at(15, 17), "unused");
        (vec![first, second], sources)
    }

    #[test]
    fn text() {
        let (diagnostics, sources) = sample();
        insta::assert_snapshot!(render(&diagnostics, &sources, false), @r"
        error[E0004]: `b` is not defined
          ┌─ check.slvr:1:9
          │
        1 │ let a = b;
          │     -   ^ no such name
          │     │    
          │     needed for `a`
          │
          = hint: did you mean `a`?

        warning[E0021]: `é` is unused
          ┌─ check.slvr:2:5
          │
        2 │ let é = a;
          │     ^ unused
        ");
    }

    #[test]
    fn color() {
        let (diagnostics, sources) = sample();
        let text = render(&diagnostics, &sources, true);
        assert!(text.contains("\u{1b}["));
        assert!(!render(&diagnostics, &sources, false).contains('\u{1b}'));
    }

    #[test]
    fn json() {
        let (diagnostics, sources) = sample();
        let value = to_json(&diagnostics[1], &sources);
        assert_eq!((&value["line"], &value["column"]), (&json!(2), &json!(5)));
        assert_eq!(value["labels"][0]["end_column"], json!(6));
        assert_eq!(value["severity"], json!("warning"));
        assert_eq!(value["code"], json!("E0021"));
    }

    #[test]
    fn spans_outside_their_file_do_no_harm() {
        let (_, sources) = sample();
        for (file, start, end) in [(0, 16, 16), (0, 900, 901), (7, 3, 4), (0, 9, 2), (0, 22, 22)] {
            let span = Span { file: FileId(file), start, end };
            let error = codes::SYNTAX.error("odd").label(span, "here");
            assert!(render(std::slice::from_ref(&error), &sources, false).contains("odd"));
            assert!(render(std::slice::from_ref(&error), &Sources::new(), false).contains("odd"));
            to_json(&error, &sources);
        }
    }
}
