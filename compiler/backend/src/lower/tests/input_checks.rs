//! Every macro in the clear and among three parties, on words that no honest client would give.

use super::t2::{FEW_BITS, FEW_LEVELS};
use super::trial::{Answer, run};
use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::common::admission::gate;
use crate::lower::common::masked::{self, Pair};
use crate::lower::t1::input_checks::{admit, and_all, in_range, one_hot_words, short};
use crate::lower::t1::selection;
use crate::lower::t1::truncation::lift;
use crate::lower::t2::input_checks as dealer;
use slvr_circuit::{Dom, Op, ValueId, fixed, low_mask};
use slvr_ring::Data;
use slvr_runtime::clear;

/// Which clients a test admits.
fn admitted(
    dom: Dom,
    shape: &[u64],
    words: &[u128],
    test: impl Fn(&mut Emit, ValueId) -> ValueId,
) -> Vec<bool> {
    run(dom, shape, words, true, |e, x| {
        let valid = test(e, x);
        Answer::Bits(admit(e, valid))
    })
    .admitted
}

/// The test of labels alone, with words of the smallest ring that holds a sum.
fn one_hot(e: &mut Emit, bits: ValueId) -> ValueId {
    one_hot_words(e, bits, 8).1
}

/// The same in the dealer-style family: with few levels and with many, one dealer and several.
fn by_dealer(
    dom: Dom,
    shape: &[u64],
    words: &[u128],
    test: impl Fn(&mut Emit, ValueId, u32, Tuning) -> Pair,
) -> Vec<bool> {
    let several = if shape[0] >= 3 { shape[0] as u32 } else { 1 };
    let [a, b] = [(FEW_LEVELS, several), (FEW_BITS, 1)].map(|(tuning, groups)| {
        let made = run(dom, shape, words, true, |e, x| {
            let valid = test(e, x, groups, tuning);
            Answer::Bits(dealer::admit(e, vec![valid], tuning))
        });
        made.admitted
    });
    assert_eq!(a, b);
    a
}

#[test]
fn exactly_one_bit_of_every_row() {
    // Clients: two labels of three classes each.
    let clients = [
        ([0, 1, 0, 0, 0, 1], true),
        ([1, 0, 0, 1, 0, 0], true),
        ([0, 0, 0, 0, 0, 1], false),
        ([1, 1, 0, 0, 1, 0], false),
        ([1, 0, 0, 1, 1, 1], false),
        ([0, 0, 0, 0, 0, 0], false),
        ([1, 1, 1, 1, 1, 1], false),
        ([0, 1, 1, 0, 0, 0], false),
    ];
    let words: Vec<u128> = clients.iter().flat_map(|c| c.0).collect();
    let want: Vec<bool> = clients.iter().map(|c| c.1).collect();
    assert_eq!(admitted(Dom::Bits(1), &[8, 2, 3], &words, one_hot), want);
    let dealt = |e: &mut Emit, x, groups, t| dealer::one_hot_words(e, x, 32, groups, t).1;
    assert_eq!(by_dealer(Dom::Bits(1), &[8, 2, 3], &words, dealt), want);
}

/// Numbers of classes at the borders of a word and of a power of two; so many bits set that their
/// number is 1 modulo the ring or modulo the power of two.
#[test]
fn no_number_of_bits_passes_for_one() {
    for classes in [1u64, 2, 3, 4, 5, 8, 9, 16, 17, 255, 256, 257, 258, 300] {
        let counts: Vec<u64> = (0..=classes).collect();
        let row = |&n: &u64| (0..classes).map(move |c| u128::from(c < n));
        let words: Vec<u128> = counts.iter().flat_map(row).collect();
        let want: Vec<bool> = counts.iter().map(|&n| n == 1).collect();
        let shape = [classes + 1, classes];
        assert_eq!(admitted(Dom::Bits(1), &shape, &words, one_hot), want, "{classes} classes");
        let dealt = |e: &mut Emit, x, groups, t| dealer::one_hot_words(e, x, 8, groups, t).1;
        assert_eq!(by_dealer(Dom::Bits(1), &shape, &words, dealt), want, "{classes} classes");
    }
}

