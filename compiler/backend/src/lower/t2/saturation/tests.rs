//! Both answers at every width and edge, in the clear and among three parties, with rounds and bits.

use super::*;
use crate::lower::common::masked::{split, sum, unsettled};
use crate::lower::common::words::ring_for;
use crate::lower::t2::carry_trees;
use crate::lower::tests::t2::{FEW_BITS, FEW_LEVELS, bits_of, cost, encode, words};
use crate::lower::tests::trial::run;
use slvr_circuit::Dom;

/// Numbers at which an answer changes, and others, such that x and x - 2^e have w bits.
fn numbers(w: u32, edge: u32, n: usize) -> Vec<i128> {
    let (least, most, one) =
        ((1i128 << edge) - (1 << (w - 1)), (1i128 << (w - 1)) - 1, 1i128 << edge);
    let edges =
        [-1, 0, 1, one - 1, one, one + 1, 2 * one - 1, 2 * one, -one, -one - 1, least, most];
    let mut xs: Vec<i128> = edges.into_iter().filter(|x| (least..=most).contains(x)).collect();
    // All, if there are few.
    if most - least < 64 {
        xs.extend(least..=most);
    }
    let more = words(u64::from(w * 64 + edge), n, w).into_iter();
    xs.extend(more.map(|x| x.clamp(least, most)));
    // Near the edges: high bits that are all alike.
    xs.extend((0..n as i128).map(|i| (i * 7 + 3 - one / 2).clamp(least, most)));
    xs.truncate(n);
    xs
}

/// Bits `inside, large` of all numbers, and what it cost.
fn answers(
    k: u32,
    xs: &[i128],
    groups: u32,
    make: impl Fn(&mut Emit, &Split) -> Located,
) -> (Vec<bool>, (usize, u64, u64)) {
    let n = xs.len() as u64;
    let of = |large: bool| {
        run(Dom::Ring(k), &[n, 1], &encode(xs, k), true, |e, x| {
            let x = split(e, x, groups);
            let both = make(e, &x);
            let one = if large { both.large } else { both.inside };
            let one = unsettled(e, &one);
            bits_of(e, one, n)
        })
    };
    let (inside, large) = (of(false), of(true));
    let paid = if groups == 1 { cost(&large, n, 2) } else { (0, 0, 0) };
    ([inside.admitted, large.admitted].concat(), paid)
}

/// Levels before the last, and bits of the dealer and of each other, the results not counted.
fn cost_of(plan: &Plan) -> (usize, Bits) {
    let end = last(plan.low.len() as u32, plan.high.len() as u32);
    let parts = [
        carry_trees::bits_of(Role::Lowest, &plan.low),
        carry_trees::bits_of(Role::Tested, &plan.high),
        end,
    ];
    let levels = plan.low.iter().chain(&plan.high).map(Node::levels).max().unwrap_or(0);
    (levels as usize, parts.into_iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)))
}

fn want(xs: &[i128], edge: u32) -> Vec<bool> {
    let one = 1i128 << edge;
    xs.iter().map(|x| (0..one).contains(x)).chain(xs.iter().map(|&x| x >= one)).collect()
}

#[test]
fn plans_by_hand() {
    // ResNet-18: 43 bits, the edge at 22. Two comparisons of a common table take 98 + 2 (193 - 98) bits.
    let bits = |most| total(cost_of(&Plan::with_levels(42, 22, most).expect("a plan")).1);
    assert_eq!([1, 2, 3, 4].map(bits), [295, 224, 213, 209]);
    assert_eq!(Plan::with_levels(42, 0, 3), None);
    assert_eq!(Plan::with_levels(42, 42, 3), None);
}

/// Every width with edges low, high and between; by every number of levels; however shards are cut.
#[test]
fn answers_at_every_width() {
    for w in 3..=64u32 {
        let k = if w % 2 == 0 { 64 } else { ring_for(w) };
        let edges: Vec<u32> = match w {
            ..=7 => (1..w - 1).collect(),
            _ => [1, w / 2, w - 2].to_vec(),
        };
        for edge in edges {
            let xs = numbers(w, edge, 64);
            let most = (w + edge) % 4;
            let Some(plan) = Plan::with_levels(w - 1, edge, most) else { continue };
            let groups = [1, 1, 0, 8][(w % 4) as usize];
            let (got, paid) = answers(k, &xs, groups, |e, x| by_plan(e, x, edge, &plan));
            assert_eq!(got, want(&xs, edge), "{w} bits, edge {edge}, {plan:?}");
            if groups == 1 {
                let (levels, (dealt, opened)) = cost_of(&plan);
                assert_eq!(paid, (levels + 3, dealt, opened + 2), "{w} bits, edge {edge}");
            }
        }
    }
}

/// Whatever the network makes of it, at the ends of the widths, too.
#[test]
fn answers_by_time() {
    for (w, edge, k) in
        [(2, 0, 8), (2, 1, 8), (9, 8, 16), (12, 5, 16), (43, 22, 64), (64, 30, 64), (128, 60, 128)]
    {
        let xs = numbers(w.min(126), edge, 64);
        for tuning in [FEW_BITS, FEW_LEVELS] {
            let (got, _) = answers(k, &xs, 1, |e, x| locate(e, x, (w, edge), tuning));
            assert_eq!(got, want(&xs, edge), "{w} bits, edge {edge}");
        }
    }
}

/// All of the plan's bits where both answers are read.
#[test]
fn bits_of_both() {
    let (w, edge, n) = (43u32, 22u32, 64u64);
    let xs = numbers(w, edge, n as usize);
    let plan = Plan::new(w - 1, edge, n, FEW_BITS).expect("less than two comparisons");
    let made = run(Dom::Ring(64), &[n, 1], &encode(&xs, 64), true, |e, x| {
        let x = split(e, x, 1);
        let both = locate(e, &x, (w, edge), FEW_BITS);
        let low = sum(e, &both.inside, &both.large, false);
        let low = unsettled(e, &low);
        bits_of(e, low, n)
    });
    assert_eq!(made.admitted, xs.iter().map(|&x| x >= 0).collect::<Vec<_>>());
    let (levels, (dealt, opened)) = cost_of(&plan);
    assert_eq!(cost(&made, n, 2), (levels + 3, dealt, opened + 2));
    let twice = comparison::fastest(w - 1, n, FEW_BITS).bits(Role::Lowest);
    assert!(total((dealt, opened)) < total(twice) + 60);
}
