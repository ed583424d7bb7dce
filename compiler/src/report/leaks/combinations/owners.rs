//! Whose data an unknown is made of: read back to inputs, entry by entry.

use super::elimination::Member;
use super::residue::Residue;
use super::rows::Reader;
use super::terms::{Cut, How, Lane, Term, even};
use crate::analysis::behind::behind;
use crate::analysis::lanes;
use crate::analysis::layout::digits;
use crate::graph::{NodeId, Op};
use std::collections::HashSet;

/// Whose data entries are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Owner {
    Nobody,
    One(Member),
    Several,
}

/// One member's data, from row to row.
#[derive(Clone, Debug, PartialEq)]
struct Whose {
    first: Member,
    /// How many members further, for each lane.
    steps: Vec<u64>,
}

/// What entries are made of.
enum Made {
    Of(Vec<Term>),
    One(Whose),
    /// In every row of several members' data.
    Several,
}

impl Reader<'_> {
    /// Whose data each entry of a term is made of, if it is the same for all; else a lane to cut. Nothing if this takes
    /// too many steps.
    pub(super) fn owner(&mut self, t: &Term) -> Option<Result<Owner, Cut>> {
        let rows = t.lanes.len();
        let (mut open, mut seen) = (vec![t.clone()], HashSet::<(NodeId, u64, Vec<Lane>)>::new());
        let (mut found, mut cut): (Option<Whose>, Option<Cut>) = (None, None);
        while let Some(t) = open.pop() {
            if self.is_known(t.node) || !seen.insert((t.node, t.at, t.lanes.clone())) {
                continue;
            }
            self.spend_step()?;
            match self.made(&t, rows) {
                Ok(Made::Of(terms)) => open.extend(terms),
                Ok(Made::Several) => return Some(Ok(Owner::Several)),
                Ok(Made::One(whose)) => {
                    let first = found.get_or_insert_with(|| whose.clone());
                    let differs = |k: &usize| first.steps[*k] != whose.steps[*k];
                    match (0..rows).find(differs) {
                        // They are others in some rows.
                        Some(lane) if first.first.0 == whose.first.0 => {
                            cut = cut.or(Some((lane, How::Each)));
                        }
                        None if *first == whose => {}
                        _ => return Some(Ok(Owner::Several)),
                    }
                }
                Err((lane, how)) if lane >= rows => open.extend(t.cut(lane, how)),
                Err(row) => cut = cut.or(Some(row)),
            }
        }
        let Some(whose) = found.filter(|_| cut.is_none()) else {
            return Some(cut.map_or(Ok(Owner::Nobody), Err));
        };
        let moves = whose.steps.iter().position(|step| *step > 0);
        Some(moves.map_or(Ok(Owner::One(whose.first)), |lane| Err((lane, How::Each))))
    }

    /// What the entries of a term are made of, of which the first lanes go from row to row.
    fn made(&mut self, t: &Term, rows: usize) -> Result<Made, Cut> {
        let (flow, shape) = (&self.flows[t.node.index()], self.g.shape(t.node));
        let member = |at: u64| flow.member_at(&digits(shape, at));
        // Of some members nothing may be left.
        let Some(first) = member(t.at).filter(|_| !flow.part) else {
            return Ok(Made::Of(self.read(t)?));
        };
        let mut steps = vec![0; rows];
        if let Some(axis) = flow.axis() {
            let inner = shape[axis + 1..].iter().product();
            let outer = shape[..axis].iter().product();
            let along = even(t, |sizes, distances| {
                lanes::along(&[outer, shape[axis], inner], &[0, 1, 0], t.at, (sizes, distances))
            })?;
            for (lane, whose) in along.iter().enumerate().filter(|(_, whose)| whose.moves()) {
                let Some(step) = steps.get_mut(lane) else { return Ok(Made::Several) };
                let next = t.at + whose.step * inner;
                *step = member(next).map_or(0, |m| m.1 - first.1);
            }
        }
        Ok(Made::One(Whose { first, steps }))
    }

    /// The entries of operands that those of a term are computed of.
    fn read(&mut self, t: &Term) -> Result<Vec<Term>, Cut> {
        if let Some(term) = self.moved(t)? {
            return Ok(vec![term]);
        }
        let operands = 0..self.g.args(t.node).len();
        let of: Vec<Term> = operands.map(|i| self.operand(t, i)).collect::<Result<_, _>>()?;
        match (self.g.op(t.node), &of[..]) {
            (Op::Mul | Op::And | Op::MatMul { .. }, [a, b]) => self.factors(t, a, b),
            (Op::Select, [c, a, b]) if self.is_known(c.node) => {
                let by = self.alike(c, |x, y| x == y)?;
                Ok(match by {
                    _ if by.is_zero() => vec![b.clone()],
                    Residue::ONE => vec![a.clone()],
                    _ => vec![a.clone(), b.clone()],
                })
            }
            _ => Ok(of),
        }
    }

    /// The factors of a product, or of a sum of products: what is multiplied by a known 0 does not count.
    fn factors(&mut self, t: &Term, a: &Term, b: &Term) -> Result<Vec<Term>, Cut> {
        let (known, other) = match (self.is_known(a.node), self.is_known(b.node)) {
            (true, _) => (a, b),
            (_, true) => (b, a),
            _ => return Ok(vec![a.clone(), b.clone()]),
        };
        // Any number, so not 0.
        if let Op::Input(_) = self.g.op(behind(self.g, known.node, Op::is_layout)) {
            return Ok(vec![other.clone()]);
        }
        match self.alike(known, |x, y| x.is_zero() == y.is_zero()) {
            Ok(by) if by.is_zero() => Ok(Vec::new()),
            Ok(_) => Ok(vec![other.clone()]),
            Err((lane, how)) if lane >= t.lanes.len() => {
                let parts = a.cut(lane, how).into_iter().zip(b.cut(lane, how));
                let parts: Vec<_> =
                    parts.map(|(a, b)| self.factors(t, &a, &b)).collect::<Result<_, _>>()?;
                Ok(parts.concat())
            }
            Err(cut) => Err(cut),
        }
    }
}
