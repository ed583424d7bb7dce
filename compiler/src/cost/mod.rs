//! What a circuit costs before it runs: rounds and bytes, in all and per source line.
//!
//! Arithmetic over the circuit only: the runtime's own count ([`slvr_runtime::circuit::traffic`])
//! says what each instruction sends.
