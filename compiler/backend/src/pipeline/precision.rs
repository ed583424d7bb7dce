//! How many fraction bits the values get of which precision is wanted (`passes/precision.rs` of the graph): as many as
//! cost nothing that the program did not pay with [`FRACTION`] bits for all.
//!
//! One number of bits for all values would drown small updates, or make the words of networks longer. Levels are few,
//! so whole circuits are compared, and nothing is chosen for single values. From the finest level down, the first is
//! taken
//!
//! - for which every value fits a ring, and no more values take words of 128 bits;
//! - at which activations are cut no lower;
//! - and, where a client gives long vectors, for which the words that are sent are no longer, unless that is asked for
//!   ([`Fine::All`]).

use super::Options;
use crate::lower::Family;
use slvr_graph::analysis::guard::{self, Guard, Long};
use slvr_graph::analysis::ranges::{Basis, Ranges};
use slvr_graph::analysis::rings::Rings;
use slvr_graph::graph::{Graph, Input, NodeId, Op};
use slvr_graph::passes::saturation::{self, Fitted};
use slvr_graph::passes::{self, FINEST, FRACTION, Level};
use slvr_language::diagnostic::Diagnostic;
use slvr_language::syntax::ast::Secrecy;

/// Words of long vectors may be longer by one part in so many, for what is sent of scalars.
const PART: u64 = 50;

/// Which values may have more than [`FRACTION`] fraction bits, of those of which precision is wanted
/// ([`slvr_graph::passes`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fine {
    Nothing,
    /// Those for which no long vector is sent in longer words, nor truncated for a network.
    #[default]
    Short,
    /// All of them: long vectors, too, at a price.
    All,
}

/// How a program is compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct How<'a> {
    /// How long vectors are enforced.
    pub long: Option<Long>,
    pub options: Options,
    /// The most fraction bits that each input may have, by index; empty for no such limits.
    pub caps: &'a [u32],
}

impl How<'_> {
    fn rings(&self, graph: &Graph, ranges: &Ranges) -> Rings {
        Rings::new(graph, ranges, self.options.ring, self.options.target.lowered_by() != Family::T1)
    }
}

/// A graph with scales and cuts.
pub(super) struct Scaled {
    /// What every value fits.
    pub fitted: Fitted,
    /// How its inputs are enforced.
    pub guards: Vec<Guard>,
    /// The most fraction bits that a value has before it is multiplied.
    pub level: Level,
}

impl Scaled {
    /// Whether no input has fewer fraction bits than another time.
    fn is_no_coarser_than(&self, other: &Scaled) -> bool {
        let (own, other) = (&self.fitted.graph.inputs, &other.fitted.graph.inputs);
        own.iter().zip(other).all(|(own, other)| own.frac >= other.frac)
    }

    fn of(basis: &Basis<'_>, level: Level, how: How<'_>) -> Result<Scaled, Vec<Diagnostic>> {
        let guards = guard::guards(basis.graph(), how.long);
        let most = how.options.ring.unwrap_or(128);
        let fitted = saturation::fit(basis, &guards, most).map_err(|d| vec![*d])?;
        Ok(Scaled { fitted, guards, level })
    }
}

/// The finest scales of a graph without any; `coarse` is the graph with [`FRACTION`] bits everywhere.
///
/// # Errors
///
/// The first value that does not fit.
pub(super) fn finest(
    unscaled: &Graph,
    coarse: &Basis<'_>,
    how: How<'_>,
) -> Result<Scaled, Vec<Diagnostic>> {
    let base = base(unscaled, coarse, how)?;
    if how.options.fine == Fine::Nothing {
        return Ok(base);
    }
    let options = Options { fine: Fine::Short, ..how.options };
    let short = finer(unscaled, coarse, How { options, ..how }, &base);
    let finest = match how.options.fine {
        // What is asked for long vectors takes nothing from others.
        Fine::All => finer(unscaled, coarse, how, &base)
            .filter(|all| short.as_ref().is_none_or(|short| all.is_no_coarser_than(short)))
            .or(short),
        Fine::Short | Fine::Nothing => short,
    };
    let finest = finest.unwrap_or(base);
    Ok(for_comparisons(unscaled, coarse, how, &finest).unwrap_or(finest))
}

/// With [`FRACTION`] bits; factors of normalisations have more where that costs nothing.
fn base(unscaled: &Graph, coarse: &Basis<'_>, how: How<'_>) -> Result<Scaled, Vec<Diagnostic>> {
    let base = Scaled::of(coarse, Level::COARSE, how);
    if !passes::normalises(unscaled) {
        return base;
    }
    let level = Level { factors: false, ..Level::COARSE };
    let graph = passes::scaled(unscaled, &level, |_, _| {}).map_err(|d| vec![*d])?;
    let plain = Scaled::of(&coarse.version(&graph), level, how)?;
    let weight = |s: &Scaled| Weight::of(&s.fitted, how);
    let fits = |base: &Scaled| weight(base).is_no_more_than(&weight(&plain));
    Ok(base.ok().filter(fits).unwrap_or(plain))
}

