//! The folding: what the prover sends and what all three compute, for one kind of statements.

use super::algebra::{Algebra, Draw, grid_weights, lagrange, values, weights};
use super::chunk::{Blocks, Chunks};
use super::coefficients::Coefficients;
use slvr_circuit::proof::Folds;
use slvr_ring::threads;
use std::sync::{Arc, Mutex, PoisonError};

/// Draws the coefficients of statements: of chunks of so many elements. Long inner products are among lifted statements
/// only.
pub fn coefficients<A: Algebra>(
    folds: &Folds,
    counts: &[usize],
    draw: &mut Draw,
) -> Arc<Coefficients<A::E>> {
    Coefficients::draw(folds, [counts, &[]], draw, (A::one(), A::draw), u64::MAX)
}

/// A verifier's share of the sum over all statements.
fn sum<A: Algebra>(c: &Coefficients<A::E>, chunks: &dyn Chunks<A::Base>) -> A::E {
    let cut = c.blocks.len();
    // Of each block.
    let new = || vec![A::zero(); cut];
    let sums = threads::workers(c.chunks(), &new, &|blocks, i| {
        let Some(words) = chunks.make(i).into_sum_of(cut) else { return };
        let more = A::sum_base(&c.elements[i], &words, cut);
        blocks.iter_mut().zip(&more).for_each(|(s, x)| *s = A::add(s, x));
    });
    let worker = |sum: A::E, blocks: &Vec<A::E>| {
        blocks.iter().zip(&c.blocks).fold(sum, |s, (x, beta)| A::add(&s, &A::mul(x, beta)))
    };
    sums.iter().fold(A::zero(), worker)
}

/// What the first fold reads: the chunks, and the weights of blocks.
type First<'a, A> = (&'a dyn Chunks<<A as Algebra>::Base>, &'a [<A as Algebra>::E]);

/// One vector of the inner product, with a share of the sum if it is a verifier's.
pub struct Side<A: Algebra> {
    folds: Folds,
    /// Whether it takes the coefficients: u does, v does not.
    weighs: bool,
    coefficients: Arc<Coefficients<A::E>>,
    /// What joins the vector, and the sum, after the first fold.
    extra: A::V,
    extra_sum: A::E,
    vector: A::V,
    sum: A::E,
    /// Folds so far.
    step: usize,
}

/// What a fold reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Words.
    First,
    /// A vector.
    Later,
    /// A vector, which a random element joins.
    Last,
}

impl<A: Algebra> Side<A> {
    /// Before the first message of the prover. A verifier gives the chunks for their sums.
    pub fn new(
        folds: &Folds,
        sums: Option<&dyn Chunks<A::Base>>,
        (extra, extra_sum): (A::V, A::E),
        weighs: bool,
        coefficients: Arc<Coefficients<A::E>>,
    ) -> Self {
        let sum = sums.map_or(A::zero(), |chunks| self::sum::<A>(&coefficients, chunks));
        let folds = folds.clone();
        let vector = A::zeros(0);
        let mut out = Side { folds, weighs, coefficients, extra, extra_sum, vector, sum, step: 0 };
        if out.folds.before() == 0 {
            out.join(None);
        }
        out
    }

    /// The vector after the fold that reads words, filled up to what all later ones divide.
    fn join(&mut self, first: Option<First<'_, A>>) {
        let mut vector = A::zeros(self.folds.blocks.iter().product());
        let mut end = 0;
        if let Some((chunks, weights)) = first {
            let c = &self.coefficients;
            // Where what is left of each chunk begins.
            let starts: Vec<usize> = (0..c.chunks())
                .map(|i| {
                    let start = end;
                    end += chunks.terms(i) * c.len(i) * A::SPREAD;
                    start
                })
                .collect();
            let to = Mutex::new(&mut vector);
            threads::workers(starts.len(), &|| (), &|(), i| {
                if chunks.terms(i) == 0 {
                    return;
                }
                let mut at = starts[i];
                self.folded(i, chunks, weights, &mut |v| {
                    // Nothing is computed while this is held.
                    A::place(&mut to.lock().unwrap_or_else(PoisonError::into_inner), at, v);
                    at += A::len(v);
                });
            });
        }
        A::place(&mut vector, end, &self.extra);
        self.vector = vector;
        self.sum = A::add(&self.sum, &self.extra_sum);
        self.extra = A::zeros(0);
    }

    /// What is left of each term of a chunk, in their order.
    fn folded(
        &self,
        i: usize,
        chunks: &dyn Chunks<A::Base>,
        weights: &[A::E],
        place: &mut dyn FnMut(&A::V),
    ) {
        let chunk = chunks.make(i);
        let terms = chunk.blocks(self.folds.cut());
        let c = &self.coefficients.elements[i];
        for words in terms.iter().map(Blocks::words) {
            let v = A::fold_base(&words, weights);
            place(&if self.weighs { A::weigh(v, c) } else { v });
        }
    }

