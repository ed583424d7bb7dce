//! Products of matrices of which owners know their words ahead: each party inputs its word in its own shard and opens it
//! under a mask in the other two, and proves all of them at once.

use crate::build::{Builder, elements, words};
use crate::proofs::{malicious, options, run};
use slvr_circuit::proof::{Claim, barriers};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::verify::{Openings, verify_with};
use slvr_circuit::{Circuit, Conv, Op, Security, ValueId};
use slvr_runtime::share::encode::Encoded;

/// Factors of a product of 300 elements, and of a convolution of 96, whose last shard is empty.
const SHAPES: [&[u64]; 4] = [&[1, 10, 4], &[1, 4, 30], &[1, 2, 2, 6, 5], &[1, 3, 2, 3, 2]];

/// The same of 192 elements: three full shards.
const FULL: [&[u64]; 4] = [&[1, 12, 4], &[1, 4, 16], &[1, 2, 2, 7, 14], &[1, 3, 2, 3, 2]];

/// What is made of a sum of three words.
struct Parted {
    own: ValueId,
    input: ValueId,
    mask: ValueId,
    dup: ValueId,
}

impl Parted {
    fn of(b: &mut Builder, z: ValueId, tag: u32) -> Parted {
        let own = b.must(Op::Own(z));
        let input = b.must(Op::Input(own));
        let others = b.must(Op::AsAdd2(z));
        let ty = b.ty(z).clone();
        let mask = b.must(Op::Mask { tag, dom: ty.dom, shape: ty.shape, groups: 0 });
        let dup = b.must(Op::OpenMasked { x: others, mask });
        let known = b.must(Op::Own(mask));
        Parted { own: b.must(Op::Add(own, known)), input, mask, dup }
    }

    /// In the layer after.
    fn joined(&self, b: &mut Builder) -> ValueId {
        let x = b.must(Op::Join { mask: self.mask, dup: self.dup });
        b.must(Op::Add(self.input, x))
    }
}

fn operands(b: &mut Builder, shapes: [&[u64]; 4], k: u32, mut seed: u64) -> [ValueId; 4] {
    shapes.map(|shape| {
        seed += 1;
        b.secret(k, shape, &words(seed, elements(shape)))
    })
}

/// A product of matrices and a convolution, of which some shards are empty, and bits of what owners know of them ahead.
/// Wrong words of any message reach the output.
pub fn parted_claims(k: u32, seed: u64) -> (Circuit, Encoded) {
    claims(SHAPES, k, seed)
}

/// The same in full shards.
pub fn full_claims(k: u32, seed: u64) -> (Circuit, Encoded) {
    claims(FULL, k, seed)
}

fn claims(shapes: [&[u64]; 4], k: u32, seed: u64) -> (Circuit, Encoded) {
    let mut b = Builder::new();
    let [x, y, image, kernel] = operands(&mut b, shapes, k, seed);
    let conv = Conv { stride: 2, pad: 1, ..Conv::PLAIN };
    let z = [
        b.must(Op::MatMul { a: x, b: y, trans_b: false }),
        b.must(Op::Conv2d { x: image, w: kernel, conv }),
    ];
    let parted = [0, 1].map(|i| Parted::of(&mut b, z[i], i as u32));
    // Beside what is opened.
    let high = parted.each_ref().map(|p| {
        let high = b.must(Op::Shr(p.own, 3));
        b.must(Op::Input(high))
    });
    b.next_layer();
    let mut shown = parted.each_ref().map(|p| p.joined(&mut b)).to_vec();
    shown.extend(high);
    b.next_layer();
    b.reveal_reshared(shown);
    let (circuit, encoded) = b.finish();
    (Circuit { security: Security::Malicious, ..circuit }, encoded)
}

#[test]
fn parted_products_are_right_at_the_predicted_cost() {
    for k in [8, 16, 32, 64] {
        let (circuit, encoded) = parted_claims(k, 5);
        let semi_honest = Circuit { security: Security::SemiHonest, ..circuit.clone() };
        let without = run(&semi_honest, &encoded, &options(1));
        let low = u64::MAX >> (64 - k);
        let [x, y] = [words(6, 40), words(7, 120)];
        for i in 0..300 {
            let of = |j: usize| (x[i / 30 * 4 + j] as u64).wrapping_mul(y[j * 30 + i % 30] as u64);
            let want = (0..4).map(of).fold(0u64, u64::wrapping_add) & low;
            assert_eq!(without.outputs[0].words.get_u128(i) as u64 & low, want, "{k} bits, {i}");
        }
        let with = run(&circuit, &encoded, &options(1));
        assert_eq!(with.outputs, without.outputs, "{k} bits");
        let predicted = Traffic::of(&circuit);
        assert_eq!((with.rounds, with.bytes_sent), (predicted.rounds, predicted.bytes));
    }
}

