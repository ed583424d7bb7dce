//! Nodes by family T1, and public values.
//!
//! A product stays additive among the three ([`Form::Additive`]) until something needs it replicated: sums,
//! layouts, biases and reveals take it as it is. Secret times secret is a local product and one reshare
//! later (Araki et al. 2016): 1 round, k bits per entry of the *result* and party. Public times anything is
//! local.

use super::elementary::Operand;
use super::functions::{self, RING};
use super::truncation::convert;
use super::{comparison, early_signs, input_checks, saturation, selection, truncation};
use crate::lower::choose::Way;
use crate::lower::family::Protocols;
use crate::lower::form::{Form, Forms, Values};
use crate::lower::task::{Comparison, Function, Linear, Product, Sum, Task, task};
use crate::lower::{Emit, Target, malicious};
use slvr_circuit::{Op as C, ValueId};
use slvr_graph::analysis::rings::size_bits;
use slvr_graph::analysis::signs;
use slvr_graph::analysis::zeros::vanishes;
use slvr_graph::graph::NodeId;

/// The family.
pub struct T1;

/// A whole value of a node.
fn whole(l: &Values<'_>, id: NodeId, x: ValueId) -> Forms {
    l.whole(id, x).into()
}

impl Protocols for T1 {
    type Good = ValueId;

    /// On the additive form if that is all there is and the result is not larger.
    fn linear(&self, l: &mut Values<'_>, id: NodeId, how: Linear<'_>) -> Forms {
        let (g, k) = (l.facts.graph, l.facts.rings.of(id));
        let x = g.arg(id, 0);
        let index = if how.has_index() { l.replicated(g.arg(id, 1)) } else { ValueId(0) };
        let shrinks = g.elements(id) <= g.elements(x);
        match if shrinks { l.take_additive(x, k) } else { None } {
            Some(p) => Form::Additive(l.emit.add(how.instruction(p, index, k))).into(),
            None => {
                let x = l.in_ring(x, k);
                let y = l.emit.add(how.instruction(x, index, k));
                whole(l, id, y)
            }
        }
    }

    fn rescale(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        let (x, k) = (l.facts.graph.arg(id, 0), l.facts.rings.of(id));
        if let Some(p) = l.take_additive(x, k) {
            return Form::Additive(p).into();
        }
        if l.facts.rings.of(x) == k {
            return l.unsplit(x);
        }
        let y = l.in_ring(x, k);
        whole(l, id, y)
    }

    /// Added before the reshare where one of both is a product.
    fn sum(&self, l: &mut Values<'_>, id: NodeId, how: Sum) -> Forms {
        let (g, k) = (l.facts.graph, l.facts.rings.of(id));
        let (a, b) = (g.arg(id, 0), g.arg(id, 1));
        // The result must not be larger than the product it is added to: a reshare costs by size.
        let mut additive = |x: NodeId| {
            let fits = how != Sum::Xor && a != b && g.elements(id) <= g.elements(x);
            if fits { l.take_additive(x, k) } else { None }
        };
        let (x, y) = (additive(a), additive(b));
        let is_additive = x.is_some() || y.is_some();
        let x = x.unwrap_or_else(|| l.in_ring(a, k));
        let y = y.unwrap_or_else(|| l.in_ring(b, k));
        let sum = l.emit.add(how.instruction(x, y));
        if is_additive { Form::Additive(sum).into() } else { whole(l, id, sum) }
    }

    fn product(&self, l: &mut Values<'_>, id: NodeId, how: Product) -> Forms {
        let (x, y) = (l.operand(id, 0), l.operand(id, 1));
        let product = l.emit.add(how.instruction(x, y));
        let both = [0, 1].map(|i| l.facts.is_secret(l.facts.graph.arg(id, i)));
        if both == [true; 2] { Form::Additive(product).into() } else { whole(l, id, product) }
    }

    fn not(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        let x = l.replicated(l.facts.graph.arg(id, 0));
        let y = l.emit.add(C::Not(x));
        whole(l, id, y)
    }

