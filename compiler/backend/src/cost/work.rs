//! Local work of one instruction at each party: multiply-accumulates, bytes touched, pseudorandom
//! bytes.

use slvr_circuit::plan::operand;
use slvr_circuit::{Circuit, Dom, Hold, Instr, Op, ValueId};

/// Multiply-accumulates over rings.
pub(super) fn macs(circuit: &Circuit, instr: &Instr) -> [u64; 3] {
    let Some(out) = instr.out.map(|v| circuit.ty(v)) else { return [0; 3] };
    if !matches!(out.dom, Dom::Ring(_)) {
        return [0; 3];
    }
    let shape = |v: ValueId| circuit.ty(v).shape.as_slice();
    let size = |v: ValueId, axis: usize| shape(v).get(axis).copied().unwrap_or(1);
    // Of each element of the result, and the operands.
    let (terms, a, b) = match &instr.op {
        Op::Mul(a, b) => (1, *a, *b),
        Op::MatMul { a, b, .. } => (size(*a, 2), *a, *b),
        Op::Conv2d { x, w, conv } => (conv.terms(shape(*w)), *x, *w),
        Op::Project { x, .. } => (size(*x, 1), *x, *x),
        _ => return [0; 3],
    };
    // Two products for each element of an `Add3` result, one for each stored tensor of others.
    let products = match (circuit.ty(a).hold, circuit.ty(b).hold) {
        (Hold::Rep, Hold::Rep) if out.hold == Hold::Add3 => 2,
        _ => 1,
    };
    [0, 1, 2].map(|me| {
        let results: u64 = out.stored(me).into_iter().sum();
        results.saturating_mul(terms).saturating_mul(products)
    })
}

/// Bytes read and written. What only passes a tensor on touches nothing.
pub(super) fn touched(circuit: &Circuit, instr: &Instr) -> [u64; 3] {
    if matches!(instr.op, Op::Reshape(..) | Op::AsAdd3(_)) {
        return [0; 3];
    }
    let mut all: Vec<ValueId> = match instr.op {
        Op::Load { .. } => Vec::new(),
        _ => instr.op.operands(),
    };
    all.extend(instr.out);
    [0, 1, 2].map(|me| all.iter().fold(0u64, |sum, &v| sum.saturating_add(circuit.ty(v).bytes(me))))
}

/// Pseudorandom bytes expanded.
pub(super) fn random(circuit: &Circuit, instr: &Instr) -> [u64; 3] {
    if let Some(interaction) = instr.op.interaction() {
        let (dom, lanes) = operand(circuit, &instr.op);
        return [0, 1, 2].map(|me| dom.bytes(interaction.drawn(lanes, me) as u64));
    }
    match (&instr.op, instr.out) {
        // Two streams in the own shard, one in each of the others.
        (Op::Random { .. }, Some(v)) => {
            let ty = circuit.ty(v);
            [2 * ty.dom.bytes(ty.elements()); 3]
        }
        // A client's two seeds are party 0's; each of the others has one of them.
        (Op::Load { .. }, Some(v)) => {
            let ty = circuit.ty(v);
            [2, 1, 1].map(|streams| streams * ty.dom.bytes(ty.elements()))
        }
        (Op::Mask { .. }, Some(v)) => {
            let (dom, lanes) = (circuit.ty(v).dom, circuit.ty(v).lanes());
            [0, 1, 2].map(|me| dom.bytes((lanes.len(me) + lanes.n) as u64))
        }
        _ => [0; 3],
    }
}
