//! A circuit within a budget of memory: the work in as many blocks as that takes, large inputs in parts, more proofs.

use super::{Options, anew, segments, well_formed};
use crate::cost;
use crate::lower::{Family, Target};
use crate::schedule::Loads;
use slvr_circuit::Circuit;
use slvr_circuit::verify::verify;
use slvr_graph::analysis::guard::Guard;
use slvr_graph::graph::Graph;
use slvr_graph::passes::blocks;
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::syntax::ast::Span;

/// Circuits of more blocks are not tried.
const MOST_BLOCKS: u64 = 128;

/// Budgets that are tried where one is too small, each twice as large as the one before.
const DOUBLED: u32 = 8;

/// A graph that is built for a budget of memory.
struct Budgeted<'a> {
    graph: &'a Graph,
    guards: &'a [Guard],
    options: Options,
}

impl Budgeted<'_> {
    /// The circuit in so many blocks.
    fn make(&self, count: u64, options: Options) -> Result<Circuit, Unfit> {
        anew(&blocks::run(self.graph, count), self.guards, options).map_err(Unfit::Refused)
    }

    /// A circuit in which a party takes no more than `budget`, given the one in one block for this budget.
    fn fitting(&self, whole: Circuit, budget: u64) -> Result<Circuit, Unfit> {
        let options = Options { memory: Some(budget), ..self.options };
        let most = blocks::most(self.graph);
        let fitting =
            |whole, options| within(whole, budget, most, |count| self.make(count, options));
        match (fitting(whole, options), options.target.masked()) {
            // T1 keeps fewer values until they are proven.
            (Err(Unfit::Memory(least)), Some(_)) => {
                let options = Options { target: Target::Malicious(Family::T1), ..options };
                match self.make(1, options).and_then(|whole| fitting(whole, options)) {
                    Err(Unfit::Memory(other)) => Err(Unfit::Memory(least.min(other))),
                    Err(Unfit::Refused(_)) => Err(Unfit::Memory(least)),
                    fits => fits,
                }
            }
            (blocked, _) => blocked,
        }
    }

    /// Bytes that are enough, where `budget` is not and `least` is what was found: a circuit was made that takes no
    /// more. Not always the fewest bytes that are, because not all circuits are tried.
    fn enough(&self, whole: &Circuit, budget: u64, least: u64) -> Option<u64> {
        let t1 = Options { target: Target::Malicious(Family::T1), ..self.options };
        let other = self.options.target.masked().and_then(|_| self.make(1, t1).ok());
        let mut fewer = least;
        for circuit in [Some(whole), other.as_ref()].into_iter().flatten() {
            fewer = segments::fewest(circuit, budget, fewer);
        }
        let doubled = (0..DOUBLED).map(|n| least.saturating_mul(1 << n));
        let is_enough = |&bytes: &u64| {
            let options = Options { memory: Some(bytes), ..self.options };
            let whole = self.make(1, options);
            whole.and_then(|whole| self.fitting(whole, bytes)).is_ok()
        };
        // What it takes without a budget is enough.
        let without = self.make(1, Options { memory: None, ..self.options });
        let without = without.map_or(fewer, |circuit| cost::memory_at_most(&circuit));
        let tried = [fewer, without].into_iter().chain(doubled);
        let mut tried: Vec<u64> = tried.map(rounded).collect();
        tried.sort_unstable();
        tried.into_iter().filter(|&bytes| bytes > budget).find(is_enough)
    }
}

/// The circuit of a graph within a budget of memory, given the one in one block.
///
/// # Errors
///
/// That none was found, and what budget is enough.
pub(super) fn within_budget(
    (graph, guards): (&Graph, &[Guard]),
    whole: Circuit,
    budget: u64,
    options: Options,
) -> Result<Circuit, Vec<Diagnostic>> {
    let at = graph.outputs.first().map(|o| graph.sites[o.site as usize].span);
    let budgeted = Budgeted { graph, guards, options };
    let blocked = budgeted.fitting(whole.clone(), budget).map_err(|unfit| match unfit {
        Unfit::Memory(least) => {
            let enough = budgeted.enough(&whole, budget, least);
            let refused = beyond(options.target, budget, enough, at.unwrap_or_default());
            vec![refused.hint(left(&whole))]
        }
        Unfit::Refused(why) => why,
    })?;
    well_formed(graph, &blocked)?;
    Ok(blocked)
}

