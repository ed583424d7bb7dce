//! Statements over words as statements about integers, and these modulo a random prime.
//!
//! # Why
//!
//! Statements modulo 2^64 need a ring with many exceptional points, whose elements are 56 words: everything after the first
//! fold would be 56 times as long as the words themselves. The same statements about integers can be proven modulo a prime
//! that nobody could foresee, and then an element is one word.
//!
//! # Lifting
//!
//! Of statement i, sum_j u_ij v_ij = s1_i + s2_i modulo 2^64, let e_i be the difference of both sides as an integer, with all
//! words between 0 and 2^64. It is true if 2^64 divides e_i. With a polynomial c_i for each statement, whose coefficients are 0
//! and 1, the statement of all of them is that 2^64 divides sum_i c_i(X) e_i. P knows the quotient, the polynomial K, and
//! shares its coefficients: V1's are pseudorandom numbers below 2^191, and V2 is sent the differences. Then a coin says which
//! prime p, and at which point x, the statement sum_i c_i(x) e_i = 2^64 K(x) is proven modulo p. From there on it is an
//! inner product over a field of p elements, of the words u c(x) and v: V1's share of the sum is sum c_i(x) s1_i + 2^64 K1(x).
//!
//! The coefficient of element t of block b of the first fold is beta_b gamma_t, both of degree below 56, so that K has 111
//! coefficients; beta_0 is 1. A long inner product, which is one statement of many products, has one coefficient.
//!
//! Statements modulo 2^k are taken as they are, over words below 2^k, with 2^(64-k) c_i for c_i: that is what they would be
//! with words that are shifted up.
//!
//! K needs the quotient of each e_i, which is the upper half of its products less a carry: s1 + s2 is the lower half, or 2^64
//! more, and this is so if one of both is larger than the lower half. So P computes either s1 or s2, whichever it can.
//!
//! # Folds
//!
//! All have several variables, as the first fold of the other kinds (see [the module above](super)). In the last one the
//! random element is the last block, whose weight at a coin is the product of all of its coordinates, so that no coordinate of
//! this coin is 0.
//!
//! # Soundness
//!
//! If 2^64 does not divide e_i, then it divides the sum with probability at most 3 / 2^56: take the greatest power of two that
//! divides all e_i, which is below 2^64, and look at what is left modulo 2, where polynomials have no zero divisors. At most one value of gamma_t
//! makes the sum over a block 0, and at most one value of beta_b the sum over blocks; of an inner product at most one value of its coefficient. Otherwise the polynomial sum c_i e_i -
//! 2^64 (K1 + K2) is not 0, whatever P shares. Its coefficients are less than 2^260, so that at most four primes above 2^60
//! divide one that is not 0, of more than 2^54 primes. Modulo the others it has at most 110 roots x. What is left is a false
//! inner product in a field, which a fold of m variables lets through with probability at most 2 m / p.
//! [`slvr_circuit::proof::Lengths::error`] adds these up.
//!
//! # What is told
//!
//! K2 = K - K1 is within 2^-70 of uniform for all coefficients together, because those of K are below 2^111, of up to 2^41 products.
//! Where one of K1 is within 2^111 of 2^191, an honest proof may fail: less than 2^-70, too.

mod quotient;
#[cfg(test)]
mod tests;

pub use quotient::{Share, drawn, quotient, rest};

use super::algebra::{Draw, tensor};
use super::chunk::Chunks;
use super::coefficients::Coefficients;
use slvr_circuit::proof::{Folds, corners};
use slvr_ring::galois::DEGREE;
use slvr_ring::prime::{Grid, Prime, Weight};
use slvr_ring::{cut_runs, threads};
use std::sync::{Arc, Mutex, PoisonError};

/// A polynomial whose coefficients are 0 and 1, bit j that of X^j.
pub type Binary = u64;

const MASK: u64 = (1 << DEGREE) - 1;

