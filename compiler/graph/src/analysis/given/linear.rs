//! Sums, products and moved entries: what is linear in each operand.

use super::context::Context;
use super::deviation::{Deviation, Noise, Running};
use crate::analysis::view::times;
use crate::graph::eval::{EvalError, layout};
use crate::graph::{Graph, NodeId, Op};
use std::sync::Arc;

type Numbers = Arc<Vec<f64>>;

fn each(x: &[f64], f: impl Fn(f64) -> f64) -> Numbers {
    Arc::new(x.iter().map(|&x| f(x)).collect())
}

/// A node that is linear in each operand.
struct Bilinear<'a, 'r> {
    rules: &'a Context<'r>,
    id: NodeId,
    given: &'a [&'a Running],
}

impl Bilinear<'_, '_> {
    /// The node's operation with operand `i` replaced, and of every other one `f` of its values, where it is a factor.
    fn with(&self, i: usize, x: &Numbers, f: fn(f64) -> f64) -> Result<Vec<f64>, EvalError> {
        let other = |j: usize| match self.rules.view.op(self.id) {
            Op::Gather { .. } => Arc::clone(&self.given[j].value),
            _ if self.product() => each(&self.given[j].value, f),
            _ => each(&self.given[j].value, |_| 0.0),
        };
        let all: Vec<Numbers> =
            (0..self.given.len()).map(|j| if j == i { Arc::clone(x) } else { other(j) }).collect();
        let all: Vec<&Numbers> = all.iter().collect();
        let found = self.rules.apply(self.id, &all)?;
        Ok(found.iter().map(|x| x.abs()).collect())
    }

    /// What deviations of operand `i` of these sizes come to, in the worst direction.
    fn lines(&self, i: usize, x: &[f64]) -> Result<Vec<f64>, EvalError> {
        self.with(i, &each(x, |x| x), f64::abs)
    }

    /// What independent deviations of these variances come to.
    fn squares(&self, i: usize, x: &[f64]) -> Result<Vec<f64>, EvalError> {
        let c = self.rules.view.op(self.id).factor().map_or(1.0, f64::abs);
        let mut found = self.with(i, &each(x, |x| x), |x| x * x)?;
        // The factor is applied once by the operation itself.
        found.iter_mut().for_each(|x| *x *= c);
        Ok(found)
    }

    /// The noise of operand `i` as the node has it.
    fn noise(&self, i: usize, noise: &Noise, keep: bool) -> Result<Noise, EvalError> {
        let mut fresh = self.squares(i, &noise.fresh)?;
        let mut carried = self.lines(i, &noise.carried)?;
        if !keep {
            for (f, c) in fresh.iter_mut().zip(&mut carried) {
                *c = (*f + *c * *c).sqrt();
                *f = 0.0;
            }
        }
        Ok(Noise { fresh, carried, rest: self.lines(i, &noise.rest)? })
    }

    /// Deviations of all operands together; `own` is that of the node itself.
    fn deviation(&self, own: Vec<f64>) -> Result<Deviation, EvalError> {
        let mut off = Deviation { worst: own.clone(), noise: None, bound: Vec::new() };
        let noisy: Vec<usize> = (0..self.given.len())
            .filter(|&i| self.given[i].off.as_ref().is_some_and(|off| off.noise.is_some()))
            .collect();
        let mut noise = (!noisy.is_empty()).then(|| Noise::rest(own));
        let add = |to: &mut [f64], x: &[f64]| to.iter_mut().zip(x).for_each(|(a, b)| *a += b);
        let square = self.square();
        for (i, x) in self.given.iter().enumerate() {
            let Some(of) = &x.off else { continue };
            if square && i > 0 {
                // The same again: sizes double, and what is independent stays so.
                off.worst.iter_mut().zip(self.lines(i, &of.bound)?).for_each(|(w, l)| *w += l);
                if let (Some(noise), Some(own)) = (&mut noise, &of.noise) {
                    noise.fresh.iter_mut().for_each(|f| *f *= 4.0);
                    noise.carried.iter_mut().for_each(|c| *c *= 2.0);
                    add(&mut noise.rest, &self.lines(i, &own.rest)?);
                }
                continue;
            }
            let lines = self.lines(i, &of.bound)?;
            add(&mut off.worst, &lines);
            let Some(noise) = &mut noise else { continue };
            let Some(own) = &of.noise else {
                add(&mut noise.rest, &lines);
                continue;
            };
            let more = self.noise(i, own, self.keeps(i, noisy.len()))?;
            add(&mut noise.fresh, &more.fresh);
            add(&mut noise.carried, &more.carried);
            add(&mut noise.rest, &more.rest);
        }
        if let [a, b] = self.given
            && let (Some(x), Some(y)) = (&a.off, &b.off)
            && self.product()
        {
            let both = [each(&x.bound, |x| x), each(&y.bound, |x| x)];
            let both = self.rules.apply(self.id, &[&both[0], &both[1]])?;
            add(&mut off.worst, &both);
            if let Some(noise) = &mut noise {
                add(&mut noise.rest, &both);
            }
        }
        off.noise = noise;
        Ok(off)
    }