/// One statement of each product, and none of what its owner inputs.
#[test]
fn a_parted_product_is_one_statement() {
    let (circuit, _) = parted_claims(64, 5);
    let all = barriers(&circuit).unwrap();
    let claims = || all.iter().flat_map(|b| &b.statements).map(|s| &s.claim);
    assert_eq!(claims().filter(|c| c.parted().is_some()).count(), 2);
    let inputs = claims().filter(|c| matches!(c, Claim::Input(_))).count();
    assert_eq!(inputs, 2, "of the high parts");
}

/// What its owner does not input, or inputs twice, what is no product of matrices and an inner product, of which there is
/// another statement, are refused.
#[test]
fn parted_words_without_a_statement_are_refused() {
    let refused = |z: &dyn Fn(&mut Builder) -> ValueId, inputs: usize, open: bool| {
        let mut b = Builder::new();
        let z = z(&mut b);
        let ty = b.ty(z).clone();
        let mut input = Vec::new();
        for _ in 0..inputs {
            let own = b.must(Op::Own(z));
            input.push(b.must(Op::Input(own)));
        }
        let others = b.must(Op::AsAdd2(z));
        let dup = open.then(|| {
            let mask = b.must(Op::Mask { tag: 0, dom: ty.dom, shape: ty.shape, groups: 0 });
            (mask, b.must(Op::OpenMasked { x: others, mask }))
        });
        b.next_layer();
        let mut all = input;
        all.extend(dup.map(|(mask, dup)| b.must(Op::Join { mask, dup })));
        b.next_layer();
        b.reveal_reshared(all);
        let (circuit, _) = b.finish();
        verify_with(&malicious(&circuit), Openings::Any).err().map(|e| e.to_string())
    };
    let product = |b: &mut Builder| {
        let [a, c, ..] = operands(b, SHAPES, 32, 1);
        b.must(Op::MatMul { a, b: c, trans_b: false })
    };
    assert_eq!(refused(&product, 1, true), None);
    let is = |found: Option<String>, what: &str| {
        assert!(found.as_ref().is_some_and(|e| e.contains(what)), "{found:?}");
    };
    is(refused(&product, 0, true), "of which the owner inputs nothing");
    is(refused(&product, 2, true), "input twice");
    is(refused(&product, 1, false), "the others open nothing");
    let wide = |b: &mut Builder| {
        let x = b.secret(32, &[1, 20, 30], &words(1, 600));
        let of = |b: &mut Builder, shape: [u64; 3]| b.must(Op::Reshape(x, shape.to_vec()));
        let (x, y) = (of(b, [20, 1, 30]), of(b, [20, 1, 30]));
        b.must(Op::MatMul { a: x, b: y, trans_b: true })
    };
    is(refused(&wide, 1, true), "no product of matrices");
    let each = |b: &mut Builder| {
        let [x, ..] = operands(b, SHAPES, 32, 1);
        b.must(Op::Mul(x, x))
    };
    is(refused(&each, 1, true), "no product of matrices");
}

/// What owners input before the last proof, and the others open only behind it, has no statement in time.
#[test]
fn an_input_before_the_last_proof_is_refused() {
    let refused = |late: bool| {
        let mut b = Builder::new();
        let [x, y, ..] = operands(&mut b, SHAPES, 32, 1);
        let z = b.must(Op::MatMul { a: x, b: y, trans_b: false });
        let own = b.must(Op::Own(z));
        b.must(Op::Input(own));
        let shown = b.must(Op::AsAdd3(x));
        let shown = b.must(Op::Reshare(shown));
        let open = |b: &mut Builder| {
            let x = b.must(Op::AsAdd2(z));
            let ty = b.ty(z).clone();
            let mask = b.must(Op::Mask { tag: 0, dom: ty.dom, shape: ty.shape, groups: 0 });
            (mask, b.must(Op::OpenMasked { x, mask }))
        };
        let early = (!late).then(|| open(&mut b));
        b.next_layer();
        let (mask, dup) = early.unwrap_or_else(|| open(&mut b));
        if late {
            b.reveal_reshared(vec![shown]);
            b.next_layer();
        }
        b.must(Op::Join { mask, dup });
        if !late {
            b.next_layer();
            b.reveal_reshared(vec![shown]);
        }
        let (circuit, _) = b.finish();
        verify_with(&malicious(&circuit), Openings::Any).is_err()
    };
    assert!(!refused(false));
    assert!(refused(true));
}