/// Draws the coefficients of lifted statements: of chunks of so many elements, and of long inner products of so many.
pub fn coefficients(
    folds: &Folds,
    counts: [&[usize]; 2],
    draw: &mut Draw,
) -> Arc<Coefficients<Binary>> {
    Coefficients::draw(folds, counts, draw, (1, |draw: &mut Draw| draw.word() & MASK), MASK)
}

/// The field in which a statement is proven, and the coefficients in it.
pub struct Field {
    prime: Prime,
    /// For each byte of a polynomial and each value of it, its value at the point.
    bytes: Vec<[Weight; 256]>,
    point: u64,
}

impl Field {
    /// From a coin.
    fn new(draw: &mut Draw) -> Field {
        let prime = Prime::draw(|| draw.word());
        let point = prime.element(|| draw.word());
        let step = prime.weight(point);
        let mut power = prime.weight(1);
        let bytes = (0..DEGREE / 8).map(|_| {
            let mut all = [Weight::default(); 256];
            for bit in 0..8 {
                for low in 0..1 << bit {
                    all[low | 1 << bit] = prime.either(all[low], power);
                }
                power = prime.both(power, step);
            }
            all
        });
        let bytes = bytes.collect();
        Field { prime, bytes, point }
    }

    /// The value of a polynomial at the point.
    fn at(&self, c: Binary) -> Weight {
        let bytes = self.bytes.iter().zip(c.to_le_bytes());
        bytes.fold(Weight::default(), |s, (all, byte)| self.prime.either(s, all[usize::from(byte)]))
    }

    /// The factors of the elements of a block of a chunk, but for those of the block.
    fn elements(&self, c: &Coefficients<Binary>, chunk: usize) -> Vec<Weight> {
        match c.dot(chunk) {
            Some(dot) => vec![self.at(c.dots[dot].1); c.dots[dot].0],
            None => c.elements[chunk].iter().map(|c| self.at(*c)).collect(),
        }
    }

    /// The factors of the blocks, times a power of two: those of an inner product are no others.
    fn blocks(&self, c: &Coefficients<Binary>, chunk: usize, scale: u32) -> Vec<Weight> {
        let scale = self.prime.weight(1 << scale);
        let of = |b: &Binary| self.at(if c.dot(chunk).is_some() { 1 } else { *b });
        c.blocks.iter().map(|b| self.prime.both(of(b), scale)).collect()
    }

    /// 2^64.
    fn carry(&self) -> u64 {
        self.prime.mul(1 << 32, 1 << 32)
    }

    /// The value at the point of a polynomial of which this is a share.
    fn quotient(&self, share: &Share) -> u64 {
        let p = &self.prime;
        let word = |x: u64| p.reduced(&[x])[0];
        share.iter().rev().fold(0, |value, words| {
            // The top word has a sign, so that it is 2^64 less where its highest bit is 1.
            let negative = p.mul(self.carry(), words.last().map_or(0, |x| x >> 63));
            let number = words.iter().rev().fold(0, |n, x| p.add(p.mul(n, self.carry()), word(*x)));
            let less = p.mul(p.mul(negative, self.carry()), self.carry());
            p.add(p.mul(value, self.point), p.sub(number, less))
        })
    }
}

/// One vector of the inner product, with a share of the sum if it is a verifier's.
pub struct Side {
    folds: Folds,
    /// Whether it takes the coefficients: u does, v does not.
    weighs: bool,
    coefficients: Arc<Coefficients<Binary>>,
    /// Once the coin says so.
    field: Option<Field>,
    vector: Vec<u64>,
    sum: u64,
    /// Steps so far: the first one lifts.
    step: usize,
}

impl Side {
    /// Before the first message of the prover.
    pub fn new(folds: &Folds, weighs: bool, coefficients: Arc<Coefficients<Binary>>) -> Side {
        let (folds, vector) = (folds.clone(), Vec::new());
        Side { folds, weighs, coefficients, field: None, vector, sum: 0, step: 0 }
    }

    /// Whether it is not lifted yet.
    pub fn lifts(&self) -> bool {
        self.field.is_none()
    }

