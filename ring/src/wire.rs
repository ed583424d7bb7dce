//! How tensors are packed into messages: words little-endian; bits exactly, all planes together.

use super::{Data, Planes, Word, bits, each_word, with_width};
use slvr_circuit::verify::MAX_PLANES;
use slvr_circuit::{Dom, wire_len};

impl Data {
    /// Appends [`wire_len`] bytes. Bits follow one another plane by plane without gaps; what is left
    /// of the last byte is zero.
    pub fn to_wire(&self, out: &mut Vec<u8>) {
        match self {
            Data::Ring(w) => each_word!(w, v => Word::put_le(v, out)),
            Data::Bits(p) => {
                let end = out.len() + wire_len(self.dom(), p.len());
                if p.len().is_multiple_of(64) {
                    u64::put_le(p.words(), out);
                } else {
                    let (w, n) = (p.width() as usize, p.len());
                    let mut packed = vec![0u64; (w * n).div_ceil(64)];
                    for j in 0..w {
                        bits::copy(&mut packed, j * n, p.plane(j), 0, n);
                    }
                    u64::put_le(&packed, out);
                }
                out.truncate(end);
            }
        }
    }

    /// Overwrites the n elements from `at` on with those of exactly [`wire_len`] bytes. `None` as of
    /// [`Data::from_wire`].
    pub fn put_wire(&mut self, at: usize, n: usize, bytes: &[u8]) -> Option<()> {
        match self {
            Data::Ring(words) if bytes.len() == wire_len(Dom::Ring(words.bits()), n) => {
                // Words go to their places directly.
                let copy = |to: &mut [u8]| to.copy_from_slice(bytes);
                each_word!(words, v => Word::fill_le(&mut v[at..at + n], copy));
            }
            _ => self.put(at, &Data::from_wire(self.dom(), n, bytes)?),
        }
        Some(())
    }

    /// n elements from exactly [`wire_len`] bytes. `None` if the length differs, a padding bit is
    /// set, or `dom` is no domain.
    pub fn from_wire(dom: Dom, n: usize, bytes: &[u8]) -> Option<Data> {
        match dom {
            Dom::Ring(8 | 16 | 32 | 64 | 128) | Dom::Bits(1..=MAX_PLANES) => {}
            _ => return None,
        }
        let bits_total = n.checked_mul(dom.bits() as usize)?;
        if bytes.len() != bits_total.div_ceil(8) {
            return None;
        }
        match dom {
            Dom::Ring(k) => {
                Some(Data::Ring(with_width!(k, T => T::wrap(<T as Word>::get_le(bytes)))))
            }
            Dom::Bits(w) => {
                let mut packed = u64::get_le(bytes);
                let rest = bytes.chunks_exact(8).remainder();
                if !rest.is_empty() {
                    let mut last = [0; 8];
                    last[..rest.len()].copy_from_slice(rest);
                    packed.push(u64::from_le_bytes(last));
                }
                let used = bits_total % 64;
                if used != 0 && packed.last().is_some_and(|&x| x & !bits::mask64(used) != 0) {
                    return None;
                }
                if n.is_multiple_of(64) {
                    return Some(Data::Bits(Planes::from_words(w, n, packed)?));
                }
                let mut p = Planes::zeros(w, n);
                for j in 0..w as usize {
                    bits::copy(p.plane_mut(j), 0, &packed, j * n, n);
                }
                Some(Data::Bits(p))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn packing_by_hand() {
        let bits = Data::from_u128s(Dom::Bits(2), &[1, 2, 3]);
        let mut out = vec![9];
        bits.to_wire(&mut out);
        // Plane 0 is 1, 0, 1; plane 1 is 0, 1, 1.
        assert_eq!(out, [9, 0b110_101]);
        assert!(Data::from_wire(Dom::Bits(2), 3, &[0b0100_0000]).is_none(), "padding");
        assert!(Data::from_wire(Dom::Bits(2), 3, &[]).is_none());
        assert!(Data::from_wire(Dom::Bits(2), 3, &[0, 0]).is_none());
        assert!(Data::from_wire(Dom::Ring(16), 2, &[0; 3]).is_none());
        assert!(Data::from_wire(Dom::Ring(12), 2, &[0; 3]).is_none());
        assert!(Data::from_wire(Dom::Bits(MAX_PLANES + 1), 0, &[]).is_none());
        assert!(Data::from_wire(Dom::Bits(128), usize::MAX / 2, &[]).is_none());
    }

    proptest! {
        #[test]
        fn round_trip(xs in proptest::collection::vec(any::<u128>(), 0..200), w in 1u32..=128) {
            let rings = [8, 16, 32, 64, 128].map(Dom::Ring);
            for dom in rings.into_iter().chain([Dom::Bits(w)]) {
                let d = Data::from_u128s(dom, &xs);
                let mut bytes = Vec::new();
                d.to_wire(&mut bytes);
                prop_assert_eq!(bytes.len(), wire_len(dom, xs.len()));
                let back = Data::from_wire(dom, xs.len(), &bytes);
                prop_assert!(back.as_ref() == Some(&d));
                let (mut all, mut want) = (Data::zeros(dom, xs.len() + 9), Data::zeros(dom, xs.len() + 9));
                want.put(5, &d);
                prop_assert!(all.put_wire(5, xs.len(), &bytes).is_some() && all == want);
                bytes.push(0);
                prop_assert!(all.put_wire(5, xs.len(), &bytes).is_none() && all == want);
            }
        }
    }
}
