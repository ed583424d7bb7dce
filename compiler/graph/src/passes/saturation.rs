//! Whether every value fits a ring, and what is done where it does not.
//!
//! First as it is. If a value may leave the largest ring, as in deep networks whose weights are a client's (a product
//! of twenty layers' bounds), gates and quotients are cut: [`Op::Saturate`] after each that may be larger and that this
//! value is made of, at the largest power of two for which all fits. (To refuse such programs would be to refuse
//! ResNet, and to trust activations would let a client wrap them.) In a network the same where a value would need more
//! than 64 bits: words of 128 cost more than the few comparisons. There honest activations are far below it; elsewhere
//! a value that fits some word is left as it is. The certificate says where cuts are. What still does not fit is
//! refused.

use super::partial_products;
use crate::analysis::behind::behind;
use crate::analysis::cuts;
use crate::analysis::guard::{self, Guard};
use crate::analysis::interval::size;
use crate::analysis::ranges::{Basis, Bound, Ranges};
use crate::analysis::rings::{Rings, size_bits};
use crate::graph::{Class, Function, Graph, NodeId, Op};
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;
use std::ops::RangeInclusive;

/// Cuts that are tried in networks, largest first: values stay within +-2^this.
pub const TOPS: RangeInclusive<u32> = 4..=20;
/// The same where no network is cut.
pub const WIDE_TOPS: RangeInclusive<u32> = 4..=60;
/// Values that cuts of networks make smaller get to fit this many bits.
const NARROW: u32 = 64;
/// Operands and results of elementary functions are words of 64 bits, which are truncated: their sizes are below
/// 2^61.
const FUNCTIONS: u32 = 62;

/// Operands of exponentials and tangents are cut at 2^this: beyond it these do not change.
const STEADY: u32 = 5;

/// Operations between a value and a function of it.
const STEPS: usize = 64;
/// Factors of at most this make nothing larger, but for rounding.
const SHRINKS: f64 = 1.001;

/// A graph in which every value fits.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The graph, with cuts where they were needed.
    pub graph: Graph,
    pub ranges: Ranges,
    /// Where it is cut, if it is.
    pub cut: Option<Cut>,
}

/// Where gates and quotients are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Gates at +-2^this, products with a reciprocal at half of it.
    pub top: u32,
    /// Bits of the words that something would not fit that is made of the values that are cut.
    pub word: u32,
}

/// Bounds of all nodes of the graph of a [`Basis`], cutting where a value would need more than `most` bits.
///
/// # Errors
///
/// The first value that does not fit.
pub fn fit(basis: &Basis<'_>, guards: &[Guard], most: u32) -> Result<Fitted, Box<Diagnostic>> {
    let graph = basis.graph();
    let inputs = guard::bounds(graph, guards);
    let mut ranges = Ranges::on(basis, &inputs);
    let parts = partial_products::run(graph, &ranges);
    if let Some(parts) = &parts {
        ranges = Ranges::on(&basis.version(parts), &inputs);
    }
    let graph = parts.as_ref().unwrap_or(graph);
    let steady = steady(graph, &ranges);
    if let Some(steady) = &steady {
        ranges = Ranges::on(&basis.version(steady), &inputs);
    }
    let graph = steady.as_ref().unwrap_or(graph);
    let gates: Vec<bool> = graph.ids().map(|id| is_gate(graph, &ranges, id)).collect();
    let networks = networks(graph, &gates);
    let plan = Plan { graph, inputs: &inputs, basis, gates, networks, most };
    let beyond = graph.ids().find(|&id| bits(graph, &ranges, id) > limit(graph, id, most));
    match (plan.fitted(&ranges), beyond) {
        (Some(fitted), _) => Ok(fitted),
        (None, None) => Ok(Fitted { graph: graph.clone(), ranges, cut: None }),
        (None, Some(beyond)) => Err(Box::new(refuse(graph, &ranges, beyond, most))),
    }
}

/// The graph with operands cut at 2^[`STEADY`] that have no words otherwise, of functions that are as they are there
/// for all that is larger; none, if there is no such operand.
fn steady(graph: &Graph, ranges: &Ranges) -> Option<Graph> {
    let large = |id: NodeId| {
        let operand = || ranges.raw[graph.arg(id, 0).index()];
        cuts::is_steady(graph.op(id), STEADY) && size_bits(operand()) + 1 > FUNCTIONS
    };
    graph.ids().any(large).then(|| {
        graph.replace(|new, id, args| {
            large(id).then(|| {
                let cut = new.add(Op::Saturate(STEADY), args, graph.node(id).site);
                new.keep(graph, id, &[cut])
            })
        })
    })
}

/// What is cut, and for which values.
struct Plan<'a> {
    graph: &'a Graph,
    inputs: &'a [Bound],
    basis: &'a Basis<'a>,
    /// Nodes that are gates.
    gates: Vec<bool>,
    /// Nodes that are gates of networks, or depend on one.
    networks: Vec<bool>,
    /// Bits of the largest words.
    most: u32,
}

