//! Looks at the configuration of a node before it is started, and says everything that is wrong with it at once.

use crate::config::{NodeConfig, Roll, identity, is_open_to_others};
use crate::peers::Peers;
use crate::service::may_listen;
use crate::tasks::{Compile, longest, tasks};
use crate::wire::Ask;
use crate::{http, trust};
use std::fmt;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// As it should be.
    Good,
    /// A node starts all the same.
    Warning,
    /// A node does not start, or takes part in no round.
    Wrong,
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Weight::Good => "ok",
            Weight::Warning => "warning",
            Weight::Wrong => "error",
        })
    }
}

/// Something that was looked at.
#[derive(Clone, Debug)]
pub struct Finding {
    pub weight: Weight,
    pub what: &'static str,
    pub said: String,
}

/// What is found, in order.
#[derive(Debug, Default)]
struct Found(Vec<Finding>);

impl Found {
    fn add(&mut self, weight: Weight, what: &'static str, said: impl Into<String>) {
        self.0.push(Finding { weight, what, said: said.into() });
    }

    /// Notes what came of something, and gives it back if it is good.
    fn of<T, E: fmt::Display>(
        &mut self,
        what: &'static str,
        done: Result<T, E>,
        good: impl FnOnce(&T) -> String,
    ) -> Option<T> {
        match done {
            Ok(value) => {
                self.add(Weight::Good, what, good(&value));
                Some(value)
            }
            Err(why) => {
                self.add(Weight::Wrong, what, why.to_string());
                None
            }
        }
    }
}

/// Looks at everything that a start looks at, and at more. A node that runs with this configuration is not disturbed. With
/// `reach`, the two others are called as well.
pub fn check(path: &Path, compile: &dyn Compile, reach: bool) -> Vec<Finding> {
    let mut found = Found::default();
    let read = NodeConfig::read(path);
    let good = |c: &NodeConfig| format!("{}: node {}", path.display(), c.party);
    if let Some(config) = found.of("configuration", read, good) {
        keys(&mut found, &config);
        places(&mut found, &config);
        let known = tasks(&config, compile);
        let named = |all: &std::collections::BTreeMap<_, crate::tasks::Known>| {
            let one = |k: &crate::tasks::Known| format!("{} ({})", k.task.name, k.full.hash);
            let all: Vec<String> = all.values().map(one).collect();
            if all.is_empty() { "there are none".into() } else { all.join(", ") }
        };
        if let Some(known) = found.of("tasks", known, named) {
            peers(&mut found, &config, longest(known.values()), reach);
        }
    }
    found.0
}

fn keys(found: &mut Found, config: &NodeConfig) {
    let own = identity(&config.certificate, &config.key).map_err(|e| e.to_string());
    let own = own.and_then(|(certificate, key)| {
        let tls = trust::server((&certificate, &key), None);
        tls.map(drop).map_err(|e| trust::unusable(&config.certificate, &config.key, &e))
    });
    found.of("certificate", own, |()| config.certificate.display().to_string());
    let storage = config.storage_key().map(drop);
    found.of("storage key", storage, |()| config.storage_key.display().to_string());
    for secret in [&config.key, &config.storage_key, &config.path] {
        if is_open_to_others(secret) {
            let said =
                format!("{}: others than its owner may read it: chmod 600", secret.display());
            found.add(Weight::Warning, "permissions", said);
        }
    }
    let roll = Roll::read(&config.clients, config.party);
    found.of("clients", roll, |r| format!("{} are enrolled", r.clients.len()));
}

/// Addresses, the folder of data, and what the system allows.
fn places(found: &mut Found, config: &NodeConfig) {
    found.of("operations", may_listen(config), |()| config.operations.clone());
    let all = [
        ("peer_listen", &config.peer_listen),
        ("client_listen", &config.client_listen),
        ("operations", &config.operations),
    ];
    for (what, address) in all {
        match TcpListener::bind(address) {
            Ok(_) => found.add(Weight::Good, what, format!("{address} is free")),
            Err(e) if e.kind() == ErrorKind::AddrInUse => {
                let said = format!("{address} is taken: by this node, if it runs");
                found.add(Weight::Warning, what, said);
            }
            Err(e) => found.add(Weight::Wrong, what, format!("{address}: cannot listen: {e}")),
        }
    }
    let data = &config.data;
    let probe = data.join(".check");
    let written = match data.is_dir() {
        true => std::fs::write(&probe, b"").and_then(|()| std::fs::remove_file(&probe)),
        // It is made at the first start.
        false => {
            data.parent().filter(|p| p.is_dir()).map(drop).ok_or_else(|| ErrorKind::NotFound.into())
        }
    };
    let written = written.map_err(|e: std::io::Error| format!("{}: {e}", data.display()));
    found.of("data", written, |()| data.display().to_string());
    if is_open_to_others(data) {
        let said = format!("{}: others than its owner may look into it: chmod 700", data.display());
        found.add(Weight::Warning, "permissions", said);
    }
    let (wanted, there) = (config.limits.connections, http::connections(config.limits.connections));
    if there < wanted {
        let said = format!(
            "the limit of open files leaves {there} connections of clients, and not {wanted}: raise it (ulimit -n, LimitNOFILE)"
        );
        found.add(Weight::Warning, "limits", said);
    }
}

fn peers(found: &mut Found, config: &NodeConfig, longest: u64, reach: bool) {
    let peers = Peers::new(config, longest);
    let Some(peers) = found.of("nodes", peers, |_| "this node's certificate is its own".into())
    else {
        return;
    };
    let peers = Arc::new(peers);
    if !reach {
        return;
    }
    for peer in peers.others() {
        let asked = peers.ask(peer, &Ask::Ping, Duration::from_secs(10));
        found.of("reach", asked, |_| format!("node {peer} answers, and knows this one"));
    }
    for number in (0u16..).take(config.worker.len()) {
        let Some(at) = peers.worker_at(number) else {
            let said = format!("worker {number} has no `address`: the node is told where it is");
            found.add(Weight::Good, "reach", said);
            continue;
        };
        let asked = peers.reach_worker(number, Duration::from_secs(10));
        let asked = asked.map_err(|why| format!("worker {number} at {at}: {why}"));
        found.of("reach", asked, |()| format!("worker {number} at {at} answers"));
    }
}
