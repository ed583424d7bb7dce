//! What is added to a deployment that is there: a client, and what organisations have made themselves.
//!
//! Keys need not be made in one place. Each organisation makes a folder with [`super::make`], keeps its own part of it, and
//! gives the others its certificate ([`trust`]). A client that makes its own secrets gives the nodes its lines of
//! `clients.toml` ([`enrol_lines`]).

use super::files::{
    KeysError, certificate, configurations, hash_of, in_one_place, quoted, random, read, replace,
    rewrite, write,
};
use super::workers::workers_of;
use crate::config::{CallerConfig, Clients, Roll, token_hashes};
use crate::hex::{Hex, hex};
use crate::names::is_name;
use crate::submission::Signer;
use std::fs;
use std::path::{Path, PathBuf};

/// The lines of a client in `clients.toml`, and its secrets in a folder of its own.
pub(super) fn client(
    folder: &Path,
    (name, set): (&str, Option<&str>),
    nodes: &str,
) -> Result<String, KeysError> {
    let set = set.map_or(String::new(), |set| format!("set = \"{set}\"\n"));
    let (secret, token) = (random()?, hex(&random()?));
    let signer = Signer::new(&secret).map_err(|e| KeysError::Plan(e.to_string()))?;
    let own = certificate(&format!("slvr client {name}"), &[])?;
    let at = folder.join("clients").join(name);
    write(&at.join("client.crt"), &own.certificate, false)?;
    write(&at.join("client.key"), &own.key, true)?;
    let text = format!(
        "# A client of a SLVR deployment. Secret: whoever has this file submits in its name.\n\
         name = \"{name}\"\n{set}token = \"{token}\"\nsecret = \"{}\"\n\
         certificate = \"client.crt\"\nkey = \"client.key\"\n{nodes}",
        Hex(secret)
    );
    write(&at.join("client.toml"), &text, true)?;
    Ok(format!(
        "\n[[client]]\nname = \"{name}\"\n{set}key = \"{}\"\ntokens = [{}]\ncertificate = \"{}\"\n",
        signer.public(),
        quoted(&token_hashes(&token)),
        own.hash
    ))
}

/// Makes the secrets of another client, and enrols it at the nodes whose folders are here. Its lines of `clients.toml` are in
/// `clients/NAME/enrol.toml` as well, for nodes elsewhere.
///
/// # Errors
///
/// A name that cannot be or is taken; a folder without anybody who knows the nodes; a disk that is full.
pub fn enrol(folder: &Path, name: &str, set: Option<&str>) -> Result<(), KeysError> {
    if !is_name(name) || folder.join("clients").join(name).exists() {
        let why = format!(
            "`{name}`: a client's name is one that no other client has, of letters, digits, `-`, `_` and `.`"
        );
        return Err(KeysError::Plan(why));
    }
    // Any caller's file says where the nodes are.
    let nodes = configurations(folder)?.into_iter().find_map(|path| {
        CallerConfig::read(&path).ok()?;
        let text = fs::read_to_string(path).ok()?;
        let at = text.find("\n[[node]]")?;
        Some(text.get(at..)?.to_string())
    });
    let Some(nodes) = nodes else {
        let why = format!("{}: nobody here knows the nodes: is it a deployment?", folder.display());
        return Err(KeysError::Plan(why));
    };
    let lines = client(folder, (name, set), &nodes)?;
    let own = folder.join("clients").join(name);
    write(&own.join("enrol.toml"), lines.trim_start(), false)?;
    // Whom no node takes has no secrets.
    add(folder, &lines).map(drop).inspect_err(|_| drop(fs::remove_dir_all(&own)))
}

/// Enrols clients at the nodes whose folders are here, by lines that they have made themselves; how many.
///
/// # Errors
///
/// Lines that say something else, or name somebody who is enrolled; no node here; a disk that is full.
pub fn enrol_lines(folder: &Path, lines: &Path) -> Result<usize, KeysError> {
    let text = read(lines)?;
    let own: Clients =
        toml::from_str(&text).map_err(|e| KeysError::Plan(format!("{}: {e}", lines.display())))?;
    match add(folder, &format!("\n{}\n", text.trim()))? {
        0 => Err(KeysError::Plan(format!("{}: there is no folder of a node", folder.display()))),
        _ => Ok(own.client.len()),
    }
}

/// Adds lines to `clients.toml` of each node that is here, unless one of them would not read; at how many nodes.
fn add(folder: &Path, lines: &str) -> Result<usize, KeysError> {
    let mut all: Vec<(PathBuf, String)> = Vec::new();
    for node in 0..3 {
        let path = folder.join(format!("node-{node}/clients.toml"));
        if !path.is_file() {
            continue;
        }
        let text = format!("{}\n{lines}", read(&path)?.trim_end());
        let bad = |e: String| KeysError::Plan(format!("{}: {e}", path.display()));
        let clients: Clients = toml::from_str(&text).map_err(|e| bad(e.to_string()))?;
        Roll::of(clients, node).map_err(bad)?;
        all.push((path, text));
    }
    all.iter().try_for_each(|(path, text)| rewrite(path, text, false))?;
    Ok(all.len())
}

