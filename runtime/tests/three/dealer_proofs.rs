//! Family T2 against a malicious party: products, exchanges under masks, truncations, comparisons and injections of
//! masked values, with proofs.

use crate::build::{Builder, elements, words};
use crate::proofs::{malicious, options, run};
use slvr_circuit::proof::{Claim, Own, barriers};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Check, Circuit, Op, Security, ValueId};
use slvr_runtime::share::encode::Encoded;

/// A value x = a + b whose part b is on its way to two parties: what the dealer knows, the mask, what is opened, and
/// what the dealer has input of its part, if that is more than the mask.
struct Pending {
    own: ValueId,
    mask: ValueId,
    dup: ValueId,
    dealt: Option<ValueId>,
}

/// A masked value: replicated, and what its dealer knows.
#[derive(Clone, Copy)]
struct Masked {
    rep: ValueId,
    own: ValueId,
}

struct Dealer {
    b: Builder,
    masks: u32,
    /// Whether two parties multiply by what they know as they know it, and not as a part of a replicated value.
    held: bool,
}

impl Dealer {
    fn of(&mut self, rep: ValueId) -> Masked {
        Masked { rep, own: self.b.must(Op::Own(rep)) }
    }

    fn fresh(&mut self, like: ValueId) -> ValueId {
        self.masks += 1;
        let ty = self.b.ty(like).clone();
        self.b.must(Op::Mask { tag: self.masks, dom: ty.dom, shape: ty.shape, groups: 0 })
    }

    /// One exchange of what two hold, and what the dealer knows besides: dealt, so that bits of it can be proven.
    fn settle(&mut self, own: Option<ValueId>, add2: ValueId) -> Pending {
        let mask = self.fresh(add2);
        let known = self.b.must(Op::Own(mask));
        let dup = self.b.must(Op::OpenMasked { x: add2, mask });
        match own {
            None => Pending { own: known, mask, dup, dealt: None },
            Some(a) => {
                let dealt = Some(self.b.must(Op::Input(a)));
                Pending { own: self.b.must(Op::Add(a, known)), mask, dup, dealt }
            }
        }
    }

    /// In the layer after.
    fn settled(&mut self, p: &Pending) -> Masked {
        let joined = self.b.must(Op::Join { mask: p.mask, dup: p.dup });
        let rep = match p.dealt {
            Some(dealt) => self.b.must(Op::Add(dealt, joined)),
            None => joined,
        };
        Masked { rep, own: p.own }
    }

    /// x y: the dealer's product, and b_x (a_y + b_y) + a_x b_y.
    fn product(&mut self, x: Masked, y: Masked) -> Pending {
        let b = &mut self.b;
        let own = b.must(Op::Mul(x.own, y.own));
        let (bx, by) = (b.must(Op::Dup(x.rep)), b.must(Op::Dup(y.rep)));
        let ax = b.must(Op::MaskOf(x.rep, 0));
        let (ax, whole) = (b.must(Op::AsAdd2(ax)), b.must(Op::AsAdd2(y.rep)));
        let (left, right) = (b.must(Op::Mul(whole, bx)), b.must(Op::Mul(ax, by)));
        let add2 = b.must(Op::Add(left, right));
        self.settle(Some(own), add2)
    }

    /// What two parties know as a replicated value, and as they know it.
    fn known(&mut self, d: ValueId) -> (ValueId, ValueId) {
        let rep = self.b.must(Op::Trivial(d));
        (rep, if self.held { d } else { self.b.must(Op::Dup(rep)) })
    }
}

/// sign(x y / 2^f) for words of k bits whose low nine bits are compared, the shifted product, and the gated one. Each
/// value that is made is revealed.
pub fn dealer_claims(k: u32, n: u64, seed: u64) -> (Circuit, Encoded) {
    claims(k, n, seed, false)
}

/// The same with factors that two parties know and no replicated value is made of.
pub fn held_claims(k: u32, n: u64, seed: u64) -> (Circuit, Encoded) {
    claims(k, n, seed, true)
}

