//! Every macro in the clear and among three parties, with its exact rounds and bits.

use super::trial::{Answer, Made, run};
use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::common::masked::*;
use crate::lower::common::words::ring_for;
use crate::lower::t2::carry_trees::{Node, Role, Trees};
use crate::lower::t2::comparison::{fastest, negative, with_levels, zero};
use crate::lower::t2::gates::{all_planes, total};
use crate::lower::t2::input_checks::admit;
use crate::lower::t2::product::product;
use crate::lower::t2::selection::{inject, to_word};
use crate::lower::t2::truncation::{lift, truncate};
use slvr_circuit::{Dom, Op, fixed, low_mask};

/// As if rounds cost nothing: fewest bits.
pub const FEW_BITS: Tuning = Tuning { latency: 0.0, bandwidth: 1.0 };
/// As if bits cost nothing: fewest levels.
pub const FEW_LEVELS: Tuning = Tuning { latency: 1.0, bandwidth: f64::INFINITY };

/// Words that look random, of many magnitudes, and those next to zero and to the ends of l bits.
pub fn words(seed: u64, n: usize, l: u32) -> Vec<i128> {
    let (top, low) = (i128::MAX >> (128 - l), i128::MIN >> (128 - l));
    let edges = [0, 1, -1, 2, -2, 3, -3, top, low, top - 1, low + 1, top / 2, low / 2];
    let mut state = seed;
    let mut draw = || {
        let mut word = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            u128::from(state >> 32)
        };
        let x = (0..4).fold(0, |x, _| x << 32 | word());
        (x as i128) >> (128 - l) >> (word() as u32 % l)
    };
    let inside = edges.into_iter().filter(|x| (low..=top).contains(x));
    inside.chain(std::iter::repeat_with(&mut draw)).take(n).collect()
}

pub fn encode<T: Copy + Into<i128>>(xs: &[T], k: u32) -> Vec<u128> {
    xs.iter().map(|&x| x.into() as u128 & low_mask(k)).collect()
}

fn decode(words: &[u128], k: u32) -> Vec<i128> {
    words.iter().map(|&x| fixed::signed(x, k)).collect()
}

/// What is revealed of a pair costs an opening and nothing else.
pub fn words_of(e: &mut Emit, x: Pair) -> Answer {
    Answer::Words(as_add3(e, x))
}

pub fn words_of_split(e: &mut Emit, x: &Split) -> Answer {
    let x = unsettled(e, x);
    words_of(e, x)
}

/// Bits `[m, 1]` as whether clients are admitted, in a round of 6 bits each.
pub fn bits_of(e: &mut Emit, x: Pair, m: u64) -> Answer {
    let x = linear_of_pair(e, x, |v| Op::Reshape(v, vec![m]));
    Answer::Bits(admit(e, vec![x], FEW_BITS))
}

/// Bits per element of the dealer and of each other, and rounds, of n elements with one dealer; what
/// opens the result, so many bits by each party in one round, is taken off.
pub fn cost(made: &Made, n: u64, opened: u64) -> (usize, u64, u64) {
    let bits = made.traffic.bytes.map(|bytes| {
        assert_eq!(bytes * 8 % n, 0);
        bytes * 8 / n - opened
    });
    // Of one group, the middle party is the dealer.
    assert_eq!(bits[0], bits[2], "the other two send alike");
    (made.traffic.rounds - 1, bits[1], bits[0])
}

