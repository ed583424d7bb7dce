//! Every operation against element-by-element definitions, over random shapes and both domains.

use super::*;
use proptest::prelude::*;
use slvr_circuit::{Dom, low_mask};

fn count(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize
}

fn sample(dom: Dom, n: usize, seed: u64) -> Data {
    let mut next = crate::testing::words(seed);
    let xs: Vec<u128> = (0..n).map(|_| u128::from(next()) << 64 | u128::from(next())).collect();
    Data::from_u128s(dom, &xs)
}

/// All indices of a shape in row-major order.
fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    let mut out = vec![vec![]];
    for &d in shape {
        out = out.iter().flat_map(|i| (0..d).map(move |x| [&i[..], &[x]].concat())).collect();
    }
    out
}

fn at(xs: &[u128], shape: &[u64], index: &[u64]) -> u128 {
    let i = index.iter().zip(shape).fold(0, |n, (i, d)| n * d + i);
    xs[i as usize]
}

fn dom() -> impl Strategy<Value = Dom> {
    proptest::sample::select(vec![Dom::Ring(8), Dom::Ring(64), Dom::Ring(128), Dom::Bits(3)])
}

fn shape() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        proptest::collection::vec(1u64..6, 1..5),
        proptest::collection::vec(0u64..3, 1..5),
        (1u64..4, 50u64..200).prop_map(|(a, b)| vec![a, b]),
    ]
}

proptest! {
    #[test]
    fn transposes(dom in dom(), shape in shape(), keys in any::<[u8; 4]>(), seed: u64) {
        let mut perm: Vec<u64> = (0..shape.len() as u64).collect();
        perm.sort_by_key(|&i| keys[i as usize]);
        let d = sample(dom, count(&shape), seed);
        let xs = d.to_u128s();
        let to: Vec<u64> = perm.iter().map(|&p| shape[p as usize]).collect();
        let want: Vec<u128> = indices(&to).iter().map(|i| {
            let mut from = vec![0; shape.len()];
            perm.iter().zip(i).for_each(|(&p, &x)| from[p as usize] = x);
            at(&xs, &shape, &from)
        }).collect();
        prop_assert!(transpose(&d, &shape, &perm) == Data::from_u128s(dom, &want));
    }

    #[test]
    fn slices(dom in dom(), shape in shape(), axis: u64, start: u64, len: u64, step in 1u64..4, seed: u64) {
        let axis = axis % shape.len() as u64;
        let n = shape[axis as usize];
        let start = start % (n + 1);
        let len = len % ((n - start).div_ceil(step) + 1);
        let d = sample(dom, count(&shape), seed);
        let xs = d.to_u128s();
        let mut to = shape.clone();
        to[axis as usize] = len;
        let want: Vec<u128> = indices(&to).into_iter().map(|mut i| {
            i[axis as usize] = start + i[axis as usize] * step;
            at(&xs, &shape, &i)
        }).collect();
        prop_assert!(slice(&d, &shape, axis, start, len, step) == Data::from_u128s(dom, &want));
    }

    #[test]
    fn concats(dom in dom(), shape in shape(), axis: u64, sizes in proptest::collection::vec(0u64..70, 1..4), seed: u64) {
        let axis = (axis % shape.len() as u64) as usize;
        let shapes: Vec<Vec<u64>> = sizes.iter().map(|&n| {
            let mut s = shape.clone();
            s[axis] = n;
            s
        }).collect();
        let parts: Vec<Data> = shapes.iter().zip(0..).map(|(s, i)| sample(dom, count(s), seed ^ i)).collect();
        let xs: Vec<(&Data, &[u64])> = parts.iter().zip(&shapes).map(|(d, s)| (d, &s[..])).collect();
        let mut whole = shape.clone();
        whole[axis] = sizes.iter().sum();
        let joined = concat(&xs, axis as u64);
        prop_assert_eq!(joined.len(), count(&whole));
        let mut start = 0;
        for (p, &n) in parts.iter().zip(&sizes) {
            prop_assert!(slice(&joined, &whole, axis as u64, start, n, 1) == *p);
            start += n;
        }
    }

    #[test]
    fn aligned(dom in dom(), shape in shape(), ones in any::<[(bool, bool); 4]>(), narrow: bool, seed: u64) {
        let (mut sa, mut sb) = (shape.clone(), shape.clone());
        for i in 0..shape.len() {
            if ones[i].0 { sa[i] = 1 } else if ones[i].1 { sb[i] = 1 }
        }
        let (a, b) = (sample(dom, count(&sa), seed), sample(dom, count(&sb), !seed));
        let to: Vec<u64> = sa.iter().zip(&sb).map(|(&x, &y)| if x == 1 { y } else { x }).collect();
        let m = low_mask(dom.bits());
        let ring = matches!(dom, Dom::Ring(_));
        let want = |b: &Data, f: fn(u128, u128) -> u128| {
            let (xs, ys) = (a.to_u128s(), b.to_u128s());
            let repeat = |i: &[u64], s: &[u64]| i.iter().zip(s).map(|(&i, &d)| if d == 1 { 0 } else { i }).collect::<Vec<_>>();
            let out: Vec<u128> = indices(&to).iter()
                .map(|i| f(at(&xs, &sa, &repeat(i, &sa)), at(&ys, &sb, &repeat(i, &sb))) & m).collect();
            (Data::from_u128s(dom, &out), to.clone())
        };
        let xor: fn(u128, u128) -> u128 = |x, y| x ^ y;
        let and: fn(u128, u128) -> u128 = |x, y| x & y;
        let sum = want(&b, if ring { u128::wrapping_add } else { xor });
        let difference = want(&b, if ring { u128::wrapping_sub } else { xor });
        let product = want(&b, if ring { u128::wrapping_mul } else { and });
        prop_assert!(add(&a, &sa, &b, &sb) == sum);
        prop_assert!(sub(&a, &sa, &b, &sb) == difference);
        prop_assert!(mul(&a, &sa, &b, &sb) == product);
        if narrow && !ring {
            let one = b.planes(0, 1, 1);
            let wide = Data::stack(&[&one, &one, &one]);
            let product = want(&wide, and);
            prop_assert!(mul(&a, &sa, &one, &sb) == product);
            prop_assert!(mul(&one, &sb, &a, &sa) == product);
        }
        let (repeated, _) = add(&a, &sa, &Data::zeros(dom, count(&to)), &to);
        prop_assert!(broadcast(&a, &sa, &to) == repeated);
    }

    #[test]
    fn sums(dom in dom(), shape in shape(), which in any::<[bool; 4]>(), seed: u64) {
        let axes: Vec<u64> = (0..shape.len()).filter(|&i| which[i]).map(|i| i as u64).collect();
        let d = sample(dom, count(&shape), seed);
        let xs = d.to_u128s();
        let keep = |v: &[u64]| -> Vec<u64> { v.iter().zip(0..).filter(|(_, i)| !axes.contains(i)).map(|(x, _)| *x).collect() };
        let to = keep(&shape);
        let ring = matches!(dom, Dom::Ring(_));
        let mut want = vec![0u128; count(&to)];
        for (i, x) in indices(&shape).iter().zip(&xs) {
            let o = keep(i).iter().zip(&to).fold(0, |n, (i, d)| n * d + i) as usize;
            want[o] = if ring { want[o].wrapping_add(*x) } else { want[o] ^ x };
        }
        prop_assert!(sum(&d, &shape, &axes) == Data::from_u128s(dom, &want));
    }

    #[test]
    fn gathers(dom in dom(), b in 1u64..3, p in 1u64..3, n in 1u64..5, k in 0u64..4, r in 1u64..80, seed: u64) {
        let shape = [b, p, n, r];
        let d = sample(dom, count(&shape), seed);
        let xs = d.to_u128s();
        let index: Vec<u64> = (0..b * k).map(|i| (seed >> (i * 3 % 60)) % n).collect();
        let want: Vec<u128> = indices(&[b, p, k, r]).iter()
            .map(|i| at(&xs, &shape, &[i[0], i[1], index[(i[0] * k + i[2]) as usize], i[3]])).collect();
        let got = gather(&d, &shape, 2, 1, &index, &[b, k]);
        prop_assert!(got == Ok(Data::from_u128s(dom, &want)));
        if k > 0 {
            let mut bad = index.clone();
            bad[0] = n;
            let want = IndexOutOfRange { index: n, size: n };
            prop_assert_eq!(gather(&d, &shape, 2, 1, &bad, &[b, k]), Err(want));
        }
    }
}

