//! Functions among three parties and with several splits in the clear, against the exact ones.

use super::*;
use crate::lower::common::masked::split;
use crate::lower::tests::functions::worst;
use crate::lower::tests::t2::{encode, words_of_split};
use crate::lower::tests::trial::run;
use slvr_circuit::Dom;

#[test]
fn reciprocals_of_every_small_divisor() {
    for (k, to, frac, top) in
        [(64, 32, 16, 10), (32, 32, 16, 10), (32, 32, 16, 100), (64, 64, 20, 3)]
    {
        let unit = 1i64 << frac;
        let pieces = recip((unit - 8) as f64, (top * unit + 80) as f64, frac, to).expect("pieces");
        println!(
            "recip {k} {to} {frac} {top}: n {} shift {} {} bits",
            pieces.n,
            pieces.shift,
            pieces.dealt()
        );
        let all = unit - 8..=top * unit + 80;
        let step = (all.end() - all.start()) as usize / 1500;
        let xs: Vec<i64> = all.clone().step_by(step).chain([*all.end()]).collect();
        let n = xs.len() as u64;
        let words = encode(&xs, 64);
        let made = run(Dom::Ring(k), &[n, 1], &words, false, |e, x| {
            let x = split(e, x, 1);
            let y = pieces.eval(e, &x);
            words_of_split(e, &y)
        });
        let one = f64::from(2 * frac).exp2();
        let error = worst(&made, to, &xs, (-20f64).exp2(), |x| one / x);
        println!("  {error}");
        assert!(error <= 1.0, "{error}");
        assert_eq!(made.traffic.rounds, 3, "dealt, exchanged, opened");
        let (ring, opened) = (u64::from(pieces.ring), u64::from(to));
        let bits = [ring + opened, pieces.dealt() + opened, ring + opened];
        assert_eq!(made.traffic.bytes, bits.map(|b| b / 8 * n));
    }
}

/// Pieces of any function: one that changes its sign, and one whose pieces are single numbers.
#[test]
fn pieces_of_other_functions() {
    for (lo, hi) in [(-30_000i64, 30_000i64), (-3, 4), (5, 5)] {
        let f = |x: f64| (x / 10_000.0).sin() * 40_000.0;
        let smooth = Smooth { lo, hi, value: &f, tolerance: &|_| 0.25 };
        let pieces = Pieces::fit(&smooth, 32).expect("pieces");
        let xs: Vec<i64> = (lo..=hi).step_by(((hi - lo) as usize / 3000).max(1)).collect();
        let words = encode(&xs, 32);
        let made = run(Dom::Ring(32), &[xs.len() as u64, 1], &words, false, |e, x| {
            let x = split(e, x, 1);
            let y = pieces.eval(e, &x);
            words_of_split(e, &y)
        });
        let error = worst(&made, 32, &xs, 0.0, f);
        assert!(error <= 1.25, "{lo}..{hi}: {error} {}, {}", pieces.n, pieces.shift);
    }
    let f = |x: f64| 1e6 / x;
    let steep = Smooth { lo: 1, hi: 1 << 40, value: &f, tolerance: &|_| 1e-3 };
    assert_eq!(Pieces::fit(&steep, 32), None);
}
