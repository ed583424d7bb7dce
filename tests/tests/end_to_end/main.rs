//! The tests from a program's text to what three parties reveal, as one binary: linking is what takes time.
//!
//! `cargo test -p slvr-tests --test end_to_end models` runs one of the files below.
//!
//! | about | files |
//! |---|---|
//! | predicates among three parties | `predicates`, `gallery`, `gallery_rounds`, `edge_cases`, `slvr_accuracy`, `certain_models`, `lenet`, `accuracy`, `bench_verb` |
//! | functions, loops, weights, layers, the library | `functions`, `formulas`, `bits`, `loops`, `weights`, `models`, `layers_of_std`, `chosen`, `each_member`, `rounds`, `std_examples`, `std_sizes`, `small_covariances`, `long_vectors`, `noise` |
//! | against formulas and PyTorch | `reference`, `vectors`, `normalisations`, `repeated`, `weighted_means` |
//! | the ends of functions and intervals | `corners`, `ties`, `largest`, `many_members`, `narrow_scores`, `intervals`, `tight_intervals` |
//! | the compiler's text and messages | `diagnostics`, `overflow_messages`, `ir_snapshots`, `docs` |
//! | what it optimises | `optimiser`, `blocks`, `loads`, `workers`, `speculation` |
//! | what it states about a run | `certificate`, `certificate_cost`, `certificate_error`, `certificate_ranges`, `certify`, `cuts`, `given`, `precision` |
//! | malicious and missing clients, random programs | `attacks`, `dropouts`, `random_programs` |

// Thousands of small programs are compiled and run, which is mostly small tensors that come and go.
use slvr_allocator as _;

mod accuracy;
mod attacks;
mod bench_verb;
mod bits;
mod blocks;
mod certain_models;
mod certificate;
mod certificate_cost;
mod certificate_error;
mod certificate_ranges;
mod certify;
mod chosen;
mod corners;
mod cuts;
mod diagnostics;
mod docs;
mod dropouts;
mod each_member;
mod edge_cases;
mod formulas;
mod functions;
mod gallery;
mod gallery_rounds;
mod given;
mod intervals;
mod ir_snapshots;
mod largest;
mod layers_of_std;
mod lenet;
mod loads;
mod long_vectors;
mod loops;
mod many_members;
mod models;
mod narrow_scores;
mod noise;
mod normalisations;
mod optimiser;
mod overflow_messages;
mod precision;
mod predicates;
mod random_programs;
mod reference;
mod repeated;
mod rounds;
mod slvr_accuracy;
mod small_covariances;
mod speculation;
mod std_examples;
mod std_sizes;
mod ties;
mod tight_intervals;
mod vectors;
mod weighted_means;
mod weights;
mod workers;
