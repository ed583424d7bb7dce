//! Worst-case errors: one rule for each operation.
//!
//! A rule says all that is known of an operation's result ([`Said`]): what its error is made of, and what the program's
//! and a run's values are within. What follows for the node from all of it together is [`Known::of`].
//!
//! An exponential is off by more where it is large, and what is made of it by a sum with something
//! positive and a division only matters where it is small. So beside the one bound for all entries
//! there is a [`Line`]: a bound that grows with the value.

use super::choice::Choice;
use super::function;
use super::value::{Cause, Known, Line, Said};
use super::view::{View, times};
use crate::analysis::cuts::is_at_one;
use crate::analysis::interval::{self, Interval, size};
use crate::analysis::ranges::shares::at_most_one;
use crate::analysis::slices::Slice;
use crate::analysis::softmax::Softmax;
use crate::analysis::stated::{self, Function, LOW_END, Stated};
use crate::analysis::zeros::vanishes;
use crate::graph::{NodeId, Op, domain};

/// What is known after all rules.
pub(super) struct Proven {
    pub errors: Vec<f64>,
    pub causes: Vec<Cause>,
}

struct Rules<'a> {
    view: &'a View<'a>,
    choices: &'a [Option<Choice>],
    inputs: &'a [f64],
    /// Of each node so far, by index.
    known: Vec<Known>,
}

pub(super) fn run(
    view: &View<'_>,
    raw: &[Interval],
    inputs: &[f64],
    choices: &[Option<Choice>],
) -> Proven {
    let mut rules = Rules { view, choices, inputs, known: Vec::new() };
    for id in view.g.ids() {
        let run = interval::scaled(raw[id.index()], view.ulp(id));
        let known = Known::of(run, rules.said(id));
        rules.known.push(known);
    }
    let (errors, causes) = rules.known.into_iter().map(|k| (k.error, k.cause)).unzip();
    Proven { errors, causes }
}

const NOT_NEGATIVE: Interval = (0.0, f64::INFINITY);

