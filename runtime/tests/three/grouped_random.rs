//! Random circuits whose shards are cut between groups: parts of owners, linear instructions that move or add up elements within
//! a group, what owners input of these, and exchanges of sums of products. Some claim what is not so, by another instruction on
//! the value than on its owner's part, or between other groups, and are refused. In every one that is admitted honest parties
//! compute what they do without proofs, at the predicted cost, so no statement is false that is admitted, and every frame that
//! is altered before the proof is noticed.

use crate::agreement::{admitted, agrees, notices_every_frame, one_of, part, setting};
use crate::build::{Builder, elements, words};
use crate::draws::Random;
use slvr_circuit::proof::{Claim, barriers};
use slvr_circuit::{Circuit, Dom, Hold, Op, Security, ValueId};
use slvr_runtime::share::encode::Encoded;

struct Making {
    b: Builder,
    random: Random,
    k: u32,
    groups: u32,
    masks: u32,
    /// Replicated values that are seen in the end.
    shown: Vec<ValueId>,
    /// Masks and what is opened under them.
    open: Vec<(ValueId, ValueId)>,
}

impl Making {
    /// Now and then between other groups.
    fn groups(&mut self) -> u32 {
        match self.random.below(24) {
            0 => self.random.pick(&[0, 1, self.groups]),
            _ => self.groups,
        }
    }

    fn secret(&mut self, shape: &[u64]) -> ValueId {
        let all = [&[1], shape].concat();
        let seed = self.random.below(1 << 30);
        let x = self.b.secret(self.k, &all, &words(seed, elements(&all)));
        self.b.must(Op::Reshape(x, shape.to_vec()))
    }

    fn input(&mut self, own: ValueId) -> ValueId {
        let x = self.b.must(Op::Input(own));
        self.shown.push(x);
        x
    }

    /// Of an owner's words something that it inputs.
    fn said(&mut self, own: ValueId) {
        let k = self.b.ty(own).bits();
        let shift = self.random.below(u64::from(k)) as u32;
        match self.random.below(4) {
            0 => {
                let bits = self.b.must(Op::ToBits { x: own, lo: 0, w: 5 });
                let code = self.b.must(Op::Thermometer { x: bits, blocks: vec![2, 3] });
                self.input(code);
            }
            1 => {
                let bits = self.b.must(Op::ToBits { x: own, lo: shift, w: k - shift });
                self.input(bits);
            }
            2 => {
                let high = self.b.must(Op::Shr(own, shift));
                let to = self.random.pick(&[8, 16, 32, 64]);
                let op = if to <= k { Op::Narrow(high, to) } else { Op::Extend(high, to) };
                let high = self.b.must(op);
                self.input(high);
            }
            _ => {
                self.input(own);
            }
        }
    }

    /// A linear instruction that moves, leaves out or adds up elements.
    fn moved(&mut self, shape: &[u64]) -> impl Fn(ValueId) -> Op + use<> {
        let axes = shape.len() as u64;
        let axis = self.random.below(axes);
        let [n, other] = [axis, self.random.below(axes)].map(|a| shape[a as usize]);
        let op = match self.random.below(5) {
            0 => Op::Sum { x: ValueId(0), axes: vec![axis] },
            1 => {
                let mut perm: Vec<u64> = (0..axes).collect();
                perm.swap(self.random.below(axes) as usize, axis as usize);
                Op::Transpose(ValueId(0), perm)
            }
            2 => {
                let start = self.random.below(n);
                let len = 1 + self.random.below(n - start);
                Op::Slice { x: ValueId(0), axis, start, len, step: 1 }
            }
            3 => {
                let mut to = shape.to_vec();
                to.iter_mut().filter(|d| **d == 1).for_each(|d| *d = 1 + other % 3);
                Op::Broadcast(ValueId(0), to)
            }
            _ => {
                let (first, rest) = shape.split_first().unwrap();
                Op::Reshape(ValueId(0), vec![*first, rest.iter().product()])
            }
        };
        move |x| op.map(|_| x)
    }

