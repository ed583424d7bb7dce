//! Masks that could cancel, and openings that are no check.

use super::*;
use crate::multi_and::MultiAnd;
use crate::{Check, PartySet, low_mask};
use std::collections::BTreeSet;

/// A circuit by hand: three clients' words `x`, and what a stranger adds.
struct Hand {
    circuit: Circuit,
    masks: u32,
}

impl Hand {
    /// `x` is the value 0. Shards are cut between so many groups.
    fn new() -> Hand {
        let text = "circuit \"hand\"\nparty \"Client\" 3\n\
                    input %0 \"x\" from 0 int(0, 10) [64] : A64[3,64]\nsite 0 \"s\" line 1\nlayer 0:\n";
        Hand { circuit: parse(text).unwrap(), masks: 0 }
    }

    fn ty(&self, v: ValueId) -> &Type {
        self.circuit.ty(v)
    }

    fn add(&mut self, op: Op) -> ValueId {
        let ty = match infer(&op, &|v| self.circuit.ty(v)) {
            Ok(Some(ty)) => ty,
            other => panic!("{op:?}: {other:?}"),
        };
        self.circuit.types.push(ty);
        let out = v(self.circuit.types.len() as u32 - 1);
        let layer = self.circuit.layers.last_mut().unwrap();
        let instr = Instr { out: Some(out), op, site: 0 };
        if instr.op.is_interactive() {
            layer.exchange.push(instr);
        } else {
            layer.local.push(instr);
        }
        out
    }

    fn next_layer(&mut self) {
        self.circuit.layers.push(Layer::default());
    }

    /// An interactive instruction and the end of its layer.
    fn round(&mut self, op: Op) -> ValueId {
        let out = self.add(op);
        self.next_layer();
        out
    }

    /// The input as an additive value with these groups.
    fn z(&mut self, groups: u32) -> ValueId {
        let dup = self.add(Op::DupOf(v(0), groups));
        self.add(Op::AsAdd2(dup))
    }

    /// A fresh mask for a value.
    fn mask(&mut self, of: ValueId) -> ValueId {
        let Type { dom, shape, groups, .. } = self.ty(of).clone();
        self.masks += 1;
        self.add(Op::Mask { tag: self.masks, dom, shape, groups })
    }

    /// Whether the verifier refuses it because of one of these masks.
    fn refused(&self, masks: &[ValueId]) -> bool {
        match verify(&self.circuit) {
            Err(VerifyError::OwnMask { mask, .. }) => masks.contains(&mask),
            Ok(()) => false,
            Err(e) => panic!("{e}"),
        }
    }
}