/// The threaded paths give what the serial ones give, piece by piece.
#[test]
fn large_tensors() {
    let shape = [5u64, 40_000];
    let d = sample(Dom::Ring(32), count(&shape), 7);
    let xs = d.to_u128s();
    let t = transpose(&d, &shape, &[1, 0]).to_u128s();
    let sums = sum(&d, &shape, &[0]).to_u128s();
    let all = sum(&d, &shape, &[0, 1]).to_u128s();
    let rows = sum(&d, &shape, &[1]).to_u128s();
    for j in (0..40_000).step_by(997) {
        let column: Vec<u128> = (0..5).map(|i| xs[i * 40_000 + j]).collect();
        assert_eq!(t[j * 5..j * 5 + 5], column);
        assert_eq!(sums[j], column.iter().sum::<u128>() & 0xffff_ffff);
    }
    assert_eq!(all[0], xs.iter().sum::<u128>() & 0xffff_ffff);
    assert_eq!(rows[3], xs[120_000..160_000].iter().sum::<u128>() & 0xffff_ffff);

    let row = slice(&d, &shape, 0, 2, 1, 1);
    let (z, _) = sub(&d, &shape, &row, &[1, 40_000]);
    assert_eq!(slice(&z, &shape, 0, 2, 1, 1), Data::zeros(Dom::Ring(32), 40_000));
    let (again, _) = add(&z, &shape, &row, &[1, 40_000]);
    assert_eq!(again, d);
    let one = Data::from_u128s(Dom::Ring(32), &[3]);
    let mut tripled = d.clone();
    tripled.scale(3);
    assert_eq!(mul(&d, &shape, &one, &[1, 1]).0, tripled);
    assert_eq!(mul(&one, &[1, 1], &d, &shape).0, tripled);
    let column = slice(&d, &shape, 1, 0, 1, 1);
    let (z, _) = mul(&column, &[5, 1], &d, &shape);
    assert_eq!(z.get_u128(40_001), xs[40_000].wrapping_mul(xs[40_001]) & 0xffff_ffff);

    let index: Vec<u64> = (0..30_000).map(|i| i * 7 % 40_000).collect();
    let g = gather(&d, &shape, 1, 0, &index, &[30_000]).unwrap().to_u128s();
    assert!((0..30_000).all(|i| g[60_000 + i] == xs[80_000 + i * 7 % 40_000]));
    let wide = gather(&d, &shape, 0, 0, &[4, 1], &[2]).unwrap();
    assert_eq!(wide.get_u128(40_003), xs[40_003]);
    assert_eq!(wide.get_u128(3), xs[160_003]);
}
