//! Groups, masks and wide bits: what their rules refuse.

use super::*;
use crate::multi_and::MultiAnd;
use crate::{Conv, SplitPart};

/// Only values that are stored in shards have groups, and these are parts of the leading axis.
#[test]
fn groups_divide_the_leading_axis() {
    let ok = |hold, shape: &[u64], groups| {
        check_type(&Type::new(hold, Dom::Ring(64), shape).grouped(groups)).is_ok()
    };
    for hold in [Hold::Own, Hold::Dup, Hold::Add2, Hold::Mask] {
        assert!(ok(hold, &[6, 4], 3) && ok(hold, &[1, 6], 6) && ok(hold, &[], 1));
        assert!(ok(hold, &[1, 1], 1) && ok(hold, &[0, 3], 5));
        assert!(!ok(hold, &[6, 4], 4) && !ok(hold, &[1, 6], 4) && !ok(hold, &[], 2));
        assert!(!ok(hold, &[4, 6], 12) && !ok(hold, &[4], u32::MAX));
    }
    for hold in [Hold::Public, Hold::Rep, Hold::Add3] {
        assert!(ok(hold, &[6, 4], 0) && !ok(hold, &[6, 4], 3) && !ok(hold, &[6, 4], 1));
    }
    let e = broken(|c| c.types[4].groups = 2);
    assert!(matches!(e, VerifyError::BadType { value: ValueId(4), .. }), "{e}");
}

