//! Exclusive ors of planes: a matrix of bits times planes.
//!
//! Planes are taken eight at a time, and a block of 64-bit words of each: the 256 sums of eight planes are made once,
//! each from another by one exclusive or, and every row looks up its own (Arlazarov, Dinic, Kronrod, Faradzhev 1970).

use crate::Planes;

/// Words of a plane that are worked on at once: the sums of eight planes stay in the first cache.
const BLOCK: usize = 16;

/// For each row the exclusive or of the planes that it names. A row has ceil(w / 32) words for w planes, lowest first.
pub(crate) fn xors(x: &Planes, rows: &[u32]) -> Planes {
    let w = x.width() as usize;
    let stride = w.div_ceil(32).max(1);
    let mut out = Planes::zeros((rows.len() / stride) as u32, x.len());
    let mut sums = [[0u64; BLOCK]; 256];
    for start in (0..x.stride()).step_by(BLOCK) {
        let len = BLOCK.min(x.stride() - start);
        for first in (0..w).step_by(8) {
            let taken = 8.min(w - first);
            for i in 1..1usize << taken {
                let top = i.ilog2() as usize;
                let plane = &x.plane(first + top)[start..start + len];
                let below = sums[i ^ (1 << top)];
                for ((sum, below), word) in sums[i].iter_mut().zip(below).zip(plane) {
                    *sum = below ^ word;
                }
            }
            for (j, row) in rows.chunks_exact(stride).enumerate() {
                let byte = row[first / 32] >> (first % 32) & 0xff;
                if byte != 0 {
                    let to = &mut out.plane_mut(j)[start..start + len];
                    to.iter_mut().zip(&sums[byte as usize]).for_each(|(to, sum)| *to ^= sum);
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_row_is_the_exclusive_or_of_its_planes(
            w in 1u32..140, n in 1usize..2200, rows in 1usize..9, seed: u64,
        ) {
            let mut next = crate::testing::words(seed);
            let mut x = Planes::zeros(w, n);
            for j in 0..w as usize {
                for i in 0..n {
                    x.set(j, i, next() & 1 == 1);
                }
            }
            let stride = w.div_ceil(32) as usize;
            let mut masks: Vec<u32> = (0..rows * stride).map(|_| next() as u32).collect();
            if w % 32 != 0 {
                masks.chunks_mut(stride).for_each(|r| r[stride - 1] &= (1 << (w % 32)) - 1);
            }
            let found = xors(&x, &masks);
            for i in (0..n).step_by(37).chain([n - 1]) {
                for (j, row) in masks.chunks(stride).enumerate() {
                    let named = (0..w as usize).filter(|p| row[p / 32] >> (p % 32) & 1 == 1);
                    let expected = named.fold(false, |sum, p| sum ^ x.get(p, i));
                    prop_assert_eq!(found.get(j, i), expected);
                }
            }
        }
    }
}
