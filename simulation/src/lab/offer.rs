//! What there is to give in a round, and what of it had to be changed.

use super::fill::{Filled, Role};
use super::rule::Declared;
use crate::data::Dataset;
use std::collections::BTreeSet;

/// What there is to give in a round.
#[derive(Clone)]
pub(super) struct Offer<'r> {
    pub(super) round: usize,
    pub(super) global: &'r [f32],
    pub(super) last: &'r [f32],
    pub(super) reference: Option<Vec<f32>>,
    /// Which client is in each place.
    pub(super) present: Vec<usize>,
    pub(super) updates: Vec<Vec<f32>>,
    pub(super) validation: Vec<Dataset>,
    /// Whether the client in each place is malicious.
    pub(super) malicious: Vec<bool>,
    /// Whether its training diverged.
    pub(super) lost: Vec<bool>,
}

impl Offer<'_> {
    pub(super) fn honest(&self) -> impl Iterator<Item = &[f32]> {
        let pairs = self.updates.iter().zip(&self.malicious);
        pairs.filter(|(_, m)| !**m).map(|(u, _)| u.as_slice())
    }

    /// With what clients in some places have in the place of all others: what these clients can guess of them.
    pub(super) fn as_seen_by(&self, places: &[usize]) -> Self {
        let mut seen = self.clone();
        let others = (0..self.present.len()).filter(|place| !places.contains(place));
        for (other, own) in others.zip(places.iter().cycle()) {
            seen.updates[other] = self.updates[*own].clone();
            seen.validation[other] = self.validation[*own].clone();
        }
        seen
    }

    pub(super) fn cut(&self, declared: &Declared<'_>, filled: &Filled) -> Cut {
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
pub(super) struct Cut {
    pub(super) honest: usize,
    pub(super) others: BTreeSet<String>,
}

/// The largest coordinate of an update: so that sums of squares stay numbers.
const LARGEST: f32 = 1e6;

/// Puts 0 for what is no number, and keeps the others in bounds; whether there was such a coordinate.
pub(super) fn numbers(update: &mut [f32]) -> bool {
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

/// All coordinates of all updates into bounds.
pub(super) fn clip_all(updates: &mut [Vec<f32>]) {
    updates.iter_mut().for_each(|update| clip(update, LARGEST));
}
