//! The typing rule of each operation: element, shape, secrecy and scale of the result from those of
//! the operands.

use super::{Graph, Op, Type};
use crate::syntax::ast::Secrecy;
use crate::types::Elem;

/// Shape of an aligned combination, or why there is none.
pub fn align(a: &[u64], b: &[u64]) -> Result<Vec<u64>, String> {
    if a.len() != b.len() {
        return Err(format!("ranks of {a:?} and {b:?} differ"));
    }
    a.iter()
        .zip(b)
        .map(|(&x, &y)| match (x, y) {
            _ if x == y => Ok(x),
            (1, _) => Ok(y),
            (_, 1) => Ok(x),
            _ => Err(format!("{a:?} and {b:?} do not align")),
        })
        .collect()
}

fn need(ok: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if ok { Ok(()) } else { Err(why()) }
}

/// Shape without one axis.
pub fn without(shape: &[u64], axis: u64) -> Result<Vec<u64>, String> {
    need((axis as usize) < shape.len(), || format!("no axis {axis} in {shape:?}"))?;
    let mut out = shape.to_vec();
    out.remove(axis as usize);
    Ok(out)
}

/// The type of `op` applied to operands of the given types.
pub fn infer(graph: &Graph, op: &Op, args: &[&Type]) -> Result<Type, String> {
    let count = match op {
        Op::Input(_) | Op::Const(..) | Op::Committee { .. } => 0,
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Lt | Op::Eq | Op::And | Op::Xor => 2,
        Op::Gate | Op::ArgMaxIs | Op::MatMul { .. } | Op::Conv2d { .. } | Op::Gather { .. } => 2,
        Op::Select => 3,
        Op::Concat(_) => args.len().max(1),
        _ => 1,
    };
    need(args.len() == count, || format!("takes {count} operands, got {}", args.len()))?;
    let secrecy = args.iter().map(|t| t.secrecy).max().unwrap_or(Secrecy::Public);
    let shape = shape_of(graph, op, args)?;
    need(
        shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).is_some_and(|n| n < 1 << 40),
        || format!("shape {shape:?} is too large"),
    )?;
    let (elem, secrecy) = match op {
        Op::Input(i) => {
            let input = &graph.inputs[*i as usize];
            let secrecy = if input.from.is_some() { Secrecy::Secret } else { Secrecy::Public };
            (input.elem, secrecy)
        }
        Op::Const(_, elem, _) => (*elem, Secrecy::Public),
        Op::Committee { .. } => (Elem::Int, Secrecy::Public),
        _ => (elem_of(op, args)?, secrecy),
    };
    let frac = frac_of(graph, op, args, elem)?;
    Ok(Type { elem, shape, secrecy, frac })
}

fn elem_of(op: &Op, args: &[&Type]) -> Result<Elem, String> {
    use Op::*;
    let numeric = |t: &Type| need(t.elem != Elem::Bit, || "a bit where a number is needed".into());
    let bit = |t: &Type| need(t.elem == Elem::Bit, || "a number where a bit is needed".into());
    let join = || if args.iter().all(|t| t.elem == Elem::Int) { Elem::Int } else { Elem::Fix };
    Ok(match op {
        Add | Sub | Mul | MatMul { .. } | Conv2d { .. } | Gate => {
            args.iter().try_for_each(|t| numeric(t))?;
            join()
        }
        Neg
        | Abs
        | Relu
        | Saturate(_)
        | Max(_)
        | Min(_)
        | Sort
        | SortSum { .. }
        | MaxPool { .. }
        | Sum(_) => {
            numeric(args[0])?;
            args[0].elem
        }
        Scale(c) => {
            numeric(args[0])?;
            if c.fract() == 0.0 { args[0].elem } else { Elem::Fix }
        }
        Div | Exp | ExpNonPositive | Recip | Sqrt | Log | DivPow2(_) | Shift(_) | Trunc(_) => {
            args.iter().try_for_each(|t| numeric(t))?;
            Elem::Fix
        }
        Lt | Eq | ArgMaxIs => {
            args.iter().try_for_each(|t| numeric(t))?;
            Elem::Bit
        }
        Not | And | Xor => {
            args.iter().try_for_each(|t| bit(t))?;
            Elem::Bit
        }
        ToInt => {
            bit(args[0])?;
            Elem::Int
        }
        ArgMax | OneHot(_) => {
            numeric(args[0])?;
            Elem::Int
        }
        Select => {
            bit(args[0])?;
            match (args[1].elem, args[2].elem) {
                (Elem::Bit, Elem::Bit) => Elem::Bit,
                (Elem::Int, Elem::Int) => Elem::Int,
                (Elem::Bit, _) | (_, Elem::Bit) => return Err("bits and numbers mixed".into()),
                _ => Elem::Fix,
            }
        }
        Reshape(_) | Transpose(_) | Slice { .. } | Broadcast(_) | Gather { .. } => args[0].elem,
        Concat(_) => {
            if args.iter().all(|t| t.elem == Elem::Bit) {
                Elem::Bit
            } else {
                args.iter().try_for_each(|t| numeric(t))?;
                join()
            }
        }
        Input(_) | Const(..) | Committee { .. } => unreachable!("typed by the caller"),
    })
}

