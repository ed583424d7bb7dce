//! What bits of a graph are of earlier bits: one pass through comparisons of counts, conjunctions and moves, in the
//! order of nodes.

use super::function::{Count, Function, MOST_BITS};
use crate::analysis::layout::Layout;
use crate::graph::eval::layout;
use crate::graph::{Graph, NodeId, Op, Table};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;
use std::collections::BTreeMap;
use std::rc::Rc;

/// So many nodes are remembered before those that no later node reads are forgotten.
const FEWEST: usize = 8;

/// All entries of a table: one may stand for all.
fn entries(table: &Table) -> impl Iterator<Item = f64> {
    let n = table.shape.iter().product::<u64>() as usize;
    let one = table.data.len() == 1;
    (0..n).filter_map(move |i| table.data.get(if one { 0 } else { i }).copied())
}

/// What the elements of a secret bit are.
#[derive(Clone)]
enum Bits {
    /// Each one of itself, and no function of earlier bits is known.
    Own(NodeId),
    Each(Rc<Vec<Function>>),
}

impl Bits {
    fn get(&self, i: usize) -> Option<Function> {
        match self {
            Bits::Own(id) => Some(Function::literal(*id, i)),
            Bits::Each(all) => all.get(i).cloned(),
        }
    }

    /// The most bits that an element is of.
    fn most(&self) -> usize {
        match self {
            Bits::Own(_) => 1,
            Bits::Each(all) => all.iter().map(|f| f.of.len()).max().unwrap_or(0),
        }
    }
}

/// The functions that nodes' elements are.
pub struct Functions<'a> {
    graph: &'a Graph,
    /// Larger nodes are not looked at.
    most: u64,
    /// The nodes before this one have been read.
    next: NodeId,
    bits: BTreeMap<NodeId, Bits>,
    counts: BTreeMap<NodeId, Rc<Vec<Count>>>,
    /// So many may be remembered now: at least half of them are new when they are looked through.
    room: usize,
}

impl<'a> Functions<'a> {
    /// Of the nodes of a graph with scales that have at most so many elements.
    pub fn new(graph: &'a Graph, most: u64) -> Functions<'a> {
        let (bits, counts) = (BTreeMap::new(), BTreeMap::new());
        Functions { graph, most, next: NodeId(0), bits, counts, room: FEWEST }
    }

    /// What each element of a secret bit is of bits before it. `None` if nothing is found, for large nodes, and for those
    /// that only nodes before the last one that was asked for read.
    pub fn bits(&mut self, id: NodeId) -> Option<Rc<Vec<Function>>> {
        while self.next <= id {
            self.read(self.next);
            self.next.0 += 1;
        }
        match self.bits.get(&id)? {
            Bits::Own(_) => None,
            Bits::Each(all) => Some(all.clone()),
        }
    }

    /// Reads a node whose operands have been read.
    fn read(&mut self, id: NodeId) {
        let graph = self.graph;
        if graph.elements(id) <= self.most {
            match graph.ty(id).elem {
                Elem::Bit => self.bits.extend(self.functions(id).map(|f| (id, f))),
                Elem::Int => self.counts.extend(self.counts_of(id).map(|c| (id, Rc::new(c)))),
                Elem::Fix => {}
            }
        }
        if self.bits.len() + self.counts.len() > self.room {
            let is_read = |of: &NodeId| graph.users(*of).last().is_some_and(|last| *last >= id);
            self.bits.retain(|of, _| *of == id || is_read(of));
            self.counts.retain(|of, _| *of == id || is_read(of));
            self.room = FEWEST.max(2 * (self.bits.len() + self.counts.len()));
        }
    }

    fn functions(&self, id: NodeId) -> Option<Bits> {
        match (self.graph.op(id), self.graph.ty(id).secrecy) {
            (Op::Const(table, ..), _) => {
                let mut known = None;
                let constant = |v| Function::constant(v != 0.0).sharing(&mut known);
                let all = entries(table).map(constant).collect();
                Some(Bits::Each(Rc::new(all)))
            }
            (_, Secrecy::Public) => None,
            _ => {
                let small = |f: &Vec<Function>| f.iter().all(|f| f.of.len() <= MOST_BITS);
                let found = self.bits_of(id).filter(small);
                Some(found.map_or(Bits::Own(id), |all| Bits::Each(Rc::new(all))))
            }
        }
    }

    /// What is known of each element of a result whose elements are moved, from what `known` has of an operand.
    fn moved<K, T>(
        &self,
        id: NodeId,
        known: impl Fn(NodeId) -> Option<K>,
        at: impl Fn(&K, usize) -> Option<T>,
    ) -> Option<Vec<T>> {
        let graph = self.graph;
        let moved = Layout::of(graph, id)?;
        let args = graph.args(id);
        // An index is no operand whose elements are moved.
        let n = if let Op::Concat(_) = graph.op(id) { args.len() } else { 1 };
        let operands: Vec<K> = args.iter().take(n).map(|&x| known(x)).collect::<Option<_>>()?;
        let entry = |i| {
            let (operand, from) = moved.origin(i);
            at(operands.get(operand)?, from as usize)
        };
        (0..graph.elements(id)).map(entry).collect()
    }

    fn shape(&self, id: NodeId) -> Vec<usize> {
        self.graph.shape(id).iter().map(|&n| n as usize).collect()
    }

    /// For each element of a result, which element of either operand it reads. Indices, since what is known of
    /// an element is not `Copy`.
    fn pairs(&self, id: NodeId) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        let [a, b] = [0, 1].map(|i| {
            let x = self.graph.arg(id, i);
            let all: Vec<usize> = (0..self.graph.elements(x) as usize).collect();
            layout::broadcast(&all, &self.shape(x), &self.shape(id))
        });
        a.into_iter().zip(b)
    }

