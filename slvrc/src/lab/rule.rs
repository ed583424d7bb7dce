//! How the lab aggregates: in floating point, in the circuit's own arithmetic, and among three parties. What a predicate
//! keeps goes from round to round, in the clear.

use super::exact::Exact;
use super::subject::{Proven, Subject};
use anyhow::anyhow;
use serde::{Deserialize, Serialize};
use slvr::clear_states;
use slvr_compiler::graph::{Giver, Graph, Input, Op};
use slvr_compiler::noise::Words;
use slvr_runtime::protocol::committee::committees;
use slvr_simulation::lab::fast::{Drawn, Forged, Influence, Revealed};
use slvr_simulation::lab::federation::FederationError;
use slvr_simulation::lab::fill::Role;
use slvr_simulation::lab::rule::{Answers, Declared, Rule, Step};
use slvr_simulation::random::{Purpose, Random};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a run among three parties compared with the evaluation that the federation went on with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    pub round: usize,
    /// Of all that is revealed, the largest difference of an entry, of the reveal that is closest to its tolerance.
    pub difference: f64,
    /// What the certificate allows of that reveal; `None` where it proves nothing.
    pub tolerance: Option<f64>,
    /// `None` where nothing is proven.
    pub agrees: Option<bool>,
    pub seconds: f64,
}

impl Ran {
    fn new(round: usize, (difference, tolerance): (f64, f64), seconds: f64) -> Ran {
        let tolerance = Some(tolerance).filter(|t| t.is_finite());
        let agrees = tolerance.map(|t| difference <= t);
        Ran { round, difference, tolerance, agrees, seconds }
    }
}

/// The predicate for each number of clients.
pub type Subjects<'a> = dyn Fn(usize) -> anyhow::Result<Arc<Subject>> + Sync + 'a;

pub struct Aggregation<'a> {
    pub subjects: &'a Subjects<'a>,
    /// In floating point instead of the circuit's arithmetic.
    pub fast: bool,
    /// In which rounds there is a run among three parties.
    pub parties: &'a (dyn Fn(usize) -> bool + Sync),
    pub seed: u64,
    pub checks: Vec<Ran>,
    /// What is kept of the round before. A state whose size hangs on the number of clients begins again when that changes.
    kept: clear_states::StateValues,
    current: Arc<Subject>,
    /// How much each client moved the aggregate of the last round.
    moved: Option<Vec<f64>>,
}

impl<'a> Aggregation<'a> {
    pub fn new(
        (subjects, current): (&'a Subjects<'a>, Arc<Subject>),
        fast: bool,
        parties: &'a (dyn Fn(usize) -> bool + Sync),
        seed: u64,
    ) -> Self {
        let (checks, kept) = (Vec::new(), clear_states::StateValues::new());
        Aggregation { subjects, fast, parties, seed, checks, kept, current, moved: None }
    }

    /// What decides all that is drawn in a round.
    fn drawing(&self, round: usize) -> u64 {
        self.seed.wrapping_mul(1 << 20).wrapping_add(round as u64)
    }

    /// The inputs, with states as they were kept. What is stored is rounded to its words, and these have a unit of 2^-16.
    fn with_kept(&self, given: &[Arc<Vec<f64>>]) -> Vec<Arc<Vec<f64>>> {
        let inputs = self.current.fast.graph().inputs.iter().zip(given);
        let kept = |input: &Input, given: &Arc<Vec<f64>>| {
            let kept = self.kept.get(&input.name).filter(|_| is_state(input))?;
            Some(kept).filter(|kept| kept.len() == given.len())
        };
        inputs
            .map(|(i, given)| kept(i, given).map_or_else(|| given.clone(), |k| Arc::new(k.clone())))
            .collect()
    }

    /// Drops what is kept of no state of this round, or has another length.
    fn forget_others(&mut self, flat: &[Arc<Vec<f64>>]) {
        let inputs = self.current.fast.graph().inputs.iter().zip(flat);
        let states = inputs.filter(|(i, _)| is_state(i));
        let states: BTreeMap<&str, usize> =
            states.map(|(input, x)| (input.name.as_str(), x.len())).collect();
        self.kept.retain(|name, x| states.get(name.as_str()) == Some(&x.len()));
    }

    /// In floating point, with these coins.
    fn floating(
        &self,
        step: &Step<'_>,
        flat: &[Arc<Vec<f64>>],
        coins: &[u128],
        (forged, noise): (bool, &Words),
        influence: Option<Influence<'_>>,
    ) -> anyhow::Result<Revealed> {
        let fast = &self.current.fast;
        let mut found = with_drawn(step, fast.graph(), coins, (forged, noise), |drawn| {
            fast.evaluate(flat, drawn, influence)
        })?;
        found.kept.values_mut().flatten().for_each(|x| *x = (*x * UNITS).round() / UNITS);
        Ok(found)
    }
}

