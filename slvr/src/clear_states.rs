//! States of a circuit in the clear: as numbers by name, and as the words that a circuit reads and stores.

use crate::tensors;
use slvr_circuit::{Circuit, fixed};
use slvr_ring::Data;
use slvr_runtime::share::encode::Encoded;
use std::collections::BTreeMap;

/// Numbers by the name of their state.
pub type Numbers = BTreeMap<String, Vec<f64>>;

/// Has a circuit begin with these states; one that is not among them begins as it declares.
pub fn put(circuit: &Circuit, inputs: &mut Encoded, states: &Numbers) {
    for (i, input) in circuit.states() {
        let (ty, frac) = (circuit.ty(input.value), tensors::frac(input));
        if let Some(x) = states.get(&input.name) {
            let word = |&x: &f64| match ty.bits() {
                1 => u128::from(x != 0.0),
                k => fixed::encode(x, frac, k).unwrap_or(0),
            };
            let words: Vec<u128> = x.iter().map(word).collect();
            inputs.states.insert(i, Data::from_u128s(ty.dom, &words));
        }
    }
}

/// States as numbers, of words by the number of the input.
pub fn numbers(circuit: &Circuit, words: &BTreeMap<usize, Data>) -> Numbers {
    let one = |(i, input): (usize, &slvr_circuit::Input)| {
        let (k, frac) = (circuit.ty(input.value).bits(), tensors::frac(input));
        let words = words.get(&i).map_or(Vec::new(), Data::to_u128s);
        let number = |w| match k {
            1 => w as f64,
            _ => fixed::decode(w, k, frac),
        };
        (input.name.clone(), words.into_iter().map(number).collect())
    };
    circuit.states().map(one).collect()
}
