//! What a party computes at a barrier, in each of its parts: as P, as V1 of the party after it and as V2 of the party
//! before it.

use super::lifted::Lifted;
use super::scope::{ItemChunks, Make, OfKind, ROLES, Scope, Start, drawn};
use crate::proof::algebra::{Algebra, Draw, OverBits, OverWords};
use crate::proof::chunk::Chunks;
use crate::proof::fold::{self, Side, accepts, polynomial};
use crate::proof::statements::{Component, Role, View};
use crate::share::{Purpose, Stream};
use slvr_circuit::proof::{Barrier, Folds, HASH, Kind, Lengths, products};
use slvr_ring::threads;

/// What a stream between two parties is for at a barrier. V1 and V2 of a prover share coins, P and V1 what hides
/// P's shares and V1's end, P and V2 what hides V2's.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    /// The half of the first coin that V2 tells.
    HalfAfter,
    /// The half that V1 tells.
    HalfBefore,
    /// P's and V1's shares of carries.
    Carries,
    /// The random element of the first vector.
    HideFirst,
    /// The random element of the second vector.
    HideSecond,
    /// The coin of a step.
    Coin(usize),
    /// P's and V1's share of the polynomials of a step.
    Share(usize),
}

/// Streams of one barrier.
pub(super) const SLOTS: u64 = 256;

impl Slot {
    pub(super) fn stream(self, barrier: usize) -> Stream {
        let slot = match self {
            Slot::HalfAfter => 0,
            Slot::HalfBefore => 1,
            Slot::Carries => 2,
            Slot::HideFirst => 3,
            Slot::HideSecond => 4,
            // 5 and 6 are free: the messages of a version stay as they are.
            Slot::Coin(step) => 7 + 2 * step as u64,
            Slot::Share(step) => 8 + 2 * step as u64,
        };
        assert!(slot < SLOTS, "far fewer folds than slots");
        Stream::new(barrier as u64 * SLOTS + slot, Purpose::Proof)
    }
}

pub(super) fn hash(x: &[u8; HASH]) -> [u8; HASH] {
    blake3::derive_key("slvr 2026 hash of a coin", x)
}

/// The seed of the coefficients, from the two halves.
pub(super) fn joined(after: &[u8; HASH], before: &[u8; HASH]) -> [u8; HASH] {
    blake3::derive_key("slvr 2026 coefficients of a proof", &[&after[..], before].concat())
}

fn draw<A: Algebra>(seed: &[u8; HASH]) -> Draw {
    drawn(A::KIND, seed)
}

/// What a party has of one kind of statements.
struct Sides<A: Algebra> {
    /// As P.
    mine: [Side<A>; 2],
    /// As V1 of the party after it.
    before: Side<A>,
    /// As V2 of the party before it.
    after: Side<A>,
    /// The random elements, in the order of [`ROLES`].
    hide: [A::E; 4],
    folds: Folds,
    make: Make<A::Base>,
}

impl<A: Algebra> OfKind for Sides<A> {
    fn message(&mut self, scope: &Scope<'_>, share: &[u8; HASH], out: &mut Vec<u8>) {
        let [u, v] = &mut self.mine;
        if u.is_done() {
            return;
        }
        u.hide(&self.hide[0]);
        v.hide(&self.hide[1]);
        let mut stream = draw::<A>(share);
        let [a, b] = [0, 1].map(|role| scope.chunks(role, A::KIND, (&self.folds, self.make)));
        for q in polynomial(u, v, [&a, &b]) {
            A::put(&A::sub(&q, &A::draw(&mut stream)), out);
        }
    }

    fn fold_before(&mut self, scope: &Scope<'_>, share: &[u8; HASH], coin: &[u8; HASH]) {
        let side = &mut self.before;
        if side.is_done() {
            return;
        }
        side.hide(&self.hide[2]);
        let mut stream = draw::<A>(share);
        let share = (0..side.sent()).map(|_| A::draw(&mut stream)).collect();
        let point = side.coin(&mut draw::<A>(coin));
        side.fold(&point, Some(share), &scope.chunks(2, A::KIND, (&self.folds, self.make)));
    }

    fn fold_after(&mut self, scope: &Scope<'_>, got: &mut &[u8], coin: &[u8; HASH]) -> bool {
        let side = &mut self.after;
        if side.is_done() {
            return true;
        }
        side.hide(&self.hide[3]);
        let Some((mine, rest)) = got.split_at_checked(side.sent() * A::BYTES) else {
            return false;
        };
        *got = rest;
        let share: Option<Vec<A::E>> = mine.chunks_exact(A::BYTES).map(A::get).collect();
        let Some(share) = share else { return false };
        let point = side.coin(&mut draw::<A>(coin));
        side.fold(&point, Some(share), &scope.chunks(3, A::KIND, (&self.folds, self.make)));
        true
    }

