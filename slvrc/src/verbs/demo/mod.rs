//! `slvrc demo`: federated learning with a poisoner on embedded real data, every round's
//! aggregation checked among three parties, or by three nodes (`through.rs`).

mod through;

use crate::deployment::task_name;
use crate::fail::{misuse, say, say_json};
use crate::lab::data;
use crate::lab::exact::raw;
use crate::lab::rule::{Aggregation, Subjects, failed};
use crate::lab::sizes::{self, Declared};
use crate::lab::subject::{self, Bound, Subject, Trained};
use crate::parties::run_with;
use crate::progress::bar;
use crate::target::Adversary;
use anyhow::{Context, anyhow, bail};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use slvr::about::{About, Attack as Attacker};
use slvr::units::{bytes, per_party};
use slvr::{files, report, tensors};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, Security, artifact};
use slvr_runtime::party::session::{Options, Report};
use slvr_runtime::share::encode::Inputs;
use slvr_simulation::lab::attacks::{Attack, Chosen, amplified};
use slvr_simulation::lab::federation::Cell;
use slvr_simulation::lab::knowledge::Knows;
use slvr_simulation::lab::rule::{Answers, Declared as Predicate, Rule, Step};
use slvr_simulation::lab::world::{Setting, World};
use slvr_simulation::partition::Partition;
use slvr_simulation::train::Sgd;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use through::Through;

#[derive(clap::Args)]
pub struct Demo {
    /// Which predicate checks the updates; slvr_accuracy without it.
    name: Option<String>,
    /// Sizes and parameters that the demo does not choose itself: `lambda=2`.
    #[arg(value_name = "NAME=VALUE")]
    bindings: Vec<String>,
    /// The same, or a `.slvr` file of your own.
    #[arg(long, value_name = "FILE")]
    predicate: Option<String>,
    /// m, the number of clients.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(4..=200))]
    clients: u64,
    /// Federated rounds for each attack.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// Everything random follows from it, the parties' randomness and so the committees, too: the
    /// demo prints the same accuracies again. A run that protects somebody draws them afresh.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// What one of the three parties may do.
    #[arg(long, value_name = "ADVERSARY", value_enum, default_value = "semi-honest")]
    security: Adversary,
    /// Leaves the inputs of the last round under sign flips there, as `slvrc run --inputs` takes
    /// them.
    #[arg(long, value_name = "DIR")]
    write_inputs: Option<PathBuf>,
    /// Sends each round through the three nodes of this deployment, as `slvrc keys` makes it, instead of running it
    /// here. The nodes run and have the predicate as a task.
    #[arg(long, value_name = "DIR")]
    through: Option<PathBuf>,
}

/// What checks the updates if nothing is named.
const PREDICATE: &str = "slvr_accuracy";

const MODEL: &str = "DigitsNet";

/// Validation samples of a client.
const SAMPLES: usize = 10;

/// Samples of the server, for predicates that ask for its update.
const PUBLIC: usize = 100;

const ATTACKS: [(&str, &Attack); 2] = [
    ("one client flips the sign of its update and amplifies it", &amplified::SIGN_FLIP),
    ("one client sends random noise", &amplified::NOISE),
];

