//! What is computed of one client in the same way twice: the part of a node that one position on an axis stands for.
//!
//! A number that is computed from too many others is an unknown of its own. If a program computes it twice, once for all
//! clients and once for some of them, both are one unknown. So nodes are compared part by part, without their entries.

use super::reads;
use crate::analysis::layout::behind;
use crate::graph::{Graph, Key, NodeId, Op};
use std::collections::HashMap;

/// Steps from a part to those that it is computed from.
const DEPTH: usize = 256;

/// What a part is computed from, and how. Parts with equal descriptions have equal entries.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Of {
    /// That of an input.
    Input(u32, u64),
    /// A whole node.
    Node(NodeId),
    /// One public number, by its bits, in this shape without the axis.
    Number(u64, Vec<u64>),
    /// A table of public numbers.
    Table(Key),
    /// An operation, the shape without the axis and what else matters, on other parts.
    Made(Key, Vec<u64>, Vec<u32>),
}

/// Parts, numbered as they are found.
pub(super) struct Twins<'a> {
    graph: &'a Graph,
    ids: HashMap<Of, u32>,
    parts: HashMap<(NodeId, usize, u64), Option<u32>>,
    first: HashMap<(u32, Vec<u64>), u32>,
}

impl<'a> Twins<'a> {
    pub(super) fn of(graph: &'a Graph) -> Twins<'a> {
        let (ids, parts, first) = (HashMap::new(), HashMap::new(), HashMap::new());
        Twins { graph, ids, parts, first }
    }

    /// The first number that is this entry, if there was one; otherwise it is `number`.
    pub(super) fn first(&mut self, id: NodeId, axis: usize, entry: usize, number: u32) -> u32 {
        let mut place = reads::position(self.graph.shape(id), entry);
        let part = self.part(id, axis, place.remove(axis), DEPTH);
        part.map_or(number, |part| *self.first.entry((part, place)).or_insert(number))
    }

    /// The part of a node at a position on an axis; `None` if it is not known what it is computed from.
    fn part(&mut self, id: NodeId, axis: usize, at: u64, depth: usize) -> Option<u32> {
        if let Some(&found) = self.parts.get(&(id, axis, at)) {
            return found;
        }
        let found = if depth == 0 { None } else { self.described(id, axis, at, depth - 1) };
        self.parts.insert((id, axis, at), found);
        found
    }

    fn described(&mut self, id: NodeId, axis: usize, at: u64, depth: usize) -> Option<u32> {
        let g = self.graph;
        let (op, args, shape) = (g.op(id), g.args(id), g.shape(id));
        let of = |i: usize| g.shape(args[i]);
        let less = |a: u64| if a as usize > axis { a - 1 } else { a };
        let rest = |shape: &[u64]| [&shape[..axis], &shape[axis + 1..]].concat();
        // The operands' axis, and what says how they are combined beside the shape of the result.
        let (axes, plain, more): (Vec<usize>, Op, Vec<u64>) = match op {
            Op::Input(i) => {
                let each = axis == 0 && g.inputs[*i as usize].from.set().is_some();
                return each.then(|| self.id(Of::Input(*i, at)));
            }
            Op::Const(table, ..) => {
                let number = table.as_splat()?.to_bits();
                return Some(self.id(Of::Number(number, rest(shape))));
            }
            Op::Slice { axis: a, start, step, .. } if *a as usize == axis => {
                return self.part(args[0], axis, start + step * at, depth);
            }
            Op::Gather { axis: a, batch: 0 } if *a as usize == axis && of(1).len() == 1 => {
                let Op::Const(table, ..) = g.op(args[1]) else { return None };
                return self.part(args[0], axis, table.at(at as usize) as u64, depth);
            }
            Op::Concat(a) if *a as usize == axis => {
                let mut left = at;
                for (i, &arg) in args.iter().enumerate() {
                    if left < of(i)[axis] {
                        return self.part(arg, axis, left, depth);
                    }
                    left -= of(i)[axis];
                }
                return None;
            }
            op if op.is_pointwise() => (vec![axis; args.len()], op.clone(), Vec::new()),
            Op::Broadcast(_) => (vec![axis], Op::Broadcast(Vec::new()), Vec::new()),
            Op::Slice { axis: a, start, len, step } => {
                (vec![axis], op.clone(), vec![less(*a), *start, *len, *step])
            }
            Op::MatMul { .. } if axis == 0 => (vec![0, 0], op.clone(), Vec::new()),
            Op::Sum(over) => {
                let from = unsummed(over, axis);
                let over = over.iter().map(|&a| if a as usize > from { a - 1 } else { a });
                (vec![from], Op::Sum(Vec::new()), over.collect())
            }
            Op::Transpose(perm) => {
                let from = perm[axis];
                let others = perm.iter().filter(|&&p| p != from);
                let others = others.map(|&p| if p > from { p - 1 } else { p }).collect();
                (vec![from as usize], Op::Transpose(Vec::new()), others)
            }
            Op::Reshape(_) => {
                (vec![reshaped(of(0), shape, axis)?], Op::Reshape(Vec::new()), Vec::new())
            }
            _ => return None,
        };
        // The axis of a slice along another one counts without this one.
        let plain = match plain {
            Op::Slice { .. } => Op::Slice { axis: 0, start: 0, len: 0, step: 0 },
            plain => plain,
        };
        let parts: Option<Vec<u32>> = (args.iter().zip(axes))
            .map(|(&arg, axis)| match g.shape(arg).get(axis)? {
                1 => Some(self.whole(arg, axis)),
                _ => self.part(arg, axis, at, depth),
            })
            .collect();
        let made = Of::Made(plain.key(), [rest(shape), more].concat(), parts?);
        Some(self.id(made))
    }

    /// A node that is the same for all positions on an axis.
    fn whole(&mut self, id: NodeId, axis: usize) -> u32 {
        let mut shape = self.graph.shape(id).to_vec();
        shape.remove(axis);
        // One number stays the same wherever it is put.
        let from = behind(self.graph, id, Op::is_layout);
        self.id(match self.graph.op(from) {
            Op::Const(table, ..) if table.as_splat().is_some() => {
                Of::Number(table.as_splat().unwrap_or_default().to_bits(), shape)
            }
            op @ Op::Const(..) if from == id => Of::Table(op.key()),
            _ => Of::Node(id),
        })
    }

    fn id(&mut self, of: Of) -> u32 {
        let next = self.ids.len() as u32;
        *self.ids.entry(of).or_insert(next)
    }
}

/// The axis that is `axis` once these are summed.
fn unsummed(over: &[u64], axis: usize) -> usize {
    let mut left = (0..).filter(|a| !over.contains(a));
    left.nth(axis).unwrap_or_default() as usize
}

/// The axis of as many entries, behind as many others, before entries are put in another shape.
fn reshaped(from: &[u64], to: &[u64], axis: usize) -> Option<usize> {
    let before = |shape: &[u64], axis: usize| shape[..axis].iter().product::<u64>();
    let same = |&a: &usize| from[a] == to[axis] && before(from, a) == before(to, axis);
    (0..from.len()).find(same).filter(|_| to[axis] > 1)
}
