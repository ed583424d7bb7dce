//! Tensors walked in step, as the compiler's evaluation walks them, and what derivatives need beside it.

pub(super) use slvr_compiler::graph::eval::View;
pub(super) use slvr_compiler::graph::eval::walk::{
    Walk, aligned, folded, folded_len, inside, lines, strides,
};

/// Calls `row(offsets, length, steps)` for every row of a box of indices.
pub(super) fn rows<const N: usize>(
    dims: &[usize],
    strides: [&[usize]; N],
    mut row: impl FnMut([usize; N], usize, [usize; N]),
) {
    let walk = Walk::new(dims, strides);
    if walk.len > 0 {
        walk.rows(|offsets| row(offsets, walk.len, walk.step));
    }
}

/// Adds to the derivatives by two aligned operands what `f` makes of the derivative by the result and of both.
pub(super) fn zip_back<T: Copy + std::ops::AddAssign>(
    (a, sa): View<'_, T>,
    (b, sb): View<'_, T>,
    (dy, to): View<'_, T>,
    [da, db]: [Option<&mut [T]>; 2],
    f: impl Fn(T, T, T) -> (T, T),
) {
    let (mut da, mut db) = (da, db);
    let mut at = 0;
    rows(to, [&aligned(sa, to), &aligned(sb, to)], |[i, j], len, [s, t]| {
        for k in 0..len {
            let (i, j) = (i + k * s, j + k * t);
            let (x, y) = f(dy[at + k], a[i], b[j]);
            if let Some(da) = da.as_deref_mut() {
                da[i] += x;
            }
            if let Some(db) = db.as_deref_mut() {
                db[j] += y;
            }
        }
        at += len;
    });
}

pub(super) fn sum<T: Copy + std::ops::AddAssign + std::iter::Sum>(
    (x, shape): View<'_, T>,
    axes: &[u64],
    zero: T,
) -> Vec<T> {
    let to = folded(shape, axes);
    let mut out = vec![zero; folded_len(shape, axes)];
    rows(shape, [&strides(shape), &to], |[i, o], len, [s, t]| match (s, t) {
        (1, 1) => out[o..o + len].iter_mut().zip(&x[i..i + len]).for_each(|(o, x)| *o += *x),
        (1, 0) => out[o] += lanes(&x[i..i + len], zero),
        _ => (0..len).for_each(|k| out[o + k * t] += x[i + k * s]),
    });
    out
}

/// The sum of a row in eight interleaved partial sums: their order is fixed, and they do not wait for each other.
fn lanes<T: Copy + std::ops::AddAssign + std::iter::Sum>(x: &[T], zero: T) -> T {
    let mut sums = [zero; 8];
    let chunks = x.chunks_exact(8);
    let rest: T = chunks.remainder().iter().copied().sum();
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += *x);
    }
    let mut all: T = sums.into_iter().sum();
    all += rest;
    all
}