impl Demo {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let name = self.program()?;
        let given = self.given(name)?;
        let trained = subject::model(MODEL)?;
        let data = data::load(data::DIGITS, None)?;
        let subject = |name: &str, security, given| {
            let bound = Bound {
                model: MODEL.into(),
                shape: trained.shape.clone(),
                corrupt: 1,
                samples: SAMPLES as u64,
                security,
                given,
                roles: BTreeMap::new(),
                aggregate: None,
                sample: data.test.select(&(0..20).collect::<Vec<_>>()),
            };
            Subject::new(name, self.clients, &bound)
        };
        let checked = subject(name, self.security.into(), given)?;
        let plain = subject("secure_aggregation", Security::SemiHonest, Vec::new())?;
        let plain = Arc::new(plain);
        let circuit = &checked.compiled()?.circuit;
        if let Some(dir) = &self.write_inputs {
            // Before the minutes that training takes.
            circuit
                .parties
                .iter()
                .try_for_each(|set| written_before(&dir.join(&set.name)).map(drop))?;
        }
        if let Some((_, state)) = circuit.states().next() {
            bail!(
                "`{name}` keeps a state, `{}`, and the demo runs every round alone; `slvrc lab` carries states",
                state.name
            );
        }
        let world = World::new(trained.net.clone(), &data, self.setting())?;
        let run = Training { demo: &self, name, world: &world, trained: &trained, circuit };
        if !json {
            say(&self.introduction(circuit, trained.shape.len))?;
        }
        // It hangs on no attack.
        let ideal = run.floating(&amplified::ABSENT, &plain)?;
        let mut results = Vec::new();
        for (i, (what, attack)) in ATTACKS.into_iter().enumerate() {
            let mean = run.floating(attack, &plain)?;
            let write = self.write_inputs.as_deref().filter(|_| i == 0);
            let (rule, reports) = run.checked(attack, &checked, write)?;
            let all = mean.iter().zip(rule).zip(&ideal);
            let rounds = all.map(|((mean, rule), ideal)| [*mean, rule, *ideal]).collect();
            let outcome = Outcome { rounds, reports };
            if !json {
                say(&outcome.to_text(what, &circuit.name))?;
            }
            results.push((what, outcome));
        }
        match json {
            true => say_json(self.to_json(circuit, &results)),
            false => say(&self.summary(name, circuit, &results)),
        }
    }

    fn to_json(&self, circuit: &Circuit, results: &[(&str, Outcome)]) -> Value {
        let attacks: Vec<Value> =
            results.iter().map(|(what, a)| a.to_json(circuit, what)).collect();
        let traffic = Traffic::of(circuit);
        json!({
            "predicate": circuit.name, "clients": self.clients, "rounds": traffic.rounds,
            "security": circuit.security.name(),
            "circuit_hash": report::hex(&artifact::hash(circuit)),
            "bytes_sent": traffic.bytes, "leaks": report::leaks(circuit), "attacks": attacks,
        })
    }

    /// The predicate, however it is named. Behind --predicate the first argument is NAME=VALUE.
    fn program(&self) -> anyhow::Result<&str> {
        match (self.predicate.as_deref(), self.name.as_deref()) {
            (Some(own), Some(name)) if !name.contains('=') => {
                misuse!(
                    "`{name}` and --predicate {own}: one predicate checks the updates, name one"
                )
            }
            (own, name) => Ok(own.or(name).unwrap_or(PREDICATE)),
        }
    }

    /// What sizes and parameters are bound to by the user.
    fn given(&self, name: &str) -> anyhow::Result<Vec<(String, String)>> {
        let declared = Declared::read(name)?;
        let first = self.name.iter().filter(|_| self.predicate.is_some());
        let given = sizes::given(first.chain(&self.bindings))?;
        for (name, value) in &given {
            let why = match name.as_str() {
                "M" => format!("the model of the demo is {MODEL}, which it trains; leave this out"),
                "m" => "how many clients there are is said by --clients".to_string(),
                _ if declared.names().any(|n| n == name) => continue,
                _ => {
                    let names = declared.names().collect::<Vec<_>>().join(", ");
                    format!("there is no `{name}`; there are {names}")
                }
            };
            misuse!("`{name}={value}`: {why}");
        }
        Ok(given)
    }

    fn setting(&self) -> Setting {
        Setting {
            clients: self.clients as usize,
            part: 1.0,
            malicious: 1,
            alpha: 1.0,
            partition: Partition::default(),
            samples: usize::MAX,
            validation: SAMPLES,
            public: PUBLIC,
            test: usize::MAX,
            pretrain: 0,
            rounds: self.rounds as usize,
            sgd: Sgd { rate: 0.1, momentum: 0.7, batch: 8, epochs: 5 },
            shift: None,
            seed: self.seed,
        }
    }

    fn introduction(&self, circuit: &Circuit, weights: usize) -> String {
        let traffic = Traffic::of(circuit);
        let mut out = format!(
            "{m} clients with unlike shares of 1,797 handwritten digits train {MODEL} ({weights} weights); one is\n\
             malicious. Each round three parties check every update in secret with {p}.\n\n",
            m = self.clients,
            p = circuit.name,
        );
        if circuit.security.is_malicious() {
            out += "The parties prove to each other that all they send is right: if one of them deviates, nothing is\n\
                    revealed.\n\n";
        }
        let _ = writeln!(
            out,
            "circuit: {} instructions, {} rounds, {} by each party (mean); known before it runs",
            circuit.instructions(),
            traffic.rounds,
            per_party(traffic.bytes),
        );
        out
    }

    fn summary(&self, name: &str, circuit: &Circuit, results: &[(&str, Outcome)]) -> String {
        let reports: Vec<&Report> = results.iter().flat_map(|(_, a)| &a.reports).collect();
        let seconds: Vec<f64> = reports.iter().map(|r| r.seconds).collect();
        let mut out = match &self.through {
            None => String::from("\neach check, among three parties on this machine:\n"),
            Some(folder) => {
                format!("\neach round went through the three nodes of {}:\n", folder.display())
            }
        };
        if let Some(r) = reports.first() {
            let sent: Vec<String> = r.bytes_sent.iter().map(|&b| bytes(b)).collect();
            let upload = r.upload_bytes.iter().flatten().max().copied().unwrap_or(0);
            let peak = r.peak_memory.iter().max().copied().unwrap_or(0);
            let _ = writeln!(out, "  rounds    {}", r.rounds);
            let _ = writeln!(out, "  sent      {} by the three parties", sent.join(", "));
            let _ = writeln!(out, "  upload    {} by each client", bytes(upload));
            let _ =
                writeln!(out, "  time      {:.2} s (mean of {})", mean(&seconds), seconds.len());
            let _ = writeln!(out, "  memory    {} at most in a party", bytes(peak));
        }
        for o in &circuit.outputs {
            let to = circuit.parties.get(o.to as usize).map_or("?", |p| &p.name);
            // What the demo's own check reveals is known; of another one, its report of leaks says what follows.
            let more = match name == PREDICATE {
                true => "; no update, norm, accuracy, score or verdict",
                false => "; `slvrc explain` says what that tells of a client",
            };
            let n = o.shape.iter().product::<u64>();
            let _ = writeln!(out, "  revealed  `{}`, {n} numbers, to {to}{more}", o.name);
        }
        if let Some(dir) = &self.write_inputs {
            let _ = writeln!(
                out,
                "\ninputs of the last round under sign flips are in {0}; run them with\n  slvrc run {1}{2}{3} --inputs {0}",
                dir.display(),
                name,
                circuit.sizes.iter().map(|(n, v)| format!(" {n}={v}")).collect::<String>(),
                match circuit.security {
                    Security::SemiHonest => "",
                    Security::Malicious => " --security malicious",
                }
            );
        }
        out
    }
}

