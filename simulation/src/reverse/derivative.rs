//! The derivative of every operation: one table.

use super::order;
use super::product;
use super::value::{last, plane};
use super::walk::{View, folded, rows, strides, zip_back};
use crate::number::Number;
use slvr_compiler::graph::eval::{Run, moved};
use slvr_compiler::graph::{Function, Op};
use slvr_compiler::types::{Conv, domain};
use std::ops::Range;

/// The pattern of operations that have no derivative but 0, whatever their operands are: nothing goes back through
/// them.
macro_rules! step {
    () => {
        Op::Lt | Op::Eq | Op::Not | Op::And | Op::Xor | Op::ArgMax | Op::ArgMaxIs | Op::OneHot(_)
    };
}

pub(super) fn is_step(op: &Op) -> bool {
    matches!(op, step!())
}

/// Slots for the derivatives by the operands: `None` for an operand that needs none.
pub(super) type Slots<'a, T> = Vec<Option<&'a mut [T]>>;

/// The derivative of a function at x, where its value is y. 0 where it saturates.
pub(super) fn slope(f: Function, x: f64, y: f64) -> f64 {
    if !(f.facts().defined)(x) || y != (f.facts().real)(x) {
        return 0.0;
    }
    match f {
        Function::Exp | Function::ExpNonPositive => y,
        Function::Recip => -y * y,
        // At 0, where there is none, 0: what is a root of nothing does not move.
        Function::Sqrt => {
            if y > 0.0 {
                0.5 / y
            } else {
                0.0
            }
        }
        Function::RecipSqrt => -0.5 * y * y * y,
        Function::Log => 1.0 / x,
        Function::Tanh => 1.0 - y * y,
    }
}

/// One operation on its way backwards.
struct Pass<'a, 'v, T> {
    args: &'a [View<'v, T>],
    /// The derivative by the result, and its shape.
    dy: &'v [T],
    to: &'v [usize],
    slots: Slots<'a, T>,
}

impl<'a, T: Number> Pass<'a, '_, T> {
    fn slot(&mut self, i: usize) -> Option<&'a mut [T]> {
        self.slots.get_mut(i).and_then(Option::take)
    }

    /// Of an operation of one operand, entry by entry: the derivative times `f` of the place.
    fn each(&mut self, f: impl Fn(usize) -> T) {
        if let Some(dx) = self.slot(0) {
            dx.iter_mut().zip(self.dy).enumerate().for_each(|(i, (dx, d))| *dx += *d * f(i));
        }
    }

    /// Of an operation of two aligned operands: what `f` makes of the derivative and of both.
    fn pair(&mut self, f: impl Fn(T, T, T) -> (T, T)) {
        let slots = [self.slot(0), self.slot(1)];
        zip_back(self.args[0], self.args[1], (self.dy, self.to), slots, f);
    }

    /// Each entry of the result is the entry of the operand at one of these places.
    fn placed(&mut self, places: impl IntoIterator<Item = usize>) {
        if let Some(dx) = self.slot(0) {
            places.into_iter().zip(self.dy).for_each(|(i, d)| dx[i] += *d);
        }
    }

    fn select(&mut self) {
        let (args, by) = (self.args, (self.dy, self.to));
        let one = |c: T, d: T| if c == T::ZERO { T::ZERO } else { d };
        let two = |c: T, d: T| if c == T::ZERO { d } else { T::ZERO };
        let chosen = [None, self.slot(1)];
        zip_back(args[0], args[1], by, chosen, |d, c, _| (T::ZERO, one(c, d)));
        let other = [None, self.slot(2)];
        zip_back(args[0], args[2], by, other, |d, c, _| (T::ZERO, two(c, d)));
    }

    fn function(&mut self, f: Function) {
        let x = self.args[0].0;
        // Of the number itself, not of what its value was rounded to.
        self.each(|i| T::of(slope(f, x[i].real(), (f.facts().saturated)(x[i].real()))));
    }

    fn sum(&mut self, axes: &[u64]) {
        let (shape, dy) = (self.args[0].1, self.dy);
        if let Some(dx) = self.slot(0) {
            rows(shape, [&strides(shape), &folded(shape, axes)], |[i, o], len, [s, t]| {
                (0..len).for_each(|k| dx[i + k * s] += dy[o + k * t]);
            });
        }
    }

    fn extremum(&mut self, axis: u64, better: impl Fn(T, T) -> bool) {
        let (x, shape) = self.args[0];
        self.placed(order::extrema(x, shape, axis as usize, better));
    }

    /// The places of entries `ranks` of each row in ascending order, row by row.
    fn sorted(&self, ranks: Range<usize>) -> Vec<Vec<usize>> {
        let (x, shape) = self.args[0];
        let n = last(shape).max(1);
        let of_row = |(r, row)| {
            let places = &order::ascending(row)[ranks.clone()];
            places.iter().map(|i| r * n + i).collect()
        };
        x.chunks_exact(n).enumerate().map(of_row).collect()
    }

    fn sort_sum(&mut self, ranks: Range<usize>) {
        let rows = self.sorted(ranks);
        if let Some(dx) = self.slot(0) {
            let pairs = rows.iter().zip(self.dy);
            pairs.for_each(|(row, d)| row.iter().for_each(|&i| dx[i] += *d));
        }
    }

    fn conv2d(&mut self, conv: Conv) {
        let (x, w) = (self.args[0], self.args[1]);
        let sizes = product::Sizes::new(x.1, w.1, self.to, conv);
        let slots = [self.slot(0), self.slot(1)];
        product::conv2d_back(x.0, w.0, self.dy, sizes, slots);
    }

    fn moved(&mut self, op: &Op) {
        let dy = self.dy;
        if let Some(dx) = self.slot(0) {
            // The value exists, so every index is on its axis.
            let _ = moved(op, self.args, self.to, |run| scatter(dx, dy, run));
        }
    }

    fn concat(&mut self, axis: u64) {
        let outer: usize = self.to[..axis as usize].iter().product();
        let mut at = 0;
        let mut parts: Vec<Option<&mut [T]>> = (0..self.args.len()).map(|i| self.slot(i)).collect();
        for o in 0..outer {
            for ((x, _), dx) in self.args.iter().zip(&mut parts) {
                let inner = x.len() / outer;
                if let Some(dx) = dx {
                    let to = dx[o * inner..(o + 1) * inner].iter_mut();
                    to.zip(&self.dy[at..at + inner]).for_each(|(x, d)| *x += *d);
                }
                at += inner;
            }
        }
    }
}

