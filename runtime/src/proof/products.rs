//! Products of matrices and convolutions: the sum of all elements of the product, each times a coefficient r s, is
//! an inner product of two vectors as long as the sums, which each verifier finds from its factor (Freivalds).

use super::algebra::{Algebra, Draw, OverWords};
use super::twice::Twice;
use slvr_circuit::proof::Claim;
use slvr_circuit::{Conv, Dom, Shape};
use slvr_ring::galois::{DEGREE, Element, Vector};
use slvr_ring::kernels::{self, ConvDims, MatMulDims, conv2d};
use slvr_ring::{Data, Words, layout};
use std::borrow::Cow;

/// A tensor of words.
type Tensor = (Data, Shape);

/// The statement of a reshared product, as one of the three sees it.
pub struct Long {
    /// Which product.
    pub claim: Claim,
    /// This party's component of the factors.
    pub operands: [Tensor; 2],
    /// Shape of the product.
    pub shape: Shape,
    /// Of a verifier w + F1, or -F2.
    pub sum: Option<Data>,
    /// Whether it is the first component.
    pub first: bool,
    /// By how many bits words are shifted to statements modulo 2^64.
    pub scale: u32,
}

/// A ring over which products of matrices are proven.
pub trait Freivalds: Algebra<Base = u64> {
    /// A vector of as many parts as [`Algebra::COEFFICIENT`] says.
    fn made(parts: Vec<Vector>) -> Self::V;
    /// Times 2^n.
    fn shifted(x: &Self::E, n: u32) -> Self::E;
    /// Every element times 2^n.
    fn all_shifted(v: &Self::V, n: u32) -> Self::V;
}

impl Freivalds for OverWords {
    fn made(mut parts: Vec<Vector>) -> Vector {
        match parts.pop() {
            Some(x) if parts.is_empty() => x,
            _ => unreachable!("one part"),
        }
    }
    fn shifted(x: &Element, n: u32) -> Element {
        x.map(|x| x << n)
    }
    fn all_shifted(v: &Vector, n: u32) -> Vector {
        rebuilt(v.len(), v.rows().iter().map(|x| x << n).collect())
    }
}

impl Freivalds for Twice<OverWords> {
    fn made(parts: Vec<Vector>) -> (Vector, Vector) {
        match <[Vector; 2]>::try_from(parts) {
            Ok([a, b]) => (a, b),
            Err(_) => unreachable!("two parts"),
        }
    }
    fn shifted((a, b): &(Element, Element), n: u32) -> (Element, Element) {
        (OverWords::shifted(a, n), OverWords::shifted(b, n))
    }
    fn all_shifted((a, b): &(Vector, Vector), n: u32) -> (Vector, Vector) {
        (OverWords::all_shifted(a, n), OverWords::all_shifted(b, n))
    }
}

/// The product as [B, M, K] by [B, K, N] with coefficients r of (b, m) and s of n: the vector of each factor over
/// (b, k), and the sum over all elements of a tensor with the shape of the product.
struct Sums<A: Algebra> {
    left: A::V,
    right: A::V,
    total: Option<A::E>,
}

/// Both coefficients in their parts.
fn coefficients<A: Freivalds>(draw: &mut Draw, rows: usize, columns: usize) -> [Vec<Vector>; 2] {
    [rows, columns].map(|n| (0..A::COEFFICIENT).map(|_| points(draw, n)).collect())
}

/// The sum over b, m and n of z[b, m, n] r[b, m] s[n]: over the shorter one of both first, so that what is left between is
/// short.
fn total<A: Freivalds>(z: &Data, r: Vec<Vector>, s: Vec<Vector>, [b, m, n]: [usize; 3]) -> A::E {
    if m <= n {
        let dims = MatMulDims {
            batch: 1,
            a_batched: true,
            b_batched: true,
            m: DEGREE,
            k: n,
            n: b * m,
            trans_b: true,
        };
        let by = |s: &Vector| rebuilt(b * m, product(s.rows(), z, dims));
        return A::cross(&A::made(s.iter().map(by).collect()), &A::made(r), 1)[0];
    }
    let x = A::made(r.iter().map(|r| rows_by(r, b, z, true, m, n)).collect());
    A::cross(&x, &A::concat(&vec![&A::made(s); b], 0), 1)[0]
}

