//! Which statements are proven at which barrier, and which circuits have none for all they do.

use super::claim::{Bits, Claim, Own, Statement, Term};
use crate::{Circuit, Dom, Hold, Instr, Op, ValueId};
use std::collections::BTreeMap;
use thiserror::Error;

/// A proof of everything since the barrier before it. It stands before the layer's exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// The layer that opens something.
    pub layer: u32,
    /// What is proven, in the order of the instructions.
    pub statements: Vec<Statement>,
    /// The replicated words of whose split parties share carries, ascending, and how many.
    pub carries: BTreeMap<ValueId, u32>,
}

/// Why a circuit cannot run against a malicious party: nothing would notice what a party does there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unproven {
    /// An instruction without a statement.
    #[error("layer {layer}: `{op}` has no proof against a malicious party{}", at(line))]
    Instruction {
        /// In which layer.
        layer: usize,
        /// Its name.
        op: &'static str,
        /// Source line, 0 if there is none.
        line: u32,
    },
    /// An instruction whose operand is computed in a way that has no statement.
    #[error(
        "layer {layer}: no proof says of `{op}` that its operand, {what}, is right{}",
        at(line)
    )]
    Operand {
        /// In which layer.
        layer: usize,
        /// Its name.
        op: &'static str,
        /// What the operand is.
        what: &'static str,
        /// Source line, 0 if there is none.
        line: u32,
    },
    /// A circuit that computes before it is known whose inputs count.
    #[error(
        "layer {layer}: against a malicious party nothing is computed before it is known whose inputs count"
    )]
    Speculation {
        /// In which layer.
        layer: usize,
    },
    /// A circuit with so many proofs, or so long ones, that a false one is too likely to pass.
    #[error(
        "one of its {barriers} proofs may be false and pass with probability 2^{log2}, more than 2^{MOST_ERROR_LOG2}: \
         open less, or at fewer times"
    )]
    Weak {
        /// How many proofs each party gives.
        barriers: usize,
        /// Logarithm of the bound, rounded up.
        log2: i32,
    },
}

/// Logarithm of the largest probability with which a false proof may pass in a run.
pub const MOST_ERROR_LOG2: i32 = -40;

/// `, line 7`.
fn at(line: &u32) -> String {
    if *line == 0 { String::new() } else { format!(" (line {line})") }
}

/// The barriers of a well-formed circuit, in order. What is sent after the last one is opened to nobody.
///
/// # Errors
///
/// An instruction, or an operand of one, that has no statement.
pub fn barriers(circuit: &Circuit) -> Result<Vec<Barrier>, Unproven> {
    let mut defs: Vec<Option<&Op>> = vec![None; circuit.types.len()];
    for i in circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange)) {
        if let Some(place) = i.out.and_then(|v| defs.get_mut(v.index())) {
            *place = Some(&i.op);
        }
    }
    let find = Find { circuit, defs };
    let mut out = Vec::new();
    let mut statements = Vec::new();
    let mut number = 0;
    for (l, layer) in circuit.layers.iter().enumerate() {
        if layer.local.iter().any(|i| matches!(i.op, Op::Admitted { .. })) {
            return Err(Unproven::Speculation { layer: l });
        }
        // Words that are kept for the next run may be sent after the last barrier.
        if let Some(i) = layer.local.iter().find(|i| matches!(i.op, Op::Keep { .. })) {
            let line = circuit.sites.get(i.site as usize).map_or(0, |s| s.line);
            return Err(Unproven::Instruction { layer: l, op: i.op.name(), line });
        }
        let opens = |i: &Instr| i.op.interaction().is_some_and(|row| row.reveals());
        if layer.exchange.iter().any(opens) {
            out.push(find.barrier(l as u32, std::mem::take(&mut statements)));
        }
        number += layer.local.len() as u64;
        for instr in &layer.exchange {
            statements.extend(find.statement(l, number, instr)?);
            number += 1;
        }
    }
    Ok(out)
}

struct Find<'a> {
    circuit: &'a Circuit,
    defs: Vec<Option<&'a Op>>,
}

