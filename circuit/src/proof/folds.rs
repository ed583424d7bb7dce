//! Into how many blocks the folds of a proof cut what it is about.

use super::claim::Statement;
use crate::{Circuit, Dom};
use std::collections::BTreeMap;

/// Bytes of an element over words of matrices: 56 coefficients of 64 bits.
pub const ELEMENT_MATRICES: usize = 56 * 8;
/// Bytes of an element over words of 128 bits: 56 coefficients.
pub const ELEMENT_WIDE: usize = 56 * 16;
/// Bytes of an element over bits.
pub const ELEMENT_BITS: usize = 8;
/// Bytes of an element of the field of a prime.
pub const ELEMENT_WORDS: usize = 8;

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
    Matrices,
    /// Bits, as elements of a field of 2^64 elements.
    Bits,
    /// Words of Z_2^128, as elements of a Galois ring over it.
    Wide,
    /// All else that is over words of Z_2^k, k at most 64: lifted to integers, and these modulo a random prime
    /// between 2^60 and 2^61.
    Words,
}

impl Kind {
    /// All, in the order in which they stand in messages.
    pub const ALL: [Kind; KINDS] = [Kind::Matrices, Kind::Bits, Kind::Wide, Kind::Words];

    /// Of a statement.
    pub fn of(circuit: &Circuit, statement: &Statement) -> Kind {
        let mut wide = circuit.ty(statement.out).dom == Dom::Ring(128);
        statement.claim.values(&mut |v| wide |= circuit.ty(v).dom == Dom::Ring(128));
        match circuit.ty(statement.out).dom {
            Dom::Bits(_) => Kind::Bits,
            Dom::Ring(_) if wide => Kind::Wide,
            Dom::Ring(_) if statement.claim.is_product(circuit) => Kind::Matrices,
            Dom::Ring(_) => Kind::Words,
        }
    }

    /// Bits of the words that its statements are about.
    pub fn ring(self) -> u32 {
        match self {
            Kind::Matrices | Kind::Words => 64,
            Kind::Bits => 1,
            Kind::Wide => 128,
        }
    }

    /// log2 of the number of exceptional points.
    pub fn points(self) -> f64 {
        match self {
            Kind::Matrices | Kind::Wide => 56.0,
            Kind::Bits => 64.0,
            Kind::Words => 60.0,
        }
    }

    fn tuning(self) -> &'static Tuning {
        match self {
            Kind::Matrices | Kind::Wide => &MATRICES,
            Kind::Bits => &BITS,
            Kind::Words => &WORDS,
        }
    }

    /// Variables of the first fold of so many words, or words of 64 bits.
    fn variables(self, words: usize) -> u32 {
        let Tuning { first, more, .. } = self.tuning();
        first.iter().find(|(below, _)| words < *below).map_or(*more, |(_, variables)| *variables)
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            Kind::Matrices => ELEMENT_MATRICES,
            Kind::Bits => ELEMENT_BITS,
            Kind::Wide => ELEMENT_WIDE,
            Kind::Words => ELEMENT_WORDS,
        }
    }
}

/// How the folds of a kind are cut, all of it by hand: what is lost by other numbers is time, memory and rounds, and
/// [`error`](super::error) counts what a proof's error becomes. The message of a first fold grows with the power of
/// three of its variables, and the vectors after it fall with that of two; work of a later fold grows with its
/// blocks, and so do messages and the error.
///
/// What is recorded of the choice: later folds of bits are as few as can be, because whole rounds of LeNet-5 on LAN
/// and WAN took as long with 68 rounds as with 71, and with 60 as with 63; the bounds of lifted statements leave two
/// later folds, because a run with six variables of twice as many words took longer than one with a fold more. Of the
/// other bounds no measurement is kept. Whoever moves one compares the rows `client-accuracy/LeNet5/m=10` and
/// `round-accuracy/LeNet5/m=10` of `slvrc bench --security malicious` before and after, and raises the version of the
/// parties' messages (`MESSAGES` of the runtime).
struct Tuning {
    /// Variables of the first fold of fewer words, or words of 64 bits, than this, ascending.
    first: &'static [(usize, u32)],
    /// Variables of the first fold of more.
    more: u32,
    later: Later,
}

/// How the later folds of a kind are cut.
enum Later {
    /// Each in one variable.
    Blocks(Blocks),
    /// Each in several, this many at most, or one more where a fold leaves a power of two: its message has 3^m
    /// elements.
    Variables(u32),
}

