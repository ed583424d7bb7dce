//! `slvrc submit`: a client's inputs to the three nodes.

use crate::deployment::caller;
use crate::fail::{Aborted, say, say_json};
use crate::tensors;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use slvr_node::state::RoundKey;
use slvr_node::submission::{Signer, Submission, set_named};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Arguments.
#[derive(clap::Args)]
pub struct Submit {
    /// The client's configuration: client.toml, as `slvrc keys` makes it.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The task.
    task: String,
    /// The round.
    #[arg(value_parser = clap::value_parser!(u64).range(..=RoundKey::LAST))]
    round: u64,
    /// The inputs: a safetensors file or an `.npz` file of NumPy.
    #[arg(long, value_name = "FILE")]
    inputs: PathBuf,
    /// Seconds that it goes on trying to reach a node.
    #[arg(long, default_value_t = 120)]
    patience: u64,
}

impl Submit {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let caller = caller(&self.config)?;
        let secret = caller
            .config()
            .secret
            .context("the configuration has no `secret`: is it a client's?")?;
        let signer = Signer::new(&secret.0)?;
        // A node that is not there yet is waited for from the first request on.
        let until = Instant::now() + Duration::from_secs(self.patience);
        let opening = caller.patiently(until, || caller.opening(&self.task, self.round))?;
        let circuit = caller.patiently(until, || caller.circuit_of(&opening))?;
        let set = set_named(&circuit, caller.config().set.as_deref())?;
        let files = tensors::read_member(&circuit, set, &self.inputs)?;
        let name = caller.config().name.clone();
        let submission = Submission::of_set(
            &signer,
            (&self.task, self.round, &name),
            (&circuit, set),
            (opening.circuit, opening.digest()),
            &files,
        )?;
        let total: u64 = (0..3).map(|n| submission.part(n).len() as u64).sum();
        let bar = ProgressBar::new(total);
        let style =
            ProgressStyle::with_template("{msg:>16} [{bar:30}] {bytes}/{total_bytes} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        let sent = std::cell::RefCell::new([0u64; 3]);
        let progress = |node: usize, done: u64, _| {
            sent.borrow_mut()[node] = done;
            bar.set_message(format!("node {node}"));
            bar.set_position(sent.borrow().iter().sum());
        };
        let left = until.saturating_duration_since(Instant::now());
        let done = caller.submit(&submission, left, &progress);
        bar.finish_and_clear();
        let receipts = done?;
        let id = submission.manifest.submission;
        let to = format!("{}/{}", self.task, self.round);
        if let Some(why) = receipts.iter().find_map(|r| r["aborted"].as_str()) {
            let erased = receipts.iter().any(|r| r["erased"] == true);
            let then = match erased {
                true => "its submissions have been erased: submit to another round",
                false if caller.is_short(&self.task, self.round) => {
                    "fewer have submitted than have to count, so it cannot be run again: submit to another round"
                }
                false => "it is kept, and counts if the coordinator runs the round again",
            };
            return Err(Aborted(format!(
                "{name}: submission {id} is on all three nodes, but {to} was aborted ({why}); {then}"
            ))
            .into());
        }
        let phase = receipts[0]["phase"].as_str().unwrap_or("?");
        match json {
            true => say_json(json!({ "submission": id, "receipts": receipts })),
            false => say(&format!(
                "{name}: submission {id} to {to} is on all three nodes, and the round is {phase}\n"
            )),
        }
    }
}
