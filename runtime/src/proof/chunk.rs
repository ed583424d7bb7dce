//! Statements in chunks: columns of words, which are read where they lie.

use slvr_ring::{Run, Word, Words, each_word};
use std::borrow::Cow;
use std::ops::Range;

/// All u of one term of a chunk's statements, or all v: parts that follow one another.
#[derive(Clone, Debug)]
pub struct Column<'a, B: Clone>(Vec<Part<'a, B>>);

#[derive(Clone, Debug)]
enum Part<'a, B: Clone> {
    Same(Cow<'a, [B]>),
    /// Some words of fewer bits, of those that have 64.
    Narrow(Cow<'a, Words>, Range<usize>),
}

impl<B: Copy> Part<'_, B> {
    fn len(&self) -> usize {
        match self {
            Part::Same(x) => x.len(),
            Part::Narrow(_, range) => range.len(),
        }
    }
}

impl<B: Clone> From<Vec<B>> for Column<'_, B> {
    fn from(words: Vec<B>) -> Self {
        Column(vec![Part::Same(Cow::Owned(words))])
    }
}

impl<'a, B: Copy + Default> Column<'a, B> {
    /// Of words that lie elsewhere.
    pub fn of_parts(parts: impl Iterator<Item = &'a [B]>) -> Self {
        Column(parts.map(|x| Part::Same(Cow::Borrowed(x))).collect())
    }

    /// Calls f for parts of several columns of one length, which end at equal places, with the number of words before them.
    pub(super) fn each<const N: usize>(columns: [&Self; N], mut f: impl FnMut(usize, [&[B]; N]))
    where
        B: Word,
    {
        let [first, others @ ..] = &columns[..] else { return };
        let lengths = |c: &Self| c.0.iter().map(Part::len).collect::<Vec<_>>();
        let same = |c: &&Self| c.0.iter().all(|part| matches!(part, Part::Same(_)));
        if others.iter().any(|c| lengths(c) != lengths(first)) || !columns.iter().all(same) {
            let whole = columns.map(Self::one);
            return f(0, whole.each_ref().map(AsRef::as_ref));
        }
        let mut at = 0;
        for i in 0..first.0.len() {
            f(at, columns.map(|c| c.0[i].same()));
            at += first.0[i].len();
        }
    }

    /// So many blocks of n words each, with zeros behind the last word. What lies in two parts is copied.
    pub(super) fn blocks(&self, blocks: usize, n: usize) -> Blocks<&[B], B> {
        Blocks::of(self.0.iter().map(Part::same), blocks, n)
    }
}

impl<B: Copy> Part<'_, B> {
    /// The words, of what is no narrower.
    fn same(&self) -> &[B] {
        match self {
            Part::Same(x) => x,
            Part::Narrow(..) => {
                unreachable!("only lifted statements have narrower words, and read runs")
            }
        }
    }
}

impl Part<'_, u64> {
    fn run(&self) -> Option<Run<'_>> {
        match self {
            Part::Same(x) => Some(Run::W64(x)),
            Part::Narrow(words, range) => Run::of(words, range.clone()),
        }
    }
}

impl<'a, B: Word> Column<'a, B> {
    /// Some words of any width, where they lie if these are of this width, or narrower ones of 64 bits.
    pub fn of_words(words: Cow<'a, Words>, range: Range<usize>) -> Self {
        Column(vec![match words {
            Cow::Borrowed(words) if B::of(words).is_some() => {
                return Column::of_parts(B::of(words).map(|words| &words[range]).into_iter());
            }
            words if B::BITS == 64 && words.bits() < 64 => Part::Narrow(words, range),
            words => Part::Same(Cow::Owned(widened(&words, range))),
        }])
    }

    /// All words in one part.
    pub fn one(&self) -> Cow<'_, [B]> {
        match &self.0[..] {
            [Part::Same(part)] => Cow::Borrowed(part),
            parts => {
                let mut all = Vec::with_capacity(parts.iter().map(Part::len).sum());
                parts.iter().for_each(|part| match part {
                    Part::Same(x) => all.extend_from_slice(x),
                    Part::Narrow(words, range) => all.extend(widened::<B>(words, range.clone())),
                });
                Cow::Owned(all)
            }
        }
    }

    /// With so many bits of each word.
    fn cut(self, bits: u32) -> Self {
        let fits = |part: &Part<'_, B>| matches!(part, Part::Narrow(x, _) if x.bits() <= bits);
        if bits == B::BITS || self.0.iter().all(fits) {
            return self;
        }
        let mut all = self.one().into_owned();
        masked(&mut all, bits);
        all.into()
    }
}

impl Column<'_, u64> {
    /// As [`Column::blocks`].
    fn runs(&self, blocks: usize, n: usize) -> Blocks<Run<'_>, u64> {
        Blocks::of(self.0.iter().filter_map(Part::run), blocks, n)
    }
}

