//! Demands on what noise lets through: `require epsilon(1e-5, 100) <= 8`.

use slvr_graph::analysis::privacy::{Privacy, Words};
use slvr_language::diagnostic::rounding::at_most;
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::types::{Bounded, Demand, Program};

/// An error for every demand on epsilon that does not follow. `places` gives the source line of each site, and
/// `failure` is the probability that a run is wrong by more than the certificate says.
pub fn check(
    program: &Program,
    words: Words<'_>,
    places: impl Fn() -> Vec<u32>,
    failure: f64,
) -> Vec<Diagnostic> {
    let asked = |d: &&Demand| matches!(d.what, Bounded::Epsilon { .. });
    if !program.demands.iter().any(|d| asked(&d)) {
        return Vec::new();
    }
    let places = places();
    let line_of = |site: u32| places.get(site as usize).copied().unwrap_or(0);
    let privacy = Privacy::of(words, &line_of, failure);
    program.demands.iter().filter(asked).filter_map(|d| refused(d, privacy.as_ref())).collect()
}

fn refused(demand: &Demand, privacy: Option<&Privacy>) -> Option<Diagnostic> {
    let Bounded::Epsilon { delta, rounds } = demand.what else { return None };
    let over = if rounds == 1 { "one round".into() } else { format!("{rounds} rounds") };
    let bound = demand.bound;
    let new = |title: String, label: String| {
        Some(Diagnostic::error(codes::CERTIFICATE, title, demand.span, label))
    };
    let Some(privacy) = privacy else {
        let title = "epsilon is demanded of a program without noise".to_string();
        let d = new(title, "nothing hides what a client gives".into())?;
        return Some(d.hint("draw noise with `sample z: .. from gaussian(sigma);` and add it"));
    };
    let loss = privacy.loss.as_ref();
    match loss.and_then(|l| l.epsilon(rounds, delta)) {
        Some(epsilon) if epsilon <= bound => None,
        Some(epsilon) => {
            let found = at_most(epsilon, 3);
            let title = format!(
                "epsilon is {found} at delta {delta:e} over {over}, and {bound} is demanded"
            );
            let d = new(title, format!("what follows is {found}"))?;
            Some(
                privacy
                    .weakest()
                    .map_or(d.clone(), |n| d.hint(format!("{}. {}", n.change(), n.advice()))),
            )
        }
        None => {
            let title = format!(
                "no epsilon is known at delta {delta:e} over {over}, and {bound} is demanded"
            );
            let d = new(title, "nothing that is proven bounds it".into())?;
            Some(privacy.why_none(rounds, delta).into_iter().fold(d, Diagnostic::hint))
        }
    }
}

#[cfg(test)]
mod tests;
