//! The walk: nodes in order, each from its operands' values, which are dropped after their last use.

use super::data::{Coin, EvalError, Evaluated, Inputs};
use super::operation::{MOST_COMPUTED, NoValue, Scales, View, operation};
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
    let mut run: Evaluation<W> = Evaluation { source, plan, values };
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

/// What the evaluation of a node reads.
pub(super) enum Reads {
    /// Its operands.
    Operands,
    /// The factors of this product, which only the node reads, a sum: so the product is never stored.
    Factors(NodeId),
    /// What these ranks are of: it is sorted, and the pairs of its entries are not compared.
    Ranks(Ranks),
}

impl Reads {
    /// The nodes whose values are read.
    fn nodes<'a>(&'a self, graph: &'a Graph, id: NodeId) -> &'a [NodeId] {
        match self {
            Reads::Operands => graph.args(id),
            Reads::Factors(product) => graph.args(*product),
            Reads::Ranks(ranks) => std::slice::from_ref(&ranks.of),
        }
    }
}

/// Which nodes are evaluated, what they read, and when values die.
struct Plan {
    evaluated: Vec<bool>,
    reads: Vec<Reads>,
    /// By node, the values that it is the last to read.
    last_use_of: Vec<Vec<NodeId>>,
}

impl Plan {
    fn new(graph: &Graph, keep: bool) -> Plan {
        if keep {
            let reads = graph.ids().map(|_| Reads::Operands).collect();
            let (n, last_use_of) = (graph.len(), vec![Vec::new(); graph.len()]);
            return Plan { evaluated: vec![true; n], reads, last_use_of };
        }
        let reads: Vec<Reads> = graph.ids().map(|id| Plan::reads(graph, id)).collect();
        // Coins are drawn for samples that nothing reads, too.
        let is_draw = |id| matches!(graph.op(id), Op::Draw(_));
        let nodes = |id: NodeId| reads[id.index()].nodes(graph, id).to_vec();
        let (evaluated, last_use_of) = graph.last_uses(is_draw, nodes);
        Plan { evaluated, reads, last_use_of }
    }

    /// What a node reads where no value but those of outputs is kept.
    fn reads(graph: &Graph, id: NodeId) -> Reads {
        let is_product = |of: &NodeId| *graph.op(*of) == Op::Mul && graph.only_user(*of).is_some();
        match (graph.op(id), graph.args(id)) {
            (Op::Sum(_), [of]) if is_product(of) => Reads::Factors(*of),
            _ => Ranks::of(graph, id).map_or(Reads::Operands, Reads::Ranks),
        }
    }
}

/// Values of nodes, as far as they have come.
struct Evaluation<'a, W> {
    source: Source<'a>,
    plan: Plan,
    values: Vec<Option<Arc<Vec<W>>>>,
}