pub(super) fn widened<B: Word>(words: &Words, range: Range<usize>) -> Vec<B> {
    each_word!(words, x => x[range].iter().map(|&x| super::pooling::widened::<_, B>(x)).collect())
}

/// With so many bits of each.
fn masked<B: Word>(all: &mut [B], bits: u32) {
    if bits < B::BITS {
        let above = B::from_u128(1 << bits);
        all.iter_mut().for_each(|x| *x = x.wsub(x.shr(bits).wmul(above)));
    }
}

/// Words that lie one after another.
pub(super) trait Piece<B>: Copy {
    fn len(self) -> usize;
    /// The first n, or all there are, and the others.
    fn cut_at(self, n: usize) -> (Self, Self);
    fn copied(self, to: &mut Vec<B>);
}

impl<B: Copy> Piece<B> for &[B] {
    fn len(self) -> usize {
        self.len()
    }
    fn cut_at(self, n: usize) -> (Self, Self) {
        self.split_at(n.min(self.len()))
    }
    fn copied(self, to: &mut Vec<B>) {
        to.extend_from_slice(self);
    }
}

impl Piece<u64> for Run<'_> {
    fn len(self) -> usize {
        Run::len(self)
    }
    fn cut_at(self, n: usize) -> (Self, Self) {
        self.split_at(n)
    }
    fn copied(self, to: &mut Vec<u64>) {
        let before = to.len();
        to.resize(before + Run::len(self), 0);
        self.widen(0, &mut to[before..]);
    }
}

/// The blocks of a column.
pub(super) struct Blocks<P, B> {
    /// Words of each.
    n: usize,
    /// Where each lies, or nothing of the next one that is copied.
    places: Vec<Option<P>>,
    copied: Vec<B>,
}

impl<P: Piece<B>, B: Copy + Default> Blocks<P, B> {
    fn of(parts: impl Iterator<Item = P>, blocks: usize, n: usize) -> Self {
        let mut out = Blocks { n, places: Vec::with_capacity(blocks), copied: Vec::new() };
        let mut parts = parts.filter(|part| part.len() > 0);
        // What is left of the part at hand.
        let mut left = parts.next();
        for _ in 0..blocks {
            if n == 0 || left.is_some_and(|left| left.len() >= n) {
                let pieces = left.map(|left| left.cut_at(n));
                out.places.push(pieces.map(|(block, _)| block));
                left =
                    pieces.map(|(_, rest)| rest).filter(|x| x.len() > 0).or_else(|| parts.next());
                continue;
            }
            let mut missing = n;
            while let Some(some) = left.filter(|_| missing > 0) {
                let (some, rest) = some.cut_at(missing);
                some.copied(&mut out.copied);
                missing -= some.len();
                left = if rest.len() > 0 { Some(rest) } else { parts.next() };
            }
            out.copied.extend(std::iter::repeat_n(B::default(), missing));
            out.places.push(None);
        }
        out
    }

    /// Those that are copied.
    fn others(&self) -> impl Iterator<Item = &[B]> {
        self.copied.chunks_exact(self.n.max(1))
    }
}

impl<B: Copy + Default> Blocks<&[B], B> {
    pub(super) fn words(&self) -> Vec<&[B]> {
        let mut others = self.others();
        self.places.iter().map(|place| place.or_else(|| others.next()).unwrap_or(&[])).collect()
    }
}

impl Blocks<Run<'_>, u64> {
    pub(super) fn runs(&self) -> Vec<Run<'_>> {
        let mut others = self.others();
        let mut other = || Run::W64(others.next().unwrap_or(&[]));
        self.places.iter().map(|place| place.unwrap_or_else(&mut other)).collect()
    }
}

/// Statements of one instruction, sum over terms u v = s1 + s2 each, as one of the three sees them. Cut into blocks of
/// n elements, statement b n + t is element t of block b. For bits an element is a word of 64 statements.
#[derive(Clone)]
pub struct Chunk<'a, B: Clone = u64> {
    statements: usize,
    terms: Vec<Column<'a, B>>,
    /// s1 or s2, where it was asked for.
    sum: Option<Vec<B>>,
    /// Statements over fewer bits than words have are multiplied by this power of two.
    scale: u32,
}

impl<'a, B: Word> Chunk<'a, B> {
    /// Statements over so many bits, of words below their power of two.
    pub(super) fn over(self, bits: u32) -> Self {
        let terms = self.terms.into_iter().map(|column| column.cut(bits)).collect();
        let mut sum = self.sum;
        sum.iter_mut().for_each(|sum| masked(sum, bits));
        Chunk { terms, sum, scale: B::BITS - bits, ..self }
    }

    /// The chunk without a power of two: the sums are multiplied by it, and on the side of V1 the u.
    pub fn raised(self, first: bool) -> Self {
        let factor = B::from_u128(1 << self.scale);
        let raised = |mut all: Vec<B>| {
            all.iter_mut().for_each(|x| *x = x.wmul(factor));
            all
        };
        let column = |x: Column<'a, B>| Column::from(raised(x.one().into_owned()));
        let (mut terms, mut sum) = (self.terms, self.sum);
        if self.scale > 0 {
            if first {
                terms = terms.into_iter().map(column).collect();
            }
            sum = sum.map(raised);
        }
        Chunk { terms, sum, scale: 0, ..self }
    }
}

