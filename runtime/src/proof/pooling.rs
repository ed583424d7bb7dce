//! How the products of an exchange are read, which may be added up before it.

use super::chunk::Column;
use slvr_circuit::proof::{Claim, Pooled, Statement};
use slvr_circuit::{Circuit, Lanes, elements, lead};
use slvr_ring::{Data, Word, each_word};
use std::borrow::Cow;
use std::ops::Range;

/// A word as one of 64 bits, or of 128.
pub(super) fn widened<A: Word, B: Word>(x: A) -> B {
    if B::BITS > 64 { B::from_u128(x.to_u128()) } else { B::from_u64(x.to_u64()) }
}

/// Reads some elements as a column, of bits of all planes or of some.
pub(super) type Read<B> = for<'x> fn(&'x Data, Option<&[u32]>, Range<usize>) -> Column<'x, B>;

/// A factor: what is held, how far before their places its elements lie, and which planes of it are meant.
pub(super) type Factor<'x> = (&'x Data, usize, Option<&'x [u32]>);

/// Where the products of each sum of a shard lie.
pub(super) struct Pooling {
    /// Of the first product of a sum, for every so many sums in a row, where it lies.
    rows: Vec<usize>,
    /// So many.
    row: usize,
    /// How far apart those of sums in a row are.
    step: usize,
    /// How far behind the first product of its sum each one lies.
    places: Vec<usize>,
}

impl Pooling {
    /// Of a statement about sums, in a shard, or in none of which anything is said.
    pub(super) fn of(circuit: &Circuit, s: &Statement, shard: Option<usize>) -> Option<Pooling> {
        let Claim::Exchange { pooled: Some(Pooled { shape, axes }), .. } = &s.claim else {
            return None;
        };
        let (each, sums) = (s.claim.pooled(), shard.map_or(0, |r| s.lanes(circuit).len(r)));
        let (Some(r), true) = (shard, each > 0 && sums > 0) else {
            // As many columns as there would be.
            return Some(Pooling { rows: vec![], row: 1, step: 1, places: vec![0; each] });
        };
        // Size and distance of each axis.
        let mut distance = 1;
        let mut dims: Vec<(usize, usize)> = (shape.iter().rev())
            .map(|&d| {
                let before = distance;
                distance *= d as usize;
                (d as usize, before)
            })
            .collect();
        dims.reverse();
        let is_added = |i: &usize| axes.contains(&(*i as u64));
        let (added, kept): (Vec<usize>, Vec<usize>) = (0..dims.len()).partition(is_added);
        let all = |dims: &[(usize, usize)], axes: &[usize], first: usize| {
            axes.iter().fold(vec![first], |at, &i| {
                let (n, distance) = dims[i];
                at.iter().flat_map(|&x| (0..n).map(move |j| x + j * distance)).collect()
            })
        };
        // Of one group, which has all, the leading axis may be one that is added up.
        let places = all(&dims, &added, 0);
        let lanes = Lanes { n: elements(shape) as usize, groups: s.groups };
        if let Some((rows, _)) = dims.get_mut(lead(shape)) {
            *rows = *rows / s.groups.max(1) as usize * lanes.groups_in(r) as usize;
        }
        let (row, step, outer) = match kept.split_last() {
            Some((&last, outer)) => (dims[last].0, dims[last].1, outer),
            None => (1, 1, &[][..]),
        };
        let rows = all(&dims, outer, lanes.ranges()[r].start);
        debug_assert_eq!(rows.len() * row, sums, "all sums of the shard");
        Some(Pooling { rows, row, step, places })
    }

    /// For each place in a sum, the elements of a tensor at it, which lie so far before their places.
    fn columns<B: Word>(&self, x: &Data, gap: usize) -> Vec<Column<'static, B>> {
        let Data::Ring(words) = x else { unreachable!("sums are of words") };
        let n = self.rows.len() * self.row;
        let column = |place: &usize| {
            each_word!(words, x => {
                // A distance is at least 1.
                let row = |at: &usize| x[at + place - gap..].iter().step_by(self.step);
                let mut out = Vec::with_capacity(n);
                self.rows.iter().for_each(|at| out.extend(row(at).take(self.row).copied()));
                Word::wrap(out)
            })
        };
        let words = self.places.iter().map(column);
        words.map(|words| Column::of_words(Cow::Owned(words), 0..n)).collect()
    }
}

/// A range so far before; of nothing, nothing.
pub(super) fn earlier(range: &Range<usize>, gap: usize) -> Range<usize> {
    if range.is_empty() { 0..0 } else { range.start - gap..range.end - gap }
}

/// How an exchange reads tensors.
pub(super) struct Reading<'a, B: Clone> {
    pub(super) range: &'a Range<usize>,
    pub(super) read: Read<B>,
    /// If its products are added up.
    pub(super) pooling: Option<&'a Pooling>,
}

impl<B: Word> Reading<'_, B> {
    /// What is as long as the result.
    pub(super) fn one<'x>(&self, (x, _, some): Factor<'x>) -> Column<'x, B> {
        (self.read)(x, some, self.range.clone())
    }

    /// A column, or one for each place in a sum.
    pub(super) fn all<'x>(&self, (x, gap, some): Factor<'x>) -> Vec<Column<'x, B>> {
        match self.pooling {
            Some(pooling) => pooling.columns(x, gap),
            None => vec![(self.read)(x, some, earlier(self.range, gap))],
        }
    }
}
