//! What a mask says of the order of entries.
//!
//! Ranks and winners are made of comparisons of pairs of entries: counts of bits, their thresholds,
//! and conjunctions. Here one entry of a mask at a time is written as a function of a sum of such
//! comparisons, and a row of a mask is recognised if it depends on the rank of its entry only. The
//! masked sum then is a weighted sum of the row in ascending order, whatever made the mask. All of it is
//! said of many rows at once ([`lanes`]).

use super::ranked::{Between, Truncations, Weights, note};
use crate::analysis::lanes::{self, Distances, Place, Uneven};
use crate::analysis::layout::{aligned, summed};
use crate::analysis::truth_tables::sums::{self, Shape, merged};
use crate::analysis::view::View;
use crate::graph::ranks::is_ruled;
use crate::graph::{NodeId, Op, Table};
use slvr_language::types::Elem;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};

/// The bit that says whether the first entry is less than the second.
type Literal = (Place, Place);

/// A function of the sum of such bits.
type Value = sums::Value<Literal>;

/// Entries that are written out for one mask: four for each comparison of the longest row ([`super::LONGEST`]).
const BUDGET: u32 = 1 << 22;

/// The deepest that a mask is made of counts and bits, far above what ranks that are added up in turn take: each step
/// is one of the stack, too.
const DEEPEST: u32 = 512;

/// Why a row is not recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The rows of these lanes are computed differently, or they are to be cut.
    Lanes(Uneven),
    /// It does not go by rank, or nothing is known of it.
    No,
}

/// A number as an integer, if it is one that f64 tells from its neighbours.
fn integer(x: f64) -> Result<i64, Refused> {
    if x.fract() == 0.0 && x.abs() < 1e15 { Ok(x as i64) } else { Err(Refused::No) }
}

impl From<Uneven> for Refused {
    fn from(why: Uneven) -> Refused {
        Refused::Lanes(why)
    }
}

/// Reads entries of a graph.
pub(super) struct Reader<'a> {
    view: &'a View<'a>,
    sizes: &'a lanes::Sizes,
    distances: Distances,
    /// The most comparisons that an entry of a mask by ranks is made of, those that cancel included.
    most: usize,
    left: Cell<u32>,
    depth: Cell<u32>,
    read: RefCell<HashMap<Place, Read>>,
}

/// What was found at a place, and how many entries were written out for it.
type Read = (Result<Value, Refused>, u32);

/// What takes so few entries is written out again.
const FEW: u32 = 4;

impl<'a> Reader<'a> {
    /// For rows of n entries along lanes of these sizes. An entry's rank is a sum of its n - 1 comparisons with the
    /// others; what is made of twice as many is no mask by ranks, so the reader need not go on.
    pub(super) fn new(view: &'a View<'a>, sizes: &'a lanes::Sizes, n: usize) -> Self {
        let (distances, left) = (Distances::default(), Cell::new(BUDGET));
        let (depth, read) = Default::default();
        Reader { view, sizes, distances, most: 2 * n, left, depth, read }
    }

    fn few(&self, value: Value) -> Result<Value, Refused> {
        if value.terms.len() <= self.most { Ok(value) } else { Err(Refused::No) }
    }

    /// An entry of a node in all rows.
    pub(super) fn place(&self, node: NodeId, at: u64, distances: Vec<u64>) -> Place {
        (node, at, self.distances.number(distances))
    }

    fn spend(&self, entries: u32) -> Result<(), Refused> {
        let left = self.left.get();
        self.left.set(left.saturating_sub(entries));
        if entries <= left { Ok(()) } else { Err(Refused::No) }
    }

    /// The place that a place's value is moved from; none if it is computed here.
    fn moved(&self, (id, at, number): Place) -> Result<Option<Place>, Refused> {
        let Some(layout) = self.view.layout(id) else { return Ok(None) };
        let (operand, from) = layout.origin(at);
        let Some(&operand) = self.view.args(id).get(operand) else { return Ok(None) };
        let moved = self.along(number, |lanes| layout.lanes(at, self.sizes, lanes))?;
        Ok(Some((operand, from, moved)))
    }

    /// The number of the distances that `moved` makes of those of another number. A row by itself moves nowhere.
    fn along(
        &self,
        number: u32,
        moved: impl FnOnce(&[u64]) -> Result<Vec<u64>, Uneven>,
    ) -> Result<u32, Refused> {
        if self.sizes.is_empty() {
            return Ok(number);
        }
        Ok(self.distances.number(moved(&self.distances.of(number))?))
    }

