//! The kernels against the definitions, over random shapes, and shapes chosen for each path.

use super::*;
use crate::{Word, each_word, with_width};
use proptest::prelude::*;
use slvr_circuit::Conv;

fn sample(k: u32, n: usize, seed: u64) -> Words {
    let mut next = crate::testing::words(seed);
    let xs: Vec<u128> = (0..n).map(|_| u128::from(next()) << 64 | u128::from(next())).collect();
    Words::from_u128s(k, &xs)
}

fn naive_matmul<T: Word>(a: &[T], b: &[T], d: &MatMulDims) -> Words {
    let mut out = vec![T::ZERO; d.batch * d.m * d.n];
    for g in 0..d.batch {
        let (ga, gb) = (if d.a_batched { g } else { 0 }, if d.b_batched { g } else { 0 });
        for i in 0..d.m {
            for j in 0..d.n {
                for p in 0..d.k {
                    let at = if d.trans_b { j * d.k + p } else { p * d.n + j };
                    let o = &mut out[(g * d.m + i) * d.n + j];
                    let x = a[(ga * d.m + i) * d.k + p].wmul(b[gb * d.k * d.n + at]);
                    *o = o.wadd(x);
                }
            }
        }
    }
    T::wrap(out)
}

fn naive_conv<T: Word>(x: &[T], w: &[T], d: &ConvDims) -> Words {
    let (oh, ow) = (d.out_h(), d.out_w());
    let mut out = Vec::new();
    for g in 0..d.g {
        let (gx, gw) = (if d.x_batched { g } else { 0 }, if d.w_batched { g } else { 0 });
        for n in 0..d.n {
            for o in 0..d.o {
                for y in 0..oh {
                    for z in 0..ow {
                        let mut s = T::ZERO;
                        let depth = d.of_group().c;
                        for (c, i, j) in (0..depth)
                            .flat_map(|c| (0..d.kh).map(move |i| (c, i)))
                            .flat_map(|(c, i)| (0..d.kw).map(move |j| (c, i, j)))
                        {
                            let iy = y * d.stride() + i * d.dilation();
                            let ix = z * d.stride() + j * d.dilation();
                            let from = o / d.of_group().o * depth + c;
                            if iy < d.pad()
                                || ix < d.pad()
                                || iy >= d.h + d.pad()
                                || ix >= d.w + d.pad()
                            {
                                continue;
                            }
                            let xi = (((gx * d.n + n) * d.c + from) * d.h + iy - d.pad()) * d.w
                                + ix
                                - d.pad();
                            let wi = (((gw * d.o + o) * depth + c) * d.kh + i) * d.kw + j;
                            s = s.wadd(x[xi].wmul(w[wi]));
                        }
                        out.push(s);
                    }
                }
            }
        }
    }
    T::wrap(out)
}

fn check_matmul(k: u32, d: MatMulDims, seed: u64) {
    let [la, lb, lc] = d.lens();
    let (a, b) = (sample(k, la, seed), sample(k, lb, !seed));
    let want = zip_words!((&a, &b), (a, b) => naive_matmul(a, b, &d));
    assert!(matmul(&a, &b, d) == want, "{k} bits, {d:?}");
    for isa in Isa::all() {
        let mut out = Words::zeros(k, lc);
        zip_words!((&a, &b), (a, b) => matmul::run(same_width(&mut out, a), a, b, d, isa));
        assert!(out == want, "{isa:?}, {k} bits, {d:?}");
    }
    let mut out = Words::zeros(k, lc);
    matmul_acc(&mut out, &a, &b, d);
    matmul_acc(&mut out, &a, &b, d);
    let twice = with_width!(k, T => {
        let v = each_word!(&want, v => v.iter().map(|x| T::from_u128(x.to_u128())).collect::<Vec<T>>());
        T::wrap(v.into_iter().map(|x| x.wadd(x)).collect())
    });
    assert!(out == twice, "accumulating, {k} bits, {d:?}");
}

fn check_conv(k: u32, d: ConvDims, seed: u64) {
    let [lx, lw, lo] = d.lens();
    let (x, w) = (sample(k, lx, seed), sample(k, lw, !seed));
    let want = zip_words!((&x, &w), (x, w) => naive_conv(x, w, &d));
    assert!(conv2d(&x, &w, d) == want, "{k} bits, {d:?}");
    for isa in Isa::all() {
        let mut out = Words::zeros(k, lo);
        zip_words!((&x, &w), (x, w) => conv::run(same_width(&mut out, x), x, w, d, isa));
        assert!(out == want, "{isa:?}, {k} bits, {d:?}");
    }
}

