//! Linear equations: which clients do they say something about, whatever the others gave?
//!
//! A client is exposed if some combination of the equations holds unknowns of that client alone. This is so
//! exactly if taking its unknowns away lowers the rank. Equations that share no unknown, directly or over
//! others, are looked at apart.

use super::scalars::{Column, Given, Owner, Point, UNIT};
use std::collections::{BTreeMap, BTreeSet};

/// Steps of all eliminations of one system.
const STEPS: usize = 1 << 28;
/// Rows are scaled to a largest entry of 1; what is smaller than this is taken for rounding.
const TINY: f64 = 1e-8;

/// An equation: unknowns, ascending, with their factors.
pub(super) type Row = Vec<(u32, f64)>;

/// A member of a party set.
pub(super) type Member = (u32, u64);

/// By client, how many independent combinations hold unknowns of it alone.
pub(super) type Exposed = BTreeMap<Member, usize>;

/// Independent combinations in all.
pub(super) fn total(found: &Exposed) -> usize {
    found.values().sum()
}

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
        let (matrix, slots) = dense(&part, &by);
        let (rows, width) = (part.len(), matrix.first().map_or(0, Vec::len));
        steps += rows * rows * (width + by.len() * rows);
        if steps > STEPS {
            return None;
        }
        let base = reduce(matrix);
        // Random combinations of the columns of each owner, as many as there are rows: what is left without
        // an owner is the sum of those before and of those after.
        let n = base.len();
        let blocks: Vec<Vec<Vec<f64>>> =
            slots.iter().map(|(_, s)| combined(&base, s.clone())).collect();
        let mut after = vec![vec![vec![0.0; n]; n]];
        for block in blocks.iter().rev() {
            after.push(plus(&after[after.len() - 1], block));
        }
        after.reverse();
        let mut before = vec![vec![0.0; n]; n];
        for (k, (owner, _)) in slots.iter().enumerate() {
            if let Owner::One(set, member) = owner {
                let alone = n - reduce(plus(&before, &after[k + 1])).len();
                if alone > 0 {
                    *out.entry((*set, *member)).or_default() += alone;
                }
            }
            before = plus(&before, &blocks[k]);
        }
    }
    Some(out)
}

/// The client whose inputs alone an equation is of, but for terms that are less than 2^-16 of the largest one, as
/// far as they can reach.
pub(super) fn dominant(row: &Row, columns: &[Column]) -> Option<Member> {
    let reach = |&(c, x): &(u32, f64)| {
        let (lo, hi) = columns[c as usize].range;
        x.abs() * (hi - lo)
    };
    if row.len() < 2 || !row.iter().all(|t| reach(t).is_finite()) {
        return None;
    }
    let least = UNIT * row.iter().map(reach).fold(0.0, f64::max);
    let mut owners = row.iter().filter(|t| reach(t) >= least).map(|t| columns[t.0 as usize].owner);
    let first = owners.next()?;
    let others = row.iter().any(|t| columns[t.0 as usize].owner != first);
    match first {
        Owner::One(set, member) if others && owners.all(|o| o == first) => Some((set, member)),
        Owner::One(..) | Owner::Several | Owner::Nobody => None,
    }
}

/// As many random combinations of some columns as there are rows.
fn combined(base: &[Vec<f64>], columns: std::ops::Range<usize>) -> Vec<Vec<f64>> {
    let n = base.len();
    let line = |row: &Vec<f64>| {
        let mut out = vec![0.0; n];
        for c in columns.clone().filter(|&c| row[c] != 0.0) {
            out.iter_mut().enumerate().for_each(|(k, x)| *x += row[c] * weight(c as u32, k));
        }
        out
    };
    base.iter().map(line).collect()
}

/// A pseudorandom number from -1 to 1.
fn weight(column: u32, k: usize) -> f64 {
    let x = Point { seed: u64::from(column), public: Given::Any, coins: None };
    2.0 * x.unit(k as u64) - 1.0
}

fn plus(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let line = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(x, y)| x + y).collect();
    a.iter().zip(b).map(line).collect()
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

/// An owner, and its columns in a matrix.
type Slot = (Owner, std::ops::Range<usize>);

/// The rows as a matrix, columns by owner. Of an owner with many more columns than there are rows, random
/// combinations stand for them: these have the same rank.
fn dense(rows: &[&Row], by: &BTreeMap<Owner, Vec<u32>>) -> (Vec<Vec<f64>>, Vec<Slot>) {
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
    let mut rank = 0;
    for c in 0..columns {
        let pivot =
            (rank..rows.len()).max_by(|&a, &b| rows[a][c].abs().total_cmp(&rows[b][c].abs()));
        let Some(p) = pivot.filter(|&p| rows[p][c].abs() > TINY) else { continue };
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
    fn terms_of_less_than_a_unit_beside_the_largest_are_nothing() {
        let column = |member, range| Column {
            owner: Owner::One(0, member),
            range,
            unit: UNIT,
            whole: false,
            input: Some(0),
        };
        let columns: Vec<Column> =
            [(0, 1.0), (0, 1.0), (1, 1.0), (2, 64.0)].map(|(m, hi)| column(m, (0.0, hi))).into();
        let row = |x: [f64; 4]| -> Row { (0..).zip(x).filter(|t| t.1 != 0.0).collect() };
        assert_eq!(dominant(&row([1.0, 0.0, 1e-5, 0.0]), &columns), Some((0, 0)));
        assert_eq!(dominant(&row([1.0, 0.5, 1e-5, 1e-8]), &columns), Some((0, 0)));
        assert_eq!(dominant(&row([1e-6, 0.0, 1.0, 0.0]), &columns), Some((0, 1)));
        assert_eq!(dominant(&row([1.0, 0.0, 2e-5, 0.0]), &columns), None);
        // What it is multiplied with counts as well.
        assert_eq!(dominant(&row([1.0, 0.0, 0.0, 1e-5]), &columns), None);
        // One client's alone is found by rank.
        assert_eq!(dominant(&row([1.0, 1e-6, 0.0, 0.0]), &columns), None);
    }

    #[test]
    fn many_columns_of_one_client_count_by_their_rank() {
        // Two clients of 50 columns each, two equations: their difference is of client 1 alone.
        let column = |member| Column {
            owner: Owner::One(0, member),
            range: (0.0, 1.0),
            whole: false,
            unit: 1.0 / 65536.0,
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