impl Long {
    /// The vectors of both products x1 y2 and y1 x2, and this party's share of the sum. The coefficients are
    /// drawn here.
    pub fn vectors<A: Freivalds>(&self, draw: &mut Draw) -> (A::V, A::E) {
        let Sums { left, right, total } = match &self.claim {
            Claim::MatMul { trans_b, .. } => self.matmul::<A>(*trans_b, draw),
            Claim::Conv { conv, .. } => self.conv::<A>(*conv, draw),
            _ => unreachable!("a product of matrices"),
        };
        let mut sum = total.unwrap_or(A::zero());
        if self.sum.is_some() && self.first {
            // What V1 computes alone.
            sum = A::sub(&sum, &A::cross(&left, &right, 1)[0]);
        }
        sum = A::shifted(&sum, self.scale);
        let both = if self.first { [&left, &right] } else { [&right, &left] };
        let mut vector = A::concat(&both, 0);
        if self.first && self.scale > 0 {
            vector = A::all_shifted(&vector, self.scale);
        }
        (vector, sum)
    }

    fn matmul<A: Freivalds>(&self, trans_b: bool, draw: &mut Draw) -> Sums<A> {
        let [(a, sa), (b, sb)] = &self.operands;
        let dims = fitting(MatMulDims::of(sa, sb, trans_b));
        let [r, s] = coefficients::<A>(draw, dims.batch * dims.m, dims.n);
        let rows = |x: &Data, batched: bool, k: usize| {
            r.iter().map(|r| rows_by(r, dims.batch, x, batched, dims.m, k)).collect::<Vec<_>>()
        };
        let left = A::made(rows(a, dims.a_batched, dims.k));
        // s by the transposed right factor.
        let one = MatMulDims {
            batch: if dims.b_batched { dims.batch } else { 1 },
            a_batched: false,
            b_batched: true,
            m: DEGREE,
            k: dims.n,
            n: dims.k,
            trans_b: !trans_b,
        };
        let by = |s: &Vector| {
            let x = product(s.rows(), b, one);
            rebuilt(dims.batch * dims.k, by_degree(x, one.batch, dims.batch, dims.k))
        };
        let right = A::made(s.iter().map(by).collect());
        let sizes = [dims.batch, dims.m, dims.n];
        let total = self.sum.as_ref().map(|w| total::<A>(w, r, s, sizes));
        Sums { left, right, total }
    }

    fn conv<A: Freivalds>(&self, conv: Conv, draw: &mut Draw) -> Sums<A> {
        let [(x, sx), (w, sw)] = &self.operands;
        let &[g, n, o, h, wide] = &self.shape[..] else { unreachable!("images have five axes") };
        let (&[gx, _, c, _, _], &[gw, _, _, kh, kw]) = (&sx[..], &sw[..]) else {
            unreachable!("images and kernels have five axes")
        };
        let (groups, outputs, pixels) = (g as usize, o as usize, (n * h * wide) as usize);
        let [r, s] = coefficients::<A>(draw, groups * outputs, pixels);
        // The coefficients of pixels as kernels: images and channels change places, and step and dilation.
        let turned = transposed(x, sx);
        let shape = [gx, c, n, sx[3], sx[4]];
        let kernel = [1, DEGREE as u64, n, h, wide];
        let turn = Conv { stride: conv.dilation, dilation: conv.stride, ..conv };
        let dims = fitting(ConvDims::of(&shape, &kernel, turn));
        let length = (c * kh * kw) as usize;
        let by = |s: &Vector| {
            let sums = conv2d(words(&turned), &Words::W64(s.rows().to_vec()), dims);
            let found = fitting(turn.shape(&shape, &kernel));
            // Where the step leaves a rest of the image, there are more sums than the kernel has entries.
            let mut data = Data::Ring(sums);
            let mut at = found;
            for (axis, len) in [(3, kh), (4, kw)] {
                data = layout::slice(&data, &at, axis, 0, len, 1);
                at[axis as usize] = len;
            }
            // [G, C, degree, kh, kw] to [G, degree, C kh kw].
            let left = slice(&transposed(&data, &at)).to_vec();
            rebuilt(groups * length, by_degree(left, gx as usize, groups, length))
        };
        let left = A::made(s.iter().map(by).collect());
        let rows = |x: &Data, batched: bool, k: usize| {
            r.iter().map(|r| rows_by(r, groups, x, batched, outputs, k)).collect::<Vec<_>>()
        };
        let right = A::made(rows(w, gw == g, length));
        let total = self.sum.as_ref().map(|z| {
            let z = transposed(z, &self.shape);
            total::<A>(&z, r, s, [groups, outputs, pixels])
        });
        Sums { left, right, total }
    }
}