/// A way to bring the mask into an operand: from the mask, an additive value of its type.
type Way = (&'static str, fn(&mut Hand, ValueId) -> ValueId);

/// Each of these depends on the mask, and one may add it to an operand that is opened under the same mask.
const WAYS: &[Way] = &[
    ("as it is", |h, m| h.add(Op::AsAdd2(m))),
    ("negated", |h, m| {
        let words = h.add(Op::AsAdd2(m));
        h.add(Op::Neg(words))
    }),
    ("scaled before", |h, m| {
        let scaled = h.add(Op::Scale(m, 3));
        h.add(Op::AsAdd2(scaled))
    }),
    ("times zero", |h, m| {
        let words = h.add(Op::AsAdd2(m));
        h.add(Op::Scale(words, 0))
    }),
    ("dealt", |h, m| {
        let own = h.add(Op::Own(m));
        h.round(Op::Deal(own))
    }),
    ("dealt as a mask", |h, m| {
        let own = h.add(Op::Own(m));
        let again = h.round(Op::DealMask(own));
        h.add(Op::AsAdd2(again))
    }),
    ("a bit of it, dealt", |h, m| {
        let own = h.add(Op::Own(m));
        let bit = h.add(Op::ToBits { x: own, lo: 5, w: 1 });
        let word = h.add(Op::FromBits(bit, 64));
        h.round(Op::Deal(word))
    }),
    ("a table of it", |h, m| {
        let own = h.add(Op::Own(m));
        let types = &mut h.circuit.types;
        types.push(Type::new(Hold::Public, Dom::Ring(64), [2]));
        let function = v(types.len() as u32 - 1);
        h.circuit.consts.push(Const { value: function, data: vec![0, low_mask(64)] });
        let table = h.add(Op::Table { x: own, table: function });
        let dealt = h.round(Op::Deal(table));
        let index = h.add(Op::DupOf(v(0), 3));
        h.add(Op::Entry { table: dealt, index })
    }),
    ("given as an input", |h, m| {
        let own = h.add(Op::Own(m));
        let rep = h.round(Op::Input(own));
        let mask = h.add(Op::MaskOf(rep, 3));
        let dup = h.add(Op::DupOf(rep, 3));
        let a = h.add(Op::AsAdd2(mask));
        h.add(Op::Add(a, dup))
    }),
    ("reshared", |h, m| {
        let words = h.add(Op::AsAdd2(m));
        let add3 = h.add(Op::AsAdd3(words));
        let rep = h.round(Op::Reshare(add3));
        let dup = h.add(Op::DupOf(rep, 3));
        h.add(Op::AsAdd2(dup))
    }),
    ("reshared between two", |h, m| {
        let words = h.add(Op::AsAdd2(m));
        let rep = h.round(Op::ReshareTwo(words));
        let mask = h.add(Op::MaskOf(rep, 3));
        h.add(Op::AsAdd2(mask))
    }),
    ("joined with zero", |h, m| {
        let dup = h.add(Op::DupOf(v(0), 3));
        let zero = h.add(Op::Scale(dup, 0));
        let rep = h.add(Op::Join { mask: m, dup: zero });
        let mask = h.add(Op::MaskOf(rep, 3));
        h.add(Op::AsAdd2(mask))
    }),
    ("in another order", |h, m| {
        let part = |start, len| Op::Slice { x: m, axis: 1, start, len, step: 1 };
        let (low, high) = (h.add(part(0, 1)), h.add(part(1, 63)));
        let turned = h.add(Op::Concat { xs: vec![high, low], axis: 1 });
        h.add(Op::AsAdd2(turned))
    }),
    ("narrowed and raised", |h, m| {
        let low = h.add(Op::Narrow(m, 32));
        let high = h.add(Op::Raise(low, 64));
        h.add(Op::AsAdd2(high))
    }),
    ("summed and repeated", |h, m| {
        let sum = h.add(Op::Sum { x: m, axes: vec![1] });
        let row = h.add(Op::Reshape(sum, vec![3, 1]));
        let all = h.add(Op::Broadcast(row, vec![3, 64]));
        h.add(Op::AsAdd2(all))
    }),
    ("under another mask for a round", |h, m| {
        let words = h.add(Op::AsAdd2(m));
        let second = h.mask(words);
        let hidden = h.round(Op::OpenMasked { x: words, mask: second });
        let a = h.add(Op::AsAdd2(second));
        h.add(Op::Add(a, hidden))
    }),
    // To the party that deals in this shard nothing is hidden by the second mask, which it knows.
    ("under another mask, as the party that knows that mask sees it", |h, m| {
        let words = h.add(Op::AsAdd2(m));
        let second = h.mask(words);
        let hidden = h.round(Op::OpenMasked { x: words, mask: second });
        let rep = h.add(Op::Trivial(hidden));
        let dup = h.add(Op::DupOf(rep, 3));
        h.add(Op::AsAdd2(dup))
    }),
];

#[test]
fn invariant_14_no_operand_depends_on_its_own_mask_by_any_way() {
    for (name, way) in WAYS {
        let mut h = Hand::new();
        let z = h.z(3);
        let mask = h.mask(z);
        let back = way(&mut h, mask);
        let x = h.add(Op::Add(z, back));
        h.round(Op::OpenMasked { x, mask });
        let masks: Vec<ValueId> = (0..h.circuit.types.len() as u32)
            .map(v)
            .filter(|&v| h.ty(v).hold == Hold::Mask)
            .collect();
        assert!(h.refused(&masks), "{name}");
        // The same under a mask of its own is what protocols do.
        let mut h = Hand::new();
        let z = h.z(3);
        let mask = h.mask(z);
        let back = way(&mut h, mask);
        let x = h.add(Op::Add(z, back));
        let own = h.mask(x);
        h.round(Op::OpenMasked { x, mask: own });
        verify(&h.circuit).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// Of bits: planes in another order, and the products of a mask's bits.
#[test]
fn invariant_14_no_operand_of_bits_depends_on_its_own_mask() {
    let ways: [fn(&mut Hand, ValueId) -> ValueId; 3] = [
        |h, m| {
            let turned = h.add(Op::SelectPlanes(m, vec![1, 0]));
            h.add(Op::AsAdd2(turned))
        },
        |h, m| {
            let words = h.add(Op::AsAdd2(m));
            let top = h.add(Op::Planes { x: words, start: 1, step: 1, count: 1 });
            h.add(Op::Stack(vec![top, top]))
        },
        |h, m| {
            let own = h.add(Op::Own(m));
            let one = h.add(Op::MaskProducts { x: own, gates: MultiAnd::And(vec![2]) });
            let dealt = h.round(Op::Deal(one));
            h.add(Op::Stack(vec![dealt, dealt]))
        },
    ];
    for (n, way) in ways.into_iter().enumerate() {
        let mut h = Hand::new();
        let dup = h.add(Op::DupOf(v(0), 3));
        let bits = h.add(Op::ToBits { x: dup, lo: 0, w: 2 });
        let z = h.add(Op::AsAdd2(bits));
        let mask = h.mask(z);
        let back = way(&mut h, mask);
        let x = h.add(Op::Add(z, back));
        h.round(Op::OpenMasked { x, mask });
        assert!(h.refused(&[mask]), "way {n}");
    }
}

/// Each operand is free of its own mask and holds the next one's: the sum of what is opened is free of all.
#[test]
fn invariant_14_masks_do_not_cancel_around_a_circle() {
    for n in 2..5 {
        for apart in [false, true] {
            for closed in [false, true] {
                let mut h = Hand::new();
                let z = h.z(3);
                let masks: Vec<ValueId> = (0..n).map(|_| h.mask(z)).collect();
                for i in 0..n {
                    let mut x = z;
                    if closed || i + 1 < n {
                        let words = h.add(Op::AsAdd2(masks[(i + 1) % n]));
                        x = h.add(Op::Add(z, words));
                    }
                    h.add(Op::OpenMasked { x, mask: masks[i] });
                    if apart {
                        h.next_layer();
                    }
                }
                assert_eq!(h.refused(&masks), closed, "{n} masks, apart {apart}");
            }
        }
    }
}

/// Every set of masks that a value depends on, one after another until nothing changes: slow, and plainly right.
fn depends_on_its_own_mask(c: &Circuit) -> bool {
    let mut of: Vec<BTreeSet<ValueId>> = vec![BTreeSet::new(); c.types.len()];
    loop {
        let before = of.clone();
        for i in c.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange)) {
            let mut all: BTreeSet<ValueId> =
                i.op.operands().iter().flat_map(|v| of[v.index()].clone()).collect();
            if matches!(i.op, Op::Mask { .. }) {
                all.extend(i.out);
            }
            if let Some(out) = i.out {
                of[out.index()].extend(all);
            }
            if let Op::OpenMasked { x, mask } = i.op {
                let hidden = of[x.index()].clone();
                if hidden.contains(&mask) {
                    return true;
                }
                of[mask.index()].extend(hidden);
            }
        }
        if before == of {
            return false;
        }
    }
}

#[test]
fn invariant_14_random_circuits_agree_with_sets_of_masks() {
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..2000u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n as u64) as usize
        };
        let mut h = Hand::new();
        let z = h.z(3);
        let masks: Vec<ValueId> = (0..5).map(|_| h.mask(z)).collect();
        let mut words = vec![z];
        let mut left = masks.clone();
        for _ in 0..8 {
            let x = words[below(words.len())];
            let next = match below(4) {
                0 => h.add(Op::AsAdd2(masks[below(masks.len())])),
                1 => {
                    let y = words[below(words.len())];
                    h.add(Op::Add(x, y))
                }
                2 => {
                    let own = h.add(Op::Own(masks[below(masks.len())]));
                    h.round(Op::Deal(own))
                }
                _ if left.is_empty() => continue,
                _ => {
                    let mask = left.swap_remove(below(left.len()));
                    let hidden = h.round(Op::OpenMasked { x, mask });
                    h.add(Op::AsAdd2(hidden))
                }
            };
            words.push(next);
        }
        let bad = matches!(verify(&h.circuit), Err(VerifyError::OwnMask { .. }));
        assert_eq!(bad, depends_on_its_own_mask(&h.circuit), "seed {seed}");
        if bad { refused += 1 } else { accepted += 1 }
    }
    assert!(refused > 200 && accepted > 200, "{refused} refused, {accepted} accepted");
}

