//! Arithmetic on aligned operands: equal rank, each axis of equal size or of size 1 in one of them.

use super::walk::{self, Walk};
use super::{broadcast, sizes};
use crate::{Data, PARALLEL, Word, Words, threads, zip_words};
use std::borrow::Cow;

#[derive(Clone, Copy)]
enum Op {
    Add,
    Sub,
    Mul,
}

/// a + b on aligned shapes (xor on bits), and the result's shape.
pub fn add(a: &Data, ashape: &[u64], b: &Data, bshape: &[u64]) -> (Data, Vec<u64>) {
    binary(Op::Add, a, ashape, b, bshape)
}

/// a - b on aligned shapes (xor on bits), and the result's shape.
pub fn sub(a: &Data, ashape: &[u64], b: &Data, bshape: &[u64]) -> (Data, Vec<u64>) {
    binary(Op::Sub, a, ashape, b, bshape)
}

/// a * b on aligned shapes (and on bits, where an operand of one plane is repeated over the planes
/// of the other), and the result's shape.
pub fn mul(a: &Data, ashape: &[u64], b: &Data, bshape: &[u64]) -> (Data, Vec<u64>) {
    binary(Op::Mul, a, ashape, b, bshape)
}

fn binary(op: Op, a: &Data, ashape: &[u64], b: &Data, bshape: &[u64]) -> (Data, Vec<u64>) {
    assert_eq!(ashape.len(), bshape.len(), "operands of different ranks");
    let shape: Vec<u64> =
        ashape.iter().zip(bshape).map(|(&x, &y)| if x == 1 { y } else { x }).collect();
    let out = match (a, b) {
        (Data::Ring(x), Data::Ring(y)) => {
            let (ad, bd, to) = (sizes(ashape), sizes(bshape), sizes(&shape));
            let w = Walk::new(&to, [walk::repeated(&ad, &to), walk::repeated(&bd, &to)], [0, 0]);
            Data::Ring(zip_words!((x, y), (x, y) => words(op, x, y, &w)))
        }
        (Data::Bits(x), Data::Bits(y)) => {
            // Multiplication commutes: the operand with more planes is the one written to.
            let swap = matches!(op, Op::Mul) && x.width() < y.width();
            let ((a, ashape), (b, bshape)) =
                if swap { ((b, bshape), (a, ashape)) } else { ((a, ashape), (b, bshape)) };
            let mut out = broadcast(a, ashape, &shape);
            let b = if bshape == shape {
                Cow::Borrowed(b)
            } else {
                Cow::Owned(broadcast(b, bshape, &shape))
            };
            match op {
                Op::Add | Op::Sub => out.add_assign(&b),
                Op::Mul => out.mul_assign(&b),
            }
            out
        }
        _ => panic!("operand of another domain"),
    };
    (out, shape)
}

fn words<T: Word>(op: Op, a: &[T], b: &[T], w: &Walk<2>) -> Words {
    T::wrap(match op {
        Op::Add => rows(a, b, w, |x, y| x.wadd(y)),
        Op::Sub => rows(a, b, w, |x, y| x.wsub(y)),
        Op::Mul => rows(a, b, w, |x, y| x.wmul(y)),
    })
}

fn rows<T: Word>(a: &[T], b: &[T], w: &Walk<2>, f: impl Fn(T, T) -> T + Sync) -> Vec<T> {
    let mut out = vec![T::ZERO; w.len()];
    if out.is_empty() {
        return out;
    }
    let (len, [sa, sb]) = w.inner();
    // One row of the result; `at` are the operands' offsets.
    let row = |out: &mut [T], [i, j]: [usize; 2]| {
        let n = out.len();
        match (sa, sb) {
            (1, 0) => {
                let y = b[j];
                out.iter_mut().zip(&a[i..i + n]).for_each(|(o, &x)| *o = f(x, y));
            }
            (0, 1) => {
                let x = a[i];
                out.iter_mut().zip(&b[j..j + n]).for_each(|(o, &y)| *o = f(x, y));
            }
            // Both repeated cannot be: the axis has its size from one of them.
            _ => {
                let operands = a[i..i + n].iter().zip(&b[j..j + n]);
                out.iter_mut().zip(operands).for_each(|(o, (&x, &y))| *o = f(x, y));
            }
        }
    };
    if out.len() < PARALLEL {
        let mut chunks = out.chunks_exact_mut(len);
        w.for_rows(0..w.rows(), |at| {
            if let Some(out) = chunks.next() {
                row(out, at);
            }
        });
    } else if len >= PARALLEL / 4 {
        let part = PARALLEL / 4;
        let mut chunks = out.chunks_exact_mut(len);
        w.for_rows(0..w.rows(), |[i, j]| {
            if let Some(out) = chunks.next() {
                threads::each(out.chunks_mut(part).enumerate(), &|(c, out)| {
                    row(out, [i + c * part * sa, j + c * part * sb]);
                });
            }
        });
    } else {
        let per = (PARALLEL / 4 / len).max(1);
        threads::each(out.chunks_mut(per * len).enumerate(), &|(c, out)| {
            let mut chunks = out.chunks_exact_mut(len);
            w.for_rows(c * per..c * per + chunks.len(), |at| {
                if let Some(out) = chunks.next() {
                    row(out, at);
                }
            });
        });
    }
    out
}
