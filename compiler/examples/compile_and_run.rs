//! Compiles a check and runs it among three parties in memory: `cargo run -p slvr-compiler --example
//! compile_and_run`.
//!
//! Four clients give a vector each. The parties keep those that are not longer than 1.5 times the median length, and
//! reveal the sum of these, divided by four. The last client's vector is a hundred times too long.

use slvr_circuit::Circuit;
use slvr_compiler::cost::Cost;
use slvr_compiler::diagnostic::{Diagnostic, render};
use slvr_compiler::pipeline;
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::types::{self, Options};
use slvr_runtime::party::session::{self, Report};
use slvr_runtime::share::encode::{Inputs, RawTensor};
use std::collections::BTreeMap;
use std::error::Error;

const CHECK: &str = "
use std::{lower_median, norm, sum};

predicate Example[d, m]() {
    parties Client[m];
    parties Server;

    input update: secret fix[d] in -128..128 from each Client;

    let size = [norm(update[i]) for i in Client];
    let keep = [size[i] < 1.5 * lower_median(size) for i in Client];

    reveal sum(keep[i] * update[i] for i in Client) / m to Server as aggregate;
}
";

/// What the clients give.
const UPDATES: [[f64; 3]; 4] =
    [[1.0, 0.0, 2.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0], [100.0, 0.0, -100.0]];

/// From text to a circuit. Messages for people come back as one text.
fn compile(text: &str, sizes: &[(&str, &str)]) -> Result<Circuit, String> {
    let mut sources = Sources::new();
    let file = sources.add("example.slvr", text);
    let bindings = sizes.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = Options { bindings, ..Options::default() };
    // The check imports nothing but the library, which comes with the compiler.
    let mut no_files = |_: &str| Err(LoadError::NotFound);
    let said = |d: Vec<Diagnostic>, sources: &Sources| render::render(&d, sources, false);
    let checked = types::check(&mut sources, file, &options, &mut no_files);
    let checked = checked.map_err(|d| said(d, &sources))?;
    let compiled = pipeline::compile(&checked.program, &sources);
    compiled.map(|c| c.circuit).map_err(|d| said(d, &sources))
}

/// Runs the circuit with a vector for each client.
fn run(circuit: &Circuit, updates: &[[f64; 3]]) -> Result<Report, Box<dyn Error>> {
    let client = |update: &[f64; 3]| {
        BTreeMap::from([("update".to_string(), RawTensor::reals([3], update.to_vec()))])
    };
    // One list for each set of parties, in the order of the program; the server gives nothing.
    let clients = updates.iter().map(client).collect();
    let inputs = Inputs { public: BTreeMap::new(), sets: vec![clients, Vec::new()] };
    Ok(session::run_local(circuit, &inputs, &session::Options::default())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let circuit = compile(CHECK, &[("d", "3"), ("m", "4")])?;
    let cost = Cost::of(&circuit);
    println!("before it runs: {} rounds, {} bytes", cost.rounds, cost.bytes.iter().sum::<u64>());

    let report = run(&circuit, &UPDATES)?;
    println!(
        "the run:        {} rounds, {} bytes",
        report.rounds,
        report.bytes_sent.iter().sum::<u64>()
    );
    println!("{} = {:.3?}", report.outputs[0].name, report.outputs[0].values);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_vector_does_not_count() {
        let circuit = compile(CHECK, &[("d", "3"), ("m", "4")]).expect("it compiles");
        let report = run(&circuit, &UPDATES).expect("it runs");
        for (value, expected) in report.outputs[0].values.iter().zip([0.5, 0.5, 1.25]) {
            assert!((value - expected).abs() < 1e-3, "{:?}", report.outputs[0].values);
        }
    }
}
