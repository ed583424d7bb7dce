//! Coordinators of a deployment: those who open rounds, and those who collect results.
//!
//! The nodes know each by its key and by the hashes of its tokens, with what it may do. A new one is accepted beside those
//! that are there. So keys are exchanged without a stop: the new coordinator opens rounds while those of the old one end,
//! and then the old one is dismissed.

use super::files::{KeysError, coordinators, quoted, random, read, rewrite, write};
use crate::config::{Power, token_hashes};
use crate::hex::{Hash, Hex, hex};
use crate::names::is_name;
use crate::opening::Seal;
use std::path::Path;

/// What makes a coordinator: what nodes know of it, and its secrets.
pub(super) struct Stamp {
    name: String,
    may: String,
    token: String,
    secret: [u8; 32],
    pub(super) seal: Seal,
}

impl Stamp {
    pub(super) fn new(name: &str, may: &[Power]) -> Result<Stamp, KeysError> {
        let secret = random()?;
        let bad = || KeysError::Plan("the system makes no signing key".into());
        let named = |p: &Power| match p {
            Power::Open => "\"open\"",
            Power::Collect => "\"collect\"",
        };
        Ok(Stamp {
            name: name.into(),
            may: may.iter().map(named).collect::<Vec<_>>().join(", "),
            token: hex(&random()?),
            secret,
            seal: Seal::new(&secret).ok_or_else(bad)?,
        })
    }

    /// What a node is told of it.
    pub(super) fn lines(&self, node: usize) -> String {
        format!(
            "\n[[coordinator]]\nname = \"{}\"\nmay = [{}]\nkey = \"{}\"\ntoken = \"{}\"\n",
            self.name,
            self.may,
            self.seal.public(),
            token_hashes(&self.token)[node]
        )
    }

    pub(super) fn write(
        &self,
        folder: &Path,
        openers: &[Hash],
        nodes: &str,
    ) -> Result<(), KeysError> {
        let text = format!(
            "# A coordinator of a SLVR deployment. Secret: whoever has this file does what the nodes let `{0}` do.\n\
             name = \"{0}\"\ntoken = \"{1}\"\nsecret = \"{2}\"\nopeners = [{3}]\n{nodes}",
            self.name,
            self.token,
            Hex(self.secret),
            quoted(openers),
        );
        write(&folder.join(&self.name).join("coordinator.toml"), &text, true)
    }
}

/// Makes another coordinator of a deployment that is there: the nodes accept it beside those that they know. So keys of
/// coordinators are exchanged, and one coordinator opens rounds where another collects them.
///
/// # Errors
///
/// A name that is taken or cannot be; a deployment that is not there; a disk that is full.
pub fn appoint(folder: &Path, name: &str, may: &[Power]) -> Result<(), KeysError> {
    if !is_name(name) || folder.join(name).exists() {
        let why =
            format!("`{name}`: a coordinator's name is that of a folder that is not there yet");
        return Err(KeysError::Plan(why));
    }
    let known = coordinators(folder)?;
    let Some((first, config)) = known.first() else {
        let why = format!("{}: there is no coordinator: is it a deployment?", folder.display());
        return Err(KeysError::Plan(why));
    };
    let stamp = Stamp::new(name, may)?;
    let mut openers = config.openers.clone();
    if may.contains(&Power::Open) {
        openers.push(stamp.seal.public());
    }
    // Of the nodes a coordinator's file says what the others' do.
    let text = read(first)?;
    let nodes = text.find("\n[[node]]").and_then(|at| text.get(at..)).unwrap_or_default();
    for i in 0..3 {
        let path = folder.join(format!("node-{i}/node.toml"));
        let text = read(&path)?;
        rewrite(&path, &format!("{}\n{}", text.trim_end(), stamp.lines(i)), true)?;
    }
    stamp.write(folder, &openers, nodes)?;
    // All coordinators know whose openings they collect.
    let line = |all: &[Hash]| format!("openers = [{}]\n", quoted(all));
    known.iter().try_for_each(|(path, config)| {
        rewrite(path, &read(path)?.replace(&line(&config.openers), &line(&openers)), true)
    })
}

/// Takes a coordinator of a deployment away: no node accepts it any more. Its folder stays, so that what it has opened can
/// still be collected by others who know its key.
///
/// # Errors
///
/// A coordinator that is not there; a disk that is full.
pub fn dismiss(folder: &Path, name: &str) -> Result<(), KeysError> {
    let head = format!("\n[[coordinator]]\nname = \"{name}\"\n");
    for i in 0..3 {
        let path = folder.join(format!("node-{i}/node.toml"));
        let text = read(&path)?;
        let Some(at) = text.find(&head) else {
            let why = format!("{}: there is no [[coordinator]] `{name}`", path.display());
            return Err(KeysError::Plan(why));
        };
        let rest = text.get(at + head.len()..).unwrap_or_default();
        let end = rest.find("\n[").map_or(text.len(), |e| at + head.len() + e);
        let kept = [text.get(..at), text.get(end..)].map(Option::unwrap_or_default).concat();
        rewrite(&path, &kept, true)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, make};
    use super::*;
    use crate::config::{CallerConfig, NodeConfig};

    #[test]
    fn coordinators_are_appointed_and_dismissed_and_each_may_do_its_own() {
        let dir = tempfile::tempdir().expect("a folder");
        make(dir.path(), &Plan::local(7000, vec![], String::new())).expect("is made");
        let node = || {
            let read = |i| NodeConfig::read(&dir.path().join(format!("node-{i}/node.toml")));
            let all = [0, 1, 2].map(|i| read(i).expect("reads"));
            let names = |c: &NodeConfig| -> Vec<(String, Vec<Power>)> {
                c.coordinator.iter().map(|c| (c.name.clone(), c.may.clone())).collect()
            };
            assert!(
                all.iter().all(|c| names(c) == names(&all[0]) && c.openers() == all[0].openers())
            );
            (names(&all[0]), all[0].openers())
        };
        let file = |name: &str| {
            CallerConfig::read(&dir.path().join(name).join("coordinator.toml")).expect("reads")
        };
        let both = vec![Power::Open, Power::Collect];
        let first = ("coordinator".to_string(), both.clone());
        assert_eq!(node().0, std::slice::from_ref(&first));
        appoint(dir.path(), "reader", &[Power::Collect]).expect("is appointed");
        appoint(dir.path(), "next", &both).expect("is appointed");
        assert!(
            appoint(dir.path(), "next", &both).is_err()
                && appoint(dir.path(), "../x", &both).is_err()
        );
        let reader = ("reader".to_string(), vec![Power::Collect]);
        assert_eq!(node().0, [first, reader.clone(), ("next".into(), both.clone())]);
        let openers = node().1;
        assert_eq!(openers.len(), 2, "a reader opens nothing");
        for name in ["coordinator", "reader", "next"] {
            assert_eq!(file(name).openers, openers, "{name} collects what both open");
        }
        dismiss(dir.path(), "coordinator").expect("is dismissed");
        assert!(dismiss(dir.path(), "coordinator").is_err());
        assert_eq!(node().0, [reader, ("next".into(), both)]);
        assert_eq!(node().1, openers[1..]);
    }
}
