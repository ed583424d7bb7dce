//! Every instruction of a run is checked against its meaning on plain values: operands and result
//! are put together from what the three parties hold.

use crate::build::{Builder, words};
use slvr_circuit::Dom;
use slvr_circuit::multi_and::{MAX_FAN, MultiAnd};
use slvr_circuit::pairs::PairTable;
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, Conv, Hold, Lanes, Op, SplitPart, ValueId};
use slvr_ring::Data;
use slvr_runtime::clear::{self, plain};
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{Options, Report, run_outcome};
use slvr_runtime::party::{Held, Recorder};
use slvr_runtime::protocol::{committee::committee, complement, mask};
use slvr_runtime::share::encode::Encoded;
use slvr_runtime::share::{next, prev, reconstruct, sum};
use std::collections::BTreeMap;

/// What each party held of every value.
pub type Values = [BTreeMap<ValueId, Held>; 3];

fn one(held: &Held) -> &Data {
    match held {
        Held::One(x) => x,
        Held::Rep(_) => panic!("replicated"),
    }
}

/// The values of a recorded run.
pub fn values(recorded: &[Recorder; 3]) -> Values {
    [0, 1, 2].map(|i| recorded[i].values.iter().cloned().collect())
}

/// The plain value that the parties hold together; copies must agree.
pub fn together(circuit: &Circuit, values: &Values, v: ValueId) -> Data {
    let ty = circuit.ty(v);
    let (n, lanes) = (ty.elements() as usize, ty.lanes());
    let held = [0, 1, 2].map(|i| &values[i][&v]);
    // What party p stores of shard p - 1 and of shard p + 1.
    let stored = |p: usize| {
        let (before, after) = complement(lanes, p);
        assert_eq!(one(held[p]).len(), before.len() + after.len(), "{v} at party {p}");
        (one(held[p]).slice(before), one(held[p]).slice(after))
    };
    let by_shard = |f: &dyn Fn(usize) -> Data| Data::concat(&[&f(0), &f(1), &f(2)]);
    let whole = match ty.hold {
        Hold::Public => {
            let [a, b, c] = held.map(one);
            assert!(a == b && b == c, "public {v} differs between parties");
            a.clone()
        }
        Hold::Rep => {
            let parts = held.map(|h| match h {
                Held::Rep(x) => x,
                Held::One(_) => panic!("not replicated"),
            });
            reconstruct(parts).unwrap_or_else(|e| panic!("{v}: {e}"))
        }
        Hold::Add3 => sum(held.map(one)),
        Hold::Own => by_shard(&|r| one(held[r]).clone()),
        Hold::Dup => by_shard(&|r| {
            let (at_next, at_prev) = (stored(next(r)).0, stored(prev(r)).1);
            assert!(at_next == at_prev, "the copies of {v} in shard {r} differ");
            at_next
        }),
        Hold::Add2 => by_shard(&|r| {
            let mut t = stored(next(r)).0;
            t.add_assign(&stored(prev(r)).1);
            t
        }),
        Hold::Mask => {
            let words = [0, 1, 2].map(|p| mask_words(held[p], lanes, p));
            by_shard(&|r| {
                let [low, high, ..] = &words[r];
                assert!(words[next(r)][2] == *high, "the copies of {v} in shard {r} differ");
                assert!(words[prev(r)][3] == *low, "the copies of {v} in shard {r} differ");
                let mut a = low.clone();
                a.add_assign(high);
                a
            })
        }
    };
    assert_eq!((whole.dom(), whole.len()), (ty.dom, n), "{v} has another size than its type");
    whole
}

/// The words of a mask at a party: both of its own shard, one of each other.
pub fn mask_words(held: &Held, lanes: Lanes, party: usize) -> [Data; 4] {
    let Held::Rep(words) = held else { panic!("not a mask") };
    for (x, other) in [(&words.first, prev(party)), (&words.second, next(party))] {
        assert_eq!(x.len(), lanes.len(party) + lanes.len(other), "a mask at party {party}");
    }
    let at = mask::Places::new(lanes, party);
    [
        words.first.slice(at.own_first),
        words.second.slice(at.own_second),
        words.first.slice(at.before),
        words.second.slice(at.after),
    ]
}

