//! Inputs: dealt as their guard wants it, checked, and replaced by zeros where a client fails.
//!
//! All checks of a party set run side by side; one public bit per member says whether all of its
//! inputs passed ([`slvr_circuit::Check`]), and every input is multiplied by it, locally.
//! Nothing else about a rejected input is opened. The bit is read by [`C::Admitted`], so that what
//! follows need not wait for it ([`crate::schedule::speculative`]).

use super::common::admission;
use super::common::words::word;
use super::emit::Emit;
use super::facts::Facts;
use super::t1::T1;
use super::t1::truncation::{convert, lift};
use super::t2::T2;
use super::target::Family;
use slvr_circuit::{Check, Dom, Encoding, Op as C, ValueId};
use slvr_graph::analysis::guard::{self, Guard};
use slvr_graph::analysis::rings::STORED;
use slvr_graph::graph::{Giver, Graph, Input, NodeId, Op};
use slvr_language::types::Elem;

/// The checks of inputs in a family of protocols.
pub trait InputChecks {
    /// A secret bit for each client, before it is opened.
    type Good;

    /// The words of one-hot rows, and whether each client's rows are one-hot.
    fn one_hot_words(&self, e: &mut Emit, bits: ValueId, k: u32) -> (ValueId, Self::Good);
    /// Whether each client's words are in a range.
    fn in_range(&self, e: &mut Emit, x: ValueId, range: (u128, u128)) -> Self::Good;
    /// Whether random inner products of each client's words are short: so many tests, and their bound.
    fn short(&self, e: &mut Emit, x: ValueId, coin: ValueId, tests: (u64, u128)) -> Self::Good;
    /// Opens, for each client, whether all its bits are good.
    fn admit(&self, e: &mut Emit, good: Vec<Self::Good>) -> ValueId;
}

pub struct Dealt {
    /// By index of the input, its value after checks.
    pub values: Vec<ValueId>,
    /// Inputs of the circuit.
    pub inputs: Vec<slvr_circuit::Input>,
    /// What says whose inputs were admitted.
    pub checks: Vec<Check>,
}

/// Deals every input, and checks those of each party set.
pub fn deal(e: &mut Emit, facts: &Facts<'_>, guards: &[Guard]) -> Dealt {
    match facts.family {
        Family::T1 => by(&T1, e, facts, guards),
        Family::T2(tuning) => by(&T2 { tuning }, e, facts, guards),
    }
}

fn by<F: InputChecks>(family: &F, e: &mut Emit, facts: &Facts<'_>, guards: &[Guard]) -> Dealt {
    let g = facts.graph;
    // The node of each input: its ring is the one that is asked for.
    let mut nodes: Vec<Option<NodeId>> = vec![None; g.inputs.len()];
    for id in g.ids() {
        if let Op::Input(i) = *g.op(id) {
            nodes[i as usize] = Some(id);
        }
    }
    let sites: Vec<u32> = nodes.iter().map(|n| n.map_or(0, |id| g.home(id))).collect();
    let mut dealt = Dealt { values: Vec::new(), inputs: Vec::new(), checks: Vec::new() };
    for (i, (input, guard)) in g.inputs.iter().zip(guards).enumerate() {
        e.site = sites[i];
        let (value, input) = dealt_input(e, g, input, guard);
        dealt.values.push(value);
        dealt.inputs.push(input);
    }
    // By party set: the inputs, and bits that say which members' are good.
    let mut coin = None;
    for set in 0..g.parties.len() as u32 {
        let size = g.parties[set as usize].1;
        let of_set = |input: &Input| input.from == Giver::Each(set);
        let (mut all_good, mut last) = (Vec::new(), 0);
        for (i, (input, guard)) in g.inputs.iter().zip(guards).enumerate() {
            if !of_set(input) {
                continue;
            }
            e.site = sites[i];
            let k = nodes[i].map_or(64, |id| facts.rings.of(id)).max(8);
            let checked = checked(family, e, dealt.values[i], (input, guard), k, &mut coin);
            dealt.values[i] = checked.0;
            if let Some(good) = checked.1 {
                all_good.push(good);
                last = sites[i];
            }
        }
        if all_good.is_empty() {
            continue;
        }
        // Of the last input that has a check.
        e.site = last;
        let value = family.admit(e, all_good);
        let check = dealt.checks.len() as u32;
        dealt.checks.push(Check { set, value });
        let admitted = e.add(C::Admitted { check, members: size });
        for (i, input) in g.inputs.iter().enumerate().filter(|(_, input)| of_set(input)) {
            e.site = sites[i];
            dealt.values[i] = gated(e, dealt.values[i], admitted, (input, &guards[i]));
        }
    }
    for (i, input) in g.inputs.iter().enumerate().filter(|(_, i)| i.from.set().is_none()) {
        e.site = sites[i];
        let own = e.ty(dealt.values[i]).bits();
        let k = nodes[i].map_or(own, |id| facts.rings.of(id));
        if input.elem != Elem::Bit {
            dealt.values[i] = convert(e, dealt.values[i], k.max(8));
        }
    }
    dealt
}

