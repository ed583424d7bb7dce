//! What the end-to-end tests share: compiling, inputs from a seed, and the five ways to evaluate a
//! predicate, from floating point to three parties. [`agree`] compares the last with the first,
//! [`accuracy`] trained models with floating point, [`generate`] makes random programs
//! that are exact, [`inexact`] those that round, [`means`] those of weighted means, [`long`] runs many of
//! them, [`margins`] tells how near their decisions are.

pub mod accuracy;
pub mod agree;
pub mod generate;
pub mod inexact;
pub mod long;
pub mod margins;
pub mod means;

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use slvr_circuit::{Circuit, Encoding, From, Op};
use slvr_compiler::diagnostic::Diagnostic;
use slvr_compiler::diagnostic::render::render;
use slvr_compiler::graph::eval as graph_eval;
use slvr_compiler::noise::Words;
use slvr_compiler::pipeline::{self, Compiled};
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::syntax::embedded;
use slvr_compiler::types::eval::{EvalInputs, Tensor, trace};
use slvr_compiler::types::{self, Program};
use slvr_ring::Data;
use slvr_runtime::clear::{self, Evaluator};
use slvr_runtime::party::session::{self, Options, Report};
pub use slvr_runtime::protocol::committee::committees;
use slvr_runtime::share::encode::{Encoded, Inputs, RawData, RawTensor};
use slvr_runtime::share::state::Kept;
use std::collections::BTreeMap;

/// A compiled predicate.
pub struct Case {
    pub program: Program,
    /// Every stage below.
    pub compiled: Compiled,
    pub sources: Sources,
    /// What noise is made of in the clear.
    pub noise: Words,
    /// What an earlier round has left; without it, states begin.
    pub left: Left,
}

/// States after a round.
#[derive(Debug, Default)]
pub struct Left {
    /// As numbers, by name.
    pub plain: BTreeMap<String, Vec<f64>>,
    /// As the circuit's words, by index of the input.
    pub words: BTreeMap<usize, Data>,
    /// As the parties' shares.
    pub kept: Option<[Kept; 3]>,
}

/// What a round reveals, and the states after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// In the order of the reveals.
    pub outputs: Outputs,
    /// By name.
    pub states: BTreeMap<String, Vec<f64>>,
}

/// The text of a predicate that comes with the compiler.
pub fn predicate(name: &str) -> &'static str {
    let found = embedded::PREDICATES.iter().find(|(n, _)| n.trim_end_matches(".slvr") == name);
    found.unwrap_or_else(|| panic!("no predicate {name}")).1
}

/// Bindings as on a command line: `m=3 d=2`.
pub fn bindings(text: &str) -> Vec<(&str, &str)> {
    text.split_whitespace().filter_map(|b| b.split_once('=')).collect()
}

/// Compiles a text; panics with the rendered diagnostics.
pub fn compile(text: &str, bindings: &[(&str, &str)]) -> Case {
    compile_with(text, bindings, pipeline::Options::default())
}

/// Like [`compile`], with options.
pub fn compile_with(text: &str, bindings: &[(&str, &str)], how: pipeline::Options) -> Case {
    compile_with_files(text, bindings, &[], how)
}

/// Compiles a text that may name models of other files, each a path and a text.
pub fn compile_files(text: &str, bindings: &[(&str, &str)], files: &[(&str, &str)]) -> Case {
    compile_with_files(text, bindings, files, pipeline::Options::default())
}

/// Like [`compile_files`], with options.
pub fn compile_with_files(
    text: &str,
    bindings: &[(&str, &str)],
    files: &[(&str, &str)],
    how: pipeline::Options,
) -> Case {
    attempt_with_files(text, bindings, files, how).unwrap_or_else(|why| panic!("{}", why.text()))
}

/// What is said of a program that is refused.
#[derive(Debug)]
pub struct Refused {
    /// By the checks of types, or by what compiles.
    pub said: Vec<Diagnostic>,
    pub sources: Sources,
}

impl Refused {
    /// As it is printed.
    pub fn text(&self) -> String {
        render(&self.said, &self.sources, false)
    }
}

/// Compiles a text, or says why it is refused.
pub fn attempt(
    text: &str,
    bindings: &[(&str, &str)],
    how: pipeline::Options,
) -> Result<Case, Refused> {
    attempt_with_files(text, bindings, &[], how)
}

