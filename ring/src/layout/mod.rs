//! Layout and aligned arithmetic: a flat [`Data`] seen as a row-major tensor of a given shape.
//!
//! Lives here: moving elements around ([`transpose`], [`slice()`], [`concat()`], [`broadcast`],
//! [`gather`]), reductions ([`sum`]) and arithmetic on aligned shapes ([`add`], [`sub`], [`mul`]).
//! May not: anything that looks at what a tensor means.
//!
//! All of it goes through one `walk`: axes that are contiguous in every operand are merged first,
//! then whole inner rows are copied or combined at a time. On bits an inner row is moved a word at
//! a time whatever its alignment; only a strided inner row (a transpose that moves the last axis,
//! a slice with a step along it) is moved bit by bit.
//!
//! Shapes that do not fit each other or the data panic; the circuit verifier excludes them.

mod binary;
mod sum;
mod walk;

pub use binary::{add, mul, sub};
pub use sum::sum;

use super::{Data, PARALLEL, Planes, Word, bits, each_word, threads};
use thiserror::Error;
use walk::Walk;

/// An index of [`gather`] points outside the axis it indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("index {index} is out of range for an axis of size {size}")]
pub struct IndexOutOfRange {
    /// The (public) index.
    pub index: u64,
    /// Size of the indexed axis.
    pub size: u64,
}

/// Axes in another order: result axis i is operand axis `perm[i]`.
pub fn transpose(d: &Data, shape: &[u64], perm: &[u64]) -> Data {
    let (dims, strides) = checked(d, shape);
    let pick = |v: &[usize]| perm.iter().map(|&p| v[p as usize]).collect::<Vec<_>>();
    view(d, &Walk::new(&pick(&dims), [&pick(&strides)], [0]))
}

/// The indices start, start + step, ... (len of them, all inside) along one axis.
pub fn slice(d: &Data, shape: &[u64], axis: u64, start: u64, len: u64, step: u64) -> Data {
    let (mut dims, mut strides) = checked(d, shape);
    let axis = axis as usize;
    assert!(
        len == 0 || start as usize + (len as usize - 1) * (step as usize) < dims[axis],
        "slice out of bounds"
    );
    let offset = start as usize * strides[axis];
    dims[axis] = len as usize;
    strides[axis] *= step as usize;
    view(d, &Walk::new(&dims, [&strides], [offset]))
}

/// Axes of size 1 repeated to the shape `to` (of the same rank).
pub fn broadcast(d: &Data, shape: &[u64], to: &[u64]) -> Data {
    let (dims, _) = checked(d, shape);
    if shape == to {
        return d.clone();
    }
    let to = sizes(to);
    view(d, &Walk::new(&to, [&walk::repeated(&dims, &to)], [0]))
}

/// Operands (at least one) one after another along one axis; all other axes are equal.
pub fn concat(xs: &[(&Data, &[u64])], axis: u64) -> Data {
    let axis = axis as usize;
    let Some((first, shape)) = xs.first() else { panic!("concat of nothing") };
    let outer: usize = sizes(&shape[..axis]).iter().product();
    if outer == 1 {
        return Data::concat(&xs.iter().map(|x| x.0).collect::<Vec<_>>());
    }
    // Elements that each operand contributes to one outer index.
    let runs: Vec<usize> = xs.iter().map(|(_, s)| sizes(&s[axis..]).iter().product()).collect();
    for ((d, _), run) in xs.iter().zip(&runs) {
        assert_eq!(d.len(), outer * run, "shape does not fit the data");
    }
    let total = outer * runs.iter().sum::<usize>();
    match first {
        Data::Ring(w) => Data::Ring(each_word!(w, v => concat_words(v, xs, &runs, outer, total))),
        Data::Bits(p) => {
            let mut out = Planes::zeros(p.width(), total);
            for j in 0..p.width() as usize {
                let mut at = 0;
                for o in 0..outer {
                    for ((d, _), &run) in xs.iter().zip(&runs) {
                        let Data::Bits(p) = d else { panic!("operand of another domain") };
                        bits::copy(out.plane_mut(j), at, p.plane(j), o * run, run);
                        at += run;
                    }
                }
            }
            Data::Bits(out)
        }
    }
}

fn concat_words<T: Word>(
    _first: &[T],
    xs: &[(&Data, &[u64])],
    runs: &[usize],
    outer: usize,
    total: usize,
) -> super::Words {
    let words: Vec<&[T]> = xs
        .iter()
        .map(|(d, _)| match d {
            Data::Ring(w) => T::of(w).expect("operands of one ring (circuit verifier)"),
            Data::Bits(_) => panic!("operand of another domain"),
        })
        .collect();
    let mut out = Vec::with_capacity(total);
    for o in 0..outer {
        for (v, &run) in words.iter().zip(runs) {
            out.extend_from_slice(&v[o * run..(o + 1) * run]);
        }
    }
    T::wrap(out)
}

