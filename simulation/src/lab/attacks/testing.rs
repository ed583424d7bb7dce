//! What tests of attacks look at.

use super::{Attack, Chosen};
use crate::data::Dataset;
use crate::idx;
use crate::lab::knowledge::Knowledge;
use crate::net::Net;
use crate::random::{Purpose, Random};
use crate::testing::digits_net;
use std::collections::BTreeMap;

/// A scene: updates around a common direction, of which the last ones are the malicious clients' own.
pub(in crate::lab) struct Scene {
    pub(super) net: Net,
    pub(super) global: Vec<f32>,
    pub(super) honest: Vec<Vec<f32>>,
    pub(super) own: Vec<Vec<f32>>,
    pub(super) data: Dataset,
    pub(super) reference: Option<Vec<f32>>,
    pub(super) params: BTreeMap<String, f64>,
    pub(super) bounded: Option<Vec<std::ops::Range<usize>>>,
    pub(super) labelled: bool,
}

impl Scene {
    pub(in crate::lab) fn new(malicious: usize, params: &[(&str, f64)]) -> Scene {
        let net = digits_net();
        let mut random = Random::new(5, Purpose::Caller, [0, 0]);
        let common: Vec<f32> = (0..net.weights()).map(|_| 0.02 * random.normal() as f32).collect();
        let mut around = |spread: f64| -> Vec<f32> {
            common.iter().map(|c| c + (spread * random.normal()) as f32).collect()
        };
        let honest = (0..10 - malicious).map(|_| around(0.02)).collect();
        let own = (0..malicious).map(|_| around(0.02)).collect();
        let reference = Some(around(0.01));
        let data = idx::digits().expect("digits").select(&(0..60).collect::<Vec<_>>());
        let params = params.iter().map(|(n, v)| (n.to_string(), *v)).collect();
        let global = net.init(1);
        Scene { net, global, honest, own, data, reference, params, bounded: None, labelled: true }
    }

    /// What the malicious send.
    pub(super) fn sent(&self, attack: &Attack) -> Vec<Vec<f32>> {
        self.with(|k| Chosen::of(attack).sent(k).expect("updates"))
    }

    /// What a malicious client that sends this update gives for validation.
    pub(super) fn validation(&self, attack: &Attack, update: &[f32], own: &Dataset) -> Dataset {
        self.with(|k| attack.validation.expect("it chooses its samples")(k, update, own))
    }

    pub(in crate::lab) fn with<T>(&self, f: impl FnOnce(&Knowledge<'_>) -> T) -> T {
        let data: Vec<&Dataset> = self.own.iter().map(|_| &self.data).collect();
        let seen: Vec<&[f32]> = self.own.iter().map(Vec::as_slice).collect();
        let honest: Vec<&[f32]> = self.honest.iter().map(Vec::as_slice).collect();
        f(&Knowledge {
            net: &self.net,
            round: 0,
            seed: 1,
            global: &self.global,
            own: &self.own,
            seen: &seen,
            data: &data,
            clients: self.honest.len() + self.own.len(),
            reference: self.reference.as_deref(),
            params: &self.params,
            values: &[],
            honest: &honest,
            range: (-8.0, 8.0),
            bounded: self.bounded.as_deref(),
            ask: None,
            labelled: self.labelled,
        })
    }

    pub(super) fn direction(&self) -> Vec<f32> {
        self.with(|k| k.direction())
    }
}
