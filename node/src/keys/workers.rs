//! Workers of a deployment that is there: a folder for each, `node-I/worker-K`, and what its node and the same workers of the
//! other nodes know of it.

use super::files::{KeysError, certificate, hash_of, in_one_place, quoted, read, replace, write};
use super::{at, host_of};
use crate::config::{NodeConfig, WORKERS};
use crate::hex::Hash;
use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn folder_of(folder: &Path, node: usize, worker: usize) -> PathBuf {
    folder.join(format!("node-{node}/worker-{worker}"))
}

/// The certificates of the workers in a node's folder.
pub(super) fn workers_of(node: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let all = (0..WORKERS).map(|k| node.join(format!("worker-{k}/worker.crt")));
    all.filter_map(|path| fs::read(&path).ok().map(|certificate| (path, certificate))).collect()
}

/// Where a worker listens, if nobody says otherwise: on its node's host, at 30 more than its node, and 3 more for each.
fn port(config: &NodeConfig, node: usize, worker: usize) -> Result<u16, KeysError> {
    let address = config.node.get(node).map_or("", |n| &n.address);
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    let port = port.and_then(|p| p.checked_add(30 + 3 * worker as u16));
    port.ok_or_else(|| KeysError::Plan(format!("{address}: no port is left for its workers")))
}

/// Makes so many workers of each node, with those that are there: keys, certificates and `worker.toml`. Of a node that is
/// elsewhere there is a certificate only, in the place of which [`trust_worker`] takes its own. Hosts are those of the nodes.
///
/// # Errors
///
/// A folder without a node; a disk that is full.
pub fn workers(folder: &Path, count: usize) -> Result<(), KeysError> {
    let toml = |node: usize| folder.join(format!("node-{node}/node.toml"));
    let here: Vec<usize> = (0..3).filter(|&node| toml(node).is_file()).collect();
    let Some(&any) = here.first() else {
        let why = format!("{}: there is no folder of a node", folder.display());
        return Err(KeysError::Plan(why));
    };
    if count > WORKERS {
        return Err(KeysError::Plan(format!("a node has {WORKERS} workers at most")));
    }
    let config =
        |node: usize| NodeConfig::read(&toml(node)).map_err(|e| KeysError::Plan(e.to_string()));
    let known = config(any)?;
    let there = known.worker.len();
    for worker in there..count {
        let mut ends: Vec<(String, Hash)> = Vec::new();
        for node in 0..3 {
            let own = folder_of(folder, node, worker);
            let host = host_of(&toml(any), node)?;
            let made = certificate(&format!("slvr worker {worker} of node {node}"), &[&host])?;
            write(&own.join("worker.crt"), &made.certificate, false)?;
            if here.contains(&node) {
                write(&own.join("worker.key"), &made.key, true)?;
            }
            ends.push((format!("{}:{}", at(&host), port(&known, node, worker)?), made.hash));
        }
        let mut table = String::new();
        for (address, hash) in &ends {
            let hash = quoted(&[*hash]);
            let _ =
                write!(table, "\n[[worker]]\naddress = \"{address}\"\ncertificates = [{hash}]\n");
        }
        for &node in &here {
            let config = config(node)?;
            let listen = config.peer_listen.rsplit_once(':').map_or("0.0.0.0", |(host, _)| host);
            let own = config.node.get(node).map_or(&[][..], |n| &n.certificates);
            let text = format!(
                "# Worker {worker} of node {node} of a SLVR deployment. docs/src/deployment.md describes each line.\n\
                 party = {node}\nnumber = {worker}\ncertificate = \"worker.crt\"\nkey = \"worker.key\"\n\
                 listen = \"{listen}:{}\"\nnode = [{}]\n{table}",
                port(&known, node, worker)?,
                quoted(own)
            );
            write(&folder_of(folder, node, worker).join("worker.toml"), text, true)?;
            let (address, hash) = &ends[node];
            let lines = format!(
                "\n[[worker]]\naddress = \"{address}\"\ncertificates = [{}]\nmemory_mb = {}\n",
                quoted(&[*hash]),
                config.limits.run_memory_mb
            );
            let path = toml(node);
            let file = OpenOptions::new().append(true).open(&path);
            let added = file.and_then(|mut file| file.write_all(lines.as_bytes()));
            added.map_err(KeysError::at(&path))?;
        }
    }
    Ok(())
}

