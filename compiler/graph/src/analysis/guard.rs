//! How the declared range of each input is enforced, and what is then known of it.
//!
//! | input | how | what holds after it, whoever gave the input |
//! |---|---|---|
//! | a state | the round that stored it kept it in the range | the range |
//! | public | parties compare hashes before they start; the reader refuses values outside | the range |
//! | `bit` | dealt as a shared bit | 0 or 1 |
//! | a class label | dealt as bits, exactly one per label is checked to be set | one-hot |
//! | other numbers | two comparisons per element | the range |
//! | more than [`COMPARED`] weights, by projections | inner products with public random signs are short | a norm, [`projection`](super::projection) |
//! | more than [`COMPARED`] weights, by upload | dealt in Z_2^32 and lifted exactly | 3 times the range, its end rounded up to a power of two |
//!
//! Comparing is exact, but costs more bits for an element than an upload of 32 bits, and than projections, whose cost
//! is the same for any length. A sum of squares alone would prove nothing, because it wraps.
//!
//! The last two are alternatives for the same input ([`Long`]). They change bounds, and so rings, cuts and costs of all
//! that is behind them, so no rule on the input can decide. The pipeline compiles all and keeps, among those whose
//! ranges fit, what changes fewest values and then takes least time.
//!
//! A client that fails has all its inputs replaced by zeros, publicly, or another circuit is run without it. To gate
//! its inputs by a secret bit, or to carry who is in through every sum, rank and divisor, would cost every round, and
//! a client that fails is rare. The opened bit says nothing of honest clients, unless one of them fails.
//!
//! Weights also have a norm: [`norm_limit`]. It is the largest Euclidean length that an honest
//! client's weights have, and what the projections are made for. Bounds that follow from ranges alone grow with the
//! number of weights, layer by layer.

use super::interval::{Interval, hull, scaled, size};
use super::projection::{Plan, plan};
use crate::graph::{FRACTION, Giver, Graph, Input};
use slvr_language::types::Elem;

/// Vectors of at most this many weights are compared element by element.
pub const COMPARED: u64 = 256;
/// Honest weights are as long as this many elements at the end of the range would make them: for
/// -8..8 and a thousand weights or more, 256.
const NORM_ELEMENTS: u64 = 1024;
/// Statistical security of the projections of one input, in bits, over all clients: the two together
/// stay below 2^-40 for two such inputs.
pub const SOUNDNESS_BITS: u32 = 42;
/// Honest clients at the limit fail with at most 2^-this, over all clients.
pub const HONEST_BITS: u32 = 42;
/// Ring of a small upload, in bits.
pub const UPLOAD: u32 = 32;

/// How long vectors of weights are enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Long {
    /// By projections that prove a norm of at most so many tenths of their threshold. The larger, the fewer it
    /// takes; the smaller, the smaller are the values of a deep network.
    Project(u32),
    /// By a small upload ring and an exact lift.
    Lift,
}

impl Long {
    pub const ALL: [Long; 3] = [Long::Project(25), Long::Project(40), Long::Lift];
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Of each element, raw.
    pub range: Interval,
    /// Of the Euclidean norm of each slice along axis 0, raw.
    pub norm: f64,
    /// Of the Euclidean norm of all elements, raw.
    pub total: f64,
}

/// How one input is enforced.
#[derive(Clone, Debug, PartialEq)]
pub enum Guard {
    Public,
    /// Stored by the parties in an earlier round, which kept it in its range.
    Kept,
    /// Declared ranges are taken on trust: enforcement is off.
    Trusted,
    /// By being a bit.
    Bit,
    /// One bit of each label.
    OneHot,
    /// Element by element: smallest and largest raw value.
    Within(i64, i64),
    Project(Plan),
    /// Dealt in Z_2^32, and lifted.
    Lift {
        /// Bits by which words are shifted up in the small ring.
        shift: u32,
    },
}

/// The largest norm of honest weights, in real units; `None` if the input is no record of weights.
pub fn norm_limit(input: &Input) -> Option<f64> {
    let weights = !input.fields.is_empty() && input.elem == Elem::Fix && input.from.set().is_some();
    let elements = input.shape.iter().product::<u64>().min(NORM_ELEMENTS);
    weights.then(|| size(input.range) * (elements as f64).sqrt())
}

/// How each input of a graph with scales is enforced. `long: None` switches enforcement off.
pub fn guards(graph: &Graph, long: Option<Long>) -> Vec<Guard> {
    graph.inputs.iter().map(|input| guard(graph, input, long)).collect()
}

