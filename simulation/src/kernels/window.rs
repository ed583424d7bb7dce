//! Where windows lie in an image.

use slvr_compiler::types::Conv;

/// For each place on one side, which entries of a window meet what: pairs of (entry, place on the other side).
pub type Places = Vec<Vec<(usize, usize)>>;

/// Square windows over images of c channels.
#[derive(Clone, Debug)]
pub struct Window {
    pub c: usize,
    pub h: usize,
    pub w: usize,
    /// Side of the window.
    pub k: usize,
    /// Groups of channels, each with windows of its own.
    pub groups: usize,
    /// Windows from top to bottom.
    pub oh: usize,
    /// Windows from left to right.
    pub ow: usize,
    /// Rows and columns of pixels for each row and column of windows.
    pub(super) to_pixels: [Places; 2],
    /// Rows and columns of windows for each row and column of pixels.
    pub(super) to_windows: [Places; 2],
    /// For each entry of a window's row, pairs of (window, pixel).
    pub(super) across: Places,
}

impl Window {
    /// `None` if no window fits, a size is zero or does not fit a machine word, or the groups do not divide the channels.
    pub fn new([c, h, w]: [usize; 3], k: usize, conv: &Conv) -> Option<Window> {
        let count = |len: usize| usize::try_from(conv.output(len as u64, k as u64)?).ok();
        let (oh, ow) = (count(h)?, count(w)?);
        let groups = usize::try_from(conv.groups).ok()?;
        if [c, h, w, groups].contains(&0) || !c.is_multiple_of(groups) {
            return None;
        }
        // (window, entry, pixel) of all entries that lie in the image.
        let met = |len: usize, count: usize| -> Vec<(usize, usize, usize)> {
            (0..count)
                .flat_map(|o| (0..k).map(move |e| (o, e)))
                .filter_map(|(o, e)| {
                    let pixel = conv.read(o as u64, e as u64, len as u64)?;
                    Some((o, e, pixel as usize))
                })
                .collect()
        };
        let sorted = |places: usize, of: Vec<(usize, (usize, usize))>| -> Places {
            let mut all = vec![Vec::new(); places];
            of.into_iter().for_each(|(at, pair)| all[at].push(pair));
            all
        };
        let to_pixels = |len, count| {
            sorted(count, met(len, count).into_iter().map(|(o, e, p)| (o, (e, p))).collect())
        };
        let to_windows = |len, count| {
            sorted(len, met(len, count).into_iter().map(|(o, e, p)| (p, (e, o))).collect())
        };
        Some(Window {
            to_pixels: [to_pixels(h, oh), to_pixels(w, ow)],
            to_windows: [to_windows(h, oh), to_windows(w, ow)],
            across: sorted(k, met(w, ow).into_iter().map(|(o, e, p)| (e, (o, p))).collect()),
            c,
            h,
            w,
            k,
            groups,
            oh,
            ow,
        })
    }

    /// Entries of one window over all channels of its group.
    pub fn depth(&self) -> usize {
        self.c / self.groups * self.k * self.k
    }

    /// Windows of one channel.
    pub fn area(&self) -> usize {
        self.oh * self.ow
    }

    /// Calls `visit(index of the result, indices of the pixels)` for every window of every channel. For pooling, whose
    /// windows have all their entries.
    pub(super) fn each(&self, mut visit: impl FnMut(usize, &[usize])) {
        let mut pixels = Vec::with_capacity(self.k * self.k);
        let [rows, columns] = &self.to_pixels;
        let mut at = 0;
        for channel in 0..self.c {
            for rows in rows {
                for columns in columns {
                    pixels.clear();
                    for (_, y) in rows {
                        let start = (channel * self.h + y) * self.w;
                        pixels.extend(columns.iter().map(|(_, x)| start + x));
                    }
                    visit(at, &pixels);
                    at += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_window_of_a_size_of_zero() {
        let padded = Conv::new(1, 1);
        assert!(Window::new([2, 3, 3], 2, &padded).is_some());
        for image in [[0, 3, 3], [2, 0, 3], [2, 3, 0]] {
            assert!(Window::new(image, 2, &padded).is_none(), "{image:?}");
        }
        assert!(Window::new([2, 3, 3], 0, &padded).is_none());
        for groups in [0, 3] {
            let conv = Conv { groups, ..padded };
            assert!(Window::new([2, 3, 3], 2, &conv).is_none(), "{groups} groups");
        }
    }
}