    fn bits_of(&self, id: NodeId) -> Option<Vec<Function>> {
        let args = self.graph.args(id);
        let elements = self.graph.elements(id) as usize;
        let mut table = None;
        match self.graph.op(id) {
            Op::Not => {
                let x = self.bits.get(&args[0])?;
                (0..elements).map(|i| Some(x.get(i)?.not().sharing(&mut table))).collect()
            }
            Op::Xor | Op::And => {
                let xor = *self.graph.op(id) == Op::Xor;
                let (a, b) = (self.bits.get(&args[0])?, self.bits.get(&args[1])?);
                let (ma, mb) = (a.most(), b.most());
                // Of too many bits, the operand of more is taken as one.
                let take = |f: &Bits, i: usize, x: NodeId, whole: bool| match whole {
                    true => f.get(i),
                    false => Some(Function::literal(x, i)),
                };
                let fits = ma + mb <= MOST_BITS;
                let with_constant = |f: Function, c: bool| match (xor, c) {
                    (true, true) => f.not(),
                    (false, false) => Function::constant(false),
                    _ => f,
                };
                let both = self.pairs(id).map(|(i, j)| {
                    let a = take(a, i, args[0], fits || ma <= mb)?;
                    let b = take(b, j, args[1], fits || ma > mb)?;
                    let both = match (a.as_constant(), b.as_constant()) {
                        (_, Some(c)) => with_constant(a, c),
                        (Some(c), _) => with_constant(b, c),
                        _ if xor => a.with(&b, |a, b| a != b),
                        _ => a.with(&b, |a, b| a && b),
                    };
                    Some(both.sharing(&mut table))
                });
                both.collect()
            }
            Op::Lt | Op::Eq => {
                let lt = *self.graph.op(id) == Op::Lt;
                let (a, b) = (self.counts.get(&args[0])?, self.counts.get(&args[1])?);
                let each = self.pairs(id).map(|(i, j)| {
                    let d = a[i].plus(&b[j], -1)?;
                    let holds = d.holds(|v| if lt { v < 0 } else { v == 0 })?;
                    Some(holds.sharing(&mut table))
                });
                each.collect()
            }
            _ => self.moved(id, |x| self.bits.get(&x), |x, i| x.get(i)),
        }
    }

    /// The weighted sums that a small integer's elements are.
    fn counts_of(&self, id: NodeId) -> Option<Vec<Count>> {
        let args = self.graph.args(id);
        let op = self.graph.op(id);
        match op {
            Op::Const(table, ..) => {
                let whole = |v: f64| {
                    let small = v.fract() == 0.0 && v.abs() < f64::from(i32::MAX);
                    small.then(|| Count { constant: v as i64, terms: Vec::new() })
                };
                entries(table).map(whole).collect()
            }
            Op::ToInt => {
                let bits = self.bits.get(&args[0])?;
                let term = |f: Function| match f.of[..] {
                    [l] if *f.table == [false, true] => {
                        Some(Count { constant: 0, terms: vec![(l, 1)] })
                    }
                    _ => None,
                };
                (0..self.graph.elements(id) as usize).map(|i| term(bits.get(i)?)).collect()
            }
            Op::Neg => self.counts.get(&args[0])?.iter().map(|c| c.times(-1)).collect(),
            Op::Scale(by) if by.fract() == 0.0 && by.abs() < f64::from(i32::MAX) => {
                self.counts.get(&args[0])?.iter().map(|c| c.times(*by as i64)).collect()
            }
            Op::Add | Op::Sub | Op::Mul => {
                let (a, b) = (self.counts.get(&args[0])?, self.counts.get(&args[1])?);
                let each = self.pairs(id).map(|(i, j)| {
                    let (a, b) = (&a[i], &b[j]);
                    match op {
                        Op::Add => a.plus(b, 1),
                        Op::Sub => a.plus(b, -1),
                        _ if a.terms.is_empty() => b.times(a.constant),
                        _ if b.terms.is_empty() => a.times(b.constant),
                        _ => None,
                    }
                });
                each.collect()
            }
            Op::Sum(axes) => {
                let from = self.counts.get(&args[0])?;
                let mut kept = self.shape(args[0]);
                axes.iter().for_each(|&axis| kept[axis as usize] = 1);
                let all: Vec<usize> = (0..kept.iter().product()).collect();
                let to = layout::broadcast(&all, &kept, &self.shape(args[0]));
                let mut sums = vec![Count::default(); all.len()];
                for (i, c) in to.into_iter().zip(from.iter()) {
                    sums[i] = sums[i].plus(c, 1)?;
                }
                Some(sums)
            }
            _ => self.moved(id, |x| self.counts.get(&x), |x, i| x.get(i).cloned()),
        }
    }
}
