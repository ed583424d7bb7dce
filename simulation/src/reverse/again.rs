//! A walk again after inputs have changed in the parts of some members only.
//!
//! An attack that searches asks a check a hundred times in a round, and only the updates of the malicious differ. Most
//! of the work of a check is one client's own: what is made of an entry of the first axis does not hang on the others.
//! Where every operation from an input to a value says so, the value is computed for those members alone.
//!
//! A value is cut into as many blocks as there are members. Of each node it is known beforehand which blocks can
//! change: none, those of the members, or all. Then the first walk keeps the values that are read again, and no others.

use super::tape::{Given, Tape, TapeError, Values};
use super::value::value;
use crate::number::Number;
use slvr_compiler::graph::{NodeId, Op};
use std::sync::Arc;

/// What changes from walk to walk.
#[derive(Clone, Copy)]
pub struct Changing<'a> {
    /// The inputs that change: what so many members give, one after another.
    pub inputs: &'a [usize],
    pub members: usize,
    /// The members whose parts change.
    pub rows: &'a [usize],
    /// Nodes that [`Given::change`] changes, if they are no draws: it is given all of their value.
    pub whole: &'a [NodeId],
}

/// Which blocks of a value can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocks {
    None,
    Rows,
    All,
}

/// What a walk leaves for those after it.
#[derive(Clone, Debug)]
pub struct Base<T> {
    blocks: Vec<Blocks>,
    members: usize,
    rows: Vec<usize>,
    /// What is read again.
    kept: Values<T>,
}

impl Tape {
    /// The first walk. Those after it are given other inputs, and the same coins and changes.
    pub fn base<T: Number>(
        &self,
        given: &Given<'_, T>,
        changing: &Changing<'_>,
    ) -> Result<Base<T>, TapeError> {
        let blocks = self.blocks(changing);
        let mut kept = vec![false; blocks.len()];
        for id in self.graph().ids() {
            for a in self.args(id) {
                kept[a.index()] |= match blocks[id.index()] {
                    Blocks::None => false,
                    Blocks::Rows => blocks[a.index()] == Blocks::None,
                    Blocks::All => blocks[a.index()] != Blocks::All,
                };
            }
        }
        let kept = self.forward(given, |node| kept[node])?;
        Ok(Base { blocks, members: changing.members, rows: changing.rows.to_vec(), kept })
    }

    /// The values of the outputs for inputs that differ from those of the first walk where it was said.
    pub fn again<T: Number>(
        &self,
        base: &Base<T>,
        given: &Given<'_, T>,
    ) -> Result<Values<T>, TapeError> {
        let mut values: Values<T> = vec![None; base.blocks.len()];
        for id in self.graph().ids().filter(|id| self.is_read(*id)) {
            let i = id.index();
            let value = match base.blocks[i] {
                Blocks::None => continue,
                Blocks::Rows => self.rows(id, base, given, &values)?,
                Blocks::All => {
                    let of = |a: NodeId| base.whole(a, &values);
                    let mut value = self.value(id, given, &of)?;
                    if let Some(change) = given.change {
                        change(id, Arc::make_mut(&mut value));
                    }
                    value
                }
            };
            values[i] = Some(value);
            self.last_use_of(id).iter().for_each(|&dead| values[dead] = None);
        }
        let mut outputs: Values<T> = vec![None; base.blocks.len()];
        for output in &self.graph().outputs {
            outputs[output.node.index()] = Some(base.whole(output.node, &values));
        }
        Ok(outputs)
    }

    /// The blocks of a node that change.
    fn rows<T: Number>(
        &self,
        id: NodeId,
        base: &Base<T>,
        given: &Given<'_, T>,
        values: &Values<T>,
    ) -> Result<Arc<Vec<T>>, TapeError> {
        let op = self.graph().op(id);
        if let Op::Input(_) = op {
            let all = self.value(id, given, &|_| Arc::default())?;
            return Ok(Arc::new(base.taken(&all)));
        }
        let of = |a: &NodeId| values[a.index()].as_ref().expect("a value lives until its last use");
        let args = self.args(id);
        if same_entries(op) {
            return Ok(Arc::clone(of(&args[0])));
        }
        let to = self.shape(id);
        let cut = |shape: &[usize]| {
            let mut shape = shape.to_vec();
            shape[0] = shape[0] / base.members * base.rows.len();
            shape
        };
        let operands: Vec<(Arc<Vec<T>>, Vec<usize>)> = (args.iter().enumerate())
            .map(|(at, a)| {
                let shape = self.shape(*a);
                if base.blocks[a.index()] == Blocks::Rows {
                    return (Arc::clone(of(a)), cut(shape));
                }
                let kept = base.kept[a.index()].as_ref().expect("it is read again");
                match has_rows(op, at, shape, to) {
                    true => (Arc::new(base.taken(kept)), cut(shape)),
                    false => (Arc::clone(kept), shape.to_vec()),
                }
            })
            .collect();
        let views: Vec<_> =
            operands.iter().map(|(x, shape)| (x.as_slice(), shape.as_slice())).collect();
        let value = value(op, &views, &cut(to), given.coin);
        value.map(Arc::new).map_err(|why| self.refused(id, why))
    }

