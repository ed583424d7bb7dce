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

    /// How many clients there are once all have joined.
    fn everybody(&self) -> usize {
        let last = self.rounds.saturating_sub(1);
        self.clients + self.shift.map_or(0, |s| s.joined(self.clients, last))
    }

    fn check(&self) -> Result<(), WorldError> {
        let require = |good, why| if good { Ok(()) } else { Err(WorldError::Setting(why)) };
        require(self.clients > 0, "there must be clients")?;
        require(self.malicious < self.clients, "at least one client must be honest")?;
        require(
            self.part > 0.0 && self.part <= 1.0,
            "the part of the clients is above 0, and at most 1",
        )?;
        require(
            self.malicious < self.in_a_round(self.clients),
            "at least one client of a round must be honest: fewer of them may be malicious, or more take part",
        )?;
        require(self.alpha > 0.0 && self.alpha.is_finite(), "alpha must be above 0")?;
        require(self.validation > 0, "a client gives at least one validation sample")?;
        require(self.public > 0, "the public set has at least one sample")
    }

    /// Which of these samples each client has.
    fn parts(
        &self,
        train: &Dataset,
        of: &[usize],
        each: usize,
        random: &mut Random,
    ) -> Result<Vec<Vec<usize>>, PartitionError> {
        let sizes = (self.everybody(), each);
        partition(self.partition, train.labels(), of, sizes, self.alpha, random)
    }

    /// Samples on which accuracy is measured.
    fn tests(&self, test: &Dataset, random: &mut Random) -> Dataset {
        let mut order = shuffled(test, random);
        order.truncate(self.test.max(1));
        test.select(&order)
    }

    /// Each client's share of what data shift to, of at most so many samples, and its tests.
    fn others(
        &self,
        other: &Split,
        each: usize,
    ) -> Result<(Vec<Dataset>, Option<Dataset>), WorldError> {
        let mut random = Random::new(self.seed, Purpose::Shift, [0, 1]);
        let each = each.min(other.train.len() / self.everybody());
        if each < LEAST {
            return Err(WorldError::FewOthers { found: each, least: LEAST });
        }
        let order = shuffled(&other.train, &mut random);
        let parts = self.parts(&other.train, &order, each, &mut random)?;
        Ok((held(&other.train, &parts), Some(self.tests(&other.test, &mut random))))
    }
}

/// The numbers of all samples, in random order.
fn shuffled(data: &Dataset, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..data.len()).collect();
    random.shuffle(&mut order);
    order
}

fn held(data: &Dataset, parts: &[Vec<usize>]) -> Vec<Dataset> {
    parts.iter().map(|part| data.select(part)).collect()
}

/// Which of so many samples nobody has.
fn of_nobody<'a>(
    all: usize,
    held: impl Iterator<Item = &'a usize>,
) -> Result<Vec<usize>, WorldError> {
    let mut left = vec![true; all];
    held.for_each(|i| left[*i] = false);
    let left: Vec<usize> = (0..all).filter(|i| left[*i]).collect();
    if left.is_empty() { Err(WorldError::NothingLeft) } else { Ok(left) }
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
    /// The same of what data shift to.
    #[error(
        "{found} samples for each of the clients of the data that theirs shift to, at least {least} are needed: take fewer clients, \
         or more data to shift to"
    )]
    FewOthers { found: usize, least: usize },
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
        setting.check()?;
        // All that ever take part, so that who joins has data of its own.
        let everybody = setting.everybody();
        let mut random = Random::new(setting.seed, Purpose::Split, [0, 0]);
        let order = shuffled(&data.train, &mut random);
        let (public, rest) = order.split_at(setting.public.min(order.len()));
        let each = setting.samples.min(rest.len() / everybody);
        if each < LEAST {
            return Err(WorldError::Few { found: each, least: LEAST });
        }
        let parts = setting.parts(&data.train, rest, each, &mut random)?;
        let shares = held(&data.train, &parts);
        let test = setting.tests(&data.test, &mut random);
        let (shifted, shifted_test) = match (setting.shift, other) {
            (None, _) => (Vec::new(), None),
            (Some(_), None) => {
                let moved = |(at, data)| shift::shifted(data, setting.seed, at as u64);
                let shares = shares.iter().enumerate().map(moved).collect();
                (shares, Some(moved((everybody, &test))))
            }
            (Some(_), Some(other)) => setting.others(other, each)?,
        };
        let left = match setting.pretrain {
            0 => Vec::new(),
            _ => of_nobody(data.train.len(), parts.iter().flatten().chain(public))?,
        };
        let mut random = Random::new(setting.seed, Purpose::Poisoners, [0, 0]);
        let mut malicious = random.choose(setting.malicious, setting.clients);
        malicious.sort_unstable();
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
                descend(&self.net, &mut start, &self.left, &sgd, &mut order)
                    .expect("data that were checked when the world was made");
            }
            start
        })
    }

    /// How many clients take part in a round.
    pub fn clients(&self, round: usize) -> usize {
        let Setting { clients, shift, .. } = self.setting;
        clients + shift.map_or(0, |s| s.joined(clients, round))
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
        let Setting { clients, shift, .. } = self.setting;
        match shift.is_some_and(|s| s.has_shifted(clients, client, round)) {
            true => &self.shifted[client],
            false => &self.shares[client],
        }
    }

    /// What accuracy is measured on after a round: with shifted data as soon as a client has some.
    pub fn tests(&self, round: usize) -> Vec<&Dataset> {
        let begun = self.setting.shift.is_some_and(|s| s.phase(round) > 0);
        let shifted = self.shifted_test.iter().filter(|_| begun);
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
