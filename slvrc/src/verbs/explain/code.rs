//! What the code of a diagnostic means.

use crate::fail::{say, say_json};
use anyhow::bail;
use serde_json::{Value, json};
use slvr_compiler::diagnostic::explain::{Examples, Explanation, args, explain};
use slvr_compiler::diagnostic::{Code, codes, render};
use slvr_compiler::lower::Target;
use slvr_compiler::pipeline;
use slvr_compiler::source::Sources;
use slvr_compiler::syntax::embedded::Embedded;
use slvr_compiler::types::{self, Checked, Options};
use std::fmt::Write;

/// Explains code `number`, which the user called `name`.
pub fn explain_code(name: &str, number: u16, json: bool) -> anyhow::Result<()> {
    let Some(e) = explain(Code(number)) else {
        bail!("there is no code {name}; they go from E0001 to {}", last());
    };
    if json { say_json(as_json(&e)) } else { say(&as_text(&e)) }
}

/// The number of a code: `E0007`, `e7`.
pub fn number(name: &str) -> Option<u16> {
    let digits = name.strip_prefix(['E', 'e'])?;
    let code = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| code)
}

fn last() -> String {
    codes::ALL.last().map_or_else(String::new, |(code, _)| code.to_string())
}

fn as_json(e: &Explanation) -> Value {
    let x = &e.examples;
    json!({
        "code": e.code.to_string(), "title": e.title, "rule": e.rule, "mistake": x.mistake, "why": x.why, "mended": x.mended,
    })
}

fn as_text(e: &Explanation) -> String {
    let mut out = format!("{}: {}\n\n{}\n", e.code, e.title, e.rule);
    let indented = |text: &str| -> String {
        // Sizes are bound as one would bind them.
        let text = text.replace("// args:", "// slvrc check example.slvr");
        let lines = text.trim_end().lines();
        lines.map(|l| if l.is_empty() { "\n".into() } else { format!("    {l}\n") }).collect()
    };
    let x = &e.examples;
    let _ = write!(out, "\n{}\n{}", indented(x.mistake), indented(&message(x)));
    let _ = write!(out, "\n{}\n\n{}", x.why, indented(x.mended));
    out
}

/// What the compiler says of a mistake, now.
fn message(x: &Examples) -> String {
    let mut sources = Sources::new();
    let file = sources.add("example.slvr", x.mistake);
    let bindings = args(x.mistake);
    let defaults = bindings.is_none();
    let options = Options { bindings: bindings.unwrap_or_default(), predicate: None, defaults };
    let found = match types::check(&mut sources, file, &options, &mut Embedded) {
        Ok(Checked { program, mut warnings, .. }) => {
            if let Some(security) = x.build {
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
    render::render(&found, &sources, false)
}
