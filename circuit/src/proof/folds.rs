//! Into how many blocks the folds of a proof cut what it is about.

use super::claim::Statement;
use crate::{Circuit, Dom};
use std::collections::BTreeMap;

/// Bytes of an element over words: 56 coefficients of 64 bits.
pub const ELEMENT_WORDS: usize = 56 * 8;
/// Bytes of an element over words of 128 bits: 56 coefficients.
pub const ELEMENT_WIDE: usize = 56 * 16;
/// Bytes of an element over bits.
pub const ELEMENT_BITS: usize = 8;
/// Bytes of an element of the field of a prime.
pub const ELEMENT_LIFTED: usize = 8;
/// Words of lifted statements up to which two folds are left after a first one of four variables.
const FEW: usize = 4_000_000;

/// Words, or words of 64 bits, from which on the first fold has a variable more, so that less memory is taken after it.
const MANY: usize = 1 << 23;

/// Coefficients of the polynomial by which lifted statements become one about integers.
pub const LIFT: usize = 111;
/// Words of 64 bits of a share of one of them.
pub const LIFT_WORDS: usize = 3;

/// How many kinds there are.
pub const KINDS: usize = 4;

/// What statements are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Products of matrices of words of Z_2^k, k at most 64, as elements of a Galois ring over Z_2^64.
    Words,
    /// Bits, as elements of a field of 2^64 elements.
    Bits,
    /// Words of Z_2^128, as elements of a Galois ring over it.
    Wide,
    /// All else that is over words of Z_2^k, k at most 64, as integers, and these modulo a random prime between 2^60 and 2^61.
    Lifted,
}

impl Kind {
    /// All, in the order in which they stand in messages.
    pub const ALL: [Kind; KINDS] = [Kind::Words, Kind::Bits, Kind::Wide, Kind::Lifted];

    /// Of a statement.
    pub fn of(circuit: &Circuit, statement: &Statement) -> Kind {
        let mut wide = circuit.ty(statement.out).dom == Dom::Ring(128);
        statement.claim.values(&mut |v| wide |= circuit.ty(v).dom == Dom::Ring(128));
        match circuit.ty(statement.out).dom {
            Dom::Bits(_) => Kind::Bits,
            Dom::Ring(_) if wide => Kind::Wide,
            Dom::Ring(_) if statement.claim.is_product(circuit) => Kind::Words,
            Dom::Ring(_) => Kind::Lifted,
        }
    }

    /// Bits of the words that its statements are about.
    pub fn ring(self) -> u32 {
        match self {
            Kind::Words | Kind::Lifted => 64,
            Kind::Bits => 1,
            Kind::Wide => 128,
        }
    }

    /// log2 of the number of exceptional points.
    pub fn points(self) -> f64 {
        match self {
            Kind::Words | Kind::Wide => 56.0,
            Kind::Bits => 64.0,
            Kind::Lifted => 60.0,
        }
    }

    /// Variables of the first fold of so many words, or words of 64 bits. Its message grows with their power of three, and
    /// the vectors after it fall with that of two.
    fn variables(self, words: usize) -> u32 {
        match (self, words) {
            (Kind::Bits, ..64) => 2,
            (Kind::Bits, ..1024) => 4,
            (Kind::Bits, ..262_144) => 6,
            (Kind::Bits, ..1_048_576) => 7,
            (Kind::Bits, _) => 8,
            (Kind::Lifted, ..4096) => 3,
            // As many as leave two folds. With six of twice as many words a run takes longer than with a fold more.
            (Kind::Lifted, ..FEW) => 4,
            (Kind::Lifted, _) => 5,
            (_, ..512) => 2,
            (_, ..8192) => 3,
            (_, ..65536) => 4,
            (_, ..524_288) => 5,
            (_, ..MANY) => 6,
            (_, _) => 7,
        }
    }

    /// Of later folds but the last one: the fewest blocks, the most of the first of them, which has most of the work, and
    /// the most of the others. Work grows with blocks, and so do messages and the error of a proof.
    fn blocks(self) -> [usize; 3] {
        if self == Kind::Bits { [16, 64, 256] } else { [8, 32, 32] }
    }

    /// Elements at which the last fold takes all that is left, with a random one.
    fn last_fold(self) -> usize {
        match self {
            Kind::Bits => 256,
            _ => 64,
        }
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            Kind::Words => ELEMENT_WORDS,
            Kind::Bits => ELEMENT_BITS,
            Kind::Wide => ELEMENT_WIDE,
            Kind::Lifted => ELEMENT_LIFTED,
        }
    }
}

