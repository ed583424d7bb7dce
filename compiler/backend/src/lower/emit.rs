//! Builds instructions: types them by the format's own rule, and makes equal ones once.

use super::target::Target;
use slvr_circuit::interaction::{COINS, Sends};
use slvr_circuit::low_mask;
use slvr_circuit::{Const, Dom, Hold, Instr, Op, Shape, Type, ValueId, verify};
use std::collections::HashMap;

/// Instructions in an order in which operands come first, without layers.
#[derive(Clone, Default)]
pub struct Emit {
    /// Type of every value.
    pub types: Vec<Type>,
    pub instrs: Vec<Instr>,
    pub consts: Vec<Const>,
    /// Where the next instructions come from.
    pub site: u32,
    /// What macros are chosen by.
    pub target: Target,
    masks: u32,
    /// Looked up, never iterated: order does not depend on it.
    known: HashMap<Op, ValueId>,
    known_consts: HashMap<(Type, Vec<u128>), ValueId>,
}

/// A circuit before scheduling.
#[derive(Clone)]
pub struct Draft {
    pub emit: Emit,
    /// The block of each instruction, from 1; 0 for none.
    pub blocks: Vec<u32>,
    pub inputs: Vec<slvr_circuit::Input>,
    pub outputs: Vec<slvr_circuit::Output>,
    /// Which values say whose inputs were admitted.
    pub checks: Vec<slvr_circuit::Check>,
}

impl Draft {
    /// Without speculation: every `admitted` is the opened bits themselves.
    pub fn settle(&mut self) {
        let mut bits: Vec<Option<ValueId>> = vec![None; self.emit.types.len()];
        for i in &mut self.emit.instrs {
            if let (Op::Admitted { check, .. }, Some(out)) = (&i.op, i.out) {
                bits[out.index()] = self.checks.get(*check as usize).map(|c| c.value);
            }
            i.op = i.op.map(|v| bits[v.index()].unwrap_or(v));
        }
        if bits.iter().any(Option::is_some) {
            self.prune();
        }
    }

    /// Takes out what nothing reads: parts of values that a protocol turned out not to need. Coins stay,
    /// because evaluations in the clear number them. So does a code that its owner inputs, where it also inputs
    /// something that it makes of the code: the statement of that is about the code.
    pub fn prune(&mut self) {
        let mut read = vec![false; self.emit.types.len()];
        let mut is_code = vec![false; self.emit.types.len()];
        for i in &self.emit.instrs {
            if let (Op::Thermometer { .. }, Some(out)) = (&i.op, i.out) {
                is_code[out.index()] = self.emit.ty(out).hold == Hold::Own;
            }
        }
        self.inputs.iter().for_each(|i| read[i.value.index()] = true);
        self.checks.iter().for_each(|c| read[c.value.index()] = true);
        let mut kept = vec![false; self.emit.instrs.len()];
        for (n, i) in self.emit.instrs.iter().enumerate().rev() {
            let said = matches!(i.op, Op::Input(x) if is_code[x.index()] && read[x.index()]);
            let wanted = i.out.is_none_or(|v| read[v.index()]) || i.op == Op::Coin || said;
            kept[n] = wanted;
            if wanted {
                i.op.operands().iter().chain(&i.out).for_each(|v| read[v.index()] = true);
            }
        }
        let mut number = vec![ValueId(0); read.len()];
        let mut types = Vec::new();
        for (v, ty) in std::mem::take(&mut self.emit.types).into_iter().enumerate() {
            if read[v] {
                number[v] = ValueId(types.len() as u32);
                types.push(ty);
            }
        }
        let to = |v: ValueId| number[v.index()];
        self.emit.types = types;
        self.emit.consts.retain(|c| read[c.value.index()]);
        self.emit.consts.iter_mut().for_each(|c| c.value = to(c.value));
        self.inputs.iter_mut().for_each(|i| i.value = to(i.value));
        self.checks.iter_mut().for_each(|c| c.value = to(c.value));
        let mut keep = kept.iter().copied();
        self.emit.instrs.retain(|_| keep.next().unwrap_or(true));
        let mut keep = kept.iter().copied();
        self.blocks.retain(|_| keep.next().unwrap_or(true));
        for i in &mut self.emit.instrs {
            i.op = i.op.map(to);
            i.out = i.out.map(to);
        }
    }
}

/// Rounds and bits of all parties of a macro: by these a choice between macros is made.
pub fn trial(target: Target, make: impl FnOnce(&mut Emit)) -> (f64, f64) {
    let mut e = Emit::new(target);
    make(&mut e);
    let mut rounds = vec![0u32; e.types.len()];
    let mut all = 0.0;
    for i in &e.instrs {
        let Some(out) = i.out else { continue };
        let before = i.op.operands().iter().map(|v| rounds[v.index()]).max().unwrap_or(0);
        let words = i.op.interaction().map_or(0, |interaction| match interaction.sends {
            Sends::All(to) => 3 * to.len(),
            Sends::Owner(_) => 1,
            Sends::Others => 2,
        });
        let ty = e.ty(out);
        all += words as f64 * f64::from(ty.bits()) * ty.elements() as f64;
        rounds[out.index()] = before + u32::from(words > 0);
    }
    let most = rounds.into_iter().max().unwrap_or(0);
    (most.into(), all)
}

impl Emit {
    /// Nothing yet, of the macros for a target.
    pub fn new(target: Target) -> Emit {
        Emit { target, ..Emit::default() }
    }

