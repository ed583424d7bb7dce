//! The walk: nodes in order, each from its operands' values, which are dropped after their last use.

use super::data::{Coin, EvalError, Evaluated, Inputs};
use super::walk::{zip, zip3};
use super::word::Word;
use super::{input, layout, product, reduce};
use crate::graph::ranks::{First, PAIRED, Ranks};
use crate::graph::verify::verify;
use crate::graph::{FunctionFacts, Graph, NodeId, Op, Table, domain};
use slvr_language::types::{Elem, Lots};
use std::sync::Arc;

/// Entries of one value that no machine holds.
const MAX_ELEMENTS: u64 = 1 << 34;

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
        use Op::*;
        let node = self.graph.node(id);
        let elements = self.graph.elements(id);
        if elements > MAX_ELEMENTS {
            return Err(EvalError::TooLarge { node: id.index(), elements });
        }
        if args.len() != self.graph.args(id).len() {
            return Ok(Arc::new(self.shortcut(id, args, given)?));
        }
        let shapes: Vec<Vec<usize>> = args.iter().map(|&a| self.shape(a)).collect();
        let to = self.shape(id);
        let arg = |i: usize| (given[i].as_slice(), shapes[i].as_slice());
        let each = |f: fn(W) -> W| arg(0).0.iter().map(|&x| f(x)).collect::<Vec<W>>();
        let pair = |f: fn(W, W) -> W| zip(arg(0), arg(1), &to, f);
        let last = || shapes[0].last().copied().unwrap_or(1);
        let value = match &node.op {
            Input(_) | Const(..) | Draw(_) | Noise { .. } | Pairs { .. } => self.leaf(id)?,
            Places(n) => self.places(id, args[0], given[0], *n)?,

            // Written out and not through `pair`, so that the loops are compiled around them.
            Add => zip(arg(0), arg(1), &to, W::add),
            Sub => zip(arg(0), arg(1), &to, W::sub),
            Mul | And => zip(arg(0), arg(1), &to, W::mul),
            Lt => zip(arg(0), arg(1), &to, |x, y| W::bit(x.less(y))),
            Eq => pair(|x, y| W::bit(x == y)),
            Xor => pair(|x, y| W::bit(x != y)),
            Gate => pair(|v, s| if s.negative() { W::ZERO } else { v }),
            Neg => each(W::neg),
            Scale(c) => arg(0).0.iter().map(|&x| x.scale(*c)).collect(),
            Not => each(|x| W::ONE.sub(x)),
            Relu => each(|x| if x.negative() { W::ZERO } else { x }),
            Abs => each(|x| if x.negative() { x.neg() } else { x }),
            Saturate(top) => {
                let frac = self.graph.frac_of(id);
                arg(0).0.iter().map(|&x| x.saturate(*top, frac)).collect()
            }
            Trunc(by) => arg(0).0.iter().map(|&x| x.trunc(*by)).collect(),
            Shift(by) => arg(0).0.iter().map(|&x| x.shift(*by)).collect(),
            DivPow2(by) => arg(0).0.iter().map(|&x| x.halve(*by)).collect(),
            MulPow2(by) => arg(0).0.iter().map(|&x| x.double(*by)).collect(),
            Select => {
                zip3([arg(0), arg(1), arg(2)], &to, |c, a, b| if c == W::ZERO { b } else { a })
            }

            Div => self.quotient(id, args, given)?,
            Function(f) => self.function(id, args[0], given[0], f.facts())?,

            Sum(axes) => reduce::sum(arg(0).0, arg(0).1, axes),
            Max(axis) => reduce::fold(arg(0).0, arg(0).1, *axis as usize, W::max),
            Min(axis) => reduce::fold(arg(0).0, arg(0).1, *axis as usize, W::min),
            ArgMax => {
                let int = |i| self.encode(id, i as f64, 0);
                reduce::argmax(arg(0).0, last()).map(int).collect::<Result<_, _>>()?
            }
            Sort => reduce::sort(arg(0).0, last()),
            SortSum { lo, hi } => reduce::sort_sum(arg(0).0, last(), *lo as usize, *hi as usize),
            OneHot(classes) => self.one_hot(args[0], given[0], *classes),
            ArgMaxIs => reduce::hit(arg(0).0, arg(1).0, last()),

            MatMul { trans_b } => product::matmul(arg(0), arg(1), &to, *trans_b),
            Conv2d(conv) => product::conv2d(arg(0), arg(1), &to, *conv),
            MaxPool { k, stride } => {
                let plane = |s: &[usize]| (s[s.len() - 2], s[s.len() - 1]);
                let (from, to) = (plane(arg(0).1), plane(&to));
                product::max_pool(arg(0).0, from, to, *k as usize, *stride as usize)
            }

            // The same elements in the same order.
            Reshape(_) | ToInt => return Ok(Arc::clone(given[0])),
            Transpose(perm) => layout::transpose(arg(0).0, arg(0).1, perm),
            Slice { axis, start, len, step } => {
                let along = (*start as usize, *len as usize, *step as usize);
                layout::slice(arg(0).0, arg(0).1, *axis as usize, along)
            }
            Concat(axis) => {
                let axis = *axis as usize;
                let parts: Vec<_> = (0..args.len())
                    .map(|i| (arg(i).0, arg(i).1[axis..].iter().product()))
                    .collect();
                layout::concat(&parts, to[..axis].iter().product())
            }
            Broadcast(_) => layout::broadcast(arg(0).0, arg(0).1, &to),
            Gather { axis, batch } => {
                let beyond = EvalError::Index { node: id.index() };
                let index: Option<Vec<usize>> = arg(1).0.iter().map(|&x| position(x)).collect();
                let index = index.ok_or_else(|| beyond.clone())?;
                layout::gather(arg(0), (&index, arg(1).1), *axis as usize, *batch as usize)
                    .ok_or(beyond)?
            }
        };
        Ok(Arc::new(value))
    }

    /// The value of a node that reads no other.
    fn leaf<W: Word>(&self, id: NodeId) -> Result<Vec<W>, EvalError> {
        let elements = self.graph.elements(id);
        match self.graph.op(id) {
            Op::Input(i) => input::load(self.graph, &self.graph.inputs[*i as usize], self.inputs),
            Op::Const(table, _, frac) => self.constant(id, table, frac.unwrap_or(0)),
            Op::Draw(lots) => self.drawn(id, lots),
            Op::Noise { noise, number, .. } => {
                let word = |i: usize| self.inputs.noise.word(*number, i);
                let values = noise.values(elements as usize, &word);
                let frac = if self.graph.frac.is_some() { noise.frac } else { 0 };
                values.into_iter().map(|x| self.encode(id, x, frac)).collect()
            }
            Op::Pairs { table, n } if *n <= PAIRED => {
                table.entries(*n).map(|x| self.encode(id, x as f64, 0)).collect()
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

    fn constant<W: Word>(&self, id: NodeId, table: &Table, frac: u32) -> Result<Vec<W>, EvalError> {
        match table.data[..] {
            [x] => Ok(vec![self.encode(id, x, frac)?; table.len()]),
            _ => table.data.iter().map(|&x| self.encode(id, x, frac)).collect(),
        }
    }

    fn drawn<W: Word>(&self, id: NodeId, lots: &Lots) -> Result<Vec<W>, EvalError> {
        let drawn = (self.coin)(lots);
        if !lots.fit(&drawn) {
            return Err(EvalError::Coin { node: id.index() });
        }
        drawn.iter().flatten().map(|&j| self.encode(id, j as f64, 0)).collect()
    }

    /// Of each number the last of its places in a row of an index, and the length of the row where it has none.
    fn places<W: Word>(
        &self,
        id: NodeId,
        index: NodeId,
        given: &[W],
        n: u64,
    ) -> Result<Vec<W>, EvalError> {
        let k = self.shape(index).last().copied().unwrap_or(0);
        let frac = self.graph.frac_of(index);
        let mut out = Vec::with_capacity(self.graph.elements(id) as usize);
        for row in given.chunks(k.max(1)) {
            let mut places = vec![k; n as usize];
            for (place, &number) in row.iter().enumerate() {
                let at = position(W::encode(number.decode(frac), 0).unwrap_or(number));
                if let Some(at) = at.and_then(|at| places.get_mut(at)) {
                    *at = place;
                }
            }
            for place in places {
                out.push(self.encode(id, place as f64, 0)?);
            }
        }
        Ok(out)
    }

    /// A function of one number, which has a value everywhere.
    fn function<W: Word>(
        &self,
        id: NodeId,
        arg: NodeId,
        given: &[W],
        facts: &FunctionFacts,
    ) -> Result<Vec<W>, EvalError> {
        let f = facts.saturated;
        let (from, to) = (self.graph.frac_of(arg), self.graph.frac_of(id));
        given.iter().map(|x| self.encode(id, f(x.decode(from)), to)).collect()
    }

    fn quotient<W: Word>(
        &self,
        id: NodeId,
        args: &[NodeId],
        given: &[&Arc<Vec<W>>],
    ) -> Result<Vec<W>, EvalError> {
        let (a, b, to) =
            (self.graph.frac_of(args[0]), self.graph.frac_of(args[1]), self.graph.frac_of(id));
        let (x, y) = (given[0].as_slice(), given[1].as_slice());
        let (x_shape, y_shape) = (self.shape(args[0]), self.shape(args[1]));
        let divide = |x: W, y: W| self.encode(id, domain::div(x.decode(a), y.decode(b)), to);
        zip((x, x_shape.as_slice()), (y, y_shape.as_slice()), &self.shape(id), divide)
            .into_iter()
            .collect()
    }

    /// A label beyond the classes gives zeros.
    fn one_hot<W: Word>(&self, label: NodeId, given: &[W], classes: u64) -> Vec<W> {
        debug_assert_eq!(self.graph.ty(label).elem, Elem::Int);
        let frac = self.graph.frac_of(label);
        let labels = given.iter().map(|x| x.decode(frac));
        labels.flat_map(|x| (0..classes).map(move |c| W::bit(x == c as f64))).collect()
    }
}

/// A word of scale 0 as a position.
fn position<W: Word>(word: W) -> Option<usize> {
    let x = word.decode(0);
    (x >= 0.0 && x.fract() == 0.0 && x < MAX_ELEMENTS as f64).then_some(x as usize)
}
