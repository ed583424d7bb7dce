//! The statements of a prover as vectors of words, as the prover or one of its verifiers sees them.

use super::chunk::{Chunk, Column, widened};
use super::pooling::{Pooling, Reading, earlier};
use crate::share::{Held, Rep, next, prev};
use slvr_circuit::proof::{Bits, Claim, Cut, Item, Own, Statement, Term, code_bits, steps};
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

/// As [`column`], of words, which have no planes.
fn words<'x, B: Word>(x: &'x Data, _: Option<&[u32]>, range: Range<usize>) -> Column<'x, B> {
    column(x, range)
}

/// The same where they lie.
pub(super) fn column<B: Word>(x: &Data, range: Range<usize>) -> Column<'_, B> {
    match x {
        Data::Ring(words) => Column::of_words(Cow::Borrowed(words), range),
        Data::Bits(_) => unreachable!("statements over words are about words"),
    }
}

/// The words of bits of some elements, of all planes or of some, where they lie if they begin at a word and end at one or
/// where all end.
fn flat<'x>(x: &'x Data, some: Option<&[u32]>, range: Range<usize>) -> Column<'x, u64> {
    let Data::Bits(p) = x else { unreachable!("statements over bits are about bits") };
    let ends = range.end.is_multiple_of(64) || range.end == p.len();
    if !range.start.is_multiple_of(64) || !ends {
        let cut = x.slice(range);
        let cut = if let Some(some) = some { cut.select(some) } else { cut };
        return planes(cut).into_words().into();
    }
    let each = range.len().div_ceil(64);
    let plane = |j: u32| &p.plane(j as usize)[range.start / 64..][..each];
    match some {
        Some(some) => Column::of_parts(some.iter().map(|j| plane(*j))),
        None if range.len() == p.len() => Column::of_parts(std::iter::once(p.words())),
        None => Column::of_parts((0..p.width()).map(plane)),
    }
}

/// Bits of one plane as numbers.
fn numbers<B: Word>(p: &Planes, plane: usize) -> Vec<B> {
    let words = p.plane(plane);
    (0..p.len()).map(|i| B::from_u64(words[i / 64] >> (i % 64) & 1)).collect()
}

/// Words of the planes of an input of which something is to be proven.
fn unfound(s: &Statement, bits: Planes) -> Vec<u64> {
    if s.found.is_empty() {
        return bits.into_words();
    }
    let left = (0..bits.width()).filter(|place| s.found.binary_search(place).is_err());
    left.flat_map(|place| bits.plane(place as usize)).copied().collect()
}

pub(super) fn zip<B: Copy>(a: &[B], b: &[B], f: impl Fn(B, B) -> B) -> Vec<B> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

