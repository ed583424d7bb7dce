//! `slvrc bench`: the paper's table of costs, measured on this machine, beside what the machine could do
//! at best and what others measured elsewhere.
//!
//! | file | does |
//! |---|---|
//! | `job.rs` | what is computed: an embedded program |
//! | `rows.rs` | the rows: which predicate, at which sizes, compiled how |
//! | `inputs.rs` | random inputs that look like those of a round |
//! | `network.rs` | the links of a network profile, and the floor of a row |
//! | `measure.rs` | one row on one network |
//! | `peers.rs` | what others measured, with its origin |
//! | `table.rs`, `chart.rs` | Markdown and JSON; SVG |
//!
//! What this machine can do at best is measured in `slvr_ring::machine`. What may not live here: anything that a
//! circuit, a protocol or a network does differently because it is measured.

mod chart;
mod inputs;
mod job;
mod measure;
mod network;
mod peers;
mod rows;
mod table;

use crate::fail::{self, misuse, say, say_json};
use crate::progress::bar;
use crate::target::Adversary;
use indicatif::MultiProgress;
use measure::{Outcome, Plan};
use rows::{How, Row};
use slvr_circuit::Security;
use slvr_compiler::cost::NetProfile;
use slvr_ring::machine::Machine;
use slvr_runtime::share::{Prg, Purpose, RunId, Seed, Stream};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Bench {
    /// Only rows whose name has one of these in it: `norm`, `LeNet5/`, `client-accuracy/`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    rows: Vec<String>,
    /// Networks.
    #[arg(long, value_name = "PROFILE", value_delimiter = ',', default_value = "loopback,lan,wan", value_parser = profile)]
    net: Vec<NetProfile>,
    /// m, the number of clients; a tenth of them, at least one, may be corrupt.
    #[arg(long, value_delimiter = ',', default_value = "10,20", value_parser = clap::value_parser!(u64).range(4..=1000))]
    m: Vec<u64>,
    /// Models: of the library, `LeNet5Max`, or `path/to/model.slvr:Name`.
    #[arg(
        long,
        value_name = "MODEL",
        value_delimiter = ',',
        default_value = "LeNet5,LeNet5Max,ResNet18"
    )]
    models: Vec<String>,
    /// Runs of each row, of which the median counts. 0 only predicts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=1000))]
    repeats: u64,
    /// What one of the three parties may do. Against a malicious one each row is also built for semi-honest ones, which
    /// runs in turns.
    #[arg(long, value_name = "ADVERSARY", value_enum, default_value = "semi-honest")]
    security: Adversary,
    /// Runs each row with so many workers of each party, too, in turns with runs without them. Then it is built without
    /// speculation; what workers can compute are blocks (--blocks).
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=64))]
    workers: u16,
    /// Builds rows whose values would take more in a party in blocks, as in 60MiB.
    #[arg(long, value_name = "SIZE", default_value = "4800MiB", value_parser = slvr::units::size)]
    blocks: u64,
    /// A column with the most memory that values take in a party.
    #[arg(long)]
    memory: bool,
    /// Inputs and all other randomness follow from it.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Also writes a chart.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn profile(name: &str) -> Result<NetProfile, String> {
    let names = || NetProfile::all().map(|p| p.name).join(", ");
    NetProfile::named(name).ok_or_else(|| format!("there are {}", names()))
}

impl Bench {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let security = Security::from(self.security);
        let mut rows = Row::all(&self.models, &self.m, security);
        if !self.rows.is_empty() {
            rows.retain(|r| self.rows.iter().any(|part| r.name().contains(part.as_str())));
        }
        if rows.is_empty() {
            let all = Row::all(&self.models, &self.m, security);
            let names: Vec<String> = all.iter().map(Row::name).collect();
            misuse!("no such row; there are {}", names.join(", "));
        }
        if let Some(path) = &self.svg {
            slvr::files::can_write(path)?;
        }
        let workers = usize::from(self.workers);
        if workers > 0 && security.is_malicious() {
            misuse!("--workers: against a malicious party workers cannot compute ranges");
        }
        let how = How::new(security);
        let how = How { memory: Some(self.blocks), speculate: workers == 0, ..how };
        let plan = Plan { repeats: self.repeats as usize, seed: self.seed, how, workers };
        let masks = Prg::new(&Seed::new([0; 16]), RunId([0; 16]));
        let stream = Stream::new(0, Purpose::Zero);
        let machine = Machine::measure(|bytes| masks.public_bytes(stream, 0, bytes));
        let malicious = rows.iter().any(|r| r.security(security).is_malicious());
        let style = table::Style { memory: self.memory, malicious, workers };
        if !json {
            say(&table::head(&machine, plan, style))?;
        }

        let bars = MultiProgress::new();
        let all = (rows.len() * self.net.len()) as u64;
        let all = bars.add(bar(all, "{pos:>3}/{len} [{bar:30}] {elapsed} {msg}"));
        let layers = bars.add(bar(1, "        [{bar:30}] layer {pos}/{len} {msg}"));
        let mut lines = Vec::new();
        for row in &rows {
            for net in &self.net {
                all.set_message(format!("{} {}", row.name(), net.name));
                let line = measure::line(row, net, plan, &machine, &layers)?;
                if let (Outcome::Skipped(why), 1..) = (&line.outcome, plan.repeats) {
                    bars.suspend(|| fail::note(&format!("{} on {}: {why}", row.name(), net.name)));
                }
                if !json {
                    // As they come: the last ones may take long.
                    bars.suspend(|| say(&table::line(&line, style)))?;
                }
                lines.push(line);
                all.inc(1);
            }
        }
        layers.finish_and_clear();
        all.finish_and_clear();
        if let Some(path) = &self.svg {
            slvr::files::write(path, chart::svg(&lines).as_bytes())?;
        }
        // Where no row of any model compiles, a name is wrong.
        let of: Vec<_> = lines.iter().filter(|l| l.row.model.is_some()).collect();
        if let Some(Outcome::Skipped(why)) = of.first().map(|l| &l.outcome)
            && of.iter().all(|l| l.known.is_none())
        {
            anyhow::bail!("no row of a model can be measured; {} {why}", of[0].row.name());
        }
        match json {
            true => say_json(table::to_json(&lines, &machine, plan)),
            false => Ok(()),
        }
    }
}
