//! What is made of one-hot labels in no round.

use crate::lower::Emit;
use slvr_circuit::{Op, ValueId};

/// For each of n one-hot labels and each class j whether the label is beyond j, as words of Z_2^k: the sum
/// of the label's entries beyond j. `[n, classes]`. Local.
pub fn beyond(e: &mut Emit, label: ValueId, n: u64, classes: u64, k: u32) -> ValueId {
    let later = (0..classes * classes).map(|i| u128::from(i / classes > i % classes)).collect();
    let later = e.constant(false, k, &[1, classes, classes], later);
    let flat = e.add(Op::Reshape(label, vec![1, n, classes]));
    let beyond = e.add(Op::MatMul { a: flat, b: later, trans_b: false });
    e.add(Op::Reshape(beyond, vec![n, classes]))
}