fn claims(k: u32, n: u64, seed: u64, held: bool) -> (Circuit, Encoded) {
    const F: u32 = 5;
    let mut b = Builder::new();
    let shape = [1, n];
    let x = b.secret(k, &shape, &words(seed, elements(&shape)));
    let y = b.secret(k, &shape, &words(seed + 1, elements(&shape)));
    let mut t = Dealer { b, masks: 0, held };
    let (x, y) = (t.of(x), t.of(y));
    let product = t.product(x, y);
    // All that the dealer sends of the product depends on masks only: it goes out beside the product.
    let high = t.b.must(Op::Shr(product.own, F));
    let high = t.b.must(Op::Input(high));
    let low = t.b.must(Op::ToBits { x: product.own, lo: 0, w: 8 });
    let code = t.b.must(Op::Thermometer { x: low, blocks: vec![4, 4] });
    let code = t.b.must(Op::Input(code));
    let top = t.b.must(Op::ToBits { x: product.own, lo: 8, w: 1 });
    let top = t.b.must(Op::Input(top));
    t.b.next_layer();
    let z = t.settled(&product);
    // Truncation: the others' part, shifted.
    let dup = t.b.must(Op::Dup(z.rep));
    let shifted = t.b.must(Op::Shr(dup, F));
    let (shifted, _) = t.known(shifted);
    let shifted = t.b.must(Op::Add(shifted, high));
    // Comparison: of each block its generate, and of the upper one its propagate, as sums of entries of the code.
    let index = t.b.must(Op::ToBits { x: dup, lo: 0, w: 8 });
    let other = t.b.must(Op::Thermometer { x: index, blocks: vec![4, 4] });
    let first = t.b.must(Op::Planes { x: other, start: 0, step: 1, count: 1 });
    let zero = t.b.must(Op::Add(first, first));
    let one = t.b.must(Op::Not(zero));
    let all = t.b.must(Op::Stack(vec![other, zero, one]));
    // Entry j of the others' code of a block, whose first is always set and whose last never is.
    let s = |at: u32, j: u32| match j {
        0 => 31,
        16 => 30,
        j => at + j - 1,
    };
    let mut picked = None;
    for v in 1..16u32 {
        let entry = t.b.must(Op::SelectPlanes(code, vec![v - 1, 15 + v - 1, 15 + v - 1]));
        let sides = [
            vec![s(0, 16 - v), s(15, 16 - v), s(15, 15 - v)],
            vec![s(0, 17 - v), s(15, 17 - v), s(15, 17 - v)],
        ];
        let [left, right] = sides.map(|planes| t.b.must(Op::SelectPlanes(all, planes)));
        let chosen = t.b.must(Op::Add(left, right));
        let (_, chosen) = t.known(chosen);
        let entry = t.b.must(Op::AsAdd2(entry));
        let term = t.b.must(Op::Mul(entry, chosen));
        picked = Some(match picked {
            Some(sum) => t.b.must(Op::Add(sum, term)),
            None => term,
        });
    }
    let rest = t.b.must(Op::SelectPlanes(all, vec![30, 30, s(15, 15)]));
    let (rest, _) = t.known(rest);
    let rest = t.b.must(Op::AsAdd2(rest));
    let picked = t.b.must(Op::Add(picked.unwrap(), rest));
    let picked = t.settle(None, picked);
    // The product of the masks of the lower generate and the propagate, ahead.
    let plane = |t: &mut Dealer, x, i| t.b.must(Op::Planes { x, start: i, step: 1, count: 1 });
    let masks = [0, 2].map(|i| {
        let m = t.b.must(Op::Planes { x: picked.own, start: i, step: 1, count: 1 });
        t.b.must(Op::Input(m))
    });
    t.b.next_layer();
    let picked = t.settled(&picked);
    let [g, h, p] = [0, 1, 2].map(|i| plane(&mut t, picked.rep, i));
    let (g, p) = (t.of(g), t.of(p));
    let carry = t.product(g, p);
    t.b.next_layer();
    let carry = t.settled(&carry);
    let carry = t.b.must(Op::Add(carry.rep, h));
    // The top bit: both parts' and the carry.
    let dup = t.b.must(Op::Dup(z.rep));
    let upper = t.b.must(Op::ToBits { x: dup, lo: 8, w: 1 });
    let (upper, _) = t.known(upper);
    let sign = t.b.must(Op::Add(carry, top));
    let sign = t.b.must(Op::Add(sign, upper));
    // Injection: v (a + b) + (1 - 2 v)(u a + u b).
    let own = t.b.must(Op::Own(sign));
    let u = t.b.must(Op::FromBits(own, k));
    let gated = t.b.must(Op::Own(z.rep));
    let gated = t.b.must(Op::Mul(u, gated));
    let (u, gated) = (t.b.must(Op::Input(u)), t.b.must(Op::Input(gated)));
    t.b.next_layer();
    let v = t.b.must(Op::Dup(sign));
    let v = t.b.must(Op::FromBits(v, k));
    let minus = t.b.must(Op::Scale(
        v,
        (1u128 << (k - 1)).wrapping_mul(2).wrapping_sub(2) & slvr_circuit::low_mask(k),
    ));
    let turn = t.b.must(Op::Offset(minus, 1));
    let dup = t.b.must(Op::Dup(z.rep));
    let both = t.b.must(Op::Mul(dup, turn));
    let ((_, v), (_, turn), (_, both)) = (t.known(v), t.known(turn), t.known(both));
    let terms = [(z.rep, v), (gated, turn), (u, both)].map(|(x, y)| {
        let x = t.b.must(Op::AsAdd2(x));
        t.b.must(Op::Mul(x, y))
    });
    let sum = t.b.must(Op::Add(terms[0], terms[1]));
    let sum = t.b.must(Op::Add(sum, terms[2]));
    let chosen = t.settle(None, sum);
    t.b.next_layer();
    let chosen = t.settled(&chosen);
    t.b.next_layer();
    // A check, and every value.
    let bit = t.b.must(Op::Slice { x: sign, axis: 1, start: 0, len: 1, step: 1 });
    let bit = t.b.must(Op::Reshape(bit, vec![1]));
    let value = t.b.must(Op::Open(bit));
    t.b.next_layer();
    let mut shown = vec![z.rep, shifted, chosen.rep, u];
    for (bits, count) in [(code, 30), (picked.rep, 3), (masks[0], 1), (masks[1], 1)] {
        for j in 0..count {
            let bit = t.b.must(Op::Planes { x: bits, start: j, step: 1, count: 1 });
            let (u, v) = (t.b.must(Op::Own(bit)), t.b.must(Op::Dup(bit)));
            let (u, v) = (t.b.must(Op::FromBits(u, k)), t.b.must(Op::FromBits(v, k)));
            let (u, v) = (t.b.must(Op::Input(u)), t.b.must(Op::Trivial(v)));
            shown.extend([u, v]);
        }
    }
    t.b.next_layer();
    t.b.reveal_reshared(shown);
    let (circuit, encoded) = t.b.finish();
    let checks = vec![Check { set: 0, value }];
    (Circuit { security: Security::Malicious, checks, ..circuit }, encoded)
}

