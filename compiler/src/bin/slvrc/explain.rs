//! `slvrc explain`: what a program costs and leaks, before it runs; or what an error code means.

use crate::fail::say;
use crate::{Target, program, run};
use anyhow::bail;
use serde_json::{Value, json};
use slvr_runtime::circuit::traffic::Traffic;
use slvrc::cost;
use slvrc::diagnostic::codes;
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
        let number = name.strip_prefix('E').and_then(|n| n.parse::<u16>().ok());
        if let (Some(number), 5) = (number, name.len()) {
            let Some((code, title)) = codes::ALL.iter().find(|(c, _)| c.0 == number) else {
                bail!("there is no diagnostic {name}");
            };
            if json {
                return say(&format!("{}\n", json!({ "code": code.to_string(), "title": title })));
            }
            return say(&format!("{code}: {title}\n"));
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
