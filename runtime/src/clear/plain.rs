//! Local operations on plain tensors. The parties use the same functions on the components of their
//! shares, where an operation is linear or acts on values they know.

use crate::protocol::signs::Signs;
use slvr_circuit::{Dom, Op};
use slvr_ring::kernels::{self, ConvDims, MatMulDims};
use slvr_ring::layout::{self, IndexOutOfRange};
use slvr_ring::{Data, Planes, Words, carry, lookup};

/// An operand: elements and shape.
pub type Arg<'a> = (&'a Data, &'a [u64]);

/// Words of a table that are made at a time.
const PART: usize = 1 << 12;

/// The result of a local operation on plain tensors. Elementwise operations, `stack` and `reshape`
/// ignore the shape of a single operand, so they also apply to a flat part of a tensor.
///
/// # Errors
///
/// An index of a gather that is out of range: the only failure that the verifier cannot exclude.
///
/// # Panics
///
/// On operands that the verifier excludes, on operations between holders and on interactive ones.
pub fn eval(op: &Op, args: &[Arg<'_>]) -> Result<Data, IndexOutOfRange> {
    let change = |f: &dyn Fn(&mut Data)| {
        let mut x = args[0].0.clone();
        f(&mut x);
        x
    };
    let all = || args.iter().map(|a| a.0).collect::<Vec<_>>();
    Ok(match op {
        Op::Add(..) => layout::add(args[0].0, args[0].1, args[1].0, args[1].1).0,
        Op::Sub(..) => layout::sub(args[0].0, args[0].1, args[1].0, args[1].1).0,
        Op::Mul(..) | Op::MatMul { .. } | Op::Conv2d { .. } => product(op, args[0], args[1]),
        Op::Neg(_) => change(&|x| x.neg()),
        Op::Scale(_, c) => change(&|x| x.scale(*c)),
        Op::Offset(_, c) => change(&|x| x.offset(*c)),
        Op::Not(_) => change(&|x| x.not()),
        Op::Sum { axes, .. } => layout::sum(args[0].0, args[0].1, axes),
        Op::Narrow(_, k) => args[0].0.narrow(*k),
        Op::Raise(_, k) => args[0].0.raise(*k),
        Op::Extend(_, k) => args[0].0.extend(*k),
        Op::Shr(_, n) => args[0].0.shr(*n),
        Op::ToBits { lo, w, .. } => args[0].0.to_bits(*lo, *w),
        Op::FromBits(_, k) => args[0].0.from_bits(*k),
        Op::Planes { start, step, count, .. } => args[0].0.planes(*start, *step, *count),
        Op::Stack(_) => Data::stack(&all()),
        Op::SelectPlanes(_, planes) => args[0].0.select(planes),
        Op::Xors { rows, .. } => args[0].0.xors(rows),
        Op::Thermometer { blocks, .. } => Data::Bits(carry::thermometer(bits(args[0].0), blocks)),
        Op::Pick { blocks, .. } => {
            let (table, index) = (bits(args[0].0), bits(args[1].0));
            Data::Bits(carry::pick(table, index, blocks, &ones(index.len())))
        }
        Op::Propagate { blocks, skip, .. } => {
            let (table, index) = (bits(args[0].0), bits(args[1].0));
            Data::Bits(carry::propagate(table, index, blocks, *skip, &ones(index.len())))
        }
        Op::MaskProducts { gates, .. } => Data::Bits(carry::mask_products(bits(args[0].0), gates)),
        Op::AndMany { gates, .. } => {
            let [open, mask, products] = [0, 1, 2].map(|i| bits(args[i].0));
            let nodes = args.get(3).map(|x| bits(x.0));
            Data::Bits(carry::and_many(open, mask, products, nodes, gates, &ones(open.len())))
        }
        Op::Table { .. } => lookup::table(args[0].0, args[1].0),
        Op::Entry { .. } => {
            let entries = match args[0].0 {
                Data::Bits(planes) => planes.width() as usize,
                Data::Ring(_) => args[0].1.last().copied().unwrap_or(1) as usize,
            };
            lookup::entry(args[0].0, args[1].0, entries)
        }
        Op::ToPlanes(_) => {
            let last = args[0].1.last().copied().unwrap_or(1);
            Data::Bits(carry::to_planes(bits(args[0].0), last as usize))
        }
        Op::Reshape(..) => args[0].0.clone(),
        Op::Transpose(_, perm) => layout::transpose(args[0].0, args[0].1, perm),
        Op::Slice { axis, start, len, step, .. } => {
            layout::slice(args[0].0, args[0].1, *axis, *start, *len, *step)
        }
        Op::Load { start, len, .. } => layout::slice(args[0].0, args[0].1, 0, *start, *len, 1),
        Op::Concat { axis, .. } => layout::concat(args, *axis),
        Op::Broadcast(_, shape) => layout::broadcast(args[0].0, args[0].1, shape),
        Op::Gather { axis, batch, .. } => {
            let index: Vec<u64> = indices(args[1].0);
            layout::gather(args[0].0, args[0].1, *axis, *batch, &index, args[1].1)?
        }
        Op::Places { n, .. } => places(args[0], *n),
        Op::Pairs { table, n, dom } => {
            let count = table.shape(*n).iter().product::<u64>() as usize;
            let mut out = Data::zeros(*dom, count);
            let mut words = table.entries(*n).map(|x| x as i128 as u128);
            let mut at = 0;
            while at < count {
                let part: Vec<u128> = words.by_ref().take(PART).collect();
                out.put(at, &Data::from_u128s(*dom, &part));
                at += part.len().max(1);
            }
            out
        }
        Op::Project { tests, .. } => {
            let [sums] = project([args[0].0], args[0].1, args[1].0.get_u128(0), *tests);
            sums
        }
        _ => panic!("`{}` is not an operation on plain values", op.name()),
    })
}

/// Of each number below n the last of its places along the last axis of an index, and the number of places where it
/// has none.
fn places((index, shape): Arg<'_>, n: u64) -> Data {
    let k = shape.last().copied().unwrap_or(1) as usize;
    let rows = index.len().checked_div(k).unwrap_or(0);
    let words = index.to_u128s();
    let mut out = vec![k as u128; rows * n as usize];
    for (row, places) in words.chunks(k.max(1)).zip(out.chunks_mut((n as usize).max(1))) {
        for (place, &number) in row.iter().enumerate() {
            if let Some(at) = usize::try_from(number).ok().and_then(|number| places.get_mut(number))
            {
                *at = place as u128;
            }
        }
    }
    Data::from_u128s(index.dom(), &out)
}

/// Random inner products of rows, the same for every tensor: `[m, d]` each, `[m, tests]` results.
///
/// # Panics
///
/// On operands that the verifier excludes.
pub fn project<const N: usize>(xs: [&Data; N], shape: &[u64], coin: u128, tests: u64) -> [Data; N] {
    let [m, _] = sizes(shape);
    let signs = Signs::new(coin, tests);
    let fill = |block: usize, out: &mut [u8]| signs.fill(block, out);
    kernels::project(xs.map(words), m, tests as usize, &fill).map(Data::Ring)
}

/// Random inner products of some rows, as [`project`]: rows of one length over a ring -> `[rows, tests]`.
///
/// # Panics
///
/// On rows that are not of one domain and length.
pub fn project_rows(rows: &[kernels::Row<'_>], dom: Dom, coin: u128, tests: u64) -> Data {
    let signs = Signs::new(coin, tests);
    let fill = |block: usize, out: &mut [u8]| signs.fill(block, out);
    Data::Ring(kernels::project_rows(rows, dom.bits(), tests as usize, &fill))
}

/// Words as indices; what does not fit is out of range for every axis.
fn indices(x: &Data) -> Vec<u64> {
    x.to_u128s().into_iter().map(|i| u64::try_from(i).unwrap_or(u64::MAX)).collect()
}

/// A bilinear operation: `mul`, `matmul` or `conv2d`.
pub fn product(op: &Op, a: Arg<'_>, b: Arg<'_>) -> Data {
    match op {
        Op::MatMul { trans_b, .. } => {
            let dims = fitting(MatMulDims::of(a.1, b.1, *trans_b));
            Data::Ring(kernels::matmul(words(a.0), words(b.0), dims))
        }
        Op::Conv2d { conv, .. } => {
            let dims = fitting(ConvDims::of(a.1, b.1, *conv));
            Data::Ring(kernels::conv2d(words(a.0), words(b.0), dims))
        }
        _ => layout::mul(a.0, a.1, b.0, b.1).0,
    }
}

/// acc += product(op, a, b).
pub fn product_acc(op: &Op, acc: &mut Data, a: Arg<'_>, b: Arg<'_>) {
    match (op, &mut *acc) {
        (Op::MatMul { trans_b, .. }, Data::Ring(acc)) => {
            let dims = fitting(MatMulDims::of(a.1, b.1, *trans_b));
            kernels::matmul_acc(acc, words(a.0), words(b.0), dims);
        }
        (Op::Conv2d { conv, .. }, Data::Ring(acc)) => {
            let dims = fitting(ConvDims::of(a.1, b.1, *conv));
            kernels::conv2d_acc(acc, words(a.0), words(b.0), dims);
        }
        _ => acc.add_assign(&product(op, a, b)),
    }
}

fn bits(x: &Data) -> &Planes {
    match x {
        Data::Bits(p) => p,
        Data::Ring(_) => panic!("operand of another domain"),
    }
}

fn ones(n: usize) -> Planes {
    let mut out = Planes::zeros(1, n);
    out.words_mut().fill(u64::MAX);
    out.mask_tail();
    out
}

pub(crate) fn words(x: &Data) -> &Words {
    match x {
        Data::Ring(w) => w,
        Data::Bits(_) => panic!("operand of another domain"),
    }
}

fn sizes<const N: usize>(shape: &[u64]) -> [usize; N] {
    assert_eq!(shape.len(), N, "operand of another rank");
    std::array::from_fn(|i| shape[i] as usize)
}

/// Dimensions that the verifier has found to fit.
fn fitting<T>(dims: Option<T>) -> T {
    match dims {
        Some(dims) => dims,
        None => panic!("operands that do not fit"),
    }
}
