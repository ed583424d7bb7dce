//! A value that may leave its ring (E0028) is shown where it is computed: the operation, not the comprehension around it,
//! and for what the library computes also the call.

use slvr_compiler::diagnostic::{Diagnostic, codes};
use slvr_compiler::pipeline::Options;
use slvr_tests::{Refused, attempt};

/// What is said of a program, if it is refused.
fn refused(text: &str) -> Option<Refused> {
    attempt(text, &[], Options::default()).err()
}

/// The texts that the message underlines, the main one first.
fn underlined(value: &str) -> Vec<String> {
    let text = format!(
        "use std::{{exp, norm, sum}};\n\npredicate P() {{\n    parties Client[3];\n    parties Server;\n\n\
         \x20   input x: secret fix[3] in -1000..1000 from each Client;\n\n\
         \x20   let y = {value};\n\n    reveal sum(y) to Server as y;\n}}\n"
    );
    let Refused { said, sources } = refused(&text).unwrap_or_else(|| panic!("{value} compiles"));
    let error = &said[0];
    assert_eq!(error.code, codes::OVERFLOW, "{error:?}");
    error.labels.iter().map(|(span, _)| sources.snippet(*span).to_owned()).collect()
}

#[test]
fn the_operation_is_underlined_not_the_comprehension_around_it() {
    let wide = "exp(x[i]) * exp(x[i]) * exp(x[i]) * exp(x[i])";
    let found = underlined(&format!("[1 + (3 + {wide}) for i in Client]"));
    assert!(wide.starts_with(found[0].as_str()), "{found:?}");
    let found = underlined("[1 + norm(exp(x[i]) * 30000) for i in Client]");
    assert_eq!(found, ["norm(exp(x[i]) * 30000)", "sqrt(norm_sq(x))"]);
}

/// What the hints of a message say.
fn hinted(error: &Diagnostic) -> Vec<String> {
    error.hints.iter().map(|h| h.text.clone()).collect()
}

/// What stands at each place of the first error, if there is one.
fn first_error(text: &str) -> Option<(Vec<[String; 2]>, Vec<String>)> {
    let Refused { said, sources } = refused(text)?;
    let error = said.into_iter().next()?;
    let label = |(span, what): &(_, String)| [sources.snippet(*span).to_owned(), what.clone()];
    Some((error.labels.iter().map(label).collect(), hinted(&error)))
}

/// The operand of a function of the library is too large, and not what the function makes of it: both are named, with the
/// values that the operand has. Operands of exponentials are no such example, because large ones are cut.
#[test]
fn the_values_of_an_operand_that_is_too_large_are_shown() {
    let text = "use std::{norm, sum};\n\npredicate P() {\n    parties Client[3];\n    parties Server;\n\n\
                \x20   input x: secret fix in -1000..1000 from each Client;\n\n\
                \x20   let y = [norm([x[i]^3, x[i]]) for i in Client];\n\n\
                \x20   reveal sum(y) to Server as y;\n}\n";
    let (labels, _) = first_error(text).expect("it does not compile");
    let [place, values] = &labels[1];
    assert_eq!(place, "sqrt(norm_sq(x))");
    assert!(values.starts_with("an operand has values from 0.000e0 to 1.000e18"), "{values}");
}

/// The `eps` of a layer of the library is in the program, not where the library adds it.
#[test]
fn a_layer_whose_constant_is_lost_is_shown_where_it_is_applied() {
    let with = |eps: &str| {
        first_error(&format!(
            "model Net(x: fix[8]) -> fix[8] {{\n    first: layer_norm[8];\n    fc: linear[8, 8];\n    \
             norm: layer_norm[8, eps = {eps}];\n    last: linear[8, 8];\n\n    \
             x |> first |> fc |> norm |> last\n}}\n\n\
             predicate P() {{\n    parties Client[3];\n    parties Server;\n\n    \
             input w: secret weights Net in -8..8 from Server;\n    \
             input x: secret fix[8] in -4..4 from each Client;\n\n    \
             reveal [Net(w, x[i]) for i in Client] to Server as y;\n}}\n"
        ))
    };
    let (labels, hints) = with("0.0000001").expect("it does not compile");
    assert_eq!(labels[0][0], "norm", "{labels:?}");
    let advised = hints.iter().find_map(|h| h.split("at least ").nth(1)?.split(';').next());
    let advised: f64 = advised.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{hints:?}"));
    assert_eq!(with(&format!("{advised}")), None, "as advised");
}

/// The message of a program with a state, and its first hint.
fn with_state(range: &str, start: &str, value: &str) -> Result<(), String> {
    let text = format!(
        "use std::{{sum}};\n\npredicate P() {{\n    parties Client[3];\n    parties Server;\n\n\
         \x20   input x: secret fix in -1..1 from each Client;\n\n    state s: secret fix in {range} = {start};\n\n\
         \x20   let y = {value};\n\n    store s + sum(x) as s;\n\n    reveal y to Server as y;\n}}\n"
    );
    let Some(Refused { said: errors, .. }) = refused(&text) else { return Ok(()) };
    assert!(errors.iter().all(|e| e.code == codes::OVERFLOW), "{errors:?}");
    errors.first().map_or(Ok(()), |e| Err(hinted(e).join("; ")))
}

/// A range that is advised for a state is one in which it begins, and with it the program compiles: nothing is said
/// that is an error when it is followed.
#[test]
fn advice_for_a_state_can_be_followed() {
    let square = |n: usize| vec!["s"; n].join(" * ");
    let (mut advised, mut none) = (0, 0);
    for start in ["0", "7", "600"] {
        for n in 12..16 {
            let value = format!("{} + sum(x)", square(n));
            let Err(hints) = with_state("-1024..1024", start, &value) else { continue };
            let Some((_, rest)) = hints.split_once("declare the state `s` in ") else {
                none += 1;
                continue;
            };
            let range = rest.split(": then").next().expect("a range");
            assert_eq!(with_state(range, start, &value), Ok(()), "{start}, {n}: {hints}");
            advised += 1;
        }
    }
    assert!(advised > 3 && none > 0, "{advised} advised, {none} not");
}
