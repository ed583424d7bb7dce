//! Functions of `std` against their formulas, written out as plain loops: each on 20 inputs, half of which have ties. In floating
//! point they are equal up to its rounding. In the circuit's arithmetic every node keeps to the certificate, and what has no
//! rounding is equal, ties included; three parties keep to it for two inputs.

use super::intervals::Check;
use super::vectors::{dot, norm};
use slvr_runtime::share::encode::Inputs;
use slvr_tests::{Case, coarse_inputs, compile, random_inputs};

/// Random inputs that each formula is held against.
const INPUTS: u64 = 8;
/// Rows and columns of the matrix.
const ROWS: usize = 4;
const COLUMNS: usize = 3;

/// What the client gives.
struct Given {
    x: Vec<f64>,
    weight: Vec<f64>,
    bits: Vec<f64>,
    a: Vec<f64>,
    start: Vec<f64>,
}

impl Given {
    fn of(inputs: &Inputs) -> Given {
        let given = &inputs.sets[0][0];
        let of = |name: &str| given.get(name).map_or(Vec::new(), |t| t.data.to_f64());
        let [x, weight, bits, a, start] = ["x", "weight", "bits", "a", "start"].map(of);
        Given { x, weight, bits, a, start }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.a[i * COLUMNS..][..COLUMNS]
    }

    fn column(&self, j: usize) -> Vec<f64> {
        (0..ROWS).map(|i| self.row(i)[j]).collect()
    }

    fn pairs(&self, f: impl Fn(&[f64], &[f64]) -> f64) -> Vec<f64> {
        (0..ROWS * ROWS).map(|k| f(self.row(k / ROWS), self.row(k % ROWS))).collect()
    }
}

