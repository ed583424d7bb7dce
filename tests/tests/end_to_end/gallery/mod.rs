//! The checks of the gallery, each against its formula written out in plain Rust: the program in floating point on a
//! few random inputs, and three parties on fewer of them.
//!
//! The same on as many inputs at each of several spreads over the declared ranges. There many runs are ties: a loss of 0 for
//! several clients, or none that is chosen. The rule is: where a comparison of the program is so near its threshold that
//! floating point may round it to either side, program and formula may choose otherwise; everywhere else they agree.
//! And the circuit keeps to its certificate: it decides as the program does beyond the stated margins, and is then
//! within the stated error.
//!
//! Two certificates are held: what is proven for all inputs in their ranges promises nothing for some checks, whose
//! quotients and roots are proven for the worst of all models. What is proven for the inputs of a run (`slvrc certify`)
//! is useful in some runs of every check: within [`USEFUL`] of the largest entry that is revealed.

mod aggregators;
mod scores;
mod statistics;
mod ties;

use super::intervals::Check;
use super::vectors::{dot, norm, times};
use slvr_compiler::analysis::cuts;
use slvr_compiler::diagnostic::render::render;
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::syntax::embedded;
use slvr_compiler::{pipeline, types};
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::agree::{close, hold};
use slvr_tests::long::part;
use slvr_tests::{Case, compile, keep_in_range, random_inputs};

use statistics::cosine;
use std::cell::Cell;

type Vector = Vec<f64>;

/// Random inputs that each reference is held against with `SLVR_EFFORT=full`.
const INPUTS: u64 = 20;

/// How many of them every day takes.
fn seeds() -> u64 {
    part(6, INPUTS)
}

/// How many of them three parties run.
const RUNS: u64 = 3;

/// Parts of the declared ranges; beyond 1 most numbers are at an end of theirs.
pub(super) const SPREADS: [f64; 4] = [0.01, 0.3, 1.0, 3.0];

const MODEL: (&str, &str) = ("M", "Mlp[4, 3, 2]");

/// A bound is useful if it is at most this part of the largest entry of what is revealed.
const USEFUL: f64 = 1.0 / 64.0;

/// Checks of which no run has a useful bound, with a size for which that is so, and why.
const NEVER_PROVEN: &[(&str, (&str, &str), &str)] = &[
    (
        "bulyan",
        ("f", "2"),
        "in the last pick a score is the distance to one neighbour, which is as large for the neighbour: of the two that \
         are nearest to each other either may be picked",
    ),
    (
        "flame",
        ("m", "7"),
        "the smallest step by which a client is in a majority is one of the steps that it is compared with: a \
         comparison of a number with itself, which a bound on both sides leaves in doubt",
    ),
    (
        "smallest_eigenvalue",
        ("m", "5"),
        "the least eigenvalue is one of those that it is compared with, as with flame",
    ),
    (
        "covariance_filter",
        ("m", "6"),
        "bounds of quotients, of which each step makes some, multiply from step to step",
    ),
];

/// What is proven of some runs.
#[derive(Default)]
pub(super) struct Proven {
    runs: u64,
    /// Usefully for all inputs.
    stated: u64,
    /// Usefully for the inputs of the run.
    given: u64,
    /// The smallest bound for the inputs of a run, as a part of the largest entry, and what is in doubt there.
    least: Option<(f64, Vec<String>)>,
}

impl Proven {
    /// One more run, which has to keep to what is proven for its inputs.
    pub(super) fn see(&mut self, of: &Check<'_>, inputs: &Inputs, seed: u64) -> Result<(), String> {
        let (part, in_doubt) = of.given(inputs, seed)?;
        self.runs += 1;
        self.given += u64::from(part <= USEFUL);
        if self.least.as_ref().is_none_or(|(least, _)| part < *least) {
            self.least = Some((part, in_doubt));
        }
        Ok(())
    }

    /// What is proven for all inputs counts for a run, as its decisions are clear.
    pub(super) fn clear(&mut self, of: &Check<'_>, inputs: &Inputs) {
        self.stated += u64::from(of.stated(inputs) <= USEFUL);
    }

