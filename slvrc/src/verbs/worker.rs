//! `slvrc worker`: a worker of a node of a deployment.

use crate::deployment::Log;
use crate::fail::say_done;
use crate::leash::{self, Leash};
use crate::memory;
use anyhow::Context;
use serde_json::json;
use slvr_node::config::WorkerConfig;
use slvr_node::service::ending;
use slvr_node::worker;
use std::path::PathBuf;
use std::sync::mpsc::channel;

#[derive(clap::Args)]
pub struct Worker {
    /// What it is told: worker.toml, as `slvrc keys --workers` makes it.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    #[command(flatten)]
    log: Log,
    /// Look at the configuration, the keys and the port, and do not start.
    #[arg(long)]
    check: bool,
    /// End, too, once standard input ends. Whoever starts a worker with a pipe leaves none behind, however it ends itself.
    #[arg(long)]
    until_input_ends: bool,
}

impl Worker {
    /// Whether it goes on until it is stopped.
    pub fn lasts(&self) -> bool {
        !self.check
    }

    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let config = WorkerConfig::read(&self.config)?;
        if !self.check {
            self.log.start();
        }
        // Before it listens, so that no signal is lost.
        let signal = ending()?;
        let leash = self.until_input_ends.then(Leash::watch).transpose();
        let leash = leash.context("no thread is left")?;
        // It lives long: it gives back what a run has taken.
        memory::expect(u64::MAX);
        let worker = worker::Worker::start(config).map_err(anyhow::Error::msg)?;
        if self.check {
            let at = worker.address;
            worker.stop();
            let text = format!("{}: good; it can listen at {at}", self.config.display());
            return say_done(json, json!({ "address": at.to_string() }), &text);
        }
        let (ask, asked) = channel();
        if let Some(leash) = leash {
            let ask = ask.clone();
            leash.hold(move || {
                // One that ends already hears nothing.
                let _ = ask.send(leash::ENDED);
            });
        }
        std::thread::spawn(move || {
            // A hangup is for nodes. The worker's node repeats an attempt that ends with it.
            let ends = signal.into_iter().find(|why| *why != "hangup");
            ends.map(|why| ask.send(why))
        });
        let why = asked.recv().unwrap_or("stopped");
        tracing::info!(why, "stopping");
        worker.stop();
        Ok(())
    }
}
