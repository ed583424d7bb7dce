//! `slvrc build`: the compiled artifact.

use crate::fail::{print, say, say_json};
use crate::target::Target;
use serde_json::json;
use slvr::files;
use slvr::program;
use slvr::report::hex;
use slvr::units::per_party;
use slvr_circuit::artifact;
use slvr_circuit::traffic::Traffic;
use std::path::Path;

#[derive(clap::Args)]
pub struct Build {
    #[command(flatten)]
    target: Target,
    /// Where the artifact goes.
    #[arg(short, long, value_name = "X.slvrb")]
    output: String,
}

impl Build {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let output = Path::new(&self.output);
        files::can_write(output)?;
        files::differ(&self.target.file, output)?;
        let loaded = program::load(&self.target.build()?, &print)?;
        let circuit = loaded.circuit();
        let bytes = artifact::write(circuit);
        files::write(output, &bytes)?;
        let traffic = Traffic::of(circuit);
        let hash = hex(&artifact::hash(circuit));
        if json {
            let all = json!({
                "predicate": circuit.name, "output": self.output, "bytes": bytes.len(),
                "circuit_hash": hash, "rounds": traffic.rounds,
                "predicted_bytes_sent": traffic.bytes, "instructions": circuit.instructions(),
            });
            return say_json(all);
        }
        say(&format!(
            "{}: {} ({} bytes)\n  circuit      {hash}\n  instructions {} in {} layers\n  rounds       {}\n  sent         {} by each party (mean)\n",
            circuit.name,
            self.output,
            bytes.len(),
            circuit.instructions(),
            circuit.layers.len(),
            traffic.rounds,
            per_party(traffic.bytes),
        ))
    }
}
