//! How inputs are encoded, decided once for a task in whose rounds some of the clients may be missing.
//!
//! Clients deal their inputs before anybody knows how many of them will come. So the circuits for each number of
//! clients have to take the same words. Three things in how an input is dealt may depend on that number:
//!
//! - its fraction bits: as many as cost the circuit nothing (`precision`);
//! - for long vectors of weights, the means by which their range is enforced: those that are lifted are dealt in
//!   another ring ([`Guard::Lift`](slvr_graph::analysis::guard::Guard::Lift));
//! - its shape and its range, if the program says so.
//!
//! For the first two [`common`] finds what all circuits take. Each input has the most fraction bits that are within
//! what every number admits, which is a fixed point: with fewer bits for one input, a circuit may admit other ones for
//! the next. A long vector is dealt in the way that serves most numbers. What the program itself makes depend on the
//! number cannot be helped: there is no circuit for these numbers. All other words are dealt in 64 bits, and each
//! circuit narrows them to what it computes in. The alternatives were uploads in all encodings, and another round of
//! messages with every client.

use super::encoding::{Encoding, apart, bits_of};
use super::precision::{How, finest};
use super::{Options, compile_encoded, distinct, unseen, weight};
use crate::lower::stated::STATED;
use rayon::prelude::*;
use slvr_graph::analysis::guard::Long;
use slvr_graph::analysis::ranges::Basis;
use slvr_graph::analysis::stated::StatedErrors;
use slvr_graph::graph::{self, Giver, Graph, Input};
use slvr_graph::passes::{self, Level};
use slvr_language::diagnostic::Diagnostic;
use slvr_language::source::Sources;
use slvr_language::types::Program;

/// A program for one number of clients.
pub type Sized<'a> = (&'a Program, &'a Sources);

/// What a program makes of an input, whatever the precision.
fn differs(a: &Input, b: &Input) -> Option<String> {
    let name = &b.name;
    if (&a.name, a.from, a.elem) != (&b.name, b.from, b.elem) {
        return Some(format!("`{name}` is `{}` for others", a.name));
    }
    // Who takes part is nobody's input.
    let sized = !matches!(a.from, Giver::Present(_));
    if sized && a.shape != b.shape || a.fields != b.fields || a.one_hot != b.one_hot {
        return Some(format!(
            "`{name}` has {} numbers, and {} for others",
            b.shape.iter().product::<u64>(),
            a.shape.iter().product::<u64>()
        ));
    }
    (a.range != b.range).then(|| {
        let said = |(lo, hi): (f64, f64)| format!("{lo}..{hi}");
        format!("`{name}` is in {}, and in {} for others", said(b.range), said(a.range))
    })
}

/// A program before scales are known.
struct Front {
    unscaled: Graph,
    coarse: Graph,
}

impl Front {
    fn of((program, sources): Sized<'_>) -> Result<Front, Vec<Diagnostic>> {
        let graph = graph::build::build(program, sources)?;
        let unscaled = passes::unscaled(&graph, |_, _| {});
        let coarse = passes::scaled(&unscaled, &Level::COARSE, |_, _| {}).map_err(|d| vec![*d])?;
        Ok(Front { unscaled, coarse })
    }

    /// The finest fraction bits within some limits, of all ways of a kind; nothing if no value fits.
    fn finest(
        &self,
        options: &Options,
        stated: &StatedErrors,
        encoding: &Encoding,
    ) -> Result<Vec<u32>, Vec<Diagnostic>> {
        let basis = Basis::new(&self.coarse, stated);
        let mut best: Option<Vec<u32>> = None;
        let mut refused = Vec::new();
        for (long, _) in distinct(&options.ways(Some(encoding)), &self.coarse) {
            let how = How { long, options: *options, caps: &encoding.bits };
            match finest(&self.unscaled, &basis, how) {
                Ok(scaled) => {
                    let own = bits_of(&scaled.fitted.graph);
                    let all = |bits: &[u32]| bits.iter().sum::<u32>();
                    if best.as_deref().is_none_or(|best| all(best) < all(&own)) {
                        best = Some(own);
                    }
                }
                Err(why) => refused = why,
            }
        }
        best.ok_or(refused)
    }