/// The part a (own) or b (dup) of a replicated value, shard by shard.
fn split(values: &Values, x: ValueId, lanes: Lanes, own: bool) -> Data {
    let part = |r: usize| {
        let shard = lanes.ranges()[r].clone();
        let Held::Rep(rep) = &values[r][&x] else { panic!("not replicated") };
        if own {
            let mut a = rep.first.slice(shard.clone());
            a.add_assign(&rep.second.slice(shard));
            return a;
        }
        let Held::Rep(rep) = &values[prev(r)][&x] else { panic!("not replicated") };
        rep.first.slice(shard)
    };
    Data::concat(&[&part(0), &part(1), &part(2)])
}

/// Of a sum of three words the one of the owner, shard by shard, or those of the other two.
fn three(values: &Values, x: ValueId, lanes: Lanes, own: bool) -> Data {
    let words = |party: usize, r: usize| {
        let Held::One(words) = &values[party][&x] else { panic!("not additive") };
        words.slice(lanes.ranges()[r].clone())
    };
    let part = |r: usize| {
        if own {
            return words(r, r);
        }
        let mut sum = words(next(r), r);
        sum.add_assign(&words(prev(r), r));
        sum
    };
    Data::concat(&[&part(0), &part(1), &part(2)])
}

/// Checks every instruction of a recorded run.
pub fn check_steps(circuit: &Circuit, recorded: &[Recorder; 3]) {
    let values = values(recorded);
    for layer in &circuit.layers {
        for instr in layer.local.iter().chain(&layer.exchange) {
            let Some(out) = instr.out else { continue };
            let got = together(circuit, &values, out);
            let operand = |v: &ValueId| together(circuit, &values, *v);
            let lanes = circuit.ty(out).lanes();
            let want = match &instr.op {
                Op::Own(x) if circuit.ty(*x).hold == Hold::Mask => operand(x),
                Op::Own(x) | Op::OwnOf(x, _) | Op::AsAdd2(x) | Op::AsAdd2Of(x, _)
                    if circuit.ty(*x).hold == Hold::Add3 =>
                {
                    three(&values, *x, lanes, circuit.ty(out).hold == Hold::Own)
                }
                Op::Own(x) | Op::OwnOf(x, _) | Op::MaskOf(x, _) => split(&values, *x, lanes, true),
                Op::Dup(x) | Op::DupOf(x, _) => split(&values, *x, lanes, false),
                Op::Project { x, coin, tests, part: SplitPart::Own(g) | SplitPart::Dup(g) } => {
                    let ty = circuit.ty(*x);
                    let lanes = Lanes { n: ty.elements() as usize, groups: *g };
                    let part = split(&values, *x, lanes, circuit.ty(out).hold == Hold::Own);
                    let coin = operand(coin).get_u128(0);
                    let [sums] = plain::project([&part], &ty.shape, coin, *tests);
                    sums
                }
                Op::AsAdd2(x) | Op::AsAdd2Of(x, _) | Op::AsAdd3(x) | Op::Trivial(x) => operand(x),
                Op::Reshare(x)
                | Op::Input(x)
                | Op::Deal(x)
                | Op::DealMask(x)
                | Op::ReshareTwo(x)
                | Op::Open(x)
                | Op::OpenSum(x) => operand(x),
                Op::Join { mask, dup } => {
                    let mut x = operand(mask);
                    x.add_assign(&operand(dup));
                    x
                }
                Op::OpenMasked { x, mask } => {
                    let mut x = operand(x);
                    x.sub_assign(&operand(mask));
                    x
                }
                // What is opened, or ones as long as it is not: seen in what depends on it.
                Op::Coin | Op::Mask { .. } | Op::Random { .. } | Op::Admitted { .. } => continue,
                Op::Committee { coin, n, k } => {
                    let drawn = committee(operand(coin).get_u128(0), *n, *k);
                    let drawn: Vec<u128> = drawn.into_iter().map(u128::from).collect();
                    Data::from_u128s(Dom::Ring(32), &drawn)
                }
                op => {
                    let ids = op.operands();
                    let args: Vec<Data> = ids.iter().map(operand).collect();
                    let args: Vec<_> = args
                        .iter()
                        .zip(&ids)
                        .map(|(x, v)| (x, circuit.ty(*v).shape.as_slice()))
                        .collect();
                    plain::eval(op, &args).unwrap()
                }
            };
            assert!(got == want, "{} = {:?}: the parties hold another value", out, instr.op);
        }
    }
}

