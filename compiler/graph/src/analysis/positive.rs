//! Which values are positive, from the way they are computed, and how far above 0 they are.

use super::chains::follow;
use super::magnitudes::Magnitudes;
use super::signs::not_negative;
use crate::graph::{Function as Elementary, Graph, NodeId, Op, domain};

/// Whether a value is positive in real numbers.
pub fn positive(graph: &Graph, sizes: &Magnitudes, id: NodeId) -> bool {
    least(graph, sizes, id) > 0.0
}

/// No less than this is a value in real numbers, if it is known to be positive; else 0.
pub fn least(graph: &Graph, sizes: &Magnitudes, id: NodeId) -> f64 {
    follow(id, 0.0, &|id, known| lowest(graph, sizes, id, known))
}

fn lowest(g: &Graph, sizes: &Magnitudes, id: NodeId, known: &dyn Fn(NodeId) -> f64) -> f64 {
    use Op::*;
    let args = g.args(id);
    let arg = |i: usize| known(args[i]);
    let other = |i: usize| not_negative(g, args[i]);
    let two = |by: u32| f64::from(by).exp2();
    // However small, what is positive stays so.
    let if_positive = |all: &[f64], x: f64| {
        if all.iter().all(|&a| a > 0.0) { x.max(f64::MIN_POSITIVE) } else { 0.0 }
    };
    let most = |i: usize| sizes.of(g, args[i]);
    match g.op(id) {
        Const(t, ..) => t.data.iter().copied().fold(f64::INFINITY, f64::min).max(0.0),
        Add => {
            let a = arg(0);
            if a == 0.0 && !other(0) {
                return 0.0;
            }
            let b = arg(1);
            if b > 0.0 || other(1) { a + b } else { 0.0 }
        }
        Mul | Div => {
            let (a, b) = (arg(0), arg(1));
            let quotient = || (a / most(1)).min(domain::QUOTIENT_END);
            if_positive(&[a, b], if *g.op(id) == Mul { a * b } else { quotient() })
        }
        Select => arg(1).min(arg(2)),
        Function(f) => match f {
            Elementary::RecipSqrt => domain::recip_sqrt(most(0)).max(f64::MIN_POSITIVE),
            Elementary::Recip => if_positive(&[arg(0)], domain::recip(most(0))),
            Elementary::Sqrt | Elementary::Tanh => {
                let x = arg(0);
                if_positive(&[x], (f.facts().saturated)(x))
            }
            // Of one that is at most 0, the largest of a row is e^0; others may be cut to 0.
            _ => 0.0,
        },
        Abs | Relu | Max(_) | Min(_) | Sort | MaxPool { .. } => arg(0),
        Saturate(top) => arg(0).min(two(*top)),
        Sum(_) if g.terms(id) > 0 => arg(0) * g.terms(id) as f64,
        Sum(_) => 0.0,
        Concat(_) => (0..args.len()).map(arg).fold(f64::INFINITY, f64::min),
        op if op.is_layout() => arg(0),
        op => match op.factor() {
            Some(c) if c > 0.0 => {
                let x = arg(0);
                if_positive(&[x], c * x)
            }
            _ => 0.0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::guard::Entries;
    use crate::analysis::signs::not_negative_of;
    use crate::graph::eval;
    use crate::graph::eval::testing::{Kind, random_graph, random_inputs, successors};

    /// What is known of values by the way they are computed, held against values: their signs, how far above 0 they
    /// are, and how large.
    #[test]
    fn values_are_as_they_are_said_to_be() {
        let (mut signs, mut above) = (0, 0);
        for seed in 0..1000 {
            let g = random_graph(seed, 40, Kind::Real);
            let run = eval::real(&g, &random_inputs(&g, seed), &successors, true);
            let Ok(run) = run else { continue };
            let values = |id: NodeId| run.values[id.index()].as_ref().expect("values are kept");
            // Passes make such exponentials of what is at most 0, and magnitudes rest on it.
            let misused = |id: NodeId| {
                *g.op(id) == Op::Function(Elementary::ExpNonPositive)
                    && values(g.arg(id, 0)).iter().any(|v| *v > 0.0)
            };
            if g.ids().any(misused) {
                continue;
            }
            let sizes = Magnitudes::new(Entries::Declared);
            for id in g.ids() {
                let (low, high) = (least(&g, &sizes, id), sizes.of(&g, id));
                let is_sign_known = not_negative_of(&g, id, Entries::Declared);
                for &v in values(id).iter() {
                    let at = || format!("graph {seed}, {id:?} {:?}: {v}", g.op(id));
                    assert!(!is_sign_known || v >= 0.0, "{}", at());
                    assert!(low == 0.0 || v >= low * (1.0 - 1e-9), "{}, least {low}", at());
                    assert!(v.abs() <= high * (1.0 + 1e-9), "{}, most {high}", at());
                }
                (signs, above) = (signs + u32::from(is_sign_known), above + u32::from(low > 0.0));
            }
        }
        assert!(signs > 1000 && above > 100, "{signs} {above}");
    }
}
