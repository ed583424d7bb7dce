//! Random circuits whose owners input bits, codes, high parts and single bits of the same words in any order, so that carries of
//! p + q are told, found or skipped.

use super::build::{Builder, PROVES, elements, words};
use super::draws::Random;
use slvr_circuit::{Circuit, Dom, Hold, Instr, Op, Security, ValueId};
use slvr_runtime::share::encode::Encoded;

struct Making {
    b: Builder,
    dice: Random,
    masks: u32,
    /// Words of owners, of any widths and shapes.
    words: Vec<ValueId>,
    /// Bits of owners.
    bits: Vec<ValueId>,
    /// What was or may be input: now, or in a later layer.
    later: Vec<ValueId>,
    /// What is seen in the end.
    shown: Vec<ValueId>,
    /// Masks whose words are still to be opened, opened and joined: the mask, what is opened, the owner's value as far as it is
    /// input, the result of that.
    to_open: Vec<(ValueId, ValueId, Option<ValueId>)>,
    to_join: Vec<(ValueId, ValueId, Option<ValueId>)>,
}

const RINGS: [u32; 5] = [8, 16, 32, 64, 128];

impl Making {
    fn shape(&mut self) -> Vec<u64> {
        match self.dice.below(4) {
            0 => {
                let rows = self.dice.pick(&[1, 2, 3, 5, 7, 16, 70]);
                vec![rows, self.dice.pick(&[1, 1, 2, 5, 33])]
            }
            _ => vec![
                1,
                self.dice.pick(&[
                    0, 1, 1, 2, 3, 31, 63, 64, 65, 70, 127, 128, 130, 192, 193, 200, 257, 400, 3000,
                ]),
            ],
        }
    }

    fn secret(&mut self, k: u32, shape: &[u64]) -> ValueId {
        let all = [&[1], shape].concat();
        let seed = self.dice.below(1 << 30);
        let mut xs = words(seed, elements(&all));
        // Carries that run far, now and then.
        if self.dice.below(3) == 0 {
            for (i, x) in xs.iter_mut().enumerate() {
                *x = [0, 1, u128::MAX, 1 << (k - 1), *x][i % 5];
            }
        }
        let x = self.b.secret(k, &all, &xs);
        self.b.must(Op::Reshape(x, shape.to_vec()))
    }

    /// Owners' words of a replicated value, cut in some way.
    fn owned(&mut self, x: ValueId) {
        for _ in 0..1 + self.dice.below(2) {
            let rows = self.b.ty(x).shape[0] as u32;
            let op = match self.dice.below(3) {
                0 if rows > 1 => Op::OwnOf(x, self.dice.pick(&[1, rows])),
                _ => Op::Own(x),
            };
            if let Some(own) = self.b.infer(op) {
                self.words.push(own);
            }
        }
    }

