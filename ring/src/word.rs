//! Words of Z_2^k and vectors of them.

use std::fmt;
use std::ops::Range;

/// An element of Z_2^k: an unsigned integer with wrapping arithmetic.
pub trait Word: Copy + Send + Sync + Default + Eq + 'static {
    const BITS: u32;
    const ZERO: Self;
    const ONE: Self;

    /// self + o mod 2^k.
    fn wadd(self, o: Self) -> Self;
    /// self - o mod 2^k.
    fn wsub(self, o: Self) -> Self;
    /// self * o mod 2^k.
    fn wmul(self, o: Self) -> Self;
    /// -self mod 2^k.
    fn wneg(self) -> Self;
    /// Logical shift right; 0 when n >= k.
    fn shr(self, n: u32) -> Self;
    /// The low k bits of x.
    fn from_u128(x: u128) -> Self;
    /// Zero extension.
    fn to_u128(self) -> u128;
    /// The low k bits of x (zero extension for k = 128).
    fn from_u64(x: u64) -> Self;
    /// The low 64 bits.
    fn to_u64(self) -> u64;
    /// Appends the k / 8 bytes, little-endian, of each word.
    fn put_le(xs: &[Self], out: &mut Vec<u8>);
    /// Words from bytes, little-endian; bytes beyond the last whole word are ignored.
    fn get_le(bytes: &[u8]) -> Vec<Self>;
    /// Words from the bytes, little-endian, that `fill` writes in their place.
    fn fill_le(xs: &mut [Self], fill: impl FnOnce(&mut [u8]));
    /// A vector of words as a [`Words`].
    fn wrap(v: Vec<Self>) -> Words;
    /// The words inside, if they have this width.
    fn of(w: &Words) -> Option<&[Self]>;
    /// The words inside, if they have this width.
    fn of_mut(w: &mut Words) -> Option<&mut [Self]>;
}

/// A vector of words of one width.
#[derive(Clone, PartialEq, Eq)]
pub enum Words {
    W8(Vec<u8>),
    W16(Vec<u16>),
    W32(Vec<u32>),
    W64(Vec<u64>),
    W128(Vec<u128>),
}

macro_rules! word {
    ($t:ty, $variant:ident) => {
        impl Word for $t {
            const BITS: u32 = <$t>::BITS;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)]
            fn wadd(self, o: Self) -> Self {
                self.wrapping_add(o)
            }
            #[inline(always)]
            fn wsub(self, o: Self) -> Self {
                self.wrapping_sub(o)
            }
            #[inline(always)]
            fn wmul(self, o: Self) -> Self {
                self.wrapping_mul(o)
            }
            #[inline(always)]
            fn wneg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn shr(self, n: u32) -> Self {
                self.checked_shr(n).unwrap_or(0)
            }
            #[inline(always)]
            fn from_u128(x: u128) -> Self {
                x as $t
            }
            #[inline(always)]
            fn to_u128(self) -> u128 {
                self as u128
            }
            #[inline(always)]
            fn from_u64(x: u64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
            fn put_le(xs: &[Self], out: &mut Vec<u8>) {
                if cfg!(target_endian = "little") {
                    out.extend_from_slice(bytemuck::cast_slice(xs));
                } else {
                    out.extend(xs.iter().flat_map(|x| x.to_le_bytes()));
                }
            }
            fn get_le(bytes: &[u8]) -> Vec<Self> {
                // Compiles to a copy where words are little-endian.
                let (words, _) = bytes.as_chunks();
                words.iter().map(|&b| <$t>::from_le_bytes(b)).collect()
            }
            fn fill_le(xs: &mut [Self], fill: impl FnOnce(&mut [u8])) {
                fill(bytemuck::cast_slice_mut(xs));
                if cfg!(target_endian = "big") {
                    xs.iter_mut().for_each(|x| *x = <$t>::from_le(*x));
                }
            }
            fn wrap(v: Vec<Self>) -> Words {
                Words::$variant(v)
            }
            fn of(w: &Words) -> Option<&[Self]> {
                match w {
                    Words::$variant(v) => Some(v),
                    _ => None,
                }
            }
            fn of_mut(w: &mut Words) -> Option<&mut [Self]> {
                match w {
                    Words::$variant(v) => Some(v),
                    _ => None,
                }
            }
        }
    };
}

word!(u8, W8);
word!(u16, W16);
word!(u32, W32);
word!(u64, W64);
word!(u128, W128);

/// `each_word!(words, v => body)`: body once per width, v the vector inside `words` (or a reference
/// to it, as `words` is).
#[macro_export]
macro_rules! each_word {
    ($words:expr, $v:pat => $body:expr) => {
        match $words {
            $crate::Words::W8($v) => $body,
            $crate::Words::W16($v) => $body,
            $crate::Words::W32($v) => $body,
            $crate::Words::W64($v) => $body,
            $crate::Words::W128($v) => $body,
        }
    };
}

