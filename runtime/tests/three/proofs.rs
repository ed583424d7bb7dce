//! Runs against a malicious party: honest ones give what others give, with the rounds and bytes that are predicted.

use crate::build::{Builder, PROVES, elements, words};
use slvr_circuit::proof::{Own, barriers};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::verify::{Openings, VerifyError, verify_with};
use slvr_circuit::{Check, Circuit, Conv, Dom, Instr, Op, Security, ValueId};
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{Options, Report, run_outcome};
use slvr_runtime::share::encode::Encoded;
use std::time::Duration;

/// Every claim there is, over words of k bits and n elements, but no products of matrices over words of 128 bits; `seed` gives the inputs. Wrong words of any message
/// reach the output.
pub fn every_claim(k: u32, n: u64, seed: u64) -> (Circuit, Encoded) {
    let mut b = Builder::new();
    let shape = [1, n];
    let x = b.secret(k, &shape, &words(seed, elements(&shape)));
    let y = b.secret(k, &shape, &words(seed + 1, elements(&shape)));
    let m = b.secret(k, &[1, 3, 4], &words(seed + 2, 12));
    let image = b.secret(k, &[1, 2, 2, 6, 5], &words(seed + 3, 120));
    let kernel = b.secret(k, &[1, 3, 2, 3, 2], &words(seed + 4, 36));
    let one = b.secret(k, &[1, 1], &words(seed + 5, 1));
    // Products: of two, of a repeated factor, sums of several, with a value added.
    let xy = b.must(Op::Mul(x, y));
    let xo = b.must(Op::Mul(x, one));
    let sum = b.must(Op::Add(xy, xo));
    let sum = b.must(Op::Add(sum, y));
    let conv = Conv { stride: 2, pad: 1, ..Conv::PLAIN };
    let (square, pixels) = if k < 128 {
        let square = b.must(Op::MatMul { a: m, b: m, trans_b: true });
        (square, b.must(Op::Conv2d { x: image, w: kernel, conv }))
    } else {
        (b.must(Op::Mul(m, m)), b.must(Op::Mul(image, image)))
    };
    // Inner products: few long ones, with one factor for all of them, and many short ones.
    let list = b.secret(k, &[1, 120], &words(seed + 6, 120));
    let mut of = |shape: [u64; 3]| b.must(Op::Reshape(list, shape.to_vec()));
    let (few, many) = (of([3, 1, 40]), of([40, 1, 3]));
    let once = b.must(Op::Slice { x: few, axis: 0, start: 1, len: 1, step: 1 });
    let mut inner = Vec::new();
    for (x, y) in [(few, few), (few, once), (many, many)].into_iter().filter(|_| k < 128) {
        inner.push(b.must(Op::MatMul { a: x, b: y, trans_b: true }));
    }
    // With a factor that two parties know, alone and beside one that is shared.
    let known = b.must(Op::Dup(y));
    let known = b.must(Op::Trivial(known));
    let known = b.must(Op::Scale(known, 3));
    let mixed = b.must(Op::Mul(x, known));
    let other = b.must(Op::Mul(known, y));
    let mixed = b.must(Op::Add(mixed, other));
    let alone = b.must(Op::Mul(y, known));
    let mixed = b.must(Op::Add(mixed, xy));
    // Among two: sums of products of what all hold with what two know.
    let two = b.must(Op::AsAdd2(x));
    let by = b.must(Op::Dup(known));
    let two = b.must(Op::Mul(two, by));
    let more = b.must(Op::AsAdd2(y));
    let more = b.must(Op::Mul(more, by));
    let two = b.must(Op::Add(two, more));
    // What owners input.
    let own = b.must(Op::Own(x));
    let low = b.must(Op::ToBits { x: own, lo: 0, w: k });
    let high = b.must(Op::ToBits { x: own, lo: 3, w: k - 4 });
    let seven = b.must(Op::ToBits { x: own, lo: 0, w: 7 });
    let code = b.must(Op::Thermometer { x: seven, blocks: vec![3, 1, 3] });
    let shifted = b.must(Op::Shr(own, 5));
    let wider = if k < 128 { b.must(Op::Extend(shifted, 2 * k)) } else { shifted };
    let top = b.must(Op::ToBits { x: own, lo: k - 1, w: 1 });
    let top = b.must(Op::Not(top));
    let top = b.must(Op::FromBits(top, k));
    let z = b.must(Op::Own(y));
    let times = b.must(Op::Mul(top, z));
    // Of this one few bits are input, so that carries are told.
    let rest = b.must(Op::Shr(z, 5));
    let rest = if k < 128 { b.must(Op::Extend(rest, 2 * k)) } else { rest };
    let sign = b.must(Op::ToBits { x: z, lo: k - 1, w: 1 });
    let sign = b.must(Op::FromBits(sign, k));
    let xy = b.must(Op::Reshare(xy));
    let mixed = b.must(Op::Reshare(mixed));
    let alone = b.must(Op::Reshare(alone));
    let two = b.must(Op::ReshareTwo(two));
    let sum = b.must(Op::Reshare(sum));
    let square = b.must(Op::Reshare(square));
    let pixels = b.must(Op::Reshare(pixels));
    let inner: Vec<ValueId> = inner.into_iter().map(|x| b.must(Op::Reshare(x))).collect();
    let low = b.must(Op::Input(low));
    let high = b.must(Op::Input(high));
    let code = b.must(Op::Input(code));
    let whole = b.must(Op::Input(own));
    let wider = b.must(Op::Input(wider));
    let top = b.must(Op::Input(top));
    let times = b.must(Op::Input(times));
    let rest = b.must(Op::Input(rest));
    let sign = b.must(Op::Input(sign));
    b.next_layer();
    // Bits: products, one of a repeated plane, and an owner's part of them.
    let plane = b.must(Op::Planes { x: low, start: 1, step: 1, count: 1 });
    let both = b.must(Op::Mul(low, plane));
    let known = b.must(Op::Dup(low));
    let known = b.must(Op::Trivial(known));
    let known = b.must(Op::Planes { x: known, start: 2, step: 1, count: 3 });
    let some = b.must(Op::Planes { x: low, start: 0, step: 1, count: 3 });
    let gated = b.must(Op::Mul(known, some));
    let gated = b.must(Op::Reshare(gated));
    let pair = b.must(Op::AsAdd2(some));
    let by = b.must(Op::Dup(known));
    let pair = b.must(Op::Mul(pair, by));
    let pair = b.must(Op::ReshareTwo(pair));
    let part = b.must(Op::Own(high));
    let picked = b.must(Op::SelectPlanes(part, vec![2, 0]));
    let single = b.must(Op::Planes { x: picked, start: 0, step: 1, count: 1 });
    let word = b.must(Op::FromBits(single, k));
    let both = b.must(Op::Reshare(both));
    let picked = b.must(Op::Input(picked));
    let word = b.must(Op::Input(word));
    b.must(Op::Coin);
    b.next_layer();
    // Bits are seen as words: each is an owner's part and the others'.
    let mut shown = vec![xy, mixed, alone, two, sum, square, pixels, whole, top, times, word, sign];
    shown.extend(inner);
    for (bits, count) in [(both, 3), (picked, 2), (gated, 3), (pair, 3), (code, 15)] {
        for j in 0..count {
            shown.extend(b.bit_as_words(bits, j, k));
        }
    }
    b.next_layer();
    let check = b.must(Op::Planes { x: both, start: 0, step: 1, count: 1 });
    let check = b.must(Op::Slice { x: check, axis: 1, start: 0, len: 1, step: 1 });
    let check = b.must(Op::Reshape(check, vec![1]));
    let value = b.must(Op::Open(check));
    b.next_layer();
    shown.extend([wider, rest]);
    b.reveal_reshared(shown);
    let (circuit, encoded) = b.finish();
    let checks = vec![Check { set: 0, value }];
    (Circuit { security: Security::Malicious, checks, ..circuit }, encoded)
}