/// What the parties counted is what the circuit predicts.
pub fn check_traffic(circuit: &Circuit, report: &Report) {
    let predicted = Traffic::of_run(circuit, &report.admitted);
    assert_eq!((report.rounds, report.bytes_sent), (predicted.rounds, predicted.bytes));
}

/// Instructions of a comparison: of the split x = a + b modulo 2^w the carry, `Add2 B1`, with blocks of
/// `block` bits and trees of carries of `gates` nodes, one round each after the dealer's. The caller
/// starts a layer before the first instruction that reads the result of an exchange: here.
pub fn carry(b: &mut Builder, x: ValueId, w: u32, groups: u32, block: u32, gates: u32) -> ValueId {
    let mask = b.must(Op::MaskOf(x, groups));
    let own = b.must(Op::Own(mask));
    let dup = b.must(Op::DupOf(x, groups));
    let own = b.must(Op::ToBits { x: own, lo: 0, w });
    let index = b.must(Op::ToBits { x: dup, lo: 0, w });
    let blocks: Vec<u32> = (0..w).step_by(block as usize).map(|i| block.min(w - i)).collect();
    let table = b.must(Op::Thermometer { x: own, blocks: blocks.clone() });
    let table = b.must(Op::Deal(table));
    b.next_layer();
    let mut count = blocks.len() as u32;
    let mut nodes = b.must(Op::Pick { table, index, blocks });
    for tag in 0.. {
        if count == 1 {
            break;
        }
        let sizes: Vec<u32> =
            (0..count).step_by(gates as usize).map(|i| gates.min(count - i)).collect();
        let gates = MultiAnd::Carry(sizes);
        let factors = b.must(Op::SelectPlanes(nodes, gates.factors()));
        let ty = b.ty(factors).clone();
        let (dom, shape) = (ty.dom, ty.shape.clone());
        let mask = b.must(Op::Mask { tag, dom, shape, groups: ty.groups });
        let own = b.must(Op::Own(mask));
        let products = b.must(Op::MaskProducts { x: own, gates: gates.clone() });
        let products = b.must(Op::Deal(products));
        let open = b.must(Op::OpenMasked { x: factors, mask });
        b.next_layer();
        let mask = b.must(Op::AsAdd2(mask));
        count = gates.sizes().len() as u32;
        nodes = b.must(Op::AndMany { open, mask, products, nodes: Some(nodes), gates });
    }
    nodes
}

/// A run among three parties, in which everything may be opened, with what they held and said.
pub fn recorded(circuit: &Circuit, encoded: Encoded, seed: u64) -> Report {
    let options = Options {
        doors: Doors::new().any_openings(),
        seed: Some(seed),
        record: true,
        ..Options::default()
    };
    run_outcome(circuit, encoded, &options).unwrap().report(circuit).unwrap()
}

