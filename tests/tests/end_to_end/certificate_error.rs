//! Error bounds of the certificate against errors that occur: of elementary functions in small
//! programs, and of every predicate that comes with the compiler, wherever no decision is nearer to
//! its threshold than its margin. Runs are in the clear. Seeds are printed.
//!
//! Each predicate is evaluated on 80 random inputs, with `SLVR_EFFORT=full` on 300, or as many as `SLVR_COUNT` says.

use slvr_circuit::{Encoding, From};
use slvr_compiler::analysis::errors::{Decision, Errors, errors, rounded_errors};
use slvr_compiler::analysis::ranges::Ranges;
use slvr_compiler::cost;
use slvr_compiler::diagnostic::render::render;
use slvr_compiler::graph::eval;
use slvr_compiler::pipeline;
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::{
    Case, Random, attempt, committees, compile, graph_inputs, margins, predicate, random_inputs,
    sizes,
};

const ULP: f64 = 1.0 / 65536.0;

fn bounds(case: &Case) -> Errors {
    let compiled = &case.compiled;
    let graph = &compiled.optimised;
    errors(graph, &compiled.ranges.raw, &rounded_errors(graph), &compiled.stated)
}

/// A program of secret vectors x and y in their ranges, which reveals one expression of x[i] and
/// y[i], or of them as a whole.
fn function(uses: &str, value: &str, x: &str, y: &str, n: usize) -> Case {
    let text = format!(
        "use std::{{{uses}}};\npredicate F[n]() {{\n    parties Client;\n    parties Server;\n    \
         input x: secret fix[n] in {x} from Client;\n    \
         input y: secret fix[n] in {y} from Client;\n    \
         let z = {value};\n    reveal z to Server as z;\n}}\n"
    );
    compile(&text, &[("n", &n.to_string())])
}

/// Numbers anywhere in their ranges, every fourth within a thousandth of an end.
fn inputs_for(case: &Case, seed: u64) -> Inputs {
    let mut random = Random::new(seed);
    let mut sets: Vec<Vec<_>> = case.circuit().parties.iter().map(|_| Vec::new()).collect();
    for input in &case.circuit().inputs {
        let (Encoding::Fixed { lo, hi, .. }, From::Each(set)) = (&input.encoding, input.from)
        else {
            panic!("{} is no secret number", input.name)
        };
        let n: u64 = input.shape.iter().product();
        let one = |_| {
            let width = hi - lo;
            match random.unit() {
                u if u < 0.125 => lo + width * random.unit() / 1000.0,
                u if u < 0.25 => hi - width * random.unit() / 1000.0,
                _ => random.between(*lo, *hi),
            }
        };
        let data = RawData::F64((0..n).map(one).collect());
        let tensor = RawTensor { shape: input.shape.clone(), data };
        let members = &mut sets[set as usize];
        if members.is_empty() {
            members.push(std::collections::BTreeMap::new());
        }
        members[0].insert(input.name.clone(), tensor);
    }
    Inputs { public: Default::default(), sets }
}

/// The largest observed and the proven error of a function.
fn observe(case: &Case, runs: u64) -> (f64, f64) {
    let proven = bounds(case).output(&case.compiled.optimised, 0);
    let (mut observed, evaluator) = (0f64, case.evaluator());
    for seed in 0..runs {
        let inputs = inputs_for(case, seed);
        let floating = case.floating(&inputs, &[]);
        let run = case.evaluated(&evaluator, &inputs, &[], seed);
        for (x, y) in run[0].iter().zip(&floating[0]) {
            let error = (x - y).abs();
            assert!(error <= proven, "seed {seed}: {x} for {y}, off {error} > {proven}");
            observed = observed.max(error);
        }
    }
    (observed, proven)
}