/// An expression of the inputs, its formula, how far floating point may be from that, and the circuit where no decision
/// is near.
type Line = (&'static str, fn(&Given) -> Vec<f64>, f64, f64);

/// What follows from sums and comparisons is exact where inputs are, which random ones with many digits are not.
const EXACT: f64 = 1e-9;
/// The values of the circuit have 16 bits.
const ROUNDED: f64 = 2e-3;

fn each(x: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
    x.iter().map(|&x| f(x)).collect()
}

/// Indices in ascending order of their entries.
fn order(x: &[f64]) -> Vec<usize> {
    let mut all: Vec<usize> = (0..x.len()).collect();
    all.sort_by(|&i, &j| x[i].total_cmp(&x[j]));
    all
}

fn middle(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    (x[(x.len() - 1) / 2] + x[x.len() / 2]) / 2.0
}

fn histogram(g: &Given) -> Vec<f64> {
    let mut bins = vec![0.0; 4];
    for x in g.x.iter().filter(|x| (-2.0..=2.0).contains(*x)) {
        bins[((x + 2.0) as usize).min(3)] += 1.0;
    }
    bins
}

/// Weights are put on in ascending order until they are half of all.
fn weighted_median(g: &Given) -> Vec<f64> {
    let half = g.weight.iter().sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let reached = |i: &usize| {
        sum += g.weight[*i];
        sum >= half
    };
    vec![g.x[order(&g.x).into_iter().find(reached).expect("half is reached")]]
}

/// How long the matrix makes the vector of length 1 that comes of four turns.
fn spectral_norm(g: &Given) -> Vec<f64> {
    let times = |v: &[f64]| -> Vec<f64> { (0..ROWS).map(|i| dot(g.row(i), v)).collect() };
    let mut v = g.start.clone();
    for _ in 0..4 {
        let turned = times(&v);
        v = (0..COLUMNS).map(|j| dot(&g.column(j), &turned)).collect();
        let size = norm(&v);
        v.iter_mut().for_each(|x| *x /= size);
    }
    vec![norm(&times(&v))]
}

fn geometric_median(g: &Given) -> Vec<f64> {
    let mut v: Vec<f64> = (0..COLUMNS).map(|j| g.column(j).iter().sum::<f64>() / 4.0).collect();
    for _ in 0..3 {
        let near = |i: usize| {
            let off: Vec<f64> = g.row(i).iter().zip(&v).map(|(a, b)| a - b).collect();
            1.0 / norm(&off).max(0.25)
        };
        let weights: Vec<f64> = (0..ROWS).map(near).collect();
        let total: f64 = weights.iter().sum();
        v = (0..COLUMNS).map(|j| dot(&g.column(j), &weights) / total).collect();
    }
    v
}

const STATISTICS: &[Line] = &[
    ("argsort(x)", |g| order(&g.x).into_iter().map(|i| i as f64).collect(), EXACT, EXACT),
    ("histogram[4](x, -2, 2)", histogram, EXACT, EXACT),
    (
        "cumulative_sum(x)",
        |g| (1..=g.x.len()).map(|n| g.x[..n].iter().sum()).collect(),
        EXACT,
        ROUNDED,
    ),
    (
        "majority(bits)",
        |g| vec![f64::from(u8::from(g.bits.iter().sum::<f64>() > 2.5))],
        EXACT,
        EXACT,
    ),
    ("weighted_median(x, weight)", weighted_median, EXACT, ROUNDED),
];

const MATRICES: &[Line] = &[
    (
        "distances(a)",
        |g| g.pairs(|a, b| norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())),
        EXACT,
        // The root of a small sum of squares that were rounded.
        0.02,
    ),
    (
        "column_mean(a)",
        |g| (0..COLUMNS).map(|j| g.column(j).iter().sum::<f64>() / 4.0).collect(),
        EXACT,
        ROUNDED,
    ),
    ("column_median(a)", |g| (0..COLUMNS).map(|j| middle(g.column(j))).collect(), EXACT, ROUNDED),
    (
        "row_norm(a)",
        |g| {
            let sizes = (0..ROWS).map(|i| g.row(i).iter().map(|x| x.abs()).sum());
            vec![sizes.fold(0.0, f64::max)]
        },
        EXACT,
        ROUNDED,
    ),
    (
        "column_norm(a)",
        |g| {
            let sizes = (0..COLUMNS).map(|j| g.column(j).iter().map(|x| x.abs()).sum());
            vec![sizes.fold(0.0, f64::max)]
        },
        EXACT,
        ROUNDED,
    ),
    ("geometric_median[3](a, 0.25)", geometric_median, EXACT, 0.02),
    ("transpose(a)", |g| (0..COLUMNS).flat_map(|j| g.column(j)).collect(), EXACT, ROUNDED),
];

/// They divide by lengths that may be 0, of which nothing is proven.
const DIRECTIONS: &[Line] = &[
    ("cosine_matrix(a)", |g| g.pairs(|a, b| dot(a, b) / (norm(a) * norm(b))), EXACT, ROUNDED),
    ("spectral_norm[4](a, start)", spectral_norm, 1e-6, 0.02),
];

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The part of a normal distribution that is below x, by Simpson's rule.
fn below(x: f64) -> f64 {
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let h = x / 200.0;
    let inner: f64 =
        (1..200).map(|k| density(k as f64 * h) * if k % 2 == 1 { 4.0 } else { 2.0 }).sum();
    0.5 + h / 3.0 * (density(0.0) + inner + density(x))
}

fn hard(x: f64) -> f64 {
    ((x + 3.0) / 6.0).clamp(0.0, 1.0)
}

const ACTIVATIONS: &[Line] = &[
    ("silu(x)", |g| each(&g.x, |x| x * sigmoid(x)), EXACT, ROUNDED),
    // A fit, of which is stated how good it is.
    ("gelu(x)", |g| each(&g.x, |x| x * below(x)), 4e-5, ROUNDED),
    (
        "gelu_tanh(x)",
        |g| {
            let inside = |x: f64| 0.797_884_560_802_865_4 * (x + 0.044715 * x.powi(3));
            each(&g.x, |x| x / 2.0 * (1.0 + inside(x).tanh()))
        },
        1e-5,
        ROUNDED,
    ),
    ("elu(x)", |g| each(&g.x, |x| if x > 0.0 { x } else { x.exp_m1() }), EXACT, ROUNDED),
    ("elu[0.5](x)", |g| each(&g.x, |x| if x > 0.0 { x } else { 0.5 * x.exp_m1() }), EXACT, ROUNDED),
    ("hardsigmoid(x)", |g| each(&g.x, hard), EXACT, ROUNDED),
    ("hardswish(x)", |g| each(&g.x, |x| x * hard(x)), EXACT, ROUNDED),
    ("softplus(x)", |g| each(&g.x, |x| x.exp().ln_1p()), EXACT, ROUNDED),
    (
        "log_softmax(x)",
        |g| {
            let total: f64 = g.x.iter().map(|x| x.exp()).sum();
            each(&g.x, |x| x - total.ln())
        },
        EXACT,
        ROUNDED,
    ),
];

