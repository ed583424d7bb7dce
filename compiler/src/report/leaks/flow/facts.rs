//! What is known of a value: each fact, and what it claims.
//!
//! Each errs on one side only: a value may be simpler, and depend on less, than is said. Claims about any two runs are
//! held against random graphs in the clear (`tests`). Of `part`, `choice` and `divided`, and of `ranks` where it is
//! set, no runs tell: they say how a value was computed.

use super::members::Group;
use crate::graph::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a value, and holds of each entry in all runs that differ in secrets only: inputs that the receiver
/// does not know. Public and own inputs, coins and noise are the same in them. Where *data* are meant, so are all
/// factors of masks and divisors, which the clients that give the data need not have given.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Claims how an entry follows from the secrets. It may be simpler than that.
    pub form: Dependence,
    /// Claims that an entry does not change with any other secret input.
    pub inputs: BTreeSet<u32>,
    /// `groups`, `fixed` and `extra` claim together that an entry changes with the data of no other members: of each
    /// group with those that the entry's position tells,
    pub(super) groups: Vec<Group>,
    /// with each of these (party set and member), wherever the entry stands,
    pub(super) fixed: BTreeSet<(u32, u64)>,
    /// and with at most so many more, of whom nothing is known.
    pub(super) extra: u64,
    /// If not set, claims that none of these members were left out by their place, or by a public factor that may be 0.
    pub(in super::super) part: bool,
    /// If set, claims that each entry is 0 or a public number, and how many along an axis are not 0.
    pub(super) bits: Option<Bits>,
    /// Claims, unless it is [`Order::No`], that each entry is made of one client's, which its place in an order picked.
    pub(super) order: Order,
    /// Claims, if it is [`Ranks::No`], that entries say nothing of how clients compare but by standing beside each
    /// other.
    pub ranks: Ranks,
    /// If not empty, claims that it is one of these public numbers, with the client whose bit chooses it.
    pub(super) choice: Choice,
    /// If not set, claims that no sum over clients that is linear or masked was divided by a secret; it says nothing
    /// of other dividends, nor of products with a reciprocal. If set, `form` is that of the dividend where it is linear
    /// or masked.
    pub divided: bool,
}

/// How a value follows from the secrets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dependence {
    /// Not at all.
    Free,
    /// Linearly, with public coefficients, up to a public addend.
    Linear,
    /// A sum of data times secret factors, up to a public addend.
    Masked(Mask),
    /// Nothing is claimed. What is said of the masked sum over clients that it was computed from, entry by entry, holds
    /// of it, too.
    Other(Option<Mask>),
}

/// Secret factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mask {
    pub factor: Factor,
    pub scope: Scope,
    /// How many clients have one that is not 0.
    pub ones: Ones,
    /// The data are computed from inputs, in no linear way.
    pub computed: bool,
    /// The bits, where it is known which.
    pub(super) by: Option<NodeId>,
}

/// What a factor makes of data, the least said last: of a sum of two the later one is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    /// 0, or the data as they are, up to one scale for all clients.
    Bit,
    /// Likewise, but what is left out adds another public number than 0.
    Choice,
    /// Anything: there may be one weight for each client.
    Weight,
}

impl Factor {
    /// Whether data count as they are or not at all.
    pub fn selects(self) -> bool {
        self != Factor::Weight
    }
}

/// What one factor multiplies; of a sum of two the later one is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The data of all clients alike, so that all of them are hidden or shown.
    All,
    /// Likewise, and it follows from one client's inputs: others' data are multiplied by it.
    AllByOne,
    /// One client's data, before any sum over clients: there is a factor for each.
    Each,
}

/// How many are selected: none, or from `least` to `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ones {
    /// At most so many, unless numbers that are compared are equal.
    pub most: u64,
    pub least: u64,
}

impl Ones {
    /// Nothing is known.
    pub(super) const ANY: Ones = Ones { most: u64::MAX, least: 0 };

    /// Fewer may count.
    pub(super) fn fewer(self) -> Ones {
        Ones { least: 0, ..self }
    }
}

/// How many bits are not 0 along an axis, wherever on the others.
pub(super) type Bits = (Ones, usize);

/// Bits of which nothing more is known.
pub(super) const BITS: Option<Bits> = Some((Ones::ANY, 0));

/// Whether entries are those that a node puts in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    No,
    /// Each is computed of an entry of the node's operand for one client, alone: ascending along this axis, as this node
    /// has them.
    Sorted(usize, NodeId),
    /// The one at this place, likewise.
    One(Place, NodeId),
    /// Each is computed of one such entry, of which nothing more is known, or of a public number, and may be hidden by
    /// bits.
    Some,
}

/// A place in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    First,
    Last,
    /// So many are before it.
    At(u64),
}

/// Whether a value says how clients compare with one another. Without it entries say nothing of an order but by
/// standing beside each other: whoever exchanges all that two clients give exchanges their entries, and changes no
/// others, unless these clients were told apart by place or by a public number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ranks {
    No,
    /// Who is first, or which place one has; a sum over all clients does not say it.
    Compared,
    /// Public numbers that differ from client to client took part, so that a sum says it, too.
    Named,
    /// It is one of several public numbers, and which one says by whose bit it was chosen.
    Chosen,
}

/// By whose data a choice among public numbers falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Chooser {
    /// That of this member of a party set.
    Member(u32, u64),
    /// That of the client whose data this node is; it is not known which.
    Picked(NodeId),
}

/// A public number, as far as it can be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Number {
    /// A constant, by its bits.
    Constant(u64),
    /// What a node holds.
    Of(NodeId),
}

/// The public numbers that a value is one of: with each, the one client by whose bit it is chosen.
pub(super) type Choice = BTreeMap<Number, Option<Chooser>>;

