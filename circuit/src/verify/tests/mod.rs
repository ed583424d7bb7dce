//! A circuit with every operation is accepted; one change per invariant is not. Those of speculation and of proofs are
//! broken where these are tested.

use super::*;
use crate::pairs::PairTable;
use crate::speculation::{Gated, gated};
use crate::text::forms::NAMES;
use crate::text::{parse, print};
use crate::{Const, Dom, Encoding, Field, From, Hold, Instr, Layer, Op, Site, Type};
use std::collections::BTreeSet;

mod groups;
mod masks;

/// The text of a circuit that uses every operation.
pub(crate) const ALL_OPS: &str = include_str!("../all_ops.txt");

const SMALL: &str = r#"circuit "small"
party "Client" 2
party "Server" 1
input %0 "x" from 0 fixed(16, -8.0, 8.0) [3] : A64[2,3]
const %1 : pub.A32[2] = 2 0
output 0 "y" to 1 [2,2] ring 64 frac 32 factor 1.0 divisor 1.0
site 0 "s" line 1
layer 0:
  %2 = gather %0 %1 axis 1 batch 0 : A64[2,2] @0
  %3 = mul %2 %2 : add3.A64[2,2] @0
  exchange:
  %4 = reshare %3 : A64[2,2] @0
  drop %0 %3
layer 1:
  %5 = as_add3 %4 : add3.A64[2,2] @0
  exchange:
  open_to %5 output 0 @0
  drop %4 %5
"#;

pub(crate) fn all_ops() -> Circuit {
    parse(ALL_OPS).unwrap()
}

pub(crate) fn small() -> Circuit {
    parse(SMALL).unwrap()
}

#[test]
fn accepts() {
    verify(&small()).unwrap();
    verify(&all_ops()).unwrap();
}

/// The sample circuit has all operations there are, but for the two that only circuits against a malicious party have.
#[test]
fn the_sample_has_every_operation() {
    let c = all_ops();
    let instrs = c.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange));
    let mut names: BTreeSet<&str> = instrs.map(|i| i.op.name()).collect();
    assert!(names.insert("prove") && names.insert("begin_proof"), "{names:?}");
    assert!(names.iter().eq(NAMES.iter().collect::<BTreeSet<_>>()), "{names:?}");
    assert_eq!(NAMES.len(), 66, "{names:?}");
}

/// Applies a change to the small circuit and returns the error.
fn broken(change: impl Fn(&mut Circuit)) -> VerifyError {
    let mut c = small();
    change(&mut c);
    let e = verify(&c).expect_err("the change must be refused");
    assert!(!e.to_string().is_empty());
    e
}

fn v(i: u32) -> ValueId {
    ValueId(i)
}

#[test]
fn invariant_1_bounds() {
    let e = broken(|c| c.parties[0].size = 0);
    assert_eq!(e, VerifyError::PartySize { set: 0, size: 0 });
    broken(|c| c.parties[0].size = u64::MAX);
    let e = broken(|c| c.sites = vec![Site { name: String::new(), line: 0 }; MAX_VALUES + 1]);
    assert_eq!(e, VerifyError::TooMany("sites"));
    let e = broken(|c| c.layers.resize(MAX_LAYERS + 1, Layer::default()));
    assert_eq!(e, VerifyError::TooMany("layers"));
}

#[test]
fn invariant_2_types() {
    let bad = |dom, shape: &[u64]| {
        let e = broken(|c| c.types[3] = Type::new(Hold::Add3, dom, shape));
        assert!(matches!(e, VerifyError::BadType { value: ValueId(3), .. }), "{e}");
    };
    bad(Dom::Ring(63), &[2, 2]);
    bad(Dom::Bits(0), &[2, 2]);
    bad(Dom::Bits(MAX_PLANES + 1), &[2, 2]);
    bad(Dom::Ring(64), &[1; MAX_RANK + 1]);
    bad(Dom::Ring(64), &[1 << 34, 2]);
    bad(Dom::Ring(64), &[u64::MAX, u64::MAX, 0]);
}

#[test]
fn invariant_3_ids() {
    let e = broken(|c| c.layers[0].local[1].op = Op::Mul(v(2), v(99)));
    assert!(matches!(e, VerifyError::NoValue { value: ValueId(99), .. }));
    let e = broken(|c| c.layers[0].local[0].out = Some(v(u32::MAX)));
    assert!(matches!(e, VerifyError::NoValue { .. }));
    let e = broken(|c| c.layers[0].local[1].site = 1);
    assert!(matches!(e, VerifyError::NoIndex { what: "site", .. }));
    let e = broken(|c| c.layers[1].exchange[0].op = Op::OpenTo { x: v(5), output: 1 });
    assert!(matches!(e, VerifyError::NoIndex { what: "output", .. }));
    let e = broken(|c| c.inputs[0].from = From::Each(2));
    assert!(matches!(e, VerifyError::BadInput { .. }));
    let e = broken(|c| c.inputs[0].value = v(70));
    assert!(matches!(e, VerifyError::BadInput { .. }));
    let e = broken(|c| c.consts[0].value = v(70));
    assert!(matches!(e, VerifyError::BadConst { .. }));
}

