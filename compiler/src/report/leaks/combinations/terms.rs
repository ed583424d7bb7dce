//! Rows of a reveal as sums of terms, whose entries lie evenly apart along lanes: how they are cut, and what they are in
//! the end.

use super::elimination::Member;
use super::residue::Residue;
use crate::analysis::lanes::Uneven;
use crate::graph::NodeId;

/// Entries evenly apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    pub(super) count: u64,
    /// From an entry to the next.
    pub(super) step: u64,
}

impl Lane {
    /// Whether there are several entries, and not one again and again.
    pub(super) fn moves(self) -> bool {
        self.count > 1 && self.step > 0
    }

    /// Whether it is one entry, perhaps again and again. A lane without entries neither moves nor is still.
    fn is_still(self) -> bool {
        self.count == 1 || self.step == 0
    }

    /// Whether it goes on, entry by entry, where the other one ends: both together are one lane.
    fn continues(self, inner: Lane) -> bool {
        self.step == inner.count * inner.step
    }
}

/// A factor times the sum of entries of a node, in every row: the first entry of the first row, the lanes along which
/// it moves from row to row, and then those along which it is added up. So the five rows of the sum over i of `x[i][j]`,
/// of three times five numbers, are one term with a lane of 5 entries, 1 apart, and then one of 3, which are 5 apart.
#[derive(Clone)]
pub(super) struct Term {
    pub(super) factor: Residue,
    pub(super) node: NodeId,
    pub(super) at: u64,
    pub(super) lanes: Vec<Lane>,
    /// Whose data all these entries are made of, if they are one member's. Known of what is done.
    pub(super) owner: Option<Member>,
}

/// Rows of one reveal: sums of terms.
pub(super) struct Block {
    pub(super) output: usize,
    /// Lanes of the rows.
    pub(super) rows: usize,
    pub(super) todo: Vec<Term>,
    pub(super) done: Vec<Term>,
}

/// A lane that has to be cut, and how.
pub(super) type Cut = (usize, How);

#[derive(Clone, Copy)]
pub(super) enum How {
    /// After so many entries.
    After(u64),
    /// Into two, the inner one of this size.
    Inner(u64),
    /// Into its entries.
    Each,
}

/// Entries of a node evenly apart, with a factor.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) factor: Residue,
    pub(super) node: NodeId,
    pub(super) at: u64,
    pub(super) step: u64,
    pub(super) count: u64,
    pub(super) owner: Option<Member>,
}

impl Span {
    pub(super) fn entry(self, k: u64) -> Span {
        Span { at: self.at + k * self.step, step: 1, count: 1, ..self }
    }
}

/// Rows of one reveal: row k is the sum of entry k of each span, and of all of each total.
#[derive(Clone)]
pub(super) struct Rows {
    pub(super) output: usize,
    pub(super) count: u64,
    pub(super) spans: Vec<Span>,
    pub(super) totals: Vec<Span>,
}

impl Term {
    pub(super) fn times(self, by: Residue) -> Term {
        Term { factor: self.factor * by, ..self }
    }

    pub(super) fn cut(&self, lane: usize, how: How) -> Vec<Term> {
        let Lane { count, step } = self.lanes[lane];
        let part = |from: u64, count: u64| {
            let mut part = Term { at: self.at + from * step, ..self.clone() };
            part.lanes[lane].count = count;
            part
        };
        match how {
            How::After(first) => vec![part(0, first), part(first, count - first)],
            How::Each => (0..count).map(|k| part(k, 1)).collect(),
            How::Inner(inner) => {
                let outer = Lane { count: count / inner, step: step * inner };
                let mut both = self.clone();
                both.lanes.splice(lane..=lane, [outer, Lane { count: inner, step }]);
                vec![both]
            }
        }
    }

    /// What is added up, along as few lanes as it goes.
    fn compact(&mut self, rows: usize) {
        let mut summed = self.lanes.split_off(rows);
        for still in summed.extract_if(.., |lane| lane.is_still()) {
            self.factor = self.factor * Residue::whole(still.count);
        }
        while let Some((outer, inner)) = pair(summed.len(), |k, l| summed[k].continues(summed[l])) {
            summed[inner].count *= summed[outer].count;
            summed.remove(outer);
        }
        self.lanes.append(&mut summed);
    }
}

/// The first two different numbers below n for which this holds.
fn pair(n: usize, holds: impl Fn(usize, usize) -> bool) -> Option<(usize, usize)> {
    let pairs = (0..n).flat_map(|k| (0..n).map(move |l| (k, l)));
    pairs.into_iter().find(|&(k, l)| k != l && holds(k, l))
}

