//! Who has which data, and who is malicious.

use super::shift::{self, Shift};
use crate::data::Dataset;
use crate::error::NetError;
use crate::net::Net;
use crate::partition::{LEAST, Partition, PartitionError, partition};
use crate::random::{Purpose, Random};
use crate::train::{Sgd, descend};
use std::sync::OnceLock;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// m, the number of clients at the start.
    pub clients: usize,
    /// The part of the clients that takes part in a round; who follows from the seed.
    pub part: f64,
    /// How many of them are malicious; which ones follows from the seed.
    pub malicious: usize,
    /// Concentration of the Dirichlet distribution of a client's labels.
    pub alpha: f64,
    pub partition: Partition,
    /// Samples of a client, at most; where shares are unequal, on average.
    pub samples: usize,
    /// b, validation samples of a client in a round.
    pub validation: usize,
    /// Samples of the server's public validation set.
    pub public: usize,
    /// Test samples, at most.
    pub test: usize,
    /// Passes over the samples of nobody, in which the global model is trained before the first round.
    pub pretrain: usize,
    pub rounds: usize,
    /// Local training of a client in a round.
    pub sgd: Sgd,
    /// Whether and how the data of clients shift.
    pub shift: Option<Shift>,
    /// Everything random follows from it.
    pub seed: u64,
}

impl Setting {
    /// Of so many clients the number that takes part in a round.
    pub fn in_a_round(&self, clients: usize) -> usize {
        ((clients as f64 * self.part).round() as usize).max(1).min(clients)
    }
}

/// A data set in two parts.
#[derive(Clone, Debug)]
pub struct Split {
    /// What clients and the server have.
    pub train: Dataset,
    /// What accuracy is measured on.
    pub test: Dataset,
}

/// Where samples come from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub data: &'a Split,
    /// What data shift to; without it they are changed.
    pub other: Option<&'a Split>,
}

impl<'a> From<&'a Split> for Source<'a> {
    fn from(data: &'a Split) -> Self {
        Source { data, other: None }
    }
}

/// Why there is nothing to simulate.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum WorldError {
    /// The model, or the data for it.
    #[error(transparent)]
    Net(#[from] NetError),
    /// What is to be shared out.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// A number of the setting out of its range.
    #[error("{0}")]
    Setting(&'static str),
    /// Too little data.
    #[error(
        "{found} samples for each of the clients, at least {least} are needed: take fewer clients, fewer samples for the public \
         set, or more for each client"
    )]
    Few { found: usize, least: usize },
    /// Nothing to pretrain with.
    #[error(
        "the clients and the server have all samples, and none are left to pretrain with: take fewer clients, or fewer samples for \
         each"
    )]
    NothingLeft,
}

/// A set-up: the model, each client's share, the public set, the test sets, who is malicious.
#[derive(Clone, Debug)]
pub struct World {
    pub net: Net,
    pub setting: Setting,
    start: OnceLock<Vec<f32>>,
    /// Each client's share; those that join later come last.
    shares: Vec<Dataset>,
    /// The same of clients whose data have shifted.
    shifted: Vec<Dataset>,
    /// The server's own samples.
    pub public: Dataset,
    /// Those that neither a client nor the server has, if they are asked for.
    left: Dataset,
    test: Dataset,
    shifted_test: Option<Dataset>,
    /// Who is malicious, ascending.
    pub malicious: Vec<usize>,
}

