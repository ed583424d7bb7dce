//! What is computed entry by entry: gates, functions, quotients.

use super::context::{Context, Whose};
use super::deviation::{Deviation, Noise, Running};
use super::linear::pair;
use crate::analysis::interval::size;
use crate::analysis::stated::{Function, low_end};
use crate::graph::{NodeId, domain};
use std::sync::Arc;

type Numbers = Arc<Vec<f64>>;

/// How one entry deviates: in the worst case; whether it follows its operand's linear form; by how much more than
/// that.
struct Entry {
    worst: f64,
    follows: bool,
    more: f64,
}

/// An operation of one operand: f(value, bound) says how its result deviates.
fn by_entry(
    rules: &Context<'_>,
    x: &Running,
    value: Numbers,
    f: impl Fn(usize, f64, f64) -> Entry,
) -> Running {
    let Some(of) = &x.off else { return Running::exact(value) };
    let n = value.len();
    let mut worst = Vec::with_capacity(n);
    let mut noise = of.noise.clone();
    for i in 0..n {
        let entry = f(i, x.value[i], of.bound[i]);
        worst.push(entry.worst);
        if let Some(noise) = &mut noise {
            if entry.follows {
                noise.rest[i] += entry.more;
            } else {
                (noise.fresh[i], noise.carried[i], noise.rest[i]) = (0.0, 0.0, entry.worst);
            }
        }
    }
    rules.made(value, Deviation { worst, noise, bound: Vec::new() })
}

/// max(x, 0): where x is positive it follows x, and is off by what is cut in addition.
pub(super) fn relu(rules: &Context<'_>, x: &Running, value: Numbers) -> Running {
    by_entry(rules, x, value, |_, v, b| {
        if v > 0.0 {
            Entry { worst: b, follows: true, more: (b - v).max(0.0) }
        } else {
            Entry { worst: (v + b).max(0.0), follows: false, more: 0.0 }
        }
    })
}

/// |x|: it follows x or -x, whose linear forms are of one size.
pub(super) fn abs(rules: &Context<'_>, x: &Running, value: Numbers) -> Running {
    by_entry(rules, x, value, |_, v, b| Entry {
        worst: b,
        follows: true,
        more: 2.0 * (b - v.abs()).max(0.0),
    })
}

/// A value that a run cuts at `most`, and the program does not.
pub(super) fn saturate(rules: &Context<'_>, x: &Running, value: Numbers, most: f64) -> Running {
    let exact = x.off.is_none();
    if exact && value.iter().all(|v| v.abs() <= most) {
        return Running::exact(value);
    }
    let x = Running { value: x.value.clone(), off: Some(x.deviation()) };
    by_entry(rules, &x, value, |_, v, b| {
        let cut = |x: f64| x.clamp(-most, most);
        let worst = (v - cut(v - b)).abs().max((cut(v + b) - v).abs());
        Entry { worst, follows: true, more: (v.abs() + b - most).max(0.0) }
    })
}

/// v where s >= 0, else 0.
pub(super) fn gate(rules: &Context<'_>, given: &[&Running], value: Numbers) -> Running {
    let &[v, s] = given else { return Running::exact(value) };
    if v.off.is_none() && s.off.is_none() {
        return Running::exact(value);
    }
    let x = Running { value: v.value.clone(), off: Some(v.deviation()) };
    by_entry(rules, &x, value, |i, v, b| {
        let (low, high) = s.interval(i);
        let open = s.value[i] >= 0.0;
        if low >= 0.0 {
            Entry { worst: b, follows: true, more: 0.0 }
        } else if high < 0.0 {
            Entry { worst: 0.0, follows: false, more: 0.0 }
        } else if open {
            Entry { worst: b.max(v.abs()), follows: true, more: v.abs() + b }
        } else {
            Entry { worst: v.abs() + b, follows: false, more: 0.0 }
        }
    })
}

/// A function of one number: within its values on the operand's interval, and what the protocol states. The program is
/// off only where its operand is.
pub(super) fn function(
    rules: &Context<'_>,
    id: NodeId,
    f: Function,
    x: &Running,
    value: Numbers,
) -> Running {
    let stated = rules.view.stated.of(f);
    let ulp = rules.view.ulp(id);
    let facts = f.facts();
    let off = |i: usize| {
        if rules.whose == Whose::Program && x.bound(i) == 0.0 {
            return 0.0;
        }
        let (low, high) = x.interval(i);
        let (low, high) = (facts.interval)(low, high);
        let passed = if x.bound(i) == 0.0 { 0.0 } else { (high - value[i]).max(value[i] - low) };
        let largest = size((low, high)).max(value[i].abs());
        passed
            + (stated.units + low_end(f)) * ulp
            + (stated.relative + 4.0 * f64::EPSILON) * largest
    };
    let worst = (0..value.len()).map(off).collect();
    Running::within(value, worst)
}

/// x / y, saturated.
pub(super) fn quotient(
    rules: &Context<'_>,
    id: NodeId,
    given: &[&Running],
    value: Numbers,
) -> Running {
    let (view, args) = (rules.view, rules.view.args(id));
    let [x, y] = pair(view.g, id, given);
    let stated = view.stated.div;
    let off = |i: usize| {
        let ((x, ex), (y, ey), q) = (x[i], y[i], value[i]);
        let end = domain::largest_quotient(x.abs() + ex);
        let nearest = y.abs() - ey;
        // What floating point has of a value that a run has exactly may be a residue of an exact 0. And 0 by anything
        // is 0.
        let held = |k: usize, v: f64| (v / view.ulp(args[k])).fract() == 0.0;
        let exact = ex == 0.0 && held(0, x) && (ey == 0.0 && held(1, y) || x == 0.0);
        let passed = if exact {
            0.0
        } else if nearest > 0.0 {
            // x' / y' - x / y = ((x' - x) - (x / y)(y' - y)) / y'; cutting brings no two values further apart.
            ((ex + (x / y).abs() * ey) / nearest).min(2.0 * end)
        } else {
            end + q.abs()
        };
        if rules.whose == Whose::Program && passed == 0.0 {
            return 0.0;
        }
        let most = (q.abs() + passed).min(end);
        // Where the divisor's interval reaches below 1, a circuit cuts quotients by 1 and more, too.
        let cut = (most - domain::QUOTIENT_END).max(0.0);
        passed + cut + stated.units * view.ulp(id) + (stated.relative + 4.0 * f64::EPSILON) * most
    };
    let worst = (0..value.len()).map(off).collect();
    Running::within(value, worst)
}

/// What follows if entries of a linear form are no longer told apart.
pub(super) fn shared(noise: &Noise) -> Noise {
    let n = noise.rest.len();
    let carried = (0..n).map(|i| noise.size(i)).collect();
    Noise { fresh: vec![0.0; n], carried, rest: noise.rest.clone() }
}
