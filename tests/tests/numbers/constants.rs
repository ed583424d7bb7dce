//! Constants of every size: what a run cannot hold is refused, with a code and a place, and what it holds is
//! decided as exact arithmetic does. Nothing is lost without a word.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use slvr_compiler::diagnostic::explain::explain;
use slvr_compiler::diagnostic::{Code, codes};
use slvr_compiler::pipeline;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::{Case, Random, Refused, attempt, predicate};

fn compiled(text: &str, bindings: &[(&str, &str)]) -> Result<Case, Refused> {
    attempt(text, bindings, pipeline::Options::default())
}

/// The code with which a program is refused, and the text that the message points at.
fn refused(text: &str, bindings: &[(&str, &str)]) -> (Code, String) {
    let Err(Refused { said, sources }) = compiled(text, bindings) else {
        panic!("accepted: {text}")
    };
    let error = said.first().expect("an error");
    assert!(explain(error.code).is_some(), "{} is not explained", error.code);
    (error.code, sources.snippet(error.labels[0].0).to_owned())
}

#[test]
fn a_bound_that_would_admit_or_reject_everybody_is_refused_where_it_is_given() {
    for name in ["norm_bound", "slvr_accuracy"] {
        let sizes: &[(&str, &str)] = match name {
            "norm_bound" => &[("M", "Mlp[3,2,2]"), ("m", "4")],
            _ => &[("M", "Mlp[3,2,2]"), ("m", "4"), ("c", "1"), ("b", "1")],
        };
        let text = predicate(name);
        for lambda in ["1e-170", "1e-155", "1e-160", "1e-320", "1e-400", "1e155", "1e300", "1e400"]
        {
            let found = refused(text, &[sizes, &[("lambda", lambda)]].concat());
            assert_eq!(found, (codes::CONSTANT, "lambda".into()), "{name} lambda={lambda}");
        }
        // Smaller than anything that the bound is multiplied with can be told from 0.
        for lambda in ["1e-10", "1e-15", "-1e-12"] {
            let (code, place) = refused(text, &[sizes, &[("lambda", lambda)]].concat());
            assert_eq!(code, codes::CONSTANT, "{name} lambda={lambda}");
            assert!(place.contains("lambda"), "{name} lambda={lambda}: {place}");
        }
        for lambda in ["0", "0.5", "1.5", "1e3"] {
            let found = compiled(text, &[sizes, &[("lambda", lambda)]].concat());
            assert!(found.is_ok(), "{name} lambda={lambda}");
        }
    }
}

fn program(condition: &str) -> String {
    format!(
        "predicate P() {{\n    parties Client[3];\n    parties Server;\n    \
         input x: secret fix in -2..2 from each Client;\n    \
         reveal [{condition} for i in Client] to Server as bits;\n}}\n"
    )
}

#[test]
fn constants_that_leave_what_a_run_holds_are_refused_with_their_place() {
    let cases = [
        ("1e308 * x[i] * 1e308 < 1.0", codes::CONSTANT, "1e308"),
        ("x[i] * 1e200 * 1e200 > 1.0", codes::CONSTANT, "1e200"),
        ("x[i] * 1e-200 * 1e-200 > 1.0", codes::CONSTANT, "1e-200"),
        ("x[i] < 2 ^ 4294967296", codes::CONST_EVAL, "2 ^ 4294967296"),
        ("x[i] < 2 ^ 62", codes::CONSTANT, "2 ^ 62"),
        ("x[i] < 9007199254740993", codes::CONSTANT, "9007199254740993"),
        ("x[i] < 1e200 * 1e200", codes::CONSTANT, "1e200 * 1e200"),
        ("x[i] / 1e-300 < 1", codes::CONSTANT, "1e-300"),
        ("x[i] < 1e-9", codes::CONSTANT, "x[i] < 1e-9"),
    ];
    for (condition, code, place) in cases {
        let (found, at) = refused(&program(condition), &[]);
        assert_eq!(found, code, "{condition}");
        assert!(at.contains(place), "{condition}: points at {at}");
    }
}

#[test]
fn constants_in_one_bracket_are_computed_exactly() {
    for condition in [
        "x[i] < 1e308 * 1e308 / 1e308 / 1e308",
        "x[i] < (1e20 + 1) - 1e20",
        "x[i] < 1e-300 * 1e300",
        "x[i] < (1e-170 / 1e-170) ^ 2",
    ] {
        let case = compiled(&program(condition), &[]).unwrap_or_else(|_| panic!("{condition}"));
        assert_eq!(bits(&case), [0.0, 0.0, 1.0], "{condition}: below 1");
    }
}

