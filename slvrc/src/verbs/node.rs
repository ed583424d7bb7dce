//! `slvrc node`: a node of a deployment.

use crate::deployment::{GRACE, LONGEST, Log};
use crate::fail::{say, say_json};
use crate::leash::{self, Leash};
use crate::memory;
use anyhow::{Context, anyhow, bail};
use serde_json::json;
use slvr::tasks::Compiler;
use slvr_node::Service;
use slvr_node::check::{Finding, Weight, check};
use slvr_node::config::NodeConfig;
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Node {
    /// What it is told: node.toml, as `slvrc keys` makes it.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    #[command(flatten)]
    log: Log,
    /// Look at the configuration, the keys, the tasks and the ports, say everything that is wrong, and do not start.
    #[arg(long)]
    check: bool,
    /// With --check: call the two other nodes, too.
    #[arg(long, requires = "check")]
    reach: bool,
    /// Seconds that an attempt under way has when the node is stopped. What does not end is repeated later.
    #[arg(long, default_value_t = GRACE, value_parser = clap::value_parser!(u64).range(..=LONGEST))]
    grace: u64,
    /// End, too, once standard input ends. Whoever starts a node with a pipe leaves none behind, however it ends itself.
    #[arg(long)]
    until_input_ends: bool,
}

impl Node {
    /// Whether it goes on until it is stopped.
    pub fn lasts(&self) -> bool {
        !self.check
    }

    pub fn run(self, json: bool) -> anyhow::Result<()> {
        if self.check {
            return self.look(json);
        }
        self.log.start();
        let config = NodeConfig::read(&self.config)?;
        let leash = self.until_input_ends.then(Leash::watch).transpose();
        let leash = leash.context("no thread is left")?;
        // A node lives long: it gives back what a run has taken.
        memory::expect(u64::MAX);
        let mut service = Service::start(config, Box::new(Compiler)).map_err(anyhow::Error::msg)?;
        if let Some(leash) = &leash {
            let asks = service.asks();
            leash.hold(move || asks.end(leash::ENDED));
        }
        let why = service.wait();
        tracing::info!(why, "stopping");
        service.stop(Duration::from_secs(self.grace));
        Ok(())
    }

    /// Says what is wrong with the configuration.
    fn look(&self, json: bool) -> anyhow::Result<()> {
        let found = check(&self.config, &Compiler, self.reach);
        let wrong: Vec<&Finding> = found.iter().filter(|f| f.weight == Weight::Wrong).collect();
        let ends = match wrong.as_slice() {
            [] => Ok(()),
            [one] => Err(anyhow!("{}: {}", one.what, one.said)),
            [one, rest @ ..] => {
                Err(anyhow!("{}: {} (and {} more)", one.what, one.said, rest.len()))
            }
        };
        if !json {
            let line =
                |f: &Finding| format!("{:<7} {}: {}\n", f.weight.to_string(), f.what, f.said);
            say(&found.iter().map(line).collect::<String>())?;
        } else if ends.is_ok() {
            let one = |f: &Finding| json!({ "weight": f.weight.to_string(), "what": f.what, "said": f.said });
            say_json(json!({ "found": found.iter().map(one).collect::<Vec<_>>() }))?;
        } else {
            let one = |f: &&Finding| format!("{}: {}", f.what, f.said);
            bail!(wrong.iter().map(one).collect::<Vec<_>>().join("; "));
        }
        ends
    }
}
