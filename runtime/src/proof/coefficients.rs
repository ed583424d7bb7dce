//! The coefficients of statements, which all three parties draw in the same order.

use super::algebra::Draw;
use slvr_circuit::proof::Folds;
use std::sync::Arc;

/// The coefficients of a kind of statements; those of its blocks are elements B.
pub struct Coefficients<B> {
    /// Of the blocks, but for inner products.
    pub(super) blocks: Vec<B>,
    /// Of the elements of a block, for each chunk.
    pub(super) elements: Vec<Vec<u64>>,
    /// Of the long inner products: how many elements a block has, and the coefficient of all of them.
    pub(super) dots: Vec<(usize, u64)>,
}

impl<B: Copy> Coefficients<B> {
    /// For chunks of so many elements, and long inner products of so many. The first block has `one`, and `block` draws
    /// those of others; all others are words with the bits of `mask`.
    pub(super) fn draw(
        folds: &Folds,
        [counts, dots]: [&[usize]; 2],
        draw: &mut Draw,
        (one, block): (B, impl Fn(&mut Draw) -> B),
        mask: u64,
    ) -> Arc<Self> {
        let blocks = (0..folds.cut()).map(|b| if b == 0 { one } else { block(draw) }).collect();
        let length = |n: &usize| n.div_ceil(folds.cut());
        let of = |n: &usize| {
            let mut words = draw.words(length(n));
            words.iter_mut().for_each(|x| *x &= mask);
            words
        };
        let elements = counts.iter().map(of).collect();
        let dots = dots.iter().map(|n| (length(n), draw.word() & mask)).collect();
        Arc::new(Coefficients { blocks, elements, dots })
    }

    /// Chunks, those of inner products counted.
    pub(super) fn chunks(&self) -> usize {
        self.elements.len() + self.dots.len()
    }

    /// The number of an inner product, if the chunk is one.
    pub(super) fn dot(&self, chunk: usize) -> Option<usize> {
        chunk.checked_sub(self.elements.len())
    }

    /// Elements of a block of a chunk.
    pub(super) fn len(&self, chunk: usize) -> usize {
        match self.dot(chunk) {
            None => self.elements[chunk].len(),
            Some(dot) => self.dots[dot].0,
        }
    }
}
