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

/// Row-major distances of neighbours, of what is repeated along axes of one entry: along these it does not move.
pub fn repeated(shape: &[u64]) -> Vec<u64> {
    strides(shape).into_iter().zip(shape).map(|(s, &n)| if n == 1 { 0 } else { s }).collect()
}

/// The distances of an operand of shape `from` of an entry-by-entry operation with a result of shape `to`.
pub fn aligned(
    from: &[u64],
    to: &[u64],
    at: u64,
    lanes: (&Sizes, &[u64]),
) -> Result<Vec<u64>, Uneven> {
    along(to, &repeated(from), at, lanes)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row's position in another tensor is the first one's and the distances that are found; a lane that is more
    /// than one axis is to be cut into two.
    #[test]
    fn rows_are_at_the_distances_that_are_found() {
        let shape = [3, 4, 2];
        let (mut even, mut cut) = (0, 0);
        for strides in [[8, 2, 1], [1, 3, 12], [0, 5, 7]] {
            let place = |at: u64| -> u64 {
                digits(&shape, at).iter().zip(&strides).map(|(x, s)| x * s).sum()
            };
            for (first, second) in (0..24).flat_map(|a| (0..24).map(move |b| (a, b))) {
                for sizes in [[2, 1], [2, 2], [3, 2], [4, 3], [6, 2]] {
                    let distances = [first, second];
                    let last = (sizes[0] - 1) * first + (sizes[1] - 1) * second;
                    for at in (0..24).filter(|at| at + last < 24) {
                        let found = match along(&shape, &strides, at, (&sizes, &distances)) {
                            Ok(found) => found,
                            Err(Uneven::Split { lane, inner }) => {
                                assert!(
                                    inner > 1 && sizes[lane] > inner && sizes[lane] % inner == 0
                                );
                                cut += 1;
                                continue;
                            }
                            Err(Uneven::Different) => continue,
                        };
                        even += 1;
                        for (i, j) in (0..sizes[0]).flat_map(|i| (0..sizes[1]).map(move |j| (i, j)))
                        {
                            let own = place(at + i * first + j * second);
                            let said = place(at) + i * found[0] + j * found[1];
                            assert_eq!(own, said, "{strides:?} {sizes:?} {distances:?} {at}");
                        }
                    }
                }
            }
        }
        assert!(even > 1000 && cut > 50, "{even} {cut}");
    }

    #[test]
    fn all_rows_are_asked() {
        let seen = RefCell::new(Vec::new());
        let holds = every(5, &[2, 3, 4], &[12, 0, 1], |at, along| {
            seen.borrow_mut().push(at);
            at == 5 + 12 * along[0] + along[2] && along[1] == 0
        });
        let mut seen = seen.into_inner();
        seen.sort_unstable();
        assert!(holds);
        assert_eq!(seen, [5, 6, 7, 8, 17, 18, 19, 20]);
    }
}
