//! Tables of pairs, by a rule instead of by their words: what ranks of n members are read with.
//!
//! The pairs of n members are those of a member i and an earlier one j, numbered (1, 0), (2, 0), (2, 1), (3, 0)
//! and so on: pair (i, j) has the number i (i - 1) / 2 + j. The others of a member are all but itself, in order.
//! A table of n members has about n^2 entries, and a rule takes a few bytes of an artifact.

use serde::{Deserialize, Serialize};

/// Most members that pairs are made of. Numbers of their pairs are below 2^31.
pub const MAX_PAIRED: u64 = 1 << 16;

/// Which table of the pairs of n members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PairTable {
    /// `[n (n - 1) / 2]`: of each pair the later member.
    Later,
    /// `[n (n - 1) / 2]`: of each pair the earlier member.
    Earlier,
    /// `[n, n - 1]`: of each member and each of its others the number of their pair.
    Number,
    /// `[n, n - 1]`: of each member and each of its others 1 where the other is later, -1 where it is earlier.
    Order,
    /// `[n, n - 1]`: of each member its others.
    Other,
}

impl PairTable {
    pub const ALL: [PairTable; 5] = [
        PairTable::Later,
        PairTable::Earlier,
        PairTable::Number,
        PairTable::Order,
        PairTable::Other,
    ];

    /// Name in text forms.
    pub fn name(self) -> &'static str {
        match self {
            PairTable::Later => "later",
            PairTable::Earlier => "earlier",
            PairTable::Number => "number",
            PairTable::Order => "order",
            PairTable::Other => "other",
        }
    }

    /// Its shape for n members, at least one.
    pub fn shape(self, n: u64) -> Vec<u64> {
        match self {
            PairTable::Later | PairTable::Earlier => vec![pairs(n)],
            PairTable::Number | PairTable::Order | PairTable::Other => {
                vec![n, n.saturating_sub(1)]
            }
        }
    }

    /// Its smallest and largest entry for n members, at least two.
    pub fn range(self, n: u64) -> (i64, i64) {
        let last = |count: u64| count.saturating_sub(1) as i64;
        match self {
            PairTable::Later => (1, last(n)),
            PairTable::Other => (0, last(n)),
            PairTable::Earlier => (0, last(n.saturating_sub(1))),
            PairTable::Number => (0, last(pairs(n))),
            PairTable::Order => (-1, 1),
        }
    }

    /// Its entry at a place, row-major, for n members.
    pub fn entry(self, n: u64, at: u64) -> i64 {
        // The last member whose pairs begin at this one or before it: a root, and what rounding misses.
        let later = || {
            let mut i = (0.5 + (0.25 + 2.0 * at as f64).sqrt()) as u64;
            while pairs(i) > at {
                i -= 1;
            }
            while pairs(i + 1) <= at {
                i += 1;
            }
            i
        };
        let other = || {
            let (i, o) = (at / n.saturating_sub(1).max(1), at % n.saturating_sub(1).max(1));
            (i, if o < i { o } else { o + 1 })
        };
        match self {
            PairTable::Later => later() as i64,
            PairTable::Earlier => (at - pairs(later())) as i64,
            PairTable::Number => {
                let (i, j) = other();
                number(i.max(j), i.min(j)) as i64
            }
            PairTable::Order => {
                let (i, j) = other();
                if j > i { 1 } else { -1 }
            }
            PairTable::Other => other().1 as i64,
        }
    }

    /// Its entries for n members, row-major.
    pub fn entries(self, n: u64) -> Box<dyn Iterator<Item = i64>> {
        let each =
            move |f: fn(u64, u64) -> i64| (1..n).flat_map(move |i| (0..i).map(move |j| f(i, j)));
        let other = move |f: fn(u64, u64) -> i64| {
            let others = move |i| (0..n).filter(move |&j| j != i).map(move |j| f(i, j));
            (0..n).flat_map(others)
        };
        match self {
            PairTable::Later => Box::new(each(|i, _| i as i64)),
            PairTable::Earlier => Box::new(each(|_, j| j as i64)),
            PairTable::Number => Box::new(other(|i, j| number(i.max(j), i.min(j)) as i64)),
            PairTable::Order => Box::new(other(|i, j| if j > i { 1 } else { -1 })),
            PairTable::Other => Box::new(other(|_, j| j as i64)),
        }
    }
}

/// How many pairs n members make.
fn pairs(n: u64) -> u64 {
    n.saturating_mul(n.saturating_sub(1)) / 2
}

/// The number of a pair.
fn number(later: u64, earlier: u64) -> u64 {
    pairs(later) + earlier
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_fill_the_shape_and_the_range() {
        for n in 2..20 {
            for table in PairTable::ALL {
                let all: Vec<i64> = table.entries(n).collect();
                assert_eq!(
                    all.len() as u64,
                    table.shape(n).iter().product::<u64>(),
                    "{table:?} {n}"
                );
                let ends = (*all.iter().min().unwrap(), *all.iter().max().unwrap());
                assert_eq!(ends, table.range(n), "{table:?} {n}");
                let each = (0..all.len() as u64).map(|at| table.entry(n, at));
                assert!(each.eq(all), "{table:?} {n}");
            }
        }
        for n in [MAX_PAIRED - 1, MAX_PAIRED] {
            for i in [1, 2, n / 2, n - 1] {
                let (first, last) = (pairs(i), pairs(i + 1) - 1);
                let ends = [first, last]
                    .map(|at| (PairTable::Later.entry(n, at), PairTable::Earlier.entry(n, at)));
                assert_eq!(ends, [(i as i64, 0), (i as i64, i as i64 - 1)]);
            }
        }
    }

    /// Ranks by these tables are ranks, of equal values the earlier first.
    #[test]
    fn tables_rank() {
        let values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5];
        let n = values.len() as u64;
        let list = |t: PairTable| t.entries(n).collect::<Vec<_>>();
        let (later, earlier) = (list(PairTable::Later), list(PairTable::Earlier));
        let less: Vec<i64> = later
            .iter()
            .zip(&earlier)
            .map(|(&i, &j)| i64::from(values[i as usize] < values[j as usize]))
            .collect();
        let (number, order) = (list(PairTable::Number), list(PairTable::Order));
        for i in 0..n as usize {
            let row = i * (n as usize - 1)..(i + 1) * (n as usize - 1);
            let sum: i64 = row.map(|k| order[k] * less[number[k] as usize]).sum();
            let before = |j: &usize| (values[*j], *j) < (values[i], i);
            assert_eq!(i as i64 + sum, (0..n as usize).filter(before).count() as i64);
        }
    }
}
