//! Linear equations: which clients do they say something about, whatever the others gave?
//!
//! A client is exposed if some combination of the equations holds unknowns of that client alone. This is so
//! exactly if taking its unknowns away lowers the rank. Equations that share no unknown, directly or over
//! others, are looked at apart.

use super::scalars::{Column, Owner};
use std::collections::{BTreeMap, BTreeSet};

/// Steps of all eliminations of one system.
const STEPS: usize = 1 << 28;
/// What is smaller than this part of a row's largest entry is taken for the rounding of an evaluation.
const TINY: f64 = 1e-8;

/// An equation: unknowns, ascending, with their factors.
pub(super) type Row = Vec<(u32, f64)>;

/// A member of a party set.
pub(super) type Member = (u32, u64);

/// By client, how many independent combinations hold unknowns of it alone.
pub(super) type Exposed = BTreeMap<Member, usize>;

/// The clients that are exposed; `None` if there is too much to look at.
pub(super) fn exposed(rows: &[&Row], columns: &[Column]) -> Option<Exposed> {
    let mut out = Exposed::new();
    let mut steps = 0;
    for part in parts(rows) {
        let mut by: BTreeMap<Owner, Vec<u32>> = BTreeMap::new();
        let all: BTreeSet<u32> = part.iter().flat_map(|r| r.iter().map(|t| t.0)).collect();
        for &c in &all {
            by.entry(columns[c as usize].owner).or_default().push(c);
        }
        let owners = by.keys().filter(|o| matches!(o, Owner::One(..))).count();
        steps += part.len() * part.len() * all.len().min(by.len() * (part.len() + 4)) * (owners + 1);
        if steps > STEPS {
            return None;
        }
        let (matrix, slots) = dense(&part, &by);
        let base = reduce(matrix);
        for (owner, mine) in &slots {
            let Owner::One(set, member) = owner else { continue };
            let without: Vec<Vec<f64>> = (base.iter())
                .map(|r| [&r[..mine.start], &r[mine.end..]].concat())
                .collect();
            let alone = base.len() - reduce(without).len();
            if alone > 0 {
                *out.entry((*set, *member)).or_default() += alone;
            }
        }
    }
    Some(out)
}

/// Rows that hang together.
fn parts<'a>(rows: &[&'a Row]) -> Vec<Vec<&'a Row>> {
    let mut parent: Vec<usize> = (0..rows.len()).collect();
    fn root(parent: &mut [usize], mut x: usize) -> usize {
        while parent[x] != x {
            parent[x] = parent[parent[x]];
            x = parent[x];
        }
        x
    }
    let mut first: BTreeMap<u32, usize> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        for (c, _) in row.iter() {
            let other = *first.entry(*c).or_insert(i);
            let (a, b) = (root(&mut parent, i), root(&mut parent, other));
            parent[a] = b;
        }
    }
    let mut out: BTreeMap<usize, Vec<&Row>> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate().filter(|(_, r)| !r.is_empty()) {
        out.entry(root(&mut parent, i)).or_default().push(row);
    }
    out.into_values().collect()
}

/// The rows as a matrix, columns by owner. Of an owner with many more columns than there are rows, random
/// combinations stand for them: these have the same rank.
#[allow(clippy::type_complexity)]
fn dense(
    rows: &[&Row],
    by: &BTreeMap<Owner, Vec<u32>>,
) -> (Vec<Vec<f64>>, Vec<(Owner, std::ops::Range<usize>)>) {
    let most = rows.len() + 4;
    let mut slots = Vec::new();
    let mut place: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    let mut width = 0;
    for (owner, columns) in by {
        let taken = columns.len().min(most);
        for (i, &c) in columns.iter().enumerate() {
            let combined = columns.len() > most;
            place.insert(c, if combined { (width, taken) } else { (width + i, 1) });
        }
        slots.push((*owner, width..width + taken));
        width += taken;
    }
    let weight = |c: u32, k: usize| {
        let x = super::scalars::Point { seed: u64::from(c), public: super::scalars::Given::Any };
        0.5 + x.unit(k as u64)
    };
    let line = |row: &&Row| {
        let largest = row.iter().fold(0.0f64, |m, t| m.max(t.1.abs()));
        let mut line = vec![0.0; width];
        for (c, x) in row.iter().filter(|t| t.1.abs() > largest * TINY) {
            let (start, taken) = place[c];
            match taken {
                1 => line[start] += x / largest,
                _ => (0..taken).for_each(|k| line[start + k] += x / largest * weight(*c, k)),
            }
        }
        line
    };
    (rows.iter().map(line).collect(), slots)
}

/// A basis of the rows' span (elimination with the largest pivot of the rows that are left).
pub(super) fn reduce(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let columns = rows.first().map_or(0, Vec::len);
    let largest = rows.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    let mut rank = 0;
    for c in 0..columns {
        let pivot =
            (rank..rows.len()).max_by(|&a, &b| rows[a][c].abs().total_cmp(&rows[b][c].abs()));
        let Some(p) = pivot.filter(|&p| rows[p][c].abs() > largest * TINY) else { continue };
        rows.swap(rank, p);
        let (head, tail) = rows.split_at_mut(rank + 1);
        let pivot = &head[rank];
        for row in tail.iter_mut().filter(|r| r[c] != 0.0) {
            let by = row[c] / pivot[c];
            row.iter_mut().zip(pivot).for_each(|(x, p)| *x -= by * p);
            row[c] = 0.0;
        }
        rank += 1;
        if rank == rows.len() {
            break;
        }
    }
    rows.truncate(rank);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_basis_has_as_many_rows_as_the_rank() {
        let rank = |rows: &[&[f64]]| reduce(rows.iter().map(|r| r.to_vec()).collect()).len();
        assert_eq!(rank(&[]), 0);
        assert_eq!(rank(&[&[0.0, 0.0]]), 0);
        assert_eq!(rank(&[&[1.0, 1.0], &[2.0, 2.0], &[1.0, 0.0]]), 2);
        assert_eq!(rank(&[&[0.1, 0.2, 0.3], &[0.3, 0.6, 0.9], &[0.0, 0.0, 1e-3]]), 2);
    }

    #[test]
    fn many_columns_of_one_client_count_by_their_rank() {
        // Two clients of 50 columns each, two equations: their difference is of client 1 alone.
        let column = |member| Column {
            owner: Owner::One(0, member),
            range: (0.0, 1.0),
            whole: false,
            input: Some(0),
        };
        let columns: Vec<Column> = (0..100).map(|c| column(c / 50)).collect();
        let all: Row = (0..100).map(|c| (c, 1.0)).collect();
        let twice: Row = (0..100).map(|c| (c, if c < 50 { 1.0 } else { 2.0 })).collect();
        let bent: Row = (0..100).map(|c| (c, f64::from(c + 1))).collect();
        assert_eq!(exposed(&[&all], &columns), Some(Exposed::new()));
        let one = Exposed::from([((0, 0), 1), ((0, 1), 1)]);
        assert_eq!(exposed(&[&all, &twice], &columns), Some(one));
        assert_eq!(exposed(&[&all, &bent], &columns), Some(Exposed::new()));
    }
}
