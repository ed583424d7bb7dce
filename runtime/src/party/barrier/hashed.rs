//! A proof whose coins come from a hash (Fiat and Shamir 1986; among verifiers that each hold a part, Boneh et al. 2019):
//! P finds them itself and says everything at once.
//!
//! **Coins.** The first one, from which the coefficients are drawn, is a hash of all that the two verifiers hold of the
//! statements and that P has had a hand in: h1 of P's first components, which V1 holds, and h2 of its second ones, which
//! V2 holds, with V2's shares of the carries. The coin of a step is a hash of the one before and of h2 of V2's share of
//! the polynomial. V1's shares come from a stream, so P cannot choose them. P tells h1 to V2 and each h2 to V1. Each
//! verifier finds its own by itself, and V1 tells V2 a hash of all that it has found and heard: they go on with the same
//! coins, or V2 rejects.
//!
//! **What a hash says.** Nothing: each begins with a word that only P and the verifier know whose part it is about.
//!
//! **Which proof.** Each first hash also has the circuit, its public inputs, the run, the prover and the barrier, so that
//! no proof is one of another place. And P cannot begin before the run: the nonce of the hash of V1's part is of a seed
//! that V1 has drawn.
//!
//! **Grinding.** P may try as many messages as it can hash, before it sends any. So the rings have twice the degree
//! ([`Doubled`]), and [`Shape::error`] counts every try.

use super::WRONG;
use super::scope::{Scope, Start};
use super::sides::{Doubled, Parts, Slot};
use crate::party::engine::Engine;
use crate::party::error::RunError;
use crate::party::guard::Carries;
use crate::protocol::complement;
use crate::share::{Held, next, prev};
use slvr_circuit::proof::{Barrier, HASH, Shape};
use slvr_circuit::{Lanes, ValueId};
use slvr_ring::Data;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What one of the verifiers holds of the statements.
fn held<'a>(
    context: &[u8],
    nonce: &[u8; HASH],
    parts: impl Iterator<Item = Cow<'a, Data>>,
    carries: &[u8],
) -> [u8; HASH] {
    let mut hasher = blake3::Hasher::new_derive_key("slvr 2026 what a verifier holds");
    hasher.update(&(context.len() as u64).to_le_bytes()).update(context).update(nonce);
    let mut bytes = Vec::new();
    for part in parts {
        bytes.clear();
        part.to_wire(&mut bytes);
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    hasher.update(carries);
    *hasher.finalize().as_bytes()
}

/// A component of a value. Of what two parties know the one that is not 0: the first one in the shard of the party after this one,
/// the second one in the shard of the party before it.
fn component(held: &Held, lanes: Lanes, me: usize, second: bool) -> Cow<'_, Data> {
    match held {
        Held::Rep(x) => Cow::Borrowed(if second { &*x.second } else { &*x.first }),
        Held::One(x) => {
            let (before, after) = complement(lanes, me);
            Cow::Owned(x.slice(if second { before } else { after }))
        }
    }
}

/// V2's share of the polynomials of a step.
fn share(nonce: &[u8; HASH], step: usize, body: &[u8]) -> [u8; HASH] {
    let mut hasher = blake3::Hasher::new_derive_key("slvr 2026 share of a polynomial");
    hasher.update(nonce).update(&(step as u64).to_le_bytes()).update(body);
    *hasher.finalize().as_bytes()
}

/// The coin after the last one and a hash.
fn coin(last: &[u8; HASH], by: &[u8; HASH]) -> [u8; HASH] {
    blake3::derive_key("slvr 2026 coin from a hash", &[&last[..], by].concat())
}

/// What the verifiers must agree on.
fn all(hashes: &[[u8; HASH]]) -> [u8; HASH] {
    blake3::derive_key("slvr 2026 hashes of a proof", &hashes.concat())
}

