//! A model ready to be trained: as a chain of layers where it is one, as a graph otherwise.

use super::chain::{self, Chain};
use super::data::Dataset;
use super::error::NetError;
use super::fill::Fill;
use super::general::General;
use super::outline::Outline;
use slvr_compiler::graph::eval::first_largest;
use slvr_compiler::source::Sources;
use slvr_compiler::types::Program;

/// The program that a model is trained with: give it to the compiler with `M` bound to the model and `b` to
/// [`BATCH`], then to [`Net::of`].
pub const PROGRAM: &str = "\
predicate Train[M: model, b]() {
    parties Server;

    input w:     public weights M;
    input image: public fix[b, ..M.shape];

    reveal [M(w, image[s]) for s in b] to Server as logits;
}
";

/// Samples that a graph computes at a time.
pub const BATCH: u64 = 16;

/// A model ready to be evaluated and differentiated.
#[derive(Clone, Debug)]
pub struct Net(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Chain(Chain),
    General(Box<General>),
}

/// Buffers of a pass, to be reused from batch to batch.
#[derive(Default)]
pub struct Workspace(chain::Workspace);

impl Net {
    /// The first model of a program. Unless it is a chain, the program is [`PROGRAM`].
    pub fn of(program: &Program, sources: &Sources) -> Result<Net, NetError> {
        match Chain::new(program) {
            Some(chain) => Ok(Net(Kind::Chain(chain))),
            None => Net::general(program, sources),
        }
    }

    /// The model of [`PROGRAM`] as a graph, also where it is a chain.
    pub fn general(program: &Program, sources: &Sources) -> Result<Net, NetError> {
        Ok(Net(Kind::General(Box::new(General::new(program, sources)?))))
    }

    /// Whether it is trained as a chain of layers.
    pub fn is_chain(&self) -> bool {
        matches!(self.0, Kind::Chain(_))
    }

    fn outline(&self) -> &Outline {
        match &self.0 {
            Kind::Chain(net) => &net.outline,
            Kind::General(net) => &net.outline,
        }
    }

    pub fn weights(&self) -> usize {
        self.outline().weights
    }

    pub fn classes(&self) -> usize {
        self.outline().classes
    }

    pub fn input(&self) -> &[usize] {
        &self.outline().input
    }

    /// Number of values in one input.
    pub fn input_len(&self) -> usize {
        self.outline().input_len()
    }

    /// Samples to compute at a time on one thread.
    pub fn piece(&self) -> usize {
        match &self.0 {
            Kind::Chain(net) => net.piece(),
            Kind::General(net) => net.batch,
        }
    }

    /// Whether these are samples of this model: their shape, at least one, every label a class.
    pub fn check(&self, data: &Dataset) -> Result<(), NetError> {
        if data.shape() != self.input() {
            let found = data.shape().to_vec();
            return Err(NetError::Shape { found, expected: self.input().to_vec() });
        }
        if data.is_empty() {
            return Err(NetError::Empty);
        }
        let classes = self.classes();
        match data.labels().iter().find(|&&label| usize::from(label) >= classes) {
            Some(&found) => Err(NetError::Label { found, classes }),
            None => Ok(()),
        }
    }

    /// Initial weights (see [`super::fill::Fill`]).
    pub fn init(&self, seed: u64) -> Vec<f32> {
        Fill::all(&self.outline().fills, self.weights(), seed)
    }

    /// The outputs of a batch, one row of [`Self::classes`] entries per image.
    ///
    /// # Panics
    /// If `weights` is not of [`Self::weights`] entries or `images` not of whole images.
    pub fn logits(&self, weights: &[f32], images: &[f32], space: &mut Workspace) -> Vec<f32> {
        self.assert_whole(weights, images);
        match &self.0 {
            Kind::Chain(net) => net.logits(weights, images, &mut space.0),
            Kind::General(net) => net.logits(weights, images),
        }
    }

    fn assert_whole(&self, weights: &[f32], images: &[f32]) {
        assert_eq!(weights.len(), self.weights(), "length of the weight vector");
        assert_eq!(images.len() % self.input_len(), 0, "whole images");
    }

    /// The class of each image of a batch: the largest output, the first of equal ones.
    ///
    /// # Panics
    /// As [`Self::logits`].
    pub fn predict(&self, weights: &[f32], images: &[f32], space: &mut Workspace) -> Vec<usize> {
        let logits = self.logits(weights, images, space);
        logits.chunks_exact(self.classes()).map(first_largest).collect()
    }

    /// Adds to `gradient` the gradient of the sum, over the batch, of softmax cross-entropy, both
    /// divided by `count`; returns that sum divided by `count`. With `count` the batch's length
    /// this is the mean loss; a batch in pieces passes the whole one's length for each.
    ///
    /// # Panics
    /// As [`Self::logits`], and if there is not one label below [`Self::classes`] per image, or
    /// `gradient` is not as long as `weights`.
    pub fn gradient(
        &self,
        weights: &[f32],
        batch: (&[f32], &[u8]),
        count: usize,
        gradient: &mut [f32],
        space: &mut Workspace,
    ) -> f64 {
        self.assert_whole(weights, batch.0);
        let lengths = (batch.0.len() / self.input_len(), weights.len());
        assert_eq!((batch.1.len(), gradient.len()), lengths, "labels or gradient length");
        match &self.0 {
            Kind::Chain(net) => net.gradient(weights, batch, count, gradient, &mut space.0),
            Kind::General(net) => net.gradient(weights, batch, count, gradient),
        }
    }
}