/// Runs among three parties, checks every instruction, and compares the outputs with the clear
/// evaluation under the same coins.
pub fn check(circuit: &Circuit, encoded: Encoded, seed: u64) -> Report {
    let plain_inputs = encoded.values(circuit);
    let report = recorded(circuit, encoded, seed);
    check_steps(circuit, report.recorded.as_ref().unwrap());
    let options = clear::Options { seed, coins: &report.coins, ..Default::default() };
    let plain = clear::evaluate(circuit, plain_inputs, &options).unwrap();
    assert!(plain.outputs == report.outputs, "three parties and the clear evaluation differ");
    check_traffic(circuit, &report);
    report
}

/// Random values are shared: copies agree, every component is as random as the value, and what is computed of them is
/// what the clear evaluation computes of the same values.
#[test]
fn random_values_are_shared_and_known_to_nobody() {
    let run = |seed: u64| {
        let mut b = Builder::new();
        b.secret(64, &[1, 3], &words(1, 3));
        let (dom, shape) = (Dom::Bits(70), vec![2, 100]);
        let r = b.must(Op::Random { tag: 0, dom, shape: shape.clone() });
        let s = b.must(Op::Random { tag: 1, dom, shape });
        // The first plane, and the first with the last.
        let x = b.must(Op::Xors { x: r, rows: vec![1, 0, 0, 1, 0, 32] });
        let y = b.must(Op::Xors { x: s, rows: vec![2, 0, 0, 3, 1, 0] });
        let product = b.must(Op::Mul(x, y));
        let out = b.round(Op::Reshare(product), Hold::Rep);
        let (circuit, encoded) = b.finish();
        let inputs = encoded.values(&circuit);
        let report = recorded(&circuit, encoded, seed);
        let recorded = report.recorded.as_ref().unwrap();
        check_steps(&circuit, recorded);
        let values = values(recorded);
        let drawn = [r, s].map(|v| together(&circuit, &values, v));
        for (i, party) in values.iter().enumerate() {
            let Held::Rep(own) = &party[&r] else { panic!("not replicated") };
            // What a party lacks, and what it lacks together with what it has.
            let mut lacking = drawn[0].clone();
            lacking.sub_assign(&own.first);
            lacking.sub_assign(&own.second);
            for bits in [&lacking, &drawn[0], &own.first, &own.second] {
                let ones: u32 = bits.to_u128s().iter().map(|x| x.count_ones()).sum();
                assert!(ones.abs_diff(7000) < 350, "seed {seed}, party {i}: {ones} of 14000");
            }
        }
        let random = drawn.each_ref().map(Data::to_u128s);
        let options = clear::Options { trace: true, random: &random, ..Default::default() };
        let plain = clear::evaluate(&circuit, inputs, &options).unwrap();
        assert!(plain.trace[out.index()] == Some(together(&circuit, &values, out)), "seed {seed}");
        random
    };
    let (a, b) = (run(1), run(2));
    assert_eq!(run(1), a);
    assert!(a[0] != a[1] && a[0] != b[0]);
}

#[test]
fn the_words_of_random_instructions_are_told_in_every_domain() {
    for dom in [Dom::Ring(64), Dom::Ring(8), Dom::Bits(70)] {
        let mut b = Builder::new();
        b.secret(64, &[1, 3], &words(1, 3));
        let r = b.must(Op::Random { tag: 0, dom, shape: vec![2, 5] });
        let (circuit, encoded) = b.finish();
        let report = recorded(&circuit, encoded, 1);
        let values = values(report.recorded.as_ref().unwrap());
        let drawn = report.drawn(&circuit).expect("a recorded run");
        assert_eq!(drawn, [together(&circuit, &values, r).to_u128s()], "{dom:?}");
    }
}

