//! What two parties exchange, as statements: of an exchange each sends products of words with what both know, and these may be
//! added up before.

use super::chunk::Column;
use super::pooling::Reading;
use super::statements::{Role, View, zip};
use crate::share::prev;
use slvr_circuit::ValueId;
use slvr_circuit::proof::{Claim, Statement, Term};
use slvr_ring::Word;

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
        shard: Option<usize>,
        read: &Reading<'_, B>,
        by: (impl Fn(B, B) -> B, impl Fn(B, B) -> B, impl Fn(B, B) -> B),
    ) -> Vec<B> {
        let Claim::Exchange { terms, plus, .. } = &s.claim else { unreachable!("an exchange") };
        match self.exchanges(s, shard) {
            true => self.received(s, (terms, plus), shard, read, by),
            false => self.masking(s, plus, read, by.1),
        }
    }

    /// The word that masks a message: what is in its place in the result, less what is added besides products.
    fn masking<B: Word>(
        &self,
        s: &Statement,
        plus: &[(ValueId, bool)],
        read: &Reading<'_, B>,
        sub: impl Fn(B, B) -> B,
    ) -> Vec<B> {
        let part = |x: ValueId| {
            let (x, some) = self.source(x);
            read.one((self.part(x), 0, some))
        };
        let mut sum = part(s.out).one().into_owned();
        plus.iter().for_each(|(z, _)| take(&mut sum, &part(*z), &sub));
        sum
    }

    /// The message that a verifier received: the sum of both, which is what it holds of the result, less its own.
    fn received<B: Word>(
        &self,
        s: &Statement,
        (terms, plus): (&[Term], &[(ValueId, bool)]),
        shard: Option<usize>,
        read: &Reading<'_, B>,
        (add, sub, mul): (impl Fn(B, B) -> B, impl Fn(B, B) -> B, impl Fn(B, B) -> B),
    ) -> Vec<B> {
        // The component r + 2 is the first one at party r + 2, the second one at r + 1.
        let second = shard == Some(prev(self.me));
        let part = |x: ValueId, second: bool| {
            let (x, some) = self.source(x);
            let known = self.known(x, shard).map(|(x, gap)| (x, gap, some));
            known.unwrap_or_else(|| {
                let rep = self.rep(x);
                (if second { &*rep.second } else { &*rep.first }, 0, some)
            })
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
            take(&mut sum, &whole(z, !second), &sub);
            if !mask {
                take(&mut sum, &whole(z, second), &sub);
            }
        }
        sum
    }
}

/// Takes a column away.
fn take<B: Word>(sum: &mut [B], x: &Column<'_, B>, sub: &impl Fn(B, B) -> B) {
    Column::each([x], |at, [part]| {
        sum[at..].iter_mut().zip(part).for_each(|(s, x)| *s = sub(*s, *x));
    });
}
