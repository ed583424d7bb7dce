//! Functions and quotients where they saturate, under everything that passes rewrite: comparisons in both directions,
//! places and values of largest and smallest entries, sorts, ranks, medians, caps. A program has two values made of
//! functions of one number, quotients, factors and shifts, and a few of these uses. Inputs are the ends of their ranges,
//! 0, a unit, and numbers of few bits, so that equal values are equal in floating point.
//!
//! The graph has the program's values after every pass before scales, decisions to the bit where floating point tells them. A circuit of each family is no
//! further from the program than `certify` says for these inputs; a decision that is certified falls as in the program.
//!
//! The same holds where x, y, z and c are weights of one long vector, of which more is enforced than is declared: inputs are
//! then at the ends of what a run admits, too, and every pass keeps what the program makes of them.
//!
//! `SLVR_COUNT=100000 cargo test --release -p slvr-tests --test numbers saturation -- --nocapture` is the long run. It
//! begins at the program of number `SLVR_SEED`; a failing test prints the number of its program.

use crate::rounding::untold;
use slvr_compiler::analysis::guard;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::passes;
use slvr_compiler::pipeline::Options;
use slvr_compiler::report::given::OnInputs;
use slvr_compiler::types::eval::{self, Arithmetic};
use slvr_runtime::party::session;
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::long::{self, Seen, caught, choices, setting, shrunk};
use slvr_tests::{Case, attempt, coarse_inputs, committees, graph_inputs};

/// Values with an index `#`: of x, y, z in -R..R and c, a single one. `@` is a small positive constant.
const VALUES: [&str; 40] = [
    "x[#]",
    "exp(x[#])",
    "exp(8 * x[#])",
    "exp(-x[#])",
    "exp(x[#] - max(x))",
    "exp(8 * (x[#] - max(x)))",
    "exp(x[#] - max([x[#], y[#]]))",
    "log(x[#])",
    "log(x[#] * y[#])",
    "log(x[#] / 1024)",
    "log(abs(x[#]) + @)",
    "sqrt(x[#])",
    "sqrt(x[#] * y[#])",
    "2 * sqrt(x[#])",
    "tanh(x[#] / R)",
    "recip(x[#])",
    "recip(abs(x[#]))",
    "recip(abs(x[#]) + @)",
    "1 / x[#]^2",
    "x[#] / y[#]",
    "x[#] / abs(y[#])",
    "x[#] / (abs(y[#]) + @)",
    "x[#] / c",
    "x[#] / abs(c)",
    "x[#] / (abs(c) + @)",
    "abs(x[#]) / (abs(c) + @)",
    "x[#] / norm(y)",
    "x[#] / (norm(y) + @)",
    "x[#] / norm(x)",
    "x[#] / (y[#]^2 + @)",
    "x[#] / sqrt(abs(c) + @)",
    "x[#] / exp(c)",
    "x[#] / (exp(c) + @)",
    "x[#] / exp(y[#])",
    "exp(x[#]) / (abs(c) + @)",
    "x[#] / sum(exp(x))",
    "softmax(x)[#]",
    "softmax(8 * x)[#]",
    "softmax([x[#], y[#]])[0]",
    "x[#] * y[#]",
];

/// What is made of a value.
const AROUND: [&str; 7] = ["$", "$", "$", "3 * $", "-($)", "$ + c", "z[#] - $"];

/// Uses of the values V (all entries), v and w (one entry each), and b, a bound.
const USES: [&str; 30] = [
    "argmax(V)",
    "argmax(V) == 1",
    "max(V)",
    "min(V)",
    "sort(V)",
    "rank(V)",
    "top_k[1](V)",
    "top_k[2](V)",
    "median(V)",
    "[v < w for i in 3]",
    "[v <= w for i in 3]",
    "[v > w for i in 3]",
    "[v >= w for i in 3]",
    "[v < b for i in 3]",
    "[v <= b for i in 3]",
    "[v > b for i in 3]",
    "[v >= b for i in 3]",
    "max(V) < b",
    "max(V) >= b",
    "min(V) > b",
    "min(V) <= b",
    "[abs(v) < b for i in 3]",
    "[max([v, w]) for i in 3]",
    "[min([v, w]) for i in 3]",
    "[max([v, b]) for i in 3]",
    "[min([v, b]) for i in 3]",
    "[relu(v) for i in 3]",
    "[select(v < w, v, w) for i in 3]",
    "max(V) < min(W)",
    "V",
];

