//! Going back: a party computes as if all clients passed their checks, and again if one did not
//! ([`slvr_circuit::speculation`]).

use super::engine::{Attempt, Engine};
use crate::clear::admitted;
use crate::link::Header;
use crate::share::Held;
use slvr_circuit::Instr;
use slvr_circuit::speculation::{Gated, Speculation};
use std::collections::BTreeSet;
use std::ops::Range;

impl Engine<'_> {
    /// The value of an `admitted`.
    pub(super) fn assumed(&self, check: u32, members: u64) -> Held {
        let bits = self.attempt.bits.get(check as usize).map(|(_, bits)| bits.as_slice());
        Held::one(admitted(bits, members))
    }

    /// What a product with outcomes of checks is if all clients passed: its other factor. None if one did
    /// not, or if it is no such product.
    pub(super) fn kept(&self, gated: Option<Gated>) -> Option<Held> {
        let Gated { x, by } = gated?;
        self.regs.one(by).is_ones().then(|| self.regs.get(x).clone())
    }

    /// Whether an instruction of an exchange would open bits of a check once more. The parties know them, and open nothing in
    /// a repetition.
    pub(super) fn knows(&self, instr: &Instr) -> bool {
        let speculation = || Speculation::of(self.party.circuit);
        let opens = instr.op.interaction().is_some_and(|i| i.reveals());
        self.attempt.repeating
            && opens
            && speculation().is_some_and(|s| s.opens(self.party.circuit, instr))
    }

    /// Defines bits of a check as they were opened the first time.
    pub(super) fn recall(&mut self, instr: &Instr) {
        let Some(v) = instr.out else { return };
        let checks = (0..).zip(&self.party.circuit.checks);
        let check = checks.filter(|(_, c)| c.value == v).map(|(i, _)| i).next();
        let members = self.party.circuit.ty(v).elements();
        if let Some(check) = check {
            self.define(v, self.assumed(check, members));
        }
    }

    /// The number of a layer in frames. Differs when it is repeated: a peer that does not go back is
    /// found at its next frame in these layers, if they have one.
    pub(super) fn on_wire(&self, layer: u32) -> u32 {
        if self.attempt.repeating { layer | Header::REPEATED } else { layer }
    }

    /// The numbers of the instructions of the layers that are repeated, once they are: their streams are others.
    pub(super) fn again(&self) -> Range<u64> {
        let circuit = self.party.circuit;
        let speculation = self.guard.as_ref().and_then(|guard| guard.speculation.as_ref());
        let Some(speculation) = speculation.filter(|_| self.attempt.again_from.is_some()) else {
            return 0..0;
        };
        let before = |l: usize| -> u64 {
            let layers = circuit.layers.iter().take(l);
            layers.map(|layer| (layer.local.len() + layer.exchange.len()) as u64).sum()
        };
        before(speculation.first)..before(speculation.last + 1)
    }

    /// After the last layer that may be repeated: whether a client failed, for the first time. Then
    /// everything that these layers made is forgotten: a repetition takes no more memory, but for copies of what is gated, than the first
    /// time, except that what the first layer received while it was at work is there from its start.
    pub(super) fn goes_back(&mut self, speculation: &Speculation) -> bool {
        if std::mem::take(&mut self.attempt.repeating) || !speculation.repeats(&self.admitted) {
            return false;
        }
        let made: BTreeSet<_> = speculation.made(self.party.circuit).collect();
        made.iter().for_each(|&v| self.regs.drop(v));
        for x in self.guard.iter_mut().flat_map(|guard| guard.go_back(speculation.first, &made)) {
            self.regs.forget(x);
        }
        if let Some(t) = self.party.transcript.as_deref_mut() {
            t.forget(&made);
        }
        let bits = self.admitted.clone();
        self.attempt = Attempt { again_from: Some(speculation.first), bits, repeating: true };
        true
    }
}