fn width() -> impl Strategy<Value = u32> {
    proptest::sample::select(vec![8u32, 16, 32, 64, 128])
}

proptest! {
    #[test]
    fn matrix_products(
        k in width(), batch in 1usize..4, batched: (bool, bool), trans_b: bool,
        dims in (0usize..40, 0usize..40, 0usize..80), seed: u64,
    ) {
        let (m, kk, n) = dims;
        let batch = if batched.0 || batched.1 { batch } else { 1 };
        let d = MatMulDims {
            batch, a_batched: batched.0, b_batched: batched.1, m, k: kk, n, trans_b,
        };
        check_matmul(k, d, seed);
    }

    #[test]
    fn convolutions(
        k in width(), batched: (bool, bool), g in 1usize..3, n in 0usize..3, o in 0usize..6,
        x in (0usize..3, 1usize..9, 1usize..9), kernel in (1usize..4, 1usize..4),
        (stride, pad) in (1u64..4, 0u64..5), (dilation, groups) in (1u64..4, 1u64..5), seed: u64,
    ) {
        let g = if batched.0 || batched.1 { g } else { 1 };
        let (c, o) = (x.0 * groups as usize, o * groups as usize);
        let d = ConvDims {
            g, x_batched: batched.0, w_batched: batched.1, n, c, h: x.1, w: x.2, o,
            kh: kernel.0, kw: kernel.1, conv: Conv { stride, pad, dilation, groups },
        };
        check_conv(k, d, seed);
    }
}

/// Shapes that reach each way of spreading work over threads, and blocks beyond the first.
#[test]
fn large_matrix_products() {
    let one =
        MatMulDims { batch: 1, a_batched: true, b_batched: true, m: 1, k: 1, n: 1, trans_b: false };
    for (m, k, n) in [
        (150, 300, 70), // rows apart, two blocks of sums
        (5, 9000, 6),   // sums apart
        (6, 30, 1500),  // columns apart
        (1, 70_000, 1), // one long dot product
        (300, 600, 1),  // many dot products
        (2, 100, 3000), // scaled rows
        (40, 64, 64),
    ] {
        for trans_b in [false, true] {
            check_matmul(64, MatMulDims { m, k, n, trans_b, ..one }, 5);
        }
        check_matmul(32, MatMulDims { m, k, n, batch: 3, b_batched: false, ..one }, 6);
    }
}

#[test]
fn large_convolutions() {
    let d = ConvDims {
        g: 1,
        x_batched: true,
        w_batched: true,
        n: 1,
        c: 32,
        h: 17,
        w: 15,
        o: 11,
        kh: 3,
        kw: 3,
        conv: Conv::new(1, 1),
    };
    check_conv(64, d, 1);
    check_conv(64, ConvDims { n: 5, conv: Conv::new(2, 1), ..d }, 2);
    check_conv(128, ConvDims { g: 2, w_batched: false, n: 2, ..d }, 3);
    check_conv(16, ConvDims { g: 3, x_batched: false, c: 3, h: 33, w: 30, kh: 5, kw: 5, ..d }, 4);
    // Few and many groups of channels, on few images and on many.
    for (n, groups, dilation) in [(1, 2, 1), (1, 32, 1), (9, 2, 2), (9, 32, 3)] {
        let conv = Conv { dilation, groups, ..Conv::new(1, 2) };
        check_conv(64, ConvDims { n, o: 64, conv, ..d }, 5);
        check_conv(32, ConvDims { n, g: 2, x_batched: false, o: 64, conv, ..d }, 6);
    }
}

/// Widths of the result that make runs of every length, one image and several to a block of columns,
/// with rows of the left operand packed and in place.
#[test]
fn convolutions_of_every_run() {
    let d = ConvDims {
        g: 1,
        x_batched: true,
        w_batched: true,
        n: 3,
        c: 2,
        h: 5,
        w: 5,
        o: 9,
        kh: 3,
        kw: 3,
        conv: Conv::new(1, 1),
    };
    for width in [1, 2, 4, 7, 8, 10, 16, 24, 32, 33] {
        for k in [8, 16, 32, 64, 128] {
            check_conv(k, ConvDims { w: width, ..d }, 1);
            check_conv(k, ConvDims { w: width, conv: Conv::new(2, 1), n: 1, ..d }, 2);
            check_conv(k, ConvDims { w: width, kh: 1, kw: 1, conv: Conv::new(1, 0), n: 2, ..d }, 3);
        }
    }
    for k in [64, 128] {
        check_conv(k, ConvDims { c: 40, h: 4, w: 4, n: 70, o: 20, ..d }, 4);
        check_conv(k, ConvDims { c: 1, h: 40, w: 40, n: 2, o: 3, ..d }, 5);
    }
}

