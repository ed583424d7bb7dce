//! Every function that circuits compute, on many operands in the clear, against its exact value: no error is larger
//! than what is stated of it, and what is stated is not much larger than the errors that there are.
//!
//! The first operands are beside the places where the function or its tables change. Half of the others are those
//! of an interval in which the function does something, in an order that meets each of them once before it meets one
//! again. The rest are of all sizes in the declared range, its ends included. Every batch splits its operands anew,
//! so that operands that come again have other carries.
//!
//! A few thousand operands of each row run in the tests. For the long run:
//!
//! ```sh
//! SLVR_COUNT=100000000 cargo test --release -p slvr-tests --test operands -- --nocapture
//! ```
//!
//! It prints a table, row by row. `SLVR_ONLY=tanh,div` runs the rows of these functions, `SLVR_ONLY=T2` those of a
//! family, `"SLVR_ONLY=recip T2 1..16"` one row. `SLVR_SEED` begins elsewhere.

mod rows;

use rows::{Bound, Row, Shape, rows};
use slvr_circuit::{Encoding, low_mask};
use slvr_compiler::analysis::errors::{errors, input_errors};
use slvr_compiler::analysis::stated::Stated;
use slvr_ring::Data;
use slvr_runtime::clear;
use slvr_tests::{Case, compile_with};
use std::time::Instant;

// Tensors of megabytes come and go with every instruction.
use slvr_allocator as _;

/// Operands of each row in the tests.
const FEW: u64 = 1 << 11;

/// A single function is not stated to be off by more than so many times what was found.
const SLACK: f64 = 50.0;

/// A fast source of numbers (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below n.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A number of a range: of any number of bits, of either sign, or near an end.
    fn spread(&mut self, (lo, hi): (i64, i64)) -> i64 {
        let near = self.below(64) as i64;
        match self.below(16) {
            0 => (lo + near).min(hi),
            1 => (hi - near).max(lo),
            2 => near.clamp(lo, hi),
            3 => (-near).clamp(lo, hi),
            _ => {
                let most = lo.unsigned_abs().max(hi.unsigned_abs()).max(1);
                let bits = self.below(u64::from(most.ilog2()) + 2);
                let size = ((1u64 << bits) >> 1) + self.below((1 << bits) >> 1);
                let size = size.min(most) as i64;
                let signed = if self.next() & 1 == 1 { -size } else { size };
                if (lo..=hi).contains(&signed) {
                    return signed;
                }
                if (lo..=hi).contains(&-signed) {
                    return -signed;
                }
                lo + self.below((hi - lo) as u64 + 1) as i64
            }
        }
    }
}

/// The operands of a row, as raw numbers: of one input, or of two.
struct Operands {
    ranges: Vec<(i64, i64)>,
    /// Where the function does something: first number, and how many.
    core: (i64, u64),
    /// What the last operand is first.
    edges: Vec<i64>,
    /// Whether all but the last are 0 in the core.
    alone: bool,
    numbers: Numbers,
    at: u64,
}

impl Operands {
    fn next(&mut self) -> Vec<i64> {
        let at = self.at;
        self.at += 1;
        let mut all: Vec<i64> = self.ranges.iter().map(|&r| self.numbers.spread(r)).collect();
        let last = all.len() - 1;
        if let Some(&edge) = self.edges.get(at as usize) {
            all[last] = edge;
        } else if at.is_multiple_of(2) {
            // A prime: it meets every number once before it meets one again.
            let step = u128::from(at / 2) * 2_654_435_761;
            if self.alone {
                all.fill(0);
            }
            all[last] = self.core.0 + (step % u128::from(self.core.1)) as i64;
        }
        all
    }

    /// Whether so many operands were all of the core.
    fn exhaustive(&self) -> bool {
        self.at.saturating_sub(self.edges.len() as u64) / 2 >= self.core.1
    }
}

/// The worst operand of a row.
#[derive(Clone, Default)]
struct Worst {
    /// Of the largest allowed error.
    ratio: f64,
    /// In units of the last place, and what is allowed.
    error: f64,
    allowed: f64,
    operands: Vec<f64>,
}

/// A compiled row.
struct Made {
    case: Case,
    /// Of the operands, and of the result.
    operand: f64,
    unit: f64,
    bound: Limit,
}

/// What an error is held against.
enum Limit {
    Stated(Stated),
    /// Of all operands, in reals.
    Proven(f64),
}