    /// Whether all is done.
    pub fn is_done(&self) -> bool {
        self.step == self.folds.steps()
    }

    /// Elements of the prover's message of the next fold; before these the words of its message.
    pub fn sent(&self) -> usize {
        self.folds.sent(self.step)
    }

    /// The field.
    ///
    /// # Panics
    ///
    /// Before there is one.
    pub fn prime(&self) -> &Prime {
        &self.field().prime
    }

    fn field(&self) -> &Field {
        match &self.field {
            Some(field) => field,
            None => unreachable!("statements are lifted before they are folded"),
        }
    }

    /// Variables of the next fold.
    fn variables(&self) -> u32 {
        self.folds.variables_in(self.step).unwrap_or(0)
    }

    fn is_last(&self) -> bool {
        self.step + 1 == self.folds.steps()
    }

    /// Finds the field from a coin, and a verifier its share of the sum, of the sums of its chunks and its share of the
    /// quotient.
    pub fn lifted(
        &self,
        coin: &mut Draw,
        known: Option<(&dyn Chunks<u64>, &Share)>,
    ) -> (Field, u64) {
        let field = Field::new(coin);
        let Some((chunks, share)) = known else { return (field, 0) };
        let p = field.prime;
        let sums = threads::workers(self.coefficients.chunks(), &|| 0, &|sum, i| {
            let c = &self.coefficients;
            let chunk = chunks.make(i);
            let blocks = field.blocks(c, i, chunk.scale());
            let found = match c.dot(i) {
                // One statement.
                Some(dot) => {
                    let Some(words) = chunk.into_sum() else { return };
                    p.dot(&words, &[p.both(field.at(c.dots[dot].1), blocks[0])])
                }
                None => {
                    let Some(words) = chunk.into_sum_of(c.blocks.len()) else { return };
                    let sums = p.fold(&cut_runs(&words, c.blocks.len()), &blocks);
                    p.dot(&sums, &field.elements(c, i))
                }
            };
            *sum = p.add(*sum, found);
        });
        let quotient = p.mul(field.carry(), field.quotient(share));
        (field, sums.into_iter().fold(quotient, |s, x| p.add(s, x)))
    }

    /// Goes on in the field.
    pub fn begin(&mut self, (field, sum): (Field, u64)) {
        self.field = Some(field);
        self.sum = sum;
        self.step += 1;
    }

    /// Before the last fold: a random element, from a stream.
    pub fn hide(&mut self, draw: &mut Draw) {
        if !self.lifts() && self.is_last() {
            let x = self.prime().element(|| draw.word());
            self.vector.iter_mut().last().iter_mut().for_each(|last| **last = x);
        }
    }

    /// A verifier's share of the polynomial at all points, from its shares at all but the first one.
    fn complete(&self, rest: Vec<u64>) -> Vec<u64> {
        let mut corners = corners(self.variables());
        if self.is_last() {
            // The random block does not count.
            corners.pop();
        }
        let known = corners.iter().skip(1).map(|i| rest[i - 1]);
        let p = self.prime();
        let first = known.fold(self.sum, |s, x| p.sub(s, x));
        std::iter::once(first).chain(rest).collect()
    }

    /// The coin of the next fold: a point for each variable.
    pub fn coin(&self, draw: &mut Draw) -> Vec<u64> {
        let last = self.is_last();
        let mut point = || loop {
            let x = self.prime().element(|| draw.word());
            if !last || x != 0 {
                return x;
            }
        };
        (0..self.variables()).map(|_| point()).collect()
    }

