//! Products, quotients and choices: which secret weighs, or masks, which.

use super::PLACES;
use super::facts::{BITS, Dependence, Flow, Mask, Ones, Ranks, add, both};
use super::layout::{one_of, weighed};
use super::members::Group;
use super::selection::{
    chosen, enough, extremum, half, is_zero, names, nowhere_zero, one_axis, power, selecting,
    varies,
};
use crate::graph::{Graph, NodeId, Op, Table};

/// Which of two secret factors is weighed, or masked, by the other one: what follows linearly by what does not. Otherwise
/// see [`alike`].
///
/// | | b linear or masked | b other |
/// |---|---|---|
/// | **a linear or masked** | alike | a |
/// | **a other** | b | alike, if it is of one client |
fn payload(g: &Graph, args: &[NodeId], a: &Flow, b: &Flow) -> Option<usize> {
    let linear = |f: &Flow| matches!(f.form, Dependence::Linear | Dependence::Masked(_));
    match (linear(a), linear(b)) {
        (true, true) => alike(g, args, a, b),
        (true, false) => Some(0),
        (false, true) => Some(1),
        (false, false) => alike(g, args, a, b).filter(|&i| [a, b][i].clients() <= 1),
    }
}

/// A bit masks a number. Of two numbers, or two bits, the smaller tensor weighs the larger one, as one weight stands for
/// many entries; neither does if they follow from the same inputs, as in a square.
///
/// | | b bits | b numbers |
/// |---|---|---|
/// | **a bits** | the larger | b |
/// | **a numbers** | a | the larger |
fn alike(g: &Graph, args: &[NodeId], a: &Flow, b: &Flow) -> Option<usize> {
    let size = |id: NodeId, f: &Flow| (g.elements(id), f.clients());
    match (a.is_bits(), b.is_bits()) {
        (false, true) => Some(0),
        (true, false) => Some(1),
        _ if a.form == b.form && a.inputs == b.inputs => None,
        _ if matches!((a.form, b.form), (Dependence::Other(_), Dependence::Other(_))) => None,
        _ => Some(usize::from(size(args[0], a) <= size(args[1], b))),
    }
}

/// A product; or a sum of products along an axis, of operands in which it is summed, so that places are not the same.
pub(super) fn mul(g: &Graph, args: &[NodeId], a: &Flow, b: &Flow, contracted: bool) -> Flow {
    let (factor, f) = match (a.is_free(), b.is_free()) {
        (true, _) => (args[0], b),
        (_, true) => (args[1], a),
        _ => return product(g, args, a, b, contracted),
    };
    if !contracted {
        return by_public(g, factor, f);
    }
    let mut f = f.clone().plain();
    if !nowhere_zero(g, factor) {
        f.fewer();
    }
    f
}

/// What is secret times a public factor, which may be a mask of positions: bits stay bits, and at most as many are 1.
pub(super) fn by_public(g: &Graph, factor: NodeId, f: &Flow) -> Flow {
    let mut out = f.clone();
    if nowhere_zero(g, factor) {
        return out;
    }
    out.fewer();
    if let Op::Const(table, ..) = g.op(factor)
        && !one_axis(g.shape(factor))
        && g.elements(factor) <= PLACES
    {
        let n = g.elements(factor) as usize;
        let weights: Vec<f64> = (0..n).map(|k| Table::at(table, k)).collect();
        weighed(&mut out, (g.shape(factor), &weights), &g.parties);
    }
    out
}

