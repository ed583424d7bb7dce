//! How long the proof of a product of matrices is.

use super::claim::{Claim, Statement};
use super::folds::Kind;
use crate::{Circuit, ValueId};

/// A product of matrices, or a convolution as one: its rows and columns, of all batches, and the length of its sums.
pub(super) struct Matrices {
    rows: u64,
    columns: u64,
    sums: u64,
}

/// Of a statement that is proven as a product of matrices. Numbers that do not fit are the largest one: a stranger's
/// circuit may be about more words than there are numbers.
pub(super) fn matrices(circuit: &Circuit, s: &Statement) -> Option<Matrices> {
    let shape = |v: ValueId| circuit.ty(v).shape.as_slice();
    let at = |v: ValueId, axis: usize| shape(v).get(axis).copied().unwrap_or(1);
    let all = |sizes: &[u64]| sizes.iter().fold(1u64, |n, d| n.saturating_mul(*d));
    match s.claim {
        Claim::MatMul { a, b, trans_b, .. } if s.claim.inner(circuit).is_none() => {
            let batch = at(a, 0).max(at(b, 0));
            let (inner, columns) = if trans_b { (2, 1) } else { (1, 2) };
            Some(Matrices {
                rows: batch.saturating_mul(at(a, 1)),
                columns: at(b, columns),
                sums: batch.saturating_mul(at(b, inner)),
            })
        }
        Claim::Conv { x, w, .. } => {
            let batch = at(x, 0).max(at(w, 0));
            let out = shape(s.out);
            Some(Matrices {
                rows: batch.saturating_mul(at(s.out, 2)),
                columns: at(s.out, 1).saturating_mul(all(out.get(3..).unwrap_or(&[]))),
                sums: batch.saturating_mul(all(shape(w).get(2..).unwrap_or(&[]))),
            })
        }
        _ => None,
    }
}

impl Matrices {
    /// Length of the two inner products that prove it.
    pub(super) fn length(&self) -> usize {
        usize::try_from(self.sums.saturating_mul(2)).unwrap_or(usize::MAX)
    }

    /// Bytes that a party holds in one of its parts until the two vectors are found: a coefficient for each row and
    /// column, sums with the coefficients of the longer side, the vectors twice, and words of 64 bits, of both factors
    /// once and of the result twice.
    pub(super) fn bytes(&self, circuit: &Circuit, s: &Statement) -> u64 {
        let element = Kind::Matrices.bytes() as u64;
        let ends = self.rows.saturating_add(self.columns);
        let short = self.rows.min(self.columns).saturating_add(self.sums.saturating_mul(4));
        let mut words = circuit.ty(s.out).elements();
        s.claim.values(&mut |v| words = words.saturating_add(circuit.ty(v).elements()));
        element.saturating_mul(ends.saturating_add(short)).saturating_add(words.saturating_mul(16))
    }
}