#[test]
fn words_of_a_label() {
    for k in [8, 64] {
        let bits = [0, 1, 0, 1, 1, 0, 0, 0];
        let made =
            run(Dom::Bits(1), &[2, 4], &bits, true, |e, x| Answer::Words(one_hot_words(e, x, k).0));
        assert_eq!(made.words, bits);
        let made = run(Dom::Bits(1), &[2, 4], &bits, true, |e, x| {
            Answer::Words(dealer::one_hot_words(e, x, k, 1, FEW_BITS).0)
        });
        assert_eq!(made.words, bits);
    }
}

/// Every word near every border, of the range and of the ring, against the definition.
#[test]
fn ranges_hold_for_every_word() {
    for (k, lo, hi) in [
        (64u32, -8i128 << 16, 8i128 << 16),
        (64, 0, 255),
        (64, 0, 0),
        (64, -5, -3),
        (64, 1 << 40, (1 << 40) + 9),
        (64, -(1 << 62), (1 << 62) - 1),
        (64, i64::MAX as i128 - 3, i64::MAX as i128),
        (64, i64::MIN as i128, i64::MIN as i128 + 3),
        (32, -100, 100),
        (8, -3, 100),
        (128, -(1 << 90), 1 << 90),
    ] {
        let half = 1u128 << (k - 1);
        let centres = [lo as u128, hi as u128, 0, half, half / 2, half + half / 2];
        let mut xs: Vec<u128> = Vec::new();
        for c in centres {
            xs.extend((0..7).map(|d| c.wrapping_add(d).wrapping_sub(3) & low_mask(k)));
        }
        // One word for each client.
        let want: Vec<bool> =
            xs.iter().map(|&x| (lo..=hi).contains(&fixed::signed(x, k))).collect();
        assert!(want.contains(&true));
        let (lo, hi) = (lo as u128 & low_mask(k), hi as u128 & low_mask(k));
        let n = xs.len() as u64;
        let got = admitted(Dom::Ring(k), &[n, 1], &xs, |e, x| in_range(e, x, lo, hi));
        assert_eq!(got, want, "{k} bits, {lo} to {hi}");
        let got = by_dealer(Dom::Ring(k), &[n, 1], &xs, |e, x, groups, t| {
            dealer::in_range(e, x, (lo, hi), groups, t)
        });
        assert_eq!(got, want, "{k} bits, {lo} to {hi}, by a dealer");
    }
}

#[test]
fn all_elements_of_a_client_count() {
    for bad in 0..6 {
        let mut xs = vec![5u128; 12];
        xs[6 + bad] = 8;
        let got = admitted(Dom::Ring(64), &[2, 3, 2], &xs, |e, x| in_range(e, x, 3, 7));
        assert_eq!(got, [true, false], "element {bad}");
        let got = by_dealer(Dom::Ring(64), &[2, 3, 2], &xs, |e, x, groups, t| {
            dealer::in_range(e, x, (3, 7), groups, t)
        });
        assert_eq!(got, [true, false], "element {bad}, by a dealer");
    }
}

#[test]
fn conjunctions() {
    for n in 0..10u64 {
        let rows = 1 << n.min(5);
        let bit = |i: u64, j: u64| u128::from(i == 0 || (i >> (j % 5)) & 1 == 0 && j != i % n);
        let words: Vec<u128> = (0..rows).flat_map(|i| (0..n).map(move |j| bit(i, j))).collect();
        let want: Vec<bool> = (0..rows).map(|i| (0..n).all(|j| bit(i, j) == 1)).collect();
        assert_eq!(admitted(Dom::Bits(1), &[rows, n], &words, and_all), want, "{n} bits");
    }
}

/// Up to [`crate::lower::common::admission::MOST_GATED`] bits are multiplied, of more the zeros are counted.
#[test]
fn conjunctions_by_dealers() {
    for n in [1, 2, 3, 9, 10, 11, 63, 64, 65, 127, 128, 255, 256, 257] {
        // All ones, one zero in turn, all zeros.
        let rows = n.min(30) + 2;
        let bit = |i: u64, j: u64| u128::from(i == 0 || i > 1 && j != (i - 2) * (n / (rows - 2)));
        let words: Vec<u128> = (0..rows).flat_map(|i| (0..n).map(move |j| bit(i, j))).collect();
        let want: Vec<bool> = (0..rows).map(|i| i == 0).collect();
        let got = by_dealer(Dom::Bits(1), &[rows, n], &words, |e, x, groups, t| {
            let x = masked::split(e, x, groups);
            let x = masked::unsettled(e, &x);
            dealer::and_all(e, x, t)
        });
        assert_eq!(got, want, "{n} bits");
    }
}

