//! What a party computes for lifted statements, in each of its parts.

use super::scope::{ItemChunks, Make, OfKind, Scope, Start, drawn};
use crate::proof::algebra::Draw;
use crate::proof::chunk::{Chunk, Chunks};
use crate::proof::coefficients::Coefficients;
use crate::proof::lifted::{self, Binary, Share, Side};
use crate::proof::statements::{Component, View};
use slvr_circuit::proof::{ELEMENT_WORDS, Folds, HASH, Kind, LIFT_WORDS};
use std::sync::Arc;

const MAKE: Make<u64> = |view, item| view.over_words(item);

/// The sides of all parts.
pub(super) struct Lifted {
    /// As P.
    mine: [Side; 2],
    /// As V1 of the party after it.
    before: Side,
    /// As V2 of the party before it.
    after: Side,
    /// Seeds of the random elements, in the order of [`super::scope::ROLES`].
    hide: [[u8; HASH]; 4],
    coefficients: Arc<Coefficients<Binary>>,
    folds: Folds,
}

/// What a prover finds of what its verifiers add: of each item one of the two.
struct Added<'a> {
    seen: ItemChunks<'a, u64>,
    first: View<'a>,
}

impl Chunks<u64> for Added<'_> {
    fn terms(&self, _: usize) -> usize {
        0
    }
    fn make(&self, chunk: usize) -> Chunk<'_> {
        self.seen.made(chunk, &|item| match self.seen.view.added(item) {
            Component::First => &self.first,
            Component::Second => &self.seen.view,
        })
    }
}

fn draw(seed: &[u8; HASH]) -> Draw {
    drawn(Kind::Words, seed)
}

/// Appends elements, or words.
fn put(out: &mut Vec<u8>, words: impl IntoIterator<Item = u64>) {
    words.into_iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
}

impl Lifted {
    /// With the coefficients of all statements.
    pub(super) fn new(start: &Start<'_>, folds: &Folds) -> Lifted {
        let scope = start.scope;
        // A prover's two sides have the same coefficients.
        let coefficients = |role: usize| {
            let [counts, long] = scope.chunks(role, Kind::Words, (folds, MAKE)).counts();
            lifted::coefficients(folds, [&counts, &long], &mut draw(start.seeds[role]))
        };
        let [mine, before, after] = [0, 2, 3].map(coefficients);
        Lifted {
            mine: [true, false].map(|weighs| Side::new(folds, weighs, mine.clone())),
            before: Side::new(folds, true, before),
            after: Side::new(folds, false, after),
            hide: start.hide,
            coefficients: mine,
            folds: folds.clone(),
        }
    }

    fn chunks<'a>(&self, scope: &'a Scope<'_>, role: usize) -> ItemChunks<'a, u64> {
        scope.chunks(role, Kind::Words, (&self.folds, MAKE))
    }

    /// The chunks of a verifier with their sums, for what reads them.
    fn with_sums<R>(
        &self,
        scope: &Scope<'_>,
        role: usize,
        read: impl FnOnce(&dyn Chunks<u64>) -> R,
    ) -> R {
        let stream = scope.stream(role);
        let view = scope.view(role, true, &stream);
        read(&ItemChunks::new(view, scope.barrier, Kind::Words, (&self.folds, MAKE)))
    }

    /// The coefficients of the quotient, as P.
    fn quotient(&self, scope: &Scope<'_>) -> Vec<i128> {
        let [a, b] = [0, 1].map(|role| self.chunks(scope, role));
        let [first, second] = [0, 1].map(|role| scope.stream(role));
        let view = scope.view(1, true, &second);
        let seen = ItemChunks::new(view, scope.barrier, Kind::Words, (&self.folds, MAKE));
        let added = Added { seen, first: scope.view(0, true, &first) };
        lifted::quotient(&self.coefficients, [&a, &b], &added)
    }
}

