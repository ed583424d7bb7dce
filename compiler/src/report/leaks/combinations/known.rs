//! Numbers that the receiver knows, as factors of what it does not know.

use super::residue::Residue;
use crate::analysis::layout::{aligned, moved_from, summed};
use crate::graph::{Graph, Key, NodeId, Op, Table, domain};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// A known number.
#[derive(Clone, Copy)]
pub(in super::super) struct Value {
    pub(super) residue: Residue,
    /// The number itself, if the program says it.
    pub(in super::super) real: Option<f64>,
}

/// Bytes to one word, always in the same way: FNV, and what spreads its last bits.
struct Word(u64);

impl Word {
    fn new() -> Word {
        Word(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Word {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
}

/// Why a number is the one that it is. Numbers for different reasons are different.
#[derive(Hash)]
enum Reason {
    /// It is this entry of an input,
    Input(u32, u64),
    /// of a node,
    Entry(NodeId, u64),
    /// or is computed in this way of other numbers.
    Computed(Key, Vec<Residue>),
}

impl Value {
    fn constant(x: f64) -> Value {
        Value { residue: Residue::constant(x), real: Some(x) }
    }

    /// Any number, the same for the same reason.
    fn any(reason: &Reason) -> Value {
        let mut word = Word::new();
        reason.hash(&mut word);
        Value { residue: Residue::drawn(word.finish()), real: None }
    }

    /// What is made of both.
    fn with(
        self,
        b: Value,
        residue: fn(Residue, Residue) -> Residue,
        real: fn(f64, f64) -> f64,
    ) -> Value {
        let real = self.real.zip(b.real).map(|(a, b)| real(a, b));
        Value { residue: residue(self.residue, b.residue), real }
    }

    fn times(self, b: Value) -> Value {
        self.with(b, |a, b| a * b, |a, b| a * b)
    }
}

/// Longer chains of what is computed are not followed: their ends are drawn.
const DEPTH: usize = 1000;

/// Entries of public nodes. What is not computed of constants stands for any number: it is one that is drawn, always
/// the same one for what is computed in the same way.
#[derive(Default)]
pub(in super::super) struct Values {
    seen: HashMap<(NodeId, u64), Value>,
    /// Of the chain that is being followed.
    depth: usize,
}

impl Values {
    pub(in super::super) fn of(&mut self, g: &Graph, mut id: NodeId, mut at: u64) -> Value {
        while let Some(from) = moved_from(g, id, at) {
            (id, at) = from;
        }
        if let Op::Const(table, ..) = g.op(id) {
            return Value::constant(Table::at(table, at as usize));
        }
        if let Some(&known) = self.seen.get(&(id, at)) {
            return known;
        }
        self.depth += 1;
        let value = if self.depth <= DEPTH {
            self.computed(g, id, at).unwrap_or_else(|| self.drawn(g, id, at))
        } else {
            Value::any(&Reason::Entry(id, at))
        };
        self.depth -= 1;
        self.seen.insert((id, at), value);
        value
    }

    fn drawn(&mut self, g: &Graph, id: NodeId, at: u64) -> Value {
        Value::any(&match g.op(id) {
            Op::Input(i) => Reason::Input(*i, at),
            op if op.is_pointwise() => {
                let of = |&x| self.of(g, x, aligned(g.shape(x), g.shape(id), at)).residue;
                Reason::Computed(op.key(), g.args(id).iter().map(of).collect())
            }
            _ => Reason::Entry(id, at),
        })
    }

    /// What is computed by rules that hold of all numbers, or of constants.
    fn computed(&mut self, g: &Graph, id: NodeId, at: u64) -> Option<Value> {
        let shape = g.shape(id);
        let mut operand = |i: usize| {
            let x = g.arg(id, i);
            self.of(g, x, aligned(g.shape(x), shape, at))
        };
        let decided = |a: Value, b: Value, f: fn(f64, f64) -> bool| {
            let bit = |(a, b)| Value::constant(f64::from(u8::from(f(a, b))));
            a.real.zip(b.real).map(bit)
        };
        Some(match g.op(id) {
            Op::Add => operand(0).with(operand(1), |a, b| a + b, |a, b| a + b),
            Op::Sub => operand(0).with(operand(1), |a, b| a - b, |a, b| a - b),
            Op::Mul | Op::And => operand(0).times(operand(1)),
            Op::Div => {
                let (a, b) = (operand(0), operand(1));
                match a.real.zip(b.real).map(|(a, b)| (domain::div(a, b), a / b)) {
                    // It is cut, also where it is by 0.
                    Some((cut, exact)) if cut != exact => Value::constant(cut),
                    _ if b.residue.is_zero() => return None,
                    _ => a.with(b, |a, b| a * b.inverse(), domain::div),
                }
            }
            Op::Neg => operand(0).times(Value::constant(-1.0)),
            Op::Scale(by) => operand(0).times(Value::constant(*by)),
            Op::Not => Value::constant(1.0).with(operand(0), |a, b| a - b, |a, b| a - b),
            Op::ToInt | Op::Trunc(_) | Op::Shift(_) => operand(0),
            Op::Lt => decided(operand(0), operand(1), |a, b| a < b)?,
            Op::Eq => decided(operand(0), operand(1), |a, b| a == b)?,
            Op::Xor => decided(operand(0), operand(1), |a, b| a != b)?,
            Op::Select => {
                let (c, a, b) = (operand(0), operand(1), operand(2));
                match c.real {
                    Some(0.0) => b,
                    Some(_) => a,
                    None => Value {
                        residue: b.residue + c.residue * (a.residue - b.residue),
                        real: None,
                    },
                }
            }
            Op::Sum(axes) => {
                let x = g.arg(id, 0);
                let of = summed(g.shape(x), axes, at);
                of.into_iter()
                    .map(|from| self.of(g, x, from))
                    .fold(Value::constant(0.0), |a, b| a.with(b, |a, b| a + b, |a, b| a + b))
            }
            _ => return None,
        })
    }
}
