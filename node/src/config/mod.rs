//! What a node, a client and a coordinator are told, as TOML files. Paths in a file are relative to its folder.
//!
//! | file | has |
//! |---|---|
//! | `limits` | what a node may use, and how long it waits |
//! | `workers` | what a worker is told, and a node of its workers |
//! | `roll` | who is enrolled, and by what each client is known |

mod limits;
mod roll;
mod workers;

use crate::hex::{Hash, Hex, hex, sha256, unhex};
use crate::names::{alike, is_name};
use ring::hmac;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::Deserialize;
use slvr_circuit::{Security, artifact};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;
use zeroize::Zeroizing;

pub use limits::{LONGEST as LONGEST_WAIT, Limits};
pub use roll::{Clients, Enrolled, Roll};
pub use workers::{OwnWorker, WORKERS, WorkerConfig};

/// Longest file of configuration, keys included.
const LONGEST: u64 = 64 << 20;

/// A configuration that cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file that cannot be read.
    #[error("{}: cannot be read: {why}", path.display())]
    Read { path: PathBuf, why: io::Error },
    /// A file that says something else.
    #[error("{}: {why}", path.display())]
    Content { path: PathBuf, why: String },
}

/// A configuration of a node: `node.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// Which party: 0, 1 or 2.
    pub party: usize,
    /// The node's certificate, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// 32 bytes, in hexadecimal digits, under which everything secret on disk is sealed.
    pub storage_key: PathBuf,
    /// The folder of everything that the node keeps.
    pub data: PathBuf,
    /// Where the other nodes call.
    pub peer_listen: String,
    /// Where clients and the coordinator call.
    pub client_listen: String,
    /// Where the operator looks: the status page, metrics, readiness, backups, and where workers are. Without [`Operator`] a
    /// loopback address.
    pub operations: String,
    /// Who may look there. With it the address may be any, and TLS is spoken.
    pub operator: Option<Operator>,
    /// The file of enrolled clients.
    pub clients: PathBuf,
    /// Who may open rounds and who may collect results.
    pub coordinator: Vec<Coordinator>,
    /// The three nodes, in order.
    pub node: Vec<Peer>,
    #[serde(default)]
    pub worker: Vec<OwnWorker>,
    #[serde(default)]
    pub task: Vec<Task>,
    #[serde(default)]
    pub limits: Limits,
    /// The file itself, to read its tasks again.
    #[serde(skip)]
    pub path: PathBuf,
}

/// Who may look at [`NodeConfig::operations`], over TLS.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Operator {
    /// SHA-256 of tokens (`Authorization: Bearer`).
    pub tokens: Vec<Hash>,
    /// SHA-256 of certificates, DER.
    pub certificates: Vec<Hash>,
}

/// A coordinator as a node knows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coordinator {
    /// Its name, for logs.
    pub name: String,
    pub may: Vec<Power>,
    /// The public key with which it signs openings and orders (Ed25519).
    pub key: Hex<32>,
    /// SHA-256 of its token for this node ([`token_for`]).
    pub token: Hash,
}

/// What a coordinator may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// Open, close, abort and drop rounds.
    Open,
    /// Collect results, and erase them.
    Collect,
}

/// A node as the other nodes or its clients know it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Where they call it, `host:port`.
    pub address: String,
    /// SHA-256 of its certificate, DER. More than one while certificates are being exchanged.
    pub certificates: Vec<Hash>,
}

/// Something that the nodes may run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub name: String,
    /// The program: a file, or a predicate that comes with the compiler.
    pub program: String,
    /// Sizes, models and parameters, as on the command line.
    #[serde(default)]
    pub bindings: Vec<String>,
    /// Which size is the number of clients, such as `m`. Without it the circuit is never made for fewer.
    pub clients: Option<String>,
    /// No round of the task has a lower minimum of clients.
    #[serde(default = "two")]
    pub minimum: u64,
    /// `semi-honest` or `malicious`.
    pub security: Option<String>,
    /// The network that the circuit is made for.
    pub net: Option<String>,
    /// The most memory for the values of a party, as in `8GiB`; `run_memory_mb` of the node without it. The same at all three.
    pub memory: Option<String>,
    /// Whether workers may compute ranges of it: then it is compiled without speculation. The same at all three.
    #[serde(default)]
    pub workers: bool,
    /// From where paths in `bindings` are seen: the folder of the configuration.
    #[serde(skip)]
    pub folder: PathBuf,
}