/// What came of one attack: by round, accuracies of plain mean, the predicate, and the ideal.
struct Outcome {
    rounds: Vec<[f64; 3]>,
    reports: Vec<Report>,
}

impl Outcome {
    fn to_text(&self, what: &str, rule: &str) -> String {
        // The paper's name for its checks, and of any other one its own.
        let rule = if rule.starts_with("Slvr") { "SLVR" } else { rule };
        let wide = rule.chars().count().max(5);
        let mut out = format!(
            "\n{what}:\n\n  round   plain mean   {rule:>wide$}   honest clients only      test accuracy, %\n"
        );
        for (r, [mean, rule, ideal]) in self.rounds.iter().enumerate() {
            let _ = writeln!(
                out,
                "  {:>5}   {:>10.1}   {:>wide$.1}   {:>19.1}",
                r + 1,
                100.0 * mean,
                100.0 * rule,
                100.0 * ideal
            );
        }
        out
    }

    fn to_json(&self, circuit: &Circuit, what: &str) -> Value {
        let by = |i: usize| self.rounds.iter().map(|a| a[i]).collect::<Vec<f64>>();
        json!({
            "attack": what,
            "accuracy": { "plain_mean": by(0), "rule": by(1), "ideal": by(2) },
            "runs": self.reports.iter().map(|r| report::to_json(circuit, r, report::IN_MEMORY, None)).collect::<Vec<_>>(),
        })
    }
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len().max(1) as f64
}

/// The rounds of the demo.
struct Training<'a> {
    demo: &'a Demo,
    name: &'a str,
    world: &'a World,
    trained: &'a Trained,
    circuit: &'a Circuit,
}

impl Training<'_> {
    /// Accuracies under an attack, round by round.
    fn cell<R: Rule<Error = anyhow::Error> + Sync>(
        &self,
        attack: &Attack,
        rule: &mut R,
        mut seen: impl FnMut(usize),
    ) -> anyhow::Result<Vec<f64>> {
        let (world, model) = (self.world, &self.trained.shape);
        let none = BTreeMap::new();
        let (attack, knows) = (&Chosen::of(attack), Knows::default());
        let cell = Cell { world, model, attack, knows, params: &none };
        let curve = cell.run(rule, |round, _| seen(round + 1));
        Ok(curve.map_err(failed)?.accuracy)
    }

    /// The same of a predicate in floating point.
    fn floating(&self, attack: &Attack, subject: &Arc<Subject>) -> anyhow::Result<Vec<f64>> {
        let subjects = |_| Ok(Arc::clone(subject));
        let alone = |_| false;
        let current = (&subjects as &Subjects<'_>, Arc::clone(subject));
        self.cell(attack, &mut Aggregation::new(current, true, &alone, self.demo.seed), |_| ())
    }

    /// The same where every round is checked among three parties, and what is said of their runs.
    fn checked(
        &self,
        attack: &Attack,
        subject: &Subject,
        write: Option<&Path>,
    ) -> anyhow::Result<(Vec<f64>, Vec<Report>)> {
        let Demo { rounds, clients, seed, .. } = *self.demo;
        let bar = bar(rounds, "{msg} [{bar:30}] round {pos}/{len} {elapsed}");
        bar.set_message("training and checking");
        bar.set_position(0);
        let through = match &self.demo.through {
            Some(folder) => {
                Some(Through::new(folder, &task_name(self.name), self.circuit, clients)?)
            }
            None => None,
        };
        let circuit = self.circuit;
        let (written, reports) = (None, Vec::new());
        let mut rule = Parties { subject, circuit, seed, through, written, reports };
        let accuracy = self.cell(attack, &mut rule, |round| bar.set_position(round as u64))?;
        bar.finish_and_clear();
        if let (Some(dir), Some(inputs)) = (write, &rule.written) {
            write_inputs(circuit, inputs, dir)?;
            self.about().write(dir)?;
        }
        Ok((accuracy, rule.reports))
    }

    /// What the inputs of the last round under the first attack are.
    fn about(&self) -> About {
        let parties = &self.circuit.parties;
        let gives = |s: usize| slvr_circuit::From::Each(s as u32);
        let clients = (0..parties.len()).find(|s| {
            let mut inputs = self.circuit.inputs.iter();
            inputs.any(|i| i.from == gives(*s))
        });
        let of = clients.map(|s| parties[s].name.clone()).unwrap_or_default();
        let attack = |&member: &usize| Attacker {
            of: of.clone(),
            member: member as u64,
            what: ATTACKS[0].0.replace("one client ", ""),
        };
        About {
            data: format!(
                "slvrc demo, seed {}: round {} of federated learning on 1,797 handwritten digits",
                self.demo.seed, self.demo.rounds
            ),
            attacks: self.world.malicious.iter().map(attack).collect(),
        }
    }
}

