//! The functions of family T2, one entry for each: whether there is a protocol for an operand.

use super::elementary::Masked;
use super::pieces::{self, Pieces, Smooth};
use crate::cost::Tuning;
use crate::lower::common::elementary::{self, Arithmetic, K, Operand};
use crate::lower::common::masked::split;
use crate::lower::emit::{Emit, trial};
use crate::lower::facts::Facts;
use crate::lower::t1::{self, elementary::Replicated};
use crate::lower::{Family, Target};
use slvr_circuit::{Dom, Hold};
use slvr_graph::analysis::behind::unshaped;
use slvr_graph::analysis::softmax::Softmax;
use slvr_graph::analysis::zeros::vanishes;
use slvr_graph::graph::{Function, NodeId};

/// A protocol for a function of one node's operand.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// e^x for x <= 0, of an operand of so many fraction bits, with this smallest raw value, in so many bits with its
    /// sign and what is added. It leaves a pair, in the ring of the result.
    Exponential((u32, f64, u32)),
    /// By polynomials on pieces of an interval. It leaves a split, in the ring of the pieces.
    Pieces(Pieces),
    /// By the position of the operand's top bit. It leaves a split, in the ring of the result.
    Normalised,
}

/// The protocol for a node, if there is one that takes less time than that of family T1, and the ring that its operand
/// is read in.
pub fn choose(
    facts: &Facts<'_>,
    id: NodeId,
    function: Function,
    tuning: Tuning,
) -> Option<(u32, Protocol)> {
    if facts.rings.fixed().is_some() {
        return None;
    }
    let pieces = match function {
        Function::ExpNonPositive => return exponential(facts, id),
        Function::Recip => reciprocal(facts, id, tuning),
        Function::Tanh => tangent(facts, id, tuning),
        Function::Exp | Function::Sqrt | Function::RecipSqrt | Function::Log => None,
    };
    let pieces = pieces.map(|(time, pieces)| {
        (time, (facts.rings.of(facts.graph.arg(id, 0)), Protocol::Pieces(pieces)))
    });
    let normalised = normalised(facts, id, function, tuning);
    let normalised = normalised.map(|time| (time, (K, Protocol::Normalised)));
    let best = [pieces, normalised].into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0));
    let by_t1 = || {
        let arg = facts.graph.arg(id, 0);
        time_of(tuning, |e| {
            let x = e.input(true, Dom::Ring(K), facts.graph.shape(arg).to_vec());
            t1::functions::emit(e, function, facts.operand(arg, x));
        })
    };
    best.filter(|(time, _)| *time <= by_t1()).map(|(_, protocol)| protocol)
}

/// The seconds of a macro.
fn time_of(tuning: Tuning, make: impl FnOnce(&mut Emit)) -> f64 {
    let (rounds, bits) = trial(Target::SemiHonest(Family::T2(tuning)), make);
    tuning.time(rounds, bits, 1)
}

/// The time of a function that is made by the position of its operand's top bit; `None` if it is not.
fn normalised(facts: &Facts<'_>, id: NodeId, function: Function, tuning: Tuning) -> Option<f64> {
    let arg = facts.graph.arg(id, 0);
    let mut made = None;
    let time = time_of(tuning, |e| {
        let x = e.input(true, Dom::Ring(K), facts.graph.shape(arg).to_vec());
        let x = facts.operand(arg, split(e, x, 1));
        let of = &mut Masked { emit: e, tuning };
        made = elementary::function(of, function, &x, facts.rings.of(id));
    });
    made.map(|_| time)
}

/// Whether a quotient takes less time in this family than in T1.
pub fn divides(facts: &Facts<'_>, id: NodeId, tuning: Tuning) -> bool {
    let g = facts.graph;
    let args = [g.arg(id, 0), g.arg(id, 1)];
    let vanishes = vanishes(g, args[0], args[1]);
    let inputs =
        |e: &mut Emit| args.map(|x| e.input(facts.is_secret(x), Dom::Ring(K), g.shape(x).to_vec()));
    let by_t2 = time_of(tuning, |e| {
        let [x, y] = inputs(e).map(|x| {
            let x = if e.ty(x).hold == Hold::Public { e.share_public(x) } else { x };
            split(e, x, 1)
        });
        let x = Operand { vanishes, ..facts.operand(args[0], x) };
        let of = &mut Masked { emit: e, tuning };
        elementary::divide(of, &x, &facts.operand(args[1], y), facts.rings.of(id));
    });
    let by_t1 = time_of(tuning, |e| {
        let [x, y] = inputs(e);
        let x = Operand { vanishes, ..facts.operand(args[0], x) };
        elementary::divide(&mut Replicated(e), &x, &facts.operand(args[1], y), K);
    });
    by_t2 <= by_t1
}

