//! What a mask says of the order of entries.
//!
//! Ranks and winners are made of comparisons of pairs of entries: counts of bits, their thresholds,
//! and conjunctions. Here one entry of a mask at a time is written as a function of a sum of such
//! comparisons, and a row of a mask is recognised if it depends on the rank of its entry only. The
//! masked sum then is a weighted sum of the row in ascending order, whatever made the mask.

use super::view::View;
use crate::analysis::layout::{aligned, digits, flat};
use crate::analysis::truth_tables::sums::{self, Shape, merged};
use crate::graph::{NodeId, Op};
use crate::types::Elem;
use std::cell::Cell;
use std::collections::BTreeMap;

/// An entry of a node's value.
pub(super) type Place = (NodeId, u64);
/// The bit that says whether the first entry is less than the second.
type Literal = (Place, Place);

/// A function of the sum of such bits.
type Value = sums::Value<Literal>;

/// Entries that are written out for one mask.
const BUDGET: u32 = 1 << 22;

/// Reads entries of a graph.
pub(super) struct Reader<'a> {
    view: &'a View<'a>,
    left: Cell<u32>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(view: &'a View<'a>) -> Self {
        Reader { view, left: Cell::new(BUDGET) }
    }

    /// The place that a place's value is moved from; `None` if it is computed here.
    fn moved(&self, (id, at): Place) -> Option<Place> {
        let (operand, from) = self.view.layout(id)?.origin(at);
        Some((*self.view.args(id).get(operand)?, from))
    }

    /// Where a value is computed.
    fn origin(&self, mut place: Place) -> Place {
        while let Some(from) = self.moved(place) {
            place = from;
        }
        place
    }

    /// Where it is computed but for truncations, and how far these may be off in all.
    fn untruncated(&self, mut place: Place) -> (Place, f64) {
        let mut slack = 0.0;
        loop {
            place = self.origin(place);
            match self.view.op(place.0) {
                Op::Trunc(_) => slack += self.view.truncation(place.0),
                Op::Shift(_) => {}
                _ => return (place, slack),
            }
            place.0 = self.view.args(place.0)[0];
        }
    }

    /// An entry of bits or integers as a function of comparisons.
    fn value(&self, place: Place) -> Option<Value> {
        self.left.set(self.left.get().checked_sub(1)?);
        let (id, at) = self.origin(place);
        let view = self.view;
        let args = view.args(id);
        let operand = |i: usize| (args[i], aligned(view.shape(args[i]), view.shape(id), at));
        let arg = |i: usize| self.value(operand(i));
        let whole = |x: f64| (x.fract() == 0.0 && x.abs() < 1e15).then_some(x as i64);
        match view.op(id) {
            Op::Const(table, elem, _) if *elem != Elem::Fix => {
                Some(Value::constant(whole(table.at(at as usize))?))
            }
            Op::Lt | Op::Eq if view.whole(args[0]) && view.whole(args[1]) => {
                let less = *view.op(id) == Op::Lt;
                match (arg(0), arg(1)) {
                    (Some(a), Some(b)) => {
                        let f = |x, y| i64::from(if less { x < y } else { x == y });
                        a.with(b, f)
                    }
                    _ if less => Some(self.literal(operand(0), operand(1))),
                    _ => None,
                }
            }
            Op::Lt => Some(self.literal(operand(0), operand(1))),
            Op::Not => arg(0)?.scaled(-1).plus(Value::constant(1)),
            Op::ToInt => arg(0),
            Op::Neg => Some(arg(0)?.scaled(-1)),
            Op::Scale(c) => Some(arg(0)?.scaled(whole(*c)?)),
            Op::Add => arg(0)?.plus(arg(1)?),
            Op::Sub => arg(0)?.plus(arg(1)?.scaled(-1)),
            Op::And => arg(0)?.and(arg(1)?),
            Op::Mul if view.whole(id) => {
                let (a, b) = (arg(0)?, arg(1)?);
                match (a.as_constant(), b.as_constant()) {
                    (_, Some(c)) => Some(a.scaled(c)),
                    (Some(c), _) => Some(b.scaled(c)),
                    _ => a.and(b),
                }
            }
            Op::Xor => {
                let (a, b) = (arg(0)?, arg(1)?);
                match (a.as_constant(), b.as_constant()) {
                    (_, Some(c)) => a.scaled(1 - 2 * c).plus(Value::constant(c)),
                    (Some(c), _) => b.scaled(1 - 2 * c).plus(Value::constant(c)),
                    _ => a.with(b, |x, y| x ^ y),
                }
            }
            Op::Sum(axes) if view.whole(id) => {
                let mut sum = Value::constant(0);
                let mut constant = 0;
                let mut terms = Vec::new();
                for part in summed(view.shape(args[0]), axes, at) {
                    let v = self.value((args[0], part))?;
                    match v.shape {
                        Shape::Plus(c) => {
                            constant += c;
                            terms.extend(v.terms);
                        }
                        _ => sum = sum.plus(v)?,
                    }
                }
                let rest = Value { terms: merged(terms.into_iter()), shape: Shape::Plus(constant) };
                sum.plus(rest)
            }
            _ => None,
        }
    }

    fn literal(&self, a: Place, b: Place) -> Value {
        let literal = (self.origin(a), self.origin(b));
        Value { terms: vec![(literal, 1)], shape: Shape::Plus(0) }
    }

    /// If a row of a mask depends on the ranks of the values beside it only: the sum of the absolute
    /// weights that ranks have, and how far compared values may be from those that are summed.
    pub(super) fn by_rank(&self, masks: &[Place], values: &[Place]) -> Option<(u32, f64)> {
        let mut row = Row::new(self, values)?;
        let mut weights: Option<Vec<i64>> = None;
        for (i, &mask) in masks.iter().enumerate() {
            let value = self.value(mask)?;
            row.entry(self, i, &value)?;
            let table = value.table();
            match &weights {
                None => weights = Some(table),
                Some(known) if *known == table => {}
                Some(_) => return None,
            }
        }
        let weights: i64 = weights?.iter().map(|w| w.abs()).sum();
        let slack = if row.moved_only { 0.0 } else { 2.0 * row.compared + row.summed };
        Some((u32::try_from(weights).ok()?, slack))
    }
}

