//! `slvrc submit`: a client's inputs to the three nodes.

use crate::deployment::{LONGEST, Which, caller};
use crate::fail::{print, say_done};
use crate::progress::bar;
use serde_json::json;
use slvr::{deployment, tensors};
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Submit {
    /// The client's configuration: client.toml, as `slvrc keys` makes it.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    #[command(flatten)]
    which: Which,
    /// The inputs: a safetensors file or an `.npz` file of NumPy.
    #[arg(long, value_name = "FILE")]
    inputs: PathBuf,
    /// Seconds that it goes on trying to reach a node.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(..=LONGEST))]
    patience: u64,
}

impl Submit {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let caller = caller(&self.config)?;
        let (task, round) = (self.which.task.as_str(), self.which.round);
        let until = Instant::now() + Duration::from_secs(self.patience);
        let made = deployment::prepare(
            &caller,
            (task, round),
            Default::default(),
            until,
            |circuit, set| tensors::read_member(circuit, set, &self.inputs, &print),
        )?;
        let submission = &made.submission;
        let total: u64 = (0..3).map(|n| submission.part(n).len() as u64).sum();
        let bar = bar(total, "{msg:>16} [{bar:30}] {bytes}/{total_bytes} {elapsed}");
        let sent = std::cell::RefCell::new([0u64; 3]);
        let progress = |node: usize, done: u64, _| {
            sent.borrow_mut()[node] = done;
            bar.set_message(format!("node {node}"));
            bar.set_position(sent.borrow().iter().sum());
        };
        let left = until.saturating_duration_since(Instant::now());
        let done = deployment::send(&caller, (task, round), submission, left, &progress);
        bar.finish_and_clear();
        let receipts = done?;
        let (name, id) = (&caller.config().name, submission.manifest.submission);
        let to = format!("{task}/{round}");
        let phase = receipts[0]["phase"].as_str().unwrap_or("?");
        let text = format!(
            "{name}: submission {id} to {to} is on all three nodes, and the round is {phase}"
        );
        say_done(json, json!({ "submission": id, "receipts": receipts }), &text)
    }
}