/// 2^n, or 0 if a word has no such bit.
fn power<B: Word>(n: u32) -> B {
    B::from_u128(1u128.checked_shl(n).unwrap_or(0))
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
            Item::Dots(_) | Item::Dot(..) => unreachable!("statements over words"),
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
            Item::Dots(s) => self.dots(s),
            Item::Dot(s, b) => self.dot(s, *b),
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

    /// The same as words of bits.
    fn own_words(&self, x: Cut) -> Vec<u64> {
        flat(self.part(x.x), None, shard(self.circuit, x, self.prover())).one().into_owned()
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

    fn products<B: Word>(&self, s: &Statement, part: Option<usize>) -> Chunk<'_, B> {
        let (terms, plus, range) = self.terms(s, part);
        let ty = self.circuit.ty(s.out);
        let read = |v: ValueId| -> Column<'_, B> {
            if let Some((x, gap)) = self.known(v, part) {
                return column(x, earlier(&range, gap));
            }
            match self.aligned(v, s.out) {
                Cow::Borrowed(x) => column(x, range.clone()),
                Cow::Owned(Data::Ring(x)) => Column::of_words(Cow::Owned(x), range.clone()),
                Cow::Owned(Data::Bits(_)) => unreachable!("statements over words"),
            }
        };
        let pooling = Pooling::of(self.circuit, s, part.filter(|_| !range.is_empty()));
        let all = Reading { range: &range, read: words, pooling: pooling.as_ref() };
        let mut columns = Vec::new();
        for (u, v) in self.columns(terms, part) {
            let x = if self.first() { u } else { v };
            let some = match s.claim.is_pooled() {
                true => {
                    let (x, gap) = self.known(x, part).unwrap_or_else(|| (self.part(x), 0));
                    all.all((x, gap, None))
                }
                false => vec![read(x)],
            };
            columns.extend(some);
        }
        let exchanged = matches!(s.claim, Claim::Exchange { .. });
        let sum = self.sums.then(|| {
            if exchanged {
                let how = (B::wadd, B::wsub, B::wmul);
                return self.message(s, part, &all, how);
            }
            let stream: Vec<B> = wide(&self.reshared(s, range.clone()));
            if self.first() {
                let mut sum =
                    zip(&column::<B>(self.part(s.out), range.clone()).one(), &stream, B::wadd);
                for t in terms.iter().filter(|t| t.is_local(self.prover(), part)) {
                    Column::each([&read(t.x), &read(t.y)], |at, [x, y]| {
                        let both = x.iter().zip(y);
                        let less = |s: B, x: &B, y: &B| s.wsub(x.wmul(*y));
                        sum[at..].iter_mut().zip(both).for_each(|(s, (x, y))| *s = less(*s, x, y));
                    });
                }
                for z in plus {
                    Column::each([&column(self.part(*z), range.clone())], |at, [z]| {
                        sum[at..].iter_mut().zip(z).for_each(|(s, z): (&mut B, _)| *s = s.wsub(*z));
                    });
                }
                sum
            } else {
                stream.into_iter().map(B::wneg).collect()
            }
        });
        Chunk::new(range.len(), columns, sum).over(ty.bits())
    }

    /// As [`View::products`], over bits.
    fn gates(&self, s: &Statement, part: Option<usize>) -> Chunk<'_> {
        let (terms, plus, range) = self.terms(s, part);
        let ty = self.circuit.ty(s.out);
        let read = |v: ValueId| {
            let (x, some) = self.source(v);
            if some.is_some() {
                return flat(self.part(x), some, range.clone());
            }
            if let Some((x, gap)) = self.known(v, part) {
                return flat(x, None, earlier(&range, gap));
            }
            match self.aligned(v, s.out) {
                Cow::Borrowed(x) => flat(x, None, range.clone()),
                Cow::Owned(x) => flat(&x, None, range.clone()).one().into_owned().into(),
            }
        };
        let mut columns = Vec::new();
        for (u, v) in self.columns(terms, part) {
            columns.push(read(if self.first() { u } else { v }));
        }
        let exchanged = matches!(s.claim, Claim::Exchange { .. });
        let sum = self.sums.then(|| {
            if exchanged {
                let (xor, and) = (|x: u64, y: u64| x ^ y, |x: u64, y: u64| x & y);
                let all = Reading { range: &range, read: flat, pooling: None };
                return self.message(s, part, &all, (xor, xor, and));
            }
            let mut sum = planes(self.reshared(s, range.clone())).into_words();
            if self.first() {
                for t in terms.iter().filter(|t| t.is_local(self.prover(), part)) {
                    Column::each([&read(t.x), &read(t.y)], |at, [x, y]| {
                        let both = x.iter().zip(y);
                        sum[at..].iter_mut().zip(both).for_each(|(s, (x, y))| *s ^= x & y);
                    });
                }
                for z in [s.out].iter().chain(plus) {
                    let (z, some) = self.source(*z);
                    Column::each([&flat(self.part(z), some, range.clone())], |at, [z]| {
                        sum[at..].iter_mut().zip(z).for_each(|(s, z)| *s ^= z);
                    });
                }
            }
            sum
        });
        Chunk::new(ty.bits() as usize * range.len().div_ceil(64), columns, sum)
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

    /// Products of an owner's bits.
    fn both_bits(&self, s: &Statement, u: &Bits, x: &Bits) -> Chunk<'_> {
        let [u, p] = [u, x].map(|x| planes(self.bits(s, x)).into_words());
        let out = self.own_words(s.cut(s.out));
        let statements = out.len();
        let sum = self.sums.then(|| (0..statements).map(|i| out[i] ^ u[i] & p[i]).collect());
        let pair = if self.first() { [u, p] } else { [p, u] };
        Chunk::new(statements, pair.map(Column::from).into(), sum)
    }

    /// Bits less what was to be input, of those of which something is to be proven.
    fn input_bits(&self, s: &Statement, bits: &Bits) -> Chunk<'_> {
        let sum = self.sums.then(|| {
            let mut sum = self.bits(s, bits);
            sum.add_assign(&self.own(s.cut(s.out)));
            unfound(s, planes(sum))
        });
        Chunk::new(Item::Claim(s).size(self.circuit, self.prover()).1, Vec::new(), sum)
    }

    pub(super) fn add_planes(out: &mut [u64], code: &Planes, planes: &[u32]) {
        for &j in planes {
            out.iter_mut().zip(code.plane(j as usize)).for_each(|(o, x)| *o ^= x);
        }
    }

    /// The bits of a number are sums of its thermometer code.
    fn code_bits(&self, s: &Statement, bits: &Bits, blocks: &[u32]) -> Chunk<'_> {
        let sum = self.sums.then(|| {
            let mut sum = planes(self.bits(s, bits));
            let code = planes(self.own(s.cut(s.out)));
            for (j, all) in code_bits(blocks).iter().enumerate() {
                Self::add_planes(sum.plane_mut(j), &code, all);
            }
            unfound(s, sum)
        });
        Chunk::new(Item::Claim(s).size(self.circuit, self.prover()).1, Vec::new(), sum)
    }

    /// T_(h+v) = T_h (T_v + T_h + T_(h+v)).
    fn code_steps(&self, s: &Statement, blocks: &[u32]) -> Chunk<'_> {
        let code = planes(self.own(s.cut(s.out)));
        let all = steps(blocks);
        let mut parts = [(); 3].map(|()| vec![0; all.len() * code.stride()]);
        for (i, step) in all.iter().enumerate() {
            for (part, planes) in parts.iter_mut().zip(step) {
                Self::add_planes(&mut part[i * code.stride()..][..code.stride()], &code, planes);
            }
        }
        let [top, next, high] = parts;
        let sum = self
            .sums
            .then(|| high.iter().zip(top.iter().zip(&next)).map(|(h, (t, n))| h ^ t & n).collect());
        let pair = if self.first() { [top, next] } else { [next, top] };
        Chunk::new(high.len(), pair.map(Column::from).into(), sum)
    }

    fn input_words<B: Word>(&self, s: &Statement, own: &Own) -> Chunk<'_, B> {
        let part = |x: ValueId| -> Column<'_, B> {
            let x = s.cut(x);
            column(self.part(x.x), shard(self.circuit, x, self.prover()))
        };
        // Products that the statement has on its left, or, for sums, of its right side what this party knows besides the result.
        let (columns, known): (Vec<Column<'_, B>>, Vec<B>) = match own {
            Own::Bits(_) | Own::And(..) | Own::Thermometer(..) => {
                unreachable!("a statement over bits")
            }
            Own::Word(b) => {
                let b: Vec<B> = numbers(&planes(self.bits(s, b)), 0);
                (vec![self.twice(&b, B::ONE).into()], b)
            }
            Own::High { x, shift, wraps } => {
                let k = self.circuit.ty(*x).bits();
                let mut known = Vec::new();
                if self.sums {
                    known = part(*x).one().into_owned();
                    known.iter_mut().for_each(|p| *p = p.shr(*shift));
                }
                let mut columns = Vec::new();
                // Of a carry what this party shares, times what it adds.
                let mut add = |bit: u32, times: B| {
                    let c: Vec<B> = numbers(&self.carries[&s.cut(*x)], bit as usize - 1);
                    known.iter_mut().zip(&c).for_each(|(x, c)| *x = x.wadd(c.wmul(times)));
                    if !self.sums {
                        columns.push(self.twice(&c, times).into());
                    }
                };
                if *shift > 0 {
                    add(*shift, B::ONE);
                }
                if *wraps {
                    add(k, power::<B>(k - shift).wneg());
                }
                (columns, known)
            }
            Own::Times { u, x } => {
                let (u, p) = (part(*u), part(*x));
                let known = if self.sums { zip(&u.one(), &p.one(), B::wmul) } else { Vec::new() };
                (if self.first() { vec![u, p] } else { vec![p, u] }, known)
            }
        };
        let sum = || zip(&part(s.out).one(), &known, B::wsub);
        let (n, sum) =
            (shard(self.circuit, s.cut(s.out), self.prover()).len(), self.sums.then(sum));
        Chunk::new(n, columns, sum).over(self.circuit.ty(s.out).bits())
    }

    /// Of bits b1 xor b2 = b1 + b2 - 2 b1 b2, times a word: this party's factor of the product.
    fn twice<B: Word>(&self, b: &[B], times: B) -> Vec<B> {
        let first = self.first();
        let factor = times.wadd(times).wneg();
        b.iter().map(|b| if first { b.wmul(factor) } else { *b }).collect()
    }
}
