//! Whose data an entry of a value is made of.

use super::facts::{Chooser, Dependence, Flow, Ones};
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

/// Axes that together say which members an entry depends on; without any they are the same for all entries, picked by
/// what is not followed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) axes: BTreeSet<usize>,
    /// So many at most: one, until some of the axes are summed.
    pub(super) count: u64,
    /// How, if it is one axis and that is known.
    pub(super) members: Option<Members>,
    /// How, if public numbers picked them.
    pub(super) picked: Option<Picked>,
}

impl Group {
    /// Along these axes nothing more is known.
    pub(super) fn along(axes: BTreeSet<usize>) -> Group {
        Group { axes, count: 1, members: None, picked: None }
    }

    /// The member that an entry depends on, if it is known.
    pub(super) fn member_at(&self, position: &[u64]) -> Option<(u32, u64)> {
        let (of, axis) = (self.members?, self.axes.first()?);
        Some((of.set, of.start + of.step * position.get(*axis)?))
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

/// Groups of one value along the same axes.
const MANY: usize = 4;

/// Groups of clients that are compared with one another.
const GROUPS: usize = 256;

impl Picked {
    /// Whether another one stands at each place.
    fn is_each(&self) -> bool {
        let mut seen = BTreeSet::new();
        self.members.iter().flatten().all(|member| seen.insert(member))
    }

    /// Whether what is left after adding up along an axis are sums over groups of clients, such that no sum, and no
    /// difference of two, is about one client: each group has two clients or more, at least two are outside of it, and
    /// no group is another one with one client more.
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

impl Flow {
    /// Clients whose data one entry is made of, at most.
    pub fn clients(&self) -> u64 {
        let others = (self.fixed.len() as u64).saturating_add(self.extra);
        self.groups.iter().fold(others, |n, g| n.saturating_add(g.count))
    }

    /// Whether all entries are made of the same client's data.
    pub(super) fn is_of_one_client(&self) -> bool {
        !self.side_by_side() && self.clients() == 1
    }

    /// The one axis whose positions tell clients apart.
    pub(in super::super) fn axis(&self) -> Option<usize> {
        let mut axes = self.groups.iter().flat_map(|g| g.axes.iter().copied());
        let first = axes.next()?;
        axes.all(|a| a == first).then_some(first)
    }

    /// The one member (party set and number) whose data the entry at a position is made of, if it is one and known; at
    /// no position, of all entries.
    pub(in super::super) fn member_at(&self, position: &[u64]) -> Option<(u32, u64)> {
        self.beside_at(position).filter(|_| self.clients() == 1)
    }

    /// The member that the entry at a position is beside others for, even if others' data are in it.
    pub(in super::super) fn beside_at(&self, position: &[u64]) -> Option<(u32, u64)> {
        match &self.groups[..] {
            [] if self.fixed.len() == 1 => self.fixed.first().copied(),
            [group] => group.member_at(position),
            _ => None,
        }
    }

    /// The member that the entry at a position stands for along an axis, if entries along it are of different members
    /// of one set, in one order. Data of others may be in it.
    pub(in super::super) fn member_along(
        &self,
        axis: usize,
        position: &[u64],
    ) -> Option<(u32, u64)> {
        let along = self.groups.iter().filter(|group| group.axes.first() == Some(&axis));
        let mut found = along.filter_map(|group| group.member_at(position));
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    /// Whether entries of different clients stand side by side, or one client is picked out.
    pub fn per_client(&self) -> bool {
        !self.groups.is_empty() || !self.fixed.is_empty()
    }

    /// Whether entries of different clients stand side by side.
    pub fn side_by_side(&self) -> bool {
        self.sides() > 0
    }

    /// In how many ways entries of different clients stand side by side.
    pub(super) fn sides(&self) -> usize {
        self.groups.iter().filter(|g| !g.axes.is_empty()).count()
    }

    /// Whether positions on an axis tell clients apart.
    pub(in super::super) fn on(&self, axis: usize) -> bool {
        self.groups.iter().any(|g| g.axes.contains(&axis))
    }

    /// Of so many entries along an axis: how many clients' they are. Two may be of one client, unless each position is
    /// another one.
    pub(super) fn clients_of(&self, ones: Ones, axis: usize) -> Ones {
        let each = |g: &Group| {
            g.axes.len() == 1
                && (g.members.is_some() || g.picked.as_ref().is_some_and(Picked::is_each))
        };
        let all = self.groups.iter().filter(|g| g.axes.contains(&axis)).all(each);
        Ones { least: if all { ones.least } else { ones.least.min(1) }, ..ones }
    }

    /// The data of an entry, together with those of an aligned operand.
    pub(super) fn with_clients(&mut self, b: &Flow) {
        for group in &b.groups {
            let same = |g: &&mut Group| {
                g.members.is_some()
                    && (&g.axes, g.members, g.count) == (&group.axes, group.members, group.count)
            };
            match self.groups.iter_mut().find(same) {
                // Where one has no data of a member the other one may have some.
                Some(own) => _ = own.picked.take_if(|p| Some(&*p) != group.picked.as_ref()),
                None => self.groups.push(group.clone()),
            }
        }
        self.fixed.extend(&b.fixed);
        self.extra = self.extra.saturating_add(b.extra);
    }

    /// Of many groups along the same axes a few say all that is asked of them; the rest is counted.
    pub(super) fn condense(&mut self) {
        let mut kept: Vec<Group> = Vec::new();
        for group in std::mem::take(&mut self.groups) {
            if kept.iter().filter(|g| g.axes == group.axes).count() < MANY {
                kept.push(group);
            } else {
                self.extra = self.extra.saturating_add(group.count);
            }
        }
        self.groups = kept;
    }

    /// An axis of size 1 tells nobody apart: who it is of is one client, and not known.
    pub(super) fn trim(&mut self, shape: &[u64]) {
        let many = |axis: &usize| shape.get(*axis) != Some(&1);
        for group in self.groups.iter_mut().filter(|g| g.members.is_none()) {
            group.axes.retain(many);
            group.picked.take_if(|p| !p.axes.iter().all(many));
        }
    }

    /// An axis of size `len` is summed, or becomes part of what every entry depends on.
    pub(super) fn absorb(&mut self, axis: usize, len: u64) {
        let (mut more, mut part) = (0u64, false);
        self.groups.retain_mut(|g| {
            let picked = g.picked.take_if(|p| p.axes.contains(&axis));
            if !g.axes.remove(&axis) {
                return true;
            }
            part |= !g.axes.is_empty();
            g.members = None;
            g.count = g.count.saturating_mul(len);
            match picked {
                Some(p) if p.groups(axis) => g.axes.clear(),
                Some(p) => g.axes.extend(p.axes.iter().filter(|&&a| a != axis)),
                None => {}
            }
            if g.axes.is_empty() {
                more = more.saturating_add(g.count);
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
    pub(super) fn single_client(&self, id: NodeId) -> Option<Chooser> {
        if self.side_by_side() || self.clients() != 1 && self.fixed.len() != 1 {
            return None;
        }
        let member = self.fixed.first();
        Some(member.map_or(Chooser::Picked(id), |&(set, m)| Chooser::Member(set, m)))
    }

    /// Whether this is public, or one client's value as it is.
    pub(super) fn of_one(&self) -> bool {
        let picked =
            matches!(self.form, Dependence::Masked(m) if m.factor.selects() && m.ones.most <= 1);
        self.is_free() || !self.side_by_side() && (self.clients() == 1 && !self.is_bits() || picked)
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
        self.renumber(to);
    }
}
