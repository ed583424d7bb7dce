//! Which bits depend on decisions that are not certified.
//!
//! Each decision in doubt is followed forward, alone, through all entries that may differ in a run: an entry that is
//! certain is the same whatever the decision. The circuit's values are not looked at, so this says what *may*
//! change, for flips of any decisions together.

use super::deviation::Running;
use super::linear::spread;
use crate::graph::eval::{self, EvalError, Inputs};
use crate::graph::{Class, Graph, NodeId, Op};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many decisions in doubt are followed.
pub const MOST: usize = 256;

/// What is remembered of a run to follow decisions in it.
pub struct Flips<'a> {
    g: &'a Graph,
    /// Nodes on a way from a decision to a bit.
    on_way: Vec<bool>,
    /// Of these, which entries may differ.
    doubt: Vec<Option<Vec<bool>>>,
    /// Public indices by which entries on the way are moved.
    indices: BTreeMap<NodeId, Arc<Vec<f64>>>,
}

/// The bits that outputs are chosen by, or made of: the last ones before them. `depended_on` says of each node whether
/// an output depends on it otherwise than by a choice between near values ([`crate::analysis::errors::Errors`]).
pub fn keeping(g: &Graph, depended_on: &[bool]) -> Vec<NodeId> {
    let mut seen = vec![false; g.len()];
    let mut open: Vec<NodeId> = g.outputs.iter().map(|o| o.node).collect();
    let mut found = Vec::new();
    while let Some(x) = open.pop() {
        let read = depended_on.get(x.index()).copied().unwrap_or(true);
        if std::mem::replace(&mut seen[x.index()], true) || !read {
            continue;
        }
        let secret = g.ty(x).secrecy == Secrecy::Secret;
        if g.ty(x).elem == Elem::Bit && secret && !matches!(g.op(x), Op::Input(_)) {
            found.push(x);
        } else {
            open.extend(g.args(x));
        }
    }
    found.sort_unstable();
    found
}