    /// Where a value is computed.
    fn origin(&self, mut place: Place) -> Result<Place, Refused> {
        while let Some(from) = self.moved(place)? {
            place = from;
        }
        Ok(place)
    }

    /// Where it is computed but for truncations, and these.
    fn untruncated(&self, mut place: Place) -> Result<(Place, Truncations), Refused> {
        let mut truncations = Vec::new();
        loop {
            place = self.origin(place)?;
            match self.view.op(place.0) {
                Op::Trunc(_) => truncations.push(place.0),
                Op::Shift(_) => {}
                _ => return Ok((place, truncations)),
            }
            place.0 = self.view.args(place.0)[0];
        }
    }

    /// An operand of an entry-by-entry operation at a place of the result.
    fn operand(&self, (id, at, number): Place, i: usize) -> Result<Place, Refused> {
        let x = self.view.args(id)[i];
        let (from, to) = (self.view.shape(x), self.view.shape(id));
        let moved =
            self.along(number, |lanes| lanes::aligned(from, to, at, (self.sizes, lanes)))?;
        Ok((x, aligned(from, to, at), moved))
    }

    /// The places of an operand that a sum over axes adds into a place.
    fn parts(&self, (id, at, number): Place, axes: &[u64]) -> Result<Vec<Place>, Refused> {
        let x = self.view.args(id)[0];
        let from = self.view.shape(x);
        let moved = self.along(number, |lanes| {
            let kept = |(d, _): &(u64, u64)| !axes.contains(d);
            let kept: Vec<u64> =
                (0..).zip(lanes::strides(from)).filter(kept).map(|(_, stride)| stride).collect();
            lanes::along(self.view.shape(id), &kept, at, (self.sizes, lanes))
        })?;
        Ok(summed(from, axes, at).into_iter().map(|p| (x, p, moved)).collect())
    }

    /// A table's entry, if it is the same in all rows.
    fn constant(&self, table: &Table, at: u64, number: u32) -> Result<f64, Refused> {
        let first = table.at(at as usize);
        if table.data.len() > 1 && !self.sizes.is_empty() {
            let distances = self.distances.of(number);
            let same = |i, _: &[u64]| self.spend(1).is_ok() && table.at(i as usize) == first;
            if !lanes::every(at, self.sizes, &distances, same) {
                return Err(Refused::Lanes(Uneven::Different));
            }
        }
        Ok(first)
    }

    /// An entry of bits or integers as a function of comparisons. Each is found once, and counts as often as it is asked
    /// for.
    fn value(&self, place: Place) -> Result<Value, Refused> {
        self.spend(1)?;
        let place = self.origin(place)?;
        if let Some((found, entries)) = self.read.borrow().get(&place) {
            self.spend(*entries)?;
            return found.clone();
        }
        let (left, depth) = (self.left.get(), self.depth.get());
        if depth == DEEPEST {
            return Err(Refused::No);
        }
        self.depth.set(depth + 1);
        let found = self.computed(place);
        self.depth.set(depth);
        let entries = left - self.left.get();
        if entries >= FEW {
            self.read.borrow_mut().insert(place, (found.clone(), entries));
        }
        found
    }

    /// A value that is computed at this place, by what it is computed of.
    fn computed(&self, place: Place) -> Result<Value, Refused> {
        let (id, at, number) = place;
        let found = match self.view.op(id) {
            Op::Const(table, elem, _) if *elem != Elem::Fix => {
                Some(Value::constant(integer(self.constant(table, at, number)?)?))
            }
            Op::Lt | Op::Eq => self.compared(place)?,
            Op::Sum(axes) if self.view.whole(id) => self.summed(place, axes)?,
            _ => self.combined(place)?,
        };
        self.few(found.ok_or(Refused::No)?)
    }

    fn arg(&self, place: Place, i: usize) -> Result<Value, Refused> {
        self.value(self.operand(place, i)?)
    }

    /// A comparison of counts is a function of what is counted. Of all else it is a bit of its own, and whether two
    /// such are equal is not known.
    fn compared(&self, place: Place) -> Result<Option<Value>, Refused> {
        let less = *self.view.op(place.0) == Op::Lt;
        if self.view.args(place.0).iter().all(|&a| self.view.whole(a)) {
            match (self.arg(place, 0), self.arg(place, 1)) {
                (Ok(a), Ok(b)) => {
                    return Ok(a.with(b, |x, y| Some(i64::from(if less { x < y } else { x == y }))));
                }
                (Err(why @ Refused::Lanes(_)), _) | (_, Err(why @ Refused::Lanes(_))) => {
                    return Err(why);
                }
                _ => {}
            }
        }
        if less { self.literal(place).map(Some) } else { Ok(None) }
    }

