//! Planes written without being filled with zeros first, which for a large tensor takes as long as
//! computing it.

use super::Planes;
use std::mem::MaybeUninit;

/// Words that a writer writes at a time: a strip.
pub(super) const STRIP: usize = 64;

/// Writes one plane from its first word to its last.
pub(super) struct PlaneWriter<'a> {
    plane: &'a mut [MaybeUninit<u64>],
    /// Invariant: so many words of the plane are written.
    done: usize,
}

impl PlaneWriter<'_> {
    /// The next words; what is beyond the plane's end is dropped.
    #[inline(always)]
    pub(super) fn put(&mut self, words: &[u64]) {
        let rest = self.plane.get_mut(self.done..).unwrap_or_default();
        let n = rest.len().min(words.len());
        for (to, &x) in rest.iter_mut().zip(words) {
            to.write(x);
        }
        self.done += n;
    }
}

impl Planes {
    /// w planes of n elements that `f` writes, each with its own writer and to its end. Bits beyond element
    /// n are as it writes them: it keeps the invariant of [`Planes`].
    ///
    /// # Panics
    ///
    /// If a plane was not written to its end.
    pub(super) fn written(w: u32, n: usize, f: impl FnOnce(&mut [PlaneWriter<'_>])) -> Planes {
        let stride = n.div_ceil(64);
        let len = w as usize * stride;
        let mut words: Vec<u64> = Vec::with_capacity(len);
        if len > 0 {
            let spare = words.spare_capacity_mut().get_mut(..len).unwrap_or_default();
            let mut writers: Vec<PlaneWriter<'_>> = spare
                .chunks_exact_mut(stride)
                .map(|plane| PlaneWriter { plane, done: 0 })
                .collect();
            f(&mut writers);
            let whole = |p: &PlaneWriter<'_>| p.plane.len() == stride && p.done == stride;
            assert!(writers.len() == w as usize && writers.iter().all(whole), "a plane has a gap");
            // SAFETY: the writers' planes are the first w stride words of the capacity. `f` cannot have put
            // others in their place, since it has to work for writers of any lifetime and makes none. Every one
            // has written its plane to the end.
            unsafe { words.set_len(len) };
        }
        Planes::from_parts(w, n, words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_what_is_written() {
        for n in [0, 1, 64, 65, 2047, 2048, 2049, 64 * 99] {
            let p = Planes::written(3, n, |writers| {
                for (j, writer) in writers.iter_mut().enumerate() {
                    let words: Vec<u64> =
                        (0..n.div_ceil(64)).map(|i| (i + 100 * j) as u64).collect();
                    match j {
                        1 => writer.put(&words),
                        _ => words.chunks(STRIP).for_each(|c| {
                            writer.put(&std::array::from_fn::<u64, STRIP, _>(|i| {
                                c.get(i).copied().unwrap_or(7)
                            }));
                        }),
                    }
                }
            });
            let want = (0..3).flat_map(|j| (0..n.div_ceil(64)).map(move |i| (i + 100 * j) as u64));
            assert!(p.words().iter().copied().eq(want), "{n} elements");
        }
    }

    #[test]
    #[should_panic(expected = "a plane has a gap")]
    fn gaps_are_found() {
        Planes::written(2, 65 * 64, |writers| writers[0].put(&[0; 65]));
    }
}
