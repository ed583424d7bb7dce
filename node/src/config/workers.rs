//! What a worker is told (`worker.toml`), and what a node is told of its workers.
//!
//! A certificate stands for one place only: that of a node, or of one worker of one node. So the worker of one party cannot
//! pass for that of another one, nor for a node.

use super::{ConfigError, Peer, content, read_toml, twice};
use crate::hex::Hash;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Most workers of a node.
pub const WORKERS: usize = 64;

/// A worker as its node knows it. Its place in the list is its number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnWorker {
    /// Where the node calls it; without it where the node is told at [`crate::config::NodeConfig::operations`].
    pub address: Option<String>,
    /// SHA-256 of its certificate, DER.
    pub certificates: Vec<Hash>,
    /// Megabytes of memory for what it is handed and computes.
    pub memory_mb: u64,
}

/// A configuration of a worker: `worker.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerConfig {
    /// Of which party: 0, 1 or 2.
    pub party: usize,
    /// Which of its node's workers, counted from 0.
    pub number: usize,
    /// Its certificate, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// Where its node and the two others call.
    pub listen: String,
    /// SHA-256 of its node's certificate, DER. More than one while certificates are being exchanged.
    pub node: Vec<Hash>,
    /// The workers of this number of the three nodes, in order, this one among them.
    pub worker: Vec<OtherWorker>,
}

/// A worker as those of its number of the two other nodes know it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherWorker {
    /// Where the others call it; without it where its node says in an attempt that it is.
    pub address: Option<String>,
    /// SHA-256 of its certificate, DER. More than one while certificates are being exchanged.
    pub certificates: Vec<Hash>,
}

impl WorkerConfig {
    /// Reads `worker.toml`. Its paths are as they are seen from here afterwards.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or that says something that cannot be.
    pub fn read(path: &Path) -> Result<WorkerConfig, ConfigError> {
        let mut config: WorkerConfig = read_toml(path)?;
        if let Some(why) = config.wrong() {
            return Err(content(path, why));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        for p in [&mut config.certificate, &mut config.key] {
            *p = folder.join(&*p);
        }
        Ok(config)
    }

    fn wrong(&self) -> Option<String> {
        if self.worker.len() != 3 || self.party > 2 {
            return Some(
                "there are three parties: `party` is 0, 1 or 2, and [[worker]] stands three times, for the workers of this number of nodes 0, 1 and 2"
                    .into(),
            );
        }
        if self.number >= WORKERS {
            return Some(format!(
                "`number` is {WORKERS} or more: a node has {WORKERS} workers at most"
            ));
        }
        if self.node.is_empty() || self.worker.iter().any(|w| w.certificates.is_empty()) {
            return Some(
                "`node` needs the SHA-256 of the node's certificate, and each [[worker]] at least one of `certificates`"
                    .into(),
            );
        }
        let all = self.worker.iter().map(|w| (w.address.as_ref(), &w.certificates));
        twice("worker", all).or_else(|| shared(&self.node, &self.worker))
    }
}

/// What says that a worker shows a node's certificate.
fn shared(node: &[Hash], workers: &[OtherWorker]) -> Option<String> {
    let at = workers.iter().position(|w| w.certificates.iter().any(|c| node.contains(c)))?;
    Some(format!("[[worker]] {at} has the node's certificate: each has one of its own"))
}

/// What is wrong with the workers of a node.
pub(super) fn wrong(workers: &[OwnWorker], nodes: &[Peer]) -> Option<String> {
    if workers.len() > WORKERS {
        return Some(format!("[[worker]] stands more than {WORKERS} times"));
    }
    if workers.iter().any(|w| w.certificates.is_empty()) {
        return Some("each [[worker]] needs at least one of `certificates`".into());
    }
    let taken = |c: &Hash| nodes.iter().position(|n| n.certificates.contains(c));
    for (i, worker) in workers.iter().enumerate() {
        if let Some(node) = worker.certificates.iter().find_map(taken) {
            return Some(format!(
                "[[worker]] {i} has the certificate of [[node]] {node}: each has one of its own"
            ));
        }
    }
    twice("worker", workers.iter().map(|w| (w.address.as_ref(), &w.certificates)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::Hex;

    fn peer(n: u8) -> Peer {
        Peer { address: format!("h{n}:1"), certificates: vec![Hex([n; 32])] }
    }

    fn other(n: u8) -> OtherWorker {
        let Peer { address, certificates } = peer(n);
        OtherWorker { address: Some(address), certificates }
    }

    fn worker(node: u8, all: [u8; 3]) -> WorkerConfig {
        WorkerConfig {
            party: 1,
            number: 0,
            certificate: "c".into(),
            key: "k".into(),
            listen: "l:1".into(),
            node: vec![Hex([node; 32])],
            worker: all.map(other).into(),
        }
    }

    #[test]
    fn a_certificate_stands_for_one_place() {
        assert_eq!(worker(9, [1, 2, 3]).wrong(), None);
        let cases = [
            (worker(9, [1, 2, 1]), "[[worker]] 0 and 2"),
            (worker(3, [1, 2, 3]), "[[worker]] 2 has the node's certificate"),
            (WorkerConfig { party: 3, ..worker(9, [1, 2, 3]) }, "`party` is 0, 1 or 2"),
            (WorkerConfig { node: vec![], ..worker(9, [1, 2, 3]) }, "`node` needs"),
            (WorkerConfig { number: WORKERS, ..worker(9, [1, 2, 3]) }, "`number`"),
        ];
        for (config, said) in cases {
            let why = config.wrong().expect(said);
            assert!(why.contains(said), "{why}");
        }
        let own = |n: u8| {
            let Peer { address, certificates } = peer(n);
            OwnWorker { address: Some(address), certificates, memory_mb: 1 }
        };
        let nodes = [7, 8, 9].map(peer);
        assert_eq!(wrong(&[own(1), own(2)], &nodes), None);
        let told = [own(1), own(2)].map(|w| OwnWorker { address: None, ..w });
        assert_eq!(wrong(&told, &nodes), None, "the node is told later where they are");
        for (workers, said) in
            [(vec![own(1), own(1)], "[[worker]] 0 and 1"), (vec![own(8)], "of [[node]] 1")]
        {
            let why = wrong(&workers, &nodes).expect(said);
            assert!(why.contains(said), "{why}");
        }
        let many: Vec<OwnWorker> = (0..=WORKERS as u8).map(|n| own(n + 100)).collect();
        assert!(wrong(&many, &nodes).expect("too many").contains("more than"));
    }
}
