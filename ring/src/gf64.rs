//! The field of 2^64 elements: polynomials over GF(2) modulo X^64 + X^4 + X^3 + X + 1, bit j of a word the
//! coefficient of X^j. Addition is xor.

use super::simd::Clmul;

/// The product.
pub fn mul(a: u64, b: u64) -> u64 {
    reduce(Clmul::best().product(a, b))
}

/// The sum of the products a_i b_i.
///
/// # Panics
///
/// On vectors of different lengths.
pub fn dot(a: &[u64], b: &[u64]) -> u64 {
    reduce(Clmul::best().dot(a, b))
}

/// The sum of the products c_i (a_i & b_i). Of words of 64 bits each a and b this is the sum of all
/// their products, bit l of word i with the coefficient c_i X^l.
///
/// # Panics
///
/// On vectors of different lengths.
pub fn dot_and(c: &[u64], a: &[u64], b: &[u64]) -> u64 {
    assert!(c.len() == a.len() && a.len() == b.len(), "vectors of one length");
    let level = Clmul::best();
    let mut both = [0; 512];
    let parts = c.chunks(512).zip(a.chunks(512)).zip(b.chunks(512));
    reduce(parts.fold(0, |s, ((c, a), b)| {
        let both = &mut both[..c.len()];
        both.iter_mut().zip(a.iter().zip(b)).for_each(|(o, (a, b))| *o = a & b);
        s ^ level.dot(c, both)
    }))
}

/// a_i := a_i c for every i.
pub fn scale(a: &mut [u64], c: u64) {
    let level = Clmul::best();
    a.iter_mut().for_each(|a| *a = reduce(level.product(*a, c)));
}

/// The inverse; of 0 it is 0.
pub fn inverse(a: u64) -> u64 {
    // a^(2^64 - 2), the product of a^2, a^4, ..., a^(2^63).
    let mut power = a;
    let mut out = 1;
    for _ in 1..64 {
        power = mul(power, power);
        out = mul(out, power);
    }
    out
}

/// X times a.
pub fn times_x(a: u64) -> u64 {
    a << 1 ^ if a >> 63 == 1 { 0x1b } else { 0 }
}

/// Modulo X^64 + X^4 + X^3 + X + 1.
fn reduce(x: u128) -> u64 {
    let (low, high) = (x as u64, (x >> 64) as u64);
    // X^64 is X^4 + X^3 + X + 1; what this pushes beyond 64 bits once more.
    let over = high >> 63 ^ high >> 61 ^ high >> 60;
    let fold = |h: u64| h ^ h << 1 ^ h << 3 ^ h << 4;
    low ^ fold(high) ^ fold(over)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_products() {
        // X^63 X = X^4 + X^3 + X + 1, and its square is X^8 + X^6 + X^2 + 1.
        assert_eq!(mul(1 << 63, 2), 0x1b);
        assert_eq!(mul(mul(1 << 63, 2), mul(1 << 63, 2)), 0x145);
        // X^127 = X^63 X^64 = X^67 + X^66 + X^64 + X^63.
        assert_eq!(mul(1 << 63, 0x1b), 1 << 63 | 0x1b << 3 ^ 0x1b << 2 ^ 0x1b);
        assert_eq!(times_x(1 << 63), 0x1b);
        assert_eq!(inverse(1), 1);
        assert_eq!(inverse(0), 0);
    }

    /// X^(2^64) = X, and X^(2^32) - X is a unit: a polynomial of degree 64 with both has no factor of
    /// smaller degree.
    #[test]
    fn the_modulus_is_irreducible() {
        let frobenius = |times: u32| (0..times).fold(2, |x, _| mul(x, x));
        assert_eq!(frobenius(64), 2);
        let difference = frobenius(32) ^ 2;
        assert_eq!(mul(difference, inverse(difference)), 1);
    }

    proptest! {
        #[test]
        fn laws_of_a_field(a: u64, b: u64, c: u64) {
            prop_assert_eq!(mul(a, b), mul(b, a));
            prop_assert_eq!(mul(a, mul(b, c)), mul(mul(a, b), c));
            prop_assert_eq!(mul(a, b ^ c), mul(a, b) ^ mul(a, c));
            prop_assert_eq!(mul(a, 1), a);
            prop_assert_eq!(times_x(a), mul(a, 2));
            if a != 0 {
                prop_assert_eq!(mul(a, inverse(a)), 1);
            }
        }

        #[test]
        fn sums_of_products(v in prop::collection::vec(any::<(u64, u64, u64)>(), 0..700)) {
            let of = |f: fn(&(u64, u64, u64)) -> u64| v.iter().map(f).collect::<Vec<_>>();
            let (a, b, c) = (of(|x| x.0), of(|x| x.1), of(|x| x.2));
            let want = v.iter().fold(0, |s, x| s ^ mul(x.0, x.1));
            prop_assert_eq!(dot(&a, &b), want);
            let want = v.iter().fold(0, |s, x| s ^ mul(x.2, x.0 & x.1));
            prop_assert_eq!(dot_and(&c, &a, &b), want);
            let mut scaled = a.clone();
            scale(&mut scaled, 77);
            prop_assert_eq!(scaled, a.iter().map(|&x| mul(x, 77)).collect::<Vec<_>>());
        }

        /// 64 products of bits as one product of words: bit l has the coefficient c X^l.
        #[test]
        fn packed_bits(a: u64, b: u64, c: u64) {
            let mut want = 0;
            let mut power = c;
            for l in 0..64 {
                want ^= if a >> l & b >> l & 1 == 1 { power } else { 0 };
                power = times_x(power);
            }
            prop_assert_eq!(dot_and(&[c], &[a], &[b]), want);
        }
    }
}