/// The folds of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folds {
    /// Variables of the first fold: it cuts words and bits into 2^m blocks.
    pub variables: u32,
    /// Whether there is a first fold.
    pub first: bool,
    /// Whether it has long inner products, whose polynomial is another one.
    pub inner: bool,
    /// Elements that are folded after it, at the prover that has most.
    pub elements: usize,
    /// Blocks of the folds after it. The last one has one element to a block.
    pub blocks: Vec<usize>,
    /// Whether its statements are lifted: a step stands before the first fold, and the later folds have several variables,
    /// too, so that their numbers of blocks are powers of two. The random element is in the last block of the last one.
    pub lifted: bool,
}

/// Variables of a later fold of lifted statements, at most, or one more where a fold leaves a power of two: its message has 3^m
/// elements.
const MOST_VARIABLES: u32 = 9;

/// Blocks of the folds of so many elements.
pub fn folds(kind: Kind, elements: usize) -> Vec<usize> {
    let mut out = Vec::new();
    let mut n = elements.max(1);
    if kind == Kind::Lifted {
        // As few folds as there can be, and as equal ones. A block of the last one is for the random element.
        let variables = |n: usize| n.ilog2() + 1;
        let count = variables(n).div_ceil(MOST_VARIABLES);
        for left in (1..=count).rev() {
            let m = variables(n).div_ceil(left).max(2);
            out.push(1 << m);
            n = n.div_ceil(1 << m);
        }
        return out;
    }
    let [fewest, first, most] = kind.blocks();
    // What so many folds at the end are enough for.
    let enough = |folds: u32| kind.last_fold().saturating_mul(most.saturating_pow(folds - 1));
    // As few folds as there can be, the first one with as few blocks as that allows, and then the next one.
    let later = match (1..).find(|&folds| n <= first.saturating_mul(enough(folds))) {
        Some(folds) if n > kind.last_fold() => folds,
        _ => 0,
    };
    for left in (1..=later).rev() {
        let blocks = n.div_ceil(enough(left)).max(fewest);
        out.push(blocks);
        n = n.div_ceil(blocks);
    }
    out.push(n);
    out
}

/// What a prover proves of one kind.
#[derive(Default)]
pub(super) struct Prover {
    /// Terms and statements of each chunk.
    pub(super) base: Vec<(usize, usize)>,
    /// Products of long inner products, and how many there are of so many, twice, for x1 y2 and y1 x2.
    pub(super) dots: Vec<(usize, usize)>,
    /// Elements that join after the folds that read words.
    pub(super) long: usize,
}

impl Folds {
    /// Of provers with statements and terms of them, and elements that join after the first folds.
    pub(super) fn of(kind: Kind, provers: &[Prover]) -> Folds {
        let all = |f: &dyn Fn(&Prover) -> usize| provers.iter().map(f).max().unwrap_or(0);
        let words = all(&|p| p.base.iter().chain(&p.dots).fold(0, |s, (a, b)| plus(s, *a, *b)));
        let spread = if kind == Kind::Bits { 64 } else { 1 };
        let inner = provers.iter().any(|p| !p.dots.is_empty());
        // Lifted words take all of their factors before they are multiplied, so that one polynomial is enough.
        let lifted = kind == Kind::Lifted;
        let inner = inner && !lifted;
        // Two polynomials are as long as one with a variable more, or nearly so.
        let variables = kind.variables(words).saturating_sub(inner.into()).max(2);
        let (first, blocks) = (words > 0 || lifted, Vec::new());
        let mut out = Folds { variables, first, inner, elements: 0, blocks, lifted };
        // A stranger's circuit may be about more words than there are numbers.
        out.elements = all(&|Prover { base: all, dots, long }| {
            let columns = |sum: usize, group: &Vec<usize>| {
                let statements = group.iter().fold(0, |n, &i| plus(n, all[i].1, 1));
                let terms = group.first().map_or(0, |&i| all[i].0);
                plus(sum, terms, statements.div_ceil(out.cut()))
            };
            let base = out.groups(all).iter().fold(0, columns);
            let dots =
                dots.iter().fold(*long, |s, (n, count)| plus(s, n.div_ceil(out.cut()), *count));
            plus(dots, spread, base)
        });
        out.blocks = folds(kind, out.elements);
        out
    }

    /// Blocks that the words of a chunk are cut into.
    pub fn cut(&self) -> usize {
        1 << self.variables
    }

    /// Points of the first fold: a polynomial of degree 2 in each variable is known from so many values.
    pub fn points(&self) -> usize {
        3usize.pow(self.variables)
    }

    /// The points at which its blocks are ([`corners`]).
    pub fn corners(&self) -> Vec<usize> {
        corners(self.variables)
    }

    /// Steps before the folds.
    fn before(&self) -> usize {
        self.lifted.into()
    }

