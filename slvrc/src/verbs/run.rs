//! `slvrc run`: three parties, as threads of this process or as processes of their own.

use crate::deployment::LONGEST;
use crate::fail::{self, print, say};
use crate::parties::{line, run_apart, run_with};
use crate::processes::Processes;
use crate::progress::bar;
use crate::target::{Invalid, Target};
use slvr::cohort::Cohort;
use slvr::program::{self, Loaded};
use slvr::report::{IN_MEMORY, to_json, to_text};
use slvr::states::{self, Rounds};
use slvr::tensors::{self, Values};
use slvr::{memory, run};
use slvr_circuit::Circuit;
use slvr_compiler::analysis::privacy::Privacy;
use slvr_compiler::cost::NetProfile;
use slvr_runtime::party::RunError;
use slvr_runtime::party::session::{Options, Report};
use std::path::PathBuf;
use std::time::Duration;

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
    /// Directory of what the parties keep from round to round, for a program with a `state`:
    /// party0.state, party1.state, party2.state. Read before the round, if it is not the first, and written after it.
    #[arg(long, value_name = "DIR", requires = "round")]
    state: Option<PathBuf>,
    /// Which round it is, from 1. A round that has been run is refused, and so is one that is not the next.
    #[arg(long, value_name = "N", requires = "state")]
    round: Option<u64>,
}

impl Run {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let build = self.target.build()?;
        let loaded = program::load(&build, &print)?;
        let circuit = loaded.circuit();
        if self.processes.hosts.is_empty() {
            let all = memory::of_run(circuit);
            memory::must_fit(all, "a run of the three parties on this machine")?;
        }
        if let Some(dir) = &self.outputs {
            tensors::can_make(circuit, dir)?;
        }
        let values = match self.submit_unchecked {
            true => Values::Unchecked,
            false => Values::Declared,
        };
        let (dir, invalid) = (&self.inputs, self.invalid.into());
        let mut cohort = Cohort::read(&build, loaded, dir, values, invalid, &print)?;
        if self.seed.is_some() {
            fail::note("--seed makes all randomness predictable; for tests and demos only");
        }
        let net = build.net.as_ref();
        let locate = |circuit: &Circuit, e| tensors::locate(circuit, dir, e);
        let compute = |cohort: &Cohort| self.compute(cohort, net);
        let report = run::run(&mut cohort, &print, locate, compute)?;
        let circuit = cohort.circuit();
        // With the states the round has counted: so its results are there before. If it is killed between the two, the same
        // round is run again.
        if let Some(dir) = &self.outputs {
            tensors::write_outputs(circuit, &report.outputs, Some(&cohort.members), dir)?;
        }
        if let (Some(dir), Some(kept)) = (&self.state, &report.kept) {
            states::write(dir, kept)?;
        }
        if json {
            let named = net.filter(|_| self.shape || !self.processes.hosts.is_empty());
            let other = match self.processes.processes {
                true => self.processes.network(),
                false => IN_MEMORY,
            };
            let net = named.map_or(other, |n| n.name.as_str());
            let known = cohort.loaded.certificate();
            let mut all = to_json(circuit, &report, net, known.as_ref());
            all["excluded"] = cohort.excluded_json();
            return say(&format!("{all}\n"));
        }
        let noise = match &*cohort.loaded {
            Loaded::Source(s) if Privacy::has_noise(&s.compiled.optimised) => {
                cohort.loaded.certificate().and_then(|c| c.privacy)
            }
            _ => None,
        };
        let outputs = self.outputs.as_deref();
        say(&to_text(circuit, &report, &cohort.excluded, outputs, noise.as_ref()))
    }

    /// A run of those who take part.
    fn compute(
        &self,
        cohort: &Cohort,
        net: Option<&NetProfile>,
    ) -> anyhow::Result<Result<Report, RunError>> {
        let (circuit, inputs) = (cohort.circuit(), &cohort.inputs);
        let rounds = self.state.clone().zip(self.round).map(|(dir, round)| Rounds { dir, round });
        let state = states::read(rounds.as_ref(), circuit, &print)?;
        let layers = circuit.layers.len() as u64;
        let bar = bar(layers, "{msg:>16} [{bar:30}] layer {pos}/{len} {elapsed}");
        bar.set_message(circuit.name.clone());
        let options = Options {
            seed: self.seed,
            shape: net.filter(|_| self.shape).map(line),
            deadline: Duration::from_secs(self.deadline),
            submit_unchecked: self.submit_unchecked,
            invalid: slvr::cohort::Invalid::from(self.invalid).of_run(),
            state: state.as_ref(),
            ..Options::default()
        };
        let done = match self.processes.processes {
            true => match run_apart(circuit, inputs, options, &bar, &self.processes) {
                Ok(report) => Ok(Ok(report)),
                Err(e) => e.downcast::<RunError>().map(Err),
            },
            false => Ok(run_with(circuit, inputs, options, &bar)),
        };
        bar.finish_and_clear();
        done
    }
}
