//! Products of matrices and convolutions: the sum of all elements of the product, each times a coefficient r s, is
//! an inner product of two vectors as long as the sums, which each verifier finds from its factor (Freivalds).

use super::algebra::Draw;
use slvr_circuit::proof::Claim;
use slvr_circuit::{Conv, Shape};
use slvr_ring::galois::{self, Element, Factors, Points, Vector};
use slvr_ring::kernels::{ConvDims, MatMulDims};
use slvr_ring::threads;
use std::borrow::Cow;

/// A tensor of words.
type Tensor<'a> = (Cow<'a, [u64]>, Shape);

/// The statement of a reshared product, as one of the three sees it.
pub struct Long<'a> {
    pub claim: Claim,
    /// This party's component of the factors.
    pub operands: [Tensor<'a>; 2],
    /// Shape of the product.
    pub shape: Shape,
    /// Of a verifier w + F1, or -F2.
    pub sum: Option<Vec<u64>>,
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

/// One of several matrices of words, with rows and columns where they lie in it.
struct Matrices<'a> {
    words: &'a [u64],
    /// Words from one to the next, or 0 if there is but one, which is repeated.
    step: usize,
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl Matrices<'_> {
    /// Of so many matrices the sums of their rows times points: for all the same, or for each its own.
    fn sums(&self, batch: usize, points: &Points) -> Vector {
        let each = points.len() > self.rows.len();
        let shared = Factors::new(if each { &[] } else { points });
        let of = |b: usize| {
            let words = &self.words[b * self.step..];
            match points.get(b * self.rows.len()..(b + 1) * self.rows.len()).filter(|_| each) {
                Some(own) => Factors::new(own).sums(words, &self.rows, &self.columns),
                None => shared.sums(words, &self.rows, &self.columns),
            }
        };
        let once = !each && self.step == 0;
        let all = threads::map(0..if once { batch.min(1) } else { batch }, &of);
        let all: Vec<&Vector> = all.iter().cycle().take(batch).collect();
        Vector::concat(&all, 0)
    }
}

/// Places so far apart.
fn every(step: usize, n: usize) -> Vec<usize> {
    (0..n).map(|i| i * step).collect()
}

/// The sum over b, m and n of z[b, m, n] r[b, m] s[n], where rows are m and columns n: over the shorter one of both first,
/// so that what is left between is short.
fn total(z: Matrices<'_>, batch: usize, r: &Points, s: &Points) -> Element {
    if z.rows.len() <= z.columns.len() {
        let turned = Matrices { rows: z.columns, columns: z.rows, ..z };
        return dot(&turned.sums(batch, s), &Vector::of_points(r));
    }
    dot(&z.sums(batch, r), &Vector::of_points(&s.repeat(batch)))
}

