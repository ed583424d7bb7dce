//! What noise promises each client: its distribution, and epsilon and delta where they follow from the program.
//!
//! | file | what lives there |
//! |---|---|
//! | `sensitivity` | how much a value changes if one client's inputs count as zeros |
//! | `clip` | how long vectors are that are cut to a length |
//! | `accountant` | from sensitivities and scales to epsilon and delta of one round and of several |
//!
//! **Neighbours.** Two runs are neighbours if one member of a party set gives something in one of them and is counted
//! as zeros in the other: as if it were excluded (a label as class 0, and a number whose range has no 0 as its end
//! nearest to 0). A set of one member, such as a server, is not protected.
//!
//! **Where noise protects.** Noise is added to a value on the noise's own grid, entry by entry, each entry of the
//! noise once. The graph is the one that is lowered, so the words that noise is added to are those of a run: whatever
//! was rounded was rounded before. Whatever is computed of a noisy value and of no other value of a client is as
//! private as it.
//!
//! **Who is meant.** The receivers, and one of the three parties: it sees shares, which are uniform, and coins of
//! roundings, which depend on nothing (`sensitivity.rs`). Pairwise randomness is pseudorandom, so the promise is one
//! against adversaries of bounded time. That a client's inputs were refused is known to all parties and hangs on what
//! this client gave alone; it is no part of the promise.
//!
//! What may not live here: how noise is sampled ([`slvr_language::noise`]), what is learned without it
//! (`slvr_compiler::report::leaks`), and how it is told (`slvr_backend::pipeline::privacy`).

mod accountant;
mod clip;
mod sensitivity;

pub use accountant::Loss;

use crate::analysis::behind::{behind, keeps_entries};
use crate::graph::{Graph, NodeId, Op, Output};
pub use clip::Words;
pub use sensitivity::Obstacle;
use sensitivity::{Reach, Sensitivity};
use serde::Serialize;
use slvr_language::noise::{Law, Noise};
use std::collections::{BTreeMap, BTreeSet};

/// The delta of the table of a certificate.
pub const DELTA: f64 = 1e-5;
/// The numbers of rounds in it.
pub const ROUNDS: [u64; 4] = [1, 10, 100, 1000];

/// What is said of the noise of a predicate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Privacy {
    pub noises: Vec<NoiseRow>,
    /// What one run lets through of a client; `None` if it is unbounded.
    pub loss: Option<Loss>,
    /// Why it is unbounded, in the words of who asked.
    pub unbounded: Vec<String>,
    /// Epsilon and delta of some numbers of rounds.
    pub rounds: Vec<RoundsRow>,
}