    /// Something useful is proven of some run, for all inputs or for its own.
    pub(super) fn is_useful(&self) -> bool {
        self.stated + self.given > 0
    }
}

impl std::fmt::Display for Proven {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Proven { runs, stated, given, least } = self;
        write!(
            f,
            "of {runs} runs {stated} have useful bounds for all inputs, {given} for their own"
        )?;
        let Some((least, in_doubt)) = least else { return Ok(()) };
        write!(f, ", at best 2^{:.1}; there {}", least.log2(), in_doubt.join(", "))
    }
}

fn text(name: &str) -> &'static str {
    let file = format!("gallery/{name}.slvr");
    embedded::get(&file).unwrap_or_else(|| panic!("no {file}"))
}

fn reals(data: &RawData) -> Vector {
    data.to_f64()
}

/// The update of each client.
fn updates(inputs: &Inputs) -> Vec<Vector> {
    inputs.sets[0].iter().map(|member| reals(&member["update"].data)).collect()
}

fn public(inputs: &Inputs, name: &str) -> Vector {
    reals(&inputs.public[name].data)
}

/// Holds a check against its reference, on inputs in `spread` of their ranges.
fn check(
    name: &str,
    sizes: &[(&str, &str)],
    spread: f64,
    adapt: impl Fn(&mut Inputs, &Case),
    reference: impl Fn(&Inputs) -> Vector,
) {
    check_drawn(name, sizes, spread, adapt, |inputs, _| reference(inputs));
}