    /// Evaluates at a coin; a verifier also its share of the polynomial, from the second point on.
    pub fn fold(&mut self, coin: &[u64], share: Option<Vec<u64>>, chunks: &dyn Chunks<u64>) {
        let p = *self.prime();
        let (weight, both) = (|x| p.weight(x), |a: &Weight, b: &Weight| p.both(*a, *b));
        if let Some(rest) = share {
            let on_grid = |&x: &u64| [p.sub(1, x), x, p.sub(p.mul(x, x), x)].map(weight);
            let at = tensor(coin, p.weight(1), on_grid, both);
            self.sum = p.dot(&self.complete(rest), &at);
        }
        let at = tensor(coin, p.weight(1), |&x| [p.sub(1, x), x].map(weight), both);
        self.vector = if self.step == 1 {
            self.joined(chunks, &at)
        } else {
            p.fold(&cut_runs(&self.vector, at.len()), &at)
        };
        self.step += 1;
        // Whole blocks. Fewer elements than blocks are left to the last fold, so that its last block is free.
        // There is one even where nothing is multiplied.
        let n = self.vector.len().max(1).next_multiple_of(1 << self.variables());
        self.vector.resize(n, 0);
    }

    /// The vector after the first fold, as long as that of the prover that has most.
    fn joined(&self, chunks: &dyn Chunks<u64>, at: &[Weight]) -> Vec<u64> {
        let (c, field) = (&self.coefficients, self.field());
        let mut vector = vec![0; self.folds.elements];
        // Where what is left of each chunk begins.
        let mut end = 0;
        let mut start = |i| {
            let start = end;
            end += chunks.terms(i) * c.len(i);
            start
        };
        let starts: Vec<usize> = (0..c.chunks()).map(&mut start).collect();
        let to = Mutex::new(&mut vector);
        threads::workers(starts.len(), &|| (), &|(), i| {
            if chunks.terms(i) == 0 {
                return;
            }
            let chunk = chunks.make(i);
            let p = field.prime;
            let elements = if self.weighs { field.elements(c, i) } else { Vec::new() };
            let own = field.blocks(c, i, chunk.scale());
            let own: Vec<Weight> = own.iter().zip(at).map(|(a, b)| p.both(*a, *b)).collect();
            for (j, blocks) in chunk.runs(c.blocks.len()).iter().enumerate() {
                let mut v = p.fold(&blocks.runs(), if self.weighs { &own } else { at });
                if self.weighs {
                    p.weigh(&mut v, &elements);
                }
                let start = starts[i] + j * v.len();
                // Nothing is computed while this is held.
                let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
                to[start..start + v.len()].copy_from_slice(&v);
            }
        });
        vector
    }

    /// What is left of the vector, and of the sum, once all folds are done.
    pub fn end(&self) -> (u64, u64) {
        (self.vector.first().copied().unwrap_or(0), self.sum)
    }
}

/// The polynomial of the next fold, from the second point on, as the prover finds it.
pub fn polynomial(u: &Side, v: &Side, [a, b]: [&dyn Chunks<u64>; 2]) -> Vec<u64> {
    let new = || Grid::new(*u.prime(), u.variables());
    let mut sums = new();
    if u.step > 1 {
        let both = [u, v].map(|side| cut_runs(&side.vector, 1 << side.variables()));
        sums.add(&[both], None);
        return sums.elements().split_off(1);
    }
    let c = &u.coefficients;
    let parts = threads::workers(c.chunks(), &new, &|sums, i| {
        if a.terms(i) == 0 {
            return;
        }
        let chunks = [a, b].map(|chunks| chunks.make(i));
        let [a, b] = chunks.each_ref().map(|chunk| chunk.runs(c.blocks.len()));
        let field = u.field();
        let (blocks, elements) = (field.blocks(c, i, chunks[0].scale()), field.elements(c, i));
        let terms: Vec<_> = a.iter().zip(&b).map(|(a, b)| [a.runs(), b.runs()]).collect();
        sums.add(&terms, Some([&blocks, &elements]));
    });
    parts.iter().for_each(|some| sums.join(some));
    sums.elements().split_off(1)
}

/// What the verifier after the prover finds in the end, from its own side and what the other one sent.
pub fn accepts(p: &Prime, (v, s2): (u64, u64), (u, s1): (u64, u64)) -> bool {
    p.mul(u, v) == p.add(s1, s2)
}
