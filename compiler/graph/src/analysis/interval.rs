//! Arithmetic of intervals in f64, for every analysis that bounds values.
//!
//! May not live here: rules of graph operations ([`super::ranges`], [`super::errors`]).

/// Smallest and largest value, both included.
pub type Interval = (f64, f64);

/// Of a value of which nothing is known.
pub const UNBOUNDED: Interval = (f64::NEG_INFINITY, f64::INFINITY);

/// The largest absolute value.
pub fn size((lo, hi): Interval) -> f64 {
    lo.abs().max(hi.abs())
}

/// The smallest absolute value. An end of -0 is no other than 0.
pub fn nearest((lo, hi): Interval) -> f64 {
    lo.max(-hi).max(0.0).abs()
}

/// The interval from the smaller to the larger of two numbers.
pub fn between(a: f64, b: f64) -> Interval {
    (a.min(b), a.max(b))
}

/// The smallest interval that contains both.
pub fn hull(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}

/// What is in both, if anything is.
pub fn meet(a: Interval, b: Interval) -> Interval {
    (a.0.max(b.0), a.1.min(b.1))
}

pub fn negated((lo, hi): Interval) -> Interval {
    (-hi, -lo)
}

pub fn sum(a: Interval, b: Interval) -> Interval {
    (a.0 + b.0, a.1 + b.1)
}

/// Of multiples by a number of either sign.
pub fn scaled((lo, hi): Interval, by: f64) -> Interval {
    if by < 0.0 { (hi * by, lo * by) } else { (lo * by, hi * by) }
}

pub fn product((a, b): Interval, (c, d): Interval) -> Interval {
    let all = [a * c, a * d, b * c, b * d];
    // 0 times an unbounded number.
    let all = all.map(|x| if x.is_nan() { 0.0 } else { x });
    (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(f64::MIN, f64::max))
}

/// Of quotients by divisors that are all positive, however large they are, so that 0 is among the quotients or next to
/// them; `None` of other divisors.
pub fn quotient(x: Interval, y: Interval) -> Option<Interval> {
    (y.0 > 0.0).then(|| {
        let least = if x.0 < 0.0 { x.0 / y.0 } else { 0.0 };
        let most = if x.1 > 0.0 { x.1 / y.0 } else { 0.0 };
        (least, most)
    })
}

/// An integer that is no larger: the next one, as long as f64 tells integers apart.
pub fn below(x: f64) -> f64 {
    if x.abs() < 9e15 { x.floor() } else { x - x.abs() * 1e-15 }
}

/// An integer that is no smaller.
pub fn above(x: f64) -> f64 {
    -below(-x)
}

/// Ends that are integers, with all of the interval between them.
pub fn outward((lo, hi): Interval) -> Interval {
    (below(lo), above(hi))
}

/// An upper bound of what was computed in a few roundings of f64, for results that are not negative.
pub fn enlarged(x: f64) -> f64 {
    x * (1.0 + 1e-12)
}

/// Bits of a two's complement word that holds every value of an interval.
pub fn signed_bits((lo, hi): Interval) -> u32 {
    let fits = |w: u32| lo >= -(f64::from(w - 1).exp2()) && hi < f64::from(w - 1).exp2();
    (1..1024).find(|&w| fits(w)).unwrap_or(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_tight() {
        assert_eq!(signed_bits((0.0, 0.0)), 1);
        assert_eq!(signed_bits((-1.0, 0.0)), 1);
        assert_eq!(signed_bits((0.0, 1.0)), 2);
        assert_eq!(signed_bits((-8.0, 7.0)), 4);
        assert_eq!(signed_bits((-8.0, 8.0)), 5);
        assert_eq!(signed_bits((-1e15, 1e15)), 51);
        assert_eq!(signed_bits((0.0, 2f64.powi(200))), 202);
    }

    #[test]
    fn results_contain_those_of_all_members() {
        let ends = [-3.0, -0.5, 0.0, 0.25, 2.0];
        let pairs = || ends.iter().flat_map(|&a| ends.iter().map(move |&b| (a, b)));
        let all: Vec<Interval> = pairs().filter(|(a, b)| a <= b).collect();
        let of = |(lo, hi): Interval| [lo, (lo + hi) / 2.0, hi];
        for &x in &all {
            for &y in &all {
                for a in of(x) {
                    let inside =
                        |z: f64, (lo, hi): Interval| assert!(lo <= z && z <= hi, "{x:?} {y:?}");
                    inside(-a, negated(x));
                    for by in [3.0, 0.0, -2.0] {
                        inside(a * by, scaled(x, by));
                    }
                    inside(a, outward(x));
                    for b in of(y) {
                        inside(a + b, sum(x, y));
                        inside(a * b, product(x, y));
                        inside(a, hull(x, y));
                        if let Some(q) = quotient(x, y) {
                            inside(a / b, q);
                        }
                    }
                }
            }
        }
        assert_eq!(product((0.0, 0.0), UNBOUNDED), (0.0, 0.0));
        assert_eq!(meet((0.0, 2.0), (1.0, 3.0)), (1.0, 2.0));
    }
}
