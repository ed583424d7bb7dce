//! Where a search is faster than ranks.
//!
//! Ranks of n entries compare all pairs; beyond a few thousand entries these cost more than the rounds of a search
//! ([`crate::lower::t1::search`]). A search answers questions whether a rank is below a number or equal to it, each
//! by itself: ranks that are read for anything else stay.

use super::common::words::{bits_for, ring_for};
use super::facts::Facts;
use super::t1::comparison;
use super::t1::search::{Search, Wanted, price};
use crate::cost::Tuning;
use slvr_graph::graph::ranks::{PAIRED, Ranks};
use slvr_graph::graph::{Graph, NodeId, Op};

/// Most bits that are found in one step.
const MOST: u32 = 5;

/// Which comparisons with ranks become searches among the entries that are ranked, and which nodes are read then.
pub struct Searches {
    found: Vec<Option<(NodeId, Search)>>,
    read: Vec<bool>,
}

impl Searches {
    pub fn of(facts: &Facts<'_>) -> Searches {
        let g = facts.graph;
        let found: Vec<Option<(NodeId, Search)>> = g.ids().map(|id| search(facts, id)).collect();
        let mut read = vec![found.iter().all(Option::is_none); g.len()];
        g.outputs.iter().for_each(|o| read[o.node.index()] = true);
        for id in g.ids().rev() {
            // Inputs are dealt, whoever reads them.
            read[id.index()] |= matches!(g.op(id), Op::Input(_));
            match &found[id.index()] {
                _ if !read[id.index()] => {}
                Some((of, _)) => read[of.index()] = true,
                None => g.args(id).iter().for_each(|a| read[a.index()] = true),
            }
        }
        Searches { found, read }
    }

    /// The node whose entries are searched for a comparison, and how.
    pub fn at(&self, id: NodeId) -> Option<(NodeId, Search)> {
        self.found[id.index()]
    }

    /// Whether a node is read: ranks are not, where their entries are searched.
    pub fn is_read(&self, id: NodeId) -> bool {
        self.read[id.index()]
    }
}

/// The search that a comparison with a rank becomes, if that is faster for all that reads the ranks.
fn search(facts: &Facts<'_>, id: NodeId) -> Option<(NodeId, Search)> {
    let g = facts.graph;
    let (at, _) = wanted(g, id)?;
    let ranks = Ranks::of(g, at)?;
    if facts.graph.is_output(at) || !facts.is_secret(ranks.of) {
        return None;
    }
    let (lo, hi) = facts.ranges.raw[ranks.of.index()];
    let range = (lo.floor() as i128, hi.ceil() as i128);
    let users = g.users(at);
    // The one that takes least time, of all that read the ranks together.
    let n = *g.shape(at).last()?;
    let rows = g.elements(at) / n;
    let tuning = facts.family.tuning();
    let mut all = Vec::new();
    for &user in users {
        all.push((user, wanted(g, user).filter(|(x, _)| *x == at)?.1));
    }
    let of = |wanted: Wanted, digit: u32| Search { wanted, first: ranks.first, range, digit };
    let time = |digit: &u32| {
        let prices = all.iter().map(|&(_, wanted)| price(&of(wanted, *digit), rows, n));
        let (rounds, bits) =
            prices.fold((0.0, 0.0), |(r, b): (f64, f64), (s, c)| (r.max(s), b + c));
        tuning.time(rounds, bits, rows * n)
    };
    let digit = (1..=MOST).min_by(|a, b| time(a).total_cmp(&time(b)))?;
    let (_, own) = all.iter().find(|(user, _)| *user == id)?;
    let own = of(*own, digit);
    own.ring()?;
    let faster = || time(&digit) < pairs(facts, ranks.of, n, tuning);
    (n > PAIRED || faster()).then_some((ranks.of, own))
}

/// Seconds that ranks of rows of n entries take.
fn pairs(facts: &Facts<'_>, of: NodeId, n: u64, tuning: Tuning) -> f64 {
    let rows = facts.graph.elements(of) / n;
    let width = facts.rings.fixed().unwrap_or_else(|| facts.ranges.difference_bits(of, of));
    let count = rows * (n * (n - 1) / 2);
    let (rounds, bits) = comparison::price(width, count);
    tuning.time(rounds + 2.0, bits + 3.0 * f64::from(ring_for(bits_for(n) + 1)), count)
}

/// What a comparison asks of a rank, with the ranks.
fn wanted(g: &Graph, id: NodeId) -> Option<(NodeId, Wanted)> {
    let args = g.args(id);
    let (ranks, of) = match (g.op(id), g.constant(*args.first()?), g.constant(*args.get(1)?)) {
        (Op::Lt, None, Some(c)) => (args[0], Wanted::Before(c as u64)),
        (Op::Eq, None, Some(c)) => (args[0], Wanted::At(c as u64)),
        (Op::Eq, Some(c), None) => (args[1], Wanted::At(c as u64)),
        _ => return None,
    };
    let n = *g.shape(ranks).last()?;
    let inside = match of {
        Wanted::Before(c) => (1..=n).contains(&c),
        Wanted::At(c) => c < n,
    };
    (inside && g.shape(id) == g.shape(ranks)).then_some((ranks, of))
}
