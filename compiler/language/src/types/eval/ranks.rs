//! Ranks of a vector, all at once: n log n comparisons and not n^2, for a vector may be all weights of a model.

use super::value::Value;
use crate::types::{First, Rank};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

/// The ranks that were found last, by the vector's variable and what comes first.
#[derive(Default)]
pub(super) struct Ranked(HashMap<(u32, bool), Found>);

struct Found {
    of: Value,
    /// None if an entry is NaN, which comes neither first nor last.
    ranks: Option<Vec<f64>>,
}

impl Ranked {
    /// The rank of an entry of a vector.
    pub(super) fn of(&mut self, rank: &Rank, values: &Value, at: i64) -> Option<f64> {
        if values.shape != [u64::try_from(rank.n).ok()?] {
            return None;
        }
        let largest = rank.first == First::Largest;
        let key = (rank.values.0, largest);
        if !self.0.get(&key).is_some_and(|found| same(&found.of, values)) {
            let ranks = ranks(values.entries(), largest);
            self.0.insert(key, Found { of: values.clone(), ranks });
        }
        self.0.get(&key)?.ranks.as_ref()?.get(usize::try_from(at).ok()?).copied()
    }
}

/// Whether two values are the same entries of the same data, which nobody changes.
fn same(a: &Value, b: &Value) -> bool {
    Rc::ptr_eq(&a.data, &b.data) && a.start == b.start && a.shape == b.shape
}

/// The rank of each entry, of equal ones in the order of their indices; none if one is NaN.
fn ranks(x: &[f64], largest: bool) -> Option<Vec<f64>> {
    if x.iter().any(|x| x.is_nan()) {
        return None;
    }
    let mut order: Vec<usize> = (0..x.len()).collect();
    // Zeros of both signs are equal.
    let compare = |i: &usize, j: &usize| match (x.get(*i), x.get(*j)) {
        (Some(a), Some(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    };
    order.sort_by(|i, j| if largest { compare(j, i) } else { compare(i, j) });
    let mut ranks = vec![0.0; x.len()];
    for (rank, i) in order.into_iter().enumerate() {
        if let Some(slot) = ranks.get_mut(i) {
            *slot = rank as f64;
        }
    }
    Some(ranks)
}
