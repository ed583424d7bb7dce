//! Comparisons, choices and order: which bits a run has for certain, and what the others change.

use super::context::Context;
use super::deviation::{Deviation, Noise, Running};
use super::linear::{pair, spread};
use super::point::shared;
use crate::graph::eval::{EvalError, first_largest};
use crate::graph::{Graph, NodeId, Op};
use slvr_language::types::Elem;
use std::sync::Arc;

type Numbers = Arc<Vec<f64>>;

/// What is known of one decision on given inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// How far the program's sides are from where it would be decided otherwise.
    pub gap: f64,
    /// How far a run's sides may be off together.
    pub bound: f64,
    /// Whether every run decides as the program does.
    pub certified: bool,
}

impl Verdict {
    /// The gap in bounds; infinite where there is nothing to be off by.
    pub fn ratio(&self) -> f64 {
        if self.bound == 0.0 { f64::INFINITY } else { self.gap / self.bound }
    }
}

/// The decisions of a node, one for each entry of its result; none of a node that decides nothing. `given` are its
/// operands.
pub fn verdicts(g: &Graph, id: NodeId, given: &[&Running]) -> Vec<Verdict> {
    let args = g.args(id);
    match g.op(id) {
        op @ (Op::Lt | Op::Eq) => {
            let [x, y] = pair(g, id, given);
            let whole = args.iter().all(|&a| g.ty(a).elem != Elem::Fix);
            let one = |i: usize| sides(*op == Op::Lt, whole, x[i], y[i]);
            (0..x.len()).map(one).collect()
        }
        Op::Gate => (0..given[1].value.len())
            .map(|i| {
                let (gap, bound) = (given[1].value[i].abs(), given[1].bound(i));
                let open = given[1].value[i] >= 0.0;
                Verdict { gap, bound, certified: if open { gap >= bound } else { gap > bound } }
            })
            .collect(),
        Op::ArgMax => {
            rows(g, args[0], given[0]).map(|(v, b)| against(v, &b, first_largest(v))).collect()
        }
        Op::ArgMaxIs => {
            let labels = rows(g, args[1], given[1]);
            rows(g, args[0], given[0])
                .zip(labels)
                .map(|((v, b), (label, off))| {
                    let label = label.iter().position(|&l| l != 0.0);
                    let found = label.map_or(CERTAIN, |label| hit(v, &b, label));
                    let off = off.iter().any(|&off| off > 0.0);
                    Verdict { certified: found.certified && !off, ..found }
                })
                .collect()
        }
        // Choices of near values, and what decides nothing.
        _ => Vec::new(),
    }
}

/// A decision without alternatives.
const CERTAIN: Verdict = Verdict { gap: f64::INFINITY, bound: 0.0, certified: true };

fn sides(less: bool, whole: bool, (x, ex): (f64, f64), (y, ey): (f64, f64)) -> Verdict {
    let (gap, bound) = ((x - y).abs(), ex + ey);
    let certified = if less && x >= y {
        gap >= bound
    } else if !less && gap == 0.0 {
        bound == 0.0 || (whole && bound < 1.0)
    } else {
        gap > bound
    };
    Verdict { gap, bound, certified }
}

fn last(g: &Graph, id: NodeId) -> usize {
    g.shape(id).last().map_or(1, |&n| n as usize).max(1)
}

