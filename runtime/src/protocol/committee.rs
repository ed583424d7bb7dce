//! COMMITTEE and DRAW: random choices from public coins, local and public operations.
//!
//! COMMITTEE: for each of n members, k distinct others, uniformly among all ordered choices: the first k steps
//! of a Fisher-Yates shuffle of the n - 1 others, with indices drawn by rejection so that no choice
//! is more likely than another. DRAW: rows of k distinct numbers below n, each row in the same way of all n. The
//! generator is ChaCha12 keyed by the coins, so everybody who knows
//! the coins (the parties, an auditor, the clear evaluation) finds the same choices.

use crate::share::{Prg, Purpose, RunId, Seed, Stream};
use rand_core::Rng;
use slvr_circuit::{Dom, Lots, Op};
use slvr_ring::Data;
use std::cell::RefCell;

/// What coins draw, in the order in which it is asked for: samples draw theirs in the order of the
/// program, as the circuit's instructions do.
pub fn committees(coins: &[u128]) -> impl Fn(&Lots) -> Vec<Vec<u64>> + '_ {
    let rest = RefCell::new(coins.iter());
    move |drawn| {
        let coin = rest.borrow_mut().next().copied().unwrap_or(0);
        let rows = lots(coin, drawn);
        let rows = rows.chunks(drawn.k.max(1) as usize);
        rows.map(|c| c.iter().map(|&x| u64::from(x)).collect()).collect()
    }
}

/// What a coin chooses, row after row.
pub fn lots(coin: u128, lots: &Lots) -> Vec<u32> {
    match lots.others {
        true => committee(coin, lots.n, lots.k),
        false => draw(coin, lots.rows, lots.n, lots.k),
    }
}

/// What an operation draws from these coins; nothing if it draws nothing.
pub fn drawn(op: &Op, coin: u128) -> Data {
    let drawn = Lots::of(op).map_or(Vec::new(), |l| lots(coin, &l));
    let words: Vec<u128> = drawn.into_iter().map(u128::from).collect();
    Data::from_u128s(Dom::Ring(32), &words)
}

/// Rows of k distinct numbers below n, row-major, in the order in which they were drawn. At most n are drawn.
pub fn draw(coin: u128, rows: u64, n: u64, k: u64) -> Vec<u32> {
    let prg = Prg::new(&Seed::new(coin.to_le_bytes()), RunId([0; 16]));
    let mut rng = prg.rng(Stream::new(0, Purpose::Sample));
    let mut all: Vec<u32> = (0..n as u32).collect();
    let k = (k as usize).min(all.len());
    let mut out = Vec::with_capacity(rows as usize * k);
    let mut swapped = Vec::with_capacity(k);
    for _ in 0..rows {
        for step in 0..k {
            let pick = step + below(&mut rng, (all.len() - step) as u64) as usize;
            all.swap(step, pick);
            swapped.push((step, pick));
        }
        out.extend_from_slice(&all[..k]);
        // The next row begins with the numbers in order.
        while let Some((a, b)) = swapped.pop() {
            all.swap(a, b);
        }
    }
    out
}

/// The committees, row-major `[n, k]`: row i holds k distinct members other than i, in the order
/// they were drawn. At most n - 1 are drawn.
pub fn committee(coin: u128, n: u64, k: u64) -> Vec<u32> {
    let others = n.saturating_sub(1);
    let mut out = draw(coin, n, others, k);
    for (member, row) in (0..).zip(out.chunks_mut(k.min(others).max(1) as usize)) {
        // The others are numbered without the member.
        row.iter_mut().filter(|j| **j >= member).for_each(|j| *j += 1);
    }
    out
}

/// Uniform in 0..bound, bound at least 1: a word is rejected if it falls in the last, incomplete
/// run of `bound` words.
fn below(rng: &mut impl Rng, bound: u64) -> u64 {
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let x = rng.next_u64();
        if x < limit {
            return x % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_distinct_and_never_oneself() {
        for (n, k) in [(1, 0), (2, 1), (5, 4), (10, 3), (50, 7)] {
            let c = committee(n as u128 * 77, n, k);
            assert_eq!(c.len() as u64, n * k);
            for i in 0..n as usize {
                let row = &c[i * k as usize..(i + 1) * k as usize];
                let set: std::collections::BTreeSet<_> = row.iter().collect();
                assert_eq!(set.len(), row.len());
                assert!(row.iter().all(|&j| j != i as u32 && u64::from(j) < n));
            }
        }
    }

    #[test]
    fn every_row_of_a_draw_is_uniform_among_ordered_choices() {
        // n = 3, k = 2: six ordered pairs in each of two rows; as below.
        const RUNS: u128 = 3000;
        for row in 0..2usize {
            let mut counts = std::collections::BTreeMap::new();
            for coin in 0..RUNS {
                let c = draw(coin << 64 | 54321, 2, 3, 2);
                assert_eq!(c.len(), 4);
                *counts.entry((c[2 * row], c[2 * row + 1])).or_insert(0u32) += 1;
            }
            assert_eq!(counts.len(), 6);
            let expected = RUNS as f64 / 6.0;
            let chi: f64 = counts.values().map(|&c| (f64::from(c) - expected).powi(2)).sum();
            assert!(chi / expected < 30.0, "row {row}: {counts:?}");
        }
    }

    #[test]
    fn a_draw_of_all_is_a_permutation() {
        let mut c = draw(9, 1, 50, 50);
        assert_ne!(c, (0..50).collect::<Vec<_>>());
        c.sort_unstable();
        assert_eq!(c, (0..50).collect::<Vec<_>>());
        assert!(draw(9, 3, 5, 0).is_empty());
    }

    #[test]
    fn the_same_coins_give_the_same_committees() {
        assert_eq!(committee(1, 20, 5), committee(1, 20, 5));
        assert_ne!(committee(1, 20, 5), committee(2, 20, 5));
    }

    #[test]
    fn every_ordered_choice_is_equally_likely() {
        // n = 4, k = 2: six ordered pairs for each member; chi-squared with 5 degrees of freedom
        // exceeds 30 with probability 1.5e-5. The coins are fixed, so this cannot flake.
        const RUNS: u128 = 3000;
        for member in 0..4usize {
            let mut counts = std::collections::BTreeMap::new();
            for coin in 0..RUNS {
                let c = committee(coin << 64 | 12345, 4, 2);
                *counts.entry((c[2 * member], c[2 * member + 1])).or_insert(0u32) += 1;
            }
            assert_eq!(counts.len(), 6);
            let expected = RUNS as f64 / 6.0;
            let chi: f64 = counts.values().map(|&c| (f64::from(c) - expected).powi(2)).sum();
            assert!(chi / expected < 30.0, "member {member}: {counts:?}");
        }
    }
}
