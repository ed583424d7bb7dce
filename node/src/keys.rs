//! Makes keys, certificates and configurations of a deployment, and replaces them.
//!
//! Everything is made in one place and then carried to those whom it belongs to: each node's folder to that node, the
//! coordinator's and each client's to them. Nobody else may see these folders. Clients may also make their own secrets
//! and hand in what stands in `clients.toml` only, and organisations their own keys: see `own`.
//!
//! **Tokens.** A caller's file has the secret `token`. What it sends to a node follows from it and the node's number
//! ([`crate::config::token_for`]). A client's file has another secret, from which its signing key and its shares follow. So a node that sees a token cannot use it anywhere else.
//!
//! **Rotation.** [`rotate`] makes a new key and certificate for one node, beside those in use, and adds the new
//! certificate to what all others accept. Once everybody has the new files, the node takes its new key. Later the old
//! certificate is dropped ([`retire`]). Between these steps both are accepted, so nobody has to stop.

use crate::config::Power;
use crate::hex::hex;
use crate::names::is_name;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;

mod coordinators;
mod files;
mod own;
mod workers;

use coordinators::Stamp;
pub use coordinators::{appoint, dismiss};
pub use files::KeysError;
use files::{Made, certificate, hash_of, private, quoted, random, read, replace, write};
pub use own::{enrol, enrol_lines, trust};
pub use workers::{trust_worker, workers};

/// What a deployment is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The hosts of the three nodes, as others call them.
    pub hosts: [String; 3],
    pub peer_ports: [u16; 3],
    pub client_ports: [u16; 3],
    pub operations_ports: [u16; 3],
    /// Where they listen; without it, on all addresses of their host.
    pub listen: Option<String>,
    pub clients: Vec<String>,
    /// Names of members of other party sets that give inputs, and of those.
    pub members: Vec<(String, String)>,
    /// Where nodes keep their data: a folder beside node.toml, or elsewhere.
    pub data: String,
    /// What stands in each node.toml besides: its tasks, its limits.
    pub tasks: String,
    /// Files that each node has beside its node.toml, by name: the programs of its tasks.
    pub files: Vec<(String, Vec<u8>)>,
}

fn is_v6(host: &str) -> bool {
    host.parse::<std::net::Ipv6Addr>().is_ok()
}

/// A host as it stands before a port.
fn at(host: &str) -> String {
    if is_v6(host) { format!("[{host}]") } else { host.to_string() }
}

/// Whether a text is a host and a port, as others call it.
pub(crate) fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(host) => is_v6(host),
        None => !is_v6(host) && is_host(host),
    };
    let digits = port.bytes().all(|b| b.is_ascii_digit());
    host && digits && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Whether it is an address, or may be the name of a host.
