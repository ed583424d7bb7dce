//! A matrix over GF(2) times bits: the elements that are sums of the factors whose bit is set.
//!
//! With GFNI one instruction multiplies 64 bytes by 8 x 8 matrices, so that 64 elements take 64 of these. Elsewhere
//! each byte is looked up in a table of sums of subsets.

/// Factors at a time: elements of 64 bits, of which a sum takes those whose bit is set.
pub(crate) const FACTORS: usize = 64;

/// What up to [`FACTORS`] factors add to elements.
pub(crate) enum Matrix {
    #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
    Wide(super::Avx512, Box<[[u64; 8]; 8]>),
    /// The sums of all subsets of eight factors each.
    Tables(Vec<[u64; 256]>),
}

impl Matrix {
    /// Of the factors, at most [`FACTORS`].
    pub(crate) fn new(c: &[u64]) -> Matrix {
        assert!(c.len() <= FACTORS, "so many bits make an element");
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        if let Some(isa) = super::Avx512::detect() {
            let mut all = Box::new([[0; 8]; 8]);
            for (all, c) in all.iter_mut().zip(c.chunks(8)) {
                let mut rows = [0; 8];
                rows[..c.len()].copy_from_slice(c);
                // Of each eight bits of the elements, which factors have them; the first one stands in the last byte.
                for (place, some) in all.iter_mut().zip(transposed(rows).as_chunks::<8>().0) {
                    *place = u64::from_be_bytes(*some);
                }
            }
            return Matrix::Wide(isa, all);
        }
        Matrix::tables(c)
    }

    /// For every processor.
    fn tables(c: &[u64]) -> Matrix {
        Matrix::Tables(c.chunks(8).map(subsets).collect())
    }

    /// Adds to element l the factors b for which bit l of word b is set.
    #[inline]
    pub(crate) fn add(&self, out: &mut [u64; 64], words: &[u64; FACTORS]) {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
            // SAFETY: the value shows that the processor has the features.
            Matrix::Wide(_, all) => unsafe { x86::add(out, words, all) },
            Matrix::Tables(tables) => {
                for (table, rows) in tables.iter().zip(words.as_chunks::<8>().0) {
                    for (out, &byte) in out.iter_mut().zip(&transposed(*rows)) {
                        *out ^= table[usize::from(byte)];
                    }
                }
            }
        }
    }
}

/// Byte l holds bit l of each of eight words.
fn transposed(rows: [u64; 8]) -> [u8; 64] {
    let mut out = [0; 64];
    for (k, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        // Eight rows of eight bits; pairs, then fours, then all change places.
        let mut x = u64::from_le_bytes(rows.map(|r| (r >> (8 * k)) as u8));
        for (shift, mask) in
            [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
        {
            let swap = (x ^ x >> shift) & mask;
            x ^= swap ^ swap << shift;
        }
        *out = x.to_le_bytes();
    }
    out
}

/// The sum of every subset of up to eight elements.
fn subsets(c: &[u64]) -> [u64; 256] {
    let mut out = [0; 256];
    for i in 1..256usize {
        let low = i.trailing_zeros() as usize;
        out[i] = out[i & (i - 1)] ^ c.get(low).copied().unwrap_or(0);
    }
    out
}

#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
mod x86 {
    use super::FACTORS;
    use std::arch::x86_64::*;

    /// Byte 7 - t of word k: byte k of word t.
    const BYTES: [u8; 64] = {
        let mut out = [0; 64];
        let mut i = 0;
        while i < 64 {
            out[8 * (i % 8) + 7 - i / 8] = i as u8;
            i += 1;
        }
        out
    };

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    pub(super) fn add(out: &mut [u64; 64], words: &[u64; FACTORS], all: &[[u64; 8]; 8]) {
        // SAFETY: it points to 64 bytes, and the load needs no alignment.
        let load = |x: *const u8| unsafe { _mm512_loadu_si512(x.cast()) };
        let bytes = load(BYTES.as_ptr());
        // Byte m has bit m alone, so that a matrix times it is a column.
        let columns = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
        let mut sums = [_mm512_setzero_si512(); 8];
        for (words, factors) in words.as_chunks::<8>().0.iter().zip(all) {
            let rows = _mm512_permutexvar_epi8(bytes, load(words.as_ptr().cast()));
            // Byte l: bit l of each of the eight words.
            let x = _mm512_gf2p8affine_epi64_epi8::<0>(columns, rows);
            for (sum, &factor) in sums.iter_mut().zip(factors) {
                let factor = _mm512_set1_epi64(factor as i64);
                *sum = _mm512_xor_si512(*sum, _mm512_gf2p8affine_epi64_epi8::<0>(x, factor));
            }
        }
        // Byte l of sum i is byte i of element l: bytes, then pairs, then fours are put together.
        let [a, b, c, d, e, f, g, h] = sums;
        let pairs = [(a, b), (c, d), (e, f), (g, h)];
        let [p, q, r, s] =
            pairs.map(|(x, y)| [_mm512_unpacklo_epi8(x, y), _mm512_unpackhi_epi8(x, y)]);
        for half in 0..2 {
            let low =
                [_mm512_unpacklo_epi16(p[half], q[half]), _mm512_unpackhi_epi16(p[half], q[half])];
            let high =
                [_mm512_unpacklo_epi16(r[half], s[half]), _mm512_unpackhi_epi16(r[half], s[half])];
            for quarter in 0..2 {
                let (l, h) = (low[quarter], high[quarter]);
                for (eighth, x) in [_mm512_unpacklo_epi32(l, h), _mm512_unpackhi_epi32(l, h)]
                    .into_iter()
                    .enumerate()
                {
                    // Two neighbours in each quarter of the register.
                    let mut two = [0u64; 8];
                    // SAFETY: it points to 64 bytes, and the store needs no alignment.
                    unsafe { _mm512_storeu_si512(two.as_mut_ptr().cast(), x) };
                    let at = 8 * half + 4 * quarter + 2 * eighth;
                    for (part, two) in two.as_chunks::<2>().0.iter().enumerate() {
                        out[16 * part + at] ^= two[0];
                        out[16 * part + at + 1] ^= two[1];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_the_definition() {
        let mut next = crate::testing::words(3);
        for factors in [0, 1, 5, 8, 13, 63, 64] {
            let c: Vec<u64> = (0..factors).map(|_| next()).collect();
            let mut words = [0; FACTORS];
            words[..factors].iter_mut().for_each(|w| *w = next());
            let before: [u64; 64] = std::array::from_fn(|_| next());
            let want: [u64; 64] = std::array::from_fn(|l| {
                (0..factors).fold(before[l], |s, b| s ^ (c[b] * (words[b] >> l & 1)))
            });
            for matrix in [Matrix::new(&c), Matrix::tables(&c)] {
                let mut found = before;
                matrix.add(&mut found, &words);
                assert_eq!(found, want, "{factors} factors");
            }
        }
    }
}
