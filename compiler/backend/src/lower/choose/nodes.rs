//! Chooses for each task.

use super::groups::{DIFFERENCE, Earlier, ONE_DEALER, PRODUCT};
use super::plan::{Choice, Made, Plan, Way};
use super::products::{Proposal, pair, product};
use super::search::search;
use super::tables::table;
use crate::cost::Tuning;
use crate::lower::common::lookup::pays;
use crate::lower::facts::Facts;
use crate::lower::t1::search::Search;
use crate::lower::t2::functions;
use crate::lower::target::Family;
use crate::lower::task::{Comparison, Linear, Sum, Task, task};
use slvr_circuit::{Dom, Hold, Op as C, Type, ValueId, verify};
use slvr_graph::analysis::truth_tables::{Functions, MOST_BITS};
use slvr_graph::graph::{NodeId, Op};
use std::rc::Rc;

/// Of nodes of more elements no truth tables are looked for.
const MOST_ELEMENTS: u64 = 1 << 14;

/// The choices for all nodes of a graph.
pub fn plan(facts: Facts<'_>) -> Plan {
    let mut tables = Functions::new(facts.graph, MOST_ELEMENTS);
    let mut earlier = Earlier { facts, plan: Plan::default() };
    let searches: Vec<Option<(NodeId, Search)>> =
        facts.graph.ids().map(|id| search(&facts, id)).collect();
    let read = read(&facts, &searches);
    for id in facts.graph.ids() {
        let t1 = |made, way| Choice { family: Family::T1, groups: 1, made, way };
        let choice = match searches[id.index()] {
            // What only ranks are made of that nobody reads is not made.
            _ if !read[id.index()] => t1(Made::Nothing, Way::Own),
            Some((of, search)) => t1(Made::Replicated, Way::Searched(of, search)),
            None => choose(&earlier, &mut tables, id),
        };
        earlier.plan.push(choice);
    }
    earlier.plan
}

/// Which nodes are read, where searches read entries instead of their ranks. Without searches all are.
fn read(facts: &Facts<'_>, searches: &[Option<(NodeId, Search)>]) -> Vec<bool> {
    let g = facts.graph;
    if searches.iter().all(Option::is_none) {
        return vec![true; g.len()];
    }
    let mut read = vec![false; g.len()];
    g.outputs.iter().for_each(|o| read[o.node.index()] = true);
    // Inputs are dealt, whoever reads them.
    g.ids().filter(|id| matches!(g.op(*id), Op::Input(_))).for_each(|id| read[id.index()] = true);
    for id in g.ids().rev() {
        if !read[id.index()] {
            continue;
        }
        match &searches[id.index()] {
            Some((of, _)) => read[of.index()] = true,
            None => g.args(id).iter().copied().for_each(|a| read[a.index()] = true),
        }
    }
    read
}

fn choose(c: &Earlier<'_>, tables: &mut Functions<'_>, id: NodeId) -> Choice {
    let t1 = |made| Choice { family: Family::T1, groups: 1, made, way: Way::Own };
    if c.facts.compared(id).is_some() {
        return t1(Made::Nothing);
    }
    if !c.facts.is_secret(id) {
        return t1(Made::Public);
    }
    if let Family::T2(tuning) = c.facts.family
        && let Some((groups, made, way)) = dealt(c, tables, id, tuning)
    {
        return Choice { family: Family::T2(tuning), groups, made, way };
    }
    t1(symmetric(c, id))
}

