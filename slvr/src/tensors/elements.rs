//! A tensor of a file, whatever the format of the file.

use safetensors::Dtype;
use slvr_runtime::share::elements::{self, Kind};
use slvr_runtime::share::encode::RawData;
use std::borrow::Cow;

pub struct Stored<'a> {
    pub shape: Vec<u64>,
    /// The type of its elements, as the file calls it.
    pub kind: String,
    /// Its elements, if they are of a type that is read; an npz file gives them only in the shape that was asked for.
    pub data: Option<Elements<'a>>,
}

/// Elements of a tensor, row by row, where they lie or made for this.
#[derive(Clone)]
pub enum Elements<'a> {
    /// Real numbers as binary32.
    F32(Cow<'a, [f32]>),
    /// Real numbers as binary64.
    F64(Cow<'a, [f64]>),
    I64(Cow<'a, [i64]>),
}

impl From<RawData> for Elements<'_> {
    fn from(data: RawData) -> Self {
        match data {
            RawData::F32(v) => Elements::F32(v.into()),
            RawData::F64(v) => Elements::F64(v.into()),
            RawData::I64(v) => Elements::I64(v.into()),
        }
    }
}

impl Elements<'_> {
    pub fn is_real(&self) -> bool {
        matches!(self, Elements::F32(_) | Elements::F64(_))
    }

    /// The same, where they lie.
    pub fn lent(&self) -> Elements<'_> {
        match self {
            Elements::F32(v) => Elements::F32(Cow::Borrowed(v)),
            Elements::F64(v) => Elements::F64(Cow::Borrowed(v)),
            Elements::I64(v) => Elements::I64(Cow::Borrowed(v)),
        }
    }

    /// As elements of their own.
    pub fn into_owned(self) -> RawData {
        match self {
            Elements::F32(v) => RawData::F32(v.into_owned()),
            Elements::F64(v) => RawData::F64(v.into_owned()),
            Elements::I64(v) => RawData::I64(v.into_owned()),
        }
    }

    /// The same with room for the elements of so many in all, where there is any: others are to follow.
    pub fn first_of(self, all: usize) -> RawData {
        fn with_room<T: Clone>(first: Cow<'_, [T]>, all: usize) -> Vec<T> {
            let mut room = Vec::new();
            if room.try_reserve_exact(all.max(first.len())).is_err() {
                return first.into_owned();
            }
            room.extend_from_slice(&first);
            room
        }
        match self {
            Elements::F32(v) => RawData::F32(with_room(v, all)),
            Elements::F64(v) => RawData::F64(with_room(v, all)),
            Elements::I64(v) => RawData::I64(with_room(v, all)),
        }
    }

    /// Appends them to others. Of two types of real numbers it becomes the longer one. Whether both are real, or
    /// neither.
    pub fn append_to(&self, all: &mut RawData) -> bool {
        match (&mut *all, self) {
            (RawData::F32(all), Elements::F32(more)) => all.extend_from_slice(more),
            (RawData::F64(all), Elements::F64(more)) => all.extend_from_slice(more),
            (RawData::F64(all), Elements::F32(more)) => {
                all.extend(more.iter().map(|&x| f64::from(x)));
            }
            (RawData::F32(_), Elements::F64(more)) => {
                let mut both = all.to_f64();
                both.extend_from_slice(more);
                *all = RawData::F64(both);
            }
            (RawData::I64(all), Elements::I64(more)) => all.extend_from_slice(more),
            (RawData::I64(_), Elements::F32(_) | Elements::F64(_))
            | (RawData::F32(_) | RawData::F64(_), Elements::I64(_)) => return false,
        }
        true
    }
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
