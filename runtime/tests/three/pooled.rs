//! Exchanges of sums of products, between groups of every kind: one group, whose leading axis may be added up, axes of size 0 and
//! 1, shapes before and after. Honest parties compute what they do without proofs, at the predicted cost, and every altered
//! frame is noticed; also of a party that leaves out its products.

use crate::agreement::{agrees, notices_every_frame};
use crate::build::{Builder, elements, words};
use crate::proofs::{options, run};
use crate::tampering::{Rule, Truth, bent, ended_well};
use slvr_circuit::proof::memory;
use slvr_circuit::verify::{Openings, verify_with};
use slvr_circuit::{Circuit, Op, Security, ValueId};
use slvr_runtime::share::encode::Encoded;

/// Products of words of two tensors.
#[derive(Clone)]
struct Products {
    k: u32,
    shape: Vec<u64>,
    /// In which shape they are added up, over which axes, and the shape after that.
    view: Vec<u64>,
    axes: Vec<u64>,
    to: Option<Vec<u64>>,
    groups: u32,
    /// How often their sum is added to itself.
    doubled: u32,
    /// Whether only the owner's part of one factor counts, and whether sums are opened under a mask.
    mask: bool,
}

fn products(shape: &[u64], view: &[u64], axes: &[u64], groups: u32) -> Products {
    let [shape, view, axes] = [shape, view, axes].map(<[u64]>::to_vec);
    Products { k: 64, shape, view, axes, to: None, groups, doubled: 0, mask: false }
}

/// A circuit with such exchanges, of one `times` times.
fn circuit(all: &[Products], times: u32) -> (Circuit, Encoded) {
    let mut b = Builder::new();
    let (mut shown, mut open) = (Vec::new(), Vec::new());
    for (i, p) in (0..).zip(all) {
        let mut secret = |seed: u64| -> ValueId {
            let shape = [&[1], &p.shape[..]].concat();
            let x = b.secret(p.k, &shape, &words(seed, elements(&shape)));
            b.must(Op::Reshape(x, p.shape.clone()))
        };
        let (x, y) = (secret(10 + i), secret(20 + i));
        let known = b.must(Op::DupOf(y, p.groups));
        // Of most a factor that no replicated value is made of.
        let known = if i % 3 == 0 && all.len() > 1 { known } else { b.must(Op::Neg(known)) };
        let two = if p.mask {
            let mask = b.must(Op::MaskOf(x, p.groups));
            b.must(Op::AsAdd2(mask))
        } else {
            b.must(Op::AsAdd2Of(x, p.groups))
        };
        let mut z = b.must(Op::Mul(two, known));
        for _ in 0..p.doubled {
            z = b.must(Op::Add(z, z));
        }
        let z = b.must(Op::Reshape(z, p.view.clone()));
        let mut z = b.must(Op::Sum { x: z, axes: p.axes.clone() });
        if let Some(to) = &p.to {
            z = b.must(Op::Reshape(z, to.clone()));
        }
        for _ in 0..times {
            if !p.mask {
                shown.push(b.must(Op::ReshareTwo(z)));
                continue;
            }
            let ty = b.ty(z).clone();
            let tag = open.len() as u32;
            let mask = Op::Mask { tag, dom: ty.dom, shape: ty.shape, groups: ty.groups };
            let mask = b.must(mask);
            open.push((mask, b.must(Op::OpenMasked { x: z, mask })));
        }
    }
    b.next_layer();
    shown.extend(open.into_iter().map(|(mask, dup)| b.must(Op::Join { mask, dup })));
    b.reveal_reshared(shown);
    let (circuit, encoded) = b.finish();
    (Circuit { security: Security::Malicious, ..circuit }, encoded)
}

