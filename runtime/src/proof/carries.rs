//! Shares of the carries of p + q ([`slvr_circuit::proof::Carries`]): those that a party was told, and those that it finds.

use super::chunk::Chunk;
use super::claims::{View, planes, shard, zip};
use slvr_circuit::proof::{Barrier, Carries, Cut, Form, Sent, Statement, code_bits};
use slvr_ring::{Data, Planes};
use std::collections::BTreeMap;

/// The carries of p + q: plane j is the carry into bit j + 1.
pub fn carries(p: &Data, q: &Data, count: u32) -> Planes {
    let (p, q) = (planes(p.to_bits(0, count)), planes(q.to_bits(0, count)));
    let mut out = Planes::zeros(count, p.len());
    let stride = p.stride();
    let mut carry = vec![0; stride];
    for j in 0..count as usize {
        for (c, (p, q)) in carry.iter_mut().zip(p.plane(j).iter().zip(q.plane(j))) {
            *c = p & q ^ *c & (p ^ q);
        }
        out.plane_mut(j).copy_from_slice(&carry);
    }
    out
}

/// Those that are told.
pub fn told(of: &Carries, all: Planes) -> Planes {
    let some: Vec<u32> = of.told.iter().map(|bit| bit - 1).collect();
    planes(Data::Bits(all).select(&some))
}

impl View<'_> {
    /// Its share of the carries of a barrier, plane j that of the carry into bit j + 1; of carries that no one asks for it is 0. The
    /// view has those that are told, one after another.
    pub fn all_carries(&self, barrier: &Barrier) -> BTreeMap<Cut, Planes> {
        let of = |(&x, of): (&Cut, &Carries)| {
            let len = shard(self.circuit, x, self.prover()).len();
            let mut all = Planes::zeros(of.last(), len);
            for (i, &bit) in of.told.iter().enumerate() {
                all.plane_mut(bit as usize - 1).copy_from_slice(self.carries[&x].plane(i));
            }
            (x, all)
        };
        let mut all: BTreeMap<Cut, Planes> = barrier.carries.iter().map(of).collect();
        for s in barrier.statements.iter().filter(|s| !s.found.is_empty()) {
            let Some(sent) = s.sent() else { continue };
            let found = self.found(s, &sent);
            let Some(all) = all.get_mut(&sent.x) else { continue };
            for &place in &s.found {
                let bit = sent.places[place as usize] as usize;
                all.plane_mut(bit - 1).copy_from_slice(found.plane(place as usize));
            }
        }
        all
    }

    /// Of each bit of an input what is left without the bits of p and q.
    fn found(&self, s: &Statement, sent: &Sent<'_>) -> Planes {
        let mut found = planes(self.bits_with(s, sent.bits, false));
        let own = self.own(s.cut(s.out));
        match sent.how {
            Form::Thermometer(blocks) => {
                let code = planes(own);
                for (place, some) in code_bits(blocks).iter().enumerate() {
                    Self::add_planes(found.plane_mut(place), &code, some);
                }
            }
            Form::Bits => add(&mut found, &planes(own)),
            // A word is the sum of two whose lowest bits add up to its own.
            Form::Word => add(&mut found, &planes(own.to_bits(0, 1))),
        }
        found
    }

    /// Of steps from one carry to another the bits of the owner's word that this party knows, as so many planes as a step is long,
    /// and both carries.
    fn steps(&self, x: Cut, of: &Carries, long: u32) -> [Vec<Vec<u64>>; 2] {
        let c = &self.carries[&x];
        let p = planes(self.own(x).to_bits(0, of.last()));
        let steps = of.steps().into_iter().filter(|(from, to)| to - from == long);
        let zero = vec![0; p.stride()];
        let (mut bits, mut ends) = (vec![Vec::new(); long as usize], vec![Vec::new(); 2]);
        for (from, to) in steps {
            for (i, bits) in bits.iter_mut().enumerate() {
                bits.extend_from_slice(p.plane(from as usize + i));
            }
            let before = from.checked_sub(1).map_or(&zero[..], |j| c.plane(j as usize));
            ends[0].extend_from_slice(before);
            ends[1].extend_from_slice(c.plane(to as usize - 1));
        }
        [bits, ends]
    }

    /// c_(j+1) = c_j + (p_j + c_j) (q_j + c_j), with c_0 = 0.
    pub(super) fn adder(&self, x: Cut, of: &Carries) -> Chunk<'_> {
        let [bits, ends] = self.steps(x, of, 1);
        let (p, before, after) = (&bits[0], &ends[0], &ends[1]);
        let either = zip(p, before, |p, c| p ^ c);
        let sum = self.sums.then(|| {
            (0..before.len()).map(|i| before[i] ^ after[i] ^ either[i] & before[i]).collect()
        });
        let before = before.clone();
        Chunk::new(before.len(), vec![either.into(), before.into()], sum)
    }

    /// The carry out of two bits, as [`slvr_circuit::proof::Carries`] has it.
    pub(super) fn pair_adder(&self, x: Cut, of: &Carries) -> Chunk<'_> {
        let [bits, ends] = self.steps(x, of, 2);
        let (low, high, before, after) = (&bits[0], &bits[1], &ends[0], &ends[1]);
        let column = |f: &dyn Fn(u64, u64, u64) -> u64| -> Vec<u64> {
            (0..before.len()).map(|i| f(low[i], high[i], before[i])).collect()
        };
        // Whether the number of both bits is 0, 1, 2 or 3.
        let is: [fn(u64, u64) -> u64; 4] =
            [|l, h| !l & !h, |l, h| l & !h, |l, h| !l & h, |l, h| l & h];
        let mut columns = Vec::new();
        if self.first() {
            columns.push(column(&|l, h, _| l | h));
            columns.push(column(&|_, h, _| h));
            columns.push(column(&|l, h, _| l & h));
            columns.extend([0, 1, 2].map(|a| column(&|l, h, c| c & (is[a](l, h) ^ is[3](l, h)))));
        } else {
            let ways = |v: usize| {
                let (same, less) = (is[4 - v], is[3 - v]);
                column(&|l, h, c| same(l, h) ^ c & (less(l, h) ^ same(l, h)))
            };
            columns.extend([1, 2, 3].map(ways));
            columns.extend([3, 2, 1].map(|b| column(&|l, h, _| is[b](l, h))));
        }
        let sum = self.sums.then(|| zip(after, &column(&|l, h, c| c & l & h), |x, y| x ^ y));
        Chunk::new(before.len(), columns.into_iter().map(Into::into).collect(), sum)
    }
}

fn add(x: &mut Planes, y: &Planes) {
    x.words_mut().iter_mut().zip(y.words()).for_each(|(x, y)| *x ^= y);
}