/// The predicate among three parties, or through three nodes.
struct Parties<'a> {
    subject: &'a Subject,
    circuit: &'a Circuit,
    seed: u64,
    through: Option<Through>,
    /// The inputs of the last round.
    written: Option<Inputs>,
    reports: Vec<Report>,
}

impl Rule for Parties<'_> {
    type Error = anyhow::Error;

    fn declare(&mut self, _clients: usize) -> anyhow::Result<()> {
        Ok(())
    }

    fn declared(&self) -> Predicate<'_> {
        self.subject.declared()
    }

    fn ask<'a>(&'a self, _: &Step<'a>) -> anyhow::Result<Answers<'a, anyhow::Error>> {
        Err(anyhow!("the attacks of the demo ask nothing"))
    }

    fn reveal(&mut self, step: &Step<'_>) -> anyhow::Result<Vec<(String, Vec<f64>)>> {
        let inputs = raw(self.circuit, &step.filled.inputs);
        let outputs = match &mut self.through {
            Some(through) => through.round(self.circuit, &inputs)?,
            None => {
                // The same for both attacks: what differs is the attack.
                let seed = self.seed.wrapping_mul(1 << 32).wrapping_add(step.round as u64);
                let deadline = Duration::from_secs(600);
                let options = Options { seed: Some(seed), deadline, ..Options::default() };
                let done = run_with(self.circuit, &inputs, options, &ProgressBar::hidden())?;
                let outputs = done.outputs.clone();
                self.reports.push(done);
                outputs
            }
        };
        self.written = Some(inputs);
        Ok(outputs.into_iter().map(|o| (o.name, o.values)).collect())
    }
}

/// Leaves inputs as files that `slvrc run` takes.
fn write_inputs(circuit: &Circuit, inputs: &Inputs, dir: &Path) -> anyhow::Result<()> {
    files::make_folder(dir)?;
    tensors::write_file(&dir.join("public.safetensors"), &tensors::named(circuit, &inputs.public))?;
    for (set, members) in circuit.parties.iter().zip(&inputs.sets) {
        if members.is_empty() {
            continue;
        }
        let folder = dir.join(&set.name);
        // Files of an earlier run with more members would be taken for a mistake in the sizes.
        for path in written_before(&folder)? {
            std::fs::remove_file(&path)
                .with_context(|| format!("{}: cannot be removed", path.display()))?;
        }
        files::make_folder(&folder)?;
        for (i, member) in members.iter().enumerate() {
            let path = folder.join(format!("{i}.safetensors"));
            tensors::write_file(&path, &tensors::named(circuit, member))?;
        }
    }
    Ok(())
}

/// The files of members that an earlier demo left in a folder. What else is there is somebody's own, and not touched.
fn written_before(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let unreadable = || format!("{}: cannot be read", folder.display());
    let mut found = Vec::new();
    for entry in folder.read_dir().with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".safetensors"));
        if !path.is_file()
            || !name.is_some_and(|n| n.parse::<u64>().is_ok_and(|i| i.to_string() == n))
        {
            misuse!(
                "--write-inputs: {} would be removed, and the demo did not write it: move it, or name another folder",
                path.display()
            );
        }
        found.push(path);
    }
    Ok(found)
}
