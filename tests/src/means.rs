//! Random programs of weighted means, and of what is within known ends for the same reason: cosines, shares, logarithms of
//! a softmax. Weights are made of comparisons, exponentials, relus, quotients and counts; of some inputs all are zero. What is
//! computed of a mean has words only because the mean is known to be within its values.
//!
//! A program comes from a string of choices: a shorter string gives a smaller program.

use crate::generate::Generated;
use std::fmt::Write;

/// Declared ranges of what is averaged.
const VALUES: [&str; 7] = ["-8..8", "-1..1", "0..100", "1..2", "-0.01..0.01", "-3..-1", "-64..64"];
/// Declared ranges of what weights are made of.
const NUMBERS: [&str; 6] = ["-2..2", "0..1", "-1..0", "0..0.001", "0.5..4", "-100..100"];

/// Weights of client i, none of which is negative. W is another one of these.
const WEIGHTS: [&str; 14] = [
    "count[i]",
    "relu(x[i])",
    "(x[i] < y[i])",
    "exp(x[i])",
    "1 / max([norm(u[i]), 0.1])",
    "abs(x[i])",
    "x[i] * x[i]",
    "count[i] / max([norm(u[i] - mean), 0.01])",
    "relu(x[i]) / (1 + abs(y[i]))",
    "select(x[i] < y[i], 1, 0.25)",
    "norm(u[i])",
    "relu(1 - abs(x[i] - y[i]))",
    "1 / norm(u[i] - mean)",
    "0.001 * abs(y[i])",
];

/// What a mean may be: `w` is a weight for each client, `u` a vector.
const MEANS: [&str; 9] = [
    "sum(w[i] * u[i] for i in Client) / sum(w)",
    "sum(w[i] / sum(w) * u[i] for i in Client)",
    "[sum(w[i] * u[i, e] for i in Client) / sum(w) for e in n]",
    "[sum(w[i] * abs(u[i, e]) * u[i, e] for i in Client) / sum(w[i] * abs(u[i, e]) for i in Client) for e in n]",
    "sum(w[i] * u[i] for i in Client) / (sum(w) + 1)",
    "sum(w[i] * u[i] for i in Client if i != 0) / sum(w[i] for i in Client if i != 0)",
    "sum(w[i]^2 * u[i] for i in Client) / sum(w[i]^2 for i in Client)",
    "iterate v = 0 * u[0] for t in 2 { let b = [w[i] / max([norm(u[i] - v), 0.1]) for i in Client]; \
     sum(b[i] * u[i] for i in Client) / sum(b) }",
    "3 * (sum(2 * w[i] * u[i] for i in Client) / sum(w))",
];

/// What else is within known ends, a number for each client.
const OTHERS: [&str; 5] =
    ["cosine(u[i], g)", "like[i, j]", "exp(lengths[i])", "w[i] / sum(w)", "softmax(u[i])[0]"];

struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |&x| usize::from(x)) % n
    }

    fn of<'s>(&mut self, all: &[&'s str]) -> &'s str {
        all[self.below(all.len())]
    }
}

/// The program that a string of choices stands for. A `long` one has vectors of which a wider range is enforced than is
/// declared.
pub fn program(choices: &[u8], long: bool) -> Generated {
    let mut c = Choices(choices.iter());
    let m = 2 + c.below(4);
    let n = if long { 300 } else { 1 + c.below(4) };
    let (values, number, other) = (c.of(&VALUES), c.of(&NUMBERS), c.of(&NUMBERS));
    let least = c.below(2);
    let mut body = String::new();
    let mut weight = c.of(&WEIGHTS).to_owned();
    if c.below(3) == 1 {
        weight = format!("({weight}) * ({})", c.of(&WEIGHTS));
    }
    let _ = writeln!(body, "    let w = [{weight} for i in Client];");
    let mean = c.of(&MEANS).replace("u[0]", "mean");
    let _ = writeln!(body, "    let a = {mean};");
    // Three times as many bits, four times, as many as there are.
    let after = match c.below(5) {
        0 => "a",
        1 => "a * a * a",
        2 => "[sum(a[e] * a[k] for k in n) * a[e] for e in n]",
        3 => "[sum(u[i, e] * a[e] * a[e] for i in Client) for e in n]",
        _ => "[(a[e] - mean[e]) * a[e] for e in n]",
    };
    let _ = writeln!(body, "    reveal {after} to Server as after;");
    if c.below(3) == 1 && !long {
        let part = c.of(&OTHERS);
        body += "    let like = [[cosine(u[i], u[j]) for j in Client] for i in Client];\n";
        body += "    let lengths = [sum(log_softmax(u[i])) / n for i in Client];\n";
        let value = match part {
            "like[i, j]" => "[sum(like[i, j]^3 * u[j] for j in Client) for i in Client]".into(),
            part => format!("[({part})^3 * u[i] for i in Client]"),
        };
        let _ = writeln!(body, "    reveal {value} to Server as other;");
    }
    let (model, given) = match long {
        true => (
            "model Row(x: fix[299]) -> fix[1] {\n    fc: linear[299, 1];\n    x |> fc\n}\n\n",
            format!(
                "    input all: secret weights Row in {values} from each Client;\n    \
                 let u = [flat(all[i]) for i in Client];\n"
            ),
        ),
        false => ("", format!("    input u: secret fix[n] in {values} from each Client;\n")),
    };
    let text = format!(
        "use std::{{abs, cosine, exp, flat, log_softmax, max, norm, relu, select, softmax, sum}};\n\n\
         {model}predicate Means[m, n]() {{\n    parties Client[m];\n    parties Server;\n\n{given}\
         \x20   input x: secret fix in {number} from each Client;\n\
         \x20   input y: secret fix in {other} from each Client;\n\
         \x20   input count: secret int in {least}..100 from each Client;\n\
         \x20   input g: public fix[n] in -8..8;\n\n\
         \x20   let mean = sum(u) / m;\n{body}}}\n"
    );
    let bindings = vec![("m".into(), m.to_string()), ("n".into(), n.to_string())];
    Generated { text, bindings }
}
