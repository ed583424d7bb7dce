//! Estimated errors: second moments of values and of errors.
//!
//! What is assumed: numbers are uniform in their declared ranges; the entries of weights are centred,
//! and a vector of them is no longer than [`NORM`]; values that are added or multiplied are
//! independent, and so are roundings, which are uniform; masks are set; functions act as their
//! tangent, quotients at two standard deviations below the divisor's mean. None of this is proven, and
//! where divisors come near zero errors have heavier tails than this. Reported are six standard
//! deviations, and never more than the proven bound.

use super::choice::Choice;
use super::proven::Proven;
use super::value::Values;
use super::view::{View, table_rounding, times};
use crate::analysis::interval::{self, Interval};
use crate::analysis::layout::same_entries;
use crate::analysis::softmax::softmax_of;
use crate::analysis::stated::{Function, StatedErrors};
use crate::graph::{NodeId, Op, domain};
use crate::syntax::ast::Secrecy;
use std::f64::consts::LN_2;

/// Euclidean length of a typical vector of weights.
pub const NORM: f64 = 16.0;
/// Standard deviations that are reported.
const SIGMAS: f64 = 6.0;

/// Mean and variance of a value, and the mean square of its error.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    mean: f64,
    variance: f64,
    error: f64,
}

impl Moments {
    /// The mean square.
    fn square(self) -> f64 {
        self.mean * self.mean + self.variance
    }

    fn scaled(self, c: f64) -> Moments {
        let c2 = c * c;
        Moments {
            mean: times(self.mean, c),
            variance: times(self.variance, c2),
            error: times(self.error, c2),
        }
    }

    /// The sum of n like this.
    fn sum(self, n: f64) -> Moments {
        Moments { mean: self.mean * n, variance: self.variance * n, error: self.error * n }
    }

    fn plus(self, other: Moments, sign: f64) -> Moments {
        Moments {
            mean: self.mean + sign * other.mean,
            variance: self.variance + other.variance,
            error: self.error + other.error,
        }
    }

    fn product(self, other: Moments) -> Moments {
        let (a, b) = (self.square(), other.square());
        let mean = self.mean * other.mean;
        Moments {
            mean,
            variance: (a * b - mean * mean).max(0.0),
            error: times(a, other.error) + times(b, self.error) + times(self.error, other.error),
        }
    }

    /// The square, of a value whose square has this mean.
    fn squared(self) -> Moments {
        let square = self.square();
        let v = self.variance;
        Moments {
            mean: square,
            variance: 2.0 * v * v + 4.0 * self.mean * self.mean * v,
            error: 4.0 * square * self.error + self.error * self.error,
        }
    }
}

pub(super) fn run(
    view: &View<'_>,
    raw: &[Interval],
    choices: &[Option<Choice>],
    proven: &Proven,
) -> Vec<f64> {
    let mut all: Vec<Moments> = Vec::new();
    for id in view.g.ids() {
        let mut m = moments(view, id, &all, choices, proven, raw);
        // Nothing is larger than its interval.
        let most = interval::size(proven.values[id.index()].run);
        m.mean = m.mean.clamp(-most, most);
        m.variance = m.variance.min(most * most);
        if m.error.is_nan() {
            m.error = f64::INFINITY;
        }
        all.push(m);
    }
    all.iter().zip(&proven.errors).map(|(m, most)| (SIGMAS * m.error.sqrt()).min(*most)).collect()
}

fn uniform((lo, hi): Interval) -> Moments {
    Moments { mean: (lo + hi) / 2.0, variance: (hi - lo).powi(2) / 12.0, error: 0.0 }
}

/// What a gate leaves: half of a centred value.
fn halved(m: Moments) -> Moments {
    let square = m.square();
    let part = if m.variance > 0.0 {
        (0.5 + m.mean / (2.0 * square.sqrt())).clamp(0.0, 1.0)
    } else {
        f64::from(m.mean > 0.0)
    };
    let mean = m.mean.max(0.4 * square.sqrt() * part.sqrt());
    let square = square * part;
    Moments { mean, variance: (square - mean * mean).max(0.0), error: m.error }
}