/// A graph with cuts.
struct Tried {
    graph: Graph,
    ranges: Ranges,
    /// Bits that each node of the graph without cuts takes here, cut or not.
    bits: Vec<u32>,
}

impl Plan<'_> {
    /// The graph with the cuts that it takes for all values to fit; none if it takes none, or if they are not enough.
    fn fitted(&self, ranges: &Ranges) -> Option<Fitted> {
        let g = self.graph;
        let all: Vec<bool> =
            g.ids().map(|id| self.gates[id.index()] || is_quotient(g, id)).collect();
        let own: Vec<u32> = g.ids().map(|id| bits(g, ranges, id)).collect();
        let is_large = |id: NodeId| own[id.index()] > limit(g, id, self.most);
        let is_wide = |id: NodeId| {
            let secret = g.ty(id).secrecy == Secrecy::Secret;
            self.networks[id.index()] && secret && own[id.index()] > NARROW
        };
        let (large, wide) = (g.ids().any(is_large), g.ids().any(is_wide));
        if !large && !wide {
            return None;
        }
        let tight = self.cut(*TOPS.start(), &all);
        // What no cut makes smaller is no reason for one.
        let is_narrowed = |id: NodeId| is_wide(id) && tight.bits[id.index()] <= NARROW;
        let of_large = g.ancestors_of(is_large);
        let of_wide = g.ancestors_of(is_narrowed);
        let in_network = |id: NodeId| self.networks[id.index()] || g.site(id).network;
        let cut = |id: NodeId| {
            let i = id.index();
            all[i] && (of_large[i] || of_wide[i] && in_network(id))
        };
        let which: Vec<bool> = g.ids().map(cut).collect();
        let network = g.ids().any(|id| which[id.index()] && in_network(id));
        if !which.contains(&true) {
            return None;
        }
        let tight = self.cut(*TOPS.start(), &which);
        // What no cut makes smaller may be wider; for the rest of a network 64 bits are enough.
        let narrow = |id: NodeId| self.networks[id.index()] && tight.bits[id.index()] <= NARROW;
        let room = |id: NodeId| {
            let most = limit(g, id, self.most);
            if narrow(id) { most.min(NARROW) } else { most }
        };
        let fits = |tried: &Tried| g.ids().all(|id| tried.bits[id.index()] <= room(id));
        if !fits(&tight) {
            return None;
        }
        let tops = if network { TOPS } else { WIDE_TOPS };
        // Functions have words of 64 bits.
        let is_function = |id: NodeId| g.op(id).class() == Class::Function;
        let in_64 = network || g.ids().filter(|&id| is_large(id)).all(is_function);
        let word = if in_64 { self.most.min(NARROW) } else { self.most };
        tops.rev().find_map(|top| {
            let tried = self.cut(top, &which);
            let cut = Some(Cut { top, word });
            fits(&tried).then_some(Fitted { graph: tried.graph, ranges: tried.ranges, cut })
        })
    }

    /// The graph with those of these gates that may exceed 2^top cut there and these products with a reciprocal at
    /// 2^(top - 1).
    fn cut(&self, top: u32, which: &[bool]) -> Tried {
        // Cutting one makes all behind it smaller: those that are small if all are cut are not cut.
        let (all, nodes) = cut_where(self.graph, &self.gates, top, which);
        let ranges = Ranges::on(&self.basis.version(&all), self.inputs);
        let is_cut = |id: NodeId| {
            let [gate, _] = nodes[id.index()];
            let large = || size(ranges.real(&all, gate)) > f64::from(top).exp2();
            which[id.index()] && (!self.gates[id.index()] || large())
        };
        let needed: Vec<bool> = self.graph.ids().map(is_cut).collect();
        let (graph, nodes) = cut_where(self.graph, &self.gates, top, &needed);
        let ranges = Ranges::on(&self.basis.version(&graph), self.inputs);
        let bits = |ids: &[NodeId; 2]| ids.map(|id| bits(&graph, &ranges, id)).into_iter().max();
        let bits = nodes.iter().map(|ids| bits(ids).unwrap_or(0)).collect();
        Tried { graph, ranges, bits }
    }
}

/// The nodes of a graph that are secret gates of networks, or depend on one.
fn networks(graph: &Graph, gates: &[bool]) -> Vec<bool> {
    graph.descendants_of(|id| gates[id.index()] && graph.site(id).network)
}

fn limit(graph: &Graph, id: NodeId, most: u32) -> u32 {
    let function = graph.op(id).class() == Class::Function;
    if function { most.min(FUNCTIONS) } else { most }
}

/// Bits that a node takes: for its value and for what its protocol adds.
fn bits(graph: &Graph, ranges: &Ranges, id: NodeId) -> u32 {
    let own = ranges.bits(id).max(Rings::needed(graph, ranges, id));
    let operands = operands(graph, ranges, id);
    operands.into_iter().map(|(bits, _)| bits).fold(own, u32::max)
}