fn attempt_with_files(
    text: &str,
    bindings: &[(&str, &str)],
    files: &[(&str, &str)],
    how: pipeline::Options,
) -> Result<Case, Refused> {
    let mut sources = Sources::new();
    let file = sources.add("test.slvr", text);
    let bindings = bindings.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = types::Options { bindings, ..types::Options::default() };
    let mut loader = |path: &str| {
        let found = files.iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| text.to_string()).ok_or(LoadError::NotFound)
    };
    let program = match types::check(&mut sources, file, &options, &mut loader) {
        Ok(checked) => checked.program,
        Err(said) => return Err(Refused { said, sources }),
    };
    match pipeline::compile_with(&program, &sources, how, |_, _| {}) {
        Ok(compiled) => Ok(Case::new(program, compiled, sources)),
        Err(said) => Err(Refused { said, sources }),
    }
}

/// Sizes of a predicate small enough for many runs, and the scale of random inputs as a part of their
/// declared range at which most of its decisions are clear.
pub fn sizes(name: &str) -> (Vec<(&'static str, &'static str)>, f64) {
    let model = ("M", "Mlp[9,hidden=4]");
    let (mut sizes, spread) = match name {
        "coordinate_trimmed_mean" => (vec![("d", "7"), ("m", "5"), ("c", "1")], 1.0),
        "coordinate_median" => (vec![("d", "7"), ("m", "6")], 1.0),
        "krum" => (vec![model, ("m", "6"), ("f", "1")], 0.05),
        "multi_krum" => (vec![model, ("m", "6"), ("f", "1"), ("k", "3")], 0.05),
        "slvr_accuracy" | "slvr_confidence" => {
            (vec![model, ("m", "5"), ("c", "1"), ("b", "2")], 0.1)
        }
        "validation_loss" => (vec![model, ("m", "5"), ("c", "2"), ("b", "3")], 0.1),
        // Wide enough for about half of the random updates.
        "norm_ball" => (vec![model, ("m", "5"), ("lambda", "1.41")], 0.1),
        "linf_bound" => (vec![model, ("m", "5"), ("bound", "0.79")], 0.1),
        _ => (vec![model, ("m", "5")], 0.1),
    };
    sizes.sort_unstable();
    (sizes, spread)
}

/// A source of numbers that prints nothing; tests print its seed.
pub struct Random(ChaCha12Rng);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(ChaCha12Rng::seed_from_u64(seed))
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in lo .. hi.
    pub fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.unit()
    }
}

/// Like [`random_inputs`] over the whole range, but reals are multiples of 1/4.
pub fn coarse_inputs(circuit: &Circuit, seed: u64) -> Inputs {
    let mut inputs = random_inputs(circuit, seed, 1.0);
    let all = inputs.public.values_mut();
    for tensor in all.chain(inputs.sets.iter_mut().flatten().flat_map(|m| m.values_mut())) {
        if let RawData::F64(v) = &mut tensor.data {
            v.iter_mut().for_each(|x| *x = (*x * 4.0).round() / 4.0);
        }
    }
    inputs
}

/// Inputs for a circuit: reals in `spread` times the declared range, classes and integers anywhere
/// in it. Of a spread beyond 1 those outside of the range are its ends.
pub fn random_inputs(circuit: &Circuit, seed: u64, spread: f64) -> Inputs {
    let mut random = Random::new(seed);
    let mut one = |input: &slvr_circuit::Input| {
        let n = input.shape.iter().product::<u64>() as usize;
        let data = match input.encoding {
            Encoding::Fixed { lo, hi, norm, .. } => {
                // A public input need not declare a range.
                let (lo, hi) = (lo.max(-8.0), hi.min(8.0));
                let v = (0..n).map(|_| random.between(lo * spread, hi * spread));
                let inside = |x: f64| if spread > 1.0 { x.clamp(lo, hi) } else { x };
                let mut v: Vec<f64> = v.map(inside).collect();
                shorten(&mut v, norm);
                RawData::F64(v)
            }
            Encoding::Int { lo, hi } => RawData::I64(
                (0..n).map(|_| random.between(lo as f64, hi as f64).floor() as i64).collect(),
            ),
            Encoding::OneHot { classes } => RawData::I64(
                (0..n).map(|_| random.between(0.0, classes as f64).floor() as i64).collect(),
            ),
        };
        (input.name.clone(), RawTensor { shape: input.shape.clone(), data })
    };
    let public = circuit.inputs.iter().filter(|i| i.from == From::Public).map(&mut one).collect();
    let sets = (circuit.parties.iter().enumerate())
        .map(|(s, set)| {
            let given: Vec<_> =
                circuit.inputs.iter().filter(|i| i.from == From::Each(s as u32)).collect();
            let members = if given.is_empty() { 0 } else { set.size };
            (0..members).map(|_| given.iter().map(|i| one(i)).collect()).collect()
        })
        .collect();
    Inputs { public, sets }
}

/// Scales a vector down to a length, if it is longer.
fn shorten(v: &mut [f64], most: f64) {
    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > most {
        v.iter_mut().for_each(|x| *x *= most / length * (1.0 - 1e-9));
    }
}

