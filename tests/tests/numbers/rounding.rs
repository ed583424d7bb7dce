//! Where floating point cannot tell how a graph decides.
//!
//! Passes are exact in real numbers. Two forms of numbers that are equal there may differ in the last bit of floating point,
//! as c / d and c / d * b / b do; and a sum may be rounded to the same number as another one. Such a decision is compared with
//! nothing.

use slvr_compiler::graph::eval::walk::{lines, zip};
use slvr_compiler::graph::eval::{self, Inputs};
use slvr_compiler::graph::{Graph, NodeId, Op};
use slvr_tests::committees;

/// Larger differences are no rounding: quotients of quotients have an error of a few units of 2^-53.
const ROUNDED: f64 = 1e-13;

/// How two compared numbers are to each other.
#[derive(Clone, Copy, PartialEq)]
enum Sides {
    Apart,
    Equal,
    /// Apart by no more than rounding.
    Rounded,
}

fn sides(a: f64, b: f64) -> Sides {
    match (a - b).abs() {
        0.0 => Sides::Equal,
        gap if gap <= ROUNDED * a.abs().max(b.abs()) => Sides::Rounded,
        _ => Sides::Apart,
    }
}

/// Whether the sum of two numbers is rounded.
fn is_rounded(a: f64, b: f64) -> bool {
    let (large, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
    ((large + small) - large) - small != 0.0
}

/// Whether floating point does not tell one of the graph's decisions on these inputs.
pub fn untold(graph: &Graph, inputs: &Inputs) -> bool {
    let found = eval::real(graph, inputs, &committees(&[]), true).expect("real evaluation");
    let value = |id: NodeId| found.values[id.index()].as_ref().expect("all are kept");
    let shape = |id: NodeId| graph.shape(id).iter().map(|&n| n as usize).collect::<Vec<_>>();
    let (mut equal, mut rounded) = (false, false);
    for id in graph.ids() {
        let args = graph.args(id);
        let pairs = |a: NodeId, b: NodeId| {
            let (a_shape, b_shape, to) = (shape(a), shape(b), shape(id));
            zip((value(a), &a_shape), (value(b), &b_shape), &to, |a, b| (a, b))
        };
        let compared: Vec<Sides> = match graph.op(id) {
            Op::Lt | Op::Eq => {
                pairs(args[0], args[1]).into_iter().map(|(a, b)| sides(a, b)).collect()
            }
            Op::ArgMax | Op::ArgMaxIs | Op::Sort | Op::SortSum { .. } => {
                let (x, shape) = (value(args[0]), shape(args[0]));
                let rows = lines(&shape, shape.len() - 1);
                let all = rows.flat_map(|row| {
                    let mut row: Vec<f64> = row.map(|place| x[place]).collect();
                    row.sort_by(f64::total_cmp);
                    row.windows(2).map(|w| sides(w[0], w[1])).collect::<Vec<_>>()
                });
                all.collect()
            }
            Op::Add => {
                rounded |= pairs(args[0], args[1]).into_iter().any(|(a, b)| is_rounded(a, b));
                continue;
            }
            Op::Sub => {
                rounded |= pairs(args[0], args[1]).into_iter().any(|(a, b)| is_rounded(a, -b));
                continue;
            }
            _ => continue,
        };
        if compared.contains(&Sides::Rounded) {
            return true;
        }
        equal |= compared.contains(&Sides::Equal);
    }
    equal && rounded
}