/// The operands of a function, with the bits of each. Their sizes matter: -2^n is no larger than 2^n.
fn operands(graph: &Graph, ranges: &Ranges, id: NodeId) -> Vec<(u32, NodeId)> {
    let function = graph.op(id).class() == Class::Function;
    let args = if function { graph.args(id) } else { &[] };
    args.iter().map(|&a| (size_bits(ranges.raw[a.index()]) + 1, a)).collect()
}

/// A relu, or in a network what is multiplied by a function of itself that is within -1..1, as `x * sigmoid(x)`.
fn is_gate(graph: &Graph, ranges: &Ranges, id: NodeId) -> bool {
    let args = graph.args(id);
    let shrinks = |&by: &NodeId| {
        let number = graph.ty(by).elem == Elem::Fix && graph.ty(by).secrecy == Secrecy::Secret;
        number && size(ranges.real(graph, by)) <= SHRINKS
    };
    let gate = match graph.op(id) {
        Op::Gate => true,
        Op::Mul => {
            graph.site(id).network && {
                let of_other =
                    |(i, by): (usize, &NodeId)| shrinks(by) && is_of(graph, *by, args[1 - i]);
                args.iter().enumerate().any(of_other)
            }
        }
        _ => false,
    };
    gate && graph.ty(id).secrecy == Secrecy::Secret
}

/// Whether a value is computed of another one, in a few steps.
fn is_of(graph: &Graph, id: NodeId, x: NodeId) -> bool {
    let rounded = |op: &Op| op.is_layout() || matches!(op, Op::Trunc(_) | Op::Shift(_));
    let x = behind(graph, x, rounded);
    let mut open = vec![id];
    for _ in 0..STEPS {
        match open.pop() {
            Some(id) if id == x => return true,
            // Operands come before their users.
            Some(id) => open.extend(graph.args(id).iter().copied().filter(|&a| a >= x)),
            None => return false,
        }
    }
    false
}

/// A product with a reciprocal. Also of a public model: its images are secret.
fn is_quotient(graph: &Graph, id: NodeId) -> bool {
    *graph.op(id) == Op::Mul && graph.args(id).iter().any(|&a| reciprocal(graph, a))
}

/// The graph with these gates cut at 2^top and these products with a reciprocal at half of it, and what each node has
/// become: as it was, and cut.
fn cut_where(graph: &Graph, gates: &[bool], top: u32, which: &[bool]) -> (Graph, Vec<[NodeId; 2]>) {
    let mut nodes = Vec::with_capacity(graph.len());
    let cut = graph.rewrite(|new, id, args| {
        let kept = new.keep(graph, id, args);
        let at = if gates[id.index()] { top } else { top - 1 };
        let cut = match which[id.index()] {
            true => new.add(Op::Saturate(at), &[kept], graph.node(id).site),
            false => kept,
        };
        nodes.push([kept, cut]);
        cut
    });
    (cut, nodes)
}

/// Whether a value is a reciprocal, behind moves of its elements and powers of two. One of many fraction bits is a
/// quotient of a constant.
fn reciprocal(graph: &Graph, id: NodeId) -> bool {
    let id = behind(graph, id, |op| op.is_layout() || matches!(op, Op::MulPow2(_)));
    match graph.op(id) {
        Op::Function(Function::Recip | Function::RecipSqrt) => true,
        Op::Div => graph.constant(graph.arg(id, 0)).is_some(),
        _ => false,
    }
}

fn refuse(graph: &Graph, ranges: &Ranges, id: NodeId, most: u32) -> Diagnostic {
    let site = graph.site(id);
    let needs = bits(graph, ranges, id);
    // What is too large of a function is often its operand: e^x is small where x is far below 0.
    let largest = operands(graph, ranges, id).into_iter().max_by_key(|(bits, _)| *bits);
    let operand = largest.filter(|(bits, _)| *bits > ranges.bits(id)).map(|(_, a)| a);
    let (lo, hi) = ranges.real(graph, operand.unwrap_or(id));
    let of = if operand.is_some() { "an operand has values" } else { "values" };
    let what = graph.op(id).name();
    let by = if site.name.is_empty() { String::new() } else { format!(" of `{}`", site.name) };
    let width = limit(graph, id, most);
    let place = site.place(graph.op(id));
    let title = format!("`{what}`{by} needs {needs} bits, and has {width}");
    let values = format!("{of} from {lo:.3e} to {hi:.3e}, by the declared ranges");
    let error = match place.call {
        Some(call) => {
            Diagnostic::error(codes::OVERFLOW, title, call, "called here").label(place.span, values)
        }
        None => Diagnostic::error(codes::OVERFLOW, title, place.span, values),
    };
    error.hint(
        "keep the intermediate value small: divide before multiplying, or `clamp` it to what honest values \
         stay within",
    )
}
