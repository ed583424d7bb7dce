//! Any text: the circuit reader and verifier do not panic; what reads prints to text that reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use slvr_circuit::text::{parse, print};
use slvr_circuit::verify::verify;

fuzz_target!(|text: &str| {
    if let Ok(circuit) = parse(text) {
        let _ = verify(&circuit);
        assert_eq!(parse(&print(&circuit)).as_ref(), Ok(&circuit));
    }
});