/// Where a value is cut between groups, layouts keep the axis that the groups are parts of, and
/// products do not sum over it.
#[test]
fn groups_stay_parts_of_the_leading_axis() {
    let ring = Dom::Ring(16);
    let rule = |op: &Op, a: &Type, b: &Type| {
        let types = [a.clone(), b.clone()];
        infer(op, &|x| &types[x.index()]).map(|t| t.map(|t| t.to_string()))
    };
    let refused = |op: &Op, a: &Type, b: &Type| {
        let e = rule(op, a, b).expect_err("cut elsewhere");
        assert!(matches!(e, TypeError::Shapes { .. }), "{op:?}: {e}");
    };
    let own = |shape: &[u64], groups| Type::new(Hold::Own, ring, shape).grouped(groups);
    let public = |shape: &[u64]| Type::new(Hold::Public, ring, shape);
    let fine = |op: &Op, a: &Type, b: &Type, want: &str| {
        assert_eq!(rule(op, a, b).unwrap().unwrap(), want, "{op:?}");
    };
    let both = |axis| Op::Concat { xs: vec![v(0), v(0)], axis };
    let row = own(&[1, 4], 2);
    refused(&both(0), &row, &row);
    refused(&both(1), &row, &row);
    refused(&Op::Broadcast(v(0), vec![2, 4]), &row, &row);
    refused(&Op::Transpose(v(0), vec![1, 0]), &own(&[4, 2], 2), &row);
    fine(&Op::Transpose(v(0), vec![1, 0]), &row, &row, "own.g2.A16[4,1]");
    fine(&both(1), &own(&[4, 3], 2), &row, "own.g2.A16[4,6]");
    fine(&both(0), &own(&[1, 4], 1), &row, "own.g1.A16[2,4]");
    // One group is whole wherever it is.
    fine(&Op::Transpose(v(0), vec![1, 0]), &own(&[4, 2], 1), &row, "own.g1.A16[2,4]");
    fine(&Op::Sum { x: v(0), axes: vec![0, 1] }, &own(&[4, 2], 1), &row, "own.g1.A16[]");
    // A part of a projection is cut between rows.
    let rep = |shape: &[u64]| Type::new(Hold::Rep, ring, shape);
    let coin = Type::new(Hold::Public, Dom::Ring(128), []);
    let project = |part| Op::Project { x: v(0), coin: v(1), tests: 6, part };
    let (own_of, dup_of) = (SplitPart::Own, SplitPart::Dup);
    fine(&project(own_of(2)), &rep(&[4, 9]), &coin, "own.g2.A16[4,6]");
    fine(&project(dup_of(1)), &rep(&[1, 9]), &coin, "dup.g1.A16[1,6]");
    for (part, shape) in [(own_of(3), [1, 9]), (dup_of(0), [4, 9]), (own_of(2), [1, 1])] {
        let e = rule(&project(part), &rep(&shape), &coin).expect_err("cut in a row");
        assert!(matches!(e, TypeError::Parameter { .. }), "{part:?} {shape:?}: {e}");
    }
    let e = rule(&project(own_of(2)), &own(&[4, 9], 2), &coin).expect_err("split already");
    assert!(matches!(e, TypeError::Holders { .. }), "{e}");
    let matmul = Op::MatMul { a: v(0), b: v(1), trans_b: false };
    fine(&matmul, &own(&[1, 6, 3], 2), &public(&[1, 3, 5]), "own.g2.A16[1,6,5]");
    fine(&matmul, &own(&[2, 6, 3], 2), &own(&[2, 3, 5], 2), "own.g2.A16[2,6,5]");
    fine(&matmul, &own(&[1, 6, 3], 1), &own(&[2, 3, 5], 1), "own.g1.A16[2,6,5]");
    // The sums run over the axis that is cut.
    refused(&matmul, &own(&[1, 1, 6], 3), &public(&[1, 6, 3]));
    refused(&matmul, &own(&[1, 6, 3], 2), &own(&[1, 3, 6], 3));
    refused(&matmul, &own(&[2, 6, 3], 2), &public(&[2, 3, 5]));
    refused(&matmul, &own(&[1, 6, 3], 2), &own(&[2, 3, 5], 2));
    refused(&matmul, &own(&[2, 6, 3], 2), &own(&[2, 3, 5], 1));
    refused(&matmul, &own(&[2, 6, 3], 0), &own(&[2, 3, 5], 0));
    refused(&matmul, &public(&[1, 4, 3]), &own(&[1, 3, 6], 3));
    let conv = Op::Conv2d { x: v(0), w: v(1), conv: Conv::PLAIN };
    fine(&conv, &own(&[1, 4, 2, 3, 3], 4), &public(&[1, 2, 2, 1, 1]), "own.g4.A16[1,4,2,3,3]");
    fine(&conv, &public(&[1, 4, 2, 3, 3]), &own(&[2, 4, 2, 1, 1], 2), "own.g2.A16[2,4,4,3,3]");
    refused(&conv, &own(&[1, 1, 2, 3, 3], 2), &public(&[1, 2, 2, 1, 1]));
    refused(&conv, &public(&[1, 4, 2, 3, 3]), &own(&[1, 4, 2, 1, 1], 4));
    // Repeated along other axes only.
    let mul = Op::Mul(v(0), v(1));
    fine(&mul, &own(&[4, 3], 2), &own(&[4, 1], 2), "own.g2.A16[4,3]");
    fine(&mul, &own(&[4, 3], 2), &public(&[1, 3]), "own.g2.A16[4,3]");
    refused(&mul, &own(&[4, 3], 2), &own(&[1, 3], 1));
    refused(&mul, &own(&[1, 3], 3), &public(&[2, 3]));
    refused(&mul, &own(&[4, 3], 2), &own(&[4, 3], 4));
    // Planes from the axis that is cut.
    let bits = Type::new(Hold::Own, Dom::Bits(2), [1, 4]);
    refused(&Op::ToPlanes(v(0)), &bits.clone().grouped(2), &row);
    refused(&Op::ToPlanes(v(0)), &bits, &row);
    fine(&Op::ToPlanes(v(0)), &bits.grouped(1), &row, "own.g1.B8[1,1]");
}

#[test]
fn planes_are_bounded() {
    let rule = |op: &Op, ty: Type| infer(op, &|_| &ty).map(|_| ());
    let too_many =
        |r: Result<(), TypeError>| assert!(matches!(r, Err(TypeError::Type { .. })), "{r:?}");
    let bits = |w, shape: &[u64]| Type::new(Hold::Own, Dom::Bits(w), shape).grouped(1);
    assert_eq!(rule(&Op::ToPlanes(v(0)), bits(128, &[2, 32])), Ok(()));
    too_many(rule(&Op::ToPlanes(v(0)), bits(128, &[2, 33])));
    too_many(rule(&Op::ToPlanes(v(0)), bits(4096, &[2, 1 << 33])));
    too_many(rule(&Op::ToPlanes(v(0)), bits(3, &[2, 0])));
    let products = |n: usize| Op::MaskProducts { x: v(0), gates: MultiAnd::And(vec![10; n]) };
    assert_eq!(rule(&products(4), bits(40, &[5])), Ok(()));
    too_many(rule(&products(5), bits(50, &[5])));
    let wide = |n: usize| Op::Thermometer { x: v(0), blocks: vec![4; n] };
    assert_eq!(rule(&wide(273), bits(1092, &[5])), Ok(()));
    too_many(rule(&wide(274), bits(1096, &[5])));
    assert!(matches!(rule(&Op::Not(v(0)), bits(129, &[5])), Err(TypeError::Parameter { .. })));
    assert!(matches!(
        rule(&Op::FromBits(v(0), 128), bits(129, &[5])),
        Err(TypeError::Parameter { .. })
    ));
}

