//! What an entry of a value depends on.

use crate::graph::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Positions k on an axis that stand for member `start + step * k` of a party set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Members {
    pub(super) set: u32,
    pub(super) start: u64,
    pub(super) step: u64,
}

/// Axes that together say which one member an entry depends on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) axes: BTreeSet<usize>,
    /// How, if it is one axis and that is known.
    pub(super) members: Option<Members>,
    /// How, if public numbers picked them.
    pub(super) picked: Option<Picked>,
}

impl Group {
    /// Along these axes nothing more is known.
    pub(super) fn along(axes: BTreeSet<usize>) -> Group {
        Group { axes, members: None, picked: None }
    }
}

/// Members that constants picked, by place or by weights of which some are 0: which stands where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picked {
    /// Axes that tell them apart, outermost first, and the sizes of these.
    pub(super) axes: Vec<usize>,
    pub(super) shape: Vec<u64>,
    /// By place; `None` where nobody stands.
    pub(super) members: Rc<[Option<u64>]>,
    /// Members of their party set.
    pub(super) all: u64,
}

/// Groups of one value from which on they are counted.
const MANY: usize = 16;

/// Groups of clients that are compared with one another.
const GROUPS: usize = 256;

impl Picked {
    /// Whether adding up along an axis leaves sums over groups of clients: each of two or more, with two or more that
    /// are not in it, and none that is another one with a client more. So no entry, and no two of them, are about one
    /// client.
    fn groups(&self, axis: usize) -> bool {
        let Some(at) = self.axes.iter().position(|&a| a == axis) else { return false };
        let inner: usize = self.shape[at + 1..].iter().map(|&n| n as usize).product();
        let along = inner * self.shape[at] as usize;
        let mut groups: BTreeMap<(usize, usize), BTreeSet<u64>> = BTreeMap::new();
        for (place, member) in self.members.iter().enumerate() {
            groups.entry((place / along, place % inner)).or_default().extend(member);
        }
        let groups: BTreeSet<BTreeSet<u64>> =
            groups.into_values().filter(|of| !of.is_empty()).collect();
        let several = |of: &BTreeSet<u64>| of.len() >= 2 && of.len() as u64 + 2 <= self.all;
        let apart = || groups.iter().all(|a| groups.iter().all(|b| a.difference(b).count() != 1));
        groups.len() <= GROUPS && groups.iter().all(several) && apart()
    }
}

/// How a value follows from secret inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Not at all.
    Free,
    /// Linearly, with public coefficients, up to a public addend.
    Linear,
    /// A linear value times a secret factor.
    Masked(Mask),
    Other,
}

/// A secret factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Mask {
    /// It is a bit, not a weight.
    pub bit: bool,
    /// It multiplies each client's input before any sum over clients.
    pub each: bool,
    /// How many of the clients' bits can be 1, if that is known.
    pub ones: Option<Ones>,
    /// What does not count adds 0, and not another public number.
    pub zero: bool,
    /// What is added up is computed from inputs, in no linear way.
    pub computed: bool,
    /// It is what one client's inputs decide, and it multiplies what others take part in.
    pub alone: bool,
    /// The bits, where it is known which.
    pub(super) by: Option<NodeId>,
}

/// How many bits of a selection are 1: none, or from `least` to `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ones {
    /// At most this many.
    pub most: u64,
    /// If any, at least this many.
    pub least: u64,
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

/// Whether entries were put in order across clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    No,
    /// Entries of one client each, ascending along this axis, as this node has them.
    Sorted(usize, NodeId),
    /// The one at this place: the value of one client.
    One(u64, NodeId),
}

/// How a value follows from secret inputs, and which clients' inputs one of its entries depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    pub form: Form,
    /// Secret inputs, by index.
    pub inputs: BTreeSet<u32>,
    pub(super) groups: Vec<Group>,
    pub(super) fixed: BTreeSet<(u32, u64)>,
    pub(super) extra: u64,
    /// One unknown member was picked out.
    pub(super) picked: bool,
    pub(super) order: Order,
    /// Bits, or bits as numbers.
    pub bits: bool,
    /// A count of comparisons of each client with the others.
    pub(super) tally: bool,
    /// Says how clients compare with one another: who is first, which place one has.
    pub ranks: bool,
    /// Public numbers that differ from client to client took part: a sum over clients says whose it is.
    pub(super) named: bool,
    pub(super) ones: Option<Ones>,
    /// Of a bit: the client that stands apart in what is compared.
    pub(super) apart: Option<Chooser>,
    /// Bits of clients choose this among public numbers.
    pub(super) choice: Choice,
    /// Which public number was chosen says by whose bit: not only by comparisons of clients.
    pub chosen: bool,
    /// Entries of some clients were left out, or may be 0 whatever these give.
    pub(super) part: bool,
    /// Divided by a secret, after a sum over clients.
    pub divided: bool,
    /// The mask of a masked sum over clients that this was computed from, entry by entry: what is said of the sum holds
    /// of it, too.
    pub behind: Option<Mask>,
    /// Entries of the value.
    pub size: u64,
}