    /// What the next fold reads.
    fn stage(&self) -> Stage {
        match self.step.checked_sub(self.folds.before()) {
            None => Stage::First,
            Some(i) if i + 1 == self.folds.blocks.len() => Stage::Last,
            Some(_) => Stage::Later,
        }
    }

    /// Blocks of a later fold.
    fn blocks(&self) -> usize {
        let later = self.step.checked_sub(self.folds.before());
        later.and_then(|i| self.folds.blocks.get(i)).copied().unwrap_or(0)
    }

    /// Its points, from which on coins are drawn, because those before hide nothing: one for each block.
    fn nodes(&self) -> usize {
        self.blocks() + usize::from(self.stage() == Stage::Last)
    }

    /// Whether all folds are done.
    pub fn is_done(&self) -> bool {
        self.step == self.folds.steps()
    }

    /// Elements of the prover's message of the next fold.
    pub fn sent(&self) -> usize {
        self.folds.sent(self.step)
    }

    /// Before the last fold: a random element.
    pub fn hide(&mut self, x: &A::E) {
        if self.stage() == Stage::Last {
            self.vector = A::concat(&[&self.vector, &A::single(x)], 0);
        }
    }

    /// A verifier's share of the polynomial at all points, from its shares at all but the first one.
    fn complete(&self, rest: Vec<A::E>) -> Vec<A::E> {
        let sum = |s: A::E, x: &A::E| A::add(&s, x);
        let known = match self.stage() {
            Stage::First => {
                let corners = self.folds.corners();
                let beta = corners.iter().zip(&self.coefficients.blocks).skip(1);
                beta.fold(A::zero(), |s, (i, b)| A::add(&s, &A::mul(b, &rest[*i - 1])))
            }
            // The random block of the last fold does not count.
            _ => rest.iter().take(self.blocks() - 1).fold(A::zero(), sum),
        };
        std::iter::once(A::sub(&self.sum, &known)).chain(rest).collect()
    }

    /// The coin of the next fold: of the first one a point for each variable.
    pub fn coin(&self, draw: &mut Draw) -> Vec<A::E> {
        match self.stage() {
            Stage::First => (0..self.folds.variables).map(|_| A::draw_point(draw, 0)).collect(),
            _ => vec![A::draw_point(draw, self.nodes())],
        }
    }

    /// Evaluates at a coin; a verifier also its share of the polynomial, from the second point on.
    pub fn fold(&mut self, coin: &[A::E], share: Option<Vec<A::E>>, chunks: &dyn Chunks<A::Base>) {
        let stage = self.stage();
        let q = share.map(|rest| self.complete(rest));
        let value = |q: &[A::E], at: &[A::E]| {
            q.iter().zip(at).fold(A::zero(), |s, (q, l)| A::add(&s, &A::mul(q, l)))
        };
        match (stage, coin) {
            (Stage::First, x) => {
                if let Some(q) = q {
                    self.sum = value(&q, &grid_weights::<A>(x));
                }
                self.join(Some((chunks, &weights::<A>(x))));
            }
            (Stage::Later | Stage::Last, [x]) => {
                if let Some(q) = q {
                    self.sum = value(&q, &lagrange::<A>(q.len(), x));
                }
                self.vector = A::fold(&self.vector, &lagrange::<A>(self.nodes(), x));
            }
            _ => unreachable!("`coin` draws as many points"),
        }
        self.step += 1;
    }

    /// What is left of the vector, and of the sum, once all folds are done.
    pub fn end(&self) -> (A::E, A::E) {
        (A::at(&self.vector, 0), self.sum)
    }
}

/// The polynomial of the next fold, from the second point on, as the prover finds it.
pub fn polynomial<A: Algebra>(
    u: &Side<A>,
    v: &Side<A>,
    chunks: [&dyn Chunks<A::Base>; 2],
) -> Vec<A::E> {
    if u.stage() != Stage::First {
        let nodes = u.nodes();
        return values::<A>(&A::cross(&u.vector, &v.vector, nodes), nodes);
    }
    let new = || A::grid(u.folds.variables);
    let parts = threads::workers(u.coefficients.chunks(), &new, &|sums, i| {
        if chunks[0].terms(i) == 0 {
            return;
        }
        let chunks = chunks.map(|chunks| chunks.make(i));
        let [a, b] = chunks.each_ref().map(|chunk| chunk.blocks(u.folds.cut()));
        let [a, b] = [&a, &b].map(|x| x.iter().map(Blocks::words).collect::<Vec<_>>());
        let terms: Vec<_> = a.iter().zip(&b).map(|(a, b)| [a.as_slice(), b.as_slice()]).collect();
        A::add_grid(sums, &u.coefficients.elements[i], &terms);
    });
    let mut sums = new();
    parts.iter().for_each(|some| A::join_grids(&mut sums, some));
    A::on_grid(&sums).into_iter().skip(1).collect()
}

/// What the verifier after the prover finds in the end, from its own side and what the other one sent.
pub fn accepts<A: Algebra>((v, s2): (A::E, A::E), (u, s1): (A::E, A::E)) -> bool {
    A::mul(&u, &v) == A::add(&s1, &s2)
}

#[cfg(test)]
mod tests;