impl Rule for Aggregation<'_> {
    type Error = anyhow::Error;

    fn declare(&mut self, clients: usize) -> anyhow::Result<()> {
        self.current = (self.subjects)(clients)?;
        Ok(())
    }

    fn declared(&self) -> Declared<'_> {
        self.current.declared()
    }

    fn ask<'a>(&'a self, step: &Step<'a>) -> anyhow::Result<Answers<'a, anyhow::Error>> {
        let (step, fast) = (*step, &self.current.fast);
        let seed = self.drawing(step.round) ^ ASKED;
        let (coins, noise) = (drawn(fast.graph(), seed), Words::of(seed));
        let updates: Vec<usize> = (self.current.roles.iter().enumerate())
            .filter_map(|(at, role)| (*role == Role::Update).then_some(at))
            .collect();
        let rows: Vec<usize> = (0..step.malicious.len()).filter(|i| step.malicious[*i]).collect();
        let flat = self.with_kept(&step.filled.flat);
        let base = with_drawn(&step, fast.graph(), &coins, (step.forged, &noise), |drawn| {
            fast.base(&flat, drawn, (&updates, step.malicious.len(), &rows))
        })?;
        Ok(Box::new(move |flat| {
            let found = with_drawn(&step, fast.graph(), &coins, (step.forged, &noise), |drawn| {
                fast.again(&base, flat, drawn)
            });
            Ok(found?.values)
        }))
    }

    fn influence(&self) -> Option<&[f64]> {
        self.moved.as_deref()
    }

    fn reveal(&mut self, step: &Step<'_>) -> anyhow::Result<Vec<(String, Vec<f64>)>> {
        let subject = Arc::clone(&self.current);
        let among_parties = (self.parties)(step.round);
        let seed = self.drawing(step.round);
        let compiled = if among_parties || !self.fast { Some(subject.compiled()?) } else { None };
        let flat = self.with_kept(&step.filled.flat);
        self.forget_others(&flat);
        let inputs = &step.filled.inputs;
        let exact = compiled.map(|c| Exact::new(&c.circuit, inputs, &self.kept, seed));
        // In floating point no circuit is needed, and coins are drawn otherwise, in every round: whether there is a run among
        // three parties beside it changes nothing.
        let coins = match &exact {
            Some(exact) if !self.fast => exact.coins.clone(),
            _ => drawn(subject.fast.graph(), seed),
        };
        let noise = Words::of(seed);
        // Who counted is seen in floating point, whichever arithmetic goes on.
        let (forged, influence) = (step.forged, subject.influence());
        let mut seen = self.floating(step, &flat, &coins, (forged, &noise), influence)?;
        let moved = seen.influence.take();
        // Scores are set in floating point only.
        let fast = self.fast || forged;
        let result = match &exact {
            Some(exact) if !fast => exact.evaluate(&noise)?,
            _ => seen,
        };
        if let (true, Some(compiled), Some(exact)) = (among_parties, compiled, &exact) {
            let graph = subject.fast.graph();
            let noisy = graph.ids().any(|id| matches!(graph.op(id), Op::Noise { .. }));
            let report = exact.run(noisy)?;
            // What the parties computed, with their coins, and with nothing forged.
            let again = |noise: &Words| match fast {
                true => self.floating(step, &flat, &exact.coins, (false, noise), None),
                false => exact.evaluate(noise),
            };
            let plain = match noisy.then(|| report.drawn(exact.circuit)).flatten() {
                // Noise of the parties is compared with noise of the same words.
                Some(given) => again(&Words { seed, given })?,
                None if forged || coins != exact.coins => again(&noise)?,
                None => result.clone(),
            };
            let runs = report.outputs.iter().map(|run| (run.name.as_str(), run.values.as_slice()));
            let aggregate = subject.reading.aggregate.as_str();
            let found = compared(runs, &plain.values, (&compiled.reveals, aggregate), fast);
            self.checks.push(Ran::new(step.round, found, report.seconds));
        }
        self.kept = result.kept;
        self.moved = moved;
        Ok(result.values)
    }
}

/// Of the reveals of a run among three parties and of the evaluation here, the difference and the tolerance of the one whose
/// difference is the largest part of its tolerance. A reveal of which nothing is proven is left out, but not the aggregate: then
/// nothing is proven of the run. What is missing, is no number or has another length differs without end.
fn compared<'a>(
    runs: impl Iterator<Item = (&'a str, &'a [f64])>,
    here: &[(String, Vec<f64>)],
    (proven, aggregate): (&[Proven], &str),
    fast: bool,
) -> (f64, f64) {
    let one = |(name, run): (&str, &[f64])| {
        let values = here.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_slice());
        let off = |values: &[f64]| {
            let entries = run.iter().zip(values).map(|(a, b)| (a - b).abs());
            entries.fold(0.0, |most: f64, x| if x.is_nan() { f64::INFINITY } else { most.max(x) })
        };
        let same = values.filter(|v| v.len() == run.len());
        let difference = same.map_or(f64::INFINITY, off);
        // Both are as far from the program on the encoded inputs as is proven, or one of them is the program itself, on
        // the inputs before they were rounded.
        let of = |p: &Proven| if fast { p.error + p.rounding } else { 2.0 * p.error };
        // Any two values of its interval are as close as an error as wide as that.
        let says = |p: &&Proven| p.name == name && (of(p) == 0.0 || of(p) < p.width);
        let tolerance = proven.iter().find(says).map_or(f64::INFINITY, of);
        (name == aggregate, (difference, tolerance))
    };
    let part = |(difference, tolerance): &(f64, f64)| match difference / tolerance {
        // Nothing is proven, or nothing is allowed and nothing differs.
        x if x.is_nan() => 0.0,
        x => x,
    };
    let all: Vec<(bool, (f64, f64))> = runs.map(one).collect();
    let says = |found: &(f64, f64)| found.1.is_finite();
    let unproven = all.iter().find(|(applied, found)| *applied && !says(found)).map(|(_, f)| *f);
    let judged = all.into_iter().map(|(_, found)| found).filter(says);
    unproven
        .or_else(|| judged.max_by(|a, b| part(a).total_cmp(&part(b))))
        .unwrap_or((f64::INFINITY, 0.0))
}

