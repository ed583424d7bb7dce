//! Nodes by family T2. Operands are asked for as splits in the groups that were chosen for the node.

mod choices;
mod sums;

use super::functions::Answer;
use super::{comparison, gates, input_checks, product, selection, truncation};
use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::choose::Way;
use crate::lower::common::lookup::lookup;
use crate::lower::common::masked::{self, Pair, Split};
use crate::lower::family::Protocols;
use crate::lower::form::{Form, Forms, LowBits, Values};
use crate::lower::task::{Comparison, Function, Linear, Product, Sum};
use slvr_circuit::{Op as C, ValueId};
use slvr_graph::graph::NodeId;
use std::collections::BTreeMap;

/// The family, for a network.
pub struct T2 {
    pub tuning: Tuning,
}

impl T2 {
    /// The groups of what clients give: with three or more clients, each client's value is in one shard.
    fn client_groups(e: &Emit, x: ValueId) -> u32 {
        let clients = e.ty(x).shape.first().copied().unwrap_or(1);
        if clients >= 3 { clients as u32 } else { 1 }
    }
}

fn pair(x: Pair) -> Forms {
    Form::Pair(x).into()
}

impl Protocols for T2 {
    type Good = Pair;

    fn linear(&self, l: &mut Values<'_>, id: NodeId, how: Linear<'_>) -> Forms {
        let (g, k, groups) = (l.facts.graph, l.facts.rings.of(id), l.plan.of(id).groups);
        let x = g.arg(id, 0);
        let index = if how.has_index() { l.replicated(g.arg(id, 1)) } else { ValueId(0) };
        let op = |v| how.instruction(v, index, k);
        let shrinks = g.elements(id) <= g.elements(x);
        if let Some(p) = if shrinks { l.take_pair(x, k, groups) } else { None } {
            return pair(masked::linear_of_pair(&mut l.emit, p, op));
        }
        let s = l.split_in(x, k, groups);
        let low = l.low_bits(x, k, groups);
        let e = &mut l.emit;
        let low = low.map(|low| LowBits { split: masked::linear(e, &low.split, op), ..low });
        Forms::split(masked::linear(e, &s, op), low)
    }

    fn rescale(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        self.linear(l, id, Linear::Reshape(l.facts.graph.shape(id)))
    }

    fn sum(&self, l: &mut Values<'_>, id: NodeId, how: Sum) -> Forms {
        if let Way::Table(_) = l.plan.of(id).way {
            return table(l, id);
        }
        sums::sum(l, id, how)
    }

    fn product(&self, l: &mut Values<'_>, id: NodeId, how: Product) -> Forms {
        match l.plan.of(id).way {
            Way::Table(_) => table(l, id),
            Way::Conjunction(bits) => {
                let x = l.split(bits, l.plan.of(id).groups);
                let x = masked::to_planes(&mut l.emit, &x);
                pair(gates::all_planes(&mut l.emit, &x, self.tuning))
            }
            Way::Entries => choices::entries(l, id),
            Way::Copies => with_copies(l, id, how),
            Way::Own
            | Way::Counted(_)
            | Way::WithOperand
            | Way::Function(_)
            | Way::Searched(..) => bilinear(l, id, how),
        }
    }

    fn not(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        if let Way::Table(_) = l.plan.of(id).way {
            return table(l, id);
        }
        let (x, groups) = (l.facts.graph.arg(id, 0), l.plan.of(id).groups);
        if let Some(p) = l.take_pair(x, 1, groups) {
            return pair(masked::not(&mut l.emit, p));
        }
        let s = l.split(x, groups);
        Forms::split(Split { dup: l.emit.add(C::Not(s.dup)), ..s }, None)
    }

    fn truncation(&self, l: &mut Values<'_>, id: NodeId, by: u32) -> Forms {
        let x = l.split_operand(id, 0, l.plan.of(id).groups);
        let bits = l.emit.ty(x.own).bits() - by;
        let k = l.facts.rings.of(id);
        let truncated = truncation::truncate(&mut l.emit, &x, by, k);
        let low = truncated.low.map(|split| LowBits { split, bits });
        Forms::split(truncated.whole, low)
    }

