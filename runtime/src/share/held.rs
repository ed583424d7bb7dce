//! What a party holds of a value, whichever way it is held.

use super::Rep;
use slvr_ring::Data;
use std::fmt;
use std::sync::Arc;

/// What a party holds of a value.
#[derive(Clone)]
pub enum Held {
    /// One tensor: a public value, this party's word of an `Add3` value, or its stored shards of an
    /// `Own`, `Dup` or `Add2` value (see [`crate::protocol`]).
    One(Arc<Data>),
    /// Two components.
    Rep(Rep),
}

impl Held {
    pub fn one(x: Data) -> Self {
        Held::One(Arc::new(x))
    }

    /// The tensor of a value that is not replicated.
    pub fn as_one(&self) -> &Arc<Data> {
        match self {
            Held::One(x) => x,
            Held::Rep(_) => unreachable!("the verifier checks holders"),
        }
    }

    /// The components of a value that has two.
    pub fn as_rep(&self) -> &Rep {
        match self {
            Held::Rep(x) => x,
            Held::One(_) => unreachable!("the verifier checks holders"),
        }
    }

    /// The first or second component; of one tensor that.
    pub(crate) fn component(&self, second: bool) -> &Arc<Data> {
        match self {
            Held::One(x) => x,
            Held::Rep(x) if second => &x.second,
            Held::Rep(x) => &x.first,
        }
    }

    /// The components: one or two.
    pub fn parts(&self) -> impl Iterator<Item = &Arc<Data>> {
        let (a, b) = match self {
            Held::One(x) => (x, None),
            Held::Rep(x) => (&x.first, Some(&x.second)),
        };
        std::iter::once(a).chain(b)
    }
}

impl fmt::Debug for Held {
    /// Number of components and elements only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Held::One(x) => write!(f, "One<{} elements>", x.len()),
            Held::Rep(x) => x.fmt(f),
        }
    }
}