fn moments(
    view: &View<'_>,
    id: NodeId,
    all: &[Moments],
    choices: &[Option<Choice>],
    proven: &Proven,
    raw: &[Interval],
) -> Moments {
    let args = view.args(id);
    let of = |n: NodeId| all[n.index()];
    let ulp = view.ulp(id);
    let same = |a: NodeId, b: NodeId| same_entries(view.g, a, b);
    if let Some(Choice::Ranked { values, entries, slack }) = &choices[id.index()] {
        let mut m = of(*values).sum(*entries);
        m.error += slack * slack / 6.0 * *entries;
        return m;
    }
    let inner = |terms: f64, diagonal: bool| {
        let (a, b) = (of(args[0]), of(args[1]));
        if diagonal { a.squared().sum(terms) } else { a.product(b).sum(terms) }
    };
    let one =
        |f: Function| function(f, view.stated, of(args[0]), proven.values[args[0].index()], ulp);
    match view.op(id) {
        Op::Input(i) => {
            let input = &view.g.inputs[*i as usize];
            let range = raw.get(id.index()).copied().unwrap_or((0.0, 0.0));
            let mut m = uniform((range.0 * ulp, range.1 * ulp));
            if !input.fields.is_empty() {
                let n = input.shape.iter().product::<u64>().max(1) as f64;
                m = Moments { mean: 0.0, variance: m.variance.min(NORM * NORM / n), error: 0.0 };
            }
            if input.one_hot.is_some() {
                let n = input.one_hot.unwrap_or(1) as f64;
                m = Moments { mean: 1.0 / n, variance: (1.0 - 1.0 / n) / n, error: 0.0 };
            }
            m.error = proven.errors[id.index()].powi(2) / 3.0;
            m
        }
        Op::Const(table, _, frac) => {
            let n = table.data.len().max(1) as f64;
            let mean = table.data.iter().sum::<f64>() / n;
            let variance = table.data.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            let error = table_rounding(&table.data, frac.unwrap_or(0)).powi(2);
            Moments { mean, variance, error }
        }
        Op::Committee { n, .. } => uniform((0.0, *n as f64)),
        Op::Add if same(args[0], args[1]) => of(args[0]).scaled(2.0),
        Op::Add => of(args[0]).plus(of(args[1]), 1.0),
        Op::Sub => of(args[0]).plus(of(args[1]), -1.0),
        Op::Neg => of(args[0]).scaled(-1.0),
        Op::Scale(c) => {
            let mut m = of(args[0]).scaled(*c);
            if !view.whole(id) {
                m.error += m.square() * 2f64.powi(-32) / 3.0;
            }
            m
        }
        Op::DivPow2(by) => of(args[0]).scaled((-f64::from(*by)).exp2()),
        Op::MulPow2(by) => of(args[0]).scaled(f64::from(*by).exp2()),
        Op::Mul => inner(1.0, same(args[0], args[1])),
        Op::MatMul { .. } => {
            let to = view.shape(id);
            let diagonal = to.iter().skip(1).all(|&d| d == 1) && same(args[0], args[1]);
            inner(view.shape(args[0]).last().map_or(1.0, |&k| k as f64), diagonal)
        }
        Op::Conv2d { .. } => {
            inner(view.shape(args[1]).iter().skip(2).product::<u64>() as f64, false)
        }
        Op::Sum(axes) => {
            let shape = view.shape(args[0]);
            of(args[0]).sum(axes.iter().map(|&d| shape[d as usize] as f64).product())
        }
        Op::SortSum { lo, hi } => of(args[0]).sum((hi - lo) as f64),
        Op::Trunc(_) => {
            let mut m = of(args[0]);
            let public = view.g.ty(id).secrecy == Secrecy::Public;
            // The difference of two uniform roundings, or one.
            let unit = view.stated.truncation * ulp;
            m.error += if public { ulp * ulp / 12.0 } else { unit * unit / 6.0 };
            m
        }
        Op::Gate | Op::Relu => halved(of(args[0])),
        Op::Abs => {
            let m = of(args[0]);
            let mean = m.mean.abs().max(0.8 * m.square().sqrt());
            Moments { mean, variance: (m.square() - mean * mean).max(0.0), error: m.error }
        }
        Op::Select => {
            let (a, b) = (of(args[1]), of(args[2]));
            Moments {
                mean: (a.mean + b.mean) / 2.0,
                variance: (a.variance + b.variance) / 2.0 + (a.mean - b.mean).powi(2) / 4.0,
                error: a.error.max(b.error),
            }
        }
        Op::Concat(_) => args.iter().map(|&a| of(a)).fold(Moments::default(), |m, x| Moments {
            mean: m.mean + x.mean / args.len() as f64,
            variance: m.variance.max(x.variance),
            error: m.error.max(x.error),
        }),
        // The error of what a mask keeps is that of a mask that is set.
        Op::Lt | Op::Eq | Op::Not | Op::And | Op::Xor | Op::ArgMaxIs => {
            Moments { mean: 0.5, variance: 0.75, error: 0.0 }
        }
        Op::OneHot(_) | Op::ArgMax => uniform((0.0, view.g.elements(id) as f64)),
        Op::Function(Function::Recip) => {
            let m = one(Function::Recip);
            let Some((exp, x, z)) = softmax_of(view, args[0]) else { return m };
            // As for the proven bound: at most half of z's error passes.
            let terms = view.g.elements(exp) / view.g.elements(args[0]).max(1);
            let rounding = (of(x).error - 2.0 * of(z).error).max(0.0);
            let square = |x: f64| x * x;
            let exponential = square(2.0 * view.stated.exp_non_positive.deviation * ulp);
            let recip = square(view.stated.recip.deviation * ulp);
            let own = (exponential + rounding) * terms as f64 + recip;
            Moments { error: m.error.min(of(z).error / 4.0 + own), ..m }
        }
        Op::Function(f) => one(*f),
        Op::Div => {
            let (x, y) = (of(args[0]), of(args[1]));
            let d = small(y, proven.values[args[1].index()]);
            let mut m = x.scaled(1.0 / d);
            m.error += times(y.error, m.square() / (d * d));
            let stated = view.stated.div;
            m.error +=
                (stated.deviation * ulp).powi(2) + m.square() * (stated.relative / 2.0).powi(2);
            m
        }
        Op::ToInt
        | Op::Max(_)
        | Op::Min(_)
        | Op::Sort
        | Op::MaxPool { .. }
        | Op::Saturate(_)
        | Op::Reshape(_)
        | Op::Transpose(_)
        | Op::Slice { .. }
        | Op::Broadcast(_)
        | Op::Gather { .. }
        | Op::Shift(_) => of(args[0]),
    }
}

