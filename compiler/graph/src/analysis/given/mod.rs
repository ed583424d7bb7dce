//! How far a run on **given inputs** may be from the program: a running error bound.
//!
//! The graph is evaluated in floating point, and beside the value of every entry goes a bound on how far the
//! circuit's value of this entry is from it. Unlike [`super::errors`], which bounds all inputs in their ranges at
//! once, every rule here reads the values at hand: a product passes an error on by the other factor's value,
//! not by the end of its interval, and a comparison is in doubt only if its two sides are near each other. The
//! reference is the program in real numbers on the **encoded** inputs, those that are rounded to the grid.
//!
//! A deviation is bounded in two ways, and the smaller bound counts ([`Deviation`]):
//!
//! - **worst**: as if every rounding went as far as it can, in the worst direction.
//! - **noise + rest**: the circuit's value minus the program's is written as L + R. L is a linear form of single
//!   roundings with coefficients that only the program's values determine. The roundings in it are bounded martingale
//!   differences (the file `masks` says which), so L is sub-Gaussian, and by the inequality of Azuma and Hoeffding |L|
//!   <= t s, except with a probability that is added up over all entries ([`FAILURE_LOG2`]). R is what is not linear:
//!   products of two deviations, signs that may differ, roundings of which nothing is known but their size. It is
//!   bounded for the case that all of these bounds on L hold.
//!
//! Let e_1, e_2, ... be the rounding errors in L, in units, in the order in which they come about. Each takes one of
//! two values that are one unit apart. If its mean is 0 given all that came before, then by the lemma of Hoeffding
//! E(exp(t e_k) | e_1 .. e_(k-1)) <= exp(t^2 / 8), so the sum of g_k e_k is sub-Gaussian with variance proxy s^2 = sum
//! g_k^2 / 4, and P(|L| > t s) <= 2 exp(-t^2 / 2). Each entry has two numbers in place of all coefficients: the
//! variance proxy of its *fresh* errors, which no other entry has, and the size s of what it *carries* from further up
//! and may share with others. Fresh errors of different entries add up as squares. What is shared adds up as it is: a
//! sum of sub-Gaussian variables with sizes s_1 and s_2 has the size s_1 + s_2 at most, however they depend on one
//! another. When a product sums over entries, their fresh errors become shared ones.
//!
//! The value v in between is neither the program's nor a run's: it is the graph's, whose factors have 16 significant
//! bits. The same rules are applied twice, once to how far a run is from v, and once to how far the program is from v,
//! where nothing but factors differs. A bound is the sum of the two.
//!
//! Whatever the operands, a run's value is in the interval that [`super::ranges`] proves of its node: it is no further
//! from v than the far end of this interval. So what a loop keeps in a declared range is never off by more than this
//! range is wide. The program, which has other factors, need not be in the interval, but it keeps values in declared
//! ranges as a run does.
//!
//! No rule takes for granted that a comparison falls as in the program: a bit that may differ has a deviation
//! of 1, and what is chosen by it deviates as far as the choice says. So bounds hold without conditions, and
//! decisions are *certified* where their bits have no deviation.
//!
//! | file | has |
//! |---|---|
//! | `deviation.rs` | what is known of a value: the program's, and its deviation |
//! | `masks.rs` | which truncations round as martingale differences |
//! | `context.rs` | what all rules ask of a run |
//! | `rules.rs` | the rule of each operation |
//! | `linear.rs` | sums, products and moved entries |
//! | `point.rs` | what is computed entry by entry: gates, functions, quotients |
//! | `decide.rs` | comparisons, choices and order |
//! | `flips.rs` | which bits depend on decisions that are not certified |
//!
//! May not live here: encoding of inputs, words for people (`slvr_compiler::report`).

mod context;
mod decide;
mod deviation;
mod flips;
mod linear;
mod masks;
mod point;
mod rules;