pub fn malicious(circuit: &Circuit) -> Circuit {
    Circuit { security: Security::Malicious, ..circuit.clone() }
}

/// The same with a proof before every layer of whose past something can be proven, asked for by one of [`PROVES`].
pub fn proven_often(circuit: &Circuit, by: &Op) -> Circuit {
    let mut out = circuit.clone();
    for l in 1..out.layers.len() {
        out.layers[l].local.insert(0, Instr { out: None, op: by.clone(), site: 0 });
        if barriers(&out).is_err() {
            out.layers[l].local.remove(0);
        }
    }
    out
}

pub fn options(seed: u64) -> Options<'static> {
    let deadline = Duration::from_secs(120);
    Options { doors: Doors::new().any_openings(), seed: Some(seed), deadline, ..Options::default() }
}

pub fn run(circuit: &Circuit, encoded: &Encoded, options: &Options<'_>) -> Report {
    let outcome = run_outcome(circuit, encoded.clone(), options).unwrap();
    outcome.report(circuit).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn honest_parties_accept_each_other() {
    for (k, n) in [(64, 200), (32, 70), (8, 130), (16, 1), (64, 3000), (128, 70)] {
        let (circuit, encoded) = every_claim(k, n, u64::from(k));
        let semi_honest = Circuit { security: Security::SemiHonest, ..circuit.clone() };
        let without = run(&semi_honest, &encoded, &options(n));
        let with = run(&circuit, &encoded, &options(n));
        let what = format!("{k} bits, {n} elements");
        assert_eq!(with.outputs, without.outputs, "{what}");
        assert_eq!(with.coins, without.coins, "{what}");
        let predicted = Traffic::of(&circuit);
        assert_eq!(with.rounds, predicted.rounds, "{what}");
        assert_eq!(with.bytes_sent, predicted.bytes, "{what}");
        assert!(with.rounds > without.rounds, "{what}");
    }
}

/// The circuit without proofs between openings, but with as many instructions, because streams are drawn by their numbers.
pub fn without_proves(circuit: &Circuit) -> Circuit {
    let mut out = circuit.clone();
    let first = out.inputs[0].value;
    for instr in out.layers.iter_mut().flat_map(|l| &mut l.local) {
        if PROVES.contains(&instr.op) {
            out.types.push(out.types[first.index()].clone());
            instr.out = Some(ValueId(out.types.len() as u32 - 1));
            instr.op = Op::Neg(first);
        }
    }
    out.layers.iter_mut().for_each(|l| l.drop.retain(|v| *v != first));
    out
}

/// Proofs between openings: what is proven is kept no longer, and nothing else changes.
#[test]
fn more_proofs_change_nothing_but_the_cost() {
    for ((k, n), by) in [(64, 200), (8, 130)].into_iter().flat_map(|c| PROVES.map(|by| (c, by))) {
        let (circuit, encoded) = every_claim(k, n, u64::from(k));
        let often = proven_often(&circuit, &by);
        let seldom = without_proves(&often);
        let count = |c: &Circuit| barriers(c).unwrap().len();
        assert!(count(&often) > count(&seldom), "there are more");
        let [few, many] = [&seldom, &often].map(|c| run(c, &encoded, &options(n)));
        let same = few.outputs == many.outputs && few.coins == many.coins;
        assert!(same, "{k} bits");
        let predicted = Traffic::of(&often);
        assert_eq!((many.rounds, many.bytes_sent), (predicted.rounds, predicted.bytes));
        if by == Op::BeginProof {
            // At most what is left of the others when the last one begins.
            assert!(many.rounds < few.rounds + 4, "{} and {} rounds", many.rounds, few.rounds);
            continue;
        }
        assert!(many.rounds > few.rounds);
        let less = many.peak_memory.iter().zip(few.peak_memory).all(|(a, b)| *a < b);
        assert!(less, "{:?} and {:?} bytes", many.peak_memory, few.peak_memory);
    }
}

/// Only where something can be proven a proof can be asked for.
#[test]
fn parties_that_follow_the_protocol_prove_nothing() {
    let (circuit, _) = every_claim(64, 3, 1);
    for by in &PROVES {
        let often = proven_often(&circuit, by);
        assert!(verify_with(&often, Openings::Any).is_ok());
        let plain = Circuit { security: Security::SemiHonest, ..often };
        let refused = verify_with(&plain, Openings::Any).unwrap_err();
        assert!(matches!(refused, VerifyError::NothingToProve { .. }), "{refused}");
    }
}

/// Whatever an owner computes of its part and inputs: if the verifier finds a statement for it, an honest owner's proof is
/// accepted. So the statement is about what the instruction computes, and about nothing else.
#[test]
fn an_accepted_chain_of_an_owners_operations_is_what_its_statement_says() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..120u64 {
        let mut state = seed;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) % below
        };
        let mut b = Builder::new();
        let k = [8, 16, 32, 64][draw(4) as usize];
        let n = 1 + draw(3);
        let shape = [1, n];
        let x = b.secret(k, &shape, &words(seed, elements(&shape)));
        let mut own = b.must(Op::Own(x));
        let mut chain = Vec::new();
        for _ in 0..1 + draw(4) {
            let bits = b.ty(own).bits();
            let op = if b.ty(own).dom.is_bits() {
                match draw(3) {
                    0 => Op::Not(own),
                    1 if bits == 1 => Op::FromBits(own, [8, 16, 32, 64][draw(4) as usize]),
                    _ => Op::Planes {
                        x: own,
                        start: draw(u64::from(bits)) as u32,
                        step: 1,
                        count: 1,
                    },
                }
            } else {
                match draw(4) {
                    0 => Op::Shr(own, 1 + draw(u64::from(bits) - 1) as u32),
                    1 => Op::Narrow(own, [8, 16, 32, 64][draw(4) as usize]),
                    2 => Op::Extend(own, [8, 16, 32, 64, 128][draw(5) as usize]),
                    _ => {
                        let lo = draw(u64::from(bits)) as u32;
                        let w = 1 + draw(u64::from((bits - lo).min(8))) as u32;
                        Op::ToBits { x: own, lo, w }
                    }
                }
            };
            chain.push(format!("{op:?}"));
            if let Some(next) = b.infer(op) {
                own = next;
            } else {
                chain.pop();
            }
        }
        let input = b.must(Op::Input(own));
        b.next_layer();
        let shown = match b.ty(input).dom.is_bits() {
            false => vec![input],
            true => {
                let bit = b.must(Op::Planes { x: input, start: 0, step: 1, count: 1 });
                let (u, v) = (b.must(Op::Own(bit)), b.must(Op::Dup(bit)));
                let (u, v) = (b.must(Op::FromBits(u, 64)), b.must(Op::FromBits(v, 64)));
                let (u, v) = (b.must(Op::Input(u)), b.must(Op::Trivial(v)));
                vec![u, v]
            }
        };
        b.next_layer();
        b.reveal_reshared(shown);
        let (circuit, encoded) = b.finish();
        let without = run(&circuit, &encoded, &options(seed));
        let circuit = Circuit { security: Security::Malicious, ..circuit };
        if barriers(&circuit).is_err() {
            refused += 1;
            continue;
        }
        accepted += 1;
        let with = run(&circuit, &encoded, &options(seed));
        assert_eq!(with.outputs, without.outputs, "seed {seed}: {k} bits, {n} elements, {chain:?}");
    }
    assert!(accepted > 30 && refused > 10, "{accepted} accepted, {refused} refused");
}

