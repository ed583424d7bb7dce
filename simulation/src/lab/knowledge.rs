//! What the malicious clients of a round know when they choose what they send.
//!
//! The paper's gray box: they collude, they have their own data and what they would honestly have sent, they know the
//! global model, the check and its parameters, and all that is public. Of the honest clients they know nothing, with
//! three exceptions that are marked below.
//!
//! Closed forms need the parameters of a check. A predicate whose header names an attack (`// Attack: fang-krum`) calls them
//! as that attack does. Of any other check nothing is taken from its names, and closed forms take what stands for a
//! parameter that a check does not have. The searches ask every check.

use super::vectors::{dot, lower_median, mean, norm, plus, signs, times};
use crate::data::Dataset;
use crate::net::Net;
use crate::random::{Purpose, Random};
use std::collections::BTreeMap;
use std::ops::Range;

/// The check as the malicious ask it: they all send this update, and the answer is the mean loss of the next global model on
/// their own data. It is asked in the clear, with the updates of the honest and with other coins than those of the round.
/// `None` where nothing comes of it.
pub type Ask<'a> = dyn Fn(&[f32]) -> Option<f64> + Sync + 'a;

/// What the malicious are told of the honest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knows {
    /// What the source of each attack tells them.
    #[default]
    Described,
    /// Nothing: where an attack needs their updates and samples, the malicious take their own in their place.
    Partial,
    /// Everything: mean and spread of updates are those of all.
    Full,
}

pub struct Knowledge<'a> {
    pub net: &'a Net,
    /// Which round, from 0.
    pub round: usize,
    pub seed: u64,
    pub global: &'a [f32],
    /// What the malicious would honestly have sent, in ascending order of clients; what they trained on poisoned data, if
    /// they poison data.
    pub own: &'a [Vec<f32>],
    /// The updates whose mean and spread they go by: their own, and where they know everything those of all.
    pub seen: &'a [&'a [f32]],
    pub data: &'a [&'a Dataset],
    pub clients: usize,
    /// The server's own update, if the check has such a public input.
    pub reference: Option<&'a [f32]>,
    /// Parameters and sizes of the check, as far as they are numbers.
    pub params: &'a BTreeMap<String, f64>,
    pub values: &'a [(&'static str, f64)],
    /// Updates of the honest. Three attacks look at them: the norm bound, because the paper's baseline tells all clients
    /// the threshold, which is made of their lengths; the search against SLVR, because the paper compares with "the
    /// accuracy of all benign models"; and Krum, whose source computes the scores of all with full knowledge.
    pub honest: &'a [&'a [f32]],
    /// Updates are cut to this range in every coordinate: what the check declares.
    pub range: (f32, f32),
    /// The tensors, as ranges of the weight vector, if the check bounds the length of each by that of the reference.
    pub bounded: Option<&'a [Range<usize>]>,
    /// The check itself, where the attack searches.
    pub ask: Option<&'a Ask<'a>>,
    /// Whether clients give labels to the check: without them it cannot know what is right, and asks how sure a model is.
    pub labelled: bool,
}

impl Knowledge<'_> {
    pub fn malicious(&self) -> usize {
        self.own.len()
    }

    /// What an attack draws in this round. Each attack that draws something has a stream of its own.
    pub fn random(&self, stream: u64) -> Random {
        Random::new(self.seed, Purpose::Poison, [self.round as u64, stream])
    }

    /// A parameter of the check by its name.
    pub fn param(&self, name: &str) -> Option<f64> {
        self.params.get(name).copied()
    }

    /// A parameter of the attack; 0 where it has none of the name.
    pub fn value(&self, name: &str) -> f64 {
        self.values.iter().find(|(n, _)| *n == name).map_or(0.0, |(_, value)| *value)
    }

    /// The mean of the updates they go by: what they know of the next change of the global model.
    pub fn estimate(&self) -> Vec<f32> {
        mean(self.seen)
    }

    /// s of Fang et al.: the sign of that change, entry by entry.
    pub fn direction(&self) -> Vec<f32> {
        signs(&self.estimate())
    }

    /// The public reference update, or where there is none the estimate.
    pub fn centre(&self) -> Vec<f32> {
        self.reference.map_or_else(|| self.estimate(), <[f32]>::to_vec)
    }

    /// The reference and the part of -s that is orthogonal to it, both of length one; none where training has no direction.
    pub fn plane(&self) -> Option<(Vec<f32>, Vec<f32>)> {
        let (s, g) = (self.direction(), self.centre());
        let (s_len, g_len) = (norm(&s), norm(&g));
        if s_len == 0.0 || g_len == 0.0 {
            return None;
        }
        let (away, g) = (times(&s, -1.0 / s_len), times(&g, 1.0 / g_len));
        let rest = plus(&away, -dot(&away, &g), &g);
        let across = norm(&rest);
        let n = if across > 0.0 { times(&rest, 1.0 / across) } else { rest };
        Some((g, n))
    }

    /// lambda times the lower median of all lengths, as seen by malicious clients that are as long as that bound: longer
    /// than the median for a lambda above 1, shorter otherwise.
    pub fn median_bound(&self, lambda: f64) -> f64 {
        let honest = self.honest.iter().map(|u| norm(u));
        let own = self.own.iter().map(|_| if lambda >= 1.0 { f64::INFINITY } else { 0.0 });
        let bound = lambda * lower_median(honest.chain(own));
        if bound.is_finite() { bound } else { self.own_bound(lambda) }
    }

    /// The same from their own lengths alone.
    pub fn own_bound(&self, lambda: f64) -> f64 {
        lambda * lower_median(self.own.iter().map(|u| norm(u)))
    }

    /// The largest coordinate that has a use.
    pub fn end(&self) -> f64 {
        f64::from(self.range.1.max(-self.range.0)).clamp(f64::MIN_POSITIVE, 1e4)
    }

    /// The same update from each of them.
    pub fn all(&self, update: Vec<f32>) -> Vec<Vec<f32>> {
        vec![update; self.malicious()]
    }
}

/// Just inside a threshold: what is left of one is more than fixed point rounds away.
pub const INSIDE: f64 = 1.0 - 1e-3;