/// Has everybody whose folder is here know a node by a certificate that its organisation has made, in place of the one that
/// was made here. What was made here in the name of that node is removed.
///
/// # Errors
///
/// A file that is no certificate, or that of somebody else; a deployment that is not there; a disk that is full.
pub fn trust(folder: &Path, node: usize, with: &Path) -> Result<(), KeysError> {
    let at = folder.join(format!("node-{node}"));
    let made = at.join("node.crt");
    let (old, new) = (hash_of(&made)?, in_one_place(folder, &made, with)?);
    if old == new {
        return Ok(());
    }
    let (before, certificate) = (read(&made)?, read(with)?);
    replace(folder, old, &[new])?;
    let path = folder.join("nodes.pem");
    let all = read(&path)?.replace(&before, &certificate);
    fs::write(&path, all).map_err(KeysError::at(&path))?;
    // Its secrets are elsewhere. What was made here serves nobody, but for what its workers are known by.
    let workers = workers_of(&at);
    fs::remove_dir_all(&at).map_err(KeysError::at(&at))?;
    workers.iter().try_for_each(|(path, certificate)| write(path, certificate, false))?;
    write(&made, &certificate, false)
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, make};
    use super::*;
    use crate::config::NodeConfig;

    fn made(folder: &Path) {
        let plan = Plan::local(7400, vec!["a".into()], String::new());
        make(folder, &plan).expect("keys");
    }

    fn enrolled(folder: &Path, node: usize) -> Vec<String> {
        let path = folder.join(format!("node-{node}/clients.toml"));
        Roll::read(&path, node).expect("reads").clients.into_keys().collect()
    }

    #[test]
    fn one_client_more_is_enrolled_and_nobody_else_changes() {
        let dir = tempfile::tempdir().expect("a folder");
        let (here, there) = (dir.path().join("here"), dir.path().join("there"));
        made(&here);
        made(&there);
        let before = fs::read_to_string(here.join("node-0/clients.toml")).expect("reads");
        enrol(&here, "b", None).expect("is enrolled");
        enrol(&here, "s-0", Some("Server")).expect("is enrolled");
        for node in 0..3 {
            assert_eq!(enrolled(&here, node), ["a", "b", "s-0"]);
        }
        let after = fs::read_to_string(here.join("node-0/clients.toml")).expect("reads");
        assert!(after.starts_with(before.trim_end()));
        assert_eq!(fs::read_to_string(here.join("node-2/clients.toml")).expect("reads"), after);
        let own = CallerConfig::read(&here.join("clients/b/client.toml")).expect("reads");
        let other = CallerConfig::read(&here.join("clients/a/client.toml")).expect("reads");
        let nodes = |c: &CallerConfig| format!("{:?}", c.node);
        assert_eq!(nodes(&own), nodes(&other));
        assert!(enrol(&here, "b", None).is_err() && enrol(&here, "../x", None).is_err());
        // Its own lines are all that another deployment's nodes need.
        let lines = here.join("clients/b/enrol.toml");
        assert_eq!(enrol_lines(&there, &lines).expect("is enrolled"), 1);
        assert_eq!(enrolled(&there, 1), ["a", "b"]);
        assert!(enrol_lines(&there, &lines).is_err(), "it is enrolled already");
        assert_eq!(enrolled(&there, 1), ["a", "b"]);
        // A name that no node takes leaves nothing behind that somebody could be given.
        let odd = enrol(&here, "B", None).expect_err("differs by a capital letter alone");
        assert!(odd.to_string().contains("capital letters"), "{odd}");
        assert!(!here.join("clients/B").exists());
    }

    #[test]
    fn organisations_that_make_their_own_keys_know_each_other_by_their_certificates() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = |i: usize| dir.path().join(i.to_string());
        (0..3).for_each(|i| made(&folder(i)));
        let own = |i: usize| folder(i).join(format!("node-{i}/node.crt"));
        for i in 0..3 {
            for j in (0..3).filter(|j| *j != i) {
                trust(&folder(i), j, &own(j)).expect("is trusted");
                trust(&folder(i), j, &own(j)).expect("is trusted, also when told again");
            }
        }
        for i in 0..3 {
            let config = NodeConfig::read(&folder(i).join(format!("node-{i}/node.toml")));
            let config = config.expect("reads");
            for (j, node) in config.node.iter().enumerate() {
                assert_eq!(node.certificates, [hash_of(&own(j)).expect("a certificate")]);
            }
            let left = fs::read_dir(folder(i).join(format!("node-{}", (i + 1) % 3)));
            assert_eq!(left.expect("a folder").count(), 1, "only the certificate is left");
            let client = folder(i).join("clients/a/client.toml");
            let client = CallerConfig::read(&client).expect("reads");
            assert_eq!(client.node[2].certificates, config.node[2].certificates);
        }
        let pem = |i: usize| fs::read_to_string(folder(i).join("nodes.pem")).expect("reads");
        assert_eq!((pem(0), pem(1)), (pem(1), pem(2)));
    }
}
