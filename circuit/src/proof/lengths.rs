//! The lengths of the vectors and messages of a proof: functions of the circuit, which all parties know. What is
//! written here for one message of one party holds for all three, because each of them proves.
//!
//! There are four kinds of statements ([`Kind`]), proven side by side with the same coins. Within a kind all statements
//! of a prover become one inner product, and [`Folds`] says how it is cut. Who makes its vectors is named as in the
//! runtime's `proof`:
//!
//! | kind | statements | elements are of | vectors from | its first fold reads |
//! |---|---|---|---|---|
//! | `Matrices` | products of matrices of words of up to 64 bits | a ring over Z_2^64 | `matrices` | it has none |
//! | `Bits` | those over bits, and carries | a field of 2^64 | `statements`, `carries` | bits, 64 to a word |
//! | `Wide` | those with words of 128 bits | a ring over Z_2^128 | `statements` | words |
//! | `Words` | all others, inner products among them | the field of a random prime | `lifted` | lifted words |
//!
//! A first fold has more blocks than the later ones, because those work on elements, which cost far more than the words
//! or bits that it reads. The vectors of products of matrices are elements from the start. To *lift* words is to read
//! them as integers: a step before the first fold turns statements modulo powers of two into statements about integers.
//!
//! | step | P sends to V2 | V2 sends to P | V1 sends to P | V1 sends to V2 |
//! |---|---|---|---|---|
//! | carries that are told, if any | V2's share of them | | | |
//! | start | | half of a coin, a hash of the other half | the other half, a hash of V2's, and of all later coins | |
//! | fold, so often as there are | V2's share of a polynomial | | | |
//! | coin, after each of these but the last | | the coin | | |
//! | beside the last fold | | | | its vector, folded to one element, and its share of the sum |
//! | verdict, everybody to everybody | one byte | one byte | one byte | one byte |
//!
//! Carries travel beside what the layer before sends, where all parties know by then what they are of.

use super::barriers::{Barrier, barriers};
use super::carries::Carries;
use super::claim::Cut;
use super::folds::{FirstFold, Folds, KINDS, Kind, LIFT, MOST_BLOCKS, Prover, plus};
use super::items::{dots, items};
use super::matrices::{Matrices, matrices};
use super::unproven::{MOST_ERROR_LOG2, Unproven};
use crate::Circuit;
use crate::speculation::Speculation;

/// Bytes of a hash, and of a coin.
pub const HASH: usize = 32;
/// Rounds of a barrier besides its folds and the carries: start and verdict.
pub const OPENING_ROUNDS: usize = 2;

/// What is proven at a barrier, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Words of 64 bits that each prover sends for carries.
    pub carries: [usize; 3],
    /// Whether these travel beside what the layer before sends.
    pub early: bool,
    /// The folds of each kind, in the order of [`Kind::ALL`], where there are such statements.
    pub folds: [Option<Folds>; KINDS],
    /// Bytes of the columns of the largest chunk, on one side. A party copies them if they are words of other widths
    /// than those that are folded, or computed.
    pub chunk: u64,
    /// Bytes of what the vectors of the largest product of matrices are found from.
    pub product: u64,
}

/// Points at which the coefficients of statements that are not lifted cancel what is wrong with these: one each for
/// beta, gamma, r and s, and one for what a prover adds to its polynomials (Soundness, in the runtime's `proof`).
const CANCELLED: f64 = 5.0;

/// Bytes that a column takes besides its words, with where its blocks lie, and for each part that it is made of.
const COLUMN: u64 = 1 << 10;
const PART: u64 = 1 << 7;

impl Lengths {
    /// Of a barrier of a circuit.
    pub fn of(circuit: &Circuit, barrier: &Barrier) -> Lengths {
        let mut lengths = Lengths::default();
        for (prover, words) in lengths.carries.iter_mut().enumerate() {
            let stride = |x: &Cut| x.lanes(circuit).len(prover).div_ceil(64);
            let of = |(x, of): (&Cut, &Carries)| of.told.len() * stride(x);
            *words = barrier.carries.iter().map(of).sum();
        }
        lengths.early = barrier.early;
        let product = |s| Some((s, matrices(circuit, s)?));
        let products: Vec<_> = barrier.statements.iter().filter_map(product).collect();
        for (kind, place) in Kind::ALL.into_iter().zip(&mut lengths.folds) {
            let items = items(circuit, barrier, kind);
            // Of x1 y2 and of y1 x2.
            let dots: Vec<_> =
                dots(circuit, barrier, kind).map(|(_, count, sums)| (sums, 2 * count)).collect();
            let joined = |n: usize, (_, m): &(_, Matrices)| n.saturating_add(m.length());
            let long = products.iter().filter(|_| kind == Kind::Matrices);
            if items.is_empty() && dots.is_empty() && long.clone().next().is_none() {
                continue;
            }
            let provers = [0, 1, 2].map(|prover| Prover {
                base: items.iter().map(|item| item.size(circuit, prover)).collect(),
                dots: dots.clone(),
                long: long.clone().fold(0, joined),
            });
            let folds = Folds::of(kind, &provers, barrier.waits);
            let word = if kind == Kind::Wide { 16 } else { 8 };
            // Of a chunk that is made of so many, of so many terms each, with as many statements as all of them have.
            let bytes = |terms: usize, parts: usize, statements: usize| {
                let each = (statements as u64).saturating_mul(word);
                let besides = COLUMN.saturating_add(PART.saturating_mul(parts as u64));
                each.saturating_add(besides).saturating_mul(terms as u64)
            };
            for Prover { base, dots, .. } in &provers {
                for group in folds.groups(base) {
                    let statements = group.iter().fold(0, |n, &i| plus(n, base[i].1, 1));
                    let terms = group.first().map_or(0, |&i| base[i].0);
                    lengths.chunk = lengths.chunk.max(bytes(terms, group.len(), statements));
                }
                let dots = dots.iter().map(|&(products, _)| bytes(2, 1, products));
                lengths.chunk = dots.max().unwrap_or(0).max(lengths.chunk);
            }
            *place = Some(folds);
        }
        lengths.product = products.iter().map(|(s, m)| m.bytes(circuit, s)).max().unwrap_or(0);
        lengths
    }