    /// Which blocks of each value can change.
    fn blocks(&self, changing: &Changing<'_>) -> Vec<Blocks> {
        let n = changing.members;
        let changes = |input| !changing.rows.is_empty() && changing.inputs.contains(&input);
        let mut blocks = vec![Blocks::None; self.graph().len()];
        for id in self.graph().ids() {
            let (op, args, to) = (self.graph().op(id), self.args(id), self.shape(id));
            let of = |a: &NodeId| blocks[a.index()];
            let by_rows = || {
                let fits = |(at, a): (usize, &NodeId)| {
                    of(a) == Blocks::None
                        || (of(a) == Blocks::Rows && has_rows(op, at, self.shape(*a), to))
                };
                keeps_rows(op, args.first().map_or(0, |a| self.shape(*a).len()))
                    && to.first().is_some_and(|d| *d > 0 && d % n == 0)
                    && args.iter().enumerate().all(fits)
            };
            blocks[id.index()] = match op {
                Op::Input(input) if changes(*input as usize) => {
                    let whole = changing.whole.contains(&id);
                    match !whole && n > 0 && to.iter().product::<usize>() % n == 0 {
                        true => Blocks::Rows,
                        false => Blocks::All,
                    }
                }
                _ if args.iter().all(|a| of(a) == Blocks::None) => Blocks::None,
                _ if changing.whole.contains(&id) => Blocks::All,
                _ if same_entries(op) => of(&args[0]),
                _ if n > 0 && by_rows() => Blocks::Rows,
                _ => Blocks::All,
            };
        }
        blocks
    }
}

impl<T: Number> Base<T> {
    /// The blocks of the members whose parts change.
    fn taken(&self, all: &[T]) -> Vec<T> {
        let each = all.len() / self.members;
        self.rows.iter().flat_map(|row| &all[row * each..][..each]).copied().collect()
    }

    /// The whole value of a node.
    fn whole(&self, node: NodeId, values: &Values<T>) -> Arc<Vec<T>> {
        let now = || values[node.index()].as_ref().expect("a value lives until its last use");
        let kept = || self.kept[node.index()].as_ref().expect("it is read again");
        match self.blocks[node.index()] {
            Blocks::None => Arc::clone(kept()),
            Blocks::All => Arc::clone(now()),
            Blocks::Rows => {
                let mut all = kept().as_slice().to_vec();
                let each = all.len() / self.members;
                for (at, row) in self.rows.iter().enumerate() {
                    all[row * each..][..each].copy_from_slice(&now()[at * each..][..each]);
                }
                Arc::new(all)
            }
        }
    }
}

/// Operations whose result has the entries of its operand.
pub(super) fn same_entries(op: &Op) -> bool {
    matches!(op, Op::Reshape(_) | Op::ToInt | Op::Trunc(_) | Op::Shift(_) | Op::Saturate(_))
}

/// Whether an entry of the first axis of the result is made of the same entry of its operands, as far as these have
/// that axis ([`has_rows`]). `rank` is that of the first operand.
fn keeps_rows(op: &Op, rank: usize) -> bool {
    match op {
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg | Op::Scale(_) | Op::Function(_) => true,
        Op::Lt | Op::Eq | Op::Not | Op::And | Op::Xor | Op::Select | Op::Gate => true,
        Op::Relu | Op::Abs | Op::DivPow2(_) | Op::MulPow2(_) => true,
        Op::Broadcast(_) | Op::MatMul { .. } | Op::Conv2d(_) => true,
        Op::Sum(axes) => !axes.contains(&0),
        Op::Max(axis) | Op::Min(axis) | Op::Concat(axis) => *axis != 0,
        Op::Slice { axis, .. } | Op::Gather { axis, .. } => *axis != 0,
        Op::Transpose(perm) => perm.first() == Some(&0),
        Op::Sort | Op::SortSum { .. } | Op::ArgMax | Op::ArgMaxIs => rank >= 2,
        Op::OneHot(_) => rank >= 1,
        Op::MaxPool { .. } => rank >= 3,
        Op::Input(_) | Op::Const(..) | Op::Draw(_) | Op::Places(_) | Op::Pairs { .. } => false,
        Op::Noise { .. } => false,
        Op::Reshape(_) | Op::ToInt | Op::Trunc(_) | Op::Shift(_) | Op::Saturate(_) => false,
    }
}

/// Whether the first axis of this operand is that of the result; otherwise all of the operand belongs to each entry of
/// it.
fn has_rows(op: &Op, at: usize, shape: &[usize], to: &[usize]) -> bool {
    let aligned = match op {
        Op::Gather { batch, .. } => at == 0 || *batch > 0,
        Op::Sum(_) | Op::Max(_) | Op::Min(_) | Op::SortSum { .. } => true,
        Op::ArgMax | Op::ArgMaxIs | Op::OneHot(_) => true,
        _ => shape.len() == to.len(),
    };
    aligned && shape.first() == to.first()
}

#[cfg(test)]
#[path = "again_tests.rs"]
mod tests;