/// The blocks of later folds in one variable.
struct Blocks {
    /// The fewest of any but the last one.
    fewest: usize,
    /// The most of the first, which has most of the work.
    first: usize,
    /// The most of the others but the last one.
    most: usize,
    /// Elements at which the last fold takes all that is left, with a random one.
    last: usize,
}

/// Blocks of a later fold in one variable, at most.
pub(super) const MOST_BLOCKS: usize = 256;

const BITS: Tuning = Tuning {
    first: &[(64, 2), (1024, 4), (262_144, 6), (1_048_576, 7)],
    more: 8,
    later: Later::Blocks(Blocks { fewest: 16, first: 64, most: MOST_BLOCKS, last: MOST_BLOCKS }),
};

/// Of matrices and of words of 128 bits. The last bound is one of memory: less of it is taken after a first fold with a
/// variable more.
const MATRICES: Tuning = Tuning {
    first: &[(512, 2), (8192, 3), (65_536, 4), (524_288, 5), (1 << 23, 6)],
    more: 7,
    later: Later::Blocks(Blocks { fewest: 8, first: 32, most: 32, last: 64 }),
};

const WORDS: Tuning =
    Tuning { first: &[(4096, 3), (4_000_000, 4)], more: 5, later: Later::Variables(9) };

/// Of proofs that nobody waits for: rounds cost nothing there.
const SHORT: Blocks = Blocks { fewest: 8, first: 16, most: 16, last: 16 };

/// What the first fold of a kind reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstFold {
    /// There is none: the vectors are elements from the start.
    None,
    /// Words or bits as they are.
    Words,
    /// Words of statements that are lifted: a step stands before it, and the later folds have several variables, too,
    /// so that their numbers of blocks are powers of two. The random element is in the last block of the last one.
    Lifted,
}

/// The folds of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folds {
    /// Variables of the first fold: it cuts words and bits into 2^m blocks.
    pub variables: u32,
    /// What the first fold reads, if there is one.
    pub first: FirstFold,
    /// Elements that are folded after the first fold, at the prover that has most.
    pub elements: usize,
    /// Blocks of the later folds. The last one has one element to a block.
    pub blocks: Vec<usize>,
}

/// Blocks of the folds of so many elements.
pub fn folds(kind: Kind, elements: usize) -> Vec<usize> {
    match &kind.tuning().later {
        Later::Blocks(blocks) => blocks.of(elements.max(1)),
        Later::Variables(most) => in_variables(*most, elements.max(1)),
    }
}

/// The same of a proof that nobody waits for: short messages in more rounds.
fn folds_beside(kind: Kind, elements: usize) -> Vec<usize> {
    match &kind.tuning().later {
        Later::Blocks(_) => SHORT.of(elements.max(1)),
        Later::Variables(_) => in_variables(SHORT.most.ilog2(), elements.max(1)),
    }
}

/// Blocks of folds of so many elements in so many variables each at most: as few folds as there can be, and as equal
/// ones. A block of the last one is for the random element.
fn in_variables(most: u32, mut n: usize) -> Vec<usize> {
    let variables = |n: usize| n.ilog2() + 1;
    let count = variables(n).div_ceil(most);
    let mut out = Vec::new();
    for left in (1..=count).rev() {
        let m = variables(n).div_ceil(left).max(2);
        out.push(1 << m);
        n = n.div_ceil(1 << m);
    }
    out
}

impl Blocks {
    /// Of folds of so many elements: as few folds as there can be, the first one with as few blocks as that allows, and
    /// then the next one.
    fn of(&self, mut n: usize) -> Vec<usize> {
        let Blocks { fewest, first, most, last } = *self;
        // What so many folds at the end are enough for.
        let enough = |folds: u32| last.saturating_mul(most.saturating_pow(folds - 1));
        let later = match (1..).find(|&folds| n <= first.saturating_mul(enough(folds))) {
            Some(folds) if n > last => folds,
            _ => 0,
        };
        let mut out = Vec::new();
        for left in (1..=later).rev() {
            let blocks = n.div_ceil(enough(left)).max(fewest);
            out.push(blocks);
            n = n.div_ceil(blocks);
        }
        out.push(n);
        out
    }
}