/// Of a set's several inputs each has its say.
#[test]
fn all_bits_of_a_client_count() {
    for n in [1u64, 2, 5] {
        let rows = 1 << n;
        let words: Vec<u128> =
            (0..rows).flat_map(|i| (0..n).map(move |j| u128::from(i >> j & 1))).collect();
        let made = run(Dom::Bits(1), &[rows, n], &words, true, |e, x| {
            let x = masked::split(e, x, 1);
            let valid = (0..n).map(|start| {
                let column = masked::both(|part| {
                    let v = e.add(Op::Slice { x: part(&x), axis: 1, start, len: 1, step: 1 });
                    e.add(Op::Reshape(v, vec![rows]))
                });
                masked::unsettled(e, &column)
            });
            let valid = valid.collect();
            Answer::Bits(dealer::admit(e, valid, FEW_BITS))
        });
        let want: Vec<bool> = (0..rows).map(|i| i == rows - 1).collect();
        assert_eq!(made.admitted, want);
    }
}

#[test]
fn short_vectors_pass_and_long_ones_do_not() {
    let d = 300u64;
    let norm = 2f64.powi(20);
    let clients = 7;
    let p = slvr_graph::analysis::projection::plan(norm, d, clients, 42, 42, 4.0);
    let flat = (norm / (d as f64).sqrt()) as i64;
    let one = |at: u64, x: i64| (0..d).map(|j| if j == at { x } else { 0 }).collect::<Vec<i64>>();
    let rows: [Vec<i64>; 7] = [
        vec![0; d as usize],
        (0..d as i64).map(|j| flat * (1 - 2 * (j % 2))).collect(),
        one(5, -(norm as i64)),
        one(7, i64::MIN),
        vec![1 << 32; d as usize],
        one(299, (p.proven_norm * 1.01) as i64),
        vec![(p.proven_norm * 1.01 / (d as f64).sqrt()) as i64 + 1; d as usize],
    ];
    let words: Vec<u128> = rows.iter().flatten().map(|&x| u128::from(x as u64)).collect();
    let got = admitted(Dom::Ring(64), &[clients, d / 3, 3], &words, |e, x| {
        let coin = e.coin();
        short(e, x, coin, p.tests, p.threshold)
    });
    assert_eq!(got, [true, true, true, false, false, false, false]);
    let got = by_dealer(Dom::Ring(64), &[clients, d / 3, 3], &words, |e, x, groups, t| {
        let coin = e.coin();
        dealer::short(e, x, coin, (p.tests, p.threshold), groups, t)
    });
    assert_eq!(got, [true, true, true, false, false, false, false]);
}

/// Honest vectors as long as they may be, of the lengths at which the limit is made differently: all
/// entries at the ends of -8..8 up to 1024, and of norm 256 beyond, flat, random, in few entries.
/// 100,000 of 100,000 pass.
#[test]
fn honest_vectors_at_the_limit_pass() {
    let mut passed = 0u64;
    for (d, coins, rows) in [(257usize, 60, 1000), (1024, 30, 1000), (4096, 20, 500)] {
        let (unit, top) = (65536.0, 8.0f64);
        let limit = top * (d.min(1024) as f64).sqrt();
        let norm = limit * unit + (d as f64).sqrt();
        let p = slvr_graph::analysis::projection::plan(norm, d as u64, 10, 42, 42, 4.0);
        let mut state = d as u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
        };
        let vector = |i: usize| -> Vec<f64> {
            let flat = limit / (d as f64).sqrt();
            match i % 4 {
                0 => vec![flat; d],
                1 => (0..d).map(|_| flat.copysign(random())).collect(),
                // As many entries at the end as the norm allows.
                2 => (0..d)
                    .map(|j| if j < d.min(1024) { top.copysign(random()) } else { 0.0 })
                    .collect(),
                _ => {
                    let v: Vec<f64> = (0..d).map(|_| random()).collect();
                    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
                    v.into_iter().map(|x| x / length * limit).collect()
                }
            }
        };
        let reals: Vec<f64> = (0..rows).map(vector).collect::<Vec<_>>().concat();
        let word = |&x: &f64| fixed::encode(x, 16, 64).expect("in range");
        let x = Data::from_u128s(Dom::Ring(64), &reals.iter().map(word).collect::<Vec<_>>());
        for coin in 0..coins {
            let shape = [rows as u64, d as u64];
            let [y] = clear::plain::project([&x], &shape, 977 * coin + 3, p.tests);
            let good = |y: &u128| fixed::signed(*y, 64).unsigned_abs() <= p.threshold;
            let all = y.to_u128s();
            passed += all.chunks(p.tests as usize).filter(|y| y.iter().all(good)).count() as u64;
        }
    }
    assert_eq!(passed, 100_000);
}