    /// A replicated word of some kind, and its owner's.
    fn word(&mut self) {
        let k = self.dice.pick(&RINGS);
        let shape = self.shape();
        match self.dice.below(9) {
            0..3 => {
                let x = self.secret(k, &shape);
                self.owned(x);
            }
            3 => {
                let (x, y) = (self.secret(k, &shape), self.secret(k, &shape));
                let op =
                    self.dice.pick(&[Op::Add(x, y), Op::Sub(x, y), Op::Neg(x), Op::Scale(x, 3)]);
                let z = self.b.must(op);
                self.owned(z);
                // The same of the owner's words.
                let (a, c) = (self.b.must(Op::Own(x)), self.b.must(Op::Own(y)));
                if let Some(own) = self.b.infer(Op::Add(a, c)) {
                    self.b.must(Op::Add(x, y));
                    self.words.push(own);
                }
            }
            4 => {
                // Public, or known to two.
                let x = if self.dice.below(2) == 0 {
                    let xs = words(self.dice.below(1 << 20), elements(&shape));
                    let x = self.b.constant(Dom::Ring(k), &shape, xs);
                    self.b.must(Op::Trivial(x))
                } else {
                    let x = self.secret(k, &shape);
                    let dup = self.b.must(Op::Dup(x));
                    self.b.must(Op::Trivial(dup))
                };
                self.owned(x);
            }
            5 => {
                // Narrower words, whose bits are those of the wider ones.
                let x = self.secret(k, &shape);
                let to = self.dice.pick(&RINGS);
                if let Some(z) = self.b.infer(Op::Narrow(x, to)) {
                    self.owned(x);
                    self.owned(z);
                    let own = self.b.must(Op::Own(x));
                    self.words.push(self.b.must(Op::Narrow(own, to)));
                }
            }
            6 => {
                // What is known ahead: a mask, with something that the owner inputs or not.
                let x = self.secret(k, &shape);
                let rows = shape[0] as u32;
                let groups = self.dice.pick(&[0, 0, rows]);
                let add2 = if groups == 0 { Op::AsAdd2(x) } else { Op::AsAdd2Of(x, groups) };
                let Some(add2) = self.b.infer(add2) else { return };
                self.masks += 1;
                let ty = self.b.ty(add2).clone();
                let mask =
                    self.b.must(Op::Mask { tag: self.masks, dom: ty.dom, shape: ty.shape, groups });
                let known = self.b.must(Op::Own(mask));
                let mut more = None;
                if self.dice.below(2) == 0 {
                    let own = if groups == 0 { Op::Own(x) } else { Op::OwnOf(x, groups) };
                    let own = self.b.must(own);
                    let square = self.b.must(Op::Mul(own, own));
                    more = Some(square);
                    let sum = self.b.must(Op::Add(square, known));
                    self.words.push(sum);
                } else {
                    self.words.push(known);
                }
                self.to_open.push((mask, add2, more));
            }
            7 => {
                let (x, y) = (self.secret(k, &shape), self.secret(k, &shape));
                let z = self.b.must(Op::Mul(x, y));
                let z = self.b.must(Op::Reshare(z));
                self.shown.push(z);
                // Read in the next layer at the earliest.
                self.later.push(z);
            }
            _ => {
                let x = self.secret(k, &shape);
                self.owned(x);
                let z = self.b.must(Op::Reshape(x, shape.iter().rev().copied().collect()));
                self.owned(z);
            }
        }
    }

    /// Bits of an owner's word, in some order.
    fn some_bits(&mut self) -> Option<ValueId> {
        let mut own = self.dice.pick(&self.words);
        let k = self.b.ty(own).bits();
        if self.dice.below(5) == 0 {
            own = self.b.must(Op::Shr(own, self.dice.below(u64::from(k)) as u32));
        }
        let lo = match self.dice.below(3) {
            0 => 0,
            _ => self.dice.below(u64::from(k)) as u32,
        };
        let most = match self.dice.below(3) {
            0 => k - lo,
            _ => (k - lo).min(6),
        };
        let w = match self.dice.below(3) {
            0 => most,
            _ => 1 + self.dice.below(u64::from(most)) as u32,
        };
        let mut bits = self.b.infer(Op::ToBits { x: own, lo, w })?;
        for _ in 0..self.dice.below(3) {
            let w = u64::from(self.b.ty(bits).bits());
            let op = match self.dice.below(4) {
                0 => Op::Not(bits),
                1 => {
                    let some = (0..1 + self.dice.below(w + 2)).map(|_| self.dice.below(w) as u32);
                    Op::SelectPlanes(bits, some.collect())
                }
                2 => Op::SelectPlanes(bits, (0..w as u32).rev().collect()),
                _ => {
                    let start = self.dice.below(w);
                    let step = 1 + self.dice.below(3);
                    let count = 1 + self.dice.below((w - 1 - start) / step + 1);
                    Op::Planes {
                        x: bits,
                        start: start as u32,
                        step: step as u32,
                        count: count as u32,
                    }
                }
            };
            bits = self.b.infer(op)?;
        }
        self.bits.push(bits);
        Some(bits)
    }

    /// Something that an owner may input.
    fn said(&mut self) -> Option<ValueId> {
        let own = self.dice.pick(&self.words);
        let k = self.b.ty(own).bits();
        match self.dice.below(10) {
            0..3 => self.some_bits(),
            3 if !self.bits.is_empty() => Some(self.dice.pick(&self.bits)),
            3..5 => {
                let bits = self.some_bits()?;
                let w = self.b.ty(bits).bits();
                let mut blocks = Vec::new();
                let mut left = w.min(20);
                while left > 0 {
                    let block = 1 + self.dice.below(u64::from(left.min(4))) as u32;
                    blocks.push(block);
                    left -= block;
                }
                let some = self.b.must(Op::Planes { x: bits, start: 0, step: 1, count: w.min(20) });
                self.b.infer(Op::Thermometer { x: some, blocks })
            }
            5..7 => {
                let bits = self.some_bits()?;
                let j = self.dice.below(u64::from(self.b.ty(bits).bits())) as u32;
                let one = self.b.must(Op::SelectPlanes(bits, vec![j]));
                self.b.infer(Op::FromBits(one, self.dice.pick(&RINGS)))
            }
            7 => {
                let (x, y) = (self.some_bits()?, self.some_bits()?);
                self.b.infer(Op::Mul(x, y))
            }
            _ => {
                let by = match self.dice.below(4) {
                    0 => 0,
                    1 => k - 1,
                    _ => self.dice.below(u64::from(k)) as u32,
                };
                let high = if by > 0 { self.b.must(Op::Shr(own, by)) } else { own };
                let to = self.dice.pick(&RINGS);
                match self.dice.below(3) {
                    0 => Some(high),
                    _ if to < k => self.b.infer(Op::Narrow(high, to)),
                    _ => self.b.infer(Op::Extend(high, to)),
                }
            }
        }
    }

