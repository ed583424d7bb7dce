//! Numbers that are known when a program is compiled.
//!
//! [`Number`] is an exact fraction: nothing is lost by computing with it, in whatever order. The program gets
//! the nearest `f64` of it once, where it becomes a value of the run, and only if the run can hold it
//! ([`Number::value`]). What is computed of such values later, by rewrites of the graph, goes through
//! [`product`], [`quotient`] and [`square`]: they have no result where it would leave the same limits, so
//! that no factor becomes infinite or zero without a message.

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

/// A number of the run is 0, or its absolute value lies between 2^-this and 2^this: words have 64 bits.
pub const REACH: i32 = 61;

/// Whole numbers up to this one are exact in floating point.
pub const WHOLE: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

/// Numerators and denominators have at most this many bits.
const MAX_BITS: u64 = 1 << 13;

/// Decimal exponents beyond this are refused before anything is computed.
const MAX_EXPONENT: i64 = 1000;

/// Why a computation on known numbers has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    #[error("division by zero")]
    DivisionByZero,
    /// Too large to be written down or to be held by a run.
    #[error("too large a number")]
    TooLarge,
    /// Not zero, but too near to zero to be told from it.
    #[error("too small a number, although it is not zero")]
    TooSmall,
    /// An exact fraction of so many digits is a mistake, or an attack.
    #[error("a number of too many digits")]
    TooLong,
    /// No real number, such as the root of a negative one.
    #[error("no real number")]
    NotReal,
    /// A whole number that 53 significant bits do not hold.
    #[error("too many digits for a whole number of the run")]
    NotExact,
}

/// An exact real number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(BigRational);

type Result<T> = std::result::Result<T, NumberError>;

impl From<i64> for Number {
    fn from(i: i64) -> Number {
        Number(BigRational::from_integer(i.into()))
    }
}

impl Number {
    /// The number that a decimal stands for: digits with a sign, a fraction and an exponent, if it has them.
    /// `None` if the text is none.
    pub fn parse(text: &str) -> Option<Result<Number>> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (rest, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let exponent = match exponent {
            None => 0,
            Some(e) => {
                let bare = e.strip_prefix(['-', '+']).unwrap_or(e);
                if bare.is_empty() || !digits(bare) {
                    return None;
                }
                // More digits than an i64 has: larger than any limit, with the same sign.
                e.parse::<i64>().unwrap_or(if e.starts_with('-') { i64::MIN } else { i64::MAX })
            }
        };
        Some(Number::of_digits(negative, whole, fraction, exponent))
    }

    fn of_digits(negative: bool, whole: &str, fraction: &str, exponent: i64) -> Result<Number> {
        if (whole.len() + fraction.len()) as u64 > MAX_BITS / 4 {
            return Err(NumberError::TooLong);
        }
        let digits = format!("{whole}{fraction}");
        let mantissa: BigUint = digits.parse().map_err(|_| NumberError::NotReal)?;
        if mantissa.is_zero() {
            return Ok(Number(BigRational::zero()));
        }
        let exponent = exponent.saturating_sub(fraction.len() as i64);
        if exponent > MAX_EXPONENT {
            return Err(NumberError::TooLarge);
        }
        if exponent < -MAX_EXPONENT - MAX_BITS as i64 {
            return Err(NumberError::TooSmall);
        }
        let power = BigInt::from(10u8).pow(exponent.unsigned_abs() as u32);
        let mantissa = BigInt::from(mantissa) * if negative { -1 } else { 1 };
        bounded(if exponent >= 0 {
            BigRational::from_integer(mantissa * power)
        } else {
            BigRational::new(mantissa, power)
        })
    }

    /// The number that a floating-point value is.
    pub fn of(x: f64) -> Result<Number> {
        BigRational::from_float(x).map(Number).ok_or(NumberError::NotReal)
    }

    pub fn plus(&self, other: &Number) -> Result<Number> {
        bounded(&self.0 + &other.0)
    }

    pub fn minus(&self, other: &Number) -> Result<Number> {
        bounded(&self.0 - &other.0)
    }

    pub fn times(&self, other: &Number) -> Result<Number> {
        bounded(&self.0 * &other.0)
    }

    pub fn over(&self, other: &Number) -> Result<Number> {
        if other.0.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        bounded(&self.0 / &other.0)
    }

    pub fn negative(&self) -> Number {
        Number(-&self.0)
    }

