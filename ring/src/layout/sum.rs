//! Sums over axes.

use super::walk::Walk;
use super::{checked, walk};
use crate::{Data, PARALLEL, Planes, Word, bits, each_word, threads};

/// The sums over the listed axes, which disappear (xor on bits). The sum over an empty axis is 0.
pub fn sum(d: &Data, shape: &[u64], axes: &[u64]) -> Data {
    let (dims, _) = checked(d, shape);
    let kept: Vec<usize> = (0..dims.len()).filter(|&i| !axes.contains(&(i as u64))).collect();
    let out_dims: Vec<usize> = kept.iter().map(|&i| dims[i]).collect();
    let n = out_dims.iter().product();
    // Where in the result each element of the operand goes: summed axes do not move there.
    let mut strides = vec![0; dims.len()];
    for (&i, s) in kept.iter().zip(walk::strides(&out_dims)) {
        strides[i] = s;
    }
    let w = Walk::new(&dims, [strides], [0]);
    match d {
        Data::Ring(words) => Data::Ring(each_word!(words, v => {
            let mut out = vec![Word::ZERO; n];
            if w.len() > 0 {
                let (dims, strides) = w.axes();
                add_into(&mut out, v, dims, strides);
            }
            Word::wrap(out)
        })),
        Data::Bits(p) => {
            let mut out = Planes::zeros(p.width(), n);
            let (len, [stride]) = w.inner();
            for j in 0..p.width() as usize {
                let (src, dst, mut from) = (p.plane(j), out.plane_mut(j), 0);
                w.for_rows(0..w.rows(), |[at]| {
                    if stride == 1 {
                        bits::merge(dst, at, src, from, len, |x, y| x ^ y);
                    } else {
                        dst[at / 64] ^= u64::from(bits::parity(src, from, len)) << (at % 64);
                    }
                    from += len;
                });
            }
            Data::Bits(out)
        }
    }
}

/// out += the sums of v over the axes whose stride is 0. No size is 0.
fn add_into<T: Word>(out: &mut [T], v: &[T], dims: &[usize], strides: &[[usize; 1]]) {
    let total = |v: &[T]| v.iter().fold(T::ZERO, |s, &x| s.wadd(x));
    let add = |out: &mut [T], v: &[T]| out.iter_mut().zip(v).for_each(|(o, &x)| *o = o.wadd(x));
    match (dims, strides) {
        ([_], [[0]]) => {
            let s = if v.len() < PARALLEL {
                total(v)
            } else {
                total(&threads::map(v.chunks(PARALLEL / 4), &total))
            };
            out[0] = out[0].wadd(s);
        }
        ([_], _) => add(out, v),
        // Summed over the first axis only: each piece of the result stays in cache.
        ([_, n], [[0], [1]]) => {
            let piece = |(i, out): (usize, &mut [T])| {
                for row in v.chunks_exact(*n) {
                    add(out, &row[i * (PARALLEL / 16)..][..out.len()]);
                }
            };
            if v.len() < PARALLEL {
                v.chunks_exact(*n).for_each(|row| add(out, row));
            } else {
                threads::each(out.chunks_mut(PARALLEL / 16).enumerate(), &piece);
            }
        }
        ([n, dims @ ..], [[0], strides @ ..]) => {
            for v in v.chunks_exact(v.len() / n) {
                add_into(out, v, dims, strides);
            }
        }
        ([n, dims @ ..], [[s], strides @ ..]) => {
            let part = v.len() / n;
            let some = |(out, v): (&mut [T], &[T])| {
                for (out, v) in out.chunks_exact_mut(*s).zip(v.chunks_exact(part)) {
                    add_into(out, v, dims, strides);
                }
            };
            if v.len() < PARALLEL {
                some((out, v));
            } else {
                let per = (PARALLEL / 4 / part).max(1);
                threads::each(out.chunks_mut(per * s).zip(v.chunks(per * part)), &some);
            }
        }
        _ => unreachable!("a walk has an innermost axis"),
    }
}