fn two() -> u64 {
    2
}

/// Whether others than its owner may read a file that holds a secret.
pub fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        use std::os::unix::fs::PermissionsExt;
        // Secrets that Kubernetes mounts are root's, and readable by a group of the node's own.
        let own = |m: &std::fs::Metadata| if m.uid() == 0 { 0o037 } else { 0o077 };
        std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & own(&m) != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// What a client or a coordinator needs to call the nodes: `client.toml`, `coordinator.toml`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallerConfig {
    /// The client's name; a coordinator's is not looked at.
    pub name: String,
    /// The party set whose inputs it gives; without it the clients'.
    pub set: Option<String>,
    /// From what its tokens follow, one for each node ([`token_for`]). It is sent to nobody.
    pub token: Option<String>,
    /// 32 secret bytes: the seed of its signatures, and what a client's shares are derived from.
    pub secret: Option<Hex<32>>,
    /// A coordinator's: public keys of those whose openings it collects.
    #[serde(default)]
    pub openers: Vec<Hex<32>>,
    /// Its certificate, PEM.
    pub certificate: Option<PathBuf>,
    /// The private key of its certificate, PEM.
    pub key: Option<PathBuf>,
    /// The three nodes, in order.
    pub node: Vec<Peer>,
}

impl fmt::Debug for CallerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallerConfig({}, secrets hidden)", self.name)
    }
}

/// The token of a caller for one node: HMAC-SHA256 under the secret of its configuration, of `slvr node I`, in
/// hexadecimal digits. No node can say who it is with it to another one, since each has its own.
pub fn token_for(secret: &str, node: usize) -> Zeroizing<String> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("slvr node {node}").as_bytes());
    Zeroizing::new(hex(tag.as_ref()))
}

/// What the three nodes are told of the tokens that follow from a secret.
pub fn token_hashes(secret: &str) -> [Hash; 3] {
    [0, 1, 2].map(|node| sha256(token_for(secret, node).as_bytes()))
}

/// The bytes of a regular file of at most [`LONGEST`].
fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, ConfigError> {
    let bytes = || {
        let mut bytes = Zeroizing::new(Vec::new());
        let file = std::fs::File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
        }
        file.take(LONGEST + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > LONGEST {
            true => {
                let why = format!("it is longer than {LONGEST} bytes");
                Err(io::Error::new(io::ErrorKind::InvalidInput, why))
            }
            false => Ok(bytes),
        }
    };
    bytes().map_err(|why| ConfigError::Read { path: path.into(), why })
}

fn content(path: &Path, why: impl fmt::Display) -> ConfigError {
    ConfigError::Content { path: path.into(), why: why.to_string() }
}

/// Reads a TOML file.
///
/// # Errors
///
/// A file that cannot be read, or says something else.
pub fn read_toml<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, ConfigError> {
    let bytes = read(path)?;
    let text = std::str::from_utf8(&bytes).map_err(|e| content(path, e))?;
    // The message shows the line, which may be a secret one.
    toml::from_str(text).map_err(|e: toml::de::Error| {
        let line =
            e.span().map_or(0, |s| text.get(..s.start).map_or(0, |t| t.lines().count().max(1)));
        content(path, format!("line {line}: {}", ranged(e.message())))
    })
}

