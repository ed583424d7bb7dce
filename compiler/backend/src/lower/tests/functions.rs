//! Functions of masked values among three parties and with several splits in the clear, against the exact
//! ones.

use super::t2::{FEW_LEVELS, encode, words_of, words_of_split};
use super::trial::{Answer, Made, run};
use crate::lower::common::masked::split;
use crate::lower::stated::STATED;
use crate::lower::t1::elementary::{self, Operand, recip};
use crate::lower::t1::exponential::tanh;
use crate::lower::t1::functions::RECIP_COST;
use crate::lower::t2::exponential::exp_non_positive;
use crate::lower::t2::functions::tanh_pieces;
use slvr_circuit::{Dom, Op, fixed};
use slvr_graph::graph::domain;
use slvr_language::types::function::{Function, NotNegative};

/// The largest error over all runs, in raw units beyond `relative` times the exact value.
pub fn worst(made: &Made, k: u32, xs: &[i64], relative: f64, exact: impl Fn(f64) -> f64) -> f64 {
    let mut worst = 0.0f64;
    for words in made.clear.iter().chain([&made.words]) {
        assert_eq!(words.len(), xs.len());
        for (&x, &y) in xs.iter().zip(words) {
            let want = exact(x as f64);
            let error = (fixed::signed(y, k) as f64 - want).abs() - relative * want.abs();
            worst = worst.max(error);
        }
    }
    worst
}

fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 20
    })
}

#[test]
fn exponentials_are_within_two_units() {
    const FRAC: u32 = 16;
    let n = 2000;
    for (k, to, w) in [(64, 64, 48), (64, 32, 40), (32, 32, 31)] {
        let far = 1i64 << (w - 2);
        let edges = [0, 1, 4, -1, -2, -786_432, -786_433, -917_504, -917_505, -1 << 20, -far];
        let near = random(7).map(|r| -((r % (13 << FRAC)) as i64));
        let beyond = random(9).map(|r| -((r as i64) % far));
        let xs: Vec<i64> = edges.into_iter().chain(near.take(1500)).chain(beyond).take(n).collect();
        let words = encode(&xs, k);
        let made = run(Dom::Ring(k), &[n as u64, 1], &words, false, |e, x| {
            let x = split(e, x, 1);
            let y = exp_non_positive(e, &x, (FRAC, -(far as f64), w), to, FEW_LEVELS);
            words_of(e, y)
        });
        let unit = f64::from(FRAC).exp2();
        let error = worst(&made, to, &xs, 0.0, |x| (x / unit).exp() * unit);
        println!("exp_non_positive {k} {to}: {error}");
        keeps_its_sign(Function::ExpNonPositive, &made, to, &xs);
        assert!(error <= STATED.of(Function::ExpNonPositive).units, "{error}");
        // A sign of few bits, its settle, and the opening of the result.
        assert!(made.traffic.rounds <= 5, "{}", made.traffic.rounds);
    }
}

#[test]
fn small_exponents_need_no_sign() {
    let xs: Vec<i64> = random(3).map(|r| -((r % (15 << 16)) as i64)).take(500).collect();
    let words = encode(&xs, 32);
    let made = run(Dom::Ring(32), &[500, 1], &words, false, |e, x| {
        let x = split(e, x, 1);
        let y = exp_non_positive(e, &x, (16, -15.0 * 65536.0, 22), 32, FEW_LEVELS);
        words_of(e, y)
    });
    let error = worst(&made, 32, &xs, 0.0, |x| (x / 65536.0).exp() * 65536.0);
    assert!(error <= STATED.of(Function::ExpNonPositive).units);
    assert_eq!(made.traffic.rounds, 3, "dealt, exchanged, opened");
    // Two factors; a word of 128 bits each; 32 bits open the result.
    assert_eq!(made.traffic.bytes, [16 + 4, 2 * 16 + 4, 16 + 4].map(|b| b * 500));
}