/// d `[B.., P.., n, R..]`, index `[B.., K..]` -> `[B.., P.., K.., R..]`:
/// `out[b, p, k, r] = d[b, p, index[b, k], r]`, where B are the first `batch` axes of both and n is
/// axis `axis` of d.
///
/// # Errors
///
/// An index that is not below n.
pub fn gather(
    d: &Data,
    shape: &[u64],
    axis: u64,
    batch: u64,
    index: &[u64],
    index_shape: &[u64],
) -> Result<Data, IndexOutOfRange> {
    let (dims, _) = checked(d, shape);
    let (axis, batch) = (axis as usize, batch as usize);
    let size = shape[axis];
    if let Some(&index) = index.iter().find(|&&i| i >= size) {
        return Err(IndexOutOfRange { index, size });
    }
    let product = |v: &[usize]| v.iter().product::<usize>();
    let g = Gather {
        index,
        p: product(&dims[batch..axis]),
        n: dims[axis],
        k: product(&sizes(&index_shape[batch..])),
        r: product(&dims[axis + 1..]),
    };
    let b = product(&dims[..batch]);
    assert_eq!(index.len(), b * g.k, "index does not fit its shape");
    let rows = b * g.p * g.k;
    Ok(match d {
        Data::Ring(w) => Data::Ring(each_word!(w, v => g.words(v, rows))),
        Data::Bits(p) => {
            let mut out = Planes::zeros(p.width(), rows * g.r);
            for j in 0..p.width() as usize {
                let dst = out.plane_mut(j);
                g.rows(0, rows, |row, from| bits::copy(dst, row * g.r, p.plane(j), from, g.r));
            }
            Data::Bits(out)
        }
    })
}

struct Gather<'a> {
    index: &'a [u64],
    p: usize,
    n: usize,
    k: usize,
    r: usize,
}

impl Gather<'_> {
    /// Calls f(i, offset in the operand) for `count` result rows from `first` on, i from 0.
    fn rows(&self, first: usize, count: usize, mut f: impl FnMut(usize, usize)) {
        if count == 0 {
            return;
        }
        let (mut bp, mut k) = (first / self.k, first % self.k);
        for i in 0..count {
            let b = bp / self.p;
            f(i, (bp * self.n + self.index[b * self.k + k] as usize) * self.r);
            k += 1;
            if k == self.k {
                (bp, k) = (bp + 1, 0);
            }
        }
    }

    fn words<T: Word>(&self, v: &[T], rows: usize) -> super::Words {
        let mut out = vec![T::ZERO; rows * self.r];
        if out.is_empty() {
            return T::wrap(out);
        }
        let fill = |first: usize, out: &mut [T]| {
            if self.r == 1 {
                self.rows(first, out.len(), |i, from| out[i] = v[from]);
            } else {
                self.rows(first, out.len() / self.r, |i, from| {
                    out[i * self.r..(i + 1) * self.r].copy_from_slice(&v[from..from + self.r]);
                });
            }
        };
        if out.len() < PARALLEL {
            fill(0, &mut out);
        } else {
            let per = (PARALLEL / 4 / self.r).max(1);
            threads::each(out.chunks_mut(per * self.r).enumerate(), &|(c, o)| fill(c * per, o));
        }
        T::wrap(out)
    }
}

/// The elements that a walk visits, in order.
fn view(d: &Data, w: &Walk<1>) -> Data {
    match d {
        Data::Ring(words) => Data::Ring(each_word!(words, v => Word::wrap(view_words(v, w)))),
        Data::Bits(p) => {
            let mut out = Planes::zeros(p.width(), w.len());
            let stride = out.stride();
            if stride > 0 {
                let per = (PARALLEL / w.len()).max(1);
                threads::each(
                    out.words_mut().chunks_mut(per * stride).enumerate(),
                    &|(i, planes)| {
                        let planes = planes.chunks_mut(stride).zip(i * per..);
                        planes.for_each(|(dst, j)| view_bits(p.plane(j), w, dst));
                    },
                );
            }
            Data::Bits(out)
        }
    }
}

fn view_words<T: Word>(v: &[T], w: &Walk<1>) -> Vec<T> {
    let (len, [stride]) = w.inner();
    if w.rows() == 1 && stride == 1 {
        let [at] = w.offset();
        return v[at..at + len].to_vec();
    }
    let mut out = vec![T::ZERO; w.len()];
    if out.is_empty() {
        return out;
    }
    let fill = |first: usize, out: &mut [T]| {
        let mut rows = out.chunks_exact_mut(len);
        w.for_rows(first..first + rows.len(), |[at]| {
            let Some(row) = rows.next() else { return };
            match stride {
                0 => row.fill(v[at]),
                1 => row.copy_from_slice(&v[at..at + len]),
                _ => {
                    for (o, x) in row.iter_mut().zip(v[at..].iter().step_by(stride)) {
                        *o = *x;
                    }
                }
            }
        });
    };
    if out.len() < PARALLEL {
        fill(0, &mut out);
    } else {
        let per = (PARALLEL / 4 / len).max(1);
        threads::each(out.chunks_mut(per * len).enumerate(), &|(c, o)| fill(c * per, o));
    }
    out
}

fn view_bits(src: &[u64], w: &Walk<1>, dst: &mut [u64]) {
    let (len, [stride]) = w.inner();
    let mut to = 0;
    w.for_rows(0..w.rows(), |[at]| {
        match stride {
            0 => bits::fill(dst, to, len, bits::get(src, at)),
            1 => bits::copy(dst, to, src, at, len),
            _ => {
                for i in 0..len {
                    let bit = u64::from(bits::get(src, at + i * stride));
                    dst[(to + i) / 64] |= bit << ((to + i) % 64);
                }
            }
        }
        to += len;
    });
}

/// Sizes and row-major strides of a shape that fits the data.
fn checked(d: &Data, shape: &[u64]) -> (Vec<usize>, Vec<usize>) {
    let dims = sizes(shape);
    assert_eq!(d.len(), dims.iter().product::<usize>(), "shape does not fit the data");
    let strides = walk::strides(&dims);
    (dims, strides)
}

fn sizes(shape: &[u64]) -> Vec<usize> {
    shape.iter().map(|&d| d as usize).collect()
}

#[cfg(test)]
mod tests;
