//! From the words of an output to numbers, on the receiver's side.

use slvr_circuit::fixed;
use slvr_circuit::{Circuit, Output, Shape};
use slvr_ring::Data;

#[derive(Clone, Debug, PartialEq)]
pub struct Revealed {
    /// Its name after `as`.
    pub name: String,
    /// The receiving party set (index).
    pub to: u32,
    pub shape: Shape,
    pub words: Data,
    /// The words as signed fixed-point numbers, times the output's factor, divided by its divisor; row-major.
    pub values: Vec<f64>,
}

impl Revealed {
    /// Decodes the opened words of an output.
    pub fn new(output: &Output, words: Data) -> Self {
        let decode =
            |w| fixed::decode(w, output.ring, output.frac) * output.factor / output.divisor;
        let values = words.to_u128s().into_iter().map(decode).collect();
        let (name, shape) = (output.name.clone(), output.shape.clone());
        Revealed { name, to: output.to, shape, words, values }
    }

    /// Puts what receivers hand in, set by set, into the order of the circuit's outputs.
    pub fn sort(circuit: &Circuit, revealed: &mut [Revealed]) {
        let all = &circuit.outputs;
        revealed.sort_by_key(|r| all.iter().position(|o| (&o.name, o.to) == (&r.name, r.to)));
    }
}
