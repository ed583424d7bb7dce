//! Products of matrices and convolutions: the sum of all elements of the product, each times a coefficient r s, is
//! an inner product of two vectors as long as the sums, which each verifier finds from its factor (Freivalds).

use super::algebra::Draw;
use slvr_circuit::proof::Claim;
use slvr_circuit::{Conv, Dom, Shape};
use slvr_ring::galois::{self, DEGREE, Element, Vector};
use slvr_ring::kernels::{self, ConvDims, MatMulDims, conv2d};
use slvr_ring::{Data, Words, layout};
use std::borrow::Cow;

/// A tensor of words.
type Tensor = (Data, Shape);

/// The statement of a reshared product, as one of the three sees it.
pub struct Long {
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

/// The product as [B, M, K] by [B, K, N] with coefficients r of (b, m) and s of n: the vector of each factor over
/// (b, k), and the sum over all elements of a tensor with the shape of the product.
struct Sums {
    left: Vector,
    right: Vector,
    total: Option<Element>,
}

/// Both coefficients: uniform exceptional points.
fn coefficients(draw: &mut Draw, rows: usize, columns: usize) -> [Vector; 2] {
    [rows, columns].map(|n| Vector::of_points(&draw.words(n)))
}

/// The sum over b, m and n of z[b, m, n] r[b, m] s[n]: over the shorter one of both first, so that what is left between is
/// short.
fn total(z: &Data, r: &Vector, s: &Vector, [b, m, n]: [usize; 3]) -> Element {
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
        return dot(&rebuilt(b * m, product(s.rows(), z, dims)), r);
    }
    dot(&rows_by(r, b, z, true, m, n), &Vector::concat(&vec![s; b], 0))
}

impl Long {
    /// The vectors of both products x1 y2 and y1 x2, and this party's share of the sum. The coefficients are
    /// drawn here.
    pub fn vectors(&self, draw: &mut Draw) -> (Vector, Element) {
        let Sums { left, right, total } = match &self.claim {
            Claim::MatMul { trans_b, .. } => self.matmul(*trans_b, draw),
            Claim::Conv { conv, .. } => self.conv(*conv, draw),
            _ => unreachable!("a product of matrices"),
        };
        let mut sum = total.unwrap_or(galois::zero());
        if self.sum.is_some() && self.first {
            // What V1 computes alone.
            sum = galois::sub(&sum, &dot(&left, &right));
        }
        sum = sum.map(|x| x << self.scale);
        let both = if self.first { [&left, &right] } else { [&right, &left] };
        let mut vector = Vector::concat(&both, 0);
        if self.first && self.scale > 0 {
            let shifted = vector.rows().iter().map(|x| x << self.scale).collect();
            vector = rebuilt(vector.len(), shifted);
        }
        (vector, sum)
    }

    fn matmul(&self, trans_b: bool, draw: &mut Draw) -> Sums {
        let [(a, sa), (b, sb)] = &self.operands;
        let dims = fitting(MatMulDims::of(sa, sb, trans_b));
        let [r, s] = coefficients(draw, dims.batch * dims.m, dims.n);
        let left = rows_by(&r, dims.batch, a, dims.a_batched, dims.m, dims.k);
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
        let x = product(s.rows(), b, one);
        let right = rebuilt(dims.batch * dims.k, by_degree(x, one.batch, dims.batch, dims.k));
        let sizes = [dims.batch, dims.m, dims.n];
        let total = self.sum.as_ref().map(|w| total(w, &r, &s, sizes));
        Sums { left, right, total }
    }

    fn conv(&self, conv: Conv, draw: &mut Draw) -> Sums {
        let [(x, sx), (w, sw)] = &self.operands;
        let &[g, n, o, h, wide] = &self.shape[..] else { unreachable!("images have five axes") };
        let (&[gx, _, c, _, _], &[gw, _, _, kh, kw]) = (&sx[..], &sw[..]) else {
            unreachable!("images and kernels have five axes")
        };
        let (groups, outputs, pixels) = (g as usize, o as usize, (n * h * wide) as usize);
        let [r, s] = coefficients(draw, groups * outputs, pixels);
        // The coefficients of pixels as kernels: images and channels change places, and step and dilation.
        let turned = transposed(x, sx);
        let shape = [gx, c, n, sx[3], sx[4]];
        let kernel = [1, DEGREE as u64, n, h, wide];
        let turn = Conv { stride: conv.dilation, dilation: conv.stride, ..conv };
        let dims = fitting(ConvDims::of(&shape, &kernel, turn));
        let length = (c * kh * kw) as usize;
        let sums = conv2d(words(&turned), &Words::W64(s.rows().to_vec()), dims);
        // Where the step leaves a rest of the image, there are more sums than the kernel has entries.
        let mut data = Data::Ring(sums);
        let mut at = fitting(turn.shape(&shape, &kernel));
        for (axis, len) in [(3, kh), (4, kw)] {
            data = layout::slice(&data, &at, axis, 0, len, 1);
            at[axis as usize] = len;
        }
        // [G, C, degree, kh, kw] to [G, degree, C kh kw].
        let left = slice(&transposed(&data, &at)).to_vec();
        let left = rebuilt(groups * length, by_degree(left, gx as usize, groups, length));
        let right = rows_by(&r, groups, w, gw == g, outputs, length);
        let total = self.sum.as_ref().map(|z| {
            let z = transposed(z, &self.shape);
            total(&z, &r, &s, [groups, outputs, pixels])
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

/// The inner product.
fn dot(u: &Vector, v: &Vector) -> Element {
    galois::cross(u, v, 1)[0]
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

    /// Whichever is added first, it is the sum of all elements times both coefficients.
    #[test]
    fn totals_are_sums_of_elements_times_coefficients() {
        let mut draw = Draw::new(&[5; 32], "slvr test");
        for [b, m, n] in [[1, 2, 7], [1, 7, 2], [3, 2, 4], [3, 4, 2]] {
            let z = draw.words(b * m * n);
            let [r, s] = coefficients(&mut draw, b * m, n);
            let mut want = galois::zero();
            for (i, z) in z.iter().enumerate() {
                let both = galois::mul(&r.get(i / n), &s.get(i % n));
                want = galois::add(&want, &galois::mul(&both, &galois::word(*z)));
            }
            let found = total(&Data::Ring(Words::W64(z)), &r, &s, [b, m, n]);
            assert_eq!(found, want, "[{b}, {m}, {n}]");
        }
    }
}
