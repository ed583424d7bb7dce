//! Revealed entries as linear forms in what the receiver does not know, many rows at once.
//!
//! Entries that lie evenly apart are followed as one, along [lanes](crate::analysis::lanes), through everything that is
//! linear. Where that does not go on, a lane is cut, in the end to single entries.

use super::elimination::Member;
use super::known::Values;
use super::residue::Residue;
use super::terms::{Block, Cut, How, Lane, Rows, Term, even};
use crate::analysis::lanes;
use crate::analysis::layout::{Layout, aligned, digits, flat};
use crate::graph::{Conv, Graph, NodeId, Op};
use crate::report::leaks::flow::Flow;
use std::collections::HashMap;

/// Terms that are looked at. Of reveals with more it is said that they were not looked at together
/// ([`LeakKind::NotTogether`](crate::report::leaks::LeakKind::NotTogether)).
pub(super) const TERMS: usize = 1 << 20;

/// Entries of a known factor that are held against each other, to see whether it is the same number everywhere. Of
/// more, the longest lane is cut into its entries, which costs terms.
const FACTORS: u64 = 1 << 20;

pub(super) struct Reader<'a> {
    g: &'a Graph,
    flows: &'a [Flow],
    layouts: HashMap<NodeId, Option<Layout<'a>>>,
    values: Values,
    left: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(g: &'a Graph, flows: &'a [Flow]) -> Self {
        Reader { g, flows, layouts: HashMap::new(), values: Values::default(), left: TERMS }
    }

    /// Whose data an entry is made of, if it is one client's.
    pub(super) fn owner(&self, node: NodeId, at: u64) -> Option<Member> {
        self.flows[node.index()].member_at(&digits(self.g.shape(node), at))
    }

    /// Counts terms; nothing if these are too many.
    fn spend(&mut self, terms: usize) -> Option<()> {
        self.left = self.left.checked_sub(terms)?;
        Some(())
    }

    /// The rows of a reveal; nothing if they have too many terms.
    pub(super) fn rows(&mut self, output: usize) -> Option<Vec<Rows>> {
        let node = self.g.outputs[output].node;
        let shape = self.g.shape(node);
        let along = |(&count, step)| Lane { count, step };
        let lanes: Vec<Lane> = shape.iter().zip(lanes::strides(shape)).map(along).collect();
        let (rows, factor) = (lanes.len(), Residue::ONE);
        let first = Term { factor, node, at: 0, lanes };
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
            match self.step(&term) {
                Ok(None) => block.done.push(term),
                Ok(Some(terms)) => block.todo.extend(terms),
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
                self.product(t, a, b)
            }
            Op::Div if self.is_known(g.arg(id, 1)) => {
                let by = self.factor(&self.operand(t, 1)?)?;
                if by.is_zero() {
                    self.unknown(t)
                } else {
                    one(self.operand(t, 0)?.times(by.inverse()))
                }
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
            Op::Sum(axes) => {
                let shape = g.shape(g.arg(id, 0));
                let own = lanes::strides(shape);
                let summed = |d: &usize| axes.contains(&(*d as u64));
                let kept: Vec<u64> =
                    (0..shape.len()).filter(|d| !summed(d)).map(|d| own[d]).collect();
                let mut term = self.read(t, 0, &kept)?;
                let along = |d: usize| Lane { count: shape[d], step: own[d] };
                term.lanes.extend((0..shape.len()).filter(summed).map(along));
                one(term)
            }
            Op::MatMul { trans_b } => {
                let (a, b) = (g.shape(g.arg(id, 0)), g.shape(g.arg(id, 1)));
                let (inner, columns) = (a[2], g.shape(id)[2]);
                let batch = |of: &[u64]| if of[0] == 1 { 0 } else { of[1] * of[2] };
                let (along, across) = if *trans_b { (1, inner) } else { (columns, 1) };
                let mut left = self.read(t, 0, &[batch(a), inner, 0])?;
                let mut right = self.read(t, 1, &[batch(b), 0, across])?;
                left.lanes.push(Lane { count: inner, step: 1 });
                right.lanes.push(Lane { count: inner, step: along });
                self.products(t, left, right)
            }
            Op::Conv2d(conv) if self.is_known(g.arg(id, 1)) => self.window(t, *conv),
            _ => {
                let layout = self.layouts.entry(id).or_insert_with(|| Layout::of(g, id));
                let Some(layout) = layout else { return self.unknown(t) };
                let lanes = even(t, |sizes, distances| layout.lanes(t.at, sizes, distances))?;
                let (operand, at) = layout.origin(t.at);
                one(Term { node: g.arg(id, operand), at, lanes, factor: t.factor })
            }
        }
    }

    /// Of a term that is an unknown: each row and what is added up has to be of one owner.
    fn unknown(&self, t: &Term) -> Result<Option<Vec<Term>>, Cut> {
        let (flow, shape) = (&self.flows[t.node.index()], self.g.shape(t.node));
        let Some(axis) = flow.axis() else { return Ok(None) };
        if flow.member_at(&vec![0; shape.len()]).is_none() {
            return Ok(None);
        }
        let inner = shape[axis + 1..].iter().product();
        let outer = shape[..axis].iter().product();
        let whose = |sizes: &[u64], distances: &[u64]| {
            lanes::along(&[outer, shape[axis], inner], &[0, 1, 0], t.at, (sizes, distances))
        };
        match even(t, whose)?.iter().position(|lane| lane.moves()) {
            Some(lane) => Err((lane, How::Each)),
            None => Ok(None),
        }
    }

    fn is_known(&self, id: NodeId) -> bool {
        self.flows[id.index()].is_free()
    }

    /// Where an operand of an entry-by-entry operation is read.
    fn operand(&self, t: &Term, i: usize) -> Result<Term, Cut> {
        let x = self.g.arg(t.node, i);
        let (from, to) = (self.g.shape(x), self.g.shape(t.node));
        let lanes = even(t, |sizes, distances| lanes::aligned(from, to, t.at, (sizes, distances)))?;
        Ok(Term { node: x, at: aligned(from, to, t.at), lanes, factor: t.factor })
    }

    /// Where an operand is read, by what each axis of the result contributes to the place in it.
    fn read(&self, t: &Term, i: usize, strides: &[u64]) -> Result<Term, Cut> {
        let shape = self.g.shape(t.node);
        let lanes =
            even(t, |sizes, distances| lanes::along(shape, strides, t.at, (sizes, distances)))?;
        let at = digits(shape, t.at).iter().zip(strides).map(|(d, s)| d * s).sum();
        Ok(Term { node: self.g.arg(t.node, i), at, lanes, factor: t.factor })
    }

    /// A product, or a sum of products, with a known factor.
    fn product(&mut self, t: &Term, a: Term, b: Term) -> Result<Option<Vec<Term>>, Cut> {
        let (known, other) = match (self.is_known(a.node), self.is_known(b.node)) {
            (true, _) => (a, b),
            (_, true) => (b, a),
            _ => return self.unknown(t),
        };
        let by = self.factor(&known)?;
        Ok(Some(if by.is_zero() { Vec::new() } else { vec![other.times(by)] }))
    }

    /// A sum of products along lanes that the result does not have: where the factor is another along one of these, the
    /// sum is cut, and not the result.
    fn products(&mut self, t: &Term, a: Term, b: Term) -> Result<Option<Vec<Term>>, Cut> {
        let (lane, how) = match self.product(t, a.clone(), b.clone()) {
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
            return self.unknown(t);
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
        let g = self.g;
        let mut t = t.clone();
        loop {
            if let Some(x) = g.constant(t.node) {
                return Ok(Residue::constant(x));
            }
            let layout = self.layouts.entry(t.node).or_insert_with(|| Layout::of(g, t.node));
            let Some(layout) = layout else { break };
            let lanes = even(&t, |sizes, distances| layout.lanes(t.at, sizes, distances))?;
            let (operand, at) = layout.origin(t.at);
            t = Term { node: g.arg(t.node, operand), at, lanes, factor: t.factor };
        }
        let first = self.values.of(g, t.node, t.at).residue;
        let moving = || t.lanes.iter().enumerate().filter(|(_, lane)| lane.moves());
        let all: u64 = moving().map(|(_, lane)| lane.count).product();
        if all > FACTORS {
            let longest = moving().max_by_key(|(_, lane)| lane.count);
            return Err((longest.map_or(0, |(lane, _)| lane), How::Each));
        }
        let mut places = vec![t.at];
        for (lane, &Lane { count, step }) in moving() {
            let mut further = Vec::with_capacity(places.len() * count as usize);
            for k in 0..count {
                for place in &places {
                    if self.values.of(g, t.node, place + k * step).residue != first {
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
