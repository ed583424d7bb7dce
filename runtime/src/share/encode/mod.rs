//! From the tensors of an input file to ring elements.
//!
//! Runs on the side that owns the tensor, before anything is shared. Errors name the giver, the
//! tensor, the position and what is allowed, never an element: an error ends up in logs.

mod members;

pub use members::{Encoded, Inputs, Member, encode_public, presence};

use slvr_circuit::{Dom, Encoding, Input, Shape, fixed};
use slvr_ring::{Data, Word, threads, with_width};
use std::fmt;
use thiserror::Error;

/// A tensor as it is in a file, row-major.
#[derive(Clone, PartialEq)]
pub struct RawTensor {
    /// Sizes of the axes, empty for a scalar.
    pub shape: Shape,
    pub data: RawData,
}

/// The elements of a [`RawTensor`].
#[derive(Clone, PartialEq)]
pub enum RawData {
    /// Real numbers as binary32.
    F32(Vec<f32>),
    /// Real numbers as binary64.
    F64(Vec<f64>),
    I64(Vec<i64>),
}

impl RawData {
    /// Whether these are real numbers.
    pub fn is_real(&self) -> bool {
        matches!(self, RawData::F32(_) | RawData::F64(_))
    }

    /// All as binary64, in which every binary32 is exact and integers of up to 53 bits are.
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            RawData::F32(v) => v.iter().map(|&x| x.into()).collect(),
            RawData::F64(v) => v.clone(),
            RawData::I64(v) => v.iter().map(|&x| x as f64).collect(),
        }
    }
}

impl RawTensor {
    /// A tensor of real numbers.
    pub fn reals(shape: impl Into<Shape>, data: Vec<f64>) -> Self {
        RawTensor { shape: shape.into(), data: RawData::F64(data) }
    }

    /// A tensor of integers.
    pub fn integers(shape: impl Into<Shape>, data: Vec<i64>) -> Self {
        RawTensor { shape: shape.into(), data: RawData::I64(data) }
    }

    fn len(&self) -> usize {
        match &self.data {
            RawData::F32(v) => v.len(),
            RawData::F64(v) => v.len(),
            RawData::I64(v) => v.len(),
        }
    }
}

impl fmt::Debug for RawTensor {
    /// Shape and kind only: the elements are somebody's private input.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.data {
            RawData::F32(_) | RawData::F64(_) => "real numbers",
            RawData::I64(_) => "integers",
        };
        write!(f, "RawTensor<{:?}, {kind}>", self.shape)
    }
}

/// An input that cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{giver}: tensor `{tensor}`: {problem}")]
pub struct InputError {
    /// Whose input: `public`, or a party set and a member such as `Client 3`.
    pub giver: String,
    /// Name of the tensor.
    pub tensor: String,
    pub problem: Problem,
}

/// What is wrong with an input tensor.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Problem {
    /// It was not given.
    #[error("missing")]
    Missing,
    /// It has another shape than declared.
    #[error("has shape {found:?}, the circuit expects {expected:?}")]
    Shape { expected: Shape, found: Shape },
    /// The number of elements does not follow from its own shape.
    #[error("has {found} elements, its shape {shape:?} has {expected}")]
    Elements {
        shape: Shape,
        /// Elements of that shape.
        expected: u64,
        found: u64,
    },
    /// Real numbers where integers are declared, or the reverse.
    #[error("holds {found}, the circuit expects {expected}")]
    Kind { expected: &'static str, found: &'static str },
    /// Not a number, or infinite.
    #[error("the element at {index:?} is not a finite number")]
    NotFinite { index: Vec<u64> },
    /// Outside the declared range.
    #[error("the element at {index:?} is outside the allowed range {allowed}")]
    Range {
        index: Vec<u64>,
        /// The declared range, as in the source, and whether its end is excluded.
        allowed: String,
    },
    /// Every element is in its range, and all together are too long.
    #[error("is longer than the allowed Euclidean norm {allowed}")]
    Norm { allowed: f64 },
    /// Inside the declared range, but too large for the ring.
    #[error("the element at {index:?} does not fit {bits} bits")]
    Overflow {
        index: Vec<u64>,
        /// Bits of the ring.
        bits: u32,
    },
    /// The number of members whose inputs were given is not that of the party set.
    #[error("inputs of {found} members were given, the circuit expects {expected}")]
    Members { expected: u64, found: u64 },
}