/// What an honest client deals at and beside the ends of a range, and of its middle, is admitted by
/// comparisons and comes out of a lift as it was: one unit less at most, at an end that is a power of
/// two.
#[test]
fn ends_of_ranges_are_admitted_and_lifted() {
    let unit = 65536.0;
    for (lo, hi) in [
        (-8.0, 8.0),
        (-1.0, 1.0),
        (0.0, 1.0),
        (-0.3, 0.7),
        (-100.0, 3.0),
        (-0.001, 0.0),
        (5.0, 6.0),
    ] {
        let ulp = 1.0 / unit;
        let mut xs =
            vec![lo, hi, lo + ulp, hi - ulp, lo + ulp / 2.0, hi - ulp / 2.0, (lo + hi) / 2.0];
        xs.retain(|x| (lo..=hi).contains(x));
        let n = xs.len() as u64;
        let rounded = |x: f64| (x * unit).round_ties_even();
        let words: Vec<u128> =
            xs.iter().map(|&x| fixed::shifted(x, 16, 0, 64).expect("fits")).collect();
        let ends = [lo, hi].map(|x| rounded(x) as i64 as u64 as u128);
        let got = admitted(Dom::Ring(64), &[n, 1], &words, |e, x| in_range(e, x, ends[0], ends[1]));
        assert_eq!(got, vec![true; xs.len()], "{lo}..{hi}");

        let largest = f64::max(-lo, hi) * unit;
        let shift = (30.0 - largest.max(1.0).log2()).floor() as u32;
        let words: Vec<u128> =
            xs.iter().map(|&x| fixed::shifted(x, 16, shift, 32).expect("fits")).collect();
        for k in [32, 64, 128] {
            let made = run(Dom::Ring(32), &[1, n], &words, false, |e, x| {
                Answer::Words(lift(e, x, shift, k))
            });
            let top = f64::from(30 - shift).exp2() - 1.0;
            let want: Vec<i128> = xs.iter().map(|&x| rounded(x).min(top) as i128).collect();
            let found: Vec<i128> = made.words.iter().map(|&y| fixed::signed(y, k)).collect();
            assert_eq!(found, want, "{lo}..{hi}, lifted by {shift} to {k} bits");
        }
    }
}

/// Words of small rings: exact where it is claimed, and never beyond the bound.
#[test]
fn lifted_words_are_small_whatever_they_were() {
    for (own, s, k) in [
        (64, 0, 128),
        (32, 0, 64),
        (32, 8, 64),
        (32, 11, 32),
        (32, 3, 128),
        (16, 4, 64),
        (8, 2, 16),
        (32, 16, 16),
        (16, 0, 128),
    ] {
        let (quarter, unit) = (1i128 << (own - 2), 1i128 << s);
        let mut xs: Vec<i128> = vec![0, 1, -1, unit, -unit, unit + 1, quarter - unit, -quarter];
        let mut state = 9u64;
        for _ in 0..400 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            xs.push(fixed::signed(u128::from(state >> 7) << 30 >> (state % 40), own));
        }
        xs.extend([quarter, -quarter - 1, 2 * quarter - 1, -2 * quarter, quarter - unit + 1]);
        let words: Vec<u128> = xs.iter().map(|&x| x as u128 & low_mask(own)).collect();
        let shape = [1, xs.len() as u64];
        let made =
            run(Dom::Ring(own), &shape, &words, false, |e, x| Answer::Words(lift(e, x, s, k)));
        let most = 3i128 << (own - 2 - s);
        for (&x, &y) in xs.iter().zip(&made.words) {
            let y = fixed::signed(y, k);
            if (-quarter..=quarter - unit).contains(&x) {
                let (floor, exact) = (x >> s, x & (unit - 1) == 0);
                assert!(y == floor || (!exact && y == floor + 1), "{x} of {own} bits gave {y}");
            }
            // Narrowing to fewer bits than the word had forgets the bound.
            assert!(k < own || (-most..=most - 2).contains(&y), "{x} of {own} bits gave {y}");
        }
    }
}