/// tanh of raw numbers with 16 fraction bits.
fn tanh_of(x: f64) -> f64 {
    let unit = 65536f64;
    (x / unit).tanh() * unit
}

/// Both ends of an interval, numbers next to 0 and to where the tangent is cut, and as many between.
fn dense(top: i64, n: i64) -> Vec<i64> {
    let cut = 8 << 16;
    let edges = [0, 1, 2, cut - 1, cut, cut + 1, 6 << 16, top - 1, top];
    let edges = edges.into_iter().flat_map(|x| [x, -x]);
    let near = (-n..=n).map(|i| i * (top.min(9 << 16)) / n);
    let far = random(5).map(|r| (r as i64 % (2 * top + 1)) - top).take(200);
    edges.chain(near).chain(far).filter(|x| x.abs() <= top).collect()
}

/// No value is negative where the facts of a function say so, as signs and intervals rely on it.
fn keeps_its_sign(f: Function, made: &Made, k: u32, xs: &[i64]) {
    let least = match f.facts().not_negative {
        NotNegative::Always => i64::MIN,
        NotNegative::WithOperand => 0,
        NotNegative::No => return,
    };
    for words in made.clear.iter().chain([&made.words]) {
        for (x, &y) in xs.iter().zip(words).filter(|(x, _)| **x >= least) {
            assert!(fixed::signed(y, k) >= 0, "{f:?} of {x} is negative");
        }
    }
}

fn is_stated_well(found: f64, stated: f64) {
    assert!((stated / 50.0..=stated).contains(&found), "{found}, stated {stated}");
}

#[test]
fn tangents_of_the_symmetric_family() {
    for (bits, rounds, sent) in [(61, 21, 5415), (19, 19, 4391)] {
        let xs = dense((1 << bits) - 1, 6000);
        let words = encode(&xs, 64);
        let made = run(Dom::Ring(64), &[xs.len() as u64, 1], &words, false, |e, x| {
            Answer::Words(tanh(e, x, 16, bits))
        });
        let error = worst(&made, 64, &xs, 0.0, tanh_of);
        println!("tanh of {bits} bits: {error}");
        keeps_its_sign(Function::Tanh, &made, 64, &xs);
        is_stated_well(error, STATED.of(Function::Tanh).units);
        for (x, y) in xs.iter().zip(&made.words).filter(|(x, _)| x.abs() >= 8 << 16) {
            assert_eq!(fixed::signed(*y, 64), i128::from(x.signum() << 16), "{x}");
        }
        // The last round opens.
        assert_eq!(made.traffic.rounds, rounds + 1, "rounds");
        let bytes: u64 = (0..3).map(|i| made.traffic.bytes[i] - made.traffic.revealed[i]).sum();
        assert_eq!(bytes * 8 / xs.len() as u64, sent, "bits");
    }
}

/// The choice between both families counts with one cost of a reciprocal: that of the widest operand for which
/// there is a choice.
#[test]
fn reciprocals_cost_what_is_counted() {
    let frac = 16;
    // 1/16 to 16: the widest for which there are pieces.
    let (least, bits) = (1 << 12, 20);
    let xs: Vec<i64> =
        random(11).map(|r| 4096 + (r % ((1 << 20) - 4096)) as i64).take(2000).collect();
    let words = encode(&xs, 64);
    let made = run(Dom::Ring(64), &[xs.len() as u64, 1], &words, false, |e, x| {
        let x = Operand { value: x, frac, bits, least, not_negative: true, vanishes: false };
        Answer::Words(recip(e, x))
    });
    let unit = f64::from(frac).exp2();
    let stated = STATED.of(Function::Recip);
    let error = worst(&made, 64, &xs, stated.relative, |x| unit * unit / x);
    assert!(error <= stated.units, "{error}");
    // The last round opens.
    let rounds = made.traffic.rounds - 1;
    let bytes: u64 = (0..3).map(|i| made.traffic.bytes[i] - made.traffic.revealed[i]).sum();
    let sent = bytes as f64 * 8.0 / xs.len() as f64;
    assert_eq!((rounds as f64, sent), RECIP_COST);
}

