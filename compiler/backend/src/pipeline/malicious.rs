//! From a graph to a circuit against a malicious party.

use super::{Options, segments, unproven};
use crate::cost::{self, Tuning};
use crate::lower::{Draft, Family, Target, malicious};
use crate::schedule::{self, Checks};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, Security, proof};
use slvr_graph::graph::Graph;
use slvr_language::diagnostic::Diagnostic;

/// The circuit of what a graph is lowered to. For family T2 that of the family that takes less time.
pub fn circuit(
    graph: &Graph,
    lower: impl Fn(Target) -> Result<Draft, Vec<Diagnostic>>,
    family: Family,
    options: Options,
) -> Result<Circuit, Vec<Diagnostic>> {
    if let Some(state) = graph.outputs.iter().find(|o| o.state.is_some()) {
        let at = graph.sites[state.site as usize].span;
        let why = format!("nothing proves what a party keeps of the state `{}`", state.name);
        return Err(vec![unproven(&why, at, "this")]);
    }
    let proven = |family| {
        let draft = malicious::proven(lower(Target::Malicious(family))?).map_err(|refused| {
            let span = graph.sites.get(refused.site as usize).map(|s| s.span);
            vec![unproven(&refused.to_string(), span.unwrap_or_default(), "this")]
        })?;
        Ok(placed(graph, draft, options))
    };
    let circuit = match family {
        Family::T1 => proven(Family::T1),
        Family::T2(tuning) => faster(proven(Family::T1), proven(family), tuning),
    };
    // A budget gets as many proofs as it takes.
    if options.memory.is_some() { circuit } else { circuit.map(segments::lightened) }
}

/// Of the circuits of both families the one that takes less time, of those that are proven.
fn faster(
    t1: Result<Circuit, Vec<Diagnostic>>,
    t2: Result<Circuit, Vec<Diagnostic>>,
    tuning: Tuning,
) -> Result<Circuit, Vec<Diagnostic>> {
    // Functions that an owner evaluates by itself have no statement, but for the codes of comparisons.
    let (t1, t2) = match (t1, t2) {
        (Ok(t1), Ok(t2)) => (t1, t2),
        (t1, Err(_)) if t1.is_ok() => return t1,
        (_, t2) => return t2,
    };
    // What is on its way before an opening, about what comes after it, has no proof.
    let is_proven = proof::check(&t2).is_ok();
    let seconds = |c: &Circuit| cost::seconds_with_proofs(c, tuning);
    Ok(if !is_proven || seconds(&t1) < seconds(&t2) { t1 } else { t2 })
}

/// The circuit of a draft in the layers of fewest rounds.
fn placed(graph: &Graph, draft: Draft, options: Options) -> Circuit {
    let guarded = |c: Circuit| Circuit { security: Security::Malicious, ..c };
    // The last checks save a proof, the early ones a part of a repetition.
    let is_wanted =
        |checks: &Checks| options.speculate && options.checks.is_none_or(|only| only == *checks);
    let speculative = |checks| schedule::speculative(graph, draft.clone(), checks);
    let placements = [Checks::AtOnce, Checks::Last].into_iter().filter(is_wanted);
    let ahead: Vec<Circuit> = placements.filter_map(speculative).map(guarded).collect();
    let waiting = schedule::together(graph, draft.clone());
    let waiting = guarded(waiting.unwrap_or_else(|| schedule::schedule(graph, draft)));
    // None of a circuit that is not proven.
    let rounds = |c: &Circuit| proof::check(c).is_ok().then(|| Traffic::of(c).rounds);
    let most = rounds(&waiting);
    let fits = |c: &Circuit| {
        options.memory.is_none_or(|budget| segments::fits_repeated(c.clone(), budget))
    };
    let counted = ahead.into_iter().filter_map(|c| Some((rounds(&c)?, c)));
    let better = counted.filter(|(n, c)| most.is_none_or(|most| *n < most) && fits(c));
    // Of equals the first, which is the early one.
    better.min_by_key(|(n, _)| *n).map_or(waiting, |(_, c)| c)
}