#[test]
fn exact_truncation_by_macros() {
    // y = floor-ish(x / 2^f) through the split, as a compiler would expand it (docs, "Truncation"):
    // exact shares of the parts, one product of top bits.
    let (k, f, n) = (64u32, 16u32, 200u64);
    let xs: Vec<u128> =
        (0..n).map(|i| ((i as i64 - 100) * 12_345_678_901) as u64 as u128).collect();
    for seed in 0..3 {
        let mut b = Builder::new();
        let x = b.secret(k, &[1, n], &xs);
        let shape = [1, n];
        let ring = Dom::Ring(k);
        // b += 2^(k-2), so that the top bit of a + b is 0.
        let xo = b.same(Op::Offset(x, 1 << (k - 2)), Hold::Rep);
        let own = b.same(Op::Own(xo), Hold::Own);
        let dup = b.same(Op::Dup(xo), Hold::Dup);
        let high_a = b.same(Op::Shr(own, f), Hold::Own);
        let high_b = b.same(Op::Shr(dup, f), Hold::Dup);
        let msb_a = b.same(Op::Shr(own, k - 1), Hold::Own);
        let msb_b = b.same(Op::Shr(dup, k - 1), Hold::Dup);
        // wrap = msb a + msb b - msb a msb b, since the top bit of the sum is 0.
        let dealt = b.same(Op::Deal(msb_a), Hold::Add2);
        let high_a = b.same(Op::Input(high_a), Hold::Rep);
        let shared_a = b.same(Op::Input(msb_a), Hold::Rep);
        b.next_layer();
        let both = b.same(Op::Mul(dealt, msb_b), Hold::Add2);
        let both = b.round(Op::ReshareTwo(both), Hold::Rep);
        let msb_b = b.same(Op::Trivial(msb_b), Hold::Rep);
        let high_b = b.same(Op::Trivial(high_b), Hold::Rep);
        let either = b.op(Op::Add(shared_a, msb_b), Hold::Rep, ring, &shape);
        let wrap = b.op(Op::Sub(either, both), Hold::Rep, ring, &shape);
        let wrap = b.same(Op::Scale(wrap, 1 << (k - f)), Hold::Rep);
        let y = b.op(Op::Add(high_a, high_b), Hold::Rep, ring, &shape);
        let y = b.op(Op::Sub(y, wrap), Hold::Rep, ring, &shape);
        let y = b.same(Op::Offset(y, (1u128 << k) - (1 << (k - 2 - f))), Hold::Rep);
        b.reveal(y, 0, 1.0);
        let (circuit, encoded) = b.finish();
        let plain = clear::evaluate(
            &circuit,
            encoded.values(&circuit),
            &clear::Options { seed, ..Default::default() },
        );
        let report = recorded(&circuit, encoded, seed);
        check_steps(&circuit, report.recorded.as_ref().unwrap());
        for outputs in [report.outputs, plain.unwrap().outputs] {
            for (got, x) in outputs[0].values.iter().zip(&xs) {
                let want = ((*x as u64 as i64) >> f) as f64;
                assert!(want - got == 0.0 || want - got == 1.0, "want {want}, got {got}");
            }
        }
    }
}

/// The carry of a + b modulo 2^w is [x < b]: dealer's tables, the choice of an entry and trees of
/// carries, for shards cut between groups and not.
#[test]
fn comparisons_by_thermometers() {
    let cases = [
        (64, 63, &[1, 5, 41][..], 0, 4, MAX_FAN),
        (64, 64, &[1, 7, 30][..], 7, 3, 4),
        (32, 31, &[1, 2, 70][..], 1, 4, 8),
        (32, 32, &[1, 2, 70][..], 2, 2, 5),
        (8, 3, &[1, 3, 64][..], 3, 4, 2),
        (16, 16, &[1, 100][..], 20, 1, 2),
    ];
    for (i, (k, w, shape, groups, block, gates)) in cases.into_iter().enumerate() {
        let mut b = Builder::new();
        let n = shape.iter().product::<u64>() as usize;
        let x = b.secret(k, shape, &words(i as u64, n));
        let c = carry(&mut b, x, w, groups, block, gates);
        b.round(Op::ReshareTwo(c), Hold::Rep);
        let reshare_two = ValueId(c.0 + 1);
        let (circuit, encoded) = b.finish();
        let inputs = encoded.values(&circuit);
        let report = recorded(&circuit, encoded, i as u64);
        check_traffic(&circuit, &report);
        let recorded = report.recorded.as_ref().unwrap();
        check_steps(&circuit, recorded);
        // Of the two numbers, which are the results of instructions 4 and 5.
        let carries = |part: &dyn Fn(u32) -> Data| {
            let (a, b) = (part(4).to_u128s(), part(5).to_u128s());
            let sums = a.iter().zip(&b).map(|(a, b)| (a + b) >> w);
            Data::from_u128s(Dom::Bits(1), &sums.collect::<Vec<_>>())
        };
        let values = values(recorded);
        let held = |v: u32| together(&circuit, &values, ValueId(v));
        assert!(together(&circuit, &values, reshare_two) == carries(&held), "case {i}");
        let options = clear::Options { seed: 9, trace: true, ..Default::default() };
        let plain = clear::evaluate(&circuit, inputs, &options).unwrap();
        let held = |v: u32| plain.trace[v as usize].clone().unwrap();
        assert!(held(reshare_two.0) == carries(&held), "case {i}, on plain values");
    }
}