/// A parser's message in which ranges of integers stand in place of the names of types.
fn ranged(message: &str) -> String {
    let mut out = message.to_string();
    for (name, range) in [
        ("u16", "a whole number from 0 to 65535"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("u64", "a whole number from 0 on"),
        ("usize", "a whole number from 0 on"),
    ] {
        if let Some(said) = out.strip_suffix(&format!("expected {name}")) {
            out = format!("{said}expected {range}");
        }
    }
    out
}

impl NodeConfig {
    /// Reads `node.toml`. Its paths are as they are seen from here afterwards.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or that says something that cannot be.
    pub fn read(path: &Path) -> Result<NodeConfig, ConfigError> {
        let mut config: NodeConfig = read_toml(path)?;
        if let Some(why) = config.wrong() {
            return Err(content(path, why));
        }
        config.path = path.to_path_buf();
        config.place(path.parent().unwrap_or(Path::new("")));
        Ok(config)
    }

    /// What it says that cannot be.
    fn wrong(&self) -> Option<String> {
        let wrong = |why: &str| Some(why.to_string());
        if self.node.len() != 3 || self.party > 2 {
            return wrong(
                "there are three nodes: `party` is 0, 1 or 2, and [[node]] stands three times",
            );
        }
        if let Some(why) = self.limits.wrong() {
            return Some(why);
        }
        if self.node.iter().any(|n| n.certificates.is_empty()) {
            return wrong("each [[node]] needs at least one of `certificates`");
        }
        let twice = twice("node", self.node.iter().map(|n| (Some(&n.address), &n.certificates)));
        if let Some(why) = twice.or_else(|| workers::wrong(&self.worker, &self.node)) {
            return Some(why);
        }
        let divided = |t: &&Task| t.workers && t.security.as_deref() == Some("malicious");
        if let Some(task) = self.task.iter().find(divided) {
            return Some(format!(
                "[[task]] `{}`: workers cannot compute ranges of a circuit against a malicious party: leave out `workers = true`, or `security`",
                task.name
            ));
        }
        let mut names: Vec<&str> = self.task.iter().map(|t| t.name.as_str()).collect();
        names.sort_unstable();
        if names.windows(2).any(|n| n[0] == n[1]) {
            return wrong("two [[task]] have the same name");
        }
        if let Some((a, b)) = alike(names.iter().copied()) {
            return Some(format!(
                "[[task]] `{a}` and `{b}`: names differ by more than capital letters, for they name folders, too"
            ));
        }
        if let Some(bad) = names.iter().find(|n| !is_name(n)) {
            return Some(format!(
                "`{bad}`: a name of a task has letters, digits, `-`, `_` and `.`"
            ));
        }
        if self.task.iter().any(|t| t.minimum < 2) {
            return wrong(
                "`minimum` of a task is at least 2: with one client the result is its input",
            );
        }
        for (i, c) in self.coordinator.iter().enumerate() {
            let mut before = self.coordinator.iter().take(i);
            if let Some(other) = before.find(|o| o.token == c.token || o.key == c.key) {
                return Some(format!(
                    "[[coordinator]] `{}` and `{}` have the same key or token: each has its own",
                    other.name, c.name
                ));
            }
        }
        let known = |said: &String| Security::ALL.iter().any(|s| s.name() == said);
        let unknown = |t: &&Task| t.security.as_ref().is_some_and(|said| !known(said));
        if let Some(task) = self.task.iter().find(unknown) {
            let said = task.security.as_deref().unwrap_or_default();
            return Some(format!(
                "[[task]] `{}`: security = {said:?} is neither \"semi-honest\" nor \"malicious\"",
                task.name
            ));
        }
        let nobody = |o: &Operator| o.tokens.is_empty() && o.certificates.is_empty();
        if self.operator.as_ref().is_some_and(nobody) {
            return wrong(
                "[operator] names nobody: give it `tokens` or `certificates`, or leave it out",
            );
        }
        None
    }

    /// Has paths seen from its folder be seen from here, and tasks know the folder and their memory.
    fn place(&mut self, folder: &Path) {
        let paths = [&mut self.certificate, &mut self.key, &mut self.storage_key];
        for p in paths.into_iter().chain([&mut self.data, &mut self.clients]) {
            *p = folder.join(&*p);
        }
        for task in &mut self.task {
            // A bare name is a predicate that comes with the compiler, unless there is such a file.
            let beside = folder.join(&task.program);
            if beside.is_file() {
                task.program = beside.display().to_string();
            }
            // A circuit has the name of a model's file in it, so that stays as it is, the same for all nodes.
            task.folder = folder.to_path_buf();
            // A circuit that is compiled already is as it is.
            if !artifact::is_named(&task.program) {
                let most = || format!("{}MB", self.limits.run_memory_mb);
                task.memory.get_or_insert_with(most);
            }
        }
    }

    /// The public keys of coordinators that may open rounds.
    pub fn openers(&self) -> Vec<Hex<32>> {
        let may = |c: &&Coordinator| c.may.contains(&Power::Open);
        self.coordinator.iter().filter(may).map(|c| c.key).collect()
    }

    /// The key under which secrets are sealed.
    ///
    /// # Errors
    ///
    /// A file that is not such a key.
    pub fn storage_key(&self) -> Result<Zeroizing<[u8; 32]>, ConfigError> {
        let path = &self.storage_key;
        let bytes = read(path)?;
        let text = std::str::from_utf8(&bytes).unwrap_or("").trim();
        let wrong = || content(path, "it should hold 64 hexadecimal digits");
        let decoded = Zeroizing::new(unhex(text).ok_or_else(wrong)?);
        let mut key = Zeroizing::new([0; 32]);
        match decoded.len() {
            32 => key.copy_from_slice(&decoded),
            _ => return Err(wrong()),
        }
        Ok(key)
    }
}

/// The file of a model, and what follows it, in a binding such as `M=models/mine.slvr:Mine[64]`.
pub fn model_file(binding: &str) -> Option<(&str, &str)> {
    let (_, value) = binding.split_once('=')?;
    let name = value.find('[').unwrap_or(value.len());
    let colon = value.get(..name)?.rfind(':')?;
    Some((value.get(..colon)?.trim(), value.get(colon + 1..)?))
}

/// What says that one node, or worker, stands twice in a list: two parts of a submission would be its whole input.
fn twice<'a>(
    table: &str,
    nodes: impl Iterator<Item = (Option<&'a String>, &'a Vec<Hash>)>,
) -> Option<String> {
    let all: Vec<_> = nodes.collect();
    for (i, (address, certificates)) in all.iter().enumerate() {
        for (j, (other, others)) in all.iter().enumerate().take(i) {
            if let Some(address) = address.filter(|_| address == other) {
                return Some(format!(
                    "[[{table}]] {j} and {i} have the same address {address}: list the {table}s in their order, each once"
                ));
            }
            if let Some(hash) = certificates.iter().find(|c| others.contains(c)) {
                return Some(format!(
                    "[[{table}]] {j} and {i} have the same certificate {hash}: list the {table}s in their order, each once"
                ));
            }
        }
    }
    None
}

