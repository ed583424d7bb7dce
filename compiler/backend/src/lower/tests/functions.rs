//! Functions of masked values among three parties and with several splits in the clear, against the exact
//! ones.

use super::t2::{FEW_BITS, FEW_LEVELS, encode, words_of, words_of_split};
use super::trial::{Answer, Made, run};
use crate::cost::{NetProfile, Tuning};
use crate::lower::common::elementary::{self, Arithmetic, Operand};
use crate::lower::common::masked::split;
use crate::lower::emit::{Emit, trial};
use crate::lower::stated::STATED;
use crate::lower::t1::elementary::Replicated;
use crate::lower::t1::exponential::tanh;
use crate::lower::t2::elementary::{Masked, on_unit};
use crate::lower::t2::exponential::exp_non_positive;
use crate::lower::t2::functions::tanh_pieces;
use crate::lower::{Family, Target};
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
/// follows the values: up to 28 for the dividend, any for the divisor. By both families.
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
        let parts = |e: &mut Emit, both| {
            [0, 1].map(|start| {
                let part = Op::Slice { x: both, axis: 0, start, len: 1, step: 1 };
                e.add(part)
            })
        };
        let operand = |frac, bits| any(frac, bits);
        let by_t1 = run(Dom::Ring(64), &[2, n], &words, false, |e, both| {
            let [x, y] = parts(e, both);
            let (x, y) = (operand(of_x, bits_x).with(x), operand(of_y, bits_y).with(y));
            Answer::Words(elementary::divide(&mut Replicated(e), &x, &y, 64))
        });
        let by_t2 = run(Dom::Ring(64), &[2, n], &words, false, |e, both| {
            let [x, y] = parts(e, both).map(|part| split(e, part, 1));
            let (x, y) = (operand(of_x, bits_x).with(x), operand(of_y, bits_y).with(y));
            let quotient = elementary::divide(&mut masked(e, FEW_BITS), &x, &y, 64);
            words_of_split(e, &quotient)
        });
        let (unit_x, unit_y) = (f64::from(of_x).exp2(), f64::from(of_y).exp2());
        for (family, made) in [("T1", by_t1), ("T2", by_t2)] {
            let mut worst = 0.0f64;
            for words in made.clear.iter().chain([&made.words]) {
                for ((&x, &y), &found) in xs.iter().zip(&ys).zip(words) {
                    let exact = domain::div(x as f64 / unit_x, y as f64 / unit_y) * unit_x;
                    let off = (fixed::signed(found, 64) as f64 - exact).abs();
                    worst = worst.max(off - STATED.div.relative * exact.abs());
                }
            }
            println!("{family}: {of_x} by {of_y} fraction bits: {worst} units");
            println!("{} rounds, {:?} bytes", made.traffic.rounds, made.traffic.bytes);
            assert!(worst <= STATED.div.units, "{family}: {of_x} by {of_y}: {worst}");
        }
    }
}

fn masked(emit: &mut Emit, tuning: Tuning) -> Masked<'_> {
    Masked { emit, tuning }
}

/// An operand of so many fraction bits and bits of which nothing else is known.
fn any(frac: u32, bits: u32) -> Operand<()> {
    Operand { value: (), frac, bits, least: 0, not_negative: false, vanishes: false }
}

