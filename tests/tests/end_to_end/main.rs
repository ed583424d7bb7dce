//! The tests from a program's text to what three parties reveal, as one binary: linking is what takes time.
//!
//! `cargo test -p slvr-tests --test end_to_end models` runs one of the files below. Beside this binary stand
//! `artifacts`, the hash of everything that the compiler makes, and `rooms`, which file may import which.
//!
//! | about | files |
//! |---|---|
//! | predicates among three parties | `predicates`, `every_predicate`, `edge_cases`, `slvr_accuracy`, `lenet`, `accuracy`, `bench_verb` |
//! | functions, layers, the library | `functions`, `models`, `std_examples` |
//! | the compiler's text and messages | `diagnostics`, `ir_snapshots`, `docs` |
//! | what it optimises | `optimiser`, `blocks`, `speculation` |
//! | what it states about a run | `certificate`, `certificate_cost`, `certificate_error`, `certificate_ranges` |
//! | malicious clients, random programs, damaged files | `attacks`, `random_programs`, `fuzz_smoke` |

mod accuracy;
mod attacks;
mod bench_verb;
mod blocks;
mod certificate;
mod certificate_cost;
mod certificate_error;
mod certificate_ranges;
mod diagnostics;
mod docs;
mod edge_cases;
mod every_predicate;
mod functions;
mod fuzz_smoke;
mod intervals;
mod ir_snapshots;
mod lenet;
mod models;
mod optimiser;
mod predicates;
mod random_programs;
mod slvr_accuracy;
mod speculation;
mod std_examples;
mod tight_intervals;
