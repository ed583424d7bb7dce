//! Many rows at once.
//!
//! Rows of one tensor are mostly computed alike: what is said of the first row holds of all. *Lanes* are the
//! axes along which rows lie. A place is then an entry of the first row with the distance that it moves for
//! each lane, and stands for one entry in each row. An operation that moves entries moves such a place where
//! the distances stay distances in the operand; where they do not, nothing is said.

use super::layout::digits;
use crate::graph::NodeId;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Sizes of lanes, outermost first.
pub type Sizes = [u64];

/// A node's entry in all rows: the node, the entry in the first row, the number of its distances.
pub type Place = (NodeId, u64, u32);

/// Why places cannot be moved in all rows at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uneven {
    /// A lane is more than one axis of an operand: it could be cut in two, the inner one of this size.
    Split {
        lane: usize,
        /// Size of its inner part.
        inner: u64,
    },
    /// Rows are computed differently.
    Different,
}

/// The distances of the axes of a place in each lane, by number; those of equal places have equal numbers.
#[derive(Default)]
pub struct Distances {
    numbers: RefCell<BTreeMap<Vec<u64>, u32>>,
    all: RefCell<Vec<Vec<u64>>>,
}

impl Distances {
    /// The number of a list of distances.
    pub fn number(&self, distances: Vec<u64>) -> u32 {
        *self.numbers.borrow_mut().entry(distances).or_insert_with_key(|d| {
            let mut all = self.all.borrow_mut();
            all.push(d.clone());
            (all.len() - 1) as u32
        })
    }

    /// The distances of a number.
    pub fn of(&self, number: u32) -> Vec<u64> {
        self.all.borrow().get(number as usize).cloned().unwrap_or_default()
    }
}

/// What each axis of a shape contributes to a flat position in another tensor.
pub fn along(
    shape: &[u64],
    strides: &[u64],
    at: u64,
    (sizes, distances): (&Sizes, &[u64]),
) -> Result<Vec<u64>, Uneven> {
    // Positions add up digit by digit if no digit overflows in any row.
    let mut most = digits(shape, at);
    let mut moved = Vec::with_capacity(sizes.len());
    for (lane, (&n, &distance)) in sizes.iter().zip(distances).enumerate() {
        let steps = digits(shape, distance);
        for (d, &step) in steps.iter().enumerate().filter(|_| n > 1) {
            let room = shape[d].saturating_sub(1).saturating_sub(most[d]);
            most[d] += step * (n - 1);
            if step > 0 && step * (n - 1) > room {
                let inner = shape[d] / step.max(1);
                let splits =
                    shape[d].is_multiple_of(step) && inner > 1 && n % inner == 0 && n > inner;
                return Err(match splits {
                    true => Uneven::Split { lane, inner },
                    false => Uneven::Different,
                });
            }
        }
        moved.push(steps.iter().zip(strides).map(|(s, t)| s * t).sum());
    }
    Ok(moved)
}

/// Row-major distances of neighbours.
pub fn strides(shape: &[u64]) -> Vec<u64> {
    let mut out = vec![1; shape.len()];
    for d in (1..shape.len()).rev() {
        out[d - 1] = out[d] * shape[d];
    }
    out
}

/// The distances of an operand of shape `from` of an entry-by-entry operation with a result of shape `to`.
pub fn aligned(
    from: &[u64],
    to: &[u64],
    at: u64,
    lanes: (&Sizes, &[u64]),
) -> Result<Vec<u64>, Uneven> {
    let own = strides(from);
    let own: Vec<u64> =
        own.into_iter().zip(from).map(|(s, &n)| if n == 1 { 0 } else { s }).collect();
    along(to, &own, at, lanes)
}

/// Whether something holds of a position, and of how far it is along each lane, in all rows in which the
/// position differs.
pub fn every(
    at: u64,
    sizes: &Sizes,
    distances: &[u64],
    holds: impl Fn(u64, &[u64]) -> bool,
) -> bool {
    let moving = |lane: &usize| distances[*lane] > 0;
    let rows: u64 = (0..sizes.len()).filter(moving).map(|lane| sizes[lane]).product();
    let mut along = vec![0; sizes.len()];
    (0..rows).all(|mut row| {
        let mut place = at;
        for lane in (0..sizes.len()).filter(moving) {
            along[lane] = row % sizes[lane];
            place += along[lane] * distances[lane];
            row /= sizes[lane];
        }
        holds(place, &along)
    })
}
