//! Small functions of forms and intervals.

use super::form::Form;
use super::point::UNIT;

/// The sum of forms, each times its factor.
pub(super) fn sum<const N: usize>(of: [(&Form, f64); N]) -> Form {
    Form::combined(of.into_iter())
}

/// Whether a is certainly less than b, or certainly not.
pub(super) fn disjoint(a: (f64, f64), b: (f64, f64)) -> Option<bool> {
    if a.1 < b.0 {
        Some(true)
    } else if a.0 >= b.1 {
        Some(false)
    } else {
        None
    }
}

/// The smallest interval that holds all of these.
pub(super) fn hull(of: impl IntoIterator<Item = (f64, f64)>) -> (f64, f64) {
    let nothing = (f64::INFINITY, f64::NEG_INFINITY);
    of.into_iter().fold(nothing, |(lo, hi), (a, b)| (lo.min(a), hi.max(b)))
}

/// Index of the first largest.
pub(super) fn largest(of: &[&Form]) -> usize {
    (1..of.len()).fold(0, |best, k| if of[best].value < of[k].value { k } else { best })
}

/// The derivative, from differences whose first errors cancel.
pub(super) fn slope(f: fn(f64) -> f64, x: f64) -> f64 {
    let h = 1e-3 * x.abs().max(UNIT);
    let d = |h: f64| (f(x + h) - f(x - h)) / (2.0 * h);
    let (a, b, c) = (d(h), d(h / 2.0), d(h / 4.0));
    let (ab, bc) = ((4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0);
    (16.0 * bc - ab) / 15.0
}
