//! Invariant 16: what a repetition of layers needs, and what keeps it from telling anything.

use super::error::{Instruction, VerifyError};
use crate::speculation::Speculation;
use crate::{Circuit, Instr, Op, ValueId};

/// Checks the invariant in a circuit that keeps all the others.
pub(super) fn check(circuit: &Circuit) -> Result<(), VerifyError> {
    let named = circuit.layers.iter().flat_map(|l| &l.local);
    if !named.into_iter().any(|i| matches!(i.op, Op::Admitted { .. })) {
        return Ok(());
    }
    let mut walk = Walk {
        circuit,
        // The other invariants: a named check exists, and its value is defined in some layer.
        part: match Speculation::of(circuit) {
            Some(part) => part,
            None => return Ok(()),
        },
        assumed: vec![false; circuit.types.len()],
        born: vec![None; circuit.types.len()],
    };
    for (l, layer) in circuit.layers.iter().enumerate() {
        for (exchange, instrs) in [(false, &layer.local), (true, &layer.exchange)] {
            for (n, instr) in instrs.iter().enumerate() {
                let place = Instruction { layer: l, exchange, instr: n, op: instr.op.name() };
                walk.instr(place, instr)?;
            }
        }
        if walk.part.covers(l) {
            // After L only is it known that nothing is read again.
            for &value in &layer.drop {
                if walk.born[value.index()].is_none_or(|at| at < walk.part.first) {
                    let why = "a repetition may read it, since it is older";
                    return Err(VerifyError::BadDrop { layer: l, value, why });
                }
            }
        }
    }
    Ok(())
}

struct Walk<'a> {
    circuit: &'a Circuit,
    part: Speculation,
    /// By value: whether it depends on an `admitted`.
    assumed: Vec<bool>,
    /// By value: the layer that defines it; none for inputs and constants.
    born: Vec<Option<usize>>,
}

impl Walk<'_> {
    fn instr(&mut self, place: Instruction, instr: &Instr) -> Result<(), VerifyError> {
        let bad = |why| Err(VerifyError::Speculation { place, why });
        let inside = self.part.covers(place.layer);
        let named = instr.out.is_some_and(|v| self.is_named(v));
        match &instr.op {
            Op::Admitted { check, members } => {
                let check = self.circuit.checks.get(*check as usize);
                let set = check.and_then(|c| self.circuit.parties.get(c.set as usize));
                if set.is_none_or(|s| s.size != *members) {
                    return bad(
                        "it does not have one bit for each member of the check's party set",
                    );
                }
                if self.part.first > self.part.last {
                    return bad("all checks are opened before the first");
                }
            }
            op if inside && !named && op.interaction().is_some_and(|i| i.reveals()) => {
                return bad("something is opened before it is known whose inputs count");
            }
            Op::Coin if inside => return bad("a repetition would draw other coins"),
            Op::OpenMasked { mask, .. }
                if inside && self.born[mask.index()].is_none_or(|at| at < self.part.first) =>
            {
                return bad("a repetition would use the mask twice");
            }
            _ => {}
        }
        let assumed = matches!(instr.op, Op::Admitted { .. })
            || instr.op.operands().iter().any(|v| self.assumed[v.index()]);
        if assumed && named {
            return bad("the bits of a check depend on the assumption that all are ones");
        }
        if let Some(v) = instr.out {
            self.assumed[v.index()] = assumed;
            self.born[v.index()] = Some(place.layer);
        }
        Ok(())
    }

    /// Whether a value is the bits of a check that some `admitted` names.
    fn is_named(&self, v: ValueId) -> bool {
        self.part.checks.iter().any(|&c| self.circuit.checks[c].value == v)
    }
}
