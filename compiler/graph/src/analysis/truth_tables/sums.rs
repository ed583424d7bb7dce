//! Functions of a sum of bits: a table by the sum, however many bits there are.
//!
//! A rank among a thousand entries is a function of 999 comparisons, and of their sum alone.

use std::collections::BTreeMap;

/// A function of the sum of literals times coefficients.
#[derive(Clone, Debug, PartialEq)]
pub struct Value<L> {
    /// Literals with their coefficients, each literal once.
    pub terms: Vec<(L, i64)>,
    pub shape: Shape,
}

/// A function of an integer.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// The sum plus a constant.
    Plus(i64),
    /// By the sum, from its smallest to its largest value.
    Table(Vec<i64>),
}

/// Longer tables are not made.
const LONGEST: i128 = 1 << 16;

impl<L: Ord + Clone> Value<L> {
    pub fn constant(c: i64) -> Value<L> {
        Value { terms: Vec::new(), shape: Shape::Plus(c) }
    }

    /// Smallest and largest value of the sum.
    fn range(&self) -> (i128, i128) {
        let coefficients = || self.terms.iter().map(|t| i128::from(t.1));
        (coefficients().filter(|c| *c < 0).sum(), coefficients().filter(|c| *c > 0).sum())
    }

    /// The values, from the smallest sum to the largest, unless there are too many.
    pub fn table(&self) -> Option<Vec<i64>> {
        match &self.shape {
            Shape::Table(t) => Some(t.clone()),
            Shape::Plus(c) => {
                let (lo, hi) = self.range();
                let value = |x: i128| i64::try_from(x + i128::from(*c)).ok();
                if hi - lo < LONGEST { (lo..=hi).map(value).collect() } else { None }
            }
        }
    }

    /// The number, if it is one.
    pub fn as_constant(&self) -> Option<i64> {
        match &self.shape {
            Shape::Plus(c) if self.terms.is_empty() => Some(*c),
            Shape::Table(t) if self.terms.is_empty() => t.first().copied(),
            _ => None,
        }
    }

    /// A function of the value.
    fn map(mut self, f: impl Fn(i64) -> Option<i64>) -> Option<Value<L>> {
        self.shape = Shape::Table(self.table()?.into_iter().map(f).collect::<Option<_>>()?);
        Some(self)
    }

    pub fn scaled(mut self, c: i64) -> Option<Value<L>> {
        if c == 0 {
            return Some(Value::constant(0));
        }
        let times = |x: &mut i64| x.checked_mul(c).map(|y| *x = y);
        match &mut self.shape {
            Shape::Plus(plus) => {
                times(plus)?;
                self.terms.iter_mut().try_for_each(|t| times(&mut t.1))?;
            }
            Shape::Table(t) => t.iter_mut().try_for_each(times)?,
        }
        Some(self)
    }

    /// A function of two values, if it is one of a sum.
    pub fn with(self, other: Value<L>, f: impl Fn(i64, i64) -> Option<i64>) -> Option<Value<L>> {
        if let Some(c) = other.as_constant() {
            return self.map(|x| f(x, c));
        }
        if let Some(c) = self.as_constant() {
            return other.map(|x| f(c, x));
        }
        if self.terms != other.terms {
            return None;
        }
        let pairs = self.table()?.into_iter().zip(other.table()?);
        let table = pairs.map(|(x, y)| f(x, y)).collect::<Option<_>>()?;
        Some(Value { terms: self.terms, shape: Shape::Table(table) })
    }

    /// The sum of two values, if it is a function of one sum.
    pub fn plus(self, other: Value<L>) -> Option<Value<L>> {
        match (&self.shape, &other.shape) {
            (Shape::Plus(a), Shape::Plus(b)) => {
                let shape = Shape::Plus(a.checked_add(*b)?);
                Some(Value { terms: merged(self.terms.into_iter().chain(other.terms))?, shape })
            }
            _ => self.with(other, i64::checked_add),
        }
    }

    /// The largest value of the sum, if the value is 1 there and 0 elsewhere.
    fn all(&self) -> Option<i128> {
        let table = self.table()?;
        let (last, rest) = table.split_last()?;
        (*last == 1 && rest.iter().all(|x| *x == 0)).then(|| self.range().1)
    }

    /// The product of two bits.
    pub fn and(self, other: Value<L>) -> Option<Value<L>> {
        match (self.as_constant(), other.as_constant()) {
            (_, Some(c)) => return self.scaled(c),
            (Some(c), _) => return other.scaled(c),
            _ => {}
        }
        if let (Some(a), Some(b)) = (self.all(), other.all())
            && self.terms != other.terms
        {
            let terms = merged(self.terms.into_iter().chain(other.terms))?;
            let sum = Value { terms, shape: Shape::Plus(0) };
            return sum.map(|x| Some(i64::from(i128::from(x) == a + b)));
        }
        self.with(other, i64::checked_mul)
    }
}

/// Each literal once, unless a coefficient is too large.
pub fn merged<L: Ord>(terms: impl Iterator<Item = (L, i64)>) -> Option<Vec<(L, i64)>> {
    let mut all: BTreeMap<L, i64> = BTreeMap::new();
    for (literal, c) in terms {
        let sum = all.entry(literal).or_default();
        *sum = sum.checked_add(c)?;
    }
    Some(all.into_iter().filter(|(_, c)| *c != 0).collect())
}