/// Why the rounds of a rule ended early.
pub fn failed(e: FederationError<anyhow::Error>) -> anyhow::Error {
    match e {
        FederationError::Rule(e) => e,
        FederationError::Aggregate { .. } | FederationError::Attack { .. } => anyhow!("{e}"),
    }
}

/// What is drawn where the malicious ask the check differs from what the round draws.
const ASKED: u64 = 0x5deb_2b09_a1c4_93e7;

/// Stored values are multiples of one in so many.
const UNITS: f64 = 65536.0;

fn is_state(input: &Input) -> bool {
    matches!(input.from, Giver::State(_))
}

/// Coins where there is no circuit.
fn drawn(graph: &Graph, seed: u64) -> Vec<u128> {
    let samples = graph.ids().filter(|id| matches!(graph.op(*id), Op::Draw(_))).count();
    let mut random = Random::new(seed, Purpose::Caller, [1, 0]);
    let mut word = || (random.uniform() * 2f64.powi(53)) as u128;
    (0..samples).map(|_| word() << 75 ^ word() << 37 ^ word()).collect()
}

/// A walk in floating point with what these coins draw; the malicious of the step set scores there if they are forged.
fn with_drawn<R>(
    step: &Step<'_>,
    graph: &Graph,
    coins: &[u128],
    (forged, noise): (bool, &Words),
    walk: impl FnOnce(&Drawn<'_>) -> R,
) -> R {
    let table = tables(graph, coins).filter(|_| forged);
    let forged = table.as_ref().map(|committees| Forged {
        malicious: step.malicious,
        committees,
        samples: step.samples,
    });
    walk(&Drawn { coin: &committees(coins), noise, forged: forged.as_ref() })
}

/// The first committees that these coins draw.
fn tables(graph: &Graph, coins: &[u128]) -> Option<Vec<Vec<u64>>> {
    let draw = committees(coins);
    graph.ids().find_map(|id| match graph.op(id) {
        Op::Draw(lots) => Some(draw(lots)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reveal_is_held_to_its_own_tolerance() {
        let proven =
            |name: &str, error: f64| Proven { name: name.into(), error, rounding: 0.5, width: 1e3 };
        let proven = [proven("a", 1.0), proven("b", 100.0), proven("c", f64::INFINITY)];
        let of = |a: &[f64], b: &[f64]| {
            let here = vec![("a".to_string(), vec![0.0, 0.0]), ("b".to_string(), vec![0.0])];
            compared([("a", a), ("b", b)].into_iter(), &here, (&proven, "a"), false)
        };
        assert_eq!(of(&[0.5, 1.5], &[3.0]), (1.5, 2.0));
        assert_eq!(of(&[0.0, 0.1], &[30.0]), (30.0, 200.0));
        assert_eq!(
            of(&[0.0, 3.0], &[30.0]),
            (3.0, 2.0),
            "the wide tolerance of another reveal does not help"
        );
        assert_eq!(of(&[0.0, f64::NAN], &[0.0]), (f64::INFINITY, 2.0));
        assert_eq!(of(&[0.0], &[0.0]), (f64::INFINITY, 2.0), "an entry is missing");
        let here = vec![("c".to_string(), vec![1.0])];
        let found = compared([("c", &[1.0][..])].into_iter(), &here, (&proven, "c"), true);
        let ran = Ran::new(0, found, 0.0);
        assert!(ran.agrees.is_none() && ran.difference == 0.0, "nothing is proven");
        let wide = [Proven { name: "c".into(), error: 7e11, rounding: 0.0, width: 670.0 }];
        let (_, tolerance) = compared([("c", &[1.0][..])].into_iter(), &here, (&wide, "c"), true);
        assert!(tolerance.is_infinite(), "an error beyond the interval says nothing");
        // Another reveal of which nothing is proven hides nothing of the aggregate.
        let here = vec![("a".to_string(), vec![0.0]), ("c".to_string(), vec![1.0])];
        let both = [("a", &[3.0][..]), ("c", &[1.0][..])];
        assert_eq!(compared(both.into_iter(), &here, (&proven, "a"), false), (3.0, 2.0));
    }
}
