//! `slvrc run`: three parties, as threads of this process or as processes of their own.

use crate::cohort::{Cohort, Invalid};
use crate::fail::{self, say};
use crate::parties::{layer_bar, line, run_apart, run_with};
use crate::processes::Processes;
use crate::program::Loaded;
use crate::report::{IN_MEMORY, to_json, to_text};
use crate::state::State;
use crate::target::Target;
use crate::tensors::Values;
use crate::{files, memory, program, tensors};
use slvr_compiler::analysis::privacy::Privacy;
use slvr_compiler::cost::NetProfile;
use slvr_runtime::party::session::{Options, Report};
use slvr_runtime::party::{Replaced, RunError};
use std::path::PathBuf;
use std::time::Duration;

/// The longest deadline: a month of seconds. With none at all every party would be late at once.
const LONGEST: u64 = 31 * 24 * 3600;

/// Arguments.
#[derive(clap::Args)]
pub struct Run {
    #[command(flatten)]
    target: Target,
    /// Directory of the inputs: public.safetensors or public.npz, Client/0.safetensors or Client/0.npz, …
    #[arg(long, value_name = "DIR")]
    inputs: PathBuf,
    /// Directory that receives one file per receiver.
    #[arg(long, value_name = "DIR")]
    outputs: Option<PathBuf>,
    /// Derives all randomness, the sharing's too, from this number: reproducible, and not secure.
    /// For tests and demonstrations only.
    #[arg(long)]
    seed: Option<u64>,
    /// Submit numbers outside their declared range as words of the ring: skips the check on the
    /// client's side, so that the parties' check can be seen at work.
    #[arg(long)]
    submit_unchecked: bool,
    /// What is done about members whose inputs cannot be used: missing, malformed or out of range. `exclude` compiles the
    /// program for the others, as if they had never been there, and runs once more if the parties found it out; `zeros` has
    /// zeros stand in for their inputs. A compiled circuit is for all members, and knows only `zeros`.
    #[arg(long, value_enum, default_value_t = Invalid::Exclude)]
    invalid: Invalid,
    /// Seconds a party waits for a message of another.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=LONGEST))]
    deadline: u64,
    /// Takes the time of the network that --net names: every party has one line with its bandwidth in
    /// each direction and its latency. Without it messages pass through memory. With --hosts the report
    /// calls by that name the network that is there.
    #[arg(long, requires = "net")]
    shape: bool,
    #[command(flatten)]
    processes: Processes,
    #[command(flatten)]
    state: State,
}

impl Run {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let loaded = program::load_circuit(&self.target)?;
        let circuit = loaded.circuit();
        if self.processes.hosts.is_empty() {
            let of_each = slvr_compiler::cost::peak_memory(circuit);
            let proofs = memory::of_proofs(circuit, of_each.len());
            let all = of_each.iter().fold(proofs, |sum, &n| sum.saturating_add(n));
            memory::must_fit(all, "a run of the three parties on this machine")?;
        }
        if let Some(dir) = &self.outputs {
            tensors::can_make(circuit, dir)?;
        }
        let values = match self.submit_unchecked {
            true => Values::Unchecked,
            false => Values::Declared,
        };
        let mut cohort = Cohort::read(&self.target, loaded, &self.inputs, values, self.invalid)?;
        if self.seed.is_some() {
            fail::note("--seed makes all randomness predictable; for tests and demos only");
        }
        let net = self.target.profile()?;
        let mut report = loop {
            match self.compute(&cohort, net.as_ref()) {
                Ok(report) => break report,
                Err(e) => match e.downcast::<RunError>() {
                    Ok(RunError::Invalid(found)) => cohort.without(&found)?,
                    Ok(RunError::Input(e)) => {
                        return Err(tensors::locate(cohort.circuit(), &self.inputs, e));
                    }
                    Ok(e) => return Err(e.into()),
                    Err(e) => return Err(e),
                },
            }
        };
        let circuit = cohort.circuit();
        // Whoever is left out and keeps a place is named once, with the first reason.
        let set = |r: &Replaced| circuit.parties.get(r.set as usize).map_or("", |p| &p.name);
        let is_out = |r: &Replaced| {
            cohort.excluded.iter().any(|(name, member, _)| name == set(r) && *member == r.member)
        };
        if cohort.keeps_places() {
            report.replaced.retain(|r| !is_out(r));
        }
        // With the states the round has counted: so its results are on the disk before, and only their names are not.
        let results = match &self.outputs {
            Some(dir) => {
                tensors::prepare_outputs(circuit, &report.outputs, Some(&cohort.members), dir)?
            }
            None => Vec::new(),
        };
        self.state.write(report.kept.as_ref())?;
        results.into_iter().try_for_each(files::Prepared::commit)?;
        if json {
            let named = net.filter(|_| self.shape || !self.processes.hosts.is_empty());
            let other = match self.processes.processes {
                true => self.processes.network(),
                false => IN_MEMORY,
            };
            let net = named.map_or(other.to_string(), |n| n.name);
            let known = cohort.loaded.certificate();
            let mut all = to_json(circuit, &report, &net, known.as_ref());
            all["excluded"] = cohort.excluded_json();
            return say(&format!("{all}\n"));
        }
        let noise = match &cohort.loaded {
            Loaded::Source(s) if Privacy::has_noise(&s.1.optimised) => {
                cohort.loaded.certificate().and_then(|c| c.privacy)
            }
            _ => None,
        };
        let outputs = self.outputs.as_deref();
        say(&to_text(circuit, &report, &cohort.excluded, outputs, noise.as_ref()))
    }

    /// A run of those who take part.
    fn compute(&self, cohort: &Cohort, net: Option<&NetProfile>) -> anyhow::Result<Report> {
        let (circuit, inputs) = (cohort.circuit(), &cohort.inputs);
        let state = self.state.read(circuit)?;
        let bar = layer_bar(circuit);
        bar.set_message(circuit.name.clone());
        let options = Options {
            seed: self.seed,
            shape: net.filter(|_| self.shape).map(line),
            deadline: Duration::from_secs(self.deadline),
            submit_unchecked: self.submit_unchecked,
            invalid: self.invalid.of_run(),
            state: state.as_ref(),
            ..Options::default()
        };
        let done = match self.processes.processes {
            true => run_apart(circuit, inputs, options, &bar, &self.processes),
            false => run_with(circuit, inputs, options, &bar).map_err(anyhow::Error::from),
        };
        bar.finish_and_clear();
        done
    }
}
