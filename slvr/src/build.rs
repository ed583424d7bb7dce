//! Which program it is, and how it is compiled.

use crate::clients;
use crate::error::{Error, Result, Usage, misuse};
use slvr_circuit::{Circuit, Security, artifact};
use slvr_compiler::cost::NetProfile;
use slvr_compiler::lower::{self, Target};
use slvr_compiler::pipeline;
use slvr_compiler::source::Sources;
use slvr_compiler::syntax::ast::FileId;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The symmetric one.
    T1,
    /// The one with a dealer for each shard.
    T2,
}

/// A program with what is bound in it, and how it is compiled.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// A `.slvr` file, the name of a predicate that comes with the compiler, or a compiled `.slvrb`.
    pub file: String,
    /// Texts in the place of files, by the names under which the program and its models are found.
    pub texts: BTreeMap<String, String>,
    /// Sizes, models and parameters: `m` and `10`, `M` and `path/to/model.slvr:Name`.
    pub bindings: Vec<(String, String)>,
    /// Which predicate, if the file has several.
    pub predicate: Option<String>,
    /// One ring width for all values, in bits (64 or 128), instead of the smallest for each.
    pub ring: Option<u32>,
    /// Takes declared ranges of inputs on trust instead of checking them among the parties.
    pub trust_inputs: bool,
    /// The most bytes for the values of one party.
    pub memory: Option<u64>,
    /// Waits until it is known whose inputs are in range before computing with them.
    pub no_speculation: bool,
    /// Gives more fraction bits to long vectors of weights, too.
    pub fine: bool,
    /// The family of protocols; without it [`Family::T2`].
    pub protocols: Option<Family>,
    /// What one of the three parties may do. Without it semi-honest, or what a compiled circuit is for.
    pub security: Option<Security>,
    /// The network whose protocols are taken: a LAN without it.
    pub net: Option<NetProfile>,
    /// The numbers of clients whose circuits take the same inputs.
    pub clients: Option<clients::Range>,
    /// From where the files of models are seen; without it from here.
    pub folder: PathBuf,
}

impl Build {
    /// A file, or a predicate that comes with the compiler, as it is.
    pub fn of_file(file: &str) -> Build {
        Build { file: file.into(), ..Build::default() }
    }

    /// A text under the name of a file.
    pub fn of_text(name: &str, text: &str, bindings: Vec<(String, String)>) -> Build {
        let texts = [(name.to_string(), text.to_string())].into();
        Build { file: name.into(), texts, bindings, ..Build::default() }
    }

    /// The same with the texts that a program was read from: whatever becomes of its files, it is this program.
    pub fn frozen(&self, sources: &Sources) -> Build {
        let all = (0..sources.len() as u32).map(FileId);
        let texts = all.map(|f| (sources.name(f).to_string(), sources.text(f).to_string()));
        Build { texts: texts.collect(), ..self.clone() }
    }

    /// The same with another number for a size.
    pub fn with(&self, size: &str, number: u64) -> Build {
        let mut build = self.clone();
        build.bindings.retain(|(name, _)| name != size);
        build.bindings.push((size.into(), number.to_string()));
        build
    }

    /// Whether it is a compiled circuit.
    pub fn is_artifact(&self) -> bool {
        artifact::is_named(&self.file)
    }

    /// The network that it is compiled for.
    pub fn network(&self) -> NetProfile {
        self.net.clone().unwrap_or_else(NetProfile::lan)
    }

    /// How the compiler is told.
    pub fn how(&self) -> pipeline::Options {
        let family = match self.protocols {
            Some(Family::T1) => lower::Family::T1,
            _ => lower::Family::T2(self.network().tuning()),
        };
        pipeline::Options {
            enforce: !self.trust_inputs,
            ring: self.ring,
            memory: self.memory,
            speculate: !self.no_speculation,
            checks: None,
            fine: if self.fine { pipeline::Fine::All } else { pipeline::Fine::Short },
            target: Target::new(self.security.unwrap_or(Security::SemiHonest), family),
        }
    }

    /// Refuses what is said of a program where there is a compiled circuit.
    pub(crate) fn is_bare(&self) -> Result<()> {
        let bound = !self.bindings.is_empty() || self.predicate.is_some();
        let built = self.ring.is_some() || self.trust_inputs || self.memory.is_some();
        let other = self.no_speculation || self.fine || self.clients.is_some();
        if bound || built || other || self.protocols.is_some() {
            misuse!(
                "a compiled circuit is one predicate with its sizes bound: drop NAME=VALUE, --predicate, --ring, --trust-inputs, --memory, --no-speculation, --fine, --clients and --protocols"
            );
        }
        Ok(())
    }

    /// Refuses a compiled circuit that is for another adversary than the one that is named.
    pub(crate) fn fits(&self, circuit: &Circuit) -> Result<()> {
        let (file, is) = (&self.file, circuit.security);
        let why = match (self.security, is) {
            (Some(Security::Malicious), Security::SemiHonest) => {
                format!("{file} is for semi-honest parties: build it with --security malicious")
            }
            (Some(Security::SemiHonest), Security::Malicious) => {
                format!("{file} is against a malicious party: drop --security, or build it without")
            }
            _ => return Ok(()),
        };
        Err(Error::from(Usage(why)))
    }
}

/// The adversary of this name.
///
/// # Errors
///
/// [`Error::Usage`] of a name that none has.
pub fn security(name: &str) -> Result<Security> {
    let found = Security::ALL.into_iter().find(|s| s.name() == name);
    let Some(security) = found else {
        let names = Security::ALL.map(|s| format!("`{}`", s.name())).join(" and ");
        misuse!("`{name}` is no adversary: there are {names}");
    };
    Ok(security)
}

/// Reads `NAME=VALUE`.
///
/// # Errors
///
/// [`Error::Usage`].
pub fn bindings(texts: &[String]) -> Result<Vec<(String, String)>> {
    let one = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.trim().into(), value.trim().into())),
        _ => Err(Usage(format!("`{text}` is not NAME=VALUE, as in `m=10`")).into()),
    };
    texts.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adversary_has_one_of_the_names() {
        for known in Security::ALL {
            assert_eq!(security(known.name()).ok(), Some(known));
        }
        let unknown = security("semihonest").expect_err("none has this name");
        assert!(matches!(&unknown, Error::Usage(_)), "{unknown}");
        assert!(unknown.to_string().contains("`semi-honest` and `malicious`"), "{unknown}");
    }
}