impl Flow {
    pub(super) fn free() -> Flow {
        Flow {
            form: Form::Free,
            inputs: BTreeSet::new(),
            groups: Vec::new(),
            fixed: BTreeSet::new(),
            extra: 0,
            picked: false,
            order: Order::No,
            bits: false,
            tally: false,
            ranks: false,
            named: false,
            ones: None,
            apart: None,
            choice: Choice::new(),
            chosen: false,
            part: false,
            divided: false,
            behind: None,
            size: 1,
        }
    }

    /// Clients that one entry depends on, at most.
    pub fn clients(&self) -> u64 {
        ((self.groups.len() + self.fixed.len()) as u64).saturating_add(self.extra)
    }

    /// The one member (party set and number) that all entries depend on, if it is known.
    pub fn member(&self) -> Option<(u32, u64)> {
        if self.clients() == 1 { self.fixed.first().copied() } else { None }
    }

    /// The one axis whose positions tell clients apart.
    pub(in super::super) fn axis(&self) -> Option<usize> {
        let mut axes = self.groups.iter().flat_map(|g| g.axes.iter().copied());
        let first = axes.next()?;
        axes.all(|a| a == first).then_some(first)
    }

    /// The one member that the entry at a position depends on, if it is one and known.
    pub(in super::super) fn member_at(&self, position: &[u64]) -> Option<(u32, u64)> {
        let [group] = &self.groups[..] else { return None };
        let axis = group.axes.first().filter(|_| group.axes.len() == 1)?;
        let of = group.members.filter(|_| self.clients() == 1)?;
        Some((of.set, of.start + of.step * position.get(*axis)?))
    }

    /// The member that the entry at a position is beside others for, even if others take part in it.
    pub(in super::super) fn beside_at(&self, position: &[u64]) -> Option<(u32, u64)> {
        match &self.groups[..] {
            [] if self.fixed.len() == 1 => self.fixed.first().copied(),
            [group] => {
                let axis = group.axes.first().filter(|_| group.axes.len() == 1)?;
                let of = group.members?;
                Some((of.set, of.start + of.step * position.get(*axis)?))
            }
            _ => None,
        }
    }

    /// Whether entries of different clients stand side by side, or one client is picked out.
    pub fn per_client(&self) -> bool {
        !self.groups.is_empty() || !self.fixed.is_empty() || self.picked
    }