    /// Bits and counts of bits and counts, entry by entry.
    fn combined(&self, place: Place) -> Result<Option<Value>, Refused> {
        let arg = |i: usize| self.arg(place, i);
        Ok(match self.view.op(place.0) {
            Op::ToInt => Some(arg(0)?),
            Op::Not => arg(0)?.scaled(-1).and_then(|x| x.plus(Value::constant(1))),
            Op::And => arg(0)?.and(arg(1)?),
            Op::Mul if self.view.whole(place.0) => arg(0)?.and(arg(1)?),
            Op::Xor => {
                let (a, b) = (arg(0)?, arg(1)?);
                let flipped = |x: Value, c| x.scaled(1 - 2 * c)?.plus(Value::constant(c));
                match (a.as_constant(), b.as_constant()) {
                    (_, Some(c)) => flipped(a, c),
                    (Some(c), _) => flipped(b, c),
                    _ => a.with(b, |x, y| Some(x ^ y)),
                }
            }
            Op::Neg => arg(0)?.scaled(-1),
            Op::Scale(c) => arg(0)?.scaled(integer(*c)?),
            Op::Add => arg(0)?.plus(arg(1)?),
            Op::Sub => arg(0)?.plus(arg(1)?.scaled(-1).ok_or(Refused::No)?),
            _ => None,
        })
    }

    /// A sum along axes. Terms that are sums themselves are put together once, and not with each term again.
    fn summed(&self, place: Place, axes: &[u64]) -> Result<Option<Value>, Refused> {
        // Ranks of many are known by their structure, and have too many terms to be listed.
        let part = self.view.args(place.0)[0];
        if self.view.args(part).iter().any(|&a| is_ruled(self.view.g, a)) {
            return Ok(None);
        }
        let mut sum = Value::constant(0);
        let mut constant = 0i64;
        let mut terms = Vec::new();
        for part in self.parts(place, axes)? {
            let v = self.value(part)?;
            match v.shape {
                Shape::Plus(c) => {
                    constant = constant.checked_add(c).ok_or(Refused::No)?;
                    terms.extend(v.terms);
                    if terms.len() > self.most {
                        return Err(Refused::No);
                    }
                }
                _ => sum = sum.plus(v).ok_or(Refused::No)?,
            }
        }
        let terms = merged(terms.into_iter()).ok_or(Refused::No)?;
        Ok(sum.plus(Value { terms, shape: Shape::Plus(constant) }))
    }

    /// A comparison as it is.
    fn literal(&self, place: Place) -> Result<Value, Refused> {
        let side = |i: usize| self.origin(self.operand(place, i)?);
        let literal = (side(0)?, side(1)?);
        Ok(Value { terms: vec![(literal, 1)], shape: Shape::Plus(0) })
    }

    /// The values of a mask's entries, each made of its comparisons with all others.
    fn values(&self, masks: &[Place]) -> Result<Vec<Value>, Refused> {
        let made = |&mask: &Place| {
            let value = self.value(mask)?;
            (value.terms.len() + 1 == masks.len()).then_some(value).ok_or(Refused::No)
        };
        masks.iter().map(made).collect()
    }

    /// A row of a mask that depends on the ranks of the values beside it only.
    pub(super) fn by_rank(
        &self,
        masks: &[Place],
        values: &[Place],
    ) -> Result<(Weights, Between), Refused> {
        let (weights, between) = self.weights(&self.values(masks)?, values)?;
        let nodes = values.iter().map(|&v| Ok(self.origin(v)?.0));
        Ok((Weights { nodes: nodes.collect::<Result<_, Refused>>()?, ..weights }, between))
    }

