//! The folding: what the prover sends and what all three compute, for one kind of statements.

use super::algebra::{Algebra, Draw, inverses, lagrange, values};
use slvr_circuit::proof::Folds;
use std::borrow::Cow;
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

    /// The statements of several chunks, which have as many terms.
    pub fn joined(parts: Vec<Chunk<B>>) -> Chunk<B> {
        let mut parts = parts.into_iter();
        let Some(mut out) = parts.next() else { return Chunk::new(0, Vec::new(), None) };
        for part in parts {
            out.statements += part.statements;
            out.terms.iter_mut().zip(&part.terms).for_each(|(to, from)| to.extend(from));
            out.sum.iter_mut().zip(&part.sum).for_each(|(to, from)| to.extend(from));
        }
        out
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
    /// Where there are long inner products, 1 / delta with delta^2 = beta.
    roots: Vec<A::E>,
    /// Of the long inner products: how many elements a part of a block has, and the coefficient.
    dots: Vec<(usize, Vec<u64>)>,
    /// Of the parts of a block that are blocks of a second fold.
    slots: Vec<u64>,
    /// Of the elements of such a part, for each chunk.
    factors: Vec<Vec<u64>>,
}

impl<A: Algebra> Coefficients<A> {
    /// For chunks of so many elements, and long inner products of so many.
    pub fn draw(folds: &Folds, [counts, dots]: [&[usize]; 2], draw: &mut Draw) -> Arc<Self> {
        let mut beta = vec![A::one()];
        let mut roots = Vec::new();
        if dots.is_empty() {
            beta.extend((1..folds.base).map(|_| A::draw(draw)));
        } else {
            // A point that is not 0 is a unit.
            let delta = |b| if b == 0 { A::one() } else { A::draw_point(draw, 1) };
            let delta: Vec<A::E> = (0..folds.base).map(delta).collect();
            beta = delta.iter().map(|d| A::mul(d, d)).collect();
            roots = inverses::<A>(&delta);
        }
        let slots = A::slots(draw, folds.again);
        let of = |n: &usize| A::factors(draw, n.div_ceil(folds.cut()), folds.again);
        let factors = counts.iter().map(of).collect();
        let dots = dots.iter().map(|n| (n.div_ceil(folds.cut()), A::factors(draw, 1, 1)));
        let dots = dots.collect();
        Arc::new(Coefficients { beta, roots, dots, slots, factors })
    }

    /// Chunks, those of inner products counted.
    fn chunks(&self) -> usize {
        self.factors.len() + self.dots.len()
    }

    /// Whether a chunk is an inner product.
    fn is_dot(&self, chunk: usize) -> bool {
        chunk >= self.factors.len()
    }

    /// Those of the elements of a block, for a chunk.
    fn block(&self, chunk: usize) -> Cow<'_, [u64]> {
        let parts = self.slots.len() / A::COEFFICIENT;
        match self.factors.get(chunk) {
            Some(c) if parts == 1 => Cow::Borrowed(c),
            Some(c) => Cow::Owned(A::expand(&self.slots, c)),
            None => Cow::Owned(self.repeated(chunk, parts)),
        }
    }

    /// Those of the elements of a part of a block.
    fn part(&self, chunk: usize) -> Cow<'_, [u64]> {
        match self.factors.get(chunk) {
            Some(c) => Cow::Borrowed(c),
            None => Cow::Owned(self.repeated(chunk, 1)),
        }
    }

    /// The coefficient of an inner product, for each element of so many parts of a block.
    fn repeated(&self, chunk: usize, parts: usize) -> Vec<u64> {
        let (n, c) = &self.dots[chunk - self.factors.len()];
        c.iter().flat_map(|c| std::iter::repeat_n(*c, n * parts)).collect()
    }

    /// What blocks of inner products are multiplied by where other blocks are multiplied by these.
    fn rooted(&self, at: &[A::E]) -> Vec<A::E> {
        at.iter().zip(&self.roots).map(|(x, root)| A::mul(x, root)).collect()
    }
}

/// The chunk with a number. Chunks are made when they are read, because all of them are many times what the
/// parties hold.
pub type Chunks<'a, B> = &'a dyn Fn(usize) -> Chunk<B>;

/// What the first fold reads: the chunks, and the factors of blocks, of chunks that are no inner products and of those
/// that are.
type First<'a, A> = (Chunks<'a, <A as Algebra>::Base>, [&'a [<A as Algebra>::E]; 2]);

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
    /// What blocks were multiplied by in the first fold, where the second one reads words once more.
    first: Vec<A::E>,
    /// Folds so far.
    step: usize,
}

