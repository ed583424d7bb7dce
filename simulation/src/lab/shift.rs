//! Data that shift: the paper's two scenarios, and the data that clients shift to.
//!
//! The paper moves clients from MNIST to SVHN, photographs of house numbers, in grey and of MNIST's size: the labels stay,
//! the images change. SVHN is not among the data of the lab, so a set is made of the samples themselves that differs in
//! the same ways: the polarity and the contrast of an image are drawn, its background is a slope of grey instead of black,
//! and there is noise. Half of the images are dark on light, as in SVHN. A model that was trained on MNIST alone
//! labels few of them correctly, and one model can learn both.

use crate::data::Dataset;
use crate::random::{Purpose, Random};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    pub scenario: Scenario,
    /// Rounds between two shifts; the first part is without.
    pub every: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Scenario 1: a fifth of the clients have shifted data from then on.
    Evolving,
    /// Scenario 2: as many new clients as a fifth of the first ones join, with shifted data.
    Joining,
}

impl Shift {
    /// How many shifts there have been by a round.
    pub fn phase(self, round: usize) -> usize {
        round / self.every.max(1)
    }

    /// Of clients that come or change with every shift, how many there have been by a round.
    fn fifths(self, clients: usize, round: usize) -> usize {
        self.phase(round) * (clients / 5).max(1)
    }

    /// Clients that have joined by a round.
    pub fn joined(self, clients: usize, round: usize) -> usize {
        match self.scenario {
            Scenario::Joining => self.fifths(clients, round),
            Scenario::Evolving => 0,
        }
    }

    /// Whether a client's data have shifted. Clients are in random order already.
    pub fn has_shifted(self, clients: usize, client: usize, round: usize) -> bool {
        match self.scenario {
            Scenario::Joining => client >= clients,
            Scenario::Evolving => client < self.fifths(clients, round),
        }
    }
}

/// The shifted samples, see the module.
pub fn shifted(data: &Dataset, seed: u64, index: u64) -> Dataset {
    let mut random = Random::new(seed, Purpose::Shift, [index, 0]);
    let width = data.shape().last().copied().unwrap_or(1).max(1);
    let mut images = Vec::with_capacity(data.images().len());
    for i in 0..data.len() {
        let contrast = 0.3 + 0.4 * random.uniform();
        let (level, slope) = (random.uniform(), (random.uniform() - 0.5) * 0.4);
        // Towards the end that has room for it.
        let dark = level > 0.5;
        for (at, &x) in data.image(i).iter().enumerate() {
            let across = (at % width) as f64 / width as f64 - 0.5;
            let ground = 0.2 + 0.6 * level + slope * across;
            let ink = if dark { -contrast } else { contrast } * f64::from(x);
            let noise = 0.05 * random.normal();
            images.push((ground + ink + noise).clamp(0.0, 1.0) as f32);
        }
    }
    Dataset::new(data.shape().to_vec(), images, data.labels().to_vec())
        .unwrap_or_else(|_| data.clone())
}
