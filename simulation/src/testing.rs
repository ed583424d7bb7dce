//! Models built by hand, for tests.

use slvr_compiler::syntax::ast::Span;
use slvr_compiler::types::Conv;
use slvr_compiler::types::layer::Layer;
use slvr_compiler::types::model::{Model, Param, ParamId, Step, StepId, StepKind};

/// Appends steps and their parameters to a model.
pub(super) struct Build(pub Model);

impl Build {
    pub(super) fn new(input: &[u64]) -> Build {
        let mut build = Build(Model {
            name: "Test".into(),
            input: input.to_vec(),
            output: Vec::new(),
            params: Vec::new(),
            len: 0,
            steps: Vec::new(),
        });
        build.step(StepKind::Input, input.to_vec());
        build
    }

    pub(super) fn last(&self) -> StepId {
        self.0.steps.len() - 1
    }

    fn shape(&self) -> Vec<u64> {
        self.0.steps[self.last()].shape.clone()
    }

    pub(super) fn step(&mut self, kind: StepKind, shape: Vec<u64>) -> &mut Self {
        self.0.output.clone_from(&shape);
        self.0.steps.push(Step {
            kind,
            shape,
            name: String::new(),
            span: Span::default(),
            applied: None,
        });
        self
    }

    fn param(&mut self, name: &str, shape: &[u64]) -> ParamId {
        let offset = self.0.len;
        self.0.len += shape.iter().product::<u64>();
        let name = format!("layer{}.{name}", self.0.steps.len());
        self.0.params.push(Param { name, shape: shape.to_vec(), offset });
        self.0.params.len() - 1
    }

    pub(super) fn conv(&mut self, out: u64, k: u64, conv: Conv, bias: bool) -> &mut Self {
        let (x, shape) = (self.last(), self.shape());
        let depth = conv.kernel_channels(shape[0], out).expect("groups of equal size");
        let weight = self.param("weight", &[out, depth, k, k]);
        let layer =
            Layer::Conv2d { cin: shape[0], cout: out, kernel: [k, k], conv, pad_w: conv.pad, bias };
        let params = self.weight_and_bias(weight, bias, out);
        let side = |len: u64| conv.output(len, k).expect("a kernel that fits");
        let shape = vec![out, side(shape[1]), side(shape[2])];
        self.step(StepKind::Layer { layer, x, params }, shape)
    }

    pub(super) fn linear(&mut self, out: u64, bias: bool) -> &mut Self {
        let (x, shape) = (self.last(), self.shape());
        let weight = self.param("weight", &[out, shape[0]]);
        let layer = Layer::Linear { inputs: shape[0], outputs: out, bias };
        let params = self.weight_and_bias(weight, bias, out);
        self.step(StepKind::Layer { layer, x, params }, vec![out])
    }

    fn weight_and_bias(&mut self, weight: ParamId, bias: bool, out: u64) -> Vec<ParamId> {
        let bias = bias.then(|| self.param("bias", &[out]));
        [weight].into_iter().chain(bias).collect()
    }

    fn plain(&mut self, layer: Layer, shape: Vec<u64>) -> &mut Self {
        let x = self.last();
        self.step(StepKind::Layer { layer, x, params: Vec::new() }, shape)
    }

    pub(super) fn norm(&mut self) -> &mut Self {
        let (x, shape) = (self.last(), self.shape());
        let names = ["weight", "bias", "running_mean", "running_var"];
        let params = names.map(|name| self.param(name, &shape[..1])).to_vec();
        let layer = Layer::BatchNorm { channels: shape[0], eps: 1e-5 };
        self.step(StepKind::Layer { layer, x, params }, shape)
    }

    pub(super) fn relu(&mut self) -> &mut Self {
        let shape = self.shape();
        self.plain(Layer::Relu, shape)
    }

    pub(super) fn pool(&mut self, max: bool, k: u64, stride: u64) -> &mut Self {
        let shape = self.shape();
        let side = |len: u64| (len - k) / stride + 1;
        let shape = vec![shape[0], side(shape[1]), side(shape[2])];
        let layer = match max {
            true => Layer::MaxPool { k, stride },
            false => Layer::AvgPool { k, stride },
        };
        self.plain(layer, shape)
    }

    pub(super) fn global_avg(&mut self) -> &mut Self {
        let channels = self.shape()[0];
        self.plain(Layer::GlobalAvgPool, vec![channels])
    }

    pub(super) fn flatten(&mut self) -> &mut Self {
        let len = self.shape().iter().product();
        self.plain(Layer::Flatten, vec![len])
    }

    /// Adds an earlier step of the same shape to the last one.
    pub(super) fn add(&mut self, other: StepId) -> &mut Self {
        let shape = self.shape();
        self.step(StepKind::Add(self.last(), other), shape)
    }
}

/// A small convolutional network for 8 x 8 grey images: 3,658 weights.
pub(super) fn digits_net() -> Model {
    let mut build = Build::new(&[1, 8, 8]);
    build.conv(8, 3, Conv::new(1, 1), true).relu().pool(false, 2, 2);
    build.conv(16, 3, Conv::new(1, 1), true).relu().pool(false, 2, 2);
    build.flatten().linear(32, true).relu().linear(10, true);
    build.0
}