fn cases() -> Vec<Vec<Products>> {
    let p = products;
    let with = |to: &[u64], p: Products| Products { to: Some(to.to_vec()), ..p };
    let masked = |k, p: Products| Products { k, mask: true, ..p };
    vec![
        // One group has all of the leading axis.
        vec![p(&[4, 3], &[4, 3], &[0], 1)],
        vec![p(&[4], &[4], &[0], 1)],
        vec![p(&[2, 3], &[2, 3], &[0, 1], 1)],
        vec![p(&[], &[], &[], 1)],
        vec![p(&[4, 3], &[4, 3], &[], 1)],
        vec![masked(32, p(&[4, 3], &[4, 3], &[0], 1))],
        vec![Products { k: 128, ..p(&[4, 3], &[4, 3], &[0], 1) }],
        // What is empty in a shard stands before what is not.
        vec![p(&[4, 3], &[4, 3], &[0], 1), p(&[6, 4], &[6, 4], &[1], 3)],
        vec![p(&[2, 0], &[2, 0], &[0], 1), p(&[3, 1], &[3, 1], &[1], 3)],
        vec![p(&[1, 1], &[1, 1], &[0], 1)],
        vec![p(&[1, 6], &[1, 6], &[0], 3)],
        vec![p(&[3, 0], &[3, 0], &[1], 3)],
        vec![p(&[3, 0, 2], &[3, 0, 2], &[2], 3)],
        vec![p(&[0, 3], &[0, 3], &[1], 5)],
        vec![with(&[3, 1, 2], p(&[6, 4], &[3, 2, 4], &[2], 3))],
        vec![with(&[1, 12], p(&[6, 4], &[1, 6, 2, 2], &[2], 3))],
        vec![p(&[4, 5], &[2, 2, 5], &[1, 2], 2)],
        vec![masked(16, p(&[4, 6], &[2, 2, 2, 3], &[1, 3], 2))],
        vec![p(&[4, 1024], &[4, 1024], &[1], 4)],
    ]
}

#[test]
fn sums_are_right_at_the_predicted_cost_and_every_altered_frame_is_noticed() {
    let mut flips = 0;
    for (i, case) in cases().iter().enumerate() {
        let (circuit, encoded) = circuit(case, 1);
        let what = format!("case {i}");
        agrees(&circuit, &encoded, 7, &what);
        flips += notices_every_frame(&circuit, &encoded, &what, &mut |bits| bits / 2);
    }
    assert!(flips > 100, "{flips} frames");
}

/// A party that leaves the products of one instruction out, in what it sends and in what it proves, is noticed: it runs another
/// circuit, in which a factor is another value.
#[test]
fn a_party_that_leaves_products_out_is_noticed() {
    for case in cases().into_iter().take(8) {
        let (circuit, encoded) = circuit(&case, 1);
        let truth = Truth::of(&circuit, &encoded, 1);
        let mut other = circuit.clone();
        let values: Vec<ValueId> = other.inputs.iter().map(|i| i.value).collect();
        // Of two factors one is taken twice.
        for i in other.layers[0].local.iter_mut() {
            if let Op::Reshape(x, _) = &mut i.op
                && let Some(at) = values.iter().position(|v| v == x)
            {
                *x = values[at / 2 * 2];
            }
        }
        for party in 0..3 {
            let rule = Rule { party, frame: None };
            let (outcome, log) = bent(&circuit, &encoded, rule, Some(&other), 1);
            assert!(!truth.is_missed(&outcome, party), "party {party}");
            ended_well(&circuit, &outcome, &log, party, &rule);
        }
    }
}

/// What a hostile circuit writes out is bounded, and memory before a run has it.
#[test]
fn many_columns_and_places_are_refused_or_counted() {
    let admitted = |case: Products, times| {
        let (circuit, _) = circuit(&[case], times);
        let found = verify_with(&circuit, Openings::Any).is_ok();
        found.then(|| memory(&circuit, 3, 2).expect("a proof"))
    };
    let doubled = |doubled| Products { doubled, ..products(&[0, 1024], &[0, 1024], &[1], 3) };
    // 2^6 products in each of 1024 places.
    assert!(admitted(doubled(6), 1).is_some_and(|bytes| bytes > 100_000_000));
    assert_eq!(admitted(doubled(13), 1), None);
    assert_eq!(admitted(products(&[4, 1025], &[4, 1025], &[1], 4), 1), None);
    // One sum is exchanged a thousand times: small chunks are joined.
    let often = admitted(products(&[3, 1024], &[3, 1024], &[1], 3), 1000);
    assert!(often.is_some_and(|bytes| bytes > 300_000_000), "{often:?}");
}

/// Places of a sum over an axis of size 0 are none, however long its other axes are: to write out those of the others would take
/// more memory than there is.
#[test]
fn a_sum_of_nothing_has_no_places() {
    let (circuit, encoded) = circuit(&[products(&[0], &[3, 1 << 31, 0], &[1, 2], 3)], 1);
    let with = run(&circuit, &encoded, &options(7));
    assert_eq!(with.outputs[0].words.to_u128s(), [0; 3]);
}
