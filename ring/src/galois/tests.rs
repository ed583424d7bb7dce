//! Laws of the ring, and vectors against their elements.

use super::*;
use crate::testing::words;
use proptest::prelude::*;

fn elements(seed: u64, n: usize) -> Vec<Element> {
    let mut next = words(seed);
    (0..n).map(|_| std::array::from_fn(|_| next())).collect()
}

fn vector(xs: &[Element]) -> Vector {
    let mut out = Vector::zeros(xs.len());
    xs.iter().enumerate().for_each(|(t, x)| out.set(t, x));
    out
}

/// The values on the grid of vectors of 2^m blocks, by their definition: at a point, where a variable is high, the
/// blocks at its 1 count, less those at its 0.
fn on_grid<T: Scalar>(c: &Points, terms: &[[&[T]; 2]], variables: u32) -> Vec<Element<T>> {
    let (n, blocks) = (c.len(), 1usize << variables);
    let value = |x: &[T], point: usize, t: usize| {
        let mut sum = T::ZERO;
        for b in 0..blocks {
            let mut sign = Some(false);
            for j in 0..variables {
                let (digit, bit) = (point / 3usize.pow(j) % 3, b >> j & 1);
                sign = sign
                    .filter(|_| digit == 2 || digit == bit)
                    .map(|s| s ^ (digit == 2 && bit == 0));
            }
            sum = match sign {
                Some(false) => sum.wadd(x[b * n + t]),
                Some(true) => sum.wsub(x[b * n + t]),
                None => sum,
            };
        }
        sum
    };
    let one = |point: usize, t: usize| {
        let all = terms.iter().map(|[u, v]| value(u, point, t).wmul(value(v, point, t)));
        mul(&point_of(c[t]), &word(all.fold(T::ZERO, T::wadd)))
    };
    let at = |point: usize| (0..n).fold(zero(), |s, t| add(&s, &one(point, t)));
    (0..3usize.pow(variables)).map(at).collect()
}

fn point_of<T: Scalar>(x: u64) -> Element<T> {
    point(x)
}

fn grid<T: Scalar>(c: &Points, terms: &[[&[T]; 2]], variables: u32) -> Vec<Element<T>> {
    let mut out = Grid::new(variables);
    let cut: Vec<_> = terms.iter().map(|t| t.map(|x| crate::cut(x, 1 << variables))).collect();
    let cut: Vec<_> = cut.iter().map(|t| t.each_ref().map(Vec::as_slice)).collect();
    out.add(c, &cut);
    out.elements()
}

fn sum(xs: impl Iterator<Item = Element>) -> Element {
    xs.fold(zero(), |s, x| add(&s, &x))
}

#[test]
fn known_products() {
    // X^55 X = -(X^7 + X^4 + X^2 + 1).
    let mut x55 = zero();
    x55[55] = 1;
    let mut want = zero();
    TAPS.iter().for_each(|&t| want[t] = u64::MAX);
    assert_eq!(mul(&x55, &point(2)), want);
    assert_eq!(times_x(&x55), want);
    assert_eq!(mul(&word(1u64 << 63), &word(2)), zero());
    assert_eq!(inverse(&word(3u64)), word(0xaaaa_aaaa_aaaa_aaab));
}

/// Modulo 2, X^(2^56) = X, and X^(2^28) - X and X^(2^8) - X are units: 56 has the prime divisors 2 and 7.
#[test]
fn the_modulus_is_irreducible() {
    let odd = |x: Element| x.map(|x| x & 1);
    let frobenius = |times| (0..times).fold(point(2), |x, _| odd(mul(&x, &x)));
    assert_eq!(frobenius(56), point(2));
    for times in [28, 8] {
        let difference = sub(&frobenius(times), &point(2));
        assert_eq!(mul(&difference, &inverse(&difference)), word(1));
    }
}

#[test]
fn differences_of_exceptional_points_are_units() {
    let points = [0, 1, 2, 3, 7, 62, 63, 1 << 55, (1 << 56) - 1, 0x5a5a_5a5a_5a5a];
    for (n, &i) in points.iter().enumerate() {
        for &j in &points[..n] {
            let d = sub::<u64>(&point(i), &point(j));
            assert_eq!(mul(&d, &inverse(&d)), word(1u64), "{i} - {j}");
        }
    }
}