#[test]
fn invariant_20_states() {
    let kept = "  keep %99 state 7 @1\n";
    let refused = |instead: &str| match verify(&parse(&ALL_OPS.replace(kept, instead)).unwrap()) {
        Err(VerifyError::BadState { name, why }) if name == "history" => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(""), "it is not kept for the next round");
    assert_eq!(refused(&kept.repeat(2)), "it is kept twice");
    assert_eq!(refused("  keep %104 state 7 @1\n"), "another type is kept");
}

#[test]
fn invariant_21_loads() {
    let load = |start, len| Op::Load { x: v(0), start, len };
    // The gather reads the input, too.
    let first = |op: Op, c: &mut Circuit| {
        c.types.push(Type::new(Hold::Rep, Dom::Ring(64), [1, 3]));
        let out = Some(v(c.types.len() as u32 - 1));
        c.layers[0].local.insert(0, Instr { out, op, site: 0 });
    };
    let e = broken(|c| first(load(1, 1), c));
    assert!(matches!(e, VerifyError::Load { value: ValueId(0), .. }), "{e}");
    // Alone it is fine, if its members exist.
    let alone = |start, len| {
        let mut c = small();
        let Op::Gather { index, .. } = c.layers[0].local[0].op else { panic!("a gather") };
        c.layers[0].local[0].op = Op::Gather { x: v(6), index, axis: 1, batch: 0 };
        c.types.push(Type::new(Hold::Rep, Dom::Ring(64), [2, 3]));
        let all = Instr { out: Some(v(6)), op: load(start, len), site: 0 };
        c.layers[0].local.insert(0, all);
        c
    };
    assert_eq!(verify(&alone(0, 2)), Ok(()));
    assert_eq!(alone(0, 2).loaded(), BTreeSet::from([v(0)]));
    for (start, len) in [(1, 2), (0, 0), (u64::MAX, 2), (0, 3)] {
        assert!(verify(&alone(start, len)).is_err(), "{start} {len}");
    }
    // What is public, or no input, is not loaded.
    let mut c = alone(0, 2);
    c.inputs[0].from = From::Public;
    assert!(verify(&c).is_err());
    let e = broken(|c| c.layers[0].local[1].op = Op::Load { x: v(2), start: 0, len: 2 });
    assert!(matches!(e, VerifyError::Load { value: ValueId(2), .. }), "{e}");
}

#[test]
fn invariant_4_single_assignment() {
    let e = broken(|c| {
        let again = c.layers[0].local[0].clone();
        c.layers[0].local.push(again);
    });
    assert!(matches!(e, VerifyError::Redefined { value: ValueId(2), .. }));
    let e = broken(|c| {
        let again = c.layers[0].exchange[0].clone();
        c.layers[0].exchange.push(again);
    });
    assert!(matches!(e, VerifyError::Redefined { value: ValueId(4), .. }));
    let e = broken(|c| c.consts.push(Const { value: v(1), data: vec![0, 0] }));
    assert!(matches!(e, VerifyError::Redefined { value: ValueId(1), .. }));
    let e = broken(|c| c.types.push(Type::new(Hold::Rep, Dom::Ring(8), [])));
    assert_eq!(e, VerifyError::Undefined(v(6)));
}

#[test]
fn invariant_5_defined_before_use() {
    let e = broken(|c| c.layers[0].local.swap(0, 1));
    assert!(matches!(e, VerifyError::NotYet { value: ValueId(2), .. }));
    // An exchange that reads a result of the same exchange.
    let e = broken(|c| {
        c.types.push(Type::new(Hold::Public, Dom::Ring(64), [2, 2]));
        c.layers[0].exchange.push(Instr { out: Some(v(6)), op: Op::Open(v(4)), site: 0 });
    });
    let VerifyError::NotYet { place, value } = e else { panic!("{e}") };
    assert_eq!((place.layer, place.exchange, place.instr, value), (0, true, 1, v(4)));
}

#[test]
fn invariant_6_drops() {
    let e = broken(|c| c.layers[1].local[0].op = Op::Add(v(4), v(3)));
    assert!(matches!(e, VerifyError::Dropped { value: ValueId(3), .. }));
    let why = |drop: &[u32]| {
        let drop: Vec<_> = drop.iter().map(|&i| v(i)).collect();
        match broken(|c| c.layers[1].drop = drop.clone()) {
            VerifyError::BadDrop { layer: 1, why, .. } => why,
            e => panic!("{e}"),
        }
    };
    assert_eq!(why(&[5, 4]), "the list is not ascending");
    assert_eq!(why(&[4, 4]), "the list is not ascending");
    assert_eq!(why(&[0]), "it was dropped before");
    assert_eq!(why(&[9]), "there is no such value");
    let e = broken(|c| c.layers[0].drop = vec![v(5)]);
    assert!(matches!(e, VerifyError::BadDrop { why: "it is not defined yet", .. }));
}

