//! Random circuits, the part of the dealer-style protocols: splits whose shards are cut between groups,
//! masks known ahead, products of parts, comparisons.

use crate::build::elements;
use crate::random::{Generator, LARGEST, Law};
use slvr_circuit::Dom;
use slvr_circuit::multi_and::{MAX_FAN, MultiAnd};
use slvr_circuit::{Conv, Hold, Op, Type, ValueId, lead};

impl Generator {
    /// Where shards of a tensor may be cut: every 64 elements, or parts of its leading axis.
    pub fn groups(&mut self, shape: &[u64]) -> u32 {
        let size = shape.get(lead(shape)).copied().unwrap_or(1);
        let parts: Vec<u32> = match size {
            0 => vec![0, 1, 2, 5],
            _ => [0, 1]
                .into_iter()
                .chain((2..=size as u32).filter(|g| size.is_multiple_of(u64::from(*g))))
                .collect(),
        };
        self.pick(&parts)
    }

    /// A fresh mask of this type, under a tag of its own.
    pub fn mask(&mut self, ty: Type) -> Option<ValueId> {
        self.masks += 1;
        self.add(Op::Mask { tag: self.masks, dom: ty.dom, shape: ty.shape, groups: ty.groups })
    }

    fn split(&mut self, x: ValueId, groups: u32) -> Option<[ValueId; 2]> {
        Some([self.add(Op::MaskOf(x, groups))?, self.add(Op::DupOf(x, groups))?])
    }

    /// Both parts of a split, which make the value again.
    pub fn parts(&mut self, x: ValueId) -> Option<()> {
        let groups = self.groups(&self.b.ty(x).shape.clone());
        let [mask, dup] = self.split(x, groups)?;
        let again = self.add(Op::Join { mask, dup })?;
        self.laws.push(Law::Equal(again, x));
        Some(())
    }

    fn divisor(&mut self, n: u64) -> u64 {
        let divisors: Vec<u64> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
        self.pick(&divisors)
    }

    /// A value that is stored in shards times public weights: a batch, row or image is in one shard.
    pub fn weighted(&mut self, x: ValueId) -> Option<ValueId> {
        let ty = self.b.ty(x).clone();
        let n = ty.elements();
        let groups = u64::from(ty.groups.max(1));
        let rows = if n.is_multiple_of(groups) { groups * self.divisor(n / groups) } else { 1 };
        let (batch, rows) =
            if self.below(2) == 0 { (1, rows) } else { (rows, self.divisor(n / rows)) };
        let rest = n / batch / rows;
        match self.below(3) {
            0 => {
                let cols = 1 + self.below(4);
                if n / rest * cols > LARGEST as u64 {
                    return None;
                }
                let a = self.b.infer(Op::Reshape(x, vec![batch, rows, rest]))?;
                let trans_b = self.below(2) == 0;
                let shape = if trans_b { [1, cols, rest] } else { [1, rest, cols] };
                let b = self.constant(ty.dom, &shape);
                self.add(Op::MatMul { a, b, trans_b })
            }
            1 => {
                let channels = self.divisor(rest);
                let shape = vec![batch, rows, channels, 1, rest / channels];
                let x = self.b.infer(Op::Reshape(x, shape))?;
                let outputs = 1 + self.below(3);
                let w = self.constant(ty.dom, &[1, outputs, channels, 1, 1]);
                let (stride, pad) = (1 + self.below(2), self.below(2));
                self.add(Op::Conv2d { x, w, conv: Conv::new(stride, pad) })
            }
            _ => {
                // Public images and kernels of each group.
                let w = self.b.infer(Op::Reshape(x, vec![batch, rows, 1, 1, rest]))?;
                let width = rest + self.below(3);
                if elements(&[batch, rows, width]) > LARGEST {
                    return None;
                }
                let x = self.constant(ty.dom, &[1, 2, 1, 1, width]);
                self.add(Op::Conv2d { x, w, conv: Conv::PLAIN })
            }
        }
    }

