//! Which statements are proven at which barrier, and which circuits have none for all they do.

use super::carries::{self, Carries};
use super::claim::{Claim, Cut, Statement};
use super::index::BarrierSearch;
use super::unproven::{Source, Unproven, WIDE_PRODUCT};
use crate::{Circuit, Dom, Instr, Layer, Op, ValueId};
use std::collections::BTreeMap;

/// A proof of what was sent since the barrier before it, but for what is about values that are made later and that
/// nothing depends on that the layer opens. It stands before the layer's exchange. Where layers are repeated
/// ([`Speculation`](crate::speculation::Speculation)), their proofs are given again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// The layer that opens something, or in which a proof was asked for.
    pub layer: u32,
    /// Whether the parties wait for it, and for all that began before it, before they send what the layer sends. All
    /// that open something are waited for, and the last one.
    pub waits: bool,
    /// What is proven, in the order of the instructions.
    pub statements: Vec<Statement>,
    /// The replicated words of whose split statements take carries, ascending.
    pub carries: BTreeMap<Cut, Carries>,
    /// Whether all parties know the words whose carries are told before they send what the layer before sends, so that
    /// shares of carries travel beside that.
    pub early: bool,
}

/// The barriers of a well-formed circuit, in order. What is sent after the last one is opened to nobody.
///
/// # Errors
///
/// An instruction, or an operand of one, that has no statement, or one whose statement comes too late.
pub fn barriers(circuit: &Circuit) -> Result<Vec<Barrier>, Unproven> {
    let search = BarrierSearch::of(circuit)?;
    let proofs = search.proofs()?;
    let Assigned { statements, sent, unproven } = search.assign(&proofs)?;
    search.check_openings(&proofs, &statements, &sent)?;
    match proofs.last() {
        // No proof comes after the last one.
        Some(&last) if unproven.is_some_and(|l| l < last) => {
            Err(Unproven::Late { layer: last as usize })
        }
        _ => {
            let all = proofs.into_iter().zip(statements);
            let mut all: Vec<Barrier> =
                all.map(|(l, statements)| search.barrier(l, statements)).collect();
            if let Some(last) = all.last_mut() {
                last.waits = true;
            }
            Ok(all)
        }
    }
}

/// Which proof is about what.
struct Assigned {
    /// Of each proof.
    statements: Vec<Vec<Statement>>,
    /// Of each value that a message makes: the number of the message's proof, and its place there.
    sent: Vec<Option<(usize, usize)>>,
    /// Of messages that no proof is about, the first layer.
    unproven: Option<u32>,
}

/// Whether a proof stands before a layer that is waited for.
fn is_waited_for(layer: &Layer) -> bool {
    openings(layer).next().is_some() || layer.local.iter().any(|i| i.op == Op::Prove)
}

/// What a layer opens.
fn openings(layer: &Layer) -> impl Iterator<Item = &Instr> {
    layer.exchange.iter().filter(|i| i.op.interaction().is_some_and(|row| row.reveals()))
}