/// Encodes the tensor that one giver supplies for `input` as elements of `dom` (the domain of the
/// input's value). Over a ring a number is its two's complement; a one-hot input becomes `classes`
/// words 0 or 1 per element, the class on the last axis. A record is one vector of all its fields.
///
/// `giver` is for error messages: `public`, `Client 3`.
pub fn encode_input(
    input: &Input,
    dom: Dom,
    giver: &str,
    tensor: &RawTensor,
) -> Result<Data, InputError> {
    encode(input, dom, tensor, true).map_err(|problem| about(input, giver, problem))
}

fn about(input: &Input, giver: &str, problem: Problem) -> InputError {
    InputError { giver: giver.to_string(), tensor: input.name.clone(), problem }
}

/// Encodes a tensor; without `ranges`, what is outside the declared range is not refused but reduced
/// modulo 2^k (an integer that is no class has no bit set).
fn encode(input: &Input, dom: Dom, tensor: &RawTensor, ranges: bool) -> Result<Data, Problem> {
    shaped(input, tensor)?;
    let each = match input.encoding {
        Encoding::OneHot { classes } => classes as usize,
        Encoding::Fixed { .. } | Encoding::Int { .. } => 1,
    };
    let (Dom::Ring(bits) | Dom::Bits(bits)) = dom;
    let words = with_width!(bits.next_power_of_two().max(8), T => {
        let mut words = vec![T::ZERO; tensor.len() * each];
        elements(input, bits, tensor, ranges, &mut words)?;
        Data::Ring(T::wrap(words))
    });
    Ok(match dom {
        Dom::Ring(_) => words,
        Dom::Bits(w) => words.to_bits(0, w),
    })
}

/// Refuses what [`encode`] refuses, and makes no words.
fn check(input: &Input, dom: Dom, tensor: &RawTensor, ranges: bool) -> Result<(), Problem> {
    shaped(input, tensor)?;
    let (Dom::Ring(bits) | Dom::Bits(bits)) = dom;
    elements::<u8>(input, bits, tensor, ranges, &mut [])
}

fn shaped(input: &Input, tensor: &RawTensor) -> Result<(), Problem> {
    let (expected, found) = (size(&tensor.shape), tensor.len() as u64);
    if expected != found {
        return Err(Problem::Elements { shape: tensor.shape.clone(), expected, found });
    }
    if tensor.shape != input.shape {
        let (expected, found) = (input.shape.clone(), tensor.shape.clone());
        return Err(Problem::Shape { expected, found });
    }
    Ok(())
}

/// Numbers that are encoded at a time, by one thread.
const BLOCK: usize = 1 << 16;

/// Encodes numbers block by block; `one` gets the place of a number, the number and where its words go, as many for each.
/// There is no room for words where none are wanted. Of several numbers that cannot be encoded the first is named. A block
/// that `all` says it has encoded is done.
fn blocks<T: Copy + Sync, W: Send>(
    xs: &[T],
    mut words: &mut [W],
    all: impl Fn(&[T], &mut [W]) -> bool + Sync,
    one: impl Fn(usize, T, &mut [W]) -> Result<(), Problem> + Sync,
) -> Result<(), Problem> {
    let each = words.len() / xs.len().max(1);
    let blocks = xs.chunks(BLOCK).enumerate().map(|(b, xs)| {
        let own = words.split_off_mut(..xs.len() * each).unwrap_or_default();
        (b, xs, own)
    });
    let done = threads::map(blocks, &|(b, xs, words): (usize, &[T], &mut [W])| {
        if all(xs, words) {
            return Ok(());
        }
        for (i, &x) in xs.iter().enumerate() {
            one(b * BLOCK + i, x, &mut words[i * each..(i + 1) * each])?;
        }
        Ok(())
    });
    done.into_iter().collect()
}