#[test]
fn invariants_7_and_8_sections_and_results() {
    let e = broken(|c| {
        let i = c.layers[0].exchange.remove(0);
        c.layers[0].local.push(i);
    });
    assert!(matches!(e, VerifyError::Section { .. }));
    let e = broken(|c| {
        let i = c.layers[1].local.remove(0);
        c.layers[1].exchange.insert(0, i);
    });
    assert!(matches!(e, VerifyError::Section { .. }));
    let e = broken(|c| c.layers[0].local[1].out = None);
    assert!(matches!(e, VerifyError::Result { .. }));
    let e = broken(|c| c.layers[1].exchange[0].out = Some(v(5)));
    assert!(matches!(e, VerifyError::Result { .. }));
}

#[test]
fn invariant_9_declared_types_are_the_inferred_ones() {
    for ty in [
        Type::new(Hold::Rep, Dom::Ring(64), [2, 2]),
        Type::new(Hold::Add3, Dom::Ring(32), [2, 2]),
        Type::new(Hold::Add3, Dom::Ring(64), [4]),
    ] {
        let e = broken(|c| c.types[3] = ty.clone());
        assert!(matches!(e, VerifyError::WrongType { value: ValueId(3), .. }), "{e}");
    }
    let e = broken(|c| c.layers[0].local[1].op = Op::Not(v(2)));
    assert!(matches!(e, VerifyError::Operands { .. }));
}