/// What a fold reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Words.
    First,
    /// The words once more, in parts of the blocks.
    Again,
    /// A vector.
    Later,
    /// A vector, which a random element joins.
    Last,
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
        // Of each block, over all chunks.
        let mut sums_of_blocks = vec![A::zero(); folds.base];
        for i in 0..coefficients.factors.len() {
            let Some(chunks) = sums else { break };
            let mut chunk = chunks(i);
            chunk.terms.clear();
            chunk.pad(folds.cut());
            let Some(words) = chunk.sum else { continue };
            let more = A::sum_base(&coefficients.block(i), &words, folds.base);
            sums_of_blocks.iter_mut().zip(&more).for_each(|(s, x)| *s = A::add(s, x));
        }
        let all = sums_of_blocks.iter().zip(&coefficients.beta);
        let mut sum = all.fold(A::zero(), |s, (x, beta)| A::add(&s, &A::mul(x, beta)));
        for (i, (_, c)) in (coefficients.factors.len()..).zip(&coefficients.dots) {
            let words = sums.and_then(|chunks| chunks(i).sum);
            if let Some(words) = words {
                sum = A::add(&sum, &A::sum_base(c, &words, 1)[0]);
            }
        }
        let folds = folds.clone();
        let (vector, first) = (A::zeros(0), Vec::new());
        let mut out =
            Side { folds, weighs, coefficients, extra, extra_sum, vector, sum, first, step: 0 };
        if !out.folds.first {
            out.join(None);
        }
        out
    }

    /// The vector after the folds that read words, filled up to what all later ones divide.
    fn join(&mut self, first: Option<First<'_, A>>) {
        let mut vector = A::zeros(self.folds.blocks.iter().product());
        let mut at = 0;
        let mut place = |x: &A::V| {
            A::place(&mut vector, at, x);
            at += A::len(x);
        };
        for i in 0..self.coefficients.chunks() {
            let Some((chunks, lagrange)) = first else { break };
            let lagrange = lagrange[usize::from(self.coefficients.is_dot(i))];
            let c = self.coefficients.part(i);
            let mut chunk = chunks(i);
            chunk.pad(self.folds.cut());
            for words in &chunk.terms {
                let v = A::fold_base(words, lagrange);
                place(&if self.weighs { A::weigh(v, &c) } else { v });
            }
        }
        place(&self.extra);
        self.vector = vector;
        self.sum = A::add(&self.sum, &self.extra_sum);
        self.extra = A::zeros(0);
    }

    /// The blocks of the next fold, and what it reads.
    fn next(&self) -> (usize, Stage) {
        match self.step.checked_sub(self.folds.firsts()) {
            None if self.step == 0 => (self.folds.base, Stage::First),
            None => (self.folds.again, Stage::Again),
            Some(i) if i + 1 == self.folds.blocks.len() => (self.folds.blocks[i], Stage::Last),
            Some(i) => (self.folds.blocks[i], Stage::Later),
        }
    }

    /// Whether all folds are done.
    pub fn is_done(&self) -> bool {
        self.step == self.folds.firsts() + self.folds.blocks.len()
    }

    /// Before the last fold: a random element.
    pub fn hide(&mut self, x: &A::E) {
        if self.next().1 == Stage::Last {
            self.vector = A::concat(&[&self.vector, &A::single(x)], 0);
        }
    }

    /// A verifier's share of the polynomial, at the points 0, 1, ..., from its shares at the points from 1 on.
    fn complete(&self, rest: Vec<A::E>) -> Vec<A::E> {
        let (blocks, stage) = self.next();
        let first = stage == Stage::First;
        let others = rest.iter().take(blocks - 1).enumerate();
        let known = others.fold(A::zero(), |s, (i, q)| {
            let term = if first { A::mul(q, &self.coefficients.beta[i + 1]) } else { *q };
            A::add(&s, &term)
        });
        std::iter::once(A::sub(&self.sum, &known)).chain(rest).collect()
    }

    /// Points from which the coin of the next fold is drawn on: those before hide nothing.
    pub fn nodes(&self) -> usize {
        let (blocks, stage) = self.next();
        blocks + usize::from(stage == Stage::Last)
    }

    /// Evaluates at a coin; a verifier also its share of the polynomial, from the point 1 on.
    pub fn fold(&mut self, coin: &A::E, share: Option<Vec<A::E>>, chunks: Chunks<'_, A::Base>) {
        let (_, stage) = self.next();
        let at = lagrange::<A>(self.nodes(), coin);
        if let Some(rest) = share {
            let q = self.complete(rest);
            let at = lagrange::<A>(q.len(), coin);
            self.sum = q.iter().zip(&at).fold(A::zero(), |s, (q, l)| A::add(&s, &A::mul(q, l)));
        }
        match stage {
            Stage::First if self.folds.again > 1 => self.first = at,
            Stage::First => {
                let dots = self.coefficients.rooted(&at);
                self.join(Some((chunks, [&at, &dots])));
            }
            Stage::Again => {
                let (both, dots) = self.both(&at);
                self.join(Some((chunks, [&both, &dots])));
            }
            Stage::Later | Stage::Last => self.vector = A::fold(&self.vector, &at),
        }
        self.step += 1;
    }

    /// What the parts of blocks are multiplied by in the two folds that read words, block by block; also those of inner
    /// products, whose coefficients do not differ from part to part.
    fn both(&self, second: &[A::E]) -> (Vec<A::E>, Vec<A::E>) {
        let slots = self.coefficients.slots.chunks(A::COEFFICIENT);
        let slotted: Vec<A::E> = second
            .iter()
            .zip(slots)
            .map(|(x, slot)| if self.weighs { A::mul(x, &A::slot(slot)) } else { *x })
            .collect();
        let all = |first: &[A::E], second: &[A::E]| -> Vec<A::E> {
            first.iter().flat_map(|x| second.iter().map(|y| A::mul(x, y))).collect()
        };
        let dots = self.coefficients.rooted(&self.first);
        (all(&self.first, &slotted), all(&dots, second))
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
    let nodes = u.nodes();
    let pairs = match u.next().1 {
        Stage::Later | Stage::Last => A::cross(&u.vector, &v.vector, nodes),
        Stage::First => first_pairs(u, chunks, nodes),
        Stage::Again => {
            let rooted = u.coefficients.rooted(&u.first);
            let mut pairs = A::pairs(nodes);
            each_term(u, chunks, &mut |is_dot, c, a, b| {
                let first = if is_dot { &rooted } else { &u.first };
                let a = A::weigh(A::fold_base(a, first), c);
                A::add_pairs(&mut pairs, &a, &A::fold_base(b, first));
            });
            A::paired(&pairs)
        }
    };
    values::<A>(&pairs, nodes)
}