/// The proven bound holds on thousands of inputs, and is not much more than what occurs.
#[test]
fn functions_stay_within_their_bounds() {
    let each = |f: &str| format!("[{f} for i in n]");
    let all = [
        ("sum of inputs", "", each("x[i] + y[i]"), "-8..8", "-8..8", 64),
        ("mul", "", each("x[i] * y[i]"), "-8..8", "-8..8", 64),
        ("square", "", each("x[i] * x[i]"), "-8..8", "-8..8", 64),
        ("scale", "", each("0.3 * x[i]"), "-8..8", "-8..8", 64),
        ("dot", "dot", "dot(x, y)".into(), "-2..2", "-2..2", 16),
        ("relu", "relu", each("relu(x[i] * y[i])"), "-8..8", "-8..8", 64),
        ("abs", "abs", each("abs(x[i])"), "-8..8", "-8..8", 64),
        ("max", "max", "max(x)".into(), "-8..8", "-8..8", 10),
        ("max of 40", "max", "max(x)".into(), "-8..8", "-8..8", 40),
        ("median", "median", "median(x)".into(), "-8..8", "-8..8", 9),
        ("trimmed mean", "trimmed_mean", "trimmed_mean[2, 2](x)".into(), "-8..8", "-8..8", 12),
        ("clamp", "clamp", each("clamp(x[i], -1, y[i])"), "-8..8", "0..8", 64),
        ("exp", "exp", each("exp(x[i])"), "-8..2", "-8..8", 64),
        ("recip", "recip", each("recip(x[i])"), "0.5..16", "-8..8", 64),
        ("div", "", each("x[i] / y[i]"), "-8..8", "1..16", 64),
        ("div by a negative", "", each("x[i] / y[i]"), "-8..8", "-16..-1", 64),
        ("sqrt", "sqrt", each("sqrt(x[i])"), "0.25..64", "-8..8", 64),
        ("log", "log", each("log(x[i])"), "0.25..64", "-8..8", 64),
        ("tanh", "tanh", each("tanh(x[i])"), "-6..6", "-8..8", 64),
        ("sigmoid", "sigmoid", each("sigmoid(x[i])"), "-6..6", "-8..8", 64),
        ("largest softmax", "max, softmax", "max(softmax(x))".into(), "-4..4", "-8..8", 10),
        ("softmax", "softmax", "softmax(x)".into(), "-4..4", "-8..8", 10),
        ("softmax of halves", "softmax", "softmax(x / 2)".into(), "-8..8", "-8..8", 10),
        ("softmax of 2.7 x", "softmax", "softmax(2.7 * x)".into(), "-2..2", "-8..8", 10),
        ("largest of halves", "max, softmax", "max(softmax(x / 2))".into(), "-8..8", "-8..8", 10),
        ("largest of 2.7 x", "max, softmax", "max(softmax(2.7 * x))".into(), "-2..2", "-8..8", 10),
        ("softmax of x - 1", "softmax", "softmax(x - 1)".into(), "-4..4", "-8..8", 10),
        ("of x - mean x", "softmax, mean", "softmax(x - mean(x))".into(), "-4..4", "-8..8", 10),
        ("of x - max x", "softmax, max", "softmax(x - max(x))".into(), "-4..4", "-8..8", 10),
        ("softmax of relu", "softmax, relu", "softmax(relu(x))".into(), "-4..4", "-8..8", 10),
        (
            "softmax of a list",
            "softmax",
            "softmax([x[i] / (i + 1) for i in n])".into(),
            "-4..4",
            "-8..8",
            4,
        ),
        ("largest of x - 1", "max, softmax", "max(softmax(x - 1))".into(), "-4..4", "-8..8", 10),
        ("log_softmax of x - 1", "log_softmax", "log_softmax(x - 1)".into(), "-4..4", "-8..8", 10),
        ("exp below another's", "exp, max", "exp(y[0] - max(x) - 8)".into(), "-1..1", "-8..8", 10),
        ("exp of 3 x - max", "exp, max", "exp(3 * (x - max(x)))".into(), "-1..1", "-8..8", 10),
    ];
    println!("{:<20} {:>9} {:>9}   units of 2^-16", "", "observed", "proven");
    for (name, uses, value, x, y, n) in all {
        let case = function(uses, &value, x, y, n);
        let outputs = case.compiled.circuit.outputs[0].shape.iter().product::<u64>().max(1);
        let (observed, proven) = observe(&case, 1000u64.div_ceil(outputs).min(250));
        let u = |x: f64| x / ULP;
        println!("{name:<20} {:>9.2} {:>9.2}", u(observed), u(proven));
        assert!(proven < 100.0 * observed, "{name}: {proven} proven, {observed} observed");
        assert!(bounds(&case).decisions.is_empty(), "{name} decides nothing");
    }
}