const BOUNDS: [&str; 11] = [
    "0",
    "0.5",
    "-1",
    "3",
    "10000000000",
    "-10000000000",
    "2147483648",
    "4294967296",
    "c",
    "(c * 1000000000)",
    "z[0]",
];

const SMALL: [&str; 4] = ["0.0000152587890625", "0.0009765625", "0.25", "1"];

const RANGES: [i64; 4] = [4, 1024, 1 << 20, 1 << 27];
/// Of long vectors: what is declared is within the ends of functions, what is enforced is not.
const LONG_RANGES: [i64; 4] = [1, 2, 4, 16];
/// Weights of a long vector: more than are compared one by one.
const LONG: usize = 300;

/// A program, the range of its inputs, and what it is made of.
struct Made {
    text: String,
    range: f64,
    what: Vec<String>,
}

/// The program that a string of choices stands for, or the one whose values are entries of a long vector of weights.
fn made(choices: &[u8], long: bool) -> Made {
    let mut rest = choices.iter();
    let mut pick = |n: usize| usize::from(rest.next().copied().unwrap_or(0)) % n;
    let ranges = if long { &LONG_RANGES } else { &RANGES };
    let range = ranges[pick(4)];
    let mut what = Vec::new();
    let mut value = |pick: &mut dyn FnMut(usize) -> usize| {
        let value = VALUES[pick(VALUES.len())];
        what.push(value.to_string());
        let value = value.replace('@', SMALL[pick(SMALL.len())]).replace('R', &range.to_string());
        AROUND[pick(AROUND.len())].replace('$', &value)
    };
    let v = value(&mut pick);
    // Often the same function of other operands.
    let w = match pick(2) {
        0 => v.replace("x[", "t[").replace("y[", "x[").replace("t[", "y["),
        _ => value(&mut pick),
    };
    let mut reveals = String::new();
    for r in 0..2 {
        let form = USES[pick(USES.len())];
        what.push(form.to_string());
        let bound = BOUNDS[pick(BOUNDS.len())];
        let mut text = String::new();
        for c in form.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
            let end = c.len()
                - c.chars().last().filter(|c| !c.is_alphanumeric()).map_or(0, char::len_utf8);
            let (word, mark) = c.split_at(end);
            text += &match word {
                "V" => format!("[{} for i in 3]", v.replace('#', "i")),
                "W" => format!("[{} for i in 3]", w.replace('#', "i")),
                "v" => format!("({})", v.replace('#', "i")),
                "w" => format!("({})", w.replace('#', "i")),
                "b" => bound.to_string(),
                word => word.to_string(),
            };
            text += mark;
        }
        reveals += &format!("    reveal {text} to Server as r{r};\n");
    }
    let (model, inputs) = if long {
        let model = format!(
            "model Row(x: fix[{n}]) -> fix[1] {{\n    fc: linear[{n}, 1];\n    x |> fc\n}}\n",
            n = LONG - 1
        );
        let part = |(k, name): (usize, &&str)| {
            format!("    let {name} = [u[i + {}] for i in 3];\n", 3 * k)
        };
        let parts: String = ["x", "y", "z"].iter().enumerate().map(part).collect();
        let all = format!("    input all: secret weights Row in -{range}..{range} from Server;\n");
        (model, format!("{all}    let u = flat(all);\n{parts}    let c = u[9];\n"))
    } else {
        let one = |name: &&str| {
            format!("    input {name}: secret fix[3] in -{range}..{range} from Server;\n")
        };
        let all: String = ["x", "y", "z"].iter().map(one).collect();
        let last = format!("    input c: secret fix in -{range}..{range} from Server;\n");
        (String::new(), all + &last)
    };
    let text = format!(
        "use std::{{abs, argmax, exp, flat, log, max, median, min, norm, rank, recip, relu, select, softmax, sort, sqrt, sum, \
         tanh, top_k}};
{model}predicate Ends() {{
    parties Server;
{inputs}{reveals}}}
"
    );
    Made { text, range: range as f64, what }
}

