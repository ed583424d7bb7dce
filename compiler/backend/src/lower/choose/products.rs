//! How family T2 makes products.

use super::groups::{Earlier, ONE_DEALER};
use super::plan::{Made, Way};
use crate::lower::conjunctions::conjunction;
use crate::lower::facts::Facts;
use crate::lower::task::{Linear, Product, Task, task};
use slvr_circuit::{ValueId, lead};
use slvr_graph::graph::{NodeId, Op};

/// A choice of family T2 before its tuning is added: groups, form and way.
pub type Proposal = (u32, Made, Way);

/// A pair, by the operation's own protocol.
pub fn pair(groups: u32) -> Proposal {
    (groups, Made::Pair, Way::Own)
}

/// A product of any kind.
pub fn product(c: &Earlier<'_>, id: NodeId, how: Product) -> Option<Proposal> {
    let g = c.facts.graph;
    let args = [g.arg(id, 0), g.arg(id, 1)];
    if c.facts.is_bit(id)
        && let Some((bits, groups)) = all_bits(c, id)
    {
        return Some((groups, Made::Pair, Way::Conjunction(bits)));
    }
    if how == (Product::MatMul { trans_b: true })
        && let Some(groups) = entries(c, id)
    {
        return Some((groups, Made::Pair, Way::Entries));
    }
    let op = how.instruction(ValueId(0), ValueId(1));
    let secret = args.map(|x| c.facts.is_secret(x));
    let any = args.iter().any(|&x| c.is_split(x));
    if secret != [true; 2] {
        // Public times secret is linear.
        if !any && how == Product::Elementwise {
            return None;
        }
        let i = usize::from(!secret[0]);
        let k = c.facts.operand_ring(id, i);
        let groups = c.common(id, &args, &op)?;
        let shrinks = g.elements(id) <= g.elements(args[i]);
        let pair = shrinks && c.hands_pair(args[i], k, groups);
        return Some((groups, if pair { Made::Pair } else { Made::Split }, Way::Own));
    }
    // What is only opened need not be reshared, and large replicated values stay as they are.
    let most = args.iter().map(|&x| g.elements(x)).max().unwrap_or(0);
    if is_only_opened(c, id) || !any && most > 64 * g.elements(id) {
        return None;
    }
    if let Some(groups) = shared_weights(c, id, how) {
        return Some((groups, Made::Pair, Way::Copies));
    }
    // What a product takes of its operands' new dealers is shared already, so here values that will be
    // combined across clients get one dealer for all in no round; a comparison would wait for it.
    let small = most.max(g.elements(id)) <= ONE_DEALER;
    let groups = match small && c.fits(&args, 1, &op) {
        true => 1,
        false => c.common(id, &args, &op)?,
    };
    Some(pair(groups))
}

/// Groups for a product of many samples with one secret matrix or kernel: a divisor of the samples, at
/// least 3, so that each shard has a dealer of its own.
fn shared_weights(c: &Earlier<'_>, id: NodeId, how: Product) -> Option<u32> {
    let g = c.facts.graph;
    let (x, w) = (g.arg(id, 0), g.arg(id, 1));
    let (sx, sw) = (g.shape(x), g.shape(w));
    let is_shared = how != Product::Elementwise && sx.first() == Some(&1) && sw.first() == Some(&1);
    let samples = *sx.get(1).filter(|_| is_shared)?;
    let small = g.elements(id).max(g.elements(x)) <= ONE_DEALER;
    let own = c.plan.groups(x).filter(|&k| k >= 3 && samples.is_multiple_of(k.into()));
    let new = (3..=8).find(|&k| !small && samples.is_multiple_of(u64::from(k)));
    // Copies of the weights must stay small beside what they are for.
    own.filter(|&k| k <= 8).or(new)
}

/// Whether all that is made of a node is linear and revealed.
fn is_only_opened(c: &Earlier<'_>, id: NodeId) -> bool {
    let users = c.facts.graph.users(id);
    let opened = c.facts.is_output(id);
    (opened || !users.is_empty())
        && users.iter().all(|&u| {
            let linear = matches!(
                task(c.facts.graph, u),
                Task::Linear(
                    Linear::Neg
                        | Linear::Scale(_)
                        | Linear::Sum(_)
                        | Linear::Reshape(_)
                        | Linear::Slice { .. }
                )
            );
            linear && is_only_opened(c, u)
        })
}

/// The last of a tree of ands over the last axis of some bits: a product of all of them at once.
fn all_bits(c: &Earlier<'_>, id: NodeId) -> Option<(NodeId, u32)> {
    let g = c.facts.graph;
    let shape = g.shape(id);
    let bits = conjunction(g, id)?;
    let groups = c.plan.groups(bits)?;
    let last = shape.len().checked_sub(1)?;
    let mixes = groups > 1 && (lead(shape) >= last || g.elements(id) == 1);
    (g.shape(bits)[..last] == shape[..last] && !mixes).then_some((bits, groups))
}

/// Inner products of rows with bits as words: a choice of each entry instead of words of the bits.
fn entries(c: &Earlier<'_>, id: NodeId) -> Option<u32> {
    let g = c.facts.graph;
    let (x, z) = (g.arg(id, 0), g.arg(id, 1));
    let [n, 1, columns] = *g.shape(x) else { return None };
    let word = words_of(&c.facts, x)?;
    if g.elements(word) != g.elements(x) || g.shape(z) != [n, 1, columns] || !c.facts.is_secret(z) {
        return None;
    }
    let bits = g.arg(word, 0);
    let groups = c.plan.groups(bits)?;
    // Rows are what shards are parts of, or there is one shard.
    let rows = groups == 1 || groups > 1 && n.is_multiple_of(groups.into()) && n > 1;
    let mixes = g.shape(bits).first() == Some(&1) && groups > 1;
    (rows && c.facts.is_bit(bits) && !mixes).then_some(groups)
}

/// The conversion of bits to words that a value is, but for its shape.
pub fn words_of(facts: &Facts<'_>, id: NodeId) -> Option<NodeId> {
    let g = facts.graph;
    let mut word = id;
    while let Op::Reshape(_) = g.op(word) {
        word = g.arg(word, 0);
    }
    (*g.op(word) == Op::ToInt).then_some(word)
}
