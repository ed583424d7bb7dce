//! `slvrc cluster`: three nodes on this machine, with their workers, for development.
//!
//! Each node's standard input is a pipe from this process, on which nothing is ever said. A node ends in order once the
//! pipe does (`slvrc node --until-input-ends`). The system closes it however this process ends, so none is left behind.

use crate::deployment::GRACE;
use crate::fail::{note, say};
use anyhow::{Context, bail};
use slvr_node::config::WORKERS;
use slvr_node::service::ending;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Cluster {
    /// The folder of a deployment, as `slvrc keys` makes it.
    folder: PathBuf,
}

/// How long nodes have to end by themselves: somewhat longer than what they give an attempt.
const ENDING: Duration = Duration::from_secs(GRACE + 10);

/// The processes. Dropping it kills those that are left.
struct Nodes(Vec<Child>);

impl Nodes {
    /// Says who has ended, in these words.
    fn all_run(&mut self, processes: &[Process], ended: &str) -> anyhow::Result<()> {
        for (process, node) in processes.iter().zip(&mut self.0) {
            if let Some(status) = node.try_wait()? {
                bail!("{} {ended} ({status}): see {}", process.name, process.log.display());
            }
        }
        Ok(())
    }

    /// Has all end, by the ends of their pipes, and waits until they have.
    fn end(&mut self) {
        for node in &mut self.0 {
            drop(node.stdin.take());
        }
        let until = Instant::now() + ENDING;
        while self.0.iter_mut().any(|n| matches!(n.try_wait(), Ok(None))) && Instant::now() < until
        {
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Cluster {
    pub fn run(self) -> anyhow::Result<()> {
        // Before there are nodes, so that none is left behind.
        let signal = ending()?;
        let mut nodes = Nodes(Vec::new());
        let all = processes(&self.folder);
        // What earlier runs have logged says nothing of this one.
        let logged = |p: &Process| std::fs::metadata(&p.log).map_or(0, |m| m.len());
        let before: Vec<u64> = all.iter().map(logged).collect();
        for process in &all {
            nodes.0.push(process.start()?);
        }
        while !all.iter().zip(&before).all(|(p, before)| has_started(&p.log, *before)) {
            if let Ok("terminate" | "interrupt") = signal.recv_timeout(Duration::from_millis(50)) {
                nodes.end();
                return Ok(());
            }
            nodes.all_run(&all, "does not start")?;
        }
        say(&format!(
            "three nodes run; their logs are {}\n",
            self.folder.join("node-{0,1,2}/node.log").display()
        ))?;
        note("all three nodes belong to one machine: nothing is secret from whoever has it");
        // An interrupt from the keyboard goes to the nodes as well. Of a signal to this process they hear by their pipes.
        loop {
            match signal.recv_timeout(Duration::from_millis(200)) {
                Ok("terminate" | "interrupt") => {
                    nodes.end();
                    return Ok(());
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("signals are not heard any more"),
            }
            nodes.all_run(&all, "has ended")?;
        }
    }
}

struct Process {
    name: String,
    verb: &'static str,
    config: PathBuf,
    log: PathBuf,
}

/// All nodes, and before them their workers.
fn processes(folder: &Path) -> Vec<Process> {
    let one = |name: String, verb, at: PathBuf| Process {
        name,
        verb,
        config: at.join(format!("{verb}.toml")),
        log: at.join(format!("{verb}.log")),
    };
    let node = |i| folder.join(format!("node-{i}"));
    let workers = (0..3).flat_map(|i| (0..WORKERS).map(move |k| (i, k))).map(|(i, k)| {
        let name = format!("worker {k} of node {i}");
        one(name, "worker", node(i).join(format!("worker-{k}")))
    });
    let nodes = (0..3).map(|i| one(format!("node {i}"), "node", node(i)));
    workers.filter(|w| w.config.is_file()).chain(nodes).collect()
}

/// Whether a node says in its log, from there on, that it has started.
fn has_started(log: &Path, from: u64) -> bool {
    let mut text = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut text)
    });
    read.is_ok() && String::from_utf8_lossy(&text).contains(" started ")
}

impl Process {
    fn start(&self) -> anyhow::Result<Child> {
        let me = std::env::current_exe().context("the path of this program is not known")?;
        let path = &self.log;
        let file = File::options().create(true).append(true).open(path);
        let file = file.with_context(|| {
            format!("{}: cannot be written; make a deployment with `slvrc keys`", path.display())
        })?;
        let mut command = Command::new(me);
        command.args([self.verb, "--until-input-ends", "--config"]).arg(&self.config);
        command.stdin(Stdio::piped()).stderr(file);
        command.spawn().with_context(|| format!("{} does not start", self.name))
    }
}