/// Over words of 128 bits the same is computed, and the low halves are those over 64.
#[test]
fn wide_words() {
    let (n, blocks) = (45, 16);
    let flat = |seed: u64| {
        let all = elements(seed, n * blocks);
        all.iter().map(|x| u128::from(x[3]) << 64 | u128::from(x[7])).collect::<Vec<_>>()
    };
    let (u, v) = (flat(1), flat(5));
    let low = |x: &[u128]| x.iter().map(|x| *x as u64).collect::<Vec<_>>();
    let points: Vec<u64> = elements(6, n).iter().map(|x| x[3]).collect();
    let all = grid(&points, &[[&u, &v]], 4);
    let want = grid(&points, &[[&low(&u), &low(&v)]], 4);
    assert!(all.iter().zip(&want).all(|(a, b)| low(a) == b));
    assert_eq!(all, on_grid(&points, &[[&u, &v]], 4));
    let element = |t: usize| std::array::from_fn(|i| u[(t * DEGREE + i) % u.len()]);
    for t in 0..5 {
        let x: Element<u128> = element(t);
        let odd = add(&word(1 - (x[0] & 1)), &x);
        assert_eq!(mul(&odd, &inverse(&odd)), word(1));
    }
    let mut left = Vector::<u128>::zeros(8);
    (0..8).for_each(|t| left.set(t, &element(t)));
    let factors = [element(40), element(41)];
    let (folded, products) = (left.fold(&factors), left.times(&left));
    for t in 0..4 {
        let want = add(&mul(&factors[0], &element(t)), &mul(&factors[1], &element(t + 4)));
        assert_eq!(folded.get(t), want);
        assert_eq!(products.get(t), mul(&element(t), &element(t)));
    }
    assert_eq!(cross(&left, &left, 2)[1], {
        let one = |t: usize| mul(&element(t), &element(t + 4));
        (0..4).fold(zero(), |s, t| add(&s, &one(t)))
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn laws_of_a_ring(seed: u64) {
        let [a, b, c]: [Element; 3] = elements(seed, 3).try_into().unwrap();
        prop_assert_eq!(mul(&a, &b), mul(&b, &a));
        prop_assert_eq!(mul(&a, &mul(&b, &c)), mul(&mul(&a, &b), &c));
        prop_assert_eq!(mul(&a, &add(&b, &c)), add(&mul(&a, &b), &mul(&a, &c)));
        prop_assert_eq!(mul(&a, &word(1)), a);
        prop_assert_eq!(times_x(&a), mul(&a, &point(2)));
    }

    #[test]
    fn vectors_are_their_elements(seed: u64, n in 0usize..12, blocks in 1usize..15) {
        let (u, v) = (elements(seed, n * blocks), elements(seed ^ 9, n * blocks));
        let (uu, vv) = (vector(&u), vector(&v));
        let (together, apart) = (uu.times(&vv), products(&u, &v));
        for t in 0..n * blocks {
            let want = mul(&u[t], &v[t]);
            prop_assert_eq!((together.get(t), apart[t]), (want, want));
        }
        let all = cross(&uu, &vv, blocks);
        for a in 0..blocks {
            for b in 0..blocks {
                let want = sum((0..n).map(|t| mul(&u[a * n + t], &v[b * n + t])));
                prop_assert_eq!(all[a * blocks + b], want);
            }
        }
        let c = elements(seed ^ 3, blocks);
        let folded = uu.fold(&c);
        for t in 0..n {
            let want = sum((0..blocks).map(|b| mul(&c[b], &u[b * n + t])));
            prop_assert_eq!(folded.get(t), want);
        }
        let joined = Vector::concat(&[&uu, &vv], 3 * n * blocks);
        for t in 0..3 * n * blocks {
            let want = u.iter().chain(&v).nth(t).copied().unwrap_or(zero());
            prop_assert_eq!(joined.get(t), want);
        }
    }

    /// Also of more columns than a thread takes by itself, and of several vectors with the same coefficients.
    #[test]
    fn grids_are_values_of_products(seed: u64, n in 0usize..70, variables in 2u32..5, wide in any::<bool>()) {
        let n = if wide { n + 500 } else { n };
        let flat = |seed| elements(seed, n << variables).iter().map(|x| x[7]).collect::<Vec<_>>();
        let (u, v) = (flat(seed), flat(seed ^ 5));
        let points: Vec<u64> = elements(seed ^ 6, n).iter().map(|x| x[3]).collect();
        let terms: [[&[u64]; 2]; 2] = [[&u, &v], [&v, &v]];
        prop_assert_eq!(grid(&points, &terms, variables), on_grid(&points, &terms, variables));
    }

    /// Blocks of 16 words and more, so that lanes are full.
    #[test]
    fn words_are_elements(seed: u64, n in 0usize..70, blocks in 1usize..35) {
        let flat = |seed| elements(seed, n * blocks).iter().map(|x| x[7]).collect::<Vec<_>>();
        let u = flat(seed);
        let points: Vec<u64> = elements(seed ^ 6, n).iter().map(|x| x[3]).collect();
        let c: Vec<Element> = points.iter().map(|x| point(*x)).collect();
        let sums = sum_words(&points, &u, blocks);
        for (b, found) in sums.iter().enumerate() {
            let want = sum((0..n).map(|t| mul(&c[t], &word(u[b * n + t]))));
            prop_assert_eq!(*found, want);
        }
        let of_points = Vector::<u64>::of_points(&points);
        let (full, x) = (elements(seed ^ 4, n), elements(seed ^ 8, blocks));
        let weighed = vector(&full).weighed(&points);
        for t in 0..n {
            prop_assert_eq!(of_points.get(t), c[t]);
            prop_assert_eq!(weighed.get(t), mul(&full[t], &c[t]));
        }
        let folded = fold_words(&x, &u);
        for t in 0..n {
            let want = sum((0..blocks).map(|b| mul(&x[b], &word(u[b * n + t]))));
            prop_assert_eq!(folded.get(t), want);
        }
    }
}

/// Rows of words times points, wherever they lie, as their elements.
fn sums_of_rows<T: Scalar + std::fmt::Debug>() {
    let word = |i: usize| {
        T::from_u128((i as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    };
    // Rows one after another, or columns; and runs of columns, as of the patches of an image.
    let every = |step: usize, n: usize| (0..n).map(|i| i * step).collect::<Vec<_>>();
    let patches =
        |c: usize, w: usize| (0..c * w * w).map(move |i| i / (w * w) * 90 + i / w % w * 9 + i % w);
    let cases = [
        (every(7, 40), every(1, 7)),
        (every(1, 33), every(33, 5)),
        (every(300, 3), every(1, 300)),
        (every(2, 64), patches(3, 5).collect()),
        (every(1, 5), patches(1, 9).collect()),
        (every(3, 1), vec![4]),
        (every(3, 6), vec![4, 5, 7, 8, 9]),
    ];
    for (rows, columns) in cases {
        let most = |x: &[usize]| x.iter().max().copied().unwrap_or(0);
        let x: Vec<T> = (0..=most(&rows) + most(&columns)).map(word).collect();
        let points: Vec<u64> = (0..rows.len()).map(|i| word(i + 999).to_u64()).collect();
        let found = Factors::new(&points).sums(&x, &rows, &columns);
        assert_eq!(found.len(), columns.len());
        for (j, column) in columns.iter().enumerate() {
            let term = |(row, c): (&usize, &u64)| mul(&point_of(*c), &super::word(x[row + column]));
            let want = rows.iter().zip(&points).map(term).fold(zero(), |s, x| add(&s, &x));
            assert_eq!(found.get(j), want, "{} rows, column {j}", rows.len());
        }
    }
}

#[test]
fn rows_of_words_times_points() {
    sums_of_rows::<u64>();
    sums_of_rows::<u128>();
}
