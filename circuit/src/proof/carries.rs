//! Which carries of p + q a proof needs, and which of them parties find by themselves ([`Carries`]).

use super::claim::{Claim, Cut, Statement};
use super::input::{Bits, Own};
use crate::ValueId;
use std::collections::{BTreeMap, BTreeSet};

/// The carries of the split of a replicated word of which parties have shares.
///
/// An owner's part is a = p + q, where V1 knows p and V2 knows q. Bit j of it is p_j + q_j + c_j, with c_j the carry
/// into bit j. Statements about bits and high parts of a take shares of carries. That these are right is a statement of
/// its own, from c_0 = 0 on, in steps of one bit,
///
/// ```text
/// c_(j+1) = c_j + (p_j + c_j) (q_j + c_j)
/// ```
///
/// or of two. With A and B what the two bits of p and of q are as numbers, and c = c1 + c2 the carry into them, the
/// carry out of them is [A + B + c >= 4], a sum of products of what V1 and what V2 knows:
///
/// ```text
/// sum over v = 1, 2, 3 of [A >= v] ([B = 4-v] + c2 [B = 3-v] + c2 [B = 4-v])
///   + sum over a = 0, 1, 2 of c1 ([A = a] + [A = 3]) [B = 3-a]  + c1 [A = 3] + c2 [B = 3]
/// ```
///
/// No sum of fewer products says so: as a matrix over what the two know, less what one knows alone, it has rank 6.
/// It takes half as many carries as steps of one bit, for six products in place of four.
///
/// **Found.** Where bits of a are input anyway, as they are, as a thermometer code or as a word, the carries into them
/// need not be told: V1 adds p_j to its share of bit j, and V2 adds q_j, and what they have are shares of c_j. That the
/// bit is right needs no statement of its own then: a false bit is a false carry, and the carry into the lowest bit is
/// no one's to choose, it is 0. That a code is a thermometer, and that a word is 0 or 1, are still statements. So is a
/// second copy of the bit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carries {
    /// Bits whose carries the owner shares, ascending.
    pub told: Vec<u32>,
    /// Bits whose carries nobody is told, because a message has the bit: [`Statement::found`] says which.
    pub found: BTreeSet<u32>,
}

/// Bits of one word that are input.
pub struct Sent<'a> {
    /// The word.
    pub x: Cut,
    /// How its bits are read.
    pub bits: &'a Bits,
    /// The bits in their order.
    pub places: Vec<u32>,
    /// How they are input.
    pub sent_as: SentAs<'a>,
}

/// How bits are input.
pub enum SentAs<'a> {
    /// As they are.
    Bits,
    /// As thermometer codes of these blocks.
    Thermometer(&'a [u32]),
    /// One as a word.
    Word,
}

impl Carries {
    /// The last bit.
    pub fn last(&self) -> u32 {
        let last = self.found.last().copied();
        last.max(self.told.last().copied()).unwrap_or(0)
    }

    /// From which bit to which the statements about them lead: one bit further, or two.
    pub fn steps(&self) -> Vec<(u32, u32)> {
        let mut all: Vec<u32> = self.told.iter().chain(&self.found).copied().collect();
        all.sort_unstable();
        let mut before = 0;
        all.into_iter().map(|bit| (std::mem::replace(&mut before, bit), bit)).collect()
    }

    /// How many of these lead one bit further, and how many lead two.
    pub fn counts(&self) -> [usize; 2] {
        let all = self.told.len() + self.found.len();
        let two = self.last() as usize - all;
        [all - two, two]
    }
}

impl Statement {
    /// The bits of one word that are input, if it is about such.
    pub fn sent(&self) -> Option<Sent<'_>> {
        let (bits, sent_as) = match &self.claim {
            Claim::Input(Own::Bits(bits)) => (bits, SentAs::Bits),
            Claim::Input(Own::Thermometer(bits, blocks)) => (bits, SentAs::Thermometer(blocks)),
            Claim::Input(Own::Word(bits)) => (bits, SentAs::Word),
            _ => return None,
        };
        let (x, places) = bits.of_word()?;
        Some(Sent { x: self.cut(x), bits, places, sent_as })
    }
}

impl Bits {
    /// The bits of one word that it reads, in their order.
    fn of_word(&self) -> Option<(ValueId, Vec<u32>)> {
        match self {
            Bits::Part(_) => None,
            Bits::OfWord { x, lo, w } => Some((*x, (*lo..lo + w).collect())),
            Bits::Not(b) => b.of_word(),
            Bits::Select(b, planes) => {
                let (x, bits) = b.of_word()?;
                let some = planes.iter().map(|&p| bits.get(p as usize).copied());
                Some((x, some.collect::<Option<_>>()?))
            }
        }
    }
}