/// Scale of the result. Once one operand is scaled, all numeric ones must be.
fn frac_of(graph: &Graph, op: &Op, args: &[&Type], elem: Elem) -> Result<Option<u32>, String> {
    use Op::*;
    let of = |i: usize| args.get(i).and_then(|t| t.frac);
    let same = |i: usize, j: usize| {
        let (a, b) = (of(i), of(j));
        need(a == b, || format!("scales {a:?} and {b:?} differ"))?;
        Ok::<_, String>(a)
    };
    Ok(match op {
        _ if elem == Elem::Bit => {
            if let Lt | Eq = op {
                same(0, 1)?;
            }
            None
        }
        Add | Sub => same(0, 1)?,
        Mul | MatMul { .. } | Conv2d { .. } => match (of(0), of(1)) {
            (Some(a), Some(b)) => Some(a + b),
            (None, None) => None,
            (a, b) => return Err(format!("scales {a:?} and {b:?}: one is missing")),
        },
        Select => same(1, 2)?,
        Concat(_) => {
            for i in 1..args.len() {
                same(0, i)?;
            }
            of(0)
        }
        Trunc(by) => match of(0) {
            Some(f) => Some(f.checked_sub(*by).ok_or("truncates more bits than there are")?),
            None => return Err("truncation before scales are known".into()),
        },
        Shift(by) | DivPow2(by) => match of(0) {
            Some(f) => Some(f + by),
            None => return Err("shift before scales are known".into()),
        },
        Const(_, _, frac) => *frac,
        Input(_) if elem == Elem::Fix => graph.frac,
        ToInt | OneHot(_) | ArgMax | Input(_) | Committee { .. } => graph.frac.map(|_| 0),
        _ => of(0),
    })
}

