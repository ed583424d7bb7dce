//! The rounds: training, attack, inputs, aggregate.

use super::attacks::{self, Attack};
use super::fill::{self, Filled, ModelShape, Role};
use super::knowledge::Knowledge;
use super::rule::{Declared, Rule, Step};
use super::world::World;
use crate::data::Dataset;
use crate::federated::{clip, trained};
use crate::loss::surprise;
use crate::net::{Net, Workspace};
use crate::random::{Purpose, Random};
use crate::train::hits;
use rayon::prelude::*;
use slvr_compiler::graph::eval::Inputs;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// What came of a cell: a predicate under an attack with a seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Test accuracy after every round, in [0, 1].
    pub accuracy: Vec<f64>,
    /// Part of triggered test samples that have the backdoor's class at the end.
    pub backdoor: f64,
    /// How many honest updates left the declared range or length and were cut, or held what is no number.
    pub cut: usize,
    /// Other inputs that left their declared range and were cut, and in how many rounds.
    pub squeezed: BTreeMap<String, usize>,
}

/// Why a federation ends early.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FederationError<E> {
    /// The rule failed.
    #[error(transparent)]
    Rule(E),
    /// What the rule reveals is no vector of finite numbers as long as the model.
    #[error("round {round}: the aggregate is not a vector of {expected} finite numbers")]
    Aggregate {
        /// Round.
        round: usize,
        /// Number of weights.
        expected: usize,
    },
}

/// A cell to run.
pub struct Cell<'a> {
    /// The data.
    pub world: &'a World,
    /// The model, as inputs are filled.
    pub model: &'a ModelShape,
    /// What the malicious do.
    pub attack: Attack,
    /// Parameters and sizes of a predicate that attacks have closed forms for, as far as they are numbers. `None`
    /// for any other: attacks ask the check instead.
    pub params: Option<&'a BTreeMap<String, f64>>,
}