    /// The product of two replicated values by their parts: a a' is known to one party, and a b' + b b'
    /// + a' b has additive shares between two.
    pub fn split_product(&mut self, x: ValueId) -> Option<()> {
        let Type { hold: Hold::Rep, dom: Dom::Ring(k), shape, .. } = self.b.ty(x).clone() else {
            return None;
        };
        let n = elements(&shape) as u64;
        if n == 0 || n > LARGEST as u64 / 4 {
            return None;
        }
        let batch = self.divisor(n);
        let rows = self.divisor(n / batch);
        let rest = n / batch / rows;
        let (to, other): (Vec<u64>, Vec<u64>) = match self.below(3) {
            0 => (
                vec![batch, rows, rest],
                vec![batch, rows, if self.below(2) == 0 { 1 } else { rest }],
            ),
            1 => (vec![batch, rows, rest], vec![batch, rest, 1 + self.below(3)]),
            _ => (
                vec![batch, rows, 1, 1, rest],
                vec![batch, 1 + self.below(2), 1, 1, self.below(rest) + 1],
            ),
        };
        let op = |x: ValueId, y: ValueId| match (to.len(), to[2] == other[2] || other[2] == 1) {
            (5, _) => Op::Conv2d { x, w: y, conv: Conv::PLAIN },
            (_, true) if to[1] == other[1] => Op::Mul(x, y),
            _ => Op::MatMul { a: x, b: y, trans_b: false },
        };
        let out = elements(&[batch, rows, other[other.len() - 1].max(to[to.len() - 1])]);
        if elements(&other) > LARGEST || out > LARGEST {
            return None;
        }
        let x = self.add(Op::Reshape(x, to.clone()))?;
        let y = self.secret(k, &other);
        let y = self.add(Op::Reshape(y, other.clone()))?;
        // Operands are cut alike where the leading axis of both is the batch, and in one group always.
        let groups = if batch > 1 { self.groups(&[batch]) } else { 1 };
        let [xa, xb] = self.split(x, groups)?;
        let [ya, yb] = self.split(y, groups)?;
        let (own_x, own_y) = (self.add(Op::Own(xa))?, self.add(Op::Own(ya))?);
        let (xa, ya) = (self.add(Op::AsAdd2(xa))?, self.add(Op::AsAdd2(ya))?);
        let whole = self.add(Op::Add(xa, xb))?;
        let parts = [self.add(op(own_x, own_y)), self.add(op(whole, yb)), self.add(op(xb, ya))];
        let [Some(own), Some(one), Some(two)] = parts else { return None };
        let sum = self.add(Op::Add(one, two))?;
        let (own, sum) = (self.add(Op::Input(own))?, self.add(Op::ReshareTwo(sum))?);
        self.next_layer();
        let product = self.add(Op::Add(own, sum))?;
        self.laws.push(Law::Product(product, op(x, y)));
        Some(())
    }

    /// Something additive between two, hidden by a fresh mask: the two learn it less the mask.
    pub fn hidden(&mut self, x: ValueId) -> Option<()> {
        let x = match self.b.ty(x).hold {
            Hold::Add2 => x,
            Hold::Rep => {
                let groups = self.groups(&self.b.ty(x).shape.clone());
                let [mask, dup] = self.split(x, groups)?;
                let mask = self.add(Op::AsAdd2(mask))?;
                self.add(Op::Add(mask, dup))?
            }
            Hold::Mask => self.add(Op::AsAdd2(x))?,
            _ => return None,
        };
        let mask = self.mask(self.b.ty(x).clone())?;
        let dup = self.add(Op::OpenMasked { x, mask })?;
        self.next_layer();
        let again = self.add(Op::Join { mask, dup })?;
        self.laws.push(Law::Equal(again, x));
        Some(())
    }

    fn members(&mut self, n: u32) -> Vec<u32> {
        let largest = self.pick(&[2, 3, 4, 5, 5, MAX_FAN]);
        let mut sizes = Vec::new();
        let mut left = n;
        while left > 0 {
            // Not only groups of one, which have no products.
            let least = if sizes.is_empty() { 2 } else { 1 };
            let size = (least + self.below(u64::from(largest - least) + 1) as u32).min(left);
            sizes.push(size);
            left -= size;
        }
        sizes
    }

