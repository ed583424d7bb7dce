//! The arithmetic of family T2 for [`common::elementary`](crate::lower::common::elementary).
//!
//! | step | rounds of the two |
//! |---|---|
//! | position of the top bit | of [`top_bit`], and 1 for a table of it as a word |
//! | u, scaled and truncated to 32 bits | 1 |
//! | the function of u, by pieces | 1, and 1 where they are of 32 bits and lifted |
//! | its product with a table, truncated | 1, and 1 where the result has more bits than the truncation leaves |
//!
//! With 16 fraction bits, all parties send 9 to 14 thousand bits for an element that may have 47 bits. The bits of each
//! step are those of its macro ([`super`]); a table costs the dealer a word for each position. Errors are those that
//! `common::elementary` states.

use super::pieces::{self, Pieces};
use super::position::{May, top_bit};
use super::saturation::Ends;
use super::{comparison, product, selection, truncation};
use crate::cost::Tuning;
use crate::lower::Emit;
use crate::lower::common::elementary::{
    Among, Arithmetic, FRAC, K, Operand, Position, Scale, Smooth,
};
use crate::lower::common::masked::{self, Pair, Split, linear, settle};
use crate::lower::common::words::{aligned, word};
use slvr_circuit::{Hold, Op, Type, ValueId, verify};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Masked values whose part b is known.
pub struct Masked<'a> {
    pub emit: &'a mut Emit,
    pub tuning: Tuning,
}

impl Masked<'_> {
    /// Both operands of an elementwise operation, as its result is cut between groups: in those of the larger operand,
    /// or of the other one, or in one, and repeated along the axis that shards are parts of. Operands in other groups
    /// are joined and split again, which takes no round.
    fn alike(&mut self, x: Split, y: Split) -> [Split; 2] {
        let e = &mut *self.emit;
        let of = [x, y].map(|v| e.ty(v.own).clone());
        let (a, b) = (&of[0].shape, &of[1].shape);
        let out: Vec<u64> = a.iter().zip(b).map(|(&a, &b)| a.max(b)).collect();
        let cut = |groups: u32, shape: &[u64]| {
            let shape = if groups == 1 { shape.to_vec() } else { aligned(shape, &out) };
            Type::new(Hold::Own, of[0].dom, shape).grouped(groups)
        };
        let fits = |groups: u32| {
            let all = [a, b, &out].map(|shape| cut(groups, shape));
            a.len() == b.len() && all.iter().all(|ty| verify::check_type(ty).is_ok())
        };
        let larger_first = match of[0].elements() >= of[1].elements() {
            true => [of[0].groups, of[1].groups],
            false => [of[1].groups, of[0].groups],
        };
        let groups = larger_first.into_iter().find(|&groups| fits(groups)).unwrap_or(1);
        [(x, &of[0]), (y, &of[1])].map(|(v, ty)| {
            let shape = cut(groups, &ty.shape).shape;
            if ty.groups == groups && ty.shape == shape {
                return v;
            }
            let v = masked::join(e, &v);
            let v = e.broadcast(v, &shape);
            masked::split(e, v, groups)
        })
    }
}

