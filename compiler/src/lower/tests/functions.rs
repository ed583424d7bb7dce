//! Functions of masked values among three parties and with several splits in the clear, against the exact ones.

use super::t2::{FEW_LEVELS, words_of};
use super::trial::{Made, run};
use crate::lower::common::masked::split;
use crate::lower::t2::exponential::exp_non_positive;
use slvr_circuit::{Dom, fixed, low_mask};

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
        let words: Vec<u128> = xs.iter().map(|&x| x as u128 & low_mask(k)).collect();
        let made = run(Dom::Ring(k), &[n as u64, 1], &words, false, |e, x| {
            let x = split(e, x, 1);
            let y = exp_non_positive(e, &x, (FRAC, -(far as f64), w), to, FEW_LEVELS);
            words_of(e, y)
        });
        let unit = f64::from(FRAC).exp2();
        let error = worst(&made, to, &xs, 0.0, |x| (x / unit).exp() * unit);
        println!("exp_non_positive {k} {to}: {error}");
        assert!(error <= 1.5, "{error}");
        // A sign of few bits, its settle, and the opening of the result.
        assert!(made.traffic.rounds <= 5, "{}", made.traffic.rounds);
    }
}

#[test]
fn small_exponents_need_no_sign() {
    let xs: Vec<i64> = random(3).map(|r| -((r % (15 << 16)) as i64)).take(500).collect();
    let words: Vec<u128> = xs.iter().map(|&x| x as u128 & low_mask(32)).collect();
    let made = run(Dom::Ring(32), &[500, 1], &words, false, |e, x| {
        let x = split(e, x, 1);
        let y = exp_non_positive(e, &x, (16, -15.0 * 65536.0, 22), 32, FEW_LEVELS);
        words_of(e, y)
    });
    assert!(worst(&made, 32, &xs, 0.0, |x| (x / 65536.0).exp() * 65536.0) <= 1.5);
    assert_eq!(made.traffic.rounds, 3, "dealt, exchanged, opened");
    // Two factors; a word of 128 bits each; 32 bits open the result.
    assert_eq!(made.traffic.bytes, [16 + 4, 2 * 16 + 4, 16 + 4].map(|b| b * 500));
}
