//! The rounds: training, attack, inputs, aggregate.

use super::attacks::{self, Attack, Chosen, Place};
use super::fill::{self, Filled, ModelShape};
use super::knowledge::Knows;
use super::offer::{Cut, Offer, clip_all, numbers};
use super::rule::{Declared, Rule, Step};
use super::world::World;
use crate::data::Dataset;
use crate::error::NetError;
use crate::net::Workspace;
use crate::random::{Purpose, Random};
use crate::train::{descend, hits};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// What came of a cell: a predicate under an attack with a seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Test accuracy after every round, in [0, 1].
    pub accuracy: Vec<f64>,
    /// Of every round who counted, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<Option<Counted>>,
    /// Test accuracy of every class at the end, if it has tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Option<f64>>,
    /// Part of triggered test samples that have the backdoor's class at the end.
    pub backdoor: f64,
    /// In how many rounds the attack had begun and a malicious client took part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attacked: Option<usize>,
    /// How many honest updates left the declared range or length and were cut, or held what is no number.
    #[serde(default)]
    pub cut: usize,
    /// Other inputs that left their declared range and were cut, and in how many rounds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub squeezed: BTreeMap<String, usize>,
}

impl Curve {
    /// Whether it is known that no update ever counted.
    pub fn kept_nothing(&self) -> bool {
        let nobody = |c: &Option<Counted>| c.is_some_and(|c| c.honest + c.malicious == 0);
        !self.counted.is_empty() && self.counted.iter().all(nobody)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    pub honest: usize,
    pub malicious: usize,
    /// The part of all influence that the malicious have.
    pub share: f64,
}

impl Counted {
    /// A client counts if it moves the aggregate by more than this part of the largest move.
    const LEAST: f64 = 1e-6;

    pub(super) fn of(influence: &[f64], malicious: &[bool]) -> Counted {
        let most = influence.iter().copied().fold(0.0, f64::max);
        let mut counted = Counted::default();
        let (mut theirs, mut all) = (0.0, 0.0);
        for (moved, malicious) in influence.iter().zip(malicious) {
            all += moved;
            theirs += if *malicious { *moved } else { 0.0 };
            if *moved > Counted::LEAST * most {
                *(if *malicious { &mut counted.malicious } else { &mut counted.honest }) += 1;
            }
        }
        counted.share = if all > 0.0 { theirs / all } else { 0.0 };
        counted
    }
}

/// Why a federation ends early.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FederationError<E> {
    #[error(transparent)]
    Rule(E),
    /// An attack of a caller's own failed.
    #[error("{name}: {why}")]
    Attack { name: String, why: String },
    /// What the rule reveals is no vector of finite numbers as long as the model.
    #[error("round {round}: the aggregate is not a vector of {expected} finite numbers")]
    Aggregate { round: usize, expected: usize },
}

struct Done {
    change: Vec<f32>,
    cut: Cut,
    /// Whether the client in each place was malicious.
    malicious: Vec<bool>,
}

pub struct Cell<'a> {
    pub world: &'a World,
    /// The model, as inputs are filled.
    pub model: &'a ModelShape,
    pub attack: &'a Chosen,
    pub knows: Knows,
    /// Parameters and sizes of a predicate whose header names an attack, as far as they are numbers. None of any other.
    pub params: &'a BTreeMap<String, f64>,
}