/// As [`slvr_tests::compile_with`], or what the compiler says against the program.
fn compiled(text: &str, how: Options) -> Result<Case, String> {
    attempt(text, &[], how).map_err(|why| why.text())
}

fn inputs(case: &Case, range: f64, choices: &[u8], seed: u64) -> Inputs {
    let mut inputs = coarse_inputs(case.circuit(), seed);
    let unit = 1.0 / 65536.0;
    let known = [
        0.0,
        unit,
        1.0,
        range,
        0.5,
        2.0,
        3.0 * unit,
        range / 2.0,
        1.5,
        1.0 / 1024.0,
        4.0,
        range - 1.0,
        12.0,
        20.5,
        0.0,
        0.0,
    ];
    let mut rest = choices.iter().cycle().skip(seed as usize * 7);
    // Some are all alike.
    let alike = seed == 1;
    for name in ["x", "y", "z", "c"] {
        let Some(tensor) = inputs.sets[0][0].get_mut(name) else { continue };
        let RawData::F64(data) = &mut tensor.data else { continue };
        let mut last = 0.0;
        for (i, x) in data.iter_mut().enumerate() {
            let pick = usize::from(rest.next().copied().unwrap_or(0));
            let value = known[pick % known.len()].min(range);
            let value = if pick / 16 % 3 == 2 { -value } else { value };
            *x = if alike && i > 0 { last } else { value };
            last = *x;
        }
    }
    inputs
}

#[derive(Default)]
struct Tally {
    programs: u64,
    refused: u64,
    outputs: u64,
    /// Outputs of which something is proven.
    known: u64,
    /// Runs that floating point does not decide.
    untold: u64,
    seen: Seen,
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs())) || a == b
}

/// Every pass keeps what the program makes of the inputs, as far as floating point tells it: whether it does. If not, after
/// which one it is something else.
fn kept_by_passes(case: &Case, inputs: &Inputs, want: &[Vec<f64>]) -> Result<bool, String> {
    let given = graph_inputs(inputs);
    let (mut wrong, mut told) = (None, true);
    let see = |pass: &passes::Pass, graph: &slvr_compiler::graph::Graph| {
        let found = case.graph_real(graph, inputs, &[]);
        let all = found.iter().flatten().zip(want.iter().flatten());
        if wrong.is_none() && told && !all.clone().all(|(a, b)| near(*a, *b)) {
            told = !untold(graph, &given) && !untold(&case.compiled.graph, &given);
            wrong = Some(format!("after {}: {found:?} instead of {want:?}", pass.name));
        }
    };
    passes::unscaled(&case.compiled.graph, see);
    wrong.filter(|_| told).map_or(Ok(told), Err)
}