fn exponential(facts: &Facts<'_>, id: NodeId) -> Option<(u32, Protocol)> {
    let arg = facts.graph.arg(id, 0);
    let frac = facts.graph.frac_of(arg);
    // With its sign and what is added, and the window's twice 16.
    let width = (facts.ranges.bits(arg) + 1).max(frac + 7);
    let own = facts.rings.of(arg);
    let ring = if width > own { 64 } else { own };
    let (least, _) = facts.ranges.raw[arg.index()];
    let fits = (5..=24).contains(&frac) && width <= ring;
    fits.then_some((ring, Protocol::Exponential((frac, least, width))))
}

/// Where the operand is known to be in an interval that takes few pieces.
fn reciprocal(facts: &Facts<'_>, id: NodeId, tuning: Tuning) -> Option<(f64, Pieces)> {
    let g = facts.graph;
    let arg = g.arg(id, 0);
    let frac = facts.graph.frac_of(arg);
    let one = f64::from(frac).exp2();
    let (lo, hi) = facts.ranges.raw[arg.index()];
    // One term is 1, less the error of an exponential. A factor before its operand enlarges the error.
    let has_one =
        Softmax::of(g, unshaped(g, arg), true).is_some_and(|softmax| softmax.factor == 1.0);
    let lo = if has_one { lo.max(one - 8.0) } else { lo };
    // Beyond, pieces are not the way.
    if lo < one / 16.0 || hi > 256.0 * lo {
        return None;
    }
    by_pieces(facts, id, tuning, |to| pieces::recip(lo, hi, frac, to))
}

/// Where the operand is known to be in an interval no longer than that from -16 to 16.
fn tangent(facts: &Facts<'_>, id: NodeId, tuning: Tuning) -> Option<(f64, Pieces)> {
    let arg = facts.graph.arg(id, 0);
    let frac = facts.graph.frac_of(arg);
    let (lo, hi) = facts.ranges.raw[arg.index()];
    if hi - lo > 32.0 * f64::from(frac).exp2() {
        return None;
    }
    by_pieces(facts, id, tuning, |to| tanh_pieces(lo, hi, frac, to))
}

/// tanh x for x in lo..hi, with the fraction bits of x: 1.5 ulp.
pub fn tanh_pieces(lo: f64, hi: f64, frac: u32, to: u32) -> Option<Pieces> {
    let one = f64::from(frac).exp2();
    let value = |x: f64| (x / one).tanh() * one;
    Pieces::fit(&Smooth { lo: lo as i64, hi: hi as i64, value: &value, tolerance: &|_| 0.5 }, to)
}

/// Pieces for a result in a ring of so many bits, and the time that they take.
fn by_pieces(
    facts: &Facts<'_>,
    id: NodeId,
    tuning: Tuning,
    fit: impl Fn(u32) -> Option<Pieces>,
) -> Option<(f64, Pieces)> {
    let (g, k) = (facts.graph, facts.rings.of(id));
    // In the largest ring that it is read in, where that costs less than a lift.
    let asked = g.users(id).iter().copied().map(|u| facts.rings.of(u)).fold(k, u32::max).min(64);
    let fitted = [k, asked].into_iter().filter_map(|to| {
        let pieces = fit(to)?;
        let time = time_of(tuning, |e| {
            let arg = g.arg(id, 0);
            let x = e.input(true, Dom::Ring(facts.rings.of(arg)), g.shape(arg).to_vec());
            let x = split(e, x, 1);
            let y = pieces.eval(e, &x);
            Masked { emit: e, tuning }.convert(y, asked);
        });
        Some((time, pieces))
    });
    fitted.min_by(|a, b| a.0.total_cmp(&b.0))
}