#[test]
fn tangents_of_the_dealer_style_family() {
    for (k, to, top) in [(32, 32, 8), (64, 32, 16), (64, 64, 4)] {
        let end = i64::from(top) << 16;
        let pieces = tanh_pieces(-end as f64, end as f64, 16, to).expect("pieces");
        let xs = dense(end, 6000);
        let words = encode(&xs, k);
        let made = run(Dom::Ring(k), &[xs.len() as u64, 1], &words, false, |e, x| {
            let x = split(e, x, 1);
            let y = pieces.eval(e, &x);
            words_of_split(e, &y)
        });
        let error = worst(&made, to, &xs, 0.0, tanh_of);
        println!("tanh {k} {to} within {top}: {error}, {} bits dealt", pieces.dealt());
        keeps_its_sign(Function::Tanh, &made, to, &xs);
        is_stated_well(error, STATED.of(Function::Tanh).units);
        assert_eq!(made.traffic.rounds, 3, "dealt, exchanged, opened");
        let ring = if to == 32 { 64 } else { 128 };
        let opened = u64::from(to);
        let bits = [ring + opened, pieces.dealt() + opened, ring + opened];
        assert_eq!(made.traffic.bytes, bits.map(|b| b / 8 * xs.len() as u64));
    }
}

/// Words of so many bits at most, as many of each length, with either sign.
fn any_length(seed: u64, bits: u32) -> Vec<i64> {
    let of = |(i, r): (usize, u64)| {
        let length = i as u32 % (bits + 1);
        let size = (r << 20 ^ r) & ((1u64 << length) - 1);
        if r % 2 == 0 { size as i64 } else { -(size as i64) }
    };
    random(seed).take(600).enumerate().map(of).collect()
}

/// Quotients whose operands have other fraction bits than 16, and other ones than each other, as where precision
/// follows the values: up to 28 for the dividend, any for the divisor.
#[test]
fn quotients_of_many_scales() {
    // Fraction bits and bits of the dividend, and of the divisor.
    for ((of_x, bits_x), (of_y, bits_y)) in
        [((28, 51), (28, 51)), ((28, 60), (7, 39)), ((28, 37), (28, 31)), ((24, 30), (40, 50))]
    {
        let xs = any_length(1, bits_x);
        let ys: Vec<i64> = any_length(2, bits_y).into_iter().rev().collect();
        let words = encode(&[&xs[..], &ys].concat(), 64);
        let n = xs.len() as u64;
        let made = run(Dom::Ring(64), &[2, n], &words, false, |e, both| {
            let mut part = |start: u64, frac, bits| {
                let value = e.add(Op::Slice { x: both, axis: 0, start, len: 1, step: 1 });
                let (least, not_negative, vanishes) = (0, false, false);
                Operand { value, frac, bits, least, not_negative, vanishes }
            };
            let (x, y) = (part(0, of_x, bits_x), part(1, of_y, bits_y));
            Answer::Words(elementary::divide(e, x, y))
        });
        let (unit_x, unit_y) = (f64::from(of_x).exp2(), f64::from(of_y).exp2());
        let mut worst = 0.0f64;
        for words in made.clear.iter().chain([&made.words]) {
            for ((&x, &y), &found) in xs.iter().zip(&ys).zip(words) {
                let exact = domain::div(x as f64 / unit_x, y as f64 / unit_y) * unit_x;
                let off = (fixed::signed(found, 64) as f64 - exact).abs();
                worst = worst.max(off - STATED.div.relative * exact.abs());
            }
        }
        println!("{of_x} by {of_y} fraction bits: {worst} units");
        assert!(worst <= STATED.div.units, "{of_x} by {of_y}: {worst}");
    }
}
