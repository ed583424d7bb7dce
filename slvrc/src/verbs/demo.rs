//! `slvrc demo`: federated learning with a poisoner on embedded real data, every round's
//! aggregation checked among three parties.

use crate::about::{About, Attack as Attacker};
use crate::fail::{Usage, say, say_json};
use crate::parties::run_circuit;
use crate::program::{self, Checked, Sizes};
use crate::through::Through;
use crate::units::bytes;
use crate::verbs::lab::Declared;
use crate::{report, target, tensors};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, Encoding, Security, artifact};
use slvr_compiler::graph::build;
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_compiler::types::model::Model;
use slvr_runtime::party::session::Report;
use slvr_runtime::share::encode::{Inputs, RawTensor};
use slvr_runtime::share::reveal::Revealed;
use slvr_simulation::federated::{Config, Poison, Round, Simulation};
use slvr_simulation::idx;
use slvr_simulation::lab::fast::Fast;
use slvr_simulation::lab::fill;
use slvr_simulation::lab::reading::Reading;
use slvr_simulation::net::Net;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments.
#[derive(clap::Args)]
pub struct Demo {
    /// Which predicate checks the updates: one whose inputs are `global`, `update` and optionally
    /// `image` and `label`.
    #[arg(default_value = "slvr_accuracy")]
    name: String,
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
    #[arg(long, value_name = "ADVERSARY", default_value = "semi-honest", value_parser = ["semi-honest", "malicious"])]
    security: String,
    /// Leaves the inputs of the last round under sign flips there, as `slvrc run --inputs` takes
    /// them.
    #[arg(long, value_name = "DIR")]
    write_inputs: Option<PathBuf>,
    /// Sends each round through the three nodes of this deployment, as `slvrc keys` makes it, instead of running it
    /// here. The nodes run and have the predicate as a task.
    #[arg(long, value_name = "DIR")]
    through: Option<PathBuf>,
}

/// Committee parameter and validation samples per client.
const CORRUPT: u64 = 1;
const SAMPLES: u64 = 10;

const ATTACKS: [(&str, Poison); 2] = [
    ("one client flips the sign of its update and amplifies it", Poison::SIGN_FLIP),
    ("one client sends random noise", Poison::NOISE),
];

impl Demo {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let bare = self.bare();
        let embedded =
            PREDICATES.iter().find(|(n, _)| n.strip_suffix(".slvr").unwrap_or(n) == bare);
        let (name, text) = match (embedded, &self.predicate) {
            (Some((name, text)), _) => (*name, (*text).to_string()),
            (None, Some(file)) => (file.as_str(), program::source(file)?),
            (None, None) => {
                let names: Vec<&str> =
                    PREDICATES.iter().map(|(n, _)| n.strip_suffix(".slvr").unwrap_or(n)).collect();
                bail!("no embedded predicate `{bare}`; there are {}", names.join(", "));
            }
        };
        let all = [
            ("M", "DigitsNet".to_string()),
            ("m", self.clients.to_string()),
            ("c", CORRUPT.to_string()),
            ("b", SAMPLES.to_string()),
            ("f", CORRUPT.to_string()),
        ];
        let bindings = self.bound(name, &all)?;
        let mut checked = program::check_text(name, text, bindings, None, Sizes::Required)?;
        checked.how.security = target::security(&self.security);
        let compiled = checked.compile()?;
        let circuit = &compiled.circuit;
        let Some(model) = checked.program.models.first() else {
            bail!("`{bare}` has no model: the demo trains one");
        };
        for input in &circuit.inputs {
            let name = &input.name;
            match input.from {
                slvr_circuit::From::State(_) => bail!(
                    "`{bare}` keeps a state, `{name}`, and the demo runs every round alone; `slvrc lab` carries states"
                ),
                _ if ["global", "update", "image", "label"].contains(&name.as_str()) => {}
                _ => bail!(
                    "`{bare}` has an input `{name}` that the demo has no data for; `slvrc lab` fills more inputs"
                ),
            }
        }
        let reading = reading(&checked, model).with_context(|| {
            format!(
                "`{bare}` reveals nothing that has as many entries as {} has weights, {}",
                model.name, model.len
            )
        })?;

