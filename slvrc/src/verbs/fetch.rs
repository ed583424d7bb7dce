//! `slvrc fetch`: what a round reveals to one member of a party set, from the three nodes.

use crate::deployment::{LONGEST, Which, caller};
use crate::fail::{caution, say_done};
use serde_json::json;
use slvr::tensors;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Fetch {
    /// The client's configuration: client.toml, as `slvrc keys` makes it.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    #[command(flatten)]
    which: Which,
    /// The safetensors file that is written.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Leave it on the nodes.
    #[arg(long)]
    keep: bool,
    /// Seconds that it goes on trying to reach a node, and waits for the round to be released.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(..=LONGEST))]
    patience: u64,
}

impl Fetch {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let Fetch { config, which: Which { task, round }, output, keep, patience } = self;
        slvr::files::can_write(&output)?;
        let caller = caller(&config)?;
        let until = Instant::now() + Duration::from_secs(patience);
        let got = caller.patiently(until, || caller.fetch(&task, round))?;
        tensors::write_own(&output, &got.outputs)?;
        if !keep && let Err(why) = caller.forget(&task, round) {
            caution(&format!("{task}/{round}: nodes may still keep what is revealed: {why}"));
        }
        let of = &got.of;
        let object = json!({
            "client": of.client, "set": of.set, "member": of.member, "circuit": of.circuit,
            "outputs": got.outputs.iter().map(|(o, _)| o.name.as_str()).collect::<Vec<_>>(),
        });
        let (who, at) = (&of.client, output.display());
        say_done(json, object, &format!("{task}/{round}: what is revealed to {who} is in {at}"))
    }
}