impl<'a> Find<'a> {
    fn op(&self, v: ValueId) -> Option<&'a Op> {
        self.defs.get(v.index()).copied().flatten()
    }

    fn holds(&self, v: ValueId, hold: Hold) -> bool {
        self.circuit.ty(v).hold == hold
    }

    fn barrier(&self, layer: u32, statements: Vec<Statement>) -> Barrier {
        let mut carries = BTreeMap::new();
        for s in &statements {
            s.claim.carries(&|v| self.circuit.ty(v).bits(), &mut |x, n| {
                let most = carries.entry(x).or_insert(0);
                *most = n.max(*most);
            });
        }
        carries.retain(|_, n| *n > 0);
        Barrier { layer, statements, carries }
    }

    fn statement(
        &self,
        layer: usize,
        number: u64,
        instr: &Instr,
    ) -> Result<Option<Statement>, Unproven> {
        let line = self.circuit.sites.get(instr.site as usize).map_or(0, |s| s.line);
        let op = instr.op.name();
        let refuse = |what| Unproven::Operand { layer, op, what, line };
        let claim = match &instr.op {
            Op::Reshare(z) => self.additive(*z).map_err(refuse)?,
            Op::ReshareTwo(z) => self.exchanged(*z).map_err(refuse)?,
            Op::Input(a) => Claim::Input(self.own(*a, layer).map_err(refuse)?),
            // Both holders of each component vouch for it.
            Op::Open(_) | Op::Coin => return Ok(None),
            Op::OpenTo { x, .. } => {
                return match self.op(*x) {
                    Some(Op::AsAdd3(r)) if matches!(self.op(*r), Some(Op::Reshare(_))) => Ok(None),
                    _ => Err(refuse("words that two parties do not both hold")),
                };
            }
            _ => return Err(Unproven::Instruction { layer, op, line }),
        };
        let Some(out) = instr.out else { return Ok(None) };
        let made = Statement { instr: number, layer: layer as u32, out, claim };
        let long = matches!(made.claim, Claim::MatMul { .. } | Claim::Conv { .. });
        if long && self.circuit.ty(out).dom == Dom::Ring(128) {
            return Err(refuse("a product of matrices of words of 128 bits"));
        }
        Ok(Some(made))
    }

    /// What a reshared value is made of.
    fn additive(&self, z: ValueId) -> Result<Claim, &'static str> {
        let rep = |v: &ValueId| self.holds(*v, Hold::Rep);
        match self.op(z) {
            Some(&Op::MatMul { a, b, trans_b }) if rep(&a) && rep(&b) => {
                return Ok(Claim::MatMul { a, b, trans_b });
            }
            Some(&Op::Conv2d { x, w, conv }) if rep(&x) && rep(&w) && conv.groups == 1 => {
                return Ok(Claim::Conv { x, w, conv });
            }
            _ => {}
        }
        let (mut terms, mut plus) = (Vec::new(), Vec::new());
        let mut left = vec![z];
        while let Some(v) = left.pop() {
            if self.circuit.ty(v).shape != self.circuit.ty(z).shape {
                return Err("a sum with repeated axes");
            }
            match self.op(v) {
                _ if rep(&v) => plus.push(v),
                Some(Op::Mul(x, y)) if rep(x) && rep(y) => terms.push(self.term(z, *x, *y)),
                Some(Op::AsAdd3(x)) if rep(x) => plus.push(*x),
                Some(Op::Add(x, y)) => left.extend([*y, *x]),
                _ => {
                    return Err(
                        "neither a product of replicated values nor a sum of such products",
                    );
                }
            }
        }
        Ok(Claim::Products { terms, plus })
    }

    /// What two parties reshare: products of replicated values, as these two hold them, with what they know.
    fn exchanged(&self, z: ValueId) -> Result<Claim, &'static str> {
        let same = |v: ValueId| {
            let (ty, to) = (self.circuit.ty(v), self.circuit.ty(z));
            ty.shape == to.shape && ty.dom == to.dom && ty.groups == 0 && to.groups == 0
        };
        let mut terms = Vec::new();
        let mut left = vec![z];
        while let Some(v) = left.pop() {
            if !same(v) {
                return Err("a sum with repeated axes");
            }
            match self.op(v) {
                Some(Op::Add(x, y)) => left.extend([*y, *x]),
                Some(Op::Mul(x, y)) => match (self.op(*x), self.op(*y)) {
                    (Some(&Op::AsAdd2(x)), Some(&Op::Dup(y)))
                        if self.holds(x, Hold::Rep) && same(x) && same(y) && self.is_dup(y) =>
                    {
                        terms.push(Term { x, y, dup: true });
                    }
                    _ => return Err("a product of other than replicated values with what two know"),
                },
                _ => return Err("neither a product with what two parties know nor a sum of such products"),
            }
        }
        Ok(Claim::Exchange { terms })
    }

    fn term(&self, product: ValueId, x: ValueId, y: ValueId) -> Term {
        let shape = &self.circuit.ty(product).shape;
        let dup = |v: ValueId| self.circuit.ty(v).shape == *shape && self.is_dup(v);
        match (dup(x), dup(y)) {
            (_, true) => Term { x, y, dup: true },
            (true, false) => Term { x: y, y: x, dup: true },
            (false, false) => Term { x, y, dup: false },
        }
    }

    /// Whether a replicated value is what two parties know, so that its other components are 0.
    fn is_dup(&self, v: ValueId) -> bool {
        match self.op(v) {
            Some(Op::Trivial(x)) => {
                let ty = self.circuit.ty(*x);
                ty.hold == Hold::Dup && ty.groups == 0
            }
            Some(Op::Planes { x, .. } | Op::SelectPlanes(x, _) | Op::Scale(x, _) | Op::Neg(x)) => {
                self.is_dup(*x)
            }
            _ => false,
        }
    }

    /// What an owner computes.
    fn own(&self, a: ValueId, layer: usize) -> Result<Own, &'static str> {
        if let Some(Op::Thermometer { x, blocks }) = self.op(a) {
            return Ok(Own::Thermometer(self.bits(*x)?, blocks.clone()));
        }
        if self.circuit.ty(a).dom.is_bits() {
            return Ok(Own::Bits(self.bits(a)?));
        }
        match self.op(a) {
            Some(Op::FromBits(b, _)) if self.circuit.ty(*b).bits() == 1 => {
                Ok(Own::Word(self.bits(*b)?))
            }
            Some(Op::Mul(u, x)) => {
                let Some(Op::Own(x)) = self.op(*x) else { return Err("a product of an owner") };
                // The owner inputs this factor by itself, too.
                let same = |i: &&Instr| i.op == Op::Input(*u);
                let all = self.circuit.layers.iter().take(layer + 1).flat_map(|l| &l.exchange);
                match all.filter(same).find_map(|i| i.out) {
                    Some(u) => Ok(Own::Times { u, x: *x }),
                    None => Err("a product with a factor that is not input by itself"),
                }
            }
            _ => self.high(a),
        }
    }

    /// The high bits of a part of a split.
    fn high(&self, a: ValueId) -> Result<Own, &'static str> {
        match self.op(a) {
            Some(Op::Extend(b, _)) => self.high(*b),
            Some(Op::Shr(b, shift)) => match self.op(*b) {
                Some(Op::Own(x)) if *shift < self.circuit.ty(*x).bits() => {
                    Ok(Own::High { x: *x, shift: *shift })
                }
                _ => Err("a shift of more than a part of a split"),
            },
            Some(Op::Own(x)) => Ok(Own::High { x: *x, shift: 0 }),
            _ => Err("a function that an owner computes by itself"),
        }
    }

    /// The value whose low bits a narrower one is, all of them with the same carries.
    fn whole(&self, x: ValueId) -> ValueId {
        match self.op(x) {
            Some(Op::Narrow(y, _)) if self.holds(*y, Hold::Rep) => self.whole(*y),
            _ => x,
        }
    }

    fn bits(&self, a: ValueId) -> Result<Bits, &'static str> {
        let width = |v: &ValueId| self.circuit.ty(*v).bits();
        match self.op(a) {
            Some(Op::Own(x)) => Ok(Bits::Part(*x)),
            Some(Op::ToBits { x, lo, w }) => match self.op(*x) {
                Some(Op::Own(x)) if lo + w <= width(x) => {
                    Ok(Bits::OfWord { x: self.whole(*x), lo: *lo, w: *w })
                }
                _ => Err("bits of more than a part of a split"),
            },
            Some(Op::Not(b)) => Ok(Bits::Not(Box::new(self.bits(*b)?))),
            Some(Op::Planes { x, start, step, count }) => {
                let planes = (0..*count).map(|i| start + step * i).collect();
                Ok(Bits::Select(Box::new(self.bits(*x)?), planes))
            }
            Some(Op::SelectPlanes(x, planes)) => {
                Ok(Bits::Select(Box::new(self.bits(*x)?), planes.clone()))
            }
            _ => Err("bits that an owner computes by itself"),
        }
    }
}
