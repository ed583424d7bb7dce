//! A predicate in floating point, with scores that attackers set.
//!
//! It is the graph of the program as it was written, in `f64`. The check scores of a predicate are found by what it does with
//! them: it samples committees, and sorts along an axis as long as one committee for each client. What is sorted are the
//! scores. They are the clients' own only if committees consist of clients: if what is looked up by the members that were
//! drawn depends on what clients give. Scores of judges of another set are nobody's to set.

use crate::random::{Purpose, Random};
use crate::reverse::{Base, Change, Changing, Given, Tape, TapeError};
use slvr_compiler::graph::{Graph, NodeId, Op};
use slvr_compiler::noise::Words;
use slvr_compiler::types::{Elem, Lots};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A predicate that is evaluated in floating point.
#[derive(Clone, Debug)]
pub struct Fast {
    tape: Tape,
    /// The values that committees are sorted by.
    scores: Vec<NodeId>,
    noisy: bool,
}

/// What comes of a round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Revealed {
    pub values: Vec<(String, Vec<f64>)>,
    /// States of the next round.
    pub kept: BTreeMap<String, Vec<f64>>,
    /// How much each member's part of an input moves a reveal, if that was asked.
    pub influence: Option<Vec<f64>>,
}

/// How much each member of a set moves a reveal: asked along with a round.
#[derive(Clone, Copy, Debug)]
pub struct Influence<'a> {
    pub of: &'a str,
    /// What the members give.
    pub input: usize,
    pub members: usize,
}

/// What is drawn in a round.
#[derive(Clone, Copy)]
pub struct Drawn<'a> {
    pub coin: &'a dyn Fn(&Lots) -> Vec<Vec<u64>>,
    /// What the noise of the predicate is made of.
    pub noise: &'a Words,
    pub forged: Option<&'a Forged<'a>>,
}

/// Malicious committee members that set scores (the paper's Definition 1).
#[derive(Clone, Copy, Debug)]
pub struct Forged<'a> {
    pub malicious: &'a [bool],
    pub committees: &'a [Vec<u64>],
    /// Validation samples of a client: what the best score of a count is.
    pub samples: usize,
}

impl Fast {
    /// Of the graph of a program as it was built, with the party set of the clients.
    pub fn new(graph: Graph, clients: Option<u32>) -> Result<Fast, TapeError> {
        let sizes = graph.ids().find_map(|id| match graph.op(id) {
            Op::Draw(lots) => Some([lots.rows, lots.k]),
            _ => None,
        });
        let sizes = sizes.filter(|_| judged_by(&graph, clients));
        let mut scores = Vec::new();
        for id in graph.ids() {
            if let Op::Sort | Op::SortSum { .. } = graph.op(id) {
                let of = graph.arg(id, 0);
                // What a client gives is no score of a committee.
                let given = matches!(graph.op(of), Op::Input(_));
                if sizes.is_some_and(|s| graph.shape(of) == s) && !given && !scores.contains(&of) {
                    scores.push(of);
                }
            }
        }
        let noisy = graph.ids().any(|id| matches!(graph.op(id), Op::Noise { .. }));
        Ok(Fast { tape: Tape::new(graph)?, scores, noisy })
    }

    /// Whether there are check scores that could be set.
    pub fn has_scores(&self) -> bool {
        !self.scores.is_empty()
    }

    pub fn graph(&self) -> &Graph {
        self.tape.graph()
    }

    /// What is revealed, and what is kept.
    pub fn evaluate(
        &self,
        flat: &[Arc<Vec<f64>>],
        drawn: &Drawn<'_>,
        influence: Option<Influence<'_>>,
    ) -> Result<Revealed, TapeError> {
        let graph = self.graph();
        // Which node is asked of, and what of the values its derivative reads.
        let asked = influence.and_then(|asked| {
            let reveal = graph.outputs.iter().find(|o| o.state.is_none() && o.name == asked.of)?;
            Some((asked, reveal.node, self.tape.read_back(reveal.node, asked.input)))
        });
        let keep = |node: usize| asked.as_ref().is_some_and(|(.., read)| read[node]);
        let values = self.given(flat, drawn, |given| self.tape.forward(given, keep))?;
        let influence = asked.as_ref().map(|(asked, node, _)| {
            // Along a random direction: along a fixed one, what is moved might cancel.
            let mut random = Random::new(0, Purpose::Caller, [3, 0]);
            let seed = (0..graph.elements(*node)).map(|_| random.normal()).collect();
            let moved = self.tape.backward(&values, (*node, seed), asked.input);
            let each = (moved.len() / asked.members.max(1)).max(1);
            moved.chunks(each).map(|part| part.iter().map(|x| x.abs()).sum()).collect()
        });
        Ok(Revealed { influence, ..self.revealed(&values) })
    }