fn check(choices: &[u8], tally: &mut Tally) -> Result<(), String> {
    let Made { text, range, what } = made(choices, false);
    tally.programs += 1;
    what.iter().for_each(|part| tally.seen.add(part));
    for target in [Options::default().target, Target::SemiHonest(Family::T1)] {
        let case = match compiled(&text, Options { target, ..Options::default() }) {
            Ok(case) => case,
            // Too large for any word.
            Err(_) => {
                tally.refused += 1;
                return Ok(());
            }
        };
        for seed in 0..4 {
            let inputs = inputs(&case, range, choices, seed);
            let about = || format!("{:?}, {target:?}\n{text}", inputs.sets[0][0]);
            let want = case.floating(&inputs, &[]);
            if target == Target::SemiHonest(Family::T1) {
                let told = kept_by_passes(&case, &inputs, &want);
                tally.untold += u64::from(!told.map_err(|why| format!("{why}, {}", about()))?);
            }
            let draw = committees(&[]);
            let found = OnInputs::of(&case.compiled, &[], &graph_inputs(&inputs), &draw);
            let found = found.map_err(|e| e.to_string())?;
            let run = case.circuit_clear(&inputs, &[], 7 + seed);
            for ((run, want), known) in run.iter().zip(&want).zip(&found.certificate.reveals) {
                tally.outputs += 1;
                tally.known += u64::from(known.off < 0.5);
                for (y, x) in run.iter().zip(want) {
                    if (x - y).abs() > known.off + 1e-9 * (1.0 + x.abs()) {
                        if untold(&case.compiled.graph, &graph_inputs(&inputs)) {
                            tally.untold += 1;
                            continue;
                        }
                        let (name, off) = (&known.name, known.off);
                        return Err(format!(
                            "`{name}` is {run:?} for {want:?}, bound {off}, {}",
                            about()
                        ));
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn what_saturates_is_decided_as_the_program_says() {
    let count = slvr_tests::long::count(80);
    let first = setting("SLVR_SEED").unwrap_or(0);
    let of = |seed: u64| choices(seed, 24, 60);
    let mut tally = Tally::default();
    let fails = |c: &[u8]| caught(|| check(c, &mut Tally::default())).is_err();
    let smaller = |seed: u64| {
        let small = shrunk(&of(seed), fails);
        let why = caught(|| check(&small, &mut Tally::default())).err().unwrap_or_default();
        format!("{why}\n{}", made(&small, false).text)
    };
    long::run("saturation", first..first + count, |seed| check(&of(seed), &mut tally), smaller);
    let Tally { programs, refused, outputs, known, untold, seen } = tally;
    println!(
        "{programs} programs, {refused} refused, {known} of {outputs} outputs are known, {untold} runs are not decided \
         in floating point; {seen}"
    );
    // A test of nothing holds as well.
    assert!(
        refused * 2 < programs && known * 2 > outputs && untold <= 2 + programs / 100,
        "{refused} of {programs}, {known} of {outputs}, {untold}"
    );
}

/// Long vectors with what a run admits at the places of x, y, z and c: every pass keeps what the program makes of them.
fn check_long(choices: &[u8], tally: &mut Tally) -> Result<(), String> {
    let Made { text, range, .. } = made(choices, true);
    let Ok(case) = compiled(&text, Options::default()) else { return Ok(()) };
    tally.programs += 1;
    // No entry of what passes is longer than that.
    let optimised = &case.compiled.optimised;
    let bounds = guard::bounds(optimised, &case.compiled.guards);
    let most = bounds[0].range.1 / optimised.input_scale(&optimised.inputs[0]);
    let mut rest = choices.iter().cycle();
    for seed in 0..6 {
        let known =
            [0.0, range, 1.5 * range, most / 4.0, most / 2.0, most, 21.0, 22.5, 25.0, -12.5, 1e-4];
        let mut inputs = coarse_inputs(case.circuit(), seed);
        let Some(tensor) = inputs.sets[0][0].get_mut("all") else { return Ok(()) };
        let RawData::F64(data) = &mut tensor.data else { return Ok(()) };
        data.fill(0.0);
        for x in data.iter_mut().take(10) {
            let pick = usize::from(rest.next().copied().unwrap_or(0));
            let value = known[(pick + seed as usize) % known.len()].clamp(-most, most);
            // As inputs are encoded.
            let value = (value * 65536.0).trunc() / 65536.0;
            *x = if pick / 16 % 4 == 3 { -value } else { value };
        }
        // The graph as it was built takes what the program does not.
        let want = case.graph_real(&case.compiled.graph, &inputs, &[]);
        match kept_by_passes(&case, &inputs, &want) {
            Ok(told) => tally.untold += u64::from(!told),
            Err(wrong) => {
                let RawData::F64(data) = &inputs.sets[0][0]["all"].data else { return Ok(()) };
                return Err(format!("{wrong}, {:?}\n{text}", &data[..10]));
            }
        }
    }
    Ok(())
}

#[test]
fn what_saturates_beyond_the_declared_range_is_decided_as_the_program_says() {
    let count = slvr_tests::long::count(24);
    let first = setting("SLVR_SEED").unwrap_or(0);
    let of = |seed: u64| choices(seed, 24, 60);
    let mut tally = Tally::default();
    let again = |c: &[u8]| caught(|| check_long(c, &mut Tally::default()));
    let smaller = |seed: u64| {
        let small = shrunk(&of(seed), |c| again(c).is_err());
        again(&small).err().unwrap_or_default()
    };
    long::run(
        "long saturation",
        first..first + count,
        |seed| check_long(&of(seed), &mut tally),
        smaller,
    );
    let Tally { programs, untold, .. } = tally;
    println!(
        "{programs} of {count} programs of long vectors, {untold} runs are not decided in floating point"
    );
    assert!(
        programs * 2 > count && untold <= 2 + programs / 100,
        "{programs} of {count}, {untold}"
    );
}

/// Exponentials that are cut are equal, so the first is the largest: also of weights that are declared to be too small to be cut, of
/// which a client has submitted others and is admitted.
#[test]
fn equal_exponentials_of_weights_beyond_their_range_have_the_first_place() {
    let text = "use std::{argmax, exp, flat};
model Row(x: fix[299]) -> fix[1] {
    fc: linear[299, 1];
    x |> fc
}
predicate Ends() {
    parties Server;
    input all: secret weights Row in -2..2 from Server;
    let u = flat(all);
    reveal argmax([exp(8 * u[i]) for i in 3]) to Server as place;
}
";
    for target in [Options::default().target, Target::SemiHonest(Family::T1)] {
        let how = Options { target, ..Options::default() };
        let case = compiled(text, how).expect("a program that compiles");
        let mut inputs = coarse_inputs(case.circuit(), 1);
        let tensor = inputs.sets[0][0].get_mut("all").expect("weights");
        let RawData::F64(data) = &mut tensor.data else { panic!("weights are reals") };
        data.fill(0.0);
        // Of what is declared to be within 2 all within 6 is admitted, however it is enforced.
        data[..3].copy_from_slice(&[2.75, 3.0, 5.0]);
        let built = case.graph_real(&case.compiled.graph, &inputs, &[]);
        assert_eq!(built, [[0.0]]);
        let options = session::Options {
            seed: Some(1),
            submit_unchecked: true,
            ..session::Options::default()
        };
        let run = session::run_local(case.circuit(), &inputs, &options).expect("a run");
        assert!(run.replaced.is_empty(), "the client is admitted");
        assert_eq!(run.outputs[0].values, [0.0], "{target:?}");
    }
}

/// What the book says of the ends, and that nothing is cut in the arithmetic of IEEE 754.
#[test]
fn every_function_ends_where_the_book_says() {
    let text = "use std::{exp, log, recip, sqrt};
predicate Ends() {
    parties Server;
    input x: secret fix[9] in -64..64 from Server;
    reveal exp(x) to Server as a;
    reveal log(x) to Server as b;
    reveal sqrt(x) to Server as c;
    reveal recip(x) to Server as d;
    reveal [64 / (x[i] * x[i]) for i in 9] to Server as e;
}
";
    let case = compiled(text, Options::default()).expect("a program that compiles");
    let tiny = (-17f64).exp2();
    let x = vec![-12.0, 29.0, 20.0, 0.0, tiny, 2.0 * tiny, -1.0, 4.0, -tiny];
    let draw = |_: &slvr_circuit::Lots| Vec::new();
    let tensor = eval::Tensor::vector(x.clone());
    let given = eval::EvalInputs {
        sets: vec![vec![[("x".to_string(), tensor)].into()]],
        ..eval::EvalInputs::default()
    };
    let ln2 = std::f64::consts::LN_2;
    let end = 31f64.exp2();
    let ieee: [&dyn Fn(f64) -> f64; 5] =
        [&f64::exp, &f64::ln, &f64::sqrt, &|x| 1.0 / x, &|x| 64.0 / (x * x)];
    let total: [&dyn Fn(f64) -> f64; 5] = [
        &|x| {
            if x < -11.875 {
                0.0
            } else if x > 29.0 * ln2 {
                29f64.exp2()
            } else {
                x.exp()
            }
        },
        &|x| if x < 2.0 * tiny { -17.0 * ln2 } else { x.ln() },
        &|x| if x < 0.0 { 0.0 } else { x.sqrt() },
        &|x| if x == 0.0 { end } else { 1.0 / x },
        &|x| if x == 0.0 { end } else { (64.0 / (x * x)).min(end) },
    ];
    for (arithmetic, functions) in [(Arithmetic::Ieee, ieee), (Arithmetic::Total, total)] {
        let found = eval::trace_with(&case.program, &given, &draw, arithmetic).expect("a value");
        for ((name, tensor), f) in found.reveals.iter().zip(functions) {
            let wanted: Vec<f64> = x.iter().map(|&x| f(x)).collect();
            let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
            let all = tensor.data.iter().zip(&wanted).all(same);
            assert!(all, "{name}, {arithmetic:?}: {:?} instead of {wanted:?}", tensor.data);
        }
    }
}