    /// Both parts of an exchange.
    fn exchanged(&mut self, x: ValueId, y: ValueId) {
        let (g, h) = (self.groups(), self.groups());
        let term = |m: &mut Making, x: ValueId| {
            if m.random.below(2) == 0 {
                return m.b.infer(Op::AsAdd2Of(x, g));
            }
            let mask = m.b.infer(Op::MaskOf(x, g))?;
            m.b.infer(Op::AsAdd2(mask))
        };
        let Some(known) = self.b.infer(Op::DupOf(y, h)) else { return };
        // Now and then what the two compute of it, of which no replicated value is made.
        let known = match self.random.below(4) {
            0 => self.b.must(Op::Mul(known, known)),
            1 if self.b.ty(known).dom.is_bits() => self.b.must(Op::Not(known)),
            1 => self.b.must(Op::Neg(known)),
            _ => known,
        };
        let mut sum: Option<ValueId> = None;
        for x in [x, y] {
            let product = term(self, x).and_then(|x| self.b.infer(Op::Mul(x, known)));
            let Some(product) = product else { continue };
            sum = match sum {
                Some(sum) => self.b.infer(Op::Add(sum, product)),
                None => Some(product),
            };
        }
        let Some(mut sum) = sum else { return };
        let words = !self.b.ty(sum).dom.is_bits();
        if words && self.random.below(3) > 0 {
            let shape = self.b.ty(sum).shape.clone();
            let (first, rest) = shape.split_first().unwrap();
            let rest: u64 = rest.iter().product();
            let ways = [vec![*first, rest], vec![*first, rest / 2, 2], shape.clone()];
            let to = self.random.pick(&ways);
            // The last axis, or any: the leading one may be added up where there is one group.
            let last = to.len() as u64 - 1;
            let some = self.random.below(1 << to.len());
            let any = (0..=last).filter(|a| some >> a & 1 == 1).collect();
            let axes = self.random.pick(&[vec![last], any]);
            let turned = self.b.infer(Op::Reshape(sum, to));
            let added = turned.and_then(|x| self.b.infer(Op::Sum { x, axes }));
            sum = added.unwrap_or(sum);
        }
        let ty = self.b.ty(sum).clone();
        if self.random.below(2) == 0 {
            let x = self.b.must(Op::ReshareTwo(sum));
            return self.shown.push(x);
        }
        self.masks += 1;
        let mask = Op::Mask { tag: self.masks, dom: ty.dom, shape: ty.shape, groups: ty.groups };
        let mask = self.b.must(mask);
        self.open.push((mask, self.b.must(Op::OpenMasked { x: sum, mask })));
    }

    /// A product of matrices of which owners know their words ahead.
    fn parted(&mut self, rows: u64) {
        let (inner, columns) = (1 + self.random.below(4), 1 + self.random.below(30));
        let (a, b) = (self.secret(&[1, rows, inner]), self.secret(&[1, inner, columns]));
        let z = self.b.must(Op::MatMul { a, b, trans_b: false });
        let (g, h) = (self.groups(), self.groups());
        let made = [Op::OwnOf(z, g), Op::AsAdd2Of(z, h)].map(|op| self.b.infer(op));
        let [Some(own), Some(others)] = made else { return };
        let said = self.input(own);
        self.masks += 1;
        let ty = self.b.ty(others).clone();
        let mask = Op::Mask { tag: self.masks, dom: ty.dom, shape: ty.shape, groups: ty.groups };
        let mask = self.b.must(mask);
        self.open.push((mask, self.b.must(Op::OpenMasked { x: others, mask })));
        let _ = said;
    }
}