/// What is done with a term of a chunk: whether it is of an inner product, the coefficients, and both vectors.
type Take<'a, A> = dyn FnMut(bool, &[u64], &[<A as Algebra>::Base], &[<A as Algebra>::Base]) + 'a;

/// For all terms, filled up to whole blocks.
fn each_term<A: Algebra>(u: &Side<A>, chunks: [Chunks<'_, A::Base>; 2], take: &mut Take<'_, A>) {
    for i in 0..u.coefficients.chunks() {
        let c = u.coefficients.block(i);
        let [mut a, mut b] = chunks.map(|chunks| chunks(i));
        a.pad(u.folds.cut());
        b.pad(u.folds.cut());
        for (a, b) in a.terms.iter().zip(&b.terms) {
            take(u.coefficients.is_dot(i), &c, a, b);
        }
    }
}

/// The products of all pairs of blocks in the first fold.
fn first_pairs<A: Algebra>(
    u: &Side<A>,
    chunks: [Chunks<'_, A::Base>; 2],
    nodes: usize,
) -> Vec<A::E> {
    let roots = &u.coefficients.roots;
    let mut sums = A::base_pairs(nodes);
    let mut dots = (!roots.is_empty()).then(|| A::base_pairs(nodes));
    each_term(u, chunks, &mut |is_dot, c, a, b| {
        let to = dots.as_mut().filter(|_| is_dot).unwrap_or(&mut sums);
        A::add_base_pairs(to, c, a, b);
    });
    let mut pairs = A::base_paired(&sums);
    // Each block of an inner product has 1 / delta in both vectors.
    let dots = dots.map(|dots| A::base_paired(&dots)).unwrap_or_default();
    let each = roots.iter().flat_map(|x| roots.iter().map(move |y| (x, y)));
    for ((to, x), (a, b)) in pairs.iter_mut().zip(&dots).zip(each) {
        if *x != A::zero() {
            *to = A::add(to, &A::mul(x, &A::mul(a, b)));
        }
    }
    pairs
}

/// What the verifier after the prover finds in the end, from its own side and what the other one sent.
pub fn accepts<A: Algebra>((v, s2): (A::E, A::E), (u, s1): (A::E, A::E)) -> bool {
    A::mul(&u, &v) == A::add(&s1, &s2)
}

#[cfg(test)]
mod tests;