/// A circuit cuts quotients of a divisor that may be below 1, also where the divisor at hand is above. The bound has that.
#[test]
fn quotients_that_a_circuit_cuts_are_within_their_bound() {
    for (x, y) in [("-1000000..1000000", "0.5..4"), ("0..1000000", "-4..-0.5")] {
        let case = function("", "[x[i] * x[i] / y[i] for i in n]", x, y, 8);
        let (observed, _) = observe(&case, 40);
        assert!(observed > 2f64.powi(31), "{observed}: some are cut");
    }
}

/// A quotient by one constant is a product: nothing cuts it, in no way of evaluation.
#[test]
fn quotients_by_a_constant_are_cut_by_nobody() {
    for (value, x) in [
        ("[x[i] * x[i] / 0.5 for i in n]", "-1000000..1000000"),
        ("x / 0.0001", "-1000000..1000000"),
        ("(iterate z = x for k in 2 { z / (0.1 * 0.1) })", "-1000000..1000000"),
    ] {
        let case = function("", value, x, "0..1", 8);
        observe(&case, 20);
        let largest =
            (0..20).flat_map(|seed| case.floating(&inputs_for(&case, seed), &[]).remove(0));
        assert!(largest.fold(0.0, |m: f64, x| m.max(x.abs())) > 2f64.powi(32), "{value}");
    }
}

/// Comparisons that choose between near values are no decisions, and the others are.
#[test]
fn decisions_are_told_from_choices() {
    let each = |f: &str| format!("[{f} for i in n]");
    let choices = [
        each("select(x[i] < y[i], y[i], x[i])"),
        each("select(x[i] < y[i], x[i], y[i])"),
        each("select(x[i] >= y[i], 3 * x[i] - 1, 3 * y[i] - 1)"),
        each("select(x[i] < 0, 0.25 * x[i], x[i])"),
        each("select(x[i] < y[i], y[i] - x[i], 0)"),
        each("min([x[i], y[i], x[i] * y[i]])"),
        "sum(max(x) - x)".into(),
        "sort(x)[1]".into(),
        "sum(sort(x)[j] * sort(x)[j] for j in 2..n)".into(),
        "sum(top_k[2](x)[i] * x[i] for i in n)".into(),
        "sum((rank(x)[i] == 2) * x[i] for i in n)".into(),
        "sum(first_argmin(x)[i] * x[i] for i in n)".into(),
        "max(softmax(x))".into(),
    ];
    let decisions = [
        each("x[i] < y[i]"),
        each("select(x[i] < y[i], x[i], 0)"),
        each("select(x[i] < y[i], 2 * y[i], x[i])"),
        each("select(x[i] < 0, 1 - x[i], x[i])"),
        "argmax(x)".into(),
        "rank(x)".into(),
        "sum(top_k[2](x)[i] * y[i] for i in n)".into(),
        // Of two equal ones both count.
        "sum((sum(x[j] > x[i] for j in n if j != i) == 0) * x[i] for i in n)".into(),
        // Neither.
        "sum((sum(x[j] >= x[i] for j in n if j != i) == 0) * x[i] for i in n)".into(),
        // Ties go round in a circle.
        "sum((sum(x[j] > x[i] for j in n if (j + n - i) % n < 3 && j != i) + \
         sum(x[j] >= x[i] for j in n if (j + n - i) % n > 2) == 0) * x[i] for i in n)"
            .into(),
        // All but one pair.
        "sum((sum(x[j] >= x[i] for j in 0..i) + sum(x[j] > x[i] for j in i + 2..n) == 0) * x[i] \
         for i in n)"
            .into(),
    ];
    let uses = "abs, argmax, first_argmin, max, min, rank, select, softmax, sort, sum, top_k";
    for (all, expected) in [(&choices[..], 0), (&decisions[..], 1)] {
        for value in all {
            let case = function(uses, value, "-8..8", "-8..8", 5);
            let found = bounds(&case).decisions.len().min(1);
            assert_eq!(found, expected, "decisions of {value}");
        }
    }
    // Integers are exact.
    let text = "predicate N() {\n    parties Client[3];\n    parties Server;\n    \
                input n: secret int in 0..9 from each Client;\n    \
                reveal [n[i] < 4 for i in Client] to Server as few;\n}\n";
    let case = compile(text, &[]);
    assert_eq!((bounds(&case).decisions.len(), bounds(&case).proven.iter().sum()), (0, 0.0));
}

