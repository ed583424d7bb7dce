//! Products, quotients and choices: which secret weighs, or masks, which.

use super::PLACES;
use super::facts::{BITS, Dependence, Factor, Flow, Mask, Ones, Ranks, Scope, add, both};
use super::layout::{one_by, one_of, weighed};
use super::members::Group;
use super::selection::{
    bits_behind, by_rank, choice_of, has_one_axis, is_extremum, is_power, is_zero, least_by_gate,
    least_of_complement, nowhere_zero, tells_who_chose, varies,
};
use crate::analysis::order::Rankings;
use crate::graph::{Graph, NodeId, Op, Table};

/// What a product of two secrets is made of.
enum Product {
    /// The data of this operand, which the other one weighs, or masks.
    Weighed(usize),
    /// Both, in no way that is followed.
    Both,
}

impl Product {
    /// The first of these rules that holds says which of two operands is weighed. *Followed* is what is linear, or
    /// linear and masked.
    ///
    /// | operands | weighed is |
    /// |---|---|
    /// | single numbers, no bits, of clients that are known, others in each | neither: none of them stands alone |
    /// | a value of each client, and a statistic | neither: it stands beside that of the others |
    /// | one is followed | this one |
    /// | bits and numbers | the numbers, if followed or of one client |
    /// | neither is followed | neither |
    /// | both follow in the same way from the same inputs, as in a square, and not just one of one client | neither |
    /// | a masked sum over clients, and another sum | the masked one: few may count |
    /// | others | the larger tensor, as one weight stands for many entries |
    ///
    /// And neither is where the factor tells clients apart that the weighed one does not: entries stand beside each
    /// other by it.
    fn of(g: &Graph, args: &[NodeId], a: &Flow, b: &Flow) -> Product {
        let both = [a, b];
        let size = |i: usize| (g.elements(args[i]), both[i].clients());
        let is_followed = |f: &Flow| matches!(f.form, Dependence::Linear | Dependence::Masked(_));
        let followed = both.map(is_followed);
        let is_masked = both.map(|f| f.masked_sum().is_some());
        let is_by_one = |a: &Flow, b: &Flow| a.is_of_one_client() != b.is_of_one_client();
        let found = match (followed, both.map(Flow::is_bits)) {
            _ if are_single_numbers(g, args, a, b) => None,
            _ if (0..2).any(|i| is_statistic_beside(g, args[i], both[i], both[1 - i])) => None,
            ([true, false], _) | ([true, true], [false, true]) => Some(0),
            ([false, true], _) | ([true, true], [true, false]) => Some(1),
            (_, [false, true]) => (a.clients() <= 1).then_some(0),
            (_, [true, false]) => (b.clients() <= 1).then_some(1),
            ([false, false], _) => None,
            _ if a.form == b.form && a.inputs == b.inputs && !is_by_one(a, b) => None,
            _ if is_masked[0] != is_masked[1] => Some(usize::from(is_masked[1])),
            _ => Some(usize::from(size(0) <= size(1))),
        };
        match found {
            Some(i) if !tells_more_apart(both[1 - i], both[i]) => Product::Weighed(i),
            _ => Product::Both,
        }
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
        && !has_one_axis(g.shape(factor))
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
    if a.clients() <= 1 && !a.is_bits() && same && is_power(g, args) {
        return a.clone().other();
    }
    let f = match Product::of(g, args, a, b) {
        Product::Weighed(i) => {
            let (factor, f, id) = ([b, a][i], [a, b][i], args[1 - i]);
            let for_all = !contracted && is_one_for_all(g, id, f);
            masked(factor, f, for_all, Some(bits_behind(g, id)))
        }
        Product::Both => both(a, b),
    };
    Flow { bits: a.bits.and(b.bits).and(BITS), order: one_by(a, b), ..f }
}

/// Whether a factor tells clients apart where the payload does not: entries stand beside each other by it.
fn tells_more_apart(factor: &Flow, payload: &Flow) -> bool {
    let told = |g: &Group| payload.groups.iter().any(|p| p.axes.is_superset(&g.axes));
    !factor.groups.iter().all(told)
}

/// Whether a statistic, the same for all, is the factor of a value of each client: it stands beside that of the others.
fn is_statistic_beside(g: &Graph, id: NodeId, factor: &Flow, payload: &Flow) -> bool {
    let statistic = !factor.side_by_side() && factor.clients() > 1;
    statistic && payload.side_by_side() && is_one_for_all(g, id, payload)
}

/// Whether single numbers, no bits, are multiplied that known clients gave, others in each factor: none of them stands
/// alone.
fn are_single_numbers(g: &Graph, args: &[NodeId], a: &Flow, b: &Flow) -> bool {
    let number = |id: NodeId, f: &Flow| {
        let known = f.groups.is_empty() && f.extra == 0 && !f.fixed.is_empty();
        known && g.elements(id) == 1 && !f.is_bits() && !matches!(f.form, Dependence::Masked(_))
    };
    number(args[0], a) && number(args[1], b) && a.fixed.is_disjoint(&b.fixed)
}

/// Whether the factor is the same for all clients that the payload's entries are of.
fn is_one_for_all(g: &Graph, factor: NodeId, payload: &Flow) -> bool {
    let mut axes = payload.groups.iter().flat_map(|g| &g.axes).peekable();
    axes.peek().is_some() && axes.all(|&axis| !varies(g, factor, axis))
}

/// `payload` times the secret `factor`, which may be one `for_all` clients; where it is known, the node that has the
/// factor's bits. Which clients' data an entry holds is a matter of the payload alone.
fn masked(factor: &Flow, payload: &Flow, for_all: bool, bits: Option<NodeId>) -> Flow {
    // What was added up of clients is hidden or shown as a whole.
    let whole = !payload.side_by_side() && payload.clients() > 1;
    let (kind, ones) = match factor.form {
        // What a bit selected is a weight itself, and may be 0.
        Dependence::Masked(m) => (Factor::Weight, m.ones.fewer()),
        _ => {
            let kind = if factor.is_bits() { Factor::Bit } else { Factor::Weight };
            (
                kind,
                payload
                    .axis()
                    .map_or(Ones::ANY, |axis| payload.clients_of(factor.ones(axis), axis)),
            )
        }
    };
    let own = Mask {
        factor: kind,
        scope: if for_all || whole { Scope::All } else { Scope::Each },
        ones,
        computed: matches!(payload.form, Dependence::Other(_)),
        by: bits.filter(|_| kind.selects()),
    };
    let mut mask = match payload.form {
        // It hides or shows all that were selected.
        Dependence::Masked(m) if for_all || whole => m,
        // Both select: nobody may be left.
        Dependence::Masked(m) => Mask {
            factor: m.factor.max(own.factor),
            scope: m.scope.max(own.scope),
            ones: Ones { most: m.ones.most.min(own.ones.most), least: 0 },
            by: own.by,
            ..m
        },
        Dependence::Free | Dependence::Linear | Dependence::Other(_) => own,
    };
    if mask.scope != Scope::Each {
        let scope = if factor.is_of_one_client() { Scope::AllByOne } else { Scope::All };
        mask.scope = mask.scope.max(scope);
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
        Dependence::Linear | Dependence::Masked(_)
            if a.clients() >= 2 && !tells_more_apart(b, a) =>
        {
            let mut f = Flow { divided: true, ..a.clone().plain() };
            f.inputs.extend(&b.inputs);
            f
        }
        Dependence::Linear | Dependence::Masked(_) if a.clients() < 2 => {
            masked(&Flow { bits: None, ..b.clone() }, a, false, None)
        }
        Dependence::Free | Dependence::Linear | Dependence::Masked(_) | Dependence::Other(_) => {
            Flow { order: one_by(a, b), ..both(a, b) }
        }
    }
}

/// The complement of bits.
pub(super) fn not(g: &Graph, rankings: &Rankings<'_>, bits: NodeId, f: &Flow) -> Flow {
    let by_place = || {
        let least = least_of_complement(g, bits).unwrap_or(0);
        let along = g.shape(bits).iter().position(|n| *n > 1).unwrap_or(0);
        (Ones { least, ..Ones::ANY }, along)
    };
    let found = by_rank(g, rankings, bits, false).unwrap_or_else(by_place);
    Flow { bits: Some(found), ..f.clone() }
}

/// A choice. One among public numbers says by whose bit it fell, if these numbers differ from client to client.
pub(super) fn select(
    g: &Graph,
    rankings: &Rankings<'_>,
    flows: &[Flow],
    id: NodeId,
    of: &[&Flow],
) -> Flow {
    let mut f = selected(g, rankings, id, of);
    if let Dependence::Other(_) = f.form {
        f.order = one_of(&of[1..]);
    }
    if of[0].is_free() {
        return f;
    }
    let choice = choice_of(g, flows, g.args(id));
    if tells_who_chose(&choice) {
        return Flow { form: Dependence::Other(f.masked_sum()), choice, ranks: Ranks::Chosen, ..f };
    }
    Flow { choice, ..f }
}

fn selected(g: &Graph, rankings: &Rankings<'_>, id: NodeId, of: &[&Flow]) -> Flow {
    let args = g.args(id);
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
    if is_extremum(g, id) || each(a) && each(b) {
        return other();
    }
    // Values of single clients, of which one is taken as it is; or of one client, and of several.
    let of_one = [a, b].map(Flow::of_one);
    let alone = of_one == [true, true];
    let is_one_chosen = alone || of_one != [false, false] && !a.is_free() && !b.is_free();
    if is_one_chosen && f.clients() >= 2 && !f.is_bits() {
        let ones = if alone { Ones { most: 1, least: 0 } } else { Ones::ANY };
        let mask = Mask {
            factor: Factor::Choice,
            scope: Scope::Each,
            ones,
            computed: matches!(f.form, Dependence::Other(_)),
            by: None,
        };
        f.inputs.extend(&c.inputs);
        return Flow { form: Dependence::Masked(mask), ..f.plain() };
    }
    let for_all = is_one_for_all(g, args[0], &f);
    let zero = if a.is_free() { is_zero(g, args[1]) } else { is_zero(g, args[2]) };
    match f.form {
        Dependence::Linear | Dependence::Masked(_) => {}
        Dependence::Other(_) if zero && !f.is_bits() && f.clients() <= 1 && !for_all => {}
        Dependence::Free | Dependence::Other(_) => return other(),
    }
    // What counts where the bit is 0 does so as often as its complement is 1, and of two values one always does.
    let c = match (a.is_free(), b.is_free()) {
        (false, true) => c.clone(),
        (true, _) => not(g, rankings, args[0], c),
        (false, false) => Flow { bits: BITS, ..c.clone() },
    };
    let payload = f;
    let mut f = masked(&c, &payload, for_all, None);
    if let Dependence::Masked(mask) = &mut f.form {
        if !zero {
            mask.factor = mask.factor.max(Factor::Choice);
        }
        // A sum that is taken only where at least so many count.
        let least =
            mask.by.filter(|_| b.is_free()).and_then(|bits| least_by_gate(g, bits, args[0]));
        if let (Some(least), Ones::ANY, Some(axis)) = (least, mask.ones, payload.axis()) {
            mask.ones = payload.clients_of(Ones { least, ..Ones::ANY }, axis);
        }
    }
    f
}
