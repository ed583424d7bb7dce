//! What a public bit for each client, whether its inputs passed all checks, does to these inputs. All of it
//! is local.

use crate::lower::Emit;
use slvr_circuit::low_mask;
use slvr_circuit::{Dom, Op, ValueId};

/// Rows of at most this many bits are combined by gates; of longer ones the zeros are counted.
pub(crate) const MOST_GATED: u64 = 64;

/// Zeros in place of what a client gave that was not admitted: x `Rep [m, ..]` over words or bits,
/// admitted `Public B1[m]`. Local.
pub fn gate(e: &mut Emit, x: ValueId, admitted: ValueId) -> ValueId {
    let (dom, rank) = (e.ty(x).dom, e.ty(x).shape.len());
    let factor = match dom {
        Dom::Ring(k) => e.add(Op::FromBits(admitted, k)),
        Dom::Bits(_) => admitted,
    };
    let mut shape = vec![1; rank];
    shape[0] = e.ty(admitted).shape[0];
    let factor = e.add(Op::Reshape(factor, shape));
    e.add(Op::Mul(x, factor))
}

/// What [`gate`] gives, plus `row` for a client that was not admitted: words `Rep A<k>[m, .., n]` or
/// `Rep A<k>[m]`, `row` of n words or of one. For inputs of which zeros are not in range, so that whatever is
/// computed with stays in the range that is proven: class 0 of a label, the end nearest to 0. Local.
pub fn stand_in(e: &mut Emit, kept: ValueId, admitted: ValueId, row: Vec<u128>) -> ValueId {
    let (k, shape) = (e.ty(kept).bits(), e.ty(kept).shape.clone());
    let out = e.add(Op::Not(admitted));
    let out = e.add(Op::FromBits(out, k));
    let mut rows = vec![1; shape.len()];
    rows[0] = shape[0];
    let out = e.add(Op::Reshape(out, rows));
    let mut columns = vec![1; shape.len()];
    if let (Some(last), true) = (columns.last_mut(), row.len() > 1) {
        *last = row.len() as u64;
    }
    let row = e.constant(false, k, &columns, row.into_iter().map(|w| w & low_mask(k)).collect());
    let row = e.add(Op::Mul(out, row));
    e.add(Op::Add(kept, row))
}