/// Whether every decision is further from its threshold than its margin.
fn clear(case: &Case, inputs: &Inputs, coins: &[u128], decisions: &[Decision]) -> bool {
    let graph = &case.compiled.optimised;
    let draw = committees(coins);
    let traced = eval::real(graph, &graph_inputs(inputs), &draw, true).expect("real evaluation");
    let values: Vec<Vec<f64>> =
        traced.values.iter().map(|v| v.as_ref().map(|v| v.to_vec()).unwrap_or_default()).collect();
    margins::clear(graph, &values, decisions)
}

fn runs() -> u64 {
    slvr_tests::long::part(40, 300)
}

/// Bounds for inputs in a part of the declared ranges, which is where the random ones are.
fn bounds_within(case: &Case, spread: f64) -> Errors {
    let graph = &case.compiled.optimised;
    let mut inputs = slvr_compiler::analysis::guard::bounds(graph, &case.compiled.guards);
    for (bound, input) in inputs.iter_mut().zip(&graph.inputs) {
        if input.elem == slvr_compiler::types::Elem::Fix {
            let unit = f64::from(graph.input_frac(input)).exp2();
            let (lo, hi) = (input.range.0.max(-8.0), input.range.1.min(8.0));
            bound.range = (lo * spread * unit - 1.0, hi * spread * unit + 1.0);
        }
    }
    let stated = &case.compiled.stated;
    errors(graph, &Ranges::of(graph, &inputs, stated).raw, &rounded_errors(graph), stated)
}

/// No run of a predicate is further from floating point than is proven, unless a comparison is closer
/// than its margin.
#[test]
fn predicates_stay_within_their_bounds() {
    println!("{:<24} {:>10} {:>10} {:>6} {:>12}", "", "observed", "proven", "clear", "declared");
    for (file, _) in PREDICATES {
        let name = file.trim_end_matches(".slvr");
        let (sizes, spread) = sizes(name);
        // Where scores of random models differ by more than their margins.
        let spread = if name == "slvr_confidence" { 0.4 } else { spread };
        let case = compile(predicate(name), &sizes);
        let graph = &case.compiled.optimised;
        let declared = bounds(&case);
        let tight = bounds_within(&case, spread);
        let (mut counted, mut observed, evaluator) = (0, 0f64, case.evaluator());
        let output =
            |e: &Errors| (0..graph.outputs.len()).map(|i| e.output(graph, i)).fold(0f64, f64::max);
        let proven = output(&tight);
        for seed in 0..runs() {
            let inputs = random_inputs(case.circuit(), seed, spread);
            let coins: Vec<u128> = (0..4).map(|i| u128::from(seed) << 64 | i).collect();
            let floating = case.graph_real(&case.compiled.graph, &inputs, &coins);
            // 0 / 0, nobody kept: outside of the domain of a quotient.
            let defined = floating.iter().flatten().all(|x| x.is_finite());
            if !defined || !clear(&case, &inputs, &coins, &tight.decisions) {
                continue;
            }
            counted += 1;
            let mut check = |run: Vec<Vec<f64>>| {
                for (i, (run, want)) in run.iter().zip(&floating).enumerate() {
                    let bound = tight.output(graph, i);
                    for (x, y) in run.iter().zip(want) {
                        let error = (x - y).abs();
                        assert!(
                            error <= bound,
                            "{name}, seed {seed}: {x} for {y}, off {error} > {bound}"
                        );
                        observed = observed.max(error);
                    }
                }
            };
            check(case.graph_exact(&inputs, &coins));
            if seed % 10 == 0 {
                check(case.evaluated(&evaluator, &inputs, &coins, seed));
            }
        }
        println!(
            "{name:<24} {observed:>10.2e} {proven:>10.2e} {counted:>6} {:>12.2e}",
            output(&declared)
        );
        for d in &tight.decisions {
            let step = &graph.site(d.node).name;
            println!("    decides: {step}, margin {:.2e}", d.margin);
        }
        assert!(counted > 0, "{name}: every run was near a decision");
        assert!(observed <= proven);
    }
}