impl Long<'_> {
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
        let MatMulDims { batch, a_batched, b_batched, m, k, n, .. } =
            fitting(MatMulDims::of(sa, sb, trans_b));
        let [r, s] = [batch * m, n].map(|n| draw.words(n));
        let step = |batched: bool, n: usize| if batched { n } else { 0 };
        let left = Matrices {
            words: a,
            step: step(a_batched, m * k),
            rows: every(k, m),
            columns: every(1, k),
        };
        // s by the transposed right factor.
        let (rows, columns) =
            if trans_b { (every(k, n), every(1, k)) } else { (every(1, n), every(n, k)) };
        let right = Matrices { words: b, step: step(b_batched, n * k), rows, columns };
        let z = |words| Matrices { words, step: m * n, rows: every(n, m), columns: every(1, n) };
        Sums {
            left: left.sums(batch, &r),
            right: right.sums(batch, &s),
            total: self.sum.as_deref().map(|w| total(z(w), batch, &r, &s)),
        }
    }

    /// Of a convolution rows of the left factor are output pixels, and its columns the entries of a kernel.
    fn conv(&self, conv: Conv, draw: &mut Draw) -> Sums {
        let [(x, sx), (w, sw)] = &self.operands;
        let d = fitting(ConvDims::of(sx, sw, conv));
        let (pixels, length, pad) = (d.out_h() * d.out_w(), d.c * d.kh * d.kw, conv.pad as usize);
        let [r, s] = [d.g * d.o, d.n * pixels].map(|n| draw.words(n));
        let (height, wide) = (d.h + 2 * pad, d.w + 2 * pad);
        let images = if d.x_batched { d.g } else { 1 } * d.n * d.c;
        let x = match pad {
            0 => Cow::Borrowed(&x[..]),
            pad => Cow::Owned(padded(x, images, [d.h, d.w], pad)),
        };
        let image = d.c * height * wide;
        let place = |step: u64, y: usize, x: usize| step as usize * (y * wide + x);
        let of_pixel = |i: usize| {
            let (n, y, x) = (i / pixels, i % pixels / d.out_w(), i % d.out_w());
            n * image + place(conv.stride, y, x)
        };
        let of_entry = |i: usize| {
            let (c, y, x) = (i / (d.kh * d.kw), i / d.kw % d.kh, i % d.kw);
            c * height * wide + place(conv.dilation, y, x)
        };
        let patches = Matrices {
            words: &x,
            step: if d.x_batched { d.n * image } else { 0 },
            rows: (0..d.n * pixels).map(of_pixel).collect(),
            columns: (0..length).map(of_entry).collect(),
        };
        let kernels = Matrices {
            words: w,
            step: if d.w_batched { d.o * length } else { 0 },
            rows: every(length, d.o),
            columns: every(1, length),
        };
        let at = |i: usize| i / pixels * d.o * pixels + i % pixels;
        let z = |words| Matrices {
            words,
            step: d.n * d.o * pixels,
            rows: every(pixels, d.o),
            columns: (0..d.n * pixels).map(at).collect(),
        };
        Sums {
            left: patches.sums(d.g, &s),
            right: kernels.sums(d.g, &r),
            total: self.sum.as_deref().map(|w| total(z(w), d.g, &r, &s)),
        }
    }
}