/// What clients give.
const GIVEN: [(i64, i64); 3] = [(1, 1), (3, 2), (-3, 4)];

fn bits(case: &Case) -> Vec<f64> {
    let one = |&(p, q): &(i64, i64)| {
        let data = RawData::F64(vec![p as f64 / q as f64]);
        [("x".to_owned(), RawTensor { shape: vec![], data })].into()
    };
    let inputs = Inputs {
        public: Default::default(),
        sets: vec![GIVEN.iter().map(one).collect(), Vec::new()],
    };
    case.circuit_clear(&inputs, &[], 1).remove(0)
}

/// A decimal with an exponent, mostly of usual size, and its exact value.
fn constant(random: &mut Random) -> (String, BigRational) {
    let digits = 1 + (random.unit() * 99.0) as i64;
    let exponent = match (random.unit() * 4.0) as u32 {
        0 => random.between(-330.0, 330.0) as i32,
        1 => random.between(-30.0, 30.0) as i32,
        _ => random.between(-4.0, 4.0) as i32,
    };
    let power = BigInt::from(10).pow(exponent.unsigned_abs());
    let value = BigRational::from_integer(digits.into());
    let value = if exponent < 0 { value / power } else { value * power };
    (format!("{digits}e{exponent}"), value)
}

/// A side of a comparison: x or a constant, then factors and divisors; its text and its value for each client.
fn side(random: &mut Random) -> (String, [BigRational; 3]) {
    let (mut text, mut values) = if random.unit() < 0.6 {
        let x = GIVEN.map(|(p, q)| BigRational::new(p.into(), q.into()));
        ("x[i]".to_owned(), x)
    } else {
        let (text, value) = constant(random);
        (text, [value.clone(), value.clone(), value])
    };
    for _ in 0..(random.unit() * 4.0) as u32 {
        let (factor, value) = constant(random);
        let divide = random.unit() < 0.4;
        text = match divide {
            true => format!("{text} / {factor}"),
            false => format!("{text} * {factor}"),
        };
        values = values.map(|v| if divide { v / &value } else { v * &value });
    }
    (text, values)
}

#[test]
fn comparisons_with_extreme_constants_are_decided_as_exact_arithmetic_does_or_refused() {
    let (mut accepted, mut decided) = (0, 0);
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let ((left, l), (right, r)) = (side(&mut random), side(&mut random));
        let condition = format!("{left} < {right}");
        let case = match compiled(&program(&condition), &[]) {
            Ok(case) => case,
            Err(Refused { said: errors, .. }) => {
                let known = [codes::CONSTANT, codes::CONST_EVAL, codes::OVERFLOW, codes::NUMBER];
                assert!(
                    errors.iter().all(|e| known.contains(&e.code)),
                    "seed {seed}: {condition}: {errors:?}"
                );
                continue;
            }
        };
        accepted += 1;
        for (client, bit) in bits(&case).into_iter().enumerate() {
            let (l, r) = (&l[client], &r[client]);
            let (gap, size) = ((l - r).abs(), l.abs().max(r.abs()));
            // Sixteen significant bits of factors, and a few units in the last place of sixteen fraction bits.
            let unit = BigRational::new(1.into(), BigInt::from(1 << 12));
            if gap <= &size * &unit + &unit && !size.is_zero() {
                continue;
            }
            decided += 1;
            let want = f64::from(u8::from(l < r));
            assert_eq!(bit, want, "seed {seed}, client {client}: {condition} is {l} < {r}");
        }
    }
    assert!(accepted >= 60 && decided >= 100, "{accepted} accepted, {decided} clear");
}

/// A value fits no ring, and with a range that is narrow enough a constant would be lost: what is advised is neither.
#[test]
fn a_range_in_which_a_constant_would_be_lost_is_not_advised() {
    let text = "predicate P[m]() {
    parties Client[m];
    parties Server;
    input s: secret fix in 0.25..4 from each Client;
    input t: secret fix in -1000000..1000000 from each Client;
    reveal [(0.001 * s[i]) * t[i] for i in Client] to Server as a;
    reveal [t[i] * t[i] * t[i] * t[i] * t[i] for i in Client] to Server as b;
}
";
    let Err(why) = compiled(text, &[("m", "3")]) else { panic!("accepted") };
    assert_eq!(why.said[0].code, codes::OVERFLOW);
    let hint = why.said[0].hints.first().map(|h| &h.text).expect("advice");
    let narrower = hint.strip_prefix("declare `t` in ").and_then(|rest| rest.split_once(": then"));
    let (range, _) = narrower.unwrap_or_else(|| panic!("{hint}"));
    assert!(compiled(&text.replace("-1000000..1000000", range), &[("m", "3")]).is_ok());
}
