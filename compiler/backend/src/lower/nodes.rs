//! Lowers nodes: what is the same in both families, and for all else the one that was chosen.

use super::choose::{Made, Way};
use super::common::words::word;
use super::family::Protocols;
use super::form::{Form, Forms, Values};
use super::t1::search::{self, Search};
use super::t1::{T1, noise, truncation};
use super::t2::T2;
use super::target::Family;
use super::task::{Task, task};
use slvr_circuit::verify::MAX_ELEMENTS;
use slvr_circuit::{Dom, Op as C, ValueId};
use slvr_graph::graph::ranks::{PAIRED, Ranks};
use slvr_graph::graph::{Graph, NodeId, Op, Site, Table};
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::types::{Elem, Lots};
use std::collections::BTreeMap;

/// What is there before the first node.
pub struct Given {
    /// By index of the input, its dealt value after checks.
    pub dealt: Vec<ValueId>,
    /// The coins of each draw.
    pub coins: BTreeMap<NodeId, ValueId>,
}

/// Refuses the sorts that passes have left: those of long vectors, of which all entries are used. No protocol computes one.
pub fn refuse_sorts(g: &Graph) -> Result<(), Box<Diagnostic>> {
    let length = |id: NodeId| g.shape(id).last().copied().unwrap_or(0);
    let sort = g.ids().find(|&id| *g.op(id) == Op::Sort);
    sort.map_or(Ok(()), |id| Err(Box::new(all_in_order(g.site(id), length(id)))))
}

/// Refuses the ranks of all entries of a long vector, before any pair of them is compared.
pub fn refuse_all_in_order(l: &Values<'_>) -> Result<(), Box<Diagnostic>> {
    let g = l.facts.graph;
    let made = g.ids().filter(|id| l.plan.of(*id).made != Made::Nothing);
    let found = made.filter_map(|id| Some((id, unsearched(g, id)?))).next();
    found.map_or(Ok(()), |(id, n)| Err(Box::new(all_in_order(g.site(id), n))))
}

/// Lowers a node by the protocols that were chosen for it.
///
/// # Errors
///
/// A value of more elements than a circuit has.
pub fn lower(l: &mut Values<'_>, given: &Given, id: NodeId) -> Result<(), Box<Diagnostic>> {
    let choice = l.plan.of(id).clone();
    let g = l.facts.graph;
    if choice.made != Made::Nothing && g.elements(id) > MAX_ELEMENTS {
        return Err(Box::new(too_large(g.site(id), g.elements(id))));
    }
    let forms = match (choice.family, choice.way.clone()) {
        _ if choice.made == Made::Nothing => Forms::default(),
        (_, Way::Searched(of, how)) => searched(l, of, &how).into(),
        (Family::T1, _) => by(&T1, l, given, id),
        (Family::T2(tuning), _) => by(&T2 { tuning }, l, given, id),
    };
    l.record(id, forms);
    debug_assert!(l.is_as_planned(id), "{}: {choice:?}", l.facts.graph.op(id).name());
    Ok(())
}