#[test]
fn dealers_prove_what_they_deal_and_what_is_exchanged() {
    let cases =
        [(64, 200, false), (64, 150, true), (32, 70, false), (16, 1, true), (128, 150, true)];
    for (k, n, held) in cases {
        let (circuit, encoded) = claims(k, n, u64::from(k), held);
        let semi_honest = Circuit { security: Security::SemiHonest, ..circuit.clone() };
        let without = run(&semi_honest, &encoded, &options(n));
        let with = run(&circuit, &encoded, &options(n));
        assert_eq!(with.outputs, without.outputs, "{k} bits, {n} elements");
        let predicted = Traffic::of(&circuit);
        assert_eq!((with.rounds, with.bytes_sent), (predicted.rounds, predicted.bytes));
    }
}

/// What is revealed is the product, its shifted and its gated form.
#[test]
fn the_values_of_the_dealers_are_right() {
    let n = 150;
    let (circuit, encoded) = held_claims(64, n, 9);
    let report = run(&circuit, &encoded, &options(1));
    let word = |i: usize, j: usize| report.outputs[i].words.get_u128(j) as u64;
    let (x, y) = (words(9, n as usize), words(10, n as usize));
    for j in 0..n as usize {
        let z = (x[j] as u64).wrapping_mul(y[j] as u64);
        assert_eq!(word(0, j), z);
        // Without the wrap: up to a multiple of 2^59, and a unit.
        let shifted = word(1, j).wrapping_sub(z >> 5) & ((1 << 59) - 1);
        assert!(shifted == 0 || shifted == (1 << 59) - 1, "{shifted:#x}");
        let sign = z >> 8 & 1;
        assert_eq!(word(2, j), sign.wrapping_mul(z));
    }
}

