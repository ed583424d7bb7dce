//! What stands behind the name of an operation, one implementation for each kind of operand and parameter.
//! Printing, parsing and the list of operands of every operation are made of these
//! ([`super::forms`]).

use super::tokens::{Parsed, Tokens};
use crate::multi_and::MultiAnd;
use crate::pairs::PairTable;
use crate::{Dom, SplitPart, ValueId};
use std::fmt::Write;

/// An operand or a parameter. `key` is the word in front of it, or empty.
pub(crate) trait Param: Sized {
    /// Appends a blank and the text.
    fn print(&self, key: &str, out: &mut String);

    /// The inverse.
    fn parse(key: &str, t: &mut Tokens<'_>) -> Parsed<Self>;

    /// Visits the values in it.
    fn values(&self, _visit: &mut dyn FnMut(ValueId)) {}

    /// Visits the values in it to change them.
    fn values_mut(&mut self, _visit: &mut dyn FnMut(&mut ValueId)) {}
}

fn put(key: &str, what: impl std::fmt::Display, out: &mut String) {
    let blank = if key.is_empty() { "" } else { " " };
    // Writing to a string does not fail.
    let _ = write!(out, "{blank}{key} {what}");
}

fn key_of(key: &str, t: &mut Tokens<'_>) -> Parsed<()> {
    if key.is_empty() { Ok(()) } else { t.keyword(key) }
}

macro_rules! numbers {
    ($($t:ty)*) => { $(
        impl Param for $t {
            fn print(&self, key: &str, out: &mut String) {
                put(key, self, out);
            }

            fn parse(key: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
                key_of(key, t)?;
                t.number()
            }
        }
    )* };
}
numbers!(u32 u64 u128);

/// A flag is its key, or nothing.
impl Param for bool {
    fn print(&self, key: &str, out: &mut String) {
        if *self {
            out.push(' ');
            out.push_str(key);
        }
    }

    fn parse(key: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        Ok(t.keyword(key).is_ok())
    }
}

impl Param for ValueId {
    fn print(&self, key: &str, out: &mut String) {
        put(key, self, out);
    }

    fn parse(key: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        key_of(key, t)?;
        t.value()
    }

    fn values(&self, visit: &mut dyn FnMut(ValueId)) {
        visit(*self);
    }

    fn values_mut(&mut self, visit: &mut dyn FnMut(&mut ValueId)) {
        visit(self);
    }
}

/// A value that need not be there, behind its key.
impl Param for Option<ValueId> {
    fn print(&self, key: &str, out: &mut String) {
        self.iter().for_each(|v| v.print(key, out));
    }

    fn parse(key: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        match t.keyword(key) {
            Ok(()) => Ok(Some(t.value()?)),
            Err(_) => Ok(None),
        }
    }

    fn values(&self, visit: &mut dyn FnMut(ValueId)) {
        self.iter().copied().for_each(visit);
    }

    fn values_mut(&mut self, visit: &mut dyn FnMut(&mut ValueId)) {
        self.iter_mut().for_each(visit);
    }
}

impl Param for Vec<ValueId> {
    fn print(&self, key: &str, out: &mut String) {
        put(key, values(self), out);
    }

    fn parse(key: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        key_of(key, t)?;
        t.values()
    }

    fn values(&self, visit: &mut dyn FnMut(ValueId)) {
        self.iter().copied().for_each(visit);
    }

    fn values_mut(&mut self, visit: &mut dyn FnMut(&mut ValueId)) {
        self.iter_mut().for_each(visit);
    }
}

/// A shape, or a list of axes.
impl Param for Vec<u64> {
    fn print(&self, key: &str, out: &mut String) {
        put(key, list(self), out);
    }

    fn parse(key: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        key_of(key, t)?;
        t.shape()
    }
}

impl Param for Vec<u32> {
    fn print(&self, key: &str, out: &mut String) {
        put(key, list(self), out);
    }

    fn parse(key: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        let wide = Vec::<u64>::parse(key, t)?;
        let numbers: Result<Vec<u32>, _> = wide.into_iter().map(u32::try_from).collect();
        Ok(numbers.map_err(|_| "a number is too large")?)
    }
}

impl Param for Dom {
    fn print(&self, key: &str, out: &mut String) {
        put(key, self, out);
    }

    fn parse(key: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        key_of(key, t)?;
        t.domain()
    }
}

/// `and [4,3]`, `carry [4,4]`.
impl Param for MultiAnd {
    fn print(&self, _: &str, out: &mut String) {
        match self {
            MultiAnd::And(sizes) => sizes.print("and", out),
            MultiAnd::Carry(sizes) => sizes.print("carry", out),
        }
    }

    fn parse(_: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        let pattern = t.word()?;
        let sizes = Param::parse("", t)?;
        match pattern {
            "and" => Ok(MultiAnd::And(sizes)),
            "carry" => Ok(MultiAnd::Carry(sizes)),
            _ => Err(format!("`{pattern}` is no pattern: `and` or `carry`")),
        }
    }
}

/// `later`.
impl Param for PairTable {
    fn print(&self, key: &str, out: &mut String) {
        put(key, self.name(), out);
    }

    fn parse(key: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        key_of(key, t)?;
        let name = t.word()?;
        let table = PairTable::ALL.into_iter().find(|t| t.name() == name);
        table.ok_or_else(|| format!("`{name}` is no table of pairs"))
    }
}

/// Nothing, `own groups 2` or `dup groups 2`.
impl Param for SplitPart {
    fn print(&self, _: &str, out: &mut String) {
        match self {
            SplitPart::Whole => {}
            SplitPart::Own(groups) => put("own groups", groups, out),
            SplitPart::Dup(groups) => put("dup groups", groups, out),
        }
    }

    fn parse(_: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        if t.keyword("own").is_ok() {
            Ok(SplitPart::Own(t.named("groups")?))
        } else if t.keyword("dup").is_ok() {
            Ok(SplitPart::Dup(t.named("groups")?))
        } else {
            Ok(SplitPart::Whole)
        }
    }
}

/// `%1 %2`.
pub(super) fn values(xs: &[ValueId]) -> String {
    xs.iter().map(ValueId::to_string).collect::<Vec<_>>().join(" ")
}

/// `[4,3]`.
pub(super) fn list<T: ToString>(xs: &[T]) -> String {
    let numbers: Vec<String> = xs.iter().map(T::to_string).collect();
    format!("[{}]", numbers.join(","))
}