        if !json {
            say(&self.introduction(circuit, model))?;
        }
        let mut results = Vec::new();
        for (i, (what, poison)) in ATTACKS.into_iter().enumerate() {
            let write = self.write_inputs.as_deref().filter(|_| i == 0);
            let attack = self.attack((circuit, &reading), model, poison, write)?;
            if !json {
                say(&attack.to_text(what, &circuit.name))?;
            }
            results.push((what, attack));
        }
        if json {
            let attacks: Vec<Value> =
                results.iter().map(|(what, a)| a.to_json(circuit, what)).collect();
            let traffic = Traffic::of(circuit);
            let all = json!({
                "predicate": circuit.name, "clients": self.clients, "rounds": traffic.rounds,
                "security": circuit.security.name(),
                "circuit_hash": report::hex(&artifact::hash(circuit)),
                "bytes_sent": traffic.bytes, "leaks": report::leaks(circuit), "attacks": attacks,
            });
            return say_json(all);
        }
        say(&self.summary(circuit, &results))
    }

    /// What was asked for, without its ending.
    fn bare(&self) -> &str {
        let name = self.predicate.as_ref().unwrap_or(&self.name);
        name.strip_suffix(".slvr").unwrap_or(name)
    }

    /// What sizes and parameters are bound to: by the user, or else by the demo.
    fn bound(&self, file: &str, all: &[(&str, String)]) -> anyhow::Result<Vec<(String, String)>> {
        let declared = Declared::read(file)?;
        let mut bindings: Vec<(String, String)> = Vec::new();
        // With --predicate no name stands before the bindings.
        let first = self.predicate.iter().filter(|_| self.name.contains('=')).map(|_| &self.name);
        for text in first.chain(&self.bindings) {
            let Some((name, value)) = text.split_once('=') else {
                return Err(Usage(format!("`{text}` is not NAME=VALUE, as in `lambda=2`")).into());
            };
            let instead = match name {
                "M" => Some("the model of the demo is DigitsNet, which it trains; leave this out"),
                "m" => Some("how many clients there are is said by --clients"),
                _ => None,
            };
            if let Some(instead) = instead {
                return Err(Usage(format!("`{text}`: {instead}")).into());
            }
            if !declared.names().any(|n| n == name) {
                let names = declared.names().collect::<Vec<_>>().join(", ");
                return Err(
                    Usage(format!("`{text}`: there is no `{name}`; there are {names}")).into()
                );
            }
            if bindings.iter().any(|(n, _)| n == name) {
                return Err(Usage(format!("`{text}`: `{name}` is bound twice")).into());
            }
            bindings.push((name.to_string(), value.to_string()));
        }
        for (name, value) in all {
            // Only the sizes that this predicate has, and no parameters of their names.
            if declared.is_size(name) && bindings.iter().all(|(n, _)| n != name) {
                bindings.push(((*name).to_string(), value.clone()));
            }
        }
        if let Some(name) = declared.missing(&bindings).first() {
            return Err(Usage(format!("{file}: `{name}` has no value: say {name}=VALUE")).into());
        }
        Ok(bindings)
    }

    fn introduction(&self, circuit: &Circuit, model: &Model) -> String {
        let traffic = Traffic::of(circuit);
        let mut out = format!(
            "{m} clients with unlike shares of 1,797 handwritten digits train {name} ({w} weights); one is\n\
             malicious. Each round three parties check every update in secret with {p}.\n\n",
            m = self.clients,
            name = model.name,
            w = model.len,
            p = circuit.name,
        );
        if circuit.security.is_malicious() {
            out += "The parties prove to each other that all they send is right: if one of them deviates, nothing is\n\
                    revealed.\n\n";
        }
        let _ = writeln!(
            out,
            "circuit: {} instructions, {} rounds, {} sent by each party (known before it runs)",
            circuit.instructions(),
            traffic.rounds,
            bytes(traffic.bytes.iter().sum::<u64>() / 3),
        );
        out
    }

    fn attack(
        &self,
        (circuit, reading): (&Circuit, &Reading),
        model: &Model,
        poison: Poison,
        write: Option<&Path>,
    ) -> anyhow::Result<Attack> {
        let data = idx::digits()?;
        // Few samples per client must still be enough to train on when there are many clients.
        let share = data.len() * 4 / 5 / self.clients as usize;
        let defaults = Config::default();
        let config = Config {
            clients: self.clients as usize,
            poison,
            validation: SAMPLES as usize,
            rounds: self.rounds as usize,
            min_samples: defaults.min_samples.min(share / 3),
            seed: self.seed,
            ..defaults
        };
        let simulation = Simulation::new(model, &data, config)?;
        let bar = ProgressBar::new(self.rounds);
        let style = ProgressStyle::with_template("{msg} [{bar:30}] round {pos}/{len} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        let layers = ProgressBar::hidden();
        let mut attack = Attack::default();
        let mut through = match &self.through {
            Some(folder) => Some(Through::new(folder, self.bare(), circuit, self.clients)?),
            None => None,
        };
        let mut going = simulation.start();
        for r in 0..self.rounds {
            bar.set_message("training and checking");
            bar.set_position(r);
            let mut report = None;
            let accuracies = going.step(|round| -> anyhow::Result<Vec<f32>> {
                let inputs = inputs(circuit, model, round);
                if let (Some(dir), true) = (write, r + 1 == self.rounds) {
                    write_inputs(circuit, &inputs, dir)?;
                    self.about(circuit, &simulation).write(dir)?;
                }
                if let Some(through) = &mut through {
                    let revealed = through.round(circuit, &inputs)?;
                    return change(reading, revealed);
                }
                // The same for both attacks: what differs is the attack.
                let seed = self.seed.wrapping_mul(1 << 32).wrapping_add(r);
                let wait = Duration::from_secs(600);
                let done = run_circuit(circuit, &inputs, Some(seed), wait, &layers)?;
                let found = change(reading, done.outputs.clone());
                report = Some(done);
                found
            });
            let accuracies = match accuracies {
                Ok(a) => a,
                Err(slvr_simulation::federated::RoundError::Rule(e)) => return Err(e),
                Err(e) => bail!("{e}"),
            };
            attack.rounds.push([accuracies.mean, accuracies.rule, accuracies.ideal]);
            attack.reports.extend(report);
        }
        bar.finish_and_clear();
        Ok(attack)
    }

    /// What the inputs of the last round under the first attack are.
    fn about(&self, circuit: &Circuit, simulation: &Simulation) -> About {
        let gives = |s: usize| slvr_circuit::From::Each(s as u32);
        let sets = circuit.parties.iter().enumerate();
        let mut sets = sets.filter(|(s, _)| circuit.inputs.iter().any(|i| i.from == gives(*s)));
        let of = sets.next().map_or(String::new(), |(_, p)| p.name.clone());
        let attack = |&member: &usize| Attacker {
            of: of.clone(),
            member: member as u64,
            what: ATTACKS[0].0.replace("one client ", ""),
        };
        About {
            data: format!(
                "slvrc demo, seed {}: round {} of federated learning on 1,797 handwritten digits",
                self.seed, self.rounds
            ),
            attacks: simulation.poisoners().iter().map(attack).collect(),
        }
    }

    fn summary(&self, circuit: &Circuit, results: &[(&str, Attack)]) -> String {
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
            let more = match self.predicate {
                None => "; no update, norm, accuracy, score or verdict",
                Some(_) => "; `slvrc explain` says what that tells of a client",
            };
            let n = o.shape.iter().product::<u64>();
            let _ = writeln!(out, "  revealed  `{}`, {n} numbers, to {to}{more}", o.name);
        }
        if let Some(dir) = &self.write_inputs {
            let _ = writeln!(
                out,
                "\ninputs of the last round under sign flips are in {0}; run them with\n  slvrc run {1}{2}{3} --inputs {0}",
                dir.display(),
                self.predicate.as_ref().unwrap_or(&self.name),
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
#[derive(Default)]
struct Attack {
    rounds: Vec<[f64; 3]>,
    reports: Vec<Report>,
}

impl Attack {
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

/// What the reveals mean for the model, as in the lab.
fn reading(checked: &Checked, model: &Model) -> anyhow::Result<Reading> {
    let graph =
        build::build(&checked.program, &checked.sources).map_err(|d| checked.rejected(d))?;
    let net = Net::of(&checked.program, &checked.sources)?;
    let shape = fill::model_shape(&net, model);
    let roles = fill::roles(&graph, &shape, &BTreeMap::new())?;
    let set = fill::clients(&graph, &shape);
    let samples = idx::digits()?.select(&(0..SAMPLES as usize).collect::<Vec<_>>());
    Ok(Reading::of(&Fast::new(graph, set)?, &roles, &shape, &samples)?)
}

/// What a round changes of the model.
fn change(reading: &Reading, revealed: Vec<Revealed>) -> anyhow::Result<Vec<f32>> {
    let len = revealed.iter().find(|o| o.name == reading.aggregate).map(|o| o.values.len());
    let revealed: Vec<_> = revealed.into_iter().map(|o| (o.name, o.values)).collect();
    let change = len.and_then(|len| reading.change(&revealed, len));
    change.context("the aggregate was not revealed")
}

/// Into the range and the length that the parties enforce: what a client gives beyond them is replaced by zeros, and an attacker
/// would rather be counted.
fn fit(circuit: &Circuit, name: &str, mut values: Vec<f64>) -> Vec<f64> {
    let input = circuit.inputs.iter().find(|i| i.name == name);
    let Some(Encoding::Fixed { lo, hi, norm, .. }) = input.map(|i| &i.encoding) else {
        return values;
    };
    values.iter_mut().for_each(|x| *x = x.clamp(*lo, *hi));
    let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > *norm {
        values.iter_mut().for_each(|x| *x *= norm / length * (1.0 - 1e-9));
    }
    values
}

/// A round's public and secret inputs, as the predicate declares them.
fn inputs(circuit: &Circuit, model: &Model, round: &Round<'_>) -> Inputs {
    let declared = |name: &str| circuit.inputs.iter().any(|i| i.name == name);
    let reals = |x: &[f32]| x.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
    let mut public = BTreeMap::new();
    if declared("global") {
        let global = fit(circuit, "global", reals(round.global));
        public.insert("global".into(), RawTensor::reals([model.len], global));
    }
    let member = |i: usize| {
        let mut tensors = BTreeMap::new();
        let update = fit(circuit, "update", reals(&round.updates[i]));
        tensors.insert("update".into(), RawTensor::reals([model.len], update));
        let b = round.labels[i].len() as u64;
        if declared("image") {
            let shape = [&[b], model.input.as_slice()].concat();
            tensors.insert("image".into(), RawTensor::reals(shape, reals(&round.images[i])));
        }
        if declared("label") {
            let labels = round.labels[i].iter().map(|&l| i64::from(l)).collect();
            tensors.insert("label".into(), RawTensor::integers([b], labels));
        }
        tensors
    };
    let clients: Vec<_> = (0..round.updates.len()).map(member).collect();
    let sets = circuit
        .parties
        .iter()
        .enumerate()
        .map(|(s, _)| {
            let gives = slvr_circuit::From::Each(s as u32);
            if circuit.inputs.iter().any(|i| i.from == gives) {
                clients.clone()
            } else {
                Vec::new()
            }
        })
        .collect();
    Inputs { public, sets }
}

/// Leaves inputs as files that `slvrc run` takes.
fn write_inputs(circuit: &Circuit, inputs: &Inputs, dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    tensors::write_file(&dir.join("public.safetensors"), &tensors::named(circuit, &inputs.public))?;
    for (set, members) in circuit.parties.iter().zip(&inputs.sets) {
        if members.is_empty() {
            continue;
        }
        let folder = dir.join(&set.name);
        // Files of an earlier run with more members would be taken for a mistake in the sizes.
        if folder.is_dir() {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("{}: cannot be emptied", folder.display()))?;
        }
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("{}: cannot be made", folder.display()))?;
        for (i, member) in members.iter().enumerate() {
            let path = folder.join(format!("{i}.safetensors"));
            tensors::write_file(&path, &tensors::named(circuit, member))?;
        }
    }
    Ok(())
}