/// The same with more bits for what is rounded on its way to comparisons, if that costs nothing.
fn for_comparisons(
    unscaled: &Graph,
    coarse: &Basis<'_>,
    how: How<'_>,
    found: &Scaled,
) -> Option<Scaled> {
    if !passes::rounds_for_comparisons(unscaled) {
        return None;
    }
    let level = Level { compared: true, ..found.level.clone() };
    let graph = passes::scaled(unscaled, &level, |_, _| {}).ok()?;
    let scaled = Scaled::of(&coarse.version(&graph), level, how).ok()?;
    let all = |s: &Scaled| Weight {
        sent: Some(Weight::sent(&s.fitted, how)),
        ..Weight::of(&s.fitted, how)
    };
    let (own, least) = (all(&scaled), all(found));
    (own.is_no_more_than(&least) && own.sent <= least.sent).then_some(scaled)
}

/// The finest scales that cost nothing beyond those that all have [`FRACTION`] bits, if there are any.
fn finer(unscaled: &Graph, coarse: &Basis<'_>, how: How<'_>, base: &Scaled) -> Option<Scaled> {
    let least = Weight::of(&base.fitted, how);
    let coarsest = coarse.graph().inputs.iter().map(|i| i.frac).collect();
    let mut tried: Vec<Vec<Option<u32>>> = vec![coarsest];
    (FRACTION + 1..=FINEST).rev().find_map(|most| {
        let long = how.options.fine == Fine::All;
        let level = Level { most, long, caps: how.caps.to_vec(), ..base.level.clone() };
        let graph = passes::scaled(unscaled, &level, |_, _| {}).ok()?;
        let inputs: Vec<Option<u32>> = graph.inputs.iter().map(|i| i.frac).collect();
        if tried.contains(&inputs) {
            return None;
        }
        tried.push(inputs);
        let scaled = Scaled::of(&coarse.version(&graph), level, how).ok()?;
        Weight::of(&scaled.fitted, how).is_no_more_than(&least).then_some(scaled)
    })
}

/// What values take.
struct Weight {
    top: Option<u32>,
    /// Words of more than 64 bits.
    wide: u64,
    /// Bits of words that are sent, if a client gives long vectors and that may not cost more.
    sent: Option<u64>,
}

impl Weight {
    fn of(fitted: &Fitted, how: How<'_>) -> Weight {
        let Fitted { graph, ranges, cut } = fitted;
        let rings = how.rings(graph, ranges);
        let secret = |id: &NodeId| graph.ty(*id).secrecy == Secrecy::Secret;
        let words = |id: NodeId| (graph.elements(id), u64::from(rings.of(id)));
        let all = |i: &Input| i.shape.iter().product::<u64>() > guard::COMPARED;
        let longs = graph
            .inputs
            .iter()
            .any(|i| i.from.set().is_some() && guard::norm_limit(i).is_some() && all(i));
        Weight {
            top: cut.map(|c| c.top),
            wide: graph.ids().filter(secret).map(words).filter(|w| w.1 > 64).map(|w| w.0).sum(),
            sent: (longs && how.options.fine != Fine::All).then(|| Weight::sent(fitted, how)),
        }
    }

    /// Bits of words that are sent.
    fn sent(Fitted { graph, ranges, .. }: &Fitted, how: How<'_>) -> u64 {
        let rings = how.rings(graph, ranges);
        let secret = |id: &NodeId| graph.ty(*id).secrecy == Secrecy::Secret;
        let talks = |id: &NodeId| {
            let secrets = graph.args(*id).iter().filter(|a| secret(a)).count();
            let opened = graph.is_output(*id);
            opened || matches!(graph.op(*id), Op::Input(_)) || graph.op(*id).talks(secrets)
        };
        let words = |id: NodeId| graph.elements(id) * u64::from(rings.of(id));
        graph.ids().filter(secret).filter(talks).map(words).sum()
    }

    fn is_no_more_than(&self, base: &Weight) -> bool {
        let top = |w: &Weight| w.top.unwrap_or(u32::MAX);
        let sent = match (self.sent, base.sent) {
            (Some(own), Some(base)) => own <= base + base / PART,
            _ => true,
        };
        top(self) >= top(base) && self.wide <= base.wide && sent
    }
}