/// The first coin of a run.
fn coin(seed: u64) -> u128 {
    u128::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

/// As [`check`], of a check that draws coins.
fn check_drawn(
    name: &str,
    sizes: &[(&str, &str)],
    spread: f64,
    adapt: impl Fn(&mut Inputs, &Case),
    reference: impl Fn(&Inputs, &[u128]) -> Vector,
) {
    let case = compile(text(name), sizes);
    for seed in 0..seeds() {
        let mut inputs = random_inputs(case.circuit(), seed, spread);
        adapt(&mut inputs, &case);
        let coins = [coin(seed)];
        let wanted = reference(&inputs, &coins);
        let found = case.floating(&inputs, &coins).remove(0);
        assert_eq!(found.len(), wanted.len(), "{name}");
        let off = found.iter().zip(&wanted).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(off < 1e-9, "{name}, seed {seed}: off by {off}: {found:?}, not {wanted:?}");
        if seed < RUNS {
            assert!(hold(name, &case, &inputs, seed), "{name}: only zeros");
        }
    }
    let (mut clear, mut tied, mut other, mut wrong) = (0, 0, 0, Vec::new());
    let (mut given, mut check) = (Proven::default(), Check::new(&case, [0; 2]));
    let seeds = seeds();
    let mut runs = 0;
    let never = NEVER_PROVEN.iter().any(|(file, size, _)| *file == name && sizes.contains(size));
    // That nothing is proven is said of all runs; that something is, every day of some, and of more until it is seen.
    let looked_at = if never { seeds } else { part(5, seeds) };
    for (spread, seed) in SPREADS.into_iter().flat_map(|s| (0..INPUTS).map(move |n| (s, n))) {
        if seed >= seeds && (never || given.is_useful()) {
            continue;
        }
        runs += 1;
        let mut inputs = random_inputs(case.circuit(), seed, spread);
        adapt(&mut inputs, &case);
        keep_in_range(case.circuit(), &mut inputs);
        let coins = [coin(seed), 11];
        let at = format!("{name}, spread {spread}, seed {seed}");
        let check = check.drawing(coins);
        let wanted = reference(&inputs, &coins);
        let all = case.floating(&inputs, &coins);
        let found = &all[0];
        let size = wanted.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        let apart = |(x, y): (&f64, &f64)| (x - y).abs();
        let off = found.iter().zip(&wanted).map(apart).fold(0.0, f64::max);
        let defined = wanted.iter().all(|x| x.is_finite());
        if off >= 1e-9 * size || !defined {
            match check.tied(&inputs) {
                Ok(true) => {
                    tied += 1;
                    println!("{at}: a tie, off by {off}");
                }
                no => wrong.push(format!("{at}: off by {off}, {no:?}: {found:?}, not {wanted:?}")),
            }
        }
        if seed < looked_at || !given.is_useful() {
            wrong.extend(given.see(check, &inputs, seed).err().map(|e| format!("{at}: {e}")));
        }
        match check.hold(&inputs, seed) {
            Ok(true) => {
                clear += 1;
                given.clear(check, &inputs);
            }
            // Nothing is promised; that most of these agree all the same is seen below.
            Ok(false) => {
                let off = close(&check.revealed(&inputs, seed), &all).err();
                other += u64::from(off.is_some());
            }
            Err(why) => wrong.push(format!("{at}: {why}")),
        }
        if seed == 0 {
            wrong.extend(check.among_parties(&inputs, seed).err().map(|e| format!("{at}: {e}")));
        }
    }
    println!(
        "{name}: of {runs} runs {clear} are clear, {tied} ties, {other} of the others decide otherwise; {given}"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(never != given.is_useful(), "{name}, listed as never proven: {never}; {given}");
    assert!(2 * other <= runs - clear, "{name}: most runs that are not clear decide otherwise");
}

fn as_drawn(_: &mut Inputs, _: &Case) {}

fn minus(x: &[f64], y: &[f64]) -> Vector {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

fn total(all: &[Vector]) -> Vector {
    (0..all[0].len()).map(|j| all.iter().map(|x| x[j]).sum()).collect()
}

fn mean(all: &[Vector]) -> Vector {
    times(1.0 / all.len() as f64, &total(all))
}

/// The mean of vectors of a length; zeros if there is none.
fn mean_or_zeros(all: &[Vector], len: usize) -> Vector {
    if all.is_empty() { vec![0.0; len] } else { mean(all) }
}

fn sorted(x: &[f64]) -> Vector {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    x
}

/// Indices in ascending order of some numbers; of equal ones the first.
fn order(x: &[f64]) -> Vec<usize> {
    let mut all: Vec<usize> = (0..x.len()).collect();
    all.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
    all
}

fn median(x: &[f64]) -> f64 {
    let (x, n) = (sorted(x), x.len());
    (x[(n - 1) / 2] + x[n / 2]) / 2.0
}

/// Which numbers are among the k largest; of equal ones the first.
fn largest(x: &[f64], k: usize) -> Vec<bool> {
    let chosen = order(&times(-1.0, x));
    (0..x.len()).map(|i| chosen[..k].contains(&i)).collect()
}

/// The sum of the vectors that are kept, by a number; by 0 it is 0.
fn kept(all: &[Vector], keep: &[bool], by: usize) -> Vector {
    let some: Vec<Vector> =
        all.iter().zip(keep).map(|(x, k)| times(f64::from(u8::from(*k)), x)).collect();
    times(if by == 0 { 0.0 } else { 1.0 / by as f64 }, &total(&some))
}

/// The mean of the vectors that are kept; zeros if there is none.
fn mean_of_kept(all: &[Vector], keep: &[bool]) -> Vector {
    kept(all, keep, keep.iter().filter(|k| **k).count())
}

fn sign(x: f64) -> f64 {
    f64::from(u8::from(x > 0.0)) - f64::from(u8::from(x < 0.0))
}

#[test]
fn centered_clipping_is_its_formula() {
    let sizes = [MODEL, ("m", "4"), ("steps", "3"), ("tau", "1.5")];
    check("centered_clipping", &sizes, 0.2, as_drawn, |inputs| {
        let mut v = public(inputs, "centre");
        for _ in 0..3 {
            let moves: Vec<Vector> = updates(inputs)
                .iter()
                .map(|x| {
                    let off = minus(x, &v);
                    times((1.5 / norm(&off)).min(1.0), &off)
                })
                .collect();
            v = minus(&v, &times(-1.0, &mean(&moves)));
        }
        v
    });
}

#[test]
fn rfa_is_smoothed_weiszfeld() {
    // With one client far away the mean and the median are far apart.
    let far = |inputs: &mut Inputs, _: &Case| {
        let tensor = inputs.sets[0][0].get_mut("update").expect("an update");
        if let RawData::F64(v) = &mut tensor.data {
            v.iter_mut().for_each(|x| *x *= 5.0);
        }
    };
    check("rfa", &[MODEL, ("m", "5"), ("steps", "3")], 0.15, far, |inputs| {
        let all = updates(inputs);
        let mut v = mean(&all);
        for _ in 0..3 {
            let weight: Vector = all.iter().map(|x| 1.0 / norm(&minus(x, &v)).max(0.1)).collect();
            let sum: f64 = weight.iter().sum();
            let parts: Vec<Vector> =
                all.iter().zip(&weight).map(|(x, w)| times(w / sum, x)).collect();
            v = total(&parts);
        }
        v
    });
}

#[test]
fn bulyan_picks_by_krum_and_averages_around_the_median() {
    // In its last step no neighbour counts.
    bulyan(7, 1);
    bulyan(11, 2);
}

/// In no step a score is the distance to one neighbour, so there are runs of which something is proven.
#[test]
fn bulyan_of_three_malicious_clients_is_its_formula_too() {
    bulyan(15, 3);
}

fn bulyan(m: usize, f: usize) {
    let (of, bad) = (m.to_string(), f.to_string());
    let sizes = [("d", "3"), ("m", of.as_str()), ("f", bad.as_str())];
    check("bulyan", &sizes, 0.5, as_drawn, |inputs| {
        let all = updates(inputs);
        let mut left: Vec<usize> = (0..m).collect();
        let mut picked = Vec::new();
        while picked.len() < m - 2 * f {
            let score = |i: usize| -> f64 {
                let others = left.iter().filter(|&&j| j != i);
                let dist: Vector = others
                    .map(|&j| {
                        let off = minus(&all[i], &all[j]);
                        dot(&off, &off)
                    })
                    .collect();
                sorted(&dist)[..left.len() - f - 2].iter().sum()
            };
            let scores: Vector = left.iter().map(|&i| score(i)).collect();
            picked.push(left.remove(order(&scores)[0]));
        }
        (0..3)
            .map(|e| {
                let values = sorted(&picked.iter().map(|&i| all[i][e]).collect::<Vector>());
                let middle = median(&values);
                let off: Vector = values.iter().map(|x| (x - middle).abs()).collect();
                let close = &order(&off)[..m - 4 * f];
                close.iter().map(|&j| values[j]).sum::<f64>() / close.len() as f64
            })
            .collect()
    });
}

#[test]
fn sign_majority_is_the_sign_of_most() {
    for m in ["4", "5"] {
        check("sign_majority", &[MODEL, ("m", m)], 0.5, as_drawn, |inputs| {
            let signs: Vec<Vector> =
                updates(inputs).iter().map(|x| x.iter().map(|x| sign(*x)).collect()).collect();
            total(&signs).into_iter().map(sign).collect()
        });
    }
}

#[test]
fn robust_learning_rate_turns_where_few_agree() {
    let sizes = [MODEL, ("m", "7"), ("threshold", "3.5")];
    check("robust_learning_rate", &sizes, 0.5, as_drawn, |inputs| {
        let all = updates(inputs);
        let signs: Vec<Vector> = all.iter().map(|x| x.iter().map(|x| sign(*x)).collect()).collect();
        let agree = total(&signs);
        let turned = |(x, a): (&f64, &f64)| if a.abs() >= 3.5 { *x } else { -x };
        mean(&all).iter().zip(&agree).map(turned).collect()
    });
}

#[test]
fn quantile_clipping_cuts_to_a_quantile_of_lengths() {
    for percent in [0, 30, 50, 90, 100] {
        let given = percent.to_string();
        let sizes = [MODEL, ("m", "5"), ("percent", given.as_str())];
        check("quantile_clipping", &sizes, 0.5, as_drawn, |inputs| {
            let all = updates(inputs);
            let size: Vector = all.iter().map(|x| norm(x)).collect();
            let (s, at) = (sorted(&size), percent * 4);
            let (low, high) = (s[at / 100], s[at.div_ceil(100)]);
            let bound = low + (high - low) * (at % 100) as f64 / 100.0;
            let cut: Vec<Vector> =
                all.iter().zip(&size).map(|(x, n)| times((bound / n).min(1.0), x)).collect();
            mean(&cut)
        });
    }
}

#[test]
fn layer_bounds_keep_whom_every_tensor_allows() {
    const TENSORS: [usize; 4] = [12, 3, 6, 2];
    // About half of the clients are within these.
    let bounds = |inputs: &mut Inputs, _: &Case| {
        let tensor = inputs.public.get_mut("bound").expect("bounds");
        tensor.data = RawData::F64(TENSORS.iter().map(|n| 2.8 * (*n as f64).sqrt()).collect());
    };
    check("layer_bounds", &[MODEL, ("m", "6")], 0.5, bounds, |inputs| {
        let bound = public(inputs, "bound");
        let all = updates(inputs);
        let kept = |x: &Vector| {
            let mut rest = x.as_slice();
            let mut keep = true;
            for (n, bound) in TENSORS.into_iter().zip(&bound) {
                let (one, more) = rest.split_at(n);
                keep &= norm(one) <= *bound;
                rest = more;
            }
            times(f64::from(u8::from(keep)), x)
        };
        mean(&all.iter().map(kept).collect::<Vec<Vector>>())
    });
}

#[test]
fn spectral_leaves_out_those_furthest_along_the_first_direction() {
    // Two clients push together.
    let push = |inputs: &mut Inputs, _: &Case| {
        for member in &mut inputs.sets[0][..2] {
            if let Some(RawData::F64(v)) = member.get_mut("update").map(|t| &mut t.data) {
                v.iter_mut().for_each(|x| *x += 3.0);
            }
        }
    };
    let sizes = [MODEL, ("m", "6"), ("drop", "2"), ("steps", "4")];
    let left = Cell::new(0);
    check("spectral", &sizes, 0.1, push, |inputs| {
        let all = updates(inputs);
        let middle = mean(&all);
        let off: Vec<Vector> = all.iter().map(|x| minus(x, &middle)).collect();
        let mut v = public(inputs, "start");
        for _ in 0..4 {
            let parts: Vec<Vector> = off.iter().map(|x| times(dot(x, &v), x)).collect();
            let next = total(&parts);
            v = times(1.0 / norm(&next), &next);
        }
        let along: Vector = off.iter().map(|x| dot(x, &v).powi(2)).collect();
        let keep: Vec<Vector> = order(&along)[..4].iter().map(|&i| all[i].clone()).collect();
        left.set(left.get() + u64::from(order(&along)[4..].iter().all(|&i| i < 2)));
        mean(&keep)
    });
    assert!(left.get() >= seeds(), "the two are left out");
}

/// Adds a public vector to the updates of half of the clients.
fn lean_towards(inputs: &mut Inputs, name: &str) {
    let guide = public(inputs, name);
    for member in inputs.sets[0].iter_mut().step_by(2) {
        if let Some(RawData::F64(v)) = member.get_mut("update").map(|t| &mut t.data) {
            v.iter_mut().zip(&guide).for_each(|(x, g)| *x += g);
        }
    }
}

#[test]
fn cosine_with_the_last_aggregate_is_held_to_a_part_of_the_references() {
    let some = Cell::new(0);
    let lean = |inputs: &mut Inputs, _: &Case| lean_towards(inputs, "last");
    check("cosine_last", &[MODEL, ("m", "6")], 0.3, lean, |inputs| {
        let (guide, last) = (public(inputs, "guide"), public(inputs, "last"));
        let tau = 0.5 * cosine(&guide, &last);
        let accepted: Vec<Vector> =
            updates(inputs).into_iter().filter(|x| cosine(x, &last) >= tau).collect();
        some.set(some.get() + u64::from((1..6).contains(&accepted.len())));
        mean_or_zeros(&accepted, guide.len())
    });
    assert!(some.get() >= seeds(), "some are accepted, not all");
}

#[test]
fn zeno_plus_plus_accepts_what_points_along_the_servers_update() {
    // Half of the clients lean towards the server's update, and one was replaced: its update is 0.
    let lean = |inputs: &mut Inputs, _: &Case| {
        lean_towards(inputs, "guide");
        if let Some(RawData::F64(v)) = inputs.sets[0][1].get_mut("update").map(|t| &mut t.data) {
            v.fill(0.0);
        }
    };
    let some = Cell::new(0);
    check("zeno_plus_plus", &[MODEL, ("m", "6")], 0.3, lean, |inputs| {
        let guide = public(inputs, "guide");
        let accepted: Vec<Vector> = updates(inputs)
            .iter()
            .filter(|x| norm(x) > 0.0)
            .map(|x| times(norm(&guide) / norm(x), x))
            .filter(|x| dot(&guide, x) - 0.2 * dot(x, x) >= 0.0)
            .collect();
        some.set(some.get() + u64::from((1..6).contains(&accepted.len())));
        mean_or_zeros(&accepted, guide.len())
    });
    assert!(some.get() >= seeds(), "some are accepted, not all");
}

#[test]
fn every_file_of_the_gallery_says_what_it_is_and_checks_without_bindings() {
    let tested = [
        include_str!("mod.rs"),
        include_str!("aggregators.rs"),
        include_str!("scores.rs"),
        include_str!("statistics.rs"),
        include_str!("ties.rs"),
        include_str!("../gallery_rounds.rs"),
        include_str!("../noise.rs"),
    ];
    let tested = tested.concat();
    let mut cut = Vec::new();
    for (name, text) in embedded::GALLERY {
        let stem = name.trim_start_matches("gallery/").trim_end_matches(".slvr");
        let names = [format!("\"{stem}\""), format!("\"{name}\"")];
        assert!(names.iter().any(|n| tested.contains(n)), "{name} has no test");
        for part in ["// Source: ", "// Reveals ", "// Use it "] {
            assert!(text.contains(part), "{name} does not say `{part}`");
        }
        let mut sources = Sources::new();
        let file = sources.add(*name, *text);
        let options = types::Options { defaults: true, ..types::Options::default() };
        let mut no_files = |_: &str| Err(LoadError::NotFound);
        let checked = types::check(&mut sources, file, &options, &mut no_files);
        let checked = checked.unwrap_or_else(|d| panic!("{}", render(&d, &sources, false)));
        let compiled = pipeline::compile(&checked.program, &sources);
        let c = compiled.unwrap_or_else(|d| panic!("{}", render(&d, &sources, false)));
        // What is certified assumes nothing, but where a model that was chosen is too deep for 64 bits, and then it is
        // said.
        let reached = cuts::reached(&c.optimised, &c.ranges.raw);
        let warned = c.warnings.iter().any(|d| d.title.contains("are cut at"));
        assert_eq!((!reached.is_empty(), c.cut.is_some()), (warned, warned), "{name}");
        if warned {
            cut.push(stem);
        }
        let formatted = slvr_compiler::syntax::format(Default::default(), text).ok();
        assert_eq!(formatted.as_deref(), Some(*text), "{name} is not formatted");
    }
    // The smallest AUC has one sample, whose score is compared with itself alone: it computes no network.
    let deep = [
        "backdoor_trigger",
        "calibration",
        "class_recall",
        "committee_vote",
        "err",
        "lfr",
        "macro_f1",
        "regression_mse",
        "two_validation_sets",
    ];
    assert_eq!(cut, deep, "with the models that are taken by default");
}
