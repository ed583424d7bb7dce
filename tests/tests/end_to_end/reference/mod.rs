//! Layers and models against outputs that PyTorch made, by the scripts of `predicates/models/reference`: floating point,
//! and three parties within the certificate. Weights are made here as they are there, from the names of the state
//! dictionary, so a parameter with another name or layout gives other outputs.

mod layers;
mod models;

use slvr_compiler::cost::places;
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::source::Sources;
use slvr_compiler::syntax::embedded::Embedded;
use slvr_compiler::types::eval::{EvalInputs, Tensor, eval};
use slvr_compiler::types::model::{Model, Param};
use slvr_compiler::types::{self, Options, Program};
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::agree::hold;
use slvr_tests::compile;
use std::collections::BTreeMap;

const CHECK: &str = "
predicate Outputs[M: model]() {
    parties Owner;
    parties Server;

    input net: secret weights M in RANGE from Owner;
    input x:   secret fix[..M.shape] in INPUTS from Owner;

    reveal M(net, x) to Server as outputs;
}
";

/// Numbers between -1 and 1: splitmix64 from the FNV-1a hash of a name.
fn numbers(name: &str, count: u64) -> Vec<f64> {
    let mut state = name
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325u64, |s, b| (s ^ u64::from(b)).wrapping_mul(0x100_0000_01B3));
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn parameter(p: &Param) -> Vec<f64> {
    let x = numbers(&p.name, p.shape.iter().product());
    let last = p.name.rsplit('.').next().unwrap_or("");
    let fan_in: u64 = p.shape.iter().skip(1).product();
    let of = |x: f64| match (p.shape.len(), last) {
        (2.., _) => x * (6.0 / fan_in as f64).sqrt(),
        (_, "weight" | "running_var") => 1.0 + x / 4.0,
        _ => x / 4.0,
    };
    x.into_iter().map(of).collect()
}

fn weights(model: &Model) -> Vec<f64> {
    model.params.iter().flat_map(parameter).collect()
}

/// A network, and inputs with the outputs that PyTorch found.
struct Reference {
    /// Of the network in messages.
    name: String,
    /// A program that reveals the outputs, as text and bindings.
    text: String,
    bindings: Vec<(&'static str, String)>,
    /// Inputs are `scale` times [`numbers`].
    scale: f64,
    /// The number of an input, and its outputs.
    wanted: Vec<(u64, Vec<f64>)>,
}

impl Reference {
    fn program(&self) -> Program {
        let mut sources = Sources::new();
        let file = sources.add("test.slvr", self.text.clone());
        let bindings = self.bindings.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
        let options = Options { bindings, ..Options::default() };
        types::check(&mut sources, file, &options, &mut Embedded)
            .unwrap_or_else(|d| panic!("{}: {d:?}", self.name))
            .program
    }

    fn input(&self, k: u64, net: &Model) -> Vec<f64> {
        let x = numbers(&format!("input {k}"), net.input.iter().product());
        x.into_iter().map(|x| self.scale * x).collect()
    }

    /// Floating point is the reference to within 1e-4.
    fn floating(&self) {
        let program = self.program();
        let net = &program.models[0];
        for (k, outputs) in &self.wanted {
            let x = Tensor { shape: net.input.clone(), data: self.input(*k, net) };
            let net = ("net".to_owned(), Tensor::vector(weights(net)));
            let member = BTreeMap::from([net, ("x".to_owned(), x)]);
            let inputs = EvalInputs { sets: vec![vec![member], vec![]], ..EvalInputs::default() };
            let found = eval(&program, &inputs, &|_| Vec::new()).expect("inputs that fit");
            let found = &found[0].1.data;
            assert_eq!(found.len(), outputs.len(), "{}", self.name);
            let off = distance(found, outputs);
            println!("{}, input {k}: off by {off:.1e}", self.name);
            assert!(
                off <= 1e-4,
                "{}, input {k}: off by {off}: {found:?}, not {outputs:?}",
                self.name
            );
        }
    }

    /// Three parties are within the certificate of floating point, at the rounds and bytes that were predicted, for the
    /// first so many inputs.
    fn parties(&self, inputs: usize) {
        let bindings: Vec<(&str, &str)> =
            self.bindings.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let case = compile(&self.text, &bindings);
        let net = &case.program.models[0];
        let lines = places(&case.program, &case.compiled.optimised, &case.sources);
        let certificate = Certificate::of(&case.compiled, &lines);
        let bound = certificate.error[0].proven + certificate.error[0].rounding_inputs;
        let mut zeros = true;
        for (k, _) in self.wanted.iter().take(inputs) {
            let tensor = |name: &str, data: Vec<f64>| {
                let input =
                    case.circuit().inputs.iter().find(|i| i.name == name).expect("an input");
                (
                    name.to_owned(),
                    RawTensor { shape: input.shape.clone(), data: RawData::F64(data) },
                )
            };
            let owner =
                BTreeMap::from([tensor("net", weights(net)), tensor("x", self.input(*k, net))]);
            let inputs = Inputs { public: BTreeMap::new(), sets: vec![vec![owner], vec![]] };
            zeros &= !hold(&self.name, &case, &inputs, *k);
            let found = &case.parties(&inputs, *k).outputs[0].values;
            let off = distance(found, &case.floating(&inputs, &[])[0]);
            println!(
                "{}, input {k}: {} rounds, off by {off:.1e}, proven {bound:.1e}",
                self.name,
                case.circuit().rounds()
            );
            assert!(off <= bound, "{}, input {k}: off by {off}, proven {bound}", self.name);
        }
        assert!(!zeros, "{}: only zeros", self.name);
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
