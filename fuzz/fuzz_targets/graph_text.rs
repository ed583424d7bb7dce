//! Any text: the graph reader and verifier do not panic; what reads prints to text that reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use slvr_compiler::graph::text::{parse, print};
use slvr_compiler::graph::verify::verify;

fuzz_target!(|text: &str| {
    if let Ok(graph) = parse(text) {
        let _ = verify(&graph);
        let printed = print(&graph);
        assert_eq!(parse(&printed).map(|g| print(&g)), Ok(printed));
    }
});
