//! Searches for the entries that come first: the same ones as by ranks.

use super::t2::encode;
use super::trial::{Answer, run};
use crate::lower::t1::search::{Search, Wanted, price, search};
use crate::lower::t1::selection::to_word;
use slvr_circuit::Dom;
use slvr_graph::graph::ranks::First;

/// Rows with many equal entries, and with both ends of the range.
fn rows(seed: u64, n: usize, count: usize, (lo, hi): (i64, i64)) -> Vec<i64> {
    let mut state = seed;
    let draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let of = (state >> 33) as i64;
        match of % 4 {
            0 => lo,
            1 => hi,
            _ => lo + (of >> 3) % 5.min(hi - lo + 1) * ((hi - lo) / 7).max(1),
        }
        .clamp(lo, hi)
    };
    std::iter::repeat_with(draw).take(n * count).collect()
}

/// Every rank, in either order, of rows in several ranges and steps of several bits, among three parties and in the
/// clear.
#[test]
fn searches_find_what_ranks_say() {
    let (n, count) = (9usize, 4usize);
    let ranges = [(-3i64, 4), (0, 0), (5, 6), (-1 << 30, 1 << 30), (-1 << 40, 3)];
    for (r, range) in ranges.into_iter().enumerate() {
        for first in [First::Smallest, First::Largest] {
            for (digit, c) in [(1, 0), (1, 3), (2, 8), (3, 4), (5, 1)] {
                let xs = rows(r as u64 + 10 * c, n, count, range);
                for wanted in [Wanted::Before(c + 1), Wanted::At(c)] {
                    let range = (range.0.into(), range.1.into());
                    let s = Search { wanted, first, range, digit };
                    let k = s.ring().expect("a ring");
                    let shape = [count as u64, n as u64];
                    let made = run(Dom::Ring(k), &shape, &encode(&xs, k), true, |e, x| {
                        let found = search(e, x, &s);
                        Answer::Words(to_word(e, found, 8))
                    });
                    let rank = |row: &[i64], i: usize| {
                        let before = |j: &usize| match first {
                            First::Smallest => (row[*j], *j) < (row[i], i),
                            First::Largest => (-row[*j], *j) < (-row[i], i),
                        };
                        (0..n).filter(before).count() as u64
                    };
                    let is = |row: &[i64], i| match wanted {
                        Wanted::Before(c) => rank(row, i) < c,
                        Wanted::At(c) => rank(row, i) == c,
                    };
                    let want =
                        xs.chunks(n).flat_map(|row| (0..n).map(move |i| u128::from(is(row, i))));
                    assert_eq!(made.words, want.collect::<Vec<_>>(), "{s:?} of {xs:?}");
                }
            }
        }
    }
}

/// What a search is chosen by is what it costs, up to a few rounds and bits.
#[test]
fn searches_cost_what_they_are_chosen_by() {
    let (n, count) = (300usize, 2usize);
    for (bits, digit) in [(12, 3), (30, 1), (30, 4), (50, 3)] {
        let range = (0i64, (1i64 << bits) - 1);
        let xs = rows(3, n, count, range);
        let range = (range.0.into(), range.1.into());
        let s = Search { wanted: Wanted::Before(7), first: First::Smallest, range, digit };
        let k = s.ring().expect("a ring");
        let shape = [count as u64, n as u64];
        let made = run(Dom::Ring(k), &shape, &encode(&xs, k), true, |e, x| {
            let found = search(e, x, &s);
            Answer::Words(to_word(e, found, 8))
        });
        let (rounds, each) = price(&s, count as u64, n as u64);
        // Its words are opened: two rounds and one more.
        let found = made.traffic.rounds as f64 - 3.0;
        let bits = made.traffic.bytes.iter().sum::<u64>() as f64 * 8.0 / (n * count) as f64 - 48.0;
        assert!((found - rounds).abs() <= 0.1 * found + 2.0, "{s:?}: {found} rounds, not {rounds}");
        assert!((bits - each).abs() <= 0.1 * bits, "{s:?}: {bits} bits of an entry, not {each}");
    }
}
