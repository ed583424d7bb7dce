//! Constant folding and identities.
//!
//! Before: any graph without scales. After: no operation has only constant operands (tables up to
//! [`LIMIT`] entries), and none is an identity (reshape to the same shape, scale by one) or undoes
//! its operand (two negations in a row). A choice by a table with few changes is a list of runs (`runs`).
//!
//! ```text
//! %1 = const 2.0 ; %2 = neg %1      ->   %2 = const -2.0
//! %4 = scale 0.5 %3 ; %5 = scale 2.0 %4   ->   %3
//! ```

use super::promise::{Kept, none};
use super::runs;
use crate::analysis::layout::aligned;
use crate::graph::{Graph, NodeId, Op, Table};
use slvr_language::types::number::{self, product};
use slvr_language::types::{Elem, domain};

/// Larger tables are left to the run.
const LIMIT: u64 = 1 << 16;

pub(super) fn run(graph: &Graph) -> Graph {
    graph.replace(|new, id, args| {
        let node = graph.node(id);
        match folded(new, &node.op, args) {
            Some((table, elem)) => Some(new.add(Op::Const(table, elem, None), &[], node.site)),
            // What has no value in the reals (1 / 0) is left to the run.
            None => simplify(new, &node.op, args, node.site),
        }
    })
}

pub(super) fn after(g: &Graph) -> Kept {
    none(g, "is an operation on tables only", |id| {
        let op = g.op(id);
        op.is_pointwise() && folded(g, op, g.args(id)).is_some()
    })?;
    none(g, "is an identity, or undoes its operand", |id| match (g.op(id), g.args(id).first()) {
        (Op::Reshape(to) | Op::Broadcast(to), Some(&x)) => *to == g.shape(x),
        (Op::Scale(c), Some(&x)) => {
            *c == 1.0 || matches!(g.op(x), Op::Scale(d) if product(*c, *d).is_some())
        }
        (op @ (Op::Not | Op::Neg), Some(&x)) => g.op(x) == op,
        _ => false,
    })
}

fn table(g: &Graph, id: NodeId) -> Option<(&Table, Elem)> {
    match g.op(id) {
        Op::Const(t, e, None) => Some((t, *e)),
        _ => None,
    }
}

/// The value of an operation on tables, if the run could hold each entry. A product that would
/// overflow or become 0 is left as it is, for the check of constants to judge.
fn folded(g: &Graph, op: &Op, args: &[NodeId]) -> Option<(Table, Elem)> {
    let (value, elem) = constant(g, op, args)?;
    let nonzero =
        |&id: &NodeId| table(g, id).is_some_and(|(t, _)| t.data.iter().all(|&x| x != 0.0));
    let vanishes = matches!(op, Op::Mul | Op::Div | Op::Scale(_))
        && *op != Op::Scale(0.0)
        && args.iter().all(nonzero);
    let kept = |&x: &f64| {
        number::held(x).is_ok()
            && !(vanishes && x == 0.0)
            // Beyond, an integer would be rounded.
            && (elem != Elem::Int || x.abs() <= number::WHOLE)
    };
    value.data.iter().all(kept).then_some((value, elem))
}

fn constant(g: &Graph, op: &Op, args: &[NodeId]) -> Option<(Table, Elem)> {
    let (a, elem) = table(g, *args.first()?)?;
    let map = |f: &dyn Fn(f64) -> f64| Table {
        shape: a.shape.clone(),
        data: a.data.iter().map(|&x| f(x)).collect(),
    };
    let unary = match op {
        Op::Neg => map(&|x| -x),
        Op::Not => map(&|x| 1.0 - x),
        Op::ToInt => return Some((map(&|x| x), Elem::Int)),
        Op::Scale(c) => {
            let elem = if c.fract() == 0.0 { elem } else { Elem::Fix };
            return Some((map(&|x| x * c), elem));
        }
        Op::Function(f) => {
            let facts = f.facts();
            let value = |x| if (facts.defined)(x) { (facts.saturated)(x) } else { f64::NAN };
            return Some((map(&value), Elem::Fix));
        }
        Op::Abs => map(&f64::abs),
        Op::Relu => map(&|x| x.max(0.0)),
        Op::Reshape(to) => Table { shape: to.clone(), data: a.data.clone() },
        Op::Broadcast(to) if a.data.len() == 1 => Table::splat(a.data[0], to.clone()),
        _ => return binary(g, op, args),
    };
    Some((unary, elem))
}