/// Grouped shards with an empty axis: parties hold rows of nothing, and sums and products of nothing
/// are zeros.
#[test]
fn rows_without_elements() {
    for groups in [1, 2, 4] {
        let mut b = Builder::new();
        let xs = words(3, 12);
        let x = b.secret(32, &[1, 4, 3], &xs);
        let x = b.must(Op::Reshape(x, vec![4, 3, 1]));
        let y = b.must(Op::DupOf(x, groups));
        let m = b.must(Op::MaskOf(x, groups));
        for v in [y, m] {
            let none = b.must(Op::Slice { x: v, axis: 1, start: 0, len: 0, step: 1 });
            b.must(Op::Sum { x: none, axes: vec![1] });
            b.must(Op::Concat { xs: vec![none, v, none], axis: 1 });
            let weights = b.constant(Dom::Ring(32), &[1, 1, 2], vec![3, 5]);
            b.must(Op::MatMul { a: none, b: weights, trans_b: false });
            let turned = b.must(Op::Transpose(none, vec![0, 2, 1]));
            let weights = b.constant(Dom::Ring(32), &[1, 0, 2], vec![]);
            b.must(Op::MatMul { a: turned, b: weights, trans_b: false });
            b.must(Op::Broadcast(none, vec![4, 0, 5]));
        }
        let (circuit, encoded) = b.finish();
        check(&circuit, encoded, 1);
    }
}

/// One row of the left operand, or one image, is a group: the public operand is one for all.
#[test]
fn public_weights_are_not_cut() {
    let mut b = Builder::new();
    let x = b.secret(64, &[1, 6, 10], &words(4, 60));
    let weights = b.public(64, &[1, 10, 12], &words(5, 120));
    let m = b.must(Op::MaskOf(x, 6));
    let d = b.must(Op::DupOf(x, 6));
    let y = [m, d].map(|a| b.must(Op::MatMul { a, b: weights, trans_b: false }));
    let y = b.must(Op::Join { mask: y[0], dup: y[1] });
    b.reveal(y, 0, 1.0);
    let direct = b.must(Op::MatMul { a: x, b: weights, trans_b: false });
    b.reveal(direct, 0, 1.0);
    let images = b.must(Op::Reshape(x, vec![1, 6, 1, 2, 5]));
    let kernels = b.public(64, &[1, 3, 1, 2, 2], &words(6, 12));
    let conv = |x| Op::Conv2d { x, w: kernels, conv: Conv::new(1, 1) };
    let (m, d) = (b.must(Op::MaskOf(images, 3)), b.must(Op::DupOf(images, 3)));
    let y = [m, d].map(|x| b.must(conv(x)));
    let y = b.must(Op::Join { mask: y[0], dup: y[1] });
    b.reveal(y, 0, 1.0);
    let direct = b.must(conv(images));
    b.reveal(direct, 0, 1.0);
    let (circuit, encoded) = b.finish();
    let report = check(&circuit, encoded, 1);
    let words = |i: usize| report.outputs[i].words.clone();
    assert!(words(0) == words(1) && words(2) == words(3));
}

