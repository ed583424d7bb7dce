//! A tensor of a file, whatever the format of the file.

use safetensors::Dtype;
use slvr_runtime::share::elements::{self, Kind};
use slvr_runtime::share::encode::RawData;
use std::borrow::Cow;

/// A tensor of a file.
pub struct Stored<'a> {
    pub shape: Vec<u64>,
    /// The type of its elements, as the file calls it.
    pub kind: String,
    /// Its elements, if they are of a type that is read; an npz file gives them only in the shape that was asked for.
    pub data: Option<Cow<'a, RawData>>,
}

/// Whether a stored tensor has the shape that is asked for. A single number may be a list of one.
pub fn fits(found: &[u64], wanted: &[u64]) -> bool {
    found == wanted || (wanted.is_empty() && found == [1])
}

/// Bytes of one element of a type that is read.
pub fn size_of(dtype: Dtype) -> u64 {
    (dtype.bitsize() / 8) as u64
}

/// The elements, if their type is one of those that are read.
pub fn elements(dtype: Dtype, bytes: &[u8]) -> Option<RawData> {
    let kind = match dtype {
        Dtype::F16 => Kind::F16,
        Dtype::BF16 => Kind::BF16,
        Dtype::F32 => Kind::F32,
        Dtype::F64 => Kind::F64,
        Dtype::I64 => Kind::I64,
        Dtype::I32 => Kind::I32,
        Dtype::I16 => Kind::I16,
        Dtype::I8 => Kind::I8,
        // One byte, 0 or 1.
        Dtype::U8 | Dtype::BOOL => Kind::U8,
        Dtype::U16 => Kind::U16,
        Dtype::U32 => Kind::U32,
        Dtype::U64 => Kind::U64,
        _ => return None,
    };
    Some(elements::read(kind, bytes))
}
