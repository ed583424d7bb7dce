//! Noise that nobody knows: a sampler ([`slvr_language::noise`]) on shared uniform bits.
//!
//! | step | rounds | ands per draw |
//! |---|---|---|
//! | uniform bits, from pairwise randomness | 0 | 0 |
//! | which cell, one-hot, of c bits | ceil(log2 c) | 2^c - 1 less c and what is linear: 120 for c = 7 |
//! | bits of the cell's chance times the place of the first 1 among 64 bits, by fours | 7 in all | 148 |
//! | the outcome | 1 | c |
//! | all outcomes of a value as a word of Z_2^k | 2 | k bits of each outcome and sign, dealt |
//!
//! Nothing here depends on inputs, so the rounds pass while others wait for theirs.
//!
//! **Protocol.** Draws are a leading axis of every value. One-hot bits leave out cell 0, and what is looked up by
//! them is an exclusive or of the difference from cell 0. The bits of a chance are read in the order of places: bit i
//! counts if there is no 1 before place i and one at it. Places are taken four at a time: each four say whether they
//! hold no 1, and which bit their first 1 chooses; four such fours make one of the next level. The sum over four
//! places is made of additive words and reshared once.
//!
//! **Simulation.** Every message is that of a `reshare`, or of `bits::weighted`: a `deal` and a `reshare_two`. Each is
//! uniform to its receiver, and nothing is opened. To each party the bits that it does not hold a share of are uniform,
//! so the noise is known to nobody.

use super::bits;
use crate::lower::Emit;
use slvr_circuit::{Dom, Op, ValueId, low_mask};
use slvr_language::noise::{PRECISION, Plane, Sampler, Table};

/// Places that are taken at a time.
const FEW: u32 = 4;

/// Noise number `number` of a shape, as words of Z_2^k.
pub fn draw(e: &mut Emit, s: &Sampler, number: u32, shape: &[u64], k: u32) -> ValueId {
    let (c, n) = (s.bits(), shape.iter().product::<u64>());
    let dom = Dom::Bits(s.width_of_words());
    let random = e.add(Op::Random { tag: number, dom, shape: vec![s.draws.len() as u64, n] });
    let places = e.planes(random, 0, 1, PRECISION);
    let cell = e.planes(random, PRECISION, 1, c);
    let hot = one_hot(e, cell, c);
    // What each draw looks up: bits of the chance, of the second outcome, and of what the first differs by.
    let found = by_table(e, s, hot, &|e, x, t| e.add(Op::Xors { x, rows: looked_up(t) }));
    let chance = e.planes(found, 0, 1, PRECISION);
    let second = e.planes(found, PRECISION, 1, c);
    let differs = e.planes(found, PRECISION + c, 1, c);
    let choice = chosen(e, s, places, chance);
    // The first outcome of cell 0 differs, too, by what is public.
    let product = e.multiply(choice, differs);
    let base = by_table(e, s, choice, &|e, x, t| {
        let rows = (0..c).map(|j| t.first[0] >> j & 1).collect();
        e.add(Op::Xors { x, rows })
    });
    let outcome = e.add(Op::Add(product, second));
    let mut drawn = e.add(Op::Add(outcome, base));
    let each = c + u32::from(s.signed);
    if s.signed {
        let sign = e.planes(random, PRECISION + c, 1, 1);
        drawn = e.stack(vec![drawn, sign]);
    }
    // All draws of a value beside one another.
    let draws: Vec<ValueId> = (0..s.draws.len() as u64)
        .map(|start| {
            let row = e.add(Op::Slice { x: drawn, axis: 0, start, len: 1, step: 1 });
            e.add(Op::Reshape(row, shape.to_vec()))
        })
        .collect();
    let all = e.stack(draws);
    let width = e.ty(all).bits();
    let plane = |p: &Plane| p.draw as u32 * each + p.bit;
    let rows = s.terms.iter().flat_map(|t| row(width, t.planes.iter().map(&plane))).collect();
    let terms = e.add(Op::Xors { x: all, rows });
    let weights: Vec<u128> =
        s.terms.iter().map(|t| t.weight as i128 as u128 & low_mask(k)).collect();
    bits::weighted(e, terms, &weights, k)
}

/// A row of [`Op::Xors`] that names some of so many planes.
fn row(width: u32, planes: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut row = vec![0; width.div_ceil(32) as usize];
    planes.for_each(|p| row[p as usize / 32] ^= 1 << (p % 32));
    row
}

/// An operation of each draw by its own table.
fn by_table(
    e: &mut Emit,
    s: &Sampler,
    x: ValueId,
    of: &dyn Fn(&mut Emit, ValueId, &Table) -> ValueId,
) -> ValueId {
    if let [one] = &s.tables[..] {
        return of(e, x, one);
    }
    let mut rows = Vec::new();
    for (start, &table) in (0u64..).zip(&s.draws) {
        let row = e.add(Op::Slice { x, axis: 0, start, len: 1, step: 1 });
        rows.push(of(e, row, &s.tables[table]));
    }
    e.add(Op::Concat { xs: rows, axis: 0 })
}

/// By bit of what is looked up, the cells in which it is not as in cell 0. Planes are those of [`one_hot`].
fn looked_up(t: &Table) -> Vec<u32> {
    let width = (1 << t.bits) - 1;
    let differing = |of: &dyn Fn(usize) -> bool| {
        row(width, (1..=width).filter(|&i| of(i as usize) != of(0)).map(|i| i - 1))
    };
    let mut rows = Vec::new();
    for place in (0..PRECISION).map(ordered) {
        rows.extend(differing(&|i| t.chance[i] >> (PRECISION - 1 - place) & 1 == 1));
    }
    for j in 0..t.bits {
        rows.extend(differing(&|i| t.second[i] >> j & 1 == 1));
    }
    for j in 0..t.bits {
        rows.extend(differing(&|i| (t.first[i] ^ t.second[i]) >> j & 1 == 1));
    }
    rows
}

