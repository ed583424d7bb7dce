//! A proof that is under way, one round after another. V1 and V2 know the coins, and V2 tells each to P once it has the
//! message that the coin is about.

use super::WRONG;
use super::scope::{OfKind, Scope, Start};
use super::sides::{Slot, hash, joined};
use crate::party::engine::Engine;
use crate::party::error::RunError;
use crate::party::guard::Carries;
use crate::share::{Held, next, prev};
use slvr_circuit::ValueId;
use slvr_circuit::proof::{HASH, Proof};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A verifier tells a coin, and the other one its hash.
const OTHER_COIN: &str = "the verifiers told another coin than its hash says";

/// A round of a proof.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Shares of carries are told, where that is a round.
    Carries,
    /// The verifiers tell the halves of the first coin.
    Start,
    /// The message of a step, and beside the last one the end of V1.
    Message(usize),
    /// The coin of a step.
    Coin(usize),
    Verdict,
    /// All have accepted.
    Ended,
}

/// A proof that has begun, in all three parts of a party.
pub(in crate::party) struct Proving {
    proof: Arc<Proof>,
    number: usize,
    turn: Turn,
    /// The shares of carries.
    carries: Carries,
    /// Numbers of the instructions that are there for the second time.
    again: Range<u64>,
    kinds: Vec<Box<dyn OfKind>>,
    /// What the party after this one and the one before it told in the round before.
    heard: [Vec<u8>; 2],
    /// What the verifiers know: as V1 of the party after this one, and as V2 of the one before it.
    known: [Known; 2],
    /// The hashes of all coins of which this party is P.
    hashes: Vec<[u8; HASH]>,
}

/// The coins of a prover, as its verifiers draw them.
#[derive(Default)]
struct Known {
    /// Of the coefficients.
    seed: [u8; HASH],
    /// Of the steps.
    coins: Vec<[u8; HASH]>,
}

impl Proving {
    /// The layer before which it begins.
    pub(super) fn layer(&self) -> u32 {
        self.proof.barrier.layer
    }

    pub(super) fn has_ended(&self) -> bool {
        self.turn == Turn::Ended
    }
}

fn piece(x: &[u8], i: usize) -> [u8; HASH] {
    std::array::from_fn(|j| x.get(i * HASH + j).copied().unwrap_or(0))
}