/// A small absolute value of a divisor: small ones count most.
fn small(x: Moments, v: Values) -> f64 {
    let least = (-12f64).exp2();
    let typical = (x.mean.abs() - 2.0 * x.variance.sqrt()).max(x.square().sqrt() / 16.0);
    typical.max(v.real.0).max(-v.real.1).max(least)
}

/// A function of one number, by its tangent.
fn function(f: Function, stated: &StatedErrors, x: Moments, v: Values, ulp: f64) -> Moments {
    let at = small(x, v);
    let (mean, slope2) = match f {
        Function::Exp => {
            let most = v.real.1.min(f64::from(domain::EXP_TOP) * LN_2);
            (
                (x.mean + x.variance / 2.0).min(most).exp(),
                (x.mean + x.variance).min(most).exp().powi(2),
            )
        }
        Function::ExpNonPositive => {
            let spread = x.mean.min(0.0) + x.variance;
            ((x.mean + x.variance / 2.0).min(0.0).exp(), spread.min(0.0).exp().powi(2))
        }
        Function::Recip => (1.0 / at, at.powi(-4)),
        Function::Sqrt => (at.sqrt(), 0.25 / at),
        Function::Log => (at.ln(), at.powi(-2)),
        Function::Tanh => {
            let near = (x.mean.abs() - 2.0 * x.variance.sqrt()).max(0.0).tanh();
            (x.mean.tanh(), (1.0 - near * near).powi(2))
        }
    };
    let own = stated.of(f);
    // Other functions than the reciprocal are taken to be off as roots are, whatever they state.
    let relative = match f {
        Function::Recip | Function::Tanh => own.relative,
        Function::Exp | Function::ExpNonPositive | Function::Sqrt | Function::Log => {
            own.relative.max(stated.sqrt.relative)
        }
    };
    // The mean square of a tangent is at most 1; values of the others are hardly ever twice their mean.
    let most = if f == Function::Tanh { 1.0 - mean * mean } else { mean * mean };
    let own = (own.deviation * ulp).powi(2) + (mean * relative).powi(2) / 3.0;
    Moments {
        mean,
        variance: times(x.variance, slope2).min(most),
        error: times(x.error, slope2) + own,
    }
}
