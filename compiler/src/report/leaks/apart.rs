//! Sums that fall apart by their sizes: as they are revealed, or behind what they are revealed through.
//!
//! A function that can be inverted hides no sum. A choice tells the sum some of the time, and a comparison with a
//! known number tells its largest part.

use super::pack;
use super::scalars::{Column, Inside, Owner};
use super::system::{Member, Row, exposed, total};
use std::collections::{BTreeMap, BTreeSet};

/// Unknowns of one reveal whose operands are looked at.
const OPENED: usize = 1 << 12;

/// By unknown, what can be told from it.
pub(super) type Told = BTreeMap<u32, Vec<Inside>>;

/// Of whom these reveals say something once sums have fallen apart that did not before; nobody by name if
/// a summand of several clients is told from the others.
pub(super) fn packed(
    rows: &[&Row],
    columns: &[Column],
    told: &Told,
) -> Option<Option<Vec<Member>>> {
    let found = fallen(columns, rows)?;
    if found.is_some() { Some(found) } else { behind(rows, columns, told) }
}

/// The same of what these reveals are computed from, and not of themselves.
pub(super) fn behind(
    rows: &[&Row],
    columns: &[Column],
    told: &Told,
) -> Option<Option<Vec<Member>>> {
    for (row, side) in opened(rows, columns, told) {
        if let Some(members) = fallen(columns, &[&row])? {
            // A side of a threshold says something of the largest part, and not of all.
            return Some(Some(if side { Vec::new() } else { members }));
        }
    }
    Some(None)
}

fn fallen(columns: &[Column], rows: &[&Row]) -> Option<Option<Vec<Member>>> {
    let parts: Vec<Vec<Row>> = rows.iter().map(|r| pack::parts(r, columns)).collect();
    if parts.iter().all(|p| p.len() < 2) {
        return Some(None);
    }
    let before = exposed(rows, columns)?;
    let all: Vec<&Row> = rows.iter().copied().chain(parts.iter().flatten()).collect();
    let mut after = exposed(&all, columns)?;
    if total(&after) > total(&before) {
        after.retain(|m, n| before.get(m) != Some(n));
        return Some(Some(after.into_keys().collect()));
    }
    let apart = parts.iter().filter(|p| p.len() > 1).flatten().any(|p| p.len() == 1);
    Some(apart.then(Vec::new))
}

/// The sums over several clients that can be told from what these reveals are computed from by invertible
/// functions, choices and comparisons with known numbers; with each, whether only a side of a threshold is told.
pub(super) fn opened(rows: &[&Row], columns: &[Column], told: &Told) -> Vec<(Row, bool)> {
    let mut open: Vec<(Row, bool)> =
        rows.iter().flat_map(|r| pack::parts(r, columns)).map(|r| (r, false)).collect();
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    while let Some((row, side)) = open.pop() {
        let [(column, _)] = row[..] else { continue };
        if !seen.insert((column, side)) || seen.len() > OPENED {
            continue;
        }
        for inside in told.get(&column).into_iter().flatten() {
            let (row, side) = (inside.form.terms.clone(), side || inside.side);
            open.extend(pack::parts(&row, columns).into_iter().map(|r| (r, side)));
            let mut owners = row.iter().map(|t| columns[t.0 as usize].owner);
            let first = owners.next();
            if owners.any(|o| Some(o) != first) {
                out.push((row, side));
            }
        }
    }
    out
}

/// Whether bits or small numbers of clients are added up with weights that tell clients apart.
pub(super) fn weighed(row: &Row, columns: &[Column]) -> bool {
    let column = |c: u32| &columns[c as usize];
    let small = |c: u32| column(c).whole && column(c).range.1 - column(c).range.0 <= 3.0;
    if row.len() < 2 || !row.iter().all(|t| small(t.0)) {
        return false;
    }
    // Weights by client; what is of several clients stands for itself.
    let mut clients: BTreeMap<Member, Vec<u64>> = BTreeMap::new();
    let mut classes: BTreeMap<(bool, Vec<u64>), usize> = BTreeMap::new();
    for &(c, x) in row {
        let weight = (x.abs() * 1e9).round() as u64;
        match column(c).owner {
            Owner::One(set, member) => clients.entry((set, member)).or_default().push(weight),
            Owner::Several | Owner::Nobody => {
                *classes.entry((false, vec![weight])).or_default() += 1
            }
        }
    }
    for weights in clients.values_mut() {
        weights.sort_unstable();
        *classes.entry((true, std::mem::take(weights))).or_default() += 1;
    }
    let members = classes.values().sum::<usize>();
    members >= 2 && classes.values().any(|&n| n == 1)
}
