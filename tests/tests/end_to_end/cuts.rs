//! Cuts of deep networks: what is stated holds where values stay within them. So no predicate has any with a small
//! model; where there are some, each is listed and warned of, and a bound of the failure asks that they are accepted.

use slvr_circuit::Encoding;
use slvr_compiler::analysis::cuts;
use slvr_compiler::cost::{NetProfile, places};
use slvr_compiler::diagnostic::render::render;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::{self, Options};
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_runtime::share::encode::{RawData, RawTensor};
use slvr_tests::long::part;
use slvr_tests::{Case, attempt, compile, compile_with, predicate, random_inputs, sizes};

const ACCEPTS: &str = "    require cut >= 16;\n";

/// A predicate that accepts cuts, and the same without that and without a bound of its failure.
fn without() -> (&'static str, String) {
    let text = predicate("slvr_accuracy");
    let bound = "    require failure <= 2^-40;\n";
    assert!(text.contains(ACCEPTS) && text.contains(bound));
    (text, text.replace(ACCEPTS, "").replace(bound, ""))
}

/// The compiler's answer to a text with LeNet-5.
fn answer(text: &str) -> Result<pipeline::Compiled, String> {
    let sizes = [("M", "LeNet5"), ("m", "4"), ("c", "1"), ("b", "1")];
    let sizes = if text.contains("[M") { &sizes[..] } else { &[] };
    let case = attempt(text, sizes, Options::default());
    case.map(|case| case.compiled).map_err(|why| why.text())
}

#[test]
fn nothing_is_cut_with_small_models() {
    for (file, text) in PREDICATES {
        let (sizes, _) = sizes(file.trim_end_matches(".slvr"));
        let c = compile(text, &sizes).compiled;
        assert_eq!(cuts::reached(&c.optimised, &c.ranges.raw), [], "{file}");
        let known = Certificate::of(&c, &[]);
        assert!(known.assumed.is_empty() && known.saturates_at.is_none(), "{file}");
        assert!(!c.warnings.iter().any(|d| d.title.contains("cut")), "{file}");
    }
}

/// One input of one client, x in a range, and what is revealed.
fn plain(range: &str, reveals: &[&str]) -> String {
    let mut text = format!(
        "use std::{{relu}};\npredicate P() {{\n    parties C;\n    parties S;\n    input x: secret {range} from C;\n    \
         input y: secret {range} from C;\n"
    );
    for (i, value) in reveals.iter().enumerate() {
        text += &format!("    reveal {value} to S as o{i};\n");
    }
    text + "}\n"
}

/// Both adversaries, both families.
fn everyone() -> [Options; 4] {
    let wan = Family::T2(NetProfile::wan().tuning());
    [
        Target::SemiHonest(wan),
        Target::SemiHonest(Family::T1),
        Target::Malicious(wan),
        Target::Malicious(Family::T1),
    ]
    .map(|target| Options { target, ..Options::default() })
}

/// What three parties reveal of x and y, all of whose entries are these.
fn revealed(case: &Case, of: [f64; 2]) -> Vec<f64> {
    let given = |input: &slvr_circuit::Input| {
        let x = of[usize::from(input.name == "y")];
        let data = match input.encoding {
            Encoding::Fixed { .. } => RawData::F64(vec![x]),
            _ => RawData::I64(vec![x as i64]),
        };
        (input.name.clone(), RawTensor { shape: input.shape.clone(), data })
    };
    let mut inputs = random_inputs(case.circuit(), 0, 1.0);
    inputs.sets[0][0] = case.circuit().inputs.iter().map(given).collect();
    let report = case.parties(&inputs, 3);
    report.outputs.iter().map(|o| o.values[0]).collect()
}