/// The values of all statements.
fn values(barrier: &Barrier) -> BTreeSet<ValueId> {
    let mut out = BTreeSet::new();
    for s in &barrier.statements {
        out.insert(s.out);
        s.claim.values(&mut |v| {
            out.insert(v);
        });
    }
    out.extend(barrier.carries.keys().map(|cut| cut.x));
    out
}

impl Engine<'_> {
    /// Whose proof this is, before which layer of which run of what.
    fn place(&self, prover: usize, number: usize) -> Vec<u8> {
        let place = [prover as u64, number as u64].map(u64::to_le_bytes);
        [&self.hello[..], place.as_flattened()].concat()
    }

    pub(super) fn prove_hashed(
        &mut self,
        number: usize,
        barrier: &Barrier,
        shape: &Shape,
        kept: &BTreeMap<ValueId, Held>,
    ) -> Result<(), RunError> {
        let (circuit, me, prss) = (self.party.circuit, self.me, self.party.prss.clone());
        let again = self.again();
        let (after, before) = (next(me), prev(me));
        let (mut carries, mut body) = self.carries(number, barrier, kept);
        let values = values(barrier);
        let of = |v: &ValueId, second| component(&kept[v], circuit.ty(*v).lanes(), me, second);
        let first = || values.iter().map(|v| of(v, false));
        let second = || values.iter().map(|v| of(v, true));
        let steps = shape.steps();
        let none = Carries::default();
        let scope =
            Scope { circuit, me, barrier, kept, carries: &none, again: &again, prss: &prss };

        // As P. What V1 holds are its first components, what V2 holds its second ones.
        let own = self.place(me, number);
        let nonce = self.with_next(number, Slot::NonceAfter);
        let by_before = held(&own, &self.with_prev(number, Slot::NonceBefore), first(), &[]);
        let mut to_before = vec![held(&own, &nonce, second(), &body)];
        let mut at = coin(&by_before, &to_before[0]);
        let hide = self.hidden(number);
        {
            // What the others have sent is not there yet.
            let carries = scope.with(&carries).all_carries(0..2);
            let scope = scope.with(&carries);
            let start = Start { scope: &scope, seeds: [&at; 4], hide };
            let mut proof = start.proof::<Doubled>(shape, Parts::Prover);
            for step in 0..steps {
                let message = proof.message(&scope, &self.with_prev(number, Slot::Share(step)));
                debug_assert_eq!(message.len(), shape.step_bytes(step), "as predicted");
                let hash = share(&nonce, step, &message);
                at = coin(&at, &hash);
                to_before.push(hash);
                body.extend(message);
                if step + 1 < steps {
                    proof.prove(&scope, &at);
                }
            }
        }
        body.extend(by_before);
        self.tell(after, 0, body)?;
        self.tell(before, 1, to_before.concat())?;

        // As V2 of the party before: its shares, and what V1 is to hold.
        let sizes: Vec<usize> = (0..steps).map(|s| shape.step_bytes(s)).collect();
        let len = 8 * shape.carries[before] + sizes.iter().sum::<usize>() + HASH;
        let got = self.hear(before, 0, len)?;
        let Some((got, told)) = got.split_last_chunk::<HASH>() else {
            return Err(self.rejected(before, "a message of its proof makes no sense"));
        };
        let (shared, mut messages) = got.split_at(8 * shape.carries[before]);
        self.read_carries(barrier, shared, &mut carries)?;
        let nonce = self.with_prev(number, Slot::NonceAfter);
        let mut found = vec![held(&self.place(before, number), &nonce, first(), shared)];
        let first_after = coin(told, &found[0]);
        let mut coins_after = vec![first_after];
        let mut parts = Vec::new();
        for (step, size) in sizes.into_iter().enumerate() {
            let (message, rest) = messages.split_at(size);
            messages = rest;
            let hash = share(&nonce, step, message);
            coins_after.push(coin(&coins_after[step], &hash));
            found.push(hash);
            parts.push(message);
        }
        found.push(*told);

        // As V1 of the party after: what V2 holds.
        let mut heard = self.hear(after, 1, (1 + steps) * HASH)?.as_chunks().0.to_vec();
        let nonce = self.with_next(number, Slot::NonceBefore);
        let mine = held(&self.place(after, number), &nonce, second(), &[]);
        let mut coins_before = Vec::new();
        for hash in &heard {
            coins_before.push(coin(coins_before.last().unwrap_or(&mine), hash));
        }
        heard.push(mine);

        let carries = scope.with(&carries).all_carries(2..4);
        let scope = scope.with(&carries);
        let seeds = [&at, &at, &coins_before[0], &coins_after[0]];
        let start = Start { scope: &scope, seeds, hide };
        let mut proof = start.proof::<Doubled>(shape, Parts::Verifiers);
        for (step, coin) in coins_before[1..].iter().enumerate() {
            proof.fold_before(&scope, &self.with_next(number, Slot::Share(step)), coin);
        }
        let mut end = proof.end();
        end.extend(all(&heard));
        self.tell(before, 2, end)?;
        let mut good = true;
        for (message, coin) in parts.iter().zip(&coins_after[1..]) {
            good = good && proof.fold_after(&scope, message, coin);
        }
        let got = self.hear(after, 2, shape.end_bytes())?;
        let Some((end, same)) = got.split_last_chunk::<HASH>().filter(|_| good) else {
            return Err(self.rejected(before, "a message of its proof makes no sense"));
        };
        if *same != all(&found) {
            // P told one of us something else, or V1 says that it did.
            return Err(self.rejected_either(
                before,
                after,
                "its verifiers heard different things",
            ));
        }
        if !proof.accepts(end) {
            return Err(self.rejected_either(before, after, WRONG));
        }
        self.verdict(3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_circuit::Dom;

    /// A proof of another circuit, run, prover or barrier, of other values or other carries has other coins.
    #[test]
    fn all_that_a_coin_is_about_changes_it() {
        let data = |x: u128| Data::from_u128s(Dom::Ring(64), &[1, x]);
        let of = |place: &[u8], nonce: u8, parts: &[Data], carries: &[u8]| {
            held(place, &[nonce; HASH], parts.iter().map(Cow::Borrowed), carries)
        };
        let all = [
            of(b"place", 1, &[data(2)], b"c"),
            of(b"plac", 1, &[data(2)], b"c"),
            of(b"place", 2, &[data(2)], b"c"),
            of(b"place", 1, &[data(3)], b"c"),
            of(b"place", 1, &[data(2), data(2)], b"c"),
            of(b"place", 1, &[data(2)], b"d"),
            of(b"place", 1, &[data(2)], b""),
        ];
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    /// Of what two parties know each verifier's part is in its hash: every word of it in one of the two.
    #[test]
    fn each_word_that_two_parties_know_is_in_a_hash() {
        for (n, groups) in [(150, 0), (200, 0), (7, 1), (12, 3), (10, 5)] {
            let lanes = Lanes { n, groups };
            for me in 0..3 {
                let words: Vec<u128> = (0..n - lanes.len(me)).map(|i| i as u128).collect();
                let of = |words: &[u128], second| {
                    let x = Held::one(Data::from_u128s(Dom::Ring(64), words));
                    let part = component(&x, lanes, me, second).into_owned();
                    held(b"place", &[1; HASH], std::iter::once(Cow::Borrowed(&part)), &[])
                };
                let both = [false, true].map(|second| of(&words, second));
                let (first, other) = (lanes.len(next(me)), lanes.len(prev(me)));
                assert_eq!(first + other, words.len());
                for i in 0..words.len() {
                    let mut changed = words.clone();
                    changed[i] ^= 1 << 63;
                    let now = [false, true].map(|second| of(&changed, second));
                    let differ = both.iter().zip(&now).filter(|(a, b)| a != b).count();
                    assert_eq!(differ, 1, "word {i} of {n}, {groups} groups, party {me}");
                }
            }
        }
    }
}
