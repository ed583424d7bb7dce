//! Revealed entries as linear forms in what the receiver does not know, many rows at once.
//!
//! Entries that lie evenly apart are followed as one, along [lanes](crate::analysis::lanes), through everything that is
//! linear. Where that does not go on, a lane is cut, in the end to single entries.

use super::functions::Functions;
use super::known::Values;
use super::owners::Owner;
use super::residue::Residue;
use super::terms::{Block, Cut, How, Lane, Rows, Term, even};
use crate::analysis::lanes;
use crate::analysis::layout::{Layout, digits, flat};
use crate::graph::{Conv, Graph, NodeId, Op};
use crate::report::leaks::flow::Flow;
use std::collections::HashMap;

/// Terms that are looked at. Of reveals with more it is said that they were not looked at together
/// ([`LeakKind::NotTogether`](crate::report::leaks::LeakKind::NotTogether)).
pub(super) const TERMS: usize = 1 << 20;

/// Entries of known factors that are read, likewise; a step back from an unknown to its owner counts as some.
const READS: usize = 1 << 24;
const STEP: usize = 8;

/// Entries of a known factor that are held against each other, to see whether it is the same number everywhere. Of
/// more, the longest lane is cut into its entries, which costs terms.
const ALIKE: u64 = 1 << 20;