impl Block {
    pub(super) fn cut(&self, lane: usize, how: How) -> Vec<Block> {
        let cut =
            |terms: &[Term]| terms.iter().map(|t| t.cut(lane, how).into_iter()).collect::<Vec<_>>();
        let (mut todo, mut done) = (cut(&self.todo), cut(&self.done));
        let rows = self.rows + usize::from(matches!(how, How::Inner(_)));
        let parts = todo.iter().chain(&done).map(ExactSizeIterator::len).max().unwrap_or(0);
        let next = |of: &mut [std::vec::IntoIter<Term>]| {
            of.iter_mut().filter_map(Iterator::next).collect()
        };
        (0..parts)
            .map(|_| Block {
                output: self.output,
                rows,
                todo: next(&mut todo),
                done: next(&mut done),
            })
            .collect()
    }

    /// The block as rows, or other blocks that are the same.
    pub(super) fn finished(mut self) -> Result<Rows, Vec<Block>> {
        self.drop_still();
        self.join();
        if self.rows > 1 {
            let count = |k: &usize| self.done[0].lanes[*k].count;
            let shortest = (0..self.rows).min_by_key(count).unwrap_or(0);
            return Err(self.cut(shortest, How::Each));
        }
        self.into_rows()
    }

    /// Drops lanes along which nothing moves: the same row again and again.
    fn drop_still(&mut self) {
        for lane in (0..self.rows).rev() {
            if self.done.iter().all(|t| t.lanes[lane].is_still()) {
                self.done.iter_mut().for_each(|t| _ = t.lanes.remove(lane));
                self.rows -= 1;
            }
        }
    }

    /// Joins lanes of the rows that go on in one another, in all terms.
    fn join(&mut self) {
        let along = |k: usize, l: usize| self.done.iter().all(|t| t.lanes[k].continues(t.lanes[l]));
        let Some((outer, inner)) = pair(self.rows, along) else { return };
        for t in &mut self.done {
            t.lanes[inner].count *= t.lanes[outer].count;
            t.lanes.remove(outer);
        }
        self.rows -= 1;
        self.join();
    }

    /// Of one row, or of rows along one lane.
    fn into_rows(self) -> Result<Rows, Vec<Block>> {
        let (mut spans, mut totals) = (Vec::new(), Vec::new());
        let mut count = 1;
        let mut open = self.done.clone();
        while let Some(mut t) = open.pop() {
            t.compact(self.rows);
            let (own, summed) = t.lanes.split_at(self.rows);
            let own = own.first().copied().unwrap_or(Lane { count: 1, step: 0 });
            count = own.count;
            if let Some(lane) = uneven(own, summed) {
                open.extend(t.cut(self.rows + lane, How::Each));
                continue;
            }
            let span = |Lane { count, step }| Span {
                factor: t.factor,
                node: t.node,
                at: t.at,
                step,
                count,
                owner: t.owner,
            };
            match summed {
                [] if self.rows == 0 || own.moves() => {
                    spans.push(span(Lane { step: own.step.max(1), ..own }));
                }
                [] => totals.push(span(Lane { count: 1, step: 1 })),
                _ if own.moves() => return Err(self.cut(0, How::Each)),
                [all, ..] => totals.push(span(*all)),
            }
        }
        Ok(Rows { output: self.output, count, spans, totals })
    }
}

/// Of lanes that are added up in each row, one that has to be cut into its entries: where rows move along `own`, one
/// that reaches beyond all of these, as columns of a matrix are; else all but one lane, the longest.
fn uneven(own: Lane, summed: &[Lane]) -> Option<usize> {
    if own.moves() {
        return summed.iter().position(|lane| lane.step > own.step * (own.count - 1));
    }
    let longest = summed.iter().map(|lane| lane.count).max()?;
    let shorter = summed.iter().position(|lane| lane.count < longest);
    shorter.or((summed.len() > 1).then_some(0))
}

/// The lanes of a term somewhere else, or which one to cut for it.
pub(super) fn even(
    t: &Term,
    to: impl Fn(&[u64], &[u64]) -> Result<Vec<u64>, Uneven>,
) -> Result<Vec<Lane>, Cut> {
    let mut sizes: Vec<u64> = t.lanes.iter().map(|lane| lane.count).collect();
    let distances: Vec<u64> = t.lanes.iter().map(|lane| lane.step).collect();
    match to(&sizes, &distances) {
        Ok(moved) => {
            let along = |(count, step)| Lane { count, step };
            Ok(sizes.into_iter().zip(moved).map(along).collect())
        }
        Err(Uneven::Split { lane, inner }) => Err((lane, How::Inner(inner))),
        Err(Uneven::Different) => {
            let count = |k: &usize| t.lanes[*k].count;
            let moving: Vec<usize> = (0..sizes.len()).filter(|&k| t.lanes[k].moves()).collect();
            let mut fits = |k: usize| {
                let n = std::mem::replace(&mut sizes[k], 1);
                let fits = to(&sizes, &distances).is_ok();
                sizes[k] = n;
                fits
            };
            let alone = moving.iter().copied().filter(|&k| fits(k)).min_by_key(count);
            let lane = alone.or(moving.into_iter().max_by_key(count)).unwrap_or(0);
            Err((lane, How::After(t.lanes[lane].count / 2)))
        }
    }
}