/// Every statement of the family is there, over words and over bits.
#[test]
fn the_statements_of_the_dealers_are_there() {
    let (circuit, _) = dealer_claims(64, 70, 1);
    let all = barriers(&circuit).unwrap();
    let statements: Vec<_> = all.iter().flat_map(|b| &b.statements).collect();
    let count = |which: &dyn Fn(&Claim, bool) -> bool| {
        let bits = |s: &slvr_circuit::proof::Statement| circuit.ty(s.out).dom.is_bits();
        statements.iter().filter(|s| which(&s.claim, bits(s))).count()
    };
    let times = |c: &Claim| matches!(c, Claim::Input(Own::Times { .. }));
    assert_eq!(
        count(&|c, bits| times(c) && !bits),
        2,
        "products of words: of masks and of an injection"
    );
    let both = |c: &Claim| matches!(c, Claim::Input(Own::And(..)));
    assert_eq!(count(&|c, bits| both(c) && bits), 1, "products of masks of bits");
    assert_eq!(count(&|c, _| matches!(c, Claim::Input(Own::High { shift: 5, .. }))), 1);
    assert_eq!(count(&|c, _| matches!(c, Claim::Input(Own::Thermometer(..)))), 1);
    let exchange = |c: &Claim| matches!(c, Claim::Exchange { .. });
    assert_eq!(count(&|c, bits| exchange(c) && !bits), 2);
    assert_eq!(count(&|c, bits| exchange(c) && bits), 2);
}

/// An exchange whose result nobody joins with its mask has no statement, and one that is only joined when the proof has
/// passed comes too late for it. An owner's value that is input is no statement about itself.
#[test]
fn exchanges_without_a_statement_are_refused() {
    use slvr_circuit::verify::{Openings, verify_with};
    let make = |joined: bool, late: bool| {
        let mut b = Builder::new();
        let x = b.secret(64, &[1, 3], &words(1, 3));
        let add2 = b.must(Op::AsAdd2(x));
        let mut t = Dealer { b, masks: 0, held: false };
        let own = t.b.must(Op::Own(x));
        t.b.must(Op::Input(own));
        let p = t.settle(None, add2);
        t.b.next_layer();
        if joined && !late {
            t.settled(&p);
            t.b.next_layer();
        }
        let z = t.b.must(Op::AsAdd3(x));
        let z = t.b.must(Op::Reshare(z));
        if joined && late {
            t.b.next_layer();
            t.settled(&p);
        } else {
            t.b.next_layer();
        }
        t.b.reveal(z, 0, 1.0);
        let (circuit, _) = t.b.finish();
        verify_with(&malicious(&circuit), Openings::Any).map_err(|e| e.to_string())
    };
    make(true, false).unwrap();
    assert!(make(false, false).unwrap_err().contains("opened and never joined"));
    assert!(make(true, true).unwrap_err().contains("what only a later layer makes"));
}