    /// A power. It is exact if the exponent is a whole number and the result is not too long; otherwise it has
    /// the 53 significant bits of floating point.
    pub fn power(&self, exponent: &Number) -> Result<Number> {
        if exponent.0.is_zero() || self.0.is_one() {
            return Ok(Number::from(1));
        }
        if self.0.is_zero() {
            return match exponent.0.is_negative() {
                true => Err(NumberError::DivisionByZero),
                false => Ok(Number::from(0)),
            };
        }
        let size = self.0.numer().bits().max(self.0.denom().bits());
        if exponent.0.is_integer()
            && let Some(n) = exponent.0.numer().to_i32()
            && size.saturating_mul(n.unsigned_abs().into()) <= MAX_BITS
        {
            return bounded(Pow::pow(&self.0, n));
        }
        let odd = exponent.0.is_integer() && exponent.0.numer().bit(0);
        if self.0.is_negative() && !exponent.0.is_integer() {
            return Err(NumberError::NotReal);
        }
        let base = Number(self.0.abs()).float()?;
        // An exponent beyond floating point has its sign: what it makes is beyond it, too.
        let value = base.powf(exponent.float().unwrap_or(match exponent.0.is_negative() {
            true => f64::NEG_INFINITY,
            false => f64::INFINITY,
        }));
        Number::of(normal(value)?)
            .map(|x| if self.0.is_negative() && odd { x.negative() } else { x })
    }

    /// The nearest floating-point number: for bounds and messages. Not zero unless the number is.
    pub fn float(&self) -> Result<f64> {
        if self.0.is_zero() {
            return Ok(0.0);
        }
        normal(self.0.to_f64().unwrap_or(f64::INFINITY))
    }

    /// The number as a value of the run: the nearest one, within [`REACH`].
    pub fn value(&self) -> Result<f64> {
        held(self.float()?)
    }

    /// As [`Self::value`], of a whole number, which is not rounded.
    pub fn whole(&self) -> Result<f64> {
        let value = self.value()?;
        match Number::of(value)? == *self {
            true => Ok(value),
            false => Err(NumberError::NotExact),
        }
    }
}

/// As people write it, to 17 digits.
impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.float() {
            // All digits of a whole number, also where floating point has not all of them.
            Ok(x) if self.0.is_integer() && x.abs() < 1e17 => write!(f, "{}", self.0.numer()),
            Ok(x) if x == 0.0 || (1e-7..1e17).contains(&x.abs()) => write!(f, "{x}"),
            Ok(x) => write!(f, "{x:e}"),
            Err(e) => write!(f, "{e}"),
        }
    }
}

fn bounded(x: BigRational) -> Result<Number> {
    match x.numer().bits().max(x.denom().bits()) <= MAX_BITS {
        true => Ok(Number(x)),
        false => Err(NumberError::TooLong),
    }
}

/// A result that is zero or subnormal lost bits that the exact one has.
fn normal(x: f64) -> Result<f64> {
    match x {
        x if x.is_normal() => Ok(x),
        x if x.is_nan() => Err(NumberError::NotReal),
        x if x.is_infinite() => Err(NumberError::TooLarge),
        _ => Err(NumberError::TooSmall),
    }
}

/// A number of the run: 0, or within [`REACH`].
pub fn held(x: f64) -> Result<f64> {
    let most = f64::from(REACH).exp2();
    match x.abs() {
        0.0 => Ok(x),
        a if a.is_nan() => Err(NumberError::NotReal),
        a if a > most => Err(NumberError::TooLarge),
        a if a < 1.0 / most => Err(NumberError::TooSmall),
        _ => Ok(x),
    }
}

/// The product of two numbers of the run, if it is one. That of two whole numbers is not rounded.
pub fn product(a: f64, b: f64) -> Option<f64> {
    let whole = a.fract() == 0.0 && b.fract() == 0.0;
    let exact = !whole || (a * b).abs() <= WHOLE;
    combined(a * b, a != 0.0 && b != 0.0).filter(|_| exact)
}

/// The quotient of two numbers of the run, if it is one.
pub fn quotient(a: f64, b: f64) -> Option<f64> {
    combined(a / b, a != 0.0)
}

/// The square of a number of the run, if it is one.
pub fn square(a: f64) -> Option<f64> {
    combined(a * a, a != 0.0)
}

fn combined(x: f64, nonzero: bool) -> Option<f64> {
    held(x).ok().filter(|&x| x != 0.0 || !nonzero)
}

#[cfg(test)]
mod tests;