/// Adds to the derivatives by the operands what follows from the derivative `dy` by the result.
pub(super) fn back<T: Number>(
    op: &Op,
    args: &[View<'_, T>],
    (dy, to): View<'_, T>,
    slots: Slots<'_, T>,
) {
    let mut pass = Pass { args, dy, to, slots };
    match op {
        // Nothing to pass on.
        Op::Input(_) | Op::Const(..) | Op::Draw(_) | Op::Pairs { .. } => {}
        Op::Places(_) | Op::Noise { .. } => {}
        step!() => {}

        Op::Add => pass.pair(|d, _, _| (d, d)),
        Op::Sub => pass.pair(|d, _, _| (d, -d)),
        Op::Mul => pass.pair(|d, a, b| (d * b, d * a)),
        // Where a quotient saturates it is constant; at a divisor of 0 it is.
        Op::Div => pass.pair(|d, a, b| {
            let q = a / b;
            let beyond = q.real().abs() >= domain::QUOTIENT_END;
            let constant = b == T::ZERO || b.real().abs() < 1.0 && beyond;
            if constant { (T::ZERO, T::ZERO) } else { (d / b, -d * q / b) }
        }),
        Op::Neg => pass.each(|_| -T::ONE),
        Op::Scale(c) => pass.each(|_| T::of(*c)),
        Op::ToInt | Op::Trunc(_) | Op::Shift(_) | Op::Saturate(_) | Op::Reshape(_) => {
            pass.each(|_| T::ONE);
        }
        Op::DivPow2(by) => pass.each(|_| T::of(f64::from(*by).exp2().recip())),
        Op::MulPow2(by) => pass.each(|_| T::of(f64::from(*by).exp2())),
        Op::Select => pass.select(),
        Op::Relu => pass.each(|i| T::bit(args[0].0[i] > T::ZERO)),
        Op::Gate => pass.pair(|d, _, sign| (d * T::bit(sign >= T::ZERO), T::ZERO)),
        Op::Abs => pass.each(|i| match args[0].0[i] {
            x if x < T::ZERO => -T::ONE,
            x => T::bit(x > T::ZERO),
        }),
        Op::Function(f) => pass.function(*f),

        Op::Sum(axes) => pass.sum(axes),
        Op::Max(axis) => pass.extremum(*axis, |x, best| x > best),
        Op::Min(axis) => pass.extremum(*axis, |x, best| x < best),
        Op::Sort => pass.placed(pass.sorted(0..last(args[0].1)).into_iter().flatten()),
        Op::SortSum { lo, hi } => pass.sort_sum(*lo as usize..*hi as usize),
        Op::MaxPool { k, stride } => {
            let window = (*k as usize, *stride as usize);
            pass.placed(order::windows(args[0].0, plane(args[0].1), plane(to), window));
        }

        Op::MatMul { trans_b } => {
            let slots = [pass.slot(0), pass.slot(1)];
            product::matmul_back(args[0], args[1], (dy, to), *trans_b, slots);
        }
        Op::Conv2d(conv) => pass.conv2d(*conv),

        Op::Transpose(_) | Op::Slice { .. } | Op::Broadcast(_) | Op::Gather { .. } => {
            pass.moved(op);
        }
        Op::Concat(axis) => pass.concat(*axis),
    }
}

/// Adds the derivative by a run of the result to that by the operand.
fn scatter<T: Copy + std::ops::AddAssign>(dx: &mut [T], dy: &[T], run: Run) {
    let Run { to, from, len, step } = run;
    match step {
        1 => {
            let pairs = dx[from..from + len].iter_mut().zip(&dy[to..to + len]);
            pairs.for_each(|(x, y)| *x += *y);
        }
        _ => (0..len).for_each(|k| dx[from + k * step] += dy[to + k]),
    }
}