impl Arithmetic for Masked<'_> {
    type Value = Split;

    const UNIT: u32 = 32;
    const SUM: u32 = 28;

    fn linear(&mut self, x: Split, op: impl Fn(ValueId) -> Op) -> Split {
        linear(self.emit, &x, op)
    }

    fn offset(&mut self, x: Split, by: u128) -> Split {
        Split { dup: self.emit.add(Op::Offset(x.dup, by)), ..x }
    }

    fn sum(&mut self, x: Split, y: Split) -> Split {
        let [x, y] = self.alike(x, y);
        masked::sum(self.emit, &x, &y, false)
    }

    fn multiply(&mut self, x: Split, y: Split) -> Split {
        let [x, y] = self.alike(x, y);
        let product = product::product(self.emit, &x, &y, Op::Mul);
        settle(self.emit, product)
    }

    fn truncate(&mut self, x: Split, by: u32, ring: u32) -> Split {
        if by == 0 {
            return self.convert(x, ring);
        }
        let own = self.emit.ty(x.own).bits();
        let x = truncation::truncate(self.emit, &x, by, ring.min(own)).whole;
        self.convert(x, ring)
    }

    fn convert(&mut self, x: Split, ring: u32) -> Split {
        match self.emit.ty(x.own).bits() {
            own if own == ring => x,
            own if own > ring => linear(self.emit, &x, |v| Op::Narrow(v, ring)),
            _ => truncation::lift(self.emit, &x, 0, ring),
        }
    }

    fn cut(&mut self, x: Split, end: u32, bits: u32) -> Split {
        let ends = Ends::of(self.emit, &x, (bits + 1, end), self.tuning);
        let x = self.convert(x, K);
        let cut = ends.cut(self.emit, &x, end);
        settle(self.emit, cut)
    }

    fn negative(&mut self, x: Split, bits: u32) -> Split {
        let negative = comparison::negative(self.emit, &x, bits, self.tuning);
        settle(self.emit, negative)
    }

    fn plane(&mut self, x: Split, i: u32) -> Split {
        super::gates::part(self.emit, &x, &[i])
    }

    fn stack(&mut self, all: Vec<Split>) -> Split {
        masked::both(|part| self.emit.stack(all.iter().map(part).collect()))
    }

    fn weighted(&mut self, bits: Split, weights: &[u128], ring: u32) -> Split {
        let e = &mut *self.emit;
        let mut sum: Option<Pair> = None;
        for (i, &weight) in (0u32..).zip(weights).filter(|&(_, &w)| w != 0) {
            let bit = super::gates::part(e, &bits, &[i]);
            let word = selection::to_word(e, &bit, ring);
            let term = masked::linear_of_pair(e, word, |v| Op::Scale(v, weight));
            sum = Some(match sum {
                None => term,
                Some(sum) => masked::sum_of_pairs(e, sum, term),
            });
        }
        if let Some(sum) = sum {
            return settle(e, sum);
        }
        // All weights are zero.
        let ty = e.ty(bits.own).clone();
        let zero = e.constant(false, ring, &ty.shape, vec![0]);
        let zero = e.share_public(zero);
        masked::split(e, zero, ty.groups)
    }

    fn position(&mut self, y: &Operand<Split>, among: Among) -> Position<Split> {
        let may = May { be_negative: !y.not_negative, be_zero: y.least == 0 };
        let top = top_bit(self.emit, &y.value, among, may, self.tuning);
        let Some(minus) = top.minus else {
            return Position { hot: top.hot, size: y.value, signed: None };
        };
        let minus_two = word(-2.0, K);
        let twice = self.weighted(minus, &[minus_two], K);
        let signed = self.offset(twice, 1);
        let e = &mut *self.emit;
        let less = selection::inject(e, &minus, &y.value);
        let less = masked::linear_of_pair(e, less, |v| Op::Scale(v, minus_two));
        let whole = masked::unsettled(e, &y.value);
        let size = masked::sum_of_pairs(e, whole, less);
        Position { hot: top.hot, size: settle(e, size), signed: Some(signed) }
    }

    fn smooth(&mut self, u: Split, f: &Smooth, more: Option<Split>, to: Scale) -> Split {
        // What is added is added in a word; else the result is rounded at once.
        let (frac, ring) = if more.is_some() { (Self::SUM, K) } else { (to.frac, to.ring) };
        let pieces = self.pieces(f, frac, ring, u);
        let y = pieces.eval(self.emit, &u);
        let y = self.convert(y, ring);
        match more {
            None => y,
            Some(more) => {
                let sum = self.sum(y, more);
                self.truncate(sum, Self::SUM - to.frac, to.ring)
            }
        }
    }
}

impl Masked<'_> {
    /// Pieces of [1/2, 1], for a word of 32 bits that is lifted, or for one of 64.
    fn pieces(&self, f: &Smooth, frac: u32, ring: u32, u: Split) -> Pieces {
        let elements = self.emit.ty(u.own).elements();
        let fitted = [32, 64].into_iter().filter_map(|to| {
            let pieces = on_unit(f, frac, to)?;
            let rounds = if to < ring { 1.0 } else { 0.0 };
            Some((self.tuning.time(rounds, pieces.dealt() as f64, elements), pieces))
        });
        let best = fitted.min_by(|a, b| a.0.total_cmp(&b.0));
        best.unwrap_or_else(|| unreachable!("{frac} fraction bits")).1
    }
}

/// A function on [1/2, 1], from [`FRAC`] fraction bits to others.
pub fn on_unit(f: &Smooth, frac: u32, to: u32) -> Option<Pieces> {
    type Known = BTreeMap<(u64, u32, u32), Option<Pieces>>;
    thread_local! {
        /// By the first coefficient, which tells the few functions apart: they are fitted for every trial.
        static KNOWN: RefCell<Known> = const { RefCell::new(BTreeMap::new()) };
    }
    let key = (f.series[0].to_bits(), frac, to);
    if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).cloned()) {
        return known;
    }
    let (from, into) = (f64::from(FRAC).exp2(), f64::from(frac).exp2());
    // A quarter of a unit is little beside the rounding of the result.
    let tolerance = (f.tolerance * into).max(0.25);
    let smooth = pieces::Smooth {
        lo: 1 << (FRAC - 1),
        hi: 1 << FRAC,
        value: &|x| (f.value)(x / from) * into,
        tolerance: &|_| tolerance,
    };
    let fitted = Pieces::fit(&smooth, to);
    KNOWN.with_borrow_mut(|known| known.insert(key, fitted.clone()));
    fitted
}
