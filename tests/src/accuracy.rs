//! How near exact evaluation comes to floating point: a predicate that classifies images with secret
//! weights, its evaluations side by side, and weights and images for it.
//!
//! Lives here: what `tests/end_to_end/accuracy.rs` (small) and `benches/accuracy.rs` (the claims) share.

use crate::{Case, Random, compile, data_dir};
use slvr_compiler::analysis::{errors, guard, ranges::Ranges};
use slvr_compiler::cost::places;
use slvr_compiler::report::certificate::{Certificate, RevealRow};
use slvr_compiler::types::model::Model;
use slvr_runtime::party::session::Report;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_simulation::data::Dataset;
use slvr_simulation::idx;
use slvr_simulation::net::{Net, Workspace};
use std::collections::BTreeMap;

/// Weights of a model are in -8..8 in every predicate of the library, pixels in 0..1.
const CLASSIFY: &str = "
use std::argmax;

predicate Classify[M: model, b]() {
    parties Owner;
    parties Server;

    input net:   secret weights M in -8..8        from Owner;
    input image: secret fix[b, ..M.shape] in 0..1 from Owner;

    let z = [M(net, image[s]) for s in b];
    reveal z to Server as logits;
    reveal [argmax(z[s]) for s in b] to Server as label;
}
";

/// The declared bound of a weight's absolute value.
pub const WEIGHT_BOUND: f32 = 8.0;

/// What an evaluation says of a batch of images.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// One row of a logit for each class per image.
    pub logits: Vec<f64>,
    /// The class of each image.
    pub labels: Vec<usize>,
}

impl Answer {
    /// The revealed tensors of a run, in the order of the program's reveals.
    fn of(outputs: Vec<Vec<f64>>) -> Answer {
        let mut outputs = outputs.into_iter();
        let logits = outputs.next().expect("logits are revealed");
        let labels = outputs.next().expect("labels are revealed");
        Answer { logits, labels: labels.into_iter().map(|l| l as usize).collect() }
    }

    /// Appends the answers of another batch.
    pub fn extend(&mut self, more: Answer) {
        self.logits.extend(more.logits);
        self.labels.extend(more.labels);
    }

    /// Which images have another label.
    ///
    /// # Panics
    /// If the answers are of different numbers of images.
    pub fn differ(&self, other: &Answer) -> Vec<usize> {
        assert_eq!(self.labels.len(), other.labels.len(), "as many images");
        (0..self.labels.len()).filter(|&i| self.labels[i] != other.labels[i]).collect()
    }

    /// The largest absolute difference of any logit.
    ///
    /// # Panics
    /// If the answers are of different numbers of logits.
    pub fn distance(&self, other: &Answer) -> f64 {
        assert_eq!(self.logits.len(), other.logits.len(), "as many logits");
        // Not f64::max, which forgets a NaN.
        let gaps = self.logits.iter().zip(&other.logits).map(|(a, b)| (a - b).abs());
        gaps.fold(0.0, |most, gap| if gap <= most { most } else { gap })
    }

    /// Root of the mean square difference of the logits.
    ///
    /// # Panics
    /// If the answers are of different numbers of logits.
    pub fn mean_distance(&self, other: &Answer) -> f64 {
        assert_eq!(self.logits.len(), other.logits.len(), "as many logits");
        let squares = self.logits.iter().zip(&other.logits).map(|(a, b)| (a - b).powi(2));
        (squares.sum::<f64>() / self.logits.len() as f64).sqrt()
    }

    /// The largest absolute value of any logit.
    pub fn largest(&self) -> f64 {
        self.logits.iter().fold(0.0, |most, z| z.abs().max(most))
    }

    /// By how much the largest logit of image `i` exceeds the second largest.
    ///
    /// # Panics
    /// If there is no such image, or only one class.
    pub fn lead(&self, i: usize) -> f64 {
        let classes = self.logits.len() / self.labels.len();
        let mut row = self.logits[i * classes..][..classes].to_vec();
        row.sort_by(|a, b| b.total_cmp(a));
        row[0] - row[1]
    }
}

/// A model compiled for batches of b images, weights and images secret.
pub struct Classifier {
    /// The compiled predicate.
    pub case: Case,
    /// The same model in single precision, for training.
    pub net: Net,
    /// b.
    pub batch: usize,
}

impl Classifier {
    /// Compiles a model of the library.
    ///
    /// # Panics
    /// If there is no such model, or it cannot be trained.
    pub fn new(model: &str, batch: usize) -> Classifier {
        let case = compile(CLASSIFY, &[("M", model), ("b", &batch.to_string())]);
        let net = Net::of(&case.program, &case.sources).expect("a model for training");
        Classifier { case, net, batch }
    }

    pub fn model(&self) -> &Model {
        &self.case.program.models[0]
    }

    fn inputs(&self, weights: &[f32], images: &[f32]) -> Inputs {
        assert!(weights.iter().all(|w| w.abs() <= WEIGHT_BOUND), "weights are in -8..8");
        let given = |input: &slvr_circuit::Input| {
            let data = if input.name == "net" { weights } else { images };
            let data = RawData::F64(data.iter().copied().map(f64::from).collect());
            (input.name.clone(), RawTensor { shape: input.shape.clone(), data })
        };
        let owner: BTreeMap<_, _> = self.case.circuit().inputs.iter().map(given).collect();
        Inputs { public: BTreeMap::new(), sets: vec![vec![owner], vec![]] }
    }

