//! Any bytes to everything that reads bytes of others: requests, frames, manifests, words of results. The fuzz targets and a
//! random test use it.

use slvr_node::config::{NodeConfig, Roll, token_for};
use slvr_node::hex::Hex;
use slvr_node::http;
use slvr_node::keys::{Plan, make};
use slvr_node::node::Node;
use slvr_node::peers::Peers;
use slvr_node::store::Store;
use slvr_node::submission::Manifest;
use slvr_node::vault::Key;
use slvr_node::wire::{Answer, Ask, OfWorker, Purpose, RunHello, SHORT, ToWorker, read_frame};
use slvr_node::words::words;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A node that is asked in this process.
pub struct Asked {
    node: Arc<Node>,
    runtime: Runtime,
    /// What stands for the token of a client and that of the coordinator in what is sent.
    tokens: [(&'static str, String); 2],
}

impl Asked {
    /// With its data in a folder, which is empty.
    pub fn new(folder: &Path) -> Asked {
        Asked::with(folder, |_| {})
    }

    /// The node that is asked.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// With what is put into its store before it begins.
    pub fn with(folder: &Path, fill: impl FnOnce(&Store)) -> Asked {
        let limits = "[limits]\ndeadline_s = 1\nidle_s = 1\n".to_string();
        let plan = Plan::local(40_000, vec!["a".into()], limits);
        make(folder, &plan).expect("keys");
        let config = NodeConfig::read(&folder.join("node-0/node.toml")).expect("reads");
        let token = |file: &str| {
            let text = std::fs::read_to_string(folder.join(file)).expect("reads");
            let line = text.lines().find_map(|l| l.strip_prefix("token = \""));
            token_for(line.expect("a token").trim_end_matches('"'), 0).to_string()
        };
        let tokens = [
            ("CLIENT", token("clients/a/client.toml")),
            ("COORDINATOR", token("coordinator/coordinator.toml")),
        ];
        let storage = Key::new(config.storage_key().expect("a key"));
        let store = Store::open(&config.data, storage).expect("a store");
        fill(&store);
        let roll = Roll::read(&config.clients, config.party).expect("reads");
        let peers = Arc::new(Peers::new(&config, 1 << 20).expect("keys"));
        let node = Node::new(config, store, BTreeMap::new(), roll, peers);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Asked { node: Arc::new(node.expect("a node")), runtime: runtime.expect("threads"), tokens }
    }

    /// Sends a request, or what is none. The answer is one of HTTP, or nothing.
    pub fn request(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for (name, token) in &self.tokens {
            let at = bytes.windows(name.len()).position(|w| w == name.as_bytes());
            if let Some(at) = at {
                bytes.splice(at..at + name.len(), token.bytes());
            }
        }
        let answer = self.runtime.block_on(http::answer_to(&self.node, &bytes));
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{answer:?}");
        answer
    }
}

/// Frames between nodes.
pub fn frames(bytes: &[u8]) {
    let _ = read_frame::<Purpose>(&mut &*bytes, SHORT);
    let _ = read_frame::<Ask>(&mut &*bytes, SHORT);
    let _ = read_frame::<Answer>(&mut &*bytes, SHORT);
    let _ = read_frame::<RunHello>(&mut &*bytes, SHORT);
    let _ = read_frame::<ToWorker>(&mut &*bytes, SHORT);
    let _ = read_frame::<OfWorker>(&mut &*bytes, SHORT);
}

/// Manifests and words of results. What is no manifest of a key is refused.
pub fn submissions(bytes: &[u8]) {
    let _ = words(bytes);
    if let Ok(m) = serde_json::from_slice::<Manifest>(bytes) {
        assert!(m.check(&m.task, m.round, &m.client, &Hex([7; 32])).is_err());
        let again = serde_json::to_vec(&m).expect("JSON");
        assert_eq!(serde_json::from_slice::<Manifest>(&again).expect("reads"), m);
    }
}