pub use decide::{Verdict, verdicts};
pub use deviation::{Deviation, Noise, Running};
pub use flips::{Flips, MOST, keeping};
pub use masks::{Rounding, roundings};

use super::behind::{behind, moves_or_rounds};
use super::guard::Guard;
use super::interval::{self, Interval};
use super::stated::StatedErrors;
use super::view::View;
use crate::graph::eval::{self, Coin, EvalError, Inputs};
use crate::graph::{Giver, Graph, NodeId, Op};
use context::Context;
use slvr_language::types::Elem;
use std::sync::Arc;

/// log2 of the probability with which any bound here is exceeded, over all entries of a run.
pub const FAILURE_LOG2: f64 = -60.0;

/// How many times its size a linear form of roundings may be, for so many forms: P(|L| >= t s) <= 2 exp(-t^2 / 2)
/// for each.
pub fn quantile(forms: u64) -> f64 {
    let log = (forms.max(1) as f64).ln() + (1.0 - FAILURE_LOG2) * std::f64::consts::LN_2;
    (2.0 * log).sqrt()
}

/// Inputs as an honest client encodes them: reals rounded to the nearest multiple of the input's unit. States that are
/// not given begin as a run has them.
pub fn encoded(graph: &Graph, inputs: &Inputs) -> Inputs {
    let mut inputs = inputs.clone();
    for input in graph.inputs.iter().filter(|i| i.elem == Elem::Fix) {
        if let Giver::State(start) = input.from {
            let start = || vec![start; input.shape.iter().product::<u64>() as usize];
            inputs.states.entry(input.name.clone()).or_insert_with(start);
        }
        let unit = graph.input_scale(input);
        let all = inputs.sets.iter_mut().flatten().chain([&mut inputs.public, &mut inputs.states]);
        for given in all.filter_map(|m| m.get_mut(&input.name)) {
            given.iter_mut().for_each(|x| *x = (*x * unit).round_ties_even() / unit);
        }
    }
    inputs
}

/// How a run is bounded.
pub struct Given<'a> {
    /// A graph with scales, after all passes.
    pub graph: &'a Graph,
    /// What its protocols state.
    pub stated: &'a StatedErrors,
    /// How inputs are enforced.
    pub guards: &'a [Guard],
    /// Where a run's values are, whatever the inputs: smallest and largest raw value, by index of the node.
    pub raw: &'a [Interval],
    /// Already [`encoded`].
    pub inputs: &'a Inputs,
    pub coin: Coin<'a>,
}

impl Given<'_> {
    /// Bounds every node that is read for an output, in order. `see` gets each with its operands; values are dropped
    /// after their last use.
    ///
    /// # Errors
    ///
    /// Inputs that do not fit the graph.
    pub fn run(&self, see: &mut dyn FnMut(NodeId, &Running, &[&Running])) -> Result<(), EvalError> {
        let g = self.graph;
        crate::graph::verify::verify(g)?;
        eval::scaled(g)?;
        let view = View::new(g, self.stated);
        let reals = View::of_reals(g, &StatedErrors::NONE);
        let forms = g.ids().map(|id| g.elements(id)).fold(0u64, u64::saturating_add);
        let rules = Context::new(&view, self.guards, (self.inputs, self.coin), quantile(forms));
        let (read, dying) = last_uses(g);
        let program = Context::of_program(&reals, self.inputs, self.coin);
        // A run, and the program.
        let mut all: [Vec<Option<Running>>; 2] = [vec![None; g.len()], vec![None; g.len()]];
        for id in g.ids().filter(|id| read[id.index()]) {
            let args = view.args(id);
            let [given, drifting] = [0, 1].map(|k: usize| -> Vec<&Running> {
                args.iter().filter_map(|a| all[k][a.index()].as_ref()).collect()
            });
            let value = rules.value(id, &given)?;
            let drift = program.node(id, Arc::clone(&value), &drifting, &all[1])?;
            let found = rules.node(id, value, &given, &all[0])?;
            let run = interval::scaled(self.raw[id.index()], view.ulp(id));
            let found = found.narrowed(run);
            let kept = kept(g, id);
            let drift = match kept {
                Some(range) => drift.narrowed(range),
                None => drift,
            };
            if drift.off.is_none() && drifting.iter().all(|x| x.off.is_none()) {
                see(id, &found, &given);
            } else {
                let bit = |id: NodeId| g.ty(id).elem == Elem::Bit;
                let both = args.iter().zip(given.iter().zip(&drifting));
                let both: Vec<Running> =
                    both.map(|(a, (run, drift))| run.together(drift, bit(*a))).collect();
                let mut off = found.together(&drift, bit(id));
                if let Some(range) = kept {
                    off = off.apart(run, range);
                }
                see(id, &off, &both.iter().collect::<Vec<_>>());
            }
            (all[0][id.index()], all[1][id.index()]) = (Some(found), Some(drift));
            for dead in &dying[id.index()] {
                all.iter_mut().for_each(|all| all[dead.index()] = None);
            }
        }
        Ok(())
    }
}