    /// Of lifted statements the variables of the fold in a step; nothing of the step before the folds.
    pub fn variables_in(&self, step: usize) -> Option<u32> {
        let step = step.checked_sub(1)?;
        Some(
            step.checked_sub(1)
                .map_or(self.variables, |i| self.blocks.get(i).map_or(0, |b| b.ilog2())),
        )
    }

    /// Which chunks, of so many terms and statements each, are put together. Every chunk is filled up to whole blocks,
    /// so small chunks with as many terms become one.
    pub fn groups(&self, sizes: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let is_small = |i: &usize| sizes[*i].1 < self.cut();
        let (small, large): (Vec<usize>, Vec<usize>) = (0..sizes.len()).partition(is_small);
        let mut by_terms: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for i in small {
            by_terms.entry(sizes[i].0).or_default().push(i);
        }
        large.into_iter().map(|i| vec![i]).chain(by_terms.into_values()).collect()
    }

    /// How many folds there are.
    pub fn steps(&self) -> usize {
        self.before() + usize::from(self.first) + self.blocks.len()
    }

    /// Elements that a prover sends in a step.
    pub fn sent(&self, step: usize) -> usize {
        if self.lifted {
            let fold = |m: u32| if step < self.steps() { 3usize.pow(m) - 1 } else { 0 };
            return self.variables_in(step).map_or(LIFT * LIFT_WORDS, fold);
        }
        match step.checked_sub(self.first.into()) {
            // The value at the first point follows from the others.
            None => self.points() - 1 + if self.inner { self.points() } else { 0 },
            // The last one has a random block besides.
            Some(i) if i + 1 == self.blocks.len() => 2 * self.blocks[i],
            Some(i) => self.blocks.get(i).map_or(0, |b| 2 * b - 2),
        }
    }

    /// The degrees of the polynomials, added up.
    pub(super) fn degrees(&self) -> usize {
        if self.lifted {
            return (1..self.steps())
                .filter_map(|step| self.variables_in(step))
                .map(|m| 2 * m as usize)
                .sum();
        }
        // Two in each variable, and one in the coin of the inner products.
        let first = if self.first { 2 * self.variables as usize + 1 } else { 0 };
        first + self.blocks.iter().map(|b| 2 * b).sum::<usize>()
    }
}

/// The points of a grid at which the blocks are: those whose digits in base 3 are the bits of the block.
pub fn corners(variables: u32) -> Vec<usize> {
    let bits = |b: usize| (0..variables).map(move |j| (b >> j & 1) * 3usize.pow(j)).sum();
    (0..1 << variables).map(bits).collect()
}

/// sum + a b, or the largest number.
pub(super) fn plus(sum: usize, a: usize, b: usize) -> usize {
    sum.saturating_add(a.saturating_mul(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_end_in_one_element_to_a_block() {
        for n in [0, 1, 31, 32, 33, 512, 513, 8191, 8192, 70_000, 1 << 24] {
            for kind in [Kind::Words, Kind::Bits, Kind::Wide] {
                let all = folds(kind, n);
                let (last, rest) = all.split_last().unwrap();
                let left = rest.iter().fold(n.max(1), |n, b| n.div_ceil(*b));
                assert_eq!(left, *last, "{n} elements");
                assert!(*last <= kind.last_fold());
                // So many elements fit, and are what a vector is filled up to.
                assert!(all.iter().product::<usize>() >= n);
            }
        }
    }

    /// Whoever changes these raises the version of the parties' messages (`MESSAGES` of the runtime).
    #[test]
    fn there_are_as_few_folds_as_can_be() {
        assert_eq!(folds(Kind::Bits, 256), [256]);
        assert_eq!(folds(Kind::Bits, 257), [16, 17]);
        assert_eq!(folds(Kind::Bits, 64 << 8), [64, 256]);
        assert_eq!(folds(Kind::Bits, 2_413_376), [37, 255, 256]);
        assert_eq!(folds(Kind::Bits, (64 << 16) + 1), [16, 16, 65, 253]);
        assert_eq!(folds(Kind::Words, 1564), [25, 63]);
        assert_eq!(folds(Kind::Wide, 15_680), [8, 31, 64]);
        assert_eq!(folds(Kind::Lifted, 115_057), [512, 256]);
    }

    /// Of lifted statements a block of the last fold is left, and no message is longer than is worth a round.
    #[test]
    fn lifted_folds_leave_a_block() {
        for n in (0..40).flat_map(|top| [(1usize << top) - 1, 1 << top, (1 << top) + 1, 3 << top]) {
            let all = folds(Kind::Lifted, n);
            let (last, rest) = all.split_last().unwrap();
            let left = rest.iter().fold(n, |n, b| n.div_ceil(*b));
            assert!(left < *last, "{n} elements: {all:?}");
            assert!(all.iter().all(|b| b.is_power_of_two() && (4..=1024).contains(b)), "{all:?}");
        }
    }
}
