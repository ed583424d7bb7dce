//! Any bytes: the artifact reader does not panic, and allocates no more than the bytes warrant.
#![no_main]

use libfuzzer_sys::fuzz_target;
use slvr_circuit::artifact::{read, write};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(circuit) = read(bytes) {
        assert_eq!(write(&circuit), bytes);
    }
});