/// Functions of operands of any size by family T2: within what is stated, for every sign and size that their facts
/// allow, at either end of what tuning may choose.
#[test]
fn functions_of_any_size_of_the_dealer_style_family() {
    type Exact = fn(f64) -> f64;
    let functions: [(Function, Exact); 4] = [
        (Function::Recip, domain::recip),
        (Function::Sqrt, |x| x.max(0.0).sqrt()),
        (Function::RecipSqrt, |x| x.sqrt().recip()),
        (Function::Log, |x| x.max(0.5f64.powi(17)).ln()),
    ];
    let positive = |frac, bits, least| Operand { least, not_negative: true, ..any(frac, bits) };
    let operands = [
        any(16, 47),
        any(16, 20),
        // Of either sign, or of one that nothing is known of, and not 0.
        Operand { least: 1 << 12, ..any(16, 20) },
        Operand { not_negative: true, ..any(16, 33) },
        positive(16, 20, 1 << 12),
        positive(16, 47, 1),
        positive(24, 40, 64),
        positive(7, 61, 1),
        positive(16, 17, 65_000),
        // One position only.
        positive(16, 17, 1 << 16),
        Operand { least: 1 << 16, ..any(16, 17) },
        positive(16, 2, 1),
    ];
    for (function, exact) in functions {
        for operand in operands {
            let Operand { frac, bits, least, not_negative, .. } = operand;
            // Roots of what is known to be positive only, of at least 64 units.
            let least = match function {
                Function::RecipSqrt => least.max(64),
                _ => least,
            };
            let (least, one) = (least as i64, 1i64 << bits);
            if function == Function::RecipSqrt && !not_negative
                || least >= one
                || frac != 16 && function == Function::Log
            {
                continue;
            }
            let operand = Operand { least: least as u64, ..operand };
            let edges = [
                0,
                1,
                2,
                3,
                least,
                least + 1,
                2 * least,
                one - 1,
                one / 2,
                one / 2 - 1,
                one / 2 + 1,
            ];
            let xs = edges.into_iter().chain(any_length(3, bits)).flat_map(|x| [x, -x]);
            let allowed = |x: &i64| x.abs() < one && x.abs() >= least && (!not_negative || *x >= 0);
            let xs: Vec<i64> = xs.filter(allowed).collect();
            // Bits travel in whole words.
            let whole = xs.len().next_multiple_of(64);
            let xs: Vec<i64> = xs.iter().copied().cycle().take(whole).collect();
            let words = encode(&xs, 64);
            let unit = f64::from(frac).exp2();
            for tuning in [FEW_BITS, FEW_LEVELS, NetProfile::lan().tuning()] {
                let made = run(Dom::Ring(64), &[xs.len() as u64, 1], &words, false, |e, x| {
                    let x = operand.with(split(e, x, 1));
                    let y = elementary::function(&mut masked(e, tuning), function, &x, 64)
                        .expect("one");
                    words_of_split(e, &y)
                });
                let stated = STATED.of(function);
                let error = worst(&made, 64, &xs, stated.relative, |x| exact(x / unit) * unit);
                println!(
                    "{function:?} of {operand:?}: {error}, {} rounds, {} bits",
                    made.traffic.rounds - 1,
                    made.traffic.bytes.iter().sum::<u64>() * 8 / xs.len() as u64
                );
                assert!(error <= stated.units, "{function:?} of {operand:?}: {error}");
                // Choices count as runs do; the last round opens.
                let n = xs.len() as u64;
                let (rounds, bits) = trial(Target::SemiHonest(Family::T2(tuning)), |e| {
                    let x = e.input(true, Dom::Ring(64), vec![n, 1]);
                    let x = operand.with(split(e, x, 1));
                    elementary::function(&mut masked(e, tuning), function, &x, 64);
                });
                let bytes: u64 =
                    (0..3).map(|i| made.traffic.bytes[i] - made.traffic.revealed[i]).sum();
                let counted = ((made.traffic.rounds - 1) as f64, (8 * bytes) as f64);
                assert_eq!((rounds, bits), counted, "{function:?} of {operand:?}");
                keeps_its_sign(function, &made, 64, &xs);
            }
        }
    }
}

/// There are pieces for all scales that the functions ask for.
#[test]
fn pieces_of_the_unit_interval() {
    use elementary::{LOG, RECIP, RECIP_SQRT, SQRT};
    for (f, fracs) in [(&RECIP, 20..=28), (&SQRT, 22..=24), (&RECIP_SQRT, 22..=24), (&LOG, 28..=28)]
    {
        for frac in fracs {
            for to in [32, 64] {
                let pieces = on_unit(f, frac, to).unwrap_or_else(|| panic!("{frac} in {to}"));
                println!("{frac} in {to}: {} bits, {} pieces", pieces.dealt(), pieces.n);
            }
        }
    }
    assert_eq!(Masked::SUM, 28);
}
