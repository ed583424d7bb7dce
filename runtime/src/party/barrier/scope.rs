//! What a party sees of the statements at a barrier, in each of its parts, what its sides begin with, and what they do.

use crate::party::guard::Carries;
use crate::proof::algebra::Draw;
use crate::proof::chunk::{Chunk, Chunks};
use crate::proof::statements::{Component, Reshared, Role, View};
use crate::protocol::REPEATED;
use crate::share::{Held, Prss, Purpose, Stream};
use slvr_circuit::proof::{self, Barrier, Folds, HASH, Item, Kind};
use slvr_circuit::{Circuit, Dom, ValueId};
use slvr_ring::{Data, Word, threads};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// What the parties draw for the statements of a kind.
pub(super) fn drawn(kind: Kind, seed: &[u8; HASH]) -> Draw {
    let purpose = match kind {
        Kind::Matrices => "slvr 2026 proof over words",
        Kind::Bits => "slvr 2026 proof over bits",
        Kind::Wide => "slvr 2026 proof over wide words",
        Kind::Words => "slvr 2026 proof over lifted words",
    };
    Draw::new(seed, purpose)
}

/// The roles of a party at a barrier.
pub(super) const ROLES: [Role; 4] =
    [Role::Prover(Component::First), Role::Prover(Component::Second), Role::Before, Role::After];

/// What the sides begin with.
pub(super) struct Start<'a> {
    pub(super) scope: &'a Scope<'a>,
    /// Of the coefficients, for each role.
    pub(super) seeds: [&'a [u8; HASH]; 4],
    pub(super) hide: [[u8; HASH]; 4],
}

/// What a party has of the statements of one kind, as P, as V1 of the party after it and as V2 of the party before it.
/// `share` is the seed that P and V1 have.
pub(super) trait OfKind {
    /// P's message of a step to V2, appended.
    fn message(&mut self, scope: &Scope<'_>, share: &[u8; HASH], out: &mut Vec<u8>);
    /// Folds as V1, which knows all that this takes.
    fn fold_before(&mut self, scope: &Scope<'_>, share: &[u8; HASH], coin: &[u8; HASH]);
    /// Folds as V2, and takes its part of what it received; `false` if it makes no sense.
    fn fold_after(&mut self, scope: &Scope<'_>, got: &mut &[u8], coin: &[u8; HASH]) -> bool;
    /// Folds as P.
    fn prove(&mut self, scope: &Scope<'_>, coin: &[u8; HASH]);
    /// V1's last message, appended.
    fn end(&self, out: &mut Vec<u8>);
    /// Whether V2 accepts, of its part of V1's last message.
    fn accepts(&self, got: &mut &[u8]) -> bool;
}

/// Makes the chunk of an item.
pub(super) type Make<B> = for<'v> fn(&'v View<'v>, &Item<'_>) -> Chunk<'v, B>;

/// The chunks of a kind, as a party sees them in one of its parts.
pub(super) struct ItemChunks<'a, B: Clone> {
    pub(super) view: View<'a>,
    make: Make<B>,
    items: Vec<Item<'a>>,
    /// Terms and statements of each item.
    sizes: Vec<(usize, usize)>,
    /// Which items make one chunk.
    groups: Vec<Vec<usize>>,
    /// Long inner products, each of which is a chunk behind those.
    dots: Vec<(Item<'a>, usize)>,
}

impl<'a, B: Word> ItemChunks<'a, B> {
    pub(super) fn new(
        view: View<'a>,
        barrier: &'a Barrier,
        kind: Kind,
        (folds, make): (&Folds, Make<B>),
    ) -> Self {
        let (circuit, prover) = (view.circuit, view.prover());
        let items = proof::items(circuit, barrier, kind);
        let dots = proof::dots(circuit, barrier, kind);
        let dots = dots.flat_map(|(s, count, n)| {
            (0..count).map(move |b| (Item::Dot { of: s, place: b, sums: n }, n))
        });
        let dots = dots.collect();
        let sizes: Vec<_> = items.iter().map(|item| item.size(circuit, prover)).collect();
        let groups = folds.groups(&sizes);
        ItemChunks { view, make, items, sizes, groups, dots }
    }

    /// Statements of the chunks that are no inner products, and products of those that are.
    pub(super) fn counts(&self) -> [Vec<usize>; 2] {
        let of = |group: &Vec<usize>| group.iter().map(|&i| self.sizes[i].1).sum();
        [self.groups.iter().map(of).collect(), self.dots.iter().map(|(_, n)| *n).collect()]
    }
}

impl<B: Word> ItemChunks<'_, B> {
    /// The chunk with a number, of the items as they are seen in views that may differ.
    pub(super) fn made<'v>(
        &self,
        chunk: usize,
        view: &dyn Fn(&Item<'_>) -> &'v View<'v>,
    ) -> Chunk<'v, B> {
        let make = |item: &Item<'_>| {
            let view = view(item);
            let made = (self.make)(view, item);
            // With the sums there are none.
            assert!(
                view.sums || made.terms() == self.terms(chunk),
                "as many terms as are predicted"
            );
            made
        };
        match self.groups.get(chunk) {
            Some(all) if all.len() == 1 => make(&self.items[all[0]]),
            // Of small ones, which may be over different rings.
            Some(all) => {
                let first = self.view.first();
                let made = all.iter().map(|&i| make(&self.items[i]).raised(first));
                Chunk::joined(made.collect())
            }
            None => make(&self.dots[chunk - self.groups.len()].0),
        }
    }
}