    fn truncation(&self, l: &mut Values<'_>, id: NodeId, by: u32) -> Forms {
        let (x, k) = (l.operand(id, 0), l.facts.rings.of(id));
        let (is_secret, e) = (l.facts.is_secret(id), &mut l.emit);
        let y = match e.target {
            _ if !is_secret => truncation::public(e, x, by),
            Target::SemiHonest(_) => truncation::exact(e, x, by),
            Target::Malicious(_) => malicious::truncation::truncated(e, x, by, k),
        };
        let y = convert(&mut l.emit, y, k);
        whole(l, id, y)
    }

    fn comparison(&self, l: &mut Values<'_>, id: NodeId, how: Comparison) -> Forms {
        let (x, width) = difference(l, id);
        let bit = match how {
            Comparison::Less => comparison::negative(&mut l.emit, x, width),
            Comparison::Equal => comparison::zero(&mut l.emit, x, width),
        };
        whole(l, id, bit)
    }

    fn bits_to_words(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        let (bit, k) = (l.facts.graph.arg(id, 0), l.facts.rings.of(id));
        let word = match word_at_once(l, bit, k) {
            Some(word) => word,
            None => {
                let x = l.replicated(bit);
                selection::to_word(&mut l.emit, x, k)
            }
        };
        whole(l, id, word)
    }

    fn gate(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        let (g, k) = (l.facts.graph, l.facts.rings.of(id));
        let (v, s) = (g.arg(id, 0), g.arg(id, 1));
        let value = l.in_ring(v, k);
        let negative = match early_signs::sign(l, v, s) {
            Some(negative) => negative,
            None => {
                let x = l.operand(id, 1);
                comparison::negative(&mut l.emit, x, l.facts.ranges.bits(s))
            }
        };
        let keep = l.emit.add(C::Not(negative));
        let kept = selection::inject(&mut l.emit, keep, value);
        whole(l, id, kept)
    }

    fn saturation(&self, l: &mut Values<'_>, id: NodeId, top: u32) -> Forms {
        let y = saturation::saturate(l, id, top);
        whole(l, id, y)
    }

    fn selection(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        let (g, k) = (l.facts.graph, l.facts.rings.of(id));
        let args = g.args(id);
        let (c, a, b) = (l.replicated(args[0]), l.in_ring(args[1], k), l.in_ring(args[2], k));
        let e = &mut l.emit;
        let d = e.add(C::Sub(a, b));
        let d = e.broadcast(d, g.shape(id));
        let c = e.broadcast(c, g.shape(id));
        let chosen = selection::inject(e, c, d);
        let y = e.add(C::Add(chosen, b));
        whole(l, id, y)
    }

    fn argmax_is(&self, l: &mut Values<'_>, id: NodeId) -> Forms {
        let bit = argmax_is(l, id, None);
        whole(l, id, bit)
    }

    fn function(&self, l: &mut Values<'_>, id: NodeId, function: Function) -> Forms {
        let k = l.facts.rings.of(id);
        let args = l.facts.graph.args(id).iter().copied();
        let mut operands: Vec<Operand> = args.map(|x| operand(l, x)).collect();
        if let [x, y] = l.facts.graph.args(id)[..] {
            operands[0].vanishes = vanishes(l.facts.graph, x, y);
        }
        let y = functions::emit(&mut l.emit, function, &operands);
        let y = convert(&mut l.emit, y, k);
        whole(l, id, y)
    }

    fn one_hot_words(&self, e: &mut Emit, bits: ValueId, k: u32) -> (ValueId, ValueId) {
        input_checks::one_hot_words(e, bits, k)
    }

    fn in_range(&self, e: &mut Emit, x: ValueId, (lo, hi): (u128, u128)) -> ValueId {
        input_checks::in_range(e, x, lo, hi)
    }