    /// Folds, of the kind that has more.
    pub fn steps(&self) -> usize {
        self.folds.iter().flatten().map(Folds::steps).max().unwrap_or(0)
    }

    /// Whether there is nothing to prove.
    pub fn is_empty(&self) -> bool {
        self.folds.iter().all(Option::is_none)
    }

    /// Elements that a prover sends in a step, of each kind.
    pub fn sent(&self, step: usize) -> [usize; KINDS] {
        let of = |folds: &Option<Folds>| folds.as_ref().map_or(0, |f| f.sent(step));
        self.folds.each_ref().map(of)
    }

    /// Bytes of what a prover sends in a step.
    pub fn step_bytes(&self, step: usize) -> usize {
        Kind::ALL.into_iter().zip(self.sent(step)).map(|(kind, n)| n * kind.bytes()).sum()
    }

    /// Bytes of the last message, of the verifier before the prover to the one after it.
    pub fn end_bytes(&self) -> usize {
        let of = |(kind, f): (Kind, &Option<Folds>)| {
            if f.is_some() { 2 * kind.bytes() } else { 0 }
        };
        Kind::ALL.into_iter().zip(&self.folds).map(of).sum::<usize>()
    }

    /// A bound of the probability that a false statement of one prover is accepted.
    pub fn error(&self) -> f64 {
        let of = |(kind, folds): (Kind, &Option<Folds>)| {
            let Some(folds) = folds else { return 0.0 };
            if folds.first == FirstFold::Lifted {
                return lifted_error(folds);
            }
            // The coin of a later fold of b blocks is none of b + 1 points.
            let coins = kind.points().exp2() - (MOST_BLOCKS + 1) as f64;
            (CANCELLED + folds.degrees() as f64) / coins
        };
        Kind::ALL.into_iter().zip(&self.folds).map(of).sum::<f64>()
    }

    /// Bytes of the vectors that a party holds while it proves: both of its own and those of the two whose verifier it
    /// is. The columns of one instruction after another are not in it.
    pub fn working(&self) -> u64 {
        let of = |(kind, folds): (Kind, &Option<Folds>)| {
            let blocks = folds.iter().flat_map(|f| &f.blocks);
            let elements = blocks.fold(1u64, |n, b| n.saturating_mul(*b as u64));
            let bytes = elements.saturating_mul(4 * kind.bytes() as u64);
            if folds.is_some() { bytes } else { 0 }
        };
        Kind::ALL.into_iter().zip(&self.folds).map(of).fold(0, u64::saturating_add)
    }

    /// Bytes that a thread holds at a time: the columns of a chunk on both sides, or what the vectors of a product of
    /// matrices are found from.
    pub fn of_thread(&self) -> u64 {
        self.chunk.saturating_mul(2).max(self.product)
    }

    pub fn rounds(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        // The last fold needs no coin, and V1, which waits for nobody, ends beside it.
        self.rounds_of_carries() + OPENING_ROUNDS + 2 * self.steps() - 1
    }

    /// Rounds in which nothing but carries is told.
    pub fn rounds_of_carries(&self) -> usize {
        usize::from(!self.early && self.carries.iter().any(|&n| n > 0))
    }

    /// Of its rounds the first ones, until nothing reads the values any more that it is about: until the next message
    /// after the folds that read words.
    pub fn rounds_of_values(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.rounds_of_carries() + 2 + 2 * self.steps_of_words()
    }

    /// The first steps, which read words, of the kind that has more.
    pub fn steps_of_words(&self) -> usize {
        self.folds.iter().flatten().map(Folds::before).max().unwrap_or(0)
    }

    /// Bytes that each party sends.
    pub fn bytes(&self) -> [u64; 3] {
        if self.is_empty() {
            return [0; 3];
        }
        let steps = self.steps();
        let folds: usize = (0..steps).map(|s| self.step_bytes(s)).sum();
        let coins = 2 * HASH + (1 + steps) * HASH + (steps - 1) * HASH;
        let all = coins + folds + self.end_bytes() + 2;
        self.carries.map(|words| (8 * words + all) as u64)
    }
}