/// What the compiler says of a demand on a value.
fn demand(bound: &str, value: &str, x: &str) -> String {
    let text = format!(
        "use std::{{exp, norm, recip, sum}};\npredicate D[n]() {{\n    require error(z) <= {bound};\n    \
         parties Client[3];\n    parties Server;\n    \
         input x: secret fix[n] in {x} from each Client;\n    \
         let z = {value};\n    let w = sum(z) * 3;\n    reveal w to Server as w;\n}}\n"
    );
    match attempt(&text, &[("n", "4")], pipeline::Options::default()) {
        Ok(case) => render(&case.compiled.warnings, &case.sources, false),
        Err(refused) => refused.text(),
    }
}

/// A demand that holds is silent, whatever is revealed of the value.
#[test]
fn demands_that_hold() {
    assert_eq!(demand("2^-14", "[sum(x[i]) for i in Client]", "-8..8"), "");
    assert_eq!(demand("2^-22", "[sum(x[i]) for i in Client]", "-8..8"), "");
    assert_eq!(demand("2^-12", "[recip(x[i][0]) for i in Client]", "1..8"), "");
}

/// No bound covers every weight of a model in its range: a demand on what it computes is a warning, which says where
/// to look for a proof.
#[test]
fn a_demand_on_what_a_model_computes_is_a_warning() {
    let text =
        predicate("slvr_confidence").replace("error(score) <= 2^-8", "error(score) <= 2^-30");
    let case = compile(&text, &sizes("slvr_confidence").0);
    let found = render(&case.compiled.warnings, &case.sources, false);
    assert!(found.contains("warning[E0030]: `score` may be off by"), "{found}");
    assert!(found.contains("`slvrc certify`"), "{found}");
    // Lengths of weights are no such values.
    let text = predicate("norm_bound").replace(
        "    parties Client[m];",
        "    require error(size) <= 2^-40;\n\n    parties Client[m];",
    );
    assert!(text.contains("let size"), "{text}");
    let sizes = [("M", "Mlp[9,hidden=4]"), ("m", "5")];
    assert!(attempt(&text, &sizes, pipeline::Options::default()).is_err());
}

/// One that does not is an error that says where most of the bound comes from.
#[test]
fn demands_that_do_not_hold() {
    // Four entries with 24 fraction bits.
    let sums = demand("2^-24", "[sum(x[i]) for i in Client]", "-8..8");
    assert!(sums.contains("error[E0030]: `z` may be off by 2^-23"), "{sums}");
    assert!(sums.contains("2^-24 is demanded"), "{sums}");
    let near_zero = demand("2^-8", "[recip(x[i][0]) for i in Client]", "0..8");
    assert!(near_zero.contains("and grows most here: `recip` of `z`"), "{near_zero}");
    assert!(near_zero.contains("keep the divisor away from zero"), "{near_zero}");
}

#[test]
fn a_clipped_vector_is_off_by_little() {
    // Short vectors too: their quotient would be as large as numbers get, if it were computed.
    let clips = [
        "x * min([2 / norm(x), 1])",
        "0.25 * x * min([4, 8 / norm(x)])",
        "x / max([norm(x) / 2, 1])",
    ];
    for clip in clips {
        let case = function("max, min, norm", clip, "-8..8", "-1..1", 6);
        let (observed, proven) = observe(&case, 50);
        assert!(proven < 0.01, "{clip}: proven {proven}, observed {observed}");
        let places = cost::places(&case.program, &case.compiled.optimised, &case.sources);
        let certificate = Certificate::of(&case.compiled, &places);
        assert!(certificate.saturations.is_empty(), "{clip}");
        // Operands of fine roots are 2^32 times what they are in the source: they are not what a line says.
        assert!(certificate.lines.iter().all(|l| l.proven < 0.1 && l.range.1 < 1e4), "{clip}");
    }
}