    /// What [`Fast::again`] goes on from: these inputs will differ in the parts of these members only.
    pub fn base(
        &self,
        flat: &[Arc<Vec<f64>>],
        drawn: &Drawn<'_>,
        (inputs, members, rows): (&[usize], usize, &[usize]),
    ) -> Result<Base<f64>, TapeError> {
        let whole = if drawn.forged.is_some() { &self.scores[..] } else { &[] };
        let changing = Changing { inputs, members, rows, whole };
        self.given(flat, drawn, |given| self.tape.base(given, &changing))
    }

    /// As [`Fast::evaluate`], with what was drawn for the base.
    pub fn again(
        &self,
        base: &Base<f64>,
        flat: &[Arc<Vec<f64>>],
        drawn: &Drawn<'_>,
    ) -> Result<Revealed, TapeError> {
        let values = self.given(flat, drawn, |given| self.tape.again(base, given))?;
        Ok(self.revealed(&values))
    }

    /// A walk with what these inputs and draws give.
    fn given<R>(
        &self,
        flat: &[Arc<Vec<f64>>],
        drawn: &Drawn<'_>,
        walk: impl FnOnce(&Given<'_, f64>) -> R,
    ) -> R {
        let graph = self.graph();
        let change = |id: NodeId, value: &mut Vec<f64>| match (graph.op(id), drawn.forged) {
            (Op::Noise { noise: law, number, .. }, _) => {
                *value = law.values(value.len(), &|i| drawn.noise.word(*number, i));
            }
            (_, Some(forged)) if self.scores.contains(&id) => {
                forge(value, forged, graph.ty(id).elem)
            }
            _ => {}
        };
        let change = (drawn.forged.is_some() || self.noisy).then_some(&change as Change<'_, f64>);
        walk(&Given { inputs: flat, coin: drawn.coin, change })
    }

    /// What the values of the outputs reveal, and keep.
    fn revealed(&self, values: &[Option<Arc<Vec<f64>>>]) -> Revealed {
        let graph = self.graph();
        let mut out = Revealed::default();
        for o in &graph.outputs {
            let value = values[o.node.index()].as_ref();
            let value = value.map_or(&[][..], |v| v.as_slice());
            let value = value.iter().map(|x| x * o.factor / o.divisor).collect();
            match o.state.and_then(|i| graph.inputs.get(i as usize)) {
                Some(state) => {
                    out.kept.insert(state.name.clone(), value);
                }
                None => out.values.push((o.name.clone(), value)),
            }
        }
        out
    }
}

/// Whether members that are drawn are looked up in something that the set of clients gives.
fn judged_by(graph: &Graph, clients: Option<u32>) -> bool {
    let (mut drawn, mut given) = (vec![false; graph.len()], vec![false; graph.len()]);
    let mut found = false;
    for id in graph.ids() {
        let args = graph.args(id);
        let of = |all: &[bool]| args.iter().any(|a| all[a.index()]);
        drawn[id.index()] = matches!(graph.op(id), Op::Draw(_)) || of(&drawn);
        given[id.index()] = match graph.op(id) {
            Op::Input(i) => {
                let set = graph.inputs.get(*i as usize).and_then(|input| input.from.set());
                set.is_some() && set == clients
            }
            _ => of(&given),
        };
        if let (Op::Gather { .. }, [of, at, ..]) = (graph.op(id), args) {
            found |= drawn[at.index()] && !drawn[of.index()] && given[of.index()];
        }
    }
    found
}

/// Sets the scores that malicious committee members give: the best to the malicious, the worst to all others. A larger
/// score is a better one. A real score is best at 1, or at the size of the largest score that there is if that is more.
pub(super) fn forge(scores: &mut [f64], forged: &Forged<'_>, elem: Elem) {
    let most = match elem {
        Elem::Fix => scores.iter().fold(1.0, |most: f64, s| most.max(s.abs())),
        Elem::Int | Elem::Bit => forged.samples as f64,
    };
    let pairs = forged.committees.iter().enumerate();
    let pairs = pairs.flat_map(|(i, committee)| committee.iter().map(move |j| (i, *j as usize)));
    for (score, (i, j)) in scores.iter_mut().zip(pairs) {
        if forged.malicious.get(j).copied().unwrap_or(false) {
            *score = if forged.malicious.get(i).copied().unwrap_or(false) { most } else { -most };
        }
    }
}

/// Some samples, drawn without the coins of a run: k of those that there are for each, in which nobody is twice.
pub(super) fn lots(seed: u64) -> impl Fn(&Lots) -> Vec<Vec<u64>> {
    move |drawn: &Lots| {
        let mut random = Random::new(seed, Purpose::Caller, [2, 0]);
        let one = |row: u64| {
            let of: Vec<u64> = (0..drawn.n).filter(|j| !drawn.others || *j != row).collect();
            let chosen = random.choose(drawn.k as usize, of.len());
            chosen.into_iter().map(|at| of[at]).collect()
        };
        (0..drawn.rows).map(one).collect()
    }
}