impl World {
    /// Splits the data and chooses the malicious.
    pub fn new<'a>(
        net: Net,
        source: impl Into<Source<'a>>,
        setting: Setting,
    ) -> Result<World, WorldError> {
        let Source { data, other } = source.into();
        for part in [Some(data), other].into_iter().flatten().flat_map(|s| [&s.train, &s.test]) {
            net.check(part)?;
        }
        let require = |good, why| if good { Ok(()) } else { Err(WorldError::Setting(why)) };
        require(setting.clients > 0, "there must be clients")?;
        require(setting.malicious < setting.clients, "at least one client must be honest")?;
        require(
            setting.part > 0.0 && setting.part <= 1.0,
            "the part of the clients is above 0, and at most 1",
        )?;
        require(
            setting.malicious < setting.in_a_round(setting.clients),
            "at least one client of a round must be honest: fewer of them may be malicious, or more take part",
        )?;
        require(setting.alpha > 0.0 && setting.alpha.is_finite(), "alpha must be above 0")?;
        require(setting.validation > 0, "a client gives at least one validation sample")?;
        require(setting.public > 0, "the public set has at least one sample")?;
        let seed = setting.seed;
        let mut random = Random::new(seed, Purpose::Split, [0, 0]);
        let mut order: Vec<usize> = (0..data.train.len()).collect();
        random.shuffle(&mut order);
        let (public, rest) = order.split_at(setting.public.min(order.len()));
        // All that ever take part, so that who joins has data of its own.
        let everybody =
            setting.clients + Shift::joining(setting.shift, setting.clients, setting.rounds);
        let each = setting.samples.min(rest.len() / everybody);
        if each < LEAST {
            return Err(WorldError::Few { found: each, least: LEAST });
        }
        let parts = |train: &Dataset, of: &[usize], each: usize, random: &mut Random| {
            let (how, sizes) = (setting.partition, (everybody, each));
            partition(how, train.labels(), of, sizes, setting.alpha, random)
        };
        let held = |train: &Dataset, parts: &[Vec<usize>]| {
            parts.iter().map(|part| train.select(part)).collect::<Vec<Dataset>>()
        };
        let tests = |test: &Dataset, random: &mut Random| {
            let mut order: Vec<usize> = (0..test.len()).collect();
            random.shuffle(&mut order);
            order.truncate(setting.test.max(1));
            test.select(&order)
        };
        let taken = parts(&data.train, rest, each, &mut random)?;
        let shares = held(&data.train, &taken);
        let test = tests(&data.test, &mut random);
        let moved = |data: &Dataset, index: usize| shift::shifted(data, seed, index as u64);
        let (shifted, shifted_test) = match (setting.shift, other) {
            (None, _) => (Vec::new(), None),
            (Some(_), None) => (
                shares.iter().enumerate().map(|(i, share)| moved(share, i)).collect(),
                Some(moved(&test, everybody)),
            ),
            (Some(_), Some(other)) => {
                let mut random = Random::new(seed, Purpose::Shift, [0, 1]);
                let each = each.min(other.train.len() / everybody);
                if each < LEAST {
                    return Err(WorldError::Few { found: each, least: LEAST });
                }
                let mut order: Vec<usize> = (0..other.train.len()).collect();
                random.shuffle(&mut order);
                let parts = parts(&other.train, &order, each, &mut random)?;
                (held(&other.train, &parts), Some(tests(&other.test, &mut random)))
            }
        };
        let mut random = Random::new(seed, Purpose::Poisoners, [0, 0]);
        let mut malicious = random.choose(setting.malicious, setting.clients);
        malicious.sort_unstable();
        let mut left = Vec::new();
        if setting.pretrain > 0 {
            let mut of_nobody = vec![true; data.train.len()];
            taken.iter().flatten().chain(public).for_each(|i| of_nobody[*i] = false);
            left.extend((0..of_nobody.len()).filter(|i| of_nobody[*i]));
            if left.is_empty() {
                return Err(WorldError::NothingLeft);
            }
        }
        let (public, left) = (data.train.select(public), data.train.select(&left));
        let start = OnceLock::new();
        Ok(World {
            net,
            setting,
            start,
            shares,
            shifted,
            public,
            left,
            test,
            shifted_test,
            malicious,
        })
    }

    /// The global model before the first round; trained when it is first asked for.
    pub fn start(&self) -> &[f32] {
        let Setting { seed, pretrain, sgd, .. } = self.setting;
        self.start.get_or_init(|| {
            let mut start = self.net.init(seed);
            if pretrain > 0 {
                let sgd = Sgd { epochs: pretrain, ..sgd };
                let mut order = Random::new(seed, Purpose::Pretrain, [0, 0]);
                // All data were checked when the world was made.
                let loss = descend(&self.net, &mut start, &self.left, &sgd, &mut order);
                debug_assert!(loss.is_ok(), "{loss:?}");
            }
            start
        })
    }

    /// How many clients take part in a round.
    pub fn clients(&self, round: usize) -> usize {
        let Setting { clients, shift, .. } = self.setting;
        clients + Shift::joined(shift, clients, round)
    }

    /// Who takes part in a round, ascending.
    pub fn present(&self, round: usize) -> Vec<usize> {
        let all = self.clients(round);
        let mut random = Random::new(self.setting.seed, Purpose::Present, [round as u64, 0]);
        let mut chosen = random.choose(self.setting.in_a_round(all), all);
        chosen.sort_unstable();
        chosen
    }

    /// What a client trains on in a round.
    pub fn data(&self, client: usize, round: usize) -> &Dataset {
        match Shift::has_shifted(self.setting.shift, self.setting.clients, client, round) {
            true => &self.shifted[client],
            false => &self.shares[client],
        }
    }

    /// What accuracy is measured on after a round: with shifted data as soon as a client has some.
    pub fn tests(&self, round: usize) -> Vec<&Dataset> {
        let shifted =
            self.shifted_test.iter().filter(|_| Shift::phase(self.setting.shift, round) > 0);
        [&self.test].into_iter().chain(shifted).collect()
    }

    /// A client's validation samples in a round: drawn anew each round without repetition (with, where it has too few).
    pub fn validation(&self, client: usize, round: usize) -> Dataset {
        let key = [round as u64, client as u64];
        let mut random = Random::new(self.setting.seed, Purpose::Validation, key);
        let data = self.data(client, round);
        let mut chosen = random.choose(self.setting.validation, data.len());
        while chosen.len() < self.setting.validation {
            chosen.push(random.below(data.len()));
        }
        data.select(&chosen)
    }

    pub fn is_malicious(&self, client: usize) -> bool {
        self.malicious.binary_search(&client).is_ok()
    }
}