    fn short(&self, e: &mut Emit, x: ValueId, coin: ValueId, tests: (u64, u128)) -> ValueId {
        input_checks::short(e, x, coin, tests.0, tests.1)
    }

    fn admit(&self, e: &mut Emit, good: Vec<ValueId>, clients: u64) -> ValueId {
        let columns = good.into_iter().map(|v| e.add(C::Reshape(v, vec![clients, 1])));
        let columns: Vec<ValueId> = columns.collect();
        let all = match columns[..] {
            [one] => one,
            _ => e.add(C::Concat { xs: columns, axis: 1 }),
        };
        let all = input_checks::and_all(e, all);
        input_checks::admit(e, all)
    }
}

/// A number in the ring of functions, with what is proven of it.
fn operand(l: &mut Values<'_>, id: NodeId) -> Operand {
    let (lo, hi) = l.facts.ranges.raw[id.index()];
    // The smallest size: f64 holds an integer that is no larger.
    let least = lo.max(-hi).max(0.0) as u64;
    Operand {
        value: l.in_ring(id, RING),
        frac: l.facts.frac(id),
        // Of both signs: -2^bits would be its own negative.
        bits: size_bits((lo, hi)),
        least,
        not_negative: lo >= 0.0 || signs::not_negative(l.facts.graph, id),
        vanishes: false,
    }
}

/// The difference of a comparison's operands, and the bits that hold it.
fn difference(l: &mut Values<'_>, id: NodeId) -> (ValueId, u32) {
    let (x, y) = (l.operand(id, 0), l.operand(id, 1));
    (l.emit.add(C::Sub(x, y)), l.facts.difference_bits(id))
}

/// An argmax test as a bit, or as a word of Z_2^k.
fn argmax_is(l: &mut Values<'_>, id: NodeId, word: Option<u32>) -> ValueId {
    let (logits, label) = (l.facts.graph.arg(id, 0), l.facts.graph.arg(id, 1));
    let width = l.facts.ranges.difference_bits(logits, logits) + 1;
    let (z, y) = match early_signs::replicated(l, logits, width) {
        Some(z) => (z, l.in_ring(label, l.emit.ty(z).bits())),
        None => (l.operand(id, 0), l.operand(id, 1)),
    };
    selection::argmax_is(&mut l.emit, z, y, width, word)
}

/// A bit as a word of Z_2^k, where one step makes it of what the bit is made of.
fn word_at_once(l: &mut Values<'_>, bit: NodeId, k: u32) -> Option<ValueId> {
    let g = l.facts.graph;
    let searched = |x: NodeId| matches!(l.plan.of(x).way, Way::Searched(..));
    if !l.facts.is_secret(bit) || l.facts.rings.fixed().is_some() {
        return None;
    }
    // Ranks that nothing reads are not made.
    if searched(bit) || l.facts.graph.args(bit).iter().copied().any(searched) {
        return None;
    }
    if let Task::Comparison(Comparison::Less) = task(g, bit) {
        let (x, width) = difference(l, bit);
        return selection::negative_word(&mut l.emit, x, width, k, None);
    }
    if let Task::ArgMaxIs = task(g, bit) {
        return Some(argmax_is(l, bit, Some(k)));
    }
    // A comparison of earlier bits' sums, and another condition that was there before: one table.
    if let Task::Product(Product::Elementwise) = task(g, bit) {
        let args = [g.arg(bit, 0), g.arg(bit, 1)];
        let (first, last) = (args[0].min(args[1]), args[0].max(args[1]));
        let fits = |x: NodeId| l.facts.is_secret(x) && g.shape(x) == g.shape(bit);
        let less = matches!(task(g, last), Task::Comparison(Comparison::Less));
        if !less || !fits(first) || !fits(last) {
            return None;
        }
        let (x, width) = difference(l, last);
        let first = l.replicated(first);
        let word = selection::to_word(&mut l.emit, first, k);
        return selection::negative_word(&mut l.emit, x, width, k, Some(word));
    }
    None
}
