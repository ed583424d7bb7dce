//! Demands on the probability of failure, and one ring for all values instead of the smallest for each.

use slvr_circuit::Dom;
use slvr_compiler::analysis::failure::Failure;
use slvr_compiler::analysis::guard::Guard;
use slvr_compiler::cost::places;
use slvr_compiler::pipeline::{self, Options};
use slvr_compiler::report::certificate::Certificate;
use slvr_tests::{attempt, compile, compile_with, distance, predicate, random_inputs};

/// A norm bound on long vectors, which random projections enforce, with a demand.
fn bounded(failure: &str) -> Result<pipeline::Compiled, String> {
    let text = predicate("norm_bound").replace(
        "    parties Client[m];",
        &format!("    require failure <= {failure};\n\n    parties Client[m];"),
    );
    let sizes = [("M", "DigitsNet"), ("m", "10")];
    let case = attempt(&text, &sizes, Options::default());
    case.map(|case| case.compiled).map_err(|why| why.text())
}

#[test]
fn demands_on_failure() {
    let compiled = bounded("2^-40").expect("holds");
    assert!(matches!(compiled.guards[..], [Guard::Project(_)]), "{:?}", compiled.guards);
    let failure = Failure::of(&compiled.optimised, &compiled.guards);
    assert!((-43.0..-40.0).contains(&failure.log2()), "{failure:?}");
    assert_eq!(failure.terms.len(), 2);
    let refused = bounded("2^-60").expect_err("does not hold");
    for part in [
        "error[E0030]",
        "fails with probability up to 2^-4",
        "most of it: ",
        "demands at most 2^-60",
    ] {
        assert!(refused.contains(part), "{part} is not in\n{refused}");
    }
    // Short vectors are compared element by element: nothing can fail.
    let few = compile(predicate("norm_bound"), &[("M", "Mlp[9,hidden=4]"), ("m", "5")]);
    assert_eq!(
        Failure::of(&few.compiled.optimised, &few.compiled.guards).log2(),
        f64::NEG_INFINITY
    );
}

/// Deep networks are cut where they would not fit 64 bits; on 128 bits the outcome is the same.
#[test]
fn one_ring_for_all_values() {
    let sizes = [("M", "LeNet5"), ("m", "4"), ("c", "1"), ("b", "1")];
    let text = predicate("slvr_accuracy");
    let [wide, cut] = [Some(128), None]
        .map(|ring| compile_with(text, &sizes, Options { ring, ..Options::default() }));
    let widest = |case: &slvr_tests::Case| {
        let width = |ty: &slvr_circuit::Type| match ty.dom {
            Dom::Ring(k) if ty.elements() > 1 => k,
            _ => 0,
        };
        case.circuit().types.iter().map(width).max()
    };
    assert_eq!((widest(&wide), widest(&cut)), (Some(128), Some(64)));
    assert!(cut.compiled.cut.is_some_and(|c| c.top >= 6), "{:?}", cut.compiled.cut);
    for seed in 0..2 {
        let inputs = random_inputs(wide.circuit(), seed, 0.005);
        let [a, b] = [&wide, &cut].map(|case| {
            let report = case.parties(&inputs, seed);
            report.outputs.into_iter().map(|o| o.values).collect::<Vec<_>>()
        });
        assert!(distance(&a, &b) < 1e-4, "seed {seed}");
    }
}

/// The certificate says where a quotient or a function saturates: one row with its line, and none where the interval of
/// its operand excludes it.
#[test]
fn places_that_saturate_are_named() {
    let cases = [
        ("x[i] / y[i]", "0..1", Some(("div", "2^31 or -2^31"))),
        ("x[i] / y[i]", "1..2", None),
        // One formula, one value.
        ("recip(y[i])", "0..1", Some(("div", "2^31 or -2^31"))),
        ("recip(y[i])", "1..2", None),
        ("sqrt(y[i])", "-1..1", Some(("sqrt", "0 where the operand is negative"))),
        ("sqrt(y[i])", "0..1", None),
        ("log(y[i])", "0..1", Some(("log", "-17 ln 2 where the operand is below 2^-16"))),
        ("log(y[i])", "1..2", None),
        ("exp(y[i])", "0..30", Some(("exp", "2^29 where the operand is above 29 ln 2"))),
        ("exp(y[i])", "0..8", None),
        ("tanh(y[i])", "-8..8", None),
    ];
    for (step, range, wanted) in cases {
        let text = format!(
            "use std::{{exp, log, recip, sqrt, tanh}};\npredicate P() {{\n    parties Client[2];\n    \
             parties Server;\n    input x: secret fix in 1..2 from each Client;\n    \
             input y: secret fix in {range} from each Client;\n    \
             let z = [{step} for i in Client];\n    reveal z to Server as z;\n}}\n"
        );
        let case = compile(&text, &[]);
        let places = places(&case.program, &case.compiled.optimised, &case.sources);
        let known = Certificate::of(&case.compiled, &places);
        let rows: Vec<_> = known.saturations.iter().map(|s| (s.line, &s.function[..])).collect();
        let expected: Vec<_> = wanted.iter().map(|(function, _)| (7, *function)).collect();
        assert_eq!(rows, expected, "{step} of {range}");
        if let (Some((_, what)), [row]) = (wanted, &known.saturations[..]) {
            assert!(row.what.contains(what), "{step} of {range}: {}", row.what);
        }
    }
}
