//! One row on one network: compiled, checked against the machine, run.

use super::inputs;
use super::network::{Floor, effective, floor, shaped};
use super::rows::{How, Row};
use crate::memory;
use indicatif::ProgressBar;
use slvr_circuit::{Circuit, Security};
use slvr_compiler::cost::{Cost, NetProfile};
use slvr_ring::machine::Machine;
use slvr_runtime::link::shaped::Line as Shape;
use slvr_runtime::party::session::{self, Options, Report};
use slvr_runtime::share::encode::Inputs;
use std::time::Duration;

/// How long a party waits for a message: a layer of a deep network may take minutes on a slow one.
const DEADLINE: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy)]
pub struct Plan {
    /// Runs of each build; none only predicts.
    pub repeats: usize,
    /// Everything random follows from it.
    pub seed: u64,
    /// How rows are built. Beside a build against a malicious party the semi-honest one runs, in turns.
    pub how: How,
    /// How many workers of each party there are in runs that take turns with those without; none without them.
    pub workers: usize,
}

pub struct Line {
    pub row: Row,
    pub net: NetProfile,
    /// What is known before it runs; `None` if it does not compile.
    pub known: Option<Known>,
    /// The same of the semi-honest build beside it.
    pub beside: Option<Known>,
    pub outcome: Outcome,
}

/// What follows from the circuit.
#[derive(Clone, Copy)]
pub struct Known {
    pub rounds: usize,
    /// Bytes sent by each party.
    pub bytes: [u64; 3],
    /// Multiply-accumulates of each party.
    pub macs: [u64; 3],
    /// Most bytes of values at one time, by party.
    pub peak: [u64; 3],
    /// Seconds that the cost model estimates.
    pub estimate: f64,
    /// Seconds that it cannot be faster than.
    pub floor: Floor,
}

pub enum Outcome {
    Ran(Ran),
    Skipped(String),
}

#[derive(Default)]
pub struct Ran {
    pub rounds: usize,
    pub bytes: [u64; 3],
    /// Most bytes of values at one time, by party.
    pub peak: [u64; 3],
    pub seconds: Vec<f64>,
    /// Seconds of each run of the semi-honest build beside it, which took turns; empty without one.
    pub beside: Vec<f64>,
    /// Seconds of each run with workers, which took turns; empty without them.
    pub with_workers: Vec<f64>,
    /// Why there is none against a malicious party.
    pub no_beside: Option<String>,
}

impl Ran {
    pub fn median(&self) -> f64 {
        median(&self.seconds)
    }

    /// Median seconds with workers over those without.
    pub fn times_with_workers(&self) -> f64 {
        median(&self.with_workers) / self.median()
    }

    /// Median seconds over those of the build beside.
    pub fn times(&self) -> f64 {
        self.median() / median(&self.beside)
    }
}

/// The middle, or the mean of the two; of nothing 0.
pub fn median(x: &[f64]) -> f64 {
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |i: usize| sorted.get(i).copied().unwrap_or(0.0);
    (at(x.len().saturating_sub(1) / 2) + at(x.len() / 2)) / 2.0
}

/// Measures a row on a network. `bar` follows the layers of each run.
///
/// # Errors
///
/// A run that is aborted, replaces an input, or counts something else than was predicted.
pub fn line(
    row: &Row,
    net: &NetProfile,
    plan: Plan,
    machine: &Machine,
    bar: &ProgressBar,
) -> anyhow::Result<Line> {
    let line = |known, beside, outcome| Line {
        row: row.clone(),
        net: net.clone(),
        known,
        beside,
        outcome,
    };
    let security = row.security(plan.how.security);
    let how = How { security, ..plan.how };
    let circuit = match row.compile(how, net) {
        Ok(circuit) => circuit,
        Err(why) => {
            return Ok(line(None, None, Outcome::Skipped(format!("does not compile: {why}"))));
        }
    };
    let known_of = |cost: &Cost| Known {
        rounds: cost.rounds,
        bytes: cost.bytes,
        macs: cost.macs,
        peak: cost.peak_memory,
        estimate: cost.seconds(net).total,
        floor: floor(cost, &effective(net, machine), machine),
    };
    let cost = Cost::of(&circuit);
    let known = known_of(&cost);
    let semi_honest = || row.compile(How { security: Security::SemiHonest, ..how }, net);
    let (beside, no_beside) = match security.is_malicious().then(semi_honest) {
        None => (None, None),
        Some(Ok(circuit)) => (Some(circuit), None),
        Some(Err(why)) => (None, Some(why)),
    };
    let mut needed = needed(&circuit, &cost);
    let known_beside = beside.as_ref().map(|other| {
        let cost = Cost::of(other);
        needed = needed.max(self::needed(other, &cost));
        known_of(&cost)
    });
    let skip = move |why: String| Ok(line(Some(known), known_beside, Outcome::Skipped(why)));
    if plan.repeats == 0 {
        return skip("predicted only".into());
    }
    let shape = shaped(net);
    if let Some(free) = slvr::memory::free().filter(|&free| free < needed) {
        let gb = |n: u64| n as f64 / 1e9;
        return skip(format!("needs {:.1} GB of memory, {:.1} GB are free", gb(needed), gb(free)));
    }
    memory::expect(needed);
    let wanted = inputs::generate(&circuit, plan.seed);
    // Another ring can have another bound on norms.
    let other = beside.as_ref().map(|c| (c, inputs::generate(c, plan.seed)));
    let mut ran = Ran { no_beside, ..Ran::default() };
    for turn in 0..plan.repeats {
        bar.set_message(format!("run {} of {}", turn + 1, plan.repeats));
        let report = once(&circuit, &wanted, shape, (plan.seed, 0), bar)?;
        (ran.rounds, ran.bytes, ran.peak) = (report.rounds, report.bytes_sent, report.peak_memory);
        anyhow::ensure!(
            (ran.rounds, ran.bytes) == (cost.rounds, cost.bytes),
            "{}: rounds or bytes are not those that were predicted",
            row.name()
        );
        ran.seconds.push(report.seconds);
        if plan.workers > 0 && !security.is_malicious() {
            let seed = (plan.seed, plan.workers);
            let with = once(&circuit, &wanted, shape, seed, bar)?;
            anyhow::ensure!(
                (with.rounds, with.bytes_sent) == (ran.rounds, ran.bytes),
                "{}: rounds or bytes are others with workers",
                row.name()
            );
            ran.with_workers.push(with.seconds);
        }
        if let Some((circuit, inputs)) = &other {
            ran.beside.push(once(circuit, inputs, shape, (plan.seed, 0), bar)?.seconds);
        }
    }
    Ok(line(Some(known), known_beside, Outcome::Ran(ran)))
}