fn is_host(host: &str) -> bool {
    let label = |l: &str| {
        !l.is_empty() && l.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    host.parse::<IpAddr>().is_ok() || host.len() <= 253 && host.split('.').all(label)
}

impl Plan {
    /// A deployment of this machine.
    pub fn local(ports: u16, clients: Vec<String>, tasks: String) -> Plan {
        let from = |k: u16| [0, 1, 2].map(|i| ports + k + i);
        Plan {
            hosts: [0; 3].map(|_| "127.0.0.1".to_string()),
            peer_ports: from(0),
            client_ports: from(10),
            operations_ports: from(20),
            listen: Some("127.0.0.1".into()),
            clients,
            members: Vec::new(),
            data: "data".into(),
            tasks,
            files: Vec::new(),
        }
    }

    fn node(&self, i: usize, made: &[Made; 3], coordinator: &Stamp) -> String {
        let all = if is_v6(&self.hosts[i]) { "::" } else { "0.0.0.0" };
        let listen = at(self.listen.as_deref().unwrap_or(all));
        let mut out = format!(
            "# Node {i} of a SLVR deployment. docs/src/deployment.md describes each line.\n\
             party = {i}\ncertificate = \"node.crt\"\nkey = \"node.key\"\nstorage_key = \"storage.key\"\n\
             data = {:?}\nclients = \"clients.toml\"\n\
             peer_listen = \"{listen}:{}\"\nclient_listen = \"{listen}:{}\"\noperations = \"127.0.0.1:{}\"\n",
            self.data, self.peer_ports[i], self.client_ports[i], self.operations_ports[i],
        );
        out += &coordinator.lines(i);
        out += &self.nodes(made, &self.peer_ports);
        if !self.tasks.is_empty() {
            out += &format!("\n{}\n", self.tasks.trim());
        }
        out
    }

    /// The lines about the nodes, for who calls them at these ports.
    fn nodes(&self, made: &[Made; 3], ports: &[u16; 3]) -> String {
        let one = |((host, port), made): ((&String, &u16), &Made)| {
            let (host, hash) = (at(host), quoted(&[made.hash]));
            format!("\n[[node]]\naddress = \"{host}:{port}\"\ncertificates = [{hash}]\n")
        };
        self.hosts.iter().zip(ports).zip(made).map(one).collect()
    }
}

/// Makes a deployment in a folder that has none: `node-0` to `node-2`, `coordinator`, `clients/NAME`.
///
/// # Errors
///
/// A plan that cannot be, files that are there already, a disk that is full.
pub fn make(folder: &Path, plan: &Plan) -> Result<(), KeysError> {
    let clients = plan.clients.iter().map(|name| (name, None));
    let all = clients.chain(plan.members.iter().map(|(name, set)| (name, Some(set))));
    if let Some((name, _)) = all.clone().find(|(name, _)| !is_name(name)) {
        return Err(KeysError::Plan(format!(
            "`{name}`: a name of a client has letters, digits, `-`, `_` and `.`"
        )));
    }
    if let Some(host) = plan.hosts.iter().find(|h| !is_host(h)) {
        return Err(KeysError::Plan(format!(
            "`{host}` is no host: a name or an address, without a port and without `https://`"
        )));
    }
    if folder.join("node-0").exists() {
        let why = format!(
            "{}: there is a deployment already; take another folder, or --rotate",
            folder.display()
        );
        return Err(KeysError::Plan(why));
    }
    let made = |i: usize| {
        let host = plan.hosts[i].as_str();
        certificate(&format!("slvr node {i}"), &[host, "localhost"])
    };
    let made = [made(0)?, made(1)?, made(2)?];
    let coordinator = Stamp::new("coordinator", &[Power::Open, Power::Collect])?;
    let mut roll = String::from(
        "# Enrolled clients: names, public keys, hashes of the tokens for nodes 0, 1 and 2, and of certificates.\n",
    );
    let nodes = plan.nodes(&made, &plan.client_ports);
    for (name, set) in all {
        let set = set.map(String::as_str);
        roll += &own::client(folder, (name, set), &nodes)?;
    }
    for (i, own) in made.iter().enumerate() {
        let at = folder.join(format!("node-{i}"));
        write(&at.join("node.crt"), &own.certificate, false)?;
        write(&at.join("node.key"), &own.key, true)?;
        write(&at.join("storage.key"), format!("{}\n", hex(&random()?)), true)?;
        write(&at.join("clients.toml"), &roll, false)?;
        if plan.data == "data" {
            private(&at.join("data"))?;
        }
        for (name, bytes) in &plan.files {
            write(&at.join(name), bytes, false)?;
        }
        write(&at.join("node.toml"), plan.node(i, &made, &coordinator), true)?;
    }
    // What programs in other languages take for the nodes' authorities.
    let all: String = made.iter().map(|m| m.certificate.as_str()).collect();
    write(&folder.join("nodes.pem"), &all, false)?;
    coordinator.write(folder, &[coordinator.seal.public()], &nodes)
}

/// The host of a node, as its configuration names it for all.
fn host_of(path: &Path, node: usize) -> Result<String, KeysError> {
    let config =
        crate::config::NodeConfig::read(path).map_err(|e| KeysError::Plan(e.to_string()))?;
    let address = config.node.get(node).map(|n| n.address.as_str());
    let host = address.and_then(|a| a.rsplit_once(':')).map(|(host, _)| host);
    let host = host.map(|h| h.trim_start_matches('[').trim_end_matches(']'));
    host.map(str::to_string)
        .ok_or_else(|| KeysError::Plan(format!("{}: no address of node {node}", path.display())))
}

/// Makes a new key and certificate of a node, `node.crt.next` and `node.key.next`, and has all others accept both. It is
/// for the host that the deployment names, unless another one is given.
///
/// # Errors
///
/// A deployment that is not there or is being rotated; a disk that is full.
pub fn rotate(folder: &Path, node: usize, host: Option<&str>) -> Result<(), KeysError> {
    let at = folder.join(format!("node-{node}"));
    let next = at.join("node.crt.next");
    let begun = next.exists();
    if !begun {
        let host = match host {
            Some(host) => host.to_string(),
            None => host_of(&at.join("node.toml"), node)?,
        };
        let made = certificate(&format!("slvr node {node}"), &[&host, "localhost"])?;
        // With the certificate, which comes last, the key is there.
        drop(fs::remove_file(at.join("node.key.next")));
        write(&at.join("node.key.next"), &made.key, true)?;
        write(&next, &made.certificate, false)?;
    }
    let (old, new) = (hash_of(&at.join("node.crt"))?, hash_of(&next)?);
    let changed = replace(folder, old, &[old, new])?;
    // Programs that take the file of authorities accept both as well.
    let (path, certificate) = (folder.join("nodes.pem"), read(&next)?);
    let all = if path.exists() { read(&path)? } else { String::new() };
    if !all.contains(&certificate) {
        return fs::write(&path, all + &certificate).map_err(KeysError::at(&path));
    }
    // What was broken off has ended by now.
    if begun && changed == 0 {
        return Err(KeysError::Plan(format!(
            "{}: node {node} has a new key already: give all others their new files, then `--retire {node}` drops the old one, and another `--rotate {node}` may follow",
            next.display()
        )));
    }
    Ok(())
}

/// Ends a rotation: the node takes its new key, and nobody accepts the old certificate any more.
///
/// # Errors
///
/// A rotation that was not begun; a disk that is full.
pub fn retire(folder: &Path, node: usize) -> Result<(), KeysError> {
    let at = folder.join(format!("node-{node}"));
    let next = at.join("node.crt.next");
    if !next.exists() {
        return Err(KeysError::Plan(format!(
            "{}: node {node} has no new key: `--rotate {node}` makes one",
            next.display()
        )));
    }
    let (old, new) = (hash_of(&at.join("node.crt"))?, hash_of(&next)?);
    replace(folder, old, &[new])?;
    // Another node may be in the middle of a rotation of its own.
    let own = |i: usize| {
        let at = folder.join(format!("node-{i}"));
        let now = match i == node {
            true => String::new(),
            false => fs::read_to_string(at.join("node.crt"))?,
        };
        match fs::read_to_string(at.join("node.crt.next")) {
            Ok(next) => Ok(now + &next),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(now),
            Err(e) => Err(e),
        }
    };
    let all: Result<String, io::Error> = (0..3).map(own).collect();
    let path = folder.join("nodes.pem");
    all.and_then(|all| fs::write(&path, all)).map_err(KeysError::at(&path))?;
    // The new certificate is there until all else is done, so that what was broken off can be done again.
    for name in ["node.key", "node.crt"] {
        let (from, to) = (at.join(format!("{name}.next")), at.join(name));
        match fs::rename(&from, &to) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && name == "node.key" => {}
            done => done.map_err(KeysError::at(&from))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CallerConfig, NodeConfig, Roll, identity, token_for};
    use crate::hex::sha256;
    use crate::submission::Signer;

    #[test]
    fn a_deployment_is_made_read_rotated_and_never_overwritten() {
        let dir = tempfile::tempdir().expect("a folder");
        let plan = Plan::local(7000, vec!["a".into(), "b".into()], String::new());
        make(dir.path(), &plan).expect("is made");
        assert!(matches!(make(dir.path(), &plan), Err(KeysError::Plan(_))));
        let node = |i: usize| {
            NodeConfig::read(&dir.path().join(format!("node-{i}/node.toml"))).expect("reads")
        };
        let own =
            |c: &NodeConfig| sha256(&identity(&c.certificate, &c.key).expect("an identity").0);
        let before = own(&node(1));
        assert_eq!(node(2).node[1].certificates, [before]);
        let roll = Roll::read(&node(0).clients, 0).expect("reads");
        let client = CallerConfig::read(&dir.path().join("clients/a/client.toml")).expect("reads");
        let token = token_for(client.token.as_deref().expect("a token"), 0);
        let found = roll.by_token(&token).expect("is known");
        let signer = Signer::new(&client.secret.expect("a secret").0).expect("signs");
        assert_eq!((found.name.as_str(), found.key), ("a", signer.public()));
        assert!(roll.by_token("something else").is_none());
        let authorities = || {
            let text = fs::read_to_string(dir.path().join("nodes.pem")).expect("reads");
            text.matches("BEGIN CERTIFICATE").count()
        };
        rotate(dir.path(), 1, None).expect("begins");
        assert_eq!(authorities(), 4, "programs in other languages accept both");
        assert_eq!(node(0).node[1].certificates.len(), 2);
        // Two at a time.
        rotate(dir.path(), 2, None).expect("begins");
        assert_eq!(authorities(), 5);
        assert_eq!(own(&node(1)), before, "it has its old key until everybody knows the new one");
        let again = rotate(dir.path(), 1, None).expect_err("has one already").to_string();
        assert!(again.contains("`--retire 1`"), "{again}");
        // One that was broken off before all had the new certificate is ended by the same command.
        let toml = dir.path().join("clients/a/client.toml");
        let (both, old) = (fs::read_to_string(&toml).expect("reads"), format!("\"{before}\""));
        let new = hash_of(&dir.path().join("node-1/node.crt.next")).expect("a certificate");
        let next = format!("{old}, \"{new}\"");
        fs::write(&toml, both.replace(&next, &old)).expect("writes");
        rotate(dir.path(), 1, None).expect("goes on");
        assert_eq!(fs::read_to_string(&toml).expect("reads"), both);
        // What names the old one in another way is not passed over.
        fs::write(&toml, both.replace(&next, &format!("'{before}'"))).expect("writes");
        let odd = rotate(dir.path(), 1, None).expect_err("is odd").to_string();
        assert!(odd.contains("client.toml") && odd.contains("double quotes"), "{odd}");
        // One that ends takes also those that have the old one alone, and goes on where it was.
        fs::write(&toml, both.replace(&next, &old)).expect("writes");
        let key = dir.path().join("node-1/node.key");
        fs::rename(dir.path().join("node-1/node.key.next"), key).expect("renames");
        retire(dir.path(), 1).expect("ends");
        let again = retire(dir.path(), 1).expect_err("has none").to_string();
        assert!(again.contains("`--rotate 1` makes one"), "{again}");
        assert_eq!(authorities(), 4, "the other rotation goes on");
        retire(dir.path(), 2).expect("ends");
        assert_eq!(authorities(), 3);
        let after = own(&node(1));
        assert_ne!(before, after);
        let client = CallerConfig::read(&dir.path().join("clients/a/client.toml")).expect("reads");
        assert_eq!(
            (&node(2).node[1].certificates, &client.node[1].certificates),
            (&vec![after], &vec![after])
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            for secret in
                ["node-0/node.key", "node-1/node.key", "node-1/node.toml", "clients/a/client.toml"]
            {
                let mode =
                    fs::metadata(dir.path().join(secret)).expect("is there").permissions().mode();
                assert_eq!(mode & 0o077, 0, "{secret}");
            }
        }
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in ["w0.a.example:7430", "10.0.0.1:1", "[::1]:65535", "w_0:7430"] {
            assert!(is_address(good), "{good}");
        }
        let long = format!("{}:7430", "a".repeat(254));
        for bad in [
            "",
            ":",
            "w0",
            "w0:",
            ":7430",
            "w0:0",
            "w0:65536",
            "w0:+1",
            "w0:-1",
            "w0: 7430",
            "::1:7430",
            "[w0]:7430",
            "[::1]",
            "http://w0:7430",
            "w0:7430/",
            "w 0:7430",
            "w..0:7430",
            "w0\n:7430",
            &long,
        ] {
            assert!(!is_address(bad), "{bad}");
        }
    }

    #[test]
    fn hosts_are_names_or_addresses_and_every_address_of_a_deployment_can_be_called() {
        let made = |host: &str| {
            let dir = tempfile::tempdir().expect("a folder");
            let mut plan = Plan::local(7000, vec![], String::new());
            (plan.hosts[1], plan.listen) = (host.into(), None);
            make(dir.path(), &plan).map(|()| {
                let node = |i| dir.path().join(format!("node-{i}/node.toml"));
                let own = NodeConfig::read(&node(1)).expect("reads");
                assert_eq!(
                    own.node[1].address,
                    NodeConfig::read(&node(0)).expect("reads").node[1].address
                );
                (own.node[1].address.clone(), own.peer_listen, own.client_listen)
            })
        };
        for (host, address, listen) in [
            ("b.example", "b.example:7001", "0.0.0.0"),
            ("10.1.2.3", "10.1.2.3:7001", "0.0.0.0"),
            ("2001:db8::1", "[2001:db8::1]:7001", "[::]"),
        ] {
            let (found, peers, clients) = made(host).expect("is made");
            assert_eq!((found.as_str(), peers), (address, format!("{listen}:7001")));
            assert_eq!(clients, format!("{listen}:7011"));
        }
        for bad in ["b:99", "https://c", "", "a b", "a..b", "[::1]", "a/b", "é"] {
            assert!(matches!(made(bad), Err(KeysError::Plan(_))), "{bad}");
        }
    }

    #[test]
    fn a_new_certificate_is_for_the_nodes_own_host() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut plan = Plan::local(7000, vec![], String::new());
        plan.hosts = ["a.example".into(), "10.1.2.3".into(), "::1".into()];
        make(dir.path(), &plan).expect("is made");
        for (node, host) in [b"a.example".to_vec(), vec![10, 1, 2, 3]].into_iter().enumerate() {
            rotate(dir.path(), node, None).expect("begins");
            let (der, _) = identity(
                &dir.path().join(format!("node-{node}/node.crt.next")),
                &dir.path().join(format!("node-{node}/node.key.next")),
            )
            .expect("an identity");
            // The name stands in the certificate as it is.
            assert!(der.windows(host.len()).any(|w| w == host), "node {node}");
        }
    }
}
