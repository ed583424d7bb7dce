//! Intervals that are as tight as people expect: of order statistics, clamps, absolute values, shares; and
//! those that once were narrower than the truth.

use super::intervals::ways;
use slvr_compiler::analysis::errors::{Errors, errors, input_errors};
use slvr_compiler::cost;
use slvr_compiler::pipeline;
use slvr_compiler::report::certificate::Certificate;
use slvr_runtime::share::encode::RawData;
use slvr_tests::agree::{Ends, ends};
use slvr_tests::{Case, attempt, compile, compile_with};

/// A program that reveals one expression of the vectors x and y of each client.
fn case(value: &str, x: &str, y: &str, n: u64) -> Case {
    case_with(value, (x, y), n, pipeline::Options::default())
}

fn case_with(value: &str, (x, y): (&str, &str), n: u64, how: pipeline::Options) -> Case {
    let text = format!(
        "use std::{{abs, argmax, clamp, cosine, dot, exp, first_argmax, inf_norm, lower_median, max, mean, \
         median, min, norm, rank, recip, relu, select, sigmoid, smallest, softmax, sort, sqrt, sum, top_k, \
         trimmed_mean}};\npredicate T[n]() {{\n    parties Client[2];\n    parties Server;\n    \
         input x: secret fix[n] in {x} from each Client;\n    \
         input y: secret fix[n] in {y} from each Client;\n    \
         reveal [{value} for i in Client] to Server as z;\n}}\n"
    );
    compile_with(&text, &[("n", &n.to_string())], how)
}

/// The stated interval of what is revealed.
fn stated(case: &Case) -> (f64, f64) {
    let graph = &case.compiled.optimised;
    let output = &graph.outputs[0];
    let (lo, hi) = case.compiled.ranges.real(graph, output.node);
    let factor = output.factor / output.divisor;
    (lo * factor, hi * factor)
}