fn shape_of(graph: &Graph, op: &Op, args: &[&Type]) -> Result<Vec<u64>, String> {
    use Op::*;
    let s = |i: usize| args[i].shape.as_slice();
    Ok(match op {
        Input(i) => {
            let input = graph.inputs.get(*i as usize).ok_or_else(|| format!("no input {i}"))?;
            let mut shape = Vec::new();
            if let Some(set) = input.from {
                shape.push(graph.parties[set as usize].1);
            }
            shape.extend(&input.shape);
            shape.extend(input.one_hot);
            shape
        }
        Const(t, ..) => {
            need(t.data.len() == 1 || t.data.len() == t.len(), || "table of wrong size".into())?;
            t.shape.clone()
        }
        Committee { n, k } => vec![*n, *k],
        Add | Sub | Mul | Div | Lt | Eq | And | Xor => align(s(0), s(1))?,
        Select => align(&align(s(0), s(1))?, s(2))?,
        Gate => {
            need(s(0) == s(1), || "gate of unequal shapes".into())?;
            s(0).to_vec()
        }
        Neg | Scale(_) | Not | ToInt | Relu | Saturate(_) | Exp | ExpNonPositive | Recip | Sqrt
        | Log | Abs | Sort | Trunc(_) | Shift(_) | DivPow2(_) => s(0).to_vec(),
        Sum(axes) => {
            need(axes.windows(2).all(|w| w[0] < w[1]), || "axes must ascend".into())?;
            need(axes.iter().all(|&a| (a as usize) < s(0).len()), || "no such axis".into())?;
            let keep = |i: &usize| !axes.contains(&(*i as u64));
            (0..s(0).len()).filter(keep).map(|i| s(0)[i]).collect()
        }
        Max(axis) | Min(axis) => without(s(0), *axis)?,
        ArgMax => without(s(0), (s(0).len() as u64).wrapping_sub(1))?,
        SortSum { lo, hi } => {
            let n = *s(0).last().ok_or("sort of a scalar")?;
            need(lo < hi && *hi <= n, || format!("slice {lo}..{hi} of {n}"))?;
            without(s(0), s(0).len() as u64 - 1)?
        }
        OneHot(c) => [s(0), &[*c]].concat(),
        ArgMaxIs => {
            need(s(0) == s(1), || "hit of unequal shapes".into())?;
            without(s(0), (s(0).len() as u64).wrapping_sub(1))?
        }
        MatMul { trans_b } => {
            need(s(0).len() == 3 && s(1).len() == 3, || "matmul takes rank 3".into())?;
            let batch = align(&s(0)[..1], &s(1)[..1])?[0];
            let (n, k) = if *trans_b { (s(1)[1], s(1)[2]) } else { (s(1)[2], s(1)[1]) };
            need(k == s(0)[2], || format!("inner sizes {} and {k} differ", s(0)[2]))?;
            vec![batch, s(0)[1], n]
        }
        Conv2d { stride, pad } => {
            need(s(0).len() == 5 && s(1).len() == 5, || "conv2d takes rank 5".into())?;
            let g = align(&s(0)[..1], &s(1)[..1])?[0];
            need(s(0)[2] == s(1)[2], || format!("channels {} and {} differ", s(0)[2], s(1)[2]))?;
            let side = |h: u64, k: u64| {
                (h + 2 * pad)
                    .checked_sub(k)
                    .map(|x| x / (*stride).max(1) + 1)
                    .ok_or("kernel too large")
            };
            vec![g, s(0)[1], s(1)[1], side(s(0)[3], s(1)[3])?, side(s(0)[4], s(1)[4])?]
        }
        MaxPool { k, stride } => {
            let n = s(0).len();
            need(n >= 2 && *k > 0 && *stride > 0, || "bad pooling".into())?;
            let side = |h: u64| h.checked_sub(*k).map(|x| x / stride + 1).ok_or("window too large");
            let mut out = s(0).to_vec();
            out[n - 2] = side(out[n - 2])?;
            out[n - 1] = side(out[n - 1])?;
            out
        }
        Reshape(to) => {
            let count = |x: &[u64]| x.iter().product::<u64>();
            need(count(s(0)) == count(to), || format!("reshape of {:?} to {to:?}", s(0)))?;
            to.clone()
        }
        Transpose(perm) => {
            let mut seen = perm.clone();
            seen.sort_unstable();
            need(seen.iter().copied().eq(0..s(0).len() as u64), || "not a permutation".into())?;
            perm.iter().map(|&p| s(0)[p as usize]).collect()
        }
        Slice { axis, start, len, step } => {
            let n = *s(0).get(*axis as usize).ok_or("no such axis")?;
            let last = start + len.saturating_sub(1) * step;
            need(*len > 0 && *step > 0 && last < n, || format!("slice beyond {n}"))?;
            let mut out = s(0).to_vec();
            out[*axis as usize] = *len;
            out
        }
        Concat(axis) => {
            let mut out = s(0).to_vec();
            let a = *axis as usize;
            need(a < out.len(), || "no such axis".into())?;
            for t in &args[1..] {
                let same = without(&t.shape, *axis)? == without(s(0), *axis)?;
                need(same, || "concatenation of unequal shapes".into())?;
                out[a] += t.shape[a];
            }
            out
        }
        Broadcast(to) => {
            let fits =
                s(0).len() == to.len() && s(0).iter().zip(to).all(|(&x, &y)| x == y || x == 1);
            need(fits, || format!("broadcast of {:?} to {to:?}", s(0)))?;
            to.clone()
        }
        Gather { axis, batch } => {
            let (a, b) = (*axis as usize, *batch as usize);
            need(b <= a && a < s(0).len() && b <= s(1).len(), || "bad gather".into())?;
            need(s(0)[..b] == s(1)[..b], || "batch axes of a gather differ".into())?;
            [&s(0)[..a], &s(1)[b..], &s(0)[a + 1..]].concat()
        }
    })
}
