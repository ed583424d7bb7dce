//! The arguments that say which program a verb is about and how it is compiled.

use clap::{Args, ValueEnum};
use slvr::build::{self, Build, Family};
use slvr::coins::coins;
use slvr::{clients, cohort, net, units};
use slvr_circuit::{Circuit, Security};
use slvr_compiler::cost::NetProfile;

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
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
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
    #[arg(long, value_name = "FAMILY", value_enum)]
    pub protocols: Option<Protocols>,
    /// What one of the three parties may do: follow the protocol and look at all that it receives (semi-honest), or
    /// whatever it likes (malicious: the others notice, and stop before anything that it could have changed is opened).
    /// What has no proof yet is refused under malicious. Without it semi-honest, or what a compiled circuit is for.
    #[arg(long, value_name = "ADVERSARY", value_enum)]
    pub security: Option<Adversary>,
    /// The network whose protocols are taken, the fastest ones there: `loopback`, `lan`, `wan`, or a TOML file
    /// with `bandwidth_mbit` and `rtt_ms`. `lan` without it.
    #[arg(long, value_name = "NAME|FILE")]
    pub net: Option<String>,
    /// Builds what a deployment builds whose rounds have from MIN to ALL clients: inputs are encoded as all these circuits
    /// take them. `m=8 --clients 2..10` is the circuit of a round that 8 of 10 clients came to. The size is the one that the
    /// program gives the party set of the clients, unless it is named.
    #[arg(long, value_name = "[SIZE=]MIN..ALL", value_parser = clients::range)]
    pub clients: Option<clients::Range>,
}

impl Target {
    pub fn build(&self) -> anyhow::Result<Build> {
        Ok(Build {
            file: self.file.clone(),
            bindings: build::bindings(&self.bindings)?,
            predicate: self.predicate.clone(),
            ring: self.ring,
            trust_inputs: self.trust_inputs,
            memory: self.memory,
            no_speculation: self.no_speculation,
            fine: self.fine,
            protocols: self.protocols.map(Family::from),
            security: self.security.map(Security::from),
            net: self.profile()?,
            clients: self.clients.clone(),
            ..Build::default()
        })
    }

    pub fn profile(&self) -> anyhow::Result<Option<NetProfile>> {
        Ok(self.net.as_deref().map(net::profile).transpose()?)
    }
}

/// A family of protocols.
#[derive(Clone, Copy, ValueEnum)]
pub enum Protocols {
    T1,
    T2,
}

impl From<Protocols> for Family {
    fn from(protocols: Protocols) -> Family {
        match protocols {
            Protocols::T1 => Family::T1,
            Protocols::T2 => Family::T2,
        }
    }
}

/// What one of the three parties may do.
#[derive(Clone, Copy, ValueEnum)]
pub enum Adversary {
    SemiHonest,
    Malicious,
}

impl From<Adversary> for Security {
    fn from(adversary: Adversary) -> Security {
        match adversary {
            Adversary::SemiHonest => Security::SemiHonest,
            Adversary::Malicious => Security::Malicious,
        }
    }
}

/// What is drawn in public.
#[derive(Args, Clone)]
pub struct Drawn {
    /// The public coins of a run, as its `--json` report prints them: the same committees.
    #[arg(long, value_name = "HEX,…", value_delimiter = ',', conflicts_with = "seed")]
    coins: Vec<String>,
    /// The coins that `run --seed N` draws; and what noise and measured roundings are made of, which are not those of a run.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

impl Drawn {
    /// The coins of a circuit.
    pub fn coins(&self, circuit: &Circuit) -> slvr::Result<Vec<u128>> {
        coins(circuit, &self.coins, self.seed)
    }
}

/// What is done about members whose inputs cannot be used: missing, malformed or out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Invalid {
    /// The program is compiled for the others. It runs once more if the parties found it out.
    Exclude,
    /// Zeros stand in for all their inputs.
    Zeros,
}

impl From<Invalid> for cohort::Invalid {
    fn from(invalid: Invalid) -> Self {
        match invalid {
            Invalid::Exclude => cohort::Invalid::Exclude,
            Invalid::Zeros => cohort::Invalid::Zeros,
        }
    }
}

fn ring(text: &str) -> Result<u32, String> {
    match text {
        "64" => Ok(64),
        "128" => Ok(128),
        _ => Err("64 or 128".into()),
    }
}