/// A bound of the probability that a false statement of one prover is accepted, if it is lifted: coefficients, of 2^56
/// each, of which three may cancel what is wrong; a prime that divides what is wrong with the integers, of which there
/// are at most four, because that is less than 2^260, of at least 2^54 primes; a point at which the polynomial of what
/// is wrong is 0; and coins that are a root.
fn lifted_error(folds: &Folds) -> f64 {
    let roots = (LIFT - 1 + folds.degrees()) as f64;
    3.0 / 56f64.exp2() + 4.0 / 54f64.exp2() + roots / Kind::Words.points().exp2()
}

/// A bound of the probability that one party's proofs in a run are all accepted although a statement is false. The
/// runtime's `proof` says where it comes from.
///
/// # Errors
///
/// What [`barriers`] says.
pub fn error(circuit: &Circuit) -> Result<f64, Unproven> {
    Ok(error_of(circuit, &barriers(circuit)?))
}

fn error_of(circuit: &Circuit, all: &[Barrier]) -> f64 {
    let repeated = Speculation::of(circuit);
    // A proof that is given again with layers that are repeated may fail twice.
    let times = |b: &Barrier| match &repeated {
        Some(r) if r.covers(b.layer as usize) => 2.0,
        _ => 1.0,
    };
    all.iter().map(|b| times(b) * Lengths::of(circuit, b).error()).sum()
}

/// Whether a circuit against a malicious party has a statement for every message, and proofs that fail rarely enough.
/// The bound is that of one run. Who runs a circuit again after an abort gives the malicious party another try, so
/// that the bound of all runs together is as many times larger.
///
/// # Errors
///
/// What [`barriers`] says, and a bound above 2^-40.
pub fn check(circuit: &Circuit) -> Result<(), Unproven> {
    let all = barriers(circuit)?;
    let error = error_of(circuit, &all);
    if error > f64::from(MOST_ERROR_LOG2).exp2() {
        return Err(Unproven::Weak { barriers: all.len(), log2: error.log2().ceil() as i32 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::folds::folds;
    use super::*;

    /// What the security model says of a proof of up to 2^34 elements after the first fold, and of 2^40 words of bits.
    #[test]
    fn proofs_fail_as_rarely_as_is_said() {
        let lengths = |kind: Kind, variables, elements| {
            // Products of matrices are all that is over the Galois ring of 64 bits: there is no first fold.
            let first = match kind {
                Kind::Matrices => FirstFold::None,
                Kind::Bits | Kind::Wide => FirstFold::Words,
                Kind::Words => FirstFold::Lifted,
            };
            let folds = Folds { variables, first, elements, blocks: folds(kind, elements) };
            let mut lengths = Lengths::default();
            let place = Kind::ALL.into_iter().zip(&mut lengths.folds).find(|(k, _)| *k == kind);
            *place.unwrap().1 = Some(folds);
            lengths
        };
        for top in 0..=34u32 {
            // Also what leaves blocks that are hardly filled.
            for part in 0..=64u64 {
                let n = ((1u64 << top) * (64 + part) / 128).max(1) as usize;
                let wide = lengths(Kind::Wide, 7, n).error();
                assert!(wide < (-47f64).exp2(), "{n} wide elements: 2^{}", wide.log2());
                let bits = lengths(Kind::Bits, 8, 16 * n).error();
                assert!(bits < (-52f64).exp2(), "{n} elements over bits: 2^{}", bits.log2());
                let lifted = lengths(Kind::Words, 5, n).error();
                assert!(lifted < (-51f64).exp2(), "{n} lifted elements: 2^{}", lifted.log2());
                let all = lengths(Kind::Matrices, 7, n).error() + bits + lifted;
                assert!(16.0 * all < (-43f64).exp2(), "sixteen proofs of {n} elements");
            }
        }
    }

    #[test]
    fn bytes_and_rounds_by_hand() {
        let blocks = vec![16, 2];
        let folds = Folds { variables: 3, first: FirstFold::Words, elements: 20, blocks };
        let lengths = Lengths {
            carries: [3, 0, 1],
            early: false,
            folds: [Some(folds), None, None, None],
            ..Default::default()
        };
        assert_eq!(lengths.steps(), 3);
        assert_eq!([0, 1, 2].map(|s| lengths.sent(s)[0]), [26, 30, 4]);
        assert_eq!(lengths.rounds(), 1 + 2 + 5);
        let elements = (26 + 30 + 4 + 2) * 448;
        let all = elements + 2 * 32 + 64 + 4 * 32 + 2;
        assert_eq!(lengths.bytes(), [24 + all, all, 8 + all]);
        let early = Lengths { early: true, ..lengths.clone() };
        assert_eq!((early.rounds(), early.bytes()), (2 + 5, lengths.bytes()));
        let none = Lengths::default();
        assert_eq!((none.rounds(), none.bytes()), (0, [0; 3]));
    }
}
