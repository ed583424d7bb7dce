//! Models trained through their graph: whatever the language can say.

use super::error::NetError;
use super::fill::slot;
use super::loss::{Strides, cross_entropy};
use super::outline::Outline;
use super::reverse::{Given, Tape};
use slvr_compiler::graph::build;
use slvr_compiler::source::Sources;
use slvr_compiler::types::layer::Layer;
use slvr_compiler::types::model::Model;
use slvr_compiler::types::{ExprKind, Program};
use std::ops::Range;
use std::sync::Arc;

/// A model as the graph of the program that it is trained with.
#[derive(Clone, Debug)]
pub(super) struct General {
    tape: Tape,
    /// By node, whether the way back reads its value.
    read_back: Vec<bool>,
    /// Running means and variances: an update leaves them alone.
    constant: Vec<Range<usize>>,
    pub(super) outline: Outline,
    /// Samples that the graph computes at a time.
    pub(super) batch: usize,
}

/// Which of the program's inputs are the weights.
const WEIGHTS: usize = 0;

/// Where the running means and variances of a model lie: by their layers, since a parameter of one's own may have any
/// name.
fn running(model: &Model) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    model.body.walk(&mut |e| {
        let ExprKind::Layer(Layer::BatchNorm { .. }, args) = &e.kind else { return };
        let [_, _weight, _bias, statistics @ ..] = args.as_slice() else { return };
        found.extend(statistics.iter().filter_map(|arg| match arg.kind {
            ExprKind::Var(var) => slot(model, model.params.get(*model.read.get(&var)?)?),
            _ => None,
        }));
    });
    found
}

impl General {
    pub(super) fn new(program: &Program, sources: &Sources) -> Result<General, NetError> {
        let odd = |what: &str| NetError::Program(what.to_string());
        let model = program.models.first().ok_or(NetError::NoModel)?;
        let graph = build::build(program, sources)
            .map_err(|d| odd(&d.first().map_or_else(String::new, |d| d.title.clone())))?;
        let [weights, image] = graph.inputs.as_slice() else {
            return Err(odd("it has other inputs than two"));
        };
        let Some((&batch, of)) = image.shape.split_first() else {
            return Err(odd("its images come in no batches"));
        };
        if weights.shape != [model.len] || of != model.input.as_slice() {
            return Err(odd("its inputs are not weights and images"));
        }
        let &[classes] = model.output.as_slice() else { return Err(NetError::Ends) };
        let whole = |o: &slvr_compiler::graph::Output| graph.shape(o.node) == [batch, classes];
        if graph.outputs.len() != 1 || !graph.outputs.iter().all(whole) {
            return Err(odd("it does not reveal the outputs of a batch, and nothing else"));
        }
        let constant = running(model);
        let tape = Tape::new(graph).map_err(|e| odd(&e.to_string()))?;
        let read_back = tape.read_back(tape.graph().outputs[0].node, WEIGHTS);
        let input = model.input.iter().map(|&d| d as usize).collect();
        let outline = Outline::new(model, input, classes as usize)?;
        Ok(General { tape, read_back, constant, outline, batch: batch as usize })
    }

    /// Calls `each(values of the graph, images in the batch, first image)` for every batch; the last one is filled with
    /// zeros. Beside the outputs the values of `keep` are there.
    fn batches(
        &self,
        weights: &[f32],
        images: &[f32],
        keep: impl Fn(usize) -> bool,
        mut each: impl FnMut(Vec<Option<Arc<Vec<f32>>>>, usize, usize),
    ) {
        let one = self.outline.input_len();
        let weights = Arc::new(weights.to_vec());
        for (at, part) in images.chunks(one * self.batch).enumerate() {
            let mut filled = part.to_vec();
            filled.resize(one * self.batch, 0.0);
            let inputs = [Arc::clone(&weights), Arc::new(filled)];
            let given = Given { inputs: &inputs, coin: &|_| Vec::new(), change: None };
            // Inputs are as long as declared, no value is too large, and models have no index that only a run knows.
            let values = self.tape.forward(&given, &keep).expect("a model has a value everywhere");
            each(values, part.len() / one, at * self.batch);
        }
    }

    fn logits_of<'v>(&self, values: &'v [Option<Arc<Vec<f32>>>]) -> &'v [f32] {
        let node = self.tape.graph().outputs[0].node;
        values[node.index()].as_ref().expect("an output is kept")
    }

    pub(super) fn logits(&self, weights: &[f32], images: &[f32]) -> Vec<f32> {
        let mut out = Vec::new();
        self.batches(
            weights,
            images,
            |_| false,
            |values, n, _| {
                out.extend_from_slice(&self.logits_of(&values)[..n * self.outline.classes]);
            },
        );
        out
    }

    pub(super) fn gradient(
        &self,
        weights: &[f32],
        (images, labels): (&[f32], &[u8]),
        count: usize,
        gradient: &mut [f32],
    ) -> f64 {
        let (mut loss, classes) = (0.0, self.outline.classes);
        let keep = |id: usize| self.read_back[id];
        self.batches(weights, images, keep, |values, n, first| {
            let labels = &labels[first..first + n];
            let z = (self.logits_of(&values), Strides { class: 1, image: classes });
            let mut seed = vec![0.0; self.batch * classes];
            loss += cross_entropy(z, labels, classes, count, &mut seed);
            let node = self.tape.graph().outputs[0].node;
            let mut all = self.tape.backward(&values, (node, seed), WEIGHTS);
            self.constant.iter().for_each(|range| all[range.clone()].fill(0.0));
            gradient.iter_mut().zip(all).for_each(|(g, a)| *g += a);
        });
        loss
    }
}
