//! The frame of a rewriting from one draft to another: each value of the draft gets a form, instruction by instruction.
//! `statements` and `masked_exchange` are rewritings. What forms there are, and what becomes of an instruction, is theirs.

use crate::lower::{Draft, Emit};
use slvr_circuit::{Const, Instr, Op, Type, ValueId};

/// What a value of the draft is in the draft that is made.
pub trait Rewritten: Clone {
    /// What the rewriting knows besides.
    type State;
    /// Why there may be none.
    type Refused;

    /// The form of a value that is held in the same way.
    fn held(value: ValueId) -> Self;

    /// Rewrites an instruction of a draft whose values have these types, and sets the form of its result.
    fn instr(to: &mut Rewrite<Self>, instr: &Instr, types: &[Type]) -> Result<(), Self::Refused>;

    /// A value of the draft as one value.
    fn value(to: &mut Rewrite<Self>, v: ValueId) -> ValueId;
}

/// A draft that is being made.
pub struct Rewrite<F: Rewritten> {
    pub e: Emit,
    /// By the draft's values.
    forms: Vec<Option<F>>,
    pub state: F::State,
}

impl<F: Rewritten> Rewrite<F> {
    pub fn form(&self, v: ValueId) -> F {
        self.forms[v.index()].clone().unwrap_or_else(|| unreachable!("operands come first"))
    }

    pub fn set(&mut self, v: ValueId, form: F) {
        self.forms[v.index()] = Some(form);
    }

    /// A value of the draft as one value.
    pub fn value(&mut self, v: ValueId) -> ValueId {
        F::value(self, v)
    }

    /// An operation on the same operands, each as one value.
    pub fn same(&mut self, op: &Op) -> Op {
        let mut values = Vec::new();
        for v in op.operands() {
            values.push((v, self.value(v)));
        }
        op.map(|v| values.iter().find(|(old, _)| *old == v).map_or(v, |x| x.1))
    }
}

/// A replicated value as words that a receiver may see: of the result of a `reshare`, whose three words are uniform but
/// for their sum, and of which two parties hold each. It may be the value itself, if it is `taken` where it is one.
pub fn words(e: &mut Emit, x: ValueId, taken: bool) -> ValueId {
    let mut made = x;
    let mut is_fresh = e.instrs.iter().rev().filter_map(|i| match i.op {
        _ if i.out != Some(made) => None,
        Op::Reshape(y, _) => {
            made = y;
            None
        }
        ref op => Some(matches!(op, Op::Reshare(_))),
    });
    let is_fresh = taken && is_fresh.next() == Some(true);
    let words = e.add(Op::AsAdd3(x));
    if is_fresh {
        return words;
    }
    let x = e.add(Op::Reshare(words));
    e.add(Op::AsAdd3(x))
}

/// The draft with each instruction rewritten, without what nothing reads.
///
/// # Errors
///
/// An instruction that is refused.
pub fn rewritten<F: Rewritten>(draft: Draft, state: F::State) -> Result<Draft, F::Refused> {
    let Draft { emit: old, blocks, mut inputs, outputs, mut checks } = draft;
    let mut to = Rewrite { e: Emit::new(old.target), forms: vec![None; old.types.len()], state };
    for i in &mut inputs {
        let value = to.e.declare(old.ty(i.value).clone());
        to.set(i.value, F::held(value));
        i.value = value;
    }
    for c in &old.consts {
        let value = to.e.declare(old.ty(c.value).clone());
        to.e.consts.push(Const { value, data: c.data.clone() });
        to.set(c.value, F::held(value));
    }
    let mut numbers = Vec::new();
    for (instr, block) in old.instrs.iter().zip(blocks) {
        to.e.site = instr.site;
        F::instr(&mut to, instr, &old.types)?;
        numbers.resize(to.e.instrs.len(), block);
    }
    for c in &mut checks {
        c.value = to.value(c.value);
        numbers.resize(to.e.instrs.len(), 0);
    }
    let mut draft = Draft { emit: to.e, blocks: numbers, inputs, outputs, checks };
    draft.prune();
    Ok(draft)
}