#[test]
fn plans_by_hand() {
    use Node::{Joined, Leaf, Over};
    let node = |w: u32, most| with_levels(w - 1, most).expect("a node");
    // Four leaves of five bits and one of four, all at once: 4 p, so 11 products of p and 1 + 3 + 7 + 15 with a g. The
    // top g is only added, not opened.
    let of = node(25, 1);
    assert_eq!(of, Joined([5, 5, 5, 5, 4].map(Leaf).to_vec()));
    assert_eq!((of.levels(), of.bits(Role::Lowest)), (1, (4 * 31 + 15 + 37, 9 - 1)));
    assert_eq!(total(of.bits(Role::Lowest)) + 2, 194);
    // Below, two leaves of two bits: 1 product of a p and a g, 2 bits opened. Above, 7 of a leaf of three bits over 2 times
    // 3 of a table of two, and a p is opened.
    let above = Over(Box::new(Leaf(3)), 2);
    let (dealt, opened) = (3 + 3 + 1 + 7 + 6 + 1, 2 + 1 + 2);
    let by_hand = Joined(vec![Joined(vec![Leaf(2), Leaf(2)]), above]);
    assert_eq!(by_hand.bits(Role::Lowest), (dealt, opened));
    // Other trees take as few.
    let of = node(10, 2);
    assert_eq!((of.levels(), total(of.bits(Role::Lowest))), (2, dealt + 2 * opened));
    // A leaf alone.
    let of = node(4, 0);
    assert_eq!((of.levels(), of.bits(Role::Lowest)), (0, (7, 0)));
    assert_eq!(of, Leaf(3));
    // With the exchange of the result, by levels.
    let bits = |w: u32, most| total(node(w, most).bits(Role::Lowest)) + 2;
    let all: Vec<u64> = (1..=8).map(|most| bits(64, most)).collect();
    assert_eq!(all, [1926, 386, 291, 269, 258, 252, 249, 249]);
    for w in 2..=128 {
        let bits = |most| with_levels(w - 1, most).map(|of| total(of.bits(Role::Lowest)));
        let all: Vec<Option<u64>> = Trees::of(w - 1).levels().map(bits).collect();
        let all: Vec<u64> = all.into_iter().flatten().collect();
        assert!(all.is_sorted_by(|a, b| a >= b), "{w} bits: {all:?}");
        let of = |tuning| total(fastest(w - 1, 1, tuning).bits(Role::Lowest));
        assert_eq!(of(FEW_LEVELS), all[0]);
        assert_eq!(of(FEW_BITS), all[all.len() - 1], "{w} bits");
    }
}

/// Every width, both ends of it, few levels and many, however shards are cut; and the bits that the plan
/// says.
#[test]
fn signs_of_every_width() {
    let n = 64;
    for w in 1..=64 {
        for (tuning, groups) in [(FEW_LEVELS, 1), (FEW_BITS, 1), (FEW_LEVELS, 0), (FEW_BITS, 8)] {
            let k = if w % 2 == 0 { 64 } else { ring_for(w) };
            let xs = words(u64::from(w), n, w);
            let made = run(Dom::Ring(k), &[n as u64, 1], &encode(&xs, k), true, |e, x| {
                let x = split(e, x, groups);
                let bit = negative(e, &x, w, tuning);
                bits_of(e, bit, n as u64)
            });
            let want: Vec<bool> = xs.iter().map(|&x| x < 0).collect();
            assert_eq!(made.admitted, want, "{w} bits of {k}");
            if groups != 1 {
                continue;
            }
            let (rounds, dealer, others) = cost(&made, n as u64, 2);
            if w == 1 {
                assert_eq!((rounds, dealer, others), (0, 0, 0));
                continue;
            }
            let node = fastest(w - 1, n as u64, tuning);
            let (dealt, opened) = node.bits(Role::Lowest);
            assert_eq!((rounds, dealer, others), (1 + node.levels() as usize, dealt, opened));
        }
    }
}

/// A whole ring of 128 bits, too.
#[test]
fn signs_of_wide_words() {
    for (w, tuning) in [(100, FEW_LEVELS), (127, FEW_BITS), (128, FEW_LEVELS), (128, FEW_BITS)] {
        let xs = words(1, 200, w);
        let made = run(Dom::Ring(128), &[200, 1], &encode(&xs, 128), true, |e, x| {
            let x = split(e, x, 5);
            let bit = negative(e, &x, w, tuning);
            let not = not(e, bit);
            bits_of(e, not, 200)
        });
        let want: Vec<bool> = xs.iter().map(|&x| x >= 0).collect();
        assert_eq!(made.admitted, want, "{w} bits");
    }
}

