//! What is below its own maximum: differences `x[i] - max(x)`, exponentials of them and a softmax that is written by hand, of
//! roots, quotients and other functions. Passes move maxima towards what functions are taken of; whatever they do, intervals,
//! errors and decisions hold at every node, as in [`super::intervals`], also where all entries are equal or nearly so.
//!
//! `SLVR_COUNT=100000 cargo test --release -p slvr-tests --test end_to_end below_its_largest` is the long run. It begins at
//! the program of number `SLVR_SEED`, and a failing test prints the number of its program.

use super::intervals::{Check, Tally, compiled, families};
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::generate::Generated;
use slvr_tests::long::{self, caught, choices, shrunk};
use slvr_tests::{Random, random_inputs};

/// Values with an index `#`, of x and y; c is a single number.
const VALUES: [&str; 12] = [
    "sqrt(x[#])",
    "sqrt(abs(x[#]) + 1)",
    "3 * sqrt(x[#] * x[#] + y[#] * y[#])",
    "norm([x[#], y[#]])",
    "sqrt(x[#]) / (abs(c) + 0.5)",
    "-sqrt(abs(x[#]))",
    "x[#] / (abs(c) + 0.25)",
    "x[#] / (abs(y[#]) + 1)",
    "recip(abs(x[#]) + 0.25)",
    "log(abs(x[#]) + 0.001)",
    "tanh(x[#])",
    "sqrt(x[#]) + y[#]",
];

/// Ranges of x and y.
const RANGES: [&str; 6] = ["0..1", "-1..1", "-0.01..0.01", "0..100", "-1000..1000", "0..1000000"];

/// What is made of values `v`, of the differences `d`, and of w, another value.
const USES: [&str; 8] = [
    "[exp(d[i]) for i in n]",
    "[exp(2 * d[i]) for i in n]",
    "[exp(d[i] / 8) for i in n]",
    "sum([exp(d[i]) for i in n])",
    "[exp(d[i]) / sum([exp(d[j]) for j in n]) for i in n]",
    "softmax(v)",
    "max(softmax(v))",
    "log_softmax(v)",
];

fn made(choices: &[u8]) -> Generated {
    let mut rest = choices.iter();
    let mut pick =
        |all: &[&str]| all[usize::from(rest.next().copied().unwrap_or(0)) % all.len()].to_string();
    let (value, range, other) = (pick(&VALUES), pick(&RANGES), pick(&RANGES));
    let (one, two) = (pick(&USES), pick(&USES));
    let n = pick(&["3", "2", "5"]);
    let value = value.replace('#', "i");
    let text = format!(
        "use std::{{abs, exp, log, log_softmax, max, norm, recip, softmax, sqrt, sum, tanh}};

predicate Largest[n]() {{
    parties Server;
    input x: secret fix[n] in {range} from Server;
    input y: secret fix[n] in {other} from Server;
    input c: secret fix in -4..4 from Server;
    let v = [{value} for i in n];
    let d = [v[i] - max(v) for i in n];
    reveal d to Server as below;
    reveal {one} to Server as one;
    reveal {two} to Server as two;
}}
"
    );
    Generated { text, bindings: vec![("n".into(), n)] }
}

/// All entries equal, or a few units apart: then functions of them differ by what they are off alone.
fn alike(inputs: &mut Inputs, random: &mut Random) {
    for name in ["x", "y"] {
        let Some(tensor) = inputs.sets[0][0].get_mut(name) else { continue };
        let RawData::F64(data) = &mut tensor.data else { continue };
        let (first, most) = (data[0], data.iter().fold(0.0f64, |m, x| m.max(x.abs())));
        for x in data.iter_mut() {
            let step = (3.0 * random.unit()).floor() / 65536.0;
            *x = (first - step.copysign(first)).clamp(-most, most);
        }
    }
}

fn check(choices: &[u8], seed: u64, tally: &mut Tally) -> Result<(), String> {
    tally.programs += 1;
    let how = families()[seed as usize % 3];
    let Some(case) = compiled(&made(choices), how, &mut tally.refused)? else { return Ok(()) };
    let check = Check::new(&case, [seed.into(), 3]);
    let mut random = Random::new(seed);
    for k in 0..12 {
        let mut inputs = random_inputs(case.circuit(), 16 * seed + k, 1.0);
        if k % 4 != 0 {
            alike(&mut inputs, &mut random);
        }
        match check.hold(&inputs, k)? {
            true => tally.clear += 1,
            false => tally.unclear += 1,
        }
    }
    Ok(())
}

#[test]
fn what_is_below_its_largest_entry_keeps_to_its_bounds() {
    let numbers = long::slice(24);
    let count = numbers.end - numbers.start;
    let of = |seed: u64| choices(seed, 6, 6);
    let mut tally = Tally::default();
    let smaller = |seed: u64| {
        let fails = |c: &[u8]| caught(|| check(c, seed, &mut Tally::default()));
        let least = shrunk(&of(seed), |c| fails(c).is_err());
        let why = fails(&least).err().unwrap_or_else(|| "it holds if it is tried again".into());
        format!("{why}\n{}", made(&least).text)
    };
    long::run("largest", numbers, |seed| check(&of(seed), seed, &mut tally), smaller);
    let Tally { programs, refused, clear, unclear, .. } = tally;
    println!(
        "{programs} made, {refused} refused, {clear} runs with clear decisions, {unclear} others"
    );
    assert!(count < 8 || clear > 0, "some runs decide clearly");
    assert!(refused * 4 <= programs, "most of these programs compile");
}