/// What a prover proves of one kind.
#[derive(Default)]
pub(super) struct Prover {
    /// Terms and statements of each chunk.
    pub(super) base: Vec<(usize, usize)>,
    /// Products of long inner products, which are all lifted, and how many there are of so many, twice, for x1 y2 and
    /// y1 x2.
    pub(super) dots: Vec<(usize, usize)>,
    /// Elements that join after the folds that read words.
    pub(super) long: usize,
}

impl Folds {
    /// Of provers with statements and terms of them, and elements that join after the first folds, in a proof that is
    /// waited for or not.
    pub(super) fn of(kind: Kind, provers: &[Prover], waits: bool) -> Folds {
        let all = |f: &dyn Fn(&Prover) -> usize| provers.iter().map(f).max().unwrap_or(0);
        let words = all(&|p| p.base.iter().chain(&p.dots).fold(0, |s, (a, b)| plus(s, *a, *b)));
        let spread = if kind == Kind::Bits { 64 } else { 1 };
        let first = match kind {
            Kind::Words => FirstFold::Lifted,
            _ if words == 0 => FirstFold::None,
            _ => FirstFold::Words,
        };
        let variables = kind.variables(words);
        let mut out = Folds { variables, first, elements: 0, blocks: Vec::new() };
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
        out.blocks = if waits { folds } else { folds_beside }(kind, out.elements);
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

    /// Steps before the later folds: the first one, and what lifts the statements.
    pub fn before(&self) -> usize {
        match self.first {
            FirstFold::None => 0,
            FirstFold::Words => 1,
            FirstFold::Lifted => 2,
        }
    }

    /// Of lifted statements the variables of the fold in a step; nothing of the step before the folds.
    pub fn variables_in(&self, step: usize) -> Option<u32> {
        match (self.first, step) {
            (FirstFold::Lifted, 1) => Some(self.variables),
            (FirstFold::Lifted, 2..) => Some(self.blocks.get(step - 2).map_or(0, |b| b.ilog2())),
            _ => None,
        }
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
        self.before() + self.blocks.len()
    }

    /// Elements that a prover sends in a step.
    pub fn sent(&self, step: usize) -> usize {
        match (self.first, step.checked_sub(self.before())) {
            // The value at the first point follows from the others.
            (FirstFold::Lifted, _) => {
                self.variables_in(step).map_or(LIFT * LIFT_WORDS, |m| 3usize.pow(m) - 1)
            }
            (_, None) => self.points() - 1,
            // The last one has a random block besides.
            (_, Some(i)) if i + 1 == self.blocks.len() => 2 * self.blocks[i],
            (_, Some(i)) => self.blocks.get(i).map_or(0, |b| 2 * b - 2),
        }
    }

    /// The degrees of the polynomials, added up. The first one has two in each variable, and so have all of lifted
    /// statements.
    pub(super) fn degrees(&self) -> usize {
        let first = 2 * self.variables as usize;
        let later = |of: &dyn Fn(usize) -> usize| self.blocks.iter().map(|&b| of(b)).sum::<usize>();
        match self.first {
            FirstFold::None => later(&|b| 2 * b),
            FirstFold::Words => first + later(&|b| 2 * b),
            FirstFold::Lifted => first + later(&|b| 2 * b.ilog2() as usize),
        }
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
            for kind in [Kind::Matrices, Kind::Bits, Kind::Wide] {
                let all = folds(kind, n);
                let (last, rest) = all.split_last().unwrap();
                let left = rest.iter().fold(n.max(1), |n, b| n.div_ceil(*b));
                assert_eq!(left, *last, "{n} elements");
                let Later::Blocks(blocks) = &kind.tuning().later else { panic!("{kind:?}") };
                assert!(*last <= blocks.last);
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
        assert_eq!(folds(Kind::Matrices, 1564), [25, 63]);
        assert_eq!(folds(Kind::Wide, 15_680), [8, 31, 64]);
        assert_eq!(folds(Kind::Words, 115_057), [512, 256]);
    }

    /// Of lifted statements a block of the last fold is left, and no message is longer than is worth a round.
    #[test]
    fn lifted_folds_leave_a_block() {
        for n in (0..40).flat_map(|top| [(1usize << top) - 1, 1 << top, (1 << top) + 1, 3 << top]) {
            let all = folds(Kind::Words, n);
            let (last, rest) = all.split_last().unwrap();
            let left = rest.iter().fold(n, |n, b| n.div_ceil(*b));
            assert!(left < *last, "{n} elements: {all:?}");
            assert!(all.iter().all(|b| b.is_power_of_two() && (4..=1024).contains(b)), "{all:?}");
        }
    }
}