/// Encodes real numbers that have this place and this declaration.
fn reals<T: Copy + Sync + Into<f64>, W: Word>(
    (encoding, bits, ranges): (&Encoding, u32, bool),
    xs: &[T],
    at: impl Fn(usize) -> Vec<u64> + Sync,
    words: &mut [W],
) -> Result<(), Problem> {
    let Encoding::Fixed { frac, lo, hi, shift, norm } = encoding else {
        return Err(Problem::Kind { expected: "integers", found: "real numbers" });
    };
    let short = ranges.then(|| fixed::Short::new((*lo, *hi), *frac, *shift, bits)).flatten();
    let all = |xs: &[T], out: &mut [W]| {
        let Some(short) = &short else { return false };
        let fit = xs.iter().fold(true, |fit, &x| fit & (*lo..=*hi).contains(&x.into()));
        if fit {
            out.iter_mut().zip(xs).for_each(|(w, &x)| *w = W::from_u64(short.word(x.into())));
        }
        fit
    };
    blocks(xs, words, all, |i, x: T, out: &mut [W]| {
        let x = x.into();
        if !x.is_finite() {
            return Err(Problem::NotFinite { index: at(i) });
        }
        let word = match ranges {
            false => fixed::wrapping(x, *frac + *shift, bits),
            true if (*lo..=*hi).contains(&x) => fixed::shifted(x, *frac, *shift, bits),
            true => {
                let allowed = format!("{lo}..{hi}");
                return Err(Problem::Range { index: at(i), allowed });
            }
        };
        let word = word.ok_or_else(|| Problem::Overflow { index: at(i), bits })?;
        if let [out] = out {
            *out = W::from_u128(word);
        }
        Ok(())
    })?;
    if ranges && norm.is_finite() {
        let squares = xs.iter().map(|&x| x.into()).map(|x: f64| x * x);
        // Squares, sum and limit are rounded: a vector at the limit passes.
        if squares.sum::<f64>().sqrt() > *norm * (1.0 + 1e-9) {
            return Err(Problem::Norm { allowed: *norm });
        }
    }
    Ok(())
}

/// Encodes to words of which the low `bits` count.
fn elements<W: Word>(
    input: &Input,
    bits: u32,
    tensor: &RawTensor,
    ranges: bool,
    words: &mut [W],
) -> Result<(), Problem> {
    let at = |i: usize| position(&tensor.shape, i as u64);
    match (&input.encoding, &tensor.data) {
        (encoding, RawData::F32(xs)) => reals((encoding, bits, ranges), xs, at, words),
        (encoding, RawData::F64(xs)) => reals((encoding, bits, ranges), xs, at, words),
        (Encoding::Int { lo, hi }, RawData::I64(xs)) => blocks(
            xs,
            words,
            |_, _| false,
            |i, x: i64, out: &mut [W]| {
                if ranges && !(*lo..*hi).contains(&x) {
                    let allowed = format!("{lo}..{hi}, {hi} excluded");
                    return Err(Problem::Range { index: at(i), allowed });
                }
                out.fill(W::from_u128(x as i128 as u128));
                Ok(())
            },
        ),
        (Encoding::OneHot { classes }, RawData::I64(xs)) => blocks(
            xs,
            words,
            |_, _| false,
            |i, x: i64, out: &mut [W]| {
                if ranges && !(0..*classes as i128).contains(&i128::from(x)) {
                    let allowed = format!("0..{classes}, {classes} excluded");
                    return Err(Problem::Range { index: at(i), allowed });
                }
                if let Some(bit) = usize::try_from(x).ok().and_then(|x| out.get_mut(x)) {
                    *bit = W::ONE;
                }
                Ok(())
            },
        ),
        (Encoding::Fixed { .. }, RawData::I64(_)) => {
            Err(Problem::Kind { expected: "real numbers", found: "integers" })
        }
    }
}

/// Number of elements of a shape; saturating.
fn size(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |n, &d| n.saturating_mul(d))
}