/// Bytes of memory that a row takes at least: a run, beside it the messages of the layer that sends most, and the
/// clients' inputs before and after encoding.
fn needed(circuit: &Circuit, cost: &Cost) -> u64 {
    let messages = cost.layers.iter().map(|l| l.bytes.iter().sum::<u64>()).max().unwrap_or(0);
    let inputs: u64 = circuit
        .inputs
        .iter()
        .map(|i| circuit.ty(i.value))
        .map(|ty| ty.elements().saturating_mul(8 + u64::from(ty.dom.bits().div_ceil(8))))
        .sum();
    slvr::memory::of_run(circuit).saturating_add(messages).saturating_add(inputs)
}

fn once(
    circuit: &Circuit,
    inputs: &Inputs,
    shape: Option<Shape>,
    (seed, workers): (u64, usize),
    bar: &ProgressBar,
) -> anyhow::Result<Report> {
    bar.set_length(circuit.layers.len() as u64);
    let progress = |done: usize, _all: usize| bar.set_position(done as u64);
    let options = Options {
        seed: Some(seed),
        deadline: DEADLINE,
        shape,
        workers,
        progress: Some(&progress),
        ..Options::default()
    };
    let report = session::run_local(circuit, inputs, &options)?;
    let admitted = report.admitted.iter().all(|(_, bits)| bits.iter().all(|b| *b));
    anyhow::ensure!(
        admitted && report.replaced.is_empty(),
        "{}: an input of the bench was refused",
        circuit.name
    );
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::bench::job::Job;
    use crate::verbs::bench::network::MACHINE;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn a_row_needs_what_a_run_takes_with_its_proofs() {
        let row = Row { job: Job::Norm, model: Some("DigitsNet".into()), m: 5 };
        for security in Security::ALL {
            let circuit = row.compile(How::new(security), &NetProfile::lan()).expect("a circuit");
            let cost = Cost::of(&circuit);
            let values = cost.peak_memory.iter().sum();
            let of_run = slvr::memory::of_run(&circuit);
            assert_eq!(of_run > values, security.is_malicious());
            assert!(needed(&circuit, &cost) >= of_run);
        }
    }

    /// Counted is predicted, or `line` fails.
    #[test]
    fn small_rows_run() {
        let bar = ProgressBar::hidden();
        for security in Security::ALL {
            let workers = if security.is_malicious() { 0 } else { 2 };
            let plan = Plan { repeats: 2, seed: 1, how: How::new(security), workers };
            for job in [Job::Norm, Job::AccuracySecret, Job::Accuracy, Job::Confidence, Job::TopK] {
                let model = (job != Job::TopK).then(|| "DigitsNet".to_string());
                let row = Row { job, model, m: 5 };
                let line =
                    line(&row, &NetProfile::loopback(), plan, &MACHINE, &bar).expect("a row");
                let Outcome::Ran(ran) = line.outcome else { panic!("{job:?} was skipped") };
                let beside = if security.is_malicious() { 2 } else { 0 };
                assert_eq!((ran.seconds.len(), ran.beside.len()), (2, beside), "{job:?}");
                assert_eq!(ran.with_workers.len(), workers, "{job:?}");
                let known = line.known.expect("it compiles");
                assert_eq!(
                    (ran.rounds, ran.bytes, ran.peak),
                    (known.rounds, known.bytes, known.peak)
                );
                if security.is_malicious() {
                    let beside = line.beside.expect("it compiles");
                    assert!(beside.rounds < known.rounds, "{job:?}");
                }
            }
        }
    }
}
