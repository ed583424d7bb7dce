//! What is a type.

use super::error::TypeError;
use crate::limits::{MAX_ELEMENTS, MAX_PLANES, MAX_RANK};
use crate::types::RING_WIDTHS;
use crate::{Dom, Type};

/// Whether a type is one: a ring width there is or 1 to 128 bits, at most 12 axes, and at most 2^34
/// elements, where an axis of size 0 counts as 1 (so that no product of sizes can overflow).
pub fn check_type(ty: &Type) -> Result<(), TypeError> {
    let want = match ty.dom {
        Dom::Ring(k) if !RING_WIDTHS.contains(&k) => "words have 8, 16, 32, 64 or 128 bits",
        Dom::Bits(w) if !(1..=MAX_PLANES).contains(&w) => "elements have 1 to 4096 bits",
        _ if ty.groups > 0 && !grouped(ty) => {
            "groups are of values stored in shards, and parts of the first axis that is not 1"
        }
        _ if ty.shape.len() > MAX_RANK => "too many axes",
        _ if !bounded(&ty.shape) => "too many elements",
        _ => return Ok(()),
    };
    Err(TypeError::Type { ty: ty.to_string(), want })
}

/// Whether groups are parts of the leading axis.
pub(super) fn grouped(ty: &Type) -> bool {
    let size = ty.shape.get(ty.lead()).copied().unwrap_or(1);
    ty.hold.is_sharded() && size.is_multiple_of(u64::from(ty.groups))
}

/// Whether a shape has at most [`MAX_ELEMENTS`] elements, sizes 0 counted as 1.
pub(in crate::verify) fn bounded(shape: &[u64]) -> bool {
    shape.iter().fold(1u64, |n, &d| n.saturating_mul(d.max(1))) <= MAX_ELEMENTS
}