/// Has the workers whose folders are here know one of another node by a certificate that its organisation has made.
///
/// # Errors
///
/// A file that is no certificate, or that of somebody else; a worker that was not made here; a disk that is full.
pub fn trust_worker(
    folder: &Path,
    node: usize,
    worker: usize,
    with: &Path,
) -> Result<(), KeysError> {
    let own = folder_of(folder, node, worker);
    let made = own.join("worker.crt");
    let (old, new) = (hash_of(&made)?, in_one_place(folder, &made, with)?);
    if old == new {
        return Ok(());
    }
    let certificate = read(with)?;
    replace(folder, old, &[new])?;
    // Its secrets are elsewhere. What was made here serves nobody.
    fs::remove_dir_all(&own).map_err(KeysError::at(&own))?;
    write(&made, &certificate, false)
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, make, rotate, trust};
    use super::*;
    use crate::config::WorkerConfig;
    use crate::peers::Peers;

    fn made(folder: &Path) {
        make(folder, &Plan::local(7400, Vec::new(), String::new())).expect("keys");
    }

    fn read(folder: &Path, node: usize, worker: usize) -> WorkerConfig {
        WorkerConfig::read(&folder_of(folder, node, worker).join("worker.toml")).expect("reads")
    }

    #[test]
    fn workers_are_added_and_know_their_node_and_each_other() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path();
        assert!(workers(folder, 1).is_err(), "there is no node");
        made(folder);
        workers(folder, 1).expect("one");
        workers(folder, 2).expect("another one");
        workers(folder, 2).expect("there are two");
        let mut ports = Vec::new();
        for node in 0..3 {
            let path = folder.join(format!("node-{node}/node.toml"));
            let config = NodeConfig::read(&path).expect("reads");
            assert_eq!(config.worker.len(), 2);
            Peers::new(&config, 1).expect("keys");
            for (worker, own) in config.worker.iter().enumerate() {
                let told = read(folder, node, worker);
                assert_eq!((told.party, told.number), (node, worker));
                assert_eq!(told.node, config.node[node].certificates);
                assert_eq!(told.worker[node].certificates, own.certificates);
                assert_eq!(told.worker[node].address, own.address);
                Peers::of_worker(&told).expect("keys");
                ports.push(own.address.clone());
            }
        }
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 6);
        // A node's certificate that is exchanged is exchanged at its workers, too, and at no others.
        rotate(folder, 1, None).expect("begins");
        for node in 0..3 {
            assert_eq!(read(folder, node, 0).node.len(), if node == 1 { 2 } else { 1 });
        }
    }

    #[test]
    fn organisations_exchange_the_certificates_of_their_workers() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = |i: usize| dir.path().join(i.to_string());
        (0..3).for_each(|i| made(&folder(i)));
        for i in 0..3 {
            let nodes = || {
                for j in (0..3).filter(|j| *j != i) {
                    let theirs = folder(j).join(format!("node-{j}/node.crt"));
                    trust(&folder(i), j, &theirs).expect("is trusted");
                }
            };
            // Workers may be made before or after nodes know each other.
            if i == 0 {
                nodes();
            }
            workers(&folder(i), 1).expect("one");
            if i > 0 {
                nodes();
            }
        }
        for i in 0..3 {
            for j in (0..3).filter(|j| *j != i) {
                let theirs = folder_of(&folder(j), j, 0).join("worker.crt");
                trust_worker(&folder(i), j, 0, &theirs).expect("is trusted");
                trust_worker(&folder(i), j, 0, &theirs).expect("is trusted, also when told again");
            }
        }
        // A file that was taken by mistake stands for somebody else already.
        let own = folder(0).join("node-0");
        for (with, of) in [
            (folder_of(&folder(2), 2, 0).join("worker.crt"), "node-2/worker-0/worker.crt"),
            (folder(1).join("node-1/node.crt"), "node-1/node.crt"),
            (own.join("node.crt"), "node-0/node.crt"),
        ] {
            let before = fs::read_to_string(own.join("worker-0/worker.toml")).expect("reads");
            for done in [trust_worker(&folder(0), 1, 0, &with), trust(&folder(0), 2, &with)] {
                let done = done.err().map_or(String::new(), |e| e.to_string());
                assert!(done.contains(of) && done.contains("one place"), "{of}: {done}");
            }
            let after = fs::read_to_string(own.join("worker-0/worker.toml")).expect("reads");
            assert_eq!(before, after, "{of}");
        }
        let known = |i: usize| {
            let all = read(&folder(i), i, 0).worker;
            all.into_iter().map(|w| w.certificates).collect::<Vec<_>>()
        };
        assert_eq!((known(0), known(1)), (known(1), known(2)));
        assert!(!folder_of(&folder(0), 1, 0).join("worker.key").exists());
    }
}