/// The circuit above has every kind of statement, so that what is tested on it is tested on all.
/// Inner products of no products, and no inner products of some: nothing is left to divide by.
#[test]
fn what_is_about_nothing_is_proven_too() {
    for (axis, lengths, one) in [(2, 16, false), (0, 0, false), (0, 0, true)] {
        let mut b = Builder::new();
        let some = b.secret(32, &[1, 256], &words(2, 256));
        let some = b.must(Op::Reshape(some, vec![16, 1, 16]));
        let nothing = b.must(Op::Slice { x: some, axis, start: 0, len: 0, step: 1 });
        let x = b.secret(32, &[1, 1], &words(3, 1));
        // A factor of one matrix is that of every matrix, also where there are none.
        let a = match one {
            true => b.must(Op::Slice { x: some, axis, start: 0, len: 1, step: 1 }),
            false => nothing,
        };
        let product = b.must(Op::MatMul { a, b: nothing, trans_b: true });
        let square = b.must(Op::Mul(x, x));
        let product = b.must(Op::Reshare(product));
        let square = b.must(Op::Reshare(square));
        b.next_layer();
        b.reveal_reshared(vec![product, square]);
        let (circuit, encoded) = b.finish();
        let circuit = malicious(&circuit);
        let Report { outputs, .. } = run(&circuit, &encoded, &options(5));
        assert_eq!(outputs.iter().map(|o| o.values.len()).min(), Some(lengths.min(1)));
    }
}