    fn product(&self) -> bool {
        matches!(self.rules.view.op(self.id), Op::Mul | Op::MatMul { .. } | Op::Conv2d { .. })
    }

    /// A value times itself, entry by entry.
    fn square(&self) -> bool {
        let args = self.rules.view.args(self.id);
        *self.rules.view.op(self.id) == Op::Mul && args[0] == args[1]
    }

    /// Whether each entry of operand `i` goes to one entry of the result only, and meets no other noise there: then
    /// what is independent stays so.
    fn keeps(&self, i: usize, noisy: usize) -> bool {
        let view = self.rules.view;
        let (op, args) = (view.op(self.id), view.args(self.id));
        let once =
            self.square() || noisy == 1 && args.iter().filter(|a| **a == args[i]).count() == 1;
        if matches!(
            op,
            Op::MatMul { .. } | Op::Conv2d { .. } | Op::Broadcast(_) | Op::Gather { .. }
        ) {
            return false;
        }
        // Summed up over disjoint sets of entries, moved to one place each, or beside entries without noise.
        let summed = matches!(op, Op::Sum(_));
        let concat = matches!(op, Op::Concat(_));
        once && (summed || concat || view.g.elements(args[i]) >= view.g.elements(self.id))
    }
}

pub(super) fn arithmetic(
    rules: &Context<'_>,
    id: NodeId,
    given: &[&Running],
    value: Numbers,
) -> Result<Running, EvalError> {
    let view = rules.view;
    let node = Bilinear { rules, id, given };
    // The sizes of what is added up, for the roundings of floating point.
    let sizes: Vec<Numbers> = given.iter().map(|x| each(&x.value, f64::abs)).collect();
    let sizes: Numbers = match (view.op(id), &sizes[..]) {
        (Op::Sub, [a, b]) => rules.apply(id, &[a, &each(b, |x| -x)])?,
        (_, [a, b]) => rules.apply(id, &[a, b])?,
        (_, [a]) => each(&rules.apply(id, &[a])?, f64::abs),
        _ => each(&value, f64::abs),
    };
    let mut own = vec![0.0; value.len()];
    if let Op::Scale(c) = view.op(id) {
        let rounded = rules.factor(id, *c);
        own.iter_mut().zip(given[0].value.iter()).for_each(|(o, v)| *o += times(rounded, v.abs()));
    }
    let mut off = node.deviation(own)?;
    for (i, worst) in off.worst.iter_mut().enumerate() {
        let float = rules.float(id, *worst == 0.0, sizes[i], view.g.terms(id) + 1);
        *worst += float;
        if let Some(noise) = &mut off.noise {
            noise.rest[i] += float;
        }
    }
    Ok(rules.made(value, off))
}

/// Entries that are moved.
pub(super) fn moved(
    rules: &Context<'_>,
    id: NodeId,
    given: &[&Running],
    value: Numbers,
) -> Result<Running, EvalError> {
    if given.iter().all(|x| x.off.is_none()) {
        return Ok(Running::exact(value));
    }
    let zeros = vec![0.0; value.len()];
    let off = Bilinear { rules, id, given }.deviation(zeros)?;
    Ok(rules.made(value, off))
}

