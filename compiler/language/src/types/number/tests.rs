use super::{Number, NumberError, REACH, WHOLE, held, product, quotient, square};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use proptest::prelude::*;

fn number(text: &str) -> Number {
    Number::parse(text).expect(text).expect(text)
}

#[test]
fn a_decimal_becomes_the_nearest_floating_point_number() {
    for text in
        ["0.1", "1e-300", "123456789.123456789e-20", ".5", "5.", "-2.5e+10", "9007199254740993"]
    {
        assert_eq!(number(text).float().ok(), text.parse().ok(), "{text}");
    }
    for text in ["", "-", ".", "e5", "1e", "1e+", "0x10", "inf", "nan", "1_000", "1e5.5", "--1"] {
        assert!(Number::parse(text).is_none(), "{text}");
    }
}

#[test]
fn what_a_run_cannot_hold_is_refused() {
    let value = |text: &str| number(text).value();
    assert_eq!(value("0"), Ok(0.0));
    assert_eq!(value("0e999999999999999999999"), Ok(0.0));
    for text in ["1e-170", "1e-320", "1e-400", "-1e-19"] {
        assert_eq!(value(text), Err(NumberError::TooSmall), "{text}");
    }
    for text in ["1e155", "1e308", "1e400", "-2.4e18"] {
        assert_eq!(value(text), Err(NumberError::TooLarge), "{text}");
    }
    let parsed = |text: &str| Number::parse(text).expect(text).err();
    assert_eq!(parsed("1e99999999999999999999"), Some(NumberError::TooLarge));
    assert_eq!(parsed("1e-99999999999999999999"), Some(NumberError::TooSmall));
    assert_eq!(parsed(&"9".repeat(100_000)), Some(NumberError::TooLong));
}

#[test]
fn powers_are_exact_or_refused() {
    let power = |a: &str, b: &str| number(a).power(&number(b));
    assert_eq!(power("2", "-40"), Ok(number("1").over(&number("1099511627776")).expect("nonzero")));
    assert_eq!(power("-2", "3"), Ok(number("-8")));
    assert_eq!(power("0.1", "2"), Ok(number("0.01")));
    assert_eq!(power("2", "4294967296"), Err(NumberError::TooLarge));
    assert_eq!(power("2", "-4294967296"), Err(NumberError::TooSmall));
    assert_eq!(power("-1", "4294967297"), Ok(number("-1")));
    assert_eq!(power("0", "-1"), Err(NumberError::DivisionByZero));
    assert_eq!(power("-2", "0.5"), Err(NumberError::NotReal));
    assert_eq!(power("2", "0.5").and_then(|x| x.float()), Ok(2f64.sqrt()));
}

#[test]
fn a_whole_number_of_the_run_is_not_rounded() {
    assert_eq!(Number::from(1 << 53).whole(), Ok(2f64.powi(53)));
    assert_eq!(Number::from((1 << 53) + 1).whole(), Err(NumberError::NotExact));
    assert_eq!(Number::from(i64::MIN).whole(), Err(NumberError::TooLarge));
}

#[test]
fn numbers_do_not_grow_without_end() {
    let third = number("1").over(&number("3")).expect("nonzero");
    let mut x = third.clone();
    let steps = (0..10_000).find(|_| match x.times(&x.plus(&third).expect("short")) {
        Ok(longer) => {
            x = longer;
            false
        }
        Err(e) => e == NumberError::TooLong,
    });
    assert!(steps.is_some_and(|n| n < 100), "{steps:?}");
}

/// A random expression with its exact value, by another implementation of the same rules: fractions of
/// integers of any size.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(i64, i32),
    Node(char, Box<Tree>, Box<Tree>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let exponents = prop_oneof![-330..330i32, -20..20i32, Just(0)];
    let leaf = (-1000..1000i64, exponents).prop_map(|(m, e)| Tree::Leaf(m, e));
    leaf.prop_recursive(5, 24, 2, |inner| {
        (prop_oneof![Just('+'), Just('-'), Just('*'), Just('/')], inner.clone(), inner)
            .prop_map(|(op, a, b)| Tree::Node(op, a.into(), b.into()))
    })
}

fn ours(tree: &Tree) -> Result<Number, NumberError> {
    match tree {
        Tree::Leaf(m, e) => Ok(number(&format!("{m}.0e{e}"))),
        Tree::Node(op, a, b) => {
            let (a, b) = (ours(a)?, ours(b)?);
            match op {
                '+' => a.plus(&b),
                '-' => a.minus(&b),
                '*' => a.times(&b),
                _ => a.over(&b),
            }
        }
    }
}

/// Numerator and denominator, never shortened.
fn exact(tree: &Tree) -> Option<(BigInt, BigInt)> {
    Some(match tree {
        Tree::Leaf(m, e) => {
            let power = BigInt::from(10).pow(e.unsigned_abs());
            if *e < 0 { ((*m).into(), power) } else { (BigInt::from(*m) * power, 1.into()) }
        }
        Tree::Node(op, a, b) => {
            let ((p, q), (r, s)) = (exact(a)?, exact(b)?);
            match op {
                '+' => (p * &s + r * &q, q * s),
                '-' => (p * &s - r * &q, q * s),
                '*' => (p * r, q * s),
                _ if r.is_zero() => return None,
                _ => (p * s, q * r),
            }
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn expressions_with_extreme_exponents_have_their_exact_value_or_a_message(tree in tree()) {
        let truth = exact(&tree).map(|(p, q)| BigRational::new(p, q));
        match (ours(&tree), truth) {
            (Err(NumberError::DivisionByZero), truth) => prop_assert!(truth.is_none()),
            // A part of it is very long; nothing was lost before it was said.
            (Err(NumberError::TooLong), _) => {}
            (Ok(found), Some(truth)) => {
                prop_assert!(found == Number(truth.clone()), "{:?}", tree);
                let limit = BigRational::from_integer(BigInt::from(1) << REACH);
                let size = truth.abs();
                match found.value() {
                    Ok(x) => {
                        prop_assert_eq!(x == 0.0, truth.is_zero());
                        // Half a unit in the last of 53 bits.
                        let near = (BigRational::from_float(x).expect("finite") - &truth).abs();
                        prop_assert!(near <= &size / BigInt::from(1i64 << 53));
                    }
                    Err(NumberError::TooLarge) => prop_assert!(size > limit),
                    Err(NumberError::TooSmall) => {
                        prop_assert!(!truth.is_zero() && size * limit < BigRational::from_integer(1.into()));
                    }
                    Err(e) => prop_assert!(false, "{}", e),
                }
            }
            (found, truth) => prop_assert!(false, "{:?} instead of {:?}", found, truth),
        }
    }

    #[test]
    fn a_combined_factor_is_the_nearest_one_or_none(a in -80..80i32, b in -80..80i32, m in 1.0..2.0f64) {
        let (a, b) = (m * 2f64.powi(a), 1.5 * 2f64.powi(b));
        let truth = |x: BigRational| x.to_f64().and_then(|x| held(x).ok()).filter(|&x| x != 0.0);
        let of = |x: f64| BigRational::from_float(x).expect("finite");
        // Of whole numbers no product is rounded.
        let whole = a.fract() == 0.0 && b.fract() == 0.0;
        let kept = |x: &f64| !whole || x.abs() <= WHOLE;
        prop_assert_eq!(product(a, b), truth(of(a) * of(b)).filter(kept));
        prop_assert_eq!(quotient(a, b), truth(of(a) / of(b)));
        prop_assert_eq!(square(a), truth(of(a) * of(a)));
    }
}
