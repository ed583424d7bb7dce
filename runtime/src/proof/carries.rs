//! Shares of the carries of p + q ([`slvr_circuit::proof::Carries`]): those that a party was told, and those that it finds.

use super::chunk::Chunk;
use super::statements::{View, planes, shard};
use slvr_circuit::proof::{Barrier, Carries, Cut, Sent, SentAs, Statement, code_bits};
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

/// What is done with a step: with the lowest and the highest of its bits, and the carries before and after it.
type Step<'a> = dyn FnMut([&[u64]; 2], &[u64], &[u64]) + 'a;

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
        let mut found = self.bits_with(s, sent.bits, false);
        let own = self.own(s.cut(s.out));
        match sent.sent_as {
            SentAs::Thermometer(blocks) => {
                let (mut found, code) = (planes(found), planes(own));
                for (place, some) in code_bits(blocks).iter().enumerate() {
                    Self::add_planes(found.plane_mut(place), &code, some);
                }
                return found;
            }
            SentAs::Bits => found.add_assign(&own),
            // A word is the sum of two whose lowest bits add up to its own.
            SentAs::Word => found.add_assign(&own.to_bits(0, 1)),
        }
        planes(found)
    }

    /// Steps of so many bits: calls with what this party knows of the bits, and its shares of the carry into them and of the one
    /// out of them.
    fn steps(&self, x: Cut, (of, long): (&Carries, usize), each: &mut Step<'_>) {
        let c = &self.carries[&x];
        let p = self.own_bits(x, 0, of.last());
        let zero = vec![0; p.stride()];
        for (from, to) in of.steps() {
            let (from, to) = (from as usize, to as usize);
            if to - from == long {
                let before = from.checked_sub(1).map_or(&zero[..], |j| c.plane(j));
                each([p.plane(from), p.plane(to - 1)], before, c.plane(to - 1));
            }
        }
    }

    /// c_(j+1) = c_j + (p_j + c_j) (q_j + c_j), with c_0 = 0.
    pub(super) fn adder(&self, x: Cut, of: &Carries) -> Chunk<'_> {
        let n = of.counts()[0] * self.carries[&x].stride();
        if self.sums {
            let mut sum = Vec::with_capacity(n);
            self.steps(x, (of, 1), &mut |[p, _], before, after| {
                let all = p.iter().zip(before).zip(after);
                sum.extend(all.map(|((p, c), d)| c ^ d ^ (p ^ c) & c));
            });
            return Chunk::new(n, Vec::new(), Some(sum));
        }
        let mut columns = [(); 2].map(|()| Vec::with_capacity(n));
        self.steps(x, (of, 1), &mut |[p, _], before, _| {
            columns[0].extend(p.iter().zip(before).map(|(p, c)| p ^ c));
            columns[1].extend_from_slice(before);
        });
        Chunk::new(n, columns.map(Into::into).into(), None)
    }

    /// The carry out of two bits, as [`slvr_circuit::proof::Carries`] has it, with l and h the lower and the higher one.
    pub(super) fn pair_adder(&self, x: Cut, of: &Carries) -> Chunk<'_> {
        let n = of.counts()[1] * self.carries[&x].stride();
        if self.sums {
            let mut sum = Vec::with_capacity(n);
            self.steps(x, (of, 2), &mut |[low, high], before, after| {
                let all = low.iter().zip(high).zip(before).zip(after);
                sum.extend(all.map(|(((l, h), c), d)| d ^ c & l & h));
            });
            return Chunk::new(n, Vec::new(), Some(sum));
        }
        let mut columns = [(); 6].map(|()| Vec::with_capacity(n));
        let first = self.first();
        self.steps(x, (of, 2), &mut |[low, high], before, _| {
            let all = low.iter().zip(high).zip(before).map(|((l, h), c)| (*l, *h, *c));
            let [a, b, c, d, e, f] = &mut columns;
            if first {
                // Whether the number of both bits is at least 1, 2 or 3; and c where it is 0 or 3, 1 or 3, 2 or 3.
                a.extend(all.clone().map(|(l, h, _)| l | h));
                b.extend_from_slice(high);
                c.extend(all.clone().map(|(l, h, _)| l & h));
                d.extend(all.clone().map(|(l, h, c)| c & !(l ^ h)));
                e.extend(all.clone().map(|(l, _, c)| c & l));
                f.extend(all.map(|(_, h, c)| c & h));
            } else {
                // Whether it is 4 - v, or with c 3 - v, for v = 1, 2, 3; and whether it is 3, 2 or 1.
                a.extend(all.clone().map(|(l, h, c)| h & (l ^ c)));
                b.extend(all.clone().map(|(l, h, c)| !l & h ^ c & (l ^ h)));
                c.extend(all.clone().map(|(l, h, c)| !h & (l ^ c)));
                d.extend(all.clone().map(|(l, h, _)| l & h));
                e.extend(all.clone().map(|(l, h, _)| !l & h));
                f.extend(all.map(|(l, h, _)| l & !h));
            }
        });
        Chunk::new(n, columns.map(Into::into).into(), None)
    }
}
