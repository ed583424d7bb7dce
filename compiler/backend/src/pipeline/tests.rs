use super::compile;
use slvr_language::diagnostic::render::render;
use slvr_language::source::{LoadError, Sources};
use slvr_language::types::{Options, Program, check};

pub(super) fn typed(text: &str) -> (Sources, Program) {
    let mut sources = Sources::new();
    let file = sources.add("test.slvr", text);
    let mut load = |_: &str| Err(LoadError::NotFound);
    let checked = check(&mut sources, file, &Options::default(), &mut load);
    let program = checked.unwrap_or_else(|d| panic!("{text}: {d:?}")).program;
    (sources, program)
}

/// What is said of a program that is refused; nothing of one that compiles.
pub(super) fn refused(text: &str) -> String {
    let (sources, program) = typed(text);
    let compiled = compile(&program, &sources);
    compiled.map_or_else(|d| render(&d, &sources, false), |_| String::new())
}

/// A demand holds of whatever a statement defines: no kind of statement is passed over.
#[test]
fn demands_are_held_against_values_of_all_statements() {
    let text = |demand: &str| {
        format!(
            "use std::{{sum}};\npredicate P() {{\n require {demand};\n parties Client[3];\n \
             parties Server;\n input x: secret fix in -8..8 from each Client;\n \
             state kept: secret fix in -8..8 = 0.1;\n \
             let (half, twice) = (sum(x) / 2, sum(x) * 2);\n let mean = sum(x) / 3;\n \
             store mean as kept;\n reveal kept + half + twice to Server as last;\n}}\n"
        )
    };
    for name in ["x", "kept", "half", "twice", "mean"] {
        assert_eq!(refused(&text(&format!("error({name}) <= 2^-8"))), "", "{name}");
        let small = refused(&text(&format!("error({name}) <= 2^-60")));
        assert!(small.contains(&format!("`{name}` may be off by")), "{name}: {small}");
    }
}