/// Moves reals into their declared ranges.
pub fn keep_in_range(circuit: &Circuit, inputs: &mut Inputs) {
    let all = inputs.public.iter_mut();
    for (name, tensor) in all.chain(inputs.sets.iter_mut().flatten().flatten()) {
        let input = circuit.inputs.iter().find(|i| i.name == *name);
        if let (RawData::F64(v), Some(Encoding::Fixed { lo, hi, norm, .. })) =
            (&mut tensor.data, input.map(|i| i.encoding))
        {
            v.iter_mut().for_each(|x| *x = x.clamp(lo, hi));
            shorten(v, norm);
        }
    }
}

type Outputs = Vec<Vec<f64>>;

fn of_graph(out: graph_eval::Evaluated<impl Sized>) -> Round {
    Round {
        outputs: out.outputs.into_iter().map(|(_, _, values)| values).collect(),
        states: out.states.into_iter().collect(),
    }
}

impl Case {
    /// Before its first round, without noise.
    pub fn new(program: Program, compiled: Compiled, sources: Sources) -> Case {
        Case { program, compiled, sources, noise: Words::default(), left: Left::default() }
    }

    pub fn circuit(&self) -> &Circuit {
        &self.compiled.circuit
    }

    /// The program, loop by loop, in floating point.
    pub fn floating(&self, inputs: &Inputs, coins: &[u128]) -> Outputs {
        self.floating_round(inputs, coins).outputs
    }

    /// The program in floating point, with the states after the round.
    pub fn floating_round(&self, inputs: &Inputs, coins: &[u128]) -> Round {
        let map = |m: &BTreeMap<String, RawTensor>| {
            let tensor = |t: &RawTensor| Tensor { shape: t.shape.clone(), data: t.data.to_f64() };
            m.iter().map(|(n, t)| (n.clone(), tensor(t))).collect()
        };
        let given = EvalInputs {
            public: map(&inputs.public),
            sets: inputs.sets.iter().map(|s| s.iter().map(map).collect()).collect(),
            states: self.left_tensors(),
            noise: self.noise.clone(),
        };
        let draw = committees(coins);
        let out = trace(&self.program, &given, &draw).expect("floating-point evaluation");
        Round {
            outputs: out.reveals.into_iter().map(|(_, t)| t.data).collect(),
            states: out.states.into_iter().map(|(name, t)| (name, t.data)).collect(),
        }
    }

    fn left_tensors(&self) -> BTreeMap<String, Tensor> {
        let shaped = self.circuit().states().filter_map(|(_, input)| {
            let data = self.left.plain.get(&input.name)?.clone();
            Some((input.name.clone(), Tensor { shape: input.shape.clone(), data }))
        });
        shaped.collect()
    }

    /// A graph in floating point.
    pub fn graph_real(
        &self,
        graph: &slvr_compiler::graph::Graph,
        inputs: &Inputs,
        coins: &[u128],
    ) -> Outputs {
        self.graph_round(graph, inputs, coins).outputs
    }

    /// A graph in floating point, with the states after the round.
    pub fn graph_round(
        &self,
        graph: &slvr_compiler::graph::Graph,
        inputs: &Inputs,
        coins: &[u128],
    ) -> Round {
        let draw = committees(coins);
        let out = graph_eval::real(graph, &self.graph_inputs(inputs), &draw, false);
        of_graph(out.expect("real evaluation"))
    }

    /// The final graph in ring arithmetic.
    pub fn graph_exact(&self, inputs: &Inputs, coins: &[u128]) -> Outputs {
        self.exact_round(inputs, coins).outputs
    }

    /// The final graph in ring arithmetic, with the states after the round.
    pub fn exact_round(&self, inputs: &Inputs, coins: &[u128]) -> Round {
        let draw = committees(coins);
        let graph = &self.compiled.optimised;
        let out = graph_eval::exact_wide(graph, &self.graph_inputs(inputs), &draw, false);
        of_graph(out.expect("exact evaluation"))
    }

    /// Inputs as the graph's evaluators take them, with noise and the states that an earlier round has left.
    pub fn graph_inputs(&self, inputs: &Inputs) -> graph_eval::Inputs {
        let states = self.left.plain.clone();
        graph_eval::Inputs { noise: self.noise.clone(), states, ..graph_inputs(inputs) }
    }

    pub fn circuit_clear(&self, inputs: &Inputs, coins: &[u128], seed: u64) -> Outputs {
        self.evaluated(&self.evaluator(), inputs, coins, seed)
    }