    /// Whether the means by which long vectors are enforced make a difference.
    fn has_ways(&self) -> bool {
        distinct(&Long::ALL.map(Some), &self.coarse).len() > 1
    }
}

/// Whether an encoding serves a program; if not, why.
pub type Served = Result<(), Vec<Diagnostic>>;

/// The encoding that the programs for all numbers of clients can take, and why some cannot: these are left out of it.
/// The last program is the one for all clients. Nothing if there is no program that fits.
pub fn common(programs: &[Sized<'_>], options: Options) -> (Option<Encoding>, Vec<Served>) {
    let stated = STATED;
    let mut fronts: Vec<Result<Front, Vec<Diagnostic>>> =
        programs.par_iter().map(|p| Front::of(*p)).collect();
    // The inputs are those of the largest number that there is.
    let first =
        fronts.iter().rev().find_map(|f| f.as_ref().ok().map(|f| f.unscaled.inputs.clone()));
    let Some(first) = first else {
        return (None, fronts.into_iter().map(|f| f.map(|_| ())).collect());
    };
    for (front, (program, _)) in fronts.iter_mut().zip(programs) {
        let Ok(own) = front.as_ref().map(|f| &f.unscaled.inputs) else { continue };
        let of = |input: &Input| first.iter().find(|i| i.name == input.name);
        let other = own.iter().find_map(|i| {
            let why =
                of(i).map_or(Some(format!("`{}` is none for others", i.name)), |f| differs(f, i));
            why.map(|why| apart(program, i, why))
        });
        let fewer = || {
            let lost = first.iter().find(|i| own.iter().all(|o| o.name != i.name))?;
            Some(apart(program, lost, format!("`{}` is none here", lost.name)))
        };
        if let Some(d) = other.or_else(fewer) {
            *front = Err(vec![d]);
        }
    }
    let has_ways = options.enforce && fronts.iter().flatten().any(Front::has_ways);
    let kinds = if has_ways { vec![false, true] } else { vec![true] };
    let mut found: Vec<(Encoding, Vec<Served>)> = kinds
        .into_iter()
        .map(|lifted| settled(&fronts, &options, &stated, Encoding { bits: Vec::new(), lifted }))
        .collect();
    let fits = |r: &[Served]| r.iter().filter(|r| r.is_ok()).count();
    found.sort_by_key(|(_, results)| std::cmp::Reverse(fits(results)));
    if let [(a, x), (b, y)] = &found[..]
        && fits(x) == fits(y)
        && let Some(last) = (0..programs.len()).rev().find(|&i| x[i].is_ok() && y[i].is_ok())
    {
        // Both serve as many: as one program alone is compiled.
        let cost = |encoding: &Encoding| {
            let (program, sources) = programs[last];
            let made = compile_encoded(program, sources, options, Some(encoding), unseen).ok()?;
            Some(weight(made.cut, &made.circuit, options))
        };
        let [a, b] = [a, b].map(|e| cost(e).unwrap_or((u32::MAX, u64::MAX)));
        if b < a {
            found.swap(0, 1);
        }
    }
    let Some((encoding, results)) = found.into_iter().next() else { return (None, Vec::new()) };
    let any = results.iter().any(Result::is_ok);
    (any.then_some(encoding), results)
}

/// The finest bits that all programs admit, which fit at all.
fn settled(
    fronts: &[Result<Front, Vec<Diagnostic>>],
    options: &Options,
    stated: &StatedErrors,
    mut encoding: Encoding,
) -> (Encoding, Vec<Served>) {
    loop {
        let found: Vec<Result<Vec<u32>, Vec<Diagnostic>>> = fronts
            .par_iter()
            .map(|front| match front {
                Ok(front) => front.finest(options, stated, &encoding),
                Err(why) => Err(why.clone()),
            })
            .collect();
        let least = found
            .iter()
            .flatten()
            .cloned()
            .reduce(|a, b| a.iter().zip(&b).map(|(a, b)| *a.min(b)).collect());
        let done = found.iter().map(|f| f.as_ref().map(|_| ()).map_err(Clone::clone)).collect();
        match least {
            // No bits were taken away: all have these.
            Some(bits) if bits != encoding.bits => encoding.bits = bits,
            _ => return (encoding, done),
        }
    }
}