/// The value of an input where its client was admitted; else zeros, or where zeros are no value of the input,
/// the nearest one.
fn gated(e: &mut Emit, x: ValueId, admitted: ValueId, (input, guard): (&Input, &Guard)) -> ValueId {
    let kept = admission::gate(e, x, admitted);
    let row = match guard {
        Guard::OneHot => {
            let classes = input.one_hot.unwrap_or(1);
            Some((0..classes).map(|c| u128::from(c == 0)).collect())
        }
        Guard::Within(lo, _) if *lo > 0 => Some(vec![*lo as u128]),
        Guard::Within(_, hi) if *hi < 0 => Some(vec![*hi as i128 as u128]),
        _ => None,
    };
    match row {
        Some(row) => admission::stand_in(e, kept, admitted, row),
        None => kept,
    }
}

/// An input as it is dealt.
fn dealt_input(
    e: &mut Emit,
    g: &Graph,
    input: &Input,
    guard: &Guard,
) -> (ValueId, slvr_circuit::Input) {
    let frac = g.input_frac(input);
    let (dom, shift) = match guard {
        Guard::Kept if input.elem != Elem::Bit => (Dom::Ring(STORED), 0),
        Guard::Bit | Guard::OneHot => (Dom::Bits(1), 0),
        Guard::Lift { shift } => (Dom::Ring(32), *shift),
        _ if input.elem == Elem::Bit => (Dom::Bits(1), 0),
        _ => (Dom::Ring(64), 0),
    };
    let value = e.input(input.from.is_secret(), dom, g.input_shape(input));
    let encoding = match (input.one_hot, input.elem) {
        (Some(classes), _) => Encoding::OneHot { classes },
        (None, Elem::Fix) => {
            let norm = guard::norm_limit(input).unwrap_or(f64::INFINITY);
            Encoding::Fixed { frac, lo: input.range.0, hi: input.range.1, shift, norm }
        }
        (None, _) => {
            Encoding::Int { lo: input.range.0 as i64, hi: (input.range.1 as i64).saturating_add(1) }
        }
    };
    let input = slvr_circuit::Input {
        name: input.name.clone(),
        from: match input.from {
            Giver::Public => slvr_circuit::From::Public,
            Giver::Each(set) => slvr_circuit::From::Each(set),
            Giver::Present(set) => slvr_circuit::From::Present(set),
            Giver::State(start) => {
                slvr_circuit::From::State((start * g.input_scale(input)).round_ties_even() as i64)
            }
        },
        encoding,
        shape: input.shape.clone(),
        fields: fields(&input.fields),
        value,
    };
    (value, input)
}

/// Named parts of an input or output, as the circuit says them.
pub fn fields(fields: &[(String, Vec<u64>)]) -> Vec<slvr_circuit::Field> {
    let field = |(name, shape): &(String, Vec<u64>)| slvr_circuit::Field {
        name: name.clone(),
        shape: shape.clone(),
    };
    fields.iter().map(field).collect()
}

/// The value to compute with, in a ring of k bits, and for each member whether it is good.
fn checked<F: InputChecks>(
    family: &F,
    e: &mut Emit,
    x: ValueId,
    (input, guard): (&Input, &Guard),
    k: u32,
    coin: &mut Option<ValueId>,
) -> (ValueId, Option<F::Good>) {
    match guard {
        Guard::Bit => (x, None),
        Guard::OneHot => {
            let (words, good) = family.one_hot_words(e, x, k);
            (convert(e, words, k), Some(good))
        }
        Guard::Within(lo, hi) => {
            let good = family.in_range(e, x, (word(*lo as f64, 64), word(*hi as f64, 64)));
            (convert(e, x, k), Some(good))
        }
        Guard::Project(plan) => {
            let coin = *coin.get_or_insert_with(|| e.coin());
            let good = family.short(e, x, coin, (plan.tests, plan.threshold));
            (convert(e, x, k), Some(good))
        }
        Guard::Lift { shift } => (lift(e, x, *shift, k), None),
        Guard::Public | Guard::Kept | Guard::Trusted if input.elem == Elem::Bit => (x, None),
        Guard::Public | Guard::Kept | Guard::Trusted => (convert(e, x, k), None),
    }
}
