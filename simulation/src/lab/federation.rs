//! The rounds: training, attack, inputs, aggregate.

use super::attacks::{self, Chosen, Told, Validation};
use super::fill::{self, Filled, ModelShape, Role};
use super::knowledge::Knowledge;
use super::rule::{Declared, Rule, Step};
use super::world::World;
use crate::data::Dataset;
use crate::loss::surprise;
use crate::net::{Net, Workspace};
use crate::random::{Purpose, Random};
use crate::train::{descend, hits};
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
#[allow(missing_docs, reason = "the messages say what the fields are")]
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FederationError<E> {
    /// The rule failed.
    #[error(transparent)]
    Rule(E),
    /// What the rule reveals is no vector of finite numbers as long as the model.
    #[error("round {round}: the aggregate is not a vector of {expected} finite numbers")]
    Aggregate { round: usize, expected: usize },
}

/// A cell to run.
pub struct Cell<'a> {
    /// The data.
    pub world: &'a World,
    /// The model, as inputs are filled.
    pub model: &'a ModelShape,
    /// What the malicious do.
    pub attack: &'a Chosen,
    /// Parameters and sizes of a predicate whose header names an attack, as far as they are numbers. `None` for any
    /// other: attacks ask the check instead.
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

    fn round<R: Rule + Sync>(
        &self,
        rule: &mut R,
        round: usize,
        global: &[f32],
        last: &[f32],
    ) -> Result<(Vec<f32>, Cut), FederationError<R::Error>> {
        rule.declare(self.world.clients(round)).map_err(FederationError::Rule)?;
        let declared = rule.declared();
        let mut offer = self.offer(&declared, round, global, last);
        let attack = &self.attack.attack;
        let acts = attack.updates.is_some() || attack.validation.is_some();
        if acts && self.begun(round) && !self.world.malicious.is_empty() {
            self.poison(rule, &mut offer);
        }
        offer.updates.iter_mut().for_each(|update| clip(update, LARGEST));
        let filled = self.fill(&declared, &offer);
        let cut = offer.cut(&declared, &filled);
        let reading = declared.reading.clone();
        let revealed = rule.reveal(&self.step(&offer, &filled)).map_err(FederationError::Rule)?;
        let expected = global.len();
        reading
            .change(&revealed, expected)
            .filter(|c| c.iter().all(|x| x.is_finite()))
            .map(|change| (change, cut))
            .ok_or(FederationError::Aggregate { round, expected })
    }

    /// What everybody has once all have trained: clients on their shares, the malicious on what the attack makes of them, and
    /// the server beside them on its own samples, if the check asks for its update.
    fn offer<'r>(
        &self,
        declared: &Declared<'_>,
        round: usize,
        global: &'r [f32],
        last: &'r [f32],
    ) -> Offer<'r> {
        let (world, clients) = (self.world, self.world.clients(round));
        let malicious: Vec<bool> = (0..clients).map(|client| world.is_malicious(client)).collect();
        let jobs = clients + usize::from(fill::wants_reference(declared.roles));
        let train = |client: usize| {
            let Some(malicious) = malicious.get(client) else {
                return self.trained(global, &world.public, round, client);
            };
            let share = world.data(client, round);
            match self.attack.attack.training.filter(|_| *malicious && self.begun(round)) {
                Some(poison) => {
                    self.trained(global, &poison(share, world.net.classes()), round, client)
                }
                None => self.trained(global, share, round, client),
            }
        };
        let mut updates: Vec<Vec<f32>> = (0..jobs).into_par_iter().map(train).collect();
        // Where training diverged, there is no number.
        let mut lost: Vec<bool> = updates.iter_mut().map(|u| numbers(u)).collect();
        lost.truncate(clients);
        let reference = if jobs > clients { updates.pop() } else { None };
        let validation = (0..clients).map(|client| world.validation(client, round)).collect();
        Offer { round, global, last, reference, updates, validation, malicious, lost }
    }

    /// Whether the malicious have begun.
    fn begun(&self, round: usize) -> bool {
        round >= self.attack.from
    }

    /// What a client's training on some samples changes.
    fn trained(&self, global: &[f32], data: &Dataset, round: usize, client: usize) -> Vec<f32> {
        let setting = &self.world.setting;
        let key = [round as u64, client as u64];
        let mut order = Random::new(setting.seed, Purpose::Order, key);
        let mut update = global.to_vec();
        // All data were checked when the world was made.
        let loss = descend(&self.world.net, &mut update, data, &setting.sgd, &mut order);
        debug_assert!(loss.is_ok(), "{loss:?}");
        update.iter_mut().zip(global).for_each(|(u, g)| *u -= g);
        update
    }

    /// The inputs of the predicate.
    fn fill(&self, declared: &Declared<'_>, offer: &Offer<'_>) -> Filled {
        let data = |client| self.world.data(client, offer.round).len();
        let counts: Vec<usize> = (0..offer.updates.len()).map(data).collect();
        let round = fill::Round {
            index: offer.round,
            seed: self.world.setting.seed,
            global: offer.global,
            updates: &offer.updates,
            validation: &offer.validation,
            counts: &counts,
            reference: offer.reference.as_deref().unwrap_or(&[]),
            last: offer.last,
            public: &self.world.public,
        };
        fill::fill(declared.graph, declared.roles, self.model, &round)
    }

    fn step<'s>(&self, offer: &'s Offer<'_>, filled: &'s Filled) -> Step<'s> {
        Step {
            round: offer.round,
            filled,
            malicious: &offer.malicious,
            forged: self.attack.attack.forges_scores && self.begun(offer.round),
            samples: self.world.setting.validation,
        }
    }

    /// Replaces what the malicious give.
    fn poison<R: Rule + Sync>(&self, rule: &R, offer: &mut Offer<'_>) {
        let (world, round, global) = (self.world, offer.round, offer.global);
        let declared = rule.declared();
        let Declared { graph, roles, reading } = declared;
        let own: Vec<Vec<f32>> =
            world.malicious.iter().map(|&i| offer.updates[i].clone()).collect();
        let data: Vec<&Dataset> = world.malicious.iter().map(|&i| world.data(i, round)).collect();
        let pairs = offer.updates.iter().zip(&offer.malicious);
        let honest: Vec<&[f32]> = pairs.filter(|(_, m)| !**m).map(|(u, _)| u.as_slice()).collect();
        let asks = self.params.is_none() || self.attack.attack.told == Told::Answers;
        let before = asks.then(|| self.fill(&declared, offer).flat);
        let ask = |update: &[f32]| {
            let flat =
                fill::with_update(graph, roles, before.as_deref()?, (&world.malicious, update));
            let filled = Filled { inputs: Inputs::default(), flat, cut: Vec::new() };
            let revealed = rule.ask(&self.step(offer, &filled)).ok()?;
            let change = reading.change(&revealed, global.len())?;
            let next: Vec<f32> = global.iter().zip(&change).map(|(w, c)| w + c).collect();
            Some(loss(&world.net, &next, &data)).filter(|loss| loss.is_finite())
        };
        let none = BTreeMap::new();
        let bounded = roles.contains(&Role::TensorBounds);
        let knowledge = Knowledge {
            net: &world.net,
            round,
            seed: world.setting.seed,
            global,
            own: &own,
            data: &data,
            clients: offer.updates.len(),
            reference: offer.reference.as_deref(),
            params: self.params.unwrap_or(&none),
            values: &[],
            honest: &honest,
            range: fill::update_range(graph, roles),
            bounded: bounded.then_some(&self.model.tensors[..]),
            ask: if asks { Some(&ask) } else { None },
            labelled: roles.contains(&Role::Labels),
        };
        let sent = self.attack.sent(&knowledge);
        let give = |validate: Validation| {
            let pairs = world.malicious.iter().zip(&sent);
            pairs.map(|(&i, sent)| validate(&knowledge, sent, &offer.validation[i])).collect()
        };
        let samples: Vec<Dataset> = self.attack.attack.validation.map(give).unwrap_or_default();
        for (&i, sent) in world.malicious.iter().zip(sent) {
            offer.updates[i] = sent;
        }
        for (&i, samples) in world.malicious.iter().zip(samples) {
            offer.validation[i] = samples;
        }
    }
}