fn compiled(lines: &[Line]) -> Case {
    let reveals = lines.iter().enumerate();
    let reveals =
        reveals.map(|(k, (value, ..))| format!("    reveal {value} to Server as y{k};\n"));
    let reveals: String = reveals.collect();
    let inputs = [
        ("x", "fix[5] in -6..6"),
        ("weight", "fix[5] in 0..4"),
        ("bits", "bit[5]"),
        ("a", "fix[4, 3] in -4..4"),
        // Not orthogonal to anything but by chance.
        ("start", "fix[3] in 0.5..1"),
    ];
    let declared = inputs.map(|(name, ty)| match reveals.contains(name) {
        true => format!("    input {name}: secret {ty} from Client;\n"),
        false => String::new(),
    });
    let names: Vec<&str> = lines.iter().filter_map(|l| l.0.split(['[', '(']).next()).collect();
    let names: std::collections::BTreeSet<&str> = names.into_iter().collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let text = format!(
        "use std::{{{names}}};\n\npredicate Formulas() {{\n    parties Client;\n    parties Server;\n\n{}\n{reveals}}}\n",
        declared.concat()
    );
    compile(&text, &[])
}

/// Holds all lines; `proven` says whether there is a certificate for inputs whose decisions are clear.
fn check(lines: &[Line], proven: bool) {
    let case = compiled(lines);
    let all = Check::new(&case, [0; 2]);
    let mut clear = 0;
    for seed in 0..INPUTS {
        let ties = seed % 2 == 0;
        let inputs = match ties {
            true => coarse_inputs(case.circuit(), seed),
            false => random_inputs(case.circuit(), seed, 1.0),
        };
        let given = Given::of(&inputs);
        let wanted: Vec<Vec<f64>> = lines.iter().map(|l| l.1(&given)).collect();
        let held = |how: &str, found: &[Vec<f64>], most: &dyn Fn(&Line) -> f64| {
            assert_eq!(found.len(), lines.len());
            for (line, (found, wanted)) in lines.iter().zip(found.iter().zip(&wanted)) {
                let what = format!("{}, {how}, seed {seed}", line.0);
                assert_eq!(found.len(), wanted.len(), "{what}");
                let off = found.iter().zip(wanted).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
                assert!(off <= most(line), "{what}: {found:?}, not {wanted:?}, off by {off}");
            }
        };
        held("floating point", &case.floating(&inputs, &[]), &|l| l.2);
        // Every node keeps to its interval, and, where decisions are clear, to its proven error.
        let decided = all.hold(&inputs, seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        clear += u64::from(decided);
        held("circuit", &case.circuit_clear(&inputs, &[], seed), &|l| l.3);
        if seed < 2 {
            all.among_parties(&inputs, seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
            let run = case.parties(&inputs, seed);
            let found: Vec<Vec<f64>> = run.outputs.into_iter().map(|o| o.values).collect();
            held("three parties", &found, &|l| l.3);
        }
    }
    assert_eq!(clear > 0, proven, "{clear} inputs have clear decisions");
}

#[test]
fn statistics_are_their_formulas() {
    check(STATISTICS, true);
}

#[test]
fn functions_of_matrices_are_their_formulas() {
    check(MATRICES, true);
    check(DIRECTIONS, false);
}

#[test]
fn activations_are_their_formulas() {
    check(ACTIVATIONS, true);
}