/// The entries of two operands with how far they may be off, each for every entry of the result.
pub(super) fn pair(g: &Graph, id: NodeId, given: &[&Running]) -> [Vec<(f64, f64)>; 2] {
    [0, 1].map(|k| {
        let (x, from) = (given[k], g.arg(id, k));
        let bounds = spread(g, &x.bounds(), from, id);
        spread(g, &x.value, from, id).into_iter().zip(bounds).collect()
    })
}

/// A value's entries, each as often as an entry-by-entry operation reads it for its result.
pub(super) fn spread(g: &Graph, x: &[f64], from: NodeId, to: NodeId) -> Vec<f64> {
    let shape = |id| g.shape(id).iter().map(|&d| d as usize).collect::<Vec<usize>>();
    let (shape, to) = (shape(from), shape(to));
    if shape == to { x.to_vec() } else { layout::broadcast(x, &shape, &to) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stated::StatedErrors;
    use crate::analysis::view::View;
    use crate::graph::eval::testing::{Kind, random_graph, random_inputs, successors};
    use crate::graph::eval::{self, Inputs};

    /// Operands that are off by their bounds, in many directions: no result is off by more than is said, and one that
    /// is linear is off by as much in one of them.
    #[test]
    fn results_of_operands_that_are_off() {
        let mut seen = std::collections::BTreeMap::new();
        for seed in 0..300 {
            let g = random_graph(seed, 30, Kind::Lossless);
            let run = eval::real(&g, &random_inputs(&g, seed), &successors, true);
            let Ok(run) = run else { continue };
            let view = View::new(&g, &StatedErrors::NONE);
            let inputs = Inputs::default();
            let rules = Context::new(&view, &[], (&inputs, &successors), 0.0);
            let value = |id: NodeId| run.values[id.index()].clone().expect("values are kept");
            for id in g.ids() {
                let is_sum = |op: &Op| matches!(op, Op::Add | Op::Sub | Op::Neg | Op::Sum(_));
                let args = g.args(id);
                let product = matches!(g.op(id), Op::Mul | Op::MatMul { .. } | Op::Conv2d { .. });
                if !(product || is_sum(g.op(id))) {
                    continue;
                }
                let off = |id: NodeId, i: usize| ((id.index() * 7 + i * 3) % 5) as f64 / 4.0;
                let given: Vec<Running> = args
                    .iter()
                    .map(|&a| {
                        let worst = (0..value(a).len()).map(|i| off(a, i)).collect();
                        Running::within(value(a), worst)
                    })
                    .collect();
                let given: Vec<&Running> = given.iter().collect();
                let found = arithmetic(&rules, id, &given, value(id)).expect("a bound");
                let mut most = vec![0.0f64; value(id).len()];
                for direction in 0..8u64 {
                    // Equal operands are off alike.
                    let sign = |a: NodeId, i: usize| match direction {
                        0 => 1.0,
                        _ => {
                            ((seed ^ (a.index() as u64 + 5 * i as u64)) * direction % 3) as f64
                                - 1.0
                        }
                    };
                    let moved = args.iter().map(|&a| {
                        let at = |(i, x): (usize, &f64)| x + sign(a, i) * off(a, i);
                        Arc::new(value(a).iter().enumerate().map(at).collect::<Vec<f64>>())
                    });
                    let moved: Vec<Numbers> = moved.collect();
                    let result =
                        rules.apply(id, &moved.iter().collect::<Vec<_>>()).expect("a value");
                    for (i, (x, y)) in result.iter().zip(value(id).iter()).enumerate() {
                        most[i] = most[i].max((x - y).abs());
                        let bound = found.bound(i) * (1.0 + 1e-9) + 1e-9;
                        assert!(
                            (x - y).abs() <= bound,
                            "graph {seed}, {id:?} {:?}: {x} {y}",
                            g.op(id)
                        );
                    }
                }
                let plain = matches!(g.op(id), Op::Neg | Op::Sum(_))
                    || *g.op(id) == Op::Add && args[0] != args[1];
                for (i, most) in most.iter().enumerate().filter(|_| plain) {
                    assert!(found.bound(i) <= most + 1e-6 * (1.0 + most), "graph {seed}, {id:?}");
                }
                *seen.entry(g.op(id).name()).or_insert(0) += 1;
            }
        }
        assert!(seen.len() >= 6 && seen.values().all(|n| *n > 10), "{seen:?}");
    }
}
