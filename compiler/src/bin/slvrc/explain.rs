//! `slvrc explain`: what a program costs and leaks, before it runs; or what an error code means.

use crate::fail::say;
use crate::{Target, program, run};
use anyhow::bail;
use serde_json::{Value, json};
use slvr_runtime::circuit::traffic::Traffic;
use slvrc::cost;
use slvrc::diagnostic::explain::{Examples, Explanation, args, explain};
use slvrc::diagnostic::{Code, codes, render};
use slvrc::pipeline;
use slvrc::syntax::{Sources, embedded::Embedded};
use slvrc::types::{self, Checked, Options};
use std::fmt::Write;

/// Arguments.
#[derive(clap::Args)]
pub struct Explain {
    /// A program, or the code of a diagnostic (`E0007`) in place of one.
    #[command(flatten)]
    target: Target,
}

impl Explain {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let name = &self.target.file;
        if let Some(number) = number(name) {
            let Some(e) = explain(Code(number)) else {
                bail!("there is no code {name}; they go from E0001 to {}", last());
            };
            return say(&if json { as_json(&e) } else { as_text(&e) });
        }
        let loaded = program::load_circuit(&self.target)?;
        let circuit = loaded.circuit();
        let traffic = Traffic::of(circuit);
        let steps = cost::steps(circuit);
        if json {
            let steps: Vec<Value> = steps
                .iter()
                .map(|s| {
                    json!({
                        "step": s.name, "line": s.line, "rounds": s.rounds,
                        "bytes_sent": s.bytes, "instructions": s.instructions,
                    })
                })
                .collect();
            let all = json!({
                "predicate": circuit.name, "rounds": traffic.rounds,
                "predicted_bytes_sent": traffic.bytes, "steps": steps,
                "leaks": run::leaks(circuit),
            });
            return say(&format!("{all}\n"));
        }
        let mut out = format!(
            "{}: {} rounds, {} sent by each party (mean)\n\n  {:>10}  {:>6}  {:>4}  step\n",
            circuit.name,
            traffic.rounds,
            run::megabytes(traffic.bytes.iter().sum::<u64>() / 3),
            "bytes",
            "rounds",
            "line"
        );
        for s in &steps {
            let bytes = s.bytes.iter().sum::<u64>() / 3;
            let _ = writeln!(out, "  {bytes:>10}  {:>6}  {:>4}  {}", s.rounds, s.line, s.name);
        }
        out.push_str("\nrevealed:\n");
        for o in &circuit.outputs {
            let to = circuit.parties.get(o.to as usize).map_or("?", |p| &p.name);
            let _ = writeln!(out, "  {} {:?} to {to}", o.name, o.shape);
        }
        say(&out)
    }
}

/// The number of a code: `E0007`, `e7`.
fn number(name: &str) -> Option<u16> {
    let digits = name.strip_prefix(['E', 'e'])?;
    let code = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| code)
}

fn last() -> String {
    codes::ALL.last().map_or_else(String::new, |(code, _)| code.to_string())
}

fn as_json(e: &Explanation) -> String {
    let mut all = json!({ "code": e.code.to_string(), "title": e.title, "rule": e.rule });
    if let Some(x) = &e.examples {
        all["mistake"] = json!(x.mistake);
        all["why"] = json!(x.why);
        all["mended"] = json!(x.mended);
    }
    format!("{all}\n")
}

fn as_text(e: &Explanation) -> String {
    let mut out = format!("{}: {}\n\n{}\n", e.code, e.title, e.rule);
    let indented = |text: &str| -> String {
        // Sizes are bound as one would bind them.
        let text = text.replace("// args:", "// slvrc check example.slvr");
        let lines = text.trim_end().lines();
        lines.map(|l| if l.is_empty() { "\n".into() } else { format!("    {l}\n") }).collect()
    };
    if let Some(x) = &e.examples {
        let _ = write!(out, "\n{}\n{}", indented(x.mistake), indented(&message(x)));
        let _ = write!(out, "\n{}\n\n{}", x.why, indented(x.mended));
    }
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
            if x.build {
                warnings.extend(pipeline::unchecked_demands(&program));
                warnings.extend(pipeline::compile(&program, &sources).err().unwrap_or_default());
            }
            warnings
        }
        Err(errors) => errors,
    };
    render::render(&found, &sources, false)
}