/// The declared range that a value is kept in, by the program, too.
fn kept(g: &Graph, id: NodeId) -> Option<Interval> {
    // The program rounds nothing on the way.
    let choice = behind(g, id, moves_or_rounds);
    let keeps = || g.site(choice).keeps().map(|(_, range)| range);
    if *g.op(choice) == Op::Select { keeps() } else { None }
}

/// The most entries that are held at one time.
pub fn peak(g: &Graph) -> u64 {
    let (read, dying) = last_uses(g);
    let (mut held, mut most) = (0u64, 0u64);
    for id in g.ids().filter(|id| read[id.index()]) {
        held = held.saturating_add(g.elements(id));
        most = most.max(held);
        dying[id.index()].iter().for_each(|dead| held = held.saturating_sub(g.elements(*dead)));
    }
    most
}

/// What is read, and by node what it is the last to read. What an order statistic is taken of is read by the sum, too:
/// values by rank are an operand of the product under it.
fn last_uses(g: &Graph) -> (Vec<bool>, Vec<Vec<NodeId>>) {
    let reads = |id: NodeId| match g.op(id) {
        Op::Sum(_) => [g.args(id), g.args(g.arg(id, 0))].concat(),
        _ => g.args(id).to_vec(),
    };
    g.last_uses(|_| false, reads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::interval::UNBOUNDED;
    use crate::analysis::stated::TESTED;
    use crate::graph::eval::testing::successors;
    use crate::graph::text;

    /// A state begins as a run has it: the word that is nearest to the number that is written.
    #[test]
    fn states_begin_on_the_grid() {
        let text = "graph Test\nparties Client[1]\nparties Server[1]\nfrac 16\n\
             input 0 s : secret fix[2] in -1..1 state 0.1\nsite 0 \"s\" line 1\n\n\
             %0 = input 0 : secret fix.16[2] @0\nreveal %0 to Server as y @0\n";
        let graph = text::parse(text).expect("a graph");
        let given = Inputs { sets: vec![vec![Default::default()]; 2], ..Inputs::default() };
        let inputs = encoded(&graph, &given);
        let run = eval::exact(&graph, &given, &successors, true).expect("a run");
        let words = run.values[0].as_ref().expect("values are kept");
        let all = Given {
            graph: &graph,
            stated: &TESTED,
            guards: &[],
            raw: &[UNBOUNDED],
            inputs: &inputs,
            coin: &successors,
        };
        let mut seen = 0;
        all.run(&mut |id, found, _| {
            for (i, &word) in words.iter().enumerate() {
                let (own, bound) = (word as f64 * graph.ulp(id), found.bound(i));
                assert!((found.value[i] - own).abs() <= bound, "{own}: {}", found.value[i]);
                seen += 1;
            }
        })
        .expect("bounds");
        assert_eq!(seen, 2);
    }
}