fn made(row: &Row, n: u64) -> Made {
    let case = compile_with(&row.text(), &[("n", &n.to_string())], row.options());
    let graph = &case.compiled.optimised;
    let found: Vec<_> = graph.ids().filter(|&id| graph.op(id).name() == row.op).collect();
    assert!(!found.is_empty(), "{}: no operation {}", row.name, row.op);
    row.is_of_its_family(&case);
    let unit_of = |frac: Option<u32>| (-f64::from(frac.unwrap_or(0))).exp2();
    let compiled = &case.compiled;
    let (unit, bound) = match row.bound {
        Bound::Stated(of) => {
            assert_eq!(found.len(), 1, "{}: one operation", row.name);
            // Powers of two that go into a root or a quotient come out of its result.
            (unit_of(graph.ty(graph.outputs[0].node).frac), Limit::Stated(of(&compiled.stated)))
        }
        Bound::Proven => {
            let given = input_errors(graph, &compiled.guards);
            let errors = errors(graph, &compiled.ranges.raw, &given, &compiled.stated);
            assert!(errors.assumed.is_empty(), "{}: assumes nothing", row.name);
            let proven = errors.output(graph, 0);
            (unit_of(graph.ty(graph.outputs[0].node).frac), Limit::Proven(proven))
        }
    };
    let mut units = case.circuit().inputs.iter().map(|input| match input.encoding {
        Encoding::Fixed { frac, .. } => unit_of(Some(frac)),
        Encoding::Int { .. } | Encoding::OneHot { .. } => 1.0,
    });
    let operand = units.next().expect("an input");
    assert!(units.all(|unit| unit == operand), "{}: operands of one unit", row.name);
    let bits = -operand.log2();
    // A variance has 26.
    let expected = if row.fine { 17.0..=26.0 } else { 16.0..=16.0 };
    assert!(expected.contains(&bits), "{} {}: {bits} fraction bits", row.name, row.operand());
    Made { operand, unit, bound, case }
}

/// One batch: what is further from its exact value than any before, if anything is.
fn batch(row: &Row, made: &Made, operands: &mut Operands, n: u64, seed: u64, worst: &mut Worst) {
    let circuit = made.case.circuit();
    let all: Vec<Vec<i64>> = (0..n).map(|_| operands.next()).collect();
    let inputs = circuit.inputs.iter().map(|input| {
        let ty = circuit.ty(input.value);
        let (columns, mask) = (row.columns(&input.name), low_mask(ty.bits()));
        let raw = all.iter().flat_map(|x| &x[columns.clone()]);
        let words: Vec<u128> = raw.map(|&x| i128::from(x) as u128 & mask).collect();
        Data::from_u128s(ty.dom, &words)
    });
    let options = clear::Options { seed, ..clear::Options::default() };
    let run = clear::evaluate(circuit, inputs.collect(), &options).expect("in the clear");
    let found = &run.outputs[0].values;
    let entries = found.len() / all.len();
    for (i, &y) in found.iter().enumerate() {
        let x: Vec<f64> = all[i / entries].iter().map(|&x| x as f64 * made.operand).collect();
        let exact = (row.exact)(&x, i % entries);
        let error = (y - exact).abs();
        let allowed = match made.bound {
            Limit::Stated(stated) => stated.of(exact / made.unit) * made.unit,
            Limit::Proven(proven) => proven,
        };
        let ratio = error / allowed;
        if ratio > worst.ratio || !ratio.is_finite() {
            let (error, allowed) = (error / made.unit, allowed / made.unit);
            *worst = Worst { ratio, error, allowed, operands: x };
        }
    }
}

#[test]
fn no_function_is_further_from_its_exact_value_than_is_stated_of_it() {
    let long = slvr_tests::long::setting("SLVR_COUNT");
    let seed = slvr_tests::long::setting("SLVR_SEED").unwrap_or(1);
    let only = std::env::var("SLVR_ONLY").unwrap_or_default();
    let count = long.unwrap_or(FEW);
    println!("seed {seed}, at least {count} operands of each row");
    println!(
        "| function | family | operand | ring | operands | all of the core | largest error, ulp | allowed, ulp | ratio | at | s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut wrong = Vec::new();
    let name = |row: &Row| format!("{} {} {}", row.name, row.how(), row.operand());
    // The name of a row may have a comma.
    let one = rows().iter().any(|row| name(row) == only);
    let named = |row: &Row| match one {
        true => name(row) == only,
        false => only.is_empty() || only.split(',').any(|part| name(row).contains(part)),
    };
    let tried: Vec<Row> = rows().into_iter().filter(named).collect();
    assert!(!tried.is_empty(), "SLVR_ONLY={only}: no row has that name");
    for row in tried {
        let n = row.batch().min(count);
        let batches = count.div_ceil(n);
        let made = made(&row, n);
        let mut operands = Operands {
            ranges: row.ranges(made.operand),
            core: row.core(made.operand),
            edges: row.beside_edges(made.operand),
            alone: row.shape == Shape::Pairs,
            numbers: Numbers(seed),
            at: 0,
        };
        let (begun, mut worst) = (Instant::now(), Worst::default());
        for b in 0..batches {
            batch(&row, &made, &mut operands, n, seed << 32 | b, &mut worst);
        }
        let Worst { ratio, error, allowed, operands: at } = &worst;
        let line = format!(
            "| `{}` | {} | {} | {} | {} | {} | {error:.3} | {allowed:.3} | {ratio:.3} | {at:?} | {:.1} |",
            row.name,
            row.how(),
            row.operand(),
            made.case.circuit().outputs[0].ring,
            operands.at,
            if operands.exhaustive() { "yes" } else { "no" },
            begun.elapsed().as_secs_f64(),
        );
        println!("{line}");
        let single = matches!(made.bound, Limit::Stated(_));
        let least = if single { 1.0 / SLACK } else { 0.0 };
        if !(least..=1.0).contains(ratio) {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "seed {seed}, not as stated:\n{}", wrong.join("\n"));
}
