//! Random circuits with products of matrices of which owners know their words ahead: products of any sizes, inputs, openings
//! and joins in any layers, sums that are opened twice or only behind the last proof, and proofs between. Some are refused. In every one that is
//! admitted honest parties compute what they do without proofs, at the predicted cost, and every frame that is altered before
//! the last proof is noticed, because the verifier admits no message without a statement in time.

use crate::agreement::{admitted, agrees, notices_every_frame, one_of, part};
use crate::build::{Builder, PROVES, elements, words};
use crate::draws::Random;
use slvr_circuit::proof::barriers;
use slvr_circuit::{Circuit, Conv, Hold, Instr, Op, Security, ValueId};
use slvr_runtime::share::encode::Encoded;

/// A sum of three words, and the layers in which something is made of it.
struct Product {
    z: ValueId,
    own: ValueId,
    input: usize,
    opened: Vec<usize>,
    said: Option<ValueId>,
    open: Vec<(ValueId, ValueId)>,
}

struct Making {
    b: Builder,
    random: Random,
    k: u32,
    masks: u32,
}

impl Making {
    fn size(&mut self) -> u64 {
        self.random.pick(&[0, 1, 1, 2, 3, 5, 8, 13, 20])
    }

    fn secret(&mut self, shape: &[u64]) -> ValueId {
        let all = [&[1], shape].concat();
        let seed = self.random.below(1 << 30);
        let x = self.b.secret(self.k, &all, &words(seed, elements(&all)));
        self.b.must(Op::Reshape(x, shape.to_vec()))
    }

    /// A product of matrices or a convolution, if its sizes go together.
    fn product(&mut self) -> Option<ValueId> {
        if self.random.below(3) > 0 {
            let (batch, rows, inner) = (1 + self.random.below(2), self.size(), self.size());
            let (columns, trans_b) = (self.size(), self.random.below(2) == 0);
            let a = self.secret(&[batch, rows, inner]);
            let right = self.random.pick(&[1, batch]);
            let b = if trans_b { [right, columns, inner] } else { [right, inner, columns] };
            let b = self.secret(&b);
            return self.b.infer(Op::MatMul { a, b, trans_b });
        }
        let [images, channels, outputs] = [0; 3].map(|_| 1 + self.random.below(2));
        let [h, w] = [0; 2].map(|_| 2 + self.random.below(5));
        let [kh, kw] = [0; 2].map(|_| 1 + self.random.below(3));
        let x = self.secret(&[1, images, channels, h, w]);
        let w = self.secret(&[1, outputs, channels, kh, kw]);
        let (stride, pad) = (1 + self.random.below(2), self.random.below(2));
        self.b.infer(Op::Conv2d { x, w, conv: Conv { stride, pad, ..Conv::PLAIN } })
    }

    fn open(&mut self, z: ValueId) -> (ValueId, ValueId) {
        self.masks += 1;
        let x = self.b.must(Op::AsAdd2(z));
        let ty = self.b.ty(z).clone();
        let mask =
            self.b.must(Op::Mask { tag: self.masks, dom: ty.dom, shape: ty.shape, groups: 0 });
        (mask, self.b.must(Op::OpenMasked { x, mask }))
    }
}

/// A circuit of a seed, which may have a message without a statement.
fn random(seed: u64) -> (Circuit, Encoded) {
    let mut random = Random::of_seed(seed);
    let k = random.pick(&[8, 16, 32, 64]);
    let mut m = Making { b: Builder::new(), random, k, masks: 0 };
    let layers = 2 + m.random.below(3) as usize;
    let mut all: Vec<Product> = Vec::new();
    let mut shown = Vec::new();
    for l in 0..layers {
        for _ in 0..if l == 0 { 2 } else { m.random.below(2) } {
            let Some(z) = m.product() else { continue };
            let at = |m: &mut Making| l + m.random.below((layers - l) as u64) as usize;
            let mut opened = vec![at(&mut m)];
            match m.random.below(8) {
                0 => opened.push(at(&mut m)),
                // Behind the last proof.
                1 => opened = vec![layers],
                _ => {}
            }
            let own = m.b.must(Op::Own(z));
            let input = at(&mut m);
            all.push(Product { z, own, input, opened, said: None, open: vec![] });
        }
        // What is reshared is a statement by itself.
        let x = m.secret(&[1, 70]);
        let square = m.b.must(Op::Mul(x, x));
        shown.push(m.b.must(Op::Reshare(square)));
        for p in &mut all {
            if p.input == l {
                p.said = Some(m.b.must(Op::Input(p.own)));
            }
            for _ in p.opened.iter().filter(|&&at| at == l) {
                p.open.push(m.open(p.z));
            }
        }
        m.b.next_layer();
    }
    // Of a sum that is opened twice, and input once, both openings are joined.
    for p in &all {
        let Some(said) = p.said else { continue };
        for &(mask, dup) in &p.open {
            let x = m.b.must(Op::Join { mask, dup });
            if m.random.below(4) > 0 {
                shown.push(m.b.must(Op::Add(said, x)));
            }
        }
    }
    m.b.next_layer();
    let reps = shown.into_iter().filter(|&v| m.b.ty(v).hold == Hold::Rep).collect();
    m.b.reveal_reshared(reps);
    let late: Vec<ValueId> =
        all.iter().filter(|p| p.opened.contains(&layers)).map(|p| p.z).collect();
    let open: Vec<_> = late.into_iter().map(|z| m.open(z)).collect();
    m.b.next_layer();
    for (mask, dup) in open {
        m.b.must(Op::Join { mask, dup });
    }
    let proof = m.random.below(2 * layers as u64) as usize;
    let (mut circuit, encoded) = m.b.finish();
    if (1..layers).contains(&proof) {
        let op = PROVES[m.random.below(2) as usize].clone();
        let prove = Instr { out: None, op, site: 0 };
        circuit.layers[proof].local.insert(0, prove);
    }
    (Circuit { security: Security::Malicious, ..circuit }, encoded)
}

#[test]
fn admitted_circuits_compute_what_they_do_without_proofs() {
    let (mut count, mut parted) = (0, 0);
    for (seed, circuit, encoded) in admitted(0..60, random) {
        count += 1;
        agrees(&circuit, &encoded, seed, &format!("seed {seed}"));
        let all = barriers(&circuit).unwrap();
        let claims = all.iter().flat_map(|b| &b.statements);
        parted += claims.filter(|s| s.claim.parted().is_some()).count();
    }
    assert!(count > 30 && parted > 40, "{count} of 60 are admitted, with {parted} products");
}

#[test]
fn every_message_before_the_last_proof_is_proven() {
    let mut flips = 0;
    for (seed, circuit, encoded) in admitted(1000..1000 + part(15, 30), random) {
        let mut random = Random(seed | 1);
        let what = format!("seed {seed}");
        flips += notices_every_frame(&circuit, &encoded, &what, &mut |bits| random.below(bits));
    }
    assert!(flips > 200 / one_of(2), "{flips} frames");
}
