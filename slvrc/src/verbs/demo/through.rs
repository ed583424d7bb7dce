//! Rounds of training through a deployment: the coordinator opens a round, all clients submit, and the result is
//! collected, as the commands do it.

use crate::deployment::caller;
use anyhow::{Context, bail};
use slvr_circuit::{Circuit, artifact};
use slvr_node::client::Caller;
use slvr_node::hex::Hex;
use slvr_node::submission::{Signer, Submission, clients_of, pack_public};
use slvr_runtime::share::encode::{Inputs, encode_public};
use slvr_runtime::share::reveal::Revealed;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a node that has just been started is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a round may be open or run.
const ROUND: Duration = Duration::from_secs(3600);

/// A deployment whose three nodes run, and all its clients.
pub struct Through {
    task: String,
    coordinator: Caller,
    clients: Vec<(Caller, Signer)>,
    next: u64,
}

impl Through {
    /// A deployment in a folder as `slvrc keys` makes it, with so many clients, for a circuit that its task has.
    pub fn new(folder: &Path, task: &str, circuit: &Circuit, clients: u64) -> anyhow::Result<Self> {
        let coordinator = caller(&folder.join("coordinator/coordinator.toml"))?;
        let until = Instant::now() + PATIENCE;
        let (_, there) = coordinator.patiently(until, || coordinator.circuit(task))?;
        if there != Hex(artifact::hash(circuit)) {
            bail!(
                "{}: the nodes have another circuit for `{task}`: make the deployment with the sizes of the demo",
                folder.display()
            );
        }
        let one = |i: u64| -> anyhow::Result<(Caller, Signer)> {
            let client = caller(&folder.join(format!("clients/client-{i}/client.toml")))?;
            let secret = client.config().secret.context("a client without a `secret`")?;
            let signer = Signer::new(&secret.0)?;
            Ok((client, signer))
        };
        let rounds = coordinator.rounds(0, task)?;
        let last =
            rounds.as_array().into_iter().flatten().filter_map(|r| r["round"].as_u64()).max();
        Ok(Through {
            task: task.into(),
            coordinator,
            clients: (0..clients).map(one).collect::<anyhow::Result<_>>()?,
            next: last.unwrap_or(0) + 1,
        })
    }

    /// What a round reveals of these inputs.
    pub fn round(&mut self, circuit: &Circuit, inputs: &Inputs) -> anyhow::Result<Vec<Revealed>> {
        let (task, round) = (self.task.as_str(), self.next);
        self.next += 1;
        let public = pack_public(&encode_public(circuit, &inputs.public)?);
        let how = (ROUND.as_secs(), 0, None);
        self.coordinator.open((task, round), how, &public)?;
        let opening = self.coordinator.opening(task, round)?.digest();
        let members = inputs.sets.get(clients_of(circuit)?).map_or(&[][..], Vec::as_slice);
        let hash = Hex(artifact::hash(circuit));
        for ((client, signer), tensors) in self.clients.iter().zip(members) {
            let name = client.config().name.as_str();
            let made =
                Submission::new(signer, (task, round, name), circuit, (hash, opening), tensors)?;
            client.submit(&made, PATIENCE, &|_, _, _| {})?;
        }
        let until = Instant::now() + ROUND;
        loop {
            let status = self.coordinator.status(0, task, round)?;
            match status["phase"].as_str() {
                Some("released") => break,
                Some("aborted") => bail!("{task}/{round} was aborted: {}", status["aborted"]),
                _ if Instant::now() > until => bail!("{task}/{round} does not end"),
                _ => thread::sleep(Duration::from_millis(20)),
            }
        }
        let revealed = self.coordinator.collect(task, round)?.revealed;
        self.coordinator.erase(task, round, &["words"])?;
        Ok(revealed)
    }
}
