//! The jobs that the bench measures, each an embedded program.

/// What is computed.
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

    /// Its name in rows and filters.
    pub fn name(self) -> &'static str {
        match self {
            Job::Norm => "norm",
            Job::AccuracySecret => "client-accuracy-both-secret",
            Job::Accuracy => "client-accuracy",
            Job::Confidence => "client-confidence",
            Job::TopK => "top-k",
            Job::RoundAccuracy => "round-accuracy",
            Job::RoundConfidence => "round-confidence",
            Job::RoundAccuracyMalicious => "round-accuracy-malicious",
        }
    }

    /// The embedded program.
    pub fn file(self) -> &'static str {
        match self {
            Job::Norm => "bench/norm.slvr",
            Job::AccuracySecret => "bench/accuracy_secret.slvr",
            Job::Accuracy => "bench/accuracy.slvr",
            Job::Confidence => "bench/confidence.slvr",
            Job::TopK => "bench/top_k.slvr",
            Job::RoundAccuracy | Job::RoundAccuracyMalicious => "slvr_accuracy.slvr",
            Job::RoundConfidence => "slvr_confidence.slvr",
        }
    }
}
