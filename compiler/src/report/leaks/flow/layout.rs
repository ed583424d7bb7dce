//! Flows of operations that move entries without computing on them.

use super::facts::{BITS, Flow, Order, Place, add};
use super::members::{Group, Members, Picked};
use crate::analysis::layout::reshaped;
use std::collections::BTreeSet;

pub(super) fn slice(a: &Flow, axis: usize, start: u64, len: u64, step: u64) -> Flow {
    let mut f = a.clone();
    if f.on(axis) {
        f.fewer();
    }
    for g in &mut f.groups {
        g.picked.take_if(|p| p.axes.contains(&axis));
    }
    for g in f.groups.iter_mut().filter(|g| g.axes.contains(&axis)) {
        let found = g.members.map(|m| Members {
            start: m.start.saturating_add(m.step.saturating_mul(start)),
            step: m.step.saturating_mul(step),
            ..m
        });
        g.members = found;
        if len == 1 {
            g.axes.remove(&axis);
            f.fixed.extend(found.map(|m| (m.set, m.start)));
        }
    }
    f.groups.retain(|g| g.members.is_none() || !g.axes.is_empty());
    if let Order::Sorted(along, node) = f.order
        && along == axis
    {
        f.order = if len == 1 { Order::One(Place::At(start), node) } else { Order::Some };
    }
    f
}

/// Public numbers pick members along an axis, and the axes of the index take its place. `places` are these numbers and
/// their shape, where they are constants.
pub(super) fn gather(
    f: &mut Flow,
    (axis, indexed): (usize, usize),
    places: Option<(&[u64], Vec<u64>)>,
    parties: &[(String, u64)],
) {
    let at = |a: usize| if a > axis { a + indexed - 1 } else { a };
    if f.on(axis) {
        f.fewer();
    }
    for g in &mut f.groups {
        let had = g.axes.remove(&axis);
        g.axes = g.axes.iter().map(|&a| at(a)).collect();
        g.picked.take_if(|p| p.axes.contains(&axis));
        g.picked.iter_mut().flat_map(|p| &mut p.axes).for_each(|a| *a = at(*a));
        if had {
            g.picked = match (g.members, &places) {
                (Some(m), Some((shape, of))) => Some(Picked {
                    axes: (axis..axis + indexed).collect(),
                    shape: shape.to_vec(),
                    members: of.iter().map(|&k| Some(m.start + m.step * k)).collect(),
                    all: parties.get(m.set as usize).map_or(0, |p| p.1),
                }),
                _ => None,
            };
            g.axes.extend(axis..axis + indexed);
            g.members = None;
        }
    }
    f.renumber(|a| (a != axis).then(|| at(a)));
}

/// Which members constant weights leave, where these are 0 for some of them.
pub(super) fn weighed(f: &mut Flow, (shape, weights): (&[u64], &[f64]), parties: &[(String, u64)]) {
    let [group] = &mut f.groups[..] else { return };
    let (Some(m), Some(&along)) = (group.members, group.axes.first()) else { return };
    let axes: Vec<usize> = (0..shape.len()).filter(|&a| shape[a] > 1).collect();
    if group.axes.len() > 1 || !axes.contains(&along) {
        return;
    }
    let inner: usize = shape[along + 1..].iter().map(|&n| n as usize).product();
    let member = |place: usize| m.start + m.step * ((place / inner) as u64 % shape[along]);
    group.picked = Some(Picked {
        shape: axes.iter().map(|&a| shape[a]).collect(),
        members: (0..weights.len()).map(|k| (weights[k] != 0.0).then(|| member(k))).collect(),
        all: parties.get(m.set as usize).map_or(0, |p| p.1),
        axes,
    });
}

/// Of entries of which each is one of these.
pub(super) fn one_of(of: &[&Flow]) -> Order {
    let mut orders = of.iter().filter(|f| !f.is_free()).map(|f| f.order);
    match orders.next() {
        Some(one @ Order::One(..)) if orders.clone().all(|o| o == one) => one,
        Some(o) if o != Order::No && orders.all(|o| o != Order::No) => Order::Some,
        _ => Order::No,
    }
}

/// Of a product or quotient: the same entry, or a bit, or what is public, does not hide an entry.
pub(super) fn one_by(a: &Flow, b: &Flow) -> Order {
    match (a.order, b.order) {
        (x, y) if x == y && x != Order::Some => x,
        (x, _) if b.is_free() => x,
        (_, y) if a.is_free() => y,
        (x, y) if (a.is_bits() || b.is_bits()) && (x, y) != (Order::No, Order::No) => Order::Some,
        _ => Order::No,
    }
}

/// Every entry is an entry of one of the parts.
pub(super) fn concat(of: &[&Flow], axis: usize) -> Flow {
    let Some((first, rest)) = of.split_first() else { return Flow::free() };
    // Who stands where is found below: on the way it is counted, so that many parts take no longer than they are many.
    let add = |all: Flow, b: &&Flow| {
        let clients = all.clients().max(b.clients());
        Flow { groups: Vec::new(), fixed: BTreeSet::new(), extra: clients, ..add(&all, b) }
    };
    let mut all = rest.iter().fold((*first).clone(), add);
    all.part = of.iter().any(|f| f.part);
    if of.iter().all(|f| f.is_bits()) {
        all.bits = BITS;
    }
    all.order = one_of(of);
    let most = of.iter().map(|f| f.clients()).max().unwrap_or(0);
    // What is public depends on nobody.
    let mut secret = of.iter().filter(|f| !f.is_free());
    let Some(first) = secret.next() else { return all };
    if secret.all(|f| (&f.groups, &f.fixed) == (&first.groups, &first.fixed)) {
        (all.groups, all.fixed) = (first.groups.clone(), first.fixed.clone());
        // Along the axis the count of positions starts anew in each part.
        all.groups.iter_mut().filter(|g| g.axes.contains(&axis)).for_each(|g| {
            (g.members, g.picked) = (None, None);
        });
        all.extra = of.iter().map(|f| f.extra).max().unwrap_or(0);
    } else {
        let mut axes: BTreeSet<usize> = [axis].into();
        of.iter().flat_map(|f| &f.groups).for_each(|g| axes.extend(&g.axes));
        all.groups = vec![Group::along(axes)];
        all.fixed = BTreeSet::new();
        all.extra = most.saturating_sub(1);
    }
    all
}

/// Axes keep their meaning where sizes before and after line up. Where axes are merged or cut, a
/// member is told by all the axes that came of it.
pub(super) fn reshape(from: &[u64], to: &[u64], a: &Flow) -> Flow {
    let map = reshaped(from, to);
    let mut f = a.clone();
    for g in &mut f.groups {
        let images = g.axes.iter().filter_map(|axis| map.get(axis));
        let kept = images.clone().all(|r| r.whole);
        g.axes = images.flat_map(|r| &r.axes).copied().collect();
        let renamed = |axis: &usize| match map.get(axis) {
            Some(r) if r.whole && r.axes.len() == 1 => r.axes.first().copied(),
            _ => None,
        };
        g.picked = g.picked.take().and_then(|p| {
            let axes = p.axes.iter().map(renamed).collect::<Option<_>>()?;
            Some(Picked { axes, ..p })
        });
        if !kept || g.axes.is_empty() {
            g.members = None;
        }
    }
    f.renumber(|axis| map.get(&axis).filter(|r| r.whole)?.axes.first().copied());
    f
}