impl Engine<'_> {
    /// Begins a proof.
    pub(super) fn begin(&mut self, proof: &Arc<Proof>) -> Result<(), RunError> {
        if proof.lengths.is_empty() {
            return Ok(());
        }
        let number = self.proof_number();
        let again = self.again();
        let told = self.guard.as_mut().and_then(|guard| guard.carries.take());
        let (mut turn, mut heard) = (Turn::Start, [Vec::new(), Vec::new()]);
        let carries = match told {
            Some(carries) => {
                heard[1] = self.hear_carries(proof)?;
                carries
            }
            None if proof.lengths.rounds_of_carries() > 0 => {
                turn = Turn::Carries;
                Carries::default()
            }
            None => Carries::default(),
        };
        let (kinds, hashes, known) = (Vec::new(), Vec::new(), Default::default());
        let proof = proof.clone();
        let proving = Proving { proof, number, turn, carries, again, kinds, heard, known, hashes };
        if let Some(guard) = &mut self.guard {
            guard.under_way.push(proving);
        }
        Ok(())
    }

    fn hear_carries(&mut self, proof: &Proof) -> Result<Vec<u8>, RunError> {
        match proof.lengths.carries[prev(self.me)] {
            0 => Ok(Vec::new()),
            words => self.hear(prev(self.me), 0, 8 * words),
        }
    }

    /// What a party computes and tells in a round.
    pub(super) fn tell_turn(
        &mut self,
        proving: &mut Proving,
        kept: &BTreeMap<ValueId, Held>,
    ) -> Result<(), RunError> {
        let (after, before) = (next(self.me), prev(self.me));
        let number = proving.number;
        let proof = proving.proof.clone();
        let steps = proof.lengths.steps();
        match proving.turn {
            Turn::Carries => {
                let (carries, body) = self.carries(number, &proof.barrier, kept);
                proving.carries = carries;
                if !body.is_empty() {
                    self.tell(after, 0, body)?;
                }
            }
            Turn::Start => self.tell_halves(proving, steps)?,
            Turn::Message(step) => {
                if step == 0 {
                    self.make_vectors(proving, kept)?;
                }
                let share = [
                    self.with_prev(number, Slot::Share(step)),
                    self.with_next(number, Slot::Share(step)),
                ];
                let coin_before = proving.known[1].coins[step];
                let mut body = Vec::new();
                let heard = if step > 0 { Some(self.heard_coin(proving, step - 1)?) } else { None };
                self.with_scope(proving, kept, |kinds, scope| {
                    if let Some(coin) = &heard {
                        kinds.iter_mut().for_each(|k| k.prove(scope, coin));
                    }
                    kinds.iter_mut().for_each(|k| k.message(scope, &share[0], &mut body));
                });
                debug_assert_eq!(body.len(), proof.lengths.step_bytes(step), "as predicted");
                self.tell(after, 2 + 2 * step, body)?;
                self.with_scope(proving, kept, |kinds, scope| {
                    kinds.iter_mut().for_each(|k| k.fold_before(scope, &share[1], &coin_before));
                });
                if step == proof.lengths.steps_of_words() {
                    // Nothing reads words any more.
                    proving.carries = Carries::default();
                }
                if step + 1 == steps {
                    // All that is left of V1's share goes to V2.
                    let mut end = Vec::new();
                    proving.kinds.iter().for_each(|k| k.end(&mut end));
                    self.tell(before, 3 + 2 * step, end)?;
                }
            }
            Turn::Coin(step) => {
                let coin = proving.known[0].coins[step].to_vec();
                self.tell(before, 3 + 2 * step, coin)?;
                self.fold_after(proving, kept, step)?;
            }
            Turn::Verdict => {
                // Nobody needs the last coin from this party.
                self.fold_after(proving, kept, steps - 1)?;
                let rest = &mut proving.heard[0].as_slice();
                if !proving.kinds.iter().all(|k| k.accepts(rest)) {
                    // V1 has sent the end of it.
                    return Err(self.rejected_either(before, after, WRONG));
                }
                // Nobody opens anything before all have accepted.
                for peer in [after, before] {
                    self.tell(peer, 2 + 2 * steps, vec![1])?;
                }
            }
            Turn::Ended => {}
        }
        Ok(())
    }

    /// What a party hears in the same round.
    pub(super) fn hear_turn(&mut self, proving: &mut Proving) -> Result<(), RunError> {
        let (after, before) = (next(self.me), prev(self.me));
        let proof = proving.proof.clone();
        let lengths = &proof.lengths;
        let steps = lengths.steps();
        let [from_after, from_before] = &mut proving.heard;
        proving.turn = match proving.turn {
            Turn::Carries => {
                *from_before = self.hear_carries(&proof)?;
                Turn::Start
            }
            Turn::Start => {
                *from_after = self.hear(after, 1, 2 * HASH)?;
                *from_before = self.hear(before, 1, (1 + steps) * HASH)?;
                Turn::Message(0)
            }
            Turn::Message(step) => {
                *from_before = self.hear(before, 2 + 2 * step, lengths.step_bytes(step))?;
                if step + 1 < steps {
                    Turn::Coin(step)
                } else {
                    *from_after = self.hear(after, 1 + 2 * steps, lengths.end_bytes())?;
                    Turn::Verdict
                }
            }
            Turn::Coin(step) => {
                *from_after = self.hear(after, 3 + 2 * step, HASH)?;
                Turn::Message(step + 1)
            }
            Turn::Verdict => {
                for peer in [after, before] {
                    if self.hear(peer, 2 + 2 * steps, 1)? != [1] {
                        return Err(self.rejected(peer, "it does not say that it accepts"));
                    }
                }
                Turn::Ended
            }
            Turn::Ended => Turn::Ended,
        };
        Ok(())
    }

    /// Of the first coin, as V2 of the party before, and as V1 of the party after. With V1's half go the hashes of all
    /// coins but the last, after which P has nothing to say.
    fn tell_halves(&mut self, proving: &mut Proving, steps: usize) -> Result<(), RunError> {
        let (after, before) = (next(self.me), prev(self.me));
        let number = proving.number;
        let told = std::mem::take(&mut proving.heard[1]);
        self.read_carries(&proving.proof.barrier, &told, &mut proving.carries)?;
        let halves = [Slot::HalfAfter, Slot::HalfBefore];
        let with_next = halves.map(|slot| self.with_next(number, slot));
        let with_prev = halves.map(|slot| self.with_prev(number, slot));
        proving.known[0] = Known {
            seed: joined(&with_next[0], &with_next[1]),
            coins: (0..steps).map(|s| self.with_next(number, Slot::Coin(s))).collect(),
        };
        proving.known[1] = Known {
            seed: joined(&with_prev[0], &with_prev[1]),
            coins: (0..steps).map(|s| self.with_prev(number, Slot::Coin(s))).collect(),
        };
        self.tell(before, 1, [with_next[0], hash(&with_next[1])].concat())?;
        let mut body = [with_prev[1], hash(&with_prev[0])].concat();
        proving.known[1].coins[..steps - 1].iter().for_each(|coin| body.extend(hash(coin)));
        self.tell(after, 1, body)
    }

    /// What the sides begin with, once the halves of the first coin are known. As P, V2 is the party after, V1 the one
    /// before.
    fn make_vectors(
        &mut self,
        proving: &mut Proving,
        kept: &BTreeMap<ValueId, Held>,
    ) -> Result<(), RunError> {
        let number = proving.number;
        let [from_after, from_before] = &proving.heard;
        let (half_v2, half_v1) = (piece(from_after, 0), piece(from_before, 0));
        if piece(from_after, 1) != hash(&half_v1) || piece(from_before, 1) != hash(&half_v2) {
            return Err(self.rejected_either(next(self.me), prev(self.me), OTHER_COIN));
        }
        proving.hashes = (2..from_before.len() / HASH).map(|i| piece(from_before, i)).collect();
        let seed = joined(&half_v2, &half_v1);
        let [told, tells] = [0, 1].map(|i: usize| proving.known[i].seed);
        let hide = self.hidden(number);
        proving.carries = self.with_scope(proving, kept, |_, scope| scope.all_carries());
        let lengths = proving.proof.clone();
        proving.kinds = self.with_scope(proving, kept, |_, scope| {
            Start { scope, seeds: [&seed, &seed, &tells, &told], hide }.kinds(&lengths.lengths)
        });
        Ok(())
    }

    /// The coin of a step that V2 has told, if it is the one of V1.
    fn heard_coin(&self, proving: &Proving, step: usize) -> Result<[u8; HASH], RunError> {
        let coin = piece(&proving.heard[0], 0);
        if proving.hashes.get(step) != Some(&hash(&coin)) {
            return Err(self.rejected_either(next(self.me), prev(self.me), OTHER_COIN));
        }
        Ok(coin)
    }

    /// Takes in the message of a step as V2.
    fn fold_after(
        &mut self,
        proving: &mut Proving,
        kept: &BTreeMap<ValueId, Held>,
        step: usize,
    ) -> Result<(), RunError> {
        let got = std::mem::take(&mut proving.heard[1]);
        let coin = proving.known[0].coins[step];
        let folded = self.with_scope(proving, kept, |kinds, scope| {
            let rest = &mut got.as_slice();
            kinds.iter_mut().all(|k| k.fold_after(scope, rest, &coin))
        });
        if !folded {
            return Err(self.rejected(prev(self.me), "a message of its proof makes no sense"));
        }
        Ok(())
    }

    /// What is done with what a party sees of the statements.
    fn with_scope<R>(
        &self,
        proving: &mut Proving,
        kept: &BTreeMap<ValueId, Held>,
        done: impl FnOnce(&mut [Box<dyn OfKind>], &Scope<'_>) -> R,
    ) -> R {
        let picked = self.guard.as_ref().map(|guard| guard.picked.clone()).unwrap_or_default();
        let Proving { proof, carries, again, kinds, .. } = proving;
        let scope = Scope {
            circuit: self.party.circuit,
            me: self.me,
            barrier: &proof.barrier,
            kept,
            picked: &picked,
            carries,
            again,
            prss: &self.party.prss,
        };
        done(kinds, &scope)
    }
}