pub(super) struct Reader<'a> {
    pub(super) g: &'a Graph,
    pub(super) flows: &'a [Flow],
    layouts: HashMap<NodeId, Option<Layout<'a>>>,
    pub(super) functions: Functions,
    values: Values,
    left: usize,
    reads: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(g: &'a Graph, flows: &'a [Flow]) -> Self {
        let (layouts, functions) = (HashMap::new(), Functions::default());
        let values = Values::default();
        Reader { g, flows, layouts, functions, values, left: TERMS, reads: READS }
    }

    /// Counts terms; nothing if these, or what was read for them, are too many.
    fn spend(&mut self, terms: usize) -> Option<()> {
        self.left = self.left.checked_sub(terms).filter(|_| self.reads > 0)?;
        Some(())
    }

    /// Counts a step back from an unknown.
    pub(super) fn spend_step(&mut self) -> Option<()> {
        self.reads = self.reads.checked_sub(STEP)?;
        Some(())
    }

    /// The rows of a reveal; nothing if they have too many terms, which then do not count for others.
    pub(super) fn rows(&mut self, output: usize) -> Option<Vec<Rows>> {
        let before = (self.left, self.reads);
        let rows = self.counted(output);
        if rows.is_none() {
            (self.left, self.reads) = before;
        }
        rows
    }

    fn counted(&mut self, output: usize) -> Option<Vec<Rows>> {
        let node = self.g.outputs[output].node;
        let shape = self.g.shape(node);
        let along = |(&count, step)| Lane { count, step };
        let lanes: Vec<Lane> = shape.iter().zip(lanes::strides(shape)).map(along).collect();
        let (rows, factor) = (lanes.len(), Residue::ONE);
        let first = Term { factor, node, at: 0, lanes, owner: None };
        let mut open = vec![Block { output, rows, todo: vec![first], done: Vec::new() }];
        let mut out = Vec::new();
        while let Some(mut block) = open.pop() {
            let Some(term) = block.todo.pop() else {
                match block.finished() {
                    Ok(rows) => out.push(rows),
                    Err(blocks) => {
                        self.spend(blocks.iter().map(|b| b.done.len() + 1).sum())?;
                        open.extend(blocks);
                    }
                }
                continue;
            };
            self.spend(1)?;
            let done = match self.step(&term) {
                Ok(Some(terms)) => {
                    block.todo.extend(terms);
                    Ok(())
                }
                // Each row, and each entry that is added up, has to be of one owner.
                Ok(None) => self.owner(&term)?.and_then(|owner| {
                    let owner = match owner {
                        // What is made of nobody's data is known.
                        Owner::Nobody => return Ok(()),
                        Owner::One(member) => Some(member),
                        Owner::Several => None,
                    };
                    block.done.push(Term { owner, ..self.unknown(&term)? });
                    Ok(())
                }),
                Err(cut) => Err(cut),
            };
            match done {
                Ok(()) => {}
                Err((lane, how)) if lane >= block.rows => {
                    let parts = term.cut(lane, how);
                    self.spend(parts.len())?;
                    block.todo.extend(parts);
                }
                Err((lane, how)) => {
                    block.todo.push(term);
                    let blocks = block.cut(lane, how);
                    let terms = |b: &Block| b.todo.len() + b.done.len();
                    self.spend(blocks.iter().map(terms).sum())?;
                    open.extend(blocks);
                    continue;
                }
            }
            open.push(block);
        }
        Some(out)
    }

    /// The terms that a term is the sum of; nothing if it is an unknown.
    fn step(&mut self, t: &Term) -> Result<Option<Vec<Term>>, Cut> {
        let (g, id) = (self.g, t.node);
        if self.is_known(id) {
            return Ok(Some(Vec::new()));
        }
        let one = |term: Term| Ok(Some(vec![term]));
        match g.op(id) {
            Op::Add => Ok(Some(vec![self.operand(t, 0)?, self.operand(t, 1)?])),
            Op::Sub => {
                Ok(Some(vec![self.operand(t, 0)?, self.operand(t, 1)?.times(-Residue::ONE)]))
            }
            Op::Neg | Op::Not => one(self.operand(t, 0)?.times(-Residue::ONE)),
            // A rounding is taken for none.
            Op::ToInt | Op::Trunc(_) | Op::Shift(_) => one(self.operand(t, 0)?),
            Op::Scale(by) => one(self.operand(t, 0)?.times(Residue::constant(*by))),
            Op::Mul | Op::And => {
                let (a, b) = (self.operand(t, 0)?, self.operand(t, 1)?);
                self.product(a, b)
            }
            // x other than a known k is x (1 - 2 k) + k.
            Op::Xor if g.args(id).iter().any(|&a| self.is_known(a)) => {
                let k = usize::from(!self.is_known(g.arg(id, 0)));
                let by = self.factor(&self.operand(t, k)?)?;
                one(self.operand(t, 1 - k)?.times(Residue::ONE - by - by))
            }
            Op::Div if self.is_known(g.arg(id, 1)) => {
                let by = self.factor(&self.operand(t, 1)?)?;
                if by.is_zero() { Ok(None) } else { one(self.operand(t, 0)?.times(by.inverse())) }
            }
            // What is carried is taken to be in its range.
            Op::Select if g.site(id).keeps().is_some() || g.site(id).compares_ends() => {
                one(self.operand(t, 2)?)
            }
            Op::Select if self.is_known(g.arg(id, 0)) => {
                let by = self.factor(&self.operand(t, 0)?)?;
                let first = self.operand(t, 1)?.times(by);
                Ok(Some(vec![first, self.operand(t, 2)?.times(Residue::ONE - by)]))
            }
            Op::Sum(_) => one(self.operand(t, 0)?),
            Op::MatMul { .. } => self.products(t, self.operand(t, 0)?, self.operand(t, 1)?),
            Op::Conv2d(conv) if self.is_known(g.arg(id, 1)) => self.window(t, *conv),
            _ => Ok(self.moved(t)?.map(|term| vec![term])),
        }
    }

    /// The entries that those of a term are, if they are only moved.
    pub(super) fn moved(&mut self, t: &Term) -> Result<Option<Term>, Cut> {
        let (g, id) = (self.g, t.node);
        let layout = self.layouts.entry(id).or_insert_with(|| Layout::of(g, id));
        let Some(layout) = layout else { return Ok(None) };
        let lanes = even(t, |sizes, distances| layout.lanes(t.at, sizes, distances))?;
        let (operand, at) = layout.origin(t.at);
        Ok(Some(Term { node: g.arg(id, operand), at, lanes, ..*t }))
    }

    pub(super) fn is_known(&self, id: NodeId) -> bool {
        self.flows[id.index()].is_free()
    }

    /// Where an operand is read: from row to row, and then along the axes of which all entries are.
    pub(super) fn operand(&self, t: &Term, i: usize) -> Result<Term, Cut> {
        let x = self.g.arg(t.node, i);
        let (from, to) = (self.g.shape(x), self.g.shape(t.node));
        let (axes, own) = (axes(self.g, t.node, i), lanes::strides(from));
        // One entry stands beside all of the other operand.
        let stride = |d: &Option<usize>| d.filter(|&d| from[d] > 1).map_or(0, |d| own[d]);
        let strides: Vec<u64> = axes.iter().map(stride).collect();
        let mut lanes =
            even(t, |sizes, distances| lanes::along(to, &strides, t.at, (sizes, distances)))?;
        let all = (0..from.len()).filter(|d| !axes.contains(&Some(*d)));
        lanes.extend(all.map(|d| Lane { count: from[d], step: own[d] }));
        let at = digits(to, t.at).iter().zip(&strides).map(|(d, s)| d * s).sum();
        Ok(Term { node: x, at, lanes, ..*t })
    }

    /// A product, or a sum of products, with a known factor.
    fn product(&mut self, a: Term, b: Term) -> Result<Option<Vec<Term>>, Cut> {
        let (known, other) = match (self.is_known(a.node), self.is_known(b.node)) {
            (true, _) => (a, b),
            (_, true) => (b, a),
            _ => return Ok(None),
        };
        let by = self.factor(&known)?;
        Ok(Some(if by.is_zero() { Vec::new() } else { vec![other.times(by)] }))
    }

    /// A sum of products along lanes that the result does not have: where the factor is another along one of these, the
    /// sum is cut, and not the result.
    fn products(&mut self, t: &Term, a: Term, b: Term) -> Result<Option<Vec<Term>>, Cut> {
        let (lane, how) = match self.product(a.clone(), b.clone()) {
            Err((lane, how)) if lane >= t.lanes.len() => (lane, how),
            done => return done,
        };
        let mut out = Vec::new();
        for (a, b) in a.cut(lane, how).into_iter().zip(b.cut(lane, how)) {
            match self.products(t, a, b)? {
                Some(terms) => out.extend(terms),
                None => return Ok(None),
            }
        }
        Ok(Some(out))
    }

    /// Of a convolution with a known kernel: entry by entry.
    fn window(&mut self, t: &Term, conv: Conv) -> Result<Option<Vec<Term>>, Cut> {
        if let Some(lane) = t.lanes.iter().position(|l| l.count > 1) {
            return Err((lane, How::Each));
        }
        let g = self.g;
        let (image, kernel) = (g.arg(t.node, 0), g.arg(t.node, 1));
        let (x, w) = (g.shape(image), g.shape(kernel));
        let [group, n, o, y, z] = digits(g.shape(t.node), t.at)[..] else {
            return Ok(None);
        };
        let first = o / (w[1] / conv.groups) * w[2];
        let mut out = Vec::new();
        for at in 0..w[2..].iter().product() {
            let inside = digits(&w[2..], at);
            let (row, column) = (conv.read(y, inside[1], x[3]), conv.read(z, inside[2], x[4]));
            let (Some(row), Some(column)) = (row, column) else { continue };
            let place = flat(w, &[&[group, o], &inside[..]].concat());
            let by = self.values.of(g, kernel, place).residue;
            let at = flat(x, &[group, n, first + inside[0], row, column]);
            if !by.is_zero() {
                out.push(Term { node: image, at, ..t.clone() }.times(by));
            }
        }
        Ok(Some(out))
    }

    /// The number that a known term is everywhere.
    fn factor(&mut self, t: &Term) -> Result<Residue, Cut> {
        self.alike(t, |a, b| a == b)
    }

    /// The first number of a known term, where all are alike.
    pub(super) fn alike(
        &mut self,
        t: &Term,
        alike: fn(Residue, Residue) -> bool,
    ) -> Result<Residue, Cut> {
        let g = self.g;
        let mut t = t.clone();
        loop {
            if let Some(x) = g.constant(t.node) {
                return Ok(Residue::constant(x));
            }
            let Some(moved) = self.moved(&t)? else { break };
            t = moved;
        }
        let first = self.values.of(g, t.node, t.at).residue;
        let moving = || t.lanes.iter().enumerate().filter(|(_, lane)| lane.moves());
        let all: u64 = moving().map(|(_, lane)| lane.count).product();
        if all > ALIKE {
            let longest = moving().max_by_key(|(_, lane)| lane.count);
            return Err((longest.map_or(0, |(lane, _)| lane), How::Each));
        }
        let mut places = vec![t.at];
        self.reads = self.reads.saturating_sub(all as usize);
        for (lane, &Lane { count, step }) in moving() {
            let mut further = Vec::with_capacity(places.len() * count as usize);
            for k in 0..count {
                for place in &places {
                    if !alike(self.values.of(g, t.node, place + k * step).residue, first) {
                        return Err((lane, How::After(k)));
                    }
                    further.push(place + k * step);
                }
            }
            places = further;
        }
        Ok(first)
    }
}