#[test]
fn zeros_of_every_width() {
    let n = 64u64;
    for w in 1..=64u32 {
        for tuning in [FEW_LEVELS, FEW_BITS] {
            let mut xs = words(u64::from(w), n as usize, w);
            xs[20..30].fill(0);
            // One bit set, each in turn.
            xs.iter_mut().skip(30).enumerate().for_each(|(i, x)| *x = 1 << (i as u32 % w));
            let made = run(Dom::Ring(64), &[n, 1], &encode(&xs, 64), true, |e, x| {
                let x = split(e, x, 1);
                let bit = zero(e, &x, w, tuning);
                bits_of(e, bit, n)
            });
            let want: Vec<bool> = xs.iter().map(|&x| x == 0).collect();
            assert_eq!(made.admitted, want, "{w} bits");
        }
    }
}

/// All ones, and all but one. The dealer sends shares of its w bits and the products of the groups; each
/// further level opens its factors.
#[test]
fn conjunctions_of_planes() {
    let n = 64u64;
    for (w, tuning, want) in [
        (1u64, FEW_BITS, (0, 0, 0)),
        // 2^3 - 4 products.
        (3, FEW_LEVELS, (1, 3 + 4, 0)),
        (8, FEW_LEVELS, (1, 8 + 247, 0)),
        (10, FEW_LEVELS, (1, 10 + 1013, 0)),
        // Three groups, of 3, 3 and 2, and one of these.
        (8, FEW_BITS, (2, 8 + 4 + 4 + 1 + 4, 3)),
        // Too many for one product: groups of 3, 3, 3 and 2, and one of these.
        (11, FEW_LEVELS, (2, 11 + 3 * 4 + 1 + 11, 4)),
    ] {
        let bit = |i: u64, j: u64| u128::from(i.is_multiple_of(3) || j != i % w);
        let bits: Vec<u128> = (0..n).flat_map(|i| (0..w).map(move |j| bit(i, j))).collect();
        let made = run(Dom::Bits(1), &[n, w], &bits, true, |e, x| {
            let x = Split { mask: None, ..split(e, x, 1) };
            let x = to_planes(e, &x);
            let all = all_planes(e, &x, tuning);
            bits_of(e, all, n)
        });
        let want_bits: Vec<bool> = (0..n).map(|i| i.is_multiple_of(3)).collect();
        assert_eq!(made.admitted, want_bits, "{w} bits");
        assert_eq!(cost(&made, n, 2), want, "{w} bits");
    }
}

/// Truncation and its cost: nothing if the result has no more bits than are left, else the product of two
/// bits modulo 2^k'', once dealt and once exchanged.
#[test]
fn truncation_gives_one_of_the_two_integers_beside() {
    let n = 192;
    for (k, f, to, want) in [
        (64, 16, 64, (2, 16, 16)),
        (64, 16, 32, (0, 0, 0)),
        (64, 34, 64, (2, 64, 64)),
        (64, 34, 32, (2, 8, 8)),
        (64, 32, 32, (0, 0, 0)),
        (64, 1, 64, (2, 8, 8)),
        (64, 7, 8, (0, 0, 0)),
        (32, 16, 32, (2, 16, 16)),
        (32, 9, 32, (2, 16, 16)),
        (32, 16, 16, (0, 0, 0)),
        (32, 20, 16, (2, 8, 8)),
        (16, 4, 16, (2, 8, 8)),
        (128, 16, 128, (2, 16, 16)),
        (128, 64, 128, (2, 64, 64)),
        (128, 70, 64, (2, 8, 8)),
        (128, 40, 16, (0, 0, 0)),
    ] {
        let (edge, unit) = ((1i128 << (k - 2)) - (1 << f) - 1, 1i128 << f);
        let mut xs = vec![edge, -edge, unit, -unit, unit - 1, 1 - unit, 7 * unit, -3 * unit];
        xs.extend(words(u64::from(f), n - xs.len(), k - 2));
        xs.iter_mut().for_each(|x| *x = (*x).clamp(-edge, edge));
        for groups in [1, 0, 6] {
            let shape = [1, n as u64 / 4, 4];
            let made = run(Dom::Ring(k), &shape, &encode(&xs, k), false, |e, x| {
                let x = e.add(Op::Reshape(x, vec![n as u64 / 4, 4]));
                let x = split(e, x, groups);
                let y = truncate(e, &x, f, to).whole;
                words_of_split(e, &y)
            });
            for found in made.clear.iter().chain([&made.words]) {
                for (&x, &y) in xs.iter().zip(found) {
                    let (floor, rest) = (x >> f, x & (unit - 1));
                    let fits = |z: i128| z as u128 & low_mask(to) == y;
                    let right = fits(floor) || rest != 0 && fits(floor + 1);
                    assert!(right, "{x} / 2^{f} from {k} to {to} bits gave {y}");
                }
            }
            if groups == 1 {
                assert_eq!(cost(&made, n as u64, u64::from(to)), want, "{k} {f} {to}");
            }
        }
    }
}