    fn input(&mut self, own: ValueId) -> ValueId {
        let x = self.b.must(Op::Input(own));
        self.shown.push(x);
        x
    }
}

/// A circuit of a seed, which may have a message without a statement.
pub fn random(seed: u64) -> (Circuit, Encoded) {
    let mut m = Making {
        b: Builder::new(),
        dice: Random::of_seed(seed),
        masks: 0,
        words: vec![],
        bits: vec![],
        later: vec![],
        shown: vec![],
        to_open: vec![],
        to_join: vec![],
    };
    let layers = 1 + m.dice.below(4) as usize;
    // So that something is opened.
    let x = m.secret(16, &[1, 70]);
    m.owned(x);
    m.shown.push(x);
    for l in 0..layers {
        for _ in 0..if l == 0 { 2 } else { m.dice.below(2) } {
            m.word();
        }
        for _ in 0..1 + m.dice.below(3) {
            let Some(own) = m.said() else { continue };
            let x = m.input(own);
            // What was input is a word of which more is input.
            if !m.b.ty(x).dom.is_bits() && m.dice.below(3) == 0 {
                m.words.push(own);
            }
            // The same once more.
            if m.dice.below(6) == 0 {
                m.input(own);
            }
            if m.dice.below(6) == 0 {
                m.later.push(x);
            }
        }
        // What is opened under masks: some of it now.
        for (mask, add2, more) in std::mem::take(&mut m.to_open) {
            if l + 1 < layers && m.dice.below(2) == 0 {
                m.to_open.push((mask, add2, more));
                continue;
            }
            let dup = m.b.must(Op::OpenMasked { x: add2, mask });
            let more = more.map(|own| m.b.must(Op::Input(own)));
            m.to_join.push((mask, dup, more));
        }
        m.b.next_layer();
        for (mask, dup, more) in std::mem::take(&mut m.to_join) {
            if l + 1 < layers && m.dice.below(3) == 0 {
                m.to_join.push((mask, dup, more));
                continue;
            }
            let mut x = m.b.must(Op::Join { mask, dup });
            if let Some(more) = more {
                x = m.b.must(Op::Add(more, x));
            }
            m.shown.push(x);
            if m.dice.below(2) == 0 {
                m.owned(x);
            }
        }
        for x in std::mem::take(&mut m.later) {
            if m.b.ty(x).dom.is_bits() {
                let bits = m.b.must(Op::Own(x));
                m.bits.push(bits);
            } else {
                m.owned(x);
            }
        }
    }
    // Bits are seen as words: each is an owner's part and the others'.
    let mut shown = Vec::new();
    for v in std::mem::take(&mut m.shown) {
        let Dom::Bits(w) = m.b.ty(v).dom else {
            shown.push(v);
            continue;
        };
        let all: Vec<u32> = if w <= 3 {
            (0..w).collect()
        } else {
            vec![0, m.dice.below(u64::from(w)) as u32, w - 1]
        };
        for j in all {
            shown.extend(m.b.bit_as_words(v, j, 8));
        }
    }
    m.b.next_layer();
    shown.retain(|&v| m.b.ty(v).hold == Hold::Rep);
    m.b.reveal_reshared(shown);
    let often = m.dice.below(3);
    let (mut circuit, encoded) = m.b.finish();
    for l in 1..circuit.layers.len() - 1 {
        if often > 0 && m.dice.below(2) == 0 {
            let op = PROVES[m.dice.below(2) as usize].clone();
            circuit.layers[l].local.insert(0, Instr { out: None, op, site: 0 });
        }
    }
    (Circuit { security: Security::Malicious, ..circuit }, encoded)
}