#[test]
fn outputs_are_decoded_and_divided() {
    let mut b = Builder::new();
    let x = b.secret(32, &[1, 2], &[3 << 16, (-5i64 << 16) as u32 as u128]);
    b.reveal(x, 16, 2.0);
    let (circuit, encoded) = b.finish();
    let report = check(&circuit, encoded, 1);
    assert_eq!(report.outputs[0].values, [1.5, -2.5]);
    assert_eq!(report.outputs[0].name, "out0");
    assert_eq!(report.upload_bytes, [vec![32 + 8], vec![]]);
}

/// Tables by a rule hold what the rule says, in every ring, and parties gather by them.
#[test]
fn tables_of_pairs_gather_among_parties() {
    for (k, n) in [(8, 5), (16, 7), (64, 100)] {
        let members: Vec<u128> = (0..n).map(|i| u128::from(i * 37 % 101)).collect();
        let mut b = Builder::new();
        let x = b.secret(16, &[1, n], &members);
        let index = |b: &mut Builder, table: PairTable| {
            let dom = Dom::Ring(if table == PairTable::Number { 32 } else { k });
            let op = Op::Pairs { table, n, dom };
            b.op(op, Hold::Public, dom, &table.shape(n))
        };
        let pick = |b: &mut Builder, x, index, shape: &[u64]| {
            b.op(Op::Gather { x, index, axis: 1, batch: 0 }, Hold::Rep, Dom::Ring(16), shape)
        };
        let pairs = n * (n - 1) / 2;
        let (later, earlier) = (index(&mut b, PairTable::Later), index(&mut b, PairTable::Earlier));
        let (later, earlier) =
            (pick(&mut b, x, later, &[1, pairs]), pick(&mut b, x, earlier, &[1, pairs]));
        let gap = b.op(Op::Sub(later, earlier), Hold::Rep, Dom::Ring(16), &[1, pairs]);
        let number = index(&mut b, PairTable::Number);
        let gaps = pick(&mut b, gap, number, &[1, n, n - 1]);
        b.reveal(gaps, 0, 1.0);
        let (circuit, encoded) = b.finish();
        let outputs = check(&circuit, encoded, 1).outputs;
        let of = |i: u64| (i * 37 % 101) as f64;
        let others = |i: u64| (0..n).filter(move |&j| j != i).map(move |j| (i.max(j), i.min(j)));
        let want: Vec<f64> = (0..n).flat_map(others).map(|(i, j)| of(i) - of(j)).collect();
        assert_eq!(outputs[0].values, want, "{k} {n}");
    }
}

#[test]
fn committees_gather_among_parties() {
    let mut b = Builder::new();
    let x = b.secret(16, &[1, 5, 2], &(0..10).collect::<Vec<_>>());
    let x = b.op(Op::Reshape(x, vec![5, 2]), Hold::Rep, Dom::Ring(16), &[5, 2]);
    let coin = b.op(Op::Coin, Hold::Public, Dom::Ring(128), &[]);
    b.next_layer();
    let c = b.op(Op::Committee { coin, n: 5, k: 3 }, Hold::Public, Dom::Ring(32), &[5, 3]);
    let op = Op::Gather { x, index: c, axis: 0, batch: 0 };
    let g = b.op(op, Hold::Rep, Dom::Ring(16), &[5, 3, 2]);
    b.reveal(g, 0, 1.0);
    let (circuit, encoded) = b.finish();
    let a = check(&circuit, encoded.clone(), 1);
    let b = check(&circuit, encoded, 2);
    assert_ne!(a.coins, b.coins);
    let members = committee(a.coins[0], 5, 3);
    let want: Vec<f64> = members.iter().flat_map(|&j| [2 * j, 2 * j + 1].map(f64::from)).collect();
    assert_eq!(a.outputs[0].values, want);
}
