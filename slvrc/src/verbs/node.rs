//! `slvrc node`: a node of a deployment.

use crate::deployment::Log;
use crate::fail::{say, say_json};
use crate::memory;
use anyhow::{Context, anyhow, bail};
use serde_json::json;
use slvr::tasks::Compiler;
use slvr_node::Service;
use slvr_node::check::{Finding, Weight, check};
use slvr_node::config::NodeConfig;
use slvr_node::service::Asks;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
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
    #[arg(long, default_value_t = 30)]
    grace: u64,
    /// End, too, once standard input ends. Whoever starts a node with a pipe leaves none behind, however it ends itself.
    #[arg(long)]
    until_input_ends: bool,
}

/// Has a node end once standard input does.
#[derive(Clone, Default)]
struct Leash(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    ended: bool,
    /// Whom to ask. Nobody while the node is not started.
    asks: Option<Asks>,
}

impl Leash {
    /// Reads standard input on a thread of its own.
    fn watch(&self) -> io::Result<()> {
        let held = self.0.clone();
        let name = thread::Builder::new().name("input".into());
        let watches = name.spawn(move || {
            // Nothing is expected to be said. An input that cannot be read has ended, too.
            let _ = io::copy(&mut io::stdin().lock().by_ref(), &mut io::sink());
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            held.ended = true;
            match &held.asks {
                Some(asks) => asks.end("the end of its input"),
                // It compiles its tasks and does nothing for anybody yet.
                None => std::process::exit(0),
            }
        });
        watches.map(drop)
    }

    /// The node is started: from now on it ends in order.
    fn hold(&self, asks: Asks) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.ended {
            asks.end("the end of its input");
        }
        held.asks = Some(asks);
    }
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
        let leash = self.until_input_ends.then(Leash::default);
        if let Some(leash) = &leash {
            leash.watch().context("no thread is left")?;
        }
        // A node lives long: it gives back what a run has taken.
        memory::expect(u64::MAX);
        let mut service = Service::start(config, Box::new(Compiler)).map_err(anyhow::Error::msg)?;
        if let Some(leash) = &leash {
            leash.hold(service.asks());
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
