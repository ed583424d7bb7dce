//! The rule of shapes of each operation.

use super::data::Op;

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

pub(crate) fn need(ok: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if ok { Ok(()) } else { Err(why()) }
}

/// Shape without one axis.
pub fn without(shape: &[u64], axis: u64) -> Result<Vec<u64>, String> {
    need((axis as usize) < shape.len(), || format!("no axis {axis} in {shape:?}"))?;
    let mut out = shape.to_vec();
    out.remove(axis as usize);
    Ok(out)
}

/// The shape of `op` applied to operands of the given shapes, of which there are as many as it takes.
/// Shapes of inputs and party sets stand in the interface: `input` gives that of input number i.
pub(crate) fn shape_of(
    op: &Op,
    args: &[&[u64]],
    input: impl Fn(u32) -> Result<Vec<u64>, String>,
) -> Result<Vec<u64>, String> {
    use Op::*;
    let s = |i: usize| args[i];
    Ok(match op {
        Input(i) => input(*i)?,
        Noise { shape, .. } => shape.clone(),
        Const(t, ..) => {
            need(t.data.len() == 1 || t.data.len() == t.len(), || "table of wrong size".into())?;
            t.shape.clone()
        }
        Draw(lots) => vec![lots.rows, lots.k],
        Places(n) => {
            let (_, rows) = s(0).split_last().ok_or("an index without an axis")?;
            [rows, &[*n]].concat()
        }
        Pairs { table, n } => table.shape(*n),
        Add | Sub | Mul | Div | Lt | Eq | And | Xor => align(s(0), s(1))?,
        Select => align(&align(s(0), s(1))?, s(2))?,
        Gate => {
            need(s(0) == s(1), || "gate of unequal shapes".into())?;
            s(0).to_vec()
        }
        Neg | Scale(_) | Not | ToInt | Relu | Saturate(_) | Abs | Function(_) | Sort | Trunc(_)
        | Shift(_) | DivPow2(_) | MulPow2(_) => s(0).to_vec(),
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
            need(s(0) == s(1), || "argmax_is of unequal shapes".into())?;
            without(s(0), (s(0).len() as u64).wrapping_sub(1))?
        }
        MatMul { trans_b } => {
            need(s(0).len() == 3 && s(1).len() == 3, || "matmul takes rank 3".into())?;
            let batch = align(&s(0)[..1], &s(1)[..1])?[0];
            let (n, k) = if *trans_b { (s(1)[1], s(1)[2]) } else { (s(1)[2], s(1)[1]) };
            need(k == s(0)[2], || format!("inner sizes {} and {k} differ", s(0)[2]))?;
            vec![batch, s(0)[1], n]
        }
        Conv2d(conv) => {
            let shape = conv.shape(s(0), s(1));
            shape
                .ok_or_else(|| format!("images {:?} and kernels {:?} do not fit", s(0), s(1)))?
                .to_vec()
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
                let same = without(t, *axis)? == without(s(0), *axis)?;
                need(same, || "concatenation of unequal shapes".into())?;
                out[a] += t[a];
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
