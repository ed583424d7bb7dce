//! Cuts of deep networks: what is stated holds where values stay within them. So no predicate has any with a small
//! model; where there are some, each is listed and warned of, and a bound of the failure asks that they are accepted.

use slvr_compiler::analysis::cuts;
use slvr_compiler::cost::places;
use slvr_compiler::diagnostic::render::render;
use slvr_compiler::pipeline;
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_compiler::syntax::{LoadError, Sources};
use slvr_compiler::types;
use slvr_tests::{compile, predicate, sizes};

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
    let mut sources = Sources::new();
    let file = sources.add("cut.slvr", text);
    let sizes = [("M", "LeNet5"), ("m", "4"), ("c", "1"), ("b", "1")];
    let bindings = sizes.map(|(n, v)| (n.to_string(), v.to_string())).into();
    let options = types::Options { bindings, ..Default::default() };
    let mut none = |_: &str| Err(LoadError::NotFound);
    let checked = types::check(&mut sources, file, &options, &mut none)
        .map_err(|d| render(&d, &sources, false))?;
    pipeline::compile(&checked.program, &sources).map_err(|d| render(&d, &sources, false))
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
        "warning[E0028]: values that fit no word are cut at 65536",
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
    assert_eq!(accepted.top, Some(16));
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