impl Chunk<'_> {
    /// As [`Chunk::blocks`].
    pub(super) fn runs(&self, blocks: usize) -> Vec<Blocks<Run<'_>, u64>> {
        let n = self.statements.div_ceil(blocks);
        self.terms.iter().map(|column| column.runs(blocks, n)).collect()
    }
}

impl<'a, B: Copy + Default> Chunk<'a, B> {
    /// From vectors of one length, one value for each statement.
    pub fn new(statements: usize, terms: Vec<Column<'a, B>>, sum: Option<Vec<B>>) -> Self {
        Chunk { statements, terms, sum, scale: 0 }
    }

    /// By which power of two its statements are multiplied.
    pub(super) fn scale(&self) -> u32 {
        self.scale
    }

    /// Of each term all u, or all v.
    #[cfg(test)]
    pub(super) fn columns(&self) -> Vec<Vec<B>>
    where
        B: Word,
    {
        self.terms.iter().map(|c| c.one().into_owned()).collect()
    }

    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Of each term all u, or all v, in so many blocks of one length.
    pub(super) fn blocks(&self, blocks: usize) -> Vec<Blocks<&[B], B>> {
        let n = self.statements.div_ceil(blocks);
        self.terms.iter().map(|column| column.blocks(blocks, n)).collect()
    }

    /// s1 or s2 of all statements, where it was asked for.
    pub(super) fn into_sum(self) -> Option<Vec<B>> {
        self.sum
    }

    /// The same, with zeros up to so many blocks of one length.
    pub(super) fn into_sum_of(self, blocks: usize) -> Option<Vec<B>> {
        let n = self.statements.next_multiple_of(blocks);
        let mut sum = self.sum?;
        sum.resize(n, B::default());
        Some(sum)
    }

    /// The statements of several chunks, which have as many terms.
    pub fn joined(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let Some(mut out) = parts.next() else { return Chunk::new(0, Vec::new(), None) };
        for part in parts {
            // What is left out would not be proven. Where sums are asked for, nobody reads terms.
            let as_many = out.terms.len() == part.terms.len() || out.sum.is_some();
            assert!(as_many && out.scale == part.scale, "chunks of as many terms are joined");
            out.statements += part.statements;
            out.terms.iter_mut().zip(part.terms).for_each(|(to, from)| to.0.extend(from.0));
            out.sum.iter_mut().zip(&part.sum).for_each(|(to, from)| to.extend(from));
        }
        out
    }
}

/// Chunks by their numbers. They are made when they are read, because all of them are many times what the parties hold.
pub trait Chunks<B: Clone>: Sync {
    /// Terms of a chunk.
    fn terms(&self, chunk: usize) -> usize;
    /// Makes it.
    fn make(&self, chunk: usize) -> Chunk<'_, B>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Wherever a column is cut into parts, its blocks are those of its words.
        #[test]
        fn blocks_do_not_depend_on_parts(
            parts in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..9), 0..9), blocks in 1usize..20,
        ) {
            let column = Column::of_parts(parts.iter().map(Vec::as_slice));
            let mut all = parts.concat();
            let n = all.len().div_ceil(blocks);
            prop_assert_eq!(column.one().len(), all.len());
            all.resize(n * blocks, 0);
            let found = column.blocks(blocks, n);
            prop_assert!(found.words().iter().all(|block| block.len() == n));
            prop_assert_eq!(found.words().len(), blocks);
            prop_assert_eq!(&found.words().concat(), &all);
            let runs = column.runs(blocks, n);
            let mut wide = vec![0; n];
            for (run, block) in runs.runs().into_iter().zip(found.words()) {
                run.widen(0, &mut wide);
                prop_assert_eq!(&wide[..], block);
            }
            // Of words of fewer bits, as they are and in columns that are told fewer still.
            let narrow: Vec<u16> = all.iter().map(|x| *x as u16).collect();
            let some = Column::<u64>::of_words(Cow::Owned(Words::W16(narrow)), 0..all.len());
            let low = |bits: u32| all.iter().map(|x| x & ((1 << bits) - 1)).collect::<Vec<_>>();
            prop_assert_eq!(some.one().into_owned(), low(16));
            prop_assert_eq!(some.cut(8).one().into_owned(), low(8));
            // Beside one with the same parts, and one with others.
            all.truncate(column.one().len());
            for other in [column.clone(), all.clone().into()] {
                let mut seen = vec![false; all.len()];
                Column::each([&column, &other], |at, [a, b]| {
                    assert!(a == b && a == &all[at..at + a.len()]);
                    seen[at..at + a.len()].fill(true);
                });
                prop_assert!(seen.iter().all(|seen| *seen));
            }
        }
    }
}