impl Cell<'_> {
    /// All rounds; `seen` gets each round's number and accuracy.
    pub fn run<R: Rule + Sync>(
        &self,
        rule: &mut R,
        mut seen: impl FnMut(usize, f64),
    ) -> Result<Curve, FederationError<R::Error>> {
        let (world, setting) = (self.world, &self.world.setting);
        let mut global = world.net.init(setting.seed);
        let mut last = vec![0.0; global.len()];
        let mut curve = Curve::default();
        for round in 0..setting.rounds {
            let (change, cut) = self.round(rule, round, &global, &last)?;
            curve.cut += cut.honest;
            cut.others.into_iter().for_each(|name| *curve.squeezed.entry(name).or_default() += 1);
            global.iter_mut().zip(&change).for_each(|(w, c)| *w += c);
            last = change;
            let accuracy = self.accuracy(&global, round);
            curve.accuracy.push(accuracy);
            seen(round, accuracy);
        }
        let mut marked = (0, 0);
        for test in world.tests(setting.rounds.saturating_sub(1)) {
            let test = attacks::triggered(test);
            let wanted = vec![attacks::TARGET; test.len()];
            marked.0 += hits(&world.net, &global, test.images(), &wanted);
            marked.1 += test.len();
        }
        curve.backdoor = marked.0 as f64 / marked.1.max(1) as f64;
        Ok(curve)
    }

    fn accuracy(&self, global: &[f32], round: usize) -> f64 {
        let tests = self.world.tests(round);
        let right = |test: &&Dataset| hits(&self.world.net, global, test.images(), test.labels());
        let all: usize = tests.iter().map(|t| t.len()).sum();
        tests.iter().map(right).sum::<usize>() as f64 / all.max(1) as f64
    }

    /// What a client's training on some samples changes.
    fn trained(&self, global: &[f32], data: &Dataset, round: usize, client: usize) -> Vec<f32> {
        let setting = &self.world.setting;
        let key = [round as u64, client as u64];
        let mut order = Random::new(setting.seed, Purpose::Order, key);
        // All data were checked when the world was made.
        trained(&self.world.net, global, data, &setting.sgd, &mut order)
            .unwrap_or_else(|_| vec![0.0; global.len()])
    }

    fn round<R: Rule + Sync>(
        &self,
        rule: &mut R,
        round: usize,
        global: &[f32],
        last: &[f32],
    ) -> Result<(Vec<f32>, Cut), FederationError<R::Error>> {
        let (world, setting) = (self.world, &self.world.setting);
        let clients = world.clients(round);
        let classes = world.net.classes();
        rule.declare(clients).map_err(FederationError::Rule)?;
        let Declared { graph, roles, reading } = rule.declared();
        let wants_reference = fill::wants_reference(roles);
        let (lo, hi) = fill::update_range(graph, roles);
        let labelled = roles.contains(&Role::Labels);
        let bounded = roles.contains(&Role::TensorBounds).then_some(&self.model.tensors[..]);
        // The server trains beside the clients, on its own samples.
        let server = clients;
        let jobs = clients + usize::from(wants_reference);
        let mut updates: Vec<Vec<f32>> = (0..jobs)
            .into_par_iter()
            .map(|client| {
                if client == server {
                    return self.trained(global, &world.public, round, client);
                }
                let share = world.data(client, round);
                let poisoned = Some(share).filter(|_| world.is_malicious(client));
                match poisoned.and_then(|share| self.attack.training(share, classes)) {
                    Some(poisoned) => self.trained(global, &poisoned, round, client),
                    None => self.trained(global, share, round, client),
                }
            })
            .collect();
        // Where training diverged, there is no number.
        let mut lost: Vec<bool> = updates.iter_mut().map(|u| numbers(u)).collect();
        let reference = if wants_reference { updates.pop() } else { None };
        lost.truncate(clients);
        let mut validation: Vec<Dataset> =
            (0..clients).map(|client| world.validation(client, round)).collect();
        let malicious: Vec<bool> = (0..clients).map(|client| world.is_malicious(client)).collect();
        let counts: Vec<usize> = (0..clients).map(|i| world.data(i, round).len()).collect();
        let offer = |updates: &[Vec<f32>], validation: &[Dataset]| {
            let offered = fill::Round {
                index: round,
                seed: setting.seed,
                global,
                updates,
                validation,
                counts: &counts,
                reference: reference.as_deref().unwrap_or(&[]),
                last,
                public: &world.public,
            };
            fill::fill(graph, roles, self.model, &offered)
        };
        if !world.malicious.is_empty() && self.attack != Attack::None {
            let own: Vec<Vec<f32>> = world.malicious.iter().map(|&i| updates[i].clone()).collect();
            let data: Vec<&Dataset> =
                world.malicious.iter().map(|&i| world.data(i, round)).collect();
            let honest: Vec<&[f32]> =
                (0..clients).filter(|i| !malicious[*i]).map(|i| updates[i].as_slice()).collect();
            let asks = self.params.is_none() || self.attack == Attack::Probe;
            let before = asks.then(|| offer(&updates, &validation).flat);
            let ask = |update: &[f32]| {
                let flat =
                    fill::with_update(graph, roles, before.as_deref()?, (&world.malicious, update));
                let step = Step {
                    round,
                    filled: &Filled { inputs: Inputs::default(), flat, cut: Vec::new() },
                    malicious: &malicious,
                    forged: self.attack.forges_scores(),
                    samples: setting.validation,
                };
                let change = reading.change(&rule.ask(&step).ok()?, global.len())?;
                let next: Vec<f32> = global.iter().zip(&change).map(|(w, c)| w + c).collect();
                Some(loss(&world.net, &next, &data)).filter(|loss| loss.is_finite())
            };
            let none = BTreeMap::new();
            let knowledge = Knowledge {
                net: &world.net,
                round,
                seed: setting.seed,
                global,
                own: &own,
                data: &data,
                clients,
                reference: reference.as_deref(),
                params: self.params.unwrap_or(&none),
                honest: &honest,
                range: (lo, hi),
                bounded,
                ask: if asks { Some(&ask) } else { None },
                labelled,
            };
            let sent = self.attack.updates(&knowledge);
            for (&i, sent) in world.malicious.iter().zip(&sent) {
                let samples = validation[i].clone();
                validation[i] = self.attack.validation(&knowledge, sent, samples);
            }
            for (&i, sent) in world.malicious.iter().zip(sent) {
                updates[i] = sent;
            }
        }
        updates.iter_mut().for_each(|update| clip(update, LARGEST));
        let filled = offer(&updates, &validation);
        let mut cut = Cut::default();
        let is_update = |i: usize| roles.get(i) == Some(&Role::Update);
        for &(input, member) in &filled.cut {
            if is_update(input) {
                lost[member] = true;
            } else {
                cut.others.insert(graph.inputs[input].name.clone());
            }
        }
        cut.honest = lost.iter().zip(&malicious).filter(|(lost, m)| **lost && !**m).count();
        let reading = reading.clone();
        let step = Step {
            round,
            filled: &filled,
            malicious: &malicious,
            forged: self.attack.forges_scores(),
            samples: setting.validation,
        };
        let revealed = rule.reveal(&step).map_err(FederationError::Rule)?;
        let change = reading.change(&revealed, global.len());
        let expected = global.len();
        change
            .filter(|c| c.iter().all(|x| x.is_finite()))
            .map(|change| (change, cut))
            .ok_or(FederationError::Aggregate { round, expected })
    }
}

/// What had to be changed before it could be given.
#[derive(Default)]
struct Cut {
    /// How many honest updates.
    honest: usize,
    /// Which other inputs.
    others: BTreeSet<String>,
}

/// The largest coordinate of an update: so that sums of squares stay numbers.
const LARGEST: f32 = 1e6;

/// Puts 0 for what is no number, and keeps the others in bounds; whether there was such a coordinate.
fn numbers(update: &mut [f32]) -> bool {
    let wrong = |u: &f32| u.is_nan() || u.abs() > LARGEST;
    let found = update.iter().any(wrong);
    clip(update, LARGEST);
    found
}

/// Samples of each malicious client that the next model is tried on.
const TRIED: usize = 50;

/// The mean loss of a model on data of the malicious.
fn loss(net: &Net, weights: &[f32], data: &[&Dataset]) -> f64 {
    let (mut sum, mut all, mut space) = (0.0, 0, Workspace::default());
    for data in data {
        let n = data.len().min(TRIED);
        let logits = net.logits(weights, &data.images()[..n * data.sample_size()], &mut space);
        sum += surprise(&logits, &data.labels()[..n], net.classes());
        all += n;
    }
    sum / all.max(1) as f64
}