/// A certificate and its private key, of two PEM files.
///
/// # Errors
///
/// Files that are something else.
pub fn identity(
    certificate: &Path,
    key: &Path,
) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), ConfigError> {
    let shown = CertificateDer::from_pem_slice(&read(certificate)?);
    let shown = shown.map_err(|e| content(certificate, format!("no certificate: {e:?}")))?;
    // What a parser says of a damaged key may show it.
    let own = PrivatePkcs8KeyDer::from_pem_slice(&read(key)?)
        .map_err(|_| content(key, "no private key"))?;
    Ok((shown, own.into()))
}

impl CallerConfig {
    /// Reads `client.toml` or `coordinator.toml`. Its paths are as they are seen from here afterwards.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or that says something that cannot be.
    pub fn read(path: &Path) -> Result<CallerConfig, ConfigError> {
        let mut config: CallerConfig = read_toml(path)?;
        if config.node.len() != 3 {
            return Err(content(path, "there are three nodes: [[node]] stands three times"));
        }
        let nodes = config.node.iter().map(|n| (Some(&n.address), &n.certificates));
        if let Some(why) = twice("node", nodes) {
            return Err(content(path, why));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        for p in [&mut config.certificate, &mut config.key].into_iter().flatten() {
            *p = folder.join(&*p);
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_model_is_found_in_a_binding() {
        for (binding, found) in [
            ("M=a/b.slvr:Mine", Some(("a/b.slvr", "Mine"))),
            ("M=b.slvr:Mine[64, k=2]", Some(("b.slvr", "Mine[64, k=2]"))),
            ("M=Mlp[64]", None),
            ("m=10", None),
            ("m", None),
        ] {
            assert_eq!(model_file(binding), found, "{binding}");
        }
    }

    #[test]
    fn a_number_that_cannot_be_is_told_its_range_and_line() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("limits.toml");
        let said = |text: &str| {
            std::fs::write(&path, text).expect("writes");
            read_toml::<Limits>(&path).map(drop).expect_err("is refused").to_string()
        };
        for (text, range) in [
            ("slowest = 1\nattempts = -1\n", "line 2: "),
            ("attempts = -1\n", "from 0 to 4294967295"),
            ("attempts = 4294967296\n", "from 0 to 4294967295"),
            ("connections = -5\n", "a whole number from 0 on"),
            ("idle_s = -5\n", "a whole number from 0 on"),
            ("idle_s = 1.5\n", "a whole number from 0 on"),
            ("idle_s = \"thirty\"\n", "a whole number from 0 on"),
        ] {
            let said = said(text);
            assert!(said.contains(range), "{text}: {said}");
            let typed = ["u16", "u32", "u64", "usize"].iter().any(|t| said.contains(t));
            assert!(!typed, "{text}: {said}");
        }
    }

    #[test]
    fn a_task_names_an_adversary_that_there_is() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("node.toml");
        let read = |security: &str| {
            let mut text = String::from("party = 0\ncoordinator = []\n");
            for name in ["certificate", "key", "storage_key", "data", "clients"] {
                text += &format!("{name} = \"{name}\"\n");
            }
            for (name, port) in [("peer_listen", 1), ("client_listen", 2), ("operations", 3)] {
                text += &format!("{name} = \"127.0.0.1:{port}\"\n");
            }
            for i in 0..3u8 {
                let hash = Hex([i; 32]);
                text += &format!("[[node]]\naddress = \"a:{i}\"\ncertificates = [\"{hash}\"]\n");
            }
            text += &format!("[[task]]\nname = \"t\"\nprogram = \"krum\"\n{security}\n");
            std::fs::write(&path, text).expect("writes");
            NodeConfig::read(&path).map(drop).map_err(|e| e.to_string())
        };
        for good in ["", "security = \"semi-honest\"", "security = \"malicious\""] {
            assert_eq!(read(good), Ok(()), "{good}");
        }
        for bad in ["Malicious", "malicous", "semi", "", "malicious "] {
            let why = read(&format!("security = {bad:?}")).expect_err(bad);
            assert!(why.contains("`t`") && why.contains("\"malicious\""), "{why}");
        }
    }

    #[test]
    fn a_configuration_that_names_one_node_twice_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("client.toml");
        let read = |nodes: [(&str, u8); 3]| {
            let mut text = String::from("name = \"a\"\n");
            for (address, hash) in nodes {
                let hash = Hex([hash; 32]);
                text +=
                    &format!("[[node]]\naddress = \"{address}\"\ncertificates = [\"{hash}\"]\n");
            }
            std::fs::write(&path, text).expect("writes");
            CallerConfig::read(&path).map_err(|e| e.to_string())
        };
        assert!(read([("a:1", 1), ("b:1", 2), ("c:1", 3)]).is_ok());
        let address = read([("a:1", 1), ("b:1", 2), ("a:1", 3)]).expect_err("one address twice");
        assert!(address.contains("[[node]] 0 and 2") && address.contains("a:1"), "{address}");
        let hash = read([("a:1", 1), ("b:1", 2), ("c:1", 2)]).expect_err("one certificate twice");
        assert!(hash.contains("[[node]] 1 and 2"), "{hash}");
    }
}