impl Cell<'_> {
    /// All rounds; `seen` gets each round's number and accuracy.
    pub fn run<R: Rule<Error: Send + Sync> + Sync>(
        &self,
        rule: &mut R,
        mut seen: impl FnMut(usize, f64),
    ) -> Result<Curve, FederationError<R::Error>> {
        let (world, setting) = (self.world, &self.world.setting);
        let mut global = world.start().to_vec();
        let mut last = vec![0.0; global.len()];
        let mut curve = Curve::default();
        for round in 0..setting.rounds {
            let Done { change, cut, malicious } = self.round(rule, round, &global, &last)?;
            curve.counted.push(rule.influence().map(|moved| Counted::of(moved, &malicious)));
            let attacks = self.attack.name != Attack::NONE.name;
            if attacks {
                let present = self.begun(round) && malicious.contains(&true);
                *curve.attacked.get_or_insert(0) += usize::from(present);
            }
            curve.cut += cut.honest;
            cut.others.into_iter().for_each(|name| *curve.squeezed.entry(name).or_default() += 1);
            global.iter_mut().zip(&change).for_each(|(w, c)| *w += c);
            last = change;
            let accuracy = self.accuracy(&global, round);
            curve.accuracy.push(accuracy);
            seen(round, accuracy);
        }
        curve.classes = self.classes(&global);
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

    /// The accuracy of each class after the last round.
    fn classes(&self, global: &[f32]) -> Vec<Option<f64>> {
        let (net, mut space) = (&self.world.net, Workspace::default());
        let mut counts = vec![(0usize, 0usize); net.classes()];
        for test in self.world.tests(self.world.setting.rounds.saturating_sub(1)) {
            let said = net.predict(global, test.images(), &mut space);
            for (said, label) in said.iter().zip(test.labels()) {
                if let Some((right, all)) = counts.get_mut(usize::from(*label)) {
                    *right += usize::from(*said == usize::from(*label));
                    *all += 1;
                }
            }
        }
        let part = |(right, all): (usize, usize)| (all > 0).then(|| right as f64 / all as f64);
        counts.into_iter().map(part).collect()
    }

    fn round<R: Rule<Error: Send + Sync> + Sync>(
        &self,
        rule: &mut R,
        round: usize,
        global: &[f32],
        last: &[f32],
    ) -> Result<Done, FederationError<R::Error>> {
        rule.declare(self.world.setting.in_a_round(self.world.clients(round)))
            .map_err(FederationError::Rule)?;
        let declared = rule.declared();
        let offer = self.offer(&declared, round, global, last);
        let mut offer = offer.map_err(|e| self.attack_failed(e.to_string()))?;
        if self.attack.acts() && self.begun(round) && offer.malicious.contains(&true) {
            self.poison(rule, &mut offer)?;
        }
        clip_all(&mut offer.updates);
        let filled = self.fill(&declared, &offer);
        let cut = offer.cut(&declared, &filled);
        let reading = declared.reading.clone();
        let revealed = rule.reveal(&self.step(&offer, &filled)).map_err(FederationError::Rule)?;
        let expected = global.len();
        reading
            .change(&revealed, expected)
            .filter(|c| c.iter().all(|x| x.is_finite()))
            .map(|change| Done { change, cut, malicious: offer.malicious })
            .ok_or(FederationError::Aggregate { round, expected })
    }

    pub(super) fn attack_failed<E>(&self, why: String) -> FederationError<E> {
        FederationError::Attack { name: self.attack.name.clone(), why }
    }

    /// What everybody has once all who take part have trained: clients on their shares, the malicious on what the attack makes of
    /// them, and the server beside them on its own samples, if the check asks for its update. All data but those that an
    /// attack makes were checked when the world was made, so an error is of these.
    fn offer<'r>(
        &self,
        declared: &Declared<'_>,
        round: usize,
        global: &'r [f32],
        last: &'r [f32],
    ) -> Result<Offer<'r>, NetError> {
        let (world, present) = (self.world, self.world.present(round));
        let clients = present.len();
        let malicious: Vec<bool> = present.iter().map(|c| world.is_malicious(*c)).collect();
        let jobs = clients + usize::from(fill::wants_reference(declared.roles));
        let train = |place: usize| {
            let Some(&client) = present.get(place) else {
                return self.trained(global, &world.public, round, world.clients(round));
            };
            let share = world.data(client, round);
            match self.attack.attack.training.filter(|_| malicious[place] && self.begun(round)) {
                Some(poison) => {
                    let index = world.malicious.iter().position(|m| *m == client).unwrap_or(0);
                    let place = Place { classes: world.net.classes(), index };
                    self.trained(global, &poison(share, place), round, client)
                }
                None => self.trained(global, share, round, client),
            }
        };
        let updates = (0..jobs).into_par_iter().map(train);
        let mut updates = updates.collect::<Result<Vec<Vec<f32>>, NetError>>()?;
        // Where training diverged, there is no number.
        let mut lost: Vec<bool> = updates.iter_mut().map(|u| numbers(u)).collect();
        lost.truncate(clients);
        let reference = if jobs > clients { updates.pop() } else { None };
        let validation = present.iter().map(|client| world.validation(*client, round)).collect();
        Ok(Offer { round, global, last, reference, present, updates, validation, malicious, lost })
    }

    fn begun(&self, round: usize) -> bool {
        round >= self.attack.from
    }

    /// What a client's training on some samples changes.
    fn trained(
        &self,
        global: &[f32],
        data: &Dataset,
        round: usize,
        client: usize,
    ) -> Result<Vec<f32>, NetError> {
        let setting = &self.world.setting;
        let key = [round as u64, client as u64];
        let mut order = Random::new(setting.seed, Purpose::Order, key);
        let mut update = global.to_vec();
        descend(&self.world.net, &mut update, data, &setting.sgd, &mut order)?;
        update.iter_mut().zip(global).for_each(|(u, g)| *u -= g);
        Ok(update)
    }

    pub(super) fn fill(&self, declared: &Declared<'_>, offer: &Offer<'_>) -> Filled {
        let data = |client: &usize| self.world.data(*client, offer.round).len();
        let counts: Vec<usize> = offer.present.iter().map(data).collect();
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

    pub(super) fn step<'s>(&self, offer: &'s Offer<'_>, filled: &'s Filled) -> Step<'s> {
        Step {
            round: offer.round,
            filled,
            malicious: &offer.malicious,
            forged: self.attack.attack.forges_scores && self.begun(offer.round),
            samples: self.world.setting.validation,
        }
    }
}