/// Index along each axis of element i.
fn position(shape: &[u64], mut i: u64) -> Vec<u64> {
    let mut out: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&d| {
            let (q, r) = (i / d.max(1), i % d.max(1));
            i = q;
            r
        })
        .collect();
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slvr_circuit::{From, ValueId};

    fn input(encoding: Encoding, shape: &[u64]) -> Input {
        Input {
            name: "update".into(),
            from: From::Each(0),
            encoding,
            shape: shape.to_vec(),
            fields: vec![],
            value: ValueId(0),
        }
    }

    fn message(input: &Input, dom: Dom, t: &RawTensor) -> String {
        encode_input(input, dom, "Client 3", t).unwrap_err().to_string()
    }

    #[test]
    fn encodes_reals_integers_and_classes() {
        let fix = input(
            Encoding::Fixed { frac: 16, lo: -8.0, hi: 8.0, shift: 0, norm: f64::INFINITY },
            &[2],
        );
        let got = encode_input(&fix, Dom::Ring(64), "", &RawTensor::reals([2], vec![-8.0, 0.5]));
        let minus = (-8i64 << 16) as u64 as u128;
        assert_eq!(got.unwrap().to_u128s(), [minus, 1 << 15]);

        let int = input(Encoding::Int { lo: -3, hi: 4 }, &[]);
        let got = encode_input(&int, Dom::Ring(8), "", &RawTensor::integers([], vec![-3]));
        assert_eq!(got.unwrap().to_u128s(), [253]);

        let hot = input(Encoding::OneHot { classes: 3 }, &[2]);
        let got = encode_input(&hot, Dom::Ring(64), "", &RawTensor::integers([2], vec![2, 0]));
        assert_eq!(got.unwrap().to_u128s(), [0, 0, 1, 1, 0, 0]);
    }

    proptest! {
        /// Over several blocks, with some numbers that fit neither kind of check.
        #[test]
        fn a_check_refuses_what_encoding_refuses(
            bad in proptest::collection::vec((0usize..2 * BLOCK, 0usize..8), 0..4),
            (kind, bits, ranges) in (0usize..5, 0usize..3, any::<bool>()),
            shift in 0u32..3,
        ) {
            let fixed = |lo, norm| Encoding::Fixed { frac: 8, lo, hi: 8.0, shift, norm };
            let encoding = match kind {
                0 => fixed(-8.0, f64::INFINITY),
                1 => fixed(f64::NEG_INFINITY, 1e3),
                2 => Encoding::Int { lo: -3, hi: 300 },
                3 => Encoding::OneHot { classes: 3 },
                _ => Encoding::Int { lo: 0, hi: 2 },
            };
            let n = BLOCK + 77;
            let dom = [Dom::Ring(8), Dom::Ring(64), Dom::Bits(11)][bits];
            let odd = [-9.0, 8.5, f64::NAN, f64::NEG_INFINITY, 1e300, 7.99, -7.0, 1e4];
            let (mut reals, mut whole) = (vec![0.25; n], vec![1; n]);
            for (at, which) in bad {
                if let (Some(x), Some(y)) = (reals.get_mut(at), whole.get_mut(at)) {
                    (*x, *y) = (odd[which], odd[which] as i64);
                }
            }
            let input = input(encoding, &[n as u64]);
            let single = reals.iter().map(|&x| x as f32).collect();
            for data in [RawData::F64(reals), RawData::F32(single), RawData::I64(whole)] {
                let tensor = RawTensor { shape: vec![n as u64], data };
                let words = encode(&input, dom, &tensor, ranges);
                prop_assert_eq!(check(&input, dom, &tensor, ranges), words.map(drop));
            }
        }
    }

    #[test]
    fn errors_name_tensor_and_position_but_no_element() {
        let fix = input(
            Encoding::Fixed { frac: 16, lo: -8.0, hi: 8.0, shift: 0, norm: f64::INFINITY },
            &[2, 3],
        );
        let t = |x: f64| RawTensor::reals([2, 3], vec![0.0, 0.0, 0.0, 0.0, x, 0.0]);
        let dom = Dom::Ring(64);
        assert_eq!(
            message(&fix, dom, &t(8.0625)),
            "Client 3: tensor `update`: the element at [1, 1] is outside the allowed range -8..8"
        );
        assert_eq!(
            message(&fix, dom, &t(f64::NAN)),
            "Client 3: tensor `update`: the element at [1, 1] is not a finite number"
        );
        assert_eq!(
            message(&fix, Dom::Ring(16), &t(7.5)),
            "Client 3: tensor `update`: the element at [1, 1] does not fit 16 bits"
        );
        assert_eq!(
            message(&fix, dom, &RawTensor::reals([3, 2], vec![0.0; 6])),
            "Client 3: tensor `update`: has shape [3, 2], the circuit expects [2, 3]"
        );
        assert_eq!(
            message(&fix, dom, &RawTensor::reals([2, 3], vec![0.0; 5])),
            "Client 3: tensor `update`: has 5 elements, its shape [2, 3] has 6"
        );
        assert_eq!(
            message(&fix, dom, &RawTensor::integers([2, 3], vec![0; 6])),
            "Client 3: tensor `update`: holds integers, the circuit expects real numbers"
        );
        let hot = input(Encoding::OneHot { classes: 10 }, &[1]);
        for x in [-1, 10, i64::MIN, i64::MAX] {
            assert_eq!(
                message(&hot, dom, &RawTensor::integers([1], vec![x])),
                "Client 3: tensor `update`: the element at [0] is outside the allowed range 0..10, 10 excluded"
            );
        }
    }
}
