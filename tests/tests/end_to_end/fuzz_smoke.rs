//! A bounded fuzz of every reader: valid texts and artifacts, damaged at random, must be refused or
//! read, and never panic. `fuzz/` has the unbounded targets.

use slvr_circuit::{artifact, text as circuit_text, verify::verify};
use slvr_compiler::cost::NetProfile;
use slvr_compiler::graph::{text as graph_text, verify::verify as verify_graph};
use slvr_compiler::syntax::{LoadError, Sources, ast::FileId, parse};
use slvr_compiler::types::{Options, check};
use slvr_simulation::idx;
use slvr_tests::{Random, compile, predicate};

const ROUNDS: u64 = 400;

/// Some bytes changed, removed, doubled or moved.
fn damage(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..1 + (random.unit() * 4.0) as usize {
        if out.is_empty() {
            break;
        }
        let at = (random.unit() * out.len() as f64) as usize;
        let len = 1 + (random.unit() * 12.0) as usize;
        let end = (at + len).min(out.len());
        match (random.unit() * 5.0) as u32 {
            0 => out[at] = (random.unit() * 256.0) as u8,
            1 => drop(out.drain(at..end)),
            2 => {
                let part = out[at..end].to_vec();
                out.splice(at..at, part);
            }
            3 => {
                let part: Vec<u8> = out.drain(at..end).collect();
                let to = (random.unit() * (out.len() + 1) as f64) as usize;
                out.splice(to..to, part);
            }
            _ => {
                let digits = b"0123456789-%[](),.";
                out[at] = digits[(random.unit() * digits.len() as f64) as usize];
            }
        }
    }
    out
}

fn damaged_text(text: &str, random: &mut Random) -> String {
    String::from_utf8_lossy(&damage(text.as_bytes(), random)).into_owned()
}

#[test]
fn damaged_sources_are_refused_or_checked() {
    for name in ["slvr_accuracy", "krum", "fltrust"] {
        let mut random = Random::new(1);
        for _ in 0..ROUNDS / 4 {
            let text = damaged_text(predicate(name), &mut random);
            let (_, wrong) = parse(FileId::default(), &text);
            if wrong.is_empty() {
                let mut sources = Sources::new();
                let file = sources.add("damaged.slvr", text);
                let mut none = |_: &str| Err(LoadError::NotFound);
                let options = Options { defaults: true, ..Options::default() };
                let _ = check(&mut sources, file, &options, &mut none);
            }
        }
    }
}

#[test]
fn damaged_graphs_and_circuits_are_refused_or_read() {
    let case = compile(predicate("norm_bound"), &[("M", "DigitsNet"), ("m", "4")]);
    let graph = graph_text::print(&case.compiled.optimised);
    let circuit = circuit_text::print(case.circuit());
    let bytes = artifact::write(case.circuit());
    let mut random = Random::new(2);
    for _ in 0..ROUNDS {
        if let Ok(graph) = graph_text::parse(&damaged_text(&graph, &mut random)) {
            let _ = verify_graph(&graph);
            let printed = graph_text::print(&graph);
            let again = graph_text::parse(&printed).map(|g| graph_text::print(&g));
            assert_eq!(again, Ok(printed));
        }
        if let Ok(circuit) = circuit_text::parse(&damaged_text(&circuit, &mut random)) {
            let _ = verify(&circuit);
        }
        let damaged = damage(&bytes, &mut random);
        if damaged != bytes {
            assert!(artifact::read(&damaged).is_err(), "a damaged artifact was read");
        }
    }
}

#[test]
fn damaged_images_and_profiles_are_refused_or_read() {
    let mut random = Random::new(3);
    let plain = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3][..], &[7; 12]].concat();
    let profile = "# a line\nbandwidth_mbit = 200\nrtt_ms = 20\n";
    for _ in 0..ROUNDS {
        for good in [&plain[..], slvr_predicates::DIGITS_LABELS] {
            if let Ok((shape, pixels)) = idx::images(&damage(good, &mut random), 255) {
                let of_each: usize = shape.iter().product();
                assert!(pixels.len().is_multiple_of(of_each.max(1)));
            }
            let _ = idx::labels(&damage(good, &mut random));
        }
        if let Ok(net) = NetProfile::parse("damaged", &damaged_text(profile, &mut random)) {
            assert!(net.rtt_s >= 0.0 && net.bandwidth_bits_per_s > 0.0);
        }
    }
}