/// Which axis of an operand an axis of the result goes along; of the others all entries are read.
fn axes(g: &Graph, id: NodeId, i: usize) -> Vec<Option<usize>> {
    let rank = g.shape(id).len();
    let first = |n: usize| (0..rank).map(|d| Some(d).filter(|_| d < n)).collect();
    match *g.op(id) {
        Op::Sum(ref summed) => {
            let kept = |d: &usize| !summed.contains(&(*d as u64));
            (0..g.shape(g.arg(id, 0)).len()).filter(kept).map(Some).collect()
        }
        Op::Max(axis) | Op::Min(axis) => {
            (0..rank).map(|d| Some(d + usize::from(d >= axis as usize))).collect()
        }
        Op::ArgMax | Op::ArgMaxIs | Op::SortSum { .. } => first(rank),
        Op::Sort | Op::OneHot(_) => first(rank.saturating_sub(1)),
        Op::MaxPool { .. } => first(rank.saturating_sub(2)),
        Op::MatMul { .. } if i == 0 => first(2),
        Op::MatMul { trans_b } => vec![Some(0), None, Some(if trans_b { 1 } else { 2 })],
        Op::Conv2d(_) if i == 0 => first(2),
        Op::Conv2d(_) => vec![Some(0), None, Some(1), None, None],
        Op::Gather { axis, batch } => {
            let (axis, batch) = (axis as usize, batch as usize);
            let chosen = g.shape(g.arg(id, 1)).len() - batch;
            let of = |d: usize| match (i == 0, d) {
                (true, d) if d < axis => Some(d),
                (true, d) if d >= axis + chosen => Some(d + 1 - chosen),
                (false, d) if d < batch => Some(d),
                (false, d) if (axis..axis + chosen).contains(&d) => Some(d - axis + batch),
                _ => None,
            };
            (0..rank).map(of).collect()
        }
        ref op if op.is_pointwise() => first(rank),
        _ => vec![None; rank],
    }
}