fn by<F: Protocols>(family: &F, l: &mut Values<'_>, given: &Given, id: NodeId) -> Forms {
    let (g, k) = (l.facts.graph, l.facts.rings.of(id));
    match task(g, id) {
        Task::Input(i) => l.whole(id, given.dealt[i as usize]).into(),
        Task::Constant(table, elem, frac) => {
            Form::Public(constant(l, table, elem, frac.unwrap_or(0), k)).into()
        }
        Task::Draw(Lots { rows, n, k: drawn, others }) => {
            let coin = given.coins[&id];
            let drawn = l.emit.add(match others {
                true => C::Committee { coin, n, k: drawn },
                false => C::Draw { coin, rows, n, k: drawn },
            });
            Form::Public(truncation::convert(&mut l.emit, drawn, k)).into()
        }
        Task::Places(n) => {
            let index = l.operand(id, 0);
            let places = l.emit.add(C::Places { index, n });
            Form::Public(truncation::convert(&mut l.emit, places, k)).into()
        }
        Task::Noise(law, number) => {
            let drawn = noise::draw(&mut l.emit, &law.sampler(), number, g.shape(id), k);
            Form::Replicated(drawn).into()
        }
        Task::Pairs(table, n) => {
            let dom = Dom::Ring(k);
            Form::Public(l.emit.add(C::Pairs { table, n, dom })).into()
        }
        Task::Concat(axis) => concat(l, id, axis).into(),
        Task::Linear(how) => family.linear(l, id, how),
        Task::Rescale => family.rescale(l, id),
        Task::Sum(how) => family.sum(l, id, how),
        Task::Product(how) => family.product(l, id, how),
        Task::Not => family.not(l, id),
        Task::Truncation(by) => family.truncation(l, id, by),
        Task::Comparison(how) => family.comparison(l, id, how),
        Task::BitsToWords => family.bits_to_words(l, id),
        Task::Gate => family.gate(l, id),
        Task::Saturation(top) => family.saturation(l, id, top),
        Task::Selection => family.selection(l, id),
        Task::ArgMaxIs => family.argmax_is(l, id),
        Task::Function(function) => family.function(l, id, function),
    }
}

/// A value of more elements than a circuit has.
fn too_large(site: &Site, elements: u64) -> Diagnostic {
    let of = if site.name.is_empty() { String::new() } else { format!(" for `{}`", site.name) };
    Diagnostic::error(
        codes::SIZE,
        format!("{elements} values at once{of}, and a circuit has at most {MAX_ELEMENTS}"),
        site.span,
        "to compute this",
    )
    .hint(
        "use smaller sizes: fewer clients, samples or weights, or ranks of fewer entries at a time",
    )
}

/// How many entries the ranks are of that a node holds, if they are too many to compare all pairs.
fn unsearched(g: &Graph, id: NodeId) -> Option<u64> {
    let n = *g.shape(id).last()?;
    (n > PAIRED && Ranks::of(g, id).is_some()).then_some(n)
}

/// All entries of a long vector are wanted in order.
fn all_in_order(site: &Site, n: u64) -> Diagnostic {
    Diagnostic::error(
        codes::SIZE,
        format!("all of {n} entries in order, and at most {PAIRED} are compared with one another"),
        site.span,
        "to compute this",
    )
    .hint(
        "single entries are found in vectors of any length: `top_k`, `median`, `quantile`, `trimmed_mean`, up to 64 \
        entries of `sort(x)`, and `rank(x)[i] < k`",
    )
}

/// A comparison with ranks of a node's entries, without the ranks.
fn searched(l: &mut Values<'_>, of: NodeId, how: &Search) -> Form {
    let k = how.ring().unwrap_or_else(|| l.facts.rings.of(of));
    let x = l.in_ring(of, k);
    Form::Replicated(search::search(&mut l.emit, x, how))
}

fn constant(l: &mut Values<'_>, table: &Table, elem: Elem, frac: u32, k: u32) -> ValueId {
    let data = table.data.iter().map(|&x| match elem {
        Elem::Bit => u128::from(x != 0.0),
        Elem::Int | Elem::Fix => word((x * 2f64.powi(frac as i32)).round(), k),
    });
    l.emit.constant(elem == Elem::Bit, k, &table.shape, data.collect())
}

/// Parts one after another: public ones are shared first if others are secret.
fn concat(l: &mut Values<'_>, id: NodeId, axis: u64) -> Form {
    let k = l.facts.rings.of(id);
    let secret = l.facts.is_secret(id);
    let mut xs = Vec::new();
    for &a in l.facts.graph.args(id) {
        let x = l.in_ring(a, k);
        let public = secret && !l.facts.is_secret(a);
        xs.push(if public { l.emit.share_public(x) } else { x });
    }
    let joined = l.emit.add(C::Concat { xs, axis });
    l.whole(id, joined)
}