fn binary(g: &Graph, op: &Op, args: &[NodeId]) -> Option<(Table, Elem)> {
    let (a, ea) = table(g, args[0])?;
    let (b, eb) = table(g, *args.get(1)?)?;
    let shape = crate::graph::infer::align(&a.shape, &b.shape).ok()?;
    if shape.iter().product::<u64>() > LIMIT {
        return None;
    }
    let join = if ea == Elem::Int && eb == Elem::Int { Elem::Int } else { Elem::Fix };
    type Binary = fn(f64, f64) -> f64;
    let (f, elem): (Binary, Elem) = match op {
        Op::Add => (|x, y| x + y, join),
        Op::Sub => (|x, y| x - y, join),
        Op::Mul => (|x, y| x * y, join),
        Op::Div => (|x, y| if y == 0.0 { f64::NAN } else { domain::div(x, y) }, Elem::Fix),
        Op::Lt => (|x, y| f64::from(x < y), Elem::Bit),
        Op::Eq => (|x, y| f64::from(x == y), Elem::Bit),
        Op::And => (|x, y| x * y, Elem::Bit),
        Op::Xor => (|x, y| f64::from(x != y), Elem::Bit),
        _ => return None,
    };
    if a.data.len() == 1 && b.data.len() == 1 {
        return Some((Table::splat(f(a.data[0], b.data[0]), shape), elem));
    }
    let at = |t: &Table, i: u64| t.at(aligned(&t.shape, &shape, i) as usize);
    let data = (0..shape.iter().product()).map(|i| f(at(a, i), at(b, i))).collect();
    Some((Table { data, shape }, elem))
}

fn simplify(g: &mut Graph, op: &Op, args: &[NodeId], site: u32) -> Option<NodeId> {
    let x = *args.first()?;
    let shape = g.shape(x).to_vec();
    match op {
        Op::Reshape(to) | Op::Broadcast(to) if *to == shape => Some(x),
        Op::Reshape(to) if matches!(g.op(x), Op::Reshape(_)) => {
            let from = g.arg(x, 0);
            Some(g.add_reshape(from, to.clone(), site))
        }
        Op::Transpose(perm) if perm.is_sorted() => Some(x),
        Op::Transpose(perm) => {
            let Op::Transpose(first) = g.op(x) else { return None };
            let both: Vec<u64> = perm.iter().map(|&p| first[p as usize]).collect();
            let from = g.arg(x, 0);
            Some(if both.is_sorted() { from } else { g.add(Op::Transpose(both), &[from], site) })
        }
        Op::Slice { axis, start: 0, len, step: 1 } if shape[*axis as usize] == *len => Some(x),
        Op::Sum(axes) if axes.is_empty() => Some(x),
        Op::Sum(axes) if axes.iter().all(|&a| shape[a as usize] == 1) => {
            let keep = |i: &usize| !axes.contains(&(*i as u64));
            let to = (0..shape.len()).filter(keep).map(|i| shape[i]).collect();
            Some(g.add(Op::Reshape(to), &[x], site))
        }
        Op::Select => runs::select(g, args, site),
        Op::Scale(1.0) => Some(x),
        Op::Scale(c) => {
            let Op::Scale(d) = g.op(x) else { return None };
            let (product, from) = (product(*c, *d)?, g.arg(x, 0));
            Some(if product == 1.0 { from } else { g.add(Op::Scale(product), &[from], site) })
        }
        Op::Not | Op::Neg if g.op(x) == op => Some(g.arg(x, 0)),
        Op::Add | Op::Sub => {
            let zero = |id: NodeId| table(g, id).is_some_and(|(t, _)| t.as_splat() == Some(0.0));
            let (a, b) = (args[0], args[1]);
            let fits = |g: &Graph, a: NodeId, b: NodeId| {
                crate::graph::infer::align(g.shape(a), g.shape(b)).is_ok_and(|s| s == g.shape(a))
                    && (g.ty(a).elem == Elem::Fix || g.ty(b).elem == Elem::Int)
            };
            if zero(b) && fits(g, a, b) {
                return Some(a);
            }
            (*op == Op::Add && zero(a) && fits(g, b, a)).then_some(b)
        }
        _ => None,
    }
}