/// The carries that statements take. Each statement whose bits say what carries are is told which do.
pub(super) fn carries(
    statements: &mut [Statement],
    width: &dyn Fn(ValueId) -> u32,
) -> BTreeMap<Cut, Carries> {
    let mut needed: BTreeMap<Cut, BTreeSet<u32>> = BTreeMap::new();
    for s in &*statements {
        s.claim.carries(width, &mut |x, bits| {
            needed.entry(s.cut(x)).or_default().extend(bits.filter(|&bit| bit > 0));
        });
    }
    needed.retain(|_, bits| !bits.is_empty());
    let mut found: BTreeMap<Cut, BTreeSet<u32>> = BTreeMap::new();
    for s in statements {
        let Some(Sent { x, places, .. }) = s.sent() else { continue };
        let Some(last) = needed.get(&x).and_then(BTreeSet::last) else { continue };
        let (found, mut here) = (found.entry(x).or_default(), Vec::new());
        for (place, bit) in places.into_iter().enumerate() {
            if (1..=*last).contains(&bit) && found.insert(bit) {
                here.push(place as u32);
            }
        }
        s.found = here;
    }
    let all = needed.into_iter().map(|(x, needed)| {
        let found = found.remove(&x).unwrap_or_default();
        let mut known = needed;
        known.extend(&found);
        let (mut told, mut at) = (Vec::new(), 0);
        for bit in known {
            told.extend((at..bit).step_by(2).skip(1));
            if !found.contains(&bit) {
                told.push(bit);
            }
            at = bit;
        }
        (x, Carries { told, found })
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever bits are read and input, each carry that is asked for is told or found, steps are as long as statements
    /// are, and no bit is what the carry into itself is found from twice.
    #[test]
    fn every_carry_that_is_asked_for_is_reached() {
        let mut state = 1u64;
        let mut draw = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u32 % n as u32
        };
        let (x, k) = (ValueId(0), 64);
        for case in 0..2000 {
            let mut all: Vec<Statement> = Vec::new();
            for number in 0..=draw(4) {
                let lo = draw(60);
                let bits = Bits::OfWord { x, lo, w: 1 + draw(u64::from(k - lo)) };
                let width = bits.of_word().map_or(0, |(_, b)| b.len() as u32);
                let bits = match draw(4) {
                    0 => Bits::Not(Box::new(bits)),
                    1 => Bits::Select(Box::new(bits), vec![width - 1, 0]),
                    _ => bits,
                };
                let own = match draw(5) {
                    0 => Own::High { x, shift: draw(64), wraps: draw(2) == 0 },
                    1 => Own::Thermometer(bits.clone(), vec![1; width as usize]),
                    2 => Own::Word(Bits::OfWord { x, lo, w: 1 }),
                    _ => Own::Bits(bits),
                };
                let (instr, out) = (u64::from(number), ValueId(1 + number));
                let claim = Claim::Input(own);
                all.push(Statement { instr, layer: 0, out, groups: 1, claim, found: Vec::new() });
            }
            let carries = carries(&mut all, &|_| k);
            let mut found = BTreeSet::new();
            for s in &all {
                let places = s.sent().map(|sent| sent.places).unwrap_or_default();
                for &place in &s.found {
                    let bit = places[place as usize];
                    assert!(found.insert(bit), "case {case}: bit {bit}");
                    assert_ne!(bit, 0, "case {case}: there is no carry into bit 0");
                }
            }
            let Some(of) = carries.values().next() else {
                assert!(found.is_empty(), "case {case}");
                continue;
            };
            assert_eq!(of.found, found, "case {case}");
            let steps = of.steps();
            let mut at = 0;
            for &(from, to) in &steps {
                assert_eq!(from, at, "case {case}");
                assert!((1..=2).contains(&(to - from)), "case {case}: from {from} to {to}");
                at = to;
            }
            let long = |n: u32| steps.iter().filter(|(from, to)| to - from == n).count();
            assert_eq!(of.counts(), [long(1), long(2)], "case {case}");
            let reached: BTreeSet<u32> = steps.iter().map(|(_, to)| *to).collect();
            assert_eq!(reached.len(), of.told.len() + of.found.len(), "case {case}");
            for s in &all {
                s.claim.carries(&|_| k, &mut |_, mut bits| {
                    assert!(bits.all(|b| b == 0 || reached.contains(&b)), "case {case}: {s:?}");
                });
            }
        }
    }

    /// The sum of six products that a step of two bits is, for all bits and all shares of the carry.
    #[test]
    fn a_step_of_two_bits_is_the_carry_out_of_them() {
        for (a, b, c1, c2) in (0..64).map(|i| (i & 3, i >> 2 & 3, i >> 4 & 1, i >> 5)) {
            let is = |x: i32, y: i32| i32::from(x == y);
            let ways =
                |v| i32::from(a >= v) & (is(b, 4 - v) ^ (c2 & (is(b, 3 - v) ^ is(b, 4 - v))));
            let more = |v| c1 & (is(a, v) ^ is(a, 3)) & is(b, 3 - v);
            let products = (1..4).map(ways).chain((0..3).map(more)).fold(0, |s, x| s ^ x);
            let alone = (c1 & is(a, 3)) ^ (c2 & is(b, 3));
            let carry = i32::from(a + b + (c1 ^ c2) >= 4);
            assert_eq!(products ^ alone, carry, "{a} {b} {c1} {c2}");
        }
    }
}