impl<B: Word> Chunks<B> for ItemChunks<'_, B> {
    fn terms(&self, chunk: usize) -> usize {
        match self.groups.get(chunk) {
            Some(all) => all.first().map_or(0, |&i| self.sizes[i].0),
            // x1 y2 and y1 x2.
            None => 2,
        }
    }

    fn make(&self, chunk: usize) -> Chunk<'_, B> {
        self.made(chunk, &|_| &self.view)
    }
}

/// What the chunks of statements are made from.
pub(super) struct Scope<'a> {
    pub(super) circuit: &'a Circuit,
    pub(super) me: usize,
    pub(super) barrier: &'a Barrier,
    pub(super) kept: &'a BTreeMap<ValueId, Held>,
    /// As [`View::picked`].
    pub(super) picked: &'a HashMap<ValueId, (ValueId, Vec<u32>)>,
    pub(super) carries: &'a Carries,
    /// Numbers of the instructions that are there for the second time.
    pub(super) again: &'a Range<u64>,
    pub(super) prss: &'a Prss,
}

/// Where no sums are asked for.
fn no_stream(_: u64, _: Dom, _: usize, _: Range<usize>) -> Data {
    unreachable!("no sums are asked for")
}

impl<'a> Scope<'a> {
    /// The streams that a verifier shares with the prover, and a prover with the verifier after it.
    pub(super) fn stream(
        &self,
        role: usize,
    ) -> impl Fn(u64, Dom, usize, Range<usize>) -> Data + Sync + use<'a> {
        let (again, prss) = (self.again, self.prss);
        move |instr, dom, n, range| {
            let number = if again.contains(&instr) { instr + REPEATED } else { instr };
            let s = Stream::new(number, Purpose::Zero);
            match ROLES[role] {
                Role::After => prss.again_with_prev(s, dom, n, range),
                _ => prss.again_with_next(s, dom, n, range),
            }
        }
    }

    pub(super) fn view<'b>(
        &'b self,
        role: usize,
        sums: bool,
        stream: &'b Reshared<'b>,
    ) -> View<'b> {
        let &Scope { circuit, me, kept: held, picked, carries, .. } = self;
        let (role, carries) = (ROLES[role], &carries[role]);
        View { circuit, me, role, sums, held, picked, carries, stream }
    }

    /// A party's shares of all carries in its roles, where the scope has those that are told.
    pub(super) fn all_carries(&self) -> Carries {
        let of = |role| self.view(role, false, &no_stream).all_carries(self.barrier);
        let mut all = Carries::default();
        all.iter_mut().zip(threads::map(0..ROLES.len(), &of)).for_each(|(to, x)| *to = x);
        all
    }

    /// Chunks without sums.
    pub(super) fn chunks<B: Word>(
        &self,
        role: usize,
        kind: Kind,
        how: (&Folds, Make<B>),
    ) -> ItemChunks<'_, B> {
        ItemChunks::new(self.view(role, false, &no_stream), self.barrier, kind, how)
    }
}
