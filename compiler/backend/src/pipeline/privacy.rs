//! What noise lets through, in words, and demands on it: `require epsilon(1e-5, 100) <= 8`.

use slvr_graph::analysis::privacy::{Loss, NoiseRow, Obstacle, Privacy, Reason, Words};
use slvr_language::diagnostic::rounding::at_most;
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::noise::Law;
use slvr_language::types::{Bounded, Demand, Program};

/// What noise promises in a compiled predicate; `None` if it has no noise. `line_of` gives the source line of a site,
/// and `failure` is the probability that a run is wrong by more than the certificate says.
pub fn of(words: Words<'_>, line_of: &dyn Fn(u32) -> u32, failure: f64) -> Option<Privacy> {
    Privacy::of(words, line_of, failure, &told)
}

/// Why no epsilon is known.
fn told(why: Reason<'_>) -> String {
    match why {
        Reason::Reused(name) => format!(
            "`{name}` is used more than once, or not by adding it: it hides nothing where two values share it, and \
             not every unit of the grid where it is multiplied"
        ),
        Reason::Repeated(name) => format!(
            "`{name}` has fewer entries than what it is added to: differences of entries that share it have no noise"
        ),
        Reason::Bare(name) => {
            format!("`{name}` is made of what clients gave without noise on its way")
        }
        Reason::Hangs(name, line, why) => format!("`{name}` hangs on line {line}: {}", obstacle(why)),
        Reason::Unprotected => {
            "noise is added to nothing that a set of several members gave, and a single member is not protected".into()
        }
    }
}

fn obstacle(what: Obstacle) -> &'static str {
    match what {
        Obstacle::Selects => {
            "it orders or chooses among values of different clients, so one client can change what all others contribute"
        }
        Obstacle::Combines => {
            "it combines what different clients gave in a way that is no sum, so one client can change what others \
             contribute"
        }
        Obstacle::Kept => {
            "it is kept from earlier rounds, so it hangs on what clients gave in all of them"
        }
        Obstacle::Before => {
            "it computes on what several clients contribute to, before noise is added to it"
        }
    }
}

/// The lines that a report shows.
pub fn lines(privacy: &Privacy) -> Vec<String> {
    let mut out = Vec::new();
    for n in &privacy.noises {
        let (law, scale) = (Law::of(n.law), n.scale);
        let name = law.map_or("scale", Law::scale_name);
        out.push(format!(
            "{}: discrete {} with {name} {scale} on multiples of 2^-{}, {} entries, known to nobody",
            n.name, n.law, n.grid, n.entries
        ));
        out.push(format!(
            "statistical distance at most 2^{} of each entry, 2^{} of all",
            at_most(n.distance_log2, 1),
            at_most(n.all_distance_log2, 1)
        ));
        if let Some(s) = n.sensitivity {
            let norm = if law == Some(Law::Laplace) { "L1" } else { "L2" };
            out.push(format!(
                "one client changes what it is added to by at most {} ({norm}, roundings included)",
                at_most(s, 4)
            ));
        }
    }
    for why in &privacy.unbounded {
        out.push(format!("no epsilon: {why}"));
    }
    for r in &privacy.rounds {
        let rounds = if r.rounds == 1 { "1 round".into() } else { format!("{} rounds", r.rounds) };
        let delta = r.delta;
        match r.epsilon {
            Some(e) => {
                out.push(format!("{rounds}: epsilon {} at delta {delta:.0e}", at_most(e, 3)));
            }
            None => {
                // More rounds have none either.
                let last = privacy.rounds.last().is_some_and(|last| last.rounds == r.rounds);
                let more = if last { "" } else { " and more" };
                let why = no_epsilon(privacy, r.rounds, delta);
                out.push(format!("{rounds}{more}: no epsilon at delta {delta:.0e}: {why}"));
                break;
            }
        }
    }
    if privacy.loss.is_some() {
        out.push(
            "neighbours: a client that takes part, and the same client counted as zeros".into(),
        );
    }
    out
}

/// What one client changes, beside the noise.
fn change(n: &NoiseRow) -> String {
    let scale = Law::of(n.law).map_or("scale", Law::scale_name);
    let line = n.added.map(|l| format!(" (line {l})")).unwrap_or_default();
    format!(
        "one client changes what `{}` is added to{line} by up to {}, which is {} times its {scale}",
        n.name,
        at_most(n.sensitivity.unwrap_or(0.0), 4),
        at_most(n.times(), 2),
    )
}

/// What makes epsilon smaller.
fn advice(n: &NoiseRow) -> &'static str {
    if n.clipped {
        "Fewer rounds, or more noise"
    } else {
        "No vector is cut to a length on its way, so declared ranges are all that bounds it: write \
         `u / max([1, norm(u) / C])` or `u * min([1, C / norm(u)])`, or declare narrower ranges"
    }
}

/// Why the distance of the samplers is more than delta allows.
fn no_epsilon(privacy: &Privacy, rounds: u64, delta: f64) -> String {
    let none = Loss::default();
    let loss = privacy.loss.as_ref().unwrap_or(&none);
    let all = loss.distance * rounds as f64;
    let power = at_most(all.log2(), 1);
    let goes_wrong = format!(
        "with a probability of up to 2^{power} a run is not as its noise promises (the distance of the samplers, and \
         the failure of the certificate)"
    );
    let most = (delta / all - 1.0).ln();
    let law = loss.of_law(rounds, delta);
    // Even an epsilon of 0 takes twice the probability.
    let (true, Some(law), Some(worst)) = (all * 2.0 < delta, law, privacy.weakest()) else {
        return format!(
            "{goes_wrong}, and times 1 + e^epsilon this is more than delta. Fewer rounds, or more noise"
        );
    };
    format!(
        "{}. The noise alone would give epsilon {}, and more than {} is not stated: {goes_wrong}. {}",
        change(worst),
        at_most(law, 1),
        most.floor(),
        advice(worst),
    )
}

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
    let line_of = |site: u32| crate::cost::line_of(&places, site);
    let privacy = of(words, &line_of, failure);
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
                    .map_or(d.clone(), |n| d.hint(format!("{}. {}", change(n), advice(n)))),
            )
        }
        None => {
            let title = format!(
                "no epsilon is known at delta {delta:e} over {over}, and {bound} is demanded"
            );
            let d = new(title, "nothing that is proven bounds it".into())?;
            Some(match loss {
                None => privacy.unbounded.iter().cloned().fold(d, Diagnostic::hint),
                Some(_) => d.hint(no_epsilon(privacy, rounds, delta)),
            })
        }
    }
}

#[cfg(test)]
mod tests;