/// A row of values, and how its entries have been compared so far.
struct Row {
    /// Position by place, where it is computed, and where but for truncations.
    near: BTreeMap<Place, usize>,
    far: BTreeMap<Place, usize>,
    /// The place at which each entry is compared.
    used: Vec<Option<Place>>,
    /// Whether the first of two compared entries is the earlier one.
    forward: Option<bool>,
    /// Whether sums grow with the number of larger entries.
    growing: Option<bool>,
    moved_only: bool,
    compared: f64,
    summed: f64,
}

impl Row {
    fn new(reader: &Reader<'_>, values: &[Place]) -> Option<Row> {
        let (mut near, mut far) = (BTreeMap::new(), BTreeMap::new());
        let mut summed = 0f64;
        for (i, &v) in values.iter().enumerate() {
            near.insert(reader.origin(v), i);
            let (place, slack) = reader.untruncated(v);
            far.insert(place, i);
            summed = summed.max(slack);
        }
        let all = far.len() == values.len();
        all.then(|| Row {
            near,
            far,
            used: vec![None; values.len()],
            forward: None,
            growing: None,
            moved_only: true,
            compared: 0.0,
            summed,
        })
    }

    fn position(&mut self, reader: &Reader<'_>, place: Place) -> Option<usize> {
        let i = match self.near.get(&place) {
            Some(&i) => i,
            None => {
                let (far, slack) = reader.untruncated(place);
                self.moved_only = false;
                self.compared = self.compared.max(slack);
                *self.far.get(&far)?
            }
        };
        // One word stands for an entry in all comparisons: then ranks are a permutation.
        match &mut self.used[i] {
            Some(known) if *known != place => None,
            slot => {
                *slot = Some(place);
                Some(i)
            }
        }
    }

    /// Entry i of the mask: a function of how many entries are larger (or smaller) than entry i,
    /// each other one compared once, ties broken by position.
    fn entry(&mut self, reader: &Reader<'_>, i: usize, value: &Value) -> Option<()> {
        let mut others = Vec::new();
        for &((p, q), c) in &value.terms {
            let (first, second) = (self.position(reader, p)?, self.position(reader, q)?);
            let (other, sign) = match (first == i, second == i) {
                (true, false) => (second, c),
                (false, true) => (first, -c),
                _ => return None,
            };
            let agrees = |known: &mut Option<bool>, now: bool| *known.get_or_insert(now) == now;
            if c.abs() != 1
                || !agrees(&mut self.forward, first < second)
                || !agrees(&mut self.growing, sign > 0)
            {
                return None;
            }
            others.push(other);
        }
        others.sort_unstable();
        others.dedup();
        (others.len() == value.terms.len() && others.len() + 1 == self.used.len()).then_some(())
    }
}

/// The entries of an operand of shape `from` that a sum over `axes` adds into its entry `at`.
pub(super) fn summed(from: &[u64], axes: &[u64], at: u64) -> Vec<u64> {
    let kept: Vec<u64> =
        (0..from.len()).filter(|d| !axes.contains(&(*d as u64))).map(|d| from[d]).collect();
    let mut rest = digits(&kept, at).into_iter();
    let base: Vec<u64> = (0..from.len() as u64)
        .map(|d| if axes.contains(&d) { 0 } else { rest.next().unwrap_or(0) })
        .collect();
    let inner: Vec<u64> = axes.iter().map(|&d| from[d as usize]).collect();
    (0..inner.iter().product())
        .map(|i| {
            let mut place = base.clone();
            for (&axis, x) in axes.iter().zip(digits(&inner, i)) {
                place[axis as usize] = x;
            }
            flat(from, &place)
        })
        .collect()
}