/// A ReLU that no model applies is cut only where what is made of it fits no word: not for what has nothing to do with
/// it, and not to save words of 128 bits.
#[test]
fn what_fits_a_word_is_not_cut() {
    let (wide, whole) = ("int in -1099511627776..1099511627776", 1099511627775.0);
    let (real, most) = ("fix in -10000000..10000000", 9999999.75);
    type Value = (&'static str, fn(f64, f64) -> f64);
    let rows: [(&str, f64, &[Value]); 6] = [
        (wide, whole, &[("relu(x)", |x, _| x.max(0.0)), ("x * x", |x, _| x * x)]),
        (wide, whole, &[("relu(x * y)", |x, y| (x * y).max(0.0))]),
        (wide, whole, &[("relu(x) * y", |x, y| x.max(0.0) * y), ("relu(x)", |x, _| x.max(0.0))]),
        (wide, whole, &[("relu(relu(x) * y) + x", |x, y| (x.max(0.0) * y).max(0.0) + x)]),
        (
            "int in 0..4503599627370496",
            4503599627370495.0,
            &[("relu(x)", |x, _| x), ("x * y", |x, y| x * y)],
        ),
        (
            real,
            most,
            &[
                ("relu(x)", |x, _| x.max(0.0)),
                ("relu(x * y)", |x, y| (x * y).max(0.0)),
                ("x * y < 1", |x, y| f64::from(x * y < 1.0)),
            ],
        ),
    ];
    for (range, end, values) in rows {
        let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        for how in everyone() {
            let case = compile_with(&plain(range, &names), &[], how);
            assert_eq!(case.compiled.cut, None, "{range}: {names:?}");
            assert_eq!(cuts::reached(&case.compiled.optimised, &case.compiled.ranges.raw), []);
            let low = if range.contains("in 0..") { 0.0 } else { -end };
            let ends = [[end, end], [5.0, low], [low, end], [low, low], [end, 3.0]];
            // Against a malicious party the values are those of the same circuits with proofs.
            let proven = matches!(how.target, Target::Malicious(_));
            let some = if proven { part(2, 5) } else { 5 };
            for of in ends.into_iter().take(some as usize) {
                let wanted = values.iter().map(|(_, f)| f(of[0], of[1]));
                for ((got, wanted), name) in revealed(&case, of).into_iter().zip(wanted).zip(&names)
                {
                    // Within what a product is rounded by, and doubles.
                    let off = 1e-3 + 1e-12 * wanted.abs();
                    assert!(
                        (got - wanted).abs() <= off,
                        "{range} {name} of {of:?}: {got} for {wanted}, {how:?}"
                    );
                }
            }
        }
    }
}

/// Where no word holds what is made of a ReLU, it is cut at the largest power of two for which one does, and another one
/// is not.
#[test]
fn what_fits_no_word_is_cut_as_far_out_as_it_fits() {
    let (range, end) = ("int in -1099511627776..1099511627776", 1099511627775f64);
    let values = ["relu(x) * relu(x) * relu(x) * relu(x)", "relu(y)", "y * y"];
    for how in everyone() {
        let case = compile_with(&plain(range, &values), &[], how);
        let c = &case.compiled;
        // The fourth power of 2^31 and a sign.
        assert_eq!(c.cut.map(|c| (c.top, c.word)), Some((31, 128)));
        assert_eq!(cuts::reached(&c.optimised, &c.ranges.raw).len(), 1, "only that of x");
        let warned = render(&c.warnings, &case.sources, false);
        let title = "warning[E0028]: values are cut at 2147483648, because what is made of them may not fit words of 128 bits";
        assert!(warned.contains(title), "{warned}");
        for (of, x) in [([end, end], 31f64.exp2()), ([-end, end], 0.0), ([7.0, -end], 7.0)] {
            let wanted = [x.powi(4), of[1].max(0.0), of[1] * of[1]];
            let off = |(a, b): (f64, f64)| (a - b).abs() <= 1e-12 * b;
            let got = revealed(&case, of);
            assert!(got.iter().copied().zip(wanted).all(off), "{got:?} of {of:?}, {how:?}");
        }
    }
}

#[test]
fn every_cut_that_may_be_reached_is_listed_and_warned_of() {
    let sizes = [("M", "LeNet5"), ("m", "4"), ("c", "1"), ("b", "1")];
    let case = compile(predicate("slvr_accuracy"), &sizes);
    let c = &case.compiled;
    let lines = places(&case.program, &c.optimised, &case.sources);
    let known = Certificate::of(c, &lines);
    let g = &c.optimised;
    let reached = cuts::reached(g, &c.ranges.raw);
    assert_eq!(reached.len(), 6, "two gates of images, one of what is dense, before and after");
    for &id in &reached {
        let (name, line) = (&g.site(id).name, lines[g.node(id).site as usize]);
        let listed = |r: &&slvr_compiler::report::certificate::CutRow| {
            (&r.step, r.line, Some(r.at)) == (name, line, known.saturates_at)
        };
        let row = known.assumed.iter().find(listed).unwrap_or_else(|| panic!("{name}"));
        let (_, high) = c.ranges.real(g, g.arg(id, 0));
        assert!(line > 0 && high > row.at && row.range.1 >= high, "{row:?}");
    }
    assert!(c.warnings.is_empty(), "it accepts them by name");
    let (_, text) = without();
    let case = compile(&text, &sizes);
    let warned = render(&case.compiled.warnings, &case.sources, false);
    let parts = [
        "warning[E0028]: values are cut at 65536, because what is made of them may not fit words of 64 bits",
        "models/lenet5.slvr:",
        "by the declared ranges `before/hits` may be 2.5e5, and is cut at 65536",
        "`slvrc explain` lists all 6",
    ];
    parts.iter().for_each(|part| assert!(warned.contains(part), "{part} is not in\n{warned}"));
}

#[test]
fn cuts_are_accepted_by_name() {
    let (text, _) = without();

    let with = |demand: &str| answer(&text.replace(ACCEPTS, demand));
    let accepted = with("    require cut >= 2^16;\n").expect("at 2^16 they are");
    assert_eq!(accepted.cut.map(|c| (c.top, c.word)), Some((16, 64)));
    for (demand, parts) in [
        (
            "",
            [
                "error[E0030]: values are cut at 65536, which the program does not accept",
                "write `require cut >= 65536;` to accept it",
            ],
        ),
        (
            "    require cut >= 2^17;\n",
            [
                "error[E0030]: values are cut at 65536, and 131072 is demanded",
                "require cut >= 2^17;",
            ],
        ),
        (
            "    require cut <= 16;\n",
            ["error[E0018]: a demand on cuts is a positive lower bound", "not a lower bound"],
        ),
        (
            "    require cut >= 0;\n",
            ["error[E0018]: a demand on cuts is a positive lower bound", "is 0"],
        ),
        ("    require 16 <= cut;\n", ["error[E0004]", "`require cut >= ..;`"]),
    ] {
        let refused = with(demand).expect_err("is refused");
        parts
            .iter()
            .for_each(|part| assert!(refused.contains(part), "{part} is not in\n{refused}"));
    }
}

/// Products with a reciprocal are cut at half of what gates are: a program accepts no cut that is lower than it demands.
#[test]
fn a_demand_on_cuts_is_held_against_every_cut() {
    let layers = |n: usize| {
        let parts: Vec<String> = (0..n)
            .map(|i| format!("    l{i}: linear[4, 4];\n    n{i}: batch_norm[4];\n"))
            .collect();
        let calls: Vec<String> = (0..n).map(|i| format!("l{i} |> n{i}")).collect();
        format!(
            "model Deep(x: fix[4]) -> fix[4] {{\n{}    x |> {}\n}}\n",
            parts.concat(),
            calls.join(" |> relu |> ")
        )
    };
    let mut lower = 0;
    for (n, range) in [(2, 8), (3, 64), (4, 8)] {
        let text = |cut: f64| {
            format!(
                "{}predicate P() {{\n    parties C;\n    parties S;\n    input w: secret weights Deep in -{range}..{range} from C;\n    \
                 input x: secret fix[4] in -8..8 from C;\n    require cut >= {cut};\n    reveal Deep(w, x) to S as y;\n}}\n",
                layers(n)
            )
        };
        let accepted = answer(&text(1.0)).expect("any cut");
        let g = &accepted.optimised;
        let reached = cuts::reached(g, &accepted.ranges.raw);
        let at = |id: &slvr_compiler::graph::NodeId| match g.op(*id) {
            slvr_compiler::graph::Op::Saturate(top) => f64::from(*top).exp2(),
            op => panic!("{} is no cut", op.name()),
        };
        let least = reached.iter().map(at).fold(f64::INFINITY, f64::min);
        let Some(top) = accepted.cut.map(|c| f64::from(c.top).exp2()) else { continue };
        lower += usize::from(least < top);
        assert!(answer(&text(least)).is_ok());
        let beyond = 2.0 * least;
        let refused = answer(&text(beyond)).expect_err("a lower cut");
        let title = format!("error[E0030]: values are cut at {least}, and {beyond} is demanded");
        assert!(refused.contains(&title), "{refused}");
    }
    assert!(lower > 0, "no product with a reciprocal is cut below gates");
}
