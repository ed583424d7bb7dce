//! Statements in chunks: columns of words, which are read where they lie.

use std::borrow::Cow;

/// Of one term of all statements of a chunk all u, or all v: parts that follow one another.
#[derive(Clone, Debug)]
pub struct Column<'a, B: Clone>(Vec<Cow<'a, [B]>>);

impl<B: Clone> From<Vec<B>> for Column<'_, B> {
    fn from(words: Vec<B>) -> Self {
        Column(vec![Cow::Owned(words)])
    }
}

impl<'a, B: Copy + Default> Column<'a, B> {
    /// Of words that lie elsewhere.
    pub fn of_parts(parts: impl Iterator<Item = &'a [B]>) -> Self {
        Column(parts.map(Cow::Borrowed).collect())
    }

    /// All words in one part.
    pub fn one(&self) -> Cow<'_, [B]> {
        match &self.0[..] {
            [part] => Cow::Borrowed(part),
            parts => Cow::Owned(parts.concat()),
        }
    }

    /// Calls f for parts of several columns of one length, which end at equal places, with the number of words before them.
    pub(super) fn each<const N: usize>(columns: [&Self; N], mut f: impl FnMut(usize, [&[B]; N])) {
        let [first, others @ ..] = &columns[..] else { return };
        let lengths = |c: &Self| c.0.iter().map(|part| part.len()).collect::<Vec<_>>();
        if others.iter().any(|c| lengths(c) != lengths(first)) {
            let whole = columns.map(Self::one);
            return f(0, whole.each_ref().map(AsRef::as_ref));
        }
        for (i, (at, _)) in first.parts().enumerate() {
            f(at, columns.map(|c| c.0[i].as_ref()));
        }
    }

    /// The parts, each with the number of words before it.
    pub(super) fn parts(&self) -> impl Iterator<Item = (usize, &[B])> {
        self.0.iter().scan(0, |end, part| {
            let at = *end;
            *end += part.len();
            Some((at, part.as_ref()))
        })
    }

    /// So many blocks of n words each, with zeros behind the last word. What lies in two parts is copied.
    pub(super) fn blocks(&self, blocks: usize, n: usize) -> Blocks<'_, B> {
        let mut out = Blocks { n, places: Vec::with_capacity(blocks), copied: Vec::new() };
        let mut parts = self.parts().map(|(_, part)| part).filter(|part| !part.is_empty());
        // What is left of the part at hand.
        let mut left: &[B] = parts.next().unwrap_or(&[]);
        for _ in 0..blocks {
            if let Some((block, rest)) = left.split_at_checked(n) {
                out.places.push(Some(block));
                left = if rest.is_empty() { parts.next().unwrap_or(&[]) } else { rest };
                continue;
            }
            let mut missing = n;
            while missing > 0 && !left.is_empty() {
                let (some, rest) = left.split_at(left.len().min(missing));
                out.copied.extend_from_slice(some);
                missing -= some.len();
                left = if rest.is_empty() { parts.next().unwrap_or(&[]) } else { rest };
            }
            out.copied.extend(std::iter::repeat_n(B::default(), missing));
            out.places.push(None);
        }
        out
    }
}

/// The blocks of a column.
pub(super) struct Blocks<'a, B> {
    /// Words of each.
    n: usize,
    /// Where each lies, or nothing of the next one that is copied.
    places: Vec<Option<&'a [B]>>,
    copied: Vec<B>,
}

impl<B> Blocks<'_, B> {
    pub(super) fn words(&self) -> Vec<&[B]> {
        let mut copied = self.copied.chunks_exact(self.n.max(1));
        let place = |place: &Option<_>| place.or_else(|| copied.next()).unwrap_or(&[]);
        self.places.iter().map(place).collect()
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
}

impl<'a, B: Copy + Default> Chunk<'a, B> {
    /// From vectors of one length, one value for each statement.
    pub fn new(statements: usize, terms: Vec<Column<'a, B>>, sum: Option<Vec<B>>) -> Self {
        Chunk { statements, terms, sum }
    }

    /// Of each term all u, or all v.
    #[cfg(test)]
    pub(super) fn columns(&self) -> Vec<Vec<B>> {
        self.terms.iter().map(|c| c.one().into_owned()).collect()
    }

    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Of each term all u, or all v, in so many blocks of one length.
    pub(super) fn blocks(&self, blocks: usize) -> Vec<Blocks<'_, B>> {
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
            let as_many = out.terms.len() == part.terms.len();
            assert!(as_many || out.sum.is_some(), "chunks of as many terms are joined");
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
            prop_assert_eq!(column.parts().map(|(at, part)| at + part.len()).max().unwrap_or(0), all.len());
            all.resize(n * blocks, 0);
            let found = column.blocks(blocks, n);
            prop_assert!(found.words().iter().all(|block| block.len() == n));
            prop_assert_eq!(found.words().len(), blocks);
            prop_assert_eq!(&found.words().concat(), &all);
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
