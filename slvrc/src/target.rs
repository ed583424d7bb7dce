//! The arguments that say which program a verb is about and how it is compiled.

use crate::fail::Usage;
use crate::{clients, net};
use clap::Args;
use slvr_circuit::{Circuit, Security};
use slvr_compiler::cost::NetProfile;
use std::path::PathBuf;

/// A program and what is bound in it.
#[derive(Args, Clone)]
pub struct Target {
    /// A `.slvr` file (or, where it says so, a compiled `.slvrb`).
    pub file: String,
    /// Sizes, models and parameters: `m=10 M=LeNet5 M=path/to/model.slvr:Name lambda=1.5`.
    #[arg(value_name = "NAME=VALUE")]
    pub bindings: Vec<String>,
    /// Which predicate, if the file has several.
    #[arg(long)]
    pub predicate: Option<String>,
    /// One ring width for all values, in bits (64 or 128), instead of the smallest for each: for
    /// comparison.
    #[arg(long, value_name = "BITS", value_parser = ring)]
    pub ring: Option<u32>,
    /// Takes declared ranges of inputs on trust instead of checking them among the parties: for
    /// comparison. A malicious client can then make values wrap around.
    #[arg(long)]
    pub trust_inputs: bool,
    /// The most memory for the values of one party, as in `8GiB`: a circuit that would take more is
    /// built in blocks that run one after another, which takes more rounds.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<u64>,
    /// Waits until it is known whose inputs are in range before computing with them: more rounds, and
    /// no part of a run is repeated if a client fails.
    #[arg(long)]
    pub no_speculation: bool,
    /// Gives more than 16 fraction bits also to vectors of more than 256 weights, as far as words hold them: small
    /// updates of large models are then aggregated as precisely as large ones, for more bytes and rounds.
    #[arg(long)]
    pub fine: bool,
    /// The family of protocols: t2 (a dealer for each shard, fewer rounds and bytes), or t1 (symmetric). Without it t2. Against a malicious party
    /// t2 is whichever of t1 and t2 takes less time on the network of --net.
    #[arg(long, value_name = "FAMILY", value_parser = ["t1", "t2"])]
    pub protocols: Option<String>,
    /// What one of the three parties may do: follow the protocol and look at all that it receives (semi-honest), or
    /// whatever it likes (malicious: the others notice, and stop before anything that it could have changed is opened).
    /// What has no proof yet is refused under malicious. Without it semi-honest, or what a compiled circuit is for.
    #[arg(long, value_name = "ADVERSARY", value_parser = ["semi-honest", "malicious"])]
    pub security: Option<String>,
    /// The network whose protocols are taken, the fastest ones there: `loopback`, `lan`, `wan`, or a TOML file
    /// with `bandwidth_mbit` and `rtt_ms`. `lan` without it.
    #[arg(long, value_name = "NAME|FILE")]
    pub net: Option<String>,
    /// Builds what a deployment builds whose rounds have from MIN to ALL clients: inputs are encoded as all these circuits
    /// take them. `m=8 --clients 2..10` is the circuit of a round that 8 of 10 clients came to. The size is the one that the
    /// program gives the party set of the clients, unless it is named.
    #[arg(long, value_name = "[SIZE=]MIN..ALL", value_parser = clients::range)]
    pub clients: Option<clients::Range>,
    /// From where the files of models are seen; without it from here.
    #[arg(skip)]
    pub folder: PathBuf,
}

impl Target {
    /// The same with another number for a size.
    pub fn with(&self, size: &str, number: u64) -> Target {
        let mut target = self.clone();
        target.bindings.retain(|b| b.split_once('=').is_none_or(|(name, _)| name.trim() != size));
        target.bindings.push(format!("{size}={number}"));
        target
    }

    /// The adversary of --security.
    pub fn security(&self) -> Security {
        self.security.as_deref().map_or(Security::SemiHonest, security)
    }

    /// Refuses what is said of a program where there is a compiled circuit.
    ///
    /// # Errors
    ///
    /// [`Usage`], with what to drop.
    pub fn is_bare(&self) -> anyhow::Result<()> {
        let bound = !self.bindings.is_empty() || self.predicate.is_some();
        let built = self.ring.is_some() || self.trust_inputs || self.memory.is_some();
        let other = self.no_speculation || self.fine || self.clients.is_some();
        if bound || built || other || self.protocols.is_some() {
            let why = "a compiled circuit is one predicate with its sizes bound: drop NAME=VALUE, --predicate, --ring, --trust-inputs, --memory, --no-speculation, --fine, --clients and --protocols";
            return Err(Usage(why.into()).into());
        }
        Ok(())
    }

    /// Refuses a compiled circuit that is for another adversary than the one that is named.
    ///
    /// # Errors
    ///
    /// [`Usage`], with what to do.
    pub fn fits(&self, circuit: &Circuit) -> anyhow::Result<()> {
        let (file, is) = (&self.file, circuit.security);
        let why = match (self.security.as_deref().map(security), is) {
            (Some(Security::Malicious), Security::SemiHonest) => {
                format!("{file} is for semi-honest parties: build it with --security malicious")
            }
            (Some(Security::SemiHonest), Security::Malicious) => {
                format!("{file} is against a malicious party: drop --security, or build it without")
            }
            _ => return Ok(()),
        };
        Err(Usage(why).into())
    }

    /// The profile of --net.
    pub fn profile(&self) -> anyhow::Result<Option<NetProfile>> {
        self.net.as_deref().map(net::profile).transpose()
    }
}

/// The adversary of this name, one of those that the command line and the configuration of a node admit. Of another name, the
/// stronger one.
pub fn security(name: &str) -> Security {
    Security::ALL.into_iter().find(|s| s.name() == name).unwrap_or(Security::Malicious)
}

fn bytes(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => {
            return Err("a number of bytes, or of KiB, MiB, GiB, kB, MB or GB, as in `8GiB`".into());
        }
    };
    let number: f64 =
        number.trim().parse().map_err(|_| "a number, and a unit after it, as in `8GiB`")?;
    let size = number * unit as f64;
    let sensible = size >= 1.0 && size < 63f64.exp2();
    if sensible { Ok(size as u64) } else { Err("at least one byte, below 2^63".into()) }
}

fn ring(text: &str) -> Result<u32, String> {
    match text {
        "64" => Ok(64),
        "128" => Ok(128),
        _ => Err("64 or 128".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memory() {
        for (text, size) in [
            ("4096", 4096),
            ("4096B", 4096),
            ("20MiB", 20 << 20),
            ("1.5 kB", 1500),
            ("8GiB", 8 << 30),
            ("2gb", 2_000_000_000),
        ] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "MiB", "8 TB", "-1", "0", "0.5", "nan", "inf", "1e300", "8GiBs", "1e3"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