/// `zip_words!((a, b), (x, y) => body)`: body once per width, x and y the vectors inside a and b,
/// which have equal widths; panics otherwise (the circuit verifier excludes it).
#[macro_export]
macro_rules! zip_words {
    (($a:expr, $b:expr), ($x:pat, $y:pat) => $body:expr) => {
        match ($a, $b) {
            ($crate::Words::W8($x), $crate::Words::W8($y)) => $body,
            ($crate::Words::W16($x), $crate::Words::W16($y)) => $body,
            ($crate::Words::W32($x), $crate::Words::W32($y)) => $body,
            ($crate::Words::W64($x), $crate::Words::W64($y)) => $body,
            ($crate::Words::W128($x), $crate::Words::W128($y)) => $body,
            _ => panic!("operands of different ring widths"),
        }
    };
}

/// `with_width!(k, T => body)`: body with the type T of k-bit words; panics on a k that is not a
/// ring width (the circuit verifier excludes it).
#[macro_export]
macro_rules! with_width {
    ($k:expr, $t:ident => $body:expr) => {
        match $k {
            8 => {
                type $t = u8;
                $body
            }
            16 => {
                type $t = u16;
                $body
            }
            32 => {
                type $t = u32;
                $body
            }
            64 => {
                type $t = u64;
                $body
            }
            128 => {
                type $t = u128;
                $body
            }
            k => panic!("{k} is not a ring width"),
        }
    };
}

impl Words {
    /// n zeros of k bits.
    pub fn zeros(k: u32, n: usize) -> Words {
        with_width!(k, T => T::wrap(vec![T::ZERO; n]))
    }

    pub fn bits(&self) -> u32 {
        fn bits<T: Word>(_: &[T]) -> u32 {
            T::BITS
        }
        each_word!(self, v => bits(v))
    }

    pub fn len(&self) -> usize {
        each_word!(self, v => v.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The low k bits of each x.
    pub fn from_u128s(k: u32, xs: &[u128]) -> Words {
        with_width!(k, T => T::wrap(xs.iter().map(|&x| T::from_u128(x)).collect()))
    }

    /// All words, zero-extended.
    pub fn to_u128s(&self) -> Vec<u128> {
        each_word!(self, v => v.iter().map(|x| x.to_u128()).collect())
    }

    /// Word i, zero-extended.
    pub fn get(&self, i: usize) -> u128 {
        each_word!(self, v => v[i].to_u128())
    }
}

/// Words of up to 64 bits where they lie.
#[derive(Clone, Copy)]
pub enum Run<'a> {
    W8(&'a [u8]),
    W16(&'a [u16]),
    W32(&'a [u32]),
    /// Z_2^64, or other numbers.
    W64(&'a [u64]),
}

macro_rules! each_run {
    ($run:expr, $v:pat => $body:expr) => {
        match $run {
            $crate::Run::W8($v) => $body,
            $crate::Run::W16($v) => $body,
            $crate::Run::W32($v) => $body,
            $crate::Run::W64($v) => $body,
        }
    };
}
pub(crate) use each_run;

impl<'a> Run<'a> {
    /// Some words, of no more than 64 bits.
    pub fn of(words: &'a Words, range: Range<usize>) -> Option<Run<'a>> {
        Some(match words {
            Words::W8(x) => Run::W8(&x[range]),
            Words::W16(x) => Run::W16(&x[range]),
            Words::W32(x) => Run::W32(&x[range]),
            Words::W64(x) => Run::W64(&x[range]),
            Words::W128(_) => return None,
        })
    }

    pub fn len(self) -> usize {
        each_run!(self, x => x.len())
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The first n, or all, and the others.
    pub fn split_at(self, n: usize) -> (Run<'a>, Run<'a>) {
        let n = n.min(self.len());
        match self {
            Run::W8(x) => (Run::W8(&x[..n]), Run::W8(&x[n..])),
            Run::W16(x) => (Run::W16(&x[..n]), Run::W16(&x[n..])),
            Run::W32(x) => (Run::W32(&x[..n]), Run::W32(&x[n..])),
            Run::W64(x) => (Run::W64(&x[..n]), Run::W64(&x[n..])),
        }
    }

    /// Those from one on, as many as there is room for.
    #[inline]
    pub fn widen(self, from: usize, out: &mut [u64]) {
        each_run!(self, x => {
            let some = &x[from..][..out.len()];
            out.iter_mut().zip(some).for_each(|(o, x)| *o = x.to_u64());
        });
    }
}

impl fmt::Debug for Run<'_> {
    /// As that of [`Words`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Run<{} words>", self.len())
    }
}

impl fmt::Debug for Words {
    /// Width and length only: the elements may be a share.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words<{} x {} bits>", self.len(), self.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_wraps_and_shifts_saturate() {
        assert_eq!(250u8.wadd(10), 4);
        assert_eq!(3u16.wsub(5), 65534);
        assert_eq!((1u128 << 127).wmul(2), 0);
        assert_eq!(1u32.wneg(), u32::MAX);
        assert_eq!(u64::MAX.shr(64), 0);
        assert_eq!(u64::MAX.shr(63), 1);
        assert_eq!(u16::from_u128(0x1_2345), 0x2345);
    }

    #[test]
    fn bytes_are_little_endian() {
        let mut out = Vec::new();
        u32::put_le(&[1, 0x0203], &mut out);
        assert_eq!(out, [1, 0, 0, 0, 3, 2, 0, 0]);
        assert_eq!(u32::get_le(&out), [1, 0x0203]);
    }

    #[test]
    fn debug_hides_elements() {
        assert_eq!(format!("{:?}", Words::from_u128s(16, &[4242])), "Words<1 x 16 bits>");
    }
}