/// For each of `batch` matrices of m rows and k columns the sum of its rows times coefficients: elements (b, k).
fn rows_by(r: &Vector, batch: usize, x: &Data, batched: bool, m: usize, k: usize) -> Vector {
    // [degree, batch, m] to [batch, degree, m].
    let mut left = Cow::Borrowed(r.rows());
    if batch > 1 {
        let row = |b: usize, i: usize| &r.row(i)[b * m..(b + 1) * m];
        let all = (0..batch).flat_map(|b| (0..DEGREE).map(move |i| (b, i)));
        left = Cow::Owned(all.flat_map(|(b, i)| row(b, i)).copied().collect());
    }
    let dims = MatMulDims {
        batch,
        a_batched: true,
        b_batched: batched,
        m: DEGREE,
        k: m,
        n: k,
        trans_b: false,
    };
    let all = product(&left, x, dims);
    rebuilt(batch * k, by_degree(all, batch, batch, k))
}

/// [given, degree, n] to [degree, batch, n], with given = batch, or 1 for all.
fn by_degree(x: Vec<u64>, given: usize, batch: usize, n: usize) -> Vec<u64> {
    if batch == 1 {
        return x;
    }
    let mut out = Vec::with_capacity(DEGREE * batch * n);
    for i in 0..DEGREE {
        for b in 0..batch {
            let at = (if given == 1 { 0 } else { b } * DEGREE + i) * n;
            out.extend_from_slice(&x[at..at + n]);
        }
    }
    out
}

/// Images and channels, or images and outputs, change places.
fn transposed(x: &Data, shape: &[u64]) -> Data {
    layout::transpose(x, shape, &[0, 2, 1, 3, 4])
}

/// The product of coefficients and words.
fn product(left: &[u64], right: &Data, dims: MatMulDims) -> Vec<u64> {
    kernels::product(left, slice(right), dims)
}

/// Uniform exceptional points.
fn points(draw: &mut Draw, n: usize) -> Vector {
    Vector::of_points(&draw.words(n))
}

fn rebuilt(n: usize, rows: Vec<u64>) -> Vector {
    match Vector::from_rows(n, rows) {
        Some(v) => v,
        None => unreachable!("a row for each degree"),
    }
}

fn words(x: &Data) -> &Words {
    match x {
        Data::Ring(words) => words,
        Data::Bits(_) => unreachable!("products of words"),
    }
}

/// Its words of 64 bits.
fn slice(x: &Data) -> &[u64] {
    match words(x) {
        Words::W64(x) => x,
        x => unreachable!("words of 64 bits, over {}", Dom::Ring(x.bits())),
    }
}

/// Dimensions that the verifier has found to fit.
fn fitting<T>(x: Option<T>) -> T {
    match x {
        Some(x) => x,
        None => unreachable!("the verifier admits only operands that fit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_ring::galois;

    /// Whichever is added first, it is the sum of all elements times both coefficients.
    #[test]
    fn totals_are_sums_of_elements_times_coefficients() {
        let mut draw = Draw::new(&[5; 32], "slvr test");
        for [b, m, n] in [[1, 2, 7], [1, 7, 2], [3, 2, 4], [3, 4, 2]] {
            let z = draw.words(b * m * n);
            let [r, s] = coefficients::<OverWords>(&mut draw, b * m, n);
            let mut want = OverWords::zero();
            for (i, z) in z.iter().enumerate() {
                let both = OverWords::mul(&r[0].get(i / n), &s[0].get(i % n));
                want = OverWords::add(&want, &OverWords::mul(&both, &galois::word(*z)));
            }
            assert_eq!(
                total::<OverWords>(&Data::Ring(Words::W64(z)), r, s, [b, m, n]),
                want,
                "[{b}, {m}, {n}]"
            );
        }
    }
}
