//! Elements of tensors as files of other libraries hold them: little-endian, of many types.

use super::encode::RawData;
use half::{bf16, f16};

/// The type of the elements in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    F16,
    /// The upper half of a binary32.
    BF16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// Reads elements; bytes that are too few for one more are left out. An integer beyond 63 bits becomes the
/// largest of 63 bits, which is in no range: a range ends before it.
pub fn read(kind: Kind, bytes: &[u8]) -> RawData {
    macro_rules! as_is {
        ($ty:ty, $kind:ident, $to:expr) => {{
            let (elements, _) = bytes.as_chunks::<{ size_of::<$ty>() }>();
            RawData::$kind(elements.iter().map(|c| <$ty>::from_le_bytes(*c)).map($to).collect())
        }};
    }
    match kind {
        Kind::F16 => as_is!(f16, F32, f32::from),
        Kind::BF16 => as_is!(bf16, F32, f32::from),
        Kind::F32 => as_is!(f32, F32, f32::from),
        Kind::F64 => as_is!(f64, F64, f64::from),
        Kind::I64 => as_is!(i64, I64, i64::from),
        Kind::I32 => as_is!(i32, I64, i64::from),
        Kind::I16 => as_is!(i16, I64, i64::from),
        Kind::I8 => as_is!(i8, I64, i64::from),
        Kind::U8 => as_is!(u8, I64, i64::from),
        Kind::U16 => as_is!(u16, I64, i64::from),
        Kind::U32 => as_is!(u32, I64, i64::from),
        Kind::U64 => as_is!(u64, I64, |x| i64::try_from(x).unwrap_or(i64::MAX)),
    }
}

/// The bytes of real numbers, rounded to binary32.
pub fn f32_bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().map(|&x| (x as f32).to_le_bytes()).collect::<Vec<_>>().into_flattened()
}

/// The bytes of real numbers, as binary64.
pub fn f64_bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().map(|x| x.to_le_bytes()).collect::<Vec<_>>().into_flattened()
}

/// The bytes of integers of 64 bits.
pub fn i64_bytes(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().map(|x| x.to_le_bytes()).collect::<Vec<_>>().into_flattened()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_as_they_were_written() {
        let reals = [0.0, -1.5, 3.25, f64::from(f32::MAX)];
        assert!(
            read(Kind::F32, &f32_bytes(&reals)) == RawData::F32(reals.map(|x| x as f32).to_vec())
        );
        assert!(read(Kind::F64, &f64_bytes(&reals)) == RawData::F64(reals.to_vec()));
        let integers = [0, -1, i64::MAX, i64::MIN];
        assert!(read(Kind::I64, &i64_bytes(&integers)) == RawData::I64(integers.to_vec()));
        assert!(read(Kind::U64, &i64_bytes(&[-1])) == RawData::I64(vec![i64::MAX]));
        assert!(read(Kind::U8, &[255, 1]) == RawData::I64(vec![255, 1]));
        assert!(read(Kind::I8, &[255, 1]) == RawData::I64(vec![-1, 1]));
        // 1.5 as binary16 and as bfloat16, and a byte too many.
        assert!(read(Kind::F16, &[0x00, 0x3e, 7]) == RawData::F32(vec![1.5]));
        assert!(read(Kind::BF16, &[0xc0, 0x3f]) == RawData::F32(vec![1.5]));
    }
}