    /// The circuit's own ring arithmetic, without parties, on whole batches.
    ///
    /// # Panics
    /// If the images are not whole batches, or do not fit the program.
    pub fn exact(&self, weights: &[f32], images: &[f32], seed: u64) -> Answer {
        self.batches(images, |images| {
            self.case.circuit_clear(&self.inputs(weights, images), &[], seed)
        })
    }

    /// Three parties, on one batch.
    ///
    /// # Panics
    /// As [`Self::exact`], and if the run is aborted.
    pub fn parties(&self, weights: &[f32], images: &[f32], seed: u64) -> (Answer, Report) {
        let report = self.case.parties(&self.inputs(weights, images), seed);
        let outputs = report.outputs.iter().map(|o| o.values.clone()).collect();
        (Answer::of(outputs), report)
    }

    /// The program in double precision, on whole batches.
    ///
    /// # Panics
    /// As [`Self::exact`].
    pub fn double(&self, weights: &[f32], images: &[f32]) -> Answer {
        let graph = &self.case.compiled.graph;
        self.batches(images, |images| {
            self.case.graph_real(graph, &self.inputs(weights, images), &[])
        })
    }

    /// The trainer's own arithmetic, single precision.
    pub fn single(&self, weights: &[f32], images: &[f32]) -> Answer {
        let mut answer = Answer::default();
        let mut space = Workspace::default();
        for piece in images.chunks(self.net.piece() * self.net.input_len()) {
            let logits = self.net.logits(weights, piece, &mut space);
            answer.logits.extend(logits.into_iter().map(f64::from));
            answer.labels.extend(self.net.predict(weights, piece, &mut space));
        }
        answer
    }

    fn batches(&self, images: &[f32], run: impl Fn(&[f32]) -> Vec<Vec<f64>>) -> Answer {
        let mut answer = Answer::default();
        for batch in images.chunks(self.batch * self.net.input_len()) {
            answer.extend(Answer::of(run(batch)));
        }
        answer
    }

    /// What the certificate says of the logits, and where activations saturate, if they do.
    pub fn certified(&self) -> (RevealRow, Option<f64>) {
        let Case { program, compiled, sources, .. } = &self.case;
        let mut known = Certificate::of(compiled, &places(program, &compiled.optimised, sources));
        (known.error.swap_remove(0), known.saturates_at)
    }

    /// Proven error of the logits for all weights that are no larger than these, before they are rounded, by the
    /// certificate's rules: declared ranges have to hold for every model, these weights are one.
    pub fn certified_for(&self, weights: &[f32]) -> f64 {
        let compiled = &self.case.compiled;
        let graph = &compiled.optimised;
        let largest = f64::from(weights.iter().fold(0.0f32, |m, w| m.max(w.abs())));
        let mut bounds = guard::bounds(graph, &compiled.guards);
        for (bound, input) in bounds.iter_mut().zip(&graph.inputs) {
            if input.name == "net" {
                let unit = f64::from(graph.input_frac(input)).exp2();
                bound.range = (-largest * unit - 1.0, largest * unit + 1.0);
            }
        }
        let given = errors::input_errors(graph, &compiled.guards);
        let raw = Ranges::of(graph, &bounds, &compiled.stated).raw;
        errors::errors(graph, &raw, &given, &compiled.stated).output(graph, 0)
    }
}

/// Weights as networks have them: those of a layer with n inputs have variance 2 / n (He et al.,
/// 2015), and statistics of a batch norm are about those of normalised activations.
pub fn he_weights(model: &Model, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut all = Vec::with_capacity(model.len as usize);
    for param in &model.params {
        let n: u64 = param.shape.iter().product();
        let last = param.name.rsplit('.').next().unwrap_or("");
        let (lo, hi) = match (last, param.shape.as_slice()) {
            ("running_var", _) => (0.5, 2.0),
            ("running_mean", _) => (-0.3, 0.3),
            // The scale of a batch norm: residual sums of many blocks do not grow, as after training.
            ("weight", [_]) => (0.2, 0.7),
            ("weight", shape) => {
                let inputs: u64 = shape.iter().skip(1).product();
                let a = (6.0 / inputs as f64).sqrt();
                (-a, a)
            }
            _ => (-0.2, 0.2),
        };
        all.extend((0..n).map(|_| random.between(lo, hi)));
    }
    all
}

/// Images of [`data_dir`], pixels in [0, 1], with labels: the pair of files `stem`, such as
/// `mnist/t10k` or `cifar10/test`; `None` where they are missing or not IDX.
pub fn images(stem: &str) -> Option<Dataset> {
    let read = |kind: &str| {
        let read =
            |rank| std::fs::read(data_dir().join(format!("{stem}-{kind}-idx{rank}-ubyte.gz")));
        [1, 3, 4].into_iter().find_map(|rank| read(rank).ok())
    };
    idx::dataset(&read("images")?, &read("labels")?, 255).ok()
}