    /// The circuit, verified, for [`Case::evaluated`].
    pub fn evaluator(&self) -> Evaluator<'_> {
        Evaluator::new(self.circuit()).expect("a circuit that is well formed")
    }

    /// As [`Case::circuit_clear`], of a circuit that was verified.
    pub fn evaluated(
        &self,
        of: &Evaluator<'_>,
        inputs: &Inputs,
        coins: &[u128],
        seed: u64,
    ) -> Outputs {
        self.evaluated_round(of, inputs, coins, seed).0
    }

    /// As [`Case::evaluated`], with the states after the round as words.
    pub fn evaluated_round(
        &self,
        of: &Evaluator<'_>,
        inputs: &Inputs,
        coins: &[u128],
        seed: u64,
    ) -> (Outputs, BTreeMap<usize, Data>) {
        let mut encoded = Encoded::new(self.circuit(), inputs).expect("inputs fit");
        encoded.states.clone_from(&self.left.words);
        let random = self.noise.of_circuit(self.circuit());
        let options = clear::Options { seed, coins, random: &random, trace: false };
        let out = of.evaluate(encoded.values(self.circuit()), &options);
        let out = out.expect("evaluation in the clear");
        (out.outputs.into_iter().map(|o| o.values).collect(), out.states)
    }

    /// The circuit's words of states as numbers.
    pub fn numbers(&self, words: &BTreeMap<usize, Data>) -> BTreeMap<String, Vec<f64>> {
        let one = |(i, input): (usize, &slvr_circuit::Input)| {
            let frac = if let Encoding::Fixed { frac, .. } = input.encoding { frac } else { 0 };
            let k = self.circuit().ty(input.value).bits();
            let number =
                |w| if k == 1 { w as f64 } else { slvr_circuit::fixed::decode(w, k, frac) };
            (input.name.clone(), words[&i].to_u128s().into_iter().map(number).collect())
        };
        self.circuit().states().map(one).collect()
    }

    /// Three parties. Afterwards other evaluations draw the noise of this run.
    pub fn parties_with_noise(&mut self, inputs: &Inputs, seed: u64) -> Report {
        let mut local = self.circuit().layers.iter().flat_map(|l| &l.local);
        let record = local.any(|i| matches!(i.op, Op::Random { .. }));
        let state = self.left.kept.as_ref();
        let options = Options { seed: Some(seed), record, state, ..Options::default() };
        let report =
            session::run_local(self.circuit(), inputs, &options).expect("a run of three parties");
        if record {
            let given = report.drawn(self.circuit()).expect("a recorded run");
            self.noise = Words { seed: 0, given };
        }
        report
    }

    pub fn parties(&self, inputs: &Inputs, seed: u64) -> Report {
        let state = self.left.kept.as_ref();
        let options = Options { seed: Some(seed), state, ..Options::default() };
        session::run_local(self.circuit(), inputs, &options).expect("a run of three parties")
    }
}

/// Inputs as the graph's evaluators take them.
pub fn graph_inputs(inputs: &Inputs) -> graph_eval::Inputs {
    let map = |m: &BTreeMap<String, RawTensor>| {
        m.iter().map(|(n, t)| (n.clone(), t.data.to_f64())).collect()
    };
    graph_eval::Inputs {
        public: map(&inputs.public),
        sets: inputs.sets.iter().map(|s| s.iter().map(map).collect()).collect(),
        ..graph_eval::Inputs::default()
    }
}

/// Largest absolute difference of two lists of tensors of the same shapes.
pub fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.len(), b.len(), "as many outputs");
    let one = |(x, y): (&Vec<f64>, &Vec<f64>)| {
        assert_eq!(x.len(), y.len(), "outputs of one length");
        x.iter().zip(y).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max)
    };
    a.iter().zip(b).map(one).fold(0.0, f64::max)
}

/// The folder of image data sets: the one that `SLVR_DATA` names, or `data` at the root of the checkout, which
/// no commit contains.
pub fn data_dir() -> std::path::PathBuf {
    match std::env::var_os("SLVR_DATA") {
        Some(dir) => dir.into(),
        None => [env!("CARGO_MANIFEST_DIR"), "..", "data"].iter().collect(),
    }
}

/// The first `n` MNIST training images, pixels in [0, 1], with their labels; `None` where the files
/// are missing.
pub fn mnist(n: usize) -> Option<(Vec<f64>, Vec<i64>)> {
    let dir = data_dir().join("mnist");
    let images = std::fs::read(dir.join("train-images-idx3-ubyte.gz")).ok()?;
    let labels = std::fs::read(dir.join("train-labels-idx1-ubyte.gz")).ok()?;
    let (_, pixels) = slvr_simulation::idx::images(&images, 255).ok()?;
    let labels = slvr_simulation::idx::labels(&labels).ok()?;
    let pixels = pixels.into_iter().take(n * 28 * 28).map(f64::from).collect();
    Some((pixels, labels.into_iter().take(n).map(i64::from).collect()))
}