/// More rows than a packed block of the left operand has, more columns than one of the right has, and
/// sums over several blocks.
#[test]
fn products_of_several_blocks() {
    let one =
        MatMulDims { batch: 1, a_batched: true, b_batched: true, m: 1, k: 1, n: 1, trans_b: false };
    for (k, m, sums, n) in [(64, 203, 300, 1033), (128, 197, 140, 70), (8, 5, 600, 200)] {
        check_matmul(k, MatMulDims { m, k: sums, n, ..one }, 7);
        check_matmul(k, MatMulDims { m, k: sums, n, trans_b: true, ..one }, 8);
    }
}

#[test]
fn a_kernel_larger_than_the_padded_image_has_no_output() {
    let d = ConvDims {
        g: 1,
        x_batched: true,
        w_batched: true,
        n: 1,
        c: 1,
        h: 2,
        w: 2,
        o: 1,
        kh: 5,
        kw: 1,
        conv: Conv::new(1, 1),
    };
    assert_eq!((d.out_h(), d.out_w()), (0, 4));
    assert!(conv2d(&sample(64, 4, 1), &sample(64, 5, 1), d).is_empty());
}

#[test]
#[should_panic(expected = "do not fit")]
fn lengths_must_fit() {
    let d =
        MatMulDims { batch: 1, a_batched: true, b_batched: true, m: 2, k: 2, n: 2, trans_b: false };
    matmul(&Words::zeros(8, 4), &Words::zeros(8, 3), d);
}

#[test]
fn dimensions_from_shapes() {
    let d = MatMulDims::of(&[1, 2, 3], &[5, 4, 3], true).unwrap();
    assert_eq!(d.lens(), [6, 60, 40]);
    assert!(!d.a_batched && d.b_batched);
    assert!(MatMulDims::of(&[2, 2, 3], &[5, 3, 4], false).is_none());
    assert!(MatMulDims::of(&[1, 2, 3], &[1, 4, 3], false).is_none());
    let d = ConvDims::of(&[3, 2, 1, 5, 6], &[1, 4, 1, 3, 3], Conv::new(2, 1)).unwrap();
    assert_eq!(d.lens(), [180, 36, 3 * 2 * 4 * 3 * 3]);
    assert!(ConvDims::of(&[3, 2, 1, 5, 6], &[1, 4, 2, 3, 3], Conv::PLAIN).is_none());
    assert!(ConvDims::of(&[3, 2, 1, 5, 6], &[1, 4, 1, 3, 3], Conv::new(0, 0)).is_none());
    let two = Conv { groups: 2, ..Conv::PLAIN };
    let d = ConvDims::of(&[1, 2, 4, 5, 6], &[1, 6, 2, 3, 3], two).unwrap();
    assert_eq!(d.lens(), [2 * 4 * 30, 6 * 2 * 9, 2 * 6 * 12]);
    assert!(ConvDims::of(&[1, 2, 4, 5, 6], &[1, 6, 4, 3, 3], two).is_none());
    assert!(ConvDims::of(&[1, 2, 4, 5, 6], &[1, 5, 2, 3, 3], two).is_none());
    for conv in [Conv { groups: 0, ..Conv::PLAIN }, Conv { dilation: 0, ..Conv::PLAIN }] {
        assert!(ConvDims::of(&[3, 2, 1, 5, 6], &[1, 4, 1, 3, 3], conv).is_none());
    }
}

#[test]
fn squares_of_rows() {
    for (k, rows, d) in [(8, 3, 5), (64, 2, 100_000), (128, 4, 9), (16, 0, 0), (32, 3, 0)] {
        let (a, b) = (sample(k, rows * d, 1), sample(k, rows * d, 2));
        let want: Vec<u128> = (0..rows)
            .map(|i| {
                let terms = (i * d..(i + 1) * d).map(|j| {
                    let (a, b) = (a.get(j), b.get(j));
                    a.wrapping_mul(a.wrapping_add(b).wrapping_add(b))
                });
                terms.fold(0, u128::wrapping_add)
            })
            .collect();
        assert!(squares(&a, &b, rows) == Words::from_u128s(k, &want), "{k} bits, {rows} x {d}");
    }
}