impl<W: Word> Evaluation<'_, W> {
    fn get(&self, id: NodeId) -> &Arc<Vec<W>> {
        self.values[id.index()].as_ref().expect("a value lives until its last use")
    }

    fn node(&self, id: NodeId) -> Result<Arc<Vec<W>>, EvalError> {
        let reads = &self.plan.reads[id.index()];
        let nodes = reads.nodes(self.source.graph, id);
        let given: Vec<&Arc<Vec<W>>> = nodes.iter().map(|&a| self.get(a)).collect();
        self.source.node(id, reads, &given)
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

    /// The value of a node, given those that are read for it.
    pub(super) fn node<W: Word>(
        &self,
        id: NodeId,
        reads: &Reads,
        given: &[&Arc<Vec<W>>],
    ) -> Result<Arc<Vec<W>>, EvalError> {
        let (node, elements) = (id.index(), self.graph.elements(id));
        if elements > MOST_COMPUTED {
            return Err(EvalError::TooLarge { node, elements });
        }
        match reads {
            Reads::Factors(product) => {
                return Ok(Arc::new(self.sum_of_products(*product, id, given)));
            }
            Reads::Ranks(ranks) => return Ok(Arc::new(self.ranks(id, ranks, given[0])?)),
            Reads::Operands => {}
        }
        Ok(Arc::new(match self.graph.op(id) {
            // The same elements in the same order.
            Op::Reshape(_) | Op::ToInt => return Ok(Arc::clone(given[0])),
            Op::Pairs { n, .. } if *n > PAIRED => {
                return Err(EvalError::Pairs { node, entries: *n });
            }
            Op::Input(i) => input::load(self.graph, &self.graph.inputs[*i as usize], self.inputs)?,
            Op::Draw(lots) => self.drawn(id, lots)?,
            Op::Noise { noise, number, .. } => {
                let word = |i: usize| self.inputs.noise.word(*number, i);
                let values = noise.values(elements as usize, &word);
                let frac = if self.graph.frac.is_some() { noise.frac } else { 0 };
                values.into_iter().map(|x| self.encode(id, x, frac)).collect::<Result<_, _>>()?
            }
            op => self.computed(id, op, given)?,
        }))
    }

    /// The value of an operation, of those of its operands.
    fn computed<W: Word>(
        &self,
        id: NodeId,
        op: &Op,
        given: &[&Arc<Vec<W>>],
    ) -> Result<Vec<W>, EvalError> {
        let args = self.graph.args(id);
        let shapes: Vec<Vec<usize>> = args.iter().map(|&a| self.shape(a)).collect();
        let fracs: Vec<u32> = args.iter().map(|&a| self.graph.frac_of(a)).collect();
        let views: Vec<View<'_, W>> =
            given.iter().zip(&shapes).map(|(x, shape)| (x.as_slice(), shape.as_slice())).collect();
        let scales = Scales { args: &fracs, result: self.graph.frac_of(id) };
        operation(op, &views, &self.shape(id), scales).map_err(|why| match why {
            NoValue::Given => unreachable!("inputs, draws and noise are not computed"),
            NoValue::Index => EvalError::Index { node: id.index() },
            NoValue::Overflow => self.overflow::<W>(id),
        })
    }

    /// The sum that a node is, of the factors of a product.
    fn sum_of_products<W: Word>(
        &self,
        product: NodeId,
        sum: NodeId,
        given: &[&Arc<Vec<W>>],
    ) -> Vec<W> {
        let Op::Sum(axes) = self.graph.op(sum) else { unreachable!("only sums read factors") };
        let [x, y] = [0, 1].map(|i| self.shape(self.graph.arg(product, i)));
        let [x, y] = [(given[0].as_slice(), &x[..]), (given[1].as_slice(), &y[..])];
        reduce::sum_of_products(x, y, &self.shape(product), axes)
    }

    fn ranks<W: Word>(&self, id: NodeId, ranks: &Ranks, of: &[W]) -> Result<Vec<W>, EvalError> {
        let length = self.shape(ranks.of).last().copied().unwrap_or(1);
        let ranks = reduce::ranks(of, length, ranks.first == First::Largest);
        ranks.into_iter().map(|r| self.encode(id, r as f64, 0)).collect()
    }

    fn overflow<W: Word>(&self, id: NodeId) -> EvalError {
        EvalError::Overflow { node: id.index(), op: self.graph.op(id).name(), bits: W::BITS }
    }

    fn encode<W: Word>(&self, id: NodeId, x: f64, frac: u32) -> Result<W, EvalError> {
        W::encode(x, frac).ok_or_else(|| self.overflow::<W>(id))
    }

    fn drawn<W: Word>(&self, id: NodeId, lots: &Lots) -> Result<Vec<W>, EvalError> {
        let drawn = (self.coin)(lots);
        if !lots.fit(&drawn) {
            return Err(EvalError::Coin { node: id.index() });
        }
        drawn.iter().flatten().map(|&j| self.encode(id, j as f64, 0)).collect()
    }
}