/// The form that family T1 leaves a secret value in.
fn symmetric(c: &Earlier<'_>, id: NodeId) -> Made {
    let (g, k) = (c.facts.graph, c.facts.rings.of(id));
    let additive = |x: NodeId| c.plan.hands_over(&c.facts, x, Made::Additive, k);
    // The result must not be larger than the product it is added to: a reshare costs by size.
    let shrinks = |x: NodeId| g.elements(id) <= g.elements(x);
    let is_additive = match task(g, id) {
        Task::Linear(_) => shrinks(g.arg(id, 0)) && additive(g.arg(id, 0)),
        Task::Rescale => {
            let x = g.arg(id, 0);
            let same = c.facts.rings.of(x) == k && c.plan.of(x).made == Made::Additive;
            same || additive(x)
        }
        Task::Sum(Sum::Add | Sum::Sub) => {
            let (a, b) = (g.arg(id, 0), g.arg(id, 1));
            a != b && [a, b].into_iter().any(|x| shrinks(x) && additive(x))
        }
        Task::Product(_) => [0, 1].iter().all(|&i| c.facts.is_secret(g.arg(id, i))),
        Task::Input(_)
        | Task::Constant(..)
        | Task::Draw(_)
        | Task::Places(_)
        | Task::Noise(..)
        | Task::Pairs(..)
        | Task::Concat(_)
        | Task::Sum(Sum::Xor)
        | Task::Not
        | Task::Truncation(_)
        | Task::Comparison(_)
        | Task::BitsToWords
        | Task::Gate
        | Task::Saturation(_)
        | Task::Selection
        | Task::ArgMaxIs
        | Task::Function(_) => false,
    };
    if is_additive { Made::Additive } else { Made::Replicated }
}

/// A secret value in family T2; none where it has no protocol there, or nothing speaks for it.
fn dealt(
    c: &Earlier<'_>,
    tables: &mut Functions<'_>,
    id: NodeId,
    tuning: Tuning,
) -> Option<Proposal> {
    let g = c.facts.graph;
    let args = g.args(id);
    if c.facts.is_bit(id)
        && let Some(table) = table(c, tables, id, None, tuning)
    {
        return Some((1, Made::Pair, Way::Table(table)));
    }
    match task(g, id) {
        Task::Linear(how) => linear(c, id, how),
        Task::Rescale => linear(c, id, Linear::Reshape(g.shape(id))),
        Task::Sum(how) => sum(c, id, how),
        Task::Product(how) => product(c, id, how),
        Task::Not => {
            let groups = c.plan.groups(args[0])?;
            let made = if c.hands_pair(args[0], 1, groups) { Made::Pair } else { Made::Split };
            Some((groups, made, Way::Own))
        }
        Task::Truncation(_) => Some((c.groups_or_default(args[0]), Made::Split, Way::Own)),
        Task::Comparison(Comparison::Less | Comparison::Equal) => {
            c.common(id, args, &DIFFERENCE).map(pair)
        }
        Task::BitsToWords => {
            let operand = c.plan.of(args[0]);
            if matches!(operand.way, Way::Counted(_)) {
                return Some((operand.groups, Made::Pair, Way::WithOperand));
            }
            let k = c.facts.rings.of(id);
            Some(match table(c, tables, args[0], Some(k), tuning) {
                Some(table) => (1, Made::Pair, Way::Table(table)),
                None => pair(c.groups_or_default(args[0])),
            })
        }
        Task::Gate => c.common(id, args, &PRODUCT).map(pair),
        Task::Saturation(_) => {
            let Some((s, _)) = c.facts.compared(args[0]) else {
                return Some(pair(c.groups_or_default(args[0])));
            };
            let v = g.arg(args[0], 0);
            c.common(id, &[v, s], &PRODUCT).map(pair)
        }
        Task::Selection => {
            if !args.iter().all(|&x| c.facts.is_secret(x)) {
                return None;
            }
            let groups = c.common(id, &args[1..], &DIFFERENCE)?;
            let whole = C::Broadcast(ValueId(0), g.shape(id).to_vec());
            c.fits(&args[..1], groups, &whole).then(|| pair(groups))
        }
        Task::ArgMaxIs => argmax_is(c, id, tuning),
        Task::Function(f) => {
            let chosen = functions::choose(&c.facts, id, f, tuning)?;
            let made = if chosen.is_settled() { Made::Split } else { Made::Pair };
            let groups = c.groups_or_default(args[0]);
            Some((groups, made, Way::Function(Rc::new(chosen))))
        }
        Task::Input(_)
        | Task::Constant(..)
        | Task::Draw(_)
        | Task::Places(_)
        | Task::Noise(..)
        | Task::Pairs(..)
        | Task::Concat(_) => None,
    }
}