/// Why there is no circuit within a budget.
enum Unfit {
    /// The least bytes that were found.
    Memory(u64),
    /// It cannot be made.
    Refused(Vec<Diagnostic>),
}

/// The circuit in the fewest blocks, of those tried, in which a party's values take no more than
/// `budget` bytes at any time; given the one in one block. Against a malicious party more proofs are tried before more
/// blocks.
fn within(
    whole: Circuit,
    budget: u64,
    most: u64,
    make: impl Fn(u64) -> Result<Circuit, Unfit>,
) -> Result<Circuit, Unfit> {
    let mut circuit = whole;
    let mut count = 1u64;
    let mut least = u64::MAX;
    let mut in_vain = 0;
    loop {
        let peak = match within_parts(circuit, budget) {
            Ok(circuit) => return Ok(circuit),
            Err(peak) => peak,
        };
        // What more blocks do not make smaller is not in blocks.
        let smaller = peak < least - least / 100;
        in_vain = if smaller { 0 } else { in_vain + 1 };
        least = least.min(peak);
        // Half as many more at least: circuits grow with the number of blocks.
        count += (count / 2).max(1);
        if in_vain == 3 || count > most.min(MOST_BLOCKS) {
            return Err(Unfit::Memory(least));
        }
        circuit = make(count)?;
    }
}

/// The circuit if a party's values take no more than `budget` bytes: as it is, or with its large inputs loaded in
/// parts, which takes no rounds.
///
/// # Errors
///
/// The least bytes that were found.
pub(super) fn within_parts(circuit: Circuit, budget: u64) -> Result<Circuit, u64> {
    let loads = Loads::of(&circuit);
    let most = loads.most();
    let mut fits = segments::fitting(circuit.clone(), budget);
    let mut count = 1;
    while let Err(least) = fits {
        count = most.min(2 * count).max(count + 1);
        let parts = if count > most { None } else { loads.in_parts(count) };
        // A proof may be about a whole of what is in parts here.
        let Some(parts) = parts.filter(|c| verify(c).is_ok()) else { return Err(least) };
        fits = segments::fitting(parts, budget).map_err(|other| least.min(other));
    }
    fits
}

/// No circuit was found for a budget; `enough` bytes are, if that is known.
fn beyond(target: Target, budget: u64, enough: Option<u64>, at: Span) -> Diagnostic {
    let what = match target {
        Target::SemiHonest(_) => "the values of a party",
        Target::Malicious(_) => "the values of a party, with the vectors of its proofs,",
    };
    let enough = enough.map_or(String::new(), |bytes| format!("; {} is enough", sized(bytes)));
    Diagnostic::error(
        codes::SIZE,
        format!("no circuit was found in which {what} take at most {}{enough}", sized(budget)),
        at,
        "to compute this",
    )
    .hint("give a larger --memory, or use smaller sizes: fewer clients, samples or weights")
}

/// Where most of the values are made that a party holds at the peak, with as little as possible of the inputs.
fn left(whole: &Circuit) -> String {
    let loads = Loads::of(whole);
    let parts = loads.in_parts(loads.most());
    let circuit = parts.filter(|c| verify(c).is_ok()).unwrap_or_else(|| whole.clone());
    let held = cost::Cost::of(&circuit).peak_by_site;
    let most = held.iter().zip(&circuit.sites).max_by_key(|(bytes, _)| **bytes);
    let (bytes, site) = most.map_or((0, "nothing".into()), |(bytes, site)| {
        (*bytes, format!("`{}`, line {}", site.name, site.line))
    });
    format!("in one block, most of the values at the peak are of {site}: {}", sized(bytes))
}

/// What one stands for in the last of three digits.
fn step(bytes: u64) -> u64 {
    10u64.pow(bytes.checked_ilog10().unwrap_or(0).saturating_sub(2))
}

/// Bytes as they are said, in three digits and the units of a report: no more than there are.
fn sized(bytes: u64) -> String {
    let said = (bytes - bytes % step(bytes)) as f64;
    let (scale, unit) = match bytes {
        0..1_000 => return format!("{bytes} bytes"),
        1_000..1_000_000 => (1e3, "kB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    let digits = match said / scale {
        x if x < 10.0 => 2,
        x if x < 100.0 => 1,
        _ => 0,
    };
    format!("{:.digits$} {unit}", said / scale)
}

/// The next number of bytes that is said as it is.
fn rounded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(step(bytes)).unwrap_or(bytes)
}