#[test]
fn tables_are_bounded() {
    let rule = |x: Dom, shape: &[u64], table: Dom, entries: u64| {
        let x = Type::new(Hold::Own, x, shape).grouped(1);
        let types = [x, Type::new(Hold::Public, table, [entries])];
        let op = Op::Table { x: v(0), table: v(1) };
        infer(&op, &|x| &types[x.index()]).map(|t| t.map(|t| t.to_string()))
    };
    let (a8, a16, bit) = (Dom::Ring(8), Dom::Ring(16), Dom::Bits(1));
    assert_eq!(rule(a16, &[], a8, 4096).unwrap().unwrap(), "own.g1.A8[4096]");
    assert_eq!(rule(a16, &[], bit, 4096).unwrap().unwrap(), "own.g1.B4096[]");
    assert_eq!(rule(Dom::Bits(3), &[5], a16, 8).unwrap().unwrap(), "own.g1.A16[5,8]");
    for entries in [0, 1, 3, 4095, 8192, 1 << 34, u64::MAX] {
        let e = rule(a16, &[], a8, entries).expect_err("entries");
        assert!(matches!(e, TypeError::Shapes { .. }), "{entries}: {e}");
    }
    // Words of eight bits have no ninth.
    assert!(matches!(rule(a8, &[], a8, 512), Err(TypeError::Domains { .. })));
    assert!(matches!(rule(Dom::Bits(3), &[], a8, 16), Err(TypeError::Domains { .. })));
    let e = rule(a16, &[1 << 30], a8, 4096).expect_err("too many elements");
    assert!(matches!(e, TypeError::Type { .. }), "{e}");
    assert!(matches!(rule(a16, &[1; 12], a8, 4), Err(TypeError::Type { .. })));
}

#[test]
fn invariant_14_masks_are_used_once() {
    let bad = |change: &dyn Fn(&mut Circuit), place: (usize, usize), mask: u32| {
        let mut c = all_ops();
        change(&mut c);
        match verify(&c) {
            Err(VerifyError::Mask { place: p, value }) => {
                assert_eq!(((p.layer, p.instr), value), (place, v(mask)));
            }
            other => panic!("{other:?}"),
        }
    };
    let again = |c: &mut Circuit| {
        let ty = c.types[69].clone();
        c.types.push(ty);
        let op = Op::OpenMasked { x: v(85), mask: v(61) };
        Instr { out: Some(v(c.types.len() as u32 - 1)), op, site: 0 }
    };
    // Twice in one exchange, and in a later one.
    bad(
        &|c| {
            let i = again(c);
            c.layers[2].exchange.push(i)
        },
        (2, 1),
        61,
    );
    bad(
        &|c| {
            let i = again(c);
            c.layers[3].exchange.insert(0, i)
        },
        (3, 0),
        61,
    );
    // The part a of a split, what follows from a mask, and a dealt mask are no fresh masks.
    for op in [
        Op::Reshape(v(61), vec![2, 3, 4]),
        Op::Planes { x: v(61), start: 0, step: 1, count: 2 },
        Op::MaskOf(v(105), 2),
        Op::DealMask(v(62)),
    ] {
        let interactive = op.is_interactive();
        bad(
            &|c| {
                c.types.push(Type::new(Hold::Rep, Dom::Bits(2), [2, 3, 4]));
                let op0 = Op::Planes { x: v(49), start: 0, step: 1, count: 2 };
                c.layers[1].local.push(Instr { out: Some(v(105)), op: op0, site: 0 });
                let ty = c.types[61].clone();
                c.types.push(ty);
                let i = Instr { out: Some(v(106)), op: op.clone(), site: 0 };
                match interactive {
                    true => c.layers[1].exchange.push(i),
                    false => c.layers[1].local.push(i),
                }
                c.layers[2].exchange[0].op = Op::OpenMasked { x: v(85), mask: v(106) };
            },
            (2, 0),
            106,
        );
    }
}
