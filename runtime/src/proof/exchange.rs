//! What two parties exchange, as statements: of an exchange each sends products of words with what both know, and these may be
//! added up before.

use super::chunk::Column;
use super::claims::{Read, Role, View, widened, zip};
use crate::share::prev;
use slvr_circuit::proof::{Claim, Pooled, Statement};
use slvr_circuit::{Circuit, Lanes, ValueId, elements, lead};
use slvr_ring::{Data, Word, each_word};
use std::ops::Range;

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

    /// For each place in a sum, the elements of a tensor at it.
    fn columns<B: Word>(&self, x: &Data) -> Vec<Column<'static, B>> {
        let Data::Ring(words) = x else { unreachable!("sums are of words") };
        let column = |place: &usize| -> Vec<B> {
            each_word!(words, x => {
                let mut out = Vec::with_capacity(self.rows.len() * self.row);
                for at in &self.rows {
                    // A distance is at least 1.
                    let row = x[at + place..].iter().step_by(self.step).take(self.row);
                    out.extend(row.map(|&x| widened::<_, B>(x)));
                }
                out
            })
        };
        self.places.iter().map(|place| column(place).into()).collect()
    }
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
    pub(super) fn one<'x>(&self, x: &'x Data) -> Column<'x, B> {
        (self.read)(x, self.range.clone())
    }

    /// Factors: a column, or one for each place in a sum.
    pub(super) fn all<'x>(&self, x: &'x Data) -> Vec<Column<'x, B>> {
        match self.pooling {
            Some(pooling) => pooling.columns(x),
            None => vec![self.one(x)],
        }
    }
}

impl View<'_> {
    /// Whether this verifier is one of the two of an exchange, and not the one that knows what masks it.
    fn exchanges(&self, s: &Statement, part: Option<usize>) -> bool {
        let verifies = !matches!(self.role, Role::Prover(_));
        verifies && matches!(s.claim, Claim::Exchange { .. }) && part != Some(self.me)
    }

    /// Of an exchange what this verifier adds: the word that masks the prover's message, or the message. Of the prover the
    /// word that masks it, at the component of [`View::added`]. The two
    /// components of the result at one of the two are the other's mask and the sum of both messages.
    pub(super) fn message<B: Word>(
        &self,
        s: &Statement,
        part: Option<usize>,
        read: &Reading<'_, B>,
        (add, sub, mul): (impl Fn(B, B) -> B, impl Fn(B, B) -> B, impl Fn(B, B) -> B),
    ) -> Vec<B> {
        let Claim::Exchange { terms, plus, .. } = &s.claim else { unreachable!("an exchange") };
        let less = |sum: &mut [B], x: &Column<'_, B>| {
            for (at, part) in x.parts() {
                sum[at..].iter_mut().zip(part).for_each(|(s, x)| *s = sub(*s, *x));
            }
        };
        if !self.exchanges(s, part) {
            let mut sum = read.one(self.part(s.out)).one().into_owned();
            plus.iter().for_each(|(z, _)| less(&mut sum, &read.one(self.part(*z))));
            return sum;
        }
        // The component r + 2 is the first one at party r + 2, the second one at r + 1.
        let second = part == Some(prev(self.me));
        let part = |x: ValueId, second: bool| {
            let rep = self.rep(x);
            if second { &*rep.second } else { &*rep.first }
        };
        let whole = |x: ValueId, second: bool| read.one(part(x, second));
        let mut sum = zip(&whole(s.out, true).one(), &whole(s.out, false).one(), &add);
        for t in terms {
            let [x, y] =
                [(t.x, !second), (t.y, second)].map(|(x, second)| read.all(part(x, second)));
            if t.mask {
                for (x, y) in x.iter().zip(&y) {
                    Column::each([x, y], |at, [x, y]| {
                        let both = x.iter().zip(y);
                        let of = |s: &mut B, x: B, y: B| *s = sub(*s, mul(x, y));
                        sum[at..].iter_mut().zip(both).for_each(|(s, (x, y))| of(s, *x, *y));
                    });
                }
                continue;
            }
            let other = read.all(part(t.x, second));
            for ((x, z), y) in x.iter().zip(&other).zip(&y) {
                Column::each([x, z, y], |at, [x, z, y]| {
                    let all = x.iter().zip(z).zip(y);
                    let of = |s: &mut B, x: B, z: B, y: B| *s = sub(*s, mul(add(x, z), y));
                    sum[at..].iter_mut().zip(all).for_each(|(s, ((x, z), y))| of(s, *x, *z, *y));
                });
            }
        }
        for &(z, mask) in plus {
            less(&mut sum, &whole(z, !second));
            if !mask {
                less(&mut sum, &whole(z, second));
            }
        }
        sum
    }
}