/// A product of two secrets, aligned or contracted.
fn product(g: &Graph, args: &[NodeId], a: &Flow, b: &Flow, contracted: bool) -> Flow {
    // A power is computed of every client.
    let same = (&a.groups, &a.fixed) == (&b.groups, &b.fixed);
    if a.clients() <= 1 && !a.is_bits() && same && power(g, args) {
        return a.clone().other();
    }
    let alone = factors(g, args, a, b) || statistic(a, b) || statistic(b, a);
    let found = payload(g, args, a, b).filter(|_| !alone);
    let weighed = found.map(|i| ([b, a][i], [a, b][i], args[1 - i])).filter(|m| !apart(m.0, m.1));
    let f = weighed.map_or_else(
        || both(a, b),
        |(by, f, id)| masked(by, f, !contracted && global(g, id, f), Some(selecting(g, id))),
    );
    Flow { bits: a.bits.and(b.bits).and(BITS), ..f }
}

/// Whether a factor tells clients apart where the payload does not: entries stand beside each other by it.
fn apart(factor: &Flow, payload: &Flow) -> bool {
    let told = |g: &Group| payload.groups.iter().any(|p| p.axes.is_superset(&g.axes));
    !factor.groups.iter().all(told)
}

/// Whether a statistic is the factor of a value of each client: it stands beside that of the others.
fn statistic(factor: &Flow, payload: &Flow) -> bool {
    payload.side_by_side() && !factor.side_by_side() && factor.clients() > 1
}

/// Whether single numbers, no bits, are multiplied that known clients gave, others in each factor: none of them stands
/// alone.
fn factors(g: &Graph, args: &[NodeId], a: &Flow, b: &Flow) -> bool {
    let number = |id: NodeId, f: &Flow| {
        let known = f.groups.is_empty() && f.extra == 0 && !f.fixed.is_empty();
        known && g.elements(id) == 1 && !f.is_bits() && !matches!(f.form, Dependence::Masked(_))
    };
    number(args[0], a) && number(args[1], b) && a.fixed.is_disjoint(&b.fixed)
}

/// Whether the factor is the same for all clients that the payload's entries are of.
fn global(g: &Graph, factor: NodeId, payload: &Flow) -> bool {
    let mut axes = payload.groups.iter().flat_map(|g| &g.axes).peekable();
    axes.peek().is_some() && axes.all(|&axis| !varies(g, factor, axis))
}

/// `payload` times the secret `factor`, which is one for all clients if it is `global`; where it is known, the node that
/// has the factor's bits. Which clients' data an entry holds is a matter of the payload alone.
fn masked(factor: &Flow, payload: &Flow, global: bool, bits: Option<NodeId>) -> Flow {
    // What was added up of clients is hidden or shown as a whole.
    let whole = !payload.side_by_side() && payload.clients() > 1;
    let (bit, ones) = match factor.form {
        // What a bit selected is a weight itself, and may be 0.
        Dependence::Masked(m) => (false, m.ones.fewer()),
        _ => (factor.is_bits(), payload.axis().map_or(Ones::ANY, |axis| factor.ones(axis))),
    };
    let own = Mask {
        bit,
        each: payload.clients() <= 1 && !global,
        ones,
        zero: true,
        computed: matches!(payload.form, Dependence::Other(_)),
        alone: false,
        by: bits.filter(|_| bit),
    };
    let mut mask = match payload.form {
        // It hides or shows all that were selected.
        Dependence::Masked(m) if global || whole => m,
        // Both select: nobody may be left.
        Dependence::Masked(m) => Mask {
            bit: m.bit && own.bit,
            each: m.each || own.each,
            ones: Ones { most: m.ones.most.min(own.ones.most), least: 0 },
            by: own.by,
            ..m
        },
        Dependence::Free | Dependence::Linear | Dependence::Other(_) => own,
    };
    let one = !factor.side_by_side() && factor.clients() == 1;
    mask.alone = mask.bit && !mask.each && whole && one;
    if !mask.each {
        mask.ones = Ones::ANY;
    } else if payload.part {
        mask.ones = mask.ones.fewer();
    }
    let mut f = Flow { form: Dependence::Masked(mask), ..payload.clone().plain() };
    f.inputs.extend(&factor.inputs);
    f.divided |= factor.divided;
    f
}

