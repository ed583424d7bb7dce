//! Strangers' circuits about more words than there are numbers: they are refused, or counted as the largest number, and
//! nothing overflows.

use slvr_circuit::proof::{Lengths, barriers, memory};
use slvr_circuit::verify::{Openings, infer, verify_with};
use slvr_circuit::{
    Circuit, Conv, Dom, Encoding, From, Hold, Input, Instr, Layer, Op, Output, PartySet, Security,
    Site, Type, ValueId,
};

fn input(c: &mut Circuit, n: u64) -> ValueId {
    c.types.push(Type::new(Hold::Rep, Dom::Ring(64), vec![1, n]));
    let value = ValueId(c.types.len() as u32 - 1);
    c.inputs.push(Input {
        name: format!("in{}", c.inputs.len()),
        from: From::Each(0),
        encoding: Encoding::Int { lo: 0, hi: 100 },
        shape: vec![n],
        fields: vec![],
        value,
    });
    value
}

fn add(c: &mut Circuit, l: usize, op: Op) -> ValueId {
    let ty = infer(&op, &|v| c.ty(v)).expect("a type").expect("a result");
    c.types.push(ty);
    let out = ValueId(c.types.len() as u32 - 1);
    let i = Instr { out: Some(out), site: 0, op };
    let layer = &mut c.layers[l];
    if i.op.is_interactive() {
        layer.exchange.push(i)
    } else {
        layer.local.push(i)
    }
    out
}

/// A circuit that opens one product.
fn opens(product: impl FnOnce(&mut Circuit) -> ValueId) -> Circuit {
    let set = |name: &str| PartySet { name: name.into(), size: 1 };
    let mut c = Circuit {
        name: "huge".into(),
        sizes: vec![],
        parties: vec![set("Client"), set("Server")],
        inputs: vec![],
        consts: vec![],
        types: vec![],
        sites: vec![Site { name: "s".into(), line: 0 }],
        layers: vec![Layer::default(), Layer::default()],
        outputs: vec![],
        checks: vec![],
        security: Security::Malicious,
    };
    let z = product(&mut c);
    let z = add(&mut c, 0, Op::Reshare(z));
    let n = c.ty(z).elements();
    let z = add(&mut c, 1, Op::Reshape(z, vec![n]));
    let z = add(&mut c, 1, Op::AsAdd3(z));
    c.outputs.push(Output {
        name: "y".into(),
        to: 1,
        shape: vec![n],
        ring: 64,
        frac: 0,
        factor: 1.0,
        divisor: 1.0,
        fields: vec![],
    });
    c.layers[1].exchange.push(Instr { out: None, site: 0, op: Op::OpenTo { x: z, output: 0 } });
    c
}

#[test]
fn a_convolution_of_too_many_words_overflows_nothing() {
    const IMAGES: u64 = 1 << 34;
    for side in [1, 3, 32_767, 65_535, 131_071] {
        let c = opens(|c| {
            let (x, w) = (input(c, IMAGES), input(c, side * side));
            let x = add(c, 0, Op::Reshape(x, vec![IMAGES, 1, 1, 1, 1]));
            let w = add(c, 0, Op::Reshape(w, vec![1, 1, 1, side, side]));
            let conv = Conv { stride: 1, pad: (side - 1) / 2, dilation: 1, groups: 1 };
            add(c, 0, Op::Conv2d { x, w, conv })
        });
        // Admitted or not, it says so.
        let _ = verify_with(&c, Openings::Any);
        let bytes = memory(&c, 3, 2).expect("a proof");
        assert!(bytes >= IMAGES * 8, "{side}: the vectors of a batch of that size");
    }
}

/// What a thread holds of a product with many columns is counted: a coefficient of 56 words for each of them.
#[test]
fn coefficients_of_wide_products_are_counted() {
    const COLUMNS: u64 = 200_000;
    let c = opens(|c| {
        let (a, b) = (input(c, 2), input(c, 2 * COLUMNS));
        let a = add(c, 0, Op::Reshape(a, vec![1, 1, 2]));
        let b = add(c, 0, Op::Reshape(b, vec![1, 2, COLUMNS]));
        add(c, 0, Op::MatMul { a, b, trans_b: false })
    });
    let c = Circuit { security: Security::Malicious, ..c };
    let all = barriers(&c).expect("a statement");
    let held = Lengths::of(&c, &all[0]).product;
    assert!((448 * COLUMNS..448 * COLUMNS * 2).contains(&held), "{held} bytes");
}
