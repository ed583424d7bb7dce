//! The walk: nodes in order, each from its operands' values, which are dropped after their last use.

use super::data::{Coin, EvalError, Evaluated, Inputs};
use super::operation::{MAX_ELEMENTS, NoValue, Scales, View, operation};
use super::word::Word;
use super::{input, reduce};
use crate::graph::ranks::{First, PAIRED, Ranks};
use crate::graph::verify::verify;
use crate::graph::{Graph, NodeId, Op};
use slvr_language::types::Lots;
use std::sync::Arc;

/// Evaluates a graph, which is verified first: the kernels rely on types.
pub(super) fn run<W: Word>(
    graph: &Graph,
    inputs: &Inputs,
    coin: Coin<'_>,
    keep: bool,
) -> Result<Evaluated<W>, EvalError> {
    verify(graph)?;
    let plan = Plan::new(graph, keep);
    let values = vec![None; graph.len()];
    let source = Source { graph, inputs, coin };
    let mut run: Run<W> = Run { source, plan, values };
    for id in graph.ids() {
        if !run.plan.evaluated[id.index()] {
            continue;
        }
        let value = run.node(id)?;
        debug_assert_eq!(value.len() as u64, graph.elements(id), "%{}", id.index());
        run.values[id.index()] = Some(value);
        for dead in &run.plan.last_use_of[id.index()] {
            run.values[dead.index()] = None;
        }
    }
    let (mut outputs, mut states) = (Vec::new(), Vec::new());
    for output in &graph.outputs {
        let frac = graph.frac_of(output.node);
        let data = run
            .get(output.node)
            .iter()
            .map(|x| x.decode(frac) * output.factor / output.divisor)
            .collect();
        if output.state.is_some() {
            states.push((output.name.clone(), data));
            continue;
        }
        outputs.push((output.name.clone(), graph.shape(output.node).to_vec(), data));
    }
    Ok(Evaluated { values: run.values, outputs, states })
}

/// Which nodes are evaluated, and when their values die.
struct Plan {
    evaluated: Vec<bool>,
    /// Products that only a sum reads: the sum reads their operands instead.
    fused: Vec<bool>,
    /// Of nodes that hold ranks, what of: these are sorted for, and their pairs are not compared.
    ranks: Vec<Option<NodeId>>,
    /// By node, the values that it is the last to read.
    last_use_of: Vec<Vec<NodeId>>,
}

impl Plan {
    fn new(graph: &Graph, keep: bool) -> Plan {
        let n = graph.len();
        let mut plan = Plan {
            evaluated: vec![keep; n],
            fused: vec![false; n],
            ranks: vec![None; n],
            last_use_of: vec![Vec::new(); n],
        };
        if keep {
            return plan;
        }
        for id in graph.ids() {
            plan.ranks[id.index()] = Ranks::of(graph, id).map(|ranks| ranks.of);
            let is_summed = |user: NodeId| matches!(graph.op(user), Op::Sum(_));
            plan.fused[id.index()] =
                *graph.op(id) == Op::Mul && graph.only_user(id).is_some_and(is_summed);
        }
        // Coins are drawn for samples that nothing reads, too.
        let is_draw = |id| matches!(graph.op(id), Op::Draw(_));
        (plan.evaluated, plan.last_use_of) = graph.last_uses(is_draw, |id| plan.reads(graph, id));
        plan
    }

    /// The nodes whose values the evaluation of a node reads.
    fn reads(&self, graph: &Graph, id: NodeId) -> Vec<NodeId> {
        if let Some(of) = self.ranks[id.index()] {
            return vec![of];
        }
        match graph.args(id)[..] {
            [one] if self.fused[one.index()] => graph.args(one).to_vec(),
            _ => graph.args(id).to_vec(),
        }
    }
}

struct Run<'a, W> {
    source: Source<'a>,
    plan: Plan,
    values: Vec<Option<Arc<Vec<W>>>>,
}

impl<W: Word> Run<'_, W> {
    fn get(&self, id: NodeId) -> &Arc<Vec<W>> {
        self.values[id.index()].as_ref().expect("a value lives until its last use")
    }

    fn node(&self, id: NodeId) -> Result<Arc<Vec<W>>, EvalError> {
        let args = self.plan.reads(self.source.graph, id);
        let given: Vec<&Arc<Vec<W>>> = args.iter().map(|&a| self.get(a)).collect();
        self.source.node(id, &args, &given)
    }
}

/// What nodes are evaluated from, beside the values of their operands.
pub(super) struct Source<'a> {
    pub graph: &'a Graph,
    pub inputs: &'a Inputs,
    pub coin: Coin<'a>,
}