pub(super) fn div(a: &Flow, b: &Flow) -> Flow {
    if b.is_free() {
        return Flow { bits: None, ..a.clone() };
    }
    match a.form {
        Dependence::Linear | Dependence::Masked(_) if a.clients() >= 2 && !apart(b, a) => {
            let mut f = Flow { divided: true, ..a.clone().plain() };
            f.inputs.extend(&b.inputs);
            f
        }
        Dependence::Linear | Dependence::Masked(_) if a.clients() < 2 => {
            masked(&Flow { bits: None, ..b.clone() }, a, false, None)
        }
        Dependence::Free | Dependence::Linear | Dependence::Masked(_) | Dependence::Other(_) => {
            both(a, b)
        }
    }
}

/// The complement of bits.
pub(super) fn not(g: &Graph, bits: NodeId, f: &Flow) -> Flow {
    let least = half(g, bits).unwrap_or(0);
    let along = g.shape(bits).iter().position(|n| *n > 1).unwrap_or(0);
    Flow { bits: Some((Ones { least, ..Ones::ANY }, along)), ..f.clone() }
}

/// A choice. One among public numbers says by whose bit it fell, if these numbers differ from client to client.
pub(super) fn select(g: &Graph, flows: &[Flow], args: &[NodeId], of: &[&Flow]) -> Flow {
    let mut f = selected(g, args, of);
    if let Dependence::Other(_) = f.form {
        f.order = one_of(&of[1..]);
    }
    if of[0].is_free() {
        return f;
    }
    let choice = chosen(g, flows, args);
    if names(&choice) {
        return Flow { form: Dependence::Other(f.masked_sum()), choice, ranks: Ranks::Chosen, ..f };
    }
    Flow { choice, ..f }
}

fn selected(g: &Graph, args: &[NodeId], of: &[&Flow]) -> Flow {
    let (c, a, b) = (of[0], of[1], of[2]);
    let mut f = add(a, b);
    f.bits = a.bits.and(b.bits).and(BITS);
    if c.is_free() {
        f.fewer();
        return f;
    }
    let other = || Flow { bits: f.bits, ..both(&f, c) };
    // Of two values of each client, or the larger or smaller of two, one always counts.
    let each = |f: &Flow| f.form == Dependence::Linear && !f.groups.is_empty();
    if extremum(g, args) || each(a) && each(b) {
        return other();
    }
    // Values of single clients, of which one is taken as it is.
    if a.of_one() && b.of_one() && f.clients() >= 2 && !f.is_bits() {
        let computed = matches!(f.form, Dependence::Other(_));
        let ones = Ones { most: 1, least: 0 };
        let (bit, each, zero, alone, by) = (true, true, false, false, None);
        let form = Dependence::Masked(Mask { bit, each, ones, zero, computed, alone, by });
        f.inputs.extend(&c.inputs);
        return Flow { form, ..f.plain() };
    }
    let global = global(g, args[0], &f);
    let zero = if a.is_free() { is_zero(g, args[1]) } else { is_zero(g, args[2]) };
    match f.form {
        Dependence::Linear | Dependence::Masked(_) => {}
        Dependence::Other(_) if zero && !f.is_bits() && f.clients() <= 1 && !global => {}
        Dependence::Free | Dependence::Other(_) => return other(),
    }
    // What counts where the bit is 0 does so as often as its complement is 1, and of two values one always does.
    let c = match (a.is_free(), b.is_free()) {
        (false, true) => c.clone(),
        (true, _) => not(g, args[0], c),
        (false, false) => Flow { bits: BITS, ..c.clone() },
    };
    let mut f = masked(&c, &f, global, None);
    if let Dependence::Masked(mask) = &mut f.form {
        mask.zero &= zero;
        // A sum that is taken only where at least so many count.
        let least = mask.by.filter(|_| b.is_free()).and_then(|bits| enough(g, bits, args[0]));
        if let (Some(least), Ones::ANY) = (least, mask.ones) {
            mask.ones.least = least;
        }
    }
    f
}
