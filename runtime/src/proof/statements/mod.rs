//! The statements of a prover as vectors of words, as the prover or one of its verifiers sees them.

mod bits;
#[cfg(test)]
mod tests;
mod words;

use super::chunk::{Chunk, Column, widened};
use crate::share::{Held, Rep, next, prev};
use slvr_circuit::proof::{Bits, Claim, Cut, Item, Own, Statement, Term};
use slvr_circuit::{Circuit, Dom, ValueId};
use slvr_ring::{Data, Planes, Word, layout};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Which of the two components of the prover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// The first one, which the prover and V1 know.
    First,
    /// The second one, which the prover and V2 know.
    Second,
}

/// Who looks at the statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The prover, at one of its components. It needs sums only of what is lifted.
    Prover(Component),
    /// V1, the party before the prover.
    Before,
    /// V2, the party after the prover.
    After,
}

impl Role {
    /// Which component it is about.
    pub fn component(self) -> Component {
        match self {
            Role::Prover(c) => c,
            Role::Before => Component::First,
            Role::After => Component::Second,
        }
    }

    /// The prover, if party `me` has this role.
    pub fn prover(self, me: usize) -> usize {
        match self {
            Role::Prover(_) => me,
            Role::Before => next(me),
            Role::After => prev(me),
        }
    }
}

/// Of an instruction, a domain and a number of elements, those of a range, which begins at a multiple of 64.
pub type Reshared<'a> = dyn Fn(u64, Dom, usize, Range<usize>) -> Data + Sync + 'a;

/// What a party knows of the statements.
pub struct View<'a> {
    pub circuit: &'a Circuit,
    /// This party.
    pub me: usize,
    /// What it does.
    pub role: Role,
    /// Whether the sums are asked for, which a verifier needs once, and of sums of products nothing else. A prover has
    /// those of its component that [`View::added`] says.
    pub sums: bool,
    /// What it holds of the values of the statements.
    pub held: &'a BTreeMap<ValueId, Held>,
    /// Of replicated bits that it may not hold, of what they are planes ([`slvr_circuit::proof::picked`]).
    pub picked: &'a HashMap<ValueId, (ValueId, Vec<u32>)>,
    /// Its share of the carries of the prover's shard of each value, plane j that of the carry into bit j + 1.
    pub carries: &'a BTreeMap<Cut, Planes>,
    /// The stream of a reshare that a verifier shares with the prover, and a prover with V2 ([`Reshared`]). Only sums take it.
    pub stream: &'a Reshared<'a>,
}

/// The prover's shard of a value.
pub fn shard(circuit: &Circuit, x: Cut, prover: usize) -> Range<usize> {
    x.lanes(circuit).ranges()[prover].clone()
}

pub(super) fn planes(x: Data) -> Planes {
    match x {
        Data::Bits(p) => p,
        Data::Ring(_) => unreachable!("statements over bits are about bits"),
    }
}

/// Words as words of 64 bits, or of 128.
pub(super) fn wide<B: Word>(x: &Data) -> Vec<B> {
    wide_part(x, 0..x.len())
}

/// Some of them.
pub(super) fn wide_part<B: Word>(x: &Data, range: Range<usize>) -> Vec<B> {
    match x {
        Data::Ring(words) => widened(words, range),
        Data::Bits(_) => unreachable!("statements over words are about words"),
    }
}

/// The same where they lie.
pub(super) fn column<B: Word>(x: &Data, range: Range<usize>) -> Column<'_, B> {
    match x {
        Data::Ring(words) => Column::of_words(Cow::Borrowed(words), range),
        Data::Bits(_) => unreachable!("statements over words are about words"),
    }
}

pub(super) fn zip<B: Copy>(a: &[B], b: &[B], f: impl Fn(B, B) -> B) -> Vec<B> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

