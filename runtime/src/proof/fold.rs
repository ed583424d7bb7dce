//! The folding: what the prover sends and what all three compute, for one kind of statements.

use super::algebra::{Algebra, Draw, lagrange};
use slvr_circuit::proof::Folds;
use std::sync::Arc;

/// Statements of one instruction, sum over terms u v = s1 + s2 each, as one of the three sees them. Cut into blocks of
/// n elements, statement b n + t is element t of block b. For bits an element is a word of 64 statements.
#[derive(Clone)]
pub struct Chunk<B = u64> {
    statements: usize,
    /// Of each term all u or all v.
    terms: Vec<Vec<B>>,
    /// s1 or s2; nothing at the prover.
    sum: Option<Vec<B>>,
}

impl<B: Copy + Default> Chunk<B> {
    /// From vectors of one length, one value for each statement. A prover has no sum.
    pub fn new(statements: usize, terms: Vec<Vec<B>>, sum: Option<Vec<B>>) -> Chunk<B> {
        Chunk { statements, terms, sum }
    }

    /// Zeros up to blocks of one length.
    fn pad(&mut self, blocks: usize) {
        let n = self.statements.next_multiple_of(blocks);
        self.terms.iter_mut().chain(&mut self.sum).for_each(|x| x.resize(n, B::default()));
    }
}

/// The coefficients of statements, which all three draw in the same order.
pub struct Coefficients<A: Algebra> {
    /// Of the blocks.
    beta: Vec<A::E>,
    /// Of the elements of a block, for each chunk.
    factors: Vec<Vec<u64>>,
}

impl<A: Algebra> Coefficients<A> {
    /// For chunks of so many elements.
    pub fn draw(folds: &Folds, counts: &[usize], draw: &mut Draw) -> Arc<Self> {
        let mut beta = vec![A::one()];
        beta.extend((1..folds.base).map(|_| A::draw(draw)));
        let factors =
            counts.iter().map(|n| draw.words(A::COEFFICIENT * n.div_ceil(folds.base))).collect();
        Arc::new(Coefficients { beta, factors })
    }
}

/// The chunk with a number. Chunks are made when they are read, because all of them are many times what the
/// parties hold.
pub type Chunks<'a, B> = &'a dyn Fn(usize) -> Chunk<B>;

/// What the first fold reads: the chunks, and the factors of blocks.
type First<'a, A> = (Chunks<'a, <A as Algebra>::Base>, &'a [<A as Algebra>::E]);

/// One vector of the inner product, with a share of the sum if it is a verifier's.
pub struct Side<A: Algebra> {
    folds: Folds,
    /// Whether it takes the coefficients: u does, v does not.
    weighs: bool,
    coefficients: Arc<Coefficients<A>>,
    /// What joins the vector, and the sum, after the first fold.
    extra: A::V,
    extra_sum: A::E,
    vector: A::V,
    sum: A::E,
    /// Folds so far.
    step: usize,
}

impl<A: Algebra> Side<A> {
    /// Before the first message of the prover. A verifier gives the chunks for their sums.
    pub fn new(
        folds: &Folds,
        sums: Option<Chunks<'_, A::Base>>,
        (extra, extra_sum): (A::V, A::E),
        weighs: bool,
        coefficients: Arc<Coefficients<A>>,
    ) -> Self {
        let mut sum = A::zero();
        for (i, c) in coefficients.factors.iter().enumerate() {
            let Some(chunks) = sums else { break };
            let mut chunk = chunks(i);
            chunk.terms.clear();
            chunk.pad(folds.base);
            let Some(words) = chunk.sum else { continue };
            for (x, beta) in A::sum_base(c, &words, folds.base).iter().zip(&coefficients.beta) {
                sum = A::add(&sum, &A::mul(x, beta));
            }
        }
        let folds = folds.clone();
        let vector = A::zeros(0);
        let mut out = Side { folds, weighs, coefficients, extra, extra_sum, vector, sum, step: 0 };
        if !out.folds.first {
            out.join(None);
        }
        out
    }

    /// The vector after the first fold, filled up to what all later ones divide.
    fn join(&mut self, first: Option<First<'_, A>>) {
        let mut vector = A::zeros(self.folds.blocks.iter().product());
        let mut at = 0;
        let mut place = |x: &A::V| {
            A::place(&mut vector, at, x);
            at += A::len(x);
        };
        for (i, c) in self.coefficients.factors.iter().enumerate() {
            let Some((chunks, lagrange)) = first else { break };
            let mut chunk = chunks(i);
            chunk.pad(self.folds.base);
            for words in &chunk.terms {
                let v = A::fold_base(words, lagrange);
                place(&if self.weighs { A::weigh(v, c) } else { v });
            }
        }
        place(&self.extra);
        self.vector = vector;
        self.sum = A::add(&self.sum, &self.extra_sum);
        self.extra = A::zeros(0);
    }

