//! The same entries in other places. Where they come from is said in runs, so that a value and its derivative, which
//! brings entries back to where they came from, share one rule.

use super::operation::{View, position};
use super::walk::{Walk, aligned, strides};
use super::word::Word;
use crate::graph::Op;

/// Entries that follow one another in the result, and a step apart in the operand.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Its place in the result.
    pub to: usize,
    /// Its place in the operand.
    pub from: usize,
    pub len: usize,
    /// From an entry to the next in the operand.
    pub step: usize,
}

/// Calls `run` for where the entries of a transposition, slice, broadcast or gathering come from, in the order of the
/// result. `None` for other operations, and where an index is beyond its axis.
pub fn moved<W: Word>(
    op: &Op,
    args: &[View<'_, W>],
    to: &[usize],
    mut run: impl FnMut(Run),
) -> Option<()> {
    let shape = args.first()?.1;
    match op {
        Op::Transpose(perm) => {
            let own = strides(shape);
            let own: Vec<usize> = perm.iter().map(|&p| own[p as usize]).collect();
            boxed(0, to, &own, run);
        }
        Op::Slice { axis, start, step, .. } => {
            let (mut own, axis) = (strides(shape), *axis as usize);
            let start = *start as usize * own[axis];
            own[axis] *= *step as usize;
            boxed(start, to, &own, run);
        }
        Op::Broadcast(_) => boxed(0, to, &aligned(shape, to), run),
        Op::Gather { axis, batch } => {
            let (index, index_shape) = args[1];
            let index: Vec<usize> =
                index.iter().map(|x| position(x.decode(0))).collect::<Option<_>>()?;
            let (axis, batch) = (*axis as usize, *batch as usize);
            let n = shape[axis];
            if index.iter().any(|&i| i >= n) {
                return None;
            }
            let batches: usize = shape[..batch].iter().product();
            let middle: usize = shape[batch..axis].iter().product();
            let inner: usize = shape[axis + 1..].iter().product();
            let k: usize = index_shape[batch..].iter().product();
            let mut at = 0;
            for (b, p) in (0..batches).flat_map(|b| (0..middle).map(move |p| (b, p))) {
                for &i in &index[b * k..(b + 1) * k] {
                    run(Run {
                        to: at,
                        from: ((b * middle + p) * n + i) * inner,
                        len: inner,
                        step: 1,
                    });
                    at += inner;
                }
            }
        }
        _ => return None,
    }
    Some(())
}

/// The entries of a box in the operand, in the order of the result.
fn boxed(start: usize, dims: &[usize], own: &[usize], mut run: impl FnMut(Run)) {
    let walk = Walk::new(dims, [own]);
    let mut at = 0;
    walk.rows(|[from]| {
        if walk.len > 0 {
            run(Run { to: at, from: start + from, len: walk.len, step: walk.step[0] });
            at += walk.len;
        }
    });
}

/// Adds a run of the operand to the result.
pub(super) fn collect<T: Copy>(x: &[T], out: &mut Vec<T>, Run { from, len, step, .. }: Run) {
    match (len, step) {
        (1, _) => out.push(x[from]),
        (_, 1) => out.extend_from_slice(&x[from..from + len]),
        _ => out.extend((0..len).map(|k| x[from + k * step])),
    }
}

pub(crate) fn broadcast<T: Copy>(x: &[T], shape: &[usize], to: &[usize]) -> Vec<T> {
    let mut out = Vec::with_capacity(to.iter().product());
    boxed(0, to, &aligned(shape, to), |run| collect(x, &mut out, run));
    out
}

/// Parts one after another along an axis: of each the data, and the number of elements of the axis
/// and all inside it.
pub(super) fn concat<T: Copy>(parts: &[(&[T], usize)], outer: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(parts.iter().map(|(x, _)| x.len()).sum());
    for o in 0..outer {
        for (x, inner) in parts {
            out.extend_from_slice(&x[o * inner..(o + 1) * inner]);
        }
    }
    out
}
