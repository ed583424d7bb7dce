//! Sequences of an artifact are bounded while they are read: a file announces their lengths, and what an element
//! takes in memory may be thirty times what it takes in the file.
//!
//! The bounds are those of the verifier, so nothing is refused here that it would accept.

use crate::limits::{MAX_CONSTS, MAX_DECLARATIONS, MAX_LAYERS, MAX_PLANES, MAX_RANK, MAX_VALUES};
use crate::{Const, Layer, Shape, Site, Type};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// What a sequence counts for, besides its length: a limit on all of its elements together.
type Weight<T> = fn(&T) -> usize;

struct Bounded<T> {
    what: &'static str,
    most: usize,
    weight: Weight<T>,
    heaviest: usize,
    element: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Bounded<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} {}", self.most, self.what)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let many = || A::Error::custom(format_args!("too many {}", self.what));
        // A length that was announced is refused before the first element is read.
        let announced = seq.size_hint().unwrap_or(0);
        if announced > self.most {
            return Err(many());
        }
        let (mut all, mut weight) = (Vec::with_capacity(announced.min(64)), 0usize);
        while let Some(x) = seq.next_element()? {
            weight = weight.saturating_add((self.weight)(&x));
            if all.len() == self.most || weight > self.heaviest {
                return Err(many());
            }
            all.push(x);
        }
        Ok(all)
    }
}

fn read<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
    what: &'static str,
    most: usize,
    weight: Weight<T>,
    heaviest: usize,
) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(Bounded { what, most, weight, heaviest, element: PhantomData })
}

pub(crate) fn shape<'de, D: Deserializer<'de>>(from: D) -> Result<Shape, D::Error> {
    read(from, "axes", MAX_RANK, |_| 0, 0)
}

pub(crate) fn planes<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    read(from, "planes", MAX_PLANES as usize, |_| 0, 0)
}

/// Of one instruction or layer.
pub(crate) fn values<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    read(from, "values", MAX_VALUES, |_| 0, 0)
}

pub(crate) fn types<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Type>, D::Error> {
    read(from, "values", MAX_VALUES, |_| 0, 0)
}

pub(crate) fn sites<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Site>, D::Error> {
    read(from, "sites", MAX_VALUES, |_| 0, 0)
}

pub(crate) fn declarations<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    read(from, "declarations", MAX_DECLARATIONS, |_| 0, 0)
}

/// With the instructions and drops of all layers.
pub(crate) fn layers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Layer>, D::Error> {
    let weight = |l: &Layer| l.local.len() + l.exchange.len() + l.drop.len();
    read(from, "layers or instructions", MAX_LAYERS, weight, 2 * MAX_VALUES)
}

/// With the words of all of them.
pub(crate) fn consts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Const>, D::Error> {
    read(from, "constants", MAX_VALUES, |c: &Const| c.data.len(), MAX_CONSTS)
}

pub(crate) fn words<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u128>, D::Error> {
    read(from, "words of constants", MAX_CONSTS, |_| 0, 0)
}
