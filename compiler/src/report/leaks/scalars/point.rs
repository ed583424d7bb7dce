//! What inputs are at a point: pseudorandom numbers in the declared ranges.

use crate::graph::Input;
use crate::types::{Elem, Lots};

/// What an input is that the receiver, or anybody, chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Given {
    /// Numbers that satisfy no equation by chance.
    Any,
    /// Input number `input` is 1 at `entry` and 0 elsewhere, or as near to this as its range allows.
    OneHot { input: usize, entry: usize },
    /// Input number `input` is its largest number at `entry` and one unit less elsewhere.
    Largest { input: usize, entry: usize },
    /// Input number `input` is at an end of its range at `entry`, the upper one if `high`, and 0 elsewhere, or
    /// as near to this as its range allows.
    End { input: usize, entry: usize, high: bool },
    /// Input number `input` is at an end of its range at `entry`, the upper one if `high`, and at the other end elsewhere.
    Ends { input: usize, entry: usize, high: bool },
    /// Input number `input` is in the middle of its range at `entry` and at its lower end elsewhere.
    Apart { input: usize, entry: usize },
    /// All of input number `input` is at this of [`Given::PARTS`] equal steps from the lower to the upper end of its range.
    Part { input: usize, part: u32 },
}

impl Given {
    /// Steps of a range.
    pub(in super::super) const PARTS: u32 = 16;
}

/// A point at which reveals are evaluated.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Point {
    pub(in super::super) seed: u64,
    pub(in super::super) public: Given,
    /// Which coins are drawn; any if none is given.
    pub(in super::super) coins: Option<u64>,
}

/// A unit of what is computed, and of an input with as many fraction bits as most.
pub(in super::super) const UNIT: f64 = 1.0 / 65536.0;

/// What the entries of an input are whole multiples of.
pub(in super::super) fn unit_of(input: &Input) -> f64 {
    match (input.elem, input.frac) {
        (Elem::Int | Elem::Bit, _) => 1.0,
        (Elem::Fix, Some(frac)) => (-f64::from(frac)).exp2(),
        (Elem::Fix, None) => UNIT,
    }
}

/// The next number of a sequence that looks random.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// From 0 to 1.
fn unit(x: u64) -> f64 {
    (mix(x) >> 11) as f64 / (1u64 << 53) as f64
}

impl Point {
    /// A number from 0 to 1.
    pub(in super::super) fn unit(&self, a: u64) -> f64 {
        unit(self.hash(a, 0))
    }

    pub(super) fn hash(&self, a: u64, b: u64) -> u64 {
        mix(mix(mix(self.seed) ^ a) ^ b)
    }

    /// Entry `entry` of input `index`, whose first axis has a member after the other.
    pub(super) fn input(&self, index: usize, input: &Input, entry: usize) -> f64 {
        let whole = input.elem != Elem::Fix;
        // Weights without a range are small in practice.
        let (lo, hi) = (input.range.0.max(-1024.0), input.range.1.min(1024.0));
        let near = |x: f64| x.clamp(lo.min(hi), hi.max(lo));
        // Whoever chooses an input can choose any number of its range.
        let (first, last) = input.range;
        let ends = if first.is_finite() && last.is_finite() { (first, last) } else { (lo, hi) };
        let end = |high: bool| if high { ends.1 } else { ends.0 };
        match self.public {
            Given::OneHot { input: i, entry: e } if i == index => {
                return near(f64::from(u8::from(e == entry)));
            }
            Given::End { input: i, entry: e, high } if i == index => {
                return if e == entry { end(high) } else { near(0.0) };
            }
            Given::Ends { input: i, entry: e, high } if i == index => {
                return end(if e == entry { high } else { !high });
            }
            Given::Part { input: i, part } if i == index => {
                let x = lo + (hi - lo) * f64::from(part) / f64::from(Given::PARTS);
                return if whole { x.floor() } else { x };
            }
            Given::Largest { input: i, entry: e } if i == index => {
                return near(if e == entry { hi } else { hi - unit_of(input) });
            }
            Given::Apart { input: i, entry: e } if i == index => {
                let middle = near((lo + hi) / 2.0);
                return if e != entry {
                    lo
                } else if whole {
                    middle.floor()
                } else {
                    middle
                };
            }
            Given::Any
            | Given::OneHot { .. }
            | Given::End { .. }
            | Given::Ends { .. }
            | Given::Part { .. }
            | Given::Largest { .. }
            | Given::Apart { .. } => {}
        }
        let u = unit(self.hash(index as u64, entry as u64));
        if whole {
            return (lo + u * (hi - lo + 1.0)).floor().min(hi);
        }
        // Clients differ in size, so that thresholds fall between them.
        let len = input.shape.iter().product::<u64>().max(1) as usize;
        let member = if input.from.is_secret() { entry / len } else { 0 };
        let size = 2.0 * unit(self.hash(!0, member as u64));
        if lo <= 0.0 && hi >= 0.0 {
            near((lo + u * (hi - lo)) * size.clamp(0.02, 1.0))
        } else {
            lo + u * (hi - lo)
        }
    }

    /// What is taken for a number that is not followed.
    pub(super) fn opaque(&self, node: usize, entry: usize, elem: Elem) -> f64 {
        let u = unit(self.hash(0x0000_5EED ^ node as u64, entry as u64));
        match elem {
            Elem::Bit => f64::from(u8::from(u < 0.5)),
            Elem::Int => (u * 16.0).floor(),
            Elem::Fix => 0.1 + u,
        }
    }

    /// Entry `entry` of what is drawn: some distinct numbers in each row.
    pub(super) fn drawn(&self, &Lots { n, k, others, .. }: &Lots, entry: usize) -> f64 {
        let (i, j) = (entry as u64 / k.max(1), entry as u64 % k.max(1));
        // Every number is drawn in every place, one after the other.
        let first = match self.coins {
            Some(coins) => {
                Point { seed: coins / n.max(1), ..*self }.hash(7, i) % n.max(1) + coins % n.max(1)
            }
            None => self.hash(7, i),
        };
        if !others {
            return ((first % n.max(1) + j) % n.max(1)) as f64;
        }
        let turn = first % n.saturating_sub(1).max(1);
        ((i + 1 + (turn + j) % n.saturating_sub(1).max(1)) % n.max(1)) as f64
    }
}