/// Rows along the last axis, with how far their entries may be off.
fn rows<'x>(
    g: &Graph,
    id: NodeId,
    x: &'x Running,
) -> impl Iterator<Item = (&'x [f64], Vec<f64>)> + use<'x> {
    let n = last(g, id);
    let bounds = move |r| (r * n..(r + 1) * n).map(|i| x.bound(i)).collect();
    x.value.chunks(n).enumerate().map(move |(r, v)| (v, bounds(r)))
}

/// Whether entry i is larger than entry j for certain, or as large and before it.
fn beats(v: &[f64], b: &[f64], i: usize, j: usize) -> bool {
    let (low, high) = (v[i] - b[i], v[j] + b[j]);
    if i < j { low >= high } else { low > high }
}

/// Entry `own` against all others: the nearest in bounds.
fn against(v: &[f64], b: &[f64], own: usize) -> Verdict {
    let one = |j: usize| {
        let (gap, bound) = ((v[own] - v[j]).abs(), b[own] + b[j]);
        Verdict { gap, bound, certified: beats(v, b, own, j) }
    };
    let nearest = |x: Verdict, y: Verdict| {
        let nearer = (y.ratio(), y.gap) < (x.ratio(), x.gap);
        let certified = x.certified && y.certified;
        Verdict { certified, ..if nearer { y } else { x } }
    };
    (0..v.len()).filter(|&j| j != own).map(one).fold(CERTAIN, nearest)
}

/// Whether the first largest entry is the label.
fn hit(v: &[f64], b: &[f64], label: usize) -> Verdict {
    if first_largest(v) == label {
        return against(v, b, label);
    }
    // One entry that beats the label for certain is enough.
    let one = |j: usize| {
        let (gap, bound) = ((v[j] - v[label]).abs(), b[label] + b[j]);
        Verdict { gap, bound, certified: beats(v, b, j, label) }
    };
    let ahead = (0..v.len()).filter(|&j| j != label && v[j] >= v[label]).map(one);
    let found = ahead.reduce(|x, y| {
        let clearer = (y.certified, y.ratio()) > (x.certified, x.ratio());
        if clearer { y } else { x }
    });
    found.unwrap_or(CERTAIN)
}

fn in_doubt(value: Numbers, doubt: impl Iterator<Item = f64>) -> Running {
    Running::within(value, doubt.collect())
}

fn bit(doubt: bool) -> f64 {
    f64::from(u8::from(doubt))
}

pub(super) fn comparison(
    rules: &Context<'_>,
    id: NodeId,
    given: &[&Running],
    value: Numbers,
) -> Running {
    let all = verdicts(rules.view.g, id, given);
    in_doubt(value, all.into_iter().map(|v| bit(!v.certified)))
}

/// An index of a largest entry, or whether it is the label.
pub(super) fn largest(
    rules: &Context<'_>,
    id: NodeId,
    given: &[&Running],
    value: Numbers,
) -> Running {
    let g = rules.view.g;
    let n = last(g, g.arg(id, 0));
    let index = *g.op(id) == Op::ArgMax;
    let all = verdicts(g, id, given);
    let off = |(r, v): (usize, &Verdict)| match (v.certified, index) {
        (true, _) => 0.0,
        (false, false) => 1.0,
        // As far as the furthest entry that may be the largest.
        (false, true) => {
            let at = value[r] as usize;
            let entry = |i: usize| (given[0].value[r * n + i], given[0].bound(r * n + i));
            let may = |&i: &usize| entry(i).0 + entry(i).1 >= entry(at).0 - entry(at).1;
            (0..n).filter(may).map(|i| i.abs_diff(at) as f64).fold(0.0, f64::max)
        }
    };
    let worst: Vec<f64> = all.iter().enumerate().map(off).collect();
    Running::within(value, worst)
}

pub(super) fn one_hot(label: &Running, value: Numbers, classes: usize) -> Running {
    let doubt = (0..value.len()).map(|i| bit(label.bound(i / classes.max(1)) > 0.0));
    in_doubt(Arc::clone(&value), doubt)
}

/// And, exclusive or.
pub(super) fn bits(rules: &Context<'_>, id: NodeId, given: &[&Running], value: Numbers) -> Running {
    let g = rules.view.g;
    let and = *g.op(id) == Op::And;
    let [x, y] = pair(g, id, given);
    let doubt = x.into_iter().zip(y).map(|((x, ex), (y, ey))| {
        let (a, b) = (ex > 0.0, ey > 0.0);
        let zero = (x == 0.0 && !a) || (y == 0.0 && !b);
        bit((a || b) && !(and && zero))
    });
    in_doubt(value, doubt)
}

/// One of two values: the program's choice where the bit is certain, else either.
pub(super) fn select(
    rules: &Context<'_>,
    id: NodeId,
    given: &[&Running],
    value: Numbers,
) -> Result<Running, EvalError> {
    let g = rules.view.g;
    let args = g.args(id);
    let (test, doubt) = (&given[0].value, spread(g, &given[0].bounds(), args[0], id));
    let flipped: Numbers = Arc::new(test.iter().map(|t| 1.0 - t).collect());
    let pick = |test: &Numbers, part: &dyn Fn(&Running) -> Numbers| {
        rules.apply(id, &[test, &part(given[1]), &part(given[2])])
    };
    let bounds = |x: &Running| x.bounds();
    let (own, other) = (pick(test, &bounds)?, pick(&flipped, &bounds)?);
    let values = pick(&flipped, &|x| Arc::clone(&x.value))?;
    let worst: Vec<f64> = (0..value.len())
        .map(|i| {
            let change = (values[i] - value[i]).abs() + other[i];
            if doubt[i] > 0.0 { own[i].max(change) } else { own[i] }
        })
        .collect();
    let noisy = given[1..].iter().any(|x| x.off.as_ref().is_some_and(|off| off.noise.is_some()));
    if !noisy {
        return Ok(Running::within(value, worst));
    }
    // Entries may be repeated: nothing is independent any more.
    let parts = |x: &Running| {
        let zeros = || vec![0.0; x.value.len()];
        let noise = x.off.as_ref().and_then(|off| off.noise.as_ref()).map(shared);
        noise.map_or_else(|| (zeros(), x.bounds().to_vec()), |n| (n.carried, n.rest))
    };
    let mut carried = pick(test, &|x| Arc::new(parts(x).0))?.to_vec();
    let mut rest = pick(test, &|x| Arc::new(parts(x).1))?.to_vec();
    for i in (0..value.len()).filter(|&i| doubt[i] > 0.0) {
        (carried[i], rest[i]) = (0.0, worst[i]);
    }
    let fresh = vec![0.0; value.len()];
    let noise = Some(Noise { fresh, carried, rest });
    Ok(rules.made(value, Deviation { worst, noise, bound: Vec::new() }))
}

/// Largest and smallest entries and order statistics: they grow with every entry, so they are between those of
/// the ends.
pub(super) fn ordered(
    rules: &Context<'_>,
    id: NodeId,
    x: &Running,
    value: Numbers,
) -> Result<Running, EvalError> {
    let bounds = x.bounds();
    let shifted = |sign: f64| {
        let ends = x.value.iter().zip(bounds.iter()).map(|(v, b)| v + sign * b).collect();
        rules.apply(id, &[&Arc::new(ends)])
    };
    let (low, high) = (shifted(-1.0)?, shifted(1.0)?);
    let worst = (0..value.len()).map(|i| (high[i] - value[i]).max(value[i] - low[i])).collect();
    Ok(Running::within(value, worst))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::text;

    /// All lists of three of these numbers.
    fn lists(of: [f64; 3]) -> Vec<Vec<f64>> {
        let digit = |n: usize, k: u32| of[n / 3usize.pow(k) % 3];
        (0..27).map(|n| (0..3).map(|k| digit(n, k)).collect()).collect()
    }

    /// A decision is certified where nothing within the bounds is decided otherwise, and nowhere else.
    #[test]
    fn verdicts_are_those_of_all_values_within_bounds() {
        let text = "graph T\nparties Client[1]\nparties Server[1]\nfrac 16\n\
            input 0 x : secret fix[3] in -8..8 from each Client\nsite 0 \"x\" line 1\n\
            %0 = input 0 : secret fix.16[1,3] @0\n%1 = slice %0 axis=1 start=0 len=1 : secret fix.16[1,1] @0\n\
            %2 = slice %0 axis=1 start=1 len=1 : secret fix.16[1,1] @0\n%3 = lt %1 %2 : secret bit[1,1] @0\n\
            %4 = eq %1 %2 : secret bit[1,1] @0\n%5 = argmax %0 : secret int.0[1] @0\n\
            %6 = gate %2 %1 : secret fix.16[1,1] @0\nreveal %6 to Server as y @0\n";
        let g = text::parse(text).unwrap_or_else(|e| panic!("{e}"));
        let decided = |v: &[f64]| {
            [
                u8::from(v[0] < v[1]),
                u8::from(v[0] == v[1]),
                first_largest(v) as u8,
                u8::from(v[0] >= 0.0),
            ]
        };
        let mut certain = [0; 4];
        for v in lists([-1.0, 0.0, 1.0]) {
            for b in lists([0.0, 0.5, 1.0]) {
                let near = lists([-1.0, 0.0, 1.0])
                    .into_iter()
                    .map(|signs| -> Vec<f64> { (0..3).map(|i| v[i] + signs[i] * b[i]).collect() });
                let own = decided(&v);
                let same = near.fold([true; 4], |same, near| {
                    let other = decided(&near);
                    [0, 1, 2, 3].map(|i| same[i] && other[i] == own[i])
                });
                let part = |i: usize| Running::within(Arc::new(vec![v[i]]), vec![b[i]]);
                let (x, y) = (part(0), part(1));
                let all = Running::within(Arc::new(v.clone()), b.clone());
                let given: [&[&Running]; 4] = [&[&x, &y], &[&x, &y], &[&all], &[&y, &x]];
                for (i, given) in given.into_iter().enumerate() {
                    let found = verdicts(&g, NodeId(3 + i as u32), given)[0];
                    // Bounds are a little wider than they were given.
                    assert!(!found.certified || same[i], "{i}: {v:?} {b:?} {found:?}");
                    let clear = found.bound == 0.0 || (found.gap - found.bound).abs() > 1e-6;
                    assert!(found.certified || !same[i] || !clear, "{i}: {v:?} {b:?} {found:?}");
                    certain[i] += u32::from(found.certified);
                }
            }
        }
        assert!(certain.iter().all(|n| *n > 100), "{certain:?}");
    }
}
