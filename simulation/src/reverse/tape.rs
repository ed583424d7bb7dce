//! The walk over a graph, forwards and backwards.

use super::again::same_entries;
use super::derivative::{Slots, back, is_step};
use super::value::value;
use crate::number::Number;
use slvr_compiler::graph::eval::{Coin, MOST_COMPUTED, NoValue};
use slvr_compiler::graph::verify::{VerifyError, verify};
use slvr_compiler::graph::{Graph, NodeId, Op};
use std::sync::Arc;
use thiserror::Error;

/// Why a graph has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TapeError {
    /// The graph breaks an invariant.
    #[error(transparent)]
    Invalid(#[from] VerifyError),
    /// An input has another number of entries than declared.
    #[error("input {input} has {found} entries, {expected} are declared")]
    Length { input: usize, expected: u64, found: usize },
    /// A value of more entries than are computed.
    #[error("%{node} = {op}: a tensor of {elements} entries is too large to evaluate")]
    TooLarge { node: usize, op: &'static str, elements: u64 },
    /// A run-time index is beyond its axis.
    #[error("%{node} = {op}: an index is beyond its axis")]
    Index { node: usize, op: &'static str },
}

/// What changes the value of a node before others read it.
pub type Change<'a, T> = &'a dyn Fn(NodeId, &mut Vec<T>);

/// What a walk begins with.
pub struct Given<'a, T> {
    /// The value of every input: of a secret one what all members give, one after another.
    pub inputs: &'a [Arc<Vec<T>>],
    pub coin: Coin<'a>,
    /// Changes the value of a node before others read it.
    pub change: Option<Change<'a, T>>,
}

/// A graph, with what of it is computed.
#[derive(Clone, Debug)]
pub struct Tape {
    graph: Graph,
    args: Vec<Vec<NodeId>>,
    shapes: Vec<Vec<usize>>,
    /// Whether an output depends on the node.
    read: Vec<bool>,
    /// By node, the values that it is the last to read.
    last_use_of: Vec<Vec<usize>>,
}

/// Values by node; those that were dropped are not there.
pub type Values<T> = Vec<Option<Arc<Vec<T>>>>;

impl Tape {
    /// Of a graph that is verified here: the walk relies on types. No value that is computed may be too large.
    pub fn new(graph: Graph) -> Result<Tape, TapeError> {
        verify(&graph)?;
        let args: Vec<Vec<NodeId>> = graph.ids().map(|id| graph.args(id).to_vec()).collect();
        let size = |id: NodeId| graph.shape(id).iter().map(|&d| d as usize).collect();
        let shapes = graph.ids().map(size).collect();
        let (read, last) = graph.last_uses(|_| false, |id| args[id.index()].clone());
        for id in graph.ids().filter(|id| read[id.index()]) {
            let (node, op, elements) = (id.index(), graph.op(id).name(), graph.elements(id));
            if elements > MOST_COMPUTED {
                return Err(TapeError::TooLarge { node, op, elements });
            }
        }
        let indices = |these: Vec<NodeId>| these.into_iter().map(NodeId::index).collect();
        let last_use_of = last.into_iter().map(indices).collect();
        Ok(Tape { graph, args, shapes, read, last_use_of })
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(super) fn args(&self, id: NodeId) -> &[NodeId] {
        &self.args[id.index()]
    }

    pub(super) fn shape(&self, id: NodeId) -> &[usize] {
        &self.shapes[id.index()]
    }

    /// Whether an output depends on the node.
    pub(super) fn is_read(&self, id: NodeId) -> bool {
        self.read[id.index()]
    }

    /// The values that a node is the last to read.
    pub(super) fn last_use_of(&self, id: NodeId) -> &[usize] {
        &self.last_use_of[id.index()]
    }

    /// The values that the outputs depend on; each is dropped after its last use, unless `keep` says otherwise of the
    /// node.
    pub fn forward<T: Number>(
        &self,
        given: &Given<'_, T>,
        keep: impl Fn(usize) -> bool,
    ) -> Result<Values<T>, TapeError> {
        let mut values: Values<T> = vec![None; self.graph.len()];
        for id in self.graph.ids().filter(|id| self.read[id.index()]) {
            let of = |a: NodeId| {
                Arc::clone(values[a.index()].as_ref().expect("a value lives until its last use"))
            };
            let mut value = self.value(id, given, &of)?;
            if let Some(change) = given.change {
                change(id, Arc::make_mut(&mut value));
            }
            debug_assert_eq!(value.len() as u64, self.graph.elements(id), "%{}", id.index());
            values[id.index()] = Some(value);
            let dead = self.last_use_of[id.index()].iter().filter(|dead| !keep(**dead));
            dead.for_each(|&dead| values[dead] = None);
        }
        Ok(values)
    }

    /// The value of a node, of those of its operands.
    pub(super) fn value<T: Number>(
        &self,
        id: NodeId,
        given: &Given<'_, T>,
        of: &dyn Fn(NodeId) -> Arc<Vec<T>>,
    ) -> Result<Arc<Vec<T>>, TapeError> {
        let op = self.graph.op(id);
        if let Op::Input(input) = op {
            let (input, expected) = (*input as usize, self.graph.elements(id));
            let found = given.inputs.get(input).map_or(0, |x| x.len());
            return match given.inputs.get(input) {
                Some(x) if found as u64 == expected => Ok(Arc::clone(x)),
                _ => Err(TapeError::Length { input, expected, found }),
            };
        }
        let args = &self.args[id.index()];
        if same_entries(op) {
            return Ok(of(args[0]));
        }
        let operands: Vec<_> = args.iter().map(|a| of(*a)).collect();
        let shapes = args.iter().map(|a| self.shape(*a));
        let views: Vec<_> = operands.iter().map(|x| x.as_slice()).zip(shapes).collect();
        let value = value(op, &views, self.shape(id), given.coin);
        value.map(Arc::new).map_err(|why| self.refused(id, why))
    }

    pub(super) fn refused(&self, id: NodeId, why: NoValue) -> TapeError {
        match why {
            NoValue::Index => TapeError::Index { node: id.index(), op: self.graph.op(id).name() },
            NoValue::Given => unreachable!("inputs, draws and noise are not computed"),
            NoValue::Overflow => unreachable!("every number fits a word of floating point"),
        }
    }

    /// Whether a node has a derivative by an input: comparisons and indices end it.
    fn moves_with(&self, input: usize) -> Vec<bool> {
        let mut moves = vec![false; self.graph.len()];
        for id in self.graph.ids() {
            let op = self.graph.op(id);
            let own = matches!(op, Op::Input(k) if *k as usize == input);
            let through = !is_step(op) && self.args[id.index()].iter().any(|a| moves[a.index()]);
            moves[id.index()] = own || through;
        }
        moves
    }

    /// Of which nodes [`Tape::backward`] from a node to an input reads the value.
    pub fn read_back(&self, from: NodeId, input: usize) -> Vec<bool> {
        let moves = self.moves_with(input);
        let (mut reached, mut wanted) = (vec![false; moves.len()], vec![false; moves.len()]);
        reached[from.index()] = true;
        for id in self.graph.ids().rev().filter(|id| moves[id.index()]) {
            if reached[id.index()] {
                wanted[id.index()] = true;
                self.args[id.index()].iter().for_each(|a| {
                    (reached[a.index()], wanted[a.index()]) = (true, true);
                });
            }
        }
        wanted
    }

    /// The derivative by an input of the sum of `seed` times the value of node `from`; it reads the values that
    /// [`Tape::read_back`] names.
    pub fn backward<T: Number>(
        &self,
        values: &Values<T>,
        (from, seed): (NodeId, Vec<T>),
        input: usize,
    ) -> Vec<T> {
        let depends = self.moves_with(input);
        let is_it = |id: NodeId| matches!(self.graph.op(id), Op::Input(k) if *k as usize == input);
        let mut grads: Vec<Option<Vec<T>>> = vec![None; self.graph.len()];
        grads[from.index()] = Some(seed);
        for id in self.graph.ids().rev().skip_while(|id| *id != from) {
            let i = id.index();
            if !depends[i] || is_it(id) {
                continue;
            }
            let Some(dy) = grads[i].take() else { continue };
            let args = &self.args[i];
            let of = |a: &NodeId| values[a.index()].as_ref().expect("it was kept").as_slice();
            let mut buffers = buffers(args, &depends, &mut grads, |a| of(&a).len());
            let views: Vec<_> = args.iter().map(|a| (of(a), self.shape(*a))).collect();
            let slots: Slots<'_, T> = buffers.iter_mut().map(Option::as_deref_mut).collect();
            back(self.graph.op(id), &views, (&dy, &self.shapes[i]), slots);
            for (a, buffer) in args.iter().zip(buffers) {
                let Some(buffer) = buffer else { continue };
                grads[a.index()] = Some(match grads[a.index()].take() {
                    Some(grad) => add(grad, &buffer),
                    None => buffer,
                });
            }
        }
        let size = |id: NodeId| self.shape(id).iter().product();
        let mut inputs = self.graph.ids().filter(|id| is_it(*id)).peekable();
        let zeros = vec![T::ZERO; inputs.peek().map_or(0, |id| size(*id))];
        let found = inputs.filter_map(|id| grads[id.index()].take());
        found.reduce(|all, one| add(all, &one)).unwrap_or(zeros)
    }
}

fn add<T: Number>(mut to: Vec<T>, x: &[T]) -> Vec<T> {
    to.iter_mut().zip(x).for_each(|(to, x)| *to += *x);
    to
}

/// For each operand that has a derivative, what it is added to: what there is of it, which is taken away, or zeros.
/// An operand that stands twice has one for each place.
fn buffers<T: Number>(
    args: &[NodeId],
    depends: &[bool],
    grads: &mut [Option<Vec<T>>],
    len: impl Fn(NodeId) -> usize,
) -> Vec<Option<Vec<T>>> {
    let of = |a: &NodeId| {
        let grad = grads[a.index()].take();
        depends[a.index()].then(|| grad.unwrap_or_else(|| vec![T::ZERO; len(*a)]))
    };
    args.iter().map(of).collect()
}