    /// Whether entries of different clients stand side by side.
    pub fn side_by_side(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Whether each entry is one client's, chosen by order.
    pub fn one_by_order(&self) -> bool {
        matches!(self.order, Order::One(..) | Order::Sorted(..))
    }

    pub fn is_free(&self) -> bool {
        self.form == Form::Free
    }

    pub(super) fn plain(&mut self) {
        (self.order, self.tally, self.ones) = (Order::No, false, None);
        self.choice.clear();
    }

    /// Some entries were left out, or multiplied by what may be 0: fewer may count.
    pub(super) fn fewer(&mut self) {
        self.part = true;
        let masked =
            if let Form::Masked(mask) = &mut self.form { mask.ones.as_mut() } else { None };
        masked.into_iter().chain(&mut self.ones).for_each(|ones| ones.least = 0);
    }

    /// The mask of a sum over clients, also where something was computed of the sum.
    pub(in super::super) fn masked_sum(&self) -> Option<Mask> {
        match &self.form {
            Form::Masked(m) => (m.each && self.clients() >= 2).then(|| m.clone()),
            Form::Free | Form::Linear | Form::Other => self.behind.clone(),
        }
    }

    /// Depends on secrets, in no way that is followed further.
    pub(super) fn other(mut self) -> Flow {
        self.behind = self.masked_sum();
        self.plain();
        self.bits = false;
        if !self.is_free() {
            self.form = Form::Other;
        }
        self
    }

    /// Whether positions on an axis tell clients apart.
    pub(in super::super) fn on(&self, axis: usize) -> bool {
        self.groups.iter().any(|g| g.axes.contains(&axis))
    }

    /// The dependence of an entry on clients, together with that of an aligned operand.
    pub(super) fn with_clients(&mut self, b: &Flow) {
        for group in &b.groups {
            if group.members.is_none() || !self.groups.contains(group) {
                self.groups.push(group.clone());
            }
        }
        self.fixed.extend(&b.fixed);
        // Clients that are picked one by one are as many as were picked.
        self.extra = if self.picked && b.picked {
            self.extra.saturating_add(b.extra)
        } else {
            self.extra.max(b.extra)
        };
        self.picked |= b.picked;
        self.ranks |= b.ranks;
        self.chosen |= b.chosen;
        self.apart = self.apart.or(b.apart);
        self.named |= b.named;
    }

    /// Of many groups along the same axes a few say all that is asked of them; the rest is counted.
    pub(super) fn condense(&mut self) {
        if self.groups.len() <= MANY {
            return;
        }
        let mut kept: Vec<Group> = Vec::new();
        for group in std::mem::take(&mut self.groups) {
            let alike = kept.iter().filter(|g| g.axes == group.axes).count();
            if alike < MANY / 4 || group.members.is_some() {
                kept.push(group);
            } else {
                self.extra = self.extra.saturating_add(1);
            }
        }
        self.groups = kept;
    }

    /// An axis of size 1 tells nobody apart: who it is of is one client, and not known.
    pub(super) fn trim(&mut self, shape: &[u64]) {
        let many = |axis: &usize| shape.get(*axis) != Some(&1);
        let before = self.groups.len();
        for group in self.groups.iter_mut().filter(|g| g.members.is_none()) {
            group.axes.retain(many);
            group.picked.take_if(|p| !p.axes.iter().all(many));
        }
        self.groups.retain(|g| !g.axes.is_empty());
        let gone = (before - self.groups.len()) as u64;
        self.extra = self.extra.saturating_add(gone);
        self.picked |= gone > 0;
    }

    /// An axis of size `len` is summed, or becomes part of what every entry depends on.
    pub(super) fn absorb(&mut self, axis: usize, len: u64) {
        let (mut more, mut part) = (0u64, false);
        self.groups.retain_mut(|g| {
            let had = g.axes.remove(&axis);
            let picked = g.picked.take_if(|p| p.axes.contains(&axis));
            if had {
                part |= !g.axes.is_empty();
                g.members = None;
                match picked {
                    Some(p) if p.groups(axis) => g.axes.clear(),
                    Some(p) => g.axes.extend(p.axes.iter().filter(|&&a| a != axis)),
                    None => {}
                }
                more = more.saturating_add(if g.axes.is_empty() { len } else { len - 1 });
            }
            !g.axes.is_empty()
        });
        self.extra = self.extra.saturating_add(more);
        if part {
            self.fewer();
        }
    }

    /// The one client whose data this value of a node is, or that stands apart from others that were added up. What
    /// has an entry for each client is nobody's in particular.
    pub(super) fn stands(&self, id: NodeId) -> Option<Chooser> {
        let apart = self.fixed.len() == 1 && self.extra > 0;
        if !self.groups.is_empty() || self.clients() != 1 && !apart {
            return None;
        }
        let member = self.fixed.first();
        Some(member.map_or(Chooser::Picked(id), |&(set, m)| Chooser::Member(set, m)))
    }

    /// Whether this is public, or one client's value as it is.
    pub(super) fn of_one(&self) -> bool {
        let picked = match &self.form {
            Form::Masked(m) => m.bit && m.ones.is_some_and(|o| o.most <= 1),
            Form::Free | Form::Linear | Form::Other => false,
        };
        self.is_free() || self.groups.is_empty() && (self.clients() == 1 && !self.bits || picked)
    }

    /// Renumbers axes; one without a new number becomes part of what every entry depends on.
    pub(super) fn moved(&mut self, to: impl Fn(usize) -> Option<usize>) {
        let lost: BTreeSet<usize> = self.groups.iter().flat_map(|g| g.axes.clone()).collect();
        for axis in lost.into_iter().filter(|&a| to(a).is_none()) {
            self.absorb(axis, u64::MAX);
        }
        for g in &mut self.groups {
            g.axes = g.axes.iter().filter_map(|&a| to(a)).collect();
            for axis in g.picked.iter_mut().flat_map(|p| &mut p.axes) {
                *axis = to(*axis).unwrap_or(*axis);
            }
        }
        if let Order::Sorted(axis, node) = self.order {
            self.order = to(axis).map_or(Order::No, |a| Order::Sorted(a, node));
        }
    }
}

/// Of sums, and of whatever is computed of two aligned operands.
pub(super) fn add(a: &Flow, b: &Flow) -> Flow {
    let form = match (&a.form, &b.form) {
        (Form::Free, f) | (f, Form::Free) => f.clone(),
        (Form::Other, _) | (_, Form::Other) => Form::Other,
        // What one client gave, and more, is not what it gave.
        (Form::Masked(m), Form::Linear) | (Form::Linear, Form::Masked(m)) => {
            Form::Masked(Mask { ones: m.ones.filter(|o| o.most > 1), ..m.clone() })
        }
        (m @ Form::Masked(_), _) => m.clone(),
        _ => Form::Linear,
    };
    let tally = (a.tally || a.is_free()) && (b.tally || b.is_free());
    let behind = match form {
        Form::Other => a.masked_sum().or_else(|| b.masked_sum()),
        Form::Free | Form::Linear | Form::Masked(_) => None,
    };
    let mut f = a.clone();
    // What is added counts where either does.
    f.part = (a.part || a.is_free()) && (b.part || b.is_free()) && (a.part || b.part);
    f.with_clients(b);
    f.inputs.extend(&b.inputs);
    f.plain();
    // The middle of an odd number: the same entry twice.
    let order = match (a.order, b.order) {
        (x, y) if x == y => x,
        (x, Order::No) if b.is_free() => x,
        (Order::No, y) if a.is_free() => y,
        _ => Order::No,
    };
    Flow { form, tally, order, behind, bits: false, divided: a.divided || b.divided, ..f }
}
