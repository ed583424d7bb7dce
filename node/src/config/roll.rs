//! Who is enrolled: `clients.toml`, and by what each client is known.

use super::{ConfigError, content, read_toml};
use crate::hex::{Hash, Hex, sha256};
use crate::names::{alike, is_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The clients that may submit: `clients.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clients {
    #[serde(default)]
    pub client: Vec<Enrolled>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrolled {
    pub name: String,
    /// The party set whose inputs it gives; without it the clients'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The public key of its signatures (Ed25519).
    pub key: Hex<32>,
    /// SHA-256 of its tokens for the three nodes, in order ([`super::token_for`]). So the file is the same at all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<[Hash; 3]>,
    /// SHA-256 of its certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Hash>,
}

/// The enrolled clients by the ways in which they say who they are.
#[derive(Clone, Debug, Default)]
pub struct Roll {
    pub clients: BTreeMap<String, Enrolled>,
    tokens: BTreeMap<Hash, String>,
    certificates: BTreeMap<Hash, String>,
    keys: BTreeMap<Hash, String>,
}

impl Roll {
    /// Reads `clients.toml`, for this node.
    ///
    /// # Errors
    ///
    /// A file that says something else, or has a name, a key, a token or a certificate twice.
    pub fn read(path: &Path, node: usize) -> Result<Roll, ConfigError> {
        let clients: Clients = read_toml(path)?;
        Roll::of(clients, node).map_err(|why| content(path, why))
    }

    /// Of clients, for this node: only tokens for itself say who somebody is.
    ///
    /// # Errors
    ///
    /// What stands twice, and names that cannot be.
    pub fn of(clients: Clients, node: usize) -> Result<Roll, String> {
        let mut roll = Roll::default();
        for c in clients.client {
            if !is_name(&c.name) {
                return Err(format!(
                    "`{}`: a name of a client has letters, digits, `-`, `_` and `.`",
                    c.name
                ));
            }
            // Whoever stands under two names counts twice, or is somebody else half of the time.
            let own = c.tokens.and_then(|t| t.get(node).copied());
            let ways = [
                ("token", own.and_then(|t| roll.tokens.insert(t, c.name.clone()))),
                (
                    "certificate",
                    c.certificate.and_then(|t| roll.certificates.insert(t, c.name.clone())),
                ),
                ("key", roll.keys.insert(c.key, c.name.clone())),
            ];
            for (what, again) in ways {
                if let Some(other) = again.filter(|other| *other != c.name) {
                    return Err(format!("clients `{}` and `{other}` have the same {what}", c.name));
                }
            }
            if let Some(other) = roll.clients.insert(c.name.clone(), c) {
                return Err(format!("client `{}` stands twice", other.name));
            }
        }
        match alike(roll.clients.keys().map(String::as_str)) {
            Some((a, b)) => Err(format!(
                "clients `{a}` and `{b}`: names differ by more than capital letters, for they name files, too"
            )),
            None => Ok(roll),
        }
    }

    /// What an opening says of who is enrolled: names, party sets and keys, the same at all nodes.
    pub fn hash(&self) -> Hash {
        let mut hash = blake3::Hasher::new_derive_key("slvr 1 roll of clients");
        for c in self.clients.values() {
            for text in [&c.name, c.set.as_deref().unwrap_or_default()] {
                hash.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
            }
            hash.update(&c.key.0);
        }
        Hex(*hash.finalize().as_bytes())
    }

    /// Whose token for this node it is.
    pub fn by_token(&self, token: &str) -> Option<&Enrolled> {
        self.clients.get(self.tokens.get(&sha256(token.as_bytes()))?)
    }

    /// Whose certificate it is.
    pub fn by_certificate(&self, der: &[u8]) -> Option<&Enrolled> {
        self.clients.get(self.certificates.get(&sha256(der))?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{token_for, token_hashes};
    use super::*;

    #[test]
    fn tokens_follow_from_the_secret_as_the_book_says_and_serve_one_node_each() {
        // python3 -c 'import hmac; print(hmac.new(b"secret", b"slvr node 1", "sha256").hexdigest())'
        assert_eq!(
            *token_for("secret", 1),
            "08f234383dd90eb81e079976dfd35bc85f32ffa3c6290cd9ec5db157c436848f"
        );
        let client = Enrolled {
            name: "a".into(),
            set: None,
            key: Hex([1; 32]),
            tokens: Some(token_hashes("secret")),
            certificate: None,
        };
        for node in 0..3 {
            let roll = Roll::of(Clients { client: vec![client.clone()] }, node).expect("reads");
            for other in 0..3 {
                let known = roll.by_token(&token_for("secret", other)).is_some();
                assert_eq!(known, node == other, "the token for {other} at {node}");
            }
            assert!(roll.by_token("secret").is_none(), "the secret itself is no token");
        }
    }

    #[test]
    fn what_one_client_says_who_it_is_with_is_no_other_clients() {
        let one = |name: &str, k: u8| Enrolled {
            name: name.into(),
            set: None,
            key: Hex([k; 32]),
            tokens: Some(token_hashes(name)),
            certificate: Some(Hex([k; 32])),
        };
        let said = |b: Enrolled| {
            let roll = Roll::of(Clients { client: vec![one("a", 1), b] }, 0);
            roll.map(drop).map_err(|e| e.split_once("the same ").map_or(e.clone(), |s| s.1.into()))
        };
        assert_eq!(said(one("b", 2)), Ok(()));
        assert_eq!(said(Enrolled { key: Hex([1; 32]), ..one("b", 2) }), Err("key".into()));
        let tokens = Some(token_hashes("a"));
        assert_eq!(said(Enrolled { tokens, ..one("b", 2) }), Err("token".into()));
        let certificate = Some(Hex([1; 32]));
        assert_eq!(said(Enrolled { certificate, ..one("b", 2) }), Err("certificate".into()));
        assert!(said(one("a", 2)).is_err_and(|e| e.contains("stands twice")));
    }
}