    fn prove(&mut self, scope: &Scope<'_>, coin: &[u8; HASH]) {
        if self.mine[0].is_done() {
            return;
        }
        let point = self.mine[0].coin(&mut draw::<A>(coin));
        for (role, side) in self.mine.iter_mut().enumerate() {
            side.fold(&point, None, &scope.chunks(role, A::KIND, (&self.folds, self.make)));
        }
    }

    fn end(&self, out: &mut Vec<u8>) {
        let (u, s1) = self.before.end();
        A::put(&u, out);
        A::put(&s1, out);
    }

    fn accepts(&self, got: &mut &[u8]) -> bool {
        let Some((mine, rest)) = got.split_at_checked(2 * A::BYTES) else { return false };
        *got = rest;
        let (u, s1) = mine.split_at(A::BYTES);
        match (A::get(u), A::get(s1)) {
            (Some(u), Some(s1)) => accepts::<A>(self.after.end(), (u, s1)),
            _ => false,
        }
    }
}

/// What joins a side after the first fold, and its share of the sum.
type Extra<A> = (<A as Algebra>::V, <A as Algebra>::E);

/// Nothing.
fn none<A: Algebra>(_: &View<'_>, _: &[u8; HASH]) -> Extra<A> {
    (A::zeros(0), A::zero())
}

/// The products of matrices.
fn long(barrier: &Barrier, view: &View<'_>, seed: &[u8; HASH]) -> Extra<OverWords> {
    let mut coefficients = Draw::new(seed, "slvr 2026 products of a proof");
    let (mut all, mut sum) = (Vec::new(), OverWords::zero());
    for s in products(view.circuit, barrier) {
        let (vector, x) = view.long(s).vectors(&mut coefficients);
        all.push(vector);
        sum = OverWords::add(&sum, &x);
    }
    (OverWords::concat(&all.iter().collect::<Vec<_>>(), 0), sum)
}

impl Start<'_> {
    /// The sides of all roles, of one kind of statements.
    fn sides<A: Algebra>(
        &self,
        folds: &Folds,
        make: Make<A::Base>,
        extra: &(dyn Fn(&View<'_>, &[u8; HASH]) -> Extra<A> + Sync),
    ) -> Sides<A> {
        let scope = self.scope;
        let coefficients = |seen: &ItemChunks<'_, A::Base>, seed: &[u8; HASH]| {
            // Long inner products are lifted, so that none are here.
            let [counts, _] = seen.counts();
            fold::coefficients::<A>(folds, &counts, &mut draw::<A>(seed))
        };
        // A prover's two sides have the same coefficients.
        let mine = coefficients(&scope.chunks(0, A::KIND, (folds, make)), self.seeds[0]);
        let out = threads::map(0..ROLES.len(), &|i| {
            let role = ROLES[i];
            let (stream, seed) = (scope.stream(i), self.seeds[i]);
            let sums = !matches!(role, Role::Prover(_));
            let view = scope.view(i, sums, &stream);
            let seen = ItemChunks::new(view, scope.barrier, A::KIND, (folds, make));
            let drawn = if sums { coefficients(&seen, seed) } else { mine.clone() };
            let asked: Option<&dyn Chunks<A::Base>> = if sums { Some(&seen) } else { None };
            let weighs = role.component() == Component::First;
            Side::new(folds, asked, extra(&seen.view, seed), weighs, drawn)
        });
        let Ok([u, v, before, after]) = <[_; 4]>::try_from(out) else {
            unreachable!("one of each role")
        };
        let hide = self.hide.each_ref().map(|seed| A::draw(&mut draw::<A>(seed)));
        Sides { mine: [u, v], before, after, hide, folds: folds.clone(), make }
    }
}

impl Start<'_> {
    /// What a party has of each kind of statements that there is, in the order of [`Kind::ALL`].
    pub(super) fn kinds(&self, lengths: &Lengths) -> Vec<Box<dyn OfKind>> {
        let of = |(kind, folds): (Kind, &Option<Folds>)| -> Option<Box<dyn OfKind>> {
            let folds = folds.as_ref()?;
            Some(match kind {
                Kind::Matrices => {
                    let long = |v: &View<'_>, seed: &_| long(self.scope.barrier, v, seed);
                    Box::new(self.sides::<OverWords>(folds, |v, i| v.over_words(i), &long))
                }
                Kind::Bits => {
                    let make: Make<u64> = |v, i| v.over_bits(i);
                    Box::new(self.sides::<OverBits>(folds, make, &none::<OverBits>))
                }
                Kind::Wide => {
                    let make: Make<u128> = |v, i| v.over_words(i).raised(v.first());
                    Box::new(self.sides::<OverWords<u128>>(folds, make, &none::<OverWords<u128>>))
                }
                Kind::Words => Box::new(Lifted::new(self, folds)),
            })
        };
        Kind::ALL.into_iter().zip(&lengths.folds).filter_map(of).collect()
    }
}