#[test]
fn invariant_17_only_the_bits_of_checks_are_opened() {
    for sum in [false, true] {
        let opened = |h: &mut Hand, x: ValueId| {
            if sum {
                let words = h.add(Op::AsAdd3(x));
                h.round(Op::OpenSum(words))
            } else {
                h.round(Op::Open(x))
            }
        };
        let bits = |h: &mut Hand| {
            let dup = h.add(Op::Dup(v(0)));
            let bits = h.add(Op::ToBits { x: dup, lo: 0, w: 1 });
            let rep = h.add(Op::Trivial(bits));
            let one = h.add(Op::Slice { x: rep, axis: 1, start: 0, len: 1, step: 1 });
            h.add(Op::Reshape(one, vec![3]))
        };
        // An input in clear.
        let mut h = Hand::new();
        opened(&mut h, v(0));
        let e = verify(&h.circuit).expect_err("an input is opened");
        let VerifyError::Opening { place } = &e else { panic!("{e}") };
        assert_eq!((place.layer, place.exchange, place.instr), (0, true, 0), "{e}");
        verify_with(&h.circuit, Openings::Any).unwrap();
        // Bits that are no check, and bits of one.
        let mut h = Hand::new();
        let valid = bits(&mut h);
        let value = opened(&mut h, valid);
        assert!(matches!(verify(&h.circuit), Err(VerifyError::Opening { .. })));
        h.circuit.checks.push(Check { set: 0, value });
        verify(&h.circuit).unwrap();
        // Words of which the bits of a check are made.
        let mut h = Hand::new();
        let words = opened(&mut h, v(0));
        let one = h.add(Op::Slice { x: words, axis: 1, start: 0, len: 1, step: 1 });
        let one = h.add(Op::Reshape(one, vec![3]));
        let value = h.add(Op::ToBits { x: one, lo: 0, w: 1 });
        h.circuit.checks.push(Check { set: 0, value });
        assert!(matches!(verify(&h.circuit), Err(VerifyError::Opening { .. })));
        // A second check of the same members would open more bits of them; so would one of a set that nobody
        // gives anything for.
        let mut h = Hand::new();
        let valid = bits(&mut h);
        for _ in 0..2 {
            let value = opened(&mut h, valid);
            h.circuit.checks.push(Check { set: 0, value });
        }
        assert!(matches!(verify(&h.circuit), Err(VerifyError::BadCheck { index: 1, .. })));
        h.circuit.parties.push(PartySet { name: "Nobody".into(), size: 3 });
        h.circuit.checks[1].set = 1;
        assert!(matches!(verify(&h.circuit), Err(VerifyError::BadCheck { index: 1, .. })));
    }
}