#[test]
fn every_claim_is_there() {
    let (circuit, _) = every_claim(32, 70, 1);
    let mut found = std::collections::BTreeSet::new();
    for s in barriers(&circuit).unwrap().iter().flat_map(|b| &b.statements) {
        let bits = circuit.ty(s.out).dom != Dom::Ring(circuit.ty(s.out).bits());
        let claim = format!("{:?}", s.claim);
        let name = claim.split([' ', '(']).next().unwrap_or_default().to_string();
        let own = match &s.claim {
            slvr_circuit::proof::Claim::Input(Own::High { shift: 0, .. }) => "whole",
            slvr_circuit::proof::Claim::Input(Own::High { .. }) => "high",
            slvr_circuit::proof::Claim::Input(Own::Word(_)) => "word",
            slvr_circuit::proof::Claim::Input(Own::Times { .. }) => "times",
            slvr_circuit::proof::Claim::Input(Own::Bits(_)) => "bits",
            slvr_circuit::proof::Claim::Input(Own::Thermometer(..)) => "code",
            _ => "",
        };
        found.insert((name, own, bits));
    }
    assert_eq!(found.len(), 12, "{found:?}");
    let split = barriers(&circuit)
        .unwrap()
        .iter()
        .flat_map(|b| &b.statements)
        .filter(|s| s.claim.is_split())
        .count();
    assert_eq!(split, 5, "with factors that two parties know");
}