    fn comparison(&self, l: &mut Values<'_>, id: NodeId, how: Comparison) -> Forms {
        if let Way::Table(_) = l.plan.of(id).way {
            return table(l, id);
        }
        let (x, width) = sums::difference(l, id);
        pair(match how {
            Comparison::Less => comparison::negative(&mut l.emit, &x, width, self.tuning),
            Comparison::Equal => comparison::zero(&mut l.emit, &x, width, self.tuning),
        })
    }

    fn bits_to_words(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        match l.plan.of(id).way {
            Way::Table(_) => table(l, id),
            // Recorded with the operand.
            Way::WithOperand => Forms::default(),
            Way::Own
            | Way::Conjunction(_)
            | Way::Entries
            | Way::Copies
            | Way::Counted(_)
            | Way::Function(_)
            | Way::Searched(..) => {
                let (bit, k) = (l.facts.graph.arg(id, 0), l.facts.rings.of(id));
                let c = l.split(bit, l.plan.of(id).groups);
                pair(selection::to_word(&mut l.emit, &c, k))
            }
        }
    }

    fn gate(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        pair(choices::gate(l, id, self.tuning))
    }

    fn saturation(&self, l: &mut Values<'_>, id: NodeId, top: u32) -> Forms {
        pair(choices::saturation(l, id, top, self.tuning))
    }

    fn selection(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        pair(choices::selection(l, id))
    }

    fn argmax_is(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        pair(choices::argmax_is(l, id, self.tuning))
    }

    fn function(&self, l: &mut Values<'_>, id: NodeId, _: Function) -> Forms {
        let choice = l.plan.of(id).clone();
        let Way::Function(protocol) = choice.way else {
            unreachable!("a function of this family has a protocol")
        };
        let (arg, k) = (l.facts.graph.arg(id, 0), l.facts.rings.of(id));
        let x = l.split_in(arg, protocol.operand_ring(), choice.groups);
        match protocol.emit(&mut l.emit, &x, k, self.tuning) {
            Answer::Pair(p) => pair(p),
            Answer::Split(y) if l.emit.ty(y.own).bits() == k => Forms::split(y, None),
            Answer::Split(y) => {
                let narrow = masked::linear(&mut l.emit, &y, |v| C::Narrow(v, k));
                let mut forms = Forms::split(narrow, None);
                forms.push(Form::Split(y));
                forms
            }
        }
    }

    fn one_hot_words(&self, e: &mut Emit, bits: ValueId, k: u32) -> (ValueId, Pair) {
        input_checks::one_hot_words(e, bits, k, T2::client_groups(e, bits), self.tuning)
    }

    fn in_range(&self, e: &mut Emit, x: ValueId, range: (u128, u128)) -> Pair {
        input_checks::in_range(e, x, range, T2::client_groups(e, x), self.tuning)
    }

    fn short(&self, e: &mut Emit, x: ValueId, coin: ValueId, tests: (u64, u128)) -> Pair {
        input_checks::short(e, x, coin, tests, T2::client_groups(e, x), self.tuning)
    }

    fn admit(&self, e: &mut Emit, good: Vec<Pair>, _: u64) -> ValueId {
        input_checks::admit(e, good, self.tuning)
    }
}

/// A product of two operands by its own protocol.
fn bilinear(l: &mut Values<'_>, id: NodeId, how: Product) -> Forms {
    let (g, groups) = (l.facts.graph, l.plan.of(id).groups);
    let args = [g.arg(id, 0), g.arg(id, 1)];
    let secret = args.map(|x| l.facts.is_secret(x));
    if secret == [true; 2] {
        let [x, y] = l.split_operands(id, groups, how == Product::Elementwise);
        return pair(product::product(&mut l.emit, &x, &y, |a, b| how.instruction(a, b)));
    }
    // Public times secret is linear.
    let (i, x) = if secret[0] { (0, args[0]) } else { (1, args[1]) };
    let k = l.facts.operand_ring(id, i);
    let public = l.operand(id, 1 - i);
    let op = |v| if i == 0 { how.instruction(v, public) } else { how.instruction(public, v) };
    let shrinks = g.elements(id) <= g.elements(x);
    if let Some(p) = if shrinks { l.take_pair(x, k, groups) } else { None } {
        return pair(masked::linear_of_pair(&mut l.emit, p, op));
    }
    // The shares of part a are rarely read: they are dealt again if they are.
    let s = Split { mask: None, ..l.split_in(x, k, groups) };
    Forms::split(masked::linear(&mut l.emit, &s, op), None)
}