/// A circuit of a seed, which may have a message without a statement.
fn random(seed: u64) -> (Circuit, Encoded) {
    let mut random = Random::of_seed(seed);
    let k = random.pick(&[8, 16, 32, 64]);
    let rows: u64 = random.pick(&[3, 5, 6, 7, 16]);
    let groups = random.pick(&[
        rows as u32,
        rows as u32,
        if rows.is_multiple_of(2) { rows as u32 / 2 } else { 1 },
    ]);
    let b = Builder::new();
    let mut m = Making { b, random, k, groups, masks: 0, shown: vec![], open: vec![] };
    let shape = [rows, 1 + m.random.below(3), 2, 1 + m.random.below(9), 2];
    let [x, y] = [0; 2].map(|_| m.secret(&shape));
    let sum = m.b.must(Op::Add(x, y));
    let mut parts = Vec::new();
    for v in [x, y, sum] {
        let g = m.groups();
        parts.extend(m.b.infer(Op::OwnOf(v, g)).map(|own| (v, own)));
    }
    // An owner's words of a sum are the sum of its words.
    if let [(x, a), (y, c), ..] = parts[..]
        && let Some(own) = m.b.infer(Op::Add(a, c))
    {
        let sum = m.b.must(Op::Add(x, y));
        parts.push((sum, own));
    }
    let bits = parts.first().map(|(_, own)| {
        let own = *own;
        let bits = m.b.must(Op::ToBits { x: own, lo: 0, w: 4 });
        m.input(bits)
    });
    for _ in 0..3 {
        let (x, own) = m.random.pick(&parts);
        let op = m.moved(&m.b.ty(x).shape.clone());
        let Some(part) = m.b.infer(op(own)) else { continue };
        // Another instruction on the value, now and then.
        let op: Box<dyn Fn(ValueId) -> Op> = match m.random.below(8) {
            0 => Box::new(m.moved(&m.b.ty(x).shape.clone())),
            _ => Box::new(op),
        };
        if let Some(whole) = m.b.infer(op(x)) {
            parts.push((whole, part));
        }
    }
    for _ in 0..3 {
        let (_, own) = m.random.pick(&parts);
        m.said(own);
    }
    let products = m.random.pick(&parts).1;
    let other = m.random.pick(&parts).1;
    if let Some(product) = m.b.infer(Op::Mul(products, other)) {
        m.input(product);
    }
    m.parted(rows);
    m.exchanged(x, y);
    m.b.next_layer();
    if let Some(bits) = bits {
        let planes = m.b.infer(Op::ToPlanes(bits));
        let g = m.groups();
        if let Some(own) = m.b.infer(Op::OwnOf(bits, g))
            && let (Some(planes), Some(part)) = (planes, m.b.infer(Op::ToPlanes(own)))
        {
            m.input(part);
            m.exchanged(planes, planes);
        }
        m.exchanged(bits, bits);
    }
    m.exchanged(sum, x);
    m.b.next_layer();
    for (mask, dup) in std::mem::take(&mut m.open) {
        m.shown.push(m.b.must(Op::Join { mask, dup }));
    }
    // Bits are seen as words: each is an owner's part and the others'.
    let mut shown = Vec::new();
    for v in std::mem::take(&mut m.shown) {
        let Dom::Bits(w) = m.b.ty(v).dom else {
            shown.push(v);
            continue;
        };
        for j in 0..w.min(70) {
            shown.extend(m.b.bit_as_words(v, j, 8));
        }
    }
    m.b.next_layer();
    shown.retain(|&v| m.b.ty(v).hold == Hold::Rep);
    m.b.reveal_reshared(shown);
    let (circuit, encoded) = m.b.finish();
    (Circuit { security: Security::Malicious, ..circuit }, encoded)
}

#[test]
fn admitted_circuits_in_groups_compute_what_they_do_without_proofs() {
    let (mut count, mut pooled, mut parted, mut cut) = (0, 0, 0, 0);
    let last = setting("SLVR_COUNT", 60);
    for (seed, circuit, encoded) in admitted(0..last, random) {
        count += 1;
        agrees(&circuit, &encoded, seed, &format!("seed {seed}"));
        let all = barriers(&circuit).unwrap();
        for s in all.iter().flat_map(|b| &b.statements) {
            pooled += usize::from(s.claim.is_pooled());
            parted += usize::from(s.claim.parted().is_some() && s.groups > 0);
            cut += usize::from(matches!(s.claim, Claim::Input(_)) && s.groups > 0);
        }
    }
    println!("{count} of {last}: {pooled} sums, {parted} products of matrices, {cut} inputs");
    assert!(count > last / 4 && count < last, "{count} of {last} are admitted");
    assert!(pooled > 10 && parted > 10 && cut > 100, "{pooled}, {parted}, {cut}");
}

#[test]
fn every_message_in_groups_is_proven() {
    let mut flips = 0;
    for (seed, circuit, encoded) in admitted(5000..5000 + part(6, 12), random) {
        let mut random = Random(seed | 1);
        let what = format!("seed {seed}");
        flips += notices_every_frame(&circuit, &encoded, &what, &mut |bits| random.below(bits));
    }
    assert!(flips > 120 / one_of(2), "{flips} frames");
}