fn guard(graph: &Graph, input: &Input, long: Option<Long>) -> Guard {
    let set = match input.from {
        Giver::Public | Giver::Present(_) => return Guard::Public,
        Giver::State(_) => return Guard::Kept,
        Giver::Each(set) => set,
    };
    let Some(long) = long else { return Guard::Trusted };
    if input.elem == Elem::Bit {
        return Guard::Bit;
    }
    if input.one_hot.is_some() {
        return Guard::OneHot;
    }
    let unit = graph.input_scale(input);
    // Rounded as an honest client rounds.
    let raw = |x: f64| (x * unit).round_ties_even() as i64;
    let within = Guard::Within(raw(input.range.0), raw(input.range.1));
    let elements: u64 = input.shape.iter().product();
    let Some(norm) = norm_limit(input).filter(|_| elements > COMPARED) else { return within };
    match long {
        Long::Project(tenths) => {
            let clients = graph.parties[set as usize].1;
            let norm = norm * unit + (elements as f64).sqrt();
            let gamma = f64::from(tenths) / 10.0;
            Guard::Project(plan(norm, elements, clients, SOUNDNESS_BITS, HONEST_BITS, gamma))
        }
        Long::Lift => {
            // The largest element is at most 2^30 in the upload ring: the lift is exact below.
            let room = f64::from(UPLOAD - 2) - (size(input.range) * unit).max(1.0).log2();
            match room.floor() as u32 {
                0 => within,
                shift => Guard::Lift { shift },
            }
        }
    }
}

/// What is known of an input once its guard holds.
pub fn bound(graph: &Graph, input: &Input, guard: &Guard) -> Bound {
    let unit = graph.input_scale(input);
    let declared = (input.range.0 * unit, input.range.1 * unit);
    let only = |range| Bound { range, norm: f64::INFINITY, total: f64::INFINITY };
    match guard {
        _ if input.elem == Elem::Bit || input.one_hot.is_some() => only((0.0, 1.0)),
        Guard::Public | Guard::Bit | Guard::OneHot => only(declared),
        // What is stored is rounded within it.
        Guard::Kept => only((declared.0.floor(), declared.1.ceil())),
        Guard::Trusted => {
            let norm = norm_limit(input).map_or(f64::INFINITY, |n| {
                n * unit + (input.shape.iter().product::<u64>() as f64).sqrt()
            });
            Bound { range: declared, norm, total: f64::INFINITY }
        }
        Guard::Within(lo, hi) => only((*lo as f64, *hi as f64)),
        Guard::Project(p) => {
            let (norm, most) = (p.proven_norm, p.proven_element());
            Bound { range: (-most, most), norm, total: f64::INFINITY }
        }
        Guard::Lift { shift } => {
            let most = 3.0 * f64::from(UPLOAD - 2 - shift).exp2() + 1.0;
            only((-most, most))
        }
    }
}

/// Which of two intervals the entries of inputs are taken to be in, before it is known how long vectors are enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// What a run enforces, whoever gave them: for rewrites, which must be right for whatever is admitted.
    Enforced,
    /// What is declared, which of long vectors is less than what is enforced: for choices of scales. Intervals of what
    /// is enforced hold the values that these make to words.
    Declared,
}

impl Entries {
    /// The interval of an input's entries, in real units.
    pub fn of(self, graph: &Graph, input: &Input) -> Interval {
        match self {
            Entries::Enforced => enforced(graph, input),
            Entries::Declared => input.range,
        }
    }
}

/// What a run enforces of the entries of an input, in real units, in whichever way long vectors are enforced and
/// however many fraction bits there are. With more of them ends are rounded by less, and slack for rounding is less; a
/// plan that then proves nothing leaves values that fit no word.
fn enforced(graph: &Graph, input: &Input) -> Interval {
    let coarse = Input { frac: Some(FRACTION), ..input.clone() };
    let real = |long: Long| {
        let bound = bound(graph, &coarse, &guard(graph, &coarse, Some(long)));
        scaled(bound.range, 1.0 / graph.input_scale(&coarse))
    };
    Long::ALL.map(real).into_iter().fold(input.range, hull)
}

/// Bounds of all inputs.
pub fn bounds(graph: &Graph, guards: &[Guard]) -> Vec<Bound> {
    graph.inputs.iter().zip(guards).map(|(i, g)| bound(graph, i, g)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::text::parse;

    /// However many fraction bits an input has and however it is enforced, no entry that passes is beyond what passes
    /// rest on; and entries of a long vector may be beyond what is declared.
    #[test]
    fn what_is_enforced_holds_all_that_is_admitted() {
        for (range, elements) in
            [("-8..8", 3), ("0..1", 256), ("0..1", 257), ("-2..2", 5000), ("-0.1..0.3", 300)]
        {
            let text = format!(
                "graph T\nparties Client[9]\nparties Server[1]\ninput 0 w : secret fix[{elements}] in {range} from each Client \
                 fields a[{elements}]\nsite 0 \"w\" line 1\n%0 = input 0 : secret fix[9,{elements}] @0\n\
                 reveal %0 to Server as y @0\n"
            );
            let mut graph = parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
            let within = Entries::Enforced.of(&graph, &graph.inputs[0]);
            let declared = Entries::Declared.of(&graph, &graph.inputs[0]);
            assert!(within.0 <= declared.0 && declared.1 <= within.1);
            assert_eq!(elements > COMPARED, within.0 < declared.0 - 0.1, "{range} {elements}");
            for frac in FRACTION..=24 {
                graph.frac = Some(frac);
                for long in Long::ALL {
                    let guards = guards(&graph, Some(long));
                    let found = bounds(&graph, &guards)[0].range;
                    let found = scaled(found, (-f64::from(frac)).exp2());
                    assert!(
                        within.0 <= found.0 && found.1 <= within.1,
                        "{range} {elements} {frac} {long:?}: {found:?} in {within:?}"
                    );
                }
            }
        }
    }
}