/// 3/4 of a unit is rounded up three times in four. 3000 copies: 4 standard deviations are 95.
#[test]
fn truncation_rounds_without_bias() {
    for to in [32, 64] {
        let made = run(Dom::Ring(64), &[1, 3000], &[3 << 14; 3000], false, |e, x| {
            let x = split(e, x, 0);
            let y = truncate(e, &x, 16, to).whole;
            words_of_split(e, &y)
        });
        let ups = made.words.iter().filter(|&&y| y == 1).count();
        assert!((2155..2345).contains(&ups), "{ups} of 3000 up");
    }
}

#[test]
fn lifts_from_and_to_every_ring() {
    let n = 192;
    for (k, s, to) in [
        (8, 0, 16),
        (8, 2, 128),
        (16, 0, 32),
        (16, 4, 64),
        (32, 0, 64),
        (32, 0, 128),
        (32, 8, 64),
        (32, 11, 64),
        (64, 0, 128),
        (64, 16, 128),
    ] {
        // The least ring of to - k + s bits.
        let bits = u64::from(ring_for(to - k + s));
        let (edge, unit) = ((1i128 << (k - 2)) - (1 << s), 1i128 << s);
        let mut xs = vec![edge, -edge, unit, -unit];
        xs.extend(words(u64::from(s), n - xs.len(), k - 2));
        xs.iter_mut().for_each(|x| *x = (*x).clamp(-edge, edge));
        let made = run(Dom::Ring(k), &[1, n as u64], &encode(&xs, k), s == 0, |e, x| {
            let x = split(e, x, 1);
            let y = lift(e, &x, s, to);
            words_of_split(e, &y)
        });
        for found in made.clear.iter().chain([&made.words]) {
            for (&x, y) in xs.iter().zip(decode(found, to)) {
                let (floor, rest) = (x >> s, x & (unit - 1));
                let right = y == floor || rest != 0 && y == floor + 1;
                assert!(right, "{x} / 2^{s} from {k} to {to} bits gave {y}");
            }
        }
        assert_eq!(cost(&made, n as u64, u64::from(to)), (2, bits, bits), "{k} {s} {to}");
    }
}

/// The lowest bit: the sum of those of the parts.
fn lowest(e: &mut Emit, x: &Split) -> Split {
    let low = |x| Op::ToBits { x, lo: 0, w: 1 };
    Split { own: e.add(low(x.own)), dup: e.add(low(x.dup)), mask: None }
}

#[test]
fn bits_become_words_and_gate_them() {
    let n = 192u64;
    for k in [8, 16, 32, 64, 128] {
        let kk = u64::from(k);
        let xs = words(u64::from(k), n as usize, k);
        let made = run(Dom::Ring(k), &[n, 1], &encode(&xs, k), true, |e, x| {
            let x = split(e, x, 1);
            let c = lowest(e, &x);
            let word = to_word(e, &c, k);
            words_of(e, word)
        });
        let want: Vec<u128> = xs.iter().map(|&x| x as u128 & 1).collect();
        assert_eq!(made.words, want, "{k} bits");
        assert_eq!(cost(&made, n, kk), (1, kk, 0));
        // The part a of the word is shared already, or not: then what the dealer keeps is part of the result.
        for dealt in [false, true] {
            let made = run(Dom::Ring(k), &[n, 1], &encode(&xs, k), true, |e, x| {
                let mut x = split(e, x, 1);
                if dealt {
                    x.mask = None;
                }
                let c = lowest(e, &x);
                let gated = inject(e, &c, &x);
                words_of(e, gated)
            });
            let want: Vec<i128> = xs.iter().map(|&x| if x & 1 == 1 { x } else { 0 }).collect();
            assert_eq!(decode(&made.words, k), want, "{k} bits");
            assert_eq!(cost(&made, n, kk), (1, 2 * kk, 0));
        }
    }
}

