//! The jobs that the bench measures, each an embedded program.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// The norm bound of all m clients.
    Norm,
    /// One client's accuracy score, both models secret: as the peers compute it.
    AccuracySecret,
    /// One client's accuracy score, the global model public: as a round of ours computes it.
    Accuracy,
    /// One client's confidence score.
    Confidence,
    /// The best of m scores.
    TopK,
    /// A whole round of all clients with the accuracy score.
    RoundAccuracy,
    /// A whole round of all clients with the confidence score.
    RoundConfidence,
    /// [`Job::RoundAccuracy`] against one malicious party.
    RoundAccuracyMalicious,
}

impl Job {
    /// The jobs that a model is part of.
    pub const WITH_MODEL: [Job; 6] = [
        Job::Norm,
        Job::AccuracySecret,
        Job::Accuracy,
        Job::Confidence,
        Job::RoundAccuracy,
        Job::RoundConfidence,
    ];

    /// Its name in rows and filters, the embedded program, and the sizes that this has.
    fn facts(self) -> (&'static str, &'static str, &'static [&'static str]) {
        const CLIENT: &[&str] = &["M", "c", "b"];
        const ROUND: &[&str] = &["M", "m", "c", "b"];
        match self {
            Job::Norm => ("norm", "bench/norm.slvr", &["M", "m"]),
            Job::AccuracySecret => {
                ("client-accuracy-both-secret", "bench/accuracy_secret.slvr", CLIENT)
            }
            Job::Accuracy => ("client-accuracy", "bench/accuracy.slvr", CLIENT),
            Job::Confidence => ("client-confidence", "bench/confidence.slvr", CLIENT),
            Job::TopK => ("top-k", "bench/top_k.slvr", &["m", "c"]),
            Job::RoundAccuracy => ("round-accuracy", "slvr_accuracy.slvr", ROUND),
            Job::RoundConfidence => ("round-confidence", "slvr_confidence.slvr", ROUND),
            Job::RoundAccuracyMalicious => {
                ("round-accuracy-malicious", "slvr_accuracy.slvr", ROUND)
            }
        }
    }

    pub fn name(self) -> &'static str {
        self.facts().0
    }

    pub fn file(self) -> &'static str {
        self.facts().1
    }

    pub fn sizes(self) -> &'static [&'static str] {
        self.facts().2
    }
}
