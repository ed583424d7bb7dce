//! Demands on how likely a run is to fail: `require failure <= 2^-40`.

use slvr_graph::analysis::failure::Failure;
use slvr_language::diagnostic::rounding::at_most;
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::types::{Bounded, Demand, Program};

/// An error for every demand that does not hold.
pub fn check(program: &Program, failure: &Failure) -> Vec<Diagnostic> {
    let demands = program.demands.iter().filter(|d| d.what == Bounded::Failure);
    let log2 = failure.log2();
    demands.filter(|d| log2 > d.bound.log2()).map(|d| exceeds(d, failure, log2)).collect()
}

fn exceeds(demand: &Demand, failure: &Failure, log2: f64) -> Diagnostic {
    let likeliest = failure.terms.first();
    let what = likeliest
        .map_or(String::new(), |t| format!("; most of it: {} (2^{})", t.what, at_most(t.log2, 1)));
    let log2 = at_most(log2, 1);
    Diagnostic::error(
        codes::CERTIFICATE,
        format!("the run fails with probability up to 2^{log2}{what}"),
        demand.span,
        format!("demands at most 2^{:.1}", demand.bound.log2()),
    )
    .hint(match likeliest {
        Some(t) if t.is_proof => {
            "against a malicious party every run has a proof, which a false statement passes that rarely; \
             demand no less, or take `--security semi-honest`"
        }
        _ => {
            "vectors of at most 256 weights are compared element by element, which never \
             fails; a longer one costs a probability that grows with the number of clients"
        }
    })
}