/// Products of parts of any size, sums, and one exchange of the result.
#[test]
fn products_sums_and_exchanges() {
    let n = 192u64;
    let xs = words(3, n as usize, 30);
    let all = |f: &dyn Fn(usize) -> i128| (0..n as usize).map(f).collect::<Vec<_>>();
    let shape = [1, n / 3, 3];
    let whole = |e: &mut Emit, x| e.add(Op::Reshape(x, vec![n / 3, 3]));
    for groups in [0, 1, 4] {
        let same = run(Dom::Ring(64), &shape, &encode(&xs, 64), true, |e, x| {
            let x = whole(e, x);
            let x = split(e, x, groups);
            let y = product(e, &x, &x, Op::Mul);
            words_of(e, y)
        });
        assert_eq!(decode(&same.words, 64), all(&|i| xs[i] * xs[i]));
        let settled = run(Dom::Ring(64), &shape, &encode(&xs, 64), true, |e, x| {
            let x = whole(e, x);
            let x = split(e, x, groups);
            let y = product(e, &x, &x, Op::Mul);
            let y = settle(e, y);
            let y = sum(e, &y, &x, false);
            let z = product(e, &y, &x, Op::Mul);
            let z = settle(e, z);
            let z = sum(e, &x, &z, true);
            let z = join(e, &z);
            Answer::Words(z)
        });
        let want = all(&|i| (xs[i] - (xs[i] * xs[i] + xs[i]) * xs[i]) as i64 as i128);
        assert_eq!(decode(&settled.words, 64), want);
        if groups == 1 {
            // Shares of a replicated value's parts are there.
            assert_eq!(cost(&same, n, 64), (0, 0, 0));
            // Two exchanges; part a of what the first left is dealt, and part a of the result to join it, both
            // beside the exchanges.
            assert_eq!(cost(&settled, n, 64), (2, 2 * 64, 2 * 64));
        }
        // A small operand on either side, where whole rows are a dealer's.
        for left in [false, true].into_iter().filter(|_| groups > 0) {
            let made = run(Dom::Ring(64), &shape, &encode(&xs, 64), true, |e, x| {
                let x = whole(e, x);
                let few = e.add(Op::Slice { x, axis: 1, start: 2, len: 1, step: 1 });
                let (x, y) = (split(e, x, groups), split(e, few, groups));
                let z =
                    if left { product(e, &y, &x, Op::Mul) } else { product(e, &x, &y, Op::Mul) };
                words_of(e, z)
            });
            let want = all(&|i| xs[i] * xs[i / 3 * 3 + 2]);
            assert_eq!(decode(&made.words, 64), want, "{groups} groups");
        }
    }
}

/// Inner products of rows, whatever their length, cost what one product does.
#[test]
fn inner_products() {
    let (n, d) = (192u64, 5u64);
    let xs = words(3, (n * d) as usize, 30);
    let made = run(Dom::Ring(64), &[1, n, d], &encode(&xs, 64), true, |e, x| {
        let x = e.add(Op::Reshape(x, vec![n, 1, d]));
        let x = split(e, x, 1);
        let y = product(e, &x, &x, |a, b| Op::MatMul { a, b, trans_b: true });
        let y = settle(e, y);
        words_of_split(e, &y)
    });
    let want: Vec<i128> = xs
        .chunks(d as usize)
        .map(|x| x.iter().map(|x| x * x).sum::<i128>() as i64 as i128)
        .collect();
    assert_eq!(decode(&made.words, 64), want);
    assert_eq!(cost(&made, n, 64), (1, 0, 64));
}
