//! Worst-case errors: one rule for each operation.
//!
//! An exponential is off by more where it is large, and what is made of it by a sum with something
//! positive and a division only matters where it is small. So beside the one bound for all entries
//! there is a [`Line`]: a bound that grows with the value.

use super::choice::Choice;
use super::function;
use super::value::{Cause, Line, Values};
use super::view::{View, times};
use crate::analysis::interval::{self, Interval, UNBOUNDED, enlarged, meet, size};
use crate::analysis::ranges::shares::{at_most_one, column};
use crate::analysis::softmax::{Softmax, has_largest, softmax_of};
use crate::analysis::stated::{self, CUT, Function};
use crate::analysis::zeros::vanishes;
use crate::graph::{AT_ONE, NodeId, Op, domain};

/// What is known after all rules.
pub(super) struct Proven {
    pub errors: Vec<f64>,
    pub causes: Vec<Cause>,
    lines: Vec<Line>,
    /// Intervals of the values of the program and of a run, in real units.
    pub values: Vec<Values>,
}

struct Rules<'a> {
    view: &'a View<'a>,
    choices: &'a [Option<Choice>],
    inputs: &'a [f64],
    all: Proven,
}

pub(super) fn run(
    view: &View<'_>,
    raw: &[Interval],
    inputs: &[f64],
    choices: &[Option<Choice>],
) -> Proven {
    let all =
        Proven { errors: Vec::new(), causes: Vec::new(), lines: Vec::new(), values: Vec::new() };
    let mut rules = Rules { view, choices, inputs, all };
    for id in view.g.ids() {
        let ulp = view.ulp(id);
        let run = raw.get(id.index()).copied().unwrap_or(UNBOUNDED);
        let mut run = interval::scaled(run, ulp);
        if let Some(known) = rules.run_interval(id) {
            run = meet(run, known);
        }
        let mut cause = rules.cause(id);
        // What it adds at any value, also where no two values are as far apart.
        let own = cause.own;
        let mut error = cause.total();
        let mut real = (run.0 - error, run.1 + error);
        if let Some(known) = rules.program_interval(id) {
            real = meet(real, known);
            // Two intervals: no two of their values are further apart than this.
            let apart = (run.1 - known.0).max(known.1 - run.0);
            if apart < error {
                cause = cause.shrunk(apart);
                error = apart;
            }
        }
        let mut line = rules.line(id, own).filter(|l| l.fixed <= error);
        if let Some(l) = line {
            let most = l.fixed + times(l.relative, size(real));
            // No better anywhere than the bound for all.
            line = (l.relative > 0.0).then_some(l);
            error = error.min(enlarged(most));
        }
        let run = meet(run, (real.0 - error, real.1 + error));
        rules.all.lines.push(line.unwrap_or(Line::flat(error)));
        rules.all.errors.push(error);
        rules.all.causes.push(cause);
        rules.all.values.push(Values { real, run });
    }
    rules.all
}

