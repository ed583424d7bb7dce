//! The value of every operation.

use super::layout::{self, collect};
use super::order;
use super::product;
use super::walk::{View, sum, zip};
use crate::loss::first_largest;
use crate::number::Number;
use slvr_compiler::graph::{Op, domain};
use slvr_compiler::types::Lots;

/// Public coins: for each of n members, k distinct others.
pub(super) type Coin<'a> = &'a (dyn Fn(&Lots) -> Vec<Vec<u64>> + 'a);

/// Places in a tensor, of numbers that are indices.
pub(super) fn places<T: Number>(index: &[T]) -> Vec<usize> {
    index.iter().map(|x| x.real() as usize).collect()
}

/// The last axis, and the sizes of the last two.
pub(super) fn last(shape: &[usize]) -> usize {
    shape.last().copied().unwrap_or(1)
}

pub(super) fn plane(shape: &[usize]) -> [usize; 2] {
    [shape[shape.len() - 2], shape[shape.len() - 1]]
}

/// The value of an operation that is no input, of those of its operands, in the shape `to`; `None` where an index is beyond
/// its axis, or a convolution's shapes are none.
pub(super) fn value<T: Number>(
    op: &Op,
    args: &[View<'_, T>],
    to: &[usize],
    coin: Coin<'_>,
) -> Option<Vec<T>> {
    let arg = |i: usize| args[i];
    let each = |f: &dyn Fn(T) -> T| arg(0).0.iter().map(|&x| f(x)).collect::<Vec<T>>();
    let rows = || arg(0).0.chunks_exact(last(arg(0).1).max(1));
    let picked = |places: Vec<usize>| places.into_iter().map(|i| args[0].0[i]).collect();
    Some(match op {
        Op::Input(_) => return None,
        Op::Const(table, ..) => (0..table.len()).map(|i| T::of(table.at(i))).collect(),
        Op::Draw(lots) => coin(lots).into_iter().flatten().map(|j| T::of(j as f64)).collect(),
        Op::Places(n) => rows().flat_map(|row| where_numbers(row, *n)).map(T::of).collect(),
        // Whoever has noise puts it in as a change ([`super::Given::change`]).
        Op::Noise { .. } => vec![T::ZERO; to.iter().product()],
        Op::Pairs { table, n } => table.entries(*n).map(|x| T::of(x as f64)).collect(),

        Op::Add => zip(arg(0), arg(1), to, |x, y| x + y),
        Op::Sub => zip(arg(0), arg(1), to, |x, y| x - y),
        Op::Mul | Op::And => zip(arg(0), arg(1), to, |x, y| x * y),
        Op::Div => zip(arg(0), arg(1), to, |x, y| T::of(domain::div(x.real(), y.real()))),
        Op::Neg => each(&|x| -x),
        Op::Scale(c) => each(&|x| x * T::of(*c)),
        Op::Lt => zip(arg(0), arg(1), to, |x, y| T::bit(x < y)),
        Op::Eq => zip(arg(0), arg(1), to, |x, y| T::bit(x == y)),
        Op::Xor => zip(arg(0), arg(1), to, |x, y| T::bit(x != y)),
        Op::Not => each(&|x| T::ONE - x),
        Op::Select => {
            let a = zip(arg(0), arg(1), to, |c, a| if c == T::ZERO { T::ZERO } else { a });
            let b = zip(arg(0), arg(2), to, |c, b| if c == T::ZERO { b } else { T::ZERO });
            a.into_iter().zip(b).map(|(a, b)| a + b).collect()
        }
        Op::Relu => each(&|x| if x > T::ZERO { x } else { T::ZERO }),
        Op::Gate => zip(arg(0), arg(1), to, |v, s| if s < T::ZERO { T::ZERO } else { v }),
        Op::Abs => each(&|x| if x < T::ZERO { -x } else { x }),
        Op::Function(f) => {
            let f = f.facts().saturated;
            each(&|x| T::of(f(x.real())))
        }
        Op::DivPow2(by) => each(&|x| x * T::of(f64::from(*by).exp2().recip())),
        Op::MulPow2(by) => each(&|x| x * T::of(f64::from(*by).exp2())),

        Op::Sum(axes) => sum(arg(0), axes, T::ZERO),
        Op::Max(axis) => {
            picked(order::extrema(arg(0).0, arg(0).1, *axis as usize, |x, best| x > best))
        }
        Op::Min(axis) => {
            picked(order::extrema(arg(0).0, arg(0).1, *axis as usize, |x, best| x < best))
        }
        Op::ArgMax => rows().map(|row| T::of(first_largest(row) as f64)).collect(),
        Op::Sort => {
            rows().flat_map(|row| order::ascending(row).into_iter().map(|i| row[i])).collect()
        }
        Op::SortSum { lo, hi } => rows()
            .map(|row| {
                let order = order::ascending(row);
                order[*lo as usize..*hi as usize].iter().map(|&i| row[i]).sum()
            })
            .collect(),
        Op::OneHot(classes) => {
            let one = |label: usize| (0..*classes as usize).map(move |c| T::bit(c == label));
            places(arg(0).0).into_iter().flat_map(one).collect()
        }
        Op::ArgMaxIs => rows()
            .zip(arg(1).0.chunks_exact(last(arg(1).1).max(1)))
            .map(|(z, label)| T::bit(label[first_largest(z)] != T::ZERO))
            .collect(),

        Op::MatMul { trans_b } => product::matmul(arg(0), arg(1), to, *trans_b),
        Op::Conv2d(conv) => {
            let sizes = product::Sizes::new(arg(0).1, arg(1).1, to, *conv)?;
            product::conv2d(arg(0).0, arg(1).0, sizes, to.iter().product())
        }
        Op::MaxPool { k, stride } => {
            let window = (*k as usize, *stride as usize);
            picked(order::windows(arg(0).0, plane(arg(0).1), plane(to), window))
        }

        // The same entries in the same order; the walk shares them instead.
        Op::Reshape(_) | Op::ToInt | Op::Trunc(_) | Op::Shift(_) | Op::Saturate(_) => {
            arg(0).0.to_vec()
        }
        Op::Transpose(_) | Op::Slice { .. } | Op::Broadcast(_) | Op::Gather { .. } => {
            let mut out = Vec::with_capacity(to.iter().product());
            moved(op, args, to, &mut |run| collect(args[0].0, &mut out, run))?;
            out
        }
        Op::Concat(axis) => {
            let outer: usize = to[..*axis as usize].iter().product();
            let mut out = Vec::with_capacity(to.iter().product());
            for o in 0..outer {
                for (x, _) in args {
                    let inner = x.len() / outer;
                    out.extend_from_slice(&x[o * inner..(o + 1) * inner]);
                }
            }
            out
        }
    })
}

/// Where the entries of an operation that only moves them come from. `None` for other operations, and where an index is
/// beyond its axis.
pub(super) fn moved<T: Number>(
    op: &Op,
    args: &[View<'_, T>],
    to: &[usize],
    run: &mut dyn FnMut(layout::Run),
) -> Option<()> {
    let shape = args.first()?.1;
    if let Op::Transpose(perm) = op {
        layout::transpose(shape, perm, run);
    } else if let Op::Slice { axis, start, len, step } = op {
        let along = (*start as usize, *len as usize, *step as usize);
        layout::slice(shape, *axis as usize, along, run);
    } else if let Op::Broadcast(_) = op {
        layout::broadcast(shape, to, run);
    } else if let Op::Gather { axis, batch } = op {
        let index = places(args[1].0);
        layout::gather(shape, (&index, args[1].1), (*axis as usize, *batch as usize), run)?;
    } else {
        return None;
    }
    Some(())
}

/// Where a row has each number below n: the last of its places, or its length.
fn where_numbers<T: Number>(row: &[T], n: u64) -> Vec<f64> {
    let mut all = vec![row.len() as f64; n as usize];
    for (place, number) in row.iter().enumerate() {
        if let Some(at) = all.get_mut(number.real() as usize) {
            *at = place as f64;
        }
    }
    all
}