/// Why nothing is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason<'a> {
    /// This noise is used more than once, or not by adding it.
    Reused(&'a str),
    /// This noise has fewer entries than what it is added to.
    Repeated(&'a str),
    /// This output is made of what clients gave, without noise on its way.
    Bare(&'a str),
    /// This output hangs on a value of this source line, of which nothing is known.
    Hangs(&'a str, u32, Obstacle),
    /// Noise is added to nothing that a set of several members gave.
    Unprotected,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoiseRow {
    pub name: String,
    pub line: u32,
    /// `gaussian` or `laplace`.
    pub law: &'static str,
    /// sigma or b.
    pub scale: f64,
    /// It is on the multiples of 2^-grid.
    pub grid: u32,
    pub entries: u64,
    /// No entry is larger.
    pub bound: f64,
    /// log2 of the statistical distance of one entry from its law.
    pub distance_log2: f64,
    /// The same of all entries together.
    pub all_distance_log2: f64,
    /// How much what it is added to changes at most with one client's inputs, in the norm that its law goes by (L2
    /// for the Gaussian, L1 for Laplace), roundings included.
    pub sensitivity: Option<f64>,
    /// The source line that adds it.
    pub added: Option<u32>,
    /// Whether vectors are cut to a length on the way there. Otherwise declared ranges and cuts of entries are all that
    /// bounds them.
    pub clipped: bool,
}

/// Several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundsRow {
    pub rounds: u64,
    /// Epsilon; `None` if the distance of the samplers alone is more than delta allows.
    pub epsilon: Option<f64>,
    pub delta: f64,
}

impl NoiseRow {
    /// How many times its scale one client changes what it is added to.
    pub fn times(&self) -> f64 {
        self.sensitivity.unwrap_or(0.0) / self.scale
    }
}

impl Privacy {
    /// Whether a graph has noise.
    pub fn has_noise(g: &Graph) -> bool {
        g.ids().any(|id| matches!(g.op(id), Op::Noise { .. }))
    }

    /// Of the graph that is lowered; `None` if it has no noise. `line_of` gives the source line of a site, `failure` is
    /// the probability that a run is wrong by more than the certificate says, and `told` puts a reason into words.
    pub fn of(
        words: Words<'_>,
        line_of: &dyn Fn(u32) -> u32,
        failure: f64,
        told: &dyn Fn(Reason<'_>) -> String,
    ) -> Option<Privacy> {
        let g = words.graph;
        let drawn: Vec<NodeId> =
            g.ids().filter(|&id| matches!(g.op(id), Op::Noise { .. })).collect();
        if drawn.is_empty() {
            return None;
        }
        let mut found = Found { sensitivity: Sensitivity::new(words), lengths: BTreeMap::new() };
        for id in g.ids() {
            let reach = found.node(id);
            found.sensitivity.reach.push(reach);
        }
        let mut unbounded = found.unbounded(&drawn, line_of);
        let mut loss = Loss { distance: failure, ..Loss::default() };
        let mut noises = Vec::new();
        for &id in &drawn {
            let Op::Noise { noise, .. } = g.op(id) else { continue };
            let (sampler, entries) = (noise.sampler(), g.elements(id));
            let unit = f64::from(noise.frac).exp2();
            let added = found.lengths.get(&id);
            let words = added.map(|a| a.length);
            let all = sampler.distance * entries as f64;
            loss.distance += all;
            match (noise.law, words) {
                (_, None) => {}
                (Law::Gaussian, Some(l)) => loss.rho += (l / noise.units()).powi(2) / 2.0,
                // Words differ by whole units; what floats have rounded down is not taken off.
                (Law::Laplace, Some(l)) => {
                    loss.laplace.push((noise.units(), (l * (1.0 + 1e-12)).floor()));
                }
            }
            noises.push(NoiseRow {
                name: g.site(id).name.clone(),
                line: line_of(g.home(id)),
                law: noise.law.name(),
                scale: noise.scale,
                grid: noise.frac,
                entries,
                bound: noise.bound(),
                distance_log2: sampler.distance.log2(),
                all_distance_log2: all.log2(),
                sensitivity: words.map(|l| l / unit),
                added: added.map(|a| line_of(g.home(a.sum))),
                clipped: added.is_some_and(|a| found.clipped(a.to)),
            });
        }
        unbounded.dedup();
        if unbounded.is_empty() && found.lengths.is_empty() {
            unbounded.push(Reason::Unprotected);
        }
        let loss = unbounded.is_empty().then_some(loss);
        let unbounded = unbounded.into_iter().map(told).collect();
        let mut all = Privacy { noises, loss, unbounded, rounds: Vec::new() };
        all.ask(DELTA, &ROUNDS);
        Some(all)
    }

    /// States epsilon for these numbers of rounds, at this delta.
    pub fn ask(&mut self, delta: f64, rounds: &[u64]) {
        let loss = self.loss.as_ref();
        let row = |l: &Loss, rounds| RoundsRow { rounds, epsilon: l.epsilon(rounds, delta), delta };
        self.rounds =
            loss.map_or(Vec::new(), |l| rounds.iter().map(|&rounds| row(l, rounds)).collect());
    }

    /// The noise whose scale is the smallest beside what one client changes.
    pub fn weakest(&self) -> Option<&NoiseRow> {
        self.noises.iter().max_by(|a, b| a.times().total_cmp(&b.times()))
    }
}

struct Found<'a> {
    sensitivity: Sensitivity<'a>,
    /// By noise, what it is added to.
    lengths: BTreeMap<NodeId, Added>,
}

/// What noise is added to.
struct Added {
    /// How much it changes: the norm of the noise's law, in words.
    length: f64,
    to: NodeId,
    sum: NodeId,
}

impl<'a> Found<'a> {
    fn g(&self) -> &'a Graph {
        self.sensitivity.words.graph
    }

    /// How a node hangs on a client, and what noise is added there.
    fn node(&mut self, id: NodeId) -> Reach {
        let Some((drawn, noise, other)) = self.added(id) else { return self.sensitivity.rule(id) };
        let length = match self.sensitivity.of(other) {
            Reach::Whole(length) => *length,
            Reach::Rows(rows) => rows.length,
            Reach::Free | Reach::Unbounded(_) => return self.sensitivity.rule(id),
        };
        let length = match noise.law {
            Law::Gaussian => length.l2,
            Law::Laplace => length.l1,
        };
        if !length.is_finite() {
            return self.sensitivity.rule(id);
        }
        self.lengths.insert(drawn, Added { length, to: other, sum: id });
        Reach::Free
    }

    /// Whether a value is made of vectors that are cut to a length.
    fn clipped(&self, id: NodeId) -> bool {
        let g = self.g();
        let mut seen = BTreeSet::from([id]);
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            if self.sensitivity.cuts(id) {
                return true;
            }
            next.extend(g.args(id).iter().copied().filter(|&a| seen.insert(a)));
        }
        false
    }

    /// The noise that a node adds, and what it is added to: entry by entry, each entry once.
    fn added(&self, id: NodeId) -> Option<(NodeId, Noise, NodeId)> {
        let g = self.g();
        if !matches!(g.op(id), Op::Add | Op::Sub) {
            return None;
        }
        let args = [g.arg(id, 0), g.arg(id, 1)];
        (0..2).find_map(|i| {
            let (drawn, other) = (behind(g, args[i], keeps_entries), args[1 - i]);
            let Op::Noise { noise, .. } = g.op(drawn) else { return None };
            let whole = [drawn, other].iter().all(|&x| g.elements(x) == g.elements(id));
            let grid = g.ty(id).frac == Some(noise.frac);
            (whole && grid && args[0] != args[1] && self.reader(drawn).is_some())
                .then_some((drawn, *noise, other))
        })
    }

    /// The sum that reads the noise, if nothing else does.
    fn reader(&self, drawn: NodeId) -> Option<NodeId> {
        let g = self.g();
        let mut at = drawn;
        loop {
            let user = g.only_user(at)?;
            match g.op(user) {
                op if keeps_entries(op) => at = user,
                op => return matches!(op, Op::Add | Op::Sub).then_some(user),
            }
        }
    }

    /// Why nothing is promised.
    fn unbounded(&self, drawn: &[NodeId], line_of: &dyn Fn(u32) -> u32) -> Vec<Reason<'a>> {
        let g = self.g();
        let noise = |&id: &NodeId| {
            let name = &*g.site(id).name;
            match self.reader(id) {
                None => Some(Reason::Reused(name)),
                Some(sum) if g.elements(sum) != g.elements(id) => Some(Reason::Repeated(name)),
                Some(_) => None,
            }
        };
        // What is kept for the next round is revealed to nobody; what reads it there hangs on all clients.
        let outputs = g.outputs.iter().filter(|o| o.state.is_none());
        let output = |o: &'a Output| match self.sensitivity.of(o.node) {
            Reach::Free => None,
            Reach::Rows(_) | Reach::Whole(_) => Some(Reason::Bare(&o.name)),
            Reach::Unbounded(why) => {
                Some(Reason::Hangs(&o.name, line_of(g.home(why.node)), why.obstacle))
            }
        };
        drawn.iter().filter_map(noise).chain(outputs.filter_map(output)).collect()
    }
}