/// Images with zeros on each side.
fn padded(x: &[u64], images: usize, [h, w]: [usize; 2], pad: usize) -> Vec<u64> {
    let wide = w + 2 * pad;
    let size = (h + 2 * pad) * wide;
    let mut out = vec![0; images * size];
    if h * w == 0 {
        return out;
    }
    for (from, to) in x.chunks_exact(h * w).zip(out.chunks_exact_mut(size)) {
        let rows = from.chunks_exact(w).zip(to[pad * wide..].chunks_exact_mut(wide));
        rows.for_each(|(from, to)| to[pad..pad + w].copy_from_slice(from));
    }
    out
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
            let points = [b * m, n].map(|n| draw.words(n));
            let [r, s] = points.each_ref().map(|x| Vector::<u64>::of_points(x));
            let mut want = galois::zero();
            for (i, z) in z.iter().enumerate() {
                let both = galois::mul(&r.get(i / n), &s.get(i % n));
                want = galois::add(&want, &galois::mul(&both, &galois::word(*z)));
            }
            let (rows, columns) = (every(n, m), every(1, n));
            let z = Matrices { words: &z, step: m * n, rows, columns };
            let found = total(z, b, &points[0], &points[1]);
            assert_eq!(found, want, "[{b}, {m}, {n}]");
        }
    }

    /// Image (g, n, c, y, x), which are zeros outside, by kernel (g, o, c, ky, kx), as it is written down.
    fn convolution(x: (&[u64], &[u64]), w: (&[u64], &[u64]), conv: Conv) -> Vec<u64> {
        let ((x, sx), (w, sw)) = (x, w);
        let (g, out) = (sx[0].max(sw[0]), |n, k| conv.output(n, k).unwrap());
        let (height, width) = (out(sx[3], sw[3]), out(sx[4], sw[4]));
        let mut z = Vec::new();
        let all = |n: u64| 0..n;
        for (g, n) in all(g).flat_map(|g| all(sx[1]).map(move |n| (g, n))) {
            for (o, y) in all(sw[1]).flat_map(|o| all(height).map(move |y| (o, y))) {
                for left in all(width) {
                    let mut sum = 0u64;
                    for (c, ky) in all(sx[2]).flat_map(|c| all(sw[3]).map(move |k| (c, k))) {
                        for kx in all(sw[4]) {
                            let at = |at: u64, k: u64| {
                                (at * conv.stride + k * conv.dilation).checked_sub(conv.pad)
                            };
                            let (Some(y), Some(x_)) = (at(y, ky), at(left, kx)) else { continue };
                            if y >= sx[3] || x_ >= sx[4] {
                                continue;
                            }
                            let image = (g % sx[0] * sx[1] + n) * sx[2] + c;
                            let kernel = (g % sw[0] * sw[1] + o) * sw[2] + c;
                            let pixel = x[((image * sx[3] + y) * sx[4] + x_) as usize];
                            let entry = w[((kernel * sw[3] + ky) * sw[4] + kx) as usize];
                            sum = sum.wrapping_add(pixel.wrapping_mul(entry));
                        }
                    }
                    z.push(sum);
                }
            }
        }
        z
    }

    /// Both verifiers' vectors have the product that their sums say, with strides, borders and dilation; and another one if a word
    /// of the result is wrong.
    #[test]
    fn convolutions_are_proven_as_they_are_written_down() {
        let mut draw = Draw::new(&[6; 32], "slvr test");
        for case in 0..60 {
            let mut below = |n: u64| 1 + draw.word() % n;
            let conv = Conv { pad: below(3) - 1, dilation: below(3), ..Conv::new(below(2), 0) };
            let (kernel, batch) = ([below(3), below(3)], below(3));
            let size = kernel.map(|k| conv.dilation * (k - 1) + below(4));
            let (n, c, o) = (below(2), below(3), below(3));
            let [gx, gw] = [[batch, batch], [1, batch], [batch, 1]][case % 3];
            let sx = vec![gx, n, c, size[0], size[1]];
            let sw = vec![gw, o, c, kernel[0], kernel[1]];
            let out = [0, 1].map(|i| conv.output(size[i], kernel[i]).unwrap());
            let shape = vec![batch, n, o, out[0], out[1]];
            let mut words = |shape: &[u64]| {
                (0..shape.iter().product()).map(|_| draw.word()).collect::<Vec<_>>()
            };
            let [x1, x2] = [words(&sx), words(&sx)];
            let [w1, w2] = [words(&sw), words(&sw)];
            let mask = words(&shape);
            let by = |x: &[u64], w: &[u64]| convolution((x, &sx), (w, &sw), conv);
            // What V1 computes alone, and what both together.
            let mut first = by(&x1, &w1);
            for part in [by(&x1, &w2), by(&x2, &w1), mask.clone()] {
                first.iter_mut().zip(part).for_each(|(f, p)| *f = f.wrapping_add(p));
            }
            let second: Vec<u64> = mask.iter().map(|m| m.wrapping_neg()).collect();
            let claim = |x, w| Claim::Conv { x, w, conv, parted: None };
            let scale = (case as u32 % 2) * 32;
            let side = |[x, w]: [&[u64]; 2], sum: &[u64], is_first| {
                let long = Long {
                    claim: claim(slvr_circuit::ValueId(0), slvr_circuit::ValueId(1)),
                    operands: [(Cow::Borrowed(x), sx.clone()), (Cow::Borrowed(w), sw.clone())],
                    shape: shape.clone(),
                    sum: Some(sum.to_vec()),
                    first: is_first,
                    scale,
                };
                long.vectors(&mut Draw::new(&[case as u8; 32], "slvr test of coefficients"))
            };
            let (v, s2) = side([&x2, &w2], &second, false);
            for wrong in [false, true] {
                let mut first = first.clone();
                let last = first.len() - 1;
                first[last] ^= u64::from(wrong);
                let (u, s1) = side([&x1, &w1], &first, true);
                assert_eq!(dot(&u, &v) == galois::add(&s1, &s2), !wrong, "{case}: {sx:?} {sw:?}");
            }
        }
    }
}
