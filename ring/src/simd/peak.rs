//! A loop that does nothing but multiply and add in registers: what kernels are measured against. That of AVX-512 is
//! written by hand, because compilers prefer vectors of 256 bits.

use super::{Isa, versions};

/// Independent sums, enough to hide the latency of a product.
const SUMS: usize = 24;

/// So many rounds of products and sums of words of 32 or 64 bits, in the widest registers of this
/// machine; returns how many words were multiplied and added. For benchmarks.
pub fn multiply_adds(bits: u32, rounds: usize) -> usize {
    let seed = std::hint::black_box(0x1234_5678_9abc_deff);
    let (lanes, end) = match (Isa::best(), bits) {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        // SAFETY: the value shows that the processor has the features.
        (Isa::Avx512(_), 64) => (8, unsafe { x86::q512(rounds, seed) }),
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        // SAFETY: as above.
        (Isa::Avx512(_), _) => (16, unsafe { x86::d512(rounds, seed) }),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        // SAFETY: as above.
        (Isa::Avx2(_), 32) => (8, unsafe { x86::d256(rounds, seed) }),
        _ => (1, portable(rounds, seed)),
    };
    std::hint::black_box(end);
    rounds * SUMS * lanes
}

versions! {
    fn portable<[] []>(rounds: usize, seed: u64) -> u64 {
        let mut sums = [seed; SUMS];
        for _ in 0..rounds {
            for s in &mut sums {
                *s = s.wrapping_add(s.wrapping_mul(seed));
            }
        }
        sums.iter().fold(0, |x, y| x ^ y)
    }
}

#[cfg(all(target_arch = "x86_64", any(feature = "avx2", feature = "avx512")))]
mod x86 {
    use super::SUMS;
    use std::arch::x86_64::*;

    #[cfg(feature = "avx512")]
    #[target_feature(enable = "avx512f,avx512dq")]
    pub fn q512(rounds: usize, seed: u64) -> u64 {
        let x = _mm512_set1_epi64(seed as i64);
        let mut sums = [x; SUMS];
        for _ in 0..rounds {
            for s in &mut sums {
                *s = _mm512_add_epi64(*s, _mm512_mullo_epi64(*s, x));
            }
        }
        let all = sums.into_iter().fold(x, |a, b| _mm512_xor_si512(a, b));
        _mm512_reduce_add_epi64(all) as u64
    }

    #[cfg(feature = "avx512")]
    #[target_feature(enable = "avx512f,avx512dq")]
    pub fn d512(rounds: usize, seed: u64) -> u64 {
        let x = _mm512_set1_epi32(seed as i32);
        let mut sums = [x; SUMS];
        for _ in 0..rounds {
            for s in &mut sums {
                *s = _mm512_add_epi32(*s, _mm512_mullo_epi32(*s, x));
            }
        }
        let all = sums.into_iter().fold(x, |a, b| _mm512_xor_si512(a, b));
        _mm512_reduce_add_epi32(all) as u64
    }

    #[cfg(feature = "avx2")]
    #[target_feature(enable = "avx2")]
    pub fn d256(rounds: usize, seed: u64) -> u64 {
        let x = _mm256_set1_epi32(seed as i32);
        let mut sums = [x; SUMS];
        for _ in 0..rounds {
            for s in &mut sums {
                *s = _mm256_add_epi32(*s, _mm256_mullo_epi32(*s, x));
            }
        }
        let all = sums.into_iter().fold(x, |a, b| _mm256_xor_si256(a, b));
        _mm256_extract_epi64::<0>(all) as u64
    }
}