impl Rules<'_> {
    fn error(&self, id: NodeId) -> f64 {
        self.all.errors[id.index()]
    }

    fn of_line(&self, id: NodeId) -> Line {
        self.all.lines[id.index()]
    }

    /// A bound that grows with the value, for what is made of exponentials.
    fn line(&self, id: NodeId, own: f64) -> Option<Line> {
        let view = self.view;
        let args = view.args(id);
        let of = |i: usize| self.of_line(args[i]);
        let positive = |i: usize| self.values(args[i]).real.0 >= 0.0;
        if self.choices[id.index()].is_some() {
            return None;
        }
        Some(match view.op(id) {
            // e^(x + d) - e^x = e^x (e^d - 1); the relative error of the macro is of the run's value.
            Op::Function(Function::Exp | Function::ExpNonPositive) => {
                let off = self.error(args[0]);
                let growth = off.exp_m1();
                let (any, small) =
                    (view.stated.of(Function::Exp), view.stated.of(Function::ExpNonPositive));
                let relative = any.relative.max(small.relative);
                Line {
                    fixed: (any.units.max(small.units) + self.cut(off)) * view.ulp(id),
                    relative: growth + times(1.0 + growth, relative),
                }
            }
            op if op.is_layout() => of(0),
            Op::Scale(c) if of(0).relative > 0.0 => {
                // The program's factor may be smaller than this one by as much, which is 2^-16 of it: less than a
                // thousandth on top holds of the quotient by either.
                let rounded = 1.001 * times(view.factor_rounding(id, *c), 1.0 / c.abs());
                let relative = of(0).relative + rounded * (1.0 + of(0).relative);
                Line { fixed: of(0).fixed * c.abs(), relative }
            }
            Op::Add if positive(0) && positive(1) => Line {
                fixed: of(0).fixed + of(1).fixed,
                relative: of(0).relative.max(of(1).relative),
            },
            Op::Sum(_) if positive(0) => {
                let terms = view.g.elements(args[0]) / view.g.elements(id).max(1);
                Line { fixed: of(0).fixed * terms as f64, ..of(0) }
            }
            Op::Mul => {
                let (a, b) = (of(0), of(1));
                let (va, vb) = (self.values(args[0]).real, self.values(args[1]).real);
                let fixed = times(size(va), b.fixed * (1.0 + a.relative))
                    + times(size(vb), a.fixed * (1.0 + b.relative))
                    + times(a.fixed, b.fixed);
                Line { fixed, relative: a.relative + b.relative + a.relative * b.relative }
            }
            op => {
                let factor = op.factor()?.abs();
                Line { fixed: of(0).fixed * factor + own, ..of(0) }
            }
        })
    }

    /// What exponentials are cut by, of an operand with the error `off`. In real numbers, too, it is on the other side
    /// of the lower end of their domain only if it is off.
    fn cut(&self, off: f64) -> f64 {
        if self.view.reals && off == 0.0 { 0.0 } else { CUT }
    }

    fn values(&self, id: NodeId) -> Values {
        self.all.values[id.index()]
    }

    /// `own` and c times an operand's error.
    fn linear(&self, own: f64, x: NodeId, c: f64) -> Cause {
        Cause { own, parts: vec![(x, times(self.error(x), c))] }
    }

    /// 1 / sum e^(c (z - max z)), the largest entry p of a softmax: its gradient has entries c p (1 - p) and
    /// -c p q with q the others', 2 c p (1 - p) <= c/2 in all. What the exponentials are off by themselves is
    /// divided by the sum's square, which is at least 1 but for a few units.
    fn largest_softmax(
        &self,
        id: NodeId,
        Softmax { exp, x, z, factor }: Softmax,
        effect: function::Effect,
    ) -> Cause {
        let view = self.view;
        let terms = view.g.elements(exp) / view.g.elements(view.args(id)[0]).max(1);
        // What rounding adds to c (z - max z).
        let rounding = (self.error(x) - 2.0 * times(self.error(z), factor)).max(0.0);
        // Twice what is stated is more than it and what is cut; no exponential is above 1, so that its relative error is
        // at most as much.
        let stated = view.stated.of(Function::ExpNonPositive);
        let units = 2.0 * stated.units.max(self.cut(self.error(x)));
        let exponentials = (units * view.ulp(exp) + stated.relative + rounding) * terms as f64;
        // The sum is at least 1 less a few units, and so its square above 1 / 1.01.
        let own = effect.own + 1.01 * exponentials;
        let by_slope = times(self.error(z), factor) / 2.0;
        if own + by_slope < effect.own + effect.passed {
            Cause { own, parts: vec![(z, by_slope)] }
        } else {
            Cause { own: effect.own, parts: vec![(view.args(id)[0], effect.passed)] }
        }
    }

    /// The larger of the operands' errors.
    fn largest(&self, own: f64, args: &[NodeId]) -> Cause {
        let worst = args.iter().copied().fold(None, |best: Option<NodeId>, x| match best {
            Some(b) if self.error(b) >= self.error(x) => Some(b),
            _ => Some(x),
        });
        worst.map_or(Cause::own(own), |x| self.linear(own, x, 1.0))
    }

    /// a b - a' b' = a (b - b') + b' (a - a') for `terms` terms.
    fn product(&self, a: NodeId, b: NodeId, terms: f64) -> Cause {
        let (ea, eb) = (self.error(a), self.error(b));
        let (va, vb) = (self.values(a), self.values(b));
        // Either side may be the program's.
        let one = (times(ea, size(vb.real)), times(eb, size(va.run)));
        let other = (times(ea, size(vb.run)), times(eb, size(va.real)));
        let (pa, pb) = if one.0 + one.1 <= other.0 + other.1 { one } else { other };
        Cause { own: 0.0, parts: vec![(a, times(pa, terms)), (b, times(pb, terms))] }
    }

    fn cause(&self, id: NodeId) -> Cause {
        match self.choices[id.index()] {
            Some(Choice::Larger { slack }) => self.largest(slack, &self.view.args(id)[1..]),
            Some(Choice::Ranked { values, entries, slack }) => {
                self.linear(entries * slack, values, entries)
            }
            None => self.computed(id),
        }
    }

    /// The same of a value that no comparison chooses.
    fn computed(&self, id: NodeId) -> Cause {
        let view = self.view;
        let args = view.args(id);
        match view.op(id) {
            Op::Input(i) => {
                let own = if view.whole(id) { 0.0 } else { view.ulp(id) / 2.0 };
                Cause::own(self.inputs.get(*i as usize).copied().unwrap_or(own))
            }
            Op::Const(table, _, frac) => {
                Cause::own(view.table_rounding(&table.data, frac.unwrap_or(0)))
            }
            Op::Draw(_) | Op::Pairs { .. } | Op::Places(_) | Op::Noise { .. } => Cause::own(0.0),
            Op::Add | Op::Sub => {
                let parts = args.iter().map(|&a| (a, self.error(a))).collect();
                Cause { own: 0.0, parts }
            }
            Op::Scale(c) => {
                let most = size(self.values(args[0]).real);
                self.linear(times(view.factor_rounding(id, *c), most), args[0], c.abs())
            }
            Op::Mul => self.product(args[0], args[1], 1.0),
            Op::MatMul { .. } => {
                let terms = view.shape(args[0]).last().map_or(1.0, |&k| k as f64);
                self.product(args[0], args[1], terms)
            }
            Op::Conv2d { .. } => {
                let terms: u64 = view.shape(args[1]).iter().skip(2).product();
                self.product(args[0], args[1], terms as f64)
            }
            Op::Sum(axes) => {
                let shape = view.shape(args[0]);
                let terms: u64 = axes.iter().map(|&d| shape[d as usize]).product();
                self.linear(0.0, args[0], terms as f64)
            }
            Op::SortSum { lo, hi } => self.linear(0.0, args[0], (hi - lo) as f64),
            Op::Trunc(_) => self.linear(view.truncation(id), args[0], 1.0),
            // The exact value is within the cut, so it comes no farther from it, and both are within 1.
            Op::Saturate(AT_ONE) if self.error(args[0]) >= 2.0 => Cause::own(2.0),
            // Where the program's value is within the cut, a run's comes no farther from it; the others are listed
            // ([`cuts`](crate::analysis::cuts)).
            Op::Saturate(_) => self.linear(0.0, args[0], 1.0),
            Op::Select => self.largest(0.0, &args[1..]),
            // A gate's sign that comes out otherwise is that of a number near zero.
            Op::Concat(_) | Op::Gate => self.largest(0.0, args),
            op @ (Op::Neg | Op::Shift(_) | Op::DivPow2(_) | Op::MulPow2(_)) => {
                self.linear(0.0, args[0], op.factor().map_or(1.0, f64::abs))
            }
            Op::Relu
            | Op::Abs
            | Op::Max(_)
            | Op::Min(_)
            | Op::Sort
            | Op::MaxPool { .. }
            | Op::Reshape(_)
            | Op::Transpose(_)
            | Op::Slice { .. }
            | Op::Broadcast(_)
            | Op::Gather { .. } => self.linear(0.0, args[0], 1.0),
            Op::Lt
            | Op::Eq
            | Op::Not
            | Op::And
            | Op::Xor
            | Op::ToInt
            | Op::ArgMax
            | Op::OneHot(_)
            | Op::ArgMaxIs => Cause::own(0.0),
            Op::Function(f) => self.function(id, *f),
            Op::Div => self.quotient(id, args[0], args[1]),
        }
    }

    fn quotient(&self, id: NodeId, x: NodeId, y: NodeId) -> Cause {
        let view = self.view;
        let effect = function::quotient(
            view.stated,
            view.ulp(id),
            (self.values(x), self.error(x), self.of_line(x)),
            (self.values(y), self.error(y), self.of_line(y)),
            view.ulp(y),
            !vanishes(view.g, x, y),
        );
        Cause { own: effect.own, parts: vec![(x, effect.passed), (y, effect.passed_divisor)] }
    }

    fn function(&self, id: NodeId, function: Function) -> Cause {
        let (view, x) = (self.view, self.view.args(id)[0]);
        let operand = (self.values(x), self.error(x), self.of_line(x));
        let cut = stated::cut(function).min(self.cut(self.error(x)));
        let effect =
            function::one((function, view.stated.of(function), cut), view.ulp(id), operand);
        if let (Function::Recip, Some(of)) = (function, softmax_of(view, x)) {
            return self.largest_softmax(id, of, effect);
        }
        Cause { own: effect.own, parts: vec![(x, effect.passed)] }
    }

    /// What a run's values are known to be within, beside their given interval.
    fn run_interval(&self, id: NodeId) -> Option<Interval> {
        let view = self.view;
        let args = view.args(id);
        // Protocols are off by less: these are twice and four times what they state.
        let wide = |(lo, hi): Interval| {
            let (recip, div) = (view.stated.of(Function::Recip), view.stated.div);
            let relative = 4.0 * recip.relative.max(div.relative);
            let units = 2.0 * recip.units.max(div.units);
            let slack = |x: f64| units * view.ulp(id) + times(x.abs(), relative);
            (lo - slack(lo), hi + slack(hi))
        };
        match view.op(id) {
            // In real numbers both values are the program's, which keeps them in a declared range.
            Op::Select if view.reals => view.g.site(id).keeps().map(|(_, range)| range),
            // The maximum is one of the entries up to a few truncations, whichever was chosen: so one
            // exponential is near 1, and none is negative.
            Op::Sum(axes) => {
                let truncations = has_largest(view, args[0], axes)?;
                let stated = view.stated.of(Function::ExpNonPositive);
                let off = stated.units + CUT + truncations * view.stated.truncation;
                Some((1.0 - stated.relative - off * view.ulp(id), f64::INFINITY))
            }
            Op::Function(Function::Recip) => {
                let run = self.values(args[0]).run;
                interval::quotient((1.0, 1.0), run).map(wide)
            }
            Op::Div => {
                let [x, y] = [0, 1].map(|i| self.values(args[i]).run);
                interval::quotient(x, y).map(wide)
            }
            op if op.is_layout() || matches!(op, Op::Shift(_)) => Some(self.values(args[0]).run),
            _ => None,
        }
    }

    /// The larger or the smaller of two values of the program.
    fn chosen_interval(&self, id: NodeId) -> Option<Interval> {
        let found = self.view.g.selection(id)?;
        let [a, b] = found.less.map(|i| self.values(i).real);
        if found.is_larger() {
            return Some((a.0.max(b.0), a.1.max(b.1)));
        }
        found.is_smaller().then(|| (a.0.min(b.0), a.1.min(b.1)))
    }

    /// What the program's values are known to be within, whatever the intervals of operands.
    fn program_interval(&self, id: NodeId) -> Option<Interval> {
        let view = self.view;
        let args = view.args(id);
        let real = |i: usize| self.values(args[i]).real;
        let terms = || (view.g.elements(args[0]) / view.g.elements(id).max(1)) as f64;
        match view.op(id) {
            Op::Function(Function::ExpNonPositive) => Some((0.0, 1.0)),
            Op::Function(Function::Exp | Function::Sqrt) => Some((0.0, f64::INFINITY)),
            Op::Gate | Op::Relu | Op::Abs => Some((0.0, f64::INFINITY)),
            // A declared range of what a loop carries, which the program keeps as a run does.
            Op::Select => {
                let kept = view.g.site(id).keeps().map(|(_, range)| range);
                kept.or_else(|| self.chosen_interval(id))
            }
            // A column of what is side by side, as of the two that the smaller or the larger is taken of.
            Op::Slice { axis, start, len: 1, .. } => {
                let joined = args[0];
                let negated = *view.op(joined) == Op::Neg;
                let inner = if negated { view.args(joined)[0] } else { joined };
                match column(view, inner, (*axis, *start)).map(|part| self.values(part).real) {
                    Some((lo, hi)) if negated => Some((-hi, -lo)),
                    Some(part) => Some(part),
                    None => Some(self.values(joined).real),
                }
            }
            // The largest term is e^0.
            Op::Sum(axes) if has_largest(view, args[0], axes).is_some() => Some((1.0, terms())),
            Op::Function(Function::Recip) => {
                let (lo, _) = real(0);
                let end = f64::from(domain::QUOTIENT_TOP).exp2();
                // An end of -0 is no other than 0.
                (lo >= 0.0).then_some((0.0, (1.0 / lo.abs()).min(end)))
            }
            Op::Div => {
                let (x, y) = (real(0), real(1));
                // What a divisor is made of is the same in real numbers.
                let positive = x.0 >= 0.0 && y.0 >= 0.0;
                let sign = |id: NodeId| self.values(id).real.0 >= 0.0;
                if x.0 >= 0.0 && at_most_one(view, args[0], args[1], &sign) {
                    return Some((0.0, 1.0));
                }
                let end = f64::from(domain::QUOTIENT_TOP).exp2().max(size(x));
                let cut = if positive { (0.0, f64::INFINITY) } else { (-end, end) };
                interval::quotient(x, y).or_else(|| (positive || view.reals).then_some(cut))
            }
            // In real numbers nothing is added to a product.
            Op::Mul if view.reals => Some(interval::product(real(0), real(1))),
            Op::Scale(_) if !view.reals => None,
            Op::Sub if view.relu_of(args[1], args[0]).is_some() => {
                let (lo, hi) = real(0);
                Some((lo.min(0.0), hi.min(0.0)))
            }
            Op::Sub if view.reals => Some(interval::sum(real(0), interval::negated(real(1)))),
            Op::Sum(_) => Some(interval::scaled(real(0), terms())),
            Op::Add => Some(interval::sum(real(0), real(1))),
            op if op.is_layout() => Some(real(0)),
            op => {
                let factor = op.factor()?;
                let (a, b) = interval::scaled(real(0), factor);
                Some(interval::between(a, b))
            }
        }
    }
}