/// The product with a copy of the right operand for each group of samples of the left one.
fn with_copies(l: &mut Values<'_>, id: NodeId, how: Product) -> Forms {
    let (g, groups) = (l.facts.graph, l.plan.of(id).groups);
    let count = u64::from(groups);
    let x = l.split_operand(id, 0, groups);
    let mut shape = g.shape(g.arg(id, 0)).to_vec();
    (shape[0], shape[1]) = (count, shape[1] / count);
    let x = masked::linear(&mut l.emit, &x, |v| C::Reshape(v, shape.clone()));
    let mut copies = g.shape(g.arg(id, 1)).to_vec();
    copies[0] = count;
    let w = l.operand(id, 1);
    let e = &mut l.emit;
    let w = e.add(C::Broadcast(w, copies));
    let w = masked::split(e, w, groups);
    let p = product::product(e, &x, &w, |a, b| how.instruction(a, b));
    pair(masked::linear_of_pair(e, p, |v| C::Reshape(v, g.shape(id).to_vec())))
}

/// One table for all elements: of bits, or of words for a conversion.
fn table(l: &mut Values<'_>, id: NodeId) -> Forms {
    let Way::Table(truth) = l.plan.of(id).way.clone() else {
        unreachable!("asked for where a table was chosen")
    };
    let g = l.facts.graph;
    let words = (!l.facts.is_bit(id)).then(|| l.facts.rings.of(id));
    // The bits of all nodes that literals name, one node after another.
    let mut sources: Vec<NodeId> = truth.literals.iter().map(|l| l.node).collect();
    sources.sort();
    sources.dedup();
    let (mut starts, mut all, mut parts) = (BTreeMap::new(), 0, Vec::new());
    for node in sources {
        starts.insert(node, all);
        let elements = g.elements(node);
        all += elements as usize;
        let x = Split { mask: None, ..l.split(node, 1) };
        parts.push(masked::linear(&mut l.emit, &x, |v| C::Reshape(v, vec![elements])));
    }
    // Of each element, its bits side by side as planes: `B<n>[rows, 1]`.
    let index = truth.literals.iter().map(|l| (starts[&l.node] + l.at) as u128).collect();
    let shape = [(truth.literals.len() / truth.of) as u64, truth.of as u64];
    let e = &mut l.emit;
    let index = e.constant(false, 32, &[truth.literals.len() as u64], index);
    let joined = |e: &mut Emit, part: fn(&Split) -> ValueId| {
        let xs: Vec<ValueId> = parts.iter().map(part).collect();
        let flat = match xs[..] {
            [one] => one,
            _ => e.add(C::Concat { xs, axis: 0 }),
        };
        let picked = e.add(C::Gather { x: flat, index, axis: 0, batch: 0 });
        e.add(C::Reshape(picked, shape.to_vec()))
    };
    let (own, mut dup) = (joined(e, |s| s.own), joined(e, |s| s.dup));
    if truth.literals.iter().any(|l| l.flip) {
        let flips = truth.literals.iter().map(|l| u128::from(l.flip)).collect();
        let flips = e.constant(true, 1, &shape, flips);
        dup = e.add(C::Add(dup, flips));
    }
    let planes = masked::to_planes(e, &Split { own, dup, mask: None });
    let entry = lookup(e, &planes, &truth.table, words);
    let add2 = e.add(C::Reshape(entry.add2, g.shape(id).to_vec()));
    pair(Pair { own: None, add2 })
}