impl<'a> Flips<'a> {
    /// For the decisions at these nodes, up to these bits.
    pub fn new(g: &'a Graph, decisions: &[NodeId], bits: &[NodeId]) -> Flips<'a> {
        let among = |ids: &[NodeId]| {
            let mut found = vec![false; g.len()];
            ids.iter().for_each(|id| found[id.index()] = true);
            move |id: NodeId| found[id.index()]
        };
        let (from, to) = (g.descendants_of(among(decisions)), g.ancestors_of(among(bits)));
        let on_way = from.iter().zip(&to).map(|(f, t)| *f && *t).collect();
        Flips { g, on_way, doubt: vec![None; g.len()], indices: BTreeMap::new() }
    }

    /// To be called of every node of a run.
    pub fn see(&mut self, id: NodeId, x: &Running) {
        let index =
            |u: &NodeId| matches!(self.g.op(*u), Op::Gather { .. }) && self.g.arg(*u, 1) == id;
        if self.g.users(id).iter().any(|u| self.on_way[u.index()] && index(u)) {
            self.indices.insert(id, Arc::clone(&x.value));
        }
        if self.on_way[id.index()] {
            self.doubt[id.index()] = Some((0..x.value.len()).map(|i| x.bound(i) > 0.0).collect());
        }
    }

    /// Which entries may differ at a node on the way.
    pub fn doubt(&self, id: NodeId) -> Option<&[bool]> {
        self.doubt[id.index()].as_deref()
    }

    /// Which entries of each node depend on entry `i` of a decision.
    ///
    /// # Errors
    ///
    /// None, of a graph that was evaluated.
    pub fn of(&self, decision: NodeId, i: usize) -> Result<Vec<Option<Vec<bool>>>, EvalError> {
        let g = self.g;
        let mut all: Vec<Option<Vec<bool>>> = vec![None; g.len()];
        let n = g.elements(decision) as usize;
        all[decision.index()] = Some((0..n).map(|j| j == i).collect());
        for id in g.ids().filter(|id| *id > decision && self.on_way[id.index()]) {
            let args = g.args(id);
            if args.iter().all(|a| all[a.index()].is_none()) {
                continue;
            }
            let mut marked = self.step(id, args, &all)?;
            if let Some(doubt) = self.doubt(id) {
                marked.iter_mut().zip(doubt).for_each(|(m, d)| *m &= d);
            }
            if marked.contains(&true) {
                all[id.index()] = Some(marked);
            }
        }
        Ok(all)
    }

    /// Which entries of a node read a marked entry.
    fn step(
        &self,
        id: NodeId,
        args: &[NodeId],
        all: &[Option<Vec<bool>>],
    ) -> Result<Vec<bool>, EvalError> {
        let g = self.g;
        let marks = |a: NodeId, beside: f64| {
            let n = g.elements(a) as usize;
            let of = |m: &Vec<bool>| m.iter().map(|&m| f64::from(u8::from(m))).collect();
            Arc::new(all[a.index()].as_ref().map_or_else(|| vec![beside; n], of))
        };
        let apply = |given: &[&Arc<Vec<f64>>]| {
            eval::node(g, id, given, &Inputs::default(), &|_| Vec::new())
        };
        let any = |x: Arc<Vec<f64>>| x.iter().map(|&x| x != 0.0).collect::<Vec<bool>>();
        let n = g.elements(id) as usize;
        let each_operand = |f: &dyn Fn(usize, NodeId) -> Result<Vec<bool>, EvalError>| {
            let mut out = vec![false; n];
            for (k, &a) in args.iter().enumerate().filter(|(_, a)| all[a.index()].is_some()) {
                out.iter_mut().zip(f(k, a)?).for_each(|(o, f)| *o |= f);
            }
            Ok(out)
        };
        match g.op(id).class() {
            Class::Leaf => Ok(vec![false; n]),
            Class::Pointwise | Class::Function | Class::Rescale => each_operand(&|_, a| {
                Ok(spread(g, &marks(a, 0.0), a, id).iter().map(|&m| m != 0.0).collect())
            }),
            // Marks are not negative: of several factors the others are ones, so that a sum is there if any mark is.
            Class::Bilinear => each_operand(&|k, _| {
                let beside = |j: usize| vec![1.0; g.elements(args[j]) as usize];
                let given = |j| if j == k { marks(args[j], 0.0) } else { Arc::new(beside(j)) };
                let given: Vec<_> = (0..args.len()).map(given).collect();
                Ok(any(apply(&given.iter().collect::<Vec<_>>())?))
            }),
            Class::Layout | Class::Concat => {
                let given = |&a: &NodeId| match self.indices.get(&a) {
                    Some(index) if Some(&a) == args.get(1) && g.op(id).is_layout() => {
                        Arc::clone(index)
                    }
                    _ => marks(a, 0.0),
                };
                let given: Vec<_> = args.iter().map(given).collect();
                Ok(any(apply(&given.iter().collect::<Vec<_>>())?))
            }
            // Each entry of what is reduced may be in the result, and each entry of a row anywhere in it.
            Class::Reduction | Class::Axis => {
                let op = g.op(id);
                if matches!(op, Op::Sum(_) | Op::Max(_) | Op::MaxPool { .. }) {
                    return Ok(any(apply(&[&marks(args[0], 0.0)])?));
                }
                if let Op::Min(_) = op {
                    let minus = marks(args[0], 0.0).iter().map(|x| -x).collect::<Vec<f64>>();
                    return Ok(any(apply(&[&Arc::new(minus)])?));
                }
                if let Op::OneHot(classes) = op {
                    let label = marks(args[0], 0.0);
                    return Ok((0..n).map(|i| label[i / *classes as usize] != 0.0).collect());
                }
                // Along the last axis.
                each_operand(&|_, a| {
                    let width = g.shape(a).last().map_or(1, |&d| d as usize).max(1);
                    let marks = marks(a, 0.0);
                    let rows: Vec<bool> =
                        marks.chunks(width).map(|row| row.iter().any(|&m| m != 0.0)).collect();
                    let each = (n / rows.len().max(1)).max(1);
                    Ok((0..n).map(|i| rows.get(i / each).copied().unwrap_or(true)).collect())
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::eval::testing::{Kind, random_graph, random_inputs, successors};

    /// What changes when a bit of a client is another one is among what is said to depend on it.
    #[test]
    fn what_a_flip_changes_is_marked() {
        let (mut changed, mut marked) = (0, 0);
        for seed in 0..400 {
            let g = random_graph(seed, 30, Kind::Lossless);
            let is_bit = |id: &NodeId| matches!(g.op(*id), Op::Input(i) if g.inputs[*i as usize].name == "b");
            let bit = g.ids().find(is_bit).expect("an input of bits");
            let mut inputs = random_inputs(&g, seed);
            let run = |inputs: &Inputs| eval::real(&g, inputs, &successors, true).map(|r| r.values);
            let Ok(before) = run(&inputs) else { continue };
            let (client, at) = (seed as usize % 3, seed as usize / 3 % 2);
            let b = inputs.sets[0][client].get_mut("b").expect("bits");
            b[at] = 1.0 - b[at];
            let Ok(after) = run(&inputs) else { continue };
            let all: Vec<NodeId> = g.ids().collect();
            let mut flips = Flips::new(&g, &[bit], &all);
            for id in g.ids() {
                let value = before[id.index()].clone().expect("values are kept");
                let doubt = vec![1.0; value.len()];
                flips.see(id, &Running::within(value, doubt));
            }
            let found = flips.of(bit, client * 2 + at).expect("marks");
            for id in g.ids() {
                let value = |run: &[Option<Arc<Vec<f64>>>]| run[id.index()].clone().expect("kept");
                for (i, (x, y)) in value(&before).iter().zip(value(&after).iter()).enumerate() {
                    let is_marked = found[id.index()].as_ref().is_some_and(|marks| marks[i]);
                    assert!(
                        x == y || is_marked,
                        "graph {seed}, entry {i} of {id:?}: {:?}",
                        g.op(id)
                    );
                    (changed, marked) =
                        (changed + u32::from(x != y), marked + u32::from(is_marked));
                }
            }
        }
        assert!(changed > 500 && marked < 4 * changed, "{changed} of {marked}");
    }
}