impl View<'_> {
    /// Of which component a prover finds what its verifier adds: what masks a message of an exchange is known to the
    /// verifier that drew it.
    pub fn added(&self, item: &Item<'_>) -> Component {
        match item {
            Item::Part(s, r)
                if matches!(s.claim, Claim::Exchange { .. }) && *r == prev(self.me) =>
            {
                Component::First
            }
            _ => Component::Second,
        }
    }

    /// The chunk of an item over bits.
    pub fn over_bits(&self, item: &Item<'_>) -> Chunk<'_> {
        match item {
            Item::Carries(x, of) => self.adder(*x, of),
            Item::Pairs(x, of) => self.pair_adder(*x, of),
            Item::Dots { .. } | Item::Dot { .. } => unreachable!("statements over words"),
            Item::Part(s, r) => self.gates(s, Some(*r)),
            Item::Steps(s, blocks) => self.code_steps(s, blocks),
            Item::Claim(s) => match &s.claim {
                Claim::Products { .. } => self.gates(s, None),
                Claim::Exchange { .. } => unreachable!("an exchange is told apart by shards"),
                Claim::Input(Own::Bits(b)) => self.input_bits(s, b),
                Claim::Input(Own::Thermometer(b, blocks)) => self.code_bits(s, b, blocks),
                Claim::Input(Own::And(u, x)) => self.both_bits(s, u, x),
                _ => unreachable!("a statement over words"),
            },
        }
    }

    /// The chunk of an item over words.
    pub fn over_words<B: Word>(&self, item: &Item<'_>) -> Chunk<'_, B> {
        match item {
            Item::Part(s, r) => self.products(s, Some(*r)),
            Item::Dots { of, count, sums } => self.dots(of, *count, *sums),
            Item::Dot { of, place, sums } => self.dot(of, *place, *sums),
            Item::Claim(s) => match &s.claim {
                Claim::Products { .. } => self.products(s, None),
                Claim::Input(own) => self.input_words(s, own),
                Claim::MatMul { .. } | Claim::Conv { .. } | Claim::Exchange { .. } => {
                    unreachable!(
                        "a product of matrices is no item, and an exchange is told apart by shards"
                    )
                }
            },
            Item::Carries(..) | Item::Pairs(..) | Item::Steps(..) => {
                unreachable!("a statement over bits")
            }
        }
    }

    pub fn prover(&self) -> usize {
        self.role.prover(self.me)
    }

    /// Whether this is the first component.
    pub fn first(&self) -> bool {
        self.role.component() == Component::First
    }

    pub(super) fn kept(&self, x: ValueId) -> &Held {
        match self.held.get(&x) {
            Some(held) => held,
            None => unreachable!("the values of statements are kept up to their barrier"),
        }
    }

    /// What is held in the place of a value, and which planes of that it is.
    pub(super) fn source(&self, x: ValueId) -> (ValueId, Option<&[u32]>) {
        match self.picked.get(&x).filter(|_| !self.held.contains_key(&x)) {
            Some((from, planes)) => (*from, Some(planes)),
            None => (x, None),
        }
    }

    pub(super) fn rep(&self, x: ValueId) -> &Rep {
        self.kept(x).as_rep()
    }

    /// What it holds of the prover's component of a value.
    pub(super) fn part(&self, x: ValueId) -> &Data {
        let rep = self.rep(x);
        match self.role {
            Role::Prover(Component::First) | Role::After => &rep.first,
            Role::Prover(Component::Second) | Role::Before => &rep.second,
        }
    }

    /// What is held of a factor that two parties know, and how far before its place in the tensor an element of a shard lies: a
    /// party holds nothing of its own shard. Nothing of a replicated value.
    pub(super) fn known(&self, x: ValueId, part: Option<usize>) -> Option<(&Data, usize)> {
        let Held::One(data) = self.kept(x) else { return None };
        let gap = match part {
            Some(r) if r > self.me => self.circuit.ty(x).lanes().len(self.me),
            _ => 0,
        };
        Some((data, gap))
    }

    /// Of the prover's shard of a value.
    pub(super) fn own(&self, x: Cut) -> Data {
        self.part(x.x).slice(shard(self.circuit, x, self.prover()))
    }

    /// Bits lo .. lo + w of its words.
    pub(super) fn own_bits(&self, x: Cut, lo: u32, w: u32) -> Planes {
        self.part(x.x).bits_of(shard(self.circuit, x, self.prover()), lo, w)
    }

    /// The tensor, repeated to the shape and the planes of a result where it has others.
    fn aligned(&self, x: ValueId, out: ValueId) -> Cow<'_, Data> {
        let (data, ty, to) = (self.part(x), self.circuit.ty(x), self.circuit.ty(out));
        let mut data = Cow::Borrowed(data);
        if ty.shape != to.shape {
            data = Cow::Owned(layout::broadcast(&data, &ty.shape, &to.shape));
        }
        if ty.dom.is_bits() && ty.bits() != to.bits() {
            data = Cow::Owned(data.select(&vec![0; to.bits() as usize]));
        }
        data
    }

    /// The terms of a claim, the values that it adds, and the elements that it is about.
    fn terms<'a>(
        &self,
        s: &'a Statement,
        part: Option<usize>,
    ) -> (&'a [Term], &'a [ValueId], Range<usize>) {
        let (terms, plus): (&[Term], &[ValueId]) = match &s.claim {
            Claim::Products { terms, plus } => (terms, plus),
            Claim::Exchange { terms, .. } => (terms, &[]),
            _ => unreachable!("a sum of products"),
        };
        let range = match part {
            Some(r) if s.claim.count(self.prover(), part, 1) > 0 => {
                shard(self.circuit, s.cut(s.out), r)
            }
            Some(_) => 0..0,
            None => 0..self.circuit.ty(s.out).elements() as usize,
        };
        (terms, plus, range)
    }

    /// The products that chunks have columns of. With the sums there are none, because a verifier reads these apart.
    fn columns(&self, terms: &[Term], part: Option<usize>) -> Vec<(ValueId, ValueId)> {
        let terms = if self.sums { &[] } else { terms };
        terms.iter().flat_map(|t| t.columns(self.prover(), part)).collect()
    }

    /// Elements of the stream of a reshare.
    pub(super) fn reshared(&self, s: &Statement, range: Range<usize>) -> Data {
        let ty = self.circuit.ty(s.out);
        (self.stream)(s.instr, ty.dom, ty.elements() as usize, range)
    }

    /// A share of bits of an owner.
    fn bits(&self, s: &Statement, bits: &Bits) -> Data {
        self.bits_with(s, bits, true)
    }

    /// The same without the carries, if `carried` is not set.
    pub(super) fn bits_with(&self, s: &Statement, bits: &Bits, carried: bool) -> Data {
        match bits {
            Bits::Part(x) => self.own(s.cut(*x)),
            Bits::OfWord { x, lo, w } => {
                let mut out = Data::Bits(self.own_bits(s.cut(*x), *lo, *w));
                // The carry into bit j is plane j - 1; there is none into bit 0.
                let known = lo.max(&1) - 1..lo + w - 1;
                if known.is_empty() || !carried {
                    return out;
                }
                let some = known.collect::<Vec<_>>();
                let c = Data::Bits(self.carries[&s.cut(*x)].clone()).select(&some);
                let c = match lo {
                    0 => Data::stack(&[&Data::zeros(Dom::Bits(1), c.len()), &c]),
                    _ => c,
                };
                out.add_assign(&c);
                out
            }
            Bits::Not(b) => {
                let mut out = self.bits_with(s, b, carried);
                if self.first() {
                    out.not();
                }
                out
            }
            Bits::Select(b, planes) => self.bits_with(s, b, carried).select(planes),
        }
    }
}