/// A linear operation of an operand that is split already.
fn linear(c: &Earlier<'_>, id: NodeId, how: Linear<'_>) -> Option<Proposal> {
    let (g, k) = (c.facts.graph, c.facts.rings.of(id));
    let x = g.arg(id, 0);
    let groups = c.plan.groups(x)?;
    let dom = if c.facts.is_bit(x) { Dom::Bits(1) } else { Dom::Ring(k) };
    let mut types = vec![Type::new(Hold::Own, dom, g.shape(x).to_vec()).grouped(groups)];
    if how.has_index() {
        let index = g.arg(id, 1);
        let dom = Dom::Ring(c.facts.rings.of(index));
        types.push(Type::new(Hold::Public, dom, g.shape(index).to_vec()));
    }
    let op = how.instruction(ValueId(0), ValueId(1), k);
    verify::infer(&op, &|v| &types[v.index()]).ok()?;
    let shrinks = g.elements(id) <= g.elements(x);
    let pair = shrinks && c.hands_pair(x, k, groups);
    Some((groups, if pair { Made::Pair } else { Made::Split }, Way::Own))
}

/// A sum of which an operand is split already.
fn sum(c: &Earlier<'_>, id: NodeId, how: Sum) -> Option<Proposal> {
    let (g, k) = (c.facts.graph, c.facts.rings.of(id));
    let (a, b) = (g.arg(id, 0), g.arg(id, 1));
    if !c.is_split(a) && !c.is_split(b) {
        return None;
    }
    let groups = c.common(id, &[a, b], &how.instruction(ValueId(0), ValueId(1)))?;
    let pending = |x: NodeId| g.elements(id) <= g.elements(x) && c.hands_pair(x, k, groups);
    let pair = a != b && (pending(a) || pending(b));
    Some((groups, if pair { Made::Pair } else { Made::Split }, Way::Own))
}

/// An argmax test: margins, their signs, and one product of all of an element's bits.
fn argmax_is(c: &Earlier<'_>, id: NodeId, tuning: Tuning) -> Option<Proposal> {
    let g = c.facts.graph;
    let (z, y) = (g.arg(id, 0), g.arg(id, 1));
    if !c.facts.is_secret(z) || !c.facts.is_secret(y) {
        return None;
    }
    let (classes, outer) = g.shape(z).split_last()?;
    let n: u64 = outer.iter().product();
    // Few logits get one dealer for all here, where it is free: what is made of them is combined across
    // samples and clients soon.
    let groups = if g.elements(z) <= ONE_DEALER { 1 } else { c.groups_or_default(z) };
    let whole = Type::new(Hold::Own, Dom::Ring(64), vec![n, 1, *classes]).grouped(groups);
    let rows = Type { shape: vec![n, 1], ..whole.clone() };
    // Classes become planes, so samples must be what shards are parts of.
    if ![&whole, &rows].iter().all(|t| verify::check_type(t).is_ok()) || n == 1 && groups > 1 {
        return None;
    }
    // What is only counted becomes a word in the same step.
    let counted = match g.users(id)[..] {
        [one] if *g.op(one) == Op::ToInt && !c.facts.is_output(id) => Some(one),
        _ => None,
    };
    let pays = |&one: &NodeId| {
        let k = u64::from(c.facts.rings.of(one));
        *classes <= MOST_BITS as u64 && pays(k << classes, n, 1.0, tuning)
    };
    let way = counted.filter(pays).map_or(Way::Own, Way::Counted);
    Some((groups, Made::Pair, way))
}
