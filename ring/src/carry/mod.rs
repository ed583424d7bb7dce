//! Bits of comparisons, bit-sliced: thermometer codes, the choice of an entry, products of many bits.
//!
//! Lives here: the local parts of [`Op::Thermometer`], [`Op::Pick`] and [`Op::Propagate`] (`leaf`), of
//! [`Op::MaskProducts`] and [`Op::AndMany`] (`gates`; see [`slvr_circuit::Op`]), on whole tensors of bits. May
//! not: who holds what; `one` stands for the share of the constant 1 that a party adds, one bit for each
//! element.
//!
//! A strip of 64 words of each plane goes through a formula at a time: long enough for loops over its words
//! to be vectors, short enough for what is in between to stay in the nearest cache.
//!
//! [`Op::Thermometer`]: slvr_circuit::Op::Thermometer
//! [`Op::Pick`]: slvr_circuit::Op::Pick
//! [`Op::Propagate`]: slvr_circuit::Op::Propagate
//! [`Op::MaskProducts`]: slvr_circuit::Op::MaskProducts
//! [`Op::AndMany`]: slvr_circuit::Op::AndMany

mod leaf;
mod multi_and;
#[cfg(test)]
mod tests;

pub use leaf::{pick, propagate, thermometer};
pub use multi_and::{and_many, mask_products};

use super::Planes;
use super::plane_writer::STRIP;
use crate::threads;

/// Words of a plane that are worked on together.
type V = [u64; STRIP];

const ZEROS: V = [0; STRIP];

/// Strips that are worked on, each in cache lines of its own: registers as long as a line are then read and
/// written at once.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Work(V);

const CLEAR: Work = Work(ZEROS);

/// Words of planes below which threads cost more than they bring.
const SERIAL: usize = 1 << 15;

/// Planes to be read in strips, the last of which is as long as the others.
struct Strips<'a> {
    planes: &'a Planes,
    /// What a plane has beyond its last whole strip, and zeros. None if there is nothing.
    ends: Vec<V>,
}

impl<'a> Strips<'a> {
    fn of(planes: &'a Planes) -> Self {
        let rest = planes.stride() % STRIP;
        let end = |j| {
            let mut v = ZEROS;
            let plane = planes.plane(j);
            v.iter_mut().zip(&plane[plane.len() - rest..]).for_each(|(to, &x)| *to = x);
            v
        };
        let count = if rest == 0 { 0 } else { planes.width() as usize };
        Strips { planes, ends: (0..count).map(end).collect() }
    }

    /// The words of plane j from `at` on, which is a multiple of [`STRIP`] below the stride.
    #[inline(always)]
    fn get(&self, j: usize, at: usize) -> &V {
        let whole = self.planes.plane(j).get(at..).and_then(|x| x.first_chunk());
        whole.unwrap_or_else(|| &self.ends[j])
    }

    /// Where strips begin.
    fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.planes.stride()).step_by(STRIP)
    }
}

/// `to[k] = f(a[k], b[k], m[k])`. That these are arguments of a function tells the compiler that `to` is
/// none of the others.
#[inline(always)]
fn merge(to: &mut V, a: &V, b: &V, m: &V, f: impl Fn(u64, u64, u64) -> u64) {
    for k in 0..STRIP {
        to[k] = f(a[k], b[k], m[k]);
    }
}

/// `to[k] = f(to[k], b[k], m[k])`.
#[inline(always)]
fn merge_in(to: &mut V, b: &V, m: &V, f: impl Fn(u64, u64, u64) -> u64) {
    for k in 0..STRIP {
        to[k] = f(to[k], b[k], m[k]);
    }
}

/// Halves a list of 2 n strips: strip i becomes f of strips 2 i, 2 i + 1 and m.
#[inline(always)]
fn halve(list: &mut [Work], n: usize, m: &V, f: impl Fn(u64, u64, u64) -> u64 + Copy) {
    for i in 0..n {
        if i == 0 {
            let (a, b) = list.split_at_mut(1);
            merge_in(&mut a[0].0, &b[0].0, m, f);
        } else {
            let (to, from) = list.split_at_mut(2 * i);
            merge(&mut to[i].0, &from[0].0, &from[1].0, m, f);
        }
    }
}

/// Runs `each` on the indices, on several threads if there is much to do.
fn jobs<T: Send>(work: usize, items: Vec<T>, each: impl Fn(T) + Sync + Send) {
    if work < SERIAL {
        items.into_iter().for_each(each);
    } else {
        threads::each(items.into_iter(), &each);
    }
}

/// First plane and width of every block.
fn places(blocks: &[u32]) -> Vec<(usize, usize)> {
    let mut next = 0;
    let place = |&b: &u32| {
        next += b as usize;
        (next - b as usize, b as usize)
    };
    blocks.iter().map(place).collect()
}

/// The last axis of c as planes: element (i, j) of plane p becomes element i of plane w j + p.
pub fn to_planes(x: &Planes, c: usize) -> Planes {
    let (w, n) = (x.width(), x.len().checked_div(c).unwrap_or(0));
    let mut out = Planes::zeros(w * c as u32, n);
    for j in 0..c {
        for p in 0..w as usize {
            let from = x.plane(p);
            let to = out.plane_mut(j * w as usize + p);
            for i in 0..n {
                let at = i * c + j;
                to[i / 64] |= (from[at / 64] >> (at % 64) & 1) << (i % 64);
            }
        }
    }
    out
}
