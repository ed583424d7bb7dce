//! A value cut at -2^top and 2^top: on which side of both ends it is, and what is left of it.

use super::{comparison, selection};
use crate::lower::common::words::word;
use crate::lower::emit::Emit;
use slvr_circuit::{Op as C, ValueId};

/// Where a value is of -most and most.
pub(super) struct Ends {
    low: ValueId,
    inside: ValueId,
    high: ValueId,
}

impl Ends {
    /// Of a value whose sum with `most` has at most `width` bits.
    pub(super) fn of(e: &mut Emit, x: ValueId, most: f64, width: u32) -> Ends {
        let ring = e.ty(x).bits();
        let (up, down) = (word(most, ring), word(-most, ring));
        let low = e.add(C::Offset(x, up));
        let low = comparison::negative(e, low, width);
        let high = e.add(C::Offset(x, down));
        let not_high = comparison::negative(e, high, width);
        let inside = e.add(C::Add(low, not_high));
        Ends { low, inside, high: e.add(C::Not(not_high)) }
    }

    /// The value, now in the ring of the result, cut at both ends, which are 2^`top`.
    pub(super) fn cut(self, e: &mut Emit, x: ValueId, top: u32) -> ValueId {
        selection::cut(e, (self.inside, x), self.high, Some(self.low), top)
    }
}