#[test]
fn invariant_10_inputs() {
    let bad = |change: &dyn Fn(&mut Circuit)| {
        let e = broken(change);
        assert!(matches!(e, VerifyError::BadInput { index: 0 | 1, .. }), "{e}");
    };
    bad(&|c| c.inputs[0].from = From::Public);
    bad(&|c| c.parties[0].size = 3);
    bad(&|c| c.inputs[0].shape = vec![3, 1]);
    bad(&|c| c.types[0].dom = Dom::Bits(64));
    bad(&|c| {
        let again = c.inputs[0].clone();
        c.inputs.push(again);
    });
    for (lo, hi) in [(1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (-1e30, 0.0)] {
        bad(&|c| {
            c.inputs[0].encoding =
                Encoding::Fixed { frac: 16, lo, hi, shift: 0, norm: f64::INFINITY }
        });
    }
    bad(&|c| c.inputs[0].encoding = Encoding::Int { lo: 0, hi: 0 });
    bad(&|c| {
        c.types[0].dom = Dom::Ring(8);
        c.inputs[0].encoding = Encoding::Int { lo: -129, hi: 0 };
    });
    bad(&|c| {
        c.types[0].dom = Dom::Ring(8);
        c.inputs[0].encoding = Encoding::Int { lo: 0, hi: 129 };
    });
    bad(&|c| c.inputs[0].encoding = Encoding::OneHot { classes: 3 });
    bad(&|c| c.inputs[0].fields = vec![Field { name: "f".into(), shape: vec![4] }]);
    bad(&|c| c.inputs[0].fields = vec![Field { name: "f".into(), shape: vec![u64::MAX; 40] }]);
    let mut c = small();
    let field = |n| Field { name: "f".into(), shape: vec![n] };
    c.inputs[0].fields = vec![field(1), field(2)];
    verify(&c).unwrap();
}

#[test]
fn invariant_11_constants() {
    let why = |change: &dyn Fn(&mut Circuit)| match broken(change) {
        VerifyError::BadConst { value: ValueId(1), why } => why,
        e => panic!("{e}"),
    };
    why(&|c| c.types[1].hold = Hold::Rep);
    why(&|c| c.consts[0].data = vec![0]);
    why(&|c| c.consts[0].data = vec![1 << 32, 0]);
}

#[test]
fn invariant_12_constant_indices() {
    let e = broken(|c| c.consts[0].data = vec![0, 3]);
    assert!(matches!(e, VerifyError::Index { index: 3, size: 3, .. }));
}

/// A table by a rule is held to the axis that it indexes as one of words is, without being written out.
#[test]
fn invariant_12_indices_by_a_rule() {
    let of = |n: u64, axis: u64| {
        parse(&format!(
            "circuit \"p\"\nparty \"A\" 1\nparty \"B\" 1\n\
             input %0 \"x\" from 0 int(0, 9) [{axis}] : A8[1,{axis}]\n\
             output 0 \"y\" to 1 [1,{0}] ring 8 frac 0 factor 1.0 divisor 1.0\n\
             site 0 \"s\" line 0\nlayer 0:\n  %1 = pairs later of {n} A32 : pub.A32[{0}] @0\n  \
             %2 = gather %0 %1 axis 1 batch 0 : A8[1,{0}] @0\n  \
             %3 = as_add3 %2 : add3.A8[1,{0}] @0\n  exchange:\n  open_to %3 output 0 @0\n",
            n * (n - 1) / 2
        ))
        .unwrap()
    };
    verify(&of(5, 5)).unwrap();
    let e = verify(&of(6, 5)).unwrap_err();
    assert!(matches!(e, VerifyError::Index { index: 5, size: 5, .. }), "{e}");
    let mut order = of(3, 5);
    for instr in &mut order.layers[0].local {
        if let Op::Pairs { table, .. } = &mut instr.op {
            *table = PairTable::Order;
        }
    }
    order.types[1].shape = vec![3, 2];
    order.types[2].shape = vec![1, 3, 2];
    order.types[3].shape = vec![1, 3, 2];
    order.outputs[0].shape = vec![1, 3, 2];
    let e = verify(&order).unwrap_err();
    assert!(matches!(e, VerifyError::Index { index: 0xffff_ffff, .. }), "{e}");
}

/// A rule that does not make what its result is declared to be, or that no ring holds, is refused.
#[test]
fn rules_of_tables_do_not_lie() {
    let lying = |change: &dyn Fn(&mut Op)| {
        let mut c = all_ops();
        let pairs = |i: &&mut Instr| matches!(i.op, Op::Pairs { .. });
        let mut all = c.layers.iter_mut().flat_map(|l| &mut l.local);
        change(&mut all.find(pairs).unwrap().op);
        verify(&c).unwrap_err()
    };
    let set = |n: u64, k: u32| {
        lying(&|op| *op = Op::Pairs { table: PairTable::Later, n, dom: Dom::Ring(k) })
    };
    for n in [4, 6, 1 << 16] {
        let e = set(n, 64);
        assert!(matches!(e, VerifyError::WrongType { .. }), "{e}");
    }
    for (n, k) in [(0, 8), (1, 8), ((1 << 16) + 1, 64), (u64::MAX, 128), (258, 8)] {
        let e = set(n, k);
        assert!(matches!(e, VerifyError::Operands { .. }), "{n} {k}: {e}");
    }
    let e = lying(&|op| *op = Op::Pairs { table: PairTable::Order, n: 5, dom: Dom::Bits(1) });
    assert!(matches!(e, VerifyError::Operands { .. }), "{e}");
    let e = lying(&|op| *op = Op::Pairs { table: PairTable::Number, n: 5, dom: Dom::Ring(8) });
    assert!(matches!(e, VerifyError::WrongType { .. }), "{e}");
}

#[test]
fn invariant_13_outputs() {
    let bad = |change: &dyn Fn(&mut Circuit)| {
        let e = broken(change);
        assert!(matches!(e, VerifyError::BadOutput { .. }), "{e}");
    };
    bad(&|c| c.layers[1].exchange.clear());
    bad(&|c| {
        let again = c.layers[1].exchange[0].clone();
        c.layers[1].exchange.push(again);
    });
    bad(&|c| c.outputs[0].ring = 32);
    bad(&|c| c.outputs[0].shape = vec![4]);
    bad(&|c| c.outputs[0].to = 2);
    bad(&|c| c.outputs[0].divisor = 0.0);
    bad(&|c| c.outputs[0].divisor = f64::NAN);
    bad(&|c| c.outputs[0].factor = 0.0);
    bad(&|c| c.outputs[0].factor = f64::INFINITY);
    bad(&|c| c.outputs[0].frac = u32::MAX);
    bad(&|c| c.outputs[0].fields = vec![Field { name: "f".into(), shape: vec![2, 2] }]);
}

#[test]
fn invariant_15_checks() {
    let why = |change: &dyn Fn(&mut Circuit)| {
        let mut c = all_ops();
        change(&mut c);
        match verify(&c) {
            Err(VerifyError::BadCheck { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(why(&|c| c.checks[0].set = 4), "its party set does not exist");
    assert_eq!(why(&|c| c.checks[0].value = v(105)), "its value does not exist");
    assert_eq!(why(&|c| c.checks.push(c.checks[0].clone())), "another check has its party set");
    let bits = "its value is not one public bit for each member";
    // Of nobody, of another shape, of words, and a share.
    assert_eq!(why(&|c| c.checks[0].set = 1), "its party set gives no inputs");
    assert_eq!(why(&|c| c.checks[0].value = v(89)), bits);
    assert_eq!(why(&|c| c.checks[0].value = v(52)), bits);
    assert_eq!(why(&|c| c.checks[0].value = v(49)), bits);
    let given = "its value is not the result of an instruction";
    for value in [0, 1, 4] {
        assert_eq!(why(&|c| c.checks[0].value = v(value)), given);
    }
}

/// A name of a party set is the name of a file, and all names are printed.
#[test]
fn invariant_18_names_leave_no_folder_and_no_line() {
    for name in ["", "../x", "/etc/x", "a/b", "a\\b", ".", "a b", "Client", "é", "a\0"] {
        let e = broken(|c| c.parties[1].name = name.into());
        assert!(matches!(e, VerifyError::Name(_)), "{name:?}: {e}");
    }
    let changes: [fn(&mut Circuit, String); 6] = [
        |c, name| c.name = name,
        |c, name| c.sizes.push((name, String::new())),
        |c, name| c.sizes.push((String::new(), name)),
        |c, name| c.sites[0].name = name,
        |c, name| c.inputs[0].name = name,
        |c, name| c.outputs[0].name = name,
    ];
    for change in changes {
        for bad in ["a\u{1b}[2J", "a\nb", "\u{9b}"] {
            let e = broken(|c| change(c, bad.into()));
            assert!(matches!(e, VerifyError::Name(_)), "{bad:?}: {e}");
        }
    }
    let field = Field { name: "\u{7}".into(), shape: vec![3] };
    let e = broken(|c| c.inputs[0].fields = vec![field.clone()]);
    assert!(matches!(e, VerifyError::Name(_)), "{e}");
}

/// Typing rules by one wrong line each: the line replaces the one that defines the same value in
/// the circuit of all operations, and its type fits what the author may have meant.
#[test]
fn operands_that_no_rule_takes() {
    let lines = [
        // Holders.
        "%10 = mul %9 %1 : add3.A64[2,3,4]",
        "%23 = mul %21 %22 : own.A64[2,3,4]",
        "%23 = extend %1 64 : A64[2,3,4]",
        "%37 = shr %36 3 : add2.A64[2,3,4]",
        "%25 = to_bits %1 lo 0 w 5 : B5[2,3,4]",
        "%30 = transpose %21 [2,0,1] : own.A64[4,2,3]",
        "%39 = add %21 %36 : add2.A64[2,3,4]",
        "%39 = sub %21 %22 : add2.A64[2,3,4]",
        "%13 = matmul %9 %1 transposed : add3.A64[2,3,3]",
        "%35 = gather %1 %3 axis 2 batch 1 : A64[2,3]",
        // Domains.
        "%8 = sub %2 %2 : B1[2,3,4]",
        "%7 = add %1 %2 : A64[2,3,4]",
        "%20 = mul %1 %19 : add3.A64[2,3,4]",
        "%27 = not %22 : dup.A64[2,3,4]",
        "%10 = neg %2 : B1[2,3,4]",
        "%17 = sum %2 axes [0] : B1[3,4]",
        "%26 = from_bits %22 128 : dup.A128[2,3,4]",
        "%26 = from_bits %25 4 : dup.A4[2,3,4]",
        // Shapes.
        "%7 = add %1 %3 : A64[2,3,4]",
        "%31 = add %1 %30 : A64[2,3,4]",
        "%39 = add %36 %8 : add2.A64[2,3,4]",
        "%37 = mul %21 %33 : own.A64[2,3,4]",
        "%37 = mul %33 %36 : add2.A64[2,3,4]",
        "%13 = matmul %1 %1 : add3.A64[2,3,3]",
        "%16 = conv2d %15 %1 stride 1 pad 0 : A64[1,2,1,3,4]",
        "%16 = conv2d %14 %15 stride 1 pad 0 : A64[1,1,2,1,1]",
        "%16 = conv2d %15 %14 stride 0 pad 1 : A64[1,2,1,3,3]",
        "%16 = conv2d %15 %14 stride 1 pad 1 dilation 0 : A64[1,2,1,3,3]",
        "%16 = conv2d %15 %14 stride 1 pad 0 groups 2 : A64[1,2,1,3,4]",
        "%16 = conv2d %15 %14 stride 1 pad 1 groups 0 : A64[1,2,1,3,3]",
        "%16 = conv2d %15 %14 stride 1 pad 1 groups 2 : A64[1,2,1,3,3]",
        "%16 = conv2d %15 %14 stride 1 pad 18446744073709551615 : A64[1,2,1,3,3]",
        "%33 = broadcast %1 [2,6,4] : A64[2,6,4]",
        "%33 = broadcast %6 [2,6] : pub.A64[2,6]",
        "%15 = reshape %1 [25] : A64[25]",
        "%15 = reshape %1 [18446744073709551615,0] : A64[18446744073709551615,0]",
        // Parameters.
        "%17 = sum %16 axes [2,0] : A64[2,3,3]",
        "%17 = sum %16 axes [5] : A64[1,2,1,3,3]",
        "%19 = narrow %1 128 : A128[2,3,4]",
        "%20 = raise %19 8 : A8[2,3,4]",
        "%23 = extend %21 32 : own.A32[2,3,4]",
        "%24 = shr %22 65 : dup.A64[2,3,4]",
        "%25 = to_bits %22 lo 60 w 5 : dup.B5[2,3,4]",
        "%25 = to_bits %22 lo 4294967295 w 5 : dup.B5[2,3,4]",
        "%28 = planes %27 start 1 step 2 count 3 : dup.B3[2,3,4]",
        "%28 = planes %27 start 1 step 0 count 2 : dup.B2[2,3,4]",
        "%29 = stack : dup.B7[2,3,4]",
        "%30 = transpose %1 [2,0,0] : A64[4,2,2]",
        "%31 = slice %1 axis 2 start 1 len 3 step 2 : A64[2,3,3]",
        "%31 = slice %1 axis 2 start 1 len 18446744073709551615 step 2 : A64[2,3,3]",
        "%31 = slice %1 axis 3 start 0 len 1 step 1 : A64[2,3,4]",
        "%31 = slice %1 axis 2 start 0 len 1 step 0 : A64[2,3,1]",
        "%32 = concat axis 2 : A64[2,3,6]",
        "%32 = concat %31 %30 axis 2 : A64[2,3,6]",
        "%35 = gather %1 %34 axis 0 batch 1 : A64[2,3,3]",
        "%46 = committee %45 n 2 k 2 : pub.A32[2,2]",
        "%46 = committee %45 n 18446744073709551615 k 2 : pub.A32[18446744073709551615,2]",
        "%51 = project %40 %45 tests 3 : A64[2,3]",
        "%51 = project %50 %6 tests 3 : A64[4,3]",
        "%51 = project %50 %4 tests 3 : A64[4,3]",
        "%51 = project %50 %45 tests 0 : A64[4,0]",
        "%51 = project %50 %45 tests 1025 : A64[4,1025]",
        "%51 = project %50 %45 tests 18446744073709551615 : A64[4,18446744073709551615]",
        "%51 = project %38 %45 tests 3 : B7[2,3]",
        "%51 = project %18 %45 tests 3 : add3.A64[2,3]",
        "%82 = project %50 %45 tests 3 own groups 3 : own.g3.A64[4,3]",
        "%82 = project %50 %45 tests 3 own groups 0 : own.A64[4,3]",
        "%82 = project %57 %45 tests 3 own groups 2 : own.g2.A64[4,3]",
        "open_to %40 output 0",
        "%72 = open_sum %40 : pub.A64[2,3,4]",
        "%72 = open_sum %47 : pub.A64[2,3,4]",
        // Splits, masks and groups.
        "%54 = mask_of %40 groups 3 : mask.g2.A64[2,3,4]",
        "%54 = mask_of %40 groups 4294967295 : mask.g2.A64[2,3,4]",
        "%54 = mask_of %10 groups 2 : mask.g2.A64[2,3,4]",
        "%55 = dup_of %36 groups 2 : dup.g2.A64[2,3,4]",
        "%55 = dup_of %40 groups 4 : dup.g2.A64[2,3,4]",
        "%56 = join %55 %54 : A64[2,3,4]",
        "%56 = join %54 %40 : A64[2,3,4]",
        "%56 = join %54 %22 : A64[2,3,4]",
        "%62 = join %54 %59 : A64[2,3,4]",
        "%57 = own %55 : own.g2.A64[2,3,4]",
        "%57 = offset %54 1 : mask.g2.A64[2,3,4]",
        "%57 = shr %54 1 : mask.g2.A64[2,3,4]",
        "%57 = extend %54 64 : mask.g2.A64[2,3,4]",
        "%57 = add %54 %6 : mask.g2.A64[2,3,4]",
        "%57 = add %54 %55 : A64[2,3,4]",
        "%57 = mul %54 %55 : add2.g2.A64[2,3,4]",
        "%57 = trivial %54 : A64[2,3,4]",
        "%57 = add %55 %22 : dup.g2.A64[2,3,4]",
        "%57 = transpose %54 [2,0,1] : mask.g2.A64[4,2,3]",
        "%57 = slice %54 axis 0 start 0 len 2 step 1 : mask.g2.A64[2,3,4]",
        "%57 = sum %54 axes [0,1] : mask.g2.A64[4]",
        "%57 = concat %54 %54 axis 0 : mask.g2.A64[4,3,4]",
        "%57 = gather %54 %52 axis 0 batch 0 : mask.g2.A64[2,3,4]",
        "%57 = transpose %22 [0,2,1] : dup.A64[2,4,3]",
        "%61 = mask 7 B3 [2,3,4] groups 4 : mask.g2.B3[2,3,4]",
        "%61 = mask 7 B4097 [2,3,4] groups 2 : mask.g2.B3[2,3,4]",
        "%61 = mask 7 A63 [2,3,4] groups 2 : mask.g2.B3[2,3,4]",
        "%61 = mask 7 B3 [18446744073709551615,2] groups 1 : mask.g2.B3[2,3,4]",
        "%62 = not %61 : mask.g2.B3[2,3,4]",
        "%62 = mul %61 %61 : mask.g2.B3[2,3,4]",
        // Bits of comparisons.
        "%60 = thermometer %58 [9] : own.g2.B127[2,3,4]",
        "%60 = thermometer %58 [4,4] : own.g2.B30[2,3,4]",
        "%60 = thermometer %58 [] : own.g2.B22[2,3,4]",
        "%60 = thermometer %58 [4294967295,8] : own.g2.B22[2,3,4]",
        "%60 = thermometer %58 [0,7] : own.g2.B22[2,3,4]",
        "%60 = thermometer %59 [4,3] : dup.g2.B22[2,3,4]",
        "%60 = thermometer %57 [4,3] : own.g2.B22[2,3,4]",
        "%63 = mask_products %61 carry [2] : mask.g2.B1[2,3,4]",
        "%63 = mask_products %57 carry [2] : own.g2.B1[2,3,4]",
        "%63 = mask_products %62 carry [3] : own.g2.B1[2,3,4]",
        "%63 = mask_products %62 carry [0] : own.g2.B1[2,3,4]",
        "%63 = mask_products %62 carry [] : own.g2.B1[2,3,4]",
        "%63 = mask_products %62 carry [1,1] : own.g2.B1[2,3,4]",
        "%63 = mask_products %62 and [1,1,1] : own.g2.B1[2,3,4]",
        "%63 = mask_products %62 and [4294967295,4] : own.g2.B1[2,3,4]",
        "%63 = mask_products %62 and [11] : own.g2.B1[2,3,4]",
        "%64 = to_planes %40 : B28[2,3,1]",
        "%64 = to_planes %25 : dup.B20[2,3,1]",
        "%67 = deal_mask %54 : mask.g2.A64[2,3,4]",
        "%67 = deal_mask %55 : mask.g2.A64[2,3,4]",
        "%68 = pick %65 %59 [3,3,1] : add2.g2.B3[2,3,4]",
        "%68 = pick %65 %59 [7,0] : add2.g2.B3[2,3,4]",
        "%68 = pick %66 %59 [4,3] : add2.g2.B3[2,3,4]",
        "%68 = pick %60 %59 [4,3] : add2.g2.B3[2,3,4]",
        "%68 = pick %65 %25 [4,3] : add2.g2.B3[2,3,4]",
        "%69 = open_masked %68 %59 : dup.g2.B3[2,3,4]",
        "%69 = open_masked %68 %54 : dup.g2.B3[2,3,4]",
        "%69 = open_masked %61 %61 : dup.g2.B3[2,3,4]",
        "%71 = and_many %70 %69 %66 carry [2] of %68 : add2.g2.B1[2,3,4]",
        "%71 = and_many %69 %70 %66 and [3] : add2.g2.B1[2,3,4]",
        "%71 = and_many %69 %70 %66 carry [2] : add2.g2.B1[2,3,4]",
        "%71 = and_many %69 %70 %66 carry [2] of %70 : add2.g2.B1[2,3,4]",
        "%71 = and_many %69 %70 %66 carry [2] of %69 : add2.g2.B1[2,3,4]",
        "%71 = and_many %69 %70 %66 and [2] of %70 : add2.g2.B1[2,3,4]",
        "%71 = and_many %69 %70 %66 and [2,1] of %70 : add2.g2.B2[2,3,4]",
        "%71 = and_many %69 %70 %66 and [2,1] : add2.g2.B2[2,3,4]",
        "%84 = propagate %65 %75 [1] skip 20 : add2.g2.B1[2,3,4]",
        "%84 = propagate %65 %75 [1] skip 4294967295 : add2.g2.B1[2,3,4]",
        "%84 = propagate %65 %75 [] skip 22 : add2.g2.B1[2,3,4]",
        "%84 = propagate %60 %75 [1] skip 21 : add2.g2.B1[2,3,4]",
        "%85 = select_planes %68 [] : add2.g2.B2[2,3,4]",
        "%85 = select_planes %68 [0,3] : add2.g2.B2[2,3,4]",
        "%85 = select_planes %57 [0] : own.g2.B1[2,3,4]",
        "%98 = xors %97 rows [9,2] : B2[2]",
        "%98 = xors %97 rows [] : B2[2]",
        "%71 = and_many %69 %70 %66 and [2,2] : add2.g2.B1[2,3,4]",
        "%71 = and_many %69 %70 %66 carry [1,1] of %68 : add2.g2.B1[2,3,4]",
        "%71 = and_many %69 %70 %66 carry [11] of %68 : add2.g2.B1[2,3,4]",
        "%71 = and_many %69 %70 %66 carry [] of %68 : add2.g2.B1[2,3,4]",
        "%71 = and_many %69 %70 %65 carry [2] of %68 : add2.g2.B1[2,3,4]",
        // Tables: not of known parts, not of 6 entries, not in shards that cut a row, of as many planes.
        "%73 = table %55 %52 : dup.g2.A32[2,3,4,2]",
        "%73 = table %57 %57 : own.g2.A32[2,3,4,2]",
        "%73 = table %57 %4 : own.g2.A32[2,3,4,6]",
        "%73 = table %57 %33 : own.g2.A32[2,3,4,2]",
        "%73 = table %57 %46 : own.g2.A32[2,3,4,2]",
        "%73 = table %21 %52 : own.A32[2,3,4,2]",
        "%73 = table %57 %5 : own.g2.B2[2,3,4]",
        "%73 = table %58 %52 : own.g2.A32[2,3,4,2]",
        "%79 = entry %73 %55 : add2.g2.A32[2,3,4]",
        "%79 = entry %77 %57 : add2.g2.A32[2,3,4]",
        "%79 = entry %77 %59 : add2.g2.A32[2,3,4]",
        "%79 = entry %42 %22 : add2.A64[2,3]",
        "%79 = entry %42 %22 : add2.A64[2,3,4]",
        "%79 = entry %77 %22 : add2.g2.A32[2,3,4]",
        "%79 = entry %65 %55 : add2.g2.B1[2,3,4]",
        "%80 = entry %66 %75 : add2.g2.B1[2,3,4]",
        "%80 = entry %78 %59 : add2.g2.B1[2,3,4]",
    ];
    let mut wrong = Vec::new();
    for line in lines {
        let start = line.split(' ').next().unwrap();
        let mut replaced = 0;
        let text: String = ALL_OPS
            .lines()
            .map(|l| {
                let mut words = l.split_whitespace();
                let same = words.next() == Some(start)
                    && (words.next() == Some("=") || l.contains("output 0"));
                replaced += usize::from(same);
                if same { format!("  {line} @0\n") } else { format!("{l}\n") }
            })
            .collect();
        assert_eq!(replaced, 1, "{line}");
        // Every operand is defined where the line stands, so what fails is the rule. The declared
        // type of the result fails earlier where no such type exists.
        match verify(&parse(&text).unwrap()) {
            Err(VerifyError::Operands { .. } | VerifyError::BadType { .. }) => {}
            other => wrong.push(format!("{line}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is stored in shards is not broadcast; a public scalar goes with everything.
#[test]
fn sharded_values_keep_their_shape() {
    let rule = |hold, a: &[u64], b: &[u64]| {
        let dom = Dom::Ring(16);
        let types = [Type::new(hold, dom, a), Type::new(Hold::Public, dom, b)];
        infer(&Op::Mul(v(1), v(0)), &|x| &types[x.index()]).map(|t| t.map(|t| (t.hold, t.shape)))
    };
    for hold in [Hold::Own, Hold::Dup, Hold::Add2] {
        assert_eq!(rule(hold, &[2, 3], &[2, 3]), Ok(Some((hold, vec![2, 3]))));
        assert_eq!(rule(hold, &[2, 3], &[1, 1]), Ok(Some((hold, vec![2, 3]))));
        assert!(matches!(rule(hold, &[2, 3], &[1, 3]), Err(TypeError::Shapes { .. })));
        assert!(matches!(rule(hold, &[1, 1], &[2, 3]), Err(TypeError::Shapes { .. })));
        assert!(matches!(rule(hold, &[2, 3], &[]), Err(TypeError::Shapes { .. })));
    }
    for hold in [Hold::Rep, Hold::Add3, Hold::Public] {
        assert_eq!(rule(hold, &[1, 3], &[2, 1]), Ok(Some((hold, vec![2, 3]))));
    }
}

#[test]
fn errors_name_the_place() {
    let e = broken(|c| c.layers[0].local[1].op = Op::Not(v(2)));
    let want =
        "layer 0, local instruction 1 (`not`): `not` does not apply to [Ring(64)]: it takes bits";
    assert_eq!(e.to_string(), want);
    assert_eq!(print(&small()), SMALL);
}

/// Products with what is made of bits of checks, by operations that keep ones, and of the result's type.
#[test]
fn products_with_outcomes_of_checks_are_found() {
    let mut c = all_ops();
    let n = c.types.len() as u32;
    let ring = Dom::Ring(64);
    let public = |shape: &[u64]| Type::new(Hold::Public, ring, shape);
    let rep = |shape: &[u64]| Type::new(Hold::Rep, ring, shape);
    let mut add = |op: Op, ty: Type| {
        c.types.push(ty);
        let out = v(c.types.len() as u32 - 1);
        c.layers[1].local.push(Instr { out: Some(out), op, site: 0 });
        out
    };
    let by = add(Op::FromBits(v(81), 64), public(&[2]));
    let twice = add(Op::Scale(by, 2), public(&[2]));
    let x = add(Op::Trivial(by), rep(&[2]));
    let one = add(Op::Mul(x, by), rep(&[2]));
    let other = add(Op::Mul(by, one), rep(&[2]));
    let wider = add(Op::Mul(x, by), rep(&[2, 2]));
    let scaled = add(Op::Mul(x, twice), rep(&[2]));
    let found = gated(&c);
    assert!(found[..n as usize].iter().all(Option::is_none));
    assert_eq!(found[one.index()], Some(Gated { x, by }));
    assert_eq!(found[other.index()], Some(Gated { x: one, by }));
    assert!(found[wider.index()].is_none() && found[scaled.index()].is_none());
}