    /// A row of a mask that depends on the ranks of any values, one for each entry.
    pub(super) fn by_some_rank(&self, masks: &[Place]) -> Result<(Weights, Between), Refused> {
        let found = self.values(masks)?;
        // Of each entry's comparisons one side is always the same: its own.
        let own = |value: &Value| {
            let mut sides: Option<Vec<Place>> = None;
            for ((p, q), _) in &value.terms {
                let now = vec![*p, *q];
                sides = Some(match sides {
                    None => now,
                    Some(known) => known.into_iter().filter(|x| now.contains(x)).collect(),
                });
            }
            sides.unwrap_or_default()
        };
        let places: Vec<Place> = match &found[..] {
            // Of two entries the first comparison's sides, in either order.
            [first, _] => own(first),
            _ => {
                let only = |v: &Value| match own(v)[..] {
                    [one] => Ok(one),
                    _ => Err(Refused::No),
                };
                found.iter().map(only).collect::<Result<_, _>>()?
            }
        };
        if places.len() != masks.len() {
            return Err(Refused::No);
        }
        self.weights(&found, &places)
    }

    /// The weight of each rank, if a mask goes by the ranks of the values at these places.
    fn weights(&self, masks: &[Value], values: &[Place]) -> Result<(Weights, Between), Refused> {
        let mut row = Row::new(self, values)?;
        let mut weights: Option<Vec<i64>> = None;
        for (i, value) in masks.iter().enumerate() {
            row.entry(self, i, value)?;
            let table = value.table().ok_or(Refused::No)?;
            match &weights {
                None => weights = Some(table),
                Some(known) if *known == table => {}
                Some(_) => return Err(Refused::No),
            }
        }
        let Row { moved_only, compared, summed, growing, .. } = row;
        let between = if moved_only { Between::default() } else { Between { compared, summed } };
        let mut weights = weights.ok_or(Refused::No)?;
        // By the number of larger entries.
        if growing == Some(true) {
            weights.reverse();
        }
        let weights = weights.into_iter().map(|w| w as f64).collect();
        Ok((Weights { weights, nodes: Vec::new() }, between))
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
    compared: Vec<Truncations>,
    summed: Vec<Truncations>,
}

impl Row {
    fn new(reader: &Reader<'_>, values: &[Place]) -> Result<Row, Refused> {
        let (mut near, mut far) = (BTreeMap::new(), BTreeMap::new());
        let mut summed = Vec::new();
        let mut lanes: BTreeMap<NodeId, u32> = BTreeMap::new();
        for (i, &v) in values.iter().enumerate() {
            near.insert(reader.origin(v)?, i);
            let (place, truncations) = reader.untruncated(v)?;
            // Entries of one node that move differently may meet in another row.
            if *lanes.entry(place.0).or_insert(place.2) != place.2 {
                return Err(Refused::Lanes(Uneven::Different));
            }
            far.insert(place, i);
            note(&mut summed, truncations);
        }
        if far.len() != values.len() {
            return Err(Refused::No);
        }
        Ok(Row {
            near,
            far,
            used: vec![None; values.len()],
            forward: None,
            growing: None,
            moved_only: true,
            compared: Vec::new(),
            summed,
        })
    }

    fn position(&mut self, reader: &Reader<'_>, place: Place) -> Result<usize, Refused> {
        let i = match self.near.get(&place) {
            Some(&i) => i,
            None => {
                let (far, truncations) = reader.untruncated(place)?;
                self.moved_only = false;
                note(&mut self.compared, truncations);
                *self.far.get(&far).ok_or(Refused::No)?
            }
        };
        // One word stands for an entry in all comparisons: then ranks are a permutation.
        match &mut self.used[i] {
            Some(known) if *known != place => Err(Refused::No),
            slot => {
                *slot = Some(place);
                Ok(i)
            }
        }
    }

    /// Entry i of the mask: a function of how many entries are larger (or smaller) than entry i,
    /// each other one compared once, ties broken by position.
    fn entry(&mut self, reader: &Reader<'_>, i: usize, value: &Value) -> Result<(), Refused> {
        let mut others = Vec::new();
        for &((p, q), c) in &value.terms {
            let (first, second) = (self.position(reader, p)?, self.position(reader, q)?);
            let (other, sign) = match (first == i, second == i) {
                (true, false) => (second, c),
                (false, true) => (first, -c),
                _ => return Err(Refused::No),
            };
            let agrees = |known: &mut Option<bool>, now: bool| *known.get_or_insert(now) == now;
            if c.abs() != 1
                || !agrees(&mut self.forward, first < second)
                || !agrees(&mut self.growing, sign > 0)
            {
                return Err(Refused::No);
            }
            others.push(other);
        }
        others.sort_unstable();
        others.dedup();
        let all = others.len() == value.terms.len() && others.len() + 1 == self.used.len();
        if all { Ok(()) } else { Err(Refused::No) }
    }
}
