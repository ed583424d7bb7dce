//! The rows of the table: which predicate, at which sizes, compiled how.

use super::job::Job;
use super::peers::{self, Figure};
use slvr::program::{self, Sizes};
use slvr::{Build, Error};
use slvr_circuit::{Circuit, Security};
use slvr_compiler::cost::NetProfile;
use slvr_compiler::diagnostic::Diagnostic;
use slvr_compiler::syntax::embedded;

/// Samples on which a committee member evaluates a model (the paper: "validation dataset size of 10").
pub const SAMPLES: u64 = 10;

#[derive(Clone, Copy)]
pub struct How {
    pub security: Security,
    /// Most bytes of values of one party: larger rows are built in blocks.
    pub memory: Option<u64>,
    /// Whether checks of inputs are computed ahead of. Workers have nothing to do before they are settled.
    pub speculate: bool,
}

impl How {
    /// Without blocks.
    pub fn new(security: Security) -> How {
        How { security, memory: None, speculate: true }
    }
}

/// A row, for any network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub job: Job,
    /// Of which model, as `M=` takes it; `None` where there is none.
    pub model: Option<String>,
    pub m: u64,
}

/// LeNet-5 with max pooling, and its file: it comes with the bench.
pub const MAX_POOLING: &str = "LeNet5Max";
const FILE: &str = "bench/lenet5_max.slvr";

/// What `M` is bound to: a row names the model with max pooling without its file.
fn bound(model: &str) -> String {
    if model == MAX_POOLING { format!("{FILE}:{MAX_POOLING}") } else { model.to_string() }
}

impl Row {
    /// All rows for these models and numbers of clients: per model, then top-k. Where the others are for parties that follow
    /// the protocol, one more is not: LeNet-5's whole round of fewest clients.
    pub fn all(models: &[String], clients: &[u64], security: Security) -> Vec<Row> {
        let mut rows = Vec::new();
        for model in models {
            for job in Job::WITH_MODEL {
                // Pooling has no weights: its norm row is that of the same model without it.
                if job == Job::Norm && model == MAX_POOLING && models.iter().any(|m| m == "LeNet5")
                {
                    continue;
                }
                rows.extend(clients.iter().map(|&m| Row { job, model: Some(model.clone()), m }));
            }
        }
        rows.extend(clients.iter().map(|&m| Row { job: Job::TopK, model: None, m }));
        if !security.is_malicious() && models.iter().any(|m| m == "LeNet5") {
            let (job, model) = (Job::RoundAccuracyMalicious, Some("LeNet5".to_string()));
            rows.extend(clients.iter().min().map(|&m| Row { job, model, m }));
        }
        rows
    }

    /// Against whom, where `security` is asked for.
    pub fn security(&self, security: Security) -> Security {
        if self.job == Job::RoundAccuracyMalicious { Security::Malicious } else { security }
    }

    /// Its name: `client-confidence/LeNet5/m=10`.
    pub fn name(&self) -> String {
        match &self.model {
            Some(model) => format!("{}/{model}/m={}", self.job.name(), self.m),
            None => format!("{}/m={}", self.job.name(), self.m),
        }
    }

    /// Corrupt clients that are allowed for: a tenth of m, at least one. A committee has 2c + 1.
    pub fn c(&self) -> u64 {
        (self.m / 10).max(1)
    }

    /// What others measured for it.
    pub fn figures(&self) -> impl Iterator<Item = &'static Figure> {
        peers::of(self.job, self.model.as_deref(), self.m)
    }

    /// How it is compiled. The only place that decides it.
    fn build(&self, how: How, net: &NetProfile) -> Build {
        let value = |size: &&str| match *size {
            "M" => self.model.as_deref().map_or_else(String::new, bound),
            "m" => self.m.to_string(),
            "c" => self.c().to_string(),
            _ => SAMPLES.to_string(),
        };
        let sizes = self.job.sizes().iter();
        let embedded = [self.job.file(), FILE];
        let text = |name: &str| Some((name.to_string(), embedded::get(name)?.to_string()));
        Build {
            file: self.job.file().into(),
            texts: embedded.into_iter().filter_map(text).collect(),
            bindings: sizes.map(|size| (size.to_string(), value(size))).collect(),
            // Scores to be ranked are the parties' own results in a round: no client could give one
            // that is out of range.
            trust_inputs: self.job == Job::TopK,
            memory: how.memory,
            no_speculation: !how.speculate,
            security: Some(how.security),
            net: Some(net.clone()),
            ..Build::default()
        }
    }

    /// Its circuit.
    ///
    /// # Errors
    ///
    /// The first error that the compiler reports: of a model that is not there, or that a demand of the
    /// predicate does not hold for.
    pub fn compile(&self, how: How, net: &NetProfile) -> Result<Circuit, String> {
        let first = |d: Vec<Diagnostic>| d.into_iter().next().map_or_else(String::new, |d| d.title);
        let checked = program::check_bound(&self.build(how, net), Sizes::Required);
        let checked = checked.map_err(|e| match e {
            Error::Rejected(rejected) => first(rejected.diagnostics),
            other => other.to_string(),
        })?;
        Ok(checked.stages(None).map_err(first)?.circuit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_paper() {
        let models = ["LeNet5", "LeNet5Max", "ResNet18"].map(String::from);
        let rows = Row::all(&models, &[10, 20], Security::SemiHonest);
        // Six jobs of three models, but one norm for both LeNets; top-k; and a round against a malicious party.
        assert_eq!(rows.len(), 2 * (3 * 6 - 1 + 1) + 1);
        assert_eq!(Row::all(&models, &[10, 20], Security::Malicious).len(), rows.len() - 1);
        let names: std::collections::BTreeSet<String> = rows.iter().map(Row::name).collect();
        assert_eq!(names.len(), rows.len(), "names differ");
        assert!(rows.iter().all(|r| r.c() == r.m / 10));
    }

    #[test]
    fn what_does_not_compile_says_why() {
        let row = Row { job: Job::Norm, model: Some("LeNet6".into()), m: 10 };
        let compiled = row.compile(How::new(Security::SemiHonest), &NetProfile::lan());
        let why = compiled.expect_err("there is no such model");
        assert!(why.contains("LeNet6"), "{why}");
    }
}
