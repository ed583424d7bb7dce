//! Functions of few bits as truth tables, and small weighted sums of bits.

use crate::graph::NodeId;
use std::rc::Rc;

/// Most bits that a function is of.
pub const MOST_BITS: usize = 10;

/// A bit of another node, or its complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Literal {
    pub node: NodeId,
    /// Its element, row-major.
    pub at: u32,
    pub flip: bool,
}

/// A function of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub of: Vec<Literal>,
    /// Its value where argument i is bit i of the index. Elements of a node mostly share it.
    pub table: Rc<[bool]>,
}

impl Function {
    pub(super) fn literal(node: NodeId, at: usize) -> Function {
        let literal = Literal { node, at: at as u32, flip: false };
        Function { of: vec![literal], table: [false, true].into() }
    }

    pub(super) fn constant(value: bool) -> Function {
        Function { of: Vec::new(), table: [value].into() }
    }

    /// The same function, with this table if its own is equal. Then this table is its own.
    pub(super) fn sharing(mut self, table: &mut Option<Rc<[bool]>>) -> Function {
        match table {
            Some(table) if *table == self.table => self.table = table.clone(),
            _ => *table = Some(self.table.clone()),
        }
        self
    }

    pub(super) fn as_constant(&self) -> Option<bool> {
        self.of.is_empty().then(|| self.table[0])
    }

    pub(super) fn not(&self) -> Function {
        match self.of[..] {
            // Complements of arguments stay arguments, so that elements with and without share a table.
            [one] if *self.table == [false, true] => {
                let of = vec![Literal { flip: !one.flip, ..one }];
                Function { of, table: self.table.clone() }
            }
            _ => Function { of: self.of.clone(), table: self.table.iter().map(|v| !v).collect() },
        }
    }

    /// A function of two functions' values.
    pub(super) fn with(&self, other: &Function, f: impl Fn(bool, bool) -> bool) -> Function {
        let of = [&self.of[..], &other.of[..]].concat();
        let pairs = other.table.iter().flat_map(|&b| self.table.iter().map(move |&a| (a, b)));
        Function { of, table: pairs.map(|(a, b)| f(a, b)).collect() }
    }
}

/// c plus a weighted sum of bits.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Count {
    pub constant: i64,
    pub terms: Vec<(Literal, i64)>,
}

impl Count {
    pub fn plus(&self, other: &Count, sign: i64) -> Option<Count> {
        let mut terms = self.terms.clone();
        for &(l, w) in &other.terms {
            terms.push((l, w.checked_mul(sign)?));
        }
        let constant = self.constant.checked_add(other.constant.checked_mul(sign)?)?;
        (terms.len() <= MOST_BITS).then_some(Count { constant, terms })
    }

    pub fn times(&self, by: i64) -> Option<Count> {
        let mut terms = self.terms.clone();
        for (_, w) in &mut terms {
            *w = w.checked_mul(by)?;
        }
        terms.retain(|(_, w)| *w != 0);
        Some(Count { constant: self.constant.checked_mul(by)?, terms })
    }

    /// Whether a condition holds of it. Weights become positive and ascending, so that elements that differ
    /// in complements and in order only share a table.
    pub fn holds(&self, condition: impl Fn(i64) -> bool) -> Option<Function> {
        let mut constant = self.constant;
        let mut terms = Vec::with_capacity(self.terms.len());
        for &(l, w) in &self.terms {
            // w b = w + |w| (1 - b) for w < 0.
            if w < 0 {
                constant = constant.checked_add(w)?;
            }
            let flip = l.flip != (w < 0);
            terms.push((Literal { flip, ..l }, w.checked_abs()?));
        }
        terms.sort_by_key(|(_, w)| *w);
        let mut table = vec![constant];
        for (_, w) in &terms {
            let more: Option<Vec<i64>> = table.iter().map(|v| v.checked_add(*w)).collect();
            table.extend(more?);
        }
        let of = terms.into_iter().map(|(l, _)| l).collect();
        Some(Function { of, table: table.into_iter().map(condition).collect() })
    }
}
