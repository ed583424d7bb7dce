//! The messages of a proof, one after another. V1 and V2 know the coins, and V2 tells each to P once it has the message
//! that the coin is about.

use super::WRONG;
use super::scope::{Scope, Start};
use super::sides::{Slot, hash, joined};
use crate::party::engine::Engine;
use crate::party::error::RunError;
use crate::party::guard::Carries;
use crate::share::{Held, next, prev};
use slvr_circuit::ValueId;
use slvr_circuit::proof::{Barrier, HASH, Lengths};
use std::collections::BTreeMap;

/// A verifier tells a coin, and the other one its hash.
const OTHER_COIN: &str = "the verifiers told another coin than its hash says";

impl Engine<'_> {
    pub(super) fn prove(
        &mut self,
        number: usize,
        barrier: &Barrier,
        lengths: &Lengths,
        kept: &BTreeMap<ValueId, Held>,
        mut carries: Carries,
    ) -> Result<(), RunError> {
        let (after, before) = (next(self.me), prev(self.me));
        let mut got = Vec::new();
        if lengths.carries[before] > 0 {
            got = self.hear(before, 0, 8 * lengths.carries[before])?;
        }
        self.read_carries(barrier, &got, &mut carries)?;

        // The first coin. As V2 of the party before, and as V1 of the party after.
        let steps = lengths.steps();
        let (half_after, other) =
            (self.with_next(number, Slot::HalfAfter), self.with_next(number, Slot::HalfBefore));
        let told = joined(&half_after, &other);
        let coins_after: Vec<_> =
            (0..steps).map(|s| self.with_next(number, Slot::Coin(s))).collect();
        self.tell(before, 1, [half_after, hash(&other)].concat())?;
        let (other, half_before) =
            (self.with_prev(number, Slot::HalfAfter), self.with_prev(number, Slot::HalfBefore));
        let tells = joined(&other, &half_before);
        let coins_before: Vec<_> =
            (0..steps).map(|s| self.with_prev(number, Slot::Coin(s))).collect();
        let mut body = [half_before, hash(&other)].concat();
        // P needs no coin of the last step, after which it has nothing to say.
        coins_before.iter().take(steps - 1).for_each(|c| body.extend(hash(c)));
        self.tell(after, 1, body)?;
        // As P: V2 is the party after, V1 the one before.
        let from_after = self.hear(after, 1, 2 * HASH)?;
        let from_before = self.hear(before, 1, (1 + steps) * HASH)?;
        let piece = |x: &[u8], i: usize| -> [u8; HASH] {
            std::array::from_fn(|j| x.get(i * HASH + j).copied().unwrap_or(0))
        };
        let (half_v2, half_v1) = (piece(&from_after, 0), piece(&from_before, 0));
        if piece(&from_after, 1) != hash(&half_v1) || piece(&from_before, 1) != hash(&half_v2) {
            return Err(self.rejected_either(after, before, OTHER_COIN));
        }
        let seed = joined(&half_v2, &half_v1);

        // The vectors.
        let hide = self.hidden(number);
        let seeds = [&seed, &seed, &tells, &told];
        let (circuit, me, prss) = (self.party.circuit, self.me, self.party.prss.clone());
        let again = self.again();
        let picked = self.guard.as_ref().map(|guard| guard.picked.clone()).unwrap_or_default();
        let (picked, carries, prss) = (&*picked, &carries, &prss);
        let scope = Scope { circuit, me, barrier, kept, picked, carries, again: &again, prss };
        let carries = scope.all_carries();
        let scope = scope.with(&carries);
        let start = Start { scope: &scope, seeds, hide };
        let mut kinds = start.kinds(lengths);

        for step in 0..steps {
            let share = [
                self.with_prev(number, Slot::Share(step)),
                self.with_next(number, Slot::Share(step)),
            ];
            let mut body = Vec::new();
            kinds.iter_mut().for_each(|k| k.message(&scope, &share[0], &mut body));
            debug_assert_eq!(body.len(), lengths.step_bytes(step), "as predicted");
            self.tell(after, 2 + 2 * step, body)?;
            let coin = &coins_before[step];
            kinds.iter_mut().for_each(|k| k.fold_before(&scope, &share[1], coin));
            let last = step + 1 == steps;
            if last {
                // Nobody needs the last coin from this party. All that is left of V1's share goes to V2.
                let mut end = Vec::new();
                kinds.iter().for_each(|k| k.end(&mut end));
                self.tell(before, 3 + 2 * step, end)?;
            }
            let got = self.hear(before, 2 + 2 * step, lengths.step_bytes(step))?;
            if !last {
                self.tell(before, 3 + 2 * step, coins_after[step].to_vec())?;
            }
            let (rest, coin) = (&mut got.as_slice(), &coins_after[step]);
            if !kinds.iter_mut().all(|k| k.fold_after(&scope, rest, coin)) {
                return Err(self.rejected(before, "a message of its proof makes no sense"));
            }
            if last {
                break;
            }
            let coin = self.hear_coin(after, 3 + 2 * step)?;
            if piece(&from_before, 2 + step) != hash(&coin) {
                return Err(self.rejected_either(after, before, OTHER_COIN));
            }
            kinds.iter_mut().for_each(|k| k.prove(&scope, &coin));
        }

        let got = self.hear(after, 1 + 2 * steps, lengths.end_bytes())?;
        let rest = &mut got.as_slice();
        if !kinds.iter().all(|k| k.accepts(rest)) {
            // V1 has sent the end of it.
            return Err(self.rejected_either(before, after, WRONG));
        }
        self.verdict(2 + 2 * steps)
    }
}