/// What there is to give in a round.
struct Offer<'r> {
    round: usize,
    global: &'r [f32],
    last: &'r [f32],
    /// The server's own update.
    reference: Option<Vec<f32>>,
    updates: Vec<Vec<f32>>,
    validation: Vec<Dataset>,
    /// Whether each client is malicious.
    malicious: Vec<bool>,
    /// Whether the training of each client diverged.
    lost: Vec<bool>,
}

impl Offer<'_> {
    fn cut(&self, declared: &Declared<'_>, filled: &Filled) -> Cut {
        let (mut lost, mut others) = (self.lost.clone(), BTreeSet::new());
        for &(input, member) in &filled.cut {
            if declared.roles.get(input) == Some(&Role::Update) {
                lost[member] = true;
            } else {
                others.insert(declared.graph.inputs[input].name.clone());
            }
        }
        let honest = lost.iter().zip(&self.malicious).filter(|(lost, m)| **lost && !**m).count();
        Cut { honest, others }
    }
}

/// What had to be changed before it could be given.
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

/// Each coordinate into [-most, most]. Training that diverged, as it does from a global model that an attack has spoilt,
/// leaves coordinates that are no number: they count as no change.
fn clip(update: &mut [f32], most: f32) {
    for u in update {
        *u = if u.is_nan() { 0.0 } else { u.clamp(-most, most) };
    }
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
