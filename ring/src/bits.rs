//! Runs of bits in `u64` words (bit i is bit i % 64 of word i / 64), and the bit transpose.

/// The low n bits set, n <= 64.
#[inline(always)]
pub(crate) fn mask64(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1u64 << n) - 1 }
}

/// Up to 64 bits of `src` from bit `at` on; bits beyond its end read as zero.
#[inline(always)]
fn read64(src: &[u64], at: usize) -> u64 {
    let (i, s) = (at / 64, at % 64);
    let low = src.get(i).copied().unwrap_or(0) >> s;
    if s == 0 { low } else { low | src.get(i + 1).copied().unwrap_or(0) << (64 - s) }
}

/// dst[to..to + n] = f(dst[to..to + n], src[from..from + n]), a word at a time whatever the
/// alignment.
#[inline(always)]
pub(crate) fn merge(
    dst: &mut [u64],
    to: usize,
    src: &[u64],
    from: usize,
    n: usize,
    f: impl Fn(u64, u64) -> u64,
) {
    let mut done = 0;
    while done < n {
        let (i, s) = ((to + done) / 64, (to + done) % 64);
        let take = (64 - s).min(n - done);
        let m = mask64(take) << s;
        let new = f(dst[i], read64(src, from + done) << s);
        dst[i] = (dst[i] & !m) | (new & m);
        done += take;
    }
}

pub(crate) fn copy(dst: &mut [u64], to: usize, src: &[u64], from: usize, n: usize) {
    if to.is_multiple_of(64) && from.is_multiple_of(64) {
        let (d, s, whole) = (to / 64, from / 64, n / 64);
        dst[d..d + whole].copy_from_slice(&src[s..s + whole]);
        merge(dst, to + whole * 64, src, from + whole * 64, n % 64, |_, new| new);
    } else {
        merge(dst, to, src, from, n, |_, new| new);
    }
}

/// Sets n bits to `value`.
pub(crate) fn fill(dst: &mut [u64], to: usize, n: usize, value: bool) {
    // The bit may be one of a share: no branch.
    let ones = u64::from(value).wrapping_neg();
    let mut done = 0;
    while done < n {
        let (i, s) = ((to + done) / 64, (to + done) % 64);
        let take = (64 - s).min(n - done);
        let m = mask64(take) << s;
        dst[i] = dst[i] & !m | ones & m;
        done += take;
    }
}

#[inline(always)]
pub(crate) fn get(src: &[u64], i: usize) -> bool {
    src[i / 64] >> (i % 64) & 1 == 1
}

/// Parity of n bits from bit `from` on.
pub(crate) fn parity(src: &[u64], from: usize, n: usize) -> bool {
    let mut acc = 0u64;
    for at in (0..n).step_by(64) {
        acc ^= read64(src, from + at) & mask64(n - at);
    }
    acc.count_ones() % 2 == 1
}

/// Exchanges bit j of row i with bit i of row j inside every R x R block of an R x 64 bit matrix, R
/// a power of two (Warren, Hacker's Delight, 7-3).
#[inline(always)]
fn transpose_blocks<const R: usize>(a: &mut [u64; R]) {
    let mut j = R / 2;
    // The low j bits of every 2j.
    let mut m = u64::MAX / ((1u64 << j) + 1);
    while j > 0 {
        for base in (0..R).step_by(2 * j) {
            for i in base..base + j {
                let t = ((a[i] >> j) ^ a[i + j]) & m;
                a[i + j] ^= t;
                a[i] ^= t << j;
            }
        }
        j /= 2;
        m ^= m << j;
    }
}

/// 64 words of at most R bits to R planes of 64 bits. Packing 64 / R words into a row first does
/// the outermost steps of the 64 x 64 transpose, whose other halves are zero.
#[inline(always)]
pub(crate) fn slice64<const R: usize>(word: impl Fn(usize) -> u64) -> [u64; R] {
    let m = mask64(R);
    let mut a = [0u64; R];
    for c in 0..64 / R {
        for (i, row) in a.iter_mut().enumerate() {
            *row |= (word(c * R + i) & m) << (c * R);
        }
    }
    transpose_blocks(&mut a);
    a
}

/// The inverse of [`slice64`]: R planes of 64 bits to 64 words of R bits.
#[inline(always)]
pub(crate) fn unslice64<const R: usize>(mut a: [u64; R], mut put: impl FnMut(usize, u64)) {
    let m = mask64(R);
    transpose_blocks(&mut a);
    for c in 0..64 / R {
        for (i, &row) in a.iter().enumerate() {
            put(c * R + i, (row >> (c * R)) & m);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<const R: usize>(words: &[u64]) {
        let planes = slice64::<R>(|i| words[i]);
        for (j, p) in planes.iter().enumerate() {
            for (i, w) in words.iter().enumerate() {
                assert_eq!(p >> i & 1, w >> j & 1, "R {R} plane {j} element {i}");
            }
        }
        let mut back = [0u64; 64];
        unslice64::<R>(planes, |i, x| back[i] = x);
        for (x, w) in back.iter().zip(words) {
            assert_eq!(*x, w & mask64(R));
        }
    }

    proptest! {
        #[test]
        fn transposes_and_back(words in proptest::collection::vec(any::<u64>(), 64)) {
            check::<8>(&words);
            check::<16>(&words);
            check::<32>(&words);
            check::<64>(&words);
        }

        #[test]
        fn runs_match_single_bits(
            src in proptest::collection::vec(any::<u64>(), 5),
            dst in proptest::collection::vec(any::<u64>(), 5),
            from in 0usize..150, to in 0usize..150, n in 0usize..170,
        ) {
            let mut copied = dst.clone();
            copy(&mut copied, to, &src, from, n);
            let mut xored = dst.clone();
            merge(&mut xored, to, &src, from, n, |a, b| a ^ b);
            let mut filled = dst.clone();
            fill(&mut filled, to, n, true);
            let mut odd = false;
            for i in 0..320 {
                let inside = i >= to && i < to + n;
                let s = inside && get(&src, from + i - to);
                odd ^= s;
                prop_assert_eq!(get(&copied, i), if inside { s } else { get(&dst, i) });
                prop_assert_eq!(get(&xored, i), get(&dst, i) ^ s);
                prop_assert_eq!(get(&filled, i), inside || get(&dst, i));
            }
            prop_assert_eq!(parity(&src, from, n), odd);
        }
    }
}