impl Flow {
    pub(super) fn free() -> Flow {
        Flow {
            form: Dependence::Free,
            inputs: BTreeSet::new(),
            groups: Vec::new(),
            fixed: BTreeSet::new(),
            extra: 0,
            part: false,
            bits: None,
            order: Order::No,
            ranks: Ranks::No,
            choice: Choice::new(),
            divided: false,
        }
    }

    pub fn is_free(&self) -> bool {
        self.form == Dependence::Free
    }

    /// Bits, or bits as numbers.
    pub fn is_bits(&self) -> bool {
        self.bits.is_some()
    }

    /// How many bits along an axis are 1.
    pub(super) fn ones(&self, along: usize) -> Ones {
        self.bits.filter(|b| b.1 == along).map_or(Ones::ANY, |b| b.0)
    }

    /// Whether each entry is one client's, chosen by order.
    pub fn one_by_order(&self) -> bool {
        self.order != Order::No
    }

    /// The mask of a sum over clients, also where something was computed of the sum.
    pub(in super::super) fn masked_sum(&self) -> Option<Mask> {
        match self.form {
            Dependence::Masked(m) => (m.scope == Scope::Each && self.clients() >= 2).then_some(m),
            Dependence::Other(of) => of,
            Dependence::Free | Dependence::Linear => None,
        }
    }

    /// Numbers of which nothing is known but whose data they are made of.
    pub(super) fn plain(self) -> Flow {
        Flow { order: Order::No, bits: None, choice: Choice::new(), ..self }
    }

    /// The same bits or numbers as before, in no order: some entries were left out, or multiplied by what may be 0.
    pub(super) fn fewer(&mut self) {
        self.part = true;
        if let Dependence::Masked(mask) = &mut self.form {
            mask.ones = mask.ones.fewer();
        }
        self.bits = self.bits.map(|(ones, axis)| (ones.fewer(), axis));
    }

    /// What is said of entries along an axis, where axes are renumbered; of one that has no number, nothing.
    pub(super) fn renumber(&mut self, to: impl Fn(usize) -> Option<usize>) {
        if let Order::Sorted(axis, node) = self.order {
            self.order = to(axis).map_or(Order::Some, |a| Order::Sorted(a, node));
        }
        if let Some((ones, axis)) = self.bits {
            self.bits = to(axis).map_or(BITS, |a| Some((ones, a)));
        }
    }

    /// Computed from it entry by entry.
    pub(super) fn entrywise(self) -> Flow {
        let order = self.order;
        Flow { order, ..self.other() }
    }

    /// Computed from it, in no way that is followed further.
    pub(super) fn other(self) -> Flow {
        let form =
            if self.is_free() { Dependence::Free } else { Dependence::Other(self.masked_sum()) };
        Flow { form, ..self.plain() }
    }
}

/// Of two aligned values: whatever is computed of both.
pub(super) fn both(a: &Flow, b: &Flow) -> Flow {
    let form = match (a.form, b.form) {
        (Dependence::Free, Dependence::Free) => Dependence::Free,
        _ => Dependence::Other(match (a.masked_sum(), b.masked_sum()) {
            (Some(m), Some(n)) => Some(m.and(n)),
            (m, n) => m.or(n),
        }),
    };
    let mut f = Flow { form, divided: a.divided || b.divided, ..a.clone().plain() };
    f.part |= b.part;
    f.inputs.extend(&b.inputs);
    f.with_clients(b);
    f.ranks = a.ranks.max(b.ranks);
    f
}

/// Of two aligned values: their sum, or difference.
pub(super) fn add(a: &Flow, b: &Flow) -> Flow {
    let f = both(a, b);
    let mut form = match (a.form, b.form) {
        (Dependence::Free, form) | (form, Dependence::Free) => form,
        (Dependence::Linear, Dependence::Linear) => Dependence::Linear,
        (Dependence::Other(_), _) | (_, Dependence::Other(_)) => f.form,
        (Dependence::Masked(m), Dependence::Linear) => Dependence::Masked(m.beside(b)),
        (Dependence::Linear, Dependence::Masked(m)) => Dependence::Masked(m.beside(a)),
        (Dependence::Masked(m), Dependence::Masked(n)) => Dependence::Masked(m.and(n)),
    };
    // What counts in one may be taken away by the other.
    if let Dependence::Masked(m) = &mut form
        && !a.inputs.is_disjoint(&b.inputs)
    {
        m.ones = m.ones.fewer();
    }
    // The middle of an odd number: the same entry twice.
    let order = match (a.order, b.order) {
        (x, y) if x == y && x != Order::Some => x,
        (x, Order::No) if b.is_free() => x,
        (Order::No, y) if a.is_free() => y,
        _ => Order::No,
    };
    // What is added counts where either does.
    let part = (a.part || a.is_free()) && (b.part || b.is_free()) && f.part;
    Flow { form, order, part, ..f }
}

impl Mask {
    /// Of a sum of the masked one and another, in which all count.
    fn beside(self, linear: &Flow) -> Mask {
        let least = if linear.clients() > 1 { self.ones.least } else { 0 };
        Mask { ones: Ones { least, ..Ones::ANY }, ..self }
    }

    /// Of a sum of two masked ones.
    fn and(self, b: Mask) -> Mask {
        let same = self.by.is_some() && self.by == b.by;
        let most = if same { self.ones.most } else { self.ones.most.saturating_add(b.ones.most) };
        Mask {
            factor: self.factor.max(b.factor),
            scope: self.scope.max(b.scope),
            ones: Ones { most, least: self.ones.least.min(b.ones.least) },
            computed: self.computed || b.computed,
            by: self.by.filter(|_| same),
        }
    }
}