impl Rules<'_> {
    fn of(&self, id: NodeId) -> &Known {
        &self.known[id.index()]
    }

    fn error(&self, id: NodeId) -> f64 {
        self.of(id).error
    }

    fn real(&self, id: NodeId) -> Interval {
        self.of(id).real
    }

    /// The rule of an operation. Where comparisons choose its result among near values, it is off as those are, however
    /// they come out.
    fn said(&self, id: NodeId) -> Said {
        let said = self.computed(id);
        match self.choices[id.index()] {
            Some(Choice::Larger { slack }) => {
                Said { cause: self.largest(slack, &self.view.args(id)[1..]), line: None, ..said }
            }
            Some(Choice::Ranked { values, entries, slack }) => {
                Said { cause: self.linear(entries * slack, values, entries), line: None, ..said }
            }
            None => said,
        }
    }

    fn computed(&self, id: NodeId) -> Said {
        let view = self.view;
        let args = view.args(id);
        let same = || self.linear(0.0, args[0], 1.0);
        match view.op(id) {
            Op::Input(i) => Cause::own(self.inputs[*i as usize]).into(),
            Op::Const(table, _, frac) => {
                Cause::own(view.table_rounding(&table.data, frac.unwrap_or(0))).into()
            }
            Op::Draw(_) | Op::Pairs { .. } | Op::Places(_) | Op::Noise { .. } => Said::exact(),
            Op::Lt | Op::Eq | Op::Not | Op::And | Op::Xor | Op::ToInt => Said::exact(),
            Op::ArgMax | Op::OneHot(_) | Op::ArgMaxIs => Said::exact(),
            Op::Add => self.sum(args[0], args[1]),
            Op::Sub => self.difference(args[0], args[1]),
            Op::Mul => self.product(id, args[0], args[1]),
            Op::MatMul { .. } | Op::Conv2d { .. } => self.products(id, args[0], args[1]).into(),
            Op::Sum(_) => self.summed(id, args[0]),
            Op::SortSum { lo, hi } => self.linear(0.0, args[0], (hi - lo) as f64).into(),
            Op::Scale(c) => self.scaled(id, args[0], *c),
            Op::Trunc(_) => self.multiplied(id, view.truncation(id)),
            Op::Neg | Op::DivPow2(_) | Op::MulPow2(_) => self.multiplied(id, 0.0),
            Op::Shift(_) => Said { run: Some(self.of(args[0]).run), ..self.multiplied(id, 0.0) },
            // The exact value is within the cut, so it comes no farther from it, and both are within 1.
            op if is_at_one(op) && self.error(args[0]) >= 2.0 => Cause::own(2.0).into(),
            // Where the program's value is within the cut, a run's comes no farther from it; the others are listed, or
            // nobody asks for their value ([`cuts`](crate::analysis::cuts)).
            Op::Saturate(_) => same().into(),
            Op::Select => self.selected(id, &args[1..]),
            Op::Concat(_) => self.largest(0.0, args).into(),
            // A gate's own sign that comes out otherwise is that of a number near zero; another one is a decision.
            Op::Gate => {
                let program = match view.g.gates_itself(id) {
                    true => NOT_NEGATIVE,
                    false => interval::hull(self.real(args[0]), (0.0, 0.0)),
                };
                Said { program: Some(program), ..self.largest(0.0, args).into() }
            }
            Op::Relu | Op::Abs => Said { program: Some(NOT_NEGATIVE), ..same().into() },
            Op::Max(_) | Op::Min(_) | Op::Sort | Op::MaxPool { .. } => same().into(),
            Op::Slice { .. } => {
                let part =
                    Slice::of(view.g, id).and_then(|part| part.interval(false, |x| self.real(x)));
                let moved = self.moved(args[0]);
                Said { program: part.or(moved.program), ..moved }
            }
            Op::Reshape(_) | Op::Transpose(_) => self.moved(args[0]),
            Op::Broadcast(_) | Op::Gather { .. } => self.moved(args[0]),
            Op::Function(f) => self.function(id, *f, args[0]),
            Op::Div => self.quotient(id, args[0], args[1]),
        }
    }

    /// `own` and c times an operand's error.
    fn linear(&self, own: f64, x: NodeId, c: f64) -> Cause {
        Cause { own, parts: vec![(x, times(self.error(x), c))] }
    }

    /// The larger of the operands' errors.
    fn largest(&self, own: f64, args: &[NodeId]) -> Cause {
        let worst = args.iter().copied().fold(None, |best: Option<NodeId>, x| match best {
            Some(b) if self.error(b) >= self.error(x) => Some(b),
            _ => Some(x),
        });
        worst.map_or(Cause::own(own), |x| self.linear(own, x, 1.0))
    }

    /// a b - a' b' = a (b - b') + b' (a - a'), for each term.
    fn products(&self, id: NodeId, a: NodeId, b: NodeId) -> Cause {
        let terms = self.view.g.terms(id) as f64;
        let (ea, eb) = (self.error(a), self.error(b));
        let (va, vb) = (self.of(a), self.of(b));
        // Either side may be the program's.
        let one = (times(ea, size(vb.real)), times(eb, size(va.run)));
        let other = (times(ea, size(vb.run)), times(eb, size(va.real)));
        let (pa, pb) = if one.0 + one.1 <= other.0 + other.1 { one } else { other };
        Cause { own: 0.0, parts: vec![(a, times(pa, terms)), (b, times(pb, terms))] }
    }

    /// Entries of an operand, in other places.
    fn moved(&self, x: NodeId) -> Said {
        let Known { real, run, line, .. } = self.of(x);
        let cause = self.linear(0.0, x, 1.0);
        Said { cause, line: Some(*line), program: Some(*real), run: Some(*run) }
    }

    fn sum(&self, x: NodeId, y: NodeId) -> Said {
        let (a, b) = (self.of(x), self.of(y));
        let not_negative = a.real.0 >= 0.0 && b.real.0 >= 0.0;
        let line = not_negative.then(|| Line {
            fixed: a.line.fixed + b.line.fixed,
            relative: a.line.relative.max(b.line.relative),
        });
        let cause = Cause { own: 0.0, parts: vec![(x, a.error), (y, b.error)] };
        Said { line, program: Some(interval::sum(a.real, b.real)), ..cause.into() }
    }

    fn difference(&self, x: NodeId, y: NodeId) -> Said {
        let (a, b) = (self.of(x), self.of(y));
        let program = if self.view.relu_of(y, x).is_some() {
            // x - max(x, 0) = min(x, 0).
            Some((a.real.0.min(0.0), a.real.1.min(0.0)))
        } else {
            self.view.reals.then(|| interval::sum(a.real, interval::negated(b.real)))
        };
        Said { program, ..Cause { own: 0.0, parts: vec![(x, a.error), (y, b.error)] }.into() }
    }

    fn product(&self, id: NodeId, x: NodeId, y: NodeId) -> Said {
        let (a, b) = (self.of(x).line, self.of(y).line);
        let (va, vb) = (self.real(x), self.real(y));
        let fixed = times(size(va), b.fixed * (1.0 + a.relative))
            + times(size(vb), a.fixed * (1.0 + b.relative))
            + times(a.fixed, b.fixed);
        let relative = a.relative + b.relative + a.relative * b.relative;
        // In real numbers nothing is added to a product.
        let program = self.view.reals.then(|| interval::product(va, vb));
        let line = Some(Line { fixed, relative });
        Said { line, program, ..self.products(id, x, y).into() }
    }

    fn summed(&self, id: NodeId, x: NodeId) -> Said {
        let (view, of) = (self.view, self.of(x));
        let terms = view.g.terms(id) as f64;
        let line = (of.real.0 >= 0.0).then_some(Line { fixed: of.line.fixed * terms, ..of.line });
        // One exponential is near 1, whichever was chosen as the largest, and none is negative; in the program it is 1.
        let least = Softmax::of(view.g, id, false).map(|softmax| softmax.least(view, LOW_END));
        let program = match least {
            Some(_) => (1.0, terms),
            None => interval::scaled(of.real, terms),
        };
        let run = least.map(|least| (least, f64::INFINITY));
        Said { cause: self.linear(0.0, x, terms), line, program: Some(program), run }
    }

    /// What multiplies its operand by a number and rounds, which adds `own`.
    fn multiplied(&self, id: NodeId, own: f64) -> Said {
        let (op, x) = (self.view.op(id), self.view.args(id)[0]);
        let factor = op.factor().unwrap_or(1.0);
        let program = interval::scaled(self.real(x), factor);
        let line = self.of(x).line;
        let line = Line { fixed: line.fixed * factor.abs() + own, ..line };
        let cause = self.linear(own, x, factor.abs());
        Said { line: Some(line), program: Some(program), ..cause.into() }
    }

    /// The factor itself is rounded.
    fn scaled(&self, id: NodeId, x: NodeId, c: f64) -> Said {
        let (rounding, of) = (self.view.factor_rounding(id, c), self.of(x));
        let mut said = self.multiplied(id, times(rounding, size(of.real)));
        if of.line.relative > 0.0 {
            // The program's factor may be smaller than this one by as much, which is 2^-16 of it: less than a
            // thousandth on top holds of the quotient by either.
            let rounded = 1.001 * times(rounding, 1.0 / c.abs());
            let relative = of.line.relative + rounded * (1.0 + of.line.relative);
            said.line = Some(Line { fixed: of.line.fixed * c.abs(), relative });
        }
        said.program = said.program.filter(|_| self.view.reals);
        said
    }

    /// One of two values, which is not known to be the nearer one.
    fn selected(&self, id: NodeId, sides: &[NodeId]) -> Said {
        let view = self.view;
        // A declared range of what a loop carries, which the program keeps as a run does.
        let kept = view.g.site(id).keeps().map(|(_, range)| range);
        let program = kept.or_else(|| {
            let found = view.g.selection(id)?;
            let [a, b] = found.less.map(|i| self.real(i));
            if found.is_larger() {
                return Some((a.0.max(b.0), a.1.max(b.1)));
            }
            found.is_smaller().then(|| (a.0.min(b.0), a.1.min(b.1)))
        });
        // In real numbers both values are the program's, which keeps them in a declared range.
        let run = kept.filter(|_| view.reals);
        Said { program, run, ..self.largest(0.0, sides).into() }
    }

    /// What exponentials are off by at the lower end of their domain, of an operand with the error `off`. In real numbers, too, it is on the other side
    /// of the lower end of their domain only if it is off.
    fn low_end(&self, off: f64) -> f64 {
        if self.view.reals && off == 0.0 { 0.0 } else { LOW_END }
    }

    fn function(&self, id: NodeId, function: Function, x: NodeId) -> Said {
        let (view, of) = (self.view, self.of(x));
        let low_end = stated::low_end(function).min(self.low_end(of.error));
        let effect = function::one((function, view.stated.of(function), low_end), view.ulp(id), of);
        let cause = match (function, Softmax::of(view.g, x, false)) {
            (Function::Recip, Some(of)) => self.largest_softmax(id, &of, effect),
            _ => Cause { own: effect.own, parts: vec![(x, effect.passed)] },
        };
        let said = Said::from(cause);
        match function {
            Function::Exp | Function::ExpNonPositive => {
                let most = if function == Function::Exp { f64::INFINITY } else { 1.0 };
                let line = Some(self.growing(id, of.error));
                Said { line, program: Some((0.0, most)), ..said }
            }
            Function::Sqrt => Said { program: Some(NOT_NEGATIVE), ..said },
            Function::Recip => {
                let (lo, _) = of.real;
                // An end of -0 is no other than 0.
                let program =
                    (lo >= 0.0).then_some((0.0, (1.0 / lo.abs()).min(domain::QUOTIENT_END)));
                let run = interval::quotient((1.0, 1.0), of.run);
                Said { program, run: run.map(|run| self.wide(id, run)), ..said }
            }
            Function::RecipSqrt => {
                let of = [of.real, of.run].map(|(lo, hi)| (function.facts().interval)(lo, hi));
                Said { program: Some(of[0]), run: Some(self.wide(id, of[1])), ..said }
            }
            Function::Log | Function::Tanh => said,
        }
    }

    /// e^(x + d) - e^x = e^x (e^d - 1); the relative error of the macro is of the run's value.
    fn growing(&self, id: NodeId, off: f64) -> Line {
        let view = self.view;
        let growth = off.exp_m1();
        let (any, small) =
            (view.stated.of(Function::Exp), view.stated.of(Function::ExpNonPositive));
        let relative = any.relative.max(small.relative);
        Line {
            fixed: (any.units.max(small.units) + self.low_end(off)) * view.ulp(id),
            relative: growth + times(1.0 + growth, relative),
        }
    }

    /// 1 / sum e^(c (z - max z)), the largest entry p of a softmax: its gradient has entries c p (1 - p) and
    /// -c p q with q the others', 2 c p (1 - p) <= c/2 in all. What the exponentials are off by themselves is
    /// divided by the sum's square, which is at least 1 but for a few units.
    fn largest_softmax(
        &self,
        id: NodeId,
        &Softmax { exp, z, factor, .. }: &Softmax,
        effect: function::Effect,
    ) -> Cause {
        let view = self.view;
        let x = view.args(exp)[0];
        let terms = view.g.elements(exp) / view.g.elements(view.args(id)[0]).max(1);
        // What rounding adds to c (z - max z).
        let rounding = (self.error(x) - 2.0 * times(self.error(z), factor)).max(0.0);
        // Twice what is stated is more than it and what is cut; no exponential is above 1, so that its relative error is
        // at most as much.
        let stated = view.stated.of(Function::ExpNonPositive);
        let units = 2.0 * stated.units.max(self.low_end(self.error(x)));
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

    fn quotient(&self, id: NodeId, x: NodeId, y: NodeId) -> Said {
        let (view, a, b) = (self.view, self.of(x), self.of(y));
        let by_zero = !vanishes(view.g, x, y);
        let effect = function::quotient(view.stated, view.ulp(id), a, b, view.ulp(y), by_zero);
        let parts = vec![(x, effect.passed), (y, effect.passed_divisor)];
        let cause = Cause { own: effect.own, parts };
        let run = interval::quotient(a.run, b.run).map(|run| self.wide(id, run));
        Said { program: self.quotients(x, y), run, ..cause.into() }
    }

    /// The program's quotients.
    fn quotients(&self, x: NodeId, y: NodeId) -> Option<Interval> {
        let (a, b) = (self.real(x), self.real(y));
        // What a divisor is made of is the same in real numbers.
        let not_negative = a.0 >= 0.0 && b.0 >= 0.0;
        let sign = |id: NodeId| self.real(id).0 >= 0.0;
        if a.0 >= 0.0 && at_most_one(self.view, x, y, &sign) {
            return Some((0.0, 1.0));
        }
        let end = domain::largest_quotient(size(a));
        let cut = if not_negative { NOT_NEGATIVE } else { (-end, end) };
        interval::quotient(a, b).or_else(|| (not_negative || self.view.reals).then_some(cut))
    }

    /// A run's quotients, by those of its operands: protocols are off by less, as these are twice and four times what
    /// they state.
    fn wide(&self, id: NodeId, run: Interval) -> Interval {
        let (recip, div) = (self.view.stated.of(Function::Recip), self.view.stated.div);
        let (units, relative) =
            (2.0 * recip.units.max(div.units), 4.0 * recip.relative.max(div.relative));
        let ulp = self.view.ulp(id);
        interval::scaled(Stated { units, relative }.around(interval::scaled(run, 1.0 / ulp)), ulp)
    }
}