impl Source<'_> {
    fn shape(&self, id: NodeId) -> Vec<usize> {
        self.graph.shape(id).iter().map(|&d| d as usize).collect()
    }

    /// The value of a node, given those of the nodes that are read for it: of its operands, of a sum of a product
    /// the product's, or of ranks what they are of.
    pub(super) fn node<W: Word>(
        &self,
        id: NodeId,
        args: &[NodeId],
        given: &[&Arc<Vec<W>>],
    ) -> Result<Arc<Vec<W>>, EvalError> {
        let elements = self.graph.elements(id);
        if elements > MAX_ELEMENTS {
            return Err(EvalError::TooLarge { node: id.index(), elements });
        }
        if args.len() != self.graph.args(id).len() {
            return Ok(Arc::new(self.shortcut(id, args, given)?));
        }
        let op = self.graph.op(id);
        match op {
            // The same elements in the same order.
            Op::Reshape(_) | Op::ToInt => return Ok(Arc::clone(given[0])),
            Op::Pairs { n, .. } if *n > PAIRED => {
                return Err(EvalError::TooLarge { node: id.index(), elements });
            }
            _ => {}
        }
        let shapes: Vec<Vec<usize>> = args.iter().map(|&a| self.shape(a)).collect();
        let fracs: Vec<u32> = args.iter().map(|&a| self.graph.frac_of(a)).collect();
        let views: Vec<View<'_, W>> =
            given.iter().zip(&shapes).map(|(x, shape)| (x.as_slice(), shape.as_slice())).collect();
        let scales = Scales { args: &fracs, result: self.graph.frac_of(id) };
        match operation(op, &views, &self.shape(id), scales) {
            Ok(value) => Ok(Arc::new(value)),
            Err(NoValue::Given) => Ok(Arc::new(self.leaf(id)?)),
            Err(NoValue::Index) => Err(EvalError::Index { node: id.index() }),
            Err(NoValue::Overflow) => Err(EvalError::Overflow { node: id.index(), op: op.name() }),
        }
    }

    /// The value of a node that is given.
    fn leaf<W: Word>(&self, id: NodeId) -> Result<Vec<W>, EvalError> {
        let elements = self.graph.elements(id);
        match self.graph.op(id) {
            Op::Input(i) => input::load(self.graph, &self.graph.inputs[*i as usize], self.inputs),
            Op::Draw(lots) => self.drawn(id, lots),
            Op::Noise { noise, number, .. } => {
                let word = |i: usize| self.inputs.noise.word(*number, i);
                let values = noise.values(elements as usize, &word);
                let frac = if self.graph.frac.is_some() { noise.frac } else { 0 };
                values.into_iter().map(|x| self.encode(id, x, frac)).collect()
            }
            _ => Err(EvalError::TooLarge { node: id.index(), elements }),
        }
    }

    /// The value of a node for which the plan reads others than its operands: a sum of products from their factors, or
    /// ranks from what they are of ([`Plan::reads`]).
    fn shortcut<W: Word>(
        &self,
        id: NodeId,
        read: &[NodeId],
        given: &[&Arc<Vec<W>>],
    ) -> Result<Vec<W>, EvalError> {
        if let Op::Sum(axes) = self.graph.op(id) {
            let product = self.shape(self.graph.arg(id, 0));
            let (x, y) = (self.shape(read[0]), self.shape(read[1]));
            let (x, y) = ((given[0].as_slice(), x.as_slice()), (given[1].as_slice(), y.as_slice()));
            return Ok(reduce::sum_of_products(x, y, &product, axes));
        }
        let largest = Ranks::of(self.graph, id).is_some_and(|r| r.first == First::Largest);
        let length = self.shape(read[0]).last().copied().unwrap_or(1);
        let ranks = reduce::ranks(given[0], length, largest);
        ranks.into_iter().map(|r| self.encode(id, r as f64, 0)).collect()
    }

    fn encode<W: Word>(&self, id: NodeId, x: f64, frac: u32) -> Result<W, EvalError> {
        let op = self.graph.op(id).name();
        W::encode(x, frac).ok_or(EvalError::Overflow { node: id.index(), op })
    }

    fn drawn<W: Word>(&self, id: NodeId, lots: &Lots) -> Result<Vec<W>, EvalError> {
        let drawn = (self.coin)(lots);
        if !lots.fit(&drawn) {
            return Err(EvalError::Coin { node: id.index() });
        }
        drawn.iter().flatten().map(|&j| self.encode(id, j as f64, 0)).collect()
    }
}