impl BarrierSearch<'_> {
    /// The statements of each proof, in the order of the instructions.
    fn assign(&self, proofs: &[u32]) -> Result<Assigned, Unproven> {
        let statements = vec![Vec::new(); proofs.len()];
        let sent = vec![None; self.circuit.types.len()];
        let mut all = Assigned { statements, sent, unproven: None };
        let mut number = 0;
        for (l, layer) in self.circuit.layers.iter().enumerate() {
            number += layer.local.len() as u64;
            for (instr, number) in layer.exchange.iter().zip(number..) {
                let statement = self.statement(l, number, instr)?;
                if let Some((s, made)) = statement.zip(instr.out) {
                    self.assign_statement(s, made, proofs, &mut all);
                }
            }
            number += layer.exchange.len() as u64;
        }
        Ok(all)
    }

    /// Gives the statement of a message, which makes a value, to a proof.
    fn assign_statement(&self, s: Statement, made: ValueId, proofs: &[u32], all: &mut Assigned) {
        // What is about values that are only made later waits for the first proof after these.
        let ready = self.last_layer_of(&s);
        let n = proofs.partition_point(|&at| at <= ready);
        let place = all.statements.get(n).map_or(0, Vec::len);
        let messages = [Some(made), s.claim.parted().map(|p| p.input)].into_iter().flatten();
        // What is input may have another statement, of another opening. The first proof of both is about it.
        for v in messages.clone() {
            if let Some(at) = all.sent.get_mut(v.index()) {
                *at = Some(at.map_or((n, place), |at| at.min((n, place))));
            }
        }
        match all.statements.get_mut(n) {
            Some(of) => of.push(s),
            None => {
                // What is input may have been sent in an earlier layer.
                let layers = messages.filter_map(|v| self.layer_of(v));
                let first = layers.fold(s.layer, u32::min);
                all.unproven = Some(all.unproven.map_or(first, |l| l.min(first)));
            }
        }
    }

    /// The layers before which a proof stands.
    fn proofs(&self) -> Result<Vec<u32>, Unproven> {
        let circuit = self.circuit;
        let repeated = &self.repeated;
        // What a run decides on is opened, so that a proof stands before the layer after which it decides.
        let named = repeated.iter().flat_map(|r| &r.checks);
        for check in named.filter_map(|&c| circuit.checks.get(c)) {
            if !matches!(self.op(check.value), Some(Op::Open(_))) {
                return Err(Unproven::Check { value: check.value.0 });
            }
        }
        let mut out = Vec::new();
        for (l, layer) in circuit.layers.iter().enumerate() {
            // Words that are kept for the next run may be sent after the last barrier.
            if let Some(i) = layer.local.iter().find(|i| matches!(i.op, Op::Keep { .. })) {
                let of = Source::of(circuit, i);
                return Err(Unproven::Instruction { layer: l, op: i.op.name(), of });
            }
            if is_waited_for(layer) || layer.local.iter().any(|i| i.op == Op::BeginProof) {
                let opens = openings(layer).next().is_some();
                if opens && repeated.as_ref().is_some_and(|r| r.covers(l) && l != r.last) {
                    return Err(Unproven::Speculation { layer: l });
                }
                out.push(l as u32);
            }
        }
        Ok(out)
    }

    /// The last layer that a statement waits for: the one of its message, or a later one in which something is computed
    /// or received that it is about.
    fn last_layer_of(&self, s: &Statement) -> u32 {
        let mut last = s.layer;
        let mut see = |v: ValueId| last = last.max(self.layer_of(v).unwrap_or(0));
        see(s.out);
        s.claim.values(&mut see);
        last
    }

    /// Refuses an opening that depends on a message which is not proven by then: because what is opened is made of it,
    /// or of a message whose statement is about it. What an earlier opening depends on is proven, and is not followed
    /// again.
    fn check_openings(
        &self,
        proofs: &[u32],
        statements: &[Vec<Statement>],
        sent: &[Option<(usize, usize)>],
    ) -> Result<(), Unproven> {
        let mut seen = vec![false; self.circuit.types.len()];
        for (n, &l) in proofs.iter().enumerate() {
            let opens = self.circuit.layers.get(l as usize).into_iter().flat_map(openings);
            let mut left: Vec<ValueId> = opens.flat_map(|i| i.op.operands()).collect();
            while let Some(v) = left.pop() {
                if std::mem::replace(&mut seen[v.index()], true) {
                    continue;
                }
                self.op(v).into_iter().for_each(|op| op.values(&mut |v| left.push(v)));
                let Some((proof, place)) = sent[v.index()] else { continue };
                if proof > n {
                    return Err(Unproven::Late { layer: l as usize });
                }
                let s = &statements[proof][place];
                left.push(s.out);
                s.claim.values(&mut |v| left.push(v));
            }
        }
        Ok(())
    }

    fn barrier(&self, layer: u32, mut statements: Vec<Statement>) -> Barrier {
        let carries = carries::carries(&mut statements, &|v| self.circuit.ty(v).bits());
        let told = carries.iter().filter(|(_, of)| !of.told.is_empty());
        let waits = self.circuit.layers.get(layer as usize).is_some_and(is_waited_for);
        let early = waits && self.is_early(layer, told.map(|(cut, _)| cut.x));
        Barrier { layer, waits, statements, carries, early }
    }

    /// Whether all these values are made before the layer before, and that one sends something, opens nothing but coins
    /// and is repeated wherever the barrier is.
    fn is_early(&self, layer: u32, mut values: impl Iterator<Item = ValueId>) -> bool {
        let Some(before) = layer.checked_sub(1).map(|l| l as usize) else { return false };
        let sends = self
            .circuit
            .layers
            .get(before)
            .is_some_and(|of| !of.exchange.is_empty() && openings(of).next().is_none());
        let covers = |l: usize| self.repeated.as_ref().is_some_and(|r| r.covers(l));
        let is_there = |v: ValueId| self.layer_of(v).is_none_or(|l| (l as usize) < before);
        sends && covers(before) == covers(layer as usize) && values.all(is_there)
    }

    fn statement(
        &self,
        layer: usize,
        number: u64,
        instr: &Instr,
    ) -> Result<Option<Statement>, Unproven> {
        let (op, of) = (instr.op.name(), Source::of(self.circuit, instr));
        let refuse = |what| Unproven::Operand { layer, op, what, of };
        let unproven = Unproven::Instruction { layer, op, of };
        let claim = self.claim(instr).map_err(|what| what.map_or(unproven, refuse))?;
        let Some(claim) = claim else { return Ok(None) };
        let Some(out) = instr.out else { return Ok(None) };
        let out = match instr.op {
            // With the mask it is a replicated value, of which both of the two hold what they need.
            Op::OpenMasked { .. } => {
                self.split_value_of_dup(out).ok_or_else(|| refuse("opened and never joined"))?
            }
            _ => out,
        };
        // A reshare is about whole components, and its operand is not cut.
        let groups = instr.op.operands().first().map_or(0, |&x| self.circuit.ty(x).groups);
        let made =
            Statement { instr: number, layer: layer as u32, out, groups, claim, found: Vec::new() };
        let long = matches!(made.claim, Claim::MatMul { .. } | Claim::Conv { .. });
        if long && self.circuit.ty(out).dom == Dom::Ring(128) {
            return Err(refuse(WIDE_PRODUCT));
        }
        Ok(Some(made))
    }

    /// What is claimed of a message; nothing of one that others vouch for, or that another statement is about.
    ///
    /// # Errors
    ///
    /// What its operand is, if there is no statement about that; nothing if there is none about such a message.
    fn claim(&self, instr: &Instr) -> Result<Option<Claim>, Option<&'static str>> {
        let claim = match instr.op {
            Op::Reshare(z) => self.reshared_claim(z)?,
            Op::OpenMasked { x, .. } if self.sum_of_words(x).is_some() => self.parted_claim(x)?,
            Op::ReshareTwo(z) | Op::OpenMasked { x: z, .. } => self.exchanged_claim(z)?,
            // Its statement is that of the words of the others.
            Op::Input(a) if self.is_parted(a, instr.out) => return Ok(None),
            Op::Input(a) if self.is_owners_word(a) => {
                let what =
                    "a word of a sum, which is input twice, or of which the others open nothing";
                return Err(Some(what));
            }
            Op::Input(a) => Claim::Input(self.input_claim(a)?),
            // Both holders of each component vouch for it.
            Op::Open(_) | Op::Coin => return Ok(None),
            Op::OpenTo { x, .. } => match self.op(x) {
                Some(Op::AsAdd3(r)) if self.is_reshared(*r) => return Ok(None),
                _ => return Err(Some("words that two parties do not both hold")),
            },
            _ => return Err(None),
        };
        Ok(Some(claim))
    }

    /// Whether its three words are uniform but for their sum, and two parties hold each: the result of a `reshare`, in
    /// any shape.
    fn is_reshared(&self, mut x: ValueId) -> bool {
        while let Some((Op::Reshape(..), y)) = self.followed(x) {
            x = y;
        }
        matches!(self.op(x), Some(Op::Reshare(_)))
    }
}