/// 3/4 of a unit is rounded up three times in four. 3000 copies: 4 standard deviations are 95.
#[test]
fn lifting_rounds_without_bias() {
    let words = vec![(1u128 << 32) - (1 << 6); 3000];
    let made =
        run(Dom::Ring(32), &[1, 3000], &words, false, |e, x| Answer::Words(lift(e, x, 8, 64)));
    let ups = made.words.iter().filter(|&&y| y == 0).count();
    assert!((2155..2345).contains(&ups), "{ups} of 3000 up");
}

/// All lifts of Z_2^8 with every word and every split: the bound and exactness as documented.
#[test]
fn every_word_and_every_split_of_eight_bits() {
    for s in [0u32, 1, 3, 5] {
        for (a, b) in (0..256i128).flat_map(|a| (0..256).map(move |b| (a, b))) {
            let x = fixed::signed((a + b) as u128 & 255, 8);
            let shifted = (b + 64 + (1 << s) - 1) & 255;
            let wrap = i128::from(a >= 128 || shifted >= 128);
            let y = (a >> s) + (shifted >> s) - (wrap << (8 - s)) - (1 << (6 - s));
            assert!((-(3 << (6 - s))..=(3 << (6 - s)) - 2).contains(&y), "{a} + {b}, {s}");
            if (-64..=64 - (1 << s)).contains(&x) {
                let (floor, rest) = (x >> s, x & ((1 << s) - 1));
                assert!(y == floor || (rest != 0 && y == floor + 1), "{a} + {b}, {s}");
            }
        }
    }
}

#[test]
fn what_is_not_admitted_becomes_zeros() {
    let words: Vec<u128> = (1..=12).collect();
    let keep_small = |e: &mut Emit, x: ValueId| {
        let valid = in_range(e, x, 1, 9);
        let public = admit(e, valid);
        gate(e, x, public)
    };
    let made = run(Dom::Ring(64), &[3, 2, 2], &words, true, |e, x| Answer::Words(keep_small(e, x)));
    assert_eq!(made.words, [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0]);
    let bits = [1, 1, 0, 0, 1, 0];
    let made = run(Dom::Bits(1), &[3, 2], &bits, true, |e, x| {
        let valid = one_hot(e, x);
        let public = admit(e, valid);
        let kept = gate(e, x, public);
        Answer::Words(selection::to_word(e, kept, 8))
    });
    assert_eq!(made.words, [0, 0, 0, 0, 1, 0]);
}

/// The table of the module, for so many elements that leaves have 4 bits. They fill the three shards evenly.
#[test]
fn costs_are_as_documented() {
    let cost = |dom, shape: &[u64], test: &dyn Fn(&mut Emit, ValueId) -> Answer| {
        let n = shape.iter().product::<u64>() as usize;
        let t = run(dom, shape, &vec![0; n], false, test).traffic;
        (t.rounds, t.bytes.iter().sum::<u64>() * 8)
    };
    let bits = |e: &mut Emit, valid| Answer::Bits(admit(e, valid));
    // The conjunction of both signs, and the opening.
    let got = cost(Dom::Ring(64), &[3072, 1], &|e, x| {
        let valid = in_range(e, x, 0, 9);
        bits(e, valid)
    });
    assert_eq!(got, (6 + 1 + 1, 3072 * (746 + 3 + 3)));
    let got = cost(Dom::Ring(64), &[3072, 5], &|e, x| {
        let coin = e.coin();
        let valid = short(e, x, coin, 2, 9);
        bits(e, valid)
    });
    assert_eq!(got, (7 + 2 + 1, 3072 * (2 * 746 + 3 * 3 + 3) + 3 * 128));
    let got = cost(Dom::Bits(1), &[3072, 10], &|e, x| {
        let valid = one_hot(e, x);
        bits(e, valid)
    });
    assert_eq!(got, (2 + 2 + 1, 3072 * (10 * 24 + 15 + 2 + 3)));
    // An opening to the receiver of 128 bits by each.
    let got = cost(Dom::Ring(64), &[3072, 1], &|e, x| Answer::Words(lift(e, x, 0, 128)));
    assert_eq!(got, (2 + 1, 3072 * (192 + 64 + 64 + 3 * 128)));
}