    /// One level: the bits of x hidden by a mask, and products of them.
    fn level(&mut self, x: ValueId, gates: MultiAnd) -> Option<ValueId> {
        let nodes = gates.is_linear_in_some().then_some(x);
        let x = match nodes {
            Some(x) => self.add(Op::SelectPlanes(x, gates.factors()))?,
            None => x,
        };
        let mask = self.mask(self.b.ty(x).clone())?;
        let own = self.add(Op::Own(mask))?;
        let products = self.add(Op::MaskProducts { x: own, gates: gates.clone() })?;
        let products = self.add(Op::Deal(products))?;
        let open = self.add(Op::OpenMasked { x, mask })?;
        self.next_layer();
        let mask = self.add(Op::AsAdd2(mask))?;
        self.add(Op::AndMany { open, mask, products, nodes, gates })
    }

    /// Products of the bits of an additive value. With a group of all, it is 1 where all bits are.
    pub fn conjunction(&mut self, x: ValueId) -> Option<()> {
        let x = match self.b.ty(x).hold {
            Hold::Add2 => x,
            _ => self.add(Op::AsAdd2(x))?,
        };
        let Dom::Bits(w) = self.b.ty(x).dom else { return None };
        if !(2..=40).contains(&w) {
            return None;
        }
        let sizes = self.members(w);
        self.level(x, MultiAnd::And(sizes))?;
        Some(())
    }

    /// The carry of the sum of the parts of a split, by the choice of an entry and trees.
    pub fn comparison(&mut self, x: ValueId) -> Option<()> {
        let Type { hold: Hold::Rep, dom: Dom::Ring(k), shape, .. } = self.b.ty(x).clone() else {
            return None;
        };
        if elements(&shape) > LARGEST / 2 {
            return None;
        }
        let w = 1 + self.below(u64::from(k.min(64))) as u32;
        let mut blocks = Vec::new();
        while blocks.iter().sum::<u32>() < w {
            let left = w - blocks.iter().sum::<u32>();
            blocks.push((1 + self.below(4) as u32).min(left));
        }
        let groups = self.groups(&shape);
        let [a, b] = self.split(x, groups)?;
        let a = self.add(Op::Own(a))?;
        let a = self.add(Op::ToBits { x: a, lo: 0, w })?;
        let index = self.add(Op::ToBits { x: b, lo: 0, w })?;
        let table = self.add(Op::Thermometer { x: a, blocks: blocks.clone() })?;
        let table = self.add(Op::Deal(table))?;
        self.next_layer();
        let mut count = blocks.len() as u32;
        if count > 1 {
            let (first, high) = (blocks[0], blocks[1..].to_vec());
            let index =
                self.add(Op::Planes { x: index, start: first, step: 1, count: w - first })?;
            self.add(Op::Propagate { table, index, blocks: high, skip: (1 << first) - 1 })?;
        }
        let mut nodes = self.add(Op::Pick { table, index, blocks })?;
        while count > 1 {
            let sizes = self.members(count);
            count = sizes.len() as u32;
            nodes = self.level(nodes, MultiAnd::Carry(sizes))?;
        }
        self.laws.push(Law::Carry { carry: nodes, of: [a, index], w });
        Some(())
    }

    /// A public function of a replicated value, or of its low bits, by a table of it at the part that one
    /// party knows.
    pub fn lookup(&mut self, x: ValueId) -> Option<()> {
        let Type { hold: Hold::Rep, dom, shape, .. } = self.b.ty(x).clone() else { return None };
        let groups = self.groups(&shape);
        let [a, mut b] = self.split(x, groups)?;
        let mut a = self.add(Op::Own(a))?;
        let largest = (LARGEST / elements(&shape).max(1)).max(2).ilog2().min(12);
        let mut n = 1 + self.below(u64::from(dom.bits().min(largest))) as u32;
        match dom {
            Dom::Bits(w) if w > n => {
                a = self.add(Op::Planes { x: a, start: w - n, step: 1, count: n })?;
                b = self.add(Op::Planes { x: b, start: w - n, step: 1, count: n })?;
            }
            Dom::Bits(w) => n = w,
            Dom::Ring(_) => {}
        }
        let entries = match self.below(3) {
            0 => Dom::Bits(1),
            _ => Dom::Ring(self.pick(&[8, 16, 32, 64, 128])),
        };
        let table = self.constant(entries, &[1 << n]);
        let tables = self.add(Op::Table { x: a, table })?;
        let tables = self.add(Op::Deal(tables))?;
        self.next_layer();
        let entry = self.add(Op::Entry { table: tables, index: b })?;
        self.laws.push(Law::Entry { entry, of: [a, b], table });
        Some(())
    }
}