/// Places are in the order of first places of fours, second ones, and so on: which one is number i.
fn ordered(i: u32) -> u32 {
    let fours = PRECISION / FEW;
    FEW * (i % fours) + i / fours
}

/// One-hot planes of the number of c bits, that of 0 left out.
fn one_hot(e: &mut Emit, x: ValueId, c: u32) -> ValueId {
    if c == 1 {
        return x;
    }
    let low = c / 2;
    let (a, b) = (e.planes(x, 0, 1, low), e.planes(x, low, 1, c - low));
    let (a, b) = (one_hot(e, a, low), one_hot(e, b, c - low));
    let (n, m) = ((1u32 << low) - 1, (1u32 << (c - low)) - 1);
    let pairs = || (0..m).flat_map(|j| (0..n).map(move |i| (i, j)));
    let left = e.select(a, pairs().map(|(i, _)| i).collect());
    let right = e.select(b, pairs().map(|(_, j)| j).collect());
    let both = e.multiply(left, right);
    let all = e.stack(vec![a, b, both]);
    let width = n + m + n * m;
    let pair = |i: u32, j: u32| n + m + j * n + i;
    let rows = (1..=width).flat_map(|number| {
        // Number 0 of a half is not among its planes.
        let (i, j) = (number % (n + 1), number / (n + 1));
        match (i.checked_sub(1), j.checked_sub(1)) {
            (Some(i), Some(j)) => row(width, std::iter::once(pair(i, j))),
            (Some(i), None) => row(width, (0..m).map(|j| pair(i, j)).chain([i])),
            (None, Some(j)) => row(width, (0..n).map(|i| pair(i, j)).chain([n + j])),
            (None, None) => Vec::new(),
        }
    });
    let rows = rows.collect();
    e.add(Op::Xors { x: all, rows })
}

/// Whether places hold no 1, up to each of four: planes of the first of each four, of the first two, and so on.
struct Clear {
    upto: [ValueId; 3],
    all: Option<ValueId>,
}

/// From `clear`, whose planes are those of first members of fours, then of second ones, and so on.
fn clear(e: &mut Emit, members: [ValueId; 4], whole: bool) -> Clear {
    let [a, b, c, d] = members;
    if !whole {
        let two = e.multiply(a, b);
        let three = e.multiply(two, c);
        return Clear { upto: [a, two, three], all: None };
    }
    let n = e.ty(a).bits();
    let (left, right) = (e.stack(vec![a, c]), e.stack(vec![b, d]));
    let pairs = e.multiply(left, right);
    let (two, last) = (e.planes(pairs, 0, 1, n), e.planes(pairs, n, 1, n));
    let (left, right) = (e.stack(vec![two, two]), e.stack(vec![c, last]));
    let ends = e.multiply(left, right);
    let (three, all) = (e.planes(ends, 0, 1, n), e.planes(ends, n, 1, n));
    Clear { upto: [a, two, three], all: Some(all) }
}

/// The bit of the chance at the place of the first 1.
fn chosen(e: &mut Emit, s: &Sampler, places: ValueId, chance: ValueId) -> ValueId {
    let mut fours = PRECISION / FEW;
    let member = |e: &mut Emit, x, i, n| e.planes(x, i, FEW, n);
    let zero = e.add(Op::Not(places));
    let zeros = [0, 1, 2, 3].map(|i| member(e, zero, i, fours));
    let found = clear(e, zeros, true);
    // The first 1 of a four is at its first member, or at a later one if there is none up to the one before.
    let at = [
        member(e, places, 0, fours),
        e.add(Op::Add(found.upto[0], found.upto[1])),
        e.add(Op::Add(found.upto[1], found.upto[2])),
        match found.all {
            Some(all) => e.add(Op::Add(found.upto[2], all)),
            None => found.upto[2],
        },
    ];
    let at = e.stack(at.to_vec());
    let products = e.add(Op::Mul(at, chance));
    let products = e.add(Op::Xors { x: products, rows: fold(fours, 4) });
    // The chance of cell 0 is public.
    let public = by_table(e, s, at, &|e, x, t| {
        let counts = |i: &u32| t.chance[0] >> (PRECISION - 1 - ordered(*i)) & 1 == 1;
        let rows = (0..fours)
            .flat_map(|four| row(PRECISION, (0..FEW).map(|i| i * fours + four).filter(counts)));
        let rows = rows.collect();
        e.add(Op::Xors { x, rows })
    });
    let sum = e.add(Op::Add(products, public));
    let mut bits = e.add(Op::Reshare(sum));
    let mut none = found.all;
    while fours > 1 {
        fours /= FEW;
        let Some(zero) = none else { break };
        let zeros = [0, 1, 2, 3].map(|i| member(e, zero, i, fours));
        let found = clear(e, zeros, fours > 1);
        let each = [0, 1, 2, 3].map(|i| member(e, bits, i, fours));
        let (left, right) = (e.stack(found.upto.to_vec()), e.stack(each[1..].to_vec()));
        let products = e.add(Op::Mul(left, right));
        let products = e.add(Op::Xors { x: products, rows: fold(fours, 3) });
        let sum = e.add(Op::Add(products, each[0]));
        bits = e.add(Op::Reshare(sum));
        none = found.all;
    }
    bits
}

/// Rows that add up planes i, i + n, ... of so many times n.
fn fold(n: u32, times: u32) -> Vec<u32> {
    (0..n).flat_map(|i| row(n * times, (0..times).map(move |j| i + j * n))).collect()
}
