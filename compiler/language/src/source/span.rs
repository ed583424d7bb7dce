//! Places in source texts.
//!
//! All [`Span`]s compare equal, whatever they hold, so that trees that were read from different texts
//! can be compared: `parse(print(x)) == x`.

use std::ops::Range;

/// Index of a source file in [`super::Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A range of bytes of one file. All spans are equal to each other: see the documentation of this file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Span {
    /// As a range of byte offsets.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The smallest span over both, which must be in one file.
    pub fn to(self, end: Span) -> Span {
        Span { file: self.file, start: self.start.min(end.start), end: self.end.max(end.end) }
    }
}