impl OfKind for Lifted {
    fn message(&mut self, scope: &Scope<'_>, share: &[u8; HASH], out: &mut Vec<u8>) {
        if self.mine[0].is_done() {
            return;
        }
        let mut stream = draw(share);
        if self.mine[0].lifts() {
            let rest = lifted::rest(&self.quotient(scope), &lifted::drawn(&mut stream));
            return put(out, rest.into_iter().flatten());
        }
        self.mine.iter_mut().zip(&self.hide).for_each(|(side, seed)| side.hide(&mut draw(seed)));
        let [a, b] = [0, 1].map(|role| self.chunks(scope, role));
        let [u, v] = &self.mine;
        let p = u.prime();
        let all = lifted::polynomial(u, v, [&a, &b]);
        put(out, all.into_iter().map(|q| p.sub(q, p.element(|| stream.word()))));
    }

    fn fold_before(&mut self, scope: &Scope<'_>, share: &[u8; HASH], coin: &[u8; HASH]) {
        if self.before.is_done() {
            return;
        }
        let mut stream = draw(share);
        let mut coin = draw(coin);
        if self.before.lifts() {
            let share = lifted::drawn(&mut stream);
            let sum =
                self.with_sums(scope, 2, |all| self.before.lifted(&mut coin, Some((all, &share))));
            return self.before.begin(sum);
        }
        self.before.hide(&mut draw(&self.hide[2]));
        let p = *self.before.prime();
        let share = (0..self.before.sent()).map(|_| p.element(|| stream.word())).collect();
        let point = self.before.coin(&mut coin);
        let chunks = self.chunks(scope, 2);
        self.before.fold(&point, Some(share), &chunks);
    }

    fn fold_after(&mut self, scope: &Scope<'_>, got: &mut &[u8], coin: &[u8; HASH]) -> bool {
        if self.after.is_done() {
            return true;
        }
        let Some((mine, rest)) = got.split_at_checked(self.after.sent() * ELEMENT_WORDS) else {
            return false;
        };
        *got = rest;
        let (words, _) = mine.as_chunks::<ELEMENT_WORDS>();
        let mut coin = draw(coin);
        if self.after.lifts() {
            let words: Vec<u64> = words.iter().map(|x| u64::from_le_bytes(*x)).collect();
            let share: Share = words.as_chunks::<LIFT_WORDS>().0.to_vec();
            let sum =
                self.with_sums(scope, 3, |all| self.after.lifted(&mut coin, Some((all, &share))));
            self.after.begin(sum);
            return true;
        }
        self.after.hide(&mut draw(&self.hide[3]));
        let p = *self.after.prime();
        let Some(share) = words.iter().map(|x| p.get(*x)).collect() else { return false };
        let point = self.after.coin(&mut coin);
        let chunks = self.chunks(scope, 3);
        self.after.fold(&point, Some(share), &chunks);
        true
    }

    fn prove(&mut self, scope: &Scope<'_>, coin: &[u8; HASH]) {
        if self.mine[0].is_done() {
            return;
        }
        if self.mine[0].lifts() {
            for side in &mut self.mine {
                let found = side.lifted(&mut draw(coin), None);
                side.begin(found);
            }
            return;
        }
        let point = self.mine[0].coin(&mut draw(coin));
        let chunks = [0, 1].map(|role| self.chunks(scope, role));
        for (side, chunks) in self.mine.iter_mut().zip(&chunks) {
            side.fold(&point, None, chunks);
        }
    }

    fn end(&self, out: &mut Vec<u8>) {
        let (u, s1) = self.before.end();
        put(out, [u, s1]);
    }

    fn accepts(&self, got: &mut &[u8]) -> bool {
        let Some((mine, rest)) = got.split_at_checked(2 * ELEMENT_WORDS) else { return false };
        *got = rest;
        let p = self.after.prime();
        let (words, _) = mine.as_chunks::<ELEMENT_WORDS>();
        match words {
            [u, s1] => match (p.get(*u), p.get(*s1)) {
                (Some(u), Some(s1)) => lifted::accepts(p, self.after.end(), (u, s1)),
                _ => false,
            },
            _ => false,
        }
    }
}
