//! What others measured for the same jobs, elsewhere: for orientation beside figures of this machine.
//!
//! - *paper*: the table "MPC benchmarks" of the paper. MP-SPDZ, `replicated-ring-party.x`, 128-bit ring,
//!   four threads of an Apple M4 Pro; data as printed there (per party, as its size suggests). The pooling of
//!   its LeNet-5 is not said; its figures stand at both.
//! - *MP-SPDZ*: the strongest program found for MP-SPDZ (snapshot 3a0a7b1d), `replicated-ring-party.x`,
//!   semi-honest, 64-bit ring, all pairs and both models batched, both models secret, max-pooling before
//!   ReLU; three processes with TLS on two cores of an AMD Zen 5 with AVX-512, networks shaped between
//!   them. Megabytes are sent by the party 0, and by all. Ranges of inputs are not checked there, input
//!   sharing is not included, and the norm of ResNet-18 is of one array that all clients share. Accuracy for
//!   m = 20 is its batched 64-bit program.

use super::job::Job;
use super::rows::MAX_POOLING;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub origin: Origin,
    job: Job,
    model: Option<&'static str>,
    m: u64,
    /// Seconds on loopback, LAN and WAN, where they were measured.
    pub seconds: [Option<f64>; 3],
    /// Megabytes sent by one party, and by all.
    pub megabytes: [Option<f64>; 2],
    pub rounds: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The paper's table.
    Paper,
    /// The strongest MP-SPDZ program.
    MpSpdz,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Origin::Paper => "paper",
            Origin::MpSpdz => "MP-SPDZ",
        }
    }
}

impl Figure {
    /// Seconds on a network by name.
    pub fn seconds_on(&self, net: &str) -> Option<f64> {
        let [loopback, lan, wan] = self.seconds;
        match net {
            "loopback" => loopback,
            "lan" => lan,
            "wan" => wan,
            _ => None,
        }
    }
}

const fn paper(
    job: Job,
    model: Option<&'static str>,
    m: u64,
    lan: f64,
    wan: f64,
    data: f64,
) -> Figure {
    Figure {
        origin: Origin::Paper,
        job,
        model,
        m,
        seconds: [None, Some(lan), Some(wan)],
        megabytes: [Some(data), None],
        rounds: None,
    }
}

const fn spdz(
    job: Job,
    model: Option<&'static str>,
    m: u64,
    seconds: [f64; 3],
    megabytes: [f64; 2],
    rounds: u64,
) -> Figure {
    let [loopback, lan, wan] = seconds;
    let [one, all] = megabytes;
    Figure {
        origin: Origin::MpSpdz,
        job,
        model,
        m,
        seconds: [Some(loopback), Some(lan), Some(wan)],
        megabytes: [Some(one), Some(all)],
        rounds: Some(rounds),
    }
}

const AVERAGE: Option<&str> = Some("LeNet5");
const MAX: Option<&str> = Some(MAX_POOLING);
const RESNET: Option<&str> = Some("ResNet18");

const FIGURES: &[Figure] = &[
    paper(Job::Norm, AVERAGE, 10, 1.22, 6.73, 26.40),
    paper(Job::Norm, AVERAGE, 20, 1.78, 8.92, 84.10),
    paper(Job::Norm, RESNET, 10, 207.26, 418.55, 4791.75),
    paper(Job::Norm, RESNET, 20, 370.49, 818.43, 9583.53),
    paper(Job::AccuracySecret, AVERAGE, 10, 13.14, 109.62, 42.32),
    paper(Job::AccuracySecret, AVERAGE, 20, 20.20, 174.90, 70.08),
    paper(Job::AccuracySecret, MAX, 10, 13.14, 109.62, 42.32),
    paper(Job::AccuracySecret, MAX, 20, 20.20, 174.90, 70.08),
    paper(Job::AccuracySecret, RESNET, 10, 261.78, 2084.90, 2010.03),
    paper(Job::AccuracySecret, RESNET, 20, 429.15, 3471.01, 2150.21),
    paper(Job::Confidence, AVERAGE, 10, 7.10, 60.67, 21.51),
    paper(Job::Confidence, AVERAGE, 20, 10.89, 93.39, 35.40),
    paper(Job::Confidence, MAX, 10, 7.10, 60.67, 21.51),
    paper(Job::Confidence, MAX, 20, 10.89, 93.39, 35.40),
    paper(Job::Confidence, RESNET, 10, 131.30, 1056.52, 1098.59),
    paper(Job::Confidence, RESNET, 20, 217.45, 1746.22, 1137.50),
    paper(Job::TopK, None, 10, 2.64, 23.46, 0.25),
    paper(Job::TopK, None, 20, 2.65, 23.53, 0.73),
    spdz(Job::Norm, AVERAGE, 10, [0.043, 0.16, 1.86], [0.017, 0.054], 219),
    spdz(Job::Norm, RESNET, 10, [2.7, 5.1, 6.9], [0.018, 0.057], 230),
    spdz(Job::AccuracySecret, MAX, 10, [0.27, 0.54, 3.20], [18.1, 57.6], 169),
    spdz(Job::AccuracySecret, MAX, 20, [0.475, 1.04, 6.07], [44.6, 139.0], 246),
    spdz(Job::AccuracySecret, RESNET, 10, [45.0, 67.1, 167.9], [1578.0, 5000.0], 1173),
    spdz(Job::Confidence, MAX, 10, [0.19, 0.42, 3.61], [13.5, 42.1], 260),
    spdz(Job::TopK, None, 10, [0.002, 0.009, 0.135], [0.0013, 0.004], 16),
];

pub fn of(job: Job, model: Option<&str>, m: u64) -> impl Iterator<Item = &'static Figure> {
    FIGURES.iter().filter(move |f| f.job == job && f.model == model && f.m == m)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_figure_of_each_origin() {
        for f in FIGURES {
            let same = of(f.job, f.model, f.m).filter(|g| g.origin == f.origin);
            assert_eq!(same.count(), 1, "{f:?}");
        }
        let best = of(Job::AccuracySecret, MAX, 10).find(|f| f.origin == Origin::MpSpdz);
        assert_eq!(best.and_then(|f| f.seconds_on("lan")), Some(0.54));
        assert_eq!(best.and_then(|f| f.seconds_on("moon")), None);
    }
}
