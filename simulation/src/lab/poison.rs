//! What the malicious do in a round: what they know, and what they give instead.

use super::attacks::{Insight, Validation};
use super::federation::{Cell, FederationError};
use super::fill::{self, Role};
use super::knowledge::{Knowledge, Knows};
use super::offer::Offer;
use super::rule::{Declared, Rule};
use crate::data::Dataset;
use crate::loss::surprise;
use crate::net::{Net, Workspace};
use std::sync::OnceLock;

impl Cell<'_> {
    pub(super) fn poison<R: Rule<Error: Send + Sync> + Sync>(
        &self,
        rule: &R,
        offer: &mut Offer<'_>,
    ) -> Result<(), FederationError<R::Error>> {
        let (world, round, global) = (self.world, offer.round, offer.global);
        let declared = rule.declared();
        let Declared { graph, roles, reading } = declared;
        let places: Vec<usize> =
            (0..offer.present.len()).filter(|place| offer.malicious[*place]).collect();
        let of_client = |place: &usize| world.data(offer.present[*place], round);
        let data: Vec<&Dataset> = places.iter().map(of_client).collect();
        let own: Vec<Vec<f32>> = places.iter().map(|&i| offer.updates[i].clone()).collect();
        // What the malicious take for what all give.
        let told = match self.knows {
            Knows::Partial => offer.as_seen_by(&places),
            Knows::Described | Knows::Full => offer.clone(),
        };
        let honest: Vec<&[f32]> = told.honest().collect();
        let seen: Vec<&[f32]> = match self.knows {
            Knows::Full => told.updates.iter().map(Vec::as_slice).collect(),
            Knows::Described | Knows::Partial => own.iter().map(Vec::as_slice).collect(),
        };
        let asks = self.attack.attack.insight == Insight::Answers;
        let before = asks.then(|| self.fill(&declared, &told));
        let answers = before.as_ref().map(|filled| rule.ask(&self.step(&told, filled)));
        let answers = answers.transpose().map_err(FederationError::Rule)?;
        // The first question that the rule cannot answer ends the search: it is no update that does no harm.
        let failed = OnceLock::new();
        let ask = |update: &[f32]| {
            let before = &before.as_ref()?.flat;
            let flat = fill::with_update(graph, roles, before, (&places, update));
            let answer = answers.as_ref().filter(|_| failed.get().is_none())?(&flat);
            let revealed = answer.map_err(|e| failed.set(e)).ok()?;
            let change = reading.change(&revealed, global.len())?;
            let next: Vec<f32> = global.iter().zip(&change).map(|(w, c)| w + c).collect();
            Some(loss(&world.net, &next, &data)).filter(|loss| loss.is_finite())
        };
        let bounded = roles.contains(&Role::TensorBounds);
        let knowledge = Knowledge {
            net: &world.net,
            round,
            seed: world.setting.seed,
            global,
            own: &own,
            seen: &seen,
            data: &data,
            clients: offer.updates.len(),
            reference: offer.reference.as_deref(),
            params: self.params,
            values: &[],
            honest: &honest,
            range: fill::update_range(graph, roles),
            bounded: bounded.then_some(&self.model.tensors[..]),
            ask: if asks { Some(&ask) } else { None },
            labelled: roles.contains(&Role::Labels),
        };
        let sent = self.attack.sent(&knowledge).map_err(|why| self.attack_failed(why))?;
        let give = |validate: Validation| {
            let pairs = places.iter().zip(&sent);
            pairs.map(|(&i, sent)| validate(&knowledge, sent, &offer.validation[i])).collect()
        };
        let samples: Vec<Dataset> = self.attack.attack.validation.map(give).unwrap_or_default();
        if let Some(e) = failed.into_inner() {
            return Err(FederationError::Rule(e));
        }
        for (&i, sent) in places.iter().zip(sent) {
            offer.updates[i] = sent;
        }
        for (&i, samples) in places.iter().zip(samples) {
            offer.validation[i] = samples;
        }
        Ok(())
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