/// Stated intervals are the true ones, up to a thousandth.
#[test]
fn order_statistics_clamps_and_shares_have_their_true_intervals() {
    let each = |f: &str| format!("[{f} for e in n]");
    let all: Vec<(String, &str, u64, (f64, f64))> = vec![
        ("max(x[i])".into(), "1..8", 10, (1.0, 8.0)),
        ("max(x[i])".into(), "1..8", 40, (1.0, 8.0)),
        ("min(x[i])".into(), "-3..8", 10, (-3.0, 8.0)),
        ("max(x[i])".into(), "1..8", 2, (1.0, 8.0)),
        ("median(x[i])".into(), "1..8", 9, (1.0, 8.0)),
        ("median(x[i])".into(), "1..8", 10, (1.0, 8.0)),
        ("lower_median(x[i])".into(), "-2..-1", 7, (-2.0, -1.0)),
        ("trimmed_mean[2, 2](x[i])".into(), "1..8", 12, (1.0, 8.0)),
        ("sum(smallest[3](x[i]))".into(), "1..8", 12, (3.0, 24.0)),
        ("sort(x[i])[1]".into(), "1..8", 5, (1.0, 8.0)),
        ("inf_norm(x[i])".into(), "-3..2", 10, (0.0, 3.0)),
        ("argmax(x[i])".into(), "1..8", 10, (0.0, 9.0)),
        ("sum(top_k[2](x[i])[e] * y[i][e] for e in n)".into(), "1..8", 6, (-20.0, 20.0)),
        ("sum(first_argmax(x[i])[e] * y[i][e] for e in n)".into(), "1..8", 12, (-10.0, 10.0)),
        (each("clamp(x[i][e], -10, 10)"), "-2560..2560", 3, (-10.0, 10.0)),
        (each("min([max([x[i][e], -10]), 10])"), "-2560..2560", 3, (-10.0, 10.0)),
        (each("clamp(x[i][e], 1, 2)"), "-8..1.5", 3, (1.0, 1.5)),
        (each("clamp(x[i][e] * y[i][e], -3, 4)"), "-8..8", 3, (-3.0, 4.0)),
        (each("clamp(3 * x[i][e] - 1, -3, 4)"), "-8..8", 3, (-3.0, 4.0)),
        (each("abs(x[i][e])"), "-3..2", 3, (0.0, 3.0)),
        (each("abs(x[i][e] * y[i][e])"), "-3..2", 3, (0.0, 30.0)),
        (each("select(x[i][e] < 0, 0.25 * x[i][e], x[i][e])"), "-8..8", 3, (-2.0, 8.0)),
        (each("select(x[i][e] < 1, 2 - x[i][e], x[i][e])"), "-8..8", 3, (1.0, 10.0)),
        (each("relu(x[i][e] - 3)"), "-8..8", 3, (0.0, 5.0)),
        ("softmax(x[i])".into(), "-4..4", 10, (0.0, 1.0)),
        ("max(softmax(x[i]))".into(), "-4..4", 10, (0.1, 1.0)),
        // Factors common to an entry and the maximum are taken out of their difference.
        ("softmax(2 * x[i])".into(), "-4..4", 10, (0.0, 1.0)),
        ("max(softmax(x[i] / 2))".into(), "-8..8", 10, (0.1, 1.0)),
        ("max(softmax(3 * x[i]))".into(), "-4..4", 10, (0.1, 1.0)),
        ("exp(3 * (x[i] - max(x[i])))".into(), "-4..4", 10, (0.0, 1.0)),
        (each("x[i][e] / sum(x[i])"), "0..4", 10, (0.0, 1.0)),
        (each("exp(x[i][e]) / sum([exp(x[i][k]) for k in n])"), "-2..2", 4, (0.0045, 1.0)),
        ("cosine(x[i], y[i])".into(), "-8..8", 10, (-1.0, 1.0)),
        (
            "cosine(x[i], [sum(y[j][e] for j in Client) for e in n])".into(),
            "-8..8",
            10,
            (-1.0, 1.0),
        ),
        ("relu(cosine(x[i], y[i]))".into(), "-8..8", 10, (0.0, 1.0)),
        ("3 * cosine(x[i], y[i]) - 1".into(), "-8..8", 10, (-4.0, 2.0)),
        (each("x[i][e] / norm(x[i])"), "-8..8", 3, (-1.0, 1.0)),
        ("x[i] / norm(x[i])".into(), "-8..8", 3, (-1.0, 1.0)),
        (each("x[i][e] / max([norm(x[i]), 0.5])"), "-8..8", 10, (-16.0, 16.0)),
        (each("x[i][e] / max([y[i][e], 2, x[i][e]])"), "-8..8", 3, (-4.0, 4.0)),
        (each("x[i][e] / (1 + x[i][e])"), "0..10000", 3, (0.0, 1.0)),
        (each("x[i][e] / sum([1, x[i][e], abs(y[i][e])])"), "0..10000", 3, (0.0, 1.0)),
        (each("x[i][e] / (norm(y[i]) + x[i][e] + 0.5)"), "0..10000", 3, (0.0, 1.0)),
        // Another term may be negative, or the dividend is twice the term.
        (each("x[i][e] / (11 + y[i][e] + x[i][e])"), "0..8", 3, (0.0, 8.0)),
        (each("2 * x[i][e] / (1 + x[i][e])"), "0..8", 3, (0.0, 16.0)),
        (each("x[i][e] - relu(x[i][e])"), "-9..4", 3, (-9.0, 0.0)),
        (each("x[i][e] - relu(x[i][0])"), "-9..4", 3, (-13.0, 4.0)),
        (each("exp(x[i][e] * y[i][e] - relu(x[i][e] * y[i][e]))"), "-2000..9", 3, (0.0, 1.0)),
    ];
    let mut wrong = Vec::new();
    for (value, x, n, (lo, hi)) in all {
        let (found_lo, found_hi) = stated(&case(&value, x, "-10..10", n));
        let near = |a: f64, b: f64| (a - b).abs() <= 2e-3 * (1.0 + b.abs());
        if !near(found_lo, lo) || !near(found_hi, hi) {
            wrong.push(format!("{value} of {n} in {x}: {found_lo}..{found_hi}, not {lo}..{hi}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Norms of short vectors are rounded to 0 or to little more, and quotients by them may be any number: those that are
/// at most 1 in real numbers are cut there, and others that look like them are not.
#[test]
fn cosines_and_unit_vectors_are_within_one_however_short_the_vectors() {
    let unit = (-16f64).exp2();
    let lengths = [0.0, unit, 3.0 * unit, 2f64.powi(-10), 2f64.powi(-8), 2f64.powi(-7), 0.1, 8.0];
    let run = |case: &Case, x: f64, y: f64| -> Vec<f64> {
        let mut inputs = ends(case.circuit(), Ends::Low, 1);
        for tensors in inputs.sets.iter_mut().flatten() {
            for (name, size) in [("x", x), ("y", y)] {
                let Some(RawData::F64(v)) = tensors.get_mut(name).map(|t| &mut t.data) else {
                    continue;
                };
                v.iter_mut().enumerate().for_each(|(i, e)| *e = if i == 1 { -size } else { size });
            }
        }
        case.circuit_clear(&inputs, &[], 7).concat()
    };
    let mut cut = 0;
    for value in [
        "cosine(x[i], y[i])",
        "cosine([sum(y[j][e] for j in Client) for e in n], x[i])",
        "[x[i][e] / norm(x[i]) for e in n]",
    ] {
        let case = case(value, "-8..8", "-8..8", 4);
        for (x, y) in lengths.iter().flat_map(|&x| lengths.map(|y| (x, y))) {
            let found = run(&case, x, y);
            assert!(found.iter().all(|c| c.abs() <= 1.0), "{value} of {x} and {y}: {found:?}");
            cut += found.iter().filter(|c| c.abs() == 1.0 && x.min(y) < 0.01).count();
        }
        assert!(proven(&case).assumed.is_empty(), "{value}: the cut assumes nothing");
    }
    assert!(cut > 0, "no quotient was beyond 1");
    // Another norm below the line, or half of an inner product above it.
    for (value, wanted) in [
        ("dot(x[i], y[i]) / (norm(x[i]) * norm(x[i]))", 80.0),
        ("dot(x[i], y[i]) / (norm(y[i]) * norm([x[i][e] for e in 1..n]))", 2.0 / 3f64.sqrt()),
        ("sum(x[i][e] * y[i][e] * 2 for e in n) / (norm(x[i]) * norm(y[i]))", 2.0),
        ("y[i][0] / norm(x[i])", 40.0),
    ] {
        let found = run(&case(value, "-8..8", "-8..8", 4), 0.1, 8.0);
        let near = found.iter().all(|f| (f - wanted).abs() < 0.02 * wanted);
        assert!(near, "{value}: {found:?}, not {wanted}");
    }
}

/// A value whose interval is well within what it is cut at is compared with both ends in words that hold the
/// differences, and stays what it is.
#[test]
fn values_far_from_their_cut_stay_as_they_are() {
    for seed in 0..3 {
        for how in ways(seed) {
            for (range, n) in [("3..3.5", 2), ("3..3.5", 12), ("1..1.25", 40), ("-3.5..-3", 200)] {
                for value in ["[x[i][e] / norm(x[i]) for e in n]", "relu(x[i][1] / norm(x[i]))"] {
                    holds_at_ends(&case_with(value, (range, "0..1"), n, how));
                }
            }
        }
    }
}

/// Squares of 28 bits, added up to as much as words of 64 bits hold and to a little more: what is made of them is right
/// at the ends of the ranges, too.
#[test]
fn sums_of_squares_that_fill_a_word_are_right() {
    let squares = "sum((x[i][e] + y[i][e]) * (x[i][e] + y[i][e]) for e in n)";
    for (seed, n) in (0..3).flat_map(|seed| [30, 40, 64, 70, 90, 130, 200].map(|n| (seed, n))) {
        for value in [squares.to_string(), format!("sqrt({squares})"), format!("({squares} * 0.5)")]
        {
            holds_at_ends(&case_with(&value, ("-8..8", "-8..8"), n, ways(seed)[0]));
        }
    }
}

/// What is known of errors.
fn proven(case: &Case) -> Errors {
    let compiled = &case.compiled;
    let given = input_errors(&compiled.optimised, &compiled.guards);
    errors(&compiled.optimised, &compiled.ranges.raw, &given, &compiled.stated)
}

/// Holds what the circuit reveals at the ends of ranges against floating point, and in its stated interval.
fn holds_at_ends(case: &Case) {
    let (lo, hi) = stated(case);
    let most = proven(case).output(&case.compiled.optimised, 0);
    for end in [Ends::Low, Ends::High, Ends::Either] {
        for seed in 0..8 {
            let inputs = ends(case.circuit(), end, seed);
            let run = case.circuit_clear(&inputs, &[], seed);
            let wanted = case.floating(&inputs, &[]);
            for (x, y) in run[0].iter().zip(&wanted[0]) {
                assert!((lo..=hi).contains(x), "{end:?} {seed}: {x} is not in {lo}..{hi}");
                assert!((x - y).abs() <= most, "{end:?} {seed}: {x} for {y}, proven {most}");
            }
        }
    }
}

/// The product of a row and the column of the same number has squares of one entry only.
#[test]
fn products_with_a_transposed_factor_are_no_sums_of_squares() {
    let text = |value: &str| {
        format!(
            "use std::{{sum}};\npredicate T[n]() {{\n    parties Client[2];\n    parties Server;\n    \
             input s: secret fix[n, n] in -8..8 from each Client;\n    \
             reveal [{value} for i in Client] to Server as z;\n}}\n"
        )
    };
    let one = compile(&text("sum(s[i][0][k] * s[i][k][0] for k in n)"), &[("n", "3")]);
    assert!(stated(&one).0 <= -128.0, "{:?}", stated(&one));
    holds_at_ends(&one);
    let all = "sum(sum(s[i][j][k] * s[i][k][j] for k in n) for j in n)";
    let all = compile(&text(all), &[("n", "3")]);
    assert!(stated(&all).0 <= -384.0, "{:?}", stated(&all));
    holds_at_ends(&all);
    let below =
        compile(&text("(sum(s[i][0][k] * s[i][k][0] for k in n) < 100) * 1"), &[("n", "3")]);
    for seed in 0..20 {
        let inputs = ends(below.circuit(), Ends::Either, seed);
        let run = below.circuit_clear(&inputs, &[], 1);
        assert_eq!(run[0], below.floating(&inputs, &[])[0], "seed {seed}");
    }
    // A sum of squares is one in any shape.
    let squares = compile(&text("sum(s[i][k][1] * s[i][k][1] for k in n)"), &[("n", "3")]);
    assert!(stated(&squares).0 >= 0.0, "{:?}", stated(&squares));
}

/// At an edge a window covers fewer entries than it has.
#[test]
fn padding_adds_zeros_and_no_entries() {
    let text = "model Net(x: fix[1, 3, 3]) -> fix[9] {\n    \
                conv: conv2d[1, 1, kernel = 3, pad = 1, bias = 0];\n    x |> conv |> flatten\n}\n\
                predicate T() {\n    parties Client[1];\n    parties Server;\n    \
                input net: secret weights Net in 1..2 from each Client;\n    \
                input image: public fix[..Net.shape] in 1..2;\n    \
                reveal [Net(net[i], image) for i in Client] to Server as z;\n}\n";
    let case = compile(text, &[]);
    // Four entries at a corner, nine in the middle.
    assert_eq!(stated(&case), (4.0, 36.0));
    holds_at_ends(&case);
}

/// The interval of a quotient has room for the error that is stated of it.
#[test]
fn intervals_of_quotients_have_room_for_the_stated_error() {
    let case = case("[x[i][e] / y[i][e] for e in n]", "0..2000", "1..1000000", 4);
    let stated_errors = &case.compiled.stated;
    let relative = stated_errors.div.relative;
    let (lo, hi) = stated(&case);
    assert!(lo <= 0.0 && hi >= 2000.0 * (1.0 + relative), "{lo}..{hi}");
    holds_at_ends(&case);
}

/// Sixty-four rows choose their largest entry, and in one of them a pair is not compared: then two entries may
/// win, and the sum is no largest entry. An even
/// sample of fifty rows leaves out row 13.
/// What is seen of a share of a sum that is written out, and of min(x, 0), holds at ends, where terms are 0, too.
#[test]
fn shares_and_negative_parts_hold_at_ends() {
    for value in [
        "x[i][e] / (1 + x[i][e])",
        "x[i][e] / (y[i][e] + x[i][e])",
        "x[i][e] / sum([x[i][e], y[i][e], x[i][e]])",
        "(x[i][e] - 3) - relu(x[i][e] - 3)",
        "exp(x[i][e] * (y[i][e] - 2) - relu(x[i][e] * (y[i][e] - 2)))",
    ] {
        let case = case(&format!("[{value} for e in n]"), "0..100", "0..4", 3);
        let places = cost::places(&case.program, &case.compiled.optimised, &case.sources);
        let row = &Certificate::of(&case.compiled, &places).error[0];
        assert!(row.proven <= 2.0, "{value}: {}", row.proven);
        holds_at_ends(&case);
    }
}

#[test]
fn all_rows_of_a_choice_are_looked_at() {
    let rows = |condition: &str| {
        let text = format!(
            "use std::{{sum}};\npredicate T[n]() {{\n    parties Client[1];\n    parties Server;\n    \
             input x: secret fix[64, n] in -8..8 from each Client;\n    \
             reveal [[sum((sum(x[i][r][j] >= x[i][r][e] for j in 0..e{condition}) + \
             sum(x[i][r][j] > x[i][r][e] for j in e + 1..n) == 0) * x[i][r][e] for e in n) for r in 64] \
             for i in Client] to Server as z;\n}}\n"
        );
        compile(&text, &[("n", "36")])
    };
    let even = rows("");
    let known = proven(&even);
    assert_eq!(known.decisions.len(), 0, "of even rows nothing decides");
    assert!(known.output(&even.compiled.optimised, 0) < 1e-4);
    let (lo, hi) = stated(&even);
    assert!(lo >= -8.001 && hi <= 8.001, "{lo}..{hi}");
    let uneven = rows(" if r != 13 || j > 0");
    assert!(!proven(&uneven).decisions.is_empty(), "row 13 decides");
}

/// What the compiler says of a program, if it refuses it.
fn refused(text: &str) -> Option<String> {
    attempt(text, &[], pipeline::Options::default()).err().map(|why| why.text())
}

/// Whatever range is advised where a value fits no ring, the program compiles with it, and it has values left.
#[test]
fn advice_for_values_that_do_not_fit_works_when_it_is_followed() {
    let program = |value: &str, x: &str, y: &str| {
        format!(
            "use std::{{clamp, exp, recip, relu, sqrt, sum}};\npredicate A() {{\n    parties Client[2];\n    \
             parties Server;\n    input x: secret fix in {x} from each Client;\n    \
             input y: secret fix in {y} from each Client;\n    \
             reveal [{value} for i in Client] to Server as z;\n}}\n"
        )
    };
    let ranges = ["-1000000..1000000", "-8..8"];
    let mut advised = 0;
    for value in [
        "x[i]^6 + y[i]",
        "x[i]^3 * x[i]^4 * y[i]",
        "sqrt(x[i]^4) + y[i]",
        "recip(x[i]^4 + 1) * y[i]",
        "relu(x[i]^7) * 0.001 + y[i]",
        "x[i]^5 * y[i]^9",
    ] {
        let why = refused(&program(value, ranges[0], ranges[1]));
        let why = why.unwrap_or_else(|| panic!("{value} fits: choose another one"));
        assert!(why.contains("E0028"), "{why}");
        let Some((_, rest)) = why.split_once("declare `") else { continue };
        let (name, rest) = rest.split_once("` in ").expect("a range");
        let (range, _) = rest.split_once(": then").expect("an end of it");
        let (lo, hi) = range.split_once("..").expect("two ends");
        let width = hi.parse::<f64>().expect("a number") - lo.parse::<f64>().expect("a number");
        assert!(width >= 2f64.powi(-8), "{value}: {range} has hardly any values");
        let (x, y) = if name == "x" { (range, ranges[1]) } else { (ranges[0], range) };
        assert_eq!(refused(&program(value, x, y)), None, "{value} with {name} in {range}");
        // The one that is twice as wide does not help: the advice asks for no more than it has to.
        let twice =
            format!("{}..{}", 2.0 * lo.parse::<f64>().unwrap(), 2.0 * hi.parse::<f64>().unwrap());
        let (x, y) = if name == "x" { (&twice[..], ranges[1]) } else { (ranges[0], &twice[..]) };
        assert!(refused(&program(value, x, y)).is_some(), "{value} with {name} in {twice}");
        advised += 1;
    }
    assert!(advised >= 3, "there is advice for {advised}");
    // The other advice works, too: what is clamped is small.
    let clamped = "clamp(x[i]^3, -100, 100)^2 * clamp(x[i]^2, 0, 50) + y[i]";
    assert_eq!(refused(&program(clamped, ranges[0], ranges[1])), None);
}

/// Margins of comparisons of lengths, which are made of squares, are those of lengths.
#[test]
fn margins_are_in_the_units_of_the_source() {
    let margin = |value: &str| {
        let case = case(value, "-8..8", "-8..8", 4);
        let known = proven(&case);
        let all: Vec<(f64, f64)> = known.decisions.iter().map(|d| (d.margin, d.source)).collect();
        assert_eq!(all.len(), 1, "{value}: {all:?}");
        all[0]
    };
    // Squares of lengths are off by 16 halves of a unit for each entry, and their margin is that of both sides.
    let (squares, lengths) = margin("norm(x[i]) < 3");
    let near = |a: f64, b: f64| (a - b).abs() < 1e-3 * b;
    assert!(near(lengths, 3.0 - (9.0 - squares).sqrt()), "{squares} {lengths}");
    assert!(lengths < 1e-3 && squares > 5.0 * lengths, "{squares} {lengths}");
    // Near 0 a small difference of squares is a large one of lengths.
    let (squares, lengths) = margin("norm(x[i]) < 1.5 * norm(y[i])");
    assert!(near(lengths, squares.sqrt()), "{squares} {lengths}");
    let (squares, lengths) = margin("2 * norm(x[i]) < 3 * norm(y[i])");
    assert!(near(lengths, 2.0 * squares.sqrt()), "{squares} {lengths}");
    // A common factor.
    let (one, ten) = margin("10 * sum(x[i]) < 10 * sum(y[i])");
    assert!(near(ten, 10.0 * one), "{one} {ten}");
    let (same, stays) = margin("sum(x[i]) < sum(y[i])");
    assert_eq!(same, stays);
}

/// The interval and the proven error of the only reveal of a program on seven clients.
fn revealed(body: &str) -> ((f64, f64), f64) {
    let text = format!(
        "use std::{{clamp, dot, median, min, max, norm, sum}};\n\
         predicate P[M: model, m]() {{ parties Client[m]; parties Server;\n\
         input guide: public weights M in -8..8;\n\
         input update: secret weights M in -8..8 from each Client;\n\
         let size = [norm(update[i]) for i in Client];\n{body} }}"
    );
    let case = compile(&text, &[("M", "Mlp[4, 3, 2]"), ("m", "7")]);
    let places = cost::places(&case.program, &case.compiled.optimised, &case.sources);
    let row = &Certificate::of(&case.compiled, &places).error[0];
    (row.range, row.proven)
}

#[test]
fn a_capped_quotient_of_two_secrets_is_within_its_cap_and_so_is_its_error() {
    // A short update may have length 0, and the median may be as short.
    let (range, error) =
        revealed("reveal sum([min([median(size) / size[i], 1]) for i in Client]) to Server as x;");
    assert!(range.1 <= 7.01 && error <= 7.01, "{range:?}, {error}");
    let (range, error) = revealed(
        "let cut = [update[i] * min([median(size) / size[i], 1]) for i in Client];\n\
         reveal sum([norm(cut[i]) for i in Client]) to Server as x;",
    );
    assert!(range.1 < 2000.0 && error < 1e4, "{range:?}, {error}");
    // Written as a larger divisor.
    let (range, error) = revealed(
        "let b = sum(size);\nreveal sum([b / max([size[i], b]) for i in Client]) to Server as x;",
    );
    assert!(range.1 <= 7.01 && error <= 7.01, "{range:?}, {error}");
}

#[test]
fn a_clamp_of_a_quotient_narrows_at_both_ends() {
    let (range, error) = revealed(
        "reveal sum([clamp(dot(update[i], guide) / dot(guide, guide), -4, 4) for i in Client]) to Server as x;",
    );
    assert!(range.0 >= -28.1 && range.1 <= 28.1 && error <= 56.2, "{range:?}, {error}");
}