    /// The blocks of the next fold, and whether it is the first, or the last.
    fn next(&self) -> (usize, bool, bool) {
        match self.step.checked_sub(usize::from(self.folds.first)) {
            None => (self.folds.base, true, false),
            Some(i) => (self.folds.blocks[i], false, i + 1 == self.folds.blocks.len()),
        }
    }

    /// Whether all folds are done.
    pub fn is_done(&self) -> bool {
        self.step == usize::from(self.folds.first) + self.folds.blocks.len()
    }

    /// Before the last fold: a random element.
    pub fn hide(&mut self, x: &A::E) {
        if self.next().2 {
            self.vector = A::concat(&[&self.vector, &A::single(x)], 0);
        }
    }

    /// A verifier's share of the polynomial, at the points 0, 1, ..., from its shares at the points from 1 on.
    fn complete(&self, rest: Vec<A::E>) -> Vec<A::E> {
        let (blocks, first, _) = self.next();
        let others = rest.iter().take(blocks - 1).enumerate();
        let known = others.fold(A::zero(), |s, (i, q)| {
            let term = if first { A::mul(q, &self.coefficients.beta[i + 1]) } else { *q };
            A::add(&s, &term)
        });
        std::iter::once(A::sub(&self.sum, &known)).chain(rest).collect()
    }

    /// Points from which the coin of the next fold is drawn on: those before hide nothing.
    pub fn nodes(&self) -> usize {
        let (blocks, _, last) = self.next();
        blocks + usize::from(last)
    }

    /// Evaluates at a coin; a verifier also its share of the polynomial, from the point 1 on.
    pub fn fold(&mut self, coin: &A::E, share: Option<Vec<A::E>>, chunks: Chunks<'_, A::Base>) {
        let (_, first, _) = self.next();
        let at = lagrange::<A>(self.nodes(), coin);
        if let Some(rest) = share {
            let q = self.complete(rest);
            let at = lagrange::<A>(q.len(), coin);
            self.sum = q.iter().zip(&at).fold(A::zero(), |s, (q, l)| A::add(&s, &A::mul(q, l)));
        }
        if first {
            self.join(Some((chunks, &at)));
        } else {
            self.vector = A::fold(&self.vector, &at);
        }
        self.step += 1;
    }

    /// What is left of the vector, and of the sum, once all folds are done.
    pub fn end(&self) -> (A::E, A::E) {
        (A::at(&self.vector, 0), self.sum)
    }
}

/// The polynomial of the next fold, from the point 1 on, as the prover finds it.
pub fn polynomial<A: Algebra>(
    u: &Side<A>,
    v: &Side<A>,
    chunks: [Chunks<'_, A::Base>; 2],
) -> Vec<A::E> {
    let (_, first, _) = u.next();
    let nodes = u.nodes();
    let mut pairs = vec![A::zero(); nodes * nodes];
    if first {
        for (i, c) in u.coefficients.factors.iter().enumerate() {
            let [mut a, mut b] = chunks.map(|chunks| chunks(i));
            a.pad(nodes);
            b.pad(nodes);
            for (a, b) in a.terms.iter().zip(&b.terms) {
                let more = A::cross_base(c, a, b, nodes);
                pairs.iter_mut().zip(&more).for_each(|(s, x)| *s = A::add(s, x));
            }
        }
    } else {
        pairs = A::cross(&u.vector, &v.vector, nodes);
    }
    // Row by row. Of words and bits, what belongs to two different blocks stands at the smaller one.
    let rows: Vec<A::V> = pairs.iter().map(A::single).collect();
    let rows = A::concat(&rows.iter().collect::<Vec<_>>(), 0);
    let value = |i: usize| {
        if i < nodes {
            return pairs[i * nodes + i];
        }
        let at = lagrange::<A>(nodes, &A::point(i as u64));
        A::at(&A::fold(&A::fold(&rows, &at), &at), 0)
    };
    (1..2 * nodes - 1).map(value).collect()
}

/// What the verifier after the prover finds in the end, from its own side and what the other one sent.
pub fn accepts<A: Algebra>((v, s2): (A::E, A::E), (u, s1): (A::E, A::E)) -> bool {
    A::mul(&u, &v) == A::add(&s1, &s2)
}

#[cfg(test)]
mod tests;
