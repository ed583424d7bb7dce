//! One operation: its value, of those of its operands, whoever computed them.

use super::walk::{zip, zip3};
use super::word::Word;
use super::{layout, product, reduce};
use crate::graph::{Op, domain};

/// More entries of one value are not computed: of words of eight bytes these take 32 GiB.
pub const MOST_COMPUTED: u64 = 1 << 32;

/// A tensor: its entries and its shape.
pub type View<'a, W> = (&'a [W], &'a [usize]);

/// How many fraction bits operands and result have. Real numbers have none, which is the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scales<'a> {
    pub args: &'a [u32],
    pub result: u32,
}

impl Scales<'_> {
    fn arg(&self, i: usize) -> u32 {
        self.args.get(i).copied().unwrap_or(0)
    }
}

/// Why an operation has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// It is an input, a draw or noise: its value is given and not computed.
    Given,
    /// An index is beyond its axis.
    Index,
    /// A number does not fit a word.
    Overflow,
}

/// The value of an operation in the shape `to`. Operands are taken to be well formed, as
/// [`verify`](crate::graph::verify::verify) has it, but sizes may be others than those of the graph.
pub fn operation<W: Word>(
    op: &Op,
    args: &[View<'_, W>],
    to: &[usize],
    scales: Scales<'_>,
) -> Result<Vec<W>, NoValue> {
    use Op::*;
    let arg = |i: usize| args[i];
    let each = |f: fn(W) -> W| arg(0).0.iter().map(|&x| f(x)).collect::<Vec<W>>();
    let pair = |f: fn(W, W) -> W| zip(arg(0), arg(1), to, f);
    let last = || arg(0).1.last().copied().unwrap_or(1);
    Ok(match op {
        Input(_) | Draw(_) | Noise { .. } => return Err(NoValue::Given),
        Const(table, _, frac) => match table.data[..] {
            [x] => vec![encode(x, frac.unwrap_or(0))?; table.len()],
            _ => {
                let encoded = table.data.iter().map(|&x| encode(x, frac.unwrap_or(0)));
                encoded.collect::<Result<_, _>>()?
            }
        },
        Pairs { table, n } => {
            table.entries(*n).map(|x| encode(x as f64, 0)).collect::<Result<_, _>>()?
        }
        Places(n) => places(arg(0).0, arg(0).1, scales.arg(0), *n)?,

        // Written out and not through `pair`, so that the loops are compiled around them.
        Add => zip(arg(0), arg(1), to, W::add),
        Sub => zip(arg(0), arg(1), to, W::sub),
        Mul | And => zip(arg(0), arg(1), to, W::mul),
        Lt => zip(arg(0), arg(1), to, |x, y| W::bit(x.less(y))),
        Eq => pair(|x, y| W::bit(x == y)),
        Xor => pair(|x, y| W::bit(x != y)),
        Gate => pair(|v, s| if s.negative() { W::ZERO } else { v }),
        Neg => each(W::neg),
        Scale(c) => arg(0).0.iter().map(|&x| x.scale(*c)).collect(),
        Not => each(|x| W::ONE.sub(x)),
        Relu => each(|x| if x.negative() { W::ZERO } else { x }),
        Abs => each(|x| if x.negative() { x.neg() } else { x }),
        Saturate(top) => arg(0).0.iter().map(|&x| x.saturate(*top, scales.result)).collect(),
        Trunc(by) => arg(0).0.iter().map(|&x| x.trunc(*by)).collect(),
        Shift(by) => arg(0).0.iter().map(|&x| x.shift(*by)).collect(),
        DivPow2(by) => arg(0).0.iter().map(|&x| x.halve(*by)).collect(),
        MulPow2(by) => arg(0).0.iter().map(|&x| x.double(*by)).collect(),
        Select => zip3([arg(0), arg(1), arg(2)], to, |c, a, b| if c == W::ZERO { b } else { a }),

        Div => {
            let real = |x: W, y: W| domain::div(x.decode(scales.arg(0)), y.decode(scales.arg(1)));
            let quotients = zip(arg(0), arg(1), to, |x, y| encode(real(x, y), scales.result));
            quotients.into_iter().collect::<Result<_, _>>()?
        }
        // It has a value everywhere.
        Function(f) => {
            let (f, from) = (f.facts().saturated, scales.arg(0));
            let values = arg(0).0.iter().map(|x| encode(f(x.decode(from)), scales.result));
            values.collect::<Result<_, _>>()?
        }

        Sum(axes) => reduce::sum(arg(0).0, arg(0).1, axes),
        Max(axis) => reduce::fold(arg(0).0, arg(0).1, *axis as usize, W::max),
        Min(axis) => reduce::fold(arg(0).0, arg(0).1, *axis as usize, W::min),
        ArgMax => {
            let best = reduce::argmax(arg(0).0, last());
            best.map(|i| encode(i as f64, 0)).collect::<Result<_, _>>()?
        }
        Sort => reduce::sort(arg(0).0, last()),
        SortSum { lo, hi } => reduce::sort_sum(arg(0).0, last(), *lo as usize, *hi as usize),
        // A label beyond the classes gives zeros.
        OneHot(classes) => {
            let labels = arg(0).0.iter().map(|x| x.decode(scales.arg(0)));
            labels.flat_map(|x| (0..*classes).map(move |c| W::bit(x == c as f64))).collect()
        }
        ArgMaxIs => reduce::hit(arg(0).0, arg(1).0, last()),

        MatMul { trans_b } => product::matmul(arg(0), arg(1), to, *trans_b),
        Conv2d(conv) => product::conv2d(arg(0), arg(1), to, *conv),
        MaxPool { k, stride } => {
            let plane = |s: &[usize]| (s[s.len() - 2], s[s.len() - 1]);
            let (from, to) = (plane(arg(0).1), plane(to));
            product::max_pool(arg(0).0, from, to, *k as usize, *stride as usize)
        }

        // The same elements in the same order: who has them shared need not come here.
        Reshape(_) | ToInt => arg(0).0.to_vec(),
        Transpose(_) | Slice { .. } | Broadcast(_) | Gather { .. } => {
            let mut out = Vec::with_capacity(to.iter().product());
            layout::moved(op, args, to, |run| layout::collect(arg(0).0, &mut out, run))
                .ok_or(NoValue::Index)?;
            out
        }
        Concat(axis) => {
            let axis = *axis as usize;
            let parts: Vec<_> =
                args.iter().map(|(x, shape)| (*x, shape[axis..].iter().product())).collect();
            layout::concat(&parts, to[..axis].iter().product())
        }
    })
}

fn encode<W: Word>(x: f64, frac: u32) -> Result<W, NoValue> {
    W::encode(x, frac).ok_or(NoValue::Overflow)
}

/// A number as a position.
pub(super) fn position(x: f64) -> Option<usize> {
    (x >= 0.0 && x.fract() == 0.0 && x < MOST_COMPUTED as f64).then_some(x as usize)
}

/// Of each number below n the last of its places in a row of an index, and the length of the row where it has none.
fn places<W: Word>(index: &[W], shape: &[usize], frac: u32, n: u64) -> Result<Vec<W>, NoValue> {
    let k = shape.last().copied().unwrap_or(0);
    let mut out = Vec::new();
    for row in index.chunks(k.max(1)) {
        let mut places = vec![k; n as usize];
        for (place, &number) in row.iter().enumerate() {
            if let Some(at) = position(number.decode(frac)).and_then(|at| places.get_mut(at)) {
                *at = place;
            }
        }
        for place in places {
            out.push(encode(place as f64, 0)?);
        }
    }
    Ok(out)
}