    /// A value that no instruction defines yet.
    pub(super) fn declare(&mut self, ty: Type) -> ValueId {
        self.types.push(ty);
        ValueId(self.types.len() as u32 - 1)
    }

    /// Drops what equal instructions and tables are found by: nothing is added any more, and drafts are copied.
    pub(super) fn forget(&mut self) {
        (self.known, self.known_consts) = (HashMap::new(), HashMap::new());
    }

    /// The type of a value.
    pub fn ty(&self, v: ValueId) -> &Type {
        &self.types[v.index()]
    }

    /// An instruction with a result. Equal operations on equal values are made once: all but coins
    /// are functions of their operands, and a second reshare of the same value would say nothing
    /// new.
    ///
    /// Panics if the operation does not type-check: macros only make well-typed ones.
    pub fn add(&mut self, op: Op) -> ValueId {
        if let Some(&v) = self.known.get(&op) {
            return v;
        }
        let ty = match verify::infer(&op, &|v| &self.types[v.index()]) {
            Ok(Some(ty)) => ty,
            Ok(None) => unreachable!("{} has no result", op.name()),
            Err(why) => {
                let operands: Vec<String> =
                    op.operands().iter().map(|&v| self.ty(v).to_string()).collect();
                panic!("ill-typed {} {operands:?}: {why}", op.name())
            }
        };
        let out = self.declare(ty);
        self.instrs.push(Instr { out: Some(out), op: op.clone(), site: self.site });
        self.known.insert(op, out);
        out
    }

    pub fn input(&mut self, secret: bool, dom: Dom, shape: Shape) -> ValueId {
        let hold = if secret { Hold::Rep } else { Hold::Public };
        self.declare(Type::new(hold, dom, shape))
    }

    /// A public table; one entry stands for all.
    pub fn constant(&mut self, bits: bool, ring: u32, shape: &[u64], data: Vec<u128>) -> ValueId {
        let dom = if bits { Dom::Bits(1) } else { Dom::Ring(ring) };
        let n = shape.iter().product::<u64>() as usize;
        let data = if data.len() == 1 { vec![data[0]; n] } else { data };
        let ty = Type::new(Hold::Public, dom, shape.to_vec());
        let key = (ty.clone(), data);
        if let Some(&v) = self.known_consts.get(&key) {
            return v;
        }
        let value = self.declare(ty);
        self.consts.push(Const { value, data: key.1.clone() });
        self.known_consts.insert(key, value);
        value
    }

    /// Fresh public coins. Never shared between samples: they would be correlated.
    pub fn coin(&mut self) -> ValueId {
        let out = self.declare(Type::new(Hold::Public, COINS, vec![]));
        self.instrs.push(Instr { out: Some(out), op: Op::Coin, site: self.site });
        out
    }

    /// A fresh mask, unlike all others.
    pub fn fresh_mask(&mut self, dom: Dom, shape: Shape, groups: u32) -> ValueId {
        self.masks += 1;
        self.add(Op::Mask { tag: self.masks, dom, shape, groups })
    }

    /// Opens a value to the receiver of an output.
    pub fn open_to(&mut self, x: ValueId, output: u32) {
        self.instrs.push(Instr { out: None, op: Op::OpenTo { x, output }, site: self.site });
    }

    /// Keeps a replicated value as a state.
    pub fn keep(&mut self, x: ValueId, input: u32) {
        self.instrs.push(Instr { out: None, op: Op::Keep { x, input }, site: self.site });
    }

    /// A public value as a replicated one.
    pub fn share_public(&mut self, x: ValueId) -> ValueId {
        self.add(Op::Trivial(x))
    }

    /// A public signed word in a larger ring.
    pub fn sign_extend(&mut self, x: ValueId, k: u32) -> ValueId {
        let half = 1u128 << (self.ty(x).bits() - 1);
        let positive = self.add(Op::Offset(x, half));
        let wide = self.add(Op::Extend(positive, k));
        self.add(Op::Offset(wide, half.wrapping_neg() & low_mask(k)))
    }

    /// Size-1 axes repeated, if there are any to repeat.
    pub fn broadcast(&mut self, x: ValueId, shape: &[u64]) -> ValueId {
        if self.ty(x).shape == shape { x } else { self.add(Op::Broadcast(x, shape.to_vec())) }
    }

    /// Some planes of a value.
    pub fn planes(&mut self, x: ValueId, start: u32, step: u32, count: u32) -> ValueId {
        if start == 0 && step == 1 && count == self.ty(x).bits() {
            return x;
        }
        self.add(Op::Planes { x, start, step, count })
    }

    /// These planes of a value.
    pub fn select(&mut self, x: ValueId, planes: Vec<u32>) -> ValueId {
        if (0..self.ty(x).bits()).eq(planes.iter().copied()) {
            return x;
        }
        self.add(Op::SelectPlanes(x, planes))
    }

    /// A plane of zeros, held as a value over bits is.
    pub fn zero_plane(&mut self, like: ValueId) -> ValueId {
        let first = self.planes(like, 0, 1, 1);
        self.add(Op::Add(first, first))
    }

    /// Planes of several values, lowest first.
    pub fn stack(&mut self, xs: Vec<ValueId>) -> ValueId {
        match xs[..] {
            [x] => x,
            _ => self.add(Op::Stack(xs)),
        }
    }

    /// Product of two values, reshared if both are replicated; else local.
    pub fn multiply(&mut self, a: ValueId, b: ValueId) -> ValueId {
        let product = self.add(Op::Mul(a, b));
        match self.ty(product).hold {
            Hold::Add3 => self.add(Op::Reshare(product)),
            _ => product,
        }
    }
}
